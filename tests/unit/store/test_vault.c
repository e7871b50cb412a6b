/*
 * test_vault.c: keys of sealed values: what does not fit is refused, what is rotated stays
 * readable, and whichever call fails nothing is lost (OBS-71).
 */
#include "kit.h"

#include "base/fault.h"
#include "store/append.h"
#include "store/peers.h"
#include "store/runs.h"
#include "store/vault.h"

static struct kit w;
static struct vault *v;
static bool replaced;
static const struct seal_secret KEK = {{1}}, OTHER = {{2}};

static struct store_config shared(void) {
    struct store_config cfg = kit_config(&w);
    cfg.host_lock = true;
    return cfg;
}
static void up(void) {
    kit_dir(&w);
    struct store_config cfg = shared();
    cr_assert_eq(store_open(&cfg, &w.s, &w.err), 0, "%s", w.err.message);
    cr_assert_eq(vault_new(w.s, &KEK, 1, &v, &replaced, &w.err), 0, "%s", w.err.message);
}
static void down(void) {
    vault_free(v);
    kit_down(&w);
}
TestSuite(vault, .init = up, .fini = down);

static const struct seal_place HERE = {{"run_1", 5}, 0};

static struct plan_sealed seal(const char *clear) {
    struct plan_sealed row;
    cr_assert_eq(vault_seal(v, &HERE, str_c(clear), w.a, &row, &w.err), 0);
    return row;
}

static int64_t run_with(struct plan_sealed row) {
    struct plan *c = kit_create("run_1", 1);
    plan_sealed(c, &row);
    plan_ref(c);
    cr_assert_eq(kit_apply(&w, c), 0, "%s", w.err.message);
    const int64_t run_no = c->run_no;
    plan_unref(c);
    return run_no;
}

static void reopen(const struct seal_secret *kek, int want) {
    vault_free(v);
    v = NULL;
    cr_assert_eq(vault_new(w.s, kek, 1, &v, &replaced, &w.err), want, "%s", w.err.message);
}

static void opens(int64_t run_no, const char *want) {
    struct sealed_list l;
    struct str clear;
    cr_assert_eq(store_sealed(w.s, run_no, 0, 1, w.a, &l, &w.err), 0);
    cr_assert_eq(l.n, 1);
    cr_assert_eq(vault_open(v, &HERE, &l.v[0].sealed, w.a, &clear, &w.err), 0, "%s", w.err.message);
    cr_expect(str_eqc(clear, want));
}

Test(vault, what_was_sealed_opens_after_a_restart) {
    int64_t no = run_with(seal("the value"));
    reopen(&KEK, 0);
    cr_expect_not(replaced);
    opens(no, "the value");
}

Test(vault, another_key_is_refused_while_something_is_sealed) {
    char id[VAULT_KEK_ID_LEN + 1];
    (void)run_with(seal("the value"));
    reopen(&OTHER, WOPR_E_CONFIG);
    vault_kek_id(&KEK, id);
    cr_expect_not_null(strstr(w.err.message, id), "it names the key that is needed: %s",
                       w.err.message);
}

Test(vault, another_key_takes_over_when_nothing_is_sealed) {
    reopen(&OTHER, 0);
    cr_expect(replaced);
    int64_t no = run_with(seal("fresh"));
    opens(no, "fresh");
}

Test(vault, a_rotation_keeps_what_is_sealed_readable_with_the_new_key_only) {
    int64_t no = run_with(seal("the value"));
    cr_assert_eq(vault_rotate(v, &OTHER, &w.err), 0, "%s", w.err.message);
    struct plan_sealed later = seal("later");
    cr_expect_eq(later.key_no, 2);
    reopen(&KEK, WOPR_E_CONFIG);
    reopen(&OTHER, 0);
    opens(no, "the value");
    struct str clear;
    cr_assert_eq(vault_open(v, &HERE, &later, w.a, &clear, &w.err), 0);
    cr_expect(str_eqc(clear, "later"));
}

Test(vault, a_key_of_another_process_is_read_when_it_is_needed) {
    struct vault *theirs;
    cr_assert_eq(vault_new(w.s, &KEK, 1, &theirs, &replaced, &w.err), 0);
    (void)run_with(seal("keeps the first key"));
    cr_assert_eq(vault_rotate(theirs, &KEK, &w.err), 0);
    struct plan_sealed row;
    struct str clear;
    cr_assert_eq(vault_seal(theirs, &HERE, STR("theirs"), w.a, &row, &w.err), 0);
    cr_assert_eq(vault_open(v, &HERE, &row, w.a, &clear, &w.err), 0, "%s", w.err.message);
    cr_expect(str_eqc(clear, "theirs"));
    vault_free(theirs);
}

