/* harness.c: see harness.h. */
#include "harness.h"

#include "base/clock.h"
#include "base/embed.h"
#include "support/folder.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGS_MAX   48
#define OUTPUT_MAX (64u * 1024 * 1024)

struct arena *test_arena(void) {
    static struct arena *a;
    if (a == NULL) a = arena_new(1024u * 1024 * 1024);
    cr_assert_not_null(a);
    return a;
}

int64_t now_ms(void) { return (int64_t)clock_mono_ms(); }

void nap_ms(int ms) {
    struct timespec t = {ms / 1000, (ms % 1000) * 1000000L};
    nanosleep(&t, NULL);
}

const char *fmt(const char *f, ...) {
    char small[4096];
    va_list ap;
    va_start(ap, f);
    int n = vsnprintf(small, sizeof small, f, ap);
    va_end(ap);
    cr_assert(n >= 0 && (size_t)n < sizeof small);
    return arena_cstr(test_arena(), str_n(small, (size_t)n));
}

/* --- processes --- */
/* key: OPENWOP_API_KEY of the program, NULL = none. */
static pid_t spawn(const char *const *argv, const char *key, int *out_fd, int *err_fd) {
    int out[2], errp[2];
    cr_assert_eq(pipe(out), 0);
    cr_assert_eq(pipe(errp), 0);
    pid_t parent = getpid(), pid = fork();
    cr_assert(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(126);
        dup2(out[1], STDOUT_FILENO);
        dup2(errp[1], STDERR_FILENO);
        for (int fd = 3; fd < 1024; fd++) close(fd);
        if (key != NULL) setenv("OPENWOP_API_KEY", key, 1);
        execv(argv[0], (char *const *)argv);
        _exit(127);
    }
    close(out[1]);
    close(errp[1]);
    *out_fd = out[0];
    *err_fd = errp[0];
    return pid;
}

/* Read until a line with the port, end of file, or time. */
static int read_port(int fd, int *ops_port, struct buf *seen) {
    int64_t end = now_ms() + WAIT_MS;
    while (now_ms() < end) {
        struct pollfd p = {fd, POLLIN, 0};
        char chunk[512];
        if (poll(&p, 1, 200) <= 0) continue;
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n <= 0) return -1;
        buf_add(seen, chunk, (size_t)n);
        int port = 0;
        const char *on = strstr(seen->p, "listens on http"),
                   *ops = strstr(seen->p, "metrics on http://127.0.0.1:");
        if (on == NULL || strstr(seen->p, "database ") == NULL) continue;
        if (sscanf(on, "listens on http://127.0.0.1:%d", &port) != 1 &&
            sscanf(on, "listens on https://127.0.0.1:%d", &port) != 1)
            return -1;
        if (ops != NULL) sscanf(ops, "metrics on http://127.0.0.1:%d", ops_port);
        return port;
    }
    return -1;
}

static void launch(struct server *s) {
    const char *argv[ARGS_MAX] = {WOPR_PROGRAM,
                                  "serve",
                                  "--port",
                                  "0",
                                  "--ops-port",
                                  "0",
                                  "--db",
                                  s->db,
                                  "--conformance-seed",
                                  "--address-rate",
                                  "0",
                                  "--log-level",
                                  "warn",
                                  "--seed",
                                  WOPR_SOURCE_DIR "/docs/examples"};
    int n = 15, out, err;
    struct buf seen;
    if (s->log_fd > 0) close(s->log_fd);
    for (const char *const *a = s->args; a != NULL && *a != NULL && n < ARGS_MAX - 1; a++)
        argv[n++] = *a;
    argv[n] = NULL;
    buf_init(&seen, 65536);
    s->pid = spawn(argv, s->key, &out, &err);
    s->port = read_port(out, &s->ops_port, &seen);
    if (s->port <= 0) {
        char why[2048] = "";
        ssize_t got = read(err, why, sizeof why - 1);
        cr_assert_fail("the host did not start: %s %.*s", seen.p != NULL ? seen.p : "",
                       got > 0 ? (int)got : 0, why);
    }
    snprintf(s->base, sizeof s->base, "http://127.0.0.1:%d", s->port);
    s->log_fd = err;
    buf_fini(&seen);
}

