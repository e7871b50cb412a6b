/*
 * journal.c: what the worker processes wrote down, against the log and the tasks of the host.
 *
 *     lease RUN TASK NODE EPOCH ATTEMPT KEY CLEAR MS   it has the task since then
 *     effect TASK EPOCH                                it acted outside, before it said so
 *     emits TASK EPOCH                                 it will send a chunk, once or twice
 *     said VERB TASK EPOCH STATUS SENT_MS              a host answered so
 *     wrong TEXT
 *
 * Every record ends with " ;"; one that a kill cut short does not count.  A word without its "said"
 * was heard or not: nobody knows but the log.
 */
#include "world.h"

#include "base/map.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

enum { LEASES_MAX = 400000, LINE_BYTES = 1200 };

struct lease {
    char run[ID_BYTES], task[ID_BYTES], node[16], key[80];
    int epoch, attempt, worker, clear;
    long long ms;
    struct lease *next_of_task;
    unsigned effects;
    bool emits, emitted;
    char heard[12]; /* the verb that a host took, "" = none */
    long long heard_sent_ms;
};
static struct lease *leases;
static size_t leases_nr;
static struct map *by_lease, *by_task, *by_run; /* "TASK:EPOCH", TASK; RUN -> struct made */
static struct {
    unsigned records, torn, effects, repeated, refused, heard, again, failed, asked, completed;
} sum;

static struct lease *lease_of(const char *task, int epoch) {
    char id[ID_BYTES + 16];
    snprintf(id, sizeof id, "%s:%d", task, epoch);
    return map_get(by_lease, str_c(id));
}

/* --- reading --- */

enum { LEASES_FEW = 30 };

static void lease_add(const char *line, int worker) {
    struct lease *l = &leases[leases_nr];
    char id[ID_BYTES + 16];
    void *other = NULL;
    cr_assert_lt(leases_nr, (size_t)LEASES_MAX);
    *l = (struct lease){.worker = worker};
    cr_assert_eq(sscanf(line, "lease %63s %63s %15s %d %d %79s %d %lld", l->run, l->task, l->node,
                        &l->epoch, &l->attempt, l->key, &l->clear, &l->ms),
                 8, "%s", line);
    snprintf(id, sizeof id, "%s:%d", l->task, l->epoch);
    cr_assert_eq(map_put(by_lease, str_c(id), l, &other), 0);
    cr_assert_null(other, "WRK-14: the lease %s was given out twice", id);
    cr_assert_eq(map_put(by_task, str_c(l->task), l, &other), 0);
    l->next_of_task = other;
    leases_nr++;
}

static struct lease *lease_known(const char *task, int epoch, const char *line) {
    struct lease *l = lease_of(task, epoch);
    cr_assert_not_null(l, "a record without its lease: %s", line);
    return l;
}

static void said_add(const char *line) {
    char verb[12], task[ID_BYTES];
    int epoch, status;
    long long sent_ms;
    cr_assert_eq(sscanf(line, "said %11s %63s %d %d %lld", verb, task, &epoch, &status, &sent_ms),
                 5, "%s", line);
    struct lease *l = lease_known(task, epoch, line);
    sum.refused += status == 409;
    if (status != 200) return;
    if (strcmp(verb, "emit") == 0) l->emitted = true;
    if (strcmp(verb, "emit") == 0 || strcmp(verb, "heartbeat") == 0) return;
    cr_assert(l->heard[0] == '\0' || strcmp(l->heard, verb) == 0, "%s was heard, and then: %s",
              l->heard, line);
    if (l->heard[0] == '\0') sum.heard++;
    snprintf(l->heard, sizeof l->heard, "%s", verb);
    l->heard_sent_ms = sent_ms;
}

static void record_add(const char *line, int worker) {
    char task[ID_BYTES];
    int epoch;
    cr_assert_neq(strncmp(line, "wrong ", 6), 0, "worker %d: %s", worker, line);
    if (strncmp(line, "lease ", 6) == 0) lease_add(line, worker);
    else if (strncmp(line, "said ", 5) == 0) said_add(line);
    else if (sscanf(line, "effect %63s %d", task, &epoch) == 2)
        lease_known(task, epoch, line)->effects++;
    else if (sscanf(line, "emits %63s %d", task, &epoch) == 2)
        lease_known(task, epoch, line)->emits = true;
    else cr_assert_fail("worker %d: %s", worker, line);
    sum.records++;
}

static void journal_read(int worker) {
    char path[320], line[LINE_BYTES];
    FILE *f = fopen(worker_journal((unsigned)worker, path), "r");
    cr_assert_not_null(f, "worker %d never ran", worker);
    while (fgets(line, sizeof line, f)) {
        char *end = strstr(line, " ;\n");
        if (end) {
            *end = '\0';
            record_add(line, worker);
        } else {
            sum.torn++;
        }
    }
    cr_assert_eq(fclose(f), 0);
    cr_assert_leq(sum.torn, 4u, "torn records: a kill tears one at most, and hardly ever");
}

