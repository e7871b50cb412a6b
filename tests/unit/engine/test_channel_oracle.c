/*
 * test_channel_oracle.c: random runs that write, read and let grow old channels of every reducer
 * with maxSize, ttlMs and default, against a small fold of the test's own (CHAN-3, 10 to 17), and
 * replays of each.  WOPR_TEST_SEED chooses another seed, WOPR_TEST_ROUNDS more runs.
 */
#include "engine_world.h"
#include "fork_kit.h"

#include "codec/json.h"
#include "support/sampled.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static void up(void) {
    W.cfg.limits = RUN_LIMITS_DEFAULT;
    W.cfg.limits.max_node_executions = 1000;
    world_virtual_time();
    world_up();
}
TestSuite(channel_oracle, .init = up, .fini = world_down, .timeout = 600);

#define SEED_DEFAULT   330
#define ROUNDS_DEFAULT 40
#define CHANNELS_NR    4
#define STEPS_MAX      14
#define ENTRIES_MAX    64

static uint64_t SEED;
static uint64_t below(uint64_t n) {
    SEED = SEED * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (SEED >> 33) % n;
}

enum kind { APPEND, REPLACE, MERGE, COUNTER, VOTES, FEEDBACK, MESSAGE, VENDOR, KIND_NR };
static const char *const NAMES[KIND_NR] = {"append", "replace",  "merge",   "counter",
                                           "votes",  "feedback", "message", "vendor.acme.x"};

struct entry {
    char text[160];
    int who;       /* voter or message */
    int64_t at_ms; /* time of its event */
};
/* The rules of 20-runtime 5.4 once more, as plainly as they are written there. */
struct model {
    enum kind kind;
    int64_t max, ttl_ms; /* 0 = none */
    bool has_default;
    struct entry v[ENTRIES_MAX];
    size_t n;
    int64_t sum4;       /* COUNTER: exact, in quarters */
    int key[4];         /* MERGE: value of "k0".."k3" */
    int order[4], keys; /* MERGE: in the order they came */
    bool written;
};
struct action { /* one node */
    enum { WRITE, READ, WAIT } what;
    int chan, arg, who;
    int64_t quarters; /* COUNTER */
    char value[160];
};
static struct model M[CHANNELS_NR];
static struct action A[STEPS_MAX];
static size_t steps_nr;

static bool is_list(enum kind k) {
    return k == APPEND || k == VOTES || k == FEEDBACK || k == MESSAGE;
}

/* --- the test's own fold --- */

static void model_drop(struct model *m, size_t at) {
    memmove(&m->v[at], &m->v[at + 1], (m->n - at - 1) * sizeof m->v[0]);
    m->n--;
}

static void list_write(struct model *m, const struct action *a, int64_t now_ms) {
    while (m->ttl_ms > 0 && m->n > 0 && m->v[0].at_ms < now_ms - m->ttl_ms) model_drop(m, 0);
    for (size_t i = 0; i < m->n; i++) {
        if (m->v[i].who != a->who) continue;
        if (m->kind == MESSAGE) return;
        if (m->kind == VOTES) model_drop(m, i--);
    }
    cr_assert_lt(m->n, (size_t)ENTRIES_MAX);
    struct entry *e = &m->v[m->n++];
    snprintf(e->text, sizeof e->text, "%s", a->value);
    e->who = a->who;
    e->at_ms = now_ms;
    if (m->max > 0 && (int64_t)m->n > m->max) model_drop(m, 0);
}

