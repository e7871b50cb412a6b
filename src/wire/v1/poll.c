/*
 * poll.c: GET /v1/runs/{runId}/events/poll (SSE-36 to SSE-40, RUN-41).
 */
#include "base/clock.h"
#include "wire/v1/wire_int.h"

enum { TIMEOUT_MIN_S = 1, TIMEOUT_MAX_S = 60, TIMEOUT_DEFAULT_S = 30 };

struct wait { /* of a suspended call, in its arena */
    uint64_t until_ms;
    int64_t next_seq; /* end of the log when it was suspended */
};

/* True: no event to return yet, and time is left.  Waits for the next event, not for the first one
 * after the cursor: the run may end before the cursor (SSE-39, RUN-41).  A call that resumes
 * without a new event timed out, or the host is stopping. */
static bool poll_waits(struct http_call *c, const struct run_head *head, int64_t last,
                       int64_t timeout_s, int64_t *left_ms) {
    struct wait *w = c->user;
    uint64_t now_ms = clock_mono_ms();
    if (head->next_seq > last + 1 || run_status_final(head->status)) return false;
    if (w && (head->next_seq == w->next_seq || now_ms >= w->until_ms)) return false;
    if (!w) {
        w = ARENA_NEW(c->arena, struct wait);
        if (!w) return false;
        w->until_ms = now_ms + (uint64_t)timeout_s * 1000;
        c->user = w;
    }
    w->next_seq = head->next_seq;
    *left_ms = (int64_t)(w->until_ms - now_ms);
    return true;
}

static void poll_answer_offloaded(struct http_call *c);

/* here: on the connection's thread, which must not render a long range. */
static int poll_answer(struct http_call *c, bool here) {
    struct v1 *v = v1_of(c);
    struct wopr_error err = {0};
    struct run_head head;
    int64_t last, timeout_s, left_ms;
    if (wire_run_of(c, &head, &err) != 0)
        return wire_fail(c, &err); /* SSE-4: visibility before the query */
    if (wire_int_param(c, "lastSequence", 0, INT64_MAX - 1, -1, &last, &err) != 0 ||
        wire_int_param(c, "timeout", TIMEOUT_MIN_S, TIMEOUT_MAX_S, TIMEOUT_DEFAULT_S, &timeout_s,
                       &err) != 0)
        return wire_fail(c, &err);
    if (here && poll_waits(c, &head, last, timeout_s, &left_ms))
        return http_wait_events(c, head.run_no, head.next_seq - 1, left_ms);
    if (here && (head.next_seq - last > V1_EVENTS_HERE || head.log_bytes > V1_BYTES_HERE))
        return http_offload(c, poll_answer_offloaded);
    struct buf b;
    buf_init(&b, WIRE_SNAPSHOT_MAX);
    if (v1_events_json(v, &head, last + 1, &b, &err) != 0) {
        buf_fini(&b);
        return wire_fail(c, &err);
    }
    return wire_reply_buf(c, 200, &b);
}

static void poll_answer_offloaded(struct http_call *c) { (void)poll_answer(c, false); }

int v1_poll_run_events(struct http_call *c) { return poll_answer(c, true); }