void server_start(struct server *s, const char *const *args) {
    cr_assert_eq(s->pid, 0, "a second start would leave the first host and its folder behind");
    *s = (struct server){.key = TEST_KEY, .args = args};
    cr_assert(folder_make(s->dir, sizeof s->dir, "test"));
    snprintf(s->db, sizeof s->db, "%s/w.db", s->dir);
    launch(s);
}

void server_again(struct server *s) { launch(s); }

void server_beside(struct server *s, const struct server *first, const char *const *args) {
    *s = *first;
    s->args = args;
    s->ops_port = 0;
    launch(s);
}

/* Can the file's write lock be had at all?  Another host may hold it for a moment. */
static bool write_lock_is_free(const struct server *s) {
    sqlite3 *db;
    cr_assert_eq(sqlite3_open_v2(s->db, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    sqlite3_busy_timeout(db, 1000);
    const int rc = sqlite3_exec(db, "BEGIN IMMEDIATE; ROLLBACK", NULL, NULL, NULL);
    sqlite3_close(db);
    return rc != SQLITE_BUSY;
}

void server_freeze_anywhere(struct server *s) {
    int status;
    cr_assert_eq(kill(s->pid, SIGSTOP), 0);
    cr_assert_eq(waitpid(s->pid, &status, WUNTRACED), s->pid);
    cr_assert(WIFSTOPPED(status));
}

void server_freeze(struct server *s) {
    for (int tries = 0; tries < 50; tries++) {
        server_freeze_anywhere(s);
        if (write_lock_is_free(s)) return;
        server_thaw(s); /* it was in a transaction: nobody could write until it thaws */
        nap_ms(20);
    }
    cr_assert_fail("whenever the host is frozen it holds the write lock");
}

void server_thaw(struct server *s) { cr_assert_eq(kill(s->pid, SIGCONT), 0); }

void clock_make(struct test_clock *c, const char *dir) {
    const int64_t none = 0;
    static int nr;
    snprintf(c->path, sizeof c->path, "%s/clock-%d", dir, nr++);
    int fd = open(c->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    cr_assert(fd >= 0);
    cr_assert_eq(pwrite(fd, &none, sizeof none, 0), (ssize_t)sizeof none);
    c->offset_ms = mmap(NULL, sizeof none, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cr_assert(c->offset_ms != MAP_FAILED);
    close(fd);
}

void server_kill(struct server *s) {
    if (s->pid <= 0) return;
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
    s->pid = 0;
}

int server_stop(struct server *s) {
    int status;
    if (s->pid <= 0) return 0;
    kill(s->pid, SIGTERM);
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end; nap_ms(10)) {
        if (waitpid(s->pid, &status, WNOHANG) != s->pid) continue;
        s->pid = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
    }
    server_kill(s);
    return -1;
}

void server_end(struct server *s) {
    int rc = server_stop(s);
    const char *rm[] = {"/bin/rm", "-rf", s->dir, NULL};
    int out, err;
    pid_t pid = spawn(rm, NULL, &out, &err);
    waitpid(pid, NULL, 0);
    cr_expect_eq(rc, 0, "the host ended with %d on SIGTERM", rc);
}

static struct str drain_fd(int fd) {
    struct buf b;
    char chunk[4096];
    ssize_t n;
    buf_init(&b, OUTPUT_MAX);
    while ((n = read(fd, chunk, sizeof chunk)) > 0) buf_add(&b, chunk, (size_t)n);
    close(fd);
    struct str s = arena_str(test_arena(), buf_str(&b));
    buf_fini(&b);
    return s;
}

struct str server_log(struct server *s) {
    int fd = s->log_fd;
    cr_expect_eq(server_stop(s), 0);
    s->log_fd = 0;
    return drain_fd(fd);
}

int program(const struct server *s, const char *const *args, struct str *out, struct str *err) {
    const char *argv[ARGS_MAX] = {WOPR_PROGRAM};
    int n = 1, out_fd, err_fd, status;
    for (; *args != NULL && n < ARGS_MAX - 3; args++) argv[n++] = *args;
    if (s != NULL) {
        argv[n++] = "--db";
        argv[n++] = s->db;
    }
    argv[n] = NULL;
    pid_t pid = spawn(argv, s != NULL ? s->client_key : NULL, &out_fd, &err_fd);
    struct str o = drain_fd(out_fd), e = drain_fd(err_fd);
    waitpid(pid, &status, 0);
    if (out != NULL) *out = o;
    if (err != NULL) *err = e;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}

int program_on(struct server *s, const char *command, const char *const *args, struct str *out,
               struct str *err) {
    const char *all[ARGS_MAX];
    size_t n = 0;
    if (command != NULL) all[n++] = command;
    for (; *args != NULL && n < ARGS_MAX - 3; args++) all[n++] = *args;
    all[n++] = "--url";
    all[n++] = s->base;
    all[n] = NULL;
    s->client_key = s->key;
    int rc = program(s, all, out, err);
    s->client_key = NULL;
    return rc;
}

/* --- requests --- */
static size_t collect(char *p, size_t size, size_t n, void *ctx) {
    buf_add(ctx, p, size * n);
    return size * n;
}

static struct curl_slist *header_list(const struct server *s, const char *const *headers,
                                      bool json) {
    struct curl_slist *l = NULL;
    bool has_auth = false;
    for (const char *const *h = headers; h != NULL && *h != NULL; h++) {
        if (strncmp(*h, "Authorization:", 14) == 0) has_auth = true;
        l = curl_slist_append(l, *h);
    }
    if (!has_auth) l = curl_slist_append(l, fmt("Authorization: Bearer %s", s->key));
    if (json) l = curl_slist_append(l, "Accept: application/json");
    l = curl_slist_append(l, "Expect:");
    return l;
}

static bool names_header(const char *const *headers, const char *name) {
    for (const char *const *h = headers; h != NULL && *h != NULL; h++)
        if (strncasecmp(*h, name, strlen(name)) == 0) return true;
    return false;
}

struct reply ask(const struct server *s, const char *method, const char *path, const char *body,
                 const char *const *headers) {
    struct reply r = {0};
    struct buf b, h;
    CURL *c = curl_easy_init();
    struct curl_slist *l = header_list(s, headers, !names_header(headers, "Accept:"));
    if (body != NULL && !names_header(headers, "Content-Type:"))
        l = curl_slist_append(l, "Content-Type: application/json");
    buf_init(&b, OUTPUT_MAX);
    buf_init(&h, 65536);
    curl_easy_setopt(c, CURLOPT_URL, fmt("%s%s", s->base, path));
    curl_easy_setopt(c, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, method);
    if (strcmp(method, "HEAD") == 0) curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, l);
    if (body != NULL) curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, collect);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, &b);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, collect);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, &h);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)(WAIT_MS * 4));
    CURLcode rc = curl_easy_perform(c);
    cr_assert_eq(rc, CURLE_OK, "%s %s: %s", method, path, curl_easy_strerror(rc));
    curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &r.status);
    r.body = arena_str(test_arena(), buf_str(&b));
    r.headers = arena_str(test_arena(), buf_str(&h));
    curl_slist_free_all(l);
    curl_easy_cleanup(c);
    buf_fini(&b);
    buf_fini(&h);
    return r;
}

