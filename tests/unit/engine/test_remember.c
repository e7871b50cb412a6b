/*
 * test_remember.c: long-term memory in runs: what executors write and read, that it happens once
 * whatever crashes, forks and replays, and that no secret gets there (MEM-3 to MEM-15, MEM-30 to
 * MEM-33).
 */
#include "fork_kit.h"
#include "log_kit.h"
#include "oracle_kit.h"

#include "base/clock.h"
#include "store/credentials.h"
#include "store/memory.h"

#include <string.h>

static void up_virtual(void) {
    world_virtual_time();
    world_up();
}
TestSuite(engine_remember, .init = up_virtual, .fini = world_down, .timeout = 300);

#define AGENT(id, config, ref)                                                                     \
    "{\"id\":\"" id "\",\"typeId\":\"core.identity\",\"name\":\"" id                               \
    "\",\"position\":{\"x\":0,\"y\":0},\"config\":{" config                                        \
    "},\"inputs\":{},\"agent\":{\"agentId\":\"core.test.one\",\"memoryRef\":\"" ref "\"}}"
#define REF    "test/notes"
#define WRITES AGENT("m", "\"memoryAction\":\"write-then-read\"", REF)
#define LASTS  AGENT("t", "\"memoryAction\":\"ttl-probe\"", REF)
#define SECRET "conformance-test-secret"
#define PLAIN  "correct-horse-battery"
#define REDACTS                                                                                    \
    AGENT("s", "\"memoryAction\":\"redaction-probe\",\"byokSecretId\":\"" SECRET "\"", REF)
#define STRANGER "\"memoryAction\":\"cross-tenant-probe\",\"probeMemoryRef\":\"" REF "\""
#define CROSSES  NODE("c", "core.identity", STRANGER, "")
#define ALL_FOUR WRITES "," CROSSES "," REDACTS "," LASTS
#define IN_TURN  EDGE("e1", "m", "c", "") "," EDGE("e2", "c", "s", "") "," EDGE("e3", "s", "t", "")

static struct str tenant_of(struct str run) {
    struct run_origin o;
    struct wopr_error err;
    cr_assert_eq(store_run_origin(W.store, world_head(run).run_no, W.a, &o, &err), 0);
    return o.meta.tenant;
}

static void secret_put(struct str tenant, const char *name, const char *value) {
    struct wopr_error err;
    struct credential c = {.id = {.tenant = tenant,
                                  .test_mode = true,
                                  .issuer = STR(""),
                                  .subject = STR(""),
                                  .name = str_c(name)},
                           .kind = CREDENTIAL_CUSTOM,
                           .provider = STR(""),
                           .updated_ms = clock_wall_ms()};
    cr_assert_eq(credential_put(W.store, W.vault, &c, str_c(value), &err), 0, "%s", err.message);
}

/* The tenant of the runs of this world. */
static struct str tenant(void) {
    struct str run =
        world_start(world_def("tenant", NODE("n", "core.noop", "", ""), 0, 0, 0, 0), NULL);
    (void)world_wait_final(run);
    return tenant_of(run);
}

static struct str ended(const char *nodes, const char *edges) {
    struct str run = world_start(world_def("w", nodes, edges, 0, 0, 0), NULL);
    (void)world_wait_final(run);
    world_check_log(run);
    return run;
}

static struct memory_entries entries_of(struct str of, bool sees_all) {
    const struct memory_place at = {.tenant = of, .test_mode = true, .ref = STR(REF)};
    const struct memory_view all = MEMORY_ALL(sees_all ? 1 : clock_wall_ms());
    struct memory_entries l;
    struct wopr_error err;
    int rc = memory_list(W.store, W.vault, &at, &all, &(struct memory_filter){.tag = STR("")}, 0,
                         W.a, &l, &err);
    cr_assert_eq(rc, 0, "%s", err.message);
    return l;
}

static struct str member(struct str run, const char *variable, const char *key) {
    return json_string(json_get(world_var(run, variable), key), W.a);
}

static void completes(struct str run) {
    cr_assert_eq(world_head(run).status, RUN_COMPLETED, "%s: " STR_FMT, world_story(run),
                 STR_ARG(world_view(run).error));
}

