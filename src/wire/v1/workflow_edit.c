/*
 * workflow_edit.c: PUT and DELETE /v1/host/wopr/workflows/{workflowId} (host extensions).
 *
 *   handler        offload thread          handler again        committer's thread
 *   phase 0 -----> judge: compile, check -> phase 1: queue ----> write, reply, resume
 */
#include "base/clock.h"
#include "packs/pins.h"
#include "store/workflows.h"
#include "wire/v1/wire_int.h"

#include <stdio.h>

#define ANSWER_MAX (2u * 1024 * 1024)
#define CHECK_PATH "/v1/host/wopr/workflows:check"

struct edit { /* in the call's arena */
    struct http_call *call;
    struct workflow_row row;
    struct workflow_terms terms; /* put only */
    struct str findings;         /* raw array, put only */
    bool deletes;
};

/* --- on the committer's thread --- */

static const char *const RESULTS[] = {
    [PUT_CREATED] = "created", [PUT_UPDATED] = "updated", [PUT_SAME] = "unchanged"};

static void put_reply(struct edit *e, const struct workflow_put *r) {
    char hex[65];
    struct jobj o;
    sha256_hex(&e->row.hash, hex);
    jobj_begin(&o, ANSWER_MAX);
    jw_kstr(&o.w, "workflowId", e->row.workflow_id);
    jw_kstr(&o.w, "version", e->row.version);
    jw_kint(&o.w, "revision", r->revision);
    jw_kstrz(&o.w, "hash", hex);
    jw_kstrz(&o.w, "result", RESULTS[r->what]);
    jw_kraw(&o.w, "findings", e->findings);
    (void)wire_reply_object(e->call, 200, &o);
}

/* Only the tenant can make room: 409, not "try later". */
static void quota_explain(struct wopr_error *err, int64_t max) {
    err->code = WOPR_E_CONFLICT;
    jobj_details_int(err, "bytesMax", max);
}

static void edit_count(const struct edit *e, int rc, enum put_result what) {
    static const enum v1_workflow_event PUT[] = {[PUT_CREATED] = WORKFLOW_CREATED,
                                                 [PUT_UPDATED] = WORKFLOW_UPDATED,
                                                 [PUT_SAME] = WORKFLOW_UNCHANGED};
    enum v1_workflow_event event = e->deletes ? WORKFLOW_DELETED : PUT[what];
    if (rc != 0) event = rc == WOPR_E_CONFLICT ? WORKFLOW_CONFLICT : WORKFLOW_REFUSED;
    v1_count_workflow(e->call, event);
}

static void edit_write(void *ctx, struct store *s) {
    struct edit *e = ctx;
    struct wopr_error err = {0};
    struct workflow_put r = {.what = PUT_SAME};
    int rc = e->deletes ? store_workflow_delete(s, &e->row, &err)
                        : store_workflow_put_on(s, &e->row, &e->terms, &r, &err);
    edit_count(e, rc, r.what);
    if (rc == WOPR_E_QUOTA) quota_explain(&err, e->terms.bytes_max);
    if (rc == WOPR_E_CONFLICT) jobj_details_int(&err, "revision", r.revision);
    if (rc != 0) {
        http_fail(e->call, &err);
    } else if (e->deletes) {
        struct jobj o;
        jobj_begin(&o, WIRE_BODY_SMALL);
        jw_kstr(&o.w, "workflowId", e->row.workflow_id);
        jw_kbool(&o.w, "deleted", true);
        (void)wire_reply_object(e->call, 200, &o);
    } else {
        put_reply(e, &r);
    }
    http_resume(e->call);
}

static int edit_queue(struct edit *e) {
    struct wopr_error err = {0};
    struct http_call *c = e->call;
    int rc = journal_side(v1_of(c)->journal, edit_write, e);
    if (rc == 0) return HTTP_PENDING;
    (void)wopr_error_set(&err, rc, "the host cannot take the workflow now");
    return wire_fail(c, &err);
}

static struct edit *edit_new(struct http_call *c) {
    struct edit *e = ARENA_NEW(c->arena, struct edit);
    if (e == NULL) return NULL;
    int64_t now = clock_wall_ms();
    *e = (struct edit){.call = c,
                       .row = {.workflow_id = http_param(c, "workflowId"),
                               .tenant = c->who.tenant,
                               .created_by = c->who.key_id,
                               .both_modes = !c->who.test_mode, /* visible to test runs, too */
                               .test_mode = c->who.test_mode,
                               .created_ms = now,
                               .updated_ms = now}};
    return e;
}

