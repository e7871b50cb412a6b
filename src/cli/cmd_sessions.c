/* cmd_sessions.c: wopr sessions list|show|export|import|verify|keep|rotate-keys: sessions of agents
 * that are led, on the database file; a host may run beside it. */
#include "base/fs.h"
#include "cli/verbs.h"
#include "host/host.h"
#include "host/seal_file.h"
#include "rail/bundle.h"
#include "rail/show.h"
#include "store/sessions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { SESSIONS_PAGE = 64, SESSION_ARENA = 512 << 20, SESSION_FILE_MODE = 0600 };

static const char USAGE[] =
    "usage: wopr sessions list [--limit N] [--json]      the last changed first\n"
    "       wopr sessions show SESSION                   runs, nodes and edges, as JSON\n"
    "       wopr sessions export SESSION [--out FILE] [--with-artifacts] [--salvage]\n"
    "       wopr sessions import FILE [--rename] [--test]    into the tenant of the settings\n"
    "       wopr sessions verify                         reads all logs; 1: one is damaged\n"
    "       wopr sessions keep SESSION | unkeep SESSION  old sessions are removed unless kept\n"
    "       wopr sessions rotate-keys                    tokens of the key before the last are "
    "void\n";

struct session_args {
    const char *limit, *out;
    bool artifacts, salvage, rename, test, json;
};

static int fault_print(const struct wr_fault *f) {
    fprintf(stderr, "wopr: %s: %s\n", wr_code_name(f->code), f->e.message);
    return 1;
}

/* A rail on the file alone: it commits by itself. */
static int rail_open(struct store *s, struct vault *v, struct payload_rules **rules,
                     struct rail **out) {
    struct wopr_error err = {0};
    int rc = payload_rules_new(rules, &err);
    const struct rail_config rcfg = {.store = s, .vault = v, .rules = *rules};
    if (rc == 0) rc = rail_new(&rcfg, out, &err);
    return rc == 0 ? 0 : cli_fail(&err);
}

static void rail_close(struct rail *r, struct payload_rules *rules) {
    rail_free(r);
    payload_rules_free(rules);
}

/* --- list --- */
static void row_print(struct cli *c, struct buf *b, const struct session_list_row *r) {
    char at[CLI_TIME_SIZE];
    buf_addf(b, "%-25s %-31s %-18s %7lld  " STR_FMT "\n", cli_time(r->head.changed_ms, at),
             r->head.session_id.p, r->resume.status.n > 0 ? r->resume.status.p : "-",
             (long long)r->head.next_event, STR_ARG(cli_text(c, r->resume.title)));
}

static int list_json(struct store *s, unsigned limit) {
    struct payload_rules *rules = NULL;
    struct rail *r = NULL;
    struct wr_fault f = {.code = WR_FINE};
    const struct rail_view all = {.tenant = STR_NONE};
    const struct rail_page page = {.max = limit};
    struct buf b;
    int rc = rail_open(s, NULL, &rules, &r);
    buf_init(&b, CLI_OUT_BYTES_MAX);
    if (rc == 0) {
        rc = rail_show_sessions(r, &all, &page, &b, &f);
        buf_addz(&b, "\n");
        if (rc == 0) cli_print(&b);
        else rc = fault_print(&f);
    }
    buf_fini(&b);
    rail_close(r, rules);
    return rc;
}

static int sessions_list(struct cli *c, struct store *s, const void *args) {
    const struct session_args *in = args;
    struct wopr_error err = {0};
    struct session_list l;
    struct buf b;
    unsigned limit;
    if (!cli_limit(in->limit, SESSIONS_PAGE, &limit)) return 2;
    if (in->json) return list_json(s, limit);
    const struct session_filter all = {.any = true, .max = limit};
    if (store_session_list(s, &all, c->arena, &l, &err) != 0) return cli_fail(&err);
    buf_init(&b, CLI_OUT_BYTES_MAX);
    buf_addf(&b, "%-25s %-31s %-18s %7s  %s\n", "CHANGED", "SESSION", "STATUS", "EVENTS", "TITLE");
    for (size_t i = 0; i < l.n; i++) row_print(c, &b, &l.v[i]);
    cli_print(&b);
    buf_fini(&b);
    return 0;
}

