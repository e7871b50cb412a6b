/*
 * exec.c: life of a run in memory: tables, mailbox, reload after a failed commit.
 */
#include "engine/exec.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/fork_info.h"
#include "engine/kept.h"
#include "engine/timeline.h"
#include "engine/timers.h"
#include "engine/waits.h"

#define ENGINE_BACKOFF_MS_FIRST 100

struct run_exec *exec_new(struct engine *e, struct str run_id, enum exec_phase phase) {
    if (run_id.n == 0 || run_id.n > RUN_ID_MAX) return NULL;
    struct run_exec *re = mem_zalloc(sizeof *re + run_id.n + 1);
    if (!re) return NULL;
    re->engine = e;
    re->phase = phase;
    memcpy(re->run_id, run_id.p, run_id.n);
    list_init(&re->seat.ready);
    list_init(&re->memory.resting);
    list_init(&re->timers.all);
    list_init(&re->kin.children);
    list_init(&re->kin.cancels);
    for (int i = 0; i < MAIL_NR; i++) re->mail.of[i].end = &re->mail.of[i].first;
    return re;
}

int exec_set_parent(struct run_exec *re, struct str parent_id, int32_t depth, uint32_t flags) {
    if (parent_id.n == 0 || re->kin.parent_id) return 0;
    re->kin.parent_id = mem_strndup(parent_id.p, parent_id.n);
    re->kin.depth = depth;
    re->kin.flags = flags;
    return re->kin.parent_id ? 0 : WOPR_E_NO_MEMORY;
}

void exec_forget_state(struct run_exec *re) {
    waits_forget(re);
    if (re->memory.keeps) kept_put(re);
    re->memory.keeps = false;
    mem_free(re->skips);
    re->skips = NULL;
    run_state_free(re->state);
    re->state = NULL;
    plan_unref(re->commit.plan);
    re->commit.plan = NULL;
    re->checkpoint = (struct exec_checkpoint){0};
    re->lease.take_over = re->memory.dozes = false;
    if (re->timeline) re->timeline->ops->close(re);
}

void exec_free(struct run_exec *re) {
    if (!re) return;
    exec_forget_state(re);
    waits_free(re);
    resolved_free(&re->resolved);
    mem_free(re->commit.stuck);
    if (re->fork.job) re->fork.job_free(re);
    fork_info_free(re->fork.info);
    workflow_unref(re->wf);
    mem_free(re->lease.old_holder);
    mem_free(re->kin.parent_id);
    mem_free(re);
}

static struct str no_key(const struct run_exec *re) {
    return str_n((const char *)&re->run_no, sizeof re->run_no);
}

int exec_register_locked(struct engine *e, struct run_exec *re, struct str tenant) {
    int rc = tenant_join_locked(e, re, tenant);
    if (rc != 0) return rc;
    rc = map_put(e->runs.by_id, str_c(re->run_id), re, NULL);
    if (rc != 0) tenant_leave_locked(e, re);
    else if (e->runs.active_nr++ == 0) e->on_first_run_locked(e);
    return rc;
}

void exec_unregister_locked(struct run_exec *re) {
    struct engine *e = re->engine;
    (void)map_del(e->runs.by_id, str_c(re->run_id));
    tenant_leave_locked(e, re);
    e->runs.active_nr--;
}

int exec_register_no(struct run_exec *re) {
    pthread_mutex_lock(&re->engine->mu);
    int rc = map_put(re->engine->runs.by_no, no_key(re), re, NULL);
    pthread_mutex_unlock(&re->engine->mu);
    return rc;
}

int exec_begin(struct run_exec *re, struct str tenant) {
    struct engine *e = re->engine;
    int rc;
    /* Waiting parents must not keep out the children they wait for. */
    size_t more = re->kin.parent_id ? 2 : 1, room = e->cfg.runs_active_max * more;
    size_t room_bytes = e->cfg.bounds.state_bytes_max * more;
    pthread_mutex_lock(&e->mu);
    if (re->kin.parent_id && map_get(e->runs.by_id, str_c(re->run_id))) rc = WOPR_E_EXISTS;
    else if (e->runs.active_nr >= room || e->states.bytes >= room_bytes || e->life.stopping)
        rc = WOPR_E_UNAVAILABLE;
    else if (!re->kin.parent_id && tenant_full_locked(e, tenant)) rc = WOPR_E_QUOTA;
    else rc = exec_register_locked(e, re, tenant);
    if (rc == 0) queue_put_locked(re, QUEUE_FRESH);
    size_t idle = e->life.idle_nr;
    pthread_mutex_unlock(&e->mu);
    if (rc == 0) workers_signal(e, 1, idle);
    return rc;
}

/* Registered by number too before a worker sees it; false when the tables are full. */
bool exec_add(struct engine *e, int64_t run_no, struct str tenant, const struct run_head *h) {
    struct run_exec *re = exec_new(e, h->run_id, EXEC_LOOKUP);
    if (!re) return true;
    re->run_no = run_no;
    re->lease.swept = true;
    pthread_mutex_lock(&e->mu);
    bool room = e->runs.active_nr < e->cfg.runs_active_max && !e->life.stopping;
    bool known = map_get(e->runs.by_id, h->run_id) != NULL;
    bool added = room && !known && exec_register_locked(e, re, tenant) == 0;
    if (added && map_put(e->runs.by_no, no_key(re), re, NULL) != 0) {
        exec_unregister_locked(re);
        added = false;
    }
    if (added) exec_wake_locked(re);
    pthread_mutex_unlock(&e->mu);
    if (!added) exec_free(re);
    return room || known;
}

