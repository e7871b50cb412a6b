/*
 * test_workspec_run.c: documents of WorkSpec over HTTP and in the real program, black box: E-1 and
 * E-4 of the contract with a host that is killed at every event, documents that are no good, and
 * the same verdict of the command and of the host.
 */
#include "harness.h"

#include "support/sampled.h"

#include <stdio.h>
#include <sys/stat.h>

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(workspec_run, .init = up, .fini = down, .timeout = 600);

#define DOC(start, tasks)                                                                          \
    "{\"simulation\":{\"schema_version\":\"2.0\",\"meta\":{\"title\":\"Tea\",\"description\":"     \
    "\"A pot\",\"domain\":\"Demo\"},\"config\":{\"time_unit\":\"minutes\",\"start_time\":\"" start \
    "\",\"end_time\":\"09:00\",\"currency\":\"EUR\",\"locale\":\"en-IE\"},\"world\":{\"objects\":" \
    "[{\"id\":\"ann\",\"type\":\"actor\",\"name\":\"Ann\",\"properties\":{\"state\":\"free\"}},"   \
    "{\"id\":\"kettle\",\"type\":\"equipment\",\"name\":\"Kettle\",\"properties\":{\"state\":"     \
    "\"cold\"}},{\"id\":\"water\",\"type\":\"resource\",\"name\":\"Water\",\"properties\":"        \
    "{\"quantity\":2}},{\"id\":\"cup\",\"type\":\"product\",\"name\":\"Cup\",\"properties\":"      \
    "{\"quantity\":0}}]},\"process\":{\"tasks\":[" tasks "]}}}"
#define TEA                                                                                        \
    DOC("08:00",                                                                                   \
        "{\"id\":\"boil\",\"actor_id\":\"kettle\",\"start\":\"08:00\",\"duration\":5,"             \
        "\"interactions\":[{\"target_id\":\"water\",\"property_changes\":{\"quantity\":"           \
        "{\"delta\":-0.25}}},{\"target_id\":\"kettle\",\"temporary\":true,\"property_changes\":"   \
        "{\"state\":{\"from\":\"cold\",\"to\":\"boiling\"}}}]},"                                   \
        "{\"id\":\"brew\",\"actor_id\":\"ann\",\"start\":\"08:05\",\"duration\":\"PT4M\","         \
        "\"depends_on\":[\"boil\"],\"interactions\":[{\"action\":\"create\",\"object\":{\"id\":"   \
        "\"pot\",\"type\":\"product\",\"name\":\"Pot\",\"properties\":{\"quantity\":0.25}}}]},"    \
        "{\"id\":\"pour\",\"actor_id\":\"ann\",\"start\":\"08:09\",\"duration\":\"60s\","          \
        "\"depends_on\":{\"all\":[\"brew\"]},\"interactions\":[{\"target_id\":\"cup\","            \
        "\"property_changes\":{\"quantity\":{\"increment\":true}}},{\"action\":\"delete\","        \
        "\"target_id\":\"pot\"}]}")
#define E_1                                                                                        \
    "run.started node.started:boil variable.changed:boil variable.changed:boil "                   \
    "variable.changed:boil node.completed:boil node.started:brew variable.changed:brew "           \
    "variable.changed:brew node.completed:brew node.started:pour variable.changed:pour "           \
    "variable.changed:pour node.completed:pour artifact.created run.completed"
#define REAL(speed)                                                                                \
    "\"configurable\":{\"workspec.clock\":\"real\",\"workspec.speed\":" speed                      \
    ",\"workspec.humanTasks\":\"auto\"}"

static const char *const YAML[] = {"Content-Type: application/yaml", NULL};

static void put(const char *id, const char *document, long status) {
    struct reply r = ask(&sv, "PUT", fmt("/v1/workspec/documents/%s", id), document, NULL);
    cr_assert_eq(r.status, status, "%ld " STR_FMT, r.status, STR_ARG(r.body));
}

