/* lease_model.c: see lease_model.h. */
#include "model/lease_model.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

enum { HOSTS = 3, NOBODY = 0, GONE = 7 /* a name nobody alive has */ };
enum { EV_START = 1, EV_NODE = 2, EV_END = 4, EV_CMD = 8 }; /* what the log holds */
enum phase { IDLE, CLAIMING, LOADING, LIVE, COMMITTING, GIVING, ASKING };

struct host {
    uint8_t up, phase;
    uint8_t mail;                    /* the command waits here */
    uint8_t seen_epoch, seen_silent; /* CLAIMING: on what the claim relies */
    uint8_t epoch, seq, has;         /* LOADING..: run_exec.epoch, folded log */
    uint8_t base, adds, with_cmd;    /* COMMITTING: the plan */
};
struct state {
    /* the file */
    uint8_t holder, epoch, next_seq, has, idem, want;
    /* what must not be: counted by the checker */
    uint8_t cmds, answers_early, bad_epoch, bad_log;
    uint8_t crashes, sends;
    struct host h[HOSTS];
};

struct checker {
    const struct model_config *cfg;
    struct state *v;
    uint32_t *from, *slot; /* predecessor; hash table of index + 1 */
    const char **rule;
    uint32_t (*edges)[2];
    size_t n, cap, slots, edges_nr, edges_cap;
};

static bool off(const struct checker *c, unsigned guard) { return (c->cfg->without & guard) != 0; }

/* ------------------------------------------------------------------------------ the visited set */
static void grow(struct checker *c) {
    c->cap = c->cap ? c->cap * 2 : 1 << 14;
    c->v = mem_realloc(c->v, c->cap * sizeof *c->v);
    c->from = mem_realloc(c->from, c->cap * sizeof *c->from);
    c->rule = mem_realloc(c->rule, c->cap * sizeof *c->rule);
    mem_free(c->slot);
    c->slots = c->cap * 2;
    c->slot = mem_zalloc(c->slots * sizeof *c->slot);
    ASSERT(c->v && c->from && c->rule && c->slot);
    for (size_t i = 0; i < c->n; i++) {
        size_t at = str_hash(str_n((const char *)&c->v[i], sizeof c->v[i]), 1) % c->slots;
        while (c->slot[at] != 0) at = (at + 1) % c->slots;
        c->slot[at] = (uint32_t)i + 1;
    }
}

static void edge(struct checker *c, size_t from, size_t to) {
    if (c->edges_nr == c->edges_cap) {
        c->edges_cap = c->edges_cap ? c->edges_cap * 2 : 1 << 16;
        c->edges = mem_realloc(c->edges, c->edges_cap * sizeof *c->edges);
        ASSERT(c->edges);
    }
    c->edges[c->edges_nr][0] = (uint32_t)from;
    c->edges[c->edges_nr++][1] = (uint32_t)to;
}

static void visit(struct checker *c, const struct state *s, size_t from, const char *rule) {
    if (c->n + 1 > c->cap / 2) grow(c);
    size_t at = str_hash(str_n((const char *)s, sizeof *s), 1) % c->slots;
    for (; c->slot[at] != 0; at = (at + 1) % c->slots) {
        if (memcmp(&c->v[c->slot[at] - 1], s, sizeof *s) != 0) continue;
        edge(c, from, c->slot[at] - 1);
        return;
    }
    c->slot[at] = (uint32_t)c->n + 1;
    c->v[c->n] = *s;
    c->from[c->n] = (uint32_t)from;
    c->rule[c->n] = rule;
    edge(c, from, c->n++);
}

/* ------------------------------------------------------------------------------ rules of a host */
static void forget(struct host *h) { /* exec_forget_state, step_drop; mail stays */
    *h = (struct host){.up = h->up, .mail = h->mail};
}

static void answer(struct state *s, struct host *h) { /* cmd_answer: the client has it */
    if (!s->idem) s->answers_early = 1;
    h->mail = 0;
}

