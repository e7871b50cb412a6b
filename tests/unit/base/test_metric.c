/*
 * test_metric.c: histograms, their text, and the gates of repeated warnings.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/metric.h"

#include <criterion/criterion.h>
#include <pthread.h>

static const uint64_t BOUNDS[] = {10, 20, 50};
static const struct metric_scale SCALE = {BOUNDS, 3, 0.5};

Test(base_metric, an_observation_falls_into_the_first_bound_not_below_it) {
    struct metric_hist h = {0};
    struct metric_reading r;
    static const uint64_t values[] = {0, 10, 11, 20, 21, 50, 51, 1000000};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        metric_observe(&h, &SCALE, values[i]);
    metric_read(&h, &r);
    for (size_t i = 0; i < 4; i++) cr_expect_eq(r.bucket[i], 2, "bucket %zu", i);
    cr_expect_eq(r.count, 8);
    cr_expect_eq(r.sum, 1000163);
}

Test(base_metric, the_text_is_cumulative_and_in_base_units) {
    struct metric_hist h = {0};
    struct metric_reading r;
    struct buf b;
    buf_init(&b, 4096);
    metric_observe(&h, &SCALE, 5);
    metric_observe(&h, &SCALE, 50);
    metric_observe(&h, &SCALE, 51);
    metric_read(&h, &r);
    metric_head(&b, "x_seconds", "histogram", "Help.");
    metric_histogram(&b, "x_seconds", NULL, NULL, &SCALE, &r);
    metric_histogram(&b, "x_seconds", "op", "get", &SCALE, &r);
    cr_assert_not(buf_failed(&b));
    cr_assert_str_eq(b.p, "# HELP x_seconds Help.\n# TYPE x_seconds histogram\n"
                          "x_seconds_bucket{le=\"5\"} 1\nx_seconds_bucket{le=\"10\"} 1\n"
                          "x_seconds_bucket{le=\"25\"} 2\nx_seconds_bucket{le=\"+Inf\"} 3\n"
                          "x_seconds_sum 53\nx_seconds_count 3\n"
                          "x_seconds_bucket{op=\"get\",le=\"5\"} 1\n"
                          "x_seconds_bucket{op=\"get\",le=\"10\"} 1\n"
                          "x_seconds_bucket{op=\"get\",le=\"25\"} 2\n"
                          "x_seconds_bucket{op=\"get\",le=\"+Inf\"} 3\n"
                          "x_seconds_sum{op=\"get\"} 53\nx_seconds_count{op=\"get\"} 3\n");
    buf_reset(&b);
    metric_counter(&b, "y_total", "Y.", UINT64_MAX);
    metric_gauge(&b, "z", "Z.", 0.25);
    cr_assert_str_eq(b.p, "# HELP y_total Y.\n# TYPE y_total counter\n"
                          "y_total 18446744073709551615\n"
                          "# HELP z Z.\n# TYPE z gauge\nz 0.25\n");
    buf_fini(&b);
}

enum { THREADS = 4, EACH = 20000 };
static struct metric_hist shared;
static void *observe_many(void *arg) {
    (void)arg;
    for (uint64_t i = 0; i < EACH; i++) metric_observe(&shared, &METRIC_AMOUNT, i % 10);
    return NULL;
}

Test(base_metric, nothing_is_lost_between_threads) {
    pthread_t t[THREADS];
    struct metric_reading r;
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&t[i], NULL, observe_many, NULL), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    metric_read(&shared, &r);
    cr_expect_eq(r.count, THREADS * EACH);
    cr_expect_eq(r.sum, THREADS * EACH / 10 * 45);
}

Test(base_metric, scales_ascend) {
    const struct metric_scale *const all[] = {&METRIC_DURATION, &METRIC_AMOUNT};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 1; i < all[k]->n; i++)
            cr_expect_lt(all[k]->bounds[i - 1], all[k]->bounds[i]);
}

static uint64_t virtual_ns;
static uint64_t mono(void *ctx) {
    (void)ctx;
    return virtual_ns;
}

Test(base_log_gate, one_line_per_period_and_the_rest_is_counted) {
    const struct sys_ops ops = {.mono_ns = mono};
    struct log_gate g = {0};
    uint64_t held = 99;
    sys_set(&ops);
    virtual_ns = UINT64_C(5000000);
    cr_expect(log_gate_pass(&g, &held));
    cr_expect_eq(held, 0);
    for (int i = 0; i < 3; i++) cr_expect_not(log_gate_pass(&g, &held));
    virtual_ns += (LOG_GATE_MS - 1) * UINT64_C(1000000);
    cr_expect_not(log_gate_pass(&g, &held));
    virtual_ns += UINT64_C(1000000);
    cr_expect(log_gate_pass(&g, &held));
    cr_expect_eq(held, 4);
    cr_expect_not(log_gate_pass(&g, &held));
    sys_set(NULL);
}
