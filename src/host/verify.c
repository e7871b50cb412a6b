/* verify.c: checks a database against itself: the store's physical checks, then every projection
 * against the fold of its log. */
#include "base/clock.h"
#include "codec/json.h"
#include "domain/interrupt.h"
#include "host/host.h"
#include "host/verify_int.h"
#include "rail/shown.h"
#include "store/admin.h"
#include "store/events.h"
#include "store/interrupts.h"
#include "store/run_lists.h"
#include "wire/v1/v1.h"
#include "workspec/language.h"

#include <stdio.h>

#define VERIFY_PAGE       512
#define VERIFY_PAGE_BYTES (8u * 1024 * 1024)
#define VERIFY_ARENA_MAX  (256u * 1024 * 1024)
#define SNAPSHOT_MAX      (64u * 1024 * 1024)

static void store_report(void *ctx, const struct store_finding *f) {
    if (f->is_note) line_report(ctx, f->run_id, f->what, f->text);
    else finding_report(ctx, f->run_id, f->what, f->text);
}

/* Checks the fold does not make (EVT-2, EVT-3, EVT-12, EVT-13).  NULL, or the broken rule. */
static const char *event_broken(const struct verify *v, const struct run_state *s,
                                const struct event *e, struct wopr_error *why) {
    if (e->kind == EV_UNKNOWN) return str_eqc(e->type, "unknown") ? "a kind without a name" : NULL;
    if (e->schema_version < EVENT_SCHEMA_VERSION) return "a schema version that never was";
    if (e->ts_ms < s->last_ts_ms) return "the time goes back";
    if (e->causation_seq >= e->seq || e->causation_seq < -1) return "caused by a later event";
    if (e->node_id.n > 0 && workflow_node_index(s->wf, e->node_id) < 0)
        return "its node is not in the workflow";
    struct str node = json_get(e->payload, "nodeId");
    if (e->node_id.n > 0 && json_type_of(node) == JSON_STRING &&
        !str_eq(json_string(node, v->arena), e->node_id))
        return "its payload names another node";
    if (e->schema_version > EVENT_SCHEMA_VERSION) return NULL; /* of a newer host */
    if (payload_check(v->rules, e->kind, e->payload, why) == 0) return NULL;
    return why->message;
}

struct log_fold {
    struct verify *verify;
    struct run_state *state;
    const struct run_origin *origin;
    struct str run_id;
    struct arena *images;
    struct plan_checkpoint checkpoint; /* the run's next one; seq 0: none */
    bool broken;                       /* the rest of the log cannot be folded */
};

/* --- checkpoints: each is compared with the fold at its sequence, none is trusted --- */

static int checkpoint_next(struct log_fold *f, struct wopr_error *err) {
    int64_t seq = f->checkpoint.seq;
    arena_reset(f->images);
    f->checkpoint = (struct plan_checkpoint){.seq = 0};
    int rc = store_run_checkpoint_next(f->verify->store, f->origin->head.run_no, seq, f->images,
                                       &f->checkpoint, err);
    return rc == WOPR_E_NOT_FOUND ? 0 : rc;
}

/* NULL, or its defect. */
static const char *checkpoint_broken(const struct log_fold *f, struct wopr_error *why) {
    struct run_state *s = NULL;
    struct state_aside aside;
    struct str image = f->checkpoint.image;
    struct buf b;
    if (f->checkpoint.key_no != 0) /* sealed: the log alone cannot tell what it is (OBS-71) */
        return verify_image_broken(f->verify, f->run_id, &f->checkpoint);
    if (state_image_foreign(image)) return NULL;
    if (run_state_finish(f->state, NULL, why) != 0) return why->message; /* as its plan did */
    if (run_state_load(image, f->state->wf, &f->origin->meta, &RUN_LIMITS_DEFAULT, &s, &aside,
                       why) != 0)
        return why->message;
    run_state_free(s);
    buf_init(&b, STATE_IMAGE_MAX);
    bool same = run_state_save(f->state, &aside, &b) == 0 && str_eq(buf_str(&b), image);
    buf_fini(&b);
    return same ? NULL : "it is not what the log folds to";
}

