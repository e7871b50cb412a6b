/*
 * callbacks.c: what came of the questions that a run sends to its callback URL (RUN-1; a host
 * extension, docs/api-extensions.md).
 */
#include "store/callbacks.h"
#include "wire/v1/wire_int.h"

enum { LIST_BYTES_MAX = 1024 * 1024 };

static void outcome_render(struct jw *w, const struct callback_outcome *o) {
    static const char *const STATES[] = {[CALLBACK_OPEN] = "pending",
                                         [CALLBACK_SENT] = "sent",
                                         [CALLBACK_GIVEN_UP] = "given-up",
                                         [CALLBACK_ANSWERED] = "answered"};
    bool known = (size_t)o->state < sizeof STATES / sizeof *STATES;
    jw_object(w);
    jw_kstr(w, "interruptId", o->interrupt_id);
    jw_kstr(w, "nodeId", o->node_id);
    jw_kint(w, "sequence", o->requested_seq);
    jw_key(w, "state");
    jw_strz(w, known ? STATES[o->state] : "unknown");
    jw_kint(w, "attempts", o->attempts);
    if (o->status > 0) jw_kint(w, "lastStatus", o->status);
    jw_kstr_opt(w, "lastError", o->error);
    v1_time_member(w, "lastAttemptAt", o->last_ms);
    if (o->state == CALLBACK_OPEN) v1_time_member(w, "nextAttemptAt", o->next_ms);
    jw_end_object(w);
}

int v1_list_run_callbacks(struct http_call *c) {
    struct callback_outcomes l = {.n = 0};
    struct wopr_error err = {0};
    struct run_head head;
    int64_t limit, after;
    struct jobj o;
    int rc = wire_int_param(c, "limit", 1, V1_LIST_MAX, V1_LIST_DEFAULT, &limit, &err);
    if (rc == 0) rc = wire_int_param(c, "after", 0, INT64_MAX, -1, &after, &err);
    if (rc == 0) rc = wire_run_of(c, &head, &err);
    if (rc == 0)
        rc = store_callback_outcomes(wire_of(c)->store, head.run_no, after, (unsigned)limit + 1,
                                     c->arena, &l, &err);
    if (rc != 0) return wire_fail(c, &err);
    size_t n = l.n > (size_t)limit ? (size_t)limit : l.n;
    jobj_begin(&o, LIST_BYTES_MAX);
    jw_key(&o.w, "callbacks");
    jw_array(&o.w);
    for (size_t i = 0; i < n; i++) outcome_render(&o.w, &l.v[i]);
    jw_end_array(&o.w);
    if (l.n > n) jw_kint(&o.w, "nextAfter", l.v[n - 1].requested_seq);
    return wire_reply_object(c, 200, &o);
}
