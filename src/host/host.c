/* host.c: order of start and stop; see host.h. */
#include "host/host.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/ident.h"
#include "codec/json.h"
#include "host/keys.h"
#include "host/metrics.h"
#include "nodes/nodes.h"
#include "store/sqlite/sqlite.h"
#include "wire/v1/v1.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define HOST_ARENA_MAX     (64u * 1024 * 1024)
#define OPS_PORT_AUTO      9464
#define TICKET_LIFETIME_MS (5 * 60 * 1000)
#define KEPT_FOR_EVER_S    (10 * 365 * 86400) /* shown for runs that are never deleted */

struct host {
    struct arena *arena;
    struct config cfg;
    struct run_limits limits;
    struct store *store;
    struct schema_set *schemas;
    struct wf_env env_loose,
        env; /* loose: structure only, for fixtures whose node types come later */
    struct node_registry *types;
    struct payload_rules *rules;
    struct journal *journal;
    struct egress *egress; /* NULL = off */
    struct engine *engine;
    struct v1 *v1;
    struct http_server *http;
    struct metrics_sources sources;
    const char *const *capabilities;
    const char **fixtures;
    struct host_keys keys;
    size_t seeded;
    bool log_running, engine_running;
    char holder[48];
};

static bool knows_type(void *ctx, struct str type_id) {
    const struct host *h = ctx;
    return node_registry_find(h->types, type_id) != NULL;
}

static enum store_sync sync_of(const char *name) {
    if (strcmp(name, "normal") == 0) return STORE_SYNC_NORMAL;
    return strcmp(name, "off") == 0 ? STORE_SYNC_OFF : STORE_SYNC_FULL;
}

static int open_store(struct host *h, struct wopr_error *err) {
    struct store_config sc = {.path = h->cfg.db,
                              .sync = sync_of(h->cfg.sync),
                              .busy_timeout_ms = 5000,
                              .host_lock = true,
                              .exclusive = h->cfg.exclusive};
    return store_open(&sc, &h->store, err);
}

static int register_types(struct host *h, const struct node_type *extra, size_t extra_nr,
                          struct wopr_error *err) {
    h->types = node_registry_new();
    int rc = h->types == NULL ? wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory") : 0;
    bool conformance = h->cfg.conformance || h->cfg.conformance_types;
    if (rc == 0) rc = nodes_register_core(h->types, conformance, err);
    for (size_t i = 0; rc == 0 && i < extra_nr; i++)
        rc = node_registry_add(h->types, &extra[i], err);
    if (rc == 0) rc = definition_schema_new(&h->schemas, &h->env.definition_schema, err);
    if (rc != 0) return rc;
    h->env.knows_type = knows_type;
    h->env.config_wrong = nodes_config_wrong;
    h->env.ctx = h;
    h->env_loose.definition_schema = h->env.definition_schema;
    return 0;
}

/* Secrets are made by the store's writer on first use: make them now, while nobody else writes. */
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

/* A sub-workflow runs only when its child does: same store, same node types. */
static bool lacks_child(struct host *h, const struct workflow *w) {
    static const char *const types[] = {"core.subWorkflow", "core.control.subWorkflow"};
    for (size_t i = 0; i < w->nodes_nr; i++) {
        struct workflow_row row;
        struct workflow *child = NULL;
        bool is_sub = false;
        for (size_t k = 0; k < sizeof types / sizeof *types; k++)
            is_sub = is_sub || str_eqc(w->nodes[i].type_id, types[k]);
        if (!is_sub) continue;
        struct str id = json_string(json_get(w->nodes[i].config, "workflowId"), h->arena);
        int rc = store_workflow_get(h->store, STR(""), false, id, h->arena, &row, NULL);
        if (rc == 0) rc = workflow_compile(row.text, &h->env, &child, NULL);
        workflow_unref(child);
        if (rc != 0) return true;
    }
    return false;
}

/* What a fixture may ask of its nodes beyond their types (30 section 3): these work with agents,
 * packs and MCP, which this host does not offer yet, so a fixture that relies on one of them would
 * run without doing what its scenario checks. */
static bool asks_for_more(const struct workflow *w) {
    static const char *const flags[] = {"emitReasoningTrace", "mockConfidence", "memoryAction",
                                        "emitDuplicateMessageId", "mcp"};
    struct str metadata = json_get(w->text, "metadata");
    for (size_t i = 0; i < w->nodes_nr; i++) {
        if (w->nodes[i].agent.n > 0) return true;
        for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
            if (json_get(w->nodes[i].config, flags[k]).p != NULL) return true;
    }
    return json_get(metadata, "requiresInstalledPack").p != NULL ||
           json_get(metadata, "requiresWorkspaceAgent").p != NULL;
}

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
        if (workflow_compile(rows.v[i].text, &h->env, &w, NULL) != 0) continue;
        if (!asks_for_more(w) && !lacks_child(h, w)) h->fixtures[n++] = arena_cstr(h->arena, id);
        workflow_unref(w);
    }
    return arena_failed(h->arena) ? wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory") : 0;
}

