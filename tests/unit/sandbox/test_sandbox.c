/*
 * test_sandbox.c: modules in workers (WASM-2 to WASM-18), with the program itself as worker; what
 * the modules do: tests/sandbox/kit.c.
 */
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "codec/json.h"
#include "sandbox/sandbox.h"
#include "support/folder.h"
#include "support/sampled.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEED "\"seed\":\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\""
#define MESSAGE                                                                                    \
    "{\"request\":{\"abiVersion\":1,\"inputs\":{\"name\":\"x\"}},\"variables\":{\"v\":[1,2]},"     \
    "\"channels\":{\"c\":\"open\"},\"closed\":[\"shut\"]," SEED                                    \
    ",\"nowMs\":1234567890123,\"keep\":true,\"calls\":[]}"

struct waiting {
    pthread_mutex_t mu;
    pthread_cond_t cond;
    bool done;
    int rc;
    struct buf text;
    char message[200];
};

static void answered(void *ctx, const struct sandbox_report *r) {
    struct waiting *w = ctx;
    pthread_mutex_lock(&w->mu);
    cr_assert_not(w->done);
    w->done = true;
    w->rc = r->rc;
    if (r->message) snprintf(w->message, sizeof w->message, "%s", r->message);
    if (r->rc == 0) buf_adds(&w->text, r->text);
    pthread_cond_signal(&w->cond);
    pthread_mutex_unlock(&w->mu);
}

static void waiting_init(struct waiting *w) {
    *w = (struct waiting){.done = false};
    pthread_mutex_init(&w->mu, NULL);
    pthread_cond_init(&w->cond, NULL);
    buf_init(&w->text, 4u * 1024 * 1024);
}

static void wait_done(struct waiting *w) {
    pthread_mutex_lock(&w->mu);
    while (!w->done) pthread_cond_wait(&w->cond, &w->mu);
    pthread_mutex_unlock(&w->mu);
}

enum { SPIN_MS = 700 }; /* of a module that never ends */

static struct sandbox *sandbox(unsigned workers, uint64_t memory_max, int time_ms) {
    const struct sandbox_config cfg = {WOPR_PROGRAM, workers, memory_max, time_ms};
    struct sandbox *s = NULL;
    cr_assert_eq(sandbox_new(&cfg, &s, NULL), 0);
    return s;
}

static void keep(struct sandbox *s, const char *name, char digest[SANDBOX_DIGEST + 1]) {
    char path[512];
    struct buf b;
    snprintf(path, sizeof path, "%s/%s", WOPR_MODULES, name);
    cr_assert_eq(fs_read(path, SANDBOX_MODULE_MAX, &b), FS_READ_OK, "%s", path);
    cr_assert_eq(sandbox_keep(s, buf_str(&b), digest, NULL), 0);
    buf_fini(&b);
}

/* The report, which the caller frees. */
static char *ask_as(struct sandbox *s, const char *tenant, const char *digest, const char *node,
                    const char *message, int *rc) {
    struct waiting w;
    char full[100] = "";
    waiting_init(&w);
    if (*node) snprintf(full, sizeof full, "vendor.test.kit.%s", node);
    bool endless = strcmp(node, "spins") == 0; /* all others end by themselves, on any machine */
    const struct sandbox_request r = {.tenant = str_c(tenant),
                                      .module = str_c(digest),
                                      .node = str_c(full),
                                      .message = str_c(message),
                                      .time_ms = endless ? SPIN_MS : 0};
    cr_assert_eq(sandbox_submit(s, &r, answered, &w, NULL), 0);
    wait_done(&w);
    *rc = w.rc;
    buf_addc(&w.text, '\0');
    return buf_take(&w.text, NULL);
}

static char *ask(struct sandbox *s, const char *digest, const char *node, const char *message) {
    int rc;
    char *text = ask_as(s, "t", digest, node, message, &rc);
    cr_assert_eq(rc, 0);
    return text;
}

static void says(char *text, const char *part) {
    cr_assert_not_null(strstr(text, part), "%s lacks %s", text, part);
    mem_free(text);
}

