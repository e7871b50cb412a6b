/*
 * sessions.c: sessions of agents that are led, as people see them (WR-244, WR-247; host
 * extensions).  All of it reads logs as a whole, so none runs on a connection's thread.
 */
#include "rail/bundle.h"
#include "rail/show.h"
#include "wire/v1/wire_int.h"

enum { SHOWN_BYTES_MAX = 64 << 20 };

/* Damage and clashes have codes of their own in details.code; the status is the contract's. */
static int fault_code(const struct wr_fault *f) {
    switch (f->code) {
    case WR_BUNDLE_UNSUPPORTED_VERSION:
    case WR_BUNDLE_INTEGRITY_FAILED:
    case WR_BUNDLE_EVENT_ORDER_INVALID:
    case WR_BUNDLE_MANIFEST_ORDER_INVALID:
    case WR_BUNDLE_MISSING_SNAPSHOT:
    case WR_BUNDLE_MISSING_PINNED_WORKFLOW:
    case WR_BUNDLE_INVALID_FORMAT:
        return WOPR_E_VALIDATION;
    case WR_SESSION_NOT_HEALTHY:
    case WR_SNAPSHOT_STORE_CORRUPTION_DETECTED:
    case WR_PINNED_WORKFLOW_STORE_CORRUPTION_DETECTED:
    case WR_ARTIFACT_STORE_CORRUPTION_DETECTED:
    case WR_BUNDLE_BUILD_EMPTY_EVENTS:
    case WR_PRECONDITION_FAILED:
        return WOPR_E_CONFLICT;
    default:
        return f->e.code;
    }
}

static void fault_answer(struct http_call *c, const struct wr_fault *f) {
    struct wopr_error err = f->e;
    err.code = fault_code(f);
    if (err.details[0] == '\0' && f->code != WR_FINE)
        wopr_error_details(&err, "{\"code\":\"%s\"}", wr_code_name(f->code));
    (void)wire_fail(c, &err);
}

/* Texts of agents are cleared of what looks like a credential, as payloads of events are
 * (WR-173). */
static void shown_answer(struct http_call *c, int rc, struct buf *b, const struct wr_fault *f) {
    struct wopr_error err = {0};
    struct buf clean;
    buf_init(&clean, SHOWN_BYTES_MAX);
    if (rc == 0) rc = redact_json(buf_str(b), STR_NONE, &clean, &err);
    else err.code = 0;
    buf_fini(b);
    if (rc == 0) {
        (void)wire_reply_buf(c, 200, &clean);
        return;
    }
    if (err.code != 0) (void)wire_fail(c, &err);
    else fault_answer(c, f);
    buf_fini(&clean);
}

static struct rail_view view_of(const struct http_call *c) {
    return (struct rail_view){c->who.tenant, c->who.test_mode};
}

static struct rail *rail_of(const struct http_call *c) { return v1_of(c)->cfg.rail; }

static int sessions_flag(const struct http_call *c, const char *name, bool *out,
                         struct wopr_error *err) {
    bool found = false;
    struct str v = http_query(c, name, &found);
    *out = str_eqc(v, "true");
    if (!found || *out || str_eqc(v, "false")) return 0;
    return wire_param_error(err, name, "the parameter that details names is true or false");
}

/* A word of a table, or absent: another one would be a list that is empty for no reason told. */
static int sessions_word(const struct http_call *c, const char *name, const char *(*at)(unsigned i),
                         unsigned nr, struct str *out, struct wopr_error *err) {
    bool found = false;
    struct jobj o;
    *out = http_query(c, name, &found);
    if (!found) return 0;
    for (unsigned i = 0; i < nr; i++)
        if (str_eqc(*out, at(i))) return 0;
    int rc = wopr_error_set(err, WOPR_E_VALIDATION, "%s is none of those that details name", name);
    jobj_begin(&o, WOPR_DETAILS_SIZE);
    jw_kstrz(&o.w, "parameter", name);
    jw_key(&o.w, "allowed");
    jw_array(&o.w);
    for (unsigned i = 0; i < nr; i++) jw_strz(&o.w, at(i));
    jw_end_array(&o.w);
    jobj_details(&o, err);
    return rc;
}

