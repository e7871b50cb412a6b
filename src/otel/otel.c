/*
 * otel.c: the thread: takes what was committed, folds it, sends and tells what is due.  Its life.
 */
#include "otel/otel.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "otel/otel_int.h"

#include <time.h>

enum { IDLE_MS = 1000, TAKE_MAX = 256, STOP_MS_MAX = 5000, SETTINGS_MAX = 256 * 1024 };
#define PAGE_MAX (16u * 1024 * 1024)

/* --- from the committer --- */

/* Not the creation of a fork that has no events.  What any fork was made of may lie in memory that
 * ends with its answer, not with the plan: with its first event its origin is read from the store
 * (run_of).  A branch of a session is created with its first events. */
static bool plan_wanted(const struct plan *p, int rc) {
    if (rc != 0)
        return rc == WOPR_E_RUN_ALREADY_ACTIVE && p->what == PLAN_CREATE && p->create &&
               !p->create->fork;
    if (p->create && p->create->fork && p->events_nr == 0) return false;
    return p->what != PLAN_SIDE && !p->idem_hit &&
           (p->events_nr > 0 || p->invocations_nr > 0 || p->what == PLAN_CREATE);
}

/* Nothing here waits for anything but this lock, which is held for a few instructions. */
static void plans_committed(void *ctx, struct plan *const *v, const int *rcs, size_t n) {
    struct otel *o = ctx;
    pthread_mutex_lock(&o->mu);
    bool was_empty = o->plans_nr == 0;
    for (size_t i = 0; i < n; i++) {
        if (!plan_wanted(v[i], rcs[i])) continue;
        size_t bytes = arena_used(v[i]->arena);
        if (o->plans_nr == OTEL_PLANS_MAX || o->plan_bytes + bytes > OTEL_PLAN_BYTES_MAX) {
            o->missed++;
            continue;
        }
        o->plans[(o->plans_at + o->plans_nr++) % OTEL_PLANS_MAX] = plan_ref(v[i]);
        o->plan_bytes += bytes;
    }
    if (was_empty && o->plans_nr > 0) {
        o->kicked = true;
        pthread_cond_signal(&o->tick);
    }
    pthread_mutex_unlock(&o->mu);
}

/* --- the thread --- */

static size_t plans_take(struct otel *o, struct plan *out[TAKE_MAX], bool *stopping) {
    size_t n = 0;
    pthread_mutex_lock(&o->mu);
    for (; o->plans_nr > 0 && n < TAKE_MAX; n++) {
        out[n] = o->plans[o->plans_at];
        o->plans_at = (o->plans_at + 1) % OTEL_PLANS_MAX;
        o->plans_nr--;
        o->plan_bytes -= arena_used(out[n]->arena);
    }
    *stopping = o->stopping;
    o->kicked = o->plans_nr > 0;
    pthread_mutex_unlock(&o->mu);
    return n;
}

static void wait_ms(struct otel *o, int64_t ms) {
    uint64_t at_ms = clock_mono_ms() + (uint64_t)ms;
    struct timespec at = {(time_t)(at_ms / 1000), (long)(at_ms % 1000) * 1000000};
    pthread_mutex_lock(&o->mu);
    if (!o->kicked && !o->stopping) (void)pthread_cond_timedwait(&o->tick, &o->mu, &at);
    pthread_mutex_unlock(&o->mu);
}

/* One round; the number of commits it took. */
static size_t round_do(struct otel *o, bool *stopping) {
    struct plan *v[TAKE_MAX];
    size_t n = plans_take(o, v, stopping);
    for (size_t i = 0; i < n; i++) {
        otel_fold(o, v[i]);
        plan_unref(v[i]);
        (void)otel_send(o, false, IDLE_MS);
    }
    o->stat_runs = map_count(o->runs);
    return n;
}

static void *otel_main(void *arg) {
    struct otel *o = arg;
    bool stopping = false;
    thread_name("wopr-otel");
    while (!stopping) {
        size_t n = round_do(o, &stopping);
        int64_t ms = otel_tell(o, false, otel_send(o, false, IDLE_MS));
        if (n == 0 && !stopping) wait_ms(o, ms);
    }
    while (round_do(o, &stopping) > 0) continue;
    return NULL;
}

