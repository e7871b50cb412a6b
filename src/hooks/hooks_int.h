/*
 * hooks_int.h: what the files of hooks/ share.  Private to the folder.
 *
 * The dispatcher is one thread.  Members marked (mu) are shared with the committer's and the egress
 * thread; all else is the dispatcher's.
 *
 *   idle ---- a move that it wants ----> ready ---- its tenant's turn ----> sending
 *    ^                                   ^  ^                                  |
 *    '-- nothing is left: next_event ----'  '-- waiting (timer) <-- failed ----'
 */
#ifndef WOPR_HOOKS_INT_H
#define WOPR_HOOKS_INT_H

#include "base/heap.h"
#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "hooks/breaker.h"
#include "hooks/hooks.h"
#include "store/callbacks.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    HOOK_SECRET_AT = -10,       /* place of a secret: no event is there */
    HOOKS_IN_FLIGHT_MAX = 128,  /* deliveries at once ... */
    HOOKS_TENANT_MAX = 16,      /* ... of one tenant */
    HOOKS_SLOW_MAX = 96,        /* those to receivers that are not known to answer ... */
    HOOKS_TENANT_SLOW_MAX = 8,  /* ... of one tenant */
    HOOK_QUICK_MS = 1000,       /* a receiver that takes longer counts as slow */
    HOOK_BUSY_MS = 200,         /* before something that memory or egress was short for */
    HOOK_ERROR_MAX = 200,       /* bytes of an error that is kept */
    HOOKS_CALLS_MAX = 1024,     /* callbacks in memory: those that are due ... */
    HOOKS_TENANT_CALLS_MAX = 16 /* ... of one tenant */
};
#define HOOKS_BYTES_MAX        (32u * 1024 * 1024) /* of large bodies under way; smaller ones ... */
#define HOOK_LARGE_MIN         (64u * 1024)        /* ... are bounded by their number */
#define HOOKS_CALL_WAIT_MAX_MS ((int64_t)3600 * 1000) /* between two attempts of a callback */
/* Nobody takes everything: one more only while the share is less than a quarter of what is free.
 */
#define HOOKS_SHARE(mine, all, max) ((all) < (max) && ((mine) == 0 || (mine)*4 < (max) - (all)))

struct hook_tenant {          /* tenant and mode */
    struct list hooks, calls; /* struct hook.all: subscriptions; callbacks that are due */
    size_t calls_nr;
    struct list ready, slow; /* struct hook.turn; slow: not proven */
    struct list turn;        /* in hooks.turns while one of them is not empty */
    bool slow_turn;          /* which of them is next */
    size_t in_flight, slow_nr, bytes;
    int64_t moves_nr, bounded_nr; /* commits that were seen, and at the last look at its bound */
    int64_t last_move;            /* the last one that was seen */
    int64_t trimmed;              /* commits before it are gone */
    bool test_mode;
    struct str tenant; /* in key */
    struct str key;    /* owned, behind the struct: mode and tenant */
};
enum hook_phase { HOOK_IDLE, HOOK_READY, HOOK_WAITING, HOOK_SENDING };
struct hook_send { /* one delivery under way; egress has it as ctx */
    struct hooks *hooks;
    struct hook *hook;
    struct list link; /* in hooks.results (mu) */
    int64_t run_no, seq, until_seq;
    enum ev_kind kind;
    char run_id[RUN_ID_MAX + 1];
    struct traceparent trace; /* "": it belongs to none */
    uint64_t began_ms, took_ms;
    size_t bytes;  /* that count for HOOKS_BYTES_MAX */
    bool hopeless; /* it would fail for ever */
    int rc, status;
    char message[HOOK_ERROR_MAX];
};
struct hook_call { /* the one question that a callback is for */
    int64_t run_no;
    struct str run_id, traceparent; /* in the block of the hook */
    bool answers;
    enum callback_state state;
    bool marking; /* a write of what came of it is on its way */
};
struct hook { /* one subscription; or a callback, which has the id of its question as webhook_id */
    struct hook_call *call; /* NULL: a subscription */
    struct list all, turn, dirty;
    struct heap_node timer;
    struct hook_tenant *tenant;
    enum hook_phase phase;
    bool gone;           /* removed while it was sending */
    bool proven;         /* its last attempt was taken quickly */
    bool sent_slow;      /* the one under way has a place of the slow ones */
    bool woken_late;     /* woken while it was sending: if that fails, again at once */
    struct hook_row row; /* texts owned: block */
    char *block;
    int64_t next_move, next_seq; /* cursor */
    int64_t marked_move;         /* as it is stored */
    int64_t since_ms;            /* time of the commit that is next, 0 = none */
    struct hook_pulse pulse;
    struct hook_send *send;
    /* since the last write */
    int64_t delivered, dead, dropped, failed;
    struct hook_dead *deads; /* texts are run_id and reason in one block each: owned */
    size_t deads_nr, deads_cap;
    int64_t last_status, last_ms;
    char last_error[HOOK_ERROR_MAX];
    int64_t floor;                /* while sending: to be cut up to there; 0 = no */
    int64_t woken_from, woken_to; /* commits that woke it; 0 = none */
};
struct hook_trim; /* tidy.c: rows on their way out */
struct hook_work; /* marks.c: a write on its way */
struct hooks_lease {
    bool held;
    int64_t epoch, changes;
    int64_t seen_no, seen_beat; /* of another holder */
    uint64_t seen_ms, look_ms;
};
struct hooks {
    struct hooks_config cfg;
    struct hook_policy policy;
    struct journal *journal;
    struct store *store;
    char agent[64];
    pthread_mutex_t mu;
    pthread_cond_t tick;
    bool kicked, stopping;     /* (mu) */
    bool look;                 /* (mu) look at the lease, whose row has changed */
    bool writing;              /* (mu) a write is with the committer */
    struct list results;       /* (mu) */
    struct hook_work *landed;  /* (mu) the write that is back */
    struct hook_trim *trimmed; /* (mu) the same of a trim */
    bool up;
    pthread_t thread;
    /* the dispatcher's own */
    struct arena *a, *page;
    struct map *tenants; /* key -> struct hook_tenant */
    struct map *by_no;   /* number, 8 bytes -> struct hook */
    struct map *calls;   /* id of a question -> struct hook */
    struct list turns, dirty;
    struct heap timers; /* of hooks that wait: monotonic */
    struct hooks_lease lease;
    int64_t last_no, last_move;
    bool loaded;    /* the table has been read since this host delivers */
    bool caught_up; /* the last look at commits found their end */
    bool reload;    /* the table has to be compared with the store */
    uint64_t reload_ms, trim_ms, expire_ms, write_ms;
    bool pressing; /* something is to be written without delay */
    size_t in_flight, slow_nr, bytes, turns_nr;
    size_t trim_from; /* tenants before it had their turn of trims */
    struct hook_policy call_policy;
    struct str call_tenant; /* the last one that was looked at, owned; empty: begin again */
    bool call_mode;
    uint64_t call_ms, call_looked_ms; /* the next look at what is due, and the last */
    struct log_gate failed_gate, dropped_gate, store_gate, call_gate;
    /* for hooks_stats */
    _Atomic uint64_t stat_call_sent, stat_call_failed, stat_call_given_up, stat_call_answered;
    _Atomic uint64_t stat_delivered, stat_failed, stat_dead, stat_dropped, stat_nr, stat_open,
        stat_in_flight, stat_behind_ms, stat_tenants;
};

