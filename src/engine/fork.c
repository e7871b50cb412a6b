/*
 * fork.c: makes a new run from the first events of another one (FORK-1 to FORK-11, FORK-22,
 * FORK-23).  A worker folds the inherited events, turn by turn, and one plan makes the run: its
 * rows are the state at the cut, its log refers to that of the source.  A kill before that plan
 * leaves nothing behind.
 */
#include "engine/fork.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/ident.h"
#include "codec/json.h"
#include "domain/program.h"
#include "engine/agent_set.h"
#include "engine/bounds.h"
#include "engine/children.h"
#include "engine/command.h"
#include "engine/control.h"
#include "engine/fork_clear.h"
#include "engine/fork_info.h"
#include "engine/fork_wait.h"
#include "engine/outcome.h"
#include "engine/replay.h"
#include "engine/state_at.h"
#include "engine/timers.h"
#include "engine/wfcache.h"

#include <stdio.h>

#define FORK_RETRY_AFTER_S 1 /* ERR-9 */
#define FORK_ARENA_MAX     (32u * 1024 * 1024)

struct fork_job {
    struct arena *a, *page; /* texts of the job; one page of events */
    struct engine_cmd *cmd;
    struct run_origin source;
    struct run_fork link;
    struct run_meta meta;
    struct var_inits vars;
    bool open; /* the source was read; the members below are set */
};

/* --- life --- */

static void job_free(struct run_exec *re) {
    struct fork_job *j = re->fork.job;
    if (!j) return;
    fork_slot_free(re);
    arena_free(j->a);
    arena_free(j->page);
    fork_clear_free(re);
    mem_free(j);
    re->fork.job = NULL;
}

/* --- end of a job --- */

static enum turn fork_refuse(struct step *st, int rc, const struct wopr_error *err) {
    struct engine_cmd *cmd = st->exec->fork.job->cmd;
    cmd->result = (struct engine_result){.rc = rc, .retry_after_s = 0};
    if (err && err->code == rc) cmd->result.err = *err;
    else (void)wopr_error_set(&cmd->result.err, rc, "%s", wopr_err_text(rc));
    if (rc == WOPR_E_UNAVAILABLE) cmd->result.retry_after_s = FORK_RETRY_AFTER_S;
    job_free(st->exec);
    cmd_settle(st->engine, cmd);
    return TURN_DROP;
}

/* No fault of the host, and nothing that a repetition mends.  The store's own words stay here. */
static int source_damaged(const struct fork_job *j, struct wopr_error *err) {
    log_warn("a run cannot be forked", "source", arena_cstr(j->a, j->cmd->run_id), "why",
             err->message);
    return wopr_error_set(err, WOPR_E_CONFLICT,
                          "the source is parked, or its log breaks a rule before fromSeq ('wopr "
                          "verify' says which); fork it before that event, or restore its log");
}

static int source_expired(const struct fork_job *j, struct wopr_error *err) {
    int rc = wopr_error_set(err, WOPR_E_EVENTS_EXPIRED, "the source was removed by retention");
    wopr_error_details(err, "{\"sourceRunId\":\"" STR_FMT "\",\"fromSeq\":%lld}",
                       STR_ARG(j->source.head.run_id), (long long)j->link.from_seq);
    return rc;
}

/* --- the overlay of a branch (FORK-23) --- */

static int options_merge(struct step *st, struct fork_job *j, struct wopr_error *err) {
    const struct fork_overlay *o = &j->cmd->fork.overlay;
    struct run_meta *m = &j->meta;
    struct options_env env = {.limits = &st->engine->cfg.limits, .test_key = j->cmd->test_mode};
    struct run_options checked;
    int rc = 0;
    if (!o->configurable.p && !o->tags.p && !o->metadata.p) return 0;
    if (o->configurable.p)
        rc = overlay_object(m->configurable, o->configurable, j->a, &m->configurable, err);
    if (rc == 0 && o->metadata.p)
        rc = overlay_object(m->metadata, o->metadata, j->a, &m->metadata, err);
    if (rc == 0 && o->tags.p) rc = overlay_tags(m->tags, o->tags, j->a, &m->tags, err);
    if (rc == 0)
        rc = run_options_check(m->configurable, m->tags, m->metadata, st->exec->wf, &env, j->a,
                               &checked, err);
    if (rc == 0 && o->configurable.p) m->recursion_limit = checked.recursion_limit;
    return rc;
}

