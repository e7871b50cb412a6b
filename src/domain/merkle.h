/*
 * merkle.h: the Merkle tree hash of RFC 6962 section 2.1 over a list that only grows (AUD-5).
 * Layer: domain (pure).
 *
 * Of the leaves so far only the roots of the complete subtrees are kept, one for each bit that is
 * set in their number, so a leaf costs less than two hashes and a tree of 2^62 leaves two KiB.
 */
#ifndef WOPR_DOMAIN_MERKLE_H
#define WOPR_DOMAIN_MERKLE_H

#include "codec/bytes.h"

enum { MERKLE_PEAKS_MAX = 63 };
struct merkle {
    int64_t leaves;
    struct sha256 peaks[MERKLE_PEAKS_MAX]; /* of the largest subtree first; as many as bits are set
                                              in leaves */
};
void merkle_add(struct merkle *m, struct str leaf);
/* Of no leaves: the hash of nothing. */
struct sha256 merkle_root(const struct merkle *m);

/* The peaks as bytes, 32 each, for storage; and back: false when there are not as many as bits are
 * set in leaves. */
struct str merkle_peaks(const struct merkle *m);
bool merkle_from_peaks(struct merkle *m, int64_t leaves, struct str peaks);

#endif
