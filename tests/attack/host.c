/* host.c: the process under attack: a folder of its own, two keys, and what /proc says of it. */
#include "attack.h"
#include "support/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { UP_WAIT_MS = 60000, CHILD_FILES_MAX = 65536 };

static const char SCOPES[] = "manifest:read,runs:create,runs:read,runs:cancel,artifacts:read,"
                             "approvals:respond,workflows:write";

static bool file_text(const char *path, struct buf *out) {
    char chunk[4096];
    size_t n;
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0) buf_add(out, chunk, n);
    fclose(f);
    return true;
}

static bool file_write(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    if (!f) return false;
    bool ok = fputs(text, f) >= 0;
    return fclose(f) == 0 && ok;
}

/* In the child: limits, a resolver of its own, output to files; does not return. */
static void become(const char *const *argv, const char *out, const char *err, unsigned files,
                   const char *resolv) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (files > 0) {
        struct rlimit l = {files, files};
        (void)setrlimit(RLIMIT_NOFILE, &l);
    }
    if (resolv != NULL &&
        (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
         mount(resolv, "/etc/resolv.conf", NULL, MS_BIND, NULL) != 0))
        _exit(125);
    int o = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int e = open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (o < 0 || e < 0) _exit(126);
    dup2(o, STDOUT_FILENO);
    dup2(e, STDERR_FILENO);
    for (int fd = 3; fd < CHILD_FILES_MAX; fd++) close(fd);
    execv(argv[0], (char *const *)argv);
    _exit(127);
}

bool host_may_have_resolv(void) {
    int status = 1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(unshare(CLONE_NEWNS) != 0 ||
              mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static pid_t spawn(const char *const *argv, const char *out, const char *err, unsigned files,
                   const char *resolv) {
    pid_t pid = fork();
    if (pid == 0) become(argv, out, err, files, resolv);
    return pid;
}

int run_to_end(const char *const *argv, const char *out, const char *err) {
    int status = 0;
    pid_t pid = spawn(argv, out, err, 0, NULL);
    if (pid < 0 || waitpid(pid, &status, 0) != pid) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}

static bool make_key(const struct host *h, const char *binary, const char *tenant,
                     char key[KEY_BYTES]) {
    char out[256], err[256];
    const char *argv[] = {binary,     "keys", "create",  "--tenant", tenant,
                          "--scopes", SCOPES, "--label", "attack",   "--expires-days",
                          "90",       "--db", h->db,     NULL};
    struct buf b;
    snprintf(out, sizeof out, "%s/key", h->dir);
    snprintf(err, sizeof err, "%s/key.err", h->dir);
    buf_init(&b, 4096);
    bool ok = run_to_end(argv, out, err) == 0 && file_text(out, &b) && b.len > 8 &&
              sscanf(b.p, "%159s", key) == 1;
    buf_fini(&b);
    unlink(out);
    return ok;
}

/* 1: it listens; 0: not yet. */
static int ports_in(const struct buf *b, struct host *h) {
    const char *on = strstr(b->p, "listens on http://127.0.0.1:");
    const char *ops = strstr(b->p, "metrics on http://127.0.0.1:");
    if (on == NULL || ops == NULL || strstr(b->p, "database ") == NULL) return 0;
    return sscanf(on, "listens on http://127.0.0.1:%d", &h->port) == 1 &&
           sscanf(ops, "metrics on http://127.0.0.1:%d", &h->ops_port) == 1;
}

static bool wait_up(struct host *h, const char *out) {
    struct buf b;
    int up = 0, status;
    buf_init(&b, 1 << 16);
    for (int64_t end = now_ms() + UP_WAIT_MS; up == 0 && now_ms() < end; nap_ms(5)) {
        buf_reset(&b);
        if (file_text(out, &b) && b.len > 0) up = ports_in(&b, h);
        if (up == 0 && waitpid(h->pid, &status, WNOHANG) == h->pid) {
            h->pid = 0;
            break;
        }
    }
    buf_fini(&b);
    return up == 1;
}

/* A wall clock of its own, eight bytes that the row sets. */
static const char *clock_of(const struct host *h, char *path, size_t size) {
    const int64_t none = 0;
    snprintf(path, size, "%s/%s", h->dir, CLOCK_FILE);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, &none, sizeof none) != (ssize_t)sizeof none)
        fprintf(stderr, "attack: no clock at %s\n", path);
    if (fd >= 0) close(fd);
    return path;
}

