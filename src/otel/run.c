/*
 * run.c: events of a run to spans (OBS-4 to OBS-7, INT-48, FORK-18, FORK-27, NODE-54).  What is in
 * them are ids, kinds, codes and numbers: no value of a run.
 */
#include "base/mem.h"
#include "codec/json.h"
#include "domain/cost.h"
#include "domain/options.h"
#include "otel/otel_int.h"

#include <stdio.h>

enum { NAME_MAX_BYTES = 256, TAGS_MAX = 100, CODE_MAX = 128, TAGS_TEXT_MAX = 1 << 20 };

#define REQUEST_BYTES (sizeof(struct trace_request) + 128)

/* --- life --- */

static char *text_dup(struct str s, bool *ok) {
    if (s.n == 0) return NULL;
    char *p = mem_strndup(s.p, s.n);
    *ok = *ok && p;
    return p;
}

struct trace_run *trace_run_new(int64_t run_no, const struct run_meta *m,
                                const struct run_fork *fork, struct str parent_run_id,
                                struct str parent_node_id) {
    struct trace_run *r = MEM_NEW(struct trace_run);
    bool ok = true;
    if (!r) return NULL;
    list_init(&r->recent);
    r->run_no = run_no;
    r->created_ms = m->created_ms;
    r->test_mode = m->test_mode;
    r->masked = m->sealed;
    r->run_id = text_dup(m->run_id, &ok);
    r->workflow_id = text_dup(m->workflow_id, &ok);
    r->tenant = text_dup(m->tenant, &ok);
    r->scope_id = text_dup(m->scope_id, &ok);
    r->tags = text_dup(m->tags, &ok);
    r->state = text_dup(trace_state(m->traceparent), &ok);
    r->parent_run_id = text_dup(parent_run_id, &ok);
    r->parent_node_id = text_dup(parent_node_id, &ok);
    if (fork && fork->mode != FORK_NONE) {
        r->fork = fork->mode;
        r->source_id = text_dup(fork->source_run_id, &ok);
        r->source_no = fork->source_run_no;
        r->from_seq = fork->from_seq;
    }
    r->nodes = map_new();
    r->bytes = sizeof *r + m->run_id.n + m->workflow_id.n + m->tags.n + m->traceparent.n + 256;
    if (ok && r->nodes && r->run_id) {
        trace_of_run(m->traceparent, m->run_id, &r->ctx);
        trace_span_run(m->run_id, r->span);
        return r;
    }
    trace_run_free(r);
    return NULL;
}

static void request_free(struct trace_request *q) {
    list_del(&q->link);
    mem_free(q->id);
    mem_free(q->provider);
    mem_free(q);
}

static void node_free(struct trace_node *n) {
    while (!list_empty(&n->requests))
        request_free(LIST_ENTRY(n->requests.next, struct trace_request, link));
    mem_free(n->id);
    mem_free(n->type);
    mem_free(n->ask_id);
    mem_free(n->ask_kind);
    mem_free(n);
}

void trace_run_free(struct trace_run *r) {
    struct str key;
    void *value;
    if (!r) return;
    for (size_t it = 0; r->nodes && map_next(r->nodes, &it, &key, &value);) node_free(value);
    map_free(r->nodes);
    mem_free(r->run_id);
    mem_free(r->workflow_id);
    mem_free(r->tenant);
    mem_free(r->scope_id);
    mem_free(r->tags);
    mem_free(r->state);
    mem_free(r->parent_run_id);
    mem_free(r->parent_node_id);
    mem_free(r->source_id);
    mem_free(r->cap_kind);
    mem_free(r);
}

static struct trace_node *node_of(struct trace_run *r, struct str id) {
    struct trace_node *n = id.n > 0 ? map_get(r->nodes, id) : NULL;
    bool ok = true;
    if (n || id.n == 0) return n;
    n = MEM_NEW(struct trace_node);
    if (!n) return NULL;
    list_init(&n->requests);
    n->id = text_dup(id, &ok);
    if (ok && map_put(r->nodes, str_c(n->id), n, NULL) == 0) {
        r->bytes += sizeof *n + id.n + 128;
        return n;
    }
    node_free(n);
    return NULL;
}

