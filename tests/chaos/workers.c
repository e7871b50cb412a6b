/*
 * workers.c: workers that claim, heartbeat, complete, fail, ask and emit through whichever host
 * answers, and die in the middle of it, as far as a host can tell: they hang up on their claims,
 * forget tasks, or answer when their leases have long run out (WRK-10 to WRK-23).
 */
#include "world.h"

#include "base/mem.h"
#include "codec/json.h"

#include <stdio.h>

enum {
    WORKERS = 3,
    TASKS_MAX = 60000, /* of one worker */
    LATE_MAX = 16,
    WORD_TRIES = 200,
    HANG_UP_MS = 60,
    PATH_BYTES = 160,
    CLAIM_BYTES = 1 << 20,
    TOKEN_BYTES = 80
};

struct taken { /* a lease */
    char run[ID_BYTES], task[ID_BYTES], node[16];
    int epoch;
    bool clear;     /* its input was there, and clear */
    bool completed; /* a host said so */
    bool emitted;
};
struct worker {
    unsigned no;
    uint64_t rng;
    pthread_t thread;
    struct taken *taken;
    int taken_nr;
    int late[LATE_MAX]; /* leases that it forgot, and answers some day */
    int late_nr;
    unsigned refused; /* answers of leases that were over */
    unsigned asked, failed;
    char wrong[1024];
};
static struct worker workers[WORKERS];
static atomic_bool workers_over;

static void wrong(struct worker *w, const char *what, const char *path, const char *got) {
    if (w->wrong[0] == '\0')
        snprintf(w->wrong, sizeof w->wrong, "worker %u, %.160s: %.300s: %.300s", w->no, path, what,
                 got);
}

static void token_of(const struct worker *w, const struct taken *t, char out[TOKEN_BYTES]) {
    snprintf(out, TOKEN_BYTES, "%s:%d:%u", t->task, t->epoch, w->no);
}

/* --- words --- */

/* Until a host answered; the status, 0: none did. */
static long word_say(struct worker *w, const struct taken *t, const char *verb, const char *more) {
    char path[PATH_BYTES], body[512], answer[4096], *out;
    snprintf(path, sizeof path, "/v1/host/wopr/tasks/%s:%s", t->task, verb);
    snprintf(body, sizeof body, "{\"epoch\":%d%s}", t->epoch, more);
    for (int i = 0; i < WORD_TRIES; i++) {
        int port = hosts_port(&w->rng);
        long status = port == 0 ? 0
                                : client_ask(port, "POST", path, NULL, body, ASK_WAIT_MS, answer,
                                             sizeof answer, &out);
        if (status == 0 || status == 429 || status >= 500) {
            nap_ms(20);
            continue;
        }
        if (status == 409 && strstr(out, "task_lease_lost")) w->refused++;
        else if (status != 200 && !(status == 409 && strstr(out, "\"conflict\"")))
            wrong(w, body, path, out);
        return status;
    }
    return 0;
}

static void complete(struct worker *w, struct taken *t) {
    char more[160], token[TOKEN_BYTES];
    token_of(w, t, token);
    snprintf(more, sizeof more, ",\"output\":{\"by\":\"%s\"}", token);
    t->completed = word_say(w, t, "complete", more) == 200;
    if (t->completed && client_chance(&w->rng, 4) == 0 &&
        word_say(w, t, "complete", more) != 200) /* as if the answer had been lost */
        wrong(w, "a word that was heard is not heard again", t->task, more);
}

static void emit(struct worker *w, struct taken *t) {
    char more[200], token[TOKEN_BYTES];
    token_of(w, t, token);
    snprintf(more, sizeof more, ",\"number\":1,\"chunks\":[{\"text\":\"%s\"}]", token);
    for (int i = 0; i < 2; i++) t->emitted |= word_say(w, t, "emit", more) == 200;
}

static void fail(struct worker *w, struct taken *t) {
    w->failed += word_say(w, t, "fail", ",\"error\":{\"code\":\"dice\",\"message\":\"m\"}") == 200;
}

