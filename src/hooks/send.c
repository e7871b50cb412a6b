/*
 * send.c: the next event of a subscription: found, signed, handed to egress; and what its outcome
 * means (HOOK-7 to HOOK-11, D60 to D67).
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "egress/egress.h"
#include "hooks/hooks_int.h"
#include "hooks/wanted.h"
#include "store/events.h"
#include "store/peers.h"

#include <stdio.h>

enum {
    MOVES_PAGE = 16, /* looked at in one visit; then other subscriptions have their turn */
    EVENTS_PAGE = 64,
    PAGE_BYTES = 1024 * 1024,
    ANSWER_MAX = 64 * 1024 /* of a receiver; the rest is not read (HOOK-11) */
};

struct next {
    struct hook_move move;
    struct str run_id, traceparent;
    struct str question; /* of a callback: what the wire shows of it */
    const struct event *event;
};

/* --- what is next --- */

static void cursor_set(struct hook *k, int64_t move, int64_t seq) {
    k->next_move = move;
    k->next_seq = seq;
}

/* Retention took the run first: it waits for no receiver.  Whether the tags of the run were wanted
 * cannot be known any more: then it is counted only. */
static void move_expired(struct hooks *h, struct hook *k, const struct hook_move *m) {
    struct hook_send of = {
        .run_no = m->run_no, .seq = m->from_seq, .until_seq = m->until_seq, .kind = EV_UNKNOWN};
    if (k->next_move == m->move_no && k->next_seq > of.seq) of.seq = k->next_seq;
    if (k->row.tags.n == 0) {
        marks_dead(h, k, &of, k->pulse.attempts, 0, "retention removed the run first");
    } else {
        k->dropped++;
        h->stat_dropped++;
        hook_dirty(h, k);
    }
    hook_pulse_skip(&k->pulse);
}

/* The first event of the move, from the cursor on, that is wanted.  1: found, 0: none.  NOT_FOUND:
 * the run was removed in between. */
static int event_find(struct hooks *h, struct hook *k, const struct hook_move *m, struct next *out,
                      struct wopr_error *err) {
    int64_t from =
        k->next_move == m->move_no && k->next_seq > m->from_seq ? k->next_seq : m->from_seq;
    while (from < m->until_seq) {
        struct event_list l = {.n = 0};
        int64_t left = m->until_seq - from;
        arena_reset(h->page);
        int rc = store_events(h->store, m->run_no, from,
                              (unsigned)(left < EVENTS_PAGE ? left : EVENTS_PAGE), PAGE_BYTES,
                              h->page, &l, err);
        if (rc != 0) return rc;
        if (l.n == 0) return WOPR_E_NOT_FOUND;
        for (size_t i = 0; i < l.n && l.v[i].seq < m->until_seq; i++)
            if (hook_wants_kind(k->row.kinds, &l.v[i])) {
                out->event = &l.v[i];
                return 1;
            }
        from = l.v[l.n - 1].seq + 1;
    }
    return 0;
}

static int move_look(struct hooks *h, struct hook *k, const struct hook_move *m, struct next *out,
                     struct wopr_error *err) {
    struct hook_run run = {STR_NONE, STR_NONE, STR_NONE};
    bool wanted = false;
    int rc = store_hook_run(h->store, k->row.tenant, m->run_no, h->a, &run, err);
    if (rc == 0) rc = hook_wants_tags(k->row.tags, run.tags, h->a, &wanted, err);
    if (rc == 0 && wanted) rc = event_find(h, k, m, out, err);
    if (rc == WOPR_E_NOT_FOUND) {
        move_expired(h, k, m);
        return 0;
    }
    out->run_id = run.run_id;
    out->traceparent = run.traceparent;
    out->move = *m;
    return rc;
}

/* 1: *out.  0: nothing is left.  2: nothing yet, but more is to be looked at. */
static int next_find(struct hooks *h, struct hook *k, struct next *out, struct wopr_error *err) {
    struct hook_move_list l = {.n = 0};
    arena_reset(h->a);
    int rc = store_hook_moves_of(h->store, &k->row, k->next_move, MOVES_PAGE, h->a, &l, err);
    for (size_t i = 0; rc == 0 && i < l.n; i++) {
        rc = move_look(h, k, &l.v[i], out, err);
        if (rc == 1) {
            cursor_set(k, l.v[i].move_no, out->event->seq);
            k->since_ms = l.v[i].at_ms;
            return 1;
        }
        if (rc == 0) cursor_set(k, l.v[i].move_no + 1, 0);
    }
    if (rc != 0) return rc;
    if (l.n == MOVES_PAGE) return 2;
    if (k->next_move <= h->last_move) cursor_set(k, h->last_move + 1, 0);
    return 0;
}

