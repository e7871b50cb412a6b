/* memory_kit.h: what the scenarios of long-term memory share (MEM-1, MEM-4). */
#ifndef WOPR_CONFORMANCE_MEMORY_KIT_H
#define WOPR_CONFORMANCE_MEMORY_KIT_H

#include "suite.h"

#include "codec/ident.h"

#include <string.h>

static inline void need_memory(const char *fixture) {
    if (!list_has(need_member("agents.memoryBackends"), "long-term"))
        cr_skip_test("the host advertises no long-term memory");
    need_fixture(fixture);
}

static inline struct str variable_of(struct str snap, const char *name) {
    struct str v = json_get(at(snap, "variables"), name);
    cr_assert(v.n > 0, "no variable %s in " STR_FMT, name, STR_ARG(snap));
    return v;
}

static inline void entry_check(struct str e) { /* a closed object */
    static const char *const KEYS[] = {"id", "content", "tags", "createdAt", "expiresAt"};
    struct json_members m;
    int64_t ms;
    cr_assert(json_type_of(e) == JSON_OBJECT, STR_FMT, STR_ARG(e));
    cr_assert_eq(json_members(e, test_arena(), &m, NULL), 0);
    for (size_t i = 0; i < m.n; i++) {
        bool known = false;
        for (size_t k = 0; k < COUNT(KEYS); k++) known = known || str_eqc(m.v[i].key, KEYS[k]);
        cr_expect(known, "unknown member " STR_FMT, STR_ARG(m.v[i].key));
    }
    cr_expect_gt(text_at(e, "id").n, 0u);
    cr_expect(is_type(e, "content", JSON_STRING));
    struct json_elements tags = list_at(e, "tags");
    for (size_t i = 0; i < tags.n; i++) cr_expect(json_type_of(tags.v[i]) == JSON_STRING);
    cr_expect(time_parse(text_at(e, "createdAt"), &ms));
}

#endif
