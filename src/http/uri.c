/*
 * uri.c: percent-decoding of path segments and query parameters (D5: after the split, never
 * before), and what handlers look up of them.
 */
#include "http/router.h"

static int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool uri_decode(struct arena *a, struct str raw, bool plus_is_blank, struct str *out) {
    if (raw.n == 0 ||
        (!memchr(raw.p, '%', raw.n) && !(plus_is_blank && memchr(raw.p, '+', raw.n)))) {
        *out = raw.n > 0 ? raw : STR("");
        return true;
    }
    char *p = arena_alloc(a, raw.n + 1);
    if (!p) return false;
    size_t n = 0;
    for (size_t i = 0; i < raw.n; i++) {
        char c = raw.p[i];
        if (c == '+' && plus_is_blank) c = ' ';
        if (c == '%') {
            int hi = i + 1 < raw.n ? hex_value(raw.p[i + 1]) : -1;
            int lo = i + 2 < raw.n ? hex_value(raw.p[i + 2]) : -1;
            if (hi < 0 || lo < 0 || (hi == 0 && lo == 0)) return false;
            c = (char)(hi * 16 + lo);
            i += 2;
        }
        p[n++] = c;
    }
    *out = str_n(p, n);
    return true;
}

void http_path_shown(struct str path, char out[HTTP_PATH_SHOWN_BYTES]) {
    size_t n = 1;
    memcpy(out, "/", 2);
    for (; n < path.n && path.p[n] != '/'; n++) {
        char c = path.p[n];
        bool plain = (c >= 'a' && c <= 'z') || c == '-' || c == '.';
        if (!plain || n >= HTTP_PATH_SHOWN_BYTES - 1) return;
    }
    if (n > 1 && path.p[0] == '/') memcpy(out + 1, path.p + 1, n - 1), out[n] = 0;
}

static int query_refuse(struct wopr_error *err) {
    return wopr_error_at(err, WOPR_E_VALIDATION, "query", "the query string is malformed");
}

int uri_query(struct arena *a, struct str raw, struct http_param **out, size_t *n,
              struct wopr_error *err) {
    *out = NULL;
    *n = 0;
    if (raw.n == 0) return 0;
    size_t parts = 1;
    for (size_t i = 0; i < raw.n; i++) parts += raw.p[i] == '&';
    if (parts > HTTP_QUERY_MAX)
        return wopr_error_at(err, WOPR_E_VALIDATION, "query", "more than %d query parameters",
                             HTTP_QUERY_MAX);
    struct http_param *v = ARENA_ARRAY(a, struct http_param, parts);
    if (!v) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the query");
    size_t nr = 0;
    for (struct str rest = raw, part, tail; rest.n > 0; rest = tail) {
        if (!str_cut(rest, '&', &part, &tail)) part = rest, tail = STR_NONE;
        if (part.n == 0) continue;
        struct str name, value;
        if (!str_cut(part, '=', &name, &value)) name = part, value = STR_NONE;
        if (!uri_decode(a, name, true, &v[nr].name) || !uri_decode(a, value, true, &v[nr].value))
            return query_refuse(err);
        if (!utf8_valid(v[nr].name) || !utf8_valid(v[nr].value)) return query_refuse(err);
        nr++;
    }
    *out = v;
    *n = nr;
    return 0;
}

/* --- what handlers use --- */

struct str http_query(const struct http_call *c, const char *name, bool *found) {
    struct str key = str_c(name);
    for (size_t i = 0; i < c->query_nr; i++) {
        if (!str_eq(c->query[i].name, key)) continue;
        if (found) *found = true;
        return c->query[i].value;
    }
    if (found) *found = false;
    return STR_NONE;
}

struct str http_param(const struct http_call *c, const char *name) {
    struct str key = str_c(name);
    for (size_t i = 0; i < c->params_nr; i++)
        if (str_eq(c->params[i].name, key)) return c->params[i].value;
    return STR_NONE;
}
