/*
 * The OpenAPI document as tools read it: one document, every reference inside it, every status of
 * every operation; and beside the published api/openapi.yaml.
 */
#include "base/mem.h"
#include "codec/schema.h"
#include "unit/wire/described.h"
#include "wire/v1/wire_int.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>

enum { PUBLISHED_OPS_MAX = 32, PUBLISHED_STATUSES_MAX = 12, YAML_BYTES_MAX = 1 << 20 };

static struct v1 *v;
static struct arena *a;
static struct wopr_error err;

static struct v1 *adapter(void) {
    static const char *const FIXTURES[] = {"conformance-noop", NULL};
    struct v1_config c = {.version = "0.1.0",
                          .vendor = "wopr",
                          .limits = RUN_LIMITS_DEFAULT,
                          .idem_retention_s = 86400,
                          .body_max = 1048576,
                          .fixtures = FIXTURES};
    struct v1 *out;
    cr_assert_eq(v1_new(&c, NULL, NULL, &out, &err), 0, "%s", err.message);
    return out;
}

static void up(void) {
    a = arena_new(1 << 25);
    v = adapter();
    cr_assert_eq(json_check(v->openapi, &JSON_LIMITS_STORED, &err), 0, "%s", err.message);
}
static void down(void) {
    v1_free(v);
    arena_free(a);
}
TestSuite(openapi, .init = up, .fini = down);

static struct json_members members(struct str object) {
    struct json_members m = {0};
    if (object.p) cr_assert_eq(json_members(object, a, &m, &err), 0, "%s", err.message);
    return m;
}

static struct str part(const char *path) { return json_path_get(v->openapi, str_c(path), a); }

static struct str operation_of(const struct http_op *op) {
    return described_operation(v->openapi, op);
}

Test(openapi, two_hosts_of_one_build_serve_the_same_bytes) {
    struct v1 *other = adapter();
    cr_expect(str_eq(v->openapi, other->openapi));
    cr_expect(str_eq(v->openapi_etag, other->openapi_etag));
    v1_free(other);
}

Test(openapi, it_says_who_it_is_and_under_which_licence /* RUN-47 F2 */) {
    static const char *const HAS[] = {"openapi",
                                      "info.title",
                                      "info.version",
                                      "info.license.identifier",
                                      "info.description",
                                      "servers.0.url",
                                      "externalDocs.url",
                                      "components.securitySchemes.ApiKeyAuth",
                                      "security.0.ApiKeyAuth"};
    for (size_t i = 0; i < sizeof HAS / sizeof HAS[0]; i++)
        cr_expect_not_null(part(HAS[i]).p, "%s", HAS[i]);
    cr_expect(str_eqc(json_string(part("info.version"), a), V1_PROTOCOL_VERSION));
}

/* Every member of every object, with where it stands. */
static void walk(struct str raw, void (*seen)(const struct json_member *m)) {
    if (json_type_of(raw) == JSON_ARRAY) {
        struct json_elements el;
        cr_assert_eq(json_elements(raw, a, &el, &err), 0);
        for (size_t i = 0; i < el.n; i++) walk(el.v[i], seen);
    }
    if (json_type_of(raw) != JSON_OBJECT) return;
    struct json_members m = members(raw);
    for (size_t i = 0; i < m.n; i++) {
        seen(&m.v[i]);
        walk(m.v[i].raw, seen);
    }
}

static size_t refs_seen;

static void reference_resolves(const struct json_member *m) {
    static const char *const NEVER[] = {"$id", "$schema", "$defs", "$anchor", "$dynamicRef"};
    for (size_t i = 0; i < sizeof NEVER / sizeof NEVER[0]; i++)
        cr_expect_not(str_eqc(m->key, NEVER[i]), "%s is left in the document", NEVER[i]);
    if (!str_eqc(m->key, "$ref")) return;
    struct str ref = json_string(m->raw, a);
    refs_seen++;
    cr_expect(str_starts(ref, STR("#/components/")), STR_FMT, STR_ARG(ref));
    cr_expect_not_null(json_pointer_get(v->openapi, str_n(ref.p + 1, ref.n - 1), a).p, STR_FMT,
                       STR_ARG(ref));
}

