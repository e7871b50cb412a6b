/*
 * options.c: RunOptions of a new run (10-http-core section 8, OPT-*).  Reserved keys are a table;
 * each row names the check.  Refusals carry details {"fields":[{"path","reason"}]} (ERR-6), never a
 * value that the caller sent.
 */
#include "domain/options.h"
#include "codec/fields.h"
#include "codec/jobj.h"
#include "domain/options_int.h"
#include "domain/program.h"

#include <math.h>
#include <stdio.h>

const struct run_limits RUN_LIMITS_DEFAULT = {
    .max_node_executions = 100,
    .clarification_rounds = 3,
    .schema_rounds = 2,
    .envelopes_per_turn = 5,
    .max_run_duration_sec = 86400,
    .metadata_bytes_max = 8192,
    .metadata_depth_max = 4,
    .metadata_text_max = 65536,
    .tags_text_max = 327680,
    .configurable_bytes_max = 262144,
    .configurable_keys_max = 1024,
    .tags_max = 100,
    .tag_chars_max = 256,
};

#define MOCK_ID_CHARS_MAX 128
#define MOCK_ID_SHOWN_MAX 64
#define PATH_SHOWN_MAX    160 /* bytes of a member name repeated in details */

enum check {
    CHECK_INT_FROM_1,
    CHECK_TEXT,
    CHECK_RANGE, /* number in min..max */
    CHECK_TEXT_MAP,
    CHECK_MOCK,
    CHECK_AI,
    CHECK_PROVIDER,
    CHECK_VERBOSITY
};
static const struct option_row { /* OPT-6 */
    const char *key;
    enum check check;
    double min, max;
} ROWS[] = {
    {"recursionLimit", CHECK_INT_FROM_1, 1, 0},
    {"model", CHECK_TEXT, 0, 0},
    {"temperature", CHECK_RANGE, 0, 2},
    {"maxTokens", CHECK_INT_FROM_1, 1, 0},
    {"promptOverrides", CHECK_TEXT_MAP, 0, 0},
    {"mockProvider", CHECK_MOCK, 0, 0},
    {"ai", CHECK_AI, 0, 0},
    {"ai.provider", CHECK_PROVIDER, 0, 0},
    {"ai.model", CHECK_TEXT, 0, 0},
    {"ai.credentialRef", CHECK_TEXT, 0, 0},
    {"escalationThreshold", CHECK_RANGE, 0, 1},
    {"reasoningVerbosity", CHECK_VERBOSITY, 0, 0},
};
#define ROWS_NR (sizeof(ROWS) / sizeof(ROWS[0]))

struct checker {
    const struct workflow *wf;
    const struct options_env *env;
    struct arena *a;
    struct wopr_error *err;
};

static const struct option_row *row_of(struct str key) {
    for (size_t i = 0; i < ROWS_NR; i++)
        if (str_eqc(key, ROWS[i].key)) return &ROWS[i];
    return NULL;
}

bool option_key_reserved(struct str key) { return row_of(key) != NULL; }

bool option_key_vendor(struct str key) {
    struct str vendor, name;
    return str_cut(key, '.', &vendor, &name) && vendor.n > 0 && name.n > 0 &&
           !str_eqc(vendor, "ai") && !option_key_reserved(vendor);
}

/* --- refusals --- */

/* details is open after: {"fields":[{"path","reason"}]; ended by jobj_details. */
static int option_refuse_begin(struct checker *c, struct str path, const char *reason,
                               struct jobj *details) {
    char pointer[sizeof(c->err->pointer)];
    if (path.n > PATH_SHOWN_MAX) path.n = PATH_SHOWN_MAX;
    while (path.n > 0 && !utf8_valid(path)) path.n--; /* cut between characters */
    size_t n = (size_t)snprintf(pointer, sizeof(pointer), "/" STR_FMT, STR_ARG(path));
    for (size_t i = 0; i < n && i < sizeof(pointer); i++)
        if (pointer[i] == '.') pointer[i] = '/';
    int rc =
        wopr_error_at(c->err, WOPR_E_VALIDATION, pointer, "a run option is not valid: %s", reason);
    jobj_begin(details, WOPR_DETAILS_SIZE);
    fields_begin(&details->w);
    fields_add(&details->w, path, reason);
    fields_end(&details->w);
    return rc;
}

