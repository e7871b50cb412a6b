/*
 * openapi.c: GET /v1/openapi.json (E2, RUN-47).  The document is made at build time from
 * api/host/operations by tools/openapi.py, like the operation table, so that it describes exactly
 * the routes that are mounted.
 */
#include "wire/v1/wire_int.h"

int v1_openapi_build(struct v1 *v, struct wopr_error *err) {
    v->openapi = v1_openapi_text();
    v->openapi_etag = wire_etag_of(v->openapi, v->arena);
    if (v->openapi_etag.p) return 0;
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the OpenAPI document");
}

int v1_get_open_api_spec(struct http_call *c) {
    struct v1 *v = v1_of(c);
    return wire_reply_document(c, v->openapi, v->openapi_etag, V1_DISCOVERY_CACHE);
}
