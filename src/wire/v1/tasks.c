/*
 * tasks.c: POST /v1/host/wopr/tasks:claim and :heartbeat (WRK-11, WRK-15; host extension,
 * docs/workers.md).
 *
 *     LOOK --something is ready--> CLAIMING --nothing left--> WAITING --woken--> LOOK
 *       '--nothing-----------------------------------------------^  '--time over--> []
 *
 * A claim that waits is parked as long-polls are, and counted as one; it writes nothing while
 * nothing is ready.
 */
#include "base/clock.h"
#include "engine/workers.h"
#include "wire/v1/wire_int.h"

enum claim_phase { CLAIM_LOOK, CLAIM_CLAIMING, CLAIM_WAITING };
struct claim { /* of one call, in its arena */
    struct engine_task_op o;
    struct task_queue queue;
    struct task_wait *wait; /* owned */
    enum claim_phase phase;
    uint64_t until_ms;
};

static void claim_free(void *user) {
    struct claim *k = user;
    task_wait_free(k->wait);
    k->wait = NULL;
}

static void op_done(struct engine_task_op *o) { http_resume(o->ctx); }

/* --- the request --- */

static int types_read(struct http_call *c, struct str raw, struct task_queue *q,
                      struct wopr_error *err) {
    struct json_elements l = {0};
    if (!raw.p) return wire_field_error(err, "types", "required", "types is required");
    int rc = json_elements(raw, c->arena, &l, err);
    if (rc != 0) return rc;
    struct str *types = ARENA_ARRAY(c->arena, struct str, l.n + 1);
    if (!types) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a claim");
    bool texts = l.n >= 1 && l.n <= STORE_TASK_TYPES_MAX;
    for (size_t i = 0; texts && i < l.n; i++) {
        types[i] = json_string(l.v[i], c->arena);
        texts = json_type_of(l.v[i]) == JSON_STRING && types[i].n > 0 && types[i].n <= 256;
        for (size_t k = 0; texts && k < i; k++)
            if (str_eq(types[i], types[k]))
                return wire_field_error(err, "types", "repeated", "types has an id twice");
    }
    if (!texts)
        return wire_field_error(err, "types", "invalid", "types must be an array of 1 to 32 ids");
    *q = (struct task_queue){c->who.tenant, c->who.test_mode, types, l.n};
    return 0;
}

static int claim_read(struct http_call *c, struct claim *k, struct wopr_error *err) {
    struct v1_claim_request b = {0};
    int64_t max = 1, wait_ms = 0;
    int rc = wire_body_parse(c->body, &V1_CLAIM_REQUEST, c->arena, &b, err);
    if (rc == 0) rc = types_read(c, b.types, &k->queue, err);
    if (rc == 0) rc = v1_int_member(b.max, "max", 1, STORE_TASKS_CLAIM_MAX, 1, &max, err);
    if (rc == 0)
        rc = v1_int_member(b.lease_ms, "leaseMs", TASK_LEASE_MS_MIN, TASK_LEASE_MS_MAX,
                           TASK_LEASE_MS, &k->o.op.lease_ms, err);
    if (rc == 0)
        rc = v1_int_member(b.wait_ms, "waitMs", 0, TASK_WAIT_MS_MAX, TASK_WAIT_MS, &wait_ms, err);
    if (rc == 0) rc = v1_text_member(b.worker, "worker", TASK_WORKER_BYTES, err);
    if (rc != 0) return rc;
    k->o.op.what = TASK_OP_CLAIM;
    k->o.op.max = (size_t)max;
    k->o.op.worker = b.worker;
    k->o.op.queue = k->queue;
    k->until_ms = clock_mono_ms() + (uint64_t)wait_ms;
    return 0;
}