static int option_refuse(struct checker *c, struct str path, const char *reason) {
    struct jobj details;
    int rc = option_refuse_begin(c, path, reason, &details);
    jobj_details(&details, c->err);
    return rc;
}

static struct str path_under(struct checker *c, const char *prefix, struct str key) {
    struct str s = arena_printf(c->a, "%s." STR_FMT, prefix, STR_ARG(key));
    return s.p == NULL ? str_c(prefix) : s;
}

static int no_memory(struct checker *c) {
    return wopr_error_set(c->err, WOPR_E_NO_MEMORY, "no memory to check the options of a run");
}

/* --- configurable --- */

static void bound_add(struct jw *w, const char *key, double v) {
    char text[32];
    snprintf(text, sizeof(text), "%g", v);
    jw_kraw(w, key, str_c(text));
}

static int refuse_bound(struct checker *c, const struct option_row *row, struct str raw) {
    struct jobj details;
    enum json_type t = json_type_of(raw);
    int rc = option_refuse_begin(c, path_under(c, "configurable", str_c(row->key)),
                                 t == JSON_NUMBER ? "out_of_range" : "wrong_type", &details);
    jw_kstrz(&details.w, "key", row->key);
    if ((t == JSON_NUMBER || t == JSON_BOOL) && raw.n <= 32) jw_kraw(&details.w, "value", raw);
    bound_add(&details.w, "min", row->min);
    if (row->max > row->min) bound_add(&details.w, "max", row->max);
    jobj_details(&details, c->err);
    return rc;
}

static int check_int(struct checker *c, const struct option_row *row, struct str raw) {
    int64_t v;
    double d;
    if (json_type_of(raw) != JSON_NUMBER) return refuse_bound(c, row, raw);
    bool ok =
        json_int(raw, &v) ? v >= 1 : json_double(raw, &d) && isfinite(d) && d >= 1 && floor(d) == d;
    return ok ? 0 : refuse_bound(c, row, raw);
}

static int check_range(struct checker *c, const struct option_row *row, struct str raw) {
    double v;
    bool ok = json_type_of(raw) == JSON_NUMBER && json_double(raw, &v) && isfinite(v) &&
              v >= row->min && v <= row->max;
    return ok ? 0 : refuse_bound(c, row, raw);
}

static int check_text(struct checker *c, struct str path, struct str raw) {
    if (json_type_of(raw) != JSON_STRING) return option_refuse(c, path, "wrong_type");
    return raw.n > 2 ? 0 : option_refuse(c, path, "out_of_range");
}

static int check_text_map(struct checker *c, struct str path, struct str raw) {
    struct json_members m;
    if (json_type_of(raw) != JSON_OBJECT) return option_refuse(c, path, "wrong_type");
    int rc = json_members(raw, c->a, &m, c->err);
    for (size_t i = 0; rc == 0 && i < m.n; i++)
        if (json_type_of(m.v[i].raw) != JSON_STRING) rc = option_refuse(c, path, "wrong_type");
    return rc;
}

static int check_verbosity(struct checker *c, struct str path, struct str raw) {
    static const char *const WORDS[] = {"\"summary\"", "\"full\"", "\"off\""};
    struct str s = json_string(raw, c->a);
    if (s.p == NULL) return option_refuse(c, path, "wrong_type");
    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++)
        if (json_equal(raw, str_c(WORDS[i]), c->a)) return 0;
    return option_refuse(c, path, "not_allowed");
}

static bool option_listed(const char *const *list, struct str name) {
    for (; list != NULL && *list != NULL; list++)
        if (str_eqc(name, *list)) return true;
    return false;
}

static int check_provider(struct checker *c, struct str path, struct str raw) {
    struct str s = json_string(raw, c->a);
    if (s.p == NULL) return option_refuse(c, path, "wrong_type");
    return option_listed(c->env->limits->ai_providers, s) ? 0
                                                          : option_refuse(c, path, "not_supported");
}

