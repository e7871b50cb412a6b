/* cmd_audit.c: wopr audit: the entries of the audit log, out of the database file. */
#include "cli/cli.h"
#include "store/audit.h"

#include <stdio.h>

enum { PAGE_ROWS = 500, PAGE_ARENA_MAX = 64 * 1024 * 1024 };

static const char USAGE[] =
    "usage: wopr audit [--from SEQUENCE]    one JSON entry per line, as it was written\n"
    "wopr verify --audit says whether the log is whole.  A host keeps one with --audit-log.\n";

static int entries_print(struct store *s, int64_t from, struct arena *a, struct wopr_error *err) {
    struct audit_rows l = {.n = 1};
    struct buf b;
    int rc = 0;
    buf_init(&b, PAGE_ARENA_MAX);
    while (rc == 0 && l.n > 0 && !ferror(stdout)) {
        arena_reset(a);
        rc = store_audit_entries(s, from, PAGE_ROWS, a, &l, err);
        for (size_t i = 0; rc == 0 && i < l.n; i++) {
            buf_adds(&b, l.v[i].entry);
            buf_addc(&b, '\n');
            from = l.v[i].seq + 1;
        }
        cli_print(&b);
    }
    buf_fini(&b);
    return rc;
}

int cmd_audit(struct cli *c) {
    struct wopr_error err = {0};
    struct store *s = NULL;
    uint64_t from = 0;
    if (cli_help(c, USAGE)) return 0;
    const char *given = cli_take_value(c, "--from");
    int rc = cli_config(c);
    if (rc != 0) return rc;
    if (c->argc > 0) return cli_usage(USAGE);
    if (given != NULL && (!str_u64(str_c(given), &from) || from > INT64_MAX))
        return cli_usage("wopr: --from must be a sequence number\n");
    rc = cli_store(c, true, &s);
    if (rc != 0) return rc;
    struct arena *a = arena_new(PAGE_ARENA_MAX);
    rc = a ? entries_print(s, (int64_t)from, a, &err)
           : wopr_error_set(&err, WOPR_E_NO_MEMORY, "out of memory");
    arena_free(a);
    store_close(s);
    return rc == 0 ? 0 : cli_fail(&err);
}
