/*
 * Fuzz target: any schema against any instance.  The first byte says where the text is cut (in
 * 1/256 of its length): schema before, instance behind. Property: compilation and validation end
 * with a documented code, an issue is written exactly when the instance is refused, and asking
 * twice gives the same answer.
 */
#include "base/mem.h"
#include "codec/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_same(const struct schema *s, struct str instance) {
    struct schema_issue a = {.reason = ""}, b = {.reason = ""};
    int first = schema_validate_text(s, instance, &a);
    int second = schema_validate_text(s, instance, &b);
    ASSERT(first == 0 || first == WOPR_E_VALIDATION || first == WOPR_E_TOO_BIG);
    ASSERT(first == second);
    ASSERT((first == 0) == (a.reason[0] == '\0'));
    ASSERT(strcmp(a.reason, b.reason) == 0 && strcmp(a.instance, b.instance) == 0);
    ASSERT(strcmp(a.keyword, b.keyword) == 0 && utf8_valid(str_c(a.reason)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct json_limits limits = {.bytes_max = 1 << 16, .depth_max = 64};
    struct wopr_error err;
    const struct schema *s = NULL;
    if (size < 3) return 0;
    const char *text = (const char *)data + 1;
    size_t n = size - 1, cut = n * data[0] / 256;
    struct str schema = str_n(text, cut), instance = str_n(text + cut, n - cut);
    if (json_check(schema, &limits, &err) != 0 || json_check(instance, &limits, &err) != 0)
        return 0;
    struct schema_set *set = schema_set_new(cut % 2 == 0);
    if (set == NULL) return 0;
    int rc = schema_set_add(set, STR("https://fuzz.invalid/s"), schema, &err);
    ASSERT(rc == 0 || rc == WOPR_E_VALIDATION);
    if (rc == 0) {
        rc = schema_compile(set, STR("https://fuzz.invalid/s"), &s, &err);
        ASSERT(rc == 0 || rc == WOPR_E_VALIDATION || rc == WOPR_E_NO_MEMORY);
        ASSERT((rc == 0) == (s != NULL));
    }
    if (s != NULL) expect_same(s, instance);
    schema_set_free(set);
    return 0;
}
