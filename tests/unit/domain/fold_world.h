/*
 * fold_world.h: a small workflow, its state, and events made by hand, for the tests of the fold.
 */
#ifndef WOPR_TESTS_FOLD_WORLD_H
#define WOPR_TESTS_FOLD_WORLD_H

#include "domain/plan.h"
#include "domain/state.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define FW_RUN_ID "run_01ARZ3NDEKTSV4RRFFQ69G5FAV"
#define FW_T0     1700000000000

struct fold_world {
    struct workflow *wf;
    struct run_state *s;
    struct wopr_error err;
    int64_t now_ms;
};

/* Three nodes a, b, c without edges, so that a test may end them in any order. */
extern const char *const FW_PARALLEL;
/* a -> b -> c, with variables and channels. */
extern const char *const FW_CHAIN;
/* a -> b -> a, entered at a. */
extern const char *const FW_LOOP;

struct workflow *fw_compile(const char *text);
void fw_up(struct fold_world *w, const char *workflow, const char *inputs);
void fw_down(struct fold_world *w);
/* Fold one event one millisecond after the last; returns the code. */
int fw_event(struct fold_world *w, enum ev_kind k, const char *node, const char *payload);
/* The same, and it has to be taken and leave a sound state. */
void fw_take(struct fold_world *w, enum ev_kind k, const char *node, const char *payload);
void fw_start(struct fold_world *w);
void fw_node(struct fold_world *w, enum ev_kind k, const char *node);
/* The state as text: everything that is shown of it.  Ends with mem_free. */
char *fw_text(const struct run_state *s);
struct run_state *fw_state(struct workflow *wf, const char *inputs);
const char *fw_chan(struct fold_world *w, const char *name,
                    int64_t now_ms); /* until the next call */

#endif