/* Compare the checkpoints up to the folded sequence; whole: the log has ended, so none may be
 * left. */
static int checkpoints_compare(struct log_fold *f, bool whole, struct wopr_error *err) {
    int rc = 0;
    while (rc == 0 && f->checkpoint.seq != 0 &&
           (whole || f->checkpoint.seq <= f->state->next_seq)) {
        struct wopr_error why = {0};
        const char *broken = f->checkpoint.seq == f->state->next_seq
                                 ? checkpoint_broken(f, &why)
                                 : "it is of no sequence of the log";
        char line[640];
        snprintf(line, sizeof line, "%lld: %s; it is not needed, delete its row",
                 (long long)f->checkpoint.seq, broken ? broken : "");
        if (broken) finding_report(f->verify, f->run_id, "damaged checkpoint", line);
        rc = checkpoint_next(f, err);
    }
    return rc;
}

static int event_fold(void *ctx, const struct event *e, struct wopr_error *err) {
    struct log_fold *f = ctx;
    struct wopr_error why = {0};
    const char *broken = event_broken(f->verify, f->state, e, &why);
    char line[640];
    if (broken != NULL) {
        snprintf(line, sizeof line, "%lld: %s", (long long)e->seq, broken);
        finding_report(f->verify, f->run_id, "damaged event", line);
    }
    f->broken = run_state_begin(f->state, e, &why) != 0;
    if (f->broken) finding_report(f->verify, f->run_id, "the log cannot be folded", why.message);
    return f->broken ? 1 : checkpoints_compare(f, false, err);
}

/* Apply the whole log; a broken event is a finding, not a failure.  *ok: whether s may be
 * compared. */
static int log_fold(struct verify *v, struct run_state *s, const struct run_origin *o, bool *ok,
                    struct wopr_error *err) {
    const struct log_range whole = {.run_no = o->head.run_no,
                                    .until = INT64_MAX,
                                    .page_events = VERIFY_PAGE,
                                    .page_bytes = VERIFY_PAGE_BYTES};
    struct log_fold f = {.verify = v, .state = s, .origin = o, .run_id = o->head.run_id};
    struct arena *page = arena_new(VERIFY_ARENA_MAX);
    f.images = arena_new(VERIFY_ARENA_MAX);
    int rc = page && f.images ? checkpoint_next(&f, err)
                              : wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    if (rc == 0) rc = store_walk(v->store, &whole, page, event_fold, &f, err);
    if (rc == 0 && !f.broken) rc = checkpoints_compare(&f, true, err);
    *ok = !f.broken;
    arena_free(page);
    arena_free(f.images);
    return rc;
}

/* Columns that not every status shows. */
static bool same_hidden(const struct run_view *a, const struct run_view *b) {
    return str_eq(a->error, b->error) && str_eq(a->outputs, b->outputs) &&
           str_eq(a->current_node, b->current_node) && str_eq(a->agent, b->agent) &&
           str_eq(a->orchestrator, b->orchestrator);
}

/* STORE-10: what the log calls open is pending, and nothing else is.  Matched by key: a fork's row
 * has an id of its own (FORK-10). */
static int compare_interrupts(struct verify *v, const struct run_state *s,
                              const struct run_origin *o, struct wopr_error *err) {
    struct interrupt_list rows;
    size_t open = 0;
    int rc =
        store_interrupts_of_run(v->store, o->head.run_no, STR_NONE, true, v->arena, &rows, err);
    if (rc != 0) return rc;
    /* A parked run is cancelled without a word about what its log leaves open. */
    for (size_t i = 0; i < s->interrupts.n && !run_status_final(s->status); i++)
        open += s->interrupts.v[i].phase == INTR_OPEN;
    bool same = open == rows.n;
    for (size_t i = 0; same && i < rows.n; i++) {
        const struct intr_state *x = run_state_intr(s, rows.v[i].key);
        same = x != NULL && x->phase == INTR_OPEN &&
               str_eq(s->wf->nodes[x->node].id, rows.v[i].node_id);
    }
    if (!same)
        finding_report(v, o->head.run_id, "the pending interrupts differ from the fold of the log",
                       "see wopr interrupts list and wopr tail --json");
    return 0;
}

