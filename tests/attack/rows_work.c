/* rows_work.c: texts that cost time, and work on the threads of all: findings S2, S10, S11, S14,
 * F6, F7. */
#include "rows.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BOMBS = 2,          /* one for each worker */
    OPTIONS_MAX = 1024, /* keys of configurable: a run with more is refused */
    BOMB_WAIT_MS = 600000,
    MAKERS = 8,
    LISTERS = 8,
    LIST_ROUNDS = 12,
    OPENERS = 16,
    LONG_RUN_WAIT_MS = 120000,
    EVENTS_A_ROUND = 5,
    PURGE_WAIT_MS = 150000, /* housekeeping comes once a minute */
    DAY_MS = 86400000,
    OUT_WAIT_MS = 15000,
    OUT_BESIDE_MS = 2000, /* of a request that usually takes a few milliseconds */
    HANG_SMALL_MS = 5000,
    HANG_FULL_MS = 8000
};

/* A request of a thread of its own. */
static int apart(struct world *w, const char *key, const char *method, const char *path,
                 struct str body, int wait_ms, char id[ID_BYTES]) {
    struct line l;
    struct str answer;
    line_init(&l, w->host.port, FROM_ATTACKER);
    int status =
        line_ask(&l,
                 &(struct request){
                     .method = method, .path = path, .key = key, .body = body, .wait_ms = wait_ms},
                 &answer);
    if (id != NULL && !(status == 201 && run_id_in(answer, id))) id[0] = '\0';
    line_fini(&l);
    if (status == 0) __atomic_add_fetch(&w->silent, 1, __ATOMIC_RELAXED);
    else if (status < 300) __atomic_add_fetch(&w->served, 1, __ATOMIC_RELAXED);
    else __atomic_add_fetch(&w->refused, 1, __ATOMIC_RELAXED);
    return status;
}

/* --- S2 --- */

static void bomb(struct world *w, const char *piece, const char *between) {
    struct buf b;
    buf_init(&b, 4u << 20);
    buf_addz(&b, "{\"workflowId\":\"attack-hello\",");
    buf_addz(&b, between);
    buf_addz(&b, "\"inputs\":{\"name\":\"");
    fill(&b, piece, w->n);
    buf_addz(&b, "\"}}");
    char id[ID_BYTES];
    (void)apart(w, w->host.alpha, "POST", "/v1/runs", buf_str(&b), BOMB_WAIT_MS, id);
    buf_fini(&b);
    for (int64_t end = now_ms() + BOMB_WAIT_MS; id[0] != '\0' && now_ms() < end; nap_ms(10)) {
        char path[128];
        struct str answer;
        struct line l;
        snprintf(path, sizeof path, "/v1/runs/%s", id);
        line_init(&l, w->host.port, FROM_ATTACKER);
        struct request q = {.method = "GET", .path = path, .key = w->host.alpha};
        bool over = line_ask(&l, &q, &answer) != 200 ||
                    str_eqc(json_get(answer, "status"), "\"completed\"") ||
                    str_eqc(json_get(answer, "status"), "\"failed\"");
        line_fini(&l);
        if (over) break;
    }
}

static void redactor_one(struct world *w, unsigned no) {
    (void)no;
    bomb(w, "eyJ-", "");
}
void attack_redactor(struct world *w) { in_parallel(w, BOMBS, redactor_one); }

static void known_one(struct world *w, unsigned no) { /* a…ab against aaaa… */
    struct buf b;
    (void)no;
    buf_init(&b, 2u << 20);
    buf_addz(&b, "\"configurable\":{\"ai\":{\"credentialRef\":\"");
    fill(&b, "a", w->n / 4);
    buf_addz(&b, "b\"}},");
    bomb(w, "a", buf_str(&b).p);
    buf_fini(&b);
}
void attack_known(struct world *w) { in_parallel(w, BOMBS, known_one); }

static void keys_object(struct buf *b, char letter, size_t n) {
    buf_addz(b, "{");
    for (size_t i = 0; i < n; i++) buf_addf(b, "%s\"%c%zu\":1", i > 0 ? "," : "", letter, i);
    buf_addz(b, "}");
}

static char overlay_source[ID_BYTES];

