/*
 * test_tokens.c: signing secrets of interrupt tokens (INT-36, D46).  The second store plays the
 * command line beside a running host.
 */
#include "kit.h"
#include "store/keys.h"

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
TestSuite(store_tokens, .init = up, .fini = down, .timeout = 300);

static int put(struct store *s, const char *kid, uint8_t byte, int64_t now_ms) {
    struct token_secret t = {.kid = str_c(kid), .created_ms = now_ms};
    memset(t.secret, byte, sizeof t.secret);
    return store_token_secret_put(s, &t, &w.err);
}

static void signs(struct store *s, const char *kid, uint8_t byte) {
    struct token_secret t;
    cr_assert_eq(store_token_secret_current(s, w.a, &t, &w.err), 0, "%s", w.err.message);
    cr_expect(str_eqc(t.kid, kid), STR_FMT, STR_ARG(t.kid));
    cr_expect_eq(t.secret[0], byte);
    cr_expect_eq(t.secret[31], byte);
    cr_expect_eq(t.retired_ms, 0);
}

Test(store_tokens, there_is_none_at_first) {
    struct token_secret t;
    struct token_secret_list l;
    cr_expect_eq(store_token_secret_current(w.s, w.a, &t, &w.err), WOPR_E_NOT_FOUND);
    cr_expect_eq(store_token_secret_find(w.s, STR("a"), w.a, &t, &w.err), WOPR_E_NOT_FOUND);
    cr_assert_eq(store_token_secret_list(w.s, w.a, &l, &w.err), 0);
    cr_expect_eq(l.n, 0u);
}

Test(store_tokens, a_rotation_is_seen_at_once_and_the_old_secret_still_verifies) {
    struct token_secret t;
    cr_assert_eq(put(w.s, "a", 1, 1000), 0);
    signs(w.s, "a", 1);
    cr_assert_eq(put(other, "b", 2, 1000), 0, "by another process, in the same millisecond");
    signs(w.s, "b", 2);
    cr_assert_eq(store_token_secret_find(w.s, STR("a"), w.a, &t, &w.err), 0);
    cr_expect_eq(t.secret[5], 1);
    cr_expect_eq(t.retired_ms, 1000);
}

Test(store_tokens, a_kid_is_never_given_twice_and_a_refused_put_retires_nothing) {
    cr_assert_eq(put(w.s, "a", 1, 1000), 0);
    cr_assert_eq(put(w.s, "b", 2, 2000), 0);
    cr_expect_eq(put(w.s, "a", 3, 3000), WOPR_E_EXISTS);
    signs(w.s, "b", 2);
}

Test(store_tokens, only_a_retired_secret_can_be_deleted) {
    struct token_secret t;
    struct token_secret_list l;
    cr_assert_eq(put(w.s, "a", 1, 1000), 0);
    cr_expect_eq(store_token_secret_delete(w.s, STR("a"), &w.err), WOPR_E_CONFLICT);
    cr_expect_eq(store_token_secret_delete(w.s, STR("x"), &w.err), WOPR_E_NOT_FOUND);
    cr_assert_eq(put(w.s, "b", 2, 2000), 0);
    cr_assert_eq(store_token_secret_delete(other, STR("a"), &w.err), 0, "%s", w.err.message);
    cr_expect_eq(store_token_secret_find(w.s, STR("a"), w.a, &t, &w.err), WOPR_E_NOT_FOUND);
    cr_assert_eq(store_token_secret_list(w.s, w.a, &l, &w.err), 0);
    cr_assert_eq(l.n, 1u);
    cr_expect(str_eqc(l.v[0].kid, "b"));
    signs(w.s, "b", 2);
}
