/*
 * values.c: stream mode values: a frame state.snapshot of the folded run (SSE-17).
 */
#include "codec/sse.h"
#include "wire/common/fold.h"
#include "wire/common/view.h"
#include "wire/v1/wire_int.h"

int v1_view_of_state(const struct run_state *s, const struct run_origin *o, int64_t now_ms,
                     struct arena *a, struct run_view *out, struct wopr_error *err) {
    struct run_view v;
    struct wire_interrupt i;
    int rc = wire_view_of_state(s, o, now_ms, a, &v, err);
    if (rc == 0 && wire_interrupt_of_state(s, &i))
        rc = v1_interrupt_render(&i, a, &v.interrupt, err);
    if (rc == 0) *out = v;
    return rc;
}

int v1_values_frame(const struct run_state *s, const struct run_origin *o,
                    const struct wire_children *children, struct arena *scratch, struct buf *out) {
    struct wopr_error err;
    struct run_view view;
    int64_t seq = s->next_seq - 1;
    int64_t now_ms = s->last_ts_ms; /* CHAN-17: the time of a fold is that of its last event */
    int rc = v1_view_of_state(s, o, now_ms, scratch, &view, &err);
    if (rc != 0) return rc;
    view.children = children->list;
    view.more_children = children->more;
    sse_begin(out, (uint64_t)seq, STR("state.snapshot"));
    rc = v1_snapshot_render(&view, seq, now_ms, out, &err);
    sse_end(out);
    return rc;
}