Test(engine_remember, a_run_reads_what_it_wrote /* MEM-4, MEM-5, MEM-8, MEM-14, MEM-30 */) {
    struct str a = ended(WRITES, 0), b = ended(WRITES, 0);
    completes(a);
    completes(b);
    struct memory_entries l = entries_of(tenant_of(a), false);
    cr_assert_eq(l.n, 2u);
    cr_expect(str_eq(l.v[1].id, member(a, "memoryReadback", "id")));
    cr_expect(str_eq(l.v[0].id, member(b, "memoryReadback", "id")), "its own, not an earlier one");
    cr_expect(str_eq(l.v[0].content, member(b, "memoryReadback", "content")));
    cr_expect_eq(l.v[0].tags.n, 1u);
    cr_expect(str_eqc(l.v[0].tags.v[0], "source:conformance"), "MEM-15");
    cr_expect(str_starts(l.v[0].id, arena_printf(W.a, STR_FMT ":", STR_ARG(tenant_of(a)))));
    cr_expect_eq(l.v[0].writer_run_no, world_head(b).run_no);
}

Test(engine_remember, another_tenants_entries_are_not_there /* MEM-7, MEM-31 */) {
    struct str run = ended(CROSSES, 0);
    completes(run);
    cr_expect(str_eqc(world_var(run, "crossTenantProbe"), "[]"));
    cr_expect_eq(entries_of(STR("conformance.another-tenant"), false).n, 1u, "there is one");
    cr_expect_eq(entries_of(tenant_of(run), false).n, 0u);
}

Test(engine_remember, what_has_expired_is_not_seen_and_goes /* MEM-12, MEM-33 */) {
    struct str run = ended(LASTS, 0);
    struct json_elements e;
    completes(run);
    cr_assert_eq(json_elements(world_var(run, "memoryList"), W.a, &e, NULL), 0);
    cr_assert_eq(e.n, 1u);
    cr_expect(str_eqc(json_get(e.v[0], "content"), "\"still so\""));
    cr_expect_eq(entries_of(tenant_of(run), true).n, 2u, "both are stored");
    world_time_skip(2 * 3600 * 1000); /* the upkeep of the engine purges once a minute */
    for (int i = 0; i < 3000 && entries_of(tenant_of(run), true).n > 0; i++) world_time_skip(1000);
    cr_expect_eq(entries_of(tenant_of(run), true).n, 0u);
    cr_expect_eq(world_sql_number("SELECT count(*) FROM memory_usage"), 0);
}

Test(engine_remember, no_secret_of_the_run_gets_into_memory /* MEM-10, MEM-32 */) {
    struct str of = tenant();
    secret_put(of, SECRET, PLAIN);
    struct str run = ended(REDACTS, 0);
    completes(run);
    struct str content = member(run, "memoryReadback", "content");
    cr_expect(str_eqc(content, "the door opens with [REDACTED:" SECRET "], always"), STR_FMT,
              STR_ARG(content));
    struct event_list l = world_events(run);
    for (size_t i = 0; i < l.n; i++)
        cr_expect_null(strstr(arena_cstr(W.a, l.v[i].payload), PLAIN), STR_FMT,
                       STR_ARG(l.v[i].payload));
    cr_expect_eq(world_sql_number("SELECT count(*) FROM effects WHERE outcome LIKE '%" PLAIN "%'"),
                 0);
}

Test(engine_remember, a_secret_that_is_not_there_fails_the_node /* NODE-5 */) {
    struct str run = ended(REDACTS, 0);
    cr_expect_eq(world_head(run).status, RUN_FAILED);
    cr_expect(str_eqc(json_get(world_view(run).error, "code"), "\"credential_required\""));
    cr_expect_eq(entries_of(tenant_of(run), true).n, 0u);
}

Test(engine_remember, an_action_that_is_none_fails_the_node /* MEM-30..33 */) {
    static const char *const bad[] = {
        AGENT("m", "\"memoryAction\":\"forget\"", REF), AGENT("m", "\"memoryAction\":7", REF),
        NODE("m", "core.identity", "\"memoryAction\":\"write-then-read\"", ""),
        AGENT("m", "\"memoryAction\":\"write-then-read\"", "/etc"),
        AGENT("m", "\"memoryAction\":\"write-then-read\"", "a/../b")};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct str run = ended(bad[i], 0);
        cr_expect_eq(world_head(run).status, RUN_FAILED, "%s", bad[i]);
        cr_expect(str_eqc(json_get(world_view(run).error, "code"), "\"validation_error\""), STR_FMT,
                  STR_ARG(world_view(run).error));
    }
}

/* --- once --- */