/* The same for a callback, whose only event is its question. */
static int call_find(struct hooks *h, struct hook *k, struct next *out, struct wopr_error *err) {
    int rc = call_question(h, k, &out->event, &out->question, err);
    out->run_id = k->call->run_id;
    out->traceparent = k->call->traceparent;
    out->move.run_no = k->call->run_no;
    return rc;
}

/* --- sending --- */

/* A delivery belongs to the trace of its run, below the run's span (OBS-2). */
static bool trace_of_delivery(const struct hooks *h, const struct next *n,
                              struct traceparent *out) {
    uint8_t span[SPAN_ID_BYTES];
    if (!h->cfg.trace.on && n->traceparent.n == 0) return false;
    trace_span_run(n->run_id, span);
    return trace_onward(&h->cfg.trace, n->traceparent, n->run_id, span, out);
}

/* On the egress thread. */
static void delivery_done(void *ctx, const struct egress_response *r) {
    struct hook_send *s = ctx;
    struct hooks *h = s->hooks;
    s->rc = r->rc;
    s->status = r->status;
    s->took_ms = clock_mono_ms() - s->began_ms;
    if (r->rc == WOPR_E_TOO_BIG && r->status / 100 == 2) s->rc = 0; /* the rest is not read */
    if (s->rc != 0)
        (void)snprintf(s->message, sizeof s->message, "%.*s", HOOK_ERROR_MAX - 1,
                       r->message ? r->message : wopr_err_text(r->rc));
    else if (s->status / 100 != 2)
        (void)snprintf(s->message, sizeof s->message, "status %d", s->status);
    pthread_mutex_lock(&h->mu);
    list_add_tail(&h->results, &s->link);
    h->kicked = true;
    pthread_cond_signal(&h->tick);
    pthread_mutex_unlock(&h->mu);
}

/* What both kinds of deliveries have; the caller added its own before. */
enum { SEND_HEADERS_MAX = 12 };
struct send_headers {
    struct egress_header v[SEND_HEADERS_MAX];
    size_t n;
};

static void header_add(struct send_headers *to, const char *name, struct str value) {
    ASSERT(to->n < SEND_HEADERS_MAX);
    to->v[to->n++] = (struct egress_header){str_c(name), value};
}

static int body_submit(struct hooks *h, struct hook *k, const struct next *n,
                       struct send_headers *headers, struct str body, struct hook_send *s,
                       struct wopr_error *err) {
    struct traceparent trace;
    struct str state = trace_state(n->traceparent);
    bool traced = trace_of_delivery(h, n, &trace);
    header_add(headers, "Content-Type", STR("application/json"));
    header_add(headers, "User-Agent", str_c(h->agent));
    header_add(headers, "X-openwop-Event-Type", n->event->type);
    if (traced) header_add(headers, "traceparent", str_c(trace.text));
    if (traced && state.n > 0) header_add(headers, "tracestate", state);
    const struct egress_request r = {.caller =
                                         k->call ? EGRESS_CALLER_CALLBACK : EGRESS_CALLER_WEBHOOK,
                                     .tenant = k->row.tenant,
                                     .method = STR("POST"),
                                     .url = k->row.url,
                                     .headers = headers->v,
                                     .headers_nr = headers->n,
                                     .body = body,
                                     .timeout_ms = (int)h->cfg.timeout_ms,
                                     .response_max = ANSWER_MAX};
    if (traced) s->trace = trace;
    s->bytes = body.n >= HOOK_LARGE_MIN ? body.n : 0;
    s->began_ms = clock_mono_ms();
    return egress_submit(h->cfg.egress, &r, delivery_done, s, err);
}

static int body_check(const struct buf *b, struct wopr_error *err) {
    if (buf_over(b))
        return wopr_error_set(err, WOPR_E_TOO_BIG, "the event is too large to be sent");
    if (buf_failed(b)) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a delivery");
    return 0;
}

static int delivery_submit(struct hooks *h, struct hook *k, const struct next *n, struct str secret,
                           struct hook_send *s, struct wopr_error *err) {
    char now[24], signature[HOOK_SIGNATURE_SIZE];
    int64_t now_s = clock_wall_ms() / 1000;
    struct send_headers headers = {.n = 0};
    size_t body_at = 0;
    struct buf b;
    buf_init(&b, EGRESS_BODY_MAX);
    hook_message(h->cfg.render, n->run_id, k->row.tenant, n->event, now_s, &b, &body_at);
    int rc = body_check(&b, err);
    if (rc == 0) {
        hook_sign(secret, buf_str(&b), signature);
        (void)snprintf(now, sizeof now, "%lld", (long long)now_s);
        header_add(&headers, "X-openwop-Webhook-Id", k->row.webhook_id);
        header_add(&headers, "X-openwop-Timestamp", str_c(now));
        header_add(&headers, "X-openwop-Signature", str_c(signature));
        header_add(&headers, "X-openwop-Signature-Algorithm", STR("v1"));
        rc = body_submit(h, k, n, &headers, str_n(b.p + body_at, b.len - body_at), s, err);
    }
    buf_fini(&b);
    return rc;
}

