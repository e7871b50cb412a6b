/*
 * workspec.c: documents of WorkSpec (WS-93): validated, planned, stored as definitions of runs.
 *
 *   handler        offload thread              handler again      committer's thread
 *   phase 0 -----> parse, validate, compile -> phase 1: queue --> write, reply, resume
 */
#include "base/clock.h"
#include "base/embed.h"
#include "store/workflows.h"
#include "wire/v1/wire_int.h"
#include "workspec/language.h"

#include <stdio.h>

enum { ANSWER_MAX = 40 * 1024 * 1024 }; /* problems take WS_PROBLEM_BYTES_MAX */

struct document { /* one that a request brings */
    struct http_call *call;
    struct arena *a;
    struct ws_system_zones *system;
    struct ws_zones zones;
    struct ws_doc doc;
    struct ws_report report;
    enum ws_format format;
    enum ws_profile profile;
};

static int no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a document");
}

static void document_close(struct document *d) {
    if (d->a != NULL) ws_report_fini(&d->report);
    ws_system_zones_free(d->system);
    arena_free(d->a);
}

/* YAML when the request says so, JSON else.  MEDIA_TYPE. */
static int format_of(const struct http_call *c, enum ws_format *out, struct wopr_error *err) {
    static const struct {
        const char *type;
        enum ws_format format;
    } TYPES[] = {{"application/json", WS_JSON},
                 {"application/yaml", WS_YAML},
                 {"application/x-yaml", WS_YAML},
                 {"text/yaml", WS_YAML}};
    struct str type = http_header(c, "Content-Type"), head, rest;
    *out = WS_JSON;
    if (type.p == NULL) return 0;
    if (!str_cut(type, ';', &head, &rest)) head = type;
    head = str_trim(head);
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
        *out = TYPES[i].format;
        if (str_eq_nocase(head, str_c(TYPES[i].type))) return 0;
    }
    *out = WS_JSON;
    if (head.n > 5 && str_starts(head, STR("application/")) && str_ends(head, STR("+json")))
        return 0;
    return wopr_error_set(err, WOPR_E_MEDIA_TYPE,
                          "a document is sent as application/json or application/yaml");
}

static int profile_read(struct http_call *c, enum ws_profile *out, struct wopr_error *err) {
    bool found = false;
    struct str text = http_query(c, "profile", &found);
    *out = str_eqc(text, "reference") ? WS_REFERENCE : WS_HOST;
    if (!found || *out == WS_REFERENCE || str_eqc(text, "host")) return 0;
    return wire_param_error(err, "profile", "profile must be host or reference");
}

/* Parsed, and validated.  VALIDATION: it is neither JSON nor YAML. */
static int document_open(struct document *d, struct str text, enum ws_format format,
                         struct wopr_error *err) {
    d->a = arena_new(WS_ARENA_BYTES_MAX);
    d->system = ws_system_zones_new();
    d->format = format;
    if (d->a == NULL || d->system == NULL) return no_memory(err);
    d->zones = ws_system_zones(d->system);
    ws_report_init(&d->report, d->a);
    int rc = ws_parse(text, format, &WS_LIMITS_DEFAULT, d->a, &d->doc, err);
    if (rc == WOPR_E_SYNTAX) {
        char why[sizeof err->message];
        snprintf(why, sizeof why, "%s", err->message);
        return wopr_error_set(err, WOPR_E_VALIDATION, "the body is not %s: %.300s",
                              format == WS_YAML ? "YAML" : "JSON", why);
    }
    const struct ws_options o = {.profile = d->profile, .zones = &d->zones};
    return rc == 0 ? ws_validate(&d->doc, &o, &d->report, err) : rc;
}

static int document_of_body(struct document *d, struct wopr_error *err) {
    enum ws_format format;
    int rc = format_of(d->call, &format, err);
    return rc == 0 ? document_open(d, d->call->body, format, err) : rc;
}

/* --- answers --- */