static struct str world_of(const char *run) {
    struct reply r = ask(&sv, "GET", fmt("/v1/runs/%s/artifacts/world-final", run), NULL, NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    return at(r.body, "body.world");
}

/* The types without what a restarted host inserts. */
static const char *story(const char *run) {
    struct str all = types_of(events_of(&sv, run)), word;
    struct buf b;
    buf_init(&b, 1u << 20);
    while (all.n > 0) {
        struct str rest = STR("");
        if (!str_cut(all, ' ', &word, &rest)) word = all;
        bool host = str_starts(word, STR("lease.")) || str_starts(word, STR("workflow.")) ||
                    str_eqc(word, "run.resumed");
        if (!host) buf_addf(&b, "%s" STR_FMT, b.len ? " " : "", STR_ARG(word));
        all = rest;
    }
    char *out = arena_cstr(test_arena(), buf_str(&b));
    buf_fini(&b);
    return out;
}

static void verified(void) {
    struct str out, err;
    const char *args[] = {"verify", NULL};
    cr_expect_eq(program(&sv, args, &out, &err), 0, STR_FMT STR_FMT, STR_ARG(out), STR_ARG(err));
}

Test(workspec_run, e_1_over_http_and_the_store_is_sound) {
    put("tea", TEA, 201);
    put("tea", TEA, 200);
    const char *run = create_run(&sv, "tea", NULL);
    struct str snapshot = wait_terminal(&sv, run);
    cr_expect_str_eq(story(run), E_1);
    cr_expect(str_eqc(at(snapshot, "variables"),
                      "{\"ann.state\":\"free\",\"cup.quantity\":1,\"kettle.state\":\"cold\","
                      "\"pot\":null,\"water.quantity\":1.75}"),
              STR_FMT, STR_ARG(snapshot));
    struct reply r = ask(&sv, "GET", "/v1/workspec/documents/tea", NULL, NULL);
    cr_expect(str_eqc(r.body, TEA), "the bytes as they came");
    r = ask(&sv, "GET", "/v1/workflows/tea", NULL, NULL);
    cr_expect(str_eqc(at(r.body, "nodes.0.typeId"), "\"local.workspec.task\""));
    /* a replaced document leaves what has begun alone (WS-95) */
    put("tea",
        DOC("08:00", "{\"id\":\"t\",\"actor_id\":\"ann\",\"start\":\"08:00\",\"duration\":5}"),
        200);
    const char *again = fork_run(&sv, run, "replay", 5);
    (void)wait_terminal(&sv, again);
    cr_expect_str_eq(story(again), E_1);
    cr_expect(str_eq(world_of(again), world_of(run)));
    server_stop(&sv);
    verified();
}

/* SIGKILL as soon as the log has so many events. */
static void killed_at(const char *run, int64_t events) {
    for (int64_t until = now_ms() + WAIT_MS; now_ms() < until;) {
        struct str l = events_of(&sv, run);
        if ((int64_t)elements_of(l).n >= events) break;
        nap_ms(2);
    }
    server_kill(&sv);
    server_again(&sv);
}

Test(workspec_run, e_6_a_host_that_is_killed_at_every_event_of_e_1) {
    put("tea", TEA, 201);
    const char *expected = NULL;
    struct str world = STR_NONE;
    for (unsigned seq = 1; seq <= 15; seq++) {
        if (!sampled_in(seq)) continue;
        const char *run = create_run(&sv, "tea", REAL("6000"));
        killed_at(run, seq);
        struct str snapshot = wait_terminal(&sv, run);
        cr_expect(str_eqc(at(snapshot, "status"), "\"completed\""), STR_FMT, STR_ARG(snapshot));
        cr_expect_str_eq(story(run), E_1, "%u: %s", seq, story(run));
        if (expected == NULL) expected = story(run), world = world_of(run);
        cr_expect(str_eq(world_of(run), world));
    }
    server_stop(&sv);
    verified();
}

static void accept(const char *run, const char *node) {
    struct reply r = ask(&sv, "POST", fmt("/v1/runs/%s/interrupts/%s", run, node),
                         "{\"resumeValue\":{\"action\":\"accept\"}}", NULL);
    cr_assert(r.status == 200 || r.status == 409, "%ld " STR_FMT, r.status, STR_ARG(r.body));
}

Test(workspec_run, e_4_a_host_that_is_killed_before_and_after_each_answer) {
    static const char *const WHO[] = {"brew", "pour"};
    put("tea", TEA, 201);
    const char *run = create_run(&sv, "tea",
                                 "\"configurable\":{\"workspec.humanTasks\":"
                                 "\"approval\"}");
    for (int i = 0; i < 2; i++) {
        (void)wait_status(&sv, run, "waiting-approval");
        server_kill(&sv);
        server_again(&sv);
        accept(run, WHO[i]);
        server_kill(&sv);
        server_again(&sv);
    }
    (void)wait_terminal(&sv, run);
    struct str world = world_of(run);
    cr_expect_not_null(strstr(world.p, "\"quantity\":1.75"), STR_FMT, STR_ARG(world));
    verified();
}

Test(workspec_run, what_is_no_document_is_told_and_leaves_nothing) {
    static const struct {
        const char *body;
        long validate, put;
    } BAD[] = {
        {"", 400, 400},
        {"{", 400, 400},
        {"[1,", 400, 400},
        {"\xEF\xBB\xBF{}", 400, 400},
        {"{\"a\":\"\xFF\"}", 400, 400},
        {"{\"a\":1e999}", 400, 400},
        {"null", 200, 422},
        {"[]", 200, 422},
        {"{\"simulation\":{\"schema_version\":\"1.0\"}}", 200, 422},
        {DOC("08:00", ""), 200, 422},
        {DOC("25:99", "{\"id\":\"t\",\"actor_id\":\"ann\",\"start\":\"2026-02-30T09:00:00Z\","
                      "\"duration\":\"99999999999999999999h\"}"),
         200, 422},
        {DOC("08:00", "{\"id\":\"t\",\"actor_id\":\"ann\",\"start\":\"08:00\",\"duration\":5,"
                      "\"depends_on\":[\"t\"]}"),
         200, 422},
    };
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct reply r = ask(&sv, "POST", "/v1/workspec/validate", BAD[i].body, NULL);
        cr_expect_eq(r.status, BAD[i].validate, "%zu: %ld " STR_FMT, i, r.status, STR_ARG(r.body));
        put("bad", BAD[i].body, BAD[i].put);
        r = ask(&sv, "PUT", "/v1/workspec/documents/bad", BAD[i].body, NULL);
        if (r.status == 422) cr_expect(at(r.body, "details.problems").n > 0);
        r = ask(&sv, "GET", "/v1/workspec/documents/bad", NULL, NULL);
        cr_expect_eq(r.status, 404);
    }
    struct buf deep; /* nesting, and a million elements: limits (H18) */
    buf_init(&deep, 8u << 20);
    for (int i = 0; i < 5000; i++) buf_addz(&deep, "{\"a\":");
    struct reply r = ask(&sv, "POST", "/v1/workspec/validate", deep.p, NULL);
    cr_expect(r.status == 200 || r.status == 400, "%ld", r.status);
    buf_reset(&deep);
    buf_addz(&deep, "a: &x [1]\nb: *x\n");
    r = ask(&sv, "POST", "/v1/workspec/validate", deep.p, YAML);
    cr_expect_eq(r.status, 400, "anchors are refused");
    buf_fini(&deep);
    r = ask(&sv, "PUT", "/v1/workspec/documents/Bad%20Id", TEA, NULL);
    cr_expect_eq(r.status, 422);
    r = ask(&sv, "PUT", "/v1/host/wopr/workflows/x", "#!workspec json x - zone\n{}", NULL);
    cr_expect_eq(r.status, 400, "a document is no workflow");
    put("tea", TEA, 201);
    r = ask(&sv, "POST", "/v1/runs",
            "{\"workflowId\":\"tea\",\"configurable\":{\"workspec.clock\":\"sun\"}}", NULL);
    expect_error(&r, 400, "validation_error");
    r = ask(&sv, "POST", "/v1/runs",
            "{\"workflowId\":\"tea\",\"inputs\":{\"world\":{\"tea\":{\"x\":1}}}}", NULL);
    expect_error(&r, 400, "validation_error");
    r = ask(&sv, "POST", "/v1/runs",
            "{\"workflowId\":\"tea\",\"inputs\":{\"world\":{\"water\":{\"quantity\":5}}}}", NULL);
    cr_expect_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
}

