/*
 * json_index.h: where the members and elements of a large checked text are.  Layer: codec.
 *
 * Made in one pass over the text; a look-up then reads the path, what is found, and a few hundred
 * bytes beside it, not the rest of the text.  Containers of less than JSON_INDEX_FROM bytes are not
 * noted: they are read.  It takes no more memory than some two times the text.  The text is
 * borrowed.  Immutable once made.
 */
#ifndef WOPR_CODEC_JSON_INDEX_H
#define WOPR_CODEC_JSON_INDEX_H

#include "codec/json.h"

enum { JSON_INDEX_FROM = 4096 };

struct json_index;
/* NULL when memory is short, or the text is none that json_check accepts or has 4 GiB. */
struct json_index *json_index_new(struct str text);
void json_index_free(struct json_index *x); /* takes NULL */

/* json_pointer_get and json_path_get with an index of the same text, or NULL.  *read, unless NULL,
 * grows by the bytes that were looked at. */
struct str json_pointer_find(const struct json_index *x, struct str text, struct str pointer,
                             struct arena *a, uint64_t *read);
struct str json_path_find(const struct json_index *x, struct str text, struct str dotted,
                          uint64_t *read);
/* Value of one member; STR_NONE when absent, or text is no object. */
struct str json_member_in(const struct json_index *x, struct str text, struct str key,
                          uint64_t *read);
/* The next token of a pointer, unescaped; p == NULL when it is malformed, or memory is short.
 * false when there is no further one. */
bool json_pointer_cut(struct str *rest, struct str *token, struct arena *a);

/* --- for json_find.c --- */
/* One step from the container that begins at p to the beginning of a value, or to NULL.  false:
 * nothing is noted of this container. */
bool json_index_step(const struct json_index *x, const char *p, struct str token, const char **to,
                     uint64_t *read);
/* The end of the container that begins at p, if it is noted. */
bool json_index_end(const struct json_index *x, const char *p, const char **end);

#endif
