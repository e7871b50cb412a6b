/*
 * stream.h: one SSE connection, shared by stream.c, stream_fold.c, stream_whole.c, stream_batch.c
 * and outlet.c.
 * Layer: http.
 * An idle stream holds this struct, a log reader and a socket (with TLS: libmicrohttpd's
 * connection); no thread, no timer, no exchange, no arena.
 */
#ifndef WOPR_HTTP_STREAM_H
#define WOPR_HTTP_STREAM_H

#include "http/outlet.h"
#include "http/park.h"
#include "http/ticker.h"
#include "journal/journal.h"

enum {
    HTTP_STREAM_BLOCK = 256, /* libmicrohttpd's buffer for HTTP/1.0 streams */
    HTTP_STREAM_TURN_MS = 1, /* begun: reading and folding before streams let others run */
    HTTP_FRAME_BYTES_MAX = 64 * 1024 * 1024
};

struct http_stream;
#define STREAM_MAGIC 0x53534531u
enum stream_stage { STREAM_HELLO, STREAM_BACKFILL, STREAM_LIVE };

struct stream_batch { /* bufferMs > 0 (SSE-31 to 35) */
    struct buf elements;
    size_t count;
    int64_t last_seq; /* highest admitted sequence in elements */
    bool armed;
    atomic_bool due;
    struct tick_timer timer;
    unsigned window_ms;
};
struct stream {
    uint32_t magic;
    uint8_t stage; /* enum stream_stage */
    uint8_t refs;  /* libmicrohttpd's response, and an outlet; one thread only */
    bool plain;    /* HTTP/1.1 without TLS */
    bool last;     /* what is ready is the end */
    bool failed;   /* the store failed, or no_room: cut, so that the client resumes */
    bool no_room;  /* within memory-bytes */
    bool begun;    /* its head is on the way */
    bool closes;   /* the connection ends with it, as the head says */
    bool final;    /* the run has ended: the end of its log is the end */
    bool hung_up;  /* the client sends no more: what is there, then the end (SSE-33) */
    bool asked;    /* whether it still reads */
    bool gone;     /* it does not; a turn of its fold is still being made */
    struct park park;
    struct tick_beat beat;
    struct list link; /* in server.exchanges.streams */
    struct journal_reader *reader;
    const char *p; /* ready to be sent: p[at..n) */
    size_t n, at;
    struct buf out;   /* frames made here (fold, batches) */
    struct buf whole; /* of a final run: what was made in one go and was too long for it */
    int64_t quiet_until;
    struct stream_fold *fold; /* values mode; NULL: frames come from the log */
    struct holder *holder;    /* whose stream it is; bytes are counted for it (budget.c) */
    size_t bytes;
    struct stream_batch *batch;
    struct str run_id, key_id;
    int64_t token_ends_ms; /* of struct principal */
    struct outlet outlet;
};
enum fill { FILL_AGAIN, FILL_PARKED, FILL_LEFT };
/* Of a final stream that nothing was written of.  true: all of it is in st->whole; false: that was
 * too long or took too long, and what there is so far is ready to be sent, or st->failed.
 * fill makes the next bytes ready, p[at..n), which may be none; it sets last when they are the end,
 * or failed. */
bool stream_whole(struct stream *st, enum fill (*fill)(struct stream *));
static inline void stream_ready(struct stream *st, const char *p, size_t n) { /* the next bytes */
    st->p = p;
    st->n = n;
    st->at = 0;
}
static inline void stream_ready_out(struct stream *st) { stream_ready(st, st->out.p, st->out.len); }
void stream_wake(void *st);
/* On the loop's thread. */
void stream_pump(struct stream *st); /* write what there is; ends the stream when that was all */
void stream_end(struct stream *st);  /* of an outlet: close and forget, now or after a turn */

/* Events are held for up to window_ms, or until one that flushes (SSE-33).  NO_MEMORY. */
MUST_CHECK int batch_new(struct stream *st, unsigned window_ms);
void batch_free(struct stream *st);
/* Add what the piece admits; frames that are complete go to st->out.  Sets st->last after the
 * terminal event. */
int batch_take(struct stream *st, const struct journal_piece *piece);
/* Write the open window to st->out, if it holds anything. */
void batch_flush(struct stream *st);
bool batch_due(struct stream *st); /* the window is over */
int batch_arm(struct stream *st);  /* live: the open window gets its deadline */

/* --- stream_fold.c; on the loop's thread --- */
/* orphaned: ends a stream whose connection went while a turn was being made. */
MUST_CHECK int fold_new(struct stream *st, const struct http_stream *h,
                        void (*orphaned)(struct stream *st));
void fold_adopt(struct stream *st, const struct http_stream *h); /* frees the state from now on */
void fold_free(struct stream *st);                               /* no turn is being made */
size_t fold_bytes(const struct stream *st);                      /* of the state */
bool fold_due(const struct stream *st);                          /* its limit is over */
void fold_over(struct stream *st); /* the last frames of a stream that ends without its end */
/* A turn is being made elsewhere: reader, state, out and bytes are not the loop's now. */
bool fold_busy(const struct stream *st);
bool fold_rest(const struct stream *st); /* events of the last piece are left */
bool fold_away(const struct stream *st); /* the next turn is to be made elsewhere */
/* Before the stream begins with a turn elsewhere: false: too many of its tenant wait for that. */
bool fold_begin_away(struct stream *st);
/* Have a turn made; it wakes the stream at its end.  false: no thread makes turns any more. */
bool fold_send_away(struct stream *st);
/* The result of a turn: its frames are ready to be sent, or st->failed.  CLOSED: and the end, for
 * no further turn will be made. */
enum fold_made { FOLD_NOTHING, FOLD_FRAMES, FOLD_CLOSED } fold_take(struct stream *st);
/* Fold a piece, or what is left of the last one (NULL), as far as that is short. */
int fold_piece(struct stream *st, const struct journal_piece *piece);
int fold_backlog_over(struct stream *st); /* HTTP_FOLD_AGAIN: to be asked elsewhere */
/* The stream is over.  false: a turn is being made, which wakes the stream at its end. */
bool fold_cancel(struct stream *st);
/* Under server.exchanges.lock, the connection is gone.  true: the turn that is being made frees the
 * stream. */
bool fold_orphan(struct stream *st);

#endif
