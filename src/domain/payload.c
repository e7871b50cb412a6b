/*
 * payload.c: builders of event payloads.  The keys are those of 20-runtime 1.3 that D26 also
 * allows, in a fixed order (D32); caller JSON is spliced as it is (D33).  A builder that runs out
 * of memory returns STR_NONE, which plan_event refuses; plan_event also checks the limit of one
 * payload, so builders only respect that of a plan.
 */
#include "codec/ident.h"
#include "codec/jobj.h"
#include "domain/cost.h"
#include "domain/plan.h"

#include <stdio.h>

static void key_object(struct jobj *p, const char *key, struct str json) {
    jw_kraw(&p->w, key, json.n > 0 ? json : STR("{}"));
}

static void key_duration(struct jobj *p, int64_t ms) {
    jw_kint(&p->w, "durationMs", ms > 0 ? ms : 0);
}

static void key_time(struct jobj *p, const char *key, int64_t ms) {
    char text[TIME_LEN + 1];
    time_format(ms, text);
    jw_kstrz(&p->w, key, text);
}

static void key_version(struct jobj *p, int32_t version) { /* text in events (EVT-5, D29) */
    char text[16];
    snprintf(text, sizeof text, "%d", (int)version);
    jw_kstrz(&p->w, "engineVersion", text);
}

struct str pay_run_started(struct arena *a, const struct run_state *s, struct str masked_inputs) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr(&p.w, "workflowId", s->meta.workflow_id);
    jw_kraw_opt(&p.w, "inputs", masked_inputs);
    jw_kstr_opt(&p.w, "transport", s->meta.transport);
    key_version(&p, s->meta.shown_engine_version);
    jw_kraw_opt(&p.w, "tags", s->meta.tags);
    jw_kraw_opt(&p.w, "metadata", s->meta.metadata);
    jw_kstr_opt(&p.w, "agentSet", s->meta.agents_digest); /* AGT-46 */
    return jobj_end(&p, a);
}

struct str pay_run_completed(struct arena *a, struct str outputs, int64_t duration_ms) {
    return pay_run_ended(a, outputs, STR_NONE, duration_ms);
}

struct str pay_run_ended(struct arena *a, struct str outputs, struct str reason,
                         int64_t duration_ms) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr_opt(&p.w, "reason", reason);
    key_object(&p, "outputs", outputs);
    key_duration(&p, duration_ms);
    return jobj_end(&p, a);
}

struct str pay_run_failed(struct arena *a, struct str error, struct str node_id,
                          int64_t duration_ms) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kraw_opt(&p.w, "error", error);
    jw_kstr_opt(&p.w, "failedNodeId", node_id);
    key_duration(&p, duration_ms);
    return jobj_end(&p, a);
}

struct str pay_run_cancelled(struct arena *a, struct str reason, struct str by,
                             int64_t duration_ms) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr_opt(&p.w, "reason", reason);
    jw_kstr_opt(&p.w, "cancelledBy", by);
    key_duration(&p, duration_ms);
    return jobj_end(&p, a);
}

struct str pay_run_paused(struct arena *a, struct str reason, struct str drain_policy,
                          struct str node_id, int attempt) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr_opt(&p.w, "reason", reason);
    jw_kstr_opt(&p.w, "drainPolicy", drain_policy);
    jw_kstr_opt(&p.w, "interruptedNodeId", node_id);
    if (node_id.n > 0 && attempt >= 0) /* one-based in this key (D36) */
        jw_kint(&p.w, "interruptedAttempt", (int64_t)attempt + 1);
    return jobj_end(&p, a);
}

struct str pay_reason(struct arena *a, struct str reason) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr_opt(&p.w, "reason", reason);
    return jobj_end(&p, a);
}

struct str pay_run_resuming(struct arena *a) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstrz(&p.w, "fromStatus", run_status_name(RUN_PAUSED)); /* EVT-31 */
    return jobj_end(&p, a);
}

struct str pay_node_started(struct arena *a, struct str node_id, struct str type_id, int attempt) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kstr(&p.w, "typeId", type_id);
    jw_kint(&p.w, "attempt", attempt);
    return jobj_end(&p, a);
}

struct str pay_of_agent(struct arena *a, struct str payload, struct str agent) {
    return agent.n == 0 ? payload : pay_member(a, payload, "agent", agent);
}

