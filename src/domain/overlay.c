/*
 * overlay.c: the options of a branch: those of its source with some replaced (FORK-23).
 */
#include "codec/json.h"
#include "domain/options.h"

#define OVERLAY_TEXT_MAX (32u * 1024 * 1024)

static struct str buf_done(struct buf *b, struct arena *a) {
    struct str out = buf_failed(b) ? STR_NONE : arena_str(a, buf_str(b));
    buf_fini(b);
    return out;
}

int overlay_object(struct str base, struct str over, struct arena *a, struct str *out,
                   struct wopr_error *err) {
    struct json_members was = {0}, add = {0};
    struct buf b;
    struct jw w;
    int rc = base.n > 0 ? json_members(base, a, &was, err) : 0;
    if (rc == 0) rc = json_members(over, a, &add, err);
    if (rc != 0) return rc;
    buf_init(&b, OVERLAY_TEXT_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    for (size_t i = 0; i < was.n; i++) {
        size_t k = 0;
        while (k < add.n && !str_eq(add.v[k].key, was.v[i].key)) k++;
        jw_key_str(&w, was.v[i].key);
        jw_raw(&w, k < add.n ? add.v[k].raw : was.v[i].raw);
    }
    for (size_t i = 0; i < add.n; i++) {
        size_t k = 0;
        while (k < was.n && !str_eq(was.v[k].key, add.v[i].key)) k++;
        if (k < was.n) continue;
        jw_key_str(&w, add.v[i].key);
        jw_raw(&w, add.v[i].raw);
    }
    jw_end_object(&w);
    *out = buf_done(&b, a);
    return out->p ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to merge an overlay");
}

static bool holds(const struct json_elements *l, size_t n, struct str text, struct arena *a) {
    for (size_t i = 0; i < n; i++)
        if (str_eq(json_string(l->v[i], a), text)) return true;
    return false;
}

int overlay_tags(struct str base, struct str over, struct arena *a, struct str *out,
                 struct wopr_error *err) {
    struct json_elements was = {0}, add = {0};
    struct buf b;
    struct jw w;
    int rc = base.n > 0 ? json_elements(base, a, &was, err) : 0;
    if (rc == 0) rc = json_elements(over, a, &add, err);
    if (rc != 0) return rc;
    buf_init(&b, OVERLAY_TEXT_MAX);
    jw_init(&w, &b);
    jw_array(&w);
    for (size_t i = 0; i < was.n; i++) jw_raw(&w, was.v[i]);
    for (size_t i = 0; i < add.n;
         i++) { /* what is no string is refused by the check that follows */
        struct str tag = json_string(add.v[i], a);
        bool again = tag.p && (holds(&was, was.n, tag, a) || holds(&add, i, tag, a));
        if (!again) jw_raw(&w, add.v[i]);
    }
    jw_end_array(&w);
    *out = buf_done(&b, a);
    return out->p ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to merge an overlay");
}
