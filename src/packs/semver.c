/*
 * semver.c: see semver.h.
 *
 * A range is read word by word; every form is rewritten to comparators of whole versions:
 *   1.2      >=1.2.0 <1.3.0-0        ~1.2.3   >=1.2.3 <1.3.0-0
 *   ^0.2.3   >=0.2.3 <0.3.0-0        1 - 2.3  >=1.0.0 <2.4.0-0
 * "-0" is the lowest prerelease, so the upper end takes none of the version it names.
 */
#include "packs/semver.h"

#define PART_MAX 9007199254740991u /* what JavaScript counts exactly */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_word(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}
static struct str rest_of(struct str s, size_t n) { return str_n(s.p + n, s.n - n); }

/* --- versions --- */

/* A decimal number at the start; its length, 0: there is none, or it has a leading zero. */
static size_t number_read(struct str s, uint64_t *out) {
    size_t n = 0;
    while (n < s.n && is_digit(s.p[n])) n++;
    if (n == 0 || n > 16 || (n > 1 && s.p[0] == '0')) return 0;
    if (!str_u64(str_n(s.p, n), out) || *out > PART_MAX) return 0;
    return n;
}

/* Identifiers joined by dots at the start; their length, 0: malformed.  strict: numbers have no
 * leading zero. */
static size_t identifiers_read(struct str s, bool strict) {
    size_t at = 0;
    for (;;) {
        size_t n = 0;
        bool digits = true;
        for (; at + n < s.n && is_word(s.p[at + n]); n++) digits = digits && is_digit(s.p[at + n]);
        if (n == 0 || (strict && digits && n > 1 && s.p[at] == '0')) return 0;
        at += n;
        if (at == s.n || s.p[at] != '.') return at;
        at++;
    }
}

/* "-pre+build" to the end of s. */
static bool tail_read(struct str s, struct semver *v) {
    v->pre = v->build = STR_NONE;
    if (s.n > 0 && s.p[0] == '-') {
        s = rest_of(s, 1);
        size_t n = identifiers_read(s, true);
        if (n == 0) return false;
        v->pre = str_n(s.p, n);
        s = rest_of(s, n);
    }
    if (s.n > 0 && s.p[0] == '+') {
        s = rest_of(s, 1);
        size_t n = identifiers_read(s, false);
        if (n == 0) return false;
        v->build = str_n(s.p, n);
        s = rest_of(s, n);
    }
    return s.n == 0;
}

bool semver_parse(struct str text, struct semver *out) {
    struct semver v = {.pre = STR_NONE};
    if (text.n > SEMVER_BYTES_MAX) return false;
    for (int i = 0; i < 3; i++) {
        size_t n = number_read(text, &v.part[i]);
        if (n == 0) return false;
        text = rest_of(text, n);
        if (i == 2) break;
        if (text.n == 0 || text.p[0] != '.') return false;
        text = rest_of(text, 1);
    }
    if (!tail_read(text, &v)) return false;
    *out = v;
    return true;
}

static bool all_digits(struct str s) {
    for (size_t i = 0; i < s.n; i++)
        if (!is_digit(s.p[i])) return false;
    return s.n > 0;
}

/* Numbers by value (without leading zeros: by length first), below words. */
static int identifier_cmp(struct str a, struct str b) {
    bool na = all_digits(a), nb = all_digits(b);
    if (na != nb) return na ? -1 : 1;
    if (na && a.n != b.n) return a.n < b.n ? -1 : 1;
    return str_cmp(a, b);
}

static int pre_cmp(struct str a, struct str b) {
    if (a.n == 0 || b.n == 0) return a.n == b.n ? 0 : a.n == 0 ? 1 : -1;
    for (;;) {
        struct str x, y, ra = STR_NONE, rb = STR_NONE;
        bool ma = str_cut(a, '.', &x, &ra), mb = str_cut(b, '.', &y, &rb);
        int c = identifier_cmp(ma ? x : a, mb ? y : b);
        if (c != 0) return c;
        if (!ma || !mb) return ma == mb ? 0 : ma ? 1 : -1;
        a = ra;
        b = rb;
    }
}