/* A host that runs beside the rotation seals with the key it has. */
Test(vault, a_rotation_with_nothing_sealed_keeps_the_keys_of_running_hosts) {
    struct vault *theirs;
    cr_assert_eq(vault_new(w.s, &KEK, 1, &theirs, &replaced, &w.err), 0);
    cr_assert_eq(vault_rotate(theirs, &OTHER, &w.err), 0, "%s", w.err.message);
    vault_free(theirs);
    struct plan_sealed row = seal("by the running host");
    cr_expect_eq(row.key_no, 1);
    int64_t no = run_with(row);
    reopen(&OTHER, 0);
    cr_expect_not(replaced);
    opens(no, "by the running host");
}

Test(vault, whichever_call_fails_a_rotation_is_whole_or_not_at_all) {
    int64_t no = run_with(seal("the value"));
    const struct seal_secret both[] = {OTHER, KEK};
    for (unsigned nth = 1; fault_arm(1u << FAULT_MALLOC, nth); nth++) {
        int rc = vault_rotate(v, &OTHER, &w.err);
        fault_disarm();
        vault_free(v);
        cr_assert_eq(vault_new(w.s, both, 2, &v, &replaced, &w.err), 0, "%u (%d): %s", nth, rc,
                     w.err.message);
        opens(no, "the value");
    }
}

/* --- keys that are lost while a host runs --- */

/* Nothing is sealed, so another key takes over; what the first vault seals after that would open
 * for nobody.  It takes the new key when its own opens that, and says what to do when not. */
Test(vault, nothing_is_sealed_with_a_data_key_that_was_replaced) {
    struct vault *theirs;
    struct plan_sealed row = seal("under the first key");
    cr_assert_eq(vault_new(w.s, &OTHER, 1, &theirs, &replaced, &w.err), 0);
    cr_expect(replaced);
    vault_free(theirs);
    struct plan *c = kit_create("run_1", 1);
    plan_sealed(c, &row);
    cr_expect_eq(kit_apply(&w, c), WOPR_E_UNAVAILABLE, "refused as a whole: %s", w.err.message);
    struct run_head h;
    cr_expect_eq(store_run_head(w.s, KIT_TENANT, false, STR("run_1"), w.a, &h, &w.err),
                 WOPR_E_NOT_FOUND);
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(vault_seal(v, &HERE, STR("x"), w.a, &row, &w.err), WOPR_E_CONFIG);
        cr_expect_not_null(strstr(w.err.message, "restart this host"), "%s", w.err.message);
    }
    const struct seal_secret both[] = {KEK, OTHER};
    vault_free(v);
    cr_assert_eq(vault_new(w.s, both, 2, &v, &replaced, &w.err), 0, "%s", w.err.message);
    opens(run_with(seal("goes on")), "goes on");
}

/* The other host could be about to seal its first value. */
Test(vault, the_keys_of_a_host_that_runs_are_not_replaced) {
    struct store_config cfg = shared();
    struct store *other;
    struct vault *theirs = NULL;
    int64_t no, last;
    cr_assert_eq(store_join(w.s, STR("a"), 2000, 99, &no, &last, &w.err), 0);
    cr_assert_eq(store_open(&cfg, &other, &w.err), 0, "%s", w.err.message);
    cr_expect_eq(vault_new(other, &OTHER, 1, &theirs, &replaced, &w.err), WOPR_E_CONFIG);
    cr_expect_not_null(strstr(w.err.message, "stop all hosts"), "%s", w.err.message);
    store_close(other);
    opens(run_with(seal("still the first key")), "still the first key");
}

Test(vault, a_data_key_that_was_replaced_gives_way_to_one_that_opens) {
    const struct seal_secret both[] = {KEK, OTHER};
    struct vault *theirs;
    vault_free(v);
    cr_assert_eq(vault_new(w.s, both, 2, &v, &replaced, &w.err), 0);
    struct plan_sealed row = seal("x");
    cr_assert_eq(vault_new(w.s, &OTHER, 1, &theirs, &replaced, &w.err), 0);
    vault_free(theirs);
    struct plan *c = kit_create("run_1", 1);
    plan_sealed(c, &row);
    cr_expect_eq(kit_apply(&w, c), WOPR_E_UNAVAILABLE);
    row = seal("again");
    cr_expect_eq(row.key_no, 2);
    opens(run_with(row), "again");
}

/* --- digests of bodies (IDEM-10) --- */

static int look(struct idem_key k, const char *body) {
    struct idem_response r;
    k.digest = sha256_of(str_c(body));
    if (k.key_no != 0) {
        struct sha256 secret;
        int64_t no;
        vault_derive(v, STR("idem"), &secret, &no);
        k.keyed = hmac_sha256(str_n((const char *)secret.b, sizeof secret.b),
                              str_n((const char *)k.digest.b, sizeof k.digest.b));
    }
    return store_idem_find(w.s, &k, 5, w.a, &r, &w.err);
}

