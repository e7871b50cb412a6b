/* cli.c: what the commands share; see cli.h. */
#include "cli/cli.h"

#include "base/fs.h"
#include "codec/ident.h"
#include "store/sqlite/sqlite.h"

#include <stdio.h>
#include <stdlib.h>

#define OUT_BYTES_MAX   (512u * 1024 * 1024)
#define BUSY_TIMEOUT_MS 5000 /* wait for a host that is writing */

static void drop_args(struct cli *c, int at, int n) {
    for (int i = at; i + n < c->argc; i++) c->argv[i] = c->argv[i + n];
    c->argc -= n;
}

bool cli_take_flag(struct cli *c, const char *name) {
    for (int i = 0; i < c->argc; i++) {
        if (strcmp(c->argv[i], name) != 0) continue;
        drop_args(c, i, 1);
        return true;
    }
    return false;
}

const char *cli_take_value(struct cli *c, const char *name) {
    size_t n = strlen(name);
    for (int i = 0; i < c->argc; i++) {
        const char *arg = c->argv[i];
        if (strncmp(arg, name, n) != 0) continue;
        if (arg[n] == '=') {
            drop_args(c, i, 1);
            return arg + n + 1;
        }
        if (arg[n] == '\0' && i + 1 < c->argc && strncmp(c->argv[i + 1], "--", 2) != 0) {
            const char *v = c->argv[i + 1];
            drop_args(c, i, 2);
            return v;
        }
    }
    return NULL;
}

static void put_escaped(FILE *to, struct str s, bool lines) {
    struct buf b;
    buf_init(&b, OUT_BYTES_MAX);
    text_escape(&b, s, lines);
    struct str out = buf_str(&b);
    fwrite(out.p, 1, out.n, to);
    buf_fini(&b);
}

int cli_fail(const struct wopr_error *err) {
    fputs("wopr: ", stderr);
    put_escaped(stderr, str_c(err->message), false);
    if (err->pointer[0] != '\0' && strstr(err->message, err->pointer) == NULL) {
        fputs(" (at ", stderr);
        put_escaped(stderr, str_c(err->pointer), false);
        fputc(')', stderr);
    }
    fputc('\n', stderr);
    return 1;
}

/* The settings of a package's service count for its commands too, unless others are named.  An
 * empty WOPR_CONFIG names none. */
static void use_default_file(void) {
    if (WOPR_CONFIG_DEFAULT[0] != '\0' && fs_exists(WOPR_CONFIG_DEFAULT))
        (void)setenv("WOPR_CONFIG", WOPR_CONFIG_DEFAULT, 0);
}

int cli_config(struct cli *c) {
    struct wopr_error err = {0};
    if (cli_options(c) != 0) return 2;
    use_default_file();
    int rc = config_load(&c->cfg, &c->argc, c->argv, c->arena, &err);
    if (rc == 0) rc = config_check(&c->cfg, &err);
    if (rc == 0 && c->cfg.secret_in_arguments)
        fputs("wopr: warning: every user of this machine can read a key on a command line; use "
              "--api-key-file FILE or OPENWOP_API_KEY\n",
              stderr);
    if (rc == 0) return 0;
    cli_fail(&err);
    return 2;
}

int cli_store(struct cli *c, bool read_only, struct store **out) {
    struct wopr_error err = {0};
    struct store_config sc = {
        .path = c->cfg.store_path, .busy_timeout_ms = BUSY_TIMEOUT_MS, .read_only = read_only};
    if (read_only && !fs_exists(c->cfg.store_path)) {
        fprintf(stderr,
                "wopr: there is no database %s; start a host on it first (wopr serve), or "
                "name another with --db FILE\n",
                c->cfg.store_path);
        return 1;
    }
    int rc = store_open(&sc, out, &err);
    return rc == 0 ? 0 : cli_fail(&err);
}

void cli_print(struct buf *b) {
    put_escaped(stdout, buf_str(b), true);
    fflush(stdout);
    buf_reset(b);
}

void cli_rows(struct cli *c, const char *head, size_t n,
              void (*row)(struct cli *c, const void *rows, size_t i, struct buf *b),
              const void *rows) {
    struct buf b;
    buf_init(&b, OUT_BYTES_MAX);
    if (head != NULL) buf_addz(&b, head);
    for (size_t i = 0; i < n; i++) row(c, rows, i, &b);
    cli_print(&b);
    buf_fini(&b);
}

int cli_run_head(struct cli *c, struct store *s, const char *run_id, struct run_head *head,
                 bool *test, struct wopr_error *err) {
    struct str tenant = str_c(c->cfg.host_tenant), id = str_c(run_id);
    *test = false;
    int rc = store_run_head(s, tenant, false, id, c->arena, head, err);
    if (rc == WOPR_E_NOT_FOUND) {
        *test = true;
        rc = store_run_head(s, tenant, true, id, c->arena, head, err);
    }
    if (rc != WOPR_E_NOT_FOUND) return rc;
    return wopr_error_set(err, rc, "database %s has no run %s in tenant %s", c->cfg.store_path,
                          run_id, c->cfg.host_tenant);
}

const char *cli_time(int64_t ms, char out[CLI_TIME_SIZE]) {
    out[0] = '-';
    out[1] = '\0';
    if (ms > 0) time_format(ms, out);
    return out;
}

void cli_age(int64_t ms, char out[CLI_AGE_SIZE]) {
    static const struct {
        int64_t ms;
        char unit;
    } UNITS[] = {{86400000, 'd'}, {3600000, 'h'}, {60000, 'm'}, {1000, 's'}};
    size_t i = 0;
    while (i < 3 && ms < UNITS[i].ms) i++;
    snprintf(out, CLI_AGE_SIZE, "%lld%c", (long long)(ms > 0 ? ms / UNITS[i].ms : 0),
             UNITS[i].unit);
}
