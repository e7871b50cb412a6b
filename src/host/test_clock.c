/* test_clock.c: a wall clock that a test can set, for several processes on one machine. */
#include "base/clock.h"
#include "base/fs.h"
#include "host/host.h"

int test_clock_use(const char *path, struct wopr_error *err) {
    const volatile void *p = fs_map(path, sizeof(int64_t));
    if (!p)
        return wopr_error_at(err, WOPR_E_CONFIG, "clock-file",
                             "setting \"clock-file\" must name a file of 8 bytes");
    clock_wall_offset(p);
    return 0;
}
