/*
 * interrupts.c: resolving interrupts by run and node (INT-14), by signed token (INT-15), by the
 * older alias (INT-16), and looking at one by token (RUN-39).
 */
#include "base/clock.h"
#include "wire/v1/wire_int.h"

struct resolve_body {
    struct str resume_value; /* raw; p NULL = absent */
};
static const struct v1_member RESOLVE[] = {
    {"resumeValue", V1_ANY, offsetof(struct resolve_body, resume_value)}};

/* INT-14: closed, the member required, its value anything. */
static int body_read(struct http_call *c, struct str *value, struct wopr_error *err) {
    struct resolve_body body = {0};
    int rc = v1_body_parse(c->body, RESOLVE, 1, true, c->arena, &body, err);
    if (rc != 0) return rc;
    if (!body.resume_value.p)
        return v1_field_error(err, "resumeValue", "required", "resumeValue is required");
    *value = body.resume_value;
    return 0;
}

/* INT-16: older clients send the value itself. */
static int alias_read(struct http_call *c, struct str *value, struct wopr_error *err) {
    if (json_get(c->body, "resumeValue").p) return body_read(c, value, err);
    *value = c->body;
    return 0;
}

static int submit(struct http_call *c, enum resolve_via via, const struct v1_interrupt_ref *ref,
                  struct str value) {
    struct v1_cmd *vc = v1_cmd_new(c, ENGINE_RESOLVE);
    struct wopr_error err = {0};
    if (!vc) {
        wopr_error_set(&err, WOPR_E_NO_MEMORY, "no memory for the command");
        return v1_fail(c, &err);
    }
    vc->cmd.run_id = ref->run_id;
    vc->cmd.node_id = ref->node_id;
    vc->cmd.interrupt_id = ref->interrupt_id;
    vc->cmd.resume_value = value;
    vc->cmd.via = via;
    vc->cmd.may_delegate = (c->who.scopes & SCOPE_APPROVALS_DELEGATE) != 0;
    vc->cmd.event_id = http_header(c, "Idempotency-Key"); /* INT-32: after the value's own */
    return v1_cmd_submit(vc);
}
