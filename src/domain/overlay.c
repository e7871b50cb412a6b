/*
 * overlay.c: the options of a branch: those of its source with some replaced (FORK-23).
 */
#include "base/map.h"
#include "codec/jobj.h"
#include "domain/options.h"

#define OVERLAY_TEXT_MAX (32u * 1024 * 1024)

static int no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to merge an overlay");
}

/* The members of m by name.  NULL: no memory. */
static struct map *by_name(struct json_members *m) {
    struct map *names = map_new();
    for (size_t i = 0; names && i < m->n; i++)
        if (map_put(names, m->v[i].key, &m->v[i], NULL) != 0) {
            map_free(names);
            return NULL;
        }
    return names;
}

static void members_merge(const struct json_members *was, const struct json_members *add,
                          const struct map *new_names, const struct map *old_names, struct jw *w) {
    for (size_t i = 0; i < was->n; i++) {
        const struct json_member *over = map_get(new_names, was->v[i].key);
        jw_key_str(w, was->v[i].key);
        jw_raw(w, over ? over->raw : was->v[i].raw);
    }
    for (size_t i = 0; i < add->n; i++) {
        if (map_get(old_names, add->v[i].key)) continue;
        jw_key_str(w, add->v[i].key);
        jw_raw(w, add->v[i].raw);
    }
}

int overlay_object(struct str base, struct str over, struct arena *a, struct str *out,
                   struct wopr_error *err) {
    struct json_members was = {0}, add = {0};
    struct jobj o;
    int rc = base.n > 0 ? json_members(base, a, &was, err) : 0;
    if (rc == 0) rc = json_members(over, a, &add, err);
    if (rc != 0) return rc;
    struct map *old_names = by_name(&was), *new_names = by_name(&add);
    jobj_begin(&o, OVERLAY_TEXT_MAX);
    if (old_names && new_names) members_merge(&was, &add, new_names, old_names, &o.w);
    else jobj_fail(&o);
    map_free(old_names);
    map_free(new_names);
    *out = jobj_end(&o, a);
    return out->p ? 0 : no_memory(err);
}

/* Append the elements of l that are not in `seen`, or all of them (the base's). */
static int tags_add(const struct json_elements *l, bool all, struct map *seen, struct arena *a,
                    struct jw *w) {
    static char held;
    for (size_t i = 0; i < l->n; i++) {
        struct str tag = json_string(l->v[i], a); /* the check refuses others */
        bool again = tag.p && map_get(seen, tag) != NULL;
        if (all || !again) jw_raw(w, l->v[i]);
        if (tag.p && !again && map_put(seen, tag, &held, NULL) != 0) return WOPR_E_NO_MEMORY;
    }
    return 0;
}

int overlay_tags(struct str base, struct str over, struct arena *a, struct str *out,
                 struct wopr_error *err) {
    struct json_elements was = {0}, add = {0};
    struct buf b;
    struct jw w;
    int rc = base.n > 0 ? json_elements(base, a, &was, err) : 0;
    if (rc == 0) rc = json_elements(over, a, &add, err);
    if (rc != 0) return rc;
    struct map *seen = map_new();
    buf_init(&b, OVERLAY_TEXT_MAX);
    jw_init(&w, &b);
    jw_array(&w);
    rc = seen ? tags_add(&was, true, seen, a, &w) : WOPR_E_NO_MEMORY;
    if (rc == 0) rc = tags_add(&add, false, seen, a, &w);
    jw_end_array(&w);
    if (rc != 0 || arena_failed(a)) b.failed = true;
    map_free(seen);
    *out = buf_failed(&b) ? STR_NONE : arena_str(a, buf_str(&b));
    buf_fini(&b);
    return out->p ? 0 : no_memory(err);
}
