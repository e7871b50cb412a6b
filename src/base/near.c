/* near.c: see near.h. */
#include "base/near.h"

#include <stdio.h>

enum { NEAR_BYTES_MAX = 64, NEAR_DISTANCE_MAX = 3, NEAR_BEGINNING = 5 };

static size_t least_of(size_t a, size_t b) { return a < b ? a : b; }

/* Optimal string alignment: insert, delete, replace, swap neighbours.  Three rows are enough. */
static size_t edit_distance(struct str a, struct str b) {
    size_t rows[3][NEAR_BYTES_MAX + 1];
    for (size_t j = 0; j <= b.n; j++) rows[0][j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            now[j] = least_of(least_of(last[j], now[j - 1]) + 1,
                              last[j - 1] + (a.p[i - 1] != b.p[j - 1] ? 1 : 0));
            if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1])
                now[j] = least_of(now[j], before[j - 2] + 1);
        }
    }
    return rows[a.n % 3][b.n];
}

void near_init(struct near *n, struct str name) {
    *n = (struct near){.name = name, .distance = least_of((name.n + 2) / 3, NEAR_DISTANCE_MAX) + 1};
}

void near_try(struct near *n, struct str known) {
    if (n->name.n == 0 || n->name.n > NEAR_BYTES_MAX || known.n == 0 || known.n > NEAR_BYTES_MAX)
        return;
    size_t d = edit_distance(n->name, known);
    if (n->name.n >= NEAR_BEGINNING && known.n > n->name.n + 1) /* "timout" for timeoutMs */
        d = least_of(d, edit_distance(n->name, str_n(known.p, n->name.n + 1)) + 1);
    if (d >= n->distance) return;
    n->distance = d;
    n->best = known;
}

struct str near_best(const struct near *n) {
    return n->best;
}

const char *near_hint(const struct near *n, char out[NEAR_HINT]) {
    out[0] = '\0';
    if (n->best.n > 0)
        (void)snprintf(out, NEAR_HINT, "; did you mean " STR_FMT "?", STR_ARG(n->best));
    return out;
}