/* Not signed: nobody but this host knows a secret for it.  The receiver chose the URL. */
static int call_submit(struct hooks *h, struct hook *k, const struct next *n, struct hook_send *s,
                       struct wopr_error *err) {
    struct send_headers headers = {.n = 0};
    struct buf b;
    buf_init(&b, EGRESS_BODY_MAX);
    hook_call_body(h->cfg.render, n->run_id, k->row.tenant, n->event, n->question, &b);
    int rc = body_check(&b, err);
    if (rc == 0) {
        header_add(&headers, "Idempotency-Key", k->row.webhook_id);
        rc = body_submit(h, k, n, &headers, buf_str(&b), s, err);
    }
    buf_fini(&b);
    return rc;
}

static struct hook_send *send_new(struct hooks *h, struct hook *k, const struct next *n) {
    struct hook_send *s = MEM_NEW(struct hook_send);
    if (!s) return NULL;
    list_init(&s->link);
    s->hooks = h;
    s->hook = k;
    s->run_no = n->move.run_no;
    s->seq = n->event->seq;
    s->until_seq = n->event->seq + 1;
    s->kind = n->event->kind;
    (void)snprintf(s->run_id, sizeof s->run_id, STR_FMT, STR_ARG(n->run_id));
    return s;
}

static void send_begin(struct hooks *h, struct hook *k, struct hook_send *s) {
    k->send = s;
    h->bytes += s->bytes;
    k->tenant->bytes += s->bytes;
    hook_set_phase(h, k, HOOK_SENDING);
}

/* It could not be handed over.  What passes is tried again soon; else that is the outcome of an
 * attempt, which is given up where the next one would end the same. */
static void send_failed(struct hooks *h, struct hook *k, struct hook_send *s, int rc,
                        const struct wopr_error *err) {
    if (!s || wopr_err_passes(rc)) {
        mem_free(s);
        hook_wait_until(h, k, clock_wall_ms() + HOOK_BUSY_MS);
        return;
    }
    s->rc = rc;
    s->bytes = 0;
    s->hopeless = rc == WOPR_E_TOO_BIG;
    (void)snprintf(s->message, sizeof s->message, "%.*s", HOOK_ERROR_MAX - 1, err->message);
    send_begin(h, k, s);
    send_ended(h, s);
}

/* Large bodies have a bound of their own, of which each tenant has a share. */
static bool bytes_may(const struct hooks *h, const struct hook *k, const struct next *n) {
    return n->event->payload.n < HOOK_LARGE_MIN ||
           HOOKS_SHARE(k->tenant->bytes, h->bytes, HOOKS_BYTES_MAX);
}

/* A secret that does not open fails like a receiver does, so that it is seen and comes to an end;
 * but beside other hosts, which may have a newer key (a rotation), it waits for one of them. */
static int secret_unread(struct hooks *h, struct hook *k, int rc, const struct wopr_error *err) {
    hooks_trouble(h, "the secret of a webhook cannot be read", err);
    if (wopr_err_passes(rc) || h->cfg.sole_host || !store_has_peers(h->store)) return rc;
    (void)snprintf(k->last_error, sizeof k->last_error, "%.*s", HOOK_ERROR_MAX - 1, err->message);
    hook_dirty(h, k);
    return WOPR_E_BUSY;
}

static void call_send(struct hooks *h, struct hook *k, const struct next *n) {
    struct wopr_error err = {0};
    if (!bytes_may(h, k, n)) {
        hook_wait_until(h, k, clock_wall_ms() + HOOK_BUSY_MS);
        return;
    }
    struct hook_send *s = send_new(h, k, n);
    int rc = s ? call_submit(h, k, n, s, &err) : WOPR_E_NO_MEMORY;
    if (rc == 0) send_begin(h, k, s);
    else send_failed(h, k, s, rc, &err);
}

static void next_send(struct hooks *h, struct hook *k, const struct next *n) {
    struct plan_sealed box;
    struct str secret = STR_NONE;
    struct wopr_error err = {0};
    if (!bytes_may(h, k, n)) {
        hook_wait_until(h, k, clock_wall_ms() + HOOK_BUSY_MS);
        return;
    }
    /* Read each time: a subscription that was removed, also by another host, is not there. */
    int rc = store_hook_secret(h->store, k->row.hook_no, h->a, &box, &err);
    if (rc == WOPR_E_NOT_FOUND) {
        hook_drop(h, k);
        return;
    }
    struct hook_send *s = send_new(h, k, n);
    if (rc == 0) rc = hook_secret_open(h->cfg.vault, k->row.webhook_id, &box, h->a, &secret, &err);
    if (rc != 0) rc = secret_unread(h, k, rc, &err);
    if (rc == 0) rc = s ? delivery_submit(h, k, n, secret, s, &err) : WOPR_E_NO_MEMORY;
    mem_wipe((char *)(uintptr_t)secret.p, secret.n);
    if (rc == 0) send_begin(h, k, s);
    else send_failed(h, k, s, rc, &err);
}

