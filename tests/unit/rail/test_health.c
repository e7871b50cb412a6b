/* Health of stored sessions: the vectors V-HE, by their ids (WR-73 to WR-77). */
#include "unit/rail/log.h"

static struct rail_session judged(const struct log_kit *k) {
    struct rail_session s;
    struct wr_fault f = {.code = WR_FINE};
    int rc = rail_session_judge(&k->log, kit_a, &s, &f);
    cr_assert_eq(rc, 0, "%s", f.e.message);
    return s;
}

static void expect_health(const char *id, const struct log_kit *k, enum rail_health health,
                          enum rail_reason reason, size_t events) {
    struct rail_session s = judged(k);
    cr_expect_eq(s.health, health, "%s: %s (%s)", id, rail_health_name(s.health), s.why);
    cr_expect_eq(s.reason, reason, "%s: %s (%s)", id, rail_reason_name(s.reason), s.why);
    cr_expect_eq(s.events_nr, events, "%s: %zu events", id, s.events_nr);
    cr_expect_eq(s.truth->next_index, (int64_t)events, "%s: the fold is of the prefix alone", id);
    rail_session_fini(&s);
}

#define HEALTH(name) Test(rail_health, name, .init = kit_up, .fini = kit_down)

HEALTH(v_he_1_an_undamaged_session_is_healthy) {
    struct log_kit k;
    log_make(&k);
    expect_health("V-HE-1", &k, RAIL_HEALTHY, RAIL_REASON_NONE, 7);
}

HEALTH(v_he_2_a_changed_byte_of_the_tail_leaves_the_prefix) {
    struct log_kit k;
    log_make(&k);
    k.events[4].event.bytes =
        log_replaced(k.events[4].event.bytes, "\"nodeKind\":\"step\"", "\"nodeKind\":\"stop\"");
    expect_health("V-HE-2", &k, RAIL_CORRUPT_TAIL, RAIL_DIGEST_MISMATCH, 3);
}

HEALTH(v_he_3_a_changed_byte_of_the_head_leaves_nothing) {
    struct log_kit k;
    log_make(&k);
    k.events[1].event.bytes = log_replaced(k.events[1].event.bytes, "pinned", "pinnee");
    expect_health("V-HE-3", &k, RAIL_CORRUPT_HEAD, RAIL_DIGEST_MISMATCH, 0);
}

HEALTH(v_he_4_a_row_of_an_attested_range_is_missing) {
    struct log_kit k;
    log_make(&k);
    k.log.events.n = 6;
    expect_health("V-HE-4", &k, RAIL_CORRUPT_TAIL, RAIL_MISSING_SEGMENT, 3);
}

HEALTH(v_he_5_a_pin_is_missing) {
    struct log_kit k;
    log_make(&k);
    k.log.records.n = 3;
    expect_health("V-HE-5", &k, RAIL_CORRUPT_TAIL, RAIL_MISSING_SEGMENT, 3);
}

HEALTH(v_he_6_events_that_no_record_attests_are_passed) {
    struct log_kit k;
    log_make(&k);
    k.log.records.n = 2;
    struct rail_session s = judged(&k);
    cr_expect_eq(s.health, RAIL_HEALTHY, "V-HE-6");
    cr_expect_eq(s.events_nr, 3, "V-HE-6");
    cr_expect_eq(s.orphans_nr, 4, "V-HE-6");
    rail_session_fini(&s);
}

HEALTH(v_he_7_segments_overlap_or_leave_a_hole) {
    struct log_kit k;
    log_make(&k);
    struct str bytes =
        log_replaced(k.records[2].record.bytes, "\"firstEventIndex\":3", "\"firstEventIndex\":4");
    log_record_row(&k.records[2], 2, bytes);
    expect_health("V-HE-7", &k, RAIL_CORRUPT_TAIL, RAIL_NON_CONTIGUOUS, 3);
}

HEALTH(v_he_8_an_event_of_another_version) {
    struct log_kit k;
    log_make(&k);
    log_event_row(&k.events[5], 5, log_replaced(k.events[5].event.bytes, ",\"v\":1}", ",\"v\":2}"));
    log_adjust(&k, 2);
    expect_health("V-HE-8", &k, RAIL_UNKNOWN_VERSION, RAIL_UNKNOWN_SCHEMA, 3);
}

HEALTH(v_he_9_an_event_of_an_unknown_kind) {
    struct log_kit k;
    log_make(&k);
    log_event_row(
        &k.events[5], 5,
        log_replaced(k.events[5].event.bytes, "\"kind\":\"edge_created\"", "\"kind\":\"foo\""));
    log_adjust(&k, 2);
    expect_health("V-HE-9", &k, RAIL_UNKNOWN_VERSION, RAIL_UNKNOWN_SCHEMA, 3);
}

HEALTH(v_he_10_a_parent_that_was_never_created) {
    struct log_kit k;
    log_make(&k);
    log_event_row(&k.events[4], 4,
                  log_replaced(k.events[4].event.bytes,
                               "\"parentNodeId\":\"node_eaqseizeeutcokbjfivsyljof4\"",
                               "\"parentNodeId\":\"node_777777777777777777777777777777\""));
    log_adjust(&k, 2);
    expect_health("V-HE-10", &k, RAIL_CORRUPT_TAIL, RAIL_NON_CONTIGUOUS, 3);
}

HEALTH(v_he_11_a_session_without_records_is_empty_and_healthy) {
    struct log_kit k;
    log_make(&k);
    k.log.events.n = k.log.records.n = 0;
    expect_health("V-HE-11", &k, RAIL_HEALTHY, RAIL_REASON_NONE, 0);
}

HEALTH(columns_that_differ_from_the_bytes_are_damage /* WR-73 (7) */) {
    struct log_kit k;
    log_make(&k);
    k.events[6].event.dedupe_key = STR("node_output_appended:other");
    expect_health("columns", &k, RAIL_CORRUPT_TAIL, RAIL_SCHEMA_FAILED, 3);
}