/* --- numbers (OBS-12) --- */

/* What happened before this host saw the run was counted by who saw it. */
static bool is_first(const struct fold_to *to) { return to->quiet_ms == 0; }
static bool run_counts(const struct fold_to *to) { return to->o->meters && is_first(to); }
static bool run_records(const struct fold_to *to, enum record_level level) {
    return to->o->records >= level && is_first(to);
}

static void count_in(const struct fold_to *to, enum meter_id id, double v,
                     const struct meter_label *labels, size_t n) {
    if (run_counts(to)) meter_add(to->o->meters, id, v, labels, n);
}

static double run_seconds(int64_t from_ms, int64_t to_ms) {
    return to_ms > from_ms ? (double)(to_ms - from_ms) / 1e3 : 0;
}

void trace_accepted(struct otel *o, struct trace_run *r) {
    const struct fold_to to = {o, 0};
    const struct meter_label l[] = {{"openwop.tenant_id", str_c(r->tenant)},
                                    {"openwop.workflow_id", str_c(r->workflow_id)}};
    count_in(&to, METER_RUN_CREATED, 1, l, 2);
    count_in(&to, METER_QUEUE_ENQUEUED, 1, l, 1);
    if (run_records(&to, RECORD_RUNS)) record_run_created(o, r);
}

void trace_conflict(struct otel *o, const struct plan *p) {
    const struct fold_to to = {o, 0};
    const struct run_meta *m = &p->create->meta;
    const struct meter_label l[] = {{"transport", m->transport.n > 0 ? m->transport : STR("rest")},
                                    {"openwop.tenant_id", m->tenant}};
    count_in(&to, METER_CLAIM_CONFLICTS, 1, l, 2);
    if (run_records(&to, RECORD_RUNS)) record_conflict(p);
}

static void started_count(const struct fold_to *to, struct trace_run *r, const struct event *e) {
    const struct meter_label l[] = {{"openwop.tenant_id", str_c(r->tenant)},
                                    {"openwop.workflow_id", str_c(r->workflow_id)}};
    count_in(to, METER_RUN_BACKLOG, run_seconds(r->created_ms, e->ts_ms), l, 2);
}

static void run_count(const struct fold_to *to, const struct trace_run *r, const char *status,
                      int64_t at_ms) {
    const struct meter_label l[] = {{"openwop.run_status", str_c(status)},
                                    {"openwop.workflow_id", str_c(r->workflow_id)},
                                    {"openwop.tenant_id", str_c(r->tenant)}};
    count_in(to, METER_RUN_COMPLETED, 1, l, 3);
    count_in(to, METER_RUN_DURATION, run_seconds(r->created_ms, at_ms), l, 2);
    if (run_records(to, RECORD_RUNS)) record_run_completed(to->o, r, status, at_ms);
}

static struct str type_of(const struct trace_node *n) {
    return str_c(n->type ? n->type : "unknown");
}

static void node_count(const struct fold_to *to, const struct trace_node *n, enum meter_id id,
                       double v, const char *status) {
    const struct meter_label l[] = {{"openwop.node_type", type_of(n)},
                                    {"openwop.run_status", str_c(status)}};
    count_in(to, id, v, l, *status ? 2 : 1);
}

static void ask_count(const struct fold_to *to, const struct trace_node *n, enum meter_id id,
                      double v, const char *how) {
    const struct meter_label l[] = {
        {"openwop.interrupt_kind", str_c(n->ask_kind ? n->ask_kind : "")},
        {"openwop.run_status", str_c(how)}};
    count_in(to, id, v, l, *how ? 2 : 1);
}

/* --- spans --- */

