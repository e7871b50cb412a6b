/*
 * The nth call fails, for every n until a round meets no fault (E16): start-up, migration, append,
 * answers, leases, keys, purge, closing, recovery.  After each round: a code that says what
 * happened, all or nothing of every plan, what was acknowledged is there, host_verify finds
 * nothing.
 */
#include "faults/rounds.h"

#include "base/clock.h"
#include "base/embed.h"
#include "base/fault.h"
#include "codec/bytes.h"
#include "store/append.h"
#include "store/events.h"
#include "store/leases.h"
#include "store/runs.h"
#include "store/upkeep.h"

#include "store/vault.h"
#include <sqlite3.h>

#include <stdio.h>
#include <unistd.h>

enum { ENDED = 3, OPEN = 2 };

TestSuite(rounds, .init = world_up, .fini = world_down, .timeout = 600);

/* A database with runs in every state, closed and set aside. */
static void prepare(void) {
    cr_assert_eq(world_open(), 0, "%s", W.err.message);
    cr_assert_eq(world_workflow(), 0, "%s", W.err.message);
    world_runs(ENDED, STEPS);
    world_runs(OPEN, 2);
    world_close();
    world_save();
}

/* ------------------------------------------------------------------------------ start-up */
static void remove_all(void) { world_clear(); }
static int open_code(void) { return world_open(); }

Test(rounds, a_start_on_no_file_succeeds_or_can_be_repeated) {
    static const struct scene sc = {
        .name = "start", .act = open_code, .stride = 20, .writes_are_many = true};
    scene_play_new(&sc, remove_all);
}

/* The folders, the file and the lock are made by the store, not by SQLite; each of these calls
 * fails in its turn, and so does the sync of each folder. */
static const char *deep(const char *rest) {
    static char path[400];
    snprintf(path, sizeof path, "%s/deep%s", W.dir, rest);
    return path;
}
static void folders_remove(void) {
    world_clear();
    (void)unlink(deep("/deeper/w.db.lock"));
    (void)rmdir(deep("/deeper"));
    (void)rmdir(deep(""));
}

Test(rounds, a_start_without_its_folder_succeeds_or_can_be_repeated /* STORE-16 */) {
    static const struct scene sc = {
        .name = "folders", .act = open_code, .stride = 20, .writes_are_many = true};
    unsigned ours = 0;
    snprintf(W.path, sizeof W.path, "%s/deep/deeper/w.db", W.dir);
    W.alone = true;
    scene_play_new(&sc, folders_remove);
    for (unsigned n = 1;; n++) { /* the disk syncs of two folders are among the passages */
        world_close();
        folders_remove();
        if (!fault_arm(1u << FAULT_FSYNC, n)) break;
        if (sc.act() == WOPR_E_IO) ours++;
    }
    cr_expect_eq(ours, 2, "%u syncs of folders failed", ours);
    fault_disarm();
    folders_remove();
}

/* What the first release left behind: migration 1 only. */
static void old_schema(void) {
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    const struct embed_file *f = EMBED_FILES;
    world_clear();
    while (f->name && strncmp(f->name, "migrations/sqlite/0001", 22) != 0) f++;
    cr_assert_not_null(f->name);
    cr_assert_eq(sqlite3_open_v2(W.path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL), 0);
    cr_assert_eq(sqlite3_exec(db,
                              "PRAGMA journal_mode = WAL; PRAGMA application_id = 1464815698;"
                              "CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY,"
                              " name TEXT NOT NULL, sha256 BLOB NOT NULL,"
                              " applied_ms INTEGER NOT NULL) STRICT;",
                              NULL, NULL, NULL),
                 0);
    cr_assert_eq(sqlite3_exec(db, f->data, NULL, NULL, NULL), 0, "%s", sqlite3_errmsg(db));
    const struct sha256 sha = sha256_of(embed_text(f));
    cr_assert_eq(sqlite3_prepare_v2(db, "INSERT INTO schema_migrations VALUES (1, 'core', ?, 0)",
                                    -1, &st, NULL),
                 0);
    sqlite3_bind_blob(st, 1, sha.b, sizeof sha.b, SQLITE_STATIC);
    cr_assert_eq(sqlite3_step(st), SQLITE_DONE);
    sqlite3_finalize(st);
    sqlite3_close(db);
}

