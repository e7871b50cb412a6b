/*
 * json_number.c: decimal text to numbers and back, independent of the locale.
 */
#include "codec/json_scan.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    EXPONENT_FAR = 1000000000, /* saturation: far beyond double, safe to add lengths to */
    DOUBLE_DIGITS_MAX = 800,   /* more never change the nearest double, but for being non-zero */
    DIGITS_SURE = 15,          /* digits of a decimal that survive decimal -> double -> decimal */
    DIGITS_MAX = 17            /* digits that always identify a double */
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static const char *skip_digits(const char *p, const char *end) {
    while (p < end && is_digit(*p)) p++;
    return p;
}

const char *json_number_end(const char *p, const char *end) {
    if (p < end && *p == '-') p++;
    if (p == end || !is_digit(*p)) return NULL;
    bool zero = *p == '0';
    p = zero ? p + 1 : skip_digits(p, end);
    if (zero && p < end && is_digit(*p)) return NULL;
    if (p < end && *p == '.') {
        const char *q = skip_digits(p + 1, end);
        if (q == p + 1) return NULL;
        p = q;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-')) p++;
        const char *q = skip_digits(p, end);
        if (q == p) return NULL;
        p = q;
    }
    return p;
}

static int64_t exponent_of(const char *p, const char *end) {
    int64_t e = 0;
    bool minus = *p == '-';
    if (*p == '-' || *p == '+') p++;
    for (; p < end && e < EXPONENT_FAR; p++) e = e * 10 + (*p - '0');
    if (e > EXPONENT_FAR) e = EXPONENT_FAR;
    return minus ? -e : e;
}

bool json_num_parse(struct str raw, struct json_num *out) {
    if (raw.n == 0) return false;
    const char *p = raw.p, *end = str_end(raw), *dot = NULL;
    if (json_number_end(p, end) != end) return false;
    struct json_num n = {.minus = *p == '-', .zero = true, .integer = true};
    if (n.minus) p++;
    for (; p < end && *p != 'e' && *p != 'E'; p++) {
        if (*p == '.') {
            dot = p;
        } else if (*p != '0') {
            if (n.zero) n.first = p;
            n.zero = false;
            n.last = p;
        }
    }
    n.integer = !dot && p == end;
    int64_t e = p < end ? exponent_of(p + 1, end) : 0;
    if (!n.zero) {
        const char *units = dot ? dot : p; /* first is counted from where the integer part ends */
        n.digits = (size_t)(n.last - n.first) + 1 - (dot && dot > n.first && dot < n.last ? 1 : 0);
        n.point = e + (n.first < units ? units - n.first : -(n.first - units - 1));
    }
    *out = n;
    return true;
}

bool json_num_u64(const struct json_num *n, uint64_t *out) {
    uint64_t v = 0;
    if (n->zero) {
        *out = 0;
        return true;
    }
    if (n->point < (int64_t)n->digits || n->point > 20) return false;
    for (const char *p = n->first; p <= n->last; p++) {
        if (*p == '.') continue;
        unsigned d = (unsigned)(*p - '0');
        if (v > (UINT64_MAX - d) / 10) return false;
        v = v * 10 + d;
    }
    for (int64_t i = (int64_t)n->digits; i < n->point; i++) {
        if (v > UINT64_MAX / 10) return false;
        v *= 10;
    }
    *out = v;
    return true;
}

bool json_num_equal(const struct json_num *x, const struct json_num *y) {
    if (x->zero || y->zero) return x->zero && y->zero;
    if (x->minus != y->minus || x->point != y->point || x->digits != y->digits) return false;
    const char *p = x->first, *q = y->first;
    for (size_t i = 0; i < x->digits; i++, p++, q++) {
        if (*p == '.') p++;
        if (*q == '.') q++;
        if (*p != *q) return false;
    }
    return true;
}

