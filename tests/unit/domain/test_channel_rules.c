/* test_channel_rules.c: schema versions, access, framework variables (CHAN-4..6, 18, 22, 23). */
#include "fold_world.h"

#define DEF(node_inputs, channels)                                                                 \
    "{\"id\":\"w\",\"name\":\"w\",\"version\":\"1\",\"nodes\":[{\"id\":\"a\",\"typeId\":"          \
    "\"vendor.acme.reader\",\"name\":\"a\",\"position\":{\"x\":0,\"y\":0},\"config\":{},"          \
    "\"inputs\":{" node_inputs                                                                     \
    "}}],\"edges\":[],\"triggers\":[],\"variables\":[],\"channels\":{" channels                    \
    "},\"metadata\":{},\"settings\":{}}"

static struct fold_world w;

static void up(const char *def) {
    fw_up(&w, def, "{}");
    fw_start(&w);
}

static int put(const char *channel, const char *reducer, const char *value, const char *more) {
    char payload[512];
    snprintf(payload, sizeof payload, "{\"channel\":\"%s\",\"value\":%s,\"reducer\":\"%s\"%s}",
             channel, value, reducer, more);
    return fw_event(&w, EV_CHANNEL_WRITTEN, "", payload);
}

#define VERSIONED                                                                                  \
    "\"n\":{\"reducer\":\"append\",\"schemaVersion\":4,\"compatibleWith\":[1,3],"                  \
    "\"schema\":{\"type\":\"integer\"}},"                                                          \
    "\"all\":{\"reducer\":\"append\",\"schemaVersion\":2,\"compatibleWith\":[1],"                  \
    "\"schema\":{\"type\":\"array\",\"maxItems\":2}},"                                             \
    "\"dark\":{\"reducer\":\"replace\",\"schemaVersion\":2,\"compatibleWith\":[1],"                \
    "\"sensitive\":true,\"schema\":{\"type\":\"integer\"}}"

Test(channel_rules, versions_that_fold_and_versions_that_break /* CHAN-18 */) {
    static const struct {
        const char *value, *version;
        bool breaks;
    } ROWS[] = {
        {"1", ",\"schemaVersion\":4", false}, /* current */
        {"1", ",\"schemaVersion\":5", false}, /* newer: permissively */
        {"\"x\"", ",\"schemaVersion\":5", false},
        {"1", ",\"schemaVersion\":3", false},    /* listed and fits */
        {"\"x\"", ",\"schemaVersion\":3", true}, /* listed, does not fit */
        {"1", ",\"schemaVersion\":2", true},     /* not listed */
        {"1", "", false},                        /* absent is 1, listed */
        {"\"x\"", "", true},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        up(DEF("", VERSIONED));
        cr_assert_eq(put("n", "append", ROWS[i].value, ROWS[i].version), 0);
        const struct chan_break *k = &w.s->channels.broken;
        cr_expect_eq(k->seq > 0, ROWS[i].breaks, "row %zu", i);
        char want[32];
        snprintf(want, sizeof want, "[%s]", ROWS[i].breaks ? "" : ROWS[i].value);
        cr_expect_str_eq(fw_chan(&w, "n", 0), want);
        if (ROWS[i].breaks) {
            cr_expect_eq(k->seq, w.s->next_seq - 1);
            cr_expect(str_eqc(text_str(&w.s->channels.v[k->chan].name), "n"));
        }
        fw_down(&w);
    }
}

Test(channel_rules, the_first_break_is_the_one_that_is_told /* CHAN-18: at the same sequence */) {
    up(DEF("", VERSIONED));
    cr_assert_eq(put("n", "append", "1", ",\"schemaVersion\":2"), 0);
    cr_assert_eq(put("n", "append", "\"x\"", ",\"schemaVersion\":1"), 0);
    cr_expect_eq(w.s->channels.broken.seq, 1);
    cr_expect_eq(w.s->channels.broken.version, 2);
    fw_down(&w);
}

Test(channel_rules, an_array_schema_is_about_the_folded_list /* CHAN-4, CHAN-18 */) {
    up(DEF("", VERSIONED));
    cr_assert_eq(put("all", "append", "1", ""), 0);
    cr_assert_eq(put("all", "append", "2", ""), 0);
    cr_expect_eq(w.s->channels.broken.seq, 0);
    cr_assert_eq(put("all", "append", "3", ""), 0);
    cr_expect_eq(w.s->channels.broken.seq, 3);
    fw_down(&w);
}

