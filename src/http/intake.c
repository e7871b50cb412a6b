/*
 * intake.c: see intake.h.
 *
 * The parser of libmicrohttpd 0.9.75 accepts what proxies read otherwise (two lengths, a length
 * beside a coding, bare LF, NUL), keeps unread parameters in the memory that the answer needs,
 * refuses in HTML, takes the end of input for a hang-up, and cannot answer in the middle of a
 * chunked body.  So the two functions by which it reads are these here (tools/mhd.cmake): they
 * collect a request, have it judged, and present "GET / HTTP/1.1" without a body.
 *
 * libmicrohttpd polls its sockets by edges (EPOLLET) and forgets that one is readable when it is
 * given less than it asked for.  So before it is given less, either the socket has been emptied,
 * and a new byte makes a new edge, or the connection must be kicked: suspending and resuming it
 * makes libmicrohttpd ask again.  Nothing else is assumed of it.
 */
#include "http/intake.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/net.h"
#include "http/exchange.h"
#include "http/server.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

enum {
    INTAKE_SCRATCH = 64 * 1024,   /* more than a head that is still growing can have */
    INTAKE_TURN_MAX = 256 * 1024, /* read of one client before others are served */
    INTAKE_FDS_MIN = 256,
    INTAKE_FRESH_MS = 50,     /* after an answer, before the socket is read without an edge */
    INTAKE_REFUSED_MS = 2000, /* over the bounds: time to send the request that is refused */
    INTAKE_TRICKLE_MS = 1000, /* amid a head: after that, new input does not prevent eviction */
    INTAKE_EVICT_LOOKS = 16,  /* sockets of a list that are checked for input */
    INTAKE_CANONICAL_MAX = 80 /* what head_write needs */
};

struct intakes {
    const struct intake_user *user;
    struct http_server *server;
    struct intake **by_fd;
    size_t by_fd_nr;
    /* of intake.due, the earliest first.  refused: over the bounds, in any state */
    struct list fresh, idle, heads, bodies, anonymous,
        refused; /* anonymous: bodies without a key */
    struct list kicks;
    unsigned waiting; /* in fresh, idle, heads, anonymous; of the server: intakes_waiting */
    struct lingers *lingers;
    struct intake *arriving;
    char scratch[INTAKE_SCRATCH];
};
static _Thread_local struct intakes *here;

void intakes_here(struct intakes *es) { here = es; }
struct lingers *intakes_lingers(struct intakes *es) {
    return es->lingers;
}

static ssize_t recv_again(void) {
    errno = EAGAIN;
    return -1;
}

/* --- time --- */

static uint64_t patience_ms(const struct intakes *es, const struct list *l) {
    const struct http_config *c = &es->server->cfg;
    if (l == &es->fresh) return INTAKE_FRESH_MS;
    if (l == &es->refused) return INTAKE_REFUSED_MS;
    return (uint64_t)(l == &es->heads ? c->head_timeout_s : c->read_timeout_s) * 1000;
}

/* Into list l, or into none. */
static void list_move(struct intake *e, struct list *l) {
    const struct intakes *es = e->set;
    bool before = e->in && e->in != &es->bodies && e->in != &es->refused;
    bool after = l && l != &es->bodies && l != &es->refused;
    list_del(&e->due);
    if (l) list_add_tail(l, &e->due);
    e->in = l;
    if (before == after) return;
    e->set->waiting += after ? 1 : -1u;
    (void)atomic_fetch_add_explicit(&e->server->conns.waiting, after ? 1 : -1u,
                                    memory_order_relaxed);
}

static void deadline_clear(struct intake *e) { list_move(e, NULL); }

/* false: it is in that list already, and keeps its deadline. */
static bool deadline_set(struct intake *e, struct list *l) {
    if (e->over) l = &e->set->refused;
    if (e->in == l) return false;
    list_move(e, l);
    e->due_ms = clock_mono_ms() + patience_ms(e->set, l);
    return true;
}

static void intake_kick(struct intake *e) {
    if (list_empty(&e->kick)) list_add_tail(&e->set->kicks, &e->kick);
}

/* --- bytes --- */

