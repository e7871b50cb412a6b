/*
 * name.h: names of packs, and of the files in them (PACK-1, PACK-3, PACK-4, PACK-20, PACK-22).
 * Layer: packs (pure).
 */
#ifndef WOPR_PACKS_NAME_H
#define WOPR_PACKS_NAME_H

#include "base/error.h"
#include "base/str.h"

#define PACK_NAME_MAX       256u
#define PACK_FILE_NAME_MAX  512u
#define PACK_FILE_DEPTH_MAX 16u

enum pack_scope {
    PACK_SCOPE_CORE,
    PACK_SCOPE_VENDOR,
    PACK_SCOPE_COMMUNITY,
    PACK_SCOPE_PRIVATE,
    PACK_SCOPE_NR
};
/* 0; PACK_NAME: not reverse-DNS at all; PACK_SCOPE: it is, but of a scope that no registry has. */
MUST_CHECK int pack_name_check(struct str name, enum pack_scope *scope, struct wopr_error *err);
bool pack_name_ok(struct str name);
/* Whom a first publish gives the name to: "vendor.<org>" and "private.<host>" as a whole, of
 * "community" and "core" the name itself.  Borrowed from name, which is a good one. */
struct str pack_namespace(struct str name);

/* A name inside a tarball without "./" before and "/" after it; empty: the root.  false: it leaves
 * the root, or is no clean UTF-8. */
bool pack_file_name(struct str raw, struct str *out);

#endif
