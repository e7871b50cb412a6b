/*
 * stream_fold.c: streams that fold their log (values mode), here or elsewhere.
 *
 * What is short is folded on the loop's thread.  Everything else, conditions, large states, long
 * logs, is folded on threads of offload.c, in turns of TURN_MS that tenants take one after the
 * other; a turn that ends without a frame queues the next one itself.  While a turn is being made
 * (TURN_AWAY) the loop only sends keep-alives and notes that the client has left.
 *
 *   loop   fold_send_away ── NONE to AWAY ──► queue ──► turn_run: reader, fold, out, bytes
 *   loop   fold_take      ◄── DONE to NONE ── turn_end: wakes the stream
 *
 * turn_end runs under server.exchanges.lock, which stream_close takes too: a stream is never freed
 * between the end of its turn and the wake.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "http/server.h"
#include "http/stream.h"

enum {
    TURN_MS = 4,               /* before others have theirs; a condition is not cut */
    TURN_OUT_BYTES = 64 * 1024 /* made before it is sent; more only when one frame is larger */
};
enum turn_state { TURN_NONE, TURN_AWAY, TURN_DONE };
enum turn_result { TURN_GOES_ON, TURN_FRAMES, TURN_IDLE, TURN_CLOSED, TURN_NO_ROOM, TURN_FAILED };

struct stream_fold {
    struct stream *stream;
    void (*orphaned)(struct stream *st);
    int (*apply)(void *state, const struct event *e, bool here, struct buf *out);
    void *state;
    void (*state_free)(void *state);
    size_t (*state_bytes)(const void *state);
    void (*over)(void *state, struct buf *out); /* NULL: none, or it was called */
    struct tick_timer timer;                    /* limit_ms */
    bool timed;
    atomic_bool due;
    struct journal_piece rest; /* its events from rest_at on are not folded yet */
    size_t rest_at;
    bool ended;           /* the terminal event is folded */
    bool away;            /* the next turn is to be made elsewhere */
    bool orphan;          /* under server.exchanges.lock */
    atomic_bool unwanted; /* the client is gone: no further turn */
    bool waits;           /* opening: has a place among SHARE_READS */
    atomic_int turn;      /* enum turn_state */
    enum turn_result result;
    struct offload_job job;
};

/* --- folding, on either kind of thread --- */

static bool rest_left(const struct stream_fold *f) { return f->rest_at < f->rest.events_nr; }

/* What it has written is the end: over is not asked for any more. */
static void fold_end(struct stream_fold *f, bool ended) {
    f->ended = ended;
    if (ended) f->over = NULL;
}

/* 0, HTTP_FOLD_AGAIN, or a code. */
static int rest_apply(struct stream_fold *f, bool here, uint64_t until_ms) {
    struct stream *st = f->stream;
    while (rest_left(f) && !f->ended && st->out.len < TURN_OUT_BYTES &&
           clock_mono_ms() <= until_ms) {
        const struct event *e = &f->rest.events[f->rest_at];
        size_t before = st->out.len;
        int rc = f->apply(f->state, e, here, &st->out);
        if (rc != 0 && rc != HTTP_FOLD_END) return rc;
        if (st->out.len > before)
            atomic_fetch_add_explicit(&st->park.server->metrics.stream_events, 1,
                                      memory_order_relaxed);
        fold_end(f, rc == HTTP_FOLD_END || event_is_terminal(e->kind));
        f->rest_at++;
    }
    return buf_failed(&st->out) ? WOPR_E_NO_MEMORY : 0;
}

/* --- a turn on a thread of offload.c --- */

static enum turn_result turn_fail(struct stream_fold *f, int rc, const char *why) {
    log_warn("stream cut", "runId", f->stream->run_id.p, "code", wopr_err_name(rc), "error", why);
    return TURN_FAILED;
}

