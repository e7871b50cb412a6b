/*
 * test_sensitive.c: clear inside, masked outside (OBS-71, OBS-72, CHAN-24, SSE-17, SSE-18,
 * NODE-20): what nodes read and what the world sees, through restarts, forks, children, gates and
 * channels.
 */
#include "engine_world.h"

#include "engine/workers.h"
#include "fork_kit.h"

#include "codec/json.h"
#include "support/sampled.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>

#define CANARY "ca9a7y-0f-th3-m1ne"
#define GIVEN  "0nly-1n-the-1nputs" /* in no definition, so no file may hold it */

static void up(void) {
    world_virtual_time();
    world_up();
}
TestSuite(sensitive, .init = up, .fini = world_down);

static void answer(struct str run, const char *node, const char *value) {
    struct call c;
    call_init(&c, ENGINE_RESOLVE, run);
    c.cmd.resolve.node_id = str_c(node);
    c.cmd.resolve.value = str_c(value);
    call_do(&c);
    cr_assert_eq(c.cmd.result.rc, 0, "%s: %s", c.cmd.result.err.message, world_story(run));
    call_fini(&c);
}

static struct str outputs_of(struct str run, const char *node) {
    struct event_list l = world_events(run);
    for (size_t i = 0; i < l.n; i++)
        if (l.v[i].kind == EV_NODE_COMPLETED && str_eqc(l.v[i].node_id, node))
            return json_get(l.v[i].payload, "outputs");
    return STR_NONE;
}

/* The length of what a node read, which no mask has: its output is not sensitive itself. */
#define MEASURE(id, what)                                                                          \
    NODE(id, "core.identity", "",                                                                  \
         "\"n\":{\"type\":\"expression\",\"expression\":\"size(" what ")\"}")
#define GATE(id) NODE(id, "core.approvalGate", "", "")
/* The definition with this masking mode. */
static struct str with_mode(struct str def, const char *mode) {
    const char *at = strstr(def.p, "\"metadata\":{}");
    cr_assert_not_null(at);
    return arena_printf(W.a, "%.*s\"metadata\":{\"complianceConfig\":{\"maskingMode\":\"%s\"}}%s",
                        (int)(at - def.p), def.p, mode, at + strlen("\"metadata\":{}"));
}

static bool occurs(const char *p, size_t n, const char *word) {
    size_t w = strlen(word);
    for (size_t i = 0; i + w <= n; i++)
        if (p[i] == word[0] && memcmp(p + i, word, w) == 0) return true;
    return false;
}

/* In no file of the database: main file, WAL, lock. */
static void files_hold_no(const char *word) {
    struct dirent *x;
    DIR *d = opendir(W.dir);
    cr_assert_not_null(d);
    while ((x = readdir(d)) != NULL) {
        char path[544];
        snprintf(path, sizeof path, "%s/%s", W.dir, x->d_name);
        FILE *f = fopen(path, "rb");
        if (!f || x->d_name[0] == '.') {
            if (f) fclose(f);
            continue;
        }
        struct buf b;
        buf_init(&b, 256u << 20);
        char part[65536];
        for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;) buf_add(&b, part, n);
        fclose(f);
        cr_expect_not(occurs(b.p, b.len, word), "%s holds the clear value", x->d_name);
        buf_fini(&b);
    }
    closedir(d);
}

static void log_holds_no(struct str run, const char *word) {
    struct event_list l = world_events(run);
    for (size_t i = 0; i < l.n; i++)
        cr_expect_not(occurs(l.v[i].payload.p, l.v[i].payload.n, word), "%lld %s: " STR_FMT,
                      (long long)l.v[i].seq, event_name(l.v[i].kind), STR_ARG(l.v[i].payload));
}

static int64_t sealed_rows(struct str run) {
    struct sealed_list l;
    struct wopr_error err;
    cr_assert_eq(store_sealed(W.store, world_head(run).run_no, INT64_MIN, INT64_MAX, W.a, &l, &err),
                 0);
    return (int64_t)l.n;
}

static int64_t rows_of(const char *table) {
    char query[96];
    snprintf(query, sizeof query, "SELECT count(*) FROM %s", table);
    return world_sql_number(query);
}

static const char *const MODES[] = {"mask", "hash", "omit"};

/* --- outputs (F3) --- */

static struct str output_def(const char *mode) {
    struct str def = world_def(
        "out",
        "{\"id\":\"s\",\"name\":\"s\",\"typeId\":\"core.identity\",\"config\":{},\"position\":{"
        "\"x\":0,"
        "\"y\":0},\"inputs\":{\"v\":{\"type\":\"expression\",\"expression\":\"'ca9a7y-0f' + "
        "'-th3-m1ne'\"}},\"outputSensitivity\":{\"v\":true}}," GATE("g") "," NODE(
            "r", "test.measure", "",
            "\"v\":{\"type\":\"connection\",\"nodeId\":\"s\",\"outputKey\":\"v\",\"optional\":"
            "true}"),
        EDGE("e", "s", "g", "") "," EDGE("f", "g", "r", ""), 0, 0, 0);
    return with_mode(def, mode);
}

static size_t measured(struct str run, const char *node) {
    int64_t n = -1;
    cr_assert(json_int(json_get(outputs_of(run, node), "n"), &n), "%s", world_story(run));
    return (size_t)n;
}

