/*
 * mount.h: the wires that the server carries, compiled.  Layer: http.
 *
 * An exchange gets its mount once, when its path is known (mount_of), and keeps it to its end.
 */
#ifndef WOPR_HTTP_MOUNT_H
#define WOPR_HTTP_MOUNT_H

#include "http/http.h"

struct router;
struct mount {
    struct http_mount as; /* as configured */
    struct str prefix, version_header, replay_header;
    struct router *router;
    unsigned views_first; /* what its view 0 is called in the journal */
};
struct mounts {
    struct mount *v; /* v[0]: the first, which also answers what lies under no prefix */
    size_t nr;
    const char **op_names; /* by route.op_no, over all mounts */
    size_t ops_nr;
};
/* Everything is allocated in a but the routers. */
MUST_CHECK int mounts_init(struct mounts *m, const struct http_mount *list, size_t n,
                           struct arena *a, struct wopr_error *err);
void mounts_fini(struct mounts *m);
/* Before the first request: numbers in the journal for the views of all mounts. */
MUST_CHECK int mounts_register_views(struct mounts *m, struct journal *j, struct wopr_error *err);
/* Never NULL. */
const struct mount *mount_of(const struct mounts *m, struct str path);

#endif
