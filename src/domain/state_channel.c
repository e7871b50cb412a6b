/*
 * state_channel.c: channels as a fold of channel.written (CHAN-7..17, 27, 28).  "Now" is the time
 * of the event that is folded, never a clock: the same log gives the same content at any time
 * (CHAN-17).
 */
#include "base/mem.h"
#include "codec/json.h"
#include "domain/state_internal.h"

#include <math.h>
#include <stdio.h>

struct chan_write { /* one channel.written */
    struct chan_state *c;
    struct str value;
    enum reducer reducer;
    int64_t seq, ts_ms;
};

enum reducer reducer_of(struct str name) {
    for (int r = 0; r < RED_VENDOR; r++)
        if (str_eqc(name, reducer_name((enum reducer)r))) return (enum reducer)r;
    return RED_VENDOR;
}

bool reducer_is_list(enum reducer r) {
    return r == RED_APPEND || r == RED_VOTES || r == RED_FEEDBACK || r == RED_MESSAGE;
}

struct chan_state *run_state_chan(struct run_state *s, struct str name) {
    for (size_t i = 0; i < s->chans_nr; i++)
        if (str_eq(text_str(&s->chans[i].name), name)) return &s->chans[i];
    return NULL;
}

struct chan_state *chan_add(struct run_state *s, struct str name, const struct wf_channel *decl) {
    if (s->chans_nr >= STATE_CHANS_MAX) return NULL;
    if (s->chans_nr == s->chans_cap) {
        size_t cap = s->chans_cap ? s->chans_cap * 2 : 4;
        struct chan_state *grown = mem_grow(s->chans, cap, sizeof *grown);
        if (!grown) return NULL;
        s->chans = grown;
        s->chans_cap = cap;
    }
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
    text_clear(&c->name);
}

/* The value as written or folded, without the frame of undeclared channels (CHAN-28). */
static struct str entry_value(const struct chan_state *c, const struct chan_entry *e) {
    struct str t = text_str(&e->value);
    return c->decl ? t : json_get(t, "value");
}

/* Remember that a projected entry is gone. */
static int op_add(struct run_state *s, const struct chan_state *c, int64_t seq) {
    if (s->chan_ops_nr == s->chan_ops_cap) {
        size_t cap = s->chan_ops_cap ? s->chan_ops_cap * 2 : 8;
        struct chan_op *grown = mem_grow(s->chan_ops, cap, sizeof *grown);
        if (!grown) return WOPR_E_NO_MEMORY;
        s->chan_ops = grown;
        s->chan_ops_cap = cap;
    }
    s->chan_ops[s->chan_ops_nr++] = (struct chan_op){.chan = (int)(c - s->chans), .seq = seq};
    return 0;
}

static int entries_drop(struct run_state *s, struct chan_state *c, size_t at, size_t nr) {
    for (size_t i = at; i < at + nr; i++) {
        if (!c->v[i].fresh && op_add(s, c, c->v[i].seq) != 0) return WOPR_E_NO_MEMORY;
        text_clear(&c->v[i].value);
        c->v[i].fresh = true; /* its row is dealt with */
    }
    if (nr > 0) memmove(c->v + at, c->v + at + nr, (c->n - at - nr) * sizeof *c->v);
    c->n -= nr;
    return 0;
}

/* Append an entry; undeclared channels frame it as {"value","_ts"} (CHAN-27). */
static int entry_add(const struct chan_write *w, struct str value, uint64_t id) {
    struct chan_state *c = w->c;
    if (c->n >= STATE_ENTRIES_MAX) return WOPR_E_TOO_BIG;
    if (c->n == c->cap) {
        size_t cap = c->cap ? c->cap * 2 : 4;
        struct chan_entry *grown = mem_grow(c->v, cap, sizeof *grown);
        if (!grown) return WOPR_E_NO_MEMORY;
        c->v = grown;
        c->cap = cap;
    }
    struct chan_entry e = {.seq = w->seq, .ts_ms = w->ts_ms, .id = id, .fresh = true};
    if (c->decl) {
        if (text_set(&e.value, value) != 0) return WOPR_E_NO_MEMORY;
    } else {
        struct buf b;
        struct jw j;
        buf_init(&b, value.n + 64);
        jw_init(&j, &b);
        jw_object(&j);
        jw_kraw(&j, "value", value);
        jw_kint(&j, "_ts", w->ts_ms);
        jw_end_object(&j);
        e.value.p = buf_failed(&b) ? NULL : buf_take(&b, &e.value.n);
        buf_fini(&b);
        if (!e.value.p) return WOPR_E_NO_MEMORY;
    }
    c->v[c->n++] = e;
    return 0;
}

