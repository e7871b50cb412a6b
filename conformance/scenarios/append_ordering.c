/* append_ordering.c: public scenario append-ordering (CHAN-14, CHAN-15).  The public one passes
 * silently on a fixture that writes to no channel; here that is a failure. */
#include "suite.h"

SCENARIO(append_ordering);

Test(append_ordering, every_write_is_in_the_channel_in_order) {
    need_fixture("conformance-append-ordering");
    const char *run = create_run("conformance-append-ordering", NULL);
    struct str snap = wait_terminal(run, 30000);
    struct json_elements ev = json_events(run);
    cr_assert_gt(count_of(ev, "channel.written"), 0u, "no channel was written");
    for (size_t i = 0; i < ev.n; i++) {
        size_t writes = 0;
        int64_t last = -1;
        if (!str_eqc(text_at(ev.v[i], "type"), "channel.written")) continue;
        struct str channel = text_at(ev.v[i], "payload.channel");
        struct str folded = at(snap, fmt("channels." STR_FMT, STR_ARG(channel)));
        cr_assert(folded.p != NULL && json_type_of(folded) == JSON_ARRAY, "channels." STR_FMT,
                  STR_ARG(channel));
        struct json_elements values = list_at(folded, "");
        for (size_t k = 0; k < ev.n; k++) {
            if (!str_eqc(text_at(ev.v[k], "type"), "channel.written") ||
                !str_eq(text_at(ev.v[k], "payload.channel"), channel))
                continue;
            cr_expect(int_at(ev.v[k], "sequence") > last, "sequence does not rise");
            last = int_at(ev.v[k], "sequence");
            cr_assert_lt(writes, values.n, "fewer entries than writes");
            cr_expect(json_equal(values.v[writes], at(ev.v[k], "payload.value"), test_arena()),
                      "entry %zu is " STR_FMT, writes, STR_ARG(values.v[writes]));
            writes++;
        }
        cr_expect_eq(values.n, writes, "entries and writes of " STR_FMT, STR_ARG(channel));
    }
}
