/*
 * workflow_check.c: POST /v1/host/wopr/workflows:check, the same check for a put, and the list of
 * node types (host extensions).
 */
#include "codec/fields.h"
#include "codec/ident.h"
#include "domain/lint.h"
#include "packs/pins.h"
#include "store/agents.h"
#include "store/tasks.h"
#include "store/workflows.h"
#include "wire/v1/wire_int.h"

#define FINDINGS_MAX  (1u * 1024 * 1024)
#define FIELDS_MAX    8u
#define FIELD_ROOM    600u /* bytes of details for one more */
#define DOCUMENT_MAX  (4u * 1024 * 1024)
#define ID_MEMBER_MAX 512u

/* --- sources of the checker --- */

struct asker {
    const struct wf_types *types;
    struct http_call *call;
    struct str own_id; /* of the definition itself, which counts as stored */
    struct pack_nodes packs;
    bool packs_read; /* at the first type that the host does not have itself */
};

/* A type of an installed pack, whose language this host executes. */
static bool pack_type_find(struct asker *k, struct str type_id, struct wf_type *out) {
    struct http_call *c = k->call;
    struct wopr_error err;
    if (!k->packs_read &&
        pack_nodes_list(wire_of(c)->store, c->who.tenant, c->arena, &k->packs, &err) != 0)
        return false;
    k->packs_read = true;
    for (size_t i = 0; i < k->packs.n; i++) {
        const struct pack_node *t = &k->packs.v[i];
        if (!str_eq(t->type_id, type_id) || (PACK_LANGUAGES_HERE & 1u << t->language) == 0)
            continue;
        *out = (struct wf_type){t->type_id, .summary = t->summary, .takes_ports = true};
        return true;
    }
    return false;
}

static bool type_find(void *ctx, struct str type_id, struct arena *a, struct wf_type *out) {
    struct asker *k = ctx;
    struct worker_type t;
    struct wopr_error err;
    if (k->types->find(k->types->ctx, type_id, a, out)) return true;
    if (pack_type_find(k, type_id, out)) return true;
    if (store_worker_type_get(wire_of(k->call)->store, k->call->who.tenant, k->call->who.test_mode,
                              type_id, a, &t, &err) != 0)
        return false;
    *out = (struct wf_type){t.type_id, .summary = t.description, .takes_ports = true}; /* WRK-4 */
    return true;
}

static bool type_there(void *ctx, struct str type_id) {
    struct asker *k = ctx;
    struct wf_type t;
    return type_find(k, type_id, k->call->arena, &t);
}

static bool type_name(void *ctx, size_t i, struct arena *a, struct str *type_id) {
    const struct asker *k = ctx;
    return k->types->name(k->types->ctx, i, a, type_id);
}

static bool workflow_there(void *ctx, struct str id) {
    struct asker *k = ctx;
    struct wopr_error err = {0};
    struct workflow_row row;
    if (str_eq(id, k->own_id)) return true;
    struct arena *a = arena_new(DOCUMENT_MAX);
    int rc = a == NULL ? WOPR_E_NO_MEMORY
                       : store_workflow_get(wire_of(k->call)->store, k->call->who.tenant,
                                            k->call->who.test_mode, id, a, &row, &err);
    arena_free(a);
    return rc != WOPR_E_NOT_FOUND;
}

static bool agent_there(void *ctx, struct str id) {
    struct asker *k = ctx;
    struct wopr_error err = {0};
    struct agent_row row;
    struct arena *a = arena_new(DOCUMENT_MAX);
    int rc = a == NULL ? WOPR_E_NO_MEMORY
                       : store_agent_get(wire_of(k->call)->store, k->call->who.tenant,
                                         k->call->who.test_mode, id, a, &row, &err);
    arena_free(a);
    return rc != WOPR_E_NOT_FOUND;
}

/* --- findings --- */

