/*
 * packs_install.c: wopr packs install: out of a file, the registry of the database, or that of
 * another host.  What may be installed is judged here, whatever the registry said (PACK-26,
 * PACK-61, PACK-63).
 */
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "cli/packs.h"
#include "domain/agent_manifest.h"
#include "egress/operator.h"
#include "host/ai_file.h"
#include "packs/agents.h"
#include "packs/pins.h"
#include "packs/resolve.h"

enum { KEYS_MAX = 64, KEY_FILE_MAX = 4096, FETCH_TIMEOUT_MS = 120000, SPEC_MAX = 1024 };

struct source { /* where the bytes came from */
    struct str tarball, signature, origin;
    struct str deprecation, yank; /* raw; empty: none */
    struct str keychain;          /* of another host's registry, as it answered; or empty */
};

/* --- from a registry --- */

static int spec_split(struct cli *c, struct str *name, struct str *wanted) {
    struct str spec = str_c(c->argv[1]);
    struct wopr_error err = {0};
    if (!str_cut(spec, '@', name, wanted)) {
        *name = spec;
        *wanted = STR("*");
    }
    return pack_name_check(*name, NULL, &err) == 0 ? 0 : cli_fail(&err);
}

static int packs_install_resolve(struct cli *c, const struct pack_releases *all, struct str wanted,
                                 const struct pack_release **out) {
    struct wopr_error err = {0};
    if (pack_resolve(all, wanted, out, &err) != 0) return cli_fail(&err);
    (void)c;
    return 0;
}

static int local_fetch(struct cli *c, struct store *s, struct source *out) {
    struct str name, wanted;
    struct pack_releases all;
    const struct pack_release *r = NULL;
    struct wopr_error err = {0};
    struct buf body;
    int rc = spec_split(c, &name, &wanted);
    if (rc != 0) return rc;
    if (store_pack_list(s, name, c->arena, &all, &err) != 0) return cli_fail(&err);
    rc = packs_install_resolve(c, &all, wanted, &r);
    if (rc != 0) return rc;
    buf_init(&body, PACK_TARBALL_BYTES_MAX);
    rc = store_pack_blob(s, &r->digest, &body, &err);
    if (rc == 0) out->tarball = arena_str(c->arena, buf_str(&body));
    buf_fini(&body);
    if (rc != 0) return cli_fail(&err);
    if (!r->over_manifest) out->signature = r->signature;
    out->origin = STR("registry");
    out->deprecation = r->deprecation;
    out->yank = r->yank;
    return 0;
}

/* One GET; *status as it came. */
static int registry_get(struct cli *c, const char *base, struct str name, const char *rest,
                        struct operator_answer *a) {
    struct wopr_error err = {0};
    const struct operator_request q = {
        .base = base,
        .method = "GET",
        .path = arena_printf(c->arena, "/v1/packs/" STR_FMT "%s", STR_ARG(name), rest),
        .timeout_ms = FETCH_TIMEOUT_MS};
    return operator_ask(&q, c->arena, a, &err) == 0 ? 0 : cli_fail(&err);
}

static int registry_refused(struct cli *c, const struct operator_answer *a, const char *what) {
    bool json = json_check(a->body, &JSON_LIMITS_STORED, NULL) == 0;
    fprintf(stderr, "wopr: the registry has no %s: %d " STR_FMT "\n", what, a->status,
            STR_ARG(json ? cli_member(c, a->body, "error") : STR("(no registry)")));
    return 1;
}

