/*
 * log.h: the session of the contract's vectors (V-SEG) as rows, to be damaged and judged.
 */
#ifndef WOPR_TESTS_UNIT_RAIL_LOG_H
#define WOPR_TESTS_UNIT_RAIL_LOG_H

#include "rail/session.h"
#include "unit/workrail/kit.h"

struct log_kit {
    struct session_log log;
    struct session_event_row events[8];
    struct session_record_row records[5];
};

static inline struct json_elements log_lines(const char *name) {
    struct json_elements e;
    cr_assert_eq(json_elements(json_get(kit_vectors, name), kit_a, &e, NULL), 0);
    return e;
}

/* The columns that a store would have beside the bytes. */
static inline void log_event_row(struct session_event_row *row, int64_t index, struct str bytes) {
    struct str scope = json_get(bytes, "scope");
    *row = (struct session_event_row){
        .index = index,
        .event = {.event_id = json_string(json_get(bytes, "eventId"), kit_a),
                  .kind = json_string(json_get(bytes, "kind"), kit_a),
                  .run_id = json_string(json_get(scope, "runId"), kit_a),
                  .node_id = json_string(json_get(scope, "nodeId"), kit_a),
                  .dedupe_key = json_string(json_get(bytes, "dedupeKey"), kit_a),
                  .bytes = bytes}};
}

static inline int64_t log_int(struct str bytes, const char *key) {
    int64_t v = -1;
    (void)json_int(json_get(bytes, key), &v);
    return v;
}

static inline void log_record_row(struct session_record_row *row, int64_t index, struct str bytes) {
    *row = (struct session_record_row){
        .index = index,
        .record = {.kind = json_string(json_get(bytes, "kind"), kit_a),
                   .first = log_int(bytes, "firstEventIndex"),
                   .last = log_int(bytes, "lastEventIndex"),
                   .event_index = log_int(bytes, "eventIndex"),
                   .snapshot_ref = json_string(json_get(bytes, "snapshotRef"), kit_a),
                   .bytes = bytes}};
}

static inline void log_make(struct log_kit *k) {
    struct json_elements e = log_lines("events"), m = log_lines("manifest");
    memset(k, 0, sizeof *k);
    k->log.head.session_id = str_c(KIT_S);
    for (size_t i = 0; i < 7; i++)
        log_event_row(&k->events[i], (int64_t)i, json_string(e.v[i], kit_a));
    for (size_t i = 0; i < 4; i++)
        log_record_row(&k->records[i], (int64_t)i, json_string(m.v[i], kit_a));
    k->log.events = (struct session_events){k->events, 7};
    k->log.records = (struct session_records){k->records, 4};
}

/* text with its first `from` replaced. */
static inline struct str log_replaced(struct str text, const char *from, const char *to) {
    size_t n = strlen(from), at = 0;
    while (at + n <= text.n && memcmp(text.p + at, from, n) != 0) at++;
    cr_assert(at + n <= text.n, "the text has no %s", from);
    return arena_printf(kit_a, "%.*s%s%.*s", (int)at, text.p, to, (int)(text.n - at - n),
                        text.p + at + n);
}

/* The record of a segment again, after its events were changed. */
static inline void log_adjust(struct log_kit *k, size_t record) {
    struct wr_record r;
    struct wr_fault f;
    struct wr_event v[8];
    struct wr_segment_sum sum;
    cr_assert_eq(wr_record_read(k->records[record].record.bytes, kit_a, &r, &f), 0);
    size_t n = 0;
    for (int64_t i = r.first_index; i <= r.last_index; i++) v[n++].bytes = k->events[i].event.bytes;
    cr_assert_eq(wr_segment_sum(v, n, &sum, &f), 0);
    r.segment_bytes = sum.bytes;
    r.sha256 = arena_str(kit_a, wr_digest_str(&sum.digest));
    cr_assert_eq(wr_record_seal(&r, kit_a, &f), 0);
    log_record_row(&k->records[record], (int64_t)record, r.bytes);
}

#endif
