/* test_expr_oracle.c: random trees of the expression language against an evaluator of its own,
 * written from the contract (WF-9, WF-10): precedence, short circuits, types, errors. */
#include "domain/expr_int.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { TREES = 4800, DEPTH = 4, TEXT_MAX = 64, LIST_MAX = 3 };

static uint32_t dice(uint32_t *seed, uint32_t sides) { /* xorshift */
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed % sides;
}

/* --- values --- */

enum type { NIL, BOOLEAN, NUMBER, TEXT, LIST, OBJECT, WRONG /* an error */ };
struct val {
    enum type type;
    double d;                /* NUMBER; BOOLEAN: 0 or 1; LIST and OBJECT: how many */
    char text[TEXT_MAX * 8]; /* TEXT */
};
static const struct val ITEMS[LIST_MAX] = {{NUMBER, 1, ""}, {TEXT, 0, "a"}, {NIL, 0, ""}};
static const char *const KEYS[] = {"k", "b"};

static struct val val_bool(bool b) { return (struct val){.type = BOOLEAN, .d = b}; }
static struct val val_number(double d) { return (struct val){.type = NUMBER, .d = d}; }
static struct val val_wrong(void) { return (struct val){.type = WRONG}; }

static bool truthy(const struct val *v) {
    if (v->type == NIL) return false;
    if (v->type == BOOLEAN || v->type == NUMBER) return v->d != 0;
    return v->type != TEXT || v->text[0] != '\0';
}

static bool same(const struct val *x, const struct val *y) {
    if (x->type != y->type) return false;
    if (x->type == BOOLEAN || x->type == NUMBER) return x->d == y->d;
    return x->type != TEXT || strcmp(x->text, y->text) == 0; /* there is one list, one object */
}

/* --- trees --- */

static const struct leaf {
    const char *text;
    struct val v;
} LEAVES[] = {
    {"null", {NIL, 0, ""}},
    {"true", {BOOLEAN, 1, ""}},
    {"false", {BOOLEAN, 0, ""}},
    {"0", {NUMBER, 0, ""}},
    {"1", {NUMBER, 1, ""}},
    {"2", {NUMBER, 2, ""}},
    {"7", {NUMBER, 7, ""}},
    {"0.5", {NUMBER, 0.5, ""}},
    {"''", {TEXT, 0, ""}},
    {"'a'", {TEXT, 0, "a"}},
    {"\"ba\"", {TEXT, 0, "ba"}},
    {"'k'", {TEXT, 0, "k"}},
    {"output.n", {NUMBER, 3, ""}},
    {"output.s", {TEXT, 0, "abc"}},
    {"output.list", {LIST, 3, ""}},
    {"output.o", {OBJECT, 2, ""}},
    {"output.o.k", {NUMBER, 4, ""}},
    {"output.list[1]", {TEXT, 0, "a"}},
    {"output['list'].0", {NUMBER, 1, ""}},
    {"output.none.deeper", {NIL, 0, ""}},
    {"status", {TEXT, 0, "completed"}},
    {"variables.x", {NIL, 0, ""}},
};
enum { LEAVES_NR = sizeof LEAVES / sizeof LEAVES[0] };

enum op {
    LEAF,
    OR,
    AND,
    EQ,
    NE,
    LT,
    LE,
    GT,
    GE,
    ADD,
    SUB,
    MUL,
    DIV,
    MOD,
    NOT,
    NEG,
    CONTAINS,
    SIZE,
    MATCHES,
    OPS
};
static const struct {
    const char *sign;
    int binds; /* how strongly; 8: an atom */
} SIGNS[OPS] = {[LEAF] = {"", 8},
                [OR] = {"||", 1},
                [AND] = {"&&", 2},
                [EQ] = {"==", 3},
                [NE] = {"!=", 3},
                [LT] = {"<", 4},
                [LE] = {"<=", 4},
                [GT] = {">", 4},
                [GE] = {">=", 4},
                [ADD] = {"+", 5},
                [SUB] = {"-", 5},
                [MUL] = {"*", 6},
                [DIV] = {"/", 6},
                [MOD] = {"%", 6},
                [NOT] = {"!", 7},
                [NEG] = {"-", 7},
                [CONTAINS] = {"contains", 8},
                [SIZE] = {"size", 8},
                [MATCHES] = {"matches", 8}};
