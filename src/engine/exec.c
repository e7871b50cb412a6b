/*
 * exec.c: life of a run in memory: tables, mailbox, one turn of a worker, reload after a failed
 * commit.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/fork.h"

struct run_exec *exec_new(struct engine *e, struct str run_id) {
    if (run_id.n == 0 || run_id.n > RUN_ID_MAX) return NULL;
    struct run_exec *re = MEM_NEW(struct run_exec);
    if (!re) return NULL;
    re->e = e;
    memcpy(re->run_id, run_id.p, run_id.n);
    list_init(&re->ready);
    list_init(&re->rest);
    list_init(&re->timers);
    list_init(&re->children);
    list_init(&re->stops);
    re->mail_end = &re->mail;
    re->fail_seq = -1;
    return re;
}

int exec_set_parent(struct run_exec *re, struct str parent_id, int32_t depth, uint32_t flags) {
    if (parent_id.n == 0 || re->parent_id) return 0;
    re->parent_id = mem_strndup(parent_id.p, parent_id.n);
    re->depth = depth;
    re->child_flags = flags;
    return re->parent_id ? 0 : WOPR_E_NO_MEMORY;
}

void exec_forget_state(struct run_exec *re) {
    timers_drop_all(re);
    children_forget(re);
    if (re->clear && re->state)
        for (size_t i = 0; i < re->state->wf->nodes_nr; i++) text_clear(&re->clear[i]);
    mem_free(re->clear);
    re->clear = NULL;
    mem_free(re->skips);
    re->skips = NULL;
    run_state_free(re->state);
    re->state = NULL;
    plan_unref(re->plan);
    re->plan = NULL;
    invoke_forget(re);
    re->fail_seq = -1;
    re->take_over = re->dozes = false;
    replay_close(re);
}

void exec_free(struct run_exec *re) {
    if (!re) return;
    exec_forget_state(re);
    invoke_free(re);
    fork_free(re);
    workflow_unref(re->wf);
    mem_free(re->old_holder);
    children_free(re);
    mem_free(re->parent_id);
    mem_free(re);
}

static struct str no_key(const struct run_exec *re) {
    return str_n((const char *)&re->run_no, sizeof re->run_no);
}

int exec_register_locked(struct engine *e, struct run_exec *re, struct str tenant) {
    int rc = tenant_join_locked(e, re, tenant);
    if (rc != 0) return rc;
    rc = map_put(e->by_id, str_c(re->run_id), re, NULL);
    if (rc != 0) tenant_leave_locked(e, re);
    else if (e->active_nr++ == 0) peers_first_run_locked(e);
    return rc;
}

void exec_unregister_locked(struct run_exec *re) {
    struct engine *e = re->e;
    (void)map_del(e->by_id, str_c(re->run_id));
    tenant_leave_locked(e, re);
    e->active_nr--;
}

int exec_register_no(struct run_exec *re) {
    pthread_mutex_lock(&re->e->mu);
    int rc = map_put(re->e->by_no, no_key(re), re, NULL);
    pthread_mutex_unlock(&re->e->mu);
    return rc;
}

/* G3.  Called by the exec's own runner with nothing in flight. */
bool exec_drop(struct run_exec *re) {
    struct engine *e = re->e;
    exec_forget_state(re);
    pthread_mutex_lock(&e->mu);
    ASSERT(!re->inflight && !re->queued);
    bool keep = re->mail != NULL && !e->stopping;
    if (keep) {
        re->phase = EXEC_LOOKUP;
        re->swept = false;
        re->asked = false;
        re->ask_ms = re->ask_end_ms = 0;
        re->again = true;
    } else if (!re->mail) {
        exec_unregister_locked(re);
        if (re->run_no != 0 && map_get(e->by_no, no_key(re)) == re)
            (void)map_del(e->by_no, no_key(re));
        if (e->sweep_soon && e->active_nr < e->cfg.runs_active_max / 2)
            pthread_cond_signal(&e->tick);
    } else {
        keep = true; /* stopping: engine_halt answers what is in the mailbox */
    }
    pthread_mutex_unlock(&e->mu);
    if (!keep) exec_free(re);
    return !keep;
}

