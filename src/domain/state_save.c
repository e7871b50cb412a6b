/*
 * state_save.c: the image of a run state, written and read by one walk over its members, so that a
 * new member is one line here.  Derived members (positions in heaps, marks, indexes, dirty marks)
 * are not written; what other code relies on (indexes, order of heaps) is checked on reading,
 * whatever the checksum says.  A program appends what it needs to be made again, last, so that it
 * finds the rest of the state when it is.
 */
#include "domain/state_save.h"

#include "base/mem.h"
#include "base/vec.h"
#include "domain/conversation.h"
#include "domain/program.h"
#include "domain/sched_int.h"
#include "domain/state_internal.h"

#include <stdio.h>

/* If this fails, a member was added: give it a line below, or derive it, and raise STATE_CODEC.
 * test_state_save finds members that padding hides from this check. */
#if UINTPTR_MAX == UINT64_MAX
_Static_assert(sizeof(struct run_state) == 1088, "struct run_state: walk the new member");
_Static_assert(sizeof(struct node_state) == 392, "struct node_state: walk the new member");
_Static_assert(sizeof(struct conversation) == 56, "struct conversation: walk the new member");
_Static_assert(sizeof(struct sched_node) == 184, "struct sched_node: walk the new member");
_Static_assert(sizeof(struct chan_state) == 104, "struct chan_state: walk the new member");
_Static_assert(sizeof(struct chan_entry) == 48, "struct chan_entry: walk the new member");
_Static_assert(sizeof(struct intr_state) == 192, "struct intr_state: walk the new member");
_Static_assert(sizeof(struct intr_vote) == 32, "struct intr_vote: walk the new member");
_Static_assert(sizeof(struct var_state) == 56, "struct var_state: walk the new member");
_Static_assert(sizeof(struct pin_state) == 40, "struct pin_state: walk the new member");
_Static_assert(sizeof(struct trigger_fire) == 24, "struct trigger_fire: walk the new member");
#endif

#define IMAGE_VERSION    (STATE_CODEC | CURRENT_ENGINE_VERSION << 8)
#define IMAGE_MAGIC      "WOPRST"
#define NUMBER_MAX       (INT64_C(1) << 61) /* sums of two do not overflow */
#define NUMBER_BYTES_MAX 10

struct image {
    struct run_state *run;
    struct buf *out;               /* written to */
    const unsigned char *at, *end; /* read from */
    bool reads;
    int rc; /* the first failure, after which nothing is read or written */
};

/* --- numbers and texts --- */

static void image_fail(struct image *m, int rc) {
    if (m->rc == 0) m->rc = rc;
}

static void image_check(struct image *m, bool holds) {
    if (m->reads && !holds) image_fail(m, WOPR_E_CORRUPT);
}

static void number_write(struct image *m, uint64_t v) {
    char bytes[NUMBER_BYTES_MAX];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7) bytes[n++] = (char)(v | 0x80);
    bytes[n++] = (char)v;
    buf_add(m->out, bytes, n);
}

static uint64_t number_read(struct image *m) {
    uint64_t v = 0;
    for (unsigned shift = 0; m->rc == 0; shift += 7) {
        if (m->at == m->end || shift > 63) break;
        unsigned byte = *m->at++;
        if (shift == 63 && byte > 1) break;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return v;
    }
    image_fail(m, WOPR_E_CORRUPT);
    return 0;
}

/* Small numbers of either sign take few bytes. */
static int64_t number_walk(struct image *m, int64_t v, int64_t min, int64_t max) {
    if (!m->reads) {
        number_write(m, ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0));
        return v;
    }
    uint64_t raw = number_read(m);
    v = (int64_t)((raw >> 1) ^ (raw & 1 ? UINT64_MAX : 0));
    if (v >= min && v <= max) return v;
    image_fail(m, WOPR_E_CORRUPT);
    return 0;
}

/* One member: written, or read and stored if it is within min..max. */
#define WALK(m, member, min, max)                                                                  \
    do {                                                                                           \
        int64_t walked = number_walk((m), (int64_t)(member), (min), (max));                        \
        if ((m)->reads && (m)->rc == 0) (member) = (__typeof__(member))walked;                     \
    } while (0)
