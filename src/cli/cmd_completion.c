/* cmd_completion.c: wopr completion: the scripts of shells, and the answers they ask for. */
#include "base/embed.h"
#include "cli/complete.h"

#include <stdio.h>

static const char USAGE[] =
    "usage: wopr completion SHELL               prints the script for bash, zsh or fish\n"
    "       wopr completion words -- WORD...    what may stand in the place of the last word\n"
    "In bash: source <(wopr completion bash).  The scripts ask the program, so they know its own\n"
    "commands, options, settings and values.\n";

static int words_print(struct cli *c) {
    struct buf b;
    int skip = c->argc > 1 && strcmp(c->argv[1], "--") == 0 ? 2 : 1;
    buf_init(&b, CLI_OUT_BYTES_MAX);
    complete_words(c, c->argc - skip, c->argv + skip, &b);
    fwrite(buf_str(&b).p, 1, b.len, stdout); /* our own words, and tabs */
    buf_fini(&b);
    return 0;
}

int cmd_completion(struct cli *c) {
    bool words = c->argc > 0 && strcmp(c->argv[0], "words") == 0;
    if (words && !c->asks_usage) return words_print(c); /* options among them are not ours */
    if (cli_help(c, USAGE)) return 0;
    if (c->argc != 1) return cli_usage(USAGE);
    struct str name = arena_printf(c->arena, "packaging/completion/wopr.%s", c->argv[0]);
    const struct embed_file *f = name.p != NULL ? embed_find(name.p) : NULL;
    if (f == NULL) return cli_usage(USAGE);
    fwrite(embed_text(f).p, 1, embed_text(f).n, stdout);
    return 0;
}
