/* cmd_agents.c: wopr agents: agents of the workspace in the database file; with an address, those
 * of a running host.  A file is a manifest, whose files are read from its folder, or a definition
 * that holds them. */
#include "base/clock.h"
#include "cli/verbs.h"
#include "codec/jobj.h"
#include "domain/agent_manifest.h"
#include "host/ai_file.h"
#include "store/agents.h"

#include <stdio.h>

#define BASE        "/v1/host/wopr/agents"
#define REFUSED     1 /* its findings were printed */
#define LIST_PAGE   200u
#define PATH_MAX_OF 4096

static const char USAGE[] =
    "usage: wopr agents check FILE...        all that is wrong or strange in manifests\n"
    "       wopr agents put FILE... [--if-revision N]\n"
    "       wopr agents list\n"
    "       wopr agents show ID              its definition\n"
    "       wopr agents delete ID [--if-revision N]   no new runs with it; those that exist go on\n"
    "They work on the database file; with --url URL (or WOPR_URL) they ask a running host, with\n"
    "the API key of WOPR_API_KEY, --api-key-file or data/dev-api-key.  Files that a manifest "
    "names\n"
    "are read from its folder.  --if-revision does it only if revision N of wopr agents list is\n"
    "stored now (put, 0: only if none is).  In a file, --test means those of runs of test keys.\n";

struct agents_args {
    const char *url;
    bool test;
    int64_t if_revision;
};

/* --- files --- */

static int raw_read(struct cli *c, const char *path, struct str *out, struct wopr_error *err) {
    struct buf b;
    int rc = file_read(path, AGENT_DEFINITION_MAX, &b, err);
    if (rc != 0) return rc;
    *out = arena_str(c->arena, buf_str(&b));
    buf_fini(&b);
    return out->p ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
}

/* A file beside the manifest.  One that is not there, or that no manifest may name, is left to the
 * judge. */
static void file_add(struct cli *c, const char *manifest, struct str object, const char *key,
                     struct jw *w, struct str *done) {
    char path[PATH_MAX_OF];
    struct str raw = json_get(object, key), text;
    struct str name = raw.n > 0 ? json_string(raw, c->arena) : STR_NONE;
    const char *slash = strrchr(manifest, '/');
    struct wopr_error err;
    const char *z = name.n > 0 ? arena_cstr(c->arena, name) : NULL;
    bool odd = !z || z[0] == '/' || strstr(z, "..") != NULL;
    if (odd || str_eq(name, done[0]) || str_eq(name, done[1])) return;
    int n = snprintf(path, sizeof path, "%.*s" STR_FMT, slash ? (int)(slash + 1 - manifest) : 0,
                     manifest, STR_ARG(name));
    if (n < 0 || (size_t)n >= sizeof path || raw_read(c, path, &text, &err) != 0) return;
    if (!utf8_valid(text)) return;
    jw_key_str(w, name);
    jw_str(w, text);
    done[done[0].n > 0] = name;
}

static int definition_read(struct cli *c, const char *path, struct str *out,
                           struct wopr_error *err) {
    struct str text, manifest, handoff, files, done[2] = {{NULL, 0}, {NULL, 0}};
    struct jobj o;
    int rc = raw_read(c, path, &text, err);
    if (rc == 0) rc = json_check(text, &JSON_LIMITS_DEFAULT, err);
    if (rc != 0) return rc;
    *out = text = str_trim(text);
    manifest = text;
    if (json_type_of(text) != JSON_OBJECT || json_get(text, "manifest").n > 0) return 0;
    handoff = json_get(manifest, "handoff");
    jobj_begin(&o, 8 * AGENT_DEFINITION_MAX);
    file_add(c, path, manifest, "systemPromptRef", &o.w, done);
    file_add(c, path, handoff, "taskSchemaRef", &o.w, done);
    file_add(c, path, handoff, "returnSchemaRef", &o.w, done);
    files = jobj_end(&o, c->arena);
    if (str_eqc(files, "{}")) files = STR_NONE;
    *out = agent_definition(manifest, files, c->arena);
    return out->p ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
}

