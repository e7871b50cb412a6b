/*
 * load.c: brings runs into memory: look up, lease, fold (STORE-30 to STORE-39, EVT-32, VER-3).  A
 * log that breaks an invariant parks its run; the others go on.
 */
#include "engine/load.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/agent_set.h"
#include "engine/checkpoint.h"
#include "engine/clear.h"
#include "engine/command.h"
#include "engine/fork_info.h"
#include "engine/job.h"
#include "engine/parked.h"
#include "engine/peers.h"
#include "engine/replay.h"
#include "engine/resolve.h"
#include "engine/stuck.h"
#include "engine/task_says.h"
#include "engine/waits.h"
#include "engine/wfcache.h"
#include "store/events.h"
#include "store/leases.h"

#include <stdio.h>

#define LOAD_TRIES_MAX  3u /* of a run that this host cannot fold, for a reason that stays */
#define LOAD_REASON_MAX 200

/* --- look up --- */

static void cmd_refuse_newer(struct engine *e, struct engine_cmd *cmd, const struct run_head *h) {
    struct engine_result *r = &cmd->result;
    r->rc = wopr_error_set(&r->err, WOPR_E_VERSION_MISMATCH,
                           "the run was written by a newer engine; upgrade this host first");
    wopr_error_details(&r->err,
                       "{\"runId\":\"" STR_FMT "\",\"persistedVersion\":%d,\"currentVersion\":%d}",
                       STR_ARG(h->run_id), (int)h->engine_version, CURRENT_ENGINE_VERSION);
    cmd_settle(e, cmd);
}

/* Answers what needs no lease (RUN-21, RUN-27, RUN-29, RUN-30); false: the run must be loaded. */
static bool cmd_answered(struct step *st, struct engine_cmd *cmd, struct run_head *h) {
    struct wopr_error err = {0};
    cmd->result = (struct engine_result){.run_id = cmd->run_id};
    int rc = store_run_head(st->engine->store, cmd->tenant, cmd->test_mode, cmd->run_id,
                            st->scratch, h, &err);
    if (rc == 0 && h->engine_version > CURRENT_ENGINE_VERSION) { /* VER-3 */
        cmd_refuse_newer(st->engine, cmd, h);
        return true;
    }
    if (rc == 0 && h->parked.n > 0 && !run_status_final(h->status)) {
        if (cmd->op == ENGINE_CANCEL) return false;
        parked_refuse(st->engine, cmd);
        return true;
    }
    if (rc != 0) {
        cmd_fail(st->engine, cmd, rc, err.message[0] ? err.message : wopr_err_text(rc));
        return true;
    }
    if (cmd->op == ENGINE_RESOLVE && run_status_final(h->status)) {
        resolve_settled(st->engine, cmd, h->run_no, st->scratch);
        cmd_settle(st->engine, cmd);
        return true;
    }
    if (cmd->op == ENGINE_TASK && run_status_final(h->status)) {
        task_settled(st->engine, cmd, st->scratch);
        return true;
    }
    if (cmd_needs_no_effect(cmd, h->status, h->paused_ms)) {
        cmd_settle(st->engine, cmd);
        return true;
    }
    const struct engine_led *led = &st->engine->cfg.led;
    return led->take && (cmd->op == ENGINE_CANCEL || cmd->op == ENGINE_RESOLVE) &&
           led->take(led->ctx, cmd, h);
}

static void lease_done(void *ctx, struct store *s) { /* on the committer */
    struct run_exec *re = ctx;
    struct engine *e = re->engine;
    struct wopr_error err;
    int64_t epoch = 0;
    const struct lease_claim c = {.run_no = re->run_no,
                                  .holder = e->holder,
                                  .until_ms = clock_wall_ms() + e->cfg.lease_ttl_ms,
                                  .epoch = e->cfg.sole_host ? LEASE_ANY : re->lease.seen_epoch,
                                  .beat = re->lease.seen_beat};
    /* A cancel unparks the run; if its log does not fold, it is ended without. */
    int rc = re->lease.unpark ? store_run_park(s, re->run_no, LEASE_ANY, STR_NONE, &err) : 0;
    if (rc == 0) rc = store_lease_claim(s, &c, &epoch, &err);
    if (rc == 0) re->lease.claimed_epoch = epoch;
    exec_landed(re, rc);
}

/* Note the previous holder, for the events of a takeover.  A run that is ours by name was
 * transferred by the holder we asked, or only left our memory. */
static bool note_holder(struct run_exec *re, const struct run_head *h, struct str own) {
    bool mine = str_eq(h->holder, own);
    re->lease.released = h->holder.n > 0 && h->lease_until_ms == 0;
    if (mine && re->lease.asked) return true;
    re->lease.asked = false;
    mem_free(re->lease.old_holder);
    re->lease.old_holder = mine ? mem_zalloc(1) : mem_strndup(h->holder.p, h->holder.n);
    re->lease.old_epoch = h->epoch;
    return re->lease.old_holder != NULL;
}

