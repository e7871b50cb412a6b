/* configurable_schema.c: public scenario configurable-schema (OPT-5, WF-2). */
#include "suite.h"

SCENARIO(configurable_schema);

Test(configurable_schema, keys_outside_the_declared_schema_are_refused) {
    static const char *const ids[] = {"conformance-configurable-schema", "conformance-identity"};
    const char *id = NULL;
    for (size_t i = 0; i < COUNT(ids) && id == NULL; i++) {
        if (!has_fixture(ids[i])) continue;
        struct reply w = ask("GET", fmt("/v1/workflows/%s", ids[i]), NULL, NULL);
        cr_assert_eq(w.status, 200, "an advertised fixture is not served: %ld", w.status);
        if (is_type(w.json, "configurableSchema", JSON_OBJECT)) id = ids[i];
    }
    if (id == NULL) cr_skip("no advertised fixture declares a configurableSchema");
    struct reply r = ask("POST", "/v1/runs",
                         fmt("{\"workflowId\":\"%s\",\"inputs\":{\"payload\":{}},\"configurable\":"
                             "{\"__conformance_invalid_key__\":{\"unexpected\":true}}}",
                             id),
                         NULL);
    cr_assert(r.status == 400 || r.status == 422, "%ld", r.status);
    cr_expect(str_eqc(text_at(r.json, "error"), "validation_error"));
    run_to_end(id, "\"inputs\":{\"payload\":{}}",
               "completed"); /* it was the key, not the workflow */
}
