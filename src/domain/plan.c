/*
 * plan.c: builds append plans (E13).  The first failure sticks; journal_append refuses a failed
 * plan.
 */
#include "domain/plan.h"

#include "base/mem.h"
#include "domain/state_internal.h"

#include <stdarg.h>
#include <stdio.h>

#define PLAN_ROWS_FIRST 8u
/* The plan and the rows of a run's first step: one block, not a small one and its double. */
#define PLAN_FIRST_BYTES 7936u

struct plan *plan_new(void) {
    struct arena *a = arena_new_for(PLAN_BYTES_MAX, PLAN_FIRST_BYTES);
    struct plan *p = a ? ARENA_NEW(a, struct plan) : NULL;
    if (!p) {
        arena_free(a);
        return NULL;
    }
    p->arena = a;
    p->refs = 1;
    p->mem_refused = mem_refused();
    return p;
}

struct plan *plan_ref(struct plan *p) {
    __atomic_add_fetch(&p->refs, 1, __ATOMIC_RELAXED);
    return p;
}

void plan_unref(struct plan *p) {
    if (!p) return;
    int left = __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL);
    ASSERT(left >= 0);
    if (left > 0) return;
    arena_free(p->arena);
}

void plan_fail(struct plan *p, int code, const char *fmt, ...) {
    char text[sizeof p->error.message];
    if (p->failed != 0) return; /* the first one explains the rest */
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    p->failed = mem_verdict(code, p->mem_refused); /* a bound is permanent */
    wopr_error_set(&p->error, p->failed, "%s", text);
}

static void plan_no_memory(struct plan *p) {
    if (arena_over(p->arena))
        plan_fail(p, WOPR_E_TOO_BIG, "a plan does not fit its %zu bytes", PLAN_BYTES_MAX);
    else plan_fail(p, WOPR_E_NO_MEMORY, "no memory for a plan");
}

/* The rows with room for one more, moved if they were full; NULL when the plan failed. */
static void *rows_grow(struct plan *p, void *rows, size_t nr, size_t *cap, size_t size) {
    if (p->failed != 0) return NULL;
    if (nr < *cap) return rows;
    size_t more = *cap ? *cap * 2 : PLAN_ROWS_FIRST;
    void *grown = arena_array(p->arena, more, size);
    if (!grown) {
        plan_no_memory(p);
        return NULL;
    }
    if (nr > 0) memcpy(grown, rows, nr * size);
    *cap = more;
    return grown;
}
/* static bool events_add(p, row): append *row, whose texts are in the plan's arena already, to
 * p->events; and so on.  false: the plan has failed. */
#define ROW_ADDER(rows, one, type, texts)                                                          \
    static bool rows##_add(struct plan *p, const type *row) {                                      \
        type *grown = rows_grow(p, p->rows, p->rows##_nr, &p->rows##_cap, sizeof(type));           \
        if (!grown) return false;                                                                  \
        p->rows = grown;                                                                           \
        p->rows[p->rows##_nr++] = *row;                                                            \
        return true;                                                                               \
    }
ROW_ADDER(events, event, struct event, )
PLAN_ROWS(ROW_ADDER, PLAN_NO_STEP)

/* Copy into the plan; an empty text stays empty. */
static struct str text_keep(struct plan *p, struct str s) {
    if (s.n == 0) return STR_NONE;
    struct str out = arena_str(p->arena, s);
    if (!out.p) plan_no_memory(p);
    return out;
}

#define TEXT(member) copy.member = text_keep(p, row->member);
#define ROW_COPIER(rows, one, type, texts)                                                         \
    void plan_##one(struct plan *p, const type *row) {                                             \
        type copy = *row;                                                                          \
        texts;                                                                                     \
        rows##_add(p, &copy);                                                                      \
    }
PLAN_ROWS(ROW_COPIER, PLAN_NO_STEP)

bool plan_is_empty(const struct plan *p) {
#define ROW_COUNT(rows, one, type, texts) +p->rows##_nr
    size_t rows = p->events_nr PLAN_ROWS(ROW_COUNT, PLAN_NO_STEP);
    return rows == 0 && !p->create && !p->has_update && !p->has_idem && !p->lets_go;
}

/* OBS-75, GEN-6: remove credentials, whatever a builder spliced. */
static struct str payload_clean(struct plan *p, const struct run_state *s, struct str payload) {
    struct str known = s ? s->options.credential_ref : STR_NONE;
    struct buf b;
    buf_init(&b, PLAN_BYTES_MAX);
    int rc = redact_json(payload, known, &b, NULL);
    if (rc != 0) plan_fail(p, rc, "no memory to redact a payload");
    else if (!str_eq(buf_str(&b), payload)) payload = text_keep(p, buf_str(&b));
    buf_fini(&b);
    return payload;
}

static int64_t event_time(const struct plan *p, const struct run_state *s, int64_t now_ms) {
    if (s && s->last_ts_ms > now_ms) now_ms = s->last_ts_ms;
    if (p->events_nr > 0 && p->events[p->events_nr - 1].ts_ms > now_ms)
        now_ms = p->events[p->events_nr - 1].ts_ms;
    return now_ms;
}

