/* main.c: picks the command. */
#include "base/near.h"
#include "cli/commands.h"
#include "sandbox/worker/worker.h"

#include <signal.h>
#include <stdio.h>

#define CLI_ARENA_MAX (256u * 1024 * 1024)

static int commands_help(FILE *to) {
    fputs("usage: wopr COMMAND [OPTIONS]\n\n", to);
    for (size_t i = 0; i < CLI_COMMANDS_NR; i++)
        fprintf(to, "  %-10s %s\n", CLI_COMMANDS[i].name, CLI_COMMANDS[i].help);
    fputs("\nwopr COMMAND --help says more.  Every command takes the settings of wopr serve; most "
          "need "
          "only --db FILE.\n",
          to);
    return to == stderr ? 2 : 0;
}

int main(int argc, char **argv) {
    static char help_option[] = "--help";
    signal(SIGPIPE, SIG_IGN);
    if (argc < 2) return commands_help(stderr);
    if (strcmp(argv[1], "help") == 0 && argc > 2) { /* wopr help runs = wopr runs --help */
        argv[1] = argv[2];
        argv[2] = help_option;
        argc = 3;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0)
        return commands_help(stdout);
    if (strcmp(argv[1], "--version") == 0) return cmd_version(NULL);
    if (strcmp(argv[1], WORKER_COMMAND) == 0) return worker_main(argc - 2, argv + 2);
    for (size_t i = 0; i < CLI_COMMANDS_NR; i++) {
        if (strcmp(argv[1], CLI_COMMANDS[i].name) != 0) continue;
        struct cli c = {.argc = argc - 2,
                        .argv = argv + 2,
                        .commands = CLI_COMMANDS,
                        .commands_nr = CLI_COMMANDS_NR,
                        .arena = arena_new(CLI_ARENA_MAX),
                        .name = CLI_COMMANDS[i].name};
        if (c.arena == NULL) return 1;
        int rc = CLI_COMMANDS[i].run(&c);
        arena_free(c.arena);
        return rc;
    }
    char hint[NEAR_HINT];
    struct near n;
    near_init(&n, str_c(argv[1]));
    for (size_t i = 0; i < CLI_COMMANDS_NR; i++) near_try(&n, str_c(CLI_COMMANDS[i].name));
    fprintf(stderr, "wopr: there is no command \"%s\"%s\n", argv[1], near_hint(&n, hint));
    return commands_help(stderr);
}
