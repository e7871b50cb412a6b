/* workflow_find.c: look-ups by name in a compiled workflow. */
#include "base/map.h"
#include "domain/workflow_int.h"

int workflow_node_index(const struct workflow *w, struct str node_id) {
    const struct wf_node *n = map_get(w->node_map, node_id);
    return n == NULL ? -1 : (int)(n - w->nodes);
}

int workflow_node_name(struct workflow *w, size_t node, struct str id) {
    struct wf_node *n = &w->nodes[node];
    struct str copy = arena_str(w->arena, id);
    if (copy.p == NULL || map_put(w->node_map, copy, n, NULL) != 0) return WOPR_E_NO_MEMORY;
    (void)map_del(w->node_map, n->id);
    n->id = copy;
    return 0;
}

const struct wf_variable *workflow_variable(const struct workflow *w, struct str name) {
    return map_get(w->var_map, name);
}

const struct wf_channel *workflow_channel(const struct workflow *w, struct str name) {
    return map_get(w->chan_map, name);
}
