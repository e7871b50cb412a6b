/*
 * door.c: accepting connections.  The loops accept themselves instead of libmicrohttpd, which stops
 * polling the listener at its bounds: at every bound, and without a free descriptor, they go on
 * accepting, even if only to close.
 */
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/net.h"
#include "http/intake.h"
#include "http/server.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    DOOR_BATCH = 32,    /* accepted before requests get their turn */
    DOOR_SHUT_MS = 100, /* pause after a failure that an immediate retry would repeat */
    DOOR_OVER_MAX = 64, /* connections above the bounds that still get a refusal */
    DOOR_LEAVE_MS = 2,  /* pause that lets another loop accept; at most DOOR_LEAVES_MAX in a row */
    DOOR_LEAVES_MAX = 500,  /* a second: the other loops' threads may get no core for a while */
    DOOR_FDS_RESERVE = 1024 /* store, log, egress, ops listener, lingering and refused sockets */
};

bool door_init(struct door *d, struct http_server *s) {
    d->server = s;
    d->shut_until = 0;
    d->reserve_fd = fs_open_null();
    return d->reserve_fd >= 0;
}

void door_fini(struct door *d) {
    if (d->reserve_fd >= 0) (void)close(d->reserve_fd);
    d->reserve_fd = -1;
}

unsigned door_shut_ms(const struct door *d) {
    if (d->shut_until == 0) return 0;
    uint64_t now_ms = clock_mono_ms();
    return now_ms < d->shut_until ? (unsigned)(d->shut_until - now_ms) : 0;
}

static void door_warn(struct log_gate *gate, const char *what) {
    uint64_t suppressed = 0;
    if (!log_gate_pass(gate, &suppressed)) return;
    char text[24];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)suppressed);
    log_warn(what, "heldBack", text);
}

/* No descriptor is free.  If a connection is waiting, accept and close it, and evict the longest
 * idle one to make room for the next.  (The kernel also reports this when none is waiting.) */
static void door_starve(struct door *d, struct intakes *es) {
    static struct log_gate gate;
    if (d->reserve_fd >= 0) {
        (void)close(d->reserve_fd);
        int fd = net_accept(d->server->listen.fd, NULL, NULL, 0);
        if (fd >= 0) {
            (void)close(fd);
            (void)intakes_evict(es);
            door_warn(&gate, "no file descriptor is free: connections are closed; raise the limit");
        }
    }
    d->reserve_fd = fs_open_null();
    if (d->reserve_fd < 0) d->shut_until = clock_mono_ms() + DOOR_SHUT_MS;
}

static bool place_take(struct http_server *s) {
    unsigned n = atomic_load(&s->conns.placed);
    while (n < s->cfg.connections_max)
        if (atomic_compare_exchange_weak(&s->conns.placed, &n, n + 1)) return true;
    return false;
}

/* A place within connections_max; if there is none, the longest idle connection is evicted. */
static bool place_make(struct http_server *s, struct intakes *es) {
    static struct log_gate gate;
    if (place_take(s)) return true;
    door_warn(&gate, "connections-max is reached: idle connections are closed for new ones");
    return intakes_evict(es) == EVICT_DONE && place_take(s);
}

/* This loop has nothing to evict, but another might, and all of them poll the listener. */
static bool door_leave(struct door *d, const struct intakes *es) {
    if (!intakes_elsewhere(es) || d->left >= DOOR_LEAVES_MAX) return false;
    d->left++;
    d->shut_until = clock_mono_ms() + DOOR_LEAVE_MS;
    return true;
}

/* A connection with unread input may just complete its head or request, and then another one should
 * be evicted.  Leave newcomers in the kernel's queue until that input has been read. */
static bool door_put_off(struct door *d, struct intakes *es) {
    const struct http_server *s = d->server;
    bool full = atomic_load(&s->conns.placed) >= s->cfg.connections_max;
    enum intake_eviction can = full ? intakes_evictable(es) : EVICT_DONE;
    if (can == EVICT_NONE && door_leave(d, es)) return true;
    d->left = 0;
    d->put_off = !d->put_off && can == EVICT_LATER;
    return d->put_off;
}

static void door_let_in(struct door *d, struct intakes *es, struct MHD_Daemon *daemon, int fd,
                        const struct sockaddr_storage *sa, socklen_t n) {
    static struct log_gate gate;
    struct http_server *s = d->server;
    struct address peer;
    address_of((const struct sockaddr *)sa, &peer);
    bool in = peers_enter(&s->conns.peers, &peer, peers_max(s, &peer));
    if (!in) door_warn(&gate, "an address holds as many connections as it may");
    if (in && !place_make(s, es)) {
        peers_leave(&s->conns.peers, &peer);
        in = false;
    }
    if (in || atomic_load(&s->conns.over) < DOOR_OVER_MAX) intakes_add(es, daemon, fd, sa, n, !in);
    else (void)close(fd);
}

void door_turn(struct door *d, struct intakes *es, struct MHD_Daemon *daemon) {
    for (unsigned i = 0; i < DOOR_BATCH; i++) {
        if (door_put_off(d, es)) return;
        struct sockaddr_storage sa = {0};
        socklen_t n = sizeof sa;
        int fd = net_accept(d->server->listen.fd, (struct sockaddr *)&sa, &n, SOCK_NONBLOCK);
        if (fd >= 0) {
            door_let_in(d, es, daemon, fd, &sa, n);
            continue;
        }
        switch (errno) {
        case EINTR:
        case ECONNABORTED:
            continue;
        case EAGAIN:
            return;
        case EMFILE:
        case ENFILE:
        case ENOBUFS:
        case ENOMEM:
            door_starve(d, es);
            return;
        default:
            d->shut_until = clock_mono_ms() + DOOR_SHUT_MS;
            return;
        }
    }
}

/* --- limits --- */

static void number_text(char out[16], unsigned n) { (void)snprintf(out, 16, "%u", n); }

static void limits_warn(const struct http_config *c, uint64_t files) {
    char limit[24], connections[16], streams[16];
    (void)snprintf(limit, sizeof limit, "%llu", (unsigned long long)files);
    number_text(connections, c->connections_max);
    number_text(streams, c->streams_max);
    log_warn("the limit of open files lowers the bounds of connections and streams", "openFiles",
             limit, "connectionsMax", connections, "streamsMax", streams);
}

void door_limits(struct http_config *c) {
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) != 0) return;
    if (l.rlim_cur < l.rlim_max) {
        l.rlim_cur = l.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &l) != 0) (void)getrlimit(RLIMIT_NOFILE, &l);
    }
    uint64_t wanted = (uint64_t)c->connections_max + c->streams_max;
    uint64_t reserve = l.rlim_cur / 4 < DOOR_FDS_RESERVE ? l.rlim_cur / 4 : DOOR_FDS_RESERVE;
    uint64_t fit = l.rlim_cur - reserve;
    if (wanted <= fit) return;
    c->connections_max = (unsigned)(fit * c->connections_max / wanted);
    c->streams_max = (unsigned)fit - c->connections_max;
    if (c->connections_max == 0) c->connections_max = 1;
    limits_warn(c, l.rlim_cur);
}
