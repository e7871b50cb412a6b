/*
 * peers.c: other hosts on the same file (STORE-16, STORE-30 to STORE-36): finds ended leases,
 * requests runs from living holders, transfers runs to others, follows what others commit.
 *
 * A lease ends when its holder releases it, when its process is dead (its lock is free), or when
 * its beat did not change for its ttl on *our* monotonic clock.  Wall clocks decide nothing, so a
 * clock that jumps neither ends a lease nor keeps one for ever.  The claim is conditional on what
 * was seen (run's epoch, holder's beat), and each append on the epoch.
 *
 * A command for a run of a living host: its holder gets a request (store_lease_request), which it
 * finds by polling; it transfers the run at its next event boundary, and the command is executed
 * here.
 */
#include "engine/peers.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "engine/job.h"
#include "engine/task_serve.h"
#include "engine/timers.h"
#include "engine/waits.h"
#include "store/leases.h"
#include "store/peers.h"

#include <time.h>

enum {
    PEERS_BUSY_MS = 20,    /* others are present, and a run or a client here waits */
    PEERS_IDLE_MS = 250,   /* alone, or idle */
    PEERS_LOOK_MS = 250,   /* between two looks at the beats of the others */
    PEERS_SWEEPS_MORE = 3, /* after a requested one, for what a busy file kept from it */
    PEERS_SWEEP_MS = 1000,
    PEERS_UNHEARD = -1, /* in place of a version: changes that could not be read */
    PEERS_MOVES_PAGE = 256,
    PEERS_WANTS_PAGE = 256,
    PEERS_ARENA_MAX = 64 << 20,
    ASK_AGAIN_MS = 500, /* another host's request may have replaced ours */
    ASK_LOOK_MS = 50,
    GIVE_WAIT_MS = 2000,
    GIVE_MAIL_TURNS = 32,
    ASK_MORE_MS = 5000 /* give up: by then a silent holder has lost its runs */
};

struct peer {
    int64_t holder_no, beat, ttl_ms;
    uint64_t seen_ms; /* monotonic: when this beat was first seen */
    bool gone;        /* dead or silent, and a sweep was requested */
    bool holds;       /* unfinished runs, as of the sweep */
    bool buried;
    char name[HOLDER_NAME_MAX + 1];
};
struct peers {
    pthread_mutex_t lock; /* v, n, a; a leaf: nothing else is locked under it */
    struct peer *v;       /* ascending by number, without ourselves */
    size_t n;
    struct arena *a;
    /* engine.mu */
    pthread_cond_t tick;
    bool up, stop, kicked;
    unsigned gives; /* direct transfers on the committer */
    /* the thread's own */
    pthread_t thread;
    struct arena *scratch;
    int64_t own_no, last_move, version;
    uint64_t look_ms, sweep_ms;
    unsigned sweeps_left;
    _Atomic bool alone; /* read by peers_first_run_locked */
};

/* ------------------------------------------------------------------------------ who lives */
static bool peer_silent(const struct peer *p, uint64_t now_ms) {
    return now_ms - p->seen_ms >= (uint64_t)p->ttl_ms;
}

static struct peer *peer_by_no(struct peers *p, int64_t holder_no) {
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].holder_no == holder_no) return &p->v[i];
    return NULL;
}

static struct peer *peer_by_name(struct peers *p, struct str name) {
    for (size_t i = 0; i < p->n; i++)
        if (str_eqc(name, p->v[i].name)) return &p->v[i];
    return NULL;
}

static struct peer peer_of(struct peers *p, const struct holder_row *row, uint64_t now_ms) {
    struct peer fresh = {.holder_no = row->holder_no, .seen_ms = now_ms};
    struct peer *known = peer_by_no(p, row->holder_no);
    if (known) fresh = *known;
    if (fresh.beat != row->beat) {
        fresh.seen_ms = now_ms;
        fresh.gone = false;
    }
    fresh.beat = row->beat;
    fresh.ttl_ms = row->ttl_ms;
    memcpy(fresh.name, row->name.p, row->name.n);
    fresh.name[row->name.n] = '\0';
    return fresh;
}

