/*
 * names.h: names to addresses, on threads of our own.  Layer: egress.  The C library's look-up
 * cannot be interrupted: a name whose servers never answer holds a thread for as long as it likes.
 * So look-ups have threads of their own, of which one tenant gets only a few.  A second request of
 * a tenant for the same name joins the look-up under way, and a request that runs out of time
 * leaves it.  Answers are kept for a minute, for the tenant that asked.  Thread-safe; the wake
 * function is called with the lock held and must only wake.
 */
#ifndef WOPR_EGRESS_NAMES_H
#define WOPR_EGRESS_NAMES_H

#include "base/error.h"
#include "base/list.h"
#include "base/str.h"

#define NAME_CHARS_MAX 255u
#define NAME_TEXT_MAX  1024u /* addresses of one name; more are left out */

/* Write the addresses of host as "192.0.2.1,[2001:db8::1]" to out.  Not 0: there are none. */
typedef int egress_lookup_fn(const char *host, char *out, size_t size);
egress_lookup_fn names_lookup_system; /* getaddrinfo */

struct names;
struct lookup;
struct name_wait { /* a waiting request; caller's storage, zeroed */
    struct list link;
    struct lookup *of; /* NULL: answered, or not waiting */
    bool answered;
    int rc;                   /* 0 or UNREACHABLE */
    char text[NAME_TEXT_MAX]; /* the addresses when rc is 0 */
};

/* lookup may block: it runs on threads of its own.  wake(ctx) comes from those when a name is
 * there.  NO_MEMORY. */
MUST_CHECK int names_new(egress_lookup_fn *lookup, void (*wake)(void *ctx), void *ctx,
                         struct names **out);
/* Call it when no request waits any more.  A thread inside a look-up ends after it, detached. */
void names_close(struct names *n);
/* names_take() returns w once it is answered. 0 or NO_MEMORY. */
MUST_CHECK int names_ask(struct names *n, struct str tenant, const char *host, struct name_wait *w);
void names_leave(struct names *n, struct name_wait *w); /* in any state */
struct name_wait *names_take(struct names *n);          /* NULL: no answer yet */

#endif
