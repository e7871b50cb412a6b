/*
 * made_module.h: WebAssembly modules made byte by byte: what no compiler would write, such as a
 * million functions, or an export that points out of the memory.  One node type, NAME.it.
 */
#ifndef WOPR_TEST_MADE_MODULE_H
#define WOPR_TEST_MADE_MODULE_H

#include "base/buf.h"

#include <stdio.h>
#include <string.h>

enum made_wrong { MADE_RIGHT, MADE_NAME, MADE_ID, MADE_ALLOC, MADE_RESPONSE };
struct made {
    const char *pack;
    enum made_wrong wrong; /* this export gives value: a pointer, and its length above it */
    uint64_t value;
    uint32_t funcs;                    /* further ones, which nothing calls */
    uint32_t locals;                   /* of the function that calls itself without end */
    bool deep;                         /* the node calls it, */
    bool deep_start;                   /* or the start function is it */
    uint32_t tables, elements, memory; /* memory: pages, 0: 2 */
};

enum { MADE_NAME_AT = 16, MADE_ID_AT = 512, MADE_RESPONSE_AT = 1024, MADE_ROOM_AT = 4096 };
#define MADE_RESPONSE_TEXT "{\"outcome\":\"completed\",\"output\":1}"

static inline void made_u(struct buf *b, uint64_t v) { /* LEB128 */
    do buf_addc(b, (char)((v & 127) | (v > 127 ? 128 : 0)));
    while ((v >>= 7) > 0);
}
static inline void made_s(struct buf *b, int64_t v) {
    while (v < -64 || v > 63) {
        buf_addc(b, (char)((v & 127) | 128));
        v >>= 7;
    }
    buf_addc(b, (char)(v & 127));
}
static inline void made_bytes(struct buf *b, const char *p, size_t n) {
    made_u(b, n);
    buf_add(b, p, n);
}
/* Moves what part has to b, as a section or with its length alone (id 0). */
static inline void made_section(struct buf *b, char id, struct buf *part) {
    if (id != 0) buf_addc(b, id);
    made_bytes(b, part->p, part->len);
    buf_reset(part);
}

static inline void made_types(const struct made *m, struct buf *b, struct buf *s) {
    static const char TYPES[] = "\7\x60\0\1\x7f\x60\0\1\x7e\x60\1\x7f\1\x7e\x60\1\x7f\1\x7f"
                                "\x60\2\x7f\x7f\0\x60\3\x7f\x7f\x7f\1\x7e\x60\0\0";
    static const char OF[] = {0, 1, 0, 2, 3, 4, 5, 6};
    buf_add(s, TYPES, sizeof TYPES - 1);
    made_section(b, 1, s);
    made_u(s, sizeof OF + m->funcs);
    buf_add(s, OF, sizeof OF);
    for (uint32_t i = 0; i < m->funcs; i++) buf_addc(s, 6);
    made_section(b, 3, s);
}

static inline void made_rooms(const struct made *m, struct buf *b, struct buf *s) {
    made_u(s, m->tables);
    for (uint32_t i = 0; i < m->tables; i++) {
        buf_add(s, "\x70\0", 2);
        made_u(s, m->elements);
    }
    if (m->tables > 0) made_section(b, 4, s);
    buf_reset(s);
    buf_add(s, "\1\0", 2);
    made_u(s, m->memory > 0 ? m->memory : 2);
    made_section(b, 5, s);
}

static inline void made_exports(const struct made *m, struct buf *b, struct buf *s) {
    static const char *const NAMES[] = {
        "openwop_abi_version", "openwop_pack_name", "openwop_node_count", "openwop_node_id_at",
        "openwop_alloc",       "openwop_free",      "openwop_node_invoke"};
    made_u(s, 8);
    for (uint32_t i = 0; i < 7; i++) {
        made_bytes(s, NAMES[i], strlen(NAMES[i]));
        buf_addc(s, 0);
        made_u(s, i);
    }
    made_bytes(s, "memory", 6);
    buf_add(s, "\2\0", 2);
    made_section(b, 7, s);
    if (!m->deep_start) return;
    made_u(s, 7);
    made_section(b, 8, s);
}

/* One body: code holds its instructions, and is emptied. */
static inline void made_body(struct buf *s, uint32_t locals, struct buf *code) {
    struct buf f;
    buf_init(&f, 4096);
    made_u(&f, locals > 0);
    if (locals > 0) {
        made_u(&f, locals);
        buf_addc(&f, 0x7e);
    }
    buf_adds(&f, buf_str(code));
    buf_addc(&f, 0x0b);
    made_bytes(s, f.p, f.len);
    buf_fini(&f);
    buf_reset(code);
}

static inline void made_number(struct buf *code, bool wide, uint64_t v) {
    buf_addc(code, wide ? 0x42 : 0x41);
    made_s(code, wide ? (int64_t)v : (int32_t)v);
}

static inline void made_code(const struct made *m, struct buf *b, struct buf *s) {
    const uint64_t name_n = strlen(m->pack), response_n = sizeof MADE_RESPONSE_TEXT - 1;
    const uint64_t v[] = {1,
                          m->wrong == MADE_NAME ? m->value : MADE_NAME_AT | name_n << 32,
                          1,
                          m->wrong == MADE_ID ? m->value : MADE_ID_AT | (name_n + 3) << 32,
                          m->wrong == MADE_ALLOC ? m->value : MADE_ROOM_AT,
                          0,
                          m->wrong == MADE_RESPONSE ? m->value
                                                    : MADE_RESPONSE_AT | response_n << 32};
    struct buf code;
    buf_init(&code, 64);
    made_u(s, 8 + m->funcs);
    for (int i = 0; i < 7; i++) {
        if (i == 6 && m->deep) buf_add(&code, "\x10\7", 2);
        if (i != 5) made_number(&code, i == 1 || i == 3 || i == 6, v[i]);
        made_body(s, 0, &code);
    }
    buf_add(&code, "\x10\7", 2);
    made_body(s, m->locals, &code);
    for (uint32_t i = 0; i < m->funcs; i++) buf_add(s, "\2\0\x0b", 3);
    made_section(b, 10, s);
    buf_fini(&code);
}

static inline void made_datum(struct buf *s, int at, const char *text, size_t n) {
    buf_add(s, "\0\x41", 2);
    made_s(s, at);
    buf_addc(s, 0x0b);
    made_bytes(s, text, n);
}

/* The binary, appended to out. */
static inline void made_write(const struct made *m, struct buf *out) {
    char id[300];
    struct buf s;
    int id_n = snprintf(id, sizeof id, "%s.it", m->pack);
    buf_init(&s, 64u << 20);
    buf_add(out, "\0asm\1\0\0\0", 8);
    made_types(m, out, &s);
    made_rooms(m, out, &s);
    made_exports(m, out, &s);
    made_code(m, out, &s);
    made_u(&s, 3);
    made_datum(&s, MADE_NAME_AT, m->pack, strlen(m->pack));
    made_datum(&s, MADE_ID_AT, id, (size_t)id_n);
    made_datum(&s, MADE_RESPONSE_AT, MADE_RESPONSE_TEXT, sizeof MADE_RESPONSE_TEXT - 1);
    made_section(out, 11, &s);
    buf_fini(&s);
}

#endif