static void runs_index(void) {
    by_run = map_new();
    cr_assert_not_null(by_run);
    for (int i = 0; i < made_nr(); i++)
        cr_assert_eq(map_put(by_run, str_c(made[i].id), &made[i], NULL), 0);
}

/* --- leases of one task --- */

/* Of all its leases one is heard, and none after a younger one was given out (WRK-14); all of an
 * attempt carry the same key (IDEM-16). */
static void task_leases_check(const struct lease *first) {
    const struct lease *heard = NULL;
    for (const struct lease *l = first; l; l = l->next_of_task) {
        cr_assert(strcmp(l->key, first->key) == 0 && strcmp(l->run, first->run) == 0 &&
                      strcmp(l->node, first->node) == 0 && l->attempt == first->attempt,
                  "%s is not the same in all leases", l->task);
        if (l->heard[0] == '\0') continue;
        cr_assert_null(heard, "%s was heard under epochs %d and %d", l->task,
                       heard ? heard->epoch : 0, l->epoch);
        heard = l;
    }
    for (const struct lease *l = first; heard && l; l = l->next_of_task)
        cr_assert(l->epoch <= heard->epoch || l->ms >= heard->heard_sent_ms,
                  "%s: a word of epoch %d was heard after epoch %d was given out", l->task,
                  heard->epoch, l->epoch);
}

static bool open_state(struct str state) {
    return str_eqc(state, "ready") || str_eqc(state, "leased") || str_eqc(state, "held") ||
           str_eqc(state, "answered") || str_eqc(state, "lost");
}

/* What is still open is of a run that is paused. */
static void task_end_check(const struct server *sv, const struct lease *l) {
    struct reply r = ask(sv, "GET", fmt("/v1/host/wopr/tasks/%s", l->task), NULL, NULL);
    cr_assert_eq(r.status, 200, "%s is gone: " STR_FMT, l->task, STR_ARG(r.body));
    struct str state = text_at(r.body, "state");
    if (open_state(state)) {
        struct reply run = ask(sv, "GET", fmt("/v1/runs/%s", l->run), NULL, NULL);
        cr_assert(str_eqc(text_at(run.body, "status"), "paused"),
                  "%s of %s was left behind: " STR_FMT " " STR_FMT, l->task, l->run,
                  STR_ARG(r.body), STR_ARG(run.body));
        return;
    }
    sum.completed += str_eqc(state, "completed");
    sum.asked += str_eqc(state, "asked");
    sum.failed += str_eqc(state, "failed");
    for (const struct lease *x = l; x; x = x->next_of_task)
        if (strcmp(x->heard, "complete") == 0)
            cr_assert(str_eqc(state, "completed") || str_eqc(state, "cancelled"),
                      "%s was completed and is " STR_FMT, l->task, STR_ARG(r.body));
}

/* --- the logs --- */

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

/* What a host said was heard is in the log, once, unless its run was cancelled while it was paused,
 * or still is. */
static void lease_check(const struct server *sv, const struct lease *l) {
    const struct made *m = map_get(by_run, str_c(l->run));
    cr_assert(m && !m->replay, "WRK-22: a worker was given a task of the replay %s", l->run);
    if (m->fork_depth == 0)
        cr_assert(l->clear, "WRK-9: %s: the input of its task was not clear", l->run);
    bool completed = strcmp(l->heard, "complete") == 0;
    if (!completed && !l->emits) return;
    const char *token = fmt("%s:%d:%d", l->task, l->epoch, l->worker);
    struct str events = events_of(sv, l->run), types = types_of(events);
    unsigned done = log_holds(events, "node.completed", l->node, "payload.outputs.by", token);
    unsigned chunks = log_holds(events, "output.chunk", l->node, "payload.chunk", token);
    bool cancelled = strstr(types.p, "run.cancelled") != NULL;
    bool paused = !strstr(types.p, "run.completed") && !strstr(types.p, "run.failed");
    if (completed)
        cr_assert(done == 1 || (done == 0 && (cancelled || paused)),
                  "%s: %s was completed and is %u times in " STR_FMT, l->run, token, done,
                  STR_ARG(types));
    cr_assert(chunks <= 1u && (!l->emitted || chunks == 1u),
              "%s: %s was emitted and is there %u times", l->run, token, chunks);
}

/* At least once outside, once in the log: who completed a node had acted before. */
static void completion_check(struct str event, const char *run) {
    struct str by = text_at(event, "payload.outputs.by");
    char task[ID_BYTES];
    int epoch, worker;
    cr_assert_eq(sscanf(fmt(STR_FMT, STR_ARG(by)), "%63[^:]:%d:%d", task, &epoch, &worker), 3);
    const struct lease *l = lease_of(task, epoch);
    cr_assert(l && l->worker == worker && l->effects > 0,
              "%s: " STR_FMT " is in the log and did nothing", run, STR_ARG(by));
}

/* Each attempt that began has one end: its node completed or failed, it is tried again, or the run
 * is over, or not yet. */
