/*
 * tell.c: the numbers, told at an interval.  Each message says all of them since the process began,
 * so one that fails is not repeated: the next one stands for it.
 */
#include "base/clock.h"
#include "otel/otel_int.h"
#include "store/admin.h"

/* On the egress thread. */
static void tell_count(void *ctx, const struct egress_response *r) {
    struct otel *o = ctx;
    pthread_mutex_lock(&o->mu);
    o->telling.rc = r->rc == WOPR_E_TOO_BIG ? 0 : r->rc;
    o->telling.status = r->status;
    o->telling.out = false;
    o->telling.back = true;
    o->kicked = true;
    pthread_cond_signal(&o->tick);
    pthread_mutex_unlock(&o->mu);
}

static void telling_end(struct otel *o, int rc, int status) {
    buf_fini(&o->telling.body);
    if (rc == 0 && status / 100 == 2) return;
    o->stat_failed++;
    otel_failure_log(o, rc, status);
}

/* From the counts that the store keeps, so that a run which only waits, in no host's memory, is
 * one; those of a tenant with none left are told as 0 from then on. */
static void active_count(struct otel *o) {
    struct open_runs_list l;
    arena_reset(o->page);
    if (store_open_runs(o->store, METER_SERIES_MAX, o->page, &l, NULL) != 0) return;
    meter_zero(o->meters, METER_RUN_ACTIVE);
    for (size_t i = 0; i < l.n; i++) {
        const struct meter_label of = {"openwop.tenant_id", l.v[i].tenant};
        meter_add(o->meters, METER_RUN_ACTIVE, (double)l.v[i].runs, &of, 1);
    }
}

static void telling_begin(struct otel *o) {
    struct telling *t = &o->telling;
    struct wopr_error err;
    struct form f;
    const struct meter_label all = {"openwop.tenant_id", STR("all")};
    meter_add(o->meters, METER_QUEUE_DEPTH, (double)o->waiting, &all, 1);
    active_count(o);
    buf_init(&t->body, EGRESS_BODY_MAX);
    form_init(&f, o->cfg.json ? FORM_JSON : FORM_PROTOBUF, &t->body);
    meters_request(&f, &o->speaker, o->meters, clock_wall_ms());
    if (buf_failed(&t->body)) {
        telling_end(o, WOPR_E_NO_MEMORY, 0);
        return;
    }
    pthread_mutex_lock(&o->mu);
    t->out = true;
    pthread_mutex_unlock(&o->mu);
    int rc = otel_post(o, o->metrics_url, buf_str(&t->body), tell_count, &err);
    if (rc == 0) return;
    pthread_mutex_lock(&o->mu);
    t->out = false;
    pthread_mutex_unlock(&o->mu);
    telling_end(o, rc, 0);
}

bool otel_tell_settle(struct otel *o) {
    struct telling *t = &o->telling;
    pthread_mutex_lock(&o->mu);
    bool back = t->back, out = t->out;
    int rc = t->rc, status = t->status;
    t->back = false;
    pthread_mutex_unlock(&o->mu);
    if (back) telling_end(o, rc, status);
    return !out;
}

int64_t otel_tell(struct otel *o, bool now, int64_t max_ms) {
    struct telling *t = &o->telling;
    if (!o->meters) return max_ms;
    bool out = !otel_tell_settle(o);
    o->stat_series = meters_series(o->meters);
    uint64_t at = clock_mono_ms();
    if (out || (!now && at < t->due_ms))
        return !out && t->due_ms - at < (uint64_t)max_ms ? (int64_t)(t->due_ms - at) : max_ms;
    t->due_ms = at + (uint64_t)o->cfg.metrics_interval_ms;
    telling_begin(o);
    return max_ms;
}