/* Read the beats of all; under p->lock. */
static int peers_read_locked(struct engine *e, struct wopr_error *err) {
    struct peers *p = e->peers;
    struct holder_row_list rows;
    arena_reset(p->a);
    int rc = store_holders(e->store, p->a, &rows, err);
    if (rc != 0) return rc;
    struct peer *v = mem_array(rows.n > 0 ? rows.n : 1, sizeof *v);
    if (!v) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the list of hosts");
    uint64_t now_ms = clock_mono_ms();
    size_t n = 0;
    for (size_t i = 0; i < rows.n; i++)
        if (!str_eq(rows.v[i].name, e->holder) && rows.v[i].name.n <= HOLDER_NAME_MAX)
            v[n++] = peer_of(p, &rows.v[i], now_ms);
    mem_free(p->v);
    p->v = v;
    p->n = n;
    return 0;
}

/* Mark newly dead or silent ones, whose runs are free. */
static bool peers_note_gone(struct engine *e) {
    struct peers *p = e->peers;
    bool any = false;
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < p->n; i++) {
        struct peer *x = &p->v[i];
        if (x->gone) continue;
        bool dead = store_holder_state(e->store, x->holder_no) == HOLDER_DEAD;
        if (!dead && !peer_silent(x, clock_mono_ms())) continue;
        x->gone = true;
        any = true;
        log_info(dead ? "another host is dead: its runs are taken over"
                      : "another host is silent: its runs are taken over",
                 "host", x->name);
    }
    pthread_mutex_unlock(&p->lock);
    return any;
}

static bool lease_free_locked(struct engine *e, struct str holder, int64_t *beat) {
    struct wopr_error err;
    for (int i = 0; i < 2; i++) { /* read again if unknown or silent */
        const struct peer *x = peer_by_name(e->peers, holder);
        if (x && store_holder_state(e->store, x->holder_no) == HOLDER_DEAD) {
            *beat = LEASE_ANY;
            return true;
        }
        bool quiet = !x || peer_silent(x, clock_mono_ms());
        if (!quiet) return false;
        if (i > 0) {
            *beat = x ? x->beat : LEASE_NO_BEAT; /* not listed: just released */
            return true;
        }
        if (peers_read_locked(e, &err) != 0) return false;
    }
    return false;
}

bool peers_lease_free(struct engine *e, const struct run_head *h, int64_t *beat) {
    *beat = e->cfg.sole_host ? LEASE_ANY : LEASE_NO_BEAT;
    if (e->cfg.sole_host || h->holder.n == 0 || h->lease_until_ms == 0) return true;
    if (str_eq(h->holder, e->holder)) return true;
    pthread_mutex_lock(&e->peers->lock);
    bool is_free = lease_free_locked(e, h->holder, beat);
    pthread_mutex_unlock(&e->peers->lock);
    return is_free;
}

bool peers_holds(struct engine *e, int64_t holder_no) {
    if (e->cfg.sole_host) return false;
    pthread_mutex_lock(&e->peers->lock);
    struct peer *x = peer_by_no(e->peers, holder_no);
    if (x) x->holds = true;
    bool lives = x && !x->gone;
    pthread_mutex_unlock(&e->peers->lock);
    return lives;
}

void peers_sweep_begins(struct engine *e) {
    pthread_mutex_lock(&e->peers->lock);
    for (size_t i = 0; i < e->peers->n; i++) e->peers->v[i].holds = false;
    pthread_mutex_unlock(&e->peers->lock);
}

int64_t peers_next_dead(struct engine *e) {
    int64_t no = 0;
    pthread_mutex_lock(&e->peers->lock);
    for (size_t i = 0; no == 0 && i < e->peers->n; i++) {
        struct peer *x = &e->peers->v[i];
        if (x->holds || x->buried) continue;
        if (store_holder_state(e->store, x->holder_no) != HOLDER_DEAD) continue;
        x->buried = true;
        no = x->holder_no;
    }
    pthread_mutex_unlock(&e->peers->lock);
    return no;
}

