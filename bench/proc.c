/* proc.c: what the machine and other processes say about themselves (Linux /proc). */
#include "bench.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void pause_ms(unsigned ms) {
    struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&ts, NULL);
}

int64_t proc_rss_bytes(int64_t pid) {
    char path[64];
    long size, rss;
    (void)snprintf(path, sizeof path, "/proc/%lld/statm", (long long)pid);
    FILE *f = fopen(path, "r");
    if (!f) return -1;
    int n = fscanf(f, "%ld %ld", &size, &rss);
    (void)fclose(f);
    return n == 2 ? (int64_t)rss * sysconf(_SC_PAGESIZE) : -1;
}

double proc_cpu_seconds(int64_t pid) {
    char path[64], text[1024];
    (void)snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    FILE *f = fopen(path, "r");
    if (!f) return -1;
    size_t n = fread(text, 1, sizeof text - 1, f);
    (void)fclose(f);
    text[n] = '\0';
    const char *p = strrchr(text, ')'); /* the name may hold blanks */
    unsigned long user, sys;
    if (!p ||
        sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &sys) != 2)
        return -1;
    return (double)(user + sys) / (double)sysconf(_SC_CLK_TCK);
}

static void fact_from(struct jw *w, const char *key, const char *path, const char *line_start) {
    char line[512];
    FILE *f = fopen(path, "r");
    if (!f) return;
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, line_start, strlen(line_start)) != 0) continue;
        struct str head, value;
        if (!str_cut(str_c(line), ':', &head, &value)) continue;
        while (value.n > 0 && value.p[value.n - 1] == '\n') value.n--;
        jw_kstr(w, key, str_trim(value));
        break;
    }
    (void)fclose(f);
}

void proc_facts(struct jw *w) {
    struct utsname u;
    jw_object(w);
    fact_from(w, "cpu", "/proc/cpuinfo", "model name");
    jw_kint(w, "cores", sysconf(_SC_NPROCESSORS_ONLN));
    fact_from(w, "memory", "/proc/meminfo", "MemTotal");
    if (uname(&u) == 0) {
        jw_kstrz(w, "system", u.sysname);
        jw_kstrz(w, "kernel", u.release);
        jw_kstrz(w, "arch", u.machine);
    }
    double load[1];
    if (getloadavg(load, 1) == 1) { /* says whether somebody else was busy */
        jw_key(w, "load_before_report");
        jw_double(w, load[0]);
    }
    jw_end_object(w);
}

bool proc_files(uint64_t want) {
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) != 0) return false;
    if (l.rlim_cur >= want) return true;
    if (l.rlim_max != RLIM_INFINITY && l.rlim_max < want) return false;
    l.rlim_cur = want;
    return setrlimit(RLIMIT_NOFILE, &l) == 0;
}

pid_t proc_spawn(char *const argv[], const char *out_path) {
    pid_t pid = fork();
    if (pid != 0) return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0); /* no host outlives its figure */
    int fd = open(out_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd >= 0) {
        (void)dup2(fd, STDOUT_FILENO);
        (void)dup2(fd, STDERR_FILENO);
    }
    (void)execv(argv[0], argv);
    _exit(127);
}

void proc_stop(pid_t pid) {
    if (pid <= 0) return;
    (void)kill(pid, SIGTERM);
    for (int i = 0; i < 1000; i++) {
        if (waitpid(pid, NULL, WNOHANG) == pid) return;
        pause_ms(10);
    }
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

uint16_t proc_free_port(void) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    uint16_t port = 0;
    if (fd < 0) return 0;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&a, sizeof a) == 0 &&
        getsockname(fd, (struct sockaddr *)&a, &n) == 0)
        port = ntohs(a.sin_port);
    (void)close(fd);
    return port;
}

int cmd_port(const struct options *o) {
    (void)o;
    uint16_t port = proc_free_port();
    printf("%u\n", port);
    return port > 0 ? 0 : 1;
}
