/*
 * fold.c: a run folded from its log, and when a stream shows it (SSE-17, SSE-27).
 */
#include "wire/common/fold.h"
#include "base/clock.h"
#include "base/mem.h"
#include "rail/shown.h"
#include "store/events.h"
#include "store/workflows.h"
#include "workspec/language.h"

enum {
    WIRE_HERE_BYTES_MAX = 32 * 1024,      /* of event and state, on a connection's thread */
    WIRE_TURN_MS_MAX = 2,                 /* of one turn of conditions, on an offload thread */
    WIRE_TURN_BYTES_MAX = 2 * 1024 * 1024 /* and what they may read in it */
};

struct wire_fold {
    struct wire *wire;
    wire_fold_frame *frame;
    struct arena *arena;   /* origin */
    struct arena *scratch; /* one page or one view at a time */
    struct run_origin origin;
    struct workflow *wf;
    struct run_state *state;
    int64_t quiet_until; /* the client resumed here: no frame for events up to it */
    bool owes_baseline;  /* SSE-27: the frame of the resume position is not sent yet */
};

/* The engine's cached one when its hash matches. */
int wire_workflow_of(struct wire *w, const struct run_origin *o, bool here, struct arena *scratch,
                     struct workflow **out, struct wopr_error *err) {
    const struct run_meta *m = &o->meta;
    struct workflow *wf = NULL;
    struct str text;
    if (m->led)
        return here ? WOPR_E_TOO_BIG : rail_shown_definition(w->store, o, scratch, out, err);
    int rc = (here ? engine_workflow_here : engine_workflow)(w->engine, m->tenant, m->test_mode,
                                                             m->workflow_id, &wf, NULL);
    if (rc == 0) {
        if (sha256_eq(&wf->hash, &o->workflow_hash)) {
            *out = wf;
            return 0;
        }
        workflow_unref(wf);
    }
    const struct wf_env env = {/* checked when it was stored */
                               .accepted = true,
                               .dialects = &WS_DIALECT,
                               .dialects_nr = 1};
    if (here) return WOPR_E_TOO_BIG;
    rc = store_workflow_by_hash(w->store, &o->workflow_hash, scratch, &text, err);
    if (rc == WOPR_E_NOT_FOUND)
        return wopr_error_set(err, WOPR_E_CORRUPT, "the workflow of a run is missing");
    if (rc != 0) return rc;
    return workflow_compile(text, &env, out, err);
}

int wire_fold_new(struct wire *w, int64_t run_no, wire_fold_frame *frame, bool here,
                  struct wire_fold **out, struct wopr_error *err) {
    struct wire_fold *f = MEM_NEW(struct wire_fold);
    int rc = WOPR_E_NO_MEMORY;
    if (!f) return wopr_error_set(err, rc, "no memory to fold a run");
    *f = (struct wire_fold){.wire = w,
                            .frame = frame,
                            .quiet_until = -1,
                            .arena = arena_new(WIRE_ARENA_MAX),
                            .scratch = arena_new(WIRE_ARENA_MAX)};
    if (!f->arena || !f->scratch) {
        wopr_error_set(err, rc, "no memory to fold a run");
        goto fail;
    }
    rc = store_run_origin(w->store, run_no, f->arena, &f->origin, err);
    if (rc != 0) goto fail;
    rc = wire_workflow_of(w, &f->origin, here, f->scratch, &f->wf, err);
    if (rc != 0) goto fail;
    rc = run_state_new(f->wf, &f->origin.meta, &w->limits, &f->state, err);
    if (rc != 0) goto fail;
    *out = f;
    return 0;
fail:
    wire_fold_free(f);
    return rc;
}

void wire_fold_free(struct wire_fold *f) {
    if (!f) return;
    run_state_free(f->state);
    workflow_unref(f->wf);
    arena_free(f->scratch);
    arena_free(f->arena);
    mem_free(f);
}

size_t wire_fold_bytes(const struct wire_fold *f) {
    return arena_used(f->arena) + arena_used(f->scratch) + arena_used(f->state->arena) +
           f->state->bytes;
}

/* The checkpoints of states with values that must be masked are sealed and left out, so what is
 * shown is what the log folds to. */
int wire_fold_begin(struct wire_fold *f, int64_t seq, struct wopr_error *err) {
    const struct checkpoint_of of = {.run_no = f->origin.head.run_no,
                                     .seq_max = seq < INT64_MAX ? seq + 1 : seq,
                                     .wf = f->wf,
                                     .meta = &f->origin.meta,
                                     .limits = &f->wire->limits};
    struct checkpoint_state c;
    int rc = store_run_state(f->wire->store, &of, f->scratch, &c, err);
    arena_reset(f->scratch);
    if (rc != 0 || !c.state) return rc;
    run_state_free(f->state);
    f->state = c.state;
    return 0;
}

int64_t wire_fold_seq(const struct wire_fold *f) { return f->state->next_seq - 1; }

