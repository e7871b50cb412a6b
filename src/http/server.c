/*
 * server.c: listening, starting, draining and stopping.
 */
#include "http/server.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/net.h"
#include "base/settings.gen.h"
#include "http/exchange.h"
#include "http/intake.h"
#include "http/loop.h"
#include "http/ratelimit.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    SERVER_ARENA_MAX = 1024 * 1024,
    SERVER_POLL_MS = 2,
    SERVER_STOP_WAIT_MS = 3000 /* http_server_free: for handlers that still owe http_resume */
};

/* --- configuration --- */

static void default_unsigned(unsigned *v, unsigned def) {
    if (*v == 0) *v = def;
}
static void default_int(int *v, int def) {
    if (*v <= 0) *v = def;
}

static const char *text_keep(struct arena *a, const char *z) {
    return z && *z ? arena_cstr(a, str_c(z)) : NULL;
}

static const char *const *list_keep(struct arena *a, const char *const *from) {
    size_t n = 0;
    while (from && from[n]) n++;
    if (n == 0) return NULL;
    const char **list = arena_array(a, n + 1, sizeof *list);
    for (size_t i = 0; list && i < n; i++) list[i] = arena_cstr(a, str_c(from[i]));
    return list;
}

static int config_take(struct http_server *s, const struct http_config *cfg,
                       struct wopr_error *err) {
    struct http_config *c = &s->cfg;
    struct arena *a = s->arena;
    *c = *cfg;
    c->host = text_keep(a, cfg->host ? cfg->host : "127.0.0.1");
    c->ops_host = text_keep(a, cfg->ops_host && *cfg->ops_host ? cfg->ops_host : c->host);
    c->tls_cert_file = text_keep(a, cfg->tls_cert_file);
    c->tls_key_file = text_keep(a, cfg->tls_key_file);
    c->tls_clients_file = text_keep(a, cfg->tls_clients_file);
    c->public_url = text_keep(a, cfg->public_url);
    c->trusted_proxies = text_keep(a, cfg->trusted_proxies);
    c->cors_origins = list_keep(a, cfg->cors_origins);
    c->allowed_hosts = list_keep(a, cfg->allowed_hosts);
    if (!c->public_url && !c->allowed_hosts && !host_is_loopback(str_c(c->host)))
        log_warn("neither public-url nor allowed-hosts is set: URLs in answers name the address at "
                 "which a request arrives");
    default_unsigned(&c->threads, SETTING_HTTP_THREADS);
    default_unsigned(&c->connections_max, SETTING_CONNECTIONS_MAX);
    default_unsigned(&c->requests_max, SETTING_REQUESTS_MAX);
    default_unsigned(&c->streams_max, SETTING_STREAMS_MAX);
    default_unsigned(&c->polls_max, SETTING_POLLS_MAX);
    if (c->key_polls_max == 0) c->key_polls_max = c->polls_max / 2 + c->polls_max % 2;
    default_unsigned(&c->read_threads, SETTING_READ_THREADS);
    if (c->memory_bytes == 0) c->memory_bytes = SETTING_MEMORY_BYTES;
    default_int(&c->keepalive_ms, SETTING_KEEPALIVE_MS);
    default_int(&c->read_timeout_s, SETTING_READ_TIMEOUT_S);
    default_int(&c->head_timeout_s, SETTING_HEAD_TIMEOUT_S);
    default_int(&c->idem.wait_ms, HTTP_IDEM_WAIT_MS);
    if (c->pool_bytes == 0) c->pool_bytes = HTTP_POOL_BYTES;
    if (arena_failed(a))
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the HTTP server");
    if (!c->tls_cert_file != !c->tls_key_file)
        return wopr_error_set(err, WOPR_E_CONFIG,
                              "TLS needs both a certificate file and a key file");
    if (c->tls_clients_file && !c->tls_cert_file)
        return wopr_error_set(err, WOPR_E_CONFIG,
                              "certificates of clients need TLS: tls-cert and tls-key");
    return 0;
}

