/*
 * fig_packs.c: packs: what the sandbox does a second (in this process), what a host does with it,
 * and what those beside a hostile pack notice (bench/pack).
 */
#include "base/fs.h"
#include "bench.h"
#include "packs/archive.h"
#include "sandbox/sandbox.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    OUTSTANDING = 64,
    SPIN_MS = 1000,
    PUBLISH_CONNS = 16,
    TARBALL_BYTES_MAX = 65536,
    HOSTILE_AT_ONCE = 16,
    PATH_BYTES = 512
};
#define PACK "vendor.bench.pack"
#define MESSAGE                                                                                    \
    "{\"request\":{\"abiVersion\":1,\"inputs\":{}},\"variables\":{},\"channels\":{},\"closed\":[]" \
    ","                                                                                            \
    "\"seed\":\"0000000000000000000000000000000000000000000000000000000000000000\",\"nowMs\":0,"   \
    "\"keep\":false,\"calls\":[]}"

/* ------------------------------------------------------------------ the sandbox alone */
struct flood { /* so many invocations at once, until the window is over */
    struct sandbox *box;
    struct sandbox_request request;
    uint64_t from_ns, until_ns, done, failed;
    unsigned flying;
    pthread_mutex_t mu;
    pthread_cond_t over;
};

static void flood_done(void *ctx, const struct sandbox_report *r) {
    struct flood *f = ctx;
    uint64_t now = clock_mono_ns();
    pthread_mutex_lock(&f->mu);
    f->done += r->rc == 0 && now >= f->from_ns && now < f->until_ns;
    f->failed += r->rc != 0;
    bool more = r->rc == 0 && now < f->until_ns;
    pthread_mutex_unlock(&f->mu);
    if (more && sandbox_submit(f->box, &f->request, flood_done, f, NULL) == 0) return;
    pthread_mutex_lock(&f->mu);
    if (--f->flying == 0) pthread_cond_signal(&f->over);
    pthread_mutex_unlock(&f->mu);
}

static bool flood_run(struct sandbox *box, const char *digest, const struct options *o,
                      double *per_s) {
    struct flood f = {.box = box,
                      .request = {.tenant = STR("t"),
                                  .module = str_c(digest),
                                  .node = STR(PACK ".nothing"),
                                  .message = STR(MESSAGE)},
                      .flying = OUTSTANDING};
    pthread_mutex_init(&f.mu, NULL);
    pthread_cond_init(&f.over, NULL);
    f.from_ns = clock_mono_ns() + (uint64_t)(o->warmup * 1e9);
    f.until_ns = f.from_ns + (uint64_t)(o->seconds * 1e9);
    for (int i = 0; i < OUTSTANDING; i++)
        if (sandbox_submit(box, &f.request, flood_done, &f, NULL) != 0) f.flying--;
    pthread_mutex_lock(&f.mu);
    while (f.flying > 0) pthread_cond_wait(&f.over, &f.mu);
    pthread_mutex_unlock(&f.mu);
    pthread_cond_destroy(&f.over);
    pthread_mutex_destroy(&f.mu);
    *per_s = (double)f.done / o->seconds;
    return f.failed == 0 && f.done > 0;
}

static int ask(struct sandbox *box, const char *digest, const char *node, int time_ms,
               struct buf *out) {
    const struct sandbox_request r = {.tenant = STR("t"),
                                      .module = str_c(digest),
                                      .node = str_c(node),
                                      .message = STR(MESSAGE),
                                      .time_ms = time_ms};
    buf_reset(out);
    return sandbox_ask(box, &r, out, NULL, NULL);
}

/* Steps that a worker counts in a second of an endless loop. */
static bool steps_row(struct report *r, struct sandbox *box, const char *digest) {
    struct buf out;
    int64_t steps = 0;
    buf_init(&out, 1 << 20);
    uint64_t t0 = clock_mono_ns();
    bool ok = ask(box, digest, PACK ".spin", SPIN_MS, &out) == 0 &&
              json_int(json_get(buf_str(&out), "steps"), &steps) && steps > 0;
    double s = (double)(clock_mono_ns() - t0) / 1e9;
    buf_fini(&out);
    if (ok) report_value(r, "steps_per_s", (double)steps / s, "1/s");
    return ok;
}

