/* fixtures_gating.c: public scenario fixtures-gating: what a list of fixtures gates.  The public
 * file tests its own harness and no host; here the gates of this suite are judged by lists made up
 * for it, and then by the list of the host. */
#include "suite.h"

SCENARIO(fixtures_gating);

Test(fixtures_gating, offline_a_gate_opens_for_the_very_name_alone) {
    static const struct {
        const char *list, *id;
        bool open;
    } CASES[] = {{"[\"conformance-noop\"]", "conformance-noop", true},
                 {"[\"a\",\"conformance-noop\",\"b\"]", "conformance-noop", true},
                 {"[\"conformance\\u002dnoop\"]", "conformance-noop", true},
                 {"[\"conformance-noop-2\"]", "conformance-noop", false},
                 {"[\"conformance-noo\"]", "conformance-noop", false},
                 {"[\"Conformance-Noop\"]", "conformance-noop", false},
                 {"[\" conformance-noop\"]", "conformance-noop", false},
                 {"[[\"conformance-noop\"]]", "conformance-noop", false},
                 {"[{\"id\":\"conformance-noop\"}]", "conformance-noop", false},
                 {"[true,null,1]", "conformance-noop", false},
                 {"[\"\"]", "", true},
                 {"[]", "conformance-noop", false}};
    for (size_t i = 0; i < COUNT(CASES); i++)
        cr_expect_eq(list_has(str_c(CASES[i].list), CASES[i].id), CASES[i].open, "%s",
                     CASES[i].list);
}

Test(fixtures_gating, offline_what_is_no_list_opens_nothing) {
    static const char *const LISTS[] = {"\"conformance-noop\"", "{\"conformance-noop\":true}",
                                        "null", "true", "1"};
    for (size_t i = 0; i < COUNT(LISTS); i++)
        cr_expect_not(list_has(str_c(LISTS[i]), "conformance-noop"), "%s", LISTS[i]);
    cr_expect_not(list_has(STR_NONE, "conformance-noop"), "no list at all");
}

Test(fixtures_gating, the_host_opens_the_gates_of_its_list_and_no_other) {
    if (at(discovery(), "fixtures").p == NULL) cr_skip("fixtures is not advertised");
    struct json_elements l = list_at(discovery(), "fixtures");
    if (l.n == 0) cr_skip("the list of fixtures is empty");
    for (size_t i = 0; i < l.n; i++) {
        const char *id = arena_cstr(test_arena(), json_string(l.v[i], test_arena()));
        cr_expect(has_fixture(id), "%s", id);
        cr_expect_not(has_fixture(fmt("%s-x", id)), "%s", id);
        /* what the gate lets through is really there */
        cr_expect_eq(ask("GET", fmt("/v1/workflows/%s", id), NULL, NULL).status, 200, "%s", id);
    }
}
