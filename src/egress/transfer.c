/*
 * transfer.c: one outgoing request: its checked copy, and its libcurl handle with the guard in it.
 */
#include "base/mem.h"
#include "base/net.h"
#include "egress/egress_int.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#define HEADER_LINE_MAX (16u * 1024)
#define REQUEST_COST    2048u /* of a request without its texts, here and with its caller */
#define HEADER_COST     64u

void transfer_free(struct transfer *t) {
    if (!t) return;
    if (t->easy) curl_easy_cleanup(t->easy);
    curl_slist_free_all(t->headers);
    curl_slist_free_all(t->resolve);
    curl_slist_free_all(t->connect_to);
    curl_free(t->host);
    curl_free(t->address);
    mem_free(t->peer);
    mem_free(t->tenant);
    mem_free(t->method);
    mem_free(t->url);
    mem_free(t->body);
    buf_fini(&t->answer);
    mem_free(t);
}

static bool token_ok(struct str s) {
    static const char OTHER[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool alnum = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!alnum && (c == '\0' || !strchr(OTHER, c))) return false;
    }
    return s.n > 0;
}

/* Headers of framing and routing, which libcurl sets itself. */
bool transfer_header_ok(struct str name) {
    static const char *const OURS[] = {"host",       "content-length", "transfer-encoding",
                                       "connection", "expect",         "te",
                                       "upgrade",    "trailer",        "proxy-authorization"};
    for (size_t i = 0; i < sizeof OURS / sizeof *OURS; i++)
        if (str_eq_nocase(name, str_c(OURS[i]))) return false;
    return token_ok(name);
}

static int header_add(struct transfer *t, struct str name, struct str value,
                      struct wopr_error *err) {
    if (!transfer_header_ok(name))
        return wopr_error_set(err, WOPR_E_VALIDATION,
                              "a request header has a name that is malformed or not allowed");
    for (size_t i = 0; i < value.n; i++)
        if ((unsigned char)value.p[i] < 0x20 && value.p[i] != '\t')
            return wopr_error_set(err, WOPR_E_VALIDATION,
                                  "a request header has control characters in its value");
    struct buf b;
    buf_init(&b, HEADER_LINE_MAX);
    buf_adds(&b, name);
    buf_addz(&b, value.n > 0 ? ": " : ";"); /* libcurl's spelling of an empty value */
    buf_adds(&b, value);
    bool over = buf_over(&b);
    struct curl_slist *l = buf_failed(&b) ? NULL : curl_slist_append(t->headers, b.p);
    buf_fini(&b);
    if (over) return wopr_error_set(err, WOPR_E_TOO_BIG, "a request header is too long");
    if (!l) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for an outgoing request");
    t->headers = l;
    return 0;
}

