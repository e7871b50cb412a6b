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
#include "base/mem.h"
#include "base/thread.h"
#include "http/http_internal.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { LOOP_BUSY_ROUNDS = 16 }; /* rounds without sleep between two looks at descriptors */

/* Suspend and resume without libmicrohttpd's own event descriptor. */
#define LOOP_SUSPEND_RESUME (MHD_ALLOW_SUSPEND_RESUME & ~(unsigned)MHD_USE_ITC)

struct http_loop {
    struct MHD_Daemon *daemon;
    int epoll_fd, wake_fd; /* epoll_fd: the daemon's */
    atomic_bool woken;     /* wake_fd was written and the thread has not come by since */
    atomic_bool quiesce, stop;
    bool quiet; /* its thread only: does not accept any more */
    bool running;
    pthread_t thread;
    struct outlets *outlets;
};
static _Thread_local struct http_loop *here;

struct http_loop *loop_here(void) {
    return here;
}

struct outlets *loop_outlets(struct http_loop *l) {
    return l->outlets;
}

void loop_wake(struct http_loop *l) {
    const uint64_t one = 1;
    if (atomic_exchange(&l->woken, true)) return;
    while (write(l->wake_fd, &one, sizeof one) < 0 && errno == EINTR) continue;
}

/* --- the thread --- */

static void quiet(struct http_loop *l) {
    if (l->quiet) return;
    l->quiet = true;
    (void)MHD_quiesce_daemon(l->daemon); /* the socket is the server's */
}

static void take_wake(struct http_loop *l) {
    uint64_t n;
    while (read(l->wake_fd, &n, sizeof n) < 0 && errno == EINTR) continue;
}

static int wait_ms(struct http_loop *l) {
    MHD_UNSIGNED_LONG_LONG ms;
    if (MHD_get_timeout(l->daemon, &ms) != MHD_YES) return -1;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

static void *loop_main(void *arg) {
    struct http_loop *l = arg;
    struct pollfd fds[] = {{.fd = l->epoll_fd, .events = POLLIN},
                           {.fd = l->wake_fd, .events = POLLIN},
                           {.fd = outlets_fd(l->outlets), .events = POLLIN}};
    thread_name("wopr-http");
    here = l;
    for (unsigned busy = 0;;) {
        atomic_store(&l->woken, false); /* whoever resumes from here on writes again */
        if (atomic_load(&l->quiesce)) quiet(l);
        if (atomic_load(&l->stop)) break;
        (void)MHD_run(l->daemon);
        bool streams = outlets_any(l->outlets);
        if (streams) outlets_turn(l->outlets, fds[2].revents != 0);
        fds[2].revents = 0;
        int ms = wait_ms(l);
        if (streams) ms = outlets_wait_ms(l->outlets, ms);
        if (ms == 0 && (!streams || ++busy < LOOP_BUSY_ROUNDS)) continue;
        busy = 0;
        if (poll(fds, streams ? 3 : 2, ms) > 0 && fds[1].revents != 0) take_wake(l);
    }
    return NULL;
}

/* --- life --- */

static size_t leave_escaped(void *cls, struct MHD_Connection *conn, char *s) {
    (void)cls, (void)conn;
    return strlen(s); /* D5: the path is split before it is decoded */
}

static void count_connection(void *cls, struct MHD_Connection *conn, void **ctx,
                             enum MHD_ConnectionNotificationCode what) {
    (void)conn, (void)ctx;
    struct http_server *s = cls;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) atomic_fetch_add(&s->connections, 1);
    else atomic_fetch_sub(&s->connections, 1);
}

static struct MHD_Daemon *daemon_start(struct http_server *s, unsigned connections_max) {
    const struct http_config *c = &s->cfg;
    unsigned flags = MHD_USE_EPOLL | LOOP_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    struct MHD_OptionItem extra[3];
    size_t n = 0;
    if (s->tls_cert) {
        flags |= MHD_USE_TLS;
        extra[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, s->tls_cert};
        extra[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, s->tls_key};
    }
    extra[n] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    return MHD_start_daemon(
        flags, 0, NULL, NULL, request_access, s, MHD_OPTION_EXTERNAL_LOGGER, server_mhd_log, s,
        MHD_OPTION_LISTEN_SOCKET, s->listen_fd, MHD_OPTION_CONNECTION_LIMIT, connections_max,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, c->pool_bytes, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)c->read_timeout_s, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK,
        leave_escaped, s, MHD_OPTION_URI_LOG_CALLBACK, request_uri, s, MHD_OPTION_NOTIFY_COMPLETED,
        request_completed, s, MHD_OPTION_NOTIFY_CONNECTION, count_connection, s, MHD_OPTION_ARRAY,
        extra, MHD_OPTION_END);
}

static bool loop_start(struct http_server *s, struct http_loop *l, unsigned connections_max) {
    l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (l->wake_fd < 0) return false;
    l->outlets = outlets_new();
    if (!l->outlets) return false;
    l->daemon = daemon_start(s, connections_max);
    if (!l->daemon) return false;
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (!info || info->epoll_fd < 0) return false;
    l->epoll_fd = info->epoll_fd;
    l->running = pthread_create(&l->thread, NULL, loop_main, l) == 0;
    return l->running;
}

bool loops_start(struct http_server *s) {
    unsigned n = s->cfg.threads, limit = s->cfg.connections_max;
    s->loops = mem_array(n, sizeof *s->loops);
    if (!s->loops) return false;
    for (unsigned i = 0; i < n; i++) s->loops[i].wake_fd = -1;
    s->loops_nr = n;
    for (unsigned i = 0; i < n; i++)
        if (!loop_start(s, &s->loops[i], limit / n + (i < limit % n))) {
            loops_stop(s);
            return false;
        }
    return true;
}

void loops_quiesce(struct http_server *s) {
    for (unsigned i = 0; i < s->loops_nr; i++) {
        atomic_store(&s->loops[i].quiesce, true);
        loop_wake(&s->loops[i]);
    }
}

void loops_stop(struct http_server *s) {
    for (unsigned i = 0; i < s->loops_nr; i++) {
        struct http_loop *l = &s->loops[i];
        atomic_store(&l->stop, true);
        if (l->running) {
            loop_wake(l);
            (void)pthread_join(l->thread, NULL);
        }
        outlets_free(l->outlets);
        if (l->daemon) {
            quiet(l); /* or it would close the socket of all */
            MHD_stop_daemon(l->daemon);
        }
        if (l->wake_fd >= 0) (void)close(l->wake_fd);
    }
    mem_free(s->loops);
    s->loops = NULL;
    s->loops_nr = 0;
}
