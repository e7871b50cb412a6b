/* cmd_workflow.c: wopr workflow put|get|list|check and wopr seed. */
#include "cli/cli.h"
#include "nodes/nodes.h"

#include <stdio.h>

#define DEFINITION_MAX (4u * 1024 * 1024)
#define CHECK_FAILED   1

static const char USAGE[] =
    "usage: wopr workflow put FILE... [--shared]\n"
    "       wopr workflow get ID\n"
    "       wopr workflow list\n"
    "       wopr workflow check FILE...\n"
    "put stores for the configured tenant, or with --shared for every tenant\n";

static const char SEED_USAGE[] =
    "usage: wopr seed FOLDER           stores every *.json of the folder for all tenants\n"
    "       wopr seed --conformance    the fixtures of the conformance suite\n";

/* Definitions are checked against the schema and the node types of this binary. */
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

struct findings {
    struct cli *cli;
    const char *path;
    unsigned errors;
    bool explains;     /* one of them is at the place that the compiler refused */
    char refused[192]; /* that place */
};

static void print_finding(void *ctx, const struct lint_finding *f) {
    struct findings *all = ctx;
    const char *at = f->pointer[0] != '\0' ? f->pointer : "/";
    fprintf(stderr, "%s: %s at " STR_FMT ": " STR_FMT "\n", all->path,
            f->error ? "error" : "warning", STR_ARG(cli_text(all->cli, str_c(at))),
            STR_ARG(cli_text(all->cli, str_c(f->text))));
    all->errors += f->error;
    all->explains |= f->error && f->pointer[0] != '\0' &&
                     strncmp(all->refused, f->pointer, strlen(f->pointer)) == 0;
}

/* Prints all findings, and the compiler's reason unless a finding explains it. */
static int check_file(struct cli *c, const char *path, const struct checker *k,
                      struct wopr_error *err) {
    struct workflow *w = NULL;
    struct findings all = {.cli = c, .path = path};
    struct wopr_error refusal = {0};
    struct buf text;
    int rc = file_read(path, DEFINITION_MAX, &text, err);
    if (rc != 0) return rc;
    rc = json_check(buf_str(&text), &JSON_LIMITS_STORED, err);
    if (rc == 0) {
        int refused = workflow_compile(buf_str(&text), &k->env, &w, &refusal);
        memcpy(all.refused, refusal.pointer, sizeof all.refused);
        rc = workflow_lint(buf_str(&text), NODES_LINT, print_finding, &all, err);
        if (rc == 0 && refused != 0 && !all.explains) {
            *err = refusal;
            rc = refused;
        }
    }
    if (rc == 0 && all.errors == 0 && w != NULL)
        printf("%s: ok, " STR_FMT " version " STR_FMT ", %zu nodes, %zu edges\n", path,
               STR_ARG(w->id), STR_ARG(cli_text(c, w->version)), w->nodes_nr, w->edges_nr);
    workflow_unref(w);
    buf_fini(&text);
    return rc == 0 && all.errors > 0 ? CHECK_FAILED : rc;
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
    struct findings all = {.cli = c, .path = path};
    if (rc == 0) rc = workflow_lint(buf_str(&text), NODES_LINT, print_finding, &all, err);
    if (rc == 0) printf("%s: %s\n", path, words[what]);
    buf_fini(&text);
    return rc;
}

static int over_files(struct cli *c, struct store *s, bool shared, const struct checker *k) {
    int failed = 0;
    for (int i = 1; i < c->argc; i++) {
        struct wopr_error err = {0};
        struct str tenant = shared ? STR("") : str_c(c->cfg.host_tenant);
        int rc = s == NULL ? check_file(c, c->argv[i], k, &err)
                           : put_file(c, s, c->argv[i], tenant, k, &err);
        if (rc == CHECK_FAILED) failed = 1; /* already printed */
        if (rc == 0 || rc == CHECK_FAILED) continue;
        fprintf(stderr, "%s: ", c->argv[i]);
        failed = cli_fail(&err);
    }
    return failed;
}

static int print_text(struct str text) {
    struct buf b;
    buf_init(&b, DEFINITION_MAX + 1);
    buf_adds(&b, text);
    buf_addc(&b, '\n');
    cli_print(&b);
    buf_fini(&b);
    return 0;
}

static int workflow_print(struct cli *c, struct store *s, const char *id) {
    struct wopr_error err = {0};
    struct workflow_row row;
    int rc =
        store_workflow_get(s, str_c(c->cfg.host_tenant), false, str_c(id), c->arena, &row, &err);
    if (rc != 0) return cli_fail(&err);
    return print_text(row.text);
}

static int workflows_list(struct cli *c, struct store *s) {
    struct wopr_error err = {0};
    struct workflow_row_list all;
    int rc = store_workflow_list(s, c->arena, &all, &err);
    if (rc != 0) return cli_fail(&err);
    printf("%-48s %-10s %-12s %-25s %s\n", "WORKFLOW", "VERSION", "TENANT", "UPDATED", "HASH");
    for (size_t i = 0; i < all.n; i++) {
        const struct workflow_row *w = &all.v[i];
        char t[CLI_TIME_SIZE], hex[65];
        sha256_hex(&w->hash, hex);
        printf("%-48.*s %-10.*s %-12.*s %-25s %.12s\n", STR_ARG(cli_text(c, w->workflow_id)),
               STR_ARG(cli_text(c, w->version)),
               STR_ARG(w->tenant.n > 0 ? cli_text(c, w->tenant) : STR("(shared)")),
               cli_time(w->updated_ms, t), hex);
    }
    return 0;
}

int cmd_workflow(struct cli *c) {
    struct wopr_error err = {0};
    struct checker k = {0};
    struct store *s = NULL;
    static const char *const VERBS[] = {"put", "get", "list", "check", NULL};
    if (cli_help(c, USAGE)) return 0;
    bool shared = cli_take_flag(c, "--shared");
    int rc = cli_config(c);
    if (rc != 0) return rc;
    const char *verb = c->argc > 0 ? c->argv[0] : "";
    bool is_put = strcmp(verb, "put") == 0 && c->argc >= 2,
         is_check = strcmp(verb, "check") == 0 && c->argc >= 2;
    bool is_get = strcmp(verb, "get") == 0 && c->argc == 2,
         is_list = strcmp(verb, "list") == 0 && c->argc == 1;
    if (!is_put && !is_check && !is_get && !is_list) return cli_verb(c, VERBS);
    if (!is_check) rc = cli_store(c, !is_put, &s);
    if (rc != 0) return rc;
    if (is_put || is_check) {
        rc = checker_open(&k, c->cfg.host_conformance || c->cfg.host_conformance_types, &err);
        rc = rc != 0 ? cli_fail(&err) : over_files(c, s, shared, &k);
        checker_close(&k);
    }
    if (is_get) rc = workflow_print(c, s, c->argv[1]);
    if (is_list) rc = workflows_list(c, s);
    store_close(s);
    return rc;
}

int cmd_seed(struct cli *c) {
    struct wopr_error err = {0};
    struct seed_counts n = {0, 0, 0};
    struct checker k = {0};
    struct store *s = NULL;
    if (cli_help(c, SEED_USAGE)) return 0;
    bool fixtures = cli_take_flag(c, "--conformance");
    int rc = cli_config(c);
    if (rc != 0) return rc;
    if (c->argc != (fixtures ? 0 : 1)) return cli_usage(SEED_USAGE);
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
