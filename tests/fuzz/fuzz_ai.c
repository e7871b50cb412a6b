/*
 * fuzz_ai.c: answers of models out of any bytes, in both wire styles.
 *  - however a stream is cut into pieces, the same text is passed on and the same answer recorded;
 *  - what is recorded reads back, and its text is what was passed on;
 *  - a whole answer is read, or refused with a reason, twice the same.
 */
#define _GNU_SOURCE /* memmem */
#include "nodes/ai.h"

enum { FUZZ_BYTES_MAX = 1 << 14, ARENA_BYTES = 1 << 22 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct result {
    struct buf text, body;
    const char *code;
    bool whole;
};

static void stream(const struct node_stream_ops *ops, int status, struct str secret, struct str in,
                   uint32_t cuts, struct result *out) {
    const char *message;
    void *s = ops->open(secret);
    int rc = 0;
    ASSERT(s != NULL);
    out->code = NULL;
    buf_init(&out->text, 1 << 20);
    buf_init(&out->body, 1 << 20);
    while (rc == 0 && in.n > 0) {
        cuts = cuts * 1664525u + (cuts ? 1013904223u : 0);
        size_t n = cuts ? 1 + (cuts >> 16) % 33 : in.n;
        if (n > in.n) n = in.n;
        rc = ops->take(s, status, str_n(in.p, n), &out->text);
        in = str_n(in.p + n, in.n - n);
    }
    out->whole = ops->end(s, &out->body, &out->code, &message);
    ASSERT(out->whole || (out->code && *out->code && message));
    ops->free(s);
}

static void recorded_look(const struct result *r) {
    struct arena *a = arena_new(ARENA_BYTES);
    struct ai_answer *ans = a ? ARENA_NEW(a, struct ai_answer) : NULL;
    struct str body = buf_str(&r->body);
    ASSERT(ans != NULL);
    if (r->text.len > 0 && r->whole) {
        ASSERT(json_check(body, &JSON_LIMITS_STORED, NULL) == 0 && ai_is_recorded(body));
        ASSERT(ai_recorded_read(body, a, ans) == NULL);
        ASSERT(str_starts(ans->text, buf_str(&r->text))); /* what is held back may follow */
    }
    arena_free(a);
}

/* The credential is in no text that goes on (OBS-75). */
static void secret_look(struct str secret, const struct buf *text) {
    if (secret.n == 0 || text->len < secret.n) return;
    ASSERT(memmem(text->p, text->len, secret.p, secret.n) == NULL);
}

static void answer_look(const struct ai_style *style, struct str body) {
    struct arena *a = arena_new(ARENA_BYTES);
    struct ai_answer *one = a ? ARENA_NEW(a, struct ai_answer) : NULL;
    struct ai_answer *two = one ? ARENA_NEW(a, struct ai_answer) : NULL;
    ASSERT(two != NULL);
    const char *why = style->read(body, a, one), *again = style->read(body, a, two);
    ASSERT((why == NULL) == (again == NULL));
    ASSERT(why || (str_eq(one->text, two->text) && one->calls_nr == two->calls_nr));
    ASSERT(one->usage.input >= 0 && one->usage.output >= 0);
    arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len < 6 || len > FUZZ_BYTES_MAX) return 0;
    const struct ai_style *style = data[0] & 1 ? &AI_ANTHROPIC : &AI_OPENAI;
    int status = data[0] & 2 ? 429 : 200;
    uint32_t cuts;
    struct result whole, cut;
    memcpy(&cuts, data + 1, sizeof cuts);
    struct str in = str_n((const char *)data + 5, len - 5);
    struct str secret = data[0] & 4 ? STR("abaab") : data[0] & 8 ? STR("HI") : STR_NONE;
    stream(style->stream, status, secret, in, 0, &whole);
    stream(style->stream, status, secret, in, cuts | 1u, &cut);
    secret_look(secret, &whole.text);
    secret_look(secret, &cut.text);
    ASSERT(whole.whole == cut.whole && str_eq(buf_str(&whole.text), buf_str(&cut.text)));
    ASSERT(str_eq(buf_str(&whole.body), buf_str(&cut.body)));
    if (status == 200) recorded_look(&whole);
    if (json_check(in, &JSON_LIMITS_DEFAULT, NULL) == 0) answer_look(style, in);
    buf_fini(&whole.text);
    buf_fini(&whole.body);
    buf_fini(&cut.text);
    buf_fini(&cut.body);
    return 0;
}
