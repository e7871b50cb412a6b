/*
 * token.c: see token.h.
 */
#include "workrail/token.h"

#include "base/mem.h"
#include "workrail/shape.h"

#include <stdio.h>

enum { KEY_CHARS = 43, SIG_BYTES = 32, TOKEN_ID_MAX = 128, KEYRING_TEXT_MAX = 4096 };
static const char *const KIND_NAMES[] = {"state", "ack", "checkpoint"};
static const char *const PREFIXES[] = {"st", "ack", "chk"};

/* --- keyring --- */

static void key_write(const uint8_t key[WR_KEY_BYTES], struct jw *w) {
    char text[KEY_CHARS + 2];
    struct buf b = {.p = text, .cap = sizeof text, .max = sizeof text - 1};
    base64url_encode(&b, str_n((const char *)key, WR_KEY_BYTES));
    jw_object(w);
    jw_kstrz(w, "alg", "hmac_sha256");
    jw_kstr(w, "keyBase64Url", buf_str(&b));
    jw_end_object(w);
    mem_wipe(text, sizeof text);
}

void wr_keyring_write(const struct wr_keyring *k, struct buf *b) {
    struct jw w;
    jw_init(&w, b);
    jw_object(&w);
    jw_key(&w, "current");
    key_write(k->current, &w);
    jw_key(&w, "previous");
    if (k->has_previous) key_write(k->previous, &w);
    else jw_null(&w);
    jw_kint(&w, "v", 1);
    jw_end_object(&w);
}

struct key_text {
    struct str key;
};
struct keyring_text {
    struct str current, previous;
};
static const struct wr_field KEY_FIELDS[] = {
    {"alg", WF_CONST, 0, 0, "hmac_sha256", 0, 0},
    {"keyBase64Url", WF_TEXT, 0, offsetof(struct key_text, key), NULL, KEY_CHARS, KEY_CHARS},
};
static const struct wr_shape KEY = WR_SHAPE(KEY_FIELDS, struct key_text);
static const struct wr_field KEYRING_FIELDS[] = {
    {"current", WF_OBJECT, 0, offsetof(struct keyring_text, current), NULL, 0, 0},
    {"previous", WF_JSON, WF_NULL, offsetof(struct keyring_text, previous), NULL, 0, 0},
    {"v", WF_VERSION, 0, 0, NULL, 0, 1},
};
static const struct wr_shape KEYRING = WR_SHAPE(KEYRING_FIELDS, struct keyring_text);

static bool key_read(struct str text, struct arena *a, uint8_t out[WR_KEY_BYTES]) {
    struct key_text k = {{0}};
    struct buf b;
    if (wr_shape_read(&KEY, text, a, &k, NULL) != 0) return false;
    buf_init(&b, WR_KEY_BYTES);
    bool good = base64url_decode(k.key, &b, NULL) == 0 && b.len == WR_KEY_BYTES;
    if (good) memcpy(out, b.p, WR_KEY_BYTES);
    if (b.p != NULL) mem_wipe(b.p, b.len);
    buf_fini(&b);
    return good;
}

int wr_keyring_read(struct str text, struct wr_keyring *out, struct wr_fault *f) {
    const struct json_limits lim = {KEYRING_TEXT_MAX, 8};
    struct keyring_text t = {{0}, {0}};
    struct wr_keyring k = {.has_previous = false};
    struct arena *a = arena_new(64 * KEYRING_TEXT_MAX);
    if (a == NULL) return wr_no_memory(f);
    bool good =
        json_check(text, &lim, NULL) == 0 && wr_shape_read(&KEYRING, text, a, &t, NULL) == 0;
    good = good && key_read(t.current, a, k.current);
    if (good && t.previous.p != NULL) {
        k.has_previous = true;
        good = key_read(t.previous, a, k.previous);
    }
    arena_free(a);
    if (good) *out = k;
    mem_wipe(&k, sizeof k);
    if (good) return 0;
    return wr_fail(f, WR_KEYRING_CORRUPTION_DETECTED, "keyring",
                   "the keyring is damaged; restore it from a backup, it is never made again by "
                   "itself");
}

void wr_keyring_rotate(struct wr_keyring *k, const uint8_t key[WR_KEY_BYTES]) {
    memcpy(k->previous, k->current, WR_KEY_BYTES);
    memcpy(k->current, key, WR_KEY_BYTES);
    k->has_previous = true;
}

/* --- payloads --- */

#define AT(member) offsetof(struct wr_token, member)
#define TOKEN_ID(name, member)                                                                     \
    { name, WF_TEXT, 0, AT(member), NULL, 1, TOKEN_ID_MAX }
