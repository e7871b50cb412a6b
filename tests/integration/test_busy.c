/*
 * test_busy.c: another process keeps the write lock of the file, as one does that was stopped
 * inside a transaction: reads go on, every write is refused with its reason and a time, all of
 * them soon, and afterwards nothing is there that was refused.
 */
#include "harness.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

enum { WRITES = 12, ANSWER_MAX = 4096, BUSY_MS = 5000 /* what one write waits, in host.c */ };

static struct server sv;

static void setup(void) { server_start(&sv, NULL); }
static void teardown(void) { server_end(&sv); }

TestSuite(busy, .init = setup, .fini = teardown, .timeout = 240);

struct write {
    char answer[ANSWER_MAX];
    long status;
};

static void *write_run(void *ctx) {
    static const char body[] = "{\"workflowId\":\"conformance-noop\"}";
    struct write *w = ctx;
    char request[512];
    snprintf(
        request, sizeof request,
        "POST /v1/runs HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\nConnection: close\r\n"
        "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
        sv.key, sizeof body - 1, body);
    w->status = exchange(&sv, request, strlen(request), w->answer, sizeof w->answer);
    return NULL;
}

Test(busy, who_cannot_write_is_told_so_soon_however_many_wait /* STORE-11, ERR-9 */) {
    static struct write writes[WRITES];
    pthread_t threads[WRITES];
    sqlite3 *db;
    const char *run = create_run(&sv, "conformance-noop", NULL);
    wait_terminal(&sv, run);
    cr_assert_eq(sqlite3_open_v2(sv.db, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    sqlite3_busy_timeout(db, WAIT_MS);
    cr_assert_eq(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    const int64_t from = now_ms();
    for (int i = 0; i < WRITES; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, write_run, &writes[i]), 0);
    struct reply r = ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, NULL);
    cr_expect_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    for (int i = 0; i < WRITES; i++) pthread_join(threads[i], NULL);
    cr_expect_lt(now_ms() - from, WRITES * BUSY_MS / 2, "they did not wait one after another");
    for (int i = 0; i < WRITES; i++) {
        cr_expect_eq(writes[i].status, 503, "%ld %s", writes[i].status, writes[i].answer);
        cr_expect(strstr(writes[i].answer, "\"reason\":\"storage_busy\""), "%s", writes[i].answer);
        cr_expect(strstr(writes[i].answer, "\nRetry-After: "), "%s", writes[i].answer);
    }
    cr_assert_eq(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    wait_terminal(&sv, create_run(&sv, "conformance-noop", NULL));
    r = ask(&sv, "GET", "/v1/runs?limit=100", NULL, NULL);
    cr_expect_eq(elements_of(at(r.body, "runs")).n, 2u, STR_FMT, STR_ARG(r.body));
}
