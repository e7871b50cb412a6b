/*
 * language.h: documents as a language of definitions (domain/program.h): what is stored of one, and
 * what it is compiled to.  Layer: workspec.
 *
 * What is stored is a line and the bytes of the document as they came:
 *
 *     #!workspec json tea 20487:-300 zone 16:3321:1370
 *
 * format, workflow id, what zone data said (day and offset of the anchor, or "-"), whether the zone
 * of the document is one, and what a run takes (struct run_needs), which earlier versions did not
 * store.  So a run, which keeps the text that it began with, has the same
 * plan on every machine and for ever (WS-44, WS-95).
 */
#ifndef WOPR_WORKSPEC_LANGUAGE_H
#define WOPR_WORKSPEC_LANGUAGE_H

#include "domain/program.h"
#include "workspec/plan.h"

#define WS_LANGUAGE     "workspec"
#define WS_STORED_MAX   ((size_t)1024 * 1024) /* of a document that can run: as of any definition */
#define WS_NODE_TYPE    "local.workspec.task"
#define WS_ID_CHARS_MAX 128

/* Of all threads, holds nothing. */
extern const struct wf_dialect WS_DIALECT;

struct ws_stored {
    struct str text;        /* to be stored */
    struct str workflow_id; /* as given, or made of title and digest (WS-94) */
    struct str version;
    struct sha256 plan_sha;
    struct run_needs needs;
};
/* bytes: of doc, which passed the validator in profile host.  The plan is made and projected.
 * VALIDATION, TOO_BIG: it is a good document that cannot run here, and why; NO_MEMORY. */
MUST_CHECK int ws_stored_make(const struct ws_doc *doc, struct str bytes, enum ws_format format,
                              struct str workflow_id, const struct ws_zones *zones, struct arena *a,
                              struct ws_stored *out, struct wopr_error *err);
/* The document in a stored text.  false: it is none. */
bool ws_stored_open(struct str text, enum ws_format *format, struct str *bytes);

/* --- what a document is compiled to --- */
struct ws_warning {              /* of the validator (WS-108) */
    struct str message, problem; /* problem: raw object, or empty */
};
struct ws_program {
    struct arena *a;
    struct ws_doc doc;
    struct ws_plan plan;
    struct ws_warning *warnings;
    size_t warnings_nr;
    struct run_needs needs;
};
/* What a run of the plan with these objects takes, played to its end or until it takes more than
 * any host of default settings lets a run have.  VALIDATION: it comes to an event or a question
 * that no host takes, with the pointer of its task; NO_MEMORY. */
MUST_CHECK int ws_measure(const struct ws_program *p, const struct ws_value *objects,
                          struct run_needs *out, struct wopr_error *err);
/* The definition that every reader sees (WS-97, WS-98).  NO_MEMORY, or VALIDATION: it would be none
 * that a host takes. */
MUST_CHECK int ws_project(const struct ws_plan *p, struct str workflow_id, struct buf *out,
                          struct wopr_error *err);
/* At most so many characters of s, from its beginning. */
struct str ws_first_chars(struct str s, size_t max);
/* WS-70; STR_NONE: no memory.  property.p NULL: the object itself. */
struct str ws_variable_name(struct arena *a, struct str object, struct str property);

#endif