static void overlay_one(struct world *w, unsigned no) {
    struct buf b;
    char path[128];
    (void)no;
    buf_init(&b, 4u << 20);
    snprintf(path, sizeof path, "/v1/runs/%s:fork", overlay_source);
    buf_addz(&b, "{\"mode\":\"branch\",\"fromSeq\":0,\"runOptionsOverlay\":{\"configurable\":");
    keys_object(&b, 'b', w->n);
    buf_addz(&b, "}}");
    (void)apart(w, w->host.alpha, "POST", path, buf_str(&b), BOMB_WAIT_MS, NULL);
    buf_fini(&b);
}

void attack_overlay(struct world *w) {
    struct buf b;
    buf_init(&b, 4u << 20);
    buf_addz(&b, "\"configurable\":");
    keys_object(&b, 'a', w->n < OPTIONS_MAX ? w->n : OPTIONS_MAX);
    if (alpha_run(w, "attack-options", buf_str(&b).p, overlay_source) &&
        alpha_wait(w, overlay_source, "", LONG_RUN_WAIT_MS))
        in_parallel(w, BOMBS, overlay_one);
    buf_fini(&b);
}

/* --- S14: lists --- */

static const char *made_of; /* workflow */
static size_t made_nr;

static void maker(struct world *w, unsigned no) {
    struct line l;
    char body[128];
    (void)no;
    snprintf(body, sizeof body, "{\"workflowId\":\"%s\"}", made_of);
    line_init(&l, w->host.port, FROM_ATTACKER);
    struct request q = {
        .method = "POST", .path = "/v1/runs", .key = w->host.alpha, .body = str_c(body)};
    for (size_t i = 0; i < made_nr / MAKERS; i++) {
        int status = line_ask(&l, &q, NULL);
        if (status == 201) __atomic_add_fetch(&w->served, 1, __ATOMIC_RELAXED);
        else __atomic_add_fetch(&w->refused, 1, __ATOMIC_RELAXED);
    }
    line_fini(&l);
}

static void make_runs(struct world *w, const char *workflow) {
    made_of = workflow;
    made_nr = w->n;
    in_parallel(w, MAKERS, maker);
}

static void lister(struct world *w, unsigned no) {
    const int rounds = w->full ? 8 * LIST_ROUNDS : LIST_ROUNDS;
    (void)no;
    for (int i = 0; i < rounds; i++)
        (void)apart(w, w->host.alpha, "GET", "/v1/runs?tag=zzz", STR_NONE, 0, NULL);
}

/* Runs of several turns, as fast as they are taken: their turns wait in the queue that beta's wait
 * in, too. */
void attack_run_flood(struct world *w) { make_runs(w, "attack-turns"); }

void attack_tag_listing(struct world *w) {
    make_runs(w, "attack-hello");
    in_parallel(w, LISTERS, lister);
}

/* Beta's list is empty, alpha's waiting runs are many. */
static void foreign_lister(struct world *w, unsigned no) {
    const int rounds = w->full ? 8 * LIST_ROUNDS : LIST_ROUNDS;
    (void)no;
    for (int i = 0; i < rounds; i++)
        (void)apart(w, w->host.beta, "GET", "/v1/host/wopr/interrupts", STR_NONE, 0, NULL);
}

void attack_foreign_interrupts(struct world *w) {
    make_runs(w, "attack-ask");
    in_parallel(w, LISTERS, foreign_lister);
}

/* --- a long log --- */

static bool long_run(struct world *w, char id[ID_BYTES]) {
    char inputs[64];
    snprintf(inputs, sizeof inputs, "\"inputs\":{\"rounds\":%zu}", w->n / EVENTS_A_ROUND);
    return alpha_run(w, "attack-loop", inputs, id) && alpha_wait(w, id, "", LONG_RUN_WAIT_MS);
}

static char long_id[ID_BYTES];

static void opener(struct world *w, unsigned no) {
    char text[512];
    (void)no;
    int n = snprintf(text, sizeof text,
                     "GET /v1/runs/%s/events?streamMode=values&lastEventId=%zu HTTP/1.1\r\n"
                     "Host: attack.test\r\nAccept: text/event-stream\r\n"
                     "Authorization: Bearer %s\r\n\r\n",
                     long_id, w->n - w->n / 10, w->host.alpha);
    for (int i = 0; i < (w->full ? 40 : 8); i++) {
        struct buf b;
        int fd = net_dial(w->host.port, FROM_ATTACKER);
        buf_init(&b, 1 << 20);
        if (fd >= 0 && net_send(fd, text, (size_t)n)) (void)net_read(fd, &b, 30);
        bool ok = b.len > 12 && strncmp(b.p + 9, "200", 3) == 0;
        size_t *count = ok ? &w->served : b.len > 0 ? &w->refused : &w->silent;
        __atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
        net_close(fd, true);
        buf_fini(&b);
    }
}

