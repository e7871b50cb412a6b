/* parse.c: strict JSON to a tree, with the line and column of each value; see parse.h. */
#include "codec/json.h"
#include "workspec/build_int.h"

#include <math.h>

const struct ws_limits WS_LIMITS_DEFAULT = {.bytes = 8u << 20,
                                            .depth = 64,
                                            .values = 2000000,
                                            .objects = 100000,
                                            .tasks = 10000,
                                            .task_interactions = 1000,
                                            .interactions = 100000,
                                            .changes = 100000,
                                            .dependencies = 1000,
                                            .locations = 10000};

/*
 * The text is a copy in the arena, with a NUL at its end, and strings without escapes stay where
 * they are in it: their closing quote becomes the NUL behind them.
 */
struct reader {
    char *p, *end, *line_start;
    uint32_t line;
    size_t wide; /* bytes of this line that begin no character */
    struct ws_builder *b;
};

static struct ws_place parse_here(const struct reader *r) {
    return (struct ws_place){r->line, (uint32_t)((size_t)(r->p - r->line_start) - r->wide + 1)};
}

static int reader_refuse(const struct reader *r, const char *what) {
    return build_refuse(r->b->err, parse_here(r), r->p == r->end ? "unexpected end of text" : what);
}

static void skip_space(struct reader *r) {
    for (; r->p < r->end; r->p++) {
        if (*r->p == '\n') {
            r->line++;
            r->line_start = r->p + 1;
            r->wide = 0;
        } else if (*r->p != ' ' && *r->p != '\t' && *r->p != '\r') {
            return;
        }
    }
}

/* Bytes that a string goes on with and that begin a character. */
static inline bool is_plain(char c) {
    unsigned char u = (unsigned char)c;
    return u != '"' && u != '\\' && u >= 0x20 && (u < 0x80 || u >= 0xC0);
}

/* At an opening quote; the whole text is known to be UTF-8.  Moves to the closing one. */
static int string_end(struct reader *r, bool *escapes) {
    *escapes = false;
    for (r->p++;; r->p++) {
        while (is_plain(*r->p)) r->p++; /* the NUL at the end is not */
        if (r->p == r->end) return reader_refuse(r, "");
        unsigned char c = (unsigned char)*r->p;
        if (c == '"') return 0;
        if (c < 0x20) return reader_refuse(r, "control character in a string: write it as \\uXXXX");
        if (c != '\\') {
            r->wide++;
            continue;
        }
        *escapes = true;
        if (++r->p == r->end) return reader_refuse(r, "");
    }
}

static int read_string(struct reader *r, struct str *out) {
    char *first = r->p;
    const size_t wide = r->wide;
    bool escapes;
    int rc = string_end(r, &escapes);
    if (rc != 0) return rc;
    struct str raw = str_n(first, (size_t)(++r->p - first));
    if (!escapes) {
        *out = str_n(first + 1, raw.n - 2);
        r->p[-1] = '\0';
        if (build_wants_name(r->b)) *out = build_same(r->b, *out);
    } else {
        struct json_limits any = {SIZE_MAX, 1};
        if (json_check(raw, &any, NULL) != 0) {
            r->p = first;
            r->wide = wide;
            return reader_refuse(r, "malformed escape in a string");
        }
        *out = json_string(raw, r->b->a);
    }
    return out->p == NULL ? build_scalar(r->b, NULL, parse_here(r)) : 0;
}

static int add_scalar(struct reader *r, struct ws_value *v, struct ws_place at) {
    if (v != NULL) {
        v->line = at.line;
        v->column = at.column;
    }
    return build_scalar(r->b, v, at);
}

static int read_number(struct reader *r) {
    struct ws_place at = parse_here(r);
    const char *end = build_number_end(r->p, r->end);
    double n;
    if (end == NULL) return reader_refuse(r, "a value was expected");
    if (!json_double(str_n(r->p, (size_t)(end - r->p)), &n))
        return reader_refuse(r, "a number that is too large");
    r->p += end - r->p;
    struct ws_value *v = ws_new(r->b->a, WS_NUMBER);
    if (v != NULL) v->number = n == 0 ? 0 : n;
    return add_scalar(r, v, at);
}

