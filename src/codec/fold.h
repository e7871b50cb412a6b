/*
 * fold.h: names that a person, or another file system, takes for the same.  Layer: codec.  The only
 * user of libunistring.
 *
 * Results depend on the version of Unicode that the library knows, so they are compared within one
 * call of the program and never stored as truth.
 */
#ifndef WOPR_CODEC_FOLD_H
#define WOPR_CODEC_FOLD_H

#include "base/arena.h"

/* UTF-8 after full case folding and NFC, in a.  STR_NONE: no UTF-8, or no memory. */
struct str fold_name(struct str name, struct arena *a);

/* Any UTF-8 after NFKC and full lower-casing without a locale, in a, for words that are searched:
 * kept in caches, which a new version of the library may let go.  STR_NONE: no UTF-8, no memory. */
struct str fold_search(struct str text, struct arena *a);

#endif
