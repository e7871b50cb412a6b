/*
 * test_embed.c: the public C interface (include/wopr/wopr.h): a host inside of another program,
 * with executors in C, asked over its own port.
 */
#include "wopr/wopr.h"

#include "base/log.h"
#include "support/folder.h"

#include <criterion/criterion.h>
#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEY "hk_test_embedded_0123456789"
enum { POLLS = 4000, ANSWER_MAX = 65536 };

static char dir[128], db[288];
static struct wopr_host *host;

static void up(void) {
    logger_level(LOG_ERROR);
    cr_assert(folder_make(dir, sizeof dir, "embed"));
    snprintf(db, sizeof db, "%s/w.db", dir);
}

static void down(void) {
    char command[200];
    wopr_host_free(host);
    host = NULL;
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    cr_expect_eq(system(command), 0);
}
TestSuite(embed, .init = up, .fini = down, .timeout = 300);

/* --- the executors --- */
static atomic_int tries;

static void greet(struct wopr_node *n, void *ctx) {
    char out[512];
    cr_assert_str_eq(ctx, "context");
    cr_assert_not_null(strstr(wopr_node_run_id(n), "run_"));
    if (strcmp(wopr_node_node_id(n), "hello") != 0) return; /* completes with {} */
    wopr_node_log(n, "info", "greeting");
    cr_assert_eq(wopr_node_set_variable(n, "seen", "[1,2]"), 0);
    cr_assert_eq(wopr_node_write_channel(n, "notes", "\"note\""), 0);
    snprintf(out, sizeof out, "{\"inputs\":%s,\"config\":%s}", wopr_node_inputs(n),
             wopr_node_config(n));
    cr_assert_eq(wopr_node_complete(n, out), 0);
}

static void stubborn(struct wopr_node *n, void *ctx) {
    (void)ctx;
    cr_assert_eq(wopr_node_attempt(n), atomic_fetch_add(&tries, 1));
    if (wopr_node_attempt(n) == 0) wopr_node_fail(n, "not_yet", "once more", 1);
    else wopr_node_complete(n, NULL);
}

static void sleepy(struct wopr_node *n, void *ctx) {
    (void)ctx;
    if (!wopr_node_waited(n)) cr_assert_eq(wopr_node_wait(n, 20), 0);
    else wopr_node_complete(n, "{\"slept\":true}");
}

static void wrong(struct wopr_node *n, void *ctx) {
    (void)ctx;
    const char *id = wopr_node_node_id(n);
    int rc = 0;
    if (strcmp(id, "json") == 0) rc = wopr_node_complete(n, "{nonsense");
    if (strcmp(id, "array") == 0) rc = wopr_node_complete(n, "[]");
    if (strcmp(id, "wait") == 0) rc = wopr_node_wait(n, -1);
    if (strcmp(id, "code") == 0) rc = wopr_node_fail(n, "", "", 0);
    if (strcmp(id, "var") == 0) rc = wopr_node_set_variable(n, "x", "");
    if (strcmp(id, "chan") == 0) rc = wopr_node_write_channel(n, "x", "{");
    cr_assert_eq(rc, -1, "%s", id);
}

static const struct wopr_node_type TYPES[] = {{"vendor.test.greet", greet, "context"},
                                              {"vendor.test.stubborn", stubborn, NULL},
                                              {"vendor.test.sleepy", sleepy, NULL},
                                              {"vendor.test.wrong", wrong, NULL}};
#define TYPES_NR (sizeof TYPES / sizeof *TYPES)

/* --- asking --- */
static size_t collect(char *p, size_t size, size_t n, void *ctx) {
    char *out = ctx;
    size_t have = strlen(out), room = ANSWER_MAX - 1 - have,
           take = size * n < room ? size * n : room;
    memcpy(out + have, p, take);
    out[have + take] = '\0';
    return size * n;
}

