/*
 * plan.h: append plans, the only durable change of a session (section 3.1), and records of the
 * manifest (section 3.2).  Layer: workrail.  Pure.
 *
 * A plan is committed as a whole or has no effect.  What it needs beside its events (snapshots,
 * pinned workflow, artifacts) is stored by digest in the same transaction, before them.
 */
#ifndef WOPR_WORKRAIL_PLAN_H
#define WOPR_WORKRAIL_PLAN_H

#include "workrail/event.h"

struct wr_pin { /* WR-55 */
    struct str snapshot_ref, created_by_event_id;
    int64_t event_index;
};
enum wr_blob_kind { WR_BLOB_SNAPSHOT, WR_BLOB_WORKFLOW, WR_BLOB_ARTIFACT };
struct wr_blob {
    enum wr_blob_kind kind;
    struct str digest, bytes; /* bytes: canonical JSON; digest: "sha256:..." of them */
};
struct wr_plan {
    struct str session_id;
    struct wr_event *events;
    size_t events_nr;
    struct wr_pin *pins; /* sorted by (snapshot_ref, event_index, created_by_event_id) */
    size_t pins_nr;
    struct wr_blob *blobs;
    size_t blobs_nr;
};
/* WR-56 without the keys: indices next and on, session, schemas, one pin for each node_created,
 * each blob under its digest.  SESSION_STORE_INVARIANT_VIOLATION. */
MUST_CHECK int wr_plan_check(const struct wr_plan *p, int64_t next_index, struct wr_fault *f);
/* WR-22.  present: how many of the plan's keys the session has. */
enum wr_dedupe { WR_DEDUPE_NEW, WR_DEDUPE_REPLAY, WR_DEDUPE_BROKEN };
enum wr_dedupe wr_plan_dedupe(const struct wr_plan *p, size_t present);

/* --- manifest --- */
enum wr_record_kind { WR_SEGMENT_CLOSED, WR_SNAPSHOT_PINNED };
struct wr_record {
    int kind;
    int64_t manifest_index;
    struct str session_id;
    int64_t first_index, last_index, segment_bytes; /* segment_closed */
    struct str segment_rel_path, sha256;            /* segment_closed */
    struct wr_pin pin;                              /* snapshot_pinned */
    struct str bytes;                               /* its canonical form, without LF */
};
MUST_CHECK int wr_record_read(struct str bytes, struct arena *a, struct wr_record *out,
                              struct wr_fault *f);
MUST_CHECK int wr_record_seal(struct wr_record *r, struct arena *a, struct wr_fault *f);
/* "events/00000000-00000002.jsonl" */
struct str wr_segment_path(int64_t first, int64_t last, struct arena *a);
/* Digest and length of a segment: the bytes of its events, each with LF (WR-69). */
struct wr_segment_sum {
    struct wr_digest digest;
    int64_t bytes;
};
MUST_CHECK int wr_segment_sum(const struct wr_event *events, size_t nr, struct wr_segment_sum *out,
                              struct wr_fault *f);
/* The records that a plan adds to the manifest: the segment, then its pins.  Of a. */
MUST_CHECK int wr_plan_records(const struct wr_plan *p, int64_t next_manifest_index,
                               struct arena *a, struct wr_record **out, size_t *nr,
                               struct wr_fault *f);

#endif
