/*
 * pins.h: the packs that a definition names, and the node types of those that are installed
 * (PACK-63 to PACK-66).  Layer: packs.
 *
 * A definition pins versions, not ranges: what it means does not change while it is stored, so runs
 * that have begun keep what they were started with.
 */
#ifndef WOPR_PACKS_PINS_H
#define WOPR_PACKS_PINS_H

#include "packs/manifest.h"
#include "store/packs.h"

#define PACK_PROTOCOL_VERSION "1.0.0"
#define PACK_PINS_MAX         256u
/* What this build executes. */
#define PACK_LANGUAGES_HERE (1u << PACK_LANG_WASM | 1u << PACK_LANG_REMOTE)

/* "packs": {name: {"version", "integrity"?}} and "engines" of a definition (checked JSON), against
 * what the tenant has installed.  languages: bits of enum pack_language that this host executes; a
 * pack without node types needs none.  0 also when there are none; VALIDATION: malformed, err names
 * the place; PACK_LOAD: not installed in this version, or another protocol; PACK_INTEGRITY: it has
 * other bytes; PACK_RUNTIME; NO_MEMORY. */
MUST_CHECK int pack_pins_check(struct store *s, struct str definition, struct str tenant,
                               unsigned languages, struct arena *a, struct wopr_error *err);

/* The same against a list that was read before. */
MUST_CHECK int pack_pins_hold(const struct pack_installs *all, struct str definition,
                              unsigned languages, struct arena *a, struct wopr_error *err);

/* Does a pin (a member of "packs") mean this version with these bytes? */
bool pack_pin_takes(struct str pin, struct str version, const struct sha256 *digest,
                    struct arena *a);

struct pack_node { /* texts in the arena, or raw JSON of the manifest there */
    struct str type_id, summary;
    struct str pack, version; /* the highest that is installed */
    enum pack_language language;
};
struct pack_nodes {
    struct pack_node *v;
    size_t n;
};
/* Those of the tenant's packs, by pack; at most STORE_LIST_MAX. */
MUST_CHECK int pack_nodes_list(struct store *s, struct str tenant, struct arena *a,
                               struct pack_nodes *out, struct wopr_error *err);
/* Does this range of protocol versions have that of this host? */
bool pack_engines_ok(struct str range);

#endif