static void span_begin(const struct trace_run *r, struct span *s, struct str name,
                       const uint8_t id[SPAN_ID_BYTES], const uint8_t *parent) {
    *s = (struct span){
        .name = name, .kind = SPAN_INTERNAL, .state = str_c(r->state ? r->state : "")};
    memcpy(s->trace, r->ctx.trace, sizeof s->trace);
    memcpy(s->id, id, sizeof s->id);
    s->has_parent = parent != NULL;
    if (parent) memcpy(s->parent, parent, sizeof s->parent);
    span_str(s, "openwop.run_id", str_c(r->run_id));
    span_str(s, "openwop.workflow_id", str_c(r->workflow_id));
    span_str(s, "openwop.protocol_version", STR("1.0"));
    span_str(s, "openwop.tenant_id", str_c(r->tenant));
    span_str(s, "openwop.scope_id", str_c(r->scope_id));
}

/* A fork's part of a span begins with the fork. */
static void span_times(const struct trace_run *r, struct span *s, int64_t start_ms,
                       int64_t end_ms) {
    s->start_ms = start_ms > r->created_ms ? start_ms : r->created_ms;
    s->end_ms = end_ms > s->start_ms ? end_ms : s->start_ms;
}

static void span_send(const struct fold_to *to, const struct trace_run *r, const struct span *s) {
    if (r->recorded && s->end_ms >= to->quiet_ms) otel_emit(to->o, s);
}

static struct str code_of(struct str error, char out[CODE_MAX]) {
    struct str raw = json_get(error, "code");
    if (raw.n < 2 || raw.n - 2 > CODE_MAX || memchr(raw.p, '\\', raw.n)) return STR("error");
    memcpy(out, raw.p + 1, raw.n - 2);
    return str_n(out, raw.n - 2);
}

static void span_fail(struct span *s, struct str code) {
    s->status = SPAN_ERROR;
    s->message = code;
}

static struct str type_name(const struct trace_node *n, const char *end, char out[NAME_MAX_BYTES]) {
    int len =
        snprintf(out, NAME_MAX_BYTES, "openwop.node.%s%s", n->type ? n->type : "unknown", end);
    return str_n(out, len < NAME_MAX_BYTES ? (size_t)len : NAME_MAX_BYTES - 1);
}

static void node_facts(struct span *s, const struct trace_node *n, int64_t seq) {
    span_str(s, "openwop.node_id", str_c(n->id));
    span_str(s, "openwop.node_type", type_of(n));
    span_int(s, "openwop.node_attempt", n->attempt);
    span_int(s, "openwop.event_seq", seq);
    if (n->masked) span_bool(s, "openwop.pii_present", true);
}

static void ask_end(const struct fold_to *to, struct trace_run *r, struct trace_node *n,
                    const struct event *e, const char *how) {
    struct span s;
    uint8_t id[SPAN_ID_BYTES];
    if (!n->asked || !n->ask_id) return;
    ask_count(to, n, METER_INTERRUPT_DURATION, run_seconds(n->ask_ms, e->ts_ms), how);
    trace_span_interrupt(str_c(n->ask_id), id);
    span_begin(r, &s, STR("openwop.interrupt"), id, n->open ? n->span : r->span);
    span_times(r, &s, n->ask_ms, e->ts_ms);
    span_str(&s, "openwop.node_id", str_c(n->id));
    span_str(&s, "openwop.interrupt_kind", str_c(n->ask_kind));
    span_str(&s, "openwop.interrupt_id", str_c(n->ask_id));
    span_int(&s, "openwop.interrupt_count", n->asks);
    span_str(&s, "openwop.run_status", str_c(how));
    span_send(to, r, &s);
    n->asked = false;
}

static void attempt_end(const struct fold_to *to, struct trace_run *r, struct trace_node *n,
                        const struct event *e, const char *status, struct str code) {
    struct span s;
    uint8_t id[SPAN_ID_BYTES];
    char name[NAME_MAX_BYTES];
    if (!n->attempt_open) return;
    node_count(to, n, METER_NODE_DURATION, run_seconds(n->attempt_ms, e->ts_ms), status);
    trace_span_attempt(str_c(r->run_id), str_c(n->id), n->attempt_seq, id);
    span_begin(r, &s, type_name(n, ".attempt", name), id, n->span);
    span_times(r, &s, n->attempt_ms, e->ts_ms);
    node_facts(&s, n, e->seq);
    if (code.n > 0) span_fail(&s, code);
    span_send(to, r, &s);
    n->attempt_open = false;
}

