/*
 * store.h: the storage port.  Layer: store.  All SQL lives behind it; it does not know what an
 * event means beyond its columns.  One backend so far: sqlite/.
 *
 * Threads: store_apply and the store_*_put family write and are called by one thread at a time (the
 * committer, or a command-line tool); every other function may be called by any thread and uses
 * that thread's own read-only connection, waits for no writer and sees the last commit (WAL). Point
 * reads and one page of events are short enough for an HTTP thread (store_reads_inline says so for
 * this backend). Ownership: results live in the arena given.  "tenant + test mode" arguments are
 * part of the same query that fetches the row (AUTH-8, AUTH-9): a row of somebody else is
 * WOPR_E_NOT_FOUND.
 */
#ifndef WOPR_STORE_STORE_H
#define WOPR_STORE_STORE_H

#include "base/metric.h"
#include "domain/plan.h"

struct store;
enum store_sync { STORE_SYNC_FULL, STORE_SYNC_NORMAL, STORE_SYNC_OFF };
struct store_config {
    const char *path;     /* database file; its folder is created (0700) */
    enum store_sync sync; /* default FULL (STORE-11) */
    int busy_timeout_ms;  /* default 5000 */
    bool read_only;       /* tools: no migration, no lock */
    bool host_lock;  /* true for a serving host: several may share the file, see "other hosts" */
    bool exclusive;  /* with host_lock: refuse when another live host has the file (LOCKED) */
    const char *vfs; /* NULL = default; tests name their own */
};
/* Open, create, migrate forward (migrations/sqlite/NNNN_name.sql embedded; checksums recorded and
 * compared). Errors: SCHEMA_NEWER, CORRUPT (quick check, changed migration), LOCKED, DISK_FULL, IO,
 * BUSY, NO_MEMORY; the message names the file and the remedy. */
MUST_CHECK int store_open(const struct store_config *cfg, struct store **out,
                          struct wopr_error *err);
void store_close(struct store *s); /* all users gone; checkpoints the WAL; takes NULL */
bool store_reads_inline(const struct store *s);
const char *store_path(const struct store *s);

/* ---------------------------------------------------------------- writing */
/* Commit a batch: one BEGIN IMMEDIATE transaction, one sync.  rcs[i] is plan i's own outcome: 0, or
 * a refusal that wrote nothing for that plan: STALE (base_seq or status moved), FENCED (epoch),
 * RUN_TERMINAL (found_status set), RUN_ALREADY_ACTIVE (active_run_id set), QUOTA (a creation;
 * tenant_bytes set), IDEM_CONFLICT,
 * NOT_FOUND, EXISTS, CORRUPT (the run is parked), INTERNAL (the plan breaks EVT-2 or EVT-7);
 * idem_hit with rc 0 also wrote nothing.  The plan's failed code is returned untouched. A failure
 * of the machine (DISK_FULL, IO, BUSY, NO_MEMORY) rolls the batch back; it is then retried plan by
 * plan, so one poisonous plan cannot fail its neighbours.  SYNC_FAILED: outcome unknown, the store
 * is unusable until reopened (every later call returns SYNC_FAILED). Returns 0 when rcs tell
 * everything, else the code that hit all.  Fills run_no for creates. */
MUST_CHECK int store_apply(struct store *s, struct plan **plans, size_t n, int *rcs,
                           struct wopr_error *err);
/* Lease of a run: taken when nobody holds it, when its holder gave all back, when it is the
 * caller's own already, or when its holder's beat is still the one seen by whoever found that
 * holder dead or silent; else FENCED, RUN_TERMINAL, NOT_FOUND or CORRUPT (parked).  Every claim
 * raises the fencing epoch.  No clock decides: until_ms is only shown. */
