/* fold_world.c: see fold_world.h. */
#include "fold_world.h"

#include "base/mem.h"

#define FW_NODE(id)                                                                                \
    "{\"id\":\"" id "\",\"typeId\":\"core.noop\",\"name\":\"" id "\",\"position\":{\"x\":0,"       \
    "\"y\":0},\"config\":{},\"inputs\":{}}"
#define FW_TTL_NODE                                                                                \
    "{\"id\":\"t\",\"typeId\":\"core.channelWrite\",\"name\":\"t\",\"position\":{\"x\":0,\"y\":0}" \
    ","                                                                                            \
    "\"config\":{\"channelName\":\"events\",\"ttlMs\":200,\"value\":1},\"inputs\":{}}"
#define FW_EDGE(id, from, to)                                                                      \
    "{\"id\":\"" id "\",\"sourceNodeId\":\"" from "\",\"targetNodeId\":\"" to "\"}"
#define FW_TAIL                                                                                    \
    "\"variables\":[{\"name\":\"x\",\"type\":\"number\",\"defaultValue\":1},"                      \
    "{\"name\":\"secret\",\"type\":\"string\",\"sensitive\":true},"                                \
    "{\"name\":\"unset\",\"type\":\"string\"}],"                                                   \
    "\"channels\":{\"log\":{\"reducer\":\"append\"},"                                              \
    "\"last3\":{\"reducer\":\"append\",\"maxSize\":3},"                                            \
    "\"young\":{\"reducer\":\"append\",\"ttlMs\":100},"                                            \
    "\"sum\":{\"reducer\":\"counter\"},\"small\":{\"reducer\":\"counter\",\"maxSize\":10},"        \
    "\"doc\":{\"reducer\":\"merge\",\"maxSize\":3},\"votes\":{\"reducer\":\"votes\"},"             \
    "\"chat\":{\"reducer\":\"message\",\"schema\":{\"type\":\"array\"}},"                          \
    "\"typed\":{\"reducer\":\"append\",\"schema\":{\"type\":\"integer\"}},"                        \
    "\"state\":{\"reducer\":\"replace\",\"default\":{\"v\":0}},"                                   \
    "\"hidden\":{\"reducer\":\"counter\",\"sensitive\":true}},"                                    \
    "\"metadata\":{},\"settings\":{}}"

const char *const FW_PARALLEL =
    "{\"id\":\"parallel\",\"name\":\"parallel\",\"version\":\"1.0\",\"nodes\":[" FW_NODE(
        "a") "," FW_NODE("b") "," FW_NODE("c") "," FW_TTL_NODE
                                               "],\"edges\":[],\"triggers\":[]," FW_TAIL;

const char *const FW_CHAIN =
    "{\"id\":\"chain\",\"name\":\"chain\",\"version\":\"1.0\",\"nodes\":[" FW_NODE("a") "," FW_NODE(
        "b") "," FW_NODE("c") "],\"edges\":[" FW_EDGE("ab", "a",
                                                      "b") "," FW_EDGE("bc", "b",
                                                                       "c") "],\"triggers\":[]"
                                                                            "," FW_TAIL;

const char *const FW_LOOP =
    "{\"id\":\"loop\",\"name\":\"loop\",\"version\":\"1.0\",\"nodes\":[" FW_NODE("a") "," FW_NODE(
        "b") "],\"edges\":[" FW_EDGE("ab", "a", "b") "," FW_EDGE("ba", "b",
                                                                 "a") "],\"triggers\":[]," FW_TAIL;

struct workflow *fw_compile(const char *text) {
    const struct wf_env env = {0};
    struct workflow *wf = NULL;
    struct wopr_error err = {0};
    int rc = workflow_compile(str_c(text), &env, &wf, &err);
    cr_assert_eq(rc, 0, "%s at %s", err.message, err.pointer);
    return wf;
}

struct run_state *fw_state(struct workflow *wf, const char *inputs) {
    const struct run_meta meta = {
        .run_id = STR(FW_RUN_ID),
        .workflow_id = wf->id,
        .tenant = STR("default"),
        .tags = STR("[\"t\"]"),
        .inputs = str_c(inputs),
        .transport = STR("rest"),
        .shown_engine_version = CURRENT_ENGINE_VERSION,
        .created_ms = FW_T0,
    };
    struct run_state *s = NULL;
    struct wopr_error err = {0};
    int rc = run_state_new(wf, &meta, &RUN_LIMITS_DEFAULT, &s, &err);
    cr_assert_eq(rc, 0, "%s", err.message);
    return s;
}

