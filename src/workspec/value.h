/*
 * value.h: the tree of a WorkSpec document.  Layer: workspec.
 *
 * A value never changes once it is made, so the document, the world and a log of changes share
 * what they have in common (WS-77): copying is copying a pointer.  Absent is the NULL pointer,
 * which is not null (WS-71).  All of a tree lives in one arena.  Values that the program builds
 * nest at most WS_DEPTH_BUILT deep, those of a parser no deeper than its limit, so recursion over
 * them is bounded.
 */
#ifndef WOPR_WORKSPEC_VALUE_H
#define WOPR_WORKSPEC_VALUE_H

#include "base/arena.h"
#include "base/buf.h"

enum ws_kind { WS_NULL, WS_BOOL, WS_NUMBER, WS_STRING, WS_ARRAY, WS_OBJECT };
enum {
    WS_PATH_MAX = 64,     /* segments of a dotted property name */
    WS_DEPTH_BUILT = 192, /* a value of a document below a path */
    WS_INDEXED_FROM = 9   /* members; smaller objects are searched one by one */
};

struct ws_names;
struct ws_value;
struct ws_member {
    struct str name;
    const struct ws_value *value;
};
/* Room behind the elements of an array that was built by appending: whoever has all `used` of
 * them may add the next one in place, the others keep seeing their own beginning. */
struct ws_room {
    uint32_t used, cap;
};
struct ws_value {
    uint8_t kind; /* enum ws_kind */
    bool truth;
    uint32_t line, column; /* of its first character, from 1; 0: it comes from no text */
    uint32_t nr;           /* bytes of a string, elements, members */
    union {
        double number; /* finite, never -0 */
        const char *text;
        const struct ws_value **elements;
        struct ws_member *members;
    };
    union {
        struct ws_names *index; /* of an object with many members */
        struct ws_room *room;   /* of an array; NULL: exact */
    };
};

/* --- reading; each takes NULL --- */
static inline bool ws_is(const struct ws_value *v, enum ws_kind kind) {
    return v != NULL && v->kind == (uint8_t)kind;
}
static inline bool ws_is_true(const struct ws_value *v) { return ws_is(v, WS_BOOL) && v->truth; }
const struct ws_value *ws_get_str(const struct ws_value *object, struct str name);
static inline const struct ws_value *ws_get(const struct ws_value *object, const char *name) {
    return ws_get_str(object, str_c(name)); /* here, so that no length is counted at run time */
}
/* NULL unless it is of that kind. */
const struct ws_value *ws_object_of(const struct ws_value *v);
const struct ws_value *ws_array_of(const struct ws_value *v);
/* WS-8: the text of a string, else empty; ws_str without the white space at both ends. */
struct str ws_raw(const struct ws_value *v);
struct str ws_str(const struct ws_value *v);
struct str ws_trim(struct str s);
bool ws_blank(const struct ws_value *v); /* no string, or nothing but white space */
/* WS-30: "undefined", "object", "string", "number", "boolean". */
const char *ws_typeof(const struct ws_value *v);
const char *ws_kind_name(const struct ws_value *v); /* 4.7: null and array told apart */
/* WS-72; two absent values are equal. */
bool ws_equal(const struct ws_value *a, const struct ws_value *b);
/* The same, and *work grows by the number of values that were compared. */
bool ws_equal_counted(const struct ws_value *a, const struct ws_value *b, uint64_t *work);
/* JSON without blanks, numbers by WS-6; indent > 0: pretty, that many spaces per level. */
void ws_write(struct buf *b, const struct ws_value *v, unsigned indent);
struct str ws_written(struct arena *a, const struct ws_value *v); /* STR_NONE: no memory */

/* --- making; NULL when memory is short --- */
struct ws_value *ws_new(struct arena *a, enum ws_kind kind);
const struct ws_value *ws_number(struct arena *a, double n);
const struct ws_value *ws_text(struct arena *a, struct str s); /* borrows */
const struct ws_value *ws_textz(struct arena *a, const char *z);
/* members are taken over; objects with many get their index. */
const struct ws_value *ws_object_new(struct arena *a, struct ws_member *members, size_t nr);
const struct ws_value *ws_array_new(struct arena *a, const struct ws_value **elements, size_t nr);
/* A copy with the member replaced, added at the end, or (value NULL) removed. */
const struct ws_value *ws_with(struct arena *a, const struct ws_value *object, struct str name,
                               const struct ws_value *value);
/* A copy with one more element: amortised constant time along a line of appends. */
const struct ws_value *ws_appended(struct arena *a, const struct ws_value *array,
                                   const struct ws_value *value);
/* Index of an object whose members are complete. */
bool ws_object_index(struct arena *a, struct ws_value *v);

/* --- names: byte strings to numbers, in an arena, with a seeded hash --- */
struct ws_names {
    struct arena *a;
    struct ws_name_slot *slots;
    size_t nr, cap;
    uint64_t seed;
};
void ws_names_init(struct ws_names *n, struct arena *a);
/* owner: names of several spaces in one table.  The name is borrowed. */
bool ws_names_get(const struct ws_names *n, uint32_t owner, struct str name, uint32_t *value);
/* Adds or replaces; false when memory is short. */
bool ws_names_put(struct ws_names *n, uint32_t owner, struct str name, uint32_t value);
static inline bool ws_names_has(const struct ws_names *n, struct str name) {
    uint32_t v;
    return ws_names_get(n, 0, name, &v);
}

/* --- pointers, RFC 6901 (WS-24) --- */
struct str ws_token(struct arena *a, struct str name); /* one part, escaped */
#endif
