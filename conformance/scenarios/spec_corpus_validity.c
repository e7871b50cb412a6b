/* spec_corpus_validity.c: public scenario spec-corpus-validity, as far as it is about files that a
 * host has: the published schemas by which all is judged here, and the document of routes that the
 * host serves (41-conformance). */
#include "suite.h"
#include "verify.h"

#include "base/embed.h"

#include <stdio.h>

#define DIR  "api/schemas/"
#define BASE "https://openwop.dev/spec/v1/"

SCENARIO(spec_corpus_validity);

/* The file name of a published schema; NULL: it is another file. */
static const char *schema_name(const struct embed_file *f) {
    return strncmp(f->name, DIR, sizeof DIR - 1) == 0 ? f->name + sizeof DIR - 1 : NULL;
}

/* Calls fn with each "$ref" below json. */
static void refs_walk(struct str json, void (*fn)(struct str root, struct str ref, const char *at),
                      struct str root, const char *at) {
    struct json_members m = {0};
    struct json_elements e = {0};
    if (json_type_of(json) == JSON_OBJECT && json_members(json, test_arena(), &m, NULL) == 0)
        for (size_t i = 0; i < m.n; i++) {
            if (str_eqc(m.v[i].key, "$ref") && json_type_of(m.v[i].raw) == JSON_STRING)
                fn(root, json_string(m.v[i].raw, test_arena()), at);
            refs_walk(m.v[i].raw, fn, root, at);
        }
    if (json_type_of(json) == JSON_ARRAY && json_elements(json, test_arena(), &e, NULL) == 0)
        for (size_t i = 0; i < e.n; i++) refs_walk(e.v[i], fn, root, at);
}

/* "#/a/b" within root: a place of plain names. */
static bool place_is_there(struct str root, struct str ref) {
    struct str rest = str_n(ref.p + 1, ref.n - 1), part, tail;
    while (rest.n > 0 && rest.p[0] == '/') {
        rest = str_n(rest.p + 1, rest.n - 1);
        if (!str_cut(rest, '/', &part, &tail)) part = rest, tail = STR("");
        else tail = str_n(tail.p - 1, tail.n + 1);
        root = json_get(root, arena_cstr(test_arena(), part));
        rest = tail;
    }
    return root.n > 0 && rest.n == 0;
}

static void schema_ref(struct str root, struct str ref, const char *at) {
    struct str file, fragment;
    if (ref.n > 0 && ref.p[0] == '#') {
        cr_expect(ref.n == 1 || place_is_there(root, ref), "%s: %.*s leads nowhere", at,
                  STR_ARG(ref));
        return;
    }
    if (str_starts(ref, STR(BASE))) ref = str_n(ref.p + sizeof BASE - 1, ref.n - sizeof BASE + 1);
    if (!str_cut(ref, '#', &file, &fragment)) file = ref;
    cr_expect_not_null(embed_find(fmt(DIR "%.*s", STR_ARG(file))), "%s: there is no %.*s", at,
                       STR_ARG(ref));
}

Test(spec_corpus_validity, offline_each_published_schema_is_one) {
    static const char *const MUST[] = {"workflow-definition.schema.json", "run-event.schema.json",
                                       "suspend-request.schema.json"};
    size_t n = 0;
    for (const struct embed_file *f = EMBED_FILES; f->name != NULL; f++) {
        const char *name = schema_name(f);
        struct str text = embed_text(f);
        char why[VERIFY_WHY] = "";
        if (!name) continue;
        n++;
        cr_assert(verify_json(text), "%s", name);
        cr_expect(str_eqc(text_at(text, "$schema"), "https://json-schema.org/draft/2020-12/schema"),
                  "%s", name);
        cr_expect(str_eqc(text_at(text, "$id"), fmt(BASE "%s", name)), "%s", name);
        cr_expect_gt(text_at(text, "title").n, 0u, "%s", name);
        (void)verify_against(name, STR("null"), why); /* asserts that it compiles */
        refs_walk(text, schema_ref, text, name);
    }
    cr_expect_geq(n, 20u);
    for (size_t i = 0; i < COUNT(MUST); i++)
        cr_expect_not_null(embed_find(fmt(DIR "%s", MUST[i])), "%s", MUST[i]);
}

