/*
 * shape_read.c: see shape.h.  Recursion follows the tables, which nest a few levels, not the bytes.
 */
#include "workrail/shape.h"

#include <stdio.h>

static const int64_t SAFE_INTEGER_MAX = INT64_C(9007199254740991); /* WR-8 */

struct shape_in {
    struct arena *a;
    struct wr_fault *f;
};
static int shape_object(struct shape_in *in, const struct wr_shape *s, struct str text, void *base);

void wr_fault_in(struct wr_fault *f, struct str name) {
    char rest[sizeof f->e.pointer];
    if (f == NULL) return;
    snprintf(rest, sizeof rest, "%s", f->e.pointer);
    int n = snprintf(f->e.pointer, sizeof f->e.pointer, "/%.*s", name.n > 64 ? 64 : (int)name.n,
                     name.n > 0 ? name.p : "");
    if (n > 0 && (size_t)n < sizeof f->e.pointer)
        snprintf(f->e.pointer + n, sizeof f->e.pointer - (size_t)n, "%.120s", rest);
}

int wr_name_find(const struct wr_names *names, struct str s) {
    for (size_t i = 0; i < names->nr; i++)
        if (str_eqc(s, names->v[i])) return (int)i;
    return -1;
}

static int field_wrong(struct shape_in *in, const char *what) {
    return wr_fail(in->f, WR_SCHEMA_INVALID, "", "%s", what);
}

/* --- texts --- */

static bool is_hex(struct str s, size_t len) {
    if (s.n != len) return false;
    for (size_t i = 0; i < s.n; i++)
        if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f'))) return false;
    return true;
}

/* NULL: it is as the field wants it. */
static const char *text_wrong(const struct wr_field *d, struct str s) {
    switch (d->type) {
    case WF_TEXT:
        if (s.n < d->min) return "the text is empty or too short";
        return d->max > 0 && s.n > d->max ? "the text is longer than its budget" : NULL;
    case WF_ID:
        return wr_id_good((enum wr_id_kind)d->max, s) ? NULL : "not an id of the kind due here";
    case WF_WORD:
        return wr_word_good(s) ? NULL : "not made of a-z, 0-9, _ and -";
    case WF_STEP:
        return wr_step_id_good(s) ? NULL : "not made of a-z, 0-9, _, - and inner dots";
    case WF_DIGEST:
        return wr_digest_good(s) ? NULL : "not sha256: and 64 hexadecimal digits";
    case WF_SHA1:
        return is_hex(s, 40) ? NULL : "not 40 hexadecimal digits";
    case WF_CONST:
        return str_eqc(s, d->arg) ? NULL : "another text is due here";
    default:
        return NULL;
    }
}

static int read_string(struct shape_in *in, struct str raw, struct str *out) {
    if (json_type_of(raw) != JSON_STRING) return field_wrong(in, "not a text");
    *out = json_string(raw, in->a);
    if (out->p == NULL && raw.n > 2) return wr_no_memory(in->f);
    if (out->p == NULL) *out = STR("");
    return 0;
}

static int read_text(struct shape_in *in, const struct wr_field *d, struct str raw, void *at) {
    struct str s;
    int rc = read_string(in, raw, &s);
    if (rc != 0) return rc;
    const char *wrong = text_wrong(d, s);
    if (wrong != NULL) return field_wrong(in, wrong);
    if (d->type != WF_CONST) *(struct str *)at = s;
    return 0;
}

static int read_texts(struct shape_in *in, const struct wr_field *d, struct str raw,
                      struct wr_texts *out) {
    struct json_elements e;
    if (json_type_of(raw) != JSON_ARRAY) return field_wrong(in, "not a list");
    if (json_elements(raw, in->a, &e, NULL) != 0) return wr_no_memory(in->f);
    if (e.n < d->min || (d->max > 0 && e.n > d->max))
        return field_wrong(in, "too few or too many items");
    out->v = ARENA_ARRAY(in->a, struct str, e.n);
    if (out->v == NULL) return wr_no_memory(in->f);
    for (size_t i = 0; i < e.n; i++) {
        int rc = read_string(in, e.v[i], &out->v[i]);
        if (rc != 0) return rc;
    }
    out->nr = e.n;
    return 0;
}

/* --- scalars --- */

static int read_int(struct shape_in *in, const struct wr_field *d, struct str raw, int64_t *out) {
    if (json_type_of(raw) != JSON_NUMBER || !json_int(raw, out) || *out < (int64_t)d->min ||
        *out > SAFE_INTEGER_MAX)
        return field_wrong(in, "not an integer within its bounds");
    return 0;
}

static int read_version(struct shape_in *in, const struct wr_field *d, struct str raw) {
    int64_t v;
    if (json_type_of(raw) != JSON_NUMBER || !json_int(raw, &v))
        return field_wrong(in, "not a version number");
    if (v != (int64_t)d->max)
        return wr_fail(in->f, WR_SCHEMA_UNKNOWN_VERSION, "",
                       "version %lld is not known to this build", (long long)v);
    return 0;
}

static int read_enum(struct shape_in *in, const struct wr_names *names, struct str raw, int *out) {
    struct str s;
    int rc = read_string(in, raw, &s);
    if (rc != 0) return rc;
    *out = wr_name_find(names, s);
    return *out >= 0 ? 0 : field_wrong(in, "none of the values known here");
}

static int read_any(struct shape_in *in, const struct wr_field *d, struct str raw,
                    struct str *out) {
    if (d->type == WF_OBJECT && json_type_of(raw) != JSON_OBJECT)
        return field_wrong(in, "not an object");
    *out = raw;
    return 0;
}

/* --- structures --- */

static int read_union(struct shape_in *in, const struct wr_union *u, struct str raw, void *base);