static int bounds_build(struct http_server *s) {
    const struct http_config *c = &s->cfg;
    const size_t limit[SHARE_NR] = {[SHARE_REQUESTS] = c->requests_max,
                                    [SHARE_POLLS] = c->polls_max,
                                    [SHARE_STREAMS] = c->streams_max,
                                    [SHARE_BYTES] = c->memory_bytes,
                                    [SHARE_READS] = HTTP_READS_MAX};
    int rc = shares_init(&s->shares, limit, c->reserve_percent);
    if (rc != 0) return rc;
    s->shares.cap[SHARE_STREAMS] = c->tenant_streams_max;
    return limiter_new(c->rates.auth_failure_rate, c->rates.auth_failure_burst,
                       &s->guesses.limiter);
}

static int proxies_take(struct http_server *s, struct wopr_error *err) {
    int rc = egress_allow_parse(str_c(s->cfg.trusted_proxies), &s->conns.proxies, err);
    if (rc == 0) return 0;
    char why[sizeof err->message]; /* say which setting */
    memcpy(why, err->message, sizeof why);
    return wopr_error_at(err, rc, "trusted-proxies", "setting \"trusted-proxies\": %s", why);
}

static int server_build(struct http_server *s, struct wopr_error *err) {
    door_limits(&s->cfg); /* first: the bounds are derived from it */
    uint8_t pepper[32];
    int rc = store_secret(s->store, "pepper", pepper, err);
    if (rc == 0 && (s->pepper = hmac_key_new(pepper)) == NULL)
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the server");
    if (rc == 0) rc = store_secret(s->store, "ticket", s->ticket_secret, err);
    if (rc == 0) rc = tls_load(s, err);
    if (rc != 0) return rc;
    rc = proxies_take(s, err);
    if (rc != 0) return rc;
    rc = limiter_new(s->cfg.rates.key_rate, s->cfg.rates.key_burst, &s->rates.key);
    if (rc == 0)
        rc = limiter_new(s->cfg.rates.tenant_rate, s->cfg.rates.tenant_burst, &s->rates.tenant);
    if (rc == 0)
        rc = limiter_new(s->cfg.rates.address_rate, s->cfg.rates.address_burst, &s->rates.address);
    if (rc == 0)
        rc = limiter_new(s->cfg.rates.large_body_rate, s->cfg.rates.large_body_burst,
                         &s->rates.large_bodies);
    if (rc == 0) rc = bounds_build(s);
    if (rc == 0) rc = trim_init(&s->trim);
    if (rc == 0) rc = metrics_init(&s->metrics, s->mounts.op_names, s->mounts.ops_nr);
    if (rc == 0) rc = gate_init(&s->gate);
    if (rc == 0) rc = peers_init(&s->conns.peers);
    return rc == 0 ? 0 : wopr_error_set(err, rc, "no memory for the HTTP server");
}

int http_server_new(const struct http_config *cfg, const struct http_mount *mounts,
                    size_t mounts_nr, struct journal *journal, struct http_server **out,
                    struct wopr_error *err) {
    struct http_server *s = MEM_NEW(struct http_server);
    if (!s) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the HTTP server");
    int rc = WOPR_E_NO_MEMORY;
    s->journal = journal;
    s->store = journal_store(journal);
    s->listen.fd = s->listen.ops_fd = -1;
    s->id_prefix = (uint32_t)rng_u64();
    list_init(&s->exchanges.parked);
    list_init(&s->exchanges.streams);
    s->arena = arena_new(SERVER_ARENA_MAX);
    if (s->arena) rc = config_take(s, cfg, err);
    else (void)wopr_error_set(err, rc, "no memory for the HTTP server");
    if (rc != 0) goto fail_arena;
    if (ticker_init(&s->ticker, s->cfg.keepalive_ms) != 0 ||
        pthread_mutex_init(&s->exchanges.lock, NULL) != 0) {
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the HTTP server");
        goto fail_arena;
    }
    rc = mounts_init(&s->mounts, mounts, mounts_nr, s->arena, err);
    if (rc == 0) rc = server_build(s, err);
    if (rc != 0) {
        http_server_free(s);
        return rc;
    }
    *out = s;
    return 0;
fail_arena:
    arena_free(s->arena);
    mem_free(s);
    return rc;
}

/* --- starting --- */

