/*
 * workspec_document.c: ours: a WorkSpec 2.0 document as a run (docs/workspec.md, an extension of
 * this host).  A host whose discovery does not name it is skipped.
 */
#include "suite.h"

#include <unistd.h>

SCENARIO(workspec_document);

#define HEAD                                                                                       \
    "{\"simulation\":{\"schema_version\":\"2.0\",\"meta\":{\"title\":\"Shop\",\"description\":"    \
    "\"A sale\",\"domain\":\"Demo\"},\"config\":{\"time_unit\":\"minutes\",\"start_time\":"        \
    "\"09:00\",\"end_time\":\"10:00\",\"currency\":\"EUR\",\"locale\":\"en-IE\"},\"world\":"       \
    "{\"objects\":[{\"id\":\"ann\",\"type\":\"actor\",\"name\":\"Ann\",\"properties\":{\"state\":" \
    "\"free\"}},{\"id\":\"box\",\"type\":\"product\",\"name\":\"Box\",\"properties\":"             \
    "{\"quantity\":3}}]},\"process\":{\"tasks\":["
#define TASK(id, start, more)                                                                      \
    "{\"id\":\"" id "\",\"actor_id\":\"ann\",\"start\":\"" start "\",\"duration\":10,"             \
    "\"interactions\":[{\"target_id\":\"box\",\"property_changes\":{\"quantity\":"                 \
    "{\"delta\":-1}}}]" more "}"
#define DOCUMENT                                                                                   \
    HEAD TASK("pack", "09:00", "") "," TASK("sell", "09:10", ",\"depends_on\":[\"pack\"]") "]}}}"

/* Stored under an id of this process, as several suites may run at one host. */
static const char *document_put(const char *text) {
    need_member("extensions.workspec.versions");
    const char *id = fmt("conformance-document-%d", (int)getpid());
    struct reply r = ask("PUT", fmt("/v1/workspec/documents/%s", id), text, NULL);
    cr_assert(r.status == 200 || r.status == 201, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    cr_expect_eq(text_at(r.json, "planSha256").n, 64u);
    return id;
}

static void expect_sold(struct str snap) {
    cr_assert(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
    cr_expect(has(snap, "\"box.quantity\":1"), STR_FMT, STR_ARG(snap));
    cr_expect_eq(int_at(snap, "nodeStates.sell.outputs.end"), 33600000);
}

Test(workspec_document, tasks_change_the_world_in_the_order_of_the_plan) {
    const char *run = create_run(document_put(DOCUMENT), NULL);
    expect_sold(wait_terminal(run, lifecycle_ms()));
    struct json_elements log = json_events(run);
    cr_expect_eq(count_of(log, "node.completed"), 2u);
    cr_expect_eq(count_of(log, "variable.changed"), 2u);
    cr_expect_eq(count_of(log, "artifact.created"), 1u);
    cr_expect(str_eqc(text_at(first_of(log, "node.started"), "nodeId"), "pack"));
    struct str change = first_of(log, "variable.changed");
    cr_expect(str_eqc(text_at(change, "payload.name"), "box.quantity"), STR_FMT, STR_ARG(change));
    cr_expect_eq(int_at(change, "payload.previous"), 3);
    cr_expect_eq(int_at(change, "payload.next"), 2);
    cr_expect(str_eqc(text_at(change, "payload.workspec.cause"), "apply"));
    struct reply r = ask("GET", run_path(run, "/artifacts/world-final"), NULL, NULL);
    cr_expect(r.status == 200 && has(r.body, "\"quantity\":1"), STR_FMT, STR_ARG(r.body));
}

Test(workspec_document, people_are_asked_and_a_replay_asks_nobody) {
    const char *id = document_put(DOCUMENT);
    const char *run = create_run(id, "\"configurable\":{\"workspec.humanTasks\":\"approval\"}");
    static const char *const TASKS[] = {"pack", "sell"};
    for (size_t i = 0; i < COUNT(TASKS); i++) {
        const char *path = run_path(run, fmt("/interrupts/%s", TASKS[i]));
        struct reply r = {0};
        for (int64_t until = now_ms() + lifecycle_ms(); now_ms() < until; nap_ms(20)) {
            r = ask("POST", path, "{\"resumeValue\":{\"action\":\"accept\"}}", NULL);
            if (r.status != 404) break;
        }
        cr_assert_eq(r.status, 200, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    }
    expect_sold(wait_terminal(run, lifecycle_ms()));
    struct reply r =
        ask("POST", run_path(run, ":fork"), "{\"mode\":\"replay\",\"fromSeq\":0}", NULL);
    cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
    const char *replay = arena_cstr(test_arena(), text_at(r.json, "runId"));
    expect_sold(wait_terminal(replay, lifecycle_ms()));
    cr_expect_eq(count_of(json_events(replay), "replay.diverged"), 0u);
}

Test(workspec_document, a_document_with_errors_is_not_stored) {
    need_member("extensions.workspec.versions");
    const char *text = HEAD TASK("pack", "9:00", "") "]}}}";
    struct reply r = ask("POST", "/v1/workspec/validate", text, NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    cr_expect(is_type(r.json, "ok", JSON_BOOL) && str_eqc(at(r.json, "ok"), "false"));
    cr_expect(has(r.body, "/simulation/process/tasks/0/start"), STR_FMT, STR_ARG(r.body));
    r = ask("PUT", "/v1/workspec/documents/conformance-bad-document", text, NULL);
    cr_expect_eq(r.status, 422, STR_FMT, STR_ARG(r.body));
    expect_envelope(&r);
}