/* --- findings --- */

struct teller {
    struct cli *c;
    const char *path;
};

static void finding_tell(void *ctx, const struct lint_finding *f) {
    struct teller *t = ctx;
    finding_print(t->c, t->path, f->error, str_c(f->pointer), f->value, str_c(f->text));
}

static void answer_findings(struct cli *c, const char *path, struct str answer) {
    struct json_elements l = {0};
    struct str raw = json_get(answer, "findings");
    if (raw.n > 0 && json_elements(raw, c->arena, &l, NULL) != 0) return;
    for (size_t i = 0; i < l.n; i++)
        finding_print(c, path, str_eqc(json_get(l.v[i], "severity"), "\"error\""),
                      json_string(json_get(l.v[i], "path"), c->arena), json_get(l.v[i], "value"),
                      json_string(json_get(l.v[i], "message"), c->arena));
}

/* --- each file --- */

typedef int file_fn(struct cli *c, struct store *s, const struct agents_args *in, const char *path,
                    struct str definition, struct wopr_error *err);

static int over_files(struct cli *c, struct store *s, const void *args, file_fn *each) {
    int failed = 0;
    for (int i = 1; i < c->argc; i++) {
        struct wopr_error err = {0};
        struct str definition;
        int rc = definition_read(c, c->argv[i], &definition, &err);
        if (rc == 0) rc = each(c, s, args, c->argv[i], definition, &err);
        if (rc != 0) failed = 1;
        if (rc == 0 || rc == REFUSED) continue;
        fprintf(stderr, "%s: ", c->argv[i]);
        (void)cli_fail(&err);
    }
    return failed;
}

static int file_judge(struct cli *c, const char *path, struct str definition,
                      struct agent_judgement *sum, struct wopr_error *err) {
    struct agent_rules rules = {.long_term = true};
    struct teller t = {c, path};
    int rc = ai_file_classes_read(c->cfg.host_ai_providers, c->arena, &rules.model_classes, err);
    if (rc == 0) rc = agent_judge(definition, &rules, finding_tell, &t, c->arena, sum, err);
    return rc == 0 && sum->errors > 0 ? REFUSED : rc;
}

static int file_check(struct cli *c, struct store *s, const struct agents_args *in,
                      const char *path, struct str definition, struct wopr_error *err) {
    struct agent_judgement sum;
    (void)s, (void)in;
    int rc = file_judge(c, path, definition, &sum, err);
    if (rc == 0) printf("%s: ok, " STR_FMT "\n", path, STR_ARG(cli_text(c, sum.agent_id)));
    return rc;
}

static int file_put(struct cli *c, struct store *s, const struct agents_args *in, const char *path,
                    struct str definition, struct wopr_error *err) {
    static const char *const WORDS[] = {
        [AGENT_CREATED] = "created", [AGENT_UPDATED] = "updated", [AGENT_SAME] = "unchanged"};
    struct agent_judgement sum;
    struct agent_put done;
    int64_t now_ms = clock_wall_ms();
    int rc = file_judge(c, path, definition, &sum, err);
    if (rc != 0) return rc;
    struct agent_row r = {.tenant = str_c(c->cfg.host_tenant),
                          .test_mode = in->test,
                          .agent_id = sum.agent_id,
                          .definition = definition,
                          .created_ms = now_ms,
                          .updated_ms = now_ms};
    rc = agent_digest(definition, &r.digest, err);
    if (rc == 0) rc = store_agent_put(s, &r, in->if_revision, &done, err);
    if (rc == 0)
        printf("%s: " STR_FMT " %s, revision %lld\n", path, STR_ARG(cli_text(c, sum.agent_id)),
               WORDS[done.what], (long long)done.revision);
    return rc;
}