bool wire_fold_ended(const struct wire_fold *f) { return run_status_final(f->state->status); }

void wire_fold_resume(struct wire_fold *f, int64_t seq) {
    f->quiet_until = seq;
    f->owes_baseline = true;
}

/* Only the children that existed at the time of the state; the last frame shows all.  Their present
 * status is in their own logs, not in this one. */
static int children_of(struct wire_fold *f, struct wire_children *out) {
    const struct run_state *s = f->state;
    struct wopr_error err;
    int rc = store_children_shown(f->wire->store, s->meta.run_id, f->scratch, &out->list,
                                  &out->more, &err);
    if (rc != 0 || run_status_final(s->status)) return rc;
    while (out->list.n > 0 && out->list.v[out->list.n - 1].created_ms > s->last_ts_ms) {
        out->list.n--;
        out->more = false;
    }
    return 0;
}

/* Append the frame of the folded state, or nothing. */
static int frame_add(struct wire_fold *f, struct buf *out) {
    size_t start = out->len;
    struct wire_children children = {.more = false};
    arena_reset(f->scratch);
    int rc = children_of(f, &children);
    if (rc == 0) rc = f->frame(f->state, &f->origin, &children, f->scratch, out);
    arena_reset(f->scratch); /* a stream may wait for hours before the next one */
    if (rc != 0 && !buf_failed(out)) {
        out->len = start;
        if (out->p) out->p[start] = '\0';
    }
    return rc;
}

static bool turn_over(void *until_ms) { return clock_mono_ms() >= *(const uint64_t *)until_ms; }

/* The conditions that the last event left, for a turn.  0, HTTP_FOLD_AGAIN, or a code. */
static int event_settle(struct wire_fold *f) {
    uint64_t until_ms = clock_mono_ms() + WIRE_TURN_MS_MAX;
    const struct run_pace pace = {WIRE_TURN_BYTES_MAX, turn_over, &until_ms};
    struct wopr_error err;
    int rc = run_state_finish(f->state, &pace, &err);
    return rc == 0 && run_state_busy(f->state) ? HTTP_FOLD_AGAIN : rc;
}

/* What may take long: conditions, whatever they are; copying what is large. */
static bool event_is_long(const struct wire_fold *f, const struct event *e) {
    size_t event = e ? e->payload.n : 0;
    return run_state_asks(f->state) || event + wire_fold_bytes(f) > WIRE_HERE_BYTES_MAX;
}

static int baseline_add(struct wire_fold *f, struct buf *out) {
    bool due = f->owes_baseline && f->state->next_seq > 0;
    if (due) f->owes_baseline = false;
    return due ? frame_add(f, out) : 0;
}

/* A run that is led gets a node that its definition, made of its log so far, does not have: the
 * state is folded again with it. */
static int node_grow(struct wire_fold *f, const struct event *e, bool here) {
    const struct rail_shown_at at = {
        .run_no = f->origin.head.run_no, .until = e->seq, .more = &e->node_id, .more_nr = 1};
    struct rail_shown shown;
    struct wopr_error err;
    if (e->kind != EV_NODE_STARTED || !f->origin.meta.led) return 0;
    if (workflow_node_index(f->wf, e->node_id) >= 0) return 0;
    if (here) return HTTP_FOLD_AGAIN;
    int rc = rail_shown_load(f->wire->store, &at, f->scratch, &shown, &err);
    if (rc != 0) return rc;
    run_state_free(f->state);
    workflow_unref(f->wf);
    f->state = shown.state;
    f->wf = shown.wf;
    arena_reset(f->scratch);
    return 0;
}

/* 0, HTTP_FOLD_AGAIN, or a code. */
static int event_apply(struct wire_fold *f, const struct event *e, bool here, struct buf *out) {
    struct wopr_error err;
    int rc = event_settle(f);
    if (rc != 0 || e->seq < f->state->next_seq) return rc;  /* begun before */
    if (e->seq > f->quiet_until) rc = baseline_add(f, out); /* the cursor is behind us */
    if (rc == 0) rc = node_grow(f, e, here);
    if (rc == 0) rc = run_state_begin(f->state, e, &err);
    if (rc == 0 && here && event_is_long(f, NULL)) return HTTP_FOLD_AGAIN;
    return rc == 0 ? event_settle(f) : rc;
}

int wire_fold_event(void *state, const struct event *e, bool here, struct buf *out) {
    struct wire_fold *f = state;
    if (here && event_is_long(f, e)) return HTTP_FOLD_AGAIN;
    int rc = e ? event_apply(f, e, here, out) : event_settle(f);
    if (rc != 0) return rc;
    if (!e) return baseline_add(f, out); /* the cursor is at or past the end of the log */
    if (e->seq <= f->quiet_until) {
        bool covered = e->seq == f->quiet_until || event_is_terminal(e->kind);
        return covered ? baseline_add(f, out) : 0;
    }
    return event_modes(e->kind) & EV_MODE_V ? frame_add(f, out) : 0;
}
