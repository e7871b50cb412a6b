/* fault_vfs.c: see fault_vfs.h. */
#include "faults/fault_vfs.h"

#include "base/error.h"
#include "base/fault.h"

#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECTOR = 512, NAMES_MAX = 32 };

/* ------------------------------------------------------------------------------ what is durable */
struct change { /* a write, or (n < 0) a truncation, that no sync has covered yet */
    sqlite3_int64 at;
    int n;
    unsigned char *bytes;
};
struct image { /* the bytes of one file as the disk has them */
    int refs;  /* names and open files */
    unsigned char *p;
    size_t n, cap;
    struct change *changes;
    size_t changes_nr, changes_cap;
};
struct name { /* a folder entry: as processes see it, and as the disk has it */
    char *path;
    struct image *now, *kept;
};
static struct {
    pthread_mutex_t lock;
    bool on, cut;
    uint64_t rng, calls, cut_at;
    struct name names[NAMES_MAX];
    size_t names_nr;
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t chance(uint64_t n) { /* xorshift64*: 0..n-1 */
    disk.rng ^= disk.rng >> 12;
    disk.rng ^= disk.rng << 25;
    disk.rng ^= disk.rng >> 27;
    return (disk.rng * UINT64_C(2685821657736338717) >> 32) % n;
}

static void *must(void *p) {
    ASSERT(p != NULL);
    return p;
}

static void image_unref(struct image *m) {
    if (!m || --m->refs > 0) return;
    for (size_t i = 0; i < m->changes_nr; i++) free(m->changes[i].bytes);
    free(m->changes);
    free(m->p);
    free(m);
}

static struct image *image_ref(struct image *m) {
    if (m) m->refs++;
    return m;
}

static void image_resize(struct image *m, size_t n) {
    if (n > m->cap) {
        m->cap = n + n / 2;
        m->p = must(realloc(m->p, m->cap));
    }
    if (n > m->n) memset(m->p + m->n, 0, n - m->n);
    m->n = n;
}

static void image_put(struct image *m, sqlite3_int64 at, const unsigned char *p, size_t n) {
    size_t end = (size_t)at + n;
    if (end > m->n) image_resize(m, end);
    memcpy(m->p + at, p, n);
}

static void image_change(struct image *m, sqlite3_int64 at, int n, const void *p) {
    if (m->changes_nr == m->changes_cap) {
        m->changes_cap = m->changes_cap ? m->changes_cap * 2 : 64;
        m->changes = must(realloc(m->changes, m->changes_cap * sizeof *m->changes));
    }
    struct change *c = &m->changes[m->changes_nr++];
    *c = (struct change){.at = at, .n = n};
    if (n <= 0) return;
    c->bytes = must(malloc((size_t)n));
    memcpy(c->bytes, p, (size_t)n);
}

/* keep == POWER_KEEP_NR: a sync, everything arrives. */
static void image_settle(struct image *m, enum power_keep keep) {
    for (size_t i = 0; i < m->changes_nr; i++) {
        struct change *c = &m->changes[i];
        bool last = i + 1 == m->changes_nr;
        bool all = keep == POWER_KEEP_NR || (keep == POWER_KEEPS_SOME && chance(4) == 0);
        bool some = (keep == POWER_TEARS_LAST && last) || keep == POWER_KEEPS_SOME;
        if (c->n < 0) {
            if (all || (some && chance(2) == 0)) image_resize(m, (size_t)c->at);
        } else if (all) {
            image_put(m, c->at, c->bytes, (size_t)c->n);
        } else if (some) {
            bool tail = chance(2) == 0; /* which half of a torn write arrives */
            for (int at = 0, n; at < c->n; at += n) {
                n = SECTOR - (int)((c->at + at) % SECTOR);
                if (n > c->n - at) n = c->n - at;
                bool here = keep == POWER_KEEPS_SOME ? chance(2) == 0 : (at < c->n / 2) != tail;
                if (here) image_put(m, c->at + at, c->bytes + at, (size_t)n);
            }
        }
        free(c->bytes);
    }
    m->changes_nr = 0;
}

static struct image *image_read(const char *path) {
    struct image *m = must(calloc(1, sizeof *m));
    m->refs = 1;
    int fd = open(path, O_RDONLY);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0) {
        image_resize(m, (size_t)st.st_size);
        ASSERT(pread(fd, m->p, m->n, 0) == (ssize_t)m->n);
    }
    if (fd >= 0) close(fd);
    return m;
}

