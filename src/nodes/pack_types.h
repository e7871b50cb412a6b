/*
 * pack_types.h: node types out of a manifest (WASM-2, WASM-13, CAP-36, MCP-3).  Layer: nodes, for
 * pack_loader.c.
 *
 * Types of a module are those that it has itself, each declared in the manifest.  Those of a pack
 * of the language remote are tools of an MCP server: runtime.entry is its URL, which counts only
 * when the operator has named it too; mcp.toolName of the node is the tool, or the last word of its
 * type id.
 */
#ifndef WOPR_NODES_PACK_TYPES_H
#define WOPR_NODES_PACK_TYPES_H

#include "nodes/nodes.h"
#include "packs/manifest.h"
#include "sandbox/sandbox.h"

struct pack_types_made { /* in the arena; texts of the manifest are copied */
    struct node_type *v;
    size_t n;
    struct str server; /* remote: the URL; else empty */
};
/* report: what the sandbox says of the module (abi.h); digest: of the module, borrowed for as long
 * as the types are used.  PACK_LOAD: another ABI, another name, a type that is not declared;
 * NO_MEMORY. */
MUST_CHECK int pack_types_wasm(const struct pack_manifest *m, struct str report, const char *digest,
                               struct sandbox_limits limits, struct arena *a,
                               struct pack_types_made *out, struct wopr_error *err);
/* The same by the manifest alone, for a module that cannot be loaded here: what came of its nodes
 * before is in the logs of runs, and replayed without it. */
#define PACK_TYPES_NAMED_MAX 256u
MUST_CHECK int pack_types_named(const struct pack_manifest *m, const char *digest,
                                struct sandbox_limits limits, struct arena *a,
                                struct pack_types_made *out, struct wopr_error *err);
MUST_CHECK int pack_types_remote(const struct pack_manifest *m, struct arena *a,
                                 struct pack_types_made *out, struct wopr_error *err);

#endif
