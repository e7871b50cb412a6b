/*
 * stream.c: SSE (20-runtime section 2).
 *
 * A finished run is one answer when it is short (stream_whole.c).  Otherwise libmicrohttpd asks
 * stream_read for bytes until the backlog has been sent; then the stream takes its socket
 * (outlet.c), and stream_pump writes.  With nothing to write it is parked until the journal, the
 * ticker or the drain wakes it.  Unbuffered frames are sent straight out of the journal's shared
 * block, so a stream has no buffer of its own.  A client that does not read is cut after
 * read_timeout_s without progress (SSE-25); the journal does not wait for it.
 */
#include "http/stream.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/jobj.h"
#include "http/auth.h"
#include "http/exchange.h"
#include "http/intake.h"
#include "http/server.h"

static const char HELLO[] = ":ok\n\n"; /* flushes proxies (SSE-12) */
static const char BEAT[] = ":keepalive\n\n";
enum {
    STREAM_OUT_KEEP = 16 * 1024,
    STREAM_PIECES_PER_TURN = 32,
    STREAM_PIECES_UNTIMED = 4,
    STREAM_EMPTY_PIECES_MAX = 32 /* filtered ones in a row before others may run */
};
/* libmicrohttpd is closing a connection whose socket is ours: not worth a line in the log. */
static _Thread_local bool leaving;

void stream_wake(void *ctx) { park_wake(&((struct stream *)ctx)->park); }

/* --- filling --- */

/* The window of a batch is over: it is written next. */
static bool stream_batch_ready(struct stream *st) {
    if (!batch_due(st)) return false;
    batch_flush(st);
    stream_ready_out(st);
    return true;
}

/* Count what the stream holds now; when there is no room it is cut, and the client resumes. */
static void stream_count_bytes(struct stream *st) {
    size_t n = st->out.cap + st->whole.cap + (st->batch ? st->batch->elements.cap : 0);
    n += fold_bytes(st);
    if (budget_move(st->park.server, st->holder, &st->bytes, n)) return;
    st->failed = st->no_room = true;
    /* Before it begins, its refusal is counted with the answer. */
    if (st->begun) metrics_refused(&st->park.server->metrics, REFUSED_MEMORY, 0);
}

/* What was made for the last piece has been sent. */
static void stream_out_done(struct stream *st) {
    stream_ready(st, NULL, 0);
    buf_fini(&st->whole);
    if (st->out.cap > STREAM_OUT_KEEP || st->stage == STREAM_LIVE) buf_fini(&st->out);
    else buf_reset(&st->out);
    if (st->bytes > 0) stream_count_bytes(st);
}

/* Events at the head of the piece that the client has seen: they are read for the end only. */
static size_t piece_known(const struct stream *st, const struct journal_piece *piece) {
    size_t n = 0;
    while (n < piece->events_nr && piece->events[n].seq <= st->quiet_until) n++;
    return n;
}

/* SSE-23: the end is the terminal event, whether the mode shows it or not. */
static void piece_take_frames(struct stream *st, const struct journal_piece *piece) {
    size_t n = piece->n, old = piece_known(st, piece);
    size_t from = old > 0 && piece->ends ? piece->ends[old - 1] : 0;
    for (size_t i = 0; i < piece->events_nr; i++) {
        if (!event_is_terminal(piece->events[i].kind)) continue;
        if (piece->ends) n = piece->ends[i];
        st->last = true;
        break;
    }
    stream_ready(st, piece->p + from, n > from ? n - from : 0);
}

static void stream_count_events(struct stream *st, size_t n) {
    atomic_fetch_add_explicit(&st->park.server->metrics.stream_events, n, memory_order_relaxed);
}

static int piece_take(struct stream *st, const struct journal_piece *piece) {
    if (st->fold) return fold_piece(st, piece);
    stream_count_events(st, piece->frames_nr);
    if (!st->batch) {
        piece_take_frames(st, piece);
        return 0;
    }
    int rc = batch_take(st, piece);
    stream_ready_out(st);
    return rc;
}

