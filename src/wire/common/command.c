/*
 * command.c: the life of an engine command that belongs to a suspended call.
 */
#include "wire/common/command.h"
#include "base/clock.h"
#include "codec/jobj.h"

enum { ANSWER_MAX = 32768, SUBJECT_MAX = 8192 };

/* IDEM-8, IDEM-9.  Failures of the store and of admission have no transaction to be stored in. */
static bool answer_is_storable(int rc, int status) {
    if (wopr_err_passes(rc)) return false;
    if (rc == WOPR_E_IDEM_IN_FLIGHT || rc == WOPR_E_IDEM_CONFLICT) return false;
    if (rc == WOPR_E_INTERRUPT_NOT_FOUND) return false; /* it may be requested later */
    return status != 400 && status != 401 && status != 403;
}

static bool failure_respond(const struct wire_cmd *wc, const struct engine_result *r,
                            struct idem_response *out) {
    struct wopr_error err;
    *out = (struct idem_response){0};
    wc->spelling->explain(wc, r, &err);
    wc->spelling->failure(wc, &err, out);
    /* Store a refusal with a Retry-After only for that time: a later retry must be executed, not
     * answered from the store for a day (IDEM-9, CON-7). */
    if (out->retry_after_s > 0)
        out->transient_until_ms = clock_wall_ms() + (int64_t)out->retry_after_s * 1000;
    else if (out->status >= 500) out->transient_until_ms = clock_wall_ms() + 1000;
    return answer_is_storable(r->rc, out->status);
}

bool wire_cmd_respond(struct engine_cmd *cmd, const struct engine_result *r,
                      struct idem_response *out) {
    const struct wire_cmd *wc = cmd->ctx;
    if (r->rc != 0) return failure_respond(wc, r, out);
    struct buf b;
    buf_init(&b, ANSWER_MAX);
    int status = wc->spelling->success(wc, r, &b);
    struct str body = buf_failed(&b) ? STR_NONE : arena_str(wc->call->arena, buf_str(&b));
    buf_fini(&b);
    if (!body.p) {
        struct engine_result exhausted = {.rc = WOPR_E_NO_MEMORY};
        return failure_respond(wc, &exhausted, out);
    }
    *out = (struct idem_response){.status = status, .body = body};
    return true;
}

static void answer_send(struct http_call *c, const struct engine_cmd *cmd) {
    const struct idem_response *r = &cmd->response;
    if (r->retry_after_s > 0)
        http_reply_header(c, "Retry-After", arena_printf(c->arena, "%d", (int)r->retry_after_s));
    if (cmd->replayed) http_reply_replayed(c);
    http_reply(c, r->status, r->body);
}

static void cmd_done(struct engine_cmd *cmd) {
    struct wire_cmd *wc = cmd->ctx;
    const struct idem_response *r = &cmd->response;
    /* The answer was rendered before the commit.  If the commit failed, render the failure
     * instead. */
    if (!cmd->replayed && (r->status == 0 || (cmd->result.rc != 0 && r->status < 400))) {
        struct wopr_error err;
        wc->spelling->explain(wc, &cmd->result, &err);
        if (err.code == 0) err.code = WOPR_E_INTERNAL;
        http_fail(wc->call, &err);
    } else {
        answer_send(wc->call, cmd);
    }
    http_resume(wc->call);
}

/* The Subject that events record (D18): no personal data, ids only. */
struct str wire_subject(const struct http_call *c) {
    static const struct {
        const char *lane, *kind;
    } LANES[] = {[LANE_API_KEY] = {"api-key", "user"},
                 [LANE_OAUTH2] = {"oauth2", "workload"},
                 [LANE_OIDC] = {"oidc", "user"}};
    bool token = (c->op->flags & OP_TOKEN) != 0; /* whoever holds it is unknown */
    struct jobj o;
    jobj_begin(&o, SUBJECT_MAX);
    jw_kstr(&o.w, "issuer", c->who.subject_issuer);
    jw_kstr(&o.w, "subjectId", c->who.subject_id);
    jw_kstr(&o.w, "tenant", c->who.tenant);
    jw_kstrz(&o.w, "lane", token ? "anonymous" : LANES[c->who.lane].lane);
    jw_kstrz(&o.w, "kind", token ? "anonymous" : LANES[c->who.lane].kind);
    return jobj_end(&o, c->arena);
}

int wire_cmd_new(struct http_call *c, enum engine_op op, const struct wire_spelling *spelling,
                 struct wire_cmd **out, struct wopr_error *err) {
    struct wire_cmd *wc = ARENA_NEW(c->arena, struct wire_cmd);
    struct str subject = wc ? wire_subject(c) : STR_NONE;
    if (!subject.p) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the command");
    struct plan_audit *audit = wire_of(c)->audit ? ARENA_NEW(c->arena, struct plan_audit) : NULL;
    if (audit) http_audit_of(c, audit);
    *wc = (struct wire_cmd){
        .call = c,
        .spelling = spelling,
        .cmd = {.op = op,
                .arena = c->arena,
                .tenant = c->who.tenant,
                .workspace = c->who.workspace,
                .subject = subject,
                .principal = c->who.subject_id,
                .test_mode = c->who.test_mode,
                .traceparent = trace_context(c->traceparent, c->tracestate, c->arena),
                .bytes = c->body.n,
                .has_idem = c->has_idem,
                .idem = c->idem,
                .audit = audit,
                .respond = wire_cmd_respond,
                .done = cmd_done,
                .ctx = wc}};
    *out = wc;
    return 0;
}

int wire_cmd_submit(struct wire_cmd *wc) {
    engine_submit(wire_of(wc->call)->engine, &wc->cmd);
    return HTTP_PENDING;
}