/* -1 when nobody listens. */
static int try_connect(const struct server *s) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)s->port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a) == 0) return fd;
    close(fd);
    return -1;
}

static int connect_to(const struct server *s) {
    int fd = try_connect(s);
    cr_assert(fd >= 0);
    return fd;
}

struct reply ask_raw(const struct server *s, const char *bytes, size_t n, int wait_ms) {
    struct reply r = {0};
    struct buf b;
    int fd = connect_to(s);
    buf_init(&b, OUTPUT_MAX);
    for (size_t done = 0; done < n;) {
        ssize_t w = send(fd, bytes + done, n - done, MSG_NOSIGNAL);
        if (w <= 0) break; /* the server may refuse early */
        done += (size_t)w;
    }
    for (int64_t end = now_ms() + wait_ms; now_ms() < end;) {
        struct pollfd p = {fd, POLLIN, 0};
        char chunk[4096];
        if (poll(&p, 1, 50) <= 0) continue;
        ssize_t got = read(fd, chunk, sizeof chunk);
        if (got <= 0) break;
        buf_add(&b, chunk, (size_t)got);
    }
    close(fd);
    struct str all = arena_str(test_arena(), buf_str(&b));
    buf_fini(&b);
    const char *cut = all.n > 0 ? strstr(all.p, "\r\n\r\n") : NULL;
    r.headers = all;
    if (cut != NULL) {
        r.headers.n = (size_t)(cut - all.p) + 2;
        r.body = str_n(cut + 4, all.n - (size_t)(cut + 4 - all.p));
    }
    if (all.n > 12) r.status = strtol(all.p + 9, NULL, 10);
    return r;
}