/* --- show, export --- */
static int session_show(struct cli *c, struct store *s, const void *args) {
    struct payload_rules *rules = NULL;
    struct rail *r = NULL;
    struct wr_fault f = {.code = WR_FINE};
    const struct rail_view all = {.tenant = STR_NONE};
    struct buf b;
    (void)args;
    int rc = rail_open(s, NULL, &rules, &r);
    buf_init(&b, CLI_OUT_BYTES_MAX);
    if (rc == 0) {
        rc = rail_show_session(r, &all, str_c(c->argv[1]), &b, &f);
        buf_addz(&b, "\n");
        if (rc == 0) cli_print(&b);
        else rc = fault_print(&f);
    }
    buf_fini(&b);
    rail_close(r, rules);
    return rc;
}

static int file_made(const char *path, struct str text) {
    int fd = fs_open(path, O_WRONLY | O_CREAT | O_EXCL, SESSION_FILE_MODE);
    bool ok = fd >= 0 && fs_write_at(fd, text.p, text.n, 0) == (ssize_t)text.n && fs_sync(fd) == 0;
    if (!ok) fprintf(stderr, "wopr: cannot write %s: %s\n", path, strerror(errno));
    if (fd >= 0) (void)close(fd);
    return ok ? 0 : 1;
}

static int text_write(const char *path, struct str text) {
    if (path) return file_made(path, text);
    bool ok = fwrite(text.p, 1, text.n, stdout) == text.n && fputc('\n', stdout) != EOF &&
              fflush(stdout) == 0;
    if (!ok) fprintf(stderr, "wopr: the bundle could not be written\n");
    return ok ? 0 : 1;
}

static int session_export(struct cli *c, struct store *s, const void *args) {
    const struct session_args *in = args;
    const struct rail_export x = {.session_id = str_c(c->argv[1]),
                                  .artifacts = in->artifacts,
                                  .salvage = in->salvage,
                                  .version = WOPR_VERSION};
    struct payload_rules *rules = NULL;
    struct rail *r = NULL;
    struct wr_fault f = {.code = WR_FINE};
    struct arena *a = arena_new(SESSION_ARENA);
    struct str json;
    int rc = a ? rail_open(s, NULL, &rules, &r) : 1;
    if (rc == 0)
        rc = rail_bundle_export(r, &x, a, &json, &f) == 0 ? text_write(in->out, json)
                                                          : fault_print(&f);
    rail_close(r, rules);
    arena_free(a);
    return rc;
}

/* --- import --- */
static int bundle_import(struct cli *c, struct rail *r, const struct session_args *in,
                         struct str json) {
    const struct rail_import x = {.who = {.tenant = str_c(c->cfg.host_tenant),
                                          .workspace = STR("default"),
                                          .subject = STR("{\"kind\":\"service\",\"lane\":\"cli\"}"),
                                          .test_mode = in->test},
                                  .rename = in->rename};
    struct rail_imported got;
    struct wr_fault f = {.code = WR_FINE};
    struct arena *a = arena_new(SESSION_ARENA);
    int rc = a ? rail_bundle_import(r, &x, json, a, &got, &f) : wr_no_memory(&f);
    if (rc == 0)
        printf("%s " STR_FMT "\n",
               !got.fresh    ? "is here already:"
               : got.renamed ? "imported as"
                             : "imported",
               STR_ARG(cli_text(c, got.session_id)));
    arena_free(a);
    return rc == 0 ? 0 : fault_print(&f);
}

static int session_import(struct cli *c, struct store *s, const void *args) {
    struct payload_rules *rules = NULL;
    struct rail *r = NULL;
    struct wopr_error err = {0};
    struct buf text;
    if (file_read(c->argv[1], RAIL_BUNDLE_MAX, &text, &err) != 0) return cli_fail(&err);
    int rc = rail_open(s, NULL, &rules, &r);
    if (rc == 0) rc = bundle_import(c, r, args, buf_str(&text));
    rail_close(r, rules);
    buf_fini(&text);
    return rc;
}

/* --- verify --- */
struct verified {
    unsigned read, bad;
    bool all;
};

