/*
 * test_egress_rude.c: servers that misbehave, answers of name servers that change, proxies of the
 * environment: a request ends with a code, bounded in time and bytes, and reaches nothing it may
 * not (X1 to X4, HOOK-16, HOOK-17).
 */
#define _GNU_SOURCE /* POLLRDHUP */
#include "base/mem.h"
#include "egress/egress.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_S = 40, ANSWER_MAX = 64 * 1024 };

static int listener, port;
static atomic_bool stop;
static atomic_uint served, elsewhere;
static pthread_t thread;
static struct egress *eg;
static char addresses[128]; /* what the next look-up says */

/* --- the server --- */

static bool text(int fd, const char *s) {
    return send(fd, s, strlen(s), MSG_NOSIGNAL) == (ssize_t)strlen(s);
}

/* Again and again until the other side has enough. */
static void flood(int fd, const char *begin, const char *more, int pause_ms) {
    const struct timespec nap = {.tv_nsec = pause_ms * 1000000L};
    bool open = text(fd, begin);
    while (open && !atomic_load(&stop)) {
        open = text(fd, more);
        if (pause_ms > 0) (void)nanosleep(&nap, NULL);
    }
}

static void hang(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLRDHUP};
    while (!atomic_load(&stop) && poll(&p, 1, 20) == 0) continue;
}

#define HEAD "HTTP/1.1 200 OK\r\n"
static const char BOMB[] = HEAD "Content-Encoding: gzip\r\nContent-Length: 20\r\n\r\n"
                                "\x1f\x8b\x08garbage-that-grows";

static void serve(int fd, const char *path) {
    static char big[16384];
    const struct linger reset = {1, 0};
    memset(big, 'x', sizeof big - 1);
    if (strcmp(path, "/ok") == 0) text(fd, HEAD "Content-Length: 2\r\n\r\nok");
    if (strcmp(path, "/silent") == 0) hang(fd);
    if (strcmp(path, "/drip") == 0) flood(fd, HEAD "Content-Length: 99999\r\n\r\n", "x", 20);
    if (strcmp(path, "/reset") == 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    if (strcmp(path, "/endless") == 0) flood(fd, HEAD "\r\n", big, 0);
    if (strcmp(path, "/heads") == 0) flood(fd, HEAD, "X-More: and more and more and more\r\n", 0);
    if (strcmp(path, "/interim") == 0) flood(fd, "", "HTTP/1.1 103 Early\r\nLink: x\r\n\r\n", 0);
    if (strcmp(path, "/short") == 0) text(fd, HEAD "Content-Length: 50\r\n\r\nab");
    if (strcmp(path, "/long") == 0) text(fd, HEAD "Content-Length: 2\r\n\r\nabcdef");
    if (strcmp(path, "/length") == 0) text(fd, HEAD "Content-Length: -5\r\n\r\nab");
    if (strcmp(path, "/chunks") == 0) text(fd, HEAD "Transfer-Encoding: chunked\r\n\r\nzz\r\nab");
    if (strcmp(path, "/garbage") == 0) text(fd, "\x16\x03\x01 this is no HTTP\r\n\r\n");
    if (strcmp(path, "/bomb") == 0) (void)!send(fd, BOMB, sizeof BOMB - 1, MSG_NOSIGNAL);
    if (strcmp(path, "/elsewhere") == 0) atomic_fetch_add(&elsewhere, 1);
    if (strcmp(path, "/moved") == 0)
        text(fd, "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n");
}

static void *server_main(void *arg) {
    for (int fd; (fd = accept(listener, NULL, NULL)) >= 0; close(fd)) {
        char in[4096], path[64] = "";
        ssize_t n = recv(fd, in, sizeof in - 1, 0);
        if (n <= 0) continue;
        in[n] = '\0';
        (void)sscanf(in, "%*s %63s", path);
        atomic_fetch_add(&served, 1);
        serve(fd, path);
    }
    return arg;
}

static int lookup(const char *host, char *out, size_t size) {
    (void)host;
    (void)snprintf(out, size, "%s", addresses);
    return 0;
}

static void egress_up(const char *allowed) {
    struct egress_config cfg = {.lookup = lookup};
    struct wopr_error err;
    cr_assert_eq(egress_allow_parse(str_c(allowed), &cfg.allow, &err), 0);
    cr_assert_eq(egress_new(&cfg, &eg, &err), 0);
    egress_start(eg);
}

static void up(void) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(listener, (struct sockaddr *)&a, sizeof a), 0);
    cr_assert_eq(listen(listener, 16), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&a, &n), 0);
    port = ntohs(a.sin_port);
    cr_assert_eq(pthread_create(&thread, NULL, server_main, NULL), 0);
    egress_up("127.0.0.1");
}

