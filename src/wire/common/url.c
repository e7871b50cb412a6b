/*
 * url.c: which callback URLs a host takes.
 *
 * libcurl's parser will not do: it repairs what must be refused here (one slash, blanks, a missing
 * scheme), and curl.h belongs to egress.
 */
#include "wire/common/url.h"

/* *rest: the text after "https://" or "http://"; schemes ignore case (RFC 3986 3.1). */
static bool scheme_skip(struct str url, struct str *rest) {
    static const char *const SCHEMES[] = {"https://", "http://"};
    for (size_t i = 0; i < sizeof SCHEMES / sizeof SCHEMES[0]; i++) {
        size_t n = strlen(SCHEMES[i]);
        if (url.n < n || !str_eq_nocase(str_n(url.p, n), str_c(SCHEMES[i]))) continue;
        *rest = str_n(url.p + n, url.n - n);
        return true;
    }
    return false;
}

/* host[:port]; the colons of an IPv6 address stand in brackets.  No user information. */
static bool authority_valid(struct str s) {
    struct str port = STR_NONE, host = s;
    uint64_t number = 0;
    size_t from = 0;
    if (memchr(s.p, '@', s.n)) return false;
    if (s.p[0] == '[') {
        const char *end = memchr(s.p, ']', s.n);
        if (!end) return false;
        from = (size_t)(end - s.p) + 1;
        if (from < s.n && s.p[from] != ':') return false;
    }
    const char *colon = memchr(s.p + from, ':', s.n - from);
    if (colon) {
        host = str_n(s.p, (size_t)(colon - s.p));
        port = str_n(colon + 1, s.n - host.n - 1);
    }
    return host.n > 0 &&
           (port.n == 0 || (str_u64(port, &number) && number > 0 && number <= UINT16_MAX));
}

bool wire_callback_url_valid(struct str url) {
    struct str rest;
    if (url.n > WIRE_URL_BYTES || !scheme_skip(url, &rest)) return false;
    size_t host = 0;
    while (host < rest.n && !memchr("/?#", rest.p[host], 3)) host++;
    if (host == 0 || !authority_valid(str_n(rest.p, host))) return false;
    for (size_t i = 0; i < rest.n; i++)
        if (rest.p[i] <= 0x20 || rest.p[i] >= 0x7f || memchr("\"<>\\^`{|}", rest.p[i], 9))
            return false;
    return true;
}
