/* Channels: 20-runtime 5.4 to 5.6 as properties (checks 13 and 14 of its section 14). */
#include "fold_world.h"

#include "base/mem.h"

static struct fold_world w;

static void started(void) {
    fw_up(&w, FW_PARALLEL, "{}");
    fw_start(&w);
}
static void world_down(void) { fw_down(&w); }

TestSuite(reducer, .init = started, .fini = world_down);

static void put(const char *channel, const char *reducer, const char *value) {
    char payload[512];
    snprintf(payload, sizeof payload, "{\"channel\":\"%s\",\"value\":%s,\"reducer\":\"%s\"}",
             channel, value, reducer);
    fw_take(&w, EV_CHANNEL_WRITTEN, "", payload);
}

static void expect(const char *channel, const char *want) {
    const char *have = fw_chan(&w, channel, 0);
    cr_assert_not_null(have, "%s", channel);
    cr_expect_str_eq(have, want, "%s is %s", channel, have);
}

Test(reducer, the_empty_states /* 5.4 */) {
    expect("log", "[]");
    expect("votes", "[]");
    expect("chat", "[]");
    expect("sum", "0");
    expect("doc", "{}");
    expect("state", "{\"v\":0}");
}

Test(reducer, replace_keeps_the_last_and_append_all /* CHAN-14, CHAN-15 */) {
    put("state", "replace", "1");
    put("state", "replace", "[2 ]");
    expect("state", "[2 ]"); /* caller text is not reformatted (D32) */
    for (int i = 0; i < 50; i++) put("log", "append", i % 2 ? "1" : "\"x\"");
    cr_expect_eq(run_state_chan(w.s, STR("log"))->n, 50);
}

Test(reducer, merge_is_shallow_and_keeps_the_order_of_keys) {
    put("doc", "merge", "{\"a\":1,\"b\":{\"x\":1}}");
    put("doc", "merge", "{\"c\":3,\"b\":{\"y\":2}}");
    expect("doc", "{\"a\":1,\"b\":{\"y\":2},\"c\":3}");
    put("doc", "merge", "{\"\\u0061\":null}"); /* the same key in another spelling */
    expect("doc", "{\"a\":null,\"b\":{\"y\":2},\"c\":3}");
}

Test(reducer, counter_is_exact_and_negative_numbers_count /* CHAN-12 */) {
    put("sum", "counter", "9007199254740993");
    put("sum", "counter", "-1");
    expect("sum", "9007199254740992");
    put("sum", "counter", "1.0");
    expect("sum", "9007199254740993");
    put("sum", "counter", "9223372036854775807"); /* beyond 64 bits it is a double */
    expect("sum", "9232379236109517000");
}

Test(reducer, counter_does_not_depend_on_the_order /* check 13 */) {
    static const char *const X[] = {"5", "-3", "0.5", "1000000007", "-0.25"};
    char first[64] = "";
    for (int turn = 0; turn < 5; turn++) {
        fw_down(&w);
        started();
        for (int i = 0; i < 5; i++) put("sum", "counter", X[(i * 2 + turn) % 5]);
        const char *have = fw_chan(&w, "sum", 0);
        if (turn == 0) snprintf(first, sizeof first, "%s", have);
        cr_expect_str_eq(have, first);
    }
    cr_expect_str_eq(first, "1000000009.25");
}

Test(reducer, votes_are_one_per_voter_latest_last /* CHAN-11 */) {
    put("votes", "votes", "{\"userId\":\"u\",\"action\":\"accept\"}");
    put("votes", "votes", "{\"voter\":\"v\",\"vote\":1}");
    put("votes", "votes", "{\"decidedBy\":\"d\"}");
    put("votes", "votes", "{\"voter\":\"\\u0075\",\"vote\":2}"); /* the same voter as userId u */
    expect("votes", "[{\"voter\":\"v\",\"vote\":1},{\"decidedBy\":\"d\"},"
                    "{\"voter\":\"\\u0075\",\"vote\":2}]");
    for (int i = 0; i < 20; i++)
        put("votes", "votes", i % 2 ? "{\"userId\":\"u\"}" : "{\"userId\":\"v\"}");
    cr_expect_eq(run_state_chan(w.s, STR("votes"))->n, 3);
    put("votes", "votes", "{\"vote\":1}"); /* nobody's votes are all kept */
    put("votes", "votes", "{\"vote\":1}");
    cr_expect_eq(run_state_chan(w.s, STR("votes"))->n, 5);
}

Test(reducer, a_message_is_taken_once_and_the_first_wins /* 5.4 */) {
    put("chat", "message", "{\"messageId\":\"m1\",\"content\":\"one\"}");
    put("chat", "message", "{\"messageId\":\"m2\",\"content\":\"two\"}");
    put("chat", "message", "{\"messageId\":\"m1\",\"content\":\"again\"}");
    expect("chat", "[{\"messageId\":\"m1\",\"content\":\"one\"},"
                   "{\"messageId\":\"m2\",\"content\":\"two\"}]");
}

Test(reducer, max_size_drops_the_oldest /* 5.4 */) {
    for (int i = 0; i < 10; i++) {
        char v[16];
        snprintf(v, sizeof v, "%d", i);
        put("last3", "append", v);
        cr_expect_leq(run_state_chan(w.s, STR("last3"))->n, 3);
    }
    expect("last3", "[7,8,9]");
}

