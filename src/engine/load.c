/*
 * load.c: runs that are not in memory: look up, lease, fold (STORE-30 to STORE-39, EVT-32, VER-3).
 * A log that breaks an invariant parks its run; the others go on.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/fork.h"
#include "store/events.h"
#include "store/leases.h"

#include <stdio.h>

#define LOAD_REASON_MAX 200

/* --- look up --- */

static void newer(struct engine *e, struct engine_cmd *cmd, const struct run_head *h) {
    struct engine_result *r = &cmd->result;
    r->rc = wopr_error_set(&r->err, WOPR_E_VERSION_MISMATCH,
                           "the run was written by a newer engine; upgrade this host first");
    wopr_error_details(&r->err,
                       "{\"runId\":\"" STR_FMT "\",\"persistedVersion\":%d,\"currentVersion\":%d}",
                       STR_ARG(h->run_id), (int)h->engine_version, CURRENT_ENGINE_VERSION);
    cmd_settle(e, cmd);
}

/* Answers what needs no lease (RUN-21, RUN-27, RUN-29, RUN-30); false: the run must be loaded. */
static bool answered(struct step *st, struct engine_cmd *cmd, struct run_head *h) {
    struct wopr_error err = {0};
    cmd->result = (struct engine_result){.run_id = cmd->run_id};
    int rc = store_run_head(st->e->store, cmd->tenant, cmd->test_mode, cmd->run_id, st->a, h, &err);
    if (rc == 0 && h->engine_version > CURRENT_ENGINE_VERSION) { /* VER-3 */
        newer(st->e, cmd, h);
        return true;
    }
    if (rc == 0 && h->parked.n > 0 && !run_status_final(h->status)) rc = WOPR_E_CORRUPT;
    if (rc != 0) {
        cmd_fail(st->e, cmd, rc, err.message[0] ? err.message : wopr_err_text(rc));
        return true;
    }
    if (cmd->op == ENGINE_RESOLVE && run_status_final(h->status)) {
        resolve_settled(st->e, cmd, h->run_no, st->a);
        cmd_settle(st->e, cmd);
        return true;
    }
    if (cmd_needs_no_effect(cmd, h->status, h->paused_ms)) {
        cmd_settle(st->e, cmd);
        return true;
    }
    return false;
}

static void lease_done(void *ctx, struct store *s) { /* on the committer */
    struct run_exec *re = ctx;
    struct engine *e = re->e;
    struct wopr_error err;
    int64_t epoch = 0;
    const struct lease_claim c = {.run_no = re->run_no,
                                  .holder = e->holder,
                                  .until_ms = clock_wall_ms() + e->cfg.lease_ttl_ms,
                                  .epoch = e->cfg.sole_host ? LEASE_ANY : re->seen_epoch,
                                  .beat = re->seen_beat};
    int rc = store_lease_claim(s, &c, &epoch, &err);
    if (rc == 0) re->lease_epoch = epoch;
    exec_landed(re, rc);
}

/* Who had the run before, for the marks of a takeover.  A run that is ours by name was given to us
 * by the holder we asked; or we only forgot it. */
static bool note_holder(struct run_exec *re, const struct run_head *h, struct str own) {
    bool mine = str_eq(h->holder, own);
    re->released = h->holder.n > 0 && h->lease_until_ms == 0;
    if (mine && re->asked) return true;
    re->asked = false;
    mem_free(re->old_holder);
    re->old_holder = mine ? mem_zalloc(1) : mem_strndup(h->holder.p, h->holder.n);
    re->old_epoch = h->epoch;
    return re->old_holder != NULL;
}

static bool lease_ask(struct step *st, const struct run_head *h, int64_t beat) {
    struct run_exec *re = st->re;
    if (!note_holder(re, h, st->e->holder)) return false;
    re->seen_epoch = h->epoch;
    re->seen_beat = beat;
    re->phase = EXEC_LEASING;
    exec_launch(re);
    if (journal_side(st->e->journal, lease_done, re) == 0) return true;
    exec_launch_undo(re);
    return false;
}

static void give_up(struct step *st, int rc, const char *why) {
    struct engine_cmd *cmd;
    while ((cmd = exec_mail_take(st->re)) != NULL) cmd_fail(st->e, cmd, rc, why);
    step_drop(st);
}

/* Mail answered where that is possible; true when some of it, or the sweep, wants the run itself.
 */
static bool wanted(struct step *st, struct run_head *head, int *rc) {
    struct run_exec *re = st->re;
    struct engine_cmd *cmd, *keep = NULL;
    *rc = 0;
    while (!keep && (cmd = exec_mail_take(re)) != NULL)
        if (!answered(st, cmd, head)) keep = cmd;
    if (keep) {
        exec_mail_put_back(re, keep);
        return true;
    }
    if (!re->swept) return false;
    struct run_origin o;
    *rc = store_run_origin(st->e->store, re->run_no, st->a, &o, NULL);
    if (*rc == 0) *head = o.head;
    return *rc == 0 && !run_status_final(head->status) && head->parked.n == 0 &&
           head->engine_version <= CURRENT_ENGINE_VERSION;
}

