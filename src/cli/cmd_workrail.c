/* cmd_workrail.c: wopr workrail: sources of workflows that agents are led through, checked and
 * compiled without a host. */
#include "base/fs.h"
#include "cli/verbs.h"
#include "workrail/compile.h"
#include "workrail/registry.h"

#include <errno.h>

enum { UNREADABLE = 2 };
#define RAIL_ARENA_BYTES_MAX ((size_t)512 * 1024 * 1024)

static const char USAGE[] =
    "usage: wopr workrail check FILE... [--json]   what is wrong with a workflow, and what is odd\n"
    "       wopr workrail compile FILE             its compiled form, on standard output\n"
    "       wopr workrail hash FILE...             the hash that runs are pinned to\n"
    "       wopr workrail builtins                 contracts, features, templates and snippets\n"
    "A FILE is JSON; \"-\" is standard input.  The exit status is 0 when all compile, 1 when some\n"
    "do not, 2 when a FILE cannot be read.\n";

struct rail_args {
    bool json;
};
struct rail_file {
    struct arena *a;
    struct buf text;
    struct wr_workflow w;
    struct wr_problems problems;
};

static int rail_no_memory(void) {
    fputs("wopr: out of memory\n", stderr);
    return UNREADABLE;
}

static bool stdin_read(struct buf *out) {
    char piece[65536];
    buf_init(out, WR_SOURCE_MAX + 1);
    for (size_t n; (n = fread(piece, 1, sizeof piece, stdin)) > 0 && !buf_failed(out);)
        buf_add(out, piece, n);
    if (!buf_failed(out) && !ferror(stdin)) return true;
    buf_fini(out);
    return false;
}

static int text_read(struct cli *c, const char *path, struct buf *out) {
    const char *why = "it cannot be read, or is larger than 1 MiB";
    if (strcmp(path, "-") == 0) {
        if (stdin_read(out)) return 0;
    } else {
        enum fs_read how = fs_read(path, WR_SOURCE_MAX + 1, out);
        if (how == FS_READ_OK) return 0;
        if (how == FS_READ_NO_FILE || how == FS_READ_FAILED) why = strerror(errno);
    }
    fprintf(stderr, "wopr: " STR_FMT ": %s\n", STR_ARG(cli_text(c, str_c(path))), why);
    return UNREADABLE;
}

/* 0 compiled, 1 problems say why not, UNREADABLE. */
static int file_compile(struct cli *c, const char *path, struct rail_file *f) {
    struct wr_fault fault;
    *f = (struct rail_file){.a = arena_new(RAIL_ARENA_BYTES_MAX)};
    if (f->a == NULL) return rail_no_memory();
    int rc = text_read(c, path, &f->text);
    if (rc != 0) {
        f->text = (struct buf){.p = NULL};
        return rc;
    }
    rc = wr_compile(buf_str(&f->text), WR_PROJECT, f->a, &f->w, &f->problems, &fault);
    if (rc == WOPR_E_NO_MEMORY) return rail_no_memory();
    return rc == 0 ? 0 : 1;
}

static void file_close(struct rail_file *f) {
    buf_fini(&f->text);
    arena_free(f->a);
}

static size_t warnings_count(const struct wr_problems *p) {
    size_t n = 0;
    for (size_t i = 0; i < p->nr; i++) n += p->v[i].warning;
    return n;
}

static void problems_print(struct cli *c, const char *path, const struct wr_problems *p, FILE *to) {
    size_t warnings = warnings_count(p), errors = p->nr - warnings;
    struct buf b;
    buf_init(&b, CLI_OUT_BYTES_MAX);
    for (size_t i = 0; i < p->nr; i++) {
        text_escape(&b, str_c(path), false);
        buf_addc(&b, ':');
        text_escape(&b, p->v[i].pointer, false);
        buf_addf(&b, " - %s: ", p->v[i].warning ? "warning" : "error");
        text_escape(&b, p->v[i].message, false);
        buf_addf(&b, " (" STR_FMT ")\n", STR_ARG(p->v[i].pass));
    }
    fwrite(buf_str(&b).p, 1, b.len, to);
    buf_fini(&b);
    fprintf(to, STR_FMT ": %zu error%s, %zu warning%s\n", STR_ARG(cli_text(c, str_c(path))), errors,
            errors == 1 ? "" : "s", warnings, warnings == 1 ? "" : "s");
}

