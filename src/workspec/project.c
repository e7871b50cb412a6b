/* project.c: a plan as a definition of OpenWOP: a node for each task (WS-97, WS-98). */
#include "codec/jobj.h"
#include "workspec/interpret.h"
#include "workspec/language.h"

enum {
    WORLD_BYTES_MAX = 256 * 1024 * 1024,
    NAME_CHARS_MAX = 200,
    ROW_HEIGHT = 100 /* between performers, of position.y */
};

struct projection {
    struct jw w;
    const struct ws_plan *plan;
    struct arena *a; /* scratch */
    size_t variables;
};

static void value_put(struct projection *p, const char *key, const struct ws_value *v) {
    struct buf text;
    buf_init(&text, SIZE_MAX / 2);
    ws_write(&text, v, 0);
    if (buf_failed(&text)) p->w.b->failed = true;
    else jw_kraw(&p->w, key, buf_str(&text));
    buf_fini(&text);
}

static void hash_put(struct jw *w, const char *key, const struct sha256 *d) {
    char hex[65];
    sha256_hex(d, hex);
    jw_kstrz(w, key, hex);
}

struct str ws_first_chars(struct str s, size_t max) {
    size_t n = 0;
    for (size_t chars = 0; n < s.n; n++)
        if (((unsigned char)s.p[n] & 0xC0) != 0x80 && chars++ == max) break;
    return str_n(s.p, n);
}

static struct str name_of(struct projection *p, const struct ws_entry *e) {
    struct str what = ws_str(ws_get(e->task, "description"));
    struct str emoji = ws_str(ws_get(e->task, "emoji"));
    what = ws_first_chars(what.n > 0 ? what : e->id, NAME_CHARS_MAX);
    return emoji.n == 0 ? what
                        : arena_printf(p->a, STR_FMT " " STR_FMT, STR_ARG(emoji), STR_ARG(what));
}

static void node_put(struct projection *p, const struct ws_entry *e, uint32_t row) {
    struct jw *w = &p->w;
    jw_object(w);
    jw_kstr(w, "id", e->node_id);
    jw_kstrz(w, "typeId", WS_NODE_TYPE);
    jw_kstr(w, "name", name_of(p, e));
    jw_key(w, "position");
    jw_object(w);
    jw_key(w, "x");
    jw_double(w, (double)e->start_ms / 60000);
    jw_kint(w, "y", (int64_t)ROW_HEIGHT * row);
    jw_end_object(w);
    value_put(p, "config", e->task);
    jw_kraw(w, "inputs", STR("{}"));
    jw_kraw(w, "settings", STR("{\"maxRetries\":0}"));
    jw_end_object(w);
}

/* y: the number of the performer, in the order of its first task. */
static void nodes_put(struct projection *p) {
    struct ws_names rows;
    uint32_t row = 0, nr = 0;
    ws_names_init(&rows, p->a);
    jw_key(&p->w, "nodes");
    jw_array(&p->w);
    for (size_t i = 0; i < p->plan->nr; i++) {
        const struct ws_entry *e = &p->plan->v[i];
        if (!ws_names_get(&rows, 0, e->performer, &row)) {
            row = nr++;
            (void)ws_names_put(&rows, 0, e->performer, row);
        }
        node_put(p, e, row);
    }
    jw_end_array(&p->w);
}

static void edge_put(struct projection *p, size_t from, size_t to, const char *rule) {
    const struct ws_entry *v = p->plan->v;
    struct str id =
        arena_printf(p->a, STR_FMT "->" STR_FMT, STR_ARG(v[from].node_id), STR_ARG(v[to].node_id));
    jw_object(&p->w);
    jw_kstr(&p->w, "id", id);
    jw_kstr(&p->w, "sourceNodeId", v[from].node_id);
    jw_kstr(&p->w, "targetNodeId", v[to].node_id);
    jw_kstrz(&p->w, "triggerRule", rule);
    jw_end_object(&p->w);
}

static bool project_listed(const struct ws_entry *e, uint32_t task) {
    for (size_t k = 0; k < e->all_nr; k++)
        if (e->all[k] == task) return true;
    return false;
}

