/*
 * fields.h: the member of an error's details that names what is wrong (ERR-6).  Layer: codec.
 *
 *     {"fields":[{"path":"inputs.x","reason":"missing"}, ...]}
 *
 * Into any open object; the caller bounds how many there are and how long their paths.
 */
#ifndef WOPR_CODEC_FIELDS_H
#define WOPR_CODEC_FIELDS_H

#include "codec/json.h"

void fields_begin(struct jw *w);
/* path: where, with dots or as a JSON pointer; a caller's names are escaped.  reason: a word or a
 * sentence of ours. */
void fields_add(struct jw *w, struct str path, const char *reason);
void fields_end(struct jw *w); /* the object stays open, for members beside it */

#endif
