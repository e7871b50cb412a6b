/*
 * filter.c: a Bloom filter of the words of a text: most rows of a search are passed without their
 * text being read.  The hash is stored with it, so it must never change.
 */
#include "rail/rail_int.h"

enum { FILTER_PROBES = 3 };

static uint64_t word_hash(struct str w) { /* FNV-1a */
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < w.n; i++) h = (h ^ (unsigned char)w.p[i]) * UINT64_C(1099511628211);
    return h ^ h >> 29;
}

static unsigned filter_bit(uint64_t h, unsigned probe) {
    return (unsigned)((h >> (probe * 17)) % (RAIL_FILTER_BYTES * 8u));
}

/* The next of "\na\nb\n". */
static bool word_next(struct str *rest, struct str *word) {
    while (rest->n > 0 && rest->p[0] == '\n') *rest = str_n(rest->p + 1, rest->n - 1);
    size_t n = 0;
    while (n < rest->n && rest->p[n] != '\n') n++;
    *word = str_n(rest->p, n);
    *rest = str_n(rest->p + n, rest->n - n);
    return n > 0;
}

void rail_filter_make(struct str words, uint8_t out[RAIL_FILTER_BYTES]) {
    struct str w;
    memset(out, 0, RAIL_FILTER_BYTES);
    while (word_next(&words, &w))
        for (unsigned i = 0; i < FILTER_PROBES; i++) {
            unsigned bit = filter_bit(word_hash(w), i);
            out[bit / 8] = (uint8_t)(out[bit / 8] | 1u << bit % 8);
        }
}

bool rail_filter_may(struct str filter, struct str words) {
    const unsigned char *v = (const unsigned char *)filter.p;
    struct str w;
    if (filter.n != RAIL_FILTER_BYTES) return true; /* not ours: look at the text */
    while (word_next(&words, &w))
        for (unsigned i = 0; i < FILTER_PROBES; i++) {
            unsigned bit = filter_bit(word_hash(w), i);
            if ((v[bit / 8] >> bit % 8 & 1u) == 0) return false;
        }
    return true;
}