static const char *const PATTERNS[] = {"^a", "b", "^$", "^[ab]*$"};

struct tree {
    enum op op;
    unsigned leaf; /* LEAF; MATCHES: the pattern */
    struct tree *a, *b;
};

static struct tree *tree_make(uint32_t *seed, int depth, struct arena *a) {
    struct tree *t = ARENA_NEW(a, struct tree);
    cr_assert_not_null(t);
    if (depth == 0 || dice(seed, 8) == 0) {
        *t = (struct tree){.op = LEAF, .leaf = dice(seed, LEAVES_NR)};
        return t;
    }
    t->op = (enum op)(1 + dice(seed, OPS - 1));
    t->leaf = dice(seed, 4);
    t->a = tree_make(seed, depth - 1, a);
    bool one = t->op == NOT || t->op == NEG || t->op == SIZE || t->op == MATCHES;
    if (!one) t->b = tree_make(seed, depth - 1, a);
    return t;
}

static void tree_write(const struct tree *t, int least, uint32_t *seed, struct buf *out) {
    int binds = SIGNS[t->op].binds;
    bool parens = binds < least || dice(seed, 10) == 0;
    const char *blank = dice(seed, 3) == 0 ? "" : " ";
    if (parens) buf_addz(out, "(");
    if (t->op == LEAF) {
        buf_addz(out, LEAVES[t->leaf].text);
    } else if (binds == 8) {
        buf_addf(out, "%s(", SIGNS[t->op].sign);
        tree_write(t->a, 0, seed, out);
        if (t->op == MATCHES) buf_addf(out, ",%s'%s'", blank, PATTERNS[t->leaf]);
        if (t->b) buf_addz(out, ","), tree_write(t->b, 0, seed, out);
        buf_addz(out, ")");
    } else if (!t->b) {
        buf_addf(out, "%s ", SIGNS[t->op].sign);
        tree_write(t->a, binds, seed, out);
    } else { /* to the left */
        tree_write(t->a, binds, seed, out);
        buf_addf(out, "%s%s%s", blank, SIGNS[t->op].sign, blank);
        tree_write(t->b, binds + 1, seed, out);
    }
    if (parens) buf_addz(out, ")");
}

/* --- the oracle --- */

static struct val want_order(enum op op, const struct val *x, const struct val *y) {
    if (x->type != y->type || (x->type != NUMBER && x->type != TEXT)) return val_wrong();
    double c = x->type == NUMBER ? x->d - y->d : strcmp(x->text, y->text);
    return val_bool(op == LT ? c < 0 : op == LE ? c <= 0 : op == GT ? c > 0 : c >= 0);
}

static struct val want_number(enum op op, const struct val *x, const struct val *y) {
    struct val v = {.type = TEXT};
    if (op == ADD && x->type == TEXT && y->type == TEXT) {
        snprintf(v.text, sizeof v.text, "%.200s%.200s", x->text, y->text);
        return v;
    }
    if (x->type != NUMBER || y->type != NUMBER) return val_wrong();
    if ((op == DIV || op == MOD) && y->d == 0) return val_wrong();
    return val_number(op == ADD   ? x->d + y->d
                      : op == SUB ? x->d - y->d
                      : op == MUL ? x->d * y->d
                      : op == DIV ? x->d / y->d
                                  : fmod(x->d, y->d));
}

static struct val want_contains(const struct val *x, const struct val *y) {
    bool found = false;
    if (x->type == NIL) return val_bool(false);
    if (x->type == LIST) {
        for (int i = 0; i < LIST_MAX; i++) found = found || same(&ITEMS[i], y);
        return val_bool(found);
    }
    if ((x->type != TEXT && x->type != OBJECT) || y->type != TEXT) return val_wrong();
    if (x->type == TEXT) return val_bool(strstr(x->text, y->text) != NULL);
    return val_bool(strcmp(y->text, KEYS[0]) == 0 || strcmp(y->text, KEYS[1]) == 0);
}

static struct val want_matches(const struct val *x, unsigned pattern) {
    if (x->type == NIL) return val_bool(false);
    if (x->type != TEXT) return val_wrong();
    return val_bool(pattern == 0   ? x->text[0] == 'a'
                    : pattern == 1 ? strchr(x->text, 'b') != NULL
                    : pattern == 2 ? x->text[0] == '\0'
                                   : strspn(x->text, "ab") == strlen(x->text));
}

