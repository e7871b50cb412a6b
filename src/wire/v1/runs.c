/*
 * runs.c: POST /v1/runs (RUN-1 to RUN-9) and GET /v1/runs/{runId} (RUN-10).
 */
#include "base/clock.h"
#include "base/mem.h"
#include "codec/jobj.h"
#include "hooks/hooks.h"
#include "rail/rail.h"
#include "wire/common/url.h"
#include "wire/common/view.h"
#include "wire/v1/wire_int.h"

#include <stdio.h>

enum { FORCE_DIGITS_SHOWN = 32 }; /* of a forced version outside the range, in the message */

struct v1_force_range v1_force_range(void) {
    return (struct v1_force_range){CURRENT_ENGINE_VERSION - 1, CURRENT_ENGINE_VERSION + 1};
}

static bool digits_only(struct str text) {
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] < '0' || text.p[i] > '9') return false;
    return text.n > 0;
}

static int force_refuse(struct str digits, struct v1_force_range range, struct wopr_error *err) {
    int rc = wopr_error_set(err, WOPR_E_FORCE_VERSION_RANGE,
                            "the forced engine version is outside the advertised range");
    while (digits.n > 1 && digits.p[0] == '0') digits = str_n(digits.p + 1, digits.n - 1);
    struct jobj o;
    jobj_begin(&o, WOPR_DETAILS_SIZE);
    if (digits.n <= FORCE_DIGITS_SHOWN) jw_kraw(&o.w, "requested", digits);
    jw_key(&o.w, "supported");
    jw_object(&o.w);
    jw_kint(&o.w, "min", range.min);
    jw_kint(&o.w, "max", range.max);
    jw_end_object(&o.w);
    jobj_details(&o, err);
    return rc;
}

/* VER-10.  The test-key gate is judged before the value. */
static int force_read(struct http_call *c, struct engine_cmd *cmd, struct wopr_error *err) {
    struct str text = http_header(c, "X-Force-Engine-Version");
    struct v1_force_range range = v1_force_range();
    uint64_t v;
    if (!text.p) return 0;
    if (!c->who.test_mode)
        return wopr_error_set(err, WOPR_E_FORCE_VERSION_FORBIDDEN,
                              "forcing an engine version needs a test key");
    if (!digits_only(text))
        return wire_header_error(err, "X-Force-Engine-Version",
                                 "X-Force-Engine-Version must be a non-negative integer");
    if (!str_u64(text, &v) || v > INT32_MAX || (int32_t)v < range.min || (int32_t)v > range.max)
        return force_refuse(text, range, err);
    cmd->create.force_engine_version = true;
    cmd->create.shown_engine_version = (int32_t)v;
    return 0;
}

static int dedup_read(struct http_call *c, struct str scope_id, bool *enforce,
                      struct wopr_error *err) {
    struct str text = http_header(c, "X-Dedup");
    *enforce = false;
    if (!text.p) return 0;
    if (!str_eq(text, STR("enforce")))
        return wire_header_error(err, "X-Dedup", "the only value of X-Dedup is enforce");
    if (scope_id.n == 0)
        return wire_field_error(err, "scopeId", "required", "X-Dedup: enforce needs a scopeId");
    *enforce = true;
    return 0;
}

/* RUN-1, HOOK-16: refused here rather than accepted and never reached. */
static int callback_check(const struct http_call *c, struct str url, struct wopr_error *err) {
    struct wopr_error why = {0};
    const struct hooks *h = v1_of(c)->cfg.hooks;
    if (!wire_callback_url_valid(url))
        return wire_field_error(err, "callbackUrl", "uri",
                                "callbackUrl must be an absolute http or https URI");
    if (!h)
        return wire_field_error(err, "callbackUrl", "unavailable",
                                "this host sends nothing out: callbackUrl needs --egress and"
                                " --webhooks");
    int rc = hooks_call_check(h, url, &why);
    if (rc != WOPR_E_VALIDATION)
        return rc == 0 ? 0 : wopr_error_set(err, rc, "callbackUrl: %s", why.message);
    const char *text = arena_cstr(c->arena, str_c(why.message));
    return wire_field_error(err, "callbackUrl", "refused",
                            text ? text : "callbackUrl names an address that is not reached");
}

