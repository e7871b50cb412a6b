/*
 * test_streams.c: SSE.  Public scenarios: stream-modes, stream-modes-buffer, stream-modes-mixed,
 * streamReconnect.
 */
#include "harness.h"

#include <stdio.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(streams, .init = up, .fini = down, .timeout = 300);

static struct str names(const struct stream *st) {
    struct buf b;
    buf_init(&b, 1 << 20);
    for (size_t i = 0; i < st->n; i++)
        buf_addf(&b, "%s%.*s", i > 0 ? " " : "", STR_ARG(st->v[i].event));
    struct str s = arena_str(test_arena(), buf_str(&b));
    buf_fini(&b);
    return s;
}
static struct stream watch(const char *run, const char *query) {
    return stream(&sv, fmt("/v1/runs/%s/events%s", run, query), NULL, WAIT_MS, 0);
}

Test(streams, updates_mode_and_framing /* SSE-2, 9, 10, 11, 14, 16, 23 */) {
    const char *run = create_run(&sv, "conformance-delay", "\"inputs\":{\"delayMs\":500}");
    struct stream st = watch(run, "");
    cr_assert_eq(st.status, 200);
    cr_expect(st.closed_by_server);
    cr_expect(str_eqc(names(&st), "run.started node.completed run.completed"), STR_FMT,
              STR_ARG(st.raw));
    cr_expect(str_eqc(st.v[0].id, "0") && str_eqc(st.v[1].id, "2") && str_eqc(st.v[2].id, "3"));
    struct reply hd = {.headers = st.headers};
    cr_expect(str_starts(header(&hd, "Content-Type"), STR("text/event-stream")));
    cr_expect_null(header(&hd, "Content-Length").p);
    cr_expect(str_starts(st.raw, STR(":")), "one comment at once, so that proxies flush");
    struct str poll = events_of(&sv, run);
    cr_expect(str_eq(st.v[0].data, at(poll, "0")), "the same bytes on SSE and poll (STORE-7)");
}

Test(streams, debug_has_every_event_and_values_has_snapshots /* SSE-17, SSE-21 */) {
    const char *run = create_run(&sv, "conformance-delay", "\"inputs\":{\"delayMs\":300}");
    struct stream dbg = watch(run, "?streamMode=debug");
    cr_expect(str_eqc(names(&dbg), "run.started node.started node.completed run.completed"));
    run = create_run(&sv, "conformance-delay", "\"inputs\":{\"delayMs\":300}");
    struct stream val = watch(run, "?streamMode=values");
    cr_expect(val.closed_by_server);
    cr_expect(str_eqc(names(&val), "state.snapshot state.snapshot state.snapshot state.snapshot"),
              STR_FMT, STR_ARG(names(&val)));
    struct str last = val.v[val.n - 1].data;
    cr_expect(str_eqc(text_at(last, "status"), "completed"));
    cr_expect_eq(int_at(last, "atSeq"), 3);
    cr_expect(str_eqc(text_at(val.v[1].data, "status"), "running"));
    struct reply snap = ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, NULL);
    struct json_members a, b;
    cr_assert_eq(json_members(last, test_arena(), &a, NULL), 0);
    cr_assert_eq(json_members(snap.body, test_arena(), &b, NULL), 0);
    cr_expect_eq(a.n, b.n + 1, "GET plus atSeq: " STR_FMT "\n" STR_FMT, STR_ARG(last),
                 STR_ARG(snap.body));
    for (size_t i = 0; i < b.n; i++) {
        const struct json_member *m = json_member_find(&a, arena_cstr(test_arena(), b.v[i].key));
        cr_expect(m != NULL && str_eq(m->raw, b.v[i].raw), STR_FMT " differs", STR_ARG(b.v[i].key));
    }
    const char *const h[] = {"Last-Event-ID: 1", NULL};
    struct stream again =
        stream(&sv, fmt("/v1/runs/%s/events?streamMode=values", run), h, WAIT_MS, 0);
    cr_expect_eq(again.n, 3u, "baseline first, then the rest (SSE-27)");
    cr_expect(str_eqc(again.v[0].id, "1"));
    cr_expect_eq(int_at(again.v[0].data, "atSeq"), 1);
}

