/*
 * fuzz_run.c: workflows made from the input, stored, run, answered and forked in a host of this
 * process.  Every byte decides something, so most inputs are definitions that the compiler takes.
 *  - no request is answered with 500;
 *  - a run ends, or waits for an answer, in bounded time;
 *  - a replay of a run that completed completes, and nothing differs (FORK-12, replay.diverged);
 *  - when the host goes, every projection equals the fold of its log.
 */
#include "inside.h"
#include "nodes/nodes.h"
#include "store/sqlite/sqlite.h"

enum { NODES_MAX = 8, ANSWERS_MAX = 8, INPUTS_PER_HOST = 400, END_MS = 40000, TEXT_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct inside w = {.fd = -1};
static struct store *shelf; /* a second handle, as "wopr workflow put" has it */
static struct schema_set *schemas;
static struct wf_env env;
static struct {
    const uint8_t *p;
    size_t n;
} left;

static unsigned take(unsigned below) {
    if (left.n == 0) return 0;
    left.n--;
    return *left.p++ % below;
}

/* --- a definition --- */

/* Texts with %u: a small number of the input. */
static const char *const NODE_BODIES[] = {
    "\"typeId\":\"core.noop\",\"config\":{},\"inputs\":{}",
    "\"typeId\":\"core.identity\",\"config\":{},\"inputs\":{\"a\":{\"type\":\"variable\","
    "\"variableName\":\"v%u\"}}",
    "\"typeId\":\"core.identity\",\"config\":{},\"inputs\":{\"a\":{\"type\":\"expression\","
    "\"expression\":\"variables.v1 + %u\"}}",
    "\"typeId\":\"core.identity\",\"config\":{},\"inputs\":{\"a\":{\"type\":\"static\",\"value\":[%"
    "u,"
    "null,{\"k\":\"x\"}]}}",
    "\"typeId\":\"core.setVariable\",\"config\":{\"name\":\"v1\",\"value\":%u},\"inputs\":{}",
    "\"typeId\":\"core.setVariable\",\"config\":{\"name\":\"v2\",\"value\":{\"n\":%u}},\"inputs\":{"
    "}",
    "\"typeId\":\"core.getVariable\",\"config\":{\"name\":\"v%u\"},\"inputs\":{}",
    "\"typeId\":\"core.delay\",\"config\":{\"delayMs\":%u},\"inputs\":{}",
    "\"typeId\":\"core.fail\",\"config\":{\"code\":\"c%u\",\"message\":\"m\"},\"inputs\":{}",
    "\"typeId\":\"core.channelWrite\",\"config\":{\"channel\":\"log\",\"value\":%u},\"inputs\":{}",
    "\"typeId\":\"core.channelWrite\",\"config\":{\"channel\":\"count\",\"value\":%u},\"inputs\":{"
    "}",
    "\"typeId\":\"core.approvalGate\",\"config\":{\"title\":\"t%u\",\"actions\":[\"accept\","
    "\"reject\",\"ask\",\"refine\"]},\"inputs\":{}",
    "\"typeId\":\"core.clarificationGate\",\"config\":{\"questions\":[{\"id\":\"q1\",\"question\":"
    "\"q%u\"}]},\"inputs\":{}",
    "\"typeId\":\"core.interrupt\",\"config\":{\"kind\":\"custom\",\"data\":{\"n\":%u}},"
    "\"inputs\":{}",
    "\"typeId\":\"core.interrupt\",\"config\":{\"kind\":\"approval\",\"data\":{\"title\":\"t%u\"},"
    "\"timeoutMs\":5},\"inputs\":{}",
    "\"typeId\":\"core.loop\",\"config\":{\"maxIterations\":%u},\"inputs\":{}",
    "\"typeId\":\"core.parallel\",\"config\":{\"n\":%u},\"inputs\":{}",
    "\"typeId\":\"core.merge\",\"config\":{\"n\":%u},\"inputs\":{}",
    "\"typeId\":\"core.conditional\",\"config\":{\"n\":%u},\"inputs\":{}",
    "\"typeId\":\"core.subWorkflow\",\"config\":{\"workflowId\":\"conformance-noop\",\"n\":%u},"
    "\"inputs\":{}",
};
static const char *const CONDITIONS[] = {
    NULL,
    "{\"type\":\"equals\",\"left\":\"output.action\",\"right\":\"accept\"}",
    "{\"type\":\"expression\",\"expression\":\"output.done == false\"}",
    "{\"type\":\"expression\",\"expression\":\"output.done == true\"}",
    "{\"type\":\"expression\",\"expression\":\"variables.v1 > 2\"}",
    "{\"type\":\"expression\",\"expression\":\"1 / 0 == 2\"}",
};
static const char *const SETTINGS[] = {"", ",\"settings\":{\"maxRetries\":2,\"retryDelayMs\":1}",
                                       ",\"settings\":{\"timeout\":3}",
                                       ",\"settings\":{\"continueOnError\":true}"};
#define COUNT(a) ((unsigned)(sizeof(a) / sizeof *(a)))

static void add_nodes(struct buf *b, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        buf_addf(b, "%s{\"id\":\"n%u\",\"name\":\"N\",\"position\":{\"x\":0,\"y\":0},",
                 i > 0 ? "," : "", i);
        const char *text = NODE_BODIES[take(COUNT(NODE_BODIES))], *at = strstr(text, "%u");
        buf_adds(b, str_n(text, at != NULL ? (size_t)(at - text) : strlen(text)));
        if (at != NULL) buf_addf(b, "%u%s", take(6), at + 2);
        buf_addz(b, SETTINGS[take(8) % COUNT(SETTINGS)]);
        buf_addz(b, "}");
    }
}

