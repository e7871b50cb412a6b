/*
 * submit.c: takes commands in: into the mailbox of a run, or as a new exec.
 */
#include "engine/submit.h"

#include "codec/ident.h"
#include "engine/bounds.h"
#include "engine/command.h"
#include "engine/phase.h"

#include <stdio.h>

static void submit_run(struct engine *e, struct engine_cmd *cmd) {
    if (cmd->run_id.n == 0 || cmd->run_id.n > RUN_ID_MAX) {
        cmd_fail(e, cmd, WOPR_E_NOT_FOUND, "there is no such run");
        return;
    }
    struct run_exec *fresh = NULL, *re;
    pthread_mutex_lock(&e->mu);
    re = map_get(e->runs.by_id, cmd->run_id);
    if (!re) { /* not in memory: make an exec that looks it up */
        pthread_mutex_unlock(&e->mu);
        fresh = exec_new(e, cmd->run_id, EXEC_LOOKUP);
        pthread_mutex_lock(&e->mu);
        re = map_get(e->runs.by_id, cmd->run_id);
        if (!re && fresh && exec_register_locked(e, fresh, cmd->tenant) == 0) {
            re = fresh;
            fresh = NULL;
        }
    }
    bool closed =
        e->life.stopping || !e->life.started; /* engine_halt empties the mailboxes only once */
    if (re && !closed) {
        exec_mail_add_locked(re, cmd);
        exec_wake_locked(re);
    }
    pthread_mutex_unlock(&e->mu);
    exec_free(fresh);
    if (closed) cmd_fail(e, cmd, WOPR_E_UNAVAILABLE, "the host is shutting down");
    else if (!re) cmd_fail(e, cmd, WOPR_E_NO_MEMORY, "out of memory");
}

/* --- creation --- */

static void full_log(struct engine *e) {
    char max[24], more[24];
    uint64_t held;
    if (engine_is_stopping(e) || !log_gate_pass(&e->counts.full_gate, &held)) return;
    pthread_mutex_lock(&e->mu);
    bool bytes = e->states.bytes >= e->cfg.bounds.state_bytes_max;
    pthread_mutex_unlock(&e->mu);
    (void)snprintf(max, sizeof max, "%zu",
                   bytes ? e->cfg.bounds.state_bytes_max : e->cfg.runs_active_max);
    (void)snprintf(more, sizeof more, "%llu", (unsigned long long)held);
    if (bytes) {
        log_warn("backpressure: the states of runs take all of state-bytes-max; creations are "
                 "refused",
                 "stateBytesMax", max, "notTold", more);
        return;
    }
    log_warn("backpressure: as many runs as runs-active-max allows; creations are refused",
             "runsActiveMax", max, "notTold", more);
}

static void submit_create(struct engine *e, struct engine_cmd *cmd) {
    char ulid[ULID_LEN + 1];
    ulid_new(ulid);
    bool child = cmd->create.parent_run_id.n > 0;
    struct str run_id = child ? cmd->run_id : arena_printf(cmd->arena, "run_%s", ulid);
    struct run_exec *re = run_id.p ? exec_new(e, run_id, EXEC_NEW) : NULL;
    int rc = re ? 0 : WOPR_E_NO_MEMORY;
    if (rc == 0 && child)
        rc = exec_set_parent(re, cmd->create.parent_run_id, cmd->create.child_depth,
                             cmd->create.child_flags);
    if (rc == 0) {
        re->wf = workflow_ref(cmd->create.wf);
        re->commit.cmd = cmd;
        re->seat.large = cmd_is_large(cmd);
        cmd->result.run_id = run_id;
        rc = exec_begin(re, cmd->tenant); /* from here on a worker may run it; ERR-9 */
    }
    if (rc == 0) return;
    exec_free(re);
    if (rc == WOPR_E_UNAVAILABLE) full_log(e);
    cmd->result.run_id = STR_NONE;
    if (rc == WOPR_E_QUOTA) {
        cmd->result.rc = rc;
        bound_tenant_runs(e, &cmd->result.err);
        cmd_settle(e, cmd);
        return;
    }
    cmd_fail(e, cmd, rc,
             rc == WOPR_E_UNAVAILABLE ? "the host has as many runs as it can hold"
                                      : wopr_err_text(rc));
}

/* --- both --- */

bool submit_admit(struct engine *e, struct engine_cmd *cmd) {
    pthread_mutex_lock(&e->mu);
    bool closed = !e->life.started || e->life.stopping;
    pthread_mutex_unlock(&e->mu);
    bool broken = engine_is_broken(e);
    cmd->priv = e;
    cmd->replayed = false;
    cmd->result = (struct engine_result){.run_id = cmd->run_id};
    if (broken) cmd_fail(e, cmd, WOPR_E_SYNC_FAILED, "the log cannot be written until a restart");
    else if (closed) cmd_fail(e, cmd, WOPR_E_UNAVAILABLE, "the host is shutting down");
    return !broken && !closed;
}

void submit_command(struct engine *e, struct engine_cmd *cmd) {
    if (!submit_admit(e, cmd)) return;
    if (cmd->op == ENGINE_CREATE) submit_create(e, cmd);
    else submit_run(e, cmd);
}
