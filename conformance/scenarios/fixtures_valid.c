/* fixtures_valid.c: public scenario fixtures-valid, and the same rules for what a host serves under
 * the advertised ids (FIX-1, FIX-3, RUN-42). */
#include "suite.h"
#include "verify.h"

#include "base/embed.h"

SCENARIO(fixtures_valid);

static void expect_fixture(const char *id, struct str json) {
    char why[VERIFY_WHY] = "";
    bool manual = false;
    cr_expect(verify_against("workflow-definition.schema.json", json, why), "%s: %s", id, why);
    cr_expect(str_eqc(text_at(json, "id"), id));
    struct json_elements t = list_at(json, "triggers");
    for (size_t i = 0; i < t.n; i++) manual = manual || str_eqc(text_at(t.v[i], "type"), "manual");
    cr_expect(manual, "%s has no manual trigger", id);
}

Test(fixtures_valid, offline_fixture_files_are_valid_workflows) {
    static const char *const folders[] = {"conformance/fixtures/", "conformance/fixtures-host/"};
    size_t seen = 0;
    for (const struct embed_file *f = EMBED_FILES; f->name != NULL; f++)
        for (size_t i = 0; i < COUNT(folders); i++) {
            struct str name = str_c(f->name), folder = str_c(folders[i]);
            if (!str_starts(name, folder)) continue;
            name = str_n(name.p + folder.n, name.n - folder.n - strlen(".json"));
            expect_fixture(arena_cstr(test_arena(), name), embed_text(f));
            seen++;
        }
    cr_expect_gt(seen, 40u);
}

Test(fixtures_valid, advertised_fixtures_are_served_and_valid) {
    if (at(discovery(), "fixtures").p == NULL) cr_skip("fixtures is not advertised");
    struct json_elements l = list_at(discovery(), "fixtures");
    if (l.n == 0) cr_skip("the list of fixtures is empty");
    for (size_t i = 0; i < l.n; i++) {
        const char *id = arena_cstr(test_arena(), json_string(l.v[i], test_arena()));
        struct reply r = ask("GET", fmt("/v1/workflows/%s", id), NULL, NULL);
        cr_expect_eq(r.status, 200, "%s: %ld", id, r.status);
        if (r.status == 200) expect_fixture(id, r.json);
    }
}
