/*
 * test_egress_reach.c: redirects that are asked for, answers in pieces, requests that are given up,
 * the table of callers, and the places at one peer.  X2, X3, X5, X7 to X10, HOOK-16, HOOK-17, D57.
 */
#include "egress/egress.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_S = 60, HEADS_MAX = 64, PIECES = 400, PIECE = 1000, CONNS_MAX = 512 };

static int listener, port;
static pthread_t thread;
static struct egress *eg;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static char heads[HEADS_MAX][2048];
static unsigned heads_nr;
static atomic_uint hung;

/* --- the server: one thread, it keeps the heads of what it is asked --- */

static void text(int fd, const char *s) { (void)!send(fd, s, strlen(s), MSG_NOSIGNAL); }

static void moved(int fd, int status, const char *to) {
    char out[2300];
    (void)snprintf(out, sizeof out,
                   "HTTP/1.1 %d Moved\r\nLocation: %s\r\nContent-Length: 5\r\n"
                   "Connection: close\r\n\r\nmoved",
                   status, to);
    text(fd, out);
}

static void pieces(int fd) {
    static char x[PIECE + 1];
    memset(x, 'x', PIECE);
    text(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    for (int i = 0; i < PIECES; i++) text(fd, x);
}

/* true: the connection stays open, and unanswered. */
static bool serve(int fd, const char *in) {
    char path[1024] = "", to[1100];
    int status = 0;
    (void)sscanf(in, "%*s %1023s", path);
    pthread_mutex_lock(&mu);
    if (heads_nr < HEADS_MAX) (void)snprintf(heads[heads_nr++], sizeof heads[0], "%.2047s", in);
    pthread_mutex_unlock(&mu);
    if (strcmp(path, "/hang") == 0) atomic_fetch_add(&hung, 1);
    if (strcmp(path, "/hang") == 0) return true;
    if (strcmp(path, "/pieces") == 0) pieces(fd);
    else if (strcmp(path, "/round") == 0) moved(fd, 302, "/round");
    else if (sscanf(path, "/to/%d/%1023s", &status, to) == 2) moved(fd, status, to);
    else text(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    return false;
}

static void *server_main(void *arg) {
    static struct pollfd fds[CONNS_MAX + 1];
    nfds_t n = 1;
    fds[0] = (struct pollfd){.fd = listener, .events = POLLIN};
    while (poll(fds, n, -1) >= 0) {
        for (nfds_t i = n - 1; i > 0; i--) {
            char in[4096];
            if (!fds[i].revents) continue;
            ssize_t got = recv(fds[i].fd, in, sizeof in - 1, 0);
            in[got > 0 ? got : 0] = '\0';
            if (got > 0 && serve(fds[i].fd, in)) continue;
            close(fds[i].fd);
            fds[i] = fds[--n];
        }
        if (!fds[0].revents) continue;
        int fd = n <= CONNS_MAX ? accept(listener, NULL, NULL) : -1;
        if (fd < 0) break;
        fds[n++] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    while (n > 1) close(fds[--n].fd);
    return arg;
}

/* --- names: "inside..." is a refused address, others the server --- */

static int lookup(const char *host, char *out, size_t size) {
    const char *to = strncmp(host, "inside", 6) == 0 ? "127.0.0.2" : "127.0.0.1";
    if (strncmp(host, "meta", 4) == 0) to = "169.254.169.254";
    (void)snprintf(out, size, "%s", to);
    return 0;
}

static void egress_up(unsigned peer_max) {
    struct egress_config cfg = {.lookup = lookup, .peer_transfers_max = peer_max};
    struct wopr_error err;
    cr_assert_eq(egress_allow_parse(STR("127.0.0.1"), &cfg.allow, &err), 0);
    cr_assert_eq(egress_new(&cfg, &eg, &err), 0);
    egress_start(eg);
}
static void up(void) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(listener, (struct sockaddr *)&a, sizeof a), 0);
    cr_assert_eq(listen(listener, CONNS_MAX), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&a, &n), 0);
    port = ntohs(a.sin_port);
    cr_assert_eq(pthread_create(&thread, NULL, server_main, NULL), 0);
    egress_up(0);
}
static void down(void) {
    egress_free(eg);
    shutdown(listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(listener);
}
TestSuite(egress_reach, .init = up, .fini = down, .timeout = 300);

/* --- asking --- */

struct asked {
    sem_t done, offered;
    int rc, status;
    bool untouched;
    char body[64], why[128], kept[64];
    uint64_t id;
    atomic_uint taken, offers;
    atomic_int say; /* enum egress_took */
};

static void on_done(void *ctx, const struct egress_response *r) {
    struct asked *q = ctx;
    q->rc = r->rc;
    q->status = r->status;
    q->untouched = r->untouched;
    (void)snprintf(q->body, sizeof q->body, "%.*s", r->body.n < 60 ? (int)r->body.n : 60,
                   r->body.p ? r->body.p : "");
    (void)snprintf(q->kept, sizeof q->kept, "%.*s", (int)r->kept.n, r->kept.n > 0 ? r->kept.p : "");
    (void)snprintf(q->why, sizeof q->why, "%s", r->message ? r->message : "");
    sem_post(&q->done);
}

static enum egress_took on_chunk(void *ctx, int status, struct str bytes) {
    struct asked *q = ctx;
    enum egress_took say = (enum egress_took)atomic_load(&q->say);
    q->status = status;
    if (say == EGRESS_TAKEN) atomic_fetch_add(&q->taken, (unsigned)bytes.n);
    if (atomic_fetch_add(&q->offers, 1) == 0) sem_post(&q->offered);
    return say;
}

static void await(sem_t *s, const char *what) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += WAIT_S;
    cr_assert_eq(sem_timedwait(s, &end), 0, "%s", what);
}

