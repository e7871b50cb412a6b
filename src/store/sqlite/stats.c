/*
 * stats.c: counters for operators: of the database, and of this process since it was opened.
 */
#include "base/fs.h"
#include "store/admin.h"
#include "store/sqlite/sql.h"
#include "store/sqlite/sqlite.h"

#include <stdio.h>

enum { WAL_PATH_MAX = 4096 };

void checkpoint_count(struct store *s, int sqlite_code, uint64_t ns) {
    int what = sqlite_code == SQLITE_OK                  ? CHECKPOINT_DONE
               : sql_neutral(sqlite_code) == WOPR_E_BUSY ? CHECKPOINT_BUSY
                                                         : CHECKPOINT_FAILED;
    atomic_fetch_add_explicit(&s->checkpoints[what], 1, memory_order_relaxed);
    metric_observe(&s->checkpoint_ns, &METRIC_DURATION, ns);
}

void store_stats(struct store *s, struct store_stats *out) {
    metric_read(&s->sync_ns, &out->sync_ns);
    out->failed = atomic_load(&s->poisoned);
}

static int64_t wal_bytes(const struct store *s) {
    char name[WAL_PATH_MAX];
    int n = snprintf(name, sizeof name, "%s-wal", s->path);
    return n > 0 && (size_t)n < sizeof name ? fs_size(name) : 0;
}

void sqlite_stats(struct store *s, struct sqlite_stats *out) {
    metric_read(&s->checkpoint_ns, &out->checkpoint_ns);
    out->checkpoints = atomic_load(&s->checkpoints[CHECKPOINT_DONE]);
    out->checkpoints_busy = atomic_load(&s->checkpoints[CHECKPOINT_BUSY]);
    out->checkpoints_failed = atomic_load(&s->checkpoints[CHECKPOINT_FAILED]);
    out->wal_bytes = wal_bytes(s);
}

int store_count(struct store *s, struct store_counts *out, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_COUNT, err);
    if (rc != 0) return rc;
    rc = query_step(&q, err);
    if (rc == 0) return wopr_error_set(err, WOPR_E_CORRUPT, "the row of counters is missing");
    if (rc < 0) return rc;
    struct store_counts n = {.runs = col_int(&q, 0),
                             .runs_open = col_int(&q, 1),
                             .events = col_int(&q, 2),
                             .bytes = col_int(&q, 3),
                             .tenant_bytes = col_int(&q, 4)};
    query_end(&q);
    *out = n;
    return 0;
}
