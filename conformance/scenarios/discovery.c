/* discovery.c: public scenario discovery (CAP-1, CAP-3, CAP-30, RUN-47). */
#include "suite.h"

SCENARIO(discovery);

Test(discovery, document_is_valid_and_has_the_core_members) {
    struct str doc = document();
    cr_expect(text_at(doc, "protocolVersion").n > 0);
    cr_expect(is_type(doc, "supportedEnvelopes", JSON_ARRAY));
    cr_expect(is_type(doc, "schemaVersions", JSON_OBJECT));
    cr_expect(is_type(doc, "limits", JSON_OBJECT));
}

Test(discovery, document_may_be_cached) {
    struct reply r = ask("GET", "/.well-known/openwop", NULL, NO_AUTH);
    cr_assert_eq(r.status, 200);
    cr_expect(header(&r, "Cache-Control").n > 0, "no Cache-Control");
}

Test(discovery, document_tag_does_not_change_by_itself) {
    struct reply r = ask("GET", "/.well-known/openwop", NULL, NO_AUTH);
    struct str tag = header(&r, "Capabilities-Etag");
    if (tag.p == NULL) cr_skip("the host sends no Capabilities-Etag (it is optional)");
    cr_expect(tag.n > 0);
    struct reply again = ask("GET", "/.well-known/openwop", NULL, NO_AUTH);
    cr_expect(str_eq(header(&again, "Capabilities-Etag"), tag));
    cr_expect(str_eq(again.body, r.body), "same tag, other document");
}

Test(discovery, document_limits_are_numbers_from_zero) {
    static const char *const names[] = {"limits.clarificationRounds", "limits.schemaRounds",
                                        "limits.envelopesPerTurn"};
    struct str doc = document();
    for (size_t i = 0; i < COUNT(names); i++) cr_expect(int_at(doc, names[i]) >= 0, "%s", names[i]);
}

Test(discovery, document_lists_each_fixture_once) {
    struct str doc = document();
    if (at(doc, "fixtures").p == NULL) cr_skip("fixtures is not advertised (it is optional)");
    struct json_elements l = list_at(doc, "fixtures");
    for (size_t i = 0; i < l.n; i++) {
        cr_expect(json_string(l.v[i], test_arena()).n > 0, "fixture %zu is no string", i);
        for (size_t k = 0; k < i; k++)
            cr_expect_not(str_eq(l.v[i], l.v[k]), STR_FMT " twice", STR_ARG(l.v[i]));
    }
}

Test(discovery, the_openapi_document_is_served_without_a_credential) {
    struct reply r = ask("GET", "/v1/openapi.json", NULL, NO_AUTH);
    cr_assert_eq(r.status, 200);
    struct str v = text_at(r.json, "openapi");
    cr_expect(v.n >= 3 && v.p[0] == '3' && v.p[1] == '.' && v.p[2] >= '1' && v.p[2] <= '9',
              "openapi is " STR_FMT, STR_ARG(v));
}
