/*
 * http_world.c: see http_world.h.
 */
#include "http_world.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/json.h"
#include "codec/sse.h"
#include "store/sqlite/sqlite.h"
#include "support/folder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct world W;

/* ------------------------------------------------------------------------------ the wire of the
 * test */

static const struct {
    int code, status;
    const char *name;
} CODES[] = {{WOPR_E_VALIDATION, 400, "validation_error"},
             {WOPR_E_UNAUTHENTICATED, 401, "unauthenticated"},
             {WOPR_E_KEY_EXPIRED, 401, "key_expired"},
             {WOPR_E_KEY_REVOKED, 401, "key_revoked"},
             {WOPR_E_FORBIDDEN, 403, "forbidden"},
             {WOPR_E_NOT_FOUND, 404, "not_found"},
             {WOPR_E_METHOD, 405, "method_not_allowed"},
             {WOPR_E_IDEM_IN_FLIGHT, 409, "idempotency_in_flight"},
             {WOPR_E_IDEM_CONFLICT, 409, "idempotency_key_conflict"},
             {WOPR_E_BODY_TOO_LARGE, 413, "payload_too_large"},
             {WOPR_E_TARGET_TOO_LONG, 414, "validation_error"},
             {WOPR_E_HEAD_TOO_LARGE, 431, "validation_error"},
             {WOPR_E_HEAD_TIMEOUT, 408, "validation_error"},
             {WOPR_E_CODING_UNKNOWN, 501, "not_implemented"},
             {WOPR_E_HTTP_VERSION, 505, "not_implemented"},
             {WOPR_E_MEDIA_TYPE, 415, "unsupported_media_type"},
             {WOPR_E_RATE_LIMITED, 429, "rate_limited"},
             {WOPR_E_UNAVAILABLE, 503, "service_unavailable"},
             {WOPR_E_CLOSED, 503, "service_unavailable"},
             {WOPR_E_VERSION_UNSUPPORTED, 406, "version_unsupported"}};

static void render_error(void *ctx, struct http_call *c, const struct wopr_error *err, int *status,
                         struct str *body, int *retry_after_s) {
    (void)ctx;
    const char *name = "internal_error";
    *status = 500;
    for (size_t i = 0; i < sizeof CODES / sizeof CODES[0]; i++)
        if (CODES[i].code == err->code) *status = CODES[i].status, name = CODES[i].name;
    struct buf b;
    struct jw w;
    buf_init(&b, 8192);
    jw_init(&w, &b);
    jw_object(&w);
    jw_kstrz(&w, "error", name);
    jw_kstrz(&w, "message", err->message);
    if (err->details[0]) jw_kraw(&w, "details", str_c(err->details));
    jw_end_object(&w);
    *body = arena_str(c->arena, buf_str(&b));
    buf_fini(&b);
    *retry_after_s = *status == 503 || *status == 429 ? 7 : 0;
}

static int negotiate(void *ctx, struct str path, struct str version, struct wopr_error *err) {
    (void)ctx, (void)path;
    if (version.n == 0 || version.p[0] == '1') return 0;
    return wopr_error_set(err, WOPR_E_VERSION_UNSUPPORTED, "only major 1 is served");
}

/* HTTP-2: what is neither versioned nor well-known is told so. */
static int unknown_path(void *ctx, struct str path, struct wopr_error *err) {
    char shown[HTTP_PATH_SHOWN_BYTES];
    (void)ctx;
    bool digit = str_starts(path, STR("/v")) && path.n > 2 && path.p[2] >= '0' && path.p[2] <= '9';
    if (digit || str_starts(path, STR("/.well-known/")))
        return wopr_error_set(err, WOPR_E_NOT_FOUND, "no such resource");
    http_path_shown(path, shown);
    (void)wopr_error_set(err, WOPR_E_VALIDATION, "the path has no version prefix");
    wopr_error_details(err, "{\"path\":\"%s\"}", shown);
    return WOPR_E_VALIDATION;
}

