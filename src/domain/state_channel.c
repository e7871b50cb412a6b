/*
 * state_channel.c: channels as a fold of channel.written (CHAN-7..18, 27, 28).  "Now" is the time
 * of the event that is folded, never a clock: the same log gives the same content at any time
 * (CHAN-17).  What the reducers do is in reducer.h, what may be written in state_chan_check.c.
 */
#include "base/mem.h"
#include "base/vec.h"
#include "codec/jobj.h"
#include "domain/state_internal.h"

struct chan_write { /* one channel.written */
    struct chan_state *c;
    struct str value;
    enum reducer reducer;
    int64_t seq, ts_ms;
};

struct chan_state *run_state_chan(struct run_state *s, struct str name) {
    for (size_t i = 0; i < s->chans_nr; i++)
        if (str_eq(text_str(&s->chans[i].name), name)) return &s->chans[i];
    return NULL;
}

struct chan_state *chan_add(struct run_state *s, struct str name, const struct wf_channel *decl) {
    if (s->chans_nr >= STATE_CHANS_MAX) return NULL;
    if (VEC_ROOM(s->chans, s->chans_nr, s->chans_cap, 4) != 0) return NULL;
    struct chan_state *c = &s->chans[s->chans_nr];
    *c = (struct chan_state){.decl = decl, .reducer = RED_REPLACE};
    if (decl) {
        c->reducer = decl->reducer;
        c->is_list = reducer_is_list(decl->reducer);
        c->ttl_ms = c->is_list ? decl->ttl_ms : 0;
    }
    if (text_set(&c->name, name) != 0) return NULL;
    s->chans_nr++;
    return c;
}

void chan_free(struct chan_state *c) {
    for (size_t i = 0; i < c->n; i++) text_clear(&c->v[i].value);
    mem_free(c->v);
    mem_free(c->sum);
    text_clear(&c->name);
}

/* The value as written or folded, without the frame of undeclared channels (CHAN-28). */
struct str chan_entry_value(const struct chan_state *c, const struct chan_entry *e) {
    struct str t = text_str(&e->value);
    return c->decl ? t : json_get(t, "value");
}

/* Remember that a projected entry is gone. */
static int op_add(struct run_state *s, const struct chan_state *c, int64_t seq) {
    if (VEC_ROOM(s->chan_ops, s->chan_ops_nr, s->chan_ops_cap, 8) != 0) return WOPR_E_NO_MEMORY;
    s->chan_ops[s->chan_ops_nr++] = (struct chan_op){.chan = (int)(c - s->chans), .seq = seq};
    return 0;
}

static int entries_drop(struct run_state *s, struct chan_state *c, size_t at, size_t nr) {
    for (size_t i = at; i < at + nr; i++) {
        if (!c->v[i].fresh && op_add(s, c, c->v[i].seq) != 0) return WOPR_E_NO_MEMORY;
        s->bytes -= sizeof c->v[i];
        state_text_clear(s, &c->v[i].value);
        c->v[i].fresh = true; /* its row is dealt with */
    }
    if (nr > 0) memmove(c->v + at, c->v + at + nr, (c->n - at - nr) * sizeof *c->v);
    c->n -= nr;
    return 0;
}

/* Append an entry; undeclared channels frame it as {"value","_ts"} (CHAN-27). */
static int entry_add(struct run_state *s, const struct chan_write *w, struct str value,
                     uint64_t id) {
    struct chan_state *c = w->c;
    if (c->n > RUN_ENTRIES_MAX) return WOPR_E_TOO_BIG; /* one more than stays */
    if (VEC_ROOM(c->v, c->n, c->cap, 4) != 0) return WOPR_E_NO_MEMORY;
    struct chan_entry e = {
        .seq = w->seq, .ts_ms = w->ts_ms, .id = id, .by = (uint8_t)w->reducer, .fresh = true};
    if (c->decl) {
        if (text_set(&e.value, value) != 0) return WOPR_E_NO_MEMORY;
    } else {
        struct jobj o;
        jobj_begin(&o, value.n + 64);
        jw_kraw(&o.w, "value", value);
        jw_kint(&o.w, "_ts", w->ts_ms);
        e.value.p = jobj_take(&o, &e.value.n);
        if (!e.value.p) return WOPR_E_NO_MEMORY;
    }
    c->v[c->n++] = e;
    s->bytes += sizeof e + e.value.n;
    return 0;
}

/* --- list reducers --- */

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

static int list_write(struct fold *f, const struct chan_write *w) {
    struct chan_state *c = w->c;
    uint64_t id;
    size_t at;
    int rc = entries_drop(f->run, c, 0, chan_expired(c, w->ts_ms));
    if (rc == 0) rc = chan_find_same(c, w->reducer, w->value, &f->scratch, &id, &at);
    if (rc != 0) return rc;
    if (at < c->n && w->reducer == RED_MESSAGE) return 0; /* first wins */
    while (at < c->n) { /* latest vote wins; several only when another reducer wrote them */
        rc = entries_drop(f->run, c, at, 1);
        if (rc == 0) rc = chan_find_same(c, w->reducer, w->value, &f->scratch, &id, &at);
        if (rc != 0) return rc;
    }
    rc = entry_add(f->run, w, w->value, id);
    if (rc != 0) return rc;
    size_t max = chan_max(c);
    return c->n > max ? entries_drop(f->run, c, 0, c->n - max) : 0;
}

/* --- value reducers --- */