/* load_lookup + peers_lease_free: head read, and the holder judged.  Or without a claim: asking. */
static void rule_look(struct checker *c, size_t i, unsigned me) {
    struct state s = c->v[i];
    struct host *h = &s.h[me - 1];
    if (h->phase != IDLE) return;
    if (h->mail && (s.has & EV_END)) { /* answered(): no effect; the answer goes under the key */
        s.idem = 1;
        answer(&s, h);
        visit(c, &s, i, "settle");
        return;
    }
    if ((s.has & EV_END) || s.epoch >= c->cfg->epochs) return;
    bool sure = s.holder == NOBODY || s.holder == me;
    bool dead = s.holder == GONE && !off(c, NO_RELEASE_BY_DEATH);
    h->phase = CLAIMING;
    h->seen_epoch = s.epoch;
    h->seen_silent = dead;
    if (sure || dead) visit(c, &s, i, "look");
    else if (!off(c, NO_RELEASE_BY_DEATH)) { /* the sweep, or a command, found it silent */
        h->seen_silent = 1;
        visit(c, &s, i, "look-silent");
    }
    if (sure || dead || !h->mail) return;
    s = c->v[i];
    s.h[me - 1].phase = ASKING; /* peers_ask */
    visit(c, &s, i, "ask");
}

/* store_lease_claim; holder_beat clears seen_silent of whoever looked at it. */
static void rule_claim(struct checker *c, size_t i, unsigned me) {
    struct state s = c->v[i];
    struct host *h = &s.h[me - 1];
    if (h->phase != CLAIMING) return;
    bool mine = s.holder == NOBODY || s.holder == me;
    bool ok = h->seen_epoch == s.epoch && (mine || h->seen_silent);
    uint8_t was = h->mail;
    forget(h);
    h->mail = was;
    if ((ok || off(c, NO_GUARD_IN_CLAIM)) && !(s.has & EV_END)) {
        s.holder = (uint8_t)me;
        if (!off(c, NO_RAISE_IN_CLAIM)) s.epoch++;
        h->epoch = s.epoch;
        h->phase = LOADING;
        if (s.want == me) s.want = 0;
    }
    visit(c, &s, i, "claim");
}

static void rule_beat(struct checker *c, size_t i, unsigned me) { /* store_lease_renew */
    struct state s = c->v[i];
    if (s.holder != me) return;
    bool any = false;
    for (unsigned k = 0; k < c->cfg->hosts; k++) {
        any = any || (k + 1 != me && s.h[k].seen_silent);
        if (k + 1 != me) s.h[k].seen_silent = 0;
    }
    if (any) visit(c, &s, i, "beat");
}

static void rule_load(struct checker *c, size_t i, unsigned me) { /* load_fold */
    struct state s = c->v[i];
    struct host *h = &s.h[me - 1];
    if (h->phase != LOADING) return;
    if (s.epoch != h->epoch || (s.has & EV_END)) forget(h);
    else {
        h->phase = LIVE;
        h->seq = s.next_seq;
        h->has = s.has;
    }
    visit(c, &s, i, "load");
}

/* step_run, step_send: commands first, then one event of the run's own. */
static void rule_step(struct checker *c, size_t i, unsigned me) {
    struct state s = c->v[i];
    struct host *h = &s.h[me - 1];
    if (h->phase != LIVE) return;
    h->with_cmd = h->mail;
    h->adds = h->mail                ? EV_CMD
              : !(h->has & EV_START) ? EV_START
              : !(h->has & EV_NODE)  ? EV_NODE
                                     : EV_END;
    h->base = h->seq;
    h->phase = COMMITTING;
    if (h->with_cmd && off(c, ANSWER_BEFORE_COMMIT)) answer(&s, h);
    visit(c, &s, i, "step");
}

static void append(struct checker *c, struct state *s,
                   unsigned me) { /* the writes of store_apply */
    const struct host *h = &s->h[me - 1];
    (void)c;
    if (h->epoch != s->epoch || s->holder != me) s->bad_epoch = 1;
    bool twice = h->adds != EV_CMD && (s->has & h->adds) != 0;
    if (h->base != s->next_seq || (s->has & EV_END) || twice) s->bad_log = 1;
    s->has |= h->adds;
    s->next_seq++;
    if (h->adds == EV_CMD) {
        s->cmds++;
        s->idem = 1;
    }
}

