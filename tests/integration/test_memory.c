/*
 * test_memory.c: long-term memory of the real program: the fixtures, kills at every event, no
 * secret in any file, and the commands of operators (MEM-2, MEM-7 to MEM-14, MEM-30 to MEM-33).
 */
#include "harness.h"
#include "support/sampled.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(memory, .init = up, .fini = down, .timeout = 600);

#define ROUNDTRIP "conformance-agent-memory-roundtrip"
#define REDACTION "conformance-agent-memory-redaction"
#define REF       "conformance/agent-memory-roundtrip"

static struct str told(const char *const *args, int status) {
    struct str out, err;
    int rc = program(&sv, args, &out, &err);
    cr_assert_eq(rc, status, "%d: " STR_FMT STR_FMT, rc, STR_ARG(out), STR_ARG(err));
    return out;
}

static size_t lines_nr(struct str text) {
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) n += text.p[i] == '\n';
    return n;
}

static bool holds(struct str text, const char *part) {
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= text.n; i++)
        if (memcmp(text.p + i, part, n) == 0) return true;
    return false;
}

static const char *readback_id(const char *run) {
    struct str snap = wait_status(&sv, run, "completed");
    return fmt(STR_FMT, STR_ARG(text_at(snap, "variables.memoryReadback.id")));
}

Test(memory, operators_list_show_search_and_delete /* MEM-3, MEM-8 */) {
    const char *one = readback_id(create_run(&sv, ROUNDTRIP, NULL));
    const char *two = readback_id(create_run(&sv, ROUNDTRIP, NULL));
    const char *const refs[] = {"memory", "list", "--test", "--json", NULL};
    struct str out = told(refs, 0);
    cr_expect_eq(lines_nr(out), 1u, STR_FMT, STR_ARG(out));
    cr_expect(str_eqc(text_at(out, "ref"), REF));
    cr_expect_eq(int_at(out, "entries"), 2);
    const char *const live[] = {"memory", "list", NULL};
    cr_expect_eq(lines_nr(told(live, 0)), 1u, "the memories of live runs are others");
    const char *const list[] = {"memory", "list", REF, "--test", NULL};
    out = told(list, 0);
    cr_expect_eq(lines_nr(out), 3u, STR_FMT, STR_ARG(out));
    cr_expect(holds(out, one) && holds(out, two) && holds(out, "source:conformance"));
    cr_expect_not(holds(out, "likes tea"), "contents are shown on request");
    const char *const tagged[] = {"memory", "list", REF, "--test", "--tag", "other", NULL};
    cr_expect_eq(lines_nr(told(tagged, 0)), 1u);
    const char *const found[] = {"memory", "list", REF, "--test", "--text", "LIKES Tea", NULL};
    cr_expect_eq(lines_nr(told(found, 0)), 3u);
    const char *const none[] = {"memory", "list", REF, "--test", "--text", "coffee", NULL};
    cr_expect_eq(lines_nr(told(none, 0)), 1u);
    const char *const first[] = {"memory", "list", REF, "--test", "--limit", "1", "--json", NULL};
    out = told(first, 0);
    cr_expect(str_eqc(text_at(out, "id"), two), "newest first: " STR_FMT, STR_ARG(out));
    const char *const show[] = {"memory", "show", REF, one, "--test", NULL};
    cr_expect(holds(told(show, 0), "the user likes tea"));
    const char *const del[] = {"memory", "delete", REF, one, "--test", NULL};
    (void)told(del, 0);
    (void)told(del, 1);
    (void)told(show, 1);
    out = told(list, 0);
    cr_expect(!holds(out, one) && holds(out, two));
    const char *const verify[] = {"verify", NULL};
    (void)told(verify, 0);
}

Test(memory, discovery_says_what_there_is /* MEM-1, MEM-2, NODE-80 */) {
    struct reply r = ask(&sv, "GET", "/.well-known/openwop", NULL, NULL);
    cr_expect(str_eqc(at(r.body, "agents.memoryBackends"), "[\"long-term\"]"), STR_FMT,
              STR_ARG(r.body));
    cr_expect(str_eqc(at(r.body, "memory"),
                      "{\"supported\":true,\"maxEntrySizeBytes\":65536,\"ttlSupported\":true}"));
}

/* --- kills --- */

