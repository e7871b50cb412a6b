/*
 * outlet.h: sockets of live streams, taken out of libmicrohttpd; a set for each loop.  Layer: http.
 */
#ifndef WOPR_HTTP_OUTLET_H
#define WOPR_HTTP_OUTLET_H

#include "base/list.h"
#include "http/peers.h"

struct park;
struct stream;

/* --- a set, on its loop's thread unless it says otherwise --- */
struct outlets;
struct outlet_user {                 /* what a set does with its streams */
    void (*pump)(struct stream *st); /* there may be something to write, or room to */
    void (*end)(struct stream *st);  /* its client is gone, or takes nothing */
    void (*wake)(void *st);          /* its client sends no more: have it pumped, if it is parked */
};
struct outlets *
outlets_new(const struct outlet_user *user); /* NULL without memory or descriptors */
void outlets_free(struct outlets *o); /* ends its streams; nothing turns or wakes it any more */
bool outlets_any(const struct outlets *o);
int outlets_fd(const struct outlets *o); /* readable: outlets_turn has something to look at */
void outlets_wake(struct outlets *o, struct park *p); /* any thread; loop_wake is the caller's */
/* Serve the streams that were woken, and with look those whose sockets are ready. */
void outlets_turn(struct outlets *o, bool look);
int outlets_wait_ms(const struct outlets *o, int ms); /* how long the loop may sleep: at most ms;
                                                         -1: for ever */

/* --- the outlet of one stream --- */
struct outlet {
    int fd;      /* -1: the stream has not left libmicrohttpd */
    bool last;   /* the chunk under way is the end of the body */
    bool narrow; /* the kernel buffers little: its chunks have been large */
    unsigned head_n;
    char head[20]; /* length of the chunk */
    const char *p; /* its content, the stream's; sent counts head, content and end */
    size_t n, sent;
    uint64_t stuck_ms;       /* monotonic; no progress since; 0: not stuck */
    struct list live, stuck; /* in struct outlets */
    struct address peer;     /* its place among the connections of that address */
};
/* Between two pieces, inside stream_read: true: st has an outlet that is served soon, libmicrohttpd
 * is to close its connection. */
bool outlet_take(struct stream *st);
void outlet_drop(struct stream *st);
void outlet_forget(struct stream *st); /* its client is gone: writes no more, and is not stuck */
/* p stays until it is written; last: the body ends after it.  n may be 0 with last. */
void outlet_chunk(struct outlet *o, const char *p, size_t n, bool last);
enum outlet_state { OUTLET_SENT, OUTLET_STUCK, OUTLET_GONE };
enum outlet_state outlet_write(struct stream *st); /* stuck: pumped again when there is room */
void outlet_again(struct stream *st);              /* pump it later, others first */

#endif
