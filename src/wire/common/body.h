/*
 * body.h: request bodies as tables.  Layer: wire/common.
 *
 * A description of operations (api/host/operations) becomes one struct and one table per body at
 * build time; a handler spreads the body over the struct in one call.  What a member means (its
 * range, its enum, whether it is required) stays with the handler.
 */
#ifndef WOPR_WIRE_COMMON_BODY_H
#define WOPR_WIRE_COMMON_BODY_H

#include "codec/json.h"

/* bodyMax of an operation. */
#define WIRE_BODY_SMALL      (64u * 1024) /* control bodies: cancel, :pause, :resume, ticket */
#define WIRE_BODY_PACK       (10u * 1024 * 1024) /* tarballs (PACK-23) */
#define WIRE_BODY_CONFIGURED SIZE_MAX     /* replaced by the setting */

#define WIRE_ANY ((enum json_type)(JSON_OBJECT + 1)) /* a value of any type, raw */

struct wire_member {
    const char *name;
    enum json_type type;
    size_t offset; /* of a struct str in the output; strings are decoded, others raw */
};
struct wire_body {
    const struct wire_member *members;
    size_t members_nr;
    bool closed; /* other members are refused (RUN-1) */
};
/* Spread the checked object text over out, a zeroed struct of that shape (NULL when it has no
 * members); an absent member stays as it is.  VALIDATION with details.fields names at most eight
 * members that are unknown or of the wrong type. */
MUST_CHECK int wire_body_parse(struct str body, const struct wire_body *shape, struct arena *a,
                               void *out, struct wopr_error *err);
/* VALIDATION about one member: details.fields = [{path, reason}] (ERR-6).  path and reason are
 * literals of ours. */
int wire_field_error(struct wopr_error *err, const char *path, const char *reason,
                     const char *message);

#endif