/* "good-<tenant>" speaks for that tenant. */
static int authorize(void *ctx, struct http_call *c, struct wopr_error *err) {
    struct str head, tenant;
    (void)ctx;
    if (!str_cut(http_param(c, "token"), '-', &head, &tenant) || !str_eqc(head, "good"))
        return wopr_error_set(err, WOPR_E_NOT_FOUND, "no such interrupt");
    c->who.tenant = tenant;
    return 0;
}

static void wait_open(void) {
    pthread_mutex_lock(&W.lock);
    atomic_fetch_add(&W.waiting, 1);
    while (!W.open) pthread_cond_wait(&W.cond, &W.lock);
    pthread_mutex_unlock(&W.lock);
}

/* Keeps the server's thread, as no real handler may. */
static int on_hold(struct http_call *c) {
    wait_open();
    http_reply(c, 200, STR("{}"));
    return HTTP_DONE;
}
static int on_ping(struct http_call *c) {
    http_reply(c, 200, STR("{\"pong\":true}"));
    return HTTP_DONE;
}

int world_echo(struct http_call *c) {
    atomic_fetch_add(&W.executed, 1);
    http_reply(c, 201, c->body);
    return HTTP_DONE;
}

static int on_show(struct http_call *c) {
    struct buf b;
    struct jw w;
    buf_init(&b, 8192);
    jw_init(&w, &b);
    jw_object(&w);
    jw_kstrz(&w, "op", c->op->id);
    if (c->params_nr > 0) jw_kstr(&w, "id", c->params[0].value);
    if (c->params_nr > 1) jw_kstr(&w, "second", c->params[1].value);
    jw_kstr(&w, "q", http_query(c, "q", NULL));
    jw_kstr(&w, "base", http_base_url(c));
    jw_kstr(&w, "tenant", c->who.tenant);
    jw_kbool(&w, "keyed", c->has_idem);
    jw_end_object(&w);
    http_reply(c, 200, arena_str(c->arena, buf_str(&b)));
    buf_fini(&b);
    return HTTP_DONE;
}

static int on_silent(struct http_call *c) {
    (void)c;
    return HTTP_DONE;
}

static void count_free(void *user) {
    (void)user;
    atomic_fetch_add(&W.freed, 1);
}

static void stored(void *ctx, struct plan *p, int rc) {
    struct http_call *c = ctx;
    http_reply(c, 201, rc == 0 ? STR("{\"made\":1}") : STR("{\"made\":0}"));
    plan_unref(p);
    http_resume(c);
}

/* Held until world_open, then stored under the key (when there is one) and answered from the
 * committer's thread. */
static void *later_main(void *arg) {
    struct http_call *c = arg;
    pthread_mutex_lock(&W.lock);
    while (!W.open) pthread_cond_wait(&W.cond, &W.lock);
    pthread_mutex_unlock(&W.lock);
    if (c->has_idem) {
        struct plan *p = plan_new();
        p->what = PLAN_SIDE;
        p->has_idem = true;
        p->idem = c->idem;
        p->idem.tenant = arena_str(p->arena, c->idem.tenant);
        p->idem.operation_id = arena_str(p->arena, c->idem.operation_id);
        p->idem_response = (struct idem_response){.status = 201, .body = STR("{\"made\":1}")};
        if (journal_append(W.journal, p, stored, c) == 0) return NULL;
        plan_unref(p);
    }
    http_reply(c, 201, STR("{\"made\":1}"));
    http_resume(c);
    return NULL;
}

int world_later(struct http_call *c) {
    pthread_t t;
    if (c->phase > 0) {
        http_reply(c, 200, STR("{\"phase\":1}"));
        return HTTP_DONE;
    }
    atomic_fetch_add(&W.executed, 1);
    c->user = c;
    c->user_free = count_free;
    cr_assert_eq(pthread_create(&t, NULL, later_main, c), 0);
    pthread_detach(t);
    atomic_fetch_add(&W.waiting, 1);
    return HTTP_PENDING;
}

static int64_t number(struct http_call *c, const char *name, int64_t def) {
    bool found;
    int64_t v;
    struct str s = http_query(c, name, &found);
    return found && str_i64(s, &v) ? v : def;
}