enum { LEASE_ANY = -1, LEASE_NO_BEAT = -2 };
struct lease_claim {
    int64_t run_no;
    struct str holder; /* who claims */
    int64_t until_ms;
    int64_t epoch; /* the run's, as seen; LEASE_ANY = whatever it is now (sole host) */
    int64_t beat;  /* its holder's, as seen; LEASE_ANY = whatever (sole host, dead holder);
                      LEASE_NO_BEAT = only what is free or mine */
};
MUST_CHECK int store_lease_claim(struct store *s, const struct lease_claim *c, int64_t *epoch,
                                 struct wopr_error *err);
/* The end of a lease is kept once per holder: claiming never shortens it, renewing (or releasing)
 * moves all leases the holder still has in one row, however many, and counts its beat up; *renewed
 * counts its unfinished runs. */
MUST_CHECK int store_lease_renew(struct store *s, struct str holder, int64_t until_ms,
                                 int64_t *renewed, struct wopr_error *err);
MUST_CHECK int store_lease_release(struct store *s, struct str holder, struct wopr_error *err);
/* Housekeeping, at most STORE_PURGE_ROWS rows and STORE_PURGE_MS of work per call, in one
 * transaction: expired idempotency rows; runs ended before before_ms (whole runs, tombstone kept,
 * STORE-44).  A run with more events goes in several calls: nobody sees it from the first of them
 * on, and whoever calls next, after a crash as well, goes on with it before any other.  At most
 * max; *deleted what went for good; *more (may be NULL) there may be more to do at once. */
#define STORE_PURGE_ROWS 4096
#define STORE_PURGE_MS   20
MUST_CHECK int store_purge_idempotency(struct store *s, int64_t now_ms, unsigned max,
                                       int64_t *deleted, bool *more, struct wopr_error *err);
MUST_CHECK int store_purge_runs(struct store *s, int64_t before_ms, int64_t now_ms, unsigned max,
                                int64_t *deleted, bool *more, struct wopr_error *err);
/* A stored log that breaks an invariant parks its run: it is skipped by recovery and refused for
 * appends until unparked (empty reason). */
MUST_CHECK int store_run_park(struct store *s, int64_t run_no, int64_t epoch, struct str reason,
                              struct wopr_error *err); /* epoch: LEASE_ANY, else FENCED when the
                                                          run has another */
/* Hidden forks.  The first whose number is greater than after, *run_no 0 = none.  Removal of one
 * that nobody makes any more: its next events from the end, at most max of them; *gone: the run
 * went with the last.  FENCED when its epoch is another, or it is hidden no more. */
MUST_CHECK int store_fork_hidden(struct store *s, int64_t after, int64_t *run_no,
                                 struct wopr_error *err);
MUST_CHECK int store_fork_remove(struct store *s, int64_t run_no, int64_t epoch, unsigned max,
                                 bool *gone, struct wopr_error *err);
/* Moving the WAL into the database.  It is due when the WAL is long enough to be worth the syncs.
 * _beside copies while others write, on a connection of its own: one thread at a time, which
 * blocks for as long as that takes.  What was written meanwhile is left; store_checkpoint copies
 * that on the writer's connection, and the WAL begins anew (it does nothing when none is due). */
bool store_checkpoint_due(const struct store *s);
MUST_CHECK int store_checkpoint_beside(struct store *s, struct wopr_error *err);
MUST_CHECK int store_checkpoint(struct store *s, struct wopr_error *err);

/* ---------------------------------------------------------------- other hosts */
/* Serving hosts (host_lock) share a file.  Each holds, for as long as its process lives, a lock for
 * being there and one of its own number, so that the others know at once when it is dead; a stopped
 * process keeps its locks and loses its runs by silence.  A schema is upgraded only by a host that
 * is alone (LOCKED for it otherwise).
 * store_join makes the caller known before it takes any run; after it, transactions of the others
 * that move runs leave rows for store_moves.  *last_move: where to start reading them. */
MUST_CHECK int store_join(struct store *s, struct str holder, int64_t ttl_ms, int64_t until_ms,
                          int64_t *holder_no, int64_t *last_move, struct wopr_error *err);
