/* judge.c: see judge.h and DESIGN.md (the bounds and why they are what they are). */
#include "judge.h"

#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>

enum {
    QUIET_ROUNDS = 60,
    QUIET_ROUNDS_BENCH = 400,
    BESIDE_ROUNDS_BENCH = 400, /* as quiet: else the p99 would be the worst of a few */
    BESIDE_BENCH_MS = 12000,   /* then what there is has to do */
    USUAL_ROUNDS = 20,
    WARM_RUNS = 3,
    WARM_READS = 1,
    WARM_BYTES = 900000,
    SETTLE_SMALL_MS = 20000,
    SETTLE_FULL_MS = 30000,
    DRAIN_MS = 2000,       /* as host.c sets it */
    STOP_SLACK_MS = 3000,  /* a busy machine, closing a database */
    STOP_SMALL_MS = 10000, /* then it is killed, and the row has failed */
    STOP_FULL_MS = 60000,
    RSS_SLACK = 8 << 20, /* caches that even a warm host had not filled */
    FDS_SLACK = 8,
    DISTINCT_WRONGS_MAX = 6,
    RUN_END_WAIT_MS = 20000,
    BESIDE_WAIT_MS = 4000,
    BESIDE_FULL_WAIT_MS = 15000,
    AFTER_WAIT_MS = 3000,
    LEDGER_WAIT_MS = 5000,
    ATTEMPTS = 3,  /* of a row that was only late */
    SILENT_MAX = 2 /* then nobody is asked any more */
};
static const double BESIDE_RATIO = 5.0, BESIDE_RATIO_CI = 20.0;
static const double BESIDE_SLACK_MS = 0.0, BESIDE_SLACK_CI_MS = 1500.0;
static const double USUAL_RATIO = 3.0, USUAL_SLACK_MS = 30.0;

struct figures {
    double create50, create99, read50, read99, end50, end99;
    int64_t rss;
    int fds, listeners;
};
struct trial {
    struct world w;
    struct probe quiet, beside, after;
    struct figures before, during, usual;
    int64_t rss_max, attack_ms, settle_ms, stop_ms, disk;
    atomic_bool watching;
    bool attacker_refused;
};

void wrong(struct world *w, const char *f, ...) {
    char text[300];
    va_list ap;
    va_start(ap, f);
    vsnprintf(text, sizeof text, f, ap);
    va_end(ap);
    if (w->wrongs++ >= DISTINCT_WRONGS_MAX) return;
    size_t n = strlen(w->why);
    snprintf(w->why + n, sizeof w->why - n, "%s%s", n > 0 ? "; " : "", text);
}

/* Too late is what a busy machine makes late, too: unlike anything else that is wrong it is looked
 * at again, see judge_one. */
#define LATE(w, ...) ((w)->lates++, wrong(w, __VA_ARGS__))

void note(struct world *w, const char *f, ...) {
    va_list ap;
    va_start(ap, f);
    vsnprintf(w->note, sizeof w->note, f, ap);
    va_end(ap);
}

static void figures_of(struct figures *f, struct probe *p, const struct host *h) {
    f->create50 = samples_ms(&p->create, 0.5);
    f->create99 = samples_ms(&p->create, 0.99);
    f->read50 = samples_ms(&p->read, 0.5);
    f->read99 = samples_ms(&p->read, 0.99);
    f->end50 = samples_ms(&p->end, 0.5);
    f->end99 = samples_ms(&p->end, 0.99);
    f->rss = host_rss(h);
    f->fds = host_fds(h);
    f->listeners = host_listeners(h);
}

static bool beta_ends(const struct world *w) { return (w->row->flags & BETA_ENDS) != 0; }

/* --- before --- */

/* A host that has served large runs before: its caches are filled, so that what an attack leaves
 * is not mistaken for them. */
static void warm(struct world *w) {
    struct buf b;
    char id[ID_BYTES], path[128];
    struct str answer;
    buf_init(&b, 2u << 20);
    buf_addz(&b, "{\"workflowId\":\"attack-hello\",\"inputs\":{\"name\":\"");
    fill(&b, "0123456789abcde ", WARM_BYTES);
    buf_addz(&b, "\"}}");
    for (int i = 0; i < WARM_RUNS; i++) {
        struct request q = {
            .method = "POST", .path = "/v1/runs", .key = w->host.beta, .body = buf_str(&b)};
        if (line_ask(&w->beta, &q, &answer) != 201 || !run_id_in(answer, id)) continue;
        snprintf(path, sizeof path, "/v1/runs/%s", id);
        for (int k = 0; k < WARM_READS; k++)
            (void)net_once(w->host.port, FROM_BETA, w->host.beta, "GET", path, STR_NONE,
                           BESIDE_WAIT_MS);
    }
    buf_fini(&b);
}