static long ask(const char *path, const char *body, char answer[ANSWER_MAX]) {
    char url[256];
    long status = 0;
    CURL *c = curl_easy_init();
    struct curl_slist *l = curl_slist_append(NULL, "Authorization: Bearer " KEY);
    l = curl_slist_append(l, "Content-Type: application/json");
    snprintf(url, sizeof url, "http://127.0.0.1:%d%s", wopr_host_port(host), path);
    answer[0] = '\0';
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, l);
    if (body != NULL) curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, collect);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, answer);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    cr_assert_eq(curl_easy_perform(c), CURLE_OK);
    curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(l);
    curl_easy_cleanup(c);
    return status;
}

static void run_id_of(const char *answer, char id[64]) {
    const char *p = strstr(answer, "\"runId\":\"");
    cr_assert(p != NULL && sscanf(p, "\"runId\":\"%60[^\"]\"", id) == 1, "%s", answer);
}

/* The snapshot of the ended run. */
static void run_to_end(const char *workflow, char answer[ANSWER_MAX]) {
    char body[200], path[200], id[64];
    snprintf(body, sizeof body, "{\"workflowId\":\"%s\"}", workflow);
    cr_assert_eq(ask("/v1/runs", body, answer), 201, "%s", answer);
    run_id_of(answer, id);
    snprintf(path, sizeof path, "/v1/runs/%s", id);
    for (int i = 0; i < POLLS; i++) {
        cr_assert_eq(ask(path, NULL, answer), 200, "%s", answer);
        if (strstr(answer, "\"status\":\"completed\"") || strstr(answer, "\"status\":\"failed\""))
            return;
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    cr_assert_fail("the run does not end: %s", answer);
}

/* Nodes are tried three times at once. */
static void definition(const char *id, const char *type, const char *node, const char *config) {
    char path[416];
    snprintf(path, sizeof path, "%s/%s.json", dir, id);
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fprintf(f,
            "{\"id\":\"%s\",\"name\":\"N\",\"version\":\"1\",\"nodes\":[{\"id\":\"%s\","
            "\"typeId\":\"%s\",\"name\":\"N\",\"position\":{\"x\":0,\"y\":0},\"config\":%s,"
            "\"inputs\":{\"who\":{\"type\":\"expression\",\"expression\":\"'you'\"}}}],"
            "\"edges\":[],\"triggers\":[],\"variables\":[{\"name\":\"seen\",\"type\":\"array\"}],"
            "\"channels\":{\"notes\":{\"reducer\":\"append\"}},\"metadata\":{},\"settings\":{"
            "\"maxRetries\":2,\"retryDelayMs\":0}}",
            id, node, type, config);
    fclose(f);
}

static void begin(void) {
    char err[512];
    const char *const settings[] = {"--port", "0",         "--ops-port",  "-1",     "--db",
                                    db,       "--api-key", KEY,           "--seed", dir,
                                    "--sync", "off",       "--log-level", "error",  NULL};
    cr_assert_eq(wopr_host_new(settings, TYPES, TYPES_NR, &host, err, sizeof err), 0, "%s", err);
    cr_assert_eq(wopr_host_start(host, err, sizeof err), 0, "%s", err);
    cr_assert_gt(wopr_host_port(host), 0);
}

Test(embed, executors_in_c_see_inputs_and_give_effects) {
    static char answer[ANSWER_MAX];
    definition("w-greet", "vendor.test.greet", "hello", "{\"loud\":true}");
    definition("w-plain", "vendor.test.greet", "other", "{}");
    begin();
    run_to_end("w-greet", answer);
    cr_expect_not_null(strstr(answer, "\"status\":\"completed\""), "%s", answer);
    cr_expect_not_null(strstr(answer, "\"inputs\":{\"who\":\"you\"}"), "%s", answer);
    cr_expect_not_null(strstr(answer, "\"config\":{\"loud\":true}"), "%s", answer);
    cr_expect_not_null(strstr(answer, "\"seen\":[1,2]"), "%s", answer);
    cr_expect_not_null(strstr(answer, "note"), "%s", answer);
    run_to_end("w-plain", answer);
    cr_expect_not_null(strstr(answer, "\"status\":\"completed\""), "%s", answer);
}

Test(embed, a_node_retries_and_waits) {
    static char answer[ANSWER_MAX];
    definition("w-sleepy", "vendor.test.sleepy", "n", "{}");
    definition("w-stubborn", "vendor.test.stubborn", "n", "{}");
    begin();
    run_to_end("w-sleepy", answer);
    cr_expect_not_null(strstr(answer, "\"slept\":true"), "%s", answer);
    run_to_end("w-stubborn", answer);
    cr_expect_not_null(strstr(answer, "\"status\":\"completed\""), "%s", answer);
    cr_expect_eq(atomic_load(&tries), 2);
}

Test(embed, a_mistake_of_an_executor_fails_its_node) {
    static char answer[ANSWER_MAX];
    static const char *const nodes[] = {"json", "array", "wait", "code", "var", "chan"};
    char id[32];
    for (size_t i = 0; i < 6; i++) {
        snprintf(id, sizeof id, "w-%s", nodes[i]);
        definition(id, "vendor.test.wrong", nodes[i], "{}");
    }
    begin();
    for (size_t i = 0; i < 6; i++) {
        snprintf(id, sizeof id, "w-%s", nodes[i]);
        run_to_end(id, answer);
        cr_expect_not_null(strstr(answer, "\"status\":\"failed\""), "%s: %s", id, answer);
    }
}

Test(embed, what_was_stored_is_there_for_the_next_host) {
    static char answer[ANSWER_MAX];
    char path[200], id[64];
    definition("w-greet", "vendor.test.greet", "hello", "{}");
    begin();
    run_to_end("w-greet", answer);
    run_id_of(answer, id);
    wopr_host_stop(host);
    wopr_host_free(host);
    begin();
    snprintf(path, sizeof path, "/v1/runs/%s", id);
    cr_expect_eq(ask(path, NULL, answer), 200);
    cr_expect_not_null(strstr(answer, "\"status\":\"completed\""));
}

Test(embed, two_hosts_of_one_process_share_a_database /* STORE-16 */) {
    static char answer[ANSWER_MAX];
    char path[200], id[64];
    definition("w-greet", "vendor.test.greet", "hello", "{}");
    begin();
    struct wopr_host *first = host;
    begin(); /* the second one is asked from here on */
    run_to_end("w-greet", answer);
    cr_expect_not_null(strstr(answer, "\"status\":\"completed\""), "%s", answer);
    run_id_of(answer, id);
    snprintf(path, sizeof path, "/v1/runs/%s", id);
    wopr_host_free(host);
    host = first;
    cr_expect_eq(ask(path, NULL, answer), 200, "%s", answer);
}

Test(embed, bad_settings_and_types_are_refused_with_a_sentence) {
    char err[256];
    const char *const unknown[] = {"--no-such", "1", NULL};
    const char *const range[] = {"--port", "70000", NULL};
    const char *const word[] = {"serve", NULL};
    const char *const good[] = {"--port", "0", "--db", db, NULL};
    static const struct wopr_node_type reserved = {"core.mine", greet, NULL},
                                       nobody = {"vendor.test.none", NULL, NULL};
    struct wopr_host *h = NULL;
    cr_expect_eq(wopr_host_new(unknown, NULL, 0, &h, err, sizeof err), -1);
    cr_expect_not_null(strstr(err, "--no-such"), "%s", err);
    cr_expect_eq(wopr_host_new(range, NULL, 0, &h, err, sizeof err), -1);
    cr_expect_not_null(strstr(err, "\"port\""), "%s", err);
    cr_expect_eq(wopr_host_new(word, NULL, 0, &h, err, sizeof err), -1);
    cr_expect_eq(wopr_host_new(good, &reserved, 1, &h, err, sizeof err), -1);
    cr_expect_not_null(strstr(err, "core."), "%s", err);
    cr_expect_eq(wopr_host_new(good, &nobody, 1, &h, err, sizeof err), -1);
    cr_expect_eq(wopr_host_new(good, &nobody, 1, &h, NULL, 0), -1, "no room for a sentence");
    cr_expect_null(h);
    wopr_host_free(NULL);
    cr_expect_gt(strlen(wopr_version()), 0);
}
