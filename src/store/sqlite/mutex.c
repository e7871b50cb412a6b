/*
 * mutex.c: SQLite's mutexes spin for a moment before they sleep.
 *
 * All connections of a process to one database take one mutex around each lock of the wal-index,
 * which is an fcntl of well under a microsecond.  Two threads that answer reads meet there at
 * every statement, and with the C library's ordinary mutex the second one sleeps and is woken: two
 * system calls and two context switches for less than one microsecond of waiting.
 */
/* clang-format off: the feature macro stands before every header */
#define _GNU_SOURCE 1 /* PTHREAD_MUTEX_ADAPTIVE_NP */
/* clang-format on */
#include "base/mem.h"
#include "store/sqlite/sql.h"

struct sqlite3_mutex {
    pthread_mutex_t lock;
};

enum { STATIC_FIRST = SQLITE_MUTEX_STATIC_MAIN, STATIC_LAST = SQLITE_MUTEX_STATIC_VFS3 };

static struct sqlite3_mutex statics[STATIC_LAST - STATIC_FIRST + 1];

static int lock_init(struct sqlite3_mutex *m, int type) {
    pthread_mutexattr_t attr;
    if (pthread_mutexattr_init(&attr) != 0) return -1;
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
    const int quick = PTHREAD_MUTEX_ADAPTIVE_NP;
#else
    const int quick = PTHREAD_MUTEX_NORMAL;
#endif
    const int kind = type == SQLITE_MUTEX_RECURSIVE ? PTHREAD_MUTEX_RECURSIVE : quick;
    int rc = pthread_mutexattr_settype(&attr, kind);
    if (rc == 0) rc = pthread_mutex_init(&m->lock, &attr);
    (void)pthread_mutexattr_destroy(&attr);
    return rc == 0 ? 0 : -1;
}

static int methods_init(void) {
    static bool ready; /* SQLite may shut down and start again: it does so in one thread */
    if (ready) return SQLITE_OK;
    for (size_t i = 0; i < sizeof statics / sizeof *statics; i++)
        if (lock_init(&statics[i], SQLITE_MUTEX_FAST) != 0) return SQLITE_NOMEM;
    ready = true;
    return SQLITE_OK;
}

static int methods_end(void) { return SQLITE_OK; }

static sqlite3_mutex *lock_new(int type) {
    if (type >= STATIC_FIRST) return type <= STATIC_LAST ? &statics[type - STATIC_FIRST] : NULL;
    struct sqlite3_mutex *m = mem_alloc(sizeof *m);
    if (m == NULL) return NULL;
    if (lock_init(m, type) == 0) return m;
    mem_free(m);
    return NULL;
}

/* Of dynamic mutexes only. */
static void lock_free(sqlite3_mutex *m) {
    (void)pthread_mutex_destroy(&m->lock);
    mem_free(m);
}

static void lock_enter(sqlite3_mutex *m) { (void)pthread_mutex_lock(&m->lock); }
static int lock_try(sqlite3_mutex *m) {
    return pthread_mutex_trylock(&m->lock) == 0 ? SQLITE_OK : SQLITE_BUSY;
}
static void lock_leave(sqlite3_mutex *m) { (void)pthread_mutex_unlock(&m->lock); }

void sqlite_mutex_setup(void) {
    /* Without the last two, which only assertions of a debugging SQLite call. */
    static const sqlite3_mutex_methods methods = {.xMutexInit = methods_init,
                                                  .xMutexEnd = methods_end,
                                                  .xMutexAlloc = lock_new,
                                                  .xMutexFree = lock_free,
                                                  .xMutexEnter = lock_enter,
                                                  .xMutexTry = lock_try,
                                                  .xMutexLeave = lock_leave};
    (void)sqlite3_config(SQLITE_CONFIG_MUTEX, &methods);
}