/* What a program has done follows from its inputs and its options: where some of it is inherited,
 * these are, too.  was: the options before the overlay. */
static int program_keeps(const struct step *st, const struct fork_job *j, struct str was,
                         struct wopr_error *err) {
    const struct program_ops *program = st->exec->wf->program;
    if (!program || j->link.from_seq == 0) return 0;
    if (j->cmd->fork.overlay.inputs.p)
        return wopr_error_at(err, WOPR_E_VALIDATION, "/runOptionsOverlay/inputs",
                             "a fork of this run keeps its inputs, from which the events before "
                             "fromSeq follow; fork it from 0, or start another run");
    if (program->options_same(was, j->meta.configurable, j->a)) return 0;
    return wopr_error_at(err, WOPR_E_VALIDATION, "/runOptionsOverlay/configurable",
                         "a fork of this run keeps its %s options, from which the events before "
                         "fromSeq follow; fork it from 0, or start another run",
                         program->name);
}

/* --- begin --- */

/* WR-263.  A run that shows a session executes nothing that could be executed again, and a branch
 * is the agent's: it has the tokens. */
static int led_refuse(enum fork_mode mode, struct wopr_error *err) {
    int rc = wopr_error_set(
        err, WOPR_E_CONFLICT,
        mode == FORK_REPLAY
            ? "the run shows a session, which executes nothing that could be replayed: the same "
              "call of the tool continue_workflow gives the same answer"
            : "the run shows a session: to branch it, call the tool continue_workflow at POST "
              "/v1/mcp with the stateToken of the older step alone, then with the ackToken that "
              "it gives");
    wopr_error_details(err, "{\"reason\":\"workrail_run\",\"tool\":\"continue_workflow\"}");
    return rc;
}

static int source_read(struct step *st, struct fork_job *j, struct wopr_error *err) {
    const struct engine_cmd *cmd = j->cmd;
    struct run_head head;
    int rc = store_run_head(st->engine->store, cmd->tenant, cmd->test_mode, cmd->run_id, j->a,
                            &head, err);
    if (rc == 0) rc = store_run_origin(st->engine->store, head.run_no, j->a, &j->source, err);
    j->source.head.run_id = cmd->run_id;
    j->link.from_seq = cmd->fork.from_seq;
    if (rc == WOPR_E_EXPIRED) return source_expired(j, err);
    if (rc != 0) return rc;
    if (head.engine_version > CURRENT_ENGINE_VERSION)
        return wopr_error_set(err, WOPR_E_VERSION_MISMATCH, "a newer engine wrote the source");
    if (head.parked.n > 0)
        return wopr_error_set(err, WOPR_E_CORRUPT, "the source is parked; see 'wopr verify'");
    if (j->source.meta.led) return led_refuse(cmd->fork.mode, err);
    if (cmd->fork.from_seq == 0 ||
        cmd->fork.from_seq < head.next_seq) { /* FORK-4; 0 inherits nothing */
        j->source.head.next_seq = head.next_seq;
        return 0;
    }
    rc = wopr_error_set(err, WOPR_E_SEQUENCE_NOT_FOUND,
                        "fromSeq is no sequence of the source: its log ends before it");
    char asked[48] = ""; /* INT64_MAX means every greater number */
    if (cmd->fork.from_seq < INT64_MAX)
        (void)snprintf(asked, sizeof asked, "\"fromSeq\":%lld,", (long long)cmd->fork.from_seq);
    wopr_error_details(err, "{\"sourceRunId\":\"" STR_FMT "\",%s\"lastSequence\":%lld}",
                       STR_ARG(cmd->run_id), asked, (long long)head.next_seq - 1);
    return rc;
}

/* A fork inherits definition, owner, inputs and options; scope, callback and parent belong to the
 * source alone. */