/* ------------------------------------------------------------------------------ asking */
static void asked_now(void *ctx, struct store *s) { /* on the committer */
    struct run_exec *re = ctx;
    struct wopr_error err;
    exec_landed(re, store_lease_request(s, re->run_no, re->engine->holder, &err));
}

static bool ask_later(struct run_exec *re) {
    return timer_arm(re, TIMER_ASK, -1, clock_wall_ms() + ASK_LOOK_MS, false) == 0;
}

/* Remember the holder we asked, for the hand-over event. */
static bool holder_remember(struct run_exec *re, const struct run_head *h) {
    if (re->lease.old_holder && re->lease.asked && str_eqc(h->holder, re->lease.old_holder))
        return true;
    char *name = mem_strndup(h->holder.p, h->holder.n);
    if (!name) return false;
    mem_free(re->lease.old_holder);
    re->lease.old_holder = name;
    re->lease.asked = true;
    return true;
}

bool peers_ask(struct step *st, const struct run_head *h) {
    struct run_exec *re = st->exec;
    struct engine *e = st->engine;
    uint64_t now_ms = clock_mono_ms();
    if (re->lease.ask_end_ms == 0)
        re->lease.ask_end_ms = now_ms + (uint64_t)e->cfg.lease_ttl_ms + ASK_MORE_MS;
    if (now_ms >= re->lease.ask_end_ms || !holder_remember(re, h)) return false;
    re->lease.old_epoch = h->epoch;
    if (now_ms < re->lease.ask_ms) return ask_later(re);
    re->lease.ask_ms = now_ms + ASK_AGAIN_MS;
    exec_move(re, EXEC_ASKING);
    exec_launch(re);
    if (journal_side(e->journal, asked_now, re) == 0) return true;
    exec_launch_undo(re);
    exec_move(re, EXEC_LOOKUP);
    return ask_later(re);
}

enum turn peers_ask_landed(struct step *st, int rc) {
    struct run_exec *re = st->exec;
    exec_move(re, EXEC_LOOKUP);
    if (rc == WOPR_E_SYNC_FAILED) engine_break(st->engine, "lease");
    return ask_later(re) ? TURN_END : TURN_GO_ON; /* no memory for the timer: retry at once */
}

void peers_ask_again(struct run_exec *re) {
    if (!ask_later(re)) exec_wake(re);
}

/* ------------------------------------------------------------------------------ giving */
static void give_now(void *ctx, struct store *s) { /* on the committer */
    struct run_exec *re = ctx;
    struct wopr_error err;
    exec_landed(re, store_lease_transfer(s, re->run_no, re->engine->holder, re->lease.epoch, &err));
}

/* Giving the run away would lose the answer to a request in flight, and the request would be sent
 * twice: worth a short wait. */
static bool give_waits(struct run_exec *re) {
    uint64_t now_ms = clock_mono_ms();
    if (re->lease.requested_ms == 0) re->lease.requested_ms = now_ms;
    return re->phase == EXEC_LIVE && (re->requests.has_answers || waits_under_way(re)) &&
           now_ms < re->lease.requested_ms + GIVE_WAIT_MS;
}

enum turn peers_give(struct step *st) {
    struct run_exec *re = st->exec;
    if (re->phase != EXEC_LIVE && re->phase != EXEC_LOADING) return TURN_GO_ON;
    /* Its own commands first, but not for ever: those that are left ask for it in turn. */
    if (re->mail.any && re->lease.requested_nr++ < GIVE_MAIL_TURNS) return TURN_GO_ON;
    if (give_waits(re)) return TURN_GO_ON; /* the other host asks again, which wakes the run */
    enum exec_phase before = re->phase;
    if (before == EXEC_LOADING) exec_forget_state(re); /* folded in part */
    exec_move(re, EXEC_GIVING);
    exec_launch(re);
    if (journal_side(st->engine->journal, give_now, re) == 0) return TURN_END;
    exec_launch_undo(re);
    exec_move(re, before);
    return TURN_GO_ON;
}