void fw_up(struct fold_world *w, const char *workflow, const char *inputs) {
    *w = (struct fold_world){.now_ms = FW_T0};
    w->wf = fw_compile(workflow);
    w->s = fw_state(w->wf, inputs);
}

void fw_down(struct fold_world *w) {
    run_state_free(w->s);
    workflow_unref(w->wf);
}

int fw_event(struct fold_world *w, enum ev_kind k, const char *node, const char *payload) {
    const struct event e = {
        .seq = w->s->next_seq,
        .kind = k,
        .type = str_c(event_name(k)),
        .node_id = str_c(node),
        .causation_seq = -1,
        .ts_ms = ++w->now_ms,
        .schema_version = EVENT_SCHEMA_VERSION,
        .engine_version = CURRENT_ENGINE_VERSION,
        .payload = str_c(payload),
    };
    return run_state_apply(w->s, &e, &w->err);
}

void fw_take(struct fold_world *w, enum ev_kind k, const char *node, const char *payload) {
    int rc = fw_event(w, k, node, payload);
    cr_assert_eq(rc, 0, "%s: %s", event_name(k), w->err.message);
    const char *broken = run_state_broken(w->s);
    cr_assert_null(broken, "%s after %s", broken, event_name(k));
}

void fw_start(struct fold_world *w) { fw_take(w, EV_RUN_STARTED, "", "{\"workflowId\":\"w\"}"); }

void fw_node(struct fold_world *w, enum ev_kind k, const char *node) {
    char payload[256];
    snprintf(payload, sizeof payload,
             "{\"nodeId\":\"%s\",\"typeId\":\"core.noop\",\"interruptId\":\"i\",\"attempt\":%d,"
             "\"outputs\":{\"o\":\"%s\"},\"error\":{\"code\":\"c\",\"message\":\"m\"}}",
             node, k == EV_NODE_RETRIED ? 1 : 0, node);
    fw_take(w, k, node, payload);
}

const char *fw_chan(struct fold_world *w, const char *name, int64_t now_ms) {
    static char text[4096];
    struct chan_state *c = run_state_chan(w->s, str_c(name));
    struct buf b;
    if (!c) return NULL;
    buf_init(&b, sizeof text - 1);
    cr_assert_eq(chan_value(c, now_ms, &b), 0);
    snprintf(text, sizeof text, STR_FMT, STR_ARG(buf_str(&b)));
    buf_fini(&b);
    return text;
}

static void add_text(struct buf *b, const char *what, const struct text *t) {
    buf_addf(b, " %s=", what);
    buf_adds(b, text_str(t));
}

char *fw_text(const struct run_state *s) {
    struct buf b;
    buf_init(&b, 1u << 20);
    buf_addf(&b, "%s next=%lld start=%lld end=%lld n=%lld waited=%lld current=%d\n",
             run_status_name(s->status), (long long)s->next_seq, (long long)s->clock.started_ms,
             (long long)s->clock.completed_ms, (long long)s->started_count,
             (long long)s->clock.waited_ms, s->current_node);
    add_text(&b, "error", &s->error);
    add_text(&b, "outputs", &s->outputs);
    add_text(&b, "agent", &s->agent);
    for (size_t i = 0; i < s->wf->nodes_nr; i++) {
        buf_addf(&b, "\n%zu retry=%lld chunks=%d effects=%d ends=%d ", i,
                 (long long)s->nodes[i].retry_at_ms, s->nodes[i].chunks, s->nodes[i].effects,
                 s->nodes[i].terminal_n);
        node_state_render(&s->nodes[i], &b);
        add_text(&b, "clear", &s->nodes[i].clear);
    }
    for (size_t i = 0; i < s->variables.n; i++) {
        add_text(&b, "\nvar", &s->variables.v[i].name);
        add_text(&b, "is", &s->variables.v[i].value);
        add_text(&b, "shown", &s->variables.v[i].shown);
    }
    for (size_t i = 0; i < s->channels.n; i++) {
        add_text(&b, "\nchan", &s->channels.v[i].name);
        cr_assert_eq(chan_value(&s->channels.v[i], 0, &b), 0);
        buf_addf(&b, " sensitive=%d", s->channels.v[i].sensitive);
        add_text(&b, "shown", &s->channels.v[i].shown);
    }
    cr_assert_not(buf_failed(&b));
    return buf_take(&b, NULL);
}
