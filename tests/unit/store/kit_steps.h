/* kit_steps.h: what a write costs, in steps of SQLite's machine: the same on every computer. */
#ifndef WOPR_TESTS_KIT_STEPS_H
#define WOPR_TESTS_KIT_STEPS_H

#include "store/sqlite/sql.h"
#include "unit/store/kit.h"

static int64_t kit_steps;
static int kit_step_count(void *ctx) { return (void)ctx, kit_steps++, 0; }
/* Between the two calls steps of the writer are counted. */
static void kit_steps_begin(struct kit *k) {
    kit_steps = 0;
    sqlite3_progress_handler(k->s->writer->db, 1, kit_step_count, NULL);
}
static int64_t kit_steps_end(struct kit *k) {
    sqlite3_progress_handler(k->s->writer->db, 0, NULL, NULL);
    return kit_steps;
}

#endif
