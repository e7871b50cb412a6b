/*
 * idem.c: layer-1 idempotency, before the handler (IDEM-1 to 11).
 *
 * The journal writes the stored answer in the transaction of its effect; this file has the look-up
 * and the gate.  A gate slot exists for each key whose first request is still executing; duplicates
 * with the same body wait at it, parked.  The slot is taken before the store is asked, so that no
 * duplicate can pass between the first request's commit and its leaving the gate.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "codec/jobj.h"
#include "http/exchange.h"
#include "http/request.h"
#include "http/router.h"
#include "http/server.h"
#include "store/append.h"

int gate_init(struct gate *g) {
    g->slots = map_new();
    if (!g->slots) return WOPR_E_NO_MEMORY;
    if (pthread_mutex_init(&g->lock, NULL) == 0) return 0;
    map_free(g->slots);
    g->slots = NULL;
    return WOPR_E_NO_MEMORY;
}

void gate_fini(struct gate *g) {
    if (!g->slots) return;
    map_free(g->slots);
    pthread_mutex_destroy(&g->lock);
    g->slots = NULL;
}

static struct str key_str(const struct sha256 *k) { return str_n((const char *)k->b, sizeof k->b); }

/* White space, member order and the spelling of numbers do not matter; numbers that would be equal
 * only as doubles stay distinct (IDEM-10). */
static int digest_body(struct exchange *x, struct sha256 *out, struct wopr_error *err) {
    struct buf b;
    buf_init(&b, x->pub.body.n * 8 + 64); /* canonical strings may be longer, never eightfold */
    int rc = json_canonical_exact(x->pub.body, &b, err);
    if (rc == 0) *out = sha256_of(buf_str(&b));
    else if (rc != WOPR_E_NO_MEMORY) *out = sha256_of(x->pub.body), rc = 0;
    buf_fini(&b);
    return rc;
}

int idem_prepare(struct exchange *x, struct str key, struct wopr_error *err) {
    bool ok = key.n >= 1 && key.n <= 255;
    for (size_t i = 0; ok && i < key.n; i++) ok = key.p[i] >= 0x21 && key.p[i] <= 0x7e;
    if (!ok)
        return wopr_error_at(err, WOPR_E_VALIDATION, "Idempotency-Key",
                             "Idempotency-Key must be 1 to 255 visible ASCII characters");
    struct http_call *p = &x->pub;
    struct str path;
    if (!uri_decode(p->arena, p->path, false, &path)) path = p->path;
    /* Requests of test keys are kept apart (AUTH-9); no client's key contains a line break. */
    struct str text = arena_printf(p->arena, STR_FMT ":" STR_FMT " " STR_FMT ":" STR_FMT "%s",
                                   STR_ARG(p->who.tenant), STR_ARG(p->method), STR_ARG(path),
                                   STR_ARG(key), p->who.test_mode ? "\ntest" : "");
    if (!text.p) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the idempotency key");
    if (p->body.n == 0) p->body = STR("{}");
    int rc = digest_body(x, &p->idem.digest, err);
    if (rc != 0) return rc;
    p->idem.tenant = p->who.tenant;
    p->idem.operation_id = str_c(p->server->mounts.op_names[x->op_no]);
    p->idem.key = sha256_of(text);
    const struct http_config *c = &x->pub.server->cfg;
    p->idem.key_no = c->idem.secret_no;
    if (c->idem.secret_no != 0)
        p->idem.keyed = hmac_sha256(key_str(&c->idem.secret), key_str(&p->idem.digest));
    p->idem.keep_ms = x->pub.server->cfg.idem_retention_s * 1000;
    p->has_idem = true;
    return 0;
}

/* Refuse rather than wait: the first request's answer is stored, and can be read after the restart
 * or from another host. */
static void answer_draining(struct exchange *x) {
    struct wopr_error err = {0};
    (void)refuse_draining(x, &err);
    http_fail(&x->pub, &err);
}

static void answer_in_flight(struct exchange *x) {
    struct wopr_error err = {0};
    (void)wopr_error_set(&err, WOPR_E_IDEM_IN_FLIGHT,
                         "the first request with this idempotency key is still executing");
    jobj_details_int(&err, "retryAfter", 1);
    http_fail(&x->pub, &err);
}

