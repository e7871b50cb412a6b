/*
 * head.c: see head.h.
 */
#include "http/head.h"

#include <arpa/inet.h>

/* tchar of RFC 9110 5.6.2, one bit per character */
static const uint32_t TOKEN[8] = {0, 0x03ff6cfa, 0xc7fffffe, 0x57ffffff, 0, 0, 0, 0};
static bool token_char(char c) {
    unsigned char u = (unsigned char)c;
    return (TOKEN[u >> 5] >> (u & 31) & 1u) != 0;
}

static bool is_token(struct str s) {
    for (size_t i = 0; i < s.n; i++)
        if (!token_char(s.p[i])) return false;
    return s.n > 0;
}

static int head_bad(struct wopr_error *err, const char *why) {
    return wopr_error_set(err, WOPR_E_VALIDATION, "the request head is malformed: %s", why);
}

/* --- the request line --- */

enum { HEAD_LINE_MAX = HEAD_METHOD_MAX + HEAD_TARGET_MAX + sizeof "  HTTP/1.1\r" };

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool port_valid(struct str s) {
    uint64_t n = 0;
    return s.n == 0 || (s.n <= 5 && str_u64(s, &n) && n <= 65535);
}

static bool name_valid(struct str s) {
    static const char OTHERS[] = "-._~!$&'()*+,;=";
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '%') {
            if (i + 2 >= s.n || !is_hex(s.p[i + 1]) || !is_hex(s.p[i + 2])) return false;
            i += 2;
        } else if (!is_digit(c) && !is_alpha(c) && (c == 0 || !strchr(OTHERS, c))) {
            return false;
        }
    }
    return s.n > 0;
}

static bool literal_valid(struct str s) { /* between [ and ] */
    char z[INET6_ADDRSTRLEN];
    struct in6_addr a;
    if (s.n == 0 || s.n >= sizeof z) return false;
    memcpy(z, s.p, s.n);
    z[s.n] = 0;
    return inet_pton(AF_INET6, z, &a) == 1;
}

bool head_host_valid(struct str host) {
    struct str name = host, port = STR_NONE;
    if (host.n > 255) return false;
    if (host.n > 0 && host.p[0] == '[') {
        if (!str_cut(str_n(host.p + 1, host.n - 1), ']', &name, &port)) return false;
        if (port.n > 0 && port.p[0] != ':') return false;
        if (port.n > 0) port = str_n(port.p + 1, port.n - 1);
        return literal_valid(name) && port_valid(port);
    }
    (void)str_cut(host, ':', &name, &port);
    return name_valid(name) && port_valid(port);
}

/* The authority of an absolute target; the remainder is left in *rest. */
static bool cut_authority(struct str target, struct str *authority, struct str *rest) {
    static const struct str SCHEMES[] = {{"http://", 7}, {"https://", 8}};
    for (size_t k = 0; k < 2; k++) {
        size_t n = SCHEMES[k].n, end = n;
        if (target.n < n || !str_eq_nocase(str_n(target.p, n), SCHEMES[k])) continue;
        while (end < target.n && target.p[end] != '/' && target.p[end] != '?') end++;
        *authority = str_n(target.p + n, end - n);
        *rest = str_n(target.p + end, target.n - end);
        return true;
    }
    return false;
}

static int target_take(struct http_head *h, struct str t, struct wopr_error *err) {
    if (t.n > HEAD_TARGET_MAX)
        return wopr_error_set(err, WOPR_E_TARGET_TOO_LONG,
                              "the request target is longer than %d bytes", HEAD_TARGET_MAX);
    for (size_t i = 0; i < t.n; i++)
        if (t.p[i] <= 0x20 || t.p[i] >= 0x7f || t.p[i] == '#')
            return head_bad(err, "the target holds a character that must be percent-encoded");
    if (str_eqc(t, "*") && str_eqc(h->method, "OPTIONS")) {
        h->path = t;
        return 0;
    }
    if (t.n == 0 || t.p[0] != '/') {
        if (!cut_authority(t, &h->host, &t))
            return head_bad(err, "the target is no path and no http or https URL");
        if (!head_host_valid(h->host))
            return head_bad(err, "the target's authority is no host[:port]");
    }
    if (!str_cut(t, '?', &h->path, &h->query)) h->path = t;
    if (h->path.n == 0) h->path = STR("/");
    return 0;
}

static int version_take(struct http_head *h, struct str v, struct wopr_error *err) {
    bool is = v.n == 8 && memcmp(v.p, "HTTP/", 5) == 0 && is_digit(v.p[5]) && v.p[6] == '.' &&
              is_digit(v.p[7]);
    if (!is) return head_bad(err, "the request line does not end in HTTP/1.1");
    if (v.p[5] != '1' || v.p[7] > '1')
        return wopr_error_set(err, WOPR_E_HTTP_VERSION, "send the request as HTTP/1.1 or HTTP/1.0");
    h->minor = (unsigned)(v.p[7] - '0');
    return 0;
}

