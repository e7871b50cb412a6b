/*
 * find.c: Knuth-Morris-Pratt, see find.h.
 */
#include "base/find.h"

int needle_make(struct needle *n, struct str text, struct arena *a) {
    size_t *border = ARENA_ARRAY(a, size_t, text.n);
    if (!border) return WOPR_E_NO_MEMORY;
    for (size_t i = 1, k = 0; i < text.n; i++) {
        while (k > 0 && text.p[i] != text.p[k]) k = border[k - 1];
        if (text.p[i] == text.p[k]) k++;
        border[i] = k;
    }
    *n = (struct needle){text, border};
    return 0;
}

void finder_begin(struct finder *f, const struct needle *n, struct str in) {
    *f = (struct finder){.needle = n, .in = in};
}

size_t finder_next(struct finder *f, size_t from) {
    const struct needle *n = f->needle;
    if (f->found && f->start >= from) return f->start;
    f->found = false;
    while (!f->found && f->at < f->in.n) {
        char c = f->in.p[f->at++];
        if (f->matched == n->text.n) f->matched = n->border[f->matched - 1];
        while (f->matched > 0 && c != n->text.p[f->matched]) f->matched = n->border[f->matched - 1];
        if (c == n->text.p[f->matched]) f->matched++;
        f->start = f->at - f->matched;
        f->found = f->matched == n->text.n && f->start >= from;
    }
    return f->found ? f->start : f->in.n;
}
