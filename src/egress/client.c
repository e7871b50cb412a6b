/*
 * client.c: the thread that drives libcurl's multi interface, see egress.h.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "egress/egress_int.h"

#include <stdio.h>

#define TRANSFERS_DEFAULT  256u
#define QUEUE_DEFAULT      ((size_t)256 * 1024 * 1024)
#define TENANT_PARTS       4u /* one tenant's share of places and queue: a quarter */
#define CONNECT_MS_DEFAULT 10000
#define POLL_MS            1000

/* --- from any thread --- */

static void *egress_main(void *arg);

/* The thread and its handle, which a host that asks nobody does without.  e->mu is held. */
static int loop_begin(struct egress *e, struct wopr_error *err) {
    if (e->threads_up || !e->open) return 0;
    if (!e->multi) e->multi = curl_multi_init();
    e->threads_up = e->multi && pthread_create(&e->thread, NULL, egress_main, e) == 0;
    return e->threads_up ? 0
                         : wopr_error_set(err, WOPR_E_NO_MEMORY, "no thread for outgoing requests");
}

static struct str id_key(const uint64_t *id) { return str_n((const char *)id, sizeof *id); }

/* e->mu is held. */
static int transfer_queue(struct egress *e, struct transfer *t, struct wopr_error *err) {
    int rc = lane_join(&e->lanes, str_c(t->tenant), str_c(t->peer), &t->link, &t->lane);
    if (rc == WOPR_E_UNAVAILABLE)
        return wopr_error_set(err, rc, "too many outgoing requests of this tenant wait");
    return rc == 0 ? 0 : wopr_error_set(err, rc, "no memory for an outgoing request");
}

/* e->mu is held. */
static int transfer_admit(struct egress *e, struct transfer *t, uint64_t *id,
                          struct wopr_error *err) {
    int rc = loop_begin(e, err);
    if (rc != 0) return rc;
    if (!e->open) return wopr_error_set(err, WOPR_E_CLOSED, "the host is shutting down");
    if (e->lanes.waiting + t->bytes > e->cfg.queue_bytes_max)
        return wopr_error_set(err, WOPR_E_UNAVAILABLE, "too many outgoing requests wait");
    t->id = ++e->last_id;
    if (id && map_put(e->by_id, id_key(&t->id), t, NULL) != 0)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for an outgoing request");
    rc = transfer_queue(e, t, err);
    if (rc != 0) (void)map_del(e->by_id, id_key(&t->id));
    else if (id) *id = t->id;
    return rc;
}

int egress_submit(struct egress *e, const struct egress_request *req, egress_done_fn *done,
                  void *ctx, struct wopr_error *err) {
    struct transfer *t;
    int rc = transfer_new(e, req, &t, err);
    if (rc != 0) return rc;
    t->done = done;
    t->ctx = ctx;
    pthread_mutex_lock(&e->mu);
    rc = transfer_admit(e, t, req->id, err);
    if (rc == 0) e->stats.started++;
    pthread_mutex_unlock(&e->mu);
    if (rc == 0) (void)curl_multi_wakeup(e->multi);
    else transfer_free(t);
    return rc;
}

static void client_wish(struct egress *e, uint64_t id, bool cancel) {
    pthread_mutex_lock(&e->mu);
    struct transfer *t = map_get(e->by_id, id_key(&id));
    if (t) {
        t->cancelled = t->cancelled || cancel;
        list_del(&t->wish_link);
        list_add_tail(&e->wishes, &t->wish_link);
    }
    pthread_mutex_unlock(&e->mu);
    if (t) (void)curl_multi_wakeup(e->multi);
}

void egress_cancel(struct egress *e, uint64_t id) { client_wish(e, id, true); }
void egress_continue(struct egress *e, uint64_t id) { client_wish(e, id, false); }

/* --- on the thread --- */

