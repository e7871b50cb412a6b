/*
 * test_growth.c: costs that follow the size of a session, of a search and of a source.
 */
#include "log.h"
#include "support/growth.h"
#include "workrail/resume.h"

static struct arena *work_a;

/* "before0after before1after ..." */
static struct str many(const char *before, const char *after, unsigned nr) {
    struct buf b;
    buf_init(&b, (size_t)64 << 20);
    for (unsigned i = 0; i < nr; i++) buf_addf(&b, "%s%u%s", before, i, after);
    struct str s = arena_str(kit_a, buf_str(&b));
    buf_fini(&b);
    return s;
}

/* --- sessions: a chain of steps, and forks of one step --- */

struct shape {
    bool chain;
};

static void event_add(struct wr_event *v, size_t *nr, struct wr_event e) {
    struct wr_id id = wr_id_joined("evt", arena_printf(kit_a, "%zu", *nr), -1);
    e.index = (int64_t)*nr;
    e.event_id = arena_str(kit_a, wr_id_str(&id));
    e.dedupe_key = wr_dedupe_key(&e, STR_NONE, kit_a);
    v[(*nr)++] = e;
}

static size_t events_make(bool chain, unsigned nodes, struct wr_event **out) {
    struct wr_event *v = ARENA_ARRAY(kit_a, struct wr_event, 3 * (size_t)nodes + 3), e;
    size_t nr = 0;
    cr_assert_not_null(v);
    e = log_blank(WR_SESSION_CREATED, NULL);
    e.run_id = STR_NONE;
    event_add(v, &nr, e);
    e = log_blank(WR_RUN_STARTED, NULL);
    e.u.run.workflow_hash = log_hash('a');
    event_add(v, &nr, e);
    event_add(v, &nr, log_creation("0", NULL, WR_NODE_STEP));
    for (unsigned i = 1; i <= nodes; i++) {
        const char *name = arena_printf(kit_a, "%u", i).p,
                   *from = chain ? arena_printf(kit_a, "%u", i - 1).p : "0",
                   *before = chain || i == 1 ? NULL : arena_printf(kit_a, "%u", i - 1).p;
        event_add(v, &nr, log_creation(name, from, WR_NODE_STEP));
        e = log_blank(WR_EDGE_CREATED, NULL);
        e.u.edge.cause = WR_INTENTIONAL_FORK;
        e.u.edge.cause_event_id = STR("evt_0");
        e.u.edge.from_node_id = log_node(from);
        e.u.edge.to_node_id = log_node(name);
        event_add(v, &nr, e);
        event_add(v, &nr, log_output(from, name, before, WR_RECAP));
    }
    *out = v;
    return nr;
}

static uint64_t session_cost(void *ctx, unsigned nodes) {
    const struct shape *shape = ctx;
    struct wr_event *v;
    struct wr_tip preferred, *tips;
    struct wr_gap *gaps;
    struct wr_fault f = {0};
    size_t nr = events_make(shape->chain, nodes, &v), n;
    uint64_t from = cpu_time_us();
    struct wr_session *s = wr_session_new(work_a);
    for (size_t i = 0; i < nr; i++)
        cr_assert_eq(wr_session_add(s, &v[i], &f), 0, "%s", f.e.message);
    cr_assert_eq(wr_run_tips(s, 0, work_a, &tips, &n, &preferred), 0);
    cr_assert_eq(n, shape->chain ? 1 : nodes);
    cr_assert_eq(wr_run_gaps(s, 0, work_a, &gaps, &n), 0);
    (void)wr_node_preferences(s, preferred.node, INT64_MAX);
    (void)wr_node_context(s, preferred.node);
    uint64_t cost = cpu_time_us() - from;
    wr_session_free(s);
    arena_reset(work_a);
    arena_reset(kit_a); /* the events */
    return cost;
}

static void up(void) {
    kit_up();
    work_a = arena_new((size_t)1 << 30);
}
static void down(void) {
    arena_free(work_a);
    kit_down();
}

/* So many that both sizes take their memory from the kernel, page by page: where a page is dear,
 * that is most of what the larger one costs. */
Test(workrail_growth, a_session_costs_what_it_is_long, .init = up, .fini = down) {
    struct shape chain = {true}, forks = {false};
    struct growth g = {.cost_us = session_cost,
                       .ctx = &chain,
                       .few = 16000,
                       .many = 64000,
                       .factor = GROWTH_FACTOR,
                       .slack_us = 8000};
    char told[256];
    cr_expect(growth_holds(&g, told, sizeof told), "a chain: %s", told);
    g.ctx = &forks;
    cr_expect(growth_holds(&g, told, sizeof told), "forks of one step: %s", told);
}

/* --- a search through 10,000 runs --- */

Test(workrail_growth, a_search_keeps_five_whatever_the_number, .init = up, .fini = down) {
    enum { RUNS = 10000 };
    struct str notes = wr_tokens(many(" word", "", 200), kit_a),
               name = wr_tokens(STR("A b"), kit_a);
    struct wr_ranking r;
    cr_assert_eq(wr_ranking_begin(&r, STR("word7 word199"), STR("main"), STR_NONE, kit_a), 0);
    size_t used = arena_used(kit_a);
    uint64_t from = cpu_time_us();
    for (unsigned i = 0; i < RUNS; i++) {
        struct wr_summary s = {.session_id = STR("sess_1"),
                               .run_id = STR("run_1"),
                               .activity = i % 97,
                               .branch = i % 10 == 0 ? STR("main") : STR("other"),
                               .note_tokens = notes,
                               .workflow_tokens = name};
        cr_assert_eq(wr_ranking_offer(&r, &s), 0);
    }
    printf("10000 summaries of 200 words: %llu us\n", (unsigned long long)(cpu_time_us() - from));
    cr_expect(r.nr == 5 && r.total == RUNS && r.best[0].tier == 2);
    cr_expect(arena_used(kit_a) - used < 100000, "memory by the number of runs: %zu",
              arena_used(kit_a) - used);
}

/* --- sources --- */

static uint64_t source_cost(void *ctx, unsigned size) {
    (void)ctx;
    struct wr_workflow w;
    struct wr_problems problems;
    struct wr_fault f;
    struct str list = many("\"member", "\":1,", size);
    struct str source = arena_printf(kit_a,
                                     "{\"id\":\"a.b\",\"steps\":[{\"id\":\"x\",\"title\":\"t\","
                                     "\"prompt\":\"p\",%.*s\"notesOptional\":true}]}",
                                     (int)list.n, list.p);
    uint64_t from = cpu_time_us();
    int rc = wr_compile(source, WR_PROJECT, work_a, &w, &problems, &f);
    uint64_t cost = cpu_time_us() - from;
    cr_assert(rc == 0 || f.code == WR_COMPILE_ERROR, "%s", f.e.message);
    arena_reset(work_a);
    return cost;
}

Test(workrail_growth, a_source_costs_what_it_is_long, .init = up, .fini = down) {
    struct growth g = {.cost_us = source_cost,
                       .few = 5000,
                       .many = 20000,
                       .factor = GROWTH_FACTOR,
                       .slack_us = 2000};
    char told[256];
    cr_expect(growth_holds(&g, told, sizeof told), "members that are not known: %s", told);
}
