/* cmd_tasks.c: wopr tasks list|show|types: what waits for workers at a running host, and who has it
 * (WRK-26). */
#include "cli/cli.h"
#include "codec/bytes.h"
#include "codec/json.h"

#include <stdio.h>

#define PATH_MAX_BYTES 4096

enum { LIST_ROWS = 50 };

static const char USAGE[] =
    "usage: wopr tasks list [--type T] [--status S] [--limit N] [--json]\n"
    "       wopr tasks show TASK_ID    also of a task that has ended\n"
    "       wopr tasks types [--limit N] [--json]    registered types: tasks ready and leased\n"
    "S is ready, leased, held, answered or lost.  They ask a running host: --url URL (or "
    "WOPR_URL),\n"
    "with the key of WOPR_API_KEY, --api-key-file FILE or data/dev-api-key; list and show need "
    "the\n"
    "scope workers:manage, types workers:claim.\n";

struct task_args {
    const char *url;
    struct remote_filter filter;
};

static void task_line(struct cli *c, struct str row) {
    printf("%-38.*s %-9.*s ", STR_ARG(cli_member(c, row, "taskId")),
           STR_ARG(cli_member(c, row, "state")));
    printf("%-24.*s %-32.*s ", STR_ARG(cli_member(c, row, "typeId")),
           STR_ARG(cli_member(c, row, "runId")));
    printf("%-25.*s " STR_FMT "\n", STR_ARG(cli_member(c, row, "readyAt")),
           STR_ARG(cli_member(c, row, "worker")));
}

static int tasks_list(struct cli *c, const struct task_args *in) {
    static const struct remote_list LIST = {
        .path = "/v1/host/wopr/tasks",
        .rows = "tasks",
        .next = "nextCursor",
        .cursor = "cursor",
        .head = "TASK                                   STATE     TYPE                     "
                "RUN                              READY                     WORKER",
        .line = task_line};
    return remote_list(c, in->url, &LIST, &in->filter);
}

static void type_line(struct cli *c, struct str row) {
    struct str tasks = json_get(row, "tasks");
    printf("%-32.*s %8.*s ", STR_ARG(cli_member(c, row, "typeId")),
           STR_ARG(cli_member(c, row, "revision")));
    printf("%7.*s %7.*s ", STR_ARG(cli_member(c, tasks, "ready")),
           STR_ARG(cli_member(c, tasks, "leased")));
    printf(STR_FMT "\n", STR_ARG(cli_member(c, tasks, "oldestReadyAt")));
}

static int types_list(struct cli *c, const struct task_args *in) {
    static const struct remote_list LIST = {
        .path = "/v1/host/wopr/worker-types",
        .rows = "workerTypes",
        .next = "nextAfter",
        .cursor = "after",
        .head = "TYPE                             REVISION   READY  LEASED OLDEST READY",
        .line = type_line};
    return remote_list(c, in->url, &LIST, &in->filter);
}

static int task_show(struct cli *c, const struct task_args *in) {
    struct cli_remote r;
    struct str answer;
    struct buf path;
    int rc = cli_remote(c, in->url, &r);
    if (rc != 0) return rc;
    buf_init(&path, PATH_MAX_BYTES);
    buf_addz(&path, "/v1/host/wopr/tasks/");
    percent_encode(&path, str_c(c->argv[1]));
    rc = buf_failed(&path) ? cli_usage("wopr: the id is too long\n")
                           : cli_ask(c, &r, "GET", buf_str(&path), STR_NONE, &answer);
    buf_fini(&path);
    if (rc == 0) printf(STR_FMT "\n", STR_ARG(answer));
    return rc;
}

static const struct { /* args: positional arguments with the verb */
    const char *verb;
    int args;
    int (*run)(struct cli *c, const struct task_args *in);
} VERBS[] = {{"list", 1, tasks_list}, {"show", 2, task_show}, {"types", 1, types_list}};
enum { VERBS_NR = sizeof VERBS / sizeof *VERBS };

static int args_take(struct cli *c, struct task_args *in) {
    const char *limit = cli_take_value(c, "--limit");
    uint64_t rows = LIST_ROWS;
    if (limit != NULL && (!str_u64(str_c(limit), &rows) || rows == 0 || rows > CLI_ROWS_MAX))
        return cli_usage("wopr: --limit must be 1..10000\n");
    *in = (struct task_args){.url = cli_take_url(c), .filter.max = (unsigned)rows};
    in->filter.json = cli_take_flag(c, "--json");
    in->filter.v[0].name = "type";
    in->filter.v[0].value = cli_take_value(c, "--type");
    in->filter.v[1].name = "status";
    in->filter.v[1].value = cli_take_value(c, "--status");
    return 0;
}

int cmd_tasks(struct cli *c) {
    const char *names[VERBS_NR + 1] = {NULL};
    struct task_args in;
    if (cli_help(c, USAGE)) return 0;
    int rc = args_take(c, &in);
    if (rc == 0) rc = cli_config(c);
    if (rc != 0) return rc;
    for (int i = 0; i < VERBS_NR; i++) {
        names[i] = VERBS[i].verb;
        if (c->argc == VERBS[i].args && strcmp(c->argv[0], VERBS[i].verb) == 0)
            return VERBS[i].run(c, &in);
    }
    return cli_verb(c, names);
}
