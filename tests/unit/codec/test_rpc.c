/*
 * test_rpc.c: the answer to one JSON-RPC request out of a body, however it is cut.
 */
#include "base/fault.h"
#include "codec/rpc.h"

#include <criterion/criterion.h>

static struct arena *a;
static void up(void) { a = arena_new(1 << 20); }
static void down(void) { arena_free(a); }
TestSuite(rpc, .init = up, .fini = down);

#define GOOD  "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"x\":1}}"
#define OTHER "{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}}"
#define NOTE  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}"
#define ASKS  "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}"

/* The body that is kept of text in pieces of at most step bytes; the return of the last piece. */
static int kept(struct str text, size_t step, size_t max, struct buf *out) {
    struct rpc_reader r;
    int rc = 0;
    rpc_reader_init(&r, 7, max);
    while (rc == 0 && text.n > 0) {
        size_t n = step < text.n ? step : text.n;
        rc = rpc_reader_take(&r, str_n(text.p, n));
        text = str_n(text.p + n, text.n - n);
    }
    buf_adds(out, rpc_reader_body(&r));
    rpc_reader_fini(&r);
    return rc;
}

static void keeps(const char *text, int rc, const char *want) {
    for (size_t step = 1; step <= strlen(text); step++) {
        struct buf b;
        buf_init(&b, 1 << 16);
        cr_expect_eq(kept(str_c(text), step, 1 << 12, &b), rc, "%s by %zu", text, step);
        cr_expect(str_eqc(buf_str(&b), want), "%s by %zu: " STR_FMT, text, step,
                  STR_ARG(buf_str(&b)));
        buf_fini(&b);
    }
}

Test(rpc, of_a_stream_the_response_is_kept_and_nothing_after_it_waited_for) {
    keeps("data: " GOOD "\n\n", 1, GOOD);
    keeps("\r\n: hello\n\nevent: message\r\ndata: " NOTE "\r\n\r\ndata: " GOOD "\n\ndata: more", 1,
          GOOD);
    keeps("data: " OTHER "\n\ndata: " ASKS "\n\ndata: no json\n\ndata: [" NOTE "," GOOD "]\n\n", 1,
          GOOD);
    keeps("data: " GOOD "\n", 0, ""); /* cut before its end */
    keeps("data: " OTHER "\n\n", 0, "");
    keeps("id: 1\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":7,\"error\":{\"code\":1}}\n\n", 1,
          "{\"jsonrpc\":\"2.0\",\n\"id\":7,\"error\":{\"code\":1}}");
}

Test(rpc, a_body_that_is_no_stream_is_kept_whole) {
    keeps(GOOD, 0, GOOD);
    keeps(" \n" GOOD "\n", 0, GOOD "\n");
    keeps("[" NOTE "]", 0, "[" NOTE "]");
    keeps("<html>\n\ndata: " GOOD "\n\n", 0, "<html>\n\ndata: " GOOD "\n\n");
}

Test(rpc, what_is_kept_is_bounded_and_what_is_passed_over_costs_nothing) {
    for (size_t step = 1; step < 5000; step += 1777) {
        struct buf b, text;
        buf_init(&b, 1 << 20);
        buf_init(&text, 1 << 22);
        for (size_t i = 0; i < 5000; i++) buf_addz(&text, "data: " NOTE "\n\n");
        buf_addz(&text, "data: " GOOD "\n\n");
        cr_expect_eq(kept(buf_str(&text), step, 200, &b), 1);
        cr_expect_eq(kept(buf_str(&text), step, sizeof NOTE - 2, &b), WOPR_E_TOO_BIG);
        cr_expect_eq(kept(STR(GOOD), step, sizeof GOOD - 1, &b), 0);
        cr_expect_eq(kept(STR(GOOD), step, sizeof GOOD - 2, &b), WOPR_E_TOO_BIG);
        buf_fini(&b);
        buf_fini(&text);
    }
}

Test(rpc, each_allocation_may_fail) {
    struct str text = STR("data: " NOTE "\n\ndata: [" GOOD "]\n\n");
    for (unsigned n = 1; fault_arm(1u << FAULT_MALLOC, n); n++) {
        struct rpc_reader r;
        rpc_reader_init(&r, 7, 1 << 12);
        int rc = rpc_reader_take(&r, text);
        cr_assert(fault_fired() ? rc == WOPR_E_NO_MEMORY : rc == 1);
        rpc_reader_fini(&r);
    }
    fault_disarm();
}

Test(rpc, a_response_is_to_the_request_that_was_sent) {
    static const char *const NONE[] = {
        "",
        "x",
        "{",
        "7",
        "null",
        "[]",
        "{}",
        OTHER,
        NOTE,
        ASKS,
        "{\"id\":7,\"result\":1}",
        "{\"jsonrpc\":\"1.0\",\"id\":7,\"result\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":7}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":1,\"error\":{\"code\":1}}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":7}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"id\":7,\"result\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"\xff\"}"};
    struct rpc_response r;
    for (size_t i = 0; i < sizeof NONE / sizeof *NONE; i++)
        cr_expect_not_null(rpc_response_read(str_c(NONE[i]), 7, a, &r), "%s", NONE[i]);
    cr_assert_null(rpc_response_read(STR(" " GOOD "\n"), 7, a, &r));
    cr_expect(str_eqc(r.result, "{\"x\":1}"));
    cr_assert_null(rpc_response_read(STR("[" OTHER "," GOOD "]"), 7, a, &r));
    cr_expect(str_eqc(r.result, "{\"x\":1}"));
    cr_assert_null(
        rpc_response_read(STR("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":null}"), 7, a, &r));
    cr_expect(str_eqc(r.result, "null"));
    cr_assert_null(
        rpc_response_read(STR("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,"
                              "\"message\":\"m\\\"\",\"data\":[1]}}"),
                          7, a, &r));
    cr_expect(r.result.n == 0 && r.code == -32700 && str_eqc(r.message, "m\"") &&
              str_eqc(r.data, "[1]"));
}