static int on_poll(struct http_call *c) {
    if (c->phase > 0) {
        http_reply(c, 200, STR("{\"woken\":true}"));
        return HTTP_DONE;
    }
    atomic_fetch_add(&W.waiting, 1);
    return http_wait_events(c, number(c, "no", 0), number(c, "after", -1), number(c, "ms", 10000));
}

static int on_ticket(struct http_call *c) {
    struct str t;
    int64_t at;
    struct wopr_error err = {0};
    int rc = http_ticket_mint(c, http_param(c, "runId"), number(c, "no", 1), number(c, "ms", 60000),
                              &t, &at, &err);
    if (rc != 0) http_fail(c, &err);
    else http_reply(c, 200, t);
    return HTTP_DONE;
}

static void frame(const void *ctx, struct str run_id, const struct event *e, struct buf *out) {
    (void)ctx, (void)run_id;
    if (e->kind != EV_VARIABLE_CHANGED) sse_frame(out, (uint64_t)e->seq, e->type, e->payload);
}
static void element(const void *ctx, struct str run_id, const struct event *e, struct buf *out) {
    (void)ctx, (void)run_id;
    if (e->kind != EV_VARIABLE_CHANGED) buf_addf(out, "{\"seq\":%lld}", (long long)e->seq);
}
static const struct journal_view FRAMES = {0, frame, NULL}, ELEMENTS = {1, element, NULL};

static int fold(void *state, const struct event *e, bool here, struct buf *out) {
    (void)here;
    int *n = state;
    if (!e) return 0;
    buf_addf(out, "id: %lld\ndata: %d\n\n", (long long)e->seq, ++*n);
    return 0;
}

/* Each event doubles the state. */
static int fold_state(void *state, const struct event *e, bool here, struct buf *out) {
    (void)here;
    size_t *n = state;
    if (!e) return 0;
    *n *= 2;
    buf_addf(out, "id: %lld\ndata: %zu\n\n", (long long)e->seq, *n);
    return 0;
}

/* An answer of n bytes, which the call owns. */
static int on_big(struct http_call *c) {
    size_t n = (size_t)number(c, "n", 0);
    char *p = mem_alloc(n);
    memset(p, 'x', n);
    c->user = p;
    c->user_free = mem_free;
    http_reply(c, 200, str_n(p, n));
    return HTTP_DONE;
}

static void read_long(struct http_call *c) { (void)on_hold(c); }
static int on_long(struct http_call *c) { return http_offload(c, read_long); }

static int on_upload(struct http_call *c) {
    http_reply(c, 200, STR("{}"));
    return HTTP_DONE;
}

static size_t state_bytes(const void *state) { return *(const size_t *)state; }

/* A stream whose state says how large it is. */
static int on_state(struct http_call *c) {
    size_t *n = MEM_NEW(size_t);
    *n = (size_t)number(c, "n", 0);
    struct http_stream s = {.run_no = number(c, "no", 0),
                            .run_id = http_param(c, "runId"),
                            .after_seq = -1,
                            .final = number(c, "final", 0) == 1,
                            .fold = fold_state,
                            .state = n,
                            .state_free = mem_free,
                            .state_bytes = state_bytes};
    http_reply_stream(c, &s);
    return HTTP_DONE;
}

static int fold_end(void *state, const struct event *e, bool here, struct buf *out) {
    (void)state, (void)here;
    if (e && event_is_terminal(e->kind)) buf_addf(out, "id: %lld\n\n", (long long)e->seq);
    return 0;
}

/* Folds that must not run on the thread of a loop.  Elsewhere each event is held until world_open,
 * then shown. */
static int fold_held(void *state, const struct event *e, bool here, struct buf *out) {
    if (!e) return 0;
    atomic_fetch_add(here ? &W.asked_here : &W.turns, 1);
    if (here) return HTTP_FOLD_AGAIN;
    wait_open();
    return fold(state, e, here, out);
}

