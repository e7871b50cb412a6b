/* twin_kit.c: see twin_kit.h. */
#include "unit/engine/twin_kit.h"

#include "store/sqlite/sqlite.h"

#include <criterion/criterion.h>
#include <stdio.h>

struct twin TWINS[2];
static struct twin FIRST; /* what world_up made, put aside */

void twin_be(unsigned i) {
    W.store = TWINS[i].store;
    W.journal = TWINS[i].journal;
    W.engine = TWINS[i].engine;
    W.also = TWINS[1 - i].engine;
}

void twin_up(unsigned i) {
    struct wopr_error err = {0};
    const struct wf_env env = {.definition_schema = FIRST.engine->wf_env.definition_schema};
    const struct journal_config lc = {.queue_max = 0};
    struct engine_config cfg = W.cfg;
    char path[288];
    snprintf(path, sizeof path, "%s/twins.db", W.dir);
    struct store_config sc = {.path = path, .sync = STORE_SYNC_OFF, .host_lock = true};
    struct twin *t = &TWINS[i];
    snprintf(t->holder, sizeof t->holder, "twin-%u-%u", i, ++W.starts);
    cfg.holder = t->holder;
    cfg.sole_host = false;
    cfg.lease_ttl_ms = 600000; /* so that no run's delay skips a lease */
    cfg.heartbeat_ms = 200000;
    cr_assert_eq(store_open(&sc, &t->store, &err), 0, "%s", err.message);
    cr_assert_eq(journal_new(t->store, &lc, &t->journal, &err), 0);
    cr_assert_eq(journal_start(t->journal, &err), 0);
    cr_assert_eq(engine_new(t->journal, W.rules, W.types, &env, &cfg, &t->engine, &err), 0);
    cr_assert_eq(engine_start(t->engine, &err), 0, "%s", err.message);
}

void twin_down(unsigned i, bool release) {
    struct twin *t = &TWINS[i];
    if (!t->engine) return;
    if (W.also == t->engine) W.also = NULL;
    engine_halt(t->engine, release);
    engine_free(t->engine);
    journal_stop(t->journal);
    journal_free(t->journal);
    store_close(t->store); /* its locks go with it */
    *t = (struct twin){0};
}

void twins_up(void) {
    world_virtual_time();
    world_up();
    FIRST = (struct twin){.store = W.store, .journal = W.journal, .engine = W.engine};
    twin_up(0);
    twin_up(1);
    twin_be(0);
}

void twins_down(void) {
    twin_down(0, true);
    twin_down(1, true);
    W.store = FIRST.store;
    W.journal = FIRST.journal;
    W.engine = FIRST.engine;
    W.also = NULL;
    world_down();
}
