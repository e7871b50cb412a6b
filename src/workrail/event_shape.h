/*
 * event_shape.h: the shapes of payloads and of what snapshots share with them.  Layer: workrail,
 * private to event.c and snapshot.c.
 */
#ifndef WOPR_WORKRAIL_EVENT_SHAPE_H
#define WOPR_WORKRAIL_EVENT_SHAPE_H

#include "workrail/event.h"
#include "workrail/shape.h"

/* The `data` of each kind: a shape of union wr_payload. */
extern const struct wr_shape *const WR_PAYLOADS[WR_KINDS];
extern const struct wr_names WR_KIND_NAMES;
extern const struct wr_shape WR_REPORT_SHAPE; /* of struct wr_report, checked by wr_report_check */
extern const struct wr_names WR_CAPABILITY_NAMES, WR_DETAIL_NAMES, WR_BLOCKER_NAMES,
    WR_CATEGORY_NAMES, WR_AUTONOMY_NAMES, WR_RISK_NAMES, WR_SOURCE_NAMES, WR_DIVERGENCE_NAMES;

#endif
