/*
 * test_streams_end.c: how streams and polls end, whatever their cursor, their key and their client
 * do; what browsers see.  SSE-23 to SSE-29, SSE-33, SSE-39, RUN-40, RUN-41, HTTP-20.
 */
#include "harness.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static struct server sv;
static const char *const ARGS[] = {"--keepalive-ms", "100", NULL};
static void up(void) { server_start(&sv, ARGS); }
static void down(void) { server_end(&sv); }
TestSuite(streams_end, .init = up, .fini = down, .timeout = 300);

static const char *events_path(const char *run, const char *query) {
    return fmt("/v1/runs/%s/events%s", run, query);
}
static struct stream from(const char *run, const char *query, const char *id) {
    const char *const h[] = {fmt("Last-Event-ID: %s", id), NULL};
    return stream(&sv, events_path(run, query), h, WAIT_MS, 0);
}

/* --- cursors beyond the end --- */

Test(streams_end, sse_closes_when_the_run_ends_whatever_its_cursor /* SSE-23, SSE-28, RUN-40 */) {
    static const char *const QUERIES[] = {"", "?streamMode=debug", "?streamMode=messages",
                                          "?streamMode=updates,messages&bufferMs=5000",
                                          "?streamMode=values"};
    static const char *const IDS[] = {"3", "4", "1000", "99999999999999999999"};
    for (size_t i = 0; i < sizeof QUERIES / sizeof *QUERIES; i++) {
        const char *id = IDS[i % (sizeof IDS / sizeof *IDS)];
        const char *run = create_run(&sv, "conformance-delay", "\"inputs\":{\"delayMs\":300}");
        struct stream st = from(run, QUERIES[i], id);
        cr_expect_eq(st.status, 200);
        cr_expect(st.closed_by_server, "%s from %s", QUERIES[i], id);
        bool values = strstr(QUERIES[i], "values") != NULL;
        cr_expect_eq(st.n, values ? 1u : 0u, "%s from %s: the baseline or nothing\n" STR_FMT,
                     QUERIES[i], id, STR_ARG(st.raw));
    }
}

struct poller {
    pthread_t thread;
    char request[512], answer[16384];
    long status;
    int64_t took_ms;
};
static void *poll_thread(void *ctx) {
    struct poller *p = ctx;
    int64_t t0 = now_ms();
    p->status = exchange(&sv, p->request, strlen(p->request), p->answer, sizeof p->answer);
    p->took_ms = now_ms() - t0;
    return NULL;
}
static void poll_start(struct poller *p, const char *run, const char *query) {
    snprintf(p->request, sizeof p->request,
             "GET /v1/runs/%s/events/poll?%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
             "Authorization: Bearer %s\r\n\r\n",
             run, query, sv.key);
    cr_assert_eq(pthread_create(&p->thread, NULL, poll_thread, p), 0);
}

/* The log is folded up to such a cursor before the stream begins; the run may end meanwhile. */
Test(streams_end, values_end_also_when_the_run_ends_while_they_are_made /* SSE-23, SSE-27 */) {
    enum { N = 8, ROUNDS = 40 };
    static struct poller v[N];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < N; i++) {
            const char *run =
                create_run(&sv, "conformance-delay", fmt("\"inputs\":{\"delayMs\":%d}", round % 8));
            snprintf(v[i].request, sizeof v[i].request,
                     "GET /v1/runs/%s/events?streamMode=values HTTP/1.1\r\nHost: x\r\n"
                     "Connection: close\r\nLast-Event-ID: 100000\r\n"
                     "Authorization: Bearer %s\r\n\r\n",
                     run, sv.key);
            cr_assert_eq(pthread_create(&v[i].thread, NULL, poll_thread, &v[i]), 0);
        }
        for (int i = 0; i < N; i++) {
            pthread_join(v[i].thread, NULL);
            cr_assert_eq(v[i].status, 200);
            cr_assert_lt(v[i].took_ms, WAIT_MS, "round %d", round);
        }
    }
}