Test(sandbox, a_module_says_what_it_is) { /* WASM-2, WASM-4 */
    struct sandbox *s = sandbox(1, 0, 0);
    char digest[SANDBOX_DIGEST + 1];
    keep(s, "kit.wasm", digest);
    says(
        ask(s, digest, "", "{}"),
        "{\"outcome\":\"loaded\",\"pack\":\"vendor.test.kit\",\"types\":[\"vendor.test.kit.echo\"");
    sandbox_drop(s, digest);
    sandbox_free(s);
}

Test(sandbox, a_node_is_given_its_request_and_reads_its_run) { /* WASM-9, WASM-10, WASM-11 */
    struct sandbox *s = sandbox(1, 0, 0);
    char digest[SANDBOX_DIGEST + 1];
    keep(s, "kit.wasm", digest);
    says(ask(s, digest, "echo", MESSAGE), "\"response\":{\"outcome\":\"completed\",\"output\":{"
                                          "\"abiVersion\":1,\"inputs\":{\"name\":\"x\"}}}");
    says(ask(s, digest, "reads", MESSAGE),
         "{\"v\":[1,2],\"absent\":\"nothing\",\"c\":\"open\",\"now\":1234567890123}");
    sandbox_free(s);
}

Test(sandbox, what_it_writes_is_told_in_order_with_a_status_each) { /* WASM-7, WASM-9 */
    struct sandbox *s = sandbox(1, 0, 0);
    char digest[SANDBOX_DIGEST + 1];
    keep(s, "kit.wasm", digest);
    char *text = ask(s, digest, "writes", MESSAGE);
    cr_assert_not_null(strstr(text, "{\"status\":[0,10,0,1],\"made\":{\"x\":1}}"), "%s", text);
    says(text, "\"effects\":[[\"set\",\"made\",{\"x\":1}],[\"write\",\"open\",[1]],"
               "[\"log\",\"debug\",\"trace\"],[\"log\",\"warn\",\"careful\"]]");
    sandbox_free(s);
}

Test(sandbox, a_wait_is_told_and_the_next_execution_goes_past_it) { /* WASM-15, WASM-16, WASM-18 */
    struct sandbox *s = sandbox(1, 0, 0);
    char digest[SANDBOX_DIGEST + 1], *calls, *end;
    keep(s, "kit.wasm", digest);
    char *text = ask(s, digest, "asks", MESSAGE);
    cr_assert_not_null(
        strstr(text,
               "\"outcome\":\"interrupt\",\"interrupt\":{\"kind\":\"custom\",\"key\":\"first\""),
        "%s", text);
    cr_assert_not_null(strstr(text, "\"request\":{\"abiVersion\":1"));
    calls = strstr(text, "\"calls\":[");
    cr_assert_not_null(calls);
    end = strstr(calls, ",null]],\"effects\"");
    cr_assert_not_null(end, "%s", text);
    struct buf next; /* v has changed meanwhile: the module sees what it saw */
    buf_init(&next, 65536);
    buf_addf(&next,
             "{\"request\":{},\"variables\":{\"v\":\"other\"}," SEED
             ",\"nowMs\":1,%.*s,{\"yes\":1}]]}",
             (int)(end - calls), calls);
    char *second = ask(s, digest, "asks", next.p);
    cr_assert_not_null(strstr(second, "\"key\":\"second\""), "%s", second);
    char *calls2 = strstr(second, "\"calls\":["), *end2 = strstr(second, ",null]],\"effects\"");
    buf_reset(&next);
    buf_addf(&next, "{\"request\":{}," SEED ",\"nowMs\":1,%.*s,7]]}", (int)(end2 - calls2), calls2);
    char *third = ask(s, digest, "asks", next.p);
    cr_assert_not_null(strstr(third, "{\"before\":[1,2],\"first\":{\"yes\":1},\"second\":7}"), "%s",
                       third);
    cr_assert_not_null(strstr(third, "\"effects\":[[\"set\",\"asked\",true]]"));
    /* another sequence of calls than was recorded */
    says(ask(s, digest, "reads", next.p), "replay_diverged");
    mem_free(text);
    mem_free(second);
    mem_free(third);
    buf_fini(&next);
    sandbox_free(s);
}

