/*
 * remotes.h: other systems that the operator named, for nodes that speak a protocol with them (MCP
 * servers, A2A agents).  Layer: egress.  Where a run may go is said here and never by its inputs,
 * by a model or by another system (MCP-3, A2A-3).  Read-only after it was made (host/remotes.c).
 */
#ifndef WOPR_EGRESS_REMOTES_H
#define WOPR_EGRESS_REMOTES_H

#include "base/str.h"

#define REMOTES_MAX     64u
#define REMOTE_NAME_MAX 64u

enum remote_kind { REMOTE_MCP, REMOTE_A2A };
struct remote_names {
    struct str *v;
    size_t n;
};
struct remote {
    enum remote_kind kind;
    struct str name;
    struct str url;                /* without user, password and fragment */
    struct str shown;              /* the same without its query, which may hold a key */
    struct str header, credential; /* "Authorization" and "Bearer ...", or empty */
    struct remote_names tenants;   /* who may use it; none = everybody */
    struct remote_names tools;     /* MCP: what may be called there; none = all that it offers */
    bool needs_signature;          /* A2A: an unsigned card is refused */
};
struct remotes {
    struct remote *v;
    size_t n;
};

/* By name or URL; an empty name is the first that the tenant may use.  NULL: there is none. */
const struct remote *remote_find(const struct remotes *r, enum remote_kind kind, struct str name,
                                 struct str tenant);
bool remote_for(const struct remote *r, struct str tenant);
bool remote_has_tool(const struct remote *r, struct str tool);

#endif