/* plan_write, then step_landed or step_failed. */
static void rule_commit(struct checker *c, size_t i, unsigned me) {
    struct state s = c->v[i];
    struct host *h = &s.h[me - 1];
    if (h->phase != COMMITTING) return;
    bool hit = h->with_cmd && s.idem && !off(c, NO_IDEM_IN_APPEND);
    bool fenced = h->epoch != s.epoch && !off(c, NO_EPOCH_IN_APPEND);
    bool stale = h->base != s.next_seq && !off(c, NO_SEQ_IN_APPEND);
    bool ended = (s.has & EV_END) && !off(c, NO_STATUS_IN_APPEND);
    if (hit) { /* nothing is written: the stored answer, and fold again */
        answer(&s, h);
        h->phase = LOADING;
    } else if (ended || fenced) { /* STORE-33: silently; the command stays in the mailbox */
        forget(h);
    } else if (stale) {
        h->phase = LOADING;
    } else {
        append(c, &s, me);
        h->seq++;
        h->has |= h->adds;
        if (h->with_cmd && h->mail) answer(&s, h);
        h->phase = LIVE;
        if (h->adds == EV_END) forget(h);
    }
    if (h->phase == LOADING || h->phase == LIVE) h->base = h->adds = h->with_cmd = 0;
    if (h->phase == LOADING) h->seq = h->has = 0;
    visit(c, &s, i, "commit");
}

static void rule_ask(struct checker *c, size_t i, unsigned me) { /* store_lease_request */
    struct state s = c->v[i];
    if (s.h[me - 1].phase != ASKING) return;
    s.want = (uint8_t)me;
    s.h[me - 1].phase = IDLE;
    visit(c, &s, i, "want");
}

/* peers_give, and give_direct for a run that is not in memory. */
static void rule_give(struct checker *c, size_t i, unsigned me) {
    struct state s = c->v[i];
    struct host *h = &s.h[me - 1];
    bool direct = h->phase == IDLE && s.holder == me;
    bool live = (h->phase == LIVE || h->phase == LOADING) && !h->mail;
    if (h->phase == GIVING || direct) { /* store_lease_transfer */
        bool alive = s.want != NOBODY && s.want != me && s.h[s.want - 1].up;
        bool ok = s.holder == me && (direct || h->epoch == s.epoch) && !(s.has & EV_END);
        if (direct && (s.want == NOBODY || s.want == me)) return;
        if (s.epoch >= c->cfg->epochs) ok = false;
        if (!alive) {
            s.want = NOBODY;
            if (!direct) h->phase = LOADING;
        } else {
            if (ok) {
                s.holder = s.want;
                s.epoch++;
                s.want = NOBODY;
            }
            forget(h);
        }
        if (h->phase == LOADING) h->seq = h->has = 0;
        visit(c, &s, i, "give");
    } else if (live && s.want != NOBODY && s.want != me) {
        h->phase = GIVING;
        visit(c, &s, i, "giving");
    }
}

static void rule_check(struct checker *c, size_t i, unsigned me) { /* peers_check */
    struct state s = c->v[i];
    struct host *h = &s.h[me - 1];
    if (h->phase != LIVE || h->epoch == s.epoch) return;
    forget(h);
    visit(c, &s, i, "check");
}

/* SIGKILL, and SIGTERM (store_lease_release between two steps); back under another name. */
static void rule_die(struct checker *c, size_t i, unsigned me) {
    struct state s = c->v[i];
    struct host *h = &s.h[me - 1];
    if (!h->up) {
        h->up = 1;
        visit(c, &s, i, "start");
        return;
    }
    if (s.crashes == 0) return;
    bool calm = h->phase == IDLE || h->phase == LIVE || h->phase == LOADING;
    s.crashes--;
    if (s.want == me) s.want = NOBODY; /* its wish is ignored from now on */
    *h = (struct host){0};
    bool held = s.holder == me;
    if (held) s.holder = GONE;
    visit(c, &s, i, "kill");
    if (!calm || !held) return;
    s.holder = NOBODY;
    visit(c, &s, i, "stop");
}

