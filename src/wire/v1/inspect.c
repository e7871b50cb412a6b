/*
 * inspect.c: what a page must know before it can show anything (host extensions,
 * docs/api-extensions.md): who its key is and what that may do; the definition that a run goes by,
 * and how long its log is.
 */
#include "domain/program.h"
#include "domain/scope.h"
#include "store/workflows.h"
#include "wire/v1/wire_int.h"

enum { CALLER_BYTES_MAX = 8 * 1024 };

static void scopes_render(struct jw *w, unsigned scopes) {
    struct buf text;
    buf_init(&text, CALLER_BYTES_MAX);
    scopes_format(scopes, &text);
    struct str rest = buf_str(&text), one;
    jw_key(w, "scopes");
    jw_array(w);
    while (rest.n > 0) {
        if (!str_cut(rest, ',', &one, &rest)) one = rest, rest = STR("");
        jw_str(w, one);
    }
    jw_end_array(w);
    buf_fini(&text);
}

int v1_get_caller(struct http_call *c) {
    const struct principal *who = &c->who;
    struct jobj o;
    jobj_begin(&o, CALLER_BYTES_MAX);
    jw_kstr_opt(&o.w, "keyId", who->key_id);
    jw_kstr_opt(&o.w, "subject", who->subject_id);
    jw_kstr(&o.w, "tenant", who->tenant);
    jw_kstrz(&o.w, "mode", who->test_mode ? "test" : "live");
    scopes_render(&o.w, who->scopes);
    v1_time_member(&o.w, "expiresAt", who->token_ends_ms);
    jw_kraw(&o.w, "implementation", v1_of(c)->implementation);
    return wire_reply_object(c, 200, &o);
}

static int run_definition_answer(struct http_call *c, bool here) {
    struct wopr_error err = {0};
    struct run_head head;
    struct run_origin origin;
    struct str text = STR_NONE;
    int rc = wire_run_of(c, &head, &err);
    if (rc == 0) rc = store_run_origin(wire_of(c)->store, head.run_no, c->arena, &origin, &err);
    if (rc == 0)
        rc =
            store_workflow_by_hash(wire_of(c)->store, &origin.workflow_hash, c->arena, &text, &err);
    if (rc == WOPR_E_NOT_FOUND && head.run_no > 0 && !text.p)
        rc = wopr_error_set(&err, WOPR_E_NOT_FOUND, "no such run, or its definition is gone");
    if (rc == 0 && here && dialect_named(text, NULL, NULL, NULL)) return WOPR_E_TOO_BIG;
    if (rc == 0) rc = v1_definition_shown(c, &text, &err);
    if (rc != 0) return wire_fail(c, &err);
    struct jobj o;
    jobj_begin(&o, WIRE_SNAPSHOT_MAX);
    jw_kstr(&o.w, "runId", head.run_id);
    jw_kint(&o.w, "events", head.next_seq);
    jw_kint(&o.w, "logBytes", head.log_bytes);
    jw_kraw(&o.w, "definition", text);
    return wire_reply_object(c, 200, &o);
}

static void run_definition_offloaded(struct http_call *c) { (void)run_definition_answer(c, false); }

int v1_get_run_definition(struct http_call *c) {
    int rc = run_definition_answer(c, true);
    return rc == WOPR_E_TOO_BIG ? http_offload(c, run_definition_offloaded) : rc;
}