/* Is another host there?  One system call.  Without host_lock nobody knows: true. */
bool store_has_peers(const struct store *s);
enum holder_state { HOLDER_ALIVE, HOLDER_DEAD, HOLDER_UNKNOWN };
enum holder_state store_holder_state(const struct store *s, int64_t holder_no);
struct holder_row {
    int64_t holder_no, beat, ttl_ms;
    struct str name;
};
struct holder_row_list {
    struct holder_row *v;
    size_t n;
};
/* Who has not given its leases back, the caller too. */
MUST_CHECK int store_holders(struct store *s, struct arena *a, struct holder_row_list *out,
                             struct wopr_error *err);
/* A dead holder without runs is not listed any more; the caller says that it is dead. */
MUST_CHECK int store_holder_bury(struct store *s, int64_t holder_no, struct wopr_error *err);
/* Changes with every commit of another connection (STORE-16); for the calling thread only. */
MUST_CHECK int store_data_version(struct store *s, int64_t *version, struct wopr_error *err);
enum { MOVED_CLAIMED = -1, MOVED_GIVEN = -2 };
struct move_row {
    int64_t move_no, holder_no;
    size_t runs_nr; /* 0: that holder gave all its leases back */
    struct moved_run {
        int64_t run_no, next_seq; /* or, negative, what happened to its lease */
    } * runs;
};
struct move_row_list {
    struct move_row *v;
    size_t n;
};
MUST_CHECK int store_moves(struct store *s, int64_t after, unsigned max, struct arena *a,
                           struct move_row_list *out, struct wopr_error *err);
/* Ask the holder of a run for it, look who is asked, give it: to the last one who asked, with a new
 * epoch.  Give: NOT_FOUND when nobody living asks, FENCED when it is not from's with that epoch
 * (LEASE_ANY), RUN_TERMINAL. */
MUST_CHECK int store_lease_want(struct store *s, int64_t run_no, struct str holder,
                                struct wopr_error *err);
struct want_row {
    int64_t run_no;
    struct str run_id;
};
struct want_row_list {
    struct want_row *v;
    size_t n;
};
MUST_CHECK int store_lease_wants(struct store *s, struct str holder, unsigned max, struct arena *a,
                                 struct want_row_list *out, struct wopr_error *err);
MUST_CHECK int store_lease_give(struct store *s, int64_t run_no, struct str from, int64_t epoch,
                                struct wopr_error *err);

/* ---------------------------------------------------------------- meta */
/* Random secrets made once per database: "pepper" (API keys), "token" ... 32 bytes each. */
MUST_CHECK int store_secret(struct store *s, const char *name, uint8_t out[32],
                            struct wopr_error *err);

/* ---------------------------------------------------------------- API keys (AUTH-*, D17) */
struct api_key {
    struct str key_id, tenant, workspace, subject_issuer, subject_id, label;
    struct sha256 hash; /* HMAC-SHA256(pepper, whole key) */
    uint32_t scopes;    /* bit set, see http/auth.h */
    bool test_mode;
    bool configured; /* from a host's settings: a record of it, never a credential by itself */
    int64_t created_ms, expires_ms, revoked_ms; /* 0 = never */
};
struct api_key_list {
    struct api_key *v;
    size_t n;
};
MUST_CHECK int store_key_put(struct store *s, const struct api_key *k,
                             struct wopr_error *err); /* EXISTS on same id or hash */
/* The row of a configured key: made, or its tenant, workspace and scopes renewed; a revocation and
 * a created key with the same text stay as they are. */
MUST_CHECK int store_key_configure(struct store *s, const struct api_key *k,
                                   struct wopr_error *err);
/* Delete the row of a configured key that is not revoked; no row is fine. */
MUST_CHECK int store_key_forget(struct store *s, struct str key_id, struct wopr_error *err);
MUST_CHECK int store_key_revoke(struct store *s, struct str key_id, int64_t now_ms,
                                struct wopr_error *err);