#define WALK_BOOL(m, member)    WALK(m, member, 0, 1)
#define WALK_COUNT(m, member)   WALK(m, member, 0, NUMBER_MAX)
#define WALK_COUNT32(m, member) WALK(m, member, 0, INT32_MAX)
#define WALK_NUMBER(m, member)  WALK(m, member, -NUMBER_MAX, NUMBER_MAX)
#define WALK_ANY(m, member)     WALK(m, member, INT64_MIN, INT64_MAX)

static void bytes_walk(struct image *m, void *p, size_t n) {
    if (!m->reads) {
        buf_add(m->out, p, n);
    } else if (m->rc == 0 && (size_t)(m->end - m->at) >= n) {
        memcpy(p, m->at, n);
        m->at += n;
    } else {
        image_fail(m, WOPR_E_CORRUPT);
    }
}

static void text_walk(struct image *m, struct text *t) {
    size_t n = t->n;
    WALK_COUNT(m, n);
    if (!m->reads) {
        buf_adds(m->out, text_str(t));
    } else if (m->rc == 0 && (size_t)(m->end - m->at) >= n) {
        if (text_set(t, str_n((const char *)m->at, n)) != 0) image_fail(m, WOPR_E_NO_MEMORY);
        m->at += n;
    } else {
        image_fail(m, WOPR_E_CORRUPT);
    }
}

/* A growing array.  A false length fails at the first missing element. */
#define WALK_LIST(m, items, nr, cap, nr_max, one)                                                  \
    do {                                                                                           \
        size_t claimed = (nr);                                                                     \
        WALK(m, claimed, 0, (nr_max));                                                             \
        for (size_t k_ = 0; k_ < claimed && (m)->rc == 0; k_++) {                                  \
            if ((m)->reads && VEC_ROOM(items, nr, cap, 8) != 0) {                                  \
                image_fail((m), WOPR_E_NO_MEMORY);                                                 \
                break;                                                                             \
            }                                                                                      \
            if ((m)->reads) memset(&(items)[(nr)++], 0, sizeof *(items));                          \
            one((m), &(items)[k_]);                                                                \
        }                                                                                          \
    } while (0)

static int64_t node_last(const struct image *m) { return (int64_t)m->run->wf->nodes_nr - 1; }

/* --- nodes and what the scheduler owns --- */

static void tally_walk(struct image *m, struct sched_tally *t) {
    WALK(m, t->total, 0, UINT32_MAX);
    if (t->total == 0) return;
    WALK(m, t->open, 0, UINT32_MAX);
    WALK(m, t->yes, 0, UINT32_MAX);
    WALK(m, t->no, 0, UINT32_MAX);
    WALK(m, t->skipped, 0, UINT32_MAX);
    WALK(m, t->failed, 0, UINT32_MAX);
}

/* Not saved: pos follows from the heap, mark is scratch, blocker a cache. */
static void sched_node_walk(struct image *m, struct sched_node *n) {
    WALK(m, n->phase, PHASE_IDLE, PHASE_SETTLED);
    WALK(m, n->reason, 0, SKIP_NR - 1);
    WALK_BOOL(m, n->loop_pending);
    WALK_BOOL(m, n->loop_over);
    WALK_COUNT32(m, n->loops);
    WALK_COUNT32(m, n->round);
    WALK_COUNT32(m, n->loop_limit);
    WALK(m, n->fired_by, 0, (int64_t)m->run->wf->triggers_nr);
    WALK_COUNT32(m, n->fire_depth);
    WALK_ANY(m, n->due_ms);
    WALK_COUNT(m, n->cause_seq);
    for (int r = 0; r < RULE_NR; r++) tally_walk(m, &n->in[r]);
}

