/*
 * stream_batch.c: event: batch (SSE-31 to 35).  A window opens at its first event and closes by
 * time, by a forced flush or when it is full; while backfilling only the last two count.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "codec/sse.h"
#include "http/server.h"
#include "http/stream.h"

enum {
    BATCH_EVENTS_MAX = 500,       /* SSE-34 */
    BATCH_BYTES_MAX = 1024 * 1024 /* elements buffered before a flush */
};

static void batch_window_over(void *ctx) {
    struct stream *st = ctx;
    atomic_store(&st->batch->due, true);
    park_wake(&st->park);
}

int batch_new(struct stream *st, unsigned window_ms) {
    struct stream_batch *b = MEM_NEW(struct stream_batch);
    if (!b) return WOPR_E_NO_MEMORY;
    buf_init(&b->elements, HTTP_FRAME_BYTES_MAX / 2);
    b->window_ms = window_ms;
    b->timer.fire = batch_window_over;
    b->timer.ctx = st;
    atomic_init(&b->due, false);
    st->batch = b;
    return 0;
}

void batch_free(struct stream *st) {
    struct stream_batch *b = st->batch;
    if (!b) return;
    ticker_cancel(&st->park.server->ticker, &b->timer);
    buf_fini(&b->elements);
    mem_free(b);
    st->batch = NULL;
}

void batch_flush(struct stream *st) {
    struct stream_batch *b = st->batch;
    if (!b || b->count == 0) return;
    if (b->armed) ticker_cancel(&st->park.server->ticker, &b->timer);
    b->armed = false;
    atomic_store(&b->due, false);
    buf_addc(&b->elements, ']');
    sse_frame(&st->out, (uint64_t)b->last_seq, STR("batch"), buf_str(&b->elements));
    if (buf_failed(&b->elements)) st->out.failed = true;
    buf_fini(&b->elements); /* an idle stream keeps nothing */
    b->count = 0;
}

static void batch_add(struct stream_batch *b, int64_t seq, const char *p, size_t n) {
    buf_addc(&b->elements, b->count == 0 ? '[' : ',');
    buf_add(&b->elements, p, n);
    b->count++;
    b->last_seq = seq;
}

int batch_take(struct stream *st, const struct journal_piece *piece) {
    struct stream_batch *b = st->batch;
    size_t from = 0;
    for (size_t i = 0; i < piece->events_nr; i++) {
        const struct event *e = &piece->events[i];
        size_t end = piece->ends ? piece->ends[i] : from;
        if (end > from && e->seq > st->quiet_until)
            batch_add(b, e->seq, piece->p + from, end - from);
        from = end;
        bool full = b->count >= BATCH_EVENTS_MAX || b->elements.len >= BATCH_BYTES_MAX;
        if (full || event_kind_is(e->kind, EV_F_FLUSH)) batch_flush(st);
        if (!event_is_terminal(e->kind)) continue;
        batch_flush(st);
        st->last = true;
        break;
    }
    return buf_failed(&st->out) || buf_failed(&b->elements) ? WOPR_E_NO_MEMORY : 0;
}

bool batch_due(struct stream *st) {
    return st->batch && st->batch->count > 0 && atomic_load(&st->batch->due);
}

int batch_arm(struct stream *st) {
    struct stream_batch *b = st->batch;
    if (!b || b->count == 0 || b->armed) return 0;
    b->armed = true;
    return ticker_set(&st->park.server->ticker, &b->timer, clock_mono_ms() + b->window_ms);
}
