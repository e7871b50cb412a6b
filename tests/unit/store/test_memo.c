/*
 * test_memo.c: remembered rows are never older than the file (store/sqlite/memo.c; AUTH-3, AUTH-20,
 * WF-1).  The second store plays another process on the same file.
 */
#include "base/clock.h"
#include "kit.h"
#include "store/keys.h"
#include "store/sqlite/sql.h"
#include "store/workflows.h"
#include "support/sampled.h"

static struct kit w;
static struct store *other;

static void up(void) {
    kit_up(&w);
    other = kit_other(&w);
}
static void down(void) {
    store_close(other);
    kit_down(&w);
}
TestSuite(memo, .init = up, .fini = down, .timeout = 300);

static struct api_key key_row(const char *id, uint8_t byte) {
    struct api_key k = {.key_id = str_c(id),
                        .tenant = KIT_TENANT,
                        .workspace = STR("ws"),
                        .subject_issuer = STR("wopr:api-key"),
                        .subject_id = str_c(id),
                        .label = STR("label"),
                        .scopes = 5,
                        .test_mode = true,
                        .created_ms = 7,
                        .expires_ms = 9};
    memset(k.hash.b, byte, sizeof k.hash.b);
    return k;
}

static void key_is(struct store *s, const struct api_key *want, int64_t revoked_ms) {
    struct api_key got[2];
    cr_assert_eq(store_key_find(s, want->key_id, w.a, &got[0], &w.err), 0, "%s", w.err.message);
    cr_assert_eq(store_key_find_hash(s, &want->hash, w.a, &got[1], &w.err), 0);
    for (int i = 0; i < 2; i++) {
        cr_expect(str_eq(got[i].key_id, want->key_id));
        cr_expect(str_eq(got[i].tenant, want->tenant));
        cr_expect(str_eq(got[i].workspace, want->workspace));
        cr_expect(str_eq(got[i].subject_issuer, want->subject_issuer));
        cr_expect(str_eq(got[i].subject_id, want->subject_id));
        cr_expect(str_eq(got[i].label, want->label));
        cr_expect(sha256_eq(&got[i].hash, &want->hash));
        cr_expect_eq(got[i].scopes, want->scopes);
        cr_expect_eq(got[i].test_mode, want->test_mode);
        cr_expect_eq(got[i].created_ms, want->created_ms);
        cr_expect_eq(got[i].expires_ms, want->expires_ms);
        cr_expect_eq(got[i].revoked_ms, revoked_ms);
    }
}

/* Is the row of this id remembered at this moment? */
static bool remembered(struct str key_id) {
    struct conn *c;
    struct memo_row r;
    cr_assert_eq(conn_reader(w.s, &c, &w.err), 0);
    return memo_get(c, SQL_KEY_BY_ID, key_id, w.a, &r);
}

Test(memo, a_key_is_remembered_while_nothing_is_committed) {
    struct api_key k = key_row("k1", 1);
    cr_assert_eq(store_key_put(w.s, &k, &w.err), 0);
    key_is(w.s, &k, 0); /* a connection remembers from its second look-up on */
    key_is(w.s, &k, 0);
    struct api_key again; /* its two rows may share a slot: the last one asked for has it */
    cr_assert_eq(store_key_find(w.s, k.key_id, w.a, &again, &w.err), 0);
    cr_expect(remembered(k.key_id));
    key_is(w.s, &k, 0); /* the same from memory */
    struct api_key k2 = key_row("k2", 2);
    cr_assert_eq(store_key_put(w.s, &k2, &w.err), 0);
    cr_expect_not(remembered(k.key_id), "a commit, even of another row, ends it");
    key_is(w.s, &k2, 0);
    key_is(w.s, &k, 0);
}

static void plan_commit(struct store *s) {
    static int no;
    char id[32];
    int rc = 0;
    snprintf(id, sizeof id, "run_%d", no++);
    struct plan *p = kit_create(id, 1);
    cr_assert_eq(store_apply(s, &p, 1, &rc, &w.err), 0, "%s", w.err.message);
    cr_assert_eq(rc, 0);
    plan_unref(p);
}

