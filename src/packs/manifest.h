/*
 * manifest.h: pack.json read and judged (PACK-10 to PACK-18).  Layer: packs (pure).
 */
#ifndef WOPR_PACKS_MANIFEST_H
#define WOPR_PACKS_MANIFEST_H

#include "codec/schema.h"
#include "packs/name.h"

#define PACK_MANIFEST_BYTES_MAX (256u * 1024)
#define PACK_REFS_MAX           1024u

enum pack_language {
    PACK_LANG_JAVASCRIPT,
    PACK_LANG_PYTHON,
    PACK_LANG_GO,
    PACK_LANG_WASM,
    PACK_LANG_REMOTE,
    PACK_LANG_NR
};
const char *pack_language_name(enum pack_language l);

enum pack_ref_kind {
    PACK_REF_SCHEMA,  /* of a node: one that is no schema is a warning */
    PACK_REF_HANDOFF, /* of an agent: it has to be a schema */
    PACK_REF_TEXT,    /* a prompt: UTF-8 */
    PACK_REF_JSON,    /* an envelope contract */
    PACK_REF_FILE     /* key or signature: any bytes */
};
struct pack_ref {
    enum pack_ref_kind kind;
    struct str path; /* clean */
};

struct pack_manifest { /* texts are borrowed from the manifest's own, or in the arena */
    struct str text;   /* the manifest as it is in the tarball */
    struct str name, version, description;
    struct str nodes, agents, keywords; /* raw arrays; empty: absent */
    struct str dependencies;            /* raw object; empty: absent */
    struct str engines;                 /* engines.openwop, a good range */
    enum pack_language language;
    struct str entry;            /* clean path, or for remote the URL */
    struct str key_ref, sig_ref; /* clean paths; empty: none */
    bool sigstore;
    struct pack_ref *refs;
    size_t refs_nr;
};

/* The published schema, compiled once.  One user at a time while it is made, then any. */
struct manifest_rules;
MUST_CHECK int manifest_rules_new(struct manifest_rules **out, struct wopr_error *err);
void manifest_rules_free(struct manifest_rules *r); /* takes NULL */

/* text is borrowed for as long as out is used.  PACK_MANIFEST_JSON: no JSON object;
 * PACK_ENGINES: no range in engines.openwop; PACK_RUNTIME: a language that no host knows;
 * PACK_REF: a reference leaves the tarball; PACK_MANIFEST: anything else, err names the place;
 * NO_MEMORY. */
MUST_CHECK int manifest_read(const struct manifest_rules *r, struct str text, struct arena *a,
                             struct pack_manifest *out, struct wopr_error *err);

/* The ids of node types in the order of the manifest, in a. */
struct pack_types {
    struct str *v;
    size_t n;
};
MUST_CHECK int manifest_types(const struct pack_manifest *m, struct arena *a,
                              struct pack_types *out, struct wopr_error *err);

#endif
