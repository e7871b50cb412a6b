/* hooks_world.c: see hooks_world.h. */
#define _GNU_SOURCE /* strcasestr */
#include "hooks_world.h"

#include "base/fault.h"
#include "base/mem.h"
#include "store/interrupts.h"
#include "store/upkeep.h"
#include "unit/journal/append_kit.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

enum { CONNS_MAX = 600, GOT_MAX = 20000, RULES_MAX = 64, HEAD_MAX = 4096, KEEP_MAX = 8192 };

struct hooks_world W;
static const struct seal_secret KEK = {{7, 8, 9}};

/* ------------------------------------------------------------------------------ the receiver */
struct conn {
    char head[KEEP_MAX];
    size_t n, want, have; /* bytes of the body */
    bool in_body;
};
static struct receiver {
    int door, port, wake[2];
    pthread_t thread;
    pthread_mutex_t mu;
    struct pollfd fds[CONNS_MAX];
    nfds_t fds_nr;
    struct conn *conns[CONNS_MAX];
    struct rx_got got[GOT_MAX]; /* (mu) */
    size_t got_nr;              /* (mu) */
    struct rule {
        char path[32];
        int act;
    } rules[RULES_MAX]; /* (mu) */
    size_t rules_nr;    /* (mu) */
} rx = {.mu = PTHREAD_MUTEX_INITIALIZER};

static bool path_fits(const char *path, const char *begin) {
    return strncmp(path, begin, strlen(begin)) == 0;
}

void rx_act(const char *path, int act) {
    pthread_mutex_lock(&rx.mu);
    cr_assert_lt(rx.rules_nr, RULES_MAX);
    snprintf(rx.rules[rx.rules_nr].path, sizeof rx.rules->path, "%s", path);
    rx.rules[rx.rules_nr++].act = act;
    pthread_mutex_unlock(&rx.mu);
}

size_t rx_count(const char *path) {
    size_t n = 0;
    pthread_mutex_lock(&rx.mu);
    for (size_t i = 0; i < rx.got_nr; i++) n += path_fits(rx.got[i].path, path);
    pthread_mutex_unlock(&rx.mu);
    return n;
}

bool rx_at(const char *path, size_t i, struct rx_got *out) {
    bool found = false;
    pthread_mutex_lock(&rx.mu);
    for (size_t k = 0; !found && k < rx.got_nr; k++)
        if (path_fits(rx.got[k].path, path) && i-- == 0) {
            *out = rx.got[k];
            found = true;
        }
    pthread_mutex_unlock(&rx.mu);
    return found;
}

bool rx_wait(const char *path, size_t n) {
    for (uint64_t until = world_ms() + WORLD_WAIT_MS; world_ms() < until; world_nap())
        if (rx_count(path) >= n) return true;
    return false;
}

void rx_forget(void) {
    pthread_mutex_lock(&rx.mu);
    rx.got_nr = rx.rules_nr = 0;
    pthread_mutex_unlock(&rx.mu);
}

static int got_add(const struct conn *c) {
    struct rx_got g = {.seq = -1, .bytes = c->want};
    int act = RX_OK;
    const char *run = strstr(c->head, "{\"runId\":\""), *seq = strstr(c->head, "\"sequence\":");
    (void)sscanf(c->head, "POST %31s", g.path);
    if (run) (void)sscanf(run + 10, "%47[^\"]", g.run);
    if (seq) g.seq = strtoll(seq + 11, NULL, 10);
    pthread_mutex_lock(&rx.mu);
    if (rx.got_nr < GOT_MAX) rx.got[rx.got_nr++] = g;
    for (size_t i = 0; i < rx.rules_nr; i++)
        if (path_fits(g.path, rx.rules[i].path)) act = rx.rules[i].act;
    pthread_mutex_unlock(&rx.mu);
    return act;
}