/* --- mock providers (OPT-9) --- */

static const char *const MOCK_IDS[] = {"stream-text", "tool-calls", "error", "usage-only"};
#define MOCK_IDS_NR (sizeof(MOCK_IDS) / sizeof(MOCK_IDS[0]))

static enum mock_kind mock_of(struct str id) {
    for (size_t i = 0; i < MOCK_IDS_NR; i++)
        if (str_eqc(id, MOCK_IDS[i])) return (enum mock_kind)(MOCK_STREAM_TEXT + i);
    return MOCK_NONE;
}

/* Short and plain enough to repeat in a message (HTTP-14). */
static bool plain_id(struct str id) {
    for (size_t i = 0; i < id.n; i++)
        if (!(id.p[i] >= 'a' && id.p[i] <= 'z') && id.p[i] != '-') return false;
    return id.n > 0 && id.n <= MOCK_ID_SHOWN_MAX;
}

/* 3.2: both refusals name the requested provider and the supported ones. */
static int refuse_mock(struct checker *c, int code, const char *pointer, struct str id,
                       const char *why) {
    struct jobj details;
    jobj_begin(&details, WOPR_DETAILS_SIZE);
    if (plain_id(id)) jw_kstr(&details.w, "requestedProvider", id);
    jw_key(&details.w, "supportedProviders");
    jw_array(&details.w);
    for (size_t i = 0; i < MOCK_IDS_NR; i++) jw_strz(&details.w, MOCK_IDS[i]);
    jw_end_array(&details.w);
    wopr_error_at(c->err, code, pointer, "%s", why);
    jobj_details(&details, c->err);
    return code;
}

static int check_mock(struct checker *c, struct str path, struct str raw) {
    struct json_members m;
    struct str id = STR_NONE;
    if (json_type_of(raw) != JSON_OBJECT) return option_refuse(c, path, "wrong_type");
    int rc = json_members(raw, c->a, &m, c->err);
    for (size_t i = 0; rc == 0 && i < m.n; i++) {
        struct str at = path_under(c, "configurable.mockProvider", m.v[i].key);
        if (str_eqc(m.v[i].key, "id")) {
            id = json_string(m.v[i].raw, c->a);
            if (id.p == NULL) rc = option_refuse(c, at, "wrong_type");
        } else if (!str_eqc(m.v[i].key, "config")) {
            rc = option_refuse(c, at, "unknown_key");
        } else if (json_type_of(m.v[i].raw) != JSON_OBJECT) {
            rc = option_refuse(c, at, "wrong_type");
        }
    }
    if (rc != 0) return rc;
    if (id.p == NULL) return option_refuse(c, STR("configurable.mockProvider.id"), "required");
    if (id.n == 0 || utf8_count(id) > MOCK_ID_CHARS_MAX)
        return option_refuse(c, STR("configurable.mockProvider.id"), "out_of_range");
    if (mock_of(id) != MOCK_NONE) return 0;
    return refuse_mock(c, WOPR_E_MOCK_UNSUPPORTED, "/configurable/mockProvider/id", id,
                       "no mock provider of this host has this id; discovery lists them");
}

/* --- ai.* in both spellings (OPT-7, OPT-8) --- */

static int check_ai(struct checker *c, struct str path, struct str raw) {
    struct json_members m;
    if (json_type_of(raw) != JSON_OBJECT) return option_refuse(c, path, "wrong_type");
    int rc = json_members(raw, c->a, &m, c->err);
    for (size_t i = 0; rc == 0 && i < m.n; i++) {
        struct str at = path_under(c, "configurable.ai", m.v[i].key);
        if (str_eqc(m.v[i].key, "provider")) rc = check_provider(c, at, m.v[i].raw);
        else if (str_eqc(m.v[i].key, "model") || str_eqc(m.v[i].key, "credentialRef"))
            rc = check_text(c, at, m.v[i].raw);
        else rc = option_refuse(c, at, "unknown_key");
    }
    return rc;
}

