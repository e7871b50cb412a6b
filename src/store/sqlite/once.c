/*
 * once.c: large inputs are stored once.  The first event of a run holds its inputs; its variables
 * begin as their members.  Where those texts are the same (nothing was masked), the rows of the
 * origin and of the variables keep a mark in their place, so that a megabyte is written once
 * instead of three times.
 */
#include "codec/json.h"
#include "store/sqlite/sql.h"

#include <string.h>

/* Shorter texts are not worth the comparison and the second look-up.  This also bounds the
 * comparisons: inputs of a megabyte have at most sixteen such members. */
enum { ONCE_BYTES_MIN = 64 * 1024, ONCE_NAME_MAX = 256 };

static const struct str IN_FIRST_EVENT = {"=", 1}; /* in place of JSON: run_origins.inputs */
static const struct str IN_INPUTS = {"", 0};       /* in place of JSON: run_vars.shown */

static struct str member_of(struct str object, struct str name) {
    char key[ONCE_NAME_MAX];
    if (name.n >= sizeof key || memchr(name.p, '\0', name.n)) return STR_NONE;
    memcpy(key, name.p, name.n);
    key[name.n] = '\0';
    return json_get(object, key);
}

struct str once_inputs(const struct plan *p) {
    struct str inputs = p->create->meta.inputs;
    if (inputs.n < ONCE_BYTES_MIN || p->events_nr == 0) return inputs;
    const struct event *first = &p->events[0];
    if (first->kind != EV_RUN_STARTED) return inputs;
    return str_eq(json_get(first->payload, "inputs"), inputs) ? IN_FIRST_EVENT : inputs;
}

struct str once_var(const struct plan *p, struct str name, struct str shown) {
    if (shown.n < ONCE_BYTES_MIN) return shown;
    return str_eq(member_of(p->create->meta.inputs, name), shown) ? IN_INPUTS : shown;
}

int once_inputs_read(struct conn *c, int64_t run_no, struct arena *a, struct str *inputs,
                     struct wopr_error *err) {
    if (!str_eq(*inputs, IN_FIRST_EVENT)) return 0;
    struct query q;
    query_begin(&q, c, SQL_FIRST_PAYLOAD);
    bind_int(&q, run_no);
    int rc = query_step(&q, err);
    if (rc == 1) *inputs = json_get(col_str(&q, 0, a), "inputs");
    query_end(&q);
    if (rc < 0) return rc;
    if (rc == 1 && inputs->n > 0) return 0;
    if (arena_failed(a))
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the run's inputs");
    return wopr_error_set(err, WOPR_E_CORRUPT, "the run's first event has lost its inputs");
}

static int inputs_of(struct conn *c, int64_t run_no, struct arena *a, struct str *inputs,
                     struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_RUN_INPUTS);
    bind_int(&q, run_no);
    int rc = query_step(&q, err);
    if (rc == 1) *inputs = col_str(&q, 0, a);
    query_end(&q);
    return rc < 0 ? rc : once_inputs_read(c, run_no, a, inputs, err);
}

int once_vars_read(struct conn *c, int64_t run_no, struct arena *a, struct run_view_item *v,
                   size_t n, struct wopr_error *err) {
    struct str inputs = STR_NONE;
    for (size_t i = 0; i < n; i++) {
        if (!str_eq(v[i].value, IN_INPUTS)) continue;
        int rc = inputs.n == 0 ? inputs_of(c, run_no, a, &inputs, err) : 0;
        if (rc != 0) return rc;
        v[i].value = member_of(inputs, v[i].name);
        if (v[i].value.n == 0)
            return wopr_error_set(err, WOPR_E_CORRUPT, "a variable is not in the run's inputs");
    }
    return 0;
}
