/*
 * state_interrupt.c: the fold of interrupts (INT-2, EVT-26, EVT-27). interrupt.requested names no
 * id (INT-9): the node.suspended after it does.
 */
#include "base/mem.h"
#include "base/vec.h"
#include "codec/json.h"
#include "domain/interrupt.h"
#include "domain/state_internal.h"

/* s: the state that counts their bytes, NULL when it is being freed. */
static void votes_clear(struct run_state *s, struct intr_state *i) {
    for (size_t k = 0; k < i->voters_nr; k++) {
        if (s) s->bytes -= sizeof i->voters[k] + i->voters[k].voter.n;
        text_clear(&i->voters[k].voter);
    }
    mem_free(i->voters);
    i->voters = NULL;
    i->voters_nr = i->voters_cap = 0;
}

void intr_free(struct intr_state *i) {
    votes_clear(NULL, i);
    text_clear(&i->id);
    text_clear(&i->key);
    text_clear(&i->payload);
    text_clear(&i->value);
    text_clear(&i->action);
    text_clear(&i->decided_by);
}

struct str intr_key_of(const struct run_state *s, int node, unsigned ordinal, struct arena *a) {
    size_t nth = intr_count_before(s, node) + ordinal;
    /* already asked, maybe under the run id of a fork's source (FORK-13) */
    const struct intr_state *there = intr_nth_of(s, node, nth);
    if (there) return arena_str(a, text_str(&there->key));
    struct str id = s->wf->nodes[node].id;
    struct str key =
        arena_printf(a, STR_FMT ":" STR_FMT ":%zu", STR_ARG(s->meta.run_id), STR_ARG(id), nth);
    if (key.n <= INTR_KEY_MAX) return key;
    struct sha256 d = sha256_of(key); /* a node id may be longer than a key */
    char hex[65];
    sha256_hex(&d, hex);
    return arena_str(a, str_c(hex));
}

static struct intr_state *intr_add(struct run_state *s) {
    if (s->interrupts.n >= RUN_INTRS_MAX) return NULL;
    if (VEC_ROOM(s->interrupts.v, s->interrupts.n, s->interrupts.cap, 4) != 0) return NULL;
    struct intr_state *i = &s->interrupts.v[s->interrupts.n];
    *i = (struct intr_state){.node = -1};
    return i;
}

int fold_interrupt_requested(struct fold *f) {
    struct str key, kind, payload = f->event->payload, raw = json_get(payload, "timeoutMs");
    struct run_state *s = f->run;
    enum intr_kind k;
    int64_t timeout_ms = 0;
    int rc = fold_string(f, "key", &key);
    if (rc == 0) rc = fold_string(f, "kind", &kind);
    if (rc != 0) return rc;
    if (f->node < 0 || !intr_kind_of(kind, &k))
        return fold_corrupt(f, "an interrupt of no node or of an unknown kind");
    if (raw.n > 0 && (!json_int(raw, &timeout_ms) || timeout_ms < 0))
        return fold_corrupt(f, "a timeout is out of range");
    if (run_state_intr(s, key)) return fold_corrupt(f, "the key was asked before"); /* INT-2 */
    struct intr_state *i = intr_add(s);
    if (!i) return fold_no_memory(f);
    i->node = f->node;
    i->kind = (int)k;
    i->activation = s->nodes[f->node].activation;
    i->requested_seq = f->event->seq;
    i->requested_ms = f->ts_ms;
    i->timeout_ms = timeout_ms;
    if (text_set(&i->key, key) != 0 || run_state_text_set(s, &i->payload, payload) != 0) {
        intr_free(i);
        return fold_no_memory(f);
    }
    s->interrupts.n++;
    s->bytes += sizeof *i;
    return intr_index_extend(s) == 0 ? 0 : fold_no_memory(f);
}

int intr_suspended(struct fold *f) {
    struct intr_state *i = run_state_intr_open(f->run, f->node);
    struct str id;
    if (!i || i->id.n > 0 || json_get(f->event->payload, "interruptId").n == 0) return 0;
    int rc = fold_string(f, "interruptId", &id);
    if (rc != 0) return rc;
    bool ok = text_set(&i->id, id) == 0 && intr_index_named(f->run, i) == 0;
    return ok ? 0 : fold_no_memory(f);
}

int fold_interrupt_resolved(struct fold *f) {
    struct str id, by = STR_NONE, value = fold_clear(f, "resumeValue"), action;
    int rc = fold_string(f, "interruptId", &id);
    if (rc != 0) return rc;
    struct intr_state *i = run_state_intr_by_id(f->run, id);
    if (!i || i->phase != INTR_OPEN) return fold_corrupt(f, "no such interrupt is open");
    if (value.n == 0) value = STR("null");
    if (json_get(f->event->payload, "resolvedBy").n > 0) rc = fold_string(f, "resolvedBy", &by);
    if (rc != 0) return rc;
    struct arena *a = fold_scratch(f);
    if (!a) return fold_no_memory(f);
    action =
        json_type_of(value) == JSON_OBJECT ? json_string(json_get(value, "action"), a) : STR_NONE;
    if (run_state_text_set(f->run, &i->value, value) != 0 || text_set(&i->decided_by, by) != 0 ||
        (action.n > 0 && text_set(&i->action, action) != 0))
        return fold_no_memory(f);
    state_text_clear(f->run, &i->payload);
    votes_clear(f->run, i);
    intr_phase_set(f->run, i, INTR_RESOLVED);
    return 0;
}

