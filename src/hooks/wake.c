/*
 * wake.c: how the dispatcher is woken, and what it says of a store that fails.
 */
#include "hooks/hooks_int.h"

void hooks_kick(struct hooks *h) {
    pthread_mutex_lock(&h->mu);
    h->kicked = true;
    h->look = true;
    pthread_cond_signal(&h->tick);
    pthread_mutex_unlock(&h->mu);
}

void hooks_trouble(struct hooks *h, const char *what, const struct wopr_error *err) {
    uint64_t held = 0;
    if (log_gate_pass(&h->store_gate, &held)) log_warn(what, "why", err->message);
}
