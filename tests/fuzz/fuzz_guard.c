/*
 * fuzz_guard.c: properties of the guard of outgoing requests (HOOK-16, HOOK-17).  Input: an allow
 * list, a NUL, a URL.
 *  - a list is refused, or adds at most EGRESS_ALLOW_MAX blocks of at most 128 bits, each of which
 *    holds its own address;
 *  - a URL is accepted or refused with VALIDATION, and an error never repeats its text;
 *  - with an empty list an accepted URL is https without user information, and its host, if it is a
 *    dotted IPv4 address, one that a socket may be opened to.
 */
#include "egress/egress.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FUZZ_BYTES_MAX = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_list(struct str list, struct egress_allow *allow) {
    struct wopr_error err = {0};
    int rc = egress_allow_parse(list, allow, &err);
    ASSERT(rc == 0 || rc == WOPR_E_CONFIG);
    ASSERT(allow->n <= EGRESS_ALLOW_MAX);
    for (size_t i = 0; i < allow->n; i++) {
        ASSERT(allow->v[i].bits <= 128);
        ASSERT(egress_allow_has(allow, allow->v[i].addr));
    }
}

/* An IPv4 literal in the place of the host: no socket may be opened to a refused one. */
static void check_literal(struct str url) {
    static const struct egress_allow none;
    char host[64];
    bool listed;
    struct sockaddr_in in = {.sin_family = AF_INET};
    const char *p = url.p + strlen("https://");
    size_t n = strcspn(p, "/?#:");
    if (n == 0 || n >= sizeof host) return;
    snprintf(host, sizeof host, "%.*s", (int)n, p);
    if (inet_pton(AF_INET, host, &in.sin_addr) != 1) return;
    ASSERT(egress_address_ok((const struct sockaddr *)&in, &none, &listed) && !listed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    static const struct egress_allow none;
    struct egress_allow allow = {.n = 0};
    struct wopr_error err = {0};
    if (len > FUZZ_BYTES_MAX) return 0;
    const char *text = (const char *)data, *nul = len > 0 ? memchr(text, 0, len) : NULL;
    struct str list = str_n(text, nul ? (size_t)(nul - text) : len), url = STR("");
    if (nul) url = str_n(nul + 1, len - list.n - 1);
    check_list(list, &allow);
    int rc = egress_url_check(url, &allow, &err);
    ASSERT(rc == 0 || rc == WOPR_E_VALIDATION || rc == WOPR_E_NO_MEMORY);
    rc = egress_url_check(url, &none, &err);
    if (rc != 0) return 0;
    char *copy = strndup(url.p, url.n);
    ASSERT(copy && strlen(copy) == url.n);
    ASSERT(strncasecmp(copy, "https:", 6) == 0);
    if (strncasecmp(copy, "https://", 8) == 0) {
        ASSERT(memchr(copy + 8, '@', strcspn(copy + 8, "/?#")) == NULL);
        check_literal(str_c(copy));
    }
    free(copy);
    return 0;
}
