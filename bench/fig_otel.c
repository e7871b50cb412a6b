/* fig_otel.c: what telemetry costs: the same runs without it, and with it in both forms. */
#include "bench.h"

enum { SETTLE_MS = 1500 }; /* what is queued is sent within a second */

static int form_row(struct report *r, const struct options *o, const char *form) {
    char url[64], name[64];
    struct target t;
    double warm, created, all;
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d", sink_port());
    const char *more[] = {"--otel-endpoint", url, "--otel-protocol", form, "--otel-queue-max",
                          "1000000",         NULL};
    pid_t pid = own_host_start(&t, o, form ? more : NULL);
    bool ok = pid > 0 && sink_measure(&t, o, 0, &warm, &all);
    if (ok) pause_ms(SETTLE_MS);
    double before = ok ? proc_cpu_seconds(pid) : 0;
    ok = ok && sink_measure(&t, o, 0, &created, &all);
    if (ok) pause_ms(SETTLE_MS);
    double used = ok ? proc_cpu_seconds(pid) - before : 0;
    if (pid > 0) proc_stop(pid);
    if (!ok) return 1;
    const char *word = !form ? "off" : strchr(form, 'j') ? "json" : "protobuf";
    (void)snprintf(name, sizeof name, "runs_per_s_%s", word);
    report_value(r, name, (double)o->runs / created, "1/s");
    (void)snprintf(name, sizeof name, "cpu_us_per_run_%s", word);
    report_value(r, name, used / (double)o->runs * 1e6, "us");
    return 0;
}

int cmd_telemetry(const struct options *o) {
    static const char *const FORMS[] = {NULL, "http/protobuf", "http/json"};
    struct report r;
    int rc = sink_start() ? 0 : 1;
    if (rc != 0) return rc;
    report_begin(&r, "telemetry", o);
    for (size_t i = 0; rc == 0 && i < sizeof FORMS / sizeof *FORMS; i++)
        rc = form_row(&r, o, FORMS[i]);
    sink_stop();
    return report_end(&r) != 0 ? 1 : rc;
}
