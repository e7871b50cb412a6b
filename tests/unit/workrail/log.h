/* log.h: sessions event by event, at given indices; holes are filled with observations. */
#ifndef WOPR_TESTS_UNIT_WORKRAIL_LOG_H
#define WOPR_TESTS_UNIT_WORKRAIL_LOG_H

#include "kit.h"

struct log {
    struct wr_session *s;
    struct kit_counter counter;
    struct wr_minter mint;
    struct wr_fault f;
    int fillers;
};

static inline struct str log_hash(char digit) {
    char z[72];
    memcpy(z, "sha256:", 7);
    memset(z + 7, digit, 64);
    return arena_str(kit_a, str_n(z, 71));
}
static inline struct str log_node(const char *name) { return arena_printf(kit_a, "node_%s", name); }

static inline struct wr_event log_blank(enum wr_kind kind, const char *node) {
    return (struct wr_event){.kind = (int)kind,
                             .session_id = str_c(KIT_S),
                             .run_id = str_c(KIT_R),
                             .node_id = node != NULL ? log_node(node) : STR_NONE};
}

/* 0, or the refusal of the fold (l->f). */
static inline int log_try(struct log *l, struct wr_event in, struct str part) {
    struct wr_event *e = ARENA_NEW(kit_a, struct wr_event);
    struct wr_id id = wr_id_joined("evt", arena_printf(kit_a, "%d", (int)l->s->next_index), -1);
    *e = in;
    e->index = l->s->next_index;
    e->event_id = arena_str(kit_a, wr_id_str(&id));
    e->dedupe_key = wr_dedupe_key(e, part, kit_a);
    cr_assert_eq(wr_event_seal(e, kit_a, &l->f), 0, "%s %s", l->f.e.pointer, l->f.e.message);
    return wr_session_add(l->s, e, &l->f);
}
static inline void log_put(struct log *l, struct wr_event e, struct str part) {
    cr_assert_eq(log_try(l, e, part), 0, "%s", l->f.e.message);
}

static inline void log_fill(struct log *l, int64_t index) {
    while (l->s->next_index < index) {
        struct wr_event e = log_blank(WR_OBSERVATION_RECORDED, NULL);
        e.run_id = STR_NONE;
        e.u.observation.value = arena_printf(kit_a, "filler %d", l->fillers++);
        log_put(l, e, STR_NONE);
    }
}

static inline void log_open(struct log *l) {
    *l = (struct log){.s = wr_session_new(kit_a)};
    struct wr_event e = log_blank(WR_SESSION_CREATED, NULL);
    e.run_id = STR_NONE;
    log_put(l, e, STR_NONE);
    e = log_blank(WR_RUN_STARTED, NULL);
    e.u.run.workflow_id = STR("project.auth_review");
    e.u.run.workflow_hash = log_hash('a');
    e.u.run.source_kind = WR_PROJECT;
    e.u.run.source_ref = STR("x.json");
    log_put(l, e, STR_NONE);
}
static inline void log_close(struct log *l) { wr_session_free(l->s); }

static inline struct wr_event log_creation(const char *name, const char *parent,
                                           enum wr_node_kind kind) {
    struct wr_event e = log_blank(WR_NODE_CREATED, name);
    e.u.node.kind = (int)kind;
    e.u.node.parent_node_id = parent != NULL ? log_node(parent) : STR_NONE;
    e.u.node.workflow_hash = log_hash('a');
    e.u.node.snapshot_ref = log_hash('b');
    return e;
}
static inline void log_create(struct log *l, int64_t index, const char *name, const char *parent,
                              enum wr_node_kind kind) {
    log_fill(l, index);
    log_put(l, log_creation(name, parent, kind), STR_NONE);
}
static inline void log_edge(struct log *l, int64_t index, const char *from, const char *to,
                            enum wr_edge_kind kind) {
    struct wr_event e = log_blank(WR_EDGE_CREATED, NULL);
    log_fill(l, index);
    e.u.edge.kind = (int)kind;
    e.u.edge.cause = kind == WR_EDGE_ACKED ? WR_INTENTIONAL_FORK : WR_CHECKPOINT_CREATED;
    e.u.edge.cause_event_id = STR("evt_0");
    e.u.edge.from_node_id = log_node(from);
    e.u.edge.to_node_id = log_node(to);
    log_put(l, e, STR_NONE);
}
static inline struct wr_event log_output(const char *node, const char *id, const char *supersedes,
                                         enum wr_channel channel) {
    struct wr_event e = log_blank(WR_NODE_OUTPUT_APPENDED, node);
    e.u.output.output_id = arena_printf(kit_a, "out_%s", id);
    if (supersedes != NULL) e.u.output.supersedes = arena_printf(kit_a, "out_%s", supersedes);
    e.u.output.channel = e.u.output.payload_kind = (int)channel;
    e.u.output.notes = arena_printf(kit_a, "notes of %s", id);
    e.u.output.sha256 = log_hash('c');
    e.u.output.content_type = STR("application/json");
    return e;
}
static inline struct wr_event log_gap(const char *node, const char *id, enum wr_severity severity,
                                      int detail, const char *resolves) {
    struct wr_event e = log_blank(WR_GAP_RECORDED, node);
    e.u.gap.gap_id = arena_printf(kit_a, "gap_%s", id);
    e.u.gap.severity = (int)severity;
    e.u.gap.detail = detail;
    e.u.gap.category = (int)wr_detail_category(detail);
    e.u.gap.summary = STR("gap");
    e.u.gap.resolution = resolves != NULL;
    if (resolves != NULL) e.u.gap.resolves = arena_printf(kit_a, "gap_%s", resolves);
    return e;
}
static inline struct wr_event log_preferences(const char *node, const char *id, int autonomy,
                                              int risk) {
    static struct wr_delta delta[16][2];
    static size_t at;
    struct wr_delta *d = delta[at++ % 16];
    struct wr_event e = log_blank(WR_PREFERENCES_CHANGED, node);
    d[0] = (struct wr_delta){0, autonomy};
    d[1] = (struct wr_delta){1, risk};
    e.u.preferences.change_id = arena_printf(kit_a, "prefchg_%s", id);
    e.u.preferences.delta.v = d;
    e.u.preferences.delta.nr = 2;
    e.u.preferences.effective = (struct wr_preferences){autonomy, risk};
    return e;
}

#endif
