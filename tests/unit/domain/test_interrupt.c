/* test_interrupt.c: payloads by kind, answers and their one form, ids and keys (INT-3..9,
 * INT-21..27, INT-33). */
#include "codec/json.h"
#include "domain/interrupt.h"
#include "fold_world.h"

static struct arena *A;
static void up(void) {
    A = arena_new(64u << 20);
    cr_assert_not_null(A);
}
static void down(void) { arena_free(A); }
TestSuite(intr_payload, .init = up, .fini = down);
TestSuite(intr_answer, .init = up, .fini = down);

#define P(kind, data) "{\"kind\":\"" kind "\",\"key\":\"r:n:0\",\"data\":" data "}"
#define ARTIFACT      "\"artifactId\":\"a\",\"artifactType\":\"doc\",\"title\":\"t\""
#define AP(rest)      P("approval", "{" ARTIFACT ",\"actions\":[\"accept\",\"reject\"]" rest "}")
#define ALL                                                                                        \
    P("approval", "{" ARTIFACT ",\"actions\":[\"accept\",\"reject\",\"refine\",\"edit-accept\","   \
                  "\"ask\"]}")

static int check(const char *payload, enum intr_kind *kind, struct wopr_error *err) {
    wopr_error_clear(err);
    int rc = json_check(str_c(payload), &JSON_LIMITS_STORED, err);
    cr_assert_eq(rc, 0, "%s: %s", payload, err->message);
    return intr_payload_check(str_c(payload), A, kind, err);
}

Test(intr_payload, what_each_kind_asks_for /* INT-5, INT-7, 20-runtime 3.2 */) {
    static const struct {
        const char *payload;
        enum intr_kind kind;
    } good[] = {
        {AP(""), INTR_APPROVAL},
        {AP(",\"description\":\"d\",\"artifactData\":null,\"requiredApprovals\":3,"
            "\"approversList\":[\"x\"],\"rejectionPolicy\":\"majority\",\"own\":1"),
         INTR_APPROVAL},
        {ALL, INTR_APPROVAL},
        {P("clarification", "{\"questions\":[{\"id\":\"q\",\"question\":\"why\",\"schema\":{}}],"
                            "\"contextType\":\"c\"}"),
         INTR_CLARIFICATION},
        {P("external-event", "{\"eventType\":\"e\",\"correlation\":{}}"), INTR_EXTERNAL},
        {P("custom", "{\"customKind\":\"k\",\"payload\":[1]}"), INTR_CUSTOM},
        {P("conversation.start", "{\"conversationId\":\"c\",\"title\":\"t\"}"),
         INTR_CONVERSATION_START},
        {P("conversation.exchange", "{\"conversationId\":\"c\",\"prompt\":\"p\",\"turnIndex\":0,"
                                    "\"outcomeSchema\":{\"type\":\"string\"}}"),
         INTR_CONVERSATION_EXCHANGE},
        {P("conversation.close", "{\"conversationId\":\"c\",\"reason\":\"r\"}"),
         INTR_CONVERSATION_CLOSE},
        {P("low-confidence",
           "{\"agentId\":\"abc\",\"threshold\":0.7,\"observed\":0,\"decision\":{}}"),
         INTR_LOW_CONFIDENCE},
        {"{\"kind\":\"custom\",\"key\":\"k\",\"data\":{\"customKind\":\"k\"},\"timeoutMs\":0,"
         "\"resumeSchema\":{\"$ref\":\"#/$defs/n\",\"$defs\":{\"n\":{\"type\":\"integer\"}}}}",
         INTR_CUSTOM},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct wopr_error err;
        enum intr_kind k = INTR_KIND_NR;
        cr_expect_eq(check(good[i].payload, &k, &err), 0, "%s: %s", good[i].payload, err.message);
        cr_expect_eq(k, good[i].kind);
    }
}

