/*
 * payload_interrupt.c: builders of the payloads of interrupts (EVT-26 to EVT-29, INT-9, INT-10).
 */
#include "domain/interrupt.h"
#include "domain/payload_int.h"

struct str pay_interrupt_suspended(struct arena *a, struct str node_id, struct str interrupt_id,
                                   const char *kind, struct str key, const char *reason,
                                   struct str low) {
    struct pay p;
    pay_begin(&p);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kstr(&p.w, "interruptId", interrupt_id);
    opt_strz(&p, "kind", kind); /* left out for the four newer kinds (EVT-14 b) */
    opt_str(&p, "key", key);
    opt_strz(&p, "reason", reason ? reason : low.n > 0 ? "low-confidence" : NULL);
    if (low.n > 0) {
        opt_raw(&p, "agentId", json_get(low, "agentId"));
        opt_raw(&p, "threshold", json_get(low, "threshold"));
        opt_raw(&p, "observed", json_get(low, "observed"));
    }
    return pay_end(&p, a);
}

struct str pay_suspend_failed(struct arena *a, struct str node_id, struct str error) {
    struct pay p;
    pay_begin(&p);
    jw_kstr(&p.w, "nodeId", node_id);
    opt_raw(&p, "error", error);
    return pay_end(&p, a);
}

/* CX-16: the event's word for edit-accept is edit. */
static void actions(struct pay *p, struct arena *a, struct str raw) {
    struct json_elements l = {0};
    jw_key(&p->w, "actions");
    jw_array(&p->w);
    if (json_elements(raw, a, &l, NULL) != 0) p->b.failed = true;
    for (size_t i = 0; i < l.n; i++)
        jw_raw(&p->w, str_eqc(l.v[i], "\"edit-accept\"") ? STR("\"edit\"") : l.v[i]);
    jw_end_array(&p->w);
}

struct str pay_approval_requested(struct arena *a, struct str node_id, struct str interrupt_id,
                                  struct str data) {
    struct pay p;
    pay_begin(&p);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kstr(&p.w, "interruptId", interrupt_id);
    opt_raw(&p, "artifactId", json_get(data, "artifactId"));
    opt_raw(&p, "artifactType", json_get(data, "artifactType"));
    opt_raw(&p, "title", json_get(data, "title"));
    actions(&p, a, json_get(data, "actions"));
    opt_raw(&p, "approversList", json_get(data, "approversList"));
    opt_raw(&p, "requiredApprovals", json_get(data, "requiredApprovals"));
    return pay_end(&p, a);
}

struct str pay_clarification_requested(struct arena *a, struct str node_id, struct str interrupt_id,
                                       struct str questions) {
    struct pay p;
    pay_begin(&p);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kstr(&p.w, "interruptId", interrupt_id);
    opt_raw(&p, "questions", questions);
    return pay_end(&p, a);
}

struct str pay_approval_received(struct arena *a, struct str node_id, const struct intr_answer *d) {
    struct pay p;
    pay_begin(&p);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kstr(&p.w, "action", d->action);
    opt_str(&p, "decidedBy", d->decided_by);
    opt_str(&p, "decidedAt", d->decided_at);
    opt_str(&p, "comment", d->comment);
    opt_str(&p, "feedback", d->feedback);
    opt_raw(&p, "refineFeedback", d->refine);
    opt_raw(&p, "editedArtifactData", d->edited);
    return pay_end(&p, a);
}

struct str pay_clarification_resolved(struct arena *a, struct str node_id, struct str answers,
                                      struct str answered_by) {
    struct pay p;
    pay_begin(&p);
    jw_kstr(&p.w, "nodeId", node_id);
    opt_raw(&p, "answers", answers);
    opt_str(&p, "answeredBy", answered_by);
    return pay_end(&p, a);
}

struct str pay_interrupt_resolved(struct arena *a, struct str node_id, struct str interrupt_id,
                                  const char *kind, struct str value, struct str resolved_by,
                                  int64_t at_ms) {
    struct pay p;
    char at[TIME_LEN + 1];
    time_format(at_ms, at);
    pay_begin(&p);
    jw_kstr(&p.w, "nodeId", node_id);
    jw_kstr(&p.w, "interruptId", interrupt_id);
    opt_strz(&p, "kind", kind);
    opt_raw(&p, "resumeValue", value);
    jw_kstrz(&p.w, "resolvedAt", at);
    opt_str(&p, "resolvedBy", resolved_by);
    return pay_end(&p, a);
}
