/*
 * log.c: the process log.  A caller formats its line on its own stack and copies it into a ring
 * under a lock that is only ever held for a copy; one thread moves the ring to stderr.  No
 * allocation on the way, so that "out of memory" can be logged.
 */
#include "base/log.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum {
    LOG_LINE_BYTES_MAX = 4096, /* one write of a pipe is atomic up to here (PIPE_BUF) */
    LOG_RING_BYTES = 1 << 18,
    LOG_POLL_MS = 50,      /* one round of waiting for a reader */
    LOG_STOP_ROUNDS = 20,  /* how long a stop waits for an unread pipe before it gives up */
    LOG_DIRECT_ROUNDS = 1, /* how long a line without a writer thread may wait */
    LOG_TAIL_BYTES = 64    /* room kept for closing a line that was cut */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work; /* lines to write, or a stop */
    pthread_cond_t done; /* the writer has left */
    char ring[LOG_RING_BYTES];
    size_t head, used;  /* head: first unread byte */
    bool running, left; /* left: the writer thread is past its last write */
    bool stop;
    uint64_t reported; /* drops that a line of the log has already mentioned */
} g = {.lock = PTHREAD_MUTEX_INITIALIZER,
       .work = PTHREAD_COND_INITIALIZER,
       .done = PTHREAD_COND_INITIALIZER};
static pthread_t writer;
static atomic_int level_min = LOG_INFO;
static atomic_bool human_lines;
static atomic_uint_fast64_t dropped;
static atomic_bool stopping;
static _Thread_local const struct log_scope *scope_now;

static const char *const LEVEL_NAMES[] = {"debug", "info", "warn", "error"};

void logger_level(enum log_level min) { atomic_store(&level_min, (int)min); }
enum log_level logger_level_get(void) {
    return (enum log_level)atomic_load_explicit(&level_min, memory_order_relaxed);
}
void logger_human(bool human) { atomic_store(&human_lines, human); }
uint64_t logger_dropped(void) { return atomic_load(&dropped); }

/* --- one line --- */

struct line {
    char p[LOG_LINE_BYTES_MAX];
    size_t len;
    bool cut;
};

static void line_add(struct line *l, const char *p, size_t n) {
    if (l->cut || l->len + n > sizeof l->p - LOG_TAIL_BYTES) {
        l->cut = true;
        return;
    }
    memcpy(l->p + l->len, p, n);
    l->len += n;
}

static void line_addz(struct line *l, const char *z) { line_add(l, z, strlen(z)); }

/* Length of the well-formed UTF-8 sequence at z (NUL-terminated), 0 when there is none. */
static size_t utf8_step(const unsigned char *z) {
    static const unsigned char SECOND_MIN[] = {[0] = 0xA0, [1] = 0x90};
    size_t n = z[0] < 0x80 ? 1 : z[0] < 0xC2 ? 0 : z[0] < 0xE0 ? 2 : z[0] < 0xF0 ? 3 : 4;
    if (n < 2) return n;
    if (z[0] > 0xF4) return 0;
    if (z[0] == 0xE0 && z[1] < SECOND_MIN[0]) return 0;
    if (z[0] == 0xF0 && z[1] < SECOND_MIN[1]) return 0;
    if ((z[0] == 0xED && z[1] > 0x9F) || (z[0] == 0xF4 && z[1] > 0x8F)) return 0;
    for (size_t i = 1; i < n; i++)
        if ((z[i] & 0xC0) != 0x80) return 0;
    return n;
}

/* Escaped as in JSON, for people too: a value can never start a line of its own. */
static void line_escaped(struct line *l, const char *z) {
    const unsigned char *p = (const unsigned char *)z;
    while (*p && !l->cut) {
        size_t n = utf8_step(p);
        char esc[8];
        if (n == 0) {
            line_add(l, "\xEF\xBF\xBD", 3);
            n = 1;
        } else if (*p == '"' || *p == '\\') {
            esc[0] = '\\';
            esc[1] = (char)*p;
            line_add(l, esc, 2);
        } else if (*p < 0x20 || *p == 0x7F) {
            snprintf(esc, sizeof esc, "\\u%04x", *p);
            line_add(l, esc, 6);
        } else {
            line_add(l, (const char *)p, n);
        }
        p += n;
    }
}

static void line_time(struct line *l) {
    int64_t now_ms = clock_wall_ms();
    time_t sec = (time_t)(now_ms / 1000);
    int ms = (int)(now_ms % 1000);
    if (ms < 0) {
        ms += 1000;
        sec--;
    }
    struct tm t;
    char text[64];
    if (!gmtime_r(&sec, &t)) return;
    int n = snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", t.tm_year + 1900,
                     t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, ms);
    if (n > 0 && (size_t)n < sizeof text) line_add(l, text, (size_t)n);
}