MUST_CHECK int store_key_find(struct store *s, struct str key_id, struct arena *a,
                              struct api_key *out, struct wopr_error *err);
MUST_CHECK int store_key_find_hash(struct store *s, const struct sha256 *hash, struct arena *a,
                                   struct api_key *out, struct wopr_error *err);
MUST_CHECK int store_key_list(struct store *s, struct arena *a, struct api_key_list *out,
                              struct wopr_error *err);

/* ---------------------------------------------------------------- token secrets (INT-36, D46) */
struct token_secret {
    struct str kid;
    uint8_t secret[32];
    int64_t created_ms, retired_ms; /* retired: signs no more, still verifies; 0 = not retired */
};
struct token_secret_list {
    struct token_secret *v;
    size_t n;
};
/* Store a new signing secret and retire the others, in one transaction.  EXISTS on the same kid. */
MUST_CHECK int store_token_secret_put(struct store *s, const struct token_secret *t,
                                      struct wopr_error *err);
/* Forget a secret: its tokens stop working at once.  CONFLICT for the one that signs. */
MUST_CHECK int store_token_secret_delete(struct store *s, struct str kid, struct wopr_error *err);
/* NOT_FOUND when there is none.  Every commit of any process is seen at once. */
MUST_CHECK int store_token_secret_current(struct store *s, struct arena *a,
                                          struct token_secret *out, struct wopr_error *err);
MUST_CHECK int store_token_secret_find(struct store *s, struct str kid, struct arena *a,
                                       struct token_secret *out, struct wopr_error *err);
MUST_CHECK int store_token_secret_list(struct store *s, struct arena *a,
                                       struct token_secret_list *out, struct wopr_error *err);

/* ---------------------------------------------------------------- workflows */
struct workflow_row {
    struct str workflow_id, tenant; /* tenant empty = every tenant (seeded examples, fixtures) */
    struct sha256 hash;
    struct str version, text; /* text verbatim (WF-1) */
    bool both_modes, test_mode;
    int64_t created_ms, updated_ms;
};
struct workflow_row_list {
    struct workflow_row *v;
    size_t n;
};
enum put_result { PUT_CREATED, PUT_UPDATED, PUT_SAME };
MUST_CHECK int store_workflow_put(struct store *s, const struct workflow_row *w,
                                  enum put_result *what, struct wopr_error *err);
/* The tenant's own row wins over the shared one. */
MUST_CHECK int store_workflow_get(struct store *s, struct str tenant, bool test_mode,
                                  struct str workflow_id, struct arena *a, struct workflow_row *out,
                                  struct wopr_error *err);
MUST_CHECK int store_workflow_by_hash(struct store *s, const struct sha256 *hash, struct arena *a,
                                      struct str *text, struct wopr_error *err);
MUST_CHECK int store_workflow_list(struct store *s, struct arena *a, struct workflow_row_list *out,
                                   struct wopr_error *err);

/* ---------------------------------------------------------------- runs and events */
struct tenant_usage {               /* forks that are still being copied are not counted */
    int64_t runs, runs_open, bytes; /* bytes: of logs, as event_bytes() counts, and artifacts */
};
/* Zeros for a tenant that never had a run. */
MUST_CHECK int store_tenant_usage(struct store *s, struct str tenant, struct tenant_usage *out,
                                  struct wopr_error *err);
struct run_head { /* what most requests need */
    int64_t run_no;
    struct str run_id;
    enum run_status status;
    int64_t next_seq, epoch, lease_until_ms, paused_ms, log_bytes;
    struct str holder; /* lease_until_ms 0: given back */
    int32_t engine_version, era, shown_engine_version;
    struct str parked; /* reason or empty */
};
MUST_CHECK int store_run_head(struct store *s, struct str tenant, bool test_mode, struct str run_id,
                              struct arena *a, struct run_head *out,
                              struct wopr_error *err); /* EXPIRED when a tombstone exists */