int http_server_start(struct http_server *s, struct wopr_error *err) {
    int rc = listen_on(s->cfg.host, s->cfg.port, &s->listen.fd, &s->listen.port, err);
    if (rc != 0) return rc;
    rc = ticker_start(&s->ticker);
    if (rc != 0) {
        (void)wopr_error_set(err, rc, "cannot start the timer thread of the HTTP server");
        goto fail;
    }
    rc = trim_start(&s->trim);
    if (rc == 0) rc = offload_start(s);
    if (rc != 0) {
        (void)wopr_error_set(err, rc, "cannot start the threads of the HTTP server");
        goto fail;
    }
    rc = opsd_start(s, err);
    if (rc == 0) rc = mounts_register_views(&s->mounts, s->journal, err); /* for good, so last */
    if (rc != 0) goto fail;
    if (loops_start(s)) return 0;
    rc = wopr_error_set(err, s->listen.tls_cert ? WOPR_E_CONFIG : WOPR_E_IO,
                        "the HTTP server on %s port %u could not be started%s", s->cfg.host,
                        s->listen.port,
                        s->listen.tls_cert ? "; check the TLS certificate and key" : "");
fail:
    opsd_stop(s);
    offload_free(s);
    trim_stop(&s->trim);
    ticker_stop(&s->ticker);
    (void)close(s->listen.fd);
    s->listen.fd = -1;
    return rc;
}

uint16_t http_server_port(const struct http_server *s) { return s->listen.port; }
uint16_t http_server_ops_port(const struct http_server *s) { return s->listen.ops_port; }

/* --- stopping --- */

/* A woken poll counts as in flight only after its thread has seen it. */
static bool server_busy(const struct http_server *s) {
    return shares_total(&s->shares, SHARE_POLLS) > 0 ||
           shares_total(&s->shares, SHARE_REQUESTS) > 0 ||
           shares_total(&s->shares, SHARE_STREAMS) > 0;
}

void http_server_drain(struct http_server *s, int64_t grace_ms) {
    if (s->loops_nr == 0 || atomic_exchange(&s->draining, true)) return;
    loops_quiesce(s);
    /* Shut, not closed: a thread may just be in accept. */
    (void)net_shut(s->listen.fd, SHUT_RDWR);
    uint64_t end = clock_mono_ms() + (uint64_t)(grace_ms > 0 ? grace_ms : 0);
    ticker_fire_all(&s->ticker);
    stream_wake_all(s);
    while (server_busy(s) && clock_mono_ms() < end) clock_sleep_ms(SERVER_POLL_MS);
}

static void exchanges_abort(struct http_server *s) {
    pthread_mutex_lock(&s->exchanges.lock);
    for (struct list *l = s->exchanges.parked.next; l != &s->exchanges.parked; l = l->next)
        exchange_abort(LIST_ENTRY(l, struct exchange, life.live));
    pthread_mutex_unlock(&s->exchanges.lock);
}

/* libmicrohttpd may only be stopped when nothing is suspended. */
static void server_unpark(struct http_server *s) {
    uint64_t end = clock_mono_ms() + SERVER_STOP_WAIT_MS;
    bool aborted = false;
    while (atomic_load(&s->parked) > 0) {
        if (!aborted && clock_mono_ms() >= end) {
            log_warn("handlers did not answer before the stop");
            exchanges_abort(s);
            aborted = true;
        }
        clock_sleep_ms(SERVER_POLL_MS);
    }
}

void http_server_free(struct http_server *s) {
    if (!s) return;
    if (s->loops_nr > 0) {
        http_server_drain(s, 0);
        offload_stop(s);
        server_unpark(s);
        loops_stop(s);
        (void)close(s->listen.fd);
        while (atomic_load(&s->exchanges.open) > 0)
            clock_sleep_ms(SERVER_POLL_MS); /* an http_resume on its last lines */
    }
    opsd_stop(s);
    offload_free(s);
    trim_stop(&s->trim);
    ticker_stop(&s->ticker);
    exchanges_free_spare(s);
    gate_fini(&s->gate);
    peers_fini(&s->conns.peers);
    metrics_fini(&s->metrics);
    hmac_key_free(s->pepper);
    limiter_free(s->rates.key);
    limiter_free(s->rates.tenant);
    limiter_free(s->rates.address);
    limiter_free(s->rates.large_bodies);
    limiter_free(s->guesses.limiter);
    shares_fini(&s->shares);
    trim_fini(&s->trim);
    mounts_fini(&s->mounts);
    ticker_fini(&s->ticker);
    pthread_mutex_destroy(&s->exchanges.lock);
    mem_free(s->listen.tls_cert);
    mem_free(s->listen.tls_key);
    client_rules_free(s->listen.clients);
    arena_free(s->arena);
    mem_free(s);
}
