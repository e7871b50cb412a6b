/* cmd_memory.c: wopr memory list|show|delete: what agents remember (MEM-3: no route offers it).  On
 * the database file.  Entries were cleared of credentials and of the masked values of their run
 * before they were stored; who has the database and its key reads them, so they are shown as they
 * are, but a list leaves contents out. */
#include "base/clock.h"
#include "cli/verbs.h"
#include "codec/ident.h"
#include "codec/json.h"
#include "host/seal_file.h"
#include "store/memory.h"

#include <stdio.h>

#define REFS_PAGE 256u

static const char USAGE[] =
    "usage: wopr memory list [--test] [--json]     memories, and what each of them takes\n"
    "       wopr memory list REF [--tag T] [--text T] [--limit N] [--test] [--json]\n"
    "                                   entries, newest first; with --json contents, too\n"
    "       wopr memory show REF ID [--test] [--json]\n"
    "       wopr memory delete REF ID [--test]     runs that have begun still see it\n";

struct memory_args {
    const char *tag, *text, *limit;
    bool test, json;
};

static struct memory_place place_of(const struct cli *c, const struct memory_args *in) {
    return (struct memory_place){.tenant = str_c(c->cfg.host_tenant),
                                 .test_mode = in->test,
                                 .ref = c->argc > 1 ? str_c(c->argv[1]) : STR("")};
}

static void time_json(struct jw *w, const char *key, int64_t ms) {
    char at[TIME_LEN + 1];
    time_format(ms, at);
    jw_kstrz(w, key, at);
}

static void entry_json(struct buf *b, struct str ref, const struct memory_entry *e) {
    struct jw w;
    jw_init(&w, b);
    jw_object(&w);
    jw_kstr(&w, "ref", ref);
    jw_kstr(&w, "id", e->id);
    jw_kstr(&w, "content", e->content);
    jw_key(&w, "tags");
    jw_array(&w);
    for (size_t i = 0; i < e->tags.n; i++) jw_str(&w, e->tags.v[i]);
    jw_end_array(&w);
    time_json(&w, "createdAt", e->created_ms);
    if (e->expires_ms != 0) time_json(&w, "expiresAt", e->expires_ms);
    jw_end_object(&w);
    buf_addz(b, "\n");
}

static struct str tags_text(struct cli *c, const struct memory_entry *e) {
    struct str all = STR("-");
    for (size_t i = 0; i < e->tags.n; i++)
        all = arena_printf(c->arena, STR_FMT "%s" STR_FMT, STR_ARG(i > 0 ? all : STR("")),
                           i > 0 ? "," : "", STR_ARG(e->tags.v[i]));
    return cli_text(c, all);
}

/* --- list --- */

static int refs_list(struct cli *c, struct store *s, const struct memory_args *in) {
    struct memory_place at = place_of(c, in);
    struct wopr_error err = {0};
    struct memory_refs page = {.n = REFS_PAGE};
    struct buf b;
    int rc = 0;
    buf_init(&b, CLI_OUT_BYTES_MAX);
    if (!in->json) buf_addf(&b, "%10s %14s  %s\n", "ENTRIES", "BYTES", "MEMORY");
    while (page.n == REFS_PAGE) {
        rc = store_memory_refs(s, &at, REFS_PAGE, c->arena, &page, &err);
        if (rc != 0) break;
        for (size_t i = 0; i < page.n; i++) {
            const struct memory_ref *r = &page.v[i];
            if (in->json) {
                struct jw w;
                jw_init(&w, &b);
                jw_object(&w);
                jw_kstr(&w, "ref", r->ref);
                jw_kint(&w, "entries", r->entries);
                jw_kint(&w, "bytes", r->bytes);
                jw_end_object(&w);
                buf_addz(&b, "\n");
            } else {
                buf_addf(&b, "%10lld %14lld  " STR_FMT "\n", (long long)r->entries,
                         (long long)r->bytes, STR_ARG(cli_text(c, r->ref)));
            }
        }
        if (page.n > 0) at.ref = page.v[page.n - 1].ref;
    }
    if (rc == 0) cli_print(&b);
    buf_fini(&b);
    return rc == 0 ? 0 : cli_fail(&err);
}

struct listing {
    struct cli *c;
    const struct memory_args *in;
    struct str ref;
    struct buf b;
    unsigned left;
};

