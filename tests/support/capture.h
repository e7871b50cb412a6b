/*
 * capture.h: what the process log writes, for a test to read.  Only before logger_start(): then
 * lines are written at once.
 */
#ifndef WOPR_TESTS_CAPTURE_H
#define WOPR_TESTS_CAPTURE_H

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int capture_stderr, capture_pipe;

static inline bool capture_begin(void) {
    int fd[2];
    if (pipe(fd) != 0) return false;
    capture_stderr = dup(STDERR_FILENO);
    capture_pipe = fd[0];
    (void)fcntl(capture_pipe, F_SETFL, O_NONBLOCK);
    bool ok = dup2(fd[1], STDERR_FILENO) >= 0;
    close(fd[1]);
    return ok;
}

/* What came since the last look, NUL-terminated; what does not fit stays in the pipe. */
static inline size_t capture_take(char *out, size_t cap) {
    size_t n = 0;
    for (ssize_t got; n + 1 < cap && (got = read(capture_pipe, out + n, cap - 1 - n)) > 0;)
        n += (size_t)got;
    out[n] = '\0';
    return n;
}

static inline void capture_end(void) {
    (void)dup2(capture_stderr, STDERR_FILENO);
    close(capture_stderr);
    close(capture_pipe);
}

/* How often needle is in text. */
static inline unsigned capture_count(const char *text, const char *needle) {
    unsigned n = 0;
    for (const char *p = text; (p = strstr(p, needle)) != NULL; p += strlen(needle)) n++;
    return n;
}

#endif
