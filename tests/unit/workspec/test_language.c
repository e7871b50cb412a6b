/*
 * test_language.c: what is stored of a document, and what it is compiled to (WS-94 to WS-98): the
 * definition is one by the published schema, and the plan does not depend on the zone data of the
 * day.
 */
#include "workspec/language.h"

#include "codec/jobj.h"
#include "domain/published.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define HEAD                                                                                       \
    "{\"simulation\":{\"schema_version\":\"2.0\",\"meta\":{\"title\":\"%s\",\"description\":"      \
    "\"D\",\"domain\":\"M\",\"tags\":[\"one\",\"\"]},\"config\":{\"time_unit\":\"minutes\","       \
    "\"start_time\":\"08:00\",\"end_time\":\"09:00\",\"currency\":\"EUR\",\"locale\":\"en-IE\","   \
    "\"timezone\":\"%s\"},\"world\":{\"objects\":["                                                \
    "{\"id\":\"a\",\"type\":\"actor\",\"name\":\"A\",\"location\":\"hall\",\"properties\":"        \
    "{\"state\":\"free\",\"nothing\":null,\"list\":[1],\"flag\":true,\"deep\":{\"x\":1}}}]},"      \
    "\"process\":{\"tasks\":[%s]}}}"
#define TASKS                                                                                      \
    "{\"id\":\"t\",\"actor_id\":\"a\",\"start\":\"2026-07-01T00:30:00Z\",\"duration\":\"5m\","     \
    "\"emoji\":\"\\u2615\",\"description\":\"Brew\"},"                                             \
    "{\"id\":\"u\",\"actor_id\":\"a\",\"start\":\"2026-07-01T01:30:00Z\",\"duration\":\"5m\","     \
    "\"depends_on\":{\"all\":[\"t\"],\"any\":[\"t\"]}}"

static struct arena *a;
static void up(void) { a = arena_new(1u << 30); }
static void down(void) { arena_free(a); }
TestSuite(workspec_language, .init = up, .fini = down);

static bool offset_of(void *ctx, struct str name, int64_t utc_ms, int32_t *offset_s) {
    (void)name, (void)utc_ms;
    *offset_s = *(const int32_t *)ctx;
    return true;
}

static int stored_of(struct str json, const char *id, int32_t offset_s, struct ws_stored *out,
                     struct wopr_error *err) {
    const struct ws_zones zones = {offset_of, &offset_s};
    struct ws_doc doc;
    cr_assert_eq(ws_parse(json, WS_JSON, &WS_LIMITS_DEFAULT, a, &doc, err), 0, "%s", err->message);
    return ws_stored_make(&doc, json, WS_JSON, str_c(id), &zones, a, out, err);
}

static struct workflow *compiled(struct str text) {
    const struct wf_env env = {.dialects = &WS_DIALECT, .dialects_nr = 1};
    struct workflow *wf = NULL;
    struct wopr_error err = {0};
    cr_assert_eq(workflow_compile(text, &env, &wf, &err), 0, "%s at %s", err.message, err.pointer);
    return wf;
}

Test(workspec_language, the_definition_is_one_by_the_published_schema_ws_97_ws_98) {
    struct wopr_error err = {0};
    struct ws_stored s;
    const struct schema *schema;
    struct schema_issue issue = {{0}, {0}, {0}};
    cr_assert_eq(stored_of(arena_printf(a, HEAD, "T", "UTC", TASKS), "doc", 0, &s, &err), 0, "%s",
                 err.message);
    struct workflow *wf = compiled(s.text);
    struct schema_set *set = published_set_new();
    cr_assert_eq(schema_compile(set,
                                STR("https://openwop.dev/spec/v1/workflow-definition.schema.json"),
                                &schema, &err),
                 0, "%s", err.message);
    cr_expect_eq(schema_validate_text(schema, wf->text, &issue), 0, "%s: " STR_FMT, issue.instance,
                 STR_ARG(wf->text));
    cr_expect_eq(wf->nodes_nr, 2);
    cr_expect_eq(wf->edges_nr, 1, "all is enough");
    cr_expect(str_eqc(wf->nodes[0].name, "\xE2\x98\x95 Brew"));
    cr_expect(str_eqc(json_get(json_get(wf->text, "metadata"), "tags"), "[\"one\"]"));
    cr_expect_eq(wf->vars_nr, 6);
    cr_expect(sha256_eq(&wf->hash, &(struct sha256){{0}}) == false);
    schema_set_free(set);
    workflow_unref(wf);
}

