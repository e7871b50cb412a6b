/* checkpoint_kit.h: checkpoints of the tests of engine: whether they are true, and what can become
 * of them. */
#ifndef WOPR_TESTS_CHECKPOINT_KIT_H
#define WOPR_TESTS_CHECKPOINT_KIT_H

#include "engine_world.h"

struct points {
    unsigned n;
    int64_t bytes, gap, last;
};

void world_restart(void); /* no run is in memory: what comes next is loaded */
void world_sound(void);   /* all rows are what the logs fold to, checkpoints included */
struct run_state *checkpoint_fresh(const struct run_origin *o, struct workflow *wf);
/* Each checkpoint of the run is what its log folds to. */
struct points checkpoints_check(struct str run, struct workflow *wf);

/* What happens to the checkpoints of a waiting run before it is loaded: [0] nothing. */
struct checkpoint_damage {
    const char *what, *sql;
};
enum { CHECKPOINT_DAMAGES = 11 };
extern const struct checkpoint_damage CHECKPOINT_DAMAGE[CHECKPOINT_DAMAGES];

#endif
