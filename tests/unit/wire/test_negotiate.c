/*
 * Which major serves a request (D2), as a table.
 */
#include "wire/v1/wire_int.h"

#include <criterion/criterion.h>

static const struct {
    const char *path, *header;
    int rc;
    const char *details;
} CASES[] = {
    {"/v1/runs", "", 0, ""},
    {"/v1", "", 0, ""},
    {"/v1/openapi.json", "1", 0, ""},
    {"/v1/runs", "1.0", 0, ""},
    {"/v1/runs", " 1.9 ", 0, ""}, /* only the major selects */
    {"/.well-known/openwop", "", 0, ""},
    {"/.well-known/openwop", "1.0", 0, ""},
    {"/.well-known/openwop", "2", WOPR_E_VERSION_UNSUPPORTED, "{\"protocolVersions\":[\"1.0\"]}"},
    {"/v1/runs", "2.0", WOPR_E_VERSION_UNSUPPORTED, "{\"protocolVersions\":[\"1.0\"]}"},
    {"/runs", "2", WOPR_E_VERSION_UNSUPPORTED, "{\"protocolVersions\":[\"1.0\"]}"},
    {"/v1/runs", "0", WOPR_E_VERSION_UNSUPPORTED, "{\"protocolVersions\":[\"1.0\"]}"},
    {"/v1/runs", "one", WOPR_E_VALIDATION, "{\"header\":\"OpenWOP-Version\"}"},
    {"/v1/runs", "1.", WOPR_E_VALIDATION, "{\"header\":\"OpenWOP-Version\"}"},
    {"/v1/runs", "1.0.0", WOPR_E_VALIDATION, "{\"header\":\"OpenWOP-Version\"}"},
    {"/v1/runs", "01", WOPR_E_VALIDATION, "{\"header\":\"OpenWOP-Version\"}"},
    {"/v1/runs", "-1", WOPR_E_VALIDATION, "{\"header\":\"OpenWOP-Version\"}"},
    {"/v1/runs", "1,2", WOPR_E_VALIDATION, "{\"header\":\"OpenWOP-Version\"}"},
    {"/v1/runs", "99999999999999999999", WOPR_E_VALIDATION, "{\"header\":\"OpenWOP-Version\"}"},
    {"/runs", "", WOPR_E_VALIDATION, "{\"path\":\"/runs\"}"}, /* HTTP-2 */
    {"/workflows/x", "1", WOPR_E_VALIDATION, "{\"path\":\"/workflows\"}"},
    {"/", "", 0, ""},                                                     /* says where to begin */
    {"/index.html", "", WOPR_E_VALIDATION, "{\"path\":\"/index.html\"}"}, /* F10 */
    {"/favicon.ico", "1", WOPR_E_VALIDATION, "{\"path\":\"/favicon.ico\"}"},
    {"/foo/bar.txt", "", WOPR_E_VALIDATION, "{\"path\":\"/foo\"}"}, /* HTTP-14: one segment */
    {"/a-word-that-is-too-long-to-be-a-route", "", WOPR_E_VALIDATION, "{\"path\":\"/\"}"},
    {"", "", WOPR_E_VALIDATION, "{\"path\":\"/\"}"},
    {"/v1x/runs", "", WOPR_E_VALIDATION, "{\"path\":\"/\"}"},
    {"/V1/runs", "", WOPR_E_VALIDATION, "{\"path\":\"/\"}"},
    {"/hk_live_secret/x", "", WOPR_E_VALIDATION, "{\"path\":\"/\"}"}, /* HTTP-14: never repeated */
    {"//v1/runs", "", WOPR_E_VALIDATION, "{\"path\":\"/\"}"},
    {"/v2/runs", "", WOPR_E_NOT_FOUND, ""}, /* HTTP-3 */
    {"/v10", "", WOPR_E_NOT_FOUND, ""},
};

Test(wire_negotiate, every_row_of_the_table_holds /* D2 HTTP-1 HTTP-2 HTTP-3 */) {
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct wopr_error err = {0};
        int rc = v1_negotiate(NULL, str_c(CASES[i].path), str_c(CASES[i].header), &err);
        cr_expect_eq(rc, CASES[i].rc, "%s [%s]: %d", CASES[i].path, CASES[i].header, rc);
        cr_expect_str_eq(err.details, CASES[i].details, "%s [%s]", CASES[i].path, CASES[i].header);
    }
}

Test(wire_negotiate, what_no_operation_has_is_unknown_or_unversioned /* HTTP-2 HTTP-3 */) {
    static const struct {
        const char *path;
        int rc;
        const char *details;
    } UNKNOWN[] = {{"/v1", WOPR_E_NOT_FOUND, ""},
                   {"/v1/none", WOPR_E_NOT_FOUND, ""},
                   {"/.well-known/none", WOPR_E_NOT_FOUND, ""},
                   {"/.well-known", WOPR_E_VALIDATION, "{\"path\":\"/.well-known\"}"}};
    for (size_t i = 0; i < sizeof UNKNOWN / sizeof UNKNOWN[0]; i++) {
        struct wopr_error err = {0};
        cr_expect_eq(v1_unknown_path(NULL, str_c(UNKNOWN[i].path), &err), UNKNOWN[i].rc, "%s",
                     UNKNOWN[i].path);
        cr_expect_str_eq(err.details, UNKNOWN[i].details, "%s", UNKNOWN[i].path);
    }
}
