/* fig_host.c: figures about the process: memory, start, payload checks. */
#include "bench.h"

#include "domain/plan.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { START_SECONDS_MAX = 120, CHECK_ROUNDS = 20000 };

int cmd_memory(const struct options *o) {
    struct report r;
    int64_t rss = proc_rss_bytes(o->pid);
    if (rss < 0) {
        fprintf(stderr, "wopr-bench: memory needs --pid of a running process\n");
        return 1;
    }
    report_begin(&r, "memory", o);
    report_value(&r, "rss", (double)rss / 1048576.0, "MiB");
    return report_end(&r);
}

/* ------------------------------------------------------------------ start */
/* Milliseconds from fork to the first answered request; -1 when it never came. */
static double start_once(const struct options *o) {
    struct options mine = *o;
    struct target t;
    char port[16], url[64];
    uint16_t no = proc_free_port();
    (void)snprintf(port, sizeof port, "%u", no);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u", no);
    mine.url = url;
    if (no == 0 || target_parse(&t, &mine) != 0) return -1;
    char *argv[] = {(char *)o->wopr, "serve", "--port", port,          "--ops-port", "-1",
                    "--log-level",   "error", "--db",   (char *)o->db, NULL};
    setenv("OPENWOP_API_KEY", o->key ? o->key : "wopr-bench-start-key", 1);
    uint64_t t0 = clock_mono_ns(), end = t0 + START_SECONDS_MAX * BENCH_NS;
    pid_t pid = proc_spawn(argv, "/dev/null");
    double ms = -1;
    while (pid > 0 && clock_mono_ns() < end) {
        if (http_once(&t, "GET", "/.well-known/openwop", STR_NONE, NULL, 1000) == 200) {
            ms = (double)(clock_mono_ns() - t0) / 1e6;
            break;
        }
        usleep(300);
    }
    proc_stop(pid);
    return ms;
}

int cmd_startup(const struct options *o) {
    static struct hist h;
    struct report r;
    struct stat st;
    if (!o->wopr || !o->db) {
        fprintf(stderr, "wopr-bench: startup needs --wopr PROGRAM and --db FILE\n");
        return 1;
    }
    double first = start_once(o);
    for (int64_t i = 0; first >= 0 && i < o->rounds; i++) {
        double ms = start_once(o);
        if (ms < 0) break;
        hist_add(&h, (uint64_t)(ms * 1e6));
    }
    if (first < 0 || h.n == 0) {
        fprintf(stderr, "wopr-bench: the host did not answer\n");
        return 1;
    }
    report_begin(&r, "startup", o);
    report_value(&r, "database", stat(o->db, &st) == 0 ? (double)st.st_size / 1048576.0 : 0, "MiB");
    report_value(&r, "first", first, "ms");
    report_hist(&r, "start_to_answer", &h);
    return report_end(&r);
}

/* ------------------------------------------------------------------ payload checks */
int cmd_validation(const struct options *o) {
    static const struct {
        const char *name;
        enum ev_kind kind;
        const char *payload;
    } samples[] = {
        {"run_started", EV_RUN_STARTED,
         "{\"workflowId\":\"conformance-noop\",\"inputs\":{},\"transport\":\"rest\","
         "\"engineVersion\":\"1\"}"},
        {"node_started", EV_NODE_STARTED,
         "{\"nodeId\":\"noop\",\"typeId\":\"core.noop\",\"attempt\":0}"},
        {"node_completed", EV_NODE_COMPLETED,
         "{\"nodeId\":\"noop\",\"outputs\":{},\"durationMs\":0}"},
        {"run_completed", EV_RUN_COMPLETED, "{\"outputs\":{\"noop\":{}},\"durationMs\":0}"},
    };
    struct payload_rules *rules;
    struct wopr_error err = {0};
    struct report r;
    double sum = 0;
    uint64_t t0 = clock_mono_ns();
    if (payload_rules_new(&rules, &err) != 0) {
        fprintf(stderr, "wopr-bench: %s\n", err.message);
        return 1;
    }
    report_begin(&r, "validation", o);
    report_value(&r, "compile_rules", (double)(clock_mono_ns() - t0) / 1e6, "ms");
    int rc = 0;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        for (int k = 0; k < CHECK_ROUNDS / 10; k++)
            rc |= payload_check(rules, samples[i].kind, str_c(samples[i].payload), &err);
        t0 = clock_mono_ns();
        for (int k = 0; k < CHECK_ROUNDS; k++)
            rc |= payload_check(rules, samples[i].kind, str_c(samples[i].payload), &err);
        double us = (double)(clock_mono_ns() - t0) / 1e3 / CHECK_ROUNDS;
        report_value(&r, samples[i].name, us, "us");
        sum += us;
    }
    report_value(&r, "one_noop_run", sum, "us");
    payload_rules_free(rules);
    return report_end(&r) != 0 || rc != 0 ? 1 : 0;
}
