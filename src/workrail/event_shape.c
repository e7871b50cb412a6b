/*
 * event_shape.c: section 2.4 as tables.  Members in byte order of their names.
 */
#include "workrail/event_shape.h"

#define AT(path)         offsetof(union wr_payload, path)
#define IN(type, member) offsetof(struct type, member)
#define ID(name, at, kind)                                                                         \
    { name, WF_ID, 0, at, NULL, 0, kind }
#define TEXT(name, at, max_bytes)                                                                  \
    { name, WF_TEXT, 0, at, NULL, 1, max_bytes }
#define ENUM(name, at, names)                                                                      \
    { name, WF_ENUM, 0, at, &(names), 0, 0 }
#define LIST(name, at, shape, lo, hi)                                                              \
    { name, WF_LIST, 0, at, &(shape), lo, hi }
#define DIGEST(name, at)                                                                           \
    { name, WF_DIGEST, 0, at, NULL, 0, 0 }
#define CONST(name, text)                                                                          \
    { name, WF_CONST, 0, 0, text, 0, 0 }
#define TAG(name)                                                                                  \
    { name, WF_TAG, 0, 0, NULL, 0, 0 }

static const char *const KINDS[] = {
    "session_created",      "observation_recorded", "run_started",
    "node_created",         "edge_created",         "advance_recorded",
    "node_output_appended", "preferences_changed",  "capability_observed",
    "gap_recorded",         "divergence_recorded",  "decision_trace_appended",
    "context_set",          "validation_performed"};
const struct wr_names WR_KIND_NAMES = WR_NAMES(KINDS);
_Static_assert(sizeof KINDS / sizeof *KINDS == WR_KINDS, "a kind has no name");

static const char *const SOURCES[] = {"bundled", "user", "project", "remote", "plugin"};
static const char *const CAPABILITIES[] = {"delegation", "web_browsing"};
static const char *const AUTONOMIES[] = {"guided", "full_auto_stop_on_user_deps",
                                         "full_auto_never_stop"};
static const char *const RISKS[] = {"conservative", "balanced", "aggressive"};
static const char *const BLOCKERS[] = {
    "USER_ONLY_DEPENDENCY",        "MISSING_REQUIRED_OUTPUT",         "INVALID_REQUIRED_OUTPUT",
    "REQUIRED_CAPABILITY_UNKNOWN", "REQUIRED_CAPABILITY_UNAVAILABLE", "INVARIANT_VIOLATION",
    "STORAGE_CORRUPTION_DETECTED", "MISSING_REQUIRED_NOTES",          "MISSING_CONTEXT_KEY",
    "CONTEXT_BUDGET_EXCEEDED",     "ASSESSMENT_FOLLOWUP_REQUIRED"};
static const char *const CATEGORIES[] = {"user_only_dependency", "contract_violation",
                                         "capability_missing", "unexpected"};
static const char *const DETAILS[] = {
    "needs_user_secret_or_token",  "needs_user_account_access",
    "needs_user_artifact",         "needs_user_choice",
    "needs_user_approval",         "needs_user_environment_action",
    "missing_required_output",     "invalid_required_output",
    "missing_required_notes",      "required_capability_unavailable",
    "required_capability_unknown", "invariant_violation",
    "storage_corruption_detected", "evaluation_error"};
_Static_assert(sizeof DETAILS / sizeof *DETAILS == WR_DETAILS, "a detail has no name");
const struct wr_names WR_SOURCE_NAMES = WR_NAMES(SOURCES);
const struct wr_names WR_CAPABILITY_NAMES = WR_NAMES(CAPABILITIES);
const struct wr_names WR_AUTONOMY_NAMES = WR_NAMES(AUTONOMIES);
const struct wr_names WR_RISK_NAMES = WR_NAMES(RISKS);
const struct wr_names WR_BLOCKER_NAMES = WR_NAMES(BLOCKERS);
const struct wr_names WR_CATEGORY_NAMES = WR_NAMES(CATEGORIES);
const struct wr_names WR_DETAIL_NAMES = WR_NAMES(DETAILS);

/* --- run, nodes, edges --- */

static const struct wr_shape CREATED = {.fields = NULL, .nr = 0, .size = sizeof(union wr_payload)};

