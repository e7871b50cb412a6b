/* exchange.c: a hostile head, a marker behind it on the same connection, and who was answered. */
#include "attack.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* Answers that no other request of the list gives. */
static const char MARKER_ANSWER[] = "{\"interrupts\":[", SMUGGLED_ANSWER[] = "{\"runs\":[";

static size_t answers_in(const struct buf *b) {
    size_t n = 0;
    for (const char *p = b->p; p != NULL && (p = strstr(p, "HTTP/1.")) != NULL; p += 9) {
        const bool interim = strncmp(p + 9, "100", 3) == 0;
        const char before = p == b->p ? '\n' : p[-1];
        n += !interim && (before == '\n' || before == '}' || before == '>');
    }
    return n;
}

/* The first that is not interim. */
static int first_status(const struct buf *b) {
    int status = 0;
    for (const char *p = b->p; p != NULL && (p = strstr(p, "HTTP/1.")) != NULL; p += 9)
        if (sscanf(p + 8, " %d", &status) == 1 && status >= 200) return status;
    return 0;
}

static bool closed(int fd) {
    char c;
    struct pollfd p = {fd, POLLIN, 0};
    if (poll(&p, 1, 0) <= 0) return false;
    ssize_t n = recv(fd, &c, 1, MSG_PEEK);
    return n == 0 || (n < 0 && errno != EAGAIN);
}

void head_exchange(int port, int from, const char *key, const struct head *h, int wait_ms,
                   struct seen *out) {
    struct buf text, in;
    *out = (struct seen){0};
    buf_init(&text, 1 << 20);
    buf_init(&in, 1 << 22);
    head_bytes(h, key, &text);
    buf_addf(&text,
             "GET /v1/host/wopr/interrupts HTTP/1.1\r\nHost: attack.test\r\n"
             "Authorization: Bearer %s\r\nConnection: close\r\n\r\n",
             key);
    int fd = net_dial(port, from);
    if (fd >= 0 && (net_send(fd, text.p, text.len) || true)) (void)net_read(fd, &in, wait_ms);
    out->closed = fd >= 0 && closed(fd);
    out->status = first_status(&in);
    out->answers = answers_in(&in);
    struct str all = buf_str(&in);
    out->marker = strstr(all.p, MARKER_ANSWER) != NULL;
    out->smuggled = strstr(all.p, SMUGGLED_ANSWER) != NULL;
    out->proxy = strstr(all.p, "<center>nginx") != NULL;
    net_close(fd, false);
    buf_fini(&text);
    buf_fini(&in);
}
