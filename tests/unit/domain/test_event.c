/* Event kinds, event ids, and the payload rules: 20-runtime 1.3 and check 3 of its section 14. */
#include "base/mem.h"
#include "codec/json.h"
#include "domain/plan.h"
#include "domain/state_internal.h"

#include <criterion/criterion.h>

static struct payload_rules *rules;

static void rules_up(void) {
    struct wopr_error err = {0};
    int rc = payload_rules_new(&rules, &err);
    cr_assert_eq(rc, 0, "%s at %s", err.message, err.pointer);
}

static void rules_down(void) { payload_rules_free(rules); }

TestSuite(payload_rules, .init = rules_up, .fini = rules_down);

/* kind, an accepted payload with all required members, the required members, closed or open */
struct sample {
    enum ev_kind kind;
    const char *payload;
    const char *required[5];
    bool closed;
};
#define ERROR "{\"code\":\"c\",\"message\":\"m\"}"
static const struct sample SAMPLES[] = {
    {EV_RUN_STARTED, "{\"workflowId\":\"w\"}", {"workflowId"}, false},
    {EV_RUN_COMPLETED, "{\"outputs\":{},\"durationMs\":1}", {NULL}, false},
    {EV_RUN_FAILED, "{\"error\":" ERROR "}", {"error"}, false},
    {EV_RUN_CANCELLED, "{\"reason\":\"r\",\"cancelledBy\":\"system\"}", {NULL}, false},
    {EV_RUN_RESUMING, "{\"fromStatus\":\"paused\"}", {NULL}, false},
    {EV_RUN_PAUSED, "{\"reason\":\"r\",\"drainPolicy\":\"immediate\"}", {NULL}, false},
    {EV_RUN_RESUMED, "{}", {NULL}, false},
    {EV_RUN_RESTORED, "{\"snapshotSeq\":0}", {NULL}, false},
    {EV_NODE_STARTED,
     "{\"nodeId\":\"n\",\"typeId\":\"t\",\"attempt\":0}",
     {"nodeId", "typeId"},
     false},
    {EV_NODE_COMPLETED, "{\"nodeId\":\"n\",\"outputs\":{}}", {"nodeId"}, false},
    {EV_NODE_FAILED,
     "{\"nodeId\":\"n\",\"error\":" ERROR ",\"attempts\":1}",
     {"nodeId", "error"},
     false},
    {EV_NODE_SUSPENDED,
     "{\"nodeId\":\"n\",\"interruptId\":\"i\",\"kind\":\"approval\"}",
     {"nodeId", "interruptId"},
     false},
    {EV_NODE_SUSPEND_FAILED, "{\"nodeId\":\"n\",\"error\":" ERROR "}", {"nodeId", "error"}, false},
    {EV_NODE_RESUMED, "{\"nodeId\":\"n\"}", {"nodeId"}, false},
    {EV_NODE_RETRIED,
     "{\"nodeId\":\"n\",\"attempt\":1,\"lastError\":" ERROR "}",
     {"nodeId", "attempt"},
     false},
    {EV_NODE_SKIPPED, "{\"nodeId\":\"n\"}", {"nodeId"}, false},
    {EV_NODE_CANCELLED, "{\"nodeId\":\"n\"}", {"nodeId"}, false},
    {EV_APPROVAL_REQUESTED,
     "{\"nodeId\":\"n\",\"artifactId\":\"a\",\"artifactType\":\"t\",\"actions\":[\"edit\"]}",
     {"nodeId", "artifactId", "artifactType", "actions"},
     false},
    {EV_APPROVAL_RECEIVED, "{\"nodeId\":\"n\",\"action\":\"accept\"}", {"nodeId", "action"}, false},
    {EV_CLARIFICATION_REQUESTED,
     "{\"nodeId\":\"n\",\"questions\":[{\"id\":\"q\",\"question\":\"?\"}]}",
     {"nodeId", "questions"},
     false},
    {EV_CLARIFICATION_RESOLVED, "{\"nodeId\":\"n\",\"answers\":{}}", {"nodeId", "answers"}, false},
    {EV_INTERRUPT_REQUESTED,
     "{\"kind\":\"custom\",\"key\":\"k\",\"data\":{\"customKind\":\"x\"}}",
     {"kind", "key", "data"},
     true},
    {EV_INTERRUPT_RESOLVED,
     "{\"nodeId\":\"n\",\"interruptId\":\"i\"}",
     {"nodeId", "interruptId"},
     false},
    {EV_CHANNEL_WRITTEN,
     "{\"channel\":\"c\",\"value\":1,\"reducer\":\"message\","
     "\"writtenAt\":\"2024-01-01T00:00:00.000Z\"}",
     {"channel", "value", "reducer", "writtenAt"},
     true},
    {EV_ARTIFACT_CREATED,
     "{\"artifactId\":\"a\",\"artifactType\":\"t\"}",
     {"artifactId", "artifactType"},
     false},
    {EV_OUTPUT_CHUNK, "{\"nodeId\":\"n\",\"chunk\":\"\"}", {"nodeId", "chunk"}, false},
    {EV_VARIABLE_CHANGED, "{\"name\":\"v\"}", {"name"}, false},
    {EV_LOG_APPENDED, "{\"level\":\"info\",\"message\":\"m\"}", {"level", "message"}, false},
    {EV_VERSION_PINNED, "{\"changeId\":\"c\",\"version\":0}", {"changeId", "version"}, false},
    {EV_WORKFLOW_RESTORED, "{}", {NULL}, false},
    {EV_LOOPBACK_LIMIT, "{\"nodeId\":\"n\",\"iterations\":1}", {"nodeId", "iterations"}, false},
    {EV_WORKFLOW_STALLED, "{\"stalledForMs\":0}", {NULL}, false},
    {EV_CAP_BREACHED,
     "{\"kind\":\"node-executions\",\"limit\":3,\"observed\":4}",
     {"kind", "limit", "observed"},
     false},
    {EV_LEASE_ACQUIRED, "{\"leaseId\":\"l\",\"host\":\"cloud\"}", {"leaseId", "host"}, false},
    {EV_LEASE_RENEWED, "{\"leaseId\":\"l\",\"host\":\"cloud\"}", {"leaseId", "host"}, false},
    {EV_LEASE_LOST, "{\"leaseId\":\"l\",\"host\":\"cloud\"}", {"leaseId", "host"}, false},
    {EV_LEASE_HANDED_OFF,
     "{\"leaseId\":\"l\",\"fromHost\":\"cloud\",\"toHost\":\"cloud\"}",
     {"leaseId", "fromHost", "toHost"},
     false},
    {EV_REPLAY_DIVERGED,
     "{\"sourceRunId\":\"r\",\"atSequence\":0}",
     {"sourceRunId", "atSequence"},
     false},
    {EV_AGENT_REASONED,
     "{\"agentId\":\"abc\",\"reasoning\":\"\"}",
     {"agentId", "reasoning"},
     false},
    {EV_AGENT_TOOL_CALLED,
     "{\"agentId\":\"abc\",\"toolName\":\"t\",\"callId\":\"c\"}",
     {"agentId", "toolName", "callId"},
     false},
    {EV_AGENT_TOOL_RETURNED,
     "{\"agentId\":\"abc\",\"toolName\":\"t\",\"callId\":\"c\"}",
     {"agentId", "toolName", "callId"},
     false},
    {EV_AGENT_HANDOFF,
     "{\"fromAgentId\":\"abc\",\"toAgentId\":\"def\"}",
     {"fromAgentId", "toAgentId"},
     false},
    {EV_AGENT_DECIDED, "{\"agentId\":\"abc\",\"decision\":null}", {"agentId", "decision"}, false},
    {EV_ORCHESTRATOR_DECIDED,
     "{\"agentId\":\"abc\",\"decision\":{\"kind\":\"terminate\"}}",
     {"agentId", "decision"},
     true},
    {EV_CONVERSATION_OPENED, "{\"conversationId\":\"c\"}", {"conversationId"}, false},
    {EV_CONVERSATION_EXCHANGED,
     "{\"conversationId\":\"c\",\"turnIndex\":0}",
     {"conversationId", "turnIndex"},
     false},
    {EV_CONVERSATION_CLOSED, "{\"conversationId\":\"c\"}", {"conversationId"}, false},
};
#define SAMPLES_NR (sizeof SAMPLES / sizeof SAMPLES[0])

