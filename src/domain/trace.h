/*
 * trace.h: the W3C trace context of a run, and the ids of its spans.  Layer: domain (pure).
 *
 * Every id follows from what is stored: the caller's traceparent, if there was one, and the run's
 * id, node and count.  So a run keeps its trace through takeover and restart without state of its
 * own, and a span that is sent twice has the same id both times.
 */
#ifndef WOPR_DOMAIN_TRACE_H
#define WOPR_DOMAIN_TRACE_H

#include "base/arena.h"

enum { TRACE_ID_BYTES = 16, SPAN_ID_BYTES = 8, TRACEPARENT_BYTES = 55 };

struct trace_ctx { /* of a run */
    uint8_t trace[TRACE_ID_BYTES];
    uint8_t parent[SPAN_ID_BYTES]; /* the span that asked for the run */
    bool has_parent;               /* else the run is the root of its trace */
    bool sampled;                  /* has_parent: what the caller decided */
};
enum trace_root { TRACE_ALWAYS, TRACE_NEVER, TRACE_RATIO };
struct trace_policy {  /* all zero: nothing is recorded and nothing is said to others */
    bool on;           /* spans are exported */
    bool parent_based; /* a caller's decision holds; root is for runs without one */
    enum trace_root root;
    double ratio; /* TRACE_RATIO: 0..1 */
};

/*
 * What a run keeps of its caller's context is one text, called traceparent wherever it is passed
 * on: the header as the server accepted it, after which a blank and the tracestate may follow, or
 * empty.
 */
enum { TRACESTATE_BYTES_MAX = 512 };
struct str trace_context(struct str traceparent, struct str tracestate, struct arena *a);
/* Of that text; STR_NONE: none.  It belongs to the trace and goes where a traceparent of ours goes,
 * unchanged: other vendors' entries, none of ours. */
struct str trace_state(struct str traceparent);
void trace_of_run(struct str traceparent, struct str run_id, struct trace_ctx *out);
/* Are its spans exported?  The same answer on every host of one policy. */
bool trace_sampled(const struct trace_policy *p, const struct trace_ctx *c);
void trace_span_run(struct str run_id, uint8_t out[SPAN_ID_BYTES]);
/* past: how often the node had completed or failed in this run before. */
void trace_span_node(struct str run_id, struct str node_id, int64_t past,
                     uint8_t out[SPAN_ID_BYTES]);
void trace_span_attempt(struct str run_id, struct str node_id, int64_t seq,
                        uint8_t out[SPAN_ID_BYTES]);
void trace_span_request(struct str invocation_id, uint8_t out[SPAN_ID_BYTES]);
void trace_span_interrupt(struct str interrupt_id, uint8_t out[SPAN_ID_BYTES]);
/* The traceparent for what a span of the run asks others to do. */
struct traceparent {
    char text[TRACEPARENT_BYTES + 1];
};
struct traceparent trace_format(const struct trace_ctx *c, const uint8_t span[SPAN_ID_BYTES],
                                bool sampled);
/* The same for a run that may not be traced: what the caller said goes on unchanged, and without a
 * caller nothing is said (false). */
bool trace_onward(const struct trace_policy *p, struct str traceparent, struct str run_id,
                  const uint8_t span[SPAN_ID_BYTES], struct traceparent *out);
/* Trace and span of a traceparent as hexadecimal digits, terminated. */
void trace_ids(const struct traceparent *t, char trace[2 * TRACE_ID_BYTES + 1],
               char span[2 * SPAN_ID_BYTES + 1]);

#endif
