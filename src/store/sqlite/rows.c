/*
 * rows.c: the rows that a plan writes beside its events: node states, variables, channel entries,
 * timers, artifacts.  Interrupts and invocations have files of their own.
 */
#include "store/sqlite/sql.h"

/* A search copies each row that is its own key and that it compares: long states lie elsewhere. */
enum { STATE_INLINE_BYTES = 512 };

static int node_state_put(const struct row_writer *w, enum stmt_id id, struct str node_id,
                          struct str state) {
    struct query q;
    query_begin(&q, w->c, id);
    bind_int(&q, w->run_no);
    bind_text(&q, node_id);
    bind_opt(&q, state);
    return query_run(&q, w->err);
}

int node_put(const struct row_writer *w, const struct plan_node_row *row) {
    if (row->state.n <= STATE_INLINE_BYTES)
        return node_state_put(w, SQL_NODE_PUT, row->node_id, row->state);
    int rc = node_state_put(w, SQL_NODE_LONG_PUT, row->node_id, row->state);
    return rc == 0 ? node_state_put(w, SQL_NODE_PUT, row->node_id, STR_NONE) : rc;
}

int var_put(const struct row_writer *w, const struct plan_var_row *row) {
    struct query q;
    query_begin(&q, w->c, row->omitted ? SQL_VAR_DEL : SQL_VAR_PUT);
    bind_int(&q, w->run_no);
    bind_text(&q, row->name);
    if (!row->omitted) bind_text(&q, row->value);
    return query_run(&q, w->err);
}

int chan_put(const struct row_writer *w, const struct plan_chan_row *row) {
    struct query q;
    static const enum stmt_id ops[] = {[PLAN_CHAN_PUT] = SQL_CHAN_PUT,
                                       [PLAN_CHAN_DEL] = SQL_CHAN_DEL,
                                       [PLAN_CHAN_NONE] = SQL_CHAN_ONLY};
    query_begin(&q, w->c, ops[row->op]);
    bind_int(&q, w->run_no);
    bind_text(&q, row->name);
    bind_int(&q, row->seq);
    if (row->op == PLAN_CHAN_PUT) {
        bind_int(&q, row->declared);
        bind_int(&q, row->is_list);
        bind_int(&q, row->ts_ms);
        bind_text(&q, row->value);
        bind_int(&q, row->ttl_ms);
    }
    int rc = query_run(&q, w->err);
    if (rc != 0 || row->op != PLAN_CHAN_PUT || row->is_list) return rc;
    query_begin(&q, w->c, SQL_CHAN_ONLY); /* one value: delete the rows of earlier writes */
    bind_int(&q, w->run_no);
    bind_text(&q, row->name);
    bind_int(&q, row->seq);
    return query_run(&q, w->err);
}

int timer_put(const struct row_writer *w, const struct plan_timer *row) {
    struct query q;
    query_begin(&q, w->c, row->set ? SQL_TIMER_PUT : SQL_TIMER_DEL);
    bind_int(&q, w->run_no);
    bind_int(&q, row->kind);
    bind_text(&q, row->node_id);
    if (row->set) {
        bind_int(&q, row->fire_at_ms);
        bind_int(&q, row->remaining_ms);
    }
    return query_run(&q, w->err);
}

int artifact_put(const struct row_writer *w, const struct plan_artifact *row) {
    struct query q;
    query_begin(&q, w->c, SQL_ARTIFACT_PUT);
    bind_int(&q, w->run_no);
    bind_text(&q, row->artifact_id);
    bind_text(&q, row->artifact_type);
    bind_opt(&q, row->node_id);
    bind_opt(&q, row->version);
    bind_opt(&q, row->summary);
    bind_text(&q, row->body);
    bind_int(&q, w->now_ms);
    bind_int(&q, row->seq);
    return query_run(&q, w->err);
}