static int members_check(const struct http_call *c, const struct v1_create_run_request *b,
                         struct wopr_error *err) {
    if (b->workflow_id.n == 0)
        return wire_field_error(err, "workflowId", "required", "workflowId is required");
    if (b->scope_id.p && (b->scope_id.n == 0 || utf8_count(b->scope_id) > V1_SCOPE_ID_CHARS))
        return wire_field_error(err, "scopeId", "length", "scopeId must have 1 to 256 characters");
    return b->callback_url.p ? callback_check(c, b->callback_url, err) : 0;
}

/* AUTH-10, D19: compared with the key's tenant, never used instead of it. */
static int tenant_check(const struct http_call *c, struct str tenant_id, struct wopr_error *err) {
    if (!tenant_id.p || str_eq(tenant_id, c->who.tenant)) return 0;
    return wopr_error_set(err, WOPR_E_FORBIDDEN,
                          "the key does not belong to the tenant that the body names");
}

/* A session has no caller but an agent with tokens, so none begins here. */
static bool leads_agents(const struct http_call *c, struct str id) {
    const struct v1_config *cfg = &v1_of(c)->cfg;
    return cfg->sessions && rail_workflow_find(cfg->rail, id) != NULL;
}

static int workflow_find(struct http_call *c, struct str id, bool here, struct workflow **out,
                         struct wopr_error *err) {
    struct workflow *wf = NULL;
    int rc = WOPR_E_NOT_FOUND;
    if (id.n <= WIRE_ID_CHARS)
        rc = (here ? engine_workflow_here : engine_workflow)(wire_of(c)->engine, c->who.tenant,
                                                             c->who.test_mode, id, &wf, err);
    if (rc == WOPR_E_NOT_FOUND && leads_agents(c, id)) /* WR-265 */
        return wire_field_error(err, "workflowId", "session_workflow",
                                "workflowId names a workflow that leads an agent: call the tool "
                                "start_workflow at POST /v1/mcp; its answer names the run");
    if (rc == WOPR_E_NOT_FOUND) /* RUN-2: 400, and the unknown id is not repeated (HTTP-14) */
        return wire_field_error(err, "workflowId", "unknown_workflow",
                                "workflowId names no workflow of this tenant");
    if (rc == WOPR_E_VALIDATION) {
        const char *why = arena_cstr(c->arena, str_c(err->message));
        return wire_field_error(err, "workflowId", "not_executable",
                                why ? why : "the stored workflow cannot be executed by this host");
    }
    if (rc != 0) return rc;
    if (!wf->active) {
        workflow_unref(wf);
        return wire_field_error(err, "workflowId", "inactive", "the workflow is not active");
    }
    *out = wf;
    return 0;
}

static int command_fill(struct http_call *c, const struct v1_create_run_request *b,
                        struct wire_cmd *wc, struct wopr_error *err) {
    struct engine_cmd *cmd = &wc->cmd;
    struct options_env env = {.limits = &wire_of(c)->limits, .test_key = c->who.test_mode};
    int rc = run_options_check(b->configurable, b->tags, b->metadata, cmd->create.wf, &env,
                               c->arena, &cmd->create.options, err);
    if (rc != 0) return rc;
    rc = run_inputs_check(b->inputs.p ? b->inputs : STR("{}"), cmd->create.wf, c->arena,
                          &cmd->create.inputs, err);
    if (rc != 0) return rc;
    rc = run_inputs_render(&cmd->create.inputs, c->arena, &cmd->create.inputs_accepted, err);
    if (rc != 0) return rc;
    cmd->create.scope_id = b->scope_id;
    cmd->create.callback_url = b->callback_url;
    cmd->create.callback_answers = (c->who.scopes & SCOPE_APPROVALS_RESPOND) != 0;
    wc->base_url = http_base_url(c);
    return 0;
}