Test(openapi, every_reference_resolves_inside_the_document_without_ids /* RUN-47 F2 */) {
    walk(v->openapi, reference_resolves);
    cr_expect_gt(refs_seen, 300);
}

Test(openapi, names_of_components_are_legal_and_every_one_is_used) {
    struct json_members kinds = members(part("components"));
    for (size_t i = 0; i < kinds.n; i++) {
        struct json_members m = members(kinds.v[i].raw);
        for (size_t k = 0; k < m.n; k++) {
            for (size_t c = 0; c < m.v[k].key.n; c++)
                cr_expect(isalnum((unsigned char)m.v[k].key.p[c]) ||
                          strchr("._-", m.v[k].key.p[c]));
            struct str ref = arena_printf(a, "\"#/components/" STR_FMT "/" STR_FMT "\"",
                                          STR_ARG(kinds.v[i].key), STR_ARG(m.v[k].key));
            bool scheme = str_eqc(kinds.v[i].key, "securitySchemes");
            cr_expect(scheme || strstr(v->openapi.p, ref.p), "%s is not used", ref.p);
        }
    }
}

Test(openapi, every_component_schema_compiles /* RUN-47 */) {
    struct json_members m = members(part("components.schemas"));
    struct schema_set *set = schema_set_new(true);
    const struct schema *schema;
    cr_assert_eq(schema_set_add(set, STR("openapi"), v->openapi, &err), 0, "%s", err.message);
    cr_expect_gt(m.n, 40);
    for (size_t i = 0; i < m.n; i++) {
        struct str uri =
            arena_printf(a, "openapi#/components/schemas/" STR_FMT, STR_ARG(m.v[i].key));
        cr_expect_eq(schema_compile(set, uri, &schema, &err), 0, STR_FMT ": %s at %s", STR_ARG(uri),
                     err.message, err.pointer);
    }
    schema_set_free(set);
}

/* --- statuses --- */

static bool listed(const struct http_op *op, const char *status) {
    return json_get(json_get(operation_of(op), "responses"), status).p != NULL;
}

Test(openapi, statuses_follow_from_the_row_of_the_operation /* RUN-47 HTTP-8 HTTP-9 HTTP-11 */) {
    const struct http_mount *w = v1_mount(v);
    for (size_t i = 0; i < w->ops_nr; i++) {
        const struct http_op *op = &w->ops[i];
        bool is_public = (op->flags & OP_PUBLIC) != 0, token = (op->flags & OP_TOKEN) != 0;
        bool run = strstr(op->pattern, "{runId}") != NULL;
        const struct {
            const char *status;
            bool due;
        } RULES[] = {{"400", true}, /* a malformed query */
                     {"401", !is_public},
                     {"403", !is_public || token},
                     {"404", strchr(op->pattern, '{') != NULL ||
                                 strcmp(op->id, "verifyAuditLog") == 0 || /* where there is none */
                                 strcmp(op->id, "callMcp") == 0},         /* a method, a session */
                     {"406", true},                                      /* OpenWOP-Version */
                     {"408", true}, /* what ails the head of a request ails any operation's */
                     {"414", true},
                     {"501", true},
                     {"505", true},
                     {"410", run || token},
                     {"413", op->body_max > 0},
                     {"415", op->body_max > 0},
                     {"429", true},
                     {"431", true},
                     {"500", true},
                     {"503", true}};
        for (size_t k = 0; k < sizeof RULES / sizeof RULES[0]; k++)
            cr_expect_eq(listed(op, RULES[k].status), RULES[k].due, "%s %s", op->id,
                         RULES[k].status);
        cr_expect(listed(op, "409") || !(run || (op->flags & OP_IDEMPOTENT)), "%s", op->id);
    }
}