static void meta_fill(struct step *st, struct fork_job *j) {
    const struct run_origin *o = &j->source;
    j->meta = o->meta;
    j->meta.run_id = str_c(st->exec->run_id);
    j->meta.scope_id = j->meta.callback_url = STR_NONE;
    j->meta.traceparent = j->cmd->traceparent;
    if (j->cmd->subject.n > 0) j->meta.subject = j->cmd->subject; /* whose credentials it uses */
    j->meta.created_ms = clock_wall_ms();
    j->link = (struct run_fork){.mode = j->cmd->fork.mode,
                                .source_run_id = o->head.run_id,
                                .source_run_no = o->head.run_no,
                                .from_seq = j->cmd->fork.from_seq,
                                .base_seq = o->head.next_seq};
}

static int job_open(struct step *st, struct fork_job *j, struct wopr_error *err) {
    struct run_exec *re = st->exec;
    int rc = source_read(st, j, err);
    if (rc != 0) return rc;
    rc = wfcache_by_hash(st->engine, &j->source.workflow_hash, st->scratch, &re->wf, err);
    if (rc == WOPR_E_NOT_FOUND || rc == WOPR_E_VALIDATION || rc == WOPR_E_SYNTAX)
        return wopr_error_set(err, WOPR_E_CORRUPT, "the workflow of the source cannot be read");
    if (rc != 0) return rc;
    meta_fill(st, j);
    rc = agent_set_load(st->engine, j->source.agents_no, j->a, &j->meta, err);
    struct str was = j->meta.configurable;
    if (rc == 0) rc = options_merge(st, j, err);
    if (rc == 0) rc = program_keeps(st, j, was, err);
    const struct fork_inputs from = {.source = &j->link, .overlay = j->cmd->fork.overlay.inputs};
    if (rc == 0) rc = fork_inputs(st, &from, j->a, &j->meta, &j->vars, err);
    if (rc == 0) rc = fork_clear_open(st->exec, &j->link, err);
    if (rc == 0) rc = run_state_new(re->wf, &j->meta, &st->engine->cfg.limits, &re->state, err);
    if (rc == 0 && fork_set(re, &j->link) != 0)
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a fork");
    if (rc == 0) rc = fork_cuts_read(re, j->meta.created_ms, err);
    if (rc == 0) j->open = true;
    return rc;
}

/* --- the plan --- */

/* A retry that was waiting at the cut waits for its remaining time; in a replay the source's log
 * decides. */
static void retries_arm(struct run_exec *re, struct plan *p, const struct fork_job *j) {
    const struct run_state *s = re->state;
    if (j->link.mode != FORK_BRANCH) return;
    for (size_t i = 0; s->counts.retry > 0 && i < s->wf->nodes_nr; i++) {
        int64_t left_ms = s->nodes[i].retry_at_ms - j->link.cut_ms;
        if (s->nodes[i].retry_at_ms <= 0) continue;
        if (left_ms < 0) left_ms = 0;
        int64_t fire_at_ms = j->meta.created_ms + left_ms;
        plan_timer_set(p, TIMER_RETRY, s->wf->nodes[i].id, fire_at_ms, left_ms);
        if (timer_arm(re, TIMER_RETRY, (int)i, fire_at_ms, true) != 0)
            plan_fail(p, WOPR_E_NO_MEMORY, "no memory for a timer");
    }
}

static bool create_fill(struct step *st, struct fork_job *j, struct plan *p) {
    struct run_row_new *n = p->create = ARENA_NEW(p->arena, struct run_row_new);
    struct plan_fork *f = ARENA_NEW(p->arena, struct plan_fork);
    if (!n || !f) return false;
    *f = (struct plan_fork){.link = j->link,
                            .prefix_bytes = st->exec->state->log_bytes,
                            .sealed = fork_clear_used(st->exec)};
    n->fork = f;
    n->meta = j->meta; /* the job outlives the plan */
    n->workflow_hash = j->source.workflow_hash;
    n->holder = st->engine->holder;
    n->lease_until_ms = clock_wall_ms() + st->engine->cfg.lease_ttl_ms;
    n->vars = j->vars;
    n->tenant_bytes_max = st->engine->cfg.bounds.tenant_bytes_max;
    return true;
}

