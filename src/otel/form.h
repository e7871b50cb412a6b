/*
 * form.h: a message of OTLP, described once and written in two forms.  Layer: otel.
 *
 * Who describes a message names each field by its number and its JSON name; form.c writes protobuf
 * (varints, lengths) or the JSON mapping of OTLP: ids in hexadecimal, enumerations as numbers,
 * 64-bit integers as texts, lowerCamelCase.  Like jw_: nothing is returned, a failure sticks in the
 * buffer.
 */
#ifndef WOPR_OTEL_FORM_H
#define WOPR_OTEL_FORM_H

#include "codec/json.h"

enum { FORM_DEPTH_MAX = 16 };
enum form_kind { FORM_PROTOBUF, FORM_JSON };
struct form {
    enum form_kind kind;
    struct buf *b;
    struct jw w;                 /* JSON */
    size_t from[FORM_DEPTH_MAX]; /* protobuf: where the content of each open message begins */
    unsigned depth;
};
void form_init(struct form *f, enum form_kind kind, struct buf *b); /* borrows b */
void form_begin(struct form *f); /* the whole message: braces of JSON */
void form_end(struct form *f);
/* A message in a field; between form_list and form_list_end with form_item. */
void form_open(struct form *f, unsigned no, const char *key);
void form_close(struct form *f);
void form_list(struct form *f, const char *key);
void form_list_end(struct form *f);
void form_item(struct form *f, unsigned no);
/* An item that was written by form_begin .. form_end into a buffer of its own. */
void form_item_ready(struct form *f, unsigned no, struct str item);

void form_str(struct form *f, unsigned no, const char *key, struct str v);
void form_id(struct form *f, unsigned no, const char *key, const uint8_t *id, size_t n);
void form_number(struct form *f, unsigned no, const char *key, uint64_t v); /* enum, uint32 */
void form_bool(struct form *f, unsigned no, const char *key, bool v);
void form_int64(struct form *f, unsigned no, const char *key, int64_t v);    /* varint */
void form_fixed64(struct form *f, unsigned no, const char *key, uint64_t v); /* also sfixed64 */
void form_double(struct form *f, unsigned no, const char *key, double v);
/* Packed. */
void form_fixed64s(struct form *f, unsigned no, const char *key, const uint64_t *v, size_t n);
void form_doubles(struct form *f, unsigned no, const char *key, const double *v, size_t n);

#endif
