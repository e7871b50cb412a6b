/*
 * fold.h: names that a person, or another file system, takes for the same.  Layer: codec.  The only
 * user of libunistring.
 *
 * Results depend on the version of Unicode that the library knows, so they are compared within one
 * call of the program and never stored.
 */
#ifndef WOPR_CODEC_FOLD_H
#define WOPR_CODEC_FOLD_H

#include "base/arena.h"

/* UTF-8 after full case folding and NFC, in a.  STR_NONE: no UTF-8, or no memory. */
struct str fold_name(struct str name, struct arena *a);

#endif
