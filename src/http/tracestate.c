/*
 * tracestate.c: the other half of the W3C trace context (OBS-1): entries of vendors, of which this
 * host reads none.  What is not a list of key=value, or longer than is worth keeping, is dropped;
 * the traceparent holds without it (section 3.3).
 */
#include "domain/trace.h"
#include "http/exchange.h"

enum { MEMBERS_MAX = 32, KEY_MAX = 256, VALUE_MAX = 256 };

void tracestate_add(struct exchange *x, struct str v) {
    struct str *s = &x->pub.tracestate;
    if (s->n == 0) *s = v;
    else if (s->n <= TRACESTATE_BYTES_MAX) /* a longer one is dropped anyway */
        *s = arena_printf(x->pub.arena, STR_FMT "," STR_FMT, STR_ARG(*s), STR_ARG(v));
}

static bool key_ok(struct str k) {
    bool ok = k.n > 0 && k.n <= KEY_MAX &&
              ((k.p[0] >= 'a' && k.p[0] <= 'z') || (k.p[0] >= '0' && k.p[0] <= '9'));
    for (size_t i = 0; ok && i < k.n; i++)
        ok = (k.p[i] >= 'a' && k.p[i] <= 'z') || (k.p[i] >= '0' && k.p[i] <= '9') ||
             memchr("_-*/@", k.p[i], 5) != NULL;
    return ok;
}

static bool value_ok(struct str v) {
    bool ok = v.n > 0 && v.n <= VALUE_MAX;
    for (size_t i = 0; ok && i < v.n; i++) ok = v.p[i] >= ' ' && v.p[i] <= '~' && v.p[i] != '=';
    return ok;
}

static bool list_ok(struct str all) {
    struct str left = all;
    for (size_t n = 0; left.n > 0; n++) {
        struct str member = left, rest = STR_NONE, key, value;
        (void)str_cut(left, ',', &member, &rest);
        left = rest;
        member = str_trim(member);
        if (member.n == 0) continue;
        if (n >= MEMBERS_MAX || !str_cut(member, '=', &key, &value)) return false;
        if (!key_ok(key) || !value_ok(value)) return false;
    }
    return true;
}

void tracestate_judge(struct exchange *x) {
    struct str *s = &x->pub.tracestate;
    if (s->n == 0) return;
    *s = str_trim(*s);
    bool ok = x->pub.traceparent.n > 0 && s->n <= TRACESTATE_BYTES_MAX && list_ok(*s);
    if (!ok) *s = STR_NONE;
}