Test(engine_remember, forks_read_what_was_recorded_and_write_nothing /* MEM-9, FORK-14 */) {
    struct str of = tenant();
    secret_put(of, SECRET, PLAIN);
    struct str run = ended(ALL_FOUR, IN_TURN);
    completes(run);
    int64_t entries = world_sql_number("SELECT count(*) FROM memory_entries");
    cr_expect_eq(entries, 5);
    world_time_skip(3600 * 1000 * 2); /* what was read is over, and what was there is gone */
    for (int64_t at = 0; at < world_head(run).next_seq; at++)
        fork_replays_equal(run, at, RUN_COMPLETED);
    cr_expect_leq(world_sql_number("SELECT count(*) FROM memory_entries"), entries);
    cr_expect_eq(world_sql_number("SELECT count(DISTINCT writer_run_no) FROM memory_entries"
                                  " WHERE expires_ms IS NULL"),
                 1);
}

Test(engine_remember, a_branch_writes_on_its_own /* MEM-8 */) {
    struct str run = ended(WRITES, 0);
    struct str branch = fork_run(run, FORK_BRANCH, 1);
    cr_expect_eq(world_wait_final(branch), RUN_COMPLETED, "%s", world_story(branch));
    cr_expect_eq(entries_of(tenant_of(run), true).n, 2u);
    cr_expect(!str_eq(member(run, "memoryReadback", "id"), member(branch, "memoryReadback", "id")));
}

/* An agent of the tests: config.ops is what it does with memory, one after the other, beside
 * {"op":"wait","ms"} and {"op":"fail"} (its first attempt). */
static bool op_do(const struct node_call *call, struct node_result *out, unsigned no, struct str op,
                  struct str *result) {
    struct str kind = json_get(op, "op"), ref = json_string(json_get(op, "ref"), call->a);
    struct str tag = json_string(json_get(op, "tag"), call->a), id = STR_NONE;
    int64_t n = 0;
    if (str_eqc(kind, "\"put\"")) {
        struct node_memory_write w = {.ref = ref,
                                      .content = json_string(json_get(op, "content"), call->a),
                                      .tags = &tag,
                                      .tags_nr = tag.n > 0};
        (void)json_int(json_get(op, "ttl"), &w.ttl_ms);
        bool ok = node_memory_put(call, out, no, &w, &id);
        *result = arena_printf(call->a, "\"" STR_FMT "\"", STR_ARG(id));
        return ok;
    }
    if (str_eqc(kind, "\"list\"")) {
        (void)json_int(json_get(op, "limit"), &n);
        const struct node_memory_query q = {.ref = ref, .tag = tag, .limit = (unsigned)n};
        return node_memory_list(call, out, no, &q, result);
    }
    id = json_string(json_get(op, "id"), call->a);
    return node_memory_get(call, out, no, ref, id, result);
}

static _Atomic unsigned ENTERED;

static void exec_ops(const struct node_call *call, struct node_result *out) {
    struct json_elements ops;
    struct buf b;
    ENTERED++;
    cr_assert_eq(json_elements(json_get(call->config, "ops"), call->a, &ops, NULL), 0);
    buf_init(&b, 1 << 22);
    buf_addz(&b, "[");
    for (size_t i = 0; i < ops.n; i++) {
        struct str result = STR("null"), kind = json_get(ops.v[i], "op");
        if (str_eqc(kind, "\"wait\"") && !call->waited) {
            out->outcome = NODE_OUT_WAIT;
            out->wait_ms = 60000;
            goto end;
        }
        if (str_eqc(kind, "\"fail\"") && call->attempt == 0) {
            node_fail(out, "flaky", "the first attempt", true);
            goto end;
        }
        if (!str_eqc(kind, "\"wait\"") && !str_eqc(kind, "\"fail\"") &&
            !op_do(call, out, (unsigned)i, ops.v[i], &result))
            goto end;
        if (i > 0) buf_addz(&b, ",");
        buf_adds(&b, result);
    }
    buf_addz(&b, "]");
    struct node_effect *x = node_effect_add(call, out, EFFECT_VARIABLE);
    x->name = call->def->id;
    x->value = arena_str(call->a, buf_str(&b));
    out->outcome = NODE_OUT_DONE;
end:
    buf_fini(&b);
}

static void up_with_ops(void) {
    static const struct node_type type = {.type_id = "test.remember", .fn = exec_ops};
    struct wopr_error err;
    up_virtual();
    cr_assert_eq(node_registry_add(W.types, &type, &err), 0); /* no run has looked yet */
}
TestSuite(engine_remembers, .init = up_with_ops, .fini = world_down, .timeout = 300);