static const struct wr_field RUN_FIELDS[] = {
    DIGEST("workflowHash", AT(run.workflow_hash)),
    TEXT("workflowId", AT(run.workflow_id), 256),
    ENUM("workflowSourceKind", AT(run.source_kind), WR_SOURCE_NAMES),
    TEXT("workflowSourceRef", AT(run.source_ref), 1024),
};
static const struct wr_shape RUN = WR_SHAPE(RUN_FIELDS, union wr_payload);

static const char *const NODE_KINDS[] = {"step", "checkpoint", "blocked_attempt"};
static const struct wr_names NODE_KIND_NAMES = WR_NAMES(NODE_KINDS);
static const struct wr_field NODE_FIELDS[] = {
    ENUM("nodeKind", AT(node.kind), NODE_KIND_NAMES),
    {"parentNodeId", WF_ID, WF_NULL, AT(node.parent_node_id), NULL, 0, WR_ID_NODE},
    DIGEST("snapshotRef", AT(node.snapshot_ref)),
    DIGEST("workflowHash", AT(node.workflow_hash)),
};
static const struct wr_shape NODE = WR_SHAPE(NODE_FIELDS, union wr_payload);

static const char *const EDGE_KINDS[] = {"acked_step", "checkpoint"};
static const char *const CAUSES[] = {"idempotent_replay", "intentional_fork", "non_tip_advance",
                                     "checkpoint_created"};
static const struct wr_names EDGE_KIND_NAMES = WR_NAMES(EDGE_KINDS), CAUSE_NAMES = WR_NAMES(CAUSES);
static const struct wr_field CAUSE_FIELDS[] = {
    ID("eventId", AT(edge.cause_event_id), WR_ID_EVENT),
    ENUM("kind", AT(edge.cause), CAUSE_NAMES),
};
static const struct wr_shape CAUSE = WR_SHAPE(CAUSE_FIELDS, union wr_payload);
static const struct wr_field EDGE_FIELDS[] = {
    {"cause", WF_SHAPE, 0, 0, &CAUSE, 0, 0},
    ENUM("edgeKind", AT(edge.kind), EDGE_KIND_NAMES),
    ID("fromNodeId", AT(edge.from_node_id), WR_ID_NODE),
    ID("toNodeId", AT(edge.to_node_id), WR_ID_NODE),
};
static int edge_check(const void *base, struct wr_fault *f) {
    const union wr_payload *u = base;
    if ((u->edge.kind == WR_EDGE_CHECKPOINT) != (u->edge.cause == WR_CHECKPOINT_CREATED))
        return wr_fail(f, WR_SCHEMA_INVALID, "/cause/kind", "the cause does not fit the edge");
    return 0;
}
static const struct wr_shape EDGE = WR_SHAPE_CHECKED(EDGE_FIELDS, union wr_payload, edge_check);

/* --- blockers, advances --- */

static const char *const POINTERS[] = {"context_key", "context_budget", "output_contract",
                                       "capability", "workflow_step"};
static const struct wr_field P_KEY_FIELDS[] = {
    {"key", WF_WORD, 0, IN(wr_blocker, pointer.text), NULL, 0, 0}, TAG("kind")};
static const struct wr_field P_BUDGET_FIELDS[] = {TAG("kind")};
static const struct wr_field P_CONTRACT_FIELDS[] = {
    TEXT("contractRef", IN(wr_blocker, pointer.text), 128), TAG("kind")};
static const struct wr_field P_CAPABILITY_FIELDS[] = {
    ENUM("capability", IN(wr_blocker, pointer.capability), WR_CAPABILITY_NAMES), TAG("kind")};
static const struct wr_field P_STEP_FIELDS[] = {
    TAG("kind"), {"stepId", WF_STEP, 0, IN(wr_blocker, pointer.text), NULL, 0, 0}};
static const struct wr_shape P_KEY = WR_SHAPE(P_KEY_FIELDS, struct wr_blocker),
                             P_BUDGET = WR_SHAPE(P_BUDGET_FIELDS, struct wr_blocker),
                             P_CONTRACT = WR_SHAPE(P_CONTRACT_FIELDS, struct wr_blocker),
                             P_CAPABILITY = WR_SHAPE(P_CAPABILITY_FIELDS, struct wr_blocker),
                             P_STEP = WR_SHAPE(P_STEP_FIELDS, struct wr_blocker);
static const struct wr_shape *const POINTER_SHAPES[] = {&P_KEY, &P_BUDGET, &P_CONTRACT,
                                                        &P_CAPABILITY, &P_STEP};