/* --- list reducers --- */

/* Who wrote a vote (CHAN-11) or which message it is; STR_NONE without identity. */
static struct str identity(enum reducer r, struct str value) {
    static const char *const KEYS[RED_NR][4] = {
        [RED_VOTES] = {"userId", "voter", "decidedBy", NULL},
        [RED_MESSAGE] = {"messageId", NULL},
    };
    for (const char *const *key = KEYS[r]; *key; key++) {
        struct str raw = json_get(value, *key);
        if (raw.n > 0 && json_type_of(raw) != JSON_NULL) return raw;
    }
    return STR_NONE;
}

/* An identity without its JSON spelling: "a" and "\u0061" are the same voter. */
static int identity_text(struct fold *f, struct str raw, struct str *out) {
    if (raw.n < 2 || raw.p[0] != '"') {
        *out = raw;
        return 0;
    }
    if (!memchr(raw.p, '\\', raw.n)) {
        *out = str_n(raw.p + 1, raw.n - 2);
        return 0;
    }
    struct arena *a = fold_scratch(f);
    struct str s = a ? json_string(raw, a) : STR_NONE;
    if (!s.p) return WOPR_E_NO_MEMORY;
    *out = s;
    return 0;
}

/* Index of the entry with this identity, c->n when there is none. */
static int identity_find(struct fold *f, const struct chan_write *w, struct str who, uint64_t id,
                         size_t *at) {
    const struct chan_state *c = w->c;
    *at = c->n;
    for (size_t i = 0; i < c->n; i++) {
        struct str other;
        if (c->v[i].id != id) continue;
        int rc = identity_text(f, identity(w->reducer, entry_value(c, &c->v[i])), &other);
        if (rc != 0) return rc;
        if (!str_eq(other, who)) continue;
        *at = i;
        return 0;
    }
    return 0;
}

/* CHAN-16, CHAN-17: entries older than the TTL at the time of this write.  Times ascend. */
static int entries_expire(struct run_state *s, struct chan_state *c, int64_t now_ms) {
    size_t old = 0;
    if (c->ttl_ms <= 0) return 0;
    while (old < c->n && c->v[old].ts_ms < now_ms - c->ttl_ms) old++;
    return entries_drop(s, c, 0, old);
}

static int list_write(struct fold *f, const struct chan_write *w) {
    struct chan_state *c = w->c;
    uint64_t id = 0;
    int rc = entries_expire(f->s, c, w->ts_ms);
    if (rc != 0) return rc;
    struct str who = identity(w->reducer, w->value);
    if (who.p) {
        size_t at;
        rc = identity_text(f, who, &who);
        if (rc != 0) return rc;
        id = str_hash(who, 0) | 1u; /* never 0 */
        rc = identity_find(f, w, who, id, &at);
        if (rc != 0) return rc;
        if (at < c->n) {
            if (w->reducer == RED_MESSAGE) return 0; /* first wins */
            rc = entries_drop(f->s, c, at, 1);       /* latest vote wins */
            if (rc != 0) return rc;
        }
    }
    rc = entry_add(w, w->value, id);
    if (rc != 0) return rc;
    size_t max = c->decl && c->decl->max_size > 0 ? (size_t)c->decl->max_size : STATE_ENTRIES_MAX;
    return c->n > max ? entries_drop(f->s, c, 0, c->n - max) : 0;
}

/* --- value reducers: old (STR_NONE = empty) and x to the folded text in b --- */

static int counter_step(struct str old, struct str x, struct buf *b) {
    int64_t i, k, sum;
    double d, e;
    if (old.n == 0) old = STR("0");
    if (json_int(old, &i) && json_int(x, &k) && !__builtin_add_overflow(i, k, &sum)) {
        buf_add_i64(b, sum); /* CHAN-12: exact as long as it can be */
        return 0;
    }
    if (!json_double(old, &d) || !json_double(x, &e)) return WOPR_E_VALIDATION;
    d += e;
    if (!isfinite(d)) return WOPR_E_VALIDATION;
    char text[64];
    size_t n = json_number_format(d, text);
    buf_add(b, text, n);
    return 0;
}