#define OPS(id, ops) NODE(id, "test.remember", "\"ops\":[" ops "]", "")
#define PUT(content) "{\"op\":\"put\",\"ref\":\"" REF "\",\"content\":\"" content "\"}"
#define LIST         "{\"op\":\"list\",\"ref\":\"" REF "\"}"
#define TRIES(id, ops)                                                                             \
    "{\"id\":\"" id "\",\"typeId\":\"test.remember\",\"name\":\"" id                               \
    "\",\"position\":{\"x\":0,\"y\":0},\"config\":{\"ops\":[" ops                                  \
    "]},\"inputs\":{},\"settings\":{\"maxRetries\":1,\"retryDelayMs\":60000}}"

static struct json_elements results(struct str run, const char *node) {
    struct json_elements e;
    cr_assert_eq(json_elements(world_var(run, node), W.a, &e, NULL), 0, "%s", world_story(run));
    return e;
}

Test(engine_remembers, nothing_is_done_twice_after_a_wait_or_in_another_attempt /* STORE-39 */) {
    static const char *const nodes[] = {OPS("n", PUT("one") "," LIST ","
                                                            "{\"op\":\"wait\"}"
                                                            "," PUT("two") "," LIST),
                                        TRIES("n", PUT("one") "," LIST ","
                                                              "{\"op\":\"fail\"}"
                                                              "," PUT("two") "," LIST)};
    for (int k = 0; k < 4; k++) {
        int64_t before = world_sql_number("SELECT count(*) FROM memory_entries");
        struct str run = world_start(world_def("w", nodes[k / 2], 0, 0, 0, 0), NULL);
        world_wait_event(run, k / 2 == 0 ? EV_NODE_STARTED : EV_NODE_RETRIED, 1);
        while (world_sql_number("SELECT count(*) FROM memory_entries") == before) sched_yield();
        if (k % 2 == 1) world_engine_crash();
        if (k % 2 == 1) world_engine_start();
        world_time_skip(61000);
        cr_expect_eq(world_wait_final(run), RUN_COMPLETED, "%s", world_story(run));
        cr_expect_eq(world_sql_number("SELECT count(*) FROM memory_entries"), before + 2);
        struct json_elements r = results(run, "n");
        cr_assert_eq(r.n, 5u);
        struct json_elements first, last;
        cr_assert_eq(json_elements(r.v[1], W.a, &first, NULL), 0);
        cr_assert_eq(json_elements(r.v[4], W.a, &last, NULL), 0);
        cr_expect_eq(last.n, first.n + 1, "the first list stays as it was");
        cr_expect(str_eqc(json_get(first.v[0], "content"), "\"one\""));
        cr_expect(str_eqc(json_get(last.v[0], "content"), "\"two\""));
    }
}

Test(engine_remembers, a_kill_at_every_commit_loses_and_repeats_nothing /* STORE-38 */) {
    static const char *const nodes =
        OPS("a", PUT("one") "," LIST) "," NODE("x", "core.delay", "\"ms\":60000", "") "," OPS(
            "b", PUT("two") "," LIST) "," NODE("y", "core.delay", "\"ms\":60000",
                                               "") "," OPS("c", PUT("three") "," LIST);
    static const char *const edges = EDGE("1", "a", "x", "") "," EDGE("2", "x", "b", "") "," EDGE(
        "3", "b", "y", "") "," EDGE("4", "y", "c", "");
    for (unsigned k = 0; k <= 4; k++) { /* 0: as soon as it is there; 4: at both delays */
        struct str run = world_start(world_def("w", nodes, edges, 0, 0, 0), NULL);
        for (unsigned delay = 0; delay <= 2; delay++) {
            if (delay > 0) world_wait_event(run, EV_NODE_STARTED, 2 * delay);
            if (k == delay || (k == 4 && delay > 0)) {
                world_engine_crash();
                world_engine_start();
            }
            if (delay > 0) world_time_skip(61000);
        }
        cr_expect_eq(world_wait_final(run), RUN_COMPLETED, "%s", world_story(run));
        world_check_log(run);
        char *q = (char *)(uintptr_t)arena_cstr(
            W.a, arena_printf(W.a, "SELECT count(*) FROM memory_entries WHERE writer_run_no = %d",
                              (int)world_head(run).run_no));
        cr_expect_eq(world_sql_number(q), 3, "%u: %s", k, world_story(run));
        struct json_elements l;
        cr_assert_eq(json_elements(results(run, "c").v[1], W.a, &l, NULL), 0);
        for (size_t i = 0; i < 3; i++) {
            static const char *const want[] = {"\"three\"", "\"two\"", "\"one\""};
            cr_expect(str_eqc(json_get(l.v[i], "content"), want[i]), "%u: " STR_FMT, k,
                      STR_ARG(l.v[i]));
        }
        fork_replays_equal(run, (int64_t)k, RUN_COMPLETED);
    }
}

