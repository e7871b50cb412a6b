/*
 * globals_map.c: in builds with AddressSanitizer, the pages of zeroed globals are mapped at once.
 * The leak check at the end of a process reads all of them, ten megabytes of the sanitizer's own
 * among them; page by page that took a quarter of a process that does little, and there are
 * thousands of those.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14; older ones refuse, and read page by page */
#endif

extern char edata[], end[]; /* of the linker: where zeroed globals begin and end */

__attribute__((constructor)) static void globals_map(void) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)edata + page - 1) / page * page, to = (uintptr_t)end / page * page;
    if (to > from) (void)madvise((void *)from, to - from, MADV_POPULATE_READ);
}
