/*
 * mcp_wait.c: run_wait: until a run has ended, or needs somebody, or time is over.
 *
 * Where the client takes an event stream the wait is one: a fold of the run's log that shows each
 * event as progress and ends with the answer; keep-alive comments are the stream's.  Else it is a
 * long-poll.  Neither holds a thread, and a client that leaves ends it.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "codec/jobj.h"
#include "wire/v1/mcp.h"

#include <stdio.h>

enum { WAIT_DEFAULT_S = 30, POLL_MAX_S = 60, STATE_ARENA_BYTES = 64 * 1024 };

enum reason { STILL_RUNS, HAS_ENDED, NEEDS_SOMEBODY, TIME_IS_OVER };

static enum reason reason_of(const struct run_head *head, bool until_end) {
    if (run_status_final(head->status)) return HAS_ENDED;
    if (until_end) return STILL_RUNS;
    switch (head->status) {
    case RUN_WAITING_APPROVAL:
    case RUN_WAITING_INPUT:
    case RUN_WAITING_EXTERNAL:
    case RUN_PAUSED:
        return NEEDS_SOMEBODY;
    default:
        return head->parked.n > 0 ? NEEDS_SOMEBODY : STILL_RUNS;
    }
}

static int wait_answer(struct mcp_call *call, const struct run_head *head, enum reason why) {
    static const char *const REASONS[] = {"timeout", "ended", "attention", "timeout"};
    struct jobj o;
    jobj_begin(&o, 4096);
    jw_kstr(&o.w, "runId", head->run_id);
    jw_kstrz(&o.w, "status", v1_status_shown(head->status));
    jw_kstrz(&o.w, "reason", REASONS[why]);
    jw_kint(&o.w, "lastSequence", head->next_seq - 1);
    return mcp_answer(call, jobj_end(&o, call->arena));
}

/* --- as a stream --- */

struct watch { /* of a stream; it outlives the call */
    struct arena *arena;
    struct mcp_exchange x;
    struct store *store;
    struct run_head head;
    bool until_end;
};

static void watch_free(void *state) {
    struct watch *w = state;
    arena_free(w->arena);
    mem_free(w);
}

static size_t watch_bytes(const void *state) {
    (void)state;
    return sizeof(struct watch) + STATE_ARENA_BYTES / 16;
}

/* What is needed of the exchange to write messages of it later. */
static struct watch *watch_new(struct mcp_visit *v, const struct run_head *head, bool until_end) {
    struct watch *w = MEM_NEW(struct watch);
    struct arena *a = w ? arena_new(STATE_ARENA_BYTES) : NULL;
    if (!a) {
        mem_free(w);
        return NULL;
    }
    const struct mcp_exchange *x = &v->x;
    w->arena = a;
    w->store = v1_of(v->call)->shared.store;
    w->until_end = until_end;
    w->x = (struct mcp_exchange){.server = x->server, .context = x->context};
    w->x.call.arena = a;
    w->x.call.tool = x->call.tool;
    w->x.call.who.test_mode = x->call.who.test_mode;
    w->x.call.who.tenant = arena_str(a, x->call.who.tenant);
    w->x.message.id = arena_str(a, x->message.id);
    if (x->progress_token.n > 0) w->x.progress_token = arena_str(a, x->progress_token);
    w->head = *head;
    w->head.run_id = arena_str(a, head->run_id);
    w->head.holder = w->head.parked = STR_NONE;
    if (!arena_failed(a)) return w;
    watch_free(w);
    return NULL;
}

static void frame_begin(struct buf *out) { buf_addz(out, "event: message\ndata: "); }

static void frame_end(struct buf *out) { buf_addz(out, "\n\n"); }

/* The state of the run now, from one row.  A run that retention removed meanwhile had ended. */
static enum reason watch_look(struct watch *w) {
    struct wopr_error err;
    struct run_head head;
    struct arena *a = arena_new(STATE_ARENA_BYTES);
    const struct mcp_caller *who = &w->x.call.who;
    int rc =
        a ? store_run_head(w->store, who->tenant, who->test_mode, w->head.run_id, a, &head, &err)
          : WOPR_E_NO_MEMORY;
    enum reason why = rc == WOPR_E_EXPIRED || rc == WOPR_E_NOT_FOUND ? HAS_ENDED : STILL_RUNS;
    if (rc == 0) {
        w->head.status = head.status;
        w->head.next_seq = head.next_seq;
        why = reason_of(&head, w->until_end);
    }
    arena_free(a);
    return why;
}