struct str pay_member(struct arena *a, struct str payload, const char *name, struct str raw) {
    struct buf b;
    if (payload.n < 2) return payload;
    if (raw.n == 0) return STR_NONE;
    buf_init(&b, PLAN_BYTES_MAX);
    buf_adds(&b, str_n(payload.p, payload.n - 1));
    buf_addf(&b, "%s\"%s\":", payload.n > 2 ? "," : "", name);
    buf_adds(&b, raw);
    buf_addc(&b, '}');
    struct str out = buf_failed(&b) ? STR_NONE : arena_str(a, buf_str(&b));
    buf_fini(&b);
    return out;
}

struct str pay_node_completed(struct arena *a, struct str node_id, struct str outputs,
                              int64_t duration_ms) {
    return pay_node_cost(a, node_id, outputs, duration_ms, STR_NONE);
}

struct str pay_node_cost(struct arena *a, struct str node_id, struct str outputs,
                         int64_t duration_ms, struct str cost) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    cost_put(&p.w, cost);
    jw_kstr(&p.w, "nodeId", node_id);
    key_object(&p, "outputs", outputs);
    key_duration(&p, duration_ms);
    return jobj_end(&p, a);
}

struct str pay_node_failed(struct arena *a, struct str node_id, struct str error, int attempts) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kraw_opt(&p.w, "error", error);
    jw_kint(&p.w, "attempts", attempts);
    return jobj_end(&p, a);
}

struct str pay_node_retried(struct arena *a, struct str node_id, int attempt, int64_t delay_ms,
                            struct str last_error) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kint(&p.w, "attempt", attempt);
    jw_kint(&p.w, "delayMs", delay_ms);
    jw_kraw_opt(&p.w, "lastError", last_error);
    return jobj_end(&p, a);
}

struct str pay_node_reason(struct arena *a, struct str node_id, const char *reason) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kstrz_opt(&p.w, "reason", reason);
    return jobj_end(&p, a);
}

struct str pay_node_suspended(struct arena *a, struct str node_id, struct str interrupt_id,
                              const char *kind, const char *reason) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kstr(&p.w, "interruptId", interrupt_id);
    jw_kstrz_opt(&p.w, "kind", kind); /* left out for the four newer kinds (EVT-14 b) */
    jw_kstrz_opt(&p.w, "reason", reason);
    return jobj_end(&p, a);
}

struct str pay_child_suspended(struct arena *a, struct str node_id, struct str interrupt_id,
                               struct str kind, struct str child_run_id) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kstr(&p.w, "interruptId", interrupt_id);
    jw_kraw_opt(&p.w, "kind", kind);
    jw_kstrz(&p.w, "reason", "child-suspended");
    jw_kstr(&p.w, "childRunId", child_run_id);
    return jobj_end(&p, a);
}

struct str pay_node_resumed(struct arena *a, struct str node_id, struct str interrupt_id,
                            struct str value) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kstr_opt(&p.w, "interruptId", interrupt_id);
    jw_kraw_opt(&p.w, "resumeValue", value);
    return jobj_end(&p, a);
}

struct str pay_channel_entry(struct arena *a, const struct pay_channel *w) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr(&p.w, "channel", w->channel);
    jw_kraw(&p.w, "value", w->value.n > 0 ? w->value : STR("null"));
    jw_kstrz(&p.w, "reducer", w->reducer);
    key_time(&p, "writtenAt", w->written_ms);
    jw_kstr_opt(&p.w, "nodeId", w->node_id);
    if (w->schema_version > 0) jw_kint(&p.w, "schemaVersion", w->schema_version);
    jw_kstr_opt(&p.w, "sourceEngineId", w->engine_id);
    jw_kstr_opt(&p.w, "sourceRunId", w->run_id);
    return jobj_end(&p, a);
}

struct str pay_channel_written(struct arena *a, struct str channel, struct str value,
                               const char *reducer, int64_t written_ms, struct str node_id,
                               int64_t schema_version) {
    const struct pay_channel w = {.channel = channel,
                                  .value = value,
                                  .reducer = reducer,
                                  .written_ms = written_ms,
                                  .node_id = node_id,
                                  .schema_version = schema_version};
    return pay_channel_entry(a, &w);
}

struct str pay_version_pinned(struct arena *a, struct str change_id, int64_t version,
                              struct str node_id) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr(&p.w, "changeId", change_id);
    jw_kint(&p.w, "version", version);
    jw_kstr_opt(&p.w, "nodeId", node_id);
    return jobj_end(&p, a);
}

