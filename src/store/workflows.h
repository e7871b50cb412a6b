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
    bool both_modes, test_mode;
    int64_t created_ms, updated_ms; /* wall clock */
};
struct workflow_row_list {
    struct workflow_row *v;
    size_t n;
};
enum put_result { PUT_CREATED, PUT_UPDATED, PUT_SAME };
/* A write.  *what (may be NULL): what happened; PUT_SAME wrote nothing. */
MUST_CHECK int store_workflow_put(struct store *s, const struct workflow_row *w,
                                  enum put_result *what, struct wopr_error *err);
/* The tenant's own row wins over the shared one.  NOT_FOUND.  A row read before costs no query
 * while nothing was committed since. */
MUST_CHECK int store_workflow_get(struct store *s, struct str tenant, bool test_mode,
                                  struct str workflow_id, struct arena *a, struct workflow_row *out,
                                  struct wopr_error *err);
/* The text that a run was created with.  NOT_FOUND. */
MUST_CHECK int store_workflow_by_hash(struct store *s, const struct sha256 *hash, struct arena *a,
                                      struct str *text, struct wopr_error *err);
/* All of all tenants, by id, at most STORE_LIST_MAX: for tools. */
MUST_CHECK int store_workflow_list(struct store *s, struct arena *a, struct workflow_row_list *out,
                                   struct wopr_error *err);

#endif
