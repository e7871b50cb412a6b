/*
 * audit.c: GET /v1/audit/verify, and what discovery says of the audit log (AUD-8 to AUD-10).
 */
#include "audit/check.h"

#include "wire/v1/wire_int.h"

enum { REPORT_BYTES_MAX = 4 * 1024 * 1024 };

static void text_or_null(struct jw *w, const char *key, struct str text) {
    if (text.p) jw_kstr(w, key, text);
    else jw_kraw(w, key, STR("null"));
}

static void checkpoint_render(struct jw *w, const struct audit_checkpoint *c) {
    jw_object(w);
    jw_kstr(w, "checkpoint", c->id);
    jw_kint(w, "atSequence", c->at_seq);
    jw_kstr(w, "merkleRoot", c->root);
    jw_kstr(w, "signature", c->signature);
    jw_kstr(w, "keyId", c->key_id);
    jw_kstr_opt(w, "oldSignature", c->old_signature); /* AUD-7 */
    jw_kstr_opt(w, "oldKeyId", c->old_key_id);
    v1_time_member(w, "ts", c->at_ms);
    jw_end_object(w);
}

static void anomaly_render(struct jw *w, const struct audit_anomaly *a) {
    jw_object(w);
    jw_kint(w, "atSeq", a->at_seq);
    text_or_null(w, "expectedPrevHash", a->expected);
    text_or_null(w, "actualPrevHash", a->actual);
    jw_kstrz(w, "message", a->what);
    jw_end_object(w);
}

static void report_render(struct jw *w, const struct audit_report *r) {
    jw_kint(w, "fromSeq", r->from);
    jw_kint(w, "toSeq", r->to);
    jw_kbool(w, "chainValid", r->valid);
    jw_key(w, "checkpoints");
    jw_array(w);
    for (size_t i = 0; i < r->checkpoints.n; i++) checkpoint_render(w, &r->checkpoints.v[i]);
    jw_end_array(w);
    jw_key(w, "anomalies");
    jw_array(w);
    for (size_t i = 0; i < r->anomalies_nr; i++) anomaly_render(w, &r->anomalies[i]);
    jw_end_array(w);
}

static int question_read(const struct http_call *c, struct audit_question *q,
                         struct wopr_error *err) {
    *q = (struct audit_question){.max = AUDIT_CHECK_ENTRIES_MAX};
    int rc = wire_int_param(c, "fromSeq", 0, INT64_MAX - 1, 0, &q->from, err);
    if (rc == 0) rc = wire_int_param(c, "toSeq", 0, INT64_MAX - 1, -1, &q->to, err);
    if (rc == 0 && q->to >= 0 && q->to < q->from)
        rc = wire_param_error(err, "toSeq", "toSeq must not be before fromSeq");
    return rc;
}

static void verify_offloaded(struct http_call *c) {
    struct wopr_error err = {0};
    struct audit_question q;
    struct audit_report report;
    struct jobj o;
    int rc = question_read(c, &q, &err);
    if (rc == 0) rc = audit_check(v1_of(c)->shared.store, &q, c->arena, &report, &err);
    if (rc != 0) {
        (void)wire_fail(c, &err);
        return;
    }
    jobj_begin(&o, REPORT_BYTES_MAX);
    report_render(&o.w, &report);
    (void)wire_reply_object(c, 200, &o);
}

int v1_verify_audit_log(struct http_call *c) {
    struct wopr_error err = {0};
    struct audit_question q;
    if (!v1_of(c)->shared.audit) {
        (void)wopr_error_set(&err, WOPR_E_NOT_FOUND, "this host keeps no audit log");
        return wire_fail(c, &err);
    }
    if (question_read(c, &q, &err) != 0) return wire_fail(c, &err);
    return http_offload(c, verify_offloaded);
}
