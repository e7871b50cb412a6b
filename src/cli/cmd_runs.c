/* cmd_runs.c: wopr runs list|show. */
#include "base/clock.h"
#include "cli/cli.h"
#include "wire/v1/v1.h"

#include <stdio.h>

static const char USAGE[] =
    "usage: wopr runs list [--status S] [--workflow ID] [--tag T] [--limit N] [--test]\n"
    "       wopr runs show RUN_ID [--test]\n";

static int status_of(const char *name) {
    for (int i = 0; i < RUN_STATUS_NR; i++)
        if (strcmp(name, run_status_name((enum run_status)i)) == 0) return i;
    return -1;
}

static int list(struct cli *c, struct store *s, const struct run_filter *f) {
    struct wopr_error err = {0};
    struct run_list all;
    int rc = store_run_list(s, f, c->arena, &all, &err);
    if (rc != 0) return cli_fail(&err);
    printf("%-32s %-17s %-32s %-25s %s\n", "RUN", "STATUS", "WORKFLOW", "CREATED", "EVENTS");
    for (size_t i = 0; i < all.n; i++) {
        const struct run_list_item *r = &all.v[i];
        char t[32];
        printf("%-32.*s %-17s %-32.*s %-25s %lld%s\n", STR_ARG(r->head.run_id),
               run_status_name(r->head.status), STR_ARG(r->workflow_id), cli_time(r->created_ms, t),
               (long long)r->head.next_seq, r->head.parked.n > 0 ? " PARKED" : "");
    }
    return 0;
}

static int show(struct cli *c, struct store *s, const char *run_id, bool test) {
    struct wopr_error err = {0};
    struct run_view v;
    struct buf b;
    buf_init(&b, 64 * 1024 * 1024);
    int rc = store_run_view(s, str_c(c->cfg.tenant), test, str_c(run_id), c->arena, &v, &err);
    if (rc == 0) rc = v1_snapshot_render(&v, -1, clock_wall_ms(), &b, &err);
    if (rc == 0) {
        buf_addc(&b, '\n');
        cli_print(&b);
    }
    buf_fini(&b);
    return rc == 0 ? 0 : cli_fail(&err);
}

int cmd_runs(struct cli *c) {
    const char *status = cli_take_value(c, "--status"), *limit = cli_take_value(c, "--limit");
    const char *workflow = cli_take_value(c, "--workflow"), *tag = cli_take_value(c, "--tag");
    bool test = cli_take_flag(c, "--test");
    uint64_t max = 50;
    struct store *s = NULL;
    int rc = cli_config(c);
    if (rc != 0) return rc;
    bool is_list = c->argc == 1 && strcmp(c->argv[0], "list") == 0;
    bool is_show = c->argc == 2 && strcmp(c->argv[0], "show") == 0;
    if (!is_list && !is_show) return cli_usage(USAGE);
    if (limit != NULL && (!str_u64(str_c(limit), &max) || max == 0 || max > 100000))
        return cli_usage("wopr: --limit must be 1..100000\n");
    if (status != NULL && status_of(status) < 0)
        return cli_usage("wopr: --status is no run status\n");
    struct run_filter f = {.tenant = str_c(c->cfg.tenant),
                           .test_mode = test,
                           .any_mode = !test,
                           .status = status != NULL ? status_of(status) : -1,
                           .workflow_id = str_c(workflow),
                           .tag = str_c(tag),
                           .max = (unsigned)max};
    rc = cli_store(c, true, &s);
    if (rc != 0) return rc;
    rc = is_list ? list(c, s, &f) : show(c, s, c->argv[1], test);
    store_close(s);
    return rc;
}
