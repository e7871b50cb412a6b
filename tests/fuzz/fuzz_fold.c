/*
 * fuzz_fold.c: bytes become a list of events over a small workflow (20-runtime 1.5).
 * Properties: the fold never crashes; after a success the state holds together (run_state_broken);
 * a finished run takes nothing; folding the accepted events again gives the same shown state
 * (EVT-41).
 */
#include "base/mem.h"
#include "codec/json.h"
#include "domain/state.h"

#include <stdint.h>

enum { FUZZ_EVENTS_MAX = 200, FUZZ_TEXT_MAX = 256 };

#define NODE(id)                                                                                   \
    "{\"id\":\"" id "\",\"typeId\":\"core.noop\",\"name\":\"n\","                                  \
    "\"position\":{\"x\":0,\"y\":0},\"config\":{\"ttlMs\":3},\"inputs\":{}}"
#define EDGE(id, from, to, rule)                                                                   \
    "{\"id\":\"" id "\",\"sourceNodeId\":\"" from "\",\"targetNodeId\":\"" to                      \
    "\",\"triggerRule\":\"" rule "\"}"
#define NODES_TEXT NODE("a") "," NODE("b") "," NODE("c") "," NODE("d")
#define EDGES_1_2  EDGE("1", "a", "b", "all_success") "," EDGE("2", "a", "c", "any_failed")
#define EDGES_3_4  EDGE("3", "b", "d", "any_success") "," EDGE("4", "d", "b", "all_success")
/* clang-format off */
static const char WORKFLOW[] =
    "{\"id\":\"f\",\"name\":\"f\",\"version\":\"1\",\"nodes\":[" NODES_TEXT "],"
    "\"edges\":[" EDGES_1_2 "," EDGES_3_4 "],\"triggers\":[],"
    "\"variables\":[{\"name\":\"x\",\"type\":\"number\",\"defaultValue\":1,\"sensitive\":true}],"
    "\"channels\":{\"p\":{\"reducer\":\"append\",\"maxSize\":3,\"ttlMs\":5},"
    "\"q\":{\"reducer\":\"votes\"},\"r\":{\"reducer\":\"merge\"},"
    "\"s\":{\"reducer\":\"counter\",\"sensitive\":true}},"
    "\"metadata\":{},\"settings\":{\"maxLoopbackIterations\":2}}";
/* clang-format on */

static const char *const NODES[] = {"a", "b", "c", "d", "", "nobody"};
static const char *const PAYLOADS[] = {
    "{}",
    "{\"outputs\":{\"o\":1},\"error\":{\"code\":\"c\",\"message\":\"m\"}}",
    "{\"kind\":\"approval\"}",
    "{\"reason\":\"pause-drain\"}",
    "{\"attempt\":1,\"delayMs\":2}",
    "{\"channel\":\"p\",\"value\":1,\"reducer\":\"append\"}",
    "{\"channel\":\"q\",\"value\":{\"voter\":\"\\u0061\"},\"reducer\":\"votes\"}",
    "{\"channel\":\"q\",\"value\":{\"messageId\":7},\"reducer\":\"message\"}",
    "{\"channel\":\"r\",\"value\":{\"k\":[1]},\"reducer\":\"merge\"}",
    "{\"channel\":\"s\",\"value\":9223372036854775807,\"reducer\":\"counter\"}",
    "{\"channel\":\"\\u0073\",\"value\":\"[REDACTED]\",\"reducer\":\"counter\"}",
    "{\"channel\":\"new\",\"value\":null,\"reducer\":\"append\"}",
    "{\"name\":\"x\",\"next\":2}",
    "{\"toAgentId\":\"abc\"}",
    "{\"interruptedNodeId\":\"b\"}",
};
#define PAYLOADS_NR (sizeof PAYLOADS / sizeof PAYLOADS[0])

static struct workflow *workflow;

static struct run_state *fresh(void) {
    const struct run_meta meta = {
        .run_id = STR("run_fuzz"), .workflow_id = STR("f"), .inputs = STR("{\"x\":3}")};
    const struct run_limits limits = RUN_LIMITS_DEFAULT;
    struct run_state *s = NULL;
    if (!workflow) {
        const struct wf_env env = {0};
        int rc = workflow_compile(str_n(WORKFLOW, sizeof WORKFLOW - 1), &env, &workflow, NULL);
        ASSERT(rc == 0);
    }
    int rc = run_state_new(workflow, &meta, &limits, &s, NULL);
    ASSERT(rc == 0);
    return s;
}

/* One event out of up to 4 bytes and a text; returns the bytes used. */
static size_t event_make(const uint8_t *data, size_t len, const struct run_state *s,
                         struct event *e) {
    size_t used = 4;
    if (len < used) return 0;
    *e = (struct event){.seq = s->next_seq,
                        .ts_ms = s->last_ts_ms + data[3] % 8,
                        .causation_seq = -1,
                        .schema_version = 1,
                        .engine_version = 1};
    e->kind = data[0] < EV_NR ? (enum ev_kind)data[0] : EV_UNKNOWN;
    e->type = str_c(event_name(e->kind));
    e->node_id = str_c(NODES[data[1] % (sizeof NODES / sizeof NODES[0])]);
    if (data[2] < 0xc0) {
        e->payload = str_c(PAYLOADS[data[2] % PAYLOADS_NR]);
    } else { /* text of its own, as the fuzzer likes it */
        size_t n = len - used < FUZZ_TEXT_MAX ? len - used : FUZZ_TEXT_MAX;
        if (n > (size_t)(data[2] - 0xc0) * 4) n = (size_t)(data[2] - 0xc0) * 4;
        e->payload = str_n((const char *)data + used, n);
        used += n;
    }
    return used;
}

static void show(const struct run_state *s, struct buf *b) {
    buf_addf(b, "%d %lld %d %lld %lld", (int)s->status, (long long)s->next_seq, s->current_node,
             (long long)s->clock.waited_ms, (long long)s->started_count);
    for (size_t i = 0; i < s->wf->nodes_nr; i++) node_state_render(&s->nodes[i], b);
    for (size_t i = 0; i < s->variables.n; i++) buf_adds(b, text_str(&s->variables.v[i].value));
    for (size_t i = 0; i < s->channels.n; i++) {
        int rc = chan_value(&s->channels.v[i], 0, b);
        ASSERT(rc == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct event taken[FUZZ_EVENTS_MAX];
    size_t nr = 0;
    struct run_state *s = fresh(), *again = fresh();
    bool sound = true;
    while (nr < FUZZ_EVENTS_MAX) {
        size_t used = event_make(data, len, s, &taken[nr]);
        if (used == 0) break;
        data += used;
        len -= used;
        bool final = run_status_final(s->status);
        int rc = run_state_apply(s, &taken[nr], NULL);
        ASSERT(rc == 0 || rc == WOPR_E_CORRUPT);
        ASSERT(!(final && rc == 0));
        if (rc != 0) {
            sound = false; /* half moved: it is not looked at again */
            break;
        }
        ASSERT(run_state_broken(s) == NULL);
        nr++;
    }
    for (size_t i = 0; i < nr; i++) {
        int rc = run_state_apply(again, &taken[i], NULL);
        ASSERT(rc == 0);
    }
    if (sound) {
        struct buf x, y;
        buf_init(&x, 1u << 20);
        buf_init(&y, 1u << 20);
        show(s, &x);
        show(again, &y);
        ASSERT(str_eq(buf_str(&x), buf_str(&y)));
        buf_fini(&x);
        buf_fini(&y);
    }
    run_state_free(s);
    run_state_free(again);
    return 0;
}
