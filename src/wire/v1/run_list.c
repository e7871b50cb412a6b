/*
 * run_list.c: GET /v1/runs, newest first (E35; the shape is this host's extension,
 * docs/api-extensions.md).
 */
#include "codec/jobj.h"
#include "store/run_lists.h"
#include "wire/v1/wire_int.h"

#include <stdio.h>

static int status_read(struct http_call *c, int *out, struct wopr_error *err) {
    bool found = false;
    struct str text = http_query(c, "status", &found);
    *out = -1;
    if (!found) return 0;
    for (int s = 0; s < RUN_STATUS_NR; s++) {
        if (s == RUN_CANCELLING || !str_eqc(text, run_status_name((enum run_status)s))) continue;
        *out = s;
        return 0;
    }
    return wire_param_error(err, "status", "status names no run status");
}

/* The page starts after the run that `before` names, which must be visible to the caller. */
static int before_read(struct http_call *c, int64_t *run_no, struct wopr_error *err) {
    bool found = false;
    struct str id = http_query(c, "before", &found);
    struct run_head head;
    int rc = WOPR_E_NOT_FOUND;
    *run_no = 0;
    if (!found) return 0;
    if (id.n > 0 && id.n <= WIRE_ID_CHARS)
        rc = store_run_head(wire_of(c)->store, c->who.tenant, c->who.test_mode, id, c->arena, &head,
                            err);
    if (rc == 0) {
        *run_no = head.run_no;
        return 0;
    }
    if (rc != WOPR_E_NOT_FOUND && rc != WOPR_E_EXPIRED) return rc;
    return wire_param_error(err, "before", "before names no run of this tenant");
}

static void item_render(struct jw *w, const struct run_list_item *r) {
    char version[16];
    snprintf(version, sizeof version, "%d", (int)r->head.shown_engine_version);
    jw_object(w);
    jw_kstr(w, "runId", r->head.run_id);
    /* As the run's own events name it (lease.acquired). */
    if (!run_status_final(r->head.status) && r->head.lease_until_ms > 0)
        jw_kstr_opt(w, "host", r->head.holder);
    jw_kstr(w, "workflowId", r->workflow_id);
    jw_kstrz(w, "status", v1_status_shown(r->head.status));
    v1_time_member(w, "createdAt", r->created_ms);
    v1_time_member(w, "startedAt", r->started_ms);
    v1_time_member(w, "completedAt", r->completed_ms);
    v1_fork_member(w, &r->fork);
    if (r->parent_run_id.n) jw_kstr(w, "parentRunId", r->parent_run_id);
    if (r->tags.n) jw_kraw(w, "tags", r->tags);
    jw_kstrz(w, "engineVersion", version); /* as the snapshot has it (VER-11, VER-12) */
    jw_end_object(w);
}

/* An empty filter is a mistake, not a request for everything (E35). */
static int filter_read(struct http_call *c, const char *name, struct str *out,
                       struct wopr_error *err) {
    bool found = false;
    struct str text = http_query(c, name, &found);
    *out = text;
    if (!found || text.n > 0) return 0;
    int rc = wopr_error_set(err, WOPR_E_VALIDATION, "%s must not be empty", name);
    jobj_details_str(err, "parameter", name);
    return rc;
}

static void list_answer(struct http_call *c) {
    struct wopr_error err = {0};
    struct run_filter f = {.tenant = c->who.tenant, .test_mode = c->who.test_mode};
    struct run_list list;
    int64_t limit;
    int rc = wire_int_param(c, "limit", 1, V1_LIST_MAX, V1_LIST_DEFAULT, &limit, &err);
    if (rc == 0) rc = status_read(c, &f.status, &err);
    if (rc == 0) rc = before_read(c, &f.before_run_no, &err);
    if (rc == 0) rc = filter_read(c, "parentRunId", &f.parent_run_id, &err);
    if (rc == 0) rc = filter_read(c, "workflowId", &f.workflow_id, &err);
    if (rc == 0) rc = filter_read(c, "tag", &f.tag, &err);
    if (rc == 0) rc = filter_read(c, "forkOf", &f.fork_of, &err);
    if (rc != 0) {
        (void)wire_fail(c, &err);
        return;
    }
    f.max = (unsigned)limit + 1; /* one more shows whether a next page exists */
    if (store_run_list(wire_of(c)->store, &f, c->arena, &list, &err) != 0) {
        (void)wire_fail(c, &err);
        return;
    }
    size_t n = list.n > (size_t)limit ? (size_t)limit : list.n;
    struct buf b;
    struct jw w;
    buf_init(&b, WIRE_SNAPSHOT_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    jw_key(&w, "runs");
    jw_array(&w);
    for (size_t i = 0; i < n; i++) item_render(&w, &list.v[i]);
    jw_end_array(&w);
    if (list.n > n) jw_kstr(&w, "nextBefore", list.v[n - 1].head.run_id);
    else if (list.next.n > 0) jw_kstr(&w, "nextBefore", list.next);
    jw_end_object(&w);
    v1_one_line(&b, 0);
    (void)wire_reply_buf(c, 200, &b);
}

/* A filtered page may compare many rows before it is full: not on the connection's thread. */
int v1_list_runs(struct http_call *c) {
    static const char *const filters[] = {"status", "parentRunId", "workflowId", "tag", "forkOf"};
    bool found = false;
    for (size_t i = 0; !found && i < sizeof filters / sizeof *filters; i++)
        (void)http_query(c, filters[i], &found);
    if (found) return http_offload(c, list_answer);
    list_answer(c);
    return HTTP_DONE;
}
