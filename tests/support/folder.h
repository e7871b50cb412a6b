/*
 * folder.h: a folder of a test's own, below TMPDIR as mkdtemp(3) makes it (/tmp without one).
 *
 * Whoever makes a folder removes it; .ci/run keeps TMPDIR in memory, where no disk is slow.
 */
#ifndef WOPR_TESTS_FOLDER_H
#define WOPR_TESTS_FOLDER_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* The template "<TMPDIR>/wopr-<name>-XXXXXX" of mkdtemp(3) and mkstemp(3); false when out, of size
 * bytes, is too short for it. */
static inline bool folder_template(char *out, size_t size, const char *name) {
    const char *tmp = getenv("TMPDIR");
    int n = snprintf(out, size, "%s/wopr-%s-XXXXXX", tmp && *tmp ? tmp : "/tmp", name);
    return n > 0 && (size_t)n < size;
}

/* Makes the folder; its path is in out. */
static inline bool folder_make(char *out, size_t size, const char *name) {
    return folder_template(out, size, name) && mkdtemp(out) != NULL;
}

#endif