static bool method_ok(struct str m) {
    static const char *const KNOWN[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
        if (str_eqc(m, KNOWN[i])) return true;
    return false;
}

/* What the row of the caller allows. */
static int caller_check(struct transfer *t, const struct egress_request *r,
                        struct wopr_error *err) {
    const struct egress_caller_row *row = t->row = egress_caller_row(r->caller);
    if (!row)
        return wopr_error_set(err, WOPR_E_VALIDATION, "the request names no row of callers.def");
    if (r->replaying && row->in_replay == EGRESS_REPLAY_NEVER)
        return wopr_error_set(err, WOPR_E_EGRESS_REFUSED, "a replay sends nothing");
    if (r->timeout_ms < 1 || r->timeout_ms > row->timeout_ms_max)
        return wopr_error_set(err, WOPR_E_VALIDATION, "the timeout is not 1 to %d milliseconds",
                              row->timeout_ms_max);
    if (r->redirects_max > row->redirects_max)
        return wopr_error_set(err, WOPR_E_VALIDATION, "more than %u redirects are asked for",
                              row->redirects_max);
    if (r->headers_nr > EGRESS_HEADERS_MAX || r->body.n > EGRESS_BODY_MAX)
        return wopr_error_set(err, WOPR_E_TOO_BIG,
                              "the request has too many headers or too long a "
                              "body");
    t->caller = r->caller;
    t->timeout_ms = r->timeout_ms;
    t->redirects_left = r->redirects_max;
    t->redirects = r->redirects_max > 0;
    t->chunk = r->chunk;
    t->keep = r->keep;
    t->answer_max = r->response_max > 0 && r->response_max < row->answer_max ? r->response_max
                                                                             : row->answer_max;
    buf_init(&t->answer, t->answer_max);
    return 0;
}

static int transfer_fill(struct transfer *t, const struct egress_request *r,
                         struct wopr_error *err) {
    int rc = egress_url_check(r->url, &t->e->cfg.allow, err);
    if (rc != 0) return rc;
    if (!method_ok(r->method))
        return wopr_error_set(err, WOPR_E_VALIDATION,
                              "the method is none of GET, POST, PUT, PATCH and DELETE");
    rc = caller_check(t, r, err);
    if (rc != 0) return rc;
    for (size_t i = 0; i < r->headers_nr; i++) {
        rc = header_add(t, r->headers[i].name, r->headers[i].value, err);
        if (rc != 0) return rc;
    }
    struct curl_slist *l = curl_slist_append(t->headers, "Expect:"); /* no 100-continue */
    if (l) t->headers = l;
    t->tenant = mem_strndup(r->tenant.n > 0 ? r->tenant.p : "", r->tenant.n);
    t->method = mem_strndup(r->method.p, r->method.n);
    t->url = mem_strndup(r->url.p, r->url.n);
    t->body = mem_strndup(r->body.n > 0 ? r->body.p : "", r->body.n);
    if (!l || !t->tenant || !t->method || !t->url || !t->body || transfer_read_url(t) != 0)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for an outgoing request");
    t->body_n = r->body.n;
    return 0;
}

/* Each text once more with the caller, who can send it again. */
static size_t request_bytes(const struct egress_request *r) {
    size_t n = r->url.n + r->body.n;
    for (size_t i = 0; i < r->headers_nr; i++)
        n += r->headers[i].name.n + r->headers[i].value.n + HEADER_COST;
    return REQUEST_COST + 2 * n;
}

int transfer_new(struct egress *e, const struct egress_request *r, struct transfer **out,
                 struct wopr_error *err) {
    struct transfer *t = MEM_NEW(struct transfer);
    if (!t) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for an outgoing request");
    t->e = e;
    list_init(&t->link);
    list_init(&t->wish_link);
    buf_init(&t->answer, 1);
    int rc = transfer_fill(t, r, err);
    t->bytes = request_bytes(r);
    if (rc == 0) *out = t;
    else transfer_free(t);
    return rc;
}

/* --- on the egress thread --- */

static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *sa) {
    struct transfer *t = ctx;
    bool listed = false;
    if (t->e->proxy && purpose == CURLSOCKTYPE_IPCXN) /* that of the operator, nothing else */
        return net_socket(sa->family, sa->socktype, sa->protocol);
    if (purpose != CURLSOCKTYPE_IPCXN ||
        !egress_address_ok((const struct sockaddr *)&sa->addr, &t->e->cfg.allow, &listed) ||
        (t->special && !listed)) {
        t->refused = true;
        return CURL_SOCKET_BAD;
    }
    return net_socket(sa->family, sa->socktype, sa->protocol);
}

static long status_of(const struct transfer *t) {
    long status = 0;
    (void)curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

bool transfer_redirects(const struct transfer *t) {
    char *to = NULL;
    return t->redirects && status_of(t) / 100 == 3 &&
           curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &to) == CURLE_OK && to;
}

static size_t chunk_offer(struct transfer *t, const char *p, size_t n) {
    enum egress_took took = t->chunk(t->ctx, (int)status_of(t), str_n(p, n));
    if (took == EGRESS_WAIT) return CURL_WRITEFUNC_PAUSE;
    t->stopped = took == EGRESS_STOP;
    t->enough = took == EGRESS_ENOUGH;
    t->taken_n += n;
    return t->stopped || t->enough ? 0 : n;
}

static size_t take_body(char *p, size_t size, size_t n, void *ctx) {
    struct transfer *t = ctx;
    if (transfer_redirects(t)) return 0; /* nobody reads it */
    if (t->chunk) {
        t->too_big = size * n > t->answer_max - t->taken_n;
        return t->too_big ? 0 : chunk_offer(t, p, size * n);
    }
    buf_add(&t->answer, p, size * n);
    if (!buf_failed(&t->answer)) return size * n;
    t->too_big = buf_over(&t->answer);
    t->no_memory = !t->too_big;
    return 0;
}

