/*
 * fuzz_hook.c: registrations of webhooks, and bodies of deliveries (HOOK-1 to HOOK-10, RUN-44).
 * Input: the body of a registration, a NUL, the tags of a run, a NUL, the payload of an event.
 *  - a registration is refused with VALIDATION and details that are JSON, or it is taken: then its
 *    types and tags, as they are stored, read as themselves, hold nothing twice, and its URL is one
 *    that the guard takes;
 *  - it wants the events of a run exactly if it has no tag, or one that the run has;
 *  - a body is JSON, holds the event as it is rendered elsewhere with its payload, and is what is
 *    signed; the signature is that of a second computation of HMAC, and of no other text.
 */
#include "egress/egress.h"
#include "hooks/message.h"
#include "hooks/wanted.h"
#include "wire/v1/wire_int.h"

enum { FUZZ_BYTES_MAX = 1 << 14, ARENA_BYTES = 64 << 20, BLOCK = 64, NOW_S = 1700000000 };
#define RUN    STR("run_01M7Y5V697M4HYPAF80EVRC9N4")
#define TENANT STR("ten\"ant\\")

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* --- registrations --- */

static struct str text_at(struct str list, size_t i, struct arena *a, size_t *n) {
    struct json_elements l = {.n = 0};
    ASSERT(json_elements(list, a, &l, NULL) == 0);
    *n = l.n;
    if (i >= l.n) return STR_NONE;
    ASSERT(json_type_of(l.v[i]) == JSON_STRING);
    return json_string(l.v[i], a);
}

static void nothing_twice(struct str list, struct arena *a) {
    struct json_elements l = {.n = 0};
    if (list.n == 0) return;
    ASSERT(json_elements(list, a, &l, NULL) == 0 && l.n > 0);
    for (size_t i = 0; i < l.n; i++) l.v[i] = json_string(l.v[i], a);
    for (size_t i = 0; i < l.n; i++)
        for (size_t k = 0; k < i; k++) ASSERT(!str_eq(l.v[i], l.v[k]));
}

static void refused(int rc, const struct wopr_error *err) {
    ASSERT(rc == WOPR_E_VALIDATION && rc == err->code && err->message[0] != '\0');
    ASSERT(err->details[0] == '\0' ||
           json_check(str_c(err->details), &JSON_LIMITS_STORED, NULL) == 0);
}

static void check_wants(struct str tags, struct str run_tags, struct arena *a) {
    bool wants = false, want = tags.n == 0;
    size_t n = 0, of_run = 0;
    struct wopr_error err;
    ASSERT(hook_wants_tags(tags, run_tags, a, &wants, &err) == 0);
    if (tags.n > 0) (void)text_at(tags, 0, a, &n);
    for (size_t i = 0; i < n && !want; i++) {
        struct str mine = text_at(tags, i, a, &n);
        (void)text_at(run_tags, 0, a, &of_run);
        for (size_t k = 0; k < of_run && !want; k++)
            want = str_eq(mine, text_at(run_tags, k, a, &of_run));
    }
    ASSERT(wants == want);
}

/* As stored, and the tags of it in *tags. */
static bool taken(const struct v1_webhook_request *b, struct arena *a, struct str *tags) {
    struct wopr_error err = {0};
    struct str names, again;
    int64_t kinds = 0, kinds_again = 0;
    int rc = hook_events_parse(b->events, a, &kinds, &names, &err);
    if (rc == 0) rc = hook_tags_parse(b->tags, a, tags, &err);
    if (rc == 0 && b->secret.p) rc = hook_secret_check(b->secret, &err);
    if (rc != 0) refused(rc, &err);
    if (rc != 0) return false;
    ASSERT(hook_events_parse(names, a, &kinds_again, &again, &err) == 0);
    ASSERT(kinds == kinds_again && str_eq(names, again));
    ASSERT(tags->n == 0 || (hook_tags_parse(*tags, a, &again, &err) == 0 && str_eq(*tags, again)));
    nothing_twice(names, a);
    nothing_twice(*tags, a);
    return true;
}

static bool is_tags(struct str text, struct arena *a) {
    struct json_elements l = {.n = 0};
    if (json_check(text, &JSON_LIMITS_DEFAULT, NULL) != 0 || json_type_of(text) != JSON_ARRAY ||
        json_elements(text, a, &l, NULL) != 0 || l.n > HOOK_TAGS_MAX)
        return false;
    for (size_t i = 0; i < l.n; i++)
        if (json_type_of(l.v[i]) != JSON_STRING) return false;
    return true;
}