static void conversation_walk(struct image *m, struct node_state *n) {
    bool there = n->conversation != NULL;
    WALK_BOOL(m, there);
    if (!there || m->rc != 0) return;
    if (m->reads && !n->conversation) n->conversation = MEM_NEW(struct conversation);
    struct conversation *c = n->conversation;
    if (!c) {
        image_fail(m, WOPR_E_NO_MEMORY);
        return;
    }
    text_walk(m, &c->id);
    WALK_COUNT(m, c->opened_seq);
    WALK_NUMBER(m, c->opened_ms);
    WALK_COUNT(m, c->seq);
    WALK(m, c->turns, 1, INT32_MAX);
    WALK_COUNT32(m, c->effects);
    WALK_BOOL(m, c->closed);
}

/* Those that a program says again are left to it (program_read). */
static void outputs_walk(struct image *m, struct node_state *n) {
    const struct run_state *s = m->run;
    bool remade = false;
    if (s->program != NULL) {
        if (!m->reads) remade = s->wf->program->remakes(s->program, (int)(n - s->nodes));
        WALK_BOOL(m, remade);
    }
    if (!remade) text_walk(m, &n->outputs);
}

/* Not saved: queued follows from the heaps, dirty is no part of the fold. */
static void node_walk(struct image *m, struct node_state *n) {
    sched_node_walk(m, &n->sched);
    WALK(m, n->status, 0, NODE_STATUS_NR - 1);
    WALK_COUNT32(m, n->attempt);
    WALK_COUNT32(m, n->activation);
    WALK_NUMBER(m, n->started_ms);
    WALK_NUMBER(m, n->completed_ms);
    WALK(m, n->retry_at_ms, 0, INT64_MAX);
    WALK_COUNT32(m, n->chunks);
    WALK_COUNT32(m, n->pieces);
    WALK_COUNT32(m, n->effects);
    WALK_BOOL(m, n->recorded);
    WALK_COUNT(m, n->started_seq);
    WALK_NUMBER(m, n->clock_ms);
    WALK_BOOL(m, n->pause_drained);
    WALK_BOOL(m, n->child_waits);
    WALK(m, n->waits, 0, RUN_STATUS_NR - 1);
    WALK_COUNT(m, n->suspended_seq);
    WALK_BOOL(m, n->disabled_skip);
    WALK_COUNT32(m, n->terminal_n);
    outputs_walk(m, n);
    text_walk(m, &n->error);
    text_walk(m, &n->clear);
    text_walk(m, &n->cost);
    WALK_BOOL(m, n->masked);
    WALK_COUNT(m, n->orch.mark);
    WALK_COUNT(m, n->orch.seq);
    text_walk(m, &n->orch.decision);
    conversation_walk(m, n);
}

/* Heaps of nodes: check their order and the phase of their nodes, on which other code relies. */
static void heap_walk(struct image *m, int *heap, size_t *nr, enum sched_phase phase) {
    struct node_state *nodes = m->run->nodes;
    WALK(m, *nr, 0, node_last(m) + 1);
    for (size_t i = 0; i < *nr && m->rc == 0; i++) {
        WALK(m, heap[i], 0, node_last(m));
        if (!m->reads || m->rc != 0) continue;
        struct node_state *n = &nodes[heap[i]];
        image_check(m, n->sched.phase == phase && !n->queued);
        image_check(m, i == 0 || heap[(i - 1) / 2] < heap[i]);
        n->queued = true;
        n->sched.pos = i;
    }
}

/* The heads of pending loops in definition order, consistent with loop_pending of the nodes. */
static void loops_walk(struct image *m) {
    struct run_state *s = m->run;
    int head = -1;
    WALK(m, s->sched.loops_nr, 0, node_last(m) + 1);
    for (size_t i = 0; i < s->sched.loops_nr && m->rc == 0; i++) {
        int last = head++;
        while (!m->reads && !s->nodes[head].sched.loop_pending) head++;
        WALK(m, head, 0, node_last(m));
        image_check(m, m->rc != 0 || (head > last && s->nodes[head].sched.loop_pending));
    }
}

static void fire_walk(struct image *m, struct trigger_fire *f) {
    WALK_COUNT(m, f->seq);
    WALK_NUMBER(m, f->ts_ms);
    WALK_COUNT32(m, f->depth);
}

