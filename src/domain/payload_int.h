/*
 * payload_int.h: shared by the builders of payloads (payload*.c).  Layer: domain (pure).
 */
#ifndef WOPR_DOMAIN_PAYLOAD_INT_H
#define WOPR_DOMAIN_PAYLOAD_INT_H

#include "codec/ident.h"
#include "codec/json.h"
#include "domain/plan.h"

struct pay {
    struct buf b;
    struct jw w;
};

static inline void pay_begin(struct pay *p) {
    buf_init(&p->b, PLAN_BYTES_MAX); /* the limit of one payload is checked where it is appended */
    jw_init(&p->w, &p->b);
    jw_object(&p->w);
}

static inline struct str pay_end(struct pay *p, struct arena *a) {
    struct str out = STR_NONE;
    jw_end_object(&p->w);
    if (!buf_failed(&p->b)) out = arena_str(a, buf_str(&p->b));
    buf_fini(&p->b);
    return out;
}

static inline void opt_str(struct pay *p, const char *key, struct str v) {
    if (v.n > 0) jw_kstr(&p->w, key, v);
}

static inline void opt_strz(struct pay *p, const char *key, const char *v) {
    if (v && *v) jw_kstrz(&p->w, key, v);
}

static inline void opt_raw(struct pay *p, const char *key, struct str json) {
    if (json.n > 0) jw_kraw(&p->w, key, json);
}

#endif
