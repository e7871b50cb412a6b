/*
 * registry.c: node types by id (NODE-1, NODE-2), and the helpers executors build their results
 * with.
 */
#include "engine/registry.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "codec/ident.h"

#include <stdio.h>

#define REGISTRY_EFFECTS_FIRST 4u

struct node_registry {
    struct map *by_id; /* type id -> struct node_type, owned */
};

struct node_registry *node_registry_new(void) {
    struct node_registry *r = MEM_NEW(struct node_registry);
    if (!r) return NULL;
    r->by_id = map_new();
    if (r->by_id) return r;
    mem_free(r);
    return NULL;
}

void node_registry_free(struct node_registry *r) {
    struct str key;
    void *value;
    size_t it = 0;
    if (!r) return;
    while (map_next(r->by_id, &it, &key, &value)) mem_free(value);
    map_free(r->by_id);
    mem_free(r);
}

size_t node_registry_count(const struct node_registry *r) { return map_count(r->by_id); }

int node_registry_add(struct node_registry *r, const struct node_type *t, struct wopr_error *err) {
    struct str id = str_c(t->type_id);
    if (!id_type_valid(id) || !t->fn)
        return wopr_error_set(err, WOPR_E_CONFIG,
                              "a node type needs a function and an id like vendor.acme.greet");
    if (map_get(r->by_id, id))
        return wopr_error_set(err, WOPR_E_EXISTS, "node type %s is registered twice", t->type_id);
    /* Copy the id behind the row, so that callers may pass temporary text. */
    struct node_type *own = mem_zalloc(sizeof *own + id.n + 1);
    if (!own) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a node type");
    *own = *t;
    char *copy = (char *)(own + 1);
    memcpy(copy, id.p, id.n);
    own->type_id = copy;
    if (map_put(r->by_id, id, own, NULL) == 0) return 0;
    mem_free(own);
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a node type");
}

const struct node_type *node_registry_find(const struct node_registry *r, struct str type_id) {
    return map_get(r->by_id, type_id);
}

const struct node_type *node_registry_next(const struct node_registry *r, size_t *it) {
    struct str key;
    void *value;
    return map_next(r->by_id, it, &key, &value) ? value : NULL;
}

const char *registry_missing(const struct node_type *t, const char *const *have) {
    for (const char *const *need = t->requires; need && *need; need++) {
        const char *const *h = have;
        while (h && *h && strcmp(*h, *need) != 0) h++;
        if (!h || !*h) return *need;
    }
    return NULL;
}

int registry_unserved(size_t node, struct str type_id, struct wopr_error *err) {
    char pointer[64];
    (void)snprintf(pointer, sizeof pointer, "/nodes/%zu/typeId", node);
    return wopr_error_at(err, WOPR_E_VALIDATION, pointer,
                         "node %zu has the type \"" STR_FMT "\", which this host does not execute, "
                         "no installed pack has and no worker has registered; install its pack "
                         "(wopr packs install) or register it (/v1/host/wopr/worker-types), then "
                         "start the run again",
                         node, STR_ARG(type_id));
}

struct node_effect *node_effect_add(const struct node_call *call, struct node_result *out,
                                    enum node_effect_kind kind) {
    if (VEC_ROOM_IN(call->a, out->effects, out->effects_nr, out->effects_cap,
                    REGISTRY_EFFECTS_FIRST) != 0)
        return NULL;
    struct node_effect *x = &out->effects[out->effects_nr++];
    *x = (struct node_effect){.kind = kind, .reducer = RED_APPEND, .is_last = -1};
    return x;
}

void node_fail(struct node_result *out, const char *code, const char *message, bool retryable) {
    out->outcome = NODE_OUT_FAIL;
    out->error_code = str_c(code);
    out->error_message = str_c(message);
    out->retryable = retryable;
}
