/*
 * Power cuts under journal_append with synchronous=FULL (STORE-1, STORE-2, STORE-11, IDEM-12, E16).
 * WOPR_CUTS: how many per disk (default 90, a part under sanitizers; three disks);
 * WOPR_FAULT_SEED: another story.
 */
#include "faults/world.h"
#include "store/leases.h"
#include "store/runs.h"
#include "store/sqlite/sqlite.h"
#include "support/sampled.h"

#include <semaphore.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    CUTS_DEFAULT = 90,
    RUNS_PER_FILE = 40,
    CUTS_PER_FILE = 15,
    BATCH_MAX = 6,
    ROUNDS_MAX = 60 /* between two cuts */
};

TestSuite(power_cut, .init = world_up, .fini = world_down, .timeout = 600);

struct flight { /* a plan handed to the log */
    struct world_run *run;
    struct plan *plan;
    int rc;
};
static struct flight flights[BATCH_MAX];
static sem_t landed;

static uint64_t number(const char *env, uint64_t otherwise) {
    const char *text = getenv(env);
    uint64_t v;
    return text && str_u64(str_c(text), &v) ? v : otherwise;
}

static void on_done(void *ctx, struct plan *p, int rc) {
    struct flight *f = ctx;
    (void)p;
    f->rc = rc;
    sem_post(&landed);
}

static void log_up(void) {
    cr_assert_eq(journal_new(W.store, NULL, &W.journal, &W.err), 0, "%s", W.err.message);
    cr_assert_eq(journal_start(W.journal, &W.err), 0, "%s", W.err.message);
}

static void all_down(void) {
    journal_free(W.journal); /* stops it */
    W.journal = NULL;
    world_close();
}

/* Some unfinished run that is not in the batch yet, or a new one; NULL when the file has enough. */
static struct world_run *pick(size_t taken) {
    if (W.runs_nr < RUNS_PER_FILE && world_chance(3) == 0) return world_new_run();
    for (int tries = 0; W.runs_nr > 0 && tries < 20; tries++) {
        struct world_run *r = &W.runs[world_chance(W.runs_nr)];
        size_t i = 0;
        while (i < taken && flights[i].run != r) i++;
        if (i == taken && r->done < STEPS) return r;
    }
    return W.runs_nr < RUNS_PER_FILE ? world_new_run() : NULL;
}

/* Several plans at once, so that they share a transaction.  false: every run of the file ended. */
static bool batch(void) {
    size_t n = 0, want = 1 + world_chance(BATCH_MAX);
    for (; n < want; n++) {
        struct world_run *r = pick(n);
        if (!r) break;
        flights[n] = (struct flight){.run = r, .plan = world_plan(r)};
    }
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(journal_append(W.journal, flights[i].plan, on_done, &flights[i]), 0);
    for (size_t i = 0; i < n; i++)
        while (sem_wait(&landed) != 0) continue;
    for (size_t i = 0; i < n; i++) {
        struct flight *f = &flights[i];
        cr_assert(f->rc == 0 || power_is_cut(), "%s without a cut", wopr_err_name(f->rc));
        world_settle(f->run, f->plan, f->rc);
        plan_unref(f->plan);
    }
    return n > 0;
}

/* As another process would; whether it succeeds does not matter, only what it leaves behind. */
static void checkpoint(void) {
    static const int modes[] = {SQLITE_CHECKPOINT_PASSIVE, SQLITE_CHECKPOINT_RESTART,
                                SQLITE_CHECKPOINT_TRUNCATE};
    sqlite3 *db = NULL;
    if (sqlite3_open_v2(W.path, &db, SQLITE_OPEN_READWRITE, FAULT_VFS) == SQLITE_OK)
        (void)sqlite3_wal_checkpoint_v2(db, NULL, modes[world_chance(3)], NULL, NULL);
    sqlite3_close(db);
}

/* A commit that does not wait for the disk, between two that do. */
static void beat(void) {
    int64_t renewed;
    int rc = store_lease_renew(W.store, STR("holder"), INT64_MAX / 2, &renewed, &W.err);
    cr_assert(rc == 0 || power_is_cut(), "%s: %s", wopr_err_name(rc), W.err.message);
}

