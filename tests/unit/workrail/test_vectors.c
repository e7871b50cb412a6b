/*
 * test_vectors.c: vectors of stages 1 and 2, each by its own id: what is expected is read off the
 * page (tests/workrail/vectors.py).
 */
#include "kit.h"
#include "workrail/event.h"
#include "workrail/interpret.h"

/* --- V-ID --- */

static struct wr_id id_from(enum wr_id_kind kind, uint8_t first) {
    uint8_t bytes[WR_ID_BYTES], back[WR_ID_BYTES];
    for (size_t i = 0; i < WR_ID_BYTES; i++) bytes[i] = (uint8_t)(first + i);
    struct wr_id id = wr_id_of(kind, bytes);
    cr_expect(wr_id_decode(kind, wr_id_str(&id), back));
    cr_expect_arr_eq(back, bytes, WR_ID_BYTES);
    return id;
}

Test(workrail_vectors, v_id_1_to_7_minted_wr_1, .init = kit_up, .fini = kit_down) {
    static const enum wr_id_kind KINDS[] = {WR_ID_SESSION, WR_ID_RUN, WR_ID_NODE, WR_ID_ATTEMPT,
                                            WR_ID_NODE};
    uint8_t zeros[WR_ID_BYTES] = {0}, ones[WR_ID_BYTES], out[WR_ID_BYTES];
    memset(ones, 0xFF, sizeof ones);
    for (int i = 0; i < 5; i++) {
        struct wr_id id = id_from(KINDS[i], (uint8_t)(16 * i));
        kit_same(kit_id("ID", i + 1), wr_id_str(&id), kit_code(kit_id("ID", i + 1), 1, 0));
    }
    struct wr_id low = wr_id_of(WR_ID_RUN, zeros), high = wr_id_of(WR_ID_RUN, ones);
    kit_same("V-ID-6", str_c(low.s + 4), kit_code("V-ID-6", 1, 0));
    kit_same("V-ID-6", str_c(high.s + 4), kit_code("V-ID-6", 1, 1));
    struct str bad = kit_code("V-ID-7", 0, 0);
    cr_expect_not(wr_id_decode(WR_ID_SESSION, bad, out), "V-ID-7");
    cr_expect_not(wr_id_decode(WR_ID_SESSION, STR("sess_AAAQEAYEAUDAOCAJBIFQYDIOB4"), out));
    cr_expect_not(wr_id_decode(WR_ID_SESSION, str_n(KIT_S, strlen(KIT_S) - 1), out));
    cr_expect_not(wr_id_decode(WR_ID_SESSION, STR("sess_aaaqeayeaudaocajbifqydiob4a"), out));
    cr_expect_not(wr_id_decode(WR_ID_RUN, str_c(KIT_S), out), "another kind (WR-3)");
}

Test(workrail_vectors, v_id_8_to_15_derived_wr_4_wr_5, .init = kit_up, .fini = kit_down) {
    struct wr_id one = wr_attempt_child(str_c(KIT_A)), two = wr_attempt_child(wr_id_str(&one));
    kit_same("V-ID-8", wr_id_str(&one), kit_code("V-ID-8", 1, 0));
    kit_same("V-ID-9", wr_id_str(&two), kit_code("V-ID-9", 1, 0));
    struct wr_id id = wr_attempt_child(STR("attempt_1"));
    kit_same("V-ID-10", wr_id_str(&id), kit_code("V-ID-10", 1, 0));
    id = wr_attempt_child(STR("attempt_aaaaaaaaaaaaaaaaaaaaaaaaaa"));
    kit_same("V-ID-11", wr_id_str(&id), kit_code("V-ID-11", 1, 0));
    id = wr_checkpoint_node(str_c(KIT_S), str_c(KIT_R), str_c(KIT_N), str_c(KIT_A));
    kit_same("V-ID-12", wr_id_str(&id), kit_code("V-ID-12", 1, 0));
    id = wr_context_id(str_c(KIT_A));
    kit_same("V-ID-13", wr_id_str(&id), kit_code("V-ID-13", 1, 0));
    id = wr_branch_run(str_c(KIT_R), str_c(KIT_N), str_c(KIT_A));
    kit_same("V-ID-14", wr_id_str(&id), kit_code("V-ID-14", 1, 0));
    id = wr_interrupt_id(str_c(KIT_N));
    kit_same("V-ID-15", wr_id_str(&id), kit_code("V-ID-15", 1, 0));
    id = wr_interrupt_attempt(wr_id_str(&id));
    kit_same("V-ID-15", wr_id_str(&id), kit_code("V-ID-15", 1, 1));
}

/* --- V-JCS --- */

static void check_jcs(const char *id, struct str input, struct str want) {
    struct str out;
    struct wr_fault f = {0};
    cr_assert_eq(wr_canonical(input, &JSON_LIMITS_DEFAULT, kit_a, &out, &f), 0, "%s: %s", id,
                 f.e.message);
    if (want.p != NULL) kit_same(id, out, want);
    cr_expect_eq((int64_t)out.n, kit_number(id, 2), "%s has %zu bytes", id, out.n);
    kit_hash(id, out, kit_code(id, 3, 0));
}

