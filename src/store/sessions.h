/*
 * sessions.h: sessions of agents that are led step by step (WR-68): their logs, what these refer
 * to, and the keys of their tokens.  Layer: store.  General rules: store.h.
 *
 * What is appended is a plan (struct plan_session, domain/plan.h), with the run that shows the
 * session, in one transaction; there is no other way to change a log.  This port hands rows out as
 * they are stored: rail/ decides whether they are whole (WR-73).
 */
#ifndef WOPR_STORE_SESSIONS_H
#define WOPR_STORE_SESSIONS_H

#include "domain/plan.h"
#include "store/store.h"

#define SESSION_SLICE_ROWS 512u /* rows that one transaction removes */

struct session_head {
    int64_t session_no;
    struct str session_id, tenant, imported_from;
    bool test_mode, keep;
    int64_t created_ms, changed_ms;
    int64_t next_event, next_manifest;
    int64_t commit_no; /* of the last append, counted over all sessions of the file */
    int64_t bytes;     /* of events and records, and of what they brought with them */
};
/* NOT_FOUND.  tenant empty: whatever it is, for tools. */
MUST_CHECK int store_session_head(struct store *s, struct str tenant, bool test_mode,
                                  struct str session_id, struct arena *a, struct session_head *out,
                                  struct wopr_error *err);

struct session_event_row {
    int64_t index;
    struct plan_session_event event;
};
struct session_events {
    struct session_event_row *v;
    size_t n;
};
struct session_record_row {
    int64_t index, committed_ms;
    struct plan_session_record record;
};
struct session_records {
    struct session_record_row *v;
    size_t n;
};
struct session_from { /* where a read begins: all zero is the whole log */
    int64_t event, record;
};
/* Head, events and records from there on, all of one commit. */
struct session_log {
    struct session_head head;
    struct session_from from;
    struct session_events events;
    struct session_records records;
};
/* NOT_FOUND. */
MUST_CHECK int store_session_log(struct store *s, struct str tenant, bool test_mode,
                                 struct str session_id, struct session_from from, struct arena *a,
                                 struct session_log *out, struct wopr_error *err);
/* The bytes of the event with this key; NOT_FOUND.  What a repeated call looks for without a lock
 * (WR-60). */
MUST_CHECK int store_session_event_by_key(struct store *s, int64_t session_no, struct str key,
                                          struct arena *a, struct str *bytes,
                                          struct wopr_error *err);
/* NOT_FOUND. */
MUST_CHECK int store_session_blob(struct store *s, enum session_blob kind, struct str digest,
                                  struct arena *a, struct plan_session_blob *out,
                                  struct wopr_error *err);
/* Does a session of the tenant refer to this compiled workflow? */
MUST_CHECK int store_session_pinned(struct store *s, struct str tenant, bool test_mode,
                                    struct str digest, bool *seen, struct wopr_error *err);
/* Which run shows a node.  NOT_FOUND. */
MUST_CHECK int store_session_node(struct store *s, int64_t session_no, struct str node_id,
                                  struct arena *a, struct plan_session_node *out,
                                  struct wopr_error *err);
/* The session that a run shows; session_no 0: it shows none.  Also the latest node there that still
 * waits is the run's current_node. */
struct session_of_run {
    int64_t session_no;
    struct str session_id, wr_run_id, tenant;
    bool test_mode;
};
MUST_CHECK int store_session_of_run(struct store *s, int64_t run_no, struct arena *a,
                                    struct session_of_run *out, struct wopr_error *err);
/* Runs that show the session, the first made first. */
struct session_run {
    int64_t run_no;
    struct str run_id, wr_run_id;
    enum run_status status;
};
struct session_runs {
    struct session_run *v;
    size_t n;
};
MUST_CHECK int store_session_runs(struct store *s, int64_t session_no, struct arena *a,
                                  struct session_runs *out, struct wopr_error *err);

/* ---------------------------------------------------------------- lists */
/* A place in the order of lists.  Numbers of commits are not unique: imports bring theirs along. */
struct session_place {
    int64_t commit_no, session_no; /* commit_no 0: before the newest */
};
struct session_filter {
    struct str tenant;
    bool test_mode, any; /* any: of all tenants, tools only */
    struct session_place below;
    unsigned max; /* at most STORE_LIST_MAX */
};
struct session_list_row {
    struct session_head head;
    struct plan_session_resume resume; /* of its first run; without filter and words */
};
struct session_list {
    struct session_list_row *v;
    size_t n;
};
/* The last changed first. */
MUST_CHECK int store_session_list(struct store *s, const struct session_filter *f, struct arena *a,
                                  struct session_list *out, struct wopr_error *err);

/* One row for each run of each session of the tenant, in no order that matters; lives for the call
 * only. */
struct session_resume_row {
    int64_t session_no, commit_no;
    struct str session_id;
    struct plan_session_resume resume; /* without words, snippet, title, status */
};
typedef int session_resume_take(void *ctx, const struct session_resume_row *row,
                                struct wopr_error *err); /* > 0: enough */
MUST_CHECK int store_session_resumes(struct store *s, struct str tenant, bool test_mode,
                                     session_resume_take *take, void *ctx, struct wopr_error *err);
/* The rest of it: words, snippet, title, status.  NOT_FOUND. */
MUST_CHECK int store_session_resume_text(struct store *s, int64_t session_no, struct str wr_run_id,
                                         struct arena *a, struct plan_session_resume *out,
                                         struct wopr_error *err);

/* ---------------------------------------------------------------- writes */
/* Kept sessions are not removed when they grow old (WR-82).  NOT_FOUND. */
MUST_CHECK int store_session_keep(struct store *s, struct str session_id, bool keep,
                                  struct wopr_error *err);
/* Removes a session, and what no other session refers to, in slices; *more: call again.  The runs
 * that showed it are left to the retention of runs.  NOT_FOUND. */
MUST_CHECK int store_session_delete(struct store *s, struct str session_id, bool *more,
                                    struct wopr_error *err);
/* The oldest session that has not changed since before_ms and is not kept; NOT_FOUND. */
MUST_CHECK int store_session_aged(struct store *s, int64_t before_ms, struct arena *a,
                                  struct str *session_id, struct wopr_error *err);

/* ---------------------------------------------------------------- the keyring (WR-111) */
/* NOT_FOUND: none was made yet. */
MUST_CHECK int store_keyring_get(struct store *s, struct arena *a, struct plan_sealed *out,
                                 struct wopr_error *err);
/* A write.  was: the box that is to be replaced, empty: none is there.  STALE: another one is;
 * UNAVAILABLE: the data key that sealed it is gone; seal it again. */
MUST_CHECK int store_keyring_put(struct store *s, const struct plan_sealed *next, struct str was,
                                 int64_t now_ms, struct wopr_error *err);

#endif
