/*
 * test_egress_fair.c: what one tenant asks of the outside delays no other: names that never
 * resolve, servers that never answer, full queues.  X5, S10.
 */
#include "base/mem.h"
#include "base/thread.h"
#include "egress/egress.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { CONNS_MAX = 512, WAIT_S = 30 };

/* --- a server: answers /ok at once, /hang never --- */

static struct server {
    int listener, port, wake[2];
    pthread_t thread;
    struct pollfd fds[CONNS_MAX + 2];
    nfds_t n;
} sv;

static void serve_one(int i) {
    static const char OK[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    char in[4096];
    ssize_t n = recv(sv.fds[i].fd, in, sizeof in - 1, 0);
    if (n <= 0) {
        close(sv.fds[i].fd);
        sv.fds[i].fd = -1;
        return;
    }
    in[n] = '\0';
    if (strstr(in, "/ok")) (void)!send(sv.fds[i].fd, OK, sizeof OK - 1, MSG_NOSIGNAL);
}

static void *server_main(void *arg) {
    (void)arg;
    while (poll(sv.fds, sv.n, -1) >= 0 && !sv.fds[1].revents) {
        for (nfds_t i = 2; i < sv.n; i++)
            if (sv.fds[i].fd >= 0 && sv.fds[i].revents) serve_one((int)i);
        if (!sv.fds[0].revents || sv.n == CONNS_MAX + 2) continue;
        int fd = accept(sv.listener, NULL, NULL);
        if (fd >= 0) sv.fds[sv.n++] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    for (nfds_t i = 2; i < sv.n; i++)
        if (sv.fds[i].fd >= 0) close(sv.fds[i].fd);
    return NULL;
}

static void server_up(void) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    sv.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(sv.listener, (struct sockaddr *)&a, sizeof a), 0);
    cr_assert_eq(listen(sv.listener, CONNS_MAX), 0);
    cr_assert_eq(getsockname(sv.listener, (struct sockaddr *)&a, &n), 0);
    sv.port = ntohs(a.sin_port);
    cr_assert_eq(pipe(sv.wake), 0);
    sv.fds[0] = (struct pollfd){.fd = sv.listener, .events = POLLIN};
    sv.fds[1] = (struct pollfd){.fd = sv.wake[0], .events = POLLIN};
    sv.n = 2;
    cr_assert_eq(pthread_create(&sv.thread, NULL, server_main, NULL), 0);
}

static void server_down(void) {
    cr_assert_eq(write(sv.wake[1], "x", 1), 1);
    pthread_join(sv.thread, NULL);
    close(sv.listener);
    close(sv.wake[0]);
    close(sv.wake[1]);
}

/* --- names: "hang..." until released, "none..." nowhere, others the server --- */

static pthread_mutex_t names_mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t names_cond = PTHREAD_COND_INITIALIZER;
static bool released;
static atomic_uint lookups, hanging;

static int lookup(const char *host, char *out, size_t size) {
    lookups++;
    if (strncmp(host, "none", 4) == 0) return -1;
    if (strncmp(host, "hang", 4) == 0) {
        pthread_mutex_lock(&names_mu);
        hanging++;
        while (!released) pthread_cond_wait(&names_cond, &names_mu);
        hanging--;
        pthread_mutex_unlock(&names_mu);
    }
    snprintf(out, size, "%s", strncmp(host, "both", 4) == 0 ? "[::1],127.0.0.1" : "127.0.0.1");
    return 0;
}

static void release_names(void) {
    pthread_mutex_lock(&names_mu);
    released = true;
    pthread_cond_broadcast(&names_cond);
    pthread_mutex_unlock(&names_mu);
    while (hanging > 0) poll(NULL, 0, 1); /* they use statics of this test */
}

/* --- requests --- */

static struct egress *eg;
static struct egress_config cfg;

static void egress_up(void) {
    struct wopr_error err;
    cfg.lookup = lookup;
    cr_assert_eq(egress_allow_parse(STR("127.0.0.1,::1"), &cfg.allow, &err), 0);
    cr_assert_eq(egress_new(&cfg, &eg, &err), 0);
    egress_start(eg);
}