void send_next(struct hooks *h, struct hook *k) {
    struct wopr_error err = {0};
    struct next n = {.event = NULL};
    int rc = k->call ? call_find(h, k, &n, &err) : next_find(h, k, &n, &err);
    if (rc < 0) {
        hooks_trouble(h, "what a webhook is to be sent cannot be read", &err);
        hook_wait_until(h, k, clock_wall_ms() + HOOK_BUSY_MS);
    } else if (k->call) {
        if (rc == 1) call_send(h, k, &n);
        else call_over(h, k);
    } else if (rc == 1) {
        next_send(h, k, &n);
    } else {
        hook_set_phase(h, k, rc == 2 ? HOOK_READY : HOOK_IDLE);
    }
}

/* --- outcomes --- */

static void send_ids(const void *of, struct log_ids *out) {
    const struct hook_send *s = of;
    out->run_id = s->run_id;
    (void)snprintf(out->tenant, sizeof out->tenant, STR_FMT, STR_ARG(s->hook->row.tenant));
    if (*s->trace.text) trace_ids(&s->trace, out->trace_id, out->span_id);
}

static void failure_log(struct hooks *h, const struct hook *k, const struct hook_send *s,
                        bool given_up) {
    uint64_t held = 0;
    char more[32], mark[16], id[48];
    if (!log_gate_pass(&h->failed_gate, &held)) return;
    (void)snprintf(more, sizeof more, "%llu", (unsigned long long)held);
    (void)snprintf(id, sizeof id, STR_FMT, STR_ARG(k->row.webhook_id));
    (void)snprintf(mark, sizeof mark, STR_FMT, STR_ARG(k->row.fingerprint));
    struct log_scope scope = {.ids = send_ids, .of = s};
    log_scope_enter(&scope);
    log_warn(given_up ? "a webhook delivery was given up" : "a webhook delivery failed", "webhook",
             id, "fingerprint", mark, "why", s->message, "notTold", more);
    log_scope_leave(&scope);
}

static void attempt_failed(struct hooks *h, struct hook *k, const struct hook_send *s) {
    int64_t now_ms = clock_wall_ms(), attempts = k->pulse.attempts + 1;
    bool counts = false, given_up = s->hopeless;
    if (s->hopeless) hook_pulse_skip(&k->pulse);
    else if (k->woken_late) hook_pulse_again(&k->pulse); /* the wish came before this failure */
    else given_up = hook_pulse_failure(&k->pulse, &h->policy, now_ms, (uint32_t)rng_u64(), &counts);
    k->woken_late = false;
    k->failed += counts;
    h->stat_failed++;
    k->last_status = s->status;
    memcpy(k->last_error, s->message, sizeof k->last_error);
    failure_log(h, k, s, given_up);
    if (given_up) {
        marks_dead(h, k, s, attempts, s->status, s->message);
        cursor_set(k, k->next_move, s->seq + 1);
    }
    h->pressing = true;
    hook_wait_until(h, k, k->pulse.next_ms);
}

static void attempt_taken(struct hooks *h, struct hook *k, const struct hook_send *s) {
    hook_pulse_success(&k->pulse);
    k->woken_late = false;
    k->delivered++;
    h->stat_delivered++;
    k->last_status = s->status;
    k->last_error[0] = '\0';
    cursor_set(k, k->next_move, s->seq + 1);
    hook_set_phase(h, k, HOOK_READY);
}

void send_ended(struct hooks *h, struct hook_send *s) {
    struct hook *k = s->hook;
    bool taken = s->rc == 0 && s->status / 100 == 2, left = !k->gone;
    h->bytes -= s->bytes;
    k->tenant->bytes -= s->bytes;
    k->send = NULL;
    if (k->gone) {
        hook_drop(h, k);
    } else if (s->rc == WOPR_E_CLOSED) { /* the host stops: it is sent again at the next start */
        hook_wait_until(h, k, clock_wall_ms() + HOOK_BUSY_MS);
    } else if (k->call) {
        call_ended(h, k, s->hopeless, s->status, taken ? NULL : s->message);
    } else {
        k->proven = taken && s->took_ms < HOOK_QUICK_MS;
        k->last_ms = clock_wall_ms();
        hook_dirty(h, k);
        if (taken) attempt_taken(h, k, s);
        else attempt_failed(h, k, s);
    }
    if (left && k->floor != 0) backlog_cut(h, k, k->floor);
    mem_free(s);
}