static void asked_init(struct asked *q) {
    memset(q, 0, sizeof *q);
    sem_init(&q->done, 0, 0);
    sem_init(&q->offered, 0, 0);
}

static struct egress_request request(const char *url) {
    return (struct egress_request){.caller = EGRESS_CALLER_NODE,
                                   .tenant = STR("t"),
                                   .method = STR("GET"),
                                   .url = str_c(url),
                                   .timeout_ms = 60000};
}

static struct asked ask(struct egress_request r) {
    struct asked q;
    struct wopr_error err;
    asked_init(&q);
    cr_assert_eq(egress_submit(eg, &r, on_done, &q, &err), 0, "%s", err.message);
    await(&q.done, r.url.p);
    return q;
}

static const char *url_of(const char *host, const char *path) {
    static char out[8][1200];
    static int nth;
    char *z = out[nth++ % 8];
    (void)snprintf(z, sizeof out[0], "http://%s:%d%s", host, port, path);
    return z;
}

static const char *moved_to(int status, const char *to) {
    static char path[1100];
    (void)snprintf(path, sizeof path, "/to/%d/%s", status, to);
    return url_of("127.0.0.1", path);
}

/* --- redirects --- */

Test(egress_reach, a_redirect_is_the_answer_unless_the_request_asks_to_follow_it /* X7 */) {
    struct egress_request r = request(url_of("127.0.0.1", "/to/302//ok"));
    struct asked q = ask(r);
    cr_expect_eq(q.status, 302);
    cr_expect_eq(heads_nr, 1u);
    r.redirects_max = 5;
    q = ask(r);
    cr_expect_eq(q.rc, 0, "%s", q.why);
    cr_expect_eq(q.status, 200);
    cr_expect_str_eq(q.body, "ok", "not that of the redirect");
}

Test(egress_reach, redirects_end_after_as_many_as_were_asked_for /* X7 */) {
    struct egress_request r = request(url_of("127.0.0.1", "/round"));
    struct egress_stats s;
    r.redirects_max = 3;
    struct asked q = ask(r);
    cr_expect_eq(q.rc, WOPR_E_UNREACHABLE, "%s", wopr_err_name(q.rc));
    cr_expect_not(q.untouched);
    cr_expect_eq(heads_nr, 4u, "the first and three more: %u", heads_nr);
    egress_stats(eg, &s);
    cr_expect_eq(s.redirects, 3u);
}