static int request_line_take(struct http_head *h, struct str line, struct wopr_error *err) {
    struct str rest, target, version;
    if (!str_cut(line, ' ', &h->method, &rest) || !str_cut(rest, ' ', &target, &version))
        return head_bad(err, "the first line is not \"METHOD target HTTP/1.1\"");
    if (!is_token(h->method) || h->method.n > HEAD_METHOD_MAX) {
        h->method = STR_NONE;
        return head_bad(err, "the method is not a token");
    }
    int rc = version_take(h, version, err);
    if (rc != 0) {
        struct wopr_error ignored = {0};
        (void)target_take(h, target, &ignored); /* for the answer */
        return rc;
    }
    return target_take(h, target, err);
}

/* --- fields --- */

static int host_take(struct http_head *h, struct str v, struct wopr_error *err) {
    if (!head_host_valid(v)) return head_bad(err, "Host is no host[:port]");
    if (h->host.n == 0) h->host = v; /* that of an absolute target counts (9112 3.2.2) */
    return 0;
}

static int length_take(struct http_head *h, struct str v, struct wopr_error *err) {
    for (size_t i = 0; i < v.n; i++)
        if (!is_digit(v.p[i])) return head_bad(err, "Content-Length is not one decimal number");
    if (v.n == 0) return head_bad(err, "Content-Length is empty");
    if (!str_u64(v, &h->length) || h->length > INT64_MAX)
        return wopr_error_set(err, WOPR_E_BODY_TOO_LARGE, "Content-Length is out of range");
    h->has_length = true;
    return 0;
}

static int coding_take(struct http_head *h, struct str v, struct wopr_error *err) {
    if (!str_eq_nocase(v, STR("chunked")))
        return wopr_error_set(err, WOPR_E_CODING_UNKNOWN,
                              "the only Transfer-Encoding this host reads is chunked");
    h->chunked = true;
    return 0;
}

static int connection_take(struct http_head *h, struct str v, struct wopr_error *err) {
    (void)err;
    for (struct str part, rest = v; rest.n > 0;) {
        if (!str_cut(rest, ',', &part, &rest)) part = rest, rest = STR_NONE;
        part = str_trim(part);
        if (str_eq_nocase(part, STR("close"))) h->closes = true;
        else if (str_eq_nocase(part, STR("keep-alive"))) h->keep_alive = true;
    }
    return 0;
}

static int expect_take(struct http_head *h, struct str v, struct wopr_error *err) {
    (void)err; /* another expectation may be ignored (9110 10.1.1) */
    if (str_eq_nocase(v, STR("100-continue"))) h->expects_continue = h->minor == 1;
    return 0;
}

/* once: a second one is refused, because another reader might use the other value.  (auth.c refuses
 * a second Authorization, AUTH-2.)  The list covers the fields of all mounts. */
static const struct field_rule {
    struct str name;
    bool once;
    int (*take)(struct http_head *h, struct str v, struct wopr_error *err); /* may be NULL */
} RULES[] = {
    {{"Host", 4}, true, host_take},
    {{"Expect", 6}, false, expect_take},
    {{"Origin", 6}, true, NULL},
    {{"X-Dedup", 7}, true, NULL},
    {{"Connection", 10}, false, connection_take},
    {{"Content-Type", 12}, true, NULL},
    {{"Last-Event-ID", 13}, true, NULL},
    {{"Content-Length", 14}, true, length_take},
    {{"Idempotency-Key", 15}, true, NULL},
    {{"OpenWOP-Version", 15}, true, NULL},
    {{"Transfer-Encoding", 17}, true, coding_take},
    {{"X-Force-Engine-Version", 22}, true, NULL},
};
enum { RULES_NR = sizeof RULES / sizeof RULES[0] };

static int apply_rule(struct http_head *h, const struct head_field *f, unsigned *seen,
                      struct wopr_error *err) {
    for (unsigned i = 0; i < RULES_NR; i++) {
        const struct field_rule *r = &RULES[i];
        if (f->name.n != r->name.n || !str_eq_nocase(f->name, r->name)) continue;
        if (r->once && (*seen >> i & 1u) != 0)
            return wopr_error_set(err, WOPR_E_VALIDATION,
                                  "the request head is malformed: %s must not be sent twice",
                                  r->name.p);
        *seen |= 1u << i;
        return r->take ? r->take(h, f->value, err) : 0;
    }
    return 0;
}

static bool value_valid(struct str v) {
    for (size_t i = 0; i < v.n; i++) {
        unsigned char c = (unsigned char)v.p[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f) return false;
    }
    return true;
}