static void ask_person(struct worker *w, struct taken *t) {
    w->asked += word_say(w, t, "ask",
                         ",\"kind\":\"approval\",\"data\":{\"artifactId\":\"a\",\"artifactType\":"
                         "\"t\",\"title\":\"?\",\"actions\":[\"accept\",\"reject\"]}") == 200;
}

static void late_keep(struct worker *w, int taken) {
    if (w->late_nr < LATE_MAX) w->late[w->late_nr++] = taken;
}

static void work(struct worker *w, int at, bool asks) {
    struct taken *t = &w->taken[at];
    switch (client_chance(&w->rng, 12)) {
    case 0: /* killed */
        return;
    case 1:
        late_keep(w, at);
        return;
    case 2: /* beyond its lease */
        nap_ms(1100 + (int)client_chance(&w->rng, 900));
        break;
    case 3:
        fail(w, t);
        return;
    case 4:
    case 5:
        emit(w, t);
        break;
    case 6:
        (void)word_say(w, t, "heartbeat", ",\"leaseMs\":2000");
        break;
    default:
        break;
    }
    if (asks) ask_person(w, t);
    else complete(w, t);
}

/* --- claims --- */

static void text_copy(struct str json, const char *name, char *out, size_t size, struct arena *a) {
    struct str s = json_string(json_get(json, name), a);
    snprintf(out, size, STR_FMT, STR_ARG(s));
}

static void task_take(struct worker *w, struct str json, struct arena *a) {
    struct taken *t = &w->taken[w->taken_nr];
    struct str type = json_string(json_get(json, "typeId"), a);
    struct str input = json_string(json_get(json_get(json, "input"), "token"), a);
    int64_t epoch = 0;
    if (w->taken_nr == TASKS_MAX) return;
    *t = (struct taken){.clear = str_starts(input, STR(CANARY))};
    text_copy(json, "runId", t->run, sizeof t->run, a);
    text_copy(json, "taskId", t->task, sizeof t->task, a);
    text_copy(json, "nodeId", t->node, sizeof t->node, a);
    (void)json_int(json_get(json, "epoch"), &epoch);
    t->epoch = (int)epoch;
    bool answered = !str_eqc(json_get(json, "answers"), "[]");
    work(w, w->taken_nr++, str_eqc(type, "chaos.ask") && !answered);
}

static void claim(struct worker *w, char *answer, struct arena *a) {
    char body[200], *out;
    bool hangs_up = client_chance(&w->rng, 12) == 0;
    int port = hosts_port(&w->rng);
    snprintf(body, sizeof body,
             "{\"types\":[\"chaos.step\",\"chaos.ask\"],\"max\":%d,\"leaseMs\":%d,\"waitMs\":500}",
             1 + (int)client_chance(&w->rng, 3), 1000 + (int)client_chance(&w->rng, 1000));
    long status = port == 0
                      ? 0
                      : client_ask(port, "POST", "/v1/host/wopr/tasks:claim", NULL, body,
                                   hangs_up ? HANG_UP_MS : ASK_WAIT_MS, answer, CLAIM_BYTES, &out);
    struct json_elements l = {0};
    struct wopr_error err;
    if (status != 200) {
        if (status >= 400 && status < 500 && status != 429) wrong(w, body, "claim", out);
        nap_ms(20);
        return;
    }
    if (json_elements(json_get(str_c(out), "tasks"), a, &l, &err) != 0)
        wrong(w, "an answer that cannot be read", "claim", out);
    for (size_t i = 0; i < l.n; i++) task_take(w, l.v[i], a);
}

static void *worker_main(void *arg) {
    struct worker *w = arg;
    char *answer = mem_alloc(CLAIM_BYTES);
    struct arena *a = arena_new(16u << 20);
    while (answer && a && !atomic_load(&workers_over) && w->wrong[0] == '\0') {
        claim(w, answer, a);
        if (w->late_nr > 0 && client_chance(&w->rng, 8) == 0)
            complete(w, &w->taken[w->late[--w->late_nr]]);
        arena_reset(a);
    }
    while (w->late_nr > 0) complete(w, &w->taken[w->late[--w->late_nr]]);
    arena_free(a);
    mem_free(answer);
    return NULL;
}