static const struct wr_union POINTER = {"kind", WR_NAMES(POINTERS), POINTER_SHAPES,
                                        IN(wr_blocker, pointer.kind)};
static const struct wr_field BLOCKER_FIELDS[] = {
    ENUM("code", IN(wr_blocker, code), WR_BLOCKER_NAMES),
    TEXT("message", IN(wr_blocker, message), WR_BLOCKER_MESSAGE_MAX),
    {"pointer", WF_UNION, 0, 0, &POINTER, 0, 0},
    {"suggestedFix", WF_TEXT, WF_OPT, IN(wr_blocker, fix), NULL, 1, WR_BLOCKER_FIX_MAX},
};
static const struct wr_shape BLOCKER = WR_SHAPE(BLOCKER_FIELDS, struct wr_blocker);
static const struct wr_field REPORT_FIELDS[] = {
    {"blockers", WF_LIST, 0, 0, &BLOCKER, 1, WR_BLOCKERS_MAX},
};
static int report_check(const void *base, struct wr_fault *f) { return wr_report_check(base, f); }
const struct wr_shape WR_REPORT_SHAPE =
    WR_SHAPE_CHECKED(REPORT_FIELDS, struct wr_report, report_check);

static const char *const OUTCOMES[] = {"advanced", "blocked"};
static const struct wr_field ADVANCED_FIELDS[] = {
    TAG("kind"), ID("toNodeId", AT(advance.to_node_id), WR_ID_NODE)};
static const struct wr_field BLOCKED_FIELDS[] = {
    {"blockers", WF_SHAPE, 0, AT(advance.report), &WR_REPORT_SHAPE, 0, 0}, TAG("kind")};
static const struct wr_shape ADVANCED = WR_SHAPE(ADVANCED_FIELDS, union wr_payload),
                             BLOCKED = WR_SHAPE(BLOCKED_FIELDS, union wr_payload);
static const struct wr_shape *const OUTCOME_SHAPES[] = {&ADVANCED, &BLOCKED};
static const struct wr_union OUTCOME = {"kind", WR_NAMES(OUTCOMES), OUTCOME_SHAPES,
                                        AT(advance.outcome)};
static const struct wr_field ADVANCE_FIELDS[] = {
    ID("attemptId", AT(advance.attempt_id), WR_ID_ATTEMPT),
    CONST("intent", "ack_pending"),
    {"outcome", WF_UNION, 0, 0, &OUTCOME, 0, 0},
};
static const struct wr_shape ADVANCE = WR_SHAPE(ADVANCE_FIELDS, union wr_payload);

/* --- outputs --- */

static const char *const CHANNELS[] = {"recap", "artifact"};
static const char *const PAYLOAD_KINDS[] = {"notes", "artifact_ref"};
static const struct wr_names CHANNEL_NAMES = WR_NAMES(CHANNELS);
static const struct wr_field NOTES_FIELDS[] = {
    {"notesMarkdown", WF_TEXT, 0, AT(output.notes), NULL, 1, WR_NOTES_MAX}, TAG("payloadKind")};
static const struct wr_field ARTIFACT_FIELDS[] = {
    {"byteLength", WF_INT, 0, AT(output.byte_length), NULL, 0, 0},
    TEXT("contentType", AT(output.content_type), 128),
    TAG("payloadKind"),
    DIGEST("sha256", AT(output.sha256)),
};
static const struct wr_shape NOTES = WR_SHAPE(NOTES_FIELDS, union wr_payload),
                             ARTIFACT = WR_SHAPE(ARTIFACT_FIELDS, union wr_payload);
static const struct wr_shape *const OUTPUT_SHAPES[] = {&NOTES, &ARTIFACT};
static const struct wr_union OUTPUT_PAYLOAD = {"payloadKind", WR_NAMES(PAYLOAD_KINDS),
                                               OUTPUT_SHAPES, AT(output.payload_kind)};
