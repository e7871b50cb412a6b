/*
 * test_rounds_seals.c: the nth call fails while a run with more sealed values than a transaction
 * removes changes its holder, the key of the installation changes, the run ends and its values go
 * page by page, those that a fork holds last (OBS-71, FORK-9, STORE-33).  Whatever failed: a code,
 * no value that a run still reads is lost, none is left clear, and whoever goes on comes to the
 * same end.
 */
#include "faults/rounds.h"

#include "store/append.h"
#include "store/leases.h"
#include "store/runs.h"
#include "store/seals.h"
#include "store/vault.h"

#include <stdio.h>

#define CANARY "p4ge-c4n4ry"
#define CLEAR  "\"" CANARY "\""
/* Masked events in two plans, after the first two of the run; the fork holds HELD of them. */
enum { PAGE = 290, MASKED = 2 * PAGE, HELD = 4, BEGUN = 2, SEALED_MIN = MASKED };

static const struct seal_secret KEYS[] = {{{2}}, {{1}}}; /* new, old */
static struct vault *first_host, *second_host;
static struct world_run src, fork_run; /* not in the ledger, which knows no masked events */

TestSuite(rounds_seals, .init = world_up, .fini = world_down, .timeout = 600);

static struct vault *vault_with(const struct seal_secret *keks, size_t n) {
    struct vault *v = NULL;
    bool replaced = true;
    cr_assert_eq(vault_new(W.store, keks, n, &v, &replaced, &W.err), 0, "%s", W.err.message);
    cr_assert_not(replaced);
    return v;
}

static struct plan_sealed seal_at(struct vault *v, struct plan *p, const char *id, int64_t seq,
                                  int *rc) {
    const struct seal_place place = {str_c(id), seq};
    struct plan_sealed row = {.seq = seq};
    if (*rc == 0) *rc = vault_seal(v, &place, STR(CLEAR), p->arena, &row, &W.err);
    return row;
}

/* The next plan; one that seals masks its first event, the last one unseals.  States of a run that
 * masks are sealed as well. */
static struct plan *plan_sealing(struct world_run *r, struct vault *v, bool seals, int *rc) {
    struct plan *p = world_plan(r);
    p->unseals = r->done == STEPS - 1;
    if (seals) {
        struct plan_sealed row = seal_at(v, p, r->id, p->base_seq, rc);
        p->events[0].flags |= EVENT_MASKED;
        if (*rc == 0) plan_sealed(p, &row);
    }
    for (size_t i = 0; *rc == 0 && i < p->checkpoints_nr; i++) {
        struct plan_checkpoint *c = &p->checkpoints[i];
        const struct seal_place place = {str_c(r->id), SEALED_IMAGE(c->seq)};
        struct plan_sealed row;
        *rc = vault_seal(v, &place, c->image, p->arena, &row, &W.err);
        if (*rc != 0) break;
        c->key_no = row.key_no;
        c->image = row.box;
    }
    return p;
}

static int go_on(struct world_run *r, struct vault *v, bool seals) {
    int rc = 0, all;
    struct plan *p = plan_sealing(r, v, seals, &rc);
    if (rc == 0 && (all = store_apply(W.store, &p, 1, &rc, &W.err)) != 0) rc = all;
    world_settle(r, p, rc);
    plan_unref(p);
    return rc;
}

/* ------------------------------------------------------------------------------ preparation */
static struct plan *masked_plan(struct world_run *r) {
    struct plan *p = plan_new();
    int rc = 0;
    cr_assert_not_null(p);
    p->what = PLAN_RUN;
    p->run_id = arena_str(p->arena, str_c(r->id));
    p->run_no = r->run_no;
    p->epoch = r->epoch;
    p->base_seq = r->state->next_seq;
    for (int i = 0; i < PAGE; i++) {
        int64_t seq = r->state->next_seq;
        (void)plan_event(p, W.rules, r->state, EV_LOG_APPENDED, STR_NONE, -1, 1700000000000 + seq,
                         pay_log(p->arena, "info", STR("[REDACTED]"), STR_NONE, STR_NONE));
        struct plan_sealed row = seal_at(first_host, p, r->id, seq, &rc);
        plan_sealed(p, &row);
        p->events[i].flags |= EVENT_MASKED;
    }
    cr_assert(rc == 0 && p->failed == 0, "%s", W.err.message);
    return p;
}

static void apply_all(struct plan *p) {
    int rc = WOPR_E_INTERNAL;
    cr_assert_eq(store_apply(W.store, &p, 1, &rc, &W.err), 0, "%s", W.err.message);
    cr_assert_eq(rc, 0, "%s", W.err.message);
    plan_unref(p);
}