static void old_schema_once(void) { /* the making is slow, a copy is not */
    static bool made;
    if (!made) {
        old_schema();
        world_save();
    }
    made = true;
    world_load();
}

Test(rounds, a_migration_succeeds_or_can_be_repeated /* STORE-15 */) {
    static const struct scene sc = {
        .name = "migration", .act = open_code, .stride = 20, .writes_are_many = true};
    scene_play_new(&sc, old_schema_once);
}

/* ------------------------------------------------------------------------------ append */
/* Plans are made before the fault is armed: what fails is the store. */
static struct world_run *made_for[3];
static struct plan *made[3];

static bool make(size_t i, struct world_run *r) {
    made_for[i] = r;
    made[i] = world_plan(r);
    return made[i] != NULL;
}
static void drop_made(void) {
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        plan_unref(made[i]);
        made[i] = NULL;
    }
}
static int apply_made(size_t n) {
    int rcs[3], code = 0;
    int all = store_apply(W.store, made, n, rcs, &W.err);
    for (size_t i = 0; i < n; i++) {
        world_settle(made_for[i], made[i], rcs[i]);
        if (rcs[i] != 0) code = rcs[i];
    }
    drop_made();
    return all != 0 ? all : code;
}
static int apply_one(void) { return apply_made(1); }
static bool make_create(void) { return scene_open() && make(0, world_new_run()); }
static bool make_step(void) { return scene_open() && make(0, &W.runs[ENDED]); }
static int step_one(void) { return world_apply(&W.runs[ENDED]); }
static int end_one(void) { /* the keyed plans and the terminal event */
    int rc = 0;
    for (int i = 0; rc == 0 && i < STEPS - 2; i++) rc = world_apply(&W.runs[ENDED]);
    return rc;
}

Test(rounds, a_creation_is_all_or_nothing /* STORE-2, IDEM-12 */) {
    static const struct scene sc = {
        .name = "create", .opened = make_create, .dropped = drop_made, .act = apply_one};
    prepare();
    scene_play(&sc);
}
Test(rounds, a_step_is_all_or_nothing /* STORE-2 */) {
    static const struct scene sc = {
        .name = "step", .opened = make_step, .dropped = drop_made, .act = apply_one};
    prepare();
    scene_play(&sc);
}
Test(rounds, a_run_up_to_its_end_is_all_or_nothing /* STORE-13 */) {
    static const struct scene sc = {
        .name = "end", .opened = scene_open, .act = end_one, .no_memory_trial = true};
    prepare();
    scene_play(&sc);
}

/* A fork of a fork, and its next step: what is inherited is there, or the fork is not. */
static bool make_fork(void) {
    if (!scene_open()) return false;
    made_for[0] = world_new_run();
    made[0] = world_fork_plan(made_for[0], &W.runs[W.runs_nr - 2], 3);
    return true;
}
static int apply_fork(void) {
    int rc = WOPR_E_INTERNAL, all = store_apply(W.store, made, 1, &rc, &W.err);
    world_fork_settle(made_for[0], rc);
    drop_made();
    return all != 0 ? all : rc;
}
static void fork_check(int rc) { /* world_check has counted its events */
    struct event_list l;
    if (rc != 0) return;
    cr_assert_eq(store_events(W.store, made_for[0]->run_no, 0, 100, 1u << 30, W.a, &l, &W.err), 0);
    for (size_t i = 0; i < l.n; i++) cr_assert_eq(l.v[i].flags, EVENT_INHERITED);
}
static void prepare_forks(void) {
    cr_assert_eq(world_open(), 0, "%s", W.err.message);
    cr_assert_eq(world_workflow(), 0, "%s", W.err.message);
    world_runs(ENDED, STEPS);
    struct world_run *fork = world_fork(&W.runs[0], 3);
    cr_assert_not_null(fork, "%s", W.err.message);
    cr_assert_eq(world_apply(fork), 0, "%s", W.err.message);
    world_close();
    world_save();
}
Test(rounds, a_fork_is_all_or_nothing /* FORK-9, STORE-2 */) {
    static const struct scene sc = {.name = "fork",
                                    .opened = make_fork,
                                    .dropped = drop_made,
                                    .act = apply_fork,
                                    .check = fork_check};
    prepare_forks();
    scene_play(&sc);
}