/* An event needs a thousand turns. */
static int fold_slow(void *state, const struct event *e, bool here, struct buf *out) {
    if (!e) return 0;
    atomic_fetch_add(here ? &W.asked_here : &W.turns, 1);
    if (here || ++*(int *)state % 1000 != 0) return HTTP_FOLD_AGAIN;
    return fold(state, e, here, out);
}

/* It never ends. */
static int fold_endless(void *state, const struct event *e, bool here, struct buf *out) {
    (void)state, (void)here, (void)out;
    if (e) atomic_fetch_add(&W.turns, 1);
    return e ? HTTP_FOLD_AGAIN : 0;
}

static void fold_state_free(void *state) {
    count_free(state);
    mem_free(state);
}

/* &fold=1: every event is shown; 2: the end alone; then those above */
static int (*const FOLDS[])(void *, const struct event *, bool,
                            struct buf *) = {fold, fold_end, fold_held, fold_slow, fold_endless};

static int on_events(struct http_call *c) {
    struct http_stream s = {.run_no = number(c, "no", 0),
                            .run_id = http_param(c, "runId"),
                            .after_seq = number(c, "after", -1),
                            .buffer_ms = (unsigned)number(c, "buf", 0),
                            .quiet_until = number(c, "quiet", -1),
                            .final = number(c, "final", 0) == 1,
                            .none_is_204 = number(c, "none204", 0) == 1,
                            .ended = number(c, "ended", 0) == 1};
    s.view = s.buffer_ms > 0 ? &ELEMENTS : &FRAMES;
    if (number(c, "fold", 0) > 0) {
        s.view = NULL;
        s.fold = FOLDS[number(c, "fold", 0) - 1];
        s.away = number(c, "away", 0) == 1;
        s.state = MEM_NEW(int);
        s.state_free = fold_state_free;
    }
    http_reply_stream(c, &s);
    return HTTP_DONE;
}

static const struct http_op OPS[] = {
    {"discover", "GET", "/.well-known/openwop", 0, OP_PUBLIC | OP_HEAD | OP_ADDRESS_LIMIT, 0,
     on_ping},
    {"ping", "GET", "/v1/ping", 0, OP_PUBLIC, 0, on_ping},
    {"hold", "GET", "/v1/hold", 0, OP_PUBLIC, 0, on_hold},
    {"silent", "GET", "/v1/silent", 0, OP_PUBLIC, 0, on_silent},
    {"echo", "POST", "/v1/echo", SCOPE_RUNS_CREATE, OP_IDEMPOTENT, 1024, world_echo},
    {"later", "POST", "/v1/later", SCOPE_RUNS_CREATE, OP_IDEMPOTENT | OP_BODY_OPTIONAL, 1024,
     world_later},
    {"show", "GET", "/v1/runs/{runId}", SCOPE_RUNS_READ, 0, 0, on_show},
    {"pause", "POST", "/v1/runs/{runId}:pause", SCOPE_RUNS_CANCEL, OP_BODY_OPTIONAL, 1024, on_show},
    {"both", "POST", "/v1/runs/{runId}:fork", SCOPE_RUNS_CREATE | SCOPE_RUNS_READ, OP_BODY_OPTIONAL,
     1024, on_show},
    {"cancel", "POST", "/v1/runs/{runId}/cancel", SCOPE_RUNS_CANCEL, OP_BODY_OPTIONAL, 1024,
     on_show},
    {"events", "GET", "/v1/runs/{runId}/events", SCOPE_RUNS_READ, OP_TICKET, 0, on_events},
    {"big", "GET", "/v1/big", SCOPE_RUNS_READ, 0, 0, on_big},
    {"long", "GET", "/v1/long", SCOPE_RUNS_READ, 0, 0, on_long},
    {"upload", "POST", "/v1/upload", SCOPE_RUNS_CREATE, OP_IDEMPOTENT, 1 << 20, on_upload},
    {"keep", "POST", "/v1/keep", SCOPE_RUNS_CREATE, OP_IDEMPOTENT, 1 << 20, on_hold},
    {"defer", "POST", "/v1/defer", SCOPE_RUNS_CREATE, OP_IDEMPOTENT, 1 << 20, world_later},
    {"state", "GET", "/v1/runs/{runId}/state", SCOPE_RUNS_READ, 0, 0, on_state},
    {"poll", "GET", "/v1/runs/{runId}/events/poll", SCOPE_RUNS_READ, 0, 0, on_poll},
    {"ticket", "POST", "/v1/runs/{runId}/ticket", SCOPE_RUNS_READ, OP_BODY_OPTIONAL, 1024,
     on_ticket},
    {"resolve", "POST", "/v1/runs/{runId}/interrupts/{nodeId}", SCOPE_RUNS_READ, OP_BODY_OPTIONAL,
     1024, on_show},
    {"token", "GET", "/v1/interrupts/{token}", 0, OP_PUBLIC | OP_TOKEN | OP_ADDRESS_LIMIT, 0,
     on_show},
    {"redeem", "POST", "/v1/interrupts/{token}", 0,
     OP_PUBLIC | OP_TOKEN | OP_ADDRESS_LIMIT | OP_IDEMPOTENT, 1024, world_echo},
    {"tell", "POST", "/v1/told/{token}", 0, OP_PUBLIC | OP_TOKEN | OP_ADDRESS_LIMIT, 1 << 20,
     on_upload},
    {"search", "GET", "/v1/packs/-/search", 0, OP_PUBLIC, 0, on_show},
    {"pack", "GET", "/v1/packs/{name}/{part}", 0, OP_PUBLIC, 0, on_show},
};