enum turn peers_give_landed(struct step *st, int rc) {
    struct run_exec *re = st->exec;
    re->lease.requested = false;
    re->lease.requested_ms = 0;
    re->lease.requested_nr = 0;
    if (rc == WOPR_E_SYNC_FAILED) engine_break(st->engine, "lease");
    if (rc == 0 || rc == WOPR_E_FENCED || rc == WOPR_E_RUN_TERMINAL || rc == WOPR_E_CORRUPT)
        return TURN_DROP;
    exec_move(re, re->state ? EXEC_LIVE
                            : EXEC_LOADING); /* the request is gone, or the transfer failed */
    return TURN_GO_ON;
}

static void give_direct_count(struct engine *e, int n) {
    pthread_mutex_lock(&e->mu);
    e->peers->gives += (unsigned)n;
    pthread_mutex_unlock(&e->mu);
}

/* Transfer a run of ours that is not in memory. */
static void give_direct_now(struct engine *e, struct store *s, void *args) {
    const int64_t *run_no = args;
    struct wopr_error err;
    int rc = store_lease_transfer(s, *run_no, e->holder, LEASE_ANY, &err);
    if (rc == WOPR_E_SYNC_FAILED) engine_break(e, "lease");
    give_direct_count(e, -1);
}

static void give_direct(struct engine *e, int64_t run_no) {
    give_direct_count(e, 1);
    if (!job_post(e, give_direct_now, &run_no, sizeof run_no))
        give_direct_count(e, -1); /* its host will ask again soon */
}

static void requests_poll(struct engine *e) {
    struct wopr_error err;
    struct lease_request_list l;
    arena_reset(e->peers->scratch);
    if (store_lease_requests(e->store, e->holder, PEERS_WANTS_PAGE, e->peers->scratch, &l, &err) !=
        0)
        return;
    for (size_t i = 0; i < l.n; i++) {
        pthread_mutex_lock(&e->mu);
        struct run_exec *re = map_get(e->runs.by_id, l.v[i].run_id);
        bool direct = !re && e->peers->gives == 0 && !e->life.stopping;
        if (re) {
            re->lease.requested = true;
            exec_wake_locked(re);
        }
        pthread_mutex_unlock(&e->mu);
        if (direct) give_direct(e, l.v[i].run_no);
    }
}

/* ------------------------------------------------------------------------------ still ours? */
enum turn peers_check(struct step *st) {
    struct run_exec *re = st->exec;
    struct run_origin o;
    struct wopr_error err;
    re->lease.suspect = false;
    if (re->phase != EXEC_LIVE) return TURN_GO_ON;
    int rc = store_run_origin(st->engine->store, re->run_no, st->scratch, &o, &err);
    if (rc == 0 && o.head.epoch == re->lease.epoch) return TURN_GO_ON;
    if (rc == 0 || rc == WOPR_E_NOT_FOUND) return TURN_DROP; /* STORE-33: silently */
    re->lease.suspect = true;
    return TURN_LATER; /* the fold checks the epoch, too */
}

void peers_suspect_locked(struct engine *e) {
    struct str key;
    void *value;
    size_t it = 0;
    while (map_next(e->runs.by_id, &it, &key, &value)) {
        struct run_exec *re = value;
        re->lease.suspect = true;
        exec_wake_locked(re);
    }
}

/* ------------------------------------------------------------------------------ hearing */
static void sweep_call(struct engine *e) {
    pthread_mutex_lock(&e->mu);
    e->upkeep.sweep_now = true;
    pthread_cond_signal(&e->tick);
    pthread_mutex_unlock(&e->mu);
}

/* true: a run was transferred to us that no command here waits for. */
static bool change_take(struct engine *e, const struct moved_run *m) {
    pthread_mutex_lock(&e->mu);
    struct run_exec *re = map_get(e->runs.by_no, str_n((const char *)&m->run_no, sizeof m->run_no));
    if (re && m->next_seq != MOVED_TASKS) {
        re->lease.suspect = true;
        exec_wake_locked(re);
    }
    exec_awaited_moved_locked(e, m->run_no);
    pthread_mutex_unlock(&e->mu);
    if (m->next_seq >= 0) journal_foreign(e->journal, m->run_no, m->next_seq);
    return !re && m->next_seq == MOVED_GIVEN;
}

