/*
 * judge.h: is this tarball a pack?  Layer: packs (pure).
 *
 * The checks 9 to 22 of 30-nodes-agents-packs 10.6, in that order: the same at publish, at install
 * and by the command line.  Nothing is unpacked to disk; what is kept in memory is the manifest,
 * what signs it, and the entry file when that is wanted.
 */
#ifndef WOPR_PACKS_JUDGE_H
#define WOPR_PACKS_JUDGE_H

#include "codec/bytes.h"
#include "packs/manifest.h"

#define PACK_TARBALL_BYTES_MAX  (10u * 1024 * 1024)
#define PACK_UNPACKED_BYTES_MAX (50u * 1024 * 1024)
#define PACK_ENTRY_BYTES_MAX    (5u * 1024 * 1024)
#define PACK_REF_BYTES_MAX      (256u * 1024) /* of a schema, a prompt, a key */
#define PACK_WARNINGS_MAX       20u
#define PACK_ARENA_MAX          (32u * 1024 * 1024) /* for one judgement, beside its entry file */

struct pack_expect {
    struct str name, version; /* what the manifest must say; empty: anything */
    bool entry;               /* the entry file is wanted */
    /* It was published elsewhere: key and signature that it names may have come beside it, and need
     * not be in it. */
    bool consumed;
};
struct pack_judged { /* texts in the arena */
    struct pack_manifest manifest;
    struct sha256 digest; /* of the tarball */
    struct str signature; /* in the tarball, over pack.json, 64 bytes; empty: none */
    struct str key;       /* text of the key file in the tarball; empty: none */
    struct str entry;     /* when wanted, and not remote */
    struct str warnings;  /* raw array of texts */
    unsigned files;
    uint64_t unpacked;
};
/* PACK_* as 10.6 says, NO_MEMORY.  err->message names the place; a name that a tarball holds is
 * never repeated. */
MUST_CHECK int pack_judge(const struct manifest_rules *rules, struct str tarball,
                          const struct pack_expect *expect, struct arena *a,
                          struct pack_judged *out, struct wopr_error *err);
/* One file of a tarball that was judged, appended to out: a schema, a prompt.  NOT_FOUND, TOO_BIG
 * beyond out's maximum. */
MUST_CHECK int pack_file_read(struct str tarball, struct str name, struct buf *out,
                              struct wopr_error *err);

#endif