/* The counters must match the heaps and lists. */
static void queues_check(struct image *m) {
    struct run_state *s = m->run;
    size_t queued = 0, loops = 0, held = 0;
    for (size_t i = 0; i < s->wf->nodes_nr; i++) {
        enum sched_phase phase = s->nodes[i].sched.phase;
        queued += phase == PHASE_READY || phase == PHASE_SKIP;
        held += phase == PHASE_HELD;
        loops += s->nodes[i].sched.loop_pending;
    }
    image_check(m, queued == s->sched.ready_nr + s->sched.skips_nr && loops == s->sched.loops_nr);
    image_check(m, held == s->sched.held_nr);
}

/* The scheduler's part is empty before the run has started. */
static void sched_walk(struct image *m) {
    struct run_state *s = m->run;
    bool begun = s->sched.edges != NULL;
    WALK_BOOL(m, begun);
    if (m->rc == 0 && m->reads && begun && sched_alloc(s) != 0) image_fail(m, WOPR_E_NO_MEMORY);
    WALK_COUNT(m, s->sched.held_nr);
    if (begun && m->rc == 0) {
        for (size_t i = 0; i < s->wf->edges_nr; i++)
            WALK(m, s->sched.edges[i], EDGE_OPEN, EDGE_FAILED);
        heap_walk(m, s->sched.ready, &s->sched.ready_nr, PHASE_READY);
        heap_walk(m, s->sched.skips, &s->sched.skips_nr, PHASE_SKIP);
        loops_walk(m);
        for (size_t i = 0; i < s->wf->triggers_nr && m->rc == 0; i++) {
            struct trigger_state *q = &s->sched.triggers[i];
            WALK_LIST(m, q->v, q->n, q->cap, TRIGGER_QUEUE_MAX, fire_walk);
        }
    }
    if (m->rc == 0) queues_check(m);
}

/* --- values --- */

static void var_walk(struct image *m, struct var_state *v) {
    text_walk(m, &v->name);
    text_walk(m, &v->value);
    WALK_BOOL(m, v->sensitive);
    text_walk(m, &v->shown);
}

static void entry_walk(struct image *m, struct chan_entry *e) {
    WALK_COUNT(m, e->seq);
    WALK_NUMBER(m, e->ts_ms);
    WALK_ANY(m, e->id);
    WALK(m, e->by, 0, RED_NR - 1);
    text_walk(m, &e->value);
}

static void sum_walk(struct image *m, struct chan_state *c) {
    WALK_BOOL(m, c->summed);
    if (!c->summed || m->rc != 0) return;
    if (m->reads && !c->sum && !(c->sum = MEM_NEW(struct sum))) image_fail(m, WOPR_E_NO_MEMORY);
    for (size_t i = 0; i < SUM_LIMBS && m->rc == 0; i++) WALK_NUMBER(m, c->sum->limb[i]);
}

static void chan_walk(struct image *m, struct chan_state *c) {
    WALK(m, c->reducer, 0, RED_NR - 1);
    WALK_COUNT(m, c->ttl_ms);
    WALK_BOOL(m, c->is_list);
    WALK_LIST(m, c->v, c->n, c->cap, (int64_t)RUN_ENTRIES_MAX, entry_walk);
    image_check(m, c->is_list || c->n <= 1);
    WALK_BOOL(m, c->sensitive);
    text_walk(m, &c->shown);
    sum_walk(m, c);
}

/* Declared channels are those of the workflow, in its order; the others carry names. */
static void chans_walk(struct image *m) {
    struct run_state *s = m->run;
    size_t nr = s->channels.n, declared = s->wf->channels_nr;
    WALK(m, nr, (int64_t)declared, (int64_t)STATE_CHANS_MAX);
    for (size_t i = 0; i < nr && m->rc == 0; i++) {
        struct text name = {0};
        if (i >= declared) text_walk(m, m->reads ? &name : &s->channels.v[i].name);
        if (m->rc == 0 && i >= s->channels.n && !chan_add(s, text_str(&name), NULL))
            image_fail(m, WOPR_E_NO_MEMORY);
        text_clear(&name);
        if (m->rc == 0) chan_walk(m, &s->channels.v[i]);
    }
}