/* What a batch of plans writes is no key: hosts under load ask for theirs without a query. */
Test(memo, a_key_is_remembered_across_batches_of_this_process_alone) {
    struct api_key k = key_row("k1", 1), got;
    cr_assert_eq(store_key_put(w.s, &k, &w.err), 0);
    plan_commit(w.s); /* the first batch that another one can follow */
    for (int i = 0; i < 3; i++) cr_assert_eq(store_key_find(w.s, k.key_id, w.a, &got, &w.err), 0);
    for (int i = 0; i < 10; i++) {
        plan_commit(w.s);
        cr_expect(remembered(k.key_id), "batch %d", i);
    }
    plan_commit(other);
    cr_expect_not(remembered(k.key_id), "somebody else's commit ends it");
    plan_commit(w.s);
    cr_expect_not(remembered(k.key_id), "also when a batch of ours followed");
    cr_assert_eq(store_key_find(w.s, k.key_id, w.a, &got, &w.err), 0);
    plan_commit(w.s);
    cr_expect(remembered(k.key_id));
    cr_assert_eq(store_key_revoke(w.s, k.key_id, 33, &w.err), 0);
    plan_commit(w.s);
    cr_expect_not(remembered(k.key_id), "our own commits of other kinds end it, too");
    key_is(w.s, &k, 33);
}

/* A batch in which every plan was refused commits nothing: what follows must not pass for it. */
Test(memo, a_batch_that_wrote_nothing_hides_nobody) {
    struct api_key k = key_row("k1", 1), got;
    cr_assert_eq(store_key_put(w.s, &k, &w.err), 0);
    plan_commit(w.s);
    for (int i = 0; i < 3; i++) cr_assert_eq(store_key_find(w.s, k.key_id, w.a, &got, &w.err), 0);
    for (int i = 0; i < 3; i++) {
        struct plan *stale = kit_append(1, 77, 1, false);
        int rc = 0;
        cr_assert_eq(store_apply(w.s, &stale, 1, &rc, &w.err), 0);
        cr_assert_neq(rc, 0);
        plan_unref(stale);
        cr_expect(remembered(k.key_id));
    }
    cr_assert_eq(store_key_revoke(other, k.key_id, 40, &w.err), 0);
    plan_commit(w.s);
    key_is(w.s, &k, 40);
}

/* Between the end of a batch and the look at what it left, somebody else commits. */
Test(memo, who_commits_right_behind_a_batch_is_not_taken_for_it) {
    struct conn *c = w.s->writer;
    struct wal_head before;
    for (int wrote = 0; wrote < 2; wrote++)
        for (int others = 0; others < 2; others++) {
            plan_commit(w.s);
            cr_assert(w.s->own.known);
            cr_assert_eq(tx_begin(c, &w.err), 0);
            memo_plans_begin(c, &before);
            if (wrote)
                cr_assert_eq(
                    conn_exec(c, "INSERT INTO meta (name, value) VALUES (hex(randomblob(8)), 1)",
                              &w.err),
                    0);
            cr_assert_eq(tx_end(c, 0, &w.err), 0);
            if (others) plan_commit(other);
            memo_plans_end(c, &before, true);
            cr_expect_eq(w.s->own.known, !others, "wrote %d", wrote);
        }
    cr_assert_eq(tx_begin(c, &w.err), 0);
    memo_plans_begin(c, &before);
    cr_assert_eq(tx_end(c, WOPR_E_BUSY, &w.err), WOPR_E_BUSY);
    memo_plans_end(c, &before, false);
    cr_expect_not(w.s->own.known, "a batch that failed");
}

static int64_t revoked_now(struct store *s, struct str key_id) {
    struct api_key got;
    cr_assert_eq(store_key_find(s, key_id, w.a, &got, &w.err), 0, "%s", w.err.message);
    return got.revoked_ms;
}

