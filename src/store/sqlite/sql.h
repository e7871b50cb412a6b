/*
 * sql.h: inside of the SQLite backend: connections, transactions, code mapping, and what each file
 * offers the others.  Layer: store, not for others.  One writer connection (write_lock), one
 * read-only connection per reading thread (made at its first read, closed at thread exit or
 * store_close).
 */
#ifndef WOPR_STORE_SQLITE_SQL_H
#define WOPR_STORE_SQLITE_SQL_H

#include "base/list.h"
#include "base/metric.h"
#include "domain/plan.h"
#include "store/peers.h"
#include "store/runs.h"
#include "store/sqlite/query.h"
#include "store/sqlite/sqlite.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    STORE_FINAL_STATUS = 7,            /* statuses from here on are final; stmts.def repeats it */
    STORE_WAL_CHECKPOINT_PAGES = 4096, /* 16 MiB: a checkpoint is worth its syncs */
    STORE_WAL_REST_PAGES = 128,        /* half a megabyte: commits may wait for it */
    STORE_WAL_LONG_PAGES = 3 * 4096,   /* or for more, if that restarts the WAL */
    STORE_WAL_MUST_PAGES = 8 * 4096,   /* none was made: store_apply makes one itself */
    STORE_WAL_KEEP_BYTES = 64 << 20,   /* journal_size_limit */
    STORE_READER_CACHE_KB = 4096,      /* taken as it is needed */
    STORE_WRITER_CACHE_KB = 16384,
    STORE_HOLDER_MAX = 256,  /* bytes of a holder's name */
    STORE_MOVES_KEPT = 4096, /* rows of peer_moves; a host further behind examines all runs */
    STORE_MEMOS = 16,        /* rows a connection remembers */
    MEMO_TEXTS = 6,
    MEMO_NUMBERS = 6
};
#define STORE_APPLICATION_ID    1464815698 /* "WOPR" in the file header; decimal for PRAGMA */
#define STORE_IDEM_KEEP_MS      ((int64_t)24 * 3600 * 1000)      /* IDEM-6 */
#define STORE_TOMBSTONE_KEEP_MS ((int64_t)90 * 24 * 3600 * 1000) /* STORE-44 */
#define LIST_PAGE_BYTES         (8u * 1024 * 1024)  /* of a page of runs: tags can be long */
#define VIEW_LIST_MAX           (32u * 1024 * 1024) /* a channel as one list: two states */

/* --- usage.c: what tenants take, in one transaction --- */
struct usage {
    struct str tenant;         /* of a plan */
    int64_t runs, open, bytes; /* increments */
    int64_t stored;            /* bytes before the transaction, -1 = not read */
};
struct usages {
    struct usage *v;
    size_t n, cap;
};
struct conn;
/* Add to a tenant's counts, which may be negative; NO_MEMORY. */
MUST_CHECK int usage_add(struct usages *u, struct str tenant, int64_t runs, int64_t open,
                         int64_t bytes, struct wopr_error *err);
MUST_CHECK int usage_tenant(struct conn *c, struct plan *p, struct wopr_error *err); /* p->tenant */
/* *refusal is QUOTA unless there is room for a creation of this many bytes. */
MUST_CHECK int usage_room(struct usages *u, struct conn *c, struct plan *p, int64_t bytes,
                          int *refusal, struct wopr_error *err);
MUST_CHECK int usages_write(struct usages *u, struct conn *c, struct wopr_error *err);
void usages_free(struct usages *u);

/* --- stats.c --- */
struct store;
/* A checkpoint of the WAL ended with this code after ns; from any thread. */
void checkpoint_count(struct store *s, int sqlite_code, uint64_t ns);

