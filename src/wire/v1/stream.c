/*
 * stream.c: GET /v1/runs/{runId}/events (RUN-40, SSE-1 to SSE-35): parameters, negotiation,
 * hand-over to the SSE writer.
 */
#include "wire/v1/wire_int.h"

struct request {
    struct run_head head;
    struct v1_mode mode;
    int64_t buffer_ms;
    bool resumes;
    int64_t after; /* -1 = from the start */
};

/* SSE-4: visibility first, then the query, whatever representation follows. */
static int request_read(struct http_call *c, struct request *q, struct wopr_error *err) {
    bool found = false;
    int rc = v1_call_run(c, &q->head, err);
    if (rc != 0) return rc;
    struct str mode = http_query(c, "streamMode", &found);
    rc = v1_mode_parse(found ? mode : STR("updates"), &q->mode, err);
    if (rc != 0) return rc;
    rc = v1_int_param(c, "bufferMs", 0, V1_BUFFER_MS_MAX, 0, &q->buffer_ms, err);
    if (rc != 0) return rc;
    struct str cursor = http_header(c, "Last-Event-ID");
    bool is_header = cursor.n > 0;
    q->after = -1;
    q->resumes = is_header;
    if (!is_header)
        cursor = http_query(c, "lastEventId",
                            &q->resumes); /* host extension: EventSource sets no headers */
    if (!q->resumes) return 0;
    return v1_cursor_parse(q->head.run_id, cursor, is_header, &q->after, err);
}

static int reply_json(struct http_call *c, const struct request *q) {
    struct wopr_error err = {0};
    struct buf b;
    buf_init(&b, V1_SNAPSHOT_MAX);
    if (v1_events_json(v1_of(c), &q->head, 0, &b, &err) != 0) {
        buf_fini(&b);
        return v1_fail(c, &err);
    }
    return v1_reply_buf(c, 200, &b);
}

static void fold_free(void *state) { v1_fold_free(state); }

/* The run has ended and the cursor covers it: nothing with a greater sequence will come (SSE-28,
 * SSE-29). */
static bool covers_all(const struct request *q) {
    return run_status_final(q->head.status) && q->after + 1 >= q->head.next_seq;
}

static int reply_values(struct http_call *c, const struct request *q) {
    struct wopr_error err = {0};
    struct v1_fold *f = NULL;
    struct buf prelude;
    buf_init(&prelude, V1_SNAPSHOT_MAX);
    int rc = v1_fold_new(v1_of(c), q->head.run_no, &f, &err);
    if (rc == 0 && q->resumes) {
        rc = v1_fold_to(f, q->after, &err);
        int64_t covered = v1_fold_seq(f);
        v1_fold_quiet_until(f, q->after);
        if (rc == 0 && covered >= 0) rc = v1_fold_frame(f, covered, &prelude, &err); /* SSE-27 */
    }
    struct str frames = STR_NONE;
    if (rc == 0 && prelude.len > 0) {
        frames = arena_str(c->arena, buf_str(&prelude));
        if (!frames.p)
            rc = wopr_error_set(&err, WOPR_E_NO_MEMORY, "no memory for the baseline snapshot");
    }
    buf_fini(&prelude);
    if (rc != 0) {
        v1_fold_free(f);
        return v1_fail(c, &err);
    }
    struct http_stream s = {.run_no = q->head.run_no,
                            .run_id = q->head.run_id,
                            .after_seq = v1_fold_seq(f),
                            .fold = v1_fold_event,
                            .state = f,
                            .state_free = fold_free,
                            .prelude = frames,
                            .ended = covers_all(q)};
    http_reply_stream(c, &s);
    return HTTP_DONE;
}

int v1_stream_events(struct http_call *c) {
    struct wopr_error err = {0};
    struct request q = {0};
    if (request_read(c, &q, &err) != 0) return v1_fail(c, &err);
    if (v1_accept_json(http_header(c, "Accept"))) return reply_json(c, &q); /* HTTP-20 */
    if (q.mode.values) return reply_values(c, &q);
    struct http_stream s = {.run_no = q.head.run_no,
                            .run_id = q.head.run_id,
                            .after_seq = q.after,
                            .view = v1_view(q.mode.mask, q.buffer_ms > 0),
                            .buffer_ms = (unsigned)q.buffer_ms,
                            .ended = covers_all(&q)};
    http_reply_stream(c, &s);
    return HTTP_DONE;
}