Test(channel_rules, a_masked_value_is_not_asked_for_its_shape /* CHAN-18, CHAN-24 */) {
    up(DEF("", VERSIONED));
    cr_assert_eq(put("dark", "replace", "\"[REDACTED]\"", ""), 0);
    cr_expect_eq(w.s->channels.broken.seq, 0);
    fw_down(&w);
}

Test(channel_rules, a_version_that_is_none_is_corrupt) {
    up(DEF("", VERSIONED));
    cr_expect_eq(put("n", "append", "1", ",\"schemaVersion\":0"), WOPR_E_CORRUPT);
    fw_down(&w);
}

static int compiles(const char *channel) {
    char def[2048];
    struct workflow *wf = NULL;
    struct wopr_error err = {0};
    const struct wf_env env = {0};
    snprintf(def, sizeof def,
             "{\"id\":\"w\",\"name\":\"w\",\"version\":\"1\",\"nodes\":[{\"id\":\"a\",\"typeId\":"
             "\"core.noop\",\"name\":\"a\",\"position\":{\"x\":0,\"y\":0},\"config\":{},\"inputs\":"
             "{}}],\"edges\":[],\"triggers\":[],\"variables\":[],\"channels\":{\"c\":%s},"
             "\"metadata\":{},\"settings\":{}}",
             channel);
    int rc = workflow_compile(str_c(def), &env, &wf, &err);
    if (rc == 0) workflow_unref(wf);
    return rc;
}

Test(channel_rules, of_what_a_declaration_may_say /* CHAN-5, CHAN-18 */) {
    static const struct {
        const char *channel;
        int want;
    } ROWS[] = {
        {"{\"reducer\":\"append\",\"compatibleWith\":[1,2]}", 0},
        {"{\"reducer\":\"append\",\"compatibleWith\":[]}", 0},
        {"{\"reducer\":\"append\",\"compatibleWith\":[0]}", WOPR_E_VALIDATION},
        {"{\"reducer\":\"append\",\"compatibleWith\":[1,1]}", WOPR_E_VALIDATION},
        {"{\"reducer\":\"append\",\"compatibleWith\":[\"1\"]}", WOPR_E_VALIDATION},
        {"{\"reducer\":\"vendor.acme.top\"}", 0},
        {"{\"reducer\":\"vendor.acme\"}", WOPR_E_VALIDATION},
        {"{\"reducer\":\"append\",\"access\":\"private\"}", 0},
        {"{\"reducer\":\"append\",\"access\":\"secret\"}", WOPR_E_VALIDATION},
        {"{\"reducer\":\"append\",\"access\":{\"readers\":[\"core.*\",\"n1\"]}}", 0},
        {"{\"reducer\":\"append\",\"access\":{\"readers\":[\"*x\"]}}", WOPR_E_VALIDATION},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++)
        cr_expect_eq(compiles(ROWS[i].channel), ROWS[i].want, "%s", ROWS[i].channel);
}

Test(channel_rules, who_is_admitted /* CHAN-5 */) {
    static const struct {
        const char *entry; /* NULL: an open side; "": an empty list */
        bool admits;
    } ROWS[] = {
        {NULL, true},  {"", false},         {"n1", true},          {"n", false},
        {"*", true},   {"core.*", true},    {"core.noop", true},   {"core.noop*", true},
        {"co*", true}, {"vendor.*", false}, {"core.noop2", false}, {"n*", false},
    };
    const struct wf_node node = {.id = STR("n1"), .type_id = STR("core.noop")};
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        struct str entry = str_c(ROWS[i].entry);
        const struct wf_access side = {
            .listed = ROWS[i].entry != NULL, .v = &entry, .n = entry.n > 0 ? 1 : 0};
        cr_expect_eq(channel_admits(&side, &node), ROWS[i].admits, "%s", ROWS[i].entry);
    }
}