static void down(void) {
    egress_free(eg);
    atomic_store(&stop, true);
    shutdown(listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(listener);
}
TestSuite(egress_rude, .init = up, .fini = down, .timeout = 300);

struct outcome {
    sem_t done;
    int rc, status;
    bool untouched;
    size_t bytes;
    char body[64];
};

static void on_done(void *ctx, const struct egress_response *r) {
    struct outcome *o = ctx;
    o->rc = r->rc;
    o->status = r->status;
    o->untouched = r->untouched;
    o->bytes = r->body.n;
    (void)snprintf(o->body, sizeof o->body, "%.*s", r->body.n < 60 ? (int)r->body.n : 60,
                   r->body.p ? r->body.p : "");
    sem_post(&o->done);
}

static struct outcome ask(const char *host, const char *path, int timeout_ms) {
    char url[160];
    struct wopr_error err;
    struct timespec end;
    struct outcome o = {.rc = 1};
    (void)snprintf(url, sizeof url, "http://%s:%d%s", host, port, path);
    struct egress_request q = {.caller = EGRESS_CALLER_NODE,
                               .method = STR("GET"),
                               .url = str_c(url),
                               .timeout_ms = timeout_ms,
                               .response_max = ANSWER_MAX};
    sem_init(&o.done, 0, 0);
    cr_assert_eq(egress_submit(eg, &q, on_done, &o, &err), 0, "%s: %s", url, err.message);
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += WAIT_S;
    cr_assert_eq(sem_timedwait(&o.done, &end), 0, "%s ends", path);
    sem_destroy(&o.done);
    return o;
}

/* --- servers --- */

Test(egress_rude, every_misbehaviour_ends_with_a_code_and_the_next_request_is_answered) {
    static const struct {
        const char *path;
        int rc, status;
        int timeout_ms;
    } rows[] = {
        {"/ok", 0, 200, 30000},
        {"/silent", WOPR_E_TIMEOUT, 0, 200},
        {"/drip", WOPR_E_TIMEOUT, 0, 300},
        {"/reset", WOPR_E_UNREACHABLE, 0, 30000},
        {"/endless", WOPR_E_TOO_BIG, 200, 30000},
        {"/heads", WOPR_E_UNREACHABLE, 0, 30000}, /* bounded in bytes, not by its time */
        {"/interim", WOPR_E_UNREACHABLE, 0, 30000},
        {"/short", WOPR_E_UNREACHABLE, 0, 30000},
        {"/long", 0, 200, 30000},
        {"/length", WOPR_E_UNREACHABLE, 0, 30000},
        {"/chunks", WOPR_E_UNREACHABLE, 0, 30000},
        {"/garbage", WOPR_E_UNREACHABLE, 0, 30000},
        {"/bomb", 0, 200, 30000},
        {"/moved", 0, 302, 30000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int ms = rows[i].timeout_ms;
        struct outcome o = ask("127.0.0.1", rows[i].path, ms);
        while (o.untouched && (ms *= 4) < 30000) /* a busy machine had not sent it yet */
            o = ask("127.0.0.1", rows[i].path, ms);
        cr_expect_eq(o.rc, rows[i].rc, "%s: %s", rows[i].path, wopr_err_name(o.rc));
        cr_expect_eq(o.status, rows[i].status, "%s: %d", rows[i].path, o.status);
        cr_expect_not(o.untouched && o.rc != 0, "%s: it was sent", rows[i].path);
        cr_expect_leq(o.bytes, (size_t)ANSWER_MAX, "%s", rows[i].path);
        o = ask("127.0.0.1", "/ok", 30000);
        cr_expect_eq(o.rc, 0, "after %s: %s", rows[i].path, wopr_err_name(o.rc));
        cr_expect_str_eq(o.body, "ok", "after %s", rows[i].path);
    }
    cr_expect_eq(atomic_load(&elsewhere), 0u, "no redirect is followed");
}

Test(egress_rude, what_is_compressed_stays_so) {
    struct outcome o = ask("127.0.0.1", "/bomb", 30000);
    cr_expect_eq(o.rc, 0);
    cr_expect_eq(o.bytes, 20u, "the bytes that came: %zu", o.bytes);
    cr_expect_eq((unsigned char)o.body[0], 0x1f);
}

/* --- names --- */

Test(egress_rude, a_name_is_judged_by_the_address_that_is_connected_to /* HOOK-17 X1 */) {
    static const char *const hidden[] = {"127.0.0.2",          "[::1]",
                                         "[::ffff:127.0.0.2]", "0.0.0.0",
                                         "10.0.0.1,127.0.0.2", "[64:ff9b::7f00:1]",
                                         "[2002:7f00:1::1]"};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "name-%zu.example",
                       i); /* nothing is kept of the others */
        (void)snprintf(addresses, sizeof addresses, "%s", hidden[i]);
        struct outcome o = ask(name, "/ok", 30000);
        cr_expect_eq(o.rc, WOPR_E_EGRESS_REFUSED, "%s: %s", hidden[i], wopr_err_name(o.rc));
        cr_expect(o.untouched, "%s", hidden[i]);
    }
    cr_expect_eq(atomic_load(&served), 0u);
    (void)snprintf(addresses, sizeof addresses, "127.0.0.1");
    struct outcome o = ask("now-listed.example", "/ok", 30000);
    cr_expect_eq(o.rc, 0, "%s", wopr_err_name(o.rc));
}

