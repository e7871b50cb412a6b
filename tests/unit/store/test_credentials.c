/* test_credentials.c: secrets that runs use by name: whose is found, that none opens elsewhere, and
 * whichever call fails nothing is lost (CAP-19, NODE-5). */
#include "kit.h"

#include "base/fault.h"
#include "store/credentials.h"
#include "store/seals.h"

static struct kit w;
static struct vault *v;
static const struct seal_secret KEK = {{1}}, NEXT = {{2}};

static void vault_up(const struct seal_secret *kek) {
    bool replaced;
    vault_free(v);
    cr_assert_eq(vault_new(w.s, kek, 1, &v, &replaced, &w.err), 0, "%s", w.err.message);
}
static void up(void) {
    kit_up(&w);
    vault_up(&KEK);
}
static void down(void) {
    vault_free(v);
    kit_down(&w);
}
TestSuite(credentials, .init = up, .fini = down);

static struct credential of(const char *tenant, const char *subject, const char *name) {
    return (struct credential){.id = {.tenant = str_c(tenant),
                                      .issuer = str_c(*subject ? "i" : ""),
                                      .subject = str_c(subject),
                                      .name = str_c(name)},
                               .kind = CREDENTIAL_AI_PROVIDER,
                               .provider = STR("main"),
                               .updated_ms = 1000};
}
static void put(struct credential c, const char *value) {
    cr_assert_eq(credential_put(w.s, v, &c, str_c(value), &w.err), 0, "%s", w.err.message);
}
static const char *found(struct credential c) {
    struct str value = STR_NONE;
    int rc = credential_resolve(w.s, v, &c.id, w.a, &c, &value, &w.err);
    if (rc != 0) return wopr_err_name(rc);
    cr_expect(str_eqc(c.provider, "main"));
    return arena_cstr(w.a, value);
}
#define FOUND(want, ...) cr_expect_str_eq(found(of(__VA_ARGS__)), want)

Test(credentials, a_subject_finds_its_own_and_then_that_of_its_tenant) {
    put(of("t", "", "k"), "of the tenant");
    put(of("t", "u", "k"), "of the user");
    put(of("other", "", "k"), "of another tenant");
    FOUND("of the user", "t", "u", "k");
    FOUND("of the tenant", "t", "w", "k");
    FOUND("of the tenant", "t", "", "k");
    FOUND("of another tenant", "other", "u", "k");
    FOUND("NOT_FOUND", "t", "u", "K");
    struct credential test = of("t", "", "k");
    test.id.test_mode = true;
    cr_expect_str_eq(found(test), "NOT_FOUND", "test runs have none of live ones");
    const struct credential gone = of("t", "u", "k");
    cr_assert_eq(store_credential_delete(w.s, &gone.id, &w.err), 0);
    FOUND("of the tenant", "t", "u", "k");
    cr_expect_eq(store_credential_delete(w.s, &gone.id, &w.err), WOPR_E_NOT_FOUND);
}

Test(credentials, a_new_value_takes_the_place_of_the_old) {
    struct credential c = of("t", "", "k"), row;
    put(c, "one");
    c.updated_ms = 2000;
    put(c, "two");
    FOUND("two", "t", "", "k");
    cr_assert_eq(store_credential_find(w.s, &c.id, w.a, &row, &w.err), 0);
    cr_expect(row.created_ms == 1000 && row.updated_ms == 2000);
}

static void sql(const char *text) {
    sqlite3 *db;
    char *why = NULL;
    cr_assert_eq(sqlite3_open(w.path, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, text, NULL, NULL, &why), SQLITE_OK, "%s", why);
    sqlite3_close(db);
}

