/*
 * registry.c: see registry.h.  Texts are part of compiled workflows and so of their hashes: a
 * change of one is a new id.
 */
#include "workrail/registry.h"

#include "base/near.h"

#include <stdio.h>

#define NR(list) (sizeof(list) / sizeof *(list))

static const struct wr_builtin_contract CONTRACTS[] = {
    {WR_CAPABILITY_REF,
     "wr.capability_observation",
     "{\"additionalProperties\":false,\"properties\":{\"attempted\":{\"type\":\"boolean\"},"
     "\"capability\":{\"enum\":[\"delegation\",\"web_browsing\"]},\"failureCode\":{\"enum\":["
     "\"policy_blocked\",\"tool_error\",\"tool_missing\",\"unknown\"]},\"kind\":{\"const\":"
     "\"wr.capability_observation\"},\"status\":{\"enum\":[\"available\",\"unavailable\","
     "\"unknown\"]}},\"required\":[\"attempted\",\"capability\",\"kind\",\"status\"],"
     "\"type\":\"object\"}",
     "{\"attempted\":true,\"capability\":\"web_browsing\",\"kind\":\"wr.capability_observation\","
     "\"status\":\"available\"}",
     {"Artifact contract: " WR_CAPABILITY_REF,
      "Provide an artifact with kind \"wr.capability_observation\", capability, status and "
      "attempted",
      "status is \"available\", \"unavailable\" or \"unknown\"; attempted says whether you tried "
      "it",
      NULL}},
    {WR_LOOP_CONTROL_REF,
     "wr.loop_control",
     "{\"additionalProperties\":false,\"properties\":{\"decision\":{\"enum\":[\"continue\","
     "\"stop\"]},\"kind\":{\"const\":\"wr.loop_control\"},\"loopId\":{\"pattern\":\"^[a-z0-9_-]+$\""
     ",\"type\":\"string\"},\"summary\":{\"type\":\"string\"}},\"required\":[\"decision\",\"kind\"]"
     ",\"type\":\"object\"}",
     "{\"decision\":\"continue\",\"kind\":\"wr.loop_control\",\"loopId\":\"investigation_pass\","
     "\"summary\":\"One open question left.\"}",
     {"Artifact contract: " WR_LOOP_CONTROL_REF,
      "Provide an artifact with kind \"wr.loop_control\", loopId and decision",
      "decision is \"continue\" or \"stop\"", NULL}},
    {WR_USER_REF,
     "wr.user_only_dependency",
     "{\"additionalProperties\":false,\"properties\":{\"kind\":{\"const\":"
     "\"wr.user_only_dependency\"},\"reason\":{\"enum\":[\"needs_user_account_access\","
     "\"needs_user_approval\",\"needs_user_artifact\",\"needs_user_choice\","
     "\"needs_user_environment_action\",\"needs_user_secret_or_token\"]},\"summary\":{"
     "\"minLength\":1,\"type\":\"string\"}},\"required\":[\"kind\",\"reason\",\"summary\"],"
     "\"type\":\"object\"}",
     "{\"kind\":\"wr.user_only_dependency\",\"reason\":\"needs_user_approval\",\"summary\":"
     "\"The release needs a signature.\"}",
     {"Artifact contract: " WR_USER_REF,
      "Provide an artifact with kind \"wr.user_only_dependency\", reason and summary", NULL}},
    {WR_DIVERGENCE_REF,
     "wr.workflow_divergence",
     "{\"additionalProperties\":false,\"properties\":{\"kind\":{\"enum\":[\"workflow_divergence\","
     "\"wr.workflow_divergence\"]},\"reason\":{\"enum\":[\"capability_unavailable\","
     "\"efficiency_skip\",\"missing_user_context\",\"policy_constraint\",\"safety_stop\"]},"
     "\"relatedStepId\":{\"pattern\":\"^[a-z0-9_.-]+$\",\"type\":\"string\"},\"summary\":{"
     "\"minLength\":1,\"type\":\"string\"}},\"required\":[\"kind\",\"reason\",\"summary\"],"
     "\"type\":\"object\"}",
     "{\"kind\":\"wr.workflow_divergence\",\"reason\":\"efficiency_skip\",\"summary\":"
     "\"The step was done in an earlier session.\"}",
     {"Artifact contract: " WR_DIVERGENCE_REF,
      "Provide an artifact with kind \"wr.workflow_divergence\", reason and summary", NULL}},
};

static const struct wr_builtin_feature FEATURES[] = {
    {"wr.features.delegation_guidance", "Delegate bounded parts, keep the judgement",
     "Where a helper can do a bounded part of this step, give it the part with its context and the "
     "form of its answer; check what it returns before you rely on it."},
    {"wr.features.evidence_first", "Claims carry their evidence",
     "Every claim in the notes names its evidence: a file with a line, a command with its output, "
     "or a link. Say plainly what was not checked."},
};