Test(streams, mode_refusals /* SSE-5..7, CX-2 */) {
    const char *run = create_run(&sv, "conformance-delay", "\"inputs\":{\"delayMs\":100}");
    static const char *const bad[] = {
        "does-not-exist", "values,updates", "updates,bogus", "updates,", "", "UPDATES"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct reply r =
            ask(&sv, "GET", fmt("/v1/runs/%s/events?streamMode=%s", run, bad[i]), NULL, NULL);
        expect_error(&r, 400, "unsupported_stream_mode");
        cr_expect(str_eqc(at(r.body, "details.supported"),
                          "[\"values\",\"updates\",\"messages\",\"debug\"]"),
                  STR_FMT, STR_ARG(r.body));
    }
    static const char *const sse[] = {"Accept: text/event-stream", NULL};
    struct reply r = ask(&sv, "GET", fmt("/v1/runs/%s/events?streamMode=nope", run), NULL, sse);
    expect_error(&r, 400, "unsupported_stream_mode");
    r = ask(&sv, "GET", "/v1/runs/no-such-run/events?streamMode=nope", NULL, NULL);
    expect_error(&r, 404, "not_found"); /* visibility before query (SSE-4) */
}

Test(streams, mixed_modes /* SSE-11, SSE-22 */) {
    const char *run = create_run(&sv, "conformance-delay", "\"inputs\":{\"delayMs\":200}");
    struct stream a = watch(run, "?streamMode=updates,messages"),
                  b = watch(run, "?streamMode=messages,debug,updates");
    cr_expect(str_eqc(names(&a), "run.started node.completed run.completed"));
    cr_expect(str_eqc(names(&b), "run.started node.started node.completed run.completed"));
    cr_expect(a.closed_by_server && b.closed_by_server);
}

Test(streams, batches /* SSE-31..35 */) {
    const char *run = create_run(&sv, "conformance-delay", NULL);
    struct stream st = watch(run, "?streamMode=updates&bufferMs=200");
    cr_assert_eq(st.status, 200);
    cr_expect(st.closed_by_server);
    size_t events = 0;
    for (size_t i = 0; i < st.n; i++) {
        struct json_elements l;
        cr_expect(str_eqc(st.v[i].event, "batch"));
        cr_assert_eq(json_elements(st.v[i].data, test_arena(), &l, NULL), 0);
        cr_assert(l.n > 0);
        events += l.n;
        cr_expect(str_eqc(st.v[i].id, fmt("%lld", (long long)int_at(l.v[l.n - 1], "sequence"))),
                  "the highest sequence");
    }
    cr_expect_eq(events, 3u, STR_FMT, STR_ARG(st.raw));
    int64_t took_ms = WAIT_MS;
    for (int i = 0; i < 4 && took_ms >= 4500; i++) { /* a busy machine may need longer once */
        run = create_run(&sv, "conformance-delay", "\"inputs\":{\"delayMs\":300}");
        int64_t t0 = now_ms();
        st = watch(run, "?bufferMs=5000");
        took_ms = now_ms() - t0;
    }
    cr_expect(took_ms < 4500, "the terminal event flushes at once");
    cr_expect_not_null(strstr(st.v[st.n - 1].data.p, "run.completed"));
    st = watch(run, "?bufferMs=0");
    cr_expect(str_eqc(names(&st), "run.started node.completed run.completed"));
    static const char *const bad[] = {"99999", "5001", "-1", "x", "1.5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct reply r =
            ask(&sv, "GET", fmt("/v1/runs/%s/events?bufferMs=%s", run, bad[i]), NULL, NULL);
        expect_error(&r, 400, "validation_error");
    }
}

Test(streams, resume_from_every_sequence_is_the_suffix /* SSE-26, 28, 29, streamReconnect */) {
    const char *run = create_run(&sv, "conformance-multi-node", NULL);
    wait_terminal(&sv, run);
    struct stream all = watch(run, "?streamMode=debug");
    cr_assert_eq(all.n, 8u);
    for (size_t from = 0; from < all.n; from++) {
        const char *const h[] = {fmt("Last-Event-ID: %zu", from), NULL};
        struct stream st =
            stream(&sv, fmt("/v1/runs/%s/events?streamMode=debug", run), h, WAIT_MS, 0);
        cr_expect_eq(st.status, 200);
        cr_expect(st.closed_by_server);
        cr_assert_eq(st.n, all.n - 1 - from, "from %zu: %zu", from, st.n);
        for (size_t i = 0; i < st.n; i++) cr_expect(str_eq(st.v[i].data, all.v[from + 1 + i].data));
    }
    const char *const by_event[] = {
        fmt("Last-Event-ID: " STR_FMT, STR_ARG(text_at(all.v[5].data, "eventId"))), NULL};
    struct stream st =
        stream(&sv, fmt("/v1/runs/%s/events?streamMode=debug", run), by_event, WAIT_MS, 0);
    cr_expect_eq(st.n, 2u);
    static const char *const beyond[] = {"Last-Event-ID: 1000", NULL}, *const junk[] = {
                                                                           "Last-Event-ID: no such",
                                                                           NULL};
    st = stream(&sv, fmt("/v1/runs/%s/events", run), beyond, WAIT_MS, 0);
    cr_expect(st.status == 200 && st.n == 0 && st.closed_by_server);
    struct reply r = ask(&sv, "GET", fmt("/v1/runs/%s/events", run), NULL, junk);
    expect_error(&r, 400, "validation_error");
    cr_expect(str_eqc(text_at(r.body, "details.header"), "Last-Event-ID"));
}