static void up(void) {
    server_up();
    egress_up();
}
static void up_one_place(void) {
    cfg.transfers_max = cfg.tenant_transfers_max = 1;
    up();
}
enum { SMALL = 2500 }; /* more than a request of this test, less than two */
static void up_small_queue(void) {
    cfg.tenant_transfers_max = 1;
    cfg.tenant_queue_bytes_max = 3 * SMALL;
    up();
}
static void down(void) {
    egress_free(eg);
    release_names();
    server_down();
}
TestSuite(egress_fair, .init = up, .fini = down, .timeout = 300);
TestSuite(egress_turns, .init = up_one_place, .fini = down, .timeout = 300);
TestSuite(egress_queue, .init = up_small_queue, .fini = down, .timeout = 300);

struct asked {
    sem_t done;
    int rc, status;
    bool untouched;
    unsigned nth; /* order of the ends */
};
static atomic_uint ends;

static void on_done(void *ctx, const struct egress_response *r) {
    struct asked *q = ctx;
    q->rc = r->rc;
    q->status = r->status;
    q->untouched = r->untouched;
    q->nth = ++ends;
    sem_post(&q->done);
}

static int ask(struct asked *q, const char *tenant, const char *host, const char *path,
               int timeout_ms) {
    char url[512];
    struct wopr_error err;
    sem_init(&q->done, 0, 0);
    snprintf(url, sizeof url, "http://%s:%d%s", host, sv.port, path);
    struct egress_request r = {.caller = EGRESS_CALLER_NODE,
                               .tenant = str_c(tenant),
                               .method = STR("GET"),
                               .url = str_c(url),
                               .timeout_ms = timeout_ms};
    return egress_submit(eg, &r, on_done, q, &err);
}

static int answer(struct asked *q) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_S;
    cr_assert_eq(sem_timedwait(&q->done, &until), 0, "no answer within %d s", WAIT_S);
    return q->rc;
}

static void expect_ok(const char *tenant, const char *host) {
    struct asked q;
    cr_assert_eq(ask(&q, tenant, host, "/ok", 20000), 0);
    cr_expect_eq(answer(&q), 0, "%s", host);
    cr_expect_eq(q.status, 200);
}

Test(egress_fair, names_are_looked_up_whatever_their_form /* X1 */) {
    static const char *const HOSTS[] = {"a.test", "a.test.", "A.TEST", "both.test", "127.0.0.1"};
    for (size_t i = 0; i < sizeof HOSTS / sizeof *HOSTS; i++) expect_ok("t", HOSTS[i]);
    struct asked q;
    cr_assert_eq(ask(&q, "t", "none.test", "/ok", 20000), 0);
    cr_expect_eq(answer(&q), WOPR_E_UNREACHABLE);
    cr_expect(q.untouched);
}

Test(egress_fair, a_name_that_never_resolves_delays_nobody_else /* X5, S10 */) {
    struct asked hung[3], later;
    for (int i = 0; i < 3; i++) {
        char host[32];
        snprintf(host, sizeof host, "hang%d.test", i);
        cr_assert_eq(ask(&hung[i], "a", host, "/ok", 50), 0);
    }
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(answer(&hung[i]), WOPR_E_TIMEOUT); /* its own time, and no longer */
        cr_expect(hung[i].untouched);
    }
    expect_ok("b", "b.test");
    expect_ok("a", "127.0.0.1");
    cr_assert_eq(ask(&later, "a", "hang0.test", "/ok", 20000), 0);
    release_names();
    cr_expect_eq(answer(&later), 0); /* of the look-up that was under way */
}

Test(egress_fair, a_flood_of_names_that_hang_holds_a_few_threads /* X5, S10 */) {
    static struct asked hung[400];
    for (int i = 0; i < 400; i++) {
        char host[32];
        snprintf(host, sizeof host, "hang%d.test", i);
        cr_assert_eq(ask(&hung[i], "a", host, "/ok", 20), 0);
    }
    for (int i = 0; i < 400; i++) cr_expect_eq(answer(&hung[i]), WOPR_E_TIMEOUT);
    cr_expect_leq(hanging, 4u);
    expect_ok("b", "b.test");
    expect_ok("c", "b.test");
}

Test(egress_fair, servers_that_never_answer_leave_places_to_others /* X5, S10 */) {
    static struct asked hung[300];
    struct egress_stats s;
    for (int i = 0; i < 300; i++) cr_assert_eq(ask(&hung[i], "a", "a.test", "/hang", 600000), 0);
    expect_ok("b", "b.test");
    egress_stats(eg, &s);
    cr_expect_leq(s.active, 64u + 1u); /* b's place is given back behind its answer */
    cr_expect_geq(s.queued, 300u - 64u);
    egress_stop(eg);
    for (int i = 0; i < 300; i++) cr_expect_eq(answer(&hung[i]), WOPR_E_CLOSED); /* X3 */
}

