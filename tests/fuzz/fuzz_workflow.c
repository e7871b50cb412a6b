/*
 * fuzz_workflow.c: properties of the workflow compiler and the scheduler on any definition.
 *  - a refusal says why and hands out nothing;
 *  - an accepted graph has an entry, and no cycle without its loopback edges (WF-11);
 *  - compiling it again gives the same hash;
 *  - findings about it (lint.h) come to an end and say something;
 *  - a run of it, with outcomes taken from the definition's hash, comes to an end (WF-12, EVT-25),
 * and the state keeps its invariants.
 */
#include "base/mem.h"
#include "codec/json.h"
#include "domain/lint.h"
#include "domain/state.h"

enum { FUZZ_BYTES_MAX = 1 << 16, STEPS_MAX = 100000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_graph(const struct workflow *w) {
    size_t *open = mem_array(w->nodes_nr, sizeof(*open)), left = w->nodes_nr, entries = 0;
    ASSERT(open != NULL);
    for (size_t i = 0; i < w->edges_nr; i++)
        if (!w->edges[i].loopback) open[w->edges[i].dst]++;
    for (bool moved = true; moved;) { /* take away what has no predecessor */
        moved = false;
        for (size_t i = 0; i < w->nodes_nr; i++) {
            if (open[i] != 0) continue;
            open[i] = SIZE_MAX;
            moved = true;
            left--;
            for (size_t k = 0; k < w->nodes[i].out_nr; k++) {
                const struct wf_edge *e = &w->edges[w->nodes[i].out_edges[k]];
                if (!e->loopback) open[e->dst]--;
            }
        }
    }
    for (size_t i = 0; i < w->nodes_nr; i++) entries += w->nodes[i].is_entry;
    ASSERT(left == 0);
    ASSERT(entries > 0);
    mem_free(open);
}

static void apply(struct run_state *s, enum ev_kind kind, int node, struct str payload) {
    struct wopr_error err;
    struct event e = {.seq = s->next_seq,
                      .kind = kind,
                      .type = str_c(event_name(kind)),
                      .causation_seq = -1,
                      .ts_ms = 1,
                      .schema_version = 1,
                      .payload = payload};
    if (node >= 0) e.node_id = s->wf->nodes[node].id;
    ASSERT(run_state_apply(s, &e, &err) == 0);
    ASSERT(run_state_broken(s) == NULL);
}

#define FAILURE STR("{\"error\":{\"code\":\"x\",\"message\":\"m\"}}")

static bool step(struct run_state *s, uint8_t dice) {
    struct sched_action a;
    sched_next(s, 1, &a);
    switch (a.what) {
    case SCHED_START:
        apply(s, EV_NODE_STARTED, a.node, STR("{}"));
        if (dice % 4 == 0) apply(s, EV_NODE_FAILED, a.node, FAILURE);
        else apply(s, EV_NODE_COMPLETED, a.node, STR("{\"outputs\":{\"output\":1}}"));
        return true;
    case SCHED_SKIP:
        apply(s, EV_NODE_SKIPPED, a.node, STR("{}"));
        return true;
    case SCHED_LOOP_LIMIT:
        apply(s, EV_NODE_FAILED, a.node, FAILURE);
        return true;
    default:
        ASSERT(a.what != SCHED_WAIT);
        return false; /* nothing is in flight: it must end */
    }
}

static void check_run(struct workflow *w) {
    struct run_meta meta = {.run_id = STR("run_x"), .workflow_id = w->id, .tenant = STR("t")};
    struct run_state *s = NULL;
    struct wopr_error err;
    ASSERT(run_state_new(w, &meta, &RUN_LIMITS_DEFAULT, &s, &err) == 0);
    apply(s, EV_RUN_STARTED, -1, STR("{}"));
    int i = 0;
    while (step(s, w->hash.b[(unsigned)i % sizeof(w->hash.b)])) ASSERT(++i < STEPS_MAX);
    run_state_free(s);
}

#define CONFIG                                                                                     \
    "{\"additionalProperties\":false,\"required\":[\"name\"],\"properties\":{\"name\":{\"type\":"  \
    "\"string\",\"x-names\":\"variable\"},\"n\":{\"type\":\"integer\",\"minimum\":0}}}"

static bool type_find(void *ctx, struct str type_id, struct arena *a, struct wf_type *out) {
    (void)ctx, (void)a;
    *out = (struct wf_type){.type_id = STR("core.setVariable"), .config = STR(CONFIG)};
    return str_eq(type_id, out->type_id);
}

static bool type_name(void *ctx, size_t i, struct arena *a, struct str *type_id) {
    (void)ctx, (void)a;
    *type_id = STR("core.setVariable");
    return i == 0;
}

static const struct wf_types TYPES = {.find = type_find, .name = type_name};

/* A finding has a place and a text, whatever stands in the definition. */
static void take_finding(void *ctx, const struct lint_finding *f) {
    (void)ctx;
    ASSERT(f->text[0] != '\0' && memchr(f->pointer, '\0', sizeof f->pointer) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct str text = str_n((const char *)data, len);
    struct workflow *w = NULL, *again = NULL;
    struct wopr_error err;
    if (len > FUZZ_BYTES_MAX) return 0;
    if (json_check(text, &JSON_LIMITS_DEFAULT, NULL) != 0) return 0;
    wopr_error_clear(&err);
    ASSERT(workflow_lint(text, &TYPES, take_finding, NULL, &err) == 0);
    int rc = workflow_compile(text, NULL, &w, &err);
    if (rc != 0) {
        ASSERT(w == NULL && rc == WOPR_E_VALIDATION && err.message[0] != '\0');
        return 0;
    }
    check_graph(w);
    ASSERT(workflow_compile(text, NULL, &again, &err) == 0);
    ASSERT(sha256_eq(&w->hash, &again->hash));
    check_run(w);
    workflow_unref(again);
    workflow_unref(w);
    return 0;
}