Test(egress_reach, no_redirect_leads_to_a_refused_address /* X1, X7, HOOK-17 */) {
    static const char *const BAD[] = {"http://169.254.169.254/latest",
                                      "https://169.254.169.254/",
                                      "http://[::ffff:127.0.0.2]/",
                                      "https://[::ffff:10.0.0.1]/",
                                      "http://127.0.0.2/",
                                      "file:///etc/passwd",
                                      "gopher://127.0.0.1/x",
                                      "http://user:pw@127.0.0.1/",
                                      "https://metadata/",
                                      "//127.0.0.2/x",
                                      "http://inside.example/",
                                      "https://inside.example/",
                                      "http://meta.example/"};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct egress_request r = request(moved_to(302, BAD[i]));
        r.redirects_max = 5;
        struct asked q = ask(r);
        cr_expect_eq(q.rc, WOPR_E_EGRESS_REFUSED, "%s: %s %s", BAD[i], wopr_err_name(q.rc), q.why);
        cr_expect_not(q.untouched, "%s", BAD[i]);
    }
    cr_expect_eq(heads_nr, (unsigned)(sizeof BAD / sizeof *BAD), "one request each");
}

Test(egress_reach, what_a_request_carries_stays_with_its_host /* X8 */) {
    const struct egress_header SECRETS[] = {{STR("Authorization"), STR("Bearer canary-1")},
                                            {STR("Cookie"), STR("canary-2")},
                                            {STR("X-Api-Key"), STR("canary-3")},
                                            {STR("Idempotency-Key"), STR("canary-4")},
                                            {STR("Accept"), STR("text/plain")}};
    struct egress_request r = request(moved_to(302, url_of("other.example", "/ok")));
    r.headers = SECRETS;
    r.headers_nr = sizeof SECRETS / sizeof *SECRETS;
    r.redirects_max = 5;
    cr_expect_eq(ask(r).status, 200);
    cr_expect_not_null(strstr(heads[0], "canary-1"));
    cr_expect_null(strstr(heads[1], "canary"), "%s", heads[1]);
    cr_expect_not_null(strstr(heads[1], "Accept: text/plain"), "%s", heads[1]);
    cr_expect_not_null(strstr(heads[1], "Host: other.example"), "%s", heads[1]);
    r.url = str_c(moved_to(302, "/ok"));
    cr_expect_eq(ask(r).status, 200);
    cr_expect_not_null(strstr(heads[3], "canary-1"), "the same host: %s", heads[3]);
}

Test(egress_reach, a_body_is_moved_within_its_host_only /* X8 */) {
    const struct egress_header TYPE[] = {{STR("Content-Type"), STR("text/x")}};
    struct egress_request r = request(moved_to(307, "/ok"));
    r.method = STR("POST");
    r.body = STR("canary-body");
    r.headers = TYPE;
    r.headers_nr = 1;
    r.redirects_max = 5;
    cr_expect_eq(ask(r).status, 200);
    cr_expect_not_null(strstr(heads[1], "POST /ok"), "%s", heads[1]);
    cr_expect_not_null(strstr(heads[1], "canary-body"), "%s", heads[1]);
    r.url = str_c(moved_to(303, "/ok"));
    cr_expect_eq(ask(r).status, 200);
    cr_expect_not_null(strstr(heads[3], "GET /ok"), "%s", heads[3]);
    cr_expect_null(strstr(heads[3], "Content-"), "%s", heads[3]);
    r.url = str_c(moved_to(307, url_of("other.example", "/ok")));
    struct asked q = ask(r);
    cr_expect_eq(q.rc, WOPR_E_EGRESS_REFUSED, "%s", q.why);
    cr_expect_eq(heads_nr, 5u);
}

/* --- pieces --- */