struct str pay_variable_changed(struct arena *a, struct str name, struct str previous,
                                struct str next, struct str node_id) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr(&p.w, "name", name);
    jw_kraw_opt(&p.w, "previous", previous);
    jw_kraw_opt(&p.w, "next", next);
    jw_kstr_opt(&p.w, "nodeId", node_id);
    return jobj_end(&p, a);
}

struct str pay_log(struct arena *a, const char *level, struct str message, struct str node_id,
                   struct str fields) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstrz(&p.w, "level", level);
    jw_kstr(&p.w, "message", message);
    jw_kstr_opt(&p.w, "nodeId", node_id);
    jw_kraw_opt(&p.w, "fields", fields);
    return jobj_end(&p, a);
}

struct str pay_chunk(struct arena *a, struct str node_id, struct str chunk, int is_last,
                     struct str meta) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kstr(&p.w, "chunk", chunk);
    if (is_last >= 0) jw_kbool(&p.w, "isLast", is_last > 0);
    jw_kraw_opt(&p.w, "meta", meta);
    return jobj_end(&p, a);
}

struct str pay_cap(struct arena *a, const char *kind, int64_t limit, int64_t observed,
                   struct str node_id) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstrz(&p.w, "kind", kind);
    jw_kint(&p.w, "limit", limit);
    jw_kint(&p.w, "observed", observed);
    jw_kstr_opt(&p.w, "nodeId", node_id);
    return jobj_end(&p, a);
}

struct str pay_loopback_limit(struct arena *a, struct str node_id, int64_t iterations,
                              int64_t limit) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kint(&p.w, "iterations", iterations);
    jw_kint(&p.w, "limit", limit);
    return jobj_end(&p, a);
}

struct str pay_artifact(struct arena *a, const struct plan_artifact *art) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr(&p.w, "artifactId", art->artifact_id);
    jw_kstr(&p.w, "artifactType", art->artifact_type);
    jw_kstr_opt(&p.w, "nodeId", art->node_id);
    jw_kstr_opt(&p.w, "version", art->version);
    jw_kstr_opt(&p.w, "summary", art->summary);
    return jobj_end(&p, a);
}

struct str pay_restored(struct arena *a, int64_t from_seq) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    if (from_seq >= 0) jw_kint(&p.w, "fromSnapshotSeq", from_seq);
    key_version(&p, CURRENT_ENGINE_VERSION);
    return jobj_end(&p, a);
}

struct str pay_lease(struct arena *a, struct str lease_id, struct str instance_id,
                     int64_t expires_ms, bool had_previous) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr(&p.w, "leaseId", lease_id);
    jw_kstrz(&p.w, "host", "cloud"); /* CX-30 */
    jw_kstr_opt(&p.w, "instanceId", instance_id);
    if (expires_ms > 0) key_time(&p, "expiresAt", expires_ms);
    if (had_previous) jw_kstrz(&p.w, "previousHost", "cloud");
    return jobj_end(&p, a);
}

struct str pay_lease_handed(struct arena *a, struct str lease_id, const char *reason) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr(&p.w, "leaseId", lease_id);
    jw_kstrz(&p.w, "fromHost", "cloud"); /* CX-30 */
    jw_kstrz(&p.w, "toHost", "cloud");
    jw_kstrz(&p.w, "reason", reason);
    return jobj_end(&p, a);
}

struct str err_json(struct arena *a, struct str code, struct str message, struct str details,
                    int retryable) {
    struct jobj p;
    struct buf clean;
    bool failed = false;
    buf_init(&clean, PLAN_BYTES_MAX);
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr(&p.w, "code", code);
    redact_text(message.n > 0 ? message : code, STR_NONE, &clean); /* never empty (NODE-12) */
    failed = buf_failed(&clean);
    jw_kstr(&p.w, "message", buf_str(&clean));
    if (details.n > 0) {
        buf_reset(&clean);
        failed = failed || redact_json(details, STR_NONE, &clean, NULL) != 0;
        jw_kraw(&p.w, "details", buf_str(&clean));
    }
    if (retryable >= 0) jw_kbool(&p.w, "retryable", retryable > 0);
    struct str out = jobj_end(&p, a);
    buf_fini(&clean);
    return failed ? STR_NONE : out;
}