/* Small numbers need no strtod: both factors are exact, so the one rounding is the right one. */
static bool double_fast(const struct json_num *n, double *out) {
    static const double TEN[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    int64_t e = n->point - (int64_t)n->digits;
    if (FLT_EVAL_METHOD != 0 || n->digits > DIGITS_SURE || e < -22 || e > 22) return false;
    int64_t v = 0;
    for (const char *p = n->first; p <= n->last; p++)
        if (*p != '.') v = v * 10 + (*p - '0');
    *out = e < 0 ? (double)v / TEN[-e] : (double)v * TEN[e];
    return true;
}

double json_num_double(const struct json_num *n) {
    double d = 0;
    if (n->zero) return n->minus ? -0.0 : 0.0;
    if (!double_fast(n, &d)) {
        char text[DOUBLE_DIGITS_MAX + 32]; /* without a decimal point: strtod obeys the locale */
        size_t len = 0;
        const char *p = n->first;
        for (; p <= n->last && len < DOUBLE_DIGITS_MAX; p++)
            if (*p != '.') text[len++] = *p;
        if (p <= n->last) text[len++] = '1'; /* the rest is not zero, else last would be earlier */
        snprintf(text + len, sizeof text - len, "e%lld", (long long)(n->point - (int64_t)len));
        d = strtod(text, NULL);
    }
    return n->minus ? -d : d;
}

/* --- shortest text --- */

struct decimal {
    char digits[DIGITS_MAX + 1];
    int n, point; /* value = 0.digits * 10^point */
};

static bool reads_back(const struct decimal *t, double v) {
    char text[DIGITS_MAX + 16];
    snprintf(text, sizeof text, "%.*se%d", t->n, t->digits, t->point - t->n);
    return strtod(text, NULL) == v;
}

/* The nearest decimal of n digits. */
static void decimal_of(double v, int n, struct decimal *t) {
    char text[DIGITS_MAX + 16];
    snprintf(text, sizeof text, "%.*e", n - 1, v);
    const char *p = text;
    t->n = 0;
    for (; *p && *p != 'e'; p++)
        if (is_digit(*p)) t->digits[t->n++] = *p;
    t->point = (int)strtol(p + 1, NULL, 10) + 1;
}

/* The next decimal of as many digits away from zero. */
static void decimal_up(struct decimal *t) {
    int i = t->n - 1;
    while (i >= 0 && t->digits[i] == '9') t->digits[i--] = '0';
    if (i >= 0) {
        t->digits[i]++;
        return;
    }
    t->digits[0] = '1'; /* 99 -> 100: the zeros are cut later */
    t->point++;
}

/*
 * Fewest digits that read back as v (> 0), nearest to v among these.  Doubles lie closer together
 * below a power of two than above it, so there the nearest decimal of n digits may fail where the
 * next one up still reads back (2^-44 is one).  Below DBL_MIN fewer than 15 digits may do although
 * 15 digits do not end in zeros, so all lengths are tried.
 */
static void number_shortest(double v, struct decimal *t) {
    int exp2;
    bool power_of_two = frexp(v, &exp2) == 0.5;
    for (int n = v < DBL_MIN ? 1 : DIGITS_SURE; n <= DIGITS_MAX; n++) {
        decimal_of(v, n, t);
        if (reads_back(t, v)) break;
        if (!power_of_two) continue;
        struct decimal up = *t;
        decimal_up(&up);
        if (reads_back(&up, v)) {
            *t = up;
            break;
        }
    }
    while (t->n > 1 && t->digits[t->n - 1] == '0') t->n--;
}

static size_t put_zeros(char *out, int n) {
    memset(out, '0', (size_t)n);
    return (size_t)n;
}

static size_t put_digits(char *out, const char *p, int n) {
    memcpy(out, p, (size_t)n);
    return (size_t)n;
}

/* ECMAScript Number::toString, steps 6 to 10. */
static size_t number_layout(const struct decimal *t, char *out) {
    size_t len = 0;
    int k = t->n, n = t->point;
    if (n >= k && n <= 21) {
        len += put_digits(out, t->digits, k);
        return len + put_zeros(out + len, n - k);
    }
    if (n > 0 && n <= 21) {
        len += put_digits(out, t->digits, n);
        out[len++] = '.';
        return len + put_digits(out + len, t->digits + n, k - n);
    }
    if (n > -6 && n <= 0) {
        out[len++] = '0';
        out[len++] = '.';
        len += put_zeros(out + len, -n);
        return len + put_digits(out + len, t->digits, k);
    }
    out[len++] = t->digits[0];
    if (k > 1) {
        out[len++] = '.';
        len += put_digits(out + len, t->digits + 1, k - 1);
    }
    return len + (size_t)snprintf(out + len, 8, "e%c%d", n > 0 ? '+' : '-', abs(n - 1));
}

size_t json_number_format(double v, char *out) {
    size_t len = 0;
    if (!isfinite(v)) { /* JSON has no such numbers */
        memcpy(out, "null", 5);
        return 4;
    }
    if (v < 0) {
        out[len++] = '-';
        v = -v;
    }
    if (v < 1e15 && v == (double)(int64_t)v) {
        len += (size_t)snprintf(out + len, 24, "%lld", (long long)v);
    } else {
        struct decimal t;
        number_shortest(v, &t);
        len += number_layout(&t, out + len);
    }
    out[len] = '\0';
    return len;
}
