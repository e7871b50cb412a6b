/*
 * schema_pattern.c: ECMA-262 regular expressions (unicode mode) into PCRE2 syntax.  Layer: codec.
 *
 * A strict reader, so that nothing of PCRE2 beyond ECMA-262 gets through (recursion, verbs,
 * callouts, \Z, possessive repeats) and what both spell alike but read differently comes out as
 * ECMA means it
 * (\s, ".", [], named groups, surrogate pairs).  Lenient where plain JavaScript is: needless
 * escapes of punctuation, a lone "]", "{" or "}".
 *
 * Cost: there is a callout at the start and after each repeat, where schema_regex.c counts; between
 * two callouts the work is bounded by the length of the pattern and by *cost.
 */
#include "codec/schema_pattern.h"
#include "codec/schema_format.h"

enum {
    GROUP_DEPTH_MAX = 100,
    REPEAT_COUNTED_MIN = 17, /* smaller repeats are not worth a callout */
    GROUP_NUMBER_MAX = 9999, /* of a reference; a pattern has fewer groups */
    BOUND_READ_MAX = 100000, /* digits of a repeat beyond it are skipped: PCRE2 refuses so many */
    CODE_POINT_MAX = 0x10FFFF,
    LONE_SURROGATE = 0x200000, /* matches nothing in well-formed text */
};

struct group_name {
    struct str name;
    unsigned number;
};

struct reader {
    struct str in; /* what is left */
    struct buf *out;
    struct schema_pattern_cost *cost;
    const char *why;
    unsigned groups, depth;
    bool assertion[GROUP_DEPTH_MAX];
    struct group_name names[SCHEMA_PATTERN_NAMES_MAX];
    size_t name_nr;
};

/* White space and line ends of ECMA-262, and everything else, as class contents. */
static const char SPACE[] = "\\x{9}-\\x{d}\\x{20}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}"
                            "\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}";
static const char NO_SPACE[] =
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}"
    "\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}"
    "\\x{3001}-\\x{d7ff}\\x{e000}-\\x{fefe}\\x{ff00}-\\x{10ffff}";

static int pattern_refuse(struct reader *r, const char *why) {
    r->why = why;
    return WOPR_E_VALIDATION;
}

static char char_peek(const struct reader *r, size_t at) {
    return at < r->in.n ? r->in.p[at] : '\0';
}

static void chars_skip(struct reader *r, size_t n) {
    r->in.p += n;
    r->in.n -= n;
}