struct shape_list {
    void *v;
    size_t nr;
};

static int read_list(struct shape_in *in, const struct wr_field *d, struct str raw, void *at) {
    const struct wr_shape *item = d->arg;
    struct json_elements e;
    if (json_type_of(raw) != JSON_ARRAY) return field_wrong(in, "not a list");
    if (json_elements(raw, in->a, &e, NULL) != 0) return wr_no_memory(in->f);
    if (e.n < d->min || (d->max > 0 && e.n > d->max))
        return field_wrong(in, "too few or too many items");
    char *v = arena_array(in->a, e.n, item->size);
    if (v == NULL) return wr_no_memory(in->f);
    for (size_t i = 0; i < e.n; i++) {
        int rc = shape_object(in, item, e.v[i], v + i * item->size);
        if (rc != 0) {
            char name[24];
            snprintf(name, sizeof name, "%zu", i);
            wr_fault_in(in->f, str_c(name));
            return rc;
        }
    }
    struct shape_list list = {v, e.n};
    memcpy(at, &list, sizeof list);
    return 0;
}

/* An element that is one of several variants is a shape without fields. */
static int read_union(struct shape_in *in, const struct wr_union *u, struct str raw, void *base) {
    int which;
    if (json_type_of(raw) != JSON_OBJECT) return field_wrong(in, "not an object");
    struct str tag = json_get(raw, u->tag);
    if (tag.p == NULL) return field_wrong(in, "the member that says what it is is missing");
    int rc = read_enum(in, &u->names, tag, &which);
    if (rc != 0) {
        wr_fault_in(in->f, str_c(u->tag));
        return rc;
    }
    *(int *)(void *)((char *)base + u->which) = which;
    return shape_object(in, u->variants[which], raw, base);
}

static int read_field(struct shape_in *in, const struct wr_field *d, struct str raw, void *base) {
    void *at = (char *)base + d->offset;
    if ((d->flags & WF_NULL) && json_type_of(raw) == JSON_NULL) return 0;
    switch (d->type) {
    case WF_TAG:
        return 0;
    case WF_VERSION:
        return read_version(in, d, raw);
    case WF_INT:
        return read_int(in, d, raw, at);
    case WF_BOOL:
        return json_bool(raw, at) ? 0 : field_wrong(in, "neither true nor false");
    case WF_FLAG:
        return json_bool(raw, at) && *(bool *)at ? 0 : field_wrong(in, "not true");
    case WF_ENUM:
        return read_enum(in, d->arg, raw, at);
    case WF_JSON:
    case WF_OBJECT:
        return read_any(in, d, raw, at);
    case WF_TEXTS:
        return read_texts(in, d, raw, at);
    case WF_SHAPE:
        return shape_object(in, d->arg, raw, at);
    case WF_LIST:
        return read_list(in, d, raw, at);
    case WF_UNION:
        return read_union(in, d->arg, raw, at);
    default:
        return read_text(in, d, raw, at);
    }
}

static void field_absent(const struct wr_field *d, void *base) {
    if (d->type == WF_ENUM) *(int *)(void *)((char *)base + d->offset) = -1;
}

static int unknown_member(struct shape_in *in, const struct wr_shape *s,
                          const struct json_members *m) {
    for (size_t i = 0; i < m->n; i++) {
        size_t k = 0;
        while (k < s->nr && !str_eqc(m->v[i].key, s->fields[k].name)) k++;
        if (k < s->nr) continue;
        int rc = field_wrong(in, "a member that is not known here");
        wr_fault_in(in->f, m->v[i].key);
        return rc;
    }
    return field_wrong(in, "a member is there twice");
}

static int shape_object(struct shape_in *in, const struct wr_shape *s, struct str text,
                        void *base) {
    struct json_members m;
    size_t found = 0;
    if (s->variants != NULL) return read_union(in, s->variants, text, base);
    if (json_type_of(text) != JSON_OBJECT) return field_wrong(in, "not an object");
    if (json_members(text, in->a, &m, NULL) != 0) return wr_no_memory(in->f);
    for (size_t i = 0; i < s->nr; i++) {
        const struct wr_field *d = &s->fields[i];
        const struct json_member *v = json_member_find(&m, d->name);
        int rc = 0;
        if (v == NULL && !(d->flags & WF_OPT)) rc = field_wrong(in, "the member is missing");
        else if (v == NULL) field_absent(d, base);
        else rc = read_field(in, d, v->raw, base);
        if (rc != 0) {
            wr_fault_in(in->f, str_c(d->name));
            return rc;
        }
        found += v != NULL;
    }
    if (found != m.n) return unknown_member(in, s, &m);
    return s->check != NULL ? s->check(base, in->f) : 0;
}

int wr_shape_read(const struct wr_shape *s, struct str text, struct arena *a, void *base,
                  struct wr_fault *f) {
    struct wr_fault own;
    struct shape_in in = {a, f != NULL ? f : &own};
    wopr_error_clear(&in.f->e);
    return shape_object(&in, s, text, base);
}

int wr_document_read(const struct wr_shape *s, struct str bytes, const struct json_limits *lim,
                     struct arena *a, void *base, struct wr_fault *f) {
    struct wr_fault own;
    bool canonical;
    if (f == NULL) f = &own;
    int rc = wr_fail_as(f, WR_SCHEMA_INVALID, json_check(bytes, lim, &f->e));
    if (rc == 0) rc = wr_shape_read(s, bytes, a, base, f);
    if (rc == 0) rc = wr_is_canonical(bytes, &canonical, f);
    if (rc == 0 && !canonical)
        rc =
            wr_fail(f, WR_SCHEMA_INVALID, "", "the bytes are not the canonical form of their JSON");
    return rc;
}
