/*
 * fuzz_stream_params.c: what chooses a stream: streamMode, bufferMs, Last-Event-ID (SSE-4, SSE-22,
 * SSE-28, SSE-31).
 *  - a mode list is taken exactly when every part is a mode and "values" stands alone;
 *  - a number is taken exactly when it is decimal digits within its range;
 *  - a cursor is taken exactly when it is digits, or the id of an event of this run;
 *  - a refusal has a code, a message and details that are JSON.
 */
#include "wire/common/accept.h"
#include "wire/v1/wire_int.h"

enum { FUZZ_BYTES_MAX = 512 };
#define RUN_ID     STR("run_01ARZ3NDEKTSV4RRFFQ69G5FAV")
#define CURSOR_MAX INT64_C(9007199254740991)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_refusal(int rc, int code, const struct wopr_error *err) {
    if (rc == 0) return;
    ASSERT(rc == code && err->code == code && err->message[0] != '\0');
    ASSERT(json_check(str_c(err->details), &JSON_LIMITS_DEFAULT, NULL) == 0);
}

static bool mode_bit(struct str name, unsigned *bits) {
    static const char *const names[] = {"updates", "messages", "debug", "values"};
    for (unsigned i = 0; i < 4; i++)
        if (str_eqc(name, names[i])) return *bits |= 1u << i, true;
    return false;
}

static void check_mode(struct str text) {
    struct v1_mode mode;
    struct wopr_error err = {0};
    struct str part, rest = text;
    unsigned bits = 0;
    bool good = true;
    while (str_cut(rest, ',', &part, &rest)) good = mode_bit(part, &bits) && good;
    good = mode_bit(rest, &bits) && good;
    good = good && ((bits & 8) == 0 || bits == 8);
    int rc = v1_mode_parse(text, &mode, &err);
    ASSERT((rc == 0) == good);
    check_refusal(rc, WOPR_E_STREAM_MODE, &err);
    if (rc == 0) ASSERT(mode.values == (bits == 8) && mode.mask == (bits & 7));
}

static void check_number(struct str text, int64_t min, int64_t max) {
    struct http_param query = {STR("bufferMs"), text};
    struct http_call call = {.query = &query, .query_nr = 1};
    struct wopr_error err = {0};
    int64_t got = -7, want = 0;
    bool good = text.n > 0;
    for (size_t i = 0; good && i < text.n; i++) {
        good = text.p[i] >= '0' && text.p[i] <= '9';
        if (good && want <= max)
            want = want * 10 + (text.p[i] - '0'); /* max is far from overflow */
    }
    good = good && want >= min && want <= max;
    int rc = wire_int_param(&call, "bufferMs", min, max, 0, &got, &err);
    ASSERT((rc == 0) == good && got == (good ? want : -7));
    check_refusal(rc, WOPR_E_VALIDATION, &err);
}

static void check_cursor(struct str text, bool is_header) {
    struct wopr_error err = {0};
    char id[EVENT_ID_SIZE];
    int64_t seq = -7, event = -7;
    size_t digits = 0;
    while (digits < text.n && text.p[digits] >= '0' && text.p[digits] <= '9') digits++;
    int rc = v1_cursor_parse(RUN_ID, INT64_MAX, text, is_header, &seq, &err);
    check_refusal(rc, WOPR_E_VALIDATION, &err);
    if (text.n > 0 && digits == text.n) ASSERT(rc == 0 && seq >= 0 && seq <= CURSOR_MAX);
    else
        ASSERT((rc == 0) ==
               (text.n > 0 && event_id_parse(RUN_ID, text, &event) && event < INT64_MAX));
    if (rc != 0 || event < 0) return;
    ASSERT(seq == event);
    event_id_format(RUN_ID, event, id);
    ASSERT(str_eqc(text, id)); /* one spelling */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len < 1 || len > FUZZ_BYTES_MAX) return 0;
    struct str text = str_n((const char *)data + 1, len - 1);
    check_mode(text);
    check_number(text, 0, V1_BUFFER_MS_MAX);
    check_number(text, 1, 60);
    check_cursor(text, data[0] & 1);
    (void)wire_accept_json(text);
    (void)wire_etag_matches(text, STR("\"abc\""));
    return 0;
}