static int projection_compare(struct verify *v, const struct run_state *s,
                              const struct run_origin *o, const struct run_view *stored, bool *same,
                              struct wopr_error *err) {
    struct run_view folded;
    struct buf x, y;
    int64_t now = clock_wall_ms();
    buf_init(&x, SNAPSHOT_MAX);
    buf_init(&y, SNAPSHOT_MAX);
    int rc = v1_view_of_state(s, o, 0, v->arena, &folded, err);
    folded.interrupt = STR_NONE; /* a row of its own */
    if (rc == 0) rc = v1_snapshot_render(stored, -1, now, &x, err);
    if (rc == 0) rc = v1_snapshot_render(&folded, -1, now, &y, err);
    *same = rc == 0 && str_eq(buf_str(&x), buf_str(&y)) && same_hidden(stored, &folded);
    buf_fini(&x);
    buf_fini(&y);
    return rc;
}

/* The projection may show the state as the last event left it, or after its edges were settled: a
 * host that was stopped had no turn for the latter. */
static int state_compare(struct verify *v, struct run_state *s, const struct run_origin *o,
                         struct wopr_error *err) {
    struct run_view stored = {.nodes = NULL};
    bool same = false;
    int rc = store_run_view(v->store, o->meta.tenant, o->meta.test_mode, o->head.run_id, v->arena,
                            &stored, err);
    stored.interrupt = STR_NONE;
    stored.children = (struct child_row_list){NULL, 0}; /* known from their own logs */
    if (rc == 0) rc = compare_interrupts(v, s, o, err);
    if (rc == 0) rc = verify_tasks(v, s, o->head.run_no, err);
    if (rc == 0) rc = projection_compare(v, s, o, &stored, &same, err);
    if (rc == 0 && run_state_busy(s)) {
        rc = run_state_finish(s, NULL, err);
        if (rc == 0 && !same) rc = projection_compare(v, s, o, &stored, &same, err);
    }
    if (rc == 0 && !same)
        finding_report(v, o->head.run_id, "the projection differs from the fold of the log",
                       "the log is right; see wopr runs show and wopr tail --json");
    const char *broken = rc == 0 ? run_state_broken(s) : NULL;
    if (broken != NULL) finding_report(v, o->head.run_id, "an invariant does not hold", broken);
    return rc;
}

static int verify_run(struct verify *v, struct str tenant, bool test_mode, struct str run_id,
                      struct wopr_error *err) {
    struct run_head head;
    struct run_origin o;
    struct str text;
    struct workflow *wf = NULL;
    struct run_state *s = NULL;
    struct wf_env env = {.accepted = true, .dialects = &WS_DIALECT, .dialects_nr = 1};
    struct wopr_error why = {0};
    bool ok = false;
    int rc = store_run_head(v->store, tenant, test_mode, run_id, v->arena, &head, err);
    if (rc == 0) rc = store_run_origin(v->store, head.run_no, v->arena, &o, err);
    if (rc == WOPR_E_NOT_FOUND) {
        finding_report(v, run_id, "missing", "the creation data of the run");
        return 0;
    }
    if (rc != 0) return rc;
    bool led = o.meta.led;
    if (led ? rail_shown_definition(v->store, &o, v->arena, &wf, &why) != 0
            : store_workflow_by_hash(v->store, &o.workflow_hash, v->arena, &text, &why) != 0 ||
                  workflow_compile(text, &env, &wf, &why) != 0) {
        finding_report(v, run_id, "the workflow of the run is missing or broken", why.message);
        return 0;
    }
    if (!led && (!sha256_eq(&wf->hash, &o.workflow_hash) || !str_eq(wf->id, o.meta.workflow_id)))
        finding_report(v, run_id, "the workflow of the run", "not the one it began with");
    rc = run_state_new(wf, &o.meta, &RUN_LIMITS_DEFAULT, &s, err);
    if (rc == 0) rc = verify_sealed(v, &o.head, err);
    if (rc == 0) rc = verify_run_agents(v, &o, err);
    if (rc == 0) rc = log_fold(v, s, &o, &ok, err);
    if (rc == 0 && ok) rc = state_compare(v, s, &o, err);
    run_state_free(s);
    workflow_unref(wf);
    return rc;
}