/* --- memo.c: see there --- */
struct wal_head { /* first 48 bytes of the wal-index: they change with every commit */
    uint32_t w[12];
};
struct memo_row {
    struct str text[MEMO_TEXTS];
    int64_t number[MEMO_NUMBERS];
    struct sha256 hash;
};
struct memo {
    char *block; /* owned: key and texts; NULL = empty */
    enum stmt_id id;
    struct str key;
    struct wal_head head; /* header under which row was read, or was last known to hold */
    uint64_t era;         /* of the store's own commits, see memo.c; 0 = none */
    struct memo_row row;
};

struct conn {
    struct store *store;
    sqlite3 *db;
    struct list link; /* readers: in store->readers */
    sqlite3_stmt *st[SQL_NR];
    const volatile uint32_t *wal_index; /* mapped by SQLite */
    bool relaxed; /* commits of the writer do not wait for the disk: write_begin_relaxed */
    bool wal_index_none, memo_ready, has_read;
    struct wal_head memo_head; /* of the last memo_get; valid when memo_ready */
    struct memo memos[STORE_MEMOS];
    uint64_t wait_end, given_up; /* monotonic ms, 0 = never: see on_busy */
};
enum { CHECKPOINT_DONE, CHECKPOINT_BUSY, CHECKPOINT_FAILED, CHECKPOINT_NR };
struct store {
    struct store_config cfg;
    char *path, *vfs;    /* owned; cfg points here */
    int lock_fd;         /* -1 = none */
    bool joined;         /* by store_join: transactions check for other hosts */
    int64_t own_no;      /* holder number of the host that joined */
    struct conn *writer; /* NULL when read_only */
    pthread_mutex_t write_lock;
    pthread_mutex_t readers_lock;
    struct list readers;
    pthread_key_t reader_key;
    bool has_key;
    atomic_bool poisoned;         /* a sync failed: nothing may be trusted until reopened */
    atomic_bool seal_key_gone;    /* a sealed row was refused: see store_seal_key_gone */
    atomic_bool seals_rest;       /* of a run that has ended: see store_seals_rest */
    struct conn *copier;          /* store_checkpoint_beside, whose thread opens it; else NULL */
    atomic_int wal_pages;         /* after the last commit */
    atomic_int copied_pages;      /* of them, by the last checkpoint */
    void (*hook_wake)(void *ctx); /* after a commit with moves of webhooks; NULL = unset */
    void *hook_ctx;
    struct metric_hist sync_ns, checkpoint_ns;
    atomic_uint_fast64_t checkpoints[CHECKPOINT_NR];
    struct {                  /* commits of plans by this process, with nobody else's between */
        pthread_mutex_t lock; /* a leaf */
        bool known;           /* head is that of the last one */
        struct wal_head head;
        uint64_t era; /* how often the row of them was broken; from 1 */
    } own;
    int own_pages; /* under write_lock: of the WAL after the commit under way; -1: it wrote none */
    char holder[STORE_HOLDER_MAX]; /* last holder seen, so that a create costs no look-up */
    int64_t holder_no, holder_until_ms;
};

/* --- conn.c --- */
/* Neutral code of an extended SQLite code. */
int sql_neutral(int sqlite_code);
/* Fill err from c's last failure; a failed sync poisons the store.  Returns the neutral code. */
MUST_CHECK int conn_fail(struct conn *c, int sqlite_code, struct wopr_error *err);
MUST_CHECK int conn_open(struct store *s, bool write, struct conn **out, struct wopr_error *err);
void conn_close(struct conn *c); /* takes NULL */
/* This thread's reader. */
MUST_CHECK int conn_reader(struct store *s, struct conn **out, struct wopr_error *err);
MUST_CHECK int conn_exec(struct conn *c, const char *sql, struct wopr_error *err);
MUST_CHECK int store_alive(struct store *s, struct wopr_error *err); /* 0 or SYNC_FAILED */

/* Take the write lock and BEGIN IMMEDIATE.  On success write_end must follow. */
MUST_CHECK int write_begin(struct store *s, struct wopr_error *err);
/* The same for what a power cut may take back, since it takes the hosts as well that it speaks of:
 * who holds a lease, and that a holder lives.  The commit does not wait for the disk; the next one
 * that does brings this one there, too, so what is appended under a lease is never older than
 * it. */
