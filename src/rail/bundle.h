/*
 * bundle.h: sessions as one document, out and in (section 10).  Layer: rail.
 *
 * A bundle holds the exact bytes of a session's log and what it refers to, and neither tokens nor
 * keys.  What comes in is checked as a whole before anything is stored, in the order of WR-240, and
 * stored in one transaction with the runs that show it.
 */
#ifndef WOPR_RAIL_BUNDLE_H
#define WOPR_RAIL_BUNDLE_H

#include "rail/rail.h"

#define RAIL_BUNDLE_MAX (64 * 1024 * 1024)

struct rail_export {
    struct str tenant; /* empty: whatever it is, for tools */
    bool test_mode;
    struct str session_id;
    bool artifacts;   /* with the bytes of artifacts */
    bool salvage;     /* also the good prefix of one that is damaged (WR-239) */
    bool told_config; /* of a host: with appliedConfigHash; a tool has none applied */
    const char *version;
};
/* NOT_FOUND, SESSION_NOT_HEALTHY, BUNDLE_BUILD_EMPTY_EVENTS, OUT_OF_MEMORY. */
MUST_CHECK int rail_bundle_export(struct rail *r, const struct rail_export *x, struct arena *a,
                                  struct str *json, struct wr_fault *f);

/* --- in --- */
struct rail_bundle { /* checked; texts of the arena */
    struct str session_id;
    struct wr_event *events;
    size_t events_nr;
    struct wr_record *records;
    size_t records_nr;
    struct plan_session_blob *blobs; /* snapshots, workflows, artifacts */
    size_t blobs_nr;
    int64_t commit_no; /* its place among others where it came from; 0: not said */
};
/* BUNDLE_*: WR-240.  f->e.pointer: where. */
MUST_CHECK int rail_bundle_read(struct str json, struct arena *a, struct rail_bundle *out,
                                struct wr_fault *f);

struct rail_import {
    struct rail_caller who; /* the tenant that gets the session */
    bool rename;            /* a session of this id that is another one: import under a new id */
};
struct rail_imported {
    struct str session_id;
    bool fresh;   /* false: the same session was there, nothing was written */
    bool renamed; /* under an id of its own */
};
/* PRECONDITION_FAILED: another session has the id, and rename is not set. */
MUST_CHECK int rail_bundle_import(struct rail *r, const struct rail_import *x, struct str json,
                                  struct arena *a, struct rail_imported *out, struct wr_fault *f);

#endif