void attack_values_openers(struct world *w) {
    if (!long_run(w, long_id)) GIVE_UP(w, "no long run");
    in_parallel(w, OPENERS, opener);
}

/* --- F6, F7: conditions that cost much --- */

#define COSTLY_INPUTS "\"inputs\":{\"text\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"}"

void attack_costly_conditions(struct world *w) {
    char(*ids)[ID_BYTES] = mem_array(w->n, sizeof *ids);
    if (ids == NULL) GIVE_UP(w, "no memory");
    for (size_t i = 0; i < w->n; i++)
        if (!alpha_run(w, "attack-costly", COSTLY_INPUTS, ids[i])) wrong(w, "a run is refused");
    for (size_t i = 0; i < w->n; i++)
        if (!alpha_wait(w, ids[i], "completed", LONG_RUN_WAIT_MS)) wrong(w, "a run does not end");
    mem_free(ids);
}

static void costly_reader(struct world *w, unsigned no) {
    char text[512];
    (void)no;
    int n = snprintf(text, sizeof text,
                     "GET /v1/runs/%s/events?streamMode=values HTTP/1.1\r\nHost: attack.test\r\n"
                     "Accept: text/event-stream\r\nAuthorization: Bearer %s\r\n"
                     "Connection: close\r\n\r\n",
                     long_id, w->host.alpha);
    struct buf b;
    int fd = net_dial(w->host.port, FROM_ATTACKER);
    buf_init(&b, 1 << 20);
    if (fd >= 0 && net_send(fd, text, (size_t)n)) (void)net_read(fd, &b, LONG_RUN_WAIT_MS);
    buf_addc(&b, '\0');
    bool whole = !buf_failed(&b) && strstr(b.p, "\"completed\"") != NULL;
    __atomic_add_fetch(whole ? &w->served : &w->silent, 1, __ATOMIC_RELAXED);
    if (!whole) wrong(w, "a stream does not come to its end");
    net_close(fd, false);
    buf_fini(&b);
}

void attack_costly_values(struct world *w) {
    if (!alpha_run(w, "attack-costly", COSTLY_INPUTS, long_id) ||
        !alpha_wait(w, long_id, "completed", LONG_RUN_WAIT_MS))
        GIVE_UP(w, "no run to read");
    in_parallel(w, (unsigned)w->n, costly_reader);
}

/* --- a long log goes --- */

/* The clock goes on by nine days, and the long run is deleted. */
void attack_purge(struct world *w) {
    char id[ID_BYTES], path[300];
    const int64_t later = 9LL * DAY_MS;
    int status = 200;
    if (!long_run(w, id)) GIVE_UP(w, "no long run");
    w->acked.n = 0;
    snprintf(path, sizeof path, "%s/" CLOCK_FILE, w->host.dir);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || pwrite(fd, &later, sizeof later, 0) != (ssize_t)sizeof later)
        wrong(w, "the host's clock cannot be set");
    if (fd >= 0) close(fd);
    snprintf(path, sizeof path, "/v1/runs/%s", id);
    const int64_t from = now_ms();
    while (status == 200 && now_ms() - from < PURGE_WAIT_MS) {
        nap_ms(50);
        status = alpha_ask(w, "GET", path, STR_NONE, NULL);
    }
    w->refused = 0;
    if (status != 404 && status != 410) wrong(w, "the run is not deleted: %d", status);
    note(w, "deleted after %lld ms", (long long)(now_ms() - from));
}

/* --- S11 --- */

void attack_cancelled_replays(struct world *w) {
    char id[ID_BYTES], fork[ID_BYTES], path[128];
    struct str answer;
    size_t broken = 0;
    if (!alpha_run(w, "attack-ask", NULL, id) || !alpha_wait(w, id, "waiting-approval", 5000))
        GIVE_UP(w, "no waiting run");
    for (size_t i = 0; i < w->n; i++) {
        snprintf(path, sizeof path, "/v1/runs/%s:fork", id);
        if (alpha_ask(w, "POST", path, str_c("{\"mode\":\"replay\",\"fromSeq\":0}"), &answer) !=
                201 ||
            !run_id_in(answer, fork))
            continue;
        snprintf(path, sizeof path, "/v1/runs/%s/cancel", fork);
        broken += alpha_ask(w, "POST", path, str_c("{}"), NULL) >= 500;
    }
    if (broken > 0) wrong(w, "%zu of %zu cancels answered 500", broken, w->n);
}

