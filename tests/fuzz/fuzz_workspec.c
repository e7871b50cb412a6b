/*
 * fuzz_workspec.c: properties of WorkSpec documents out of any bytes, as JSON and as YAML.
 *  - a refusal says where; what is read, written and read again is the same tree;
 *  - the validator ends in both profiles; each problem has a pointer into the document, or to
 * what is
 * missing in something there is, and its list is JSON;
 *  - validating twice says the same;
 *  - an object of any version is converted to version 2.0;
 *  - a document without errors has a plan; any plan can be played: after each step the world is
 * the
 * fold of its changes (WS-114), a start that fails changes nothing (WS-80).
 */
#include "../workspec/play.h"
#include "codec/json.h"
#include "workspec/migrate.h"
#include "workspec/validate.h"

enum { FUZZ_BYTES_MAX = 1 << 16, ARENA_MAX = 256 << 20 };
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const struct ws_limits LIMITS = {.bytes = FUZZ_BYTES_MAX,
                                        .depth = 64,
                                        .values = 10000,
                                        .objects = 200,
                                        .tasks = 200,
                                        .task_interactions = 100,
                                        .interactions = 1000,
                                        .changes = 1000,
                                        .dependencies = 100,
                                        .locations = 100};

static void check_again(struct arena *a, const struct ws_doc *doc) {
    const struct ws_limits any = {.bytes = SIZE_MAX, .depth = SIZE_MAX, .values = SIZE_MAX};
    struct wopr_error err;
    struct ws_doc again;
    struct buf b;
    buf_init(&b, SIZE_MAX / 2);
    ws_write(&b, doc->root, 0);
    ASSERT(!buf_failed(&b));
    ASSERT(ws_parse(buf_str(&b), WS_JSON, &any, a, &again, &err) == 0);
    ASSERT(ws_equal(doc->root, again.root));
    buf_fini(&b);
}

static struct sha256 check_report(const struct ws_report *r) {
    const struct json_limits any = {SIZE_MAX, 128};
    struct wopr_error err;
    struct buf b;
    buf_init(&b, SIZE_MAX / 2);
    for (size_t i = 0; i < r->nr; i++)
        ASSERT(r->v[i].instance.n > 0 && r->v[i].instance.p[0] == '/');
    ws_problems_write(&b, r);
    ASSERT(!buf_failed(&b) && json_check(buf_str(&b), &any, &err) == 0);
    struct sha256 d = sha256_of(buf_str(&b));
    buf_fini(&b);
    return d;
}

static bool validated(struct arena *a, const struct ws_doc *doc, enum ws_profile profile) {
    struct ws_options o = {.profile = profile, .limits = &LIMITS};
    struct sha256 digest[2];
    bool ok = false;
    for (int k = 0; k < 2; k++) {
        struct wopr_error err;
        struct ws_report r;
        ws_report_init(&r, a);
        ASSERT(ws_validate(doc, &o, &r, &err) == 0);
        digest[k] = check_report(&r);
        ok = ws_report_ok(&r);
        ws_report_fini(&r);
    }
    ASSERT(sha256_eq(&digest[0], &digest[1]));
    return ok;
}

static void check_doc(struct arena *a, const struct ws_doc *doc) {
    struct wopr_error err;
    struct ws_plan p;
    validated(a, doc, WS_REFERENCE);
    bool ok = validated(a, doc, WS_HOST);
    int rc = ws_compile(doc, NULL, a, &p, &err);
    ASSERT(rc == 0 || (!ok && rc == WOPR_E_VALIDATION && err.message[0] != '\0'));
    if (rc != 0 || p.nr > LIMITS.tasks) return;
    struct played once = play(&p, a, 0), again = play(&p, a, 0);
    ASSERT(sha256_eq(&once.digest, &again.digest));
    ASSERT(!ok || once.failures == 0);
    (void)play(&p, a, 100);
}

/* Whatever it is, it is converted, and what comes of it has a new form of its own. */
static void check_migration(struct arena *a, const struct ws_doc *doc) {
    struct wopr_error err;
    struct ws_doc now = {0};
    if (ws_migrate(doc, a, &now.root, &err) != 0) {
        ASSERT(doc->root->kind != WS_OBJECT);
        return;
    }
    ASSERT(str_eqc(ws_raw(ws_get(ws_get(now.root, "simulation"), "schema_version")), "2.0"));
    validated(a, &now, WS_HOST);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct str text = str_n((const char *)data, len);
    if (len > FUZZ_BYTES_MAX) return 0;
    for (int format = WS_JSON; format <= WS_YAML; format++) {
        struct arena *a = arena_new(ARENA_MAX);
        struct wopr_error err = {0};
        struct ws_doc doc = {0};
        ASSERT(a != NULL);
        int rc = ws_parse(text, (enum ws_format)format, &LIMITS, a, &doc, &err);
        ASSERT(rc == 0 || (rc == WOPR_E_SYNTAX && str_starts(str_c(err.message), STR("line "))));
        if (rc == 0 && doc.root != NULL) {
            check_again(a, &doc);
            check_doc(a, &doc);
            check_migration(a, &doc);
        }
        arena_free(a);
    }
    return 0;
}
