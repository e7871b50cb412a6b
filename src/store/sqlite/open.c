/*
 * open.c: opening and closing a database file: folder, connections, checkpoint, secrets.
 */
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "store/keys.h"
#include "store/sqlite/sql.h"
#include "store/sqlite/sqlite.h"
#include "store/upkeep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { BUSY_TIMEOUT_DEFAULT_MS = 5000, PATH_BYTES_MAX = 4096 };

static int file_fail(struct wopr_error *err, const char *what, const char *path) {
    int e = errno;
    int code = e == ENOSPC || e == EDQUOT ? WOPR_E_DISK_FULL
               : e == ENOMEM              ? WOPR_E_NO_MEMORY
                                          : WOPR_E_IO;
    return wopr_error_set(err, code,
                          "cannot %s %s: %s; check that its folder is there and writable", what,
                          path, strerror(e));
}

/* A new file name is durable once its folder is synced; some file systems cannot sync folders. */
static int folder_sync(const char *path, struct wopr_error *err) {
    char folder[PATH_BYTES_MAX];
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    if (n > 0) memcpy(folder, path, n);
    else folder[n++] = slash ? '/' : '.';
    folder[n] = '\0';
    int fd = fs_open(folder, O_RDONLY | O_DIRECTORY, 0), rc = 0;
    if (fd >= 0 && fs_sync(fd) != 0 && errno != EINVAL && errno != ENOTSUP)
        rc = file_fail(err, "sync folder", folder);
    if (fd >= 0) close(fd);
    return rc;
}

