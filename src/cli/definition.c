/* definition.c: the checker of definitions on the command line, and the printing of findings; see
 * cli.h. */
#include "cli/cli.h"
#include "codec/json.h"
#include "domain/lint.h"
#include "nodes/nodes.h"

#include <stdio.h>

#define VALUE_SHOWN 60 /* bytes */

static bool knows_type(void *ctx, struct str type_id) {
    const struct checker *k = ctx;
    return node_registry_find(k->registry, type_id) != NULL;
}

int checker_open(struct checker *k, bool conformance, struct wopr_error *err) {
    *k = (struct checker){0};
    k->registry = node_registry_new();
    int rc = k->registry == NULL ? wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory") : 0;
    if (rc == 0) rc = nodes_register_core(k->registry, conformance, err);
    if (rc == 0) rc = node_catalog_new(k->registry, &k->catalog, err);
    if (rc == 0) rc = definition_schema_new(&k->schemas, &k->env.definition_schema, err);
    if (rc == 0) k->types = node_catalog_types(k->catalog);
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
