/*
 * snapshot.h: execution snapshots and step keys (section 4.1).  Layer: workrail.  Pure.
 */
#ifndef WOPR_WORKRAIL_SNAPSHOT_H
#define WOPR_WORKRAIL_SNAPSHOT_H

#include "workrail/event.h"

enum { WR_LOOP_DEPTH_MAX = 3 }; /* */

struct wr_frame {
    struct str loop_id;
    int64_t iteration, body_index;
};
struct wr_frames { /* outermost first */
    struct wr_frame *v;
    size_t nr;
};
struct wr_step_at { /* one instance of a step */
    struct str step_id;
    struct {
        struct wr_frame *v; /* body_index unused */
        size_t nr;
    } path;
};
/* WR-90; the reasons that a block is stored with. */
enum wr_reason_kind {
    WR_R_INVALID_REQUIRED_OUTPUT,
    WR_R_MISSING_REQUIRED_OUTPUT,
    WR_R_MISSING_CONTEXT_KEY,
    WR_R_CONTEXT_BUDGET_EXCEEDED,
    WR_R_MISSING_NOTES,
    WR_R_USER_ONLY_DEPENDENCY,
    WR_R_REQUIRED_CAPABILITY_UNKNOWN,
    WR_R_REQUIRED_CAPABILITY_UNAVAILABLE,
    WR_R_INVARIANT_VIOLATION,
    WR_R_STORAGE_CORRUPTION_DETECTED,
    WR_R_EVALUATION_ERROR
};
struct wr_block {
    int terminal; /* 0: a retry may mend it */
    struct {
        int kind;        /* enum wr_reason_kind */
        struct str text; /* contractRef, key or stepId */
        int capability, detail;
    } reason;
    struct str retry_attempt_id; /* of a retryable one */
    struct str validation_ref;   /* may be absent */
    struct wr_report report;
};
enum wr_state_kind { WR_S_INIT, WR_S_RUNNING, WR_S_BLOCKED, WR_S_COMPLETE };
struct wr_state {
    int kind;                  /* enum wr_state_kind; of INIT and COMPLETE nothing else is set */
    struct wr_texts completed; /* step keys and loop keys, sorted, each once */
    struct wr_frames stack;
    int pending; /* 1: step is the one that waits */
    struct wr_step_at step;
    struct wr_block block; /* of BLOCKED */
};

/* The canonical bytes of a snapshot file, in a; its reference is wr_digest_of them. */
MUST_CHECK int wr_snapshot_write(const struct wr_state *s, struct arena *a, struct str *bytes,
                                 struct wr_fault *f);
/* SCHEMA_UNKNOWN_VERSION, SCHEMA_INVALID (all rules of WR-91). */
MUST_CHECK int wr_snapshot_read(struct str bytes, struct arena *a, struct wr_state *out,
                                struct wr_fault *f);

/* "outer@0/inner@2::triage" (WR-92).  STR_NONE: no memory. */
struct str wr_step_key(const struct wr_frame *path, size_t nr, struct str id, struct arena *a);
/* false: no key.  The texts lie in key, the path in a. */
bool wr_step_key_read(struct str key, struct arena *a, struct wr_step_at *out);

#endif
