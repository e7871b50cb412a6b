/*
 * fuzz_head.c: request heads (RFC 9112 2 to 6).
 *  - the verdict on a head does not depend on how its bytes are cut into pieces;
 *  - what is accepted, written anew in the plainest form, is accepted and means the same;
 *  - nothing accepted holds a control character, and at most one of length and coding.
 */
#include "base/buf.h"
#include "http/head.h"

enum { FUZZ_BYTES_MAX = 32 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct verdict {
    enum head_seen seen; /* HEAD_BAD also when the whole is refused */
    size_t start, end;
};
static struct http_head head;

static struct verdict judge(struct str in, size_t piece) {
    struct head_scan s = {0};
    struct wopr_error err = {0};
    struct verdict v = {.seen = HEAD_MORE};
    for (size_t at = 0; at < in.n && v.seen == HEAD_MORE;) {
        at = piece < in.n - at ? at + piece : in.n;
        v.seen = head_scan(&s, str_n(in.p, at), &err);
    }
    if (v.seen != HEAD_WHOLE) return v;
    if (head_parse(str_n(in.p + s.start, s.end - s.start), &head, &err) != 0) v.seen = HEAD_BAD;
    else v.start = s.start, v.end = s.end;
    return v;
}

static void write_anew(const struct http_head *h, struct buf *out) {
    buf_adds(out, h->method);
    buf_addc(out, ' ');
    buf_adds(out, h->path);
    if (h->query.p) buf_addc(out, '?');
    buf_adds(out, h->query);
    buf_addf(out, " HTTP/1.%u\r\n", h->minor);
    for (size_t i = 0; i < h->fields_nr; i++) {
        bool host = str_eq_nocase(h->fields[i].name, STR("Host"));
        buf_adds(out, h->fields[i].name);
        buf_addc(out, ':');
        buf_adds(out, host ? h->host : h->fields[i].value);
        buf_addz(out, "\r\n");
    }
    buf_addz(out, "\r\n");
}

static void check_same(const struct http_head *a, const struct http_head *b) {
    ASSERT(str_eq(a->method, b->method) && str_eq(a->path, b->path) && str_eq(a->query, b->query));
    ASSERT(a->minor == b->minor && a->keep_alive == b->keep_alive);
    ASSERT(a->chunked == b->chunked && a->has_length == b->has_length && a->length == b->length);
    ASSERT(a->expects_continue == b->expects_continue && a->fields_nr == b->fields_nr);
    for (size_t i = 0; i < a->fields_nr; i++) ASSERT(str_eq(a->fields[i].name, b->fields[i].name));
}

static void check_accepted(const struct http_head *h) {
    static struct http_head again;
    struct wopr_error err = {0};
    struct buf b;
    ASSERT(!h->chunked || (!h->has_length && h->minor == 1));
    ASSERT(h->minor == 0 || head_host_valid(h->host));
    for (size_t i = 0; i < h->fields_nr; i++) {
        struct str v = h->fields[i].value;
        ASSERT(str_eq(str_trim(v), v));
        for (size_t k = 0; k < v.n; k++) ASSERT((unsigned char)v.p[k] >= 0x20 || v.p[k] == '\t');
    }
    buf_init(&b, 4 * FUZZ_BYTES_MAX);
    write_anew(h, &b);
    ASSERT(head_parse(buf_str(&b), &again, &err) == 0);
    check_same(h, &again);
    buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len == 0 || len > FUZZ_BYTES_MAX) return 0;
    struct str in = str_n((const char *)data, len);
    struct verdict whole = judge(in, len);
    for (size_t piece = 1; piece < 8; piece++) {
        struct verdict v = judge(in, piece);
        ASSERT(v.seen == whole.seen && v.start == whole.start && v.end == whole.end);
    }
    if (whole.seen == HEAD_WHOLE) check_accepted(&head);
    return 0;
}
