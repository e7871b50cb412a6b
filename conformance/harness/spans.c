/* spans.c: see spans.h. */
#include "spans.h"

#include "suite.h"

void need_collector(void) {
    if (env("OPENWOP_OTEL_COLLECTOR_URL") == NULL)
        cr_skip("no collector of telemetry: OPENWOP_OTEL_COLLECTOR is not set");
    struct reply r = ask_unjudged("/.well-known/openwop", NULL);
    if (at(r.json, "capabilities.observability").p == NULL)
        cr_skip("the host does not advertise capabilities.observability");
}

struct str span_text(struct str span, const char *key) {
    struct json_elements l = list_at(span, "attributes");
    for (size_t i = 0; i < l.n; i++) {
        if (!str_eqc(text_at(l.v[i], "key"), key)) continue;
        struct str text = text_or_none(l.v[i], "value.stringValue");
        if (text.n == 0) text = text_or_none(l.v[i], "value.intValue");
        return text.n > 0 ? text : at(l.v[i], "value.intValue"); /* a number is tolerated */
    }
    return STR_NONE;
}

static void spans_take(struct spans *out, struct str request, const char *run) {
    struct json_elements resources = list_at(request, "resourceSpans");
    for (size_t i = 0; i < resources.n; i++) {
        struct json_elements scopes = list_at(resources.v[i], "scopeSpans");
        for (size_t k = 0; k < scopes.n; k++) {
            struct json_elements l = list_at(scopes.v[k], "spans");
            for (size_t m = 0; m < l.n && out->n < SPANS_MAX; m++)
                if (str_eqc(span_text(l.v[m], "openwop.run_id"), run)) out->v[out->n++] = l.v[m];
        }
    }
}

struct spans spans_wait(const char *run, const char *name) {
    const char *base = env("OPENWOP_OTEL_COLLECTOR_URL");
    for (int64_t end = now_ms() + SPANS_WAIT_MS;; nap_ms(100)) {
        struct spans s = {.n = 0};
        struct reply r = ask_base(base, "GET", fmt("/?%s", run), NULL, NULL);
        struct json_elements l = {.n = 0};
        if (r.status == 200) cr_assert_eq(json_elements(r.body, test_arena(), &l, NULL), 0);
        for (size_t i = 0; i < l.n; i++) spans_take(&s, l.v[i], run);
        if (span_named(&s, name).p != NULL) return s;
        cr_assert_lt(now_ms(), end, "no span %s of the run came within %d ms", name, SPANS_WAIT_MS);
    }
}

struct str span_begins(const struct spans *s, const char *begin) {
    for (size_t i = 0; i < s->n; i++)
        if (str_starts(text_at(s->v[i], "name"), str_c(begin))) return s->v[i];
    return STR_NONE;
}

struct str span_named(const struct spans *s, const char *name) {
    for (size_t i = 0; i < s->n; i++)
        if (str_eqc(text_at(s->v[i], "name"), name)) return s->v[i];
    return STR_NONE;
}