/* text with one member dropped, or with one that nobody knows */
static struct str variant(struct arena *a, const char *text, const char *drop, bool extra) {
    struct json_members m;
    struct buf b;
    struct jw w;
    cr_assert_eq(json_members(str_c(text), a, &m, NULL), 0);
    buf_init(&b, 4096);
    jw_init(&w, &b);
    jw_object(&w);
    for (size_t i = 0; i < m.n; i++) {
        if (drop && str_eqc(m.v[i].key, drop)) continue;
        jw_key_str(&w, m.v[i].key);
        jw_raw(&w, m.v[i].raw);
    }
    if (extra) jw_kint(&w, "zzUnknown", 1);
    jw_end_object(&w);
    struct str out = arena_str(a, buf_str(&b));
    buf_fini(&b);
    return out;
}

Test(payload_rules, each_kind_has_a_sample) {
    bool seen[EV_NR] = {false};
    for (size_t i = 0; i < SAMPLES_NR; i++) seen[SAMPLES[i].kind] = true;
    for (int k = 0; k < EV_NR; k++)
        cr_expect(seen[k], "%s: add a payload to SAMPLES above", event_name((enum ev_kind)k));
}

Test(payload_rules, a_complete_payload_is_accepted /* EVT-12 */) {
    for (size_t i = 0; i < SAMPLES_NR; i++) {
        struct wopr_error err = {0};
        int rc = payload_check(rules, SAMPLES[i].kind, str_c(SAMPLES[i].payload), &err);
        cr_expect_eq(rc, 0, "%s: %s", event_name(SAMPLES[i].kind), err.message);
    }
}

