/*
 * workflows.h: workflow definitions by id and by content hash (WF-1, AUTH-9).  Layer: store.
 * Texts are shared by hash and never change.  General rules: store.h.
 */
#ifndef WOPR_STORE_WORKFLOWS_H
#define WOPR_STORE_WORKFLOWS_H

#include "codec/bytes.h"
#include "store/store.h"

struct workflow_row {
    struct str workflow_id, tenant; /* empty tenant: every tenant's (seeded examples, fixtures) */
    struct sha256 hash;
    struct str version, text; /* text verbatim (WF-1) */
    struct str created_by;    /* put: who (a key id), or empty */
    bool both_modes, test_mode;
    int64_t created_ms, updated_ms; /* wall clock */
};
struct workflow_row_list {
    struct workflow_row *v;
    size_t n;
};
enum put_result { PUT_CREATED, PUT_UPDATED, PUT_SAME };
/* A write.  *what (may be NULL): what happened; PUT_SAME wrote nothing.  A text that was current
 * stays as a version. */
MUST_CHECK int store_workflow_put(struct store *s, const struct workflow_row *w,
                                  enum put_result *what, struct wopr_error *err);
/* The same on terms; *out is what is current then, also with QUOTA and CONFLICT.  QUOTA: all
 * versions of the tenant would take more than bytes_max.  CONFLICT: another revision than
 * if_revision is stored; the text itself being stored already is none, so that a put can be
 * repeated. */
struct workflow_terms {
    int64_t bytes_max;   /* 0: no bound */
    int64_t if_revision; /* 0: only if none is stored; WORKFLOW_ANY: whatever is */
};
enum { WORKFLOW_ANY = -1 };
struct workflow_put {
    enum put_result what;
    int64_t revision, bytes; /* revision: 0 when none is stored; bytes: of the tenant */
};
MUST_CHECK int store_workflow_put_on(struct store *s, const struct workflow_row *w,
                                     const struct workflow_terms *terms, struct workflow_put *out,
                                     struct wopr_error *err);
/* A write: no new runs of it.  Runs keep their text; the versions go, and leave the tenant's bytes,
 * with a later write of the tenant, an hour after that at the earliest, once no run of the workflow
 * is left.  NOT_FOUND. */
MUST_CHECK int store_workflow_delete(struct store *s, const struct workflow_row *w,
                                     struct wopr_error *err);
/* The tenant's own row wins over the shared one.  NOT_FOUND.  A row read before costs no query
 * while nothing was committed since. */
MUST_CHECK int store_workflow_get(struct store *s, struct str tenant, bool test_mode,
                                  struct str workflow_id, struct arena *a, struct workflow_row *out,
                                  struct wopr_error *err);
/* The text that a run was created with.  NOT_FOUND. */
MUST_CHECK int store_workflow_by_hash(struct store *s, const struct sha256 *hash, struct arena *a,
                                      struct str *text, struct wopr_error *err);
/* Those that a tenant sees, its own before shared ones of the same id, by id, after this id, at
 * most max; of their texts the first 32 characters, which name another language.  *more: there are
 * further ones. */
MUST_CHECK int store_workflow_page(struct store *s, struct str tenant, bool test_mode,
                                   struct str after, unsigned max, struct arena *a,
                                   struct workflow_row_list *out, bool *more,
                                   struct wopr_error *err);
/* What was stored under the id of w (as store_workflow_get gave it: its tenant, its mode), newest
 * first, below a revision. */
struct workflow_version {
    int64_t revision, created_ms;
    struct sha256 hash;
    struct str version, created_by;
};
struct workflow_version_list {
    struct workflow_version *v;
    size_t n;
};
MUST_CHECK int store_workflow_versions(struct store *s, const struct workflow_row *w, int64_t below,
                                       unsigned max, struct arena *a,
                                       struct workflow_version_list *out, struct wopr_error *err);
/* The text of one of them.  NOT_FOUND. */
MUST_CHECK int store_workflow_revision(struct store *s, const struct workflow_row *w,
                                       int64_t revision, struct arena *a, struct str *text,
                                       struct wopr_error *err);
/* All of all tenants, by id, at most STORE_LIST_MAX: for tools. */
MUST_CHECK int store_workflow_list(struct store *s, struct arena *a, struct workflow_row_list *out,
                                   struct wopr_error *err);

#endif