/* An unreadable run is a finding and does not stop the walk. */
static void verify_row(struct verify *v, const struct run_list_item *row) {
    struct wopr_error why = {0};
    arena_reset(v->arena);
    if (verify_run(v, row->tenant, row->test_mode, row->head.run_id, &why) != 0)
        finding_report(v, row->head.run_id, "the run cannot be checked", why.message);
}

/* The run next below a number. */
static bool list_reads(struct verify *v, int64_t before_run_no) {
    const struct run_filter f = {.any_tenant = true,
                                 .any_mode = true,
                                 .status = -1,
                                 .max = 1,
                                 .before_run_no = before_run_no};
    struct run_list l;
    struct wopr_error err;
    arena_reset(v->arena);
    return store_run_list(v->store, &f, v->arena, &l, &err) == 0;
}

/* Rows below *before cannot be read: find where those begin that can.  false: nowhere. */
static bool list_skips(struct verify *v, int64_t *before, const char *why) {
    int64_t readable = 1, damaged = *before > 0 ? *before : INT64_MAX;
    if (!list_reads(v, readable)) return false;
    while (damaged - readable > 1) {
        int64_t middle = readable + (damaged - readable) / 2;
        if (list_reads(v, middle)) readable = middle;
        else damaged = middle;
    }
    char text[160];
    snprintf(text, sizeof text, "those from number %lld on: %.100s", (long long)readable, why);
    finding_report(v, STR("the list of runs"), "cannot be read", text);
    *before = readable;
    return true;
}

static bool page_verify(struct verify *v, const struct run_list *l, int64_t *before,
                        int64_t *runs) {
    for (size_t i = 0; i < l->n; i++) {
        int64_t no = l->v[i].head.run_no;
        if (*before > 0 && no >= *before) { /* a damaged page: the walk would never end */
            finding_report(v, l->v[i].head.run_id, "the list of runs", "is not in order");
            return false;
        }
        verify_row(v, &l->v[i]);
        *before = no;
        ++*runs;
    }
    return l->n > 0;
}

static int verify_runs(struct verify *v, int64_t *runs, struct wopr_error *err) {
    struct arena *page = arena_new(VERIFY_ARENA_MAX);
    struct run_filter f = {.any_tenant = true, .any_mode = true, .status = -1, .max = VERIFY_PAGE};
    struct run_list l;
    int rc = page == NULL ? wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory") : 0;
    for (bool more = true; rc == 0 && more;) {
        arena_reset(page);
        rc = store_run_list(v->store, &f, page, &l, err);
        if (rc == 0) {
            f.max = VERIFY_PAGE;
            more = page_verify(v, &l, &f.before_run_no, runs);
        } else if (rc == WOPR_E_CORRUPT && f.max > 1) {
            f.max = 1; /* some of the page may be readable */
            rc = 0;
        } else if (rc == WOPR_E_CORRUPT) {
            more = list_skips(v, &f.before_run_no, err->message);
            rc = more ? 0 : rc;
        }
    }
    arena_free(page);
    return rc;
}

int host_verify(struct store *s, struct vault *vault, void (*report)(void *ctx, const char *line),
                void *ctx, int64_t *runs, int64_t *findings, struct wopr_error *err) {
    struct verify v = {.store = s, .vault = vault, .report = report, .ctx = ctx};
    *runs = 0;
    v.arena = arena_new(VERIFY_ARENA_MAX);
    int rc = v.arena == NULL ? wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory") : 0;
    if (rc == 0) rc = payload_rules_new(&v.rules, err);
    if (rc == 0) rc = store_verify(s, store_report, &v, err);
    if (rc == 0) rc = verify_hooks(&v, err);
    if (rc == 0) rc = verify_credentials(&v, err);
    if (rc == 0) rc = verify_memory(&v, err);
    if (rc == 0) rc = verify_packs(&v, err);
    if (rc == 0) rc = verify_agents(&v, err);
    if (rc == 0) rc = verify_runs(&v, runs, err);
    payload_rules_free(v.rules);
    arena_free(v.arena);
    *findings = v.findings;
    return rc;
}
