/*
 * test_generated.c: documents made at random: valid ones, and ones with something bent.  What
 * holds of
 * all: the same bytes say the same (WS-44), a document without errors plays without failure,
 * the world
 * is the fold of its changes after each step (WS-114), whatever is rejected or fails.
 */
#include "base/fault.h"
#include "kit.h"
#include "workspec/play.h"
#include "workspec/schedule.h"

#include <stdlib.h>

enum { DOCUMENTS = 4000, TASKS_MAX = 24, PROPERTIES = 5 };

struct dice {
    uint64_t state;
};
static unsigned throw(struct dice * d, unsigned n) {
    d->state = d->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(d->state >> 33) % n;
}

static void put_value(struct buf *b, struct dice *d) {
    static const char *const VALUES[] = {
        "0",  "1",           "2.5", "-3",        "\"free\"", "\"x\"", "true",       "null",
        "[]", "[1,\"x\",1]", "{}",  "{\"y\":1}", "1e308",    "\"\"",  "{\"y\":{}}", "0.1"};
    buf_addz(b, VALUES[throw(d, sizeof VALUES / sizeof *VALUES)]);
}

static void put_operator(struct buf *b, struct dice *d) {
    switch (throw(d, 9)) {
    case 0:
        buf_addf(b, "{\"delta\":%d}", (int) throw(d, 7) - 3);
        return;
    case 1:
        buf_addf(b, "{\"multiply\":%u,\"delta\":0.1}", throw(d, 4));
        return;
    case 2:
        buf_addz(b, throw(d, 2) ? "{\"increment\":true}" : "{\"decrement\":true}");
        return;
    case 3:
        buf_addz(b, "{\"append\":");
        break;
    case 4:
        buf_addz(b, "{\"remove\":");
        break;
    case 5:
        buf_addz(b, "{\"append\":1,\"remove\":");
        break;
    case 6:
        buf_addz(b, "{\"from\":");
        put_value(b, d);
        buf_addz(b, ",\"to\":");
        break;
    default:
        buf_addz(b, "{\"set\":");
    }
    put_value(b, d);
    buf_addc(b, '}');
}

static void put_interaction(struct buf *b, struct dice *d, unsigned task) {
    static const char *const TARGETS[] = {"a", "b", "m", "w", "p", "n0", "n1", "n2"};
    static const char *const NAMES[PROPERTIES + 6] = {"state",
                                                      "quantity",
                                                      "list",
                                                      "pos.x.y",
                                                      "pos",
                                                      "properties.location",
                                                      "location",
                                                      "properties.location.z",
                                                      "a.b",
                                                      "emoji",
                                                      "properties.state"};
    const char *temporary = throw(d, 2) ? ",\"temporary\":true" : "";
    unsigned what = throw(d, 10);
    if (what == 0) {
        buf_addf(b,
                 "{\"action\":\"create\",\"object\":{\"id\":\"n%u\",\"type\":\"product\",\"name\":"
                 "\"N\",\"location\":\"x\",\"properties\":{\"quantity\":2,\"list\":[1]}}%s}",
                 throw(d, 3), temporary);
    } else if (what == 1) {
        buf_addf(b, "{\"action\":\"delete\",\"target_id\":\"%s\"%s}", TARGETS[throw(d, 8)],
                 temporary);
    } else {
        buf_addf(b, "{\"target_id\":\"%s\"%s,\"property_changes\":{\"%s\":", TARGETS[throw(d, 8)],
                 temporary, NAMES[throw(d, 11)]);
        put_operator(b, d);
        buf_addz(b, "}}");
    }
    (void)task;
}

static struct str document(struct arena *a, struct dice *d) {
    static const char *const ACTORS[] = {"a", "b", "m", "w"};
    unsigned minute[4] = {480, 480, 480, 480}, last[4] = {0}, nr = throw(d, TASKS_MAX);
    struct buf b;
    buf_init(&b, 1 << 20);
    for (unsigned i = 0; i < nr; i++) {
        unsigned who = throw(d, 4), length = 1 + throw(d, 30), actions = throw(d, 4);
        minute[who] += throw(d, 20);
        buf_addf(&b,
                 "%s{\"id\":\"t%u\",\"actor_id\":\"%s\",\"start\":\"%02u:%02u\",\"duration\":%u,"
                 "\"interactions\":[",
                 i == 0 ? "" : ",", i, ACTORS[who], minute[who] / 60 % 24, minute[who] % 60,
                 length);
        minute[who] += length;
        for (unsigned k = 0; k < actions; k++) {
            if (k > 0) buf_addc(&b, ',');
            put_interaction(&b, d, i);
        }
        buf_addc(&b, ']');
        if (last[who] > 0 && throw(d, 2))
            buf_addf(&b, ",\"depends_on\":%s\"t%u\"%s", i % 3 ? "[" : "{\"any\":[", last[who] - 1,
                     i % 3 ? "]" : "]}");
        last[who] = i + 1;
        buf_addc(&b, '}');
    }
    struct str text = kit_document(a, KIT_CONFIG, b.p != NULL ? b.p : "");
    buf_fini(&b);
    return text;
}