static const struct wr_field OUTPUT_FIELDS[] = {
    ENUM("outputChannel", AT(output.channel), CHANNEL_NAMES),
    ID("outputId", AT(output.output_id), WR_ID_OUTPUT),
    {"payload", WF_UNION, 0, 0, &OUTPUT_PAYLOAD, 0, 0},
    {"supersedesOutputId", WF_ID, WF_OPT, AT(output.supersedes), NULL, 0, WR_ID_OUTPUT},
};
static int output_check(const void *base, struct wr_fault *f) {
    const union wr_payload *u = base;
    if (u->output.channel != u->output.payload_kind)
        return wr_fail(f, WR_SCHEMA_INVALID, "/payload/payloadKind",
                       "the payload does not fit the channel");
    return 0;
}
static const struct wr_shape OUTPUT =
    WR_SHAPE_CHECKED(OUTPUT_FIELDS, union wr_payload, output_check);

/* --- preferences --- */

static const char *const PREFERENCE_KEYS[] = {"autonomy", "riskPolicy"};
static const struct wr_field DELTA_AUTONOMY_FIELDS[] = {
    TAG("key"), ENUM("value", IN(wr_delta, value), WR_AUTONOMY_NAMES)};
static const struct wr_field DELTA_RISK_FIELDS[] = {
    TAG("key"), ENUM("value", IN(wr_delta, value), WR_RISK_NAMES)};
static const struct wr_shape DELTA_AUTONOMY = WR_SHAPE(DELTA_AUTONOMY_FIELDS, struct wr_delta),
                             DELTA_RISK = WR_SHAPE(DELTA_RISK_FIELDS, struct wr_delta);
static const struct wr_shape *const DELTA_SHAPES[] = {&DELTA_AUTONOMY, &DELTA_RISK};
static const struct wr_union DELTA_UNION = {"key", WR_NAMES(PREFERENCE_KEYS), DELTA_SHAPES,
                                            IN(wr_delta, key)};
static const char *const CHANGE_SOURCES[] = {"user", "workflow_recommendation", "system"};
static const struct wr_names CHANGE_SOURCE_NAMES = WR_NAMES(CHANGE_SOURCES);
static const struct wr_field EFFECTIVE_FIELDS[] = {
    ENUM("autonomy", IN(wr_preferences, autonomy), WR_AUTONOMY_NAMES),
    ENUM("riskPolicy", IN(wr_preferences, risk), WR_RISK_NAMES),
};
static const struct wr_shape EFFECTIVE = WR_SHAPE(EFFECTIVE_FIELDS, struct wr_preferences);
static const struct wr_shape DELTA = {.size = sizeof(struct wr_delta), .variants = &DELTA_UNION};
static const struct wr_field PREFERENCES_FIELDS[] = {
    ID("changeId", AT(preferences.change_id), WR_ID_CHANGE),
    LIST("delta", AT(preferences.delta), DELTA, 1, 2),
    {"effective", WF_SHAPE, 0, AT(preferences.effective), &EFFECTIVE, 0, 0},
    ENUM("source", AT(preferences.source), CHANGE_SOURCE_NAMES),
};
static int preferences_check(const void *base, struct wr_fault *f) {
    const union wr_payload *u = base;
    const struct wr_preferences *e = &u->preferences.effective;
    for (size_t i = 0; i < u->preferences.delta.nr; i++) {
        const struct wr_delta *d = &u->preferences.delta.v[i];
        if (i > 0 && d->key == d[-1].key)
            return wr_fail(f, WR_SCHEMA_INVALID, "/delta", "a key is changed twice");
        if (d->value != (d->key == 0 ? e->autonomy : e->risk))
            return wr_fail(f, WR_SCHEMA_INVALID, "/effective",
                           "what holds afterwards is not what was changed");
    }
    return 0;
}
static const struct wr_shape PREFERENCES =
    WR_SHAPE_CHECKED(PREFERENCES_FIELDS, union wr_payload, preferences_check);

/* --- capabilities --- */

static const char *const STATUSES[] = {"unknown", "available", "unavailable"};
static const char *const RESULTS[] = {"success", "failure"};
static const char *const FAILURES[] = {"tool_missing", "tool_error", "policy_blocked", "unknown"};
static const char *const ATTEMPTS[] = {"workflow_step", "system_probe"};
static const char *const CLAIMANTS[] = {"agent", "user"};
static const char *const CLAIMS[] = {"available", "unavailable"};
static const char *const PROVENANCES[] = {"probe_step", "attempted_use", "manual_claim"};
static const struct wr_names STATUS_NAMES = WR_NAMES(STATUSES), RESULT_NAMES = WR_NAMES(RESULTS),
                             FAILURE_NAMES = WR_NAMES(FAILURES), ATTEMPT_NAMES = WR_NAMES(ATTEMPTS),
                             CLAIMANT_NAMES = WR_NAMES(CLAIMANTS), CLAIM_NAMES = WR_NAMES(CLAIMS);
