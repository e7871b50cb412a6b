/*
 * core.c: stops all writing after a failed sync.
 */
#include "engine/core.h"

void engine_break(struct engine *e, const char *where) {
    pthread_mutex_lock(&e->mu);
    bool first = !e->life.broken;
    e->life.broken = true;
    pthread_mutex_unlock(&e->mu);
    if (first)
        log_error("a sync of the database failed: no run goes on until the host is restarted",
                  "where", where);
}

bool engine_is_broken(struct engine *e) { return e->life.broken; }
bool engine_is_stopping(struct engine *e) { return e->life.stopping; }
