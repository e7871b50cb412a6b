/*
 * sched_world.h: the scheduler driven through the fold by hand-made events, with a virtual clock.
 */
#ifndef WOPR_TESTS_SCHED_WORLD_H
#define WOPR_TESTS_SCHED_WORLD_H

#include "domain/state.h"

struct world {
    struct workflow *w;
    struct run_state *s;
    struct run_state *turns; /* or NULL: the same log, folded in turns of random length */
    uint32_t seed;
    int64_t now;
    struct buf trace; /* "+a" start, "-a" skip, "!a" loop limit, "#a" cap, "FAIL a", "DONE" */
};

/* How a node ends once started; NULL in a table means completed with {}. */
struct script {
    const char *node, *ends; /* "fail", "cancel", "hold", or outputs as raw JSON */
};

#define FAILED_PAYLOAD "{\"error\":{\"code\":\"boom\",\"message\":\"m\"}}"

void world_up(struct world *x, const char *nodes, const char *edges, const char *more,
              const char *options);
void world_down(struct world *x);
uint32_t dice(uint32_t *seed, uint32_t sides);
int try_event(struct world *x, enum ev_kind kind, int node, const char *payload);
void event(struct world *x, enum ev_kind kind, int node, const char *payload);
int at(const struct world *x, const char *id);
struct sched_action next(const struct world *x);
bool step(struct world *x, const struct script *sc);
const char *play(struct world *x, const struct script *sc);

#define N(id)     "{\"id\":\"" id "\",\"typeId\":\"core.noop\",\"name\":\"n\"}"
#define NX(id, m) "{\"id\":\"" id "\",\"name\":\"n\"," m "}"
#define NOFF(id)  NX(id, "\"typeId\":\"core.noop\",\"disabled\":true")
#define NT(id, t) NX(id, "\"typeId\":\"" t "\"")
#define E(f, t)   "{\"id\":\"" f t "\",\"sourceNodeId\":\"" f "\",\"targetNodeId\":\"" t "\"}"
#define ER(f, t, r)                                                                                \
    "{\"id\":\"" f t r "\",\"sourceNodeId\":\"" f "\",\"targetNodeId\":\"" t                       \
    "\",\"triggerRule\":\"" r "\"}"
#define EC(f, t, c)                                                                                \
    "{\"id\":\"" f t "c\",\"sourceNodeId\":\"" f "\",\"targetNodeId\":\"" t                        \
    "\",\"condition\":{\"expression\":\"" c "\"}}"
#define S(...) ((const struct script[]){__VA_ARGS__, {NULL, NULL}})

#endif
