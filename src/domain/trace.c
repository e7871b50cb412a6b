/* trace.c: see trace.h. */
#include "domain/trace.h"

#include "codec/bytes.h"

#include <stdio.h>

enum { TRACE_AT = 3, PARENT_AT = 36, FLAGS_AT = 54, NAME_MAX_BYTES = 640, RATIO_BYTES = 8 };

static int digit_of(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

static void hex_read(const char *from, uint8_t *out, size_t n) {
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(digit_of(from[2 * i]) << 4 | digit_of(from[2 * i + 1]));
}

static void hex_write(char *to, const uint8_t *from, size_t n) {
    static const char DIGITS[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        to[2 * i] = DIGITS[from[i] >> 4];
        to[2 * i + 1] = DIGITS[from[i] & 15];
    }
}

/* The first bytes of a digest; never all zero, which W3C calls invalid. */
static void id_of(const char *kind, struct str name, uint8_t *out, size_t n) {
    struct sha256 d = sha256_of2(str_c(kind), name);
    memcpy(out, d.b, n);
    out[n - 1] |= 1;
}

static bool has_context(struct str t) {
    return t.n == TRACEPARENT_BYTES ||
           (t.n > TRACEPARENT_BYTES + 1 && t.p[TRACEPARENT_BYTES] == ' ');
}

struct str trace_context(struct str traceparent, struct str tracestate, struct arena *a) {
    if (traceparent.n != TRACEPARENT_BYTES || tracestate.n == 0) return traceparent;
    return arena_printf(a, STR_FMT " " STR_FMT, STR_ARG(traceparent), STR_ARG(tracestate));
}

struct str trace_state(struct str traceparent) {
    if (!has_context(traceparent) || traceparent.n == TRACEPARENT_BYTES) return STR_NONE;
    return str_n(traceparent.p + TRACEPARENT_BYTES + 1, traceparent.n - TRACEPARENT_BYTES - 1);
}

void trace_of_run(struct str traceparent, struct str run_id, struct trace_ctx *out) {
    *out = (struct trace_ctx){.has_parent = has_context(traceparent)};
    if (!out->has_parent) {
        id_of("wopr/trace/1\n", run_id, out->trace, sizeof out->trace);
        return;
    }
    hex_read(traceparent.p + TRACE_AT, out->trace, sizeof out->trace);
    hex_read(traceparent.p + PARENT_AT, out->parent, sizeof out->parent);
    out->sampled = (digit_of(traceparent.p[FLAGS_AT]) & 1) != 0;
}

/* As the specification of OpenTelemetry has it: the low 8 bytes of the trace id decide, so that all
 * who see the trace decide alike. */
static bool ratio_takes(double ratio, const struct trace_ctx *c) {
    uint64_t low = 0;
    for (int i = TRACE_ID_BYTES - RATIO_BYTES; i < TRACE_ID_BYTES; i++)
        low = low << 8 | c->trace[i];
    return (double)(low >> 1) < ratio * 9223372036854775808.0;
}

bool trace_sampled(const struct trace_policy *p, const struct trace_ctx *c) {
    if (!p->on) return false;
    if (p->parent_based && c->has_parent) return c->sampled;
    if (p->root == TRACE_RATIO) return ratio_takes(p->ratio, c);
    return p->root == TRACE_ALWAYS;
}

void trace_span_run(struct str run_id, uint8_t out[SPAN_ID_BYTES]) {
    id_of("wopr/span/run/1\n", run_id, out, SPAN_ID_BYTES);
}

static void trace_numbered(const char *kind, struct str run_id, struct str node_id, int64_t n,
                           uint8_t out[SPAN_ID_BYTES]) {
    char name[NAME_MAX_BYTES];
    int len = snprintf(name, sizeof name, STR_FMT "\n" STR_FMT "\n%lld", STR_ARG(run_id),
                       STR_ARG(node_id), (long long)n);
    size_t used = len < 0 ? 0 : (size_t)len < sizeof name ? (size_t)len : sizeof name - 1;
    id_of(kind, str_n(name, used), out, SPAN_ID_BYTES);
}

void trace_span_node(struct str run_id, struct str node_id, int64_t past,
                     uint8_t out[SPAN_ID_BYTES]) {
    trace_numbered("wopr/span/node/1\n", run_id, node_id, past, out);
}

void trace_span_attempt(struct str run_id, struct str node_id, int64_t seq,
                        uint8_t out[SPAN_ID_BYTES]) {
    trace_numbered("wopr/span/attempt/1\n", run_id, node_id, seq, out);
}

void trace_span_request(struct str invocation_id, uint8_t out[SPAN_ID_BYTES]) {
    id_of("wopr/span/request/1\n", invocation_id, out, SPAN_ID_BYTES);
}

void trace_span_interrupt(struct str interrupt_id, uint8_t out[SPAN_ID_BYTES]) {
    id_of("wopr/span/interrupt/1\n", interrupt_id, out, SPAN_ID_BYTES);
}

struct traceparent trace_format(const struct trace_ctx *c, const uint8_t span[SPAN_ID_BYTES],
                                bool sampled) {
    struct traceparent t = {"00-00000000000000000000000000000000-0000000000000000-00"};
    hex_write(t.text + TRACE_AT, c->trace, sizeof c->trace);
    hex_write(t.text + PARENT_AT, span, SPAN_ID_BYTES);
    t.text[FLAGS_AT] = sampled ? '1' : '0';
    return t;
}

bool trace_onward(const struct trace_policy *p, struct str traceparent, struct str run_id,
                  const uint8_t span[SPAN_ID_BYTES], struct traceparent *out) {
    struct trace_ctx c;
    if (!p->on && !has_context(traceparent)) return false;
    trace_of_run(traceparent, run_id, &c);
    bool sampled = p->on ? trace_sampled(p, &c) : c.sampled;
    /* A span that is not recorded is nobody's parent: theirs stays. */
    bool ours = p->on && sampled;
    *out = trace_format(&c, ours || !c.has_parent ? span : c.parent, sampled);
    return true;
}

void trace_ids(const struct traceparent *t, char trace[2 * TRACE_ID_BYTES + 1],
               char span[2 * SPAN_ID_BYTES + 1]) {
    memcpy(trace, t->text + TRACE_AT, 2 * TRACE_ID_BYTES);
    trace[2 * TRACE_ID_BYTES] = '\0';
    memcpy(span, t->text + PARENT_AT, 2 * SPAN_ID_BYTES);
    span[2 * SPAN_ID_BYTES] = '\0';
}