static int code_neutral(const struct transfer *t, CURLcode code) {
    if (t->too_big) return WOPR_E_TOO_BIG;
    if (t->stopped) return WOPR_E_CLOSED;
    if (t->no_memory) return WOPR_E_NO_MEMORY;
    if (t->enough) return 0;
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

static struct str header_of(const struct transfer *t) {
    struct curl_header *h = NULL;
    CURLHcode code = curl_easy_header(t->easy, t->keep, 0, CURLH_HEADER, -1, &h);
    return code == CURLHE_OK && h->amount == 1 ? str_c(h->value) : STR_NONE;
}

static void outcome_tell(struct transfer *t, int rc, const char *why) {
    struct egress_response r = {.rc = rc, .untouched = !t->hopped, .message = why};
    if (t->easy) {
        long status = 0, sent = 0;
        curl_off_t retry_after = 0;
        const char *type = NULL;
        (void)curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
        (void)curl_easy_getinfo(t->easy, CURLINFO_REQUEST_SIZE, &sent);
        (void)curl_easy_getinfo(t->easy, CURLINFO_CONTENT_TYPE, &type);
        r.untouched = sent == 0 && !t->hopped;
        r.status = rc == 0 || rc == WOPR_E_TOO_BIG ? (int)status : 0;
        (void)curl_easy_getinfo(t->easy, CURLINFO_RETRY_AFTER, &retry_after);
        r.retry_after_s = retry_after;
        r.content_type = rc == 0 && type ? str_c(type) : STR_NONE;
        if (rc == 0 && t->keep) r.kept = header_of(t);
    }
    if (rc == 0) r.body = buf_str(&t->answer);
    t->done(t->ctx, &r);
}

/* e->mu is held. */
static void outcome_count(struct egress *e, const struct transfer *t, int rc) {
    if (rc == 0) e->stats.answered++;
    else if (rc == WOPR_E_EGRESS_REFUSED) e->stats.refused++;
    else e->stats.failed++;
    if (rc == 0) e->stats.by_caller[t->caller].answered++;
    else e->stats.by_caller[t->caller].failed++;
}

/* Release the place, or leave the queue.  e->mu is held. */
static void place_leave(struct egress *e, struct transfer *t) {
    if (!t->placed) {
        if (t->lane) lane_quit(&e->lanes, t->lane, &t->link);
        t->lane = NULL;
        return;
    }
    e->active_nr--;
    t->placed = false;
    lane_leave(&e->lanes, t->lane);
    t->lane = NULL;
    list_del(&t->link);
}

/* Report the outcome to the owner, release the place, free the transfer. */
static void transfer_finish(struct transfer *t, int rc, const char *why) {
    struct egress *e = t->e;
    if (rc == WOPR_E_EGRESS_REFUSED) {
        if (!why) why = "the address of the URL lies in a private or reserved network";
        refusal_log(e);
    }
    outcome_tell(t, rc, why ? why : "");
    pthread_mutex_lock(&e->mu);
    place_leave(e, t);
    outcome_count(e, t, rc);
    (void)map_del(e->by_id, id_key(&t->id));
    list_del(&t->wish_link);
    pthread_mutex_unlock(&e->mu);
    e->freed = true;
    if (t->easy) (void)curl_multi_remove_handle(e->multi, t->easy);
    transfer_free(t);
}

/* On to where the answer points: it waits for a place there like a first request. */
static void transfer_go_on(struct transfer *t) {
    struct egress *e = t->e;
    struct wopr_error err;
    const char *why = "";
    (void)curl_multi_remove_handle(e->multi, t->easy);
    int rc = transfer_hop(t, &why);
    if (rc == 0) {
        pthread_mutex_lock(&e->mu);
        place_leave(e, t);
        rc = transfer_queue(e, t, &err);
        e->stats.redirects++;
        pthread_mutex_unlock(&e->mu);
        e->freed = true;
        why = err.message;
    }
    if (rc != 0) transfer_finish(t, rc, why);
}

/* The next waiting transfer that may have a place; any: whatever the bounds, when stopping. */
static struct transfer *take_next(struct egress *e, bool any) {
    struct list *l = NULL;
    pthread_mutex_lock(&e->mu);
    if (any) l = lane_take_any(&e->lanes);
    else if (!e->stopping && e->active_nr < e->cfg.transfers_max) l = lane_take(&e->lanes);
    struct transfer *t = l ? LIST_ENTRY(l, struct transfer, link) : NULL;
    if (t) e->active_nr++;
    if (t) t->placed = true;
    pthread_mutex_unlock(&e->mu);
    return t;
}

static void transfer_send(struct transfer *t, const char *addresses) {
    int64_t left_ms = t->timeout_ms - (int64_t)(clock_mono_ms() - t->began_ms);
    list_del(&t->link);
    list_add_tail(&t->e->active, &t->link);
    if (left_ms < 1) transfer_finish(t, WOPR_E_TIMEOUT, "the time of the request is over");
    else if (!transfer_start(t, addresses, (long)left_ms)) {
        if (t->refused) transfer_finish(t, WOPR_E_EGRESS_REFUSED, NULL);
        else transfer_finish(t, WOPR_E_NO_MEMORY, "no memory for an outgoing request");
    }
}

static void transfer_begin(struct transfer *t) {
    struct egress *e = t->e;
    if (!t->hopped) t->began_ms = clock_mono_ms();
    t->asked_ms = clock_mono_ms();
    list_add_tail(&e->resolving, &t->link);
    int rc = t->url_rc;
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
    uint64_t own_ms = t->began_ms + (uint64_t)t->timeout_ms, look_ms = t->asked_ms + (uint64_t)ms;
    return own_ms < look_ms ? own_ms : look_ms;
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
        if (!t->stopped && !t->too_big && (code == CURLE_OK || code == CURLE_WRITE_ERROR) &&
            transfer_redirects(t)) {
            transfer_go_on(t);
            continue;
        }
        int rc = code_neutral(t, code);
        const char *why = code == CURLE_OK ? "" : curl_easy_strerror(code);
        if (rc == WOPR_E_TOO_BIG) why = "its body is longer than the request allows";
        transfer_finish(t, rc, rc == WOPR_E_EGRESS_REFUSED ? NULL : why);
    }
}

