/* fig_workspec.c: what a task of a WorkSpec document costs to read, check and play, in documents of
 * 1,000 to 100,000 tasks. */
#include "bench.h"
#include "workspec/interpret.h"
#include "workspec/validate.h"

enum { PERFORMERS = 50, TASK_BYTES_MAX = 512 };
static const struct ws_limits WIDE = {.bytes = SIZE_MAX,
                                      .depth = 64,
                                      .values = SIZE_MAX,
                                      .objects = SIZE_MAX,
                                      .tasks = SIZE_MAX,
                                      .task_interactions = 1000,
                                      .interactions = SIZE_MAX,
                                      .changes = SIZE_MAX,
                                      .dependencies = 1000,
                                      .locations = 1000};

/* Performers in turn, a quarter of an hour each; a stock that moves, a state for the time of the
 * task, a dependency on the task of the same performer before it. */
static void task_put(struct buf *b, size_t i) {
    size_t quarter = i / PERFORMERS, before = i - PERFORMERS;
    buf_addf(b,
             "%s{\"id\":\"t%zu\",\"actor_id\":\"p%zu\",\"start\":{\"day\":%zu,\"time\":"
             "\"%02zu:%02zu\"},\"duration\":15,\"interactions\":[{\"target_id\":\"stock\","
             "\"property_changes\":{\"quantity\":{\"delta\":%d}}},{\"target_id\":\"p%zu\","
             "\"temporary\":true,\"property_changes\":{\"state\":{\"from\":\"free\",\"to\":"
             "\"busy\"}}}]",
             i == 0 ? "" : ",", i, i % PERFORMERS, quarter / 96 + 1, quarter % 96 / 4,
             quarter % 4 * 15, i % 2 == 0 ? 1 : -1, i % PERFORMERS);
    if (i >= PERFORMERS) buf_addf(b, ",\"depends_on\":[\"t%zu\"]", before);
    buf_addc(b, '}');
}

static void document_put(struct buf *b, size_t tasks) {
    buf_addz(b, "{\"simulation\":{\"schema_version\":\"2.0\",\"meta\":{\"title\":\"T\","
                "\"description\":\"D\",\"domain\":\"M\"},\"config\":{\"time_unit\":\"minutes\","
                "\"start_time\":\"00:00\",\"end_time\":\"23:00\",\"currency\":\"EUR\",\"locale\":"
                "\"en-IE\"},\"world\":{\"objects\":[{\"id\":\"stock\",\"type\":\"product\","
                "\"name\":\"S\",\"properties\":{\"quantity\":100}}");
    for (size_t i = 0; i < PERFORMERS; i++)
        buf_addf(b,
                 ",{\"id\":\"p%zu\",\"type\":\"equipment\",\"name\":\"P\",\"properties\":{"
                 "\"state\":\"free\"}}",
                 i);
    buf_addz(b, "]},\"process\":{\"tasks\":[");
    for (size_t i = 0; i < tasks; i++) task_put(b, i);
    buf_addz(b, "]}}}");
}

/* All steps; false when one fails. */
static bool plan_play(const struct ws_plan *p, struct arena *a) {
    struct ws_world *w = ws_world_new(p, a);
    struct ws_steps steps = {.plan = p};
    struct ws_outcome out = {.failure = {.kind = WS_F_NONE}};
    struct ws_step s;
    while (w != NULL && out.failure.kind == WS_F_NONE && ws_next_step(&steps, &s)) {
        if (s.ends) ws_end(w, s.task, s.vt, &out);
        else ws_begin(w, s.task, s.vt, &out);
    }
    return w != NULL && out.failure.kind == WS_F_NONE;
}

struct cost {
    double check_us, play_us; /* of a task, the least of all rounds */
};

static bool document_time(struct str text, size_t tasks, struct cost *out) {
    struct wopr_error err = {0};
    struct ws_options o = {.profile = WS_HOST, .limits = &WIDE, .no_dry_run = true};
    struct ws_doc doc;
    struct ws_report r;
    struct ws_plan p;
    struct arena *a = arena_new(SIZE_MAX / 2);
    uint64_t t0 = clock_mono_ns();
    bool good = a != NULL && ws_parse(text, WS_JSON, &WIDE, a, &doc, &err) == 0;
    if (good) {
        ws_report_init(&r, a);
        good = ws_validate(&doc, &o, &r, &err) == 0 && ws_report_ok(&r);
        ws_report_fini(&r);
    }
    double check = (double)(clock_mono_ns() - t0) / 1e3 / (double)tasks;
    good = good && ws_compile(&doc, NULL, a, &p, &err) == 0;
    t0 = clock_mono_ns();
    good = good && plan_play(&p, a);
    double play = (double)(clock_mono_ns() - t0) / 1e3 / (double)tasks;
    arena_free(a);
    if (out->check_us == 0 || check < out->check_us) out->check_us = check;
    if (out->play_us == 0 || play < out->play_us) out->play_us = play;
    return good;
}

static bool size_row(struct report *r, const struct options *o, size_t tasks, struct cost *cost) {
    char name[48];
    struct buf b;
    bool good = true;
    buf_init(&b, SIZE_MAX / 2);
    document_put(&b, tasks);
    *cost = (struct cost){0, 0};
    for (int64_t i = 0; good && i < o->rounds; i++) good = document_time(buf_str(&b), tasks, cost);
    buf_fini(&b);
    if (!good) return false;
    (void)snprintf(name, sizeof name, "check_us_per_task_%zu", tasks);
    report_value(r, name, cost->check_us, "us");
    (void)snprintf(name, sizeof name, "play_us_per_task_%zu", tasks);
    report_value(r, name, cost->play_us, "us");
    return true;
}

int cmd_workspec(const struct options *o) {
    static const size_t SIZES[] = {1000, 10000, 100000};
    enum { SIZES_NR = sizeof SIZES / sizeof *SIZES };
    struct cost cost[SIZES_NR];
    struct report r;
    report_begin(&r, "workspec", o);
    for (size_t i = 0; i < SIZES_NR; i++) {
        if (size_row(&r, o, SIZES[i], &cost[i])) continue;
        fputs("wopr-bench: a document of the figure has errors\n", stderr);
        return 1;
    }
    report_value(&r, "check_last_to_first", cost[SIZES_NR - 1].check_us / cost[0].check_us, "x");
    report_value(&r, "play_last_to_first", cost[SIZES_NR - 1].play_us / cost[0].play_us, "x");
    return report_end(&r);
}