static const struct wr_field PROBE_FIELDS[] = {
    {"probeStepId", WF_STEP, 0, AT(capability.probe_step_id), NULL, 0, 0},
    TEXT("probeTemplateId", AT(capability.probe_template_id), 128),
    ENUM("result", AT(capability.result), RESULT_NAMES),
};
static const struct wr_field USE_FIELDS[] = {
    ENUM("attemptContext", AT(capability.attempt_context), ATTEMPT_NAMES),
    {"failureCode", WF_ENUM, WF_OPT, AT(capability.failure_code), &FAILURE_NAMES, 0, 0},
    ENUM("result", AT(capability.result), RESULT_NAMES),
};
static int use_check(const void *base, struct wr_fault *f) {
    const union wr_payload *u = base;
    if ((u->capability.result == 1) != (u->capability.failure_code >= 0))
        return wr_fail(f, WR_SCHEMA_INVALID, "/failureCode",
                       "there is a failure code exactly when the result is failure");
    return 0;
}
static const struct wr_field CLAIM_FIELDS[] = {
    ENUM("claim", AT(capability.claim), CLAIM_NAMES),
    ENUM("claimedBy", AT(capability.claimed_by), CLAIMANT_NAMES),
};
static const struct wr_shape PROBE = WR_SHAPE(PROBE_FIELDS, union wr_payload),
                             USE = WR_SHAPE_CHECKED(USE_FIELDS, union wr_payload, use_check),
                             CLAIM = WR_SHAPE(CLAIM_FIELDS, union wr_payload);
static const struct wr_field PROBE_STEP_FIELDS[] = {
    {"detail", WF_SHAPE, 0, 0, &PROBE, 0, 0}, CONST("enforcementGrade", "strong"), TAG("kind")};
static const struct wr_field ATTEMPTED_FIELDS[] = {
    {"detail", WF_SHAPE, 0, 0, &USE, 0, 0}, CONST("enforcementGrade", "strong"), TAG("kind")};
static const struct wr_field MANUAL_FIELDS[] = {
    {"detail", WF_SHAPE, 0, 0, &CLAIM, 0, 0}, CONST("enforcementGrade", "weak"), TAG("kind")};
static const struct wr_shape PROBE_STEP = WR_SHAPE(PROBE_STEP_FIELDS, union wr_payload),
                             ATTEMPTED = WR_SHAPE(ATTEMPTED_FIELDS, union wr_payload),
                             MANUAL = WR_SHAPE(MANUAL_FIELDS, union wr_payload);
static const struct wr_shape *const PROVENANCE_SHAPES[] = {&PROBE_STEP, &ATTEMPTED, &MANUAL};
static const struct wr_union PROVENANCE = {"kind", WR_NAMES(PROVENANCES), PROVENANCE_SHAPES,
                                           AT(capability.provenance)};
static const struct wr_field CAPABILITY_FIELDS[] = {
    ID("capObsId", AT(capability.cap_obs_id), WR_ID_CAPABILITY),
    ENUM("capability", AT(capability.capability), WR_CAPABILITY_NAMES),
    {"provenance", WF_UNION, 0, 0, &PROVENANCE, 0, 0},
    ENUM("status", AT(capability.status), STATUS_NAMES),
};
static const struct wr_shape CAPABILITY = WR_SHAPE(CAPABILITY_FIELDS, union wr_payload);

/* --- gaps --- */

static const char *const SEVERITIES[] = {"info", "warning", "critical"};
static const struct wr_names SEVERITY_NAMES = WR_NAMES(SEVERITIES);
static const struct wr_field REASON_FIELDS[] = {
    ENUM("category", AT(gap.category), WR_CATEGORY_NAMES),
    ENUM("detail", AT(gap.detail), WR_DETAIL_NAMES),
};
static int reason_check(const void *base, struct wr_fault *f) {
    const union wr_payload *u = base;
    if ((int)wr_detail_category(u->gap.detail) != u->gap.category)
        return wr_fail(f, WR_SCHEMA_INVALID, "/detail", "the detail is not one of its category");
    return 0;
}
static const struct wr_shape REASON =
    WR_SHAPE_CHECKED(REASON_FIELDS, union wr_payload, reason_check);