static bool changes_take(struct engine *e, const struct move_row_list *l) {
    struct peers *p = e->peers;
    bool sweep = false, waited = tasks_wanted(e);
    for (size_t i = 0; i < l->n; i++) {
        const struct move_row *m = &l->v[i];
        if (m->move_no != p->last_move + 1) { /* rows were pruned before we read them */
            journal_foreign_all(e->journal);
            pthread_mutex_lock(&e->mu);
            exec_awaited_moved_locked(e, 0);
            pthread_mutex_unlock(&e->mu);
            sweep = true;
        }
        p->last_move = m->move_no;
        if (m->holder_no == p->own_no) continue;
        if (m->runs_nr == 0) sweep = true; /* all its leases were released */
        for (size_t k = 0; k < m->runs_nr; k++) {
            if (change_take(e, &m->runs[k])) sweep = true;
            if (waited) tasks_foreign(e, m->runs[k].run_no, p->scratch);
        }
    }
    return sweep;
}

static bool changes_poll(struct engine *e) {
    struct peers *p = e->peers;
    struct move_row_list l = {NULL, 0};
    struct wopr_error err;
    bool sweep = false;
    do {
        arena_reset(p->scratch);
        int rc = store_moves(e->store, p->last_move, PEERS_MOVES_PAGE, p->scratch, &l, &err);
        if (rc != 0) {
            p->version = PEERS_UNHEARD; /* read again at the next look */
            return sweep;
        }
        sweep = changes_take(e, &l) || sweep;
    } while (l.n == PEERS_MOVES_PAGE);
    return sweep;
}

static bool look_at_hosts(struct engine *e, uint64_t now_ms, bool *sweep) {
    struct wopr_error err;
    e->peers->look_ms = now_ms + PEERS_LOOK_MS;
    pthread_mutex_lock(&e->peers->lock);
    int rc = peers_read_locked(e, &err);
    pthread_mutex_unlock(&e->peers->lock);
    if (rc == 0) *sweep = peers_note_gone(e);
    return rc == 0;
}

/* A sweep skips what it cannot read or claim at the moment, and the regular one is far away: repeat
 * it a few times. */
static void sweeps_follow(struct engine *e, bool called, uint64_t now_ms) {
    struct peers *p = e->peers;
    if (called) {
        sweep_call(e);
        p->sweeps_left = PEERS_SWEEPS_MORE;
        p->sweep_ms = now_ms + PEERS_SWEEP_MS;
    } else if (p->sweeps_left > 0 && now_ms >= p->sweep_ms) {
        sweep_call(e);
        p->sweeps_left--;
        p->sweep_ms = now_ms + PEERS_SWEEP_MS;
    }
}

/* One look around; the time until the next. */
static unsigned look_around(struct engine *e) {
    struct peers *p = e->peers;
    struct wopr_error err;
    uint64_t now_ms = clock_mono_ms();
    bool was_alone = p->alone, sweep = false;
    int64_t version = 0;
    p->alone = !store_has_peers(e->store);
    if (p->alone && was_alone) {
        sweeps_follow(e, false, now_ms);
        return PEERS_IDLE_MS;
    }
    if ((p->alone != was_alone || now_ms >= p->look_ms) && !look_at_hosts(e, now_ms, &sweep))
        p->alone = was_alone; /* not seen: look again */
    if (store_data_version(e->store, &version, &err) != 0) p->version = PEERS_UNHEARD;
    else if (version != p->version) {
        p->version = version;
        if (changes_poll(e)) {
            /* The sweep uses the list of holders, which must not be older than the move. */
            (void)look_at_hosts(e, now_ms, &sweep);
            sweep = true;
        }
        requests_poll(e);
    }
    /* Keep reading until the last changes of a departed host are known. */
    if (p->version == PEERS_UNHEARD) p->alone = false;
    sweeps_follow(e, sweep, now_ms);
    pthread_mutex_lock(&e->mu);
    bool busy = e->runs.active_nr > 0;
    pthread_mutex_unlock(&e->mu);
    return busy || journal_has_listeners(e->journal) ? PEERS_BUSY_MS : PEERS_IDLE_MS;
}

