/*
 * state_at.c: the state of a run at a sequence of a log, in turns of bounded length, so that the
 * fold of a long log holds a worker no longer than a step does.
 */
#include "engine/state_at.h"

#include "engine/checkpoint.h"
#include "engine/core.h"
#include "engine/fork_clear.h"
#include "engine/fork_info.h"
#include "store/events.h"

enum {
    TURN_EVENTS = 2048,       /* folded in one turn: a few milliseconds */
    TURN_BYTES = 1024 * 1024, /* about, of their payloads */
    PAGE_BYTES = 256 * 1024
};

static int event_fold(struct run_exec *re, struct event *e, struct arena *page,
                      struct wopr_error *err) {
    int rc = fork_inherit(re, e, err);
    if (rc == 0) rc = run_state_begin(re->state, e, err);
    fork_passed(re, e, page);
    return rc;
}

/* A new state begins with a checkpoint before the event at the cut, which must be folded for its
 * facts to be noted (fork_passed).  All rows are dirty: the fork has none yet. */
static int state_jump(struct run_exec *re, int64_t run_no, int64_t cut, struct arena *page,
                      struct wopr_error *err) {
    const struct checkpoint_of of = {.run_no = run_no,
                                     .seq_max = cut - 1,
                                     .wf = re->wf,
                                     .meta = &re->state->meta,
                                     .limits = &re->engine->cfg.limits,
                                     .vault = re->engine->cfg.vault};
    struct checkpoint_state c;
    if (re->state->next_seq > 0) return 0;
    arena_reset(page);
    int rc = checkpoint_find(re->engine, &of, page, &c, err);
    if (rc != 0 || !c.state) return rc;
    run_state_free(re->state);
    re->state = c.state;
    fork_resume(re, c.aside.fork_gap_ms);
    run_state_soil(re->state);
    fork_inherits_image(re);
    return 0;
}

int state_at(struct run_exec *re, int64_t run_no, int64_t cut, const struct run_pace *pace,
             struct arena *page, bool *there, struct wopr_error *err) {
    int rc = state_jump(re, run_no, cut, page, err);
    if (rc != 0) return rc;
    struct run_state *s = re->state;
    const int64_t end = cut - s->next_seq > TURN_EVENTS ? s->next_seq + TURN_EVENTS : cut;
    size_t bytes = 0;
    rc = run_state_finish(s, pace, err);
    while (rc == 0 && !run_state_busy(s) && s->next_seq < end && bytes < TURN_BYTES) {
        struct event_list l;
        arena_reset(page);
        rc = store_events(re->engine->store, run_no, s->next_seq, ENGINE_READ_EVENTS, PAGE_BYTES,
                          page, &l, err);
        if (rc == 0 && l.n == 0)
            rc = wopr_error_set(err, WOPR_E_NOT_FOUND, "the log ends before the sequence");
        for (size_t i = 0; rc == 0 && i < l.n && s->next_seq < end && !run_state_busy(s); i++) {
            rc = event_fold(re, &l.v[i], page, err);
            if (rc == 0) rc = run_state_finish(s, pace, err);
            bytes += l.v[i].payload.n;
        }
    }
    if (rc == 0) *there = s->next_seq == cut && !run_state_busy(s);
    return rc;
}