static void go_quiet(struct trial *t, int rounds) {
    warm(&t->w);
    probe_init(&t->quiet, &t->w.host, BESIDE_WAIT_MS, beta_ends(&t->w));
    for (int i = 0; i < 10; i++) probe_once(&t->quiet); /* warm */
    t->quiet.create.n = t->quiet.read.n = t->quiet.end.n = 0;
    for (int i = 0; i < rounds; i++) {
        probe_once(&t->quiet);
        nap_ms(PROBE_NAP_MS); /* as beside */
    }
    figures_of(&t->before, &t->quiet, &t->w.host);
    if (t->quiet.unanswered > 0) wrong(&t->w, "a quiet host did not answer");
}

/* --- the attack --- */

static void *watch_main(void *arg) { /* the highest RSS */
    struct trial *t = arg;
    for (; atomic_load(&t->watching); nap_ms(20)) {
        int64_t rss = host_rss(&t->w.host);
        if (rss > t->rss_max) t->rss_max = rss;
    }
    return NULL;
}

/* Short attacks are repeated for the bench. */
static void attack_repeat(struct trial *t, bool bench) {
    struct world *w = &t->w;
    const bool once = !bench || (w->row->flags & (BETA_WAITS | BETA_FORGETS | RUNS_ONCE)) != 0;
    const int64_t from = now_ms();
    do w->row->run(w);
    while (!once && w->wrongs == 0 && now_ms() - from < BESIDE_BENCH_MS &&
           atomic_load(&t->beside.rounds) < BESIDE_ROUNDS_BENCH);
    t->attack_ms = now_ms() - from;
}

/* An attacker is elsewhere: its threads, which inherit this, do not take the host's cores. */
static void *attacker_main(void *arg) {
    struct sched_param none = {.sched_priority = 0};
    if (sched_setscheduler(0, SCHED_IDLE, &none) != 0) perror("attack: priority");
    attack_repeat(arg, true);
    return NULL;
}

static void attack_run(struct trial *t, bool bench) {
    pthread_t attacker;
    if (!bench) {
        attack_repeat(t, false);
        return;
    }
    if (pthread_create(&attacker, NULL, attacker_main, t) != 0) {
        fprintf(stderr, "attack: no thread\n");
        exit(2);
    }
    pthread_join(attacker, NULL);
}

static void go_attack(struct trial *t, bool bench) {
    pthread_t watcher;
    const double ratio = bench ? BESIDE_RATIO : BESIDE_RATIO_CI;
    const double slack = bench ? BESIDE_SLACK_MS : BESIDE_SLACK_CI_MS;
    struct world *w = &t->w;
    atomic_store(&t->watching, true);
    bool watched = pthread_create(&watcher, NULL, watch_main, t) == 0;
    probe_init(&t->beside, &w->host, bench && !w->full ? BESIDE_WAIT_MS : BESIDE_FULL_WAIT_MS,
               beta_ends(w));
    probe_start(&t->beside);
    attack_run(t, bench);
    probe_stop(&t->beside);
    atomic_store(&t->watching, false);
    if (watched) pthread_join(watcher, NULL);
    figures_of(&t->during, &t->beside, &w->host);
    t->attacker_refused = w->refused > 0 && w->refused >= w->served;
    t->disk = host_disk(&w->host) - w->disk_before;
    if ((w->row->flags & BETA_WAITS) != 0) return;
    const struct probe *b = &t->beside;
    if (b->unanswered + b->refused > 0)
        wrong(w, "beta beside it: %zu of %zu unanswered, %zu refused", b->unanswered, b->asked,
              b->refused);
    if (w->slow || (bench && t->attacker_refused)) return; /* that is the other way to hold */
    if (t->during.create99 > ratio * t->before.create99 + slack)
        LATE(w, "beta's create p99 %.0f ms, quiet %.0f", t->during.create99, t->before.create99);
    if (t->during.read99 > ratio * t->before.read99 + slack)
        LATE(w, "beta's read p99 %.0f ms, quiet %.0f", t->during.read99, t->before.read99);
    if (t->during.end99 > ratio * t->before.end99 + slack)
        LATE(w, "beta's runs end after %.0f ms (p99), quiet %.0f", t->during.end99,
             t->before.end99);
}