MUST_CHECK int write_begin_relaxed(struct store *s, struct wopr_error *err);
/* rc == 0: COMMIT, else ROLLBACK; unlocks.  Returns rc, or the code of the failed commit. */
MUST_CHECK int write_end(struct store *s, int rc, struct wopr_error *err);
/* The same without the lock, for batches. */
MUST_CHECK int tx_begin(struct conn *c, struct wopr_error *err);
MUST_CHECK int tx_end(struct conn *c, int rc, struct wopr_error *err);

/* --- memo.c --- */
/* The row that query id returns for key, without running it: true when it is remembered and nothing
 * was committed since. false: run the query, then pass its one row to memo_put. */
bool memo_get(struct conn *c, enum stmt_id id, struct str key, struct arena *a,
              struct memo_row *out);
void memo_put(struct conn *c, enum stmt_id id, struct str key, const struct memo_row *row);
void memo_free(struct conn *c);
/* Around a transaction that writes plans alone: begin after its BEGIN, end after its COMMIT or
 * ROLLBACK.  What is remembered stays so. */
void memo_plans_begin(struct conn *c, struct wal_head *before);
void memo_plans_end(struct conn *c, const struct wal_head *before, bool committed);

/* --- migrate.c --- */
MUST_CHECK int migrate(struct conn *c, bool may_write, struct wopr_error *err);
/* What all migrations lead to, on an empty connection, recording nothing (verification compares
 * with it). */
MUST_CHECK int schema_create(sqlite3 *db, struct wopr_error *err);

/* --- alloc.c --- */
void sqlite_setup(void); /* once per process: our allocator and mutexes, no memory statistics */
/* --- mutex.c --- */
void sqlite_mutex_setup(void); /* before SQLite runs; refused silently when it runs already */

/* --- holders.c --- */
/* Inside a write transaction: the number of a holder, whose leases then last until until_ms or
 * longer.  CONFIG when the name is empty or too long. */
MUST_CHECK int holder_number(struct store *s, struct str name, int64_t until_ms, int64_t *no,
                             struct wopr_error *err);
/* After a rollback or a change of its row the remembered one may be wrong. */
static inline void holder_forget(struct store *s) { s->holder_no = 0; }

/* --- peers.c: locks in "<path>.lock", see there --- */
MUST_CHECK int host_lock(struct store *s, bool *alone, struct wopr_error *err);
/* After the migrations: let other hosts in.  Check the schema again afterwards. */
MUST_CHECK int host_lock_share(struct store *s, struct wopr_error *err);
/* Inside a write transaction: leave a change record for other present hosts. */
MUST_CHECK int moves_put(struct store *s, const struct moved_run *runs, size_t n,
                         struct wopr_error *err);

/* --- idem.c --- */
/* 1: *out filled (body in a).  0: nothing usable is stored.  IDEM_CONFLICT, or a store failure. */
MUST_CHECK int idem_look(struct conn *c, const struct idem_key *k, int64_t now_ms, struct arena *a,
                         struct idem_response *out, struct wopr_error *err);
MUST_CHECK int idem_put(struct conn *c, const struct plan *p, int64_t now_ms,
                        struct wopr_error *err);

/* --- rows.c, interrupts.c, invocations.c: one function per kind of row (PLAN_ROWS) --- */
struct row_writer { /* inside a plan's transaction */
    struct conn *c;
    int64_t run_no, now_ms;
    struct wopr_error *err;
    struct usages *usages; /* of the transaction; NULL: no row of the plan counts */
    struct str tenant;
    bool *called; /* set when a callback is to be sent; or NULL */
};
#define ROW_PUT(rows, one, type, texts)                                                            \
    MUST_CHECK int one##_put(const struct row_writer *w, const type *row);