static const struct wr_field STATE_FIELDS[] = {
    TOKEN_ID("nodeId", node_id),
    TOKEN_ID("runId", run_id),
    TOKEN_ID("sessionId", session_id),
    {"tokenKind", WF_TAG, 0, 0, NULL, 0, 0},
    {"tokenVersion", WF_VERSION, 0, 0, NULL, 0, 1},
    {"workflowHash", WF_DIGEST, 0, AT(workflow_hash), NULL, 0, 0},
};
static const struct wr_field ATTEMPT_FIELDS[] = {
    TOKEN_ID("attemptId", attempt_id),
    TOKEN_ID("nodeId", node_id),
    TOKEN_ID("runId", run_id),
    TOKEN_ID("sessionId", session_id),
    {"tokenKind", WF_TAG, 0, 0, NULL, 0, 0},
    {"tokenVersion", WF_VERSION, 0, 0, NULL, 0, 1},
};

/* WR-110: no ':' and no blanks, so that no id reaches into its neighbour of a key. */
static int token_ids_check(const void *base, struct wr_fault *f) {
    const struct wr_token *t = base;
    const struct str ids[] = {t->session_id, t->run_id, t->node_id, t->attempt_id};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        for (size_t k = 0; k < ids[i].n; k++) {
            unsigned char c = (unsigned char)ids[i].p[k];
            if (c <= ' ' || c == ':' || c == 0x7F)
                return wr_fail(f, WR_SCHEMA_INVALID, "", "an id holds a colon or a blank");
        }
    return 0;
}
static const struct wr_shape STATE =
                                 WR_SHAPE_CHECKED(STATE_FIELDS, struct wr_token, token_ids_check),
                             ATTEMPT =
                                 WR_SHAPE_CHECKED(ATTEMPT_FIELDS, struct wr_token, token_ids_check);
static const struct wr_shape *const TOKEN_SHAPES[] = {&STATE, &ATTEMPT, &ATTEMPT};
static const struct wr_union TOKEN_UNION = {"tokenKind", {KIND_NAMES, 3}, TOKEN_SHAPES, AT(kind)};
static const struct wr_shape TOKEN = {.size = sizeof(struct wr_token), .variants = &TOKEN_UNION};

struct str wr_token_mint(const struct wr_keyring *k, const struct wr_token *t, struct arena *a) {
    struct buf payload, text;
    struct jw w;
    buf_init(&payload, WR_TOKEN_MAX);
    buf_init(&text, WR_TOKEN_MAX);
    jw_init(&w, &payload);
    wr_shape_write(&TOKEN, t, &w);
    struct sha256 sig =
        hmac_sha256(str_n((const char *)k->current, WR_KEY_BYTES), buf_str(&payload));
    buf_addf(&text, "%s.v1.", PREFIXES[t->kind]);
    base64url_encode(&text, buf_str(&payload));
    buf_addc(&text, '.');
    base64url_encode(&text, str_n((const char *)sig.b, SIG_BYTES));
    struct str out =
        buf_failed(&payload) || buf_failed(&text) ? STR_NONE : arena_str(a, buf_str(&text));
    buf_fini(&payload);
    buf_fini(&text);
    return out;
}

/* --- reading --- */

struct token_in {
    const struct wr_keyring *keys;
    const char *parameter;
    struct arena *a;
    struct wr_fault *f;
    struct str prefix, payload, sig; /* parts of the text; then decoded payload */
    int kind;                        /* by the prefix */
};

/* Says what is wrong and what to do, and nothing of the token: messages end in logs and chats. */
static int token_wrong(struct token_in *in, enum wr_code code, const char *what) {
    return wr_fail(in->f, code, in->parameter,
                   "%s: %s; send the token back unchanged, rehydrate with the last stateToken, or "
                   "call resume_session",
                   in->parameter, what);
}

/* Numbers 1 to 3. */
static int token_cut(struct token_in *in, struct str text) {
    struct str version, rest = text;
    size_t dots = 0;
    for (size_t i = 0; i < text.n && text.n <= WR_TOKEN_MAX; i++) dots += text.p[i] == '.';
    if (dots != 3) return token_wrong(in, WR_TOKEN_INVALID_FORMAT, "it has not four parts");
    (void)str_cut(rest, '.', &in->prefix, &rest);
    (void)str_cut(rest, '.', &version, &rest);
    (void)str_cut(rest, '.', &in->payload, &in->sig);
    if (!str_eqc(version, "v1"))
        return token_wrong(in, WR_TOKEN_UNSUPPORTED_VERSION, "its version is not v1");
    in->kind = -1;
    for (int i = 0; i < 3; i++)
        if (str_eqc(in->prefix, PREFIXES[i])) in->kind = i;
    if (in->kind < 0 || in->payload.n == 0 || in->sig.n == 0)
        return token_wrong(in, WR_TOKEN_INVALID_FORMAT, "its kind is unknown, or a part is empty");
    return 0;
}