/* Nothing is left of the piece: the next one, or the end of the log. */
static enum turn_result turn_read(struct stream_fold *f) {
    struct stream *st = f->stream;
    struct wopr_error err = {0};
    f->rest = (struct journal_piece){0};
    f->rest_at = 0;
    int rc = journal_reader_next(st->reader, &f->rest, &err);
    if (rc == 1) return TURN_GOES_ON;
    if (rc == WOPR_E_CLOSED) return TURN_CLOSED;
    if (rc != 0) return turn_fail(f, rc, err.message);
    if (st->stage == STREAM_BACKFILL) rc = f->apply(f->state, NULL, false, &st->out);
    if (rc == HTTP_FOLD_AGAIN) return TURN_GOES_ON;
    if (rc == HTTP_FOLD_END) {
        fold_end(f, true);
        return TURN_FRAMES;
    }
    if (rc == 0 && buf_failed(&st->out)) rc = WOPR_E_NO_MEMORY;
    return rc == 0 ? TURN_IDLE : turn_fail(f, rc, "the end of the backlog could not be shown");
}

static enum turn_result turn_step(struct stream_fold *f, uint64_t until_ms) {
    if (!rest_left(f)) return turn_read(f);
    int rc = rest_apply(f, false, until_ms);
    if (rc < 0) return turn_fail(f, rc, "the log of the run could not be folded");
    return f->ended || f->stream->out.len >= TURN_OUT_BYTES ? TURN_FRAMES : TURN_GOES_ON;
}

static enum turn_result turn_make(struct stream_fold *f) {
    struct stream *st = f->stream;
    uint64_t until_ms = clock_mono_ms() + TURN_MS;
    enum turn_result r = TURN_GOES_ON;
    while (r == TURN_GOES_ON && !atomic_load(&f->unwanted) && clock_mono_ms() <= until_ms)
        r = turn_step(f, until_ms);
    if (r == TURN_GOES_ON && st->out.len > 0) r = TURN_FRAMES;
    if (!budget_move(st->park.server, st->holder, &st->bytes, st->out.cap + fold_bytes(st)))
        r = TURN_NO_ROOM;
    return r;
}

static void turn_end(struct stream_fold *f, enum turn_result r) {
    struct stream *st = f->stream;
    struct http_server *s = st->park.server;
    f->result = r;
    pthread_mutex_lock(&s->exchanges.lock);
    bool orphan = f->orphan;
    atomic_store(&f->turn, TURN_DONE);
    if (!orphan) park_wake(&st->park);
    pthread_mutex_unlock(&s->exchanges.lock);
    if (orphan) f->orphaned(st);
}

static struct stream_fold *fold_of(struct offload_job *j) {
    return LIST_ENTRY(j, struct stream_fold, job);
}

static void turn_run(struct offload_job *j) {
    struct stream_fold *f = fold_of(j);
    struct stream *st = f->stream;
    enum turn_result r = turn_make(f);
    bool again = r == TURN_GOES_ON && !atomic_load(&f->unwanted);
    if (again && offload_queue(st->park.server, st->holder, j)) return;
    turn_end(f, again ? TURN_CLOSED : r);
}

static void turn_refuse(struct offload_job *j) { turn_end(fold_of(j), TURN_CLOSED); }

/* --- the loop's side --- */

/* Under the ticker's lock. */
static void limit_over(void *ctx) {
    struct stream_fold *f = ctx;
    atomic_store(&f->due, true);
    park_wake(&f->stream->park);
}

int fold_new(struct stream *st, const struct http_stream *h, void (*orphaned)(struct stream *st)) {
    struct stream_fold *f = MEM_NEW(struct stream_fold);
    if (!f) return WOPR_E_NO_MEMORY;
    f->stream = st;
    f->orphaned = orphaned;
    f->apply = h->fold;
    f->state = h->state;
    f->state_bytes = h->state_bytes;
    f->away = h->away;
    f->over = h->over;
    f->timer.fire = limit_over;
    f->timer.ctx = f;
    atomic_init(&f->due, false);
    f->job.run = turn_run;
    f->job.refuse = turn_refuse;
    list_init(&f->job.link);
    st->fold = f;
    if (h->limit_ms <= 0) return 0;
    uint64_t until_ms = clock_mono_ms() + (uint64_t)h->limit_ms;
    f->timed = ticker_set(&st->park.server->ticker, &f->timer, until_ms) == 0;
    return f->timed ? 0 : WOPR_E_NO_MEMORY;
}