/* --- afterwards --- */

static const char SLOWER[] = "is slower than before";

static const char *not_as_before(struct trial *t) {
    struct world *w = &t->w;
    const struct figures *b = &t->before, *u = &t->usual;
    probe_fini(&t->after);
    probe_init(&t->after, &w->host, w->slow ? BESIDE_FULL_WAIT_MS : AFTER_WAIT_MS, beta_ends(w));
    for (int i = 0; i < USUAL_ROUNDS && t->after.unanswered == 0; i++) probe_once(&t->after);
    figures_of(&t->usual, &t->after, &w->host);
    if (t->after.unanswered > 0) return "does not answer";
    if (t->after.refused > 0) return "refuses beta";
    if (t->after.acked.n < USUAL_ROUNDS) return "does not accept beta's runs";
    if (!w->slow && (u->create50 > USUAL_RATIO * b->create50 + USUAL_SLACK_MS ||
                     u->read50 > USUAL_RATIO * b->read50 + USUAL_SLACK_MS))
        return SLOWER;
    if (u->listeners < b->listeners) return "listens with fewer loops";
    if (u->fds > b->fds + FDS_SLACK) return "keeps descriptors";
    if (!w->slow && u->rss > b->rss + b->rss / 10 + RSS_SLACK) return "keeps memory";
    return NULL;
}

static void go_settle(struct trial *t, int64_t wait_ms) {
    const int64_t from = now_ms();
    const char *why = not_as_before(t);
    while (why != NULL && now_ms() - from < wait_ms) {
        nap_ms(100);
        why = not_as_before(t);
    }
    t->settle_ms = now_ms() - from;
    if (why == SLOWER) t->w.lates++;
    if (why != NULL)
        wrong(&t->w,
              "after %lld ms it %s (create %.1f read %.1f ms, RSS %lld MB of %lld, fds %d of "
              "%d, %d of %d listeners)",
              (long long)t->settle_ms, why, t->usual.create50, t->usual.read50,
              (long long)(t->usual.rss >> 20), (long long)(t->before.rss >> 20), t->usual.fds,
              t->before.fds, t->usual.listeners, t->before.listeners);
}

static void check_ledger(struct world *w, const struct ledger *l, const char *key, bool must_end) {
    size_t lost = 0, open = 0, silent = 0;
    const int64_t end = now_ms() + RUN_END_WAIT_MS;
    for (size_t i = 0; i < l->n && silent < SILENT_MAX; i++) {
        char path[128];
        struct str body;
        snprintf(path, sizeof path, "/v1/runs/%s", l->ids[i]);
        struct request q = {.method = "GET", .path = path, .key = key, .wait_ms = LEDGER_WAIT_MS};
        int status = line_ask(&w->beta, &q, &body);
        silent += status == 0;
        while (status == 200 && must_end && !run_ended(body) && now_ms() < end) {
            nap_ms(10);
            status = line_ask(&w->beta, &q, &body);
        }
        lost += status != 200;
        open += status == 200 && must_end && !run_ended(body);
    }
    if (lost > 0) wrong(w, "%zu of %zu acknowledged runs cannot be read", lost, l->n);
    if (open > 0) wrong(w, "%zu of %zu acknowledged runs do not end", open, l->n);
}

static void go_check(struct trial *t) {
    struct world *w = &t->w;
    if (t->after.unanswered > 0) return; /* said already */
    if ((w->row->flags & BETA_FORGETS) == 0) {
        check_ledger(w, &t->quiet.acked, w->host.beta, true);
        check_ledger(w, &t->beside.acked, w->host.beta, true);
    }
    check_ledger(w, &t->after.acked, w->host.beta, true);
    check_ledger(w, &w->acked, w->host.alpha, false);
}