/* Three plans share a transaction; after its failure each is tried alone. */
static bool make_batch(void) {
    return scene_open() && make(0, &W.runs[ENDED]) && make(1, &W.runs[ENDED + 1]) &&
           make(2, world_new_run());
}
static int apply_batch(void) { return apply_made(3); }

Test(rounds, a_batch_is_all_or_nothing_plan_by_plan /* STORE-2 */) {
    static const struct scene sc = {.name = "batch",
                                    .opened = make_batch,
                                    .dropped = drop_made,
                                    .act = apply_batch,
                                    .stride = 40};
    prepare();
    scene_play(&sc);
}

/* ------------------------------------------------------------------------------ the other writers
 */
static struct run_head head_of(const struct world_run *r) {
    struct run_head h;
    int rc = store_run_head(W.store, WORLD_TENANT, false, str_c(r->id), W.a, &h, &W.err);
    cr_assert_eq(rc, 0, "%s", W.err.message);
    return h;
}

static int lease(void) {
    int64_t epoch, renewed, now = clock_wall_ms();
    const struct lease_claim c = {.run_no = W.runs[ENDED].run_no,
                                  .holder = STR("host-2"),
                                  .until_ms = now + 1000,
                                  .epoch = LEASE_ANY,
                                  .beat = LEASE_ANY};
    int rc = store_lease_claim(W.store, &c, &epoch, &W.err);
    if (rc == 0) rc = store_lease_renew(W.store, STR("host-2"), now + 5000, &renewed, &W.err);
    if (rc == 0 && renewed != 1) rc = WOPR_E_INTERNAL;
    if (rc == 0) rc = store_lease_release(W.store, STR("host-2"), &W.err);
    return rc;
}
static void lease_check(int rc) { /* a holder that has released shows no end of its lease */
    struct run_head h = head_of(&W.runs[ENDED]);
    cr_assert_eq(str_eqc(h.holder, "host-1"), h.epoch == 1, "holder and epoch move together");
    cr_assert(h.epoch == 1 || str_eqc(h.holder, "host-2"));
    if (rc == 0) cr_assert(h.epoch == 2 && h.lease_until_ms == 0);
}
Test(rounds, a_lease_is_taken_whole_or_not_at_all /* STORE-31, STORE-33 */) {
    static const struct scene sc = {
        .name = "lease", .opened = scene_open, .act = lease, .check = lease_check};
    prepare();
    scene_play(&sc);
}

static int park(void) {
    return store_run_park(W.store, W.runs[ENDED].run_no, LEASE_ANY, STR("test"), &W.err);
}
static void park_check(int rc) {
    struct run_head h = head_of(&W.runs[ENDED]);
    cr_assert(rc != 0 || str_eqc(h.parked, "test"));
    cr_assert(rc == 0 || rc == WOPR_E_SYNC_FAILED || h.parked.n == 0);
}
Test(rounds, parking_is_kept_or_refused) {
    static const struct scene sc = {
        .name = "park", .opened = scene_open, .act = park, .check = park_check};
    prepare();
    scene_play(&sc);
}

