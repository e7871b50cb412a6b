/*
 * journal_int.h: inside of journal/. Not for other layers.
 *
 * A commit travels: queue -> committer (store_apply) -> inbox -> hub thread -> topic -> readers. A
 * topic exists while a run has readers or waiters. Its ring holds the commits that some reader has
 * still to take; a reader is a position in the ring plus a sequence number, and the sequence
 * decides: whatever the ring does not offer in order is read from the store. Locks, in the order
 * they may be taken: map_lock, topic.lock; queue and inbox locks are leaves.
 */
#ifndef WOPR_JOURNAL_INT_H
#define WOPR_JOURNAL_INT_H

#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "journal/journal.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    JOURNAL_QUEUE_DEFAULT = 8192,
    JOURNAL_BATCH_DEFAULT = 512,
    JOURNAL_BATCH_MAX = 8192,
    JOURNAL_QUEUE_BYTES_DEFAULT = 64 << 20,
    JOURNAL_SHARE_SLOTS = 256,         /* power of two; tenants that meet in one share a share */
    JOURNAL_BATCH_BYTES_MAX = 8 << 20, /* plan bytes per transaction: what others wait for */
    JOURNAL_TOPIC_BYTES_DEFAULT = 4 << 20, /* SSE-25 */
    JOURNAL_PLAN_BYTES_MIN = 4096, /* what a plan costs at least: the first block of its arena */
    JOURNAL_PRESENCE_SLOTS = 4096, /* power of two */
    JOURNAL_WAKES_PER_LOCK = 64,
    JOURNAL_PAGE_EVENTS = 256,
    JOURNAL_PAGE_BYTES = 256 << 10,
    JOURNAL_PAGE_ARENA_MAX = 16 << 20,
    JOURNAL_FRAMES_BYTES_MAX = 64 << 20 /* rendered bytes of one plan or page */
};

/* Rendered bytes of consecutive events for one view. */
struct frames {
    char *p; /* owned, may be NULL when n == 0 */
    size_t n;
    size_t admitted; /* events with bytes */
    uint32_t ends[]; /* per event */
};
/* NULL when memory is short or the result too big. */
struct frames *frames_render(const struct journal_view *v, struct str run_id, const struct event *e,
                             size_t n);
void frames_free(struct frames *f); /* takes NULL */

/* A committed plan on its way to readers.  Holds one reference on the plan and owns its frames: one
 * block for each view that was registered when it was made, rendered when first asked for. */
struct commit {
    struct commit *next; /* in the inbox */
    struct plan *plan;
    atomic_int refs;
    int64_t run_no, first, last;
    size_t bytes;
    uint64_t made_ns; /* monotonic */
    size_t untaken;   /* live readers that have still to take it; under topic.lock */
    unsigned views_nr;
    struct frames *_Atomic frames[]; /* by journal_view.id */
};
/* Takes a reference on p; NULL when memory is short. */
struct commit *commit_new(struct plan *p, unsigned views_nr);
void commit_ref(struct commit *c);
void commit_unref(struct commit *c);
/* The shared frames of a view, id below c->views_nr, rendered by the reader that asks first (any
 * thread).  NULL when memory is short. */
const struct frames *commit_frames(struct commit *c, const struct journal_view *v,
                                   struct str run_id);

/* A reader or waiter to wake: armed, waiting or waking in its topic, under topic.lock. */
struct sleeper {
    struct list link;
    void (*wake)(void *ctx);
    void *ctx;
    int64_t after_seq; /* waiters */
    bool in_wake;      /* the hub thread is calling wake */
};

struct topic {
    struct journal *journal;
    int64_t run_no;
    unsigned refs;    /* under map_lock */
    struct list work; /* hub thread only: topics to wake in this round */
    bool in_work;     /* hub thread only */
    pthread_mutex_t lock;
    pthread_cond_t woken; /* some in_wake became false */
    struct commit **ring; /* positions head..tail-1, at position % cap */
    size_t cap;
    uint64_t head, tail;
    size_t bytes, live; /* held by the ring; readers that take from it */
    uint64_t lost;      /* counts commits that could not be put into the ring */
    struct list armed, waiting, waking;
    struct list poke; /* in hub.in_pokes, under in_lock */
    bool poked;
    char *run_id; /* set by the first who knows it, under map_lock; then constant */
    size_t run_id_n;
};

struct hub {
    atomic_uint
        present[JOURNAL_PRESENCE_SLOTS]; /* topics per hash of run_no: who listens at all? */
    atomic_bool closing;
    pthread_mutex_t in_lock;
    pthread_cond_t in_ready;
    struct commit *in_first, *in_last;
    struct list in_pokes; /* topics with sleepers to wake at once */
    bool in_lost;         /* no memory to announce a commit: all readers look into the store */
    bool in_stop;
    pthread_mutex_t map_lock;
    struct map *topics;
    void (*on_first)(void *ctx); /* under map_lock; see journal_on_listener */
    void *on_first_ctx;
    pthread_t thread;
    atomic_ullong readers, lagged, behind, backlog_bytes, wakes;
    struct metric_hist delivery_ns;
    struct log_gate lag_gate;
};

