/*
 * rules.h: what a run takes of the writes of a module (WASM-7, CHAN-1, CHAN-12, CHAN-22, CHAN-23,
 * CHAN-28).  Layer: sandbox, in the worker process alone; for imports.c.
 *
 * The engine judges each write again when it applies it: here it is judged first, so that the
 * module is told by a status and may do otherwise.  What depends on more than the value (bounds of
 * the run, maxSize, a schema of the folded list) is the engine's alone, and fails the node.
 */
#ifndef WOPR_SANDBOX_RULES_H
#define WOPR_SANDBOX_RULES_H

#include "codec/json.h"
#include "domain/workflow.h"

struct schema_set;
struct schema;
struct rule { /* of a declared channel that the node may write */
    struct str name, schema;
    enum reducer reducer;
    bool each; /* the schema is that of a list of one entry */
    /* --- at the first write --- */
    bool tried;
    struct schema_set *set;
    const struct schema *compiled; /* NULL: there is none that can be judged here */
};
struct rules {
    struct rule *v;
    size_t n;
};
/* "rules" of a message (abi.h).  false: no memory, or no such list. */
bool rules_read(struct rules *r, struct str raw, struct arena *a);
void rules_fini(struct rules *r);
struct rule *rules_find(const struct rules *r, struct str name);
/* May this name be that of a channel or variable that a node writes? */
bool rules_name_ok(struct str name);
/* Is this value (checked JSON) one for the channel? */
bool rule_takes(struct rule *r, struct str value, struct arena *a);

#endif