static int merge_step(struct str old, struct str x, struct arena *a, struct buf *b, size_t *keys) {
    struct json_members was = {0}, add;
    if (json_type_of(x) != JSON_OBJECT) return WOPR_E_VALIDATION;
    int rc = json_members(x, a, &add, NULL);
    if (rc == 0 && old.n > 0 && json_type_of(old) == JSON_OBJECT)
        rc = json_members(old, a, &was, NULL);
    if (rc != 0) return rc;
    bool *used = ARENA_ARRAY(a, bool, add.n);
    if (!used) return WOPR_E_NO_MEMORY;
    struct jw w;
    jw_init(&w, b);
    jw_object(&w);
    *keys = was.n;
    for (size_t i = 0; i < was.n; i++) {
        struct str value = was.v[i].raw;
        for (size_t k = 0; k < add.n; k++)
            if (str_eq(add.v[k].key, was.v[i].key)) {
                value = add.v[k].raw;
                used[k] = true;
                break;
            }
        jw_key_str(&w, was.v[i].key);
        jw_raw(&w, value);
    }
    for (size_t k = 0; k < add.n; k++) {
        if (used[k]) continue;
        jw_key_str(&w, add.v[k].key);
        jw_raw(&w, add.v[k].raw);
        *keys += 1;
    }
    jw_end_object(&w);
    return 0;
}

/* One step of a reducer that keeps one value.  VALIDATION: x does not fit; *keys as merge left it.
 */
static int value_step(enum reducer r, struct str old, struct str x, struct arena *a, struct buf *b,
                      size_t *keys) {
    int rc = 0;
    if (r == RED_COUNTER) rc = counter_step(old, x, b);
    else if (r == RED_MERGE) rc = merge_step(old, x, a, b, keys);
    else buf_adds(b, x); /* replace, and vendor.* for want of its code (CHAN-10) */
    return rc == 0 && buf_failed(b) ? WOPR_E_NO_MEMORY : rc;
}

static int value_write(struct fold *f, const struct chan_write *w) {
    struct chan_state *c = w->c;
    struct str old = c->n > 0 ? entry_value(c, &c->v[0]) : STR_NONE;
    struct arena *a = w->reducer == RED_MERGE ? fold_scratch(f) : NULL;
    struct buf b;
    size_t keys = 0;
    if (w->reducer == RED_MERGE && !a) return WOPR_E_NO_MEMORY;
    /* A marker of masking (CHAN-24) may stand where a number or object was: start from empty. */
    bool lost = c->decl && c->decl->sensitive && old.n > 0 && json_type_of(old) == JSON_STRING;
    buf_init(&b, STATE_VALUE_MAX);
    int rc = value_step(w->reducer, lost ? STR_NONE : old, w->value, a, &b, &keys);
    if (rc == WOPR_E_VALIDATION && c->decl && c->decl->sensitive) {
        buf_reset(&b);
        buf_adds(&b, w->value); /* the log holds only the masked write */
        rc = buf_failed(&b) ? WOPR_E_NO_MEMORY : 0;
    }
    if (rc == 0) rc = entries_drop(f->s, c, 0, c->n);
    if (rc == 0) rc = entry_add(w, buf_str(&b), 0);
    buf_fini(&b);
    return rc;
}

/* TTL of a channel without declaration: the writing node says it (CHAN-26). */
static int64_t node_ttl_ms(const struct fold *f) {
    int64_t ms;
    if (f->node < 0) return 0;
    struct str raw = json_get(f->s->wf->nodes[f->node].config, "ttlMs");
    return raw.n > 0 && json_int(raw, &ms) && ms > 0 && ms <= STATE_RETRY_MS_MAX ? ms : 0;
}

int fold_channel_written(struct fold *f) {
    struct run_state *s = f->s;
    struct str name, reducer;
    struct chan_write w = {.seq = f->e->seq, .ts_ms = f->ts_ms};
    int rc = fold_string(f, "channel", &name);
    if (rc == 0) rc = fold_string(f, "reducer", &reducer);
    if (rc != 0) return rc;
    w.value = json_get(f->e->payload, "value");
    if (w.value.n == 0) return fold_corrupt(f, "no value");
    w.reducer = reducer_of(reducer);
    w.c = run_state_chan(s, name);
    if (!w.c) {
        if (s->chans_nr >= STATE_CHANS_MAX) return fold_corrupt(f, "the run has too many channels");
        w.c = chan_add(s, name, NULL);
        if (!w.c) return fold_no_memory(f);
    }
    bool list = reducer_is_list(w.reducer);
    if (list != w.c->is_list) { /* CHAN-9: the reducer of the event counts; shapes do not mix */
        rc = entries_drop(s, w.c, 0, w.c->n);
        if (rc != 0) return fold_no_memory(f);
        w.c->is_list = list;
    }
    w.c->reducer = w.reducer;
    w.c->ttl_ms = !list ? 0 : w.c->decl ? w.c->decl->ttl_ms : node_ttl_ms(f);
    rc = list ? list_write(f, &w) : value_write(f, &w);
    if (rc == 0 || rc == WOPR_E_CORRUPT) return rc;
    if (rc == WOPR_E_NO_MEMORY) return fold_no_memory(f);
    return fold_corrupt(f, "the value does not fit the reducer");
}

