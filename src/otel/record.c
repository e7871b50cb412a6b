/*
 * record.c: what is told of runs in the log, one line each, with metricKind (OBS-16).  Ids, kinds,
 * codes and numbers, as in spans; by who saw the commit, whether the trace is sampled or not.
 */
#include "otel/otel_int.h"

#include "base/clock.h"

#include <stdio.h>

struct record_number record_number(int64_t v) {
    struct record_number n;
    (void)snprintf(n.text, sizeof n.text, "%lld", (long long)v);
    return n;
}

static void scope_ids(const void *of, struct log_ids *out) {
    const struct record_scope *s = of;
    const struct trace_run *r = s->run;
    out->run_id = r->run_id;
    (void)snprintf(out->tenant, sizeof out->tenant, "%s", r->tenant ? r->tenant : "");
    if (!s->traced) return;
    struct traceparent t =
        trace_format(&r->ctx, s->node && s->node->open ? s->node->span : r->span, false);
    trace_ids(&t, out->trace_id, out->span_id);
}

/* With a receiver of spans every run has a trace; without one, those whose caller gave them one. */
void record_enter(struct record_scope *s, const struct otel *o, const struct trace_run *r,
                  const struct trace_node *n) {
    *s = (struct record_scope){.run = r, .node = n, .traced = o->policy.on || r->ctx.has_parent};
    s->scope = (struct log_scope){.ids = scope_ids, .of = s};
    log_scope_enter(&s->scope);
}

static int64_t record_since(int64_t from_ms, int64_t to_ms) {
    return to_ms > from_ms ? to_ms - from_ms : 0;
}

/* The message of a record is its kind. */
#define RECORD(level, kind, ...) log_write(level, kind, "metricKind", kind, __VA_ARGS__, NULL)

void record_run_created(const struct otel *o, const struct trace_run *r) {
    struct record_scope s;
    record_enter(&s, o, r, NULL);
    RECORD(LOG_INFO, "openwop.run.created", "workflowId", r->workflow_id ? r->workflow_id : "");
    log_scope_leave(&s.scope);
}

void record_run_completed(const struct otel *o, const struct trace_run *r, const char *status,
                          int64_t at_ms) {
    struct record_scope s;
    record_enter(&s, o, r, NULL);
    RECORD(LOG_INFO, "openwop.run.completed", "status", status, LOG_NUMBER "durationMs",
           record_number(record_since(r->created_ms, at_ms)).text);
    log_scope_leave(&s.scope);
}

/* Of a run that never was: who else is active, and for how long its host has it. */
void record_conflict(const struct plan *p) {
    const struct run_meta *m = &p->create->meta;
    char scope[256], other[128], tenant[256], transport[32];
    int64_t left_ms = record_since(clock_wall_ms(), p->active_until_ms);
    (void)snprintf(scope, sizeof scope, STR_FMT, STR_ARG(m->scope_id));
    (void)snprintf(other, sizeof other, STR_FMT, STR_ARG(p->active_run_id));
    (void)snprintf(tenant, sizeof tenant, STR_FMT, STR_ARG(m->tenant));
    (void)snprintf(transport, sizeof transport, STR_FMT,
                   STR_ARG(m->transport.n > 0 ? m->transport : STR("rest")));
    RECORD(LOG_INFO, "openwop.run.claim.conflict", "transport", transport, "projectId", scope,
           "activeRunId", other, "tenantId", tenant, LOG_NUMBER "retryAfterSeconds",
           record_number(left_ms < 1000 ? 1 : (left_ms + 999) / 1000).text);
}

void record_cap(const struct otel *o, const struct trace_run *r) {
    struct record_scope s;
    record_enter(&s, o, r, NULL);
    RECORD(LOG_ERROR, "openwop.cap.exceeded", "kind", r->cap_kind ? r->cap_kind : "unknown",
           LOG_NUMBER "limit", record_number(r->cap_limit).text, LOG_NUMBER "observed",
           record_number(r->cap_observed).text);
    log_scope_leave(&s.scope);
}

void record_node(const struct otel *o, const struct trace_run *r, const struct trace_node *n,
                 const char *status, int64_t at_ms) {
    struct record_scope s;
    record_enter(&s, o, r, n);
    RECORD(LOG_INFO, "openwop.node.completed", "nodeId", n->id, "nodeType",
           n->type ? n->type : "unknown", "status", status, LOG_NUMBER "durationMs",
           record_number(record_since(n->start_ms, at_ms)).text, LOG_NUMBER "attempt",
           record_number(n->attempt).text);
    log_scope_leave(&s.scope);
}

void record_activity(const struct otel *o, const struct trace_run *r, const struct trace_node *n,
                     const struct trace_request *q, bool good, int64_t at_ms) {
    struct record_scope s;
    record_enter(&s, o, r, n);
    RECORD(LOG_INFO, "openwop.activity.invoked", "nodeId", n->id, "provider",
           q->provider ? q->provider : "", "status", good ? "success" : "error",
           LOG_NUMBER "latencyMs", record_number(record_since(q->start_ms, at_ms)).text);
    log_scope_leave(&s.scope);
}

void record_mcp(const struct otel *o, const struct trace_run *r, const struct trace_node *n,
                const struct trace_request *q, struct str server, struct str code, bool good,
                int64_t at_ms) {
    struct record_scope s;
    char module[128], error[64];
    (void)snprintf(module, sizeof module, STR_FMT, STR_ARG(server));
    (void)snprintf(error, sizeof error, STR_FMT, STR_ARG(code));
    record_enter(&s, o, r, n);
    if (code.n > 0)
        RECORD(LOG_INFO, "openwop.mcp.invocation", "invocationId", q->id, "moduleId", module,
               "nodeId", n->id, "status", good ? "success" : "error", "errorCode", error,
               LOG_NUMBER "latencyMs", record_number(record_since(q->start_ms, at_ms)).text);
    else
        RECORD(LOG_INFO, "openwop.mcp.invocation", "invocationId", q->id, "moduleId", module,
               "nodeId", n->id, "status", good ? "success" : "error", LOG_NUMBER "latencyMs",
               record_number(record_since(q->start_ms, at_ms)).text);
    log_scope_leave(&s.scope);
}

void record_cost(const struct otel *o, const struct trace_run *r, const struct trace_node *n,
                 const struct cost *c) {
    struct record_scope s;
    char provider[128], usd[COST_USD_SIZE] = "0";
    (void)snprintf(provider, sizeof provider, STR_FMT, STR_ARG(c->provider));
    if (c->priced) cost_usd_format(c->usd_pico, usd);
    record_enter(&s, o, r, n);
    if (c->priced)
        RECORD(LOG_INFO, "openwop.cost.recorded", "nodeId", n->id, "provider", provider,
               LOG_NUMBER "tokensInput", record_number(c->input).text, LOG_NUMBER "tokensOutput",
               record_number(c->output).text, LOG_NUMBER "usd", usd, "currency", "USD");
    else
        RECORD(LOG_INFO, "openwop.cost.recorded", "nodeId", n->id, "provider", provider,
               LOG_NUMBER "tokensInput", record_number(c->input).text, LOG_NUMBER "tokensOutput",
               record_number(c->output).text);
    log_scope_leave(&s.scope);
}
