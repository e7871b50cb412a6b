/*
 * spans.h: what the collector has got (collector.h).  OPENWOP_OTEL_COLLECTOR_URL names it; main.c
 * sets it.
 */
#ifndef WOPR_CONFORMANCE_SPANS_H
#define WOPR_CONFORMANCE_SPANS_H

#include "base/str.h"

#define SPANS_MAX     256
#define SPANS_WAIT_MS 5000 /* after the end of the run (40 H6) */

struct spans { /* raw spans that name the run */
    struct str v[SPANS_MAX];
    size_t n;
};
void need_collector(void); /* skips the test without one, or without capabilities.observability */
/* Until there is a span of this name, or the time is over, which fails the test. */
struct spans spans_wait(const char *run, const char *name);
struct str span_named(const struct spans *s, const char *name); /* p NULL: none */
struct str span_begins(const struct spans *s, const char *begin);
/* A text or integer attribute as text; empty: there is none. */
struct str span_text(struct str span, const char *key);

#endif
