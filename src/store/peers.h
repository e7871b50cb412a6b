/*
 * peers.h: several hosts on one database: which are present, which are dead, what the others
 * changed (STORE-16, STORE-30 to STORE-36).  Layer: store.
 *
 * A serving host holds two locks for as long as its process lives: one marks its presence, one its
 * own holder number.  The others therefore know at once when it is dead; a stopped process keeps
 * its locks and loses its runs by silence.  Only a host that is alone upgrades a schema.  General
 * rules: store.h.
 */
#ifndef WOPR_STORE_PEERS_H
#define WOPR_STORE_PEERS_H

#include "store/store.h"

/* ---------------------------------------------------------------- presence */
/* A write.  Announce the caller, before it takes any run: from now on other hosts leave a record
 * for store_moves in each transaction that changes runs. ttl_ms: silence after which others may
 * take its runs; until_ms: wall clock, shown. *holder_no: its number; *last_move: where to start
 * reading records.  BUSY after three tries. */
MUST_CHECK int store_join(struct store *s, struct str holder, int64_t ttl_ms, int64_t until_ms,
                          int64_t *holder_no, int64_t *last_move, struct wopr_error *err);
/* Is another host present?  One system call, no query.  true when locks are not used. */
bool store_has_peers(const struct store *s);
enum holder_state { HOLDER_ALIVE, HOLDER_DEAD, HOLDER_UNKNOWN /* locks are not used */ };
/* One system call, no query.  When the call fails the holder counts as alive. */
enum holder_state store_holder_state(const struct store *s, int64_t holder_no);

struct holder_row {
    int64_t holder_no;
    int64_t beat; /* incremented at every renewal */
    int64_t ttl_ms;
    struct str name;
};
struct holder_row_list {
    struct holder_row *v;
    size_t n;
};
/* Holders that have not released their leases, the caller included; by number. */
MUST_CHECK int store_holders(struct store *s, struct arena *a, struct holder_row_list *out,
                             struct wopr_error *err);
/* The same for people to read: with what they hold.  Of runs at most max are counted, of all
 * holders together. */
struct holder_view {
    int64_t holder_no, ttl_ms, until_ms, runs;
    struct str name;
    bool self; /* it is the caller */
};
struct holder_view_list {
    struct holder_view *v;
    size_t n;
};
MUST_CHECK int store_holders_view(struct store *s, int64_t max, struct arena *a,
                                  struct holder_view_list *out, struct wopr_error *err);
/* A write.  Remove a dead holder from that list, unless it still has runs.  The caller has found it
 * dead. */
MUST_CHECK int store_holder_retire(struct store *s, int64_t holder_no, struct wopr_error *err);

/* ---------------------------------------------------------------- changes by other hosts */
/* A number that differs after every commit of another connection (STORE-16); compare it only with
 * what the same thread read before. */
MUST_CHECK int store_data_version(struct store *s, int64_t *version, struct wopr_error *err);

enum {                     /* in place of next_seq */
       MOVED_CLAIMED = -1, /* its lease changed */
       MOVED_GIVEN = -2,
       MOVED_TASKS = -3 /* a task of it is ready again */
};
struct moved_run {
    int64_t run_no, next_seq;
};
struct move_row { /* one transaction of another host */
    int64_t move_no, holder_no;
    size_t runs_nr; /* 0: the holder released all its leases */
    struct moved_run *runs;
};
struct move_row_list {
    struct move_row *v;
    size_t n;
};
/* Change records with move_no > after, ascending, at most max.  Only the last few thousand are
 * kept: a caller that finds a gap must examine every run. */
MUST_CHECK int store_moves(struct store *s, int64_t after, unsigned max, struct arena *a,
                           struct move_row_list *out, struct wopr_error *err);

#endif