void fold_adopt(struct stream *st, const struct http_stream *h) {
    if (st->fold) st->fold->state_free = h->state_free;
}

bool fold_begin_away(struct stream *st) {
    struct stream_fold *f = st->fold;
    f->waits = share_take(&st->park.server->shares, st->holder, SHARE_READS, 1);
    return f->waits;
}

static void place_give(struct stream *st) {
    if (st->fold->waits) share_give(&st->park.server->shares, st->holder, SHARE_READS, 1);
    st->fold->waits = false;
}

void fold_free(struct stream *st) {
    struct stream_fold *f = st->fold;
    if (!f) return;
    if (f->timed) ticker_cancel(&st->park.server->ticker, &f->timer);
    place_give(st);
    if (f->state_free) f->state_free(f->state);
    mem_free(f);
    st->fold = NULL;
}

size_t fold_bytes(const struct stream *st) {
    const struct stream_fold *f = st->fold;
    return f && f->state_bytes ? f->state_bytes(f->state) : 0;
}

bool fold_due(const struct stream *st) { return st->fold && atomic_load(&st->fold->due); }

void fold_over(struct stream *st) {
    struct stream_fold *f = st->fold;
    if (!f || !f->over) return;
    f->over(f->state, &st->out);
    f->over = NULL;
}

bool fold_busy(const struct stream *st) {
    return st->fold && atomic_load(&st->fold->turn) == TURN_AWAY;
}

bool fold_rest(const struct stream *st) { return st->fold && rest_left(st->fold); }

bool fold_away(const struct stream *st) { return st->fold && st->fold->away; }

bool fold_send_away(struct stream *st) {
    struct stream_fold *f = st->fold;
    atomic_store(&f->turn, TURN_AWAY);
    if (offload_queue(st->park.server, st->holder, &f->job)) return true;
    atomic_store(&f->turn, TURN_NONE);
    return false;
}

enum fold_made fold_take(struct stream *st) {
    struct stream_fold *f = st->fold;
    if (!f || atomic_load(&f->turn) != TURN_DONE) return FOLD_NOTHING;
    atomic_store(&f->turn, TURN_NONE);
    place_give(st);
    st->no_room = f->result == TURN_NO_ROOM;
    st->failed = st->no_room || f->result == TURN_FAILED;
    if (st->no_room) metrics_refused(&st->park.server->metrics, REFUSED_MEMORY, 0);
    f->away = f->result != TURN_IDLE;
    st->last = f->ended;
    stream_ready_out(st);
    return f->result == TURN_CLOSED ? FOLD_CLOSED : FOLD_FRAMES;
}

int fold_piece(struct stream *st, const struct journal_piece *piece) {
    struct stream_fold *f = st->fold;
    if (piece) {
        f->rest = *piece;
        f->rest_at = 0;
    }
    int rc = rest_apply(f, true, clock_mono_ms() + HTTP_STREAM_TURN_MS);
    if (rc == HTTP_FOLD_AGAIN) f->away = true;
    st->last = f->ended;
    stream_ready_out(st);
    return rc < 0 ? rc : 0;
}

int fold_backlog_over(struct stream *st) {
    struct stream_fold *f = st->fold;
    if (!f) return 0;
    int rc = f->apply(f->state, NULL, true, &st->out);
    if (rc == HTTP_FOLD_AGAIN) f->away = true;
    if (rc != HTTP_FOLD_END) return rc;
    fold_end(f, true);
    st->last = true;
    return 0;
}

bool fold_cancel(struct stream *st) {
    struct stream_fold *f = st->fold;
    if (!fold_busy(st)) return true;
    atomic_store(&f->unwanted, true);
    if (!offload_cancel(st->park.server, st->holder, &f->job)) return false;
    atomic_store(&f->turn, TURN_NONE);
    return true;
}

bool fold_orphan(struct stream *st) {
    if (fold_busy(st)) st->fold->orphan = true;
    return fold_busy(st);
}
