/*
 * offload.c: threads for long reads and large bodies, so that those of loop.c stay free for all
 * other requests.
 *
 * A handler returns http_offload(c, fn): fn runs on one of these threads while the connection is
 * parked, and its answer is sent as usual.  Requests with a large body are judged and handled here
 * from the start (request.c).  Tenants take turns, each has a bounded queue, and with more than one
 * thread no tenant has all of them, so what takes long delays its own tenant only.
 */
#include "base/mem.h"
#include "base/thread.h"
#include "codec/jobj.h"
#include "http/exchange.h"
#include "http/request.h"
#include "http/server.h"

struct offload {
    struct http_server *server;
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct list waiting; /* of struct holder.turn: have jobs and may run one */
    bool stop;
    unsigned threads_nr; /* started */
    pthread_t threads[];
};
static _Thread_local bool here; /* this thread is one of them */

/* --- jobs --- */

static unsigned running_max(const struct offload *o) {
    unsigned n = o->server->cfg.read_threads;
    return n > 1 ? n - 1 : 1;
}

/* Under the lock: take turns with the others when there is a job and the tenant may use another
 * thread. */
static void holder_queue(struct offload *o, struct holder *h) {
    if (list_empty(&h->jobs) || h->running >= running_max(o) || !list_empty(&h->turn)) return;
    list_add_tail(&o->waiting, &h->turn);
    pthread_cond_signal(&o->work);
}

static void job_run(struct offload *o, struct holder *h) {
    struct offload_job *j = LIST_ENTRY(list_pop(&h->jobs), struct offload_job, link);
    struct shares *sh = &o->server->shares;
    h->running++;
    holder_queue(o, h);
    pthread_mutex_unlock(&o->lock);
    (void)shares_again(sh, h); /* the job may end its owner, and that one's reference */
    atomic_fetch_add_explicit(&o->server->metrics.jobs, 1, memory_order_relaxed);
    j->run(j);
    thread_yield();
    pthread_mutex_lock(&o->lock);
    h->running--;
    holder_queue(o, h);
    shares_leave(sh, h);
}

static void *offload_main(void *arg) {
    struct offload *o = arg;
    thread_name("wopr-read");
    here = true;
    pthread_mutex_lock(&o->lock);
    while (!o->stop) {
        struct list *l = list_pop(&o->waiting);
        if (l) job_run(o, LIST_ENTRY(l, struct holder, turn));
        else pthread_cond_wait(&o->work, &o->lock);
    }
    pthread_mutex_unlock(&o->lock);
    return NULL;
}

bool offload_queue(struct http_server *s, struct holder *h, struct offload_job *j) {
    struct offload *o = s->offload;
    if (!o) return false;
    pthread_mutex_lock(&o->lock);
    bool stop = o->stop;
    if (!stop) {
        list_add_tail(&h->jobs, &j->link);
        holder_queue(o, h);
    }
    pthread_mutex_unlock(&o->lock);
    return !stop;
}

bool offload_cancel(struct http_server *s, struct holder *h, struct offload_job *j) {
    struct offload *o = s->offload;
    if (!o) return false;
    pthread_mutex_lock(&o->lock);
    bool waits = !list_empty(&j->link);
    list_del(&j->link);
    if (list_empty(&h->jobs)) list_del(&h->turn);
    pthread_mutex_unlock(&o->lock);
    return waits;
}

/* --- requests --- */

/* Whose turn it is: all who ask without a credential have one together, however many addresses they
 * come from. */
static struct holder *holder_of_turn(struct exchange *x) {
    return x->pub.who.tenant.n > 0 ? x->share.tenant : &x->pub.server->shares.nobody;
}

static struct exchange *exchange_of_job(struct offload_job *j) {
    return LIST_ENTRY(j, struct exchange, job.job);
}

static void exchange_job_run(struct offload_job *j) {
    struct exchange *x = exchange_of_job(j);
    share_give(&x->pub.server->shares, holder_of_turn(x), SHARE_READS, 1);
    if (exchange_logged(x, x->job.run) != HTTP_PENDING) http_resume(&x->pub);
}

static void exchange_refuse_stopped(struct exchange *x) {
    struct wopr_error err = {0};
    share_give(&x->pub.server->shares, holder_of_turn(x), SHARE_READS, 1);
    (void)refuse_draining(x, &err);
    http_fail(&x->pub, &err);
}

