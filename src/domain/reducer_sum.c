/* reducer_sum.c: exact sums for counters (CHAN-12), see reducer.h. */
#include "codec/json.h"
#include "domain/reducer.h"

#include <math.h>

#define LIMB_BITS 32
#define LIMB_BASE (INT64_C(1) << LIMB_BITS)
#define ONES      (SUM_LIMBS / 2) /* the limb of weight 1: 34 * 32 = 1088 */
#define ONES_BIT  (ONES * LIMB_BITS)
#define MANTISSA  53

void sum_clear(struct sum *s) { *s = (struct sum){{0}}; }

/* Every limb but the top one into 0..2^32-1. */
static void sum_carry(struct sum *s) {
    for (int i = 0; i + 1 < SUM_LIMBS; i++) {
        int64_t up = s->limb[i] / LIMB_BASE, rest = s->limb[i] % LIMB_BASE;
        if (rest < 0) {
            rest += LIMB_BASE;
            up--;
        }
        s->limb[i] = rest;
        s->limb[i + 1] += up;
    }
}

/* +- m * 2^(bit - 1088), with the limbs carried before and after. */
static void add_bits(struct sum *s, uint64_t m, int bit, bool negative) {
    const uint64_t halves[2] = {m & (uint64_t)(LIMB_BASE - 1), m >> LIMB_BITS};
    int limb = bit / LIMB_BITS, shift = bit % LIMB_BITS;
    for (int k = 0; k < 2; k++) {
        uint64_t v = halves[k] << shift;
        int64_t low = (int64_t)(v & (uint64_t)(LIMB_BASE - 1)), high = (int64_t)(v >> LIMB_BITS);
        s->limb[limb + k] += negative ? -low : low;
        s->limb[limb + k + 1] += negative ? -high : high;
    }
    sum_carry(s);
}

int sum_add(struct sum *s, struct str number) {
    int64_t i;
    double d;
    if (number.n == 0 || json_type_of(number) != JSON_NUMBER) return WOPR_E_VALIDATION;
    if (json_int(number, &i)) {
        add_bits(s, i < 0 ? ~(uint64_t)i + 1 : (uint64_t)i, ONES_BIT, i < 0);
        return 0;
    }
    if (!json_double(number, &d) || !isfinite(d)) return WOPR_E_VALIDATION;
    int exponent;
    double fraction = frexp(fabs(d), &exponent); /* 0, or 0.5 <= fraction < 1 */
    if (fraction == 0) return 0;
    uint64_t m = (uint64_t)ldexp(fraction, MANTISSA);
    int bit = exponent - MANTISSA + ONES_BIT; /* >= -1074 - 52 + 1088 - 1 for the least of them */
    while (bit < 0) {                         /* a subnormal: its low bits are zero */
        m >>= 1;
        bit++;
    }
    add_bits(s, m, bit, d < 0);
    return 0;
}

static bool sum_negative(const struct sum *s) { return s->limb[SUM_LIMBS - 1] < 0; }

static void sum_absolute(const struct sum *s, struct sum *out) {
    *out = *s;
    if (!sum_negative(s)) return;
    for (int i = 0; i < SUM_LIMBS; i++) out->limb[i] = -out->limb[i];
    sum_carry(out);
}

/* The magnitude as a 64-bit number when it is a whole one that fits. */
static bool sum_whole(const struct sum *abs, uint64_t *out) {
    for (int i = 0; i < SUM_LIMBS; i++)
        if (i != ONES && i != ONES + 1 && abs->limb[i] != 0) return false;
    *out = (uint64_t)abs->limb[ONES + 1] << LIMB_BITS | (uint64_t)abs->limb[ONES];
    return true;
}

static bool bit_at(const struct sum *abs, int bit) {
    return bit >= 0 && ((uint64_t)abs->limb[bit / LIMB_BITS] >> (bit % LIMB_BITS) & 1) != 0;
}

/* Nearest double of a magnitude, ties to even; infinite when there is none. */
static double sum_nearest(const struct sum *abs) {
    int top = SUM_LIMBS * LIMB_BITS - 1;
    while (top >= 0 && !bit_at(abs, top)) top--;
    if (top < 0) return 0;
    int low = top - MANTISSA + 1;
    uint64_t m = 0;
    for (int bit = top; bit >= low; bit--) m = m << 1 | bit_at(abs, bit);
    bool up = bit_at(abs, low - 1), more = (m & 1) != 0;
    for (int bit = 0; up && !more && bit < low - 1; bit++) more = bit_at(abs, bit);
    if (up && more) m++;
    return ldexp((double)m, low - ONES_BIT);
}

int sum_text(const struct sum *s, struct buf *b) {
    struct sum abs;
    uint64_t m;
    char text[64];
    sum_absolute(s, &abs);
    if (sum_whole(&abs, &m) && m <= (uint64_t)INT64_MAX + (sum_negative(s) ? 1 : 0)) {
        /* built so that INT64_MIN is never negated */
        buf_add_i64(b, sum_negative(s) ? (int64_t)(~m + 1) : (int64_t)m);
        return buf_failed(b) ? WOPR_E_NO_MEMORY : 0;
    }
    double d = sum_nearest(&abs);
    if (!isfinite(d)) return WOPR_E_VALIDATION;
    size_t n = json_number_format(sum_negative(s) ? -d : d, text);
    buf_add(b, text, n);
    return buf_failed(b) ? WOPR_E_NO_MEMORY : 0;
}

bool sum_within(const struct sum *s, int64_t max) {
    struct sum abs;
    sum_absolute(s, &abs);
    for (int i = ONES + 2; i < SUM_LIMBS; i++)
        if (abs.limb[i] != 0) return false;
    uint64_t m = (uint64_t)abs.limb[ONES + 1] << LIMB_BITS | (uint64_t)abs.limb[ONES];
    if (m != (uint64_t)max) return m < (uint64_t)max;
    for (int i = 0; i < ONES; i++)
        if (abs.limb[i] != 0) return false;
    return true;
}
