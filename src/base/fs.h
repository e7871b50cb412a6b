/*
 * fs.h: files that the process itself reads and makes; SQLite does its own.  Layer: base.
 * Thin: what the kernel answers comes back, with errno.  What changes the disk is a fault point:
 * FAULT_WRITE (new names, bytes: ENOSPC), FAULT_FSYNC (EIO).  Reading is none.
 * Any thread; all of it may block for the disk.
 */
#ifndef WOPR_BASE_FS_H
#define WOPR_BASE_FS_H

#include "base/buf.h"

#include <stdint.h>
#include <sys/types.h>

enum fs_read {
    FS_READ_OK,
    FS_READ_NO_FILE, /* it could not be opened: errno */
    FS_READ_FAILED,  /* it was opened, but not read to its end: errno */
    FS_READ_TOO_BIG, /* more than max bytes, or no memory for them */
};
/* A whole file of at most max bytes into out, which the caller ends with buf_fini; out is
 * initialised on FS_READ_OK only. */
MUST_CHECK enum fs_read fs_read(const char *path, size_t max, struct buf *out);
/* fn for each name in a folder but those with a leading dot, in the kernel's order, until it
 * returns false.  -1 when the folder cannot be opened. */
MUST_CHECK int fs_each_name(const char *folder, bool (*fn)(void *ctx, const char *name), void *ctx);
bool fs_exists(const char *path);
bool fs_readable(const char *path); /* by this user */

/* How others than its owner can read or change the file, or that it belongs to another user; NULL:
 * it is private, or not there.  That a group can read it does not count when root owns it and this
 * user is not root: then the group, or a list of rights shown as one, is how it was handed over.
 * For root a file of another user in that user's own folder is that user's, who runs the host. */
const char *fs_exposed(const char *path);

/* Which file a path is, and when it was last written: equal while nobody wrote or replaced it. */
struct fs_stamp {
    uint64_t device, inode;
    int64_t size, changed_ns;
};
bool fs_stamp(const char *path, struct fs_stamp *out); /* false, and *out zero: it is not there */
int64_t fs_size(const char *path);                     /* 0 without such a file */
/* Another descriptor of the null device: readable, writable, always empty. */
MUST_CHECK int fs_open_null(void);
/* The first n bytes of a file, shared with their writer, for the life of the process; NULL
 * when it is shorter or cannot be read. */
const volatile void *fs_map(const char *path, size_t n);

/* As open(2), close-on-exec.  With O_CREAT a fault point. */
MUST_CHECK int fs_open(const char *path, int flags, mode_t mode);
/* fs_open, making the file where there is none.  What root makes in a folder of another user
 * belongs to that user: a command of root's leaves nothing that the user's service cannot open. */
MUST_CHECK int fs_create(const char *path, int flags, mode_t mode);
MUST_CHECK int fs_make_folder(const char *path, mode_t mode);
MUST_CHECK int fs_truncate(int fd, off_t size);
MUST_CHECK ssize_t fs_write_at(int fd, const void *p, size_t n, off_t at);
MUST_CHECK ssize_t fs_read_at(int fd, void *p, size_t n, off_t at);
MUST_CHECK int fs_sync(int fd);
/* flock(2): LOCK_EX, LOCK_SH, LOCK_NB. */
MUST_CHECK int fs_lock(int fd, int operation);
/* As rename(2) and link(2), and the folder of `to` is synced, so that the new name lasts.  Fault
 * points of FAULT_RENAME. */
MUST_CHECK int fs_rename(const char *from, const char *to);
MUST_CHECK int fs_link(const char *from, const char *to);
void fs_remove(const char *path); /* as far as it goes */

#endif
