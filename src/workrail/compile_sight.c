/*
 * compile_sight.c: the functions that a step names are in its sight: those of the workflow, of the
 * loops around it, and its own (WR-207).  A name that leads to none would show the agent nothing,
 * and no one would be told why.
 */
#include "base/map.h"
#include "base/near.h"
#include "workrail/compile_int.h"

enum { LEVELS_MAX = 1 + WR_LOOP_DEPTH_MAX };

struct sight {
    struct build *b;
    struct {
        const struct wr_functions *functions;
        struct map *names;
    } levels[LEVELS_MAX]; /* the workflow, then loops from the outermost on */
    size_t levels_nr;
    size_t step; /* in w->steps, which are in the order of the items */
};

static void level_enter(struct sight *s, const struct wr_functions *functions) {
    struct map *names = map_new();
    bool good = names != NULL;
    for (size_t i = 0; good && i < functions->nr; i++)
        good = map_put(names, functions->v[i].name, s, NULL) == 0;
    if (!good) s->b->no_memory = true;
    s->levels[s->levels_nr].functions = functions;
    s->levels[s->levels_nr++].names = names;
}

static void level_leave(struct sight *s) { map_free(s->levels[--s->levels_nr].names); }

static bool name_seen(const struct sight *s, const struct wr_step *step, struct str name) {
    for (size_t i = 0; i < s->levels_nr; i++)
        if (map_get(s->levels[i].names, name) != NULL) return true;
    for (size_t i = 0; i < step->functions.nr; i++)
        if (str_eq(step->functions.v[i].name, name)) return true;
    return false;
}

static void name_wrong(const struct sight *s, const struct wr_step *step, size_t i) {
    struct str name = step->function_refs.v[i], pointer = s->b->pointers[s->step];
    struct near near;
    char hint[NEAR_HINT];
    near_init(&near, name);
    for (size_t k = 0; k < step->functions.nr; k++) near_try(&near, step->functions.v[k].name);
    for (size_t l = 0; l < s->levels_nr; l++)
        for (size_t k = 0; k < s->levels[l].functions->nr; k++)
            near_try(&near, s->levels[l].functions->v[k].name);
    build_wrong(s->b, arena_printf(s->b->a, STR_FMT "/functionReferences/%zu", STR_ARG(pointer), i),
                "no function of this name is defined for the step, a loop around it or the "
                "workflow: %.*s%s",
                name.n > 64 ? 64 : (int)name.n, name.p, near_hint(&near, hint));
}

static void items_walk(struct sight *s, const struct wr_items *items) {
    const struct wr_workflow *w = s->b->w;
    for (size_t i = 0; i < items->nr && !s->b->no_memory; i++) {
        if (items->v[i].loop) {
            const struct wr_loop *loop = &w->loops.v[wr_workflow_loop(w, items->v[i].id)];
            level_enter(s, &loop->functions);
            if (!s->b->no_memory) items_walk(s, &loop->body);
            level_leave(s);
            continue;
        }
        const struct wr_step *step = &w->steps.v[s->step];
        for (size_t k = 0; k < step->function_refs.nr; k++)
            if (!name_seen(s, step, step->function_refs.v[k])) name_wrong(s, step, k);
        s->step++;
    }
}

void build_sight(struct build *b) {
    struct sight s = {.b = b};
    level_enter(&s, &b->w->functions);
    if (!b->no_memory) items_walk(&s, &b->w->order);
    level_leave(&s);
}
