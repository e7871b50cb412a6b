/*
 * pack_types.c: see pack_types.h.
 */
#include "nodes/pack_types.h"

#include "codec/jobj.h"
#include "nodes/remote_tool.h"

#define WASM_PAGE 65536
#define WASM_ABI  1

static int no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a pack");
}

/* --- what nodes require (PACK-13) --- */

static bool secret_read(struct str raw, struct arena *a, struct node_secret *out) {
    struct str scope = json_string(json_get(raw, "scope"), a);
    out->raw = arena_str(a, raw);
    out->id = json_string(json_get(out->raw, "id"), a);
    out->provider = json_string(json_get(out->raw, "provider"), a);
    out->scope = scope.n > 0 ? scope : STR("tenant");
    return credential_kind_parse(json_string(json_get(out->raw, "kind"), a), &out->kind);
}

static int secrets_read(struct str node, struct arena *a, struct node_type *t,
                        struct wopr_error *err) {
    struct str raw = json_get(node, "requiresSecrets");
    struct json_elements all = {0};
    if (raw.n == 0) return 0;
    if (json_elements(raw, a, &all, NULL) != 0) return no_memory(err);
    struct node_secret *v = ARENA_ARRAY(a, struct node_secret, all.n + 1);
    for (size_t i = 0; v && i < all.n; i++)
        if (!secret_read(all.v[i], a, &v[i]) && !arena_failed(a))
            return wopr_error_set(err, WOPR_E_PACK_LOAD, "a node requires a secret of no kind");
    if (!v || arena_failed(a)) return no_memory(err);
    t->secrets = v;
    t->secrets_nr = all.n;
    return 0;
}

/* --- modules --- */

static struct str node_declared(const struct json_elements *nodes, struct str type_id,
                                struct arena *a) {
    for (size_t i = 0; i < nodes->n; i++)
        if (str_eq(json_string(json_get(nodes->v[i], "typeId"), a), type_id)) return nodes->v[i];
    return STR_NONE;
}

static int module_refused(struct str report, struct arena *a, struct wopr_error *err) {
    struct str code = json_string(json_get(report, "code"), a),
               why = json_string(json_get(report, "message"), a);
    return wopr_error_set(err, WOPR_E_PACK_LOAD,
                          "the module cannot be loaded: " STR_FMT ": " STR_FMT, STR_ARG(code),
                          STR_ARG(why));
}

/* runtime.wasm of the manifest (WASM-2, WASM-13, X-24). */
static int block_read(struct str manifest, uint64_t *memory_max, struct wopr_error *err) {
    struct str block = json_get(json_get(manifest, "runtime"), "wasm");
    struct str abi = json_get(block, "abiVersion"), pages = json_get(block, "memoryPagesMax");
    int64_t n = 0;
    *memory_max = 0;
    if (abi.n > 0 && (!json_int(abi, &n) || n != WASM_ABI))
        return wopr_error_set(err, WOPR_E_PACK_LOAD,
                              "the module cannot be loaded: unsupported_abi_version: the manifest "
                              "has another runtime.wasm.abiVersion than %d",
                              WASM_ABI);
    if (pages.n == 0) return 0;
    if (!json_int(pages, &n) || n < 1 || n > UINT32_MAX)
        return wopr_error_set(err, WOPR_E_PACK_LOAD,
                              "runtime.wasm.memoryPagesMax of the manifest is no number of pages");
    *memory_max = (uint64_t)n * WASM_PAGE;
    return 0;
}

static int module_types(const struct json_elements *types, const struct pack_manifest *m,
                        const struct wasm_type *each, struct arena *a, struct pack_types_made *out,
                        struct wopr_error *err) {
    struct json_elements nodes = {0};
    struct wasm_type *wasm = ARENA_ARRAY(a, struct wasm_type, types->n + 1);
    out->v = ARENA_ARRAY(a, struct node_type, types->n + 1);
    if (!wasm || !out->v || (m->nodes.n > 0 && json_elements(m->nodes, a, &nodes, NULL) != 0))
        return no_memory(err);
    for (size_t i = 0; i < types->n; i++) {
        struct str id = json_string(types->v[i], a), node = node_declared(&nodes, id, a);
        if (!id.p) return no_memory(err);
        if (node.n == 0)
            return wopr_error_set(err, WOPR_E_PACK_LOAD,
                                  "the module has a type that the manifest does not name");
        wasm[i] = *each;
        wasm[i].type_id = id.p;
        out->v[i] = (struct node_type){.type_id = id.p, .fn = exec_wasm, .ctx = &wasm[i]};
        int rc = secrets_read(node, a, &out->v[i], err);
        if (rc != 0) return rc;
        wasm[i].secrets = out->v[i].secrets;
        wasm[i].secrets_nr = out->v[i].secrets_nr;
        out->n++;
    }
    return arena_failed(a) ? no_memory(err) : 0;
}