/* --- before a write --- */

static int schema_fits(const struct wf_channel *d, struct str value, struct wopr_error *err) {
    struct schema_issue issue = {0};
    int rc = schema_validate_text(d->schema, value, &issue);
    if (rc == WOPR_E_VALIDATION)
        return wopr_error_at(err, rc, issue.instance, "the value does not fit the channel: %s",
                             issue.reason);
    if (rc != 0) return wopr_error_set(err, rc, "the value can not be checked against the channel");
    return 0;
}

/* The list after the write, as far as a schema can tell: deduplication is not undone for it. */
static int list_fits(const struct chan_state *c, struct str value, struct wopr_error *err) {
    const struct wf_channel *d = c->decl;
    if (!d->schema) return 0;
    if (!d->schema_is_array) return schema_fits(d, value, err);
    struct buf b;
    size_t from = 0;
    if (d->max_size > 0 && c->n >= (size_t)d->max_size) from = c->n - (size_t)d->max_size + 1;
    buf_init(&b, STATE_VALUE_MAX);
    buf_addc(&b, '[');
    for (size_t i = from; i < c->n; i++) {
        buf_adds(&b, text_str(&c->v[i].value));
        buf_addc(&b, ',');
    }
    buf_adds(&b, value);
    buf_addc(&b, ']');
    int rc = buf_failed(&b) ? wopr_error_set(err, WOPR_E_TOO_BIG, "the channel is too large")
                            : schema_fits(d, buf_str(&b), err);
    buf_fini(&b);
    return rc;
}

/* What maxSize counts: members, elements, or for a counter its distance from zero. */
static bool size_fits(enum reducer r, struct str folded, size_t keys, int64_t max,
                      struct arena *a) {
    struct json_members m;
    struct json_elements l;
    double d;
    if (max <= 0) return true;
    if (r == RED_MERGE) return keys <= (size_t)max;
    if (r == RED_COUNTER) return json_double(folded, &d) && fabs(d) <= (double)max;
    if (json_type_of(folded) == JSON_OBJECT)
        return json_members(folded, a, &m, NULL) == 0 && m.n <= (size_t)max;
    if (json_type_of(folded) == JSON_ARRAY)
        return json_elements(folded, a, &l, NULL) == 0 && l.n <= (size_t)max;
    return true;
}

static int value_fits(const struct chan_state *c, const struct wf_channel *d, enum reducer r,
                      struct str value, struct wopr_error *err) {
    struct str old = c && c->n > 0 && !c->is_list ? entry_value(c, &c->v[0]) : STR_NONE;
    size_t keys = 0;
    struct buf b;
    struct arena *a = arena_new(STATE_SCRATCH_MAX);
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to check a channel write");
    if (d && d->sensitive && old.n > 0 && json_type_of(old) == JSON_STRING) old = STR_NONE;
    buf_init(&b, STATE_VALUE_MAX);
    int rc = value_step(r, old, value, a, &b, &keys);
    if (rc == WOPR_E_VALIDATION)
        wopr_error_set(err, rc, "the value does not fit the reducer %s of the channel",
                       reducer_name(r));
    else if (rc != 0) wopr_error_set(err, rc, "a channel write can not be checked");
    else if (d && !size_fits(r, buf_str(&b), keys, d->max_size, a))
        rc = wopr_error_set(err, WOPR_E_VALIDATION, "the write exceeds maxSize of the channel");
    buf_fini(&b);
    arena_free(a);
    return rc;
}

int chan_write_check(const struct run_state *s, struct str channel, enum reducer r,
                     struct str value, struct wopr_error *err) {
    const struct chan_state *c = NULL;
    for (size_t i = 0; i < s->chans_nr; i++)
        if (str_eq(text_str(&s->chans[i].name), channel)) c = &s->chans[i];
    const struct wf_channel *d = c ? c->decl : NULL;
    if (!c && s->chans_nr >= STATE_CHANS_MAX)
        return wopr_error_set(err, WOPR_E_TOO_BIG, "the run has too many channels");
    if (reducer_is_list(r)) return d ? list_fits(c, value, err) : 0;
    if (d && d->schema) { /* the write itself, not the folded value (CHAN-4) */
        int rc = schema_fits(d, value, err);
        if (rc != 0) return rc;
    }
    return value_fits(c, d, r, value, err);
}
