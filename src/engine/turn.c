/*
 * turn.c: one visit of a worker to an exec: takes in the committer's result, then does what the
 * phase of the exec asks for.
 */
#include "engine/turn.h"

#include "base/clock.h"
#include "engine/command.h"
#include "engine/create.h"
#include "engine/evict.h"
#include "engine/fork.h"
#include "engine/load.h"
#include "engine/parked.h"
#include "engine/peers.h"
#include "engine/step.h"
#include "engine/timers.h"

#include <stdio.h>

/* Take in the committer's result. */
static enum turn turn_landed(struct step *st) {
    struct run_exec *re = st->exec;
    int rc = re->commit.rc;
    switch (re->phase) {
    case EXEC_FORKING:
        return fork_turn(st, rc);
    case EXEC_CREATING:
        return create_landed(st, rc);
    case EXEC_LEASING:
        return load_leased(st, rc);
    case EXEC_ASKING:
        return peers_ask_landed(st, rc);
    case EXEC_GIVING:
        return peers_give_landed(st, rc);
    case EXEC_ENDING:
        return parked_cancelled(st, rc);
    case EXEC_LIVE:
        return re->commit.plan ? step_landed(st, rc) : TURN_GO_ON;
    case EXEC_NEW:
    case EXEC_LOOKUP:
    case EXEC_LOADING:
    case EXEC_PHASE_NR:
        break;
    }
    return TURN_GO_ON; /* woken by mail or a timer, nothing was in flight */
}

static void mail_refuse(struct step *st) {
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

static enum turn turn_run(struct step *st) {
    struct run_exec *re = st->exec;
    if (re->phase == EXEC_NEW) return create_turn(st);
    enum turn t = turn_landed(st);
    if (t != TURN_GO_ON) return t;
    if (engine_is_broken(st->engine)) {
        mail_refuse(st);
        return TURN_END;
    }
    if (engine_is_stopping(st->engine) || turn_backs_off(re)) return TURN_END;
    if (re->lease.suspect) t = peers_check(st);
    if (t == TURN_GO_ON && re->lease.requested) t = peers_give(st);
    if (t == TURN_GO_ON && re->phase == EXEC_LOOKUP) t = load_lookup(st);
    if (t == TURN_GO_ON && re->phase == EXEC_LOADING) t = load_fold(st);
    if (t == TURN_GO_ON && re->phase == EXEC_LIVE) t = step_run(st);
    return t;
}

/* For the lines that a turn writes: trace and span when the run is traced, or its caller was. */
static void turn_ids(const void *of, struct log_ids *out) {
    const struct run_exec *re = of;
    const struct run_meta *m = re->state ? &re->state->meta : NULL;
    uint8_t span[SPAN_ID_BYTES];
    struct traceparent t;
    out->run_id = re->run_id;
    if (!m) return;
    (void)snprintf(out->tenant, sizeof out->tenant, STR_FMT, STR_ARG(m->tenant));
    trace_span_run(m->run_id, span);
    if (trace_onward(&re->engine->cfg.trace, m->traceparent, m->run_id, span, &t))
        trace_ids(&t, out->trace_id, out->span_id);
}

static enum turn turn_logged(struct step *st) {
    struct log_scope scope = {.ids = turn_ids, .of = st->exec};
    log_scope_enter(&scope);
    enum turn t = turn_run(st);
    log_scope_leave(&scope);
    return t;
}

bool exec_turn(struct run_exec *re, struct arena *scratch) {
    struct step st = {
        .engine = re->engine, .exec = re, .scratch = scratch, .began_ms = clock_mono_ms()};
    arena_reset(scratch);
    if (exec_leaves(re) || exec_dozes_on(re)) return true;
    switch (turn_logged(&st)) {
    case TURN_GO_ON:
    case TURN_END:
        break;
    case TURN_RELOAD:
        exec_reload(re, false);
        break;
    case TURN_LATER:
        exec_reload(re, true);
        break;
    case TURN_DROP:
        return !exec_drop(re);
    }
    return true;
}
