/*
 * wopr.h: embed a WOPR host in a program of your own, and register node executors in C.
 *
 *     struct wopr_host *h;
 *     char err[512];
 *     const char *settings[] = {"--port", "0", "--db", "app.db", NULL};
 *     if (wopr_host_new(settings, types, types_nr, &h, err, sizeof err) != 0) ...
 *     if (wopr_host_start(h, err, sizeof err) != 0) ...
 *     ... wopr_host_port(h) ...
 *     wopr_host_free(h);
 *
 * Compile and link with what pkg-config --cflags --libs wopr says; docs/embedding.md is an example
 * that a test compiles and runs.  One process may hold several hosts on different databases.  No
 * function here is called from a signal handler.  Ownership is said at each function; text is
 * UTF-8, JSON is text.
 */
#ifndef WOPR_WOPR_H
#define WOPR_WOPR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct wopr_host;
struct wopr_node; /* one execution of a node, valid during the executor's call */

/*
 * A node executor.  It reads its inputs and configuration, and says how the execution ended by
 * exactly one of wopr_node_complete, wopr_node_fail, wopr_node_wait, wopr_node_ask; without any of
 * them the node completes with {}. Threads: called on a worker; executors of different runs run at
 * the same time. It must not block for long: every worker it holds is one that other runs lack.
 * Durability: its effects are committed together after it returns.  After a crash it may be called
 * again for the same attempt, so whatever it does outside the host must bear repetition (use
 * wopr_node_run_id, _node_id and _attempt as a key).
 */
typedef void (*wopr_node_fn)(struct wopr_node *node, void *ctx);

struct wopr_node_type {
    const char *type_id; /* "vendor.acme.greet": ^[a-z][a-zA-Z0-9._-]*$; core.* and openwop.* belong
                            to the protocol */
    wopr_node_fn fn;
    void *ctx; /* passed to fn, lives as long as the host */
};

/* Borrowed, NUL-terminated, valid during the call. */
const char *wopr_node_run_id(const struct wopr_node *n);
const char *wopr_node_node_id(const struct wopr_node *n);
const char *
wopr_node_inputs(const struct wopr_node *n); /* JSON object: one member per resolved input port */
const char *wopr_node_config(const struct wopr_node *n); /* JSON object as authored */
int wopr_node_attempt(const struct wopr_node *n);        /* 0 = first */
int wopr_node_waited(
    const struct wopr_node *n); /* 1 when a wait asked for in this attempt is over */
/* Logical time in milliseconds since 1970: that of the attempt's last event, or the end of the wait
 * that is over.  Unlike a clock of your own it is the same when the attempt is executed again. */
int64_t wopr_node_now_ms(const struct wopr_node *n);
/* 32 random bytes, the same whenever this attempt is executed again; what and nth keep draws apart.
 * Not a secret: derived from the ids of run and node. */
void wopr_node_random(const struct wopr_node *n, const char *what, uint64_t nth, uint8_t out[32]);
/*
 * getVersion: change executors while runs are under way.  Which version of the change does this run
 * follow?  The first ask of a run gets max and is recorded (version.pinned) before the effects that
 * follow; every later ask of that run, by any node, in any process, gets the recorded one.  An
 * attempt that an earlier build of the executor began, with effects or a wait, gets min.  So ask
 * before the first effect or wait.  min -1 stands for "before the change".  0, or -1: the node has
 * failed (version_out_of_range when the recorded version is outside min..max) and fn returns.
 */
int wopr_node_version(struct wopr_node *n, const char *change_id, int64_t min, int64_t max,
                      int64_t *version);
/* Effects.  Return 0, or -1 when the text is not valid JSON or memory is short (the node then
 * fails). Texts are copied. */
int wopr_node_complete(struct wopr_node *n, const char *outputs_json); /* an object; NULL = {} */
int wopr_node_fail(struct wopr_node *n, const char *code, const char *message, int retryable);
int wopr_node_wait(struct wopr_node *n,
                   int64_t wait_ms); /* durable timer, then fn is called again */
/* Ask people or systems and wait for the answer, as long as it takes and through any restart. kind:
 * "approval", "clarification", "external-event", "custom"; data_json: the object that the kind asks
 * for; timeout_ms: 0 = none, else the node fails with interrupt_timeout after it.  ordinal numbers
 * the questions of this execution, from 0.  1: answered, *answer_json is the answer (valid during
 * the call).  0: asked; return from the executor, it is called again with the answer.  -1: bad
 * arguments, the node fails. */
int wopr_node_ask(struct wopr_node *n, unsigned ordinal, const char *kind, const char *data_json,
                  int64_t timeout_ms, const char **answer_json);
int wopr_node_set_variable(struct wopr_node *n, const char *name, const char *value_json);
int wopr_node_write_channel(struct wopr_node *n, const char *channel, const char *value_json);
int wopr_node_log(struct wopr_node *n, const char *level,
                  const char *message); /* debug, info, warn, error */

/*
 * Make a host.  settings: NULL-terminated command-line settings of "wopr serve" (see its --help),
 * may be NULL; environment variables count too. types: executors beyond the built-in ones, copied;
 * may be NULL when types_nr is 0. 0 and *out (free with wopr_host_free), or -1 and a sentence in
 * err (always NUL-terminated when err_size > 0).
 */
int wopr_host_new(const char *const *settings, const struct wopr_node_type *types, size_t types_nr,
                  struct wopr_host **out, char *err, size_t err_size);
int wopr_host_start(struct wopr_host *h, char *err,
                    size_t err_size);          /* recovers runs, then listens */
int wopr_host_port(const struct wopr_host *h); /* the port really bound */
void wopr_host_stop(struct wopr_host *h);      /* drains; may be called once started */
void wopr_host_free(struct wopr_host *h);      /* stops when needed; takes NULL */
const char *wopr_version(void);

#ifdef __cplusplus
}
#endif
#endif