static void expect_header(struct str response, const char *name, const char *where) {
    cr_expect_not_null(json_get(json_get(response, "headers"), name).p, "%s: %s", where, name);
}

Test(openapi, every_answer_tells_its_request_id_and_trace /* HTTP-12 F14 */) {
    const struct http_mount *w = v1_mount(v);
    for (size_t i = 0; i < w->ops_nr; i++) {
        struct json_members m = members(json_get(operation_of(&w->ops[i]), "responses"));
        for (size_t k = 0; k < m.n; k++) {
            struct str ref = json_string(json_get(m.v[k].raw, "$ref"), a), response = m.v[k].raw;
            if (ref.p) response = json_pointer_get(v->openapi, str_n(ref.p + 1, ref.n - 1), a);
            expect_header(response, "X-Request-Id", w->ops[i].id);
            expect_header(response, "traceparent", w->ops[i].id);
        }
    }
    expect_header(part("components.responses.Status429"), "Retry-After", "429");
    expect_header(part("components.responses.Status503"), "Retry-After", "503");
    expect_header(part("components.responses.Status401"), "WWW-Authenticate", "401");
}

/* --- beside the published document --- */

struct published {
    char path[96], method[8], id[48], statuses[PUBLISHED_STATUSES_MAX][4];
    size_t statuses_nr;
};
static struct published PUBLISHED[PUBLISHED_OPS_MAX];
static size_t published_nr;

static void copy(char *to, size_t size, const char *from, size_t n) {
    cr_assert_lt(n, size);
    memcpy(to, from, n);
    to[n] = 0;
}

/* The few lines that matter, by their indentation. */
static void published_line(char *line, char path[96]) {
    struct published *p = published_nr > 0 ? &PUBLISHED[published_nr - 1] : NULL;
    size_t n = strcspn(line, "\n"), blanks = strspn(line, " ");
    char *s = line + blanks;
    line[n] = 0;
    if (n == blanks) return;
    if (blanks == 2 && *s == '/') copy(path, 96, s, n - 3);
    if (blanks == 4 && path[0] && line[n - 1] == ':' && n - 5 < sizeof p->method) {
        cr_assert_lt(published_nr, PUBLISHED_OPS_MAX);
        p = &PUBLISHED[published_nr++];
        copy(p->path, sizeof p->path, path, strlen(path));
        copy(p->method, sizeof p->method, s, n - 5);
    }
    if (p && blanks == 6 && strncmp(s, "operationId: ", 13) == 0)
        copy(p->id, sizeof p->id, s + 13, n - 19);
    if (p && blanks == 8 && *s == '\'' && isdigit((unsigned char)s[1])) {
        cr_assert_lt(p->statuses_nr, PUBLISHED_STATUSES_MAX);
        memcpy(p->statuses[p->statuses_nr++], s + 1, 3);
    }
}

static void published_read(void) {
    char line[1024], path[96] = "";
    FILE *f = fopen(WOPR_SOURCE_DIR "/api/openapi.yaml", "r");
    cr_assert_not_null(f);
    while (fgets(line, sizeof line, f) && strncmp(line, "components:", 11) != 0)
        published_line(line, path);
    fclose(f);
    cr_assert_gt(published_nr, 15);
}

static const struct http_op *mounted(const char *id) {
    const struct http_mount *w = v1_mount(v);
    for (size_t i = 0; i < w->ops_nr; i++)
        if (strcmp(w->ops[i].id, id) == 0) return &w->ops[i];
    return NULL;
}

static struct str file_read(const char *path) {
    static char text[YAML_BYTES_MAX];
    FILE *f = fopen(path, "r");
    cr_assert_not_null(f, "%s", path);
    size_t n = fread(text, 1, sizeof text, f);
    fclose(f);
    return arena_str(a, str_n(text, n));
}

