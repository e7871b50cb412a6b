/*
 * validate.h: what is wrong with a document (section 2).  Layer: workspec.  Pure but for zone
 * data.
 *
 * Profile reference finds what the public validator finds, in its order; profile host, which
 * imports
 * and runs use, is that with the H rules.  Time is linear in the document, but for sorting.
 */
#ifndef WOPR_WORKSPEC_VALIDATE_H
#define WOPR_WORKSPEC_VALIDATE_H

#include "workspec/problem.h"
#include "workspec/times.h"

enum ws_profile { WS_HOST, WS_REFERENCE };
struct ws_options {
    enum ws_profile profile;
    const struct ws_limits *limits; /* NULL: the default */
    const struct ws_zones *zones;   /* NULL: UTC is the only zone */
    bool no_dry_run;                /* leave H17 out */
};
/* Appends to r, whose arena holds what is needed meanwhile.  A document that met a limit while it
 * was parsed has that problem alone.  Error: NO_MEMORY. */
MUST_CHECK int ws_validate(const struct ws_doc *doc, const struct ws_options *o,
                           struct ws_report *r, struct wopr_error *err);

/* --- ids and types, for the other parts --- */
bool ws_plain_id(struct str s);
bool ws_object_id(struct str s, struct str *space); /* space: before the colon, or empty */
enum ws_base {
    WS_NO_BASE,
    WS_ACTOR,
    WS_EQUIPMENT,
    WS_SERVICE,
    WS_RESOURCE,
    WS_PRODUCT,
    WS_DISPLAY,
    WS_SCREEN_ELEMENT,
    WS_DIGITAL_OBJECT
};
enum ws_base ws_base_builtin(struct str type);
/* WS-15, WS-29.  definitions: an object, or anything else. */
enum ws_base ws_base_of(const struct ws_value *definitions, struct str type);
/* The same for many types: a chain of definitions is walked once for all that are on it. */
struct ws_bases {
    const struct ws_value *definitions; /* or NULL */
    struct ws_names known;              /* type -> enum ws_base */
};
void ws_bases_init(struct ws_bases *m, const struct ws_value *definitions, struct arena *a);
MUST_CHECK bool ws_bases_get(struct ws_bases *m, struct str type, enum ws_base *out); /* memory */
bool ws_performs(enum ws_base b);
bool ws_quantifiable(enum ws_base b);
bool ws_stateful(enum ws_base b);

#endif