static void go_stop(struct trial *t, const char *binary) {
    struct world *w = &t->w;
    struct buf out;
    line_fini(&w->alpha);
    line_fini(&w->beta);
    const int wait_ms = w->full ? STOP_FULL_MS : STOP_SMALL_MS;
    int rc = host_stop(&w->host, wait_ms, &t->stop_ms);
    if (rc == -1) LATE(w, "SIGTERM did not end it within %d ms", wait_ms);
    else if (rc != 0) wrong(w, "SIGTERM ended it with %d", rc);
    else if (t->stop_ms > DRAIN_MS + STOP_SLACK_MS)
        LATE(w, "it took %lld ms to stop", (long long)t->stop_ms);
    buf_init(&out, 1 << 20);
    rc = host_verify(&w->host, binary, &out);
    if (rc != 0) wrong(w, "wopr verify: %d: %.150s", rc, out.p != NULL ? out.p : "");
    buf_fini(&out);
}

/* --- what is said --- */

static double ratio_of(double a, double b) { return b > 0 ? a / b : 0; }

static void say_line(const struct trial *t, const char *verdict) {
    const struct figures *b = &t->before, *d = &t->during;
    char ends[80] = "";
    if (beta_ends(&t->w))
        snprintf(ends, sizeof ends, "  end p99 %.1f -> %.1f ms", b->end99, d->end99);
    printf("%-8s %-18s %-8s n %-6zu  beta create p99 %.1f -> %.1f  read p99 %.1f -> %.1f ms%s  "
           "alpha %zu ok %zu refused %zu silent  RSS %lld -> %lld -> %lld MB  disk +%lld MB  "
           "settle %lld stop %lld ms%s%s\n",
           verdict, t->w.row->name, t->w.row->finding, t->w.n, b->create99, d->create99, b->read99,
           d->read99, ends, t->w.served, t->w.refused, t->w.silent, (long long)(b->rss >> 20),
           (long long)(t->rss_max >> 20), (long long)(t->usual.rss >> 20),
           (long long)(t->disk >> 20), (long long)t->settle_ms, (long long)t->stop_ms,
           t->w.note[0] != '\0' ? "  " : "", t->w.note);
    if (t->w.wrongs > 0) printf("         %s\n", t->w.why);
}

static void say_row(const struct trial *t, const char *verdict) { /* Markdown */
    const struct figures *b = &t->before, *d = &t->during;
    printf("| %s | %s | %zu | %.1f / %.1f | %.1f / %.1f | %.1f | %.1f / %.1f | %.1f / %.1f | %.1f "
           "| %zu / %zu / %zu | %s",
           t->w.row->name, t->w.row->finding, t->w.n, b->create50, b->create99, d->create50,
           d->create99, ratio_of(d->create99, b->create99), b->read50, b->read99, d->read50,
           d->read99, ratio_of(d->read99, b->read99), t->w.served, t->w.refused, t->w.silent,
           verdict);
    if (beta_ends(&t->w))
        printf("; end %.1f / %.1f, beside %.1f / %.1f, ratio %.1f", b->end50, b->end99, d->end50,
               d->end99, ratio_of(d->end99, b->end99));
    printf(" |\n");
}

static void json_of(struct trial *t, const char *verdict, struct buf *b) {
    struct jw j;
    const struct {
        const char *name;
        double v;
    } F[] = {{"createP50QuietMs", t->before.create50},
             {"createP99QuietMs", t->before.create99},
             {"createP50Ms", t->during.create50},
             {"createP99Ms", t->during.create99},
             {"readP50QuietMs", t->before.read50},
             {"readP99QuietMs", t->before.read99},
             {"readP50Ms", t->during.read50},
             {"readP99Ms", t->during.read99},
             {"endP50QuietMs", t->before.end50},
             {"endP99QuietMs", t->before.end99},
             {"endP50Ms", t->during.end50},
             {"endP99Ms", t->during.end99}};
    jw_init(&j, b);
    jw_object(&j);
    jw_kstrz(&j, "attack", t->w.row->name);
    jw_kstrz(&j, "finding", t->w.row->finding);
    jw_kstrz(&j, "verdict", verdict);
    jw_kint(&j, "size", (int64_t)t->w.n);
    for (size_t i = 0; i < sizeof F / sizeof *F; i++) {
        jw_key(&j, F[i].name);
        jw_double(&j, F[i].v);
    }
    jw_kint(&j, "betaUnanswered", (int64_t)t->beside.unanswered);
    jw_kint(&j, "betaRefused", (int64_t)t->beside.refused);
    jw_kint(&j, "served", (int64_t)t->w.served);
    jw_kint(&j, "refused", (int64_t)t->w.refused);
    jw_kint(&j, "silent", (int64_t)t->w.silent);
    jw_kint(&j, "rssBefore", t->before.rss);
    jw_kint(&j, "rssMax", t->rss_max);
    jw_kint(&j, "rssAfter", t->usual.rss);
    jw_kint(&j, "diskBytes", t->disk);
    jw_kint(&j, "attackMs", t->attack_ms);
    jw_kint(&j, "settleMs", t->settle_ms);
    jw_kint(&j, "stopMs", t->stop_ms);
    jw_kstrz(&j, "wrong", t->w.why);
    jw_end_object(&j);
}