static const char *status_at(unsigned i) { return wr_run_status_name((enum wr_run_status)i); }
static const char *health_at(unsigned i) { return rail_health_name((enum rail_health)i); }

/* --- lists --- */
static int place_param(const struct http_call *c, struct session_place *out,
                       struct wopr_error *err) {
    bool found = false;
    struct str text = http_query(c, "below", &found), commit, no;
    *out = (struct session_place){0, 0};
    if (!found) return 0;
    if (str_cut(text, '-', &commit, &no) && str_i64(commit, &out->commit_no) &&
        str_i64(no, &out->session_no) && out->commit_no > 0 && out->session_no > 0)
        return 0;
    return wire_param_error(err, "below", "below must be nextBelow of the page before");
}

static void list_answer(struct http_call *c) {
    struct wopr_error err = {0};
    struct wr_fault f = {.code = WR_FINE};
    struct buf b;
    bool found = false;
    int64_t limit = 0;
    struct session_place below;
    struct str status, health;
    int rc = wire_int_param(c, "limit", 1, V1_LIST_MAX, V1_LIST_DEFAULT, &limit, &err);
    if (rc == 0) rc = place_param(c, &below, &err);
    if (rc == 0) rc = sessions_word(c, "status", status_at, WR_RUN_STATUSES, &status, &err);
    if (rc == 0) rc = sessions_word(c, "health", health_at, RAIL_HEALTHS, &health, &err);
    if (rc != 0) {
        (void)wire_fail(c, &err);
        return;
    }
    const struct rail_page page = {.workflow_id = http_query(c, "workflowId", &found),
                                   .status = status,
                                   .health = health,
                                   .below = below,
                                   .max = (unsigned)limit};
    const struct rail_view v = view_of(c);
    buf_init(&b, SHOWN_BYTES_MAX);
    rc = rail_show_sessions(rail_of(c), &v, &page, &b, &f);
    shown_answer(c, rc, &b, &f);
}

static void one_answer(struct http_call *c) {
    struct wr_fault f = {.code = WR_FINE};
    const struct rail_view v = view_of(c);
    struct buf b;
    buf_init(&b, SHOWN_BYTES_MAX);
    int rc = rail_show_session(rail_of(c), &v, http_param(c, "sessionId"), &b, &f);
    shown_answer(c, rc, &b, &f);
}

static void node_answer(struct http_call *c) {
    struct wr_fault f = {.code = WR_FINE};
    const struct rail_view v = view_of(c);
    struct buf b;
    buf_init(&b, SHOWN_BYTES_MAX);
    int rc = rail_show_node(rail_of(c), &v, http_param(c, "sessionId"),
                            http_param(c, "sessionNodeId"), &b, &f);
    shown_answer(c, rc, &b, &f);
}

static void workflows_answer(struct http_call *c) {
    struct wr_fault f = {.code = WR_FINE};
    struct buf b;
    buf_init(&b, SHOWN_BYTES_MAX);
    int rc = rail_show_workflows(rail_of(c), &b, &f);
    shown_answer(c, rc, &b, &f);
}

static void workflow_answer(struct http_call *c) {
    struct wr_fault f = {.code = WR_FINE};
    const struct rail_view v = view_of(c);
    bool found = false;
    const struct rail_workflow_view w = {.id = http_param(c, "sessionWorkflowId"),
                                         .view = http_query(c, "view", &found),
                                         .hash = http_query(c, "hash", &found)};
    struct buf b;
    buf_init(&b, SHOWN_BYTES_MAX);
    int rc = rail_show_workflow(rail_of(c), &v, &w, &b, &f);
    shown_answer(c, rc, &b, &f);
}

