/* child.c: see child.h. */
#define _GNU_SOURCE /* posix_spawn_file_actions_addclosefrom_np */
#include "base/child.h"

#include "base/clock.h"
#include "base/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The signals that a server blocks or ignores are none of the child's. */
static int child_attributes(posix_spawnattr_t *a) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    int rc = posix_spawnattr_init(a);
    if (rc != 0) return rc;
    posix_spawnattr_setsigmask(a, &none);
    posix_spawnattr_setsigdefault(a, &all);
    posix_spawnattr_setpgroup(a, 0); /* what is typed at a terminal is for the host */
    return posix_spawnattr_setflags(a, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                           POSIX_SPAWN_SETPGROUP);
}

static int child_spawn(const char *program, char *const argv[], int end, pid_t *pid) {
    static char *const empty[] = {NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t a;
    int rc = posix_spawn_file_actions_init(&files);
    if (rc != 0) return rc;
    rc = child_attributes(&a);
    if (rc == 0) {
        posix_spawn_file_actions_adddup2(&files, end, STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&files, end, STDOUT_FILENO);
        posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
        rc = posix_spawn(pid, program, &files, &a, argv, empty);
        posix_spawnattr_destroy(&a);
    }
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

int child_start(const char *program, char *const argv[], struct child *out) {
    int ends[2];
    *out = (struct child){0, -1};
    if (fault_hit_as(FAULT_NET, EAGAIN)) return -1;
    /* No pipes: writing to one whose reader is gone is a signal for the whole process. */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
    int rc = fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 ? 0 : errno;
    if (rc == 0) rc = child_spawn(program, argv, ends[1], &out->pid);
    close(ends[1]);
    if (rc == 0) {
        out->fd = ends[0];
        return 0;
    }
    close(ends[0]);
    errno = rc;
    return -1;
}

static int wait_for(int fd, short what, uint64_t deadline_ms) {
    uint64_t now = clock_mono_ms();
    struct pollfd p = {fd, what, 0};
    if (now >= deadline_ms) return WOPR_E_UNAVAILABLE;
    uint64_t left = deadline_ms - now;
    int n = poll(&p, 1, left > 1000 ? 1000 : (int)left);
    return n < 0 && errno != EINTR ? WOPR_E_CLOSED : 0;
}

int child_write(struct child *c, const void *p, size_t n, uint64_t deadline_ms) {
    const char *at = p;
    while (n > 0) {
        ssize_t put = send(c->fd, at, n, MSG_NOSIGNAL);
        if (put > 0) {
            at += put;
            n -= (size_t)put;
        } else if (put < 0 && errno != EAGAIN && errno != EINTR) {
            return WOPR_E_CLOSED;
        } else {
            int rc = wait_for(c->fd, POLLOUT, deadline_ms);
            if (rc != 0) return rc;
        }
    }
    return 0;
}

int child_read(struct child *c, void *p, size_t n, uint64_t deadline_ms) {
    char *at = p;
    while (n > 0) {
        ssize_t got = recv(c->fd, at, n, 0);
        if (got > 0) {
            at += got;
            n -= (size_t)got;
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            return WOPR_E_CLOSED;
        } else {
            int rc = wait_for(c->fd, POLLIN, deadline_ms);
            if (rc != 0) return rc;
        }
    }
    return 0;
}

int child_poll(struct child *c, uint64_t deadline_ms) {
    for (;;) {
        struct pollfd p = {c->fd, POLLIN, 0};
        if (poll(&p, 1, 0) > 0) return 0;
        int rc = wait_for(c->fd, POLLIN, deadline_ms);
        if (rc != 0) return rc;
    }
}

/* /proc/PID/stat: "PID (name) STATE ..."; the name may have anything in it. */
bool child_usage(const struct child *c, struct child_usage *out) {
    unsigned long long user = 0, system = 0;
    char path[32], text[1024], state = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)c->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return false;
    text[n] = '\0';
    const char *after = strrchr(text, ')');
    if (!after || sscanf(after + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu", &state,
                         &user, &system) != 3)
        return false;
    *out = (struct child_usage){(user + system) * 1000u / (uint64_t)sysconf(_SC_CLK_TCK),
                                state == 'R'};
    return true;
}

void child_kill_now(pid_t pid) {
    if (pid > 0) kill(pid, SIGKILL);
}

void child_end(struct child *c, int *signal) {
    int status = 0;
    if (signal) *signal = 0;
    if (c->fd >= 0) close(c->fd);
    if (c->pid > 0) {
        pid_t gone = waitpid(c->pid, &status, WNOHANG);
        if (gone == c->pid && WIFSIGNALED(status) && signal) *signal = WTERMSIG(status);
        if (gone == 0) {
            kill(c->pid, SIGKILL);
            while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR) continue;
        }
    }
    *c = (struct child){0, -1};
}

void child_first_to_go(void) {
    static const char most[] = "1000";
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    ssize_t put = write(fd, most, sizeof most - 1);
    (void)put;
    (void)close(fd);
}