Test(workrail_vectors, v_jcs_1_to_14_wr_6_to_wr_9, .init = kit_up, .fini = kit_down) {
    static const char *const INPUTS[15] = {
        [7] = "{\"ticketId\":\"AUTH-1234\",\"complexity\":\"Standard\"}",
        [8] = "{\"s\":\"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\"}",
        [9] = "{\"\\u20ac\":\"Euro Sign\",\"\\r\":\"Carriage Return\",\"\\ufb33\":\"Hebrew Letter "
              "Dalet With Dagesh\",\"1\":\"One\",\"\\ud83d\\ude00\":\"Emoji: Grinning Face\","
              "\"\\u0080\":\"Control\",\"\\u00f6\":\"Latin Small Letter O With Diaeresis\"}",
        [10] = "{\"k\":\"\\u007f\\u2028<\\/script>\"}",
        [11] = "{\"kind\":\"wr.loop_control\",\"loopId\":\"investigation_pass\",\"decision\":"
               "\"continue\"}",
        [12] = "{\"kind\":\"wr.loop_control\",\"decision\":\"stop\"}",
        [13] = "{\"v\":1,\"previous\":null,\"current\":{\"keyBase64Url\":"
               "\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\",\"alg\":\"hmac_sha256\"}}"};
    for (int i = 1; i <= 13; i++) {
        const char *id = kit_id("JCS", i);
        struct str in = INPUTS[i] != NULL ? str_c(INPUTS[i]) : kit_code(id, 0, 0);
        bool prose = i == 9 || i == 10;
        check_jcs(id, in, prose ? STR_NONE : kit_code(id, 1, 0));
    }
    struct buf b;
    struct wr_fault f = {0};
    struct str out;
    buf_init(&b, 64);
    cr_expect_neq(wr_canonical_number(0.0 / 0.0, &b, &f), 0);
    kit_same("V-JCS-14", str_c(wr_code_name(f.code)), kit_code("V-JCS-14", 1, 0));
    cr_expect_neq(wr_canonical_number(1.0 / 0.0, &b, &f), 0);
    kit_same("V-JCS-14", str_c(wr_code_name(f.code)), kit_code("V-JCS-14", 1, 0));
    cr_expect_neq(wr_canonical(STR("[1e400]"), &JSON_LIMITS_DEFAULT, kit_a, &out, &f), 0);
    kit_same("V-JCS-14", str_c(wr_code_name(f.code)), kit_code("V-JCS-14", 1, 0));
    buf_fini(&b);
}

Test(workrail_vectors, what_is_no_json_has_no_canonical_form_wr_7, .init = kit_up,
     .fini = kit_down) {
    static const char *const BAD[] = {"{\"a\":1,\"a\":2}", "\"\\ud800\"", "[1,]", "NaN",
                                      "\"\xff\""};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct wr_fault f = {0};
        struct str out;
        cr_expect_neq(wr_canonical(str_c(BAD[i]), &JSON_LIMITS_DEFAULT, kit_a, &out, &f), 0);
        cr_expect_eq(f.code, WR_CANONICAL_JSON_UNSUPPORTED_VALUE, "%s: %s", BAD[i],
                     wr_code_name(f.code));
    }
}

/* --- V-TR --- */

struct trunc {
    const char *unit, *before;
    size_t nr;
};
static const struct trunc TRUNCS[] = {{"a", "", 4096},
                                      {"a", "", 4097},
                                      {"x", "", 4196},
                                      {"\xe3\x81\x82", "", 1366},
                                      {"\xf0\x9f\x8c\x8d", "", 1024},
                                      {"\xf0\x9f\x8c\x8d", "", 1025},
                                      {"\xc3\xa9", "", 2049},
                                      {"\xf0\x9f\x8c\x8d", "ab", 1024},
                                      {"e\xcc\x81", "", 1400},
                                      {"a", "", 513},
                                      {"\xf0\x9f\x94\xa5", "", 128},
                                      {"\xf0\x9f\x94\xa5", "", 129},
                                      {"\xe3\x81\x82", "", 200},
                                      {"n", "", 2049}};

Test(workrail_vectors, v_tr_1_to_14_truncation_wr_11, .init = kit_up, .fini = kit_down) {
    for (int i = 1; i <= 14; i++) {
        const struct trunc *t = &TRUNCS[i - 1];
        const char *id = kit_id("TR", i);
        struct str in = kit_repeat(t->unit, t->nr, t->before);
        struct str out = wr_fit(in, (size_t)kit_number(id, 0), kit_a);
        cr_expect_eq((int64_t)in.n, kit_number(id, 2), "%s is wrong in the test", id);
        cr_expect_eq((int64_t)out.n, kit_number(id, 3), "%s gives %zu bytes", id, out.n);
        if (!str_eqc(kit_plain(id, 4), "unchanged"))
            cr_expect_eq((int64_t)utf8_count(out) - 13, kit_number(id, 4), "%s keeps %zu", id,
                         utf8_count(out));
        else cr_expect(str_eq(in, out), "%s", id);
        kit_hash(id, out, kit_code(id, 5, 0));
    }
}

