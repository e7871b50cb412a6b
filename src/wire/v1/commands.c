/*
 * commands.c: the life of an engine command that belongs to a suspended call, and :pause, :resume,
 * cancel. submit -> respond() renders the answer, maybe stored under the idempotency key with the
 * effect -> done() resumes the call.
 */
#include "base/clock.h"
#include "codec/ident.h"
#include "wire/v1/wire_int.h"

#include <stdio.h>

enum { ANSWER_MAX = 8192 };

static void created_render(struct jw *w, const struct v1_cmd *vc, const struct engine_result *r) {
    struct arena *a = vc->call->arena;
    struct str run =
        arena_printf(a, STR_FMT "/v1/runs/" STR_FMT, STR_ARG(vc->base_url), STR_ARG(r->run_id));
    struct str events = arena_printf(a, STR_FMT "/events", STR_ARG(run));
    jw_kstr(w, "runId", r->run_id);
    jw_kstrz(w, "status", "pending"); /* RUN-4 */
    jw_kstr(w, "eventsUrl", events);
    jw_kstr(w, "statusUrl", run);
}

static int success_render(const struct v1_cmd *vc, const struct engine_result *r, struct buf *out) {
    struct jw w;
    int status = 202;
    jw_init(&w, out);
    jw_object(&w);
    switch (vc->cmd.op) {
    case ENGINE_CREATE:
        created_render(&w, vc, r);
        status = 201;
        break;
    case ENGINE_FORK:
        v1_fork_accepted(&w, vc, r);
        status = 201;
        break;
    case ENGINE_CANCEL: /* RUN-20, RUN-21: an ended run keeps its status; else it is cancelling
                           (D35) */
        jw_kstr(&w, "runId", vc->cmd.run_id);
        jw_kstrz(&w, "status",
                 run_status_name(run_status_final(r->status) ? r->status : RUN_CANCELLING));
        status = 200;
        break;
    case ENGINE_RESOLVE: /* INT-14, INT-15 */
        jw_kstr(&w, "runId", r->run_id.n ? r->run_id : vc->cmd.run_id);
        jw_kstr(&w, "nodeId", r->node_id.n ? r->node_id : vc->cmd.resolve.node_id);
        jw_kstr(&w, "interruptId", r->interrupt_id);
        jw_kstrz(&w, "status", v1_status_shown(r->status));
        status = 200;
        break;
    case ENGINE_PAUSE:
        jw_kstr(&w, "runId", vc->cmd.run_id);
        jw_kstrz(&w, "status", "paused");
        v1_time_member(&w, "pausedAt", r->at_ms);
        break;
    default:
        jw_kstr(&w, "runId", vc->cmd.run_id);
        jw_kstrz(&w, "status", "running");
        v1_time_member(&w, "resumedAt", r->at_ms);
        break;
    }
    jw_end_object(&w);
    return status;
}

/* Details that only the result knows (3.2). */
static void error_complete(const struct v1_cmd *vc, const struct engine_result *r,
                           struct wopr_error *err) {
    char at[TIME_LEN + 1];
    *err = r->err;
    err->code = r->rc;
    if (r->rc == WOPR_E_RUN_ALREADY_ACTIVE) {
        wopr_error_details(
            err, "{\"activeRunId\":\"" STR_FMT "\",\"activeHost\":\"cloud\",\"retryAfter\":%d}",
            STR_ARG(r->active_run_id), r->retry_after_s > 0 ? (int)r->retry_after_s : 1);
    } else if ((r->rc == WOPR_E_CONFLICT || r->rc == WOPR_E_RUN_TERMINAL) &&
               vc->cmd.op != ENGINE_CREATE) {
        if (r->at_ms > 0) {
            time_format(r->at_ms, at);
            wopr_error_details(err, "{\"runStatus\":\"%s\",\"pausedAt\":\"%s\"}",
                               v1_status_shown(r->status), at);
        } else {
            wopr_error_details(err, "{\"runStatus\":\"%s\"}", v1_status_shown(r->status));
        }
    } else if (r->rc == WOPR_E_VALIDATION && vc->cmd.op == ENGINE_RESOLVE && vc->resume_bare) {
        static const char MEMBER[] = "/resumeValue"; /* the body is the value itself */
        if (strncmp(err->pointer, MEMBER, sizeof MEMBER - 1) == 0)
            snprintf(err->pointer, sizeof err->pointer, "%s", r->err.pointer + sizeof MEMBER - 1);
    } else if (r->retry_after_s > 0 && !err->details[0]) {
        wopr_error_details(err, "{\"retryAfter\":%d}", (int)r->retry_after_s);
    }
}

