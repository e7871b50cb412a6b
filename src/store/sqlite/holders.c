/*
 * holders.c: holders of leases by name and number.  The last one is remembered, so that a plan that
 * creates a run needs no look-up.
 */
#include "store/sqlite/sql.h"

int holder_number(struct store *s, struct str name, int64_t until_ms, int64_t *no,
                  struct wopr_error *err) {
    if (s->holder_no != 0 && until_ms <= s->holder_until_ms && str_eqc(name, s->holder)) {
        *no = s->holder_no;
        return 0;
    }
    if (name.n == 0 || name.n >= sizeof s->holder)
        return wopr_error_set(err, WOPR_E_CONFIG, "a lease holder's name has 1 to %zu bytes",
                              sizeof s->holder - 1);
    struct query q;
    query_begin(&q, s->writer, SQL_HOLDER_PUT);
    bind_text(&q, name);
    bind_int(&q, until_ms);
    int rc = query_step(&q, err);
    if (rc < 0) return rc;
    ASSERT(rc == 1); /* the upsert always returns its row */
    int64_t number = col_int(&q, 0), until = col_int(&q, 1);
    rc = query_run(&q, err);
    if (rc != 0) return rc;
    memcpy(s->holder, name.p, name.n);
    s->holder[name.n] = '\0';
    s->holder_until_ms = until;
    s->holder_no = number;
    *no = number;
    return 0;
}
