/* outside_kit.c: see outside_kit.h. */
#include "outside_kit.h"

#include "egress/egress.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

atomic_bool OUTSIDE_ANSWERS;
atomic_uint OUTSIDE_ASKED;

/* --- a server that counts, and answers when it may --- */

enum { CONNS_MAX = 256 };
static struct {
    int listener, port;
    pthread_t thread;
    atomic_bool over;
    int fds[CONNS_MAX];
    bool read[CONNS_MAX];
    size_t n;
} SV;

static void conn_serve(size_t i) {
    static const char OK[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                             "Content-Length: 7\r\nConnection: close\r\n\r\n{\"x\":1}";
    struct pollfd p = {.fd = SV.fds[i], .events = POLLIN};
    char in[4096];
    if (poll(&p, 1, 0) > 0) {
        if (recv(SV.fds[i], in, sizeof in, 0) <= 0) {
            close(SV.fds[i]);
            SV.fds[i] = -1;
            return;
        }
        if (!SV.read[i]) atomic_fetch_add(&OUTSIDE_ASKED, 1);
        SV.read[i] = true;
    }
    if (!SV.read[i] || !atomic_load(&OUTSIDE_ANSWERS)) return;
    (void)!send(SV.fds[i], OK, sizeof OK - 1, MSG_NOSIGNAL);
    close(SV.fds[i]);
    SV.fds[i] = -1;
}

static void *server_main(void *arg) {
    (void)arg;
    while (!atomic_load(&SV.over)) {
        struct pollfd p = {.fd = SV.listener, .events = POLLIN};
        size_t kept = 0;
        if (poll(&p, 1, 2) > 0 && SV.n < CONNS_MAX) {
            SV.fds[SV.n] = accept(SV.listener, NULL, NULL);
            SV.read[SV.n++] = false;
        }
        for (size_t i = 0; i < SV.n; i++) {
            if (SV.fds[i] >= 0) conn_serve(i);
            if (SV.fds[i] < 0) continue;
            SV.fds[kept] = SV.fds[i];
            SV.read[kept++] = SV.read[i];
        }
        SV.n = kept;
    }
    for (size_t i = 0; i < SV.n; i++) close(SV.fds[i]);
    close(SV.listener);
    return NULL;
}

static void server_up(void) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    SV.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(SV.listener, (struct sockaddr *)&a, sizeof a), 0);
    cr_assert_eq(listen(SV.listener, CONNS_MAX), 0);
    cr_assert_eq(getsockname(SV.listener, (struct sockaddr *)&a, &n), 0);
    SV.port = ntohs(a.sin_port);
    cr_assert_eq(pthread_create(&SV.thread, NULL, server_main, NULL), 0);
}

static struct egress *OUT;

static void egress_up(void) {
    struct egress_config cfg = {.user_agent = "test"};
    struct wopr_error err;
    cr_assert_eq(egress_allow_parse(STR("127.0.0.1"), &cfg.allow, &err), 0);
    cr_assert_eq(egress_new(&cfg, &OUT, &err), 0, "%s", err.message);
    egress_start(OUT);
    W.cfg.egress = OUT;
}

int outside_port(void) { return SV.port; }

void outside_up(void) {
    server_up();
    egress_up();
    world_up();
}

void outside_down(void) {
    egress_stop(OUT); /* its last answers need the engine */
    world_down();
    egress_free(OUT);
    atomic_store(&SV.over, true);
    pthread_join(SV.thread, NULL);
}

unsigned outside_under_way(void) {
    struct egress_stats s;
    egress_stats(OUT, &s);
    return (unsigned)(s.active + s.queued);
}

void outside_crash(void) {
    engine_halt(W.engine, false);
    egress_free(OUT);
    engine_free(W.engine);
    egress_up();
    world_engine_start();
}

uint64_t outside_sent(void) {
    for (;;) {
        struct egress_stats s;
        egress_stats(OUT, &s);
        if (s.active == 0 && s.queued == 0) return s.started;
        usleep(500);
    }
}