static void check_trace(const char *id, size_t nr, size_t each, size_t kept, size_t last,
                        size_t sum) {
    struct wr_trace_entry v[64] = {{0}}, *out;
    size_t out_nr, total = 0;
    for (size_t i = 0; i < nr; i++) v[i].summary = kit_repeat("s", each, "");
    cr_assert_eq(wr_trace_fit(v, nr, kit_a, &out, &out_nr), 0);
    for (size_t i = 0; i < out_nr; i++) total += out[i].summary.n;
    cr_expect(out_nr == kept && out[out_nr - 1].summary.n == last && total == sum,
              "%s keeps %zu, last %zu, sum %zu", id, out_nr, out[out_nr - 1].summary.n, total);
}

Test(workrail_vectors, v_tr_t1_to_t3_decision_traces_wr_45, .init = kit_up, .fini = kit_down) {
    (void)kit_plain("V-TR-T3", 0);
    check_trace("V-TR-T1", 25, 400, 21, 192, 8192);
    check_trace("V-TR-T2", 17, 512, 16, 512, 8192);
    check_trace("V-TR-T3", 20, 420, 20, 212, 8192);
    check_trace("more than 25", 40, 10, 25, 10, 250);
}

Test(workrail_vectors, v_vl_1_to_2_issues_wr_49, .init = kit_up, .fini = kit_down) {
    enum { NR = 10000 };
    struct str *v = ARENA_ARRAY(kit_a, struct str, NR), three[] = {STR("b"), STR("a"), STR("b")};
    struct wr_texts in = {v, NR}, out;
    size_t sum = 0;
    for (size_t i = 0; i < NR; i++) v[NR - 1 - i] = arena_printf(kit_a, "issue-%06zu", i);
    cr_assert_eq(wr_issues_fit(&in, WR_ISSUE_MAX, kit_a, &out), 0);
    for (size_t i = 0; i < out.nr; i++) sum += out.v[i].n;
    cr_expect(out.nr == 341 && sum == 4091, "V-VL-1 gives %zu, %zu", out.nr, sum);
    kit_same("V-VL-1", out.v[339], kit_code("V-VL-1", 1, 0));
    kit_same("V-VL-1", out.v[340], kit_code("V-VL-1", 1, 1));
    in = (struct wr_texts){three, 3};
    cr_assert_eq(wr_issues_fit(&in, WR_ISSUE_MAX, kit_a, &out), 0);
    cr_assert_eq(out.nr, 2, "V-VL-2");
    kit_same("V-VL-2", out.v[0], kit_code("V-VL-2", 1, 0));
    kit_same("V-VL-2", out.v[1], kit_code("V-VL-2", 1, 1));
}

/* --- V-SN, V-SK --- */

Test(workrail_vectors, v_sn_1_to_7_snapshots_wr_88_wr_89, .init = kit_up, .fini = kit_down) {
    for (int i = 1; i <= 7; i++) {
        const char *id = kit_id("SN", i);
        struct str bytes = kit_line(id), again;
        struct wr_state s;
        struct wr_fault f = {0};
        cr_assert_eq(wr_snapshot_read(bytes, kit_a, &s, &f), 0, "%s: %s %s", id, f.e.pointer,
                     f.e.message);
        cr_assert_eq(wr_snapshot_write(&s, kit_a, &again, &f), 0, "%s: %s", id, f.e.message);
        kit_same(id, again, bytes);
        cr_expect_eq((int64_t)bytes.n, kit_number(id, 0));
        kit_hash(id, bytes, kit_code(id, 1, 0));
    }
}

static struct str replaced(struct str in, const char *what, const char *with) {
    struct buf b;
    const char *at = NULL;
    for (size_t i = 0; at == NULL && i + strlen(what) <= in.n; i++)
        if (memcmp(in.p + i, what, strlen(what)) == 0) at = in.p + i;
    cr_assert(at != NULL, "%s is not there", what);
    buf_init(&b, KIT_FILE_MAX);
    buf_add(&b, in.p, (size_t)(at - in.p));
    buf_addz(&b, with);
    buf_add(&b, at + strlen(what), in.n - (size_t)(at - in.p) - strlen(what));
    struct str out = arena_str(kit_a, buf_str(&b));
    buf_fini(&b);
    return out;
}

