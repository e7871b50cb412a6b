/*
 * invocations.c: the invocation log (STORE-42, D55): one row per outside effect of a run.
 */
#include "store/runs.h"
#include "store/sqlite/sql.h"

#define INVOCATION_ROW_MAX (64u * 1024 * 1024)
#define NO_ROOM            "no memory for the invocation log"

int invocation_put(const struct row_writer *w, const struct plan_invocation *v) {
    bool done = v->state != INVOCATION_CLAIMED;
    struct query q;
    query_begin(&q, w->c, SQL_INVOCATION_PUT);
    bind_text(&q, v->effect_id);
    bind_int(&q, w->run_no);
    bind_text(&q, v->node_id);
    bind_int(&q, v->ordinal);
    bind_int(&q, v->attempt);
    bind_text(&q, v->invocation_id);
    bind_text(&q, v->provider_key);
    bind_int(&q, v->state);
    bind_hash(&q, &v->request_digest);
    bind_opt(&q, v->outcome);
    bind_int(&q, v->at_ms);
    bind_int_opt(&q, done ? v->at_ms : -1, -1);
    bind_int(&q, v->expires_ms);
    return query_run(&q, w->err);
}

static void row_read(struct query *q, struct arena *a, struct plan_invocation *v) {
    *v = (struct plan_invocation){.effect_id = col_str(q, 0, a),
                                  .node_id = col_str(q, 1, a),
                                  .ordinal = col_int(q, 2),
                                  .attempt = (int32_t)col_int(q, 3),
                                  .invocation_id = col_str(q, 4, a),
                                  .provider_key = col_str(q, 5, a),
                                  .state = (enum invocation_state)col_int(q, 6),
                                  .outcome = col_str(q, 8, a),
                                  .at_ms = col_int(q, 9),
                                  .expires_ms = col_int(q, 10)};
    (void)col_hash(q, 7, &v->request_digest); /* not 32 bytes: stays zero, matches no request */
}

int store_invocations(struct store *s, int64_t run_no, invocation_take *take, void *ctx,
                      struct wopr_error *err) {
    struct query q;
    struct arena *a = arena_new(INVOCATION_ROW_MAX);
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, NO_ROOM);
    int rc = read_begin(&q, s, SQL_INVOCATIONS, err);
    if (rc != 0) {
        arena_free(a);
        return rc;
    }
    bind_int(&q, run_no);
    while ((rc = query_step(&q, err)) == 1) {
        struct plan_invocation v = {0};
        row_read(&q, a, &v);
        rc = arena_failed(a) ? wopr_error_set(err, WOPR_E_NO_MEMORY, NO_ROOM) : take(ctx, &v, err);
        if (rc != 0) break;
        arena_reset(a);
    }
    query_end(&q);
    arena_free(a);
    return rc;
}