/* INT-16, RUN-38: older clients know 400, 404 and 409 only; the code still says what it is. */
static int alias_status(int rc, int status) {
    if (rc == WOPR_E_CORRELATION_MISMATCH) return 400;
    return status == 410 || status == 422 ? 409 : status;
}

/* IDEM-8, IDEM-9.  Failures of the store and of admission cannot be stored: there is nothing to
 * store them in. */
static bool worth_storing(int rc, int status) {
    if (wopr_err_passes(rc)) return false;
    if (rc == WOPR_E_IDEM_IN_FLIGHT || rc == WOPR_E_IDEM_CONFLICT) return false;
    if (rc == WOPR_E_INTERRUPT_NOT_FOUND) return false; /* it may come yet */
    return status != 400 && status != 401 && status != 403;
}

static bool respond_error(const struct v1_cmd *vc, const struct engine_result *r,
                          struct idem_response *out) {
    struct wopr_error err;
    int retry = 0;
    error_complete(vc, r, &err);
    *out = (struct idem_response){0};
    v1_error_body(vc->call, &err, &out->status, &out->body, &retry);
    if (vc->cmd.op == ENGINE_RESOLVE && vc->cmd.resolve.via == RESOLVE_ALIAS)
        out->status = alias_status(r->rc, out->status);
    out->retry_after_s = retry;
    /* A refusal that says "later" is replayed only until then, so a retry is not frozen for a day
     * (IDEM-9, CON-7). */
    if (retry > 0) out->transient_until_ms = clock_wall_ms() + (int64_t)retry * 1000;
    else if (out->status >= 500) out->transient_until_ms = clock_wall_ms() + 1000;
    return worth_storing(r->rc, out->status);
}

bool v1_cmd_respond(struct engine_cmd *cmd, const struct engine_result *r,
                    struct idem_response *out) {
    struct v1_cmd *vc = cmd->ctx;
    if (r->rc != 0) return respond_error(vc, r, out);
    struct buf b;
    buf_init(&b, ANSWER_MAX);
    int status = success_render(vc, r, &b);
    struct str body = buf_failed(&b) ? STR_NONE : arena_str(vc->call->arena, buf_str(&b));
    buf_fini(&b);
    if (!body.p) {
        struct engine_result short_of = {.rc = WOPR_E_NO_MEMORY};
        return respond_error(vc, &short_of, out);
    }
    *out = (struct idem_response){.status = status, .body = body};
    return true;
}

static void cmd_done(struct engine_cmd *cmd) {
    struct v1_cmd *vc = cmd->ctx;
    struct http_call *c = vc->call;
    const struct idem_response *r = &cmd->response;
    /* The answer was rendered before the commit: when that failed, the result counts. */
    if (!cmd->replayed && (r->status == 0 || (cmd->result.rc != 0 && r->status < 400))) {
        struct wopr_error err;
        error_complete(vc, &cmd->result, &err);
        if (err.code == 0) err.code = WOPR_E_INTERNAL;
        http_fail(c, &err);
    } else {
        if (r->retry_after_s > 0)
            http_reply_header(c, "Retry-After",
                              arena_printf(c->arena, "%d", (int)r->retry_after_s));
        if (cmd->replayed) /* IDEM-5; "false" is the server's business */
            http_reply_header(c, "openwop-Idempotent-Replay", STR("true"));
        http_reply(c, r->status, r->body);
    }
    http_resume(c);
}