/* false: the write is refused, and its node fails (CHAN-13). */
static bool model_write(struct model *m, const struct action *a, int64_t now_ms) {
    int64_t size = 0;
    if (is_list(m->kind)) {
        list_write(m, a, now_ms);
        return true;
    }
    if (m->kind == COUNTER) {
        if (m->max > 0 && llabs(m->sum4 + a->quarters) > 4 * m->max) return false;
        m->sum4 += a->quarters;
    } else if (m->kind == MERGE) {
        bool there = false;
        for (int i = 0; i < m->keys; i++) there = there || m->order[i] == a->who;
        if (m->max > 0 && m->keys + !there > m->max) return false;
        if (!there) m->order[m->keys++] = a->who;
        m->key[a->who] = a->arg;
    } else {
        size = a->who + 1; /* members of the array that replace writes */
        if (m->max > 0 && m->kind == REPLACE && size > m->max) return false;
        if (m->max > 0 && m->kind == VENDOR && size > m->max) return false;
        snprintf(m->v[0].text, sizeof m->v[0].text, "%s", a->value);
        m->n = 1;
    }
    m->written = true;
    return true;
}

/* What a read at now_ms shows; "" for nothing. */
static void model_show(const struct model *m, int64_t now_ms, char *out, size_t size) {
    size_t at = 0;
    out[0] = '\0';
    if (is_list(m->kind)) {
        at += (size_t)snprintf(out, size, "[");
        bool first = true;
        for (size_t i = 0; i < m->n; i++) {
            if (m->ttl_ms > 0 && m->v[i].at_ms < now_ms - m->ttl_ms) continue;
            at += (size_t)snprintf(out + at, size - at, "%s%s", first ? "" : ",", m->v[i].text);
            first = false;
        }
        snprintf(out + at, size - at, "]");
    } else if (m->kind == COUNTER) {
        char text[32];
        text[json_number_format((double)((long double)m->sum4 / 4), text)] = '\0';
        if (m->sum4 % 4 == 0) snprintf(out, size, "%lld", (long long)(m->sum4 / 4));
        else snprintf(out, size, "%s", text);
    } else if (m->kind == MERGE) {
        at += (size_t)snprintf(out, size, "{");
        for (int i = 0; i < m->keys; i++)
            at += (size_t)snprintf(out + at, size - at, "%s\"k%d\":%d", i ? "," : "", m->order[i],
                                   m->key[m->order[i]]);
        snprintf(out + at, size - at, "}");
    } else if (m->n > 0) {
        snprintf(out, size, "%s", m->v[0].text);
    } else if (m->has_default) {
        snprintf(out, size, "\"given\"");
    }
}

/* --- random runs --- */

static void value_of(struct action *a, enum kind k) {
    a->who = (int)below(3);
    a->arg = (int)below(9) - 4;
    switch (k) {
    case VOTES:
        snprintf(a->value, sizeof a->value,
                 "{\"userId\":\"u%d\",\"action\":\"accept\",\"timestamp\":\"t%d\"}", a->who,
                 a->arg);
        break;
    case FEEDBACK:
        a->who = -1;
        snprintf(a->value, sizeof a->value,
                 "{\"feedback\":\"f%d\",\"timestamp\":\"t\",\"iteration\":1}", a->arg);
        break;
    case MESSAGE:
        snprintf(
            a->value, sizeof a->value,
            "{\"messageId\":\"m%d\",\"role\":\"user\",\"content\":\"c%d\",\"timestamp\":\"t\"}",
            a->who, a->arg);
        break;
    case COUNTER:
        a->quarters = below(3) ? 4 * a->arg : a->arg; /* and numbers that no double holds */
        if (below(4) == 0) a->quarters = (below(2) ? 4 : -4) * INT64_C(9007199254740993);
        if (a->quarters % 4 == 0)
            snprintf(a->value, sizeof a->value, "%lld", (long long)(a->quarters / 4));
        else snprintf(a->value, sizeof a->value, "%.2f", (double)a->quarters / 4);
        break;
    case MERGE:
        snprintf(a->value, sizeof a->value, "{\"k%d\":%d}", a->who, a->arg);
        break;
    case REPLACE:
    case VENDOR:
        snprintf(a->value, sizeof a->value, "[%d%s%s]", a->arg, a->who > 0 ? ",1" : "",
                 a->who > 1 ? ",2" : "");
        break;
    default:
        a->who = -1;
        snprintf(a->value, sizeof a->value, "%d", a->arg);
    }
}

