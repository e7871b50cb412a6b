/*
 * table.c: types.def as a registry, and as checks of configs.  A type without a row is
 * refused with the workflow that uses it (NODE-3).
 */
#include "nodes/nodes.h"

/* NODE-62: no host may provide it. */
static const char *const NEVER[] = {"conformance.never-provided", NULL};

static const struct node_type TYPES[] = {
#define NODE_TYPE(id, executor, needs, bits, check)                                                \
    {.type_id = id, .fn = executor, .requires = needs, .flags = bits},
#include "nodes/types.def"
#undef NODE_TYPE
};
enum { TYPES_NR = sizeof TYPES / sizeof TYPES[0] };

static const char *(*const CONFIG_CHECKS[])(struct str config) = {
#define NODE_TYPE(id, executor, requires, flags, check) check,
#include "nodes/types.def"
#undef NODE_TYPE
};

const char *nodes_config_wrong(struct str type_id, struct str config) {
    for (size_t i = 0; i < TYPES_NR; i++)
        if (CONFIG_CHECKS[i] && str_eqc(type_id, TYPES[i].type_id)) return CONFIG_CHECKS[i](config);
    return NULL;
}

const char *nodes_config_wrong_silent(struct str type_id, struct str config) {
    bool asks = (node_traits(type_id) & NODE_IS_DISPATCHER) != 0 &&
                str_eqc(json_get(config, "askUserRouting"), "\"conversation\"");
    return asks ? "askUserRouting is clarification or auto: this host holds no conversations"
                : nodes_config_wrong(type_id, config);
}

/* Not those that look at the state of the run: entered again, an agent must see what it saw. */
node_fn *nodes_local_tool(struct str type_id) {
    static const struct {
        const char *type_id;
        node_fn *fn;
    } LOCAL[] = {{"core.identity", exec_identity},
                 {"core.noop", exec_noop},
                 {"core.fail", exec_fail},
                 {"core.setVariable", exec_set_variable},
                 {"core.channelWrite", exec_channel_write},
                 {"vendor.wopr.log", exec_log}};
    for (size_t i = 0; i < sizeof LOCAL / sizeof *LOCAL; i++)
        if (str_eqc(type_id, LOCAL[i].type_id)) return LOCAL[i].fn;
    return NULL;
}

bool nodes_any(const struct node_registry *r, unsigned traits) {
    for (size_t i = 0; i < TYPES_NR; i++) {
        struct str id = str_c(TYPES[i].type_id);
        if (node_traits(id) & traits && node_registry_find(r, id)) return true;
    }
    return false;
}

int nodes_register(struct node_registry *r, bool conformance, unsigned without,
                   struct ai_providers *ai, struct wopr_error *err) {
    for (size_t i = 0; i < TYPES_NR; i++) {
        struct node_type t = TYPES[i];
        if ((t.flags & NODE_CONFORMANCE) != 0 && !conformance) continue;
        unsigned traits = node_traits(str_c(t.type_id));
        if (traits & without) continue;
        if ((without & NODE_IS_CONVERSATION) && (traits & NODE_IS_DISPATCHER))
            t.fn = exec_dispatch_silent;
        t.ctx = ai;
        int rc = node_registry_add(r, &t, err);
        if (rc != 0) return rc;
    }
    return 0;
}

int nodes_register_core(struct node_registry *r, bool conformance, struct wopr_error *err) {
    return nodes_register(r, conformance, 0, NULL, err);
}