/* The answer may come in through any host, and the first may have died (OBS-71): the run goes on
 * with the value, not with its mask. */
Test(sensitive, a_sensitive_output_survives_its_host) {
    for (size_t i = 0; i < 3; i++)
        for (int killed = 0; killed < 2; killed++) {
            struct str r = world_start(output_def(MODES[i]), NULL);
            world_wait_status(r, RUN_WAITING_APPROVAL);
            if (killed) world_engine_crash();
            else world_engine_stop();
            world_engine_start();
            answer(r, "g", "{\"action\":\"accept\"}");
            cr_assert_eq(world_wait_final(r), RUN_COMPLETED);
            cr_expect_eq(measured(r, "r"), strlen(CANARY), "mode %zu", i);
            log_holds_no(r, CANARY);
        }
}

Test(sensitive, what_was_sealed_goes_with_the_run_and_no_file_ever_held_it) {
    struct str r = world_start(output_def(MODES[0]), NULL);
    world_wait_status(r, RUN_WAITING_APPROVAL);
    cr_expect_eq(sealed_rows(r), 1);
    answer(r, "g", "{\"action\":\"accept\"}");
    files_hold_no(CANARY);
    cr_assert_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(sealed_rows(r), 0);
    files_hold_no(CANARY);
}

/* --- workers --- */

struct worker_wait {
    struct engine_task_op o;
    struct worker_type_cmd t;
    sem_t done;
};
static void worker_op_done(struct engine_task_op *o) {
    sem_post(&((struct worker_wait *)o->ctx)->done);
}
static void worker_type_done(struct worker_type_cmd *c) {
    sem_post(&((struct worker_wait *)c->ctx)->done);
}

static void worker_registers(const char *type) {
    struct worker_wait w = {.t = {.what = WORKER_TYPE_PUT, .a = W.a, .done = worker_type_done}};
    w.t.ctx = &w;
    w.t.type = (struct worker_type){.tenant = STR("t1"), .test_mode = true, .type_id = str_c(type)};
    sem_init(&w.done, 0, 0);
    engine_worker_type(W.engine, &w.t);
    cr_assert_eq(world_wait_sem(&w.done), 0);
    cr_assert_eq(w.t.rc, 0);
}

static struct task_row worker_claims(const char *type) {
    const struct str types[] = {str_c(type)};
    struct worker_wait w = {.o = {.op = {.what = TASK_OP_CLAIM,
                                         .a = W.a,
                                         .max = 1,
                                         .lease_ms = 30000,
                                         .queue = {STR("t1"), true, types, 1}},
                                  .done = worker_op_done}};
    w.o.ctx = &w;
    sem_init(&w.done, 0, 0);
    engine_task_op(W.engine, &w.o);
    cr_assert_eq(world_wait_sem(&w.done), 0);
    cr_assert_eq(w.o.op.claimed.n, 1u);
    return w.o.op.claimed.v[0];
}

Test(sensitive, a_worker_gets_clear_values_and_no_file_holds_them /* WRK-9, OBS-71 */) {
    worker_registers("acme.x");
    struct str r = world_start(
        world_def("w",
                  NODE("n", "acme.x", "", "\"v\":{\"type\":\"variable\",\"variableName\":\"v\"}"),
                  0, "{\"name\":\"v\",\"type\":\"string\",\"sensitive\":true}", 0, 0),
        "{\"v\":\"" CANARY "\"}");
    world_wait_event(r, EV_NODE_STARTED, 1);
    struct task_row t = worker_claims("acme.x");
    struct str body;
    struct wopr_error err;
    cr_expect_eq(t.body.n, 0u, "it is sealed");
    cr_assert_eq(engine_task_body(W.engine, &t, W.a, &body, &err), 0, "%s", err.message);
    cr_expect(str_eqc(json_get(body, "input"), "{\"v\":\"" CANARY "\"}"), STR_FMT, STR_ARG(body));
    files_hold_no(CANARY);
    cr_assert_eq(world_pause(r, DRAIN_CURRENT_NODE), 0); /* the outcome waits in its row */
    struct call c;
    call_init(&c, ENGINE_TASK, r);
    c.cmd.task = (struct cmd_task){
        .task_id = t.task_id,
        .epoch = t.epoch,
        .says = {.verb = TASK_COMPLETE, .output = STR("{\"copy\":\"" CANARY "\"}")}};
    call_do(&c);
    cr_assert_eq(c.cmd.result.rc, 0, "%s", c.cmd.result.err.message);
    call_fini(&c);
    files_hold_no(CANARY);
    cr_assert_eq(world_op(ENGINE_RESUME, r, NULL), 0);
    cr_assert_eq(world_wait_final(r), RUN_COMPLETED);
    log_holds_no(r, CANARY);
    cr_expect_eq(sealed_rows(r), 0);
    files_hold_no(CANARY);
}

/* --- variables (F13) --- */

#define SECRET_VAR     "{\"name\":\"v\",\"type\":\"string\",\"sensitive\":true}"
#define VAR(name)      "\"x\":{\"type\":\"variable\",\"variableName\":\"" name "\"}"
#define SET(id, value) NODE(id, "core.setVariable", "\"name\":\"v\",\"value\":\"" value "\"", "")