static void builtins_answer(struct http_call *c) {
    struct wr_fault f = {.code = WR_FINE};
    struct buf b;
    buf_init(&b, SHOWN_BYTES_MAX);
    int rc = rail_show_builtins(&b, &f);
    shown_answer(c, rc, &b, &f);
}

static void config_answer(struct http_call *c) {
    struct wr_fault f = {.code = WR_FINE};
    struct buf b;
    buf_init(&b, SHOWN_BYTES_MAX);
    int rc = rail_show_config(rail_of(c), &b, &f);
    shown_answer(c, rc, &b, &f);
}

int v1_list_sessions(struct http_call *c) { return http_offload(c, list_answer); }
int v1_get_session(struct http_call *c) { return http_offload(c, one_answer); }
int v1_get_session_node(struct http_call *c) { return http_offload(c, node_answer); }
int v1_list_session_workflows(struct http_call *c) { return http_offload(c, workflows_answer); }
int v1_get_session_workflow(struct http_call *c) { return http_offload(c, workflow_answer); }
int v1_list_session_builtins(struct http_call *c) { return http_offload(c, builtins_answer); }
int v1_get_session_config(struct http_call *c) { return http_offload(c, config_answer); }

/* --- bundles: as they are, since their digests are over their bytes --- */
static void export_answer(struct http_call *c) {
    struct wr_fault f = {.code = WR_FINE};
    struct wopr_error err = {0};
    struct rail_export x = {.tenant = c->who.tenant,
                            .test_mode = c->who.test_mode,
                            .session_id = http_param(c, "sessionId"),
                            .version = v1_of(c)->cfg.rail_version,
                            .told_config = true};
    if (sessions_flag(c, "artifacts", &x.artifacts, &err) != 0 ||
        sessions_flag(c, "salvage", &x.salvage, &err) != 0) {
        (void)wire_fail(c, &err);
        return;
    }
    struct arena *a = arena_new(4 * (size_t)RAIL_BUNDLE_MAX);
    struct str json = STR_NONE;
    struct buf b;
    int rc = a ? rail_bundle_export(rail_of(c), &x, a, &json, &f) : wr_no_memory(&f);
    buf_init(&b, RAIL_BUNDLE_MAX);
    if (rc == 0) buf_adds(&b, json);
    arena_free(a);
    if (rc == 0) (void)wire_reply_buf(c, 200, &b);
    else fault_answer(c, &f);
    if (rc != 0) buf_fini(&b);
}

static void import_answer(struct http_call *c) {
    struct wr_fault f = {.code = WR_FINE};
    struct wopr_error err = {0};
    struct rail_imported got;
    struct jobj o;
    struct str subject = wire_subject(c);
    struct rail_import x = {.who = {.tenant = c->who.tenant,
                                    .workspace = c->who.workspace,
                                    .subject = subject,
                                    .test_mode = c->who.test_mode}};
    if (sessions_flag(c, "rename", &x.rename, &err) != 0) {
        (void)wire_fail(c, &err);
        return;
    }
    struct arena *a = arena_new(8 * (size_t)RAIL_BUNDLE_MAX);
    int rc = a && subject.p ? rail_bundle_import(rail_of(c), &x, c->body, a, &got, &f)
                            : wr_no_memory(&f);
    jobj_begin(&o, 4096);
    if (rc == 0) {
        jw_kstr(&o.w, "sessionId", got.session_id);
        jw_kbool(&o.w, "importedAsNew", got.renamed);
        jw_kbool(&o.w, "created", got.fresh);
    }
    arena_free(a);
    if (rc == 0) {
        (void)wire_reply_object(c, 201, &o);
        return;
    }
    jobj_drop(&o);
    fault_answer(c, &f);
}

int v1_export_session(struct http_call *c) { return http_offload(c, export_answer); }
int v1_import_session(struct http_call *c) { return http_offload(c, import_answer); }