/* api/host/openapi.json names the published operations that this host does not mount yet. */
static bool not_mounted(const char *id) {
    struct str all = file_read(WOPR_SOURCE_DIR "/api/host/openapi.json");
    struct json_elements el;
    cr_assert_eq(json_elements(json_get(all, "notMounted"), a, &el, &err), 0);
    for (size_t i = 0; i < el.n; i++)
        if (str_eqc(json_string(el.v[i], a), id)) return true;
    return false;
}

Test(openapi, published_operations_stand_at_their_paths_with_their_statuses /* D7 RUN-47 */) {
    published_read();
    for (size_t i = 0; i < published_nr; i++) {
        const struct published *p = &PUBLISHED[i];
        const struct http_op *op = mounted(p->id);
        cr_expect_eq(op == NULL, not_mounted(p->id), "%s", p->id);
        if (!op) continue;
        cr_expect_str_eq(op->pattern, p->path);
        cr_expect_eq(tolower((unsigned char)op->method[0]), p->method[0], "%s", p->id);
        for (size_t k = 0; k < p->statuses_nr; k++)
            cr_expect(listed(op, p->statuses[k]), "%s lacks %s", p->id, p->statuses[k]);
    }
}

/* "extension": true of an operation, in whichever group describes it. */
static bool extension(const struct json_elements *groups, const char *id) {
    for (size_t i = 0; i < groups->n; i++) {
        struct str group = json_string(groups->v[i], a);
        struct str path = arena_printf(a, WOPR_SOURCE_DIR "/api/host/operations/" STR_FMT ".json",
                                       STR_ARG(group));
        struct str op = json_get(json_get(file_read(path.p), "operations"), id);
        if (op.p) return json_get(op, "extension").p != NULL;
    }
    cr_assert(false, "%s is described in no group", id);
    return false;
}

Test(openapi, what_is_not_published_is_described_as_an_extension /* D7 RUN-47 */) {
    const struct http_mount *w = v1_mount(v);
    struct json_elements groups;
    struct str all = file_read(WOPR_SOURCE_DIR "/api/host/openapi.json");
    cr_assert_eq(json_elements(json_get(all, "groups"), a, &groups, &err), 0);
    published_read();
    for (size_t i = 0; i < w->ops_nr; i++) {
        size_t p = 0;
        while (p < published_nr && strcmp(PUBLISHED[p].id, w->ops[i].id) != 0) p++;
        cr_expect_eq(p == published_nr, extension(&groups, w->ops[i].id),
                     "%s: \"extension\": true in api/host/operations is for what api/openapi.yaml "
                     "lacks, and for nothing else",
                     w->ops[i].id);
    }
}

Test(openapi, an_extension_is_documented_by_its_path /* D7 */) {
    static const char *const PAGES[] = {"api-extensions", "workers", "webhooks", "packs",
                                        "operations", "mcp-server", "workrail"};
    const struct http_mount *w = v1_mount(v);
    struct str pages[sizeof PAGES / sizeof *PAGES];
    for (size_t k = 0; k < sizeof PAGES / sizeof *PAGES; k++)
        pages[k] = file_read(arena_printf(a, WOPR_SOURCE_DIR "/docs/%s.md", PAGES[k]).p);
    published_read();
    for (size_t i = 0; i < w->ops_nr; i++) {
        bool found = false;
        for (size_t p = 0; p < published_nr; p++)
            found = found || strcmp(PUBLISHED[p].id, w->ops[i].id) == 0;
        for (size_t k = 0; k < sizeof PAGES / sizeof *PAGES; k++)
            found = found || strstr(pages[k].p, w->ops[i].pattern) != NULL;
        cr_expect(found, "%s: no page says %s: docs/api-extensions.md, or that of its subject",
                  w->ops[i].id, w->ops[i].pattern);
    }
}
