/*
 * issuers_watch.h: keeps the issuers of tokens current while the host serves: reads their files
 * again after a change, and fetches the keys of those that publish them at a URL (AUTH-21,
 * AUTH-23).  Layer: host.
 *
 * One thread looks at the files each WATCH_FILES_MS and asks for keys when they are due.  It never
 * waits for an answer; no request waits for it.
 */
#ifndef WOPR_HOST_ISSUERS_WATCH_H
#define WOPR_HOST_ISSUERS_WATCH_H

#include "base/buf.h"
#include "host/issuers_file.h"

enum { WATCH_FILES_MS = 5000 };

struct issuers_watch;
struct issuers_watch_stats {
    uint64_t fetched, failed;
    int64_t oldest_ms; /* of the keys of issuers with a URL; -1: one has none */
    size_t sources;    /* such issuers */
};

/* issuers and e (NULL: no issuer has a URL) are the caller's and outlive it; *f goes over to it.
 * NO_MEMORY: *f stays the caller's. */
MUST_CHECK int issuers_watch_new(struct issuers_file *f, struct http_issuers *issuers,
                                 struct egress *e, struct issuers_watch **out,
                                 struct wopr_error *err);
MUST_CHECK int issuers_watch_start(struct issuers_watch *w, struct wopr_error *err);
void issuers_watch_stop(struct issuers_watch *w); /* before egress; takes NULL */
void issuers_watch_free(struct issuers_watch *w); /* after egress has stopped; takes NULL */
void issuers_watch_stats(struct issuers_watch *w, struct issuers_watch_stats *out);

/* When an issuer's keys are to be asked for next; all times are monotonic. */
struct keys_due {
    int64_t refresh_ms;
    int64_t asked_ms;  /* last, 0: never */
    unsigned failures; /* since the last success */
    bool wanted;       /* a token named a key that is not there: at most one question a minute */
};
int64_t keys_due_ms(const struct keys_due *d);

#endif
