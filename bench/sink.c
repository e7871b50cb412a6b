/*
 * sink.c: for figures about what leaves a host: a receiver that takes everything at once, a host of
 * our own beside it, and runs in a closed loop.
 */
#define _GNU_SOURCE /* memmem */
#include "bench.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CONNS_MAX = 1024,
    HOST_SECONDS_MAX = 30,
    DRAIN_SECONDS_MAX = 120,
    KEPT = 8192,
    OWN_ARGS_MAX = 40
};

/* ------------------------------------------------------------------ the receiver, one thread */
struct conn {
    char head[KEPT];
    size_t n;
    long rest; /* bytes of the body that are still to come; -1 in the head */
};
static struct {
    int door, port;
    pthread_t thread;
    struct pollfd fds[CONNS_MAX];
    struct conn conns[CONNS_MAX];
    nfds_t n;
    atomic_bool stop;
    atomic_uint_fast64_t taken, last_ns;
} rx;

static void conn_close(nfds_t i) {
    close(rx.fds[i].fd);
    rx.n--;
    rx.fds[i] = rx.fds[rx.n];
    rx.conns[i] = rx.conns[rx.n];
}

static void conn_answer(nfds_t i) {
    static const char OK[] = "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n";
    (void)!send(rx.fds[i].fd, OK, sizeof OK - 1, MSG_NOSIGNAL);
    rx.conns[i].n = 0;
    rx.conns[i].rest = -1;
    atomic_store(&rx.last_ns, clock_mono_ns());
    atomic_fetch_add(&rx.taken, 1);
}

static void conn_read(nfds_t i) {
    struct conn *c = &rx.conns[i];
    ssize_t got = recv(rx.fds[i].fd, c->head + c->n, KEPT - 1 - c->n, 0);
    if (got <= 0) {
        conn_close(i);
        return;
    }
    if (c->rest >= 0) {
        c->rest -= got;
    } else {
        c->n += (size_t)got;
        c->head[c->n] = '\0';
        const char *end = strstr(c->head, "\r\n\r\n"), *length = strstr(c->head, "Content-Length:");
        if (!end || !length) return;
        c->rest = strtol(length + 15, NULL, 10) - (long)(c->n - (size_t)(end + 4 - c->head));
        c->n = 0;
    }
    if (c->rest <= 0) conn_answer(i);
}

static void *receiver_main(void *arg) {
    while (!atomic_load(&rx.stop)) {
        if (poll(rx.fds, rx.n, 20) <= 0) continue;
        for (nfds_t i = rx.n; i-- > 1;)
            if (rx.fds[i].revents) conn_read(i);
        int fd = rx.fds[0].revents && rx.n < CONNS_MAX ? accept(rx.door, NULL, NULL) : -1;
        if (fd < 0) continue;
        rx.fds[rx.n] = (struct pollfd){.fd = fd, .events = POLLIN};
        rx.conns[rx.n].n = 0;
        rx.conns[rx.n++].rest = -1;
    }
    while (rx.n > 1) conn_close(rx.n - 1);
    return arg;
}

bool sink_start(void) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    rx.door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(rx.door, (struct sockaddr *)&a, sizeof a) != 0 || listen(rx.door, 1024) != 0 ||
        getsockname(rx.door, (struct sockaddr *)&a, &n) != 0)
        return false;
    rx.port = ntohs(a.sin_port);
    rx.fds[0] = (struct pollfd){.fd = rx.door, .events = POLLIN};
    rx.n = 1;
    return pthread_create(&rx.thread, NULL, receiver_main, NULL) == 0;
}

void sink_stop(void) {
    atomic_store(&rx.stop, true);
    (void)pthread_join(rx.thread, NULL);
    close(rx.door);
}

int sink_port(void) { return rx.port; }

/* ------------------------------------------------------------------ the host */
pid_t own_host_start(struct target *t, const struct options *o, const char *const *more) {
    static const char key[] = "wopr-bench-own-host-key";
    struct options mine = *o;
    char port[16], url[64];
    uint16_t no = proc_free_port();
    (void)snprintf(port, sizeof port, "%u", no);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u", no);
    mine.url = url;
    if (!mine.key) mine.key = key;
    if (no == 0 || !o->wopr || !o->db || target_parse(t, &mine) != 0) return -1;
    char *argv[OWN_ARGS_MAX] = {(char *)o->wopr,
                                "serve",
                                "--port",
                                port,
                                "--ops-port",
                                "-1",
                                "--log-level",
                                "error",
                                "--sync",
                                (char *)o->sync,
                                "--conformance-seed",
                                "--address-rate",
                                "0",
                                "--egress-allow",
                                "127.0.0.1",
                                "--db",
                                (char *)o->db,
                                NULL};
    size_t n = 0;
    while (argv[n]) n++;
    for (; more && *more && n + 1 < OWN_ARGS_MAX; more++) argv[n++] = (char *)(uintptr_t)*more;
    setenv("OPENWOP_API_KEY", mine.key, 1);
    uint64_t end = clock_mono_ns() + HOST_SECONDS_MAX * BENCH_NS;
    pid_t pid = proc_spawn(argv, "/dev/null");
    while (pid > 0 && clock_mono_ns() < end) {
        if (http_once(t, "GET", "/.well-known/openwop", STR_NONE, NULL, 1000) == 200) return pid;
        pause_ms(2);
    }
    if (pid > 0) proc_stop(pid);
    fprintf(stderr, "wopr-bench: the host --wopr on --db does not answer\n");
    return -1;
}

/* ------------------------------------------------------------------ load */
struct creation {
    struct buf request;
    uint64_t asked, runs, made;
};

static bool create_next(void *ctx, struct load_request *q) {
    struct creation *c = ctx;
    if (c->asked == c->runs) return false;
    c->asked++;
    buf_adds(q->out, buf_str(&c->request));
    return true;
}

static bool create_done(void *ctx, const struct load_answer *a, struct load_request *q) {
    struct creation *c = ctx;
    (void)q;
    c->made += a->status == 201;
    return false;
}

bool sink_measure(const struct target *t, const struct options *o, uint64_t want, double *created,
                  double *delivered) {
    struct creation c = {.runs = (uint64_t)o->runs};
    char body[512];
    (void)snprintf(body, sizeof body, "{\"workflowId\":\"%s\"}", o->workflow);
    buf_init(&c.request, 4096);
    request_make(&c.request, t, "POST", "/v1/runs", NULL, str_c(body));
    atomic_store(&rx.taken, 0);
    uint64_t t0 = clock_mono_ns();
    struct load l = {.target = t,
                     .connections = (unsigned)o->connections,
                     .deadline_ns = t0 + DRAIN_SECONDS_MAX * BENCH_NS,
                     .next = create_next,
                     .done = create_done,
                     .ctx = &c};
    bool ok = load_run(&l) == 0 && c.made == c.runs;
    *created = (double)(clock_mono_ns() - t0) / 1e9;
    uint64_t end = clock_mono_ns() + DRAIN_SECONDS_MAX * BENCH_NS;
    while (ok && atomic_load(&rx.taken) < want && clock_mono_ns() < end) pause_ms(2);
    *delivered = (double)(atomic_load(&rx.last_ns) - t0) / 1e9;
    buf_fini(&c.request);
    if (ok && atomic_load(&rx.taken) >= want) return true;
    fprintf(stderr, "wopr-bench: %llu of %llu runs, %llu of %llu deliveries\n",
            (unsigned long long)c.made, (unsigned long long)c.runs,
            (unsigned long long)atomic_load(&rx.taken), (unsigned long long)want);
    return false;
}
