/*
 * embed.c: look-up in the table of embedded files.
 */
#include "base/embed.h"

const struct embed_file *embed_find(const char *name) {
    /* A few hundred rows, read at start: a scan is enough and needs no count. */
    for (const struct embed_file *f = EMBED_FILES; f->name; f++)
        if (strcmp(f->name, name) == 0) return f;
    return NULL;
}
