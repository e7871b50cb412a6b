/*
 * receiver.h: a receiver of webhooks inside the test, which misbehaves as it is told.  One thread,
 * one connection at a time; it keeps what was posted to it.
 */
#ifndef WOPR_TESTS_RECEIVER_H
#define WOPR_TESTS_RECEIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ACT_SLOW = -1, ACT_RESET = -2, ACT_ENDLESS = -3, ACT_SHORT = -4 }; /* else: a status */
struct posted {
    char path[64], head[1024], body[4096], event[64], run[64];
    int64_t seq, at_ms;
};
struct receiver;
/* port 0: any.  The same port again lets a receiver come back. */
struct receiver *receiver_start(int port);
void receiver_stop(struct receiver *r);
int receiver_port(const struct receiver *r);
/* The next n requests are treated so, afterwards 204. n < 0: all. */
void receiver_act(struct receiver *r, int n, int act);
size_t receiver_count(struct receiver *r);
bool receiver_at(struct receiver *r, size_t i, struct posted *out);
bool receiver_wait(struct receiver *r, size_t n); /* until n requests came; bounded */
/* Value of a header of a request, or "". */
const char *posted_header(const struct posted *p, const char *name, char *out, size_t size);

#endif
