/*
 * text.h: canonical JSON and texts that are held within budgets (sections 1.2, 1.3).
 * Layer: workrail.  Pure.
 */
#ifndef WOPR_WORKRAIL_TEXT_H
#define WOPR_WORKRAIL_TEXT_H

#include "codec/json.h"
#include "workrail/fault.h"
#include "workrail/ids.h"

/* Budgets in bytes of UTF-8, and numbers of items (WR-13). */
enum wr_budget {
    WR_NOTES_MAX = 4096,
    WR_TRACE_SUMMARY_MAX = 512,
    WR_TRACE_SUMMARIES_MAX = 8192,
    WR_TRACE_ENTRIES_MAX = 25,
    WR_TRACE_REFS_MAX = 10,
    WR_BLOCKERS_MAX = 10,
    WR_BLOCKER_MESSAGE_MAX = 512,
    WR_BLOCKER_FIX_MAX = 1024,
    WR_ISSUE_MAX = 512,
    WR_SUGGESTION_MAX = 1024,
    WR_ISSUES_MAX = 4096,
    WR_SUMMARY_MAX = 512,
    WR_OBSERVED_WORD_MAX = 80,
    WR_OBSERVED_PATH_MAX = 512,
    WR_DEDUPE_MAX = 256,
    WR_CONTEXT_MAX = 262144,
    WR_CONTEXT_DEPTH_MAX = 64,
    WR_SNIPPET_MAX = 2048,
    WR_CANDIDATES_MAX = 5,
    WR_RECOVERY_MAX = 24576,
    WR_ARTIFACTS_MAX = 32,
    WR_ARTIFACT_MAX = 262144,
    WR_REQUIREMENTS_MAX = 5,
    WR_REF_SNIPPET_MAX = 4096,
    WR_REF_STEP_MAX = 16384
};

/* Canonical form (RFC 8785) of any bytes, in a.  CANONICAL_JSON_NON_FINITE_NUMBER,
 * CANONICAL_JSON_UNSUPPORTED_VALUE (no JSON, invalid UTF-8, names that occur twice, lone
 * surrogates, too deep or too long for lim; f->e says where), OUT_OF_MEMORY. */
MUST_CHECK int wr_canonical(struct str text, const struct json_limits *lim, struct arena *a,
                            struct str *out, struct wr_fault *f);
/* A number of ours. */
MUST_CHECK int wr_canonical_number(double v, struct buf *b, struct wr_fault *f);
/* Whether checked text is its own canonical form. */
MUST_CHECK int wr_is_canonical(struct str text, bool *is, struct wr_fault *f);

/* --- truncation (WR-11) --- */
#define WR_MARKER STR("\n\n[TRUNCATED]")
/* Bytes of text that stay; cut: the marker follows them.  text is UTF-8. */
size_t wr_fit_bytes(struct str text, size_t budget, bool *cut);
/* text, or its longest prefix with the marker, never more than budget bytes (budget >= 13); of a.
 * STR_NONE: no memory. */
struct str wr_fit(struct str text, size_t budget, struct arena *a);

struct wr_texts {
    struct str *v;
    size_t nr;
};
/* WR-49: each once, in byte order, each within each_max, all within WR_ISSUES_MAX. */
MUST_CHECK int wr_issues_fit(const struct wr_texts *in, size_t each_max, struct arena *a,
                             struct wr_texts *out);
/* In place: sorted by bytes, each once; the number that stays. */
size_t wr_sort_unique(struct str *v, size_t nr);

/* UTF-16 code units of UTF-8 text: what `length` rules count (WR-131). */
size_t wr_utf16_units(struct str s);

#endif
