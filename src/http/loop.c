/*
 * loop.c: the threads that serve connections; each turns a libmicrohttpd daemon of its own.
 *
 * libmicrohttpd has a pool of threads too, but
 *  - its threads can fall asleep on work: version 0.9.75 asks for more events, and waits for them,
 *    when a round brought as many as it has room for.  128 connections of one thread (or 256, ...)
 *    that become readable together are then not served before something else happens.  MHD_run
 *    never waits, so here that question is answered at once (test_http_load.c);
 *  - it writes to the event descriptor of a thread for every connection that is resumed; here that
 *    is one write until the thread is up, however many streams a commit wakes.
 */
#include "http/loop.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "http/intake.h"
#include "http/outlet.h"
#include "http/request.h"
#include "http/server.h"
#include "http/stream.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    LOOP_MHD_GRACE_S = 2, /* libmicrohttpd is more patient than intake.c */
    LOOP_BUSY_ROUNDS = 16 /* rounds without sleep between two looks at descriptors */
};

/* RFC 9325: TLS 1.2 and 1.3, forward secrecy, authenticated encryption. */
static char TLS_PRIORITIES[] =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-MAC-ALL:+AEAD:-CIPHER-ALL:+AES-256-GCM:"
    "+CHACHA20-POLY1305:+AES-128-GCM:%SERVER_PRECEDENCE";

/* Suspend and resume without libmicrohttpd's own event descriptor. */
#define LOOP_SUSPEND_RESUME (MHD_ALLOW_SUSPEND_RESUME & ~(unsigned)MHD_USE_ITC)

struct http_loop {
    struct loop_seat seat;
    struct MHD_Daemon *daemon;
    int epoll_fd; /* the daemon's */
    atomic_bool quiesce, stop;
    bool running;
    pthread_t thread;
    struct http_server *server;
    struct intakes *intakes;
    struct door door;
};
/* --- the thread --- */

static int daemon_wait_ms(struct http_loop *l) {
    MHD_UNSIGNED_LONG_LONG ms;
    if (MHD_get_timeout(l->daemon, &ms) != MHD_YES) return -1;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

enum { ON_CONNECTIONS, ON_WAKE, ON_LISTENER, ON_LINGERS, ON_PARKED, ON_STREAMS, ON_NR };

static void polls_init(struct http_loop *l, struct pollfd fds[ON_NR]) {
    fds[ON_CONNECTIONS] = (struct pollfd){.fd = l->epoll_fd, .events = POLLIN};
    fds[ON_WAKE] = (struct pollfd){.fd = l->seat.wake_fd, .events = POLLIN};
    fds[ON_LISTENER] = (struct pollfd){.fd = l->server->listen.fd, .events = POLLIN};
    fds[ON_LINGERS] =
        (struct pollfd){.fd = lingers_fd(intakes_lingers(l->intakes)), .events = POLLIN};
    fds[ON_PARKED] = (struct pollfd){.fd = watch_fd(l->seat.watch), .events = POLLIN};
    fds[ON_STREAMS] = (struct pollfd){.fd = outlets_fd(l->seat.outlets), .events = POLLIN};
}

/* One turn; how long the thread may sleep after it. */
static int loop_turn(struct http_loop *l, struct pollfd fds[ON_NR], bool streams) {
    if (fds[ON_LISTENER].revents != 0) door_turn(&l->door, l->intakes, l->daemon);
    intakes_turn(l->intakes);
    (void)MHD_run(l->daemon);
    if (fds[ON_PARKED].revents != 0) watch_turn(l->seat.watch);
    lingers_turn(intakes_lingers(l->intakes), fds[ON_LINGERS].revents != 0);
    if (streams) outlets_turn(l->seat.outlets, fds[ON_STREAMS].revents != 0);
    int ms = lingers_wait_ms(intakes_lingers(l->intakes),
                             intakes_wait_ms(l->intakes, daemon_wait_ms(l)));
    return streams ? outlets_wait_ms(l->seat.outlets, ms) : ms;
}

/* While the door is shut the listener is not polled, and the sleep ends with that. */
static int door_poll(struct http_loop *l, struct pollfd *listener, int ms) {
    bool closed = atomic_load(&l->quiesce);
    int shut_ms = closed ? 0 : (int)door_shut_ms(&l->door);
    listener->fd = closed || shut_ms > 0 ? -1 : l->server->listen.fd;
    return shut_ms > 0 && (ms < 0 || ms > shut_ms) ? shut_ms : ms;
}

static void *loop_main(void *arg) {
    struct http_loop *l = arg;
    struct pollfd fds[ON_NR];
    thread_name("wopr-http");
    thread_prompt();
    mem_later_use(&l->server->trim.later);
    loop_sit(&l->seat);
    intakes_here(l->intakes);
    polls_init(l, fds);
    for (unsigned busy = 0;;) {
        atomic_store(&l->seat.woken, false); /* a resume from here on writes again */
        if (atomic_load(&l->stop)) break;
        bool streams = outlets_any(l->seat.outlets);
        int ms = loop_turn(l, fds, streams);
        for (size_t i = 0; i < ON_NR; i++) fds[i].revents = 0;
        if (ms == 0 && ++busy < LOOP_BUSY_ROUNDS) continue;
        busy = 0;
        ms = door_poll(l, &fds[ON_LISTENER], ms);
        if (poll(fds, streams ? ON_NR : ON_STREAMS, ms) > 0 && fds[ON_WAKE].revents != 0)
            loop_wake_take(&l->seat);
    }
    return NULL;
}

/* --- life --- */

__attribute__((format(printf, 2, 0))) static void mhd_log(void *cls, const char *fmt, va_list ap) {
    (void)cls;
    if (logger_level_get() > LOG_DEBUG || stream_leaving()) return;
    char text[256];
    (void)vsnprintf(text, sizeof text, fmt, ap);
    text[strcspn(text, "\r\n")] = 0;
    log_debug("http connection", "detail", text);
}

/* Without a listening socket and without a bound: door.c accepts. */
static struct MHD_Daemon *daemon_start(struct http_server *s) {
    const struct http_config *c = &s->cfg;
    unsigned flags =
        MHD_USE_EPOLL | LOOP_SUSPEND_RESUME | MHD_USE_ERROR_LOG | MHD_USE_NO_LISTEN_SOCKET;
    int patience_s = c->read_timeout_s > c->head_timeout_s ? c->read_timeout_s : c->head_timeout_s;
    struct MHD_OptionItem extra[5];
    size_t n = 0;
    if (s->listen.tls_cert) {
        flags |= MHD_USE_TLS;
        extra[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, s->listen.tls_cert};
        extra[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, s->listen.tls_key};
        extra[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0, TLS_PRIORITIES};
        if (s->listen.clients) /* certificates are asked for, and judged by client_cert.c */
            extra[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_TRUST, 0,
                                                 s->listen.clients->authorities};
    }
    extra[n] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    return MHD_start_daemon(
        flags, 0, NULL, NULL, request_access, s, MHD_OPTION_EXTERNAL_LOGGER, mhd_log, s,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)INT_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        c->pool_bytes, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(patience_s + LOOP_MHD_GRACE_S),
        MHD_OPTION_NOTIFY_COMPLETED, request_completed, s, MHD_OPTION_NOTIFY_CONNECTION,
        intake_notify, s, MHD_OPTION_ARRAY, extra, MHD_OPTION_END);
}