PLAN_ROWS(ROW_PUT, PLAN_NO_STEP)
#undef ROW_PUT
/* --- tasks.c --- */
/* Does the lease that the plan is for still hold?  A read: else *refusal is TASK_LOST and nothing
 * was written. */
MUST_CHECK int task_guard(struct conn *c, const struct plan *p, int *refusal,
                          struct wopr_error *err);
/* --- session_append.c --- */
/* Is the session still where the plan expects it?  A read: else *refusal is STALE, EXISTS,
 * NOT_FOUND or CORRUPT, and nothing was written. */
MUST_CHECK int session_guard(struct conn *c, const struct plan *p, int *refusal,
                             struct wopr_error *err);
MUST_CHECK int session_put(const struct row_writer *w, const struct plan *p);
/* --- audit.c --- */
/* Inside a write transaction: an entry about what it does, when the file is audited. */
MUST_CHECK int audit_effect(struct conn *c, const struct plan_audit *row, struct wopr_error *err);
/* The same with details made of texts that are not empty, and testMode. */
struct audit_detail {
    const char *key;
    struct str text;
};
MUST_CHECK int audit_tell(struct conn *c, const struct plan_audit *row,
                          const struct audit_detail *details, size_t n, bool test_mode,
                          struct wopr_error *err);
/* The same for a key that was created or revoked.  details: as in struct plan_audit. */
MUST_CHECK int audit_key_changed(struct conn *c, const char *type, struct str tenant,
                                 struct str key_id, struct str details, struct wopr_error *err);
/* Ready tasks of the run wait until it moves again. */
MUST_CHECK int tasks_hold(struct conn *c, int64_t run_no, struct wopr_error *err);
/* Does an open task of the run refer to the sealed value at this place?  *rc: could it be asked? */
bool task_wants_box(const struct row_writer *w, int64_t at, int *rc);
/* --- task_counts.c --- */
MUST_CHECK int task_counts_begin(struct conn *c, struct wopr_error *err); /* of the writer */
/* --- hook_moves.c --- */
MUST_CHECK int hooks_any(struct conn *c, bool *any, struct wopr_error *err);
/* After the events of p: the row by which subscriptions find them.  *moved: there is one. */
MUST_CHECK int hook_move_put(struct conn *c, const struct plan *p, int64_t now_ms, bool *moved,
                             struct wopr_error *err);
/* Inside a write: FENCED, another host delivers. */
MUST_CHECK int hook_fence_check(struct conn *c, int64_t epoch, struct wopr_error *err);
/* --- callbacks.c --- */
/* After a new interrupt: its callback, if the run has a URL for it. */
MUST_CHECK int callback_put(const struct row_writer *w, struct str interrupt_id);
/* --- seals.c --- */
MUST_CHECK int sealed_end(const struct row_writer *w, const struct plan *p);
/* --- purge.c --- */
/* Retention looks again at the children of a run that has ended. */
MUST_CHECK int kept_end(const struct row_writer *w, const struct plan *p);
/* --- seals.c --- */
/* A fork reads what its source reads of the events before the cut. */
MUST_CHECK int sealed_hold(struct conn *c, int64_t run_no, const struct run_fork *link,
                           struct wopr_error *err);
/* A row was sealed with a key that is not there any more: UNAVAILABLE. */
MUST_CHECK int seal_key_gone(struct conn *c, struct wopr_error *err);

/* --- prefix.c: a log is a list of segments, each of them the own events of one run --- */
struct segment {
    int64_t run_no, first, until; /* until: INT64_MAX for the run's own part */
    bool inherited;               /* run_no is another run than the log's own */
};
/* The segment of a run's log that holds (or would hold) a sequence.  Costs a look-up for a run that
 * is no fork, and a logarithm of the number of segments at most.  The next one begins at until. */
MUST_CHECK int segment_at(struct conn *c, int64_t run_no, int64_t seq, struct segment *out,
                          struct wopr_error *err);