Test(egress_reach, an_answer_comes_in_pieces_that_wait_for_their_reader /* X9 */) {
    struct egress_request r = request(url_of("127.0.0.1", "/pieces"));
    struct wopr_error err;
    struct asked q;
    asked_init(&q);
    r.chunk = on_chunk;
    r.id = &q.id;
    atomic_store(&q.say, EGRESS_WAIT);
    cr_assert_eq(egress_submit(eg, &r, on_done, &q, &err), 0);
    await(&q.offered, "a first piece");
    cr_expect_eq(ask(request(url_of("127.0.0.1", "/ok"))).rc, 0, "others go on meanwhile");
    cr_expect_eq(atomic_load(&q.taken), 0u);
    cr_expect_eq(atomic_load(&q.offers), 1u, "and nothing more is offered");
    atomic_store(&q.say, EGRESS_TAKEN);
    egress_continue(eg, q.id);
    await(&q.done, "the end");
    cr_expect_eq(q.rc, 0, "%s", q.why);
    cr_expect_eq(q.status, 200);
    cr_expect_eq(atomic_load(&q.taken), (unsigned)(PIECES * PIECE), "%u", atomic_load(&q.taken));
    cr_expect_str_eq(q.body, "", "nothing is kept");
}

Test(egress_reach, pieces_are_bounded_and_end_when_their_reader_says_so /* X6, X9 */) {
    struct egress_request r = request(url_of("127.0.0.1", "/pieces"));
    struct wopr_error err;
    struct asked q;
    asked_init(&q);
    r.chunk = on_chunk;
    r.response_max = 100000;
    cr_assert_eq(egress_submit(eg, &r, on_done, &q, &err), 0);
    await(&q.done, "the bound");
    cr_expect_eq(q.rc, WOPR_E_TOO_BIG);
    cr_expect_leq(atomic_load(&q.taken), 100000u);
    asked_init(&q);
    atomic_store(&q.say, EGRESS_STOP);
    cr_assert_eq(egress_submit(eg, &r, on_done, &q, &err), 0);
    await(&q.done, "the stop");
    cr_expect_eq(q.rc, WOPR_E_CLOSED);
    cr_expect_eq(atomic_load(&q.offers), 1u);
    asked_init(&q);
    atomic_store(&q.say, EGRESS_ENOUGH);
    cr_assert_eq(egress_submit(eg, &r, on_done, &q, &err), 0);
    await(&q.done, "the end that its reader chose");
    cr_expect_eq(q.rc, 0, "as if the answer ended there: %s", q.why);
    cr_expect_eq(q.status, 200);
    cr_expect_eq(atomic_load(&q.offers), 1u);
}

Test(egress_reach, a_header_of_the_answer_is_kept_when_it_is_asked_for) {
    struct egress_request r = request(url_of("127.0.0.1", "/ok"));
    cr_expect_str_eq(ask(r).kept, "");
    r.keep = "content-LENGTH";
    cr_expect_str_eq(ask(r).kept, "2");
    r.keep = "Mcp-Session-Id";
    cr_expect_str_eq(ask(r).kept, "", "it is not there");
}

Test(egress_reach, a_reader_that_never_continues_costs_its_own_time_only /* X6, X9 */) {
    struct egress_request r = request(url_of("127.0.0.1", "/pieces"));
    struct wopr_error err;
    struct asked q;
    asked_init(&q);
    r.chunk = on_chunk;
    r.timeout_ms = 2000;
    atomic_store(&q.say, EGRESS_WAIT);
    cr_assert_eq(egress_submit(eg, &r, on_done, &q, &err), 0);
    await(&q.done, "the timeout");
    cr_expect_eq(q.rc, WOPR_E_TIMEOUT, "%s", wopr_err_name(q.rc));
}

/* --- giving up --- */

Test(egress_reach, a_request_is_given_up_in_each_state /* X3, X10 */) {
    enum { MANY = 300 };
    static struct asked q[MANY];
    struct wopr_error err;
    for (int i = 0; i < MANY; i++) { /* under way, and waiting for a place */
        struct egress_request r = request(url_of("127.0.0.1", "/hang"));
        asked_init(&q[i]);
        r.id = &q[i].id;
        cr_assert_eq(egress_submit(eg, &r, on_done, &q[i], &err), 0);
    }
    while (atomic_load(&hung) == 0) (void)poll(NULL, 0, 1);
    for (int i = MANY - 1; i >= 0; i--) egress_cancel(eg, q[i].id);
    for (int i = 0; i < MANY; i++) {
        await(&q[i].done, "a cancelled request");
        cr_expect_eq(q[i].rc, WOPR_E_CLOSED);
    }
    egress_cancel(eg, q[0].id); /* it has ended */
    cr_expect_eq(ask(request(url_of("127.0.0.1", "/ok"))).rc, 0);
    struct egress_stats s;
    egress_stats(eg, &s);
    cr_expect_eq(s.queued, 0u);
}

