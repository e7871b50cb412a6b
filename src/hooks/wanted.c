/*
 * wanted.c: which events of which runs a subscription wants; see wanted.h.
 */
#include "hooks/wanted.h"

#include "codec/jobj.h"
#include "codec/json.h"

#include <stdio.h>

#define NAMES_BYTES_MAX (64u * 1024)
#define UNKNOWN_SHOWN   8

static int member_wrong(struct wopr_error *err, const char *at, const char *why) {
    return wopr_error_at(err, WOPR_E_VALIDATION, at, "%s", why);
}

static int no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a webhook");
}

static int strings_of(struct str raw, const char *at, const char *why, size_t max, struct arena *a,
                      struct json_elements *out, struct wopr_error *err) {
    if (!raw.p || json_type_of(raw) != JSON_ARRAY) return member_wrong(err, at, why);
    int rc = json_elements(raw, a, out, err);
    if (rc != 0) return rc;
    if (out->n > max) return member_wrong(err, at, why);
    for (size_t i = 0; i < out->n; i++) {
        if (json_type_of(out->v[i]) != JSON_STRING) return member_wrong(err, at, why);
        out->v[i] = json_string(out->v[i], a);
        if (!out->v[i].p) return no_memory(err);
    }
    return 0;
}

static bool is_vendors(struct str name) {
    return str_starts(name, STR("vendor.")) || str_starts(name, STR("x-")) ||
           str_starts(name, STR("openwop-"));
}

static bool seen_before(const struct json_elements *l, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (str_eq(l->v[k], l->v[i])) return true;
    return false;
}

static int array_of(const struct json_elements *l, struct arena *a, struct str *out,
                    struct wopr_error *err) {
    struct buf b;
    struct jw w;
    buf_init(&b, HOOK_TAGS_MAX * HOOK_TAG_MAX * 6 + NAMES_BYTES_MAX);
    jw_init(&w, &b);
    jw_array(&w);
    for (size_t i = 0; i < l->n; i++)
        if (!seen_before(l, i)) jw_str(&w, l->v[i]);
    jw_end_array(&w);
    struct str text = buf_failed(&b) ? STR_NONE : arena_str(a, buf_str(&b));
    buf_fini(&b);
    if (!text.p) return no_memory(err);
    *out = text;
    return 0;
}

static int unknown_refuse(const struct json_elements *l, struct wopr_error *err) {
    struct jobj o;
    size_t shown = 0;
    int rc = member_wrong(err, "/events", "events names a type of event that does not exist");
    jobj_begin(&o, WOPR_DETAILS_SIZE);
    jw_key(&o.w, "unknown");
    jw_array(&o.w);
    for (size_t i = 0; i < l->n && shown < UNKNOWN_SHOWN; i++) {
        if (event_kind_of(l->v[i]) != EV_UNKNOWN || is_vendors(l->v[i])) continue;
        jw_str(&o.w, str_n(l->v[i].p, l->v[i].n < 40 ? l->v[i].n : 40));
        shown++;
    }
    jw_end_array(&o.w);
    jobj_details(&o, err);
    return rc;
}

int hook_events_parse(struct str raw, struct arena *a, int64_t *kinds, struct str *names,
                      struct wopr_error *err) {
    static const char WHY[] = "events is an array of 1 to 256 names of event types";
    struct json_elements l = {.n = 0};
    uint64_t set = 0;
    int rc = strings_of(raw, "/events", WHY, HOOK_EVENTS_MAX, a, &l, err);
    if (rc != 0) return rc;
    if (l.n == 0) return member_wrong(err, "/events", WHY);
    for (size_t i = 0; i < l.n; i++) {
        enum ev_kind k = event_kind_of(l.v[i]);
        if (l.v[i].n > HOOK_NAME_MAX)
            return member_wrong(err, "/events", "a name in events is longer than 128 bytes");
        if (k == EV_UNKNOWN && !is_vendors(l.v[i])) return unknown_refuse(&l, err);
        if (k != EV_UNKNOWN) set |= UINT64_C(1) << (unsigned)k;
    }
    rc = array_of(&l, a, names, err);
    if (rc == 0) *kinds = (int64_t)set;
    return rc;
}

int hook_tags_parse(struct str raw, struct arena *a, struct str *tags, struct wopr_error *err) {
    static const char WHY[] = "tags is an array of at most 64 strings of at most 256 characters";
    struct json_elements l = {.n = 0};
    *tags = STR_NONE;
    if (!raw.p) return 0;
    int rc = strings_of(raw, "/tags", WHY, HOOK_TAGS_MAX, a, &l, err);
    if (rc != 0 || l.n == 0) return rc;
    for (size_t i = 0; i < l.n; i++)
        if (l.v[i].n == 0 || l.v[i].n > HOOK_TAG_MAX) return member_wrong(err, "/tags", WHY);
    return array_of(&l, a, tags, err);
}

int hook_secret_check(struct str secret, struct wopr_error *err) {
    bool ok = secret.n >= HOOK_SECRET_MIN && secret.n <= HOOK_SECRET_MAX;
    for (size_t i = 0; ok && i < secret.n; i++) ok = secret.p[i] >= 0x20 && secret.p[i] <= 0x7e;
    return ok ? 0
              : member_wrong(err, "/secret",
                             "secret has 16 to 256 printable ASCII characters; leave it out and"
                             " the host makes one");
}

bool hook_wants_kind(int64_t kinds, const struct event *e) {
    if ((unsigned)e->kind >= EV_NR || (e->flags & (EVENT_INHERITED | EVENT_REEMITTED)))
        return false;
    return ((uint64_t)kinds >> (unsigned)e->kind & 1) != 0;
}

static bool tags_meet(const struct json_elements *w, const struct json_elements *r) {
    for (size_t i = 0; i < w->n; i++)
        for (size_t k = 0; k < r->n; k++)
            if (str_eq(w->v[i], r->v[k])) return true;
    return false;
}

static int tags_read(struct str raw, struct arena *a, struct json_elements *out,
                     struct wopr_error *err) {
    int rc = raw.n > 0 ? json_elements(raw, a, out, err) : 0;
    for (size_t i = 0; rc == 0 && i < out->n; i++) out->v[i] = json_string(out->v[i], a);
    return rc == 0 && arena_failed(a) ? no_memory(err) : rc;
}

int hook_wants_tags(struct str wanted, struct str run_tags, struct arena *a, bool *wants,
                    struct wopr_error *err) {
    struct json_elements w = {.n = 0}, r = {.n = 0};
    int rc = wanted.n > 0 ? tags_read(wanted, a, &w, err) : 0;
    if (rc == 0 && wanted.n > 0) rc = tags_read(run_tags, a, &r, err);
    if (rc == 0) *wants = wanted.n == 0 || tags_meet(&w, &r);
    return rc;
}