/* Raw value of ai.<name>: flat spelling first, then nested. */
static struct str ai_raw(struct str configurable, const char *flat, const char *name) {
    struct str raw = json_get(configurable, flat);
    if (raw.p != NULL) return raw;
    struct str ai = json_get(configurable, "ai");
    return ai.p == NULL ? STR_NONE : json_get(ai, name);
}

static int check_ai_pairs(struct checker *c, struct str configurable) {
    static const char *const NAMES[][2] = {
        {"ai.provider", "provider"}, {"ai.model", "model"}, {"ai.credentialRef", "credentialRef"}};
    struct str ai = json_get(configurable, "ai");
    for (size_t i = 0; ai.p != NULL && i < 3; i++) {
        struct str flat = json_get(configurable, NAMES[i][0]), nested = json_get(ai, NAMES[i][1]);
        if (flat.p != NULL && nested.p != NULL && !json_equal(flat, nested, c->a))
            return option_refuse(c, path_under(c, "configurable", str_c(NAMES[i][0])), "conflict");
    }
    struct str ref = ai_raw(configurable, "ai.credentialRef", "credentialRef");
    struct str provider = ai_raw(configurable, "ai.provider", "provider");
    if (ref.p == NULL || provider.p == NULL) return 0;
    struct str name = json_string(provider, c->a);
    if (name.p == NULL) return no_memory(c);
    if (option_listed(c->env->limits->byok_providers, name)) return 0;
    return wopr_error_at(c->err, WOPR_E_CREDENTIAL_FORBIDDEN, "/configurable/ai/credentialRef",
                         "this provider takes no credential references here");
}

static int check_key(struct checker *c, struct str key, struct str raw) {
    const struct option_row *row = row_of(key);
    struct str path = path_under(c, "configurable", key);
    if (row == NULL) {
        /* OPT-4; a workflow's own schema decides instead, if it has one (OPT-5) */
        bool open = option_key_vendor(key) || (c->wf != NULL && c->wf->configurable_schema != NULL);
        return open ? 0 : option_refuse(c, path, "unknown_key");
    }
    switch (row->check) {
    case CHECK_INT_FROM_1:
        return check_int(c, row, raw);
    case CHECK_TEXT:
        return check_text(c, path, raw);
    case CHECK_RANGE:
        return check_range(c, row, raw);
    case CHECK_TEXT_MAP:
        return check_text_map(c, path, raw);
    case CHECK_MOCK:
        return check_mock(c, path, raw);
    case CHECK_AI:
        return check_ai(c, path, raw);
    case CHECK_PROVIDER:
        return check_provider(c, path, raw);
    case CHECK_VERBOSITY:
        return check_verbosity(c, path, raw);
    }
    return 0;
}

static int check_schema(struct checker *c, struct str configurable) { /* OPT-5 */
    struct schema_issue issue = {{0}, {0}, {0}};
    if (c->wf == NULL || c->wf->configurable_schema == NULL) return 0;
    if (configurable.n == 0) configurable = STR("{}");
    int rc = schema_validate_text(c->wf->configurable_schema, configurable, &issue);
    if (rc == 0) return 0;
    if (rc == WOPR_E_NO_MEMORY) return no_memory(c);
    for (char *p = issue.instance; *p != '\0'; p++)
        if (*p == '/') *p = '.';
    struct str path = arena_printf(c->a, "configurable%s", issue.instance);
    return option_refuse(c, path.p == NULL ? STR("configurable") : path,
                         rc == WOPR_E_TOO_BIG ? "too_complex" : "schema");
}

/* A bound of the whole: a branch can exceed it although neither of its parts does. */
static int refuse_size(struct checker *c, const char *reason, size_t max, const char *unit) {
    struct jobj details;
    int rc = option_refuse_begin(c, STR("configurable"), reason, &details);
    jw_kint(&details.w, "max", (int64_t)max);
    jobj_details(&details, c->err);
    snprintf(c->err->message, sizeof(c->err->message),
             "configurable takes %zu %s at most, with those that a branch has from its source: "
             "send fewer, or give large values as inputs",
             max, unit);
    return rc;
}

