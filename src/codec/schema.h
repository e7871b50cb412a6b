/*
 * schema.h: JSON Schema 2020-12, compiled once, used many times.  Layer: codec.
 * Vocabulary: core, applicator, unevaluated, validation, format (annotation by default, assertion
 * by option), content (annotation).  $ref, $dynamicRef, anchors, $id, $defs; remote references
 * resolve only against documents registered in the set.  Patterns run on PCRE2 (UTF,
 * ECMA-compatible where it matters) with match limits, so time is bounded.  Compiled schemas are
 * immutable and shared by threads.
 */
#ifndef WOPR_CODEC_SCHEMA_H
#define WOPR_CODEC_SCHEMA_H

#include "base/buf.h"
#include "codec/json.h"

struct schema_set; /* owns documents and everything compiled from them */
struct schema;     /* one compiled entry point; lives as long as its set */

struct schema_set *schema_set_new(bool assert_formats); /* NULL when memory is short */
/* Where a set finds a document that a schema refers to and that is not registered: appends its
 * text to out, or nothing when there is none under this URI (absolute, without fragment). */
typedef int schema_source(struct str uri, struct buf *out, struct wopr_error *err);
/* The same with a source, asked by schema_compile: only documents that are needed take memory. */
struct schema_set *schema_set_new_from(bool assert_formats, schema_source *source);
void schema_set_free(struct schema_set *s);
/* Register a document (checked JSON text, copied) under uri; its own $id, when present, is also
 * known. All documents must be registered before the first schema_compile.  Also registers the
 * 2020-12 metaschemas on first use.  Errors: SYNTAX, VALIDATION (bad keyword value, pointer names
 * it), NO_MEMORY. */
MUST_CHECK int schema_set_add(struct schema_set *s, struct str uri, struct str text,
                              struct wopr_error *err);
/* Compile the schema that uri (absolute or registered name, with optional #fragment) names, and all
 * it refers to.  Unresolvable references, invalid patterns and invalid keyword values fail here
 * with WOPR_E_VALIDATION and err->pointer.  Not thread-safe; call at start or under a lock. */
MUST_CHECK int schema_compile(struct schema_set *s, struct str uri, const struct schema **out,
                              struct wopr_error *err);

/* Does every evaluation of what the set has compiled end?  VALIDATION, with the place, when a
 * schema leads back to itself by keywords that are applied in place, like {"$ref":"#"}: it
 * compiles, and whatever is held against it is TOO_BIG. */
MUST_CHECK int schema_check_ends(const struct schema_set *set, struct wopr_error *err);

/* The first violation found, in the order of the instance. */
struct schema_issue {
    char instance[192]; /* JSON pointer into the instance, "" = root */
    char keyword[192];  /* JSON pointer of the failing keyword in the schema */
    char reason[192];   /* one sentence that quotes neither instance values nor secrets */
};
/* Validate a tree. 0 when valid; WOPR_E_VALIDATION with *issue (may be NULL) filled; WOPR_E_TOO_BIG
 * when depth or the budget of 1e6 keyword evaluations is spent; WOPR_E_NO_MEMORY. Thread-safe. */
MUST_CHECK int schema_validate(const struct schema *s, struct json_object *instance,
                               struct schema_issue *issue);
/* As above from checked text. */
MUST_CHECK int schema_validate_text(const struct schema *s, struct str text,
                                    struct schema_issue *issue);
/* As above with the caller's budget in *steps, which is left with the rest; TOO_BIG when spent. */
MUST_CHECK int schema_validate_within(const struct schema *s, struct str text, uint64_t *steps);

#endif