struct counters { /* of the committer */
    atomic_ullong commits, plans, queue_refused, slow;
    atomic_ullong events[EV_NR]; /* by type */
    atomic_ullong refused[WOPR_ERR_NR];
    struct metric_hist commit_ns, batch_plans;
    atomic_uint_fast64_t failing, failed_ms; /* see journal_stats */
    struct log_gate slow_gate, checkpoint_gate, full_gate, failed_gate;
};

enum copier_state {
    COPIER_IDLE,
    COPIER_COPYING, /* its thread is in store_checkpoint_beside */
    COPIER_COPIED   /* the committer copies what is left */
};
struct copier {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    enum copier_state state; /* (lock) */
    bool stop;               /* (lock) */
};

struct entry { /* of the queue: a plan, or a side job */
    struct plan *plan;
    journal_done_fn *done;
    journal_result_fn *landed; /* with owner, instead of done */
    void *owner;
    void (*side)(void *ctx, struct store *s);
    void *ctx;
    size_t bytes;        /* of the plan, and of what it copies */
    unsigned passed;     /* batches that went before it, though it came first */
    struct share *share; /* NULL: of no tenant */
};
struct share { /* of the queue */
    size_t nr, bytes;
};
struct journal {
    struct store *store;
    struct journal_config cfg;
    atomic_uint views_nr; /* registered */
    pthread_mutex_t q_lock;
    pthread_cond_t q_ready;
    struct entry *ring;
    size_t q_head, q_len, q_len_max, q_bytes;
    struct share shares[JOURNAL_SHARE_SLOTS];
    bool stopping, started, stopped, q_asleep; /* q_asleep: the committer waits for q_ready */
    pthread_t committer;
    struct entry *batch; /* committer only, batch_max each */
    struct plan **plans;
    int *rcs;
    struct journal_result *landed;
    journal_seen_fn *seen; /* with seen_ctx; see journal_on_commit */
    void *seen_ctx;
    struct counters counters;
    struct copier copier;
    struct hub hub;
};

/* --- queue.c: what waits for the committer --- */
MUST_CHECK int queue_push(struct journal *j, struct entry *e); /* 0, CLOSED, or UNAVAILABLE: full */
/* Wait, then move a number of plans, or one side job, into batch.  0: stopping, nothing is left. */
size_t queue_take(struct journal *j);

/* --- copier.c: checkpoints beside the commits --- */
void copier_init(struct journal *j);
void copier_fini(struct journal *j);
MUST_CHECK int copier_start(struct journal *j, struct wopr_error *err);
void copier_stop(struct journal *j);
void copier_turn(struct journal *j); /* the committer, after a batch's answers */

/* --- stats.c --- */
/* After a commit: the plans and what became of each. */
void count_batch(struct journal *j, struct plan *const *v, const int *rcs, size_t n, uint64_t ns);
void count_checkpoint(struct journal *j, uint64_t ns);
void count_full(struct journal *j);                               /* the queue refused */
void count_failed(struct journal *j, int rc, const char *reason); /* a commit */
void count_lagged(struct journal *j, struct str run_id);

/* --- hub.c --- */
MUST_CHECK int hub_init(struct journal *j, struct wopr_error *err);
void hub_fini(struct journal *j);
void *hub_main(void *log);
/* Committer: does the run have listeners? Pass the hub a chain of commits (NULL: none), or that one
 * was lost. */
bool hub_listens(struct journal *j, int64_t run_no);
void hub_send(struct journal *j, struct commit *first, struct commit *last, bool lost);
void hub_stop(struct journal *j);
/* Let the hub thread wake what was put into t->waking. */
void hub_poke(struct topic *t);
/* Find or make the topic of a run, with one reference.  run_id may be empty when the caller renders
 * nothing. NULL when memory is short. */
struct topic *topic_get(struct journal *j, int64_t run_no, struct str run_id);
void topic_put(struct topic *t);
struct topic *topic_find(struct journal *j, int64_t run_no); /* with a reference, or NULL */
/* Under t->lock: waiters for something after a sequence below last move over to waking; all of them
 * when last is INT64_MAX. */
void topic_pick_waiters(struct topic *t, int64_t last);
/* Under t->lock: the sleeper is in no list and not being woken afterwards (waits for a wake in
 * progress). */
void topic_settle(struct topic *t, struct sleeper *s);
/* Under t->lock: a reader starts to take at the end; stops taking at pos. */
uint64_t topic_join(struct topic *t);
void topic_leave(struct topic *t, uint64_t pos);
/* Under t->lock: take the commit at *pos (head <= *pos < tail), with a reference. */
struct commit *topic_take(struct topic *t, uint64_t *pos);

#endif