Test(sandbox, the_same_message_gives_the_same_execution) { /* WASM-12, WASM-17 */
    struct sandbox *s = sandbox(1, 0, 0);
    char digest[SANDBOX_DIGEST + 1];
    keep(s, "kit.wasm", digest);
    char *a = ask(s, digest, "draws", MESSAGE), *b = ask(s, digest, "draws", MESSAGE);
    cr_assert_str_eq(a, b);
    mem_free(a);
    mem_free(b);
    says(ask(s, digest, "counts", MESSAGE), "\"output\":1}");
    says(ask(s, digest, "counts", MESSAGE), "\"output\":1}");
    sandbox_free(s);
}

Test(sandbox, what_a_module_does_wrong_fails_it_alone) { /* WASM-9, WASM-11, WASM-13, WASM-14 */
    static const struct {
        const char *node, *code;
    } CASES[] = {{"recurs", "wasm_trap"},
                 {"outside", "wasm_trap"},
                 {"outsideImport", "wasm_trap"},
                 {"noJson", "validation_error"},
                 {"huge", "validation_error"},
                 {"spins", "wasm_execution_time_exceeded"},
                 {"grows", "wasm_memory_cap_exceeded"},
                 {"none", "not_found"}};
    struct sandbox *s = sandbox(1, 80u * 1024 * 1024, 0);
    char digest[SANDBOX_DIGEST + 1];
    keep(s, "kit.wasm", digest);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char *text = ask(s, digest, CASES[i].node, MESSAGE);
        char code[80];
        snprintf(code, sizeof code, "\"code\":\"%s\"", CASES[i].code);
        cr_expect_not_null(strstr(text, code), "%s: %s", CASES[i].node, text);
        mem_free(text);
        says(ask(s, digest, "counts", MESSAGE), "\"output\":1}");
    }
    struct sandbox_stats st;
    sandbox_stats(s, &st);
    cr_expect_eq(st.started, 1, "%llu workers", (unsigned long long)st.started);
    says(ask(s, digest, "grows", MESSAGE), "\"cap\":{\"kind\":\"wasm-memory\",\"limit\":83886080,");
    says(ask(s, digest, "spins", MESSAGE),
         "\"cap\":{\"kind\":\"wasm-execution-time\",\"limit\":700,");
    says(ask(s, digest, "fails", MESSAGE), "\"error\":{\"code\":\"out_of_tea\"");
    says(ask(s, digest, "floods", MESSAGE), "\"output\":4000}");
    sandbox_free(s);
}

Test(sandbox, one_that_the_engine_cannot_stop_is_killed) { /* WASM-13, PACK-62 */
    struct sandbox *s = sandbox(1, 40u * 1024 * 1024, 300);
    char digest[SANDBOX_DIGEST + 1];
    keep(s, "kit.wasm", digest);
    uint64_t from = clock_mono_ms();
    says(ask(s, digest, "fills", MESSAGE), "wasm_execution_time_exceeded");
    cr_expect_leq(clock_mono_ms() - from, 30000);
    says(ask(s, digest, "counts", MESSAGE), "\"output\":1}");
    sandbox_free(s);
}

Test(sandbox, a_tenant_never_shares_a_worker_with_another) { /* PACK-62 */
    static const struct {
        const char *tenant;
        unsigned started;                                          /* workers, by then */
    } CASES[] = {{"a", 1}, {"b", 2}, {"a", 2}, {"b", 2}, {"a", 2}, /* each keeps its own */
                 {"c", 3}, {"a", 3}, {"c", 3}, /* b's was not used for longest: replaced */
                 {"b", 4}, {"c", 4}, {"a", 5}};
    struct sandbox *s = sandbox(1, 0, 0); /* two for all */
    char digest[SANDBOX_DIGEST + 1];
    struct sandbox_stats st;
    int rc;
    keep(s, "kit.wasm", digest);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        says(ask_as(s, CASES[i].tenant, digest, "counts", MESSAGE, &rc), "\"output\":1}");
        sandbox_stats(s, &st);
        cr_expect_eq(st.started, CASES[i].started, "%zu: %d", i, (int)st.started);
    }
    sandbox_free(s);
}

