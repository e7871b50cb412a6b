/*
 * json.c: the strict check that all foreign JSON passes.  One pass over the bytes, no recursion;
 * the only memory is the list of member names of the objects that are open.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "codec/json_scan.h"

#include <stdatomic.h>
#include <stdlib.h>

const struct json_limits JSON_LIMITS_DEFAULT = {1u << 20, 64};
const struct json_limits JSON_LIMITS_STORED = {16u << 20, 128};

enum {
    KEYS_ON_STACK = 64,
    KEYS_PAIRWISE_MAX = 12 /* larger objects are sorted by hash when they close */
};

struct key {
    struct str content; /* between the quotes, borrowed */
    uint64_t hash;      /* of the unescaped name; set only when sorting */
    bool escaped;
};

struct level {
    bool object;
    struct key at;     /* objects: the member being read */
    size_t index;      /* arrays: the element being read */
    size_t keys_first; /* objects: its part of the key list */
};

struct check {
    const char *start, *p, *end;
    unsigned depth, depth_max;
    struct key *keys; /* stack_keys or heap */
    size_t keys_n, keys_cap;
    struct wopr_error *err;
    struct level levels[JSON_DEPTH_HARD_MAX];
    struct key stack_keys[KEYS_ON_STACK];
};

/* --- failures --- */

static void pointer_add(struct buf *b, const struct level *l) {
    buf_addc(b, '/');
    if (!l->object) {
        buf_add_u64(b, l->index);
        return;
    }
    const char *p = l->at.content.p, *end = p + l->at.content.n;
    char u[4];
    for (size_t n; (n = json_unescape(&p, end, u)) > 0;) {
        if (n == 1 && u[0] == '~') buf_addz(b, "~0");
        else if (n == 1 && u[0] == '/') buf_addz(b, "~1");
        else if (n == 1 && u[0] == '\0') buf_addz(b, "\xEF\xBF\xBD");
        else buf_add(b, u, n);
    }
}

/* at: the offending byte; what: what is wrong, without quoting it. */
static int check_refuse(struct check *c, int code, const char *at, const char *what) {
    if (!c->err) return code;
    struct buf b;
    buf_init(&b, sizeof c->err->pointer * 4);
    for (unsigned i = 0; i < c->depth; i++)
        if (!c->levels[i].object || c->levels[i].at.content.p) pointer_add(&b, &c->levels[i]);
    wopr_error_at(c->err, code, b.p ? b.p : "", "JSON: %s at byte %zu", what,
                  (size_t)(at - c->start));
    buf_fini(&b);
    return code;
}

static int check_syntax(struct check *c, const char *what) {
    return check_refuse(c, WOPR_E_SYNTAX, c->p, c->p == c->end ? "unexpected end of text" : what);
}

/* --- strings --- */

static int hex4_value(const char *p, const char *end) {
    int v = 0;
    if (end - p < 4) return -1;
    for (int i = 0; i < 4; i++) {
        char d = p[i];
        int x = d >= '0' && d <= '9'   ? d - '0'
                : d >= 'a' && d <= 'f' ? d - 'a' + 10
                : d >= 'A' && d <= 'F' ? d - 'A' + 10
                                       : -1;
        if (x < 0) return -1;
        v = v * 16 + x;
    }
    return v;
}

/* p is after a backslash; moves over the escape. */
static int check_escape(struct check *c) {
    if (c->p == c->end) return check_syntax(c, "");
    if (*c->p != 'u') {
        if (*c->p == '\0' || !strchr("\"\\/bfnrt", *c->p)) return check_syntax(c, "unknown escape");
        c->p++;
        return WOPR_OK;
    }
    int hi = hex4_value(c->p + 1, c->end);
    if (hi < 0) return check_syntax(c, "\\u without four hexadecimal digits");
    if (hi >= 0xDC00 && hi <= 0xDFFF) return check_syntax(c, "lone low surrogate escape");
    if (hi >= 0xD800 && hi <= 0xDBFF) {
        const char *q = c->p + 5;
        int lo = c->end - q >= 2 && q[0] == '\\' && q[1] == 'u' ? hex4_value(q + 2, c->end) : -1;
        if (lo < 0xDC00 || lo > 0xDFFF) return check_syntax(c, "lone high surrogate escape");
        c->p = q + 6;
        return WOPR_OK;
    }
    c->p += 5;
    return WOPR_OK;
}