static void notes_walk(struct image *m, struct intr_notes *n) {
    WALK_COUNT(m, n->nr);
    WALK_COUNT(m, n->bytes);
}

static void vote_walk(struct image *m, struct intr_vote *v) {
    text_walk(m, &v->voter);
    WALK_BOOL(m, v->rejects);
    if (m->reads) v->hash = str_hash(text_str(&v->voter), 0);
}

static void intr_walk(struct image *m, struct intr_state *i) {
    WALK(m, i->node, 0, node_last(m));
    WALK(m, i->kind, 0, INTR_KIND_NR - 1);
    WALK_COUNT32(m, i->activation);
    WALK(m, i->phase, INTR_OPEN, INTR_ENDED);
    WALK_COUNT(m, i->requested_seq);
    WALK_NUMBER(m, i->requested_ms);
    WALK_COUNT(m, i->timeout_ms);
    notes_walk(m, &i->asks);
    notes_walk(m, &i->votes);
    WALK_LIST(m, i->voters, i->voters_nr, i->voters_cap, INTR_VOTES_MAX, vote_walk);
    text_walk(m, &i->id);
    text_walk(m, &i->key);
    text_walk(m, &i->payload);
    text_walk(m, &i->value);
    text_walk(m, &i->action);
    text_walk(m, &i->decided_by);
}

static void pin_walk(struct image *m, struct pin_state *p) {
    text_walk(m, &p->change_id);
    WALK(m, p->version, 0, PIN_VERSION_MAX);
    WALK_COUNT(m, p->seq);
    WALK(m, p->node, -1, node_last(m));
}

/* --- the program --- */

static void program_write(struct image *m) {
    struct buf own;
    buf_init(&own, STATE_IMAGE_MAX);
    if (!m->run->wf->program->save(m->run->program, &own) || buf_failed(&own)) {
        m->out->failed = true;
    } else {
        number_write(m, own.len);
        buf_adds(m->out, buf_str(&own));
    }
    buf_fini(&own);
}

static void outputs_remake(struct image *m, int node) {
    struct node_state *n = &m->run->nodes[node];
    struct arena *a = arena_new(PLAN_BYTES_MAX);
    struct str text = a != NULL ? m->run->wf->program->outputs(m->run->program, node, a) : STR_NONE;
    image_check(m, n->status == NODE_COMPLETED && n->outputs.n == 0);
    if (text.p == NULL || text_set(&n->outputs, text) != 0) image_fail(m, WOPR_E_NO_MEMORY);
    arena_free(a);
}

static void program_read(struct image *m) {
    uint64_t n = number_read(m);
    if (m->rc == 0 && (size_t)(m->end - m->at) < n) image_fail(m, WOPR_E_CORRUPT);
    if (m->rc != 0) return;
    struct str own = str_n((const char *)m->at, n);
    m->at += n;
    image_fail(m, m->run->wf->program->load(m->run->program, m->run, own, NULL));
    for (size_t i = 0; i < m->run->wf->nodes_nr && m->rc == 0; i++)
        if (m->run->wf->program->remakes(m->run->program, (int)i)) outputs_remake(m, (int)i);
}

static void program_walk(struct image *m) {
    if (m->run->wf->program == NULL || m->rc != 0) return;
    if (m->reads) program_read(m);
    else program_write(m);
}

/* --- the run --- */

