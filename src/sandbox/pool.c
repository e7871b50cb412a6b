/*
 * pool.c: requests that wait in the lanes of their tenants, and the slots that are given them.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "sandbox/frame.h"
#include "sandbox/sandbox_int.h"

#include <unistd.h>

#define MEMORY_DEFAULT  (128ull * 1024 * 1024)
#define TIME_DEFAULT_MS 30000
#define WAITING_MAX     (64u * 1024 * 1024) /* bytes of messages, of one tenant */

const char SANDBOX_ENGINE[] = "wabt-interp", SANDBOX_ENGINE_VERSION[] = WOPR_WABT_VERSION;

static unsigned pool_cores(void) {
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : (unsigned)n;
}

static size_t job_weight(const struct list *item) {
    const struct job *j = LIST_ENTRY((struct list *)(uintptr_t)item, struct job, link);
    return sizeof *j + j->message_n;
}

static void slot_init(struct slot *w, struct sandbox *s) {
    *w = (struct slot){.s = s, .child = {0, -1}};
    pthread_cond_init(&w->work, NULL);
}

static void sandbox_end(struct sandbox *s) {
    for (unsigned i = 0; i < SLOTS_MAX; i++) pthread_cond_destroy(&s->slots[i].work);
    lanes_fini(&s->lanes);
    modules_fini(&s->modules);
    pthread_mutex_destroy(&s->mu);
    mem_free(s->program);
    mem_free(s);
}

int sandbox_new(const struct sandbox_config *cfg, struct sandbox **out, struct wopr_error *err) {
    struct sandbox *s = MEM_NEW(struct sandbox);
    *out = NULL;
    if (!s) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the sandbox");
    s->cfg = *cfg;
    if (s->cfg.workers == 0) s->cfg.workers = pool_cores();
    if (s->cfg.workers > WORKERS_MAX) s->cfg.workers = WORKERS_MAX;
    if (s->cfg.memory_max == 0) s->cfg.memory_max = MEMORY_DEFAULT;
    if (s->cfg.time_ms_max == 0) s->cfg.time_ms_max = TIME_DEFAULT_MS;
    pthread_mutex_init(&s->mu, NULL);
    list_init(&s->jobs);
    s->slots_nr = 2 * s->cfg.workers; /* no tenant has them all */
    for (unsigned i = 0; i < SLOTS_MAX; i++) slot_init(&s->slots[i], s);
    s->program = mem_strndup(cfg->program, strlen(cfg->program));
    bool kept = modules_init(&s->modules);
    int rc = lanes_init(&s->lanes, s->cfg.workers, WAITING_MAX);
    s->lanes.weight = job_weight;
    if (rc == 0 && s->program && kept) {
        s->running = true;
        *out = s;
        return 0;
    }
    sandbox_end(s);
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the sandbox");
}

struct sandbox_limits sandbox_limits(const struct sandbox *s) {
    return (struct sandbox_limits){s->cfg.memory_max, s->cfg.time_ms_max, s->cfg.workers};
}

/* --- jobs --- */

static void job_free(struct job *j) {
    if (!j) return;
    mem_free(j->tenant);
    mem_free(j->node);
    mem_free(j->message);
    mem_free(j);
}

static struct job *job_new(const struct sandbox *s, const struct sandbox_request *r) {
    struct job *j = MEM_NEW(struct job);
    if (!j) return NULL;
    list_init(&j->link);
    list_init(&j->all);
    j->tenant = mem_strndup(r->tenant.n > 0 ? r->tenant.p : "", r->tenant.n);
    j->node = mem_strndup(r->node.n > 0 ? r->node.p : "", r->node.n);
    j->node_n = r->node.n;
    j->message = mem_strndup(r->message.n > 0 ? r->message.p : "", r->message.n);
    j->message_n = r->message.n;
    j->memory_max =
        r->memory_max > 0 && r->memory_max < s->cfg.memory_max ? r->memory_max : s->cfg.memory_max;
    j->time_ms =
        r->time_ms > 0 && r->time_ms < s->cfg.time_ms_max ? r->time_ms : s->cfg.time_ms_max;
    if (j->tenant && j->node && j->message) return j;
    job_free(j);
    return NULL;
}