Test(payload_rules, each_required_member_is_required /* EVT-12 */) {
    struct arena *a = arena_new(1u << 20);
    for (size_t i = 0; i < SAMPLES_NR; i++)
        for (const char *const *req = SAMPLES[i].required; *req; req++) {
            struct str text = variant(a, SAMPLES[i].payload, *req, false);
            cr_expect_eq(payload_check(rules, SAMPLES[i].kind, text, NULL), WOPR_E_PAYLOAD_INVALID,
                         "%s without %s", event_name(SAMPLES[i].kind), *req);
        }
    arena_free(a);
}

Test(payload_rules, only_closed_payloads_refuse_an_unknown_member /* GEN-5 */) {
    struct arena *a = arena_new(1u << 20);
    for (size_t i = 0; i < SAMPLES_NR; i++) {
        struct str text = variant(a, SAMPLES[i].payload, NULL, true);
        int want = SAMPLES[i].closed ? WOPR_E_PAYLOAD_INVALID : 0;
        cr_expect_eq(payload_check(rules, SAMPLES[i].kind, text, NULL), want, "%s",
                     event_name(SAMPLES[i].kind));
    }
    arena_free(a);
}

Test(payload_rules, values_out_of_range_are_refused) {
    static const struct {
        enum ev_kind kind;
        const char *payload;
    } BAD[] = {
        {EV_RUN_STARTED, "[]"},
        {EV_RUN_STARTED, "\"text\""},
        {EV_RUN_STARTED, "{\"workflowId\":\"w\""},
        {EV_RUN_STARTED, "{\"workflowId\":\"\"}"},
        {EV_RUN_STARTED, "{\"workflowId\":\"w\",\"engineVersion\":1}"},
        {EV_RUN_STARTED, "{\"workflowId\":\"w\",\"transport\":\"fax\"}"},
        {EV_RUN_COMPLETED, "{\"durationMs\":-1}"},
        {EV_RUN_FAILED, "{\"error\":{\"code\":\"\",\"message\":\"m\"}}"},
        {EV_NODE_FAILED, "{\"nodeId\":\"n\",\"error\":" ERROR ",\"attempts\":0}"},
        {EV_NODE_SUSPENDED, "{\"nodeId\":\"n\",\"interruptId\":\"i\",\"kind\":\"low-confidence\"}"},
        {EV_AGENT_DECIDED, "{\"agentId\":\"ab\",\"decision\":1}"},
        {EV_AGENT_DECIDED, "{\"agentId\":\"abc\",\"decision\":1,\"confidence\":1.5}"},
        {EV_ORCHESTRATOR_DECIDED, "{\"agentId\":\"abc\",\"decision\":{\"kind\":\"next-worker\"}}"},
        {EV_CHANNEL_WRITTEN, "{\"channel\":\"c\",\"value\":1,\"reducer\":\"messages\","
                             "\"writtenAt\":\"2024-01-01T00:00:00.000Z\"}"},
        {EV_CHANNEL_WRITTEN,
         "{\"channel\":\"c\",\"value\":1,\"reducer\":\"append\",\"writtenAt\":\"yesterday\"}"},
        {EV_OUTPUT_CHUNK, "{\"nodeId\":\"n\",\"chunk\":\"\",\"meta\":{\"unknown\":1}}"},
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        cr_expect_eq(payload_check(rules, BAD[i].kind, str_c(BAD[i].payload), NULL),
                     WOPR_E_PAYLOAD_INVALID, "%s", BAD[i].payload);
}

Test(payload_rules, the_reducers_of_the_schema_and_message_are_known /* EVT-14 a, CX-12 */) {
    static const char *const NAMES[] = {"replace", "append",   "merge",   "counter",
                                        "votes",   "feedback", "message", "vendor.acme.last"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        struct arena *a = arena_new(65536);
        struct str text = pay_channel_written(a, STR("c"), STR("1"), NAMES[i], 1000, STR("n"), 1);
        cr_expect_eq(payload_check(rules, EV_CHANNEL_WRITTEN, text, NULL), 0, "%s", NAMES[i]);
        arena_free(a);
    }
}

Test(payload_rules, what_passed_is_known_byte_for_byte_to_its_thread_and_rules) {
    struct payload_rules *other = NULL;
    struct str good = STR("{\"nodeId\":\"n\",\"typeId\":\"t\",\"attempt\":0}");
    char big[600];
    cr_expect_not(payload_passed(rules, EV_NODE_STARTED, good));
    payload_remember(rules, EV_NODE_STARTED, good);
    cr_expect(payload_passed(rules, EV_NODE_STARTED, good));
    cr_expect_not(payload_passed(rules, EV_NODE_COMPLETED, good), "for this kind only");
    for (size_t i = 0; i < good.n; i++) { /* each byte counts, and the length */
        char bent[64];
        memcpy(bent, good.p, good.n);
        bent[i] ^= 1;
        cr_expect_not(payload_passed(rules, EV_NODE_STARTED, str_n(bent, good.n)));
        cr_expect_not(payload_passed(rules, EV_NODE_STARTED, str_n(good.p, i)));
    }
    cr_assert_eq(payload_rules_new(&other, NULL), 0);
    cr_expect_not(payload_passed(other, EV_NODE_STARTED, good), "other rules, other answers");
    payload_rules_free(other);
    memset(big, 'x', sizeof big);
    payload_remember(rules, EV_NODE_STARTED, str_n(big, sizeof big));
    cr_expect_not(payload_passed(rules, EV_NODE_STARTED, str_n(big, sizeof big)), "too long");
}

Test(payload_rules, the_size_limit_is_exact) {
    static const char head[] = "{\"name\":\"v\",\"next\":\"", tail[] = "\"}";
    size_t fill = EVENT_PAYLOAD_MAX - (sizeof head - 1) - (sizeof tail - 1);
    for (size_t over = 0; over < 2; over++) {
        struct buf b;
        buf_init(&b, 2 * EVENT_PAYLOAD_MAX);
        buf_addz(&b, head);
        for (size_t i = 0; i < fill + over; i++) buf_addc(&b, 'x');
        buf_addz(&b, tail);
        cr_expect_eq(payload_check(rules, EV_VARIABLE_CHANGED, buf_str(&b), NULL),
                     over ? WOPR_E_PAYLOAD_INVALID : 0);
        buf_fini(&b);
    }
}

Test(payload_rules, an_unknown_kind_is_never_written /* EVT-13 */) {
    cr_expect_eq(payload_check(rules, EV_UNKNOWN, STR("{}"), NULL), WOPR_E_PAYLOAD_INVALID);
    cr_expect_eq(payload_check(rules, EV_NR, STR("{}"), NULL), WOPR_E_PAYLOAD_INVALID);
}

Test(event, names_and_kinds_are_each_others_inverse /* EVT-8, D24 */) {
    for (int k = 0; k < EV_NR; k++) {
        const char *name = event_name((enum ev_kind)k);
        cr_expect_eq((int)event_kind_of(str_c(name)), k, "%s", name);
    }
    cr_expect_eq(EV_NR, 47, "events.def has %d kinds: none may leave; state the new number here",
                 (int)EV_NR);
    cr_expect_eq(event_kind_of(STR("run.replay.started")), EV_UNKNOWN); /* EVT-9 */
    cr_expect_eq(event_kind_of(STR("")), EV_UNKNOWN);
    cr_expect_str_eq(event_name(EV_UNKNOWN), "unknown");
    cr_expect_eq(event_modes(EV_UNKNOWN), 0);
}

Test(event, terminal_and_flushing_kinds /* EVT-7, SSE-33 */) {
    int terminal = 0, flush = 0;
    for (int k = 0; k < EV_NR; k++) {
        terminal += event_is_terminal((enum ev_kind)k);
        flush += event_kind_is((enum ev_kind)k, EV_F_FLUSH);
    }
    cr_expect_eq(terminal, 3);
    cr_expect_eq(flush, 4);
    cr_expect(event_kind_is(EV_NODE_SUSPENDED, EV_F_FLUSH));
}

static bool accepted_somewhere(enum ev_kind k) {
    for (int st = 0; st < RUN_STATUS_NR; st++)
        if (run_edge((enum run_status)st, k) >= 0) return true;
    return false;
}

/* -1 when no node has this event, else the status of a running (a pending, ...) node after it. */
static int node_status_after(enum ev_kind k) {
    for (int st = 0; st < NODE_STATUS_NR; st++) {
        int to = node_edge((enum node_status)st, k);
        if (to >= 0) return to;
    }
    return -1;
}

static bool node_status_ends(int st) {
    return st == NODE_COMPLETED || st == NODE_FAILED || st == NODE_SKIPPED || st == NODE_CANCELLED;
}

Test(event, the_columns_of_every_row_agree /* EVT-7, SSE-33, STORE-39, FORK-18 */) {
    for (int i = 0; i < EV_NR; i++) {
        enum ev_kind k = (enum ev_kind)i;
        const char *name = event_name(k);
        int node_to = node_status_after(k);
        bool of_node = event_kind_is(k, EV_F_OF_NODE), ends_run = event_kind_is(k, EV_F_ENDS_RUN);
        cr_expect(accepted_somewhere(k), "no run takes %s", name);
        cr_expect_eq(of_node, node_to >= 0, "%s", name);
        cr_expect_eq(of_node, strncmp(name, "node.", 5) == 0, "%s", name);
        cr_expect_eq(event_kind_is(k, EV_F_ENDS_NODE), node_status_ends(node_to), "%s", name);
        cr_expect(!ends_run || event_kind_is(k, EV_F_FLUSH), "%s", name);
        cr_expect(!ends_run || event_kind_is(k, EV_F_PARENT_NEWS), "%s", name);
        cr_expect(!ends_run || !event_kind_is(k, EV_F_NOT_REPLAYED), "%s", name);
        cr_expect(!of_node || !event_kind_is(k, EV_F_EFFECT), "%s", name);
        cr_expect_not(event_follows(k, k), "%s", name);
        cr_expect_eq(strlen(event_mark(k)), 1, "%s", name);
        cr_expect_gt(strlen(event_payload_def(k)), 0, "%s", name);
    }
}

Test(event, every_total_counts_one_kind) {
    int kinds[EV_COUNT_NR] = {0};
    for (int k = 0; k < EV_NR; k++) kinds[event_count((enum ev_kind)k)]++;
    for (int c = EV_COUNT_NOTHING + 1; c < EV_COUNT_NR; c++) cr_expect_eq(kinds[c], 1, "%d", c);
}

Test(event, what_follows_one_cause_makes_a_chain /* FORK-13, EVT-26, EVT-27 */) {
    static const enum ev_kind asked[] = {EV_INTERRUPT_REQUESTED, EV_APPROVAL_REQUESTED,
                                         EV_NODE_SUSPENDED};
    static const enum ev_kind answered[] = {EV_CHANNEL_WRITTEN, EV_INTERRUPT_RESOLVED,
                                            EV_APPROVAL_RECEIVED, EV_NODE_RESUMED};
    for (int i = 0; i < 2; i++) cr_expect(event_follows(asked[i + 1], asked[i]));
    for (int i = 0; i < 3; i++) cr_expect(event_follows(answered[i + 1], answered[i]));
    for (int i = 0; i < 4; i++) cr_expect(event_kind_is(answered[i], EV_F_ANSWERS));
    cr_expect_not(event_follows(EV_NODE_SUSPENDED, EV_NODE_STARTED));
    cr_expect_not(event_follows(EV_NODE_SUSPENDED, EV_UNKNOWN));
}

Test(event, only_what_is_masked_by_declaration_or_from_outside_is_not_scrubbed /* OBS-75 */) {
    static const enum ev_kind shown[] = {EV_RUN_STARTED, EV_RUN_COMPLETED, EV_NODE_COMPLETED,
                                         EV_CHANNEL_WRITTEN, EV_VARIABLE_CHANGED};
    size_t nr = 0;
    for (int k = 0; k < EV_NR; k++) nr += event_kind_is((enum ev_kind)k, EV_F_SHOWN);
    cr_expect_eq(nr, sizeof shown / sizeof shown[0]);
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        cr_expect(event_kind_is(shown[i], EV_F_SHOWN), "%s", event_name(shown[i]));
}

Test(event, of_an_unknown_kind_nothing_is_known /* GEN-5 */) {
    cr_expect_not(event_kind_is(EV_UNKNOWN, ~0u));
    cr_expect_not(event_follows(EV_UNKNOWN, EV_NODE_STARTED));
    cr_expect_eq(event_count(EV_UNKNOWN), EV_COUNT_NOTHING);
    cr_expect_eq(event_tone(EV_UNKNOWN), EV_TONE_DIM);
    cr_expect_str_eq(event_mark(EV_UNKNOWN), " ");
}

Test(event, an_event_id_names_one_event_of_its_run /* D11, EVT-1 */) {
    const struct str run = STR("run_01ARZ3NDEKTSV4RRFFQ69G5FAV"), other = STR("night-7");
    char id[EVENT_ID_SIZE];
    int64_t seq = -1;
    event_id_format(run, 42, id);
    cr_expect_str_eq(id, "01ARZ3NDEKTSV4RRFFQ69G5FAV-42");
    cr_expect(event_id_parse(run, str_c(id), &seq) && seq == 42);
    event_id_format(other, INT64_MAX, id);
    cr_expect(event_id_parse(other, str_c(id), &seq) && seq == INT64_MAX);
    cr_expect_not(event_id_parse(run, str_c(id), &seq));
    static const char *const BAD[] = {"",
                                      "01ARZ3NDEKTSV4RRFFQ69G5FAV",
                                      "01ARZ3NDEKTSV4RRFFQ69G5FAV-",
                                      "01ARZ3NDEKTSV4RRFFQ69G5FAV-01",
                                      "01ARZ3NDEKTSV4RRFFQ69G5FAV--1",
                                      "01ARZ3NDEKTSV4RRFFQ69G5FAV-9223372036854775808",
                                      "01ARZ3NDEKTSV4RRFFQ69G5FAW-1"};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        cr_expect_not(event_id_parse(run, str_c(BAD[i]), &seq), "%s", BAD[i]);
}