static const char *const RESOLUTIONS[] = {"unresolved", "resolves"};
static const struct wr_field UNRESOLVED_FIELDS[] = {TAG("kind")};
static const struct wr_field RESOLVES_FIELDS[] = {TAG("kind"),
                                                  ID("resolvesGapId", AT(gap.resolves), WR_ID_GAP)};
static const struct wr_shape UNRESOLVED = WR_SHAPE(UNRESOLVED_FIELDS, union wr_payload),
                             RESOLVES = WR_SHAPE(RESOLVES_FIELDS, union wr_payload);
static const struct wr_shape *const RESOLUTION_SHAPES[] = {&UNRESOLVED, &RESOLVES};
static const struct wr_union RESOLUTION = {"kind", WR_NAMES(RESOLUTIONS), RESOLUTION_SHAPES,
                                           AT(gap.resolution)};
static const char *const EVIDENCES[] = {"event", "output"};
static const struct wr_field E_EVENT_FIELDS[] = {ID("eventId", IN(wr_evidence, id), WR_ID_EVENT),
                                                 TAG("kind")};
static const struct wr_field E_OUTPUT_FIELDS[] = {
    TAG("kind"), ID("outputId", IN(wr_evidence, id), WR_ID_OUTPUT)};
static const struct wr_shape E_EVENT = WR_SHAPE(E_EVENT_FIELDS, struct wr_evidence),
                             E_OUTPUT = WR_SHAPE(E_OUTPUT_FIELDS, struct wr_evidence);
static const struct wr_shape *const EVIDENCE_SHAPES[] = {&E_EVENT, &E_OUTPUT};
static const struct wr_union EVIDENCE_UNION = {"kind", WR_NAMES(EVIDENCES), EVIDENCE_SHAPES,
                                               IN(wr_evidence, kind)};
static const struct wr_shape EVIDENCE = {.size = sizeof(struct wr_evidence),
                                         .variants = &EVIDENCE_UNION};
static const struct wr_field GAP_FIELDS[] = {
    {"evidenceRefs", WF_LIST, WF_OPT, AT(gap.evidence), &EVIDENCE, 0, 32},
    ID("gapId", AT(gap.gap_id), WR_ID_GAP),
    {"reason", WF_SHAPE, 0, 0, &REASON, 0, 0},
    {"resolution", WF_UNION, 0, 0, &RESOLUTION, 0, 0},
    ENUM("severity", AT(gap.severity), SEVERITY_NAMES),
    TEXT("summary", AT(gap.summary), WR_SUMMARY_MAX),
};
static const struct wr_shape GAP = WR_SHAPE(GAP_FIELDS, union wr_payload);

/* --- observations, divergences, traces --- */

static const char *const OBSERVED[] = {"git_branch", "git_head_sha", "repo_root_hash", "repo_root"};
static const char *const VALUE_TYPES[] = {"short_string", "git_sha1", "sha256", "path"};
static const char *const CONFIDENCES[] = {"low", "med", "high"};
static const struct wr_names OBSERVED_NAMES = WR_NAMES(OBSERVED),
                             CONFIDENCE_NAMES = WR_NAMES(CONFIDENCES);
static const struct wr_field V_WORD_FIELDS[] = {
    TAG("type"), TEXT("value", AT(observation.value), WR_OBSERVED_WORD_MAX)};
static const struct wr_field V_SHA1_FIELDS[] = {
    TAG("type"), {"value", WF_SHA1, 0, AT(observation.value), NULL, 0, 0}};
static const struct wr_field V_SHA256_FIELDS[] = {TAG("type"),
                                                  DIGEST("value", AT(observation.value))};
static const struct wr_field V_PATH_FIELDS[] = {
    TAG("type"), TEXT("value", AT(observation.value), WR_OBSERVED_PATH_MAX)};
static const struct wr_shape V_WORD = WR_SHAPE(V_WORD_FIELDS, union wr_payload),
                             V_SHA1 = WR_SHAPE(V_SHA1_FIELDS, union wr_payload),
                             V_SHA256 = WR_SHAPE(V_SHA256_FIELDS, union wr_payload),
                             V_PATH = WR_SHAPE(V_PATH_FIELDS, union wr_payload);
