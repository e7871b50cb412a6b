/*
 * agent_edit.c: PUT and DELETE /v1/host/wopr/agents/{agentId} (host extensions; AGT-40 to AGT-44).
 *
 *   handler        offload thread     handler again        committer's thread
 *   phase 0 -----> judge -----------> phase 1: queue ----> write, reply, resume
 */
#include "base/clock.h"
#include "domain/agent_manifest.h"
#include "store/agents.h"
#include "wire/v1/wire_int.h"

#define ANSWER_MAX (2u * 1024 * 1024)
#define CHECK_PATH "/v1/host/wopr/agents:check"

struct edit { /* in the call's arena */
    struct http_call *call;
    struct agent_row row;
    int64_t if_revision;
    struct str findings; /* raw array, put only */
    bool deletes;
};

/* --- on the committer's thread --- */

static void edit_reply(struct edit *e, const struct agent_put *r) {
    static const char *const RESULTS[] = {
        [AGENT_CREATED] = "created", [AGENT_UPDATED] = "updated", [AGENT_SAME] = "unchanged"};
    char hex[65];
    struct jobj o;
    jobj_begin(&o, ANSWER_MAX);
    jw_kstr(&o.w, "agentId", e->row.agent_id);
    if (e->deletes) {
        jw_kbool(&o.w, "deleted", true);
    } else {
        sha256_hex(&e->row.digest, hex);
        jw_kint(&o.w, "revision", r->revision);
        jw_kstrz(&o.w, "hash", hex);
        jw_kstrz(&o.w, "result", RESULTS[r->what]);
        jw_kraw(&o.w, "findings", e->findings);
    }
    (void)wire_reply_object(e->call, 200, &o);
}

static void edit_write(void *ctx, struct store *s) {
    struct edit *e = ctx;
    struct wopr_error err = {0};
    struct agent_put r = {.what = AGENT_SAME};
    int rc = e->deletes ? store_agent_delete(s, &e->row, e->if_revision, &r, &err)
                        : store_agent_put(s, &e->row, e->if_revision, &r, &err);
    if (rc == WOPR_E_QUOTA) { /* only the tenant can make room: 409, not "try later" */
        err.code = WOPR_E_CONFLICT;
        jobj_details_int(&err, "bytesMax", AGENTS_BYTES_MAX);
    } else if (rc == WOPR_E_CONFLICT) {
        jobj_details_int(&err, "revision", r.revision);
    }
    if (rc != 0) http_fail(e->call, &err);
    else edit_reply(e, &r);
    http_resume(e->call);
}

static int edit_queue(struct edit *e) {
    struct wopr_error err = {0};
    struct http_call *c = e->call;
    int rc = journal_side(v1_of(c)->journal, edit_write, e);
    if (rc == 0) return HTTP_PENDING;
    (void)wopr_error_set(&err, rc, "the host cannot take the agent now");
    return wire_fail(c, &err);
}

static int edit_new(struct http_call *c, struct edit **out, struct wopr_error *err) {
    struct edit *e = ARENA_NEW(c->arena, struct edit);
    if (!e) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the agent");
    int64_t now = clock_wall_ms();
    *e = (struct edit){.call = c,
                       .row = {.tenant = c->who.tenant,
                               .test_mode = c->who.test_mode,
                               .agent_id = http_param(c, "agentId"),
                               .created_by = c->who.key_id,
                               .created_ms = now,
                               .updated_ms = now}};
    *out = e;
    return wire_int_param(c, "ifRevision", 0, INT64_MAX, AGENT_ANY, &e->if_revision, err);
}

/* --- put --- */

static int put_judge(struct edit *e, struct wopr_error *err) {
    struct http_call *c = e->call;
    struct agent_judgement sum;
    struct v1_findings f;
    int rc = v1_agent_check(c, c->body, &f, &sum, err);
    if (rc != 0) return rc;
    if (sum.errors > 0) {
        rc = v1_findings_refuse(&f, CHECK_PATH, err);
        if (sum.class_unsupported && sum.errors == 1) rc = err->code = WOPR_E_MODEL_CLASS;
    } else if (!str_eq(sum.agent_id, e->row.agent_id)) {
        rc = wire_field_error(err, "manifest.agentId", "mismatch",
                              "the agentId of the manifest is not that of the path");
    }
    if (rc == 0) rc = agent_digest(c->body, &e->row.digest, err);
    if (rc == 0) {
        e->row.definition = c->body;
        e->findings = arena_str(c->arena, buf_str(&f.text));
        if (arena_failed(c->arena))
            rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the agent");
    }
    v1_findings_free(&f);
    return rc;
}

static void put_judge_offloaded(struct http_call *c) {
    struct wopr_error err = {0};
    struct edit *e = NULL;
    int rc = edit_new(c, &e, &err);
    if (rc == 0) rc = put_judge(e, &err);
    if (rc == 0) c->user = e; /* no reply yet: the handler continues with it */
    else http_fail(c, &err);
}

int v1_put_agent(struct http_call *c) {
    if (c->phase == 0) {
        int rc = http_offload(c, put_judge_offloaded);
        if (rc == HTTP_PENDING || c->status != 0) return rc;
    }
    return edit_queue(c->user);
}

/* --- delete --- */

int v1_delete_agent(struct http_call *c) {
    struct wopr_error err = {0};
    struct edit *e = NULL;
    int rc = edit_new(c, &e, &err);
    if (rc == 0 && !agent_id_ok(e->row.agent_id))
        rc = wopr_error_set(&err, WOPR_E_NOT_FOUND, "no such agent");
    if (rc != 0) return wire_fail(c, &err);
    e->deletes = true;
    return edit_queue(e);
}
