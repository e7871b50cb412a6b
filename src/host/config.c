/* config.c: see config.h.  The table is config.def; nothing here names a single setting except
 * config_check. */
#include "host/config.h"

#include "base/near.h"
#include "codec/ident.h"
#include "codec/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum opt_type { TYPE_STR, TYPE_INT, TYPE_BOOL };
struct opt {
    enum opt_type type;
    const char *flag, *env, *def, *help;
    size_t offset;
};
static const struct opt OPTS[] = {
#define OPT(member, type, flag, env, def, help)                                                    \
    {TYPE_##type, flag, env, def, help, offsetof(struct config, member)},
#include "host/config.def"
#undef OPT
};
#define OPTS_NR         (sizeof OPTS / sizeof OPTS[0])
#define CONFIG_FILE_MAX (256u * 1024)

static bool opt_is_secret(const struct opt *o) { return strcmp(o->flag, "api-key") == 0; }

static bool parse_bool(struct str v, bool *out) {
    static const char *const yes[] = {"true", "1", "yes", "on"};
    static const char *const no[] = {"false", "0", "no", "off", ""};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        if (str_eq_nocase(v, str_c(yes[i]))) return *out = true, true;
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (str_eq_nocase(v, str_c(no[i]))) return *out = false, true;
    return false;
}

static int opt_set(struct config *c, const struct opt *o, struct str v, const char *from,
                   struct arena *a, struct wopr_error *err) {
    void *slot = (char *)c + o->offset;
    if (o->type == TYPE_STR) {
        const char *copy = arena_cstr(a, v);
        if (copy == NULL) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
        *(config_str *)slot = copy;
        return 0;
    }
    if (o->type == TYPE_INT) {
        int64_t n;
        if (!str_i64(v, &n))
            return wopr_error_at(err, WOPR_E_CONFIG, o->flag,
                                 "setting \"%s\" from %s must be a whole number: %s", o->flag, from,
                                 o->help);
        *(int64_t *)slot = n;
        return 0;
    }
    if (!parse_bool(v, (bool *)slot))
        return wopr_error_at(err, WOPR_E_CONFIG, o->flag,
                             "setting \"%s\" from %s must be true or false", o->flag, from);
    return 0;
}

static const struct opt *opt_find(struct str name) {
    for (size_t i = 0; i < OPTS_NR; i++)
        if (str_eqc(name, OPTS[i].flag)) return &OPTS[i];
    return NULL;
}

bool config_knows(struct str name) { return str_eqc(name, "config") || opt_find(name) != NULL; }

bool config_takes_value(struct str name) {
    const struct opt *o = opt_find(name);
    return o == NULL || o->type != TYPE_BOOL;
}

void config_names(struct near *n) {
    near_try(n, STR("config"));
    for (size_t i = 0; i < OPTS_NR; i++)
        if (OPTS[i].help[0] != '\0') near_try(n, str_c(OPTS[i].flag));
}

static bool env_known(struct str name, struct near *n) {
    static const char *const MORE[] = {"WOPR_CONFIG", "WOPR_URL"};
    bool known = false;
    for (size_t i = 0; i < OPTS_NR; i++) {
        known = known || str_eqc(name, OPTS[i].env);
        near_try(n, str_c(OPTS[i].env));
    }
    for (size_t i = 0; i < sizeof MORE / sizeof *MORE; i++) {
        known = known || str_eqc(name, MORE[i]);
        near_try(n, str_c(MORE[i]));
    }
    return known;
}

void config_env_doubts(struct buf *out) {
    extern char **environ;
    for (char **e = environ; e != NULL && *e != NULL; e++) {
        struct str name = str_n(*e, strcspn(*e, "="));
        struct near n;
        near_init(&n, name);
        if (!str_starts(name, STR("WOPR_")) && !str_starts(name, STR("OPENWOP_"))) continue;
        if (env_known(name, &n) || near_best(&n).n == 0) continue;
        buf_addf(out,
                 "wopr: warning: the variable " STR_FMT " is none of ours; did you mean " STR_FMT
                 "?\n",
                 STR_ARG(name), STR_ARG(near_best(&n)));
    }
}

static int read_file(const char *path, struct buf *out, struct wopr_error *err) {
    char chunk[4096];
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return wopr_error_set(err, WOPR_E_CONFIG, "cannot read the configuration file %s: %s", path,
                              strerror(errno));
    size_t n;
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0) buf_add(out, chunk, n);
    fclose(f);
    if (buf_failed(out))
        return wopr_error_set(err, WOPR_E_CONFIG, "%s is larger than %u bytes", path,
                              CONFIG_FILE_MAX);
    return 0;
}