static int host_check(struct cli *c, struct store *s, const struct agents_args *in,
                      const char *path, struct str definition, struct wopr_error *err) {
    struct str answer;
    (void)s, (void)err;
    int rc = cli_ask_at(c, in->url, "POST", STR(BASE ":check"), definition, &answer);
    if (rc != 0) return REFUSED; /* printed */
    answer_findings(c, path, answer);
    if (!str_eqc(json_get(answer, "valid"), "true")) return REFUSED;
    printf("%s: ok, " STR_FMT "\n", path, STR_ARG(cli_member(c, answer, "agentId")));
    return 0;
}

static const char *if_revision(struct cli *c, const struct agents_args *in) {
    if (in->if_revision < 0) return "";
    return arena_printf(c->arena, "?ifRevision=%lld", (long long)in->if_revision).p;
}

static int host_put(struct cli *c, struct store *s, const struct agents_args *in, const char *path,
                    struct str definition, struct wopr_error *err) {
    struct str answer, id = json_get(json_get(definition, "manifest"), "agentId");
    (void)s, (void)err;
    int rc = cli_ask_at(c, in->url, "POST", STR(BASE ":check"), definition, &answer);
    if (rc != 0) return REFUSED;
    answer_findings(c, path, answer);
    if (!str_eqc(json_get(answer, "valid"), "true")) return REFUSED;
    struct str to = cli_path(c, BASE "/", json_string(id, c->arena), if_revision(c, in));
    if (cli_ask_at(c, in->url, "PUT", to, definition, &answer) != 0) return REFUSED;
    printf("%s: " STR_FMT " " STR_FMT ", revision " STR_FMT "\n", path,
           STR_ARG(cli_member(c, answer, "agentId")), STR_ARG(cli_member(c, answer, "result")),
           STR_ARG(cli_member(c, answer, "revision")));
    return 0;
}

static int check_there(struct cli *c, const void *args) {
    return over_files(c, NULL, args, host_check);
}
static int put_there(struct cli *c, const void *args) {
    return over_files(c, NULL, args, host_put);
}
static int check_here(struct cli *c, struct store *s, const void *args) {
    return over_files(c, s, args, file_check);
}
static int put_here(struct cli *c, struct store *s, const void *args) {
    return over_files(c, s, args, file_put);
}

/* --- list --- */

static void line_print(struct cli *c, struct str id, struct str revision, struct str class,
                       struct str updated, struct str persona) {
    printf("%-48.*s %8.*s %-14.*s ", STR_ARG(id), STR_ARG(revision), STR_ARG(class));
    printf("%-25.*s " STR_FMT "\n", STR_ARG(updated), STR_ARG(cli_text(c, persona)));
}

static void head_print(void) {
    printf("%-48s %8s %-14s %-25s %s\n", "AGENT", "REVISION", "CLASS", "UPDATED", "PERSONA");
}

static int list_here(struct cli *c, struct store *s, const void *args) {
    const struct agents_args *in = args;
    struct agent_rows l = {.n = LIST_PAGE};
    struct agent_row last, *after = NULL;
    struct wopr_error err = {0};
    head_print();
    while (l.n == LIST_PAGE) {
        int rc = store_agents(s, str_c(c->cfg.host_tenant), in->test, after, LIST_PAGE, c->arena,
                              &l, &err);
        if (rc != 0) return cli_fail(&err);
        for (size_t i = 0; i < l.n; i++) {
            char at[CLI_TIME_SIZE];
            struct str m = json_get(l.v[i].definition, "manifest");
            line_print(c, l.v[i].agent_id,
                       arena_printf(c->arena, "%lld", (long long)l.v[i].revision),
                       json_string(json_get(m, "modelClass"), c->arena),
                       str_c(cli_time(l.v[i].updated_ms, at)),
                       json_string(json_get(m, "persona"), c->arena));
            last = l.v[i];
            after = &last;
        }
    }
    return 0;
}

