/*
 * peers.c: client addresses: how many connections each has, and which client a trusted proxy speaks
 * for.
 */
#include "http/peers.h"
#include "base/mem.h"
#include "http/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static const uint8_t MAPPED[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

void address_of(const struct sockaddr *sa, struct address *out) {
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    *out = (struct address){{0}};
    if (sa->sa_family == AF_INET) {
        memcpy(&v4, sa, sizeof v4);
        memcpy(out->b, MAPPED, sizeof MAPPED);
        memcpy(out->b + sizeof MAPPED, &v4.sin_addr, 4);
    } else if (sa->sa_family == AF_INET6) {
        memcpy(&v6, sa, sizeof v6);
        memcpy(out->b, &v6.sin6_addr, sizeof out->b);
    }
}

static bool address_parse(struct str s, struct address *out) {
    char z[INET6_ADDRSTRLEN];
    if (s.n == 0 || s.n >= sizeof z) return false;
    memcpy(z, s.p, s.n);
    z[s.n] = 0;
    memcpy(out->b, MAPPED, sizeof MAPPED);
    if (inet_pton(AF_INET, z, out->b + sizeof MAPPED) == 1) return true;
    return inet_pton(AF_INET6, z, out->b) == 1;
}

static bool is_v4(const struct address *a) { return memcmp(a->b, MAPPED, sizeof MAPPED) == 0; }

static bool is_loopback(const struct address *a) {
    static const uint8_t ONE[16] = {[15] = 1};
    return (is_v4(a) && a->b[12] == 127) || memcmp(a->b, ONE, sizeof ONE) == 0;
}

struct address address_bucket(const struct address *a) {
    struct address out = *a;
    if (!is_v4(a)) memset(out.b + 8, 0, 8);
    return out;
}

/* --- counting --- */

int peers_init(struct peers *p) {
    if (pthread_mutex_init(&p->lock, NULL) != 0) return WOPR_E_NO_MEMORY;
    p->counts = map_new();
    if (p->counts) return 0;
    pthread_mutex_destroy(&p->lock);
    return WOPR_E_NO_MEMORY;
}

void peers_fini(struct peers *p) {
    if (!p->counts) return;
    map_free(p->counts);
    p->counts = NULL;
    pthread_mutex_destroy(&p->lock);
}

static struct str key_of(const struct address *bucket) {
    return str_n((const char *)bucket->b, sizeof bucket->b);
}

bool peers_enter(struct peers *p, const struct address *a, unsigned max) {
    struct address bucket = address_bucket(a);
    pthread_mutex_lock(&p->lock);
    uintptr_t n = (uintptr_t)map_get(p->counts, key_of(&bucket));
    bool in = max == 0 || n < max;
    if (in) in = map_put(p->counts, key_of(&bucket), (void *)(n + 1), NULL) == 0;
    pthread_mutex_unlock(&p->lock);
    return in;
}

void peers_leave(struct peers *p, const struct address *a) {
    struct address bucket = address_bucket(a);
    pthread_mutex_lock(&p->lock);
    uintptr_t n = (uintptr_t)map_get(p->counts, key_of(&bucket));
    int rc = 0;
    if (n > 1) rc = map_put(p->counts, key_of(&bucket), (void *)(n - 1), NULL);
    else (void)map_del(p->counts, key_of(&bucket));
    (void)rc; /* when memory is short it stays counted once too often */
    pthread_mutex_unlock(&p->lock);
}

unsigned peers_max(const struct http_server *s, const struct address *a) {
    unsigned max = s->cfg.address_connections_max;
    if (egress_allow_has(&s->conns.proxies, a->b)) return 0;
    if (max > 0) return max;
    return is_loopback(a) ? 0 : s->cfg.connections_max / PEERS_SHARE + 1;
}

/* --- trusted proxies --- */

struct address peers_client(const struct http_server *s, const struct address *peer,
                            struct str forwarded_for) {
    struct address at = *peer, next;
    struct str rest = forwarded_for, last;
    while (rest.n > 0 && egress_allow_has(&s->conns.proxies, at.b)) {
        if (!str_cut_last(rest, ',', &rest, &last)) last = rest, rest = STR_NONE;
        if (!address_parse(str_trim(last), &next)) break;
        at = next;
    }
    return at;
}
