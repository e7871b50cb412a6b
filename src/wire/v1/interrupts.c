/*
 * interrupts.c: resolves interrupts by run and node (INT-14), by signed token (INT-15) and by the
 * older alias (INT-16), and shows one by token (RUN-39).
 */
#include "wire/common/interrupt_token.h"
#include "wire/v1/wire_int.h"

/* INT-14, RUN-34: the object is closed; resumeValue is required and may have any type. */
static int value_read(struct http_call *c, struct str *value, struct wopr_error *err) {
    struct v1_resolve_request body = {0};
    int rc = wire_body_parse(c->body, &V1_RESOLVE_REQUEST, c->arena, &body, err);
    if (rc != 0) return rc;
    if (!body.resume_value.p)
        return wire_field_error(err, "resumeValue", "required", "resumeValue is required");
    *value = body.resume_value;
    return 0;
}

static int resolve_submit(struct http_call *c, struct wire_cmd *wc, enum resolve_via via,
                          struct str run_id, struct str value) {
    wc->cmd.run_id = run_id;
    wc->cmd.resolve.value = value;
    wc->cmd.resolve.via = via;
    wc->cmd.resolve.may_delegate = (c->who.scopes & SCOPE_APPROVALS_DELEGATE) != 0;
    /* INT-32: an event id inside the value has precedence. */
    struct str key = http_header(c, "Idempotency-Key");
    if (key.n > 0) wc->cmd.resolve.event_id = arena_str(c->arena, key);
    return wire_cmd_submit(wc);
}

/* One answer for an absent run, a foreign one and one without the interrupt (INT-17). */
static int run_read(struct http_call *c, struct run_head *head, struct wopr_error *err) {
    int rc = wire_run_of(c, head, err);
    if (rc != WOPR_E_NOT_FOUND) return rc;
    return wopr_error_set(err, WOPR_E_INTERRUPT_NOT_FOUND, "the run has no such interrupt");
}

/* INT-14: who has read a question answers that one, and no other that the node asks by then. */
static int question_take(struct http_call *c, struct str *id, struct wopr_error *err) {
    bool given;
    *id = http_query(c, "interruptId", &given);
    if (!given || id->n > 0) return 0;
    return wire_field_error(err, "interruptId", "empty", "interruptId is the id of an interrupt");
}

static int resolve_by_run(struct http_call *c, enum resolve_via via, bool bare) {
    struct wopr_error err = {0};
    struct run_head head;
    struct str value = c->body, question = STR_NONE;
    struct wire_cmd *wc = NULL;
    int rc = run_read(c, &head, &err);
    if (rc == 0) rc = question_take(c, &question, &err);
    if (rc == 0 && !bare) rc = value_read(c, &value, &err);
    if (rc == 0) rc = wire_cmd_new(c, ENGINE_RESOLVE, &V1_SPELLING, &wc, &err);
    if (rc != 0) return wire_fail(c, &err);
    wc->cmd.resolve.node_id = http_param(c, "nodeId");
    wc->cmd.resolve.interrupt_id = question;
    wc->resume_bare = bare;
    return resolve_submit(c, wc, via, head.run_id, value);
}

int v1_resolve_interrupt_by_run(struct http_call *c) {
    return resolve_by_run(c, RESOLVE_RUN, false);
}

/* INT-16: older clients send the value itself. */
int v1_resolve_approval_alias(struct http_call *c) {
    return resolve_by_run(c, RESOLVE_ALIAS, json_get(c->body, "resumeValue").p == NULL);
}

int v1_inspect_interrupt_by_token(struct http_call *c) {
    struct wopr_error err = {0};
    const struct interrupt_row *row = wire_token_row_take(c);
    if (wire_interrupt_open(row, &err) != 0) return wire_fail(c, &err);
    http_reply(c, 200, row->payload);
    return HTTP_DONE;
}

int v1_resolve_interrupt_by_token(struct http_call *c) {
    struct wopr_error err = {0};
    const struct interrupt_row *row = wire_token_row_take(c);
    struct str value = STR_NONE;
    struct wire_cmd *wc = NULL;
    int rc = value_read(c, &value, &err);
    if (rc == 0) rc = wire_cmd_new(c, ENGINE_RESOLVE, &V1_SPELLING, &wc, &err);
    if (rc != 0) return wire_fail(c, &err);
    wc->cmd.resolve.node_id = row->node_id;
    wc->cmd.resolve.interrupt_id = row->interrupt_id;
    return resolve_submit(c, wc, RESOLVE_TOKEN, row->run_id, value);
}