static struct claim *claim_new(struct http_call *c, struct wopr_error *err) {
    struct claim *k = ARENA_NEW(c->arena, struct claim);
    if (!k) {
        wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a claim");
        return NULL;
    }
    k->o.op.a = c->arena;
    k->o.done = op_done;
    k->o.ctx = c;
    if (claim_read(c, k, err) != 0) return NULL;
    if (task_wait_new(wire_of(c)->engine, &k->queue, &k->wait, err) != 0) return NULL;
    c->user = k;
    c->user_free = claim_free;
    return k;
}

/* --- the answer --- */

static int task_render(struct http_call *c, struct jw *w, const struct task_row *t,
                       struct wopr_error *err) {
    struct str body;
    int rc = engine_task_body(wire_of(c)->engine, t, c->arena, &body, err);
    if (rc != 0) return rc;
    jw_object(w);
    jw_kstr(w, "taskId", t->task_id);
    jw_kint(w, "epoch", t->epoch);
    jw_kint(w, "leaseMs", t->lease_ms);
    v1_time_member(w, "leaseUntil", t->lease_until_ms);
    jw_kstr(w, "typeId", t->type_id);
    jw_kstr(w, "runId", t->run_id);
    jw_kstr(w, "workflowId", t->workflow_id);
    jw_kstr(w, "nodeId", t->node_id);
    jw_kint(w, "attempt", t->attempt);
    jw_kstr(w, "idempotencyKey", t->invocation_id);
    jw_kraw(w, "input", json_get(body, "input"));
    jw_kraw(w, "config", json_get(body, "config"));
    jw_kraw(w, "answers", json_get(body, "answers"));
    jw_end_object(w);
    return 0;
}

/* Helps with a misspelt type: those of the claim that nobody has registered. */
static int unregistered_render(struct http_call *c, const struct claim *k, struct jw *w,
                               struct wopr_error *err) {
    bool any = false, known;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < k->queue.types_nr; i++) {
        rc = engine_knows_type(wire_of(c)->engine, c->who.tenant, c->who.test_mode,
                               k->queue.types[i], &known, err);
        if (rc != 0 || known) continue;
        if (!any) {
            jw_key(w, "unregistered");
            jw_array(w);
        }
        any = true;
        jw_str(w, k->queue.types[i]);
    }
    if (any) jw_end_array(w);
    return rc;
}

static int claim_answer(struct http_call *c, struct claim *k) {
    struct wopr_error err = {0};
    const struct task_row_list *l = &k->o.op.claimed;
    struct jobj o;
    int rc = 0;
    jobj_begin(&o, WIRE_SNAPSHOT_MAX);
    jw_key(&o.w, "tasks");
    jw_array(&o.w);
    for (size_t i = 0; rc == 0 && i < l->n; i++) rc = task_render(c, &o.w, &l->v[i], &err);
    jw_end_array(&o.w);
    if (rc == 0 && l->n == 0) rc = unregistered_render(c, k, &o.w, &err);
    claim_free(k); /* the reply needs its place */
    c->user = NULL;
    c->user_free = NULL;
    if (rc == 0) return wire_reply_object(c, 200, &o);
    jobj_drop(&o);
    return wire_fail(c, &err);
}

/* --- its way --- */

static void wait_arm(void *of, void (*wake)(void *ctx), void *ctx) { task_wait_arm(of, wake, ctx); }
static void wait_disarm(void *of) { task_wait_disarm(of); }

static int claim_wait(struct http_call *c, struct claim *k) {
    const struct http_waits_for w = {wait_arm, wait_disarm, k->wait};
    uint64_t now_ms = clock_mono_ms();
    if (now_ms >= k->until_ms) return claim_answer(c, k);
    k->phase = CLAIM_WAITING;
    return http_wait_for(c, &w, (int64_t)(k->until_ms - now_ms));
}

static int claim_look(struct http_call *c, struct claim *k) {
    struct wopr_error err = {0};
    bool any = false;
    task_wait_begin(k->wait); /* first: what becomes ready from now on wakes it */
    if (store_tasks_ready(wire_of(c)->store, &k->queue, &any, &err) != 0) return wire_fail(c, &err);
    if (!any) return claim_wait(c, k);
    k->phase = CLAIM_CLAIMING;
    engine_task_op(wire_of(c)->engine, &k->o);
    return HTTP_PENDING;
}