/* OBS-13 */
static void cost_facts(struct span *s, const struct cost *c) {
    span_str(s, "openwop.cost.provider", c->provider);
    span_str(s, "openwop.cost.model", c->model);
    if (c->counted) span_int(s, "openwop.cost.tokens.input", c->input);
    if (c->counted) span_int(s, "openwop.cost.tokens.output", c->output);
    if (c->priced)
        span_attr(s, (struct attr){.key = STR("openwop.cost.usd"),
                                   .type = ATTR_DOUBLE,
                                   .d = (double)c->usd_pico / 1e12});
    if (c->timed) span_int(s, "openwop.cost.duration_ms", c->duration_ms);
}

static void cost_count(const struct fold_to *to, const struct cost *c) {
    struct meter_label l[] = {{"provider", c->provider}, {"direction", STR("input")}};
    if (c->counted) count_in(to, METER_ACTIVITY_TOKENS, (double)c->input, l, 2);
    l[1].value = STR("output");
    if (c->counted) count_in(to, METER_ACTIVITY_TOKENS, (double)c->output, l, 2);
    if (c->priced) count_in(to, METER_COST_USD, (double)c->usd_pico / 1e12, l, 1);
}

static void cost_tell(const struct fold_to *to, const struct trace_run *r,
                      const struct trace_node *n, struct span *s, struct str payload) {
    struct cost c;
    arena_reset(to->o->page);
    cost_read(cost_of(payload), to->o->page, &c);
    cost_facts(s, &c);
    cost_count(to, &c);
    if (c.known && run_records(to, RECORD_ALL)) record_cost(to->o, r, n, &c);
}

static void node_end(const struct fold_to *to, struct trace_run *r, struct trace_node *n,
                     const struct event *e, const char *status, struct str code) {
    struct span s;
    char name[NAME_MAX_BYTES];
    ask_end(to, r, n, e, "cancelled");
    attempt_end(to, r, n, e, status, code);
    if (!n->open) return;
    node_count(to, n, METER_NODE_COMPLETED, 1, status);
    if (run_records(to, RECORD_ALL)) record_node(to->o, r, n, status, e->ts_ms);
    span_begin(r, &s, type_name(n, "", name), n->span, r->span);
    span_times(r, &s, n->start_ms, e->ts_ms);
    node_facts(&s, n, e->seq);
    span_str(&s, "openwop.run_status", str_c(status));
    if (code.n > 0) span_fail(&s, code);
    if (e->kind == EV_NODE_COMPLETED) cost_tell(to, r, n, &s, e->payload);
    span_send(to, r, &s);
    n->open = n->masked = false;
    n->asks = 0;
}

/* --- the run span --- */

static void tags_put(struct span *s, const struct trace_run *r, struct arena *a) {
    struct json_elements l = {.n = 0};
    struct wopr_error err;
    struct buf b;
    if (!r->tags) return;
    buf_init(&b, TAGS_TEXT_MAX);
    bool ok = redact_json(str_c(r->tags), STR_NONE, &b, &err) == 0 && !buf_failed(&b);
    struct str clean = ok ? arena_str(a, buf_str(&b)) : STR_NONE;
    buf_fini(&b);
    if (clean.n == 0 || json_elements(clean, a, &l, &err) != 0 || l.n == 0) return;
    size_t n = l.n < TAGS_MAX ? l.n : TAGS_MAX;
    struct str *v = ARENA_ARRAY(a, struct str, n);
    for (size_t i = 0; v && i < n; i++) v[i] = json_string(l.v[i], a);
    if (v)
        span_attr(s,
                  (struct attr){.key = STR("openwop.run.tags"), .type = ATTR_STRS, .v = v, .n = n});
}