static bool launch(struct host *h, const struct host_start *s) {
    char out[256], err[256], resolv[256], clock[256];
    const char *argv[ARGS_MAX] = {s->binary,
                                  "serve",
                                  "--port",
                                  "0",
                                  "--ops-port",
                                  "0",
                                  "--db",
                                  h->db,
                                  "--log-level",
                                  "warn",
                                  "--drain-ms",
                                  "2000",
                                  "--conformance-seed",
                                  "--seed",
                                  WOPR_SOURCE_DIR "/tests/attack/workflows"};
    size_t n = 15;
    for (const char *const *a = s->args; a != NULL && *a != NULL && n < ARGS_MAX - 1; a++)
        argv[n++] = strcmp(*a, CLOCK_FILE) == 0 ? clock_of(h, clock, sizeof clock) : *a;
    argv[n] = NULL;
    snprintf(out, sizeof out, "%s/out", h->dir);
    snprintf(err, sizeof err, "%s/log", h->dir);
    snprintf(resolv, sizeof resolv, "%s/resolv.conf", h->dir);
    if (s->resolv != NULL && !file_write(resolv, s->resolv)) return false;
    h->pid = spawn(argv, out, err, s->files, s->resolv != NULL ? resolv : NULL);
    return h->pid > 0 && wait_up(h, out);
}

bool host_up(struct host *h, const struct host_start *s, char *why, size_t why_size) {
    *h = (struct host){0};
    if (!folder_make(h->dir, sizeof h->dir, "attack")) {
        snprintf(why, why_size, "no folder %s: %s", h->dir, strerror(errno));
        return false;
    }
    snprintf(h->db, sizeof h->db, "%s/w.db", h->dir);
    if (!make_key(h, s->binary, "alpha", h->alpha) || !make_key(h, s->binary, "beta", h->beta)) {
        snprintf(why, why_size, "%s keys create failed", s->binary);
        return false;
    }
    if (s->packs && !packs_install(h, s->binary)) {
        snprintf(why, why_size, "the packs of the row cannot be installed");
        return false;
    }
    if (launch(h, s)) return true;
    struct buf log;
    buf_init(&log, 4096);
    host_log(h, &log);
    snprintf(why, why_size, "the host did not start: %.400s", log.p != NULL ? log.p : "");
    buf_fini(&log);
    return false;
}

int host_stop(struct host *h, int64_t wait_ms, int64_t *took_ms) {
    int status = 0;
    if (h->pid <= 0) return -1;
    const int64_t from = now_ms();
    kill(h->pid, SIGTERM);
    for (; now_ms() - from < wait_ms; nap_ms(5)) {
        if (waitpid(h->pid, &status, WNOHANG) != h->pid) continue;
        h->pid = 0;
        *took_ms = now_ms() - from;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
    }
    kill(h->pid, SIGKILL);
    waitpid(h->pid, &status, 0);
    h->pid = 0;
    *took_ms = now_ms() - from;
    return -1;
}

int host_verify(const struct host *h, const char *binary, struct buf *out) {
    char path[256];
    const char *argv[] = {binary, "verify", "--db", h->db, NULL};
    snprintf(path, sizeof path, "%s/verify", h->dir);
    int rc = run_to_end(argv, path, path);
    (void)file_text(path, out);
    return rc;
}

