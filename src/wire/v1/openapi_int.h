/*
 * openapi_int.h: what openapi.c and openapi_schemas.c share.
 */
#ifndef WOPR_WIRE_V1_OPENAPI_INT_H
#define WOPR_WIRE_V1_OPENAPI_INT_H

#include "wire/v1/wire_int.h"

struct doc {           /* the document while it is rendered */
    struct str source; /* api/host/openapi.json, checked */
    struct arena *a;   /* scratch */
    struct jw w;
    struct wopr_error *err;
};
/* INTERNAL: the source lacks something; a mistake of ours that the tests see at once. */
int doc_missing(struct doc *d, const char *what, struct str name);
/* Copy a value without its white space, every $ref turned into one that resolves in the document.
 */
MUST_CHECK int doc_copy(struct doc *d, struct str raw);
/* components.schemas: the published schemas, taken apart, and those of this host. */
MUST_CHECK int doc_schemas(struct doc *d);

#endif
