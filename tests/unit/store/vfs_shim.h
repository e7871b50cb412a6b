/*
 * vfs_shim.h: a SQLite VFS over the default one that fails the nth write or sync.
 */
#ifndef WOPR_TESTS_STORE_VFS_SHIM_H
#define WOPR_TESTS_STORE_VFS_SHIM_H

#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>

static atomic_int shim_write_in, shim_sync_in; /* 0 = never; 1 = the next one fails */
static atomic_bool shim_sticky;                /* once failed, everything of that sort fails */

struct shim_file {
    sqlite3_file base;
    sqlite3_file *real; /* lies behind this struct */
};
#define REAL(f) (((struct shim_file *)(f))->real)

static int shim_due(atomic_int *n) {
    int v = atomic_load(n);
    if (v == 0) return 0;
    if (v > 1 || !atomic_load(&shim_sticky)) atomic_store(n, v - 1);
    return v == 1;
}
static int shim_close(sqlite3_file *f) { return REAL(f)->pMethods->xClose(REAL(f)); }
static int shim_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at) {
    return REAL(f)->pMethods->xRead(REAL(f), p, n, at);
}
static int shim_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at) {
    if (shim_due(&shim_write_in)) return SQLITE_IOERR_WRITE;
    return REAL(f)->pMethods->xWrite(REAL(f), p, n, at);
}
static int shim_truncate(sqlite3_file *f, sqlite3_int64 n) {
    return REAL(f)->pMethods->xTruncate(REAL(f), n);
}
static int shim_sync(sqlite3_file *f, int flags) {
    if (shim_due(&shim_sync_in)) return SQLITE_IOERR_FSYNC;
    return REAL(f)->pMethods->xSync(REAL(f), flags);
}
static int shim_size(sqlite3_file *f, sqlite3_int64 *n) {
    return REAL(f)->pMethods->xFileSize(REAL(f), n);
}
static int shim_lock(sqlite3_file *f, int l) { return REAL(f)->pMethods->xLock(REAL(f), l); }
static int shim_unlock(sqlite3_file *f, int l) { return REAL(f)->pMethods->xUnlock(REAL(f), l); }
static int shim_reserved(sqlite3_file *f, int *o) {
    return REAL(f)->pMethods->xCheckReservedLock(REAL(f), o);
}
static int shim_control(sqlite3_file *f, int op, void *p) {
    return REAL(f)->pMethods->xFileControl(REAL(f), op, p);
}
static int shim_sector(sqlite3_file *f) { return REAL(f)->pMethods->xSectorSize(REAL(f)); }
static int shim_traits(sqlite3_file *f) {
    return REAL(f)->pMethods->xDeviceCharacteristics(REAL(f));
}
static int shim_shm_map(sqlite3_file *f, int pg, int sz, int ext, void volatile **p) {
    return REAL(f)->pMethods->xShmMap(REAL(f), pg, sz, ext, p);
}
static int shim_shm_lock(sqlite3_file *f, int o, int n, int fl) {
    return REAL(f)->pMethods->xShmLock(REAL(f), o, n, fl);
}
static void shim_shm_barrier(sqlite3_file *f) { REAL(f)->pMethods->xShmBarrier(REAL(f)); }
static int shim_shm_unmap(sqlite3_file *f, int del) {
    return REAL(f)->pMethods->xShmUnmap(REAL(f), del);
}

static int shim_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *out) {
    static const sqlite3_io_methods methods = {
        .iVersion = 2,
        .xClose = shim_close,
        .xRead = shim_read,
        .xWrite = shim_write,
        .xTruncate = shim_truncate,
        .xSync = shim_sync,
        .xFileSize = shim_size,
        .xLock = shim_lock,
        .xUnlock = shim_unlock,
        .xCheckReservedLock = shim_reserved,
        .xFileControl = shim_control,
        .xSectorSize = shim_sector,
        .xDeviceCharacteristics = shim_traits,
        .xShmMap = shim_shm_map,
        .xShmLock = shim_shm_lock,
        .xShmBarrier = shim_shm_barrier,
        .xShmUnmap = shim_shm_unmap,
    };
    sqlite3_vfs *real = v->pAppData;
    struct shim_file *s = (struct shim_file *)f;
    s->real = (sqlite3_file *)(s + 1);
    memset(s->real, 0, (size_t)real->szOsFile);
    int rc = real->xOpen(real, name, s->real, flags, out);
    s->base.pMethods = rc == SQLITE_OK ? &methods : NULL;
    return rc;
}

static void shim_register(void) {
    static sqlite3_vfs shim;
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    shim = *real;
    shim.zName = "shim";
    shim.pNext = NULL;
    shim.pAppData = real;
    shim.szOsFile = (int)sizeof(struct shim_file) + real->szOsFile;
    shim.xOpen = shim_open;
    sqlite3_vfs_register(&shim, 0);
    atomic_store(&shim_write_in, 0);
    atomic_store(&shim_sync_in, 0);
    atomic_store(&shim_sticky, false);
}

#endif
