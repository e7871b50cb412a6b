/*
 * fuzz_options.c: the body of a creation, from its bytes to options and inputs (RUN-1 to RUN-3,
 * OPT-*, WF-17).
 *  - each step accepts or refuses with a documented code, and the refusal becomes a valid envelope;
 *  - what was accepted loads again from its stored texts with the same limit;
 *  - accepted inputs have the declared types, and every required one is there;
 *  - the masked form of configurable is JSON and shows no credential reference (RUN-13).
 */
#include "domain/options.h"
#include "wire/common/url.h"
#include "wire/v1/wire_int.h"

enum { FUZZ_BYTES_MAX = 1 << 15, ARENA_BYTES = 64 << 20, BUF_BYTES = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct body {
    struct str workflow_id, inputs, scope_id, callback_url, configurable, tags, metadata;
};
static const struct wire_member ROWS[] = {
    {"workflowId", JSON_STRING, offsetof(struct body, workflow_id)},
    {"inputs", JSON_OBJECT, offsetof(struct body, inputs)},
    {"scopeId", JSON_STRING, offsetof(struct body, scope_id)},
    {"callbackUrl", JSON_STRING, offsetof(struct body, callback_url)},
    {"configurable", JSON_OBJECT, offsetof(struct body, configurable)},
    {"tags", JSON_ARRAY, offsetof(struct body, tags)},
    {"metadata", JSON_OBJECT, offsetof(struct body, metadata)}};

/* clang-format off */
#define HEAD                                                                                       \
    "{\"id\":\"f\",\"name\":\"f\",\"version\":\"1\",\"nodes\":[{\"id\":\"a\","                     \
    "\"typeId\":\"core.noop\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},\"config\":{},"        \
    "\"inputs\":{}}],\"edges\":[],\"triggers\":[],\"variables\":["                                 \
    "{\"name\":\"n\",\"type\":\"number\",\"required\":true},"                                      \
    "{\"name\":\"s\",\"type\":\"string\",\"defaultValue\":\"d\",\"sensitive\":true},"              \
    "{\"name\":\"o\",\"type\":\"object\"},{\"name\":\"l\",\"type\":\"array\"},"                    \
    "{\"name\":\"b\",\"type\":\"boolean\"}],\"metadata\":{},\"settings\":{}"
static const char *const WORKFLOWS[] = {
    HEAD "}",
    HEAD ",\"configurableSchema\":{\"type\":\"object\",\"properties\":{\"acme.color\":"
    "{\"enum\":[\"red\",\"blue\"]},\"temperature\":{\"type\":\"integer\",\"maximum\":9}}}}"};
/* clang-format on */

static struct workflow *workflow(unsigned i) {
    static struct workflow *made[2];
    const struct wf_env env = {0};
    if (!made[i]) {
        int rc = workflow_compile(str_c(WORKFLOWS[i]), &env, &made[i], NULL);
        ASSERT(rc == 0);
    }
    return made[i];
}

static void check_refusal(int rc, const struct wopr_error *err) {
    struct buf b;
    int status, retry_s;
    ASSERT(rc == WOPR_E_VALIDATION || rc == WOPR_E_MOCK_FORBIDDEN ||
           rc == WOPR_E_MOCK_UNSUPPORTED || rc == WOPR_E_CREDENTIAL_FORBIDDEN ||
           rc == WOPR_E_TOO_BIG);
    ASSERT(err->code == rc && err->message[0] != '\0');
    buf_init(&b, BUF_BYTES);
    v1_error_envelope(err, STR("req-1"), &b, &status, &retry_s);
    ASSERT(status >= 400 && status < 500);
    ASSERT(!buf_failed(&b) && json_check(buf_str(&b), &JSON_LIMITS_DEFAULT, NULL) == 0);
    buf_fini(&b);
}

static void check_masked(const struct run_options *o) {
    struct buf b;
    struct wopr_error err = {0};
    if (o->configurable.n == 0) return;
    buf_init(&b, BUF_BYTES);
    ASSERT(configurable_masked(o->configurable, &b, &err) == 0);
    ASSERT(json_check(buf_str(&b), &JSON_LIMITS_STORED, NULL) == 0);
    struct str flat = json_get(buf_str(&b), "ai.credentialRef");
    struct str nested = json_get(json_get(buf_str(&b), "ai"), "credentialRef");
    ASSERT(!flat.p || str_eqc(flat, "\"[REDACTED]\""));
    ASSERT(!nested.p || str_eqc(nested, "\"[REDACTED]\""));
    buf_fini(&b);
}

static void check_options(const struct body *b, const struct workflow *wf, bool test_key,
                          struct arena *a) {
    static const char *const providers[] = {"mock", "acme", NULL};
    struct run_limits limits = RUN_LIMITS_DEFAULT;
    const struct options_env env = {.limits = &limits, .test_key = test_key};
    limits.ai_providers = limits.byok_providers = providers;
    struct run_options o, again;
    struct wopr_error err = {0};
    int rc = run_options_check(b->configurable, b->tags, b->metadata, wf, &env, a, &o, &err);
    if (rc != 0) {
        check_refusal(rc, &err);
        return;
    }
    ASSERT(o.recursion_limit >= 1 && o.recursion_limit <= RUN_LIMITS_DEFAULT.max_node_executions);
    ASSERT(o.mock == MOCK_NONE || test_key);
    rc = run_options_load(o.configurable, o.tags, o.metadata, env.limits, a, &again, &err);
    ASSERT(rc == 0 && again.recursion_limit == o.recursion_limit && again.mock == o.mock);
    ASSERT(str_eq(again.credential_ref, o.credential_ref));
    check_masked(&o);
}

static void check_inputs(const struct body *b, const struct workflow *wf, struct arena *a) {
    struct var_inits v;
    struct wopr_error err = {0};
    bool has_n = false;
    int rc = run_inputs_check(b->inputs.p ? b->inputs : STR("{}"), wf, a, &v, &err);
    if (rc != 0) {
        check_refusal(rc, &err);
        return;
    }
    for (size_t i = 0; i < v.n; i++) {
        const struct wf_variable *d = workflow_variable(wf, v.v[i].name);
        ASSERT(d != NULL && json_type_of(v.v[i].value) == d->type);
        ASSERT(json_check(v.v[i].value, &JSON_LIMITS_STORED, NULL) == 0);
        has_n = has_n || str_eqc(d->name, "n");
    }
    ASSERT(has_n); /* required */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len < 1 || len > FUZZ_BYTES_MAX) return 0;
    struct str text = str_n((const char *)data + 1, len - 1);
    struct body b = {0};
    struct wopr_error err = {0};
    if (json_check(text, &JSON_LIMITS_DEFAULT, &err) != 0 || json_type_of(text) != JSON_OBJECT)
        return 0;
    struct arena *a = arena_new(ARENA_BYTES);
    ASSERT(a != NULL);
    const struct wire_body shape = {ROWS, sizeof ROWS / sizeof *ROWS, (data[0] & 1) != 0};
    int rc = wire_body_parse(text, &shape, a, &b, &err);
    if (rc != 0) {
        check_refusal(rc, &err);
    } else {
        const struct workflow *wf = workflow((data[0] >> 1) & 1);
        if (b.callback_url.p) (void)wire_callback_url_valid(b.callback_url);
        check_options(&b, wf, (data[0] & 4) != 0, a);
        check_inputs(&b, wf, a);
    }
    arena_free(a);
    return 0;
}
