/*
 * turn.c: one visit of a worker to an exec: what came back from the committer, then what the phase
 * of the exec asks for.
 */
#include "engine/turn.h"

#include "engine/command.h"
#include "engine/create.h"
#include "engine/evict.h"
#include "engine/fork.h"
#include "engine/load.h"
#include "engine/peers.h"
#include "engine/step.h"
#include "engine/timers.h"

/* Takes in what came back from the committer.  true: the turn goes on. */
static bool turn_landed(struct step *st) {
    struct run_exec *re = st->exec;
    int rc = re->commit.rc;
    if (re->phase == EXEC_FORKING) return fork_turn(st, rc);
    if (re->phase == EXEC_CREATING) return create_landed(st, rc);
    if (re->phase == EXEC_LEASING) return load_leased(st, rc);
    if (re->phase == EXEC_ASKING) return peers_ask_landed(st, rc);
    if (re->phase == EXEC_GIVING) return peers_give_landed(st, rc);
    if (re->phase == EXEC_LIVE && re->commit.plan) return step_landed(st, rc);
    return true; /* woken by mail or a timer, nothing was out */
}

static void turn_broken(struct step *st) {
    struct engine_cmd *cmd;
    while ((cmd = exec_mail_take(st->exec)) != NULL)
        cmd_fail(st->engine, cmd, WOPR_E_SYNC_FAILED, "the log cannot be written until a restart");
}

static bool turn_backs_off(struct run_exec *re) {
    struct exec_timer *t = timer_find(re, TIMER_BACKOFF, -1);
    if (re->phase != EXEC_LOADING || !t) return false;
    if (!timer_take_fired(re, t)) return true;
    timer_drop(re, TIMER_BACKOFF, -1);
    return false;
}

static void turn_run(struct step *st) {
    struct run_exec *re = st->exec;
    bool goes_on = turn_landed(st);
    if (goes_on && engine_is_broken(st->engine)) turn_broken(st);
    else if (goes_on && !engine_is_stopping(st->engine) && !turn_backs_off(re)) {
        if (re->lease.suspect) goes_on = peers_check(st);
        if (goes_on && re->lease.requested) goes_on = !peers_give(st);
        if (goes_on && re->phase == EXEC_LOOKUP) goes_on = load_lookup(st);
        if (goes_on && re->phase == EXEC_LOADING) goes_on = load_fold(st);
        if (goes_on && re->phase == EXEC_LIVE) step_run(st);
    }
}

bool exec_turn(struct run_exec *re, struct arena *scratch) {
    struct step st = {.engine = re->engine, .exec = re, .scratch = scratch};
    arena_reset(scratch);
    if (exec_leaves(re) || exec_dozes_on(re)) return true;
    if (re->phase == EXEC_NEW) create_turn(&st);
    else turn_run(&st);
    return st.exec != NULL;
}

void step_drop(struct step *st) {
    if (exec_drop(st->exec)) st->exec = NULL;
}