/* > 0, 0 at the end of input, -1 with EAGAIN or another errno. */
static ssize_t socket_read(struct intake *e, char *p, size_t n) {
    ssize_t r;
    if (!e->tls) {
        do r = net_recv(e->fd, p, n, MSG_DONTWAIT);
        while (r < 0 && errno == EINTR);
        return r;
    }
    r = gnutls_record_recv(e->tls, p, n);
    if (r >= 0) return r;
    if (r == GNUTLS_E_PREMATURE_TERMINATION) return 0;
    errno = r == GNUTLS_E_AGAIN || r == GNUTLS_E_INTERRUPTED ? EAGAIN : ECONNRESET;
    return -1;
}

static size_t pending_take(struct intake *e, char *p) {
    size_t n = e->pending_n;
    if (n == 0) return 0;
    memcpy(p, e->pending, n);
    mem_free(e->pending);
    e->pending = NULL;
    e->pending_n = 0;
    return n;
}

static void pending_keep(struct intake *e, const char *p, size_t n) {
    if (n == 0) return;
    e->pending = mem_alloc(n);
    if (!e->pending) {
        e->state = INTAKE_OVER;
        return;
    }
    memcpy(e->pending, p, n);
    e->pending_n = n;
}

/* --- deadlines --- */

/* Without an answer.  libmicrohttpd sees a closed socket and does the rest. */
static void intake_hang_up(struct intake *e) {
    deadline_clear(e);
    e->state = INTAKE_OVER; /* a request that arrived now would be executed without an answer */
    e->eof = true;
    (void)net_shut(e->fd, SHUT_RDWR);
}

/* Input, or its end, may have arrived with the last request: there was one edge for both. */
static void intake_look(struct intake *e) {
    struct intakes *es = e->set;
    e->missed = false;
    if (e->pending_n == 0) {
        ssize_t r = socket_read(e, es->scratch, INTAKE_SCRATCH);
        if (r < 0 && errno == EAGAIN) return;
        if (r > 0) pending_keep(e, es->scratch, (size_t)r);
    }
    intake_kick(e);
}

static void list_expire(struct intakes *es, struct list *l, uint64_t now_ms) {
    while (!list_empty(l)) {
        struct intake *e = LIST_ENTRY(l->next, struct intake, due);
        if (e->due_ms > now_ms) return;
        if (l == &es->fresh) {
            (void)deadline_set(e, &es->idle);
            intake_look(e);
            continue;
        }
        if (l == &es->idle || (l == &es->refused && e->pending_n == 0)) {
            intake_hang_up(e);
            continue;
        }
        deadline_clear(e);
        e->expired = true;
        intake_kick(e);
    }
}