/* --- S10 --- */

/* One that answers at once, for beta. */
struct peer {
    int fd, port;
    atomic_bool stop;
    pthread_t thread;
};

static void *peer_main(void *arg) {
    static const char text[] =
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
    struct peer *p = arg;
    while (!atomic_load(&p->stop)) {
        struct pollfd f = {p->fd, POLLIN, 0};
        char head[4096];
        if (poll(&f, 1, 50) <= 0) continue;
        int fd = accept4(p->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0) continue;
        if (read(fd, head, sizeof head) > 0) (void)!write(fd, text, sizeof text - 1);
        close(fd);
    }
    return NULL;
}

static bool peer_up(struct peer *p) {
    int port = 0, fd = net_listen(&port);
    *p = (struct peer){.fd = fd, .port = port};
    return p->fd >= 0 && pthread_create(&p->thread, NULL, peer_main, p) == 0;
}

static void peer_down(struct peer *p) {
    atomic_store(&p->stop, true);
    pthread_join(p->thread, NULL);
    net_close(p->fd, false);
}

/* Milliseconds of beta's run to the peer, -1 when it did not end. */
static int64_t outside_ms(struct world *w, const struct peer *p) {
    char body[256], id[ID_BYTES], path[128];
    struct str answer;
    const int64_t from = now_ms();
    snprintf(body, sizeof body,
             "{\"workflowId\":\"attack-out\",\"inputs\":{\"url\":\"http://127.0.0.1:%d/\"}}",
             p->port);
    struct request q = {
        .method = "POST", .path = "/v1/runs", .key = w->host.beta, .body = str_c(body)};
    if (line_ask(&w->beta, &q, &answer) != 201 || !run_id_in(answer, id)) return -1;
    snprintf(path, sizeof path, "/v1/runs/%s", id);
    q = (struct request){.method = "GET", .path = path, .key = w->host.beta};
    for (; now_ms() - from < OUT_WAIT_MS; nap_ms(5))
        if (line_ask(&w->beta, &q, &answer) == 200 &&
            str_eqc(json_get(answer, "status"), "\"completed\""))
            return now_ms() - from;
    return -1;
}

static void hang(struct world *w, const char *url, int timeout_ms) {
    struct peer p;
    char inputs[256], id[ID_BYTES];
    if (!peer_up(&p)) GIVE_UP(w, "no peer");
    const int64_t quiet = outside_ms(w, &p);
    snprintf(inputs, sizeof inputs, "\"inputs\":{\"url\":\"%s\",\"timeoutMs\":%d}", url,
             timeout_ms);
    for (size_t i = 0; i < w->n; i++) (void)alpha_run(w, "attack-out", inputs, id);
    nap_ms(timeout_ms < 500 ? 2 * timeout_ms : 100); /* until they hang, and until they give up */
    const int64_t beside = outside_ms(w, &p);
    if (quiet < 0 || beside < 0 || beside > OUT_BESIDE_MS)
        wrong(w, "beta's request to the outside takes %lld ms, quiet %lld", (long long)beside,
              (long long)quiet);
    note(w, "outside %lld -> %lld ms", (long long)quiet, (long long)beside);
    for (size_t i = 0; i < w->acked.n; i++) (void)alpha_wait(w, w->acked.ids[i], "", 60000);
    peer_down(&p);
}

void attack_hanging_transfers(struct world *w) {
    char url[64];
    int port = 0, fd = net_listen(&port); /* accepts in the kernel, says nothing */
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", port);
    hang(w, url, w->full ? HANG_FULL_MS : HANG_SMALL_MS);
    net_close(fd, false);
}

/* A resolver that never answers: the address that the row's resolv.conf names. */
void attack_hanging_names(struct world *w) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(53)};
    a.sin_addr.s_addr = htonl((127u << 24) | 91u);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) != 0)
        wrong(w, "no silent resolver on 127.0.0.91:53");
    else hang(w, "https://never.attack.test/", 200);
    net_close(fd, false);
}
