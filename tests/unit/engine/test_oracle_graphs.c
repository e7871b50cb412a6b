/* test_oracle_graphs.c: random graphs without loops, 2 to 14 nodes in any order, of all trigger
 * rules, conditions, disabled, failing and slow nodes.  What becomes of each node follows from its
 * edges alone, in topological order (WF-5, WF-7, WF-8, WF-9, WF-14); each graph is also replayed at
 * a random cut (FORK-15). */
#include "oracle_kit.h"

TestSuite(engine_oracle_graphs, .init = world_up, .fini = world_down);

enum { GRAPH_NODES_MAX = 14, GRAPH_EDGES_MAX = 40, GROUPS = 5 };
enum kind { SAYS_YES, SAYS_NO, SLOW, FAILS, DISABLED, KINDS };
enum result { COMPLETED, FAILED, SKIPPED, PASSED_OVER /* disabled: counts as completed */ };
enum edge_is { TRUE_EDGE, FALSE_EDGE, FAILED_EDGE, SKIPPED_EDGE };
enum when { ALWAYS, ON_YES, ON_NO_YES, WHENS };
static const char *const RULE_NAMES[GROUPS] = {"all_success", "any_success", "all_complete",
                                               "none_failed", "any_failed"};
static const char *const WHEN_TEXT[WHENS] = {
    "", ",\"condition\":{\"type\":\"equals\",\"left\":\"output.go\",\"right\":\"yes\"}",
    ",\"condition\":{\"type\":\"expression\",\"expression\":\"output.go != 'yes'\"}"};

struct graph {
    unsigned n, m, place[GRAPH_NODES_MAX]; /* in nodes[] of the node of each rank */
    enum kind kind[GRAPH_NODES_MAX];       /* by rank, as all that follows */
    struct {
        unsigned from, to, rule;
        enum when when;
    } e[GRAPH_EDGES_MAX];
    enum result want[GRAPH_NODES_MAX];
    bool fails; /* a failure that nothing handles */
};

/* --- the oracle --- */

static enum edge_is edge_want(const struct graph *g, unsigned e) {
    enum result from = g->want[g->e[e].from];
    bool says_yes = g->kind[g->e[e].from] == SAYS_YES && from == COMPLETED;
    bool holds = g->e[e].when == ALWAYS || says_yes == (g->e[e].when == ON_YES);
    if (from == SKIPPED) return SKIPPED_EDGE;
    if (from == FAILED) {
        bool asks = strcmp(RULE_NAMES[g->e[e].rule], "any_failed") == 0;
        return !asks || holds ? FAILED_EDGE : FALSE_EDGE;
    }
    return holds ? TRUE_EDGE : FALSE_EDGE;
}

/* Are the edges of one rule into a node satisfied? */
static bool group_want(const struct graph *g, unsigned node, unsigned rule) {
    unsigned is[4] = {0}, all = 0;
    for (unsigned i = 0; i < g->m; i++)
        if (g->e[i].to == node && g->e[i].rule == rule) is[edge_want(g, i)]++, all++;
    if (all == 0) return true;
    switch (rule) {
    case 0:
        return is[TRUE_EDGE] == all;
    case 1:
        return is[TRUE_EDGE] > 0;
    case 2:
        return true;
    case 3:
        return is[FAILED_EDGE] == 0 && is[TRUE_EDGE] > 0;
    default:
        return is[FAILED_EDGE] > 0;
    }
}

static void graph_want(struct graph *g) {
    for (unsigned i = 0; i < g->n; i++) {
        bool starts = true;
        for (unsigned r = 0; r < GROUPS; r++) starts = starts && group_want(g, i, r);
        g->want[i] = !starts                  ? SKIPPED
                     : g->kind[i] == DISABLED ? PASSED_OVER
                     : g->kind[i] == FAILS    ? FAILED
                                              : COMPLETED;
    }
    for (unsigned i = 0; i < g->n; i++) {
        bool handled = g->want[i] != FAILED;
        for (unsigned k = 0; k < g->m; k++)
            handled = handled ||
                      (g->e[k].from == i && edge_want(g, k) == FAILED_EDGE &&
                       (g->e[k].rule == 2 || g->e[k].rule == 4) && g->want[g->e[k].to] != SKIPPED);
        g->fails = g->fails || !handled;
    }
}

/* --- the definition --- */

