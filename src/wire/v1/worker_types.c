/*
 * worker_types.c: types of nodes that workers execute: register, list, remove (WRK-1 to WRK-7; host
 * extension, docs/workers.md).
 */
#include "base/clock.h"
#include "codec/ident.h"
#include "engine/workers.h"
#include "wire/v1/wire_int.h"

#include <stdio.h>

int v1_int_member(struct str raw, const char *name, int64_t min, int64_t max, int64_t absent,
                  int64_t *out, struct wopr_error *err) {
    *out = absent;
    if (!raw.p) return 0;
    if (json_int(raw, out) && *out >= min && *out <= max) return 0;
    char at[64];
    (void)snprintf(at, sizeof at, "/%s", name);
    return wopr_error_at(err, WOPR_E_VALIDATION, at, "%s must be a whole number from %lld to %lld",
                         name, (long long)min, (long long)max);
}

int v1_text_member(struct str text, const char *name, size_t max, struct wopr_error *err) {
    if (text.n <= max) return 0;
    char at[64];
    (void)snprintf(at, sizeof at, "/%s", name);
    return wopr_error_at(err, WOPR_E_VALIDATION, at, "%s may have %zu bytes", name, max);
}

static void type_render(struct jw *w, const struct worker_type *t, const bool *changed) {
    jw_kstr(w, "typeId", t->type_id);
    jw_kint(w, "revision", t->revision);
    if (changed) jw_kbool(w, "changed", *changed);
    if (t->input_schema.n > 0) jw_kraw(w, "inputSchema", t->input_schema);
    if (t->output_schema.n > 0) jw_kraw(w, "outputSchema", t->output_schema);
    if (t->description.n > 0) jw_kstr(w, "description", t->description);
    v1_time_member(w, "registeredAt", t->created_ms);
    v1_time_member(w, "updatedAt", t->updated_ms);
}

static void type_done(struct worker_type_cmd *t) { http_resume(t->ctx); }

/* The call was suspended, and goes on. */
static int type_answer(struct http_call *c, const struct worker_type_cmd *t) {
    struct jobj o;
    if (t->rc != 0) return wire_fail(c, &t->err);
    jobj_begin(&o, WIRE_SNAPSHOT_MAX);
    if (t->what == WORKER_TYPE_PUT) {
        type_render(&o.w, &t->type, &t->changed);
    } else {
        jw_kstr(&o.w, "typeId", t->type.type_id);
        jw_kbool(&o.w, "removed", true);
    }
    c->user = NULL;
    return wire_reply_object(c, 200, &o);
}

static int type_submit(struct http_call *c, const struct worker_type_cmd *filled) {
    struct wopr_error err = {0};
    struct worker_type_cmd *t = ARENA_NEW(c->arena, struct worker_type_cmd);
    if (!t) {
        wopr_error_set(&err, WOPR_E_NO_MEMORY, "no memory for a type");
        return wire_fail(c, &err);
    }
    *t = *filled;
    t->a = c->arena;
    t->done = type_done;
    t->ctx = c;
    t->type.tenant = c->who.tenant;
    t->type.test_mode = c->who.test_mode;
    t->type.updated_ms = clock_wall_ms();
    c->user = t;
    engine_worker_type(wire_of(c)->engine, t);
    return HTTP_PENDING;
}

int v1_register_worker_type(struct http_call *c) {
    struct wopr_error err = {0};
    struct v1_worker_type_request b = {0};
    if (c->user) return type_answer(c, c->user);
    int rc = wire_body_parse(c->body, &V1_WORKER_TYPE_REQUEST, c->arena, &b, &err);
    if (rc == 0 && !b.type_id.p)
        rc = wire_field_error(&err, "typeId", "required", "typeId is required");
    if (rc != 0) return wire_fail(c, &err);
    const struct worker_type_cmd t = {.what = WORKER_TYPE_PUT,
                                      .type = {.type_id = b.type_id,
                                               .input_schema = b.input_schema,
                                               .output_schema = b.output_schema,
                                               .description = b.description}};
    return type_submit(c, &t);
}

int v1_remove_worker_type(struct http_call *c) {
    if (c->user) return type_answer(c, c->user);
    const struct worker_type_cmd t = {.what = WORKER_TYPE_REMOVE,
                                      .type = {.type_id = http_param(c, "typeId")}};
    return type_submit(c, &t);
}

/* How much waits, and how long: counting ends where it would take long. */
static int queue_render(struct http_call *c, struct jw *w, struct str type,
                        struct wopr_error *err) {
    enum { COUNTED_MAX = 1000 };
    const struct task_queue q = {c->who.tenant, c->who.test_mode, &type, 1};
    int64_t ready = 0, leased = 0, oldest_ms = 0, none_ms;
    struct store *s = wire_of(c)->store;
    int rc = store_tasks_queue(s, &q, TROW_READY, COUNTED_MAX + 1, &ready, &oldest_ms, err);
    if (rc == 0)
        rc = store_tasks_queue(s, &q, TROW_LEASED, COUNTED_MAX + 1, &leased, &none_ms, err);
    if (rc != 0) return rc;
    bool more = ready > COUNTED_MAX || leased > COUNTED_MAX;
    jw_key(w, "tasks");
    jw_object(w);
    jw_kint(w, "ready", ready < COUNTED_MAX ? ready : COUNTED_MAX);
    jw_kint(w, "leased", leased < COUNTED_MAX ? leased : COUNTED_MAX);
    if (more) jw_kbool(w, "more", true);
    if (ready > 0) v1_time_member(w, "oldestReadyAt", oldest_ms);
    jw_end_object(w);
    return 0;
}

int v1_worker_types_page(struct http_call *c, struct worker_type_list *l, size_t *n,
                         struct wopr_error *err) {
    *l = (struct worker_type_list){0};
    int64_t limit = 0;
    bool given;
    struct str after = http_query(c, "after", &given);
    int rc = wire_int_param(c, "limit", 1, V1_LIST_MAX, V1_LIST_DEFAULT, &limit, err);
    if (rc == 0 && given && !id_type_valid(after))
        rc = wire_param_error(err, "after", "after must be nextAfter of an answer");
    if (rc == 0)
        rc = store_worker_types(wire_of(c)->store, c->who.tenant, c->who.test_mode, after,
                                (unsigned)limit + 1, c->arena, l, err);
    if (rc == 0) *n = l->n > (size_t)limit ? (size_t)limit : l->n;
    return rc;
}

int v1_list_worker_types(struct http_call *c) {
    struct wopr_error err = {0};
    struct worker_type_list l;
    size_t n;
    int rc = v1_worker_types_page(c, &l, &n, &err);
    if (rc != 0) return wire_fail(c, &err);
    struct jobj o;
    jobj_begin(&o, WIRE_SNAPSHOT_MAX);
    jw_key(&o.w, "workerTypes");
    jw_array(&o.w);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        jw_object(&o.w);
        type_render(&o.w, &l.v[i], NULL);
        rc = queue_render(c, &o.w, l.v[i].type_id, &err);
        jw_end_object(&o.w);
    }
    jw_end_array(&o.w);
    if (rc != 0) {
        jobj_drop(&o);
        return wire_fail(c, &err);
    }
    if (l.n > n) jw_kstr(&o.w, "nextAfter", l.v[n - 1].type_id);
    return wire_reply_object(c, 200, &o);
}