static struct plan *fork_plan(struct step *st, struct fork_job *j) {
    struct run_state *s = st->exec->state;
    struct plan *p = plan_new();
    j->link.cut_ms = st->exec->fork.info->link.cut_ms; /* set by the fold */
    if (!p || !create_fill(st, j, p)) {
        plan_unref(p);
        return NULL;
    }
    p->what = PLAN_CREATE;
    p->run_id = str_c(st->exec->run_id);
    p->epoch = 1; /* the first holder's */
    p->base_seq = s->next_seq;
    plan_channels(p, st->exec->wf);
    if (j->meta.inputs_clear.n > 0)
        clear_seal(st->engine, p, j->meta.run_id, SEALED_INPUTS, j->meta.inputs_clear);
    plan_project(p, s, 0);
    p->has_update = true;
    retries_arm(st->exec, p, j);
    fork_waits_open(st, p);
    return p;
}

/* Returns a code when nothing went out. */
static int fork_send(struct step *st, struct fork_job *j, struct wopr_error *err) {
    struct plan *p = fork_plan(st, j);
    if (!p) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a plan");
    j->cmd->result = (struct engine_result){.run_id = arena_str(j->cmd->arena, j->meta.run_id),
                                            .status = RUN_PENDING,
                                            .at_ms = j->meta.created_ms}; /* FORK-3 */
    cmd_attach(j->cmd, p);
    int rc = p->failed;
    if (rc != 0) *err = p->error;
    else if ((rc = exec_commit(st->exec, p, NULL)) == 0) {
        fork_slot_free(st->exec); /* folded: the next one may be in the same group commit */
        return 0;
    }
    plan_unref(p);
    return rc;
}

/* --- the landed plan --- */

static enum turn fork_made(struct step *st, struct plan *p) {
    struct run_exec *re = st->exec;
    struct fork_job *j = re->fork.job;
    struct engine_cmd *cmd = j->cmd;
    re->run_no = p->run_no;
    re->lease.epoch = p->epoch;
    st->engine->counts.created++;
    log_info("a run was forked", "run", re->run_id, "mode",
             j->link.mode == FORK_REPLAY ? "replay" : "branch");
    job_free(re);
    cmd_committed(cmd, p);
    plan_unref(p);
    int rc = exec_register_no(re);
    if (rc == 0) rc = replay_open(re);
    if (rc == 0) rc = replay_begin(st, NULL);
    if (rc == 0) rc = children_load(st, NULL);
    if (rc != 0) return TURN_LATER; /* it exists: load it when there is memory */
    exec_move(re, EXEC_LIVE);
    return TURN_GO_ON;
}

/* The source has ended since its clear values were read: the fork begins with what is left, and
 * without a slot, because a source ends once. */
static enum turn fork_again(struct run_exec *re) {
    struct fork_job *j = re->fork.job;
    exec_forget_state(re);
    fork_clear_free(re);
    fork_info_free(re->fork.info);
    re->fork.info = NULL;
    workflow_unref(re->wf);
    re->wf = NULL;
    arena_reset(j->a);
    j->open = false;
    exec_wake(re);
    return TURN_END;
}

static enum turn fork_landed(struct step *st, int rc) {
    struct run_exec *re = st->exec;
    struct fork_job *j = re->fork.job;
    struct plan *p = re->commit.plan;
    struct wopr_error err = {0};
    re->commit.plan = NULL;
    if (rc == WOPR_E_SYNC_FAILED) engine_break(st->engine, "fork");
    if (rc == 0 && p->idem_hit) { /* FORK-1: another request with this key was first */
        struct engine_cmd *cmd = j->cmd;
        job_free(re);
        cmd_committed(cmd, p);
        plan_unref(p);
        return TURN_DROP;
    }
    if (rc == 0) return fork_made(st, p);
    if (rc == WOPR_E_STALE) {
        plan_unref(p);
        return fork_again(re);
    }
    if (rc == WOPR_E_EXPIRED) rc = source_expired(j, &err);
    else if (rc == WOPR_E_QUOTA) bound_tenant_bytes(st->engine, p, &err);
    plan_unref(p);
    return fork_refuse(st, rc, &err);
}

/* --- one turn --- */

