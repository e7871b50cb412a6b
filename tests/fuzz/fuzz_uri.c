/*
 * fuzz_uri.c: properties of request targets (HTTP-5, HTTP-6, D5, D6).
 *  - decoding undoes encoding, and gives no NUL byte;
 *  - a query is refused or comes as at most HTTP_QUERY_MAX pairs of valid UTF-8;
 *  - a path finds an operation of that method with usable parameters, or a documented refusal;
 *  - a path whose bytes are all written as %xx finds the same.
 */
#include "http/router.h"
#include "wire/v1/wire_int.h"

enum { FUZZ_BYTES_MAX = 4096, ARENA_BYTES = 4 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char *const METHODS[] = {"GET", "POST", "HEAD", "PUT", "OPTIONS"};

static struct router *the_router(void) {
    static struct router *r;
    size_t n;
    const struct http_op *ops = v1_operations(&n);
    if (!r) ASSERT(router_new(ops, n, 0, &r, NULL) == 0);
    return r;
}

/* Every byte but the slashes as %xx. */
static struct str encoded(struct arena *a, struct str s) {
    static const char HEX[] = "0123456789abcdef";
    char *p = arena_alloc(a, s.n * 3 + 1);
    size_t n = 0;
    ASSERT(p != NULL);
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '/') {
            p[n++] = '/';
            continue;
        }
        p[n++] = '%';
        p[n++] = HEX[c >> 4];
        p[n++] = HEX[c & 15];
    }
    return str_n(p, n);
}

static void check_decode(struct arena *a, struct str s) {
    struct str once, back;
    if (uri_decode(a, s, false, &once)) {
        ASSERT(once.n <= s.n);
        ASSERT(once.n == 0 || memchr(once.p, 0, once.n) == NULL || memchr(s.p, 0, s.n) != NULL);
        bool nul = once.n > 0 && memchr(once.p, 0, once.n) != NULL;
        ASSERT(uri_decode(a, encoded(a, once), false, &back) == !nul);
        ASSERT(nul || str_eq(back, once));
    }
}

static void check_query(struct arena *a, struct str s) {
    struct http_param *v;
    struct wopr_error err = {0};
    size_t n;
    int rc = uri_query(a, s, &v, &n, &err);
    ASSERT(rc == 0 || rc == WOPR_E_VALIDATION);
    ASSERT(rc == 0 ? n <= HTTP_QUERY_MAX : n == 0 && err.message[0] != '\0');
    for (size_t i = 0; i < n; i++) ASSERT(utf8_valid(v[i].name) && utf8_valid(v[i].value));
}

static void check_params(const struct route *r) {
    ASSERT(r->params_nr <= 4);
    for (size_t i = 0; i < r->params_nr; i++) {
        struct str v = r->params[i].value;
        ASSERT(v.n > 0 && v.n <= HTTP_TOKEN_BYTES_MAX && utf8_valid(v));
        for (size_t k = 0; k < v.n; k++) ASSERT((unsigned char)v.p[k] >= 0x20 && v.p[k] != 0x7f);
    }
}

static void check_path(struct arena *a, struct str method, struct str path) {
    struct route r, same;
    struct wopr_error err = {0};
    int rc = router_match(the_router(), method, path, a, &r, &err);
    ASSERT(rc == 0 || rc == WOPR_E_NOT_FOUND || rc == WOPR_E_METHOD);
    ASSERT((rc == 0) == (r.op != NULL));
    ASSERT(rc != WOPR_E_METHOD || r.allow != NULL);
    ASSERT(err.details[0] == '\0' ||
           json_check(str_c(err.details), &JSON_LIMITS_DEFAULT, NULL) == 0);
    if (rc != 0) return;
    check_params(&r);
    ASSERT(str_eqc(method, r.op->method) || str_eq(method, STR("HEAD")));
    if (memchr(path.p, '%', path.n) != NULL) return;
    ASSERT(router_match(the_router(), method, encoded(a, path), a, &same, &err) == 0);
    ASSERT(same.op == r.op && same.params_nr == r.params_nr);
    for (size_t i = 0; i < r.params_nr; i++)
        ASSERT(str_eq(same.params[i].value, r.params[i].value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len < 1 || len > FUZZ_BYTES_MAX) return 0;
    struct arena *a = arena_new(ARENA_BYTES);
    struct str method = str_c(METHODS[data[0] % 5]);
    struct str target = str_n((const char *)data + 1, len - 1), path, query;
    ASSERT(a != NULL);
    if (!str_cut(target, '?', &path, &query)) path = target, query = STR_NONE;
    check_decode(a, target);
    check_query(a, query);
    check_path(a, method, path);
    arena_free(a);
    return 0;
}
