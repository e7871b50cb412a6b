/*
 * yard_mhd.c: the bare libmicrohttpd server WOPR is compared with; the same daemon flags, number of
 * threads, pool and stream block, and nothing behind them.
 *   POST /echo  201 with the body that came     GET /echo  200 with 400 bytes
 *   GET /sub    a suspended event stream        POST /pub  one frame to all of them
 */
#include "bench.h"

#include "http/server.h"
#include "http/stream.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

enum { BARE_BODY_MAX = 65536, BARE_GET_BYTES = 400, BARE_FRAME_MAX = 2048, BARE_CONNS = 20000 };

struct post {
    size_t n;
    char body[];
};
struct sub {
    struct list link;
    struct MHD_Connection *conn;
    uint64_t seen; /* frames sent */
    size_t at;
    bool suspended, hello;
};
static struct {
    pthread_mutex_t lock;
    struct list subs;
    uint64_t frames;
    bool closing;
    char frame[BARE_FRAME_MAX];
    size_t frame_n;
    char page[BARE_GET_BYTES];
} bare;

/* State of a GET: it is answered at its second call, because an early answer ends keep-alive. */
static char asked;

static ssize_t sub_read(void *cls, uint64_t pos, char *out, size_t max) {
    struct sub *s = cls;
    ssize_t n = 0;
    (void)pos;
    pthread_mutex_lock(&bare.lock);
    if (bare.closing) {
        n = MHD_CONTENT_READER_END_OF_STREAM;
    } else if (!s->hello) {
        s->hello = true;
        memcpy(out, ":ok\n\n", 5);
        n = 5;
    } else if (s->seen < bare.frames) {
        size_t left = bare.frame_n - s->at;
        n = (ssize_t)(left < max ? left : max);
        memcpy(out, bare.frame + s->at, (size_t)n);
        s->at += (size_t)n;
        if (s->at == bare.frame_n) {
            s->at = 0;
            s->seen = bare.frames;
        }
    } else {
        s->suspended = true;
        MHD_suspend_connection(s->conn);
    }
    pthread_mutex_unlock(&bare.lock);
    return n;
}

static void sub_free(void *cls) {
    struct sub *s = cls;
    pthread_mutex_lock(&bare.lock);
    list_del(&s->link);
    pthread_mutex_unlock(&bare.lock);
    mem_free(s);
}

static enum MHD_Result subscribe(struct MHD_Connection *conn) {
    struct sub *s = MEM_NEW(struct sub);
    if (!s) return MHD_NO;
    s->conn = conn;
    list_init(&s->link);
    pthread_mutex_lock(&bare.lock);
    s->seen = bare.frames;
    list_add_tail(&bare.subs, &s->link);
    pthread_mutex_unlock(&bare.lock);
    struct MHD_Response *r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, HTTP_STREAM_BLOCK,
                                                               sub_read, s, sub_free);
    if (!r) {
        sub_free(s);
        return MHD_NO;
    }
    (void)MHD_add_response_header(r, "Content-Type", "text/event-stream");
    enum MHD_Result ok = MHD_queue_response(conn, MHD_HTTP_OK, r);
    MHD_destroy_response(r);
    return ok;
}

static void publish(const struct post *p) {
    pthread_mutex_lock(&bare.lock);
    size_t n = p->n < BARE_FRAME_MAX - 16 ? p->n : BARE_FRAME_MAX - 16;
    memcpy(bare.frame, "data: ", 6);
    memcpy(bare.frame + 6, p->body, n);
    memcpy(bare.frame + 6 + n, "\n\n", 2);
    bare.frame_n = n + 8;
    bare.frames++;
    for (struct list *l = bare.subs.next; l != &bare.subs; l = l->next) {
        struct sub *s = LIST_ENTRY(l, struct sub, link);
        if (!s->suspended) continue;
        s->suspended = false;
        MHD_resume_connection(s->conn);
    }
    pthread_mutex_unlock(&bare.lock);
}

