/* main.c: picks the command. */
#include "base/near.h"
#include "cli/cli.h"

#include <signal.h>
#include <stdio.h>

#define CLI_ARENA_MAX (256u * 1024 * 1024)

static const struct {
    const char *name;
    int (*run)(struct cli *c);
    const char *help;
} COMMANDS[] = {
    {"init", cmd_init, "write an example workflow to begin with"},
    {"nodes", cmd_nodes, "the node types there are: configuration, outputs, an example"},
    {"serve", cmd_serve, "run the host (--help lists the settings, --print-config shows them)"},
    {"seed", cmd_seed, "load a folder of workflow definitions, or --conformance for the fixtures"},
    {"keys", cmd_keys, "create, list and revoke API keys"},
    {"seal", cmd_seal, "rotate and list the keys of sensitive values"},
    {"tokens", cmd_tokens, "rotate, list and revoke the signing secrets of interrupt tokens"},
    {"workflow", cmd_workflow, "check, put, list, get and delete workflow definitions"},
    {"runs", cmd_runs, "start, list, show, cancel, pause, resume and fork runs"},
    {"interrupts", cmd_interrupts, "list what waits for an answer, show and resolve it"},
    {"tail", cmd_tail, "follow a run in the terminal (--json for pipes)"},
    {"verify", cmd_verify, "check a database and say what was found"},
    {"version", cmd_version, "print the version"},
};
#define COMMANDS_NR (sizeof COMMANDS / sizeof *COMMANDS)

static int commands_help(FILE *to) {
    fputs("usage: wopr COMMAND [OPTIONS]\n\n", to);
    for (size_t i = 0; i < COMMANDS_NR; i++)
        fprintf(to, "  %-10s %s\n", COMMANDS[i].name, COMMANDS[i].help);
    fputs("\nwopr COMMAND --help says more.  Every command takes the settings of wopr serve; most "
          "need "
          "only --db FILE.\n",
          to);
    return to == stderr ? 2 : 0;
}

int cmd_version(struct cli *c) {
    if (c != NULL && cli_help(c, "usage: wopr version\n")) return 0;
    printf("wopr %s\n", WOPR_VERSION);
    return 0;
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
    for (size_t i = 0; i < COMMANDS_NR; i++) {
        if (strcmp(argv[1], COMMANDS[i].name) != 0) continue;
        struct cli c = {.argc = argc - 2,
                        .argv = argv + 2,
                        .arena = arena_new(CLI_ARENA_MAX),
                        .name = COMMANDS[i].name};
        if (c.arena == NULL) return 1;
        int rc = COMMANDS[i].run(&c);
        arena_free(c.arena);
        return rc;
    }
    char hint[NEAR_HINT];
    struct near n;
    near_init(&n, str_c(argv[1]));
    for (size_t i = 0; i < COMMANDS_NR; i++) near_try(&n, str_c(COMMANDS[i].name));
    fprintf(stderr, "wopr: there is no command \"%s\"%s\n", argv[1], near_hint(&n, hint));
    return commands_help(stderr);
}
