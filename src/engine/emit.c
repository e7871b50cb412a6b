/*
 * emit.c: adds events to the plan of a step, and decides when the plan is full.
 */
#include "engine/emit.h"

#include "base/clock.h"
#include "engine/clear.h"
#include "engine/secret.h"
#include "engine/timeline.h"

#define ENGINE_STEP_EVENTS_MAX  256u               /* a plan is sent once it holds so many events */
#define ENGINE_STEP_BYTES_MAX   (512u * 1024)      /* or so many bytes in its arena */
#define ENGINE_STEP_SCRATCH_MAX (4u * 1024 * 1024) /* or used so much, which the next lacks */
#define ENGINE_STEP_MS_MAX      100u               /* or after so much time in executors */
#define ENGINE_SETTLE_MS_MAX    10u /* the same for conditions, so that others get a turn */
#define ENGINE_SETTLE_MS_FIRST  2u  /* until the run has its turns on a worker of large ones */
#define ENGINE_SETTLE_BYTES_MAX (16u * 1024 * 1024) /* what they may read until then */

void step_now(struct step *st) {
    int64_t now_ms = timeline_now_ms(st);
    if (st->floor_ms > now_ms) now_ms = st->floor_ms;
    if (st->state && st->state->last_ts_ms > now_ms) now_ms = st->state->last_ts_ms;
    st->now_ms = now_ms;
}

int64_t step_logical_ms(const struct step *st, int node) {
    int64_t ms = st->state->nodes[node].clock_ms;
    return st->wait_over_ms > ms ? st->wait_over_ms : ms;
}

bool step_lost(const struct step *st) { return st->plan->failed != 0; }

int64_t step_emit(struct step *st, enum ev_kind kind, int node, int64_t cause, struct str payload) {
    return step_emit_masked(st, kind, node, cause, payload, STR_NONE);
}

int64_t step_emit_masked(struct step *st, enum ev_kind kind, int node, int64_t cause,
                         struct str payload, struct str clear) {
    struct plan *p = st->plan;
    struct str id = node >= 0 ? st->state->wf->nodes[node].id : STR_NONE;
    const struct timeline_ops *t = timeline_of(st);
    if (node >= 0) st->node_at = node + 1;
    if (cause < 0 && kind != EV_NODE_STARTED) cause = orch_cause(st->state, node);
    if (!event_kind_is(kind, EV_F_SHOWN)) payload = secret_scrub(st, payload);
    if (t) t->before(st, kind, payload);
    if (p->failed != 0) return EMIT_BROKEN;
    int64_t seq = plan_event_masked(p, st->engine->rules, st->state, kind, id, cause, st->now_ms,
                                    payload, clear);
    if (seq >= 0 && clear.n > 0) secret_note(st, clear, payload);
    if (seq >= 0 && clear.n > 0) clear_seal(st->engine, p, st->state->meta.run_id, seq, clear);
    if (seq >= 0 && t) t->after(st, seq, node);
    if (seq >= 0) return seq;
    /* Refused before it touched the state, so the rest of the plan is valid (EVT-12). */
    if (!p->half_folded && (p->failed == WOPR_E_PAYLOAD_INVALID || p->failed == WOPR_E_TOO_BIG)) {
        p->failed = 0;
        wopr_error_clear(&p->error);
        return EMIT_REFUSED;
    }
    return EMIT_BROKEN;
}

bool step_admits(struct step *st, enum ev_kind kind, struct str payload) {
    if (!event_kind_is(kind, EV_F_SHOWN)) payload = secret_scrub(st, payload);
    return plan_admits(st->plan, st->engine->rules, st->state, kind, payload);
}

static bool step_slice_over(void *st) {
    const struct step *s = st;
    unsigned ms_max = s->exec->seat.large ? ENGINE_SETTLE_MS_MAX : ENGINE_SETTLE_MS_FIRST;
    return clock_mono_ms() - s->began_ms >= ms_max;
}

struct run_pace step_pace(struct step *st) {
    return (struct run_pace){
        .bytes_max = ENGINE_SETTLE_BYTES_MAX, .over = step_slice_over, .ctx = st};
}

bool step_settled(struct step *st) {
    const struct run_pace pace = step_pace(st);
    struct wopr_error err = {0};
    int rc = run_state_finish(st->state, &pace, &err);
    if (rc != 0) plan_fail(st->plan, rc, "%s", err.message);
    return rc == 0 && !run_state_busy(st->state);
}

/* Time to send the plan: it holds enough, or a command waits (RUN-25). */
bool step_full(const struct step *st) {
    uint64_t ms_max = st->creates ? st->engine->cfg.create_ms_max : ENGINE_STEP_MS_MAX;
    const struct stuck *k = st->exec->commit.stuck;
    return (st->exec->mail.any && !st->deaf) || st->exec->lease.requested ||
           (k && k->singly && st->plan->events_nr > 0) ||
           st->plan->events_nr >= ENGINE_STEP_EVENTS_MAX ||
           arena_used(st->plan->arena) >= ENGINE_STEP_BYTES_MAX ||
           (st->plan->events_nr > 0 && arena_used(st->scratch) >= ENGINE_STEP_SCRATCH_MAX) ||
           (st->plan->events_nr > 0 && clock_mono_ms() - st->began_ms >= ms_max);
}

bool step_moves(const struct step *st) {
    return !step_lost(st) && st->state->status != RUN_PENDING && st->state->status != RUN_PAUSED &&
           !run_status_final(st->state->status);
}
