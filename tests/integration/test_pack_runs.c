/*
 * test_pack_runs.c: runs whose nodes are of installed packs, in the real program (PACK-61, PACK-64,
 * WASM-11, WASM-15): what a module asks people outlives kill -9 of the host and of its worker, and
 * the removal of the pack; new runs are refused then.
 */
#include "interrupt_kit.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(pack_runs, .init = up, .fini = down, .timeout = 120);

#define KIT "vendor.test.kit"

static const char *pack_folder(void) {
    static const char *const TYPES[] = {"echo",   "reads",   "writes",        "asks",   "suspends",
                                        "fails",  "draws",   "spins",         "fills",  "grows",
                                        "recurs", "outside", "outsideImport", "noJson", "noOutcome",
                                        "huge",   "counts",  "floods",        "judged"};
    struct buf b;
    const char *dir = fmt("%s/kit", sv.dir);
    buf_init(&b, 65536);
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        buf_addf(&b,
                 "%s{\"typeId\":\"" KIT ".%s\",\"version\":\"1.0.0\",\"category\":\"data\","
                 "\"role\":\"pure\"}",
                 i > 0 ? "," : "", TYPES[i]);
    cr_assert_eq(system(fmt("mkdir '%s' && cp '%s/kit.wasm' '%s'", dir, WOPR_MODULES, dir)), 0);
    FILE *f = fopen(fmt("%s/pack.json", dir), "w");
    cr_assert_not_null(f);
    fprintf(f,
            "{\"name\":\"" KIT
            "\",\"version\":\"1.0.0\",\"engines\":{\"openwop\":\"^1\"},\"nodes\":"
            "[%.*s],\"runtime\":{\"language\":\"wasm\",\"entry\":\"kit.wasm\"}}",
            (int)b.len, b.p);
    fclose(f);
    buf_fini(&b);
    return dir;
}

static void pack_install(void) {
    const char *tgz = fmt("%s/kit.tgz", sv.dir);
    struct str out, err;
    const char *const build[] = {"packs", "build", pack_folder(), "--out", tgz, NULL};
    const char *const install[] = {"packs", "install", tgz, "--pack-trust", "open", NULL};
    cr_assert_eq(program(&sv, build, &out, &err), 0, STR_FMT STR_FMT, STR_ARG(out), STR_ARG(err));
    cr_assert_eq(program(&sv, install, &out, &err), 0, STR_FMT STR_FMT, STR_ARG(out), STR_ARG(err));
}

static void pack_remove(void) {
    const char *const remove_it[] = {"packs", "remove", KIT, "1.0.0", NULL};
    struct str out, err;
    cr_assert_eq(program(&sv, remove_it, &out, &err), 0, STR_FMT STR_FMT, STR_ARG(out),
                 STR_ARG(err));
    usleep(700 * 1000); /* what was looked up is remembered for half a second */
}