static void answer(int fd, int act) {
    char text[128];
    if (act == RX_HANG) return;
    (void)snprintf(text, sizeof text, "HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n",
                   act == RX_OK ? 204 : act);
    (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* The head and what follows of it are kept; of a long body the rest is only counted. */
static void conn_take(int fd, struct conn *c, const char *p, size_t n) {
    size_t fits = n < KEEP_MAX - 1 - c->n ? n : KEEP_MAX - 1 - c->n;
    memcpy(c->head + c->n, p, fits);
    c->n += fits;
    c->head[c->n] = '\0';
    if (c->in_body) c->have += n;
    const char *end = c->in_body ? NULL : strstr(c->head, "\r\n\r\n");
    if (end) {
        const char *length = strcasestr(c->head, "content-length:");
        c->in_body = true;
        c->want = length ? strtoull(length + 15, NULL, 10) : 0;
        c->have = c->n - (size_t)(end + 4 - c->head) + (n - fits);
    }
    if (!c->in_body || c->have < c->want) return;
    answer(fd, got_add(c));
    memset(c, 0, sizeof *c);
}

static void conn_end(nfds_t i) {
    close(rx.fds[i].fd);
    free(rx.conns[i]);
    rx.fds[i] = rx.fds[rx.fds_nr - 1];
    rx.conns[i] = rx.conns[rx.fds_nr - 1];
    rx.fds_nr--;
}

static void *rx_main(void *arg) {
    static char in[65536];
    while (poll(rx.fds, rx.fds_nr, -1) >= 0 && !rx.fds[1].revents) {
        for (nfds_t i = rx.fds_nr; i-- > 2;) {
            if (!rx.fds[i].revents) continue;
            ssize_t n = recv(rx.fds[i].fd, in, sizeof in, 0);
            if (n <= 0) conn_end(i);
            else conn_take(rx.fds[i].fd, rx.conns[i], in, (size_t)n);
        }
        if (!rx.fds[0].revents || rx.fds_nr == CONNS_MAX) continue;
        int fd = accept(rx.door, NULL, NULL);
        if (fd < 0) continue;
        rx.fds[rx.fds_nr] = (struct pollfd){.fd = fd, .events = POLLIN};
        rx.conns[rx.fds_nr] = calloc(1, sizeof **rx.conns);
        if (!rx.conns[rx.fds_nr++]) abort();
    }
    while (rx.fds_nr > 2) conn_end(rx.fds_nr - 1);
    return arg;
}

static void rx_up(void) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    rx.door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(rx.door, (struct sockaddr *)&a, sizeof a), 0);
    cr_assert_eq(listen(rx.door, 512), 0);
    cr_assert_eq(getsockname(rx.door, (struct sockaddr *)&a, &n), 0);
    rx.port = ntohs(a.sin_port);
    cr_assert_eq(pipe(rx.wake), 0);
    rx.fds[0] = (struct pollfd){.fd = rx.door, .events = POLLIN};
    rx.fds[1] = (struct pollfd){.fd = rx.wake[0], .events = POLLIN};
    rx.fds_nr = 2;
    rx_forget();
    cr_assert_eq(pthread_create(&rx.thread, NULL, rx_main, NULL), 0);
}

static void rx_down(void) {
    cr_assert_eq(write(rx.wake[1], "x", 1), 1);
    (void)pthread_join(rx.thread, NULL);
    close(rx.door);
    close(rx.wake[0]);
    close(rx.wake[1]);
}

/* ------------------------------------------------------------------------------ the world */
uint64_t world_ms(void) { return clock_mono_ms(); }

void world_nap(void) {
    const struct timespec t = {.tv_nsec = 2000000};
    (void)nanosleep(&t, NULL);
}

bool world_patient(uint64_t until_ms, const char *what) {
    cr_assert_lt(world_ms(), until_ms, "never: %s", what);
    return true;
}

static void event_render(struct str run_id, const struct event *e, struct buf *out) {
    (void)run_id;
    buf_addf(out, "{\"sequence\":%lld,\"payload\":", (long long)e->seq);
    buf_adds(out, e->payload);
    buf_addc(out, '}');
}

static int question_render(void *ctx, const struct interrupt_row *row, bool answers,
                           struct arena *a, struct str *out, struct wopr_error *err) {
    (void)ctx;
    *out = arena_printf(a, "{\"interruptId\":\"" STR_FMT "\",\"answers\":%d}",
                        STR_ARG(row->interrupt_id), answers);
    return out->p ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory");
}