/* A run that has sealed more than a page, and a fork that reads some of it. */
static void sealed_prepare(void) {
    cr_assert_eq(world_open(), 0, "%s", W.err.message);
    cr_assert_eq(world_workflow(), 0, "%s", W.err.message);
    world_runs(1, 2);
    first_host = vault_with(&KEYS[1], 1);
    struct world_run *r = world_new_run();
    for (int k = 0; k < BEGUN; k++) cr_assert_eq(world_apply(r), 0, "%s", W.err.message);
    for (int k = 0; k < MASKED / PAGE; k++) apply_all(masked_plan(r));
    src = *r;
    struct world_run *f = world_new_run();
    struct plan *p = world_fork_plan(f, &src, 3); /* 2 + HELD events */
    p->create->fork->sealed = true;
    apply_all(p);
    world_fork_settle(f, 0);
    f->done = BEGUN; /* of the plans; the rest of its prefix is masked */
    cr_assert_eq(go_on(f, first_host, false), 0, "%s", W.err.message);
    fork_run = *f;
    run_state_free(src.state);
    run_state_free(fork_run.state);
    src.state = fork_run.state = NULL;
    W.runs_nr = 1;
    vault_free(first_host);
    first_host = NULL;
    world_close();
    world_save();
}

/* ------------------------------------------------------------------------------ what is found */
static bool ended(const struct world_run *r) {
    struct run_head h;
    int rc = store_run_head(W.store, WORLD_TENANT, false, str_c(r->id), W.a, &h, &W.err);
    cr_assert_eq(rc, 0, "%s", W.err.message);
    return run_status_final(h.status);
}

/* Plans of the run that the file holds; half a plan is none. */
static int plans_done(const struct world_run *r, int64_t masked) {
    static const int64_t UNTIL[] = {0, 2, 6, 9, 12, 14};
    struct run_head h;
    int rc = store_run_head(W.store, WORLD_TENANT, false, str_c(r->id), W.a, &h, &W.err);
    cr_assert_eq(rc, 0, "%s", W.err.message);
    for (int k = 1; k < STEPS; k++)
        if (UNTIL[k] + masked == h.next_seq) return k + 1;
    cr_assert(false, "%s has %d events: half a plan", r->id, (int)h.next_seq);
    return 0;
}

/* What a run reads of sealed values, each with the keys that there may be. */
static size_t opened_of(const struct world_run *r) {
    struct sealed_list l;
    struct vault *v = vault_with(KEYS, 2);
    cr_assert_eq(store_sealed(W.store, r->run_no, 0, INT64_MAX, W.a, &l, &W.err), 0);
    for (size_t i = 0; i < l.n; i++) {
        const struct seal_place place = {l.v[i].run_id, l.v[i].sealed.seq};
        struct str clear;
        int rc = vault_open(v, &place, &l.v[i].sealed, W.a, &clear, &W.err);
        cr_assert_eq(rc, 0, "%d: %s", (int)l.v[i].sealed.seq, W.err.message);
        cr_assert(str_eqc(clear, CLEAR));
    }
    vault_free(v);
    return l.n;
}

static int sweep_all(void) {
    int rc = 0;
    for (bool more = true; rc == 0 && more;) rc = store_seals_sweep(W.store, &more, &W.err);
    return rc;
}

/* ------------------------------------------------------------------------------ what is done */
static int claim(struct world_run *r, const char *holder) {
    const struct lease_claim c = {.run_no = r->run_no,
                                  .holder = str_c(holder),
                                  .until_ms = 1,
                                  .epoch = LEASE_ANY,
                                  .beat = LEASE_ANY};
    return store_lease_claim(W.store, &c, &r->epoch, &W.err);
}

static int end_of(struct world_run *r, struct vault *v, bool seals) {
    int rc = 0;
    while (rc == 0 && r->done < STEPS) rc = go_on(r, v, seals && r->done == BEGUN);
    return rc == 0 ? sweep_all() : rc;
}

/* A host that was replaced writes nothing, and leaves nothing sealed. */
static int go_on_fenced(const struct world_run *old) {
    struct world_run r = *old;
    r.state = NULL;
    int rc = 0, all;
    struct plan *p = plan_sealing(&r, first_host, true, &rc); /* it loads the run as it is now */
    p->epoch = old->epoch;
    if (rc == 0 && (all = store_apply(W.store, &p, 1, &rc, &W.err)) != 0 && rc != WOPR_E_FENCED)
        rc = all;
    cr_assert_neq(rc, 0, "a host that was replaced has written");
    plan_unref(p);
    run_state_free(r.state);
    return rc == WOPR_E_FENCED ? 0 : rc;
}

static int story(void) {
    const struct world_run was = src;
    int rc = vault_rotate(first_host, &KEYS[0], &W.err);
    if (rc == 0) rc = claim(&src, "host-2");
    if (rc == 0) rc = go_on_fenced(&was);
    if (rc == 0) rc = end_of(&src, second_host, true);
    if (rc == 0) rc = end_of(&fork_run, second_host, false);
    return rc;
}

static struct world_run src_saved, fork_saved;