static int configurable_read(struct checker *c, struct str configurable, struct json_members *m) {
    const struct run_limits *lim = c->env->limits;
    if (configurable.n == 0) return 0;
    if (json_type_of(configurable) != JSON_OBJECT)
        return option_refuse(c, STR("configurable"), "wrong_type");
    if (configurable.n > lim->configurable_bytes_max)
        return refuse_size(c, "too_long", lim->configurable_bytes_max, "bytes");
    int rc = json_members(configurable, c->a, m, c->err);
    if (rc == 0 && m->n > lim->configurable_keys_max)
        return refuse_size(c, "too_many", lim->configurable_keys_max, "keys");
    return rc;
}

static int check_configurable(struct checker *c, struct str configurable) {
    struct json_members m = {0};
    int rc = configurable_read(c, configurable, &m);
    for (size_t i = 0; rc == 0 && i < m.n; i++) /* OPT-9: 403 is decided before any 400 */
        if (str_eqc(m.v[i].key, "mockProvider") && !c->env->test_key)
            return refuse_mock(c, WOPR_E_MOCK_FORBIDDEN, "/configurable/mockProvider",
                               json_string(json_get(m.v[i].raw, "id"), c->a),
                               "mock providers need a test key");
    if (rc == 0) rc = check_schema(c, configurable);
    for (size_t i = 0; rc == 0 && i < m.n; i++) rc = check_key(c, m.v[i].key, m.v[i].raw);
    return rc == 0 && m.n > 0 ? check_ai_pairs(c, configurable) : rc;
}

/* --- tags and metadata (OPT-11, OPT-12) --- */

static int check_tags(struct checker *c, struct str tags) {
    const struct run_limits *lim = c->env->limits;
    struct json_elements el;
    if (tags.n == 0) return 0;
    if (json_type_of(tags) != JSON_ARRAY) return option_refuse(c, STR("tags"), "wrong_type");
    if (tags.n > lim->tags_text_max) return option_refuse(c, STR("tags"), "too_long");
    int rc = json_elements(tags, c->a, &el, c->err);
    if (rc == 0 && el.n > lim->tags_max) return option_refuse(c, STR("tags"), "too_many");
    for (size_t i = 0; rc == 0 && i < el.n; i++) {
        char path[32];
        snprintf(path, sizeof(path), "tags.%zu", i);
        if (json_type_of(el.v[i]) != JSON_STRING)
            return option_refuse(c, str_c(path), "wrong_type");
        struct str s = json_string(el.v[i], c->a);
        if (s.p == NULL) return no_memory(c);
        size_t chars = utf8_count(s);
        if (chars < 1 || chars > lim->tag_chars_max)
            rc = option_refuse(c, str_c(path), "out_of_range");
    }
    return rc;
}

