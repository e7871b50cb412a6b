/* embed.c: the public C interface (include/wopr/wopr.h) on top of host.h. */
#include "wopr/wopr.h"

#include "base/mem.h"
#include "codec/json.h"
#include "host/host.h"

#include <stdio.h>

#define EMBED_ARENA_MAX    (1024u * 1024)
#define EMBED_SETTINGS_MAX 128

struct wopr_host {
    struct host *host;
    struct arena *arena; /* settings and type adapters */
};
struct wopr_node {
    const struct node_call *call;
    struct node_result *out;
    const char *run_id, *node_id, *inputs, *config;
};

static int error_say(char *err, size_t size, const struct wopr_error *e) {
    if (size > 0)
        snprintf(err, size, "%s%s%s%s", e->message, e->pointer[0] != '\0' ? " (at " : "",
                 e->pointer, e->pointer[0] != '\0' ? ")" : "");
    return -1;
}

/* The adapter between the engine's executor and the embedding program's. */
static void run_foreign(const struct node_call *call, struct node_result *out) {
    const struct wopr_node_type *t = call->type_ctx;
    struct wopr_node n = {.call = call,
                          .out = out,
                          .run_id = arena_cstr(call->a, call->run->meta.run_id),
                          .node_id = arena_cstr(call->a, call->def->id),
                          .inputs = arena_cstr(call->a, call->inputs),
                          .config = arena_cstr(call->a, call->config)};
    if (arena_failed(call->a)) {
        node_fail(out, "internal_error", "out of memory", true);
        return;
    }
    out->outcome = NODE_OUT_DONE;
    t->fn(&n, t->ctx);
    if (arena_failed(call->a)) node_fail(out, "internal_error", "out of memory", true);
}

const char *wopr_node_run_id(const struct wopr_node *n) { return n->run_id; }
const char *wopr_node_node_id(const struct wopr_node *n) { return n->node_id; }
const char *wopr_node_inputs(const struct wopr_node *n) { return n->inputs; }
const char *wopr_node_config(const struct wopr_node *n) { return n->config; }
int wopr_node_attempt(const struct wopr_node *n) { return n->call->attempt; }
int wopr_node_waited(const struct wopr_node *n) { return n->call->waited ? 1 : 0; }

int64_t wopr_node_now_ms(const struct wopr_node *n) { return n->call->now_ms; }

void wopr_node_random(const struct wopr_node *n, const char *what, uint64_t nth, uint8_t out[32]) {
    struct sha256 d = node_random(n->call, str_c(what), nth);
    memcpy(out, d.b, sizeof d.b);
}

int wopr_node_version(struct wopr_node *n, const char *change_id, int64_t min, int64_t max,
                      int64_t *version) {
    int rc = node_version(n->call, n->out, str_c(change_id), min, max, version);
    return rc == 0 ? 0 : -1;
}

/* Copy JSON after a check.  Invalid JSON fails the node, so that the program's mistake is
 * noticed. */
static int take_json(struct wopr_node *n, const char *json, bool object, struct str *out) {
    struct str s = str_c(json);
    bool ok = json != NULL && json_check(s, &JSON_LIMITS_DEFAULT, NULL) == 0;
    if (!ok || (object && json_type_of(s) != JSON_OBJECT)) {
        node_fail(n->out, "validation_error",
                  "the executor gave text that is not the JSON it must be", false);
        return -1;
    }
    *out = arena_str(n->call->a, s);
    return out->p == NULL ? -1 : 0;
}

int wopr_node_complete(struct wopr_node *n, const char *outputs_json) {
    struct str outputs = STR("{}");
    if (outputs_json != NULL && take_json(n, outputs_json, true, &outputs) != 0) return -1;
    n->out->outcome = NODE_OUT_DONE;
    n->out->outputs = outputs;
    return 0;
}

int wopr_node_fail(struct wopr_node *n, const char *code, const char *message, int retryable) {
    struct arena *a = n->call->a;
    const char *c = arena_cstr(a, str_c(code)), *m = arena_cstr(a, str_c(message));
    if (c == NULL || m == NULL || *c == '\0' || *m == '\0') {
        node_fail(n->out, "internal_error", "the executor failed without a code or message",
                  retryable != 0);
        return -1;
    }
    node_fail(n->out, c, m, retryable != 0);
    return 0;
}

int wopr_node_wait(struct wopr_node *n, int64_t wait_ms) {
    if (wait_ms < 0)
        return wopr_node_fail(n, "validation_error", "a wait cannot be negative", 0), -1;
    n->out->outcome = NODE_OUT_WAIT;
    n->out->wait_ms = wait_ms;
    return 0;
}

