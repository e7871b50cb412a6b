/*
 * commands.h: what commands and options there are, for main.c, --help and completion.  Layer: cli.
 */
#ifndef WOPR_CLI_COMMANDS_H
#define WOPR_CLI_COMMANDS_H

#include "cli/cli.h"

struct cli_command {
    const char *name;
    int (*run)(struct cli *c);
    const char *help;
};
extern const struct cli_command CLI_COMMANDS[];
extern const size_t CLI_COMMANDS_NR; /* for main.c; a command finds them in struct cli */

struct cli_option { /* the columns of options.def */
    const char *command, *verbs, *name, *value, *help;
};
extern const struct cli_option CLI_OPTIONS[];
extern const size_t CLI_OPTIONS_NR;
/* Is it an option of "wopr COMMAND VERB"?  An empty verb: of any of them. */
bool cli_option_fits(const struct cli_option *o, const char *command, struct str verb);

#endif