static void say(struct plan *p, struct trial *t, const char *verdict) {
    struct buf b;
    if (p->bench) say_row(t, verdict);
    else say_line(t, verdict);
    if (p->json == NULL) return;
    buf_init(&b, 1 << 16);
    json_of(t, verdict, &b);
    fprintf(p->json, "%s\n", b.p != NULL ? b.p : "");
    fflush(p->json);
    buf_fini(&b);
}

/* --- one row --- */

static bool begin(struct plan *p, struct trial *t, const struct attack *row) {
    char why[512] = "";
    struct world *w = &t->w;
    const struct host_start s = {.binary = p->binary,
                                 .args = p->full ? row->full_args : row->small_args,
                                 .files = p->full ? row->full_files : row->small_files,
                                 .resolv = row->resolv,
                                 .packs = (row->flags & WITH_PACKS) != 0};
    w->row = row;
    w->full = p->full;
    w->slow = p->slow;
    w->n = p->full ? row->full : row->small;
    if (!host_up(&w->host, &s, why, sizeof why)) {
        wrong(w, "%s", why);
        return false;
    }
    line_init(&w->alpha, w->host.port, FROM_ATTACKER);
    line_init(&w->beta, w->host.port, FROM_BETA);
    w->disk_before = host_disk(&w->host);
    return true;
}

static void end(struct trial *t) {
    int64_t took;
    if (t->w.host.pid > 0) (void)host_stop(&t->w.host, 0, &took);
    if (getenv("WOPR_ATTACK_KEEP") == NULL) host_remove(&t->w.host);
    else printf("         kept: %s\n", t->w.host.dir);
    probe_fini(&t->quiet);
    probe_fini(&t->beside);
    probe_fini(&t->after);
    mem_free(t->w.acked.ids);
}

static enum outcome go_all(struct plan *p, const struct attack *row, bool again) {
    struct trial t = {0};
    if (begin(p, &t, row)) {
        go_quiet(&t, p->bench ? QUIET_ROUNDS_BENCH : QUIET_ROUNDS);
        go_attack(&t, p->bench);
        go_settle(&t, p->full ? SETTLE_FULL_MS : SETTLE_SMALL_MS);
        go_check(&t);
        go_stop(&t, p->binary);
    }
    const bool held = t.w.wrongs == 0, late = !held && again && t.w.wrongs == t.w.lates;
    say(p, &t, late ? "again" : !held ? "FAILED" : t.attacker_refused ? "refused" : "held");
    end(&t);
    return late ? LATE_ONLY : held ? HELD : FAILED;
}

/* Small attacks that only made something late are judged again: what delays others always does so,
 * a neighbour of the machine does not. */
enum outcome judge_one(struct plan *p, const struct attack *row) {
    if ((row->flags & NEEDS_ROOT) != 0 && !host_may_have_resolv()) {
        printf("skipped  %s: no mount namespace for a resolver of its own\n", row->name);
        return SKIPPED;
    }
    if ((row->flags & FULL_ONLY) != 0 && !p->full) {
        printf("skipped  %s: only with --full, its size is the time it takes\n", row->name);
        return SKIPPED;
    }
    enum outcome is = LATE_ONLY;
    for (int i = 1; is == LATE_ONLY; i++)
        is = go_all(p, row, !p->full && !p->bench && i < ATTEMPTS);
    return is;
}

void judge_begin(struct plan *p) {
    if (p->json_path != NULL && (p->json = fopen(p->json_path, "w")) == NULL)
        fprintf(stderr, "attack: %s cannot be written\n", p->json_path);
    if (!p->bench) return;
    printf(
        "| attack | finding | n | create quiet p50 / p99 ms | beside p50 / p99 | p99 ratio | read "
        "quiet p50 / p99 ms | beside p50 / p99 | p99 ratio | alpha ok / refused / silent | |\n"
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---|\n");
}

void judge_end(struct plan *p) {
    if (p->json != NULL) fclose(p->json);
}