static int member_set(struct config *c, const struct json_member *m, const char *path,
                      struct arena *a, struct wopr_error *err) {
    const struct opt *o = opt_find(m->key);
    if (o == NULL) {
        char hint[NEAR_HINT];
        struct near n;
        near_init(&n, m->key);
        config_names(&n);
        return wopr_error_at(err, WOPR_E_CONFIG, path,
                             "%s: there is no setting \"%.*s\"%s See wopr serve --help", path,
                             (int)(m->key.n < NEAR_HINT ? m->key.n : NEAR_HINT), m->key.p,
                             near_best(&n).n > 0 ? near_hint(&n, hint) : ".");
    }
    struct str v = m->raw;
    if (json_type_of(v) == JSON_STRING) v = json_string(v, a);
    return opt_set(c, o, v, path, a, err);
}

static int load_file(struct config *c, const char *path, struct arena *a, struct wopr_error *err) {
    struct buf text;
    struct json_members ms;
    buf_init(&text, CONFIG_FILE_MAX);
    int rc = read_file(path, &text, err);
    if (rc == 0) rc = json_check(buf_str(&text), &JSON_LIMITS_DEFAULT, err);
    if (rc == 0) rc = json_members(buf_str(&text), a, &ms, err);
    if (rc == WOPR_E_SYNTAX || rc == WOPR_E_TOO_BIG) {
        char why[sizeof err->message];
        memcpy(why, err->message, sizeof why);
        rc = wopr_error_set(err, WOPR_E_CONFIG, "%s is not a JSON object: %s", path, why);
    }
    for (size_t i = 0; rc == 0 && i < ms.n; i++) rc = member_set(c, &ms.v[i], path, a, err);
    buf_fini(&text);
    return rc;
}

static int load_env(struct config *c, struct arena *a, struct wopr_error *err) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < OPTS_NR; i++) {
        const char *v = getenv(OPTS[i].env);
        if (v != NULL && *v != '\0') rc = opt_set(c, &OPTS[i], str_c(v), OPTS[i].env, a, err);
    }
    return rc;
}

/* One flag at argv[*i]; *i moves past what was used.  config_file is set for --config. */
static int take_flag(struct config *c, int argc, char **argv, int *i, const char **config_file,
                     struct arena *a, struct wopr_error *err) {
    struct str name = str_c(argv[*i] + 2), value = STR_NONE;
    bool has_value = str_cut(name, '=', &name, &value);
    const struct opt *o = opt_find(name);
    bool is_config = str_eqc(name, "config");
    if (o == NULL && !is_config)
        return wopr_error_set(err, WOPR_E_CONFIG, "unknown option %s; see wopr serve --help",
                              argv[*i]);
    if (!has_value && o != NULL && o->type == TYPE_BOOL) {
        value = STR("true");
    } else if (!has_value) {
        if (*i + 1 >= argc)
            return wopr_error_set(err, WOPR_E_CONFIG, "option %s needs a value", argv[*i]);
        value = str_c(argv[++*i]);
    }
    if (is_config) {
        if (config_file != NULL) *config_file = value.p;
        return 0;
    }
    if (c == NULL) return 0;
    c->key_in_arguments |= opt_is_secret(o);
    return opt_set(c, o, value, "the command line", a, err);
}

/* Flags named in keep are left for the command; see cli. */
static bool is_flag(const char *arg) { return arg[0] == '-' && arg[1] == '-' && arg[2] != '\0'; }

int config_load(struct config *c, int *argc, char **argv, struct arena *a, struct wopr_error *err) {
    struct config t;
    const char *file = getenv("WOPR_CONFIG");
    int rc = 0, kept = 0;
    memset(&t, 0, sizeof t);
    for (size_t i = 0; rc == 0 && i < OPTS_NR; i++)
        rc = opt_set(&t, &OPTS[i], str_c(OPTS[i].def), "the defaults", a, err);
    for (int i = 0; rc == 0 && i < *argc; i++)
        if (is_flag(argv[i])) rc = take_flag(NULL, *argc, argv, &i, &file, a, err);
    if (rc == 0 && file != NULL && *file != '\0') rc = load_file(&t, file, a, err);
    if (rc == 0) rc = load_env(&t, a, err);
    for (int i = 0; rc == 0 && i < *argc; i++) {
        if (is_flag(argv[i])) rc = take_flag(&t, *argc, argv, &i, NULL, a, err);
        else argv[kept++] = argv[i];
    }
    if (rc != 0) return rc;
    *argc = kept;
    *c = t;
    return 0;
}

