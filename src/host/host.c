/* host.c: order of start and stop; see host.h. */
#include "host/host.h"
#include "host/ai_file.h"
#include "host/issuers_watch.h"

#include "audit/audit.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/ident.h"
#include "codec/json.h"
#include "domain/agent_manifest.h"
#include "hooks/hooks.h"
#include "host/canary.h"
#include "host/keys.h"
#include "host/metrics.h"
#include "host/packs_seed.h"
#include "host/remotes.h"
#include "host/seal_file.h"
#include "host/seal_old.h"
#include "host/sessions.h"
#include "http/assets.h"
#include "mcp/server.h"
#include "nodes/nodes.h"
#include "nodes/pack_agents.h"
#include "nodes/pack_loader.h"
#include "otel/otel.h"
#include "store/agents.h"
#include "store/sqlite/sqlite.h"
#include "wire/v1/v1.h"
#include "workspec/language.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define HOST_ARENA_MAX     (64u * 1024 * 1024)
#define OPS_PORT_AUTO      9464
#define OPS_PORT_WHEN_FREE (-2) /* setting: OPS_PORT_AUTO, or off when that is taken */
#define OPS_PORT_OFF       (-1)
#define TICKET_LIFETIME_MS (5 * 60 * 1000)
#define DAY_S              86400
#define KEPT_FOR_EVER_S    (10 * 365 * DAY_S) /* advertised when runs are never deleted */
#define STORE_BUSY_MS      5000               /* to wait for another writer of the file */
#define STALL_MS           300000             /* workflow.stalled window (STORE-41) */
#define BURST_S            4                  /* a key's burst is its rate times this */
#define LARGE_BURST_S      2                  /* the same for a tenant's large bodies */

/* Copies a row of config.def into the layer's struct: OPT_<SECTION>(...) FILL(struct, ...) once a
 * row.  The range of an INT must fit the member that it is copied to. */
#define FILL(to, section, member, TYPE, name, env, def, unit, min, max, ...)                       \
    FILL_##TYPE((to).member, h->cfg.section##_##member, min, max)
#define FILL_INT(to, from, min, max)                                                               \
    _Static_assert((__typeof__(to))(min) == (min) && (int64_t)(__typeof__(to))(max) == (max),      \
                   "range exceeds member");                                                        \
    (to) = (__typeof__(to))(from);
#define FILL_BOOL(to, from, min, max)   (to) = (from);
#define FILL_STR(to, from, min, max)    (to) = (from);
#define FILL_OPTSTR(to, from, min, max) (to) = (from)[0] != '\0' ? (from) : NULL;
#define FILL_LIST(to, from, min, max)   (to) = config_list(from, h->arena);
#define FILL_CHOICE(to, from, min, max) /* an enum of the layer: copied by hand */

struct host {
    struct arena *arena;
    struct config cfg;
    struct run_limits limits;
    struct store *store;
    struct vault *vault;
    struct schema_set *schemas;
    struct wf_env env;
    struct wf_env env_seeds; /* types that workers may serve some day are allowed */
    struct wf_env env_loose; /* checks structure only: fixtures may use unknown node types */
    struct node_registry *types;
    struct node_catalog *catalog;
    struct ai_providers *ai;      /* NULL = none */
    struct http_issuers *issuers; /* NULL = none */
    struct issuers_watch *issuers_watch;
    struct payload_rules *rules;
    struct journal *journal;
    struct egress *egress; /* NULL = off */
    struct sandbox *sandbox;
    struct pack_loader *packs;
    struct pack_agents *pack_agents;
    struct remotes remotes;
    struct engine *engine;
    struct rail *rail;
    struct hooks *hooks; /* NULL = off */
    struct audit *audit; /* NULL = off */
    struct otel *otel;   /* NULL = off */
    struct trace_policy trace;
    struct v1 *v1;
    struct http_assets *assets; /* NULL: no dashboard */
    struct http_server *http;
    struct metrics_sources sources;
    const char *const *capabilities;
    const char **fixtures;
    struct host_keys keys;
    bool journal_running, engine_running;
    char holder[48];
};

static bool knows_type(void *ctx, struct str type_id) {
    const struct host *h = ctx;
    if (node_registry_find(h->types, type_id) != NULL) return true;
    return h->packs && pack_loader_has(h->packs, STR(""), type_id); /* of all tenants */
}