Test(engine_remembers, a_full_memory_fails_its_node_and_nothing_else /* MEM-13, the bounds */) {
    char text[40000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    world_engine_stop();
    W.cfg.memory = (struct engine_memory){.entry_bytes_max = 50000, .ref_bytes_max = 100000};
    world_engine_start();
    const char *put = arena_cstr(
        W.a, arena_printf(W.a, "{\"op\":\"put\",\"ref\":\"" REF "\",\"content\":\"%s\"}", text));
    for (int i = 0; i < 3; i++) {
        struct str node = arena_printf(
            W.a,
            "{\"id\":\"n\",\"typeId\":\"test.remember\",\"name\":\"n\",\"position\":{\"x\":0,"
            "\"y\":0},\"config\":{\"ops\":[%s]},\"inputs\":{}}",
            put);
        struct str run = ended(arena_cstr(W.a, node), 0);
        cr_expect_eq(world_head(run).status, i < 2 ? RUN_COMPLETED : RUN_FAILED, "%d", i);
        if (i == 2)
            cr_expect(str_eqc(json_get(world_view(run).error, "code"), "\"memory_full\""), STR_FMT,
                      STR_ARG(world_view(run).error));
    }
    world_engine_stop();
    W.cfg.memory.entry_bytes_max = 30000;
    world_engine_start();
    struct str run = ended(OPS("n", PUT("short") "," LIST), 0);
    completes(run);
    cr_expect_leq(world_var(run, "n").n, 2 * 40000u + 2000);
}

/* Both pass the look and meet at the commit: the one that is refused fails as well. */
Test(engine_remembers, two_entries_of_one_step_count_both /* the bounds, exactly */) {
    world_engine_stop();
    W.cfg.memory = (struct engine_memory){.ref_bytes_max = 700};
    world_engine_start();
    struct str run = ended(OPS("n", PUT("one") "," PUT("two")), 0);
    cr_expect_eq(world_head(run).status, RUN_FAILED, "%s", world_story(run));
    cr_expect_eq(world_sql_number("SELECT count(*) FROM memory_entries"), 0);
}

Test(engine_remembers, secrets_are_found_after_a_restart_and_when_they_were_changed /* MEM-10 */) {
    struct str of = tenant();
    secret_put(of, "first", "tiger-tiger");
    secret_put(of, "longer", "tiger-tiger-burning");
    secret_put(of, "short", "tiger");
    struct str run = ended(
        OPS("n", PUT("a tiger-tiger-burning, a tiger-tiger, a tiger") "," LIST ","
                                                                      "{\"op\":\"put\","
                                                                      "\"ref\":\"" REF
                                                                      "\",\"content\":\"\",\"tag\":"
                                                                      "\"of:tiger-tiger\"}"
                                                                      "," LIST),
        0);
    completes(run);
    struct json_elements l;
    cr_assert_eq(json_elements(results(run, "n").v[3], W.a, &l, NULL), 0);
    cr_expect(str_eqc(json_get(l.v[1], "content"),
                      "\"a [REDACTED:longer], a [REDACTED:first], a tiger\""),
              STR_FMT, STR_ARG(l.v[1]));
    cr_expect(str_eqc(json_get(l.v[0], "tags"), "[\"of:[REDACTED:first]\"]"), STR_FMT,
              STR_ARG(l.v[0]));
}

Test(engine_remembers, a_secret_that_was_replaced_meanwhile_is_still_one /* MEM-10 */) {
    static const char *const nodes = REDACTS
        "," NODE("d", "core.delay", "\"ms\":60000", "") "," OPS("n", PUT("a " PLAIN) "," LIST);
    struct str of = tenant();
    secret_put(of, SECRET, PLAIN);
    struct str run = world_start(
        world_def("w", nodes, EDGE("e", "s", "d", "") "," EDGE("f", "d", "n", ""), 0, 0, 0), NULL);
    world_wait_event(run, EV_NODE_STARTED, 2);
    secret_put(of, SECRET, "another-value");
    world_time_skip(61000);
    cr_assert_eq(world_wait_final(run), RUN_COMPLETED, "%s", world_story(run));
    struct json_elements l;
    cr_assert_eq(json_elements(results(run, "n").v[1], W.a, &l, NULL), 0);
    cr_expect(str_eqc(json_get(l.v[0], "content"), "\"a [REDACTED:" SECRET "]\""), STR_FMT,
              STR_ARG(l.v[0]));
}

Test(engine_remembers, workflows_remember_and_recall /* MEM-3, MEM-15 */) {
    static const char *const parts[] = {
        NODE("a", "vendor.wopr.remember",
             "\"ref\":\"r\",\"content\":\"Ada likes tea\",\"tags\":[\"taste\"],\"ttlMs\":3600000",
             ""),
        NODE("b", "vendor.wopr.remember", "\"ref\":\"r\",\"content\":\"it rains\"", ""),
        NODE("c", "vendor.wopr.recall", "\"ref\":\"r\",\"text\":\"LIKES\",\"tag\":\"taste\"", ""),
        NODE("d", "vendor.wopr.recall", "\"ref\":\"r\",\"limit\":1", ""),
        NODE("e", "vendor.wopr.recall", "\"ref\":\"r\",\"id\":\"none\"", "")};
    const char *nodes = parts[0];
    for (size_t i = 1; i < 5; i++)
        nodes = arena_cstr(W.a, arena_printf(W.a, "%s,%s", nodes, parts[i]));
    struct str run = ended(nodes, EDGE("1", "a", "b", "") "," EDGE("2", "b", "c", "") "," EDGE(
                                      "3", "c", "d", "") "," EDGE("4", "d", "e", ""));
    completes(run);
    struct str c = json_get(world_event(run, EV_NODE_COMPLETED, 3)->payload, "outputs");
    struct str d = json_get(world_event(run, EV_NODE_COMPLETED, 4)->payload, "outputs");
    struct str e = json_get(world_event(run, EV_NODE_COMPLETED, 5)->payload, "outputs");
    struct json_elements l;
    cr_assert_eq(json_elements(json_get(c, "entries"), W.a, &l, NULL), 0);
    cr_assert_eq(l.n, 1u, STR_FMT, STR_ARG(c));
    cr_expect(str_eqc(json_get(l.v[0], "content"), "\"Ada likes tea\""));
    cr_expect(str_eqc(json_get(l.v[0], "tags"), "[\"taste\",\"source:workflow\"]"));
    cr_expect(json_get(l.v[0], "expiresAt").n > 0);
    cr_assert_eq(json_elements(json_get(d, "entries"), W.a, &l, NULL), 0);
    cr_assert_eq(l.n, 1u);
    cr_expect(str_eqc(json_get(l.v[0], "content"), "\"it rains\""));
    cr_expect(str_eqc(json_get(e, "entry"), "null"), STR_FMT, STR_ARG(e));
    for (int64_t at = 0; at < world_head(run).next_seq; at++)
        fork_replays_equal(run, at, RUN_COMPLETED);
    cr_expect_eq(world_sql_number("SELECT count(*) FROM memory_entries"), 2);
}

Test(engine_remembers, what_these_nodes_refuse /* MEM-6, MEM-13 */) {
    static const char *const bad[] = {
        NODE("n", "vendor.wopr.remember", "\"content\":\"x\"", ""),
        NODE("n", "vendor.wopr.remember", "\"ref\":\"r\",\"content\":7", ""),
        NODE("n", "vendor.wopr.remember", "\"ref\":\"../r\",\"content\":\"x\"", ""),
        NODE("n", "vendor.wopr.remember", "\"ref\":\"r\",\"content\":\"x\",\"tags\":[7]", ""),
        NODE("n", "vendor.wopr.remember", "\"ref\":\"r\",\"content\":\"x\",\"ttlMs\":0", ""),
        NODE("n", "vendor.wopr.remember", "\"ref\":\"r\",\"content\":\"x\",\"ttlMs\":-5", ""),
        NODE("n", "vendor.wopr.recall", "\"ref\":\"r\",\"limit\":101", ""),
        NODE("n", "vendor.wopr.recall", "\"ref\":\"r\",\"text\":7", "")};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct str run = ended(bad[i], 0);
        cr_expect_eq(world_head(run).status, RUN_FAILED, "%s", bad[i]);
        cr_expect(str_eqc(json_get(world_view(run).error, "code"), "\"validation_error\""), STR_FMT,
                  STR_ARG(world_view(run).error));
    }
    cr_expect_eq(world_sql_number("SELECT count(*) FROM memory_entries"), 0);
}

