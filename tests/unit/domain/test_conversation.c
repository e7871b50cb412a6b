/* test_conversation.c: answers that are turns, and the fold of conversations against a model
 * (CONV-3 to CONV-14, AGT-10). */
#include "codec/json.h"
#include "domain/conversation.h"
#include "fold_world.h"

#include <string.h>

static struct arena *A;
static void up(void) {
    A = arena_new(64u << 20);
    cr_assert_not_null(A);
}
static void down(void) { arena_free(A); }
TestSuite(conv_answer, .init = up, .fini = down);
TestSuite(conv_fold, .init = up, .fini = down);

#define ASKS(more)                                                                                 \
    "{\"kind\":\"conversation.exchange\",\"key\":\"r:n:1\",\"data\":{\"conversationId\":\"c\","    \
    "\"prompt\":\"p\",\"turnIndex\":2" more "}}"
#define WHOLE "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}"

static struct wopr_error ERR;
static struct str OUT;

static int answer_as(bool host, const char *question, const char *value) {
    const struct intr_question q = {.payload = str_c(question),
                                    .kind = INTR_CONVERSATION_EXCHANGE,
                                    .principal = STR("me"),
                                    .host = host,
                                    .now_ms = FW_T0};
    wopr_error_clear(&ERR);
    OUT = STR_NONE;
    cr_assert_eq(json_check(str_c(value), &JSON_LIMITS_STORED, NULL), 0, "%s", value);
    return conversation_answer(&q, str_c(value), A, &OUT, &ERR);
}

static int answer(const char *value) { return answer_as(false, ASKS(""), value); }

#define TURN(id, from, more, content, ts, role, agent)                                             \
    "{\"messageId\":\"" id "\",\"from\":\"" from "\"," more "\"content\":" content ",\"ts\":" ts   \
    ",\"role\":\"" role "\"," agent "\"turnIndex\":2}"
#define EXCHANGE(turn) "{\"operation\":\"exchange\",\"turn\":" turn "}"
#define USER(content)  EXCHANGE(TURN("c:2:user", "user", "", content, "1700000000000", "user", ""))
#define SAYS(turn)     "{\"operation\":\"exchange\",\"turn\":" turn "}"
#define CLOSES(more)   "{\"operation\":\"close\"" more "}"
#define SYSTEM(words)  TURN("c:2:system", "system", "", words, "1700000000000", "system", "")