static bool single_rows(struct report *r, struct sandbox *box, const char *digest,
                        const struct options *o) {
    struct hist *call = mem_zalloc(sizeof *call), *load = mem_zalloc(sizeof *load);
    struct buf out;
    bool ok = call && load;
    buf_init(&out, 1 << 20);
    for (int64_t i = 0; ok && i < 50 * o->rounds; i++) {
        uint64_t t0 = clock_mono_ns();
        ok = ask(box, digest, PACK ".nothing", 0, &out) == 0;
        uint64_t t1 = clock_mono_ns();
        ok = ok && ask(box, digest, "", 0, &out) == 0;
        hist_add(call, t1 - t0);
        hist_add(load, clock_mono_ns() - t1);
    }
    buf_fini(&out);
    if (ok) report_hist(r, "invocation", call);
    if (ok) report_hist(r, "load", load);
    if (ok) report_value(r, "loads_per_s", (double)load->n / (load->sum / 1e9), "1/s");
    mem_free(call);
    mem_free(load);
    return ok;
}

static bool sandbox_rows(struct report *r, const struct options *o) {
    static const unsigned WORKERS[] = {1, 0};
    char digest[SANDBOX_DIGEST + 1];
    struct buf module;
    bool ok = fs_read(WOPR_BENCH_PACK "/bench.wasm", SANDBOX_MODULE_MAX, &module) == FS_READ_OK;
    for (int i = 0; ok && i < 2; i++) {
        const struct sandbox_config cfg = {.program = o->wopr, .workers = WORKERS[i]};
        struct sandbox *box = NULL;
        double per_s = 0;
        ok = sandbox_new(&cfg, &box, NULL) == 0 &&
             sandbox_keep(box, buf_str(&module), digest, NULL) == 0;
        if (ok && i == 0) ok = single_rows(r, box, digest, o) && steps_row(r, box, digest);
        ok = ok && flood_run(box, digest, o, &per_s);
        if (ok) report_value(r, i == 0 ? "invocations_per_s_1" : "invocations_per_s", per_s, "1/s");
        sandbox_free(box);
    }
    buf_fini(&module);
    return ok;
}

