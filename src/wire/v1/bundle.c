/*
 * bundle.c: the debug bundle of a run (DBG-1 to DBG-11, RUN-46): what somebody who was not there
 * needs to understand it, in one document that may leave the house.
 *
 * Every part passes the redactor before it counts for the cap: the log holds no credential shapes
 * (EVT-10), but the parts of the run's row come by ways of their own.
 */
#include "base/clock.h"
#include "base/map.h"
#include "codec/ident.h"
#include "domain/options.h"
#include "domain/program.h"
#include "store/events.h"
#include "store/workflows.h"
#include "wire/common/view.h"
#include "wire/v1/wire_int.h"

#define BUNDLE_VERSION   "1.0"
#define PART_MAX         (64u * 1024 * 1024) /* one event, or the run, before redaction */
#define TAIL_BYTES       512u                /* what follows the events */
#define EVENTS_CUT       "events_truncated_to_size_cap"
#define STATE_CUT        "state_truncated_to_size_cap"
#define STATE_EVENTS_CUT "state_and_events_truncated_to_size_cap"

struct bundle {
    const struct v1_bundle *of;
    struct run_origin origin;
    struct str mode, inputs, secret; /* secret: the run's credential reference, may be empty */
    struct arena *arena;
    struct map *nodes; /* ids of nodes that events name */
    struct buf *out;
    struct buf part; /* unredacted */
    size_t end;      /* the events must end before this offset of out */
    int64_t events;
    bool events_cut, state_cut;
};

/* The schema of bundles knows fewer statuses than the one of snapshots (DBG-3). */
static const char *bundle_status(enum run_status s) {
    switch (s) {
    case RUN_PAUSED:
    case RUN_CANCELLING:
        return run_status_name(RUN_RUNNING);
    case RUN_WAITING_INPUT:
    case RUN_WAITING_EXTERNAL:
        return "waiting-clarification";
    default:
        return run_status_name(s);
    }
}

/* Append what part holds, redacted, and empty it. */
static int part_move(struct bundle *b, struct wopr_error *err) {
    if (buf_failed(&b->part))
        return wopr_error_set(err, WOPR_E_TOO_BIG, "a part of the run is too large for a bundle");
    int rc = redact_json(buf_str(&b->part), b->secret, b->out, err);
    buf_reset(&b->part);
    return rc;
}

static struct str text_at(struct str object, const char *const *path, struct arena *a) {
    for (; *path && object.p; path++) object = json_get(object, *path);
    return object.p ? json_string(object, a) : STR_NONE;
}

/* --- what is read beside the view --- */

/* Of the definition that the run was created with; its text was checked when it was stored. */
static int mode_read(struct bundle *b, struct wopr_error *err) {
    static const char *const PATH[] = {"metadata", "complianceConfig", "maskingMode", NULL};
    struct str text;
    if (b->origin.meta.led) { /* no definition of it masks anything */
        b->mode = STR("mask");
        return 0;
    }
    int rc = store_workflow_by_hash(b->of->store, &b->origin.workflow_hash, b->arena, &text, err);
    if (rc == WOPR_E_NOT_FOUND)
        return wopr_error_set(err, WOPR_E_CORRUPT, "the workflow of a run is missing");
    if (rc != 0) return rc;
    if (!dialect_named(text, NULL, NULL, NULL)) b->mode = text_at(text, PATH, b->arena);
    if (b->mode.n == 0) b->mode = STR("mask"); /* OBS-73 */
    return 0;
}

/* DBG-9: the declared inputs, as the log shows them. */
static int inputs_read(struct bundle *b, struct wopr_error *err) {
    const struct run_head *h = &b->of->view->head;
    const struct log_range range = {.run_no = h->run_no,
                                    .from = 0,
                                    .until = h->next_seq,
                                    .page_events = 1,
                                    .page_bytes = WIRE_PAGE_BYTES};
    struct event_list l = {0};
    int rc = store_events_of_kind(b->of->store, &range, EV_RUN_STARTED, b->arena, &l, err);
    b->inputs = rc == 0 && l.n > 0 ? json_get(l.v[0].payload, "inputs") : STR_NONE;
    return rc;
}

/* --- the run --- */

