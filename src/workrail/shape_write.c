/*
 * shape_write.c: see shape.h.
 */
#include "workrail/shape.h"

#define DOCUMENT_MAX ((size_t)16 * 1024 * 1024)

struct shape_list {
    const void *v;
    size_t nr;
};

static struct shape_list list_at(const void *at) {
    struct shape_list list;
    memcpy(&list, at, sizeof list);
    return list;
}

static void write_object(const struct wr_shape *s, const void *base, const char *tag, struct jw *w);

/* Whether an optional member has nothing to write. */
static bool field_empty(const struct wr_field *d, const void *base) {
    const void *at = (const char *)base + d->offset;
    const struct wr_shape *inner = d->arg;
    switch (d->type) {
    case WF_CONST:
    case WF_TAG:
    case WF_VERSION:
    case WF_INT:
    case WF_BOOL:
    case WF_UNION:
        return false;
    case WF_FLAG:
        return !*(const bool *)at;
    case WF_ENUM:
        return *(const int *)at < 0;
    case WF_TEXTS:
        return ((const struct wr_texts *)at)->nr == 0;
    case WF_LIST:
        return list_at(at).nr == 0;
    case WF_SHAPE:
        for (size_t i = 0; i < inner->nr; i++)
            if (!field_empty(&inner->fields[i], at)) return false;
        return true;
    default:
        return ((const struct str *)at)->p == NULL;
    }
}

static void write_texts(const struct wr_texts *t, struct jw *w) {
    jw_array(w);
    for (size_t i = 0; i < t->nr; i++) jw_str(w, t->v[i]);
    jw_end_array(w);
}

static void write_union(const struct wr_union *u, const void *at, struct jw *w) {
    int which = *(const int *)(const void *)((const char *)at + u->which);
    ASSERT(which >= 0 && (size_t)which < u->names.nr);
    write_object(u->variants[which], at, u->names.v[which], w);
}

static void write_list(const struct wr_field *d, const void *at, struct jw *w) {
    const struct wr_shape *item = d->arg;
    struct shape_list list = list_at(at);
    jw_array(w);
    for (size_t i = 0; i < list.nr; i++)
        write_object(item, (const char *)list.v + i * item->size, NULL, w);
    jw_end_array(w);
}

static void write_enum(const struct wr_names *names, int v, struct jw *w) {
    ASSERT(v >= 0 && (size_t)v < names->nr);
    jw_strz(w, names->v[v]);
}

static void write_value(const struct wr_field *d, const void *at, const char *tag, struct jw *w) {
    switch (d->type) {
    case WF_CONST:
        jw_strz(w, d->arg);
        return;
    case WF_TAG:
        jw_strz(w, tag);
        return;
    case WF_VERSION:
        jw_int(w, d->max);
        return;
    case WF_INT:
        jw_int(w, *(const int64_t *)at);
        return;
    case WF_FLAG:
    case WF_BOOL:
        jw_bool(w, *(const bool *)at);
        return;
    case WF_ENUM:
        write_enum(d->arg, *(const int *)at, w);
        return;
    case WF_JSON:
    case WF_OBJECT:
        jw_raw(w, *(const struct str *)at);
        return;
    case WF_TEXTS:
        write_texts(at, w);
        return;
    case WF_SHAPE:
        write_object(d->arg, at, NULL, w);
        return;
    case WF_LIST:
        write_list(d, at, w);
        return;
    case WF_UNION:
        write_union(d->arg, at, w);
        return;
    default:
        break;
    }
    const struct str *s = at;
    if (s->p == NULL && (d->flags & WF_NULL)) jw_null(w);
    else jw_str(w, *s);
}

static void write_object(const struct wr_shape *s, const void *base, const char *tag,
                         struct jw *w) {
    if (s->variants != NULL) {
        write_union(s->variants, base, w);
        return;
    }
    jw_object(w);
    for (size_t i = 0; i < s->nr; i++) {
        const struct wr_field *d = &s->fields[i];
        if ((d->flags & WF_OPT) && field_empty(d, base)) continue;
        jw_key(w, d->name);
        write_value(d, (const char *)base + d->offset, tag, w);
    }
    jw_end_object(w);
}

void wr_shape_write(const struct wr_shape *s, const void *base, struct jw *w) {
    write_object(s, base, NULL, w);
}

int wr_document_write(const struct wr_shape *s, const void *base, struct arena *a,
                      struct str *bytes, struct wr_fault *f) {
    const struct json_limits *lim = &JSON_LIMITS_STORED;
    struct buf b;
    struct jw w;
    void *again = arena_alloc(a, s->size);
    if (again == NULL) return wr_no_memory(f);
    buf_init(&b, DOCUMENT_MAX);
    jw_init(&w, &b);
    write_object(s, base, NULL, &w);
    struct str text = buf_failed(&b) ? STR_NONE : arena_str(a, buf_str(&b));
    buf_fini(&b);
    if (text.p == NULL) return wr_no_memory(f);
    int rc = wr_document_read(s, text, lim, a, again, f);
    if (rc == 0) *bytes = text;
    return rc;
}