/* --- wake.c --- */
void hooks_kick(struct hooks *h); /* from any thread */
void hooks_trouble(struct hooks *h, const char *what, const struct wopr_error *err);

/* --- commands.c --- */
MUST_CHECK int hook_secret_open(struct vault *v, struct str webhook_id,
                                const struct plan_sealed *row, struct arena *a, struct str *secret,
                                struct wopr_error *err);

/* --- table.c: subscriptions in memory --- */
/* Those that were added since; with `whole` also without those that were removed. */
MUST_CHECK int table_load(struct hooks *h, bool whole, struct wopr_error *err);
/* Forget all; deliveries under way are forgotten when they end. */
void table_clear(struct hooks *h);
struct hook_tenant *table_tenant(struct hooks *h, struct str tenant, bool test_mode);
void hook_set_phase(struct hooks *h, struct hook *k, enum hook_phase phase);
void hook_wait_until(struct hooks *h, struct hook *k, int64_t wall_ms);
void hook_dirty(struct hooks *h, struct hook *k);
void hook_drop(struct hooks *h, struct hook *k); /* k may be freed */
void hook_deads_free(struct hook_dead *v, size_t n);
/* Somebody asked to try again at once: the commit of that wish (store_hook_retry). */
void table_wake(struct hooks *h, const struct hook_move *wish);
/* A tenant without subscriptions is forgotten. */
void table_tenant_drop(struct hooks *h, struct hook_tenant *t);

/* A callback that is due becomes ready, if there is room for it; one that is there already is left
 * alone.  NO_MEMORY. */
MUST_CHECK int table_call(struct hooks *h, const struct callback_row *row);

/* --- call.c: callbacks --- */
/* Those that are due become ready: a few tenants at a time, by turns. */
void calls_look(struct hooks *h, uint64_t now_ms);
/* The event of its question, and what the wire shows of that, in h->a and h->page.  1: *e and
 * *shown.  0: it is not open any more. */
MUST_CHECK int call_question(struct hooks *h, const struct hook *k, const struct event **e,
                             struct str *shown, struct wopr_error *err);
/* An attempt ended.  message: why it failed, NULL: it was taken. */
void call_ended(struct hooks *h, struct hook *k, bool hopeless, int status, const char *message);
/* It was answered before it could be sent. */
void call_over(struct hooks *h, struct hook *k);

/* --- tidy.c: bounds, figures, rows that nobody needs --- */
void hooks_tidy(struct hooks *h, uint64_t now_ms);
/* Commits up to floor are not delivered any more; not while it is sending. */
void backlog_cut(struct hooks *h, struct hook *k, int64_t floor);
void tidy_landed(struct hooks *h, struct hook_trim *t); /* frees t */

/* --- lease.c: which host delivers --- */
/* true: this one. */
bool lease_look(struct hooks *h, uint64_t now_ms);

/* --- send.c --- */
/* Deliver the next event of k, or find that there is none. */
void send_next(struct hooks *h, struct hook *k);
void send_ended(struct hooks *h, struct hook_send *s); /* frees s */

/* --- marks.c --- */
void marks_write(struct hooks *h, bool all); /* all: cursors of idle ones too */
void marks_landed(struct hooks *h, struct hook_work *w);
void marks_dead(struct hooks *h, struct hook *k, const struct hook_send *of, int64_t attempts,
                int status, const char *why);

#endif