static bool word_take(struct reader *r, const char *word) {
    if (!str_starts(r->in, str_c(word))) return false;
    chars_skip(r, strlen(word));
    return true;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static void put_point(struct reader *r, uint32_t cp) {
    if (cp < 0x80 && (is_digit((char)cp) || is_alpha((char)cp))) buf_addc(r->out, (char)cp);
    else buf_addf(r->out, "\\x{%x}", (unsigned)cp);
}

static bool hex_digits(struct reader *r, size_t n, uint32_t *out) {
    uint32_t v = 0;
    if (r->in.n < n) return false;
    for (size_t i = 0; i < n; i++) {
        char c = r->in.p[i];
        unsigned d = is_digit(c)              ? (unsigned)(c - '0')
                     : (c >= 'a' && c <= 'f') ? (unsigned)(c - 'a' + 10)
                     : (c >= 'A' && c <= 'F') ? (unsigned)(c - 'A' + 10)
                                              : 16;
        if (d > 15) return false;
        v = v << 4 | d;
    }
    chars_skip(r, n);
    *out = v;
    return true;
}

/* After "\u": XXXX, a surrogate pair of two escapes, or {X...}. */
static int unicode_escape(struct reader *r, uint32_t *cp) {
    static const char WHY[] = "has a malformed \\u escape";
    uint32_t low;
    if (word_take(r, "{")) {
        size_t n = 0;
        while (n < 8 && char_peek(r, n) != '}') n++;
        if (n == 0 || n == 8 || !hex_digits(r, n, cp) || !word_take(r, "}") || *cp > CODE_POINT_MAX)
            return pattern_refuse(r, WHY);
        if (*cp >= 0xD800 && *cp <= 0xDFFF) *cp = LONE_SURROGATE;
        return 0;
    }
    if (!hex_digits(r, 4, cp)) return pattern_refuse(r, WHY);
    if (*cp < 0xD800 || *cp > 0xDFFF) return 0;
    struct reader ahead = *r;
    bool pair = *cp <= 0xDBFF && word_take(&ahead, "\\u") && hex_digits(&ahead, 4, &low) &&
                low >= 0xDC00 && low <= 0xDFFF;
    if (!pair) {
        *cp = LONE_SURROGATE;
        return 0;
    }
    *cp = 0x10000 + ((*cp - 0xD800) << 10) + (low - 0xDC00);
    r->in = ahead.in;
    return 0;
}

/* An escape of one code point; the backslash has been read. */
static int char_escape(struct reader *r, uint32_t *cp) {
    static const char FROM[] = "tnvfr", TO[] = "\t\n\v\f\r";
    char c = char_peek(r, 0);
    if (r->in.n == 0) return pattern_refuse(r, "ends in a backslash");
    const char *hit = c != '\0' ? strchr(FROM, c) : NULL;
    chars_skip(r, 1);
    if (hit != NULL) {
        *cp = (uint32_t)TO[hit - FROM];
    } else if (c == 'c') {
        if (!is_alpha(char_peek(r, 0))) return pattern_refuse(r, "has a malformed \\c escape");
        *cp = (uint32_t)char_peek(r, 0) & 31;
        chars_skip(r, 1);
    } else if (c == 'x') {
        if (!hex_digits(r, 2, cp)) return pattern_refuse(r, "has a malformed \\x escape");
    } else if (c == 'u') {
        return unicode_escape(r, cp);
    } else if (c == '0' && !is_digit(char_peek(r, 0))) {
        *cp = 0;
    } else if (is_digit(c) || is_alpha(c) || c == '_' || (unsigned char)c < 0x20 ||
               (unsigned char)c > 0x7e) {
        return pattern_refuse(r, "has an escape that ECMA-262 does not know");
    } else {
        *cp = (uint32_t)c;
    }
    return 0;
}

/* \p{...}: general categories by their long names too, scripts, binary properties. */
static const struct {
    const char *name, *category;
} CATEGORIES[] = {
    {"Letter", "L"},
    {"Cased_Letter", "L&"},
    {"LC", "L&"},
    {"Uppercase_Letter", "Lu"},
    {"Lowercase_Letter", "Ll"},
    {"Titlecase_Letter", "Lt"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"Mark", "M"},
    {"Combining_Mark", "M"},
    {"Nonspacing_Mark", "Mn"},
    {"Spacing_Mark", "Mc"},
    {"Enclosing_Mark", "Me"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"digit", "Nd"},
    {"Letter_Number", "Nl"},
    {"Other_Number", "No"},
    {"Punctuation", "P"},
    {"punct", "P"},
    {"Connector_Punctuation", "Pc"},
    {"Dash_Punctuation", "Pd"},
    {"Open_Punctuation", "Ps"},
    {"Close_Punctuation", "Pe"},
    {"Initial_Punctuation", "Pi"},
    {"Final_Punctuation", "Pf"},
    {"Other_Punctuation", "Po"},
    {"Symbol", "S"},
    {"Math_Symbol", "Sm"},
    {"Currency_Symbol", "Sc"},
    {"Modifier_Symbol", "Sk"},
    {"Other_Symbol", "So"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Line_Separator", "Zl"},
    {"Paragraph_Separator", "Zp"},
    {"Other", "C"},
    {"Control", "Cc"},
    {"cntrl", "Cc"},
    {"Format", "Cf"},
    {"Surrogate", "Cs"},
    {"Private_Use", "Co"},
    {"Unassigned", "Cn"},
};

static int property_read(struct reader *r, char kind) {
    static const char WHY[] = "has a malformed \\p escape";
    struct str body, rest, name, value;
    if (!word_take(r, "{") || !str_cut(r->in, '}', &body, &rest) || body.n == 0 || body.n > 64)
        return pattern_refuse(r, WHY);
    for (size_t i = 0; i < body.n; i++)
        if (!is_alpha(body.p[i]) && !is_digit(body.p[i]) && body.p[i] != '_' && body.p[i] != '=')
            return pattern_refuse(r, WHY);
    r->in = rest;
    const char *prefix = "";
    if (str_cut(body, '=', &name, &value)) {
        if (str_eqc(name, "Script") || str_eqc(name, "sc")) prefix = "sc:";
        else if (str_eqc(name, "Script_Extensions") || str_eqc(name, "scx")) prefix = "scx:";
        else if (!str_eqc(name, "General_Category") && !str_eqc(name, "gc"))
            return pattern_refuse(r, WHY);
        body = value;
    }
    for (size_t i = 0; *prefix == '\0' && i < sizeof CATEGORIES / sizeof *CATEGORIES; i++)
        if (str_eqc(body, CATEGORIES[i].name)) body = str_c(CATEGORIES[i].category);
    buf_addf(r->out, "\\%c{%s" STR_FMT "}", kind, prefix, STR_ARG(body));
    return 0;
}

/* \d \w \s \p and their opposites, in or out of a class.  *done: it was one. */
static int set_escape(struct reader *r, bool in_class, bool *done) {
    char c = char_peek(r, 0);
    *done = true;
    switch (c) {
    case 'd':
    case 'D':
    case 'w':
    case 'W': /* ASCII without PCRE2_UCP */
        chars_skip(r, 1);
        buf_addc(r->out, '\\');
        buf_addc(r->out, c);
        return 0;
    case 's':
    case 'S':
        chars_skip(r, 1);
        if (!in_class) buf_addc(r->out, '[');
        buf_addz(r->out, c == 's' ? SPACE : NO_SPACE);
        if (!in_class) buf_addc(r->out, ']');
        return 0;
    case 'p':
    case 'P':
        chars_skip(r, 1);
        return property_read(r, c);
    default:
        *done = false;
        return 0;
    }
}

/* ---- classes ---- */

/* One member: a code point in *cp, or a set already written (*set). */
static int class_member(struct reader *r, uint32_t *cp, bool *set) {
    *set = false;
    if (!word_take(r, "\\")) {
        *cp = schema_utf8_next(&r->in);
        return *cp == UINT32_MAX ? pattern_refuse(r, "is not valid UTF-8") : 0;
    }
    int rc = set_escape(r, true, set);
    if (rc != 0 || *set) return rc;
    if (word_take(r, "b")) {
        *cp = '\b';
        return 0;
    }
    return char_escape(r, cp);
}

static int class_items(struct reader *r) {
    while (r->in.n > 0 && char_peek(r, 0) != ']') {
        uint32_t lo, hi;
        bool set;
        int rc = class_member(r, &lo, &set);
        if (rc != 0) return rc;
        if (set) continue;
        if (char_peek(r, 0) == '-' && r->in.n > 1 && char_peek(r, 1) != ']') {
            struct reader before = *r;
            size_t mark = r->out->len;
            chars_skip(r, 1);
            rc = class_member(r, &hi, &set);
            if (rc != 0) return rc;
            if (set) { /* [a-\d]: the hyphen is itself */
                if (!buf_failed(r->out)) r->out->len = mark;
                *r = before;
            } else {
                if (lo == LONE_SURROGATE || hi == LONE_SURROGATE || lo > hi)
                    return pattern_refuse(r, "has a range out of order");
                put_point(r, lo);
                buf_addc(r->out, '-');
                put_point(r, hi);
                continue;
            }
        }
        if (lo != LONE_SURROGATE) put_point(r, lo);
    }
    return word_take(r, "]") ? 0 : pattern_refuse(r, "has a class without end");
}

static int class_read(struct reader *r) {
    size_t mark = r->out->len;
    bool inverse = word_take(r, "^");
    buf_addz(r->out, inverse ? "[^" : "[");
    size_t empty = r->out->len;
    int rc = class_items(r);
    if (rc != 0 || buf_failed(r->out)) return rc;
    if (r->out->len == empty) { /* [] matches nothing, [^] anything */
        r->out->len = mark;
        buf_addz(r->out, inverse ? "[\\x{0}-\\x{10ffff}]" : "(?:(?!))");
        return 0;
    }
    buf_addc(r->out, ']');
    return 0;
}

/* ---- groups ---- */

static int group_name(struct reader *r, struct str *name) {
    size_t n = 0;
    while (is_alpha(char_peek(r, n)) || char_peek(r, n) == '_' || char_peek(r, n) == '$' ||
           (n > 0 && is_digit(char_peek(r, n))))
        n++;
    if (n == 0 || char_peek(r, n) != '>') return pattern_refuse(r, "has a malformed group name");
    *name = str_n(r->in.p, n);
    chars_skip(r, n + 1);
    return 0;
}

/* First pass: number the groups, so that references may look ahead. */
static int count_groups(struct reader *r) {
    struct str all = r->in;
    bool in_class = false;
    while (r->in.n > 0) {
        char c = char_peek(r, 0);
        chars_skip(r, 1);
        if (c == '\\' && r->in.n > 0) chars_skip(r, 1);
        else if (c == '[') in_class = true;
        else if (c == ']') in_class = false;
        if (c != '(' || in_class) continue;
        bool named = char_peek(r, 0) == '?' && char_peek(r, 1) == '<' && char_peek(r, 2) != '=' &&
                     char_peek(r, 2) != '!';
        if (char_peek(r, 0) == '?' && !named) continue;
        r->groups++;
        if (!named) continue;
        struct str name;
        chars_skip(r, 2);
        int rc = group_name(r, &name);
        if (rc != 0) return rc;
        for (size_t i = 0; i < r->name_nr; i++)
            if (str_eq(r->names[i].name, name)) return pattern_refuse(r, "repeats a group name");
        if (r->name_nr == SCHEMA_PATTERN_NAMES_MAX)
            return pattern_refuse(r, "has too many named groups");
        r->names[r->name_nr++] = (struct group_name){name, r->groups};
    }
    r->in = all;
    return 0;
}

static int open_group(struct reader *r) {
    static const char *const KINDS[] = {"?:", "?=", "?!", "?<=", "?<!"};
    bool assertion = false;
    struct str name;
    if (r->depth == GROUP_DEPTH_MAX) return pattern_refuse(r, "nests groups too deeply");
    buf_addc(r->out, '(');
    if (char_peek(r, 0) == '?') {
        size_t i = 0;
        while (i < 5 && !word_take(r, KINDS[i])) i++;
        if (i < 5) {
            buf_addz(r->out, KINDS[i]);
            assertion = i > 0;
        } else {
            if (!word_take(r, "?<"))
                return pattern_refuse(r, "has a group that ECMA-262 does not know");
            int rc = group_name(r, &name);
            if (rc != 0) return rc;
        }
    }
    r->assertion[r->depth++] = assertion;
    return 0;
}

static int back_reference(struct reader *r, uint32_t number) {
    if (number > r->groups) return pattern_refuse(r, "refers to a group that does not exist");
    r->cost->backrefs = true;
    buf_addf(r->out, "\\g{%u}", (unsigned)number);
    return 0;
}

static int decimal_reference(struct reader *r) {
    uint32_t v = 0;
    while (is_digit(char_peek(r, 0))) {
        v = v * 10 + (uint32_t)(char_peek(r, 0) - '0');
        if (v > GROUP_NUMBER_MAX) return pattern_refuse(r, "refers to a group that does not exist");
        chars_skip(r, 1);
    }
    return back_reference(r, v);
}

static int named_reference(struct reader *r) {
    struct str name;
    int rc =
        word_take(r, "<") ? group_name(r, &name) : pattern_refuse(r, "has a malformed \\k escape");
    if (rc != 0) return rc;
    for (size_t i = 0; i < r->name_nr; i++)
        if (str_eq(r->names[i].name, name)) return back_reference(r, r->names[i].number);
    return pattern_refuse(r, "refers to a group that does not exist");
}

/* ---- atoms and repeats ---- */

static int escape_read(struct reader *r, bool *repeats) {
    uint32_t cp;
    bool done;
    char c = char_peek(r, 0);
    if (c == 'b' || c == 'B') {
        chars_skip(r, 1);
        buf_addf(r->out, "\\%c", c);
        *repeats = false;
        return 0;
    }
    if (c >= '1' && c <= '9') return decimal_reference(r);
    if (word_take(r, "k")) return named_reference(r);
    int rc = set_escape(r, false, &done);
    if (rc != 0 || done) return rc;
    rc = char_escape(r, &cp);
    if (rc != 0) return rc;
    if (cp == LONE_SURROGATE) buf_addz(r->out, "(?:(?!))");
    else put_point(r, cp);
    return 0;
}

static bool bound_read(struct reader *r, uint32_t *v) {
    size_t n = 0;
    for (*v = 0; is_digit(char_peek(r, n)); n++)
        if (*v <= BOUND_READ_MAX) *v = *v * 10 + (uint32_t)(char_peek(r, n) - '0');
    chars_skip(r, n);
    return n > 0;
}

/* The repeat after an atom, if there is one. */
static int repeat_read(struct reader *r, bool repeats) {
    struct reader ahead = *r;
    uint32_t min = 0, max = UINT32_MAX;
    char c = char_peek(r, 0);
    if (c == '*' || c == '+' || c == '?') {
        chars_skip(r, 1);
        buf_addc(r->out, c);
        if (c == '?') max = 1;
    } else if (word_take(&ahead, "{") && bound_read(&ahead, &min)) {
        max = min;
        if (word_take(&ahead, ",") && !bound_read(&ahead, &max)) max = UINT32_MAX;
        if (!word_take(&ahead, "}")) return 0; /* a literal brace */
        if (min > max) return pattern_refuse(r, "has a repeat with its bounds out of order");
        buf_adds(r->out, str_n(r->in.p, (size_t)(ahead.in.p - r->in.p)));
        r->in = ahead.in;
    } else {
        return 0;
    }
    if (!repeats) return pattern_refuse(r, "repeats nothing");
    if (word_take(r, "?")) buf_addc(r->out, '?');
    if (min >= REPEAT_COUNTED_MIN) r->cost->fixed += min;
    if (max >= REPEAT_COUNTED_MIN) buf_addz(r->out, "(?C1)");
    return 0;
}

/* Does {n}, {n,} or {n,m} come next?  Other braces are literal. */
static bool is_counted(const struct reader *r) {
    struct reader ahead = *r;
    uint32_t v;
    if (!word_take(&ahead, "{") || !bound_read(&ahead, &v)) return false;
    if (word_take(&ahead, ",")) (void)bound_read(&ahead, &v);
    return char_peek(&ahead, 0) == '}';
}

static int atom_read(struct reader *r) {
    bool repeats = true;
    int rc = 0;
    char c = char_peek(r, 0);
    if (word_take(r, "\\")) {
        rc = escape_read(r, &repeats);
    } else if (word_take(r, "[")) {
        rc = class_read(r);
    } else if (word_take(r, "(")) {
        return open_group(r); /* its repeat follows the ")" */
    } else if (word_take(r, ")")) {
        if (r->depth == 0) return pattern_refuse(r, "closes a group that is not open");
        repeats = !r->assertion[--r->depth];
        buf_addc(r->out, ')');
    } else if (word_take(r, "|")) {
        buf_addc(r->out, '|');
        repeats = false;
    } else if (word_take(r, "^") || word_take(r, "$")) {
        buf_addc(r->out, c);
        repeats = false;
    } else if (word_take(r, ".")) {
        buf_addz(r->out,
                 r->cost->dot_all ? "[\\x{0}-\\x{10ffff}]" : "[^\\x{a}\\x{d}\\x{2028}\\x{2029}]");
    } else if (c == '*' || c == '+' || c == '?') {
        return pattern_refuse(r, "repeats nothing");
    } else {
        if (c == '{' && is_counted(r)) return pattern_refuse(r, "repeats nothing");
        uint32_t cp = schema_utf8_next(&r->in);
        if (cp == UINT32_MAX) return pattern_refuse(r, "is not valid UTF-8");
        put_point(r, cp);
    }
    return rc != 0 ? rc : repeat_read(r, repeats);
}

int schema_pattern_translate(struct str src, struct buf *out, struct schema_pattern_cost *cost,
                             const char **why) {
    struct reader r = {.in = src, .out = out, .cost = cost, .why = ""};
    *cost = (struct schema_pattern_cost){.dot_all = cost->dot_all};
    int rc = 0;
    if (src.n > SCHEMA_PATTERN_BYTES_MAX) rc = pattern_refuse(&r, "is too long");
    if (rc == 0) rc = count_groups(&r);
    buf_addz(out, "(?C1)");
    while (rc == 0 && r.in.n > 0) rc = atom_read(&r);
    if (rc == 0 && r.depth > 0) rc = pattern_refuse(&r, "has a group without end");
    if (rc == 0 && buf_failed(out)) rc = WOPR_E_NO_MEMORY;
    if (rc != 0) *why = r.why;
    return rc;
}
