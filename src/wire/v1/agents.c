/*
 * agents.c: agents of the workspace (host extensions): list, read, check, and those of a run; and
 * GET /v1/packs/export (E31, AGT-45).  Writes: agent_edit.c.
 */
#include "store/agents.h"
#include "domain/agent_manifest.h"
#include "wire/v1/wire_int.h"

#define LIST_BYTES_MAX   (4u * 1024 * 1024)
#define ONE_BYTES_MAX    (2u * AGENT_DEFINITION_MAX)
#define EXPORT_BYTES_MAX (32u * 1024 * 1024)

int v1_agent_check(struct http_call *c, struct str text, struct v1_findings *out,
                   struct agent_judgement *sum, struct wopr_error *err) {
    const struct agent_rules rules = {.long_term = v1_of(c)->cfg.memory,
                                      .model_classes = v1_of(c)->cfg.model_classes};
    v1_findings_begin(out);
    int rc = agent_judge(text, &rules, v1_finding_add, out, c->arena, sum, err);
    out->sum.errors = sum->errors;
    out->sum.warnings = sum->warnings;
    return v1_findings_end(out, rc, err);
}

static void check_answer(struct http_call *c) {
    struct wopr_error err = {0};
    struct agent_judgement sum;
    struct v1_findings f;
    struct jobj o;
    if (v1_agent_check(c, c->body, &f, &sum, &err) != 0) {
        (void)wire_fail(c, &err);
        return;
    }
    jobj_begin(&o, LIST_BYTES_MAX);
    jw_kbool(&o.w, "valid", sum.errors == 0);
    jw_kint(&o.w, "errors", sum.errors);
    jw_kint(&o.w, "warnings", sum.warnings);
    jw_kraw(&o.w, "findings", buf_str(&f.text));
    if (agent_id_ok(sum.agent_id)) jw_kstr(&o.w, "agentId", sum.agent_id);
    v1_findings_free(&f);
    (void)wire_reply_object(c, 200, &o);
}

/* It may have schemas to compile: too long for a connection's thread. */
int v1_check_agent(struct http_call *c) { return http_offload(c, check_answer); }

/* --- reads --- */

static void agent_members(struct jw *w, const struct agent_row *r) {
    char hex[65];
    sha256_hex(&r->digest, hex);
    jw_kstr(w, "agentId", r->agent_id);
    jw_kint(w, "revision", r->revision);
    jw_kstrz(w, "hash", hex);
    v1_time_member(w, "createdAt", r->created_ms);
    v1_time_member(w, "updatedAt", r->updated_ms);
    jw_kstr_opt(w, "createdBy", r->created_by);
}

static void summary_render(struct jw *w, const struct agent_row *r, struct arena *a) {
    struct str m = json_get(r->definition, "manifest");
    jw_object(w);
    agent_members(w, r);
    jw_kstr(w, "persona", json_string(json_get(m, "persona"), a));
    jw_kstr(w, "modelClass", json_string(json_get(m, "modelClass"), a));
    jw_kstr_opt(w, "label", json_string(json_get(m, "label"), a));
    jw_end_object(w);
}

/* The page that limit and after ask for, and one row more where there are any. */
static int page_read(struct http_call *c, int64_t otherwise, int64_t *limit, struct agent_rows *l,
                     struct wopr_error *err) {
    bool found = false;
    struct str after = http_query(c, "after", &found);
    int rc = wire_int_param(c, "limit", 1, V1_LIST_MAX, otherwise, limit, err);
    if (rc == 0 && found && (after.n == 0 || after.n > AGENT_ID_MAX))
        rc = wire_param_error(err, "after", "after is the id of an agent");
    const struct agent_row from = {
        .tenant = c->who.tenant, .test_mode = c->who.test_mode, .agent_id = after};
    return rc == 0 ? store_agents(wire_of(c)->store, c->who.tenant, c->who.test_mode, &from,
                                  (unsigned)*limit + 1, c->arena, l, err)
                   : rc;
}