/* ------------------------------------------------------------------ a host */
static bool command(char *const argv[]) {
    int status = 1;
    pid_t pid = proc_spawn(argv, "/dev/null");
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static bool pack_install(const struct options *o) {
    char tarball[PATH_BYTES];
    (void)snprintf(tarball, sizeof tarball, "%s.tgz", o->db);
    char *build[] = {(char *)o->wopr, "packs", "build", WOPR_BENCH_PACK, "--out", tarball, NULL};
    char *install[] = {(char *)o->wopr, "packs", "install",     tarball, "--pack-trust",
                       "open",          "--db",  (char *)o->db, NULL};
    bool ok = command(build) && command(install);
    (void)unlink(tarball);
    if (!ok) fputs("wopr-bench: the pack of the figure cannot be installed\n", stderr);
    return ok;
}

static bool workflow_put(const struct target *t, const char *type) {
    char body[512], path[96];
    (void)snprintf(path, sizeof path, "/v1/host/wopr/workflows/bench-%s", type);
    (void)snprintf(body, sizeof body,
                   "{\"id\":\"bench-%s\",\"name\":\"One module\",\"version\":\"1\",\"nodes\":[{"
                   "\"id\":\"n\",\"typeId\":\"" PACK ".%s\",\"name\":\"N\",\"position\":{\"x\":0,"
                   "\"y\":0},\"inputs\":{},\"config\":{}}],\"edges\":[],\"triggers\":[],"
                   "\"variables\":[],\"metadata\":{},\"settings\":{}}",
                   type, type);
    int status = http_once(t, "PUT", path, str_c(body), NULL, 20000);
    return status == 200 || status == 201;
}

/* --- registrations --- */
struct publishing {
    const struct target *t;
    int64_t next, all;
    uint64_t taken;
};

static bool tarball_make(int64_t n, struct buf *gz) {
    char manifest[512];
    (void)snprintf(manifest, sizeof manifest,
                   "{\"name\":\"vendor.bench.p%lld\",\"version\":\"1.0.0\",\"engines\":{"
                   "\"openwop\":\"^1\"},\"nodes\":[{\"typeId\":\"vendor.bench.p%lld.it\","
                   "\"version\":\"1.0.0\",\"category\":\"data\",\"role\":\"pure\"}],\"runtime\":{"
                   "\"language\":\"wasm\",\"entry\":\"m.wasm\"}}",
                   (long long)n, (long long)n);
    struct archive_item items[] = {{STR("pack.json"), str_c(manifest)},
                                   {STR("m.wasm"), STR("\0asm\1\0\0\0")}};
    return archive_write(items, 2, gz, NULL) == 0;
}

static bool publish_next(void *ctx, struct load_request *q) {
    struct publishing *p = ctx;
    struct buf gz;
    if (p->next == p->all) return false;
    buf_init(&gz, TARBALL_BYTES_MAX);
    bool ok = tarball_make(p->next, &gz);
    buf_addf(q->out,
             "PUT /v1/packs/vendor.bench.p%lld/-/1.0.0.tgz HTTP/1.1\r\nHost: %s\r\n%s"
             "Content-Type: application/gzip\r\nContent-Length: %zu\r\n\r\n",
             (long long)p->next, p->t->host, p->t->auth, gz.len);
    buf_adds(q->out, buf_str(&gz));
    buf_fini(&gz);
    p->next++;
    return ok;
}

static bool publish_done(void *ctx, const struct load_answer *a, struct load_request *q) {
    struct publishing *p = ctx;
    (void)q;
    p->taken += a->status == 201;
    return false;
}

static bool publish_row(struct report *r, const struct target *t, const struct options *o) {
    struct publishing p = {.t = t, .all = 50 * o->rounds};
    uint64_t t0 = clock_mono_ns();
    struct load l = {.target = t,
                     .connections = PUBLISH_CONNS,
                     .deadline_ns = t0 + 600 * BENCH_NS,
                     .next = publish_next,
                     .done = publish_done,
                     .ctx = &p};
    bool ok = load_run(&l) == 0 && p.taken == (uint64_t)p.all;
    if (ok)
        report_value(r, "publishes_per_s", (double)p.all / ((double)(clock_mono_ns() - t0) / 1e9),
                     "1/s");
    else fputs("wopr-bench: a pack was refused\n", stderr);
    return ok;
}

/* --- runs --- */
static bool run_over(const struct target *t, const char *run) {
    char path[128];
    struct buf body;
    buf_init(&body, 1 << 20);
    (void)snprintf(path, sizeof path, "/v1/runs/%s", run);
    bool over = http_once(t, "GET", path, STR_NONE, &body, 5000) == 200 &&
                str_eqc(json_get(buf_str(&body), "status"), "\"completed\"");
    buf_fini(&body);
    return over;
}

struct starts {
    struct buf request;
    int64_t asked, all;
    char (*ids)[BENCH_RUN_ID_MAX];
    size_t made;
};

static bool start_next(void *ctx, struct load_request *q) {
    struct starts *s = ctx;
    if (s->asked == s->all) return false;
    s->asked++;
    buf_adds(q->out, buf_str(&s->request));
    return true;
}

static bool start_done(void *ctx, const struct load_answer *a, struct load_request *q) {
    struct starts *s = ctx;
    (void)q;
    if (a->status == 201 && run_id_of(a->body, s->ids[s->made])) s->made++;
    return false;
}

/* Created in a closed loop, until the last has completed; a second of all. */
static bool runs_per_s(const struct target *t, const struct options *o, const char *workflow,
                       double *out) {
    struct starts s = {.all = o->runs};
    char body[128];
    (void)snprintf(body, sizeof body, "{\"workflowId\":\"%s\"}", workflow);
    buf_init(&s.request, 4096);
    request_make(&s.request, t, "POST", "/v1/runs", NULL, str_c(body));
    s.ids = mem_array((size_t)o->runs, sizeof *s.ids);
    uint64_t t0 = clock_mono_ns(), end = t0 + 600 * BENCH_NS;
    struct load l = {.target = t,
                     .connections = (unsigned)o->connections,
                     .deadline_ns = end,
                     .next = start_next,
                     .done = start_done,
                     .ctx = &s};
    bool ok = s.ids && load_run(&l) == 0 && s.made == (size_t)s.all;
    for (size_t i = s.made; ok && i-- > 0;)
        while (ok && !run_over(t, s.ids[i])) {
            pause_ms(1);
            ok = clock_mono_ns() < end;
        }
    *out = (double)o->runs / ((double)(clock_mono_ns() - t0) / 1e9);
    mem_free(s.ids);
    buf_fini(&s.request);
    return ok;
}

/* --- beside hostile modules --- */
struct bystander { /* runs of nothing, one after the other at a rate */
    struct buf request;
    struct hist *latency;
    uint64_t refused;
};

static bool beside_next(void *ctx, struct load_request *q) {
    const struct bystander *b = ctx;
    buf_adds(q->out, buf_str(&b->request));
    return true;
}

static bool beside_done(void *ctx, const struct load_answer *a, struct load_request *q) {
    struct bystander *b = ctx;
    (void)q;
    if (a->status == 201) hist_add(b->latency, a->now_ns - a->due_ns);
    else b->refused++;
    return false;
}

static bool beside_run(const struct target *t, const struct options *o, struct hist *latency) {
    struct bystander b = {.latency = latency};
    buf_init(&b.request, 4096);
    request_make(&b.request, t, "POST", "/v1/runs", NULL,
                 STR("{\"workflowId\":\"conformance-noop\"}"));
    struct load l = {.target = t,
                     .connections = 32,
                     .rate = o->rate,
                     .deadline_ns = clock_mono_ns() + (uint64_t)(o->seconds * 1e9),
                     .next = beside_next,
                     .done = beside_done,
                     .ctx = &b};
    bool ok = load_run(&l) == 0 && b.refused == 0 && latency->n > 0;
    buf_fini(&b.request);
    return ok;
}

static bool hostile_rows(struct report *r, const struct target *t, const struct options *o,
                         pid_t pid) {
    static const char *const TYPES[] = {"spin", "grow", "fill"};
    struct hist *quiet = mem_zalloc(sizeof *quiet), *beside = mem_zalloc(sizeof *beside);
    char name[32], run[BENCH_RUN_ID_MAX];
    bool ok = quiet && beside && beside_run(t, o, quiet);
    int64_t before = proc_rss_bytes(pid);
    for (int i = 0; ok && i < HOSTILE_AT_ONCE; i++) {
        (void)snprintf(name, sizeof name, "bench-%s", TYPES[i % 3]);
        ok = run_create(t, name, NULL, run) == 0;
    }
    ok = ok && beside_run(t, o, beside);
    if (ok) {
        report_hist(r, "quiet", quiet);
        report_hist(r, "beside_hostile", beside);
        report_value(r, "beside_p99_ratio",
                     (double)hist_at(beside, 0.99) / (double)hist_at(quiet, 0.99), "x");
        report_value(r, "host_rss_growth", (double)(proc_rss_bytes(pid) - before) / 1e6, "MB");
    }
    mem_free(quiet);
    mem_free(beside);
    return ok;
}

static bool host_rows(struct report *r, const struct options *o) {
    /* The modules of hostile_rows take all of this, one after the other. */
    static const char *const MORE[] = {"--wasm-time-ms", "2000", NULL};
    struct target t;
    double module = 0, nothing = 0;
    if (!pack_install(o)) return false;
    pid_t pid = own_host_start(&t, o, MORE);
    bool ok = pid > 0 && publish_row(r, &t, o);
    ok = ok && workflow_put(&t, "nothing") && workflow_put(&t, "spin") &&
         workflow_put(&t, "grow") && workflow_put(&t, "fill");
    ok = ok && runs_per_s(&t, o, "conformance-noop", &nothing) &&
         runs_per_s(&t, o, "bench-nothing", &module) && runs_per_s(&t, o, "bench-nothing", &module);
    if (ok) {
        report_value(r, "runs_per_s_noop", nothing, "1/s");
        report_value(r, "runs_per_s_module", module, "1/s");
    }
    ok = ok && hostile_rows(r, &t, o, pid);
    if (pid > 0) proc_stop(pid);
    return ok;
}

int cmd_packs(const struct options *o) {
    struct report r;
    if (!o->wopr || !o->db) {
        fputs("wopr-bench: packs needs --wopr and --db\n", stderr);
        return 2;
    }
    report_begin(&r, "packs", o);
    bool ok = sandbox_rows(&r, o) && host_rows(&r, o);
    return report_end(&r) != 0 || !ok ? 1 : 0;
}
