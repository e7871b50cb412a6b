/* verbs.c: commands that have verbs: which one the arguments name, and what it runs on. */
#include "cli/verbs.h"
#include "base/near.h"

/* The arguments of a verb that there is are wrong, or there is no such verb. */
static int verb_refuse(struct cli *c, const struct cli_verb *verbs, size_t n) {
    char hint[NEAR_HINT];
    struct near known;
    if (c->argc == 0) return cli_usage(c->usage);
    near_init(&known, str_c(c->argv[0]));
    for (size_t i = 0; i < n; i++) {
        if (strcmp(verbs[i].name, c->argv[0]) == 0) return cli_usage(c->usage);
        near_try(&known, str_c(verbs[i].name));
    }
    fprintf(stderr, "wopr: there is no \"wopr %s " STR_FMT "\"%s\n", c->name,
            STR_ARG(cli_text(c, str_c(c->argv[0]))), near_hint(&known, hint));
    return cli_usage(c->usage);
}

static bool verb_fits(const struct cli *c, const struct cli_verb *v) {
    return c->argc > v->args_min && c->argc - 1 <= v->args_max && strcmp(c->argv[0], v->name) == 0;
}

int cli_verbs(struct cli *c, const struct cli_verb *verbs, size_t n, const char *url,
              const void *args) {
    const struct cli_verb *v = verbs;
    struct store *s = NULL;
    while (v < verbs + n && !verb_fits(c, v)) v++;
    if (v == verbs + n) return verb_refuse(c, verbs, n);
    if (v->on_host != NULL && (v->on_file == NULL || url != NULL)) return v->on_host(c, args);
    if (v->file == VERB_NO_FILE) return v->on_file(c, NULL, args);
    int rc = cli_store(c, v->file == VERB_READS, &s);
    if (rc != 0) return rc;
    rc = v->on_file(c, s, args);
    store_close(s);
    return rc;
}

bool cli_limit(const char *text, unsigned otherwise, unsigned *rows) {
    uint64_t n = otherwise;
    bool good = text == NULL || (str_u64(str_c(text), &n) && n > 0 && n <= CLI_ROWS_MAX);
    if (good) *rows = (unsigned)n;
    else (void)cli_usage("wopr: --limit must be 1..10000\n");
    return good;
}
