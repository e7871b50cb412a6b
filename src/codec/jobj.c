/*
 * jobj.c: a JSON object built on the side.
 */
#include "codec/jobj.h"

#include <inttypes.h>

void jobj_begin(struct jobj *o, size_t bytes_max) {
    buf_init(&o->b, bytes_max);
    jw_init(&o->w, &o->b);
    jw_object(&o->w);
}

struct str jobj_end(struct jobj *o, struct arena *a) {
    jw_end_object(&o->w);
    struct str text = buf_failed(&o->b) ? STR_NONE : arena_str(a, buf_str(&o->b));
    buf_fini(&o->b);
    return text;
}

char *jobj_take(struct jobj *o, size_t *n) {
    jw_end_object(&o->w);
    char *text = buf_take(&o->b, n);
    buf_fini(&o->b);
    return text;
}

void jobj_details(struct jobj *o, struct wopr_error *err) {
    jw_end_object(&o->w);
    if (!buf_failed(&o->b)) wopr_error_details(err, STR_FMT, STR_ARG(buf_str(&o->b)));
    buf_fini(&o->b);
}

void jobj_details_int(struct wopr_error *err, const char *key, int64_t v) {
    wopr_error_details(err, "{\"%s\":%" PRId64 "}", key, v);
}

void jobj_details_str(struct wopr_error *err, const char *key, const char *v) {
    struct jobj o;
    jobj_begin(&o, WOPR_DETAILS_SIZE);
    jw_kstrz(&o.w, key, v);
    jobj_details(&o, err);
}

void jobj_drop(struct jobj *o) { buf_fini(&o->b); }

/* Straight into the arena: no buffer whose allocation could fail as well. */
struct str jobj_of(struct arena *a, const char *key, struct str json) {
    if (json.n == 0) json = STR("null");
    return arena_printf(a, "{\"%s\":" STR_FMT "}", key, STR_ARG(json));
}

struct str jobj_of_int(struct arena *a, const char *key, int64_t v) {
    return arena_printf(a, "{\"%s\":%" PRId64 "}", key, v);
}