/* The catalog record of another host as a list of releases. */
static int catalog_read(struct cli *c, struct str body, struct pack_releases *out) {
    struct json_members versions;
    struct wopr_error err = {0};
    int rc = json_check(body, &JSON_LIMITS_STORED, &err);
    if (rc == 0) rc = json_members(json_get(body, "versions"), c->arena, &versions, &err);
    struct pack_release *v =
        rc == 0 ? ARENA_ARRAY(c->arena, struct pack_release, versions.n) : NULL;
    if (!v) return cli_usage("wopr: the answer is not that of a registry; check --from\n");
    for (size_t i = 0; i < versions.n; i++)
        v[i] = (struct pack_release){.version = versions.v[i].key,
                                     .deprecation = json_get(versions.v[i].raw, "deprecation"),
                                     .yank = json_get(versions.v[i].raw, "yanked")};
    *out = (struct pack_releases){v, versions.n};
    return 0;
}

static int remote_fetch(struct cli *c, const char *from, struct source *out) {
    struct str name, wanted, base = str_c(from);
    struct pack_releases all;
    const struct pack_release *r = NULL;
    struct operator_answer a;
    char rest[SPEC_MAX];
    int rc = spec_split(c, &name, &wanted);
    while (base.n > 0 && base.p[base.n - 1] == '/') base.n--;
    const char *at = arena_cstr(c->arena, base);
    if (rc != 0 || !at) return rc != 0 ? rc : 1;
    rc = registry_get(c, at, name, "", &a);
    if (rc == 0 && a.status != 200) rc = registry_refused(c, &a, "such pack");
    if (rc == 0) rc = catalog_read(c, a.body, &all);
    if (rc == 0) rc = packs_install_resolve(c, &all, wanted, &r);
    if (rc != 0) return rc;
    (void)snprintf(rest, sizeof rest, "/-/" STR_FMT ".tgz", STR_ARG(r->version));
    rc = registry_get(c, at, name, rest, &a);
    if (rc == 0 && a.status != 200) rc = registry_refused(c, &a, "tarball of it");
    if (rc != 0) return rc;
    out->tarball = a.body;
    (void)snprintf(rest, sizeof rest, "/-/" STR_FMT ".sig", STR_ARG(r->version));
    rc = registry_get(c, at, name, rest, &a);
    if (rc != 0) return rc;
    if (a.status == 200) out->signature = a.body;
    rc = registry_get(c, at, name, "/-/keychain", &a);
    if (rc != 0) return rc;
    if (a.status == 200) out->keychain = a.body;
    out->origin = base;
    out->deprecation = r->deprecation;
    out->yank = r->yank;
    return 0;
}

/* --- from a file --- */

static int file_fetch(struct cli *c, struct source *out) {
    struct buf b, sig;
    struct str beside = arena_printf(c->arena, "%s.sig", c->argv[1]);
    int rc = packs_file_read(c->argv[1], PACK_TARBALL_BYTES_MAX, &b);
    if (rc != 0) return rc;
    out->tarball = arena_str(c->arena, buf_str(&b));
    buf_fini(&b);
    out->origin = STR("file");
    if (!beside.p || !fs_exists(beside.p)) return 0;
    rc = packs_file_read(beside.p, PACK_SIGNATURE_BYTES, &sig);
    if (rc != 0) return rc;
    out->signature = arena_str(c->arena, buf_str(&sig));
    buf_fini(&sig);
    return 0;
}

static int packs_install_fetch(struct cli *c, struct store *s, const struct packs_args *in,
                               struct source *out) {
    if (in->from) return remote_fetch(c, in->from, out);
    bool file = strchr(c->argv[1], '/') != NULL || str_ends(str_c(c->argv[1]), STR(".tgz"));
    return file ? file_fetch(c, out) : local_fetch(c, s, out);
}

/* --- may it? --- */

static int policy_load(struct cli *c, struct trust_policy *p) {
    static struct trust_key keys[KEYS_MAX];
    struct wopr_error err = {0};
    const char *const *files = config_list(c->cfg.host_pack_keys, c->arena);
    p->allow = config_list(c->cfg.host_pack_allow, c->arena);
    p->keys = keys;
    if (!trust_mode_parse(str_c(c->cfg.host_pack_trust), &p->mode))
        return cli_usage("wopr: pack-trust must be allowlist, pinned, verified or open\n");
    for (; files && *files; files++) {
        struct buf text;
        if (p->keys_nr == KEYS_MAX) return cli_usage("wopr: pack-keys names more than 64 files\n");
        int rc = packs_file_read(*files, KEY_FILE_MAX, &text);
        if (rc != 0) return rc;
        rc = pack_key_read(buf_str(&text), keys[p->keys_nr++].pub, &err);
        buf_fini(&text);
        if (rc != 0) return cli_fail(&err);
    }
    return 0;
}