static void run_walk(struct image *m) {
    struct run_state *s = m->run;
    WALK(m, s->status, 0, RUN_STATUS_NR - 1);
    WALK(m, s->before_pause, 0, RUN_STATUS_NR - 1);
    WALK_COUNT(m, s->next_seq);
    WALK_NUMBER(m, s->last_ts_ms);
    WALK_COUNT(m, s->log_bytes);
    WALK_COUNT(m, s->pauses);
    WALK_COUNT(m, s->bytes);
    WALK_NUMBER(m, s->clock.started_ms);
    WALK_NUMBER(m, s->clock.completed_ms);
    WALK_COUNT(m, s->started_count);
    WALK_NUMBER(m, s->clock.waited_ms);
    WALK_NUMBER(m, s->clock.wait_since_ms);
    WALK_COUNT(m, s->counts.running);
    WALK_COUNT(m, s->counts.suspended);
    WALK_COUNT(m, s->counts.retry);
    WALK_ANY(m, s->sched.unsettled_nr);
    WALK(m, s->current_node, -1, node_last(m));
    WALK(m, s->failure.node, -1, node_last(m));
    WALK(m, s->failure.seq, -1, NUMBER_MAX);
    WALK_BOOL(m, s->cap_breached);
    WALK_BOOL(m, s->end_reached);
    WALK_BOOL(m, s->secrecy.masks);
    WALK_BOOL(m, s->secrecy.masked);
    WALK_BOOL(m, s->secrecy.lost);
    text_walk(m, &s->error);
    text_walk(m, &s->agent);
    text_walk(m, &s->outputs);
    WALK(m, s->cap.kind, 0, CAP_KIND_NR - 1);
    WALK_COUNT(m, s->cap.limit);
    WALK_COUNT(m, s->cap.observed);
    text_walk(m, &s->orch.agent);
    text_walk(m, &s->orch.decision);
    WALK_COUNT(m, s->orch.seq);
    WALK_COUNT(m, s->orch.decisions);
    WALK_COUNT(m, s->orch.dispatches);
    WALK(m, s->orch.ended_by, 0, node_last(m) + 1);
    for (size_t i = 0; i < s->wf->nodes_nr && m->rc == 0; i++) node_walk(m, &s->nodes[i]);
    sched_walk(m);
    WALK_LIST(m, s->variables.v, s->variables.n, s->variables.cap, (int64_t)RUN_VARS_MAX, var_walk);
    chans_walk(m);
    WALK(m, s->channels.broken.chan, 0, (int64_t)s->channels.n);
    WALK_COUNT(m, s->channels.broken.version);
    WALK_COUNT(m, s->channels.broken.seq);
    image_check(m,
                s->channels.broken.seq == 0 || s->channels.broken.chan < (int)s->wf->channels_nr);
    WALK_LIST(m, s->interrupts.v, s->interrupts.n, s->interrupts.cap, (int64_t)RUN_INTRS_MAX,
              intr_walk);
    WALK_LIST(m, s->pins.v, s->pins.n, s->pins.cap, (int64_t)RUN_PINS_MAX, pin_walk);
    program_walk(m);
}

static void aside_walk(struct image *m, struct state_aside *a) {
    WALK_COUNT(m, a->fork_gap_ms);
    WALK_COUNT(m, a->source_next);
    WALK_COUNT(m, a->source_beyond);
    WALK_BOOL(m, a->source_ended);
}

/* --- basis of an image --- */

/* A digest of everything besides the log that a fold depends on. */
static struct sha256 state_basis(const struct run_state *s) {
    char text[sizeof s->wf->hash.b + 24];
    memcpy(text, s->wf->hash.b, sizeof s->wf->hash.b);
    int n =
        snprintf(text + sizeof s->wf->hash.b, 24, "%lld", (long long)s->options.recursion_limit);
    struct sha256 d = sha256_of2(str_n(text, sizeof s->wf->hash.b + (size_t)n), s->meta.inputs);
    if (s->meta.inputs_clear.n == 0) return d;
    return sha256_of2(str_n((const char *)d.b, sizeof d.b), s->meta.inputs_clear);
}

static void image_walk(struct image *m, struct state_aside *a) {
    struct sha256 basis = state_basis(m->run), mine = basis;
    bytes_walk(m, basis.b, sizeof basis.b);
    image_check(m, m->rc != 0 || memcmp(basis.b, mine.b, sizeof mine.b) == 0);
    if (m->rc == 0) aside_walk(m, a);
    if (m->rc == 0) run_walk(m);
    image_check(m, m->at == m->end);
}

static void le_put(char *p, uint64_t v, size_t n) {
    for (size_t i = 0; i < n; i++) p[i] = (char)(v >> (8 * i));
}