static void graph_make(struct graph *g, uint32_t *seed) {
    *g = (struct graph){.n = 2 + dice(seed, GRAPH_NODES_MAX - 1)};
    for (unsigned i = 0; i < g->n; i++) {
        unsigned k = dice(seed, 10), swap = dice(seed, i + 1);
        g->kind[i] = k < 4 ? SAYS_YES : k < 6 ? SAYS_NO : k < 7 ? SLOW : k < 9 ? FAILS : DISABLED;
        g->place[i] = g->place[swap];
        g->place[swap] = i;
    }
    unsigned m = dice(seed, 2 * g->n + 1);
    for (unsigned i = 0; i < m && g->m < GRAPH_EDGES_MAX; i++) {
        unsigned a = dice(seed, g->n), b = dice(seed, g->n);
        if (a == b) continue;
        g->e[g->m].from = a < b ? a : b;
        g->e[g->m].to = a < b ? b : a;
        g->e[g->m].rule = dice(seed, GROUPS);
        g->e[g->m].when = (enum when)dice(seed, WHENS);
        g->m++;
    }
    graph_want(g);
}

static void node_write(struct buf *b, enum kind kind, unsigned rank) {
    static const char *const types[KINDS] = {"core.identity", "core.identity", "core.delay",
                                             "core.fail", "core.identity"};
    buf_addf(b,
             "%s{\"id\":\"n%u\",\"typeId\":\"%s\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},"
             "\"config\":{%s},\"disabled\":%s,\"inputs\":{",
             b->len ? "," : "", rank, types[kind], kind == SLOW ? "\"ms\":2" : "",
             kind == DISABLED ? "true" : "false");
    if (kind == SAYS_YES || kind == SAYS_NO)
        buf_addf(b, "\"go\":{\"type\":\"static\",\"value\":\"%s\"}",
                 kind == SAYS_YES ? "yes" : "no");
    buf_addz(b, "}}");
}

static struct str graph_text(const struct graph *g) {
    struct buf nodes, edges;
    buf_init(&nodes, 1 << 16);
    buf_init(&edges, 1 << 16);
    for (unsigned at = 0; at < g->n; at++)
        for (unsigned i = 0; i < g->n; i++)
            if (g->place[i] == at) node_write(&nodes, g->kind[i], i);
    for (unsigned i = 0; i < g->m; i++)
        buf_addf(&edges,
                 "%s{\"id\":\"e%u\",\"sourceNodeId\":\"n%u\",\"targetNodeId\":\"n%u\","
                 "\"triggerRule\":\"%s\"%s}",
                 i ? "," : "", i, g->e[i].from, g->e[i].to, RULE_NAMES[g->e[i].rule],
                 WHEN_TEXT[g->e[i].when]);
    struct str text = world_def("g", nodes.p, edges.len > 0 ? edges.p : "", 0, 0, 0);
    buf_fini(&nodes);
    buf_fini(&edges);
    return text;
}

static void graph_check(const struct graph *g, struct str run, uint32_t seed) {
    enum run_status end = world_wait_final(run);
    cr_assert_eq(end, g->fails ? RUN_FAILED : RUN_COMPLETED, "seed %u: %s\n%s", seed,
                 world_story(run), graph_text(g).p);
    for (unsigned i = 0; i < g->n; i++) {
        struct str id = arena_printf(W.a, "n%u", i);
        unsigned completed = oracle_count(run, EV_NODE_COMPLETED, id),
                 failed = oracle_count(run, EV_NODE_FAILED, id),
                 skipped = oracle_count(run, EV_NODE_SKIPPED, id);
        bool ok = end == RUN_FAILED /* others were cut off, but none came to another result */
                      ? (completed == 0 || g->want[i] == COMPLETED) &&
                            (failed == 0 || g->want[i] == FAILED)
                      : completed == (g->want[i] == COMPLETED) &&
                            failed == (g->want[i] == FAILED) &&
                            skipped == (g->want[i] == SKIPPED || g->want[i] == PASSED_OVER);
        cr_assert(ok, "seed %u: n%u is not %d: %s\n%s", seed, i, (int)g->want[i], world_story(run),
                  graph_text(g).p);
    }
    world_check_log(run);
}

Test(engine_oracle_graphs, random_graphs_come_to_what_their_edges_say) {
    unsigned rounds = oracle_rounds(150), failed = 0;
    for (unsigned i = 0; i < rounds; i++) {
        uint32_t seed = oracle_seed(i), s = seed;
        struct graph g;
        graph_make(&g, &s);
        struct str run = world_start(graph_text(&g), NULL);
        graph_check(&g, run, seed);
        fork_replays_equal(run, (int64_t)dice(&s, (uint32_t)world_head(run).next_seq),
                           g.fails ? RUN_FAILED : RUN_COMPLETED);
        failed += g.fails;
        arena_reset(W.a);
    }
    cr_expect(failed > rounds / 10 && failed < rounds - rounds / 10, "%u of %u fail", failed,
              rounds);
}