static int engines_check(const struct pack_judged *j) {
    if (pack_engines_ok(j->manifest.engines)) return 0;
    fprintf(stderr,
            "wopr: the pack works with versions " STR_FMT
            " of the protocol, and this host speaks " PACK_PROTOCOL_VERSION "\n",
            STR_ARG(j->manifest.engines));
    return 1;
}

/* A type that the host has itself, or another pack brings, would be hidden by this one: one of the
 * tenant, or of any tenant when this one is for all. */
static int types_check(struct cli *c, struct store *s, bool shared, const struct pack_judged *j) {
    struct pack_types types, theirs;
    struct pack_installs all;
    struct checker k;
    struct wopr_error err = {0};
    int rc = manifest_types(&j->manifest, c->arena, &types, &err);
    if (rc == 0)
        rc = store_pack_installs(s, str_c(c->cfg.host_tenant), shared, c->arena, &all, &err);
    if (rc == 0) rc = checker_open(&k, true, &err);
    if (rc != 0) return cli_fail(&err);
    for (size_t i = 0; rc == 0 && i < types.n; i++) {
        struct wf_type t;
        if (!k.built_in.find(k.built_in.ctx, types.v[i], c->arena, &t)) continue;
        fprintf(stderr, "wopr: the host has a node type " STR_FMT " itself\n", STR_ARG(types.v[i]));
        rc = 1;
    }
    checker_close(&k);
    for (size_t i = 0; rc == 0 && i < all.n; i++) {
        const struct pack_manifest m = {.nodes = json_get(all.v[i].manifest, "nodes")};
        if (str_eq(all.v[i].name, j->manifest.name)) continue; /* versions of one pack */
        if (manifest_types(&m, c->arena, &theirs, &err) != 0) return cli_fail(&err);
        for (size_t x = 0; rc == 0 && x < types.n; x++)
            for (size_t y = 0; rc == 0 && y < theirs.n; y++)
                if (str_eq(types.v[x], theirs.v[y])) {
                    fprintf(stderr, "wopr: " STR_FMT " brings the node type " STR_FMT " already\n",
                            STR_ARG(all.v[i].name), STR_ARG(types.v[x]));
                    rc = 1;
                }
    }
    return rc;
}

struct agents_teller {
    struct cli *c;
    const char *place;
};

static void agent_finding(void *ctx, const struct lint_finding *f) {
    const struct agents_teller *t = ctx;
    if (f->error) finding_print(t->c, t->place, true, str_c(f->pointer), f->value, str_c(f->text));
}

/* AGT-43, AGT-44, and what a workspace agent must be, too: else a run would find out. */
static int agents_check(struct cli *c, const struct source *src, const struct pack_judged *j) {
    struct agent_rules rules = {.pack = j->manifest.name, .long_term = true};
    struct json_elements l = {0};
    struct wopr_error err = {0};
    bool wrong = false;
    int rc = j->manifest.agents.n > 0 ? json_elements(j->manifest.agents, c->arena, &l, &err) : 0;
    if (rc == 0)
        rc = ai_file_classes_read(c->cfg.host_ai_providers, c->arena, &rules.model_classes, &err);
    for (size_t i = 0; rc == 0 && i < l.n; i++) {
        const struct str id = json_string(json_get(l.v[i], "agentId"), c->arena);
        struct agents_teller t = {c, arena_cstr(c->arena, cli_text(c, id))};
        struct agent_judgement sum;
        struct str definition;
        rc = pack_agent_definition(src->tarball, l.v[i], c->arena, &definition, &err);
        if (rc == 0) rc = agent_judge(definition, &rules, agent_finding, &t, c->arena, &sum, &err);
        wrong = wrong || (rc == 0 && sum.errors > 0);
        if (rc == 0 && sum.class_unsupported) fprintf(stderr, "wopr: unsupported_model_class\n");
    }
    if (rc != 0) return cli_fail(&err);
    if (wrong) fprintf(stderr, "wopr: the pack is not installed: an agent of it cannot be used\n");
    return wrong ? 1 : 0;
}