/* p is at the opening quote; moves past the closing one. */
static int check_string(struct check *c, struct key *out) {
    const char *first = ++c->p;
    bool escaped = false;
    for (;;) {
        c->p += json_plain_run(c->p, (size_t)(c->end - c->p));
        if (c->p == c->end) return check_syntax(c, "");
        unsigned char b = (unsigned char)*c->p;
        if (b == '"') break;
        if (b == '\\') {
            escaped = true;
            c->p++;
            int rc = check_escape(c);
            if (rc != 0) return rc;
        } else if (b < 0x20) {
            return check_syntax(c, "control character in a string");
        } else {
            size_t n = utf8_sequence(c->p, (size_t)(c->end - c->p));
            if (n == 0) return check_syntax(c, "malformed UTF-8");
            c->p += n;
        }
    }
    if (out) *out = (struct key){.content = {first, (size_t)(c->p - first)}, .escaped = escaped};
    c->p++;
    return WOPR_OK;
}

/* --- member names --- */

static bool key_eq(const struct key *x, const struct key *y) {
    if (!x->escaped) return json_content_eq(y->content, y->escaped, x->content);
    if (!y->escaped) return json_content_eq(x->content, true, y->content);
    const char *p = x->content.p, *pe = p + x->content.n, *q = y->content.p, *qe = q + y->content.n;
    char u[4], v[4];
    /* Units differ where one side spells a byte sequence by an escape, so compare byte by byte. */
    size_t un = 0, vn = 0, ui = 0, vi = 0;
    for (;;) {
        if (ui == un) un = json_unescape(&p, pe, u), ui = 0;
        if (vi == vn) vn = json_unescape(&q, qe, v), vi = 0;
        if (un == 0 || vn == 0) return un == vn;
        if (u[ui++] != v[vi++]) return false;
    }
}

/* One seed per process: an attacker cannot prepare names of equal hash. */
static uint64_t hash_seed(void) {
    static atomic_uint_fast64_t seed;
    uint64_t s = atomic_load_explicit(&seed, memory_order_relaxed);
    if (s != 0) return s;
    uint64_t fresh = rng_u64() | 1;
    uint_fast64_t expected = 0;
    return atomic_compare_exchange_strong(&seed, &expected, fresh) ? fresh : expected;
}

static int key_hash(struct key *k, uint64_t seed) {
    if (!k->escaped) {
        k->hash = str_hash(k->content, seed);
        return WOPR_OK;
    }
    char small[256];
    char *out = k->content.n <= sizeof small ? small : mem_alloc(k->content.n);
    if (!out) return WOPR_E_NO_MEMORY;
    size_t len = 0;
    const char *p = k->content.p, *end = p + k->content.n;
    char u[4];
    for (size_t n; (n = json_unescape(&p, end, u)) > 0; len += n) memcpy(out + len, u, n);
    k->hash = str_hash((struct str){out, len}, seed);
    if (out != small) mem_free(out);
    return WOPR_OK;
}

static int by_hash(const void *x, const void *y) {
    const struct key *a = x, *b = y;
    return (a->hash > b->hash) - (a->hash < b->hash);
}

static int refuse_double(struct check *c, const struct key *a, const struct key *b) {
    const struct key *later = a->content.p > b->content.p ? a : b;
    c->levels[c->depth - 1].at = *later;
    return check_refuse(c, WOPR_E_SYNTAX, later->content.p - 1, "member name occurs twice");
}

static int add_key(struct check *c, const struct key *k) {
    struct level *l = &c->levels[c->depth - 1];
    if (c->keys_n == c->keys_cap) {
        size_t cap = c->keys_cap * 2;
        bool on_stack = c->keys == c->stack_keys;
        struct key *v = mem_grow(on_stack ? NULL : c->keys, cap, sizeof *v);
        if (!v) return check_refuse(c, WOPR_E_NO_MEMORY, c->p, "out of memory");
        if (on_stack) memcpy(v, c->stack_keys, sizeof c->stack_keys);
        c->keys = v;
        c->keys_cap = cap;
    }
    size_t n = c->keys_n - l->keys_first;
    for (size_t i = l->keys_first; n < KEYS_PAIRWISE_MAX && i < c->keys_n; i++)
        if (key_eq(&c->keys[i], k)) return refuse_double(c, &c->keys[i], k);
    c->keys[c->keys_n++] = *k;
    l->at = *k;
    return WOPR_OK;
}

/* The top object closes: find the duplicates that add_key skipped because it had too many names. */
static int close_keys(struct check *c) {
    struct level *l = &c->levels[c->depth - 1];
    struct key *v = c->keys + l->keys_first;
    size_t n = c->keys_n - l->keys_first;
    c->keys_n = l->keys_first;
    if (n <= KEYS_PAIRWISE_MAX) return WOPR_OK;
    uint64_t seed = hash_seed();
    for (size_t i = 0; i < n; i++)
        if (key_hash(&v[i], seed) != 0)
            return check_refuse(c, WOPR_E_NO_MEMORY, c->p, "out of memory");
    qsort(v, n, sizeof *v, by_hash);
    for (size_t i = 1; i < n; i++)
        if (v[i].hash == v[i - 1].hash && key_eq(&v[i], &v[i - 1]))
            return refuse_double(c, &v[i], &v[i - 1]);
    return WOPR_OK;
}

