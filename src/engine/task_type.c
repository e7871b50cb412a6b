/*
 * task_type.c: which types workers serve, and what their schemas say.
 */
#include "engine/task_type.h"

#include "base/mem.h"
#include "codec/ident.h"
#include "codec/schema.h"
#include "domain/bounds.h"
#include "engine/job.h"
#include "engine/module_type.h"
#include "engine/registry.h"
#include "engine/timeline.h"
#include "engine/workers.h"

#include <stdio.h>

#define TYPE_ARENA_MAX   (4u * 1024 * 1024)
#define SCHEMAS_KEPT_MAX 256u
#define TASK_SCHEMA_URI  "urn:wopr:worker-type"

/* --- the executor --- */

static void task_enter(const struct node_call *call, struct node_result *out) {
    out->outcome = NODE_OUT_TASK;
    out->task_input = call->inputs;
}

static const struct node_type TASK_TYPE = {.type_id = "worker", .fn = task_enter};

bool task_type_is(const struct step *st, int node) {
    return !node_registry_find(st->engine->types, st->state->wf->nodes[node].type_id) &&
           !module_type_is(st, node);
}

int task_type_known(struct engine *e, struct str tenant, bool test_mode, struct str type_id,
                    bool *known, struct wopr_error *err) {
    *known = node_registry_find(e->types, type_id) != NULL;
    if (*known) return 0;
    int rc = module_type_known(e, tenant, type_id, false, known, err);
    if (rc != 0 || *known) return rc;
    rc = worker_type_known(e, tenant, test_mode, type_id, known, err);
    if (rc != 0 || *known) return rc;
    return module_type_known(e, tenant, type_id, true, known, err); /* installed just now? */
}

/* A replay does what its source did: the type may have been removed since, or was not there yet.
 * A pack that was installed since the run began serves none of its nodes. */
const struct node_type *task_type_of(struct step *st, int node) {
    struct str id = st->state->wf->nodes[node].type_id;
    const struct run_meta *m = &st->state->meta;
    const struct node_type *own = node_registry_find(st->engine->types, id);
    struct wopr_error err = {0};
    bool known;
    if (own) return own;
    if (module_type_is(st, node)) return module_type_of(st, node);
    if (timeline_leads(st)) return timeline_of(st)->serves(st, node) ? &TASK_TYPE : NULL;
    int rc = worker_type_known(st->engine, m->tenant, m->test_mode, id, &known, &err);
    if (rc != 0) plan_fail(st->plan, rc, "%s", err.message);
    return rc == 0 && known ? &TASK_TYPE : NULL;
}

int engine_knows_type(struct engine *e, struct str tenant, bool test_mode, struct str type_id,
                      bool *known, struct wopr_error *err) {
    return task_type_known(e, tenant, test_mode, type_id, known, err);
}

/* --- schemas --- */

struct kept_schema { /* compiled, by the hash of its text */
    int refs;        /* (mu) one of the table's, one of each check under way */
    struct schema_set *set;
    const struct schema *schema;
};

static int schema_build(struct str text, struct kept_schema **out, struct wopr_error *err) {
    struct kept_schema *k = MEM_NEW(struct kept_schema);
    struct wopr_error why = {0};
    if (k) k->set = schema_set_new(false);
    if (!k || !k->set) {
        mem_free(k);
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a schema");
    }
    int rc = schema_set_add(k->set, STR(TASK_SCHEMA_URI), text, &why);
    if (rc == 0) rc = schema_compile(k->set, STR(TASK_SCHEMA_URI), &k->schema, &why);
    if (rc == 0) {
        k->refs = 1;
        *out = k;
        return 0;
    }
    schema_set_free(k->set);
    mem_free(k);
    if (rc == WOPR_E_NO_MEMORY) return wopr_error_set(err, rc, "%s", why.message);
    return wopr_error_at(err, WOPR_E_VALIDATION, why.pointer, "%s", why.message);
}

static void schema_unref(struct engine *e, struct kept_schema *k) {
    pthread_mutex_lock(&e->task_types.mu);
    bool last = --k->refs == 0;
    pthread_mutex_unlock(&e->task_types.mu);
    if (!last) return;
    schema_set_free(k->set);
    mem_free(k);
}

static struct str hash_key(const struct sha256 *h) {
    return str_n((const char *)h->b, sizeof h->b);
}

static void schemas_empty(struct engine *e, struct map *schemas) {
    struct str key;
    void *value;
    size_t it = 0;
    while (map_next(schemas, &it, &key, &value)) schema_unref(e, value);
    map_free(schemas);
}

/* For want of memory the schema is simply compiled again next time. */
static void schema_keep(struct engine *e, const struct sha256 *hash, struct kept_schema *k) {
    struct map *old = NULL, *fresh;
    pthread_mutex_lock(&e->task_types.mu);
    bool full = map_count(e->task_types.schemas) >= SCHEMAS_KEPT_MAX;
    if (full && (fresh = map_new()) != NULL) {
        old = e->task_types.schemas;
        e->task_types.schemas = fresh;
        full = false;
    }
    if (!full && !map_get(e->task_types.schemas, hash_key(hash)) &&
        map_put(e->task_types.schemas, hash_key(hash), k, NULL) == 0)
        k->refs++;
    pthread_mutex_unlock(&e->task_types.mu);
    if (old) schemas_empty(e, old);
}