/* --- what is seen, against a model (MEM-5, MEM-8, MEM-12) --- */

enum { RUNS_MAX = 8, STEPS_MAX = 4, OPS_MAX = 3, SEEN_MAX = 200, HOUR = 3600 * 1000 };
static const char *const REFS[] = {"one", "two"};
static const char *const TAGS[] = {"", "red", "blue"};

struct model_entry {
    struct str id;
    int ref, tag, writer;                      /* writer: which run */
    int64_t created_ms, expires_h, deleted_ms; /* expires_h: virtual hours, 0 = never */
};
struct model_op {
    bool put;
    int ref, tag, ttl_h, limit;
};
struct model_run {
    struct str id;
    int64_t run_no, started_ms;
    int next; /* step */
    struct model_op ops[STEPS_MAX][OPS_MAX];
};
struct model {
    struct model_entry v[SEEN_MAX];
    size_t n;
    struct model_run runs[RUNS_MAX];
    int runs_nr;
    int64_t hours; /* gone by */
    uint32_t seed;
    unsigned listed;
};

static void def_step(struct buf *b, const struct model_run *r, int step) {
    if (step > 0) buf_addz(b, ",");
    buf_addf(
        b,
        "{\"id\":\"g%d\",\"typeId\":\"core.approvalGate\",\"name\":\"g\",\"position\":{\"x\":0,"
        "\"y\":0},\"config\":{\"actions\":[\"accept\"]},\"inputs\":{}},{\"id\":\"n%d\","
        "\"typeId\":\"test.remember\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},\"config\":"
        "{\"ops\":[",
        step, step);
    for (int k = 0; k < OPS_MAX; k++) {
        const struct model_op *op = &r->ops[step][k];
        buf_addf(b,
                 "%s{\"op\":\"%s\",\"ref\":\"%s\",\"tag\":\"%s\",\"content\":\"c\",\"ttl\":%lld,"
                 "\"limit\":%d}",
                 k > 0 ? "," : "", op->put ? "put" : "list", REFS[op->ref], TAGS[op->tag],
                 (long long)op->ttl_h * HOUR, op->limit);
    }
    buf_addz(b, "]},\"inputs\":{}}");
}