static void stream_finish(struct stream *st) {
    batch_flush(st);
    fold_over(st);
    stream_ready_out(st);
    st->last = true;
}

static enum fill stream_cut(struct stream *st, int rc, const char *why) {
    log_warn("stream cut", "runId", st->run_id.p, "code", wopr_err_name(rc), "error", why);
    st->failed = true;
    return FILL_AGAIN;
}

/* The backlog does not wait for a window. */
static int stream_backlog_over(struct stream *st) {
    int rc = fold_backlog_over(st);
    if (rc == HTTP_FOLD_AGAIN) return rc;
    st->stage = STREAM_LIVE;
    batch_flush(st);
    stream_ready_out(st);
    return rc == 0 && buf_failed(&st->out) ? WOPR_E_NO_MEMORY : rc;
}

/* Its key was revoked or has expired. */
static bool stream_unwanted(struct stream *st) {
    return atomic_exchange(&st->beat.look, false) &&
           key_gone(st->park.server, st->key_id, st->token_ends_ms);
}

/* Nothing in the log now. */
static enum fill stream_idle(struct stream *st) {
    struct http_server *s = st->park.server;
    if (st->stage == STREAM_BACKFILL) {
        int rc = stream_backlog_over(st);
        if (rc == HTTP_FOLD_AGAIN) return FILL_AGAIN;
        if (rc != 0) return stream_cut(st, rc, "the end of the backlog could not be shown");
        if (st->n > 0 || st->last) return FILL_AGAIN;
    }
    if (st->final || st->hung_up || fold_due(st) || server_draining(s)) {
        stream_finish(st);
        return FILL_AGAIN;
    }
    if (stream_batch_ready(st)) return FILL_AGAIN;
    if (atomic_exchange(&st->beat.due, false)) {
        stream_ready(st, BEAT, sizeof BEAT - 1);
        return FILL_AGAIN;
    }
    if (batch_arm(st) != 0) {
        st->failed = true;
        return FILL_AGAIN;
    }
    if (outlet_take(st)) return FILL_LEFT;
    return park_here(&st->park) ? FILL_PARKED : FILL_AGAIN;
}

/* Nothing to send until a turn of the fold has been made.  A client that sends no more may be gone:
 * a comment finds out. */
static enum fill stream_await_turn(struct stream *st) {
    bool ask = st->hung_up && !st->asked;
    if (ask || atomic_exchange(&st->beat.due, false)) {
        st->asked = st->asked || ask;
        stream_ready(st, BEAT, sizeof BEAT - 1);
        return FILL_AGAIN;
    }
    if (outlet_take(st)) return FILL_LEFT;
    return park_here(&st->park) ? FILL_PARKED : FILL_AGAIN;
}

/* What a turn of the fold has made, or the wait for it.  false: the loop goes on itself. */
static bool stream_fill_away(struct stream *st, enum fill *how) {
    *how = FILL_AGAIN;
    if (fold_busy(st)) {
        *how = stream_await_turn(st);
        return true;
    }
    enum fold_made made = fold_take(st);
    if (made == FOLD_CLOSED) st->last = true;
    if (made != FOLD_NOTHING) return true;
    stream_out_done(st);
    if (st->failed) return true;
    bool away = fold_away(st), over = stream_unwanted(st);
    if (over && st->fold) st->last = true; /* no last word for a key that is gone */
    else if (over) stream_finish(st);
    else if (away && !fold_send_away(st)) stream_finish(st);
    return over || away; /* a turn that is away may be over already */
}

/* Make the next bytes ready, p[at..n), which may be none.  Sets last when they are the end, or
 * failed. */
