/*
 * stream.c: GET /v1/runs/{runId}/events (RUN-40, SSE-1 to SSE-35): parameters, negotiation,
 * hand-over to the SSE writer.
 */
#include "wire/common/accept.h"
#include "wire/common/fold.h"
#include "wire/v1/wire_int.h"

struct stream_request {
    struct run_head head;
    struct v1_mode mode;
    int64_t buffer_ms;
    bool resumes;
    int64_t after; /* -1 = from the start */
};

/* SSE-4: visibility is checked before the query, for every representation. */
static int request_read(struct http_call *c, struct stream_request *q, struct wopr_error *err) {
    bool found = false;
    int rc = wire_run_of(c, &q->head, err);
    if (rc != 0) return rc;
    struct str mode = http_query(c, "streamMode", &found);
    rc = v1_mode_parse(found ? mode : STR("updates"), &q->mode, err);
    if (rc != 0) return rc;
    rc = wire_int_param(c, "bufferMs", 0, V1_BUFFER_MS_MAX, 0, &q->buffer_ms, err);
    if (rc != 0) return rc;
    struct str cursor = http_header(c, "Last-Event-ID");
    bool is_header = cursor.n > 0;
    q->after = -1;
    q->resumes = is_header;
    if (!is_header)
        cursor = http_query(c, "lastEventId",
                            &q->resumes); /* host extension: EventSource cannot send headers */
    if (!q->resumes) return 0;
    return v1_cursor_parse(q->head.run_id, q->head.next_seq, cursor, is_header, &q->after, err);
}

static int json_reply(struct http_call *c, const struct stream_request *q) {
    struct wopr_error err = {0};
    struct buf b;
    buf_init(&b, WIRE_SNAPSHOT_MAX);
    if (v1_events_json(v1_of(c), &q->head, 0, &b, &err) != 0) {
        buf_fini(&b);
        return wire_fail(c, &err);
    }
    return wire_reply_buf(c, 200, &b);
}

static void json_reply_offloaded(struct http_call *c) {
    struct wopr_error err = {0};
    struct stream_request q = {0};
    if (request_read(c, &q, &err) != 0) (void)wire_fail(c, &err);
    else (void)json_reply(c, &q);
}

static void fold_free(void *state) { wire_fold_free(state); }
static size_t fold_bytes(const void *state) { return wire_fold_bytes(state); }

/* The run has ended and the cursor covers its log: no event with a greater sequence will follow
 * (SSE-28, SSE-29). */
static bool cursor_covers_all(const struct stream_request *q) {
    return run_status_final(q->head.status) && q->after + 1 >= q->head.next_seq;
}

/* Far or large: what of it is behind a cursor may be in a checkpoint, and reading it, its inputs or
 * its definition are not for the thread of a connection. */
static bool request_is_long(const struct stream_request *q) {
    return q->head.next_seq > V1_EVENTS_HERE || q->head.log_bytes > V1_BYTES_HERE;
}

/* The stream folds the log up to the cursor too, in turns, and shows what follows it (SSE-27).
 * Here: WOPR_E_TOO_BIG, and nothing is answered, when the definition would have to be compiled. */
static int values_reply(struct http_call *c, const struct stream_request *q, bool here) {
    struct wopr_error err = {0};
    struct wire_fold *f = NULL;
    int rc = wire_fold_new(wire_of(c), q->head.run_no, v1_values_frame, here, &f, &err);
    if (rc == WOPR_E_TOO_BIG && here) return rc;
    if (rc == 0 && q->resumes) wire_fold_resume(f, q->after);
    if (rc == 0 && q->after > V1_EVENTS_HERE) rc = wire_fold_begin(f, q->after, &err);
    if (rc != 0) {
        wire_fold_free(f);
        return wire_fail(c, &err);
    }
    struct http_stream s = {
        .run_no = q->head.run_no,
        .run_id = q->head.run_id,
        .after_seq = wire_fold_seq(f),
        .fold = wire_fold_event,
        .away = request_is_long(q),
        .state = f,
        .state_free = fold_free,
        .state_bytes = fold_bytes,
        /* The run may have ended since, and no further event would reveal that. */
        .final = run_status_final(q->head.status) || wire_fold_ended(f)};
    http_reply_stream(c, &s);
    return HTTP_DONE;
}

static void values_reply_offloaded(struct http_call *c) {
    struct wopr_error err = {0};
    struct stream_request q = {0};
    if (request_read(c, &q, &err) != 0) (void)wire_fail(c, &err);
    else (void)values_reply(c, &q, false);
}

/* With a cursor beyond the log of a live run the stream reads from the end of the log, so that it
 * sees the run end, but shows only events after the cursor (SSE-23, SSE-28). */
static int view_reply(struct http_call *c, const struct stream_request *q) {
    int64_t last = q->head.next_seq - 1;
    struct http_stream s = {.run_no = q->head.run_no,
                            .run_id = q->head.run_id,
                            .after_seq = q->after < last ? q->after : last,
                            .quiet_until = q->after,
                            .view = q->mode.values ? NULL : v1_view(q->mode.mask, q->buffer_ms > 0),
                            .buffer_ms = (unsigned)q->buffer_ms,
                            .final = run_status_final(q->head.status),
                            .ended = cursor_covers_all(q),
                            .none_is_204 = c->who.ticket_run_no > 0};
    http_reply_stream(c, &s);
    return HTTP_DONE;
}

int v1_stream_run_events(struct http_call *c) {
    struct wopr_error err = {0};
    struct stream_request q = {0};
    if (request_read(c, &q, &err) != 0) return wire_fail(c, &err);
    if (wire_accept_json(http_header(c, "Accept"))) /* HTTP-20 */
        return request_is_long(&q) ? http_offload(c, json_reply_offloaded) : json_reply(c, &q);
    if (c->who.ticket_run_no > 0 && cursor_covers_all(&q)) {
        /* ends an EventSource; a 200 would make it reconnect */
        http_reply(c, 204, STR_NONE);
        return HTTP_DONE;
    }
    bool beyond = run_status_final(q.head.status) && q.after >= q.head.next_seq; /* SSE-28 */
    if (!q.mode.values || beyond) return view_reply(c, &q);
    int rc = request_is_long(&q) ? WOPR_E_TOO_BIG : values_reply(c, &q, true);
    return rc == WOPR_E_TOO_BIG ? http_offload(c, values_reply_offloaded) : rc;
}
