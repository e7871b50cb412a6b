/* verify.c: a database against itself: the store's physical checks, then every projection against
 * the fold of its log. */
#include "base/clock.h"
#include "host/host.h"
#include "wire/v1/v1.h"

#include <stdio.h>

#define VERIFY_PAGE      512
#define VERIFY_ARENA_MAX (256u * 1024 * 1024)
#define SNAPSHOT_MAX     (64u * 1024 * 1024)

struct verify {
    struct store *store;
    void (*report)(void *ctx, const char *line);
    void *ctx;
    int64_t findings;
    struct arena *arena; /* of the run at hand */
};

static void finding(struct verify *v, struct str run_id, const char *what, const char *text) {
    char line[1024];
    snprintf(line, sizeof line, "%.*s%s%s: %s", STR_ARG(run_id), run_id.n > 0 ? ": " : "", what,
             text);
    v->report(v->ctx, line);
    v->findings++;
}

static void store_report(void *ctx, const struct store_finding *f) {
    finding(ctx, f->run_id, f->what, f->text);
}

/* Apply the whole log; a broken event is a finding, not a failure.  *ok tells whether s may be
 * compared. */
static int fold(struct verify *v, struct run_state *s, const struct run_origin *o, bool *ok,
                struct wopr_error *err) {
    struct arena *page = arena_new(VERIFY_ARENA_MAX);
    int rc = page == NULL ? wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory") : 0;
    *ok = true;
    for (bool more = true; rc == 0 && more && *ok;) {
        struct event_list l;
        arena_reset(page);
        rc = store_events(v->store, o->head.run_no, s->next_seq, VERIFY_PAGE, 8u * 1024 * 1024,
                          page, &l, err);
        if (rc != 0) break;
        for (size_t i = 0; i < l.n && *ok; i++) {
            struct wopr_error why = {0};
            if (run_state_apply(s, &l.v[i], &why) == 0) continue;
            finding(v, o->head.run_id, "the log cannot be folded", why.message);
            *ok = false;
        }
        more = l.n > 0;
    }
    arena_free(page);
    return rc;
}

static int compare(struct verify *v, const struct run_state *s, const struct run_origin *o,
                   struct wopr_error *err) {
    struct run_view stored, folded;
    struct buf x, y;
    int64_t now = clock_wall_ms();
    buf_init(&x, SNAPSHOT_MAX);
    buf_init(&y, SNAPSHOT_MAX);
    const char *broken = run_state_broken(s);
    if (broken != NULL) finding(v, o->head.run_id, "an invariant does not hold", broken);
    int rc = store_run_view(v->store, o->meta.tenant, o->meta.test_mode, o->head.run_id, v->arena,
                            &stored, err);
    if (rc == 0) rc = v1_view_of_state(s, o, 0, v->arena, &folded, err);
    if (rc == 0) rc = v1_snapshot_render(&stored, -1, now, &x, err);
    if (rc == 0) rc = v1_snapshot_render(&folded, -1, now, &y, err);
    if (rc == 0 && !str_eq(buf_str(&x), buf_str(&y)))
        finding(v, o->head.run_id, "the projection differs from the fold of the log",
                "the log is right; see wopr runs show and wopr tail --json");
    buf_fini(&x);
    buf_fini(&y);
    return rc;
}

static int verify_run(struct verify *v, struct str tenant, bool test_mode, struct str run_id,
                      struct wopr_error *err) {
    struct run_head head;
    struct run_origin o;
    struct str text;
    struct workflow *wf = NULL;
    struct run_state *s = NULL;
    struct wf_env env = {0};
    struct wopr_error why = {0};
    bool ok = false;
    int rc = store_run_head(v->store, tenant, test_mode, run_id, v->arena, &head, err);
    if (rc == 0) rc = store_run_origin(v->store, head.run_no, v->arena, &o, err);
    if (rc != 0) return rc;
    if (store_workflow_by_hash(v->store, &o.workflow_hash, v->arena, &text, &why) != 0 ||
        workflow_compile(text, &env, &wf, &why) != 0) {
        finding(v, run_id, "the workflow of the run is missing or broken", why.message);
        return 0;
    }
    rc = run_state_new(wf, &o.meta, &RUN_LIMITS_DEFAULT, &s, err);
    if (rc == 0) rc = fold(v, s, &o, &ok, err);
    if (rc == 0 && ok) rc = compare(v, s, &o, err);
    run_state_free(s);
    workflow_unref(wf);
    return rc;
}

static int verify_runs(struct verify *v, int64_t *runs, struct wopr_error *err) {
    struct arena *page = arena_new(VERIFY_ARENA_MAX);
    struct run_filter f = {.any_tenant = true, .any_mode = true, .status = -1, .max = VERIFY_PAGE};
    struct run_list l = {NULL, 1};
    int rc = page == NULL ? wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory") : 0;
    while (rc == 0 && l.n > 0) {
        arena_reset(page);
        rc = store_run_list(v->store, &f, page, &l, err);
        for (size_t i = 0; rc == 0 && i < l.n; i++) {
            arena_reset(v->arena);
            rc = verify_run(v, l.v[i].tenant, l.v[i].test_mode, l.v[i].head.run_id, err);
            f.before_run_no = l.v[i].head.run_no;
            ++*runs;
        }
    }
    arena_free(page);
    return rc;
}

int host_verify(struct store *s, void (*report)(void *ctx, const char *line), void *ctx,
                int64_t *runs, int64_t *findings, struct wopr_error *err) {
    struct verify v = {.store = s, .report = report, .ctx = ctx};
    *runs = 0;
    v.arena = arena_new(VERIFY_ARENA_MAX);
    int rc = v.arena == NULL ? wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory") : 0;
    if (rc == 0) rc = store_verify(s, store_report, &v, err);
    if (rc == 0) rc = verify_runs(&v, runs, err);
    arena_free(v.arena);
    *findings = v.findings;
    return rc;
}
