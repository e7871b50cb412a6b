/*
 * submit.c: commands on their way in: to the mailbox of a run, or to what creates one.
 */
#include "engine/command.h"
#include "engine/create.h"
#include "engine/fork.h"
#include "engine/phase.h"

static void submit_run(struct engine *e, struct engine_cmd *cmd) {
    if (cmd->run_id.n == 0 || cmd->run_id.n > RUN_ID_MAX) {
        cmd_fail(e, cmd, WOPR_E_NOT_FOUND, "there is no such run");
        return;
    }
    struct run_exec *fresh = NULL, *re;
    pthread_mutex_lock(&e->mu);
    re = map_get(e->runs.by_id, cmd->run_id);
    if (!re) { /* not in memory: an exec that looks it up */
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
        e->life.stopping || !e->life.started; /* engine_halt looks into the mailboxes once */
    if (re && !closed) {
        cmd->next = NULL;
        *re->mail.end = cmd;
        re->mail.end = &cmd->next;
        re->mail.any = true;
        exec_wake_locked(re);
    }
    pthread_mutex_unlock(&e->mu);
    exec_free(fresh);
    if (closed) cmd_fail(e, cmd, WOPR_E_UNAVAILABLE, "the host is shutting down");
    else if (!re) cmd_fail(e, cmd, WOPR_E_NO_MEMORY, "out of memory");
}

void engine_submit(struct engine *e, struct engine_cmd *cmd) {
    pthread_mutex_lock(&e->mu);
    bool closed = !e->life.started || e->life.stopping;
    pthread_mutex_unlock(&e->mu);
    bool broken = engine_is_broken(e);
    cmd->priv = e;
    cmd->replayed = false;
    cmd->result = (struct engine_result){.run_id = cmd->run_id};
    if (broken) cmd_fail(e, cmd, WOPR_E_SYNC_FAILED, "the log cannot be written until a restart");
    else if (closed) cmd_fail(e, cmd, WOPR_E_UNAVAILABLE, "the host is shutting down");
    else if (cmd->op == ENGINE_CREATE) create_submit(e, cmd);
    else if (cmd->op == ENGINE_FORK) fork_submit(e, cmd);
    else submit_run(e, cmd);
}