static int page_verify(struct store *s, struct session_place *below, struct verified *got,
                       struct wr_fault *f) {
    const struct session_filter filter = {.any = true, .below = *below, .max = SESSIONS_PAGE};
    struct session_list l;
    struct arena *a = arena_new(SESSION_ARENA), *one = arena_new(SESSION_ARENA),
                 *scratch = arena_new(SESSION_ARENA);
    int rc = a && one && scratch ? store_session_list(s, &filter, a, &l, &f->e) : wr_no_memory(f);
    for (size_t i = 0; rc == 0 && i < l.n; i++) {
        struct rail_session x;
        arena_reset(one);
        *below = (struct session_place){l.v[i].head.commit_no, l.v[i].head.session_no};
        rc = rail_session_load(s, STR_NONE, false, l.v[i].head.session_id, one, &x, f);
        if (rc == WOPR_E_NOT_FOUND) {
            rc = 0;
            continue;
        }
        if (rc != 0) break;
        bool good = x.health == RAIL_HEALTHY && x.orphans_nr == 0, whole = true;
        if (good && rail_session_blobs(s, &x, scratch, f) != 0) {
            printf(STR_FMT ": %s: %s\n", STR_ARG(x.head.session_id), wr_code_name(f->code),
                   f->e.message);
            whole = false;
        }
        if (!good)
            printf(STR_FMT ": %s %s: %s\n", STR_ARG(x.head.session_id), rail_health_name(x.health),
                   rail_reason_name(x.reason),
                   x.orphans_nr > 0 ? "events that no record attests" : x.why);
        got->bad += !good || !whole;
        got->read++;
        rail_session_fini(&x);
    }
    if (rc == 0 && l.n < SESSIONS_PAGE) got->all = true;
    arena_free(scratch);
    arena_free(one);
    arena_free(a);
    return rc;
}

static int sessions_verify(struct cli *c, struct store *s, const void *args) {
    struct wr_fault f = {.code = WR_FINE};
    struct session_place below = {0, 0};
    struct verified got = {0};
    int rc = 0;
    (void)c, (void)args;
    while (rc == 0 && !got.all) rc = page_verify(s, &below, &got, &f);
    if (rc != 0) return fault_print(&f);
    printf("%u sessions read, %u damaged\n", got.read, got.bad);
    return got.bad > 0 ? 1 : 0;
}

/* --- keep, keys --- */
static int session_keep(struct cli *c, struct store *s, const void *args) {
    struct wopr_error err = {0};
    (void)args;
    if (store_session_keep(s, str_c(c->argv[1]), c->argv[0][0] == 'k', &err) != 0)
        return cli_fail(&err);
    printf("%s " STR_FMT "\n", c->argv[0][0] == 'k' ? "kept" : "no longer kept",
           STR_ARG(cli_text(c, str_c(c->argv[1]))));
    return 0;
}

static int keys_rotate(struct cli *c, struct store *s, const void *args) {
    struct payload_rules *rules = NULL;
    struct rail *r = NULL;
    struct vault *v = NULL;
    struct wr_fault f = {.code = WR_FINE};
    struct wopr_error err = {0};
    (void)args;
    if (seal_vault(&c->cfg, s, &v, &err) != 0) return cli_fail(&err);
    int rc = rail_open(s, v, &rules, &r);
    if (rc == 0 && rail_keyring_rotate(r, &f) != 0) rc = fault_print(&f);
    else if (rc == 0)
        printf("new tokens are signed by a new key; those of the last one still hold\n");
    rail_close(r, rules);
    vault_free(v);
    return rc;
}

int cmd_sessions(struct cli *c) {
    if (cli_help(c, USAGE)) return 0;
    struct session_args in = {.limit = cli_take_value(c, "--limit"),
                              .out = cli_take_value(c, "--out"),
                              .artifacts = cli_take_flag(c, "--with-artifacts"),
                              .salvage = cli_take_flag(c, "--salvage"),
                              .rename = cli_take_flag(c, "--rename"),
                              .test = cli_take_flag(c, "--test"),
                              .json = cli_take_flag(c, "--json")};
    static const struct cli_verb VERBS[] = {
        {"list", 0, 0, .on_file = sessions_list},
        {"show", 1, 1, .on_file = session_show},
        {"export", 1, 1, .on_file = session_export},
        {"import", 1, 1, .on_file = session_import, .file = VERB_WRITES},
        {"verify", 0, 0, .on_file = sessions_verify},
        {"keep", 1, 1, .on_file = session_keep, .file = VERB_WRITES},
        {"unkeep", 1, 1, .on_file = session_keep, .file = VERB_WRITES},
        {"rotate-keys", 0, 0, .on_file = keys_rotate, .file = VERB_WRITES}};
    int rc = cli_config(c);
    return rc == 0 ? cli_verbs(c, VERBS, sizeof VERBS / sizeof *VERBS, NULL, &in) : rc;
}
