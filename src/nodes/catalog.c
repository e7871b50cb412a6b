/*
 * catalog.c: types.json as rows: the purpose of each registered type, its configuration, its
 * outputs, an example.  The checker of definitions, "wopr nodes", docs/nodes.md and GET
 * /v1/host/wopr/nodes all read these rows.
 */
#include "base/embed.h"
#include "base/map.h"
#include "base/mem.h"
#include "codec/json.h"
#include "nodes/nodes.h"

#define CATALOG_FILE  "src/nodes/types.json"
#define CATALOG_BYTES (1u * 1024 * 1024)

struct node_catalog {
    struct arena *a;
    struct map *by_id; /* type id -> its row */
    struct wf_type *v;
    size_t n;
};

void node_catalog_free(struct node_catalog *c) {
    if (c == NULL) return;
    map_free(c->by_id);
    arena_free(c->a);
    mem_free(c);
}

/* "config": {"$ref": TYPE} is the configuration of that type. */
static struct str config_of(const struct json_members *all, struct str row, struct arena *a) {
    struct str config = json_get(row, "config"), ref = json_string(json_get(config, "$ref"), a);
    for (size_t i = 0; ref.n > 0 && i < all->n; i++)
        if (str_eq(all->v[i].key, ref)) return json_get(all->v[i].raw, "config");
    return config;
}

static int row_add(struct node_catalog *c, struct wf_type row, struct wopr_error *err) {
    struct wf_type *to = &c->v[c->n++];
    *to = row;
    if (map_put(c->by_id, to->type_id, to, NULL) == 0) return 0;
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for what is known of node types");
}

static int described_add(struct node_catalog *c, const struct node_registry *r, struct str text,
                         struct wopr_error *err) {
    struct json_members all;
    int rc = json_members(text, c->a, &all, err);
    for (size_t i = 0; rc == 0 && i < all.n; i++) {
        struct str raw = all.v[i].raw;
        if (node_registry_find(r, all.v[i].key) == NULL) continue;
        rc = row_add(c,
                     (struct wf_type){.type_id = all.v[i].key,
                                      .summary = json_string(json_get(raw, "summary"), c->a),
                                      .config = config_of(&all, raw, c->a),
                                      .outputs = json_get(raw, "outputs"),
                                      .example = json_get(raw, "example"),
                                      .takes_ports = json_get(raw, "ports").n > 0,
                                      .templates = json_get(raw, "templates").n > 0},
                     err);
    }
    return rc;
}

static int others_add(struct node_catalog *c, const struct node_registry *r,
                      struct wopr_error *err) {
    const struct node_type *t;
    int rc = 0;
    for (size_t it = 0; rc == 0 && (t = node_registry_next(r, &it)) != NULL;)
        if (map_get(c->by_id, str_c(t->type_id)) == NULL)
            rc = row_add(c, (struct wf_type){.type_id = arena_str(c->a, str_c(t->type_id))}, err);
    return rc;
}

int node_catalog_new(const struct node_registry *r, struct node_catalog **out,
                     struct wopr_error *err) {
    const struct embed_file *f = embed_find(CATALOG_FILE);
    struct node_catalog *c = MEM_NEW(struct node_catalog);
    if (c == NULL) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    c->a = arena_new(CATALOG_BYTES);
    c->by_id = map_new();
    if (c->a != NULL) c->v = ARENA_ARRAY(c->a, struct wf_type, node_registry_count(r) + 1);
    int rc = c->by_id == NULL || c->v == NULL
                 ? wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory")
                 : 0;
    if (rc == 0 && f == NULL)
        rc = wopr_error_set(err, WOPR_E_INTERNAL, "this program does not carry " CATALOG_FILE);
    if (rc == 0) rc = json_check(embed_text(f), &JSON_LIMITS_DEFAULT, err);
    if (rc == 0) rc = described_add(c, r, embed_text(f), err);
    if (rc == 0) rc = others_add(c, r, err);
    if (rc == 0 && arena_failed(c->a)) rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    if (rc == 0) *out = c;
    else node_catalog_free(c);
    return rc;
}

static bool catalog_find(void *ctx, struct str type_id, struct arena *a, struct wf_type *out) {
    const struct node_catalog *c = ctx;
    const struct wf_type *row = map_get(c->by_id, type_id);
    (void)a;
    if (row != NULL) *out = *row;
    return row != NULL;
}

static bool catalog_name(void *ctx, size_t i, struct arena *a, struct str *type_id) {
    const struct node_catalog *c = ctx;
    (void)a;
    if (i >= c->n) return false;
    *type_id = c->v[i].type_id;
    return true;
}

struct wf_types node_catalog_types(struct node_catalog *c) {
    return (struct wf_types){.find = catalog_find, .name = catalog_name, .ctx = c};
}
