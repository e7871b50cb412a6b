/*
 * cmd_init.c: wopr init: writes one of the examples (docs/examples, which the program carries) as a
 * file to begin with.  JSON has no comments: the "description" of a workflow and its variables, the
 * "notes" of its nodes and the "label" of its edges are theirs, and stay with the definition.
 */
#include "base/embed.h"
#include "base/fs.h"
#include "base/near.h"
#include "cli/cli.h"
#include "cli/packs.h"
#include "codec/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define EXAMPLES         "docs/examples/"
#define TEMPLATE_DEFAULT "hello"
#define FILE_MODE        0644

static const char USAGE[] =
    "usage: wopr init [TEMPLATE] [--out FILE] [--force]   writes TEMPLATE.json (hello.json)\n"
    "       wopr init --list                              the templates\n"
    "       wopr init pack [NAME] [--out FOLDER] [--force]   writes a pack of one node type in C\n"
    "Then: wopr workflow check FILE, wopr workflow put FILE, wopr runs start ID --follow.\n"
    "Comments are kept in description (workflow, variables), notes (nodes) and label (edges).\n";

struct str template_name(const struct embed_file *f) {
    struct str name = str_c(f->name);
    if (!str_starts(name, STR(EXAMPLES)) || !str_ends(name, STR(".json"))) return STR_NONE;
    size_t head = sizeof EXAMPLES - 1;
    return str_n(name.p + head, name.n - head - (sizeof ".json" - 1));
}

static int list_print(struct cli *c) {
    for (const struct embed_file *f = EMBED_FILES; f->name != NULL; f++) {
        struct str name = template_name(f);
        if (name.n == 0) continue;
        struct str says = json_string(json_get(embed_text(f), "description"), c->arena);
        printf("%-18.*s " STR_FMT "\n", STR_ARG(name), STR_ARG(says));
    }
    return 0;
}

static const struct embed_file *template_find(struct str name) {
    char hint[NEAR_HINT];
    struct near n;
    near_init(&n, name);
    for (const struct embed_file *f = EMBED_FILES; f->name != NULL; f++) {
        if (template_name(f).n == 0) continue;
        if (str_eq(template_name(f), name)) return f;
        near_try(&n, template_name(f));
    }
    fprintf(stderr, "wopr: there is no template \"" STR_FMT "\"%s; wopr init --list shows them\n",
            STR_ARG(name), near_hint(&n, hint));
    return NULL;
}

static int file_write(const char *path, struct str text, bool force) {
    int fd = fs_open(path, O_WRONLY | O_CREAT | (force ? O_TRUNC : O_EXCL), FILE_MODE);
    if (fd < 0 && errno == EEXIST) {
        fprintf(stderr, "wopr: %s is there already; --force overwrites it\n", path);
        return 1;
    }
    bool ok = fd >= 0 && fs_write_at(fd, text.p, text.n, 0) == (ssize_t)text.n;
    if (!ok) fprintf(stderr, "wopr: cannot write %s: %s\n", path, strerror(errno));
    if (fd >= 0) (void)close(fd);
    return ok ? 0 : 1;
}

int cmd_init(struct cli *c) {
    if (cli_help(c, USAGE)) return 0;
    bool list = cli_take_flag(c, "--list"), force = cli_take_flag(c, "--force");
    const char *out = cli_take_value(c, "--out");
    int rc = cli_config(c);
    if (rc != 0) return rc;
    bool pack = c->argc > 0 && strcmp(c->argv[0], "pack") == 0;
    if (c->argc > (list ? 0 : pack ? 2 : 1)) return cli_usage(USAGE);
    if (list) return list_print(c);
    if (pack) return init_pack(c, out, force);
    struct str name = c->argc == 1 ? str_c(c->argv[0]) : STR(TEMPLATE_DEFAULT);
    const struct embed_file *f = template_find(name);
    if (f == NULL) return 2;
    if (out == NULL) out = arena_printf(c->arena, STR_FMT ".json", STR_ARG(name)).p;
    if (out == NULL) return 1;
    rc = file_write(out, embed_text(f), force);
    if (rc == 0)
        printf("%s: written; wopr workflow check %s says what is wrong with it\n", out, out);
    return rc;
}