void host_remove(struct host *h) {
    DIR *d = opendir(h->dir);
    char path[512];
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        snprintf(path, sizeof path, "%s/%.255s", h->dir, e->d_name);
        if (e->d_name[0] != '.') unlink(path);
    }
    if (d != NULL) closedir(d);
    rmdir(h->dir);
}

void host_log(const struct host *h, struct buf *out) {
    char path[256];
    snprintf(path, sizeof path, "%s/log", h->dir);
    (void)file_text(path, out);
}

/* --- /proc --- */

int64_t host_rss(const struct host *h) {
    char path[64];
    long size = 0, rss = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)h->pid);
    FILE *f = fopen(path, "r");
    if (f == NULL) return -1;
    int n = fscanf(f, "%ld %ld", &size, &rss);
    fclose(f);
    return n == 2 ? (int64_t)rss * sysconf(_SC_PAGESIZE) : -1;
}

int64_t host_cpu_ms(const struct host *h) {
    char path[64], text[1024] = "";
    unsigned long user = 0, sys = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)h->pid);
    FILE *f = fopen(path, "r");
    if (f == NULL) return -1;
    if (fgets(text, sizeof text, f) == NULL) text[0] = '\0';
    fclose(f);
    const char *p = strrchr(text, ')'); /* the name may hold blanks */
    if (p == NULL ||
        sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &sys) != 2)
        return -1;
    return (int64_t)(user + sys) * 1000 / sysconf(_SC_CLK_TCK);
}

int host_fds(const struct host *h) {
    char path[64];
    int n = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)h->pid);
    DIR *d = opendir(path);
    if (d == NULL) return -1;
    for (struct dirent *e; (e = readdir(d)) != NULL;) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

int64_t host_disk(const struct host *h) {
    static const char *const tails[] = {"", "-wal"};
    int64_t sum = 0;
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        char path[300];
        struct stat st;
        snprintf(path, sizeof path, "%s%s", h->db, tails[i]);
        if (stat(path, &st) == 0) sum += (int64_t)st.st_size;
    }
    return sum;
}

/* Is descriptor fd of the host a listening TCP socket? */
static bool listens(const struct host *h, int fd, const struct buf *tcp) {
    char path[64], link[64] = "", mark[64];
    unsigned long inode = 0;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)h->pid, fd);
    if (readlink(path, link, sizeof link - 1) < 0 || sscanf(link, "socket:[%lu", &inode) != 1)
        return false;
    struct str rest = buf_str(tcp), row;
    snprintf(mark, sizeof mark, " %lu ", inode);
    while (str_cut(rest, '\n', &row, &rest)) {
        char text[256];
        snprintf(text, sizeof text, "%.*s", (int)(row.n < 250 ? row.n : 250), row.p);
        if (strstr(text, " 0A ") != NULL && strstr(text, mark) != NULL) return true;
    }
    return false;
}

static int listeners_of(const struct host *h, const char *fdinfo, const struct buf *tcp) {
    struct buf b;
    int n = 0, fd = 0;
    buf_init(&b, 1 << 22);
    (void)file_text(fdinfo, &b);
    for (const char *p = b.p; p != NULL && (p = strstr(p, "tfd:")) != NULL; p += 4)
        if (sscanf(p, "tfd: %d", &fd) == 1 && listens(h, fd, tcp)) n++;
    buf_fini(&b);
    return n;
}

int host_listeners(const struct host *h) {
    char path[64], one[340];
    struct buf tcp;
    int n = 0;
    buf_init(&tcp, 1 << 24);
    (void)file_text("/proc/net/tcp", &tcp);
    snprintf(path, sizeof path, "/proc/%d/fdinfo", (int)h->pid);
    DIR *d = opendir(path);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        snprintf(one, sizeof one, "%s/%.255s", path, e->d_name);
        if (e->d_name[0] != '.') n += listeners_of(h, one, &tcp);
    }
    if (d != NULL) closedir(d);
    buf_fini(&tcp);
    return n;
}
