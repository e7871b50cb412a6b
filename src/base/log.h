/*
 * log.h: structured log of the process (one JSON object per line on stderr or a file).  Layer:
 * base. Never blocks a caller: a bounded ring and a writer thread; what does not fit is dropped and
 * counted (HTTP-22).  Before logger_start() and after logger_stop() lines are written at once.
 * Never pass credentials, tokens or caller payloads (GEN-6).
 */
#ifndef WOPR_BASE_LOG_H
#define WOPR_BASE_LOG_H

#include "base/str.h"

#include <stdatomic.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
/* Lines below min are not written; at first LOG_INFO. */
void logger_level(enum log_level min);
enum log_level logger_level_get(void);
void logger_human(bool human); /* true: "time level message key=value" lines instead of JSON */
/* From start to stop a thread of its own writes the lines; otherwise the caller does.  start
 * gives 0 or a code.  stop writes what is queued.  dropped: lines that found the queue full. */
int logger_start(void);
void logger_stop(void);
uint64_t logger_dropped(void);
/* fields: NULL-terminated list of (const char *key, const char *value) pairs after msg.  A key that
 * begins with LOG_NUMBER is written without it, its value, digits, without quotes. */
#define LOG_NUMBER "#"
void log_write(enum log_level lv, const char *msg, ...) __attribute__((sentinel));
#define log_debug(...)                                                                             \
    (logger_level_get() <= LOG_DEBUG ? log_write(LOG_DEBUG, __VA_ARGS__, NULL) : (void)0)
#define log_info(...)  log_write(LOG_INFO, __VA_ARGS__, NULL)
#define log_warn(...)  log_write(LOG_WARN, __VA_ARGS__, NULL)
#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__, NULL)

/* What a thread works on while it writes lines: JSON lines get these as trace_id, span_id, runId,
 * tenantId (OBS-16; the first two named as OpenTelemetry has them), unless the line has the field
 * itself; text lines stay as they are.  A scope is two stores: ids() is only called for a line that
 * is written.  Scopes of a thread nest; the innermost is in force. */
enum { LOG_TRACE_ID = 32, LOG_SPAN_ID = 16, LOG_TENANT_MAX = 255 };
struct log_ids { /* empty: not known */
    char trace_id[LOG_TRACE_ID + 1], span_id[LOG_SPAN_ID + 1];
    const char *run_id; /* or NULL */
    char tenant[LOG_TENANT_MAX + 1];
};
struct log_scope {
    void (*ids)(const void *of, struct log_ids *out); /* on this thread; out is empty */
    const void *of;
    const struct log_scope *outer; /* log.c's */
};
void log_scope_enter(struct log_scope *s);
void log_scope_leave(const struct log_scope *s);

/* For warnings that a bad day repeats a thousand times a second: each place has a gate (all zero at
 * first) that lets one line per LOG_GATE_MS through.  *held: how many it kept back
 * since the last. */
#define LOG_GATE_MS 10000
struct log_gate {
    atomic_uint_fast64_t next_ms, held; /* monotonic */
};
bool log_gate_pass(struct log_gate *gate, uint64_t *held);

#endif