/* Make every missing folder on the way to path, private to this user. */
static int folder_make(const char *path, struct wopr_error *err) {
    char dir[PATH_BYTES_MAX];
    int n = snprintf(dir, sizeof dir, "%s", path);
    if (n <= 0 || (size_t)n >= sizeof dir)
        return wopr_error_set(err, WOPR_E_CONFIG, "the database path is empty or too long");
    for (char *p = strchr(dir + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = '\0';
        bool made = fs_make_folder(dir, 0700) == 0;
        if (!made && errno != EEXIST) return file_fail(err, "make folder", dir);
        int rc = made ? folder_sync(dir, err) : 0;
        if (rc != 0) return rc;
        *p = '/';
    }
    return 0;
}

/* Create the file with private permissions; SQLite gives its journals the same. */
static int file_make(const char *path, struct wopr_error *err) {
    int fd = fs_create(path, O_RDWR, 0600);
    if (fd < 0) return file_fail(err, "open database", path);
    close(fd);
    return 0;
}

static void reader_gone(void *p) { /* a thread with a reader ends */
    struct conn *c = p;
    struct store *s = c->store;
    pthread_mutex_lock(&s->readers_lock);
    list_del(&c->link);
    pthread_mutex_unlock(&s->readers_lock);
    conn_close(c);
}

static struct store *store_alloc(const struct store_config *cfg) {
    struct store *s = MEM_NEW(struct store);
    if (!s) return NULL;
    s->cfg = *cfg;
    s->lock_fd = -1;
    list_init(&s->readers);
    pthread_mutex_init(&s->write_lock, NULL);
    pthread_mutex_init(&s->own.lock, NULL);
    s->own.era = 1;
    pthread_mutex_init(&s->readers_lock, NULL);
    s->path = mem_strndup(cfg->path, strlen(cfg->path));
    s->vfs = cfg->vfs ? mem_strndup(cfg->vfs, strlen(cfg->vfs)) : NULL;
    s->has_key = pthread_key_create(&s->reader_key, reader_gone) == 0;
    if (!s->path || (cfg->vfs && !s->vfs) || !s->has_key) {
        store_close(s);
        return NULL;
    }
    s->cfg.path = s->path;
    s->cfg.vfs = s->vfs;
    if (s->cfg.busy_timeout_ms <= 0) s->cfg.busy_timeout_ms = BUSY_TIMEOUT_DEFAULT_MS;
    return s;
}

/* Beside other hosts the schema must be the one they were started with. */
static int schema_beside_others(struct store *s, struct wopr_error *err) {
    int rc = migrate(s->writer, false, err);
    if (rc != WOPR_E_CONFIG) return rc;
    return wopr_error_set(err, WOPR_E_LOCKED,
                          "database %s must be upgraded for this program while hosts of an older"
                          " one use it; stop them first",
                          s->path);
}

static int open_writer(struct store *s, struct wopr_error *err) {
    bool alone = true;
    int rc = s->cfg.host_lock ? host_lock(s, &alone, err) : 0;
    if (rc == 0) rc = file_make(s->path, err);
    if (rc == 0) rc = conn_open(s, true, &s->writer, err);
    if (rc == 0 && alone) rc = migrate(s->writer, true, err);
    bool shared = s->cfg.host_lock && !s->cfg.exclusive;
    if (rc == 0 && alone && shared) rc = host_lock_share(s, err);
    if (rc == 0 && shared) rc = schema_beside_others(s, err);
    return rc == 0 ? task_counts_begin(s->writer, err) : rc;
}

int store_open(const struct store_config *cfg, struct store **out, struct wopr_error *err) {
    sqlite_setup();
    if (!cfg->path || cfg->path[0] == '\0')
        return wopr_error_set(err, WOPR_E_CONFIG, "no database path was given");
    struct store *s = store_alloc(cfg);
    if (!s)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to open database %s", cfg->path);
    int rc = 0;
    struct conn *c;
    if (cfg->read_only) {
        rc = conn_reader(s, &c, err);
        if (rc == 0) rc = migrate(c, false, err);
    } else {
        rc = folder_make(s->path, err);
        if (rc == 0) rc = open_writer(s, err);
    }
    if (rc != 0) {
        store_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

void store_close(struct store *s) {
    if (!s) return;
    if (s->has_key) pthread_key_delete(s->reader_key);
    struct list *l;
    while ((l = list_pop(&s->readers)) != NULL) conn_close(LIST_ENTRY(l, struct conn, link));
    conn_close(s->copier);
    if (s->writer) {
        if (atomic_load(&s->poisoned)) /* leave the files as they are: the next open decides */
            (void)sqlite3_db_config(s->writer->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        conn_close(s->writer); /* the last connection checkpoints and removes the WAL */
    }
    if (s->lock_fd >= 0)
        close(s->lock_fd); /* the file stays: removing it would race with a starter */
    pthread_mutex_destroy(&s->write_lock);
    pthread_mutex_destroy(&s->own.lock);
    pthread_mutex_destroy(&s->readers_lock);
    mem_free(s->path);
    mem_free(s->vfs);
    mem_free(s);
}

static int wal_pages(const struct store *s) {
    return atomic_load_explicit(&s->wal_pages, memory_order_relaxed);
}

/* Pages of the WAL that the last checkpoint has not copied. */
static int checkpoint_rest(const struct store *s) {
    return wal_pages(s) - atomic_load_explicit(&s->copied_pages, memory_order_relaxed);
}

/* Due when that is worth the syncs, or when the WAL itself has grown to twice that: after a pause
 * without commits it restarts by itself. */
bool store_checkpoint_due(const struct store *s) {
    return s->writer && (checkpoint_rest(s) >= STORE_WAL_CHECKPOINT_PAGES ||
                         wal_pages(s) >= 2 * STORE_WAL_CHECKPOINT_PAGES);
}

/* Also 0 when another connection, or another host, is making one. */
static int checkpoint_on(struct store *s, struct conn *c, bool *done, int *copied,
                         struct wopr_error *err) {
    uint64_t t0 = clock_mono_ns();
    int src = sqlite3_wal_checkpoint_v2(c->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, copied);
    checkpoint_count(s, src, clock_mono_ns() - t0);
    *done = src == SQLITE_OK;
    if (*done) atomic_store_explicit(&s->copied_pages, *copied, memory_order_relaxed);
    return *done || sql_neutral(src) == WOPR_E_BUSY ? 0 : conn_fail(c, src, err);
}

int store_checkpoint_beside(struct store *s, int *left, struct wopr_error *err) {
    bool done = false;
    int copied = 0;
    int rc = store_alive(s, err);
    if (rc == 0 && !s->copier) rc = conn_open(s, true, &s->copier, err);
    if (rc == 0) rc = checkpoint_on(s, s->copier, &done, &copied, err);
    *left = done ? checkpoint_rest(s) : 0;
    return rc;
}

int store_checkpoint(struct store *s, struct wopr_error *err) {
    if (!store_checkpoint_due(s)) return 0;
    if (checkpoint_rest(s) > STORE_WAL_REST_PAGES && wal_pages(s) < STORE_WAL_LONG_PAGES) return 0;
    int rc = store_alive(s, err);
    if (rc != 0) return rc;
    bool done;
    int copied;
    pthread_mutex_lock(&s->write_lock);
    rc = checkpoint_on(s, s->writer, &done, &copied, err);
    if (done) { /* until the next commit */
        atomic_store_explicit(&s->wal_pages, 0, memory_order_relaxed);
        atomic_store_explicit(&s->copied_pages, 0, memory_order_relaxed);
    }
    pthread_mutex_unlock(&s->write_lock);
    return rc;
}

/* ------------------------------------------------------------------------------ secrets */
static int secret_read(struct conn *c, const char *name, uint8_t out[32], struct wopr_error *err) {
    struct query q;
    struct sha256 v;
    query_begin(&q, c, SQL_SECRET_GET);
    bind_text(&q, str_c(name));
    int rc = query_step(&q, err);
    if (rc == 1) {
        bool ok = col_hash(&q, 0, &v);
        query_end(&q);
        if (!ok) return wopr_error_set(err, WOPR_E_CORRUPT, "stored secret %s is damaged", name);
        memcpy(out, v.b, sizeof v.b);
        return 0;
    }
    return rc == 0 ? WOPR_E_NOT_FOUND : rc;
}

int store_secret(struct store *s, const char *name, uint8_t out[32], struct wopr_error *err) {
    struct conn *c;
    struct sha256 v;
    int rc = conn_reader(s, &c, err);
    if (rc == 0) rc = secret_read(c, name, out, err);
    if (rc != WOPR_E_NOT_FOUND) return rc;
    rc = write_begin(s, err);
    if (rc != 0) return rc;
    rc = secret_read(s->writer, name, v.b, err); /* another process may have been first */
    if (rc == WOPR_E_NOT_FOUND) {
        struct query q;
        rng_bytes(v.b, sizeof v.b);
        query_begin(&q, s->writer, SQL_SECRET_PUT);
        bind_text(&q, str_c(name));
        bind_hash(&q, &v);
        rc = query_run(&q, err);
    }
    rc = write_end(s, rc, err);
    if (rc == 0) memcpy(out, v.b, sizeof v.b);
    return rc;
}