/* Seeds are there before any worker is: a type that workers may register is warned of, and runs are
 * refused until a tenant has it (WRK-4).  Ids of our own families are known, or mistakes. */
static bool seed_knows_type(void *ctx, struct str type_id) {
    char name[ID_TYPE_MAX + 1];
    if (knows_type(ctx, type_id)) return true;
    if (!wf_type_of_others(type_id)) return false;
    (void)snprintf(name, sizeof name, STR_FMT, STR_ARG(type_id));
    log_warn("a seeded workflow has a node of a type that this host does not execute; its runs are "
             "refused until a worker has registered the type",
             "type", name);
    return true;
}

static enum store_sync sync_of(const char *name) {
    if (strcmp(name, "normal") == 0) return STORE_SYNC_NORMAL;
    return strcmp(name, "off") == 0 ? STORE_SYNC_OFF : STORE_SYNC_FULL;
}

static int open_store(struct host *h, struct wopr_error *err) {
    struct store_config sc = {
        .sync = sync_of(h->cfg.store_sync), .busy_timeout_ms = STORE_BUSY_MS, .host_lock = true};
#define OPT_STORE(...) FILL(sc, store, __VA_ARGS__)
#include "host/config.def"
    return store_open(&sc, &h->store, err);
}

static bool conformance_asked(const struct config *c) {
    return c->host_conformance || c->host_conformance_types;
}

/* What runs may name (CAP-20). */
static int ai_names(struct host *h, struct wopr_error *err) {
    const size_t n = ai_providers_count(h->ai);
    size_t byok_nr = 0;
    if (n == 0) return 0;
    const char **all = ARENA_ARRAY(h->arena, const char *, n + 1);
    const char **byok = ARENA_ARRAY(h->arena, const char *, n + 1);
    for (size_t i = 0; all && byok && i < n; i++) {
        all[i] = arena_cstr(h->arena, ai_providers_name(h->ai, i));
        if (ai_providers_byok(h->ai, i)) byok[byok_nr++] = all[i];
    }
    if (arena_failed(h->arena)) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    h->limits.ai_providers = all;
    h->limits.byok_providers = byok;
    return 0;
}

/* A store of credentials that no node here resolves is not worth a word (CAP-19). */
static bool uses_credentials(const struct host *h) {
    return conformance_asked(&h->cfg) || (h->limits.byok_providers && h->limits.byok_providers[0]);
}

static const char *ai_policy_code(struct host *h) {
    struct str code = ai_providers_policy_code(h->ai);
    return code.p ? arena_cstr(h->arena, code) : NULL;
}

static int register_types(struct host *h, const struct node_type *extra, size_t extra_nr,
                          struct wopr_error *err) {
    h->types = node_registry_new();
    unsigned without = h->cfg.host_conversations ? 0 : NODE_IS_CONVERSATION; /* CONV-2 */
    int rc = h->types == NULL ? wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory") : 0;
    if (rc == 0) rc = ai_file_read(h->cfg.host_ai_providers, &h->ai, err);
    if (rc == 0) rc = nodes_register(h->types, conformance_asked(&h->cfg), without, h->ai, err);
    for (size_t i = 0; rc == 0 && i < extra_nr; i++)
        rc = node_registry_add(h->types, &extra[i], err);
    if (rc == 0) rc = node_catalog_new(h->types, &h->catalog, err);
    if (rc == 0) rc = definition_schema_new(&h->schemas, &h->env.definition_schema, err);
    if (rc != 0) return rc;
    h->env.knows_type = knows_type;
    h->env.config_wrong =
        h->cfg.host_conversations ? nodes_config_wrong : nodes_config_wrong_silent;
    h->env.ctx = h;
    h->env_seeds = h->env;
    h->env_seeds.knows_type = seed_knows_type;
    h->env.dialects = &WS_DIALECT; /* of what is stored, not of what callers put */
    h->env.dialects_nr = 1;
    h->env_loose.definition_schema = h->env.definition_schema;
    return 0;
}

/* The store creates secrets on first use: do it now, while this is the only writer. */
static int make_secrets(struct store *s, struct arena *a, struct wopr_error *err) {
    static const char *const names[] = {"pepper", "ticket"};
    struct token_secret signs;
    uint8_t bytes[32];
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof names / sizeof *names; i++)
        rc = store_secret(s, names[i], bytes, err);
    if (rc == 0) rc = store_token_secret_current(s, a, &signs, err);
    return rc == WOPR_E_NOT_FOUND ? token_secret_rotate(s, a, &signs, err) : rc;
}

