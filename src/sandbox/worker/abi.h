/*
 * abi.h: OpenWOP's ABI 1 for packs of nodes (WASM-2 to WASM-18), on top of wasm.h.  Layer: sandbox,
 * in the worker process alone.
 *
 * A message, what a node type is invoked with:
 *   {"request":{...}       given to the module as it stands (WASM-10)
 *    "variables":{...}     what openwop_variable_get finds
 *    "channels":{...}      what openwop_channel_read finds, folded
 *    "closed":[...]        declared channels that the node may not write
 *    "rules":[...]         the others, as {"name","reducer","schema"?,"each"?} (rules.h)
 *    "seed":HEX64          of openwop_random (WASM-17)
 *    "nowMs":N             of openwop_now_ms
 *    "keep":BOOL           tell the request in a report of an interrupt
 *    "calls":[...]         of earlier executions that were broken off: given again, in this order}
 * A report:
 *   {"outcome":"response","response":JSON,"effects":[...]}    JSON of the module, by syntax
 *   {"outcome":"interrupt","interrupt":{...},"nowMs","request"?,"calls":[...],"effects":[...]}
 *   {"outcome":"failed","code","message","cap"?:{"kind","limit","observed"}}
 * each with "memoryBytes" and "steps".  effects: ["set",NAME,JSON], ["write",CHANNEL,JSON] and
 * ["log",LEVEL,TEXT], in their order.  calls: [IMPORT,HEX of what it was asked,RESULT], and only
 * those that can differ another time.
 */
#ifndef WOPR_SANDBOX_ABI_H
#define WOPR_SANDBOX_ABI_H

#include "base/buf.h"

#define ABI_VERSION     1
#define ABI_TYPES_MAX   256u
#define ABI_EFFECTS_MAX 1000u /* of one invocation */
#define ABI_LOG_MAX     4096u /* bytes of one line; the rest is cut off */
#define ABI_CALLS_MAX   10000u

struct abi_bounds {
    uint64_t memory_max; /* bytes of linear memory */
    int time_ms;
};
struct abi_module;
/* Reads, links and asks who it is.  What comes back or NULL, the report says:
 * {"outcome":"loaded","pack","types":[...],"memoryBytes"} or failed, with unsupported_abi_version
 * or pack_load_failure.  *spent: this process is short of memory and must end. */
struct abi_module *abi_load(struct str bytes, const struct abi_bounds *b, struct buf *report,
                            bool *spent);
void abi_free(struct abi_module *m); /* takes NULL */
/* One invocation, in an instance of its own (WASM-12).  message: checked JSON. */
void abi_invoke(struct abi_module *m, struct str type_id, struct str message,
                const struct abi_bounds *b, struct buf *report, bool *spent);

#endif