/* Parents and children (WF-45..50): links are columns of the child. */
#define STORE_VIEW_CHILDREN_MAX 1000u
struct child_row {
    int64_t run_no;
    struct str run_id, node_id; /* node of the parent */
    enum run_status status;
    uint32_t flags; /* CHILD_AWAITED, CHILD_DETACHED */
};
struct child_row_list {
    struct child_row *v;
    size_t n;
};
/* At most max children of a run, oldest first; open: only those that have not ended. */
MUST_CHECK int store_children(struct store *s, struct str parent_run_id, bool open, unsigned max,
                              struct arena *a, struct child_row_list *out, struct wopr_error *err);
/* Payload of the run's last event of this kind: of the node given, of the node that the run shows
 * when that is empty, or of the run itself.  NOT_FOUND. */
MUST_CHECK int store_event_last(struct store *s, int64_t run_no, enum ev_kind kind,
                                struct str node_id, struct arena *a, struct str *payload,
                                struct wopr_error *err);
/* Everything GET /v1/runs/{id} shows, neutral and ready to splice. */
struct run_view_item {
    struct str name, value;
};
struct run_view_entry { /* of a channel whose entries age */
    int64_t ts_ms;
    struct str value;
};
struct run_view_chan {
    struct str name;
    bool declared;
    struct str value; /* folded raw JSON, with all entries */
    int64_t ttl_ms;   /* declared list: 0 = entries do not age; else they are listed as well */
    struct run_view_entry *entries;
    size_t entries_nr;
};
struct run_view {
    struct run_head head;
    struct str workflow_id, current_node, error, outputs, agent, parent_run_id, parent_node_id;
    struct str configurable, tags, metadata; /* raw as sent; mask before showing */
    int32_t child_depth;                     /* 0 = nobody's child */
    struct child_row_list children;          /* oldest first, STORE_VIEW_CHILDREN_MAX of them */
    int64_t created_ms, started_ms, completed_ms;
    struct str interrupt; /* what the run waits for, raw as shown; the wire adapter fills it */
    struct run_view_item *nodes, *vars;
    size_t nodes_nr, vars_nr;
    struct run_view_chan *chans;
    size_t chans_nr;
    struct run_fork fork;
};
MUST_CHECK int store_run_view(struct store *s, struct str tenant, bool test_mode, struct str run_id,
                              struct arena *a, struct run_view *out, struct wopr_error *err);
/* The same; WOPR_E_TOO_BIG, and nothing but one row is read, when its log has more bytes. */
MUST_CHECK int store_run_view_of(struct store *s, struct str tenant, bool test_mode,
                                 struct str run_id, int64_t log_bytes_max, struct arena *a,
                                 struct run_view *out, struct wopr_error *err);
/* Events with sequence >= from, ascending, at most max of them and about bytes_max of payload (at
 * least one event). */
MUST_CHECK int store_events(struct store *s, int64_t run_no, int64_t from, unsigned max,
                            size_t bytes_max, struct arena *a, struct event_list *out,
                            struct wopr_error *err);
/* The same for events of one kind only; it reads the whole log from there on. */
MUST_CHECK int store_events_of_kind(struct store *s, int64_t run_no, int64_t from,
                                    enum ev_kind kind, unsigned max, size_t bytes_max,
                                    struct arena *a, struct event_list *out,
                                    struct wopr_error *err);
/* Creation data and workflow hash of a run, for the fold. */
struct run_origin {
    struct run_head head;
    struct run_meta meta;
    struct sha256 workflow_hash;
    struct str parent_run_id, parent_node_id;
    int32_t child_depth;
    uint32_t child_flags;
    struct run_fork fork;
};
MUST_CHECK int store_run_origin(struct store *s, int64_t run_no, struct arena *a,
                                struct run_origin *out, struct wopr_error *err);
