/*
 * state_channel.c: channels as a fold of channel.written (CHAN-7..18, 27, 28). "Now" is the time of
 * the event that is folded, never a clock: the same log gives the same content at any time
 * (CHAN-17).  Reducers are in reducer.h, the check of writes is in state_chan_check.c.
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
    for (size_t i = 0; i < s->channels.n; i++)
        if (str_eq(text_str(&s->channels.v[i].name), name)) return &s->channels.v[i];
    return NULL;
}

struct chan_state *chan_add(struct run_state *s, struct str name, const struct wf_channel *decl) {
    if (s->channels.n >= STATE_CHANS_MAX) return NULL;
    if (VEC_ROOM(s->channels.v, s->channels.n, s->channels.cap, 4) != 0) return NULL;
    struct chan_state *c = &s->channels.v[s->channels.n];
    *c = (struct chan_state){.decl = decl, .reducer = RED_REPLACE};
    if (decl) {
        c->reducer = decl->reducer;
        c->is_list = reducer_is_list(decl->reducer);
        c->ttl_ms = c->is_list ? decl->ttl_ms : 0;
        c->sensitive = decl->sensitive && mask_masks(s->wf->masking_mode);
    }
    if (text_set(&c->name, name) != 0) return NULL;
    s->channels.n++;
    return c;
}

void chan_free(struct chan_state *c) {
    for (size_t i = 0; i < c->n; i++) text_clear(&c->v[i].value);
    mem_free(c->v);
    mem_free(c->sum);
    text_clear(&c->name);
    text_clear(&c->shown);
}

/* Record that a projected entry was removed. */
static int op_add(struct run_state *s, const struct chan_state *c, int64_t seq) {
    if (VEC_ROOM(s->channels.ops, s->channels.ops_nr, s->channels.ops_cap, 8) != 0)
        return WOPR_E_NO_MEMORY;
    s->channels.ops[s->channels.ops_nr++] =
        (struct chan_op){.chan = (int)(c - s->channels.v), .seq = seq};
    return 0;
}

static int entries_drop(struct run_state *s, struct chan_state *c, size_t at, size_t nr) {
    for (size_t i = at; i < at + nr; i++) {
        if (!c->v[i].fresh && op_add(s, c, c->v[i].seq) != 0) return WOPR_E_NO_MEMORY;
        s->bytes -= sizeof c->v[i];
        state_text_clear(s, &c->v[i].value);
        c->v[i].fresh = true; /* chan_op handles its row */
    }
    if (nr > 0) memmove(c->v + at, c->v + at + nr, (c->n - at - nr) * sizeof *c->v);
    c->n -= nr;
    return 0;
}

/* Append an entry; undeclared channels frame it as {"value","_ts"} (CHAN-27). */
static int entry_add(struct run_state *s, const struct chan_write *w, struct str value,
                     uint64_t id) {
    struct chan_state *c = w->c;
    if (c->n > RUN_ENTRIES_MAX) return WOPR_E_TOO_BIG; /* the new entry included */
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
    if (rc == WOPR_E_VALIDATION && c->sensitive) {
        buf_reset(&b);
        buf_adds(&b, w->value); /* the mask: this fold has no key, or the clear value was deleted */
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

/* CHAN-24: only logged text may be shown, and only with replace is that the value. */
static int shown_set(struct fold *f, const struct chan_write *w) {
    bool digest =
        w->c->sensitive && w->reducer == RED_REPLACE && str_eqc(f->run->wf->masking_mode, "hash");
    return text_set(&w->c->shown, digest ? json_get(f->event->payload, "value") : STR_NONE);
}

/* --- schema versions (CHAN-18) --- */

static bool version_listed(const struct wf_channel *d, int64_t version) {
    for (size_t i = 0; i < d->compatible_nr; i++)
        if (d->compatible[i] == version) return true;
    return false;
}

/* *takes: fold the write.  Otherwise record the first such write: the run cannot continue. */
static int version_takes(struct fold *f, const struct chan_write *w, bool *takes) {
    const struct wf_channel *d = w->c->decl;
    struct str raw = json_get(f->event->payload, "schemaVersion");
    int64_t version = 1;
    int rc = 0;
    if (raw.n > 0 && (!json_int(raw, &version) || version < 1))
        return fold_corrupt(f, "the schema version is not a whole number from 1 on");
    *takes = true;
    if (!d || version >= d->schema_version) return 0; /* newer versions are accepted */
    *takes = version_listed(d, version);
    if (*takes && !w->c->sensitive) { /* the shape of a masked value is unknown */
        rc = chan_fits(w->c, w->reducer, w->value, w->ts_ms, NULL);
        *takes = rc == 0;
    }
    if (rc == WOPR_E_NO_MEMORY) return fold_no_memory(f);
    if (!*takes && f->run->channels.broken.seq == 0)
        f->run->channels.broken = (struct chan_break){
            .chan = (int)(w->c - f->run->channels.v), .version = version, .seq = f->event->seq};
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
    w.value = fold_clear(f, "value");
    if (w.value.n == 0) return fold_corrupt(f, "no value");
    w.reducer = reducer_of(reducer);
    rc = intr_noted(f, name, w.value);
    if (rc != 0) return rc;
    w.c = run_state_chan(s, name);
    if (!w.c) {
        if (s->channels.n >= STATE_CHANS_MAX)
            return fold_corrupt(f, "the run has too many channels");
        w.c = chan_add(s, name, NULL);
        if (!w.c) return fold_no_memory(f);
    }
    w.c->sensitive =
        w.c->sensitive || fold_masked(f); /* permanent: the channel may keep the value */
    bool takes = false;
    rc = version_takes(f, &w, &takes);
    if (rc != 0 || !takes) return rc;
    bool list = reducer_is_list(w.reducer);
    if (list != w.c->is_list) { /* CHAN-9: the event's reducer decides; shapes do not mix */
        rc = entries_drop(s, w.c, 0, w.c->n);
        if (rc != 0) return fold_no_memory(f);
        w.c->is_list = list;
    }
    if (w.reducer != RED_COUNTER) w.c->summed = false;
    w.c->reducer = w.reducer;
    w.c->ttl_ms = !list ? 0 : w.c->decl ? w.c->decl->ttl_ms : node_ttl_ms(f);
    rc = list ? list_write(f, &w) : value_write(f, &w);
    if (rc == 0) rc = shown_set(f, &w);
    if (rc == 0) rc = sched_channel_written(s, w.c, f->node, f->event);
    if (rc == 0 || rc == WOPR_E_CORRUPT) return rc;
    if (rc == WOPR_E_NO_MEMORY) return fold_no_memory(f);
    return fold_corrupt(f, "the value does not fit the reducer");
}