static void nullable_put(struct jw *w, const char *key, struct str text) {
    if (text.n) jw_kstr(w, key, text);
    else jw_kraw(w, key, STR("null"));
}

static void run_times(struct jw *w, const struct run_view *v) {
    char at[TIME_LEN + 1];
    v1_time_member(w, "startedAt", v->started_ms);
    v1_time_member(w, "completedAt", v->completed_ms);
    if (v->completed_ms > 0) time_format(v->completed_ms, at);
    nullable_put(w, "endedAt", v->completed_ms > 0 ? str_c(at) : STR_NONE);
}

/* Only members that the schema of bundles lists, and completedAt (CON-38, DBG-4). */
static int run_render(struct bundle *b, bool whole, struct wopr_error *err) {
    const struct run_view *v = b->of->view;
    struct jw w;
    int rc = 0;
    jw_init(&w, &b->part);
    jw_object(&w);
    jw_kstr(&w, "runId", v->head.run_id);
    jw_kstr(&w, "workflowId", v->workflow_id);
    jw_kstrz(&w, "status", bundle_status(v->head.status));
    run_times(&w, v);
    nullable_put(&w, "currentNodeId", v->current_node);
    if (v->error.n && v->head.status == RUN_FAILED) v1_error_member(&w, v->error, whole);
    else jw_kraw(&w, "error", STR("null"));
    if (whole && b->inputs.p) jw_kraw(&w, "inputs", b->inputs);
    if (whole) rc = v1_state_members(&w, v, false, err);
    jw_end_object(&w);
    return rc;
}

/* Half of the cap is for the state; without its values the rest of the run is small. */
static int run_add(struct bundle *b, struct wopr_error *err) {
    int rc = run_render(b, true, err);
    b->state_cut = rc == 0 && (buf_failed(&b->part) || b->part.len > b->of->bytes_max / 2);
    if (b->state_cut) {
        buf_reset(&b->part);
        rc = run_render(b, false, err);
    }
    return rc == 0 ? part_move(b, err) : rc;
}

/* --- the events --- */

static int node_count(struct bundle *b, struct str id, struct wopr_error *err) {
    static char known;
    if (id.n == 0 || map_get(b->nodes, id)) return 0;
    if (map_put(b->nodes, id, &known, NULL) == 0) return 0;
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a bundle");
}

static int event_take_one(void *ctx, const struct event *e, struct wopr_error *err) {
    struct bundle *b = ctx;
    size_t start = b->out->len;
    if (b->events > 0) buf_addc(b->out, ',');
    v1_event_render(b->of->view->head.run_id, e, &b->part);
    int rc = part_move(b, err);
    if (rc != 0) return rc;
    if (b->out->len > b->end) { /* the longest prefix that fits (DBG-11) */
        b->out->len = start;
        b->events_cut = true;
        return 1;
    }
    b->events++;
    return node_count(b, e->node_id, err);
}

/* Up to where the view is, so that both tell of the same moment. */
static int events_add(struct bundle *b, struct wopr_error *err) {
    const struct run_head *h = &b->of->view->head;
    const struct log_range range = {.run_no = h->run_no,
                                    .from = 0,
                                    .until = h->next_seq,
                                    .page_events = WIRE_PAGE_EVENTS,
                                    .page_bytes = WIRE_PAGE_BYTES};
    struct arena *page = arena_new(WIRE_ARENA_MAX);
    if (!page) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a page of events");
    int rc = store_walk(b->of->store, &range, page, event_take_one, b, err);
    arena_free(page);
    return rc;
}

/* --- the document --- */

static int head_add(struct bundle *b, int64_t now_ms, struct wopr_error *err) {
    char at[TIME_LEN + 1];
    struct jw w;
    time_format(now_ms, at);
    jw_init(&w, &b->part);
    jw_object(&w);
    jw_kstrz(&w, "bundleVersion", BUNDLE_VERSION);
    jw_kstrz(&w, "generatedAt", at);
    jw_kraw(&w, "host", b->of->host);
    jw_kstr(&w, "redactionMode", b->mode);
    jw_kbool(&w, "redactionApplied", mask_masks(b->mode)); /* DBG-8 */
    jw_kstrz(&w, "runStatus", v1_status_shown(b->of->view->head.status));
    jw_key(&w, "spans");
    jw_array(&w); /* none are recorded (DBG-7) */
    jw_end_array(&w);
    jw_end_object(&w);
    b->part.len--; /* goes on */
    buf_addz(&b->part, ",\"run\":");
    return part_move(b, err);
}

