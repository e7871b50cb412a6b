/*
 * test_hostile.c: modules that no compiler writes (support/made_module.h): out of every bound that
 * a reader, a linker or an interpreter has, and pointers out of the memory from every export.
 */
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/sanitized.h"
#include "sandbox/sandbox.h"
#include "support/made_module.h"

#include <criterion/criterion.h>

#define PACK "vendor.test.made"
#define MESSAGE                                                                                    \
    "{\"request\":{\"abiVersion\":1,\"inputs\":{}},\"variables\":{},\"channels\":{},\"closed\":[]" \
    ",\"seed\":\"0000000000000000000000000000000000000000000000000000000000000000\",\"nowMs\":0,"  \
    "\"keep\":false,\"calls\":[]}"
#define WAIT_S 60
/* An instrumented worker has no bound of addresses (jail.c): its calls end by their number. */
#if SANITIZED_ADDRESS || SANITIZED_THREAD
enum { LOCALS = 100, BOUND_OF_ADDRESSES = 0 };
#else
enum { LOCALS = 49000, BOUND_OF_ADDRESSES = 1 };
#endif

/* What becomes of loading the module (node empty), or of its node. */
static int made_ask(struct sandbox *s, const struct made *m, const char *node, struct buf *report) {
    struct wopr_error err = {0};
    struct buf bytes;
    char digest[SANDBOX_DIGEST + 1];
    buf_init(&bytes, 64u << 20);
    made_write(m, &bytes);
    cr_assert_not(buf_failed(&bytes));
    int rc = sandbox_keep(s, buf_str(&bytes), digest, &err);
    buf_fini(&bytes);
    if (rc != 0) return rc;
    const struct sandbox_request r = {
        .tenant = STR("t"), .module = str_c(digest), .node = str_c(node), .message = STR(MESSAGE)};
    buf_reset(report);
    rc = sandbox_ask(s, &r, report, NULL, &err);
    buf_addc(report, '\0');
    sandbox_drop(s, digest);
    return rc;
}

static struct sandbox *box_new(uint64_t memory_max) {
    const struct sandbox_config cfg = {
        .program = WOPR_PROGRAM, .workers = 1, .memory_max = memory_max};
    struct sandbox *s = NULL;
    cr_assert_eq(sandbox_new(&cfg, &s, NULL), 0);
    return s;
}

static uint64_t workers_started(struct sandbox *s) {
    struct sandbox_stats st;
    sandbox_stats(s, &st);
    return st.started;
}

Test(hostile_modules, what_is_made_here_is_a_module) {
    const struct made good = {.pack = PACK};
    struct sandbox *s = box_new(0);
    struct buf report;
    buf_init(&report, 1 << 20);
    cr_assert_eq(made_ask(s, &good, "", &report), 0);
    cr_expect_not_null(strstr(report.p, "\"types\":[\"" PACK ".it\"]"), "%s", report.p);
    cr_assert_eq(made_ask(s, &good, PACK ".it", &report), 0);
    cr_expect_not_null(strstr(report.p, "\"response\":" MADE_RESPONSE_TEXT), "%s", report.p);
    buf_fini(&report);
    sandbox_free(s);
}

/* WASM-9: whichever export it is that points there. */
Test(hostile_modules, a_pointer_out_of_the_memory_of_any_export_is_a_trap) {
    static const struct {
        enum made_wrong wrong;
        uint64_t value;
        const char *node, *code;
    } CASES[] = {{MADE_NAME, 0xfffffff0u | 16ull << 32, "", "pack_load_failure"},
                 {MADE_NAME, 131064u | 16ull << 32, "", "pack_load_failure"},
                 {MADE_NAME, 0xffffffffull << 32, "", "pack_load_failure"},
                 {MADE_NAME, 16u, "", "pack_load_failure"}, /* and none at all */
                 {MADE_NAME, 16u | 70000ull << 32, "", "pack_load_failure"},
                 {MADE_ID, 0xffffffffu | 0xffffffffull << 32, "", "pack_load_failure"},
                 {MADE_ID, 131072u | 1ull << 32, "", "pack_load_failure"},
                 {MADE_ID, 0x7fffffffu | 0x80000001ull << 32, "", "pack_load_failure"},
                 {MADE_ALLOC, 0, PACK ".it", "wasm_trap"},
                 {MADE_ALLOC, 0xffffffffu, PACK ".it", "wasm_trap"},
                 {MADE_ALLOC, 131070u, PACK ".it", "wasm_trap"},
                 {MADE_RESPONSE, 0xffffffffu | 1ull << 32, PACK ".it", "wasm_trap"},
                 {MADE_RESPONSE, 131072u | 1ull << 32, PACK ".it", "wasm_trap"},
                 {MADE_RESPONSE, 1u | 0xffffffffull << 32, PACK ".it", "wasm_trap"},
                 {MADE_RESPONSE, 1u | (1ull << 30) << 32, PACK ".it", "wasm_trap"}, /* 1 GiB */
                 {MADE_RESPONSE, 0, PACK ".it", "validation_error"}};
    struct sandbox *s = box_new(0);
    struct buf report;
    buf_init(&report, 1 << 20);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const struct made m = {.pack = PACK, .wrong = CASES[i].wrong, .value = CASES[i].value};
        cr_assert_eq(made_ask(s, &m, CASES[i].node, &report), 0, "%zu", i);
        cr_expect_not_null(strstr(report.p, CASES[i].code), "%zu: %s", i, report.p);
    }
    cr_expect_eq(workers_started(s), 1u, "none of them harmed the worker");
    buf_fini(&report);
    sandbox_free(s);
}