void step_drop(struct step *st) {
    if (exec_drop(st->re)) st->re = NULL;
}

struct engine_cmd *exec_mail_take(struct run_exec *re) {
    pthread_mutex_lock(&re->e->mu);
    struct engine_cmd *cmd = re->mail;
    if (cmd) {
        re->mail = cmd->next;
        if (!re->mail) re->mail_end = &re->mail;
        cmd->next = NULL;
    }
    re->has_mail = re->mail != NULL;
    pthread_mutex_unlock(&re->e->mu);
    return cmd;
}

void exec_mail_put_back(struct run_exec *re, struct engine_cmd *cmd) {
    pthread_mutex_lock(&re->e->mu);
    cmd->next = re->mail;
    re->mail = cmd;
    if (!cmd->next) re->mail_end = &cmd->next;
    re->has_mail = true;
    pthread_mutex_unlock(&re->e->mu);
}

void exec_reload(struct run_exec *re, bool later) {
    exec_forget_state(re);
    re->phase = EXEC_LOADING;
    if (!later) {
        exec_wake(re);
        return;
    }
    int64_t ms = re->backoff_ms > 0 ? re->backoff_ms * 2 : ENGINE_BACKOFF_MS_FIRST;
    re->backoff_ms = ms < ENGINE_BACKOFF_MS_MAX ? ms : ENGINE_BACKOFF_MS_MAX;
    /* Without memory for the timer the next turn simply comes at once. */
    if (timer_arm(re, TIMER_BACKOFF, -1, clock_wall_ms() + re->backoff_ms, false) != 0)
        exec_wake(re);
}

/* --- one turn --- */

/* Takes in what came back from the committer.  true: the turn goes on. */
static bool turn_landed(struct step *st) {
    struct run_exec *re = st->re;
    int rc = re->flight_rc;
    if (re->phase == EXEC_FORKING) return fork_turn(st, rc);
    if (re->phase == EXEC_CREATING) return create_landed(st, rc);
    if (re->phase == EXEC_LEASING) return load_leased(st, rc);
    if (re->phase == EXEC_ASKING) return peers_ask_landed(st, rc);
    if (re->phase == EXEC_GIVING) return peers_give_landed(st, rc);
    if (re->phase == EXEC_LIVE && re->plan) return step_landed(st, rc);
    return true; /* woken by mail or a timer, nothing was out */
}

static void turn_broken(struct step *st) {
    struct engine_cmd *cmd;
    while ((cmd = exec_mail_take(st->re)) != NULL)
        cmd_fail(st->e, cmd, WOPR_E_SYNC_FAILED, "the log cannot be written until a restart");
}

static bool turn_backs_off(struct run_exec *re) {
    struct exec_timer *t = timer_find(re, TIMER_BACKOFF, -1);
    if (re->phase != EXEC_LOADING || !t) return false;
    if (!timer_take_fired(re, t)) return true;
    timer_drop(re, TIMER_BACKOFF, -1);
    return false;
}

static void turn_run(struct step *st) {
    struct run_exec *re = st->re;
    bool goes_on = turn_landed(st);
    if (goes_on && engine_is_broken(st->e)) turn_broken(st);
    else if (goes_on && !engine_is_stopping(st->e) && !turn_backs_off(re)) {
        if (re->suspect) goes_on = peers_check(st);
        if (goes_on && re->wanted) goes_on = !peers_give(st);
        if (goes_on && re->phase == EXEC_LOOKUP) goes_on = load_lookup(st);
        if (goes_on && re->phase == EXEC_LOADING) goes_on = load_fold(st);
        if (goes_on && re->phase == EXEC_LIVE) step_run(st);
    }
}

bool exec_turn(struct worker *w, struct run_exec *re) {
    struct step st = {.e = w->e, .re = re, .a = w->scratch};
    arena_reset(w->scratch);
    if (exec_leaves(re) || exec_dozes_on(re)) return true;
    if (re->phase == EXEC_NEW) create_turn(&st);
    else turn_run(&st);
    return st.re != NULL;
}