/* Redacted, within the limits and of the right shape. */
static struct str payload_admit(struct plan *p, const struct payload_rules *rules,
                                const struct run_state *s, enum ev_kind kind, struct str payload) {
    struct wopr_error why = {0};
    if (!payload.p) {
        plan_fail(p, WOPR_E_NO_MEMORY, "no memory for the payload of %s", event_name(kind));
        return STR_NONE;
    }
    bool plain = !s || s->options.credential_ref.n == 0; /* redaction depends on nothing else */
    if (plain && payload_passed(rules, kind, payload)) return payload;
    struct str given = payload;
    payload = payload_clean(p, s, payload);
    if (p->failed != 0) return STR_NONE;
    int rc = payload_check(rules, kind, payload, &why);
    if (rc == 0 && plain && payload.p == given.p) payload_remember(rules, kind, payload);
    if (rc == 0) return payload;
    plan_fail(p, rc, "%s", rc == WOPR_E_NO_MEMORY ? "no memory to check a payload" : why.message);
    snprintf(p->error.pointer, sizeof p->error.pointer, "%s", why.pointer);
    return STR_NONE;
}

bool plan_admits(struct plan *p, const struct payload_rules *rules, const struct run_state *s,
                 enum ev_kind kind, struct str payload) {
    if (p->failed != 0) return false;
    bool fits = payload_admit(p, rules, s, kind, payload).p != NULL;
    if (p->failed == WOPR_E_PAYLOAD_INVALID || p->failed == WOPR_E_TOO_BIG) {
        p->failed = 0;
        wopr_error_clear(&p->error);
    }
    return fits;
}

int64_t plan_event(struct plan *p, const struct payload_rules *rules, struct run_state *s,
                   enum ev_kind kind, struct str node_id, int64_t causation_seq, int64_t now_ms,
                   struct str payload) {
    return plan_event_masked(p, rules, s, kind, node_id, causation_seq, now_ms, payload, STR_NONE);
}

int64_t plan_event_masked(struct plan *p, const struct payload_rules *rules, struct run_state *s,
                          enum ev_kind kind, struct str node_id, int64_t causation_seq,
                          int64_t now_ms, struct str payload, struct str clear) {
    if (p->failed != 0) return -1;
    if (p->events_nr >= PLAN_EVENTS_MAX) {
        plan_fail(p, WOPR_E_TOO_BIG, "a plan holds at most %zu events", PLAN_EVENTS_MAX);
        return -1;
    }
    int64_t seq = p->base_seq + (int64_t)p->events_nr;
    if (s && seq != s->next_seq) {
        plan_fail(p, WOPR_E_STALE, "the plan starts at another sequence than the state is at");
        return -1;
    }
    payload = payload_admit(p, rules, s, kind, payload);
    struct str node = text_keep(p, node_id);
    if (p->failed != 0) return -1;
    struct event e = {
        .seq = seq,
        .kind = kind,
        .type = str_c(event_name(kind)),
        .node_id = node,
        .causation_seq = causation_seq >= 0 ? causation_seq : -1,
        .ts_ms = event_time(p, s, now_ms),
        .schema_version = EVENT_SCHEMA_VERSION,
        .engine_version = s ? s->meta.shown_engine_version : CURRENT_ENGINE_VERSION,
        .flags = clear.n > 0 ? EVENT_MASKED : 0,
        .payload = payload,
        .clear = clear,
    };
    if (s) { /* an event that does not fit the state must not be appended */
        struct wopr_error why = {0};
        p->half_folded = true;
        int rc = state_apply_checked(s, &e, &why);
        if (rc != 0) {
            plan_fail(p, rc, "%s", why.message);
            return -1;
        }
    }
    if (!events_add(p, &e)) return -1;
    p->half_folded = false;
    return seq;
}

void plan_timer_set(struct plan *p, enum timer_kind k, struct str node_id, int64_t fire_at_ms,
                    int64_t remaining_ms) {
    plan_timer(p, &(struct plan_timer){true, k, node_id, fire_at_ms, remaining_ms});
}

void plan_timer_clear(struct plan *p, enum timer_kind k, struct str node_id) {
    plan_timer(p, &(struct plan_timer){.kind = k, .node_id = node_id, .fire_at_ms = -1});
}

/* --- projection (EVT-44): rows that the commit writes beside the events --- */

static void project_nodes(struct plan *p, struct run_state *s) {
    struct buf b;
    buf_init(&b, PLAN_BYTES_MAX);
    for (size_t i = 0; p->failed == 0 && i < s->wf->nodes_nr; i++) {
        if (!s->nodes[i].dirty) continue;
        buf_reset(&b);
        node_state_render(&s->nodes[i], &b);
        if (buf_failed(&b)) plan_fail(p, WOPR_E_NO_MEMORY, "no memory for a node state");
        plan_node(p, &(struct plan_node_row){s->wf->nodes[i].id, buf_str(&b)});
        s->nodes[i].dirty = false;
    }
    buf_fini(&b);
}

