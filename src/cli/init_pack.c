/*
 * init_pack.c: wopr init pack: the example of a pack (examples/packs/hello, which the program
 * carries) under a name of one's own, to begin with.
 */
#include "base/embed.h"
#include "base/fs.h"
#include "cli/packs.h"

#include <errno.h>

#define FOLDER_OF    "examples/packs/hello/"
#define NAME_DEFAULT STR("vendor.example.hello")
#define TEXT_MAX     65536u
#define FOLDER_MODE  0755
#define FILE_MODE    0644

struct change { /* of a text, wherever it stands */
    struct str from, to;
};

static void text_change(struct str text, const struct change *all, size_t n, struct buf *out) {
    while (text.n > 0) {
        size_t i = 0;
        while (i < n && !str_starts(text, all[i].from)) i++;
        size_t taken = i < n ? all[i].from.n : 1;
        buf_adds(out, i < n ? all[i].to : str_n(text.p, 1));
        text = str_n(text.p + taken, text.n - taken);
    }
}

static int file_make(struct cli *c, const char *folder, const char *file, struct str name,
                     bool force) {
    const struct change changes[] = {
        {STR("vendor.openwop.rust-hello"), name},
        {STR(", written by hand in WebAssembly's text format."), STR(".")},
        {STR("  hello.wat is the same by hand."), STR("")}};
    const struct embed_file *f = embed_find(arena_printf(c->arena, FOLDER_OF "%s", file).p);
    struct str path = arena_printf(c->arena, "%s/%s", folder, file);
    struct buf b;
    if (!f || !path.p) return 1;
    buf_init(&b, TEXT_MAX);
    text_change(embed_text(f), changes, sizeof changes / sizeof *changes, &b);
    int rc = buf_failed(&b) ? 1 : packs_file_write(path.p, buf_str(&b), FILE_MODE, force);
    buf_fini(&b);
    return rc;
}

static struct str last_word(struct str name) {
    size_t at = name.n;
    while (at > 0 && name.p[at - 1] != '.') at--;
    return str_n(name.p + at, name.n - at);
}

int init_pack(struct cli *c, const char *folder, bool force) {
    static const char *const FILES[] = {"pack.json", "hello.c", "README.md"};
    struct str name = c->argc > 1 ? str_c(c->argv[1]) : NAME_DEFAULT;
    struct wopr_error err = {0};
    int rc = pack_name_check(name, NULL, &err);
    if (rc != 0) return cli_fail(&err);
    if (!folder) folder = arena_cstr(c->arena, last_word(name));
    if (!folder) return 1;
    if (fs_make_folder(folder, FOLDER_MODE) != 0 && errno != EEXIST) {
        fprintf(stderr, "wopr: %s: %s\n", folder, strerror(errno));
        return 1;
    }
    for (size_t i = 0; rc == 0 && i < sizeof FILES / sizeof *FILES; i++)
        rc = file_make(c, folder, FILES[i], name, force);
    if (rc == 0)
        printf("%s: written; its README.md says how to build, try and install it\n", folder);
    return rc;
}
