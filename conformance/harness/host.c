/* host.c: see host.h. */
#define _XOPEN_SOURCE 700 /* nftw */
#include "host.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGS_MAX       40
#define FDS_MAX        1024
#define OUTPUT_SIZE    8192
#define KEEPER_POLL_MS 50

static int64_t now(void) { return (int64_t)clock_mono_ms(); }

/* Becomes the program; its output goes to out. */
static void become(const char *const *argv, int out) {
    dup2(out, STDOUT_FILENO);
    for (int fd = 3; fd < FDS_MAX; fd++) close(fd);
    setenv("OPENWOP_API_KEY", HOST_KEY, 1); /* not an argument: those can be read by everybody */
    execv(argv[0], (char *const *)argv);
    _exit(127);
}

/* SIGTERM, then SIGKILL after HOST_STOP_MS.  0 when it ended with status 0. */
static int end(pid_t pid) {
    int status = 0;
    kill(pid, SIGTERM);
    for (int64_t until = now() + HOST_STOP_MS; now() < until;) {
        struct timespec nap = {0, 10000000};
        if (waitpid(pid, &status, WNOHANG) == pid)
            return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
        nanosleep(&nap, NULL);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return 1;
}

/*
 * The process between us and the host: ends the host when the other end of life is closed, also
 * when we are killed.  The test runner waits for every child it has and does not expect one to end
 * that is no test; this one ends only when told to.
 */
static void keep(const char *const *argv, int out, int life) {
    int status = 0, rc = 1;
    for (int fd = 3; fd < FDS_MAX; fd++)
        if (fd != out && fd != life) close(fd);
    signal(SIGINT, SIG_IGN);
    pid_t pid = fork();
    if (pid == 0) become(argv, out);
    close(out);
    for (bool alive = pid > 0;;) {
        struct pollfd p = {life, POLLIN, 0};
        if (poll(&p, 1, KEEPER_POLL_MS) > 0) {
            if (alive) rc = end(pid);
            _exit(rc);
        }
        if (!alive || waitpid(pid, &status, WNOHANG) != pid) continue;
        alive = false;
        fprintf(stderr, "conformance: the host ended by itself, %s %d\n",
                WIFSIGNALED(status) ? "signal" : "status",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
}

/* The first line that names the address, or false after HOST_START_MS or at the end of output. */
static bool read_base(int fd, char *base, size_t size) {
    char seen[OUTPUT_SIZE];
    size_t n = 0;
    for (int64_t end = now() + HOST_START_MS; now() < end && n + 1 < sizeof seen;) {
        struct pollfd p = {fd, POLLIN, 0};
        int port = 0;
        if (poll(&p, 1, 200) <= 0) continue;
        ssize_t got = read(fd, seen + n, sizeof seen - 1 - n);
        if (got <= 0) return false;
        n += (size_t)got;
        seen[n] = '\0';
        const char *on = strstr(seen, "listens on http://127.0.0.1:"), *line = strchr(seen, '\n');
        if (on == NULL || line == NULL) continue;
        if (sscanf(on, "listens on http://127.0.0.1:%d", &port) != 1) return false;
        snprintf(base, size, "http://127.0.0.1:%d", port);
        return true;
    }
    return false;
}

bool host_start(struct host *h, const char *program, const char *const *extra) {
    const char *tmp = getenv("TMPDIR");
    char db[300];
    int out[2], life[2];
    *h = (struct host){.life = -1};
    snprintf(h->dir, sizeof h->dir, "%s/wopr-conformance-XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(h->dir) == NULL || pipe(out) != 0 || pipe(life) != 0) {
        fprintf(stderr, "conformance: no temporary folder or pipe: %s\n", strerror(errno));
        return false;
    }
    snprintf(db, sizeof db, "%s/w.db", h->dir);
    const char *argv[ARGS_MAX] = {program,
                                  "serve",
                                  "--port",
                                  "0",
                                  "--ops-port",
                                  "-1",
                                  "--db",
                                  db,
                                  "--log-level",
                                  "warn",
                                  "--address-rate",
                                  "0",
                                  "--conformance-seed",
                                  "--audit-log",
                                  "all"};
    int n = 15; /* of these */
    for (const char *const *a = extra; a != NULL && *a != NULL && n < ARGS_MAX - 1; a++)
        argv[n++] = *a;
    fflush(NULL);
    h->keeper = fork();
    if (h->keeper == 0) keep(argv, out[1], life[0]);
    close(out[1]);
    close(life[0]);
    h->life = life[1];
    fcntl(h->life, F_SETFD, FD_CLOEXEC);
    fcntl(out[0], F_SETFD, FD_CLOEXEC); /* stays open: the host may still write to it */
    if (h->keeper > 0 && read_base(out[0], h->base, sizeof h->base)) return true;
    fprintf(stderr, "conformance: %s did not start\n", program);
    host_stop(h);
    return false;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

int host_stop(struct host *h) {
    int status = 0, rc = 0;
    if (h->keeper > 0) {
        close(h->life);
        bool reaped = waitpid(h->keeper, &status, 0) == h->keeper;
        rc = reaped && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
        h->keeper = 0;
    }
    if (h->dir[0] != '\0') nftw(h->dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    h->dir[0] = '\0';
    return rc;
}
