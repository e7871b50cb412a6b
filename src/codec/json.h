/*
 * json.h: the seam to JSON.  Layer: codec.  The only place (with codec/json*.c and codec/schema*.c)
 * that sees json-c.
 *
 * Two views of a document:
 *  - text: strictly checked UTF-8 JSON (RFC 8259), kept as bytes and spliced, never reformatted
 *    (D32); json_members and json_elements cut it into raw spans without copying values;
 *  - tree: struct json_object of json-c, for schemas, definitions and configuration only.
 * Everything foreign passes json_check first; json_tree never sees unchecked bytes.
 */
#ifndef WOPR_CODEC_JSON_H
#define WOPR_CODEC_JSON_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

struct json_object;

struct json_limits {
    size_t bytes_max;
    unsigned depth_max; /* containers; the top-level container counts 1 */
};
extern const struct json_limits JSON_LIMITS_DEFAULT; /* 1 MiB, 64 (HTTP-8, HTTP-9) */
extern const struct json_limits JSON_LIMITS_STORED;  /* 16 MiB, 128: text we wrote ourselves */

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

/* Check one complete JSON text: size, depth, UTF-8 (no surrogates, no overlong), escapes (lone
 * surrogate escapes refused), numbers, no duplicate member names (compared after unescaping),
 * nothing but white space around it.  Errors: WOPR_E_SYNTAX or WOPR_E_TOO_BIG with the byte offset
 * in the message; err->pointer is the JSON pointer of the place.  Never quotes the input. */
MUST_CHECK int json_check(struct str text, const struct json_limits *lim, struct wopr_error *err);

/* --- raw spans; the text must have passed json_check --- */
enum json_type json_type_of(struct str text); /* by its first significant byte */
struct json_member {
    struct str key; /* unescaped, in the arena (or borrowed when it has no escapes) */
    struct str raw; /* the value's text without surrounding white space, borrowed */
};
struct json_members {
    struct json_member *v;
    size_t n;
};
/* Members in document order.  WOPR_E_SYNTAX when text is not an object, WOPR_E_NO_MEMORY. */
MUST_CHECK int json_members(struct str text, struct arena *a, struct json_members *out,
                            struct wopr_error *err);
struct json_elements {
    struct str *v;
    size_t n;
};
/* The raw elements of an array, slices of text; the list is of a.  SYNTAX, NO_MEMORY. */
MUST_CHECK int json_elements(struct str text, struct arena *a, struct json_elements *out,
                             struct wopr_error *err);
/* Raw value of one member, STR_NONE when absent or text is no object.  Allocates
 * nothing for keys. */
struct str json_get(struct str text, const char *key);
const struct json_member *json_member_find(const struct json_members *m, const char *key);
/* For many look-ups: in the order of their keys, then each costs a logarithm.  NULL: absent. */
void json_members_sort(struct json_members *m);
const struct json_member *json_member_sorted(const struct json_members *m, struct str key);
/* Value of a raw string span, unescaped into the arena.  STR_NONE with p == NULL when
 * not a string. */
struct str json_string(struct str raw, struct arena *a);
bool json_bool(struct str raw, bool *out);
/* Integer value: an integer literal, or a number with zero fraction (1.0, 1e3), inside int64. */
bool json_int(struct str raw, int64_t *out);
bool json_double(struct str raw, double *out);
/* Walk an RFC 6901 pointer or a dotted path ("output.a.0.b"; numbers index arrays).  STR_NONE if
 * absent. */
struct str json_pointer_get(struct str text, struct str pointer, struct arena *a);
struct str json_path_get(struct str text, struct str dotted, struct arena *a);
/* Deep equality of two checked texts: member order and number spelling do not matter. */
bool json_equal(struct str x, struct str y, struct arena *a);
/* Deepest container nesting below the root (root object itself counts 0). */
unsigned json_depth(struct str text);
/* Number of Unicode code points in UTF-8 bytes. */
size_t utf8_count(struct str s);
bool utf8_valid(struct str s);

/* --- tree --- */
/* Parse checked text.  *out is owned by the caller: json_object_put. */
MUST_CHECK int json_tree(struct str text, struct json_object **out, struct wopr_error *err);

/* --- RFC 8785 canonical form of checked text, appended to b.  WOPR_E_SYNTAX for numbers that no
 * IEEE double can hold (infinite), WOPR_E_TOO_BIG, WOPR_E_NO_MEMORY. --- */
MUST_CHECK int json_canonical(struct str text, struct buf *b, struct wopr_error *err);
/* The same, but numbers that no double holds (2^53 + 1, 1e400) keep their digits, so that texts
 * share a form only when json_equal holds for them.  No number is refused. */
MUST_CHECK int json_canonical_exact(struct str text, struct buf *b, struct wopr_error *err);

/* --- streaming writer: it places commas and colons, the caller opens and closes levels ---
 * Appends to b; nothing is returned: a failure (no room, no memory, deeper than 64) sticks in the
 * buffer, and the caller asks buf_failed once, at the end.  In an object each value follows its
 * key. */
struct jw {
    struct buf *b;
    uint64_t need_comma; /* one bit per open level */
    unsigned depth;
};
void jw_init(struct jw *w, struct buf *b); /* borrows b; writes nothing yet */
void jw_object(struct jw *w);
void jw_end_object(struct jw *w);
void jw_array(struct jw *w);
void jw_end_array(struct jw *w);
void jw_key(struct jw *w, const char *key);    /* ASCII literal of ours */
void jw_key_str(struct jw *w, struct str key); /* any UTF-8, escaped */
void jw_str(struct jw *w, struct str s);       /* UTF-8, escaped; invalid bytes become U+FFFD */
void jw_strz(struct jw *w, const char *z);
void jw_int(struct jw *w, int64_t v);
void jw_double(struct jw *w, double v); /* ECMAScript shortest form; non-finite becomes null */
void jw_bool(struct jw *w, bool v);
void jw_null(struct jw *w);
void jw_raw(struct jw *w, struct str json); /* splice checked text unchanged */
/* key + value in one call */
void jw_kstr(struct jw *w, const char *key, struct str v);
void jw_kstrz(struct jw *w, const char *key, const char *v);
void jw_kint(struct jw *w, const char *key, int64_t v);
void jw_kbool(struct jw *w, const char *key, bool v);
void jw_kraw(struct jw *w, const char *key, struct str json);
/* Copy the members of a checked object into the open one; nothing when it has none. */
void jw_members(struct jw *w, struct str object);
/* The same, but nothing at all for a value that is empty (NULL). */
void jw_kstr_opt(struct jw *w, const char *key, struct str v);
void jw_kstrz_opt(struct jw *w, const char *key, const char *v);
void jw_kraw_opt(struct jw *w, const char *key, struct str json);
/* Append s as a JSON string literal with quotes. */
void json_quote(struct buf *b, struct str s);
/* ECMAScript Number::toString of v into out (>= 32 bytes); returns length. */
size_t json_number_format(double v, char *out);

#endif
