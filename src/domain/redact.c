/*
 * redact.c: the credential-shape redactor (OBS-75, GEN-6).  A hand-written scanner whose time is
 * linear whatever the text holds: a shape that fails does so within a few bytes, or the scan
 * remembers what it has read (`struct scan`) and does not read it again for starts inside of it.
 * Member names are left alone: replacing them could make two names equal.
 */
#include "base/find.h"
#include "codec/json.h"
#include "domain/options.h"

#define REDACTED         "[REDACTED]"
#define TOKEN_CHARS_MIN  16u /* after a prefix */
#define KNOWN_CHARS_MIN  4u  /* shorter secrets would eat ordinary words */
#define REDACT_ARENA_MAX (64u * 1024 * 1024)

/* A prefix of another row follows it. */
static const struct str PREFIXES[] = {
    {"sk-ant-", 7},  {"sk-", 3}, {"AIza", 4}, {"cred_", 5},
    {"hk_test_", 8}, {"hk_", 3}, {"ghp_", 4}, {"xoxb-", 5},
};

static bool is_alnum(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_token(char c) { return is_alnum(c) || c == '_' || c == '-'; }

/* RFC 6750 b64token */
static bool is_bearer(char c) { return is_token(c) || (c != '\0' && strchr(".~+/=", c) != NULL); }

static size_t token_end(struct str t, size_t at) {
    while (at < t.n && is_token(t.p[at])) at++;
    return at;
}

/* End of a token that qualified: inner punctuation belongs to it, a final full stop does not. */
static size_t token_rest(struct str t, size_t at) {
    while (at + 1 < t.n && is_bearer(t.p[at]) && is_token(t.p[at + 1])) at = token_end(t, at + 1);
    while (at < t.n && t.p[at] == '=') at++;
    return at;
}

static size_t prefixed_end(struct str t, size_t at) {
    for (size_t i = 0; i < sizeof PREFIXES / sizeof PREFIXES[0]; i++) {
        size_t from = at + PREFIXES[i].n;
        if (from > t.n || memcmp(t.p + at, PREFIXES[i].p, PREFIXES[i].n) != 0) continue;
        size_t end = token_end(t, from);
        if (end - from >= TOKEN_CHARS_MIN) return token_rest(t, end);
    }
    return at;
}

struct scan {
    struct str t;
    struct finder known; /* of the run's own secret; needle NULL: it cannot occur */
    size_t no_jwt;       /* no group before this place begins a JWT */
};

/* Three or more dot-separated groups, the first beginning with eyJ: JWS, JWE. A chain with too few
 * groups is too short for any start inside of it, too. */
static size_t jwt_end(struct scan *s, size_t at) {
    struct str t = s->t;
    if (at < s->no_jwt || t.n - at < 3 || memcmp(t.p + at, "eyJ", 3) != 0) return at;
    size_t end = token_end(t, at);
    unsigned groups = 1;
    while (end + 1 < t.n && t.p[end] == '.' && is_token(t.p[end + 1])) {
        end = token_end(t, end + 1);
        groups++;
    }
    s->no_jwt = end;
    return groups >= 3 ? end : at;
}

/* "Bearer <token>": *from is the start of the token.  In other spellings than the header's the word
 * is often prose, so then the token must look like one. */
static size_t bearer_end(struct str t, size_t at, size_t *from) {
    static const struct str word = {"Bearer", 6};
    if (t.n - at <= word.n || !str_eq_nocase(str_n(t.p + at, word.n), word)) return at;
    bool exact = memcmp(t.p + at, word.p, word.n) == 0, digit = false;
    size_t i = at + word.n, end;
    while (i < t.n && (t.p[i] == ' ' || t.p[i] == '\t')) i++;
    if (i == at + word.n) return at;
    for (end = i; end < t.n && is_bearer(t.p[end]); end++)
        digit = digit || (t.p[end] >= '0' && t.p[end] <= '9');
    if (end == i || (!exact && end - i < 8 && !digit)) return at;
    *from = i;
    return end;
}

/* Find what to replace at this place: true with [*from, *end). */
static bool secret_at(struct scan *s, size_t at, size_t *from, size_t *end) {
    struct str t = s->t;
    *from = at;
    if (s->known.needle && finder_next(&s->known, at) == at) {
        *end = at + s->known.needle->text.n;
        return true;
    }
    if (at > 0 && is_alnum(t.p[at - 1])) return false; /* "task-..." is not "sk-..." */
    switch (t.p[at]) {
    case 's':
    case 'A':
    case 'c':
    case 'h':
    case 'g':
    case 'x':
        *end = prefixed_end(t, at);
        break;
    case 'e':
        *end = jwt_end(s, at);
        break;
    case 'B':
    case 'b':
        *end = bearer_end(t, at, from);
        break;
    default:
        return false;
    }
    return *end > at;
}

/* The secret of the run, prepared at the first string long enough to contain it. */
struct known {
    struct str text;
    struct needle needle;
    bool ready;
    struct arena *a;
};

static int known_in(struct known *k, struct str text, const struct needle **out) {
    *out = NULL;
    if (k->text.n < KNOWN_CHARS_MIN || text.n < k->text.n) return 0;
    if (!k->a) k->a = arena_new(REDACT_ARENA_MAX);
    if (!k->a) return WOPR_E_NO_MEMORY;
    if (!k->ready && needle_make(&k->needle, k->text, k->a) != 0) return WOPR_E_NO_MEMORY;
    k->ready = true;
    *out = &k->needle;
    return 0;
}

static int redact_one(struct known *k, struct str text, struct buf *out, bool *hit) {
    struct scan s = {.t = text};
    const struct needle *needle;
    size_t copied = 0, from, end;
    int rc = known_in(k, text, &needle);
    if (rc != 0) return rc;
    finder_begin(&s.known, needle, text);
    *hit = false;
    for (size_t i = 0; i < text.n;) {
        if (!secret_at(&s, i, &from, &end)) {
            i++;
            continue;
        }
        buf_add(out, text.p + copied, from - copied);
        buf_addz(out, REDACTED);
        copied = i = end;
        *hit = true;
    }
    buf_add(out, text.p + copied, text.n - copied);
    return 0;
}

bool redact_text(struct str text, struct str known, struct buf *out) {
    struct known k = {.text = known};
    bool hit = false;
    if (redact_one(&k, text, out, &hit) != 0) out->failed = true;
    arena_free(k.a);
    return hit;
}

/* Index of the quote that closes the string opened at `at`, n when it is not closed. */
static size_t string_close(struct str t, size_t at, bool *escaped) {
    size_t i = at + 1;
    *escaped = false;
    while (i < t.n && t.p[i] != '"') {
        if (t.p[i] == '\\') {
            *escaped = true;
            i++;
        }
        i++;
    }
    return i < t.n ? i : t.n;
}

static bool is_name(struct str t, size_t after) {
    while (after < t.n &&
           (t.p[after] == ' ' || t.p[after] == '\t' || t.p[after] == '\n' || t.p[after] == '\r'))
        after++;
    return after < t.n && t.p[after] == ':';
}

/* Search a string with escapes unescaped, and keep its spelling if there is nothing to hide. */
static int redact_escaped(struct known *k, struct str raw, struct buf *out) {
    bool hit;
    if (!k->a) k->a = arena_new(REDACT_ARENA_MAX);
    struct str plain = k->a ? json_string(raw, k->a) : STR_NONE;
    if (!plain.p) return WOPR_E_NO_MEMORY;
    struct buf b;
    buf_init(&b, REDACT_ARENA_MAX);
    int rc = redact_one(k, plain, &b, &hit);
    if (rc == 0 && buf_failed(&b)) rc = WOPR_E_NO_MEMORY;
    if (rc == 0 && hit) json_quote(out, buf_str(&b));
    else if (rc == 0) buf_adds(out, raw);
    buf_fini(&b);
    return rc;
}

static int redact_plain(struct known *k, struct str content, struct buf *out) {
    bool hit;
    buf_addc(out, '"');
    int rc = redact_one(k, content, out, &hit);
    buf_addc(out, '"');
    return rc;
}

int redact_json(struct str json, struct str known, struct buf *out, struct wopr_error *err) {
    struct known k = {.text = known};
    size_t copied = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < json.n; i++) {
        bool escaped;
        if (json.p[i] != '"') continue;
        size_t close = string_close(json, i, &escaped);
        if (close == json.n) break; /* not closed: not checked text, copied as it is */
        if (!is_name(json, close + 1)) {
            struct str raw = str_n(json.p + i, close + 1 - i);
            buf_add(out, json.p + copied, i - copied);
            rc = escaped ? redact_escaped(&k, raw, out)
                         : redact_plain(&k, str_n(raw.p + 1, raw.n - 2), out);
            copied = close + 1;
        }
        i = close;
    }
    if (rc == 0) buf_add(out, json.p + copied, json.n - copied);
    arena_free(k.a);
    if (rc == 0 && buf_failed(out)) rc = WOPR_E_NO_MEMORY;
    return rc == 0 ? 0 : wopr_error_set(err, rc, "no memory to redact a text");
}