/* --- the walk --- */

enum expect { A_VALUE, A_VALUE_OR_END, A_KEY, A_KEY_OR_END, A_COMMA_OR_END };

static int open_level(struct check *c, bool object, enum expect *next) {
    if (c->depth >= c->depth_max)
        return check_refuse(c, WOPR_E_TOO_BIG, c->p, "too many nested containers");
    c->levels[c->depth++] = (struct level){.object = object, .keys_first = c->keys_n};
    c->p++;
    *next = object ? A_KEY_OR_END : A_VALUE_OR_END;
    return WOPR_OK;
}

static int close_level(struct check *c, enum expect *next) {
    if (c->levels[c->depth - 1].object) {
        int rc = close_keys(c);
        if (rc != 0) return rc;
    }
    c->depth--;
    c->p++;
    *next = A_COMMA_OR_END;
    return WOPR_OK;
}

static int check_literal(struct check *c, const char *word, size_t n) {
    if ((size_t)(c->end - c->p) < n || memcmp(c->p, word, n) != 0)
        return check_refuse(c, WOPR_E_SYNTAX, c->p, "neither true, false nor null");
    c->p += n;
    return WOPR_OK;
}

static int check_value(struct check *c, enum expect *next) {
    *next = A_COMMA_OR_END;
    switch (*c->p) {
    case '{':
        return open_level(c, true, next);
    case '[':
        return open_level(c, false, next);
    case '"':
        return check_string(c, NULL);
    case 't':
        return check_literal(c, "true", 4);
    case 'f':
        return check_literal(c, "false", 5);
    case 'n':
        return check_literal(c, "null", 4);
    default:
        break;
    }
    const char *end = json_number_end(c->p, c->end);
    if (!end)
        return check_refuse(c, WOPR_E_SYNTAX, c->p,
                            *c->p == '-' || (*c->p >= '0' && *c->p <= '9')
                                ? "malformed number"
                                : "a value was expected");
    c->p = end;
    return WOPR_OK;
}

static int check_key(struct check *c, enum expect *next) {
    struct key k;
    if (*c->p != '"') return check_syntax(c, "a member name was expected");
    int rc = check_string(c, &k);
    if (rc == 0) rc = add_key(c, &k);
    if (rc != 0) return rc;
    c->p = json_skip_space(c->p, c->end);
    if (c->p == c->end || *c->p != ':') return check_syntax(c, "a colon was expected");
    c->p++;
    *next = A_VALUE;
    return WOPR_OK;
}

static int check_separator(struct check *c, enum expect *next) {
    struct level *l = &c->levels[c->depth - 1];
    if (*c->p == (l->object ? '}' : ']')) return close_level(c, next);
    if (*c->p != ',') return check_syntax(c, "a comma or the end of the container was expected");
    c->p++;
    l->index++;
    *next = l->object ? A_KEY : A_VALUE;
    return WOPR_OK;
}

static int check_step(struct check *c, enum expect *e) {
    switch (*e) {
    case A_COMMA_OR_END:
        return check_separator(c, e);
    case A_KEY_OR_END:
        if (*c->p == '}') return close_level(c, e);
        return check_key(c, e);
    case A_KEY:
        return check_key(c, e);
    case A_VALUE_OR_END:
        if (*c->p == ']') return close_level(c, e);
        return check_value(c, e);
    case A_VALUE:
        break;
    }
    return check_value(c, e);
}

static int check_run(struct check *c) {
    enum expect e = A_VALUE;
    for (;;) {
        c->p = json_skip_space(c->p, c->end);
        bool complete = e == A_COMMA_OR_END && c->depth == 0;
        if (c->p == c->end) return complete ? WOPR_OK : check_syntax(c, "");
        if (complete) return check_syntax(c, "bytes behind the end of the value");
        int rc = check_step(c, &e);
        if (rc != 0) return rc;
    }
}

int json_check(struct str text, const struct json_limits *lim, struct wopr_error *err) {
    if (text.n > lim->bytes_max)
        return wopr_error_set(err, WOPR_E_TOO_BIG, "JSON: the text has %zu bytes, the limit is %zu",
                              text.n, lim->bytes_max);
    struct check c; /* about 20 KB, most of it never touched: not zeroed as a whole */
    c.start = c.p = text.p ? text.p : "";
    c.end = c.start + text.n;
    c.depth = 0;
    c.depth_max = lim->depth_max < JSON_DEPTH_HARD_MAX ? lim->depth_max : JSON_DEPTH_HARD_MAX;
    c.keys = c.stack_keys;
    c.keys_n = 0;
    c.keys_cap = KEYS_ON_STACK;
    c.err = err;
    int rc = check_run(&c);
    if (c.keys != c.stack_keys) mem_free(c.keys);
    return rc;
}