static int64_t purged;
static bool slow; /* then a call ends between two runs */
static int purge(void) {
    int64_t keys;
    purged = 0;
    int64_t later = clock_wall_ms() + 30LL * 3600 * 1000;
    uint64_t from_ms = clock_mono_ms();
    int rc = store_purge_runs(W.store, later, later, 100, &purged, NULL, &W.err);
    slow = clock_mono_ms() - from_ms >= STORE_PURGE_MS;
    if (rc == 0) rc = store_purge_idempotency(W.store, later, 100, &keys, NULL, &W.err);
    return rc;
}
static bool open_to_purge(void) { /* the ledger forgets what the purge may take */
    if (world_open() != 0) return false;
    for (size_t i = 0; i < W.runs_nr; i++) run_state_free(W.runs[i].state);
    W.runs_nr = 0;
    return true;
}
static void purge_check(int rc) {
    unsigned gone = 0, here = 0;
    for (int i = 0; i < ENDED; i++) {
        char id[40];
        struct run_head h;
        snprintf(id, sizeof id, "run_%026u", (unsigned)i);
        int got = store_run_head(W.store, WORLD_TENANT, false, str_c(id), W.a, &h, &W.err);
        cr_assert(got == 0 || got == WOPR_E_EXPIRED, "%s", wopr_err_name(got));
        gone += got != 0;
        here += got == 0;
    }
    cr_assert(gone == 0 || here == 0 || slow, "%u gone, %u here", gone, here);
    cr_assert(purged == 0 || gone == ENDED || slow, "told %d", (int)purged);
    cr_assert(rc != 0 || gone == ENDED || slow);
}
Test(rounds, a_purge_takes_whole_runs_or_none /* STORE-44 */) {
    static const struct scene sc = {
        .name = "purge", .opened = open_to_purge, .act = purge, .check = purge_check, .stride = 40};
    prepare();
    scene_play(&sc);
}

static int64_t fork_no;
static bool open_forks_to_purge(void) {
    fork_no = W.runs[ENDED].run_no;
    return open_to_purge();
}
static void fork_stays(int rc) {
    struct event_list l;
    (void)rc; /* a slice may end before the last run; verification has looked at what is left */
    cr_assert_eq(store_events(W.store, fork_no, 0, 100, 1u << 30, W.a, &l, &W.err), 0);
    cr_assert_gt(l.n, 5u);
    for (size_t i = 0; i < l.n; i++) cr_assert_eq(l.v[i].seq, (int64_t)i);
}
Test(rounds, a_purge_leaves_what_forks_show /* STORE-44, FORK-24 */) {
    static const struct scene sc = {.name = "purge of a source",
                                    .opened = open_forks_to_purge,
                                    .act = purge,
                                    .check = fork_stays,
                                    .stride = 40};
    prepare_forks();
    scene_play(&sc);
}

static const uint8_t HASH[32] = {7};
static int keys(void) {
    struct api_key k = {.key_id = STR("k1"), .tenant = STR("t"), .workspace = STR("w")};
    uint8_t secret[32];
    k.subject_issuer = k.subject_id = k.label = STR("x");
    memcpy(k.hash.b, HASH, sizeof HASH);
    int rc = store_key_put(W.store, &k, &W.err);
    if (rc == 0) rc = store_secret(W.store, "pepper", secret, &W.err);
    return rc;
}
static void keys_check(int rc) {
    struct api_key k;
    uint8_t one[32], two[32];
    int got = store_key_find(W.store, STR("k1"), W.a, &k, &W.err);
    cr_assert(got == 0 || (got == WOPR_E_NOT_FOUND && rc != 0), "%s", wopr_err_name(got));
    cr_assert_eq(store_secret(W.store, "pepper", one, &W.err), 0);
    cr_assert_eq(store_secret(W.store, "pepper", two, &W.err), 0);
    cr_assert_arr_eq(one, two, sizeof one);
}
Test(rounds, keys_and_secrets_are_kept_or_refused) {
    static const struct scene sc = {
        .name = "keys", .opened = scene_open, .act = keys, .check = keys_check};
    prepare();
    scene_play(&sc);
}