void v1_finding_add(void *ctx, const struct lint_finding *f) {
    struct v1_findings *all = ctx;
    lint_finding_render(f, &all->w);
    if (!f->error || all->refusal.b.failed) return;
    if (all->fields++ >= FIELDS_MAX || all->refusal.b.len + FIELD_ROOM > WOPR_DETAILS_SIZE) return;
    fields_add(&all->refusal.w, str_c(f->pointer), f->text);
}

void v1_findings_begin(struct v1_findings *out) {
    *out = (struct v1_findings){0};
    buf_init(&out->text, FINDINGS_MAX);
    jw_init(&out->w, &out->text);
    jw_array(&out->w);
    jobj_begin(&out->refusal, WOPR_DETAILS_SIZE);
    fields_begin(&out->refusal.w);
}

int v1_findings_end(struct v1_findings *out, int rc, struct wopr_error *err) {
    jw_end_array(&out->w);
    fields_end(&out->refusal.w);
    if (rc == 0 && buf_failed(&out->text))
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the findings");
    if (rc != 0) v1_findings_free(out);
    return rc;
}

int v1_definition_check(struct http_call *c, struct str text, struct v1_findings *out,
                        struct wopr_error *err) {
    struct asker k = {.types = &v1_of(c)->cfg.types, .call = c};
    const struct wf_types types = {.find = type_find,
                                   .name = type_name,
                                   .workflow = workflow_there,
                                   .agent = agent_there,
                                   .ctx = &k};
    struct wf_env env = *v1_of(c)->cfg.env;
    struct str id = json_get(text, "id");
    env.knows_type = type_there;
    env.ctx = &k;
    env.dialects_nr = 0; /* a caller puts workflows here */
    if (id.n < ID_MEMBER_MAX) k.own_id = json_string(id, c->arena);
    v1_findings_begin(out);
    int rc = workflow_check(text, &env, &types, v1_finding_add, out, &out->sum, err);
    return v1_findings_end(out, rc, err);
}

void v1_findings_free(struct v1_findings *f) {
    workflow_unref(f->sum.wf);
    f->sum.wf = NULL;
    buf_fini(&f->text);
    jobj_drop(&f->refusal);
}

int v1_findings_refuse(struct v1_findings *f, const char *check, struct wopr_error *err) {
    int rc = wopr_error_set(err, WOPR_E_VALIDATION,
                            "the definition has %u error(s); POST it to %s for all findings",
                            f->sum.errors, check);
    jw_kint(&f->refusal.w, "errors", f->sum.errors);
    jw_kint(&f->refusal.w, "warnings", f->sum.warnings);
    jobj_details(&f->refusal, err);
    jobj_begin(&f->refusal, WOPR_DETAILS_SIZE); /* for v1_findings_free */
    return rc;
}

static void check_answer(struct http_call *c) {
    struct wopr_error err = {0};
    struct v1_findings f;
    struct jobj o;
    if (v1_definition_check(c, c->body, &f, &err) != 0) {
        (void)wire_fail(c, &err);
        return;
    }
    v1_count_workflow(c, f.sum.errors == 0 ? WORKFLOW_CHECKED_GOOD : WORKFLOW_CHECKED_BAD);
    jobj_begin(&o, FINDINGS_MAX + WIRE_BODY_SMALL);
    jw_kbool(&o.w, "valid", f.sum.errors == 0);
    jw_kint(&o.w, "errors", f.sum.errors);
    jw_kint(&o.w, "warnings", f.sum.warnings);
    jw_kraw(&o.w, "findings", buf_str(&f.text));
    if (f.sum.wf != NULL) {
        jw_kstr(&o.w, "workflowId", f.sum.wf->id);
        jw_kstr(&o.w, "version", f.sum.wf->version);
        jw_kint(&o.w, "nodes", (int64_t)f.sum.wf->nodes_nr);
        jw_kint(&o.w, "edges", (int64_t)f.sum.wf->edges_nr);
    }
    v1_findings_free(&f);
    (void)wire_reply_object(c, 200, &o);
}

