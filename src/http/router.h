/*
 * router.h: paths to operations, and percent-decoding.  Layer: http.
 */
#ifndef WOPR_HTTP_ROUTER_H
#define WOPR_HTTP_ROUTER_H

#include "http/http.h"

enum {
    HTTP_PATH_SEGMENTS_MAX = 16,
    HTTP_PARAM_BYTES_MAX = 128,  /* decoded path parameter (HTTP-5) */
    HTTP_NAME_BYTES_MAX = 400,   /* of an operation with OP_LONG_NAMES */
    HTTP_TOKEN_BYTES_MAX = 2048, /* the parameter named "token" is not an id */
    HTTP_QUERY_MAX = 64
};

/* --- router.c --- */
struct router;
struct route {
    const struct http_op *op; /* NULL when no row matches */
    size_t op_no;             /* over all mounts */
    const char *allow;        /* methods of the path when it is known, else NULL */
    struct http_param params[4];
    size_t params_nr;
};
/* first_no: op_no of ops[0]. */
MUST_CHECK int router_new(const struct http_op *ops, size_t n, size_t first_no, struct router **out,
                          struct wopr_error *err);
void router_free(struct router *r); /* takes NULL */
/* 0; NOT_FOUND, METHOD (out->allow set), NO_MEMORY. */
MUST_CHECK int router_match(const struct router *r, struct str method, struct str path,
                            struct arena *a, struct route *out, struct wopr_error *err);

/* --- uri.c --- */
/* Undo %xx (and + when asked); false at a bad escape or %00.  *out borrows raw when nothing is
 * escaped. */
bool uri_decode(struct arena *a, struct str raw, bool plus_is_blank, struct str *out);
/* VALIDATION when malformed or too many. */
MUST_CHECK int uri_query(struct arena *a, struct str raw, struct http_param **out, size_t *n,
                         struct wopr_error *err);

#endif