Test(reducer, entries_expire_by_the_times_of_events /* CHAN-16, CHAN-17 */) {
    put("young", "append", "1");
    int64_t first = w.now_ms;
    w.now_ms += 98;
    put("young", "append", "2"); /* the first is 99 ms old */
    w.now_ms = first + 99;
    put("young", "append", "3"); /* exactly the TTL: still there */
    expect("young", "[1,2,3]");
    put("young", "append", "4");
    expect("young", "[2,3,4]");
}

Test(reducer, a_read_may_filter_without_changing_the_fold /* CHAN-17, check 14 */) {
    put("young", "append", "1");
    cr_expect_str_eq(fw_chan(&w, "young", w.now_ms + 100), "[1]");
    cr_expect_str_eq(fw_chan(&w, "young", w.now_ms + 101), "[]");
    cr_expect_str_eq(fw_chan(&w, "young", 0), "[1]");
}

Test(reducer, an_undeclared_channel_keeps_value_and_time /* CHAN-27, CHAN-28, NODE-58 */) {
    char want[128];
    const char *write = "{\"channel\":\"events\",\"value\":\"a\",\"reducer\":\"append\"}";
    fw_take(&w, EV_CHANNEL_WRITTEN, "t", write);
    w.now_ms += 300;
    fw_take(&w, EV_CHANNEL_WRITTEN, "t", write);
    snprintf(want, sizeof want, "[{\"value\":\"a\",\"_ts\":%lld}]", (long long)w.now_ms);
    expect("events", want);
    cr_expect_null(run_state_chan(w.s, STR("events"))->decl);
    put("total", "counter", "2");
    put("total", "counter", "3");
    snprintf(want, sizeof want, "{\"value\":5,\"_ts\":%lld}", (long long)w.now_ms);
    expect("total", want);
}

Test(reducer, the_reducer_of_the_event_is_in_force /* CHAN-9, CHAN-10 */) {
    put("log", "append", "1");
    put("log", "counter", "2");
    expect("log", "2");
    put("log", "append", "3");
    expect("log", "[3]");
    put("state", "vendor.acme.last", "7");
    expect("state", "7");
    cr_expect_eq(reducer_of(STR("message")), RED_MESSAGE);
    cr_expect_eq(reducer_of(STR("unheard")), RED_VENDOR);
}

Test(reducer, a_masked_write_is_shown_as_it_is /* CHAN-24 */) {
    put("hidden", "counter", "\"[REDACTED]\"");
    put("hidden", "counter", "\"[REDACTED]\"");
    expect("hidden", "\"[REDACTED]\"");
    put("hidden", "counter", "3");
    expect("hidden", "3");
}

Test(reducer, a_write_is_checked_before_it_is_planned /* CHAN-4, 12, 13 */) {
    static const struct {
        const char *channel, *value;
        enum reducer r;
        int want;
    } ROWS[] = {
        {"doc", "1", RED_MERGE, WOPR_E_VALIDATION},
        {"doc", "{\"a\":1,\"b\":2,\"c\":3}", RED_MERGE, 0},
        {"doc", "{\"a\":1,\"b\":2,\"c\":3,\"d\":4}", RED_MERGE, WOPR_E_VALIDATION},
        {"sum", "\"1\"", RED_COUNTER, WOPR_E_VALIDATION},
        {"sum", "1e308", RED_COUNTER, 0},
        {"small", "10", RED_COUNTER, 0},
        {"small", "-11", RED_COUNTER, WOPR_E_VALIDATION},
        {"typed", "1", RED_APPEND, 0},
        {"typed", "\"1\"", RED_APPEND, WOPR_E_VALIDATION},
        {"chat", "{\"messageId\":\"m\"}", RED_MESSAGE, 0},
        {"nobody", "1", RED_APPEND, 0},
        {"nobody", "[]", RED_COUNTER, WOPR_E_VALIDATION},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        struct wopr_error err = {0};
        cr_expect_eq(
            chan_write_check(w.s, str_c(ROWS[i].channel), ROWS[i].r, str_c(ROWS[i].value), &err),
            ROWS[i].want, "%s %s: %s", ROWS[i].channel, ROWS[i].value, err.message);
    }
    put("small", "counter", "8");
    cr_expect_eq(chan_write_check(w.s, STR("small"), RED_COUNTER, STR("3"), NULL),
                 WOPR_E_VALIDATION);
    put("sum", "counter", "1e308");
    cr_expect_eq(chan_write_check(w.s, STR("sum"), RED_COUNTER, STR("1e308"), NULL),
                 WOPR_E_VALIDATION);
}

Test(reducer, votes_replace_what_another_reducer_wrote /* CHAN-9, CHAN-11 */) {
    put("votes", "append", "{\"userId\":\"u\",\"n\":1}");
    put("votes", "append", "{\"userId\":\"u\",\"n\":2}");
    put("votes", "append", "{\"userId\":\"v\"}");
    put("votes", "votes", "{\"userId\":\"u\",\"n\":3}");
    expect("votes", "[{\"userId\":\"v\"},{\"userId\":\"u\",\"n\":3}]");
    put("chat", "append", "{\"messageId\":\"m\"}");
    put("chat", "message", "{\"messageId\":\"m\",\"n\":2}");
    expect("chat", "[{\"messageId\":\"m\"}]");
}
