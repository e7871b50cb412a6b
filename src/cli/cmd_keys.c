/* cmd_keys.c: wopr keys create|list|revoke. */
#include "base/clock.h"
#include "cli/cli.h"
#include "http/http.h"

#include <stdio.h>

static const char USAGE[] = "usage: wopr keys create [--scopes LIST|all] [--label TEXT] [--test] "
                            "[--expires-days N] [--tenant T]\n"
                            "       wopr keys list\n"
                            "       wopr keys revoke KEY_ID\n";

struct create_args {
    const char *scopes, *label, *days;
    bool test;
};

static int create_args_check(const struct create_args *in, unsigned *scopes, int64_t *expires_ms) {
    struct str bad = STR_NONE;
    uint64_t days = 0;
    if (!scopes_parse(str_c(in->scopes != NULL ? in->scopes : "all"), scopes, &bad) ||
        *scopes == 0) {
        fprintf(stderr, "wopr: unknown scope in --scopes; the scopes are:");
        for (unsigned i = 0; i < SCOPE_NR; i++) fprintf(stderr, " %s", scope_name(i));
        fputc('\n', stderr);
        return 2;
    }
    if (in->days != NULL && (!str_u64(str_c(in->days), &days) || days == 0 || days > 36500))
        return cli_usage("wopr: --expires-days must be 1..36500\n");
    *expires_ms = days == 0 ? 0 : clock_wall_ms() + (int64_t)days * 86400000;
    return 0;
}

static int create(struct cli *c, struct store *s, const struct create_args *in) {
    struct wopr_error err = {0};
    struct api_key row;
    struct str text;
    unsigned scopes = 0;
    int64_t expires_ms = 0;
    int rc = create_args_check(in, &scopes, &expires_ms);
    if (rc != 0) return rc;
    rc =
        key_mint(s, str_c(c->cfg.tenant), STR("default"), str_c(in->label != NULL ? in->label : ""),
                 scopes, in->test, expires_ms, c->arena, &text, &row, &err);
    if (rc == 0) rc = store_key_put(s, &row, &err);
    if (rc != 0) return cli_fail(&err);
    printf(STR_FMT "\n", STR_ARG(text));
    fprintf(stderr,
            "key id " STR_FMT
            ", tenant %s; the key itself is not stored and cannot be shown again\n",
            STR_ARG(row.key_id), c->cfg.tenant);
    return 0;
}

static const char *state_of(const struct api_key *k, int64_t now_ms) {
    if (k->revoked_ms > 0) return "revoked";
    return k->expires_ms > 0 && k->expires_ms <= now_ms ? "expired" : "active";
}

static int list(struct cli *c, struct store *s) {
    struct wopr_error err = {0};
    struct api_key_list all;
    struct buf b;
    int rc = store_key_list(s, c->arena, &all, &err);
    if (rc != 0) return cli_fail(&err);
    buf_init(&b, 64 * 1024 * 1024);
    buf_addf(&b, "%-28s %-8s %-5s %-12s %-25s %s\n", "KEY ID", "STATE", "MODE", "TENANT", "EXPIRES",
             "SCOPES");
    for (size_t i = 0; i < all.n; i++) {
        const struct api_key *k = &all.v[i];
        char t[32];
        buf_addf(&b, "%-28.*s %-8s %-5s %-12.*s %-25s ", STR_ARG(k->key_id),
                 state_of(k, clock_wall_ms()), k->test_mode ? "test" : "live", STR_ARG(k->tenant),
                 cli_time(k->expires_ms, t));
        scopes_format(k->scopes, &b);
        buf_addc(&b, '\n');
    }
    cli_print(&b);
    buf_fini(&b);
    return 0;
}

static int revoke(struct store *s, const char *key_id) {
    struct wopr_error err = {0};
    int rc = store_key_revoke(s, str_c(key_id), clock_wall_ms(), &err);
    if (rc != 0) return cli_fail(&err);
    printf("revoked %s\n", key_id);
    return 0;
}

int cmd_keys(struct cli *c) {
    struct create_args in = {.scopes = cli_take_value(c, "--scopes"),
                             .label = cli_take_value(c, "--label"),
                             .days = cli_take_value(c, "--expires-days"),
                             .test = cli_take_flag(c, "--test")};
    struct store *s = NULL;
    int rc = cli_config(c);
    if (rc != 0) return rc;
    const char *verb = c->argc > 0 ? c->argv[0] : "";
    bool is_create = strcmp(verb, "create") == 0 && c->argc == 1;
    bool is_list = strcmp(verb, "list") == 0 && c->argc == 1;
    bool is_revoke = strcmp(verb, "revoke") == 0 && c->argc == 2;
    if (!is_create && !is_list && !is_revoke) return cli_usage(USAGE);
    rc = cli_store(c, is_list, &s);
    if (rc != 0) return rc;
    if (is_create) rc = create(c, s, &in);
    if (is_list) rc = list(c, s);
    if (is_revoke) rc = revoke(s, c->argv[1]);
    store_close(s);
    return rc;
}