static struct name *name_of(const char *path) {
    for (size_t i = 0; i < disk.names_nr; i++)
        if (strcmp(disk.names[i].path, path) == 0) return &disk.names[i];
    ASSERT(disk.names_nr < NAMES_MAX);
    struct name *e = &disk.names[disk.names_nr++];
    *e = (struct name){.path = must(strdup(path))};
    return e;
}

static void names_settle(enum power_keep keep) {
    for (size_t i = 0; i < disk.names_nr; i++) {
        struct name *e = &disk.names[i];
        bool arrives = keep == POWER_KEEP_NR || (keep == POWER_KEEPS_SOME && chance(2) == 0);
        struct image *m = image_ref(arrives ? e->now : e->kept);
        image_unref(e->kept);
        e->kept = m;
    }
}

/* Before a call that changes something.  true: the power is gone, or goes now; *still: the call
 * that is cut had its effect nevertheless. */
static bool power_gone(bool *still) {
    *still = false;
    if (!disk.on) return false;
    if (disk.cut) return true;
    disk.calls++;
    if (disk.cut_at == 0 || disk.calls < disk.cut_at) return false;
    disk.cut = true;
    *still = chance(2) == 0;
    return true;
}

/* ------------------------------------------------------------------------------ failing calls */
static atomic_int write_style;
static atomic_bool style_sticky;
static atomic_uint stuck; /* sites that fail until healed */

static bool due(enum fault_site site) {
    if ((atomic_load(&stuck) & (1u << site)) != 0) return true;
    if (!fault_hit(site)) return false;
    if (atomic_load(&style_sticky)) atomic_fetch_or(&stuck, 1u << site);
    return true;
}

void fault_vfs_style(enum fault_write how, bool sticky) {
    atomic_store(&write_style, (int)how);
    atomic_store(&style_sticky, sticky);
}

void fault_vfs_heal(void) { atomic_store(&stuck, 0); }

/* ------------------------------------------------------------------------------ files */
struct file {
    sqlite3_file base;
    sqlite3_file *real;   /* lies behind this struct */
    struct image *image;  /* while power is on */
    bool folder_sync_due; /* as the default VFS: with the first sync of a new journal or WAL */
};
#define FILE_OF(f)       ((struct file *)(f))
#define REAL(f)          (FILE_OF(f)->real)
#define DO(f, call, ...) (REAL(f)->pMethods->call(REAL(f), __VA_ARGS__))

static int f_close(sqlite3_file *f) {
    pthread_mutex_lock(&disk.lock);
    image_unref(FILE_OF(f)->image);
    FILE_OF(f)->image = NULL;
    pthread_mutex_unlock(&disk.lock);
    return REAL(f)->pMethods->xClose(REAL(f));
}

static int f_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at) {
    return power_is_cut() ? SQLITE_IOERR_READ : DO(f, xRead, p, n, at);
}

static int write_fails(sqlite3_file *f, const void *p, int n, sqlite3_int64 at) {
    switch (atomic_load(&write_style)) {
    case FAULT_WRITE_FULL:
        return SQLITE_FULL;
    case FAULT_WRITE_SHORT:
        (void)DO(f, xWrite, p, n / 2, at);
        return SQLITE_FULL;
    default:
        return SQLITE_IOERR_WRITE;
    }
}

static int f_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at) {
    bool still;
    if (due(FAULT_WRITE)) return write_fails(f, p, n, at);
    pthread_mutex_lock(&disk.lock);
    bool gone = power_gone(&still);
    if ((!gone || still) && FILE_OF(f)->image) image_change(FILE_OF(f)->image, at, n, p);
    pthread_mutex_unlock(&disk.lock);
    return gone ? SQLITE_IOERR_WRITE : DO(f, xWrite, p, n, at);
}

