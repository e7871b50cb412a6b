/* help.c: usage texts, the version, and suggestions for misspelt names. */
#include "base/near.h"
#include "cli/commands.h"

#include <stdio.h>

#define OPTION_COLUMNS 24 /* of --help, before what an option does */

int cli_usage(const char *text) {
    fputs(text, stderr);
    return 2;
}

static bool is_help(const char *arg) {
    return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

void cli_options_print(const char *command, FILE *to) {
    bool any = false;
    for (size_t i = 0; i < CLI_OPTIONS_NR; i++) {
        const struct cli_option *o = &CLI_OPTIONS[i];
        if (strcmp(o->command, command) != 0) continue;
        if (!any) fputs("options:\n", to);
        any = true;
        int used = fprintf(to, "  --%s%s%s", o->name, o->value[0] != '\0' ? " " : "", o->value);
        fprintf(to, "%*s %s%s%s%s\n", used > 0 && used < OPTION_COLUMNS ? OPTION_COLUMNS - used : 0,
                "", o->help, o->verbs[0] != '\0' ? " (" : "", o->verbs,
                o->verbs[0] != '\0' ? ")" : "");
    }
}

bool cli_help(struct cli *c, const char *usage) {
    c->usage = usage;
    if (c->asks_usage) return true;
    for (int i = 0; i < c->argc; i++) {
        if (!is_help(c->argv[i])) continue;
        fputs(usage, stdout);
        cli_options_print(c->name, stdout);
        fputs("The settings of \"wopr serve --help\" are options too; most need only --db FILE.\n",
              stdout);
        return true;
    }
    return false;
}

static bool of_option(char c) { return c == '-' || (c >= 'a' && c <= 'z'); }

/* Every "--option" of a usage text. */
static void try_usage(struct near *n, const char *usage) {
    for (const char *p = usage; (p = strstr(p, "--")) != NULL;) {
        size_t len = 0;
        p += 2;
        while (of_option(p[len])) len++;
        near_try(n, str_n(p, len));
        p += len;
    }
}

int cli_options(struct cli *c) {
    char hint[NEAR_HINT];
    for (int i = 0; i < c->argc; i++) {
        const char *arg = c->argv[i];
        if (strncmp(arg, "--", 2) != 0 || arg[2] == '\0') continue;
        struct str name = str_n(arg + 2, strcspn(arg + 2, "="));
        if (config_knows(name)) {
            if (arg[2 + name.n] == '\0' && config_takes_value(name)) i++;
            continue;
        }
        struct near n;
        near_init(&n, name);
        config_names(&n);
        if (c->usage != NULL) try_usage(&n, c->usage);
        if (near_best(&n).n > 0)
            (void)snprintf(hint, sizeof hint, "; did you mean --" STR_FMT "?",
                           STR_ARG(near_best(&n)));
        else hint[0] = '\0';
        if (str_eq(near_best(&n), name)) { /* of this command, whose value was not there to take */
            fprintf(stderr, "wopr: --" STR_FMT " needs a value; see wopr %s --help\n",
                    STR_ARG(cli_text(c, name)), c->name);
            return 2;
        }
        fprintf(stderr, "wopr: unknown option --" STR_FMT "%s See wopr %s --help\n",
                STR_ARG(cli_text(c, name)), hint[0] != '\0' ? hint : ";", c->name);
        return 2;
    }
    return 0;
}

int cmd_version(struct cli *c) {
    if (c != NULL && cli_help(c, "usage: wopr version\n")) return 0;
    printf("wopr %s\n", WOPR_VERSION);
    return 0;
}