static void problems_put(struct jw *w, const struct ws_report *r) {
    struct buf b;
    buf_init(&b, ANSWER_MAX);
    ws_problems_write(&b, r);
    if (buf_failed(&b)) w->b->failed = true;
    else jw_kraw(w, "problems", buf_str(&b));
    buf_fini(&b);
}

static void counts_put(struct jw *w, const struct ws_report *r) {
    jw_key(w, "counts");
    jw_object(w);
    for (unsigned i = 0; i < WS_SEVERITIES; i++)
        jw_kint(w, ws_severity_name(i), (int64_t)r->counts[i]);
    jw_end_object(w);
}

static void verdict_put(struct jw *w, const struct document *d) {
    jw_kbool(w, "ok", ws_report_ok(&d->report));
    jw_kstrz(w, "profile", d->profile == WS_REFERENCE ? "reference" : "host");
    counts_put(w, &d->report);
    problems_put(w, &d->report);
}

static void hash_put(struct jw *w, const char *key, const struct sha256 *hash) {
    char hex[65];
    sha256_hex(hash, hex);
    jw_kstrz(w, key, hex);
}

/* 422: it cannot be run.  why: of a good document; else its problems say. */
static void unfit_reply(struct http_call *c, const struct document *d,
                        const struct wopr_error *why) {
    struct jobj o;
    jobj_begin(&o, ANSWER_MAX);
    jw_kstrz(&o.w, "error", "validation_error");
    jw_kstrz(&o.w, "message",
             why != NULL ? why->message : "the document has errors; details.problems lists them");
    jw_key(&o.w, "details");
    jw_object(&o.w);
    if (why != NULL && why->pointer[0] != '\0') jw_kstrz(&o.w, "instance", why->pointer);
    verdict_put(&o.w, d);
    jw_end_object(&o.w);
    (void)wire_reply_object(c, 422, &o);
}

/* --- validate, plan --- */

static void validate_answer(struct http_call *c) {
    struct document d = {.call = c};
    struct wopr_error err = {0};
    struct jobj o;
    int rc = profile_read(c, &d.profile, &err);
    if (rc == 0) rc = document_of_body(&d, &err);
    if (rc != 0) {
        (void)wire_fail(c, &err);
    } else {
        jobj_begin(&o, ANSWER_MAX);
        verdict_put(&o.w, &d);
        (void)wire_reply_object(c, 200, &o);
    }
    document_close(&d);
}

int v1_validate_workspec(struct http_call *c) { return http_offload(c, validate_answer); }

static void plan_reply(struct http_call *c, struct document *d) {
    struct wopr_error err = {0};
    struct ws_plan p;
    struct buf b;
    if (!ws_report_ok(&d->report)) {
        unfit_reply(c, d, NULL);
        return;
    }
    if (ws_compile(&d->doc, &d->zones, d->a, &p, &err) != 0) {
        (void)wire_fail(c, &err);
        return;
    }
    buf_init(&b, ANSWER_MAX);
    ws_plan_write(&b, &p, true);
    (void)wire_reply_buf(c, 200, &b);
}

static void plan_answer(struct http_call *c) {
    struct document d = {.call = c};
    struct wopr_error err = {0};
    if (document_of_body(&d, &err) != 0) (void)wire_fail(c, &err);
    else plan_reply(c, &d);
    document_close(&d);
}

int v1_plan_workspec(struct http_call *c) { return http_offload(c, plan_answer); }

/* --- stored documents --- */

/* NOT_FOUND also for a workflow, which is no document. */
static int stored_find(struct http_call *c, struct workflow_row *row, enum ws_format *format,
                       struct str *bytes, struct wopr_error *err) {
    struct str id = http_param(c, "workflowId");
    int rc = WOPR_E_NOT_FOUND;
    if (id.n > 0 && id.n <= WIRE_ID_CHARS)
        rc = store_workflow_get(wire_of(c)->store, c->who.tenant, c->who.test_mode, id, c->arena,
                                row, err);
    if (rc == 0 && !ws_stored_open(row->text, format, bytes)) rc = WOPR_E_NOT_FOUND;
    return rc == WOPR_E_NOT_FOUND ? wopr_error_set(err, rc, "no such document") : rc;
}