Test(workrail_vectors, v_sn_8_refused_states_wr_91, .init = kit_up, .fini = kit_down) {
    struct str three = kit_line("V-SN-3"), four = kit_line("V-SN-4");
    const struct str bad[] = {
        replaced(three, "[\"step1\",\"step2\"]", "[\"b\",\"a\"]"),
        replaced(three, "[\"step1\",\"step2\"]", "[\"a\",\"a\"]"),
        replaced(three, "\"stepId\":\"step3\"", "\"stepId\":\"step1\""),
        replaced(four, "{\"iteration\":2,\"loopId\"", "{\"iteration\":1,\"loopId\""),
        replaced(four, "\"loopStack\":[",
                 "\"loopStack\":[{\"bodyIndex\":0,\"iteration\":2,\"loopId\":\"outer_loop\"},"),
        replaced(four, "\"iteration\":2", "\"iteration\":-2"),
        replaced(four, "\"iteration\":2", "\"iteration\":2.5"),
        replaced(three, "\"kind\":\"running\"", "\"extra\":1,\"kind\":\"running\""),
        replaced(three, "\"v\":1}", "\"v\": 1}"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct wr_state s;
        struct wr_fault f = {0};
        cr_expect_neq(wr_snapshot_read(bad[i], kit_a, &s, &f), 0, "V-SN-8, case %zu", i);
        cr_expect_eq(f.code, WR_SCHEMA_INVALID, "V-SN-8, case %zu: %s", i, wr_code_name(f.code));
    }
    struct wr_state s;
    struct wr_fault f = {0};
    cr_expect_neq(wr_snapshot_read(replaced(three, "\"v\":1}", "\"v\":2}"), kit_a, &s, &f), 0);
    cr_expect_eq(f.code, WR_SCHEMA_UNKNOWN_VERSION);
}

Test(workrail_vectors, v_sk_1_to_3_step_keys_wr_92, .init = kit_up, .fini = kit_down) {
    const struct wr_frame path[] = {{STR("outer"), 0, 0}, {STR("inner"), 2, 0}};
    struct wr_step_at at;
    kit_same("V-SK-1", wr_step_key(NULL, 0, STR("triage"), kit_a), kit_code("V-SK-1", 1, 0));
    struct str key = wr_step_key(path, 2, STR("triage"), kit_a);
    kit_same("V-SK-2", key, kit_code("V-SK-2", 1, 0));
    cr_assert(wr_step_key_read(key, kit_a, &at));
    cr_expect(at.path.nr == 2 && at.path.v[1].iteration == 2 && str_eqc(at.step_id, "triage"));
    for (size_t i = 0; i < 8; i++) {
        struct str bad = kit_code("V-SK-3", 0, i);
        cr_expect_not(wr_step_key_read(bad, kit_a, &at), "V-SK-3: " STR_FMT, STR_ARG(bad));
    }
    cr_expect_not(wr_step_key_read(STR(""), kit_a, &at));
    cr_expect_not(wr_step_key_read(STR("l@01::s"), kit_a, &at));
}

/* --- V-DK --- */

static struct wr_event blank(enum wr_kind kind) {
    return (struct wr_event){.kind = (int)kind,
                             .event_id = STR("evt_aaaaaaaaaaaaaaaaaaaaaaaaaa"),
                             .session_id = str_c(KIT_S),
                             .run_id = str_c(KIT_R),
                             .node_id = str_c(KIT_N)};
}

static void check_key(int i, const struct wr_event *e, struct str part) {
    const char *id = kit_id("DK", i);
    struct str key = wr_dedupe_key(e, part, kit_a);
    kit_same(id, key, kit_code(id, 0, 0));
    cr_expect_eq((int64_t)key.n, kit_number(id, 1), "%s is %zu long", id, key.n);
    cr_expect(wr_dedupe_good(key), "%s", id);
}

Test(workrail_vectors, v_dk_1_to_9_dedupe_keys_wr_23, .init = kit_up, .fini = kit_down) {
    struct wr_id id;
    struct wr_event e = blank(WR_SESSION_CREATED);
    check_key(1, &e, STR_NONE);
    e = blank(WR_RUN_STARTED);
    check_key(2, &e, STR_NONE);
    e = blank(WR_NODE_CREATED);
    check_key(3, &e, STR_NONE);
    e = blank(WR_EDGE_CREATED);
    e.u.edge.from_node_id = str_c(KIT_N);
    e.u.edge.to_node_id = str_c(KIT_N2);
    check_key(4, &e, STR_NONE);
    e = blank(WR_ADVANCE_RECORDED);
    e.u.advance.attempt_id = str_c(KIT_A);
    check_key(5, &e, STR_NONE);
    e = blank(WR_VALIDATION_PERFORMED);
    e.u.validation.attempt_id = str_c(KIT_A);
    check_key(6, &e, STR_NONE);
    e = blank(WR_NODE_OUTPUT_APPENDED);
    id = wr_id_joined("out_recap", str_c(KIT_A), -1);
    e.u.output.output_id = wr_id_str(&id);
    check_key(7, &e, STR_NONE);
    id = wr_id_joined("out_artifact", str_c(KIT_A), 0);
    e.u.output.output_id = wr_id_str(&id);
    check_key(8, &e, STR_NONE);
    e = blank(WR_GAP_RECORDED);
    id = wr_id_joined("gap", str_c(KIT_A), 0);
    e.u.gap.gap_id = wr_id_str(&id);
    check_key(9, &e, STR_NONE);
}

Test(workrail_vectors, v_dk_10_to_17_dedupe_keys_wr_20_wr_23, .init = kit_up, .fini = kit_down) {
    struct wr_event e = blank(WR_CONTEXT_SET);
    check_key(10, &e, STR("initial"));
    check_key(11, &e, str_c(KIT_A));
    struct wr_id id = wr_id_joined("trace", str_c(KIT_A), -1);
    e = blank(WR_DECISION_TRACE_APPENDED);
    e.u.trace.trace_id = wr_id_str(&id);
    check_key(12, &e, STR_NONE);
    e = blank(WR_EDGE_CREATED);
    id = wr_checkpoint_node(str_c(KIT_S), str_c(KIT_R), str_c(KIT_N), str_c(KIT_A));
    e.u.edge.kind = WR_EDGE_CHECKPOINT;
    e.u.edge.from_node_id = str_c(KIT_N);
    e.u.edge.to_node_id = wr_id_str(&id);
    check_key(13, &e, STR_NONE);
    e = blank(WR_OBSERVATION_RECORDED);
    e.u.observation.value = STR("feature/foo");
    check_key(14, &e, STR_NONE);
    e.u.observation.key = e.u.observation.type = WR_GIT_HEAD_SHA;
    e.u.observation.value = STR("4f3c2a1b0d9e8f7a6b5c4d3e2f1a0b9c8d7e6f5a");
    check_key(15, &e, STR_NONE);
    for (size_t i = 1; i < 6; i++) {
        struct str bad = kit_code("V-DK-16", 0, i);
        cr_expect_not(wr_dedupe_good(bad), "V-DK-16: " STR_FMT, STR_ARG(bad));
    }
    cr_expect_not(wr_dedupe_good(STR("")), "V-DK-16");
    cr_expect_not(wr_dedupe_good(kit_repeat("a", 257, "")), "V-DK-16");
    cr_expect(wr_dedupe_good(kit_repeat("a", 256, "")), "V-DK-17");
}

/* --- V-SEG: events, segments, manifest --- */

static struct json_elements lines_of(const char *name) {
    struct json_elements e;
    cr_assert_eq(json_elements(json_get(kit_vectors, name), kit_a, &e, NULL), 0);
    return e;
}

Test(workrail_vectors, v_seg_1_to_9_events_and_segments_wr_14_wr_69, .init = kit_up,
     .fini = kit_down) {
    struct json_elements lines = lines_of("events");
    struct wr_event v[7];
    struct wr_segment_sum sum;
    struct wr_fault f = {0};
    cr_assert_eq(lines.n, 7);
    for (size_t i = 0; i < 7; i++) {
        const char *id = kit_id("SEG", (int)i + 1);
        struct str line = json_string(lines.v[i], kit_a);
        cr_assert_eq(wr_event_read(line, kit_a, &v[i], &f), 0, "%s: %s %s", id, f.e.pointer,
                     f.e.message);
        struct wr_event made = v[i];
        made.bytes = STR_NONE;
        cr_assert_eq(wr_event_seal(&made, kit_a, &f), 0, "%s: %s %s", id, f.e.pointer, f.e.message);
        kit_same(id, made.bytes, line);
        cr_expect_eq((int64_t)line.n, kit_number(id, 1));
        kit_hash(id, line, kit_code(id, 2, 0));
    }
    cr_assert_eq(wr_segment_sum(v, 3, &sum, &f), 0);
    cr_expect_eq(sum.bytes, kit_number("V-SEG-8", 1));
    kit_same("V-SEG-8", str_c(sum.digest.s + 7), kit_code("V-SEG-8", 2, 0));
    cr_assert_eq(wr_segment_sum(v + 3, 4, &sum, &f), 0);
    cr_expect_eq(sum.bytes, kit_number("V-SEG-9", 1));
    kit_same("V-SEG-9", str_c(sum.digest.s + 7), kit_code("V-SEG-9", 2, 0));
}

/* A plan of stored events: the pins of its nodes. */
static struct wr_plan plan_of(struct wr_event *v, size_t nr, struct wr_pin *pin) {
    struct wr_plan p = {.session_id = str_c(KIT_S), .events = v, .events_nr = nr, .pins = pin};
    for (size_t i = 0; i < nr; i++)
        if (v[i].kind == WR_NODE_CREATED)
            pin[p.pins_nr++] = (struct wr_pin){v[i].u.node.snapshot_ref, v[i].event_id, v[i].index};
    return p;
}

Test(workrail_vectors, v_seg_10_to_13_manifest_wr_62_to_wr_64, .init = kit_up, .fini = kit_down) {
    struct json_elements lines = lines_of("events"), manifest = lines_of("manifest");
    struct wr_event v[7];
    struct wr_pin pins[2];
    struct wr_record *r, back;
    struct wr_fault f = {0};
    size_t nr;
    cr_assert_eq(manifest.n, 4);
    for (size_t i = 0; i < 7; i++)
        cr_assert_eq(wr_event_read(json_string(lines.v[i], kit_a), kit_a, &v[i], &f), 0);
    for (size_t k = 0; k < 2; k++) {
        struct wr_plan p = plan_of(v + 3 * k, k == 0 ? 3 : 4, &pins[k]);
        cr_assert_eq(wr_plan_check(&p, (int64_t)(3 * k), &f), 0, "%s", f.e.message);
        cr_expect_neq(wr_plan_check(&p, (int64_t)(3 * k + 1), &f), 0);
        cr_assert_eq(wr_plan_records(&p, (int64_t)(2 * k), kit_a, &r, &nr, &f), 0, "%s",
                     f.e.message);
        cr_assert_eq(nr, 2);
        for (size_t i = 0; i < 2; i++) {
            const char *id = kit_id("SEG", (int)(10 + 2 * k + i));
            struct str line = json_string(manifest.v[2 * k + i], kit_a);
            kit_same(id, r[i].bytes, line);
            cr_expect_eq((int64_t)line.n, kit_number(id, 1));
            kit_hash(id, line, kit_code(id, 2, 0));
            cr_assert_eq(wr_record_read(line, kit_a, &back, &f), 0, "%s: %s", id, f.e.message);
        }
    }
}

/* --- V-TK --- */

static struct wr_keyring ring(int current, int previous) {
    struct wr_keyring k = {.has_previous = previous >= 0};
    for (size_t i = 0; i < WR_KEY_BYTES; i++) {
        k.current[i] = current == 0 ? (uint8_t)i : (uint8_t)(255 - i);
        k.previous[i] = previous == 0 ? (uint8_t)i : (uint8_t)(255 - i);
    }
    return k;
}

static enum wr_token_kind kind_of(struct str token) {
    return token.p[0] == 's'   ? WR_TOKEN_STATE
           : token.p[0] == 'a' ? WR_TOKEN_ACK
                               : WR_TOKEN_CHECKPOINT;
}

Test(workrail_vectors, v_tk_1_to_9_tokens_wr_106_wr_107, .init = kit_up, .fini = kit_down) {
    struct wr_keyring k0 = ring(0, -1), k1 = ring(1, -1);
    for (int i = 1; i <= 9; i++) {
        const char *id = kit_id("TK", i);
        struct str token = kit_line(arena_printf(kit_a, "%s token", id).p), made, head, sig;
        struct str payload = kit_line(arena_printf(kit_a, "%s payload", id).p);
        struct wr_token t;
        struct wr_fault f = {0};
        cr_assert_eq(wr_token_read(&k0, token, kind_of(token), "t", kit_a, &t, &f), 0, "%s: %s", id,
                     f.e.message);
        kit_same(id, wr_token_mint(&k0, &t, kit_a), token);
        cr_expect_eq((int64_t)payload.n, kit_number(id, 0));
        cr_expect_eq((int64_t)token.n, kit_number(id, 1));
        kit_hash(id, payload, kit_code(id, 2, 0));
        made = wr_token_mint(&k1, &t, kit_a);
        cr_assert(str_cut_last(made, '.', &head, &sig));
        kit_same(id, sig, kit_code(id, 3, 0));
    }
}

static enum wr_code refusal(const struct wr_keyring *k, struct str token, enum wr_token_kind want) {
    struct wr_token t;
    struct wr_fault f = {0};
    (void)!wr_token_read(k, token, want, "ackToken", kit_a, &t, &f);
    /* Never an echo (WR-116): no part of a token is in the message. */
    struct str head, tail;
    if (f.code != WR_FINE && str_cut_last(token, '.', &head, &tail) && tail.n > 8)
        cr_expect_null(strstr(f.e.message, arena_cstr(kit_a, tail)), "the message echoes");
    return f.code;
}

static void refused(const char *id, struct str token, size_t col, size_t k) {
    struct wr_keyring k0 = ring(0, -1);
    enum wr_code has = refusal(&k0, token, WR_TOKEN_ACK);
    kit_same(id, str_c(wr_code_name(has)), kit_code(id, col, k));
}

static struct str signed_with(struct str token, const char *sig) {
    struct str head, tail;
    cr_assert(str_cut_last(token, '.', &head, &tail));
    return arena_printf(kit_a, STR_FMT ".%s", STR_ARG(head), sig);
}

/* A token around any payload, validly signed. */
static struct str signed_payload(const char *prefix, const char *json) {
    struct wr_keyring k0 = ring(0, -1);
    struct sha256 d = hmac_sha256(str_n((char *)k0.current, 32), str_c(json));
    struct buf b;
    buf_init(&b, 4096);
    buf_addf(&b, "%s.v1.", prefix);
    base64url_encode(&b, str_c(json));
    buf_addc(&b, '.');
    base64url_encode(&b, str_n((char *)d.b, 32));
    struct str out = arena_str(kit_a, buf_str(&b));
    buf_fini(&b);
    return out;
}

#define T_REST                                                                                     \
    "\"nodeId\":\"node_1\",\"runId\":\"run_1\",\"sessionId\":\"sess_1\",\"tokenKind\":\"ack\","

Test(workrail_vectors, v_tk_n1_to_n5_refused_tokens_wr_114, .init = kit_up, .fini = kit_down) {
    struct str t = kit_line("V-TK-4 token"), head, tail;
    cr_assert(str_cut_last(t, '.', &head, &tail));
    refused("V-TK-N1", head, 1, 0);
    refused("V-TK-N1", arena_printf(kit_a, STR_FMT ".x", STR_ARG(t)), 1, 0);
    refused("V-TK-N2", replaced(t, "ack.v1.", "ack.v2."), 1, 0);
    refused("V-TK-N3", replaced(t, "ack.v1.", "foo.v1."), 1, 0);
    refused("V-TK-N3", arena_printf(kit_a, "ack.v1.." STR_FMT, STR_ARG(tail)), 1, 0);
    refused("V-TK-N3", arena_printf(kit_a, STR_FMT ".", STR_ARG(head)), 1, 0);
    refused("V-TK-N3", arena_printf(kit_a, STR_FMT "=." STR_FMT, STR_ARG(head), STR_ARG(tail)), 1,
            0);
    refused("V-TK-N3", arena_printf(kit_a, "%.*sx", (int)t.n - 1, t.p), 1, 0);
    refused("V-TK-N4", replaced(t, "ack.v1.", "chk.v1."), 1, 0);
    refused("V-TK-N5", kit_code("V-TK-N5", 0, 1), 1, 0);
}

Test(workrail_vectors, v_tk_n6_to_n10_refused_tokens_wr_112_wr_114, .init = kit_up,
     .fini = kit_down) {
    struct str t = kit_line("V-TK-4 token");
    struct wr_keyring rotated = ring(0, 1), k0 = ring(0, -1);
    struct str n6 = signed_with(t, kit_code("V-TK-N6", 0, 0).p);
    refused("V-TK-N6", n6, 1, 0);
    cr_expect_eq(refusal(&rotated, n6, WR_TOKEN_ACK), WR_FINE, "V-TK-N6 with previous = K1");
    refused("V-TK-N7", kit_code("V-TK-N7", 0, 0), 1, 0);
    const char *extra = "{\"attemptId\":\"attempt_1\",\"extra\":1," T_REST "\"tokenVersion\":1}";
    struct str n8 = signed_payload("ack", extra);
    cr_expect(str_ends(n8, kit_code("V-TK-N8", 0, 1)), "V-TK-N8 is signed otherwise: " STR_FMT,
              STR_ARG(n8));
    refused("V-TK-N8", n8, 1, 0);
    struct str n9 =
        signed_payload("ack", "{\"attemptId\":\"attempt_1\"," T_REST "\"tokenVersion\":2}");
    cr_expect(str_ends(n9, kit_code("V-TK-N9", 0, 1)), "V-TK-N9 is signed otherwise");
    refused("V-TK-N9", n9, 1, 0);
    cr_expect_eq(refusal(&k0, t, WR_TOKEN_STATE), WR_TOKEN_INVALID_FORMAT, "V-TK-N10");
}

Test(workrail_vectors, v_tk_n11_and_n14_scope_and_rotation_wr_112, .init = kit_up,
     .fini = kit_down) {
    struct wr_keyring k = ring(0, -1);
    struct wr_token state, ack;
    struct wr_fault f = {0};
    uint8_t key[WR_KEY_BYTES] = {7};
    struct str t = kit_line("V-TK-4 token");
    cr_assert_eq(wr_token_read(&k, kit_line("V-TK-6 token"), WR_TOKEN_STATE, "stateToken", kit_a,
                               &state, &f),
                 0);
    cr_assert_eq(
        wr_token_read(&k, kit_line("V-TK-2 token"), WR_TOKEN_ACK, "ackToken", kit_a, &ack, &f), 0);
    cr_expect_neq(wr_token_scope(&state, &ack, "ackToken", &f), 0);
    kit_same("V-TK-N11", str_c(wr_code_name(f.code)), kit_code("V-TK-N11", 1, 0));
    wr_keyring_rotate(&k, key);
    cr_expect_eq(refusal(&k, t, WR_TOKEN_ACK), WR_FINE, "after one rotation");
    key[0] = 8;
    wr_keyring_rotate(&k, key);
    kit_same("V-TK-N14", str_c(wr_code_name(refusal(&k, t, WR_TOKEN_ACK))),
             kit_code("V-TK-N14", 1, 0));
}

Test(workrail_vectors, keyrings_read_back_and_damage_is_named_wr_111_wr_113, .init = kit_up,
     .fini = kit_down) {
    struct wr_keyring k = ring(0, -1), back;
    struct wr_fault f = {0};
    struct buf b;
    buf_init(&b, 1024);
    wr_keyring_write(&k, &b);
    kit_same("V-JCS-13", buf_str(&b), kit_code("V-JCS-13", 1, 0));
    cr_assert_eq(wr_keyring_read(buf_str(&b), &back, &f), 0);
    cr_expect(!back.has_previous && memcmp(back.current, k.current, 32) == 0);
    k = ring(0, 1);
    buf_reset(&b);
    wr_keyring_write(&k, &b);
    cr_assert_eq(wr_keyring_read(buf_str(&b), &back, &f), 0);
    cr_expect(back.has_previous && memcmp(back.previous, k.previous, 32) == 0);
    static const char *const BAD[] = {
        "",
        "{}",
        "[]",
        "{\"current\":{\"alg\":\"hmac_sha512\",\"keyBase64Url\":"
        "\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\"},\"previous\":null,\"v\":1}",
        "{\"current\":{\"alg\":\"hmac_sha256\",\"keyBase64Url\":\"AAEC\"},\"previous\":null,\"v\":"
        "1}",
        "{\"current\":{\"alg\":\"hmac_sha256\",\"keyBase64Url\":"
        "\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\"},\"previous\":null,\"v\":2}"};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        cr_expect_neq(wr_keyring_read(str_c(BAD[i]), &back, &f), 0);
        cr_expect_eq(f.code, WR_KEYRING_CORRUPTION_DETECTED);
    }
    buf_fini(&b);
}