static void fork_put(struct span *s, const struct trace_run *r, struct otel *o) {
    struct run_origin from;
    struct trace_ctx source;
    if (r->fork == FORK_NONE) return;
    struct str id = str_c(r->source_id);
    span_str(s, "openwop.replay.source_run_id", id);
    span_int(s, "openwop.replay.from_seq", r->from_seq);
    span_str(s, "openwop.replay.mode", r->fork == FORK_REPLAY ? STR("replay") : STR("branch"));
    if (r->diverged) span_bool(s, "openwop.replay.diverged", true);
    bool there = store_run_origin(o->store, r->source_no, o->page, &from, NULL) == 0;
    trace_of_run(there ? from.meta.traceparent : STR_NONE, id, &source);
    s->has_link = true;
    memcpy(s->link_trace, source.trace, sizeof s->link_trace);
    trace_span_run(id, s->link_id);
}

static void parent_put(struct span *s, const struct trace_run *r, struct otel *o) {
    struct run_head head;
    struct run_origin of;
    struct str id = str_c(r->parent_run_id);
    if (id.n == 0) return;
    span_str(s, "openwop.parent.run_id", id);
    span_str(s, "openwop.parent.node_id", str_c(r->parent_node_id));
    if (store_run_head(o->store, str_c(r->tenant), r->test_mode, id, o->page, &head, NULL) == 0 &&
        store_run_origin(o->store, head.run_no, o->page, &of, NULL) == 0)
        span_str(s, "openwop.parent.workflow_id", of.meta.workflow_id);
}

static void run_end(const struct fold_to *to, struct trace_run *r, const struct event *e) {
    struct span s;
    struct str key;
    void *value;
    char code[CODE_MAX];
    const char *status = e->kind == EV_RUN_COMPLETED ? "completed"
                         : e->kind == EV_RUN_FAILED  ? "failed"
                                                     : "cancelled";
    for (size_t it = 0; map_next(r->nodes, &it, &key, &value);)
        node_end(to, r, value, e, "cancelled", STR_NONE);
    run_count(to, r, status, e->ts_ms);
    if (!r->recorded || e->ts_ms < to->quiet_ms) return;
    span_begin(r, &s, STR("openwop.run"), r->span, r->ctx.has_parent ? r->ctx.parent : NULL);
    span_times(r, &s, r->created_ms, e->ts_ms);
    span_str(&s, "openwop.run_status", str_c(status));
    span_int(&s, "openwop.event_seq", e->seq);
    if (r->masked) span_bool(&s, "openwop.pii_present", true);
    if (r->cap_kind) {
        span_str(&s, "openwop.cap_kind", str_c(r->cap_kind));
        span_int(&s, "openwop.cap_limit", r->cap_limit);
        span_int(&s, "openwop.cap_observed", r->cap_observed);
    }
    arena_reset(to->o->page);
    tags_put(&s, r, to->o->page);
    parent_put(&s, r, to->o);
    fork_put(&s, r, to->o);
    if (e->kind == EV_RUN_FAILED) span_fail(&s, code_of(json_get(e->payload, "error"), code));
    span_send(to, r, &s);
}

/* --- events --- */

/* A plain word of the payload, kept; NULL when it is none or memory is short. */
static char *word_dup(struct str payload, const char *key, struct str otherwise) {
    struct str raw = json_get(payload, key);
    if (raw.n < 2 || raw.n > CODE_MAX + 2 || raw.p[0] != '"' || memchr(raw.p, '\\', raw.n))
        return otherwise.n > 0 ? mem_strndup(otherwise.p, otherwise.n) : NULL;
    return mem_strndup(raw.p + 1, raw.n - 2);
}

static void node_begins(struct trace_run *r, struct trace_node *n, const struct event *e) {
    int64_t attempt = 0;
    if (!n->open) {
        trace_span_node(str_c(r->run_id), str_c(n->id), n->past, n->span);
        n->start_ms = e->ts_ms;
        n->open = true;
    }
    if (!n->type) n->type = word_dup(e->payload, "typeId", STR("unknown"));
    (void)json_int(json_get(e->payload, "attempt"), &attempt);
    n->attempt = attempt;
    n->attempt_open = true;
    n->attempt_ms = e->ts_ms;
    n->attempt_seq = e->seq;
}

