/*
 * http_request.h: the request of a vendor.wopr.http node.  Layer: nodes, not for others.
 */
#ifndef WOPR_NODES_HTTP_REQUEST_H
#define WOPR_NODES_HTTP_REQUEST_H

#include "nodes/nodes.h"

/* Fill *r from ports and config, templates filled in.  false: *out is filled. */
MUST_CHECK bool http_request_read(const struct node_call *call, struct node_request *r,
                                  struct node_result *out);
/* Is s one of the words "2xx", "404" ...?  *from, *to: the statuses it stands for. */
bool http_status_class(struct str s, int *from, int *to);

#endif