static enum fill stream_fill(struct stream *st) {
    enum fill how;
    if (st->stage == STREAM_HELLO) {
        st->stage = STREAM_BACKFILL;
        st->last = !st->reader;
        stream_ready(st, HELLO, sizeof HELLO - 1);
        return FILL_AGAIN;
    }
    if (stream_fill_away(st, &how)) return how;
    struct journal_piece piece = {0};
    struct wopr_error err = {0};
    if (stream_batch_ready(st)) return FILL_AGAIN;
    bool rest = fold_rest(st);
    int rc = rest ? 1 : journal_reader_next(st->reader, &piece, &err);
    if (rc == 0) return stream_idle(st);
    if (rc == 1) {
        rc = rest ? fold_piece(st, NULL) : piece_take(st, &piece);
        stream_count_bytes(st);
    } else if (rc == WOPR_E_CLOSED) {
        stream_finish(st);
        rc = 0;
    }
    return rc == 0 ? FILL_AGAIN : stream_cut(st, rc, err.message);
}

static void stream_count_sent(struct stream *st, size_t n) {
    atomic_store_explicit(&st->beat.last_ms, clock_mono_ms(), memory_order_relaxed);
    atomic_fetch_add_explicit(&st->park.server->metrics.stream_bytes, n, memory_order_relaxed);
}

