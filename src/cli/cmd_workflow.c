/* cmd_workflow.c: wopr workflow put|get|list|check and wopr seed. */
#include "cli/cli.h"
#include "nodes/nodes.h"

#include <stdio.h>

#define DEFINITION_MAX (4u * 1024 * 1024)

static const char USAGE[] =
    "usage: wopr workflow put FILE... [--shared]\n"
    "       wopr workflow get ID\n"
    "       wopr workflow list\n"
    "       wopr workflow check FILE...\n"
    "put stores for the configured tenant, or with --shared for every tenant\n";

/* What a definition is checked against: the schema and the node types this binary executes. */
struct checker {
    struct schema_set *schemas;
    struct node_registry *types;
    struct wf_env env;
};

static bool knows_type(void *ctx, struct str type_id) {
    const struct checker *k = ctx;
    return node_registry_find(k->types, type_id) != NULL;
}

static int checker_open(struct checker *k, bool conformance, struct wopr_error *err) {
    *k = (struct checker){0};
    k->types = node_registry_new();
    int rc = k->types == NULL ? wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory") : 0;
    if (rc == 0) rc = nodes_register_core(k->types, conformance, err);
    if (rc == 0) rc = definition_schema_new(&k->schemas, &k->env.definition_schema, err);
    k->env.knows_type = knows_type;
    k->env.config_wrong = nodes_config_wrong;
    k->env.ctx = k;
    return rc;
}

static void checker_close(struct checker *k) {
    schema_set_free(k->schemas);
    node_registry_free(k->types);
}

static int check_file(const char *path, const struct checker *k, struct wopr_error *err) {
    struct workflow *w = NULL;
    struct buf text;
    int rc = file_read(path, DEFINITION_MAX, &text, err);
    if (rc != 0) return rc;
    rc = json_check(buf_str(&text), &JSON_LIMITS_STORED, err);
    if (rc == 0) rc = workflow_compile(buf_str(&text), &k->env, &w, err);
    if (rc == 0)
        printf("%s: ok, " STR_FMT " version " STR_FMT ", %zu nodes, %zu edges\n", path,
               STR_ARG(w->id), STR_ARG(w->version), w->nodes_nr, w->edges_nr);
    workflow_unref(w);
    buf_fini(&text);
    return rc;
}

static int put_file(struct cli *c, struct store *s, const char *path, struct str tenant,
                    const struct checker *k, struct wopr_error *err) {
    static const char *const words[] = {
        [PUT_CREATED] = "created", [PUT_UPDATED] = "updated", [PUT_SAME] = "unchanged"};
    enum put_result what;
    struct buf text;
    int rc = file_read(path, DEFINITION_MAX, &text, err);
    if (rc != 0) return rc;
    rc = seed_text(s, buf_str(&text), tenant, &k->env, c->arena, &what, err);
    if (rc == 0) printf("%s: %s\n", path, words[what]);
    buf_fini(&text);
    return rc;
}

static int over_files(struct cli *c, struct store *s, bool shared, const struct checker *k) {
    int failed = 0;
    for (int i = 1; i < c->argc; i++) {
        struct wopr_error err = {0};
        struct str tenant = shared ? STR("") : str_c(c->cfg.tenant);
        int rc = s == NULL ? check_file(c->argv[i], k, &err)
                           : put_file(c, s, c->argv[i], tenant, k, &err);
        if (rc == 0) continue;
        fprintf(stderr, "%s: ", c->argv[i]);
        failed = cli_fail(&err);
    }
    return failed;
}

static int get(struct cli *c, struct store *s, const char *id) {
    struct wopr_error err = {0};
    struct workflow_row row;
    int rc = store_workflow_get(s, str_c(c->cfg.tenant), false, str_c(id), c->arena, &row, &err);
    if (rc != 0) return cli_fail(&err);
    printf(STR_FMT "\n", STR_ARG(row.text));
    return 0;
}

static int list(struct cli *c, struct store *s) {
    struct wopr_error err = {0};
    struct workflow_row_list all;
    int rc = store_workflow_list(s, c->arena, &all, &err);
    if (rc != 0) return cli_fail(&err);
    printf("%-48s %-10s %-12s %-25s %s\n", "WORKFLOW", "VERSION", "TENANT", "UPDATED", "HASH");
    for (size_t i = 0; i < all.n; i++) {
        const struct workflow_row *w = &all.v[i];
        char t[32], hex[65];
        sha256_hex(&w->hash, hex);
        printf("%-48.*s %-10.*s %-12.*s %-25s %.12s\n", STR_ARG(w->workflow_id),
               STR_ARG(w->version), STR_ARG(w->tenant.n > 0 ? w->tenant : STR("(shared)")),
               cli_time(w->updated_ms, t), hex);
    }
    return 0;
}

int cmd_workflow(struct cli *c) {
    struct wopr_error err = {0};
    struct checker k = {0};
    struct store *s = NULL;
    bool shared = cli_take_flag(c, "--shared");
    int rc = cli_config(c);
    if (rc != 0) return rc;
    const char *verb = c->argc > 0 ? c->argv[0] : "";
    bool is_put = strcmp(verb, "put") == 0 && c->argc >= 2,
         is_check = strcmp(verb, "check") == 0 && c->argc >= 2;
    bool is_get = strcmp(verb, "get") == 0 && c->argc == 2,
         is_list = strcmp(verb, "list") == 0 && c->argc == 1;
    if (!is_put && !is_check && !is_get && !is_list) return cli_usage(USAGE);
    if (!is_check) rc = cli_store(c, !is_put, &s);
    if (rc != 0) return rc;
    if (is_put || is_check) {
        rc = checker_open(&k, c->cfg.conformance || c->cfg.conformance_types, &err);
        rc = rc != 0 ? cli_fail(&err) : over_files(c, s, shared, &k);
        checker_close(&k);
    }
    if (is_get) rc = get(c, s, c->argv[1]);
    if (is_list) rc = list(c, s);
    store_close(s);
    return rc;
}

int cmd_seed(struct cli *c) {
    struct wopr_error err = {0};
    struct seed_counts n = {0, 0, 0};
    struct checker k = {0};
    struct store *s = NULL;
    bool fixtures = cli_take_flag(c, "--conformance");
    int rc = cli_config(c);
    if (rc != 0) return rc;
    if (c->argc != (fixtures ? 0 : 1))
        return cli_usage("usage: wopr seed FOLDER | wopr seed --conformance\n");
    rc = cli_store(c, false, &s);
    if (rc != 0) return rc;
    rc = checker_open(&k, fixtures, &err);
    struct wf_env loose = {.definition_schema = k.env.definition_schema};
    if (rc == 0)
        rc = fixtures ? seed_fixtures(s, &loose, &n, &err)
                      : seed_folder(s, c->argv[0], &k.env, &n, &err);
    if (rc != 0) rc = cli_fail(&err);
    else printf("%u created, %u updated, %u unchanged\n", n.created, n.updated, n.same);
    checker_close(&k);
    store_close(s);
    return rc;
}
