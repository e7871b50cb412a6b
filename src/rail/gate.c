/*
 * gate.c: see rail_int.h.  A gate is a number that was given to one holder: what was released, or
 * taken by another call since, is told by its number before anything is read or written.
 */
#include "rail/rail_int.h"

int rail_gate_enter(struct rail *r, struct str session_id, struct rail_gate *g,
                    struct wr_fault *f) {
    int rc = 0;
    *g = (struct rail_gate){.rail = r, .session_id = session_id, .holder = pthread_self()};
    pthread_mutex_lock(&r->gates_lock);
    const struct rail_gate *held = map_get(r->gates, session_id);
    if (held && pthread_equal(held->holder, g->holder))
        rc = wr_fail(f, WR_SESSION_LOCK_REENTRANT, "", "this call has the session already");
    else if (held)
        rc = wr_fail(f, WR_SESSION_LOCKED, "",
                     "another call changes this session; repeat the same call in a second");
    else if (map_put(r->gates, session_id, g, NULL) != 0) rc = wr_no_memory(f);
    else g->generation = ++r->generation;
    pthread_mutex_unlock(&r->gates_lock);
    return rc;
}

void rail_gate_leave(struct rail_gate *g) {
    if (g->generation == 0) return;
    pthread_mutex_lock(&g->rail->gates_lock);
    (void)map_del(g->rail->gates, g->session_id);
    pthread_mutex_unlock(&g->rail->gates_lock);
    g->generation = 0;
}

int rail_gate_check(const struct rail_gate *g, struct str session_id, struct wr_fault *f) {
    bool good = false;
    if (g->generation != 0 && str_eq(g->session_id, session_id)) {
        pthread_mutex_lock(&g->rail->gates_lock);
        const struct rail_gate *held = map_get(g->rail->gates, session_id);
        good = held && held->generation == g->generation;
        pthread_mutex_unlock(&g->rail->gates_lock);
    }
    if (good) return 0;
    return wr_fail(f, WR_SESSION_STORE_INVARIANT_VIOLATION, "",
                   "an append without the lock of its session is refused");
}
