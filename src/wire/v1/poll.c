/*
 * poll.c: GET /v1/runs/{runId}/events/poll (SSE-36 to SSE-40, RUN-41).
 */
#include "wire/v1/wire_int.h"

enum { TIMEOUT_MIN_S = 1, TIMEOUT_MAX_S = 60, TIMEOUT_DEFAULT_S = 30 };

int v1_poll_events(struct http_call *c) {
    struct v1 *v = v1_of(c);
    struct wopr_error err = {0};
    struct run_head head;
    int64_t last, timeout_s;
    if (v1_call_run(c, &head, &err) != 0)
        return v1_fail(c, &err); /* SSE-4: visibility before the query */
    if (v1_int_param(c, "lastSequence", 0, INT64_MAX - 1, -1, &last, &err) != 0 ||
        v1_int_param(c, "timeout", TIMEOUT_MIN_S, TIMEOUT_MAX_S, TIMEOUT_DEFAULT_S, &timeout_s,
                     &err) != 0)
        return v1_fail(c, &err);
    if (c->phase == 0 && head.next_seq <= last + 1 && !run_status_final(head.status))
        return http_wait_events(c, head.run_no, last, timeout_s * 1000);
    struct buf b;
    buf_init(&b, V1_SNAPSHOT_MAX);
    if (v1_events_json(v, &head, last + 1, &b, &err) != 0) {
        buf_fini(&b);
        return v1_fail(c, &err);
    }
    return v1_reply_buf(c, 200, &b);
}