Test(workspec_run, yaml_is_stored_as_it_came_and_runs) {
    static const char *const TEXT =
        "simulation:\n  schema_version: \"2.0\"\n  meta: {title: T, description: D, domain: M}\n"
        "  config: {time_unit: minutes, start_time: \"08:00\", end_time: \"09:00\", currency: EUR, "
        "locale: en-IE}\n  world:\n    objects:\n      - {id: a, type: actor, name: A, properties: "
        "{state: free}}\n  process:\n    tasks:\n      - {id: t, actor_id: a, start: \"08:00\", "
        "duration: 5}\n";
    struct reply r = ask(&sv, "PUT", "/v1/workspec/documents/y", TEXT, YAML);
    cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
    r = ask(&sv, "GET", "/v1/workspec/documents/y", NULL, NULL);
    cr_expect(str_eqc(r.body, TEXT));
    cr_expect(str_eqc(header(&r, "content-type"), "application/yaml"));
    struct str snapshot = wait_terminal(&sv, create_run(&sv, "y", NULL));
    cr_expect(str_eqc(at(snapshot, "status"), "\"completed\""));
}

Test(workspec_run, the_command_stores_starts_and_follows) {
    const char *path = fmt("%s/tea.json", sv.dir);
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(TEA, f);
    fclose(f);
    struct str out, err;
    const char *args[] = {"run",          path,           "--id=tea",      "--follow",
                          "--speed=6000", "--clock=real", "--people=auto", NULL};
    cr_expect_eq(program_on(&sv, "workspec", args, &out, &err), 0, STR_FMT STR_FMT, STR_ARG(out),
                 STR_ARG(err));
    cr_expect_not_null(strstr(out.p, "node.completed       pour"), STR_FMT, STR_ARG(out));
    const char *bad[] = {"run", path, "--clock=sun", NULL};
    cr_expect_eq(program_on(&sv, "workspec", bad, &out, &err), 1, STR_FMT, STR_ARG(err));
    cr_expect_not_null(strstr(err.p, "workspec.clock"), STR_FMT, STR_ARG(err));
}

