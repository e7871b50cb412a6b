/* kit.c: what the rows share: alpha's requests and runs, texts of a size, threads. */
#include "attack.h"

#include <stdio.h>
#include <stdlib.h>

enum { THREADS_MAX = 64 };

int alpha_ask(struct world *w, const char *method, const char *path, struct str body,
              struct str *answer) {
    int status = line_ask(
        &w->alpha,
        &(struct request){.method = method, .path = path, .key = w->host.alpha, .body = body},
        answer);
    if (status == 0) w->silent++;
    else if (status >= 200 && status < 300) w->served++;
    else w->refused++;
    return status;
}

bool alpha_run(struct world *w, const char *workflow, const char *more, char id[ID_BYTES]) {
    struct buf b;
    struct str answer;
    buf_init(&b, ANSWER_BYTES_MAX);
    buf_addf(&b, "{\"workflowId\":\"%s\"", workflow);
    if (more != NULL) {
        buf_addz(&b, ",");
        buf_addz(&b, more);
    }
    buf_addz(&b, "}");
    bool ok =
        alpha_ask(w, "POST", "/v1/runs", buf_str(&b), &answer) == 201 && run_id_in(answer, id);
    if (ok) ledger_add(&w->acked, id);
    buf_fini(&b);
    return ok;
}

static bool has_status(struct str snapshot, const char *status) {
    struct str raw = json_get(snapshot, "status");
    if (raw.n < 2) return false;
    struct str s = str_n(raw.p + 1, raw.n - 2);
    if (status[0] != '\0') return str_eqc(s, status);
    return str_eqc(s, "completed") || str_eqc(s, "failed") || str_eqc(s, "cancelled");
}

bool alpha_wait(struct world *w, const char *id, const char *status, int wait_ms) {
    char path[128];
    struct str answer;
    snprintf(path, sizeof path, "/v1/runs/%s", id);
    for (int64_t end = now_ms() + wait_ms; now_ms() < end; nap_ms(10)) {
        struct request q = {.method = "GET", .path = path, .key = w->host.alpha};
        if (line_ask(&w->alpha, &q, &answer) == 200 && has_status(answer, status)) return true;
    }
    return false;
}

void alpha_cancel_all(struct world *w) {
    for (size_t i = 0; i < w->acked.n; i++) {
        char path[128];
        snprintf(path, sizeof path, "/v1/runs/%s/cancel", w->acked.ids[i]);
        (void)line_ask(
            &w->alpha,
            &(struct request){
                .method = "POST", .path = path, .key = w->host.alpha, .body = str_c("{}")},
            NULL);
    }
}

void fill(struct buf *b, const char *piece, size_t n) {
    const size_t step = strlen(piece);
    char *all = mem_alloc((n -= n % step) + 1);
    if (all == NULL) exit(2);
    memcpy(all, piece, n > 0 ? step : 0);
    for (size_t has = step; has < n; has *= 2) /* the attacker's own work is no part of it */
        memcpy(all + has, all, has < n - has ? has : n - has);
    buf_add(b, all, n);
    mem_free(all);
}

struct job {
    struct world *w;
    unsigned no;
    void (*one)(struct world *w, unsigned no);
    pthread_t thread;
};

static void *job_main(void *arg) {
    struct job *j = arg;
    j->one(j->w, j->no);
    return NULL;
}

void in_parallel(struct world *w, unsigned threads, void (*one)(struct world *w, unsigned no)) {
    struct job jobs[THREADS_MAX];
    if (threads > THREADS_MAX) threads = THREADS_MAX;
    for (unsigned i = 0; i < threads; i++) {
        jobs[i] = (struct job){.w = w, .no = i, .one = one};
        if (pthread_create(&jobs[i].thread, NULL, job_main, &jobs[i]) != 0) exit(2);
    }
    for (unsigned i = 0; i < threads; i++) pthread_join(jobs[i].thread, NULL);
}
