/*
 * worker.c: one worker as a process of its own.  It claims, heartbeats, completes, fails, asks and
 * emits through whichever host answers; it hangs up on its claims, forgets tasks, answers when
 * their leases have long run out, and kills itself where that hurts: behind a claim, behind the
 * effect, while an answer is on its way.  What it did is in its journal (journal.c), which outlives
 * it.
 *
 * usage: chaos_worker PORTS JOURNAL NUMBER SEED HARM
 * PORTS: a mapped file, one port per host, 0 = down.  HARM: 0 = it only works.  SIGTERM: it says
 * what it still owes, and ends.
 */
#include "base/arena.h"
#include "base/clock.h"
#include "base/mem.h"
#include "codec/json.h"
#include "integration/client.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    HOSTS = 3,
    LATE_MAX = 16,
    WORD_TRIES = 400,
    ASK_WAIT_MS = 3000,
    HANG_UP_MS = 60,
    GONE_MS_MAX = 30, /* it dies so long after a request, answered or not */
    PATH_BYTES = 160,
    CLAIM_BYTES = 1 << 20,
    TOKEN_BYTES = 96
};

struct lease {
    char run[64], task[64], node[16], key[80];
    int epoch, attempt;
    bool clear, asks;
};
static const volatile int *ports;
static int journal;
static unsigned number;
static uint64_t rng;
static bool harms;
static struct lease late[LATE_MAX]; /* forgotten; answered some day */
static int late_nr;
static volatile sig_atomic_t over;

/* Of the harness that client.c belongs to. */
int64_t now_ms(void);
int64_t now_ms(void) { return (int64_t)clock_mono_ms(); }

static void nap(int ms) {
    struct timespec t = {ms / 1000, (ms % 1000) * 1000000L};
    nanosleep(&t, NULL);
}

static bool dice(uint64_t one_in) { return harms && client_chance(&rng, one_in) == 0; }

static void die_maybe(uint64_t one_in) {
    if (dice(one_in)) (void)raise(SIGKILL);
}

/* One write is one record, whole or absent; " ;" tells which. */
static void record(const char *f, ...) __attribute__((format(printf, 1, 2)));
static void record(const char *f, ...) {
    char line[1024];
    va_list ap;
    va_start(ap, f);
    int n = vsnprintf(line, sizeof line - 4, f, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= sizeof line - 4) n = 0;
    memcpy(line + n, " ;\n", 3);
    if (write(journal, line, (size_t)n + 3) != n + 3) abort();
}

static void wrong(const char *what, const char *path, const char *got) {
    record("wrong %.120s %.300s %.300s", path, what, got);
}

static int port_any(void) {
    unsigned from = (unsigned)client_chance(&rng, HOSTS);
    for (unsigned i = 0; i < HOSTS; i++) {
        int port = ports[(from + i) % HOSTS];
        if (port != 0) return port;
    }
    return 0;
}

/* --- words --- */

static bool refused_well(const char *verb, long status, const char *out) {
    if (status != 409) return false;
    if (strstr(out, "\"task_lease_lost\"") && strstr(out, "\"state\"") && strstr(out, "\"epoch\""))
        return true;
    return strcmp(verb, "emit") == 0 && strstr(out, "\"conflict\""); /* of a paused run */
}

/* Until a host answered; the status, 0: none did. */
static long say(const struct lease *t, const char *verb, const char *more) {
    char path[PATH_BYTES], body[512], answer[4096], *out;
    snprintf(path, sizeof path, "/v1/host/wopr/tasks/%s:%s", t->task, verb);
    snprintf(body, sizeof body, "{\"epoch\":%d%s}", t->epoch, more);
    bool dies = dice(24);
    for (int i = 0; i < WORD_TRIES; i++) {
        int port = port_any(), wait = dies ? (int)client_chance(&rng, GONE_MS_MAX) : ASK_WAIT_MS;
        int64_t sent_ms = now_ms();
        long status = port == 0 ? 0
                                : client_ask(port, "POST", path, NULL, body, wait, answer,
                                             sizeof answer, &out);
        if (dies && port != 0) (void)raise(SIGKILL);
        if (status == 0 || status == 429 || status >= 500) {
            nap(20);
            continue;
        }
        record("said %s %s %d %ld %lld", verb, t->task, t->epoch, status, (long long)sent_ms);
        if (status != 200 && !refused_well(verb, status, out)) wrong(body, path, out);
        return status;
    }
    return 0;
}

static void token_of(const struct lease *t, char out[TOKEN_BYTES]) {
    snprintf(out, TOKEN_BYTES, "%s:%d:%u", t->task, t->epoch, number);
}

static void complete(const struct lease *t) {
    char more[160], token[TOKEN_BYTES];
    token_of(t, token);
    snprintf(more, sizeof more, ",\"output\":{\"by\":\"%s\"}", token);
    if (say(t, "complete", more) == 200 && client_chance(&rng, 4) == 0 &&
        say(t, "complete", more) != 200) /* as if the answer had been lost */
        wrong("a word that was heard is not heard again", t->task, more);
}

static void emit(const struct lease *t) {
    char more[200], token[TOKEN_BYTES];
    token_of(t, token);
    snprintf(more, sizeof more, ",\"number\":1,\"chunks\":[{\"text\":\"%s\"}]", token);
    record("emits %s %d", t->task, t->epoch);
    for (int i = 0; i < 2; i++) (void)say(t, "emit", more);
}

