/*
 * walk.c: walk the log of a run by pages (store_walk).  Above the backends: it uses the port only.
 */
#include "store/events.h"

int store_walk(struct store *s, const struct log_range *range, struct arena *page, event_take *take,
               void *ctx, struct wopr_error *err) {
    int64_t next = range->from > 0 ? range->from : 0;
    int rc = 0;
    while (rc == 0 && next < range->until) {
        struct event_list l;
        arena_reset(page);
        rc = store_events(s, range->run_no, next, range->page_events, range->page_bytes, page, &l,
                          err);
        if (rc != 0 || l.n == 0) return rc;
        for (size_t i = 0; rc == 0 && i < l.n; i++) {
            if (l.v[i].seq >= range->until) return 0;
            next = l.v[i].seq + 1;
            rc = take(ctx, &l.v[i], err);
        }
    }
    return rc > 0 ? 0 : rc;
}