static void exec_news_locked(struct run_exec *re) {
    re->kin.news = true;
    exec_wake_locked(re);
}

void exec_awaited_moved_locked(struct engine *e, int64_t run_no) {
    struct str key = str_n((const char *)&run_no, sizeof run_no);
    void *re = run_no != 0 ? map_get(e->runs.awaited, key) : NULL;
    size_t it = 0;
    if (re) exec_news_locked(re);
    while (run_no == 0 && map_next(e->runs.awaited, &it, &key, &re)) exec_news_locked(re);
}

/* G3.  Called by the exec's own runner with nothing in flight. */
bool exec_drop(struct run_exec *re) {
    struct engine *e = re->engine;
    exec_forget_state(re);
    pthread_mutex_lock(&e->mu);
    ASSERT(!re->seat.inflight && !re->seat.queued);
    bool keep = re->mail.any && !e->life.stopping;
    if (keep) {
        exec_move(re, EXEC_LOOKUP);
        re->lease.swept = false;
        re->lease.asked = false;
        re->lease.ask_ms = re->lease.ask_end_ms = 0;
        re->seat.again = true;
    } else if (!re->mail.any) {
        exec_unregister_locked(re);
        if (re->run_no != 0 && map_get(e->runs.by_no, no_key(re)) == re)
            (void)map_del(e->runs.by_no, no_key(re));
        if (e->upkeep.sweep_soon && e->runs.active_nr < e->cfg.runs_active_max / 2)
            pthread_cond_signal(&e->tick);
    } else {
        keep = true; /* stopping: engine_halt answers what is in the mailbox */
    }
    pthread_mutex_unlock(&e->mu);
    if (!keep) exec_free(re);
    return !keep;
}

/* --- mail --- */

static enum mail mail_of(const struct engine_cmd *cmd) {
    if (cmd->op == ENGINE_CANCEL) return MAIL_CANCEL;
    return cmd->op == ENGINE_TASK ? MAIL_TASK : MAIL_CONTROL;
}

void exec_mail_add_locked(struct run_exec *re, struct engine_cmd *cmd) {
    struct mail_queue *q = &re->mail.of[mail_of(cmd)];
    cmd->next = NULL;
    *q->end = cmd;
    q->end = &cmd->next;
    re->mail.any = true;
    re->mail.large_nr += cmd_is_large(cmd);
}

/* Nobody can keep a cancel waiting, and neither workers nor people each other. */
static struct mail_queue *mail_next_locked(struct mailbox *m) {
    enum mail first = m->task_next ? MAIL_TASK : MAIL_CONTROL;
    enum mail second = m->task_next ? MAIL_CONTROL : MAIL_TASK;
    enum mail kind = m->of[MAIL_CANCEL].first ? MAIL_CANCEL : m->of[first].first ? first : second;
    if (kind != MAIL_CANCEL) m->task_next = kind != MAIL_TASK;
    return &m->of[kind];
}

struct engine_cmd *exec_mail_take(struct run_exec *re) {
    struct mailbox *m = &re->mail;
    pthread_mutex_lock(&re->engine->mu);
    struct mail_queue *q = mail_next_locked(m);
    struct engine_cmd *cmd = q->first;
    if (cmd) {
        q->first = cmd->next;
        if (!q->first) q->end = &q->first;
        cmd->next = NULL;
        m->large_nr -= cmd_is_large(cmd);
    }
    m->any = m->of[MAIL_CANCEL].first || m->of[MAIL_CONTROL].first || m->of[MAIL_TASK].first;
    pthread_mutex_unlock(&re->engine->mu);
    return cmd;
}

void exec_mail_put_back(struct run_exec *re, struct engine_cmd *cmd) {
    pthread_mutex_lock(&re->engine->mu);
    struct mail_queue *q = &re->mail.of[mail_of(cmd)];
    cmd->next = q->first;
    q->first = cmd;
    if (!cmd->next) q->end = &cmd->next;
    re->mail.any = true;
    re->mail.large_nr += cmd_is_large(cmd);
    pthread_mutex_unlock(&re->engine->mu);
}

void exec_reload(struct run_exec *re, bool later) {
    exec_forget_state(re);
    exec_move(re, EXEC_LOADING);
    if (!later) {
        exec_wake(re);
        return;
    }
    int64_t ms = re->commit.backoff_ms > 0 ? re->commit.backoff_ms * 2 : ENGINE_BACKOFF_MS_FIRST;
    re->commit.backoff_ms = ms < ENGINE_BACKOFF_MS_MAX ? ms : ENGINE_BACKOFF_MS_MAX;
    /* Without memory for the timer retry at once. */
    if (timer_arm(re, TIMER_BACKOFF, -1, clock_wall_ms() + re->commit.backoff_ms, false) != 0)
        exec_wake(re);
}