static void plan_case(void) {
    memset(M, 0, sizeof M);
    for (int i = 0; i < CHANNELS_NR; i++) {
        M[i].kind = (enum kind)below(KIND_NR);
        M[i].max = below(2) ? 1 + (int64_t)below(3) : 0;
        M[i].ttl_ms = is_list(M[i].kind) && below(2) ? 1000 * (1 + (int64_t)below(4)) : 0;
        M[i].has_default = below(2);
    }
    steps_nr = 4 + below(STEPS_MAX - 3);
    for (size_t i = 0; i < steps_nr; i++) {
        struct action *a = &A[i];
        uint64_t dice = below(8);
        *a = (struct action){.what = dice < 5   ? WRITE
                                     : dice < 7 ? READ
                                                : WAIT,
                             .chan = (int)below(CHANNELS_NR)};
        if (a->what == WRITE) value_of(a, M[a->chan].kind);
        if (a->what == WAIT) a->arg = 500 * (1 + (int)below(6));
    }
}

static void node_render(struct buf *b, size_t i) {
    const struct action *a = &A[i];
    buf_addf(b, "%s{\"id\":\"n%zu\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},", i ? "," : "",
             i);
    if (a->what == WRITE)
        buf_addf(
            b,
            "\"typeId\":\"core.channelWrite\",\"config\":{\"channelName\":\"c%d\",\"value\":%s},"
            "\"inputs\":{}}",
            a->chan, a->value);
    else if (a->what == WAIT)
        buf_addf(b, "\"typeId\":\"core.delay\",\"config\":{\"ms\":%d},\"inputs\":{}}", a->arg);
    else
        buf_addf(b,
                 "\"typeId\":\"core.identity\",\"config\":{},\"inputs\":{\"x\":{\"type\":"
                 "\"expression\",\"expression\":\"channels.c%d\"}}}",
                 a->chan);
}

/* A chain; what fails lets the next one go on. */
static struct str definition(void) {
    struct buf b;
    buf_init(&b, 1u << 20);
    buf_addz(&b, "{\"id\":\"w\",\"name\":\"w\",\"version\":\"1\",\"triggers\":[],\"metadata\":{},"
                 "\"settings\":{},\"variables\":[],\"nodes\":[");
    for (size_t i = 0; i < steps_nr; i++) node_render(&b, i);
    buf_addz(&b, "],\"edges\":[");
    for (size_t i = 0; i + 1 < steps_nr; i++)
        buf_addf(&b,
                 "%s{\"id\":\"e%zu\",\"sourceNodeId\":\"n%zu\",\"targetNodeId\":\"n%zu\","
                 "\"triggerRule\":\"all_complete\"}",
                 i ? "," : "", i, i, i + 1);
    buf_addz(&b, "],\"channels\":{");
    for (int i = 0; i < CHANNELS_NR; i++) {
        buf_addf(&b, "%s\"c%d\":{\"reducer\":\"%s\"", i ? "," : "", i, NAMES[M[i].kind]);
        if (M[i].max > 0) buf_addf(&b, ",\"maxSize\":%lld", (long long)M[i].max);
        if (M[i].ttl_ms > 0) buf_addf(&b, ",\"ttlMs\":%lld", (long long)M[i].ttl_ms);
        if (M[i].has_default) buf_addz(&b, ",\"default\":\"given\"");
        buf_addc(&b, '}');
    }
    buf_addz(&b, "}}");
    cr_assert(!buf_failed(&b));
    struct str text = arena_str(W.a, buf_str(&b));
    buf_fini(&b);
    return text;
}

/* --- the log against the model --- */

static const struct event *event_of(const struct event_list *l, size_t node, enum ev_kind kind) {
    char id[16];
    snprintf(id, sizeof id, "n%zu", node);
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].kind == kind && str_eqc(l->v[i].node_id, id)) return &l->v[i];
    return NULL;
}