void world_up(void) {
    struct egress_config ec = {0};
    bool replaced;
    memset(&W, 0, sizeof W);
    kit_up(&W.k);
    rx_up();
    cr_assert_eq(vault_new(W.k.s, &KEK, 1, &W.v, &replaced, &W.k.err), 0);
    cr_assert_eq(journal_new(W.k.s, NULL, &W.j, &W.k.err), 0);
    cr_assert_eq(journal_start(W.j, &W.k.err), 0);
    cr_assert_eq(egress_allow_parse(STR("127.0.0.1"), &ec.allow, &W.k.err), 0);
    cr_assert_eq(egress_new(&ec, &W.eg, &W.k.err), 0);
    egress_start(W.eg);
    W.cfg = (struct hooks_config){.enabled = true,
                                  .per_tenant_max = 1000,
                                  .attempts_max = 5,
                                  .retry_ms = 10,
                                  .timeout_ms = 60000,
                                  .breaker_s = 3600,
                                  .backlog_max = 100000,
                                  .dead_days = 30,
                                  .sole_host = true,
                                  .call_attempts = 3,
                                  .render = event_render,
                                  .question = question_render,
                                  .version = "0",
                                  .egress = W.eg,
                                  .vault = W.v};
}

int world_start_try(void) {
    int rc = hooks_new(W.j, &W.cfg, &W.h, &W.k.err);
    if (rc == 0) rc = hooks_start(W.h, &W.k.err);
    if (rc == 0) return 0;
    hooks_free(W.h);
    W.h = NULL;
    return rc;
}

void world_start(void) { cr_assert_eq(world_start_try(), 0, "%s", W.k.err.message); }

/* Egress is emptied too: what is under way names the dispatcher. */
void world_stop(void) {
    struct egress_stats st = {.active = 1};
    if (!W.h) return;
    hooks_stop(W.h);
    store_on_hook_move(W.k.s, NULL, NULL);
    egress_stats(W.eg, &st);
    if (st.active + st.queued > 0) egress_stop(W.eg);
    hooks_free(W.h);
    W.h = NULL;
}

void world_down(void) {
    world_stop();
    egress_free(W.eg);
    journal_stop(W.j);
    journal_free(W.j);
    vault_free(W.v);
    rx_down();
    kit_down(&W.k);
}

static void cmd_landed(struct hook_cmd *c) { sem_post(c->ctx); }

static void cmd_do(struct hook_cmd *c) {
    sem_t sem;
    sem_init(&sem, 0, 0);
    c->a = W.k.a;
    c->done = cmd_landed;
    c->ctx = &sem;
    cr_assert_eq(hooks_submit(W.h, c, &W.k.err), 0, "%s", W.k.err.message);
    while (sem_wait(&sem) != 0) continue;
    sem_destroy(&sem);
    cr_assert_eq(c->rc, 0, "%s", c->err.message);
}

const char *world_add(const char *tenant, const char *path, const char *tags) {
    struct hook_cmd c = {.what = HOOK_CMD_ADD,
                         .tenant = str_c(tenant),
                         .events = STR("[\"run.completed\",\"log.appended\"]"),
                         .tags = tags ? str_c(tags) : STR_NONE};
    c.url = arena_printf(W.k.a, "http://127.0.0.1:%d%s", rx.port, path);
    cmd_do(&c);
    return arena_cstr(W.k.a, c.row.webhook_id);
}

void world_remove(const char *tenant, const char *webhook_id) {
    struct hook_cmd c = {
        .what = HOOK_CMD_REMOVE, .tenant = str_c(tenant), .webhook_id = str_c(webhook_id)};
    cmd_do(&c);
}

static int64_t run_create(const char *tenant, const char *run_id, const char *tags) {
    struct plan *p = plan_ref(kit_create(run_id, 0));
    p->create->meta.tenant = arena_str(p->arena, str_c(tenant));
    if (tags) p->create->meta.tags = arena_str(p->arena, str_c(tags));
    cr_assert_eq(append(W.j, p), 0);
    int64_t no = p->run_no;
    plan_unref(p);
    return no;
}

static struct plan *event_plan(int64_t no, unsigned seq, size_t payload_n) {
    struct plan *p = kit_append(no, seq, 0, false);
    kit_events(p, 1, false, payload_n);
    return p;
}

int64_t world_run(const char *tenant, const char *run_id, unsigned n, size_t payload_n) {
    int64_t no = run_create(tenant, run_id, NULL);
    for (unsigned i = 0; i < n; i++) cr_assert_eq(append(W.j, event_plan(no, i, payload_n)), 0);
    return no;
}

int64_t world_run_tagged(const char *tenant, const char *run_id, unsigned n, const char *tags) {
    int64_t no = run_create(tenant, run_id, tags);
    for (unsigned i = 0; i < n; i++) cr_assert_eq(append(W.j, event_plan(no, i, 40)), 0);
    return no;
}

