/*
 * test_name.c: names of packs and of files in them (PACK-1, PACK-3, PACK-4, PACK-20, PACK-22).
 */
#include "base/arena.h"
#include "codec/fold.h"
#include "packs/name.h"

#include <criterion/criterion.h>

Test(pack_name, of_each_scope_and_of_none /* PACK-1, PACK-4 */) {
    static const struct {
        const char *name;
        int code;
    } NAMES[] = {
        {"core.openwop.http", 0},
        {"vendor.acme.tools", 0},
        {"vendor.acme.tools.extra-9_X", 0},
        {"community.ada.x", 0},
        {"private.host.x", 0},
        {"local.host.x", WOPR_E_PACK_SCOPE},
        {"evil.host.x", WOPR_E_PACK_SCOPE},
        {"a", WOPR_E_PACK_NAME},
        {"", WOPR_E_PACK_NAME},
        {"Bad Name", WOPR_E_PACK_NAME},
        {"name with spaces", WOPR_E_PACK_NAME},
        {"probe-no-such-pack", WOPR_E_PACK_NAME},
        {"community.test", WOPR_E_PACK_NAME},
        {"vendor.Acme.tools", WOPR_E_PACK_NAME},
        {"Vendor.acme.tools", WOPR_E_PACK_NAME},
        {"vendor.acme.Tools", WOPR_E_PACK_NAME},
        {"vendor..tools", WOPR_E_PACK_NAME},
        {"vendor.acme.", WOPR_E_PACK_NAME},
        {"vendor.acme.9x", WOPR_E_PACK_NAME},
        {"vendor.acme.../x", WOPR_E_PACK_NAME},
        {"vendor.acm\xC3\xA9.x", WOPR_E_PACK_NAME},
    };
    char longest[PACK_NAME_MAX + 1];
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        struct wopr_error err = {0};
        enum pack_scope scope = PACK_SCOPE_NR;
        cr_expect_eq(pack_name_check(str_c(NAMES[i].name), &scope, &err), NAMES[i].code, "%s",
                     NAMES[i].name);
        cr_expect_eq(err.code, NAMES[i].code);
    }
    memset(longest, 'a', sizeof longest);
    memcpy(longest, "core.a.", 7);
    cr_expect(pack_name_ok(str_n(longest, PACK_NAME_MAX)));
    cr_expect_not(pack_name_ok(str_n(longest, PACK_NAME_MAX + 1)));
}

Test(pack_name, a_namespace_is_an_organisation_or_one_name /* PACK-3 */) {
    cr_expect(str_eqc(pack_namespace(STR("vendor.acme.a.b")), "vendor.acme"));
    cr_expect(str_eqc(pack_namespace(STR("private.host.x")), "private.host"));
    cr_expect(str_eqc(pack_namespace(STR("community.ada.x")), "community.ada.x"));
    cr_expect(str_eqc(pack_namespace(STR("core.openwop.x")), "core.openwop.x"));
}

Test(pack_file, names_are_clean_or_refused /* PACK-20, PACK-22 */) {
    static const struct {
        const char *raw, *clean; /* NULL: refused */
    } NAMES[] = {
        {"pack.json", "pack.json"},
        {"./pack.json", "pack.json"},
        {"././a/b", "a/b"},
        {"./", ""},
        {".", ""},
        {"a/", "a"},
        {"a/.hidden", "a/.hidden"},
        {"a/..b", "a/..b"},
        {"sch\xC3\xA9mas/x", "sch\xC3\xA9mas/x"},
        {"", NULL},
        {"/", NULL},
        {"/etc/passwd", NULL},
        {"../x", NULL},
        {"a/../../x", NULL},
        {"a/..", NULL},
        {"./../x", NULL},
        {"a//b", NULL},
        {"a/./b", NULL},
        {"a\\..\\b", NULL},
        {"C:/x", NULL},
        {"a\nb", NULL},
        {"a\x7F", NULL},
        {"\xFF", NULL},
        {"\xC0\xAE\xC0\xAE/x", NULL},
        {"..", NULL},
        {".//x", NULL},
        {"a//", NULL},
    };
    struct str clean;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        bool ok = pack_file_name(str_c(NAMES[i].raw), &clean);
        cr_expect_eq(ok, NAMES[i].clean != NULL, "%s", NAMES[i].raw);
        if (ok && NAMES[i].clean) cr_expect(str_eqc(clean, NAMES[i].clean), "%s", NAMES[i].raw);
    }
    char deep[64];
    for (size_t i = 0; i < sizeof deep; i++) deep[i] = i % 2 ? '/' : 'a';
    cr_expect(pack_file_name(str_n(deep, 2 * PACK_FILE_DEPTH_MAX), &clean));
    cr_expect_not(pack_file_name(str_n(deep, 2 * PACK_FILE_DEPTH_MAX + 2), &clean));
}

Test(pack_file, names_fold_as_file_systems_fold_them /* PACK-22 */) {
    static const char *const PAIRS[][2] = {{"A/b", "a/B"},
                                           {"Stra\xC3\x9F"
                                            "e",
                                            "STRASSE"},
                                           {"\xC3\xA9", "e\xCC\x81"},
                                           {"\xC3\x89", "e\xCC\x81"},
                                           {"\xE2\x84\xAA", "k"}}; /* the sign for kelvin */
    struct arena *a = arena_new(1 << 20);
    for (size_t i = 0; i < sizeof PAIRS / sizeof *PAIRS; i++) {
        struct str x = fold_name(str_c(PAIRS[i][0]), a), y = fold_name(str_c(PAIRS[i][1]), a);
        cr_expect(x.n > 0 && str_eq(x, y), "%s", PAIRS[i][0]);
    }
    cr_expect_null(fold_name(STR("\xFF"), a).p);
    cr_expect_not(str_eq(fold_name(STR("a"), a), fold_name(STR("b"), a)));
    arena_free(a);
}
