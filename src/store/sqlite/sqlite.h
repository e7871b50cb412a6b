/*
 * sqlite.h: the SQLite backend for those who open it: the host, the command line, tests.  Layer:
 * store.  Everything else includes the headers of the port (store/store.h).
 */
#ifndef WOPR_STORE_SQLITE_SQLITE_H
#define WOPR_STORE_SQLITE_SQLITE_H

#include "base/metric.h"
#include "store/store.h"

enum store_sync { STORE_SYNC_FULL, STORE_SYNC_NORMAL, STORE_SYNC_OFF };
struct store_config {
    const char *path;     /* database file; missing folders are made (0700) */
    enum store_sync sync; /* default FULL (STORE-11); only FULL survives a loss of power */
    int busy_timeout_ms;  /* wait for another process; <= 0: 5000 */
    bool read_only;       /* tools: no migration, no lock, every write is CONFIG */
    bool host_lock;       /* a serving host: several may share the file, see peers.h */
    bool exclusive;       /* with host_lock: refuse when another live host has the file (LOCKED) */
    const char *vfs;      /* SQLite's VFS, NULL = its default; tests name their own */
};
/* Open the file, create it, migrate it forward (migrations/sqlite/NNNN_name.sql are embedded; their
 * checksums are recorded and compared).  Copies cfg.  SCHEMA_NEWER; CORRUPT (not ours, damaged, or
 * a changed migration); LOCKED; CONFIG; the machine's.  The message names file and remedy. */
MUST_CHECK int store_open(const struct store_config *cfg, struct store **out,
                          struct wopr_error *err);

struct sqlite_stats {                    /* since the store was opened, for /metrics */
    struct metric_reading checkpoint_ns; /* includes a sync, after the answers were sent */
    uint64_t checkpoints, checkpoints_busy, checkpoints_failed;
    int64_t wal_bytes; /* of the WAL file now, 0 = none */
};
/* Any thread; asks the file system for one size. */
void sqlite_stats(struct store *s, struct sqlite_stats *out);

#endif
