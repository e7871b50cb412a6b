/*
 * alloc.c: SQLite allocates through base/mem, so that fault runs reach it.
 */
#include "base/mem.h"
#include "store/sqlite/sql.h"

/* No header of ours in front of a block: SQLite's most frequent ones (1,032 bytes of a statement
 * journal) just fit the fast path of the C library. */
static void *lib_malloc(int n) { return mem_alloc((size_t)n); }
static void lib_free(void *p) { mem_free(p); }
static void *lib_realloc(void *p, int n) { return mem_realloc(p, (size_t)n); }
static int lib_size(void *p) { return (int)mem_size(p); }
static int lib_roundup(int n) { return (n + 7) & ~7; }
static int lib_init(void *ctx) { return (void)ctx, SQLITE_OK; }
static void lib_shutdown(void *ctx) { (void)ctx; }

static void alloc_setup(void) {
    static const sqlite3_mem_methods methods = {lib_malloc,  lib_free, lib_realloc,  lib_size,
                                                lib_roundup, lib_init, lib_shutdown, NULL};
    /* SQLite refuses all three once it runs, as in an embedding program that used it: then it
     * keeps its own allocator and mutexes. */
    (void)sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sqlite_mutex_setup();
    (void)sqlite3_initialize();
}

void sqlite_setup(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, alloc_setup);
}