/* ------------------------------------------------------------------------------ closing, recovery
 */
static bool open_and_work(void) { return world_open() == 0 && world_apply(&W.runs[ENDED]) == 0; }
static int close_it(void) { /* the last connection checkpoints and deletes the WAL */
    world_close();
    return 0;
}
Test(rounds, closing_loses_nothing) {
    static const struct scene sc = {.name = "close", .opened = open_and_work, .act = close_it};
    prepare();
    scene_play(&sc);
}

static int open_and_read(void) {
    int rc = world_open();
    if (rc != 0) return rc;
    struct run_head h;
    return store_run_head(W.store, WORLD_TENANT, false, str_c(W.runs[0].id), W.a, &h, &W.err);
}
Test(rounds, recovery_succeeds_or_can_be_repeated) {
    static const struct scene sc = {
        .name = "recovery", .opened = NULL, .act = open_and_read, .stride = 20};
    cr_assert_eq(world_open(), 0, "%s", W.err.message);
    cr_assert_eq(world_workflow(), 0, "%s", W.err.message);
    world_runs(ENDED, STEPS);
    world_runs(OPEN, 2);
    world_save(); /* with its WAL, as a killed process leaves them */
    world_close();
    scene_play(&sc);
}

/* ------------------------------------------------------------------------------ checkpoints */
static int64_t loaded_seq;

static int load_checkpoint(void) {
    struct run_origin o;
    struct checkpoint_state c = {.state = NULL};
    struct arena *a = arena_new(1u << 20);
    int rc = a ? store_run_origin(W.store, W.runs[0].run_no, a, &o, &W.err) : WOPR_E_NO_MEMORY;
    if (rc == 0) {
        const struct checkpoint_of of = {.run_no = W.runs[0].run_no,
                                         .seq_max = INT64_MAX,
                                         .wf = W.wf,
                                         .meta = &o.meta,
                                         .limits = &RUN_LIMITS_DEFAULT};
        rc = store_run_state(W.store, &of, a, &c, &W.err);
    }
    loaded_seq = c.state ? c.state->next_seq : 0;
    run_state_free(c.state);
    arena_free(a);
    return rc;
}
static void loaded_check(int rc) { cr_assert_eq(loaded_seq > 0, rc == 0); }
Test(rounds, a_checkpoint_is_loaded_whole_or_the_reason_is_told) {
    static const struct scene sc = {
        .name = "checkpoint", .opened = scene_open, .act = load_checkpoint, .check = loaded_check};
    prepare();
    scene_play(&sc);
}

/* ------------------------------------------------------------------------------ sealed values */
#define SEALED_CANARY "\"f4ult-c4n4ry\""
static const struct seal_secret OLD_KEK = {{1}}, NEW_KEK = {{2}};
static struct vault *vault;
static struct plan_sealed sealed_row;

static bool open_vault(void) {
    bool replaced;
    vault_free(vault);
    vault = NULL;
    return scene_open() && vault_new(W.store, &OLD_KEK, 1, &vault, &replaced, &W.err) == 0;
}

static struct plan_sealed seal_for(struct plan *p, const struct world_run *r, int64_t at,
                                   struct str clear) {
    const struct seal_place place = {str_c(r->id), at};
    struct plan_sealed row;
    cr_assert_eq(vault_seal(vault, &place, clear, p->arena, &row, &W.err), 0, "%s", W.err.message);
    return row;
}