static int schema_get(struct engine *e, struct str text, struct kept_schema **out,
                      struct wopr_error *err) {
    struct sha256 hash = sha256_of(text);
    pthread_mutex_lock(&e->task_types.mu);
    struct kept_schema *k = map_get(e->task_types.schemas, hash_key(&hash));
    if (k) k->refs++;
    pthread_mutex_unlock(&e->task_types.mu);
    if (k) {
        *out = k;
        return 0;
    }
    int rc = schema_build(text, out, err);
    if (rc == 0) schema_keep(e, &hash, *out);
    return rc;
}

int task_schema_check(struct engine *e, struct str schema, struct str value, const char *member,
                      struct wopr_error *err) {
    struct kept_schema *k;
    struct schema_issue issue = {.reason = ""};
    char at[sizeof err->pointer];
    if (schema.n == 0) return 0;
    int rc = schema_get(e, schema, &k, err);
    if (rc != 0) return rc;
    rc = schema_validate_text(k->schema, value, &issue);
    schema_unref(e, k);
    if (rc == 0) return 0;
    (void)snprintf(at, sizeof at, "%s%.150s", member, issue.instance);
    if (rc == WOPR_E_VALIDATION)
        return wopr_error_at(err, rc, at, "%s%.150s: %s", member + 1, issue.instance, issue.reason);
    if (rc == WOPR_E_TOO_BIG)
        return wopr_error_at(err, WOPR_E_VALIDATION, at,
                             "%s takes more steps to check than a schema may; simplify the schema",
                             member + 1);
    return wopr_error_set(err, rc, "no memory to check %s", member + 1);
}

int task_types_init(struct engine *e) {
    (void)pthread_mutex_init(&e->task_types.mu, NULL);
    e->task_types.schemas = map_new();
    return e->task_types.schemas ? 0 : WOPR_E_NO_MEMORY;
}

void task_types_fini(struct engine *e) {
    if (e->task_types.schemas) schemas_empty(e, e->task_types.schemas);
    (void)pthread_mutex_destroy(&e->task_types.mu);
}

/* --- registration --- */

static int schema_admit(struct str text, const char *member, struct wopr_error *err) {
    struct kept_schema *k;
    struct wopr_error why = {0};
    if (text.n == 0) return 0;
    if (text.n > WORKER_TYPE_SCHEMA_MAX)
        return wopr_error_at(err, WOPR_E_VALIDATION, member, "%s may have %zu bytes", member + 1,
                             WORKER_TYPE_SCHEMA_MAX);
    int rc = schema_build(text, &k, &why);
    if (rc == WOPR_E_NO_MEMORY) return wopr_error_set(err, rc, "%s", why.message);
    if (rc != 0)
        return wopr_error_at(err, WOPR_E_VALIDATION, member, "%s is no JSON Schema: %.300s",
                             member + 1, why.message);
    schema_set_free(k->set);
    mem_free(k);
    return 0;
}

static int type_admit(struct engine *e, const struct worker_type *t, struct wopr_error *err) {
    if (!id_type_valid(t->type_id))
        return wopr_error_at(err, WOPR_E_VALIDATION, "/typeId",
                             "type ids match ^[a-z][a-zA-Z0-9._-]*$ and have at most %u bytes",
                             ID_TYPE_MAX);
    if (node_registry_find(e->types, t->type_id))
        return wopr_error_at(err, WOPR_E_CONFLICT, "/typeId",
                             "this host executes the type itself; choose an id of your own");
    if (t->description.n > WORKER_DESCRIPTION_BYTES)
        return wopr_error_at(err, WOPR_E_VALIDATION, "/description",
                             "description may have %d bytes", WORKER_DESCRIPTION_BYTES);
    int rc = schema_admit(t->input_schema, "/inputSchema", err);
    return rc == 0 ? schema_admit(t->output_schema, "/outputSchema", err) : rc;
}

static void type_write(struct engine *e, struct store *s, void *args) {
    struct worker_type_cmd *c = *(struct worker_type_cmd **)args;
    struct worker_type *t = &c->type;
    const struct types_room room = {WORKER_TYPES_MAX, WORKER_TYPES_BYTES_MAX}; /* WRK-2 */
    if (c->what == WORKER_TYPE_PUT)
        c->rc = store_worker_type_put(s, t, &room, c->a, &c->changed, &c->err);
    else c->rc = store_worker_type_remove(s, t->tenant, t->test_mode, t->type_id, &c->err);
    if (c->rc == WOPR_E_SYNC_FAILED) engine_break(e, "worker type");
    c->done(c);
}

void engine_worker_type(struct engine *e, struct worker_type_cmd *c) {
    c->engine = e;
    c->rc = c->what == WORKER_TYPE_PUT ? type_admit(e, &c->type, &c->err) : 0;
    if (c->rc == 0 && (engine_is_broken(e) || engine_is_stopping(e)))
        c->rc = wopr_error_set(&c->err, WOPR_E_UNAVAILABLE, "the host is shutting down");
    if (c->rc == 0 && job_post(e, type_write, &c, sizeof c)) return;
    if (c->rc == 0) c->rc = wopr_error_set(&c->err, WOPR_E_UNAVAILABLE, "the host is at capacity");
    c->done(c);
}
