/*
 * ids.c: see ids.h.
 */
#include "workrail/ids.h"

#include "base/error.h"

#include <stdio.h>

enum { TAIL_LEN = 26, BITS = 5, AUTHOR_ID_MAX = 128 };
static const char ALPHABET[] = "abcdefghijklmnopqrstuvwxyz234567";
static const char *const PREFIXES[WR_ID_KINDS] = {
    [WR_ID_SESSION] = "sess",      [WR_ID_RUN] = "run",        [WR_ID_NODE] = "node",
    [WR_ID_ATTEMPT] = "attempt",   [WR_ID_EVENT] = "evt",      [WR_ID_CHANGE] = "prefchg",
    [WR_ID_CAPABILITY] = "capobs", [WR_ID_DIVERGENCE] = "div", [WR_ID_TRACE] = "trace",
    [WR_ID_GAP] = "gap",           [WR_ID_OUTPUT] = "out",     [WR_ID_CONTEXT] = "ctx",
    [WR_ID_BUNDLE] = "bundle",     [WR_ID_INTERRUPT] = "int",  [WR_ID_VALIDATION] = "validation",
};

const char *wr_id_prefix(enum wr_id_kind kind) { return PREFIXES[kind]; }

struct wr_id wr_id_of(enum wr_id_kind kind, const uint8_t bytes[WR_ID_BYTES]) {
    struct wr_id id;
    char tail[TAIL_LEN + 1];
    unsigned have = 0, at = 0;
    uint32_t bits = 0;
    for (size_t i = 0; i < TAIL_LEN; i++) {
        if (have < BITS) {
            bits = (bits << 8) | (at < WR_ID_BYTES ? bytes[at] : 0u);
            at++;
            have += 8;
        }
        have -= BITS;
        tail[i] = ALPHABET[(bits >> have) & 31u];
    }
    tail[TAIL_LEN] = '\0';
    snprintf(id.s, sizeof id.s, "%s_%s", PREFIXES[kind], tail);
    return id;
}

struct wr_id wr_id_mint(const struct wr_minter *m, enum wr_id_kind kind) {
    uint8_t bytes[WR_ID_BYTES];
    m->bytes(m->ctx, bytes);
    return wr_id_of(kind, bytes);
}

/* The text after "prefix_"; p NULL: it begins otherwise. */
static struct str id_tail(const char *prefix, struct str id) {
    size_t n = strlen(prefix);
    if (id.n <= n || memcmp(id.p, prefix, n) != 0 || id.p[n] != '_') return STR_NONE;
    return str_n(id.p + n + 1, id.n - n - 1);
}

bool wr_id_decode(enum wr_id_kind kind, struct str id, uint8_t bytes[WR_ID_BYTES]) {
    struct str tail = id_tail(PREFIXES[kind], id);
    uint32_t bits = 0;
    unsigned have = 0, at = 0;
    if (tail.n != TAIL_LEN) return false;
    for (size_t i = 0; i < TAIL_LEN; i++) {
        const char *c = tail.p[i] != '\0' ? strchr(ALPHABET, tail.p[i]) : NULL;
        if (c == NULL) return false;
        bits = (bits << BITS) | (uint32_t)(c - ALPHABET);
        have += BITS;
        if (have >= 8) {
            have -= 8;
            bytes[at++] = (uint8_t)(bits >> have);
        }
    }
    return (bits & ((1u << have) - 1)) == 0;
}

static bool is_word(struct str s, size_t max, bool dots) {
    if (s.n == 0 || s.n > max) return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
                    (dots && c == '.' && i > 0 && i + 1 < s.n && s.p[i - 1] != '.');
        if (!good) return false;
    }
    return true;
}

bool wr_id_good(enum wr_id_kind kind, struct str id) {
    struct str tail = id_tail(PREFIXES[kind], id);
    if (tail.p == NULL && kind == WR_ID_GAP) tail = id_tail("rec_warn", id);
    return tail.p != NULL && is_word(tail, WR_ID_TAIL_MAX, false);
}

bool wr_word_good(struct str s) { return is_word(s, AUTHOR_ID_MAX, false); }
bool wr_step_id_good(struct str s) { return is_word(s, AUTHOR_ID_MAX, true); }

/* --- derived --- */

/* label, then the parts joined by ':'; every part is at most 128 bytes (WR-110). */
static struct wr_id id_derive(enum wr_id_kind kind, const char *label, const struct str *parts,
                              size_t nr) {
    char text[1024];
    size_t n = strlen(label);
    struct sha256 d;
    memcpy(text, label, n);
    for (size_t i = 0; i < nr; i++) {
        ASSERT(parts[i].n + n + 1 < sizeof text);
        if (i > 0) text[n++] = ':';
        if (parts[i].n > 0) memcpy(text + n, parts[i].p, parts[i].n);
        n += parts[i].n;
    }
    d = sha256_of(str_n(text, n));
    return wr_id_of(kind, d.b);
}

struct wr_id wr_attempt_child(struct str attempt_id) {
    return id_derive(WR_ID_ATTEMPT, "wr_attempt_next_v1:", &attempt_id, 1);
}

struct wr_id wr_checkpoint_node(struct str session_id, struct str run_id, struct str node_id,
                                struct str attempt_id) {
    const struct str parts[] = {session_id, run_id, node_id, attempt_id};
    return id_derive(WR_ID_NODE, "wr_checkpoint_node_v1:", parts, 4);
}

struct wr_id wr_context_id(struct str attempt_id) {
    return id_derive(WR_ID_CONTEXT, "wr_context_v1:", &attempt_id, 1);
}

struct wr_id wr_branch_run(struct str run_id, struct str from_node_id, struct str attempt_id) {
    const struct str parts[] = {run_id, from_node_id, attempt_id};
    return id_derive(WR_ID_RUN, "wr_openwop_branch_v1:", parts, 3);
}

struct wr_id wr_interrupt_id(struct str node_id) {
    return id_derive(WR_ID_INTERRUPT, "wr_interrupt_v1:", &node_id, 1);
}

struct wr_id wr_interrupt_attempt(struct str interrupt_id) {
    return id_derive(WR_ID_ATTEMPT, "wr_interrupt_attempt_v1:", &interrupt_id, 1);
}

struct wr_id wr_id_joined(const char *prefix, struct str of, int i) {
    struct wr_id id;
    int n = i < 0 ? snprintf(id.s, sizeof id.s, "%s_" STR_FMT, prefix, STR_ARG(of))
                  : snprintf(id.s, sizeof id.s, "%s_" STR_FMT "_%d", prefix, STR_ARG(of), i);
    ASSERT(n > 0 && (size_t)n < sizeof id.s);
    return id;
}

/* --- digests --- */

struct wr_digest wr_digest_of(struct str bytes) {
    struct wr_digest d;
    struct sha256 sum = sha256_of(bytes);
    memcpy(d.s, "sha256:", 7);
    sha256_hex(&sum, d.s + 7);
    return d;
}

bool wr_digest_good(struct str s) {
    if (s.n != WR_DIGEST_LEN || memcmp(s.p, "sha256:", 7) != 0) return false;
    for (size_t i = 7; i < s.n; i++)
        if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f'))) return false;
    return true;
}