static int read_word(struct reader *r) {
    static const struct {
        const char *word;
        enum ws_kind kind;
        bool truth;
    } WORDS[] = {{"true", WS_BOOL, true}, {"false", WS_BOOL, false}, {"null", WS_NULL, false}};
    struct str rest = str_n(r->p, (size_t)(r->end - r->p));
    struct ws_place at = parse_here(r);
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        if (!str_starts(rest, str_c(WORDS[i].word))) continue;
        r->p += strlen(WORDS[i].word);
        struct ws_value *v = ws_new(r->b->a, WORDS[i].kind);
        if (v != NULL) v->truth = WORDS[i].truth;
        return add_scalar(r, v, at);
    }
    return read_number(r);
}

static int read_value(struct reader *r) {
    struct ws_place at = parse_here(r);
    struct str s;
    if (r->p == r->end) return reader_refuse(r, "");
    if (*r->p == '{' || *r->p == '[') {
        enum ws_kind kind = *r->p++ == '{' ? WS_OBJECT : WS_ARRAY;
        return build_open(r->b, kind, at);
    }
    if (*r->p != '"') return read_word(r);
    int rc = read_string(r, &s);
    if (rc != 0) return rc;
    struct ws_value *v = ws_new(r->b->a, WS_STRING);
    if (v != NULL) {
        v->text = s.p;
        v->nr = (uint32_t)s.n;
    }
    return add_scalar(r, v, at);
}

/* A name and its colon. */
static int read_name(struct reader *r) {
    struct str name;
    if (r->p == r->end || *r->p != '"') return reader_refuse(r, "a member name was expected");
    int rc = read_string(r, &name);
    if (rc != 0) return rc;
    skip_space(r);
    if (r->p == r->end || *r->p != ':') return reader_refuse(r, "':' was expected");
    r->p++;
    skip_space(r);
    build_name(r->b, name);
    return 0;
}

/* After a value, or after an opening bracket (fresh): commas and closing brackets up to where the
 * next value begins. */
static int read_between(struct reader *r, bool fresh) {
    for (;; fresh = false) {
        if (r->b->depth == 0) return 0;
        char close = r->b->levels[r->b->depth - 1].value->kind == WS_OBJECT ? '}' : ']';
        skip_space(r);
        if (r->p < r->end && *r->p == close) {
            r->p++;
            int rc = build_close(r->b);
            if (rc != 0) return rc;
            continue;
        }
        if (!fresh) {
            if (r->p == r->end || *r->p != ',')
                return reader_refuse(r, close == '}' ? "',' or '}' was expected"
                                                     : "',' or ']' was expected");
            r->p++;
            skip_space(r);
        }
        return close == '}' ? read_name(r) : 0;
    }
}

static int parse_json(struct str text, struct ws_builder *b) {
    char *copy = arena_cstr(b->a, text);
    struct reader r = {copy, copy, copy, 1, 0, b};
    int rc;
    if (copy == NULL) return build_scalar(b, NULL, parse_here(&r));
    r.end += text.n;
    skip_space(&r);
    do {
        size_t depth = b->depth;
        rc = read_value(&r);
        if (rc == 0) rc = read_between(&r, b->depth > depth);
    } while (rc == 0 && b->depth > 0);
    if (rc != 0) return rc;
    skip_space(&r);
    return r.p == r.end
               ? 0
               : build_refuse(b->err, parse_here(&r), "text after the end of the document");
}

static int parse_text(struct str text, enum ws_format format, struct ws_builder *b) {
    struct ws_place start = {1, 1};
    if (text.n > b->limits->bytes) {
        b->excess = (struct ws_excess){"document", b->limits->bytes, text.n};
        return WOPR_E_TOO_BIG;
    }
    if (str_starts(text, STR("\xEF\xBB\xBF")))
        return build_refuse(b->err, start, "a byte order mark; save the file without one");
    if (!utf8_valid(text)) return build_refuse(b->err, start, "the text is not UTF-8");
    b->refuse_doubles = format == WS_YAML;
    return format == WS_YAML ? parse_yaml(text, b) : parse_json(text, b);
}

int ws_parse(struct str text, enum ws_format format, const struct ws_limits *limits,
             struct arena *a, struct ws_doc *out, struct wopr_error *err) {
    struct ws_builder b;
    struct ws_doc doc = {.digest = sha256_of(text)};
    build_init(&b, a, limits, err);
    int rc = parse_text(text, format, &b);
    build_fini(&b);
    if (rc == WOPR_E_TOO_BIG) {
        doc.excess = b.excess;
        rc = 0;
    } else if (rc == 0) {
        doc.root = b.root;
    }
    if (rc == 0) *out = doc;
    return rc;
}

enum ws_format ws_format_of(struct str name) {
    return str_ends(name, STR(".yaml")) || str_ends(name, STR(".yml")) ? WS_YAML : WS_JSON;
}