static int load_seeds(struct host *h, struct wopr_error *err) {
    struct seed_counts n = {0, 0, 0};
    int rc = 0;
    if (h->cfg.conformance) rc = seed_fixtures(h->store, &h->env_loose, &n, err);
    if (rc == 0 && h->cfg.seed[0] != '\0')
        rc = seed_folder(h->store, h->cfg.seed, &h->env, &n, err);
    h->seeded = n.created + n.updated + n.same;
    if (rc == 0) rc = advertise_fixtures(h, err);
    return rc;
}

static void limits_from(const struct config *c, struct run_limits *l) {
    *l = RUN_LIMITS_DEFAULT;
    l->max_node_executions = c->max_node_executions;
    l->max_run_duration_sec = c->max_run_seconds;
}

static int build_egress(struct host *h, struct wopr_error *err) {
    struct egress_config ec = {.user_agent = "wopr/" WOPR_VERSION};
    if (!h->cfg.egress) return 0;
    int rc = egress_allow_parse(str_c(h->cfg.egress_allow), &ec.allow, err);
    if (rc != 0) { /* say which setting */
        char why[sizeof err->message];
        memcpy(why, err->message, sizeof why);
        return wopr_error_at(err, rc, "egress-allow", "setting \"egress-allow\": %s", why);
    }
    return egress_new(&ec, &h->egress, err);
}

static int build_engine(struct host *h, struct wopr_error *err) {
    char id[ULID_LEN + 1];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    ulid_new(id);
    snprintf(h->holder, sizeof h->holder, "host-%s", id);
    struct journal_config lc = {.slow_commit_ms = (unsigned)h->cfg.slow_commit_ms};
    int rc = payload_rules_new(&h->rules, err);
    if (rc == 0) rc = journal_new(h->store, &lc, &h->journal, err);
    if (rc != 0) return rc;
    struct engine_config ec = {
        .workers = (unsigned)(h->cfg.workers > 0 ? h->cfg.workers
                              : cores > 0        ? cores
                                                 : 1),
        .limits = h->limits,
        .conformance = h->cfg.conformance || h->cfg.conformance_types,
        .runtime_capabilities = h->capabilities,
        .holder = h->holder,
        .lease_ttl_ms = h->cfg.claim_ttl_ms,
        .heartbeat_ms = h->cfg.heartbeat_ms,
        .sole_host = h->cfg.exclusive,
        .retention_ms = h->cfg.retention_days * 86400 * 1000,
        .runs_active_max = (size_t)h->cfg.runs_active_max,
        .bounds = {.state_bytes_max = (size_t)h->cfg.state_bytes_max,
                   .tenant_runs_active_max = (size_t)h->cfg.tenant_runs_active_max,
                   .run_events_max = h->cfg.run_events_max,
                   .run_bytes_max = h->cfg.run_bytes_max,
                   .tenant_bytes_max = h->cfg.tenant_bytes_max,
                   .run_state_bytes_max = (size_t)h->cfg.run_state_bytes_max},
        .egress = h->egress,
        .stall_ms = 300000,
    };
    return engine_new(h->journal, h->rules, h->types, &h->env, &ec, &h->engine, err);
}

static int build_wire(struct host *h, struct wopr_error *err) {
    struct v1_config vc = {
        .version = WOPR_VERSION,
        .vendor = "wopr",
        .limits = h->limits,
        .runtime_capabilities = h->capabilities,
        .conformance = h->cfg.conformance || h->cfg.conformance_types,
        .idem_retention_s = h->cfg.idem_retention_s,
        .max_run_duration_sec = h->cfg.max_run_seconds,
        .body_max = (size_t)h->cfg.body_max,
        .ticket_lifetime_ms = TICKET_LIFETIME_MS,
        .interrupt_token_ms = h->cfg.interrupt_token_s * 1000,
        .interrupt_callbacks = h->cfg.interrupt_callbacks,
        .interrupt_auth_required = h->cfg.interrupt_auth_required,
        .external_event_retention_s =
            h->cfg.retention_days > 0 ? h->cfg.retention_days * 86400 : KEPT_FOR_EVER_S,
        .cascade = node_registry_find(h->types, STR("core.subWorkflow")) != NULL,
        .fixtures = h->fixtures,
    };
    return v1_new(&vc, h->engine, h->journal, &h->v1, err);
}