Test(intr_payload, what_breaks_a_kind_is_refused_at_its_place /* INT-4, INT-7 */) {
    static const struct {
        const char *payload, *pointer;
    } bad[] = {
        {P("maybe", "{}"), "/kind"},
        {"{\"key\":\"k\",\"data\":{}}", "/kind"},
        {"{\"kind\":\"custom\",\"key\":\"\",\"data\":{\"customKind\":\"k\"}}", "/key"},
        {"{\"kind\":\"custom\",\"key\":7,\"data\":{\"customKind\":\"k\"}}", "/key"},
        {"{\"kind\":\"custom\",\"key\":\"k\",\"data\":{\"customKind\":\"k\"},\"timeoutMs\":-1}",
         "/timeoutMs"},
        {"{\"kind\":\"custom\",\"key\":\"k\",\"data\":{\"customKind\":\"k\"},\"timeoutMs\":1.5}",
         "/timeoutMs"},
        {"{\"kind\":\"custom\",\"key\":\"k\",\"data\":{\"customKind\":\"k\"},\"timeoutMs\":"
         "315360000001}",
         "/timeoutMs"},
        {"{\"kind\":\"custom\",\"key\":\"k\",\"data\":{\"customKind\":\"k\"},\"resumeSchema\":7}",
         "/resumeSchema"},
        {"{\"kind\":\"custom\",\"key\":\"k\",\"data\":{\"customKind\":\"k\"},\"resumeSchema\":{"
         "\"type\":\"nothing\"}}",
         "/resumeSchema"},
        {"{\"kind\":\"custom\",\"key\":\"k\",\"data\":{\"customKind\":\"k\"},\"resumeSchema\":{"
         "\"$ref\":\"https://elsewhere.example/s\"}}",
         "/resumeSchema"},
        {"{\"kind\":\"custom\",\"key\":\"k\"}", "/data"},
        {P("custom", "[]"), "/data"},
        {P("custom", "{}"), "/data/customKind"},
        {P("custom", "{\"customKind\":\"\"}"), "/data/customKind"},
        {P("custom", "{\"customKind\":\"k\",\"more\":1}"), "/data"},
        {P("approval", "{" ARTIFACT "}"), "/data/actions"},
        {P("approval", "{" ARTIFACT ",\"actions\":[]}"), "/data/actions"},
        {P("approval", "{" ARTIFACT ",\"actions\":[\"edit\"]}"), "/data/actions"},
        {P("approval", "{" ARTIFACT ",\"actions\":[\"ask\",\"ask\"]}"), "/data/actions"},
        {P("approval", "{\"artifactType\":\"d\",\"title\":\"t\",\"actions\":[\"accept\"]}"),
         "/data/artifactId"},
        {AP(",\"requiredApprovals\":0"), "/data/requiredApprovals"},
        {AP(",\"requiredApprovals\":10001"), "/data/requiredApprovals"},
        {AP(",\"rejectionPolicy\":\"anyone\""), "/data/rejectionPolicy"},
        {AP(",\"approversList\":[1]"), "/data/approversList"},
        {P("clarification", "{\"questions\":[]}"), "/data/questions"},
        {P("clarification", "{\"questions\":[{\"id\":\"q\"}]}"), "/data/questions"},
        {P("clarification", "{\"questions\":[{\"id\":\"q\",\"question\":\"y\",\"x\":1}]}"),
         "/data/questions"},
        {P("clarification", "{\"questions\":[{\"id\":\"q\",\"question\":\"y\"},"
                            "{\"id\":\"\\u0071\",\"question\":\"z\"}]}"),
         "/data/questions"},
        {P("clarification", "{\"questions\":[{\"id\":\"q\",\"question\":\"y\",\"schema\":{"
                            "\"minimum\":\"one\"}}]}"),
         "/data/questions"},
        {P("external-event", "{\"eventType\":\"e\"}"), "/data/correlation"},
        {P("external-event", "{\"eventType\":\"e\",\"correlation\":[]}"), "/data/correlation"},
        {P("conversation.exchange", "{\"conversationId\":\"c\"}"), "/data/prompt"},
        {P("conversation.exchange",
           "{\"conversationId\":\"c\",\"prompt\":\"p\",\"outcomeSchema\":{\"type\":1}}"),
         "/data/outcomeSchema"},
        {P("low-confidence", "{\"agentId\":\"ab\",\"threshold\":0.7,\"observed\":0}"),
         "/data/agentId"},
        {P("low-confidence", "{\"agentId\":\"abc\",\"threshold\":1.1,\"observed\":0}"),
         "/data/threshold"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct wopr_error err;
        enum intr_kind k = INTR_KIND_NR;
        cr_expect_eq(check(bad[i].payload, &k, &err), WOPR_E_VALIDATION, "%s", bad[i].payload);
        cr_expect_str_eq(err.pointer, bad[i].pointer, "%s: %s", bad[i].payload, err.pointer);
        cr_expect_eq(k, INTR_KIND_NR, "outputs are left alone");
    }
}

Test(intr_payload, a_key_has_its_bound /* INT-3 */) {
    for (size_t n = 255; n <= 258; n++) {
        char *key = arena_alloc(A, n + 1);
        struct wopr_error err;
        enum intr_kind k;
        memset(key, 'k', n);
        key[n] = '\0';
        struct str p = arena_printf(
            A, "{\"kind\":\"custom\",\"key\":\"%s\",\"data\":{\"customKind\":\"k\"}}", key);
        cr_expect_eq(intr_payload_check(p, A, &k, &err), n <= 256 ? 0 : WOPR_E_VALIDATION);
    }
}

Test(intr_payload, names_go_both_ways_and_ids_are_derived /* INT-12, AGT-32 */) {
    char a[INTR_ID_LEN + 1], b[INTR_ID_LEN + 1];
    for (int i = 0; i < INTR_KIND_NR; i++) {
        enum intr_kind k = INTR_KIND_NR;
        cr_expect(intr_kind_of(str_c(intr_kind_name((enum intr_kind)i)), &k) && (int)k == i);
        const char *word = intr_kind_word((enum intr_kind)i);
        cr_expect(i <= INTR_CUSTOM ? strcmp(word, intr_kind_name((enum intr_kind)i)) == 0 : !word);
    }
    intr_id_of(STR("run_1"), STR("run_1:n:0"), a);
    intr_id_of(STR("run_1"), STR("run_1:n:0"), b);
    cr_expect_str_eq(a, b);
    intr_id_of(STR("run_1"), STR("run_1:n:1"), b);
    cr_expect_str_neq(a, b);
    intr_id_of(STR("run_"), STR("1run_1:n:0"), b); /* where one ends is part of it */
    cr_expect_str_neq(a, b);
    cr_expect_eq(strlen(a), INTR_ID_LEN);
}

/* --- answers --- */

static struct intr_answer ANS;
static struct wopr_error ERR;

static int answer_as(const char *payload, const char *value, const char *who, bool delegate) {
    struct intr_question q = {.payload = str_c(payload),
                              .principal = str_c(who),
                              .may_delegate = delegate,
                              .now_ms = FW_T0};
    wopr_error_clear(&ERR);
    cr_assert_eq(check(payload, &q.kind, &ERR), 0, "%s: %s", payload, ERR.message);
    cr_assert_eq(json_check(str_c(value), &JSON_LIMITS_STORED, &ERR), 0, "%s", value);
    return intr_answer_check(&q, str_c(value), A, &ANS, &ERR);
}
static int answer(const char *payload, const char *value) {
    return answer_as(payload, value, "ann", false);
}

Test(intr_answer, approvals_in_one_form /* INT-21, INT-23, INT-24 */) {
    static const struct {
        const char *value, *action, *member, *raw; /* a member of the normal form */
    } good[] = {
        {"{\"action\":\"accept\"}", "accept", "decidedBy", "\"ann\""},
        {"{\"action\":\"accept\",\"feedback\":\"ok\",\"own\":[1]}", "accept", "feedback", "\"ok\""},
        {"{\"action\":\"reject\",\"comment\":\"no\"}", "reject", "comment", "\"no\""},
        {"{\"action\":\"accept\",\"decidedAt\":\"2024-01-02T03:04:05Z\"}", "accept", "decidedAt",
         "\"2024-01-02T03:04:05Z\""},
        {"{\"action\":\"accept\"}", "accept", "decidedAt", "\"2023-11-14T22:13:20.000Z\""},
        {"{\"action\":\"accept\",\"decidedBy\":\"bob\"}", "accept", "decidedBy", "\"ann\""},
        {"{\"action\":\"refine\",\"refineFeedback\":{\"scope\":\"items\",\"itemIds\":[\"i\"]}}",
         "refine", "refineFeedback", "{\"scope\":\"items\",\"itemIds\":[\"i\"]}"},
        {"{\"action\":\"edit-accept\",\"editedArtifactData\":null}", "edit-accept",
         "editedArtifactData", "null"},
        {"{\"decision\":\"approved\"}", "accept", "decidedBy", "\"ann\""},
        {"{\"decision\":\"rejected\"}", "reject", "decidedBy", "\"ann\""},
        {"{\"decision\":\"rejected\",\"feedback\":\"\"}", "reject", "decidedBy", "\"ann\""},
        {"{\"decision\":\"rejected\",\"feedback\":\"mo\\\"re\"}", "refine", "refineFeedback",
         "{\"scope\":\"whole\",\"text\":\"mo\\\"re\"}"},
        {"{\"decision\":\"rejected\",\"feedback\":\"x\",\"refineFeedback\":{\"scope\":\"whole\"}}",
         "refine", "refineFeedback", "{\"scope\":\"whole\"}"},
        {"{\"action\":\"accept\",\"decision\":\"rejected\"}", "accept", "decidedBy", "\"ann\""},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        cr_expect_eq(answer(ALL, good[i].value), 0, "%s: %s", good[i].value, ERR.message);
        cr_expect_eq(ANS.verdict, INTR_ANSWERED);
        cr_expect(str_eqc(ANS.action, good[i].action), "%s", good[i].value);
        cr_expect_eq(json_check(ANS.value, &JSON_LIMITS_STORED, NULL), 0);
        struct str got = json_get(ANS.value, good[i].member);
        cr_expect(str_eqc(got, good[i].raw), "%s: " STR_FMT, good[i].value, STR_ARG(got));
        cr_expect_eq(json_get(ANS.value, "own").n, 0u);
    }
}

Test(intr_answer, approvals_that_are_refused /* INT-20, INT-21, INT-22, INT-24 */) {
    static const struct {
        const char *value, *pointer;
    } bad[] = {
        {"null", "/resumeValue"},
        {"\"accept\"", "/resumeValue"},
        {"{}", "/resumeValue/action"},
        {"{\"action\":\"maybe\"}", "/resumeValue/action"},
        {"{\"action\":\"edit\"}", "/resumeValue/action"},
        {"{\"action\":\"timeout\"}", "/resumeValue/action"},
        {"{\"action\":[\"accept\"]}", "/resumeValue/action"},
        {"{\"decision\":\"timeout\"}", "/resumeValue/action"},
        {"{\"decision\":\"cancelled\"}", "/resumeValue/action"},
        {"{\"action\":\"refine\"}", "/resumeValue/refineFeedback"},
        {"{\"action\":\"refine\",\"refineFeedback\":{}}", "/resumeValue/refineFeedback/scope"},
        {"{\"action\":\"refine\",\"refineFeedback\":{\"scope\":\"whole\",\"tags\":[1]}}",
         "/resumeValue/refineFeedback"},
        {"{\"action\":\"refine\",\"refineFeedback\":{\"scope\":\"whole\",\"text\":1}}",
         "/resumeValue/refineFeedback"},
        {"{\"action\":\"edit-accept\"}", "/resumeValue/editedArtifactData"},
        {"{\"action\":\"accept\",\"comment\":1}", "/resumeValue/comment"},
        {"{\"action\":\"accept\",\"decidedAt\":\"soon\"}", "/resumeValue/decidedAt"},
        {"{\"action\":\"accept\",\"voter\":{}}", "/resumeValue/voter"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect_eq(answer(ALL, bad[i].value), WOPR_E_VALIDATION, "%s", bad[i].value);
        cr_expect_str_eq(ERR.pointer, bad[i].pointer, "%s: %s", bad[i].value, ERR.pointer);
    }
    cr_expect_eq(answer(AP(""), "{\"action\":\"ask\"}"), WOPR_E_VALIDATION, "not offered");
    cr_expect_eq(answer(AP(""), "{\"decision\":\"rejected\",\"feedback\":\"x\"}"),
                 WOPR_E_VALIDATION, "refine is not offered");
}

Test(intr_answer, who_decides /* INT-23, INT-27, INT-30 */) {
    const char *one = AP(",\"approversList\":[\"ann\",\"b\\u006fb\"]");
    const char *accept = "{\"action\":\"accept\"}";
    const char *named = "{\"action\":\"accept\",\"voter\":\"bob\"}";
    cr_expect_eq(answer_as(one, accept, "ann", false), 0);
    cr_expect_eq(answer_as(one, accept, "bob", false), 0);
    cr_expect_eq(answer_as(one, accept, "eve", false), WOPR_E_FORBIDDEN);
    cr_expect_eq(answer_as(one, named, "eve", false), WOPR_E_FORBIDDEN, "names are not believed");
    cr_expect_eq(answer_as(one, named, "eve", true), 0);
    cr_expect(str_eqc(ANS.decided_by, "bob"));
    cr_expect_eq(answer_as(one, "{\"action\":\"accept\",\"decidedBy\":\"bob\"}", "eve", true), 0);
    cr_expect_eq(answer_as(AP(",\"approversList\":[]"), accept, "eve", false), 0);
    cr_expect_eq(answer_as(AP(""), accept, "token:int_1", false), 0);
    cr_expect(str_eqc(ANS.decided_by, "token:int_1"));
}

Test(intr_answer, a_vote_and_a_question_do_not_end_the_wait /* INT-21, INT-28 */) {
    const char *three = P("approval", "{" ARTIFACT ",\"actions\":[\"accept\",\"reject\",\"ask\","
                                      "\"refine\"],\"requiredApprovals\":3}");
    cr_expect_eq(answer(three, "{\"action\":\"reject\",\"comment\":\"w\\\"hy\"}"), 0);
    cr_expect_eq(ANS.verdict, INTR_VOTED);
    cr_expect(str_eqc(ANS.vote, "{\"userId\":\"ann\",\"action\":\"reject\",\"timestamp\":"
                                "\"2023-11-14T22:13:20.000Z\",\"reason\":\"w\\\"hy\"}"),
              STR_FMT, STR_ARG(ANS.vote));
    cr_expect_eq(answer(three, "{\"action\":\"ask\",\"question\":\"what\"}"), 0);
    cr_expect_eq(ANS.verdict, INTR_ASKED);
    cr_expect(str_eqc(ANS.question, "{\"action\":\"ask\",\"question\":\"what\"}"));
    cr_expect_eq(answer(three, "{\"action\":\"refine\",\"refineFeedback\":{\"scope\":\"whole\"}}"),
                 0);
    cr_expect_eq(ANS.verdict, INTR_ANSWERED, "a refinement is not voted on (NODE-41)");
}

Test(intr_answer, clarifications /* INT-26 */) {
    const char *two = P("clarification",
                        "{\"questions\":[{\"id\":\"q1\",\"question\":\"a\"},{\"id\":\"q\\u0032\","
                        "\"question\":\"b\",\"schema\":{\"type\":\"integer\"}}]}");
    static const struct {
        const char *value, *normal; /* NULL: refused */
    } rows[] = {
        {"{\"answers\":{\"q1\":\"blue\",\"q2\":7}}", "{\"answers\":{\"q1\":\"blue\",\"q2\":7}}"},
        {"{\"answers\":{\"q2\":7.0,\"q1\":null}}", "{\"answers\":{\"q1\":null,\"q2\":7.0}}"},
        {"{\"answers\":[{\"id\":\"q2\",\"answer\":1},{\"id\":\"q1\",\"answer\":[ 2 ]}]}",
         "{\"answers\":{\"q1\":[ 2 ],\"q2\":1}}"},
        {"{\"answers\":{\"q1\":\"blue\"}}", NULL},
        {"{\"answers\":{\"q1\":1,\"q2\":1,\"q3\":1}}", NULL},
        {"{\"answers\":{\"q1\":1,\"q2\":\"x\"}}", NULL},
        {"{\"answers\":[{\"id\":\"q1\",\"answer\":1},{\"id\":\"q1\",\"answer\":1}]}", NULL},
        {"{\"answers\":[{\"id\":\"q1\",\"answer\":1},{\"id\":\"q2\"}]}", NULL},
        {"{\"answers\":\"blue\"}", NULL},
        {"{}", NULL},
        {"\"blue\"", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int rc = answer(two, rows[i].value);
        cr_expect_eq(rc, rows[i].normal ? 0 : WOPR_E_VALIDATION, "%s", rows[i].value);
        if (rows[i].normal)
            cr_expect(str_eqc(ANS.value, rows[i].normal), STR_FMT, STR_ARG(ANS.value));
        else cr_expect(strncmp(ERR.pointer, "/resumeValue", 12) == 0);
    }
}

Test(intr_answer, events_match_by_subset /* INT-32, INT-33 */) {
    const char *p = P("external-event", "{\"eventType\":\"e\",\"correlation\":{\"order\":{\"id\":1,"
                                        "\"of\":[1,2]},\"st\\u0061te\":\"done\","
                                        "\"correlationId\":\"mine\"}}");
    static const struct {
        const char *value, *details; /* NULL: matches */
    } rows[] = {
        {"{\"order\":{\"of\":[1,2],\"id\":1.0},\"state\":\"done\",\"more\":1}", NULL},
        {"{\"eventId\":\"x\",\"eventPayload\":{\"order\":{\"id\":1,\"of\":[1,2]},\"state\":"
         "\"d\\u006fne\"}}",
         NULL},
        {"{\"order\":{\"id\":1,\"of\":[2,1]},\"state\":\"done\"}",
         "{\"mismatchedKeys\":[\"order\"]}"},
        {"{\"state\":\"open\"}", "{\"mismatchedKeys\":[\"order\",\"state\"]}"},
        {"7", "{\"mismatchedKeys\":[\"order\",\"state\"]}"},
        {"{\"order\":{\"id\":1,\"of\":[1,2],\"x\":0},\"state\":\"done\"}",
         "{\"mismatchedKeys\":[\"order\"]}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int rc = answer(p, rows[i].value);
        cr_expect_eq(rc, rows[i].details ? WOPR_E_CORRELATION_MISMATCH : 0, "%s", rows[i].value);
        if (rows[i].details) cr_expect_str_eq(ERR.details, rows[i].details, "%s", ERR.details);
        else cr_expect(str_eqc(ANS.value, rows[i].value), "the event is kept as it came");
    }
}

Test(intr_answer, values_meet_the_schema_of_the_question /* INT-14 */) {
    const char *p = "{\"kind\":\"custom\",\"key\":\"k\",\"data\":{\"customKind\":\"k\"},"
                    "\"resumeSchema\":{\"type\":\"object\",\"properties\":{\"n\":{\"minimum\":2}},"
                    "\"required\":[\"n\"]}}";
    cr_expect_eq(answer(p, "{\"n\":2}"), 0);
    cr_expect(str_eqc(ANS.value, "{\"n\":2}"));
    cr_expect_eq(answer(p, "{\"n\":1}"), WOPR_E_VALIDATION);
    cr_expect_str_eq(ERR.pointer, "/resumeValue/n");
    cr_expect_null(strstr(ERR.message, "\"n\":1"), "values are not quoted");
    cr_expect_eq(answer(p, "{}"), WOPR_E_VALIDATION);
    cr_expect_eq(answer(P("custom", "{\"customKind\":\"k\"}"), "[null]"), 0);
    cr_expect_eq(
        answer(P("low-confidence", "{\"agentId\":\"abc\",\"threshold\":0.7,\"observed\":0.5}"),
               "{\"decision\":1}"),
        0);
    const char *x = P("conversation.exchange", "{\"conversationId\":\"c\",\"prompt\":\"p\","
                                               "\"outcomeSchema\":{\"type\":\"string\"}}");
    cr_expect_eq(answer(x, "\"fine\""), 0);
    cr_expect_eq(answer(x, "7"), WOPR_E_VALIDATION);
}