static ssize_t stream_leave(struct stream *st) {
    st->refs++;
    leaving = true;
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

bool stream_leaving(void) { return leaving; }

static ssize_t stream_read(void *cls, uint64_t pos, char *out, size_t max) {
    (void)pos;
    struct stream *st = cls;
    ASSERT(st != NULL && st->magic == STREAM_MAGIC);
    uint64_t until_ms = clock_mono_ms() + HTTP_STREAM_TURN_MS;
    for (unsigned empty = 0;; empty++) {
        if (st->failed) return MHD_CONTENT_READER_END_WITH_ERROR;
        if (st->at < st->n) break;
        if (st->last) return MHD_CONTENT_READER_END_OF_STREAM;
        if (empty == STREAM_EMPTY_PIECES_MAX || clock_mono_ms() > until_ms) { /* let others run */
            if (st->closes && outlet_take(st))
                return stream_leave(st); /* outlets share their turns */
            stream_ready(st, BEAT, sizeof BEAT - 1);
        } else {
            enum fill f = stream_fill(st);
            if (f == FILL_PARKED) return 0;
            if (f == FILL_LEFT) return stream_leave(st);
        }
    }
    size_t n = st->n - st->at < max ? st->n - st->at : max;
    memcpy(out, st->p + st->at, n);
    st->at += n;
    stream_count_sent(st, n);
    return (ssize_t)n;
}

/* --- life --- */

static void stream_unref(struct stream *st) {
    if (--st->refs > 0) return;
    st->magic = 0;
    mem_free(st);
}

static void stream_parts_free(struct stream *st) {
    struct http_server *s = st->park.server;
    journal_reader_close(st->reader);
    batch_free(st);
    fold_free(st);
    buf_fini(&st->out);
    buf_fini(&st->whole);
    (void)budget_move(s, st->holder, &st->bytes, 0);
    share_give(&s->shares, st->holder, SHARE_STREAMS, 1);
    shares_leave(&s->shares, st->holder);
}

static void stream_free(struct stream *st) {
    stream_parts_free(st);
    stream_unref(st);
}

/* Nothing but a turn of its fold, which then is its owner (false), wakes it any more. */
static bool stream_close(struct stream *st) {
    struct http_server *s = st->park.server;
    ASSERT(st->magic == STREAM_MAGIC);
    (void)fold_cancel(st);
    ticker_beat_del(&s->ticker, &st->beat);
    pthread_mutex_lock(&s->exchanges.lock);
    list_del(&st->link);
    bool owned = !fold_orphan(st);
    pthread_mutex_unlock(&s->exchanges.lock);
    if (owned) stream_parts_free(st);
    return owned;
}

/* Of an outlet.  false: a turn of its fold is being made and wakes it; then it is over. */
static bool stream_over(struct stream *st) {
    st->gone = !fold_cancel(st);
    if (st->gone) {
        outlet_forget(st);
        return false;
    }
    bool owned = stream_close(st);
    ASSERT(owned);
    outlet_drop(st);
    stream_unref(st);
    return true;
}

void stream_end(struct stream *st) {
    bool stuck = st->outlet.stuck_ms != 0; /* else it is parked, or about to be pumped */
    if (!stream_over(st) && stuck) outlet_again(st);
}

/* libmicrohttpd has no more use for it. */
static void stream_release(void *cls) {
    struct stream *st = cls;
    leaving = false;
    if (!st->park.conn || stream_close(st)) stream_unref(st);
}

/* One piece; false when there is none for now, or the stream is over. */
static bool pump_piece(struct stream *st) {
    enum outlet_state is = st->gone ? OUTLET_GONE : outlet_write(st);
    if (is == OUTLET_STUCK) return false;
    if (is == OUTLET_GONE || st->failed || st->outlet.last)
        return !stream_over(st) && !park_here(&st->park);
    if (st->at == st->n && !st->last) return stream_fill(st) != FILL_PARKED;
    size_t n = st->n - st->at;
    outlet_chunk(&st->outlet, n > 0 ? st->p + st->at : "", n, st->last);
    stream_count_sent(st, n);
    st->at = st->n;
    return true;
}

void stream_pump(struct stream *st) {
    ASSERT(st->magic == STREAM_MAGIC && st->outlet.fd >= 0);
    uint64_t until_ms = 0;
    for (unsigned i = 0; i < STREAM_PIECES_PER_TURN; i++) {
        /* Most have one event to send, and the clock costs as much as a part of it. */
        if (i == STREAM_PIECES_UNTIMED) until_ms = clock_mono_ms() + HTTP_STREAM_TURN_MS;
        if (i > STREAM_PIECES_UNTIMED && clock_mono_ms() > until_ms) break;
        if (!pump_piece(st)) return;
    }
    outlet_again(st);
}

/* One allocation: struct, run id, key id. */
static struct stream *stream_new(struct http_server *s, struct exchange *x) {
    const struct http_stream *h = &x->stream;
    struct str key_id = x->pub.who.key_id;
    struct stream *st = mem_zalloc(sizeof *st + h->run_id.n + 1 + key_id.n);
    if (!st) return NULL;
    char *text = (char *)(st + 1);
    if (h->run_id.n > 0) memcpy(text, h->run_id.p, h->run_id.n);
    st->run_id = str_n(text, h->run_id.n);
    text += h->run_id.n + 1; /* terminated, for the journal */
    if (key_id.n > 0) memcpy(text, key_id.p, key_id.n);
    st->key_id = str_n(text, key_id.n);
    st->token_ends_ms = x->pub.who.token_ends_ms;
    st->magic = STREAM_MAGIC;
    st->refs = 1;
    st->outlet.fd = -1;
    st->plain = x->head.http_1_1 && !s->listen.tls_cert;
    list_init(&st->outlet.live);
    list_init(&st->outlet.stuck);
    st->final = h->final || h->ended;
    st->quiet_until = h->fold ? -1 : h->quiet_until;
    park_init(&st->park, s, x->conn);
    buf_init(&st->out, HTTP_FRAME_BYTES_MAX);
    list_init(&st->link);
    list_init(&st->beat.link);
    st->beat.fire = stream_wake;
    st->beat.ctx = st;
    return st;
}

static int stream_read_log(struct exchange *x, struct stream *st, struct wopr_error *err) {
    const struct http_stream *h = &x->stream;
    bool viewed = !h->fold && h->view;
    struct journal_view view = {.id = 0};
    if (viewed) {
        ASSERT(h->view->id < x->mount->as.views_nr);
        view = *h->view;
        view.id += x->mount->views_first;
    }
    const struct journal_cursor at = {.run_no = h->run_no,
                                      .run_id = st->run_id,
                                      .after_seq = h->after_seq,
                                      .view = viewed ? &view : NULL,
                                      .wake = st->final ? NULL : stream_wake,
                                      .ctx = st};
    return journal_reader_open(st->park.server->journal, &at, &st->reader, err);
}

static int stream_open(struct exchange *x, struct stream **out, struct wopr_error *err) {
    struct http_server *s = x->pub.server;
    const struct http_stream *h = &x->stream;
    struct stream *st = stream_new(s, x);
    int rc = st && !buf_failed(&st->out) ? 0 : WOPR_E_NO_MEMORY;
    if (rc == 0 && h->buffer_ms > 0 && !h->fold) rc = batch_new(st, h->buffer_ms);
    if (rc == 0 && h->fold) rc = fold_new(st, h, stream_free);
    if (rc != 0) (void)wopr_error_set(err, rc, "no memory for the stream");
    if (rc == 0 && !h->ended) rc = stream_read_log(x, st, err);
    if (rc != 0) {
        if (st) batch_free(st), fold_free(st), buf_fini(&st->out);
        mem_free(st);
        return rc;
    }
    fold_adopt(st, h);
    st->holder = shares_again(&s->shares, x->share.tenant);
    x->has_stream = false; /* the state is the stream's now */
    *out = st;
    return 0;
}

enum { STREAM_RETRY_S = 5 };

/* As many as one tenant may have: others find room still (ERR-8). */
static int stream_refuse_tenant(struct exchange *x, size_t open, struct wopr_error *err) {
    struct jobj o;
    x->refusal = REFUSED_TENANT_STREAMS;
    (void)wopr_error_set(err, WOPR_E_RATE_LIMITED,
                         "as many streams of this tenant are open as tenant-streams-max allows; "
                         "close some, or retry after the time given");
    jobj_begin(&o, WOPR_DETAILS_SIZE);
    jw_kint(&o.w, "retryAfterMs", STREAM_RETRY_S * 1000);
    jw_kstrz(&o.w, "scope", "tenant");
    jw_kint(&o.w, "limit", x->pub.server->cfg.tenant_streams_max);
    jw_kint(&o.w, "current", (int64_t)open);
    jw_kint(&o.w, "retryAfterSeconds", STREAM_RETRY_S);
    jobj_details(&o, err);
    return WOPR_E_RATE_LIMITED;
}

static int stream_refuse_capacity(struct exchange *x, struct wopr_error *err) {
    size_t own = share_over_cap(&x->pub.server->shares, x->share.tenant, SHARE_STREAMS);
    if (own > 0) return stream_refuse_tenant(x, own, err);
    x->refusal = REFUSED_STREAMS;
    (void)wopr_error_set(err, WOPR_E_UNAVAILABLE,
                         "as many streams are open as streams-max allows for this tenant; retry "
                         "later");
    jobj_details_int(err, "retryAfter", STREAM_RETRY_S);
    return WOPR_E_UNAVAILABLE;
}

static int stream_state_room(struct exchange *x, struct wopr_error *err) {
    const struct http_stream *h = &x->stream;
    size_t n = h->state_bytes ? h->state_bytes(h->state) : 0;
    bool room = share_room(&x->pub.server->shares, x->share.tenant, SHARE_BYTES, n);
    return room ? 0 : budget_refuse(x, err);
}

/* The whole of a short stream becomes the reply of the exchange. */
static int stream_reply_whole(struct exchange *x, struct stream *st) {
    struct http_call *p = &x->pub;
    bool nothing = st->n == sizeof HELLO - 1;
    x->whole = st->whole;
    buf_init(&st->whole, 0);
    if (nothing && x->stream.none_is_204) {
        http_reply(p, MHD_HTTP_NO_CONTENT, STR(""));
        return 1;
    }
    p->content_type = "text/event-stream";
    p->cache_control = "no-cache";
    http_reply_header(p, "X-Accel-Buffering", STR("no"));
    http_reply(p, MHD_HTTP_OK, buf_str(&x->whole));
    struct metrics *m = &p->server->metrics;
    atomic_fetch_add_explicit(&m->stream_bytes, x->whole.len, memory_order_relaxed);
    atomic_fetch_add(&m->streams_opened, 1);
    return 1;
}

static int stream_refuse_failed(struct exchange *x, struct stream *st, struct wopr_error *err) {
    bool no_room = st->no_room;
    stream_free(st);
    return no_room ? budget_refuse(x, err)
                   : wopr_error_set(err, WOPR_E_INTERNAL, "the log of the run could not be read");
}

static void stream_enlist(struct stream *st) {
    struct http_server *s = st->park.server;
    ticker_beat_add(&s->ticker, &st->beat);
    pthread_mutex_lock(&s->exchanges.lock);
    list_add_tail(&s->exchanges.streams, &st->link);
    pthread_mutex_unlock(&s->exchanges.lock);
}

static int stream_queue(struct exchange *x, struct stream *st, struct wopr_error *err) {
    struct http_server *s = x->pub.server;
    st->closes = !st->final || st->fold; /* the connection ends with the stream (SSE-23) */
    if (st->closes) x->close_after = true;
    st->begun = true;
    stream_enlist(st);
    struct MHD_Response *r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, HTTP_STREAM_BLOCK,
                                                               stream_read, st, stream_release);
    if (!r) {
        stream_release(st);
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the stream");
    }
    intake_of(x->conn)->watched = !st->final;
    (void)MHD_add_response_header(r, "Content-Type", "text/event-stream");
    (void)MHD_add_response_header(r, "Cache-Control", "no-cache");
    (void)MHD_add_response_header(r, "X-Accel-Buffering", "no");
    reply_headers(x, r);
    enum MHD_Result ok = MHD_queue_response(x->conn, MHD_HTTP_OK, r);
    MHD_destroy_response(r); /* frees st when it was not queued */
    x->stage = EXCHANGE_SENT;
    if (ok != MHD_YES)
        return wopr_error_set(err, WOPR_E_INTERNAL, "the stream could not be started");
    atomic_fetch_add(&s->metrics.streams_opened, 1);
    metrics_done(&s->metrics, x->pub.op, x->op_no, MHD_HTTP_OK, clock_mono_ns() - x->life.start_ns);
    reply_log(x, MHD_HTTP_OK);
    return 0;
}

