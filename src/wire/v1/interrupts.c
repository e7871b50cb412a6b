/*
 * interrupts.c: resolving interrupts by run and node (INT-14), by signed token (INT-15) and by the
 * older alias (INT-16); looking at one by token (RUN-39).
 */
#include "wire/v1/wire_int.h"

/* INT-14, RUN-34: closed; the member is required, its value may be anything. */
static int body_read(struct http_call *c, struct str *value, struct wopr_error *err) {
    struct v1_resolve_request body = {0};
    int rc = wire_body_parse(c->body, &V1_RESOLVE_REQUEST, c->arena, &body, err);
    if (rc != 0) return rc;
    if (!body.resume_value.p)
        return wire_field_error(err, "resumeValue", "required", "resumeValue is required");
    *value = body.resume_value;
    return 0;
}

static int submit(struct http_call *c, struct v1_cmd *vc, enum resolve_via via, struct str run_id,
                  struct str value) {
    vc->cmd.run_id = run_id;
    vc->cmd.resolve.value = value;
    vc->cmd.resolve.via = via;
    vc->cmd.resolve.may_delegate = (c->who.scopes & SCOPE_APPROVALS_DELEGATE) != 0;
    struct str key = http_header(c, "Idempotency-Key"); /* INT-32: after the value's own */
    if (key.n > 0) vc->cmd.resolve.event_id = arena_str(c->arena, key);
    return v1_cmd_submit(vc);
}

static struct v1_cmd *command(struct http_call *c, struct wopr_error *err) {
    struct v1_cmd *vc = v1_cmd_new(c, ENGINE_RESOLVE);
    if (!vc) wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the command");
    return vc;
}

/* A run that is absent or foreign has no interrupt either: one answer for all (INT-17). */
static int run_read(struct http_call *c, struct run_head *head, struct wopr_error *err) {
    int rc = v1_call_run(c, head, err);
    if (rc != WOPR_E_NOT_FOUND) return rc;
    return wopr_error_set(err, WOPR_E_INTERRUPT_NOT_FOUND, "the run has no such interrupt");
}

static int by_run(struct http_call *c, enum resolve_via via, bool bare) {
    struct wopr_error err = {0};
    struct run_head head;
    struct str value = c->body;
    struct v1_cmd *vc = NULL;
    int rc = run_read(c, &head, &err);
    if (rc == 0 && !bare) rc = body_read(c, &value, &err);
    if (rc == 0) vc = command(c, &err);
    if (!vc) return v1_fail(c, &err);
    vc->cmd.resolve.node_id = http_param(c, "nodeId");
    vc->resume_bare = bare;
    return submit(c, vc, via, head.run_id, value);
}

int v1_resolve_interrupt_by_run(struct http_call *c) { return by_run(c, RESOLVE_RUN, false); }

/* INT-16: older clients send the value itself. */
int v1_resolve_approval_alias(struct http_call *c) {
    return by_run(c, RESOLVE_ALIAS, json_get(c->body, "resumeValue").p == NULL);
}

/* What v1_authorize left; the call's user pointer is free again. */
static const struct interrupt_row *row_take(struct http_call *c) {
    const struct interrupt_row *row = c->user;
    c->user = NULL;
    return row;
}

int v1_inspect_interrupt_by_token(struct http_call *c) {
    struct wopr_error err = {0};
    const struct interrupt_row *row = row_take(c);
    if (v1_interrupt_open(row, &err) != 0) return v1_fail(c, &err);
    http_reply(c, 200, row->payload);
    return HTTP_DONE;
}

int v1_resolve_interrupt_by_token(struct http_call *c) {
    struct wopr_error err = {0};
    const struct interrupt_row *row = row_take(c);
    struct str value = STR_NONE;
    struct v1_cmd *vc = NULL;
    if (body_read(c, &value, &err) == 0) vc = command(c, &err);
    if (!vc) return v1_fail(c, &err);
    vc->cmd.resolve.node_id = row->node_id;
    vc->cmd.resolve.interrupt_id = row->interrupt_id;
    return submit(c, vc, RESOLVE_TOKEN, row->run_id, value);
}