/* --- which slot has which job; the mutex is held --- */

static void *slot_main(void *ctx);

/* One more thread, idle.  NULL: there may be no more, or the system gives none. */
static struct slot *slot_start(struct sandbox *s) {
    for (unsigned i = 0; i < s->slots_nr; i++) {
        struct slot *w = &s->slots[i];
        if (w->started) continue;
        w->started = w->idle = pthread_create(&w->thread, NULL, slot_main, w) == 0;
        return w->started ? w : NULL;
    }
    return NULL;
}

static bool slot_better(const struct slot *w, const struct slot *than, const char *tenant) {
    if (!than) return true;
    bool mine = w->tenant && strcmp(w->tenant, tenant) == 0;
    bool its = than->tenant && strcmp(than->tenant, tenant) == 0;
    if (mine != its) return mine;
    if (!w->tenant != !than->tenant) return !w->tenant;
    return mine ? w->used > than->used : w->used < than->used;
}

/* One whose worker serves the tenant already, else one without a worker, or a new one; else the
 * worker that was not used for longest is replaced. */
static struct slot *slot_choose(struct sandbox *s, const char *tenant) {
    struct slot *best = NULL, *fresh = NULL;
    for (unsigned i = 0; i < s->slots_nr; i++)
        if (s->slots[i].idle && slot_better(&s->slots[i], best, tenant)) best = &s->slots[i];
    if (best && (!best->tenant || strcmp(best->tenant, tenant) == 0)) return best;
    fresh = slot_start(s);
    return fresh ? fresh : best;
}

static bool slot_idle(struct sandbox *s) {
    for (unsigned i = 0; i < s->slots_nr; i++)
        if (s->slots[i].idle) return true;
    return slot_start(s) != NULL;
}

/* Gives out what waits for as long as somebody can take it. */
static void jobs_give(struct sandbox *s) {
    while (s->lanes.waiting_nr > 0 && slot_idle(s)) {
        struct list *l = s->stopping ? lane_take_any(&s->lanes) : lane_take(&s->lanes);
        if (!l) return;
        struct job *j = LIST_ENTRY(l, struct job, link);
        struct slot *w = slot_choose(s, j->tenant);
        s->stats.active++;
        w->idle = false;
        w->job = j;
        w->used = ++s->last_use;
        pthread_cond_signal(&w->work);
    }
}

/* Ends a job: the only place that calls done. */
static void job_done(struct slot *w, struct job *j, const struct sandbox_report *r) {
    struct sandbox *s = w->s;
    pthread_mutex_lock(&s->mu);
    list_del(&j->all);
    s->stats.active--;
    lane_leave(&s->lanes, j->lane);
    module_return(&s->modules, j->module);
    if (r->rc == 0) s->stats.invoked++;
    else s->stats.failed++;
    w->job = NULL;
    w->idle = true; /* before done: who asks again from there is given the same worker */
    jobs_give(s);
    pthread_mutex_unlock(&s->mu);
    j->done(j->ctx, r);
    job_free(j);
}

static void slot_work(struct slot *w, struct job *j, bool drop, struct buf *report) {
    uint64_t from = clock_mono_ms();
    struct sandbox_report r = {.rc = WOPR_E_CLOSED, .message = "the request was given up"};
    if (!drop) slot_execute(w, j, report, &r);
    r.duration_ms = (int64_t)(clock_mono_ms() - from);
    if (r.rc == 0) r.text = buf_str(report);
    job_done(w, j, &r);
}