/* Without anybody to wait for, a plan that has no overlap slips nowhere: both orders are one. */
static void check_schedule(struct arena *a, const struct ws_plan *p) {
    struct ws_schedule *s = ws_schedule_new(p, NULL, WS_VIRTUAL, a);
    struct ws_steps steps = {.plan = p};
    struct ws_step x, y;
    cr_assert_not_null(s);
    while (ws_next_step(&steps, &x)) {
        cr_assert_eq(ws_schedule_next(s, 0, &y), WS_NEXT_STEP);
        cr_assert(x.ends == y.ends && x.task == y.task && x.vt == y.vt);
    }
    cr_expect_eq(ws_schedule_next(s, 0, &y), WS_NEXT_DONE);
}

struct totals {
    size_t valid, failures, changes, withdrawn;
};

static struct sha256 report_digest(const struct ws_report *r) {
    struct buf b;
    buf_init(&b, SIZE_MAX / 2);
    ws_problems_write(&b, r);
    struct sha256 digest = sha256_of(buf_str(&b));
    buf_fini(&b);
    return digest;
}

static void check_document(struct arena *a, struct str text, struct totals *sum) {
    struct wopr_error err = {0};
    struct ws_plan p, again;
    struct ws_doc doc = kit_parse(a, text, WS_JSON), yaml = kit_parse(a, text, WS_YAML);
    struct ws_report r = kit_validate(a, &doc, NULL, WS_HOST);
    struct ws_report other = kit_validate(a, &yaml, NULL, WS_HOST);
    struct sha256 x = report_digest(&r), y = report_digest(&other);
    cr_expect(sha256_eq(&x, &y), "JSON is YAML: the same problems at the same places");
    cr_assert_eq(ws_compile(&doc, NULL, a, &p, &err), 0, "%s", err.message);
    cr_assert_eq(ws_compile(&yaml, NULL, a, &again, &err), 0, "%s", err.message);
    cr_expect(sha256_eq(&p.plan_sha, &again.plan_sha));
    struct played once = play(&p, a, 0), twice = play(&again, a, 0), bent = play(&p, a, 120);
    cr_expect(sha256_eq(&once.digest, &twice.digest) && once.ended);
    cr_expect(!ws_report_ok(&r) || once.failures == 0, STR_FMT, STR_ARG(text));
    if (ws_report_ok(&r)) check_schedule(a, &p);
    sum->valid += ws_report_ok(&r);
    sum->failures += once.failures;
    sum->changes += once.changes;
    sum->withdrawn += bent.withdrawn;
}

Test(workspec_generated, worlds_are_the_fold_of_their_changes_ws_44_ws_80_ws_114, .timeout = 300) {
    struct totals sum = {0};
    const char *rounds = getenv("WOPR_ORACLE_ROUNDS");
    size_t factor = rounds != NULL ? (size_t)strtoul(rounds, NULL, 10) : 1;
    for (uint64_t seed = 1; seed <= DOCUMENTS * factor; seed++) {
        struct arena *a = arena_new(WS_ARENA_BYTES_MAX);
        struct dice d = {seed};
        check_document(a, document(a, &d), &sum);
        arena_free(a);
    }
    cr_expect(sum.valid > DOCUMENTS / 20 && sum.failures > DOCUMENTS / 2, "%zu valid, %zu failures",
              sum.valid, sum.failures);
    cr_expect(sum.changes > DOCUMENTS && sum.withdrawn > DOCUMENTS);
}

/* Memory that is short at any moment is told, and nothing is kept. */
Test(workspec_generated, each_allocation_may_fail, .timeout = 300) {
    struct dice d = {7};
    struct arena *kept = arena_new(WS_ARENA_BYTES_MAX);
    struct str text = document(kept, &d);
    unsigned rounds = 0;
    for (unsigned nth = 1; fault_arm(1u << FAULT_MALLOC, nth); nth++, rounds++) {
        struct wopr_error err = {0};
        struct ws_options o = {.profile = WS_HOST};
        struct ws_doc doc;
        struct ws_report r;
        int rc = WOPR_E_NO_MEMORY;
        struct arena *a = arena_new(WS_ARENA_BYTES_MAX);
        if (a != NULL) {
            rc = ws_parse(text, WS_JSON, &WS_LIMITS_DEFAULT, a, &doc, &err);
            ws_report_init(&r, a);
            if (rc == 0) rc = ws_validate(&doc, &o, &r, &err);
            ws_report_fini(&r);
        }
        cr_expect_eq(rc, fault_fired() ? WOPR_E_NO_MEMORY : 0, "%u: %s", nth, err.message);
        arena_free(a);
    }
    cr_expect(rounds > 5);
    arena_free(kept);
}