/* Its id is in the node.suspended that follows. */
static void ask_begins(const struct fold_to *to, struct trace_node *n, const struct event *e) {
    mem_free(n->ask_id);
    mem_free(n->ask_kind);
    n->ask_id = NULL;
    n->ask_kind = word_dup(e->payload, "kind", STR("custom"));
    n->ask_ms = e->ts_ms;
    n->asks++;
    n->asked = true;
    ask_count(to, n, METER_INTERRUPT_REQUESTED, 1, "");
}

static void ask_named(struct trace_node *n, const struct event *e) {
    if (n->asked && !n->ask_id) n->ask_id = word_dup(e->payload, "interruptId", STR_NONE);
}

static void cap_keep(const struct fold_to *to, struct trace_run *r, const struct event *e) {
    mem_free(r->cap_kind);
    r->cap_kind = word_dup(e->payload, "kind", STR("unknown"));
    (void)json_int(json_get(e->payload, "limit"), &r->cap_limit);
    (void)json_int(json_get(e->payload, "observed"), &r->cap_observed);
    const struct meter_label l = {"openwop.cap_kind", str_c(r->cap_kind ? r->cap_kind : "unknown")};
    count_in(to, METER_CAP_EXCEEDED, 1, &l, 1);
    if (run_records(to, RECORD_RUNS)) record_cap(to->o, r);
}

static void node_event(const struct fold_to *to, struct trace_run *r, struct trace_node *n,
                       const struct event *e) {
    char code[CODE_MAX];
    if ((e->flags & EVENT_MASKED) != 0) n->masked = true;
    switch ((int)e->kind) {
    case EV_NODE_STARTED:
        node_begins(r, n, e);
        break;
    case EV_NODE_RETRIED:
        attempt_end(to, r, n, e, "failed", code_of(json_get(e->payload, "lastError"), code));
        node_count(to, n, METER_NODE_ATTEMPTS, 1, "");
        break;
    case EV_NODE_COMPLETED:
        node_end(to, r, n, e, "completed", STR_NONE);
        n->past++;
        break;
    case EV_NODE_FAILED:
        node_end(to, r, n, e, "failed", code_of(json_get(e->payload, "error"), code));
        n->past++;
        break;
    case EV_NODE_CANCELLED:
        node_end(to, r, n, e, "cancelled", STR_NONE);
        break;
    case EV_INTERRUPT_REQUESTED:
        ask_begins(to, n, e);
        break;
    case EV_NODE_SUSPENDED:
        ask_named(n, e);
        break;
    case EV_INTERRUPT_RESOLVED:
        ask_named(n, e);
        ask_end(to, r, n, e, "resolved");
        break;
    default:
        break;
    }
}

static bool is_of_node(enum ev_kind k) {
    return event_kind_is(k, EV_F_OF_NODE) || k == EV_INTERRUPT_REQUESTED ||
           k == EV_INTERRUPT_RESOLVED;
}

int trace_event(const struct fold_to *to, struct trace_run *r, const struct event *e) {
    r->next_seq = e->seq + 1;
    if (r->waits && (e->kind == EV_RUN_STARTED || event_is_terminal(e->kind))) {
        r->waits = false;
        to->o->waiting--;
        if (e->kind == EV_RUN_STARTED) started_count(to, r, e);
    }
    if (!r->recorded && !otel_looks(to->o)) return event_is_terminal(e->kind);
    if ((e->flags & EVENT_MASKED) != 0) r->masked = true;
    if (e->kind == EV_CAP_BREACHED) cap_keep(to, r, e);
    if (e->kind == EV_REPLAY_DIVERGED) r->diverged = true;
    struct trace_node *n = is_of_node(e->kind) ? node_of(r, e->node_id) : NULL;
    if (n) node_event(to, r, n, e);
    if (!event_is_terminal(e->kind)) return 0;
    run_end(to, r, e);
    return 1;
}

/* --- requests to the outside --- */

static struct trace_request *request_find(struct trace_node *n, struct str id) {
    for (struct list *l = n->requests.next; l != &n->requests; l = l->next) {
        struct trace_request *q = LIST_ENTRY(l, struct trace_request, link);
        if (str_eqc(id, q->id)) return q;
    }
    return NULL;
}

