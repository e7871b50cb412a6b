/*
 * types.h: what is known of node types: the one place that everybody asks.  Layer: domain (pure).
 * Whoever knows types (nodes/ those of this binary, a host those that others serve as well)
 * supplies a struct wf_types; the checker of definitions, "wopr nodes" and GET
 * /v1/host/wopr/nodes read nothing else.
 */
#ifndef WOPR_DOMAIN_TYPES_H
#define WOPR_DOMAIN_TYPES_H

#include "base/arena.h"
#include "codec/json.h"

/* Texts live as long as the source or the arena of the call.
 *
 * config: JSON Schema of its arguments, which come from config or from input ports of the same
 * names; empty: anything goes.  The checker understands $ref (#/$defs/...), type, enum, const,
 * properties, required, additionalProperties, items, minimum, maximum, minLength, minItems, anyOf
 * of required, allOf of if (a const) and then, oneOf by a const member, and "x-names":
 * "variable" (the text names a variable of the run). */
struct wf_type {
    struct str type_id;
    struct str summary; /* a sentence */
    struct str config;  /* raw, or empty */
    struct str outputs; /* raw object: name -> what it is; empty: not said */
    struct str example; /* raw object {config, inputs}; empty: none */
    bool refuses;       /* arguments that the schema does not have are refused, not ignored */
    bool takes_ports;   /* input ports of any name mean something */
};
struct wf_types {
    /* Is this type known, and what is its configuration? */
    bool (*find)(void *ctx, struct str type_id, struct arena *a, struct wf_type *out);
    /* Names of known types, i from 0 until false: for lists, and for what was probably meant. */
    bool (*name)(void *ctx, size_t i, struct arena *a, struct str *type_id);
    /* Is a workflow of this id stored?  NULL: nobody can say. */
    bool (*workflow)(void *ctx, struct str workflow_id);
    void *ctx;
};
/* As JSON: typeId, and what is known of summary, config, outputs, example. */
void wf_type_render(const struct wf_type *t, struct jw *w);

#endif