static void *slot_main(void *ctx) {
    struct slot *w = ctx;
    struct sandbox *s = w->s;
    struct buf report;
    buf_init(&report, FRAME_REPORT_MAX);
    thread_name("wopr-sandbox");
    pthread_mutex_lock(&s->mu);
    while (w->job || !s->stopping || s->lanes.waiting_nr > 0) {
        struct job *j = w->job;
        if (!j) {
            pthread_cond_wait(&w->work, &s->mu);
            continue;
        }
        bool drop = s->stopping || j->cancelled;
        pthread_mutex_unlock(&s->mu);
        slot_work(w, j, drop, &report);
        pthread_mutex_lock(&s->mu);
    }
    w->idle = false;
    pthread_mutex_unlock(&s->mu);
    slot_end(w);
    buf_fini(&report);
    return NULL;
}

static int job_queue(struct sandbox *s, struct job *j, struct str digest, struct wopr_error *err) {
    if (s->stopping) return wopr_error_set(err, WOPR_E_CLOSED, "the host is stopping");
    j->module = module_lend(&s->modules, digest);
    if (!j->module) return wopr_error_set(err, WOPR_E_NOT_FOUND, "the module is not kept here");
    int rc = s->slots[0].started || slot_start(s) ? 0 : WOPR_E_NO_MEMORY;
    if (rc == 0) rc = lane_join(&s->lanes, str_c(j->tenant), STR_NONE, &j->link, &j->lane);
    if (rc != 0) module_return(&s->modules, j->module);
    if (rc == WOPR_E_UNAVAILABLE)
        return wopr_error_set(err, rc, "too many modules of this tenant wait to be executed");
    if (rc != 0) return wopr_error_set(err, rc, "no memory to execute a module");
    list_add_tail(&s->jobs, &j->all);
    j->id = ++s->last_id;
    return 0;
}

int sandbox_submit(struct sandbox *s, const struct sandbox_request *r, sandbox_done_fn *done,
                   void *ctx, struct wopr_error *err) {
    if (r->message.n > SANDBOX_MESSAGE_MAX)
        return wopr_error_set(err, WOPR_E_TOO_BIG, "what a module is given has at most 4 MiB");
    struct job *j = job_new(s, r);
    if (!j) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to execute a module");
    j->done = done;
    j->ctx = ctx;
    pthread_mutex_lock(&s->mu);
    int rc = job_queue(s, j, r->module, err);
    if (rc == 0 && r->id) *r->id = j->id;
    if (rc == 0) jobs_give(s);
    pthread_mutex_unlock(&s->mu);
    if (rc != 0) job_free(j);
    return rc;
}

/* What waits is not executed: it ends in its turn. */
void sandbox_cancel(struct sandbox *s, uint64_t id) {
    pthread_mutex_lock(&s->mu);
    for (struct list *l = s->jobs.next; l != &s->jobs; l = l->next) {
        struct job *j = LIST_ENTRY(l, struct job, all);
        if (j->id != id) continue;
        j->cancelled = true;
        child_kill_now(j->pid);
    }
    pthread_mutex_unlock(&s->mu);
}

void sandbox_stop(struct sandbox *s) {
    if (!s || !s->running) return;
    pthread_mutex_lock(&s->mu);
    s->stopping = true;
    for (struct list *l = s->jobs.next; l != &s->jobs; l = l->next)
        child_kill_now(LIST_ENTRY(l, struct job, all)->pid);
    jobs_give(s);
    for (unsigned i = 0; i < SLOTS_MAX; i++) pthread_cond_signal(&s->slots[i].work);
    pthread_mutex_unlock(&s->mu);
    for (unsigned i = 0; i < SLOTS_MAX; i++)
        if (s->slots[i].started) pthread_join(s->slots[i].thread, NULL);
    s->running = false;
}

void sandbox_free(struct sandbox *s) {
    if (!s) return;
    sandbox_stop(s);
    sandbox_end(s);
}

void sandbox_stats(struct sandbox *s, struct sandbox_stats *out) {
    pthread_mutex_lock(&s->mu);
    *out = s->stats;
    out->waiting = s->lanes.waiting_nr;
    out->module_bytes = s->modules.bytes;
    out->modules_read = s->modules.read_nr;
    pthread_mutex_unlock(&s->mu);
}
