/*
 * cursor.c: positions that clients hand back.
 */
#include "wire/common/cursor.h"
#include "codec/ident.h"

enum { INTERRUPT_CURSOR_MAX = 160 };
/* Largest integer that JSON clients keep exact; no log reaches it. */
#define SEQUENCE_MAX INT64_C(9007199254740991)

bool wire_event_cursor(struct str run_id, int64_t next_seq, struct str text, int64_t *seq) {
    size_t digits = 0;
    uint64_t v = 0;
    int64_t named;
    while (digits < text.n && text.p[digits] >= '0' && text.p[digits] <= '9') digits++;
    if (digits > 0 && digits == text.n) {
        *seq = str_u64(text, &v) && v <= (uint64_t)SEQUENCE_MAX ? (int64_t)v : SEQUENCE_MAX;
        return true;
    }
    if (text.n == 0 || !event_id_parse(run_id, text, &named) || named >= next_seq) return false;
    *seq = named;
    return true;
}

bool wire_interrupt_cursor(struct str text, int64_t *requested_ms, struct str *interrupt_id) {
    struct str at, id;
    uint64_t ms;
    if (text.n > INTERRUPT_CURSOR_MAX || !str_cut(text, '-', &at, &id) || !str_u64(at, &ms) ||
        ms > INT64_MAX || !id_opaque_valid(id))
        return false;
    *requested_ms = (int64_t)ms;
    *interrupt_id = id;
    return true;
}

struct str wire_interrupt_cursor_format(int64_t requested_ms, struct str interrupt_id,
                                        struct arena *a) {
    return arena_printf(a, "%lld-" STR_FMT, (long long)requested_ms, STR_ARG(interrupt_id));
}
