/*
 * workflows.c: GET /v1/workflows/{workflowId} (E3, RUN-42): the definition as it was stored, byte
 * for byte; and lists: the workflows of a tenant, the versions of one (host extensions).
 */
#include "store/workflows.h"
#include "wire/v1/wire_int.h"
#include "workspec/language.h"

#define LIST_BYTES_MAX (4u * 1024 * 1024)

/* The row of the id in the path. */
static int row_find(struct http_call *c, struct workflow_row *row, struct wopr_error *err) {
    struct str id = http_param(c, "workflowId");
    int rc = WOPR_E_NOT_FOUND;
    if (id.n > 0 && id.n <= WIRE_ID_CHARS)
        rc = store_workflow_get(wire_of(c)->store, c->who.tenant, c->who.test_mode, id, c->arena,
                                row, err);
    return rc == WOPR_E_NOT_FOUND ? wopr_error_set(err, rc, "no such workflow") : rc;
}

int v1_definition_shown(struct http_call *c, struct str *text, struct wopr_error *err) {
    const struct wf_env env = {.accepted = true, .dialects = &WS_DIALECT, .dialects_nr = 1};
    struct workflow *wf = NULL;
    if (!dialect_named(*text, NULL, NULL, NULL)) return 0;
    int rc = workflow_compile(*text, &env, &wf, err);
    if (rc == 0) *text = arena_str(c->arena, wf->text);
    workflow_unref(wf);
    if (rc == 0 && text->p == NULL)
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a definition");
    return rc;
}

static void definition_reply(struct http_call *c, struct str text) {
    struct wopr_error err = {0};
    if (v1_definition_shown(c, &text, &err) == 0) http_reply(c, 200, text);
    else (void)wire_fail(c, &err);
}

static void workflow_answer(struct http_call *c) {
    struct wopr_error err = {0};
    struct workflow_row row;
    if (row_find(c, &row, &err) != 0) (void)wire_fail(c, &err);
    else definition_reply(c, row.text);
}

int v1_get_workflow(struct http_call *c) {
    struct wopr_error err = {0};
    struct workflow_row row;
    if (row_find(c, &row, &err) != 0) return wire_fail(c, &err);
    if (dialect_named(row.text, NULL, NULL, NULL)) return http_offload(c, workflow_answer);
    http_reply(c, 200, row.text);
    return HTTP_DONE;
}

static void hash_member(struct jw *w, const struct sha256 *hash) {
    char hex[65];
    sha256_hex(hash, hex);
    jw_kstrz(w, "hash", hex);
}

static void summary_render(struct jw *w, const struct workflow_row *row) {
    jw_object(w);
    jw_kstr(w, "workflowId", row->workflow_id);
    jw_kstr(w, "version", row->version);
    hash_member(w, &row->hash);
    jw_kbool(w, "shared", row->tenant.n == 0);
    if (dialect_of(row->text).n > 0) jw_kstr(w, "language", dialect_of(row->text));
    v1_time_member(w, "createdAt", row->created_ms);
    v1_time_member(w, "updatedAt", row->updated_ms);
    jw_end_object(w);
}

int v1_list_workflows(struct http_call *c) {
    struct wopr_error err = {0};
    struct workflow_row_list rows;
    int64_t limit;
    bool more = false, found = false;
    struct str after = http_query(c, "after", &found);
    struct jobj o;
    int rc = wire_int_param(c, "limit", 1, V1_LIST_MAX, V1_LIST_DEFAULT, &limit, &err);
    if (rc == 0 && found && (after.n == 0 || after.n > WIRE_ID_CHARS))
        rc = wire_param_error(&err, "after", "after is the id of a workflow");
    if (rc == 0)
        rc = store_workflow_page(wire_of(c)->store, c->who.tenant, c->who.test_mode, after,
                                 (unsigned)limit, c->arena, &rows, &more, &err);
    if (rc != 0) return wire_fail(c, &err);
    jobj_begin(&o, LIST_BYTES_MAX);
    jw_key(&o.w, "workflows");
    jw_array(&o.w);
    for (size_t i = 0; i < rows.n; i++) summary_render(&o.w, &rows.v[i]);
    jw_end_array(&o.w);
    if (more) jw_kstr(&o.w, "nextAfter", rows.v[rows.n - 1].workflow_id);
    return wire_reply_object(c, 200, &o);
}

static void version_render(struct jw *w, const struct workflow_version *v, bool current) {
    jw_object(w);
    jw_kint(w, "revision", v->revision);
    jw_kstr(w, "version", v->version);
    hash_member(w, &v->hash);
    v1_time_member(w, "createdAt", v->created_ms);
    jw_kstr_opt(w, "createdBy", v->created_by);
    jw_kbool(w, "current", current);
    jw_end_object(w);
}

int v1_list_workflow_versions(struct http_call *c) {
    struct wopr_error err = {0};
    struct workflow_row row;
    struct workflow_version_list all;
    int64_t limit, below;
    struct jobj o;
    int rc = wire_int_param(c, "limit", 1, V1_LIST_MAX, V1_LIST_DEFAULT, &limit, &err);
    if (rc == 0) rc = wire_int_param(c, "below", 1, INT64_MAX, INT64_MAX, &below, &err);
    if (rc == 0) rc = row_find(c, &row, &err);
    if (rc == 0)
        rc = store_workflow_versions(wire_of(c)->store, &row, below, (unsigned)limit + 1, c->arena,
                                     &all, &err);
    if (rc != 0) return wire_fail(c, &err);
    size_t n = all.n > (size_t)limit ? (size_t)limit : all.n;
    jobj_begin(&o, LIST_BYTES_MAX);
    jw_key(&o.w, "versions");
    jw_array(&o.w);
    for (size_t i = 0; i < n; i++)
        version_render(&o.w, &all.v[i], i == 0 && below == INT64_MAX); /* each put adds one */
    jw_end_array(&o.w);
    if (all.n > n) jw_kint(&o.w, "nextBelow", all.v[n - 1].revision);
    return wire_reply_object(c, 200, &o);
}

static int revision_find(struct http_call *c, struct str *text, struct wopr_error *err) {
    struct workflow_row row;
    int64_t revision = 0;
    int rc = row_find(c, &row, err);
    if (rc == 0 && (!str_i64(http_param(c, "revision"), &revision) || revision < 1))
        rc = wopr_error_set(err, WOPR_E_NOT_FOUND, "the workflow has no such revision");
    if (rc == 0)
        rc = store_workflow_revision(wire_of(c)->store, &row, revision, c->arena, text, err);
    return rc;
}

static void revision_answer(struct http_call *c) {
    struct wopr_error err = {0};
    struct str text;
    if (revision_find(c, &text, &err) != 0) (void)wire_fail(c, &err);
    else definition_reply(c, text);
}

int v1_get_workflow_version(struct http_call *c) {
    struct wopr_error err = {0};
    struct str text;
    if (revision_find(c, &text, &err) != 0) return wire_fail(c, &err);
    if (dialect_named(text, NULL, NULL, NULL)) return http_offload(c, revision_answer);
    http_reply(c, 200, text);
    return HTTP_DONE;
}
