/*
 * client.c: the thread that drives libcurl's multi interface, see egress.h.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "egress/egress_int.h"

#include <stdio.h>

#define TRANSFERS_DEFAULT  256u
#define QUEUE_DEFAULT      4096u
#define TENANT_PARTS       4u /* one tenant's share of places and queue: a quarter */
#define CONNECT_MS_DEFAULT 10000
#define POLL_MS            1000

int egress_submit(struct egress *e, const struct egress_request *req, egress_done_fn *done,
                  void *ctx, struct wopr_error *err) {
    struct transfer *t;
    int rc = transfer_new(e, req, &t, err);
    if (rc != 0) return rc;
    t->done = done;
    t->ctx = ctx;
    pthread_mutex_lock(&e->mu);
    if (e->stopping || !e->threads_up)
        rc = wopr_error_set(err, WOPR_E_CLOSED, "the host is shutting down");
    else if (e->lanes.waiting_nr >= e->cfg.queue_max)
        rc = wopr_error_set(err, WOPR_E_UNAVAILABLE, "too many outgoing requests wait");
    else if ((rc = lane_join(&e->lanes, req->tenant, &t->link, &t->lane)) == WOPR_E_UNAVAILABLE)
        (void)wopr_error_set(err, rc, "too many outgoing requests of this tenant wait");
    else if (rc != 0) (void)wopr_error_set(err, rc, "no memory for an outgoing request");
    if (rc == 0) e->stats.started++;
    pthread_mutex_unlock(&e->mu);
    if (rc == 0) (void)curl_multi_wakeup(e->multi);
    else transfer_free(t);
    return rc;
}

/* --- on the thread --- */

static int code_neutral(const struct transfer *t, CURLcode code) {
    if (t->too_big) return WOPR_E_TOO_BIG;
    if (t->no_memory) return WOPR_E_NO_MEMORY;
    switch (code) {
    case CURLE_OK:
        return 0;
    case CURLE_OUT_OF_MEMORY:
        return WOPR_E_NO_MEMORY;
    case CURLE_OPERATION_TIMEDOUT:
        return WOPR_E_TIMEOUT;
    case CURLE_COULDNT_CONNECT:
        return t->refused ? WOPR_E_EGRESS_REFUSED : WOPR_E_UNREACHABLE;
    default:
        return WOPR_E_UNREACHABLE;
    }
}

static void refusal_log(struct egress *e) {
    char more[24];
    uint64_t held;
    if (!log_gate_pass(&e->refused_gate, &held)) return;
    (void)snprintf(more, sizeof more, "%llu", (unsigned long long)held);
    log_warn("an outgoing request was refused: its address is not public; an operator can "
             "allow it with --egress-allow",
             "notTold", more);
}

/* Report the outcome to the owner, release the place, free the transfer. */
static void transfer_finish(struct transfer *t, int rc, const char *why) {
    struct egress *e = t->e;
    struct egress_response r = {.rc = rc, .untouched = true, .message = why};
    if (t->easy) {
        long status = 0, sent = 0;
        curl_off_t retry_after = 0;
        const char *type = NULL;
        (void)curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
        (void)curl_easy_getinfo(t->easy, CURLINFO_REQUEST_SIZE, &sent);
        (void)curl_easy_getinfo(t->easy, CURLINFO_CONTENT_TYPE, &type);
        r.untouched = sent == 0;
        r.status = rc == 0 || rc == WOPR_E_TOO_BIG ? (int)status : 0;
        (void)curl_easy_getinfo(t->easy, CURLINFO_RETRY_AFTER, &retry_after);
        r.retry_after_s = retry_after;
        r.content_type = rc == 0 && type ? str_c(type) : STR_NONE;
    }
    if (rc == 0) r.body = buf_str(&t->answer);
    if (rc == WOPR_E_EGRESS_REFUSED) {
        r.message = "the address of the URL lies in a private or reserved network";
        refusal_log(e);
    }
    t->done(t->ctx, &r);
    pthread_mutex_lock(&e->mu);
    e->active_nr--;
    lane_leave(&e->lanes, t->lane);
    if (rc == 0) e->stats.answered++;
    else if (rc == WOPR_E_EGRESS_REFUSED) e->stats.refused++;
    else e->stats.failed++;
    pthread_mutex_unlock(&e->mu);
    e->freed = true;
    list_del(&t->link);
    if (t->easy) (void)curl_multi_remove_handle(e->multi, t->easy);
    transfer_free(t);
}