/* A sub-workflow is executable only if its child is. */
static bool lacks_child(struct host *h, const struct workflow *w) {
    for (size_t i = 0; i < w->nodes_nr; i++) {
        struct workflow_row row;
        struct workflow *child = NULL;
        if (!(w->nodes[i].traits & NODE_IS_PARENT)) continue;
        struct str id = json_string(json_get(w->nodes[i].config, "workflowId"), h->arena);
        int rc = store_workflow_get(h->store, STR(""), false, id, h->arena, &row, NULL);
        if (rc == 0) rc = workflow_compile(row.text, &h->env, &child, NULL);
        workflow_unref(child);
        if (rc != 0) return true;
    }
    return false;
}

/* It speaks with an MCP server or an A2A agent, and the operator has named none for everybody. */
static bool lacks_remote(const struct host *h, const struct wf_node *n) {
    bool mcp = json_get(n->config, "mcp").n > 0;
    if (!mcp && !str_eqc(n->type_id, "core.a2a.invoke")) return false;
    for (size_t i = 0; i < h->remotes.n; i++)
        if (h->remotes.v[i].kind == (mcp ? REMOTE_MCP : REMOTE_A2A) &&
            h->remotes.v[i].tenants.n == 0)
            return false;
    return true;
}

static bool lacks_agent(const struct host *h, struct str metadata) {
    struct agent_row row;
    struct str id = json_string(json_get(metadata, "requiresWorkspaceAgent"), h->arena);
    return id.n > 0 && store_agent_get(h->store, str_c(h->cfg.host_tenant), false, id, h->arena,
                                       &row, NULL) != 0;
}

/* Fixtures that rely on packs or agents (30 section 3) that are not there, or on systems that this
 * host does not know: they would run without doing what their scenario checks. */
static bool asks_for_more(const struct host *h, const struct workflow *w) {
    struct str metadata = json_get(w->text, "metadata");
    for (size_t i = 0; i < w->nodes_nr; i++)
        if (lacks_remote(h, &w->nodes[i])) return true;
    struct str pack = json_get(metadata, "requiresInstalledPack");
    if (pack.p != NULL && !pack_is_shared(h->store, json_string(pack, h->arena))) return true;
    return lacks_agent(h, metadata);
}

/* FIX-45: its scenario wants to see it refused. */
#define REFUSED_WITHOUT_CONVERSATIONS "conformance-conversation-capability-negotiation"

/* CAP-23, FIX-3: a fixture is advertised when every node type it uses is really executable here. */
static int advertise_fixtures(struct host *h, struct wopr_error *err) {
    struct workflow_row_list rows;
    size_t n = 0;
    int rc = store_workflow_list(h->store, h->arena, &rows, err);
    if (rc != 0) return rc;
    h->fixtures = ARENA_ARRAY(h->arena, const char *, rows.n + 1);
    if (h->fixtures == NULL) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < rows.n; i++) {
        struct workflow *w = NULL;
        struct str id = rows.v[i].workflow_id;
        if (rows.v[i].tenant.n > 0) continue;
        if (!str_starts(id, STR("conformance-")) && !str_starts(id, STR("openwop-smoke-")))
            continue;
        if (str_eqc(id, REFUSED_WITHOUT_CONVERSATIONS)) {
            if (!h->cfg.host_conversations) h->fixtures[n++] = arena_cstr(h->arena, id);
            continue;
        }
        if (workflow_compile(rows.v[i].text, &h->env, &w, NULL) != 0) continue;
        if (!asks_for_more(h, w) && !lacks_child(h, w)) h->fixtures[n++] = arena_cstr(h->arena, id);
        workflow_unref(w);
    }
    return arena_failed(h->arena) ? wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory") : 0;
}

