/* worker_kit.h: a worker of the tests of engine: types, claims, what it says, heartbeats. */
#ifndef WOPR_TESTS_WORKER_KIT_H
#define WOPR_TESTS_WORKER_KIT_H

#include "engine/workers.h"
#include "engine_world.h"

void worker_type_put(const char *id);
/* With schemas, NULL: none; *t: as it is stored, may be NULL.  What it came to. */
int worker_type_try(const char *id, const char *input, const char *output, struct worker_type *t);
int worker_type_remove(const char *id);
/* At most max tasks of a type, in W.a. */
struct task_row_list worker_claim(const char *type, size_t max, int64_t lease_ms);
struct task_row_list worker_claim_of(const struct str *types, size_t n, size_t max,
                                     int64_t lease_ms);
/* Any operation of the tenant of the tests; what it came to. */
int worker_op(struct engine_task_op *o);
int worker_beat(const struct task_row *t);
/* What the command came to, whatever that is. */
int worker_say(const struct task_row *t, const struct task_says *says, struct wopr_error *err);

#endif