static void read_check(const struct event_list *l, size_t i, const char *what) {
    const struct event *begun = event_of(l, i, EV_NODE_STARTED),
                       *done = event_of(l, i, EV_NODE_COMPLETED);
    char want[4096];
    cr_assert(begun && done, "%s, node %zu", what, i);
    model_show(&M[A[i].chan], begun->ts_ms, want, sizeof want);
    struct str got = json_get(json_get(done->payload, "outputs"), "x");
    if (want[0] == '\0') cr_expect(got.n == 0 || str_eqc(got, "null"), "%s, node %zu", what, i);
    else
        cr_expect(str_eqc(got, want), "%s, node %zu: " STR_FMT " not %s", what, i, STR_ARG(got),
                  want);
}

static void log_check(struct str run, const char *what) {
    struct event_list l = world_events(run);
    for (size_t i = 0; i < steps_nr; i++) {
        const struct event *w = event_of(&l, i, EV_CHANNEL_WRITTEN);
        if (A[i].what == READ) read_check(&l, i, what);
        if (A[i].what != WRITE) continue;
        const struct event *failed = event_of(&l, i, EV_NODE_FAILED);
        bool taken = model_write(&M[A[i].chan], &A[i], w ? w->ts_ms : 0);
        cr_expect_eq(w != NULL, taken, "%s, node %zu: maxSize", what, i);
        if (failed)
            cr_expect(str_eqc(json_get(json_get(failed->payload, "error"), "code"),
                              "\"validation_error\""),
                      "%s, node %zu: " STR_FMT, what, i, STR_ARG(failed->payload));
        cr_expect_eq(failed == NULL, taken, "%s, node %zu", what, i);
    }
}

/* The projection of an ended run: what the last writes left; readers leave out what is too old. */
static void view_check(struct str run, const char *what) {
    struct run_view v = world_view(run);
    char want[4096];
    for (int c = 0; c < CHANNELS_NR; c++) {
        struct str got = STR_NONE;
        char name[8];
        snprintf(name, sizeof name, "c%d", c);
        for (size_t i = 0; i < v.chans_nr; i++)
            if (str_eqc(v.chans[i].name, name)) got = v.chans[i].value;
        model_show(&M[c], 0, want, sizeof want);
        cr_expect(str_eqc(got, want), "%s, %s at the end: " STR_FMT " not %s", what, name,
                  STR_ARG(got), want);
    }
}

static void until_ended(struct str run) {
    while (!run_status_final(world_head(run).status)) {
        world_time_skip(500);
        struct timespec slice = {.tv_nsec = 1000000};
        nanosleep(&slice, NULL);
    }
}

static void one_case(uint64_t seed) {
    char what[48];
    snprintf(what, sizeof what, "seed %llu", (unsigned long long)seed);
    SEED = seed;
    plan_case();
    struct str run = world_start(definition(), NULL);
    until_ended(run);
    world_check_log(run);
    log_check(run, what);
    view_check(run, what);
    int64_t len = world_head(run).next_seq, cuts[] = {0, 1 + (int64_t)below((uint64_t)len - 1)};
    for (size_t i = 0; i < 2; i++) {
        struct str replay = fork_run(run, FORK_REPLAY, cuts[i]);
        until_ended(replay);
        cr_expect_eq(world_count(replay, EV_REPLAY_DIVERGED), 0u, "%s, replay from %lld", what,
                     (long long)cuts[i]);
        cr_expect_eq(world_head(replay).status, world_head(run).status, "%s", what);
        fork_same_tail(run, replay, cuts[i]);
    }
}

Test(channel_oracle, random_runs_are_what_the_rules_say /* CHAN-3, CHAN-10 to CHAN-17 */) {
    const char *seed = getenv("WOPR_TEST_SEED"), *more = getenv("WOPR_TEST_ROUNDS");
    uint64_t first = seed ? strtoull(seed, NULL, 10) : SEED_DEFAULT;
    size_t rounds = more ? strtoul(more, NULL, 10) : sampled(ROUNDS_DEFAULT);
    for (size_t i = 0; i < rounds; i++) one_case(first + i * 1000003);
}
