/*
 * session.h: a session as it is stored, read and checked (WR-73 to WR-77).  Layer: rail.
 *
 * Only the prefix that every check passed is handed out: what comes after it is not read, and not
 * guessed at.  Events live in the arena `keep`, rows and records in the arena `a`, which may be the
 * same: what is kept from call to call (held.c) keeps no row.
 */
#ifndef WOPR_RAIL_SESSION_H
#define WOPR_RAIL_SESSION_H

#include "store/sessions.h"
#include "workrail/session.h"

#define RAIL_SESSION_BYTES_MAX  (32 * 1024 * 1024) /* of a log, beyond: no more appends */
#define RAIL_SESSION_EVENTS_MAX 20000

enum rail_health {
    RAIL_HEALTHY,
    RAIL_CORRUPT_TAIL,
    RAIL_CORRUPT_HEAD,
    RAIL_UNKNOWN_VERSION,
    RAIL_HEALTHS
};
enum rail_reason { /* WR-75 */
                   RAIL_REASON_NONE,
                   RAIL_DIGEST_MISMATCH,
                   RAIL_NON_CONTIGUOUS,
                   RAIL_MISSING_SEGMENT,
                   RAIL_UNKNOWN_SCHEMA,
                   RAIL_SCHEMA_FAILED
};
const char *rail_health_name(enum rail_health h); /* "corrupt_tail" */
const char *rail_reason_name(enum rail_reason r); /* "digest_mismatch"; "" for none */

struct rail_session {
    struct session_head head;
    struct wr_session *truth; /* the fold of events */
    struct wr_event *events;  /* of the validated prefix, by index; NULL once it was followed */
    size_t events_nr;
    struct wr_record *records; /* NULL once it was followed */
    int64_t *committed_ms;     /* of each record; likewise */
    size_t records_nr;
    enum rail_health health;
    enum rail_reason reason;
    char why[200];     /* empty when healthy */
    size_t orphans_nr; /* events that no record attests: ignored, and nothing can be appended */
};

/* NOT_FOUND (also of another tenant, WR-268); SESSION_LOAD_FAILED, OUT_OF_MEMORY.  A damaged
 * session is no failure: see health. */
MUST_CHECK int rail_session_load(struct store *s, struct str tenant, bool test_mode,
                                 struct str session_id, struct arena *a, struct rail_session *out,
                                 struct wr_fault *f);
/* The same with events in `keep`, so that the session can be followed. */
MUST_CHECK int rail_session_read(struct store *s, struct str tenant, bool test_mode,
                                 struct str session_id, struct arena *keep, struct arena *a,
                                 struct rail_session *out, struct wr_fault *f);
/* Read and judge what was appended since a session was read, or followed, and found whole (WR-73):
 * 0, it is now what is stored.  RAIL_READ_AGAIN: it cannot go on from there (it is another session
 * of this id, or damaged after its end); as after each failure it is of no use then, and only
 * reading all of it says what it is. */
#define RAIL_READ_AGAIN 1
MUST_CHECK int rail_session_follow(struct store *s, struct rail_session *x, struct arena *keep,
                                   struct arena *a, struct wr_fault *f);
/* The same from rows that were read: what import checks with, too. */
MUST_CHECK int rail_session_judge(const struct session_log *log, struct arena *a,
                                  struct rail_session *out, struct wr_fault *f);
/* What the session refers to: each snapshot, workflow and artifact that is here has the bytes of
 * its digest, and snapshots and workflows are here.  Else the fault says which is not; *_IO_ERROR
 * is none of the session's.  scratch is reset. */
MUST_CHECK int rail_session_blobs(struct store *s, const struct rail_session *x,
                                  struct arena *scratch, struct wr_fault *f);
/* Ends it; its texts stay the arena's. */
void rail_session_fini(struct rail_session *s);

#endif
