/*
 * test_schema.c: the JSON Schema for editors says nothing against a document that the validator
 * finds no error in, and finds by itself what a schema can find.
 */
#include "base/embed.h"
#include "base/fs.h"
#include "codec/schema.h"
#include "kit.h"

#define VECTORS WOPR_SOURCE_DIR "/tests/workspec/vectors.json"
#define SCHEMA  "api/workspec/workspec-2.0.schema.json"

static struct arena *a;
static struct schema_set *set;
static const struct schema *schema;
static struct buf file;

static void up(void) {
    struct wopr_error err = {0};
    const struct embed_file *f = embed_find(SCHEMA);
    a = arena_new(WS_ARENA_BYTES_MAX);
    set = schema_set_new(false);
    cr_assert(f != NULL && set != NULL);
    cr_assert_eq(schema_set_add(set, STR("urn:wopr:workspec:2.0"), embed_text(f), &err), 0, "%s",
                 err.message);
    cr_assert_eq(schema_compile(set, STR("urn:wopr:workspec:2.0"), &schema, &err), 0, "%s",
                 err.message);
    cr_assert_eq(fs_read(VECTORS, 8 << 20, &file), FS_READ_OK);
}

static void down(void) {
    schema_set_free(set);
    buf_fini(&file);
    arena_free(a);
}
TestSuite(workspec_schema, .init = up, .fini = down);

/* Problems that need more than the shape of one place. */
static bool beyond_schemas(enum ws_code code) {
    switch (code) {
    case WS_R20:
    case WS_R21:
    case WS_R22:
    case WS_R24:
    case WS_R30:
    case WS_R32:
    case WS_R33:
    case WS_R36:
    case WS_R39:
    case WS_R49:
    case WS_R59:
    case WS_R60:
    case WS_R61:
    case WS_R62:
    case WS_R63:
    case WS_R65:
    case WS_R66:
    case WS_H2:
    case WS_H11:
    case WS_H15:
    case WS_T_TRANSITION:
    case WS_T_TYPE:
    case WS_T_STOCK:
    case WS_R26: /* of types of the document's own */
        return true;
    default:
        return false;
    }
}

/* A date that does not exist, a duration that needs one. */
static bool beyond_patterns(const struct ws_problem *p) {
    return strstr(p->context.p, "invalid_date") != NULL ||
           strstr(p->context.p, "\"zero\"") != NULL ||
           strstr(p->context.p, "calendar_needs_datetime") != NULL;
}

/* The vendor's member of a task (WS-100): the same verdict of both. */
Test(workspec_schema, agrees_with_the_validator_about_questions) {
    static const struct {
        const char *asks;
        bool good;
    } ASKS[] = {
        {"{}", true},
        {"{\"interrupt\":\"none\"}", true},
        {"{\"interrupt\":\"approval\",\"questions\":[]}", true},
        {"{\"interrupt\":\"clarification\",\"questions\":[{\"id\":\"q\",\"question\":\"Q\"}]}",
         true},
        {"{\"interrupt\":\"clarification\"}", false},
        {"{\"interrupt\":\"clarification\",\"questions\":[]}", false},
        {"{\"questions\":[{\"id\":\"\",\"question\":\"Q\"}]}", false},
        {"{\"questions\":[{\"id\":\"q\",\"question\":\" \\u00a0\"}]}", false},
        {"{\"questions\":[{\"id\":\"q\"}]}", false},
        {"{\"interrupt\":\"ask\"}", false},
        {"{\"timeoutMs\":1.5}", false},
        {"{\"timeoutMs\":0}", false},
        {"[]", false},
    };
    for (size_t i = 0; i < sizeof ASKS / sizeof *ASKS; i++) {
        struct str tasks = arena_printf(a,
                                        "{\"id\":\"t\",\"actor_id\":\"a\",\"start\":\"08:00\","
                                        "\"duration\":5,\"x_openwop\":%s}",
                                        ASKS[i].asks);
        struct str text = kit_document(a, KIT_CONFIG, tasks.p);
        struct ws_doc doc = kit_parse(a, text, WS_JSON);
        struct ws_report r = kit_validate(a, &doc, NULL, WS_HOST);
        struct schema_issue issue = {0};
        cr_expect_eq(ws_report_ok(&r), ASKS[i].good, "%s", ASKS[i].asks);
        cr_expect_eq(schema_validate_text(schema, text, &issue) == 0, ASKS[i].good, "%s: %s %s",
                     ASKS[i].asks, issue.instance, issue.reason);
    }
}

Test(workspec_schema, agrees_with_the_validator_about_every_vector) {
    struct ws_doc vectors = kit_parse(a, buf_str(&file), WS_JSON);
    const struct ws_value *all = ws_get(vectors.root, "validator");
    size_t good = 0, bad = 0;
    for (size_t i = 0; i < all->nr; i++) {
        const struct ws_value *docs = ws_get(all->elements[i], "documents");
        for (size_t k = 0; k < docs->nr; k++) {
            struct schema_issue issue = {0};
            struct ws_doc doc = {.root = docs->elements[k]};
            struct ws_report r = kit_validate(a, &doc, NULL, WS_HOST);
            struct buf b;
            bool shape = false;
            buf_init(&b, 1 << 20);
            ws_write(&b, doc.root, 0);
            int rc = schema_validate_text(schema, buf_str(&b), &issue);
            for (size_t n = 0; n < r.nr; n++)
                shape = shape || (r.v[n].severity == WS_ERROR && !beyond_schemas(r.v[n].code) &&
                                  !beyond_patterns(&r.v[n]));
            struct str id = ws_str(ws_get(all->elements[i], "id"));
            if (ws_report_ok(&r))
                cr_expect_eq(rc, 0, STR_FMT ": %s %s", STR_ARG(id), issue.instance, issue.reason);
            if (shape) cr_expect_neq(rc, 0, STR_FMT " passes", STR_ARG(id));
            good += ws_report_ok(&r);
            bad += shape;
            buf_fini(&b);
        }
    }
    cr_expect(good > 25 && bad > 40, "%zu good, %zu bad", good, bad);
}
