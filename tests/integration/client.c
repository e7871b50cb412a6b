/* client.c: see client.h. */
#include "client.h"
#include "harness.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

uint64_t client_number(const char *env, uint64_t otherwise) {
    const char *text = getenv(env);
    uint64_t v;
    return text != NULL && str_u64(str_c(text), &v) ? v : otherwise;
}

uint64_t client_chance(uint64_t *rng, uint64_t n) {
    *rng ^= *rng >> 12;
    *rng ^= *rng << 25;
    *rng ^= *rng >> 27;
    return (*rng * UINT64_C(2685821657736338717) >> 32) % n;
}

static int dial(int port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

/* The answer as far as it came; the server closes behind it, or dies. */
static size_t read_all(int fd, int wait_ms, char *answer, size_t size) {
    size_t got = 0;
    for (int64_t end = now_ms() + wait_ms; now_ms() < end && got + 1 < size;) {
        struct pollfd p = {fd, POLLIN, 0};
        if (poll(&p, 1, 50) <= 0) continue;
        ssize_t r = read(fd, answer + got, size - 1 - got);
        if (r <= 0) break;
        got += (size_t)r;
    }
    answer[got] = '\0';
    return got;
}

long client_ask(int port, const char *method, const char *path, const char *key, const char *body,
                int wait_ms, char *answer, size_t size, char **out) {
    char head[1024], keyed[256] = "";
    int fd = dial(port);
    if (fd < 0) return 0;
    if (key != NULL) snprintf(keyed, sizeof keyed, "Idempotency-Key: %s\r\n", key);
    int n = snprintf(head, sizeof head,
                     "%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s"
                     "Content-Type: application/json\r\nConnection: close\r\n"
                     "Content-Length: %zu\r\n\r\n%s",
                     method, path, TEST_KEY, keyed, strlen(body), body);
    size_t got = 0;
    if (n > 0 && (size_t)n < sizeof head && send(fd, head, (size_t)n, MSG_NOSIGNAL) == n)
        got = read_all(fd, wait_ms, answer, size);
    close(fd);
    char *cut = got > 12 ? strstr(answer, "\r\n\r\n") : NULL;
    const char *length = cut != NULL ? strstr(answer, "\r\nContent-Length:") : NULL;
    if (length == NULL) return 0;
    *out = cut + 4;
    if (strlen(*out) != strtoul(length + 17, NULL, 10)) return 0;
    return strtol(answer + 9, NULL, 10);
}
