/*
 * mcp_pipe.c: MCP over standard input and output.
 *
 *   main thread   lines ──► jobs ──► queue        notifications/cancelled ──► stop a job
 *   workers       a job ──► POST /v1/mcp ──► its answer, or the messages of its stream ──► out
 *
 * A worker keeps its connection; there are as many as there were requests at once.  Nothing is
 * written for a request that was cancelled.
 */
#include "cli/mcp_pipe.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/mem.h"
#include "codec/sse_reader.h"
#include "egress/operator.h"
#include "mcp/era.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

enum {
    WORKERS_MAX = 16,
    WAITS_MAX = WORKERS_MAX - 4,       /* calls that wait: others find a worker all the same */
    JOBS_MAX = 256,                    /* waiting or under way */
    LINE_BYTES_MAX = 17 * 1024 * 1024, /* beyond the largest body that a host can be told to take */
    ANSWER_BYTES_MAX = 64 * 1024 * 1024,
    SCRATCH_BYTES = 64 * 1024 * 1024,
    GRACE_MS = 1000,
    HTTP_ACCEPTED = 202
};

struct job {
    struct list link;
    char *text; /* the message; owned */
    size_t n;
    struct arena *arena; /* of message */
    struct mcp_message message;
    atomic_bool stop;
    bool batch;               /* text is one, of several messages: the host answers with another */
    bool waits;               /* run_wait: it may hold its worker for minutes */
    struct operator_link *by; /* under way; under the pipe's lock */
};
struct pipe {
    const struct mcp_pipe_config *cfg;
    pthread_mutex_t lock;
    pthread_cond_t work, idle;
    struct list queue, active;
    size_t jobs_nr, waits_nr, workers_nr, workers_free;
    bool closing;
    pthread_t workers[WORKERS_MAX];
    pthread_mutex_t out_lock;
    atomic_bool broken; /* nobody reads the output */
};
struct reply { /* of a job, while it arrives */
    struct pipe *pipe;
    struct job *job;
    int status;
    bool events, answered;
    struct buf body;
    struct sse_reader stream;
};

/* --- output --- */

static void line_write(struct pipe *p, const struct job *j, struct str text) {
    if (j && atomic_load(&j->stop)) return;
    pthread_mutex_lock(&p->out_lock);
    for (size_t i = 0; i < text.n; i++) {
        char ch = text.p[i] == '\n' || text.p[i] == '\r' ? ' ' : text.p[i];
        (void)putc(ch, p->cfg->out);
    }
    (void)putc('\n', p->cfg->out);
    if (fflush(p->cfg->out) != 0) atomic_store(&p->broken, true);
    pthread_mutex_unlock(&p->out_lock);
}

static void error_write(struct pipe *p, const struct job *j, struct str id, int code,
                        const char *message) {
    const struct mcp_error e = {.code = code, .message = message};
    struct buf b;
    buf_init(&b, 64 * 1024);
    mcp_error_write(&b, id, &e);
    if (!buf_failed(&b)) line_write(p, j, buf_str(&b));
    buf_fini(&b);
}

/* --- one request --- */

static bool is_response(struct str text) {
    return text.n > 0 && json_check(text, &JSON_LIMITS_STORED, NULL) == 0 &&
           json_type_of(text) == JSON_OBJECT && json_get(text, "jsonrpc").n > 0;
}

static bool is_batch(struct str text) {
    return text.n > 0 && json_check(text, &JSON_LIMITS_STORED, NULL) == 0 &&
           json_type_of(text) == JSON_ARRAY;
}

static void reply_head(void *ctx, int status, bool events) {
    struct reply *r = ctx;
    r->status = status;
    r->events = events && status == 200;
}