static void problems_json(const char *path, const struct rail_file *f, bool good) {
    struct buf b;
    struct jw w;
    buf_init(&b, CLI_OUT_BYTES_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    jw_kstrz(&w, "file", path);
    jw_key(&w, "problems");
    jw_array(&w);
    for (size_t i = 0; i < f->problems.nr; i++) {
        const struct wr_problem *p = &f->problems.v[i];
        jw_object(&w);
        jw_kstr(&w, "message", p->message);
        jw_kstr(&w, "pass", p->pass);
        jw_kstr(&w, "pointer", p->pointer);
        jw_kstrz(&w, "severity", p->warning ? "warning" : "error");
        jw_end_object(&w);
    }
    jw_end_array(&w);
    if (good) jw_kstrz(&w, "workflowHash", f->w.hash.s);
    if (good) jw_kstr(&w, "workflowId", f->w.id);
    jw_end_object(&w);
    buf_addc(&b, '\n');
    cli_print(&b);
    buf_fini(&b);
}

static int check_files(struct cli *c, struct store *unused, const void *args) {
    const struct rail_args *in = args;
    int worst = 0;
    (void)unused;
    for (int i = 1; i < c->argc; i++) {
        struct rail_file f;
        int rc = file_compile(c, c->argv[i], &f);
        if (rc < UNREADABLE && in->json) problems_json(c->argv[i], &f, rc == 0);
        else if (rc < UNREADABLE) problems_print(c, c->argv[i], &f.problems, stdout);
        if (rc > worst) worst = rc;
        file_close(&f);
    }
    return worst;
}

static int compile_file(struct cli *c, struct store *unused, const void *args) {
    struct rail_file f;
    (void)unused, (void)args;
    int rc = file_compile(c, c->argv[1], &f);
    if (rc == 0) {
        fwrite(f.w.bytes.p, 1, f.w.bytes.n, stdout);
        fputc('\n', stdout);
    }
    if (rc == 1) problems_print(c, c->argv[1], &f.problems, stderr);
    file_close(&f);
    return rc;
}

static int hash_files(struct cli *c, struct store *unused, const void *args) {
    int worst = 0;
    (void)unused, (void)args;
    for (int i = 1; i < c->argc; i++) {
        struct rail_file f;
        int rc = file_compile(c, c->argv[i], &f);
        if (rc == 0) printf("%s  " STR_FMT "\n", f.w.hash.s, STR_ARG(f.w.id));
        if (rc == 1) problems_print(c, c->argv[i], &f.problems, stderr);
        if (rc > worst) worst = rc;
        file_close(&f);
    }
    return worst;
}

static int builtins_print(struct cli *c, struct store *unused, const void *args) {
    struct buf b;
    struct jw w;
    (void)c, (void)unused, (void)args;
    buf_init(&b, CLI_OUT_BYTES_MAX);
    jw_init(&w, &b);
    wr_builtins_write(&w);
    buf_addc(&b, '\n');
    int rc = buf_failed(&b) ? rail_no_memory() : 0;
    if (rc == 0) cli_print(&b);
    buf_fini(&b);
    return rc;
}

static const struct cli_verb VERBS[] = {
    {"check", 1, VERB_ANY_ARGS, NULL, check_files, VERB_NO_FILE},
    {"compile", 1, 1, NULL, compile_file, VERB_NO_FILE},
    {"hash", 1, VERB_ANY_ARGS, NULL, hash_files, VERB_NO_FILE},
    {"builtins", 0, 0, NULL, builtins_print, VERB_NO_FILE},
};

int cmd_workrail(struct cli *c) {
    struct rail_args in = {.json = false};
    if (cli_help(c, USAGE)) return 0;
    in.json = cli_take_flag(c, "--json");
    int rc = cli_config(c);
    return rc != 0 ? rc : cli_verbs(c, VERBS, sizeof VERBS / sizeof *VERBS, NULL, &in);
}
