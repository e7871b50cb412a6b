/*
 * compile.h: source of a workflow to its compiled form (section 8).  Layer: workrail.  Pure and
 * total: the same source gives the same bytes everywhere.
 */
#ifndef WOPR_WORKRAIL_COMPILE_H
#define WOPR_WORKRAIL_COMPILE_H

#include "workrail/workflow.h"

enum { WR_SOURCE_MAX = 1 << 20, WR_STEPS_MAX = 1000 };

struct wr_problem {     /* why a source does not compile, or a warning */
    struct str pointer; /* JSON pointer into the source */
    struct str pass;    /* "source", "templates", "features", "refs", "blocks", "scan" */
    struct str message; /* what is wrong and what to do */
    bool warning;
};
struct wr_problems {
    struct wr_problem *v;
    size_t nr, cap;
};
/* source: JSON bytes.  kind: where it is from; wr.* ids belong to bundled ones (WR-192).
 * 0: *out is sealed; problems may hold warnings.  COMPILE_ERROR: problems says all of what is wrong
 * in the first pass that found something, f the first of it. */
MUST_CHECK int wr_compile(struct str source, enum wr_source_kind kind, struct arena *a,
                          struct wr_workflow *out, struct wr_problems *problems,
                          struct wr_fault *f);

/* --- ids of workflows (WR-192, WR-193) --- */
enum wr_id_form { WR_FORM_NAMESPACED, WR_FORM_LEGACY, WR_FORM_BAD };
enum wr_id_form wr_workflow_id_form(struct str id);
/* The id that a legacy one should get; taken: whether another workflow has it (may be NULL). */
struct str wr_workflow_id_suggest(struct str legacy, enum wr_source_kind kind, struct str source,
                                  bool (*taken)(void *ctx, struct str id), void *ctx,
                                  struct arena *a);

#endif