static void attempts_check(const struct server *sv, const struct made *m) {
    static const char *const NODES[] = {"first", "asks", "last"};
    bool open[3] = {false};
    struct json_elements l;
    struct str events = events_of(sv, m->id);
    cr_assert_eq(json_elements(events, test_arena(), &l, NULL), 0);
    for (size_t i = 0; i < l.n; i++) {
        struct str type = text_at(l.v[i], "type"), node = at(l.v[i], "nodeId");
        for (size_t k = 0; k < 3; k++) {
            if (!str_eqc(node, fmt("\"%s\"", NODES[k]))) continue;
            bool begins = str_eqc(type, "node.started"), again = str_eqc(type, "node.retried"),
                 done = str_eqc(type, "node.completed"), failed = str_eqc(type, "node.failed");
            cr_assert(!begins || !open[k], "%s: %s begins twice in " STR_FMT, m->id, NODES[k],
                      STR_ARG(types_of(events)));
            cr_assert(!(again || done || failed) || open[k], "%s: %s ends twice in " STR_FMT, m->id,
                      NODES[k], STR_ARG(types_of(events)));
            open[k] = begins || (open[k] && !(again || done || failed));
            if (done) completion_check(l.v[i], m->id);
        }
    }
    if (l.n > 0 && str_eqc(text_at(l.v[l.n - 1], "type"), "run.completed"))
        cr_assert(!open[0] && !open[1] && !open[2], "%s left a task behind: " STR_FMT, m->id,
                  STR_ARG(types_of(events)));
}

/* Every task that no worker ever had, too: it is open only while its run is paused. */
static void open_tasks_check(const struct server *sv) {
    const char *path = "/v1/host/wopr/tasks?limit=200";
    unsigned open = 0;
    for (bool more = true; more; arena_reset(test_arena())) {
        struct reply r = ask(sv, "GET", path, NULL, NULL);
        cr_assert_eq(r.status, 200);
        struct json_elements l = elements_of(at(r.body, "tasks"));
        for (size_t i = 0; i < l.n; i++, open++) {
            struct str run = text_at(l.v[i], "runId");
            struct reply s = ask(sv, "GET", fmt("/v1/runs/" STR_FMT, STR_ARG(run)), NULL, NULL);
            cr_assert(str_eqc(text_at(s.body, "status"), "paused"),
                      "left behind: " STR_FMT " " STR_FMT, STR_ARG(l.v[i]), STR_ARG(s.body));
        }
        struct str next = at(r.body, "nextCursor");
        static char kept[800];
        more = next.n > 2;
        if (more)
            snprintf(kept, sizeof kept, "/v1/host/wopr/tasks?limit=200&cursor=%.*s",
                     (int)next.n - 2, next.p + 1);
        path = kept;
    }
    fprintf(stderr, "chaos: %u tasks are open, all of paused runs\n", open);
}

/* --- all of it --- */

static void keys_count(void) {
    struct map *keys = map_new();
    void *other;
    cr_assert_not_null(keys);
    for (size_t i = 0; i < leases_nr; i++) {
        other = NULL;
        sum.again += leases[i].epoch > 1;
        if (leases[i].effects == 0) continue;
        cr_assert_eq(map_put(keys, str_c(leases[i].key), &leases[i], &other), 0);
        const struct lease *o = other;
        sum.effects++;
        sum.repeated += o != NULL;
        cr_assert(!o || (strcmp(o->run, leases[i].run) == 0 &&
                         strcmp(o->node, leases[i].node) == 0 && o->attempt == leases[i].attempt),
                  "two attempts have the same key: %s %s", leases[i].task, o ? o->task : "");
    }
    map_free(keys);
}

void journal_check(const struct server *sv) {
    leases = mem_array(LEASES_MAX, sizeof *leases);
    by_lease = map_new();
    by_task = map_new();
    cr_assert(leases && by_lease && by_task);
    for (int i = 0; i < WORKERS; i++) journal_read(i);
    runs_index();
    keys_count();
    for (size_t i = 0; i < leases_nr; i++) {
        lease_check(sv, &leases[i]);
        if (map_get(by_task, str_c(leases[i].task)) == &leases[i]) {
            task_leases_check(&leases[i]);
            task_end_check(sv, &leases[i]);
        }
        if (i % 16 == 0) arena_reset(test_arena());
    }
    for (int i = 0; i < made_nr(); i++) {
        if (made[i].shape == SHAPE_WORKER) attempts_check(sv, &made[i]);
        if (i % 16 == 0) arena_reset(test_arena());
    }
    open_tasks_check(sv);
    fprintf(stderr,
            "chaos: %zu leases of %zu tasks, %u of them after one that ran out; %u completed, %u "
            "asked, %u failed; %u effects, %u of them repeated; %u late words refused\n",
            leases_nr, map_count(by_task), sum.again, sum.completed, sum.asked, sum.failed,
            sum.effects, sum.repeated, sum.refused);
    /* A storm of seconds on a busy machine may give out a few leases only. */
    cr_assert(sum.completed > 0 || leases_nr < LEASES_FEW, "no task was completed");
    map_free(by_lease);
    map_free(by_task);
    map_free(by_run);
    mem_free(leases);
}