bool load_lookup(struct step *st) {
    struct run_exec *re = st->re;
    struct run_head head;
    int rc;
    if (!wanted(st, &head, &rc)) {
        step_drop(st);
        return false;
    }
    if (re->run_no == 0) {
        re->run_no = head.run_no;
        rc = exec_register_no(re);
    }
    int64_t beat;
    if (rc == 0 && !peers_lease_free(st->e, &head, &beat)) {
        if (!re->has_mail) step_drop(st); /* the sweep comes back when it is free */
        else if (!peers_ask(st, &head))
            give_up(st, WOPR_E_UNAVAILABLE, "the host that executes the run does not answer");
        return false;
    }
    if (rc == 0 && lease_ask(st, &head, beat)) return false; /* goes on when it lands */
    re->phase = EXEC_LOOKUP;
    give_up(st, WOPR_E_UNAVAILABLE, "the run cannot be taken over at the moment");
    return false;
}

bool load_leased(struct step *st, int rc) {
    struct run_exec *re = st->re;
    re->phase = EXEC_LOOKUP;
    if (rc == 0) {
        re->epoch = re->lease_epoch;
        re->taken = true;
        re->ask_ms = re->ask_end_ms = 0;
        re->phase = EXEC_LOADING;
        return true;
    }
    if (rc == WOPR_E_SYNC_FAILED) engine_break(st->e, "lease");
    if (rc == WOPR_E_RUN_TERMINAL) step_drop(st); /* what is asked of it gets a fresh look */
    else if (rc == WOPR_E_FENCED && re->has_mail) peers_ask_again(re); /* somebody was faster */
    else if (rc == WOPR_E_FENCED) step_drop(st);
    else if (rc == WOPR_E_CORRUPT) give_up(st, rc, "the run is parked; see 'wopr verify'");
    else give_up(st, WOPR_E_UNAVAILABLE, "the run cannot be taken over at the moment");
    return false;
}

/* --- fold --- */

struct parking {
    struct engine *e;
    int64_t run_no, epoch;
    char reason[LOAD_REASON_MAX];
};

static void park_now(void *ctx, struct store *s) { /* on the committer */
    struct parking *k = ctx;
    struct engine *e = k->e;
    struct wopr_error err;
    int rc = store_run_park(s, k->run_no, k->epoch, str_c(k->reason), &err);
    if (rc != 0 && rc != WOPR_E_FENCED) /* fenced: not ours to park */
        log_error("a damaged run could not be parked", "why", err.message);
    mem_free(k);
    pthread_mutex_lock(&e->mu);
    e->inflight_nr--;
    pthread_cond_broadcast(&e->calm);
    pthread_mutex_unlock(&e->mu);
}

static void park(struct step *st, const char *reason) {
    struct engine *e = st->e;
    struct parking *k = MEM_NEW(struct parking);
    log_error("a run is parked: its log breaks an invariant; see 'wopr verify'", "run",
              st->re->run_id, "reason", reason);
    e->parked++;
    if (k) {
        k->e = e;
        k->run_no = st->re->run_no;
        k->epoch = st->re->epoch;
        snprintf(k->reason, sizeof k->reason, "%s", reason);
        pthread_mutex_lock(&e->mu);
        e->inflight_nr++;
        pthread_mutex_unlock(&e->mu);
        if (journal_side(e->journal, park_now, k) != 0) { /* the next start meets it again */
            mem_free(k);
            pthread_mutex_lock(&e->mu);
            e->inflight_nr--;
            pthread_cond_broadcast(&e->calm);
            pthread_mutex_unlock(&e->mu);
        }
    }
    give_up(st, WOPR_E_CORRUPT, "the log of the run is damaged");
}

static int fold_events(struct step *st, struct wopr_error *err) {
    struct run_exec *re = st->re;
    struct arena *a = arena_new(ENGINE_SCRATCH_MAX);
    int rc = a ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to fold a run");
    while (rc == 0) {
        struct event_list page;
        arena_reset(a);
        rc = store_events(st->e->store, re->run_no, re->state->next_seq, ENGINE_READ_EVENTS,
                          ENGINE_READ_BYTES, a, &page, err);
        if (rc != 0 || page.n == 0) break;
        for (size_t i = 0; i < page.n && rc == 0; i++) {
            rc = run_state_apply(re->state, &page.v[i], err);
            if (page.v[i].kind == EV_NODE_FAILED) re->fail_seq = page.v[i].seq;
            if (rc == 0) fork_passed(re, &page.v[i], a);
            if (rc == 0) rc = replay_follow(re, &page.v[i], err);
        }
    }
    arena_free(a);
    return rc;
}