static const char *kills_text(void) {
    static const char *const ids[] = {"a", "x", "b", "y", "c"};
    const char *nodes = "", *edges = "";
    for (size_t i = 0; i < 5; i++) {
        const char *shape = "\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},\"inputs\":{}";
        nodes = i % 2 == 0
                    ? fmt("%s%s{\"id\":\"%s\",\"typeId\":\"core.identity\",%s,\"config\":"
                          "{\"memoryAction\":\"write-then-read\"},\"agent\":{\"agentId\":"
                          "\"core.test.one\",\"memoryRef\":\"test/kills\"}}",
                          nodes, i > 0 ? "," : "", ids[i], shape)
                    : fmt("%s,{\"id\":\"%s\",\"typeId\":\"core.delay\",%s,\"config\":{\"ms\":300}}",
                          nodes, ids[i], shape);
        if (i > 0)
            edges = fmt("%s%s{\"id\":\"e%zu\",\"sourceNodeId\":\"%s\",\"targetNodeId\":\"%s\"}",
                        edges, i > 1 ? "," : "", i, ids[i - 1], ids[i]);
    }
    return fmt("{\"id\":\"kills\",\"name\":\"kills\",\"version\":\"1\",\"nodes\":[%s],\"edges\":"
               "[%s],\"triggers\":[],\"settings\":{},\"variables\":[],\"metadata\":{}}",
               nodes, edges);
}

static void workflow_put(const char *text) {
    const char *path = fmt("%s/workflow.json", sv.dir);
    const char *const args[] = {"workflow", "put", path, NULL};
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
    (void)told(args, 0);
}

static size_t events_nr(const char *run) { return elements_of(events_of(&sv, run)).n; }

Test(memory, a_kill_at_every_event_writes_nothing_twice /* STORE-38, STORE-39 */) {
    workflow_put(kills_text());
    for (size_t n = 1; n <= 16; n++) {
        if (!sampled_in((unsigned)n - 1)) continue;
        const char *const list[] = {"memory", "list", "test/kills", "--test", "--json", NULL};
        size_t before = lines_nr(told(list, 0));
        const char *run = create_run(&sv, "kills", NULL);
        for (int i = 0; i < WAIT_MS && events_nr(run) < n; i++) nap_ms(1);
        server_kill(&sv);
        server_again(&sv);
        struct str snap = wait_status(&sv, run, "completed"), out = told(list, 0);
        cr_expect_eq(lines_nr(out), before + 3, "%zu: " STR_FMT, n, STR_ARG(out));
        cr_expect(str_eq(text_at(out, "id"), text_at(snap, "variables.memoryReadback.id")));
        const char *replay = fork_run(&sv, run, "replay", 0);
        struct str again = wait_status(&sv, replay, "completed");
        cr_expect(str_eq(at(again, "variables"), at(snap, "variables")), "MEM-9");
        cr_expect_eq(lines_nr(told(list, 0)), before + 3);
    }
    const char *const verify[] = {"verify", NULL};
    (void)told(verify, 0);
}

/* --- secrets --- */

static void files_clean(const char *secret) {
    struct dirent *x;
    DIR *d = opendir(sv.dir);
    cr_assert_not_null(d);
    while ((x = readdir(d)) != NULL) {
        const char *path = fmt("%s/%s", sv.dir, x->d_name);
        FILE *f = x->d_name[0] == '.' || x->d_type == DT_DIR ? NULL : fopen(path, "rb");
        struct buf b;
        char part[65536];
        if (!f) continue;
        buf_init(&b, 256u << 20);
        for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;) buf_add(&b, part, n);
        fclose(f);
        cr_expect_not(holds(buf_str(&b), secret), "%s holds it", x->d_name);
        buf_fini(&b);
    }
    closedir(d);
}

Test(memory, a_resolved_secret_is_in_no_answer_and_no_file /* MEM-10, SR-1 */) {
    const char *secret = "an-open-sesame-of-the-test", *path = fmt("%s.secret", sv.db);
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(secret, f);
    fclose(f);
    cr_assert_not_null(freopen(path, "r", stdin));
    const char *const set[] = {"secrets", "set", "conformance-test-secret", "--test", NULL};
    (void)told(set, 0);
    cr_assert_eq(remove(path), 0);
    const char *run = create_run(&sv, REDACTION, NULL);
    struct str snap = wait_status(&sv, run, "completed");
    cr_expect(str_eqc(text_at(snap, "variables.memoryReadback.content"),
                      "the door opens with [REDACTED:conformance-test-secret], always"),
              STR_FMT, STR_ARG(snap));
    cr_expect_not(holds(snap, secret));
    cr_expect_not(holds(events_of(&sv, run), secret));
    struct reply r = ask(&sv, "GET", fmt("/v1/runs/%s/debug-bundle", run), NULL, NULL);
    cr_expect_eq(r.status, 200);
    cr_expect_not(holds(r.body, secret));
    const char *const show[] = {"memory", "list",   "conformance/agent-memory-redaction",
                                "--test", "--json", NULL};
    cr_expect_not(holds(told(show, 0), secret));
    files_clean(secret);
    cr_expect_not(holds(server_log(&sv), secret));
    files_clean(secret);
}
