/* cmd_seal.c: wopr seal rotate|list: the keys of sensitive values (OBS-71).  Changes the database
 * and the key file; running hosts keep working with the keys they have read. */
#include "cli/verbs.h"
#include "host/seal_file.h"

#include <stdio.h>

static const char USAGE[] =
    "usage: wopr seal rotate      a new key file and a new data key; what is sealed stays "
    "readable\n"
    "       wopr seal list        data keys, and the id of the key file that opens them\n";

static int keys_rotate(struct cli *c, struct store *s, const void *args) {
    (void)args;
    struct wopr_error err = {0};
    char id[VAULT_KEK_ID_LEN + 1];
    if (seal_rotate(&c->cfg, s, id, &err) != 0) return cli_fail(&err);
    printf("%s\n", id);
    fputs("the key file has a new key, and copies of the old one open nothing any more; restart"
          " hosts that run,\nthen they seal with the new data key\n",
          stderr);
    return 0;
}

static int keys_list(struct cli *c, struct store *s, const void *args) {
    (void)args;
    struct wopr_error err = {0};
    struct seal_key_list all;
    struct buf b;
    char at[32];
    if (store_seal_keys(s, c->arena, &all, &err) != 0) return cli_fail(&err);
    buf_init(&b, 1024 * 1024);
    buf_addf(&b, "%-10s %-9s %-18s %s\n", "DATA KEY", "STATE", "KEY FILE", "CREATED");
    for (size_t i = 0; i < all.n; i++)
        buf_addf(&b, "%-10lld %-9s %-18.*s %s\n", (long long)all.v[i].key_no,
                 all.v[i].retired_ms > 0 ? "opens" : "seals", STR_ARG(all.v[i].kek),
                 cli_time(all.v[i].created_ms, at));
    cli_print(&b);
    buf_fini(&b);
    return 0;
}

int cmd_seal(struct cli *c) {
    static const struct cli_verb VERBS[] = {{"rotate", .on_file = keys_rotate, .file = VERB_WRITES},
                                            {"list", .on_file = keys_list}};
    if (cli_help(c, USAGE)) return 0;
    int rc = cli_config(c);
    return rc == 0 ? cli_verbs(c, VERBS, sizeof VERBS / sizeof *VERBS, NULL, NULL) : rc;
}