static void answer_keep(const char *run, struct idem_key k) {
    struct plan *p = kit_create(run, 1);
    p->has_idem = true;
    p->idem = k;
    p->idem_response = (struct idem_response){.status = 201, .body = STR("{}")};
    cr_assert_eq(kit_apply(&w, p), 0, "%s", w.err.message);
}

/* A body may be as short as a PIN: whoever has the file must not be able to try them all. */
Test(vault, no_digest_of_a_body_stands_in_the_file_without_a_key) {
    struct sha256 plain = sha256_of(STR("{\"pin\":4711}")), secret;
    struct idem_key k = {.tenant = KIT_TENANT, .operation_id = STR("op"), .digest = plain};
    char hex[65], sql[200];
    sha256_hex(&plain, hex);
    k.key = sha256_of(STR("old"));
    answer_keep("run_1", k); /* as an older program did */
    snprintf(sql, sizeof sql,
             "DELETE FROM idempotency WHERE keyed = 0 AND hex(digest) <> upper('%s')", hex);
    cr_assert_eq(kit_foreign(&w, sql), SQLITE_OK);
    k.key_no = 1;
    cr_expect_eq(look(k, "{\"pin\":4711}"), 0, "it still compares");
    cr_expect_eq(look(k, "{\"pin\":4712}"), WOPR_E_IDEM_CONFLICT);
    vault_derive(v, STR("idem"), &secret, &k.key_no);
    k.key = sha256_of(STR("new"));
    k.keyed = hmac_sha256(str_n((const char *)secret.b, sizeof secret.b),
                          str_n((const char *)plain.b, sizeof plain.b));
    answer_keep("run_2", k);
    snprintf(sql, sizeof sql,
             "UPDATE idempotency SET status = 1 / (hex(digest) <> upper('%s'))"
             " WHERE keyed = 1",
             hex);
    cr_expect_eq(kit_foreign(&w, sql), SQLITE_OK);
    cr_expect_eq(look(k, "{\"pin\":4711}"), 0);
    cr_expect_eq(look(k, "{\"pin\":4712}"), WOPR_E_IDEM_CONFLICT);
    cr_assert_eq(vault_rotate(v, &OTHER, &w.err), 0);
    reopen(&OTHER, 0);
    cr_expect_eq(look(k, "{\"pin\":4711}"), 0, "a rotation changes nothing");
    k.key_no = 9;
    cr_expect_eq(look(k, "{\"pin\":4711}"), WOPR_E_IDEM_CONFLICT, "another installation's");
}

/* --- older programs --- */

/* Two hosts start at once on an old file: both have read the run, one was faster, and the run has
 * ended since.  The other leaves it alone. */
Test(vault, a_run_of_an_older_program_is_sealed_once) {
    struct old_clear_list was;
    struct plan *c = kit_create("run_1", 1);
    plan_ref(c);
    cr_assert_eq(kit_apply(&w, c), 0);
    int64_t no = c->run_no;
    plan_unref(c);
    cr_assert_eq(kit_foreign(&w, "INSERT INTO run_vars (run_no, name, shown, clear)"
                                 " VALUES (1, 'v', '\"m\"', '\"clear\"')"),
                 SQLITE_OK);
    cr_assert_eq(store_old_clear(w.s, no, w.a, &was, &w.err), 0);
    struct plan_sealed row = seal("clear");
    row.seq = SEALED_INPUTS;
    const struct old_sealed o = {
        .run_no = no, .was = &was, .inputs_sealed = true, .rows = &row, .rows_nr = 1};
    cr_assert_eq(store_old_sealed(w.s, &o, &w.err), 0, "%s", w.err.message);
    struct plan *p = kit_append(no, 1, 1, true);
    p->unseals = true;
    cr_assert_eq(kit_apply(&w, p), 0);
    cr_assert_eq(kit_verify(&w), 0);
    cr_assert_eq(store_old_sealed(w.s, &o, &w.err), 0, "the other host goes on");
    cr_expect_eq(kit_verify(&w), 0, "and leaves nothing clear behind");
}

/* The second of two processes would write a set without the key of the first. */
Test(vault, two_rotations_at_once_lose_no_key) {
    struct vault *late = NULL;
    const struct seal_secret third = {{3}};
    cr_assert_eq(vault_new(w.s, &KEK, 1, &late, &replaced, &w.err), 0);
    cr_assert_eq(vault_rotate(v, &OTHER, &w.err), 0, "%s", w.err.message);
    int64_t run_no = run_with(seal("\"kept\""));
    cr_expect_eq(vault_rotate(late, &third, &w.err), WOPR_E_STALE);
    vault_free(late);
    cr_expect_eq(kit_number(&w, "SELECT count(*) FROM seal_keys WHERE retired_ms IS NULL"), 1,
                 "one seals");
    cr_expect_eq(kit_number(&w, "SELECT count(*) FROM seal_keys"), 2);
    reopen(&OTHER, 0);
    opens(run_no, "\"kept\"");
}
