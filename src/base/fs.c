/* fs.c: see fs.h. */
#include "base/fs.h"

#include "base/fault.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 16384 };

static enum fs_read fd_read(int fd, struct buf *out) {
    char piece[PIECE_BYTES];
    for (;;) {
        ssize_t n = read(fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return FS_READ_FAILED;
        if (n == 0) return buf_failed(out) ? FS_READ_TOO_BIG : FS_READ_OK;
        buf_add(out, piece, (size_t)n);
        if (buf_failed(out)) return FS_READ_TOO_BIG;
    }
}

enum fs_read fs_read(const char *path, size_t max, struct buf *out) {
    struct buf b;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return FS_READ_NO_FILE;
    buf_init(&b, max);
    enum fs_read result = fd_read(fd, &b);
    int error = errno;
    (void)close(fd);
    if (result == FS_READ_OK) *out = b;
    else buf_fini(&b);
    errno = error;
    return result;
}

int fs_each_name(const char *folder, bool (*fn)(void *ctx, const char *name), void *ctx) {
    DIR *d = opendir(folder);
    if (!d) return -1;
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.' && !fn(ctx, e->d_name)) break;
    (void)closedir(d);
    return 0;
}

bool fs_exists(const char *path) { return access(path, F_OK) == 0; }

bool fs_readable(const char *path) { return access(path, R_OK) == 0; }

/* The folder in which the file is, or would be. */
static bool folder_stat(const char *path, struct stat *st) {
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int n = slash == NULL ? snprintf(dir, sizeof dir, ".")
                          : snprintf(dir, sizeof dir, "%.*s", (int)(slash - path) + 1, path);
    return n > 0 && (size_t)n < sizeof dir && stat(dir, st) == 0;
}

/* Root looks at a file of another user who also owns the folder. */
static bool in_own_folder(const char *path, const struct stat *st) {
    struct stat dir;
    return geteuid() == 0 && folder_stat(path, &dir) && dir.st_uid == st->st_uid;
}

const char *fs_exposed(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0) return NULL;
    if (st.st_uid != geteuid() && st.st_uid != 0 && !in_own_folder(path, &st))
        return "belongs to another user";
    if ((st.st_mode & 07) != 0) return "can be read or changed by every user";
    if ((st.st_mode & 020) != 0) return "can be changed by its group";
    if ((st.st_mode & 070) != 0 && (st.st_uid != 0 || geteuid() == 0))
        return "can be read by its group";
    return NULL;
}

bool fs_stamp(const char *path, struct fs_stamp *out) {
    struct stat st;
    *out = (struct fs_stamp){0};
    if (stat(path, &st) != 0) return false;
    *out = (struct fs_stamp){(uint64_t)st.st_dev, (uint64_t)st.st_ino, (int64_t)st.st_size,
                             (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec};
    return true;
}

int64_t fs_size(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

int fs_open_null(void) { return open("/dev/null", O_RDWR | O_CLOEXEC); }

const volatile void *fs_map(const char *path, size_t n) {
    struct stat st;
    void *p = MAP_FAILED;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return NULL;
    if (fstat(fd, &st) == 0 && st.st_size >= (off_t)n)
        p = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0);
    (void)close(fd);
    return p == MAP_FAILED ? NULL : p;
}

int fs_open(const char *path, int flags, mode_t mode) {
    if ((flags & O_CREAT) != 0 && fault_hit_as(FAULT_WRITE, ENOSPC)) return -1;
    return open(path, flags | O_CLOEXEC, mode);
}

static bool is_link(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* A file that root has just made, to the owner of its folder. */
static int file_hand_over(const char *path, int fd) {
    struct stat dir;
    if (geteuid() != 0 || !folder_stat(path, &dir) || dir.st_uid == 0) return fd;
    if (fchown(fd, dir.st_uid, dir.st_gid) == 0) return fd;
    int why = errno;
    fs_remove(path);
    (void)close(fd);
    errno = why;
    return -1;
}

/* Only a file that this call makes changes hands: O_EXCL follows no link, which the folder's owner
 * may have laid to a file of root's.  A link to a file that is not there yet makes it, as open(2)
 * does, and it stays its maker's. */
int fs_create(const char *path, int flags, mode_t mode) {
    int fd = fs_open(path, flags | O_CREAT | O_EXCL, mode);
    if (fd >= 0) return file_hand_over(path, fd);
    if (errno == EEXIST) fd = fs_open(path, flags, mode);
    if (fd >= 0 || errno != ENOENT || !is_link(path)) return fd;
    return open(path, flags | O_CREAT | O_CLOEXEC, mode);
}

int fs_make_folder(const char *path, mode_t mode) {
    return fault_hit_as(FAULT_WRITE, ENOSPC) ? -1 : mkdir(path, mode);
}

int fs_truncate(int fd, off_t size) {
    return fault_hit_as(FAULT_WRITE, ENOSPC) ? -1 : ftruncate(fd, size);
}

ssize_t fs_write_at(int fd, const void *p, size_t n, off_t at) {
    return fault_hit_as(FAULT_WRITE, ENOSPC) ? -1 : pwrite(fd, p, n, at);
}

ssize_t fs_read_at(int fd, void *p, size_t n, off_t at) { return pread(fd, p, n, at); }

int fs_sync(int fd) { return fault_hit_as(FAULT_FSYNC, EIO) ? -1 : fsync(fd); }

int fs_lock(int fd, int operation) { return flock(fd, operation); }

/* A file system that cannot sync folders need not. */
static int folder_sync(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = slash ? mem_strndup(path, slash == path ? 1 : (size_t)(slash - path)) : NULL;
    if (slash && !folder) return -1;
    int fd = open(folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 ? -1 : fs_sync(fd);
    if (rc != 0 && (errno == EINVAL || errno == ENOTSUP)) rc = 0;
    int saved = errno;
    if (fd >= 0) close(fd);
    mem_free(folder);
    errno = saved;
    return rc;
}

int fs_rename(const char *from, const char *to) {
    if (fault_hit_as(FAULT_RENAME, EIO)) return -1;
    return rename(from, to) == 0 ? folder_sync(to) : -1;
}

int fs_link(const char *from, const char *to) {
    if (fault_hit_as(FAULT_RENAME, EIO)) return -1;
    return link(from, to) == 0 ? folder_sync(to) : -1;
}

void fs_remove(const char *path) { (void)unlink(path); }
