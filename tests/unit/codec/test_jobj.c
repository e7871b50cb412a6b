/*
 * test_jobj.c: JSON objects built on the side.
 */
#include "base/fault.h"
#include "base/mem.h"
#include "codec/jobj.h"

#include <criterion/criterion.h>

static struct arena *a;
static void up(void) { a = arena_new(1 << 20); }
static void down(void) { arena_free(a); }

Test(json_object, its_text_goes_into_the_arena, .init = up, .fini = down) {
    struct jobj o;
    jobj_begin(&o, 256);
    jw_kstr(&o.w, "s", STR("a\"b"));
    jw_key(&o.w, "l");
    jw_array(&o.w);
    jw_int(&o.w, 1);
    jw_end_array(&o.w);
    jw_kraw_opt(&o.w, "r", STR("{\"x\":1}"));
    struct str text = jobj_end(&o, a);
    cr_assert(str_eqc(text, "{\"s\":\"a\\\"b\",\"l\":[1],\"r\":{\"x\":1}}"));
    cr_assert_eq(text.p[text.n], '\0');
}

Test(json_object, the_members_of_another_object_join_its_own, .init = up, .fini = down) {
    static const char *const NONE[] = {"", "{}", " { \n } "};
    struct jobj o;
    jobj_begin(&o, 256);
    jw_kint(&o.w, "a", 1);
    for (size_t i = 0; i < sizeof NONE / sizeof *NONE; i++) jw_members(&o.w, str_c(NONE[i]));
    jw_members(&o.w, STR(" {\"b\": [2, 3],\"c\":\"}\"} "));
    jw_kint(&o.w, "d", 4);
    cr_assert(str_eqc(jobj_end(&o, a), "{\"a\":1,\"b\": [2, 3],\"c\":\"}\",\"d\":4}"));
    jobj_begin(&o, 256);
    jw_members(&o.w, STR("{\"b\":2}"));
    cr_assert(str_eqc(jobj_end(&o, a), "{\"b\":2}"));
}

Test(json_object, without_members_it_is_empty_and_left_out_members_leave_no_comma, .init = up,
     .fini = down) {
    struct jobj o;
    jobj_begin(&o, 256);
    cr_assert(str_eqc(jobj_end(&o, a), "{}"));
    jobj_begin(&o, 256);
    jw_kstr_opt(&o.w, "s", STR_NONE);
    jw_kstrz_opt(&o.w, "z", NULL);
    jw_kstrz_opt(&o.w, "z", "");
    jw_kraw_opt(&o.w, "r", STR(""));
    jw_kstr_opt(&o.w, "t", STR("u"));
    jw_kstrz_opt(&o.w, "v", "w");
    cr_assert(str_eqc(jobj_end(&o, a), "{\"t\":\"u\",\"v\":\"w\"}"));
}

Test(json_object, its_text_can_be_taken_or_become_the_details_of_an_error) {
    struct jobj o;
    struct wopr_error err = {.details = "{\"old\":1}"};
    size_t n;
    jobj_begin(&o, 64);
    jw_kint(&o.w, "n", -7);
    char *text = jobj_take(&o, &n);
    cr_assert_str_eq(text, "{\"n\":-7}");
    cr_assert_eq(n, 8);
    mem_free(text);
    jobj_begin(&o, 64);
    jw_kbool(&o.w, "b", true);
    jobj_details(&o, &err);
    cr_assert_str_eq(err.details, "{\"b\":true}");
    jobj_begin(&o, 64);
    jobj_details(&o, NULL);
}

Test(json_object, more_than_its_maximum_gives_nothing, .init = up, .fini = down) {
    struct jobj o;
    struct wopr_error err = {.details = "{\"old\":1}"};
    size_t n = 1;
    jobj_begin(&o, 8);
    jw_kstrz(&o.w, "key", "value");
    cr_assert_null(jobj_end(&o, a).p);
    jobj_begin(&o, 8);
    jw_kstrz(&o.w, "key", "value");
    cr_assert_null(jobj_take(&o, &n));
    jobj_begin(&o, 8);
    jw_kstrz(&o.w, "key", "value");
    jobj_details(&o, &err);
    cr_assert_str_eq(err.details, "{\"old\":1}");
    jobj_begin(&o, 64);
    jobj_fail(&o);
    cr_assert_null(jobj_end(&o, a).p);
}

Test(json_object, nesting_beyond_64_fails_it_and_it_can_be_dropped_at_any_depth, .init = up,
     .fini = down) {
    struct jobj o;
    jobj_begin(&o, 4096);
    jw_key(&o.w, "deep");
    for (int i = 0; i < 70; i++) jw_array(&o.w);
    cr_assert_null(jobj_end(&o, a).p);
    jobj_begin(&o, 4096);
    jw_key(&o.w, "deep");
    for (int i = 0; i < 10; i++) jw_array(&o.w);
    jobj_drop(&o);
}

Test(json_object, of_one_member, .init = up, .fini = down) {
    cr_assert(str_eqc(jobj_of(a, "value", STR("[1,2]")), "{\"value\":[1,2]}"));
    cr_assert(str_eqc(jobj_of(a, "value", STR_NONE), "{\"value\":null}"));
    cr_assert(str_eqc(jobj_of(a, "", STR("1")), "{\"\":1}"));
    cr_assert(str_eqc(jobj_of_int(a, "v", INT64_MIN), "{\"v\":-9223372036854775808}"));
}

Test(json_object, every_allocation_may_fail) {
    for (unsigned n = 1; fault_arm(1u << FAULT_MALLOC, n); n++) {
        struct arena *own = arena_new(1 << 16);
        struct jobj o;
        jobj_begin(&o, 4096);
        for (int i = 0; i < 100; i++) jw_kint(&o.w, "member", i);
        struct str text = own ? jobj_end(&o, own) : STR_NONE;
        if (!own) jobj_drop(&o);
        cr_assert_eq(text.p == NULL, fault_fired());
        fault_disarm();
        arena_free(own);
    }
}
