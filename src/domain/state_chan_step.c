/*
 * state_chan_step.c: computes one step of a channel without applying it: what a write replaces,
 * which entries are too old, the new value, what is shown (CHAN-4, 7..18).  The fold and the check
 * before it share these steps.
 */
#include "domain/state_internal.h"

/* The value as written or folded, without the frame of undeclared channels (CHAN-28). */
struct str chan_entry_value(const struct chan_state *c, const struct chan_entry *e) {
    struct str t = text_str(&e->value);
    return c->decl ? t : json_get(t, "value");
}

static struct arena *scratch_of(struct arena **scratch) {
    if (!*scratch) *scratch = arena_new(STATE_SCRATCH_MAX);
    return *scratch;
}

static int identity_text(struct str raw, struct arena **scratch, struct str *out) {
    bool escaped = raw.n > 1 && raw.p[0] == '"' && memchr(raw.p, '\\', raw.n);
    if (escaped && !scratch_of(scratch)) return WOPR_E_NO_MEMORY;
    *out = reducer_identity_text(raw, *scratch);
    return out->p ? 0 : WOPR_E_NO_MEMORY;
}

int chan_find_same(const struct chan_state *c, enum reducer r, struct str value,
                   struct arena **scratch, uint64_t *id, size_t *at) {
    struct str who = reducer_identity(r, value), other;
    *id = 0;
    *at = c->n;
    if (who.n == 0) return 0;
    int rc = identity_text(who, scratch, &who);
    if (rc != 0) return rc;
    *id = str_hash(who, 0) | 1u; /* never 0 */
    for (size_t i = 0; i < c->n; i++) {
        if (c->v[i].by == (uint8_t)r && c->v[i].id != *id) continue;
        struct str raw = reducer_identity(r, chan_entry_value(c, &c->v[i]));
        if (raw.n == 0) continue;
        rc = identity_text(raw, scratch, &other);
        if (rc != 0) return rc;
        if (!str_eq(other, who)) continue;
        *at = i;
        return 0;
    }
    return 0;
}

size_t chan_expired(const struct chan_state *c, int64_t now_ms) {
    size_t old = 0;
    if (c->ttl_ms <= 0) return 0;
    while (old < c->n && c->v[old].ts_ms < now_ms - c->ttl_ms) old++;
    return old;
}

size_t chan_max(const struct chan_state *c) {
    if (c->decl && c->decl->max_size > 0 && c->decl->max_size < (int64_t)RUN_ENTRIES_MAX)
        return (size_t)c->decl->max_size;
    if (c->decl) return RUN_ENTRIES_MAX;
    const struct chan_legacy *old = chan_legacy(text_str(&c->name));
    return old && old->max > 0 ? old->max : RUN_ENTRIES_MAX;
}

int chan_sum(const struct chan_state *c, struct str x, struct sum *out) {
    sum_clear(out);
    if (c && c->summed) *out = *c->sum;
    else if (c && c->n > 0 && !c->is_list) {
        /* The entry may be a mask (CHAN-24) or another reducer's value: then count from zero. */
        int rc = sum_add(out, chan_entry_value(c, &c->v[0]));
        if (rc != 0) sum_clear(out);
    }
    return sum_add(out, x);
}

int chan_step(const struct chan_state *c, enum reducer r, struct str x, struct arena *a,
              struct sum *sum, struct buf *b, size_t *keys) {
    struct str old = c && c->n > 0 && !c->is_list ? chan_entry_value(c, &c->v[0]) : STR_NONE;
    int rc;
    *keys = 0;
    switch (r) {
    case RED_COUNTER:
        rc = chan_sum(c, x, sum);
        return rc == 0 ? sum_text(sum, b) : rc;
    case RED_MERGE:
        return reducer_merge(old, x, a, b, keys);
    default: /* replace, and vendor.*, whose code we lack (CHAN-10) */
        buf_adds(b, x);
        return buf_failed(b) ? WOPR_E_NO_MEMORY : 0;
    }
}

int chan_value(const struct chan_state *c, int64_t now_ms, struct buf *out) {
    static const char *const EMPTY[RED_NR] = {[RED_MERGE] = "{}", [RED_COUNTER] = "0"};
    if (c->is_list) {
        bool first = true, ages = now_ms > 0 && c->ttl_ms > 0;
        buf_addc(out, '[');
        for (size_t i = 0; i < c->n; i++) {
            if (ages && c->v[i].ts_ms < now_ms - c->ttl_ms) continue;
            if (!first) buf_addc(out, ',');
            buf_adds(out, text_str(&c->v[i].value));
            first = false;
        }
        buf_addc(out, ']');
    } else if (c->n > 0) {
        buf_adds(out, text_str(&c->v[0].value));
    } else if (EMPTY[c->reducer]) {
        buf_addz(out, EMPTY[c->reducer]);
    } else if (c->decl) {
        buf_adds(out, c->decl->default_value);
    }
    return buf_failed(out) ? WOPR_E_NO_MEMORY : 0;
}

int chan_shown(const struct chan_state *c, struct str mode, int64_t now_ms, struct buf *out) {
    bool empty = c->n == 0 && !c->is_list && !(c->decl && c->decl->default_value.n > 0) &&
                 c->reducer == RED_REPLACE; /* chan_value is empty, too */
    if (!c->sensitive) return chan_value(c, now_ms, out);
    if (str_eqc(mode, "omit") || empty) return 0;
    buf_adds(out, c->shown.n > 0 ? text_str(&c->shown) : STR(MASK_TEXT));
    return buf_failed(out) ? WOPR_E_NO_MEMORY : 0;
}

size_t chan_shown_bytes(const struct chan_state *c, struct str mode, int64_t now_ms) {
    struct buf b;
    size_t from = now_ms > 0 ? chan_expired(c, now_ms) : 0, n = 2;
    if (!c->sensitive && c->is_list) {
        for (size_t i = from; i < c->n; i++) n += c->v[i].value.n + (i > from ? 1 : 0);
        return n;
    }
    if (!c->sensitive && c->n > 0) return c->v[0].value.n;
    buf_init(&b, SIZE_MAX); /* a mask, or what there is before the first write */
    n = chan_shown(c, mode, now_ms, &b) == 0 ? b.len : 0;
    buf_fini(&b);
    return n;
}
