/*
 * agents.h: agents of a workspace, and the sets of them that runs go by (AGT-40 to AGT-46).  Layer:
 * store.  General rules: store.h.
 *
 * An agent belongs to a tenant, and to live or to test mode.  The store keeps the definition that
 * was put last; a run keeps the set of definitions that it was created with (run_meta.agents), so
 * what is put or deleted later touches no run that has begun.  Definitions are judged before they
 * come here (domain/agent_manifest.h).
 */
#ifndef WOPR_STORE_AGENTS_H
#define WOPR_STORE_AGENTS_H

#include "codec/bytes.h"
#include "store/store.h"

#define AGENTS_MAX       1000                        /* of a tenant, per mode */
#define AGENTS_BYTES_MAX ((int64_t)16 * 1024 * 1024) /* of their definitions */
#define AGENT_ROW_BYTES  256                         /* that each counts for beside its text */
/* Of the sets that runs of a tenant hold, per mode: a run that would add to more is refused. */
#define AGENT_SETS_BYTES_MAX ((int64_t)256 * 1024 * 1024)

enum { AGENT_ANY = -1 };
struct agent_row {
    struct str tenant;
    bool test_mode;
    struct str agent_id;
    int64_t revision; /* grows with each put in the tenant and mode; none is given twice */
    struct sha256 digest;
    struct str definition; /* as it was put */
    struct str created_by; /* of the last put: a key id, or empty */
    int64_t created_ms, updated_ms;
};
struct agent_rows {
    struct agent_row *v;
    size_t n;
};
enum agent_put_what { AGENT_CREATED, AGENT_UPDATED, AGENT_SAME };
struct agent_put {
    enum agent_put_what what;
    int64_t revision; /* that is stored; 0: none is */
};
/* A write.  if_revision: the one that must be stored, 0: none, AGENT_ANY: whatever is; the
 * definition itself being stored already is no conflict, so that a put can be repeated.  *out is
 * also set with CONFLICT.  QUOTA: too many, or too many bytes. */
MUST_CHECK int store_agent_put(struct store *s, const struct agent_row *r, int64_t if_revision,
                               struct agent_put *out, struct wopr_error *err);
/* A write: no new runs with it.  if_revision, *out as above.  NOT_FOUND. */
MUST_CHECK int store_agent_delete(struct store *s, const struct agent_row *r, int64_t if_revision,
                                  struct agent_put *out, struct wopr_error *err);
MUST_CHECK int store_agent_get(struct store *s, struct str tenant, bool test_mode, struct str id,
                               struct arena *a, struct agent_row *out,
                               struct wopr_error *err); /* NOT_FOUND */
/* By id, after this one, at most max.  tenant empty: of all tenants and both modes, in the order of
 * tenant, mode and id, after *after; for checks. */
MUST_CHECK int store_agents(struct store *s, struct str tenant, bool test_mode,
                            const struct agent_row *after, unsigned max, struct arena *a,
                            struct agent_rows *out, struct wopr_error *err);
/* Those of these ids that are there, in the order of ids, all of one commit; and the bytes that the
 * sets of the tenant's runs take.  One read, whatever n is. */
MUST_CHECK int store_agents_of(struct store *s, struct str tenant, bool test_mode,
                               const struct str *ids, size_t n, struct arena *a,
                               struct agent_rows *out, int64_t *set_bytes, struct wopr_error *err);

/* --- sets: written by the plan that creates a run --- */
struct agent_set_row {
    int64_t set_no;
    struct str tenant;
    bool test_mode;
    struct str digest, definitions; /* struct agent_set of domain/agent_manifest.h */
};
MUST_CHECK int store_agent_set(struct store *s, int64_t set_no, struct arena *a,
                               struct agent_set_row *out, struct wopr_error *err); /* NOT_FOUND */
/* The next one by number, for checks.  NOT_FOUND: there is none. */
MUST_CHECK int store_agent_set_after(struct store *s, int64_t after, struct arena *a,
                                     struct agent_set_row *out, struct wopr_error *err);

#endif
