/*
 * bench.h: the load generator wopr-bench.  What each figure means is in BENCHMARKS.md; this header
 * is the inside.  One thread, epoll, no sharing: a figure is one call of one cmd_* function.
 * Times are nanoseconds of the monotonic clock unless the name says otherwise.
 */
#ifndef WOPR_BENCH_H
#define WOPR_BENCH_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "codec/json.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/types.h>

#define BENCH_NS          1000000000ull
#define BENCH_CONNS_MAX   4096u
#define BENCH_STREAMS_MAX 19000u
#define BENCH_RUN_ID_MAX  64u
#define BENCH_RUNS_MAX    10000000u
#define BENCH_SECONDS_MAX 3600.0

/* ------------------------------------------------------------------ options, one for all figures
 */
struct options {
    const char *url, *key, *workflow, *json, *commit, *label, *path, *pub, *method, *db, *wopr;
    const char *sync, *inputs;
    double seconds, warmup, rate;
    int64_t connections, runs, streams, rounds, slices, pid, port, threads, bytes;
    int argc;
    char **argv;
};

/* ------------------------------------------------------------------ histogram (hist.c) */
/* Log-linear: 64 steps per power of two, so a value is kept to within 1.6 %. */
enum { HIST_SUB_BITS = 6, HIST_BUCKETS = (64 - HIST_SUB_BITS + 1) << HIST_SUB_BITS };
struct hist {
    uint64_t n, max;
    double sum;
    uint64_t count[HIST_BUCKETS];
};
void hist_add(struct hist *h, uint64_t value);
uint64_t hist_at(const struct hist *h, double share); /* 0.99 = 99th percentile; 0 when empty */

/* ------------------------------------------------------------------ report (report.c) */
struct report {
    const char *figure;
    const struct options *o;
    struct buf rows; /* members of "results" */
    bool any;
};
void report_begin(struct report *r, const char *figure, const struct options *o);
void report_value(struct report *r, const char *name, double value, const char *unit);
/* p50, p90, p99, p99.9, max and the count, in milliseconds. */
void report_hist(struct report *r, const char *name, const struct hist *h);
int report_end(struct report *r); /* writes --json; 0 or 1 (exit status) */

/* ------------------------------------------------------------------ processes (proc.c) */
int64_t proc_rss_bytes(int64_t pid); /* -1 when there is no such process */
double proc_cpu_seconds(int64_t pid);
void proc_facts(struct jw *w);
bool proc_files(uint64_t want); /* raise RLIMIT_NOFILE; false when the limit does not allow it */
pid_t proc_spawn(char *const argv[], const char *out_path); /* stdout and stderr to out_path */
void proc_stop(pid_t pid);                                  /* SIGTERM, then SIGKILL after 10 s */
uint16_t proc_free_port(void);

/* --- sink.c: what leaves a host --- */
bool sink_start(void); /* a receiver of posts on loopback, one thread; answers 204 at once */
int sink_port(void);
void sink_stop(void);
/* The host --wopr on --db, with more arguments (ending with NULL, or NULL).  -1: no answer. */
struct target;
struct options;
pid_t own_host_start(struct target *t, const struct options *o, const char *const *more);
/* --runs in a closed loop, then until `want` posts came; seconds of the creation, and of all. */
bool sink_measure(const struct target *t, const struct options *o, uint64_t want, double *created,
                  double *delivered);
void pause_ms(unsigned ms);

/* ------------------------------------------------------------------ HTTP client (http.c) */
struct target {
    struct sockaddr_in addr;
    char host[80];  /* Host header */
    char auth[320]; /* whole header line with CRLF, or empty */
};
int target_parse(struct target *t, const struct options *o); /* 0 or 1, with a message */
void request_make(struct buf *out, const struct target *t, const char *method, const char *path,
                  const char *accept, struct str body);