static int load_seeds(struct host *h, struct wopr_error *err) {
    struct seed_counts n = {0, 0, 0};
    int rc = 0;
    if (h->cfg.host_conformance) rc = seed_packs(h->store, err);
    if (rc == 0 && h->cfg.host_conformance) rc = seed_fixtures(h->store, &h->env_loose, &n, err);
    if (rc == 0 && h->cfg.host_conformance)
        rc = seed_fixture_agents(h->store, str_c(h->cfg.host_tenant), err);
    if (rc == 0 && h->cfg.host_conformance)
        rc = canary_provide(h->store, h->vault, str_c(h->cfg.host_tenant), err);
    if (rc == 0 && h->cfg.host_seed[0] != '\0')
        rc = seed_folder(h->store, h->cfg.host_seed, &h->env_seeds, &n, err);
    if (rc == 0) rc = advertise_fixtures(h, err);
    return rc;
}

static void limits_set(struct host *h) {
    h->limits = RUN_LIMITS_DEFAULT;
#define OPT_LIMITS(...) FILL(h->limits, limits, __VA_ARGS__)
#include "host/config.def"
}

/* Name the setting that is wrong. */
static int setting_wrong(const char *name, int rc, struct wopr_error *err) {
    char why[sizeof err->message];
    memcpy(why, err->message, sizeof why);
    return wopr_error_at(err, rc, name, "setting \"%s\": %s", name, why);
}

static int build_egress(struct host *h, struct wopr_error *err) {
    struct egress_config ec = {
        .user_agent = "wopr/" WOPR_VERSION,
        .transfers_max = (unsigned)h->cfg.egress_transfers,
        .peer_transfers_max = (unsigned)h->cfg.egress_host_transfers,
        .proxy = h->cfg.egress_proxy,
        .proxy_user = h->cfg.egress_proxy_user,
        .ca_file = h->cfg.egress_ca_file,
    };
    if (!h->cfg.egress_enabled) return 0;
    int rc = egress_allow_parse(str_c(h->cfg.egress_allow), &ec.allow, err);
    if (rc == 0 && h->cfg.egress_loopback)
        rc = egress_allow_parse(STR("127.0.0.0/8,::1"), &ec.allow, err);
    if (rc != 0) return setting_wrong("egress-allow", rc, err);
    rc = egress_proxy_check(h->cfg.egress_proxy, err);
    if (rc != 0) return setting_wrong("egress-proxy", rc, err);
    rc = egress_ca_check(h->cfg.egress_ca_file, err);
    if (rc != 0) return setting_wrong("egress-ca-file", rc, err);
    rc = ai_file_check(h->ai, &ec.allow, err);
    return rc == 0 ? egress_new(&ec, &h->egress, err) : rc;
}

static int build_issuers(struct host *h, struct wopr_error *err) {
    const struct egress_allow *allow = h->egress != NULL ? egress_allowed(h->egress) : NULL;
    struct issuers_file f = {.path = h->cfg.host_issuers, .allow = allow};
    if (f.path == NULL || *f.path == '\0') return 0;
    int rc = issuers_file_read(&f, &h->issuers, err);
    if (rc == 0) rc = issuers_watch_new(&f, h->issuers, h->egress, &h->issuers_watch, err);
    if (rc != 0) issuers_file_fini(&f);
    return rc;
}

static int build_remotes(struct host *h, struct wopr_error *err) {
    const struct egress_allow *allow = h->egress != NULL ? egress_allowed(h->egress) : NULL;
    return host_remotes_load(&h->cfg, allow, h->arena, &h->remotes, err);
}

/* A rule of the contract that an operator has set aside (D65) is told at each start. */
static void relaxations_tell(const struct host *h) {
    if (h->egress != NULL && egress_allow_loopback(egress_allowed(h->egress)))
        log_warn("a relaxation is in force: requests of users may reach this machine itself",
                 "relaxation", "egress-loopback", "setting",
                 h->cfg.egress_loopback ? "egress-loopback" : "egress-allow");
}

static struct otel_config otel_settings(const struct host *h) {
    struct otel_config oc = {.version = WOPR_VERSION,
                             .instance = h->holder,
                             .sampler = h->cfg.otel_sampler,
                             .traces = strcmp(h->cfg.otel_traces_exporter, "none") != 0,
                             .metrics = strcmp(h->cfg.otel_metrics_exporter, "none") != 0,
                             .json = strcmp(h->cfg.otel_protocol, "http/json") == 0,
                             .records = h->cfg.otel_records};
#define OPT_OTEL(...) FILL(oc, otel, __VA_ARGS__)
#include "host/config.def"
    return oc;
}