static void flow_put(const char *id, const char *type) {
    struct reply r =
        ask(&sv, "PUT", fmt("/v1/host/wopr/workflows/%s", id),
            fmt("{\"id\":\"%s\",\"name\":\"w\",\"version\":\"1.0.0\",\"nodes\":[{\"id\":"
                "\"n\",\"typeId\":\"" KIT ".%s\",\"name\":\"n\",\"position\":{\"x\":0,"
                "\"y\":0},\"config\":{},\"inputs\":{}}],\"edges\":[],\"variables\":[{"
                "\"name\":\"v\",\"type\":\"array\",\"defaultValue\":[1,2]}],"
                "\"triggers\":[],\"metadata\":{\"createdAt\":\"2026-01-01T00:00:00Z\","
                "\"updatedAt\":\"2026-01-01T00:00:00Z\"},\"settings\":{\"timeout\":0}}",
                id, type),
            NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
}

/* The workers of the host, which go on without knowing. */
static void workers_kill(void) {
    cr_assert_eq(system(fmt("for c in $(cat /proc/%d/task/*/children); do kill -KILL $c; done",
                            (int)sv.pid)),
                 0);
}

static void answer(const char *run, const char *value) {
    struct reply r = resolve(&sv, run, "n", fmt("{\"resumeValue\":%s}", value));
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
}

/* Until the run asks by this key. */
static void wait_open(const char *run, const char *key) {
    for (int i = 0; i < 400; i++) {
        struct reply r = ask(&sv, "GET", fmt("/v1/runs/%s/events/poll", run), NULL, NULL);
        if (strstr(r.body.p, fmt("\"key\":\"%s\"", key))) {
            wait_status(&sv, run, "waiting-input");
            return;
        }
        usleep(50 * 1000);
    }
    cr_assert(false, "it asks for nothing more");
}

Test(pack_runs, what_a_module_asks_outlives_kills_and_the_removal_of_its_pack) {
    pack_install();
    flow_put("asks", "asks");
    const char *run = waiting(&sv, "asks", "waiting-input", NULL);
    server_kill(&sv);
    pack_remove();
    server_again(&sv);
    struct reply no = ask(&sv, "POST", "/v1/runs", "{\"workflowId\":\"asks\"}", NULL);
    cr_expect_eq(no.status, 400, STR_FMT, STR_ARG(no.body));
    answer(run, "{\"yes\":1}");
    wait_open(run, "second");
    workers_kill();
    server_kill(&sv);
    server_again(&sv);
    answer(run, "7");
    struct str end = wait_status(&sv, run, "completed");
    (void)end;
    struct reply log = ask(&sv, "GET", fmt("/v1/runs/%s/events/poll", run), NULL, NULL);
    cr_expect_not_null(strstr(log.body.p, "{\"before\":[1,2],\"first\":{\"yes\":1},\"second\":7}"),
                       STR_FMT, STR_ARG(log.body));
}

Test(pack_runs, a_worker_that_is_killed_fails_its_own_node_alone) {
    pack_install();
    flow_put("spins", "spins");
    flow_put("reads", "reads");
    const char *run = create_run(&sv, "spins", NULL);
    wait_status(&sv, run, "running");
    usleep(300 * 1000);
    workers_kill();
    struct str end = wait_status(&sv, run, "failed");
    cr_expect_not_null(strstr(end.p, "wasm_worker_failed"), STR_FMT, STR_ARG(end));
    wait_status(&sv, create_run(&sv, "reads", NULL), "completed");
}

Test(pack_runs, a_folder_is_tried_without_a_host) { /* wopr packs run */
    const char *dir = pack_folder();
    const struct {
        const char *type;
        int rc;
        const char *out, *err;
    } CASES[] = {
        {KIT ".echo", 0, "\"inputs\":{\"name\":\"x\"}", ""},
        {KIT ".writes", 0, "[\"log\",\"warn\",\"careful\"]", ""},
        {KIT ".fails", 1, "out_of_tea", ""},
        {KIT ".asks", 1, "asks: {\"kind\":\"custom\",\"key\":\"first\"", "waits for an answer"},
        {KIT ".recurs", 1, "", "wasm_trap"},
        {KIT ".none", 1, "", "not_found"}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const char *const args[] = {
            "packs", "run", dir, CASES[i].type, "--inputs", "{\"name\":\"x\"}", NULL};
        struct str out, err;
        int rc = program(&sv, args, &out, &err);
        cr_expect_eq(rc, CASES[i].rc, "%s: %d " STR_FMT, CASES[i].type, rc, STR_ARG(err));
        cr_expect_not_null(strstr(out.p, CASES[i].out), "%s: " STR_FMT, CASES[i].type,
                           STR_ARG(out));
        cr_expect_not_null(strstr(err.p, CASES[i].err), "%s: " STR_FMT, CASES[i].type,
                           STR_ARG(err));
    }
}
