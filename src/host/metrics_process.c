/* metrics_process.c: the process as the kernel sees it, under the names that every Prometheus
 * client library uses.  Leaves out what /proc does not have. */
#include "base/fs.h"
#include "host/metrics.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PROC_TEXT_MAX = 4096, PROC_OPEN_FDS_MAX = 1 << 22 };

static bool proc_read(const char *path, char text[PROC_TEXT_MAX]) {
    struct buf b;
    if (fs_read(path, PROC_TEXT_MAX - 1, &b) != FS_READ_OK) return false;
    memcpy(text, b.len > 0 ? b.p : "", b.len);
    text[b.len] = '\0';
    buf_fini(&b);
    return text[0] != '\0';
}

/* Fields of /proc/self/stat by their number in proc(5), from 3 on: the second, a name in
 * parentheses, may contain any character. */
static bool stat_fields(uint64_t *v, size_t from, size_t n) {
    char text[PROC_TEXT_MAX];
    if (!proc_read("/proc/self/stat", text)) return false;
    const char *p = strrchr(text, ')');
    if (p == NULL) return false;
    struct str rest = str_c(p + 1), word;
    rest = str_trim(rest);
    for (size_t no = 3; no < from + n; no++) {
        if (!str_cut(rest, ' ', &word, &rest)) return false;
        if (no >= from && !str_u64(word, &v[no - from])) return false;
    }
    return true;
}

static bool name_count(void *ctx, const char *name) {
    (void)name;
    return ++*(size_t *)ctx < PROC_OPEN_FDS_MAX;
}

static void render_files(struct buf *b) {
    struct rlimit limit;
    size_t n = 0;
    if (fs_each_name("/proc/self/fd", name_count, &n) == 0)
        metric_gauge(b, "process_open_fds", "Open file descriptors.",
                     (double)(n > 0 ? n - 1 : 0)); /* without the descriptor of this directory */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        metric_gauge(b, "process_max_fds", "Most file descriptors that may be open.",
                     (double)limit.rlim_cur);
}

static void render_times(struct buf *b) {
    enum { UTIME = 14, STIME, THREADS = 20, FIELDS = THREADS - UTIME + 1 };
    uint64_t v[FIELDS];
    long ticks = sysconf(_SC_CLK_TCK);
    if (ticks <= 0) return;
    if (!stat_fields(v, UTIME, FIELDS)) return;
    metric_head(b, "process_cpu_seconds_total", "counter", "User and system time spent.");
    buf_addf(b, "process_cpu_seconds_total %.2f\n",
             (double)(v[0] + v[STIME - UTIME]) / (double)ticks);
    metric_gauge(b, "process_threads", "Threads.", (double)v[THREADS - UTIME]);
}

static void render_memory(struct buf *b) {
    char text[PROC_TEXT_MAX];
    long page = sysconf(_SC_PAGESIZE);
    struct str whole, rest, second;
    uint64_t size, resident;
    if (page <= 0 || !proc_read("/proc/self/statm", text)) return;
    if (!str_cut(str_c(text), ' ', &whole, &rest) || !str_cut(rest, ' ', &second, &rest)) return;
    if (!str_u64(whole, &size) || !str_u64(second, &resident)) return;
    metric_gauge(b, "process_virtual_memory_bytes", "Address space.", (double)size * (double)page);
    metric_gauge(b, "process_resident_memory_bytes", "Memory in use.",
                 (double)resident * (double)page);
}

void metrics_process_render(int64_t started_ms, struct buf *out) {
    metric_gauge(out, "process_start_time_seconds", "Start, in seconds since the epoch.",
                 (double)started_ms / 1000);
    render_files(out);
    render_times(out);
    render_memory(out);
}