/* --- life --- */

static bool resource_has(const struct otel *o, struct str name) {
    for (size_t i = 0; i < o->resource.n; i++)
        if (str_eq(o->resource.name[i], name)) return true;
    return false;
}

static void speaker_add(struct otel *o, size_t *n, struct str key, struct str v) {
    if (v.n > 0) o->speaker_attrs[(*n)++] = (struct attr){.key = key, .type = ATTR_STR, .s = v};
}

/* OTEL_SERVICE_NAME goes before what OTEL_RESOURCE_ATTRIBUTES says, and both before ours. */
static void speaker_build(struct otel *o, const struct otel_config *c) {
    struct str name = arena_str(o->a, str_c(c->service_name ? c->service_name : ""));
    size_t n = 0;
    for (size_t i = 0; i < o->resource.n; i++)
        if (name.n == 0 || !str_eqc(o->resource.name[i], "service.name"))
            speaker_add(o, &n, o->resource.name[i], o->resource.value[i]);
    if (name.n > 0) speaker_add(o, &n, STR("service.name"), name);
    else if (!resource_has(o, STR("service.name")))
        speaker_add(o, &n, STR("service.name"), STR("wopr"));
    if (!resource_has(o, STR("service.version")))
        speaker_add(o, &n, STR("service.version"), arena_str(o->a, str_c(c->version)));
    if (!resource_has(o, STR("service.instance.id")))
        speaker_add(o, &n, STR("service.instance.id"), arena_str(o->a, str_c(c->instance)));
    o->speaker = (struct speaker){o->speaker_attrs, n, arena_str(o->a, str_c(c->version))};
}

static int url_check(struct str url, const char *setting, const struct egress_allow *all,
                     struct wopr_error *err) {
    if (url.n == 0) return 0;
    struct wopr_error why;
    int rc = egress_url_check(url, all, &why);
    return rc == 0 ? 0
                   : wopr_error_at(err, WOPR_E_CONFIG, setting, "setting \"%s\": %s", setting,
                                   why.message);
}

static int settings_take(struct otel *o, const struct otel_config *c, struct wopr_error *err) {
    /* The operator chose the receiver: every address is allowed. */
    struct egress_config ec = {.user_agent = "wopr", .allow = {.v = {{.bits = 0}}, .n = 1}};
    bool own = c->traces_endpoint && *c->traces_endpoint;
    int rc = otel_policy(c, &o->policy, err);
    if (rc == 0) rc = otel_pairs("otel-headers", c->headers, o->a, &o->headers, err);
    if (rc == 0) rc = otel_headers_check(&o->headers, err);
    if (rc == 0)
        rc =
            otel_pairs("otel-resource-attributes", c->resource_attributes, o->a, &o->resource, err);
    o->traces_url = otel_url(c->traces_endpoint, c->endpoint, "/v1/traces", o->a);
    if (otel_metrics_wanted(c))
        o->metrics_url = otel_url(c->metrics_endpoint, c->endpoint, "/v1/metrics", o->a);
    if (rc == 0)
        rc = url_check(o->traces_url, own ? "otel-traces-endpoint" : "otel-endpoint", &ec.allow,
                       err);
    if (rc == 0) rc = url_check(o->metrics_url, "otel-metrics-endpoint", &ec.allow, err);
    if (rc == 0) rc = egress_new(&ec, &o->egress, err);
    if (rc == 0) speaker_build(o, c);
    if (rc == 0 && arena_failed(o->a))
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for telemetry");
    return rc;
}