Test(workspec_language, the_plan_is_kept_whatever_becomes_of_the_zone_ws_95) {
    struct wopr_error err = {0};
    struct ws_stored summer, winter;
    struct str json = arena_printf(a, HEAD, "T", "Europe/Dublin", TASKS);
    cr_assert_eq(stored_of(json, "doc", 3600, &summer, &err), 0);
    cr_assert_eq(stored_of(json, "doc", -3600, &winter, &err), 0);
    cr_expect(!sha256_eq(&summer.plan_sha, &winter.plan_sha), "another offset, another day");
    struct workflow *x = compiled(summer.text), *y = compiled(winter.text);
    const struct ws_program *p = x->compiled, *q = y->compiled;
    cr_expect(sha256_eq(&p->plan.plan_sha, &summer.plan_sha));
    cr_expect(sha256_eq(&q->plan.plan_sha, &winter.plan_sha));
    cr_expect(!sha256_eq(&x->hash, &y->hash));
    workflow_unref(x);
    workflow_unref(y);
}

Test(workspec_language, ids_are_made_of_title_and_digest_ws_94) {
    struct wopr_error err = {0};
    struct ws_stored s;
    cr_assert_eq(stored_of(arena_printf(a, HEAD,
                                        " A Pot, of T\xC3\xA9"
                                        "a!",
                                        "UTC", TASKS),
                           "", 0, &s, &err),
                 0);
    cr_expect(str_starts(s.workflow_id, STR("ws-a-pot-of-t-a-")), STR_FMT, STR_ARG(s.workflow_id));
    cr_expect_eq(s.workflow_id.n, strlen("ws-a-pot-of-t-a-") + 8);
}

Test(workspec_language, what_cannot_run_is_refused_with_the_reason) {
    struct wopr_error err = {0};
    struct ws_stored s;
    struct buf b;
    cr_expect_eq(stored_of(arena_printf(a, HEAD, "T", "UTC", ""), "doc", 0, &s, &err),
                 WOPR_E_VALIDATION);
    cr_expect_not_null(strstr(err.message, "no tasks"), "%s", err.message);
    cr_expect_eq(stored_of(arena_printf(a, HEAD, "T", "UTC", TASKS), "Doc", 0, &s, &err),
                 WOPR_E_VALIDATION);
    cr_expect_str_eq(err.pointer, "/workflowId");
    buf_init(&b, 1u << 24); /* more properties than a run has variables */
    buf_addz(&b, TASKS ",{\"id\":\"v\",\"actor_id\":\"a\",\"start\":\"2026-07-01T02:30:00Z\","
                       "\"duration\":\"5m\",\"interactions\":[{\"target_id\":\"a\","
                       "\"property_changes\":{");
    for (int i = 0; i < 4100; i++) buf_addf(&b, "%s\"p%d\":{\"set\":1}", i ? "," : "", i);
    buf_addz(&b, "}}]}");
    cr_expect_eq(stored_of(arena_printf(a, HEAD, "T", "UTC", b.p), "doc", 0, &s, &err),
                 WOPR_E_VALIDATION);
    cr_expect_not_null(strstr(err.message, "properties"), "%s", err.message);
    buf_fini(&b);
}

Test(workspec_language, a_text_that_was_tampered_with_is_refused) {
    static const char *const BAD[] = {"#!workspec\n{}",
                                      "#!workspec json doc - zone",
                                      "#!workspec json doc x:y zone\n{}",
                                      "#!workspec json doc 1 zone\n{}",
                                      "#!workspec toml doc - zone\n{}",
                                      "#!workspec json doc - zone\n{\"a\":",
                                      "#!workspec json doc - zone\n{}",
                                      "#!workspec json  - zone\n{}",
                                      "#!other json doc - zone\n{}",
                                      "#!\n{}",
                                      "#!"};
    const struct wf_env env = {.accepted = true, .dialects = &WS_DIALECT, .dialects_nr = 1};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct wopr_error err = {0};
        struct workflow *wf = NULL;
        cr_expect_neq(workflow_compile(str_c(BAD[i]), &env, &wf, &err), 0, "%s", BAD[i]);
        cr_expect(err.message[0] != '\0', "%s", BAD[i]);
    }
    struct wopr_error err = {0};
    struct workflow *wf = NULL;
    struct ws_stored s;
    const struct wf_env none = {.accepted = true};
    cr_assert_eq(stored_of(arena_printf(a, HEAD, "T", "UTC", TASKS), "doc", 0, &s, &err), 0);
    cr_expect_eq(workflow_compile(s.text, &none, &wf, &err), WOPR_E_VALIDATION,
                 "a caller puts no program where a workflow is expected");
}