/* --- one verdict, whoever is asked --- */

static uint64_t dice;
static unsigned roll(unsigned n) {
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (unsigned)(dice % n);
}

static void task_make(struct buf *b, unsigned i) {
    static const char *const WHO[] = {"ann", "kettle", "water", "nobody"};
    static const char *const WHEN[] = {"\"08:%02u\"", "\"8:%02u\"",
                                       "{\"day\":1,\"time\":\"09:%02u\"}", "%u"};
    static const char *const LONG[] = {"5", "\"PT%uM\"", "\"-%u\"", "\"%us\""};
    static const char *const OPS[] = {"{\"delta\":%d}", "{\"set\":\"x%d\"}", "{\"increment\":true}",
                                      "{\"from\":%d}", "{\"from\":\"cold\",\"to\":\"hot\"}"};
    static const char *const WHAT[] = {"water", "kettle", "cup", "pot"};
    buf_addf(b, "%s{\"id\":\"t%u\",\"actor_id\":\"%s\",\"start\":", i ? "," : "", roll(8) ? i : 0,
             WHO[roll(12) < 9 ? roll(2) : roll(4)]);
    buf_addf(b, WHEN[roll(5) ? 0 : roll(4)], roll(60));
    buf_addz(b, ",\"duration\":");
    buf_addf(b, LONG[roll(5) ? 0 : roll(4)], roll(9) + 1);
    if (roll(3) == 0) buf_addf(b, ",\"depends_on\":[\"t%u\"]", roll(6));
    buf_addf(b,
             ",\"interactions\":[{\"target_id\":\"%s\",\"temporary\":%s,\"property_changes\":"
             "{\"%s\":",
             WHAT[roll(4)], roll(2) ? "true" : "false", roll(2) ? "quantity" : "state");
    buf_addf(b, OPS[roll(5)], (int)roll(7) - 3);
    buf_addz(b, "}}]}");
}

static const char *document_make(void) {
    struct buf b, tasks;
    buf_init(&b, 1u << 20);
    buf_init(&tasks, 1u << 20);
    unsigned n = roll(5);
    for (unsigned i = 0; i < n; i++) task_make(&tasks, i);
    buf_addc(&tasks, '\0');
    const char *text = DOC("08:00", "@");
    const char *hole = strchr(text, '@');
    buf_add(&b, text, (size_t)(hole - text));
    buf_addz(&b, tasks.p);
    buf_addz(&b, hole + 1);
    char *out = arena_cstr(test_arena(), buf_str(&b));
    buf_fini(&b);
    buf_fini(&tasks);
    return out;
}

