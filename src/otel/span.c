/* span.c: see span.h. */
#include "otel/span.h"

#define NS_PER_MS 1000000u

void span_attr(struct span *s, struct attr a) {
    if (s->attrs_nr < SPAN_ATTRS_MAX) s->attrs[s->attrs_nr++] = a;
}

void span_str(struct span *s, const char *key, struct str v) {
    if (v.n > 0) span_attr(s, (struct attr){.key = str_c(key), .type = ATTR_STR, .s = v});
}

void span_int(struct span *s, const char *key, int64_t v) {
    span_attr(s, (struct attr){.key = str_c(key), .type = ATTR_INT, .i = v});
}

void span_bool(struct span *s, const char *key, bool v) {
    span_attr(s, (struct attr){.key = str_c(key), .type = ATTR_BOOL, .i = v});
}

/* The content of an AnyValue. */
static void value_write(struct form *f, const struct attr *a) {
    switch (a->type) {
    case ATTR_STR:
        form_str(f, 1, "stringValue", a->s);
        break;
    case ATTR_INT:
        form_int64(f, 3, "intValue", a->i);
        break;
    case ATTR_BOOL:
        form_bool(f, 2, "boolValue", a->i != 0);
        break;
    case ATTR_DOUBLE:
        form_double(f, 4, "doubleValue", a->d);
        break;
    case ATTR_STRS:
        form_open(f, 5, "arrayValue");
        form_list(f, "values");
        for (size_t i = 0; i < a->n; i++) {
            form_item(f, 1);
            form_str(f, 1, "stringValue", a->v[i]);
            form_close(f);
        }
        form_list_end(f);
        form_close(f);
        break;
    }
}

void attrs_write(struct form *f, unsigned no, const struct attr *v, size_t n) {
    if (n == 0) return;
    form_list(f, "attributes");
    for (size_t i = 0; i < n; i++) {
        form_item(f, no);
        form_str(f, 1, "key", v[i].key);
        form_open(f, 2, "value");
        value_write(f, &v[i]);
        form_close(f);
        form_close(f);
    }
    form_list_end(f);
}

static void link_write(struct form *f, const struct span *s) {
    form_list(f, "links");
    form_item(f, 13);
    form_id(f, 1, "traceId", s->link_trace, sizeof s->link_trace);
    form_id(f, 2, "spanId", s->link_id, sizeof s->link_id);
    form_close(f);
    form_list_end(f);
}

void span_write(struct form *f, const struct span *s) {
    form_begin(f);
    form_id(f, 1, "traceId", s->trace, sizeof s->trace);
    form_id(f, 2, "spanId", s->id, sizeof s->id);
    if (s->state.n > 0) form_str(f, 3, "traceState", s->state);
    if (s->has_parent) form_id(f, 4, "parentSpanId", s->parent, sizeof s->parent);
    form_str(f, 5, "name", s->name);
    form_number(f, 6, "kind", s->kind);
    form_fixed64(f, 7, "startTimeUnixNano", (uint64_t)s->start_ms * NS_PER_MS);
    form_fixed64(f, 8, "endTimeUnixNano", (uint64_t)s->end_ms * NS_PER_MS);
    attrs_write(f, 9, s->attrs, s->attrs_nr);
    if (s->has_link) link_write(f, s);
    if (s->status != SPAN_UNSET) {
        form_open(f, 15, "status");
        if (s->message.n > 0) form_str(f, 2, "message", s->message);
        form_number(f, 3, "code", s->status);
        form_close(f);
    }
    form_end(f);
}

void speaker_resource(struct form *f, const struct speaker *who) {
    form_open(f, 1, "resource");
    attrs_write(f, 1, who->attrs, who->attrs_nr);
    form_close(f);
}

void speaker_scope(struct form *f, const struct speaker *who) {
    form_open(f, 1, "scope");
    form_str(f, 1, "name", STR("wopr"));
    form_str(f, 2, "version", who->version);
    form_close(f);
}

void spans_request(struct form *f, const struct speaker *who, const struct str *spans, size_t n) {
    form_begin(f);
    form_list(f, "resourceSpans");
    form_item(f, 1);
    speaker_resource(f, who);
    form_list(f, "scopeSpans");
    form_item(f, 2);
    speaker_scope(f, who);
    form_list(f, "spans");
    for (size_t i = 0; i < n; i++) form_item_ready(f, 2, spans[i]);
    form_list_end(f);
    form_close(f);
    form_list_end(f);
    form_close(f);
    form_list_end(f);
    form_end(f);
}