/* --- put --- */

static int flag_read(struct http_call *c, const char *name, bool *out, struct wopr_error *err) {
    bool found = false;
    struct str text = http_query(c, name, &found);
    *out = str_eqc(text, "true");
    if (!found || *out || str_eqc(text, "false")) return 0;
    return wire_param_error(err, name, "force must be true or false");
}

static int put_judge(struct edit *e, struct wopr_error *err) {
    struct http_call *c = e->call;
    struct v1_findings f;
    bool force;
    int rc = flag_read(c, "force", &force, err);
    e->terms.bytes_max = v1_of(c)->cfg.workflow_bytes_max;
    if (rc == 0)
        rc =
            wire_int_param(c, "ifRevision", 0, INT64_MAX, WORKFLOW_ANY, &e->terms.if_revision, err);
    if (rc == 0) rc = v1_definition_check(c, c->body, &f, err);
    if (rc != 0) return rc;
    rc = pack_pins_check(wire_of(c)->store, c->body, c->who.tenant, PACK_LANGUAGES_HERE, c->arena,
                         err); /* PACK-64 */
    if (rc == 0 && (f.sum.wf == NULL || (f.sum.errors > 0 && !force)))
        rc = v1_findings_refuse(&f, CHECK_PATH, err);
    else if (rc == 0 && !str_eq(f.sum.wf->id, e->row.workflow_id))
        rc = wire_field_error(err, "id", "mismatch",
                              "the id of the definition is not that of the path");
    if (rc == 0)
        rc = engine_packs_check(wire_of(c)->engine, c->who.tenant, f.sum.wf, c->arena, err);
    if (rc == 0) {
        e->row.hash = f.sum.wf->hash;
        e->row.version = arena_str(c->arena, f.sum.wf->version);
        e->row.text = c->body;
        e->findings = arena_str(c->arena, buf_str(&f.text));
        if (arena_failed(c->arena))
            rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the workflow");
    }
    v1_findings_free(&f);
    return rc;
}

static void put_judge_offloaded(struct http_call *c) {
    struct wopr_error err = {0};
    struct edit *e = edit_new(c);
    int rc = e == NULL ? wopr_error_set(&err, WOPR_E_NO_MEMORY, "no memory for the workflow")
                       : put_judge(e, &err);
    if (rc == 0) {
        c->user = e; /* no reply yet: the handler continues with it */
        return;
    }
    v1_count_workflow(c, WORKFLOW_REFUSED);
    http_fail(c, &err);
}

int v1_put_workflow(struct http_call *c) {
    if (c->phase == 0) {
        int rc = http_offload(c, put_judge_offloaded);
        if (rc == HTTP_PENDING || c->status != 0) return rc;
    }
    return edit_queue(c->user);
}

/* --- delete --- */

static int delete_judge(struct edit *e, struct wopr_error *err) {
    struct http_call *c = e->call;
    struct workflow_row row;
    int rc = WOPR_E_NOT_FOUND;
    if (e->row.workflow_id.n > 0 && e->row.workflow_id.n <= WIRE_ID_CHARS)
        rc = store_workflow_get(wire_of(c)->store, c->who.tenant, c->who.test_mode,
                                e->row.workflow_id, c->arena, &row, err);
    if (rc == WOPR_E_NOT_FOUND) return wopr_error_set(err, rc, "no such workflow");
    if (rc != 0) return rc;
    if (row.tenant.n == 0)
        return wopr_error_set(err, WOPR_E_FORBIDDEN,
                              "the workflow is shared by all tenants; the operator of the host "
                              "removes it (wopr workflow delete --shared)");
    if (c->who.test_mode && !row.test_mode)
        return wopr_error_set(err, WOPR_E_FORBIDDEN,
                              "live runs use the workflow too: delete it with a live key");
    e->row = row;
    e->row.updated_ms = clock_wall_ms();
    e->deletes = true;
    return 0;
}

int v1_delete_workflow(struct http_call *c) {
    struct wopr_error err = {0};
    struct edit *e = edit_new(c);
    int rc = e == NULL ? wopr_error_set(&err, WOPR_E_NO_MEMORY, "no memory for the request")
                       : delete_judge(e, &err);
    return rc == 0 ? edit_queue(e) : wire_fail(c, &err);
}
