/*
 * plan.h: the run plan of a document (section 3).  Layer: workspec.
 * Pure: the same bytes give the same plan on every machine, but for the zone data that is asked
 * for;
 * the offset that was found is part of the plan (WS-44, WS-45).  Immutable once made.
 */
#ifndef WOPR_WORKSPEC_PLAN_H
#define WOPR_WORKSPEC_PLAN_H

#include "workspec/validate.h"

enum { WS_NODE_ID_MAX = 128 };
struct ws_entry {
    const struct ws_value *task;
    struct str id, node_id, performer;
    int64_t start_ms, duration_ms, end_ms; /* virtual, WS-46 */
    enum ws_start_form form;
    bool calendar;       /* the duration has months */
    bool human;          /* the performer is an actor */
    uint8_t priority;    /* 0 low to 3 critical */
    uint32_t *all, *any; /* indexes of tasks, each once */
    size_t all_nr, any_nr;
};
struct ws_plan {
    const struct ws_value *root, *sim;
    const struct ws_value *objects, *definitions; /* may be NULL */
    bool anchored;
    int64_t anchor_days;
    int32_t offset_min;
    int64_t origin_ms, end_ms; /* end_ms: of the last task */
    struct ws_entry *v;        /* in the order of the document */
    size_t nr;
    uint32_t *starts, *ends; /* indexes by (time, index) */
    struct sha256 document_sha, plan_sha;
};
/* The document should have passed the validator.  VALIDATION: it cannot be planned, with the
 * pointer
 * of what is in the way; NO_MEMORY.  The plan is of a and borrows the document. */
MUST_CHECK int ws_compile(const struct ws_doc *doc, const struct ws_zones *zones, struct arena *a,
                          struct ws_plan *out, struct wopr_error *err);
/* The same without plan_sha, which takes longer than the rest. */
MUST_CHECK int ws_compile_to_play(const struct ws_doc *doc, const struct ws_zones *zones,
                                  struct arena *a, struct ws_plan *out, struct wopr_error *err);
/* The same with what an earlier compilation found: no zone data is asked for. */
MUST_CHECK int ws_compile_again(const struct ws_doc *doc, const struct ws_anchor *anchor,
                                struct arena *a, struct ws_plan *out, struct wopr_error *err);
/* The members that planSha256 is of; then the digests too. */
void ws_plan_write(struct buf *b, const struct ws_plan *p, bool digests);

/* The steps of the virtual clock (WS-64): all completions due at an instant, then all starts. */
struct ws_step {
    bool ends;
    uint32_t task;
    int64_t vt;
};
struct ws_steps {
    const struct ws_plan *plan;
    size_t starts, ends; /* taken so far */
};
bool ws_next_step(struct ws_steps *s, struct ws_step *out);

/* The plan as a picture of who does what when: text, at most columns wide (the names of tasks
 * below),
 * or SVG. */
void ws_draw_text(struct buf *b, const struct ws_plan *p, unsigned columns);
void ws_draw_svg(struct buf *b, const struct ws_plan *p);
/* "09:30", "day 2 00:15:30", or with an anchor "2026-02-03 09:30". */
#define WS_CLOCK_SIZE 64
void ws_clock_format(const struct ws_plan *p, int64_t vt, char out[WS_CLOCK_SIZE]);

#endif
