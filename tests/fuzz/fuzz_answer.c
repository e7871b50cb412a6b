/*
 * fuzz_answer.c: answers of the outside on their way through the invocation log (STORE-42).  Input:
 * a status, the length of the content type, the content type, the body.
 *  - what was answered is what an executor reads: the same status, type (if it is UTF-8) and body,
 *    as text or as base64, without the secret;
 *  - any other checked text is read without harm.
 */
#include "codec/bytes.h"
#include "codec/echo.h"
#include "codec/json.h"
#include "engine/answer.h"

enum { FUZZ_BYTES_MAX = 64 * 1024, ARENA_BYTES = 4 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_body(const struct node_answer *got, struct str body) {
    struct buf clear;
    if (!got->body_is_base64) {
        ASSERT(utf8_valid(body) && str_eq(got->body, body));
        return;
    }
    buf_init(&clear, FUZZ_BYTES_MAX);
    ASSERT(base64_decode(got->body, &clear, NULL) == 0 && str_eq(buf_str(&clear), body));
    buf_fini(&clear);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len < 3 || len > FUZZ_BYTES_MAX) return 0;
    struct arena *a = arena_new(ARENA_BYTES);
    struct node_answer got = {0};
    struct egress_response r = {.status = 100 + (data[0] << 8 | data[1]) % 500};
    size_t type = data[2] < len - 3 ? data[2] : len - 3;
    const char *text = (const char *)data + 3;
    r.content_type = str_n(text, type);
    r.body = str_n(text + type, len - 3 - type);
    struct str secret = STR("canary");
    struct buf b, type_left, body_left;
    ASSERT(a != NULL);
    buf_init(&b, 1 << 20);
    buf_init(&type_left, 1 << 20);
    buf_init(&body_left, 1 << 20);
    ASSERT(echo_mask(r.content_type, secret, true, &type_left) == 0);
    ASSERT(echo_mask(r.body, secret, true, &body_left) == 0);
    outcome_render(&r, secret, 7, &b);
    ASSERT(!buf_failed(&b) && json_check(buf_str(&b), &JSON_LIMITS_STORED, NULL) == 0);
    outcome_parse(buf_str(&b), a, &got);
    ASSERT(got.status == r.status && got.error_code.n == 0);
    ASSERT(!utf8_valid(buf_str(&type_left)) || str_eq(got.content_type, buf_str(&type_left)));
    check_body(&got, buf_str(&body_left));
    if (json_check(r.body, &JSON_LIMITS_STORED, NULL) == 0) {
        struct node_answer any = {0};
        outcome_parse(r.body, a, &any);
    }
    buf_fini(&b);
    buf_fini(&type_left);
    buf_fini(&body_left);
    arena_free(a);
    return 0;
}