static const struct outlet_user STREAMS = {
    .pump = stream_pump, .end = stream_end, .wake = stream_wake};
static const struct intake_user REQUESTS = {
    .begin = request_begin, .body = body_add, .refuse = request_refuse, .drop = exchange_finish};

static bool loop_start(struct http_server *s, struct http_loop *l) {
    l->server = s;
    l->seat.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (l->seat.wake_fd < 0) return false;
    l->seat.outlets = outlets_new(&STREAMS);
    l->seat.watch = watch_new();
    l->intakes = intakes_new(s, &REQUESTS);
    if (!l->seat.outlets || !l->seat.watch || !l->intakes || !door_init(&l->door, s)) return false;
    l->daemon = daemon_start(s);
    if (!l->daemon) return false;
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (!info || info->epoll_fd < 0) return false;
    l->epoll_fd = info->epoll_fd;
    l->running = pthread_create(&l->thread, NULL, loop_main, l) == 0;
    return l->running;
}

bool loops_start(struct http_server *s) {
    unsigned n = s->cfg.threads;
    s->loops = mem_array(n, sizeof *s->loops);
    if (!s->loops) return false;
    for (unsigned i = 0; i < n; i++) s->loops[i].seat.wake_fd = s->loops[i].door.reserve_fd = -1;
    s->loops_nr = n;
    for (unsigned i = 0; i < n; i++)
        if (!loop_start(s, &s->loops[i])) {
            loops_stop(s);
            return false;
        }
    return true;
}

void loops_quiesce(struct http_server *s) {
    for (unsigned i = 0; i < s->loops_nr; i++) {
        atomic_store(&s->loops[i].quiesce, true);
        loop_wake(&s->loops[i].seat);
    }
}

void loops_stop(struct http_server *s) {
    for (unsigned i = 0; i < s->loops_nr; i++) {
        struct http_loop *l = &s->loops[i];
        atomic_store(&l->stop, true);
        if (l->running) {
            loop_wake(&l->seat);
            (void)pthread_join(l->thread, NULL);
        }
        outlets_free(l->seat.outlets);
        if (l->daemon) MHD_stop_daemon(l->daemon);
        watch_free(l->seat.watch);
        intakes_free(l->intakes);
        door_fini(&l->door);
        if (l->seat.wake_fd >= 0) (void)close(l->seat.wake_fd);
    }
    mem_free(s->loops);
    s->loops = NULL;
    s->loops_nr = 0;
}
