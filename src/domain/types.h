/*
 * types.h: facts about node types: the one source that all readers use.  Layer: domain (pure).  A
 * provider of types (nodes/ for this binary, a host also for those that others serve) supplies a
 * struct wf_types; the checker of definitions, "wopr nodes" and GET /v1/host/wopr/nodes read
 * nothing else.
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
    struct str outputs; /* raw object: name -> description; empty: unknown */
    struct str example; /* raw object {config, inputs}; empty: none */
    bool refuses;       /* arguments outside the schema are refused, not ignored */
    bool takes_ports;   /* it reads input ports of any name */
    bool templates;     /* {{port.member}} in its config stands for a value of a port */
};
struct wf_types {
    /* Is this type known, and what is its configuration? */
    bool (*find)(void *ctx, struct str type_id, struct arena *a, struct wf_type *out);
    /* Names of known types, i from 0 until false: for lists and suggestions. */
    bool (*name)(void *ctx, size_t i, struct arena *a, struct str *type_id);
    /* find does not know it: may a host have it that is not asked?  Then it is a warning only.
     * NULL: no. */
    bool (*elsewhere)(void *ctx, struct str type_id);
    /* Is a workflow of this id stored? NULL: unknown. */
    bool (*workflow)(void *ctx, struct str workflow_id);
    /* Has the workspace an agent of this id?  NULL: unknown. */
    bool (*agent)(void *ctx, struct str agent_id);
    void *ctx;
};
/* May a worker or a program that embeds a host have a type of this name?  Families of the protocol
 * and of this host are known here, or mistakes. */
bool wf_type_of_others(struct str type_id);
/* As JSON: typeId, and the known ones of summary, config, outputs, example. */
void wf_type_render(const struct wf_type *t, struct jw *w);

#endif
