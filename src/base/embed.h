/*
 * embed.h: files compiled into the binary (schemas, OpenAPI, migrations, fixtures).  Layer: base.
 * Generated at build time by tools/embed.py; sorted by name; the table ends with a NULL name.
 */
#ifndef WOPR_BASE_EMBED_H
#define WOPR_BASE_EMBED_H

#include "base/str.h"

struct embed_file {
    const char *name; /* path inside the source tree, e.g. "api/schemas/run-event.schema.json" */
    const char *data; /* NUL-terminated for convenience; the NUL is not counted in size */
    size_t size;
};
extern const struct embed_file EMBED_FILES[];
static inline struct str embed_text(const struct embed_file *f) {
    return (struct str){f->data, f->size};
}
const struct embed_file *embed_find(const char *name); /* NULL when absent */

#endif
