/* rounds.c: see rounds.h. */
#include "faults/rounds.h"

#include "base/fault.h"
#include "support/sampled.h"

#include <stdio.h>

enum { ROUNDS_MAX = 20000 };

struct trial { /* one way to fail */
    const char *name;
    unsigned sites;
    enum fault_write style;
    bool sticky;
    int code;
    int code_ours; /* of the files that the store makes itself; 0: it has no such call */
};
static const struct trial TRIALS[] = {
    {"write error", 1u << FAULT_WRITE, FAULT_WRITE_ERROR, false, WOPR_E_IO, WOPR_E_DISK_FULL},
    {"broken disk", 1u << FAULT_WRITE, FAULT_WRITE_ERROR, true, WOPR_E_IO, WOPR_E_DISK_FULL},
    {"full", 1u << FAULT_WRITE, FAULT_WRITE_FULL, false, WOPR_E_DISK_FULL, WOPR_E_DISK_FULL},
    {"short write", 1u << FAULT_WRITE, FAULT_WRITE_SHORT, true, WOPR_E_DISK_FULL, WOPR_E_DISK_FULL},
    {"sync", 1u << FAULT_FSYNC, FAULT_WRITE_ERROR, false, WOPR_E_SYNC_FAILED, WOPR_E_IO},
    {"delete", 1u << FAULT_RENAME, FAULT_WRITE_ERROR, false, WOPR_E_IO, 0},
    {"memory", 1u << FAULT_MALLOC, FAULT_WRITE_ERROR, false, WOPR_E_NO_MEMORY, 0},
};
#define TRIALS_NR (sizeof TRIALS / sizeof *TRIALS)

/* The allocations of a start are thousands: each of the first, then ever fewer.  A scene that plays
 * every nth round plays others in each trial. */
static unsigned round_next(const struct scene *sc, const struct trial *t, unsigned n) {
    bool many = t->sites == 1u << FAULT_MALLOC || sc->writes_are_many;
    const unsigned first = sc->every > 0 ? 2 : sampled(8); /* up to here each is played */
    unsigned more = world_pace();
    if (sc->every > 0) more *= sc->every + (unsigned)(t - TRIALS);
    if (n < first) more = 1;
    else if (n == first) more -= world_today();
    if (!many || n < 40) return n + more;
    unsigned step = more * (1 + n / (sc->stride ? sc->stride : 200));
    return n + (step < n ? step : n); /* it meets no fault before ROUNDS_MAX */
}

static void round_end(const struct scene *sc, const struct trial *t, unsigned n, int rc) {
    char when[128];
    bool fired = fault_fired();
    fault_disarm();
    fault_vfs_heal();
    snprintf(when, sizeof when, "%s: %s %u", sc->name, t->name, n);
    bool known = rc == t->code || (t->code_ours != 0 && rc == t->code_ours);
    cr_assert(rc == 0 || (fired && known), "%s: %s: %s", when, wopr_err_name(rc), W.err.message);
    world_close();
    cr_assert_eq(world_open(), 0, "%s: %s", when, W.err.message);
    if (sc->restart) sc->restart();
    world_check(when);
    if (sc->check) sc->check(rc);
    world_close();
}

void scene_play(const struct scene *sc) {
    for (size_t i = 0; i < TRIALS_NR; i++) {
        const struct trial *t = &TRIALS[i];
        unsigned n = 1;
        if (sc->no_memory_trial && t->code == WOPR_E_NO_MEMORY) continue;
        for (; n < ROUNDS_MAX; n = round_next(sc, t, n)) {
            world_load();
            if (sc->opened) cr_assert(sc->opened(), "%s: %s", sc->name, W.err.message);
            fault_vfs_style(t->style, t->sticky);
            if (!fault_arm(t->sites, n)) {
                if (sc->dropped) sc->dropped();
                break;
            }
            int rc = sc->act();
            round_end(sc, t, n, rc);
        }
        fault_disarm();
        world_close();
        cr_assert_lt(n, (unsigned)ROUNDS_MAX, "%s: %s never ends", sc->name, t->name);
    }
}

void scene_play_new(const struct scene *sc, void (*before)(void)) {
    for (size_t i = 0; i < TRIALS_NR; i++) {
        const struct trial *t = &TRIALS[i];
        for (unsigned n = 1;; n = round_next(sc, t, n)) {
            world_close();
            before();
            fault_vfs_style(t->style, t->sticky);
            if (!fault_arm(t->sites, n)) break;
            round_end(sc, t, n, sc->act());
        }
        fault_disarm();
    }
}

bool scene_open(void) { return world_open() == 0; }