/* One allocation may fail underneath: then the commit is refused, and made again. */
void world_events_armed(int64_t run_no, unsigned n, unsigned nth) {
    struct plan *v[8];
    cr_assert_lt(n, 8u);
    for (unsigned i = 0; i < n; i++) v[i] = event_plan(run_no, i, 40);
    cr_assert(fault_arm(1u << FAULT_MALLOC, nth));
    for (unsigned i = 0; i < n; i++) {
        struct append_done d;
        sem_init(&d.sem, 0, 0);
        int rc = journal_append(W.j, v[i], append_landed, &d);
        if (rc == 0) {
            while (sem_wait(&d.sem) != 0) continue;
            rc = d.rc;
        } else {
            plan_unref(v[i]);
        }
        sem_destroy(&d.sem);
        if (rc != 0) cr_assert_eq(append(W.j, event_plan(run_no, i, 40)), 0);
    }
}

int64_t world_caller(const char *tenant, const char *run_id, const char *path) {
    struct plan *p = plan_ref(kit_create(run_id, 0));
    p->create->meta.tenant = arena_str(p->arena, str_c(tenant));
    p->create->meta.callback_url = arena_printf(p->arena, "http://127.0.0.1:%d%s", rx.port, path);
    p->create->callback_answers = true;
    cr_assert_eq(append(W.j, p), 0);
    int64_t no = p->run_no;
    plan_unref(p);
    return no;
}

static struct plan *ask_plan(int64_t run_no, const char *run_id, unsigned n) {
    struct plan *p = event_plan(run_no, n, 40);
    struct str id = arena_printf(p->arena, "%s-%u", run_id, n);
    const struct plan_interrupt row = {.op = INTR_ROW_OPEN,
                                       .interrupt_id = id,
                                       .node_id = STR("gate"),
                                       .key = id,
                                       .kind = STR("approval"),
                                       .payload = STR("{}"),
                                       .requested_ms = 1700000000000,
                                       .requested_seq = n};
    plan_interrupt(p, &row);
    return p;
}

void world_ask(int64_t run_no, const char *run_id, unsigned n, unsigned armed) {
    struct plan *p = ask_plan(run_no, run_id, n);
    if (armed > 0) cr_assert(fault_arm(1u << FAULT_MALLOC, armed));
    if (append(W.j, p) != 0) cr_assert_eq(append(W.j, ask_plan(run_no, run_id, n)), 0);
}

void world_purge(int64_t run_no, unsigned seq) {
    const int64_t later_ms = 1700000000500 + 86400000;
    int64_t deleted = 0;
    bool more = true;
    cr_assert_eq(append(W.j, kit_append(run_no, seq, 1, true)), 0);
    while (more)
        cr_assert_eq(store_purge_runs(W.k.s, later_ms, later_ms, 10, &deleted, &more, &W.k.err), 0);
}

struct hook_item world_get(const char *tenant, const char *webhook_id) {
    struct hook_item item;
    cr_assert_eq(
        store_hook_get(W.k.s, str_c(tenant), false, str_c(webhook_id), W.k.a, &item, &W.k.err), 0,
        "%s", W.k.err.message);
    return item;
}

struct hook_dead_list world_deads(const char *tenant, const char *webhook_id) {
    struct hook_dead_list l = {.n = 0};
    int64_t no = world_get(tenant, webhook_id).row.hook_no;
    cr_assert_eq(store_hook_dead(W.k.s, no, INT64_MAX, 1000, W.k.a, &l, &W.k.err), 0);
    return l;
}

void world_sql(const char *sql) {
    sqlite3 *db;
    char *why = NULL;
    cr_assert_eq(sqlite3_open_v2(W.k.path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    (void)sqlite3_busy_timeout(db, WORLD_WAIT_MS);
    int rc = sqlite3_exec(db, sql, NULL, NULL, &why);
    cr_assert_eq(rc, SQLITE_OK, "%s", why);
    sqlite3_close(db);
}

int64_t world_count(const char *sql) {
    sqlite3 *db;
    sqlite3_stmt *st;
    cr_assert_eq(sqlite3_open_v2(W.k.path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    (void)sqlite3_busy_timeout(db, WORLD_WAIT_MS);
    cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
    cr_assert_eq(sqlite3_step(st), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(st, 0);
    (void)sqlite3_finalize(st);
    sqlite3_close(db);
    return n;
}