Test(credentials, a_box_opens_in_its_row_only) {
    static const char *const MOVES[] = {
        "UPDATE credentials SET name = 'n'",         "UPDATE credentials SET tenant = 'n'",
        "UPDATE credentials SET test_mode = 1",      "UPDATE credentials SET provider = 'n'",
        "UPDATE credentials SET updated_ms = 2000",  "UPDATE credentials SET issuer = 'j'",
        "UPDATE credentials SET subject = 'w'",      "UPDATE credentials SET kind = 1",
        "UPDATE credentials SET box = zeroblob(40)",
    };
    for (size_t i = 0; i < sizeof MOVES / sizeof *MOVES; i++) {
        struct credential_list l;
        sql("DELETE FROM credentials");
        put(of("t", "u", "k"), "the value");
        cr_assert_eq(store_credentials(w.s, STR("t"), NULL, w.a, &l, &w.err), 0);
        cr_assert(l.n == 1 && credential_check(v, &l.v[0], w.a, &w.err) == 0);
        sql(MOVES[i]);
        cr_assert_eq(store_credentials(w.s, STR_NONE, NULL, w.a, &l, &w.err), 0);
        cr_assert_eq(l.n, 1);
        cr_expect_eq(credential_check(v, &l.v[0], w.a, &w.err), WOPR_E_CORRUPT, "%s", MOVES[i]);
    }
}

Test(credentials, they_stay_through_rotations_and_hold_the_data_keys) {
    bool any = false;
    put(of("t", "", "k"), "the value");
    cr_assert_eq(store_seals_any(w.s, &any, &w.err), 0);
    cr_expect(any, "a lost key file would lose them, so no new one is made");
    cr_assert_eq(vault_rotate(v, &NEXT, &w.err), 0, "%s", w.err.message);
    vault_up(&NEXT);
    FOUND("the value", "t", "", "k");
}

Test(credentials, pages_of_a_list_have_each_once) {
    struct credential_id after, *from = NULL;
    struct credential_list l;
    char name[16];
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "k%02d", i);
        put(of(i % 2 ? "t" : "u", i % 3 ? "" : "s", name), "0123456789");
    }
    cr_assert_eq(store_credentials(w.s, STR_NONE, from, w.a, &l, &w.err), 0);
    cr_assert_eq(l.n, 30);
    for (size_t i = 0; i < 30; i++) {
        struct credential_list rest;
        after = l.v[i].id;
        from = &after;
        cr_assert_eq(store_credentials(w.s, STR_NONE, from, w.a, &rest, &w.err), 0);
        cr_assert_eq(rest.n, 29 - i);
        if (rest.n > 0) cr_expect(str_eq(rest.v[0].id.name, l.v[i + 1].id.name));
    }
    cr_assert_eq(store_credentials(w.s, STR("t"), NULL, w.a, &l, &w.err), 0);
    cr_expect_eq(l.n, 15);
}

Test(credentials, a_tenant_has_so_many_and_may_change_those) {
    sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
        " INSERT INTO credentials SELECT 't', 0, '', '', 'k' || i, 3, '', 1, x'00', 1, 1 FROM n");
    struct credential more = of("t", "", "more");
    cr_expect_eq(credential_put(w.s, v, &more, STR("value"), &w.err), WOPR_E_QUOTA);
    put(of("t", "", "k7"), "changed");
    FOUND("changed", "t", "", "k7");
    put(of("u", "", "more"), "of another");
}

Test(credentials, whichever_call_fails_the_old_value_or_the_new_one_is_there) {
    put(of("t", "", "k"), "old");
    struct credential c = of("t", "", "k");
    for (unsigned n = 1; fault_arm(1u << FAULT_MALLOC, n); n++) {
        int rc = credential_put(w.s, v, &c, STR("new"), &w.err);
        fault_disarm();
        const char *now = found(of("t", "", "k"));
        cr_assert_str_eq(now, rc == 0 ? "new" : "old", "%u", n);
        if (rc == 0) put(of("t", "", "k"), "old");
        else cr_assert_eq(rc, WOPR_E_NO_MEMORY);
    }
    fault_disarm();
}