static const struct wr_shape *const VALUE_SHAPES[] = {&V_WORD, &V_SHA1, &V_SHA256, &V_PATH};
static const struct wr_union VALUE = {"type", WR_NAMES(VALUE_TYPES), VALUE_SHAPES,
                                      AT(observation.type)};
static const struct wr_field OBSERVATION_FIELDS[] = {
    ENUM("confidence", AT(observation.confidence), CONFIDENCE_NAMES),
    ENUM("key", AT(observation.key), OBSERVED_NAMES),
    {"value", WF_UNION, 0, 0, &VALUE, 0, 0},
};
static int observation_check(const void *base, struct wr_fault *f) {
    const union wr_payload *u = base;
    if (u->observation.key != u->observation.type) /* both lists have the same order (WR-42) */
        return wr_fail(f, WR_SCHEMA_INVALID, "/value/type", "the type does not fit the key");
    return 0;
}
static const struct wr_shape OBSERVATION =
    WR_SHAPE_CHECKED(OBSERVATION_FIELDS, union wr_payload, observation_check);

static const char *const DIVERGENCES[] = {"missing_user_context", "capability_unavailable",
                                          "efficiency_skip", "safety_stop", "policy_constraint"};
const struct wr_names WR_DIVERGENCE_NAMES = WR_NAMES(DIVERGENCES);
static const struct wr_field DIVERGENCE_FIELDS[] = {
    ID("divergenceId", AT(divergence.divergence_id), WR_ID_DIVERGENCE),
    ENUM("reason", AT(divergence.reason), WR_DIVERGENCE_NAMES),
    {"relatedStepId", WF_STEP, WF_OPT, AT(divergence.step_id), NULL, 0, 0},
    TEXT("summary", AT(divergence.summary), WR_SUMMARY_MAX),
};
static const struct wr_shape DIVERGENCE = WR_SHAPE(DIVERGENCE_FIELDS, union wr_payload);

static const char *const REFS[] = {"step_id", "loop_id", "condition_id", "iteration"};
static const struct wr_field R_STEP_FIELDS[] = {
    TAG("kind"), {"stepId", WF_STEP, 0, IN(wr_trace_ref, id), NULL, 0, 0}};
static const struct wr_field R_LOOP_FIELDS[] = {
    TAG("kind"), {"loopId", WF_WORD, 0, IN(wr_trace_ref, id), NULL, 0, 0}};
static const struct wr_field R_CONDITION_FIELDS[] = {
    {"conditionId", WF_WORD, 0, IN(wr_trace_ref, id), NULL, 0, 0}, TAG("kind")};
static const struct wr_field R_ITERATION_FIELDS[] = {
    TAG("kind"), {"value", WF_INT, 0, IN(wr_trace_ref, value), NULL, 0, 0}};
static const struct wr_shape R_STEP = WR_SHAPE(R_STEP_FIELDS, struct wr_trace_ref),
                             R_LOOP = WR_SHAPE(R_LOOP_FIELDS, struct wr_trace_ref),
                             R_CONDITION = WR_SHAPE(R_CONDITION_FIELDS, struct wr_trace_ref),
                             R_ITERATION = WR_SHAPE(R_ITERATION_FIELDS, struct wr_trace_ref);
static const struct wr_shape *const REF_SHAPES[] = {&R_STEP, &R_LOOP, &R_CONDITION, &R_ITERATION};
static const struct wr_union REF_UNION = {"kind", WR_NAMES(REFS), REF_SHAPES,
                                          IN(wr_trace_ref, kind)};
static const struct wr_shape REF = {.size = sizeof(struct wr_trace_ref), .variants = &REF_UNION};
static const char *const TRACES[] = {"selected_next_step", "evaluated_condition", "entered_loop",
                                     "exited_loop", "detected_non_tip_advance"};