Test(egress_rude, an_answer_that_changes_later_is_not_asked_for_between_check_and_connection) {
    (void)snprintf(addresses, sizeof addresses, "127.0.0.1");
    cr_expect_eq(ask("pinned.example", "/ok", 30000).rc, 0);
    (void)snprintf(addresses, sizeof addresses, "127.0.0.2"); /* the name now hides another */
    cr_expect_eq(ask("pinned.example", "/ok", 30000).rc, 0, "what was judged is what is used");
    cr_expect_eq(ask("fresh.example", "/ok", 30000).rc, WOPR_E_EGRESS_REFUSED);
}

Test(egress_rude, proxies_of_the_environment_are_not_used) {
    static const char *const VARIABLES[] = {"http_proxy",  "HTTP_PROXY", "https_proxy",
                                            "HTTPS_PROXY", "all_proxy",  "ALL_PROXY"};
    for (size_t i = 0; i < sizeof VARIABLES / sizeof *VARIABLES; i++)
        setenv(VARIABLES[i], "http://127.0.0.1:1", 1);
    cr_expect_eq(ask("127.0.0.1", "/ok", 30000).rc, 0);
}

/* --- forms of hosts --- */

Test(egress_rude, no_form_of_a_host_hides_a_private_address /* HOOK-16 */) {
    static const char *const bad[] = {"https://0x7f.0.0.1/",
                                      "https://0x7f000001/",
                                      "https://2130706433/",
                                      "https://017700000001/",
                                      "https://127.0.1/",
                                      "https://127.1/",
                                      "https://0/",
                                      "https://[::]/",
                                      "https://[::1]/",
                                      "https://[::ffff:127.0.0.1]/",
                                      "https://[::ffff:7f00:1]/",
                                      "https://[64:ff9b::7f00:1]/",
                                      "https://[64:ff9b::1.1.1.1]/",
                                      "https://[2002:7f00:1::]/",
                                      "https://[2002:a9fe:a9fe::1]/",
                                      "https://[fe80::1%25lo]/",
                                      "https://[fe80::1%lo]/",
                                      "https://127.0.0.1./",
                                      "https://169.254.169.254./",
                                      "https://localhost./",
                                      "https://a.localhost/",
                                      "https://LOCALHOST/",
                                      "https://127.0.0.1:443/",
                                      "https://a@127.0.0.1/",
                                      "https://example.org@127.0.0.1/",
                                      "https://:x@example.org/",
                                      "https://user:pw@example.org/",
                                      "https://example.org:0/",
                                      "https://example.org:80/",
                                      "https://example.org:65536/",
                                      "https://example.org:99999999/",
                                      "https://example.org:-1/",
                                      "https://example.org:4 43/",
                                      "https://127.1./",
                                      "https://0x7f.1./",
                                      "https://",
                                      "https://[::1/",
                                      "http://[::1]/",
                                      "dict://example.org/",
                                      "ftp://example.org/",
                                      "ws://example.org/",
                                      "HTTPS://127.0.0.1/",
                                      "https:\\\\127.0.0.1/",
                                      "https://%31%32%37.0.0.1/",
                                      "https://127.0.0.1\t/",
                                      "https://metadata/",
                                      "https://metadata.google.internal/"};
    static const char *const good[] = {
        "https://example.org",        "https://example.org:443/x",
        "https://example.org./x",     "https://xn--bcher-kva.example/",
        "https://1.1.1.1/",           "https://[2606:4700::1111]/",
        "https://127.0.0.1.example/", "https://example.org/?u=@127.0.0.1"};
    const struct egress_allow none = {.n = 0};
    struct wopr_error err;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_eq(egress_url_check(str_c(bad[i]), &none, &err), WOPR_E_VALIDATION, "%s", bad[i]);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        cr_expect_eq(egress_url_check(str_c(good[i]), &none, &err), 0, "%s: %s", good[i],
                     err.message);
}
