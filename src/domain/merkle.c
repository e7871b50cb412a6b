/*
 * merkle.c: a Merkle tree that only grows; see merkle.h.
 */
#include "domain/merkle.h"

#define LEAF "\0"
#define NODE "\1"

static struct sha256 node_of(const struct sha256 *left, const struct sha256 *right) {
    char both[1 + 2 * sizeof left->b] = NODE;
    memcpy(both + 1, left->b, sizeof left->b);
    memcpy(both + 1 + sizeof left->b, right->b, sizeof right->b);
    return sha256_of(str_n(both, sizeof both));
}

static unsigned peaks_nr(int64_t leaves) {
    return (unsigned)__builtin_popcountll((uint64_t)leaves);
}

void merkle_add(struct merkle *m, struct str leaf) {
    unsigned n = peaks_nr(m->leaves);
    struct sha256 top = sha256_of2(str_n(LEAF, 1), leaf);
    for (int64_t bits = m->leaves; bits & 1; bits >>= 1) top = node_of(&m->peaks[--n], &top);
    m->peaks[n] = top;
    m->leaves++;
}

struct sha256 merkle_root(const struct merkle *m) {
    unsigned n = peaks_nr(m->leaves);
    if (n == 0) return sha256_of(STR(""));
    struct sha256 root = m->peaks[--n];
    while (n > 0) root = node_of(&m->peaks[--n], &root);
    return root;
}

struct str merkle_peaks(const struct merkle *m) {
    return str_n((const char *)m->peaks, peaks_nr(m->leaves) * sizeof m->peaks[0]);
}

bool merkle_from_peaks(struct merkle *m, int64_t leaves, struct str peaks) {
    if (leaves < 0 || peaks.n != peaks_nr(leaves) * sizeof m->peaks[0]) return false;
    m->leaves = leaves;
    memcpy(m->peaks, peaks.p, peaks.n);
    return true;
}
