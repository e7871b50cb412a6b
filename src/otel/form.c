/* form.c: see form.h.  Protobuf needs no library here: a dozen messages that are only written. */
#include "otel/form.h"

#include <stdio.h>

enum {
    WIRE_VARINT = 0,
    WIRE_64 = 1,
    WIRE_BYTES = 2,
    VARINT_MAX = 10,
    ID_BYTES_MAX = 16,
    DECIMAL_MAX = 24
};

void form_init(struct form *f, enum form_kind kind, struct buf *b) {
    *f = (struct form){.kind = kind, .b = b};
    jw_init(&f->w, b);
}

/* --- protobuf --- */

static size_t form_varint(uint64_t v, char out[VARINT_MAX]) {
    size_t n = 0;
    for (; v > 127; v >>= 7) out[n++] = (char)(v | 128);
    out[n++] = (char)v;
    return n;
}

static void varint_add(struct buf *b, uint64_t v) {
    char text[VARINT_MAX];
    size_t n = form_varint(v, text);
    buf_add(b, text, n);
}

static void tag_add(struct form *f, unsigned no, unsigned wire) {
    varint_add(f->b, (uint64_t)no << 3 | wire);
}

static void bytes_add(struct form *f, unsigned no, const void *p, size_t n) {
    tag_add(f, no, WIRE_BYTES);
    varint_add(f->b, n);
    buf_add(f->b, p, n);
}

static void le64_add(struct buf *b, uint64_t v) {
    char text[8];
    for (unsigned i = 0; i < sizeof text; i++) text[i] = (char)(v >> (8 * i));
    buf_add(b, text, sizeof text);
}

static uint64_t double_bits(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static void nested_begin(struct form *f, unsigned no) {
    ASSERT(f->depth < FORM_DEPTH_MAX);
    tag_add(f, no, WIRE_BYTES);
    f->from[f->depth++] = f->b->len;
}

/* The length precedes what it counts: make room for it. */
static void nested_end(struct form *f) {
    char text[VARINT_MAX];
    size_t from = f->from[--f->depth];
    if (buf_failed(f->b)) return;
    size_t len = f->b->len - from, n = form_varint(len, text);
    buf_add(f->b, text, n);
    if (buf_failed(f->b)) return;
    memmove(f->b->p + from + n, f->b->p + from, len);
    memcpy(f->b->p + from, text, n);
}

/* --- both --- */

static bool is_json(const struct form *f) { return f->kind == FORM_JSON; }

void form_begin(struct form *f) {
    if (is_json(f)) jw_object(&f->w);
}

void form_end(struct form *f) {
    if (is_json(f)) jw_end_object(&f->w);
}

void form_open(struct form *f, unsigned no, const char *key) {
    if (!is_json(f)) {
        nested_begin(f, no);
        return;
    }
    jw_key(&f->w, key);
    jw_object(&f->w);
}

void form_close(struct form *f) {
    if (is_json(f)) jw_end_object(&f->w);
    else nested_end(f);
}

void form_list(struct form *f, const char *key) {
    if (!is_json(f)) return;
    jw_key(&f->w, key);
    jw_array(&f->w);
}

void form_list_end(struct form *f) {
    if (is_json(f)) jw_end_array(&f->w);
}

void form_item(struct form *f, unsigned no) {
    if (is_json(f)) jw_object(&f->w);
    else nested_begin(f, no);
}

void form_item_ready(struct form *f, unsigned no, struct str item) {
    if (is_json(f)) jw_raw(&f->w, item);
    else bytes_add(f, no, item.p, item.n);
}

void form_str(struct form *f, unsigned no, const char *key, struct str v) {
    if (is_json(f)) jw_kstr(&f->w, key, v);
    else bytes_add(f, no, v.p, v.n);
}

void form_id(struct form *f, unsigned no, const char *key, const uint8_t *id, size_t n) {
    static const char DIGITS[] = "0123456789abcdef";
    char text[2 * ID_BYTES_MAX];
    ASSERT(n <= ID_BYTES_MAX);
    if (!is_json(f)) {
        bytes_add(f, no, id, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        text[2 * i] = DIGITS[id[i] >> 4];
        text[2 * i + 1] = DIGITS[id[i] & 15];
    }
    jw_kstr(&f->w, key, str_n(text, 2 * n));
}

void form_number(struct form *f, unsigned no, const char *key, uint64_t v) {
    if (is_json(f)) {
        jw_kint(&f->w, key, (int64_t)v);
        return;
    }
    tag_add(f, no, WIRE_VARINT);
    varint_add(f->b, v);
}

void form_bool(struct form *f, unsigned no, const char *key, bool v) {
    if (is_json(f)) jw_kbool(&f->w, key, v);
    else form_number(f, no, key, v);
}

static struct str form_decimal(char text[DECIMAL_MAX], bool negative, uint64_t v) {
    int n = snprintf(text, DECIMAL_MAX, "%s%llu", negative ? "-" : "", (unsigned long long)v);
    return str_n(text, (size_t)n);
}

void form_int64(struct form *f, unsigned no, const char *key, int64_t v) {
    char text[DECIMAL_MAX];
    if (is_json(f))
        jw_kstr(&f->w, key, form_decimal(text, v < 0, v < 0 ? 0 - (uint64_t)v : (uint64_t)v));
    else form_number(f, no, key, (uint64_t)v);
}

void form_fixed64(struct form *f, unsigned no, const char *key, uint64_t v) {
    char text[DECIMAL_MAX];
    if (is_json(f)) {
        jw_kstr(&f->w, key, form_decimal(text, false, v));
        return;
    }
    tag_add(f, no, WIRE_64);
    le64_add(f->b, v);
}

void form_double(struct form *f, unsigned no, const char *key, double v) {
    if (is_json(f)) {
        jw_key(&f->w, key);
        jw_double(&f->w, v);
        return;
    }
    tag_add(f, no, WIRE_64);
    le64_add(f->b, double_bits(v));
}

void form_fixed64s(struct form *f, unsigned no, const char *key, const uint64_t *v, size_t n) {
    char text[DECIMAL_MAX];
    if (!is_json(f)) {
        tag_add(f, no, WIRE_BYTES);
        varint_add(f->b, n * sizeof *v);
        for (size_t i = 0; i < n; i++) le64_add(f->b, v[i]);
        return;
    }
    jw_key(&f->w, key);
    jw_array(&f->w);
    for (size_t i = 0; i < n; i++) jw_str(&f->w, form_decimal(text, false, v[i]));
    jw_end_array(&f->w);
}

void form_doubles(struct form *f, unsigned no, const char *key, const double *v, size_t n) {
    if (!is_json(f)) {
        tag_add(f, no, WIRE_BYTES);
        varint_add(f->b, n * sizeof *v);
        for (size_t i = 0; i < n; i++) le64_add(f->b, double_bits(v[i]));
        return;
    }
    jw_key(&f->w, key);
    jw_array(&f->w);
    for (size_t i = 0; i < n; i++) jw_double(&f->w, v[i]);
    jw_end_array(&f->w);
}
