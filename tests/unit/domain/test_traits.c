/*
 * test_traits.c: what the protocol says of its node types.
 */
#include "codec/ident.h"
#include "domain/workflow.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const char *const IDS[] = {
#define TRAITS(id, bits) id,
#include "domain/traits.def"
#undef TRAITS
};
enum { IDS_NR = sizeof IDS / sizeof IDS[0] };

Test(traits, every_row_names_one_type_of_the_protocol_or_of_ours) {
    for (size_t i = 0; i < IDS_NR; i++) {
        bool ours = str_starts(str_c(IDS[i]), STR("vendor.wopr."));
        cr_expect(id_type_valid(str_c(IDS[i])) && (ours || str_starts(str_c(IDS[i]), STR("core."))),
                  "%s", IDS[i]);
        cr_expect_neq(node_traits(str_c(IDS[i])), 0, "%s", IDS[i]);
        for (size_t k = 0; k < i; k++) cr_expect_str_neq(IDS[i], IDS[k]);
    }
}

Test(traits, other_types_have_none) {
    cr_expect_eq(node_traits(STR("core.noop")), 0);
    cr_expect_eq(node_traits(STR("core.star")), 0);
    cr_expect_eq(node_traits(STR("core.start ")), 0);
    cr_expect_eq(node_traits(STR("")), 0);
}

Test(traits, a_compiled_node_holds_those_of_its_type) {
    struct wopr_error err;
    const struct wf_env env = {0};
    for (size_t i = 0; i < IDS_NR; i++) {
        char text[512];
        struct workflow *w;
        snprintf(text, sizeof text,
                 "{\"id\":\"w\",\"name\":\"w\",\"version\":\"1.0.0\",\"nodes\":["
                 "{\"id\":\"a\",\"name\":\"a\",\"typeId\":\"%s\"},"
                 "{\"id\":\"b\",\"name\":\"b\",\"typeId\":\"core.orchestrator.supervisor\"}],"
                 "\"edges\":[]}",
                 IDS[i]);
        cr_assert_eq(workflow_compile(str_c(text), &env, &w, &err), 0, "%s: %s", IDS[i],
                     err.message);
        cr_expect_eq(w->nodes[0].traits, node_traits(str_c(IDS[i])), "%s", IDS[i]);
        workflow_unref(w);
    }
}