/* The next step of a run, with a sealed value, and its checkpoint sealed when it has one. */
static bool make_sealed(void) {
    if (!open_vault()) return false;
    struct world_run *r = &W.runs[ENDED];
    make(0, r);
    struct plan *p = made[0];
    struct plan_sealed row = seal_for(p, r, p->base_seq, STR(SEALED_CANARY));
    plan_sealed(p, &row);
    if (p->events_nr > 0) p->events[0].flags |= EVENT_MASKED;
    for (size_t i = 0; i < p->checkpoints_nr; i++) {
        struct plan_checkpoint *c = &p->checkpoints[i];
        row = seal_for(p, r, SEALED_IMAGE(c->seq), c->image);
        c->key_no = row.key_no;
        c->image = row.box;
    }
    return p->failed == 0;
}

/* Whatever failed: what is sealed opens with the old key or the new one; no file has it clear. */
static size_t sealed_opened(int64_t run_no) {
    const struct seal_secret both[] = {NEW_KEK, OLD_KEK};
    struct vault *v = NULL;
    struct sealed_list l;
    bool replaced;
    char wal[310];
    cr_assert_eq(vault_new(W.store, both, 2, &v, &replaced, &W.err), 0, "%s", W.err.message);
    cr_assert_not(replaced);
    cr_assert_eq(store_sealed(W.store, run_no, 0, INT64_MAX, W.a, &l, &W.err), 0);
    for (size_t i = 0; i < l.n; i++) {
        const struct seal_place place = {l.v[i].run_id, l.v[i].sealed.seq};
        struct str clear;
        cr_assert_eq(vault_open(v, &place, &l.v[i].sealed, W.a, &clear, &W.err), 0, "%s",
                     W.err.message);
        cr_assert(str_eqc(clear, SEALED_CANARY));
    }
    vault_free(v);
    snprintf(wal, sizeof wal, "%s-wal", W.path);
    cr_assert_not(world_file_holds(W.path, "f4ult-c4n4ry") ||
                  world_file_holds(wal, "f4ult-c4n4ry"));
    return l.n;
}

static void sealed_check(int rc) {
    size_t n = sealed_opened(W.runs[ENDED].run_no);
    cr_assert(n == 2 || (n == 1 && rc != 0), "%zu rows after %s", n, wopr_err_name(rc));
}

/* As prepare(), and a run has a sealed value. */
static void prepare_sealed(void) {
    prepare();
    cr_assert(make_sealed());
    cr_assert_eq(apply_one(), 0, "%s", W.err.message);
    world_close();
    world_save();
}

Test(rounds, a_sealed_value_is_there_with_its_event_or_not_at_all /* OBS-71 */) {
    static const struct scene sc = {.name = "seal",
                                    .opened = make_sealed,
                                    .dropped = drop_made,
                                    .act = apply_one,
                                    .check = sealed_check};
    prepare_sealed();
    scene_play(&sc);
}

static int read_sealed(void) {
    struct sealed_list l;
    struct str clear;
    struct arena *a = arena_new(1u << 20);
    int rc = a ? store_sealed(W.store, W.runs[ENDED].run_no, 0, INT64_MAX, a, &l, &W.err)
               : WOPR_E_NO_MEMORY;
    if (rc == 0 && l.n == 1) {
        const struct seal_place place = {l.v[0].run_id, l.v[0].sealed.seq};
        rc = vault_open(vault, &place, &l.v[0].sealed, a, &clear, &W.err);
        if (rc == 0) rc = vault_seal(vault, &place, clear, a, &sealed_row, &W.err);
    } else if (rc == 0) {
        rc = WOPR_E_CORRUPT;
    }
    arena_free(a);
    return rc;
}
static void one_sealed(int rc) {
    (void)rc;
    cr_assert_eq(sealed_opened(W.runs[ENDED].run_no), 1u);
}
Test(rounds, a_sealed_value_is_read_and_sealed_again_or_the_reason_is_told) {
    static const struct scene sc = {
        .name = "open", .opened = open_vault, .act = read_sealed, .check = one_sealed};
    prepare_sealed();
    scene_play(&sc);
}