Test(streams, a_cut_client_reconnects_without_gap /* SSE-25, SSE-26 */) {
    const char *run = create_run(&sv, "conformance-cancellable", "\"inputs\":{\"delayMs\":1500}");
    struct stream a = stream(&sv, fmt("/v1/runs/%s/events", run), NULL, 500, 0);
    cr_assert_eq(a.status, 200);
    cr_assert_geq(a.n, 1u, "run.started arrives within the first half second");
    const char *const h[] = {fmt("Last-Event-ID: " STR_FMT, STR_ARG(a.v[a.n - 1].id)), NULL};
    struct stream b = stream(&sv, fmt("/v1/runs/%s/events", run), h, WAIT_MS, 0);
    cr_expect(str_eqc(names(&b), "node.completed run.completed"), STR_FMT, STR_ARG(names(&b)));
}

Test(streams, tickets_stand_for_headers /* host extension; never an API key in a URL */) {
    const char *run = create_run(&sv, "conformance-delay", "\"inputs\":{\"delayMs\":100}");
    const char *other = create_run(&sv, "conformance-noop", NULL);
    static const char *const no_auth[] = {"Authorization:", NULL};
    struct reply r = ask(&sv, "POST", fmt("/v1/host/wopr/runs/%s/stream-ticket", run), "{}", NULL);
    cr_assert(r.status == 200 || r.status == 201, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    struct str ticket = text_at(r.body, "ticket");
    struct stream st = stream(&sv, fmt("/v1/runs/%s/events?ticket=" STR_FMT, run, STR_ARG(ticket)),
                              no_auth, WAIT_MS, 0);
    cr_expect_eq(st.status, 200);
    cr_expect(str_ends(names(&st), STR("run.completed")));
    st = stream(&sv, fmt("/v1/runs/%s/events?lastEventId=2&ticket=" STR_FMT, run, STR_ARG(ticket)),
                no_auth, WAIT_MS, 0);
    cr_expect(str_eqc(names(&st), "run.completed"));
    const char *bad[] = {fmt("/v1/runs/%s/events?ticket=" STR_FMT, other, STR_ARG(ticket)),
                         fmt("/v1/runs/%s/events?ticket=x" STR_FMT, run, STR_ARG(ticket)),
                         fmt("/v1/runs/%s/events?ticket=%s", run, sv.key),
                         fmt("/v1/runs/%s?ticket=" STR_FMT, run, STR_ARG(ticket))};
    for (size_t i = 0; i < 4; i++) {
        r = ask(&sv, "GET", bad[i], NULL, no_auth);
        cr_expect_eq(r.status, 401, "%s: %ld", bad[i], r.status);
    }
}

struct watcher {
    pthread_t thread;
    char request[512];
    char answer[16384];
    long status;
};
static void *watch_thread(void *ctx) {
    struct watcher *w = ctx;
    w->status = exchange(&sv, w->request, strlen(w->request), w->answer, sizeof w->answer);
    return NULL;
}

Test(streams, a_reader_that_stops_reading_delays_nobody /* SSE-8, SSE-25 */) {
    enum { READERS = 20 };
    static struct watcher v[READERS];
    const char *run = create_run(&sv, "conformance-delay", "\"inputs\":{\"delayMs\":1000}");
    const char *get = fmt("GET /v1/runs/%s/events?streamMode=debug HTTP/1.1\r\nHost: "
                          "x\r\nConnection: close\r\nAuthorization: Bearer %s\r\n"
                          "Accept: text/event-stream\r\n\r\n",
                          run, sv.key);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)sv.port)};
    int stuck[10];
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < 10; i++) { /* connect, ask, never read */
        stuck[i] = socket(AF_INET, SOCK_STREAM, 0);
        cr_assert_eq(connect(stuck[i], (struct sockaddr *)&a, sizeof a), 0);
        cr_assert_eq(send(stuck[i], get, strlen(get), MSG_NOSIGNAL), (ssize_t)strlen(get));
    }
    for (int i = 0; i < READERS; i++) {
        snprintf(v[i].request, sizeof v[i].request, "%s", get);
        cr_assert_eq(pthread_create(&v[i].thread, NULL, watch_thread, &v[i]), 0);
    }
    for (int i = 0; i < READERS; i++) {
        pthread_join(v[i].thread, NULL);
        cr_expect_eq(v[i].status, 200);
        cr_expect_not_null(strstr(v[i].answer, "event: run.completed"));
    }
    for (int i = 0; i < 10; i++) close(stuck[i]);
}
