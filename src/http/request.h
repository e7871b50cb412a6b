/*
 * request.h: the steps of a request, as intake.c and libmicrohttpd take them.  Layer: http.
 */
#ifndef WOPR_HTTP_REQUEST_H
#define WOPR_HTTP_REQUEST_H

#include "http/exchange.h"
#include "http/peers.h"

struct intake;
/* A head is complete.  text: all of it; why: what makes it none, then text is what arrived of it.
 * NULL without memory.  The answer may be decided already. */
struct exchange *request_begin(struct intake *e, struct str text, const struct wopr_error *why);
void request_refuse(struct exchange *x, int code, const char *why); /* unless it is answered */

/* --- admit.c --- */
/* UNAVAILABLE, in err: what, and when to retry. */
int refuse_for_now(struct exchange *x, enum metric_refusal why, int retry_s, const char *what,
                   struct wopr_error *err);
int refuse_draining(struct exchange *x, struct wopr_error *err);
enum { LIMIT_WHO_BYTES = 1 + sizeof(struct address) };
/* The client's address as a bucket of a limiter. */
struct str limit_address(struct exchange *x, char out[LIMIT_WHO_BYTES]);

/* libmicrohttpd's callbacks */
enum MHD_Result request_access(void *cls, struct MHD_Connection *conn, const char *url,
                               const char *method, const char *version, const char *data,
                               size_t *size, void **con_cls);
/* Exactly once for each exchange that request_access made. */
void request_completed(void *cls, struct MHD_Connection *conn, void **con_cls,
                       enum MHD_RequestTerminationCode why);

#endif
