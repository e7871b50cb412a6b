/*
 * task_says.c: what workers say about a task: complete, fail, ask, emit (WRK-16 to WRK-21; host
 * extension, docs/workers.md).
 */
#include "engine/workers.h"
#include "wire/v1/wire_int.h"

enum { CODE_BYTES = 128, MESSAGE_BYTES = 4096, KIND_BYTES = 64, CHUNKS_MAX = 64 };
#define CHUNK_BYTES (256u * 1024)

void v1_task_said(struct jw *w, const struct engine_cmd *cmd, const struct engine_result *r) {
    jw_kstr(w, "taskId", cmd->task.task_id);
    jw_kstrz(w, "state", r->task_state ? r->task_state : "completed");
    if (r->interrupt_id.n > 0) jw_kstr(w, "interruptId", r->interrupt_id);
}

/* The run of the task is looked up first: what does not exist has no run to ask. */
static int says_submit(struct http_call *c, struct str epoch, const struct task_says *s) {
    struct wopr_error err = {0};
    struct task_row t;
    struct wire_cmd *wc = NULL;
    int64_t number = 0;
    int rc = epoch.p ? v1_int_member(epoch, "epoch", 1, INT64_MAX, 1, &number, &err)
                     : wire_field_error(&err, "epoch", "required", "epoch is required");
    if (rc == 0)
        rc = store_task_get(wire_of(c)->store, c->who.tenant, c->who.test_mode,
                            http_param(c, "taskId"), c->arena, &t, &err);
    if (rc == 0) rc = wire_cmd_new(c, ENGINE_TASK, &V1_SPELLING, &wc, &err);
    if (rc != 0) return wire_fail(c, &err);
    wc->cmd.run_id = t.run_id;
    wc->cmd.task = (struct cmd_task){.task_id = t.task_id, .epoch = number, .says = *s};
    return wire_cmd_submit(wc);
}

int v1_complete_task(struct http_call *c) {
    struct wopr_error err = {0};
    struct v1_complete_request b = {0};
    if (wire_body_parse(c->body, &V1_COMPLETE_REQUEST, c->arena, &b, &err) != 0)
        return wire_fail(c, &err);
    const struct task_says s = {.verb = TASK_COMPLETE, .output = b.output.p ? b.output : STR("{}")};
    return says_submit(c, b.epoch, &s);
}

int v1_fail_task(struct http_call *c) {
    struct wopr_error err = {0};
    struct v1_fail_request b = {0};
    struct v1_task_error e = {0};
    int rc = wire_body_parse(c->body, &V1_FAIL_REQUEST, c->arena, &b, &err);
    if (rc == 0 && !b.error.p)
        rc = wire_field_error(&err, "error", "required", "error is required");
    if (rc == 0) rc = wire_body_parse(b.error, &V1_TASK_ERROR, c->arena, &e, &err);
    if (rc == 0 && (e.code.n == 0 || !e.message.p))
        rc = wire_field_error(&err, "error", "required", "error needs code and message");
    if (rc == 0) rc = v1_text_member(e.code, "error/code", CODE_BYTES, &err);
    if (rc == 0) rc = v1_text_member(e.message, "error/message", MESSAGE_BYTES, &err);
    if (rc == 0) rc = v1_text_member(e.details, "error/details", WIRE_BODY_SMALL, &err);
    if (rc != 0) return wire_fail(c, &err);
    const struct task_says s = {.verb = TASK_FAIL,
                                .code = e.code,
                                .message = e.message,
                                .details = e.details,
                                .retryable = !b.retryable.p || str_eqc(b.retryable, "true")};
    return says_submit(c, b.epoch, &s);
}

int v1_ask_task(struct http_call *c) {
    struct wopr_error err = {0};
    struct v1_ask_request b = {0};
    struct task_says s = {.verb = TASK_ASK};
    int rc = wire_body_parse(c->body, &V1_ASK_REQUEST, c->arena, &b, &err);
    if (rc == 0 && b.kind.n == 0)
        rc = wire_field_error(&err, "kind", "required", "kind is required");
    if (rc == 0) rc = v1_text_member(b.kind, "kind", KIND_BYTES, &err);
    if (rc == 0)
        rc = v1_int_member(b.timeout_ms, "timeoutMs", 1, INTR_TIMEOUT_MAX, 0, &s.timeout_ms, &err);
    if (rc != 0) return wire_fail(c, &err);
    s.kind = b.kind;
    s.data = b.data.p ? b.data : STR("{}");
    s.resume_schema = b.resume_schema;
    return says_submit(c, b.epoch, &s);
}

