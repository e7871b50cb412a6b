/* verify.c: see verify.h. */
#include "verify.h"

#include "base/embed.h"
#include "codec/schema.h"

#include <fnmatch.h>
#include <stdio.h>

#define URI_MAX    256
#define CACHE_MAX  80
#define SCHEMA_DIR "api/schemas/"
#define PAYLOADS   "run-event-payloads.schema.json"

/* --- compiled schemas: one set per test process, entries compiled when first needed --- */
static struct schema_set *schemas(void) {
    static struct schema_set *set;
    struct wopr_error e;
    if (set != NULL) return set;
    set = schema_set_new(true);
    cr_assert_not_null(set);
    for (const struct embed_file *f = EMBED_FILES; f->name != NULL; f++) {
        if (!str_starts(str_c(f->name), STR(SCHEMA_DIR))) continue;
        struct str id = json_string(json_get(embed_text(f), "$id"), test_arena());
        cr_assert_eq(schema_set_add(set, id, embed_text(f), &e), 0, "%s: %s", f->name, e.message);
    }
    return set;
}

/* NULL when there is no such definition. */
static const struct schema *compiled(const char *file, const char *fragment) {
    static struct {
        char uri[URI_MAX];
        const struct schema *schema;
    } cache[CACHE_MAX];
    static size_t n;
    char uri[URI_MAX];
    struct wopr_error e;
    const struct embed_file *f = embed_find(fmt(SCHEMA_DIR "%s", file));
    cr_assert_not_null(f, "%s is not published", file);
    struct str id = json_string(json_get(embed_text(f), "$id"), test_arena());
    snprintf(uri, sizeof uri, "%.*s%s", STR_ARG(id), fragment);
    for (size_t i = 0; i < n; i++)
        if (strcmp(cache[i].uri, uri) == 0) return cache[i].schema;
    cr_assert(n < CACHE_MAX);
    snprintf(cache[n].uri, sizeof cache[n].uri, "%s", uri);
    int rc = schema_compile(schemas(), str_c(uri), &cache[n].schema, &e);
    cr_assert_eq(rc, 0, "%s: %s", uri, e.message);
    return cache[n++].schema;
}

bool verify_json(struct str text) {
    struct wopr_error e;
    return text.n > 0 && json_check(text, &JSON_LIMITS_STORED, &e) == 0;
}

static bool valid(const char *file, const char *fragment, struct str json, char *why) {
    struct schema_issue issue = {0};
    if (schema_validate_text(compiled(file, fragment), json, &issue) == 0) return true;
    snprintf(why, VERIFY_WHY, "%s%s: at \"%s\": %s (%s)", file, fragment, issue.instance,
             issue.reason, issue.keyword);
    return false;
}

static bool judging(void) {
    const char *v = env("OPENWOP_CONFORMANCE_SCHEMAS");
    return v == NULL || strcmp(v, "off") != 0;
}

bool verify_against(const char *schema_file, struct str json, char *why) {
    return !judging() || valid(schema_file, "", json, why);
}

static void judge(const char *what, const char *file, const char *fragment, struct str json) {
    char why[VERIFY_WHY] = "";
    cr_expect(!judging() || valid(file, fragment, json, why), "%s breaks the published schema: %s",
              what, why);
}

/* --- event documents --- */
static bool known_type(struct str type) {
    static struct json_elements types;
    const struct embed_file *f = embed_find(SCHEMA_DIR "run-event.schema.json");
    cr_assert_not_null(f);
    if (types.n == 0) types = list_at(embed_text(f), "$defs.RunEventType.enum");
    for (size_t i = 0; i < types.n; i++)
        if (str_eq(json_string(types.v[i], test_arena()), type)) return true;
    return false;
}