static const struct wr_builtin_ref REFS[] = {
    {"wr.refs.fresh_notes",
     "Write the notes for this step alone, 10 to 30 lines: what was done, what was found, what is "
     "open. Earlier steps are remembered by the host; do not repeat them."},
    {"wr.refs.one_step",
     "Do only what this step asks. Later steps are not known yet and are not to be guessed."},
    {"wr.refs.read_only",
     "Change nothing: no file is written, no command with an effect is run, nothing is sent."},
};

static const struct wr_builtin_template TEMPLATES[] = {
    {WR_PROBE_TEMPLATE, "Find out whether a capability is there",
     "{\"additionalProperties\":false,\"properties\":{\"capability\":{\"enum\":[\"delegation\","
     "\"web_browsing\"]}},\"required\":[\"capability\"],\"type\":\"object\"}"},
};

const struct wr_builtin_contract *wr_builtin_contract(struct str ref) {
    for (size_t i = 0; i < NR(CONTRACTS); i++)
        if (str_eqc(ref, CONTRACTS[i].ref)) return &CONTRACTS[i];
    return NULL;
}
const struct wr_builtin_feature *wr_builtin_feature(struct str id) {
    for (size_t i = 0; i < NR(FEATURES); i++)
        if (str_eqc(id, FEATURES[i].id)) return &FEATURES[i];
    return NULL;
}
const struct wr_builtin_ref *wr_builtin_ref(struct str id) {
    for (size_t i = 0; i < NR(REFS); i++)
        if (str_eqc(id, REFS[i].id)) return &REFS[i];
    return NULL;
}
const struct wr_builtin_template *wr_builtin_template(struct str id) {
    for (size_t i = 0; i < NR(TEMPLATES); i++)
        if (str_eqc(id, TEMPLATES[i].id)) return &TEMPLATES[i];
    return NULL;
}

const char *wr_builtin_hint(struct str unknown, char *out, size_t n) {
    struct near near;
    near_init(&near, unknown);
    for (size_t i = 0; i < NR(CONTRACTS); i++) near_try(&near, str_c(CONTRACTS[i].ref));
    for (size_t i = 0; i < NR(FEATURES); i++) near_try(&near, str_c(FEATURES[i].id));
    for (size_t i = 0; i < NR(REFS); i++) near_try(&near, str_c(REFS[i].id));
    for (size_t i = 0; i < NR(TEMPLATES); i++) near_try(&near, str_c(TEMPLATES[i].id));
    struct str best = near_best(&near);
    if (best.p == NULL) return "";
    snprintf(out, n, "; did you mean " STR_FMT "?", STR_ARG(best));
    return out;
}

static void contract_write(const struct wr_builtin_contract *c, struct jw *w) {
    jw_object(w);
    jw_kstrz(w, "artifactKind", c->artifact_kind);
    jw_kstrz(w, "contractRef", c->ref);
    jw_kraw(w, "example", str_c(c->example));
    jw_key(w, "requirements");
    jw_array(w);
    for (size_t i = 0; c->requirements[i] != NULL; i++) jw_strz(w, c->requirements[i]);
    jw_end_array(w);
    jw_kraw(w, "schema", str_c(c->schema));
    jw_end_object(w);
}

void wr_builtins_write(struct jw *w) {
    jw_object(w);
    jw_kraw(w, "capabilities", STR("[\"delegation\",\"web_browsing\"]"));
    jw_key(w, "contracts");
    jw_array(w);
    for (size_t i = 0; i < NR(CONTRACTS); i++) contract_write(&CONTRACTS[i], w);
    jw_end_array(w);
    jw_key(w, "features");
    jw_array(w);
    for (size_t i = 0; i < NR(FEATURES); i++) {
        jw_object(w);
        jw_kstrz(w, "constraint", FEATURES[i].constraint);
        jw_kstrz(w, "featureId", FEATURES[i].id);
        jw_kstrz(w, "title", FEATURES[i].title);
        jw_end_object(w);
    }
    jw_end_array(w);
    jw_key(w, "refs");
    jw_array(w);
    for (size_t i = 0; i < NR(REFS); i++) {
        jw_object(w);
        jw_kstrz(w, "refId", REFS[i].id);
        jw_kstrz(w, "text", REFS[i].text);
        jw_end_object(w);
    }
    jw_end_array(w);
    jw_key(w, "templates");
    jw_array(w);
    for (size_t i = 0; i < NR(TEMPLATES); i++) {
        jw_object(w);
        jw_kraw(w, "params", str_c(TEMPLATES[i].params));
        jw_kstrz(w, "templateId", TEMPLATES[i].id);
        jw_kstrz(w, "title", TEMPLATES[i].title);
        jw_end_object(w);
    }
    jw_end_array(w);
    jw_end_object(w);
}
