/* test_cost.c: what passes the list of cost attributes, and sums (OBS-13, OBS-15, NODE-64). */
#include "codec/jobj.h"
#include "domain/cost.h"
#include "domain/plan.h"

#include <criterion/criterion.h>

static struct arena *a;
static void up(void) { a = arena_new(1u << 20); }
static void down(void) { arena_free(a); }
TestSuite(cost, .init = up, .fini = down);

Test(cost, six_attributes_pass_and_nothing_else /* OBS-13 */) {
    static const struct {
        const char *record, *kept; /* NULL: nothing */
    } CASES[] = {
        {"{}", NULL},
        {"[]", NULL},
        {"7", NULL},
        {"{\"openwop.cost.evil\":1,\"usd\":3}", NULL},
        {"{\"openwop.cost.usd\":0.00123}", "{\"openwop.cost.usd\":0.00123}"},
        {"{\"openwop.cost.usd\":0}", "{\"openwop.cost.usd\":0}"},
        {"{\"openwop.cost.usd\":-1}", NULL},
        {"{\"openwop.cost.usd\":1e300}", NULL},
        {"{\"openwop.cost.usd\":\"1\"}", NULL},
        {"{\"openwop.cost.tokens.input\":1.9}",
         "{\"openwop.cost.tokens.input\":1,\"openwop.cost.tokens.output\":0}"},
        {"{\"openwop.cost.tokens.output\":-1}", NULL},
        {"{\"openwop.cost.provider\":\"p\",\"openwop.cost.model\":7}",
         "{\"openwop.cost.provider\":\"p\"}"},
        {"{\"openwop.cost.provider\":\"\"}", NULL},
        {"{\"openwop.cost.duration_ms\":12,\"openwop.cost.leaked_token\":\"sk\"}",
         "{\"openwop.cost.duration_ms\":12}"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct str got = cost_sanitize(str_c(CASES[i].record), a);
        cr_expect(CASES[i].kept ? str_eqc(got, CASES[i].kept) : got.n == 0, "%s: " STR_FMT,
                  CASES[i].record, STR_ARG(got));
        if (got.n > 0) cr_expect(str_eq(cost_sanitize(got, a), got), "twice is once");
    }
}

Test(cost, sums_are_exact_in_any_order_and_never_overflow /* OBS-15 */) {
    struct cost sum = {0}, back = {0}, c, large = {.known = true, .priced = true};
    char text[COST_USD_SIZE];
    static const char *const USD[] = {"0.1", "0.2", "0.000000000001", "1234.5"};
    for (size_t i = 0; i < 4; i++) {
        struct str r = arena_printf(a, "{\"openwop.cost.usd\":%s}", USD[i]);
        cost_read(r, a, &c);
        cost_add(&sum, &c);
        cost_read(arena_printf(a, "{\"openwop.cost.usd\":%s}", USD[3 - i]), a, &c);
        cost_add(&back, &c);
    }
    cost_usd_format(sum.usd_pico, text);
    cr_expect_str_eq(text, "1234.800000000001");
    cr_expect_eq(sum.usd_pico, back.usd_pico);
    large.usd_pico = large.input = INT64_MAX;
    for (int i = 0; i < 3; i++) cost_add(&sum, &large);
    cr_expect(sum.usd_pico > 0 && sum.input == INT64_MAX);
    cr_expect_eq(cost_text(&(struct cost){0}, a).n, 0u);
}

Test(cost, only_the_first_member_of_a_payload_is_a_cost) {
    struct str record = STR("{\"openwop.cost.usd\":1}");
    struct str paid = pay_node_cost(a, STR("n"), STR("{}"), 3, record);
    struct str forged =
        pay_node_cost(a, STR("n"), STR("{\"openwop-cost\":{\"openwop.cost.usd\":9}}"), 3, STR_NONE);
    cr_expect(str_eq(cost_of(paid), record), STR_FMT, STR_ARG(paid));
    cr_expect_eq(cost_of(forged).n, 0u, "outputs of a node are no cost");
}
