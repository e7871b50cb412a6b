/*
 * verbs.h: a command of verbs is a table of them.  Layer: cli.
 */
#ifndef WOPR_CLI_VERBS_H
#define WOPR_CLI_VERBS_H

#include "cli/cli.h"

#include <limits.h>

enum verb_file { VERB_READS, VERB_WRITES, VERB_NO_FILE };
enum { VERB_ANY_ARGS = INT_MAX };
/* args: what the command took of the options.  Each function returns the exit status. */
struct cli_verb {
    const char *name;
    int args_min, args_max;                          /* after the verb */
    int (*on_host)(struct cli *c, const void *args); /* over HTTP; NULL: only on the file */
    int (*on_file)(struct cli *c, struct store *s, const void *args); /* NULL: only on a host */
    enum verb_file file; /* how on_file has the store: NO_FILE: not at all */
};
/* Carry out the verb that argv names: with both functions on_host when there is an address.  After
 * cli_config().  Reports what is wrong with the arguments. */
int cli_verbs(struct cli *c, const struct cli_verb *verbs, size_t n, const char *url,
              const void *args);
/* The value of --limit, which may be NULL.  false: refused, with a message. */
bool cli_limit(const char *text, unsigned otherwise, unsigned *rows);

#endif