static void verify_event(const char *run, struct str doc) {
    if (!judging()) return;
    struct str type = text_or_none(doc, "type");
    cr_expect(type.n > 0, "an event document without a type: " STR_FMT, STR_ARG(doc));
    cr_expect(text_or_none(doc, "eventId").n > 0 && at(doc, "payload").p != NULL &&
                  is_type(doc, "sequence", JSON_NUMBER) && text_or_none(doc, "timestamp").n > 0,
              "an event document lacks a required member: " STR_FMT, STR_ARG(doc));
    cr_expect(str_eqc(text_or_none(doc, "runId"), run), "an event of another run: " STR_FMT,
              STR_ARG(doc));
    if (type.n == 0 || !known_type(type)) return; /* GEN-5 */
    judge(fmt("event " STR_FMT, STR_ARG(type)), "run-event.schema.json", "", doc);
    /* EVT-14: the value "message" is missing in the literal schema of this payload */
    struct str reducer = text_or_none(doc, "payload.reducer");
    if (str_eqc(type, "channel.written") && str_eqc(reducer, "message")) return;
    if (at(doc, "payload").p == NULL) return; /* said above */
    judge(fmt("the payload of " STR_FMT, STR_ARG(type)), PAYLOADS,
          fmt("#/$defs/_typeIndex/properties/" STR_FMT, STR_ARG(type)), at(doc, "payload"));
}

static void verify_event_list(const char *run, struct str json) {
    struct json_elements l = list_at(json, "events");
    for (size_t i = 0; i < l.n; i++) verify_event(run, l.v[i]);
}

void verify_frame(const char *run, const struct frame *f) {
    static const char *const chunk_strings[] = {"nodeId", "runId", "chunk"};
    cr_expect(verify_json(f->data), "the data of a frame \"" STR_FMT "\" is not JSON: " STR_FMT,
              STR_ARG(f->event), STR_ARG(f->data));
    if (!verify_json(f->data)) return;
    if (str_eqc(f->event, "state.snapshot")) {
        judge("a state.snapshot frame", "run-snapshot.schema.json", "", f->data);
    } else if (str_eqc(f->event, "ai.message.chunk")) {
        for (size_t i = 0; i < COUNT(chunk_strings); i++)
            cr_expect(is_type(f->data, chunk_strings[i], JSON_STRING),
                      "ai.message.chunk lacks %s: " STR_FMT, chunk_strings[i], STR_ARG(f->data));
        cr_expect(is_type(f->data, "isLast", JSON_BOOL), "ai.message.chunk lacks isLast");
    } else if (json_type_of(f->data) == JSON_ARRAY) {
        struct json_elements l = list_at(f->data, "");
        for (size_t i = 0; i < l.n; i++) verify_event(run, l.v[i]);
    } else if (at(f->data, "type").p != NULL) {
        verify_event(run, f->data);
        cr_expect(!judging() || str_eq(f->event, text_or_none(f->data, "type")),
                  "the frame is named " STR_FMT ", its document says otherwise", STR_ARG(f->event));
    }
}

/* --- answers --- */
static void judge_discovery(const char *run, struct str json) {
    (void)run;
    judge("the discovery document", "capabilities.schema.json", "", json);
}

static void judge_openapi(const char *run, struct str json) {
    (void)run;
    cr_expect(is_type(json, "openapi", JSON_STRING) && is_type(json, "paths", JSON_OBJECT),
              "not an OpenAPI document");
}

static void judge_created(const char *run, struct str json) {
    (void)run;
    cr_expect(text_or_none(json, "runId").n > 0 && text_or_none(json, "status").n > 0,
              "a created run lacks runId or status: " STR_FMT, STR_ARG(json)); /* RUN-4 */
}

static void judge_snapshot(const char *run, struct str json) {
    /* H12.2: a status that the enumeration does not list must be tolerated by readers */
    if (str_starts(text_or_none(json, "status"), STR("waiting-external"))) return;
    judge("the run snapshot", "run-snapshot.schema.json", "", json);
    cr_expect(str_eqc(text_or_none(json, "runId"), run), "a snapshot of another run");
}

static void judge_bundle(const char *run, struct str json) {
    judge("the debug bundle", "debug-bundle.schema.json", "", json);
    cr_expect(is_type(json, "events", JSON_ARRAY), "no events array");
    if (is_type(json, "events", JSON_ARRAY)) verify_event_list(run, json);
}

static void judge_events(const char *run, struct str json) {
    cr_expect(is_type(json, "events", JSON_ARRAY), "no events array");
    if (is_type(json, "events", JSON_ARRAY)) verify_event_list(run, json);
}