int otel_new(struct journal *j, const struct otel_config *cfg, struct otel **out,
             struct wopr_error *err) {
    struct otel *o = MEM_NEW(struct otel);
    if (!o || clock_cond_init(&o->tick) != 0) {
        mem_free(o);
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for telemetry");
    }
    (void)pthread_mutex_init(&o->mu, NULL);
    o->cfg = *cfg;
    o->journal = j;
    o->store = journal_store(j);
    list_init(&o->recent);
    list_init(&o->spans);
    buf_init(&o->sending.body, EGRESS_BODY_MAX);
    buf_init(&o->telling.body, EGRESS_BODY_MAX);
    o->started_ms = clock_wall_ms();
    o->records = otel_records(cfg);
    bool counted = otel_metrics_wanted(cfg);
    o->telling.due_ms = clock_mono_ms() + (uint64_t)cfg->metrics_interval_ms;
    o->meters = counted ? meters_new(o->started_ms) : NULL;
    o->a = arena_new(SETTINGS_MAX);
    o->page = arena_new(PAGE_MAX);
    o->runs = map_new();
    o->plans = mem_array(OTEL_PLANS_MAX, sizeof(struct plan *));
    int rc = o->a && o->page && o->runs && o->plans && (o->meters || !counted)
                 ? settings_take(o, cfg, err)
                 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for telemetry");
    if (rc == 0) *out = o;
    else otel_free(o);
    return rc;
}

int otel_start(struct otel *o, struct wopr_error *err) {
    egress_start(o->egress);
    if (pthread_create(&o->thread, NULL, otel_main, o) != 0)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "cannot start the thread of telemetry");
    o->up = true;
    journal_on_commit(o->journal, plans_committed, o);
    return 0;
}

static void sent_wait(struct otel *o) {
    uint64_t ms = clock_mono_ms() + 20;
    const struct timespec at = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    pthread_mutex_lock(&o->mu);
    if (o->sending.out || o->telling.out) (void)pthread_cond_timedwait(&o->tick, &o->mu, &at);
    pthread_mutex_unlock(&o->mu);
}

static bool sending_busy(struct otel *o) {
    pthread_mutex_lock(&o->mu);
    bool busy = o->sending.out || o->sending.back;
    pthread_mutex_unlock(&o->mu);
    return busy || o->sending.spans > 0 || o->spans_nr > 0;
}

/* Until all is sent and the last numbers are told, or the receiver has failed once, or the time is
 * over. */
static void rest_send(struct otel *o) {
    int64_t left_ms = o->cfg.timeout_ms < STOP_MS_MAX ? o->cfg.timeout_ms : STOP_MS_MAX;
    uint64_t end_ms = clock_mono_ms() + (uint64_t)left_ms, dropped = o->stat_dropped;
    bool last_told = o->meters == NULL;
    while (clock_mono_ms() < end_ms && o->stat_dropped == dropped) {
        (void)otel_send(o, true, IDLE_MS);
        bool told = otel_tell_settle(o);
        if (told && last_told && !sending_busy(o)) return;
        if (told && !last_told) {
            (void)otel_tell(o, true, IDLE_MS);
            last_told = true;
        }
        sent_wait(o);
    }
}

void otel_stop(struct otel *o) {
    if (!o || !o->up) return;
    pthread_mutex_lock(&o->mu);
    o->stopping = true;
    pthread_cond_signal(&o->tick);
    pthread_mutex_unlock(&o->mu);
    (void)pthread_join(o->thread, NULL);
    rest_send(o);
    egress_stop(o->egress);
    otel_send_drop(o);
    o->up = false;
}

void otel_free(struct otel *o) {
    if (!o) return;
    otel_stop(o);
    egress_free(o->egress);
    for (; o->plans_nr > 0; o->plans_nr--)
        plan_unref(o->plans[(o->plans_at + o->plans_nr - 1) % OTEL_PLANS_MAX]);
    if (o->runs) otel_runs_clear(o);
    map_free(o->runs);
    mem_free(o->plans);
    buf_fini(&o->sending.body);
    buf_fini(&o->telling.body);
    meters_free(o->meters);
    arena_free(o->a);
    arena_free(o->page);
    (void)pthread_cond_destroy(&o->tick);
    (void)pthread_mutex_destroy(&o->mu);
    mem_free(o);
}

void otel_stats(struct otel *o, struct otel_stats *out) {
    *out = (struct otel_stats){.spans = o->stat_spans,
                               .sent = o->stat_sent,
                               .dropped = o->stat_dropped,
                               .missed = o->missed,
                               .requests = o->stat_requests,
                               .failed = o->stat_failed,
                               .queued = o->stat_queued,
                               .runs = o->stat_runs,
                               .series = o->stat_series};
}
