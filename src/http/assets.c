/*
 * assets.c: embedded files for browsers; see assets.h.
 *
 * Names hold a digest of the content (app-1a2b3c4d.js), so that a browser keeps them for a year;
 * only index.html is asked for again, with its validator.  The headers below are on every answer
 * under the prefix: a page that holds a key executes and loads nothing but these files, speaks to
 * this host alone, is shown in no frame, and turns no text into markup or code (trusted types).
 */
#include "http/assets.h"

#include "base/embed.h"
#include "base/mem.h"
#include "codec/bytes.h"
#include "codec/gzip.h"

#define EMBED_PREFIX "ui/"
#define EMBED_SUFFIX ".gz"
#define INDEX_NAME   "index.html"
#define KEEP         "public, max-age=31536000, immutable"
#define ASK_AGAIN    "no-cache"

enum { ASSETS_MAX = 16, ASSET_BYTES_MAX = 1024 * 1024, ASSETS_ARENA_MAX = 64 * 1024 };

struct asset {
    struct str name; /* without prefix and suffix */
    struct str packed;
    const char *type;
    struct str etag_packed, etag; /* of the two encodings (RFC 9110 8.8.3) */
    bool is_index;
};
struct http_assets {
    struct arena *arena;
    struct asset v[ASSETS_MAX];
    size_t n;
    struct http_mount mount;
};

#define HEADER(name, value)                                                                        \
    {                                                                                              \
        {name, sizeof name - 1}, { value, sizeof value - 1 }                                       \
    }
static const struct http_param HEADERS[] = {
    HEADER("Content-Security-Policy",
           "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
           "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "
           "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types wopr"),
    HEADER("Referrer-Policy", "no-referrer"),
    HEADER("Cross-Origin-Opener-Policy", "same-origin"),
    HEADER("Cross-Origin-Resource-Policy", "same-origin"),
    HEADER("X-Frame-Options", "DENY"),
};

/* --- requests --- */

/* Is gzip among the codings, with a weight that is not zero? */
static bool takes_gzip(struct str list) {
    struct str one, rest = list, name, weight;
    bool more = list.n > 0;
    while (more) {
        more = str_cut(rest, ',', &one, &rest);
        if (!more) one = rest;
        bool weighed = str_cut(one, ';', &name, &weight);
        if (!weighed) name = one;
        if (!str_eq_nocase(str_trim(name), STR("gzip"))) continue;
        weight = weighed ? str_trim(weight) : STR("");
        return !(str_starts(weight, STR("q=0")) && (weight.n == 3 || weight.p[3] != '.')) &&
               !str_starts(weight, STR("q=0.0"));
    }
    return false;
}

static bool etag_named(struct str list, struct str etag) {
    struct str one, rest = list;
    bool more = list.n > 0;
    while (more) {
        more = str_cut(rest, ',', &one, &rest);
        if (!more) one = rest;
        one = str_trim(one);
        if (str_starts(one, STR("W/"))) one = str_n(one.p + 2, one.n - 2);
        if (str_eq(one, etag) || str_eq(one, STR("*"))) return true;
    }
    return false;
}

static const struct asset *asset_of(const struct http_assets *s, struct str name) {
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(s->v[i].name, name)) return &s->v[i];
    return NULL;
}

static int piece_add(void *ctx, struct str piece, struct wopr_error *err) {
    struct buf *out = ctx;
    buf_adds(out, piece);
    return buf_failed(out) ? wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a file") : 0;
}

static int asset_unpack(const struct asset *f, struct buf *out, struct wopr_error *err) {
    const struct gunzip_bounds bounds = {.bytes_max = ASSET_BYTES_MAX, .ratio_max = UINT64_MAX};
    buf_init(out, ASSET_BYTES_MAX);
    return gunzip(f->packed, &bounds, piece_add, out, err);
}

static int asset_reply(struct http_call *c, const struct asset *f) {
    bool packed = takes_gzip(http_header(c, "Accept-Encoding"));
    struct str etag = packed ? f->etag_packed : f->etag, body = f->packed;
    if (!packed) {
        struct wopr_error err = {0};
        struct buf text;
        int rc = asset_unpack(f, &text, &err);
        body = rc == 0 ? arena_str(c->arena, buf_str(&text)) : STR_NONE;
        buf_fini(&text);
        if (rc == 0 && !body.p) rc = wopr_error_set(&err, WOPR_E_NO_MEMORY, "no memory for a file");
        if (rc != 0) {
            http_fail(c, &err);
            return HTTP_DONE;
        }
    }
    bool known = etag_named(http_header(c, "If-None-Match"), etag);
    c->content_type = f->type;
    c->cache_control = f->is_index ? ASK_AGAIN : KEEP;
    http_reply_header(c, "ETag", etag);
    http_reply_header(c, "Vary", STR("Accept-Encoding"));
    if (packed && !known) http_reply_header(c, "Content-Encoding", STR("gzip"));
    http_reply(c, known ? 304 : 200, body);
    return HTTP_DONE;
}

static int asset_get(struct http_call *c) {
    struct str name = http_param(c, "file");
    const struct asset *f = asset_of(c->wire_ctx, name.n > 0 ? name : STR(INDEX_NAME));
    if (f) return asset_reply(c, f);
    struct wopr_error err = {0};
    (void)wopr_error_set(&err, WOPR_E_NOT_FOUND, "there is no such file");
    http_fail(c, &err);
    return HTTP_DONE;
}

static int index_show(struct http_call *c) {
    http_reply_header(c, "Location", STR(HTTP_ASSETS_PREFIX "/"));
    http_reply(c, 308, STR(""));
    return HTTP_DONE;
}