static int entry_list(void *ctx, const struct memory_entry *e, struct wopr_error *err) {
    struct listing *l = ctx;
    char from[CLI_TIME_SIZE], until[CLI_TIME_SIZE];
    (void)err;
    if (l->in->json) entry_json(&l->b, l->ref, e);
    else
        buf_addf(&l->b, "%-25s %-25s %7zu  %-40.*s " STR_FMT "\n", cli_time(e->created_ms, from),
                 cli_time(e->expires_ms, until), e->content.n, STR_ARG(cli_text(l->c, e->id)),
                 STR_ARG(tags_text(l->c, e)));
    return --l->left == 0;
}

static int entries_list(struct cli *c, struct store *s, struct vault *v,
                        const struct memory_args *in) {
    const struct memory_place at = place_of(c, in);
    const struct memory_view view = MEMORY_ALL(clock_wall_ms());
    const struct memory_filter filter = {str_c(in->tag ? in->tag : ""),
                                         str_c(in->text ? in->text : "")};
    struct listing l = {.c = c, .in = in, .ref = at.ref};
    struct wopr_error err = {0};
    if (!cli_limit(in->limit, MEMORY_LIST_MAX, &l.left)) return 2;
    buf_init(&l.b, CLI_OUT_BYTES_MAX);
    if (!in->json)
        buf_addf(&l.b, "%-25s %-25s %7s  %-40s %s\n", "CREATED", "EXPIRES", "BYTES", "ID", "TAGS");
    int rc = memory_walk(s, v, &at, &view, &filter, entry_list, &l, &err);
    if (rc == 0) cli_print(&l.b);
    buf_fini(&l.b);
    return rc == 0 ? 0 : cli_fail(&err);
}

static int memory_listed(struct cli *c, struct store *s, const void *args) {
    const struct memory_args *in = args;
    struct wopr_error err = {0};
    struct vault *v = NULL;
    if (c->argc < 2) return refs_list(c, s, in);
    int rc = seal_vault_reader(&c->cfg, s, &v, &err);
    if (rc != 0) return cli_fail(&err);
    rc = entries_list(c, s, v, in);
    vault_free(v);
    return rc;
}

/* --- one --- */

static void entry_text(struct cli *c, struct buf *b, const struct memory_entry *e) {
    char from[CLI_TIME_SIZE], until[CLI_TIME_SIZE];
    buf_addf(b, "id       " STR_FMT "\n", STR_ARG(cli_text(c, e->id)));
    buf_addf(b, "created  %s\n", cli_time(e->created_ms, from));
    buf_addf(b, "expires  %s\n", cli_time(e->expires_ms, until));
    buf_addf(b, "tags     " STR_FMT "\n\n", STR_ARG(tags_text(c, e)));
    text_escape(b, e->content, true);
    buf_addz(b, "\n");
}

static int memory_show(struct cli *c, struct store *s, const void *args) {
    const struct memory_args *in = args;
    const struct memory_place at = place_of(c, in);
    const struct memory_view view = MEMORY_ALL(clock_wall_ms());
    struct wopr_error err = {0};
    struct vault *v = NULL;
    struct memory_entry e;
    struct buf b;
    int rc = seal_vault_reader(&c->cfg, s, &v, &err);
    if (rc == 0) rc = memory_get(s, v, &at, &view, str_c(c->argv[2]), c->arena, &e, &err);
    vault_free(v);
    if (rc != 0) return cli_fail(&err);
    buf_init(&b, CLI_OUT_BYTES_MAX);
    if (in->json) entry_json(&b, at.ref, &e);
    else entry_text(c, &b, &e);
    cli_print(&b);
    buf_fini(&b);
    return 0;
}

static int memory_delete(struct cli *c, struct store *s, const void *args) {
    const struct memory_place at = place_of(c, args);
    struct wopr_error err = {0};
    if (store_memory_delete(s, &at, str_c(c->argv[2]), clock_wall_ms(), &err) != 0)
        return cli_fail(&err);
    printf("deleted " STR_FMT "\n", STR_ARG(cli_text(c, str_c(c->argv[2]))));
    return 0;
}

int cmd_memory(struct cli *c) {
    if (cli_help(c, USAGE)) return 0;
    struct memory_args in = {.tag = cli_take_value(c, "--tag"),
                             .text = cli_take_value(c, "--text"),
                             .limit = cli_take_value(c, "--limit"),
                             .test = cli_take_flag(c, "--test"),
                             .json = cli_take_flag(c, "--json")};
    static const struct cli_verb VERBS[] = {
        {"list", 0, 1, .on_file = memory_listed},
        {"show", 2, 2, .on_file = memory_show},
        {"delete", 2, 2, .on_file = memory_delete, .file = VERB_WRITES}};
    int rc = cli_config(c);
    return rc == 0 ? cli_verbs(c, VERBS, sizeof VERBS / sizeof *VERBS, NULL, &in) : rc;
}