int v1_get_workspec_document(struct http_call *c) {
    struct wopr_error err = {0};
    struct workflow_row row;
    enum ws_format format;
    struct str bytes;
    if (stored_find(c, &row, &format, &bytes, &err) != 0) return wire_fail(c, &err);
    c->content_type = format == WS_YAML ? "application/yaml" : "application/json";
    http_reply(c, 200, bytes);
    return HTTP_DONE;
}

static void stored_plan_answer(struct http_call *c) {
    struct document d = {.call = c};
    struct wopr_error err = {0};
    struct workflow_row row;
    enum ws_format format;
    struct str bytes;
    int rc = stored_find(c, &row, &format, &bytes, &err);
    if (rc == 0) rc = document_open(&d, bytes, format, &err);
    if (rc != 0) (void)wire_fail(c, &err);
    else plan_reply(c, &d);
    document_close(&d);
}

int v1_get_workspec_plan(struct http_call *c) { return http_offload(c, stored_plan_answer); }

int v1_delete_workspec_document(struct http_call *c) {
    struct wopr_error err = {0};
    struct workflow_row row;
    enum ws_format format;
    struct str bytes;
    if (stored_find(c, &row, &format, &bytes, &err) != 0) return wire_fail(c, &err);
    return v1_delete_workflow(c);
}

int v1_get_workspec_schema(struct http_call *c) {
    const struct embed_file *f = embed_find("api/workspec/workspec-2.0.schema.json");
    ASSERT(f != NULL);
    c->cache_control = V1_DISCOVERY_CACHE;
    http_reply(c, 200, str_n((const char *)f->data, f->size));
    return HTTP_DONE;
}

/* --- put --- */

struct put { /* in the call's arena */
    struct http_call *call;
    struct workflow_row row;
    struct workflow_terms terms;
    struct str verdict; /* raw object: what validate answers */
    struct sha256 document_sha, plan_sha;
};

static void put_reply(struct put *p, const struct workflow_put *r) {
    static const char *const RESULTS[] = {
        [PUT_CREATED] = "created", [PUT_UPDATED] = "updated", [PUT_SAME] = "unchanged"};
    struct jobj o;
    jobj_begin(&o, ANSWER_MAX);
    jw_kstr(&o.w, "workflowId", p->row.workflow_id);
    jw_kint(&o.w, "revision", r->revision);
    jw_kstrz(&o.w, "result", RESULTS[r->what]);
    hash_put(&o.w, "documentSha256", &p->document_sha);
    hash_put(&o.w, "planSha256", &p->plan_sha);
    jw_members(&o.w, p->verdict);
    (void)wire_reply_object(p->call, r->what == PUT_CREATED ? 201 : 200, &o);
}

static void put_count(const struct put *p, int rc, enum put_result what) {
    static const enum v1_workflow_event PUT[] = {[PUT_CREATED] = WORKFLOW_CREATED,
                                                 [PUT_UPDATED] = WORKFLOW_UPDATED,
                                                 [PUT_SAME] = WORKFLOW_UNCHANGED};
    enum v1_workflow_event event = PUT[what];
    if (rc != 0) event = rc == WOPR_E_CONFLICT ? WORKFLOW_CONFLICT : WORKFLOW_REFUSED;
    v1_count_workflow(p->call, event);
}

static void put_write(void *ctx, struct store *s) { /* on the committer's thread */
    struct put *p = ctx;
    struct wopr_error err = {0};
    struct workflow_put r = {.what = PUT_SAME};
    int rc = store_workflow_put_on(s, &p->row, &p->terms, &r, &err);
    put_count(p, rc, r.what);
    if (rc == WOPR_E_QUOTA) { /* only the tenant can make room: 409, not "try later" */
        err.code = WOPR_E_CONFLICT;
        jobj_details_int(&err, "bytesMax", p->terms.bytes_max);
    }
    if (rc == WOPR_E_CONFLICT) jobj_details_int(&err, "revision", r.revision);
    if (rc != 0) http_fail(p->call, &err);
    else put_reply(p, &r);
    http_resume(p->call);
}