static void ask_person(const struct lease *t) {
    (void)say(t, "ask",
              ",\"kind\":\"approval\",\"data\":{\"artifactId\":\"a\",\"artifactType\":"
              "\"t\",\"title\":\"?\",\"actions\":[\"accept\",\"reject\"]}");
}

static void act(const struct lease *t) { /* what the world outside sees of it */
    record("effect %s %d", t->task, t->epoch);
    die_maybe(20);
}

static void finish(const struct lease *t) {
    act(t);
    if (t->asks) ask_person(t);
    else complete(t);
}

static bool misbehaves(const struct lease *t) {
    if (!harms) return false;
    switch (client_chance(&rng, 12)) {
    case 0:
        (void)raise(SIGKILL);
        return true;
    case 1:
        if (late_nr < LATE_MAX && !t->asks) late[late_nr++] = *t;
        return true;
    case 2: /* beyond its lease */
        nap(1100 + (int)client_chance(&rng, 900));
        return false;
    case 3:
        (void)say(t, "fail", ",\"error\":{\"code\":\"dice\",\"message\":\"m\"}");
        return true;
    case 4:
    case 5:
        emit(t);
        return false;
    case 6:
        (void)say(t, "heartbeat", ",\"leaseMs\":2000");
        die_maybe(3);
        return false;
    default:
        return false;
    }
}

/* --- claims --- */

static void text_copy(struct str json, const char *name, char *out, size_t size, struct arena *a) {
    struct str s = json_string(json_get(json, name), a);
    snprintf(out, size, STR_FMT, STR_ARG(s));
}

static void lease_read(struct str json, struct arena *a, struct lease *t) {
    struct str type = json_string(json_get(json, "typeId"), a);
    struct str input = json_string(json_get(json_get(json, "input"), "token"), a);
    int64_t epoch = 0, attempt = -1;
    *t = (struct lease){.clear = str_starts(input, STR("chaos-canary-"))};
    text_copy(json, "runId", t->run, sizeof t->run, a);
    text_copy(json, "taskId", t->task, sizeof t->task, a);
    text_copy(json, "nodeId", t->node, sizeof t->node, a);
    text_copy(json, "idempotencyKey", t->key, sizeof t->key, a);
    (void)json_int(json_get(json, "epoch"), &epoch);
    (void)json_int(json_get(json, "attempt"), &attempt);
    t->epoch = (int)epoch;
    t->attempt = (int)attempt;
    t->asks = str_eqc(type, "chaos.ask") && str_eqc(json_get(json, "answers"), "[]");
    record("lease %s %s %s %d %d %s %d %lld", t->run, t->task, t->node, t->epoch, t->attempt,
           t->key, t->clear, (long long)now_ms());
}

static void tasks_take(struct str answer, struct arena *a) {
    struct json_elements l = {0};
    struct wopr_error err;
    if (json_elements(json_get(answer, "tasks"), a, &l, &err) != 0)
        wrong("an answer that cannot be read", "claim", err.message);
    struct lease *v = ARENA_ARRAY(a, struct lease, l.n + 1);
    if (!v) abort();
    for (size_t i = 0; i < l.n; i++) lease_read(l.v[i], a, &v[i]);
    for (size_t i = 0; i < l.n; i++)
        if (!misbehaves(&v[i])) finish(&v[i]);
}

static void claim(char *answer, struct arena *a) {
    char body[200], *out;
    bool hangs_up = dice(12), dies = dice(60);
    int port = port_any(), wait_ms = hangs_up || dies ? HANG_UP_MS : ASK_WAIT_MS;
    snprintf(body, sizeof body,
             "{\"types\":[\"chaos.step\",\"chaos.ask\"],\"max\":%d,\"leaseMs\":%d,\"waitMs\":500}",
             1 + (int)client_chance(&rng, 3), 1000 + (int)client_chance(&rng, 1000));
    long status = port == 0 ? 0
                            : client_ask(port, "POST", "/v1/host/wopr/tasks:claim", NULL, body,
                                         wait_ms, answer, CLAIM_BYTES, &out);
    if (dies) (void)raise(SIGKILL);
    if (status == 200) {
        tasks_take(str_c(out), a);
        return;
    }
    if (status >= 400 && status < 500 && status != 429) wrong(body, "claim", out);
    nap(20);
}

static void over_set(int signal_nr) {
    (void)signal_nr;
    over = 1;
}

static void ports_map(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) exit(2);
    void *at = mmap(NULL, HOSTS * sizeof(int), PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) exit(2);
    ports = at;
    close(fd);
}

int main(int argc, char **argv) {
    if (argc != 6) return 2;
    ports_map(argv[1]);
    journal = open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (journal < 0) return 2;
    number = (unsigned)strtoul(argv[3], NULL, 10);
    rng = strtoull(argv[4], NULL, 10) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    harms = argv[5][0] == '1';
    (void)signal(SIGTERM, over_set);
    char *answer = mem_alloc(CLAIM_BYTES);
    struct arena *a = arena_new(16u << 20);
    if (!answer || !a) return 2;
    while (!over) {
        claim(answer, a);
        if (late_nr > 0 && client_chance(&rng, 8) == 0) finish(&late[--late_nr]);
        arena_reset(a);
    }
    while (late_nr > 0) finish(&late[--late_nr]);
    arena_free(a);
    mem_free(answer);
    return 0;
}