static void model_start(struct model *m) {
    struct model_run *r = &m->runs[m->runs_nr];
    struct buf nodes, edges;
    *r = (struct model_run){.next = 0};
    buf_init(&nodes, 1 << 20);
    buf_init(&edges, 1 << 20);
    for (int s = 0; s < STEPS_MAX; s++) {
        for (int k = 0; k < OPS_MAX; k++)
            r->ops[s][k] = (struct model_op){.put = dice(&m->seed, 2) == 0,
                                             .ref = (int)dice(&m->seed, 2),
                                             .tag = (int)dice(&m->seed, 3),
                                             .ttl_h = (int)dice(&m->seed, 3) * 2,
                                             .limit = (int)dice(&m->seed, 4)};
        def_step(&nodes, r, s);
        buf_addf(&edges, "%s{\"id\":\"a%d\",\"sourceNodeId\":\"g%d\",\"targetNodeId\":\"n%d\"}",
                 s > 0 ? "," : "", s, s, s);
        if (s > 0)
            buf_addf(&edges, ",{\"id\":\"b%d\",\"sourceNodeId\":\"n%d\",\"targetNodeId\":\"g%d\"}",
                     s, s - 1, s);
    }
    const char *name = arena_cstr(W.a, arena_printf(W.a, "w%d", m->runs_nr));
    r->id = world_start(world_def(name, arena_cstr(W.a, buf_str(&nodes)),
                                  arena_cstr(W.a, buf_str(&edges)), 0, 0, 0),
                        NULL);
    world_wait_settled(r->id);
    r->run_no = world_head(r->id).run_no;
    r->started_ms = world_event(r->id, EV_RUN_STARTED, 1)->ts_ms;
    m->runs_nr++;
    buf_fini(&nodes);
    buf_fini(&edges);
}

static bool model_sees(const struct model *m, const struct model_run *r, const struct model_op *op,
                       const struct model_entry *e) {
    if (e->ref != op->ref || (op->tag > 0 && e->tag != op->tag)) return false;
    if (e->expires_h > 0 && e->expires_h <= m->hours) return false;
    if (&m->runs[e->writer] == r) return true;
    return e->created_ms <= r->started_ms && (e->deleted_ms == 0 || e->deleted_ms > r->started_ms);
}

static bool model_newer(const struct model_entry *a, const struct model_entry *b) {
    return a->created_ms != b->created_ms ? a->created_ms > b->created_ms
                                          : str_cmp(a->id, b->id) > 0;
}

static void list_compare(struct model *m, const struct model_run *r, const struct model_op *op,
                         struct str got) {
    const struct model_entry *want[SEEN_MAX];
    size_t n = 0;
    struct json_elements e;
    cr_assert_eq(json_elements(got, W.a, &e, NULL), 0);
    for (size_t i = 0; i < m->n; i++) {
        if (!model_sees(m, r, op, &m->v[i])) continue;
        size_t at = n++;
        for (; at > 0 && model_newer(&m->v[i], want[at - 1]); at--) want[at] = want[at - 1];
        want[at] = &m->v[i];
    }
    if (op->limit > 0 && n > (size_t)op->limit) n = (size_t)op->limit;
    cr_expect_eq(e.n, n, "%zu, not %zu: " STR_FMT, e.n, n, STR_ARG(got));
    for (size_t i = 0; i < n && i < e.n; i++)
        cr_expect(str_eq(json_string(json_get(e.v[i], "id"), W.a), want[i]->id), "place %zu", i);
    m->listed += n > 0;
}

