/*
 * hooks_world.h: the dispatcher of webhooks with a real store, journal, vault and egress, and a
 * receiver on loopback that treats each path as it is told.
 */
#ifndef WOPR_TESTS_HOOKS_WORLD_H
#define WOPR_TESTS_HOOKS_WORLD_H

#include "egress/egress.h"
#include "hooks/hooks.h"
#include "store/vault.h"
#include "unit/store/kit.h"

enum { WORLD_WAIT_MS = 40000 };

struct hooks_world {
    struct kit k;
    struct journal *j;
    struct vault *v;
    struct egress *eg;
    struct hooks *h;         /* NULL: not running */
    struct hooks_config cfg; /* of the next world_start */
};
extern struct hooks_world W;

void world_up(void);   /* Criterion .init; the dispatcher is not started */
void world_down(void); /* .fini */
void world_start(void);
int world_start_try(void); /* 0, or what failed; for rounds of failing allocations */
void world_stop(void);
/* Webhook of a tenant at a path of the receiver, for run.completed and log.appended. */
const char *world_add(const char *tenant, const char *path, const char *tags);
void world_remove(const char *tenant, const char *webhook_id);
/* A run of a tenant, each event a commit of its own: n log.appended. */
int64_t world_run(const char *tenant, const char *run_id, unsigned n, size_t payload_n);
int64_t world_run_tagged(const char *tenant, const char *run_id, unsigned n, const char *tags);
/* The first n < 8 events of a run without any, while the nth allocation of the process fails. */
void world_events_armed(int64_t run_no, unsigned n, unsigned nth);
/* A run with a callback URL at a path of the receiver, and its nth question (0..), with its event,
 * in one commit, while allocation `armed` of the process fails (0: none); its id is RUN-n. */
int64_t world_caller(const char *tenant, const char *run_id, const char *path);
void world_ask(int64_t run_no, const char *run_id, unsigned n, unsigned armed);
void world_purge(int64_t run_no, unsigned seq); /* the run ends, and retention takes it */
struct hook_item world_get(const char *tenant, const char *webhook_id);
struct hook_dead_list world_deads(const char *tenant, const char *webhook_id);
int64_t world_count(const char *sql); /* one number */
void world_sql(const char *sql);      /* by another program */

/* --- the receiver --- */
enum { RX_OK = 0, RX_HANG = -1 }; /* else: a status */
struct rx_got {
    char path[32], run[48];
    int64_t seq;
    size_t bytes;
};
/* How requests to paths that begin so are treated; the latest rule that fits holds. */
void rx_act(const char *path, int act);
size_t rx_count(const char *path); /* paths that begin so */
bool rx_at(const char *path, size_t i, struct rx_got *out);
bool rx_wait(const char *path, size_t n); /* bounded */
void rx_forget(void);
uint64_t world_ms(void);
void world_nap(void);                                    /* in bounded loops only */
bool world_patient(uint64_t until_ms, const char *what); /* fails the test when it is over */
/* WORLD_UNTIL(cond) { looked at each time }: bounded. */
#define WORLD_UNTIL(cond)                                                                          \
    for (uint64_t end_ms_ = world_ms() + WORLD_WAIT_MS; !(cond) && world_patient(end_ms_, #cond);  \
         world_nap())

#endif