static int put_queue(struct put *p) {
    struct wopr_error err = {0};
    int rc = journal_side(v1_of(p->call)->journal, put_write, p);
    if (rc == 0) return HTTP_PENDING;
    (void)wopr_error_set(&err, rc, "the host cannot take the document now");
    return wire_fail(p->call, &err);
}

/* What is stored can be executed: it is compiled here as it will be for a run. */
static int put_compile(struct put *p, const struct ws_stored *stored, struct wopr_error *err) {
    const struct wf_env env = {.dialects = &WS_DIALECT, .dialects_nr = 1};
    struct workflow *wf = NULL;
    int rc = workflow_compile(stored->text, &env, &wf, err);
    if (rc != 0) return rc;
    p->row.hash = wf->hash;
    workflow_unref(wf);
    return 0;
}

static int put_fill(struct put *p, struct document *d, const struct ws_stored *stored,
                    struct wopr_error *err) {
    struct arena *a = p->call->arena;
    struct jobj o;
    jobj_begin(&o, ANSWER_MAX);
    verdict_put(&o.w, d);
    p->verdict = jobj_end(&o, a);
    p->row.text = arena_str(a, stored->text);
    p->row.version = arena_str(a, stored->version);
    p->row.workflow_id = arena_str(a, stored->workflow_id);
    p->plan_sha = stored->plan_sha;
    p->document_sha = d->doc.digest;
    return arena_failed(a) || p->verdict.p == NULL ? no_memory(err) : 0;
}

/* A reply is set, or p is complete. */
static void put_judge(struct put *p, struct document *d) {
    struct http_call *c = p->call;
    struct wopr_error err = {0};
    struct ws_stored stored;
    int rc =
        wire_int_param(c, "ifRevision", 0, INT64_MAX, WORKFLOW_ANY, &p->terms.if_revision, &err);
    if (rc == 0) rc = document_of_body(d, &err);
    if (rc == 0 && !ws_report_ok(&d->report)) {
        unfit_reply(c, d, NULL);
        return;
    }
    bool good = rc == 0;
    if (rc == 0)
        rc = ws_stored_make(&d->doc, c->body, d->format, http_param(c, "workflowId"), &d->zones,
                            d->a, &stored, &err);
    if (rc == 0) rc = engine_run_fits(wire_of(c)->engine, &stored.needs, &err);
    if (rc == 0) rc = put_compile(p, &stored, &err);
    if (rc == 0) rc = put_fill(p, d, &stored, &err);
    if (rc != 0 && good && (rc == WOPR_E_VALIDATION || rc == WOPR_E_TOO_BIG))
        unfit_reply(c, d, &err);
    else if (rc != 0) http_fail(c, &err);
}

static void put_judge_offloaded(struct http_call *c) {
    struct document d = {.call = c};
    struct wopr_error err = {0};
    struct put *p = ARENA_NEW(c->arena, struct put);
    int64_t now = clock_wall_ms();
    if (p == NULL) {
        (void)no_memory(&err);
        http_fail(c, &err);
        return;
    }
    *p = (struct put){.call = c,
                      .terms = {.bytes_max = v1_of(c)->cfg.workflow_bytes_max},
                      .row = {.tenant = c->who.tenant,
                              .created_by = c->who.key_id,
                              .both_modes = !c->who.test_mode, /* visible to test runs, too */
                              .test_mode = c->who.test_mode,
                              .created_ms = now,
                              .updated_ms = now}};
    put_judge(p, &d);
    document_close(&d);
    if (c->status == 0) c->user = p; /* the handler continues with it */
    else v1_count_workflow(c, WORKFLOW_REFUSED);
}

int v1_put_workspec_document(struct http_call *c) {
    if (c->phase == 0) {
        int rc = http_offload(c, put_judge_offloaded);
        if (rc == HTTP_PENDING || c->status != 0) return rc;
    }
    return put_queue(c->user);
}