static int rotate(void) { return vault_rotate(vault, &NEW_KEK, &W.err); }
Test(rounds, a_rotation_loses_nothing_that_is_sealed) {
    static const struct scene sc = {
        .name = "rotation", .opened = open_vault, .act = rotate, .check = one_sealed};
    prepare_sealed();
    scene_play(&sc);
}

/* The fork holds what its source has sealed, or is not there. */
static bool make_sealed_fork(void) {
    if (!open_vault()) return false;
    made_for[0] = world_new_run();
    made[0] = world_fork_plan(made_for[0], &W.runs[ENDED], 3);
    made[0]->create->fork->sealed = true;
    return true;
}
static void sealed_fork_check(int rc) {
    cr_assert_eq(sealed_opened(W.runs[ENDED].run_no), 1u);
    if (rc == 0) cr_assert_eq(sealed_opened(made_for[0]->run_no), 1u);
}
Test(rounds, a_fork_holds_what_is_sealed_or_is_not_made /* FORK-9, OBS-71 */) {
    static const struct scene sc = {.name = "fork with sealed values",
                                    .opened = make_sealed_fork,
                                    .dropped = drop_made,
                                    .act = apply_fork,
                                    .check = sealed_fork_check};
    prepare_sealed();
    scene_play(&sc);
}

/* The run ends while a fork holds its value: the value stays with the fork; then that ends. */
static int end_sealed(void) {
    for (int rc; W.runs[ENDED].done < STEPS;) {
        struct world_run *r = &W.runs[ENDED];
        make(0, r);
        made[0]->unseals = r->done == STEPS - 1;
        rc = apply_one();
        if (rc != 0) return rc;
    }
    return 0;
}
static bool open_fork_of_sealed(void) {
    fork_no = W.runs[W.runs_nr - 1].run_no;
    return open_vault();
}
static void ended_check(int rc) {
    struct sealed_list l;
    cr_assert_eq(sealed_opened(fork_no), 1u);
    cr_assert_eq(store_sealed(W.store, W.runs[ENDED].run_no, 0, INT64_MAX, W.a, &l, &W.err), 0);
    if (rc == 0) cr_assert_eq(l.n, 0u, "what has ended reads nothing");
}
Test(rounds, an_end_leaves_sealed_what_a_fork_holds /* FORK-9, OBS-71 */) {
    static const struct scene sc = {.name = "end with a fork of sealed values",
                                    .opened = open_fork_of_sealed,
                                    .act = end_sealed,
                                    .check = ended_check,
                                    .no_memory_trial = true};
    prepare_sealed();
    cr_assert(make_sealed_fork());
    cr_assert_eq(apply_fork(), 0, "%s", W.err.message);
    world_check("a fork"); /* it learns the number of its run */
    world_close();
    world_save();
    scene_play(&sc);
}

/* ------------------------------------------------------------------------------ after a failed
 * sync */
Test(rounds, after_a_failed_sync_nothing_is_read_or_written_until_reopened /* STORE-11 */) {
    prepare();
    world_load();
    cr_assert_eq(world_open(), 0);
    cr_assert(fault_arm(1u << FAULT_FSYNC, 1));
    cr_assert_eq(step_one(), WOPR_E_SYNC_FAILED);
    fault_disarm();
    struct run_head h;
    cr_assert_eq(store_run_head(W.store, WORLD_TENANT, false, str_c(W.runs[0].id), W.a, &h, &W.err),
                 WOPR_E_SYNC_FAILED);
    cr_assert_eq(park(), WOPR_E_SYNC_FAILED);
    cr_assert_eq(world_workflow(), WOPR_E_SYNC_FAILED);
    world_close();
    cr_assert_eq(world_open(), 0);
    world_check("after a failed sync");
    while (W.runs[ENDED].done < STEPS) cr_assert_eq(step_one(), 0, "%s", W.err.message);
    world_check("after the end");
}