static int f_truncate(sqlite3_file *f, sqlite3_int64 n) {
    bool still;
    if (due(FAULT_WRITE)) return SQLITE_IOERR_TRUNCATE;
    pthread_mutex_lock(&disk.lock);
    bool gone = power_gone(&still);
    if ((!gone || still) && FILE_OF(f)->image) image_change(FILE_OF(f)->image, n, -1, NULL);
    pthread_mutex_unlock(&disk.lock);
    return gone ? SQLITE_IOERR_TRUNCATE : DO(f, xTruncate, n);
}

static int f_sync(sqlite3_file *f, int flags) {
    bool still;
    (void)flags;
    if (due(FAULT_FSYNC)) return SQLITE_IOERR_FSYNC;
    pthread_mutex_lock(&disk.lock);
    bool gone = power_gone(&still);
    if ((!gone || still) && FILE_OF(f)->image) {
        image_settle(FILE_OF(f)->image, POWER_KEEP_NR);
        if (FILE_OF(f)->folder_sync_due) names_settle(POWER_KEEP_NR);
        FILE_OF(f)->folder_sync_due = false;
    }
    pthread_mutex_unlock(&disk.lock);
    return gone ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int f_size(sqlite3_file *f, sqlite3_int64 *n) { return DO(f, xFileSize, n); }
static int f_lock(sqlite3_file *f, int l) { return DO(f, xLock, l); }
static int f_unlock(sqlite3_file *f, int l) { return DO(f, xUnlock, l); }
static int f_reserved(sqlite3_file *f, int *out) { return DO(f, xCheckReservedLock, out); }
static int f_control(sqlite3_file *f, int op, void *p) { return DO(f, xFileControl, op, p); }
static int f_sector(sqlite3_file *f) { return REAL(f)->pMethods->xSectorSize(REAL(f)); }
static int f_traits(sqlite3_file *f) { return REAL(f)->pMethods->xDeviceCharacteristics(REAL(f)); }
static int f_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **p) {
    return DO(f, xShmMap, page, size, extend, p);
}
static int f_shm_lock(sqlite3_file *f, int at, int n, int flags) {
    return DO(f, xShmLock, at, n, flags);
}
static void f_shm_barrier(sqlite3_file *f) { REAL(f)->pMethods->xShmBarrier(REAL(f)); }
static int f_shm_unmap(sqlite3_file *f, int del) { return DO(f, xShmUnmap, del); }

static const sqlite3_io_methods METHODS = {
    .iVersion = 2, /* no memory-mapped reads: they would pass us by */
    .xClose = f_close,
    .xRead = f_read,
    .xWrite = f_write,
    .xTruncate = f_truncate,
    .xSync = f_sync,
    .xFileSize = f_size,
    .xLock = f_lock,
    .xUnlock = f_unlock,
    .xCheckReservedLock = f_reserved,
    .xFileControl = f_control,
    .xSectorSize = f_sector,
    .xDeviceCharacteristics = f_traits,
    .xShmMap = f_shm_map,
    .xShmLock = f_shm_lock,
    .xShmBarrier = f_shm_barrier,
    .xShmUnmap = f_shm_unmap,
};

/* ------------------------------------------------------------------------------ the VFS */
/* Under disk.lock, before the real open: what is there now is durable if we did not make it. */
static struct image *image_of_open(const char *path) {
    struct name *e = name_of(path);
    bool there = access(path, F_OK) == 0;
    if (!e->now && there) {
        e->now = image_read(path);
        e->kept = image_ref(e->now);
    } else if (!e->now) {
        e->now = must(calloc(1, sizeof *e->now));
        e->now->refs = 1;
    }
    return image_ref(e->now);
}

static int v_open(sqlite3_vfs *v, const char *path, sqlite3_file *f, int flags, int *out) {
    sqlite3_vfs *real = v->pAppData;
    struct file *x = FILE_OF(f);
    const int journals = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL;
    *x = (struct file){.real = (sqlite3_file *)(x + 1)};
    memset(x->real, 0, (size_t)real->szOsFile);
    if (power_is_cut()) return SQLITE_CANTOPEN;
    bool lasts = path && (flags & SQLITE_OPEN_DELETEONCLOSE) == 0;
    pthread_mutex_lock(&disk.lock);
    bool creates = (flags & SQLITE_OPEN_CREATE) != 0;
    if (disk.on && lasts && (creates || access(path, F_OK) == 0)) x->image = image_of_open(path);
    x->folder_sync_due = creates && (flags & journals) != 0;
    int rc = real->xOpen(real, path, x->real, flags, out);
    if (rc == SQLITE_OK) x->base.pMethods = &METHODS;
    else image_unref(x->image);
    pthread_mutex_unlock(&disk.lock);
    return rc;
}

