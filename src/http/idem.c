/*
 * idem.c: layer-1 idempotency at the door (IDEM-1 to 11).
 *
 * The stored answer is written by the log in the transaction of the effect; here is the look-up and
 * the gate.  A gate slot stands for a key whose first request is still executing; duplicates with
 * the same body wait at it, parked. The slot is taken before the store is asked, so nobody can slip
 * between the first one's commit and its leaving.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "http/http_internal.h"
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

/* White space, member order and the spelling of numbers do not matter; what a double would merge
 * stays apart (IDEM-10). */
static int digest_body(struct call *c, struct sha256 *out, struct wopr_error *err) {
    struct buf b;
    buf_init(&b, c->pub.body.n * 8 + 64); /* canonical strings may be longer, never eightfold */
    int rc = json_canonical_exact(c->pub.body, &b, err);
    if (rc == 0) *out = sha256_of(buf_str(&b));
    else if (rc != WOPR_E_NO_MEMORY) *out = sha256_of(c->pub.body), rc = 0;
    buf_fini(&b);
    return rc;
}

int idem_prepare(struct call *c, struct str key, struct wopr_error *err) {
    bool ok = key.n >= 1 && key.n <= 255;
    for (size_t i = 0; ok && i < key.n; i++) ok = key.p[i] >= 0x21 && key.p[i] <= 0x7e;
    if (!ok)
        return wopr_error_at(err, WOPR_E_VALIDATION, "Idempotency-Key",
                             "Idempotency-Key must be 1 to 255 visible ASCII characters");
    struct http_call *p = &c->pub;
    struct str path;
    if (!uri_decode(p->arena, p->path, false, &path)) path = p->path;
    /* A test key's requests are another world (AUTH-9); no key of a client holds a line break. */
    struct str text = arena_printf(p->arena, STR_FMT ":" STR_FMT " " STR_FMT ":" STR_FMT "%s",
                                   STR_ARG(p->who.tenant), STR_ARG(p->method), STR_ARG(path),
                                   STR_ARG(key), p->who.test_mode ? "\ntest" : "");
    if (!text.p) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the idempotency key");
    if (p->body.n == 0) p->body = STR("{}");
    int rc = digest_body(c, &p->idem.digest, err);
    if (rc != 0) return rc;
    p->idem.tenant = p->who.tenant;
    p->idem.operation_id = str_c(p->op->id);
    p->idem.key = sha256_of(text);
    p->idem.keep_ms = c->pub.server->cfg.idem_retention_s * 1000;
    p->has_idem = true;
    return 0;
}

/* The first one's answer is kept and waits elsewhere, after the restart or at another host. */
static void answer_draining(struct call *c) {
    struct wopr_error err = {0};
    (void)refuse_draining(c, &err);
    http_fail(&c->pub, &err);
}

static void answer_in_flight(struct call *c) {
    struct wopr_error err = {0};
    (void)wopr_error_set(&err, WOPR_E_IDEM_IN_FLIGHT,
                         "the first request with this idempotency key is still executing");
    wopr_error_details(&err, "{\"retryAfter\":1}");
    http_fail(&c->pub, &err);
}

static void answer_stored(struct call *c, const struct idem_response *r) {
    http_reply(&c->pub, r->status, r->body);
    http_reply_header(&c->pub, "openwop-Idempotent-Replay", STR("true"));
    if (r->retry_after_s > 0) {
        struct str v = arena_printf(c->pub.arena, "%d", (int)r->retry_after_s);
        http_reply_header(&c->pub, "Retry-After", v);
    }
    atomic_fetch_add(&c->pub.server->metrics.replays, 1);
}

/* The slot is ours: has somebody finished before? */
static enum idem_step look_up(struct call *c) {
    struct idem_response r = {0};
    struct wopr_error err = {0};
    int rc = store_idem_find(c->pub.server->store, &c->pub.idem, clock_wall_ms(), c->pub.arena, &r,
                             &err);
    if (rc == WOPR_E_NOT_FOUND) return IDEM_RUN;
    if (rc == 0) answer_stored(c, &r);
    else {
        if (err.code == 0) (void)wopr_error_set(&err, rc, "%s", wopr_err_text(rc));
        http_fail(&c->pub, &err);
    }
    idem_leave(c);
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

static enum idem_step refuse_memory(struct call *c) {
    struct wopr_error err = {0};
    (void)wopr_error_set(&err, WOPR_E_NO_MEMORY, "no memory for the idempotency gate");
    http_fail(&c->pub, &err);
    return IDEM_REPLY;
}

enum idem_step idem_enter(struct call *c) {
    struct http_server *s = c->pub.server;
    struct gate *g = &s->gate;
    uint64_t now = clock_mono_ms();
    call_end_wait(c);
    if (c->gate_deadline_ms == 0) c->gate_deadline_ms = now + (uint64_t)s->cfg.idem_wait_ms;
    pthread_mutex_lock(&g->lock);
    list_del(&c->gate_link);
    struct gate_slot *slot = map_get(g->slots, key_str(&c->pub.idem.key));
    if (!slot) {
        c->slot = slot_new(g, &c->pub.idem);
        pthread_mutex_unlock(&g->lock);
        park_clear(&c->park);
        return c->slot ? look_up(c) : refuse_memory(c);
    }
    bool same =
        sha256_eq(&slot->digest, &c->pub.idem.digest); /* CON-40: another body does not wait */
    bool draining = server_draining(s);
    bool wait = same && now < c->gate_deadline_ms && !draining && !c->hung_up;
    if (wait) list_add_tail(&slot->waiters, &c->gate_link);
    pthread_mutex_unlock(&g->lock);
    if (!wait) {
        if (same && draining) answer_draining(c);
        else answer_in_flight(c);
        return IDEM_REPLY;
    }
    if (ticker_set(&s->ticker, &c->timer, c->gate_deadline_ms) != 0)
        return refuse_memory(c); /* idem_leave unlinks */
    c->timer_set = true;
    if (server_draining(s)) park_wake(&c->park);
    return IDEM_PARK;
}

void idem_leave(struct call *c) {
    struct gate *g = &c->pub.server->gate;
    if (!c->pub.has_idem) return;
    struct gate_slot *slot = c->slot;
    c->slot = NULL;
    pthread_mutex_lock(&g->lock);
    list_del(&c->gate_link);
    if (slot) {
        (void)map_del(g->slots, key_str(&slot->key));
        for (struct list *l; (l = list_pop(&slot->waiters)) != NULL;)
            park_wake(&LIST_ENTRY(l, struct call, gate_link)->park);
    }
    pthread_mutex_unlock(&g->lock);
    mem_free(slot);
}