/* A task that is named under all and under any has one edge, that of all. */
static void edges_put(struct projection *p) {
    jw_key(&p->w, "edges");
    jw_array(&p->w);
    for (size_t i = 0; i < p->plan->nr; i++) {
        const struct ws_entry *e = &p->plan->v[i];
        for (size_t k = 0; k < e->all_nr; k++) edge_put(p, e->all[k], i, "all_success");
        for (size_t k = 0; k < e->any_nr; k++)
            if (!project_listed(e, e->any[k])) edge_put(p, e->any[k], i, "any_success");
    }
    jw_end_array(&p->w);
}

struct str ws_variable_name(struct arena *a, struct str object, struct str property) {
    if (property.p == NULL) return object;
    return arena_printf(a, STR_FMT "." STR_FMT, STR_ARG(object), STR_ARG(property));
}

static void variable_put(void *ctx, struct str object, struct str property,
                         const struct ws_value *value) {
    static const char *const TYPES[] = {"object", "boolean", "number", "string", "array", "object"};
    struct projection *p = ctx;
    p->variables++;
    jw_object(&p->w);
    jw_kstr(&p->w, "name", ws_variable_name(p->a, object, property));
    jw_kstrz(&p->w, "type", TYPES[value->kind]); /* null has no word; any type may be null */
    value_put(p, "defaultValue", value);
    jw_end_object(&p->w);
}

static bool variables_put(struct projection *p) {
    const struct ws_world *world = ws_world_new(p->plan, p->a);
    if (world == NULL) return false;
    jw_key(&p->w, "variables");
    jw_array(&p->w);
    ws_world_each(world, variable_put, p);
    jw_end_array(&p->w);
    return true;
}

/* meta.tags, as far as a definition may have them. */
static void tags_put(struct projection *p, const struct ws_value *tags) {
    enum { TAGS_MAX = 100, TAG_CHARS_MAX = 256 };
    jw_key(&p->w, "tags");
    jw_array(&p->w);
    for (size_t i = 0; ws_is(tags, WS_ARRAY) && i < tags->nr && i < TAGS_MAX; i++) {
        struct str tag = ws_raw(tags->elements[i]);
        if (tag.n > 0) jw_str(&p->w, ws_first_chars(tag, TAG_CHARS_MAX));
    }
    jw_end_array(&p->w);
}

static void metadata_put(struct projection *p) {
    struct jw *w = &p->w;
    jw_key(w, "metadata");
    jw_object(w);
    tags_put(p, ws_get(ws_get(p->plan->sim, "meta"), "tags"));
    jw_key(w, "customProperties");
    jw_object(w);
    jw_key(w, WS_LANGUAGE);
    jw_object(w);
    jw_kstrz(w, "schemaVersion", "2.0");
    hash_put(w, "documentSha256", &p->plan->document_sha);
    hash_put(w, "planSha256", &p->plan->plan_sha);
    jw_end_object(w);
    jw_end_object(w);
    jw_end_object(w);
}

static void identity_put(struct projection *p, struct str workflow_id) {
    const struct ws_value *meta = ws_get(p->plan->sim, "meta");
    struct str title = ws_first_chars(ws_str(ws_get(meta, "title")), NAME_CHARS_MAX);
    struct str version = ws_str(ws_get(meta, "version"));
    jw_kstr(&p->w, "id", workflow_id);
    jw_kstr(&p->w, "name", title.n > 0 ? title : workflow_id);
    jw_kstr_opt(&p->w, "description", ws_str(ws_get(meta, "description")));
    jw_kstr(&p->w, "version", version.n > 0 ? version : STR("1"));
}

int ws_project(const struct ws_plan *plan, struct str workflow_id, struct buf *out,
               struct wopr_error *err) {
    struct projection p = {.plan = plan, .a = arena_new(WORLD_BYTES_MAX)};
    if (p.a == NULL) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a document");
    jw_init(&p.w, out);
    jw_object(&p.w);
    identity_put(&p, workflow_id);
    nodes_put(&p);
    edges_put(&p);
    jw_kraw(&p.w, "triggers", STR("[]"));
    bool world = variables_put(&p);
    metadata_put(&p);
    jw_kraw(&p.w, "settings", STR("{\"timeout\":0}"));
    jw_end_object(&p.w);
    bool failed = !world || arena_failed(p.a) || buf_failed(out);
    arena_free(p.a);
    return failed ? wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a document") : 0;
}
