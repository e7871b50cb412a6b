/*
 * RunSnapshot: golden bytes from a view, and the same bytes from a folded state.
 */
#include "base/embed.h"
#include "codec/schema.h"
#include "wire/v1/wire_int.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define RUN "run_01ARZ3NDEKTSV4RRFFQ69G5FAV"

static struct buf out;
static struct arena *a;
static struct wopr_error err;
static void up(void) {
    buf_init(&out, 1 << 20);
    a = arena_new(1 << 22);
}
static void down(void) {
    buf_fini(&out);
    arena_free(a);
}
TestSuite(wire_snapshot, .init = up, .fini = down);

static const char *render(const struct run_view *v, int64_t at_seq) {
    buf_reset(&out);
    cr_assert_eq(v1_snapshot_render(v, at_seq, 0, &out, &err), 0, "%s", err.message);
    cr_assert_eq(json_check(buf_str(&out), &JSON_LIMITS_STORED, &err), 0, "%s: %s", err.message,
                 out.p);
    return out.p;
}

static struct run_view full_view(void) {
    static struct run_view_item nodes[] = {
        {{"b", 1}, {"{\"status\":\"pending\",\"attempt\":0}", 32}},
        {{"a", 1}, {"{\"status\":\"failed\",\"attempt\":1}", 31}}};
    static struct run_view_item vars[] = {{{"x", 1}, {"1", 1}}, {{"log", 3}, {"\"old\"", 5}}};
    static struct run_view_chan chans[] = {
        {.name = {"votes", 5}, .declared = true, .value = {"[1,\n2]", 6}},
        {.name = {"log", 3}, .value = {"[{\"value\":1,\"_ts\":5}]", 21}}};
    return (struct run_view){
        .head = {.run_id = STR(RUN),
                 .status = RUN_FAILED,
                 .engine_version = 1,
                 .era = 2,
                 .shown_engine_version = 2},
        .workflow_id = STR("w"),
        .error =
            STR("{\"code\":\"boom\",\"message\":\"m\",\"retryable\":false,\"details\":{\"k\":1}}"),
        .configurable = STR("{\"ai\":{\"credentialRef\":\"cred-1\"},\"model\":\"m\"}"),
        .tags = STR("[\"t\"]"),
        .metadata = STR("{\"m\":null}"),
        .started_ms = 1700000000000,
        .completed_ms = 1700000001000,
        .nodes = nodes,
        .nodes_nr = 2,
        .vars = vars,
        .vars_nr = 2,
        .chans = chans,
        .chans_nr = 2};
}

Test(wire_snapshot, a_full_view_has_golden_bytes /* RUN-10 RUN-11 RUN-13 EVT-45 CHAN-28 VER-12 */) {
    struct run_view v = full_view();
    cr_expect_str_eq(
        render(&v, -1),
        "{\"runId\":\"" RUN
        "\",\"workflowId\":\"w\",\"status\":\"failed\",\"startedAt\":\"2023-11-14T22:13:20.000Z\","
        "\"completedAt\":\"2023-11-14T22:13:21.000Z\",\"nodeStates\":{\"a\":{\"status\":\"failed\","
        "\"attempt\":1},"
        "\"b\":{\"status\":\"pending\",\"attempt\":0}},\"variables\":{\"log\":[{\"value\":1,\"_"
        "ts\":5}],\"x\":1},"
        "\"channels\":{\"votes\":[1, "
        "2]},\"error\":{\"code\":\"boom\",\"message\":\"m\",\"details\":{\"k\":1}},"
        "\"engineVersion\":\"2\",\"eventLogSchemaVersion\":2,\"tags\":[\"t\"],\"metadata\":{\"m\":"
        "null},"
        "\"configurable\":{\"ai\":{\"credentialRef\":\"[REDACTED]\"},\"model\":\"m\"}}");
}

Test(wire_snapshot, a_pending_run_shows_the_required_members) {
    struct run_view v = {.head = {.run_id = STR(RUN), .shown_engine_version = 1},
                         .workflow_id = STR("w")};
    cr_expect_str_eq(render(&v, -1),
                     "{\"runId\":\"" RUN
                     "\",\"workflowId\":\"w\",\"status\":\"pending\",\"nodeStates\":{},"
                     "\"variables\":{},\"engineVersion\":\"1\",\"eventLogSchemaVersion\":2}");
    cr_expect_not_null(strstr(render(&v, 0), ",\"atSeq\":0}")); /* SSE-17 */
}

Test(wire_snapshot, statuses_are_the_nine_of_the_wire /* CON-2 INT-12 D35 RUN-19 */) {
    static const char *const SHOWN[RUN_STATUS_NR] = {[RUN_PENDING] = "pending",
                                                     [RUN_RUNNING] = "running",
                                                     [RUN_PAUSED] = "paused",
                                                     [RUN_WAITING_APPROVAL] = "waiting-approval",
                                                     [RUN_WAITING_INPUT] = "waiting-input",
                                                     [RUN_WAITING_EXTERNAL] = "waiting-external",
                                                     [RUN_CANCELLING] = "running",
                                                     [RUN_COMPLETED] = "completed",
                                                     [RUN_FAILED] = "failed",
                                                     [RUN_CANCELLED] = "cancelled"};
    for (int s = 0; s < RUN_STATUS_NR; s++)
        cr_expect_str_eq(v1_status_shown((enum run_status)s), SHOWN[s]);
}