static bool open_story(void) {
    if (world_open() != 0) return false;
    run_state_free(src.state);
    run_state_free(fork_run.state);
    src = src_saved;
    fork_run = fork_saved;
    vault_free(first_host);
    vault_free(second_host);
    first_host = vault_with(&KEYS[1], 1);
    second_host = vault_with(KEYS, 2); /* knows the new file, has not read the new data key */
    return true;
}

/* A host that starts removes what another one has left over, as its engine does. */
static void seals_restart(void) {
    int rc = sweep_all();
    cr_assert_eq(rc, 0, "%s", W.err.message);
}

static void run_again(struct world_run *r, int64_t masked) {
    run_state_free(r->state);
    r->state = NULL;
    r->done = plans_done(r, masked);
    r->tried = r->done;
}

static void story_ends(int rc) {
    char wal[310];
    snprintf(wal, sizeof wal, "%s-wal", W.path);
    run_again(&src, MASKED);
    run_again(&fork_run, HELD);
    size_t own = src.done > BEGUN ? 1 : 0;
    cr_assert_eq(opened_of(&src), ended(&src) ? 0 : SEALED_MIN + own);
    cr_assert_eq(opened_of(&fork_run), ended(&fork_run) ? 0 : HELD);
    cr_assert_not(world_file_holds(W.path, CANARY) || world_file_holds(wal, CANARY));
    cr_assert(rc != 0 || (ended(&src) && ended(&fork_run)));
    struct vault *v = vault_with(KEYS, 2);
    if (!ended(&src)) cr_assert_eq(claim(&src, "host-3"), 0, "%s", W.err.message);
    if (!ended(&fork_run)) cr_assert_eq(claim(&fork_run, "host-3"), 0, "%s", W.err.message);
    cr_assert_eq(end_of(&src, v, true), 0, "a retry: %s", W.err.message);
    cr_assert_eq(opened_of(&fork_run), ended(&fork_run) ? 0 : HELD);
    cr_assert_eq(end_of(&fork_run, v, false), 0, "a retry: %s", W.err.message);
    vault_free(v);
    bool any = true;
    cr_assert_eq(store_seals_any(W.store, &any, &W.err), 0);
    cr_assert_not(any, "values are left of runs that have ended");
    cr_assert_eq(world_findings(true), 0);
}

static void sealed_forget(void) {
    vault_free(first_host);
    vault_free(second_host);
    run_state_free(src.state);
    run_state_free(fork_run.state);
}

Test(rounds_seals, values_go_in_pages_under_another_key_and_another_holder /* OBS-71, STORE-33 */) {
    static const struct scene sc = {.name = "pages",
                                    .opened = open_story,
                                    .act = story,
                                    .restart = seals_restart,
                                    .check = story_ends,
                                    .stride = 6,
                                    .no_memory_trial = true,
                                    .writes_are_many = true,
                                    .every = 19};
    sealed_prepare();
    src_saved = src;
    fork_saved = fork_run;
    scene_play(&sc);
    sealed_forget();
}

/* ------------------------------------------------------------------------------ the last plan */
static struct plan *last_plan;

static bool open_last(void) {
    if (!open_story()) return false;
    src.done = STEPS - 1;
    last_plan = world_plan(&src);
    last_plan->unseals = true;
    return true;
}

static void drop_last(void) {
    plan_unref(last_plan);
    last_plan = NULL;
}

static int apply_last(void) {
    int rc = WOPR_E_INTERNAL, all = store_apply(W.store, &last_plan, 1, &rc, &W.err);
    drop_last();
    if (all != 0) rc = all;
    return rc == 0 ? sweep_all() : rc;
}

static void last_ends(int rc) {
    cr_assert(rc != 0 || ended(&src));
    cr_assert_eq(opened_of(&src), ended(&src) ? 0 : SEALED_MIN + 1);
    cr_assert_eq(opened_of(&fork_run), HELD);
    run_again(&src, MASKED);
    cr_assert_eq(end_of(&src, NULL, false), 0, "a retry: %s", W.err.message);
    cr_assert_eq(opened_of(&fork_run), HELD);
    cr_assert_eq(world_findings(true), 0);
}

Test(rounds_seals, an_end_and_its_pages_are_told_or_a_host_that_starts_goes_on /* OBS-71 */) {
    static const struct scene sc = {.name = "end and pages",
                                    .opened = open_last,
                                    .dropped = drop_last,
                                    .act = apply_last,
                                    .restart = seals_restart,
                                    .check = last_ends,
                                    .stride = 6,
                                    .writes_are_many = true,
                                    .every = 19};
    sealed_prepare();
    src_saved = src;
    fork_saved = fork_run;
    world_load();
    cr_assert(open_story());
    while (src.done < STEPS - 1)
        cr_assert_eq(go_on(&src, first_host, src.done == BEGUN), 0, "%s", W.err.message);
    world_close();
    world_save();
    src_saved = src;
    src_saved.state = NULL;
    scene_play(&sc);
    sealed_forget();
}