/* What one tenant does, long or short, keeps no other from beginning. */
Test(sandbox, a_tenant_never_has_all_workers) {
    enum { LONG = 6 };
    static struct waiting spins[LONG];
    struct sandbox *s = sandbox(1, 0, 60000);
    char digest[SANDBOX_DIGEST + 1];
    uint64_t ids[LONG];
    int rc;
    keep(s, "kit.wasm", digest);
    for (int i = 0; i < LONG; i++) {
        const struct sandbox_request r = {.tenant = STR("flood"),
                                          .module = str_c(digest),
                                          .node = STR("vendor.test.kit.spins"),
                                          .message = STR(MESSAGE),
                                          .id = &ids[i]};
        waiting_init(&spins[i]);
        cr_assert_eq(sandbox_submit(s, &r, answered, &spins[i], NULL), 0);
    }
    says(ask_as(s, "other", digest, "counts", MESSAGE, &rc), "\"output\":1}");
    for (int i = 0; i < LONG; i++) cr_expect_not(spins[i].done, "a minute is not over");
    for (int i = LONG; i-- > 0;) sandbox_cancel(s, ids[i]);
    for (int i = 0; i < LONG; i++) wait_done(&spins[i]);
    sandbox_free(s);
}

Test(sandbox, what_is_no_module_of_ours_is_refused) { /* WASM-2, WASM-5, WASM-8 */
    static const struct {
        const char *file, *code, *why;
    } CASES[] = {{"version.wasm", "unsupported_abi_version", "version 2"},
                 {"lacks.wasm", "pack_load_failure", "does not export openwop_pack_name"},
                 {"stranger.wasm", "pack_load_failure", "imports env.puts"},
                 {"starts.wasm", "pack_load_failure", "too long"},
                 {"greedy.wasm", "pack_load_failure", "more memory"}};
    struct sandbox *s = sandbox(1, 0, 0);
    char digest[SANDBOX_DIGEST + 1];
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        keep(s, CASES[i].file, digest);
        char *text = ask(s, digest, "", "{}");
        cr_expect_not_null(strstr(text, CASES[i].code), "%s: %s", CASES[i].file, text);
        cr_expect_not_null(strstr(text, CASES[i].why), "%s: %s", CASES[i].file, text);
        mem_free(text);
    }
    cr_assert_eq(sandbox_keep(s, STR("no module"), digest, NULL), 0);
    says(ask(s, digest, "", "{}"), "not valid");
    says(ask(s, digest, "echo", MESSAGE), "pack_load_failure");
    sandbox_free(s);
}

Test(sandbox, hand_written_text_with_two_results_works_as_well) { /* WASM-4 */
    struct sandbox *s = sandbox(1, 0, 0);
    char digest[SANDBOX_DIGEST + 1];
    struct waiting w;
    keep(s, "pair.wasm", digest);
    says(ask(s, digest, "", "{}"), "\"types\":[\"vendor.test.pair.it\"]");
    waiting_init(&w);
    const struct sandbox_request r = {.tenant = STR("t"),
                                      .module = str_c(digest),
                                      .node = STR("vendor.test.pair.it"),
                                      .message = STR(MESSAGE)};
    cr_assert_eq(sandbox_submit(s, &r, answered, &w, NULL), 0);
    wait_done(&w);
    buf_addc(&w.text, '\0');
    says(buf_take(&w.text, NULL), "\"output\":[1,2]");
    sandbox_free(s);
}

Test(sandbox, a_program_that_is_no_worker_fails_what_it_was_given) {
    static const char *const PROGRAMS[] = {"/bin/cat", "/bin/true", "/bin/yes", "/does/not/exist"};
    for (size_t i = 0; i < sizeof PROGRAMS / sizeof *PROGRAMS; i++) {
        const struct sandbox_config cfg = {PROGRAMS[i], 1, 0, 200};
        struct sandbox *s = NULL;
        char digest[SANDBOX_DIGEST + 1];
        int rc;
        cr_assert_eq(sandbox_new(&cfg, &s, NULL), 0);
        keep(s, "kit.wasm", digest);
        mem_free(ask_as(s, "t", digest, "echo", MESSAGE, &rc));
        cr_expect_eq(rc, WOPR_E_UNAVAILABLE, "%s: %d", PROGRAMS[i], rc);
        sandbox_free(s);
    }
}

