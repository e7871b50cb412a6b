/*
 * rows_modules.c: modules of alpha's packs that take what they can get, as runs without a pause:
 * loops to the end of their time, memory by the maximum, answers as long as there may be,
 * recursion, workers that are killed or die.
 */
#include "rows.h"

#include <stdio.h>

enum {
    STARTERS = 4,
    ANSWER_BYTES = 180000, /* of an answer that is taken */
    MODULE_WAIT_MS = 120000,
    BETA_MODULE_MS = 10000, /* beta's own node of a pack, beside them */
    PATH_BYTES = 128
};

/* Types, and how often each has its turn: those that take long are not all that there is. */
static const char *const HOSTILE[] = {
    "vendor.test.kit.spins", "vendor.test.kit.echo",   "vendor.test.kit.grows",
    "vendor.test.kit.huge",  "vendor.test.eater.it",   "vendor.test.kit.recurs",
    "vendor.test.kit.echo",  "vendor.test.kit.fills",  "vendor.test.kit.floods",
    "vendor.test.kit.spins", "vendor.test.kit.outside"};
enum { HOSTILE_NR = sizeof HOSTILE / sizeof *HOSTILE };

static int workflow_put(struct line *l, const char *key, const char *id, const char *type) {
    char path[PATH_BYTES], body[512];
    snprintf(path, sizeof path, "/v1/host/wopr/workflows/%s", id);
    snprintf(body, sizeof body,
             "{\"id\":\"%s\",\"name\":\"A module\",\"version\":\"1\",\"nodes\":[{\"id\":\"n\","
             "\"typeId\":\"%s\",\"name\":\"N\",\"position\":{\"x\":0,\"y\":0},\"config\":{},"
             "\"inputs\":{}}],\"edges\":[],\"triggers\":[],\"metadata\":{},\"settings\":{},"
             "\"variables\":[{\"name\":\"blob\",\"type\":\"string\",\"defaultValue\":\"\"}]}",
             id, type);
    return line_ask(
        l, &(struct request){.method = "PUT", .path = path, .key = key, .body = str_c(body)}, NULL);
}

static void hostile_id(char id[ID_BYTES], size_t i) { snprintf(id, ID_BYTES, "hostile-%zu", i); }

static bool hostile_put(struct world *w) {
    char id[ID_BYTES];
    for (size_t i = 0; i < HOSTILE_NR; i++) {
        hostile_id(id, i);
        int status = workflow_put(&w->alpha, w->host.alpha, id, HOSTILE[i]);
        if (status != 200 && status != 201) {
            wrong(w, "%s cannot be put: %d", HOSTILE[i], status);
            return false;
        }
    }
    return true;
}

static pthread_mutex_t ledger_mu = PTHREAD_MUTEX_INITIALIZER;

static void starter(struct world *w, unsigned no) {
    struct line l;
    struct buf b;
    buf_init(&b, 1 << 20);
    line_init(&l, w->host.port, FROM_ATTACKER);
    for (size_t i = no; i < w->n; i += STARTERS) {
        char flow[ID_BYTES], id[ID_BYTES];
        struct str answer;
        hostile_id(flow, i % HOSTILE_NR);
        buf_reset(&b);
        buf_addf(&b, "{\"workflowId\":\"%s\",\"inputs\":{\"blob\":\"", flow);
        fill(&b, "0123456789abcde ", ANSWER_BYTES);
        buf_addz(&b, "\"}}");
        struct request q = {
            .method = "POST", .path = "/v1/runs", .key = w->host.alpha, .body = buf_str(&b)};
        const bool made = line_ask(&l, &q, &answer) == 201 && run_id_in(answer, id);
        pthread_mutex_lock(&ledger_mu);
        if (made) ledger_add(&w->acked, id);
        w->served += made;
        w->refused += !made;
        pthread_mutex_unlock(&ledger_mu);
    }
    line_fini(&l);
    buf_fini(&b);
}

/* Milliseconds of a run of beta with one node of a pack, -1: it did not complete. */
static int64_t beta_module_ms(struct world *w) {
    char id[ID_BYTES], path[PATH_BYTES];
    struct str answer;
    struct request q = {.method = "POST",
                        .path = "/v1/runs",
                        .key = w->host.beta,
                        .body = STR("{\"workflowId\":\"beta-module\"}")};
    const int64_t from = now_ms();
    if (line_ask(&w->beta, &q, &answer) != 201 || !run_id_in(answer, id)) return -1;
    snprintf(path, sizeof path, "/v1/runs/%s", id);
    q = (struct request){.method = "GET", .path = path, .key = w->host.beta};
    for (; now_ms() - from < MODULE_WAIT_MS; nap_ms(2)) {
        if (line_ask(&w->beta, &q, &answer) != 200 || !run_ended(answer)) continue;
        return str_eqc(json_get(answer, "status"), "\"completed\"") ? now_ms() - from : -1;
    }
    return -1;
}

void attack_modules(struct world *w) {
    const size_t before = w->acked.n;
    if (!hostile_put(w)) return;
    const int put = workflow_put(&w->beta, w->host.beta, "beta-module", "vendor.test.kit.counts");
    if (put != 200 && put != 201) GIVE_UP(w, "beta's pack cannot be used: %d", put);
    const int64_t quiet = before == 0 ? beta_module_ms(w) : 0;
    in_parallel(w, STARTERS, starter);
    const int64_t beside = beta_module_ms(w);
    if (quiet < 0 || beside < 0 || beside > BETA_MODULE_MS)
        wrong(w, "beta's own module takes %lld ms, quiet %lld", (long long)beside,
              (long long)quiet);
    for (size_t i = before; i < w->acked.n; i++)
        if (!alpha_wait(w, w->acked.ids[i], "", MODULE_WAIT_MS)) GIVE_UP(w, "a run does not end");
    note(w, "a module of beta %lld -> %lld ms", (long long)quiet, (long long)beside);
}
