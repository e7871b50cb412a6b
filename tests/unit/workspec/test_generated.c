/*
 * test_generated.c: documents made at random: valid ones, and ones with something bent.  What
 * holds of
 * all: the same bytes say the same (WS-44), a document without errors plays without failure,
 * the world
 * is the fold of its changes after each step (WS-114), whatever is rejected or fails.
 */
#include "base/fault.h"
#include "kit.h"
#include "workspec/generate.h"
#include "workspec/play.h"
#include "workspec/schedule.h"

#include <stdlib.h>

enum { DOCUMENTS = 4000 };

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
        struct gen_dice d = {seed};
        check_document(a, kit_document(a, KIT_CONFIG, gen_tasks(a, &d)), &sum);
        arena_free(a);
    }
    cr_expect(sum.valid > DOCUMENTS / 20 && sum.failures > DOCUMENTS / 2, "%zu valid, %zu failures",
              sum.valid, sum.failures);
    cr_expect(sum.changes > DOCUMENTS && sum.withdrawn > DOCUMENTS);
}

/* Memory that is short at any moment is told, and nothing is kept. */
Test(workspec_generated, each_allocation_may_fail, .timeout = 300) {
    struct gen_dice d = {7};
    struct arena *kept = arena_new(WS_ARENA_BYTES_MAX);
    struct str text = kit_document(kept, KIT_CONFIG, gen_tasks(kept, &d));
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