int chan_sum(const struct chan_state *c, struct str x, struct sum *out) {
    sum_clear(out);
    if (c && c->summed) *out = *c->sum;
    else if (c && c->n > 0 && !c->is_list) {
        /* It may hold a mask (CHAN-24) or another reducer's value: count from zero. */
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
    default: /* replace, and vendor.* for want of its code (CHAN-10) */
        buf_adds(b, x);
        return buf_failed(b) ? WOPR_E_NO_MEMORY : 0;
    }
}

static int value_write(struct fold *f, const struct chan_write *w) {
    struct chan_state *c = w->c;
    struct buf b;
    struct sum sum;
    size_t keys;
    bool counts = w->reducer == RED_COUNTER;
    if (w->reducer == RED_MERGE && !fold_scratch(f)) return WOPR_E_NO_MEMORY;
    if (counts && !c->sum && !(c->sum = MEM_NEW(struct sum))) return WOPR_E_NO_MEMORY;
    buf_init(&b, RUN_VALUE_MAX);
    int rc = chan_step(c, w->reducer, w->value, f->scratch, &sum, &b, &keys);
    if (rc == WOPR_E_VALIDATION && c->decl && c->decl->sensitive) {
        buf_reset(&b);
        buf_adds(&b, w->value); /* the log holds only the masked write */
        rc = buf_failed(&b) ? WOPR_E_NO_MEMORY : 0;
        counts = false;
    }
    if (rc == 0) rc = entries_drop(f->run, c, 0, c->n);
    if (rc == 0) rc = entry_add(f->run, w, buf_str(&b), 0);
    buf_fini(&b);
    if (rc != 0) return rc;
    c->summed = counts;
    if (counts) *c->sum = sum;
    return 0;
}

/* --- schema versions (CHAN-18) --- */

static bool version_listed(const struct wf_channel *d, int64_t version) {
    for (size_t i = 0; i < d->compatible_nr; i++)
        if (d->compatible[i] == version) return true;
    return false;
}

/* *takes: the write is folded.  Else the first such write is remembered: the run cannot go on. */
static int version_takes(struct fold *f, const struct chan_write *w, bool *takes) {
    const struct wf_channel *d = w->c->decl;
    struct str raw = json_get(f->event->payload, "schemaVersion");
    int64_t version = 1;
    int rc = 0;
    if (raw.n > 0 && (!json_int(raw, &version) || version < 1))
        return fold_corrupt(f, "the schema version is not a whole number from 1 on");
    *takes = true;
    if (!d || version >= d->schema_version) return 0; /* newer ones: permissively */
    *takes = version_listed(d, version);
    if (*takes && !d->sensitive) { /* a masked value does not show its shape */
        rc = chan_fits(w->c, w->reducer, w->value, w->ts_ms, NULL);
        *takes = rc == 0;
    }
    if (rc == WOPR_E_NO_MEMORY) return fold_no_memory(f);
    if (!*takes && f->run->chan_break.seq == 0)
        f->run->chan_break = (struct chan_break){
            .chan = (int)(w->c - f->run->chans), .version = version, .seq = f->event->seq};
    return 0;
}

/* TTL of a channel without declaration: from the config of the writing node (CHAN-26). */
static int64_t node_ttl_ms(const struct fold *f) {
    int64_t ms;
    if (f->node < 0) return 0;
    struct str raw = json_get(f->run->wf->nodes[f->node].config, "ttlMs");
    return raw.n > 0 && json_int(raw, &ms) && ms > 0 && ms <= STATE_DELAY_MS_MAX ? ms : 0;
}

int fold_channel_written(struct fold *f) {
    struct run_state *s = f->run;
    struct str name, reducer;
    struct chan_write w = {.seq = f->event->seq, .ts_ms = f->ts_ms};
    int rc = fold_string(f, "channel", &name);
    if (rc == 0) rc = fold_string(f, "reducer", &reducer);
    if (rc != 0) return rc;
    w.value = json_get(f->event->payload, "value");
    if (w.value.n == 0) return fold_corrupt(f, "no value");
    w.reducer = reducer_of(reducer);
    rc = intr_noted(f, name, w.value);
    if (rc != 0) return rc;
    w.c = run_state_chan(s, name);
    if (!w.c) {
        if (s->chans_nr >= STATE_CHANS_MAX) return fold_corrupt(f, "the run has too many channels");
        w.c = chan_add(s, name, NULL);
        if (!w.c) return fold_no_memory(f);
    }
    bool takes = false;
    rc = version_takes(f, &w, &takes);
    if (rc != 0 || !takes) return rc;
    bool list = reducer_is_list(w.reducer);
    if (list != w.c->is_list) { /* CHAN-9: the reducer of the event counts; shapes do not mix */
        rc = entries_drop(s, w.c, 0, w.c->n);
        if (rc != 0) return fold_no_memory(f);
        w.c->is_list = list;
    }
    if (w.reducer != RED_COUNTER) w.c->summed = false;
    w.c->reducer = w.reducer;
    w.c->ttl_ms = !list ? 0 : w.c->decl ? w.c->decl->ttl_ms : node_ttl_ms(f);
    rc = list ? list_write(f, &w) : value_write(f, &w);
    if (rc == 0) rc = sched_channel_written(s, w.c, f->node, f->event);
    if (rc == 0 || rc == WOPR_E_CORRUPT) return rc;
    if (rc == WOPR_E_NO_MEMORY) return fold_no_memory(f);
    return fold_corrupt(f, "the value does not fit the reducer");
}