Test(streams_end, poll_wakes_when_the_run_ends_whatever_its_cursor /* RUN-41, SSE-39 */) {
    static const char *const CURSORS[] = {"3", "4", "1000", "9223372036854775806"};
    enum { N = sizeof CURSORS / sizeof *CURSORS };
    static struct poller v[N];
    const char *run = create_run(&sv, "conformance-delay", "\"inputs\":{\"delayMs\":400}");
    for (size_t i = 0; i < N; i++)
        poll_start(&v[i], run, fmt("lastSequence=%s&timeout=60", CURSORS[i]));
    for (size_t i = 0; i < N; i++) {
        pthread_join(v[i].thread, NULL);
        cr_expect_eq(v[i].status, 200);
        cr_expect_lt(v[i].took_ms, WAIT_MS);
        cr_expect_not_null(strstr(v[i].answer, "{\"events\":[],\"isComplete\":true}"), "%s: %s",
                           CURSORS[i], v[i].answer);
    }
}

Test(streams_end, poll_holds_through_events_it_is_not_asked_for_until_its_timeout /* SSE-39 */) {
    static struct poller p;
    const char *run = create_run(&sv, "conformance-cancellable", "\"inputs\":{\"delayMs\":20000}");
    wait_status(&sv, run, "running");
    poll_start(&p, run, "lastSequence=1000&timeout=2");
    cr_expect_eq(ask(&sv, "POST", fmt("/v1/runs/%s:pause", run), "{}", NULL).status, 202);
    cr_expect_eq(ask(&sv, "POST", fmt("/v1/runs/%s:resume", run), "{}", NULL).status, 202);
    pthread_join(p.thread, NULL);
    cr_expect_eq(p.status, 200);
    cr_expect_geq(p.took_ms, 1900, "events before its cursor do not end it");
    cr_expect_not_null(strstr(p.answer, "{\"events\":[],\"isComplete\":false}"));
    static struct poller q; /* and it ends with the host */
    poll_start(&q, run, "lastSequence=1000&timeout=60");
    cr_expect_eq(ask(&sv, "POST", fmt("/v1/runs/%s:pause", run), "{}", NULL).status, 202);
    cr_expect_eq(server_stop(&sv), 0);
    pthread_join(q.thread, NULL);
    cr_expect_lt(q.took_ms, WAIT_MS);
}

Test(streams_end, streams_of_runs_of_other_hosts_forks_and_paused_runs_end_too /* STORE-16 */) {
    struct server other;
    const char *run = create_run(&sv, "conformance-multi-node", NULL);
    wait_terminal(&sv, run);
    server_beside(&other, &sv, ARGS);
    struct stream st = stream(&other, events_path(run, ""), NULL, WAIT_MS, 0);
    cr_expect(st.closed_by_server && st.n > 0);
    const char *slow = create_run(&sv, "conformance-delay", "\"inputs\":{\"delayMs\":300}");
    const char *const far[] = {"Last-Event-ID: 500", NULL};
    st = stream(&other, events_path(slow, ""), far, WAIT_MS, 0);
    cr_expect(st.closed_by_server, "the end came from the other host");
    struct reply r =
        ask(&sv, "POST", fmt("/v1/runs/%s:fork", run), "{\"fromSeq\":3,\"mode\":\"replay\"}", NULL);
    cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
    const char *fork = arena_cstr(test_arena(), text_at(r.body, "runId"));
    st = from(fork, "?streamMode=debug", "700");
    cr_expect(st.status == 200 && st.closed_by_server && st.n == 0);
    st = from(fork, "?streamMode=debug", "2");
    cr_expect(st.closed_by_server && st.n > 0);
    const char *idle = create_run(&sv, "conformance-cancellable", "\"inputs\":{\"delayMs\":20000}");
    wait_status(&sv, idle, "running");
    cr_expect_eq(ask(&sv, "POST", fmt("/v1/runs/%s:pause", idle), "{}", NULL).status, 202);
    static struct poller p;
    poll_start(&p, idle, "lastSequence=900&timeout=60");
    cr_expect_eq(ask(&sv, "POST", fmt("/v1/runs/%s/cancel", idle), "{}", NULL).status, 200);
    pthread_join(p.thread, NULL);
    cr_expect_not_null(strstr(p.answer, "\"isComplete\":true"));
    st = from(idle, "", "900");
    cr_expect(st.closed_by_server);
    cr_expect_eq(server_stop(&other), 0);
}

/* --- finished runs --- */