static int v_delete(sqlite3_vfs *v, const char *path, int folder_sync) {
    sqlite3_vfs *real = v->pAppData;
    bool still;
    if (due(FAULT_RENAME)) return SQLITE_IOERR_DELETE;
    pthread_mutex_lock(&disk.lock);
    bool gone = power_gone(&still);
    if (disk.on && (!gone || still)) {
        struct name *e = name_of(path);
        if (!e->now && access(path, F_OK) == 0) e->kept = image_read(path);
        image_unref(e->now);
        e->now = NULL;
        if (folder_sync) names_settle(POWER_KEEP_NR);
    }
    pthread_mutex_unlock(&disk.lock);
    return gone ? SQLITE_IOERR_DELETE : real->xDelete(real, path, 0);
}

void fault_vfs_register(void) {
    static sqlite3_vfs vfs;
    fault_disarm();
    fault_vfs_heal();
    fault_vfs_style(FAULT_WRITE_ERROR, false);
    if (vfs.zName) return;
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    vfs = *real;
    vfs.zName = FAULT_VFS;
    vfs.pNext = NULL;
    vfs.pAppData = real;
    vfs.szOsFile = (int)sizeof(struct file) + real->szOsFile;
    vfs.xOpen = v_open;
    vfs.xDelete = v_delete;
    ASSERT(sqlite3_vfs_register(&vfs, 0) == SQLITE_OK);
}

/* ------------------------------------------------------------------------------ power */
static void names_forget(void) {
    for (size_t i = 0; i < disk.names_nr; i++) {
        image_unref(disk.names[i].now);
        image_unref(disk.names[i].kept);
        free(disk.names[i].path);
    }
    disk.names_nr = 0;
}

void power_on(uint64_t seed) {
    pthread_mutex_lock(&disk.lock);
    names_forget();
    disk.on = true;
    disk.cut = false;
    disk.rng = seed | 1;
    disk.calls = disk.cut_at = 0;
    pthread_mutex_unlock(&disk.lock);
}

void power_cut_at(uint64_t nth) {
    pthread_mutex_lock(&disk.lock);
    disk.cut_at = nth == 0 ? 0 : disk.calls + nth;
    pthread_mutex_unlock(&disk.lock);
}

bool power_is_cut(void) {
    pthread_mutex_lock(&disk.lock);
    bool cut = disk.on && disk.cut;
    pthread_mutex_unlock(&disk.lock);
    return cut;
}

uint64_t power_calls(void) {
    pthread_mutex_lock(&disk.lock);
    uint64_t n = disk.calls;
    pthread_mutex_unlock(&disk.lock);
    return n;
}

static void image_show(const struct image *m, const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ASSERT(fd >= 0);
    ASSERT(m->n == 0 || write(fd, m->p, m->n) == (ssize_t)m->n);
    close(fd);
}

void power_restore(enum power_keep keep) {
    pthread_mutex_lock(&disk.lock);
    ASSERT(disk.on);
    names_settle(keep);
    for (size_t i = 0; i < disk.names_nr; i++) {
        struct name *e = &disk.names[i];
        char shm[512];
        (void)unlink(e->path);
        (void)snprintf(shm, sizeof shm, "%s-shm", e->path);
        (void)unlink(shm); /* shared memory does not outlive the machine */
        if (e->kept) image_settle(e->kept, keep);
        if (e->kept) image_show(e->kept, e->path);
    }
    names_forget();
    disk.cut = false;
    disk.cut_at = 0;
    pthread_mutex_unlock(&disk.lock);
}

void power_off(void) {
    pthread_mutex_lock(&disk.lock);
    names_forget();
    disk.on = disk.cut = false;
    pthread_mutex_unlock(&disk.lock);
}
