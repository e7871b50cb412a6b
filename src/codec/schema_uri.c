/*
 * schema_uri.c: reference resolution of RFC 3986, section 5.  Layer: codec.
 * Works on any base that a set knows, also opaque (urn:) and relative ones ("workflow").
 */
#include "codec/schema_build.h"
#include "codec/schema_format.h"

struct parts {
    struct str scheme, authority, path, query, fragment; /* p == NULL: absent */
};

static bool is_scheme(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool alpha = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!alpha && (i == 0 || !((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.')))
            return false;
    }
    return s.n > 0;
}

static size_t find_any(struct str s, const char *set) {
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != '\0' && strchr(set, s.p[i]) != NULL) return i;
    return s.n;
}

static struct str uri_skip(struct str s, size_t n) { return str_n(s.p + n, s.n - n); }

static struct parts uri_split(struct str s) {
    struct parts u = {STR_NONE, STR_NONE, STR_NONE, STR_NONE, STR_NONE};
    if (s.p == NULL) s.p = "";
    size_t i = find_any(s, ":/?#");
    if (i < s.n && s.p[i] == ':' && is_scheme(str_n(s.p, i))) {
        u.scheme = str_n(s.p, i);
        s = uri_skip(s, i + 1);
    }
    i = find_any(s, "#");
    if (i < s.n) {
        u.fragment = uri_skip(s, i + 1);
        s.n = i;
    }
    i = find_any(s, "?");
    if (i < s.n) {
        u.query = uri_skip(s, i + 1);
        s.n = i;
    }
    if (s.n >= 2 && s.p[0] == '/' && s.p[1] == '/') {
        s = uri_skip(s, 2);
        i = find_any(s, "/");
        u.authority = str_n(s.p, i);
        s = uri_skip(s, i);
    }
    u.path = s;
    return u;
}

/* Section 5.2.4, in place: b holds a path, the result is never longer. */
static size_t remove_dots(char *p, size_t n) {
    size_t in = 0, out = 0;
    while (in < n) {
        struct str left = str_n(p + in, n - in);
        if (str_starts(left, STR("../"))) {
            in += 3;
        } else if (str_starts(left, STR("./")) || str_starts(left, STR("/./"))) {
            in += 2;
        } else if (str_eq(left, STR("/."))) {
            p[++in] = '/';
        } else if (str_starts(left, STR("/../")) || str_eq(left, STR("/.."))) {
            in += left.n == 3 ? 2 : 3;
            p[in] = '/';
            while (out > 0 && p[--out] != '/') continue;
        } else if (str_eq(left, STR(".")) || str_eq(left, STR(".."))) {
            in = n;
        } else {
            do p[out++] = p[in++];
            while (in < n && p[in] != '/');
        }
    }
    return out;
}

static void merge_path(struct buf *b, const struct parts *base, struct str ref) {
    size_t cut = base->path.n;
    while (cut > 0 && base->path.p[cut - 1] != '/') cut--;
    if (base->authority.p != NULL && base->path.n == 0) buf_addc(b, '/');
    buf_adds(b, str_n(base->path.p, cut));
    buf_adds(b, ref);
}

static int uri_assemble(struct arena *a, const struct parts *t, struct buf *path, struct str *out) {
    struct buf b;
    int rc = WOPR_E_NO_MEMORY;
    buf_init(&b, 3 * SCHEMA_URI_BYTES_MAX);
    if (t->scheme.p != NULL) {
        buf_adds(&b, t->scheme);
        buf_addc(&b, ':');
    }
    if (t->authority.p != NULL) {
        buf_addz(&b, "//");
        buf_adds(&b, t->authority);
    }
    buf_adds(&b, buf_str(path));
    if (t->query.p != NULL) {
        buf_addc(&b, '?');
        buf_adds(&b, t->query);
    }
    struct str copy = STR_NONE;
    if (!buf_failed(&b) && !buf_failed(path)) copy = arena_str(a, buf_str(&b));
    if (copy.p != NULL) {
        *out = copy;
        rc = 0;
    }
    buf_fini(&b);
    return rc;
}

int schema_uri_resolve(struct arena *a, struct str base, struct str ref, struct str *out,
                       struct str *fragment) {
    if (ref.n > SCHEMA_URI_BYTES_MAX || base.n > SCHEMA_URI_BYTES_MAX) return WOPR_E_TOO_BIG;
    if (ref.n > 0 && memchr(ref.p, '\0', ref.n) != NULL) return WOPR_E_SYNTAX;
    struct parts b = uri_split(base), t = uri_split(ref);
    struct str frag = t.fragment;
    struct buf path;
    bool dots = true;
    buf_init(&path, 3 * SCHEMA_URI_BYTES_MAX);
    if (t.scheme.p != NULL || t.authority.p != NULL) {
        buf_adds(&path, t.path);
        if (t.scheme.p == NULL) t.scheme = b.scheme;
    } else {
        if (t.path.n == 0) {
            buf_adds(&path, b.path);
            dots = false;
            if (t.query.p == NULL) t.query = b.query;
        } else if (t.path.p[0] == '/') {
            buf_adds(&path, t.path);
        } else {
            merge_path(&path, &b, t.path);
        }
        t.scheme = b.scheme;
        t.authority = b.authority;
    }
    if (dots && path.len > 0) path.len = remove_dots(path.p, path.len);
    int rc = uri_assemble(a, &t, &path, out);
    if (rc == 0) *fragment = frag;
    buf_fini(&path);
    return rc;
}

static int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool schema_uri_decode(struct arena *a, struct str s, struct str *out) {
    if (find_any(s, "%") == s.n) {
        *out = s;
        return true;
    }
    char *p = arena_alloc(a, s.n + 1);
    if (p == NULL) return false;
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != '%') {
            p[n++] = s.p[i];
            continue;
        }
        if (s.n - i < 3) return false;
        int hi = hex_value(s.p[i + 1]), lo = hex_value(s.p[i + 2]);
        if (hi < 0 || lo < 0) return false;
        p[n++] = (char)(hi * 16 + lo);
        i += 2;
    }
    *out = str_n(p, n);
    return true;
}