static int arm_timers(struct step *st, struct wopr_error *err) {
    struct run_exec *re = st->re;
    struct timer_row_list rows;
    int rc = store_timers(st->e->store, re->run_no, st->a, &rows, err);
    for (size_t i = 0; rc == 0 && i < rows.n; i++) {
        const struct timer_row *t = &rows.v[i];
        int node = t->node_id.n > 0 ? workflow_node_index(re->wf, t->node_id) : -1;
        if (node < 0) continue; /* not one of ours */
        if (timer_restore(re, t, node) != 0)
            rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a timer");
    }
    return rc;
}

/* The log holds sensitive values masked; what the run itself may see stands beside them (OBS-71).
 */
static int unmask_vars(struct step *st, struct wopr_error *err) {
    struct clear_var_list l;
    int rc = store_clear_vars(st->e->store, st->re->run_no, st->a, &l, err);
    for (size_t i = 0; rc == 0 && i < l.n; i++) {
        struct var_state *v = run_state_var(st->re->state, l.v[i].name);
        if (v != NULL && run_state_text_set(st->re->state, &v->value, l.v[i].value) != 0)
            rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a variable");
    }
    return rc;
}

static int load_run(struct step *st, struct run_origin *o, struct wopr_error *err) {
    struct run_exec *re = st->re;
    int rc = store_run_origin(st->e->store, re->run_no, st->a, o, err);
    if (rc != 0) return rc;
    if (o->head.parked.n > 0 || run_status_final(o->head.status) || o->head.epoch != re->epoch)
        return wopr_error_set(err, WOPR_E_FENCED, "the run is not ours any more");
    if (exec_set_parent(re, o->parent_run_id, o->child_depth, o->child_flags) != 0)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a run");
    tenant_change(re, o->meta.tenant);
    if (!re->wf) rc = wfcache_by_hash(st->e, &o->workflow_hash, st->a, &re->wf, err);
    if (rc == WOPR_E_VALIDATION || rc == WOPR_E_NOT_FOUND || rc == WOPR_E_SYNTAX) {
        /* the stored definition itself is damaged */
        if (err->code == 0) (void)wopr_error_set(err, rc, "the workflow cannot be read");
        return WOPR_E_CORRUPT;
    }
    if (rc == 0) rc = run_state_new(re->wf, &o->meta, &st->e->cfg.limits, &re->state, err);
    if (rc == WOPR_E_VALIDATION || rc == WOPR_E_SYNTAX) return WOPR_E_CORRUPT;
    if (rc == 0) rc = fork_set(re, &o->fork);
    if (rc == 0) rc = replay_open(re);
    if (rc == 0) rc = fold_events(st, err);
    if (rc == 0) run_state_clean(re->state); /* its rows are written */
    if (rc == 0) rc = unmask_vars(st, err);
    if (rc == 0) rc = arm_timers(st, err);
    if (rc == 0) rc = invoke_load(st, re->run_no, err);
    if (rc == 0) rc = replay_begin(st, err);
    if (rc == 0) rc = children_load(st, err);
    if (rc != 0) return rc;
    if (re->state->next_seq != o->head.next_seq)
        return wopr_error_set(err, WOPR_E_CORRUPT, "R1: the run row and its log differ in length");
    const char *broken = run_state_broken(re->state);
    return broken ? wopr_error_set(err, WOPR_E_CORRUPT, "%s", broken) : 0;
}

bool load_fold(struct step *st) {
    struct run_exec *re = st->re;
    struct run_origin o;
    struct wopr_error err = {0};
    if (re->corrupt_tries >= ENGINE_CORRUPT_TRIES) {
        park(st, "its next step is refused by the rules of the log");
        return false;
    }
    exec_forget_state(re);
    int rc = load_run(st, &o, &err);
    if (rc == 0) {
        const struct run_state *s = re->state;
        re->paused_ms = s->status == RUN_PAUSED ? o.head.paused_ms : 0;
        re->take_over = re->taken && s->status == RUN_RUNNING && s->next_seq > 0;
        if (re->taken && (re->take_over || re->old_holder[0] != '\0')) st->e->recovered++;
        re->taken = false;
        re->phase = EXEC_LIVE;
        return true;
    }
    if (rc == WOPR_E_CORRUPT) {
        park(st, err.message);
    } else if (rc == WOPR_E_FENCED || rc == WOPR_E_NOT_FOUND) {
        exec_forget_state(re);
        step_drop(st);
    } else {
        log_warn("a run could not be loaded", "run", re->run_id, "why", err.message);
        exec_reload(re, true);
    }
    return false;
}
