/* test_clock.c: a wall clock that a test can set, for several processes on one machine. */
#include "base/clock.h"
#include "host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int test_clock_use(const char *path, struct wopr_error *err) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *p = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size >= (off_t)sizeof(int64_t))
        p = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0) close(fd);
    if (p == MAP_FAILED)
        return wopr_error_at(err, WOPR_E_CONFIG, "clock-file",
                             "setting \"clock-file\" must name a file of 8 bytes");
    clock_wall_offset(p); /* mapped for the life of the process */
    return 0;
}