static int field_take(struct http_head *h, struct str line, unsigned *seen,
                      struct wopr_error *err) {
    struct head_field f;
    if (h->fields_nr == HEAD_FIELDS_MAX || line.n > HEAD_FIELD_MAX)
        return wopr_error_set(err, WOPR_E_HEAD_TOO_LARGE,
                              "more than %d header fields, or one of more than %d bytes",
                              HEAD_FIELDS_MAX, HEAD_FIELD_MAX);
    if (line.p[0] == ' ' || line.p[0] == '\t') return head_bad(err, "a field is folded over lines");
    if (!str_cut(line, ':', &f.name, &f.value)) return head_bad(err, "a field has no colon");
    if (!is_token(f.name)) return head_bad(err, "a field name is not a token");
    if (!value_valid(f.value)) return head_bad(err, "a field value holds a control character");
    f.value = str_trim(f.value);
    int rc = apply_rule(h, &f, seen, err);
    if (rc == 0) h->fields[h->fields_nr++] = f;
    return rc;
}

/* --- all of it --- */

/* The next line without CR LF; false at the end of the text. */
static bool next_line(struct str *text, struct str *line) {
    if (!str_cut(*text, '\n', line, text)) return false;
    if (line->n > 0 && line->p[line->n - 1] == '\r') line->n--;
    return true;
}

static int head_check(const struct http_head *h, bool has_host, struct wopr_error *err) {
    if (h->minor == 1 && !has_host) return head_bad(err, "Host is missing");
    if (!h->chunked) return 0;
    if (h->minor == 0) return head_bad(err, "HTTP/1.0 has no Transfer-Encoding");
    if (h->has_length)
        return head_bad(err, "Content-Length and Transfer-Encoding exclude each other");
    return 0;
}

int head_parse(struct str text, struct http_head *out, struct wopr_error *err) {
    struct str line = STR_NONE;
    unsigned seen = 0;
    bool whole = false;
    memset(out, 0, offsetof(struct http_head, fields));
    if (!next_line(&text, &line)) return head_bad(err, "there is no request line");
    int rc = request_line_take(out, line, err);
    out->keep_alive = out->minor == 1;
    while (rc == 0 && !whole && next_line(&text, &line)) {
        whole = line.n == 0;
        if (!whole) rc = field_take(out, line, &seen, err);
    }
    out->keep_alive &= !out->closes;
    if (rc == 0 && whole) rc = head_check(out, (seen & 1u) != 0, err);
    return rc;
}

static enum head_seen too_long(const struct head_scan *s, struct wopr_error *err) {
    if (s->lines == 0)
        (void)wopr_error_set(err, WOPR_E_TARGET_TOO_LONG,
                             "the request target is longer than %d bytes", HEAD_TARGET_MAX);
    else
        (void)wopr_error_set(err, WOPR_E_HEAD_TOO_LARGE, "the request head is larger than %d bytes",
                             HEAD_BYTES_MAX);
    return HEAD_BAD;
}

/* The line seen[line..lf]. */
static enum head_seen scan_line(struct head_scan *s, struct str seen, size_t lf,
                                struct wopr_error *err) {
    if (lf == s->line || seen.p[lf - 1] != '\r') {
        (void)head_bad(err, "a line does not end in CR LF");
        return HEAD_BAD;
    }
    bool empty = lf == s->line + 1, first = s->line == s->start;
    if (first && lf - s->line > HEAD_LINE_MAX) return too_long(s, err);
    s->line = lf + 1;
    if (!empty) {
        s->lines++;
        return HEAD_MORE;
    }
    s->end = lf + 1;
    if (!first) return HEAD_WHOLE;
    s->start = s->line;
    if (++s->blanks <= HEAD_BLANKS_MAX) return HEAD_MORE;
    (void)head_bad(err, "too many empty lines");
    return HEAD_BAD;
}

/* Judge the first line as soon as it is complete: a client that does not speak HTTP may never send
 * an empty line. */
static enum head_seen scan_first(const struct head_scan *s, struct str seen,
                                 struct wopr_error *err) {
    struct http_head h;
    if (s->lines == 0) {
        if (seen.n == s->start || seen.p[s->start] == '\r' || token_char(seen.p[s->start]))
            return HEAD_MORE;
        (void)head_bad(err, "it does not begin with a method");
        return HEAD_BAD;
    }
    const char *lf = memchr(seen.p + s->start, '\n', seen.n - s->start);
    struct str line = str_n(seen.p + s->start, (size_t)(lf - seen.p) + 1 - s->start);
    return head_parse(line, &h, err) != 0 ? HEAD_BAD : HEAD_MORE;
}

enum head_seen head_scan(struct head_scan *s, struct str seen, struct wopr_error *err) {
    unsigned before = s->lines;
    while (s->at < seen.n) {
        const char *lf = memchr(seen.p + s->at, '\n', seen.n - s->at);
        if (!lf) break;
        s->at = (size_t)(lf - seen.p) + 1;
        enum head_seen is = scan_line(s, seen, s->at - 1, err);
        if (is == HEAD_WHOLE && s->end - s->start > HEAD_BYTES_MAX) return too_long(s, err);
        if (is != HEAD_MORE) return is;
    }
    s->at = seen.n;
    size_t max = s->lines == 0 ? HEAD_LINE_MAX : HEAD_BYTES_MAX;
    if (seen.n - s->start > max) return too_long(s, err);
    return before > 0 ? HEAD_MORE : scan_first(s, seen, err);
}