/* JSON texts without the white space between tokens. */
static struct str dense(struct str json) {
    struct buf b;
    bool quoted = false;
    buf_init(&b, 1u << 24);
    for (size_t i = 0; i < json.n; i++) {
        char c = json.p[i];
        if (quoted && c == '\\') buf_addc(&b, c), c = json.p[++i];
        else if (c == '"') quoted = !quoted;
        if (quoted || (c != ' ' && c != '\n')) buf_addc(&b, c);
    }
    struct str out = arena_str(test_arena(), buf_str(&b));
    buf_fini(&b);
    return out;
}

/* --- seeds --- */

static void file_put(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
}

Test(workspec_run, documents_of_a_seed_folder_run_by_the_name_of_their_file) {
    const char *folder = fmt("%s/seeds", sv.dir), *bad = fmt("%s/bad", sv.dir);
    const char *const args[] = {"--seed", folder, NULL};
    cr_assert(mkdir(folder, 0700) == 0 && mkdir(bad, 0700) == 0);
    file_put(fmt("%s/green.workspec.json", folder), TEA);
    file_put(fmt("%s/black.workspec.yaml", folder), TEA); /* JSON is YAML */
    for (int start = 0; start < 2; start++) {             /* the second one changes nothing */
        cr_assert_eq(server_stop(&sv), 0);
        sv.args = args;
        server_again(&sv);
        const char *run = create_run(&sv, start ? "green" : "black", NULL);
        (void)wait_terminal(&sv, run);
        cr_expect_str_eq(story(run), E_1);
    }
    struct str out, err;
    const char *serve[] = {"serve", "--db", fmt("%s/other.db", sv.dir), "--seed", bad, NULL};
    file_put(fmt("%s/cyan.workspec.yaml", bad), "simulation: {schema_version: '2.0'}\n");
    cr_expect_neq(program(&sv, serve, &out, &err), 0);
    cr_expect_not_null(strstr(err.p, "cyan.workspec.yaml: "), STR_FMT, STR_ARG(err));
    cr_expect_not_null(strstr(err.p, "/simulation/meta"), STR_FMT, STR_ARG(err));
}

/* WOPR_WORKSPEC_DOCUMENTS: how many, 10000 for the whole of it; CI plays a sample. */
Test(workspec_run, generated_documents_have_one_verdict_of_command_and_host) {
    const char *asked = getenv("WOPR_WORKSPEC_DOCUMENTS");
    unsigned rounds = asked ? (unsigned)strtoul(asked, NULL, 10) : sampled(100), bad = 0;
    const char *path = fmt("%s/x.json", sv.dir);
    dice = (uint64_t)now_ms() * 2654435761u + 1;
    uint64_t seed = dice;
    for (unsigned i = 0; i < rounds; i++) {
        const char *text = document_make();
        FILE *f = fopen(path, "w");
        cr_assert_not_null(f);
        fputs(text, f);
        fclose(f);
        struct str out, err;
        const char *args[] = {"workspec", "validate", path, "--json", NULL};
        int rc = program(&sv, args, &out, &err);
        struct reply r = ask(&sv, "POST", "/v1/workspec/validate", text, NULL);
        cr_assert_eq(r.status, 200, "seed %llu", (unsigned long long)seed);
        cr_assert(str_eqc(at(r.body, "ok"), rc == 0 ? "true" : "false"), "%s", text);
        cr_assert(str_eq(dense(out), dense(at(r.body, "problems"))), "seed %llu: %s\n" STR_FMT,
                  (unsigned long long)seed, text, STR_ARG(r.body));
        bad += rc != 0;
        r = ask(&sv, "PUT", "/v1/workspec/documents/gen", text, NULL);
        bool runs = r.status == 201 || r.status == 200;
        cr_assert(runs == (rc == 0 && strstr(text, "\"tasks\":[]") == NULL), "%ld %s", r.status,
                  text);
        if (!runs) continue;
        struct str end = wait_terminal(&sv, create_run(&sv, "gen", NULL)); /* WS-90 */
        cr_assert(str_eqc(at(end, "status"), "\"completed\""), "%s\n" STR_FMT, text, STR_ARG(end));
    }
    cr_expect(rounds < 50 || (bad > 0 && bad < rounds), "%u of %u", bad, rounds);
}
