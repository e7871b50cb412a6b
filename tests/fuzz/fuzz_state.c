/*
 * fuzz_state.c: bytes become the members of an image of a state (state_save.h); magic, length,
 * checksum and what the image belongs to are made right, so that every byte reaches the reader.
 * Properties: the reader never crashes and believes no number; what it takes holds together
 * (run_state_broken), can be projected, scheduled and saved, is the same after being saved and
 * loaded again, and goes on: each kind of event at each node is folded or refused.
 */
#include "base/mem.h"
#include "domain/plan.h"
#include "domain/state_save.h"

#include <stdint.h>

enum { FUZZ_IMAGE_MAX = 1 << 20, FUZZ_BASIS = 32 /* a digest */ };

#define NODE(id)                                                                                   \
    "{\"id\":\"" id "\",\"typeId\":\"core.noop\",\"name\":\"n\","                                  \
    "\"position\":{\"x\":0,\"y\":0},\"config\":{\"ttlMs\":3},\"inputs\":{}}"
#define EDGE(id, from, to, rule)                                                                   \
    "{\"id\":\"" id "\",\"sourceNodeId\":\"" from "\",\"targetNodeId\":\"" to                      \
    "\",\"triggerRule\":\"" rule "\"}"
/* clang-format off */
static const char WORKFLOW[] =
    "{\"id\":\"f\",\"name\":\"f\",\"version\":\"1\",\"nodes\":["
    NODE("a") "," NODE("b") "," NODE("c") "," NODE("d") "],\"edges\":["
    EDGE("1", "a", "b", "any_success") "," EDGE("2", "b", "c", "any_failed") ","
    EDGE("3", "c", "b", "all_complete") "],"
    "\"triggers\":[{\"id\":\"t\",\"type\":\"channel-write\",\"nodeId\":\"d\",\"config\":"
    "{\"channel\":\"p\",\"debounceMs\":3}}],"
    "\"variables\":[{\"name\":\"x\",\"type\":\"number\",\"defaultValue\":1}],"
    "\"channels\":{\"p\":{\"reducer\":\"append\",\"maxSize\":3,\"ttlMs\":5},"
    "\"s\":{\"reducer\":\"counter\"}},"
    "\"metadata\":{},\"settings\":{\"maxLoopbackIterations\":2}}";
/* clang-format on */
static const char *const NODES[] = {"a", "b", "c", "d", ""};
/* Members of all kinds at once. */
#define PAYLOAD                                                                                    \
    "{\"outputs\":{\"o\":1},\"error\":{\"code\":\"c\",\"message\":\"m\"},\"kind\":\"approval\","   \
    "\"key\":\"k\",\"interruptId\":\"i\",\"attempt\":1,\"delayMs\":2,\"name\":\"x\",\"next\":2,"   \
    "\"changeId\":\"v\",\"version\":1,\"toAgentId\":\"z\",\"channel\":"
static const char *const PAYLOADS[] = {
    PAYLOAD "\"p\",\"value\":1,\"reducer\":\"append\"}",
    PAYLOAD "\"s\",\"value\":1.5,\"reducer\":\"counter\"}",
    PAYLOAD "\"new\",\"value\":{\"voter\":\"w\"},\"reducer\":\"votes\"}",
};

static struct workflow *workflow;
static struct run_meta meta_of(void) {
    return (struct run_meta){
        .run_id = STR("run_fuzz"), .workflow_id = STR("f"), .inputs = STR("{\"x\":3}")};
}

static void image_seal(struct buf *b) {
    const uint64_t numbers[] = {
        b->len,
        str_hash(str_n(b->p + STATE_IMAGE_HEAD, b->len - STATE_IMAGE_HEAD), STATE_IMAGE_SEED)};
    for (size_t i = 0; i < 16; i++) b->p[8 + i] = (char)(numbers[i / 8] >> (8 * (i % 8)));
}

static struct run_state *image_load(struct str image) {
    struct run_state *s = NULL;
    struct state_aside aside;
    const struct run_meta meta = meta_of();
    int rc = run_state_load(image, workflow, &meta, &RUN_LIMITS_DEFAULT, &s, &aside, NULL);
    ASSERT(rc == 0 || rc == WOPR_E_CORRUPT);
    return rc == 0 ? s : NULL;
}

static void image_of(const struct run_state *s, struct buf *b) {
    const struct state_aside aside = {0};
    buf_init(b, FUZZ_IMAGE_MAX);
    int rc = run_state_save(s, &aside, b);
    ASSERT(rc == 0);
}

/* Head and basis of a fresh run, then the bytes. */
static void image_make(const uint8_t *data, size_t len, struct buf *b) {
    struct run_state *s = NULL;
    if (!workflow) {
        const struct wf_env env = {0};
        int rc = workflow_compile(str_n(WORKFLOW, sizeof WORKFLOW - 1), &env, &workflow, NULL);
        ASSERT(rc == 0);
    }
    const struct run_meta meta = meta_of();
    int rc = run_state_new(workflow, &meta, &RUN_LIMITS_DEFAULT, &s, NULL);
    ASSERT(rc == 0);
    image_of(s, b);
    run_state_free(s);
    b->len = STATE_IMAGE_HEAD + FUZZ_BASIS;
    buf_add(b, data, len);
    image_seal(b);
}

static void go_on(struct str image, int kind, const char *node, const char *payload) {
    struct run_state *s = image_load(image);
    ASSERT(s != NULL);
    const struct event e = {.seq = s->next_seq,
                            .kind = (enum ev_kind)kind,
                            .type = str_c(event_name((enum ev_kind)kind)),
                            .node_id = str_c(node),
                            .causation_seq = -1,
                            .ts_ms = s->last_ts_ms + 1,
                            .schema_version = 1,
                            .engine_version = 1,
                            .payload = str_c(payload)};
    int rc = run_state_apply(s, &e, NULL);
    ASSERT(rc == 0 || rc == WOPR_E_CORRUPT);
    struct sched_action act;
    if (rc == 0) sched_next(s, s->last_ts_ms, &act);
    run_state_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct buf b, again, third;
    if (len > FUZZ_IMAGE_MAX / 2) return 0;
    image_make(data, len, &b);
    struct run_state *s = image_load(buf_str(&b));
    if (s) {
        struct sched_action act;
        ASSERT(run_state_broken(s) == NULL);
        sched_next(s, s->last_ts_ms, &act);
        image_of(s, &again);
        struct run_state *t = image_load(buf_str(&again));
        ASSERT(t != NULL);
        image_of(t, &third);
        ASSERT(str_eq(buf_str(&again), buf_str(&third)));
        for (int kind = 0; kind < EV_NR; kind++)
            for (size_t n = 0; n < sizeof NODES / sizeof *NODES; n++)
                go_on(buf_str(&again), kind, NODES[n],
                      PAYLOADS[(size_t)kind % (sizeof PAYLOADS / sizeof *PAYLOADS)]);
        for (size_t n = 0; n < sizeof PAYLOADS / sizeof *PAYLOADS; n++)
            go_on(buf_str(&again), EV_CHANNEL_WRITTEN, "a", PAYLOADS[n]);
        struct plan *p = plan_new();
        run_state_soil(t);
        if (p) plan_project(p, t, 0);
        plan_unref(p);
        buf_fini(&again);
        buf_fini(&third);
        run_state_free(t);
    }
    run_state_free(s);
    buf_fini(&b);
    return 0;
}