static const struct http_param HEADERS[] = {{{"OpenWOP-Version", 15}, {"1.0", 3}}};

/* ------------------------------------------------------------------------------ up and down */

static struct str make_key(unsigned scopes, int64_t expires, bool revoked) {
    struct str text;
    struct api_key row;
    struct wopr_error err;
    cr_assert_eq(key_mint(W.store, STR("t1"), STR("w1"), STR("test"), scopes, false, expires,
                          W.arena, &text, &row, &err),
                 0, "%s", err.message);
    cr_assert_eq(store_key_put(W.store, &row, &err), 0, "%s", err.message);
    if (revoked) cr_assert_eq(store_key_revoke(W.store, row.key_id, 1, &err), 0);
    W.key_id = row.key_id;
    return text;
}

void world_up(void (*tweak)(struct http_config *cfg)) { world_up_with(tweak, NULL); }

void world_up_with(void (*tweak)(struct http_config *cfg), const struct http_mount *second) {
    struct wopr_error err = {0};
    char path[288];
    memset(&W, 0, sizeof W);
    pthread_mutex_init(&W.lock, NULL);
    pthread_cond_init(&W.cond, NULL);
    logger_level(LOG_ERROR);
    cr_assert(folder_make(W.dir, sizeof W.dir, "http"));
    snprintf(path, sizeof path, "%s/db", W.dir);
    struct store_config sc = {.path = path, .sync = STORE_SYNC_OFF};
    cr_assert_eq(store_open(&sc, &W.store, &err), 0, "%s", err.message);
    W.arena = arena_new(1 << 20);
    W.key_expired = make_key(SCOPE_ALL, 1000, false);
    W.key_revoked = make_key(SCOPE_ALL, 0, true);
    W.key_poor = make_key(SCOPE_RUNS_CREATE, 0, false);
    W.key = make_key(SCOPE_ALL, 0, false);
    cr_assert_eq(journal_new(W.store, &(struct journal_config){0}, &W.journal, &err), 0, "%s",
                 err.message);
    struct http_config cfg = {.host = "127.0.0.1", .ops_port = -1, .read_timeout_s = 20};
    if (tweak) tweak(&cfg);
    W.mounts[W.mounts_nr++] = (struct http_mount){.name = "test",
                                                  .prefix = "/v1",
                                                  .ops = OPS,
                                                  .ops_nr = sizeof OPS / sizeof OPS[0],
                                                  .views_nr = 2,
                                                  .headers = HEADERS,
                                                  .headers_nr = 1,
                                                  .version_header = "OpenWOP-Version",
                                                  .replay_header = "openwop-Idempotent-Replay",
                                                  .realm = "openwop",
                                                  .cors_expose = "OpenWOP-Version, Retry-After",
                                                  .cors_allow = "Authorization, Idempotency-Key",
                                                  .negotiate = negotiate,
                                                  .unknown_path = unknown_path,
                                                  .authorize = authorize,
                                                  .render_error = render_error};
    if (second) W.mounts[W.mounts_nr++] = *second;
    cr_assert_eq(http_server_new(&cfg, W.mounts, W.mounts_nr, W.journal, &W.server, &err), 0, "%s",
                 err.message);
    cr_assert_eq(journal_start(W.journal, &err), 0, "%s", err.message);
    cr_assert_eq(http_server_start(W.server, &err), 0, "%s", err.message);
}