static int build_otel(struct host *h, struct wopr_error *err) {
    struct otel_config oc = otel_settings(h);
    return otel_wanted(&oc) ? otel_new(h->journal, &oc, &h->otel, err) : 0;
}

/* Without a program to execute modules there are none: only wopr itself can be one. */
static int build_packs(struct host *h, struct wopr_error *err) {
    const struct sandbox_config sc = {.program = h->cfg.host_wasm_program,
                                      .workers = (unsigned)h->cfg.host_wasm_workers,
                                      .memory_max = (uint64_t)h->cfg.host_wasm_memory_max,
                                      .time_ms_max = (int)h->cfg.host_wasm_time_ms};
    int rc = h->cfg.host_wasm_program[0] ? sandbox_new(&sc, &h->sandbox, err) : 0;
    const struct pack_loader_config pc = {h->store, h->sandbox, &h->remotes};
    return rc == 0 ? pack_loader_new(&pc, &h->packs, err) : rc;
}

/* The tools of sessions are there when a folder was named, which may be empty: then earlier ones
 * can be gone on with, and none begins. */
static bool sessions_asked(const struct config *cfg) { return cfg->host_sessions[0] != '\0'; }

/* Sessions are led by commands and tools alike, so the engine is told of them before it starts. */
static int build_rail(struct host *h, struct wopr_error *err) {
    const struct rail_config rc = {.store = h->store,
                                   .journal = h->journal,
                                   .vault = h->vault,
                                   .rules = h->rules,
                                   .tenant_bytes_max = h->cfg.bounds_tenant_bytes_max,
                                   .retention_ms = h->cfg.host_sessions_days * DAY_S * 1000,
                                   .offered = h->cfg.wire_mcp && sessions_asked(&h->cfg),
                                   .checkpoints = h->cfg.host_sessions_checkpoints,
                                   .resume = h->cfg.host_sessions_resume,
                                   .reread = sessions_asked(&h->cfg) ? host_sessions_reread : NULL,
                                   .reread_ctx = &h->cfg};
    return host_sessions_new(&h->cfg, &rc, &h->rail, err);
}

static int build_engine(struct host *h, struct wopr_error *err) {
    char id[ULID_LEN + 1];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    ulid_new(id);
    snprintf(h->holder, sizeof h->holder, "host-%s", id);
    const struct otel_config oc = otel_settings(h);
    struct journal_config jc = {0};
#define OPT_JOURNAL(...) FILL(jc, journal, __VA_ARGS__)
#include "host/config.def"
    int rc = otel_policy(&oc, &h->trace, err);
    if (rc == 0) rc = payload_rules_new(&h->rules, err);
    if (rc == 0) rc = journal_new(h->store, &jc, &h->journal, err);
    if (rc == 0) rc = build_rail(h, err);
    if (rc != 0) return rc;
    struct engine_config ec = {
        .limits = h->limits,
        .conformance = conformance_asked(&h->cfg),
        .runtime_capabilities = h->capabilities,
        .holder = h->holder,
        .sole_host = h->cfg.store_exclusive,
        .retention_ms = h->cfg.host_retention_days * DAY_S * 1000,
        .egress = h->egress,
        .sandbox = h->sandbox,
        .remotes = &h->remotes,
        .vault = h->vault,
        .trace = h->trace,
        .audited = strcmp(h->cfg.host_audit, "off") != 0,
        .stall_ms = STALL_MS,
        .led = {h->rail, rail_take},
    };
    if (h->packs) ec.modules = pack_loader_modules(h->packs);
    ec.agents = pack_agents_hook(h->pack_agents);
#define OPT_ENGINE(...) FILL(ec, engine, __VA_ARGS__)
#define OPT_BOUNDS(...) FILL(ec.bounds, bounds, __VA_ARGS__)
#define OPT_MEMORY(...) FILL(ec.memory, memory, __VA_ARGS__)
#include "host/config.def"
    if (ec.workers == 0) ec.workers = cores > 0 ? (unsigned)cores : 1;
    return engine_new(h->journal, h->rules, h->types, &h->env, &ec, &h->engine, err);
}

static int question_shown(void *ctx, const struct interrupt_row *row, bool answers, struct arena *a,
                          struct str *out, struct wopr_error *err) {
    struct host *h = ctx;
    return v1_question_render(h->v1, row, answers, http_server_base(h->http, a), a, out, err);
}

