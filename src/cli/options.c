/* options.c: the table of options that belong to commands. */
#include "cli/commands.h"

const struct cli_option CLI_OPTIONS[] = {
#define OPTION(command, verbs, name, value, help) {command, verbs, name, value, help},
#include "cli/options.def"
};
const size_t CLI_OPTIONS_NR = sizeof CLI_OPTIONS / sizeof *CLI_OPTIONS;

bool cli_option_fits(const struct cli_option *o, const char *command, struct str verb) {
    struct str rest = str_c(o->verbs), one;
    if (strcmp(o->command, command) != 0) return false;
    if (rest.n == 0 || verb.n == 0) return true;
    while (str_cut(rest, ' ', &one, &rest))
        if (str_eq(one, verb)) return true;
    return str_eq(rest, verb);
}