/* Open, or begin; false when the power went meanwhile. */
static bool begin(void) {
    int rc = world_open();
    cr_assert(rc == 0 || power_is_cut(), "%s: %s", wopr_err_name(rc), W.err.message);
    if (rc == 0) rc = world_workflow();
    cr_assert(rc == 0 || power_is_cut(), "%s: %s", wopr_err_name(rc), W.err.message);
    if (rc == 0) log_up();
    return rc == 0;
}

/* Work until the power goes; false when there was nothing left to do. */
static bool work(void) {
    if (!W.journal && !begin()) return true;
    for (int i = 0; i < ROUNDS_MAX && !power_is_cut(); i++) {
        uint64_t what = world_chance(16);
        if (what == 0) checkpoint();
        if (what == 1) {
            all_down();
            if (!begin()) return true;
        }
        if (what % 3 == 2) beat();
        if (!power_is_cut() && !batch()) return false;
    }
    return power_is_cut();
}

static void retry_some(void) {
    static const int keyed[] = {0, 3, 5};
    for (int i = 0; i < 3 && W.runs_nr > 0; i++) {
        struct world_run *r = &W.runs[world_chance(W.runs_nr)];
        int plan = keyed[world_chance(3)];
        if (plan < r->done) world_retry(r, plan);
    }
}

/* How far away the next cut is: often amid one commit, sometimes far behind. */
static uint64_t distance(void) {
    static const uint64_t far[] = {8, 30, 30, 120};
    return 1 + world_chance(far[world_chance(4)]);
}

static void recover(enum power_keep keep, const char *when) {
    all_down();
    power_cut_at(0);
    power_restore(keep);
    cr_assert(begin(), "%s: %s", when, W.err.message);
    world_check(when);
    retry_some();
}

static void many_cuts(enum power_keep keep) {
    uint64_t seed = number("WOPR_FAULT_SEED", 20261121) + keep, cuts = 0;
    const uint64_t want = number("WOPR_CUTS", sampled(CUTS_DEFAULT));
    fprintf(stderr, "power cuts: seed %llu, disk %d\n", (unsigned long long)seed, (int)keep);
    W.rng = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    sem_init(&landed, 0, 0);
    while (cuts < want) {
        world_clear();
        power_on(W.rng);
        bool more = true;
        for (int i = 0; more && i < CUTS_PER_FILE && cuts < want; i++) {
            char when[64];
            snprintf(when, sizeof when, "seed %llu, cut %llu", (unsigned long long)seed,
                     (unsigned long long)cuts);
            power_cut_at(distance());
            more = work();
            if (!more) break;
            recover(keep, when);
            cuts++;
        }
        all_down();
        power_off();
    }
}

Test(power_cut, what_was_acknowledged_is_there_when_all_unsynced_bytes_are_lost) {
    many_cuts(POWER_LOSES_ALL);
}
Test(power_cut, what_was_acknowledged_is_there_after_a_torn_write) { many_cuts(POWER_TEARS_LAST); }
Test(power_cut, what_was_acknowledged_is_there_whatever_sectors_survive) {
    many_cuts(POWER_KEEPS_SOME);
}

Test(power_cut, the_disk_of_these_tests_does_lose_what_was_not_synced /* they can fail */) {
    struct store_config cfg = {.path = W.path, .sync = STORE_SYNC_OFF, .vfs = FAULT_VFS};
    cr_assert_eq(world_open(), 0);
    cr_assert_eq(world_workflow(), 0);
    world_close();
    power_on(1);
    cr_assert_eq(store_open(&cfg, &W.store, &W.err), 0, "%s", W.err.message);
    world_runs(1, 3);
    power_cut_at(1);
    cr_assert_neq(world_apply(&W.runs[0]), 0);
    world_close();
    power_restore(POWER_LOSES_ALL);
    cr_assert_eq(world_open(), 0);
    struct run_head h;
    int rc = store_run_head(W.store, WORLD_TENANT, false, str_c(W.runs[0].id), W.a, &h, &W.err);
    cr_assert_eq(rc, WOPR_E_NOT_FOUND, "acknowledged without a sync, and yet there");
}
