/* mcp_discoverability.c: public scenario mcp-discoverability. */
#include "suite.h"

SCENARIO(mcp_discoverability);

static void expect_mcp(const char *path) {
    struct str doc = document();
    bool on = false;
    cr_assert(json_bool(at(doc, fmt("%s.supported", path)), &on), "%s.supported", path);
    if (!on) return;
    struct json_elements l = list_at(doc, fmt("%s.serverUrls", path));
    cr_expect_gt(l.n, 0u);
    for (size_t i = 0; i < l.n; i++) {
        struct str u = json_string(l.v[i], test_arena());
        cr_expect(str_starts(u, STR("/")) || str_starts(u, STR("http://")) ||
                      str_starts(u, STR("https://")),
                  "serverUrls[%zu]", i);
    }
}

Test(mcp_discoverability, document_mcp_block_is_complete) {
    need_member("mcp");
    expect_mcp("mcp");
}

Test(mcp_discoverability, document_nested_mcp_block_is_complete) {
    need_member("capabilities.mcp");
    expect_mcp("capabilities.mcp");
}