/* One answer at the start of b. */
struct answer {
    int status;
    size_t bytes;    /* of the whole message */
    struct str body; /* decoded, in b or in scratch */
    bool close;
};
/* 1: whole; 0: more bytes needed; -1: not HTTP. */
int answer_parse(const struct buf *b, struct buf *scratch, struct answer *out);
int connect_start(const struct target *t); /* non-blocking socket or -1 */
/* One request, waiting for the answer at most timeout_ms.  The body is left in *body. */
int http_once(const struct target *t, const char *method, const char *path, struct str request_body,
              struct buf *body, unsigned timeout_ms); /* status, or -1 */
/* POST /v1/runs of --workflow; the run id.  false: refused. */
bool run_id_of(struct str body, char out[BENCH_RUN_ID_MAX]);
int run_create(const struct target *t, const char *workflow, const char *inputs,
               char out[BENCH_RUN_ID_MAX]);

/* ------------------------------------------------------------------ load (load.c) */
enum load_wait { LOAD_WHOLE, LOAD_FIRST_EVENT }; /* when is an answer complete? */
struct load_request {
    struct buf *out; /* append the request here */
    enum load_wait wait;
    uint64_t tag; /* comes back in load_answer */
};
struct load_answer {
    int status;
    struct str body;
    uint64_t tag, due_ns, sent_ns, now_ns;
};
struct load {
    const struct target *target;
    unsigned connections;
    double rate;                                     /* requests per second; 0 = closed loop */
    uint64_t deadline_ns;                            /* nothing new after it */
    bool (*next)(void *ctx, struct load_request *q); /* false: no more work */
    /* true: q holds a follow-up for the same connection, with the same due time. */
    bool (*done)(void *ctx, const struct load_answer *a, struct load_request *q);
    void *ctx;
    uint64_t errors; /* broken connections and answers */
};
int load_run(struct load *l); /* 0, or 1 when it could not run at all */

/* ------------------------------------------------------------------ SSE clients (sse.c) */
struct sse_stream {
    int fd;
    uint8_t state, match;
    bool seen;
    uint64_t events;
};
struct sse {
    struct sse_stream *v;
    unsigned n, open, failed, ended;
    int ep;
    /* one round of fan-out */
    uint64_t t0_ns;
    unsigned seen;
    struct hist *latency;
};
int sse_open(struct sse *s, const struct target *t, const char *path, unsigned n);
void sse_close(struct sse *s);
/* Read what comes until want streams have seen an event of this round, or until_ns. */
void sse_pump(struct sse *s, unsigned want, uint64_t until_ns);
void sse_round(struct sse *s, struct hist *latency); /* forget who has seen; starts the clock */

/* ------------------------------------------------------------------ figures */
int accepted_as(const struct options *o, const char *figure); /* the figure, under this name */
int cmd_accepted(const struct options *o);
int cmd_accepted_beside(const struct options *o);
int cmd_completed(const struct options *o);
int cmd_flat(const struct options *o);
int cmd_reads(const struct options *o);
int cmd_replays(const struct options *o);
int cmd_latency(const struct options *o);
int cmd_first_event(const struct options *o);
int cmd_echo(const struct options *o);
int cmd_idle_streams(const struct options *o);
int cmd_fanout(const struct options *o);
int cmd_long_run(const struct options *o);
int cmd_interrupts(const struct options *o);
int cmd_forks(const struct options *o);
int cmd_takeover(const struct options *o);
int cmd_answers(const struct options *o);
int cmd_webhooks(const struct options *o);
int cmd_telemetry(const struct options *o);
int cmd_requests(const struct options *o);
int cmd_packs(const struct options *o);
int cmd_memory(const struct options *o);
int cmd_startup(const struct options *o);
int cmd_validation(const struct options *o);
int cmd_workspec(const struct options *o);
int cmd_sessions(const struct options *o);
int cmd_sqlite(const struct options *o);
int cmd_fill(const struct options *o);
int cmd_bare(const struct options *o);
int cmd_port(const struct options *o);

#endif