long exchange(const struct server *s, const char *bytes, size_t n, char *answer, size_t size) {
    size_t got = 0;
    int fd = try_connect(s);
    answer[0] = '\0';
    if (fd < 0) return 0;
    if (send(fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n) {
        for (int64_t end = now_ms() + WAIT_MS; now_ms() < end && got + 1 < size;) {
            struct pollfd p = {fd, POLLIN, 0};
            if (poll(&p, 1, 50) <= 0) continue;
            ssize_t r = read(fd, answer + got, size - 1 - got);
            if (r <= 0) break;
            got += (size_t)r;
        }
    }
    close(fd);
    answer[got] = '\0';
    return got > 12 ? strtol(answer + 9, NULL, 10) : 0;
}

struct str header(const struct reply *r, const char *name) {
    struct str rest = r->headers, line, key, value;
    while (str_cut(rest, '\n', &line, &rest)) {
        if (!str_cut(line, ':', &key, &value) || !str_eq_nocase(key, str_c(name))) continue;
        if (value.n > 0 && value.p[value.n - 1] == '\r') value.n--;
        return str_trim(value);
    }
    return STR_NONE;
}

struct str at(struct str json, const char *path) {
    return json_path_get(json, str_c(path), test_arena());
}

struct str text_at(struct str json, const char *path) {
    struct str s = json_string(at(json, path), test_arena());
    cr_assert_not_null(s.p, "no string at %s of %.*s", path, STR_ARG(json));
    return s;
}

struct json_elements elements_of(struct str array) {
    struct json_elements v;
    cr_assert_eq(json_elements(array, test_arena(), &v, NULL), 0);
    return v;
}

const char *fork_run(const struct server *s, const char *run, const char *mode, int64_t from_seq) {
    struct reply r =
        ask(s, "POST", fmt("/v1/runs/%s:fork", run),
            fmt("{\"mode\":\"%s\",\"fromSeq\":%lld}", mode, (long long)from_seq), NULL);
    cr_assert_eq(r.status, 201, "%s at %lld: " STR_FMT, mode, (long long)from_seq, STR_ARG(r.body));
    return fmt(STR_FMT, STR_ARG(text_at(r.body, "runId")));
}

int64_t int_at(struct str json, const char *path) {
    int64_t v = 0;
    cr_assert(json_int(at(json, path), &v), "no integer at %s of %.*s", path, STR_ARG(json));
    return v;
}

void expect_error(const struct reply *r, long status, const char *code) {
    struct json_members m;
    cr_assert_eq(r->status, status, "status %ld, not %ld: %.*s", r->status, status,
                 STR_ARG(r->body));
    cr_assert_eq(json_check(r->body, &JSON_LIMITS_DEFAULT, NULL), 0);
    cr_assert_eq(json_members(r->body, test_arena(), &m, NULL), 0);
    cr_expect_eq(m.n, at(r->body, "details").p != NULL ? 3u : 2u, "open envelope: %.*s",
                 STR_ARG(r->body));
    cr_expect(text_at(r->body, "message").n > 0);
    struct str d = at(r->body, "details");
    cr_expect(d.p == NULL || json_type_of(d) == JSON_OBJECT);
    cr_expect(str_eqc(text_at(r->body, "error"), code), "code %.*s, not %s", STR_ARG(r->body),
              code);
}

/* --- runs --- */
const char *create_run(const struct server *s, const char *workflow, const char *extras) {
    struct buf b;
    buf_init(&b, OUTPUT_MAX);
    buf_addf(&b, "{\"workflowId\":\"%s\"%s", workflow, extras != NULL ? "," : "");
    buf_addz(&b, extras != NULL ? extras : "");
    buf_addz(&b, "}");
    struct reply r = ask(s, "POST", "/v1/runs", b.p, NULL);
    buf_fini(&b);
    cr_assert_eq(r.status, 201, "create answered %ld: %.*s", r.status, STR_ARG(r.body));
    return text_at(r.body, "runId").p;
}

static bool is_terminal(struct str status) {
    return str_eqc(status, "completed") || str_eqc(status, "failed") ||
           str_eqc(status, "cancelled");
}

static struct str wait_for(const struct server *s, const char *run_id, const char *want) {
    const char *path = fmt("/v1/runs/%s", run_id);
    struct reply r = {0};
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end;
         nap_ms(10 + (int)(r.body.n / 20000))) { /* megabytes keep the host busy */
        r = ask(s, "GET", path, NULL, NULL);
        cr_assert_eq(r.status, 200, "snapshot answered %ld: %.*s", r.status, STR_ARG(r.body));
        struct str status = text_at(r.body, "status");
        if (want != NULL ? str_eqc(status, want) : is_terminal(status)) return r.body;
    }
    cr_assert_fail("the run did not become %s: %.*s", want != NULL ? want : "terminal",
                   STR_ARG(r.body));
    return r.body;
}

