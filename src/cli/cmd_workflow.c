/* cmd_workflow.c: wopr workflow and wopr seed: definitions in the database file; with an address,
 * those of a running host (workflow_remote.c). */
#include "base/clock.h"
#include "cli/packs.h"
#include "codec/json.h"
#include "domain/lint.h"
#include "packs/pins.h"
#include "store/workflows.h"
#include "workspec/language.h"

#include <stdio.h>

#define DEFINITION_MAX (4u * 1024 * 1024)
#define REFUSED        1 /* its findings were printed */

static const char USAGE[] =
    "usage: wopr workflow check FILE...              all that is wrong or strange in definitions\n"
    "       wopr workflow put FILE... [--force] [--shared] [--if-revision N]\n"
    "       wopr workflow list\n"
    "       wopr workflow get ID [--revision N]\n"
    "       wopr workflow versions ID                what was stored under the id\n"
    "       wopr workflow delete ID [--shared]       no new runs of it; those that exist go on\n"
    "They work on the database file; with --url URL (or WOPR_URL) they ask a running host, with\n"
    "the API key of WOPR_API_KEY, --api-key-file or data/dev-api-key.  put refuses what check\n"
    "calls an error; --force stores what the host can compile.  --if-revision stores it only if\n"
    "revision N of wopr workflow versions is stored now (0: only if none is).  In a file, --shared "
    "means every\n"
    "tenant's, else they are of the configured one.\n";

static const char SEED_USAGE[] =
    "usage: wopr seed FOLDER           stores every *.json of the folder for all tenants\n"
    "       wopr seed --conformance    the fixtures of the conformance suite\n";

static void summary_print(struct cli *c, const char *path, const struct lint_summary *sum) {
    printf("%s: ok, " STR_FMT " version " STR_FMT ", %zu nodes, %zu edges\n", path,
           STR_ARG(sum->wf->id), STR_ARG(cli_text(c, sum->wf->version)), sum->wf->nodes_nr,
           sum->wf->edges_nr);
}

/* s NULL: only look. */
static int over_file(struct cli *c, struct store *s, const char *path, struct str tenant,
                     const struct workflow_args *in, const struct checker *k,
                     struct wopr_error *err) {
    static const char *const words[] = {
        [PUT_CREATED] = "created", [PUT_UPDATED] = "updated", [PUT_SAME] = "unchanged"};
    struct lint_summary sum = {0};
    const struct workflow_terms terms = {0, in->if_revision};
    enum put_result what;
    struct buf text;
    int rc = file_read(path, DEFINITION_MAX, &text, err);
    if (rc != 0) return rc;
    rc = checker_look(c, k, path, buf_str(&text), &sum, err);
    if (rc == 0 && s != NULL)
        rc = pack_pins_check(s, buf_str(&text), tenant, PACK_LANGUAGES_HERE, c->arena, err);
    bool good = rc == 0 && sum.wf != NULL && (sum.errors == 0 || (s != NULL && in->force));
    if (good && s == NULL) summary_print(c, path, &sum);
    if (good && s != NULL) rc = packs_load_check(c, s, k, tenant, sum.wf, err);
    if (good && s != NULL && rc == 0) {
        rc = seed_text(s, buf_str(&text), tenant, &k->env, &terms, c->arena, &what, err);
        if (rc == 0) printf("%s: %s\n", path, words[what]);
    }
    workflow_unref(sum.wf);
    buf_fini(&text);
    return rc == 0 && !good ? REFUSED : rc;
}

static int over_files(struct cli *c, struct store *s, const void *args) {
    const struct workflow_args *in = args;
    struct wopr_error err = {0};
    struct checker k;
    struct str tenant = in->shared ? STR("") : str_c(c->cfg.host_tenant);
    int failed = 0;
    int rc = checker_open(&k, c->cfg.host_conformance || c->cfg.host_conformance_types, &err);
    k.store = s;
    k.tenant = str_c(c->cfg.host_tenant);
    for (int i = 1; rc == 0 && i < c->argc; i++) {
        struct wopr_error why = {0};
        int one = over_file(c, s, c->argv[i], tenant, in, &k, &why);
        if (one != 0) failed = 1;
        if (one == 0 || one == REFUSED) continue;
        fprintf(stderr, "%s: ", c->argv[i]);
        (void)cli_fail(&why);
    }
    checker_close(&k);
    return rc != 0 ? cli_fail(&err) : failed;
}

static int check_files(struct cli *c, struct store *s, const void *args) {
    const struct workflow_args *in = args;
    (void)s;
    return over_files(c, NULL, in);
}

static int text_print(struct str text) {
    struct buf b;
    buf_init(&b, DEFINITION_MAX + 1);
    buf_adds(&b, text);
    buf_addc(&b, '\n');
    cli_print(&b);
    buf_fini(&b);
    return 0;
}

/* A document of another language as the definition that it compiles to. */
static int definition_print(struct str text, struct wopr_error *err) {
    const struct wf_env env = {.accepted = true, .dialects = &WS_DIALECT, .dialects_nr = 1};
    struct workflow *wf = NULL;
    if (!dialect_named(text, NULL, NULL, NULL)) return text_print(text);
    int rc = workflow_compile(text, &env, &wf, err);
    if (rc == 0) rc = text_print(wf->text);
    workflow_unref(wf);
    return rc;
}

static int row_find(struct cli *c, struct store *s, struct workflow_row *row,
                    struct wopr_error *err) {
    return store_workflow_get(s, str_c(c->cfg.host_tenant), false, str_c(c->argv[1]), c->arena, row,
                              err);
}

