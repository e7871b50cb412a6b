/*
 * idem.h: layer-1 idempotency, the gate for duplicates and the look-up (IDEM-1 to 11).
 * Layer: http.
 */
#ifndef WOPR_HTTP_IDEM_H
#define WOPR_HTTP_IDEM_H

#include "base/list.h"
#include "base/map.h"
#include "codec/bytes.h"

#include <pthread.h>

struct exchange;
struct gate {
    pthread_mutex_t lock;
    struct map *slots; /* cache key -> struct gate_slot */
};
struct gate_slot {
    struct sha256 key, digest;
    struct list waiters; /* of struct exchange.gate.link */
};
struct gate_visit {         /* of an exchange */
    struct gate_slot *slot; /* owned: it is the first with its key */
    struct list link;       /* waiting at a slot */
    uint64_t deadline_ms;   /* 0: has not been there */
};
MUST_CHECK int gate_init(struct gate *g);
void gate_fini(struct gate *g);
/* Key syntax (IDEM-3) and fingerprint; sets pub.has_idem. */
MUST_CHECK int idem_prepare(struct exchange *x, struct str key, struct wopr_error *err);
enum idem_step { IDEM_RUN, IDEM_PARK, IDEM_REPLY };
enum idem_step idem_enter(struct exchange *x); /* IDEM_REPLY: a reply is set */
void idem_leave(struct exchange *x); /* the reply is decided, or the exchange ends; idempotent */

#endif