static struct val tree_want(const struct tree *t) {
    if (t->op == LEAF) return LEAVES[t->leaf].v;
    struct val x = tree_want(t->a), y, zero = val_number(0);
    if (x.type == WRONG) return x;
    if (t->op == OR && truthy(&x)) return val_bool(true);
    if (t->op == AND && !truthy(&x)) return val_bool(false);
    y = t->b ? tree_want(t->b) : zero;
    if (y.type == WRONG) return y;
    switch (t->op) {
    case OR:
    case AND:
        return val_bool(truthy(&y));
    case EQ:
    case NE:
        return val_bool(same(&x, &y) == (t->op == EQ));
    case LT:
    case LE:
    case GT:
    case GE:
        return want_order(t->op, &x, &y);
    case NOT:
        return val_bool(!truthy(&x));
    case NEG:
        return want_number(SUB, &zero, &x);
    case CONTAINS:
        return want_contains(&x, &y);
    case SIZE:
        if (x.type == NIL) return val_number(0);
        if (x.type == TEXT) return val_number((double)strlen(x.text));
        return x.type == LIST || x.type == OBJECT ? val_number(x.d) : val_wrong();
    case MATCHES:
        return want_matches(&x, t->leaf);
    default:
        return want_number(t->op, &x, &y);
    }
}

/* --- side by side --- */

static struct str scope_lookup(void *ctx, struct str root, struct arena *a) {
    (void)ctx, (void)a;
    if (str_eqc(root, "output"))
        return STR("{\"n\":3,\"s\":\"abc\",\"list\":[1,\"a\",null],\"o\":{\"k\":4,\"b\":[]}}");
    return str_eqc(root, "status") ? STR("\"completed\"") : STR_NONE;
}

static bool val_is(const struct val *want, struct str got, struct arena *a) {
    double d = 0;
    switch (want->type) {
    case NIL:
        return json_type_of(got) == JSON_NULL;
    case BOOLEAN:
        return str_eqc(got, want->d != 0 ? "true" : "false");
    case NUMBER:
        return json_type_of(got) == JSON_NUMBER && json_double(got, &d) && d == want->d;
    case TEXT:
        return json_type_of(got) == JSON_STRING && str_eqc(json_string(got, a), want->text);
    default:
        return json_type_of(got) == (want->type == LIST ? JSON_ARRAY : JSON_OBJECT);
    }
}

static unsigned trees_nr(void) {
    const char *text = getenv("WOPR_ORACLE_ROUNDS");
    return text ? (unsigned)strtoul(text, NULL, 10) : TREES;
}

static uint32_t first_seed(void) {
    const char *text = getenv("WOPR_ORACLE_SEED");
    return text ? (uint32_t)strtoul(text, NULL, 10) : 1;
}

Test(expr_oracle, random_trees_mean_what_the_contract_says /* WF-10 */) {
    static const struct expr_scope SCOPE = {.lookup = scope_lookup};
    unsigned kinds[WRONG + 1] = {0}, nr = trees_nr();
    for (unsigned i = 0; i < nr; i++) {
        uint32_t seed = (first_seed() * 1000003u + i) * 2654435761u | 1u, s = seed;
        struct arena *a = arena_new(1u << 24);
        struct expr *e = NULL;
        struct wopr_error err = {0};
        struct buf text;
        struct str got = STR_NONE;
        buf_init(&text, 1 << 16);
        struct tree *t = tree_make(&s, 1 + (int)dice(&s, DEPTH), a);
        tree_write(t, 0, &s, &text);
        struct val want = tree_want(t);
        kinds[want.type]++;
        cr_assert_eq(expr_parse(buf_str(&text), a, &e, &err), 0, "seed %u: %s: %s", seed, text.p,
                     err.message);
        int rc = expr_eval(e, &SCOPE, a, &got, &err);
        if (want.type == WRONG)
            cr_expect_eq(rc, WOPR_E_VALIDATION, "seed %u: %s is " STR_FMT, seed, text.p,
                         STR_ARG(got));
        else
            cr_expect(rc == 0 && val_is(&want, got, a), "seed %u: %s is " STR_FMT " (%d)", seed,
                      text.p, STR_ARG(got), rc);
        buf_fini(&text);
        arena_free(a);
    }
    for (int k = NIL; k <= WRONG; k++) cr_expect(nr < TREES || kinds[k] > 20, "kind %d", k);
}