int semver_cmp(const struct semver *a, const struct semver *b) {
    for (int i = 0; i < 3; i++)
        if (a->part[i] != b->part[i]) return a->part[i] < b->part[i] ? -1 : 1;
    return pre_cmp(a->pre, b->pre);
}

/* --- ranges --- */

struct partial { /* 1, 1.2, 1.x, *: nr numbers that are given, 0..3 */
    struct semver v;
    int nr;
};

static bool is_x(struct str s) {
    return s.n > 0 && (s.p[0] == 'x' || s.p[0] == 'X' || s.p[0] == '*');
}

static bool partial_read(struct str s, struct partial *out) {
    struct partial p = {.nr = 0};
    bool open = false; /* a wildcard came */
    int i = 0;
    while (s.n > 0 && (s.p[0] == 'v' || s.p[0] == '=')) s = rest_of(s, 1);
    if (s.n > SEMVER_BYTES_MAX) return false;
    for (; i < 3 && s.n > 0; i++) {
        size_t n = 1;
        if (is_x(s)) open = true;
        else if ((n = number_read(s, &p.v.part[i])) == 0) return false;
        else if (!open) p.nr = i + 1;
        s = rest_of(s, n);
        if (s.n == 0 || s.p[0] != '.' || i == 2) {
            i++;
            break;
        }
        s = rest_of(s, 1);
        if (s.n == 0) return false;
    }
    if (s.n > 0 && (i < 3 || !tail_read(s, &p.v))) return false;
    for (int k = p.nr; k < 3; k++) p.v.part[k] = 0;
    if (p.nr < 3) p.v.pre = STR_NONE;
    p.v.build = STR_NONE;
    *out = p;
    return true;
}

static bool comparator_add(struct semver_range *r, enum semver_op op, struct semver v) {
    if (r->n == SEMVER_COMPARATORS_MAX) return false;
    r->v[r->n++] = (struct semver_comparator){.op = op, .v = v, .set = r->sets - 1};
    return true;
}

/* The first version after all that begin with the first `nr` numbers of v, as an end: "-0". */
static struct semver semver_after(const struct semver *v, int nr) {
    struct semver e = {.pre = STR("0")};
    for (int i = 0; i < nr; i++) e.part[i] = v->part[i];
    e.part[nr - 1]++;
    return e;
}

/* Takes nothing. */
static bool none_add(struct semver_range *r) {
    return comparator_add(r, SEMVER_LT, (struct semver){.pre = STR("0")});
}

static bool between_add(struct semver_range *r, const struct partial *p, int fixed) {
    return comparator_add(r, SEMVER_GE, p->v) &&
           comparator_add(r, SEMVER_LT, semver_after(&p->v, fixed));
}

static bool caret_add(struct semver_range *r, const struct partial *p) {
    int fixed = 1; /* up to the first number that is not 0 */
    while (fixed < p->nr && p->v.part[fixed - 1] == 0) fixed++;
    return p->nr == 0 || between_add(r, p, fixed);
}

static bool tilde_add(struct semver_range *r, const struct partial *p) {
    return p->nr == 0 || between_add(r, p, p->nr > 1 ? 2 : 1);
}

static bool plain_add(struct semver_range *r, const struct partial *p) {
    if (p->nr == 0) return true;
    return p->nr == 3 ? comparator_add(r, SEMVER_EQ, p->v) : between_add(r, p, p->nr);
}

static bool ordered_add(struct semver_range *r, enum semver_op op, const struct partial *p) {
    if (p->nr == 3) return comparator_add(r, op, p->v);
    if (p->nr == 0) return op == SEMVER_LE || op == SEMVER_GE || none_add(r);
    struct semver low = p->v, high = semver_after(&p->v, p->nr);
    switch (op) {
    case SEMVER_GE:
        return comparator_add(r, SEMVER_GE, low);
    case SEMVER_LT:
        low.pre = STR("0");
        return comparator_add(r, SEMVER_LT, low);
    case SEMVER_LE:
        return comparator_add(r, SEMVER_LT, high);
    default:
        high.pre = STR_NONE;
        return comparator_add(r, SEMVER_GE, high);
    }
}