static bool reply_take(void *ctx, struct str bytes) {
    struct reply *r = ctx;
    struct sse_event e;
    int rc;
    if (!r->events) {
        buf_adds(&r->body, bytes);
        return !buf_failed(&r->body);
    }
    while ((rc = sse_reader_next(&r->stream, &bytes, &e)) == 1) {
        if (!is_response(e.data)) continue;
        line_write(r->pipe, r->job, e.data);
        r->answered = r->answered || json_get(e.data, "id").n > 0;
    }
    return rc == 0 && !r->answered;
}

/* What came is no message of MCP: an answer of the HTTP server, or nothing. */
static void reply_refused(struct reply *r, const struct wopr_error *err) {
    struct arena *a = r->job->arena;
    struct str why = str_c(err->message), body = buf_str(&r->body);
    if (err->code == 0 && json_check(body, &JSON_LIMITS_STORED, NULL) == 0)
        why = json_string(json_get(body, "message"), a);
    struct str text = arena_printf(a, "the host did not answer (HTTP status %d): " STR_FMT,
                                   r->status, STR_ARG(why));
    error_write(r->pipe, r->job, r->job->message.id, MCP_INTERNAL_ERROR,
                text.p ? text.p : "the host did not answer");
}

static void reply_end(struct reply *r, int rc, const struct wopr_error *err) {
    bool wanted = r->job->message.kind == MCP_REQUEST;
    struct str body = buf_str(&r->body);
    if (!wanted || r->answered) return;
    if (r->job->batch && rc == 0 && r->status == HTTP_ACCEPTED) return; /* it asked nothing */
    if (rc == 0 && (is_response(body) || (r->job->batch && is_batch(body))))
        line_write(r->pipe, r->job, body);
    else reply_refused(r, err);
}

/* The headers that must say what the message says (2026-07-28). */
static size_t headers_of(struct job *j, const char *out[5]) {
    struct arena *a = j->arena;
    struct str version, target;
    size_t n = 0;
    out[n++] = "Accept: application/json, text/event-stream";
    if (j->message.meta.n == 0 ||
        mcp_string_of(j->message.meta, MCP_META_VERSION, 64, a, &version) != 1)
        return n;
    struct buf name;
    buf_init(&name, 2 * MCP_NAME_BYTES_MAX);
    out[n++] = arena_printf(a, "MCP-Protocol-Version: " STR_FMT, STR_ARG(version)).p;
    out[n++] = arena_printf(a, "Mcp-Method: " STR_FMT, STR_ARG(j->message.method)).p;
    if (mcp_target_of(&j->message, a, &target) == 1) {
        mcp_header_write(&name, target);
        out[n++] = arena_printf(a, "Mcp-Name: " STR_FMT, STR_ARG(buf_str(&name))).p;
    }
    buf_fini(&name);
    return n;
}

static void job_run(struct pipe *p, struct job *j, struct operator_link *l) {
    const char *headers[6] = {NULL};
    struct reply r = {.pipe = p, .job = j};
    struct wopr_error err = {0};
    int status = 0;
    (void)headers_of(j, headers);
    buf_init(&r.body, ANSWER_BYTES_MAX);
    sse_reader_init(&r.stream, ANSWER_BYTES_MAX);
    const struct operator_sink sink = {
        .head = reply_head, .take = reply_take, .ctx = &r, .stop = &j->stop};
    const struct operator_request q = {.base = p->cfg->base,
                                       .key = p->cfg->key,
                                       .method = "POST",
                                       .path = STR("/v1/mcp"),
                                       .body = str_n(j->text, j->n),
                                       .headers = headers};
    int rc = arena_failed(j->arena) ? wopr_error_set(&err, WOPR_E_NO_MEMORY, "out of memory")
                                    : operator_link_send(l, &q, &sink, &status, &err);
    r.status = status;
    reply_end(&r, rc, &err);
    sse_reader_fini(&r.stream);
    buf_fini(&r.body);
}

/* --- workers --- */

static void job_free(struct job *j) {
    arena_free(j->arena);
    mem_free(j->text);
    mem_free(j);
}

