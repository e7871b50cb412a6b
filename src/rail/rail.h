/*
 * rail.h: sessions of agents that are led step by step, made durable (WorkRail v2, sections 3, 5.2,
 * 6, 9, 10).  Layer: rail.
 *
 * workrail/ says what a call means; this layer reads the session, judges its health, takes its
 * lock, appends what the call adds with the events of the run that shows it, in one transaction,
 * and answers from what is stored.  Every function here may read and write the store and wait for
 * its commit: not for threads that serve other clients.  Any thread.
 */
#ifndef WOPR_RAIL_RAIL_H
#define WOPR_RAIL_RAIL_H

#include "domain/plan.h"
#include "rail/session.h"
#include "workrail/operate.h"

struct store;
struct journal;
struct vault;
struct rail;

struct rail_config {
    struct store *store;
    struct journal *journal; /* NULL: commits by itself (a tool, with no host beside it needed) */
    struct vault *vault;     /* seals the keyring; NULL: nothing that needs tokens */
    const struct payload_rules *rules;
    int64_t tenant_bytes_max; /* of logs of runs, as for other runs; 0 = no bound */
    int64_t retention_ms;     /* after the last change of a session; 0 = for ever (WR-82) */
    bool offered;             /* the tools are, over MCP; what is configured is told with it */
    bool checkpoints, resume; /* flags of tools (WR-213) */
    size_t held_bytes_max;    /* of sessions held in memory (held.h); 0 = HELD_BYTES_DEFAULT */
    /* What a start now would add (rail_workflow_add), into a rail of its own: so that a folder that
     * has changed since is told of (WR-252).  NULL: what is applied is all there is. */
    int (*reread)(void *ctx, struct rail *into, struct wopr_error *err);
    void *reread_ctx;
};
/* Borrows all of cfg until rail_free.  NO_MEMORY. */
MUST_CHECK int rail_new(const struct rail_config *cfg, struct rail **out, struct wopr_error *err);
void rail_free(struct rail *r); /* takes NULL */
const struct rail_config *rail_config_of(const struct rail *r);

/* --- workflows that can be started; all of them before the first call --- */
/* Compiles a source.  ref: relative, shown as where it is from.  COMPILE_ERROR names the place. */
MUST_CHECK int rail_workflow_add(struct rail *r, struct str source, enum wr_source_kind kind,
                                 struct str ref, struct wr_fault *f);
struct rail_workflow {
    struct wr_workflow compiled;
    struct str source, ref;
    enum wr_source_kind kind;
};
size_t rail_workflows(const struct rail *r, const struct rail_workflow **out);       /* by id */
const struct rail_workflow *rail_workflow_find(const struct rail *r, struct str id); /* NULL */

/* --- calls --- */
struct rail_caller {
    struct str tenant, workspace;
    struct str subject; /* raw JSON Subject, as runs record it */
    bool test_mode;
};
/* One call of a tool of section 9: its output object, or a fault with the contract's name (WR-232).
 * json and texts of the fault are of a. */
MUST_CHECK int rail_call(struct rail *r, const struct rail_caller *who, enum wr_tool tool,
                         struct str arguments, struct arena *a, struct str *json,
                         struct wr_fault *f);

/* --- the keyring (WR-111, WR-112) --- */
/* Makes it on first use.  KEYRING_IO_ERROR, KEYRING_CORRUPTION_DETECTED: a damaged one is never
 * replaced silently. */
MUST_CHECK int rail_keyring(struct rail *r, struct wr_keyring *out, struct wr_fault *f);
/* current becomes previous, a new key signs; tokens of the key before die.  An operator's action.
 */
MUST_CHECK int rail_keyring_rotate(struct rail *r, struct wr_fault *f);

/* --- commands of the runs that show sessions (WR-260, WR-264) --- */
struct engine;
struct engine_cmd;
struct run_head;
/* Starts the thread that executes them.  e is borrowed until rail_stop. */
MUST_CHECK int rail_start(struct rail *r, struct engine *e, struct wopr_error *err);
void rail_stop(struct rail *r); /* answers what is queued; takes NULL, harmless twice */
/* struct engine_led: ctx is the rail. */
bool rail_take(void *ctx, struct engine_cmd *cmd, const struct run_head *head);

/* --- retention (WR-82, WR-83) --- */
/* Remove one slice of what has not changed since before_ms.  Nothing is removed while a session of
 * the file is damaged, unless the damaged one is the one that is due.  *more: call again. */
MUST_CHECK int rail_collect(struct rail *r, int64_t before_ms, bool *more, struct wr_fault *f);

#endif