/* Compiling and checking a definition takes too long for a connection's thread. */
int v1_check_workflow(struct http_call *c) { return http_offload(c, check_answer); }

/* --- node types --- */

static void worker_type_render(struct jw *w, const struct worker_type *t) {
    jw_object(w);
    jw_kstr(w, "typeId", t->type_id);
    jw_kstr_opt(w, "summary", t->description);
    jw_kbool(w, "worker", true);
    jw_kraw_opt(w, "inputSchema", t->input_schema);
    jw_kraw_opt(w, "outputSchema", t->output_schema);
    jw_end_object(w);
}

static void built_in_list(struct http_call *c, struct jw *w) {
    const struct wf_types *types = &v1_of(c)->cfg.types;
    struct wf_type t;
    struct str id;
    for (size_t i = 0; types->name(types->ctx, i, c->arena, &id); i++)
        if (types->find(types->ctx, id, c->arena, &t)) wf_type_render(&t, w);
}

static void pack_node_render(struct jw *w, const struct pack_node *t, struct arena *a) {
    jw_object(w);
    jw_kstr(w, "typeId", t->type_id);
    jw_kstr_opt(w, "summary", t->summary);
    jw_kstr(w, "pack", arena_printf(a, STR_FMT "@" STR_FMT, STR_ARG(t->pack), STR_ARG(t->version)));
    jw_kbool(w, "executable", (PACK_LANGUAGES_HERE & 1u << t->language) != 0);
    jw_end_object(w);
}

/* The first page has the types of the host and of packs, each page types of workers. */
int v1_list_node_types(struct http_call *c) {
    struct wopr_error err = {0};
    struct worker_type_list l;
    bool given;
    size_t n;
    struct buf b;
    struct jw w;
    struct pack_nodes packed = {NULL, 0};
    int rc = v1_worker_types_page(c, &l, &n, &err);
    (void)http_query(c, "after", &given);
    if (rc == 0 && !given)
        rc = pack_nodes_list(wire_of(c)->store, c->who.tenant, c->arena, &packed, &err);
    if (rc != 0) return wire_fail(c, &err);
    buf_init(&b, WIRE_SNAPSHOT_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    jw_key(&w, "nodes");
    jw_array(&w);
    if (!given) built_in_list(c, &w);
    for (size_t i = 0; i < packed.n; i++) pack_node_render(&w, &packed.v[i], c->arena);
    for (size_t i = 0; i < n; i++) worker_type_render(&w, &l.v[i]);
    jw_end_array(&w);
    if (l.n > n) jw_kstr(&w, "nextAfter", l.v[n - 1].type_id);
    jw_end_object(&w);
    v1_one_line(&b, 0);
    return wire_reply_buf(c, 200, &b);
}

int v1_get_node_type(struct http_call *c) {
    const struct wf_types *types = &v1_of(c)->cfg.types;
    struct str id = http_param(c, "typeId");
    struct wopr_error err = {0};
    struct worker_type served;
    struct wf_type t;
    struct buf b;
    struct jw w;
    bool built_in = types->find(types->ctx, id, c->arena, &t);
    int rc = built_in ? 0
                      : store_worker_type_get(wire_of(c)->store, c->who.tenant, c->who.test_mode,
                                              id, c->arena, &served, &err);
    if (rc == WOPR_E_NOT_FOUND)
        (void)wopr_error_set(&err, rc,
                             "neither this host nor a registered worker has such a node type");
    if (rc != 0) return wire_fail(c, &err);
    buf_init(&b, DOCUMENT_MAX);
    jw_init(&w, &b);
    if (built_in) wf_type_render(&t, &w);
    else worker_type_render(&w, &served);
    v1_one_line(&b, 0);
    return wire_reply_buf(c, 200, &b);
}