/* Under the lock. */
static void job_work(struct pipe *p, struct job *j, struct operator_link *l) {
    list_add_tail(&p->active, &j->link);
    j->by = l;
    pthread_mutex_unlock(&p->lock);
    if (l) job_run(p, j, l);
    else error_write(p, j, j->message.id, MCP_INTERNAL_ERROR, "out of memory");
    pthread_mutex_lock(&p->lock);
    list_del(&j->link);
    p->jobs_nr--;
    p->waits_nr -= j->waits;
    job_free(j);
    pthread_cond_signal(&p->idle);
}

static void *worker_main(void *arg) {
    struct pipe *p = arg;
    struct operator_link *l = NULL;
    struct wopr_error err;
    sigset_t all;
    sigfillset(&all); /* signals end the reading of the input */
    (void)pthread_sigmask(SIG_BLOCK, &all, NULL);
    if (operator_link_new(&l, &err) != 0) l = NULL;
    pthread_mutex_lock(&p->lock);
    while (!p->closing) {
        struct list *next = list_pop(&p->queue);
        if (next) {
            job_work(p, LIST_ENTRY(next, struct job, link), l);
            continue;
        }
        p->workers_free++;
        pthread_cond_wait(&p->work, &p->lock);
        p->workers_free--;
    }
    pthread_mutex_unlock(&p->lock);
    operator_link_free(l);
    return NULL;
}

/* Under the lock. */
static void job_queue(struct pipe *p, struct job *j) {
    size_t waiting = 1;
    for (struct list *l = p->queue.next; l != &p->queue; l = l->next) waiting++;
    list_add_tail(&p->queue, &j->link);
    p->jobs_nr++;
    p->waits_nr += j->waits;
    if (waiting > p->workers_free && p->workers_nr < WORKERS_MAX &&
        pthread_create(&p->workers[p->workers_nr], NULL, worker_main, p) == 0)
        p->workers_nr++;
    pthread_cond_signal(&p->work);
}

/* --- input --- */

static void stop_in(struct list *jobs, struct str id) {
    for (struct list *l = jobs->next; l != jobs; l = l->next) {
        struct job *j = LIST_ENTRY(l, struct job, link);
        if (id.p && !str_eq(j->message.id, id)) continue;
        atomic_store(&j->stop, true);
        if (j->by) operator_link_wake(j->by);
    }
}

/* id.p NULL: all of them. */
static void jobs_stop(struct pipe *p, struct str id) {
    pthread_mutex_lock(&p->lock);
    stop_in(&p->queue, id);
    stop_in(&p->active, id);
    pthread_mutex_unlock(&p->lock);
}

static struct job *job_new(char *text, size_t n) {
    struct job *j = MEM_NEW(struct job);
    struct arena *a = j ? arena_new(SCRATCH_BYTES) : NULL;
    if (!a) {
        mem_free(j);
        return NULL;
    }
    *j = (struct job){.text = text, .n = n, .arena = a};
    atomic_init(&j->stop, false);
    list_init(&j->link);
    return j;
}

static bool job_waits(struct job *j) {
    struct str target;
    return mcp_target_of(&j->message, j->arena, &target) == 1 && str_eqc(target, "run_wait");
}

/* One message, or a batch, which the host takes apart. */
static bool job_read(struct job *j, struct mcp_error *why) {
    struct str text = str_n(j->text, j->n);
    struct json_elements messages;
    int rc = mcp_batch_read(text, STR_NONE, j->arena, &messages, why);
    j->batch = rc == 1;
    if (j->batch) j->message = (struct mcp_message){.kind = MCP_REQUEST, .params = STR("{}")};
    else if (rc == 0) rc = mcp_message_read(text, j->arena, &j->message, why);
    return rc == 0 || j->batch;
}