/* What costs a reader much is refused, and in bounded time. */
Test(hostile_modules, a_module_beyond_the_bounds_of_a_reader_is_refused) {
    static const struct {
        struct made m;
        const char *why;
    } CASES[] = {{{.pack = PACK, .funcs = 1000000}, "more than 100000 functions"},
                 {{.pack = PACK, .tables = 17, .elements = 1}, "more than 16 tables"},
                 {{.pack = PACK, .tables = 1, .elements = 0xffffffffu}, "100000 elements"},
                 {{.pack = PACK, .tables = 16, .elements = 100001}, "100000 elements"},
                 {{.pack = PACK, .locals = 50001}, "50000 locals"},
                 {{.pack = PACK, .locals = 0xffffffffu}, "local"},
                 {{.pack = PACK, .memory = 2049}, "more memory than it may have"},
                 {{.pack = PACK, .memory = 65537}, "memory"}};
    struct sandbox *s = box_new(0);
    struct buf report;
    buf_init(&report, 1 << 20);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        uint64_t from = clock_mono_ms();
        cr_assert_eq(made_ask(s, &CASES[i].m, "", &report), 0, "%zu", i);
        cr_expect_not_null(strstr(report.p, "pack_load_failure"), "%zu: %s", i, report.p);
        cr_expect_not_null(strstr(report.p, CASES[i].why), "%zu: %s", i, report.p);
        cr_expect_leq(clock_mono_ms() - from, WAIT_S * 1000u, "%zu", i);
    }
    const struct made large = {.pack = PACK, .funcs = 5u << 20};
    cr_expect_eq(made_ask(s, &large, "", &report), WOPR_E_TOO_BIG, "16 MiB are the most");
    const struct made all = {.pack = PACK, .funcs = 99000, .tables = 16, .elements = 100000};
    cr_assert_eq(made_ask(s, &all, PACK ".it", &report), 0);
    cr_expect_not_null(strstr(report.p, MADE_RESPONSE_TEXT), "within them: %s", report.p);
    buf_fini(&report);
    sandbox_free(s);
}

/* Frames of 50,000 locals each, one in another: memory of the interpreter and not of the module. */
Test(hostile_modules, calls_that_eat_the_memory_of_the_worker_end_it_alone) { /* WASM-13, PACK-62 */
    const struct made good = {.pack = PACK}, deep = {.pack = PACK, .deep = true, .locals = LOCALS},
                      start = {.pack = PACK, .deep_start = true, .locals = LOCALS},
                      flat = {.pack = PACK, .deep = true};
    struct sandbox *s = box_new(8u << 20);
    struct buf report;
    buf_init(&report, 1 << 20);
    cr_assert_eq(made_ask(s, &flat, PACK ".it", &report), 0);
    cr_expect_not_null(strstr(report.p, "wasm_trap"), "%s", report.p);
    int rc = made_ask(s, &deep, PACK ".it", &report);
    cr_expect(rc == 0 && strstr(report.p, "\"code\":\"wasm_trap\""), "%d %s", rc, report.p);
    cr_expect(!BOUND_OF_ADDRESSES || strstr(report.p, "more memory than its process has"), "%s",
              report.p);
    rc = made_ask(s, &start, "", &report);
    cr_expect(rc == 0 && strstr(report.p, "\"outcome\":\"failed\""), "%d %s", rc, report.p);
    cr_assert_eq(made_ask(s, &good, PACK ".it", &report), 0);
    cr_expect_not_null(strstr(report.p, MADE_RESPONSE_TEXT), "the next one is served: %s",
                       report.p);
    buf_fini(&report);
    sandbox_free(s);
}
