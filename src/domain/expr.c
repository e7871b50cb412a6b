/*
 * expr.c: parser of the expression language (WF-10).  Precedence, loosest first:
 *   ||   &&   == !=   < <= > >=   + -   * / %   ! - (prefix)   literal, path, call, ( )
 * Paths are name(.name | .digits | [digits] | ["any name"])*.  Strings are JSON strings, or the
 * same in single quotes.  No assignment, no loops, no calls but contains, size and matches.
 */
#include "codec/jobj.h"
#include "domain/expr_int.h"

struct parser {
    struct str text;
    size_t at;
    unsigned nest;
    struct arena *a;
    struct wopr_error *err;
    int rc; /* first failure, sticky */
};

static struct expr *parse_fail(struct parser *p, const char *what) {
    if (p->rc == 0)
        p->rc =
            wopr_error_set(p->err, WOPR_E_VALIDATION, "expression: %s at byte %zu", what, p->at);
    return NULL;
}

static struct expr *fail_memory(struct parser *p) {
    if (p->rc == 0) p->rc = wopr_error_set(p->err, WOPR_E_NO_MEMORY, "expression: out of memory");
    return NULL;
}

static int char_peek(const struct parser *p) {
    return p->at < p->text.n ? (unsigned char)p->text.p[p->at] : -1;
}

static void blanks_skip(struct parser *p) {
    while (p->at < p->text.n && memchr(" \t\r\n", p->text.p[p->at], 4) != NULL) p->at++;
}

static bool token_accept(struct parser *p, const char *token) {
    size_t n = strlen(token);
    if (p->text.n - p->at < n || memcmp(p->text.p + p->at, token, n) != 0) return false;
    p->at += n;
    return true;
}

static bool is_digit(int c) { return c >= '0' && c <= '9'; }