/* NO_MEMORY; p NULL: it is not strict base64url. */
static int token_decode(struct token_in *in, struct str part, struct str *out) {
    struct buf b;
    buf_init(&b, WR_TOKEN_MAX);
    int rc = base64url_decode(part, &b, NULL);
    *out = rc == 0 ? arena_str(in->a, buf_str(&b)) : STR_NONE;
    buf_fini(&b);
    return rc == WOPR_E_NO_MEMORY || arena_failed(in->a) ? wr_no_memory(in->f) : 0;
}

static int token_version(struct token_in *in) {
    struct str raw = json_get(in->payload, "tokenVersion");
    int64_t v;
    if (raw.p != NULL && json_type_of(raw) == JSON_NUMBER && json_int(raw, &v) && v != 1)
        return token_wrong(in, WR_TOKEN_UNSUPPORTED_VERSION, "its version is not 1");
    return 0;
}

/* Numbers 4 to 9: the payload, which is not believed before the signature is checked. */
static int token_payload(struct token_in *in, struct wr_token *out) {
    const struct json_limits lim = {WR_TOKEN_MAX, 4};
    bool canonical = false;
    int rc = token_decode(in, in->payload, &in->payload);
    if (rc != 0) return rc;
    if (in->payload.p != NULL) rc = json_check(in->payload, &lim, NULL);
    if (rc == WOPR_E_NO_MEMORY) return wr_no_memory(in->f);
    if (in->payload.p == NULL || rc != 0)
        return token_wrong(in, WR_TOKEN_INVALID_FORMAT, "its payload cannot be read");
    rc = token_version(in);
    if (rc != 0) return rc;
    rc = wr_shape_read(&TOKEN, in->payload, in->a, out, NULL);
    if (rc == WOPR_E_NO_MEMORY) return wr_no_memory(in->f);
    if (rc != 0)
        return token_wrong(in, WR_TOKEN_INVALID_FORMAT, "its payload has not the members due");
    rc = wr_is_canonical(in->payload, &canonical, in->f);
    if (rc != 0) return rc;
    if (!canonical) return token_wrong(in, WR_TOKEN_INVALID_FORMAT, "its payload is not canonical");
    /* The prefix is not signed: without this an ack could be used as a checkpoint (WR-108). */
    if (out->kind != in->kind)
        return token_wrong(in, WR_TOKEN_SCOPE_MISMATCH, "its prefix is not that of its kind");
    return 0;
}

/* Numbers 10 and 11. Both keys are always tried, so that the time says nothing. */
static int token_signature(struct token_in *in) {
    struct str sig;
    struct sha256 given, current, previous;
    int rc = token_decode(in, in->sig, &sig);
    if (rc != 0) return rc;
    if (sig.p == NULL || sig.n != SIG_BYTES)
        return token_wrong(in, WR_TOKEN_INVALID_FORMAT, "its signature cannot be read");
    memcpy(given.b, sig.p, SIG_BYTES);
    current = hmac_sha256(str_n((const char *)in->keys->current, WR_KEY_BYTES), in->payload);
    bool good = sha256_eq(&given, &current);
    if (in->keys->has_previous) {
        previous = hmac_sha256(str_n((const char *)in->keys->previous, WR_KEY_BYTES), in->payload);
        good |= sha256_eq(&given, &previous);
    }
    return good ? 0
                : token_wrong(in, WR_TOKEN_BAD_SIGNATURE,
                              "it was not signed by this host, or is "
                              "older than its keys");
}

/* In the order of WR-114, so that the same damaged token gets the same error on every host; whether
 * the step exists is asked later, by who knows the store. */
int wr_token_read(const struct wr_keyring *k, struct str text, enum wr_token_kind want,
                  const char *parameter, struct arena *a, struct wr_token *out,
                  struct wr_fault *f) {
    struct token_in in = {.keys = k, .parameter = parameter, .a = a, .f = f};
    struct wr_token t = {0};
    int rc = token_cut(&in, text);
    if (rc == 0) rc = token_payload(&in, &t);
    if (rc == 0) rc = token_signature(&in);
    if (rc == 0 && t.kind != (int)want) /* number 12 */
        rc = token_wrong(&in, WR_TOKEN_INVALID_FORMAT, "a token of another kind is due here");
    if (rc == 0) *out = t;
    return rc;
}

int wr_token_scope(const struct wr_token *state, const struct wr_token *other,
                   const char *parameter, struct wr_fault *f) {
    if (str_eq(state->session_id, other->session_id) && str_eq(state->run_id, other->run_id) &&
        str_eq(state->node_id, other->node_id))
        return 0;
    return wr_fail(f, WR_TOKEN_SCOPE_MISMATCH, parameter,
                   "%s belongs to another step than stateToken; send the two of one reply",
                   parameter);
}