static bool is_address(const char *host) {
    struct in_addr v4;
    return host[0] == '[' || inet_pton(AF_INET, host, &v4) == 1;
}

/* "host:port" in small letters, whatever its final dot. */
static bool peer_name(struct transfer *t, const char *host) {
    size_t n = strlen(host), out_n = 0;
    struct buf b;
    if (n > 1 && host[n - 1] == '.') n--;
    buf_init(&b, NAME_CHARS_MAX + 16);
    for (size_t i = 0; i < n; i++)
        buf_addc(&b, host[i] >= 'A' && host[i] <= 'Z' ? (char)(host[i] + 32) : host[i]);
    buf_addf(&b, ":%u", t->port);
    mem_free(t->peer);
    t->peer = buf_failed(&b) ? NULL : buf_take(&b, &out_n);
    buf_fini(&b);
    return t->peer != NULL;
}

/* Ask libcurl's own parser: it decides where the request is sent. */
static bool url_parts(struct transfer *t) {
    char *scheme = NULL, *port = NULL;
    uint64_t number = 0;
    CURLU *h = curl_url();
    bool ok = h && curl_url_set(h, CURLUPART_URL, t->url, 0) == CURLUE_OK &&
              curl_url_get(h, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
              curl_url_get(h, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
              curl_url_get(h, CURLUPART_HOST, &t->host, CURLU_PUNYCODE) == CURLUE_OK &&
              str_u64(str_c(port), &number);
    t->special = !ok || strcmp(scheme, "https") != 0 || number != 443;
    t->secure = ok && strcmp(scheme, "https") == 0;
    t->port = (unsigned)number;
    curl_free(scheme);
    curl_free(port);
    curl_url_cleanup(h);
    return ok && strlen(t->host) <= NAME_CHARS_MAX;
}

int transfer_read_url(struct transfer *t) {
    curl_free(t->host);
    curl_free(t->address);
    t->host = t->address = NULL;
    t->once = strcmp(t->method, "POST") == 0 || strcmp(t->method, "PATCH") == 0;
    t->url_rc = url_parts(t) ? 0 : WOPR_E_UNREACHABLE;
    if (!peer_name(t, t->url_rc == 0 ? t->host : "")) return WOPR_E_NO_MEMORY;
    if (t->url_rc != 0 || !is_address(t->host)) return 0;
    t->address = t->host;
    t->host = NULL;
    return 0;
}

/* Give libcurl these addresses, so that it looks nothing up; "+": it forgets them like its own. */
static bool add_addresses(struct transfer *t, const char *host, size_t n, const char *addresses) {
    struct buf b;
    buf_init(&b, NAME_CHARS_MAX + NAME_TEXT_MAX + 16);
    buf_addf(&b, "+%.*s:%u:%s", (int)n, host, t->port, addresses);
    struct curl_slist *l = buf_failed(&b) ? NULL : curl_slist_append(t->resolve, b.p);
    buf_fini(&b);
    if (l) t->resolve = l;
    return l != NULL;
}

/* Add the name with and without its final dot: versions of libcurl differ on which they look up. */
static bool set_addresses(struct transfer *t, const char *addresses) {
    size_t n = strlen(t->host);
    bool ok = add_addresses(t, t->host, n, addresses);
    if (ok && n > 1 && t->host[n - 1] == '.') ok = add_addresses(t, t->host, n - 1, addresses);
    return ok && curl_easy_setopt(t->easy, CURLOPT_RESOLVE, t->resolve) == CURLE_OK;
}

/* One address of a list such as "192.0.2.1,[2001:db8::1]", judged as open_socket judges it. */
static bool address_ok(const struct transfer *t, struct str text) {
    union {
        struct sockaddr sa;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } u;
    char z[INET6_ADDRSTRLEN];
    bool listed = false;
    memset(&u, 0, sizeof u);
    bool six = text.n > 2 && text.p[0] == '[';
    if (six) text = str_n(text.p + 1, text.n - 2);
    if (text.n == 0 || text.n >= sizeof z) return false;
    memcpy(z, text.p, text.n);
    z[text.n] = '\0';
    u.sa.sa_family = six ? AF_INET6 : AF_INET;
    void *at = six ? (void *)&u.v6.sin6_addr : (void *)&u.v4.sin_addr;
    return inet_pton(u.sa.sa_family, z, at) == 1 &&
           egress_address_ok(&u.sa, &t->e->cfg.allow, &listed) && (!t->special || listed);
}

/* Through the proxy: a tunnel to the first address that may be reached, never to a name. */
static bool set_proxy(struct transfer *t, CURL *c, const char *addresses) {
    struct str rest = str_c(addresses ? addresses : t->address), one = STR_NONE;
    struct buf b;
    do {
        if (!str_cut(rest, ',', &one, &rest)) one = rest, rest = STR_NONE;
    } while (!address_ok(t, one) && rest.n > 0);
    t->refused = !address_ok(t, one);
    if (t->refused) return false;
    buf_init(&b, NAME_TEXT_MAX);
    buf_addf(&b, "::" STR_FMT ":%u", STR_ARG(one), t->port);
    t->connect_to = buf_failed(&b) ? NULL : curl_slist_append(NULL, b.p);
    buf_fini(&b);
    const struct egress *e = t->e;
    bool ok = t->connect_to && curl_easy_setopt(c, CURLOPT_CONNECT_TO, t->connect_to) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_HTTPPROXYTUNNEL, 1L) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE) == CURLE_OK;
    if (e->proxy_user) {
        ok = ok && curl_easy_setopt(c, CURLOPT_PROXYUSERPWD, e->proxy_user) == CURLE_OK;
        ok = ok && curl_easy_setopt(c, CURLOPT_PROXYAUTH, (long)CURLAUTH_BASIC) == CURLE_OK;
    }
    return ok;
}

