/*
 * program.c: see program.h.  A program is a fold of the log and holds nothing else, so there is
 * nothing to store or to restore here but a timer, which is computed whenever the run falls asleep.
 */
#include "engine/program.h"

#include "domain/program.h"
#include "engine/bounds.h"
#include "engine/cascade.h"
#include "engine/fork_info.h"
#include "engine/outcome.h"
#include "engine/suspend.h"
#include "engine/timeline.h"
#include "engine/timers.h"

/* The event cannot be appended: its node fails, and with it the run. */
static void event_refused(struct step *st, int node, const struct failure *f) {
    if (node < 0) plan_fail(st->plan, WOPR_E_INTERNAL, "an event of a program is refused");
    else node_end_failed(st, node, f);
}

static bool values_grow(enum ev_kind kind) {
    return kind == EV_VARIABLE_CHANGED || kind == EV_NODE_COMPLETED;
}

static void program_emit(struct step *st, const struct program_action *act) {
    struct failure f = {.code = STR("event_payload_invalid"),
                        .message = STR("what the task does is larger than an event may be")};
    if (act->kind == EV_NODE_STARTED &&
        st->state->started_count >= st->state->options.recursion_limit) {
        run_end_cap(st, act->node); /* a limit that was lowered since */
        return;
    }
    if (values_grow(act->kind) && !bound_state_room(st, 0, act->payload.n, &f)) {
        event_refused(st, act->node, &f);
        return;
    }
    int64_t seq = step_emit(st, act->kind, act->node, -1, act->payload);
    if (seq == EMIT_REFUSED) event_refused(st, act->node, &f);
    if (seq < 0 || !act->artifact) return;
    struct plan_artifact row = *act->artifact;
    row.seq = seq;
    plan_artifact(st->plan, &row);
}

static void program_ask(struct step *st, const struct program_action *act) {
    const struct node_result r = {.outcome = NODE_OUT_SUSPEND,
                                  .prompt = {.kind = act->ask_kind,
                                             .data = act->ask_data,
                                             .resume_schema = act->ask_schema,
                                             .timeout_ms = act->ask_timeout_ms}};
    waits_claim(st, act->node, &r);
}

/* The wall clock as the program sees it, and back. */
static int64_t still_ms(const struct step *st) { return fork_gap_ms(st->exec, st->now_ms); }

static void program_sleep(struct step *st, int64_t at_ms) {
    timer_drop(st->exec, TIMER_PROGRAM, -1);
    if (at_ms <= 0 || timeline_leads(st)) return;
    int64_t gap_ms = still_ms(st);
    int64_t fire_at_ms = at_ms < INT64_MAX - gap_ms ? at_ms + gap_ms : INT64_MAX;
    if (timer_arm(st->exec, TIMER_PROGRAM, -1, fire_at_ms, false) != 0)
        plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for a timer");
}

/* true: something was done, and the run goes on. */
static bool program_do(struct step *st, const struct program_action *act) {
    switch (act->what) {
    case PROGRAM_WAIT:
        program_sleep(st, act->at_ms);
        return false;
    case PROGRAM_EMIT:
        program_emit(st, act);
        return true;
    case PROGRAM_ASK:
        program_ask(st, act);
        return true;
    case PROGRAM_FAIL:
        if (cascade_down(st, CASCADE_FAILURE)) run_end_of(st, act->node, act->reason);
        return false;
    case PROGRAM_END:
        if (cascade_down(st, CASCADE_LEFT)) run_end_with(st, act->outputs);
        return false;
    }
    return false;
}

/* What belongs together is done together; but a source may have an answer or a cancel within it, so
 * a replay asks before each event. */
bool program_act(struct step *st) {
    struct run_state *s = st->state;
    struct program_action act;
    bool did = false; /* before what comes next turned out to be nothing */
    st->exec->stalled = false;
    do {
        const struct program_time t = {.now_ms = st->now_ms - still_ms(st),
                                       .led = timeline_leader(st)};
        act = (struct program_action){.node = -1};
        if (step_lost(st)) return false;
        int rc = s->wf->program->next(s->program, s, &t, st->plan->arena, &act);
        if (rc != 0) plan_fail(st->plan, rc, "no memory for what a program does next");
        if (rc != 0 || !program_do(st, &act)) return did && rc == 0 && step_moves(st);
        did = true;
        step_now(st);
    } while (act.more && step_moves(st) && !timeline_leads(st));
    return step_moves(st);
}

bool program_late(const struct step *st, int node) {
    const struct run_state *s = st->state;
    return s->program && s->wf->program->late(s->program, node);
}

void program_timed_out(struct step *st, int node) {
    st->state->wf->program->timed_out(st->state->program, node);
    while (!step_lost(st) && st->state->nodes[node].status == NODE_SUSPENDED && program_act(st))
        continue;
}

/* --- the kind of wait --- */

static void program_claim(struct step *st, int node, const struct node_result *r) {
    (void)node, (void)r;
    plan_fail(st->plan, WOPR_E_INTERNAL, "no executor waits for a program");
}

static bool program_holds(struct run_exec *re, int node) {
    (void)node;
    return re->state && re->state->program;
}

const struct wait_kind WAIT_PROGRAM = {
    .name = "program", .outcome = NODE_OUT_PROGRAM, .claim = program_claim, .holds = program_holds};
