/* cmd_verify.c: wopr verify. */
#include "cli/cli.h"

#include <stdio.h>

static const char USAGE[] =
    "usage: wopr verify [--db FILE]    reads the whole file; a host may run\n";

static void print_line(void *ctx, const char *line) {
    struct cli *c = ctx;
    printf(STR_FMT "\n", STR_ARG(cli_text(c, str_c(line))));
}

int cmd_verify(struct cli *c) {
    struct wopr_error err = {0};
    struct store *s = NULL;
    int64_t runs = 0, findings = 0;
    if (cli_help(c, USAGE)) return 0;
    int rc = cli_config(c);
    if (rc != 0) return rc;
    if (c->argc > 0) return cli_usage(USAGE);
    rc = cli_store(c, true, &s);
    if (rc != 0) return rc;
    rc = host_verify(s, print_line, c, &runs, &findings, &err);
    store_close(s);
    if (rc != 0) return cli_fail(&err);
    printf("%lld runs checked, %lld findings\n", (long long)runs, (long long)findings);
    return findings == 0 ? 0 : 1;
}