/* --- votes and questions --- */

static bool noted_by_resolver(const struct fold *f, struct str channel, const char *prefix) {
    struct str want = str_c(prefix);
    if (f->node < 0 || f->run->nodes[f->node].status != NODE_SUSPENDED) return false;
    return str_starts(channel, want) &&
           str_eq(str_n(channel.p + want.n, channel.n - want.n), f->run->wf->nodes[f->node].id);
}

/* INT-27: an empty list admits anybody. */
static int voter_listed(struct fold *f, const struct intr_state *i, struct str voter, bool *yes) {
    struct str list = json_get(json_get(text_str(&i->payload), "data"), "approversList");
    struct json_elements l = {0};
    struct arena *a = fold_scratch(f);
    int rc = list.n > 0 && a ? json_elements(list, a, &l, NULL) : 0;
    if (!a || rc == WOPR_E_NO_MEMORY) return WOPR_E_NO_MEMORY;
    *yes = l.n == 0;
    for (size_t k = 0; k < l.n && !*yes; k++) *yes = str_eq(json_string(l.v[k], a), voter);
    return arena_failed(a) ? WOPR_E_NO_MEMORY : 0;
}

/* The newest vote of a voter replaces an earlier one (INT-28). */
static int vote_keep(struct run_state *s, struct intr_state *i, struct str voter, bool rejects) {
    uint64_t hash = str_hash(voter, 0);
    for (size_t k = 0; k < i->voters_nr; k++) {
        struct intr_vote *v = &i->voters[k];
        if (v->hash != hash || !str_eq(text_str(&v->voter), voter)) continue;
        v->rejects = rejects;
        return 0;
    }
    if (VEC_ROOM(i->voters, i->voters_nr, i->voters_cap, 4) != 0) return WOPR_E_NO_MEMORY;
    struct intr_vote *v = &i->voters[i->voters_nr];
    *v = (struct intr_vote){.hash = hash, .rejects = rejects};
    if (text_set(&v->voter, voter) != 0) return WOPR_E_NO_MEMORY;
    i->voters_nr++;
    s->bytes += sizeof *v + voter.n;
    return 0;
}

static int vote_count(struct fold *f, struct intr_state *i, struct str value) {
    struct str who = json_get(value, "userId"), action = json_get(value, "action");
    bool rejects = str_eqc(action, "\"reject\""), listed = false;
    struct arena *a = fold_scratch(f);
    if (!a) return WOPR_E_NO_MEMORY;
    if (who.n < 2 || json_type_of(who) != JSON_STRING) return 0;
    if (!rejects && !str_eqc(action, "\"accept\"") && !str_eqc(action, "\"edit-accept\""))
        return 0; /* an edit accepts the rest (NODE-41) */
    struct str voter = json_string(who, a);
    if (!voter.p) return WOPR_E_NO_MEMORY;
    int rc = voter_listed(f, i, voter, &listed);
    return rc == 0 && listed ? vote_keep(f->run, i, voter, rejects) : rc;
}

int intr_noted(struct fold *f, struct str channel, struct str value) {
    bool vote = noted_by_resolver(f, channel, INTR_VOTES_PREFIX);
    bool ask = !vote && noted_by_resolver(f, channel, INTR_ASKS_PREFIX);
    struct intr_state *i = vote || ask ? run_state_intr_open(f->run, f->node) : NULL;
    if (!i) return 0;
    struct intr_notes *n = vote ? &i->votes : &i->asks;
    n->nr++;
    n->bytes += event_bytes(f->event);
    return vote && vote_count(f, i, value) != 0 ? fold_no_memory(f) : 0;
}

enum intr_tally intr_tally(const struct intr_state *i, int64_t *accepts, int64_t *rejects) {
    struct str data = json_get(text_str(&i->payload), "data"),
               policy = json_get(data, "rejectionPolicy");
    int64_t required = 1;
    *accepts = *rejects = 0;
    (void)json_int(json_get(data, "requiredApprovals"), &required);
    for (size_t k = 0; k < i->voters_nr; k++) ++*(i->voters[k].rejects ? rejects : accepts);
    bool majority = str_eqc(policy, "\"majority\"");
    if (*rejects >= (majority ? required / 2 + 1 : 1)) return TALLY_REJECTED;
    return *accepts >= required ? TALLY_ACCEPTED : TALLY_OPEN;
}

void intrs_node_settled(struct run_state *s, int node) {
    struct intr_state *x;
    while (s->interrupts.n > 0 && (x = run_state_intr_open(s, node)) != NULL) {
        intr_phase_set(s, x, INTR_ENDED);
        votes_clear(s, x);
        state_text_clear(s, &x->payload);
    }
}