static void check_registration(struct str body, struct str run_tags, struct arena *a) {
    static const struct egress_allow none;
    struct v1_webhook_request b = {.url = STR_NONE};
    struct wopr_error err = {0};
    struct str tags = STR_NONE;
    if (json_check(body, &JSON_LIMITS_DEFAULT, NULL) != 0 || json_type_of(body) != JSON_OBJECT)
        return; /* refused before it is looked at */
    int rc = wire_body_parse(body, &V1_WEBHOOK_REQUEST, a, &b, &err);
    if (rc != 0) {
        refused(rc, &err);
        return;
    }
    if (b.url.p && egress_url_check(b.url, &none, &err) == 0)
        ASSERT(str_eq_nocase(str_n(b.url.p, b.url.n < 6 ? b.url.n : 6), STR("https:")));
    if (taken(&b, a, &tags)) check_wants(tags, is_tags(run_tags, a) ? run_tags : STR("[]"), a);
}

/* --- deliveries --- */

/* RFC 2104 by its definition. */
static void hmac_again(struct str key, struct str text, char hex[65]) {
    struct buf b;
    uint8_t pad[BLOCK] = {0};
    struct sha256 d;
    ASSERT(key.n <= BLOCK);
    memcpy(pad, key.p, key.n);
    buf_init(&b, 1 << 20);
    for (size_t i = 0; i < BLOCK; i++) buf_addc(&b, (char)(pad[i] ^ 0x36));
    buf_adds(&b, text);
    d = sha256_of(buf_str(&b));
    buf_reset(&b);
    for (size_t i = 0; i < BLOCK; i++) buf_addc(&b, (char)(pad[i] ^ 0x5c));
    buf_add(&b, (const char *)d.b, sizeof d.b);
    d = sha256_of(buf_str(&b));
    sha256_hex(&d, hex);
    buf_fini(&b);
}

static void check_signature(struct str message) {
    const struct str secret = STR("an operator's own secret");
    char said[HOOK_SIGNATURE_SIZE], hex[65], other[HOOK_SIGNATURE_SIZE];
    hook_sign(secret, message, said);
    hmac_again(secret, message, hex);
    ASSERT(strncmp(said, "sha256=", 7) == 0 && strcmp(said + 7, hex) == 0);
    hook_sign(secret, str_n(message.p, message.n - 1), other);
    ASSERT(strcmp(said, other) != 0);
}

/* Line ends between tokens are left out, since a frame of a stream has none. */
static void same_value(struct str a, struct str b) {
    struct buf x, y;
    buf_init(&x, 1 << 20);
    buf_init(&y, 1 << 20);
    ASSERT(json_canonical_exact(a, &x, NULL) == 0 && json_canonical_exact(b, &y, NULL) == 0);
    ASSERT(str_eq(buf_str(&x), buf_str(&y)));
    buf_fini(&x);
    buf_fini(&y);
}

static void check_delivery(struct str payload) {
    struct event e = {.seq = 7,
                      .kind = EV_NODE_COMPLETED,
                      .type = STR("node.completed"),
                      .node_id = STR("n\"1"),
                      .causation_seq = 3,
                      .ts_ms = INT64_C(1700000000123),
                      .schema_version = 1,
                      .engine_version = 1,
                      .payload = payload};
    struct buf b, alone;
    size_t body_at = 0;
    buf_init(&b, 1 << 20);
    buf_init(&alone, 1 << 20);
    hook_message(v1_event_render, RUN, TENANT, &e, NOW_S, &b, &body_at);
    v1_event_render(RUN, &e, &alone);
    ASSERT(!buf_failed(&b) && !buf_failed(&alone));
    struct str body = str_n(b.p + body_at, b.len - body_at);
    ASSERT(json_check(body, &JSON_LIMITS_STORED, NULL) == 0);
    ASSERT(str_eq(json_get(body, "event"), buf_str(&alone)));
    same_value(json_get(json_get(body, "event"), "payload"), payload);
    ASSERT(str_starts(buf_str(&b), STR("1700000000.{")) && body_at == strlen("1700000000."));
    check_signature(buf_str(&b));
    buf_fini(&b);
    buf_fini(&alone);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct str body = str_n((const char *)data, len), rest = STR(""), tags = STR("");
    if (len == 0 || len > FUZZ_BYTES_MAX) return 0;
    if (str_cut(body, '\0', &body, &rest) && str_cut(rest, '\0', &tags, &rest)) {
        if (json_check(rest, &JSON_LIMITS_DEFAULT, NULL) == 0 && json_type_of(rest) == JSON_OBJECT)
            check_delivery(rest);
    } else {
        tags = rest;
    }
    struct arena *a = arena_new(ARENA_BYTES);
    ASSERT(a != NULL);
    check_registration(body, tags, a);
    arena_free(a);
    return 0;
}
