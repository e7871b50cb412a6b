/*
 * cmd_packs.c: wopr packs: make, sign and publish packs, install them, and look at a registry.
 */
#include "base/clock.h"
#include "cli/packs.h"
#include "codec/jobj.h"
#include "packs/resolve.h"
#include "packs/semver.h"

static const char USAGE[] =
    "usage: wopr packs keygen FILE               a key that signs: FILE, and FILE.pub for others\n"
    "       wopr packs build DIR [--out FILE]    the same files give the same NAME-VERSION.tgz\n"
    "       wopr packs run DIR TYPE [--inputs JSON]\n"
    "                              a node of the folder, once, as a host executes it\n"
    "       wopr packs sign FILE --key KEY       writes FILE.sig\n"
    "       wopr packs verify FILE [--public-key KEY]\n"
    "       wopr packs publish FILE [--key KEY] [--url URL]\n"
    "       wopr packs yank NAME VERSION --reason TEXT [--url URL]\n"
    "       wopr packs install FILE|NAME[@RANGE] [--from URL] [--integrity SHA256] [--shared]\n"
    "                              what may be installed: pack-trust, pack-allow, pack-keys\n"
    "       wopr packs list [--json]             what is installed\n"
    "       wopr packs show NAME                 the versions in this registry\n"
    "       wopr packs history NAME              what was done to them, by whom\n"
    "       wopr packs remove NAME VERSION [--shared]\n"
    "       wopr packs revoke-key NAME KID       the key signs nothing new from now on\n";

/* --- what there is --- */

static void install_line(struct cli *c, const void *rows, size_t i, struct buf *b) {
    const struct pack_install *p = (const struct pack_install *)rows + i;
    char t[CLI_TIME_SIZE];
    struct str whose = p->tenant.n > 0 ? p->tenant : STR("(all)");
    struct str kid = p->kid.n > 0 ? p->kid : STR("-");
    buf_addf(b, "%-40.*s %-14.*s %-16.*s %-16.*s %-24s " STR_FMT "\n",
             STR_ARG(cli_text(c, p->name)), STR_ARG(cli_text(c, p->version)),
             STR_ARG(cli_text(c, whose)), STR_ARG(cli_text(c, kid)), cli_time(p->installed_ms, t),
             STR_ARG(cli_text(c, p->origin)));
}

static void install_json(struct cli *c, const void *rows, size_t i, struct buf *b) {
    const struct pack_install *p = (const struct pack_install *)rows + i;
    struct jw w;
    jw_init(&w, b);
    jw_object(&w);
    jw_kstr(&w, "name", p->name);
    jw_kstr(&w, "version", p->version);
    jw_kstr(&w, "integrity", packs_sri(c, &p->digest));
    jw_kstr(&w, "origin", p->origin);
    jw_kstr_opt(&w, "keyId", p->kid);
    jw_kraw(&w, "manifest", p->manifest);
    jw_end_object(&w);
    buf_addc(b, '\n');
}

static int packs_list(struct cli *c, struct store *s, const void *args) {
    const struct packs_args *in = args;
    struct wopr_error err = {0};
    struct pack_installs all;
    if (store_pack_installs(s, str_c(c->cfg.host_tenant), false, c->arena, &all, &err) != 0)
        return cli_fail(&err);
    static const char HEAD[] = "PACK                                     VERSION        TENANT"
                               "           KEY              SINCE                    FROM\n";
    cli_rows(c, in->json ? NULL : HEAD, all.n, in->json ? install_json : install_line, all.v);
    return 0;
}

static int packs_show(struct cli *c, struct store *s, const void *args) {
    struct wopr_error err = {0};
    struct pack_releases all;
    struct buf b;
    (void)args;
    if (store_pack_list(s, str_c(c->argv[1]), c->arena, &all, &err) != 0) return cli_fail(&err);
    if (all.n == 0) return cli_usage("wopr: this registry has no pack of that name\n");
    const struct pack_release *latest = pack_latest(&all);
    buf_init(&b, CLI_OUT_BYTES_MAX);
    for (size_t i = 0; i < all.n; i++) {
        const struct pack_release *r = &all.v[i];
        char t[CLI_TIME_SIZE];
        buf_addf(&b, "%-16.*s %s %8lld bytes  " STR_FMT "  %s%s%s%s\n",
                 STR_ARG(cli_text(c, r->version)), cli_time(r->published_ms, t),
                 (long long)r->bytes, STR_ARG(packs_sri(c, &r->digest)),
                 r->signature.n > 0 ? "signed" : "unsigned", r == latest ? ", latest" : "",
                 r->deprecation.n > 0 ? ", deprecated" : "", r->yank.n > 0 ? ", yanked" : "");
    }
    cli_print(&b);
    buf_fini(&b);
    return 0;
}