/* Takes text. */
static void line_take(struct pipe *p, char *text, size_t n) {
    struct mcp_error why = {0};
    struct job *j = job_new(text, n);
    if (!j) {
        mem_free(text);
        error_write(p, NULL, STR_NONE, MCP_INTERNAL_ERROR, "out of memory");
        return;
    }
    if (!job_read(j, &why)) {
        error_write(p, NULL, j->message.id, why.code, why.message);
        job_free(j);
        return;
    }
    if (str_eqc(j->message.method, "notifications/cancelled")) {
        jobs_stop(p, json_get(j->message.params, "requestId"));
        job_free(j);
        return;
    }
    j->waits = job_waits(j);
    pthread_mutex_lock(&p->lock);
    bool full = p->jobs_nr == JOBS_MAX, waits = j->waits && p->waits_nr == WAITS_MAX;
    if (!full && !waits) job_queue(p, j);
    pthread_mutex_unlock(&p->lock);
    if (!full && !waits) return;
    error_write(p, NULL, j->message.id, MCP_INTERNAL_ERROR,
                full ? "too many requests are under way; wait for answers"
                     : "12 calls of run_wait are under way; let one end, or cancel it, and send "
                       "this again");
    job_free(j);
}

/* One line without its end; false at the end of the input.  A line that is too long is read past,
 * and buf_failed. */
static bool line_read(FILE *in, struct buf *line) {
    int ch;
    buf_reset(line);
    while ((ch = getc(in)) != EOF && ch != '\n') buf_addc(line, (char)ch);
    return ch != EOF || line->len > 0;
}

static void lines_read(struct pipe *p) {
    struct buf line;
    buf_init(&line, LINE_BYTES_MAX);
    while (!atomic_load(&p->broken) && line_read(p->cfg->in, &line)) {
        struct str text = str_trim(buf_str(&line));
        while (text.n > 0 && text.p[text.n - 1] == '\r') text.n--;
        if (buf_failed(&line)) {
            error_write(p, NULL, STR_NONE, MCP_INVALID_REQUEST, "the message is too large");
        } else if (text.n > 0) {
            char *copy = mem_strndup(text.p, text.n);
            if (copy) line_take(p, copy, text.n);
            else error_write(p, NULL, STR_NONE, MCP_INTERNAL_ERROR, "out of memory");
        }
        if (line.cap > 64 * 1024) buf_fini(&line);
    }
    buf_fini(&line);
}

/* --- life --- */

/* What is under way may end by itself for a moment, then it is given up. */
static void jobs_finish(struct pipe *p) {
    uint64_t end_ns = clock_mono_ns() + GRACE_MS * UINT64_C(1000000);
    const struct timespec until = {.tv_sec = (time_t)(end_ns / 1000000000u),
                                   .tv_nsec = (long)(end_ns % 1000000000u)};
    pthread_mutex_lock(&p->lock);
    bool time_left = !atomic_load(&p->broken);
    while (p->jobs_nr > 0 && time_left)
        time_left = pthread_cond_timedwait(&p->idle, &p->lock, &until) == 0;
    pthread_mutex_unlock(&p->lock);
    jobs_stop(p, STR_NONE);
    pthread_mutex_lock(&p->lock);
    p->closing = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < p->workers_nr; i++) (void)pthread_join(p->workers[i], NULL);
    for (struct list *l; (l = list_pop(&p->queue)) != NULL;)
        job_free(LIST_ENTRY(l, struct job, link));
}

int mcp_pipe_run(const struct mcp_pipe_config *cfg, struct wopr_error *err) {
    struct pipe *p = MEM_NEW(struct pipe);
    if (!p) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    p->cfg = cfg;
    list_init(&p->queue);
    list_init(&p->active);
    (void)pthread_mutex_init(&p->lock, NULL);
    (void)pthread_mutex_init(&p->out_lock, NULL);
    (void)pthread_cond_init(&p->work, NULL);
    if (clock_cond_init(&p->idle) != 0) {
        mem_free(p);
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    }
    lines_read(p);
    jobs_finish(p);
    pthread_cond_destroy(&p->idle);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->out_lock);
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
    return 0;
}