/* Whatever happens in whatever order, at either process: each look-up gives what is stored. */
Test(memo, no_order_of_commits_shows_an_old_row) {
    const unsigned rounds = sampled(4000);
    uint64_t rng = 20261123;
    int64_t revoked = 1 << 20; /* each revocation is earlier than the one before */
    struct api_key k = key_row("k1", 1);
    cr_assert_eq(store_key_put(w.s, &k, &w.err), 0);
    cr_assert_eq(store_key_revoke(w.s, k.key_id, revoked, &w.err), 0);
    for (unsigned i = 0; i < rounds; i++) {
        rng = rng * UINT64_C(6364136223846793005) + 1442695040888963407u;
        struct store *s = rng >> 63 ? other : w.s;
        unsigned what = (unsigned)(rng >> 40) % 16;
        if (what < 8) plan_commit(what < 6 ? w.s : other);
        else if (what < 9) cr_assert_eq(store_key_revoke(s, k.key_id, --revoked, &w.err), 0);
        else if (what < 10)
            (void)sqlite3_wal_checkpoint_v2(s->writer->db, NULL, SQLITE_CHECKPOINT_RESTART, NULL,
                                            NULL);
        else cr_assert_eq(revoked_now(s, k.key_id), revoked, "round %u", i);
        if (i % 64 == 0) arena_reset(w.a);
    }
}

/* One thread commits plans, another revokes; the rows that a third one sees never go back, and
 * never lag behind a revocation that has returned. */
struct racing {
    atomic_bool stop;
    atomic_int_fast64_t revoked;
};
static void *plans_race(void *arg) {
    struct racing *r = arg;
    while (!r->stop) plan_commit(w.s);
    return NULL;
}
static void *keys_race(void *arg) {
    struct racing *r = arg;
    struct wopr_error err;
    for (int64_t at = r->revoked - 1; !r->stop; at--) {
        cr_assert_eq(store_key_revoke(at % 2 ? w.s : other, STR("k1"), at, &err), 0, "%s",
                     err.message);
        r->revoked = at;
        clock_sleep_ms(1);
    }
    return NULL;
}
Test(memo, a_revocation_that_has_returned_is_seen_beside_batches) {
    struct racing r = {.revoked = 1 << 20};
    struct api_key k = key_row("k1", 1);
    pthread_t t[2];
    cr_assert_eq(store_key_put(w.s, &k, &w.err), 0);
    cr_assert_eq(store_key_revoke(w.s, k.key_id, r.revoked, &w.err), 0);
    cr_assert_eq(pthread_create(&t[0], NULL, plans_race, &r), 0);
    cr_assert_eq(pthread_create(&t[1], NULL, keys_race, &r), 0);
    const int64_t first = r.revoked;
    for (int64_t last = first, looks = 0; looks < 20000 || r.revoked > first - 50; looks++) {
        int64_t before = r.revoked, seen = revoked_now(w.s, k.key_id);
        cr_assert(seen <= before && seen <= last, "%lld after %lld", (long long)seen,
                  (long long)before);
        last = seen;
        if (looks % 64 == 0) arena_reset(w.a);
    }
    r.stop = true;
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
}

Test(memo, a_revoked_key_is_seen_at_once /* AUTH-20 */) {
    struct api_key k = key_row("k1", 1);
    cr_assert_eq(store_key_put(w.s, &k, &w.err), 0);
    key_is(w.s, &k, 0);
    key_is(w.s, &k, 0);
    cr_assert_eq(store_key_revoke(w.s, k.key_id, 33, &w.err), 0);
    key_is(w.s, &k, 33);
}

Test(memo, a_commit_of_another_process_is_seen_at_once) {
    struct api_key k = key_row("k1", 1);
    cr_assert_eq(store_key_put(other, &k, &w.err), 0);
    key_is(w.s, &k, 0);
    key_is(w.s, &k, 0);
    cr_assert_eq(store_key_revoke(other, k.key_id, 34, &w.err), 0);
    key_is(w.s, &k, 34);
}

