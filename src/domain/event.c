/*
 * event.c: the table of event kinds and the derived event ids.
 */
#include "domain/event.h"

#include <inttypes.h>
#include <stdio.h>

struct event_row {
    struct str name;
    const char *def, *mark;
    uint64_t follows; /* a bit per kind */
    uint16_t flags;
    uint8_t modes, count, tone;
};
_Static_assert(EV_NR <= 64, "event_row.follows has a bit per kind");

#define AFTER(id) (UINT64_C(1) << EV_##id)
/* The abbreviations of events.def. */
enum {
    U = EV_MODE_U,
    V = EV_MODE_V,
    M = EV_MODE_M,
    ENDS_RUN = EV_F_ENDS_RUN,
    ENDS_NODE = EV_F_ENDS_NODE,
    OF_NODE = EV_F_OF_NODE,
    EFFECT = EV_F_EFFECT,
    FLUSH = EV_F_FLUSH,
    NOT_REPLAYED = EV_F_NOT_REPLAYED,
    PARENT_NEWS = EV_F_PARENT_NEWS,
    ANSWERS = EV_F_ANSWERS,
    SHOWN = EV_F_SHOWN
};
static const struct event_row EVENT_ROWS[EV_NR] = {
#define EVENT(id, wire, modes_, def_, run_edge, node_edge, fold, flags_, follows_, count_, tone_,  \
              mark_)                                                                               \
    [EV_##id] = {.name = {wire, sizeof(wire) - 1},                                                 \
                 .def = def_,                                                                      \
                 .mark = mark_,                                                                    \
                 .follows = follows_,                                                              \
                 .flags = flags_,                                                                  \
                 .modes = modes_,                                                                  \
                 .count = EV_COUNT_##count_,                                                       \
                 .tone = EV_TONE_##tone_},
#include "domain/events.def"
#undef EVENT
};

static const struct event_row *row_of(enum ev_kind k) {
    return (unsigned)k < EV_NR ? &EVENT_ROWS[k] : NULL;
}

const char *event_name(enum ev_kind k) {
    const struct event_row *r = row_of(k);
    return r ? r->name.p : "unknown";
}

const char *event_payload_def(enum ev_kind k) {
    const struct event_row *r = row_of(k);
    return r ? r->def : "";
}

unsigned event_modes(enum ev_kind k) {
    const struct event_row *r = row_of(k);
    return r ? r->modes : 0;
}

enum ev_kind event_kind_of(struct str name) {
    for (int k = 0; k < EV_NR; k++)
        if (str_eq(EVENT_ROWS[k].name, name)) return (enum ev_kind)k;
    return EV_UNKNOWN;
}

bool event_kind_is(enum ev_kind k, unsigned flag) {
    const struct event_row *r = row_of(k);
    return r && (r->flags & flag) != 0;
}

bool event_follows(enum ev_kind k, enum ev_kind earlier) {
    const struct event_row *r = row_of(k);
    return r && (unsigned)earlier < EV_NR && (r->follows >> earlier & 1) != 0;
}

enum ev_count event_count(enum ev_kind k) {
    const struct event_row *r = row_of(k);
    return r ? (enum ev_count)r->count : EV_COUNT_NOTHING;
}

enum ev_tone event_tone(enum ev_kind k) {
    const struct event_row *r = row_of(k);
    return r ? (enum ev_tone)r->tone : EV_TONE_DIM;
}

const char *event_mark(enum ev_kind k) {
    const struct event_row *r = row_of(k);
    return r ? r->mark : " ";
}

int64_t event_bytes(const struct event *e) {
    return EVENT_ROW_BYTES + (int64_t)(e->node_id.n + e->payload.n);
}

/* The part of a run id that goes into its event ids: without the "run_" of ids we minted (D11). */
static struct str event_id_stem(struct str run_id) {
    static const struct str prefix = {"run_", 4};
    if (run_id.n > RUN_ID_MAX) run_id.n = RUN_ID_MAX;
    if (run_id.n == RUN_ID_LEN && str_starts(run_id, prefix))
        return str_n(run_id.p + prefix.n, run_id.n - prefix.n);
    return run_id;
}

void event_id_format(struct str run_id, int64_t seq, char out[EVENT_ID_SIZE]) {
    struct str stem = event_id_stem(run_id);
    snprintf(out, EVENT_ID_SIZE, STR_FMT "-%" PRId64, STR_ARG(stem), seq);
}

bool event_id_parse(struct str run_id, struct str event_id, int64_t *seq) {
    struct str stem, digits;
    uint64_t v;
    if (!str_cut_last(event_id, '-', &stem, &digits)) return false;
    if (!str_eq(stem, event_id_stem(run_id)) || digits.n == 0) return false;
    if (digits.n > 1 && digits.p[0] == '0') return false; /* one spelling per event */
    if (!str_u64(digits, &v) || v > INT64_MAX) return false;
    *seq = (int64_t)v;
    return true;
}
