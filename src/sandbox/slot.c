/*
 * slot.c: one worker and the job that it has.  What it says is read up to a bound and judged as
 * JSON before anybody sees it.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "codec/jobj.h"
#include "codec/json.h"
#include "sandbox/frame.h"
#include "sandbox/sandbox_int.h"

#include <stdio.h>

#define GRACE_MS   2000u /* for a worker to say itself that time is over */
#define LOAD_MS    10000
#define SERVED_MAX 1000u /* jobs; then a worker is replaced */
#define GIVEN_UP   1     /* no error code is positive */
#define UNREAD     2     /* the bytes of the module were not to be had: slot.why */

void slot_end(struct slot *w) {
    if (w->child.pid == 0) return;
    pthread_mutex_lock(&w->s->mu);
    w->s->stats.killed++;
    pthread_mutex_unlock(&w->s->mu);
    child_end(&w->child, NULL);
    mem_free(w->tenant);
    w->tenant = NULL;
    w->served = 0;
}

static int worker_start(struct slot *w, const struct job *j, const char **message) {
    static char command[] = "wasm-worker", name[] = "wopr";
    char memory[24];
    snprintf(memory, sizeof memory, "%llu", (unsigned long long)w->s->cfg.memory_max);
    char *argv[] = {name, command, memory, NULL};
    w->tenant = mem_strndup(j->tenant, strlen(j->tenant));
    if (!w->tenant) return WOPR_E_NO_MEMORY;
    if (child_start(w->s->program, argv, &w->child) != 0) {
        mem_free(w->tenant);
        w->tenant = NULL;
        *message = "the process for modules could not be started";
        return WOPR_E_UNAVAILABLE;
    }
    pthread_mutex_lock(&w->s->mu);
    w->s->stats.started++;
    pthread_mutex_unlock(&w->s->mu);
    return 0;
}

static int frame_send(struct slot *w, enum frame_kind kind, struct str text, struct str bytes,
                      uint64_t deadline_ms) {
    unsigned char head[FRAME_HEAD];
    const struct frame f = {kind, (uint32_t)text.n, (uint32_t)bytes.n};
    frame_head_write(&f, head);
    int rc = child_write(&w->child, head, sizeof head, deadline_ms);
    if (rc == 0) rc = child_write(&w->child, text.p, text.n, deadline_ms);
    return rc == 0 ? child_write(&w->child, bytes.p, bytes.n, deadline_ms) : rc;
}

int slot_report_read(struct child *c, struct buf *report, uint64_t deadline_ms) {
    unsigned char head[FRAME_HEAD];
    struct frame f;
    int rc = child_read(c, head, sizeof head, deadline_ms);
    if (rc != 0) return rc;
    if (!frame_head_read(head, &f) || f.kind != FRAME_REPORT || f.bytes_n != 0 || f.text_n == 0 ||
        f.text_n > FRAME_REPORT_MAX)
        return WOPR_E_INTERNAL;
    char *text = mem_alloc(f.text_n);
    if (!text) return WOPR_E_NO_MEMORY;
    rc = child_read(c, text, f.text_n, deadline_ms);
    struct str s = str_n(text, f.text_n);
    if (rc == 0 && (json_check(s, &JSON_LIMITS_DEFAULT, NULL) != 0 ||
                    json_type_of(json_get(s, "outcome")) != JSON_STRING))
        rc = WOPR_E_INTERNAL;
    if (rc == 0) {
        buf_reset(report);
        buf_adds(report, s);
        if (buf_failed(report)) rc = WOPR_E_NO_MEMORY;
    }
    mem_free(text);
    return rc;
}

static bool head_write(struct buf *b, const struct job *j, int time_ms, bool node) {
    struct jw w;
    jw_init(&w, b);
    jw_object(&w);
    jw_kstrz(&w, "module", j->module->digest);
    if (node) jw_kstr(&w, "node", str_n(j->node, j->node_n));
    jw_kint(&w, "memoryMax", (int64_t)j->memory_max);
    jw_kint(&w, "timeMs", time_ms);
    jw_end_object(&w);
    return !buf_failed(b);
}