/* Runs that somebody should hold: not final, parked, or waiting without a holder (STORE-35);
 * ascending by run_no, after run_no > after. */
struct run_no_list {
    int64_t *v;
    size_t n;
};
struct open_run_list {
    struct open_run {
        int64_t run_no, holder_no; /* 0 = nobody's */
    } * v;
    size_t n;
};
MUST_CHECK int store_runs_unfinished(struct store *s, int64_t after, unsigned max, struct arena *a,
                                     struct open_run_list *out, struct wopr_error *err);
/* The same for runs that show waiting-* although a child they wait for does not (or not any more):
 * nobody would tell them after a crash.  May name runs that wait for something else. */
MUST_CHECK int store_parents_waiting(struct store *s, int64_t after, unsigned max, struct arena *a,
                                     struct run_no_list *out, struct wopr_error *err);
struct timer_row {
    int64_t run_no;
    enum timer_kind kind;
    struct str node_id;
    int64_t fire_at_ms, remaining_ms;
};
struct timer_row_list {
    struct timer_row *v;
    size_t n;
};
MUST_CHECK int store_timers(struct store *s, int64_t run_no, struct arena *a,
                            struct timer_row_list *out, struct wopr_error *err);
/* Interrupts (STORE-8, STORE-9).  cause of a rejected one: "run-cancelled", "parent-cancelled",
 * "run-failed"; of a resumed external event: the id of the event. */
struct interrupt_row {
    struct str interrupt_id, run_id, node_id, key, kind, payload, resume_schema;
    struct str tenant, workflow_id;
    bool test_mode;
    int64_t run_no;
    enum run_status run_status;
    enum interrupt_row_state state;
    int64_t requested_ms, requested_seq, timeout_at_ms, resolved_ms; /* 0 = none */
    struct str resume_value, resolved_by, action, cause;
};
struct interrupt_list {
    struct interrupt_row *v;
    size_t n;
    int64_t next_ms; /* of a list of pending ones: the last one compared, when there may be more */
    struct str next_id;
};
/* By id; tenant empty = whoever's (tokens). INTERRUPT_NOT_FOUND. */
MUST_CHECK int store_interrupt_get(struct store *s, struct str tenant, bool test_mode,
                                   struct str interrupt_id, struct arena *a,
                                   struct interrupt_row *out, struct wopr_error *err);
/* All of a run, by request sequence; node empty = all nodes; open_only: pending ones. */
MUST_CHECK int store_interrupts_of_run(struct store *s, int64_t run_no, struct str node_id,
                                       bool open_only, struct arena *a, struct interrupt_list *out,
                                       struct wopr_error *err);
/* Pending ones, oldest first, of runs that have not ended (INT-47, STORE-9).  Empty members match
 * all; after_ms and after_id: the last one of the page before.  As store_run_list: of one tenant's
 * and mode's, at most STORE_EXAMINED_MAX are compared in one call, and the list may be short with
 * next_id set. */
struct interrupt_filter {
    struct str tenant;
    bool any_tenant, test_mode, any_mode, whole;
    struct str kind, run_id, owner_user_id; /* owner: subjectId of who created the run (STORE-9) */
    int64_t after_ms;
    struct str after_id;
    unsigned max;
};
MUST_CHECK int store_interrupts_pending(struct store *s, const struct interrupt_filter *f,
                                        struct arena *a, struct interrupt_list *out,
                                        struct wopr_error *err);
/* Runs that wait, are in nobody's memory for all the store knows, and have a timer due before
 * before_ms: they need a holder now (STORE-35). */
MUST_CHECK int store_runs_with_timer_due(struct store *s, int64_t before_ms, unsigned max,
                                         struct arena *a, struct run_no_list *out,
                                         struct wopr_error *err);
/* The invocation log of a run (STORE-42, D55), by node and ordinal: a row at a time, which lives
 * for the call only, since all answers of a run may be more than memory for one list.  The first
 * failure of `take` ends it. */