/* Bytes of checked text without blanks between tokens, so that formatting does not count. */
static size_t dense_bytes(struct str text) {
    size_t n = 0;
    bool string = false;
    for (size_t i = 0; i < text.n; i++) {
        char ch = text.p[i];
        if (string && ch == '\\') n++, i++;
        else if (ch == '"') string = !string;
        n += string || !(ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r');
    }
    return n;
}

static int check_metadata(struct checker *c, struct str metadata) {
    const struct run_limits *lim = c->env->limits;
    if (metadata.n == 0) return 0;
    if (json_type_of(metadata) != JSON_OBJECT)
        return option_refuse(c, STR("metadata"), "wrong_type");
    if (dense_bytes(metadata) > lim->metadata_bytes_max || metadata.n > lim->metadata_text_max)
        return option_refuse(c, STR("metadata"), "too_long");
    if (json_depth(metadata) > lim->metadata_depth_max)
        return option_refuse(c, STR("metadata"), "too_deep");
    return 0;
}

/* What a program asks of the options.  Each node of one starts once at most, so the definition,
 * which the host has taken, is the bound: the host's limit, which is there to end loops, has no
 * part in it, and a caller's is kept from ending a run half way (WS-141). */
static int check_program(struct checker *c, struct str configurable, struct run_options *out) {
    const struct workflow *wf = c->wf;
    struct program_refusal why = {.message = ""};
    struct jobj details;
    int64_t asked, nodes = wf != NULL ? (int64_t)wf->nodes_nr : 0;
    if (wf == NULL || wf->program == NULL) return 0;
    if (!wf->program->options(wf, configurable, c->a, &why)) {
        int rc = option_refuse(c, path_under(c, "configurable", why.key), why.reason);
        snprintf(c->err->message, sizeof c->err->message, STR_FMT ": %s", STR_ARG(why.key),
                 why.message);
        return rc;
    }
    bool limits = configurable.n > 0 && json_int(json_get(configurable, "recursionLimit"), &asked);
    if (!limits || asked >= nodes) {
        if (out->recursion_limit < nodes) out->recursion_limit = nodes;
        return 0;
    }
    int rc = option_refuse_begin(c, STR("configurable.recursionLimit"), "out_of_range", &details);
    jw_kint(&details.w, "min", nodes);
    jobj_details(&details, c->err);
    snprintf(c->err->message, sizeof c->err->message,
             "the definition has %lld tasks, of which this run might start %lld: leave "
             "recursionLimit out, or raise it",
             (long long)nodes, (long long)asked);
    return rc;
}

int run_options_check(struct str configurable, struct str tags, struct str metadata,
                      const struct workflow *wf, const struct options_env *env, struct arena *a,
                      struct run_options *out, struct wopr_error *err) {
    struct wopr_error own;
    wopr_error_clear(&own);
    struct checker c = {.wf = wf, .env = env, .a = a, .err = err != NULL ? err : &own};
    int rc = check_configurable(&c, configurable);
    if (rc == 0) rc = check_tags(&c, tags);
    if (rc == 0) rc = check_metadata(&c, metadata);
    if (rc == 0 && arena_failed(a)) rc = no_memory(&c);
    if (rc != 0) return rc;
    rc = run_options_load(configurable, tags, metadata, env->limits, a, out, c.err);
    return rc == 0 ? check_program(&c, configurable, out) : rc;
}

int run_options_load(struct str configurable, struct str tags, struct str metadata,
                     const struct run_limits *limits, struct arena *a, struct run_options *out,
                     struct wopr_error *err) {
    struct run_options o = {.configurable = configurable, .tags = tags, .metadata = metadata};
    int64_t asked;
    o.recursion_limit = limits->max_node_executions;
    o.mock_config = o.credential_ref = o.ai_provider = o.ai_model = STR("");
    if (configurable.n > 0 && json_type_of(configurable) == JSON_OBJECT) {
        struct str raw = json_get(configurable, "recursionLimit");
        if (raw.p != NULL && json_type_of(raw) == JSON_NUMBER && json_int(raw, &asked) &&
            asked >= 1 && asked < o.recursion_limit)
            o.recursion_limit = asked; /* CON-8: more than the ceiling is clamped */
        raw = json_get(configurable, "mockProvider");
        if (raw.p != NULL && json_type_of(raw) == JSON_OBJECT) {
            struct str config = json_get(raw, "config"), id = json_get(raw, "id");
            if (id.p != NULL) o.mock = mock_of(json_string(id, a));
            if (o.mock != MOCK_NONE && config.p != NULL) o.mock_config = config;
        }
        raw = ai_raw(configurable, "ai.credentialRef", "credentialRef");
        if (raw.p != NULL && json_type_of(raw) == JSON_STRING)
            o.credential_ref = json_string(raw, a);
        raw = ai_raw(configurable, "ai.provider", "provider");
        if (raw.p != NULL && json_type_of(raw) == JSON_STRING) o.ai_provider = json_string(raw, a);
        raw = ai_raw(configurable, "ai.model", "model");
        if (raw.p == NULL) raw = json_get(configurable, "model");
        if (raw.p != NULL && json_type_of(raw) == JSON_STRING) o.ai_model = json_string(raw, a);
    }
    if (arena_failed(a))
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to read the options of a run");
    *out = o;
    return 0;
}