static int packs_history(struct cli *c, struct store *s, const void *args) {
    struct wopr_error err = {0};
    struct pack_events all;
    struct buf b;
    (void)args;
    if (store_pack_history(s, str_c(c->argv[1]), c->arena, &all, &err) != 0) return cli_fail(&err);
    buf_init(&b, CLI_OUT_BYTES_MAX);
    for (size_t i = 0; i < all.n; i++) {
        const struct pack_event *e = &all.v[i];
        char t[CLI_TIME_SIZE];
        buf_addf(&b, "%s %-14.*s %-14.*s %-16.*s %-28.*s " STR_FMT "\n", cli_time(e->at_ms, t),
                 STR_ARG(cli_text(c, e->action)), STR_ARG(cli_text(c, e->version)),
                 STR_ARG(cli_text(c, e->tenant)), STR_ARG(cli_text(c, e->key_id)),
                 STR_ARG(cli_text(c, e->details)));
    }
    cli_print(&b);
    buf_fini(&b);
    return 0;
}

/* --- changes --- */

static struct pack_actor operator_of(const struct cli *c) {
    return (struct pack_actor){str_c(c->cfg.host_tenant), STR("operator"), clock_wall_ms()};
}

static int packs_remove(struct cli *c, struct store *s, const void *args) {
    const struct packs_args *in = args;
    const struct pack_actor who = operator_of(c);
    struct wopr_error err = {0};
    struct str tenant = in->shared ? STR("") : who.tenant;
    if (store_pack_uninstall(s, tenant, str_c(c->argv[1]), str_c(c->argv[2]), &who, &err) != 0)
        return cli_fail(&err);
    printf("removed %s %s\n", c->argv[1], c->argv[2]);
    return 0;
}

static int packs_revoke_key(struct cli *c, struct store *s, const void *args) {
    struct pack_actor who = operator_of(c);
    struct str name = str_c(c->argv[1]), namespace;
    struct wopr_error err = {0};
    (void)args;
    int rc = pack_name_check(name, NULL, &err);
    if (rc != 0) return cli_fail(&err);
    namespace = pack_namespace(name);
    /* The operator of the host may, whosever the namespace is. */
    rc = store_pack_owner(s, namespace, c->arena, &who.tenant, &err);
    if (rc == 0) rc = store_pack_key_revoke(s, namespace, str_c(c->argv[2]), name, &who, &err);
    if (rc != 0) return cli_fail(&err);
    printf("revoked %s\n", c->argv[2]);
    return 0;
}

static int packs_yank(struct cli *c, const void *args) {
    const struct packs_args *in = args;
    struct str answer, path, version = str_c(c->argv[2]);
    struct semver v;
    struct jobj o;
    if (in->reason == NULL || in->reason[0] == '\0')
        return cli_usage("wopr: say why, with --reason TEXT\n");
    if (!semver_parse(version, &v))
        return cli_usage("wopr: the version must be a semantic version like 1.4.2\n");
    path = cli_path(c, "/v1/packs/", str_c(c->argv[1]), "");
    path = arena_printf(c->arena, STR_FMT "/-/" STR_FMT "/yank", STR_ARG(path), STR_ARG(version));
    jobj_begin(&o, 65536);
    jw_kstrz(&o.w, "reason", in->reason);
    struct str body = jobj_end(&o, c->arena);
    int rc = cli_ask_at(c, in->url, "POST", path, body, &answer);
    if (rc == 0) printf("yanked %s %s\n", c->argv[1], c->argv[2]);
    return rc;
}

int cmd_packs(struct cli *c) {
    if (cli_help(c, USAGE)) return 0;
    struct packs_args in = {.url = cli_take_url(c),
                            .out = cli_take_value(c, "--out"),
                            .key = cli_take_value(c, "--key"),
                            .public_key = cli_take_value(c, "--public-key"),
                            .from = cli_take_value(c, "--from"),
                            .integrity = cli_take_value(c, "--integrity"),
                            .reason = cli_take_value(c, "--reason"),
                            .inputs = cli_take_value(c, "--inputs"),
                            .shared = cli_take_flag(c, "--shared"),
                            .force = cli_take_flag(c, "--force"),
                            .json = cli_take_flag(c, "--json")};
    static const struct cli_verb VERBS[] = {
        {"keygen", 1, 1, .on_file = packs_keygen, .file = VERB_NO_FILE},
        {"build", 1, 1, .on_file = packs_build, .file = VERB_NO_FILE},
        {"run", 2, 2, .on_file = packs_run, .file = VERB_NO_FILE},
        {"sign", 1, 1, .on_file = packs_sign, .file = VERB_NO_FILE},
        {"verify", 1, 1, .on_file = packs_verify, .file = VERB_NO_FILE},
        {"publish", 1, 1, .on_host = packs_publish},
        {"yank", 2, 2, .on_host = packs_yank},
        {"install", 1, 1, .on_file = packs_install, .file = VERB_WRITES},
        {"list", .on_file = packs_list},
        {"show", 1, 1, .on_file = packs_show},
        {"history", 1, 1, .on_file = packs_history},
        {"remove", 2, 2, .on_file = packs_remove, .file = VERB_WRITES},
        {"revoke-key", 2, 2, .on_file = packs_revoke_key, .file = VERB_WRITES}};
    int rc = cli_config(c);
    return rc == 0 ? cli_verbs(c, VERBS, sizeof VERBS / sizeof *VERBS, NULL, &in) : rc;
}