/* Here: WOPR_E_TOO_BIG, and nothing has happened, when the definition would have to be compiled, a
 * callback URL be judged, or a program with its inputs. */
static int create_run(struct http_call *c, bool here) {
    struct wopr_error err = {0};
    struct v1_create_run_request body = {0};
    struct workflow *wf = NULL;
    struct wire_cmd *wc;
    int rc = wire_cmd_new(c, ENGINE_CREATE, &V1_SPELLING, &wc, &err);
    if (rc == 0) rc = force_read(c, &wc->cmd, &err); /* gates before validation (HTTP-11) */
    if (rc == 0) rc = wire_body_parse(c->body, &V1_CREATE_RUN_REQUEST, c->arena, &body, &err);
    if (rc == 0 && here && body.callback_url.p) return WOPR_E_TOO_BIG; /* its check may block */
    if (rc == 0) rc = tenant_check(c, body.tenant_id, &err);
    if (rc == 0) rc = members_check(c, &body, &err);
    if (rc == 0) rc = dedup_read(c, body.scope_id, &wc->cmd.create.dedup_enforce, &err);
    if (rc == 0) rc = workflow_find(c, body.workflow_id, here, &wf, &err);
    if (rc == WOPR_E_TOO_BIG && here) return rc;
    if (rc == 0 && here && wf->program && body.inputs.p) { /* the definition is judged with them */
        workflow_unref(wf);
        return WOPR_E_TOO_BIG;
    }
    if (rc == 0) {
        wc->cmd.create.wf = wf;
        rc = command_fill(c, &body, wc, &err);
    }
    if (rc != 0) {
        workflow_unref(wf);
        return wire_fail(c, &err);
    }
    rc = wire_cmd_submit(wc);
    workflow_unref(wf); /* the engine took its own reference */
    return rc;
}

static int create_offloaded(struct http_call *c) { return create_run(c, false); }

int v1_create_run(struct http_call *c) {
    int rc = create_run(c, true);
    return rc == WOPR_E_TOO_BIG ? http_offload_command(c, create_offloaded) : rc;
}

/* TOO_BIG, and nothing is answered, when the run's log exceeds log_bytes_max, which bounds the size
 * of its values. */
static int snapshot_answer(struct http_call *c, int64_t log_bytes_max) {
    struct v1 *v = v1_of(c);
    struct wopr_error err = {0};
    struct run_view view;
    struct buf b;
    struct str id = http_param(c, "runId");
    uint64_t refused = mem_refused();
    int rc = WOPR_E_NOT_FOUND;
    buf_init(&b, WIRE_SNAPSHOT_MAX);
    if (id.n == 0 || id.n > WIRE_ID_CHARS) wopr_error_set(&err, rc, "no such run");
    else
        rc = store_run_view_of(v->shared.store, c->who.tenant, c->who.test_mode, id, log_bytes_max,
                               c->arena, &view, &err);
    if (rc == WOPR_E_TOO_BIG) return rc;
    if (rc == 0) rc = wire_head_check(&view.head, &err);
    if (rc == 0) rc = v1_interrupt_show(c, &view, &err);
    if (rc == 0) rc = wire_view_expire(&view, clock_wall_ms(), c->arena, &err);
    if (rc == 0) rc = v1_snapshot_render(&view, -1, clock_wall_ms(), &b, &err);
    if (rc == 0) return wire_reply_buf(c, 200, &b);
    buf_fini(&b);
    if (mem_verdict(rc, refused) != rc) /* permanent: a host with higher limits wrote it */
        (void)wopr_error_set(&err, WOPR_E_TOO_BIG,
                             "the values of the run are larger than one answer may be; read its "
                             "events instead");
    return wire_fail(c, &err);
}

static void snapshot_answer_offloaded(struct http_call *c) { (void)snapshot_answer(c, INT64_MAX); }

/* A large snapshot must not occupy the thread of the connection. */
int v1_get_run(struct http_call *c) {
    int rc = snapshot_answer(c, V1_BYTES_HERE);
    return rc == WOPR_E_TOO_BIG ? http_offload(c, snapshot_answer_offloaded) : rc;
}
