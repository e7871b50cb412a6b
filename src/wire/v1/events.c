/*
 * events.c: events as bytes: RunEventDoc, stream frames by mode, and the parameters that choose
 * them.
 */
#include "store/events.h"
#include "codec/ident.h"
#include "codec/sse.h"
#include "wire/common/cursor.h"
#include "wire/v1/wire_int.h"

#include <stdio.h>

void v1_one_line(struct buf *b, size_t offset) {
    if (buf_failed(b) || b->len <= offset) return;
    char *p = b->p + offset, *end = b->p + b->len;
    if (!memchr(p, '\n', (size_t)(end - p)) && !memchr(p, '\r', (size_t)(end - p))) return;
    for (; p < end; p++)
        if (*p == '\n' || *p == '\r') *p = ' ';
}

static struct str event_type(const struct event *e) {
    return e->type.n ? e->type : str_c(event_name(e->kind));
}

static void event_write(struct jw *w, struct str run_id, const struct event *e) {
    char id[EVENT_ID_SIZE], at[TIME_LEN + 1], version[16];
    size_t start = w->b->len;
    jw_object(w);
    event_id_format(run_id, e->seq, id);
    jw_kstrz(w, "eventId", id);
    jw_kstr(w, "runId", run_id);
    if (e->node_id.n) jw_kstr(w, "nodeId", e->node_id);
    jw_kstr(w, "type", event_type(e));
    jw_kraw(w, "payload", e->payload.n ? e->payload : STR("{}"));
    time_format(e->ts_ms, at);
    jw_kstrz(w, "timestamp", at);
    jw_kint(w, "sequence", e->seq);
    jw_kint(w, "schemaVersion", e->schema_version);
    snprintf(version, sizeof version, "%d", (int)e->engine_version); /* a string: VER-12 */
    jw_kstrz(w, "engineVersion", version);
    if (e->causation_seq >= 0) {
        event_id_format(run_id, e->causation_seq, id);
        jw_kstrz(w, "causationId", id);
    }
    jw_end_object(w);
    v1_one_line(w->b, start);
}

void v1_event_render(struct str run_id, const struct event *e, struct buf *out) {
    struct jw w;
    jw_init(&w, out);
    event_write(&w, run_id, e);
}

/* SSE-19; in batches with type and sequence, so that elements stay distinguishable (SSE-34). */
static void chunk_render(struct str run_id, const struct event *e, bool element, struct buf *out) {
    struct str node = json_get(e->payload, "nodeId"), chunk = json_get(e->payload, "chunk");
    struct str meta = json_get(e->payload, "meta");
    size_t start = out->len;
    bool last = false;
    struct jw w;
    if (!json_bool(json_get(e->payload, "isLast"), &last)) last = false;
    jw_init(&w, out);
    jw_object(&w);
    if (element) {
        jw_kstrz(&w, "type", "ai.message.chunk");
        jw_kint(&w, "sequence", e->seq);
    }
    if (node.p) jw_kraw(&w, "nodeId", node);
    else jw_kstr(&w, "nodeId", e->node_id);
    jw_kstr(&w, "runId", run_id);
    jw_kraw(&w, "chunk", chunk.p ? chunk : STR("\"\""));
    jw_kbool(&w, "isLast", last);
    if (meta.p) jw_kraw(&w, "meta", meta);
    jw_end_object(&w);
    v1_one_line(out, start);
}

struct view_ctx {
    unsigned mask;
    bool element;
};

static void view_render(const void *ctx, struct str run_id, const struct event *e,
                        struct buf *out) {
    const struct view_ctx *v = ctx;
    bool chunk = e->kind == EV_OUTPUT_CHUNK && (v->mask & V1_MESSAGES); /* SSE-22 */
    bool doc = !chunk && ((v->mask & V1_DEBUG) ||
                          ((v->mask & V1_UPDATES) && (event_modes(e->kind) & EV_MODE_U)));
    if (!chunk && !doc) return;
    if (!v->element) /* SSE-10, SSE-11 */
        sse_begin(out, (uint64_t)e->seq, chunk ? STR("ai.message.chunk") : event_type(e));
    if (chunk) chunk_render(run_id, e, v->element, out);
    else v1_event_render(run_id, e, out);
    if (!v->element) sse_end(out);
}

#define CTX(i)                                                                                     \
    { .mask = (i) % 7 + 1, .element = (i) >= 7 }
static const struct view_ctx VIEW_CTX[] = {CTX(0),  CTX(1),  CTX(2),  CTX(3), CTX(4),
                                           CTX(5),  CTX(6),  CTX(7),  CTX(8), CTX(9),
                                           CTX(10), CTX(11), CTX(12), CTX(13)};
