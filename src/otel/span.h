/*
 * span.h: what a span and a request of OTLP consist of, in both forms.  Layer: otel.
 * The numbers are those of opentelemetry-proto 1.x.
 */
#ifndef WOPR_OTEL_SPAN_H
#define WOPR_OTEL_SPAN_H

#include "domain/trace.h"
#include "otel/form.h"

enum { SPAN_ATTRS_MAX = 32 };
enum attr_type { ATTR_STR, ATTR_INT, ATTR_BOOL, ATTR_DOUBLE, ATTR_STRS };
struct attr {
    struct str key;
    enum attr_type type;
    struct str s;
    int64_t i; /* INT, BOOL */
    double d;
    const struct str *v; /* STRS */
    size_t n;
};
enum span_kind { SPAN_INTERNAL = 1, SPAN_SERVER = 2, SPAN_CLIENT = 3 };
enum span_status { SPAN_UNSET, SPAN_OK, SPAN_ERROR };
struct span {
    uint8_t trace[TRACE_ID_BYTES], id[SPAN_ID_BYTES], parent[SPAN_ID_BYTES];
    bool has_parent;
    struct str state; /* the caller's tracestate, or empty */
    struct str name;
    enum span_kind kind;
    int64_t start_ms, end_ms;
    struct attr attrs[SPAN_ATTRS_MAX];
    size_t attrs_nr;
    bool has_link;
    uint8_t link_trace[TRACE_ID_BYTES], link_id[SPAN_ID_BYTES];
    enum span_status status;
    struct str message; /* ERROR: a code, never data */
};
/* What does not fit is left out. */
void span_attr(struct span *s, struct attr a);
void span_str(struct span *s, const char *key, struct str v); /* nothing when v is empty */
void span_int(struct span *s, const char *key, int64_t v);
void span_bool(struct span *s, const char *key, bool v);

void span_write(struct form *f, const struct span *s); /* an item of a request */

/* Who speaks: attributes of the resource, and version of the scope "wopr". */
struct speaker {
    const struct attr *attrs;
    size_t attrs_nr;
    struct str version;
};
void speaker_resource(struct form *f, const struct speaker *who);
void speaker_scope(struct form *f, const struct speaker *who); /* of what follows */
/* A list of KeyValue in field no; nothing when n is 0. */
void attrs_write(struct form *f, unsigned no, const struct attr *v, size_t n);
/* ExportTraceServiceRequest; spans were written by span_write in the same form. */
void spans_request(struct form *f, const struct speaker *who, const struct str *spans, size_t n);

#endif