static int want(bool ok, const char *flag, const char *what, struct wopr_error *err) {
    if (ok) return 0;
    return wopr_error_at(err, WOPR_E_CONFIG, flag, "setting \"%s\" must be %s", flag, what);
}

/* "*", or scheme://host[:port] each: what a browser sends has no path and no slash at the end. */
static bool origins_ok(const char *list) {
    struct str rest = str_c(list), one;
    while (rest.n > 0) {
        if (!str_cut(rest, ',', &one, &rest)) one = rest, rest = STR_NONE;
        one = str_trim(one);
        struct str scheme, host;
        if (one.n == 0 || str_eqc(one, "*")) continue;
        if (!str_cut(one, ':', &scheme, &host) || !str_starts(host, STR("//"))) return false;
        if (host.n == 2 || memchr(host.p + 2, '/', host.n - 2) != NULL) return false;
    }
    return true;
}

static bool one_of(const char *v, const char *a, const char *b, const char *c, const char *d) {
    return strcmp(v, a) == 0 || strcmp(v, b) == 0 || strcmp(v, c) == 0 ||
           (d != NULL && strcmp(v, d) == 0);
}

enum { RATE_MAX = 1000000000 };
#define RATE_RANGE "0..1000000000, its burst too"
struct rule {
    bool ok;
    const char *flag, *what;
};

static int all_hold(const struct rule *v, size_t n, struct wopr_error *err) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) rc = want(v[i].ok, v[i].flag, v[i].what, err);
    return rc;
}

/* A rate of 2^32 would be none. */
static bool rate_ok(int64_t rate, int64_t burst) {
    return rate >= 0 && rate <= RATE_MAX && burst >= 0 && burst <= RATE_MAX;
}

static int check_http(const struct config *c, struct wopr_error *err) {
    const struct rule rules[] = {
        {c->http_threads >= 1 && c->http_threads <= 64, "http-threads", "1..64"},
        {c->connections_max >= 16 && c->connections_max <= 1000000, "connections-max",
         "16..1000000"},
        {c->connection_bytes == 0 ||
             (c->connection_bytes >= 4096 && c->connection_bytes <= 1048576),
         "connection-bytes", "0 or 4096..1048576"},
        {c->address_connections_max >= 0 && c->address_connections_max <= 1000000,
         "address-connections-max", "0..1000000"},
        {c->head_timeout_s >= 1 && c->head_timeout_s <= 3600, "head-timeout-s", "1..3600"},
        {c->requests_max >= 1 && c->requests_max <= 100000, "requests-max", "1..100000"},
        {c->streams_max >= 1 && c->streams_max <= 1000000, "streams-max", "1..1000000"},
        {c->polls_max >= 1 && c->polls_max <= 1000000, "polls-max", "1..1000000"},
        {c->key_polls_max >= 0 && c->key_polls_max <= c->polls_max, "key-polls-max",
         "0..polls-max"},
        {c->reserve_percent >= 0 && c->reserve_percent <= 50, "reserve-percent", "0..50"},
        {c->memory_bytes >= 16 * 1024 * 1024, "memory-bytes", "at least 16777216"},
        {rate_ok(c->auth_failure_rate, c->auth_failure_burst), "auth-failure-rate", RATE_RANGE},
        {c->read_threads >= 1 && c->read_threads <= 64, "read-threads", "1..64"},
        {rate_ok(c->key_rate, c->key_burst), "key-rate", RATE_RANGE},
        {rate_ok(c->address_rate, c->address_burst), "address-rate", RATE_RANGE},
        {c->keepalive_ms >= 50 && c->keepalive_ms <= 30000, "keepalive-ms", "50..30000 (SSE-12)"},
        {c->read_timeout_s >= 1 && c->read_timeout_s <= 3600, "read-timeout-s", "1..3600"},
        {c->body_max >= 1024 && c->body_max <= 16 * 1024 * 1024, "max-body-bytes",
         "1024..16777216"},
        {origins_ok(c->cors_origins), "cors-origins",
         "* or a list of scheme://host[:port] without a path"},
    };
    return all_hold(rules, sizeof rules / sizeof *rules, err);
}

