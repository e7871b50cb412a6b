/*
 * task_list.c: GET /v1/host/wopr/tasks and /tasks/{taskId}: what operators see of tasks, without
 * what they hold (WRK-26; host extension, docs/workers.md).
 */
#include "engine/workers.h"
#include "wire/v1/wire_int.h"

#define CURSOR_PARTS 4 /* type, state, ready, id; no part has a colon */

static void summary_render(struct jw *w, const struct task_row *t) {
    bool leased = t->state == TROW_LEASED;
    jw_kstr(w, "taskId", t->task_id);
    jw_kstrz(w, "state", task_state_name(t->state));
    jw_kstr(w, "typeId", t->type_id);
    jw_kstr(w, "runId", t->run_id);
    jw_kstr(w, "workflowId", t->workflow_id);
    jw_kstr(w, "nodeId", t->node_id);
    jw_kint(w, "attempt", t->attempt);
    jw_kint(w, "epoch", t->epoch);
    jw_kint(w, "leasesLost", t->lost);
    jw_kint(w, "bytes", t->bytes);
    v1_time_member(w, "readyAt", t->ready_ms);
    if (leased && t->worker.n > 0) jw_kstr(w, "worker", t->worker);
    if (leased) jw_kint(w, "leaseMs", t->lease_ms);
    if (leased) v1_time_member(w, "leaseUntil", t->lease_until_ms);
    if (t->state >= TROW_COMPLETED) v1_time_member(w, "endedAt", t->ended_ms);
    if (t->reason.n > 0) jw_kstr(w, "reason", t->reason);
}

/* --- the request --- */

static int status_read(const struct http_call *c, int *state, struct wopr_error *err) {
    bool given;
    struct str text = http_query(c, "status", &given);
    *state = -1;
    if (!given) return 0;
    for (int i = 0; i < TROW_COMPLETED; i++)
        if (str_eqc(text, task_state_name((enum task_row_state)i))) *state = i;
    if (*state >= 0) return 0;
    return wire_param_error(err, "status",
                            "status must be ready, leased, held, answered or lost: tasks that "
                            "ended are read one by one");
}

static bool cursor_parse(struct str text, struct task_row *after) {
    struct str part[CURSOR_PARTS];
    int64_t state;
    size_t n = 0, from = 0;
    for (size_t i = 0; i <= text.n; i++) {
        if (i < text.n && text.p[i] != ':') continue;
        if (n == CURSOR_PARTS) return false;
        part[n++] = str_n(text.p + from, i - from);
        from = i + 1;
    }
    if (n != CURSOR_PARTS || !json_int(part[1], &state) || !json_int(part[2], &after->ready_ms) ||
        state < 0 || state >= TROW_COMPLETED || part[0].n == 0 || part[3].n == 0)
        return false;
    after->type_id = part[0];
    after->state = (enum task_row_state)state;
    after->task_id = part[3];
    return true;
}

static struct str cursor_format(const struct task_row *t, struct arena *a) {
    return arena_printf(a, STR_FMT ":%d:%lld:" STR_FMT, STR_ARG(t->type_id), (int)t->state,
                        (long long)t->ready_ms, STR_ARG(t->task_id));
}

static int filter_read(struct http_call *c, struct task_filter *f, struct wopr_error *err) {
    bool given;
    *f = (struct task_filter){.tenant = c->who.tenant, .test_mode = c->who.test_mode};
    f->type_id = http_query(c, "type", &given);
    if (given && (f->type_id.n == 0 || f->type_id.n > 256))
        return wire_param_error(err, "type", "type must be the id of a type");
    struct str cursor = http_query(c, "cursor", &given);
    if (given && !cursor_parse(cursor, &f->after))
        return wire_param_error(err, "cursor", "cursor must be nextCursor of an answer");
    return status_read(c, &f->state, err);
}

/* --- the answers --- */

int v1_list_tasks(struct http_call *c) {
    struct wopr_error err = {0};
    struct task_filter f;
    struct task_row_list l = {0};
    struct jobj o;
    int64_t limit = 0;
    int rc = wire_int_param(c, "limit", 1, V1_LIST_MAX, V1_LIST_DEFAULT, &limit, &err);
    if (rc == 0) rc = filter_read(c, &f, &err);
    if (rc == 0)
        rc = store_tasks_list(wire_of(c)->store, &f, (unsigned)limit + 1, c->arena, &l, &err);
    if (rc != 0) return wire_fail(c, &err);
    size_t n = l.n > (size_t)limit ? (size_t)limit : l.n;
    jobj_begin(&o, WIRE_SNAPSHOT_MAX);
    jw_key(&o.w, "tasks");
    jw_array(&o.w);
    for (size_t i = 0; i < n; i++) {
        if (f.state >= 0 && (int)l.v[i].state != f.state) continue; /* of all types */
        jw_object(&o.w);
        summary_render(&o.w, &l.v[i]);
        jw_end_object(&o.w);
    }
    jw_end_array(&o.w);
    if (l.n > n) jw_kstr(&o.w, "nextCursor", cursor_format(&l.v[n - 1], c->arena));
    return wire_reply_object(c, 200, &o);
}

int v1_get_task(struct http_call *c) {
    struct wopr_error err = {0};
    struct task_row t;
    struct jobj o;
    if (store_task_get(wire_of(c)->store, c->who.tenant, c->who.test_mode, http_param(c, "taskId"),
                       c->arena, &t, &err) != 0)
        return wire_fail(c, &err);
    jobj_begin(&o, WIRE_BODY_SMALL);
    summary_render(&o.w, &t);
    return wire_reply_object(c, 200, &o);
}
