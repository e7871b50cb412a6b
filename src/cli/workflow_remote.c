/* workflow_remote.c: wopr workflow against a running host: the same verbs and the same lines, over
 * HTTP. */
#include "cli/cli.h"
#include "codec/bytes.h"
#include "codec/json.h"

#include <stdio.h>

#define DEFINITION_MAX (4u * 1024 * 1024)
#define BASE           "/v1/host/wopr/workflows"
#define REFUSED        1

static struct json_elements list_of(struct cli *c, struct str answer, const char *key) {
    struct json_elements l = {0};
    struct str raw = json_get(answer, key);
    if (raw.p != NULL && json_type_of(raw) == JSON_ARRAY &&
        json_elements(raw, c->arena, &l, NULL) != 0)
        l.n = 0;
    return l;
}

static void findings_print(struct cli *c, const char *path, struct str answer) {
    struct json_elements l = list_of(c, answer, "findings");
    for (size_t i = 0; i < l.n; i++)
        finding_print(c, path, str_eqc(json_get(l.v[i], "severity"), "\"error\""),
                      json_string(json_get(l.v[i], "path"), c->arena), json_get(l.v[i], "value"),
                      json_string(json_get(l.v[i], "message"), c->arena));
}

static int file_check(struct cli *c, const struct workflow_args *in, const char *path,
                      struct str text, struct str *answer) {
    int rc = cli_ask_at(c, in->url, "POST", STR(BASE ":check"), text, answer);
    if (rc != 0) return rc;
    findings_print(c, path, *answer);
    return str_eqc(json_get(*answer, "valid"), "true") ? 0 : REFUSED;
}

static int file_put(struct cli *c, const struct workflow_args *in, const char *path,
                    struct str text) {
    struct str answer, id = json_string(json_get(text, "id"), c->arena);
    int rc = file_check(c, in, path, text, &answer);
    if (rc == REFUSED && in->force) rc = 0;
    if (rc != 0) return rc;
    if (id.n == 0) return cli_usage("wopr: the definition has no id\n");
    const char *query = in->force ? "?force=true" : "?force=false";
    if (in->if_revision >= 0)
        query = arena_printf(c->arena, "%s&ifRevision=%lld", query, (long long)in->if_revision).p;
    struct str to = cli_path(c, BASE "/", id, query);
    rc = cli_ask_at(c, in->url, "PUT", to, text, &answer);
    if (rc == 0) printf("%s: " STR_FMT "\n", path, STR_ARG(cli_member(c, answer, "result")));
    return rc;
}

static int over_files(struct cli *c, const struct workflow_args *in, bool put) {
    int failed = 0;
    for (int i = 1; i < c->argc; i++) {
        const char *path = c->argv[i];
        struct wopr_error err = {0};
        struct str answer;
        struct buf text;
        int rc = file_read(path, DEFINITION_MAX, &text, &err);
        if (rc != 0) {
            failed = cli_fail(&err);
            continue;
        }
        rc = json_check(buf_str(&text), &JSON_LIMITS_STORED, &err);
        if (rc != 0) {
            fprintf(stderr, "%s: ", path);
            rc = cli_fail(&err);
        } else if (put) {
            rc = file_put(c, in, path, buf_str(&text));
        } else {
            rc = file_check(c, in, path, buf_str(&text), &answer);
            if (rc == 0)
                printf("%s: ok, " STR_FMT " version " STR_FMT ", " STR_FMT " nodes, " STR_FMT
                       " edges\n",
                       path, STR_ARG(cli_member(c, answer, "workflowId")),
                       STR_ARG(cli_member(c, answer, "version")),
                       STR_ARG(cli_member(c, answer, "nodes")),
                       STR_ARG(cli_member(c, answer, "edges")));
        }
        if (rc != 0) failed = 1;
        buf_fini(&text);
    }
    return failed;
}

int remote_workflow_check(struct cli *c, const void *args) { return over_files(c, args, false); }

int remote_workflow_put(struct cli *c, const void *args) { return over_files(c, args, true); }

int remote_workflow_get(struct cli *c, const void *args) {
    const struct workflow_args *in = args;
    struct str answer, id = str_c(c->argv[1]), path = cli_path(c, "/v1/workflows/", id, "");
    struct buf b;
    if (in->revision > 0)
        path = cli_path(c, BASE "/", id,
                        arena_printf(c->arena, "/versions/%lld", (long long)in->revision).p);
    int rc = cli_ask_at(c, in->url, "GET", path, STR_NONE, &answer);
    if (rc != 0) return rc;
    buf_init(&b, DEFINITION_MAX + 1);
    buf_adds(&b, answer);
    buf_addc(&b, '\n');
    cli_print(&b);
    buf_fini(&b);
    return 0;
}

static void row_print(struct cli *c, struct str row) {
    bool shared = str_eqc(json_get(row, "shared"), "true");
    printf("%-48.*s %-10.*s ", STR_ARG(cli_member(c, row, "workflowId")),
           STR_ARG(cli_member(c, row, "version")));
    printf("%-12s %-25.*s %.12s\n", shared ? "(shared)" : "",
           STR_ARG(cli_member(c, row, "updatedAt")), cli_member(c, row, "hash").p);
}

int remote_workflow_list(struct cli *c, const void *args) {
    const struct workflow_args *in = args;
    struct str answer, next = STR_NONE;
    do {
        struct str path =
            next.n > 0 ? cli_path(c, BASE "?limit=200&after=", next, "") : STR(BASE "?limit=200");
        int rc = cli_ask_at(c, in->url, "GET", path, STR_NONE, &answer);
        if (rc != 0) return rc;
        if (next.n == 0)
            printf("%-48s %-10s %-12s %-25s %s\n", "WORKFLOW", "VERSION", "TENANT", "UPDATED",
                   "HASH");
        struct json_elements l = list_of(c, answer, "workflows");
        for (size_t i = 0; i < l.n; i++) row_print(c, l.v[i]);
        next = json_string(json_get(answer, "nextAfter"), c->arena);
    } while (next.n > 0);
    return 0;
}

int remote_workflow_versions(struct cli *c, const void *args) {
    const struct workflow_args *in = args;
    struct str answer, below = STR_NONE;
    do {
        const char *rest =
            below.n > 0
                ? arena_printf(c->arena, "/versions?limit=200&below=" STR_FMT, STR_ARG(below)).p
                : "/versions?limit=200";
        int rc = cli_ask_at(c, in->url, "GET", cli_path(c, BASE "/", str_c(c->argv[1]), rest),
                            STR_NONE, &answer);
        if (rc != 0) return rc;
        if (below.n == 0) printf("%-8s %-10s %-25s %s\n", "REVISION", "VERSION", "STORED", "HASH");
        struct json_elements l = list_of(c, answer, "versions");
        for (size_t i = 0; i < l.n; i++) {
            printf("%-8.*s %-10.*s ", STR_ARG(cli_member(c, l.v[i], "revision")),
                   STR_ARG(cli_member(c, l.v[i], "version")));
            printf("%-25.*s %.12s\n", STR_ARG(cli_member(c, l.v[i], "createdAt")),
                   cli_member(c, l.v[i], "hash").p);
        }
        below = json_get(answer, "nextBelow");
    } while (below.n > 0);
    return 0;
}

int remote_workflow_delete(struct cli *c, const void *args) {
    const struct workflow_args *in = args;
    struct str answer;
    int rc = cli_ask_at(c, in->url, "DELETE", cli_path(c, BASE "/", str_c(c->argv[1]), ""),
                        STR_NONE, &answer);
    if (rc == 0) printf("%s: deleted\n", c->argv[1]);
    return rc;
}