int config_check(const struct config *c, struct wopr_error *err) {
    const struct rule rules[] = {
        {c->port >= 0 && c->port <= 65535, "port", "0..65535"},
        {c->ops_port >= -2 && c->ops_port <= 65535, "ops-port", "-2..65535"},
        {c->db[0] != '\0', "db", "the path of a database file"},
        {id_tenant_valid(str_c(c->tenant)), "tenant", "1..128 of A-Z a-z 0-9 . _ -"},
        {one_of(c->sync, "full", "normal", "off", NULL), "sync", "full, normal or off"},
        {one_of(c->log_level, "debug", "info", "warn", "error"), "log-level",
         "debug, info, warn or error"},
        {one_of(c->log_format, "json", "text", "auto", NULL), "log-format", "json, text or auto"},
        {(c->tls_cert[0] == '\0') == (c->tls_key[0] == '\0'), "tls-cert",
         "given together with tls-key"},
        {c->workers >= 0 && c->workers <= 256, "workers", "0..256"},
        {c->runs_active_max >= 1, "runs-active-max", "at least 1"},
        {c->tenant_runs_active_max >= 0, "tenant-runs-active-max", "0 (three quarters) or more"},
        {c->state_bytes_max >= 1 << 20, "state-bytes-max", "at least 1048576"},
        {c->run_events_max >= 100, "run-events-max", "at least 100"},
        {c->run_bytes_max >= 1 << 20, "run-bytes-max", "at least 1048576"},
        {c->run_state_bytes_max >= 1 << 16 && c->run_state_bytes_max <= 16 << 20,
         "run-state-bytes-max", "65536..16777216"},
        {c->tenant_bytes_max >= 0, "tenant-bytes-max", "0 (unlimited) or more"},
        {c->claim_ttl_ms >= 500, "claim-ttl-ms", "at least 500"},
        {c->heartbeat_ms >= 100 && c->heartbeat_ms * 2 <= c->claim_ttl_ms, "heartbeat-ms",
         "100 up to half of claim-ttl-ms (STORE-32)"},
        {c->idem_retention_s >= 86400, "idempotency-seconds", "at least 86400 (IDEM-6)"},
        {c->interrupt_token_s >= 1 && c->interrupt_token_s <= 31536000, "interrupt-token-seconds",
         "1..31536000"},
        {c->retention_days == 0 || c->retention_days >= 7, "retention-days",
         "0 (never) or at least 7 (PROF-24)"},
        {c->max_node_executions >= 1, "max-node-executions", "at least 1"},
        {c->max_run_seconds >= 1, "max-run-seconds", "at least 1"},
        {c->slow_commit_ms >= 0 && c->slow_commit_ms <= 3600000, "slow-commit-ms", "0..3600000"},
        {c->drain_ms >= 0 && c->drain_ms <= 600000, "drain-ms", "0..600000"},
        {c->clock_file[0] == '\0' || c->conformance, "clock-file", "used with conformance-seed"},
    };
    int rc = all_hold(rules, sizeof rules / sizeof *rules, err);
    return rc == 0 ? check_http(c, err) : rc;
}

void config_help(struct buf *out) {
    for (size_t i = 0; i < OPTS_NR; i++)
        if (OPTS[i].help[0] != '\0')
            buf_addf(out, "  --%-22s %s [%s; %s]\n", OPTS[i].flag, OPTS[i].help,
                     OPTS[i].def[0] != '\0' ? OPTS[i].def : "none", OPTS[i].env);
    buf_addz(out,
             "  --config                 JSON file with any of these names [none; WOPR_CONFIG]\n");
}

void config_print(const struct config *c, struct buf *out) {
    struct jw w;
    jw_init(&w, out);
    jw_object(&w);
    for (size_t i = 0; i < OPTS_NR; i++) {
        const void *slot = (const char *)c + OPTS[i].offset;
        jw_key(&w, OPTS[i].flag);
        if (OPTS[i].type == TYPE_INT) {
            jw_int(&w, *(const int64_t *)slot);
        } else if (OPTS[i].type == TYPE_BOOL) {
            jw_bool(&w, *(const bool *)slot);
        } else {
            const char *v = *(const config_str *)slot;
            jw_strz(&w, opt_is_secret(&OPTS[i]) && *v != '\0' ? "[REDACTED]" : v);
        }
    }
    jw_end_object(&w);
    buf_addc(out, '\n');
}

const char *const *config_list(const char *text, struct arena *a) {
    size_t n = 1, i = 0;
    if (text == NULL || *text == '\0') return NULL;
    for (const char *p = text; *p != '\0'; p++) n += *p == ',';
    const char **v = ARENA_ARRAY(a, const char *, n + 1);
    struct str rest = str_c(text);
    while (v != NULL && i < n) {
        struct str head = rest, tail = STR_NONE;
        bool more = str_cut(rest, ',', &head, &tail);
        v[i++] = arena_cstr(a, str_trim(more ? head : rest));
        if (!more) break;
        rest = tail;
    }
    return v;
}