Test(conv_answer, an_answer_has_one_form /* CONV-5, CONV-10, CONV-11 */) {
    static const struct {
        const char *value, *want;
    } rows[] = {
        {"\"hello\"", USER("\"hello\"")},
        {"null", USER("null")},
        {"[1e400,{\"a\" : 1.0}]", USER("[1e400,{\"a\" : 1.0}]")}, /* byte for byte: NODE-84 */
        {"{\"turn\":{\"content\":1}}", USER("{\"turn\":{\"content\":1}}")},
        {SAYS("{\"content\":7}"), USER("7")},
        {SAYS("{\"content\":7,\"turnIndex\":2.0,\"ts\":5,\"messageId\":\"m\\u0031\",\"to\":\"x\","
              "\"groupId\":\"g\",\"from\":\"ada\"}"),
         EXCHANGE(TURN("m1", "ada", "\"to\":\"x\",\"groupId\":\"g\",", "7", "5", "user", ""))},
        {SAYS("{\"content\":7,\"role\":\"agent\",\"agent\":{\"agentId\":\"core.a.b\"}}"),
         EXCHANGE(TURN("c:2:agent", "core.a.b", "", "7", "1700000000000", "agent",
                       "\"agent\":{\"agentId\":\"core.a.b\"},"))},
        {SAYS("{\"content\":7,\"role\":\"agent\",\"from\":\"me\"}"),
         EXCHANGE(TURN("c:2:agent", "me", "", "7", "1700000000000", "agent", ""))},
        {CLOSES(""), "{\"operation\":\"close\",\"turn\":" SYSTEM("{\"reason\":\"closed\"}") "}"},
        {CLOSES(",\"outcome\":null"), "{\"operation\":\"close\",\"turn\":" SYSTEM(
                                          "{\"reason\":\"closed\"}") ",\"outcome\":null}"},
        {CLOSES(",\"outcome\":[],\"turn\":{\"content\":\"bye\"}"),
         "{\"operation\":\"close\",\"turn\":" TURN("c:2:user", "user", "", "\"bye\"",
                                                   "1700000000000", "user", "") ",\"outcome\":[]}"},
        {CLOSES(",\"turn\":{}"),
         "{\"operation\":\"close\",\"turn\":" TURN("c:2:user", "user", "", "null", "1700000000000",
                                                   "user", "") "}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_expect_eq(answer(rows[i].value), 0, "%s: %s", rows[i].value, ERR.message);
        cr_expect(str_eqc(OUT, rows[i].want), "%s: " STR_FMT, rows[i].value, STR_ARG(OUT));
        cr_expect_eq(conversation_answer_closes(OUT), strstr(rows[i].want, "\"close\"") != NULL);
    }
}

#define LONG64  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define LONG257 LONG64 LONG64 LONG64 LONG64 "x"

Test(conv_answer, what_is_no_turn_is_refused_at_its_place /* CONV-11, AGT-10 */) {
    static const struct {
        const char *value, *pointer;
    } rows[] = {
        {"{\"operation\":\"open\"}", "/resumeValue/operation"},
        {"{\"operation\":null}", "/resumeValue/operation"},
        {"{\"operation\":\"exchange\"}", "/resumeValue/turn"},
        {SAYS("7"), "/resumeValue/turn"},
        {SAYS("null"), "/resumeValue/turn"},
        {SAYS("{}"), "/resumeValue/turn/content"},
        {SAYS("{\"content\":1,\"more\":1}"), "/resumeValue/turn"},
        {"{\"operation\":\"exchange\",\"turn\":{\"content\":1},\"outcome\":1}", "/resumeValue"},
        {CLOSES(",\"more\":1"), "/resumeValue"},
        {CLOSES(",\"turn\":[]"), "/resumeValue/turn"},
        {SAYS("{\"content\":1,\"turnIndex\":1}"), "/resumeValue/turn/turnIndex"},
        {SAYS("{\"content\":1,\"turnIndex\":3}"), "/resumeValue/turn/turnIndex"},
        {SAYS("{\"content\":1,\"turnIndex\":\"2\"}"), "/resumeValue/turn/turnIndex"},
        {SAYS("{\"content\":1,\"turnIndex\":null}"), "/resumeValue/turn/turnIndex"},
        {SAYS("{\"content\":1,\"turnIndex\":18446744073709551618}"), "/resumeValue/turn/turnIndex"},
        {SAYS("{\"content\":1,\"ts\":-1}"), "/resumeValue/turn/ts"},
        {SAYS("{\"content\":1,\"ts\":1.5}"), "/resumeValue/turn/ts"},
        {SAYS("{\"content\":1,\"ts\":9223372036854775808}"), "/resumeValue/turn/ts"},
        {SAYS("{\"content\":1,\"role\":\"system\"}"), "/resumeValue/turn/role"},
        {SAYS("{\"content\":1,\"role\":\"tool\"}"), "/resumeValue/turn/role"},
        {SAYS("{\"content\":1,\"role\":7}"), "/resumeValue/turn/role"},
        {SAYS("{\"content\":1,\"role\":\"agent\"}"), "/resumeValue/turn/from"},
        {SAYS("{\"content\":1,\"from\":\"\"}"), "/resumeValue/turn/from"},
        {SAYS("{\"content\":1,\"from\":7}"), "/resumeValue/turn/from"},
        {SAYS("{\"content\":1,\"messageId\":\"\"}"), "/resumeValue/turn/messageId"},
        {SAYS("{\"content\":1,\"messageId\":\"" LONG257 "\"}"), "/resumeValue/turn/messageId"},
        {SAYS("{\"content\":1,\"to\":[]}"), "/resumeValue/turn/to"},
        {SAYS("{\"content\":1,\"groupId\":\"" LONG257 "\"}"), "/resumeValue/turn/groupId"},
        {SAYS("{\"content\":1,\"agent\":7}"), "/resumeValue/turn/agent"},
        {SAYS("{\"content\":1,\"agent\":{\"agentId\":\"\"}}"), "/resumeValue/turn/agent"},
        {SAYS("{\"content\":1,\"agent\":{\"agentId\":\"a\",\"more\":1}}"),
         "/resumeValue/turn/agent"},
        {SAYS("{\"content\":1,\"agent\":{\"agentSharing\":\"all\"}}"), "/resumeValue/turn/agent"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_expect_eq(answer(rows[i].value), WOPR_E_VALIDATION, "%s", rows[i].value);
        cr_expect_str_eq(ERR.pointer, rows[i].pointer, "%s: %s", rows[i].value, ERR.pointer);
        cr_expect_null(OUT.p, "outputs are left alone");
    }
}

Test(conv_answer, the_host_alone_speaks_as_the_system /* CONV-17 */) {
    const char *late = "{\"operation\":\"close\",\"outcome\":null,\"turn\":{\"role\":\"system\","
                       "\"content\":{\"reason\":\"timeout\"}}}";
    cr_expect_eq(answer(late), WOPR_E_VALIDATION);
    cr_expect_str_eq(ERR.pointer, "/resumeValue/turn/role");
    cr_expect_eq(answer_as(true, ASKS(",\"outcomeSchema\":" WHOLE), late), 0, "%s", ERR.message);
    cr_expect(str_eqc(json_get(OUT, "turn"), SYSTEM("{\"reason\":\"timeout\"}")), STR_FMT,
              STR_ARG(OUT));
}

Test(conv_answer, content_and_outcome_meet_the_schema /* CONV-12 */) {
    static const struct {
        const char *value, *pointer; /* NULL: it fits */
    } rows[] = {
        {SAYS("{\"content\":{\"n\":1}}"), NULL},
        {"{\"n\":1}", NULL},
        {SAYS("{\"content\":{\"n\":\"secret\"}}"), "/resumeValue/turn/content/n"},
        {"{\"n\":\"secret\"}", "/resumeValue/n"},
        {"\"secret\"", "/resumeValue"},
        {CLOSES(""), NULL},
        {CLOSES(",\"outcome\":{\"n\":1}"), NULL},
        {CLOSES(",\"outcome\":{\"n\":\"secret\"}"), "/resumeValue/outcome/n"},
        {CLOSES(",\"outcome\":\"secret\",\"turn\":{\"content\":\"free\"}"), "/resumeValue/outcome"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int rc = answer_as(false, ASKS(",\"outcomeSchema\":" WHOLE), rows[i].value);
        cr_expect_eq(rc, rows[i].pointer ? WOPR_E_VALIDATION : 0, "%s: %s", rows[i].value,
                     ERR.message);
        if (!rows[i].pointer) continue;
        cr_expect_str_eq(ERR.pointer, rows[i].pointer, "%s", rows[i].value);
        cr_expect_null(strstr(ERR.message, "secret"), "values are not quoted: %s", ERR.message);
    }
}

Test(conv_answer, a_schema_that_never_ends_ends /* bounds */) {
    char *deep = arena_alloc(A, 20000);
    memset(deep, '[', 900);
    memset(deep + 900, ']', 900);
    deep[1800] = '\0';
    if (json_check(str_c(deep), &JSON_LIMITS_STORED, NULL) != 0) deep[0] = '7', deep[1] = '\0';
    const char *loops[] = {
        ASKS(",\"outcomeSchema\":{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"allOf\":[{\"$ref\":"
             "\"#/$defs/a\"}]}}}"),
        ASKS(",\"outcomeSchema\":{\"pattern\":\"(a+)+$\",\"type\":\"string\"}"),
        ASKS(",\"outcomeSchema\":{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"anyOf\":[{\"items\":{"
             "\"$ref\":\"#/$defs/a\"}},{\"items\":{\"$ref\":\"#/$defs/a\"}}],\"not\":{}}}}"),
    };
    const char *values[] = {"1", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\"",
                            deep};
    for (int i = 0; i < 3; i++)
        cr_expect_eq(answer_as(false, loops[i], values[i]), WOPR_E_VALIDATION, "%s", loops[i]);
}

/* --- which channel --- */

static const char *channel_of(const char *channels, const char *config) {
    static char name[64];
    struct str text = arena_printf(
        A,
        "{\"id\":\"w\",\"name\":\"W\",\"version\":\"1\",\"nodes\":[{\"id\":\"n\",\"typeId\":"
        "\"core.noop\",\"name\":\"N\",\"position\":{\"x\":0,\"y\":0},\"config\":%s,\"inputs\":{}}],"
        "\"edges\":[],\"triggers\":[],\"variables\":[],\"metadata\":{},\"settings\":{},"
        "\"channels\":%s}",
        config, channels);
    struct workflow *wf = fw_compile(text.p);
    const struct wf_channel *c = conversation_channel(wf, &wf->nodes[0]);
    snprintf(name, sizeof name, "%.*s", c ? (int)c->name.n : 1, c ? c->name.p : "-");
    workflow_unref(wf);
    return name;
}

#define MESSAGES "{\"reducer\":\"message\"}"

Test(conv_answer, turns_go_to_one_channel_or_to_none /* CONV-3, CONV-15 */) {
    cr_expect_str_eq(channel_of("{}", "{}"), "-");
    cr_expect_str_eq(channel_of("{\"a\":{\"reducer\":\"append\"}}", "{}"), "-");
    cr_expect_str_eq(channel_of("{\"a\":" MESSAGES "}", "{}"), "a");
    cr_expect_str_eq(channel_of("{\"a\":" MESSAGES ",\"b\":" MESSAGES "}", "{}"), "-");
    cr_expect_str_eq(channel_of("{\"a\":" MESSAGES ",\"conversation\":" MESSAGES "}", "{}"),
                     "conversation");
    cr_expect_str_eq(channel_of("{\"a\":" MESSAGES ",\"b\":" MESSAGES "}", "{\"channel\":\"b\"}"),
                     "b");
    cr_expect_str_eq(channel_of("{\"a\":" MESSAGES "}", "{\"channel\":\"none\"}"), "-");
}

/* --- the fold --- */

static const char *event_of(const char *id, long index, const char *member) {
    static char text[256];
    if (index < 0)
        snprintf(text, sizeof text, "{\"conversationId\":\"%s\",\"initialTurn\":{}}", id);
    else
        snprintf(text, sizeof text, "{\"conversationId\":\"%s\",\"turnIndex\":%ld,\"%s\":{}}", id,
                 index, member);
    return text;
}

struct model { /* of the conversation that a node opened last */
    char id[8];
    int turns;
    bool there, closed;
};

static int find(const struct model *m, const char *id) {
    for (int i = 0; i < 3; i++)
        if (m[i].there && strcmp(m[i].id, id) == 0) return i;
    return -1;
}

static void compare(const struct fold_world *w, const struct model *m) {
    int open = 0, last = -1;
    for (int i = 0; i < 3; i++) {
        const struct conversation *c = run_conversation_of(w->s, i);
        cr_assert_eq(c != NULL, m[i].there);
        if (!c) continue;
        cr_assert(str_eqc(text_str(&c->id), m[i].id));
        cr_assert_eq(c->turns, m[i].turns);
        cr_assert_eq(c->closed, m[i].closed);
        cr_assert_eq(run_conversation(w->s, str_c(m[i].id)), c);
        if (!c->closed) open++, last = i;
    }
    const struct conversation *only = run_conversation(w->s, STR_NONE);
    cr_assert_eq(only, open == 1 ? run_conversation_of(w->s, last) : NULL);
}

/* Any events of conversations, in any order: the fold takes what the model takes, and nothing else
 * changes it (CONV-7, CONV-13). */
Test(conv_fold, the_fold_says_what_a_model_says /* CONV-4, CONV-7, CONV-13 */) {
    static const char *const NODES[] = {"a", "b", "c"}, *const IDS[] = {"k", "l", "m", "n"};
    for (unsigned seed = 1; seed <= 40; seed++) {
        struct fold_world w;
        struct model m[3] = {{.there = false}};
        unsigned r = seed * 2654435761u;
        fw_up(&w, FW_PARALLEL, "{}");
        fw_start(&w);
        for (int i = 0; i < 3; i++) fw_node(&w, EV_NODE_STARTED, NODES[i]);
        for (int step = 0; step < 120; step++) {
            r = r * 1664525u + 1013904223u;
            int node = (int)(r >> 8) % 3, kind = (int)(r >> 12) % 5;
            const char *id = IDS[(r >> 16) % 4];
            int at = find(m, id), off = (r >> 20) % 4 == 0 ? (int)(r >> 22) % 3 - 1 : 0;
            bool open = at >= 0 && !m[at].closed;
            if (kind == 0) {
                bool fits = at < 0;
                int rc = fw_event(&w, EV_CONVERSATION_OPENED, NODES[node], event_of(id, -1, ""));
                cr_assert_eq(rc == 0, fits, "seed %u step %d: open %s", seed, step, id);
                if (fits) {
                    m[node] = (struct model){.turns = 1, .there = true};
                    snprintf(m[node].id, sizeof m[node].id, "%s", id);
                }
            } else {
                bool closes = kind == 1;
                long index = (at >= 0 ? m[at].turns : 1) + off;
                int rc = fw_event(&w, closes ? EV_CONVERSATION_CLOSED : EV_CONVERSATION_EXCHANGED,
                                  NODES[node], event_of(id, index, closes ? "finalTurn" : "turn"));
                bool fits = open && off == 0;
                cr_assert_eq(rc == 0, fits, "seed %u step %d: %s of %s", seed, step,
                             closes ? "close" : "turn", id);
                if (fits) m[at].turns++;
                if (fits && closes) m[at].closed = true;
            }
            compare(&w, m);
        }
        fw_down(&w);
    }
}
