/* cmd_tasks.c: wopr tasks list|show|types: what waits for workers at a running host, and who has it
 * (WRK-26). */
#include "cli/verbs.h"
#include "codec/json.h"

#include <stdio.h>

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

static int tasks_list(struct cli *c, const void *args) {
    const struct task_args *in = args;
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

static int types_list(struct cli *c, const void *args) {
    const struct task_args *in = args;
    static const struct remote_list LIST = {
        .path = "/v1/host/wopr/worker-types",
        .rows = "workerTypes",
        .next = "nextAfter",
        .cursor = "after",
        .head = "TYPE                             REVISION   READY  LEASED OLDEST READY",
        .line = type_line};
    return remote_list(c, in->url, &LIST, &in->filter);
}

static int task_show(struct cli *c, const void *args) {
    const struct task_args *in = args;
    struct str answer;
    int rc =
        cli_ask_at(c, in->url, "GET", cli_path(c, "/v1/host/wopr/tasks/", str_c(c->argv[1]), ""),
                   STR_NONE, &answer);
    if (rc == 0) printf(STR_FMT "\n", STR_ARG(answer));
    return rc;
}

int cmd_tasks(struct cli *c) {
    static const struct cli_verb VERBS[] = {{"list", .on_host = tasks_list},
                                            {"show", 1, 1, .on_host = task_show},
                                            {"types", .on_host = types_list}};
    struct task_args in;
    if (cli_help(c, USAGE)) return 0;
    const char *limit = cli_take_value(c, "--limit");
    in = (struct task_args){.url = cli_take_url(c), .filter.json = cli_take_flag(c, "--json")};
    in.filter.v[0].name = "type";
    in.filter.v[0].value = cli_take_value(c, "--type");
    in.filter.v[1].name = "status";
    in.filter.v[1].value = cli_take_value(c, "--status");
    if (!cli_limit(limit, LIST_ROWS, &in.filter.max)) return 2;
    int rc = cli_config(c);
    return rc == 0 ? cli_verbs(c, VERBS, sizeof VERBS / sizeof *VERBS, in.url, &in) : rc;
}
