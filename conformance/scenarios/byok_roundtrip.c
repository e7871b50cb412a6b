/* byok_roundtrip.c: public scenario byok-roundtrip (NODE-5, NODE-63, GEN-6). */
#include "suite.h"

#include <ctype.h>
#include <string.h>

SCENARIO(byok_roundtrip);

static const char *const FIXTURE = "openwop-smoke-byok-roundtrip";

static struct str echoed(struct str snap) {
    struct str out = at(at(snap, "outputs"), "resolve-secret");
    return out.p ? out : json_get(at(snap, "variables"), "resolve-secret");
}

Test(byok_roundtrip, a_credential_is_resolved_and_only_its_hash_is_shown) {
    need_fixture(FIXTURE);
    struct str snap = run_to_end(FIXTURE, NULL, "completed");
    struct str shown = echoed(snap), hex = text_at(shown, "secretSha256");
    cr_assert_eq(hex.n, 64, STR_FMT, STR_ARG(snap));
    for (size_t i = 0; i < hex.n; i++)
        cr_expect(isdigit((unsigned char)hex.p[i]) || (hex.p[i] >= 'a' && hex.p[i] <= 'f'));
    cr_expect_gt(int_at(shown, "secretLength"), 7);
}

Test(byok_roundtrip, two_runs_resolve_the_same_credential) {
    need_fixture(FIXTURE);
    struct str one = echoed(run_to_end(FIXTURE, NULL, "completed"));
    struct str two = echoed(run_to_end(FIXTURE, NULL, "completed"));
    cr_expect(one.n > 0 && str_eq(one, two), STR_FMT " and " STR_FMT, STR_ARG(one), STR_ARG(two));
}

Test(byok_roundtrip, its_node_completes_once_and_no_event_shows_a_value) {
    need_fixture(FIXTURE);
    const char *run = create_run(FIXTURE, NULL);
    unsigned completed = 0;
    wait_terminal(run, 30000);
    struct json_elements events = json_events(run);
    for (size_t i = 0; i < events.n; i++) {
        static const char *const SHOWN[] = {"\"password\"", "\"plaintext\"", "\"raw_secret\"",
                                            "\"value\":\""};
        const char *text = fmt(STR_FMT, STR_ARG(events.v[i]));
        completed += str_eqc(text_at(events.v[i], "type"), "node.completed") &&
                     str_eqc(text_at(events.v[i], "nodeId"), "resolve-secret");
        for (size_t k = 0; k < 4; k++) cr_expect(!strstr(text, SHOWN[k]), "%s", text);
    }
    cr_expect_eq(completed, 1u);
}