static void exchange_job_refuse(struct offload_job *j) {
    struct exchange *x = exchange_of_job(j);
    exchange_refuse_stopped(x);
    http_resume(&x->pub);
}

int offload_refuse_full(struct exchange *x, struct wopr_error *err) {
    x->refusal = REFUSED_READS;
    (void)wopr_error_set(err, WOPR_E_UNAVAILABLE,
                         "too many long reads and large bodies of this tenant wait for a thread; "
                         "retry later");
    jobj_details_int(err, "retryAfter", 1);
    return WOPR_E_UNAVAILABLE;
}

int offload_push(struct exchange *x, int (*run)(struct exchange *x)) {
    struct http_server *s = x->pub.server;
    struct wopr_error err = {0};
    if (!s->offload || here) return run(x);
    if (!share_take(&s->shares, holder_of_turn(x), SHARE_READS, 1)) {
        (void)offload_refuse_full(x, &err);
        http_fail(&x->pub, &err);
        return HTTP_DONE;
    }
    x->job.run = run;
    x->job.job.run = exchange_job_run;
    x->job.job.refuse = exchange_job_refuse;
    if (offload_queue(s, holder_of_turn(x), &x->job.job)) return HTTP_PENDING;
    exchange_refuse_stopped(x);
    return HTTP_DONE;
}

static int job_call(struct exchange *x) {
    x->job.fn(&x->pub);
    return HTTP_DONE;
}

int http_offload(struct http_call *pub, void (*fn)(struct http_call *c)) {
    struct exchange *x = exchange_of(pub);
    x->job.fn = fn;
    return offload_push(x, job_call);
}

static int job_command(struct exchange *x) { return x->job.command(&x->pub); }

int http_offload_command(struct http_call *pub, int (*fn)(struct http_call *c)) {
    struct exchange *x = exchange_of(pub);
    x->job.command = fn;
    return offload_push(x, job_command);
}

/* --- life --- */

static int offload_new(struct http_server *s, struct offload **out) {
    unsigned n = s->cfg.read_threads;
    struct offload *o = mem_zalloc(sizeof *o + n * sizeof o->threads[0]);
    if (!o) return WOPR_E_NO_MEMORY;
    o->server = s;
    list_init(&o->waiting);
    if (pthread_mutex_init(&o->lock, NULL) == 0) {
        if (pthread_cond_init(&o->work, NULL) == 0) {
            *out = o;
            return 0;
        }
        pthread_mutex_destroy(&o->lock);
    }
    mem_free(o);
    return WOPR_E_NO_MEMORY;
}

int offload_start(struct http_server *s) {
    struct offload *o;
    int rc = offload_new(s, &o);
    if (rc != 0) return rc;
    s->offload = o;
    while (rc == 0 && o->threads_nr < s->cfg.read_threads) {
        if (pthread_create(&o->threads[o->threads_nr], NULL, offload_main, o) == 0) o->threads_nr++;
        else rc = WOPR_E_NO_MEMORY;
    }
    if (rc != 0) offload_free(s);
    return rc;
}

/* Answer the jobs that will not run any more. */
static struct offload_job *job_left(struct offload *o) {
    struct offload_job *j = NULL;
    pthread_mutex_lock(&o->lock);
    if (!list_empty(&o->waiting)) {
        struct holder *h = LIST_ENTRY(o->waiting.next, struct holder, turn);
        j = LIST_ENTRY(list_pop(&h->jobs), struct offload_job, link);
        if (list_empty(&h->jobs)) list_del(&h->turn);
    }
    pthread_mutex_unlock(&o->lock);
    return j;
}

static void jobs_refuse_all(struct offload *o) {
    for (struct offload_job *j; (j = job_left(o)) != NULL;) j->refuse(j);
}

void offload_stop(struct http_server *s) {
    struct offload *o = s->offload;
    if (!o) return;
    pthread_mutex_lock(&o->lock);
    o->stop = true;
    pthread_cond_broadcast(&o->work);
    pthread_mutex_unlock(&o->lock);
    for (unsigned i = 0; i < o->threads_nr; i++) (void)pthread_join(o->threads[i], NULL);
    o->threads_nr = 0;
    jobs_refuse_all(o);
}

void offload_free(struct http_server *s) {
    struct offload *o = s->offload;
    if (!o) return;
    offload_stop(s);
    pthread_cond_destroy(&o->work);
    pthread_mutex_destroy(&o->lock);
    mem_free(o);
    s->offload = NULL;
}