static const char *closed_to(const char *expression) {
    static char name[64];
    char def[2048];
    struct arena *a = arena_new(1u << 16);
    snprintf(def, sizeof def,
             DEF("\"x\":{\"type\":\"expression\",\"expression\":\"%s\"}",
                 "\"open\":{\"reducer\":\"append\"},"
                 "\"shut\":{\"reducer\":\"append\",\"access\":\"private\"},"
                 "\"a/b\":{\"reducer\":\"append\",\"access\":{\"readers\":[\"core.*\"]}},"
                 "\"mine\":{\"reducer\":\"append\",\"access\":{\"readers\":[\"a\"],"
                 "\"writers\":[]}}"),
             expression);
    up(def);
    const struct wf_channel *c = ports_denied(w.s, 0, a);
    snprintf(name, sizeof name, STR_FMT, STR_ARG(c ? c->name : STR("-")));
    fw_down(&w);
    arena_free(a);
    return name;
}

Test(channel_rules, inputs_read_only_what_the_node_may /* CHAN-5, CHAN-6 */) {
    cr_expect_str_eq(closed_to("channels.open"), "-");
    cr_expect_str_eq(closed_to("channels.mine[0]"), "-");
    cr_expect_str_eq(closed_to("channels.shut"), "shut");
    cr_expect_str_eq(closed_to("1 + size(channels.shut[0].x)"), "shut");
    cr_expect_str_eq(closed_to("channels['a/b'][0]"), "a/b");
    cr_expect_str_eq(closed_to("contains(channels.open, channels['shut'])"), "shut");
    cr_expect_str_eq(closed_to("size(channels)"), "shut"); /* all of them */
    cr_expect_str_eq(closed_to("variables.shut"), "-");
}

Test(channel_rules, framework_variables_are_channels /* CHAN-23 */) {
    static const struct {
        const char *name;
        int reducer; /* -1: an ordinary variable */
    } ROWS[] = {
        {"_approvalVotes:gate", RED_VOTES},
        {"_askExchanges:n", RED_APPEND},
        {"_clarificationAnswers:n", RED_MERGE},
        {"_feedbackHistory:n", RED_APPEND},
        {"_loopbackCount:n", RED_COUNTER},
        {"_loopbackIteration:n", RED_REPLACE},
        {"_previousArtifact:n", RED_REPLACE},
        {"wfArtifactData_x", RED_REPLACE},
        {"_activeClarification", RED_REPLACE},
        {"_activeClarificationX", -1},
        {"_approvalVotes:", -1},
        {"x_approvalVotes:g", -1},
        {"plain", -1},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        const struct chan_legacy *k = chan_legacy(str_c(ROWS[i].name));
        cr_expect_eq(k ? (int)k->reducer : -1, ROWS[i].reducer, "%s", ROWS[i].name);
    }
}

Test(channel_rules, exchanges_are_capped /* CHAN-23 */) {
    up(DEF("", ""));
    for (unsigned i = 0; i < CHAN_ASK_MAX + 5; i++)
        cr_assert_eq(put("_askExchanges:n", "append", "1", ""), 0);
    cr_expect_eq(run_state_chan(w.s, STR("_askExchanges:n"))->n, CHAN_ASK_MAX);
    fw_down(&w);
}

Test(channel_rules, a_repeated_message_does_not_count_against_the_schema /* CHAN-4 */) {
    up(DEF("", "\"m\":{\"reducer\":\"message\",\"schema\":{\"type\":\"array\",\"maxItems\":2}},"
               "\"v\":{\"reducer\":\"votes\",\"schema\":{\"type\":\"array\",\"maxItems\":1}},"
               "\"last\":{\"reducer\":\"append\",\"maxSize\":2,\"schema\":{\"type\":\"array\","
               "\"maxItems\":2}}"));
    static const char *const M1 = "{\"messageId\":\"1\"}", *const M2 = "{\"messageId\":\"2\"}",
                             *const M3 = "{\"messageId\":\"3\"}";
    cr_assert_eq(put("m", "message", M1, ""), 0);
    cr_assert_eq(put("m", "message", M2, ""), 0);
    cr_expect_eq(chan_write_check(w.s, STR("m"), RED_MESSAGE, str_c(M2), NULL), 0);
    cr_expect_eq(chan_write_check(w.s, STR("m"), RED_MESSAGE, str_c(M3), NULL), WOPR_E_VALIDATION);
    cr_assert_eq(put("v", "votes", "{\"userId\":\"u\"}", ""), 0);
    cr_expect_eq(chan_write_check(w.s, STR("v"), RED_VOTES, STR("{\"userId\":\"u\"}"), NULL), 0);
    cr_expect_eq(chan_write_check(w.s, STR("v"), RED_VOTES, STR("{\"userId\":\"x\"}"), NULL),
                 WOPR_E_VALIDATION);
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(chan_write_check(w.s, STR("last"), RED_APPEND, STR("1"), NULL), 0);
        cr_assert_eq(put("last", "append", "1", ""), 0);
    }
    fw_down(&w);
}