static int dial(void) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)sv.port)};
    struct timeval wait = {WAIT_MS / 1000, 0};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    return fd;
}
static void ask_stream(int fd, const char *path) {
    const char *q =
        fmt("GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", path, sv.key);
    cr_assert_eq(send(fd, q, strlen(q), MSG_NOSIGNAL), (ssize_t)strlen(q));
}
/* Read on until text is there; false when the connection ends first. */
static bool read_until(int fd, struct buf *b, const char *text) {
    char piece[4096];
    while (!b->p || !strstr(b->p, text)) {
        ssize_t n = recv(fd, piece, sizeof piece, 0);
        if (n <= 0) return false;
        buf_add(b, piece, (size_t)n);
    }
    return true;
}

/* One answer with its body, whole or in chunks: where these are cut is a matter of turns. */
static struct str body_read(int fd, struct buf *answer) {
    static const char end[] = "\r\n\r\n", length[] = "\r\nContent-Length: ";
    struct buf body;
    cr_assert(read_until(fd, answer, end));
    const char *whole = strstr(answer->p, length);
    size_t head = (size_t)(strstr(answer->p, end) - answer->p) + sizeof end - 1, n = 0;
    if (whole) {
        n = strtoul(whole + sizeof length - 1, NULL, 10);
        char piece[4096];
        while (answer->len < head + n) {
            ssize_t got = recv(fd, piece, sizeof piece, 0);
            cr_assert_gt(got, 0);
            buf_add(answer, piece, (size_t)got);
        }
        return arena_str(test_arena(), str_n(answer->p + head, answer->len - head));
    }
    cr_assert(read_until(fd, answer, "\r\n0\r\n\r\n"));
    buf_init(&body, 1 << 20);
    char *p = answer->p + head;
    for (; (n = strtoul(p, &p, 16)) > 0; p += n + 2) {
        p += 2;
        buf_add(&body, p, n);
    }
    struct str s = arena_str(test_arena(), buf_str(&body));
    buf_fini(&body);
    return s;
}

Test(streams_end, a_connection_replays_finished_runs_again_and_again /* SSE-23, SSE-24 */) {
    static const char *const QUERIES[] = {"", "?streamMode=debug", "?streamMode=values",
                                          "?bufferMs=100", "?lastEventId=3&streamMode=debug"};
    const char *run = create_run(&sv, "conformance-multi-node", NULL);
    wait_terminal(&sv, run);
    int fd = dial();
    for (size_t i = 0; i < 3 * sizeof QUERIES / sizeof *QUERIES; i++) {
        const char *query = QUERIES[i % (sizeof QUERIES / sizeof *QUERIES)];
        struct stream st = stream(&sv, events_path(run, query), NULL, WAIT_MS, 0);
        cr_expect(st.closed_by_server && st.n > 0);
        struct buf b;
        buf_init(&b, 1 << 20);
        ask_stream(fd, events_path(run, query));
        cr_expect(str_eq(body_read(fd, &b), st.raw), "%s, answer %zu: %s", query, i, b.p);
        cr_expect_not_null(strstr(b.p, "Content-Type: text/event-stream\r\n"));
        if (strstr(b.p, "Connection: close")) { /* a fold that took more than its turn */
            cr_expect_not_null(strstr(query, "values"));
            close(fd);
            fd = dial();
        }
        buf_fini(&b);
    }
    close(fd);
}

Test(streams_end, values_with_a_cursor_fold_long_logs_in_the_stream /* SSE-27 */) {
    const char *run = create_run(&sv, "conformance-multi-node", NULL);
    wait_terminal(&sv, run);
    struct stream all = stream(&sv, events_path(run, "?streamMode=values"), NULL, WAIT_MS, 0);
    for (int64_t k = 0; k <= 7; k++) {
        struct stream st = from(run, "?streamMode=values", fmt("%lld", (long long)k));
        cr_assert_geq(st.n, 1u);
        cr_expect(str_eqc(st.v[0].id, fmt("%lld", (long long)k)), "the baseline is that of %lld",
                  (long long)k);
        cr_expect_eq(int_at(st.v[0].data, "atSeq"), k);
        size_t left = 0;
        for (size_t i = 0; i < all.n; i++) left += int_at(all.v[i].data, "atSeq") > k;
        cr_assert_eq(st.n, 1 + left);
        for (size_t i = 1; i < st.n; i++)
            cr_expect(str_eq(st.v[i].data, all.v[all.n - left + i - 1].data));
    }
    struct stream far = from(run, "?streamMode=values", "500");
    cr_expect_eq(far.n, 0u, "beyond the end of a finished run there is nothing (SSE-28)");
    cr_expect_eq(far.status, 200);
    cr_expect(far.closed_by_server);
}