static bool report_says(const struct buf *report, const char *code) {
    struct str raw = json_get(buf_str(report), "code");
    return raw.n >= 2 && str_eqc(str_n(raw.p + 1, raw.n - 2), code);
}

/* How long a worker is waited for: the time that it may take of a processor, and more while it has
 * none because others compute.  One that does nothing is not waited for. */
struct patience {
    uint64_t time_ms; /* with the grace for saying so itself */
    uint64_t until_ms, end_ms, cpu_until_ms;
};

static void patience_begin(struct patience *p, const struct slot *w, int time_ms) {
    struct child_usage u = {0};
    uint64_t now_ms = clock_mono_ms();
    (void)!child_usage(&w->child, &u);
    p->time_ms = (uint64_t)time_ms + GRACE_MS;
    p->until_ms = now_ms + p->time_ms;
    p->cpu_until_ms = u.cpu_ms + p->time_ms;
    p->end_ms = now_ms + (uint64_t)time_ms * FRAME_WALL_TIMES + GRACE_MS;
}

static bool patience_lasts(struct patience *p, const struct slot *w) {
    struct child_usage u;
    uint64_t now_ms = clock_mono_ms();
    if (now_ms >= p->end_ms || !child_usage(&w->child, &u) || !u.runnable ||
        u.cpu_ms >= p->cpu_until_ms)
        return false;
    p->until_ms = now_ms + (p->cpu_until_ms - u.cpu_ms);
    if (p->until_ms > p->end_ms) p->until_ms = p->end_ms;
    return true;
}

static int report_await(struct slot *w, struct patience *p) {
    int rc;
    do rc = child_poll(&w->child, p->until_ms);
    while (rc == WOPR_E_UNAVAILABLE && patience_lasts(p, w));
    return rc;
}

/* The bytes of a module are held for as long as they are sent. */
static int slot_exchange(struct slot *w, const struct job *j, bool load, struct buf *report) {
    int time_ms = load ? LOAD_MS : j->time_ms;
    struct str bytes = str_n(j->message, j->message_n);
    if (load && module_hold(w->s, j->module, &bytes, &w->why) != 0) return UNREAD;
    struct patience p;
    patience_begin(&p, w, time_ms);
    struct buf head;
    buf_init(&head, FRAME_TEXT_MAX);
    int rc = head_write(&head, j, time_ms, !load) ? 0 : WOPR_E_NO_MEMORY;
    if (rc == 0)
        rc = frame_send(w, load ? FRAME_LOAD : FRAME_INVOKE, buf_str(&head), bytes, p.until_ms);
    if (load) module_let(w->s, j->module);
    if (rc == 0) rc = report_await(w, &p);
    if (rc == 0) rc = slot_report_read(&w->child, report, clock_mono_ms() + p.time_ms);
    buf_fini(&head);
    return rc;
}

/* Load when asked to, or when the worker does not have it; then invoke. */
static int slot_converse(struct slot *w, const struct job *j, struct buf *report) {
    if (j->node_n == 0) return slot_exchange(w, j, true, report);
    int rc = slot_exchange(w, j, false, report);
    if (rc != 0 || !report_says(report, "module_unknown")) return rc;
    rc = slot_exchange(w, j, true, report);
    if (rc != 0 || json_get(buf_str(report), "types").n == 0) return rc;
    return slot_exchange(w, j, false, report);
}

/* A report that no worker made; the object is left open. */
static void report_begin(struct jw *w, struct buf *report, const char *code, const char *message) {
    buf_reset(report);
    jw_init(w, report);
    jw_object(w);
    jw_kstrz(w, "outcome", "failed");
    jw_kstrz(w, "code", code);
    jw_kstrz(w, "message", message);
}