/* --- output on the way --- */

static int chunk_read(struct str raw, struct arena *a, struct task_chunk *out,
                      struct wopr_error *err) {
    struct json_members m = {0};
    *out = (struct task_chunk){.is_last = -1};
    bool sound = json_type_of(raw) == JSON_OBJECT;
    int rc = sound ? json_members(raw, a, &m, err) : 0;
    for (size_t i = 0; rc == 0 && sound && i < m.n; i++) {
        enum json_type type = json_type_of(m.v[i].raw);
        if (str_eqc(m.v[i].key, "text") && type == JSON_STRING)
            out->text = json_string(m.v[i].raw, a);
        else if (str_eqc(m.v[i].key, "isLast") && type == JSON_BOOL)
            out->is_last = str_eqc(m.v[i].raw, "true");
        else if (str_eqc(m.v[i].key, "meta") && type == JSON_OBJECT) out->meta = m.v[i].raw;
        else sound = false;
    }
    if (rc != 0) return rc;
    /* Escaped it takes what it takes here, and has to fit an event. */
    if (!sound || !out->text.p || raw.n > 2 * CHUNK_BYTES || out->text.n > CHUNK_BYTES ||
        out->meta.n > WIRE_BODY_SMALL)
        return wire_field_error(err, "chunks", "invalid",
                                "a chunk is {text, isLast?, meta?}: text of at most 256 KiB, meta "
                                "an object of at most 64 KiB");
    return 0;
}

static int chunks_read(struct http_call *c, struct str raw, struct task_says *s,
                       struct wopr_error *err) {
    struct json_elements l = {0};
    size_t bytes = 0;
    if (!raw.p) return 0;
    int rc = json_elements(raw, c->arena, &l, err);
    if (rc == 0 && l.n > CHUNKS_MAX)
        return wire_field_error(err, "chunks", "too_long", "chunks may have 64 entries");
    struct task_chunk *v = rc == 0 ? ARENA_ARRAY(c->arena, struct task_chunk, l.n + 1) : NULL;
    if (rc == 0 && !v) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for chunks");
    for (size_t i = 0; rc == 0 && i < l.n; i++) {
        rc = chunk_read(l.v[i], c->arena, &v[i], err);
        if (rc == 0) bytes += v[i].text.n + v[i].meta.n;
    }
    if (rc == 0 && bytes > 4 * (size_t)CHUNK_BYTES)
        return wire_field_error(err, "chunks", "too_long", "the chunks of a call may have 1 MiB");
    s->chunks = v;
    s->chunks_nr = l.n;
    return rc;
}

static int progress_read(struct http_call *c, struct str raw, struct task_says *s,
                         struct wopr_error *err) {
    struct v1_task_progress p = {0};
    if (!raw.p) return 0;
    int rc = wire_body_parse(raw, &V1_TASK_PROGRESS, c->arena, &p, err);
    if (rc == 0) rc = v1_text_member(p.message, "progress/message", MESSAGE_BYTES, err);
    if (rc == 0 && p.percent.n > 32)
        rc = wire_field_error(err, "progress.percent", "invalid", "percent is from 0 to 100");
    if (rc != 0) return rc;
    s->progress_message = p.message;
    s->progress = jobj_of(c->arena, "percent", p.percent.p ? p.percent : STR("null"));
    return s->progress.p ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for progress");
}

int v1_emit_task(struct http_call *c) {
    struct wopr_error err = {0};
    struct v1_emit_request b = {0};
    struct task_says s = {.verb = TASK_EMIT};
    int rc = wire_body_parse(c->body, &V1_EMIT_REQUEST, c->arena, &b, &err);
    if (rc == 0) rc = chunks_read(c, b.chunks, &s, &err);
    if (rc == 0) rc = progress_read(c, b.progress, &s, &err);
    if (rc == 0 && s.chunks_nr == 0 && s.progress.n == 0)
        rc = wire_field_error(&err, "chunks", "required",
                              "there is nothing to emit: give chunks, progress or both");
    if (rc == 0) rc = v1_int_member(b.number, "number", 1, INT64_MAX, 0, &s.number, &err);
    return rc == 0 ? says_submit(c, b.epoch, &s) : wire_fail(c, &err);
}