static int list_there(struct cli *c, const void *args) {
    const struct agents_args *in = args;
    struct str answer, next = STR_NONE;
    do {
        struct json_elements l = {0};
        struct str path =
            next.n > 0 ? cli_path(c, BASE "?limit=200&after=", next, "") : STR(BASE "?limit=200");
        int rc = cli_ask_at(c, in->url, "GET", path, STR_NONE, &answer);
        if (rc != 0) return rc;
        if (next.n == 0) head_print();
        struct str raw = json_get(answer, "agents");
        if (raw.n > 0 && json_elements(raw, c->arena, &l, NULL) != 0) l.n = 0;
        for (size_t i = 0; i < l.n; i++)
            line_print(c, cli_member(c, l.v[i], "agentId"), cli_member(c, l.v[i], "revision"),
                       cli_member(c, l.v[i], "modelClass"), cli_member(c, l.v[i], "updatedAt"),
                       cli_member(c, l.v[i], "persona"));
        next = json_string(json_get(answer, "nextAfter"), c->arena);
    } while (next.n > 0);
    return 0;
}

/* --- one --- */

static int definition_print(struct str text) {
    struct buf b;
    buf_init(&b, 4 * AGENT_DEFINITION_MAX);
    buf_adds(&b, text);
    buf_addc(&b, '\n');
    cli_print(&b);
    buf_fini(&b);
    return 0;
}

static int show_here(struct cli *c, struct store *s, const void *args) {
    const struct agents_args *in = args;
    struct wopr_error err = {0};
    struct agent_row r;
    int rc = store_agent_get(s, str_c(c->cfg.host_tenant), in->test, str_c(c->argv[1]), c->arena,
                             &r, &err);
    return rc == 0 ? definition_print(r.definition) : cli_fail(&err);
}

static int show_there(struct cli *c, const void *args) {
    const struct agents_args *in = args;
    struct str answer;
    int rc = cli_ask_at(c, in->url, "GET", cli_path(c, BASE "/", str_c(c->argv[1]), ""), STR_NONE,
                        &answer);
    return rc == 0 ? definition_print(json_get(answer, "definition")) : rc;
}

static int delete_here(struct cli *c, struct store *s, const void *args) {
    const struct agents_args *in = args;
    const struct agent_row r = {
        .tenant = str_c(c->cfg.host_tenant), .test_mode = in->test, .agent_id = str_c(c->argv[1])};
    struct wopr_error err = {0};
    struct agent_put done;
    if (store_agent_delete(s, &r, in->if_revision, &done, &err) != 0) return cli_fail(&err);
    printf("%s: deleted\n", c->argv[1]);
    return 0;
}

static int delete_there(struct cli *c, const void *args) {
    const struct agents_args *in = args;
    struct str answer;
    int rc =
        cli_ask_at(c, in->url, "DELETE",
                   cli_path(c, BASE "/", str_c(c->argv[1]), if_revision(c, in)), STR_NONE, &answer);
    if (rc == 0) printf("%s: deleted\n", c->argv[1]);
    return rc;
}

int cmd_agents(struct cli *c) {
    static const struct cli_verb VERBS[] = {
        {"check", 1, VERB_ANY_ARGS, check_there, check_here, VERB_NO_FILE},
        {"put", 1, VERB_ANY_ARGS, put_there, put_here, VERB_WRITES},
        {"list", 0, 0, list_there, list_here, VERB_READS},
        {"show", 1, 1, show_there, show_here, VERB_READS},
        {"delete", 1, 1, delete_there, delete_here, VERB_WRITES}};
    struct agents_args in = {.if_revision = AGENT_ANY};
    uint64_t revision = 0;
    if (cli_help(c, USAGE)) return 0;
    in.test = cli_take_flag(c, "--test");
    in.url = cli_take_url(c);
    const char *expected = cli_take_value(c, "--if-revision");
    int rc = cli_config(c);
    if (rc != 0) return rc;
    if (expected && (!str_u64(str_c(expected), &revision) || revision > INT64_MAX))
        return cli_usage("wopr: --if-revision must be a number of wopr agents list, or 0\n");
    if (expected) in.if_revision = (int64_t)revision;
    return cli_verbs(c, VERBS, sizeof VERBS / sizeof *VERBS, in.url, &in);
}
