/* profile_derivation.c: public scenario profileDerivation, but on the document the host really
 * serves, and with one request behind each claim that a request can prove (PROF). */
#include "profiles.h"
#include "suite.h"

SCENARIO(profile_derivation);

static bool claimed(const char *profile, struct str doc) {
    return profile_claimed(profile, doc, test_arena());
}

Test(profile_derivation, document_satisfies_core) {
    cr_expect(claimed("openwop-core", document()));
}

/* The document without one member (a dotted path of depth 1 or 2). */
static struct str without(struct str doc, const char *member) {
    struct json_members m;
    struct buf b;
    struct jw w;
    const char *dot = strchr(member, '.');
    const char *top =
        dot != NULL ? arena_cstr(test_arena(), str_n(member, (size_t)(dot - member))) : member;
    cr_assert_eq(json_members(doc, test_arena(), &m, NULL), 0);
    buf_init(&b, 1 << 20);
    jw_init(&w, &b);
    jw_object(&w);
    for (size_t i = 0; i < m.n; i++) {
        bool hit = str_eqc(m.v[i].key, top);
        if (hit && dot == NULL) continue;
        jw_key_str(&w, m.v[i].key);
        jw_raw(&w, hit ? without(m.v[i].raw, dot + 1) : m.v[i].raw);
    }
    jw_end_object(&w);
    struct str s = arena_str(test_arena(), buf_str(&b));
    buf_fini(&b);
    return s;
}

Test(profile_derivation, document_without_a_core_member_claims_nothing) {
    static const char *const members[] = {"protocolVersion",
                                          "supportedEnvelopes",
                                          "schemaVersions",
                                          "limits",
                                          "limits.clarificationRounds",
                                          "limits.schemaRounds",
                                          "limits.envelopesPerTurn"};
    struct str doc = document();
    for (size_t i = 0; i < COUNT(members); i++)
        for (const char *const *p = PROFILES; *p != NULL; p++)
            cr_expect_not(claimed(*p, without(doc, members[i])), "%s without %s", *p, members[i]);
}

Test(profile_derivation, document_claims_follow_the_published_predicates) {
    struct str doc = document();
    bool flag = false;
    cr_expect_eq(claimed("openwop-interrupts", doc),
                 list_has(at(doc, "supportedEnvelopes"), "clarification.request"));
    cr_expect_eq(claimed("openwop-stream-sse", doc), claimed("openwop-stream-poll", doc));
    cr_expect_eq(claimed("openwop-node-packs", doc), claimed("openwop-core", doc));
    if (at(doc, "replay.supported").p == NULL) cr_expect_not(claimed("openwop-replay-fork", doc));
    if (at(doc, "secrets.supported").p == NULL || !json_bool(at(doc, "secrets.supported"), &flag) ||
        !flag)
        cr_expect_not(claimed("openwop-secrets", doc));
    cr_expect_not(claimed("openwop-fixtures", without(doc, "fixtures")));
    cr_expect_not(claimed("openwop-nonexistent", doc));
}

Test(profile_derivation, a_claim_of_streaming_is_kept) {
    if (!claimed("openwop-stream-sse", discovery())) cr_skip("openwop-stream-sse is not claimed");
    struct stream st = stream(known_run(), "", NULL, 15000);
    cr_expect_eq(st.status, 200);
    cr_expect(stream_names(&st, "run.completed"));
}

Test(profile_derivation, a_claim_of_polling_is_kept) {
    if (!claimed("openwop-stream-poll", discovery())) cr_skip("openwop-stream-poll is not claimed");
    const char *run = known_run();
    wait_terminal(run, lifecycle_ms());
    cr_expect_gt(poll_events(run, "?timeout=1").n, 0u);
}
