/*
 * send.c: spans that wait, and the one request that is under way.  What OTLP calls retryable (429,
 * 502, 503, 504, a lost connection) is sent again, at growing intervals or when the receiver says;
 * all else is dropped and counted.  Meanwhile the queue fills up to its bound.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "otel/otel_int.h"

#include <stdio.h>

enum {
    TRIES_MAX = 8,
    FIRST_WAIT_MS = 500, /* doubles */
    LAST_WAIT_MS = 30000,
    ASKED_WAIT_S = 300, /* of a Retry-After, at most */
    ANSWER_MAX = 64 * 1024
};

/* --- the queue --- */

static void dropped_log(struct otel *o, const char *why, uint64_t n) {
    char text[24], more[24];
    uint64_t held = 0;
    o->stat_dropped += n;
    if (n == 0 || !log_gate_pass(&o->dropped_gate, &held)) return;
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)n);
    (void)snprintf(more, sizeof more, "%llu", (unsigned long long)held);
    log_warn("spans were dropped", "spans", text, "why", why, "notTold", more);
}

void otel_emit(struct otel *o, const struct span *s) {
    struct buf b;
    struct form f;
    o->stat_spans++;
    if (o->spans_nr >= (size_t)o->cfg.queue_max || o->span_bytes >= OTEL_SPANS_MAX) {
        dropped_log(o, "the queue is full", 1);
        return;
    }
    buf_init(&b, OTEL_SPAN_MAX);
    form_init(&f, o->cfg.json ? FORM_JSON : FORM_PROTOBUF, &b);
    span_write(&f, s);
    struct span_item *i = buf_failed(&b) ? NULL : mem_alloc(sizeof *i + b.len);
    if (i) {
        list_init(&i->link);
        i->n = b.len;
        memcpy(i->text, b.p, b.len);
        list_add_tail(&o->spans, &i->link);
        if (o->spans_nr++ == 0) o->oldest_ms = clock_mono_ms();
        o->span_bytes += i->n;
    } else {
        dropped_log(o, "no memory", 1);
    }
    buf_fini(&b);
}

static void items_free(struct otel *o, size_t n) {
    while (n-- > 0) {
        struct span_item *i = LIST_ENTRY(list_pop(&o->spans), struct span_item, link);
        o->span_bytes -= i->n;
        o->spans_nr--;
        mem_free(i);
    }
    o->oldest_ms = clock_mono_ms();
}

void otel_send_drop(struct otel *o) {
    dropped_log(o, "the host stops", o->spans_nr + o->sending.spans);
    items_free(o, o->spans_nr);
    buf_fini(&o->sending.body);
    o->sending.spans = 0;
}

/* --- a request --- */

static void sending_end(struct otel *o, bool taken, const char *why) {
    struct sending *x = &o->sending;
    if (taken) o->stat_sent += x->spans;
    else dropped_log(o, why, x->spans);
    x->spans = x->tries = 0;
    buf_fini(&x->body);
}

/* On the egress thread. */
static void request_done(void *ctx, const struct egress_response *r) {
    struct otel *o = ctx;
    struct sending *x = &o->sending;
    pthread_mutex_lock(&o->mu);
    x->rc = r->rc == WOPR_E_TOO_BIG ? 0 : r->rc; /* a long answer is an answer */
    x->status = r->status;
    x->retry_after_s = r->retry_after_s;
    x->out = false;
    x->back = true;
    o->kicked = true;
    pthread_cond_signal(&o->tick);
    pthread_mutex_unlock(&o->mu);
}

int otel_post(struct otel *o, struct str url, struct str body, egress_done_fn *done,
              struct wopr_error *err) {
    struct egress_header h[OTEL_PAIRS_MAX + 1];
    size_t n = 0;
    h[n++] = (struct egress_header){
        STR("Content-Type"), o->cfg.json ? STR("application/json") : STR("application/x-protobuf")};
    for (size_t i = 0; i < o->headers.n; i++)
        h[n++] = (struct egress_header){o->headers.name[i], o->headers.value[i]};
    const struct egress_request r = {.caller = EGRESS_CALLER_TELEMETRY,
                                     .tenant = STR("-"),
                                     .method = STR("POST"),
                                     .url = url,
                                     .headers = h,
                                     .headers_nr = n,
                                     .body = body,
                                     .timeout_ms = (int)o->cfg.timeout_ms,
                                     .response_max = ANSWER_MAX};
    o->stat_requests++;
    return egress_submit(o->egress, &r, done, o, err);
}

