/*
 * memory.c: vendor.wopr.remember and vendor.wopr.recall: long-term memory of a tenant for workflows
 * (MEM-3: what writes is this type of the host; nodes are given reads only).
 */
#include "codec/jobj.h"
#include "nodes/nodes.h"

#define TAGS_MAX 64
#define SOURCE   STR("source:workflow") /* MEM-15 */

/* That of the node, else that of its agent. */
static bool ref_of(const struct node_call *call, struct node_result *out, struct str *ref) {
    struct str of_agent = json_get(call->def->agent, "memoryRef");
    if (node_arg(call, "ref").n == 0 && of_agent.n > 0) {
        *ref = json_string(of_agent, call->a);
        return ref->p != NULL;
    }
    if (node_arg_string(call, "ref", ref) && ref->n > 0) return true;
    node_invalid(out, "ref must be the name of a memory");
    return false;
}

static bool text_or_none(const struct node_call *call, const char *key, struct str *text) {
    *text = STR("");
    return node_arg(call, key).n == 0 || node_arg_string(call, key, text);
}

static bool number_of(const struct node_call *call, const char *key, int64_t max, int64_t *n) {
    struct str raw = node_arg(call, key);
    *n = 0;
    return raw.n == 0 || (json_int(raw, n) && *n >= 1 && *n <= max);
}

static void memory_done(const struct node_call *call, struct node_result *out, const char *name,
                        struct str value) {
    out->outputs = value.p ? jobj_of(call->a, name, value) : STR_NONE;
    out->outcome = NODE_OUT_DONE;
    if (!out->outputs.p) node_no_memory(out);
}

/* --- vendor.wopr.remember --- */

static bool tags_of(const struct node_call *call, struct node_memory_write *w) {
    struct str raw = node_arg(call, "tags");
    struct json_elements e = {0};
    if (raw.n > 0 &&
        (json_type_of(raw) != JSON_ARRAY || json_elements(raw, call->a, &e, NULL) != 0))
        return false;
    struct str *tags = e.n < TAGS_MAX ? ARENA_ARRAY(call->a, struct str, e.n + 1) : NULL;
    if (!tags) return false;
    for (size_t i = 0; i < e.n; i++) {
        if (json_type_of(e.v[i]) != JSON_STRING) return false;
        tags[i] = json_string(e.v[i], call->a);
    }
    tags[e.n] = SOURCE;
    w->tags = tags;
    w->tags_nr = e.n + 1;
    return true;
}

void exec_remember(const struct node_call *call, struct node_result *out) {
    struct node_memory_write w = {0};
    struct str id;
    struct jobj o;
    if (!ref_of(call, out, &w.ref)) return;
    if (!node_arg_string(call, "content", &w.content))
        node_invalid(out, "content must be the text to remember");
    else if (!tags_of(call, &w)) node_invalid(out, "tags must be an array of at most 63 texts");
    else if (!number_of(call, "ttlMs", INT64_MAX, &w.ttl_ms))
        node_invalid(out, "ttlMs is a whole number of milliseconds, 1 or more");
    else if (node_memory_put(call, out, 0, &w, &id)) {
        jobj_begin(&o, EVENT_PAYLOAD_MAX);
        jw_kstr(&o.w, "id", id);
        out->outputs = jobj_end(&o, call->a);
        out->outcome = NODE_OUT_DONE;
        if (!out->outputs.p) node_no_memory(out);
    }
}

/* --- vendor.wopr.recall --- */

void exec_recall(const struct node_call *call, struct node_result *out) {
    struct node_memory_query q = {0};
    struct str found, id;
    int64_t limit;
    if (!ref_of(call, out, &q.ref)) return;
    if (!text_or_none(call, "id", &id) || !text_or_none(call, "tag", &q.tag) ||
        !text_or_none(call, "text", &q.text)) {
        node_invalid(out, "id, tag and text are texts");
        return;
    }
    if (!number_of(call, "limit", 100, &limit)) {
        node_invalid(out, "limit is a whole number from 1 to 100");
        return;
    }
    q.limit = (unsigned)limit;
    if (id.n > 0) {
        if (node_memory_get(call, out, 0, q.ref, id, &found))
            memory_done(call, out, "entry", found);
    } else if (node_memory_list(call, out, 0, &q, &found)) {
        memory_done(call, out, "entries", found);
    }
}