static int build_http(struct host *h, int32_t ops_port, struct wopr_error *err) {
    const struct config *c = &h->cfg;
    h->sources.store = h->store;
    h->sources.journal = h->journal;
    h->sources.engine = h->engine;
    h->sources.egress = h->egress;
    struct http_config hc = {
        .host = c->host,
        .port = (uint16_t)c->port,
        .threads = (unsigned)c->http_threads,
        .ops_host = c->ops_host,
        .ops_port = ops_port,
        .tls_cert_file = c->tls_cert[0] != '\0' ? c->tls_cert : NULL,
        .tls_key_file = c->tls_key[0] != '\0' ? c->tls_key : NULL,
        .public_url = c->public_url[0] != '\0' ? c->public_url : NULL,
        .configured = h->keys.v,
        .configured_nr = h->keys.n,
        .allowed_hosts = config_list(c->allowed_hosts, h->arena),
        .cors_origins = config_list(c->cors_origins, h->arena),
        .connections_max = (unsigned)c->connections_max,
        .address_connections_max = (unsigned)c->address_connections_max,
        .trusted_proxies = c->trusted_proxies,
        .head_timeout_s = (int)c->head_timeout_s,
        .requests_max = (unsigned)c->requests_max,
        .streams_max = (unsigned)c->streams_max,
        .polls_max = (unsigned)c->polls_max,
        .key_polls_max = (unsigned)c->key_polls_max,
        .reserve_percent = (unsigned)c->reserve_percent,
        .memory_bytes = (size_t)c->memory_bytes,
        .auth_failure_rate = (unsigned)c->auth_failure_rate,
        .auth_failure_burst = (unsigned)c->auth_failure_burst,
        .read_threads = (unsigned)c->read_threads,
        .pool_bytes = (size_t)c->connection_bytes,
        .keepalive_ms = (int)c->keepalive_ms,
        .read_timeout_s = (int)c->read_timeout_s,
        .idem_wait_ms = 10000,
        .idem_retention_s = c->idem_retention_s,
        .key_rate = (unsigned)c->key_rate,
        .key_burst = (unsigned)(c->key_burst > 0 ? c->key_burst : 4 * c->key_rate),
        .address_rate = (unsigned)c->address_rate,
        .address_burst = (unsigned)c->address_burst,
        .metrics = host_metrics_render,
        .ready = host_metrics_ready,
        .metrics_ctx = &h->sources,
    };
    return http_server_new(&hc, v1_wire(h->v1), h->journal, &h->http, err);
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
        limits_from(cfg, &h->limits);
        h->capabilities = config_list(cfg->capabilities, h->arena);
        rc = open_store(h, err);
    }
    if (rc == 0) rc = register_types(h, extra, extra_nr, err);
    if (rc == 0) rc = make_secrets(h->store, h->arena, err);
    if (rc == 0) rc = host_keys_load(&h->keys, &h->cfg, h->store, h->arena, err);
    if (rc == 0) rc = load_seeds(h, err);
    if (rc == 0) rc = build_egress(h, err);
    if (rc == 0) rc = build_engine(h, err);
    if (rc == 0) rc = build_wire(h, err);
    if (rc != 0) {
        host_free(h);
        return rc;
    }
    *out = h;
    return 0;
}

/* The operations listener is wanted on OPS_PORT_AUTO unless somebody else has it: two hosts on one
 * machine must not stumble over a port nobody asked for. */
static int start_http(struct host *h, struct wopr_error *err) {
    bool is_auto = h->cfg.ops_port == -2;
    int rc = build_http(h, is_auto ? OPS_PORT_AUTO : (int32_t)h->cfg.ops_port, err);
    if (rc == 0) rc = http_server_start(h->http, err);
    if (rc != WOPR_E_IO || !is_auto) return rc;
    http_server_free(h->http);
    h->http = NULL;
    rc = build_http(h, -1, err);
    if (rc == 0) rc = http_server_start(h->http, err);
    if (rc == 0)
        log_warn("the operations port is taken: /healthz, /readyz and /metrics are off", "port",
                 "9464");
    return rc;
}

int host_start(struct host *h, struct wopr_error *err) {
    int rc = journal_start(h->journal, err);
    if (rc != 0) return rc;
    h->log_running = true;
    if (h->egress != NULL) rc = egress_start(h->egress, err);
    if (rc == 0) rc = engine_start(h->engine, err);
    if (rc != 0) return rc;
    h->engine_running = true;
    rc = host_keys_record(&h->keys, h->store, h->arena, err);
    return rc == 0 ? start_http(h, err) : rc;
}

void host_stop(struct host *h) {
    if (h->http != NULL) http_server_drain(h->http, h->cfg.drain_ms);
    if (h->engine_running) engine_stop(h->engine);
    h->engine_running = false;
    if (h->egress != NULL)
        egress_stop(h->egress); /* what is under way is asked again at the next start */
    if (h->log_running) journal_stop(h->journal);
    h->log_running = false;
    http_server_free(h->http);
    h->http = NULL;
}

void host_free(struct host *h) {
    if (h == NULL) return;
    host_stop(h);
    v1_free(h->v1);
    engine_free(h->engine);
    egress_free(h->egress);
    journal_free(h->journal);
    payload_rules_free(h->rules);
    node_registry_free(h->types);
    schema_set_free(h->schemas);
    store_close(h->store);
    arena_free(h->arena);
    mem_free(h);
}

uint16_t host_port(const struct host *h) { return http_server_port(h->http); }

int host_ops_port(const struct host *h) {
    uint16_t p = http_server_ops_port(h->http);
    return p == 0 ? -1 : p;
}

struct store *host_store(struct host *h) {
    return h->store;
}

const char *host_first_key(const struct host *h) { return h->keys.first; }

size_t host_workflows_seeded(const struct host *h) { return h->seeded; }
