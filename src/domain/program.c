/*
 * program.c: texts in other languages; see program.h.
 */
#include "domain/program.h"

#define MARK STR("#!")

struct str dialect_of(struct str beginning) {
    size_t n = MARK.n;
    if (!str_starts(beginning, MARK)) return STR("");
    while (n < beginning.n && beginning.p[n] != ' ' && beginning.p[n] != '\n') n++;
    return str_n(beginning.p + MARK.n, n - MARK.n);
}

bool dialect_named(struct str text, struct str *name, struct str *line, struct str *body) {
    struct str first, rest, word, args = STR_NONE;
    if (!str_starts(text, MARK) || !str_cut(text, '\n', &first, &rest)) return false;
    first = str_n(first.p + MARK.n, first.n - MARK.n);
    if (!str_cut(first, ' ', &word, &args)) word = first;
    if (name) *name = word;
    if (line) *line = args;
    if (body) *body = rest;
    return true;
}
