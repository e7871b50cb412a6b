/*
 * test_reducer_laws.c: the reducers against laws and a naive second implementation, over random
 * writes (20-runtime 5.4 to 5.6, its checks 13 and 14).  The seed is printed with each failure;
 * WOPR_TEST_SEED chooses another.
 */
#include "fold_world.h"

#include "base/mem.h"

#include <stdlib.h>

enum { CASES = 400, WRITES_MAX = 48 };

static uint64_t seed, state;

static uint64_t chance(void) { /* splitmix64 */
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
static unsigned below(unsigned n) { return (unsigned)(chance() % n); }

static void sow(unsigned nth) {
    const char *text = getenv("WOPR_TEST_SEED");
    seed = (text ? strtoull(text, NULL, 10) : 20261121u) + nth;
    state = seed;
}

/* --- counter --- */

static double wild_double(void) {
    union {
        uint64_t u;
        double d;
    } x;
    do x.u = chance();
    while ((x.u >> 52 & 0x7ff) > 0x7e0); /* no overflow of the sum, no NaN */
    return x.d;
}

static void wild_number(char out[64]) {
    switch (below(5)) {
    case 0:
        snprintf(out, 64, "%d", (int)below(2001) - 1000);
        break;
    case 1:
        snprintf(out, 64, "%lld", (long long)(int64_t)chance());
        break;
    case 2:
        snprintf(out, 64, "%.3f", (double)((int)below(2000001) - 1000000) / 1000);
        break;
    case 3:
        out[json_number_format(wild_double(), out)] = '\0';
        break;
    default:
        snprintf(out, 64, "%ue-%u", below(1000), below(330));
    }
}

static void sum_of(char v[][64], size_t n, char out[64]) {
    struct sum s;
    struct buf b;
    sum_clear(&s);
    buf_init(&b, 64);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(sum_add(&s, str_c(v[i])), 0, "%s (seed %llu)", v[i], (unsigned long long)seed);
    cr_assert_eq(sum_text(&s, &b), 0);
    snprintf(out, 64, STR_FMT, STR_ARG(buf_str(&b)));
    buf_fini(&b);
}

static void shuffle(char v[][64], size_t n) {
    for (size_t i = n; i > 1; i--) {
        char t[64];
        size_t k = below((unsigned)i);
        memcpy(t, v[i - 1], 64);
        memcpy(v[i - 1], v[k], 64);
        memcpy(v[k], t, 64);
    }
}

Test(reducer_laws, a_counter_does_not_depend_on_the_order_of_any_numbers /* CHAN-12, check 13 */) {
    char v[WRITES_MAX][64], first[64], again[64];
    for (unsigned c = 0; c < CASES; c++) {
        sow(c);
        size_t n = 1 + below(WRITES_MAX);
        for (size_t i = 0; i < n; i++) wild_number(v[i]);
        sum_of(v, n, first);
        for (int turn = 0; turn < 4; turn++) {
            shuffle(v, n);
            sum_of(v, n, again);
            cr_assert_str_eq(first, again, "seed %llu", (unsigned long long)seed);
        }
    }
}

Test(reducer_laws, what_is_added_and_taken_away_is_gone) {
    char v[2 * WRITES_MAX][64], out[64];
    for (unsigned c = 0; c < CASES; c++) {
        sow(c);
        size_t n = 1 + below(WRITES_MAX);
        for (size_t i = 0; i < n; i++) {
            wild_number(v[2 * i]);
            bool minus = v[2 * i][0] == '-';
            char same[64];
            memcpy(same, v[2 * i], sizeof same);
            snprintf(v[2 * i + 1], 64, "%s%.60s", minus ? "" : "-", same + (minus ? 1 : 0));
        }
        shuffle(v, 2 * n);
        sum_of(v, 2 * n, out);
        cr_assert_str_eq(out, "0", "seed %llu", (unsigned long long)seed);
    }
}

Test(reducer_laws, a_single_number_comes_back_as_it_is) {
    char v[1][64], out[64], want[64];
    for (unsigned c = 0; c < 20 * CASES; c++) {
        int64_t i;
        sow(c);
        double d = wild_double();
        v[0][json_number_format(d, v[0])] = '\0';
        sum_of(v, 1, out);
        want[json_number_format(d, want)] = '\0';
        if (json_int(str_c(want), &i)) snprintf(want, sizeof want, "%lld", (long long)i);
        cr_assert_str_eq(out, want, "seed %llu", (unsigned long long)seed);
    }
}

Test(reducer_laws, whole_sums_may_be_grouped_in_any_way /* 5.4: associative */) {
    char v[WRITES_MAX][64], all[64], parts[2][64], out[64];
    for (unsigned c = 0; c < CASES; c++) {
        int64_t sum = 0;
        sow(c);
        size_t n = 2 + below(WRITES_MAX - 2), cut = 1 + below((unsigned)n - 1);
        for (size_t i = 0; i < n; i++) {
            int64_t x = (int64_t)(chance() >> 8) - (INT64_C(1) << 55);
            sum += x;
            snprintf(v[i], 64, "%lld", (long long)x);
        }
        sum_of(v, n, all);
        cr_assert_eq(strtoll(all, NULL, 10), sum);
        sum_of(v, cut, parts[0]);
        sum_of(v + cut, n - cut, parts[1]);
        sum_of(parts, 2, out);
        cr_assert_str_eq(out, all, "seed %llu", (unsigned long long)seed);
    }
}

Test(reducer_laws, sums_beyond_their_types) {
    static const struct {
        const char *v[4];
        const char *want; /* NULL: larger than a double */
    } ROWS[] = {
        {{"9223372036854775807", "1", NULL}, "9223372036854776000"},
        {{"9223372036854775807", "1", "-2", NULL}, "9223372036854775806"},
        {{"-9223372036854775808", NULL}, "-9223372036854775808"},
        {{"-9223372036854775808", "-1", NULL}, "-9223372036854776000"},
        {{"1e308", "1e308", NULL}, NULL},
        {{"1e308", "1e308", "-1e308", NULL}, "1e+308"},
        {{"0.1", "0.2", NULL}, "0.30000000000000004"},
        {{"1e16", "1", "-1e16", NULL}, "1"}, /* plain doubles say 0 */
        {{"5e-324", "5e-324", NULL}, "1e-323"},
        {{"1", "1e-300", "-1", NULL}, "1e-300"},
        {{"0.5", "0.5", NULL}, "1"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        struct sum s;
        struct buf b;
        sum_clear(&s);
        buf_init(&b, 64);
        for (size_t k = 0; ROWS[i].v[k]; k++) cr_assert_eq(sum_add(&s, str_c(ROWS[i].v[k])), 0);
        int rc = sum_text(&s, &b);
        cr_expect_eq(rc, ROWS[i].want ? 0 : WOPR_E_VALIDATION, "row %zu", i);
        if (rc == 0) cr_expect(str_eqc(buf_str(&b), ROWS[i].want), "row %zu: %s", i, b.p);
        buf_fini(&b);
    }
    struct sum s;
    sum_clear(&s);
    cr_expect_eq(sum_add(&s, STR("\"1\"")), WOPR_E_VALIDATION);
    cr_expect_eq(sum_add(&s, STR("null")), WOPR_E_VALIDATION);
    cr_assert_eq(sum_add(&s, STR("-10")), 0);
    cr_expect(sum_within(&s, 10) && !sum_within(&s, 9));
    cr_assert_eq(sum_add(&s, STR("-0.001")), 0);
    cr_expect(!sum_within(&s, 10) && sum_within(&s, 11));
}

/* --- merge --- */

static void wild_object(struct buf *b, unsigned keys) {
    bool used[64] = {false};
    unsigned n = below(keys + 1);
    buf_reset(b);
    buf_addc(b, '{');
    for (unsigned i = 0, k; i < n; i++) {
        if (used[k = below(64)]) continue;
        used[k] = true;
        buf_addf(b, "%s\"k%u\":%u", b->len > 1 ? "," : "", k, below(1000));
    }
    buf_addc(b, '}');
}

/* Appends merge(old, x) to out, by reducer_merge. */
static size_t merged(struct str old, struct str x, struct buf *out) {
    size_t keys;
    struct arena *a = arena_new(1u << 20);
    buf_reset(out);
    cr_assert_eq(reducer_merge(old, x, a, out, &keys), 0);
    arena_free(a);
    return keys;
}

Test(reducer_laws, merge_is_associative_and_idempotent /* 5.4 */) {
    struct buf x[3], left, right, tmp;
    for (int i = 0; i < 3; i++) buf_init(&x[i], 1u << 16);
    buf_init(&left, 1u << 16);
    buf_init(&right, 1u << 16);
    buf_init(&tmp, 1u << 16);
    for (unsigned c = 0; c < CASES; c++) {
        sow(c);
        for (int i = 0; i < 3; i++) wild_object(&x[i], 1 + below(60)); /* with and without index */
        merged(buf_str(&x[0]), buf_str(&x[1]), &tmp);
        merged(buf_str(&tmp), buf_str(&x[2]), &left);
        merged(buf_str(&x[1]), buf_str(&x[2]), &tmp);
        merged(buf_str(&x[0]), buf_str(&tmp), &right);
        cr_assert_str_eq(left.p, right.p, "seed %llu", (unsigned long long)seed);
        size_t keys = merged(buf_str(&left), buf_str(&x[2]), &tmp);
        cr_assert_str_eq(left.p, tmp.p, "seed %llu", (unsigned long long)seed);
        size_t commas = 0;
        for (size_t i = 0; i < tmp.len; i++) commas += tmp.p[i] == ':';
        cr_assert_eq(keys, commas);
        merged(STR_NONE, buf_str(&x[0]), &tmp); /* {} is neutral */
        cr_assert_str_eq(tmp.p, x[0].p);
    }
    for (int i = 0; i < 3; i++) buf_fini(&x[i]);
    buf_fini(&left);
    buf_fini(&right);
    buf_fini(&tmp);
}

Test(reducer_laws, merge_is_shallow /* 5.4 */) {
    struct buf b;
    buf_init(&b, 1024);
    merged(STR("{\"a\":{\"x\":1,\"y\":[1]},\"b\":2}"), STR("{\"a\":{\"y\":[2]}}"), &b);
    cr_expect_str_eq(b.p, "{\"a\":{\"y\":[2]},\"b\":2}");
    buf_fini(&b);
}

/* --- lists: the fold against a naive model --- */

struct model_entry {
    int64_t ts;
    int who;
    char text[64];
};
struct model {
    enum reducer r;
    int64_t ttl;
    size_t max, n;
    struct model_entry v[WRITES_MAX];
};

static void model_drop(struct model *m, size_t at) {
    memmove(m->v + at, m->v + at + 1, (m->n - at - 1) * sizeof m->v[0]);
    m->n--;
}

static void model_write(struct model *m, int64_t ts, int who, const char *text) {
    for (size_t i = m->n; m->ttl > 0 && i-- > 0;)
        if (ts - m->v[i].ts > m->ttl) model_drop(m, i);
    for (size_t i = m->n; who >= 0 && i-- > 0;) {
        if (m->v[i].who != who) continue;
        if (m->r == RED_MESSAGE) return;
        model_drop(m, i);
    }
    m->v[m->n] = (struct model_entry){.ts = ts, .who = who};
    snprintf(m->v[m->n++].text, sizeof m->v[0].text, "%s", text);
    while (m->max > 0 && m->n > m->max) model_drop(m, 0);
}

static void model_expect(const struct model *m, struct fold_world *w) {
    char want[4096] = "[";
    for (size_t i = 0; i < m->n; i++)
        snprintf(want + strlen(want), sizeof want - strlen(want), "%s%s", i ? "," : "",
                 m->v[i].text);
    snprintf(want + strlen(want), sizeof want - strlen(want), "]");
    const char *have = fw_chan(w, "c", 0);
    cr_assert_str_eq(have, want, "seed %llu", (unsigned long long)seed);
}

static void list_world(struct fold_world *w, const struct model *m) {
    char def[1024], max[48] = "", ttl[48] = "";
    if (m->max > 0) snprintf(max, sizeof max, ",\"maxSize\":%zu", m->max);
    if (m->ttl > 0) snprintf(ttl, sizeof ttl, ",\"ttlMs\":%d", (int)m->ttl);
    snprintf(def, sizeof def,
             "{\"id\":\"p\",\"name\":\"p\",\"version\":\"1\",\"nodes\":[{\"id\":\"a\",\"typeId\":"
             "\"core.noop\",\"name\":\"a\",\"position\":{\"x\":0,\"y\":0},\"config\":{},"
             "\"inputs\":{}}],\"edges\":[],\"triggers\":[],\"variables\":[],\"channels\":{\"c\":{"
             "\"reducer\":\"%s\"%s%s}},\"metadata\":{},\"settings\":{}}",
             reducer_name(m->r), max, ttl);
    fw_up(w, def, "{}");
    fw_start(w);
}

static void list_value(enum reducer r, int who, unsigned nth, char out[64]) {
    static const char *const VOTER[] = {"userId", "voter", "decidedBy"};
    if (r == RED_MESSAGE)
        snprintf(out, 64, "{\"messageId\":\"%s%d\",\"n\":%u}", nth % 2 ? "\\u006d" : "m", who, nth);
    else if (r == RED_VOTES)
        snprintf(out, 64, "{\"%s\":\"v%d\",\"n\":%u}", VOTER[nth % 3], who, nth);
    else snprintf(out, 64, "{\"n\":%u}", nth);
}

/* One random log; with every write the model, the bounds, and that the check foresaw it. */
static void list_case(struct model *m) {
    static const enum reducer LISTS[] = {RED_APPEND, RED_VOTES, RED_FEEDBACK, RED_MESSAGE};
    struct fold_world w, again;
    char values[WRITES_MAX][96];
    int64_t at[WRITES_MAX];
    *m = (struct model){.r = LISTS[below(4)]};
    if (below(2)) m->max = 1 + below(8);
    if (below(2)) m->ttl = 1 + below(60);
    list_world(&w, m);
    size_t writes = 1 + below(WRITES_MAX - 1);
    bool identity = m->r == RED_VOTES || m->r == RED_MESSAGE;
    for (unsigned i = 0; i < writes; i++) {
        char value[64];
        int who = identity ? (int)below(6) : -1;
        list_value(m->r, who, i, value);
        w.now_ms += below(40);
        at[i] = w.now_ms;
        cr_assert_eq(chan_write_check(w.s, STR("c"), m->r, str_c(value), NULL), 0);
        snprintf(values[i], sizeof values[i], "%s", value);
        char payload[256];
        snprintf(payload, sizeof payload, "{\"channel\":\"c\",\"value\":%s,\"reducer\":\"%s\"}",
                 value, reducer_name(m->r));
        fw_take(&w, EV_CHANNEL_WRITTEN, "", payload);
        model_write(m, w.now_ms, who, value);
        model_expect(m, &w);
        cr_assert(m->max == 0 || run_state_chan(w.s, STR("c"))->n <= m->max);
    }
    list_world(&again, m); /* folded at another time of day: the same (CHAN-17) */
    for (unsigned i = 0; i < writes; i++) {
        char payload[256];
        again.now_ms = at[i];
        snprintf(payload, sizeof payload, "{\"channel\":\"c\",\"value\":%s,\"reducer\":\"%s\"}",
                 values[i], reducer_name(m->r));
        fw_take(&again, EV_CHANNEL_WRITTEN, "", payload);
    }
    char *x = fw_text(w.s), *y = fw_text(again.s);
    cr_assert_str_eq(x, y, "seed %llu", (unsigned long long)seed);
    mem_free(x);
    mem_free(y);
    fw_down(&again);
    fw_down(&w);
}

Test(reducer_laws, lists_are_what_a_naive_model_says /* CHAN-11, CHAN-14..17 */) {
    struct model m;
    for (unsigned c = 0; c < CASES; c++) {
        sow(c);
        list_case(&m);
    }
}

Test(reducer_laws, messages_said_twice_change_nothing /* 5.4: idempotent */) {
    for (unsigned c = 0; c < CASES / 4; c++) {
        struct model m = {.r = RED_MESSAGE};
        struct fold_world w;
        char log[WRITES_MAX][64];
        sow(c);
        unsigned n = 1 + below(WRITES_MAX - 1);
        list_world(&w, &m);
        char *once = NULL;
        for (int turn = 0; turn < 2; turn++) {
            for (unsigned i = 0; i < n; i++) {
                char payload[4096];
                if (turn == 0) list_value(RED_MESSAGE, (int)below(9), i, log[i]);
                snprintf(payload, sizeof payload,
                         "{\"channel\":\"c\",\"value\":%s,\"reducer\":\"message\"}", log[i]);
                fw_take(&w, EV_CHANNEL_WRITTEN, "", payload);
            }
            const char *now = fw_chan(&w, "c", 0);
            if (turn == 0) once = mem_strndup(now, strlen(now));
            else cr_assert_str_eq(once, now, "seed %llu", (unsigned long long)seed);
        }
        mem_free(once);
        fw_down(&w);
    }
}

/* --- what may be written --- */

Test(reducer_laws, each_reducer_says_what_it_takes /* 5.4, CHAN-12 */) {
    static const char *const X[] = {"1",
                                    "\"s\"",
                                    "[]",
                                    "{}",
                                    "null",
                                    "{\"userId\":\"u\"}",
                                    "{\"messageId\":\"m\"}",
                                    "{\"messageId\":\"\"}",
                                    "{\"messageId\":7}"};
    static const char TAKES[RED_NR][10] = {
        /*                1sa{0umeN */
        [RED_REPLACE] = "yyyyyyyyy", [RED_APPEND] = "yyyyyyyyy", [RED_MERGE] = "nnnynyyyy",
        [RED_COUNTER] = "ynnnnnnnn", [RED_VOTES] = "nnnnnynnn",  [RED_FEEDBACK] = "nnnynyyyy",
        [RED_MESSAGE] = "nnnnnnynn", [RED_VENDOR] = "yyyyyyyyy",
    };
    for (int r = 0; r < RED_NR; r++)
        for (size_t i = 0; i < sizeof X / sizeof X[0]; i++)
            cr_expect_eq(reducer_refuses((enum reducer)r, str_c(X[i])) == NULL, TAKES[r][i] == 'y',
                         "%s %s", reducer_name((enum reducer)r), X[i]);
}

Test(reducer_laws, the_id_of_a_message_has_256_characters /* MSG-1 */) {
    static const char *const ONE[] = {"a", "\\n", "\xc3\xa4", "\\u00e4", "\\ud83d\\ude00"};
    for (size_t k = 0; k < sizeof ONE / sizeof *ONE; k++)
        for (unsigned n = 256; n <= 257; n++) {
            struct buf b;
            buf_init(&b, 8192);
            buf_addz(&b, "{\"messageId\":\"");
            for (unsigned i = 0; i < n; i++) buf_addz(&b, ONE[k]);
            buf_addz(&b, "\"}");
            cr_expect_eq(reducer_refuses(RED_MESSAGE, buf_str(&b)) == NULL, n == 256, "%u of %s", n,
                         ONE[k]);
            buf_fini(&b);
        }
}

Test(reducer_laws, what_may_cross_engines /* CHAN-19 */) {
    static const bool CROSSES[RED_NR] = {[RED_APPEND] = true,
                                         [RED_COUNTER] = true,
                                         [RED_VOTES] = true,
                                         [RED_FEEDBACK] = true,
                                         [RED_MESSAGE] = true};
    for (int r = 0; r < RED_NR; r++)
        cr_expect_eq(reducer_crosses((enum reducer)r), CROSSES[r], "%d", r);
}

/* A write that passes the check leaves the channel within its bound (CHAN-13). */
Test(reducer_laws, what_is_checked_stays_within_max_size /* CHAN-13 */) {
    for (unsigned c = 0; c < CASES; c++) {
        static const enum reducer VALUES[] = {RED_COUNTER, RED_MERGE, RED_REPLACE};
        struct fold_world w;
        struct buf b;
        sow(c);
        struct model m = {.r = VALUES[below(3)], .max = 1 + below(8)};
        list_world(&w, &m);
        buf_init(&b, 4096);
        for (unsigned i = 0; i < 12; i++) {
            char number[64];
            struct wopr_error err = {0};
            wild_object(&b, 6);
            wild_number(number);
            if (m.r == RED_COUNTER) snprintf(number, sizeof number, "%d", (int)below(9) - 4);
            struct str x = m.r == RED_COUNTER ? str_c(number) : buf_str(&b);
            int rc = chan_write_check(w.s, STR("c"), m.r, x, &err);
            cr_assert(rc == 0 || rc == WOPR_E_VALIDATION);
            if (rc != 0) continue;
            char payload[4400];
            snprintf(payload, sizeof payload,
                     "{\"channel\":\"c\",\"value\":%.*s,\"reducer\":\"%s\"}", (int)x.n, x.p,
                     reducer_name(m.r));
            fw_take(&w, EV_CHANNEL_WRITTEN, "", payload);
            const char *have = fw_chan(&w, "c", 0);
            size_t members = 0;
            for (const char *p = have; *p; p++) members += *p == ':';
            if (m.r == RED_COUNTER) members = (size_t)labs(strtol(have, NULL, 10));
            cr_assert_leq(members, m.max, "seed %llu: %s", (unsigned long long)seed, have);
        }
        buf_fini(&b);
        fw_down(&w);
    }
}