static void watch_end(struct watch *w, enum reason why, struct buf *out) {
    (void)wait_answer(&w->x.call, &w->head, why);
    frame_begin(out);
    mcp_write(&w->x, out);
    frame_end(out);
}

/* e NULL: the events that were committed while the stream began have been shown. */
static int watch_event(void *state, const struct event *e, bool here, struct buf *out) {
    struct watch *w = state;
    (void)here;
    if (e && w->x.progress_token.n > 0) {
        char text[192];
        bool of_node = e->node_id.n > 0 && e->node_id.n <= 128;
        const char *type = event_name(e->kind);
        int n = snprintf(text, sizeof text, "%s%s" STR_FMT, type, of_node ? " " : "",
                         of_node ? (int)e->node_id.n : 0, of_node ? e->node_id.p : "");
        frame_begin(out);
        mcp_write_progress(&w->x, e->seq + 1, str_n(text, n > 0 ? (size_t)n : 0), out);
        frame_end(out);
    }
    bool tells = !e || event_is_terminal(e->kind) || event_kind_is(e->kind, EV_F_FLUSH);
    enum reason why = tells ? watch_look(w) : STILL_RUNS;
    if (e && event_is_terminal(e->kind)) why = HAS_ENDED;
    if (why == STILL_RUNS) return 0;
    watch_end(w, why, out);
    return HTTP_FOLD_END;
}

static void watch_over(void *state, struct buf *out) {
    struct watch *w = state;
    enum reason why = watch_look(w);
    watch_end(w, why == STILL_RUNS ? TIME_IS_OVER : why, out);
}

static int wait_stream(struct mcp_call *call, const struct run_head *head, bool until_end,
                       int64_t ms) {
    struct mcp_visit *v = visit_of(call);
    struct watch *w = watch_new(v, head, until_end);
    if (!w) return mcp_fail(call, STR_NONE);
    const struct http_stream s = {.run_no = head->run_no,
                                  .run_id = head->run_id,
                                  .after_seq = head->next_seq - 1,
                                  .fold = watch_event,
                                  .over = watch_over,
                                  .limit_ms = ms,
                                  .state = w,
                                  .state_free = watch_free,
                                  .state_bytes = watch_bytes};
    http_reply_stream(v->call, &s);
    v->carried_rc = HTTP_DONE;
    return MCP_CARRIED;
}

/* --- as a long-poll --- */

struct poll { /* in the arena of its call */
    uint64_t until_ms;
    int64_t next_seq;
};

static int wait_poll(struct mcp_call *call, const struct run_head *head, int64_t ms) {
    struct mcp_visit *v = visit_of(call);
    struct poll *p = call->user;
    uint64_t now_ms = clock_mono_ms();
    if (p && (now_ms >= p->until_ms || head->next_seq == p->next_seq))
        return wait_answer(call, head, TIME_IS_OVER);
    if (!p) {
        p = ARENA_NEW(call->arena, struct poll);
        if (!p) return mcp_fail(call, STR_NONE);
        p->until_ms = now_ms + (uint64_t)ms;
        call->user = p;
    }
    p->next_seq = head->next_seq;
    v->carried_rc = http_wait_events(v->call, head->run_no, head->next_seq - 1,
                                     (int64_t)(p->until_ms - now_ms));
    return MCP_CARRIED;
}

int v1_mcp_wait(struct mcp_call *call) {
    struct mcp_visit *v = visit_of(call);
    struct wopr_error err = {0};
    struct run_head head;
    int64_t s = WAIT_DEFAULT_S;
    bool until_end = str_eqc(json_get(call->arguments, "until"), "\"ended\"");
    if (v1_mcp_run_of(call, &head, &err) != 0) return v1_mcp_fail(call, &err);
    enum reason why = reason_of(&head, until_end);
    if (why != STILL_RUNS) return wait_answer(call, &head, why);
    if (v->batch) return wait_answer(call, &head, why); /* others would wait with it */
    if (v->large)
        return mcp_fail_with(call, "VALIDATION_ERROR",
                             STR("The message is too large for a call that waits: at most 64 KiB."),
                             MCP_RETRY_NOT, 0, STR_NONE);
    (void)json_int(json_get(call->arguments, "timeoutSeconds"), &s);
    if (v->streams) return wait_stream(call, &head, until_end, s * 1000);
    return wait_poll(call, &head, (s < POLL_MAX_S ? s : POLL_MAX_S) * 1000);
}