/* The worker did not stop in time (WASM-13), whatever it was doing. */
static int report_late(const struct job *j, struct buf *report) {
    struct jw w;
    report_begin(&w, report, "wasm_execution_time_exceeded",
                 "the node took longer than the host lets a module execute; its process was ended");
    jw_key(&w, "cap");
    jw_object(&w);
    jw_kstrz(&w, "kind", "wasm-execution-time");
    jw_kint(&w, "limit", j->time_ms);
    jw_kint(&w, "observed", (int64_t)j->time_ms + (int64_t)GRACE_MS);
    jw_end_object(&w);
    jw_end_object(&w);
    return buf_failed(report) ? WOPR_E_NO_MEMORY : 0;
}

/* What passes may be tried again.  Of what does not, a node is told by a report, which is final: a
 * pack that is damaged is mended by people and not by trying. */
static int report_unread(const struct slot *w, const struct job *j, struct buf *report,
                         struct sandbox_report *out) {
    struct jw o;
    out->message = w->why.message;
    if (wopr_err_passes(w->why.code)) return WOPR_E_UNAVAILABLE;
    if (j->node_n == 0) return w->why.code; /* who loads it has no run, and may ask again */
    report_begin(&o, report,
                 w->why.code == WOPR_E_PACK_INTEGRITY ? "pack_integrity_failure"
                                                      : "pack_load_failure",
                 w->why.message);
    jw_end_object(&o);
    return buf_failed(report) ? WOPR_E_NO_MEMORY : 0;
}

static bool job_take(struct slot *w, struct job *j) { /* cancelled meanwhile? */
    pthread_mutex_lock(&w->s->mu);
    bool go = !j->cancelled && !w->s->stopping;
    j->pid = go ? w->child.pid : 0;
    pthread_mutex_unlock(&w->s->mu);
    return go;
}

static bool job_leave(struct slot *w, struct job *j) { /* was it cancelled? */
    pthread_mutex_lock(&w->s->mu);
    j->pid = 0;
    bool cancelled = j->cancelled || w->s->stopping;
    pthread_mutex_unlock(&w->s->mu);
    return cancelled;
}

static int slot_attempt(struct slot *w, struct job *j, struct buf *report, const char **message) {
    int rc = w->child.pid == 0 ? worker_start(w, j, message) : 0;
    if (rc != 0) return rc;
    if (!job_take(w, j)) return GIVEN_UP;
    rc = slot_converse(w, j, report);
    bool cancelled = job_leave(w, j);
    w->served++;
    bool sound = rc == 0 || (rc == UNREAD && !cancelled);
    if (!sound || w->served >= SERVED_MAX) slot_end(w);
    if (cancelled && rc != 0) return GIVEN_UP;
    return rc;
}

/* The code of a report, and with it what the worker did. */
static int outcome_of(int rc, const struct slot *w, const struct job *j, struct buf *report,
                      struct sandbox_report *out) {
    switch (rc) {
    case UNREAD:
        return report_unread(w, j, report, out);
    case 0:
    case WOPR_E_NO_MEMORY:
        return rc;
    case GIVEN_UP:
        out->message = "the request was given up";
        return WOPR_E_CLOSED;
    case WOPR_E_UNAVAILABLE:
        return *out->message == '\0' ? report_late(j, report) : rc;
    case WOPR_E_CLOSED:
        out->message = "the process that executed the module ended";
        out->ended = true;
        return WOPR_E_UNAVAILABLE;
    case WOPR_E_INTERNAL:
        out->message = "the process that executed the module sent no report";
        return WOPR_E_UNAVAILABLE;
    default:
        return WOPR_E_UNAVAILABLE;
    }
}

void slot_execute(struct slot *w, struct job *j, struct buf *report, struct sandbox_report *out) {
    out->message = "";
    if (w->child.pid != 0 && strcmp(w->tenant, j->tenant) != 0) slot_end(w);
    bool fresh = w->child.pid == 0;
    int rc = slot_attempt(w, j, report, &out->message);
    if (rc == WOPR_E_CLOSED && !fresh) /* it had ended before: a spent worker does */
        rc = slot_attempt(w, j, report, &out->message);
    out->rc = outcome_of(rc, w, j, report, out);
}