static bool lease_ask(struct step *st, const struct run_head *h, int64_t beat) {
    struct run_exec *re = st->exec;
    if (!note_holder(re, h, st->engine->holder)) return false;
    re->lease.seen_epoch = h->epoch;
    re->lease.seen_beat = beat;
    re->lease.unpark = h->parked.n > 0;
    exec_move(re, EXEC_LEASING);
    exec_launch(re);
    if (journal_side(st->engine->journal, lease_done, re) == 0) return true;
    exec_launch_undo(re);
    exec_move(re, EXEC_LOOKUP);
    return false;
}

static enum turn mail_refuse(struct step *st, int rc, const char *why) {
    struct engine_cmd *cmd;
    while ((cmd = exec_mail_take(st->exec)) != NULL) cmd_fail(st->engine, cmd, rc, why);
    return TURN_DROP;
}

/* Answer what mail needs no lease; true when other mail, or the sweep, needs the run itself. */
static bool run_wanted(struct step *st, struct run_head *head, int *rc) {
    struct run_exec *re = st->exec;
    struct engine_cmd *cmd, *keep = NULL;
    *rc = 0;
    while (!keep && (cmd = exec_mail_take(re)) != NULL)
        if (!cmd_answered(st, cmd, head)) keep = cmd;
    if (keep) {
        exec_mail_put_back(re, keep);
        return true;
    }
    if (!re->lease.swept) return false;
    struct run_origin o;
    *rc = store_run_origin(st->engine->store, re->run_no, st->scratch, &o, NULL);
    if (*rc == 0) *head = o.head;
    return *rc == 0 && !run_status_final(head->status) && head->parked.n == 0 &&
           head->engine_version <= CURRENT_ENGINE_VERSION;
}

enum turn load_lookup(struct step *st) {
    struct run_exec *re = st->exec;
    struct run_head head;
    int rc;
    if (!run_wanted(st, &head, &rc)) return TURN_DROP;
    re->memory.log_bytes = (size_t)head.log_bytes;
    if (re->run_no == 0) {
        re->run_no = head.run_no;
        rc = exec_register_no(re);
    }
    int64_t beat;
    if (rc == 0 && !peers_lease_free(st->engine, &head, &beat)) {
        if (!re->mail.any) return TURN_DROP; /* the sweep claims it once it is free */
        if (peers_ask(st, &head)) return TURN_END;
        return mail_refuse(st, WOPR_E_UNAVAILABLE,
                           "the host that executes the run does not answer");
    }
    if (rc == 0 && lease_ask(st, &head, beat)) return TURN_END;
    return mail_refuse(st, WOPR_E_UNAVAILABLE, "the run cannot be taken over at the moment");
}

enum turn load_leased(struct step *st, int rc) {
    struct run_exec *re = st->exec;
    if (rc == 0) {
        re->lease.epoch = re->lease.claimed_epoch;
        re->lease.taken = true;
        re->lease.ask_ms = re->lease.ask_end_ms = 0;
        exec_move(re, EXEC_LOADING);
        return TURN_GO_ON;
    }
    exec_move(re, EXEC_LOOKUP);
    switch (wopr_err_class(rc)) {
    case ERR_GONE:
        return TURN_DROP; /* its commands read the row again */
    case ERR_LEAVE:       /* another host came first */
        if (!re->mail.any) return TURN_DROP;
        peers_ask_again(re);
        return TURN_END;
    case ERR_PARK: /* parked since the look-up, which now answers or leaves a cancel */
        return TURN_GO_ON;
    case ERR_REOPEN:
        engine_break(st->engine, "lease");
        break;
    case ERR_RETRY:
    case ERR_REPLAN:
    case ERR_ASKED:
    case ERR_FINAL:
        break;
    }
    return mail_refuse(st, WOPR_E_UNAVAILABLE, "the run cannot be taken over at the moment");
}

/* --- fold --- */

struct parking {
    int64_t run_no, epoch;
    char reason[LOAD_REASON_MAX];
};

static void park_now(struct engine *e, struct store *s, void *args) {
    const struct parking *k = args;
    struct wopr_error err;
    (void)e;
    int rc = store_run_park(s, k->run_no, k->epoch, str_c(k->reason), &err);
    if (rc != 0 && rc != WOPR_E_FENCED) /* fenced: not ours to park */
        log_error("a damaged run could not be parked", "why", err.message);
}

