/*
 * fuzz_expr.c: properties of the expression language on any bytes (WF-10).
 *  - parsing and evaluation end, whatever the text; refusals are VALIDATION;
 *  - a value is one valid JSON text, and the same every time.
 */
#include "domain/expr_int.h"

enum { FUZZ_BYTES_MAX = 2 * EXPR_BYTES_MAX, ARENA_BYTES = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct str lookup(void *ctx, struct str root, struct arena *a) {
    (void)ctx;
    (void)a;
    if (str_eqc(root, "output"))
        return STR(
            "{\"n\":7,\"s\":\"h\\u00e9\",\"l\":[1,\"x\",{\"k\":[1.5]}],\"t\":true,\"z\":null}");
    if (str_eqc(root, "status")) return STR("\"completed\"");
    if (str_eqc(root, "value")) return STR("-9223372036854775808");
    return STR_NONE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    static const struct expr_scope SCOPE = {.lookup = lookup};
    if (len > FUZZ_BYTES_MAX) return 0;
    struct arena *a = arena_new(ARENA_BYTES);
    struct expr *e = NULL;
    struct str first, second;
    struct wopr_error err;
    ASSERT(a != NULL);
    int rc = expr_parse(str_n((const char *)data, len), a, &e, &err);
    ASSERT(rc == 0 || rc == WOPR_E_VALIDATION);
    if (rc == 0) {
        ASSERT(e->depth <= EXPR_DEPTH_MAX);
        rc = expr_eval(e, &SCOPE, a, &first, &err);
        ASSERT(rc == 0 || rc == WOPR_E_VALIDATION);
        ASSERT(expr_eval(e, &SCOPE, a, &second, &err) == rc);
        if (rc == 0) {
            ASSERT(json_check(first, &JSON_LIMITS_STORED, NULL) == 0);
            ASSERT(str_eq(first, second));
        }
    }
    arena_free(a);
    return 0;
}
