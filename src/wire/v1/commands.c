/*
 * commands.c: the answers of commands in the spelling of major 1 (their life cycle:
 * wire/common/command.h), and the routes cancel, :pause and :resume.
 */
#include "base/clock.h"
#include "codec/ident.h"
#include "codec/jobj.h"
#include "wire/v1/wire_int.h"

#include <stdio.h>

/* Inputs that were dropped (docs/api-extensions.md): a typo is noticed. */
static void strays_render(struct jw *w, const struct var_inits *in) {
    if (in->strays_nr == 0) return;
    jw_key(w, "warnings");
    jw_array(w);
    for (size_t i = 0; i < in->strays_nr; i++) {
        char path[INPUT_STRAY_BYTES + sizeof "inputs."];
        snprintf(path, sizeof path, "inputs." STR_FMT, STR_ARG(in->strays[i].name));
        jw_object(w);
        jw_kstrz(w, "path", path);
        jw_kstrz(w, "reason", "undeclared");
        jw_kstr_opt(w, "nearest", in->strays[i].nearest);
        jw_end_object(w);
    }
    jw_end_array(w);
}

static void created_render(struct jw *w, const struct wire_cmd *wc, const struct engine_result *r) {
    struct arena *a = wc->call->arena;
    struct str run =
        arena_printf(a, STR_FMT "/v1/runs/" STR_FMT, STR_ARG(wc->base_url), STR_ARG(r->run_id));
    struct str events = arena_printf(a, STR_FMT "/events", STR_ARG(run));
    jw_kstr(w, "runId", r->run_id);
    jw_kstrz(w, "status", "pending"); /* RUN-4 */
    jw_kstr(w, "eventsUrl", events);
    jw_kstr(w, "statusUrl", run);
    strays_render(w, &wc->cmd.create.inputs);
}

static int success_render(const struct wire_cmd *wc, const struct engine_result *r,
                          struct buf *out) {
    struct jw w;
    int status = 202;
    jw_init(&w, out);
    jw_object(&w);
    switch (wc->cmd.op) {
    case ENGINE_CREATE:
        created_render(&w, wc, r);
        status = 201;
        break;
    case ENGINE_FORK:
        v1_fork_accepted(&w, wc, r);
        status = 201;
        break;
    case ENGINE_CANCEL: /* RUN-20, RUN-21, D35: an ended run keeps its status */
        jw_kstr(&w, "runId", wc->cmd.run_id);
        jw_kstrz(&w, "status",
                 run_status_name(run_status_final(r->status) ? r->status : RUN_CANCELLING));
        status = 200;
        break;
    case ENGINE_RESOLVE: /* INT-14, INT-15 */
        jw_kstr(&w, "runId", r->run_id.n ? r->run_id : wc->cmd.run_id);
        jw_kstr(&w, "nodeId", r->node_id.n ? r->node_id : wc->cmd.resolve.node_id);
        jw_kstr(&w, "interruptId", r->interrupt_id);
        jw_kstrz(&w, "status", v1_status_shown(r->status));
        status = 200;
        break;
    case ENGINE_TASK:
        v1_task_said(&w, &wc->cmd, r);
        status = 200;
        break;
    case ENGINE_PAUSE:
        jw_kstr(&w, "runId", wc->cmd.run_id);
        jw_kstrz(&w, "status", "paused");
        v1_time_member(&w, "pausedAt", r->at_ms);
        break;
    default:
        jw_kstr(&w, "runId", wc->cmd.run_id);
        jw_kstrz(&w, "status", "running");
        v1_time_member(&w, "resumedAt", r->at_ms);
        break;
    }
    jw_end_object(&w);
    return status;
}

static void active_details(const struct engine_result *r, struct wopr_error *err) {
    struct jobj o;
    jobj_begin(&o, WOPR_DETAILS_SIZE);
    jw_kstr(&o.w, "activeRunId", r->active_run_id);
    jw_kstrz(&o.w, "activeHost", "cloud");
    jw_kint(&o.w, "retryAfter", r->retry_after_s > 0 ? r->retry_after_s : 1);
    jobj_details(&o, err);
}

static void status_details(const struct engine_result *r, struct wopr_error *err) {
    struct jobj o;
    jobj_begin(&o, WOPR_DETAILS_SIZE);
    jw_kstrz(&o.w, "runStatus", v1_status_shown(r->status));
    if (r->at_ms > 0) v1_time_member(&o.w, "pausedAt", r->at_ms);
    jobj_details(&o, err);
}