Test(sandbox, what_is_given_up_ends_at_once) { /* WASM-13: cancel traps the instance */
    struct sandbox *s = sandbox(1, 0, 60000);
    char digest[SANDBOX_DIGEST + 1];
    struct waiting running, queued;
    uint64_t id = 0, other = 0;
    keep(s, "kit.wasm", digest);
    waiting_init(&running);
    waiting_init(&queued);
    struct sandbox_request r = {.tenant = STR("t"),
                                .module = str_c(digest),
                                .node = STR("vendor.test.kit.spins"),
                                .message = STR(MESSAGE),
                                .id = &id};
    cr_assert_eq(sandbox_submit(s, &r, answered, &running, NULL), 0);
    r.id = &other;
    cr_assert_eq(sandbox_submit(s, &r, answered, &queued, NULL), 0);
    clock_sleep_ms(200);
    sandbox_cancel(s, other); /* it waits for the first, and is never executed */
    sandbox_cancel(s, id);
    wait_done(&running);
    cr_expect_eq(running.rc, WOPR_E_CLOSED);
    wait_done(&queued);
    cr_expect_eq(queued.rc, WOPR_E_CLOSED);
    mem_free(ask(s, digest, "counts", MESSAGE));
    struct sandbox_stats st;
    sandbox_stats(s, &st);
    cr_expect_eq(st.started, 2, "the first one's worker, and that of the last");
    sandbox_free(s);
}

/* Two have all workers, and more to do than there is time for: a third has its turn, too. */
Test(sandbox, floods_of_tenants_do_not_starve_another) {
    enum { FLOOD = 20, EACH_MS = 60 };
    static struct waiting flood[FLOOD];
    struct sandbox *s = sandbox(1, 0, 60000);
    char digest[SANDBOX_DIGEST + 1];
    int done = 0, rc;
    keep(s, "kit.wasm", digest);
    for (int i = 0; i < FLOOD; i++) {
        const struct sandbox_request r = {.tenant = i % 2 ? STR("one") : STR("two"),
                                          .module = str_c(digest),
                                          .node = STR("vendor.test.kit.spins"),
                                          .message = STR(MESSAGE),
                                          .time_ms = EACH_MS};
        waiting_init(&flood[i]);
        cr_assert_eq(sandbox_submit(s, &r, answered, &flood[i], NULL), 0);
    }
    says(ask_as(s, "other", digest, "counts", MESSAGE, &rc), "\"output\":1}");
    for (int i = 0; i < FLOOD; i++) {
        pthread_mutex_lock(&flood[i].mu);
        done += flood[i].done;
        pthread_mutex_unlock(&flood[i].mu);
    }
    cr_expect_lt(done, FLOOD);
    for (int i = 0; i < FLOOD; i++) wait_done(&flood[i]);
    sandbox_free(s);
}

/* A worker that is none: it reads what it is sent, says this (printf of sh) and goes on so. */
static void liar_write(const char *path, const char *says, const char *then) {
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fprintf(f, "#!/bin/sh\nread -r line\nprintf '%s'\n%s\n", says, then);
    fclose(f);
    cr_assert_eq(chmod(path, 0700), 0);
}