static void line_field_human(struct line *l, const char *key, const char *value) {
    bool quote = value[0] == '\0' || strpbrk(value, " \t\"=") != NULL;
    line_addz(l, " ");
    line_escaped(l, key + (key[0] == LOG_NUMBER[0]));
    line_addz(l, quote ? "=\"" : "=");
    line_escaped(l, value);
    if (quote) line_addz(l, "\"");
}

static void line_field_json(struct line *l, const char *key, const char *value) {
    size_t start = l->len;
    bool number = key[0] == LOG_NUMBER[0];
    line_addz(l, ",\"");
    line_escaped(l, key + number);
    line_addz(l, number ? "\":" : "\":\"");
    if (number) line_addz(l, value);
    if (l->cut) {
        l->len = start; /* not even the name fits */
        return;
    }
    if (number) return;
    line_escaped(l, value);
    l->p[l->len++] = '"'; /* from the room kept for it, if need be */
}

/* --- what the thread works on --- */

static const char *const SCOPE_KEYS[] = {"trace_id", "span_id", "runId", "tenantId"};

void log_scope_enter(struct log_scope *s) {
    s->outer = scope_now;
    scope_now = s;
}

void log_scope_leave(const struct log_scope *s) { scope_now = s->outer; }

static unsigned scope_bit(const char *key) {
    for (unsigned i = 0; i < sizeof SCOPE_KEYS / sizeof SCOPE_KEYS[0]; i++)
        if (strcmp(key, SCOPE_KEYS[i]) == 0) return 1u << i;
    return 0;
}

static void line_scope(struct line *l, unsigned has) {
    struct log_ids ids = {.run_id = NULL};
    if (!scope_now || l->cut) return;
    scope_now->ids(scope_now->of, &ids);
    const char *const values[] = {ids.trace_id, ids.span_id, ids.run_id ? ids.run_id : "",
                                  ids.tenant};
    for (unsigned i = 0; i < sizeof values / sizeof values[0] && !l->cut; i++)
        if (values[i][0] != '\0' && (has & 1u << i) == 0)
            line_field_json(l, SCOPE_KEYS[i], values[i]);
}

static void line_end(struct line *l, bool human) {
    const char *tail =
        human ? (l->cut ? " ...\n" : "\n") : (l->cut ? ",\"truncated\":\"true\"}\n" : "}\n");
    memcpy(l->p + l->len, tail, strlen(tail));
    l->len += strlen(tail);
}

static void line_start(struct line *l, enum log_level lv, const char *msg, bool human) {
    l->len = 0;
    l->cut = false;
    if (!human) line_addz(l, "{\"ts\":\"");
    line_time(l);
    line_addz(l, human ? " " : "\",\"level\":\"");
    line_addz(l, LEVEL_NAMES[lv]);
    if (!human) {
        line_addz(l, "\"");
        line_field_json(l, "msg", msg);
    } else {
        line_addz(l, " ");
        line_escaped(l, msg);
    }
}

/* --- the way out --- */

/* Write all of p.  The writer thread waits for a slow reader as long as it takes, until a stop is
 * asked; other callers and a stop give up after a number of polls (counted, not timed: the clock of
 * a test may not move). */
static bool write_out(const char *p, size_t n, bool is_writer) {
    int rounds = is_writer ? LOG_STOP_ROUNDS : LOG_DIRECT_ROUNDS;
    while (n > 0) {
        struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};
        int ready = poll(&fd, 1, LOG_POLL_MS);
        if (ready == 0 || (ready < 0 && errno == EINTR)) {
            if ((!is_writer || atomic_load(&stopping)) && --rounds <= 0) return false;
            continue;
        }
        if (ready < 0) return false;
        ssize_t done = write(STDERR_FILENO, p, n);
        if (done < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (done <= 0) return false;
        p += done;
        n -= (size_t)done;
    }
    return true;
}

static void ring_put(const char *p, size_t n) {
    size_t at = (g.head + g.used) % LOG_RING_BYTES;
    size_t first = n < LOG_RING_BYTES - at ? n : LOG_RING_BYTES - at;
    memcpy(g.ring + at, p, first);
    memcpy(g.ring, p + first, n - first);
    g.used += n;
}

/* Whole lines, at most cap bytes; every line is shorter than that. */
static size_t ring_take(char *out, size_t cap) {
    size_t n = g.used < cap ? g.used : cap;
    for (size_t i = 0; i < n; i++) out[i] = g.ring[(g.head + i) % LOG_RING_BYTES];
    while (n > 0 && out[n - 1] != '\n') n--;
    g.head = (g.head + n) % LOG_RING_BYTES;
    g.used -= n;
    return n;
}

