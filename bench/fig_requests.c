/*
 * fig_requests.c: runs of one request to the outside each, against a receiver that answers at once:
 * two commits more than an empty run, and the way through the guard and libcurl.
 */
#include "bench.h"

/* Runs that are there at once: of a tenant so many requests may wait, and more (a quarter of the
 * egress queue) fail their nodes. */
enum { AT_ONCE = 500 };
static const char NAME[] = "bench-request";

static bool workflow_put(const struct target *t) {
    char body[640], path[64];
    (void)snprintf(path, sizeof path, "/v1/host/wopr/workflows/%s", NAME);
    (void)snprintf(
        body, sizeof body,
        "{\"id\":\"%s\",\"name\":\"One request\",\"version\":\"1\",\"nodes\":[{\"id\":"
        "\"call\",\"typeId\":\"vendor.wopr.http\",\"name\":\"Call\",\"position\":{\"x\":0,"
        "\"y\":0},\"inputs\":{},\"config\":{\"url\":\"http://127.0.0.1:%d/\",\"method\":"
        "\"POST\",\"body\":{\"n\":1}}}],\"edges\":[],\"triggers\":[],\"variables\":[],"
        "\"metadata\":{},\"settings\":{}}",
        NAME, sink_port());
    int status = http_once(t, "PUT", path, str_c(body), NULL, 5000);
    if (status == 200 || status == 201) return true;
    fprintf(stderr, "wopr-bench: the workflow was refused: %d\n", status);
    return false;
}

/* --runs in portions, each until the last of its requests was answered; seconds of all, or -1. */
static double portions(const struct target *t, const struct options *o) {
    struct options part = *o;
    double sum = 0, created, all;
    part.workflow = NAME;
    for (int64_t left = o->runs; left > 0; left -= part.runs, sum += all) {
        part.runs = left < AT_ONCE ? left : AT_ONCE;
        if (!sink_measure(t, &part, (uint64_t)part.runs, &created, &all)) return -1;
    }
    return sum;
}

int cmd_requests(const struct options *o) {
    struct target t;
    struct report r;
    double all = 0;
    if (!sink_start()) return 1;
    pid_t pid = own_host_start(&t, o, NULL);
    bool ok = pid > 0 && workflow_put(&t);
    ok = ok && portions(&t, o) > 0;
    double before = ok ? proc_cpu_seconds(pid) : 0;
    ok = ok && (all = portions(&t, o)) > 0;
    report_begin(&r, "requests", o);
    if (ok) {
        double used = proc_cpu_seconds(pid) - before;
        report_value(&r, "requests_per_s", (double)o->runs / all, "1/s");
        report_value(&r, "cpu_us_per_run", used / (double)o->runs * 1e6, "us");
    }
    if (pid > 0) proc_stop(pid);
    sink_stop();
    return report_end(&r) != 0 || !ok ? 1 : 0;
}
