/*
 * snapshot.c: RunSnapshot (RUN-10 to RUN-15, EVT-45).  Equal views give the same bytes: names are
 * sorted here, raw texts are spliced, the text is kept on one line.
 */
#include "base/mem.h"
#include "codec/ident.h"
#include "domain/cost.h"
#include "wire/v1/wire_int.h"

#include <stdio.h>
#include <stdlib.h>

#define COST_ARENA (4u * 1024 * 1024)

const char *v1_status_shown(enum run_status s) {
    return run_status_name(s == RUN_CANCELLING ? RUN_RUNNING : s);
}

void v1_time_member(struct jw *w, const char *key, int64_t ms) {
    char at[TIME_LEN + 1];
    if (ms <= 0) return;
    time_format(ms, at);
    jw_kstrz(w, key, at);
}

struct entry {
    struct str name, value;
};

static int entry_cmp(const void *x, const void *y) {
    return str_cmp(((const struct entry *)x)->name, ((const struct entry *)y)->name);
}

/* {"name": value, ...} in byte order of the names; of equal names the first given wins. */
static void object_render(struct jw *w, struct entry *v, size_t n) {
    bool sorted = true;
    for (size_t i = 1; i < n && sorted; i++) sorted = str_cmp(v[i - 1].name, v[i].name) < 0;
    if (!sorted) qsort(v, n, sizeof v[0], entry_cmp);
    jw_object(w);
    for (size_t i = 0; i < n; i++) {
        if (v[i].value.n == 0 || (i > 0 && str_eq(v[i].name, v[i - 1].name))) continue;
        jw_key_str(w, v[i].name);
        jw_raw(w, v[i].value);
    }
    jw_end_object(w);
}

static size_t entries_of_items(struct entry *to, const struct run_view_item *from, size_t n) {
    for (size_t i = 0; i < n; i++) to[i] = (struct entry){from[i].name, from[i].value};
    return n;
}

static size_t entries_of_chans(struct entry *to, const struct run_view *v, bool declared) {
    size_t n = 0;
    for (size_t i = 0; i < v->chans_nr; i++)
        if (v->chans[i].declared == declared)
            to[n++] = (struct entry){v->chans[i].name, v->chans[i].value};
    return n;
}

/* A variable that an undeclared channel shadows is dropped, so that no name occurs twice (CHAN-28).
 */
static size_t entries_of_vars(struct entry *to, const struct run_view *v) {
    size_t n = entries_of_chans(to, v, false), chans = n;
    for (size_t i = 0; i < v->vars_nr; i++) {
        size_t k = 0;
        while (k < chans && !str_eq(to[k].name, v->vars[i].name)) k++;
        if (k == chans) to[n++] = (struct entry){v->vars[i].name, v->vars[i].value};
    }
    return n;
}

int v1_state_members(struct jw *w, const struct run_view *v, bool channels,
                     struct wopr_error *err) {
    size_t widest = v->nodes_nr > v->vars_nr + v->chans_nr ? v->nodes_nr : v->vars_nr + v->chans_nr;
    struct entry *tmp = mem_array(widest + 1, sizeof *tmp);
    if (!tmp) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the state of a run");
    jw_key(w, "nodeStates");
    object_render(w, tmp, entries_of_items(tmp, v->nodes, v->nodes_nr));
    jw_key(w, "variables");
    object_render(w, tmp, entries_of_vars(tmp, v));
    size_t n = channels ? entries_of_chans(tmp, v, true) : 0;
    if (n > 0) {
        jw_key(w, "channels");
        object_render(w, tmp, n);
    }
    mem_free(tmp);
    return 0;
}

/* Closed on the snapshot: code, message, details (S:SN); the log's error may hold more. */
void v1_error_member(struct jw *w, struct str error, bool details) {
    static const char *const KEYS[] = {"code", "message", "details"};
    jw_key(w, "error");
    jw_object(w);
    for (size_t i = 0; i < (details ? 3 : 2); i++) {
        struct str raw = json_get(error, KEYS[i]);
        if (raw.p) jw_kraw(w, KEYS[i], raw);
    }
    jw_end_object(w);
}

/* RUN-12, WF-46: the runs that nodes of this one started. */
static void children_render(struct jw *w, const struct run_view *v) {
    if (v->children.n == 0) return;
    jw_key(w, "childRuns");
    jw_array(w);
    for (size_t i = 0; i < v->children.n; i++) {
        const struct child_row *c = &v->children.v[i];
        jw_object(w);
        jw_kstr(w, "runId", c->run_id);
        jw_kstrz(w, "status", v1_status_shown(c->status));
        jw_kstr(w, "nodeId", c->node_id);
        jw_end_object(w);
    }
    jw_end_array(w);
    if (v->more_children) jw_kbool(w, "childRunsTruncated", true);
}