static int build_hooks(struct host *h, struct wopr_error *err) {
    struct hooks_config hc = {.render = v1_event_render,
                              .question = question_shown,
                              .question_ctx = h,
                              .version = WOPR_VERSION,
                              .egress = h->egress,
                              .vault = h->vault,
                              .trace = h->trace,
                              .sole_host = h->cfg.store_exclusive};
#define OPT_HOOKS(...) FILL(hc, hooks, __VA_ARGS__)
#include "host/config.def"
    return h->egress != NULL && hc.enabled ? hooks_new(h->journal, &hc, &h->hooks, err) : 0;
}

static int build_audit(struct host *h, struct wopr_error *err) {
    struct audit_config ac = {.checkpoint_entries = h->cfg.host_audit_entries,
                              .checkpoint_s = h->cfg.host_audit_s,
                              .old_key_s = h->cfg.host_audit_old_key_days * DAY_S};
    struct sha256 secrets[1 + AUDIT_OLD_KEYS_MAX];
    if (strcmp(h->cfg.host_audit, "off") == 0) return 0;
    if (h->cfg.host_audit_file[0] != '\0') ac.checkpoint_file = h->cfg.host_audit_file;
    size_t n =
        vault_derive_each(h->vault, STR("wopr audit 1"), secrets, sizeof secrets / sizeof *secrets);
    if (n == 0)
        return wopr_error_at(err, WOPR_E_CONFIG, "audit-log",
                             "the audit log needs the key file of this installation");
    memcpy(ac.secret, secrets[0].b, sizeof ac.secret);
    for (size_t i = 1; i < n; i++)
        memcpy(ac.old_secrets[ac.old_nr++], secrets[i].b, sizeof secrets[i].b);
    int rc = audit_new(h->journal, &ac, &h->audit, err);
    mem_wipe(secrets, sizeof secrets);
    mem_wipe(&ac, sizeof ac);
    return rc;
}

static int offer_sessions(struct host *h, struct wopr_error *err) {
    struct mcp_server *server = v1_mcp(h->v1);
    if (server == NULL || !sessions_asked(&h->cfg)) return 0;
    const struct mcp_set *set = rail_tools(h->rail);
    if (set == NULL) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for tools");
    return mcp_server_add(server, set, err);
}

static bool ui_asked(const struct config *cfg) { return strcmp(cfg->host_ui, "on") == 0; }

static int build_wire(struct host *h, struct wopr_error *err) {
    int64_t retention_s = h->cfg.host_retention_days * DAY_S;
    struct v1_config vc = {
        .version = WOPR_VERSION,
        .vendor = "wopr",
        .limits = h->limits,
        .runtime_capabilities = h->capabilities,
        .conformance = conformance_asked(&h->cfg),
        .idem_retention_s = h->cfg.http_idem_retention_s,
        .max_run_duration_sec = h->limits.max_run_duration_sec,
        .ticket_lifetime_ms = TICKET_LIFETIME_MS,
        .interrupt_token_ms = h->cfg.host_interrupt_token_s * 1000,
        .external_event_retention_s = retention_s > 0 ? retention_s : KEPT_FOR_EVER_S,
        .cascade = nodes_any(h->types, NODE_IS_PARENT),
        .env = &h->env,
        .types = node_catalog_types(h->catalog),
        .ai_policy_code = ai_policy_code(h),
        .secrets = uses_credentials(h),
        .mcp_urls = host_remotes_shown(&h->remotes, REMOTE_MCP, h->arena),
        .client_certificates =
            h->cfg.http_tls_clients_file != NULL && h->cfg.http_tls_clients_file[0] != '\0',
        .hooks = h->hooks,
        .webhooks_max = h->cfg.hooks_per_tenant_max,
        .audit = h->audit,
        .audit_entries = h->cfg.host_audit_entries,
        .audit_s = h->cfg.host_audit_s,
        .traces = h->trace.on,
        .conversations = h->cfg.host_conversations,
        .ui = ui_asked(&h->cfg),
        .wasm = h->sandbox ? sandbox_limits(h->sandbox) : (struct sandbox_limits){0},
        .memory = node_registry_find(h->types, STR("vendor.wopr.recall")) != NULL,
        .memory_entry_max = h->cfg.memory_entry_bytes_max,
        .issuers = h->issuers,
        .model_classes = ai_file_classes(h->ai, h->arena),
        .fixtures = h->fixtures,
        .rail = h->rail,
        .sessions = h->cfg.wire_mcp && sessions_asked(&h->cfg),
        .rail_version = WOPR_VERSION,
    };
#define OPT_WIRE(...) FILL(vc, wire, __VA_ARGS__)
#include "host/config.def"
    int rc = v1_new(&vc, h->engine, h->journal, &h->v1, err);
    return rc == 0 ? offer_sessions(h, err) : rc;
}