Test(egress_fair, tenants_whose_servers_never_answer_do_not_take_all_places_together /* X5 */) {
    enum { TENANTS = 8, EACH = 70 };
    static struct asked hung[TENANTS][EACH];
    char name[8];
    for (int t = 0; t < TENANTS; t++)
        for (int i = 0; i < EACH; i++) {
            (void)snprintf(name, sizeof name, "bad%d", t);
            cr_assert_eq(ask(&hung[t][i], name, "127.0.0.1", "/hang", 600000), 0);
        }
    expect_ok("b", "127.0.0.1");
    expect_ok("c", "127.0.0.1");
    egress_stop(eg);
    for (int t = 0; t < TENANTS; t++)
        for (int i = 0; i < EACH; i++) cr_expect_eq(answer(&hung[t][i]), WOPR_E_CLOSED);
}

Test(egress_fair, a_shutdown_does_not_wait_for_names /* X3 */) {
    static struct asked hung[40];
    for (int i = 0; i < 40; i++) {
        char host[32];
        snprintf(host, sizeof host, "hang%d.test", i);
        cr_assert_eq(ask(&hung[i], i % 2 ? "a" : "b", host, "/ok", 600000), 0);
    }
    egress_stop(eg);
    for (int i = 0; i < 40; i++) cr_expect_eq(answer(&hung[i]), WOPR_E_CLOSED);
}

Test(egress_fair, an_address_is_kept_for_the_tenant_that_asked) {
    for (int i = 0; i < 5; i++) expect_ok("a", "a.test");
    cr_expect_eq(lookups, 1u);
    expect_ok("b", "a.test");
    cr_expect_eq(lookups, 2u);
}

Test(egress_turns, tenants_take_turns /* X5, S10 */) {
    struct asked first, many[20], one;
    cr_assert_eq(ask(&first, "a", "hang.test", "/ok", 20000), 0); /* holds the only place */
    for (int i = 0; i < 20; i++) cr_assert_eq(ask(&many[i], "a", "127.0.0.1", "/ok", 20000), 0);
    cr_assert_eq(ask(&one, "b", "127.0.0.1", "/ok", 20000), 0);
    release_names();
    cr_expect_eq(answer(&one), 0);
    for (int i = 0; i < 20; i++) cr_expect_eq(answer(&many[i]), 0);
    cr_expect_eq(answer(&first), 0);
    cr_expect_lt(one.nth, many[2].nth);
}

Test(egress_queue, the_queue_of_one_tenant_is_bounded /* X5, S10 */) {
    struct asked q[5], refused;
    struct egress_stats s;
    cr_assert_eq(ask(&q[0], "a", "hang.test", "/ok", 20000), 0);
    do egress_stats(eg, &s);
    while (s.active == 0);
    for (int i = 1; i < 4; i++) cr_assert_eq(ask(&q[i], "a", "127.0.0.1", "/ok", 20000), 0);
    cr_expect_eq(ask(&refused, "a", "127.0.0.1", "/ok", 20000), WOPR_E_UNAVAILABLE);
    expect_ok("b", "127.0.0.1");
    release_names();
    for (int i = 0; i < 4; i++) cr_expect_eq(answer(&q[i]), 0);
}

/* What a request waits with counts, not that it is one. */
Test(egress_queue, large_requests_fill_it_sooner) {
    static char body[2 * SMALL];
    struct asked q[2], refused;
    struct wopr_error err;
    struct egress_stats s;
    char url[64];
    memset(body, 'x', sizeof body);
    cr_assert_eq(ask(&q[0], "a", "hang.test", "/ok", 20000), 0);
    do egress_stats(eg, &s);
    while (s.active == 0);
    cr_assert_eq(ask(&q[1], "a", "127.0.0.1", "/ok", 20000), 0);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/ok", sv.port);
    const struct egress_request large = {.caller = EGRESS_CALLER_NODE,
                                         .tenant = STR("a"),
                                         .method = STR("POST"),
                                         .url = str_c(url),
                                         .body = str_n(body, sizeof body),
                                         .timeout_ms = 20000};
    sem_init(&refused.done, 0, 0);
    cr_expect_eq(egress_submit(eg, &large, on_done, &refused, &err), WOPR_E_UNAVAILABLE);
    release_names();
    for (int i = 0; i < 2; i++) cr_expect_eq(answer(&q[i]), 0);
}