static const struct schema *snapshot_schema(struct schema_set *set) {
    static const char *const FILES[] = {"agent-ref", "run-snapshot"};
    const struct schema *schema;
    char name[96];
    for (size_t i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "api/schemas/%s.schema.json", FILES[i]);
        const struct embed_file *f = embed_find(name);
        cr_assert_not_null(f);
        cr_assert_eq(schema_set_add(set, str_c(name), embed_text(f), &err), 0, "%s", err.message);
    }
    cr_assert_eq(schema_compile(set, STR("https://openwop.dev/spec/v1/run-snapshot.schema.json"),
                                &schema, &err),
                 0, "%s", err.message);
    return schema;
}

Test(wire_snapshot, it_is_valid_against_the_published_schema) {
    struct schema_set *set = schema_set_new(true);
    const struct schema *schema = snapshot_schema(set);
    struct schema_issue issue = {0};
    struct run_view v = full_view();
    v.agent = STR_NONE;
    cr_expect_eq(schema_validate_text(schema, str_c(render(&v, 3)), &issue), 0, "%s %s",
                 issue.instance, issue.reason);
    schema_set_free(set);
}

/* --- from a folded state --- */

static const char WORKFLOW[] =
    "{\"id\":\"w\",\"name\":\"W\",\"version\":\"1.0\",\"nodes\":["
    "{\"id\":\"b\",\"typeId\":\"core.noop\",\"name\":\"B\",\"position\":{\"x\":0,\"y\":0},"
    "\"config\":{},\"inputs\":{}},"
    "{\"id\":\"a\",\"typeId\":\"core.noop\",\"name\":\"A\",\"position\":{\"x\":0,\"y\":0},"
    "\"config\":{},\"inputs\":{}}],"
    "\"edges\":[{\"id\":\"e\",\"sourceNodeId\":\"b\",\"targetNodeId\":\"a\"}],"
    "\"triggers\":[{\"id\":\"t\",\"type\":\"manual\",\"enabled\":true}],"
    "\"variables\":[{\"name\":\"v\",\"type\":\"number\",\"defaultValue\":7}],\"metadata\":{},"
    "\"settings\":{}}";

static int apply(struct run_state *s, enum ev_kind k, const char *node, const char *payload) {
    struct event e = {.seq = s->next_seq,
                      .kind = k,
                      .type = str_c(event_name(k)),
                      .node_id = str_c(node),
                      .causation_seq = -1,
                      .ts_ms = 1700000000000 + s->next_seq,
                      .schema_version = 1,
                      .engine_version = 1,
                      .payload = str_c(payload)};
    return run_state_apply(s, &e, &err);
}

Test(wire_snapshot, a_folded_state_gives_the_view_of_the_store /* RUN-15 SSE-17 EVT-41 */) {
    const struct wf_env env = {0};
    struct workflow *wf;
    struct run_state *s;
    struct run_meta meta = {.run_id = STR(RUN),
                            .workflow_id = STR("w"),
                            .inputs = STR("{}"),
                            .shown_engine_version = 1};
    struct run_origin o = {
        .head = {.run_id = STR(RUN), .engine_version = 1, .era = 2, .shown_engine_version = 1}};
    struct run_view v;
    cr_assert_eq(workflow_compile(STR(WORKFLOW), &env, &wf, &err), 0, "%s at %s", err.message,
                 err.pointer);
    cr_assert_eq(run_state_new(wf, &meta, &RUN_LIMITS_DEFAULT, &s, &err), 0, "%s", err.message);
    cr_assert_eq(v1_view_of_state(s, &o, 0, a, &v, &err), 0);
    cr_expect_str_eq(
        render(&v, -1),
        "{\"runId\":\"" RUN "\",\"workflowId\":\"w\",\"status\":\"pending\",\"nodeStates\":{},"
        "\"variables\":{\"v\":7},\"engineVersion\":\"1\",\"eventLogSchemaVersion\":2}");
    cr_assert_eq(apply(s, EV_RUN_STARTED, "", "{\"workflowId\":\"w\"}"), 0, "%s", err.message);
    cr_assert_eq(
        apply(s, EV_NODE_STARTED, "b", "{\"nodeId\":\"b\",\"typeId\":\"core.noop\",\"attempt\":0}"),
        0, "%s", err.message);
    cr_assert_eq(apply(s, EV_NODE_COMPLETED, "b", "{\"nodeId\":\"b\",\"outputs\":{\"o\":1}}"), 0,
                 "%s", err.message);
    cr_assert_eq(v1_view_of_state(s, &o, 0, a, &v, &err), 0);
    cr_expect_str_eq(render(&v, 2),
                     "{\"runId\":\"" RUN "\",\"workflowId\":\"w\",\"status\":\"running\","
                     "\"startedAt\":\"2023-11-14T22:13:20.000Z\",\"nodeStates\":{\"b\":{\"status\":"
                     "\"completed\","
                     "\"attempt\":0,\"startedAt\":\"2023-11-14T22:13:20.001Z\",\"completedAt\":"
                     "\"2023-11-14T22:13:20.002Z\","
                     "\"outputs\":{\"o\":1}}},\"variables\":{\"v\":7},\"engineVersion\":\"1\","
                     "\"eventLogSchemaVersion\":2,"
                     "\"atSeq\":2}");
    run_state_free(s);
    workflow_unref(wf);
}
