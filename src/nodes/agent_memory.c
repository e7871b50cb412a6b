/*
 * agent_memory.c: what core.identity does with memory for the conformance fixtures (MEM-30 to
 * MEM-33): one write or two, then a read whose result goes into a variable.
 */
#include "codec/jobj.h"
#include "nodes/agent.h"

#define HOUR_MS        (INT64_C(3600) * 1000)
#define TAG            STR("source:conformance") /* MEM-15 */
#define OTHER_TENANT   STR("conformance.another-tenant")
#define ANOTHER_TENANT STR("conformance.yet-another-tenant") /* when the run is of that one */

/* The entries become the value of a variable, and of the node's output of that name. */
static bool agent_memory_shown(const struct node_call *call, struct node_result *out,
                               const char *name, struct str value) {
    struct node_effect *x = value.p ? node_effect_add(call, out, EFFECT_VARIABLE) : NULL;
    struct str outputs = x ? jobj_of(call->a, name, value) : STR_NONE;
    if (!outputs.p) {
        node_no_memory(out);
        return false;
    }
    x->name = str_c(name);
    x->value = value;
    out->outcome = NODE_OUT_DONE;
    out->outputs = outputs;
    return true;
}

static bool pinned_ref(const struct node_call *call, struct node_result *out, struct str *ref) {
    *ref = json_string(json_get(call->def->agent, "memoryRef"), call->a);
    if (ref->n > 0) return true;
    node_invalid(out, "this memoryAction needs an agent with a memoryRef");
    return false;
}

static bool write_one(const struct node_call *call, struct node_result *out, unsigned ordinal,
                      struct node_memory_write w) {
    const struct str tags[] = {TAG};
    struct str id;
    w.tags = tags;
    w.tags_nr = 1;
    return node_memory_put(call, out, ordinal, &w, &id);
}

/* The newest entry: the run's own, since what others write is older to its eyes. */
static bool newest_shown(const struct node_call *call, struct node_result *out, unsigned ordinal,
                         struct str ref) {
    const struct node_memory_query q = {.ref = ref, .limit = 1};
    struct str list;
    struct json_elements e;
    if (!node_memory_list(call, out, ordinal, &q, &list)) return false;
    if (json_elements(list, call->a, &e, NULL) != 0) {
        node_no_memory(out);
        return false;
    }
    return agent_memory_shown(call, out, "memoryReadback", e.n > 0 ? e.v[0] : STR("null"));
}

static void write_then_read(const struct node_call *call, struct node_result *out) { /* MEM-30 */
    struct str ref;
    if (pinned_ref(call, out, &ref) &&
        write_one(call, out, 0,
                  (struct node_memory_write){.ref = ref, .content = STR("the user likes tea")}))
        (void)newest_shown(call, out, 1, ref);
}

/* MEM-31: what another tenant has under the ref is none of this run's. */
static void cross_tenant_probe(const struct node_call *call, struct node_result *out) {
    struct node_memory_write w = {.content = STR("of another tenant"), .ttl_ms = HOUR_MS};
    struct str ref, list;
    if (!node_arg_string(call, "probeMemoryRef", &ref)) {
        node_invalid(out, "probeMemoryRef must be the name of a memory");
        return;
    }
    w.ref = ref;
    w.tenant = str_eq(call->run->meta.tenant, OTHER_TENANT) ? ANOTHER_TENANT : OTHER_TENANT;
    const struct node_memory_query q = {.ref = ref};
    if (write_one(call, out, 0, w) && node_memory_list(call, out, 1, &q, &list))
        (void)agent_memory_shown(call, out, "crossTenantProbe", list);
}

/* MEM-32.  The credential is asked for only where it is written: a replay needs none. */
static void redaction_probe(const struct node_call *call, struct node_result *out) {
    struct node_memory_write w = {.content = STR("written before")};
    struct node_credential c = {.value = STR("")};
    struct str ref, id;
    if (!pinned_ref(call, out, &ref)) return;
    if (!node_arg_string(call, "byokSecretId", &id)) {
        node_invalid(out, "byokSecretId must be the name of a credential");
        return;
    }
    if (!call->replaying && !node_memory_known(call, 0)) {
        enum node_found found = node_credential(call, id, &c, out);
        if (found == NODE_NONE) node_credential_missing(call, id, out);
        if (found != NODE_FOUND) return;
        w.content =
            arena_printf(call->a, "the door opens with " STR_FMT ", always", STR_ARG(c.value));
        if (!w.content.p || !node_credential_copied(call, w.content)) {
            node_no_memory(out);
            return;
        }
    }
    w.ref = ref;
    if (write_one(call, out, 0, w)) (void)newest_shown(call, out, 1, ref);
}

static void ttl_probe(const struct node_call *call, struct node_result *out) { /* MEM-33 */
    struct node_memory_query q = {0};
    struct str ref, list;
    if (!pinned_ref(call, out, &ref)) return;
    struct node_memory_write past = {.ref = ref, .content = STR("over"), .ttl_ms = -1000};
    struct node_memory_write next = {.ref = ref, .content = STR("still so"), .ttl_ms = HOUR_MS};
    q.ref = ref;
    if (write_one(call, out, 0, past) && write_one(call, out, 1, next) &&
        node_memory_list(call, out, 2, &q, &list))
        (void)agent_memory_shown(call, out, "memoryList", list);
}

static const struct {
    const char *name;
    node_fn *fn;
} ACTIONS[] = {
    {"\"write-then-read\"", write_then_read},
    {"\"cross-tenant-probe\"", cross_tenant_probe},
    {"\"redaction-probe\"", redaction_probe},
    {"\"ttl-probe\"", ttl_probe},
};

void agent_memory(const struct node_call *call, struct node_result *out, struct str action) {
    for (size_t i = 0; i < sizeof ACTIONS / sizeof *ACTIONS; i++)
        if (str_eqc(action, ACTIONS[i].name)) {
            ACTIONS[i].fn(call, out);
            return;
        }
    node_invalid(out, "there is no such memoryAction");
}
