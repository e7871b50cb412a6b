/*
 * rail_int.h: inside of rail: what its files share.  Not for other layers.
 */
#ifndef WOPR_RAIL_INT_H
#define WOPR_RAIL_INT_H

#include "base/map.h"
#include "rail/derive.h"
#include "rail/held.h"
#include "rail/rail.h"
#include "workrail/compile.h"
#include "workrail/resume.h"

#include <pthread.h>

struct rail {
    struct rail_config cfg;
    struct arena *arena; /* of the catalogue */
    struct rail_workflow *workflows;
    size_t workflows_nr, workflows_cap;
    pthread_mutex_t gates_lock;
    struct map *gates; /* session id -> struct rail_gate that holds it */
    uint64_t generation;
    struct held_sessions held;
    int64_t judged_ms; /* collect.c: when all sessions were judged last, 0 = never */
    bool judged_good;
    struct { /* command.c */
        pthread_t thread;
        pthread_mutex_t lock;
        pthread_cond_t ready;
        struct engine *engine;
        struct rail_work *first, **end;
        struct rail_work *later,
            **later_end; /* whose session was locked, by the time they are due */
        size_t nr;       /* of both */
        bool running, stop, has_ready;
    } commands;
};

/* --- gate.c: one writer for each session of this process (WR-58, WR-59); other processes are told
 * apart by the store, which refuses an append to a session that has moved on --- */
struct rail_gate {
    struct rail *rail;
    struct str session_id; /* borrowed while it is held */
    uint64_t generation;   /* 0: not held */
    pthread_t holder;
};
/* 0; SESSION_LOCKED: another call has it, at once; SESSION_LOCK_REENTRANT: this thread has. */
MUST_CHECK int rail_gate_enter(struct rail *r, struct str session_id, struct rail_gate *g,
                               struct wr_fault *f);
void rail_gate_leave(struct rail_gate *g); /* harmless twice */
/* Is it still what was handed out?  SESSION_STORE_INVARIANT_VIOLATION. */
MUST_CHECK int rail_gate_check(const struct rail_gate *g, struct str session_id,
                               struct wr_fault *f);

/* --- port.c: what operations read --- */
/* Checked against its digest.  NOT_FOUND: only an artifact, which may be elsewhere. */
MUST_CHECK int rail_blob_read(struct store *s, enum session_blob kind, struct str digest,
                              struct arena *a, struct str *bytes, struct wr_fault *f);
struct rail_op { /* one call */
    struct rail *rail;
    struct arena *a;
    struct rail_owner owner;
    struct wr_keyring keys;
    struct wr_operator op;
    struct rail_session session;
    struct rail_held *held;        /* whose the session is; NULL: it is of a */
    const struct wr_plan *pending; /* its blobs are not stored yet */
    struct wr_workflow *workflow;  /* read last */
    struct wr_fault *f;
};
/* o must not be moved until rail_op_fini.  keys: read the keyring, too. */
MUST_CHECK int rail_op_init(struct rail_op *o, struct rail *r, const struct rail_owner *owner,
                            bool keys, struct arena *a, struct wr_fault *f);
void rail_op_fini(struct rail_op *o);
/* The session as it is stored now: what is held is gone on from, else all of it is read.
 * SESSION_NOT_HEALTHY unless it is (WR-78).  What was read off the session before is void. */
MUST_CHECK int rail_op_load(struct rail_op *o, struct str session_id);
int rail_not_healthy(const struct rail_session *s, struct wr_fault *f);
/* What the vault opened is overwritten with the call. */
extern const struct wr_minter RAIL_MINT;

/* --- show.c: what was configured (WR-252) --- */
MUST_CHECK int rail_config_hash(const struct rail *r, struct wr_digest *out, struct wr_fault *f);

/* --- side.c: a write that is no plan, on the thread that commits --- */
/* fn is called once, there; the result is its own, or why it was not called. */
typedef int rail_side_fn(void *ctx, struct store *s, struct wopr_error *err);
MUST_CHECK int rail_side(struct rail *r, rail_side_fn *fn, void *ctx, struct wopr_error *err);
MUST_CHECK int rail_remove(struct rail *r, struct str session_id, bool *more, struct wr_fault *f);

/* --- append.c: the only durable change (WR-55) --- */
struct rail_append {
    struct wr_plan *plan;
    const struct wr_workflow *workflow;
    bool create;
    struct str resolved_by;
    /* Called with the finished plan before it is committed, and after; both may be NULL. */
    void (*attach)(void *ctx, struct plan *p);
    void (*committed)(void *ctx, struct plan *p);
    void *ctx;
};
/* Under g.  o->session.truth gets the plan folded in, also when the commit is refused: throw it
 * away then.  SESSION_LOCKED: another process was faster, read the session again. */
MUST_CHECK int rail_append(struct rail_op *o, const struct rail_gate *g,
                           const struct rail_append *x);
/* What resume_session and lists look through, of each run of the truth (WR-183); into a. */
MUST_CHECK int rail_summaries(struct rail_op *o, struct arena *a, struct plan_session *x);
/* Store plans as one batch, or through the journal.  The plan's own outcome. */
int rail_commit(struct rail *r, struct plan *p, struct wr_fault *f);

/* --- filter.c: which words a text may have --- */
enum { RAIL_FILTER_BYTES = 256 };
/* words: "\na\nb\n". */
void rail_filter_make(struct str words, uint8_t out[RAIL_FILTER_BYTES]);
/* May it have all of these words?  false is certain. */
bool rail_filter_may(struct str filter, struct str words);

/* --- resume.c, catalogue.c: read-only calls --- */
MUST_CHECK int rail_resume(struct rail_op *o, const struct wr_call *call, struct str *json);
/* NOT_FOUND, with ids that are near (WR-222). */
int rail_workflow_unknown(struct rail_op *o, struct str id);
MUST_CHECK int rail_list(struct rail_op *o, struct str *json);
MUST_CHECK int rail_inspect(struct rail_op *o, const struct wr_call *call, struct str *json);

#endif