static int request_submit(struct otel *o) {
    struct wopr_error err;
    o->sending.tries++;
    pthread_mutex_lock(&o->mu);
    o->sending.out = true;
    pthread_mutex_unlock(&o->mu);
    int rc = otel_post(o, o->traces_url, buf_str(&o->sending.body), request_done, &err);
    if (rc == 0) return 0;
    pthread_mutex_lock(&o->mu);
    o->sending.out = false;
    pthread_mutex_unlock(&o->mu);
    return rc;
}

static bool again_may(const struct sending *x) {
    if (x->rc != 0) return x->rc != WOPR_E_CLOSED && x->rc != WOPR_E_VALIDATION;
    return x->status == 429 || x->status == 502 || x->status == 503 || x->status == 504;
}

static void again_later(struct sending *x) {
    int64_t ms = FIRST_WAIT_MS;
    for (unsigned i = 1; i < x->tries && ms < LAST_WAIT_MS; i++) ms *= 2;
    ms = (ms < LAST_WAIT_MS ? ms : LAST_WAIT_MS) * (int64_t)(75 + rng_u64() % 50) / 100;
    if (x->rc == 0 && x->retry_after_s > 0)
        ms = 1000 * (x->retry_after_s < ASKED_WAIT_S ? x->retry_after_s : ASKED_WAIT_S);
    x->due_ms = clock_mono_ms() + (uint64_t)ms;
}

void otel_failure_log(struct otel *o, int rc, int code) {
    char status[24], more[24];
    uint64_t held = 0;
    if (!log_gate_pass(&o->failed_gate, &held)) return;
    (void)snprintf(status, sizeof status, "%d", code);
    (void)snprintf(more, sizeof more, "%llu", (unsigned long long)held);
    log_warn("the receiver of telemetry does not take it", "status", status, "why",
             rc != 0 ? wopr_err_text(rc) : "its answer", "notTold", more);
}

/* What came back, if anything did. */
static void request_judge(struct otel *o, bool last) {
    struct sending *x = &o->sending;
    if (x->rc == 0 && x->status / 100 == 2) {
        sending_end(o, true, "");
        return;
    }
    o->stat_failed++;
    otel_failure_log(o, x->rc, x->status);
    if (!again_may(x)) sending_end(o, false, "the receiver refused them");
    else if (last || x->tries >= TRIES_MAX) sending_end(o, false, "the receiver cannot be reached");
    else again_later(x);
}

static void request_fill(struct otel *o) {
    struct sending *x = &o->sending;
    struct form f;
    size_t n = 0, bytes = 0, max = (size_t)o->cfg.batch_max;
    struct str *v = mem_array(max < o->spans_nr ? max : o->spans_nr, sizeof *v);
    if (!v) return;
    for (struct list *l = o->spans.next; l != &o->spans && n < max; l = l->next) {
        const struct span_item *i = LIST_ENTRY(l, struct span_item, link);
        if (n > 0 && bytes + i->n > EGRESS_BODY_MAX / 2) break;
        bytes += i->n;
        v[n++] = str_n(i->text, i->n);
    }
    buf_init(&x->body, EGRESS_BODY_MAX);
    form_init(&f, o->cfg.json ? FORM_JSON : FORM_PROTOBUF, &x->body);
    spans_request(&f, &o->speaker, v, n);
    mem_free(v);
    x->spans = n;
    items_free(o, n);
    if (buf_failed(&x->body)) sending_end(o, false, "no memory");
}

/* Nothing to wait for: 0. */
static int64_t due_in(uint64_t at_ms, int64_t max_ms) {
    uint64_t now = clock_mono_ms();
    if (at_ms <= now) return 0;
    return at_ms - now < (uint64_t)max_ms ? (int64_t)(at_ms - now) : max_ms;
}

int64_t otel_send(struct otel *o, bool all, int64_t max_ms) {
    struct sending *x = &o->sending;
    pthread_mutex_lock(&o->mu);
    bool back = x->back, out = x->out;
    x->back = false;
    pthread_mutex_unlock(&o->mu);
    if (back) request_judge(o, all);
    o->stat_queued = o->spans_nr + x->spans;
    if (out) return max_ms;
    if (x->spans == 0) {
        if (o->spans_nr == 0) return max_ms;
        bool full = o->spans_nr >= (size_t)o->cfg.batch_max;
        int64_t wait_ms = due_in(o->oldest_ms + (uint64_t)o->cfg.delay_ms, max_ms);
        if (!all && !full && wait_ms > 0) return wait_ms;
        request_fill(o);
        x->due_ms = 0;
    }
    if (x->spans == 0) return 1;
    int64_t wait_ms = all ? 0 : due_in(x->due_ms, max_ms);
    if (wait_ms > 0) return wait_ms;
    int rc = request_submit(o);
    if (rc != 0) {
        x->rc = rc;
        x->status = 0;
        request_judge(o, all);
    }
    return max_ms;
}