static struct trace_request *request_begin(struct trace_run *r, struct trace_node *n,
                                           const struct plan_invocation *row) {
    struct trace_request *q = MEM_NEW(struct trace_request);
    struct str provider = row->provider_key, rest;
    bool ok = true;
    if (!q) return NULL;
    list_init(&q->link);
    (void)str_cut(row->provider_key, ':', &provider, &rest);
    q->id = text_dup(row->invocation_id, &ok);
    q->provider = text_dup(provider, &ok);
    q->start_ms = row->state == INVOCATION_CLAIMED || !n->attempt_open ? row->at_ms : n->attempt_ms;
    list_add_tail(&n->requests, &q->link);
    if (ok && q->id && q->provider) {
        trace_span_request(row->invocation_id, q->span);
        r->bytes += REQUEST_BYTES;
        return q;
    }
    request_free(q);
    return NULL;
}

/* "mcp:SERVER:tools/call" (OBS-16); what else is said to a server is no call of a tool. */
static bool mcp_call_of(struct str key, struct str *server) {
    static const char BEGIN[] = "mcp:", END[] = ":tools/call";
    size_t head = sizeof BEGIN - 1, tail = sizeof END - 1;
    if (key.n <= head + tail || memcmp(key.p, BEGIN, head) != 0 ||
        memcmp(key.p + key.n - tail, END, tail) != 0)
        return false;
    *server = str_n(key.p + head, key.n - head - tail);
    return true;
}

/* The failure that the outcome names: one of our words, or a status. */
static struct str outcome_code(struct str outcome, int64_t status, char out[CODE_MAX]) {
    struct str raw = json_get(outcome, "error");
    if (raw.n >= 2 && raw.n <= CODE_MAX && raw.p[0] == '"' && !memchr(raw.p, '\\', raw.n)) {
        memcpy(out, raw.p + 1, raw.n - 2);
        return str_n(out, raw.n - 2);
    }
    if (status < 400) return STR_NONE;
    (void)snprintf(out, CODE_MAX, "http_%lld", (long long)status);
    return str_c(out);
}

void trace_invocation(const struct fold_to *to, struct trace_run *r,
                      const struct plan_invocation *row) {
    char name[NAME_MAX_BYTES], code[CODE_MAX];
    struct span s;
    int64_t status = 0;
    struct trace_node *n = r->recorded || otel_looks(to->o) ? node_of(r, row->node_id) : NULL;
    struct trace_request *q = n ? request_find(n, row->invocation_id) : NULL;
    if (n && !q) q = request_begin(r, n, row);
    if (!q || row->state == INVOCATION_CLAIMED) return;
    int len = snprintf(name, sizeof name, "openwop.activity.%.200s", q->provider);
    span_begin(r, &s, str_n(name, (size_t)len), q->span, n->open ? n->span : r->span);
    s.kind = SPAN_CLIENT;
    span_times(r, &s, q->start_ms, row->at_ms);
    span_str(&s, "openwop.node_id", str_c(n->id));
    span_str(&s, "openwop.node_type", type_of(n));
    span_int(&s, "openwop.node_attempt", row->attempt);
    (void)json_int(json_get(row->outcome, "status"), &status);
    bool good = row->state == INVOCATION_COMPLETED && status < 400;
    span_str(&s, "openwop.run_status", good ? STR("success") : STR("error"));
    if (!good) span_fail(&s, STR("request_failed"));
    span_send(to, r, &s);
    const struct meter_label l[] = {{"provider", str_c(q->provider)},
                                    {"openwop.run_status", good ? STR("success") : STR("error")}};
    count_in(to, METER_ACTIVITY_INVOCATIONS, 1, l, 2);
    count_in(to, METER_ACTIVITY_DURATION, run_seconds(q->start_ms, row->at_ms), l, 2);
    struct str server;
    if (run_records(to, RECORD_ALL)) record_activity(to->o, r, n, q, good, row->at_ms);
    if (run_records(to, RECORD_ALL) && mcp_call_of(row->provider_key, &server))
        record_mcp(to->o, r, n, q, server, outcome_code(row->outcome, status, code), good,
                   row->at_ms);
    r->bytes -= REQUEST_BYTES;
    request_free(q);
}