/* The next waiting transfer that may have a place; any: whatever the bounds, when stopping. */
static struct transfer *take_next(struct egress *e, bool any) {
    struct list *l = NULL;
    pthread_mutex_lock(&e->mu);
    if (any) l = lane_take_any(&e->lanes);
    else if (!e->stopping && e->active_nr < e->cfg.transfers_max) l = lane_take(&e->lanes);
    if (l) e->active_nr++;
    pthread_mutex_unlock(&e->mu);
    return l ? LIST_ENTRY(l, struct transfer, link) : NULL;
}

static void transfer_send(struct transfer *t, const char *addresses) {
    int64_t left_ms = t->timeout_ms - (int64_t)(clock_mono_ms() - t->began_ms);
    list_del(&t->link);
    list_add_tail(&t->e->active, &t->link);
    if (left_ms < 1) transfer_finish(t, WOPR_E_TIMEOUT, "the look-up of the name took too long");
    else if (!transfer_start(t, addresses, (long)left_ms))
        transfer_finish(t, WOPR_E_NO_MEMORY, "no memory for an outgoing request");
}

static void transfer_begin(struct transfer *t) {
    struct egress *e = t->e;
    t->began_ms = clock_mono_ms();
    list_add_tail(&e->resolving, &t->link);
    int rc = transfer_read_url(t);
    if (rc == 0 && !t->host) {
        transfer_send(t, NULL);
        return;
    }
    if (rc == 0) rc = names_ask(e->names, str_c(t->tenant), t->host, &t->wait);
    if (rc != 0)
        transfer_finish(t, rc,
                        rc == WOPR_E_NO_MEMORY
                            ? "no memory for an outgoing request"
                            : "the host of the URL is no name that can be looked up");
}

static bool begin_waiting(struct egress *e) {
    struct transfer *t;
    while ((t = take_next(e, false)) != NULL) transfer_begin(t);
    pthread_mutex_lock(&e->mu);
    bool stopping = e->stopping;
    pthread_mutex_unlock(&e->mu);
    return !stopping;
}

/* --- names --- */

static void take_names(struct egress *e) {
    struct name_wait *w;
    while ((w = names_take(e->names)) != NULL) {
        struct transfer *t = LIST_ENTRY(w, struct transfer, wait);
        if (w->rc == 0) transfer_send(t, w->text);
        else transfer_finish(t, w->rc, "the name of the host has no address");
    }
}

static uint64_t name_until_ms(const struct transfer *t) {
    int ms = t->e->cfg.connect_timeout_ms;
    return t->began_ms + (uint64_t)(t->timeout_ms < ms ? t->timeout_ms : ms);
}

/* End the transfers whose name took too long.  Returns the milliseconds until the next one is due,
 * at most POLL_MS. */
static int give_names_up(struct egress *e) {
    uint64_t now_ms = clock_mono_ms(), next_ms = now_ms + POLL_MS;
    struct list *l = e->resolving.next;
    while (l != &e->resolving) {
        struct transfer *t = LIST_ENTRY(l, struct transfer, link);
        uint64_t until_ms = name_until_ms(t);
        l = l->next;
        if (until_ms <= now_ms) {
            names_leave(e->names, &t->wait);
            transfer_finish(t, WOPR_E_TIMEOUT, "the look-up of the name took too long");
        } else if (until_ms < next_ms) {
            next_ms = until_ms;
        }
    }
    return (int)(next_ms - now_ms);
}

static void transfers_collect(struct egress *e) {
    CURLMsg *m;
    int left;
    while ((m = curl_multi_info_read(e->multi, &left)) != NULL) {
        struct transfer *t = NULL;
        CURLcode code = m->data.result;
        if (m->msg != CURLMSG_DONE ||
            curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&t) != CURLE_OK || !t)
            continue;
        transfer_finish(t, code_neutral(t, code), code == CURLE_OK ? "" : curl_easy_strerror(code));
    }
}

static void end_list(struct egress *e, struct list *of) {
    while (!list_empty(of)) {
        struct transfer *t = LIST_ENTRY(of->next, struct transfer, link);
        if (of == &e->resolving) names_leave(e->names, &t->wait);
        transfer_finish(t, WOPR_E_CLOSED, "the host is shutting down");
    }
}

