/*
 * published.h: the published schemas of the protocol (api/schemas), as embedded, under their URIs.
 * Layer: domain (pure).
 */
#ifndef WOPR_DOMAIN_PUBLISHED_H
#define WOPR_DOMAIN_PUBLISHED_H

#include "codec/schema.h"

#define PUBLISHED_URI "https://openwop.dev/spec/v1/" /* and the name of the file */

/* A set that asserts formats and takes up a published document when a schema that is compiled in it
 * refers to that.  NULL when memory is short; the caller frees it. */
struct schema_set *published_set_new(void);

#endif