/* --- callers --- */

Test(egress_reach, a_request_names_its_caller_and_stays_within_its_row /* X10, D57 */) {
    const struct egress_request ok = request("https://example.org/");
    struct wopr_error err;
    struct asked q;
    for (int c = EGRESS_CALLER_NONE + 1; c < EGRESS_CALLERS_END; c++) {
        const struct egress_caller_row *row = egress_caller_row((enum egress_caller)c);
        cr_assert_not_null(row);
        cr_expect(row->label && row->label[0] && row->repeats && row->answer_max > 0 &&
                  row->timeout_ms_max > 0);
        struct egress_request r = ok;
        r.caller = (enum egress_caller)c;
        r.timeout_ms = row->timeout_ms_max + 1;
        cr_expect_eq(egress_submit(eg, &r, on_done, &q, &err), WOPR_E_VALIDATION);
        r.timeout_ms = 1;
        r.redirects_max = row->redirects_max + 1;
        cr_expect_eq(egress_submit(eg, &r, on_done, &q, &err), WOPR_E_VALIDATION);
        r.redirects_max = 0;
        r.replaying = true;
        if (row->in_replay == EGRESS_REPLAY_NEVER)
            cr_expect_eq(egress_submit(eg, &r, on_done, &q, &err), WOPR_E_EGRESS_REFUSED);
    }
    cr_expect_null(egress_caller_row(EGRESS_CALLER_NONE));
    cr_expect_null(egress_caller_row(EGRESS_CALLERS_END));
    struct egress_request r = ok;
    r.caller = EGRESS_CALLER_NONE;
    cr_expect_eq(egress_submit(eg, &r, on_done, &q, &err), WOPR_E_VALIDATION);
}

/* --- places at one peer --- */

/* Ten thousand requests of many tenants to one dead peer: others answer, and it has its bound. */
Test(egress_reach, a_dead_peer_holds_its_places_and_no_others /* X5 */) {
    enum { TENANTS = 40, EACH = 100 };
    static struct asked q[TENANTS][EACH];
    struct wopr_error err;
    struct egress_stats s;
    egress_free(eg);
    egress_up(24);
    char tenant[16];
    for (int t = 0; t < TENANTS; t++)
        for (int i = 0; i < EACH; i++) {
            struct egress_request r = request(url_of("dead.example", "/hang"));
            (void)snprintf(tenant, sizeof tenant, "bad%d", t);
            r.tenant = str_c(tenant);
            asked_init(&q[t][i]);
            cr_assert_eq(egress_submit(eg, &r, on_done, &q[t][i], &err), 0, "%s", err.message);
        }
    while (atomic_load(&hung) < 24) (void)poll(NULL, 0, 1);
    struct egress_request r = request(url_of("well.example", "/ok"));
    for (int t = 0; t < TENANTS; t++) { /* those tenants themselves, too */
        (void)snprintf(tenant, sizeof tenant, "bad%d", t);
        r.tenant = str_c(tenant);
        cr_expect_eq(ask(r).rc, 0);
    }
    r.tenant = STR("good");
    cr_expect_eq(ask(r).rc, 0);
    egress_stats(eg, &s);
    cr_expect_leq(s.active, 25u, "%llu", (unsigned long long)s.active);
    cr_expect_eq(s.peers_full, 1u);
    cr_expect_eq(atomic_load(&hung), 24u, "%u", atomic_load(&hung));
    egress_stop(eg);
    for (int t = 0; t < TENANTS; t++)
        for (int i = 0; i < EACH; i++) {
            await(&q[t][i].done, "an end");
            cr_expect_eq(q[t][i].rc, WOPR_E_CLOSED);
        }
}
