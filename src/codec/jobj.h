/*
 * jobj.h: a JSON object built on the side.  Layer: codec.
 *
 * For an object whose text goes into an arena, a struct or an error, not into a buffer that is
 * already there (for those: jw_object of json.h).  Members are written with the jw_ functions:
 *
 *     struct jobj o;
 *     jobj_begin(&o, RESULT_BYTES_MAX);
 *     jw_kstr(&o.w, "name", name);
 *     struct str text = jobj_end(&o, a);
 *
 * The first failure sticks (no memory, more than bytes_max, nesting beyond 64): later writes have
 * no effect, and the end returns nothing.  Every jobj_begin is followed by exactly one of jobj_end,
 * jobj_take and jobj_drop; o must not be moved in between.  One user at a time.
 */
#ifndef WOPR_CODEC_JOBJ_H
#define WOPR_CODEC_JOBJ_H

#include "codec/json.h"

struct jobj {
    struct jw w;  /* one object is open in it */
    struct buf b; /* what w writes to */
};

void jobj_begin(struct jobj *o, size_t bytes_max); /* allocates nothing, cannot fail */
static inline void jobj_fail(struct jobj *o) { o->b.failed = true; }

/* Close the object and copy its text into a.  STR_NONE when something failed or a is full. */
struct str jobj_end(struct jobj *o, struct arena *a);
/* Close the object and hand its text over, *n bytes and a NUL, for mem_free.  NULL when
 * something failed. */
char *jobj_take(struct jobj *o, size_t *n);
/* Close the object and make it the details of err, unless something failed or it does not fit. */
void jobj_details(struct jobj *o, struct wopr_error *err);
/* {"key":v} as the details of err.  The first needs no memory; in the second v is escaped. */
void jobj_details_int(struct wopr_error *err, const char *key, int64_t v);
void jobj_details_str(struct wopr_error *err, const char *key, const char *v);
/* Discard it, at any depth. */
void jobj_drop(struct jobj *o);

/* {"key":json}: key an ASCII literal of ours, json checked text, up to 2 GiB.  No other allocation
 * than in a; STR_NONE when it is full. */
struct str jobj_of(struct arena *a, const char *key, struct str json);
struct str jobj_of_int(struct arena *a, const char *key, int64_t v);

#endif
