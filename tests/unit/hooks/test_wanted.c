/*
 * test_wanted.c: what a registration may ask for, and which events match it (HOOK-1 to HOOK-7).
 */
#include "hooks/wanted.h"

#include "base/mem.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct arena *a;
static struct wopr_error err;
static void up(void) { a = arena_new(8u << 20); }
static void down(void) { arena_free(a); }
TestSuite(hook_wanted, .init = up, .fini = down);

static bool wants_tags(struct str wanted, struct str has) {
    bool wants = false;
    cr_assert_eq(hook_wants_tags(wanted, has, a, &wants, &err), 0, "%s", err.message);
    return wants;
}

static int64_t bit(enum ev_kind k) { return (int64_t)(UINT64_C(1) << (unsigned)k); }

Test(hook_wanted, every_event_type_of_the_protocol_may_be_asked_for) {
    for (int k = 0; k < EV_NR; k++) {
        int64_t kinds = 0;
        struct str names;
        char raw[128];
        (void)snprintf(raw, sizeof raw, "[\"%s\"]", event_name((enum ev_kind)k));
        cr_assert_eq(hook_events_parse(str_c(raw), a, &kinds, &names, &err), 0, "%s", err.message);
        cr_expect_eq(kinds, bit((enum ev_kind)k));
        const struct event e = {.kind = (enum ev_kind)k};
        cr_expect(hook_wants_kind(kinds, &e));
        cr_expect_not(hook_wants_kind((int64_t) ~(uint64_t)kinds, &e));
    }
    cr_expect_lt(EV_NR, 64, "a set of kinds is one number");
}

Test(hook_wanted, repeated_names_are_one_and_vendors_names_match_nothing /* HOOK-4 */) {
    int64_t kinds = 0;
    struct str names;
    cr_assert_eq(hook_events_parse(STR("[\"run.failed\",\"x-mine\",\"run.failed\",\"vendor.a.b\"]"),
                                   a, &kinds, &names, &err),
                 0);
    cr_expect_eq(kinds, bit(EV_RUN_FAILED));
    cr_expect(str_eq(names, STR("[\"run.failed\",\"x-mine\",\"vendor.a.b\"]")));
}

Test(hook_wanted, what_is_wrong_with_events_is_said /* HOOK-4 */) {
    static const char *const WRONG[] = {
        "[]", "{}", "\"run.failed\"", "[1]", "[\"run.failed\",null]", "[\"run.nope\"]", "[\"\"]"};
    int64_t kinds;
    struct str names;
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        cr_expect_eq(hook_events_parse(str_c(WRONG[i]), a, &kinds, &names, &err), WOPR_E_VALIDATION,
                     "%s", WRONG[i]);
        cr_expect_not_null(strstr(err.message, "events"));
    }
    cr_expect_eq(hook_events_parse(STR("[\"run.failed\",\"run.nope\"]"), a, &kinds, &names, &err),
                 WOPR_E_VALIDATION);
    cr_expect_not_null(strstr(err.details, "\"unknown\":[\"run.nope\"]"), "%s", err.details);
}

Test(hook_wanted, tags_match_when_one_is_the_same /* HOOK-7 */) {
    struct str tags;
    cr_assert_eq(hook_tags_parse(STR("[\"a\",\"\\u00e9\",\"a\"]"), a, &tags, &err), 0);
    cr_expect(wants_tags(tags, STR("[\"b\",\"\xc3\xa9\"]")), "by characters");
    cr_expect(wants_tags(tags, STR("[\"a\"]")));
    cr_expect_not(wants_tags(tags, STR("[\"b\"]")));
    cr_expect_not(wants_tags(tags, STR_NONE), "a run without tags");
    cr_assert_eq(hook_tags_parse(STR_NONE, a, &tags, &err), 0);
    cr_expect(wants_tags(tags, STR_NONE), "no filter");
    cr_assert_eq(hook_tags_parse(STR("[]"), a, &tags, &err), 0);
    cr_expect(wants_tags(tags, STR("[\"b\"]")), "an empty filter is none");
    cr_expect_eq(hook_tags_parse(STR("[\"\"]"), a, &tags, &err), WOPR_E_VALIDATION);
    cr_expect_eq(hook_tags_parse(STR("\"a\""), a, &tags, &err), WOPR_E_VALIDATION);
}

Test(hook_wanted, a_secret_has_16_to_256_printable_characters /* HOOK-3 */) {
    char text[260];
    memset(text, 's', sizeof text);
    cr_expect_eq(hook_secret_check(str_n(text, 15), &err), WOPR_E_VALIDATION);
    cr_expect_eq(hook_secret_check(str_n(text, 16), &err), 0);
    cr_expect_eq(hook_secret_check(str_n(text, 256), &err), 0);
    cr_expect_eq(hook_secret_check(str_n(text, 257), &err), WOPR_E_VALIDATION);
    text[3] = '\n';
    cr_expect_eq(hook_secret_check(str_n(text, 32), &err), WOPR_E_VALIDATION);
    cr_expect_null(strstr(err.message, "sss"), "never quoted");
}

Test(hook_wanted, inherited_and_repeated_events_are_nobodys /* FORK-10 D67 */) {
    const struct event inherited = {.kind = EV_RUN_STARTED, .flags = EVENT_INHERITED};
    const struct event again = {.kind = EV_RUN_STARTED, .flags = EVENT_REEMITTED};
    cr_expect_not(hook_wants_kind(-1, &inherited));
    cr_expect_not(hook_wants_kind(-1, &again));
}