static void add_edges(struct buf *b, unsigned nodes) {
    unsigned n = take(2 * nodes + 1), written = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned from = take(nodes), to = take(nodes);
        const char *condition = CONDITIONS[take(COUNT(CONDITIONS))];
        buf_addf(b, "%s{\"id\":\"e%u\",\"sourceNodeId\":\"n%u\",\"targetNodeId\":\"n%u\"",
                 written++ > 0 ? "," : "", i, from, to);
        if (condition != NULL) buf_addf(b, ",\"condition\":%s", condition);
        buf_addz(b, "}");
    }
}

static void definition(struct buf *b, unsigned no) {
    unsigned nodes = 1 + take(NODES_MAX);
    buf_addf(b, "{\"id\":\"fz-%u\",\"name\":\"F\",\"version\":\"1\",\"nodes\":[", no);
    add_nodes(b, nodes);
    buf_addz(b, "],\"edges\":[");
    add_edges(b, nodes);
    buf_addz(b, "],\"triggers\":[],\"metadata\":{},\"settings\":{\"timeout\":60000,"
                "\"maxLoopbackIterations\":5},\"channels\":{\"log\":{\"reducer\":\"append\"},"
                "\"count\":{\"reducer\":\"counter\"}},\"variables\":[{\"name\":\"v1\",\"type\":"
                "\"number\",\"defaultValue\":1},{\"name\":\"v2\",\"type\":\"object\"}]}");
}

/* --- its life --- */

static void gone(void) {
    store_close(shelf);
    shelf = NULL;
    inside_down(&w);
    schema_set_free(schemas);
    schemas = NULL;
}

static void up(void) {
    char db[240];
    struct store_config cfg = {.sync = STORE_SYNC_OFF, .busy_timeout_ms = 5000};
    inside_up(&w);
    snprintf(db, sizeof db, "%s/w.db", w.dir);
    cfg.path = db;
    ASSERT(store_open(&cfg, &shelf, NULL) == 0);
    if (schemas != NULL) return;
    ASSERT(definition_schema_new(&schemas, &env.definition_schema, NULL) == 0);
    env.config_wrong = nodes_config_wrong;
}

static bool stored(unsigned no) {
    struct wopr_error err = {0};
    enum put_result what;
    static const struct workflow_terms ANY = {0, WORKFLOW_ANY};
    struct buf b;
    struct arena *a = arena_new(16u << 20);
    buf_init(&b, TEXT_MAX);
    definition(&b, no);
    ASSERT(a != NULL && !buf_failed(&b));
    int rc = seed_text(shelf, buf_str(&b), STR(""), &env, &ANY, a, &what, &err);
    buf_fini(&b);
    arena_free(a);
    return rc == 0;
}

static bool says(struct str snap, const char *key, const char *want) {
    struct str raw = json_get(snap, key);
    return raw.n > 2 && str_eqc(str_n(raw.p + 1, raw.n - 2), want);
}

static bool ended(struct str snap) {
    return says(snap, "status", "completed") || says(snap, "status", "failed") ||
           says(snap, "status", "cancelled");
}

/* Until the run has ended, or shows a question when it may; the snapshot lives until the next
 * request. */