/* A waiting cancel ends the run instead, and the other commands find it ended. */
static enum turn run_park(struct step *st, const char *reason) {
    struct engine_cmd *cmd;
    while ((cmd = exec_mail_take(st->exec)) != NULL) {
        if (cmd->op == ENGINE_CANCEL) return parked_cancel(st, cmd);
        parked_refuse(st->engine, cmd);
    }
    struct parking k = {.run_no = st->exec->run_no, .epoch = st->exec->lease.epoch};
    log_error("a run is parked: its log breaks an invariant; see 'wopr verify'", "run",
              st->exec->run_id, "reason", reason);
    st->engine->counts.parked++;
    snprintf(k.reason, sizeof k.reason, "%s", reason);
    (void)job_post(st->engine, park_now, &k, sizeof k); /* else the next start finds it */
    return TURN_DROP;
}

struct log_fold {
    struct step *step;
    struct run_exec *exec;
    struct arena *page;
    struct clear_reader clear;
    const struct run_pace *pace;
    bool begun;
    bool over; /* the turn is over; the next one folds the rest */
};

/* A turn that reads a page has the time of a turn to fold it.  Counted from the turn's beginning, a
 * host that is slow to read would fold one event a turn, and read the page again for each. */
static void fold_begin(struct log_fold *f) {
    if (!f->begun) f->step->began_ms = clock_mono_ms();
    f->begun = true;
}

static int state_finish(struct log_fold *f, struct wopr_error *err) {
    int rc = run_state_finish(f->exec->state, f->pace, err);
    f->over = rc == 0 && (run_state_busy(f->exec->state) || f->pace->over(f->pace->ctx));
    return rc;
}

/* The stored rows may be older than settled edges, so nodes changed by settling stay dirty for the
 * next plan. */
static int event_fold(void *ctx, const struct event *e, struct wopr_error *err) {
    struct log_fold *f = ctx;
    fold_begin(f);
    struct event known = *e; /* OBS-71: with the clear values of what it shows masked */
    int rc = clear_event(&f->clear, &known, err);
    if (rc == 0) rc = run_state_begin(f->exec->state, &known, err);
    if (rc == 0) fork_passed(f->exec, e, f->page);
    if (rc == 0) rc = replay_follow(f->exec, e, err);
    if (rc == 0 && e->seq + 1 == f->exec->folds_to) run_state_clean(f->exec->state);
    if (rc == 0) rc = state_finish(f, err);
    return rc == 0 && f->over ? 1 : rc;
}

/* *over: the turn ended before the log did. */
static int fold_events(struct step *st, bool *over, struct wopr_error *err) {
    struct run_exec *re = st->exec;
    const struct run_pace pace = step_pace(st);
    const struct log_range rest = {.run_no = re->run_no,
                                   .from = re->state->next_seq,
                                   .until = INT64_MAX,
                                   .page_events = ENGINE_READ_EVENTS,
                                   .page_bytes = ENGINE_READ_BYTES};
    struct log_fold f = {
        .step = st, .exec = re, .page = arena_new(ENGINE_SCRATCH_MAX), .pace = &pace};
    if (!f.page) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to fold a run");
    int rc = run_state_busy(re->state) ? state_finish(&f, err) : 0;
    if (rc == 0 && !run_state_busy(re->state)) {
        f.over = false; /* an event at least */
        rc = clear_open(&f.clear, st->engine, re->run_no, err);
        if (rc == 0) rc = store_walk(st->engine->store, &rest, f.page, event_fold, &f, err);
        clear_shut(&f.clear);
    }
    arena_free(f.page);
    *over = f.over;
    return rc;
}

/* The row tells whether any are masked: a child may get a sensitive value in a plain variable. */
static int inputs_clear(struct step *st, struct run_meta *m, struct wopr_error *err) {
    if (!m->sealed) return 0;
    return clear_one(st->engine, st->exec->run_no, SEALED_INPUTS, st->scratch, &m->inputs_clear,
                     err);
}

static int load_origin(struct step *st, struct run_origin *o, struct wopr_error *err) {
    struct run_exec *re = st->exec;
    int rc = store_run_origin(st->engine->store, re->run_no, st->scratch, o, err);
    if (rc != 0) return rc;
    if (o->head.parked.n > 0 || run_status_final(o->head.status) ||
        o->head.epoch != re->lease.epoch)
        return wopr_error_set(err, WOPR_E_FENCED, "the run is not ours any more");
    return 0;
}

