/*
 * redact_oracle.c: the redactor as it is defined, without regard to cost: quadratic, and compared
 * with the real one on small texts (test_redact_linear.c).
 */
#include "redact_oracle.h"

#define REDACTED        "[REDACTED]"
#define TOKEN_CHARS_MIN 16u /* after a prefix */
#define KNOWN_CHARS_MIN 4u  /* shorter secrets would eat ordinary words */

/* Longest first where one begins another. */
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

/* End of a token that qualified: it goes on over inner punctuation, not over a final full stop. */
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

/* Three or more dot-separated groups, the first beginning with eyJ: JWS, JWE. */
static size_t jwt_end(struct str t, size_t at) {
    if (t.n - at < 3 || memcmp(t.p + at, "eyJ", 3) != 0) return at;
    size_t end = token_end(t, at);
    unsigned groups = 1;
    while (end + 1 < t.n && t.p[end] == '.' && is_token(t.p[end + 1])) {
        end = token_end(t, end + 1);
        groups++;
    }
    return groups >= 3 ? end : at;
}

/* "Bearer <token>": *from is where the token begins.  In other spellings than the header's the word
 * is often prose, so there the token has to look like one. */
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
static bool secret_at(struct str t, struct str known, size_t at, size_t *from, size_t *end) {
    *from = at;
    if (known.n >= KNOWN_CHARS_MIN && t.n - at >= known.n && t.p[at] == known.p[0] &&
        memcmp(t.p + at, known.p, known.n) == 0) {
        *end = at + known.n;
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
        *end = jwt_end(t, at);
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

bool oracle_redact_text(struct str text, struct str known, struct buf *out) {
    bool hit = false;
    size_t copied = 0, from, end;
    for (size_t i = 0; i < text.n;) {
        if (!secret_at(text, known, i, &from, &end)) {
            i++;
            continue;
        }
        buf_add(out, text.p + copied, from - copied);
        buf_addz(out, REDACTED);
        copied = i = end;
        hit = true;
    }
    buf_add(out, text.p + copied, text.n - copied);
    return hit;
}