/* --- wishes of other threads --- */

static struct transfer *wish_take(struct egress *e, bool *cancel) {
    pthread_mutex_lock(&e->mu);
    struct list *l = list_pop(&e->wishes);
    struct transfer *t = l ? LIST_ENTRY(l, struct transfer, wish_link) : NULL;
    if (t) *cancel = t->cancelled;
    pthread_mutex_unlock(&e->mu);
    return t;
}

static void wishes_grant(struct egress *e) {
    struct transfer *t;
    bool cancel = false;
    while ((t = wish_take(e, &cancel)) != NULL) {
        if (cancel) {
            if (!t->easy) names_leave(e->names, &t->wait);
            transfer_finish(t, WOPR_E_CLOSED, "the request was cancelled");
        } else if (t->easy) {
            (void)curl_easy_pause(t->easy, CURLPAUSE_CONT);
        }
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
        wishes_grant(e);
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

static size_t transfer_weight(const struct list *item) {
    return LIST_ENTRY(item, struct transfer, link)->bytes;
}

static void config_defaults(struct egress_config *c) {
    if (c->transfers_max == 0) c->transfers_max = TRANSFERS_DEFAULT;
    if (c->queue_bytes_max == 0) c->queue_bytes_max = QUEUE_DEFAULT;
    if (c->tenant_transfers_max == 0)
        c->tenant_transfers_max = (c->transfers_max + TENANT_PARTS - 1) / TENANT_PARTS;
    if (c->tenant_queue_bytes_max == 0)
        c->tenant_queue_bytes_max = c->queue_bytes_max / TENANT_PARTS;
    if (c->peer_transfers_max == 0) c->peer_transfers_max = (c->transfers_max + 1) / 2;
    if (c->connect_timeout_ms <= 0) c->connect_timeout_ms = CONNECT_MS_DEFAULT;
}

static bool text_copy(const char *text, char **out) {
    if (text && *text) *out = mem_strndup(text, strlen(text));
    return !text || !*text || *out;
}

static bool egress_build(struct egress *e) {
    const char *agent = e->cfg.user_agent ? e->cfg.user_agent : "wopr";
    config_defaults(&e->cfg);
    list_init(&e->active);
    list_init(&e->resolving);
    list_init(&e->wishes);
    e->by_id = map_new();
    pthread_mutex_init(&e->mu, NULL);
    e->user_agent = mem_strndup(agent, strlen(agent));
    int rc = lanes_init(&e->lanes, e->cfg.tenant_transfers_max, e->cfg.tenant_queue_bytes_max);
    e->lanes.weight = transfer_weight;
    e->lanes.all_max = e->cfg.transfers_max;
    e->lanes.peer_max = e->cfg.peer_transfers_max;
    bool copied = text_copy(e->cfg.proxy, &e->proxy) && text_copy(e->cfg.ca_file, &e->ca_file) &&
                  text_copy(e->cfg.proxy_user, &e->proxy_user);
    return rc == 0 && copied && e->by_id && e->user_agent &&
           names_new(e->cfg.lookup, loop_wake, e, &e->names) == 0;
}

int egress_new(const struct egress_config *cfg, struct egress **out, struct wopr_error *err) {
    struct egress *e = MEM_NEW(struct egress);
    if (!e) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for outgoing requests");
    e->cfg = *cfg;
    if (!egress_build(e)) {
        egress_free(e);
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for outgoing requests");
    }
    *out = e;
    return 0;
}

void egress_start(struct egress *e) {
    pthread_mutex_lock(&e->mu);
    e->open = true;
    pthread_mutex_unlock(&e->mu);
}

void egress_stop(struct egress *e) {
    pthread_mutex_lock(&e->mu);
    bool up = e->threads_up;
    e->stopping = true;
    e->threads_up = e->open = false;
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
    map_free(e->by_id);
    mem_free(e->user_agent);
    mem_free(e->proxy);
    mem_free(e->proxy_user);
    mem_free(e->ca_file);
    mem_free(e);
}

const struct egress_allow *egress_allowed(const struct egress *e) { return &e->cfg.allow; }

void egress_stats(struct egress *e, struct egress_stats *out) {
    pthread_mutex_lock(&e->mu);
    *out = e->stats;
    out->active = e->active_nr;
    out->queued = e->lanes.waiting_nr;
    out->peers_full = e->lanes.full_nr;
    pthread_mutex_unlock(&e->mu);
}
