/*
 * cursor.h: positions that clients hand back.  Layer: wire/common.
 */
#ifndef WOPR_WIRE_COMMON_CURSOR_H
#define WOPR_WIRE_COMMON_CURSOR_H

#include "wire/common/wire.h"

/* Where a stream resumes: a sequence in digits (one that no log reaches lies past any end), or the
 * id of an event below next_seq (SSE-28).  False: neither. */
bool wire_event_cursor(struct str run_id, int64_t next_seq, struct str text, int64_t *seq);
/* "<requested ms>-<interrupt id>": the last interrupt of the page before.  False: malformed. */
bool wire_interrupt_cursor(struct str text, int64_t *requested_ms, struct str *interrupt_id);
struct str wire_interrupt_cursor_format(int64_t requested_ms, struct str interrupt_id,
                                        struct arena *a);

#endif