static void *peers_main(void *arg) {
    thread_name("wopr-peers");
    struct engine *e = arg;
    struct peers *p = e->peers;
    pthread_mutex_lock(&e->mu);
    while (!p->stop) {
        pthread_mutex_unlock(&e->mu);
        uint64_t at_ms = clock_mono_ms() + look_around(e);
        pthread_mutex_lock(&e->mu);
        struct timespec at = {.tv_sec = (time_t)(at_ms / 1000),
                              .tv_nsec = (long)(at_ms % 1000) * 1000000};
        while (!p->stop && !p->kicked && pthread_cond_timedwait(&p->tick, &e->mu, &at) == 0) {
        }
        p->kicked = false;
    }
    pthread_mutex_unlock(&e->mu);
    return NULL;
}

void peers_kick_locked(struct engine *e) {
    e->peers->kicked = true;
    pthread_cond_signal(&e->peers->tick);
}

static void peers_first_run_locked(struct engine *e) {
    if (!e->peers->alone) peers_kick_locked(e);
}

static void peers_kick(void *ctx) {
    struct engine *e = ctx;
    pthread_mutex_lock(&e->mu);
    peers_kick_locked(e);
    pthread_mutex_unlock(&e->mu);
}

/* ------------------------------------------------------------------------------ life */
int peers_new(struct engine *e, struct wopr_error *err) {
    struct peers *p = MEM_NEW(struct peers);
    if (!p || clock_cond_init(&p->tick) != 0) {
        mem_free(p);
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the list of hosts");
    }
    (void)pthread_mutex_init(&p->lock, NULL);
    e->peers = p;
    e->on_first_run_locked = peers_first_run_locked;
    p->alone = true;
    p->version = PEERS_UNHEARD;
    p->a = arena_new(PEERS_ARENA_MAX);
    p->scratch = arena_new(PEERS_ARENA_MAX);
    if (p->a && p->scratch) return 0;
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the list of hosts");
}

int peers_join(struct engine *e, struct wopr_error *err) {
    struct peers *p = e->peers;
    int64_t ttl_ms = e->cfg.lease_ttl_ms;
    if (e->cfg.sole_host) return 0;
    /* Until the first look: a host that leaves before that may leave runs behind. */
    p->alone = false;
    int rc = store_join(e->store, e->holder, ttl_ms, clock_wall_ms() + ttl_ms, &p->own_no,
                        &p->last_move, err);
    if (rc != 0) return rc;
    pthread_mutex_lock(&p->lock);
    rc = peers_read_locked(e, err); /* silence counts from here */
    pthread_mutex_unlock(&p->lock);
    if (rc == 0) (void)peers_note_gone(e); /* the first sweep runs anyway */
    return rc;
}

int peers_start(struct engine *e, struct wopr_error *err) {
    if (e->cfg.sole_host) return 0;
    if (pthread_create(&e->peers->thread, NULL, peers_main, e) != 0)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "cannot start the thread for other hosts");
    e->peers->up = true;
    journal_on_listener(e->journal, peers_kick, e);
    return 0;
}

void peers_stop(struct engine *e) {
    struct peers *p = e->peers;
    if (!p->up) return;
    journal_on_listener(e->journal, NULL, NULL);
    pthread_mutex_lock(&e->mu);
    p->stop = true;
    pthread_cond_signal(&p->tick);
    pthread_mutex_unlock(&e->mu);
    (void)pthread_join(p->thread, NULL);
    p->up = false;
}

void peers_free(struct engine *e) {
    struct peers *p = e->peers;
    if (!p) return;
    ASSERT(!p->up);
    mem_free(p->v);
    arena_free(p->a);
    arena_free(p->scratch);
    (void)pthread_cond_destroy(&p->tick);
    (void)pthread_mutex_destroy(&p->lock);
    mem_free(p);
    e->peers = NULL;
}
