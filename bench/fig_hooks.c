/* fig_hooks.c: figures about webhooks: deliveries a second, and what runs pay for them. */
#include "bench.h"

enum { EVENTS_EACH = 2 };

static bool subscribe(const struct target *t) {
    char body[160];
    (void)snprintf(body, sizeof body,
                   "{\"url\":\"http://127.0.0.1:%d/\",\"events\":[\"run.started\","
                   "\"run.completed\"]}",
                   sink_port());
    return http_once(t, "POST", "/v1/webhooks", str_c(body), NULL, 5000) == 201;
}

static int hooks_row(struct report *r, const struct target *t, unsigned hooks) {
    char name[64];
    double created = 0, delivered = 0;
    uint64_t want = (uint64_t)r->o->runs * EVENTS_EACH * hooks;
    if (!sink_measure(t, r->o, want, &created, &delivered)) return 1;
    (void)snprintf(name, sizeof name, "runs_per_s_%u", hooks);
    report_value(r, name, (double)r->o->runs / created, "1/s");
    if (hooks == 0) return 0;
    (void)snprintf(name, sizeof name, "deliveries_per_s_%u", hooks);
    report_value(r, name, (double)want / delivered, "1/s");
    return 0;
}

int cmd_webhooks(const struct options *o) {
    static const unsigned STEPS[] = {0, 1, 4, 16};
    struct target t;
    struct report r;
    unsigned hooks = 0;
    double warm;
    if (!sink_start()) return 1;
    pid_t pid = own_host_start(&t, o, NULL);
    int rc = pid > 0 ? 0 : 1;
    if (rc == 0) rc = sink_measure(&t, o, 0, &warm, &warm) ? 0 : 1;
    report_begin(&r, "webhooks", o);
    for (size_t i = 0; rc == 0 && i < sizeof STEPS / sizeof *STEPS; i++) {
        for (; rc == 0 && hooks < STEPS[i]; hooks++) rc = subscribe(&t) ? 0 : 1;
        if (rc == 0) rc = hooks_row(&r, &t, hooks);
    }
    if (pid > 0) proc_stop(pid);
    sink_stop();
    return report_end(&r) != 0 ? 1 : rc;
}