static enum MHD_Result send_back(struct MHD_Connection *conn, unsigned status, const char *p,
                                 size_t n, enum MHD_ResponseMemoryMode mode) {
    struct MHD_Response *r = MHD_create_response_from_buffer(n, (void *)(uintptr_t)p, mode);
    if (!r) return MHD_NO;
    (void)MHD_add_response_header(r, "Content-Type", "application/json");
    enum MHD_Result ok = MHD_queue_response(conn, status, r);
    MHD_destroy_response(r);
    return ok;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *conn, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_n, void **state) {
    struct post *p = *state;
    (void)cls, (void)version;
    if (strcmp(method, "GET") == 0) {
        if (!*state) {
            *state = &asked;
            return MHD_YES;
        }
        if (strcmp(url, "/sub") == 0) return subscribe(conn);
        return send_back(conn, MHD_HTTP_OK, bare.page, sizeof bare.page, MHD_RESPMEM_PERSISTENT);
    }
    if (!p) {
        *state = p = mem_alloc(sizeof *p + BARE_BODY_MAX);
        if (p) p->n = 0;
        return p ? MHD_YES : MHD_NO;
    }
    if (*upload_n > 0) {
        if (p->n + *upload_n > BARE_BODY_MAX) return MHD_NO;
        memcpy(p->body + p->n, upload, *upload_n);
        p->n += *upload_n;
        *upload_n = 0;
        return MHD_YES;
    }
    if (strcmp(url, "/pub") == 0) publish(p);
    return send_back(conn, MHD_HTTP_CREATED, p->body, p->n, MHD_RESPMEM_MUST_COPY);
}

static void on_completed(void *cls, struct MHD_Connection *conn, void **state,
                         enum MHD_RequestTerminationCode toe) {
    (void)cls, (void)conn, (void)toe;
    if (*state != &asked) mem_free(*state);
    *state = NULL;
}

static void wake_all(void) { /* libmicrohttpd must not be stopped with suspended connections */
    pthread_mutex_lock(&bare.lock);
    bare.closing = true;
    for (struct list *l = bare.subs.next; l != &bare.subs; l = l->next) {
        struct sub *s = LIST_ENTRY(l, struct sub, link);
        if (s->suspended) MHD_resume_connection(s->conn);
        s->suspended = false;
    }
    pthread_mutex_unlock(&bare.lock);
}

int cmd_bare(const struct options *o) {
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)o->port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct rlimit files;
    sigset_t set;
    int sig = 0;
    unsigned conns = proc_files(BARE_CONNS + 64) ? BARE_CONNS : 1000;
    if (conns == 1000 && getrlimit(RLIMIT_NOFILE, &files) == 0 &&
        proc_files((uint64_t)files.rlim_max))
        conns = (unsigned)files.rlim_max - 64;
    pthread_mutex_init(&bare.lock, NULL);
    list_init(&bare.subs);
    memset(bare.page, 'x', sizeof bare.page);
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;
    struct MHD_OptionItem pool[] = {
        {o->threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, (intptr_t)o->threads, NULL},
        {MHD_OPTION_END, 0, NULL}};
    struct MHD_Daemon *d =
        MHD_start_daemon(flags, 0, NULL, NULL, on_request, NULL, MHD_OPTION_SOCK_ADDR, &a,
                         MHD_OPTION_CONNECTION_LIMIT, conns, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                         (size_t)HTTP_POOL_BYTES, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
                         MHD_OPTION_ARRAY, pool, MHD_OPTION_END);
    if (!d) {
        fprintf(stderr, "wopr-bench: the bare server did not start\n");
        return 1;
    }
    printf("bare server on http://127.0.0.1:%u\n",
           MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    while (sigwait(&set, &sig) != 0) continue;
    wake_all();
    MHD_stop_daemon(d);
    return 0;
}