Test(sensitive, a_mask_is_taken_once /* EVT-41, OBS-72, F13 */) {
    for (size_t i = 0; i < 3; i++) {
        struct str r = world_start(
            with_mode(
                world_def("var", SET("s", CANARY) "," GATE("g") "," MEASURE("m", "variables.v"),
                          EDGE("e", "s", "g", "") "," EDGE("f", "g", "m", ""), SECRET_VAR, 0, 0),
                MODES[i]),
            "{\"v\":\"" GIVEN "\"}");
        world_wait_status(r, RUN_WAITING_APPROVAL);
        const struct event *e = world_event(r, EV_VARIABLE_CHANGED, 1);
        struct str shown = json_get(e->payload, "next"),
                   inputs = json_get(world_event(r, EV_RUN_STARTED, 1)->payload, "inputs");
        cr_expect(str_eq(world_var(r, "v"), shown), "one digest everywhere: " STR_FMT " " STR_FMT,
                  STR_ARG(world_var(r, "v")), STR_ARG(shown));
        cr_expect(str_eq(json_get(e->payload, "previous"), json_get(inputs, "v")));
        struct str fork = fork_run(r, FORK_BRANCH, e->seq + 1);
        world_wait_status(fork, RUN_WAITING_APPROVAL);
        cr_expect(str_eq(world_var(fork, "v"), shown), "also behind a cut");
        world_engine_crash();
        world_engine_start();
        answer(fork, "g", "{\"action\":\"accept\"}");
        answer(r, "g", "{\"action\":\"accept\"}");
        cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
        cr_expect_eq(world_wait_final(fork), RUN_COMPLETED);
        cr_expect_eq(measured(r, "m"), strlen(CANARY));
        cr_expect_eq(measured(fork, "m"), strlen(CANARY), "a fork has clear values of its own");
        cr_expect(str_eq(world_var(r, "v"), shown));
        cr_expect_eq(sealed_rows(r) + sealed_rows(fork), 0);
        log_holds_no(r, CANARY);
        log_holds_no(r, GIVEN);
    }
    files_hold_no(GIVEN);
}

/* --- channels (F4, F14) --- */

static struct str channel_run(const char *reducer, const char *const *writes, const char *mode,
                              const char *what) {
    struct buf nodes, edges;
    buf_init(&nodes, 1 << 16);
    buf_init(&edges, 1 << 16);
    size_t n = 0;
    for (; writes[n]; n++) {
        buf_addf(
            &nodes,
            "%s{\"id\":\"w%zu\",\"typeId\":\"core.channelWrite\",\"name\":\"w\",\"position\":{"
            "\"x\":0,\"y\":0},\"config\":{\"channelName\":\"c\",\"reducer\":\"%s\",\"value\":%s"
            "},\"inputs\":{}}",
            n ? "," : "", n, reducer, writes[n]);
    }
    for (size_t i = 0; i + 1 < n; i++)
        buf_addf(&edges, "{\"id\":\"e%zu\",\"sourceNodeId\":\"w%zu\",\"targetNodeId\":\"w%zu\"},",
                 i, i, i + 1);
    buf_addf(&edges,
             "{\"id\":\"eg\",\"sourceNodeId\":\"w%zu\",\"targetNodeId\":\"g\"}," EDGE("er", "g",
                                                                                      "r", ""),
             n - 1);
    buf_addf(
        &nodes,
        "," GATE("g") ",{\"id\":\"r\",\"typeId\":\"core.identity\",\"name\":\"r\",\"position\":{"
                      "\"x\":0,\"y\":0},\"config\":{},\"inputs\":{\"n\":{\"type\":\"expression\","
                      "\"expression\":"
                      "\"%s\"}}}",
        what);
    struct str more =
        arena_printf(W.a, ",\"channels\":{\"c\":{\"reducer\":\"%s\",\"sensitive\":true}}", reducer);
    struct str def_text = world_def("chan", arena_str(W.a, buf_str(&nodes)).p,
                                    arena_str(W.a, buf_str(&edges)).p, 0, 0, more.p);
    buf_fini(&nodes);
    buf_fini(&edges);
    struct str r = world_start(with_mode(def_text, mode), NULL);
    world_wait_settled(r);
    return r;
}

