/*
 * problem.h: what is wrong with a document, as a list (WS-21 to WS-25).  Layer: workspec.
 *
 * A problem is a row of problems.def with a place and facts; title, detail and suggestion are
 * made
 * of the row and the facts when they are asked for.  The list ends with a problem of its own
 * when it
 * grows beyond bounds, so that no document makes more of it than memory holds.
 */
#ifndef WOPR_WORKSPEC_PROBLEM_H
#define WOPR_WORKSPEC_PROBLEM_H

#include "workspec/parse.h"

enum ws_severity { WS_ERROR, WS_WARNING, WS_INFO, WS_SEVERITIES };
enum ws_code {
#define PROBLEM(code, metric, severity, detail, suggestion) WS_##code,
#include "workspec/problems.def"
#undef PROBLEM
    WS_CODES
};
enum { WS_PROBLEMS_MAX = 10000 };
#define WS_PROBLEMS_BYTES_MAX ((size_t)4 * 1024 * 1024) /* of all, without their words */
#define WS_PROBLEM_BYTES_MAX  ((size_t)32 * 1024 * 1024)

/* One member of a problem's context. */
struct ws_fact {
    const char *name; /* NULL: the end of a list */
    enum { WS_FACT_TEXT, WS_FACT_VALUE, WS_FACT_NUMBER, WS_FACT_JSON } kind;
    struct str text;              /* TEXT, JSON; of TEXT p NULL means null */
    const struct ws_value *value; /* NULL: absent, the member is left out */
    double number;
};
static inline struct ws_fact ws_ft(const char *name, struct str text) {
    return (struct ws_fact){.name = name, .kind = WS_FACT_TEXT, .text = text};
}
static inline struct ws_fact ws_fz(const char *name, const char *text) {
    return ws_ft(name, str_c(text));
}
static inline struct ws_fact ws_fv(const char *name, const struct ws_value *value) {
    return (struct ws_fact){.name = name, .kind = WS_FACT_VALUE, .value = value};
}
static inline struct ws_fact ws_fn(const char *name, double number) {
    return (struct ws_fact){.name = name, .kind = WS_FACT_NUMBER, .number = number};
}
static inline struct ws_fact ws_fj(const char *name, struct str json) {
    return (struct ws_fact){.name = name, .kind = WS_FACT_JSON, .text = json};
}
#define WS_FACTS(...) ((const struct ws_fact[]){__VA_ARGS__, {.name = NULL}})

struct ws_problem {
    enum ws_code code;
    uint8_t severity;             /* enum ws_severity; that of the row, but for H2 */
    uint32_t line, column;        /* 0: nowhere in a text */
    struct str instance, context; /* context: a JSON object */
};
struct ws_report {
    struct arena *a;
    struct ws_problem *v;
    size_t nr, cap, bytes;
    size_t counts[WS_SEVERITIES];
    bool full;   /* a bound was met: raise no more */
    bool failed; /* out of memory */
    struct buf scratch;
};
void ws_report_init(struct ws_report *r, struct arena *a);
void ws_report_fini(struct ws_report *r); /* the problems stay in the arena */
static inline bool ws_report_ok(const struct ws_report *r) {
    return r->counts[WS_ERROR] == 0 && !r->failed;
}
/* where: the value whose line is meant, may be NULL.  instance and the texts of facts are
 * borrowed
 * for as long as the report. */
void ws_raise(struct ws_report *r, enum ws_code code, const struct ws_value *where,
              struct str instance, const struct ws_fact *facts);
void ws_raise_as(struct ws_report *r, enum ws_code code, enum ws_severity severity,
                 const struct ws_value *where, struct str instance, const struct ws_fact *facts);
/* The arena has met its maximum: H18 alone. */
void ws_report_exhausted(struct ws_report *r);
/* A limit was met (H18). */
void ws_raise_excess(struct ws_report *r, const struct ws_excess *e);

const char *ws_metric(enum ws_code code);
const char *ws_severity_name(unsigned severity);
/* The detail, made of the row and the context; appended.  where: with line and column. */
void ws_detail(struct buf *b, const struct ws_problem *p, bool where);
void ws_suggestion(struct buf *b, const struct ws_problem *p);
/* An array of RFC 7807 objects with the members of WS-22, without blanks; appended. */
void ws_problems_write(struct buf *b, const struct ws_report *r);

#endif