static void request_audited(void *ctx, const struct plan_audit *row) { audit_note(ctx, row); }

static int build_http(struct host *h, int32_t ops_port, struct wopr_error *err) {
    h->sources.store = h->store;
    h->sources.journal = h->journal;
    h->sources.engine = h->engine;
    h->sources.egress = h->egress;
    h->sources.sandbox = h->sandbox;
    h->sources.issuers = h->issuers_watch;
    h->sources.hooks = h->hooks;
    h->sources.audit = h->audit;
    h->sources.otel = h->otel;
    h->sources.v1 = h->v1;
    struct http_config hc = {
        .configured = h->keys.v,
        .configured_nr = h->keys.n,
        .issuers = h->issuers,
        .ops = {host_metrics_render, host_metrics_ready, &h->sources},
    };
#define OPT_HTTP(...)  FILL(hc, http, __VA_ARGS__)
#define OPT_RATES(...) FILL(hc.rates, rates, __VA_ARGS__)
#include "host/config.def"
    hc.ops_port = ops_port;
    hc.audit.note = h->audit != NULL ? request_audited : NULL;
    hc.audit.ctx = h->audit;
    hc.audit.reads = strcmp(h->cfg.host_audit, "all") == 0;
    vault_derive(h->vault, STR("wopr idempotency 1"), &hc.idem.secret, &hc.idem.secret_no);
    if (hc.rates.key_burst == 0) hc.rates.key_burst = BURST_S * hc.rates.key_rate;
    if (hc.rates.tenant_burst == 0) hc.rates.tenant_burst = BURST_S * hc.rates.tenant_rate;
    hc.rates.large_body_burst = LARGE_BURST_S * hc.rates.large_body_rate;
    struct http_mount mounts[2] = {*v1_mount(h->v1)}; /* the first answers "/" too */
    size_t mounts_nr = 1;
    if (h->assets != NULL) mounts[mounts_nr++] = *http_assets_mount(h->assets);
    return http_server_new(&hc, mounts, mounts_nr, h->journal, &h->http, err);
}

int host_new(const struct config *cfg, const struct node_type *extra, size_t extra_nr,
             struct host **out, struct wopr_error *err) {
    struct host *h = MEM_NEW(struct host);
    if (h == NULL) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    h->cfg = *cfg;
    h->sources.started_ms = clock_wall_ms();
    h->arena = arena_new(HOST_ARENA_MAX);
    int rc = h->arena == NULL ? wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory") : 0;
    if (rc == 0) {
        limits_set(h);
        h->capabilities = config_list(cfg->host_capabilities, h->arena);
        rc = open_store(h, err);
    }
    if (rc == 0) rc = register_types(h, extra, extra_nr, err);
    if (rc == 0) rc = ai_names(h, err);
    if (rc == 0) rc = make_secrets(h->store, h->arena, err);
    if (rc == 0) rc = seal_vault(&h->cfg, h->store, &h->vault, err);
    if (rc == 0) rc = seal_old_values(h->store, h->vault, err);
    if (rc == 0) rc = host_keys_load(&h->keys, &h->cfg, h->store, h->arena, err);
    if (rc == 0) rc = build_egress(h, err);
    if (rc == 0) rc = build_issuers(h, err);
    if (rc == 0) rc = build_remotes(h, err);
    if (rc == 0) rc = build_packs(h, err);
    if (rc == 0) rc = load_seeds(h, err); /* which fixtures are true depends on both */
    if (rc == 0) rc = pack_agents_new(h->store, &h->pack_agents, err);
    if (rc == 0) rc = build_engine(h, err);
    if (rc == 0) rc = build_otel(h, err);
    if (rc == 0) rc = build_hooks(h, err);
    if (rc == 0) rc = build_audit(h, err);
    if (rc == 0) rc = build_wire(h, err);
    if (rc == 0 && ui_asked(cfg)) rc = http_assets_new(&h->assets, err);
    if (rc != 0) {
        host_free(h);
        return rc;
    }
    *out = h;
    return 0;
}