static int workflow_print(struct cli *c, struct store *s, const void *args) {
    const struct workflow_args *in = args;
    struct wopr_error err = {0};
    struct workflow_row row;
    int rc = row_find(c, s, &row, &err);
    if (rc == 0 && in->revision > 0)
        rc = store_workflow_revision(s, &row, in->revision, c->arena, &row.text, &err);
    if (rc == 0) rc = definition_print(row.text, &err);
    return rc == 0 ? 0 : cli_fail(&err);
}

static void row_text(struct cli *c, const void *rows, size_t i, struct buf *b) {
    const struct workflow_row *w = &((const struct workflow_row_list *)rows)->v[i];
    char t[CLI_TIME_SIZE], hex[65];
    sha256_hex(&w->hash, hex);
    buf_addf(b, "%-48.*s %-10.*s ", STR_ARG(cli_text(c, w->workflow_id)),
             STR_ARG(cli_text(c, w->version)));
    buf_addf(b, "%-12.*s %-25s %.12s%s" STR_FMT "\n",
             STR_ARG(w->tenant.n > 0 ? cli_text(c, w->tenant) : STR("(shared)")),
             cli_time(w->updated_ms, t), hex, dialect_of(w->text).n > 0 ? " " : "",
             STR_ARG(cli_text(c, dialect_of(w->text))));
}

static int workflows_list(struct cli *c, struct store *s, const void *args) {
    const struct workflow_args *in = args;
    static const char HEAD[] = "WORKFLOW                                         VERSION    "
                               "TENANT       UPDATED                   HASH\n";
    struct wopr_error err = {0};
    struct workflow_row_list all;
    (void)in;
    if (store_workflow_list(s, c->arena, &all, &err) != 0) return cli_fail(&err);
    cli_rows(c, HEAD, all.n, row_text, &all);
    return 0;
}

static void version_text(struct cli *c, const void *rows, size_t i, struct buf *b) {
    const struct workflow_version *v = &((const struct workflow_version_list *)rows)->v[i];
    char t[CLI_TIME_SIZE], hex[65];
    sha256_hex(&v->hash, hex);
    buf_addf(b, "%-8lld %-10.*s %-25s %.12s\n", (long long)v->revision,
             STR_ARG(cli_text(c, v->version)), cli_time(v->created_ms, t), hex);
}

static int versions_list(struct cli *c, struct store *s, const void *args) {
    const struct workflow_args *in = args;
    struct wopr_error err = {0};
    struct workflow_row row;
    struct workflow_version_list all;
    (void)in;
    int rc = row_find(c, s, &row, &err);
    if (rc == 0)
        rc = store_workflow_versions(s, &row, INT64_MAX, STORE_LIST_MAX, c->arena, &all, &err);
    if (rc != 0) return cli_fail(&err);
    cli_rows(c, "REVISION VERSION    STORED                    HASH\n", all.n, version_text, &all);
    return 0;
}

static int workflow_delete(struct cli *c, struct store *s, const void *args) {
    const struct workflow_args *in = args;
    struct wopr_error err = {0};
    struct workflow_row row;
    int rc = row_find(c, s, &row, &err);
    if (rc == 0 && row.tenant.n == 0 && !in->shared) {
        fputs("wopr: the workflow is shared by all tenants: --shared removes it for all\n", stderr);
        return 1;
    }
    if (rc == 0) {
        row.updated_ms = clock_wall_ms();
        rc = store_workflow_delete(s, &row, &err);
    }
    if (rc != 0) return cli_fail(&err);
    printf("%s: deleted\n", c->argv[1]);
    return 0;
}

static const struct cli_verb VERBS[] = {
    {"check", 1, VERB_ANY_ARGS, remote_workflow_check, check_files, VERB_NO_FILE},
    {"put", 1, VERB_ANY_ARGS, remote_workflow_put, over_files, VERB_WRITES},
    {"list", 0, 0, remote_workflow_list, workflows_list, VERB_READS},
    {"get", 1, 1, remote_workflow_get, workflow_print, VERB_READS},
    {"versions", 1, 1, remote_workflow_versions, versions_list, VERB_READS},
    {"delete", 1, 1, remote_workflow_delete, workflow_delete, VERB_WRITES},
};

int cmd_workflow(struct cli *c) {
    struct workflow_args in = {0};
    uint64_t revision = 0;
    if (cli_help(c, USAGE)) return 0;
    in.shared = cli_take_flag(c, "--shared");
    in.force = cli_take_flag(c, "--force");
    const char *text = cli_take_value(c, "--revision");
    in.url = cli_take_url(c);
    const char *expected = cli_take_value(c, "--if-revision");
    int rc = cli_config(c);
    if (rc != 0) return rc;
    if (text != NULL && (!str_u64(str_c(text), &revision) || revision == 0 || revision > INT64_MAX))
        return cli_usage("wopr: --revision must be a number of wopr workflow versions\n");
    in.revision = (int64_t)revision;
    if (expected != NULL && (!str_u64(str_c(expected), &revision) || revision > INT64_MAX))
        return cli_usage("wopr: --if-revision must be a number of wopr workflow versions, or 0\n");
    in.if_revision = expected != NULL ? (int64_t)revision : WORKFLOW_ANY;
    return cli_verbs(c, VERBS, sizeof VERBS / sizeof *VERBS, in.url, &in);
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
    k.store = s;
    k.tenant = str_c(c->cfg.host_tenant);
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
