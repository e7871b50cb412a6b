/* channel_ttl.c: public scenario channel-ttl (CHAN-16, CHAN-27, CHAN-28). */
#include "suite.h"

SCENARIO(channel_ttl);

Test(channel_ttl, old_entries_are_dropped_when_the_channel_is_written) {
    need_fixture("conformance-channel-ttl");
    struct str snap = run_to_end("conformance-channel-ttl", NULL, "completed");
    struct json_elements l = list_at(snap, "variables.events");
    cr_assert_eq(l.n, 1u, STR_FMT, STR_ARG(at(snap, "variables.events")));
    cr_expect(str_eqc(text_at(l.v[0], "value"), "d"));
    cr_expect_gt(int_at(l.v[0], "_ts"), 0);
}