/* OPS_PORT_AUTO is only a default: a second host on the machine starts without the operations
 * listener instead of failing on a port that its user never chose. */
static int start_http(struct host *h, struct wopr_error *err) {
    bool is_auto = h->cfg.http_ops_port == OPS_PORT_WHEN_FREE;
    int rc = build_http(h, is_auto ? OPS_PORT_AUTO : (int32_t)h->cfg.http_ops_port, err);
    if (rc == 0) rc = http_server_start(h->http, err);
    if (rc != WOPR_E_IO || !is_auto) return rc;
    http_server_free(h->http);
    h->http = NULL;
    rc = build_http(h, OPS_PORT_OFF, err);
    if (rc == 0) rc = http_server_start(h->http, err);
    if (rc == 0)
        log_warn("the operations port is taken: /healthz, /readyz and /metrics are off", "port",
                 "9464");
    return rc;
}

int host_start(struct host *h, struct wopr_error *err) {
    int rc = h->otel != NULL ? otel_start(h->otel, err) : 0; /* before the first commit */
    if (rc == 0) rc = journal_start(h->journal, err);
    if (rc != 0) return rc;
    h->journal_running = true;
    relaxations_tell(h);
    if (h->egress != NULL) egress_start(h->egress);
    if (rc == 0) rc = rail_start(h->rail, h->engine, err); /* before a command can be its own */
    if (rc == 0) rc = engine_start(h->engine, err);
    if (rc != 0) return rc;
    h->engine_running = true;
    if (h->audit != NULL) rc = audit_start(h->audit, err);
    if (rc != 0) return rc;
    if (h->issuers_watch != NULL) rc = issuers_watch_start(h->issuers_watch, err);
    if (rc == 0) rc = host_keys_record(&h->keys, h->store, h->arena, err);
    if (rc == 0) rc = start_http(h, err);
    /* callbacks name the address on which the server listens */
    return rc == 0 && h->hooks != NULL ? hooks_start(h->hooks, err) : rc;
}

void host_stop(struct host *h) {
    if (h->http != NULL) http_server_drain(h->http, h->cfg.host_drain_ms);
    hooks_stop(h->hooks);
    rail_stop(h->rail); /* what it answers, it answers through the engine */
    if (h->engine_running) engine_stop(h->engine);
    h->engine_running = false;
    issuers_watch_stop(h->issuers_watch);
    if (h->egress != NULL)
        egress_stop(h->egress); /* requests under way are sent again after the next start */
    sandbox_stop(h->sandbox);
    audit_stop(h->audit);
    if (h->journal_running) journal_stop(h->journal);
    h->journal_running = false;
    otel_stop(h->otel);
    http_server_free(h->http);
    h->http = NULL;
}

void host_free(struct host *h) {
    if (h == NULL) return;
    host_stop(h);
    http_assets_free(h->assets);
    v1_free(h->v1);
    engine_free(h->engine);
    rail_free(h->rail);
    pack_loader_free(h->packs);
    pack_agents_free(h->pack_agents);
    sandbox_free(h->sandbox);
    egress_free(h->egress);
    hooks_free(h->hooks);
    issuers_watch_free(h->issuers_watch);
    audit_free(h->audit);
    otel_free(h->otel);
    journal_free(h->journal);
    payload_rules_free(h->rules);
    node_catalog_free(h->catalog);
    node_registry_free(h->types);
    ai_providers_free(h->ai);
    http_issuers_free(h->issuers);
    schema_set_free(h->schemas);
    vault_free(h->vault);
    store_close(h->store);
    arena_free(h->arena);
    mem_free(h);
}

uint16_t host_port(const struct host *h) { return http_server_port(h->http); }

int host_ops_port(const struct host *h) {
    uint16_t p = http_server_ops_port(h->http);
    return p == 0 ? OPS_PORT_OFF : p;
}

struct store *host_store(struct host *h) {
    return h->store;
}

const char *host_first_key(const struct host *h) { return h->keys.first; }
