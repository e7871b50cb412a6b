/*
 * delay.c: core.delay (NODE-33, NODE-34, WF-32).  The wait is a timer row of the run, never a
 * thread.
 */
#include "codec/json.h"
#include "nodes/nodes.h"

/* First present of these; CX-43. */
static struct str delay_duration(const struct node_call *call) {
    const char *const keys[] = {"delayMs", "ms"};
    const struct str from[] = {call->inputs, call->config};
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 2; k++) {
            struct str v = json_get(from[i], keys[k]);
            if (v.n > 0) return v;
        }
    return STR_NONE;
}

void exec_delay(const struct node_call *call, struct node_result *out) {
    struct str raw = delay_duration(call);
    double ms = 0;
    if (raw.n > 0 && !json_double(raw, &ms)) {
        node_invalid(out, "the duration of a delay is not a number");
        return;
    }
    if (!(ms >= 0 && ms <= (double)RUN_WAIT_MS_MAX)) {
        node_invalid(out, "the duration of a delay is negative or longer than a year");
        return;
    }
    if (call->waited || ms < 1) return; /* done, outputs {} */
    out->outcome = NODE_OUT_WAIT;
    out->wait_ms = (int64_t)ms;
}
