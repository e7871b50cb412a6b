/*
 * payload_interrupt.c: builders of the payloads of interrupts (EVT-26 to EVT-29, INT-9, INT-10).
 */
#include "codec/ident.h"
#include "codec/jobj.h"
#include "domain/interrupt.h"
#include "domain/plan.h"

struct str pay_interrupt_suspended(struct arena *a, struct str node_id, struct str interrupt_id,
                                   const char *kind, struct str key, const char *reason,
                                   struct str low) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kstr(&p.w, "interruptId", interrupt_id);
    jw_kstrz_opt(&p.w, "kind", kind); /* left out for the four newer kinds (EVT-14 b) */
    jw_kstr_opt(&p.w, "key", key);
    jw_kstrz_opt(&p.w, "reason", reason ? reason : low.n > 0 ? "low-confidence" : NULL);
    if (low.n > 0) {
        jw_kraw_opt(&p.w, "agentId", json_get(low, "agentId"));
        jw_kraw_opt(&p.w, "threshold", json_get(low, "threshold"));
        jw_kraw_opt(&p.w, "observed", json_get(low, "observed"));
        jw_kraw_opt(&p.w, "decision", json_get(low, "decision"));
    }
    return jobj_end(&p, a);
}

struct str pay_suspend_failed(struct arena *a, struct str node_id, struct str error) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kraw_opt(&p.w, "error", error);
    return jobj_end(&p, a);
}

/* CX-16: the event's word for edit-accept is edit. */
static void actions_add(struct jobj *p, struct arena *a, struct str raw) {
    struct json_elements l = {0};
    jw_key(&p->w, "actions");
    jw_array(&p->w);
    if (json_elements(raw, a, &l, NULL) != 0) jobj_fail(p);
    for (size_t i = 0; i < l.n; i++)
        jw_raw(&p->w, str_eqc(l.v[i], "\"edit-accept\"") ? STR("\"edit\"") : l.v[i]);
    jw_end_array(&p->w);
}

struct str pay_approval_requested(struct arena *a, struct str node_id, struct str interrupt_id,
                                  struct str data) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kstr(&p.w, "interruptId", interrupt_id);
    jw_kraw_opt(&p.w, "artifactId", json_get(data, "artifactId"));
    jw_kraw_opt(&p.w, "artifactType", json_get(data, "artifactType"));
    jw_kraw_opt(&p.w, "title", json_get(data, "title"));
    actions_add(&p, a, json_get(data, "actions"));
    jw_kraw_opt(&p.w, "approversList", json_get(data, "approversList"));
    jw_kraw_opt(&p.w, "requiredApprovals", json_get(data, "requiredApprovals"));
    return jobj_end(&p, a);
}

struct str pay_clarification_requested(struct arena *a, struct str node_id, struct str interrupt_id,
                                       struct str questions) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kstr(&p.w, "interruptId", interrupt_id);
    jw_kraw_opt(&p.w, "questions", questions);
    return jobj_end(&p, a);
}

struct str pay_approval_received(struct arena *a, struct str node_id, const struct intr_answer *d) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kstr(&p.w, "action", d->action);
    jw_kstr_opt(&p.w, "decidedBy", d->decided_by);
    jw_kstr_opt(&p.w, "decidedAt", d->decided_at);
    jw_kstr_opt(&p.w, "comment", d->comment);
    jw_kstr_opt(&p.w, "feedback", d->feedback);
    jw_kraw_opt(&p.w, "refineFeedback", d->refine);
    jw_kraw_opt(&p.w, "editedArtifactData", d->edited);
    return jobj_end(&p, a);
}

struct str pay_clarification_resolved(struct arena *a, struct str node_id, struct str answers,
                                      struct str answered_by) {
    struct jobj p;
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kraw_opt(&p.w, "answers", answers);
    jw_kstr_opt(&p.w, "answeredBy", answered_by);
    return jobj_end(&p, a);
}

struct str pay_interrupt_resolved(struct arena *a, struct str node_id, struct str interrupt_id,
                                  const char *kind, struct str value, struct str resolved_by,
                                  int64_t at_ms) {
    struct jobj p;
    char at[TIME_LEN + 1];
    time_format(at_ms, at);
    jobj_begin(&p, PLAN_BYTES_MAX);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kstr(&p.w, "interruptId", interrupt_id);
    jw_kstrz_opt(&p.w, "kind", kind);
    jw_kraw_opt(&p.w, "resumeValue", value);
    jw_kstrz(&p.w, "resolvedAt", at);
    jw_kstr_opt(&p.w, "resolvedBy", resolved_by);
    return jobj_end(&p, a);
}
