/* probe.c: beta creates a run and reads it, again and again, each on a fresh connection; where the
 * row asks for it, until the run has ended. */
#include "attack.h"

#include <stdio.h>
#include <stdlib.h>

void samples_add(struct samples *s, uint64_t us) {
    if (s->n == s->cap) {
        size_t cap = s->cap > 0 ? s->cap * 2 : 256;
        uint32_t *v = mem_grow(s->v, cap, sizeof *v);
        if (v == NULL) return;
        s->v = v;
        s->cap = cap;
    }
    s->v[s->n++] = us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
}

static int order(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

double samples_ms(struct samples *s, double share) {
    if (s->n == 0) return 0;
    qsort(s->v, s->n, sizeof *s->v, order);
    size_t i = (size_t)(share * (double)s->n);
    return s->v[i < s->n ? i : s->n - 1] / 1000.0;
}

void ledger_add(struct ledger *l, const char *id) {
    if (l->n == l->cap) {
        size_t cap = l->cap > 0 ? l->cap * 2 : 256;
        void *v = mem_grow(l->ids, cap, sizeof *l->ids);
        if (v == NULL) return;
        l->ids = v;
        l->cap = cap;
    }
    snprintf(l->ids[l->n++], ID_BYTES, "%s", id);
}

bool run_id_in(struct str body, char id[ID_BYTES]) {
    struct str raw = body.n > 0 ? json_get(body, "runId") : STR_NONE;
    if (raw.p == NULL || raw.n < 3 || raw.n - 2 >= ID_BYTES) return false;
    memcpy(id, raw.p + 1, raw.n - 2);
    id[raw.n - 2] = '\0';
    return true;
}

bool run_ended(struct str snapshot) {
    static const char *const ends[] = {"\"completed\"", "\"failed\"", "\"cancelled\""};
    struct str status = json_get(snapshot, "status");
    for (size_t i = 0; i < 3; i++)
        if (str_eqc(status, ends[i])) return true;
    return false;
}

static int timed(struct probe *p, const char *method, const char *path, struct str body,
                 struct samples *into, struct line *l, struct str *answer) {
    const uint64_t from = clock_mono_ns();
    int status = line_ask(l,
                          &(struct request){.method = method,
                                            .path = path,
                                            .key = p->host->beta,
                                            .body = body,
                                            .wait_ms = p->wait_ms,
                                            .close = true},
                          answer);
    samples_add(into, (clock_mono_ns() - from) / 1000); /* one that got no answer waited as well */
    p->asked++;
    p->unanswered += status == 0;
    p->refused += status == 429 || status == 503;
    return status;
}

/* A run that does not end in time has an end as late as that. */
static void until_end(struct probe *p, struct line *l, const char *path, uint64_t from) {
    struct request q = {.method = "GET", .path = path, .key = p->host->beta, .wait_ms = p->wait_ms};
    const uint64_t limit = from + (uint64_t)p->wait_ms * 1000000;
    struct str answer;
    while (line_ask(l, &q, &answer) == 200 && !run_ended(answer) && clock_mono_ns() < limit)
        nap_ms(1);
    samples_add(&p->end, (clock_mono_ns() - from) / 1000);
}

void probe_once(struct probe *p) {
    static const char hello[] = "{\"workflowId\":\"attack-hello\"}";
    static const char turns[] = "{\"workflowId\":\"attack-turns\"}";
    const uint64_t from = clock_mono_ns();
    char id[ID_BYTES], path[128] = "/v1/runs?limit=1";
    struct str answer;
    struct line l;
    line_init(&l, p->host->port, FROM_BETA);
    bool made = timed(p, "POST", "/v1/runs", str_c(p->ends ? turns : hello), &p->create, &l,
                      &answer) == 201 &&
                run_id_in(answer, id);
    if (made) {
        ledger_add(&p->acked, id);
        snprintf(path, sizeof path, "/v1/runs/%s", id);
    }
    (void)timed(p, "GET", path, STR_NONE, &p->read, &l, &answer);
    if (made && p->ends) until_end(p, &l, path, from);
    line_fini(&l);
}

static void *probe_main(void *arg) {
    struct probe *p = arg;
    while (!atomic_load(&p->stop)) {
        probe_once(p);
        atomic_fetch_add(&p->rounds, 1);
        nap_ms(PROBE_NAP_MS); /* a client, not a load */
    }
    return NULL;
}

void probe_init(struct probe *p, const struct host *h, int wait_ms, bool ends) {
    *p = (struct probe){.host = h, .wait_ms = wait_ms, .ends = ends};
}

void probe_start(struct probe *p) {
    if (pthread_create(&p->thread, NULL, probe_main, p) != 0) {
        fprintf(stderr, "attack: no thread\n");
        exit(2);
    }
}

void probe_stop(struct probe *p) {
    atomic_store(&p->stop, true);
    pthread_join(p->thread, NULL);
}

void probe_fini(struct probe *p) {
    mem_free(p->create.v);
    mem_free(p->read.v);
    mem_free(p->end.v);
    mem_free(p->acked.ids);
}
