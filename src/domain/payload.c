/*
 * payload.c: builders of event payloads.  The keys are those of 20-runtime 1.3 that D26 also
 * allows, in a fixed order (D32); caller JSON is spliced as it is (D33).  A builder that runs out
 * of memory gives STR_NONE, which plan_event refuses.
 */
#include "domain/payload_int.h"

#include <stdio.h>

static void key_object(struct pay *p, const char *key, struct str json) {
    jw_kraw(&p->w, key, json.n > 0 ? json : STR("{}"));
}

static void key_duration(struct pay *p, int64_t ms) {
    jw_kint(&p->w, "durationMs", ms > 0 ? ms : 0);
}

static void key_time(struct pay *p, const char *key, int64_t ms) {
    char text[TIME_LEN + 1];
    time_format(ms, text);
    jw_kstrz(&p->w, key, text);
}

static void key_version(struct pay *p, int32_t version) { /* text in events (EVT-5, D29) */
    char text[16];
    snprintf(text, sizeof text, "%d", (int)version);
    jw_kstrz(&p->w, "engineVersion", text);
}

struct str pay_run_started(struct arena *a, const struct run_state *s, struct str masked_inputs) {
    struct pay p;
    pay_begin(&p);
    jw_kstr(&p.w, "workflowId", s->meta.workflow_id);
    opt_raw(&p, "inputs", masked_inputs);
    opt_str(&p, "transport", s->meta.transport);
    key_version(&p, s->meta.shown_engine_version);
    opt_raw(&p, "tags", s->meta.tags);
    opt_raw(&p, "metadata", s->meta.metadata);
    return pay_end(&p, a);
}

struct str pay_run_completed(struct arena *a, struct str outputs, int64_t duration_ms) {
    struct pay p;
    pay_begin(&p);
    key_object(&p, "outputs", outputs);
    key_duration(&p, duration_ms);
    return pay_end(&p, a);
}

struct str pay_run_failed(struct arena *a, struct str error, struct str node_id,
                          int64_t duration_ms) {
    struct pay p;
    pay_begin(&p);
    opt_raw(&p, "error", error);
    opt_str(&p, "failedNodeId", node_id);
    key_duration(&p, duration_ms);
    return pay_end(&p, a);
}

struct str pay_run_cancelled(struct arena *a, struct str reason, struct str by,
                             int64_t duration_ms) {
    struct pay p;
    pay_begin(&p);
    opt_str(&p, "reason", reason);
    opt_str(&p, "cancelledBy", by);
    key_duration(&p, duration_ms);
    return pay_end(&p, a);
}

struct str pay_run_paused(struct arena *a, struct str reason, struct str drain_policy,
                          struct str node_id, int attempt) {
    struct pay p;
    pay_begin(&p);
    opt_str(&p, "reason", reason);
    opt_str(&p, "drainPolicy", drain_policy);
    opt_str(&p, "interruptedNodeId", node_id);
    if (node_id.n > 0 && attempt >= 0) /* one-based in this key (D36) */
        jw_kint(&p.w, "interruptedAttempt", (int64_t)attempt + 1);
    return pay_end(&p, a);
}

struct str pay_reason(struct arena *a, struct str reason) {
    struct pay p;
    pay_begin(&p);
    opt_str(&p, "reason", reason);
    return pay_end(&p, a);
}

struct str pay_run_resuming(struct arena *a) {
    struct pay p;
    pay_begin(&p);
    jw_kstrz(&p.w, "fromStatus", run_status_name(RUN_PAUSED)); /* EVT-31 */
    return pay_end(&p, a);
}

struct str pay_node_started(struct arena *a, struct str node_id, struct str type_id, int attempt) {
    struct pay p;
    pay_begin(&p);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kstr(&p.w, "typeId", type_id);
    jw_kint(&p.w, "attempt", attempt);
    return pay_end(&p, a);
}

struct str pay_node_completed(struct arena *a, struct str node_id, struct str outputs,
                              int64_t duration_ms) {
    struct pay p;
    pay_begin(&p);
    jw_kstr(&p.w, "nodeId", node_id);
    key_object(&p, "outputs", outputs);
    key_duration(&p, duration_ms);
    return pay_end(&p, a);
}

struct str pay_node_failed(struct arena *a, struct str node_id, struct str error, int attempts) {
    struct pay p;
    pay_begin(&p);
    jw_kstr(&p.w, "nodeId", node_id);
    opt_raw(&p, "error", error);
    jw_kint(&p.w, "attempts", attempts);
    return pay_end(&p, a);
}

struct str pay_node_retried(struct arena *a, struct str node_id, int attempt, int64_t delay_ms,
                            struct str last_error) {
    struct pay p;
    pay_begin(&p);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kint(&p.w, "attempt", attempt);
    jw_kint(&p.w, "delayMs", delay_ms);
    opt_raw(&p, "lastError", last_error);
    return pay_end(&p, a);
}

struct str pay_node_reason(struct arena *a, struct str node_id, const char *reason) {
    struct pay p;
    pay_begin(&p);
    jw_kstr(&p.w, "nodeId", node_id);
    opt_strz(&p, "reason", reason);
    return pay_end(&p, a);
}

struct str pay_node_suspended(struct arena *a, struct str node_id, struct str interrupt_id,
                              const char *kind, const char *reason) {
    struct pay p;
    pay_begin(&p);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kstr(&p.w, "interruptId", interrupt_id);
    opt_strz(&p, "kind", kind); /* left out for the four newer kinds (EVT-14 b) */
    opt_strz(&p, "reason", reason);
    return pay_end(&p, a);
}