enum turn fork_turn(struct step *st, int flight_rc) {
    struct run_exec *re = st->exec;
    struct wopr_error err = {0};
    if (re->commit.plan) return fork_landed(st, flight_rc);
    struct fork_job *j = re->fork.job;
    uint64_t refused = mem_refused();
    const struct run_pace pace = step_pace(st);
    bool there = false;
    int rc = 0;
    if (engine_is_broken(st->engine)) rc = WOPR_E_SYNC_FAILED;
    else if (engine_is_stopping(st->engine)) rc = WOPR_E_UNAVAILABLE;
    if (rc == 0 && !j->open) rc = job_open(st, j, &err);
    if (rc == 0)
        rc = state_at(re, j->link.source_run_no, j->link.from_seq, &pace, j->page, &there, &err);
    if (rc == WOPR_E_NOT_FOUND && j->open) rc = source_expired(j, &err);
    if (rc == 0 && re->state->secrecy.lost) rc = fork_lost(&j->link, &err);
    if (rc == 0 && there) rc = fork_send(st, j, &err);
    if (mem_verdict(rc, refused) != rc)
        rc = wopr_error_set(&err, WOPR_E_TOO_BIG,
                            "the state of the source before fromSeq takes more memory than a run "
                            "may have; fork it at an earlier event");
    if (rc == WOPR_E_CORRUPT) rc = source_damaged(j, &err);
    if (rc != 0) return fork_refuse(st, rc, &err);
    if (!there) exec_wake(re); /* let others have a turn */
    return TURN_END;
}

/* --- submission --- */

static struct run_exec *fork_exec(struct engine *e, struct engine_cmd *cmd) {
    char id[RUN_ID_LEN + 1] = "run_";
    ulid_new(id + 4);
    struct run_exec *re = exec_new(e, str_c(id), EXEC_FORKING);
    if (!re) return NULL;
    re->fork.job = MEM_NEW(struct fork_job);
    re->fork.job_free = job_free;
    if (re->fork.job) {
        re->fork.job->cmd = cmd;
        re->fork.job->a = arena_new(FORK_ARENA_MAX);
        re->fork.job->page = arena_new(ENGINE_SCRATCH_MAX);
    }
    if (re->fork.job && re->fork.job->a && re->fork.job->page) return re;
    exec_free(re);
    return NULL;
}

static int fork_room_locked(struct engine *e, struct str tenant, struct wopr_error *err) {
    bool full = e->runs.active_nr >= e->cfg.runs_active_max ||
                e->states.bytes >= e->cfg.bounds.state_bytes_max || e->life.stopping;
    if (full) return WOPR_E_UNAVAILABLE;
    if (tenant_full_locked(e, tenant)) bound_tenant_runs(e, err);
    else if (forks_full_locked(e, tenant)) bound_tenant_forks(err);
    return err->code;
}

void fork_submit(struct engine *e, struct engine_cmd *cmd) {
    struct run_exec *re = fork_exec(e, cmd);
    struct wopr_error err = {0};
    int rc = re ? 0 : WOPR_E_NO_MEMORY;
    if (rc == 0) {
        pthread_mutex_lock(&e->mu);
        rc = fork_room_locked(e, cmd->tenant, &err);
        if (rc == 0) rc = exec_register_locked(e, re, cmd->tenant);
        if (rc == 0) fork_begin_locked(re);
        pthread_mutex_unlock(&e->mu);
    }
    if (rc == 0) return;
    exec_free(re);
    cmd->result.run_id = STR_NONE;
    if (rc == WOPR_E_QUOTA) {
        cmd->result.rc = rc;
        cmd->result.err = err;
        cmd_settle(e, cmd);
        return;
    }
    cmd_fail(e, cmd, rc,
             rc == WOPR_E_UNAVAILABLE ? "the host has as many runs as it can hold"
                                      : "out of memory");
}

/* --- its first own step --- */

/* A pause belongs to the source's operator and is not inherited (FORK-3: a fork starts pending).
 * Where the cut parts events that belong together, the second half is emitted first. */
void fork_begin(struct step *st) {
    struct run_exec *re = st->exec;
    if (!re->fork.info || !fork_is_fresh(&re->fork.info->link, st->state->next_seq)) return;
    int node = re->fork.info->cut_node;
    control_unpause(st);
    if (re->fork.info->cut_kind == EV_CAP_BREACHED)
        run_end_cap_emitted(st, node, re->fork.info->link.from_seq - 1);
    else if (re->fork.info->cut_kind == EV_LOOPBACK_LIMIT && node >= 0)
        run_end_loop_emitted(st, node);
    else if (node >= 0) fork_group(st, re->fork.info->cut_kind, node);
    if (st->state->next_seq == re->fork.info->link.from_seq) replay_warn(st);
}