Test(channel_rules, names_have_a_length /* CHAN-1 */) {
    char name[CHAN_NAME_MAX + 2];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    up(DEF("", ""));
    cr_expect_eq(chan_write_check(w.s, str_c(name), RED_APPEND, STR("1"), NULL), WOPR_E_VALIDATION);
    cr_expect_eq(chan_write_check(w.s, str_c(name + 1), RED_APPEND, STR("1"), NULL), 0);
    cr_expect_eq(chan_write_check(w.s, STR(""), RED_APPEND, STR("1"), NULL), WOPR_E_VALIDATION);
    fw_down(&w);
}

/* Channels whose schemas look at each entry alone, and the same ones said so that each write is
 * judged with the whole list: every write is taken by both or by none. */
#define BOTH(name, reducer, items)                                                                 \
    "\"" name "\":{\"reducer\":\"" reducer "\",\"maxSize\":5,\"schema\":{\"type\":\"array\","      \
    "\"title\":\"t\",\"items\":" items "}},\"" name "_\":{\"reducer\":\"" reducer                  \
    "\",\"maxSize\":5,\"schema\":{\"type\":\"array\",\"title\":\"t\",\"minItems\":0,"              \
    "\"items\":" items "}}"
#define EACH                                                                                       \
    BOTH("a", "append", "{\"type\":\"integer\",\"minimum\":3}")                                    \
    "," BOTH("m", "message",                                                                       \
             "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":"                               \
             "\"integer\"}}}") "," BOTH("v", "votes",                                              \
                                        "{\"type\":\"object\",\"properties\":{"                    \
                                        "\"n\":{\"maximum\":4}}}")

Test(channel_rules, entries_that_are_judged_alone_are_judged_the_same /* CHAN-4 */) {
    static const char *const NAMES[][3] = {
        {"a", "a_", "append"}, {"m", "m_", "message"}, {"v", "v_", "votes"}};
    static const enum reducer REDUCERS[] = {RED_APPEND, RED_MESSAGE, RED_VOTES};
    unsigned r = 7, taken = 0, refused = 0;
    up(DEF("", EACH));
    for (int i = 0; i < 600; i++) {
        char value[128];
        r = r * 1664525u + 1013904223u;
        size_t k = (r >> 8) % 3;
        int id = (int)(r >> 12) % 9, n = (int)(r >> 16) % 7;
        const char *sort = (r >> 20) % 6 == 0 ? "\"x\"" : NULL;
        char number[16];
        snprintf(number, sizeof number, "%d", n);
        if (k == 0) snprintf(value, sizeof value, "%s", sort ? sort : number);
        else
            snprintf(value, sizeof value, "{\"%s\":\"i%d\",\"n\":%s}",
                     k == 1 ? "messageId" : "userId", id, sort ? sort : number);
        int one = chan_write_check(w.s, str_c(NAMES[k][0]), REDUCERS[k], str_c(value), NULL);
        int all = chan_write_check(w.s, str_c(NAMES[k][1]), REDUCERS[k], str_c(value), NULL);
        cr_assert_eq(one, all, "%s to %s: %d and %d", value, NAMES[k][0], one, all);
        if (one != 0) {
            refused++;
            continue;
        }
        taken++;
        cr_assert_eq(put(NAMES[k][0], NAMES[k][2], value, ""), 0);
        cr_assert_eq(put(NAMES[k][1], NAMES[k][2], value, ""), 0);
    }
    cr_expect(taken > 100 && refused > 50, "%u taken, %u refused", taken, refused);
    fw_down(&w);
}