/* The state with which the fold of a log begins. */
static int load_open(struct step *st, const struct run_origin *o, struct wopr_error *err) {
    struct run_exec *re = st->exec;
    int rc = 0;
    if (exec_set_parent(re, o->parent_run_id, o->child_depth, o->child_flags) != 0)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a run");
    tenant_change(re, o->meta.tenant);
    if (!re->wf) rc = wfcache_by_hash(st->engine, &o->workflow_hash, st->scratch, &re->wf, err);
    if (rc == WOPR_E_VALIDATION || rc == WOPR_E_NOT_FOUND || rc == WOPR_E_SYNTAX) {
        /* the stored definition itself is damaged */
        if (err->code == 0) (void)wopr_error_set(err, rc, "the workflow cannot be read");
        return WOPR_E_CORRUPT;
    }
    struct run_origin known = *o;
    if (rc == 0) rc = inputs_clear(st, &known.meta, err);
    if (rc == 0) rc = agent_set_load(st->engine, o->agents_no, st->scratch, &known.meta, err);
    if (rc == 0) rc = fork_set(re, &o->fork);
    if (rc == 0) rc = fork_cuts_read(re, o->meta.created_ms, err);
    if (rc == 0) rc = replay_open(re);
    if (rc == 0) rc = checkpoint_load(st, &known, !re->commit.stuck && !re->commit.distrusts, err);
    if (rc == WOPR_E_VALIDATION || rc == WOPR_E_SYNTAX) return WOPR_E_CORRUPT;
    if (rc == 0) re->folds_to = o->head.next_seq;
    if (rc == 0 && o->head.next_seq == 0) run_state_clean(re->state);
    return rc;
}

static int load_close(struct step *st, const struct run_origin *o, struct wopr_error *err) {
    struct run_exec *re = st->exec;
    int rc = waits_load(st, err);
    if (rc == 0) rc = replay_begin(st, err);
    if (rc != 0) return rc;
    if (re->state->next_seq != o->head.next_seq)
        return wopr_error_set(err, WOPR_E_CORRUPT, "R1: the run row and its log differ in length");
    const char *broken = run_state_broken(re->state);
    return broken ? wopr_error_set(err, WOPR_E_CORRUPT, "%s", broken) : 0;
}

/* Something was being executed when the lease changed hands (STORE-38): all of a running run, but
 * also a delay or retry beside an open question. */
static bool work_was_taken_over(const struct run_exec *re) {
    const struct run_state *s = re->state;
    bool moves = s->status == RUN_RUNNING ||
                 (run_status_waiting(s->status) && (s->counts.running > 0 || s->counts.retry > 0));
    return re->lease.taken && moves && s->next_seq > 0;
}

/* A checkpoint led to a log that does not fold: fold the whole log, which decides. */
static enum turn load_distrust(struct step *st, const char *why) {
    log_warn("a run does not go on from its checkpoint; its log is folded from its beginning",
             "run", st->exec->run_id, "why", why);
    exec_forget_state(st->exec);
    st->exec->commit.distrusts = true;
    exec_wake(st->exec);
    return TURN_END;
}

enum turn load_fold(struct step *st) {
    struct run_exec *re = st->exec;
    struct run_origin o;
    struct wopr_error err = {0};
    bool over = false;
    uint64_t refused = mem_refused();
    const char *why = stuck_for_good(re);
    if (why) {
        exec_forget_state(re);
        return run_park(st, why);
    }
    int rc = load_origin(st, &o, &err);
    if (rc == 0 && !re->state) { /* else an earlier turn has begun it */
        exec_forget_state(re);
        rc = load_open(st, &o, &err);
    }
    if (rc == 0) rc = fold_events(st, &over, &err);
    if (rc == 0 && over) {
        exec_wake(re);
        return TURN_END;
    }
    if (rc == 0) rc = load_close(st, &o, &err);
    rc = mem_verdict(rc, refused);
    if (rc == WOPR_E_CORRUPT && re->checkpoint.used) return load_distrust(st, err.message);
    if (rc == 0) {
        const struct run_state *s = re->state;
        re->commit.load_tries = 0;
        re->commit.distrusts = false;
        re->paused_ms = s->status == RUN_PAUSED ? o.head.paused_ms : 0;
        re->lease.take_over = work_was_taken_over(re);
        if (re->lease.taken && (re->lease.take_over || re->lease.old_holder[0] != '\0'))
            st->engine->counts.recovered++;
        re->lease.taken = false;
        exec_move(re, EXEC_LIVE);
        return TURN_GO_ON;
    }
    enum wopr_err_class class = wopr_err_class(rc);
    bool stays = wopr_err_stays(rc) && rc != WOPR_E_CONFIG; /* which the operator may mend */
    if (rc == WOPR_E_CORRUPT || (stays && ++re->commit.load_tries >= LOAD_TRIES_MAX))
        return run_park(st, err.message[0] ? err.message : wopr_err_text(rc));
    if (class == ERR_LEAVE || class == ERR_GONE) return TURN_DROP;
    log_warn("a run could not be loaded", "run", re->run_id, "why", err.message);
    return TURN_LATER;
}