static void answer_stored(struct exchange *x, const struct idem_response *r) {
    http_reply(&x->pub, r->status, r->body);
    http_reply_replayed(&x->pub);
    if (r->retry_after_s > 0) {
        struct str v = arena_printf(x->pub.arena, "%d", (int)r->retry_after_s);
        http_reply_header(&x->pub, "Retry-After", v);
    }
    atomic_fetch_add(&x->pub.server->metrics.replays, 1);
}

/* The slot is ours: did an earlier request store its answer? */
static enum idem_step idem_look_up(struct exchange *x) {
    struct idem_response r = {0};
    struct wopr_error err = {0};
    int rc = store_idem_find(x->pub.server->store, &x->pub.idem, clock_wall_ms(), x->pub.arena, &r,
                             &err);
    if (rc == WOPR_E_NOT_FOUND) return IDEM_RUN;
    if (rc == 0) answer_stored(x, &r);
    else {
        if (err.code == 0) (void)wopr_error_set(&err, rc, "%s", wopr_err_text(rc));
        http_fail(&x->pub, &err);
    }
    idem_leave(x);
    return IDEM_REPLY;
}

static struct gate_slot *slot_new(struct gate *g, const struct idem_key *k) {
    struct gate_slot *slot = MEM_NEW(struct gate_slot);
    if (!slot) return NULL;
    slot->key = k->key;
    slot->digest = k->digest;
    list_init(&slot->waiters);
    if (map_put(g->slots, key_str(&slot->key), slot, NULL) == 0) return slot;
    mem_free(slot);
    return NULL;
}

static enum idem_step gate_no_memory(struct exchange *x) {
    struct wopr_error err = {0};
    (void)wopr_error_set(&err, WOPR_E_NO_MEMORY, "no memory for the idempotency gate");
    http_fail(&x->pub, &err);
    return IDEM_REPLY;
}

enum idem_step idem_enter(struct exchange *x) {
    struct http_server *s = x->pub.server;
    struct gate *g = &s->gate;
    uint64_t now = clock_mono_ms();
    exchange_end_wait(x);
    if (x->gate.deadline_ms == 0) x->gate.deadline_ms = now + (uint64_t)s->cfg.idem.wait_ms;
    pthread_mutex_lock(&g->lock);
    list_del(&x->gate.link);
    struct gate_slot *slot = map_get(g->slots, key_str(&x->pub.idem.key));
    if (!slot) {
        x->gate.slot = slot_new(g, &x->pub.idem);
        pthread_mutex_unlock(&g->lock);
        park_clear(&x->park);
        return x->gate.slot ? idem_look_up(x) : gate_no_memory(x);
    }
    bool same =
        sha256_eq(&slot->digest, &x->pub.idem.digest); /* CON-40: another body does not wait */
    bool draining = server_draining(s);
    bool wait = same && now < x->gate.deadline_ms && !draining && !x->peer.hung_up;
    if (wait) list_add_tail(&slot->waiters, &x->gate.link);
    pthread_mutex_unlock(&g->lock);
    if (!wait) {
        if (same && draining) answer_draining(x);
        else answer_in_flight(x);
        return IDEM_REPLY;
    }
    if (ticker_set(&s->ticker, &x->wait.timer, x->gate.deadline_ms) != 0)
        return gate_no_memory(x); /* idem_leave unlinks */
    x->wait.timer_set = true;
    if (server_draining(s)) park_wake(&x->park);
    return IDEM_PARK;
}

void idem_leave(struct exchange *x) {
    struct gate *g = &x->pub.server->gate;
    if (!x->pub.has_idem) return;
    struct gate_slot *slot = x->gate.slot;
    x->gate.slot = NULL;
    pthread_mutex_lock(&g->lock);
    list_del(&x->gate.link);
    if (slot) {
        (void)map_del(g->slots, key_str(&slot->key));
        for (struct list *l; (l = list_pop(&slot->waiters)) != NULL;)
            park_wake(&LIST_ENTRY(l, struct exchange, gate.link)->park);
    }
    pthread_mutex_unlock(&g->lock);
    mem_free(slot);
}