static void list_answer(struct http_call *c) {
    struct wopr_error err = {0};
    struct agent_rows l;
    int64_t limit;
    struct jobj o;
    if (page_read(c, V1_LIST_DEFAULT, &limit, &l, &err) != 0) {
        (void)wire_fail(c, &err);
        return;
    }
    size_t n = l.n > (size_t)limit ? (size_t)limit : l.n;
    jobj_begin(&o, LIST_BYTES_MAX);
    jw_key(&o.w, "agents");
    jw_array(&o.w);
    for (size_t i = 0; i < n; i++) summary_render(&o.w, &l.v[i], c->arena);
    jw_end_array(&o.w);
    if (l.n > n) jw_kstr(&o.w, "nextAfter", l.v[n - 1].agent_id);
    (void)wire_reply_object(c, 200, &o);
}

/* Definitions are read to show what they say of themselves. */
int v1_list_agents(struct http_call *c) { return http_offload(c, list_answer); }

static void export_answer(struct http_call *c) {
    struct wopr_error err = {0};
    struct agent_rows l;
    int64_t limit;
    struct jobj o;
    if (page_read(c, V1_LIST_MAX, &limit, &l, &err) != 0) {
        (void)wire_fail(c, &err);
        return;
    }
    size_t n = l.n > (size_t)limit ? (size_t)limit : l.n;
    jobj_begin(&o, EXPORT_BYTES_MAX);
    jw_key(&o.w, "manifests");
    jw_array(&o.w);
    for (size_t i = 0; i < n; i++) jw_raw(&o.w, json_get(l.v[i].definition, "manifest"));
    jw_end_array(&o.w);
    if (l.n > n) jw_kstr(&o.w, "nextAfter", l.v[n - 1].agent_id);
    (void)wire_reply_object(c, 200, &o);
}

int v1_export_agents(struct http_call *c) { return http_offload(c, export_answer); }

int v1_get_agent(struct http_call *c) {
    struct wopr_error err = {0};
    struct agent_row row;
    struct jobj o;
    struct str id = http_param(c, "agentId");
    int rc = WOPR_E_NOT_FOUND;
    if (agent_id_ok(id))
        rc = store_agent_get(wire_of(c)->store, c->who.tenant, c->who.test_mode, id, c->arena, &row,
                             &err);
    if (rc == WOPR_E_NOT_FOUND) (void)wopr_error_set(&err, rc, "no such agent");
    if (rc != 0) return wire_fail(c, &err);
    jobj_begin(&o, ONE_BYTES_MAX);
    agent_members(&o.w, &row);
    jw_kraw(&o.w, "definition", row.definition);
    return wire_reply_object(c, 200, &o);
}

/* AGT-46: what the run goes by, whatever is stored by now. */
static void run_answer(struct http_call *c) {
    struct wopr_error err = {0};
    struct run_head head;
    struct run_origin origin;
    struct agent_set_row set = {.set_no = 0};
    struct jobj o;
    int rc = wire_run_of(c, &head, &err);
    if (rc == 0) rc = store_run_origin(wire_of(c)->store, head.run_no, c->arena, &origin, &err);
    if (rc == 0 && origin.agents_no > 0)
        rc = store_agent_set(wire_of(c)->store, origin.agents_no, c->arena, &set, &err);
    if (rc != 0) {
        (void)wire_fail(c, &err);
        return;
    }
    jobj_begin(&o, 2 * AGENT_SET_BYTES);
    jw_kstr(&o.w, "runId", head.run_id);
    jw_kstr_opt(&o.w, "agentSet", set.digest);
    jw_kraw(&o.w, "agents", set.definitions.n > 0 ? set.definitions : STR("{}"));
    (void)wire_reply_object(c, 200, &o);
}

int v1_get_run_agents(struct http_call *c) { return http_offload(c, run_answer); }