int v1_claim_tasks(struct http_call *c) {
    struct wopr_error err = {0};
    struct claim *k = c->user;
    if (!k) {
        k = claim_new(c, &err);
        return k ? claim_look(c, k) : wire_fail(c, &err);
    }
    if (k->phase == CLAIM_WAITING) /* else its time is over, the host stops, or nobody would hear */
        return task_wait_woken(k->wait) && !http_hung_up(c) ? claim_look(c, k) : claim_answer(c, k);
    if (k->o.op.rc != 0) return wire_fail(c, &k->o.op.err);
    return k->o.op.claimed.n > 0 ? claim_answer(c, k) : claim_wait(c, k);
}

/* --- heartbeats --- */

static int beat_answer(struct http_call *c, const struct engine_task_op *o) {
    const struct task_row *t = &o->op.row;
    bool held = o->op.rc == 0;
    bool cancelled =
        o->op.rc == WOPR_E_TASK_LOST && t->epoch == o->op.epoch && t->state == TROW_CANCELLED;
    struct wopr_error err = o->op.err;
    struct jobj w;
    if (!held && !cancelled) {
        if (o->op.rc != WOPR_E_TASK_LOST) return wire_fail(c, &err);
        jobj_begin(&w, WOPR_DETAILS_SIZE);
        jw_kstrz(&w.w, "state", task_state_name(t->state));
        jw_kint(&w.w, "epoch", t->epoch);
        jobj_details(&w, &err);
        return wire_fail(c, &err);
    }
    jobj_begin(&w, WIRE_BODY_SMALL);
    jw_kstr(&w.w, "taskId", t->task_id);
    jw_kint(&w.w, "epoch", t->epoch);
    jw_kstrz(&w.w, "state", held ? "leased" : "cancelled");
    if (held) jw_kint(&w.w, "leaseMs", t->lease_ms);
    if (held) v1_time_member(&w.w, "leaseUntil", t->lease_until_ms);
    else if (t->reason.n > 0) jw_kstr(&w.w, "reason", t->reason);
    c->user = NULL;
    return wire_reply_object(c, 200, &w);
}

int v1_heartbeat_task(struct http_call *c) {
    struct wopr_error err = {0};
    struct v1_heartbeat_request b = {0};
    if (c->user) return beat_answer(c, c->user);
    struct engine_task_op *o = ARENA_NEW(c->arena, struct engine_task_op);
    int rc = o ? 0 : wopr_error_set(&err, WOPR_E_NO_MEMORY, "no memory for a heartbeat");
    if (rc == 0) rc = wire_body_parse(c->body, &V1_HEARTBEAT_REQUEST, c->arena, &b, &err);
    if (rc == 0 && !b.epoch.p)
        rc = wire_field_error(&err, "epoch", "required", "epoch is required");
    if (rc == 0) rc = v1_int_member(b.epoch, "epoch", 1, INT64_MAX, 1, &o->op.epoch, &err);
    if (rc == 0 && b.lease_ms.p) /* else as long as it was */
        rc = v1_int_member(b.lease_ms, "leaseMs", TASK_LEASE_MS_MIN, TASK_LEASE_MS_MAX,
                           TASK_LEASE_MS, &o->op.lease_ms, &err);
    if (rc != 0) return wire_fail(c, &err);
    o->op.what = TASK_OP_BEAT;
    o->op.a = c->arena;
    o->op.task_id = http_param(c, "taskId");
    o->op.queue = (struct task_queue){.tenant = c->who.tenant, .test_mode = c->who.test_mode};
    o->done = op_done;
    o->ctx = c;
    c->user = o;
    engine_task_op(wire_of(c)->engine, o);
    return HTTP_PENDING;
}