Test(memo, a_checkpoint_that_restarts_the_wal_changes_no_answer) {
    struct api_key k = key_row("k1", 1);
    cr_assert_eq(store_key_put(w.s, &k, &w.err), 0);
    key_is(w.s, &k, 0);
    for (int64_t i = 0; i < 20; i++) {
        cr_assert_eq(sqlite3_wal_checkpoint_v2(other->writer->db, NULL, SQLITE_CHECKPOINT_RESTART,
                                               NULL, NULL),
                     SQLITE_OK);
        key_is(w.s, &k, i > 0 ? 40 : 0);
        cr_assert_eq(store_key_revoke(i % 2 ? other : w.s, k.key_id, 40, &w.err), 0);
        key_is(w.s, &k, 40);
    }
}

Test(memo, a_key_that_was_not_there_is_found_once_it_is) {
    struct api_key k = key_row("k1", 1), got;
    cr_assert_eq(store_key_find(w.s, k.key_id, w.a, &got, &w.err), WOPR_E_NOT_FOUND);
    cr_assert_eq(store_key_put(other, &k, &w.err), 0);
    key_is(w.s, &k, 0);
}

static struct workflow_row wf_row(const char *tenant, const char *version, uint8_t byte) {
    struct workflow_row r = {.workflow_id = STR("flow"),
                             .tenant = str_c(tenant),
                             .version = str_c(version),
                             .text = STR("{\"id\":\"flow\"}"),
                             .both_modes = true,
                             .created_ms = 3,
                             .updated_ms = 4};
    memset(r.hash.b, byte, sizeof r.hash.b);
    return r;
}

static void version_is(const char *tenant, const char *version, const char *owner) {
    struct workflow_row got;
    int rc = store_workflow_get(w.s, str_c(tenant), false, STR("flow"), w.a, &got, &w.err);
    cr_assert_eq(rc, 0, "%s", w.err.message);
    cr_expect(str_eqc(got.version, version));
    cr_expect(str_eqc(got.tenant, owner));
    cr_expect(str_eqc(got.text, "{\"id\":\"flow\"}"));
    cr_expect(str_eqc(got.workflow_id, "flow"));
    cr_expect(got.both_modes && !got.test_mode);
    cr_expect_eq(got.created_ms, 3);
    cr_expect_eq(got.updated_ms, 4);
}

Test(memo, a_workflow_is_the_stored_one_for_each_tenant /* WF-1, AUTH-9 */) {
    struct workflow_row shared = wf_row("", "1", 1), own = wf_row("tenant-a", "2", 2);
    cr_assert_eq(store_workflow_put(w.s, &shared, NULL, &w.err), 0);
    for (int i = 0; i < 2; i++) {
        version_is("tenant-a", "1", "");
        version_is("tenant-b", "1", "");
    }
    cr_assert_eq(store_workflow_put(other, &own, NULL, &w.err), 0);
    for (int i = 0; i < 2; i++) {
        version_is("tenant-a", "2", "tenant-a");
        version_is("tenant-b", "1", "");
    }
    shared = wf_row("", "3", 3);
    cr_assert_eq(store_workflow_put(w.s, &shared, NULL, &w.err), 0);
    version_is("tenant-b", "3", "");
    version_is("tenant-a", "2", "tenant-a");
}

Test(memo, a_row_too_large_to_keep_is_asked_for_each_time) {
    struct workflow_row r = wf_row("", "1", 1), got;
    size_t n = 100000;
    char *text = arena_alloc(w.a, n);
    memset(text, ' ', n);
    memcpy(text, "{}", 2);
    r.text = str_n(text, n);
    cr_assert_eq(store_workflow_put(w.s, &r, NULL, &w.err), 0);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(store_workflow_get(w.s, KIT_TENANT, false, STR("flow"), w.a, &got, &w.err), 0);
        cr_expect(str_eq(got.text, r.text));
    }
}