/* Where to, and by whom it is certified; nothing of it comes from the environment. */
static bool set_route(struct transfer *t, CURL *c, const char *addresses) {
    const struct egress *e = t->e;
    bool ok = curl_easy_setopt(c, CURLOPT_PROXY, e->proxy ? e->proxy : "") == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_NOPROXY, "") == CURLE_OK;
    if (e->ca_file) {
        ok = ok && curl_easy_setopt(c, CURLOPT_CAINFO, e->ca_file) == CURLE_OK;
        ok = ok && curl_easy_setopt(c, CURLOPT_CAPATH, NULL) == CURLE_OK;
    }
    if (e->proxy) return ok && set_proxy(t, c, addresses);
    return ok && (!addresses || set_addresses(t, addresses));
}

static bool set_bounds(struct transfer *t, CURL *c, long left_ms) {
    bool ok = curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, left_ms) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)t->e->cfg.connect_timeout_ms) ==
                   CURLE_OK;
    /* Should libcurl look a name up after all, the end of the transfer need not wait for that. */
    return ok && curl_easy_setopt(c, CURLOPT_QUICK_EXIT, 1L) == CURLE_OK;
}

bool transfer_start(struct transfer *t, const char *addresses, long left_ms) {
    CURL *c = t->easy = curl_easy_init();
    bool ok = c && set_route(t, c, addresses) && set_bounds(t, c, left_ms);
    ok = ok && curl_easy_setopt(c, CURLOPT_URL, t->url) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_USERAGENT, t->e->user_agent) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_HTTPHEADER, t->headers) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, open_socket) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, t) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take_body) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_WRITEDATA, t) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_PRIVATE, t) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, t->method) == CURLE_OK;
    if (t->once) { /* libcurl would repeat it when a kept connection dies */
        ok = ok && curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, 1L) == CURLE_OK;
        ok = ok && curl_easy_setopt(c, CURLOPT_FORBID_REUSE, 1L) == CURLE_OK;
    }
    if (t->body_n > 0 || t->once) {
        ok = ok && curl_easy_setopt(c, CURLOPT_POSTFIELDS, t->body) == CURLE_OK;
        ok = ok && curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)t->body_n) == CURLE_OK;
    }
    return ok && curl_multi_add_handle(t->e->multi, c) == CURLM_OK;
}
