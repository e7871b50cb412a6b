/* cmd_tokens.c: wopr tokens rotate|list|revoke: the signing secrets of interrupt tokens (INT-36).
 * Changes the database file; a running host reads it for each token. */
#include "cli/verbs.h"

#include <stdio.h>

static const char USAGE[] =
    "usage: wopr tokens rotate        new tokens are signed with a new secret; old ones stay "
    "valid\n"
    "       wopr tokens list [--json]   key ids, never secrets\n"
    "       wopr tokens revoke KID    tokens signed with this (rotated) secret stop working now\n";

static int secret_rotate(struct cli *c, struct store *s, const void *args) {
    (void)args;
    struct wopr_error err = {0};
    struct token_secret t;
    if (token_secret_rotate(s, c->arena, &t, &err) != 0) return cli_fail(&err);
    printf(STR_FMT "\n", STR_ARG(t.kid));
    fputs("new interrupt tokens are signed with this key id; tokens of older secrets work until "
          "they expire\n",
          stderr);
    return 0;
}

static void row_json(const struct token_secret *t, struct buf *b) {
    struct jw w;
    char at[CLI_TIME_SIZE];
    jw_init(&w, b);
    jw_object(&w);
    jw_kstr(&w, "kid", t->kid);
    jw_kstrz(&w, "state", t->retired_ms > 0 ? "verifies" : "signs");
    jw_kstrz(&w, "createdAt", cli_time(t->created_ms, at));
    if (t->retired_ms > 0) jw_kstrz(&w, "retiredAt", cli_time(t->retired_ms, at));
    jw_end_object(&w);
    buf_addc(b, '\n');
}

static void row_text(const struct token_secret *t, struct buf *b) {
    char at[CLI_TIME_SIZE];
    buf_addf(b, "%-28.*s %-9s %-25s ", STR_ARG(t->kid), t->retired_ms > 0 ? "verifies" : "signs",
             cli_time(t->created_ms, at));
    buf_addf(b, "%s\n", cli_time(t->retired_ms, at));
}

static int secrets_list(struct cli *c, struct store *s, const void *args) {
    bool json = *(const bool *)args;
    struct wopr_error err = {0};
    struct token_secret_list all;
    struct buf b;
    if (store_token_secret_list(s, c->arena, &all, &err) != 0) return cli_fail(&err);
    buf_init(&b, CLI_OUT_BYTES_MAX);
    if (!json) buf_addf(&b, "%-28s %-9s %-25s %s\n", "KEY ID", "STATE", "CREATED", "RETIRED");
    for (size_t i = 0; i < all.n; i++) {
        if (json) row_json(&all.v[i], &b);
        else row_text(&all.v[i], &b);
    }
    cli_print(&b);
    buf_fini(&b);
    return 0;
}

static int secret_revoke(struct cli *c, struct store *s, const void *args) {
    const char *kid = c->argv[1];
    (void)args;
    struct wopr_error err = {0};
    if (store_token_secret_delete(s, str_c(kid), &err) != 0) return cli_fail(&err);
    printf("revoked %s\n", kid);
    return 0;
}

int cmd_tokens(struct cli *c) {
    static const struct cli_verb VERBS[] = {
        {"rotate", .on_file = secret_rotate, .file = VERB_WRITES},
        {"list", .on_file = secrets_list},
        {"revoke", 1, 1, .on_file = secret_revoke, .file = VERB_WRITES}};
    if (cli_help(c, USAGE)) return 0;
    bool json = cli_take_flag(c, "--json");
    int rc = cli_config(c);
    return rc == 0 ? cli_verbs(c, VERBS, sizeof VERBS / sizeof *VERBS, NULL, &json) : rc;
}
