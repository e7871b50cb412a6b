/*
 * stuck.c: what becomes of a step that cannot be taken.  A plan that fails for a deterministic
 * reason (a bound, a rule of the log or of the store) would fail for ever.  So it is tried once
 * more, then its node fails, then its run does; what even that cannot end is parked, and a cancel
 * ends it without its state.  Which codes stay and which pass is the class column of
 * base/errors.def: short memory, a full disk and a busy store are waited for.
 */
#include "engine/stuck.h"

#include "base/log.h"
#include "base/mem.h"
#include "engine/cascade.h"
#include "engine/command.h"
#include "engine/waits.h"

#include <stdio.h>

/* Plans in a row that failed, and what the next step does: at RETRY nothing else. */
enum { STUCK_RETRY = 1, STUCK_NODE, STUCK_RUN, STUCK_PARK };

#define STUCK_CODE   "step_limit_exceeded"
#define STUCK_REASON "step-limit"

/* What clients read: of the store's own words only the kind, since they name its file. */
static void why_print(const struct plan *p, int rc, char *out, size_t cap) {
    if (p->failed != 0) snprintf(out, cap, "%.199s", p->error.message);
    else snprintf(out, cap, "the store refuses it: %s", wopr_err_text(rc));
}

/* Without memory for the note the same is tried again. */
static void stuck_note(struct step *st, const struct plan *p, int rc) {
    struct stuck *k = st->exec->commit.stuck;
    if (!k && !(k = st->exec->commit.stuck = MEM_NEW(struct stuck))) return;
    if (k->tries < STUCK_NODE) k->node = st->node_at - 1;
    k->singly = k->singly || p->failed == 0;
    why_print(p, rc, k->why, sizeof k->why);
    if (k->tries < STUCK_PARK) k->tries++;
    log_warn("a step of a run cannot be taken", "run", st->exec->run_id, "why", k->why);
}

/* The fault is the command's: without it the run goes on. */
static enum turn cmd_is_stuck(struct step *st, struct engine_cmd *cmd, const struct plan *p,
                              int rc) {
    struct stuck *k = st->exec->commit.stuck;
    if (cmd->op == ENGINE_CANCEL) {
        k->cancel = true;
        exec_mail_put_back(st->exec, cmd);
        return TURN_RELOAD;
    }
    bool answers = cmd->op == ENGINE_RESOLVE;
    char why[sizeof k->why];
    why_print(p, rc, why, sizeof why);
    stuck_over(st->exec);
    cmd->result = (struct engine_result){.run_id = cmd->run_id};
    cmd->result.rc =
        wopr_error_set(&cmd->result.err, answers ? WOPR_E_VALIDATION : WOPR_E_CONFLICT,
                       "the run cannot take this %s: %s", answers ? "answer" : "command", why);
    cmd_settle(st->engine, cmd);
    return TURN_RELOAD;
}

enum turn stuck_again(struct step *st, struct engine_cmd *cmd, const struct plan *p, int rc) {
    const struct stuck *k = st->exec->commit.stuck;
    if (cmd && k && k->tries > 0) return cmd_is_stuck(st, cmd, p, rc);
    if (cmd) exec_mail_put_back(st->exec, cmd);
    stuck_note(st, p, rc);
    return TURN_LATER;
}

bool stuck_waits(const struct step *st) { return st->exec->commit.stuck && st->cmd; }

const char *stuck_for_good(const struct run_exec *re) {
    const struct stuck *k = re->commit.stuck;
    return k && (k->tries >= STUCK_PARK || k->cancel) ? k->why : NULL;
}

void stuck_over(struct run_exec *re) {
    mem_free(re->commit.stuck);
    re->commit.stuck = NULL;
}

static bool node_fails(struct step *st, int node, const struct stuck *k) {
    const struct run_state *s = st->state;
    if (node < 0 || (size_t)node >= s->wf->nodes_nr || !step_moves(st)) return false;
    enum node_status status = s->nodes[node].status;
    if (status != NODE_RUNNING && status != NODE_PENDING) return false;
    struct failure f = {.code = STR(STUCK_CODE), .message = arena_str(st->scratch, str_c(k->why))};
    waits_timed_out(st, node);
    node_end_failed(st, node, &f);
    return !step_lost(st);
}

bool stuck_end(struct step *st) {
    const struct stuck *k = st->exec->commit.stuck;
    if (!k || k->tries < STUCK_NODE || !step_moves(st)) return false;
    if (k->tries == STUCK_NODE && node_fails(st, k->node, k)) return false;
    if (step_lost(st) || !cascade_down(st, CASCADE_FAILURE)) return true;
    struct str error = err_json(st->plan->arena, STR(STUCK_CODE),
                                arena_str(st->scratch, str_c(k->why)), STR_NONE, -1);
    run_end_stopped(st, error, STUCK_REASON);
    return true;
}