/* The tenant's share of streams is the stream's from stream_open on, which gives it back with its
 * parts.  "Away": what is costly to fold is folded on another thread than the connection's. */
int stream_start(struct exchange *x, struct wopr_error *err) {
    struct http_server *s = x->pub.server;
    struct stream *st = NULL;
    if (!share_take(&s->shares, x->share.tenant, SHARE_STREAMS, 1))
        return stream_refuse_capacity(x, err);
    int rc = stream_state_room(x, err);
    if (rc == 0) rc = stream_open(x, &st, err);
    if (rc != 0) {
        share_give(&s->shares, x->share.tenant, SHARE_STREAMS, 1);
        return rc;
    }
    if (st->final && stream_whole(st, stream_fill)) {
        rc = stream_reply_whole(x, st);
        stream_free(st);
        return rc;
    }
    if (!st->failed) stream_count_bytes(st);
    if (st->failed) return stream_refuse_failed(x, st, err);
    if (fold_away(st) && !fold_begin_away(st)) {
        stream_free(st);
        return offload_refuse_full(x, err);
    }
    return stream_queue(x, st, err);
}

void stream_wake_all(struct http_server *s) {
    pthread_mutex_lock(&s->exchanges.lock);
    for (struct list *l = s->exchanges.streams.next; l != &s->exchanges.streams; l = l->next)
        park_wake(&LIST_ENTRY(l, struct stream, link)->park);
    pthread_mutex_unlock(&s->exchanges.lock);
}
