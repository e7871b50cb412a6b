/*
 * pack_loader.h: node types of installed packs, as the engine asks for them (PACK-61 to PACK-66,
 * WASM-2).  Layer: nodes; for the host.
 *
 * An install is the approval of a pack for a tenant; one without a tenant is for all.  Without a
 * pin the highest installed version has a type.  What was looked up is remembered for half a
 * second: a removal or an update takes effect that soon, what is new does at once.  A pack that was
 * loaded stays loaded: its types, which runs hold.  The bytes of its module do not: the sandbox
 * asks for them again (sandbox_source), and they are read from the database.  Of a type that a
 * module has, its manifest must speak.
 *
 * Threads: any.  Loading a pack for the first time reads its tarball, and asks a worker of the
 * sandbox what it is: milliseconds, ten seconds at most.
 */
#ifndef WOPR_NODES_PACK_LOADER_H
#define WOPR_NODES_PACK_LOADER_H

#include "engine/engine.h"

struct pack_loader;
struct pack_loader_config {
    struct store *store;
    struct sandbox *sandbox;       /* NULL: packs of modules are refused */
    const struct remotes *remotes; /* NULL: whether there is a server for a pack is not looked at */
};
/* What cfg names is borrowed; the sandbox has this loader as its source until the loader is freed.
 * NO_MEMORY. */
MUST_CHECK int pack_loader_new(const struct pack_loader_config *cfg, struct pack_loader **out,
                               struct wopr_error *err);
void pack_loader_free(struct pack_loader *p); /* takes NULL; after the engine, before the sandbox */
/* Has the tenant (empty: all tenants) installed a pack with this type that can be loaded here? */
bool pack_loader_has(struct pack_loader *p, struct str tenant, struct str type_id);
/* Could a pack that was judged with its entry file be loaded, apart from the store?  PACK_LOAD,
 * PACK_RUNTIME. */
struct pack_judged;
MUST_CHECK int pack_loader_try(struct sandbox *sandbox, const struct pack_judged *j,
                               struct arena *a, struct wopr_error *err);
/* For struct engine_config. */
struct engine_modules pack_loader_modules(struct pack_loader *p);

#endif