void workers_start(uint64_t seed) {
    for (unsigned i = 0; i < WORKERS; i++) {
        struct worker *w = &workers[i];
        w->no = i;
        w->rng = (seed + 31 + i * 977) * UINT64_C(0x9e3779b97f4a7c15) | 1;
        w->taken = mem_array(TASKS_MAX, sizeof *w->taken);
        cr_assert_not_null(w->taken);
        cr_assert_eq(pthread_create(&w->thread, NULL, worker_main, w), 0);
    }
}

void workers_stop(void) {
    atomic_store(&workers_over, true);
    for (unsigned i = 0; i < WORKERS; i++) pthread_join(workers[i].thread, NULL);
}

/* --- checks --- */

static const struct made *made_find(const char *run) {
    for (int i = 0; i < made_nr(); i++)
        if (strcmp(made[i].id, run) == 0) return &made[i];
    return NULL;
}

/* How often the log of the run holds the text at this place of such events. */
static unsigned log_holds(struct str events, const char *type, const char *node, const char *place,
                          const char *text) {
    struct json_elements l;
    unsigned n = 0;
    cr_assert_eq(json_elements(events, test_arena(), &l, NULL), 0);
    for (size_t i = 0; i < l.n; i++)
        n += str_eqc(text_at(l.v[i], "type"), type) && str_eqc(text_at(l.v[i], "nodeId"), node) &&
             str_eqc(at(l.v[i], place), fmt("\"%s\"", text));
    return n;
}

/* What a host said was heard is in the log, once, unless its run was cancelled while it was paused;
 * and of two leases of a task one is heard (check_events: no node ends twice). */
static void taken_check(const struct server *sv, const struct worker *w, const struct taken *t) {
    char token[TOKEN_BYTES];
    const struct made *m = made_find(t->run);
    cr_assert(!m || !m->replay, "WRK-22: a worker was given a task of the replay %s", t->run);
    if (m && m->fork_depth == 0)
        cr_assert(t->clear, "WRK-9: %s: the input of its task was not clear", t->run);
    if (!t->completed && !t->emitted) return;
    token_of(w, t, token);
    struct str events = events_of(sv, t->run), types = types_of(events);
    unsigned done = log_holds(events, "node.completed", t->node, "payload.outputs.by", token);
    unsigned chunks = log_holds(events, "output.chunk", t->node, "payload.chunk", token);
    bool cancelled = strstr(types.p, "run.cancelled") != NULL;
    bool paused = !strstr(types.p, "run.completed") && !strstr(types.p, "run.failed");
    if (t->completed)
        cr_assert(done == 1 || (done == 0 && (cancelled || paused)),
                  "%s: %s was completed and is %u times in " STR_FMT, t->run, token, done,
                  STR_ARG(types));
    if (t->emitted)
        cr_assert_eq(chunks, 1u, "%s: %s was emitted and is there %u times", t->run, token, chunks);
}

void workers_check(const struct server *sv) {
    unsigned tasks = 0, completed = 0, refused = 0, asked = 0, failed = 0, again = 0;
    for (unsigned i = 0; i < WORKERS; i++) {
        struct worker *w = &workers[i];
        cr_assert_str_eq(w->wrong, "", "%s", w->wrong);
        for (int k = 0; k < w->taken_nr; k++) {
            taken_check(sv, w, &w->taken[k]);
            completed += w->taken[k].completed;
            again += w->taken[k].epoch > 1;
            if (k % 16 == 0) arena_reset(test_arena());
        }
        tasks += (unsigned)w->taken_nr;
        refused += w->refused;
        asked += w->asked;
        failed += w->failed;
        mem_free(w->taken);
    }
    fprintf(stderr,
            "chaos: %u leases, %u of them after one that ran out; %u completed, %u asked, %u "
            "failed, %u late words refused\n",
            tasks, again, completed, asked, failed, refused);
    cr_assert_gt(completed, 0u, "no task was completed");
}