struct v1_cmd *v1_cmd_new(struct http_call *c, enum engine_op op) {
    struct v1_cmd *vc = ARENA_NEW(c->arena, struct v1_cmd);
    struct buf b;
    struct jw w;
    if (!vc) return NULL;
    buf_init(&b, ANSWER_MAX);
    jw_init(&w, &b);
    jw_object(&w); /* Subject (D18): no personal data, ids only */
    jw_kstr(&w, "issuer", c->who.subject_issuer);
    jw_kstr(&w, "subjectId", c->who.subject_id);
    jw_kstr(&w, "tenant", c->who.tenant);
    bool token = (c->op->flags & OP_TOKEN) != 0; /* whoever has it */
    jw_kstrz(&w, "lane", token ? "anonymous" : "api-key");
    jw_kstrz(&w, "kind", token ? "anonymous" : "user");
    jw_end_object(&w);
    struct str subject = buf_failed(&b) ? STR_NONE : arena_str(c->arena, buf_str(&b));
    buf_fini(&b);
    if (!subject.p) return NULL;
    vc->call = c;
    vc->cmd = (struct engine_cmd){.op = op,
                                  .arena = c->arena,
                                  .tenant = c->who.tenant,
                                  .workspace = c->who.workspace,
                                  .subject = subject,
                                  .principal = c->who.subject_id,
                                  .test_mode = c->who.test_mode,
                                  .traceparent = c->traceparent,
                                  .has_idem = c->has_idem,
                                  .idem = c->idem,
                                  .respond = v1_cmd_respond,
                                  .done = cmd_done,
                                  .ctx = vc};
    return vc;
}

int v1_cmd_submit(struct v1_cmd *vc) {
    engine_submit(v1_of(vc->call)->engine, &vc->cmd);
    return HTTP_PENDING;
}

static int drain_read(struct str text, enum drain_policy *out, struct wopr_error *err) {
    if (!text.p || str_eq(text, STR("drain-current-node"))) *out = DRAIN_CURRENT_NODE;
    else if (str_eq(text, STR("immediate"))) *out = DRAIN_IMMEDIATE;
    else
        return wire_field_error(err, "drainPolicy", "unknown_value",
                                "drainPolicy must be immediate or drain-current-node");
    return 0;
}

/* RUN-24, RUN-29: the body of this shape is read into body; reason, and drain where the operation
 * has one, point into it. */
static int control(struct http_call *c, enum engine_op op, const struct wire_body *shape,
                   void *body, const struct str *reason, const struct str *drain) {
    struct wopr_error err = {0};
    struct run_head head;
    enum drain_policy policy = DRAIN_CURRENT_NODE;
    if (v1_call_run(c, &head, &err) != 0) return v1_fail(c, &err); /* RUN-30 */
    if (wire_body_parse(c->body, shape, c->arena, body, &err) != 0 ||
        (drain && drain_read(*drain, &policy, &err) != 0))
        return v1_fail(c, &err);
    if (reason->n > V1_REASON_BYTES) {
        wire_field_error(&err, "reason", "too_long", "reason is too long");
        return v1_fail(c, &err);
    }
    struct v1_cmd *vc = v1_cmd_new(c, op);
    if (!vc) {
        wopr_error_set(&err, WOPR_E_NO_MEMORY, "no memory for the command");
        return v1_fail(c, &err);
    }
    vc->cmd.run_id = head.run_id;
    vc->cmd.control.reason = *reason;
    vc->cmd.control.drain = policy;
    return v1_cmd_submit(vc);
}

int v1_cancel_run(struct http_call *c) {
    struct v1_cancel_request b = {0};
    return control(c, ENGINE_CANCEL, &V1_CANCEL_REQUEST, &b, &b.reason, NULL);
}

int v1_pause_run(struct http_call *c) {
    struct v1_pause_request b = {0};
    return control(c, ENGINE_PAUSE, &V1_PAUSE_REQUEST, &b, &b.reason, &b.drain_policy);
}

int v1_resume_run(struct http_call *c) {
    struct v1_resume_request b = {0};
    return control(c, ENGINE_RESUME, &V1_RESUME_REQUEST, &b, &b.reason, NULL);
}