Test(spec_corpus_validity, offline_each_type_of_event_has_a_payload) {
    struct str events = embed_text(embed_find(DIR "run-event.schema.json"));
    struct str payloads = embed_text(embed_find(DIR "run-event-payloads.schema.json"));
    struct json_elements types = list_at(events, "$defs.RunEventType.enum");
    struct str index = at(payloads, "$defs._typeIndex.properties");
    struct json_members m = {0};
    cr_assert_eq(json_members(index, test_arena(), &m, NULL), 0);
    cr_expect_eq(m.n, types.n);
    for (size_t i = 0; i < types.n; i++) {
        const char *type = arena_cstr(test_arena(), json_string(types.v[i], test_arena()));
        struct str ref = json_string(json_get(json_get(index, type), "$ref"), test_arena());
        cr_assert(ref.n > 1 && ref.p[0] == '#', "%s has no local definition", type);
        cr_expect(place_is_there(payloads, ref), "%s: %.*s", type, STR_ARG(ref));
    }
}

/* --- the document that a host serves --- */

static void document_ref(struct str root, struct str ref, const char *where) {
    cr_expect(ref.n > 1 && ref.p[0] == '#' && place_is_there(root, ref), "%s: %.*s leads nowhere",
              where, STR_ARG(ref));
}

/* Of the published operations those alone are public; all others list what a bad credential gets
 * (41-conformance). */
static bool is_public(struct str id) {
    static const char *const PUBLIC[] = {"getCapabilities", "getOpenApiSpec",
                                         "inspectInterruptByToken", "resolveInterruptByToken"};
    for (size_t i = 0; i < COUNT(PUBLIC); i++)
        if (str_eqc(id, PUBLIC[i])) return true;
    return false;
}

static void operation_expect(struct str op, struct str id) {
    struct str security = json_get(op, "security"), answers = json_get(op, "responses");
    bool open = str_eqc(security, "[]");
    cr_expect_gt(answers.n, 0u, "%.*s has no answers", STR_ARG(id));
    if (is_public(id)) cr_expect(open, "%.*s needs no credential", STR_ARG(id));
    if (open) return;
    cr_expect_gt(json_get(answers, "401").n, 0u, "%.*s lists no 401", STR_ARG(id));
    cr_expect_gt(json_get(answers, "403").n, 0u, "%.*s lists no 403", STR_ARG(id));
}

Test(spec_corpus_validity, the_served_document_of_routes_is_whole) {
    static const char *const METHODS[] = {"get", "put", "post", "delete", "patch", "head"};
    struct reply r = ask("GET", "/v1/openapi.json", NULL, NULL);
    if (r.status == 404) cr_skip("the host serves no document of its routes");
    cr_assert(r.status == 200 && r.json.p != NULL, "%ld", r.status);
    cr_expect(str_starts(text_at(r.json, "openapi"), STR("3.1")));
    cr_expect(is_type(r.json, "info", JSON_OBJECT) && is_type(r.json, "components", JSON_OBJECT));
    refs_walk(r.json, document_ref, r.json, "openapi.json");
    struct json_members paths = {0};
    cr_assert_eq(json_members(at(r.json, "paths"), test_arena(), &paths, NULL), 0);
    struct str seen[2048];
    size_t n = 0;
    for (size_t i = 0; i < paths.n; i++)
        for (size_t k = 0; k < COUNT(METHODS); k++) {
            struct str op = json_get(paths.v[i].raw, METHODS[k]);
            if (op.n == 0) continue;
            struct str id = json_string(json_get(op, "operationId"), test_arena());
            cr_assert_gt(id.n, 0u, "%s %.*s has no operationId", METHODS[k],
                         STR_ARG(paths.v[i].key));
            for (size_t s = 0; s < n; s++)
                cr_expect_not(str_eq(seen[s], id), "%.*s occurs twice", STR_ARG(id));
            cr_assert_lt(n, COUNT(seen));
            seen[n++] = id;
            operation_expect(op, id);
        }
    cr_expect_gt(n, 10u);
}