static void marks_show(struct cli *c, const struct source *src) {
    if (src->yank.n > 0)
        fprintf(stderr, "wopr: warning: this version was yanked: " STR_FMT "\n",
                STR_ARG(cli_member(c, src->yank, "reason")));
    if (src->deprecation.n > 0)
        fprintf(stderr, "wopr: warning: this version is deprecated: " STR_FMT "\n",
                STR_ARG(cli_member(c, src->deprecation, "reason")));
}

static int install_write(struct cli *c, struct store *s, const struct packs_args *in,
                         const struct source *src, const struct pack_judged *j,
                         const struct pack_key_id *kid) {
    struct wopr_error err = {0};
    bool fresh = false;
    const struct pack_install row = {.tenant = in->shared ? STR("") : str_c(c->cfg.host_tenant),
                                     .name = j->manifest.name,
                                     .version = j->manifest.version,
                                     .digest = j->digest,
                                     .manifest = j->manifest.text,
                                     .origin = src->origin,
                                     .kid = str_c(kid->text),
                                     .installed_ms = clock_wall_ms(),
                                     .installed_by = STR("operator")};
    if (store_pack_install(s, &row, src->tarball, &fresh, &err) != 0) return cli_fail(&err);
    printf("%s " STR_FMT " " STR_FMT " " STR_FMT "\n",
           fresh ? "installed" : "unchanged:", STR_ARG(row.name), STR_ARG(row.version),
           STR_ARG(packs_sri(c, &row.digest)));
    return 0;
}

int packs_install(struct cli *c, struct store *s, const void *args) {
    const struct packs_args *in = args;
    struct source src = {.tarball = STR_NONE};
    struct trust_policy policy = {.keys_nr = 0};
    struct pack_key_id kid = {{0}};
    struct wopr_error err = {0};
    struct pack_judged j;
    bool manifest_only = false;
    int rc = policy_load(c, &policy);
    if (rc == 0) rc = packs_install_fetch(c, s, in, &src);
    if (rc == 0 && src.tarball.n > PACK_TARBALL_BYTES_MAX)
        rc = cli_usage("wopr: the tarball has more than 10485760 bytes\n");
    if (rc == 0) rc = packs_judge(c, src.tarball, false, &j);
    if (rc != 0) return rc;
    const struct trust_claim claim = {src.tarball, str_c(in->integrity), src.signature};
    if (trust_judge(&policy, &j, &claim, &kid, &manifest_only, &err) != 0) return cli_fail(&err);
    if (manifest_only && in->integrity == NULL)
        fputs("wopr: warning: the pack is signed over pack.json alone, which says nothing of its "
              "other files; --integrity names the bytes\n",
              stderr);
    const struct packs_signed sig = {j.manifest.name, src.tarball, j.manifest.text,
                                     src.signature.n > 0 ? src.signature : j.signature};
    if (packs_revoked_check(c, s, &sig, src.keychain, &err) != 0) return cli_fail(&err);
    rc = engines_check(&j);
    if (rc == 0) rc = types_check(c, s, in->shared, &j);
    if (rc == 0) rc = agents_check(c, &src, &j);
    if (rc != 0) return rc;
    marks_show(c, &src);
    packs_load_warn(c, &j);
    return install_write(c, s, in, &src, &j, &kid);
}
