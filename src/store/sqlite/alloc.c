/*
 * alloc.c: SQLite allocates through base/mem, so that fault runs reach it.
 */
#include "base/mem.h"
#include "store/sqlite/sql.h"

/* SQLite asks for the size of a block: it stands in front of it, in a space that keeps alignment.
 */
union head {
    size_t size;
    max_align_t align;
};

static void *lib_malloc(int n) {
    union head *h = mem_alloc(sizeof *h + (size_t)n);
    if (!h) return NULL;
    h->size = (size_t)n;
    return h + 1;
}

static void lib_free(void *p) {
    if (p) mem_free((union head *)p - 1);
}

static void *lib_realloc(void *p, int n) {
    union head *h = mem_realloc((union head *)p - 1, sizeof *h + (size_t)n);
    if (!h) return NULL;
    h->size = (size_t)n;
    return h + 1;
}

static int lib_size(void *p) { return p ? (int)((union head *)p - 1)->size : 0; }
static int lib_roundup(int n) { return (n + 7) & ~7; }
static int lib_init(void *ctx) { return (void)ctx, SQLITE_OK; }
static void lib_shutdown(void *ctx) { (void)ctx; }

static void setup(void) {
    static const sqlite3_mem_methods methods = {lib_malloc,  lib_free, lib_realloc,  lib_size,
                                                lib_roundup, lib_init, lib_shutdown, NULL};
    /* Both are refused once SQLite runs (an embedding program used it before): then its own stay.
     */
    (void)sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    (void)sqlite3_initialize();
}

void sqlite_setup(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, setup);
}
