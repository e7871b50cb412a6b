/*
 * cost.h: what a node cost (OBS-13..15).  Layer: domain (pure).
 *
 * A cost record is a JSON object of the six attributes openwop.cost.provider, .model,
 * .tokens.input, .tokens.output, .usd and .duration_ms; nothing else passes cost_sanitize, which
 * all others go through.  It is the first member of the payload of its node.completed, and, added
 * up, of the node's state: so who reads one finds it at the first byte, or knows there is none.
 */
#ifndef WOPR_DOMAIN_COST_H
#define WOPR_DOMAIN_COST_H

#include "base/error.h"
#include "codec/json.h"

#define COST_MEMBER "openwop-cost"

struct cost {
    bool known, priced, counted, timed; /* any of it; usd; tokens; duration */
    int64_t usd_pico;                   /* 10^-12 USD, so that a sum does not depend on its order */
    int64_t input, output, duration_ms;
    struct str provider, model;
};
/* The attributes of a record that are in the list and of their type, in a; STR_NONE: none is. */
struct str cost_sanitize(struct str record, struct arena *a);
/* That text, read; texts are in a. */
void cost_read(struct str record, struct arena *a, struct cost *out);
struct str cost_text(const struct cost *c, struct arena *a); /* the text again */
/* Sums; provider and model of the last (OBS-15). */
void cost_add(struct cost *sum, const struct cost *c);
/* The first member of an object that cost_put began; STR_NONE: it has none. */
struct str cost_of(struct str object);
void cost_put(struct jw *w, struct str record); /* nothing when it is empty */
/* The snapshot's {usd, tokens, model, provider, duration_ms}. */
void cost_render(const struct cost *c, struct jw *w);
/* As decimal digits, "0.00123". */
#define COST_USD_SIZE 40
void cost_usd_format(int64_t pico, char out[COST_USD_SIZE]);

#endif