void world_open(void) {
    pthread_mutex_lock(&W.lock);
    W.open = true;
    pthread_cond_broadcast(&W.cond);
    pthread_mutex_unlock(&W.lock);
}

void world_down(void) {
    char cmd[160];
    world_open();
    if (W.server) http_server_drain(W.server, 2000);
    http_server_free(W.server);
    journal_stop(W.journal);
    journal_free(W.journal);
    store_close(W.store);
    arena_free(W.arena);
    snprintf(cmd, sizeof cmd, "rm -rf %s", W.dir);
    cr_assert_eq(system(cmd), 0);
}

/* ------------------------------------------------------------------------------ seeding */

struct commit_wait {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool done;
    int rc;
    int64_t run_no;
};

static void committed(void *ctx, struct plan *p, int rc) {
    struct commit_wait *w = ctx;
    pthread_mutex_lock(&w->lock);
    w->rc = rc;
    w->run_no = p->run_no;
    w->done = true;
    pthread_cond_signal(&w->cond);
    pthread_mutex_unlock(&w->lock);
    plan_unref(p);
}

static int64_t commit(struct plan *p) {
    struct commit_wait w = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
    cr_assert_eq(journal_append(W.journal, p, committed, &w), 0);
    pthread_mutex_lock(&w.lock);
    while (!w.done) pthread_cond_wait(&w.cond, &w.lock);
    pthread_mutex_unlock(&w.lock);
    cr_assert_eq(w.rc, 0, "commit: %s", wopr_err_name(w.rc));
    return w.run_no;
}

int64_t world_run(const char *run_id) {
    struct plan *p = plan_new();
    p->what = PLAN_CREATE;
    p->run_id = arena_str(p->arena, str_c(run_id));
    p->create = ARENA_NEW(p->arena, struct run_row_new);
    p->create->meta = (struct run_meta){.run_id = p->run_id,
                                        .workflow_id = STR("wf"),
                                        .tenant = STR("t1"),
                                        .workspace = STR("w1"),
                                        .subject = STR("{}"),
                                        .transport = STR("rest"),
                                        .shown_engine_version = 1,
                                        .created_ms = 1000,
                                        .recursion_limit = 100};
    return commit(p);
}

void world_append(int64_t run_no, const char *run_id, int64_t base_seq, const struct seed *v,
                  size_t n) {
    struct plan *p = plan_new();
    p->what = PLAN_RUN;
    p->run_id = arena_str(p->arena, str_c(run_id));
    p->run_no = run_no;
    p->base_seq = base_seq;
    p->has_update = true;
    p->update.status = event_is_terminal(v[n - 1].kind) ? RUN_COMPLETED : RUN_RUNNING;
    p->update.started_ms = 1000;
    p->update.completed_ms = event_is_terminal(v[n - 1].kind) ? 2000 : 0;
    p->events = ARENA_ARRAY(p->arena, struct event, n);
    p->events_nr = p->events_cap = n;
    for (size_t i = 0; i < n; i++)
        p->events[i] = (struct event){
            .seq = base_seq + (int64_t)i,
            .kind = v[i].kind,
            .type = str_c(event_name(v[i].kind)),
            .causation_seq = -1,
            .ts_ms = 1000,
            .schema_version = 1,
            .engine_version = 1,
            .payload = arena_str(p->arena, str_c(v[i].payload ? v[i].payload : "{}"))};
    (void)commit(p);
}