struct str wait_status(const struct server *s, const char *run_id, const char *status) {
    return wait_for(s, run_id, status);
}

struct str wait_terminal(const struct server *s, const char *run_id) {
    return wait_for(s, run_id, NULL);
}

struct str events_of(const struct server *s, const char *run_id) {
    struct reply r = ask(s, "GET", fmt("/v1/runs/%s/events/poll?timeout=1", run_id), NULL, NULL);
    cr_assert_eq(r.status, 200);
    return at(r.body, "events");
}

struct str types_of(struct str events) {
    struct json_elements l;
    struct buf b;
    cr_assert_eq(json_elements(events, test_arena(), &l, NULL), 0);
    buf_init(&b, OUTPUT_MAX);
    for (size_t i = 0; i < l.n; i++) {
        struct str node = json_string(json_get(l.v[i], "nodeId"), test_arena());
        buf_addf(&b, "%s%.*s", i > 0 ? " " : "", STR_ARG(text_at(l.v[i], "type")));
        if (node.p != NULL) buf_addf(&b, ":%.*s", STR_ARG(node));
    }
    struct str s = arena_str(test_arena(), buf_str(&b));
    buf_fini(&b);
    return s;
}

/* --- streams --- */
struct stream_ctx {
    struct buf b;
    size_t limit, blanks;
    const char *until; /* or NULL */
};

static size_t stream_collect(char *p, size_t size, size_t n, void *ctx) {
    struct stream_ctx *c = ctx;
    size_t before = c->b.len;
    buf_add(&c->b, p, size * n);
    const char *seen = c->until != NULL ? strstr(c->b.p, c->until) : NULL;
    if (seen != NULL && strstr(seen, "\n\n") != NULL) return 0;
    if (c->limit == 0) return size * n;
    for (size_t i = before; i < c->b.len; i++)
        if (i > 0 && c->b.p[i] == '\n' && c->b.p[i - 1] == '\n') c->blanks++;
    return c->blanks > c->limit ? 0 : size * n; /* the first blank ends the opening comment */
}

static void parse_frames(struct stream *st) {
    struct str rest = st->raw, line;
    struct frame f = {STR_NONE, STR_NONE, STR_NONE};
    size_t max = 1;
    for (size_t i = 0; i < rest.n; i++) max += rest.p[i] == '\n';
    st->v = ARENA_ARRAY(test_arena(), struct frame, max);
    while (str_cut(rest, '\n', &line, &rest)) {
        if (line.n == 0) {
            if (f.data.p != NULL) st->v[st->n++] = f;
            f = (struct frame){STR_NONE, STR_NONE, STR_NONE};
        }
        if (str_starts(line, STR("id: "))) f.id = str_n(line.p + 4, line.n - 4);
        if (str_starts(line, STR("event: "))) f.event = str_n(line.p + 7, line.n - 7);
        if (str_starts(line, STR("data: "))) f.data = str_n(line.p + 6, line.n - 6);
    }
}

