/* kit.h: the vectors of the contract, and small sessions. */
#ifndef WOPR_TESTS_UNIT_WORKRAIL_KIT_H
#define WOPR_TESTS_UNIT_WORKRAIL_KIT_H

#include "base/fs.h"
#include "workrail/compile.h"
#include "workrail/operate.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { KIT_FILE_MAX = 4 << 20, KIT_ARENA_MAX = 256 << 20 };
static const char KIT_S[] = "sess_aaaqeayeaudaocajbifqydiob4",
                  KIT_R[] = "run_caireeyuculbogazdinryhi6d4",
                  KIT_N[] = "node_eaqseizeeutcokbjfivsyljof4",
                  KIT_N2[] = "node_ibaueq2eivdeoscjjjfuytkoj4",
                  KIT_A[] = "attempt_gaytemzugu3doobzhi5typj6h4";

static struct arena *kit_a;
static struct buf kit_file;
static struct str kit_vectors;

static inline void kit_up(void) {
    (void)KIT_N2;
    (void)KIT_A;
    kit_a = arena_new(KIT_ARENA_MAX);
    cr_assert_eq(fs_read(WOPR_SOURCE_DIR "/tests/workrail/vectors.json", KIT_FILE_MAX, &kit_file),
                 FS_READ_OK);
    kit_vectors = buf_str(&kit_file);
}

static inline void kit_down(void) {
    buf_fini(&kit_file);
    arena_free(kit_a);
}

/* --- the page --- */

static inline struct str kit_cell(const char *id, size_t col, const char *what) {
    struct json_elements e;
    struct str row = json_get(json_get(kit_vectors, "rows"), id);
    cr_assert(row.p != NULL, "the page has no %s", id);
    cr_assert_eq(json_elements(row, kit_a, &e, NULL), 0);
    cr_assert(col < e.n, "%s has no column %zu", id, col);
    return json_get(e.v[col], what);
}
/* The k-th code span of a cell (the first column after the id is 0). */
static inline struct str kit_code(const char *id, size_t col, size_t k) {
    struct json_elements e;
    cr_assert_eq(json_elements(kit_cell(id, col, "code"), kit_a, &e, NULL), 0);
    cr_assert(k < e.n, "%s column %zu has no code %zu", id, col, k);
    return json_string(e.v[k], kit_a);
}
static inline struct str kit_plain(const char *id, size_t col) {
    return json_string(kit_cell(id, col, "text"), kit_a);
}
static inline int64_t kit_number(const char *id, size_t col) {
    uint64_t v;
    cr_assert(str_u64(kit_plain(id, col), &v), "%s column %zu is no number", id, col);
    return (int64_t)v;
}
static inline struct str kit_line(const char *name) {
    struct str raw = json_get(json_get(kit_vectors, "texts"), name);
    cr_assert(raw.p != NULL, "the page has no line %s", name);
    return json_string(raw, kit_a);
}
static inline const char *kit_id(const char *family, int i) {
    return arena_printf(kit_a, "V-%s-%d", family, i).p;
}

/* --- comparisons --- */

static inline void kit_same(const char *id, struct str has, struct str want) {
    cr_expect(str_eq(has, want), "%s gives " STR_FMT "\nnot " STR_FMT, id, STR_ARG(has),
              STR_ARG(want));
}
static inline void kit_hash(const char *id, struct str bytes, struct str want_hex) {
    struct wr_digest d = wr_digest_of(bytes);
    kit_same(id, str_c(d.s + 7), want_hex);
}
static inline struct str kit_repeat(const char *unit, size_t nr, const char *before) {
    struct buf b;
    buf_init(&b, 1 << 20);
    buf_addz(&b, before);
    for (size_t i = 0; i < nr; i++) buf_addz(&b, unit);
    struct str s = arena_str(kit_a, buf_str(&b));
    buf_fini(&b);
    return s;
}

/* Random bytes that count: 16 times from, from + 1, ... */
struct kit_counter {
    uint8_t next;
};
static inline void kit_bytes(void *ctx, uint8_t out[WR_ID_BYTES]) {
    struct kit_counter *c = ctx;
    memset(out, c->next++, WR_ID_BYTES);
}

#endif