/* --- V-BL --- */

static struct wr_blocker blocker(int code, int kind, const char *text, int capability) {
    struct wr_blocker b = {.code = code, .message = STR("why")};
    b.pointer.kind = kind;
    b.pointer.text = str_c(text);
    b.pointer.capability = capability;
    return b;
}

Test(workrail_vectors, v_bl_1_to_2_order_and_bounds_of_blockers_wr_32, .init = kit_up,
     .fini = kit_down) {
    const struct wr_blocker sorted[] = {
        blocker(WR_B_INVALID_REQUIRED_OUTPUT, WR_P_CONTRACT, "wr.contracts.a", 0),
        blocker(WR_B_INVALID_REQUIRED_OUTPUT, WR_P_CONTRACT, "wr.contracts.b", 0),
        blocker(WR_B_INVARIANT_VIOLATION, WR_P_CONTEXT_BUDGET, NULL, 0),
        blocker(WR_B_MISSING_REQUIRED_OUTPUT, WR_P_CONTRACT, "wr.contracts.loop_control", 0),
        blocker(WR_B_REQUIRED_CAPABILITY_UNAVAILABLE, WR_P_CAPABILITY, NULL, WR_DELEGATION),
        blocker(WR_B_REQUIRED_CAPABILITY_UNKNOWN, WR_P_CAPABILITY, NULL, WR_WEB_BROWSING),
        blocker(WR_B_USER_ONLY_DEPENDENCY, WR_P_STEP, "phase-1", 0)};
    enum { NR = sizeof sorted / sizeof *sorted };
    struct wr_blocker v[11];
    struct wr_report r = {v, NR};
    struct wr_fault f = {0};
    for (size_t turn = 0; turn < NR; turn++) {
        for (size_t i = 0; i < NR; i++) v[i] = sorted[(i * 3 + turn) % NR];
        wr_report_sort(&r);
        for (size_t i = 0; i < NR; i++) cr_expect_eq(v[i].code, sorted[i].code, "V-BL-1");
        cr_expect(str_eqc(v[0].pointer.text, "wr.contracts.a"), "V-BL-1");
        cr_expect_eq(wr_report_check(&r, &f), 0, "%s", f.e.message);
    }
    r.nr = 0;
    cr_expect_neq(wr_report_check(&r, &f), 0, "V-BL-2: empty");
    for (size_t i = 0; i < 11; i++) v[i] = sorted[0];
    r.nr = 11;
    cr_expect_neq(wr_report_check(&r, &f), 0, "V-BL-2: 11");
    r.nr = 1;
    v[0].message = kit_repeat("m", 513, "");
    cr_expect_neq(wr_report_check(&r, &f), 0, "V-BL-2: 513 bytes");
    v[0] = blocker(WR_B_USER_ONLY_DEPENDENCY, WR_P_STEP, "Phase 1", 0);
    cr_expect_neq(wr_report_check(&r, &f), 0, "V-BL-2: stepId");
    v[0] = sorted[6];
    v[1] = sorted[0];
    r.nr = 2;
    cr_expect_neq(wr_report_check(&r, &f), 0, "unsorted");
}

Test(workrail_vectors, every_fault_has_a_name_among_tools_wr_232, .init = kit_up,
     .fini = kit_down) {
    for (int code = WR_FINE + 1; code < WR_CODES; code++) {
        enum wr_code shown = wr_code_shown((enum wr_code)code);
        cr_expect_eq(wr_code_shown(shown), shown, "%s", wr_code_name((enum wr_code)code));
        cr_expect(shown >= WR_VALIDATION_ERROR && shown <= WR_TOKEN_SESSION_LOCKED);
    }
}
