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

/* Whether one of the n members has this key.  Keys hold no =, and all of n have one. */
static bool key_among(const struct str *members, size_t n, struct str key) {
    for (size_t i = 0; i < n; i++)
        if (members[i].n > key.n && members[i].p[key.n] == '=' &&
            memcmp(members[i].p, key.p, key.n) == 0)
            return true;
    return false;
}

/* The list without blanks between members, empty members (which are none, section 3.3.1.1) and
 * entries of a key that was there before: a key is one vendor's last place in the trace (3.3.1.4),
 * and vendors write in front, so the first is the one that holds.  Empty: not such a list. */
static struct str list_read(struct arena *a, struct str all) {
    struct str members[MEMBERS_MAX], left = all;
    size_t n = 0, kept = 0;
    struct buf out;
    while (left.n > 0) {
        struct str member = left, rest = STR_NONE, key, value;
        (void)str_cut(left, ',', &member, &rest);
        left = rest;
        member = str_trim(member);
        if (member.n == 0) continue;
        if (n++ >= MEMBERS_MAX || !str_cut(member, '=', &key, &value)) return STR_NONE;
        if (!key_ok(key) || !value_ok(value)) return STR_NONE;
        if (!key_among(members, kept, key)) members[kept++] = member;
    }
    buf_init(&out, TRACESTATE_BYTES_MAX);
    for (size_t i = 0; i < kept; i++) {
        if (i > 0) buf_addc(&out, ',');
        buf_adds(&out, members[i]);
    }
    struct str list = buf_failed(&out) ? STR_NONE : arena_str(a, buf_str(&out));
    buf_fini(&out);
    return list;
}

void tracestate_judge(struct exchange *x) {
    struct str *s = &x->pub.tracestate;
    if (s->n == 0) return;
    *s = str_trim(*s);
    bool may = x->pub.traceparent.n > 0 && s->n <= TRACESTATE_BYTES_MAX;
    *s = may ? list_read(x->pub.arena, *s) : STR_NONE;
}
