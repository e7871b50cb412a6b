/*
 * test_egress_faults.c: a request whose socket or name the kernel refuses ends with a code, once,
 * and the next one is answered.
 */
#include "base/fault.h"
#include "egress/egress.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_S = 30 };

static int listener, port;
static pthread_t thread;
static struct egress *eg;

static void *server_main(void *arg) {
    static const char OK[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    char in[4096];
    for (int fd; (fd = accept(listener, NULL, NULL)) >= 0; close(fd))
        if (recv(fd, in, sizeof in, 0) > 0) (void)!send(fd, OK, sizeof OK - 1, MSG_NOSIGNAL);
    return arg;
}

static void up(void) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    struct egress_config cfg = {0};
    struct wopr_error err;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(listener, (struct sockaddr *)&a, sizeof a), 0);
    cr_assert_eq(listen(listener, 8), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&a, &n), 0);
    port = ntohs(a.sin_port);
    cr_assert_eq(pthread_create(&thread, NULL, server_main, NULL), 0);
    cr_assert_eq(egress_allow_parse(STR("127.0.0.1,::1"), &cfg.allow, &err), 0);
    cr_assert_eq(egress_new(&cfg, &eg, &err), 0);
    egress_start(eg);
}

static void down(void) {
    fault_disarm();
    egress_free(eg);
    shutdown(listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(listener);
}

TestSuite(egress_faults, .init = up, .fini = down, .timeout = 300);

struct outcome {
    sem_t done;
    int rc, status;
    bool untouched;
};

static void on_done(void *ctx, const struct egress_response *r) {
    struct outcome *o = ctx;
    o->rc = r->rc;
    o->status = r->status;
    o->untouched = r->untouched;
    sem_post(&o->done);
}

static void ask(const char *host, struct outcome *o) {
    char url[64];
    struct wopr_error err;
    struct timespec end;
    struct egress_request q = {
        .caller = EGRESS_CALLER_NODE, .method = STR("GET"), .timeout_ms = 10000};
    snprintf(url, sizeof url, "http://%s:%d/", host, port);
    q.url = str_c(url);
    sem_init(&o->done, 0, 0);
    cr_assert_eq(egress_submit(eg, &q, on_done, o, &err), 0);
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += WAIT_S;
    cr_assert_eq(sem_timedwait(&o->done, &end), 0, "a response");
    sem_destroy(&o->done);
}

Test(egress_faults, each_refusal_of_the_kernel_ends_the_request_untouched) {
    unsigned failed = 0;
    struct outcome o;
    for (unsigned nth = 1; fault_arm(1u << FAULT_NET, nth); nth++) {
        ask("127.0.0.1", &o);
        fault_disarm();
        if (!fault_fired()) continue;
        failed++;
        cr_expect_eq(o.rc, WOPR_E_UNREACHABLE);
        cr_expect(o.untouched);
        ask("127.0.0.1", &o);
        cr_expect_eq(o.rc, 0);
        cr_expect_eq(o.status, 200);
    }
    cr_expect_eq(failed, 1, "the socket");
}

Test(egress_faults, a_name_that_cannot_be_looked_up_is_asked_for_again) {
    struct outcome o;
    cr_assert(fault_arm(1u << FAULT_NET, 1));
    ask("localhost", &o);
    cr_expect(fault_fired());
    cr_expect_eq(o.rc, WOPR_E_UNREACHABLE);
    cr_expect(o.untouched);
    ask("localhost", &o);
    cr_expect_eq(o.rc, 0, "the failure is not kept");
}