int wopr_node_ask(struct wopr_node *n, unsigned ordinal, const char *kind, const char *data_json,
                  int64_t timeout_ms, const char **answer_json) {
    struct node_prompt q = {.timeout_ms = timeout_ms};
    struct node_reply r;
    q.kind = arena_cstr(n->call->a, str_c(kind));
    if (q.kind == NULL || timeout_ms < 0)
        return wopr_node_fail(n, "validation_error", "a question needs a kind and no negative time",
                              0),
               -1;
    if (take_json(n, data_json, true, &q.data) != 0) return -1;
    if (!node_interrupt(n->call, n->out, ordinal, &q, &r)) return 0;
    *answer_json = arena_cstr(n->call->a, r.value);
    n->out->outcome = NODE_OUT_DONE;
    return *answer_json != NULL ? 1 : -1;
}

static int add_effect(struct wopr_node *n, enum node_effect_kind kind, const char *name,
                      struct str value) {
    struct node_effect *e = node_effect_add(n->call, n->out, kind);
    if (e == NULL) return -1;
    e->name = arena_str(n->call->a, str_c(name));
    e->value = value;
    e->reducer = RED_APPEND;
    return e->name.p == NULL ? -1 : 0;
}

int wopr_node_set_variable(struct wopr_node *n, const char *name, const char *value_json) {
    struct str v;
    return take_json(n, value_json, false, &v) != 0 ? -1 : add_effect(n, EFFECT_VARIABLE, name, v);
}

int wopr_node_write_channel(struct wopr_node *n, const char *channel, const char *value_json) {
    struct str v;
    return take_json(n, value_json, false, &v) != 0 ? -1
                                                    : add_effect(n, EFFECT_CHANNEL, channel, v);
}

int wopr_node_log(struct wopr_node *n, const char *level, const char *message) {
    return add_effect(n, EFFECT_LOG, level, arena_str(n->call->a, str_c(message)));
}

static int load_settings(struct wopr_host *w, const char *const *settings, struct config *cfg,
                         struct wopr_error *err) {
    char *argv[EMBED_SETTINGS_MAX];
    int argc = 0;
    for (; settings != NULL && *settings != NULL; settings++) {
        if (argc == EMBED_SETTINGS_MAX)
            return wopr_error_set(err, WOPR_E_CONFIG, "more than %d settings", argc);
        argv[argc] = arena_cstr(w->arena, str_c(*settings));
        if (argv[argc++] == NULL) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    }
    int rc = config_load(cfg, &argc, argv, w->arena, err);
    if (rc == 0) rc = config_check(cfg, err);
    if (rc == 0 && argc > 0)
        rc = wopr_error_set(err, WOPR_E_CONFIG, "settings have the form --name value");
    return rc;
}

static int adapt_types(struct wopr_host *w, const struct wopr_node_type *types, size_t n,
                       struct node_type **out, struct wopr_error *err) {
    struct wopr_node_type *copy = ARENA_ARRAY(w->arena, struct wopr_node_type, n);
    struct node_type *v = ARENA_ARRAY(w->arena, struct node_type, n);
    if (copy == NULL || v == NULL) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < n; i++) {
        struct str id = str_c(types[i].type_id);
        if (types[i].fn == NULL || id.n == 0 || str_starts(id, STR("core.")) ||
            str_starts(id, STR("openwop.")))
            return wopr_error_set(
                err, WOPR_E_CONFIG,
                "node type %zu needs a function and an id outside core. and openwop.", i);
        copy[i] = types[i];
        v[i] = (struct node_type){
            .type_id = arena_cstr(w->arena, id), .fn = run_foreign, .ctx = &copy[i]};
    }
    *out = v;
    return 0;
}

int wopr_host_new(const char *const *settings, const struct wopr_node_type *types, size_t types_nr,
                  struct wopr_host **out, char *err, size_t err_size) {
    struct wopr_error e = {0};
    struct config cfg;
    struct node_type *adapted = NULL;
    struct wopr_host *w = MEM_NEW(struct wopr_host);
    if (w == NULL)
        return wopr_error_set(&e, WOPR_E_NO_MEMORY, "out of memory"), error_say(err, err_size, &e);
    w->arena = arena_new(EMBED_ARENA_MAX);
    int rc = w->arena == NULL ? wopr_error_set(&e, WOPR_E_NO_MEMORY, "out of memory") : 0;
    if (rc == 0) rc = load_settings(w, settings, &cfg, &e);
    if (rc == 0) rc = adapt_types(w, types, types_nr, &adapted, &e);
    if (rc == 0) rc = host_new(&cfg, adapted, types_nr, &w->host, &e);
    if (rc != 0) {
        wopr_host_free(w);
        return error_say(err, err_size, &e);
    }
    *out = w;
    return 0;
}

int wopr_host_start(struct wopr_host *h, char *err, size_t err_size) {
    struct wopr_error e = {0};
    return host_start(h->host, &e) == 0 ? 0 : error_say(err, err_size, &e);
}

int wopr_host_port(const struct wopr_host *h) { return host_port(h->host); }

void wopr_host_stop(struct wopr_host *h) { host_stop(h->host); }

void wopr_host_free(struct wopr_host *h) {
    if (h == NULL) return;
    host_free(h->host);
    arena_free(h->arena);
    mem_free(h);
}

const char *wopr_version(void) { return WOPR_VERSION; }