static struct str settled_or(const char *run, bool may_ask) {
    const uint64_t end = clock_mono_ms() + END_MS;
    struct str snap = STR_NONE;
    char path[128];
    snprintf(path, sizeof path, "/v1/runs/%s", run);
    while (clock_mono_ms() < end) {
        int status = inside_json(&w, path, STR_NONE, &snap);
        if (status != 200)
            fprintf(stderr, "run: %s: %d " STR_FMT "\n", path, status, STR_ARG(snap));
        ASSERT(status == 200 || status == 503); /* 503: asked again */
        bool asks = may_ask && json_get(snap, "interrupt").n > 0;
        if (status == 200 && (ended(snap) || asks)) return snap;
        inside_nap(1);
    }
    fprintf(stderr, "run: neither ended nor waits: " STR_FMT "\n", STR_ARG(snap));
    ASSERT(!"a run ends or waits for an answer");
    return snap;
}

static struct str settled(const char *run) { return settled_or(run, true); }

static void answer(const char *run, struct str snap) {
    static const char *const values[] = {
        "{\"resumeValue\":{\"action\":\"accept\"}}",
        "{\"resumeValue\":{\"action\":\"reject\",\"comment\":\"no\"}}",
        "{\"resumeValue\":{\"action\":\"ask\",\"comment\":\"why\"}}",
        "{\"resumeValue\":{\"action\":\"refine\",\"feedback\":\"more\"}}",
        "{\"resumeValue\":{\"answers\":{\"q1\":\"blue\"}}}",
        "{\"resumeValue\":{\"n\":1}}",
        "{\"resumeValue\":null}",
        "{}"};
    struct str node = json_get(json_get(snap, "interrupt"), "nodeId"), out;
    char path[200];
    snprintf(path, sizeof path, "/v1/runs/%s/interrupts/%.*s", run,
             node.n > 2 ? (int)node.n - 2 : 0, node.n > 2 ? node.p + 1 : "");
    (void)inside_json(&w, path, str_c(values[take(COUNT(values))]), &out);
}

static void command(const char *run, const char *tail) {
    struct str out;
    char path[200];
    snprintf(path, sizeof path, "/v1/runs/%s%s", run, tail);
    (void)inside_json(&w, path, STR("{}"), &out);
}

/* True when it completed by itself and by the answers. */
static bool lived(const char *run) {
    struct str snap = settled(run);
    for (unsigned i = 0; i < ANSWERS_MAX && !ended(snap); i++) {
        unsigned dice = take(16);
        if (dice == 0) command(run, ":pause"), command(run, ":resume");
        answer(run, snap);
        snap = settled(run);
    }
    bool completed = says(snap, "status", "completed");
    if (!ended(snap)) command(run, "/cancel");
    return completed;
}

static bool forked(const char *run, const char *mode, unsigned from, char id[64]) {
    char path[200], body[96];
    struct str out;
    snprintf(path, sizeof path, "/v1/runs/%s:fork", run);
    snprintf(body, sizeof body, "{\"mode\":\"%s\",\"fromSeq\":%u}", mode, from);
    return inside_json(&w, path, str_c(body), &out) == 201 && inside_run_id(out, id);
}

static void replayed(const char *run) { /* of a run that completed */
    char id[64], path[200];
    struct str out;
    ASSERT(forked(run, "replay", 0, id));
    /* Between a question and its recorded answer other nodes may run: then it is seen waiting. */
    ASSERT(says(settled_or(id, false), "status", "completed"));
    snprintf(path, sizeof path, "/v1/runs/%s/events/poll?lastSequence=0&timeout=1", id);
    ASSERT(inside_json(&w, path, STR_NONE, &out) == 200);
    bool diverged = out.n > 0 && strstr(out.p, "\"replay.diverged\"") != NULL;
    if (diverged) fprintf(stderr, "run: replay of %s: " STR_FMT "\n", run, STR_ARG(out));
    ASSERT(!diverged);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    static bool once;
    char run[64], id[64], body[64];
    struct str out;
    if (!once) (void)atexit(gone);
    once = true;
    if (w.host == NULL) up();
    left.p = data;
    left.n = len;
    unsigned no = w.inputs++;
    if (stored(no)) {
        snprintf(body, sizeof body, "{\"workflowId\":\"fz-%u\"}", no);
        if (inside_json(&w, "/v1/runs", str_c(body), &out) == 201 && inside_run_id(out, run)) {
            if (lived(run)) replayed(run);
            if (forked(run, "branch", take(12), id)) (void)lived(id);
        }
    }
    if (w.inputs >= INPUTS_PER_HOST) {
        store_close(shelf);
        shelf = NULL;
        inside_down(&w);
    }
    return 0;
}