static uint64_t le_get(const char *p, size_t n) {
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) v |= (uint64_t)(unsigned char)p[i] << (8 * i);
    return v;
}

/* Checksum of length and body.  Like the hashes kept in channels it depends on the byte order: an
 * image made with another order is refused. */
static uint64_t image_sum(struct str image) {
    return str_hash(str_n(image.p + STATE_IMAGE_HEAD, image.n - STATE_IMAGE_HEAD),
                    STATE_IMAGE_SEED);
}

int run_state_save(const struct run_state *s, const struct state_aside *aside, struct buf *out) {
    struct state_aside a = *aside;
    ASSERT(!run_state_busy(s)); /* what is left to be settled is part of no image */
    char head[STATE_IMAGE_HEAD] = IMAGE_MAGIC;
    size_t start = out->len;
    /* The walk changes nothing when it writes. */
    struct image m = {.run = (struct run_state *)(uintptr_t)s, .out = out};
    buf_add(out, head, sizeof head);
    image_walk(&m, &a);
    if (buf_failed(out)) return WOPR_E_TOO_BIG;
    struct str image = str_n(out->p + start, out->len - start);
    le_put(head + 6, IMAGE_VERSION, 2);
    le_put(head + 8, image.n, 8);
    le_put(head + 16, image_sum(image), 8);
    memcpy(out->p + start, head, sizeof head);
    return 0;
}

bool state_image_foreign(struct str image) {
    return image.n >= STATE_IMAGE_HEAD && memcmp(image.p, IMAGE_MAGIC, 6) == 0 &&
           le_get(image.p + 6, 2) != IMAGE_VERSION;
}

/* NULL, or the defect of an image's head. */
static const char *head_broken(struct str image) {
    if (image.n < STATE_IMAGE_HEAD || memcmp(image.p, IMAGE_MAGIC, 6) != 0)
        return "is no image of a state";
    if (le_get(image.p + 6, 2) != IMAGE_VERSION) return "was written by another version";
    if (le_get(image.p + 8, 8) != image.n) return "is not whole";
    return le_get(image.p + 16, 8) == image_sum(image) ? NULL : "is damaged";
}

int run_state_load(struct str image, struct workflow *wf, const struct run_meta *meta,
                   const struct run_limits *limits, struct run_state **out,
                   struct state_aside *aside, struct wopr_error *err) {
    const char *broken = head_broken(image);
    struct state_aside a = {0};
    struct run_state *s = NULL;
    if (broken) return wopr_error_set(err, WOPR_E_CORRUPT, "the image %s", broken);
    int rc = run_state_new(wf, meta, limits, &s, err);
    if (rc != 0) return rc;
    state_vars_free(s); /* the image has them all */
    struct image m = {.run = s,
                      .at = (const unsigned char *)image.p + STATE_IMAGE_HEAD,
                      .end = (const unsigned char *)image.p + image.n,
                      .reads = true};
    image_walk(&m, &a);
    if (m.rc == 0 && sched_restore(s) != 0) m.rc = WOPR_E_NO_MEMORY;
    broken = m.rc == 0 ? run_state_broken(s) : "its members do not fit each other or the run";
    if (m.rc == 0 && broken) m.rc = WOPR_E_CORRUPT;
    if (m.rc != 0) {
        run_state_free(s);
        return wopr_error_set(err, m.rc, "the image is refused: %s",
                              m.rc == WOPR_E_NO_MEMORY ? "no memory" : broken);
    }
    *out = s;
    *aside = a;
    return 0;
}

void run_state_soil(struct run_state *s) {
    for (size_t i = 0; i < s->wf->nodes_nr; i++) {
        struct node_state *n = &s->nodes[i];
        n->dirty = n->dirty || n->status != NODE_PENDING || n->activation > 0 || n->clock_ms != 0;
    }
    for (size_t i = 0; i < s->variables.n; i++) s->variables.v[i].dirty = true;
    for (size_t i = 0; i < s->channels.n; i++)
        for (size_t k = 0; k < s->channels.v[i].n; k++) s->channels.v[i].v[k].fresh = true;
    s->channels.ops_nr = 0;
    s->dirty_run = true;
}
