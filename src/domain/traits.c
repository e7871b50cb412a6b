/*
 * traits.c: the table of traits.def.
 */
#include "domain/traits.h"

enum {
    START = NODE_IS_START,
    END = NODE_IS_END,
    DISPATCHER = NODE_IS_DISPATCHER,
    SUPERVISOR = NODE_IS_SUPERVISOR,
    ROUTER = NODE_IS_ROUTER,
    PARENT = NODE_IS_PARENT,
    LOOP = NODE_IS_LOOP,
    DECLARING = NODE_IS_DECLARING,
    AGENT = NODE_IS_AGENT,
    CONVERSATION = NODE_IS_CONVERSATION
};
static const struct {
    struct str type_id;
    unsigned traits;
} TRAITS_TABLE[] = {
#define TRAITS(id, bits) {{id, sizeof(id) - 1}, bits},
#include "domain/traits.def"
#undef TRAITS
};

unsigned node_traits(struct str type_id) {
    for (size_t i = 0; i < sizeof TRAITS_TABLE / sizeof TRAITS_TABLE[0]; i++)
        if (str_eq(TRAITS_TABLE[i].type_id, type_id)) return TRAITS_TABLE[i].traits;
    return 0;
}