/* OBS-71: rows hold what the log shows. */
static void project_vars(struct plan *p, struct run_state *s) {
    for (size_t i = 0; p->failed == 0 && i < s->variables.n; i++) {
        struct var_state *v = &s->variables.v[i];
        if (!v->dirty) continue;
        struct plan_var_row r = {.name = text_str(&v->name), .value = var_shown(v)};
        r.omitted = r.value.n == 0;
        plan_var(p, &r);
        v->dirty = p->failed != 0;
    }
}

/* The one row of a channel that shows a mask; none in mode omit. */
static void project_masked(struct plan *p, const struct run_state *s, const struct chan_state *c) {
    struct plan_chan_row r = {.op = PLAN_CHAN_PUT,
                              .name = text_str(&c->name),
                              .declared = c->decl != NULL,
                              .seq = c->n > 0 ? c->v[c->n - 1].seq : -1};
    struct buf b;
    buf_init(&b, PLAN_BYTES_MAX);
    if (chan_shown(c, s->wf->masking_mode, 0, &b) != 0)
        plan_fail(p, WOPR_E_NO_MEMORY, "no memory for a channel");
    r.value = buf_str(&b);
    if (b.len == 0) {
        r.op = PLAN_CHAN_NONE;
        r.seq = INT64_MAX;
    }
    plan_chan(p, &r);
    buf_fini(&b);
}

static void project_chan(struct plan *p, const struct run_state *s, struct chan_state *c) {
    size_t from = c->n; /* fresh entries are the tail of the list */
    while (from > 0 && c->v[from - 1].fresh) from--;
    if (c->sensitive) {
        if (from < c->n) project_masked(p, s, c);
        for (; from < c->n; from++) c->v[from].fresh = false;
        return;
    }
    for (; p->failed == 0 && from < c->n; from++) {
        struct plan_chan_row r = {
            .op = PLAN_CHAN_PUT,
            .name = text_str(&c->name),
            .declared = c->decl != NULL,
            .is_list = c->is_list,
            .seq = c->v[from].seq,
            .ts_ms = c->v[from].ts_ms,
            .value = text_str(&c->v[from].value),
            .ttl_ms = c->decl ? c->ttl_ms : 0,
        };
        plan_chan(p, &r);
        c->v[from].fresh = false;
    }
}

static void project_chans(struct plan *p, struct run_state *s) {
    for (size_t i = 0; p->failed == 0 && i < s->channels.ops_nr; i++) {
        const struct chan_state *c = &s->channels.v[s->channels.ops[i].chan];
        if (c->sensitive) continue; /* one row, which the next write replaces */
        struct plan_chan_row r = {
            .op = PLAN_CHAN_DEL,
            .name = text_str(&c->name),
            .declared = c->decl != NULL,
            .is_list = c->is_list,
            .seq = s->channels.ops[i].seq,
        };
        plan_chan(p, &r);
    }
    s->channels.ops_nr = 0;
    for (size_t i = 0; i < s->channels.n; i++) project_chan(p, s, &s->channels.v[i]);
}

void plan_channels(struct plan *p, const struct workflow *wf) {
    struct buf b;
    buf_init(&b, PLAN_BYTES_MAX);
    for (size_t i = 0; p->failed == 0 && i < wf->channels_nr; i++) {
        const struct wf_channel *d = &wf->channels[i];
        const struct chan_state empty = {.decl = d,
                                         .reducer = d->reducer,
                                         .is_list = reducer_is_list(d->reducer),
                                         .sensitive = d->sensitive && mask_masks(wf->masking_mode)};
        bool list = empty.is_list && !empty.sensitive;
        buf_reset(&b);
        if (chan_shown(&empty, wf->masking_mode, 0, &b) != 0)
            plan_fail(p, WOPR_E_NO_MEMORY, "no memory for a channel");
        if (b.len == 0) continue; /* replace without a default is absent until written */
        struct plan_chan_row r = {
            .op = PLAN_CHAN_PUT,
            .name = d->name,
            .declared = true,
            .is_list = list,
            .seq = -1,
            .value = list ? STR_NONE : buf_str(&b),
        };
        plan_chan(p, &r);
    }
    buf_fini(&b);
}

void plan_project(struct plan *p, struct run_state *s, int64_t paused_ms) {
    if (p->failed != 0) return;
    project_nodes(p, s);
    project_vars(p, s);
    project_chans(p, s);
    p->update = (struct run_row_update){
        .status = s->status,
        .current_node =
            s->current_node >= 0 ? text_keep(p, s->wf->nodes[s->current_node].id) : STR_NONE,
        .started_ms = s->clock.started_ms,
        .completed_ms = s->clock.completed_ms,
        .error = text_keep(p, text_str(&s->error)),
        .outputs = text_keep(p, text_str(&s->outputs)),
        .agent = text_keep(p, text_str(&s->agent)),
        .orchestrator = text_keep(p, text_str(&s->orch.agent)),
        .paused_ms = paused_ms,
    };
    p->has_update = p->what != PLAN_SIDE;
    if (run_status_final(s->status)) { /* no one needs the clear values any more */
        p->unseals = s->secrecy.masked || s->secrecy.masks;
        p->sealed_nr = 0;
    }
    s->dirty_run = false;
}