struct str pay_child_suspended(struct arena *a, struct str node_id, struct str interrupt_id,
                               struct str kind, struct str child_run_id) {
    struct pay p;
    pay_begin(&p);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kstr(&p.w, "interruptId", interrupt_id);
    opt_raw(&p, "kind", kind);
    jw_kstrz(&p.w, "reason", "child-suspended");
    jw_kstr(&p.w, "childRunId", child_run_id);
    return pay_end(&p, a);
}

struct str pay_node_resumed(struct arena *a, struct str node_id, struct str interrupt_id,
                            struct str value) {
    struct pay p;
    pay_begin(&p);
    jw_kstr(&p.w, "nodeId", node_id);
    opt_str(&p, "interruptId", interrupt_id);
    opt_raw(&p, "resumeValue", value);
    return pay_end(&p, a);
}

struct str pay_channel_written(struct arena *a, struct str channel, struct str value,
                               const char *reducer, int64_t written_ms, struct str node_id,
                               int64_t schema_version) {
    struct pay p;
    pay_begin(&p);
    jw_kstr(&p.w, "channel", channel);
    jw_kraw(&p.w, "value", value.n > 0 ? value : STR("null"));
    jw_kstrz(&p.w, "reducer", reducer);
    key_time(&p, "writtenAt", written_ms);
    opt_str(&p, "nodeId", node_id);
    if (schema_version > 0) jw_kint(&p.w, "schemaVersion", schema_version);
    return pay_end(&p, a);
}

struct str pay_version_pinned(struct arena *a, struct str change_id, int64_t version,
                              struct str node_id) {
    struct pay p;
    pay_begin(&p);
    jw_kstr(&p.w, "changeId", change_id);
    jw_kint(&p.w, "version", version);
    opt_str(&p, "nodeId", node_id);
    return pay_end(&p, a);
}

struct str pay_variable_changed(struct arena *a, struct str name, struct str previous,
                                struct str next, struct str node_id) {
    struct pay p;
    pay_begin(&p);
    jw_kstr(&p.w, "name", name);
    opt_raw(&p, "previous", previous);
    opt_raw(&p, "next", next);
    opt_str(&p, "nodeId", node_id);
    return pay_end(&p, a);
}

struct str pay_log(struct arena *a, const char *level, struct str message, struct str node_id,
                   struct str fields) {
    struct pay p;
    pay_begin(&p);
    jw_kstrz(&p.w, "level", level);
    jw_kstr(&p.w, "message", message);
    opt_str(&p, "nodeId", node_id);
    opt_raw(&p, "fields", fields);
    return pay_end(&p, a);
}

struct str pay_chunk(struct arena *a, struct str node_id, struct str chunk, int is_last,
                     struct str meta) {
    struct pay p;
    pay_begin(&p);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kstr(&p.w, "chunk", chunk);
    if (is_last >= 0) jw_kbool(&p.w, "isLast", is_last > 0);
    opt_raw(&p, "meta", meta);
    return pay_end(&p, a);
}

struct str pay_cap(struct arena *a, const char *kind, int64_t limit, int64_t observed,
                   struct str node_id) {
    struct pay p;
    pay_begin(&p);
    jw_kstrz(&p.w, "kind", kind);
    jw_kint(&p.w, "limit", limit);
    jw_kint(&p.w, "observed", observed);
    opt_str(&p, "nodeId", node_id);
    return pay_end(&p, a);
}

struct str pay_loopback_limit(struct arena *a, struct str node_id, int64_t iterations,
                              int64_t limit) {
    struct pay p;
    pay_begin(&p);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kint(&p.w, "iterations", iterations);
    jw_kint(&p.w, "limit", limit);
    return pay_end(&p, a);
}

struct str pay_artifact(struct arena *a, const struct plan_artifact *art) {
    struct pay p;
    pay_begin(&p);
    jw_kstr(&p.w, "artifactId", art->artifact_id);
    jw_kstr(&p.w, "artifactType", art->artifact_type);
    opt_str(&p, "nodeId", art->node_id);
    opt_str(&p, "version", art->version);
    opt_str(&p, "summary", art->summary);
    return pay_end(&p, a);
}

struct str pay_restored(struct arena *a, int64_t from_seq) {
    struct pay p;
    pay_begin(&p);
    if (from_seq >= 0) jw_kint(&p.w, "fromSnapshotSeq", from_seq);
    key_version(&p, CURRENT_ENGINE_VERSION);
    return pay_end(&p, a);
}

struct str pay_lease(struct arena *a, struct str lease_id, struct str instance_id,
                     int64_t expires_ms, bool had_previous) {
    struct pay p;
    pay_begin(&p);
    jw_kstr(&p.w, "leaseId", lease_id);
    jw_kstrz(&p.w, "host", "cloud"); /* CX-30 */
    opt_str(&p, "instanceId", instance_id);
    if (expires_ms > 0) key_time(&p, "expiresAt", expires_ms);
    if (had_previous) jw_kstrz(&p.w, "previousHost", "cloud");
    return pay_end(&p, a);
}

struct str pay_lease_handed(struct arena *a, struct str lease_id, const char *reason) {
    struct pay p;
    pay_begin(&p);
    jw_kstr(&p.w, "leaseId", lease_id);
    jw_kstrz(&p.w, "fromHost", "cloud"); /* CX-30 */
    jw_kstrz(&p.w, "toHost", "cloud");
    jw_kstrz(&p.w, "reason", reason);
    return pay_end(&p, a);
}

struct str err_json(struct arena *a, struct str code, struct str message, struct str details,
                    int retryable) {
    struct pay p;
    struct buf clean;
    bool failed = false;
    buf_init(&clean, PLAN_BYTES_MAX);
    pay_begin(&p);
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
    struct str out = pay_end(&p, a);
    buf_fini(&clean);
    return failed ? STR_NONE : out;
}
