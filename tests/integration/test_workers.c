/*
 * test_workers.c: workers over HTTP against the real program: types, claims that wait, leases, late
 * answers, questions, cancel, kill -9, two hosts, scopes (WRK-*).
 */
#include "interrupt_kit.h"

#include <sys/stat.h>

#define TYPE  "acme.resize"
#define TASKS "/v1/host/wopr/tasks"

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(workers, .init = up, .fini = down, .timeout = 300);

static struct reply post(const struct server *s, const char *path, const char *body) {
    return ask(s, "POST", path, body, NULL);
}

static void register_type(const struct server *s, const char *more) {
    struct reply r =
        post(s, "/v1/host/wopr/worker-types", fmt("{\"typeId\":\"" TYPE "\"%s}", more));
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
}

static int put_status(const struct server *s, const char *id, struct str *err) {
    const char *path = fmt("%s/%s.json", s->dir, id);
    const char *const args[] = {"workflow", "put", path, NULL};
    struct str out = STR_NONE;
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fprintf(f,
            "{\"id\":\"%s\",\"name\":\"W\",\"version\":\"1\",\"nodes\":[{\"id\":\"n\","
            "\"typeId\":\"" TYPE "\",\"name\":\"N\",\"position\":{\"x\":0,\"y\":0},"
            "\"config\":{\"size\":7},\"inputs\":{\"url\":{\"type\":\"variable\","
            "\"variableName\":\"url\"}}}],\"edges\":[],\"triggers\":[],\"variables\":[{\"name\":"
            "\"url\",\"type\":\"string\"}],\"metadata\":{},\"settings\":{}}",
            id);
    fclose(f);
    return program(s, args, &out, err);
}

static const char *worker_run(const struct server *s) {
    struct str err = STR_NONE;
    register_type(s, "");
    cr_assert_eq(put_status(s, "resize", &err), 0, STR_FMT, STR_ARG(err));
    cr_expect_eq(err.n, 0u, "no finding: " STR_FMT, STR_ARG(err));
    return create_run(s, "resize", "\"inputs\":{\"url\":\"u\"}");
}

static struct reply claim(const struct server *s, int wait_ms, int lease_ms) {
    struct reply r = post(s, TASKS ":claim",
                          fmt("{\"types\":[\"" TYPE "\"],\"max\":4,\"waitMs\":%d,\"leaseMs\":%d}",
                              wait_ms, lease_ms));
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    return r;
}

static struct str first_task(struct str body) {
    struct json_elements l = {0};
    cr_assert_eq(json_elements(at(body, "tasks"), test_arena(), &l, NULL), 0);
    return l.n > 0 ? l.v[0] : STR_NONE;
}

static struct str task_of(const struct server *s) {
    struct str t = first_task(claim(s, 10000, 30000).body);
    cr_assert_not_null(t.p, "no task came");
    return t;
}

static struct reply say(const struct server *s, struct str task, const char *verb,
                        const char *more) {
    return post(s, fmt(TASKS "/" STR_FMT ":%s", STR_ARG(text_at(task, "taskId")), verb),
                fmt("{\"epoch\":%lld%s}", (long long)int_at(task, "epoch"), more));
}

