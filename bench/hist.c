/* hist.c: see bench.h. */
#include "bench.h"

static unsigned bucket_of(uint64_t v) {
    if (v < (1u << HIST_SUB_BITS)) return (unsigned)v;
    unsigned top = 63u - (unsigned)__builtin_clzll(v);
    unsigned shift = top - HIST_SUB_BITS;
    return ((shift + 1) << HIST_SUB_BITS) + (unsigned)((v >> shift) & ((1u << HIST_SUB_BITS) - 1));
}

static uint64_t bucket_top(unsigned b) {
    unsigned row = b >> HIST_SUB_BITS, sub = b & ((1u << HIST_SUB_BITS) - 1);
    if (row == 0) return sub;
    return (((uint64_t)sub + (1u << HIST_SUB_BITS) + 1) << (row - 1)) - 1;
}

void hist_add(struct hist *h, uint64_t value) {
    h->n++;
    h->sum += (double)value;
    if (value > h->max) h->max = value;
    h->count[bucket_of(value)]++;
}

uint64_t hist_at(const struct hist *h, double share) {
    if (h->n == 0) return 0;
    uint64_t rank = (uint64_t)(share * (double)h->n + 0.5), seen = 0;
    if (rank < 1) rank = 1;
    if (rank > h->n) rank = h->n;
    for (unsigned b = 0; b < HIST_BUCKETS; b++) {
        seen += h->count[b];
        if (seen < rank) continue;
        uint64_t top = bucket_top(b);
        return top < h->max ? top : h->max;
    }
    return h->max;
}
