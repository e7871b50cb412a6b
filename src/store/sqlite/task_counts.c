/*
 * task_counts.c: keeps task_counts in step with the states of worker_tasks, whatever statement
 * changes them: by temporary triggers of the writing connection, which fire although it does
 * without those of the file (conn.c).  So a scrape costs the same however many tasks wait (WRK-24).
 */
#include "store/sqlite/sql.h"

/* Of the type of a task; a type without tasks has no row. */
#define COUNTS_ADD(of, ready, leased)                                                              \
    "INSERT INTO task_counts (tenant, test_mode, type_id, ready, leased) VALUES (" of              \
    ".tenant, " of ".test_mode, " of ".type_id, " ready ", " leased                                \
    ") ON CONFLICT (tenant, test_mode,"                                                            \
    " type_id) DO UPDATE SET ready = ready + excluded.ready, leased = leased + excluded.leased;"
#define COUNTS_TRIM(of)                                                                            \
    " DELETE FROM task_counts WHERE tenant = " of ".tenant AND test_mode = " of ".test_mode"       \
    " AND type_id = " of ".type_id AND ready = 0 AND leased = 0;"

static const char TRIGGERS[] =
    "CREATE TEMP TRIGGER worker_tasks_begin AFTER INSERT ON main.worker_tasks WHEN NEW.state < 2"
    " BEGIN " COUNTS_ADD(
        "NEW", "(NEW.state = 0)",
        "(NEW.state = 1)") " END;"
                           "CREATE TEMP TRIGGER worker_tasks_move AFTER UPDATE OF state ON "
                           "main.worker_tasks"
                           " WHEN NEW.state <> OLD.state AND (NEW.state < 2 OR OLD.state < 2) "
                           "BEGIN " COUNTS_ADD("NEW", "(NEW.state = 0) - (OLD.state = 0)",
                                               "(NEW.state = 1) - (OLD.state = 1)")
                               COUNTS_TRIM("NEW") " END;"
                                                  "CREATE TEMP TRIGGER worker_tasks_leave AFTER "
                                                  "DELETE ON main.worker_tasks WHEN OLD.state < 2"
                                                  " BEGIN " COUNTS_ADD("OLD", "-(OLD.state = 0)",
                                                                       "-(OLD.state = 1)")
                                                      COUNTS_TRIM("OLD") " END;";

int task_counts_begin(struct conn *c, struct wopr_error *err) {
    return conn_exec(c, TRIGGERS, err);
}
