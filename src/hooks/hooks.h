/*
 * hooks.h: webhooks: subscriptions of tenants to the events of their runs, delivered at least once
 * and in order for each subscription (HOOK-1 to HOOK-18, D58 to D67); and callbacks: what people
 * are asked, sent at least once to the URL that the run was started with (RUN-1).  Layer: hooks.
 *
 * Threads: hooks_submit and hooks_stats from any thread; done() of a command runs on the
 * committer's thread and must only queue.  One thread of its own reads, signs and hands over to
 * egress; it waits for no receiver.
 */
#ifndef WOPR_HOOKS_HOOKS_H
#define WOPR_HOOKS_HOOKS_H

#include "domain/trace.h"
#include "hooks/message.h"
#include "journal/journal.h"
#include "store/hooks.h"

struct egress;
struct interrupt_row;
struct vault;
struct hooks;

/* The visible part of an open question as the wire shows it, a JSON object in a; with a token only
 * where one is due and `answers` says that whoever named the URL may have it (INT-13, RUN-12). */
typedef int hook_question_fn(void *ctx, const struct interrupt_row *row, bool answers,
                             struct arena *a, struct str *out, struct wopr_error *err);

struct hooks_config {
    bool enabled;            /* registrations are taken and deliveries made */
    unsigned per_tenant_max; /* subscriptions of a tenant and mode */
    int64_t attempts_max;    /* of one event */
    int64_t retry_ms;        /* before the second attempt */
    int64_t timeout_ms;      /* of one attempt */
    int64_t breaker_s;       /* how long a subscription rests */
    int64_t backlog_max;     /* commits that a subscription may be behind */
    int64_t dead_days;       /* dead letters are kept so long */
    int64_t call_attempts;   /* to send one question to the callback URL of its run */
    bool sole_host;          /* no other process may open the file */
    hook_render_fn *render;
    hook_question_fn *question;
    void *question_ctx;
    const char *version; /* of the host, for User-Agent */
    struct egress *egress;
    struct vault *vault;
    struct trace_policy trace; /* what deliveries say of the run's trace */
};
/* No thread yet: hooks_start makes them.  What cfg points to outlives it. */
MUST_CHECK int hooks_new(struct journal *j, const struct hooks_config *cfg, struct hooks **out,
                         struct wopr_error *err);
/* After the engine has joined the other hosts. */
MUST_CHECK int hooks_start(struct hooks *h, struct wopr_error *err);
/* Before the engine gives its leases back; waits for deliveries under way, a second at most. */
void hooks_stop(struct hooks *h);
void hooks_free(struct hooks *h); /* after egress_free; takes NULL */

/* --- commands --- */
struct hook_cmd { /* the caller's, with all it points to, until done */
    enum { HOOK_CMD_ADD, HOOK_CMD_REMOVE, HOOK_CMD_RETRY } what;
    struct str tenant, webhook_id; /* id: not of ADD */
    bool test_mode;
    struct arena *a;
    /* ADD: url, events and tags raw as they came; secret empty: one is made */
    struct str url, events, tags, secret, created_by;
    int32_t major;
    struct hook_idem idem;
    struct plan_audit *audit; /* who asked, ADD and REMOVE say the rest; NULL: nobody is told */
    void (*done)(struct hook_cmd *cmd);
    void *ctx;
    /* --- the result --- */
    int rc;
    struct wopr_error err;
    struct hook_row row; /* ADD; secret is filled too, for the one answer that shows it */
    bool repeated;
    int64_t queued; /* RETRY */
    /* the file's own */
    struct hooks *hooks;
};
/* Checks the command.  0: done follows.  Otherwise (VALIDATION names the member; NO_MEMORY,
 * UNAVAILABLE, CLOSED) it does not. */
MUST_CHECK int hooks_submit(struct hooks *h, struct hook_cmd *cmd, struct wopr_error *err);

/* May questions be sent there?  VALIDATION says why not; no look-up of names.  May block: the first
 * call loads libcurl. */
MUST_CHECK int hooks_call_check(const struct hooks *h, struct str url, struct wopr_error *err);

/* NULL, or what is wrong with a stored subscription.  v opens its secret, NULL: that is not looked
 * at. */
const char *hook_row_broken(const struct hook_row *row, struct vault *v, struct arena *a);

struct hooks_stats {
    uint64_t delivered, failed, dead, dropped;     /* since the start; failed: attempts */
    uint64_t subscriptions, open, in_flight;       /* 0 on a host that does not deliver */
    uint64_t tenants;                              /* in memory */
    uint64_t behind_ms;                            /* age of the oldest commit not delivered */
    struct {                                       /* since the start; failed: attempts */
        uint64_t sent, failed, given_up, answered; /* answered: before it could be sent */
    } calls;
};
void hooks_stats(struct hooks *h, struct hooks_stats *out);

#endif