static void tell_drops(void) {
    uint64_t now = atomic_load(&dropped);
    if (now == g.reported) return;
    struct line l;
    char count[24];
    bool human = atomic_load(&human_lines);
    snprintf(count, sizeof count, "%llu", (unsigned long long)(now - g.reported));
    line_start(&l, LOG_WARN, "log lines dropped", human);
    (human ? line_field_human : line_field_json)(&l, "count", count);
    line_end(&l, human);
    if (write_out(l.p, l.len, true)) g.reported = now;
}

static void *writer_main(void *arg) {
    thread_name("wopr-log");
    (void)arg;
    char chunk[LOG_LINE_BYTES_MAX];
    pthread_mutex_lock(&g.lock);
    for (;;) {
        while (g.used == 0 && !g.stop) pthread_cond_wait(&g.work, &g.lock);
        size_t n = ring_take(chunk, sizeof chunk);
        if (n == 0) break; /* stopped and empty */
        pthread_mutex_unlock(&g.lock);
        bool ok = write_out(chunk, n, true);
        if (ok) tell_drops();
        pthread_mutex_lock(&g.lock);
        for (size_t i = 0; i < n && !ok; i++)
            if (chunk[i] == '\n') atomic_fetch_add(&dropped, 1);
        if (!ok && g.stop) break;
    }
    g.left = true;
    pthread_cond_signal(&g.done);
    pthread_mutex_unlock(&g.lock);
    return NULL;
}

int logger_start(void) {
    pthread_mutex_lock(&g.lock);
    if (g.running) {
        pthread_mutex_unlock(&g.lock);
        return WOPR_OK;
    }
    g.head = g.used = 0;
    g.stop = g.left = false;
    atomic_store(&stopping, false);
    /* Signals belong to the main thread; a closed pipe must be EPIPE here, not SIGPIPE. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&writer, NULL, writer_main, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    g.running = rc == 0;
    pthread_mutex_unlock(&g.lock);
    return rc == 0 ? WOPR_OK : WOPR_E_UNAVAILABLE;
}

void logger_stop(void) {
    pthread_mutex_lock(&g.lock);
    if (!g.running) {
        pthread_mutex_unlock(&g.lock);
        return;
    }
    atomic_store(&stopping, true);
    g.stop = true;
    pthread_cond_signal(&g.work);
    while (!g.left) pthread_cond_wait(&g.done, &g.lock);
    g.running = false;
    pthread_mutex_unlock(&g.lock);
    pthread_join(writer, NULL);
}

static void line_emit(const char *p, size_t n) {
    pthread_mutex_lock(&g.lock);
    bool direct = !g.running;
    if (!direct) {
        /* g.left: between the writer's last look and the end of a stop no thread would write it. */
        bool fits = n <= LOG_RING_BYTES - g.used && !g.left;
        if (fits) ring_put(p, n);
        else atomic_fetch_add(&dropped, 1);
        if (fits && g.used == n) pthread_cond_signal(&g.work);
    }
    pthread_mutex_unlock(&g.lock);
    if (!direct) return;
    if (!write_out(p, n, false)) atomic_fetch_add(&dropped, 1);
}

void log_write(enum log_level lv, const char *msg, ...) {
    if (lv < LOG_DEBUG || lv > LOG_ERROR || lv < logger_level_get()) return;
    struct line l;
    bool human = atomic_load_explicit(&human_lines, memory_order_relaxed);
    line_start(&l, lv, msg, human);
    va_list ap;
    unsigned has = 0;
    va_start(ap, msg);
    for (const char *key; !l.cut && (key = va_arg(ap, const char *)) != NULL;) {
        const char *value = va_arg(ap, const char *);
        if (!value) break; /* an odd list: the pair has no second half */
        (human ? line_field_human : line_field_json)(&l, key, value);
        has |= scope_bit(key);
    }
    va_end(ap);
    if (!human) line_scope(&l, has);
    line_end(&l, human);
    line_emit(l.p, l.len);
}

bool log_gate_pass(struct log_gate *gate, uint64_t *held) {
    uint64_t now_ms = clock_mono_ms();
    uint_fast64_t next_ms = atomic_load_explicit(&gate->next_ms, memory_order_relaxed);
    if (now_ms < next_ms ||
        !atomic_compare_exchange_strong(&gate->next_ms, &next_ms, now_ms + LOG_GATE_MS)) {
        atomic_fetch_add_explicit(&gate->held, 1, memory_order_relaxed);
        return false;
    }
    *held = atomic_exchange(&gate->held, 0);
    return true;
}
