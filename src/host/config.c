/* config.c: see config.h.  The table is config.def; nothing here names a single setting except
 * config_check. */
#include "host/config.h"

#include "base/fs.h"
#include "base/near.h"
#include "codec/ident.h"
#include "codec/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define CONFIG_FILE_MAX (256u * 1024)
#define MUST_TEXT_MAX   1024

const struct config_row CONFIG_ROWS[] = {
/* clang-format off */
#define OPT(section, member, TYPE, name, env, def, unit, min, max, flags, must, help) \
    {CONFIG_TYPE_##TYPE, name, env, def, min, max, flags, must, help,                 \
     offsetof(struct config, section##_##member)},
/* clang-format on */
#include "host/config.def"
};
const size_t CONFIG_ROWS_NR = sizeof CONFIG_ROWS / sizeof CONFIG_ROWS[0];

static bool row_is_offered(const struct config_row *o) {
    return (o->flags & (CONFIG_SECRET | CONFIG_HIDDEN)) == 0;
}

static bool bool_parse(struct str v, bool *out) {
    static const char *const yes[] = {"true", "1", "yes", "on"};
    static const char *const no[] = {"false", "0", "no", "off", ""};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        if (str_eq_nocase(v, str_c(yes[i]))) return *out = true, true;
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (str_eq_nocase(v, str_c(no[i]))) return *out = false, true;
    return false;
}

static int value_set(struct config *c, const struct config_row *o, struct str v, const char *from,
                     struct arena *a, struct wopr_error *err) {
    void *slot = (char *)c + o->offset;
    if (o->type == CONFIG_TYPE_INT) {
        if (str_i64(v, (int64_t *)slot)) return 0;
        return wopr_error_at(err, WOPR_E_CONFIG, o->name,
                             "setting \"%s\" from %s must be a whole number: %s", o->name, from,
                             o->help);
    }
    if (o->type == CONFIG_TYPE_BOOL) {
        if (bool_parse(v, (bool *)slot)) return 0;
        return wopr_error_at(err, WOPR_E_CONFIG, o->name,
                             "setting \"%s\" from %s must be true or false", o->name, from);
    }
    const char *copy = arena_cstr(a, v);
    if (copy == NULL) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    *(const char **)slot = copy;
    return 0;
}

static const struct config_row *row_find(struct str name) {
    for (size_t i = 0; i < CONFIG_ROWS_NR; i++)
        if (str_eqc(name, CONFIG_ROWS[i].name)) return &CONFIG_ROWS[i];
    return NULL;
}

bool config_knows(struct str name) { return str_eqc(name, "config") || row_find(name) != NULL; }

bool config_takes_value(struct str name) {
    const struct config_row *o = row_find(name);
    return o == NULL || o->type != CONFIG_TYPE_BOOL;
}

void config_names(struct near *n) {
    near_try(n, STR("config"));
    for (size_t i = 0; i < CONFIG_ROWS_NR; i++)
        if (row_is_offered(&CONFIG_ROWS[i])) near_try(n, str_c(CONFIG_ROWS[i].name));
}

static bool env_known(struct str name, struct near *n) {
    static const char *const MORE[] = {"WOPR_CONFIG", "WOPR_URL"};
    bool known = false;
    for (size_t i = 0; i < CONFIG_ROWS_NR; i++) {
        known = known || str_eqc(name, CONFIG_ROWS[i].env);
        near_try(n, str_c(CONFIG_ROWS[i].env));
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

static int text_read(const char *path, struct buf *out, struct wopr_error *err) {
    switch (fs_read(path, CONFIG_FILE_MAX, out)) {
    case FS_READ_OK:
        return 0;
    case FS_READ_TOO_BIG:
        return wopr_error_set(err, WOPR_E_CONFIG, "%s is larger than %u bytes", path,
                              CONFIG_FILE_MAX);
    case FS_READ_NO_FILE:
    case FS_READ_FAILED:
        break;
    }
    return wopr_error_set(err, WOPR_E_CONFIG, "cannot read the configuration file %s: %s", path,
                          strerror(errno));
}

static int member_set(struct config *c, const struct json_member *m, const char *path,
                      struct arena *a, struct wopr_error *err) {
    const struct config_row *o = row_find(m->key);
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
    return value_set(c, o, v, path, a, err);
}

static int load_file(struct config *c, const char *path, struct arena *a, struct wopr_error *err) {
    struct buf text;
    struct json_members ms;
    int rc = text_read(path, &text, err);
    if (rc != 0) return rc;
    rc = json_check(buf_str(&text), &JSON_LIMITS_DEFAULT, err);
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
    for (size_t i = 0; rc == 0 && i < CONFIG_ROWS_NR; i++) {
        const char *v = getenv(CONFIG_ROWS[i].env);
        if (v != NULL && *v != '\0')
            rc = value_set(c, &CONFIG_ROWS[i], str_c(v), CONFIG_ROWS[i].env, a, err);
    }
    return rc;
}

/* Read one flag at argv[*i] and move *i past it. config_file is set for --config. */
static int take_flag(struct config *c, int argc, char **argv, int *i, const char **config_file,
                     struct arena *a, struct wopr_error *err) {
    struct str name = str_c(argv[*i] + 2), value = STR_NONE;
    bool has_value = str_cut(name, '=', &name, &value);
    const struct config_row *o = row_find(name);
    bool is_config = str_eqc(name, "config");
    if (o == NULL && !is_config)
        return wopr_error_set(err, WOPR_E_CONFIG, "unknown option %s; see wopr serve --help",
                              argv[*i]);
    if (!has_value && o != NULL && o->type == CONFIG_TYPE_BOOL) {
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
    c->secret_in_arguments |= (o->flags & CONFIG_SECRET) != 0;
    return value_set(c, o, value, "the command line", a, err);
}

/* Flags named in keep are left for the command; see cli. */
static bool is_flag(const char *arg) { return arg[0] == '-' && arg[1] == '-' && arg[2] != '\0'; }

int config_load(struct config *c, int *argc, char **argv, struct arena *a, struct wopr_error *err) {
    struct config t;
    const char *file = getenv("WOPR_CONFIG");
    int rc = 0, kept = 0;
    memset(&t, 0, sizeof t);
    for (size_t i = 0; rc == 0 && i < CONFIG_ROWS_NR; i++)
        rc = value_set(&t, &CONFIG_ROWS[i], str_c(CONFIG_ROWS[i].def), "the defaults", a, err);
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

/* "*", or scheme://host[:port] each: browsers send origins without path or trailing slash. */
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

/* Is v one of the words in "a|b|c"? */
static bool choice_ok(struct str v, const char *choices) {
    struct str rest = str_c(choices), one;
    while (str_cut(rest, '|', &one, &rest))
        if (str_eq(v, one)) return true;
    return str_eq(v, rest);
}

static bool value_in_range(const struct config_row *o, const struct config *c) {
    const void *slot = (const char *)c + o->offset;
    if (o->type == CONFIG_TYPE_CHOICE) return choice_ok(str_c(*(const char *const *)slot), o->must);
    if (o->type != CONFIG_TYPE_INT) return true;
    int64_t v = *(const int64_t *)slot;
    return (v >= o->min && v <= o->max) || (v == 0 && (o->flags & CONFIG_OR_ZERO) != 0);
}

/* Spell "full|normal|off" as "full, normal or off". */
static void choices_say(struct buf *out, const char *choices) {
    struct str rest = str_c(choices), one;
    while (str_cut(rest, '|', &one, &rest))
        buf_addf(out, STR_FMT "%s", STR_ARG(one),
                 memchr(rest.p, '|', rest.n) != NULL ? ", " : " or ");
    buf_add(out, rest.p, rest.n);
}

static int row_refuse(const struct config_row *o, struct wopr_error *err) {
    struct buf must;
    buf_init(&must, MUST_TEXT_MAX);
    if (o->type == CONFIG_TYPE_CHOICE) choices_say(&must, o->must);
    else if (o->must[0] != '\0') buf_addz(&must, o->must);
    else if (o->max == INT64_MAX) buf_addf(&must, "at least %lld", (long long)o->min);
    else
        buf_addf(&must, "%s%lld..%lld", (o->flags & CONFIG_OR_ZERO) != 0 ? "0 or " : "",
                 (long long)o->min, (long long)o->max);
    int rc = wopr_error_at(err, WOPR_E_CONFIG, o->name, "setting \"%s\" must be " STR_FMT, o->name,
                           STR_ARG(buf_str(&must)));
    buf_fini(&must);
    return rc;
}

/* Rules that min and max cannot express; the row's must is the message. */
static int rules_check(const struct config *c, struct wopr_error *err) {
    const struct {
        bool ok;
        const char *name;
    } rules[] = {
        {c->store_path[0] != '\0', "db"},
        {id_tenant_valid(str_c(c->host_tenant)), "tenant"},
        {(c->http_tls_cert_file[0] == '\0') == (c->http_tls_key_file[0] == '\0'), "tls-cert"},
        {c->http_tls_clients_file[0] == '\0' || c->http_tls_cert_file[0] != '\0', "tls-clients"},
        {c->engine_heartbeat_ms * 2 <= c->engine_lease_ttl_ms, "heartbeat-ms"},
        {c->http_key_polls_max <= c->http_polls_max, "key-polls-max"},
        {origins_ok(c->http_cors_origins), "cors-origins"},
        {c->host_clock_file[0] == '\0' || c->host_conformance, "clock-file"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!rules[i].ok) return row_refuse(row_find(str_c(rules[i].name)), err);
    return 0;
}

int config_check(const struct config *c, struct wopr_error *err) {
    for (size_t i = 0; i < CONFIG_ROWS_NR; i++)
        if (!value_in_range(&CONFIG_ROWS[i], c)) return row_refuse(&CONFIG_ROWS[i], err);
    return rules_check(c, err);
}

void config_help(struct buf *out) {
    for (size_t i = 0; i < CONFIG_ROWS_NR; i++)
        if (row_is_offered(&CONFIG_ROWS[i]))
            buf_addf(out, "  --%-22s %s [%s; %s]\n", CONFIG_ROWS[i].name, CONFIG_ROWS[i].help,
                     CONFIG_ROWS[i].def[0] != '\0' ? CONFIG_ROWS[i].def : "none",
                     CONFIG_ROWS[i].env);
    buf_addz(out,
             "  --config                 JSON file with any of these names [none; WOPR_CONFIG]\n");
}

void config_print(const struct config *c, struct buf *out) {
    struct jw w;
    jw_init(&w, out);
    jw_object(&w);
    for (size_t i = 0; i < CONFIG_ROWS_NR; i++) {
        const void *slot = (const char *)c + CONFIG_ROWS[i].offset;
        jw_key(&w, CONFIG_ROWS[i].name);
        if (CONFIG_ROWS[i].type == CONFIG_TYPE_INT) {
            jw_int(&w, *(const int64_t *)slot);
        } else if (CONFIG_ROWS[i].type == CONFIG_TYPE_BOOL) {
            jw_bool(&w, *(const bool *)slot);
        } else {
            const char *v = *(const char *const *)slot;
            bool secret = (CONFIG_ROWS[i].flags & CONFIG_SECRET) != 0 && *v != '\0';
            jw_strz(&w, secret ? "[REDACTED]" : v);
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