static bool intake_has_input(const struct intake *e) {
    char c;
    return !list_empty(&e->kick) || net_recv(e->fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* The first of a list that has no input waiting, or has been amid a head or body for too long. */
static struct intake *list_evictable(struct intakes *es, struct list *l, uint64_t now_ms,
                                     bool *later) {
    bool amid = l == &es->heads || l == &es->anonymous;
    unsigned looks = 0;
    for (struct list *i = l->next; i != l && looks < INTAKE_EVICT_LOOKS; i = i->next, looks++) {
        struct intake *e = LIST_ENTRY(i, struct intake, due);
        uint64_t began_ms = e->due_ms - patience_ms(es, l);
        if ((amid && now_ms - began_ms > INTAKE_TRICKLE_MS) || !intake_has_input(e)) return e;
        *later = true;
    }
    return NULL;
}

static void place_give_back(struct intake *e) {
    if (e->placed) atomic_fetch_sub(&e->server->conns.placed, 1);
    e->placed = false;
}

/* Idle or amid its head, whichever began first: so a new connection has a moment to send something,
 * however many follow it.  Then one that sends a body without a key, for that costs nothing. */
static struct intake *evict_choose(struct intakes *es, bool *later) {
    struct list *const from[] = {&es->heads, &es->idle, &es->fresh};
    struct intake *oldest = NULL;
    uint64_t now_ms = clock_mono_ms(), since_ms = UINT64_MAX;
    for (size_t i = 0; i < 3; i++) {
        struct intake *e = list_evictable(es, from[i], now_ms, later);
        if (!e || e->due_ms - patience_ms(es, from[i]) >= since_ms) continue;
        oldest = e;
        since_ms = e->due_ms - patience_ms(es, from[i]);
    }
    return oldest ? oldest : list_evictable(es, &es->anonymous, now_ms, later);
}

enum intake_eviction intakes_evictable(struct intakes *es) {
    bool later = false;
    return evict_choose(es, &later) ? EVICT_DONE : later ? EVICT_LATER : EVICT_NONE;
}

bool intakes_elsewhere(const struct intakes *es) {
    return atomic_load_explicit(&es->server->conns.waiting, memory_order_relaxed) > es->waiting;
}

enum intake_eviction intakes_evict(struct intakes *es) {
    bool later = false;
    struct intake *e = evict_choose(es, &later);
    if (!e) return later ? EVICT_LATER : EVICT_NONE;
    intake_hang_up(e);
    place_give_back(e); /* it is closed in this turn */
    return EVICT_DONE;
}

void intakes_turn(struct intakes *es) {
    uint64_t now_ms = clock_mono_ms();
    list_expire(es, &es->fresh, now_ms);
    list_expire(es, &es->idle, now_ms);
    list_expire(es, &es->heads, now_ms);
    list_expire(es, &es->bodies, now_ms);
    list_expire(es, &es->anonymous, now_ms);
    list_expire(es, &es->refused, now_ms);
    for (struct list *l; (l = list_pop(&es->kicks)) != NULL;) {
        struct intake *e = LIST_ENTRY(l, struct intake, kick);
        if (e->state != INTAKE_HEAD && e->state != INTAKE_BODY) continue;
        MHD_suspend_connection(e->conn);
        MHD_resume_connection(e->conn);
    }
}

static int list_wait_ms(const struct list *l, uint64_t now_ms, int ms) {
    if (list_empty(l)) return ms;
    uint64_t due_ms = LIST_ENTRY(l->next, struct intake, due)->due_ms;
    uint64_t left = due_ms > now_ms ? due_ms - now_ms : 0;
    return ms < 0 || left < (uint64_t)ms ? (int)(left < 60000 ? left : 60000) : ms;
}

int intakes_wait_ms(const struct intakes *es, int ms) {
    if (!list_empty(&es->kicks)) return 0;
    if (ms == 0) return 0;
    uint64_t now_ms = clock_mono_ms();
    ms = list_wait_ms(&es->fresh, now_ms, ms);
    ms = list_wait_ms(&es->idle, now_ms, ms);
    ms = list_wait_ms(&es->heads, now_ms, ms);
    ms = list_wait_ms(&es->bodies, now_ms, ms);
    ms = list_wait_ms(&es->anonymous, now_ms, ms);
    return list_wait_ms(&es->refused, now_ms, ms);
}

/* --- a request --- */

static void continue_send(struct intake *e) {
    static const char CONTINUE[] = "HTTP/1.1 100 Continue\r\n\r\n";
    ssize_t n = sizeof CONTINUE - 1;
    ssize_t r = e->tls ? gnutls_record_send(e->tls, CONTINUE, (size_t)n)
                       : net_send(e->fd, CONTINUE, (size_t)n, MSG_DONTWAIT);
    if (r != n) e->state = INTAKE_OVER; /* 25 bytes into an empty socket */
}

static void request_ready(struct intake *e) {
    e->state = INTAKE_READY;
    deadline_clear(e);
}

/* Read nothing more of this connection: answer, then close. */
static void request_stop(struct intake *e) {
    e->exchange->close_after = true;
    e->linger = true;
    request_ready(e);
}

static void head_refuse(struct intake *e, struct str in, const struct wopr_error *err) {
    struct str text = str_n(in.p + e->scan.start, e->scan.line - e->scan.start);
    e->exchange = e->set->user->begin(e, text, err);
    if (e->exchange) request_stop(e);
    else e->state = INTAKE_OVER;
}

static void request_start(struct intake *e, struct str text, bool more) {
    struct exchange *x = e->exchange = e->set->user->begin(e, text, NULL);
    if (!x) {
        e->state = INTAKE_OVER;
        return;
    }
    bool has_body = x->head.chunked || x->head.body_length > 0;
    if (x->head.bad || (x->close_after && has_body)) request_stop(e);
    else if (!has_body) request_ready(e);
    else {
        e->state = INTAKE_BODY;
        e->body_left = x->head.body_length;
        e->chunks = (struct chunk_reader){0};
        if (x->head.expects_continue && x->pub.status == 0 && !more) continue_send(e);
    }
}

/* How many bytes of in are used up. */
static size_t head_eat(struct intake *e, struct str in) {
    struct wopr_error err = {0};
    switch (head_scan(&e->scan, in, &err)) {
    case HEAD_BAD:
        head_refuse(e, in, &err);
        return in.n;
    case HEAD_WHOLE:
        request_start(e, str_n(in.p + e->scan.start, e->scan.end - e->scan.start),
                      e->scan.end < in.n);
        return e->scan.end;
    default:
        if (e->scan.start < in.n) return 0;
        e->scan = (struct head_scan){.blanks = e->scan.blanks}; /* empty lines only */
        return in.n;
    }
}

static size_t body_eat_plain(struct intake *e, struct str in) {
    size_t n = e->body_left < in.n ? (size_t)e->body_left : in.n;
    e->body_left -= n;
    if (!e->set->user->body(e->exchange, in.p, n)) {
        request_stop(e);
        return in.n;
    }
    if (e->body_left == 0) request_ready(e);
    return n;
}

static size_t body_eat_chunks(struct intake *e, struct str in) {
    struct str rest = in, data;
    for (;;) {
        switch (chunk_take(&e->chunks, &rest, &data)) {
        case CHUNK_MORE:
            return in.n;
        case CHUNK_LAST:
            request_ready(e);
            return in.n - rest.n;
        case CHUNK_DATA:
            if (e->set->user->body(e->exchange, data.p, data.n)) break;
            request_stop(e);
            return in.n;
        case CHUNK_BAD:
            e->set->user->refuse(e->exchange, WOPR_E_VALIDATION, "the chunked body is malformed");
            request_stop(e);
            return in.n;
        }
    }
}

static size_t input_eat(struct intake *e, struct str in) {
    size_t used = e->state == INTAKE_HEAD && in.n > 0 ? head_eat(e, in) : 0;
    if (e->state != INTAKE_BODY || used == in.n) return used;
    in = str_n(in.p + used, in.n - used);
    return used + (e->exchange->head.chunked ? body_eat_chunks(e, in) : body_eat_plain(e, in));
}

static void input_timed_out(struct intake *e, struct str in) {
    struct wopr_error err = {0};
    static const char WHY[] = "the request did not arrive in time";
    (void)wopr_error_set(&err, WOPR_E_HEAD_TIMEOUT, "%s", WHY);
    if (e->state == INTAKE_HEAD) {
        head_refuse(e, in, &err);
        return;
    }
    e->set->user->refuse(e->exchange, err.code, WHY);
    request_stop(e);
}

/* A request that was refused before its body is answered although the body never came; any other
 * incomplete one is dropped. */
static void input_ended(struct intake *e) {
    e->eof = true;
    if (e->state == INTAKE_BODY && e->exchange->pub.status != 0) request_stop(e);
    else e->state = INTAKE_OVER;
}

/* Read until the request is judged, or there is nothing to read. */
static void input_collect(struct intake *e) {
    char *p = e->set->scratch;
    size_t n = pending_take(e, p), read = 0;
    if (e->expired) input_timed_out(e, str_n(p, n));
    while (e->state == INTAKE_HEAD || e->state == INTAKE_BODY) {
        size_t used = input_eat(e, str_n(p, n));
        n -= used;
        if (used > 0 && n > 0) memmove(p, p + used, n);
        if (e->state != INTAKE_HEAD && e->state != INTAKE_BODY) break;
        if (read >= INTAKE_TURN_MAX) {
            intake_kick(e);
            break;
        }
        size_t room = INTAKE_SCRATCH - n;
        ssize_t r = socket_read(e, p + n, room);
        if (r > 0) {
            e->missed = (size_t)r == room;
            n += (size_t)r;
            read += (size_t)r;
        } else if (r == 0) {
            input_ended(e);
        } else {
            if (errno != EAGAIN && errno != EWOULDBLOCK) e->state = INTAKE_OVER;
            break;
        }
    }
    if (e->state != INTAKE_OVER) pending_keep(e, p, n);
}

static struct list *waiting_list(struct intake *e) {
    if (e->state != INTAKE_BODY) return &e->set->heads;
    return e->exchange->pub.who.authenticated ? &e->set->bodies : &e->set->anonymous;
}

/* A client without TCP_NODELAY keeps the rest of a request until what it sent is acknowledged,
 * which the kernel would do 40 ms later, in the hope of an answer to go with it. */
static void rest_invite(const struct intake *e) {
    (void)net_option(e->fd, IPPROTO_TCP, TCP_QUICKACK, 1);
}

/* Restarts libmicrohttpd's own timeout, which every byte it is given does: it skips an empty
 * line. */
static ssize_t input_wait(struct intake *e, char *out) {
    bool begun = e->state == INTAKE_BODY || e->pending_n > 0;
    if (begun) rest_invite(e);
    if (!begun || !deadline_set(e, waiting_list(e))) return recv_again();
    out[0] = '\n';
    return 1;
}

static ssize_t head_write(struct intake *e, char *out, size_t n) {
    const struct exchange *x = e->exchange;
    if (n < INTAKE_CANONICAL_MAX) {
        errno = ENOMEM;
        return -1;
    }
    bool head = str_eq(x->pub.method, STR("HEAD"));
    bool last = x->close_after || !x->head.keep_alive;
    bool now = x->head.http_1_1 || x->head.bad;
    const struct str parts[] = {head ? STR("HEAD") : STR("GET"),
                                now ? STR(" / HTTP/1.1\r\nHost: x\r\nConnection: ")
                                    : STR(" / HTTP/1.0\r\nHost: x\r\nConnection: "),
                                last ? STR("close\r\n\r\n") : STR("keep-alive\r\n\r\n")};
    size_t at = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; at += parts[i++].n)
        memcpy(out + at, parts[i].p, parts[i].n);
    e->state = INTAKE_BUSY;
    return (ssize_t)at;
}

/* While an answer is owed, the end of input is no reason to drop it (RFC 9112 9.6); an error of the
 * socket reaches libmicrohttpd by epoll. */
static ssize_t input_peek(struct intake *e) {
    e->missed = true;
    if (!e->watched || e->left) return recv_again();
    ssize_t r;
    do r = socket_read(e, e->set->scratch, INTAKE_SCRATCH);
    while (r > 0);
    return r;
}

static ssize_t intake_give(struct intake *e, char *out, size_t n) {
    if (e->state == INTAKE_BUSY) return input_peek(e);
    if (e->state == INTAKE_HEAD || e->state == INTAKE_BODY) input_collect(e);
    if (e->state == INTAKE_READY) return head_write(e, out, n);
    if (e->state == INTAKE_OVER) {
        deadline_clear(e);
        place_give_back(e); /* it is closed in this turn */
        return 0;
    }
    return input_wait(e, out);
}

/* --- what libmicrohttpd calls --- */

static struct intake *intake_at(int fd) {
    return here && fd >= 0 && (size_t)fd < here->by_fd_nr ? here->by_fd[fd] : NULL;
}

ssize_t wopr_intake_recv(int fd, void *p, size_t n, int flags);
ssize_t wopr_intake_tls_recv(gnutls_session_t session, void *p, size_t n);

ssize_t wopr_intake_recv(int fd, void *p, size_t n, int flags) {
    struct intake *e = intake_at(fd);
    return e ? intake_give(e, p, n) : net_recv(fd, p, n, flags);
}

ssize_t wopr_intake_tls_recv(gnutls_session_t session, void *p, size_t n) {
    struct intake *e = intake_at(gnutls_transport_get_int(session));
    if (!e) return gnutls_record_recv(session, p, n);
    e->tls = session;
    ssize_t r = intake_give(e, p, n);
    if (r >= 0) return r;
    return errno == EAGAIN ? GNUTLS_E_AGAIN : GNUTLS_E_PULL_ERROR;
}

struct exchange *intake_take_exchange(struct intake *e) {
    struct exchange *x = e->exchange;
    e->exchange = NULL;
    return x;
}

void intake_done(struct intake *e) {
    if (e->state != INTAKE_BUSY || e->left) return;
    e->state = INTAKE_HEAD;
    e->scan = (struct head_scan){0};
    (void)deadline_set(e, &e->set->fresh);
    if (e->pending_n > 0 || e->missed) intake_look(e);
}

/* --- life --- */

struct intake *intake_of(struct MHD_Connection *conn) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(conn, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static bool intake_register(struct intakes *es, struct intake *e) {
    size_t fd = (size_t)e->fd, n = es->by_fd_nr;
    if (fd >= n) {
        while (n <= fd) n = n > 0 ? n * 2 : INTAKE_FDS_MIN;
        struct intake **v = mem_grow(es->by_fd, n, sizeof *v);
        if (!v) return false;
        memset(v + es->by_fd_nr, 0, (n - es->by_fd_nr) * sizeof *v);
        es->by_fd = v;
        es->by_fd_nr = n;
    }
    es->by_fd[fd] = e;
    return true;
}

static void intake_free(struct intake *e) {
    struct http_server *s = e->server;
    if (e->exchange) e->set->user->drop(e->exchange);
    e->set->by_fd[e->fd] = NULL;
    deadline_clear(e);
    list_del(&e->kick);
    if (e->counted) peers_leave(&s->conns.peers, &e->peer);
    place_give_back(e);
    if (e->over) atomic_fetch_sub(&s->conns.over, 1);
    mem_free(e->pending);
    mem_wipe(&e->key, sizeof e->key);
    mem_free(e);
}

static struct intake *intake_new(struct intakes *es, int fd, const struct address *peer,
                                 bool over) {
    struct intake *e = MEM_NEW(struct intake);
    if (!e) return NULL;
    e->set = es;
    e->server = es->server;
    e->fd = fd;
    e->over = over;
    e->counted = e->placed = !over;
    e->peer = *peer;
    list_init(&e->due);
    list_init(&e->kick);
    if (intake_register(es, e)) return e;
    mem_free(e);
    return NULL;
}

void intakes_add(struct intakes *es, struct MHD_Daemon *d, int fd,
                 const struct sockaddr_storage *sa, socklen_t n, bool over) {
    struct http_server *s = es->server;
    struct address peer;
    address_of((const struct sockaddr *)sa, &peer);
    struct intake *e = intake_new(es, fd, &peer, over);
    if (!e) {
        if (!over) peers_leave(&s->conns.peers, &peer);
        if (!over) atomic_fetch_sub(&s->conns.placed, 1);
        (void)close(fd);
        return;
    }
    if (over) atomic_fetch_add(&s->conns.over, 1);
    es->arriving = e;
    enum MHD_Result ok = MHD_add_connection(d, fd, (const struct sockaddr *)sa, n);
    if (es->arriving == e) intake_free(e); /* it closed the socket without a notification */
    else if (ok == MHD_YES) (void)deadline_set(e, &es->idle);
    es->arriving = NULL;
}

void intake_notify(void *cls, struct MHD_Connection *conn, void **ctx,
                   enum MHD_ConnectionNotificationCode what) {
    struct http_server *s = cls;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        atomic_fetch_add(&s->conns.open, 1);
        struct intake *e = here->arriving;
        here->arriving = NULL;
        e->conn = conn;
        *ctx = e;
        return;
    }
    atomic_fetch_sub(&s->conns.open, 1);
    mem_freed_by_library(s->cfg.pool_bytes);
    struct intake *e = *ctx;
    bool linger = (e->linger || e->pending_n > 0) && !e->eof && !e->left;
    if (linger && linger_take(e->set->lingers, e->fd, e->counted ? &e->peer : NULL))
        e->counted = false;
    intake_free(e);
}

struct intakes *intakes_new(struct http_server *s, const struct intake_user *user) {
    struct intakes *es = MEM_NEW(struct intakes);
    if (!es) return NULL;
    es->user = user;
    es->server = s;
    list_init(&es->fresh);
    list_init(&es->idle);
    list_init(&es->heads);
    list_init(&es->bodies);
    list_init(&es->anonymous);
    list_init(&es->refused);
    list_init(&es->kicks);
    es->lingers = lingers_new(s);
    if (es->lingers) return es;
    mem_free(es);
    return NULL;
}

void intakes_free(struct intakes *es) {
    if (!es) return;
    lingers_free(es->lingers);
    mem_free(es->by_fd);
    mem_free(es);
}
