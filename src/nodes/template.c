/*
 * template.c: marks of templates and their values, see template.h.
 */
#include "nodes/template.h"

#define NAME_MAX_BYTES 256u
#define DEPTH_MAX      32u

static bool name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

/* Cut text at its next mark: before, what the mark names, after.  false: there is none.  *wrong: it
 * is malformed. */
static bool mark_next(struct str text, struct str *before, struct str *name, struct str *after,
                      const char **wrong) {
    *wrong = NULL;
    for (size_t i = 0; i + 1 < text.n; i++) {
        if (text.p[i] != '{' || text.p[i + 1] != '{') continue;
        *before = str_n(text.p, i);
        size_t from = i + 2, to = from;
        while (to + 1 < text.n && !(text.p[to] == '}' && text.p[to + 1] == '}')) to++;
        if (to + 1 >= text.n) {
            *wrong = "a template has {{ without }}";
            return true;
        }
        *name = str_trim(str_n(text.p + from, to - from));
        *after = str_n(text.p + to + 2, text.n - to - 2);
        bool ok = name->n > 0 && name->n <= NAME_MAX_BYTES && name->p[0] != '.' &&
                  name->p[name->n - 1] != '.';
        for (size_t k = 0; ok && k < name->n; k++)
            ok = name_char(name->p[k]) || (name->p[k] == '.' && name->p[k - 1] != '.');
        if (!ok)
            *wrong = "between {{ and }} of a template stands the name of an input port, with dots "
                     "before members, such as {{order.id}} (\"templates\": false takes braces as "
                     "they are)";
        return true;
    }
    return false;
}

const char *template_wrong(struct str text) {
    struct str before, name;
    const char *wrong = NULL;
    while (!wrong && mark_next(text, &before, &name, &text, &wrong)) continue;
    return wrong;
}

bool template_has(struct str text) {
    struct str before, name, after;
    const char *wrong;
    return mark_next(text, &before, &name, &after, &wrong);
}

struct str template_at(struct str json, struct str path, struct arena *a) {
    while (path.n > 0 && json.n > 0) {
        struct str key = path, rest = STR_NONE;
        uint64_t nth;
        struct json_elements list;
        if (!str_cut(path, '.', &key, &rest)) rest = STR_NONE;
        if (json_type_of(json) == JSON_ARRAY) {
            bool ok = str_u64(key, &nth) && json_elements(json, a, &list, NULL) == 0;
            json = ok && nth < list.n ? list.v[nth] : STR_NONE;
        } else {
            const char *z = arena_cstr(a, key);
            json = z ? json_get(json, z) : STR_NONE;
        }
        path = rest;
    }
    return json;
}

void template_encode(struct str value, struct buf *out) {
    static const char HEX[] = "0123456789ABCDEF";
    for (size_t i = 0; i < value.n; i++) {
        unsigned char c = (unsigned char)value.p[i];
        if (name_char((char)c) || c == '.' || c == '~') {
            buf_addc(out, (char)c);
        } else {
            buf_addc(out, '%');
            buf_addc(out, HEX[c >> 4]);
            buf_addc(out, HEX[c & 15]);
        }
    }
}

static const char *value_add(struct str name, struct str ports, enum template_form form,
                             struct arena *a, struct buf *out) {
    struct str raw = template_at(ports, name, a), text = raw;
    enum json_type type = raw.n > 0 ? json_type_of(raw) : JSON_NULL;
    const char *what = NULL;
    if (type == JSON_NULL) what = "is no input port of the node, or has no value";
    else if (form != TEMPLATE_JSON && (type == JSON_OBJECT || type == JSON_ARRAY))
        what = "is an object or a list, which only a body can hold";
    if (what) return arena_printf(a, "{{" STR_FMT "}} of a template %s", STR_ARG(name), what).p;
    if (type == JSON_STRING) text = json_string(raw, a);
    if (!text.p) return "no memory for a template";
    if (form == TEMPLATE_URL) template_encode(text, out);
    else buf_adds(out, text);
    return NULL;
}

const char *template_fill(struct str text, struct str ports, enum template_form form,
                          struct arena *a, struct buf *out) {
    struct str before, name;
    const char *wrong = NULL;
    while (!wrong && mark_next(text, &before, &name, &text, &wrong)) {
        if (wrong) return wrong;
        buf_adds(out, before);
        wrong = value_add(name, ports, form, a, out);
    }
    buf_adds(out, text);
    return wrong;
}

/* --- JSON --- */

static const char *string_fill(struct str raw, struct str ports, struct arena *a, struct jw *w) {
    struct str text = json_string(raw, a), before, name, after;
    const char *wrong;
    struct buf b;
    if (!text.p) return "no memory for a template";
    if (!mark_next(text, &before, &name, &after, &wrong)) {
        jw_raw(w, raw);
        return NULL;
    }
    if (!wrong && before.n + after.n == 0) {
        struct str value = template_at(ports, name, a);
        if (value.n == 0)
            return arena_printf(a, "{{" STR_FMT "}} of a template is no input port of the node",
                                STR_ARG(name))
                .p;
        jw_raw(w, value);
        return NULL;
    }
    buf_init(&b, JSON_LIMITS_STORED.bytes_max);
    wrong = template_fill(text, ports, TEMPLATE_JSON, a, &b);
    if (!wrong && buf_failed(&b)) wrong = "what a template makes is too large";
    if (!wrong) jw_str(w, buf_str(&b));
    buf_fini(&b);
    return wrong;
}

static const char *value_fill(struct str json, struct str ports, struct arena *a, struct jw *w,
                              unsigned depth);

static const char *object_fill(struct str json, struct str ports, struct arena *a, struct jw *w,
                               unsigned depth) {
    struct json_members m;
    const char *wrong = json_members(json, a, &m, NULL) != 0 ? "no memory for a template" : NULL;
    if (wrong) return wrong;
    jw_object(w);
    for (size_t i = 0; !wrong && i < m.n; i++) {
        jw_key_str(w, m.v[i].key);
        wrong = value_fill(m.v[i].raw, ports, a, w, depth);
    }
    if (!wrong) jw_end_object(w);
    return wrong;
}

static const char *list_fill(struct str json, struct str ports, struct arena *a, struct jw *w,
                             unsigned depth) {
    struct json_elements l;
    const char *wrong = json_elements(json, a, &l, NULL) != 0 ? "no memory for a template" : NULL;
    if (wrong) return wrong;
    jw_array(w);
    for (size_t i = 0; !wrong && i < l.n; i++) wrong = value_fill(l.v[i], ports, a, w, depth);
    if (!wrong) jw_end_array(w);
    return wrong;
}

static const char *value_fill(struct str json, struct str ports, struct arena *a, struct jw *w,
                              unsigned depth) {
    if (depth == 0) return "a body with templates is nested more than 32 levels deep";
    switch (json_type_of(json)) {
    case JSON_STRING:
        return string_fill(json, ports, a, w);
    case JSON_OBJECT:
        return object_fill(json, ports, a, w, depth - 1);
    case JSON_ARRAY:
        return list_fill(json, ports, a, w, depth - 1);
    default:
        jw_raw(w, json);
        return NULL;
    }
}

const char *template_fill_json(struct str json, struct str ports, struct arena *a, struct jw *w) {
    return value_fill(json, ports, a, w, DEPTH_MAX);
}