/* Pages are asked for by people: a line of text. */
static void asset_error(void *ctx, struct http_call *c, const struct wopr_error *err, int *status,
                        struct str *body, int *retry_after_s) {
    static const struct {
        int code, status;
    } KNOWN[] = {{WOPR_E_NOT_FOUND, 404},    {WOPR_E_METHOD, 405},      {WOPR_E_VALIDATION, 400},
                 {WOPR_E_RATE_LIMITED, 429}, {WOPR_E_UNAVAILABLE, 503}, {WOPR_E_TOO_BIG, 413},
                 {WOPR_E_SYNTAX, 400}};
    (void)ctx;
    *status = 500;
    for (size_t i = 0; i < sizeof KNOWN / sizeof KNOWN[0]; i++)
        if (KNOWN[i].code == err->code) *status = KNOWN[i].status;
    *retry_after_s = *status == 429 || *status == 503 ? 1 : 0;
    *body = arena_printf(c->arena, "%d %s\n", *status, err->message);
    c->content_type = "text/plain; charset=utf-8";
}

static const struct http_op OPS[] = {
    {"show", "GET", HTTP_ASSETS_PREFIX, 0, OP_PUBLIC | OP_HEAD | OP_ADDRESS_LIMIT, 0, index_show},
    {"index", "GET", HTTP_ASSETS_PREFIX "/", 0, OP_PUBLIC | OP_HEAD | OP_ADDRESS_LIMIT, 0,
     asset_get},
    {"file", "GET", HTTP_ASSETS_PREFIX "/{file}", 0, OP_PUBLIC | OP_HEAD | OP_ADDRESS_LIMIT, 0,
     asset_get},
};

/* --- making the table --- */

static const char *type_of(struct str name) {
    static const struct {
        const char *ending, *type;
    } TYPES[] = {{".html", "text/html; charset=utf-8"},
                 {".js", "text/javascript; charset=utf-8"},
                 {".css", "text/css; charset=utf-8"},
                 {".svg", "image/svg+xml"}};
    for (size_t i = 0; i < sizeof TYPES / sizeof TYPES[0]; i++) {
        struct str ending = str_c(TYPES[i].ending);
        if (name.n > ending.n && str_eq(str_n(name.p + name.n - ending.n, ending.n), ending))
            return TYPES[i].type;
    }
    return "application/octet-stream";
}

static int asset_add(struct http_assets *s, struct str name, struct str packed,
                     struct wopr_error *err) {
    char hex[65];
    struct buf text;
    struct sha256 d = sha256_of(packed);
    struct asset f = {.name = name, .packed = packed, .type = type_of(name)};
    sha256_hex(&d, hex);
    f.is_index = str_eq(name, STR(INDEX_NAME));
    f.etag_packed = arena_printf(s->arena, "\"%.32s\"", hex);
    f.etag = arena_printf(s->arena, "\"%.32s-plain\"", hex);
    int rc = asset_unpack(&f, &text, err);
    buf_fini(&text);
    if (rc == WOPR_E_NO_MEMORY || arena_failed(s->arena))
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the dashboard");
    if (rc != 0 || s->n == ASSETS_MAX)
        return wopr_error_set(err, WOPR_E_CORRUPT,
                              "the dashboard's file " STR_FMT " is damaged: build again",
                              STR_ARG(name));
    s->v[s->n++] = f;
    return 0;
}

static bool name_cut(const char *embedded, struct str *name) {
    struct str s = str_c(embedded), prefix = STR(EMBED_PREFIX), suffix = STR(EMBED_SUFFIX);
    if (s.n <= prefix.n + suffix.n || !str_starts(s, prefix)) return false;
    *name = str_n(s.p + prefix.n, s.n - prefix.n - suffix.n);
    return str_eq(str_n(s.p + s.n - suffix.n, suffix.n), suffix);
}

int http_assets_new(struct http_assets **out, struct wopr_error *err) {
    struct http_assets *s = MEM_NEW(struct http_assets);
    struct str name;
    int rc = 0;
    if (s) s->arena = arena_new(ASSETS_ARENA_MAX);
    if (!s || !s->arena) {
        mem_free(s);
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the dashboard");
    }
    for (const struct embed_file *f = EMBED_FILES; rc == 0 && f->name; f++)
        if (name_cut(f->name, &name)) rc = asset_add(s, name, embed_text(f), err);
    if (rc == 0 && !asset_of(s, STR(INDEX_NAME)))
        rc = wopr_error_set(err, WOPR_E_CONFIG, "this program was built without the dashboard");
    if (rc != 0) {
        http_assets_free(s);
        return rc;
    }
    s->mount = (struct http_mount){.name = "ui",
                                   .prefix = HTTP_ASSETS_PREFIX,
                                   .ctx = s,
                                   .ops = OPS,
                                   .ops_nr = sizeof OPS / sizeof OPS[0],
                                   .headers = HEADERS,
                                   .headers_nr = sizeof HEADERS / sizeof HEADERS[0],
                                   .render_error = asset_error};
    *out = s;
    return 0;
}

void http_assets_free(struct http_assets *s) {
    if (!s) return;
    arena_free(s->arena);
    mem_free(s);
}

const struct http_mount *http_assets_mount(const struct http_assets *s) { return &s->mount; }

/* Browsers name text/html first, and without a lower weight. */
bool http_assets_wanted(struct str accept) {
    struct str one, rest = accept, type, weight;
    bool more = accept.n > 0;
    while (more) {
        more = str_cut(rest, ',', &one, &rest);
        if (!more) one = rest;
        if (!str_cut(one, ';', &type, &weight)) type = one;
        type = str_trim(type);
        if (str_eq_nocase(type, STR("application/json"))) return false;
        if (str_eq_nocase(type, STR("text/html"))) return true;
    }
    return false;
}
