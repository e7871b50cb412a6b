/*
 * store.h: the storage port: what its headers share.  Layer: store.
 *
 * The port takes plans in and gives rows out; it does not know what an event means beyond its
 * columns.  One backend so far, opened by sqlite/sqlite.h.  Include the header of the subject:
 *
 *   append.h      commit plans; stored answers of idempotent requests
 *   events.h      the log of a run
 *   runs.h        one run: its row, its view, what its holder needs
 *   run_lists.h   many runs: lists, and what hosts look for
 *   interrupts.h  open questions of runs
 *   leases.h      who may append to a run
 *   peers.h       other hosts on the same database
 *   keys.h        API keys, token secrets
 *   workflows.h   definitions
 *   packs.h       the registry of packs
 *   upkeep.h      retention, checkpoints
 *   admin.h       counts, statistics, verification
 *
 * Rules for every function, unless its contract says otherwise
 *   Threads    A read may be called by any thread and uses that thread's own connection; it waits
 *              for no writer and sees the last commit.  A write (so marked) waits for the one
 *              writer and blocks for a sync; a running host calls it on the committer's thread
 *              (journal_side), a tool from where it likes.
 *   Ownership  Arguments are borrowed for the call.  Results live in the arena given.  Outputs are
 *              set on success only.
 *   Visibility tenant and test_mode are part of the query that fetches a row (AUTH-8, AUTH-9): a
 *              row of another tenant or mode is NOT_FOUND.  run_no names a run that the caller has
 *              already been allowed to see.
 *   Times      Milliseconds of the wall clock, unless they are durations.
 *   Errors     0, a code named in the contract, or a failure of the machine: NO_MEMORY, IO,
 *              DISK_FULL, BUSY, CORRUPT, INTERNAL; CONFIG for a write to a read-only store; and
 *              after a failed sync SYNC_FAILED from every call until the store is opened again.
 *              Code names stand without their prefix WOPR_E_.
 */
#ifndef WOPR_STORE_STORE_H
#define WOPR_STORE_STORE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#include <stdint.h>

struct store;
/* Close it when no other thread uses it any more.  Blocks for a last checkpoint.  Takes NULL. */
void store_close(struct store *s);

#define STORE_LIST_MAX     10000u /* rows of any one answer */
#define STORE_EXAMINED_MAX 1000u  /* rows compared for one page of a tenant's list */

struct run_no_list {
    int64_t *v;
    size_t n;
};

#endif
