/*
 * archive.h: gzip'd tar, read entry by entry in memory (PACK-20, PACK-22, PACK-23), and written so
 * that the same files give the same bytes.  Layer: packs (pure).
 *
 * Nothing is unpacked to disk.  Read are ustar, pax and GNU long names; taken are regular files and
 * folders under clean relative names.  The first pass of a tarball needs no more memory than one
 * piece of it and what the caller keeps.
 *
 * Invariants
 *   AR1  what archive_read accepts has no name outside the root, no link and no device, and no two
 *        names that a file system without case or with another normal form takes for one
 *   AR2  no more is inflated than the bounds allow, whatever the tarball says of its size
 *   AR3  a failure is that of the first of: gzip, size, structure, names (PACK 10.6, 9 to 12)
 */
#ifndef WOPR_PACKS_ARCHIVE_H
#define WOPR_PACKS_ARCHIVE_H

#include "base/arena.h"
#include "base/buf.h"

#define ARCHIVE_ENTRIES_MAX 4096u
#define ARCHIVE_RATIO_MAX   200u               /* bytes unpacked per byte of tarball ... */
#define ARCHIVE_RATIO_FROM  (4u * 1024 * 1024) /* ... once so many are unpacked */

struct archive_file {
    struct str name; /* clean; valid during the call */
    uint64_t size;
    struct str bytes; /* archive_done only: those of a file that was wanted */
};
struct archive_user {
    /* Is the content of this file wanted?  Then at most size bytes are kept until done. */
    bool (*wants)(void *ctx, const struct archive_file *f);
    /* After each file, with its bytes when they were wanted.  Not 0: the reading ends with it. */
    int (*done)(void *ctx, const struct archive_file *f, struct wopr_error *err);
    void *ctx;
};
/* PACK_GUNZIP, PACK_TOO_LARGE (also for too many entries), PACK_TAR, PACK_PATH, NO_MEMORY, and what
 * done returned. */
MUST_CHECK int archive_read(struct str tarball, uint64_t unpacked_max, const struct archive_user *u,
                            struct wopr_error *err);

struct archive_item {
    struct str name; /* clean */
    struct str bytes;
};
/* Append the tarball of these files: in the order of their names, owned by nobody, with no time.
 * items is sorted.  PACK_PATH: a name that archive_read would refuse; NO_MEMORY, TOO_BIG. */
MUST_CHECK int archive_write(struct archive_item *items, size_t n, struct buf *out,
                             struct wopr_error *err);

#endif
