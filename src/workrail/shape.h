/*
 * shape.h: closed JSON objects as tables.  Layer: workrail, private to it.  Pure.
 *
 * A shape lists the members of an object and where each is in a C struct; reading, checking and
 * writing all follow the list.  Members stand in byte order of their names, so that what is written
 * is canonical.  Shapes nest to a depth that the tables fix, whatever the bytes are.
 */
#ifndef WOPR_WORKRAIL_SHAPE_H
#define WOPR_WORKRAIL_SHAPE_H

#include "workrail/text.h"

enum wr_field_type {
    WF_CONST,   /* the text arg */
    WF_TAG,     /* the discriminator of the union that the shape is a variant of */
    WF_VERSION, /* the integer max; another integer is another version */
    WF_TEXT,    /* struct str of min to max bytes (max 0: no bound) */
    WF_ID,      /* struct str; max: enum wr_id_kind */
    WF_WORD,    /* struct str, [a-z0-9_-]+ */
    WF_STEP,    /* struct str, the same with dots inside */
    WF_DIGEST,  /* struct str, sha256:... */
    WF_SHA1,    /* struct str, 40 digits */
    WF_INT,     /* int64_t, min to 2^53 - 1 */
    WF_BOOL,    /* bool */
    WF_FLAG,    /* bool that is there when it is true */
    WF_ENUM,    /* int; arg: struct wr_names */
    WF_JSON,    /* struct str: canonical text of any value */
    WF_OBJECT,  /* struct str: canonical text of an object */
    WF_TEXTS,   /* struct wr_texts of min to max items */
    WF_SHAPE,   /* arg: struct wr_shape, in place */
    WF_LIST,    /* {T *v; size_t nr}; arg: struct wr_shape of T; min to max items */
    WF_UNION    /* arg: struct wr_union, in place */
};
enum { WF_OPT = 1, WF_NULL = 2 }; /* may be absent; may be null (p NULL) */

struct wr_names {
    const char *const *v;
    size_t nr;
};
struct wr_field {
    const char *name;
    enum wr_field_type type;
    unsigned flags;
    size_t offset;
    const void *arg;
    uint32_t min, max;
};
struct wr_shape {
    const struct wr_field *fields;
    size_t nr, size; /* size: of the struct */
    /* What no field can say alone; NULL: nothing.  Fills f and returns its code. */
    int (*check)(const void *base, struct wr_fault *f);
    const struct wr_union *variants; /* the object is one of these, and fields is empty */
};
struct wr_union { /* an object whose member `tag` says which variant it is */
    const char *tag;
    struct wr_names names;
    const struct wr_shape *const *variants; /* all of the same struct */
    size_t which;                           /* offset of the int in it */
};
#define WR_NAMES(list)                                                                             \
    { list, sizeof(list) / sizeof *(list) }
#define WR_SHAPE(list, type)                                                                       \
    { .fields = (list), .nr = sizeof(list) / sizeof *(list), .size = sizeof(type) }
#define WR_SHAPE_CHECKED(list, type, fn)                                                           \
    { .fields = (list), .nr = sizeof(list) / sizeof *(list), .size = sizeof(type), .check = (fn) }

/* text: an object, checked before (json_check); base: the zeroed struct.  Texts of it are of a or
 * borrow text.  SCHEMA_INVALID, SCHEMA_UNKNOWN_VERSION with the pointer; OUT_OF_MEMORY. */
MUST_CHECK int wr_shape_read(const struct wr_shape *s, struct str text, struct arena *a, void *base,
                             struct wr_fault *f);
/* Appends the object.  Values are not checked. */
void wr_shape_write(const struct wr_shape *s, const void *base, struct jw *w);
/* Canonical text that is checked first, then read: the whole of a stored document. */
MUST_CHECK int wr_document_read(const struct wr_shape *s, struct str bytes,
                                const struct json_limits *lim, struct arena *a, void *base,
                                struct wr_fault *f);
/* Write, then read back to check: sealed documents obey the schema.  */
MUST_CHECK int wr_document_write(const struct wr_shape *s, const void *base, struct arena *a,
                                 struct str *bytes, struct wr_fault *f);
/* The pointer of a failure inside a member or an element. */
void wr_fault_in(struct wr_fault *f, struct str name);
/* -1: none of them. */
int wr_name_find(const struct wr_names *names, struct str s);

#endif