static void judge_poll(const char *run, struct str json) {
    judge_events(run, json);
    cr_expect(!judging() || is_type(json, "isComplete", JSON_BOOL), "isComplete is no boolean");
}

static void judge_workflow(const char *run, struct str json) {
    (void)run;
    judge("the workflow", "workflow-definition.schema.json", "", json);
}

static void judge_control(const char *run, struct str json) {
    cr_expect(str_eqc(text_or_none(json, "runId"), run) && text_or_none(json, "status").n > 0,
              "the answer lacks runId or status: " STR_FMT, STR_ARG(json));
}

/* INT-15, RUN-39. */
static void judge_interrupt(const char *run, struct str json) {
    static const char *const known[] = {"kind", "key", "resumeSchema", "timeoutMs", "data"};
    struct json_members m;
    (void)run; /* not by the schema: the shapes of its oneOf overlap (CX-15) */
    cr_expect(text_or_none(json, "kind").n > 0 && text_or_none(json, "key").n > 0 &&
                  is_type(json, "data", JSON_OBJECT),
              "an interrupt lacks kind, key or data: " STR_FMT, STR_ARG(json));
    cr_assert_eq(json_members(json, test_arena(), &m, NULL), 0);
    for (size_t i = 0; i < m.n; i++) {
        size_t k = 0;
        while (k < COUNT(known) && !str_eqc(m.v[i].key, known[k])) k++;
        cr_expect(k < COUNT(known), "an interrupt shows " STR_FMT, STR_ARG(m.v[i].key));
    }
}

static const struct {
    const char *method, *path;
    long status;
    void (*judge)(const char *run, struct str json);
} ROUTES[] = {
    {"GET", "/.well-known/openwop", 200, judge_discovery},
    {"GET", "/v1/openapi.json", 200, judge_openapi},
    {"GET", "/v1/workflows/*", 200, judge_workflow},
    {"POST", "/v1/runs", 201, judge_created},
    {"POST", "/v1/runs/*/interrupts/*", 200, judge_control},
    {"POST", "/v1/runs/*/approvals/*", 200, judge_control},
    {"GET", "/v1/interrupts/*", 200, judge_interrupt},
    {"POST", "/v1/runs/*/cancel", 200, judge_control},
    {"POST", "/v1/runs/*:pause", 202, judge_control},
    {"POST", "/v1/runs/*:resume", 202, judge_control},
    {"GET", "/v1/runs/*/debug-bundle", 200, judge_bundle},
    {"GET", "/v1/runs/*/events/poll", 200, judge_poll},
    {"GET", "/v1/runs/*/events", 200, judge_events},
    {"GET", "/v1/runs/*", 200, judge_snapshot},
};

static const char *run_of(const char *path) {
    static const char prefix[] = "/v1/runs/";
    if (strncmp(path, prefix, sizeof prefix - 1) != 0) return "";
    const char *p = path + sizeof prefix - 1;
    return arena_cstr(test_arena(), str_n(p, strcspn(p, "/:?")));
}

void verify_reply(const char *method, const char *path, const struct reply *r) {
    const char *plain = arena_cstr(test_arena(), str_n(path, strcspn(path, "?")));
    if (strcmp(method, "HEAD") == 0) return;
    if (r->status >= 400) {
        expect_envelope(r);
        return;
    }
    for (size_t i = 0; i < COUNT(ROUTES); i++) {
        if (r->status != ROUTES[i].status || strcmp(method, ROUTES[i].method) != 0 ||
            fnmatch(ROUTES[i].path, plain, FNM_PATHNAME) != 0)
            continue;
        cr_expect_not_null(r->json.p, "%s %s: %ld without a JSON body", method, path, r->status);
        if (r->json.p != NULL) ROUTES[i].judge(run_of(plain), r->json);
        return;
    }
}

void expect_envelope(const struct reply *r) {
    char why[VERIFY_WHY] = "";
    cr_expect_not_null(r->json.p, "an error (%ld) without a JSON body: " STR_FMT, r->status,
                       STR_ARG(r->body));
    if (r->json.p == NULL) return;
    cr_expect(verify_against("error-envelope.schema.json", r->json, why),
              "not the error envelope (ERR-1): %s: " STR_FMT, why, STR_ARG(r->body));
}
