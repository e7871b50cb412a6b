/* definition.c: the checker of definitions on the command line, and the printing of findings; see
 * cli.h. */
#include "cli/cli.h"
#include "codec/json.h"
#include "domain/lint.h"
#include "nodes/nodes.h"
#include "packs/pins.h"
#include "store/tasks.h"

#include <stdio.h>

#define VALUE_SHOWN     60 /* bytes */
#define WORKER_TYPE_MAX (4u * 1024 * 1024)

/* Definitions serve both modes, so a type of either will do. */
static bool worker_type(const struct checker *k, struct str type_id, struct arena *a,
                        struct wf_type *out) {
    struct worker_type t;
    struct wopr_error err;
    for (int mode = 0; k->store && mode < 2; mode++) {
        if (store_worker_type_get(k->store, k->tenant, mode == 1, type_id, a, &t, &err) != 0)
            continue;
        *out = (struct wf_type){t.type_id, .summary = t.description, .takes_ports = true};
        return true;
    }
    return false;
}

/* A type of an installed pack, whose language hosts of this build execute. */
static bool pack_type(const struct checker *k, struct str type_id, struct arena *a,
                      struct wf_type *out) {
    struct pack_nodes all;
    struct wopr_error err;
    if (k->store == NULL || pack_nodes_list(k->store, k->tenant, a, &all, &err) != 0) return false;
    for (size_t i = 0; i < all.n; i++) {
        if (!str_eq(all.v[i].type_id, type_id) ||
            (PACK_LANGUAGES_HERE & 1u << all.v[i].language) == 0)
            continue;
        *out = (struct wf_type){
            .type_id = all.v[i].type_id, .summary = all.v[i].summary, .takes_ports = true};
        return true;
    }
    return false;
}

static bool type_find(void *ctx, struct str type_id, struct arena *a, struct wf_type *out) {
    const struct checker *k = ctx;
    return k->built_in.find(k->built_in.ctx, type_id, a, out) || worker_type(k, type_id, a, out) ||
           pack_type(k, type_id, a, out);
}

static bool type_name(void *ctx, size_t i, struct arena *a, struct str *type_id) {
    const struct checker *k = ctx;
    return k->built_in.name(k->built_in.ctx, i, a, type_id);
}

/* Without a store nobody has been asked which types workers have. */
static bool type_elsewhere(void *ctx, struct str type_id) {
    const struct checker *k = ctx;
    return k->store == NULL && wf_type_of_others(type_id);
}

static bool knows_type(void *ctx, struct str type_id) {
    const struct checker *k = ctx;
    struct wf_type t;
    if (node_registry_find(k->registry, type_id) || type_elsewhere(ctx, type_id)) return true;
    struct arena *a = arena_new(WORKER_TYPE_MAX);
    bool known = a && (worker_type(k, type_id, a, &t) || pack_type(k, type_id, a, &t));
    arena_free(a);
    return known;
}

int checker_open(struct checker *k, bool conformance, struct wopr_error *err) {
    *k = (struct checker){0};
    k->registry = node_registry_new();
    int rc = k->registry == NULL ? wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory") : 0;
    if (rc == 0) rc = nodes_register_core(k->registry, conformance, err);
    if (rc == 0) rc = node_catalog_new(k->registry, &k->catalog, err);
    if (rc == 0) rc = definition_schema_new(&k->schemas, &k->env.definition_schema, err);
    if (rc == 0) k->built_in = node_catalog_types(k->catalog);
    k->types = (struct wf_types){
        .find = type_find, .name = type_name, .elsewhere = type_elsewhere, .ctx = k};
    k->env.knows_type = knows_type;
    k->env.config_wrong = nodes_config_wrong;
    k->env.ctx = k;
    return rc;
}

void checker_close(struct checker *k) {
    schema_set_free(k->schemas);
    node_catalog_free(k->catalog);
    node_registry_free(k->registry);
}

/* Print the value with its place if it fits the line. */
void finding_print(struct cli *c, const char *path, bool error, struct str at, struct str value,
                   struct str text) {
    enum json_type t = json_type_of(value);
    bool shown = value.n > 0 && value.n <= VALUE_SHOWN && t != JSON_OBJECT && t != JSON_ARRAY;
    fprintf(stderr, "%s: %s at " STR_FMT "%s" STR_FMT ": " STR_FMT "\n", path,
            error ? "error" : "warning", STR_ARG(at.n > 0 ? cli_text(c, at) : STR("/")),
            shown ? " = " : "", STR_ARG(shown ? cli_text(c, value) : STR("")),
            STR_ARG(cli_text(c, text)));
}

struct findings {
    struct cli *cli;
    const char *path;
};

static void finding_take(void *ctx, const struct lint_finding *f) {
    const struct findings *all = ctx;
    finding_print(all->cli, all->path, f->error, str_c(f->pointer), f->value, str_c(f->text));
}

int checker_look(struct cli *c, const struct checker *k, const char *path, struct str text,
                 struct lint_summary *sum, struct wopr_error *err) {
    struct findings all = {.cli = c, .path = path};
    int rc = json_check(text, &JSON_LIMITS_STORED, err);
    if (rc != 0) return rc;
    return workflow_check(text, &k->env, &k->types, finding_take, &all, sum, err);
}