static struct stream stream_read(const struct server *s, const char *path,
                                 const char *const *headers, int max_ms, struct stream_ctx ctx) {
    struct stream st = {0};
    struct buf h;
    CURL *c = curl_easy_init();
    struct curl_slist *l = header_list(s, headers, false);
    if (!names_header(headers, "Accept:")) l = curl_slist_append(l, "Accept: text/event-stream");
    buf_init(&ctx.b, OUTPUT_MAX);
    buf_init(&h, 65536);
    curl_easy_setopt(c, CURLOPT_URL, fmt("%s%s", s->base, path));
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, l);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, stream_collect);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, &ctx);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, collect);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, &h);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)max_ms);
    CURLcode rc = curl_easy_perform(c);
    st.closed_by_server = rc == CURLE_OK || rc == CURLE_PARTIAL_FILE || rc == CURLE_RECV_ERROR;
    curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &st.status);
    st.raw = arena_str(test_arena(), buf_str(&ctx.b));
    st.headers = arena_str(test_arena(), buf_str(&h));
    parse_frames(&st);
    curl_slist_free_all(l);
    curl_easy_cleanup(c);
    buf_fini(&ctx.b);
    buf_fini(&h);
    return st;
}

struct stream stream(const struct server *s, const char *path, const char *const *headers,
                     int max_ms, size_t limit) {
    return stream_read(s, path, headers, max_ms, (struct stream_ctx){.limit = limit});
}

struct stream stream_until(const struct server *s, const char *path, const char *text) {
    return stream_read(s, path, NULL, WAIT_MS, (struct stream_ctx){.until = text});
}

/* The migrations that made the schema of that version, whatever has been added since. */
static void schema_make(sqlite3 *db, int version) {
    cr_assert_eq(sqlite3_exec(db,
                              "PRAGMA journal_mode = WAL; PRAGMA foreign_keys = OFF;"
                              "CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY,"
                              " name TEXT NOT NULL, sha256 BLOB NOT NULL,"
                              " applied_ms INTEGER NOT NULL) STRICT;",
                              NULL, NULL, NULL),
                 SQLITE_OK);
    for (const struct embed_file *f = EMBED_FILES; f->name; f++) {
        static const char folder[] = "migrations/sqlite/";
        if (strncmp(f->name, folder, sizeof folder - 1) != 0) continue;
        if (strtol(f->name + sizeof folder - 1, NULL, 10) > version) continue;
        cr_assert_eq(sqlite3_exec(db, f->data, NULL, NULL, NULL), SQLITE_OK, "%s: %s", f->name,
                     sqlite3_errmsg(db));
    }
    cr_assert_eq(sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL), SQLITE_OK);
}

/* Rows alone (release.sh): their schema, and the key that seals in them. */
static void rows_begin(const struct server *sv, sqlite3 *db, const char *sql) {
    int version = 0;
    char key[65] = "";
    if (sscanf(sql, "-- schema %d\n-- key %64[0-9a-f]", &version, key) != 2) return;
    schema_make(db, version);
    FILE *f = fopen(fmt("%s.key", sv->db), "w"); /* of the mode that the first start gave it */
    cr_assert_not_null(f);
    fprintf(f, "%s\n", key);
    cr_assert_eq(fclose(f), 0);
}

void server_restore(const struct server *sv, const char *name) {
    struct buf sql;
    char part[4096];
    sqlite3 *db;
    FILE *f = popen(fmt("gzip -dcf '" WOPR_SOURCE_DIR "/tests/integration/old/%s'", name), "r");
    cr_assert_not_null(f, "%s", name);
    buf_init(&sql, 1u << 22);
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;) buf_add(&sql, part, n);
    cr_assert_eq(pclose(f), 0, "%s", name);
    buf_addz(&sql, "PRAGMA application_id = 1464815698;");
    buf_addc(&sql, '\0');
    cr_assert_not(buf_failed(&sql));
    cr_assert_eq(remove(sv->db), 0);
    cr_assert_eq(sqlite3_open(sv->db, &db), SQLITE_OK);
    rows_begin(sv, db, sql.p);
    cr_assert_eq(sqlite3_exec(db, sql.p, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    cr_assert_eq(sqlite3_close(db), SQLITE_OK);
    buf_fini(&sql);
}