static void rule_send(struct checker *c, size_t i, unsigned me) { /* the client, once more */
    struct state s = c->v[i];
    if (s.sends == 0 || !s.h[me - 1].up || s.h[me - 1].mail) return;
    if (s.h[me - 1].phase == COMMITTING || s.h[me - 1].phase == GIVING) return;
    s.sends--;
    s.h[me - 1].mail = 1;
    visit(c, &s, i, "send");
}

static void rules(struct checker *c, size_t i) {
    for (unsigned me = 1; me <= c->cfg->hosts; me++) {
        bool up = c->v[i].h[me - 1].up;
        rule_die(c, i, me);
        if (!up) continue;
        rule_send(c, i, me);
        rule_look(c, i, me);
        rule_claim(c, i, me);
        rule_beat(c, i, me);
        rule_load(c, i, me);
        rule_step(c, i, me);
        rule_commit(c, i, me);
        rule_ask(c, i, me);
        rule_give(c, i, me);
        rule_check(c, i, me);
    }
}

/* ------------------------------------------------------------------------------ the walk */
static const char *broken(const struct checker *c, const struct state *s) {
    if (s->bad_epoch && !c->cfg->blind_to_epochs)
        return "E: an append with an old epoch, or not by the holder";
    if (s->bad_log) return "S, T, N: a sequence, a node or the end twice, or after the end";
    if (s->cmds > 1) return "C: the command had two effects";
    if (s->answers_early) return "C: answered before the effect was durable";
    return NULL;
}

/* L: mark backwards from all ends.  Near the bound on epochs a state may be stuck by the bound. */
static const char *stuck(struct checker *c, size_t *where) {
    uint8_t *ends = mem_zalloc(c->n);
    ASSERT(ends);
    for (size_t i = 0; i < c->n; i++) ends[i] = (c->v[i].has & EV_END) != 0;
    for (bool more = true; more;) {
        more = false;
        for (size_t k = c->edges_nr; k-- > 0;)
            if (!ends[c->edges[k][0]] && ends[c->edges[k][1]]) ends[c->edges[k][0]] = more = true;
    }
    const char *what = NULL;
    for (size_t i = 0; !what && i < c->n; i++)
        if (!ends[i] && c->v[i].epoch + 4u <= c->cfg->epochs) {
            what = "L: the end of the run cannot be reached any more";
            *where = i;
        }
    mem_free(ends);
    return what;
}

static void tell(const struct checker *c, size_t i, struct model_result *out) {
    const char *words[256];
    size_t n = 0, at = 0;
    for (; i != 0 && n < 256; i = c->from[i]) words[n++] = c->rule[i];
    out->steps_to_it = n;
    while (n-- > 0 && at + 32 < sizeof out->story)
        at += (size_t)snprintf(out->story + at, sizeof out->story - at, "%s ", words[n]);
}

void model_check(const struct model_config *cfg, struct model_result *out) {
    struct checker c = {.cfg = cfg};
    struct state first = {.crashes = (uint8_t)cfg->crashes, .sends = (uint8_t)cfg->sends};
    size_t where = 0;
    for (unsigned k = 0; k < cfg->hosts; k++) first.h[k].up = 1;
    *out = (struct model_result){0};
    first.holder = 1; /* submit_create: the run is born with its first holder */
    first.epoch = 1;
    first.h[0].epoch = 1;
    first.h[0].phase = LIVE;
    visit(&c, &first, 0, "create");
    for (size_t i = 0; i < c.n && !out->broken; i++) {
        out->broken = broken(&c, &c.v[i]);
        where = i;
        if (!out->broken) rules(&c, i);
    }
    if (!out->broken) out->broken = stuck(&c, &where);
    out->states = c.n;
    if (out->broken) tell(&c, where, out);
    mem_free(c.v);
    mem_free(c.from);
    mem_free(c.rule);
    mem_free(c.slot);
    mem_free(c.edges);
}