Test(sensitive, a_sensitive_channel_folds_clear_values /* CHAN-24, CHAN-9, F4 */) {
    static const char *const counter[] = {"1000005", "6000000", NULL};
    static const char *const votes[] = {"{\"userId\":\"u\",\"action\":\"accept\"}",
                                        "{\"userId\":\"u\",\"action\":\"reject\"}",
                                        "{\"userId\":\"w\",\"action\":\"accept\"}", NULL};
    static const char *const messages[] = {"{\"messageId\":\"m1\",\"text\":\"" CANARY "\"}",
                                           "{\"messageId\":\"m1\",\"text\":\"" CANARY "\"}", NULL};
    static const char *const merges[] = {"{\"a\":\"" CANARY "\"}", "{\"b\":\"" CANARY "\"}", NULL};
    static const struct {
        const char *reducer;
        const char *const *writes;
        const char *what;
        size_t n;
    } rows[] = {{"counter", counter, "channels.c + 1", 7000006},
                {"votes", votes, "size(channels.c)", 2},
                {"message", messages, "size(channels.c)", 1},
                {"merge", merges, "size(channels.c)", 2},
                {"append", merges, "size(channels.c)", 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t m = 0; m < 3; m++) {
            struct str r = channel_run(rows[i].reducer, rows[i].writes, MODES[m], rows[i].what);
            cr_assert_eq(world_head(r).status, RUN_WAITING_APPROVAL, "%s: %s", rows[i].reducer,
                         world_story(r));
            struct run_view v = world_view(r);
            cr_expect_eq(v.chans_nr, m == 2 ? 0 : 1);
            if (m < 2) cr_expect(str_eqc(v.chans[0].value, "\"[REDACTED]\""), "masked as a whole");
            world_engine_crash();
            world_engine_start();
            answer(r, "g", "{\"action\":\"accept\"}");
            cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
            cr_expect_eq(measured(r, "r"), rows[i].n, "%s", rows[i].reducer);
            log_holds_no(r, CANARY);
            cr_expect_eq(sealed_rows(r), 0);
        }
}

Test(sensitive, a_sensitive_default_is_masked_before_the_first_write /* CHAN-24, SSE-18, F14 */) {
    for (size_t m = 0; m < 3; m++) {
        struct str more = arena_printf(
            W.a,
            ",\"channels\":{\"c\":{\"reducer\":\"replace\",\"sensitive\":true,\"default\":\"" CANARY
            "\"}}");
        struct str def = world_def("d", GATE("g") "," MEASURE("m", "channels.c"),
                                   EDGE("e", "g", "m", ""), 0, 0, more.p);
        struct str r = world_start(with_mode(def, MODES[m]), NULL);
        world_wait_status(r, RUN_WAITING_APPROVAL);
        struct run_view v = world_view(r);
        cr_expect_eq(v.chans_nr, m == 2 ? 0 : 1);
        if (m < 2) cr_expect(str_eqc(v.chans[0].value, "\"[REDACTED]\""));
        answer(r, "g", "{\"action\":\"accept\"}");
        cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
        cr_expect_eq(measured(r, "m"), strlen(CANARY));
    }
}

/* --- copies --- */

#define COPY2(id, name, from)                                                                      \
    NODE(id, "core.setVariable", "\"name\":\"" name "\"",                                          \
         "\"value\":{\"type\":\"variable\",\"variableName\":\"" from "\"}")
#define COPY(id, name)                                                                             \
    NODE(id, "core.setVariable", "\"name\":\"" name "\"",                                          \
         "\"value\":{\"type\":\"variable\",\"variableName\":\"v\"}")

/* Into a plain variable, through getVariable, identity, a longer text, a log line. */
Test(sensitive, a_value_that_is_passed_on_stays_sensitive /* OBS-71 */) {
    for (size_t m = 0; m < 3; m++) {
        struct str def = world_def(
            "copies",
            GATE("g") "," COPY("c", "plain") "," NODE(
                "get", "core.getVariable", "\"name\":\"v\"",
                "") "," NODE("i", "core.identity", "",
                             "\"a\":{\"type\":\"variable\",\"variableName\":\"v\"},"
                             "\"b\":{\"type\":\"expression\",\"expression\":\"'<' + variables.v +"
                             " '>'\"},\"n\":{\"type\":\"expression\",\"expression\":"
                             "\"size(variables.plain)\"}") "," NODE("l", "vendor.wopr.log", "",
                                                                    "\"message\":{\"type\":"
                                                                    "\"expression\",\"expression\":"
                                                                    "\"'it is ' + "
                                                                    "variables.v\"}") "," NODE("w",
                                                                                               "cor"
                                                                                               "e."
                                                                                               "cha"
                                                                                               "nne"
                                                                                               "lWr"
                                                                                               "it"
                                                                                               "e",
                                                                                               "\"c"
                                                                                               "han"
                                                                                               "nel"
                                                                                               "Nam"
                                                                                               "e\""
                                                                                               ":\""
                                                                                               "ope"
                                                                                               "n"
                                                                                               "\"",
                                                                                               "\"v"
                                                                                               "alu"
                                                                                               "e\""
                                                                                               ":{"
                                                                                               "\"t"
                                                                                               "ype"
                                                                                               "\":"
                                                                                               "\"v"
                                                                                               "ari"
                                                                                               "abl"
                                                                                               "e\""
                                                                                               ","
                                                                                               "\"v"
                                                                                               "ari"
                                                                                               "abl"
                                                                                               "eNa"
                                                                                               "me"
                                                                                               "\":"
                                                                                               "\"v"
                                                                                               "\""
                                                                                               "}"),
            EDGE("e0", "g", "c", "") "," EDGE("e1", "c", "get", "") "," EDGE(
                "e2", "get", "i", "") "," EDGE("e3", "i", "l", "") "," EDGE("e4", "l", "w", ""),
            SECRET_VAR, 0, 0);
        struct str r = world_start(with_mode(def, MODES[m]), "{\"v\":\"" GIVEN "\"}");
        world_wait_status(r, RUN_WAITING_APPROVAL);
        world_engine_crash();
        world_engine_start();
        answer(r, "g", "{\"action\":\"accept\"}");
        cr_assert_eq(world_wait_final(r), RUN_COMPLETED, "%s " STR_FMT, world_story(r),
                     STR_ARG(world_view(r).error));
        log_holds_no(r, GIVEN);
        cr_expect_eq(measured(r, "i"), strlen(GIVEN), "clear inside");
        cr_expect(str_eqc(json_get(world_event(r, EV_LOG_APPENDED, 1)->payload, "message"),
                          "\"it is [REDACTED]\""));
        cr_expect_eq(sealed_rows(r), 0);
    }
    files_hold_no(GIVEN);
}

static struct str open_def(const char *sensitivity) {
    return world_def("open",
                     arena_printf(W.a,
                                  "{\"id\":\"i\",\"name\":\"i\",\"typeId\":\"core.identity\","
                                  "\"config\":{},\"position\":{\"x\":0,\"y\":0},\"inputs\":{" VAR(
                                      "v") "},\"outputSensitivity\":{%s}}",
                                  sensitivity)
                         .p,
                     0, SECRET_VAR, 0, 0);
}

Test(sensitive, an_author_may_let_a_port_show_what_it_has /* OBS-70 */) {
    struct str r = world_start(open_def("\"x\":false"), "{\"v\":\"" GIVEN "\"}");
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect(str_eqc(outputs_of(r, "i"), "{\"x\":\"" GIVEN "\"}"));
    r = world_start(open_def(""), "{\"v\":\"" GIVEN "\"}");
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect(str_eqc(outputs_of(r, "i"), "{\"x\":\"[REDACTED]\"}"));
}

/* --- what is recognised --- */

#define EXPR(id, expr)                                                                             \
    NODE(id, "core.identity", "", "\"x\":{\"type\":\"expression\",\"expression\":\"" expr "\"}")
#define PLAIN_VAR "{\"name\":\"p\",\"type\":\"object\"}"
#define LOG(id, expr)                                                                              \
    NODE(id, "vendor.wopr.log", "",                                                                \
         "\"message\":{\"type\":\"expression\",\"expression\":\"" expr "\"}")

/* Is the output masked of a node that passes `plain` on, which a caller has given beside the
 * sensitive input, in whatever spelling? */
static bool recognised(const char *secret, const char *plain) {
    struct str def = world_def(
        "known",
        NODE("i", "core.identity", "", "\"x\":{\"type\":\"variable\",\"variableName\":\"p\"}"), 0,
        "{\"name\":\"v\",\"type\":\"object\",\"sensitive\":true}," PLAIN_VAR, 0, 0);
    char inputs[400];
    snprintf(inputs, sizeof inputs, "{\"v\":{\"k\":%s},\"p\":{\"q\":%s}}", secret, plain);
    struct str r = world_start(def, inputs);
    cr_assert_eq(world_wait_final(r), RUN_COMPLETED, "%s", world_story(r));
    return str_eqc(outputs_of(r, "i"), "{\"x\":\"[REDACTED]\"}");
}

Test(sensitive, a_copy_is_recognised_in_any_spelling /* OBS-71 */) {
    cr_expect(recognised("\"" GIVEN "\"", "\"" GIVEN "\""));
    cr_expect(recognised("\"" GIVEN "\"", "\"\\u0030nly-1n-the-1n\\u0070uts\""), "escapes");
    cr_expect(recognised("\"a/path/of/ours\"", "\"in a\\/path\\/of\\/ours it is\""), "a solidus");
    cr_expect(recognised("\"a\\/path\\/of\\/ours\"", "\"a/path/of/ours\""));
    cr_expect(recognised("\"two\\nlines\"", "\"two\\u000alines\""));
    cr_expect(recognised("4111111111111111", "4111111111111111"), "a number in an object");
    cr_expect(recognised("4111111111111111", "\"card 4111111111111111\""));
    cr_expect(recognised("{\"deep\":[\"" GIVEN "\"]}", "[\"" GIVEN "\"]"));
    cr_expect_not(recognised("\"" GIVEN "\"", "\"0nly-1n-another\""));
    cr_expect_not(recognised("2026", "2026"), "a short part is a word of every log");
    cr_expect_not(recognised("4111111111111111", "4111111111111112"));
}

Test(sensitive, a_short_value_is_replaced_in_log_lines_where_it_stands_alone /* OBS-71 */) {
    struct str def = world_def(
        "pin", LOG("l", "'pin ' + variables.v + ', not 94711'") "," EXPR("i", "variables.p"), 0,
        SECRET_VAR "," PLAIN_VAR, 0, 0);
    struct str r = world_start(def, "{\"v\":\"4711\",\"p\":{\"list\":[\"4711\"]}}");
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect(str_eqc(json_get(world_event(r, EV_LOG_APPENDED, 1)->payload, "message"),
                      "\"pin [REDACTED], not 94711\""),
              STR_FMT, STR_ARG(world_event(r, EV_LOG_APPENDED, 1)->payload));
    cr_expect(str_eqc(outputs_of(r, "i"), "{\"x\":\"[REDACTED]\"}"), "in a list too");
}

/* A word of a condition, a node id, a word of the configuration: whoever reads the definition knows
 * it, and what has it from there is no copy.  Neither is a word of the protocol. */
Test(sensitive, what_the_definition_says_is_no_secret /* OBS-71 */) {
    static const char *const words[] = {"approved", "collector", "standard-mode", "info"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct str def = world_def(
            "said",
            EXPR("collector", "'approved'") "," NODE(
                "n", "core.setVariable", "\"name\":\"p\",\"value\":\"standard-mode\"",
                "") "," LOG("l", "'approved by collector in standard-mode'") "," EXPR("r", "1"),
            "{\"id\":\"e\",\"sourceNodeId\":\"collector\",\"targetNodeId\":\"r\",\"condition\":{"
            "\"type\":\"expression\",\"expression\":\"output.x == 'approved'\"}}",
            SECRET_VAR ",{\"name\":\"p\",\"type\":\"string\"}", 0, 0);
        char inputs[80];
        snprintf(inputs, sizeof inputs, "{\"v\":\"%s\"}", words[i]);
        struct str r = world_start(def, inputs);
        cr_assert_eq(world_wait_final(r), RUN_COMPLETED, "%s: " STR_FMT, words[i],
                     STR_ARG(world_view(r).error));
        cr_expect(str_eqc(outputs_of(r, "collector"), "{\"x\":\"approved\"}"), "%s", words[i]);
        cr_expect_gt(outputs_of(r, "r").n, 0, "the condition holds: %s", words[i]);
        cr_expect(str_eqc(world_var(r, "p"), "\"standard-mode\""), "%s", words[i]);
        struct str line = world_event(r, EV_LOG_APPENDED, 1)->payload;
        cr_expect(str_eqc(json_get(line, "message"), "\"approved by collector in standard-mode\""));
        cr_expect(str_eqc(json_get(line, "level"), "\"info\""));
        cr_expect(str_eqc(world_var(r, "v"), "\"[REDACTED]\""), "itself it stays masked");
    }
}

/* Thousands of values and a text of half a megabyte: one pass. */
Test(sensitive, many_values_and_a_long_text_are_looked_through) {
    struct str def =
        world_def("long", EXPR("i", "variables.p.t") "," EXPR("h", "variables.p.u"), 0,
                  "{\"name\":\"v\",\"type\":\"array\",\"sensitive\":true}," PLAIN_VAR, 0, 0);
    struct buf b;
    buf_init(&b, 4u << 20);
    buf_addz(&b, "{\"v\":[");
    for (int i = 0; i < 3000; i++) buf_addf(&b, "%s\"customer-%08d\"", i ? "," : "", i);
    buf_addz(&b, "],\"p\":{\"t\":\"");
    for (int i = 0; i < 30000; i++) buf_addf(&b, "customer %08d ", i);
    buf_addz(&b, "\",\"u\":\"");
    for (int i = 0; i < 9000; i++) buf_addf(&b, "customer %08d ", i);
    buf_addz(&b, " customer-00001234 \"}}");
    struct str r = world_start(def, arena_cstr(W.a, buf_str(&b)));
    buf_fini(&b);
    cr_assert_eq(world_wait_final(r), RUN_COMPLETED, "%s", world_story(r));
    cr_expect_gt(outputs_of(r, "i").n, 100000, "it holds none, and is shown: %.200s",
                 outputs_of(r, "i").p);
    cr_expect(str_eqc(outputs_of(r, "h"), "{\"x\":\"[REDACTED]\"}"));
}

/* inputMapping into a plain variable of a child, and back by outputMapping. */
Test(sensitive, a_child_keeps_what_it_is_given_to_itself /* OBS-71, NODE-48, WF-49 */) {
    struct workflow *wf =
        world_put(world_def("child", GATE("g") "," MEASURE("m", "variables.p"),
                            EDGE("e", "g", "m", ""), "{\"name\":\"p\",\"type\":\"string\"}", 0, 0));
    workflow_unref(wf);
    struct str r =
        world_start(world_def("parent",
                              NODE("s", "core.subWorkflow",
                                   "\"workflowId\":\"child\",\"inputMapping\":{\"p\":\"v\"},"
                                   "\"outputMapping\":{\"back\":\"p\"}",
                                   "") "," MEASURE("m", "variables.back"),
                              EDGE("e", "s", "m", ""), SECRET_VAR, 0, 0),
                    "{\"v\":\"" GIVEN "\"}");
    world_wait_status(r, RUN_WAITING_APPROVAL);
    struct str child = world_view(r).children.v[0].run_id;
    log_holds_no(child, GIVEN);
    world_engine_crash();
    world_engine_start();
    answer(child, "g", "{\"action\":\"accept\"}");
    cr_assert_eq(world_wait_final(r), RUN_COMPLETED, "%s", world_story(r));
    cr_expect_eq(measured(child, "m"), strlen(GIVEN));
    cr_expect_eq(measured(r, "m"), strlen(GIVEN));
    log_holds_no(r, GIVEN);
    log_holds_no(child, GIVEN);
    cr_expect_eq(sealed_rows(r) + sealed_rows(child), 0);
    files_hold_no(GIVEN);
}

/* What an author lets pass is what his own workflow declares, not what it is given. */
Test(sensitive, a_child_that_lets_values_pass_does_not_let_those_of_its_parent_pass /* OBS-71 */) {
    struct str def = world_def(
        "child",
        NODE("i", "core.identity", "", VAR("p")) "," NODE(
            "own", "core.identity", "",
            "\"x\":{\"type\":\"variable\",\"variableName\":\"mine\"}") "," COPY2("c", "plain", "p"),
        0,
        "{\"name\":\"p\",\"type\":\"string\"},{\"name\":\"plain\",\"type\":\"string\"},"
        "{\"name\":\"mine\",\"type\":\"string\",\"sensitive\":true,\"defaultValue\":\"of the "
        "author\"}",
        0, 0);
    workflow_unref(world_put(with_mode(def, "passthrough")));
    struct str r = world_start(world_def("parent",
                                         NODE("s", "core.subWorkflow",
                                              "\"workflowId\":\"child\",\"inputMapping\":{\"p\":"
                                              "\"v\"}",
                                              ""),
                                         0, SECRET_VAR, 0, 0),
                               "{\"v\":\"" GIVEN "\"}");
    cr_assert_eq(world_wait_final(r), RUN_COMPLETED, "%s", world_story(r));
    struct str child = world_view(r).children.v[0].run_id;
    log_holds_no(child, GIVEN);
    cr_expect(str_eqc(world_var(child, "p"), "\"[REDACTED]\""));
    cr_expect(str_eqc(world_var(child, "plain"), "\"[REDACTED]\""));
    cr_expect(str_eqc(outputs_of(child, "i"), "{\"x\":\"[REDACTED]\"}"));
    cr_expect(str_eqc(outputs_of(child, "own"), "{\"x\":\"of the author\"}"), "its own pass");
    cr_expect_eq(sealed_rows(child), 0);
    files_hold_no(GIVEN);
}

/* --- answers of gates --- */

static struct str gate_def(const char *type, const char *config, const char *port) {
    return world_def(
        "gate",
        arena_printf(W.a,
                     "{\"id\":\"g\",\"name\":\"g\",\"typeId\":\"%s\",\"config\":{%s},"
                     "\"position\":{\"x\":0,\"y\":0},\"inputs\":{},\"outputSensitivity\":{\"%s\":"
                     "true}}," GATE("h") "," NODE("r", "test.measure", "",
                                                  "\"v\":{\"type\":\"connection\",\"nodeId\":\"g\","
                                                  "\"outputKey\":\"%s\"}"),
                     type, config, port, port)
            .p,
        EDGE("e", "g", "h", "") "," EDGE("f", "h", "r", ""), 0, 0, 0);
}

Test(sensitive, an_answer_into_a_sensitive_port_is_masked_everywhere /* NODE-20, OBS-71 */) {
    static const struct {
        const char *type, *config, *port, *answer;
    } gates[] = {
        {"core.approvalGate", "", "comment", "{\"action\":\"accept\",\"comment\":\"" GIVEN "\"}"},
        {"core.clarificationGate", "\"questions\":[{\"id\":\"q\",\"question\":\"?\"}]", "answers",
         "{\"answers\":{\"q\":\"" GIVEN "\"}}"},
        {"core.interrupt", "\"kind\":\"custom\",\"data\":{\"customKind\":\"c\"}", "resumeValue",
         "\"" GIVEN "\""},
    };
    for (size_t i = 0; i < sizeof gates / sizeof *gates; i++) {
        struct str r = world_start(gate_def(gates[i].type, gates[i].config, gates[i].port), NULL);
        world_wait_settled(r);
        answer(r, "g", gates[i].answer);
        world_wait_event(r, EV_NODE_SUSPENDED, 2);
        world_engine_crash();
        world_engine_start();
        answer(r, "h", "{\"action\":\"accept\"}");
        cr_assert_eq(world_wait_final(r), RUN_COMPLETED, "%s", world_story(r));
        cr_expect_geq(measured(r, "r"), strlen(GIVEN), "%s", gates[i].type);
        log_holds_no(r, GIVEN);
    }
    files_hold_no(GIVEN);
}

/* --- forks of what has ended --- */

Test(sensitive, a_branch_of_an_ended_run_needs_its_sensitive_inputs_again /* FORK-23 */) {
    struct str r = world_start(world_def("m", MEASURE("m", "variables.v"), 0, SECRET_VAR, 0, 0),
                               "{\"v\":\"" GIVEN "\"}");
    struct wopr_error err = {0};
    struct str b;
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(fork_try(r, FORK_BRANCH, 0, (struct fork_overlay){.tags = STR_NONE}, &b, &err),
                 WOPR_E_CONFLICT);
    cr_expect(strstr(err.message, "clear values") && strstr(err.details, "sensitive_values_gone"),
              "%s %s", err.message, err.details);
    const struct fork_overlay again = {.inputs = STR("{\"v\":\"another\"}")};
    cr_assert_eq(fork_try(r, FORK_BRANCH, 0, again, &b, &err), 0, "%s", err.message);
    cr_expect_eq(world_wait_final(b), RUN_COMPLETED);
    cr_expect_eq(measured(b, "m"), 7);
    struct str replay = fork_run(r, FORK_REPLAY, 0); /* goes on with the mask (FORK-21) */
    cr_expect_eq(world_wait_final(replay), RUN_COMPLETED);
}

/* --- forks of what is alive --- */

enum { BIG_WRITES = 40 };
static int64_t big_bytes(void) { return sampled(900000); }
/* Some 36 MB of sealed values before the gate: each node writes the variable to itself. */
static struct str big_def(void) {
    struct buf nodes, edges;
    buf_init(&nodes, 1 << 16);
    buf_init(&edges, 1 << 16);
    for (int i = 0; i < BIG_WRITES; i++) {
        buf_addf(&nodes,
                 "{\"id\":\"w%d\",\"typeId\":\"core.setVariable\",\"name\":\"w\",\"position\":{"
                 "\"x\":0,\"y\":0},\"config\":{\"name\":\"v\"},\"inputs\":{\"value\":{\"type\":"
                 "\"variable\",\"variableName\":\"v\"}}},",
                 i);
        buf_addf(&edges, "{\"id\":\"e%d\",\"sourceNodeId\":\"w%d\",\"targetNodeId\":\"%s%d\"},", i,
                 i, i + 1 < BIG_WRITES ? "w" : "g", i + 1);
    }
    buf_addz(&nodes, NODE("g40", "core.approvalGate", "", "") "," MEASURE("m", "variables.v"));
    buf_addz(&edges, EDGE("last", "g40", "m", ""));
    struct str def = world_def("big", arena_str(W.a, buf_str(&nodes)).p,
                               arena_str(W.a, buf_str(&edges)).p, SECRET_VAR, 0, 0);
    buf_fini(&nodes);
    buf_fini(&edges);
    return def;
}

static int64_t sealed_bytes(struct str run) {
    struct sealed_list l;
    struct wopr_error err;
    int64_t n = 0;
    cr_assert_eq(store_sealed(W.store, world_head(run).run_no, 0, INT64_MAX, W.a, &l, &err), 0,
                 "%s", err.message);
    for (size_t i = 0; i < l.n; i++) n += (int64_t)l.v[i].sealed.box.n;
    return n;
}

/* What a fork inherits sealed has no bound of its own, outlives its source and goes with the last
 * fork (FORK-9, FORK-21). */
Test(sensitive, a_fork_of_a_live_run_inherits_what_is_sealed_whatever_its_size) {
    struct buf big;
    buf_init(&big, (size_t)big_bytes() + 64);
    buf_addz(&big, "{\"v\":\"");
    for (int64_t i = 0; i < big_bytes(); i++) buf_addc(&big, 'q');
    buf_addz(&big, "\"}");
    arena_free(W.a);
    W.a = arena_new(512u << 20);
    struct str r = world_start(big_def(), arena_cstr(W.a, buf_str(&big)));
    buf_fini(&big);
    world_wait_status(r, RUN_WAITING_APPROVAL);
    int64_t cut = world_head(r).next_seq - 1;
    cr_expect_gt(sealed_bytes(r), BIG_WRITES * big_bytes());
    struct str a = fork_run(r, FORK_BRANCH, cut), b = fork_run(a, FORK_BRANCH, cut / 2);
    world_wait_status(a, RUN_WAITING_APPROVAL);
    world_wait_status(b, RUN_WAITING_APPROVAL);
    answer(r, "g40", "{\"action\":\"accept\"}");
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(sealed_rows(r), 0, "nothing of what has ended is read");
    cr_expect_eq(sealed_bytes(a), BIG_WRITES * (big_bytes() + 39));
    world_engine_crash();
    world_engine_start();
    answer(a, "g40", "{\"action\":\"accept\"}");
    cr_assert_eq(world_wait_final(a), RUN_COMPLETED, "%s", world_story(a));
    cr_expect_eq((int64_t)measured(a, "m"), big_bytes());
    world_engine_crash();
    world_engine_start();
    answer(b, "g40", "{\"action\":\"accept\"}");
    cr_assert_eq(world_wait_final(b), RUN_COMPLETED, "%s", world_story(b));
    cr_expect_eq((int64_t)measured(b, "m"), big_bytes());
    cr_expect_eq(rows_of("sealed") + rows_of("sealed_holds"), 0, "gone with the last fork");
}

/* Whichever comes first: a fork has the values or knows that it has not, for good. */
Test(sensitive, a_fork_and_the_end_of_its_source_at_once /* FORK-21 */) {
    for (int i = 0; i < 24; i++) {
        struct str r = world_start(output_def(MODES[0]), NULL);
        struct call f, c;
        world_wait_status(r, RUN_WAITING_APPROVAL);
        call_init(&f, ENGINE_FORK, r);
        f.cmd.fork.from_seq = world_head(r).next_seq - 1;
        f.cmd.fork.mode = i % 2 ? FORK_BRANCH : FORK_REPLAY;
        call_init(&c, ENGINE_RESOLVE, r);
        c.cmd.resolve.node_id = STR("g");
        c.cmd.resolve.value = STR("{\"action\":\"accept\"}");
        call_send(i % 4 < 2 ? &f : &c);
        call_send(i % 4 < 2 ? &c : &f);
        call_wait(&f);
        call_wait(&c);
        cr_assert_eq(c.cmd.result.rc, 0, "%s", c.cmd.result.err.message);
        cr_assert(f.cmd.result.rc == 0 || f.cmd.result.rc == WOPR_E_CONFLICT, "%s",
                  f.cmd.result.err.message);
        struct str fork = f.cmd.result.rc == 0 ? arena_str(W.a, f.cmd.result.run_id) : STR_NONE;
        call_fini(&f);
        call_fini(&c);
        cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
        if (fork.n == 0) continue;
        bool clear = sealed_rows(fork) > 0;
        world_wait_settled(fork);
        world_engine_crash();
        world_engine_start();
        if (!run_status_final(world_head(fork).status))
            answer(fork, "g", "{\"action\":\"accept\"}");
        cr_assert_eq(world_wait_final(fork), RUN_COMPLETED, "%s", world_story(fork));
        if (i % 2) cr_expect(clear, "a branch computes with values only");
        cr_expect_eq(measured(fork, "r"), strlen(clear ? CANARY : "[REDACTED]"), "%d", i);
        log_holds_no(fork, CANARY);
    }
    cr_expect_eq(rows_of("sealed") + rows_of("sealed_holds"), 0);
}