/* OBS-15: sums, and the names of the node that completed last. */
static int cost_member(struct jw *w, const struct run_view *v) {
    struct cost sum = {0}, c;
    struct str last = STR_NONE;
    struct arena *a = NULL;
    for (size_t i = 0; i < v->nodes_nr; i++) {
        struct str record = cost_of(v->nodes[i].value);
        if (record.n == 0) continue;
        if (!a && !(a = arena_new(COST_ARENA))) return WOPR_E_NO_MEMORY;
        cost_read(record, a, &c);
        struct str at = json_get(v->nodes[i].value, "completedAt");
        if (str_cmp(at, last) < 0) c.provider = c.model = STR_NONE;
        else last = at;
        cost_add(&sum, &c);
    }
    if (sum.known) {
        jw_key(w, "metrics");
        jw_object(w);
        jw_key(w, "openwopCost");
        cost_render(&sum, w);
        jw_end_object(w);
    }
    bool failed = a && arena_failed(a);
    arena_free(a);
    return failed ? WOPR_E_NO_MEMORY : 0;
}

static int options_render(struct jw *w, const struct run_view *v, struct wopr_error *err) {
    if (v->tags.n) jw_kraw(w, "tags", v->tags);
    if (v->metadata.n) jw_kraw(w, "metadata", v->metadata);
    if (!v->configurable.n) return 0;
    struct buf masked;
    buf_init(&masked, WIRE_SNAPSHOT_MAX);
    int rc = configurable_masked(v->configurable, &masked, err); /* RUN-13 */
    if (rc == 0) jw_kraw(w, "configurable", buf_str(&masked));
    buf_fini(&masked);
    return rc;
}

static void version_render(struct jw *w, const struct run_head *h) {
    char text[16], *at = text + sizeof text;
    unsigned rest = h->shown_engine_version > 0 ? (unsigned)h->shown_engine_version : 0;
    do *--at = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    /* A string here (VER-12); printf would be the most expensive part of a small snapshot. */
    jw_kstr(w, "engineVersion", str_n(at, (size_t)(text + sizeof text - at)));
    jw_kint(w, "eventLogSchemaVersion", h->era > 0 ? h->era : EVENT_LOG_SCHEMA_VERSION);
}

int v1_snapshot_render(const struct run_view *v, int64_t at_seq, int64_t now_ms, struct buf *out,
                       struct wopr_error *err) {
    (void)now_ms; /* values are final: read-time TTL is applied where the view is made (CHAN-17) */
    size_t start = out->len;
    struct jw w;
    jw_init(&w, out);
    jw_object(&w);
    jw_kstr(&w, "runId", v->head.run_id);
    jw_kstr(&w, "workflowId", v->workflow_id);
    jw_kstrz(&w, "status", v1_status_shown(v->head.status));
    if (v->current_node.n) jw_kstr(&w, "currentNodeId", v->current_node);
    v1_time_member(&w, "startedAt", v->started_ms);
    v1_time_member(&w, "completedAt", v->completed_ms);
    if (v->agent.n) jw_kraw(&w, "agent", v->agent);
    if (v->orchestrator.n) jw_kraw(&w, "runOrchestrator", v->orchestrator);
    if (v->parent_run_id.n) jw_kstr(&w, "parentRunId", v->parent_run_id);
    if (v->parent_node_id.n) jw_kstr(&w, "parentNodeId", v->parent_node_id);
    v1_fork_member(&w, &v->fork);
    if (v->child_depth > 0) jw_kint(&w, "childDepth", v->child_depth);
    children_render(&w, v);
    int rc = v1_state_members(&w, v, true, err);
    if (v->interrupt.n) jw_kraw(&w, "interrupt", v->interrupt);
    if (v->outputs.n) jw_kraw(&w, "outputs", v->outputs);
    if (v->error.n && v->head.status == RUN_FAILED) v1_error_member(&w, v->error, true);
    if (rc == 0) rc = cost_member(&w, v);
    version_render(&w, &v->head);
    if (rc == 0) rc = options_render(&w, v, err);
    if (at_seq >= 0) jw_kint(&w, "atSeq", at_seq);
    jw_end_object(&w);
    if (rc != 0) return rc;
    v1_one_line(out, start);
    return buf_failed(out) ? wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the snapshot")
                           : 0;
}