#define VIEW(i)                                                                                    \
    { .id = (i), .render = view_render, .ctx = &VIEW_CTX[i] }
static const struct journal_view VIEWS[] = {VIEW(0),  VIEW(1),  VIEW(2),  VIEW(3), VIEW(4),
                                            VIEW(5),  VIEW(6),  VIEW(7),  VIEW(8), VIEW(9),
                                            VIEW(10), VIEW(11), VIEW(12), VIEW(13)};
_Static_assert(sizeof VIEWS / sizeof VIEWS[0] <= JOURNAL_VIEWS_MAX,
               "every view needs a slot in the shared frames");

const struct journal_view *v1_view(unsigned mask, bool element) {
    ASSERT(mask >= 1 && mask < V1_MASKS);
    return &VIEWS[mask - 1 + (element ? 7 : 0)];
}

static int mode_refuse(struct wopr_error *err, const char *why) {
    int rc = wopr_error_set(err, WOPR_E_STREAM_MODE, "%s", why);
    wopr_error_details(err, "{\"supported\":[\"values\",\"updates\",\"messages\",\"debug\"]}");
    return rc;
}

int v1_mode_parse(struct str text, struct v1_mode *out, struct wopr_error *err) {
    static const struct {
        const char *name;
        unsigned bit;
    } MODES[] = {{"values", V1_MASKS},
                 {"updates", V1_UPDATES},
                 {"messages", V1_MESSAGES},
                 {"debug", V1_DEBUG}};
    unsigned bits = 0;
    struct str one, rest = text;
    bool again;
    do {
        again = str_cut(rest, ',', &one, &rest);
        if (!again) one = rest;
        size_t i = 0;
        while (i < 4 && !str_eqc(one, MODES[i].name)) i++;
        if (i == 4) return mode_refuse(err, "streamMode names a mode that this host does not know");
        bits |= MODES[i].bit;
    } while (again);
    if ((bits & V1_MASKS) && bits != V1_MASKS)
        return mode_refuse(err, "the stream mode values cannot be combined with another mode");
    *out = (struct v1_mode){.mask = bits & (V1_MASKS - 1), .values = (bits & V1_MASKS) != 0};
    return 0;
}

int v1_cursor_parse(struct str run_id, int64_t next_seq, struct str text, bool is_header,
                    int64_t *seq, struct wopr_error *err) {
    static const char WHY[] =
        "the resume position is neither a sequence nor an event id of this run";
    if (wire_event_cursor(run_id, next_seq, text, seq)) return 0;
    return is_header ? wire_header_error(err, "Last-Event-ID", WHY)
                     : wire_param_error(err, "lastEventId", WHY);
}

struct event_page { /* a page being rendered */
    struct str run_id;
    struct jw w;   /* in the array of events */
    unsigned left; /* how many more events it may hold */
    int64_t next;  /* sequence after its last event */
    bool terminal; /* its last event is the run's last */
};

static int page_take(void *ctx, const struct event *e, struct wopr_error *err) {
    struct event_page *p = ctx;
    (void)err;
    if (p->left == 0 || p->w.b->len >= V1_POLL_BYTES_MAX) return 1;
    event_write(&p->w, p->run_id, e);
    p->next = e->seq + 1;
    p->terminal = event_is_terminal(e->kind);
    p->left -= 1;
    return p->left == 0;
}

int v1_events_json(struct v1 *v, const struct run_head *head, int64_t from, struct buf *out,
                   struct wopr_error *err) {
    struct event_page p = {.run_id = head->run_id, .left = V1_POLL_EVENTS_MAX, .next = from};
    const struct log_range range = {.run_no = head->run_no,
                                    .from = from,
                                    .until = INT64_MAX,
                                    .page_events = WIRE_PAGE_EVENTS,
                                    .page_bytes = WIRE_PAGE_BYTES};
    struct arena *a = arena_new(WIRE_ARENA_MAX);
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a page of events");
    jw_init(&p.w, out);
    jw_object(&p.w);
    jw_key(&p.w, "events");
    jw_array(&p.w);
    int rc = store_walk(v->shared.store, &range, a, page_take, &p, err);
    arena_free(a);
    if (rc != 0) return rc;
    /* Complete: the run has ended and this page reaches the end of its log (RUN-41, SSE-40). */
    bool complete = p.terminal || (run_status_final(head->status) && p.next >= head->next_seq);
    jw_end_array(&p.w);
    jw_kbool(&p.w, "isComplete", complete);
    jw_end_object(&p.w);
    return buf_failed(out) ? wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the events") : 0;
}