static bool is_name_start(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

static bool is_name(int c) { return is_name_start(c) || is_digit(c); }

static struct expr *expr_new(struct parser *p, enum expr_op op, struct expr *a, struct expr *b) {
    if (p->rc != 0) return NULL;
    struct expr *e = ARENA_NEW(p->a, struct expr);
    if (e == NULL) return fail_memory(p);
    e->op = op;
    e->a = a;
    e->b = b;
    e->depth = 1;
    if (a != NULL) e->depth = a->depth + 1;
    if (b != NULL && b->depth + 1 > e->depth) e->depth = b->depth + 1;
    if (e->depth > EXPR_DEPTH_MAX) return parse_fail(p, "nested more than 64 deep");
    return e;
}

static struct expr *literal_parse(struct parser *p, struct str raw) {
    struct expr *e = expr_new(p, EXPR_LITERAL, NULL, NULL);
    if (e != NULL) e->raw = raw;
    return e;
}

static struct expr *number_parse(struct parser *p) {
    size_t from = p->at;
    while (is_digit(char_peek(p))) p->at++;
    if (char_peek(p) == '.') {
        p->at++;
        while (is_digit(char_peek(p))) p->at++;
    }
    if (char_peek(p) == 'e' || char_peek(p) == 'E') {
        p->at++;
        if (char_peek(p) == '+' || char_peek(p) == '-') p->at++;
        while (is_digit(char_peek(p))) p->at++;
    }
    struct str raw = str_n(p->text.p + from, p->at - from);
    if (json_check(raw, &JSON_LIMITS_DEFAULT, NULL) != 0) {
        p->at = from;
        return parse_fail(p, "malformed number");
    }
    return literal_parse(p, raw);
}

/* Cut a quoted string and return it as JSON text; .p == NULL after a failure. */
static struct str quoted_parse(struct parser *p) {
    char quote = p->text.p[p->at];
    size_t from = p->at++;
    struct buf b;
    buf_init(&b, 2 * EXPR_BYTES_MAX);
    buf_addc(&b, '"');
    while (p->at < p->text.n && p->text.p[p->at] != quote) {
        char c = p->text.p[p->at++];
        if (c == '\\' && p->at < p->text.n) {
            char escaped = p->text.p[p->at++];
            if (escaped != '\'') buf_addc(&b, '\\');
            buf_addc(&b, escaped);
        } else {
            if (c == '"') buf_addc(&b, '\\');
            buf_addc(&b, c);
        }
    }
    buf_addc(&b, '"');
    struct str raw = STR_NONE;
    if (p->at >= p->text.n) {
        p->at = from;
        parse_fail(p, "string without end");
    } else if (buf_failed(&b)) {
        fail_memory(p);
    } else if (json_check(buf_str(&b), &JSON_LIMITS_DEFAULT, NULL) != 0) {
        p->at = from;
        parse_fail(p, "malformed string");
    } else {
        p->at++;
        raw = arena_str(p->a, buf_str(&b));
        if (raw.p == NULL) fail_memory(p);
    }
    buf_fini(&b);
    return raw;
}

static struct str name_parse(struct parser *p) {
    size_t from = p->at;
    while (is_name(char_peek(p))) p->at++;
    return str_n(p->text.p + from, p->at - from);
}

static void pointer_add(struct buf *b, struct str segment) {
    buf_addc(b, '/');
    for (size_t i = 0; i < segment.n; i++) {
        if (segment.p[i] == '~') buf_addz(b, "~0");
        else if (segment.p[i] == '/') buf_addz(b, "~1");
        else buf_addc(b, segment.p[i]);
    }
}

static void path_bracket(struct parser *p, struct buf *b) {
    blanks_skip(p);
    int c = char_peek(p);
    if (is_digit(c)) {
        size_t from = p->at;
        while (is_digit(char_peek(p))) p->at++;
        pointer_add(b, str_n(p->text.p + from, p->at - from));
    } else if (c == '"' || c == '\'') {
        struct str raw = quoted_parse(p);
        if (raw.p == NULL) return;
        struct str key = json_string(raw, p->a);
        if (key.p == NULL) {
            fail_memory(p);
            return;
        }
        pointer_add(b, key);
    } else {
        parse_fail(p, "an index or a quoted name expected");
    }
    blanks_skip(p);
    if (p->rc == 0 && !token_accept(p, "]")) parse_fail(p, "']' expected");
}

static struct expr *path_parse(struct parser *p, struct str root) {
    struct buf b;
    buf_init(&b, 2 * EXPR_BYTES_MAX);
    while (p->rc == 0) {
        if (token_accept(p, ".")) {
            struct str segment = name_parse(p);
            if (segment.n == 0) parse_fail(p, "a name expected after '.'");
            else pointer_add(&b, segment);
        } else if (token_accept(p, "[")) {
            path_bracket(p, &b);
        } else {
            break;
        }
    }
    if (p->rc == 0 && buf_failed(&b)) fail_memory(p);
    struct expr *e = expr_new(p, EXPR_PATH, NULL, NULL);
    if (e != NULL) {
        e->root = root;
        e->raw = arena_str(p->a, buf_str(&b));
        if (e->raw.p == NULL) e = fail_memory(p);
    }
    buf_fini(&b);
    return e;
}

static struct expr *binary_parse(struct parser *p, int level);

static const struct call {
    const char *name;
    enum expr_op op;
    int args;
} CALLS[] = {
    {"contains", EXPR_CONTAINS, 2},
    {"size", EXPR_SIZE, 1},
    {"matches", EXPR_MATCHES, 2},
};

static struct expr *call_parse(struct parser *p, struct str what) {
    const struct call *c = NULL;
    for (size_t i = 0; i < sizeof(CALLS) / sizeof(CALLS[0]); i++)
        if (str_eqc(what, CALLS[i].name)) c = &CALLS[i];
    if (c == NULL) return parse_fail(p, "unknown function");
    struct expr *a = binary_parse(p, 0), *b = NULL;
    if (p->rc == 0 && c->args == 2) {
        blanks_skip(p);
        if (!token_accept(p, ",")) return parse_fail(p, "',' expected");
        b = binary_parse(p, 0);
    }
    blanks_skip(p);
    if (p->rc == 0 && !token_accept(p, ")")) return parse_fail(p, "')' expected");
    return expr_new(p, c->op, a, b);
}

static struct expr *primary_parse(struct parser *p) {
    int c = char_peek(p);
    if (is_digit(c)) return number_parse(p);
    if (c == '"' || c == '\'') {
        struct str raw = quoted_parse(p);
        return raw.p == NULL ? NULL : literal_parse(p, raw);
    }
    if (token_accept(p, "(")) {
        struct expr *e = binary_parse(p, 0);
        blanks_skip(p);
        if (p->rc == 0 && !token_accept(p, ")")) return parse_fail(p, "')' expected");
        return e;
    }
    if (!is_name_start(c)) return parse_fail(p, c < 0 ? "unexpected end" : "unexpected character");
    struct str word = name_parse(p);
    if (str_eqc(word, "true") || str_eqc(word, "false") || str_eqc(word, "null"))
        return literal_parse(p, word);
    blanks_skip(p);
    if (token_accept(p, "(")) return call_parse(p, word);
    return path_parse(p, word);
}

static struct expr *unary_parse(struct parser *p) {
    blanks_skip(p);
    if (p->nest >= EXPR_DEPTH_MAX) return parse_fail(p, "nested more than 64 deep");
    p->nest++;
    struct expr *e;
    if (char_peek(p) == '!' && !(p->at + 1 < p->text.n && p->text.p[p->at + 1] == '=')) {
        p->at++;
        e = expr_new(p, EXPR_NOT, unary_parse(p), NULL);
    } else if (token_accept(p, "-")) {
        e = expr_new(p, EXPR_NEG, unary_parse(p), NULL);
    } else {
        e = primary_parse(p);
    }
    p->nest--;
    return e;
}

/* Within a level longer tokens precede their prefixes. */
static const struct operator{
    int level;
    const char *token;
    enum expr_op op;
}
OPERATORS[] = {
    {0, "||", EXPR_OR}, {1, "&&", EXPR_AND}, {2, "==", EXPR_EQ}, {2, "!=", EXPR_NE},
    {3, "<=", EXPR_LE}, {3, ">=", EXPR_GE},  {3, "<", EXPR_LT},  {3, ">", EXPR_GT},
    {4, "+", EXPR_ADD}, {4, "-", EXPR_SUB},  {5, "*", EXPR_MUL}, {5, "/", EXPR_DIV},
    {5, "%", EXPR_MOD},
};
#define OPERATOR_LEVELS 6

static const struct operator* operator_at(struct parser *p, int level) {
    blanks_skip(p);
    for (size_t i = 0; i < sizeof(OPERATORS) / sizeof(OPERATORS[0]); i++)
        if (OPERATORS[i].level == level && token_accept(p, OPERATORS[i].token))
            return &OPERATORS[i];
    return NULL;
}

static struct expr *binary_parse(struct parser *p, int level) {
    if (level == OPERATOR_LEVELS) return unary_parse(p);
    struct expr *left = binary_parse(p, level + 1);
    const struct operator* o;
    while (p->rc == 0 && (o = operator_at(p, level)) != NULL) {
        struct expr *right = binary_parse(p, level + 1);
        left = expr_new(p, o->op, left, right);
    }
    return p->rc == 0 ? left : NULL;
}

int expr_parse(struct str text, struct arena *a, struct expr **out, struct wopr_error *err) {
    if (text.n > EXPR_BYTES_MAX)
        return wopr_error_set(err, WOPR_E_VALIDATION, "expression: longer than %d bytes",
                              EXPR_BYTES_MAX);
    if (!utf8_valid(text))
        return wopr_error_set(err, WOPR_E_VALIDATION, "expression: not valid UTF-8");
    struct str own = arena_str(a, text); /* names and numbers borrow from it */
    if (own.p == NULL) return wopr_error_set(err, WOPR_E_NO_MEMORY, "expression: out of memory");
    struct parser p = {.text = own, .a = a, .err = err};
    struct expr *e = binary_parse(&p, 0);
    blanks_skip(&p);
    if (p.rc == 0 && p.at < p.text.n) parse_fail(&p, "unexpected character");
    if (p.rc != 0) return p.rc;
    *out = e;
    return 0;
}

int expr_patterns(struct expr *e, int (*each)(void *ctx, struct expr *node), void *ctx) {
    if (e == NULL) return 0;
    int rc = 0;
    if (e->op == EXPR_MATCHES && e->b->op == EXPR_LITERAL && json_type_of(e->b->raw) == JSON_STRING)
        rc = each(ctx, e);
    if (rc == 0) rc = expr_patterns(e->a, each, ctx);
    if (rc == 0) rc = expr_patterns(e->b, each, ctx);
    return rc;
}

struct str expr_pattern_schema(struct str raw_pattern, struct arena *a) {
    return jobj_of(a, "pattern", raw_pattern);
}