/* Details that only the result knows (3.2). */
static void error_explain(const struct wire_cmd *wc, const struct engine_result *r,
                          struct wopr_error *err) {
    *err = r->err;
    err->code = r->rc;
    if (r->rc == WOPR_E_RUN_ALREADY_ACTIVE) {
        active_details(r, err);
    } else if ((r->rc == WOPR_E_CONFLICT || r->rc == WOPR_E_RUN_TERMINAL) &&
               wc->cmd.op != ENGINE_CREATE && wc->cmd.op != ENGINE_FORK &&
               wc->cmd.op != ENGINE_TASK) {
        status_details(r, err);
    } else if (r->rc == WOPR_E_VALIDATION && wc->cmd.op == ENGINE_RESOLVE && wc->resume_bare) {
        static const char MEMBER[] = "/resumeValue"; /* the body is the value itself */
        if (strncmp(err->pointer, MEMBER, sizeof MEMBER - 1) == 0)
            snprintf(err->pointer, sizeof err->pointer, "%s", r->err.pointer + sizeof MEMBER - 1);
    } else if (r->retry_after_s > 0 && !err->details[0]) {
        jobj_details_int(err, "retryAfter", (int)r->retry_after_s);
    }
}

/* INT-16, RUN-38: older clients know only 400, 404 and 409; the code in the body is exact. */
static int alias_status(int rc, int status) {
    if (rc == WOPR_E_CORRELATION_MISMATCH) return 400;
    return status == 410 || status == 422 ? 409 : status;
}

static void failure_render(const struct wire_cmd *wc, const struct wopr_error *err,
                           struct idem_response *out) {
    int retry = 0;
    v1_error_body(wc->call, err, &out->status, &out->body, &retry);
    if (wc->cmd.op == ENGINE_RESOLVE && wc->cmd.resolve.via == RESOLVE_ALIAS)
        out->status = alias_status(err->code, out->status);
    out->retry_after_s = retry;
}

const struct wire_spelling V1_SPELLING = {
    .success = success_render, .explain = error_explain, .failure = failure_render};

static int drain_read(struct str text, enum drain_policy *out, struct wopr_error *err) {
    if (!text.p || str_eq(text, STR("drain-current-node"))) *out = DRAIN_CURRENT_NODE;
    else if (str_eq(text, STR("immediate"))) *out = DRAIN_IMMEDIATE;
    else
        return wire_field_error(err, "drainPolicy", "unknown_value",
                                "drainPolicy must be immediate or drain-current-node");
    return 0;
}

/* RUN-24, RUN-29.  body: zeroed struct of that shape; reason points into it, and so does drain,
 * which is NULL for operations without one. */
static int control_submit(struct http_call *c, enum engine_op op, const struct wire_body *shape,
                          void *body, const struct str *reason, const struct str *drain) {
    struct wopr_error err = {0};
    struct run_head head;
    enum drain_policy policy = DRAIN_CURRENT_NODE;
    if (wire_run_of(c, &head, &err) != 0) return wire_fail(c, &err); /* RUN-30 */
    if (wire_body_parse(c->body, shape, c->arena, body, &err) != 0 ||
        (drain && drain_read(*drain, &policy, &err) != 0))
        return wire_fail(c, &err);
    if (reason->n > V1_REASON_BYTES) {
        wire_field_error(&err, "reason", "too_long", "reason is too long");
        return wire_fail(c, &err);
    }
    struct wire_cmd *wc;
    if (wire_cmd_new(c, op, &V1_SPELLING, &wc, &err) != 0) return wire_fail(c, &err);
    wc->cmd.run_id = head.run_id;
    wc->cmd.control.reason = *reason;
    wc->cmd.control.drain = policy;
    return wire_cmd_submit(wc);
}

int v1_cancel_run(struct http_call *c) {
    struct v1_cancel_request b = {0};
    return control_submit(c, ENGINE_CANCEL, &V1_CANCEL_REQUEST, &b, &b.reason, NULL);
}

int v1_pause_run(struct http_call *c) {
    struct v1_pause_request b = {0};
    return control_submit(c, ENGINE_PAUSE, &V1_PAUSE_REQUEST, &b, &b.reason, &b.drain_policy);
}

int v1_resume_run(struct http_call *c) {
    struct v1_resume_request b = {0};
    return control_submit(c, ENGINE_RESUME, &V1_RESUME_REQUEST, &b, &b.reason, NULL);
}
