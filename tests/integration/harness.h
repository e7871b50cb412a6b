/*
 * harness.h: drives the real program over loopback: start, kill, restart, ask, stream.
 * Every test process owns its servers; they die with it.  All waits are bounded; WAIT_MS is
 * generous because sanitizer builds are slow.
 */
#ifndef WOPR_TESTS_HARNESS_H
#define WOPR_TESTS_HARNESS_H

#include "base/arena.h"
#include "base/buf.h"
#include "codec/json.h"

#include <criterion/criterion.h>
#include <sys/types.h>

#define WAIT_MS  60000
#define TEST_KEY "hk_test_integration_key_0123456789abcdef"

struct server {
    pid_t pid;
    int port, ops_port;
    char base[64], dir[256], db[300];
    const char *key;         /* what it is configured with */
    const char *client_key;  /* OPENWOP_API_KEY of program(), NULL = none */
    const char *const *args; /* extra arguments, NULL-terminated, may be NULL */
    int log_fd;              /* its stderr */
};
/* A fresh folder and a host with the conformance fixtures; fails the test when it does not come up.
 */
void server_start(struct server *s, const char *const *args);
void server_again(struct server *s); /* same folder and arguments, new process and port */
/* Another host on the file of the first, whose folder it does not own: end it with server_stop or
 * server_kill before the first one's server_end. */
void server_beside(struct server *s, const struct server *first, const char *const *args);
void server_kill(struct server *s);            /* SIGKILL, reaped; a frozen one too */
void server_freeze_anywhere(struct server *s); /* SIGSTOP; returns when it is stopped */
/* The same, but outside of any transaction: a process that stops inside one keeps SQLite's write
 * lock, and then nobody else can write (test_busy.c). */
void server_freeze(struct server *s);
void server_thaw(struct server *s); /* SIGCONT */
/* A wall clock of its own for a host: --clock-file PATH; *offset_ms may change at any time. */
struct test_clock {
    char path[300];
    volatile int64_t *offset_ms;
};
void clock_make(struct test_clock *c, const char *dir);
int server_stop(
    struct server *s); /* SIGTERM; returns the exit status, -1 when it had to be killed */
/* Stop it and return what it wrote to stderr since its start (at most a pipe full). */
struct str server_log(struct server *s);
void server_end(struct server *s); /* stop and delete the folder */
/* Run "wopr ARGS --db <db>", collect stdout (and stderr when err != NULL); returns the exit status.
 */
int program(const struct server *s, const char *const *args, struct str *out, struct str *err);
/* "wopr COMMAND ARGS --url <base>", with the key of the server in the environment; command may be
 * NULL. */
int program_on(struct server *s, const char *command, const char *const *args, struct str *out,
               struct str *err);

struct reply {
    long status;
    struct str body, headers; /* headers: raw lines */
};
/* headers: NULL-terminated lines, may be NULL.  Adds Authorization unless one is given
 * ("Authorization:" alone removes it). */
struct reply ask(const struct server *s, const char *method, const char *path, const char *body,
                 const char *const *headers);
struct reply ask_raw(const struct server *s, const char *bytes, size_t n,
                     int wait_ms); /* a raw socket exchange */
/* As ask_raw for threads: no arena, reads until the server closes or WAIT_MS; returns the status, 0
 * when there was no answer. */
long exchange(const struct server *s, const char *bytes, size_t n, char *answer, size_t size);
struct str header(const struct reply *r,
                  const char *name); /* value of a response header, p NULL when absent */
struct str at(struct str json,
              const char *path); /* raw value at a dotted path; p NULL when absent */
struct str text_at(struct str json,
                   const char *path); /* string value; fails the test when it is none */
int64_t int_at(struct str json, const char *path);
/* Is this the closed error envelope with that code?  (ERR-1) */
void expect_error(const struct reply *r, long status, const char *code);

/* Create a run: 201 is asserted; body extras like "\"inputs\":{}" or NULL. */
const char *create_run(const struct server *s, const char *workflow, const char *extras);
struct str wait_status(const struct server *s, const char *run_id,
                       const char *status); /* snapshot */
struct str wait_terminal(const struct server *s, const char *run_id);
struct str events_of(const struct server *s,
                     const char *run_id); /* raw array from the poll endpoint */
/* "run.started node.started ..." of an event array; nodes add ":id". */
struct str types_of(struct str events);

struct frame {
    struct str id, event, data;
};
struct stream {
    long status;
    bool closed_by_server; /* else the time was over or limit frames were there */
    struct frame *v;
    size_t n;
    struct str raw, headers;
};
/* GET an event stream for at most max_ms or until limit frames (0 = no limit). */
struct stream stream(const struct server *s, const char *path, const char *const *headers,
                     int max_ms, size_t limit);
/* The same until a whole frame with text was seen, for at most WAIT_MS. */
struct stream stream_until(const struct server *s, const char *path, const char *text);

/* Fork a run, mode "replay" or "branch": the id of the new one. */
const char *fork_run(const struct server *s, const char *run, const char *mode, int64_t from_seq);
struct json_elements elements_of(struct str array);

const char *fmt(const char *f, ...) __attribute__((format(printf, 1, 2))); /* in the test's arena */
struct arena *test_arena(void);
int64_t now_ms(void);
void nap_ms(int ms); /* only inside bounded polling loops */

/* Puts a database made by an older program, as SQL (or rows, compressed: release.sh) below
 * tests/integration/old, in the place of the stopped server's. */
void server_restore(const struct server *sv, const char *name);

#endif