static void model_put(struct model *m, int run, const struct model_op *op, struct str id) {
    const struct memory_place at = {
        .tenant = tenant_of(m->runs[run].id), .test_mode = true, .ref = str_c(REFS[op->ref])};
    const struct memory_view all = MEMORY_ALL(1);
    struct memory_entry e;
    struct wopr_error err;
    cr_assert_lt(m->n, (size_t)SEEN_MAX);
    cr_assert_eq(memory_get(W.store, W.vault, &at, &all, id, W.a, &e, &err), 0, "%s", err.message);
    m->v[m->n++] = (struct model_entry){.id = id,
                                        .ref = op->ref,
                                        .tag = op->tag,
                                        .writer = run,
                                        .created_ms = e.created_ms,
                                        .expires_h = op->ttl_h > 0 ? m->hours + op->ttl_h : 0};
}

static void model_step(struct model *m, int run) {
    struct model_run *r = &m->runs[run];
    const char *gate = arena_cstr(W.a, arena_printf(W.a, "g%d", r->next));
    const char *node = arena_cstr(W.a, arena_printf(W.a, "n%d", r->next));
    struct wopr_error err;
    cr_assert_eq(world_answer(r->id, gate, "{\"action\":\"accept\"}", &err), 0, "%s", err.message);
    while (world_var(r->id, node).n == 0) sched_yield();
    world_wait_settled(r->id);
    struct json_elements got = results(r->id, node);
    cr_assert_eq(got.n, (size_t)OPS_MAX);
    for (int k = 0; k < OPS_MAX; k++) {
        const struct model_op *op = &r->ops[r->next][k];
        if (op->put) model_put(m, run, op, json_string(got.v[k], W.a));
        else list_compare(m, r, op, got.v[k]);
    }
    r->next++;
}

struct removal {
    struct memory_place at;
    struct str id;
    int64_t now_ms;
    int rc;
};
static void remove_now(void *ctx, struct store *s) {
    struct removal *x = ctx;
    struct wopr_error err;
    x->now_ms = clock_wall_ms();
    x->rc = store_memory_delete(s, &x->at, x->id, x->now_ms, &err);
}

static void model_delete(struct model *m) { /* by an operator */
    struct model_entry *e = m->n > 0 ? &m->v[dice(&m->seed, (uint32_t)m->n)] : NULL;
    if (!e || e->deleted_ms != 0 || (e->expires_h > 0 && e->expires_h <= m->hours)) return;
    struct removal x = {
        .at = {.tenant = tenant_of(m->runs[0].id), .test_mode = true, .ref = str_c(REFS[e->ref])},
        .id = e->id};
    log_side(remove_now, &x);
    cr_assert_eq(x.rc, 0);
    e->deleted_ms = x.now_ms;
}

Test(engine_remembers, runs_see_what_a_model_says /* MEM-5, MEM-8, MEM-12 */) {
    unsigned listed = 0;
    for (unsigned round = 0; round < oracle_rounds(4); round++) {
        static struct model m;
        m = (struct model){.seed = oracle_seed(round)};
        world_sql("DELETE FROM memory_entries; DELETE FROM memory_usage");
        model_start(&m);
        for (int i = 0; i < 40; i++) {
            uint32_t what = dice(&m.seed, 10);
            int run = (int)dice(&m.seed, (uint32_t)m.runs_nr);
            if (what == 0 && m.runs_nr < RUNS_MAX) model_start(&m);
            else if (what == 1) model_delete(&m);
            else if (what == 2) {
                world_time_skip(HOUR + HOUR / 60); /* the minute keeps reads away from deadlines */
                m.hours++;
            } else if (m.runs[run].next < STEPS_MAX) model_step(&m, run);
        }
        listed += m.listed;
        for (int i = 0; i < m.runs_nr; i++) {
            if (m.runs[i].next < STEPS_MAX) continue;
            cr_expect_eq(world_wait_final(m.runs[i].id), RUN_COMPLETED);
            fork_replays_equal(m.runs[i].id, 0, RUN_COMPLETED);
        }
    }
    cr_expect_gt(listed, 3u, "lists that show something");
}