Test(streams_end, an_event_id_that_never_was_is_refused /* SSE-28 */) {
    const char *run = create_run(&sv, "conformance-multi-node", NULL);
    wait_terminal(&sv, run);
    struct stream all = stream(&sv, events_path(run, "?streamMode=debug"), NULL, WAIT_MS, 0);
    const char *last = arena_cstr(test_arena(), text_at(all.v[all.n - 1].data, "eventId"));
    struct stream st = from(run, "", last);
    cr_expect(st.status == 200 && st.n == 0 && st.closed_by_server);
    size_t stem = (size_t)(strrchr(last, '-') - last);
    for (int i = 0; i < 2; i++) {
        const char *const h[] = {
            fmt("Last-Event-ID: %.*s-%s", (int)stem, last, i == 0 ? "8" : "999999"), NULL};
        struct reply r = ask(&sv, "GET", events_path(run, ""), NULL, h);
        expect_error(&r, 400, "validation_error");
        cr_expect(str_eqc(text_at(r.body, "details.header"), "Last-Event-ID"));
    }
}

/* --- clients that leave, keys that die --- */

Test(streams_end, a_half_close_flushes_the_window /* SSE-33 */) {
    const char *run = create_run(&sv, "conformance-cancellable", "\"inputs\":{\"delayMs\":20000}");
    wait_status(&sv, run, "running");
    struct buf b;
    buf_init(&b, 1 << 20);
    int fd = dial();
    ask_stream(fd, events_path(run, "?streamMode=debug&bufferMs=5000"));
    cr_assert(read_until(fd, &b, "run.started"));
    cr_assert(read_until(fd, &b, ":keepalive"), "it is live");
    cr_expect_eq(ask(&sv, "POST", fmt("/v1/runs/%s:pause", run), "{}", NULL).status, 202);
    const char *other = events_path(run, "?streamMode=debug"); /* whoever reads it has been woken */
    struct stream seen = stream(&sv, other, NULL, 300, 0);
    cr_expect_not_null(strstr(arena_cstr(test_arena(), seen.raw), "run.paused"));
    shutdown(fd, SHUT_WR);
    cr_expect(read_until(fd, &b, "run.paused"), "what was in the window");
    cr_expect(read_until(fd, &b, "\r\n0\r\n\r\n"), "the last chunk");
    char one;
    cr_expect_eq(recv(fd, &one, 1, 0), 0, "then the connection closes");
    close(fd);
    buf_fini(&b);
}

Test(streams_end, streams_end_when_their_key_is_revoked /* AUTH-5, tickets too */) {
    static const char *const no_auth[] = {"Authorization:", NULL};
    const char *const make[] = {"keys",        "create", "--label", "mayfly",
                                "--no-expiry", "--test", NULL};
    struct str out;
    const char *run = create_run(&sv, "conformance-cancellable", "\"inputs\":{\"delayMs\":60000}");
    wait_status(&sv, run, "running");
    cr_assert_eq(program(&sv, make, &out, NULL), 0, STR_FMT, STR_ARG(out));
    char *key = strstr(arena_cstr(test_arena(), out), "hk_test_");
    cr_assert_not_null(key);
    key[strcspn(key, " \r\n\"")] = '\0';
    const char *const as[] = {fmt("Authorization: Bearer %s", key), NULL};
    struct reply r = ask(&sv, "POST", fmt("/v1/host/wopr/runs/%s/stream-ticket", run), "{}", as);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    static struct poller v[3];
    const char *tail = "HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";
    snprintf(v[0].request, sizeof v[0].request,
             "GET /v1/runs/%s/events %sAuthorization: Bearer %s\r\n\r\n", run, tail, key);
    snprintf(v[1].request, sizeof v[1].request, "GET /v1/runs/%s/events?ticket=" STR_FMT " %s\r\n",
             run, STR_ARG(text_at(r.body, "ticket")), tail);
    snprintf(v[2].request, sizeof v[2].request,
             "GET /v1/runs/%s/events/poll?timeout=60&lastSequence=%d %sAuthorization: Bearer "
             "%s\r\n\r\n",
             run, 1, tail, key);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(pthread_create(&v[i].thread, NULL, poll_thread, &v[i]), 0);
    struct stream beside = stream(&sv, events_path(run, ""), NULL, 300, 0);
    cr_expect_eq(beside.status, 200);
    const char *const revoke[] = {"keys", "revoke", fmt("%.26s", key + 8), NULL};
    cr_assert_eq(program(&sv, revoke, &out, NULL), 0, STR_FMT, STR_ARG(out));
    for (int i = 0; i < 2; i++) {
        pthread_join(v[i].thread, NULL);
        cr_expect_lt(v[i].took_ms, WAIT_MS, "stream %d ended", i);
        cr_expect_not_null(strstr(v[i].answer, "\r\n0\r\n\r\n"), "with a whole body: %s",
                           v[i].answer);
    }
    cr_assert_eq(ask(&sv, "POST", fmt("/v1/runs/%s/cancel", run), "{}", NULL).status, 200);
    pthread_join(v[2].thread, NULL);
    cr_expect_not_null(strstr(v[2].answer, " 401 "), "a poll that waited learns nothing: %s",
                       v[2].answer);
    cr_expect_eq(ask(&sv, "GET", events_path(run, ""), NULL, as).status, 401);
    r = ask(&sv, "GET",
            fmt("/v1/runs/%s/events?ticket=" STR_FMT, run, STR_ARG(text_at(r.body, "ticket"))),
            NULL, no_auth);
    cr_expect_eq(r.status, 401);
}