static bool hyphen_add(struct semver_range *r, struct str from, struct str to) {
    struct partial a, b;
    if (!partial_read(from, &a) || !partial_read(to, &b)) return false;
    if (a.nr > 0 && !comparator_add(r, SEMVER_GE, a.v)) return false;
    if (b.nr == 0) return true;
    return b.nr == 3 ? comparator_add(r, SEMVER_LE, b.v)
                     : comparator_add(r, SEMVER_LT, semver_after(&b.v, b.nr));
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* The next word without blanks; STR_NONE at the end. */
static struct str word_next(struct str *s) {
    size_t n = 0;
    while (s->n > 0 && is_blank(s->p[0])) *s = rest_of(*s, 1);
    while (n < s->n && !is_blank(s->p[n])) n++;
    struct str w = str_n(s->p, n);
    *s = rest_of(*s, n);
    return w;
}

static const struct form {
    struct str sign;
    char kind; /* ^ ~ or an order */
    enum semver_op op;
} FORMS[] = {
    {{"^", 1}, '^', SEMVER_EQ},  {{"~>", 2}, '~', SEMVER_EQ}, {{"~", 1}, '~', SEMVER_EQ},
    {{">=", 2}, 'o', SEMVER_GE}, {{"<=", 2}, 'o', SEMVER_LE}, {{">", 1}, 'o', SEMVER_GT},
    {{"<", 1}, 'o', SEMVER_LT},
};

static const struct form *form_of(struct str word) {
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++)
        if (str_starts(word, FORMS[i].sign)) return &FORMS[i];
    return NULL;
}

/* One comparator: the word, and the words after it when the sign stands alone ("> 1.2"). */
static bool simple_add(struct semver_range *r, struct str word, struct str *more) {
    struct partial p;
    const struct form *f = form_of(word);
    if (f) word = rest_of(word, f->sign.n);
    while (word.n > 0 && (word.p[0] == '=' || word.p[0] == 'v')) word = rest_of(word, 1);
    if (word.n == 0) word = word_next(more);
    if (word.n == 0 || !partial_read(word, &p)) return false;
    if (!f) return plain_add(r, &p);
    if (f->kind == '^') return caret_add(r, &p);
    return f->kind == '~' ? tilde_add(r, &p) : ordered_add(r, f->op, &p);
}

static bool set_read(struct semver_range *r, struct str s) {
    r->sets++;
    struct str rest = s, from = word_next(&rest);
    struct str back = rest, dash = word_next(&rest);
    if (str_eqc(dash, "-")) {
        struct str to = word_next(&rest);
        return to.n > 0 && word_next(&rest).n == 0 && hyphen_add(r, from, to);
    }
    for (struct str w = from; w.n > 0; w = word_next(&back))
        if (!simple_add(r, w, &back)) return false;
    return true;
}

bool semver_range_parse(struct str text, struct semver_range *out) {
    struct str rest = text;
    out->n = out->sets = 0;
    if (text.n > SEMVER_RANGE_BYTES_MAX) return false;
    for (;;) {
        size_t n = 0;
        while (n < rest.n && !(rest.p[n] == '|' && n + 1 < rest.n && rest.p[n + 1] == '|')) n++;
        if (!set_read(out, str_n(rest.p, n))) return false;
        if (n == rest.n) return true;
        rest = rest_of(rest, n + 2);
    }
}

static bool comparator_holds(const struct semver_comparator *c, const struct semver *v) {
    int d = semver_cmp(v, &c->v);
    switch (c->op) {
    case SEMVER_LT:
        return d < 0;
    case SEMVER_LE:
        return d <= 0;
    case SEMVER_GT:
        return d > 0;
    case SEMVER_GE:
        return d >= 0;
    default:
        return d == 0;
    }
}

static bool same_numbers(const struct semver *a, const struct semver *b) {
    return a->part[0] == b->part[0] && a->part[1] == b->part[1] && a->part[2] == b->part[2];
}

bool semver_range_has(const struct semver_range *r, const struct semver *v) {
    unsigned i = 0;
    for (unsigned set = 0; set < r->sets; set++) {
        bool holds = true, named = v->pre.n == 0;
        for (; i < r->n && r->v[i].set == set; i++) {
            holds = holds && comparator_holds(&r->v[i], v);
            named = named || (r->v[i].v.pre.n > 0 && same_numbers(&r->v[i].v, v));
        }
        if (holds && named) return true;
    }
    return false;
}