static void end_all(struct egress *e) {
    struct transfer *t;
    end_list(e, &e->active);
    end_list(e, &e->resolving);
    while ((t = take_next(e, true)) != NULL)
        transfer_finish(t, WOPR_E_CLOSED, "the host is shutting down");
}

static void *egress_main(void *arg) {
    struct egress *e = arg;
    int running;
    thread_name("egress");
    while (begin_waiting(e)) {
        e->freed = false;
        take_names(e);
        int wait_ms = give_names_up(e);
        (void)curl_multi_perform(e->multi, &running);
        transfers_collect(e);
        if (!e->freed) (void)curl_multi_poll(e->multi, NULL, 0, wait_ms, NULL);
    }
    end_all(e);
    return NULL;
}

static void loop_wake(void *ctx) {
    struct egress *e = ctx;
    (void)curl_multi_wakeup(e->multi);
}

/* --- life --- */

static void config_defaults(struct egress_config *c) {
    if (c->transfers_max == 0) c->transfers_max = TRANSFERS_DEFAULT;
    if (c->queue_max == 0) c->queue_max = QUEUE_DEFAULT;
    if (c->tenant_transfers_max == 0)
        c->tenant_transfers_max = (c->transfers_max + TENANT_PARTS - 1) / TENANT_PARTS;
    if (c->tenant_queue_max == 0)
        c->tenant_queue_max = (c->queue_max + TENANT_PARTS - 1) / TENANT_PARTS;
    if (c->connect_timeout_ms <= 0) c->connect_timeout_ms = CONNECT_MS_DEFAULT;
}

static bool egress_build(struct egress *e) {
    const char *agent = e->cfg.user_agent ? e->cfg.user_agent : "wopr";
    config_defaults(&e->cfg);
    list_init(&e->active);
    list_init(&e->resolving);
    pthread_mutex_init(&e->mu, NULL);
    e->user_agent = mem_strndup(agent, strlen(agent));
    e->multi = curl_multi_init();
    int rc = lanes_init(&e->lanes, e->cfg.tenant_transfers_max, e->cfg.tenant_queue_max);
    e->lanes.all_max = e->cfg.transfers_max;
    return rc == 0 && e->user_agent && e->multi &&
           names_new(e->cfg.lookup, loop_wake, e, &e->names) == 0;
}

int egress_new(const struct egress_config *cfg, struct egress **out, struct wopr_error *err) {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "libcurl cannot be initialised");
    struct egress *e = MEM_NEW(struct egress);
    if (!e) {
        curl_global_cleanup();
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for outgoing requests");
    }
    e->cfg = *cfg;
    if (!egress_build(e)) {
        egress_free(e);
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for outgoing requests");
    }
    *out = e;
    return 0;
}

int egress_start(struct egress *e, struct wopr_error *err) {
    pthread_mutex_lock(&e->mu);
    e->threads_up = pthread_create(&e->thread, NULL, egress_main, e) == 0;
    bool up = e->threads_up;
    pthread_mutex_unlock(&e->mu);
    return up ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no thread for outgoing requests");
}

void egress_stop(struct egress *e) {
    pthread_mutex_lock(&e->mu);
    bool up = e->threads_up;
    e->stopping = true;
    e->threads_up = false;
    pthread_mutex_unlock(&e->mu);
    if (!up) return;
    (void)curl_multi_wakeup(e->multi);
    pthread_join(e->thread, NULL);
}

void egress_free(struct egress *e) {
    if (!e) return;
    egress_stop(e);
    names_close(e->names);
    lanes_fini(&e->lanes);
    if (e->multi) curl_multi_cleanup(e->multi);
    pthread_mutex_destroy(&e->mu);
    mem_free(e->user_agent);
    mem_free(e);
    curl_global_cleanup();
}

const struct egress_allow *egress_allowed(const struct egress *e) { return &e->cfg.allow; }

void egress_stats(struct egress *e, struct egress_stats *out) {
    pthread_mutex_lock(&e->mu);
    *out = e->stats;
    out->active = e->active_nr;
    out->queued = e->lanes.waiting_nr;
    pthread_mutex_unlock(&e->mu);
}