static void tail_add(struct bundle *b) {
    buf_addf(b->out,
             "],\"metrics\":{\"eventCount\":%lld,\"nodeCount\":%zu,\"openwopCost\":null},"
             "\"truncated\":%s",
             (long long)b->events, map_count(b->nodes),
             b->events_cut || b->state_cut ? "true" : "false");
    if (b->events_cut || b->state_cut)
        buf_addf(b->out, ",\"truncatedReason\":\"%s\"",
                 !b->state_cut    ? EVENTS_CUT
                 : !b->events_cut ? STATE_CUT
                                  : STATE_EVENTS_CUT);
    buf_addc(b->out, '}');
}

static int bundle_render(struct bundle *b, int64_t now_ms, struct wopr_error *err) {
    static const char *const REFERENCE[] = {"ai", "credentialRef", NULL};
    int rc = store_run_origin(b->of->store, b->of->view->head.run_no, b->arena, &b->origin, err);
    if (rc == 0) rc = mode_read(b, err);
    if (rc == 0) rc = inputs_read(b, err);
    b->secret = text_at(b->of->view->configurable, REFERENCE, b->arena);
    if (rc == 0) rc = head_add(b, now_ms, err);
    if (rc == 0) rc = run_add(b, err);
    if (rc != 0) return rc;
    buf_addz(b->out, ",\"events\":[");
    rc = events_add(b, err);
    if (rc != 0) return rc;
    tail_add(b);
    if (!buf_failed(b->out)) return 0;
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a bundle");
}

int v1_bundle_render(const struct v1_bundle *of, int64_t now_ms, struct buf *out,
                     struct wopr_error *err) {
    struct bundle b = {.of = of,
                       .out = out,
                       .end = out->len + of->bytes_max - TAIL_BYTES,
                       .arena = arena_new(WIRE_ARENA_MAX),
                       .nodes = map_new()};
    buf_init(&b.part, PART_MAX);
    int rc = b.arena && b.nodes ? bundle_render(&b, now_ms, err)
                                : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a bundle");
    buf_fini(&b.part);
    map_free(b.nodes);
    arena_free(b.arena);
    return rc;
}

/* --- the route --- */

static int bundle_answer(struct http_call *c, struct buf *out, struct wopr_error *err) {
    struct v1 *v = v1_of(c);
    struct run_view view;
    struct str id = http_param(c, "runId");
    struct v1_bundle of = {.store = v->shared.store,
                           .view = &view,
                           .bytes_max = (size_t)v->cfg.debug_bundle_max,
                           .host = v->implementation};
    if (id.n == 0 || id.n > WIRE_ID_CHARS)
        return wopr_error_set(err, WOPR_E_NOT_FOUND, "no such run");
    int rc = store_run_view(of.store, c->who.tenant, c->who.test_mode, id, c->arena, &view, err);
    if (rc == 0) rc = wire_head_check(&view.head, err);
    if (rc == 0) rc = wire_view_expire(&view, clock_wall_ms(), c->arena, err);
    return rc == 0 ? v1_bundle_render(&of, clock_wall_ms(), out, err) : rc;
}

static void bundle_offloaded(struct http_call *c) {
    struct wopr_error err = {0};
    struct buf b;
    buf_init(&b, WIRE_SNAPSHOT_MAX + (size_t)v1_of(c)->cfg.debug_bundle_max);
    int rc = bundle_answer(c, &b, &err);
    if (rc == 0) {
        (void)wire_reply_buf(c, 200, &b);
        return;
    }
    buf_fini(&b);
    (void)wire_fail(c, &err);
}

int v1_get_debug_bundle(struct http_call *c) {
    struct wopr_error err = {0};
    if (v1_of(c)->cfg.debug_bundle_max > 0) return http_offload(c, bundle_offloaded);
    (void)wopr_error_set(&err, WOPR_E_NOT_FOUND, "this host gives no debug bundles");
    return wire_fail(c, &err);
}
