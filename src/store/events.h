/*
 * events.h: read the log of a run; a fork's begins with the events it inherits, whichever run holds
 * them.  Layer: store.  General rules: store.h.
 */
#ifndef WOPR_STORE_EVENTS_H
#define WOPR_STORE_EVENTS_H

#include "domain/event.h"
#include "store/store.h"

/* One page of a log: events with sequence >= from (negative: from the first), ascending.  It ends
 * after max events, or with the event that brings the payloads to bytes_max: at least one event,
 * unless the log ends before from.  An unknown run has an empty log. */
MUST_CHECK int store_events(struct store *s, int64_t run_no, int64_t from, unsigned max,
                            size_t bytes_max, struct arena *a, struct event_list *out,
                            struct wopr_error *err);
struct log_range { /* a part of a log, and how much of it may be in memory */
    int64_t run_no;
    int64_t from;         /* first sequence; negative: the first event */
    int64_t until;        /* the sequence after the last; INT64_MAX: the end of the log */
    unsigned page_events; /* at most, of a page */
    size_t page_bytes;    /* about, of its payloads */
};
/* Walk a part of a log, one page in memory at a time.  take gets each event once, ascending; the
 * event lives for the call.  It returns 0 to go on, 1 to end the walk, or a code, which ends it too
 * and is returned.  page is reset before each page.  A log that grows meanwhile is walked to its
 * new end. */
typedef int event_take(void *ctx, const struct event *e, struct wopr_error *err);
MUST_CHECK int store_walk(struct store *s, const struct log_range *range, struct arena *page,
                          event_take *take, void *ctx, struct wopr_error *err);
/* One page of a range: its first events of a kind.  Costs a scan of the range. */
MUST_CHECK int store_events_of_kind(struct store *s, const struct log_range *range,
                                    enum ev_kind kind, struct arena *a, struct event_list *out,
                                    struct wopr_error *err);
/* Payload and time (no more of *out is set) of the run's last event of a kind: that of node_id;
 * with an empty node_id that of the node which the run shows as current, or of the run itself.
 * NOT_FOUND. */
MUST_CHECK int store_event_last(struct store *s, int64_t run_no, enum ev_kind kind,
                                struct str node_id, struct arena *a, struct event *out,
                                struct wopr_error *err);

#endif
