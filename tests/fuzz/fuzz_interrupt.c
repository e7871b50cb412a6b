/*
 * fuzz_interrupt.c: a payload of an interrupt and an answer to it, in two lines.  Whatever is
 * accepted stays within bounds, is JSON, and an accepted answer is accepted again (INT-4..33).
 */
#include "base/arena.h"
#include "domain/interrupt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct json_limits LIMITS = {.bytes_max = 65536, .depth_max = 64};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str text = {(const char *)data, size}, payload, value;
    struct arena *a = arena_new(16u << 20);
    struct wopr_error err;
    enum intr_kind kind;
    if (a && str_cut(text, '\n', &payload, &value) && json_check(payload, &LIMITS, &err) == 0 &&
        json_check(value, &LIMITS, &err) == 0 && intr_payload_check(payload, a, &kind, &err) == 0) {
        struct intr_question q = {.payload = payload,
                                  .kind = kind,
                                  .principal = STR("somebody"),
                                  .may_delegate = size % 2,
                                  .now_ms = 1700000000000};
        struct intr_answer ans, again;
        if (intr_answer_check(&q, value, a, &ans, &err) == 0) {
            ASSERT(json_check(ans.value, &JSON_LIMITS_STORED, &err) == 0);
            if (ans.vote.n > 0) ASSERT(json_check(ans.vote, &JSON_LIMITS_STORED, &err) == 0);
            if (json_get(payload, "resumeSchema").n == 0 && kind != INTR_APPROVAL)
                ASSERT(intr_answer_check(&q, ans.value, a, &again, &err) == 0);
        }
    }
    arena_free(a);
    return 0;
}