Test(workers, a_node_is_executed_over_http /* WRK-1, WRK-4, WRK-11, WRK-16 */) {
    struct str err = STR_NONE;
    cr_expect_neq(put_status(&sv, "resize", &err), 0, "nobody serves the type yet");
    cr_expect_not_null(strstr(err.p, "no worker has registered it"), STR_FMT, STR_ARG(err));
    const char *run = worker_run(&sv);
    struct str t = task_of(&sv);
    cr_expect(str_eqc(text_at(t, "runId"), run));
    cr_expect(str_eqc(at(t, "input"), "{\"url\":\"u\"}"), STR_FMT, STR_ARG(t));
    cr_expect(str_eqc(at(t, "config"), "{\"size\":7}"));
    cr_expect(str_eqc(at(t, "answers"), "[]"));
    struct reply beat = say(&sv, t, "heartbeat", ",\"leaseMs\":60000");
    cr_expect_eq(beat.status, 200);
    cr_expect(str_eqc(text_at(beat.body, "state"), "leased"), STR_FMT, STR_ARG(beat.body));
    struct reply emit = say(&sv, t, "emit",
                            ",\"chunks\":[{\"text\":\"a\"},{\"text\":\"b\",\"isLast\":true}],"
                            "\"progress\":{\"percent\":50,\"message\":\"half\"}");
    cr_expect_eq(emit.status, 200, STR_FMT, STR_ARG(emit.body));
    cr_expect_eq(say(&sv, t, "emit", "").status, 400, "nothing to emit is answered as well");
    cr_expect_eq(say(&sv, t, "emit", ",\"chunks\":[]").status, 400);
    struct reply done = say(&sv, t, "complete", ",\"output\":{\"w\":3}");
    cr_expect_eq(done.status, 200, STR_FMT, STR_ARG(done.body));
    cr_expect(str_eqc(text_at(done.body, "state"), "completed"));
    struct str snap = wait_terminal(&sv, run);
    cr_expect(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
    struct str types = types_of(events_of(&sv, run));
    cr_expect(str_eqc(types, "run.started node.started:n output.chunk:n output.chunk:n "
                             "log.appended:n node.completed:n run.completed"),
              STR_FMT, STR_ARG(types));
    cr_expect_eq(say(&sv, t, "complete", ",\"output\":{\"w\":3}").status, 200, "again (WRK-17)");
    cr_expect_eq(say(&sv, t, "complete", ",\"output\":{\"w\":4}").status, 409, "another word");
    struct reply gone = say(&sv, t, "fail", ",\"error\":{\"code\":\"x\",\"message\":\"y\"}");
    expect_error(&gone, 409, "task_lease_lost");
    cr_expect(str_eqc(text_at(gone.body, "details.state"), "completed"));
}

Test(workers, a_claim_waits_for_a_task /* WRK-11 */) {
    register_type(&sv, "");
    struct reply none = claim(&sv, 0, 30000);
    cr_expect(str_eqc(none.body, "{\"tasks\":[]}"), STR_FMT, STR_ARG(none.body));
    none = post(&sv, TASKS ":claim", "{\"types\":[\"acme.typo\"],\"waitMs\":0}");
    cr_expect(str_eqc(none.body, "{\"tasks\":[],\"unregistered\":[\"acme.typo\"]}"), STR_FMT,
              STR_ARG(none.body));
    int64_t began = now_ms();
    cr_expect(str_eqc(claim(&sv, 700, 30000).body, "{\"tasks\":[]}"));
    cr_expect_geq(now_ms() - began, 700);
    const char *run = worker_run(&sv);
    struct str t = task_of(&sv);
    cr_expect(str_eqc(text_at(t, "runId"), run));
}

Test(workers, a_lost_lease_is_given_to_another_and_the_late_answer_refused /* WRK-12, WRK-14 */) {
    (void)worker_run(&sv);
    struct str late = first_task(claim(&sv, 5000, 1000).body);
    cr_assert_not_null(late.p);
    struct str other = task_of(&sv); /* waits until the lease ran out */
    cr_expect(str_eq(text_at(other, "taskId"), text_at(late, "taskId")));
    cr_expect_eq(int_at(other, "epoch"), 2);
    cr_expect(str_eq(text_at(other, "idempotencyKey"), text_at(late, "idempotencyKey")));
    struct reply r = say(&sv, late, "complete", "");
    expect_error(&r, 409, "task_lease_lost");
    cr_expect_eq(int_at(r.body, "details.epoch"), 2);
    r = say(&sv, late, "heartbeat", "");
    expect_error(&r, 409, "task_lease_lost");
    cr_expect_eq(say(&sv, other, "complete", "").status, 200);
}

Test(workers, a_person_is_asked_and_the_worker_entered_again /* WRK-19 */) {
    const char *run = worker_run(&sv);
    struct str t = task_of(&sv);
    struct reply r = say(&sv, t, "ask", ",\"kind\":\"approval\",\"data\":{}");
    expect_error(&r, 400, "validation_error");
    r = say(&sv, t, "ask",
            ",\"kind\":\"approval\",\"data\":{\"artifactId\":\"a\",\"artifactType\":\"t\","
            "\"title\":\"?\",\"actions\":[\"accept\"]}");
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    cr_expect(str_eqc(text_at(r.body, "state"), "asked"));
    struct str id = text_at(r.body, "interruptId");
    wait_status(&sv, run, "waiting-approval");
    cr_expect_eq(resolve(&sv, run, "n", ACCEPT).status, 200);
    struct str again = task_of(&sv);
    struct json_elements l = {0};
    cr_assert_eq(json_elements(at(again, "answers"), test_arena(), &l, NULL), 0);
    cr_assert_eq(l.n, 1u, STR_FMT, STR_ARG(again));
    cr_expect(str_eq(text_at(l.v[0], "interruptId"), id));
    cr_expect(str_eqc(text_at(l.v[0], "action"), "accept"));
    cr_expect_eq(say(&sv, again, "complete", "").status, 200);
    (void)wait_terminal(&sv, run);
    r = post(&sv, fmt("/v1/runs/%s:fork", run), "{\"mode\":\"replay\",\"fromSeq\":0}");
    cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
    const char *replay = text_at(r.body, "runId").p;
    cr_expect(str_eqc(text_at(wait_terminal(&sv, replay), "status"), "completed"), "WRK-22");
    cr_expect(str_eqc(claim(&sv, 0, 30000).body, "{\"tasks\":[]}"), "a replay calls nobody");
}

Test(workers, a_cancel_reaches_the_worker /* WRK-20 */) {
    const char *run = worker_run(&sv);
    struct str t = task_of(&sv);
    cr_assert_eq(post(&sv, fmt("/v1/runs/%s/cancel", run), "{}").status, 200);
    struct reply r = say(&sv, t, "heartbeat", "");
    cr_expect_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    cr_expect(str_eqc(text_at(r.body, "state"), "cancelled"));
    cr_expect(str_eqc(text_at(r.body, "reason"), "run-cancelled"));
    r = say(&sv, t, "complete", "");
    expect_error(&r, 409, "task_lease_lost");
}

Test(workers, nothing_is_lost_by_a_kill /* WRK-10, WRK-14 */) {
    const char *leased = worker_run(&sv);
    struct str t = task_of(&sv);
    const char *waits = create_run(&sv, "resize", "\"inputs\":{\"url\":\"v\"}");
    server_kill(&sv);
    server_again(&sv);
    cr_expect_eq(say(&sv, t, "complete", ",\"output\":{\"kept\":1}").status, 200,
                 "a lease outlives the host");
    struct str other = task_of(&sv);
    cr_expect(str_eqc(text_at(other, "runId"), waits));
    cr_expect_eq(say(&sv, other, "complete", "").status, 200);
    cr_expect(str_eqc(text_at(wait_terminal(&sv, leased), "status"), "completed"));
    cr_expect(str_eqc(text_at(wait_terminal(&sv, waits), "status"), "completed"));
    cr_expect_eq(say(&sv, t, "complete", ",\"output\":{\"kept\":1}").status, 200,
                 "and is known afterwards");
}

Test(workers, any_host_serves_the_tasks_of_runs_that_another_holds /* WRK-23 */) {
    struct server b;
    const char *run = worker_run(&sv);
    server_beside(&b, &sv, NULL);
    struct str t = task_of(&b);
    cr_expect(str_eqc(text_at(t, "runId"), run));
    cr_expect_eq(say(&b, t, "emit", ",\"chunks\":[{\"text\":\"from b\"}]").status, 200);
    cr_expect_eq(say(&sv, t, "heartbeat", "").status, 200);
    cr_expect_eq(say(&b, t, "complete", "").status, 200);
    cr_expect(str_eqc(text_at(wait_terminal(&sv, run), "status"), "completed"));
    /* a claim that waits at one host gets what another one makes */
    const char *second = create_run(&sv, "resize", "\"inputs\":{\"url\":\"w\"}");
    t = task_of(&b);
    cr_expect(str_eqc(text_at(t, "runId"), second));
    server_kill(&b);
    cr_expect_eq(say(&sv, t, "complete", "").status, 200, "the lease is not the host's");
    cr_expect(str_eqc(text_at(wait_terminal(&sv, second), "status"), "completed"));
}

Test(workers, scopes_and_tenants_are_kept_apart /* WRK-7 */) {
    (void)worker_run(&sv);
    struct str t = task_of(&sv);
    const char *const reader[] = {key_with(&sv, "runs:read", "default"), NULL};
    const char *const claimer[] = {key_with(&sv, "workers:claim", "default"), NULL};
    const char *const foreign[] = {key_with(&sv, "workers:claim,workers:manage", "other"), NULL};
    const char *body = "{\"types\":[\"" TYPE "\"],\"waitMs\":0}";
    struct reply r = ask(&sv, "POST", TASKS ":claim", body, reader);
    expect_error(&r, 403, "forbidden");
    r = ask(&sv, "POST", "/v1/host/wopr/worker-types", "{\"typeId\":\"a.b\"}", claimer);
    expect_error(&r, 403, "forbidden");
    r = ask(&sv, "POST", TASKS ":claim", body, foreign);
    cr_expect(str_eqc(r.body, "{\"tasks\":[],\"unregistered\":[\"" TYPE "\"]}"), STR_FMT,
              STR_ARG(r.body));
    r = ask(&sv, "POST", fmt(TASKS "/" STR_FMT ":complete", STR_ARG(text_at(t, "taskId"))),
            "{\"epoch\":1}", foreign);
    expect_error(&r, 404, "not_found");
}

Test(workers, bad_bodies_name_the_field /* WRK-6 */) {
    static const char *const bad[][2] = {
        {"{}", "types"},
        {"{\"types\":[]}", "types"},
        {"{\"types\":[\"a\",\"a\"]}", "types"},
        {"{\"types\":[1]}", "types"},
        {"{\"types\":[\"a\"],\"max\":65}", "max"},
        {"{\"types\":[\"a\"],\"leaseMs\":999}", "leaseMs"},
        {"{\"types\":[\"a\"],\"waitMs\":60001}", "waitMs"},
        {"{\"types\":[\"a\"],\"more\":1}", "more"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct reply r = post(&sv, TASKS ":claim", bad[i][0]);
        expect_error(&r, 400, "validation_error");
        cr_expect_not_null(strstr(r.body.p, bad[i][1]), "%s: " STR_FMT, bad[i][0], STR_ARG(r.body));
    }
    register_type(&sv, ",\"outputSchema\":{\"properties\":{\"w\":{\"type\":\"integer\"}}}");
    struct reply r = post(&sv, "/v1/host/wopr/worker-types", "{\"typeId\":\"core.noop\"}");
    expect_error(&r, 409, "conflict");
    struct str err = STR_NONE;
    cr_assert_eq(put_status(&sv, "resize", &err), 0);
    (void)create_run(&sv, "resize", "\"inputs\":{\"url\":\"u\"}");
    struct str t = task_of(&sv);
    r = say(&sv, t, "complete", ",\"output\":{\"w\":\"wide\"}");
    expect_error(&r, 400, "validation_error");
    cr_expect_not_null(strstr(r.body.p, "output.w"), STR_FMT, STR_ARG(r.body));
    cr_expect_eq(say(&sv, t, "complete", ",\"output\":{\"w\":1}").status, 200);
}

static size_t listed(const char *query) {
    struct reply r = ask(&sv, "GET", fmt(TASKS "%s", query), NULL, NULL);
    struct json_elements l = {0};
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    cr_assert_eq(json_elements(at(r.body, "tasks"), test_arena(), &l, NULL), 0);
    return l.n;
}

Test(workers, operators_see_what_waits_and_who_has_it /* WRK-26, WRK-7 */) {
    const char *const claimer[] = {key_with(&sv, "workers:claim", "default"), NULL};
    const char *const foreign[] = {key_with(&sv, "workers:manage", "other"), NULL};
    (void)worker_run(&sv);
    for (int i = 0; i < 4; i++) (void)create_run(&sv, "resize", "\"inputs\":{\"url\":\"u\"}");
    struct str t =
        first_task(post(&sv, TASKS ":claim", "{\"types\":[\"" TYPE "\"],\"worker\":\"w-7\"}").body);
    for (int64_t end = now_ms() + WAIT_MS; listed("") < 5 && now_ms() < end;) nap_ms(10);
    cr_expect_eq(listed(""), 5u);
    cr_expect_eq(listed("?type=" TYPE "&status=ready"), 4u);
    cr_expect_eq(listed("?status=leased"), 1u);
    cr_expect_eq(listed("?type=acme.none"), 0u);
    size_t seen = 0, pages = 0;
    const char *query = "?limit=2&type=" TYPE;
    for (struct str next = STR("x"); next.n > 0 && pages < 9; pages++) {
        struct reply r = ask(&sv, "GET", fmt(TASKS "%s", query), NULL, NULL);
        next = at(r.body, "nextCursor").n > 0 ? text_at(r.body, "nextCursor") : STR_NONE;
        seen += listed(query);
        if (next.n > 0) query = fmt("?limit=2&type=" TYPE "&cursor=%s", next.p);
    }
    cr_expect_eq(seen, 5u);
    cr_expect_eq(pages, 3u);
    const char *one = fmt(TASKS "/" STR_FMT, STR_ARG(text_at(t, "taskId")));
    struct reply r = ask(&sv, "GET", one, NULL, NULL);
    cr_expect(str_eqc(text_at(r.body, "worker"), "w-7"), STR_FMT, STR_ARG(r.body));
    cr_expect_null(strstr(r.body.p, "input"), "nothing of what it holds");
    r = ask(&sv, "GET", one, NULL, foreign);
    expect_error(&r, 404, "not_found");
    r = ask(&sv, "GET", TASKS, NULL, foreign);
    cr_expect(str_eqc(r.body, "{\"tasks\":[]}"), STR_FMT, STR_ARG(r.body));
    r = ask(&sv, "GET", TASKS, NULL, claimer);
    expect_error(&r, 403, "forbidden");
    r = ask(&sv, "GET", TASKS "?cursor=a:b:c:d", NULL, NULL);
    expect_error(&r, 400, "validation_error");
    r = ask(&sv, "GET", "/v1/host/wopr/worker-types", NULL, NULL);
    cr_expect_eq(int_at(r.body, "workerTypes.0.tasks.ready"), 4, STR_FMT, STR_ARG(r.body));
    cr_expect_eq(int_at(r.body, "workerTypes.0.tasks.leased"), 1);
    cr_expect_eq(say(&sv, t, "complete", "").status, 200);
    r = ask(&sv, "GET", one, NULL, NULL);
    cr_expect(str_eqc(text_at(r.body, "state"), "completed"), STR_FMT, STR_ARG(r.body));
}

static struct str shown, told;

#define TASKS_CLI(...)                                                                             \
    program_on(&sv, "tasks", (const char *const[]){__VA_ARGS__, NULL}, &shown, &told)

Test(workers, operators_have_a_command /* WRK-26 */) {
    const char *run = worker_run(&sv);
    struct str t =
        first_task(post(&sv, TASKS ":claim", "{\"types\":[\"" TYPE "\"],\"worker\":\"w-7\"}").body);
    const char *id = text_at(t, "taskId").p;
    cr_assert_eq(TASKS_CLI("list"), 0, STR_FMT, STR_ARG(told));
    cr_expect(strstr(shown.p, id) && strstr(shown.p, run) && strstr(shown.p, "w-7"), STR_FMT,
              STR_ARG(shown));
    cr_assert_eq(TASKS_CLI("list", "--status", "ready", "--json"), 0, STR_FMT, STR_ARG(told));
    cr_expect_eq(shown.n, 0u, STR_FMT, STR_ARG(shown));
    cr_assert_eq(TASKS_CLI("list", "--type", TYPE, "--json"), 0, STR_FMT, STR_ARG(told));
    cr_expect(str_eqc(text_at(str_n(shown.p, shown.n - 1), "taskId"), id), STR_FMT, STR_ARG(shown));
    cr_assert_eq(TASKS_CLI("show", id), 0, STR_FMT, STR_ARG(told));
    cr_expect_not_null(strstr(shown.p, "\"state\":\"leased\""), STR_FMT, STR_ARG(shown));
    cr_assert_eq(TASKS_CLI("types"), 0, STR_FMT, STR_ARG(told));
    cr_expect_not_null(strstr(shown.p, TYPE), STR_FMT, STR_ARG(shown));
    cr_expect_eq(TASKS_CLI("list", "--status", "gone"), 1);
    cr_expect_not_null(strstr(told.p, "status"), "names the field: " STR_FMT, STR_ARG(told));
    cr_expect_eq(TASKS_CLI("show", "none"), 1);
    cr_expect_not_null(strstr(told.p, "not_found"), STR_FMT, STR_ARG(told));
}

Test(workers, an_emit_with_a_number_is_taken_once /* WRK-21 */) {
    const char *run = worker_run(&sv);
    struct str t = task_of(&sv);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(say(&sv, t, "emit", ",\"chunks\":[{\"text\":\"a\"}],\"number\":1").status,
                     200);
    struct reply r = say(&sv, t, "emit", ",\"chunks\":[{\"text\":\"a\"}],\"number\":0");
    expect_error(&r, 400, "validation_error");
    cr_expect_eq(say(&sv, t, "complete", "").status, 200);
    (void)wait_terminal(&sv, run);
    struct str types = types_of(events_of(&sv, run));
    cr_expect(str_eqc(types, "run.started node.started:n output.chunk:n node.completed:n "
                             "run.completed"),
              STR_FMT, STR_ARG(types));
}

/* --- two hosts --- */

Test(workers, two_hosts_give_each_task_once /* WRK-14, WRK-23 */) {
    enum { TASKS_NR = 40 };
    struct server b;
    struct str ids[TASKS_NR + 8];
    size_t n = 0;
    (void)worker_run(&sv);
    server_beside(&b, &sv, NULL);
    for (int i = 1; i < TASKS_NR; i++)
        (void)create_run(i % 2 ? &sv : &b, "resize", "\"inputs\":{\"url\":\"u\"}");
    for (int turn = 0; turn < 400 && n < TASKS_NR; turn++) {
        struct json_elements l = {0};
        struct reply r = claim(turn % 2 ? &sv : &b, 200, 60000);
        cr_assert_eq(json_elements(at(r.body, "tasks"), test_arena(), &l, NULL), 0);
        for (size_t i = 0; i < l.n && n < TASKS_NR + 8; i++) {
            ids[n] = text_at(l.v[i], "taskId");
            for (size_t k = 0; k < n; k++)
                cr_expect_not(str_eq(ids[k], ids[n]), "given twice: " STR_FMT, STR_ARG(ids[n]));
            cr_expect_eq(say(n % 2 ? &b : &sv, l.v[i], "complete", "").status, 200);
            n++;
        }
    }
    cr_expect_eq(n, (size_t)TASKS_NR);
    cr_expect(str_eqc(claim(&b, 0, 30000).body, "{\"tasks\":[]}"));
    server_kill(&b);
}

Test(workers, a_lease_that_lapses_wakes_claims_at_the_other_host /* WRK-12, WRK-23 */) {
    struct server b;
    const char *run = worker_run(&sv);
    server_beside(&b, &sv, NULL);
    struct str t = first_task(claim(&sv, 5000, 1000).body); /* and its worker is gone */
    struct str again = task_of(&b);
    cr_expect(str_eq(text_at(again, "taskId"), text_at(t, "taskId")));
    cr_expect_eq(int_at(again, "epoch"), 2);
    server_kill(&sv); /* the holder of the run */
    cr_expect_eq(say(&b, again, "complete", ",\"output\":{\"w\":1}").status, 200, "takeover");
    cr_expect(str_eqc(text_at(wait_terminal(&b, run), "status"), "completed"));
    struct reply r = say(&b, t, "complete", ",\"output\":{\"w\":2}");
    expect_error(&r, 409, "task_lease_lost");
    server_again(&sv);
    server_kill(&b);
}

/* --- seeds --- */

Test(workers, a_seeded_workflow_waits_for_its_type /* WRK-4 */) {
    struct str err = STR_NONE;
    const char *folder = fmt("%s/seeds", sv.dir);
    const char *const args[] = {"--seed", folder, NULL};
    cr_expect_neq(put_status(&sv, "resize", &err), 0, "it wrote the file, and is refused");
    cr_assert_eq(mkdir(folder, 0700), 0);
    cr_assert_eq(rename(fmt("%s/resize.json", sv.dir), fmt("%s/resize.json", folder)), 0);
    cr_assert_eq(server_stop(&sv), 0);
    sv.args = args;
    server_again(&sv);
    struct reply r =
        post(&sv, "/v1/runs", "{\"workflowId\":\"resize\",\"inputs\":{\"url\":\"u\"}}");
    cr_expect_eq(r.status, 400, STR_FMT, STR_ARG(r.body));
    cr_expect_not_null(strstr(r.body.p, "no worker has registered"), STR_FMT, STR_ARG(r.body));
    register_type(&sv, "");
    const char *run = create_run(&sv, "resize", "\"inputs\":{\"url\":\"u\"}");
    cr_expect_eq(say(&sv, task_of(&sv), "complete", "").status, 200);
    (void)wait_terminal(&sv, run);
}
