/*
 * wasm.h: what the files of nodes of packs share.  Layer: nodes, not for others but nodes.h.
 */
#ifndef WOPR_NODES_WASM_H
#define WOPR_NODES_WASM_H

#include "nodes/nodes.h"

/* wasm_message.c: what a module is invoked with (WASM-10; sandbox/worker/abi.h).  request: that of
 * an earlier execution, raw, or empty: made anew.  resume: raw object or empty.  calls: elements of
 * an array, raw, may be empty.  STR_NONE: it is too much, or no memory (arena_failed). */
struct wasm_ask {
    struct str request, resume, calls;
    int64_t now_ms;
};
struct str wasm_message(const struct node_call *call, const struct wasm_ask *ask);

#endif