int pack_types_wasm(const struct pack_manifest *m, struct str report, const char *digest,
                    struct sandbox_limits limits, struct arena *a, struct pack_types_made *out,
                    struct wopr_error *err) {
    struct wasm_type each = {.digest = digest, .time_ms = limits.time_ms_max};
    struct json_elements types = {0};
    struct str raw = json_get(report, "types");
    if (raw.n == 0) return module_refused(report, a, err);
    int rc = block_read(m->text, &each.memory_max, err);
    if (rc != 0) return rc;
    if (!str_eq(json_string(json_get(report, "pack"), a), m->name))
        return wopr_error_set(err, WOPR_E_PACK_LOAD,
                              "the module calls itself otherwise than the manifest");
    if (json_elements(raw, a, &types, NULL) != 0) return no_memory(err);
    return module_types(&types, m, &each, a, out, err);
}

int pack_types_named(const struct pack_manifest *m, const char *digest,
                     struct sandbox_limits limits, struct arena *a, struct pack_types_made *out,
                     struct wopr_error *err) {
    struct wasm_type each = {.digest = digest, .time_ms = limits.time_ms_max};
    struct json_elements types = {0};
    struct str nodes = arena_str(a, m->nodes);
    int rc = block_read(m->text, &each.memory_max, err);
    if (rc == 0 && (nodes.n == 0 || json_elements(nodes, a, &types, NULL) != 0))
        rc = no_memory(err);
    if (rc == 0 && types.n > PACK_TYPES_NAMED_MAX)
        rc = wopr_error_set(err, WOPR_E_PACK_LOAD, "the manifest names too many types");
    for (size_t i = 0; rc == 0 && i < types.n; i++) types.v[i] = json_get(types.v[i], "typeId");
    return rc == 0 ? module_types(&types, m, &each, a, out, err) : rc;
}

/* --- tools of a server --- */

static struct str last_word(struct str type_id) {
    size_t at = type_id.n;
    while (at > 0 && type_id.p[at - 1] != '.') at--;
    return str_n(type_id.p + at, type_id.n - at);
}

static int tool_read(struct str node, struct str server, struct arena *a, struct remote_tool *tool,
                     struct node_type *t, struct wopr_error *err) {
    struct str id = json_string(json_get(node, "typeId"), a);
    struct str name = json_string(json_get(json_get(node, "mcp"), "toolName"), a);
    if (!id.p) return no_memory(err);
    *tool =
        (struct remote_tool){.server = server,
                             .tool = name.n > 0 ? name : last_word(id),
                             .repeatable = str_eqc(json_string(json_get(node, "role"), a), "pure")};
    *t = (struct node_type){.type_id = id.p, .fn = exec_remote_tool, .ctx = tool};
    return secrets_read(node, a, t, err);
}

int pack_types_remote(const struct pack_manifest *m, struct arena *a, struct pack_types_made *out,
                      struct wopr_error *err) {
    struct json_elements nodes = {0};
    if (!str_starts(m->entry, STR("https://")) && !str_starts(m->entry, STR("http://")))
        return wopr_error_at(err, WOPR_E_PACK_LOAD, "/runtime/entry",
                             "runtime.entry of a remote pack is not the URL of an MCP server");
    if (m->nodes.n > 0 && json_elements(arena_str(a, m->nodes), a, &nodes, NULL) != 0)
        return no_memory(err);
    struct remote_tool *tools = ARENA_ARRAY(a, struct remote_tool, nodes.n + 1);
    out->v = ARENA_ARRAY(a, struct node_type, nodes.n + 1);
    out->server = arena_str(a, m->entry);
    int rc = tools && out->v && out->server.p ? 0 : no_memory(err);
    for (size_t i = 0; rc == 0 && i < nodes.n; i++) {
        rc = tool_read(nodes.v[i], out->server, a, &tools[i], &out->v[i], err);
        if (rc == 0) out->n++;
    }
    return rc == 0 && arena_failed(a) ? no_memory(err) : rc;
}