Test(sandbox, a_worker_that_lies_fails_its_invocation_and_nothing_else) { /* B4, PACK-62 */
#define HEAD(n) "WSB1\\003\\000\\000\\000" n "\\000\\000\\000\\000\\000\\000\\000"
    static const struct {
        const char *says, *then, *code; /* code NULL: UNAVAILABLE */
    } LIES[] = {
        {"WSB1\\003", "exit 0", NULL}, /* half a head */
        {"WSB1\\003", "exec /bin/sleep 60", "wasm_execution_time_exceeded"},
        {HEAD("\\100") "{\"outcome\":", "exit 0", NULL}, /* half a text */
        {HEAD("\\100") "{\"outcome\":", "exec /bin/sleep 60", "wasm_execution_time_exceeded"},
        {"WSB1\\003\\000\\000\\000\\377\\377\\377\\177\\000\\000\\000\\000", "exec /bin/cat", NULL},
        {"WSB1\\001\\000\\000\\000\\002\\000\\000\\000\\000\\000\\000\\000{}", "exec /bin/cat",
         NULL},
        {HEAD("\\002") "{}", "exec /bin/cat", NULL},
        {HEAD("\\002") "[]", "exec /bin/cat", NULL},
        {HEAD("\\015") "{\"outcome\":1}", "exec /bin/cat", NULL},
        {HEAD("\\004") "nope", "exec /bin/cat", NULL}};
    char dir[200], path[240];
    cr_assert(folder_make(dir, sizeof dir, "liar"));
    snprintf(path, sizeof path, "%s/worker", dir);
    for (size_t i = 0; i < sizeof LIES / sizeof *LIES; i++) {
        const struct sandbox_config cfg = {path, 1, 0, 100};
        struct sandbox *s = NULL;
        struct sandbox_stats stats;
        char digest[SANDBOX_DIGEST + 1];
        int rc;
        liar_write(path, LIES[i].says, LIES[i].then);
        cr_assert_eq(sandbox_new(&cfg, &s, NULL), 0);
        keep(s, "kit.wasm", digest);
        char *text = ask_as(s, "t", digest, "echo", "{\n}\n", &rc);
        cr_expect_eq(rc, LIES[i].code ? 0 : WOPR_E_UNAVAILABLE, "%zu: %d", i, rc);
        if (LIES[i].code) cr_expect_not_null(strstr(text, LIES[i].code), "%zu: %s", i, text);
        mem_free(text);
        sandbox_stats(s, &stats);
        cr_expect_eq(stats.started, 1u, "%zu", i);
        cr_expect_eq(stats.killed, 1u, "%zu: it is not asked again", i);
        sandbox_free(s);
    }
    cr_assert_eq(remove(path), 0);
    cr_assert_eq(rmdir(dir), 0);
}

/* Bytes changed at random, and what a worker makes of them: it says that it is no module, or what
 * it is, or it dies; and the next one is served. */
Test(sandbox, mutants_of_a_module_harm_nobody, .timeout = 600) { /* PACK-62, WASM-14 */
    enum { MUTANTS = 10000 };
    struct sandbox *s = sandbox(1, 8u * 1024 * 1024, 40);
    char good[SANDBOX_DIGEST + 1], digest[SANDBOX_DIGEST + 1];
    struct buf whole;
    unsigned loaded = 0, refused = 0, died = 0;
    uint64_t seed = 20261124;
    cr_assert_eq(fs_read(WOPR_MODULES "/kit.wasm", SANDBOX_MODULE_MAX, &whole), FS_READ_OK);
    keep(s, "kit.wasm", good);
    for (unsigned i = 0; i < sampled(MUTANTS); i++) {
        char *bytes = mem_strndup(whole.p, whole.len);
        size_t n = whole.len;
        int rc;
        for (unsigned k = 0; k <= i % 5; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            bytes[(seed >> 20) % n] = (char)(seed >> 11);
        }
        if (i % 7 == 0) n = (size_t)(seed >> 33) % whole.len; /* and cut */
        cr_assert_eq(sandbox_keep(s, str_n(bytes, n), digest, NULL), 0);
        char *text = ask_as(s, "t", digest, i % 2 ? "" : "echo", MESSAGE, &rc);
        if (rc != 0) died++;
        else if (strstr(text, "pack_load_failure") || strstr(text, "unsupported_abi")) refused++;
        else loaded++;
        mem_free(text);
        mem_free(bytes);
        sandbox_drop(s, digest);
        if (i % 500 == 0) says(ask(s, good, "fails", MESSAGE), "out_of_tea");
    }
    cr_expect_gt(loaded, 0u);
    cr_expect_gt(refused, 0u);
    struct sandbox_stats stats;
    sandbox_stats(s, &stats);
    cr_expect_eq(stats.failed, died);
    cr_expect_leq(stats.killed, stats.started);
    cr_expect_leq(stats.started, stats.killed + 1, "no worker is lost from the count");
    cr_expect_geq(stats.started, 1 + died, "each that died was replaced");
    cr_log_info("loaded %u, refused %u, died %u", loaded, refused, died);
    buf_fini(&whole);
    sandbox_free(s);
}
