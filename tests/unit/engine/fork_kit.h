/* fork_kit.h: forks of the tests of engine, and what they must have in common with their source. */
#ifndef WOPR_TESTS_FORK_KIT_H
#define WOPR_TESTS_FORK_KIT_H

#include "engine_world.h"

int fork_try(struct str source, enum fork_mode mode, int64_t from, struct fork_overlay over,
             struct str *run_id, struct wopr_error *err);
struct str fork_run(struct str source, enum fork_mode mode, int64_t from);
void fork_same_prefix(struct str source, struct str fork, int64_t from);
/* What is compared of both logs from a sequence on is equal, times included. */
void fork_same_tail(struct str source, struct str replay, int64_t from);
/* Two replays: both end so, without divergence, equal to the source and to each other. */
void fork_replays_equal(struct str source, int64_t from, enum run_status end);
/* Until the run waits for somebody, or has ended. */
void world_wait_settled(struct str run_id);

#endif