typedef int invocation_take(void *ctx, const struct plan_invocation *row, struct wopr_error *err);
MUST_CHECK int store_invocations(struct store *s, int64_t run_no, invocation_take *take, void *ctx,
                                 struct wopr_error *err);
/* Clear values of the variables that are shown masked (OBS-71): only the run itself may see them,
 * after a takeover. */
struct clear_var_list {
    struct run_view_item *v;
    size_t n;
};
MUST_CHECK int store_clear_vars(struct store *s, int64_t run_no, struct arena *a,
                                struct clear_var_list *out, struct wopr_error *err);
#define STORE_EXAMINED_MAX 1000u
/* Listing for tools and GET /v1/runs (newest first).  Empty filter members match all.  For one
 * tenant and mode the first of fork_of, parent_run_id, tag, workflow_id and status is found by an
 * index, the others are compared, at most STORE_EXAMINED_MAX runs in one call: then the list may be
 * short, even empty, and `next` says behind which run it goes on; so it is when their texts are
 * long.  For tools, of any tenant or
 * mode, or when `whole` is set, all are compared. */
struct run_filter {
    struct str tenant;
    bool any_tenant, test_mode, any_mode, whole;
    int status; /* -1 = all */
    struct str workflow_id, tag;
    struct str fork_of;       /* run id: only its forks */
    struct str parent_run_id; /* children of this run */
    int64_t before_run_no;
    unsigned max;
};
struct run_list_item {
    struct run_head head;
    struct str tenant, workflow_id, tags, parent_run_id;
    bool test_mode;
    int64_t created_ms, started_ms, completed_ms;
    struct run_fork fork; /* mode, source_run_id and from_seq */
};
struct run_list {
    struct run_list_item *v;
    size_t n;
    struct str next; /* id of the last run that was compared, empty: all were, or v is full */
};
MUST_CHECK int store_run_list(struct store *s, const struct run_filter *f, struct arena *a,
                              struct run_list *out, struct wopr_error *err);
MUST_CHECK int store_artifact_get(struct store *s, struct str tenant, bool test_mode,
                                  struct str run_id, struct str artifact_id, struct arena *a,
                                  struct plan_artifact *out, struct wopr_error *err);
/* Layer-1 look-up: 0 and *out for a stored response; NOT_FOUND; IDEM_CONFLICT when the digest
 * differs.  A transient entry past its time is NOT_FOUND (IDEM-9). */
MUST_CHECK int store_idem_find(struct store *s, const struct idem_key *k, int64_t now_ms,
                               struct arena *a, struct idem_response *out, struct wopr_error *err);
struct store_counts {
    int64_t runs, runs_open, events, bytes, wal_bytes;
    int64_t tenant_bytes; /* logs of the tenant that has most */
};
MUST_CHECK int store_count(struct store *s, struct store_counts *out, struct wopr_error *err);
/* What happened since the store was opened, for /metrics; costs no query. */
struct store_stats {
    struct metric_reading sync_ns;       /* COMMIT alone: frames written to the WAL and synced */
    struct metric_reading checkpoint_ns; /* waits for a sync too, after the answers are out */
    uint64_t checkpoints, checkpoints_busy, checkpoints_failed;
    bool failed; /* SYNC_FAILED was seen: nothing more is written */
};
void store_stats(struct store *s, struct store_stats *out);

/* ---------------------------------------------------------------- verify */
/* Physical checks: integrity_check, foreign keys, sequences without holes, next_seq, one terminal
 * event and it is the last, triggers and indexes present.  Calls report once per finding; returns 0
 * when the walk ended (even with findings). */
struct store_finding {
    int64_t run_no;
    struct str run_id;
    const char *what;
    char text[256];
};
MUST_CHECK int store_verify(struct store *s,
                            void (*report)(void *ctx, const struct store_finding *f), void *ctx,
                            struct wopr_error *err);

#endif