/* The reference of a new fork, whose cut is not 0. */
MUST_CHECK int prefix_put(struct conn *c, int64_t run_no, const struct plan_fork *f,
                          struct wopr_error *err);

/* --- fork.c: the parts of a plan that creates a fork, inside the batch's transaction --- */
/* A source made by an earlier plan of the same batch is named by its id alone. */
MUST_CHECK int fork_source(struct conn *c, const struct plan *p, struct wopr_error *err);
/* Is the source there? A refusal (EXPIRED) goes to *refusal; nothing is written then.  Counts the
 * bytes of the copies, for which the fork's tenant pays. */
MUST_CHECK int fork_admit(struct conn *c, const struct plan *p, int *refusal,
                          struct wopr_error *err);
/* After the rows of the run were inserted: link, reference, artifacts. */
MUST_CHECK int fork_fill(struct conn *c, const struct plan *p, struct wopr_error *err);

/* --- read.c --- */
/* Begin a query on this thread's reader.  On success one of the ends below must follow. */
MUST_CHECK int read_begin(struct query *q, struct store *s, enum stmt_id id,
                          struct wopr_error *err);
/* End it. rc: of the last step, or of the use of its row.  Returns a negative rc, NO_MEMORY when
 * the arena failed, or 0. */
MUST_CHECK int read_end(struct query *q, int rc, struct arena *a, struct wopr_error *err);
/* Copy the current row of q. 0, or a code that ends the list; read_end checks the arena. */
typedef int row_read_fn(struct query *q, struct arena *a, void *row, struct wopr_error *err);
/* All rows of q into list, a struct with members v and n.  Ends q; list is set on success only. */
#define list_read(q, a, read, list, err)                                                           \
    list_read_bytes((q), (a), (read), sizeof *(list)->v, &(list)->v, &(list)->n, (err))
MUST_CHECK int list_read_bytes(struct query *q, struct arena *a, row_read_fn *read, size_t size,
                               void *v, size_t *n, struct wopr_error *err);
/* For lists that skip rows: the next row of a growing array in the arena, NULL when memory is
 * short. v is the address of the array pointer. */
void *list_row_bytes(struct arena *a, void *v, size_t *n, size_t *cap, size_t size);
#define list_row(a, list, cap) list_row_bytes((a), &(list)->v, &(list)->n, (cap), sizeof *(list)->v)
row_read_fn row_read_number; /* of a run_no_list */

/* --- children.c --- */
MUST_CHECK int children_read(struct conn *c, struct str parent_run_id, bool open, unsigned max,
                             struct arena *a, struct child_row_list *out, struct wopr_error *err);
MUST_CHECK int children_shown_read(struct conn *c, struct str parent_run_id, struct arena *a,
                                   struct child_row_list *out, bool *more, struct wopr_error *err);

/* --- agents.c --- */
/* The set of a run that is about to be created, stored once; 0: it has none. */
MUST_CHECK int agent_set_hold(struct conn *c, const struct run_meta *m, int64_t *set_no,
                              struct wopr_error *err);
/* A run that held it is gone, or holds it no more; with the last one the set goes. */
MUST_CHECK int agent_set_release(struct conn *c, int64_t set_no, struct wopr_error *err);

/* --- runs.c --- */
#define HEAD_COLUMNS_NR 13
void head_read(struct query *q, struct arena *a, struct run_head *out); /* HEAD_COLUMNS */

/* --- once.c: large inputs are stored once --- */
/* What to store in the rows of a plan that creates a run: the text, or a mark. */
struct str once_inputs(const struct plan *p);
struct str once_var(const struct plan *p, struct str name, struct str shown);
/* Replace a mark by its text, where one was read. */
MUST_CHECK int once_inputs_read(struct conn *c, int64_t run_no, struct arena *a, struct str *inputs,
                                struct wopr_error *err);
MUST_CHECK int once_vars_read(struct conn *c, int64_t run_no, struct arena *a,
                              struct run_view_item *v, size_t n, struct wopr_error *err);

#endif