static const struct wr_names TRACE_NAMES = WR_NAMES(TRACES);
static const struct wr_field ENTRY_FIELDS[] = {
    ENUM("kind", IN(wr_trace_entry, kind), TRACE_NAMES),
    {"refs", WF_LIST, WF_OPT, IN(wr_trace_entry, refs), &REF, 0, WR_TRACE_REFS_MAX},
    TEXT("summary", IN(wr_trace_entry, summary), WR_TRACE_SUMMARY_MAX),
};
static const struct wr_shape ENTRY = WR_SHAPE(ENTRY_FIELDS, struct wr_trace_entry);
static const struct wr_field TRACE_FIELDS[] = {
    LIST("entries", AT(trace.entries), ENTRY, 1, WR_TRACE_ENTRIES_MAX),
    ID("traceId", AT(trace.trace_id), WR_ID_TRACE),
};
static int trace_check(const void *base, struct wr_fault *f) {
    const union wr_payload *u = base;
    size_t sum = 0;
    for (size_t i = 0; i < u->trace.entries.nr; i++) sum += u->trace.entries.v[i].summary.n;
    if (sum > WR_TRACE_SUMMARIES_MAX)
        return wr_fail(f, WR_SCHEMA_INVALID, "/entries", "the summaries exceed their budget");
    return 0;
}
static const struct wr_shape TRACE = WR_SHAPE_CHECKED(TRACE_FIELDS, union wr_payload, trace_check);

/* --- context, validation --- */

static const char *const CONTEXT_SOURCES[] = {"initial", "agent_delta"};
static const struct wr_names CONTEXT_SOURCE_NAMES = WR_NAMES(CONTEXT_SOURCES);
static const struct wr_field CONTEXT_FIELDS[] = {
    {"context", WF_OBJECT, 0, AT(context.context), NULL, 0, 0},
    ID("contextId", AT(context.context_id), WR_ID_CONTEXT),
    ENUM("source", AT(context.source), CONTEXT_SOURCE_NAMES),
};
static int context_check(const void *base, struct wr_fault *f) {
    const union wr_payload *u = base;
    if (u->context.context.n > WR_CONTEXT_MAX)
        return wr_fail(f, WR_SCHEMA_INVALID, "/context", "the context exceeds its budget");
    return 0;
}
static const struct wr_shape CONTEXT =
    WR_SHAPE_CHECKED(CONTEXT_FIELDS, union wr_payload, context_check);

static const struct wr_field RESULT_FIELDS[] = {
    {"issues", WF_TEXTS, 0, AT(validation.issues), NULL, 0, 0},
    {"suggestions", WF_TEXTS, 0, AT(validation.suggestions), NULL, 0, 0},
    {"valid", WF_BOOL, 0, AT(validation.valid), NULL, 0, 0},
};
static const struct wr_shape RESULT = WR_SHAPE(RESULT_FIELDS, union wr_payload);
static const struct wr_field VALIDATION_FIELDS[] = {
    ID("attemptId", AT(validation.attempt_id), WR_ID_ATTEMPT),
    TEXT("contractRef", AT(validation.contract_ref), 128),
    {"result", WF_SHAPE, 0, 0, &RESULT, 0, 0},
    ID("validationId", AT(validation.validation_id), WR_ID_VALIDATION),
};
static size_t texts_bytes(const struct wr_texts *t) {
    size_t sum = 0;
    for (size_t i = 0; i < t->nr; i++) sum += t->v[i].n;
    return sum;
}
static int validation_check(const void *base, struct wr_fault *f) {
    const union wr_payload *u = base;
    if (texts_bytes(&u->validation.issues) > WR_ISSUES_MAX ||
        texts_bytes(&u->validation.suggestions) > WR_ISSUES_MAX)
        return wr_fail(f, WR_SCHEMA_INVALID, "/result",
                       "issues or suggestions exceed their budget");
    return 0;
}
static const struct wr_shape VALIDATION =
    WR_SHAPE_CHECKED(VALIDATION_FIELDS, union wr_payload, validation_check);

const struct wr_shape *const WR_PAYLOADS[WR_KINDS] = {
    [WR_SESSION_CREATED] = &CREATED,
    [WR_OBSERVATION_RECORDED] = &OBSERVATION,
    [WR_RUN_STARTED] = &RUN,
    [WR_NODE_CREATED] = &NODE,
    [WR_EDGE_CREATED] = &EDGE,
    [WR_ADVANCE_RECORDED] = &ADVANCE,
    [WR_NODE_OUTPUT_APPENDED] = &OUTPUT,
    [WR_PREFERENCES_CHANGED] = &PREFERENCES,
    [WR_CAPABILITY_OBSERVED] = &CAPABILITY,
    [WR_GAP_RECORDED] = &GAP,
    [WR_DIVERGENCE_RECORDED] = &DIVERGENCE,
    [WR_DECISION_TRACE_APPENDED] = &TRACE,
    [WR_CONTEXT_SET] = &CONTEXT,
    [WR_VALIDATION_PERFORMED] = &VALIDATION,
};
