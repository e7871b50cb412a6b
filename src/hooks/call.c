/*
 * call.c: callbacks: which are due, what they say, and what came of them (RUN-1, D57).
 *
 * Each is a delivery of its own, beside subscriptions: one that fails holds up no other.  Only
 * those that are due are in memory, a few of each tenant; what waits is a row.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "hooks/hooks_int.h"
#include "store/events.h"
#include "store/interrupts.h"

#include <stdio.h>

enum {
    LOOK_TENANTS = 64, /* in one look */
    LOOK_AGAIN_MS = 20,
    LOOK_IDLE_MS = 1000
};
#define PAGE_BYTES (1024u * 1024)

/* --- due --- */

/* A clock that was set back keeps no question waiting for longer than the longest wait. */
static int tenant_look(struct hooks *h, int64_t wall_ms, struct wopr_error *err) {
    const int64_t far = wall_ms + 2 * HOOKS_CALL_WAIT_MAX_MS;
    const int64_t ranges[][2] = {{0, wall_ms}, {far, INT64_MAX}};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof ranges / sizeof *ranges; i++) {
        struct callback_list l = {.n = 0};
        rc = store_callbacks_due(h->store, h->call_tenant, h->call_mode, ranges[i][0], ranges[i][1],
                                 2 * HOOKS_TENANT_CALLS_MAX, h->a, &l, err);
        for (size_t k = 0; rc == 0 && k < l.n; k++) {
            rc = table_call(h, &l.v[k]);
            if (rc != 0) wopr_error_set(err, rc, "no memory for callbacks");
        }
    }
    return rc;
}

static int tenant_set(struct hooks *h, struct str name, bool mode, struct wopr_error *err) {
    char *text = name.n > 0 ? mem_strndup(name.p, name.n) : NULL;
    if (name.n > 0 && !text)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for callbacks");
    mem_free((void *)(uintptr_t)h->call_tenant.p);
    h->call_tenant = str_n(text, name.n);
    h->call_mode = mode;
    return 0;
}

void calls_look(struct hooks *h, uint64_t now_ms) {
    struct wopr_error err = {0};
    int64_t wall_ms = clock_wall_ms();
    bool found = true;
    int rc = 0;
    if (now_ms < h->call_ms) return;
    h->call_looked_ms = now_ms;
    for (int i = 0; rc == 0 && found && i < LOOK_TENANTS; i++) {
        struct str name = h->call_tenant.n > 0 ? h->call_tenant : STR("");
        bool mode = h->call_mode;
        arena_reset(h->a);
        rc = store_callback_tenant(h->store, &name, &mode, h->a, &found, &err);
        if (rc == 0) rc = tenant_set(h, found ? name : STR_NONE, found && mode, &err);
        if (rc == 0 && found) rc = tenant_look(h, wall_ms, &err);
    }
    if (rc != 0) hooks_trouble(h, "callbacks cannot be read", &err);
    h->call_ms = now_ms + (rc == 0 && found ? LOOK_AGAIN_MS : LOOK_IDLE_MS);
}

/* --- what it says --- */

int call_question(struct hooks *h, const struct hook *k, const struct event **e, struct str *shown,
                  struct wopr_error *err) {
    struct interrupt_row row;
    struct event_list l = {.n = 0};
    arena_reset(h->a);
    arena_reset(h->page);
    if (k->row.url.n == 0) return 0; /* the run is on its way out */
    int rc = store_interrupt_get(h->store, STR_NONE, false, k->row.webhook_id, h->a, &row, err);
    if (rc == WOPR_E_INTERRUPT_NOT_FOUND) return 0;
    if (rc != 0) return rc;
    if (row.state != IROW_PENDING) return 0;
    rc = store_events(h->store, row.run_no, row.requested_seq, 1, PAGE_BYTES, h->page, &l, err);
    if (rc == WOPR_E_NOT_FOUND || (rc == 0 && l.n == 0)) return 0;
    if (rc == 0)
        rc = h->cfg.question(h->cfg.question_ctx, &row, k->call->answers, h->a, shown, err);
    if (rc != 0) return rc;
    *e = &l.v[0];
    return 1;
}

/* --- what came of it --- */

static void call_ids(const void *of, struct log_ids *out) {
    const struct hook *k = of;
    out->run_id = k->call->run_id.p; /* with its end, in the block of the hook */
    (void)snprintf(out->tenant, sizeof out->tenant, STR_FMT, STR_ARG(k->row.tenant));
}

static void failure_log(struct hooks *h, const struct hook *k, bool given_up, const char *why) {
    uint64_t held = 0;
    char id[64], more[32];
    if (!log_gate_pass(&h->call_gate, &held)) return;
    (void)snprintf(id, sizeof id, STR_FMT, STR_ARG(k->row.webhook_id));
    (void)snprintf(more, sizeof more, "%llu", (unsigned long long)held);
    struct log_scope scope = {.ids = call_ids, .of = k};
    log_scope_enter(&scope);
    log_warn(given_up ? "a callback was given up" : "a callback failed", "interrupt", id, "why",
             why, "notTold", more);
    log_scope_leave(&scope);
}

/* It is not sent again before that is written: its row says when. */
static void call_mark(struct hooks *h, struct hook *k, enum callback_state state) {
    k->call->state = state;
    h->pressing = true;
    hook_set_phase(h, k, HOOK_IDLE);
    hook_dirty(h, k);
}

void call_over(struct hooks *h, struct hook *k) {
    h->stat_call_answered++;
    call_mark(h, k, CALLBACK_ANSWERED);
}

void call_ended(struct hooks *h, struct hook *k, bool hopeless, int status, const char *message) {
    int64_t now_ms = clock_wall_ms(), attempts = k->pulse.attempts + 1;
    bool counts, given_up = false;
    k->last_status = status;
    k->last_ms = now_ms;
    k->last_error[0] = '\0';
    if (!message) {
        h->stat_call_sent++;
        k->pulse.attempts = attempts;
        call_mark(h, k, CALLBACK_SENT);
        return;
    }
    h->stat_call_failed++;
    given_up =
        hook_pulse_failure(&k->pulse, &h->call_policy, now_ms, (uint32_t)rng_u64(), &counts) ||
        hopeless;
    k->pulse.attempts = attempts;
    (void)snprintf(k->last_error, sizeof k->last_error, "%s", message);
    failure_log(h, k, given_up, message);
    h->stat_call_given_up += given_up;
    call_mark(h, k, given_up ? CALLBACK_GIVEN_UP : CALLBACK_OPEN);
    uint64_t due_ms = clock_mono_ms() + (uint64_t)(k->pulse.next_ms - now_ms);
    if (!given_up && due_ms < h->call_ms) h->call_ms = due_ms;
}
