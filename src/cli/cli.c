/* cli.c: what the commands share; see cli.h. */
#include "cli/cli.h"

#include "codec/ident.h"

#include <stdio.h>

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
        if (arg[n] == '\0' && i + 1 < c->argc) {
            const char *v = c->argv[i + 1];
            drop_args(c, i, 2);
            return v;
        }
    }
    return NULL;
}

int cli_fail(const struct wopr_error *err) {
    fprintf(stderr, "wopr: %s", err->message);
    if (err->pointer[0] != '\0') fprintf(stderr, " (at %s)", err->pointer);
    fputc('\n', stderr);
    return 1;
}

int cli_usage(const char *text) {
    fputs(text, stderr);
    return 2;
}

int cli_config(struct cli *c) {
    struct wopr_error err = {0};
    int rc = config_load(&c->cfg, &c->argc, c->argv, c->arena, &err);
    if (rc == 0) rc = config_check(&c->cfg, &err);
    if (rc == 0) return 0;
    cli_fail(&err);
    return 2;
}

int cli_store(struct cli *c, bool read_only, struct store **out) {
    struct wopr_error err = {0};
    struct store_config sc = {.path = c->cfg.db, .busy_timeout_ms = 5000, .read_only = read_only};
    int rc = store_open(&sc, out, &err);
    return rc == 0 ? 0 : cli_fail(&err);
}

void cli_print(struct buf *b) {
    struct str s = buf_str(b);
    fwrite(s.p, 1, s.n, stdout);
    fflush(stdout);
    buf_reset(b);
}

const char *cli_time(int64_t ms, char out[32]) {
    out[0] = '-';
    out[1] = '\0';
    if (ms > 0) time_format(ms, out);
    return out;
}