/* --- browsers --- */

Test(streams_end, an_event_source_is_told_to_stop_after_the_end /* tickets: 204 */) {
    static const char *const no_auth[] = {"Authorization:", NULL};
    const char *run = create_run(&sv, "conformance-multi-node", NULL);
    wait_terminal(&sv, run);
    struct reply r = ask(&sv, "POST", fmt("/v1/host/wopr/runs/%s/stream-ticket", run), "{}", NULL);
    const char *ticket = arena_cstr(test_arena(), text_at(r.body, "ticket"));
    static const char *const MODES[] = {"updates", "debug", "values"};
    for (size_t i = 0; i < sizeof MODES / sizeof *MODES; i++) {
        const char *path = events_path(run, fmt("?streamMode=%s&ticket=%s", MODES[i], ticket));
        struct stream st = stream(&sv, path, no_auth, WAIT_MS, 0);
        cr_assert(st.status == 200 && st.n > 0, "%s", MODES[i]);
        const char *const again[] = {
            "Authorization:", fmt("Last-Event-ID: " STR_FMT, STR_ARG(st.v[st.n - 1].id)), NULL};
        st = stream(&sv, path, again, WAIT_MS, 0);
        cr_expect_eq(st.status, 204, "%s", MODES[i]);
        cr_expect_eq(st.raw.n, 0u);
    }
    struct stream st = stream(&sv, events_path(run, fmt("?streamMode=messages&ticket=%s", ticket)),
                              no_auth, WAIT_MS, 0);
    cr_expect_eq(st.status, 204, "there is no message to show, and none will come");
    st = from(run, "", "7");
    cr_expect_eq(st.status, 200, "a key gets an empty stream (SSE-29)");
}

Test(streams_end, accept_is_a_list_of_media_types_on_any_number_of_lines /* HTTP-20 */) {
    static const struct {
        const char *one, *two;
        bool json;
    } CASES[] = {{"Accept: application/json", NULL, true},
                 {"Accept: application/jsonl", NULL, false},
                 {"Accept: application/json-patch+json, */*", NULL, false},
                 {"Accept: application/json, text/event-stream;q=0", NULL, true},
                 {"Accept: text/html", "Accept: application/json", true},
                 {"Accept: application/json", "Accept: text/event-stream", false}};
    const char *run = create_run(&sv, "conformance-multi-node", NULL);
    wait_terminal(&sv, run);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const char *const h[] = {CASES[i].one, CASES[i].two, NULL};
        struct reply r = ask(&sv, "GET", events_path(run, ""), NULL, h);
        cr_expect(str_starts(header(&r, "Content-Type"),
                             CASES[i].json ? STR("application/json") : STR("text/event-stream")),
                  "%s", CASES[i].one);
    }
}
