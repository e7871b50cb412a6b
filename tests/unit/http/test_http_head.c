/*
 * test_http_head.c: the grammar of heads and of chunked bodies, as tables; every row whole and byte
 * by byte.
 */
#include "http/chunk.h"
#include "http/head.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
    const char *what, *text;
    size_t n;
    int status;
} HEADS[] = {
#define HEAD_ROW(what, text, status) {what, text, sizeof(text) - 1, status},
#include "heads.def"
#undef HEAD_ROW
};
enum { HEADS_NR = sizeof HEADS / sizeof HEADS[0] };

static int status_of(int code) {
    static const int CODES[][2] = {{0, 0},
                                   {WOPR_E_VALIDATION, 400},
                                   {WOPR_E_BODY_TOO_LARGE, 413},
                                   {WOPR_E_TARGET_TOO_LONG, 414},
                                   {WOPR_E_HEAD_TOO_LARGE, 431},
                                   {WOPR_E_CODING_UNKNOWN, 501},
                                   {WOPR_E_HTTP_VERSION, 505}};
    for (size_t i = 0; i < sizeof CODES / sizeof CODES[0]; i++)
        if (CODES[i][0] == code) return CODES[i][1];
    return -1;
}

/* The verdict on text that comes in pieces; -1: more is needed. */
static int judge(const char *text, size_t n, size_t piece, struct http_head *h) {
    struct head_scan s = {0};
    struct wopr_error err = {0};
    for (size_t at = 0; at < n;) {
        at = at + piece < n ? at + piece : n;
        char *exact = malloc(at); /* a read past it shows under ASan */
        memcpy(exact, text, at);
        enum head_seen is = head_scan(&s, str_n(exact, at), &err);
        free(exact);
        if (is == HEAD_BAD) return status_of(err.code);
        if (is == HEAD_WHOLE)
            return status_of(head_parse(str_n(text + s.start, s.end - s.start), h, &err));
    }
    return -1;
}

Test(http_head, every_row_of_the_table_gets_its_verdict_however_it_is_cut) {
    struct http_head h;
    for (size_t i = 0; i < HEADS_NR; i++)
        for (size_t piece = 1; piece <= HEADS[i].n; piece += piece < 5 ? 1 : 7) {
            int got = judge(HEADS[i].text, HEADS[i].n, piece, &h);
            cr_expect_eq(got, HEADS[i].status, "%s in pieces of %zu: %d", HEADS[i].what, piece,
                         got);
        }
}

Test(http_head, what_a_request_says_is_read) {
    struct http_head h;
    static const char TEXT[] = "POST http://A.example:81/v1/a%20b?q=1&r HTTP/1.1\r\nhost: other\r\n"
                               "ACCEPT: a\r\nX-Dedup: enforce \t\r\nContent-Length: 012\r\n"
                               "Expect: 100-Continue\r\nConnection: x, CLOSE\r\n\r\n";
    cr_assert_eq(judge(TEXT, sizeof TEXT - 1, sizeof TEXT, &h), 0);
    cr_expect(str_eqc(h.method, "POST"));
    cr_expect(str_eqc(h.path, "/v1/a%20b"));
    cr_expect(str_eqc(h.query, "q=1&r"));
    cr_expect(str_eqc(h.host, "A.example:81"), "the target's authority wins (RFC 9112 3.2.2)");
    cr_expect_eq(h.length, 12u);
    cr_expect(h.expects_continue && !h.keep_alive && !h.chunked && h.minor == 1);
    cr_assert_eq(h.fields_nr, 6u);
    cr_expect(str_eqc(h.fields[2].value, "enforce"), "without the blanks around it");
    static const char OLD[] = "OPTIONS * HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n";
    cr_assert_eq(judge(OLD, sizeof OLD - 1, sizeof OLD, &h), 0);
    cr_expect(str_eqc(h.path, "*") && h.keep_alive && h.minor == 0 && !h.expects_continue);
    static const char BARE[] = "GET http://h?x HTTP/1.1\r\nHost: h\r\n\r\n";
    cr_assert_eq(judge(BARE, sizeof BARE - 1, sizeof BARE, &h), 0);
    cr_expect(str_eqc(h.path, "/") && str_eqc(h.query, "x"));
}

static int judge_long(size_t target, size_t fields, size_t bytes, size_t piece) {
    static char text[64 * 1024];
    struct http_head h;
    size_t n = (size_t)snprintf(text, sizeof text, "GET /%0*d HTTP/1.1\r\nHost: x\r\n",
                                (int)target - 1, 0);
    for (size_t i = 0; i < fields; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "X-%zu: %0*d\r\n", i, (int)bytes, 0);
    n += (size_t)snprintf(text + n, sizeof text - n, "\r\n");
    return judge(text, n, piece, &h);
}

Test(http_head, bounds_are_exact) {
    static const size_t PIECES[] = {1000, 65536};
    for (size_t i = 0; i < 2; i++) {
        cr_expect_eq(judge_long(HEAD_TARGET_MAX, 0, 0, PIECES[i]), 0);
        cr_expect_eq(judge_long(HEAD_TARGET_MAX + 1, 0, 0, PIECES[i]), 414);
        cr_expect_eq(judge_long(20000, 0, 0, PIECES[i]), 414);
        cr_expect_eq(judge_long(10, HEAD_FIELDS_MAX - 1, 5, PIECES[i]), 0);
        cr_expect_eq(judge_long(10, HEAD_FIELDS_MAX, 5, PIECES[i]), 431);
        cr_expect_eq(judge_long(10, 1, HEAD_FIELD_MAX - 5, PIECES[i]), 0);
        cr_expect_eq(judge_long(10, 1, HEAD_FIELD_MAX, PIECES[i]), 431);
        cr_expect_eq(judge_long(10, 4, 4000, PIECES[i]), 0);
        cr_expect_eq(judge_long(10, 5, 4000, PIECES[i]), 431);
    }
}

/* --- chunked bodies --- */

static const struct {
    const char *text;
    const char *body; /* NULL: malformed */
    const char *rest;
} CHUNKED[] = {
    {"0\r\n\r\n", "", ""},
    {"3\r\nabc\r\n0\r\n\r\n", "abc", ""},
    {"3\r\nabc\r\n0\r\n\r\nGET /", "abc", "GET /"},
    {"00A\r\n0123456789\r\n1\r\nx\r\n0\r\n\r\n", "0123456789x", ""},
    {"3;a=b;c=\"d e\"\r\nabc\r\n0;last\r\n\r\n", "abc", ""},
    {"1\r\nx\r\n000\r\nTrailer-A: b\r\nC:\r\n\r\nrest", "x", "rest"},
    {"\r\n", NULL, NULL},
    {"g\r\n", NULL, NULL},
    {"-1\r\n", NULL, NULL},
    {"0x1\r\nx\r\n", NULL, NULL},
    {" 1\r\nx\r\n", NULL, NULL},
    {"1 \r\nx\r\n", NULL, NULL},
    {"1\nx\n0\n\n", NULL, NULL},
    {"1\r\nx\n0\r\n\r\n", NULL, NULL},
    {"1\r\nxy\r\n0\r\n\r\n", NULL, NULL},
    {"1;a\nb\r\nx\r\n0\r\n\r\n", NULL, NULL},
    {"1;a\rb\r\nx\r\n0\r\n\r\n", NULL, NULL},
    {"1\rx\r\n0\r\n\r\n", NULL, NULL},
    {"1000000000000000\r\n", NULL, NULL},
    {"0\r\n folded\r\n\r\n", NULL, NULL},
    {"0\r\nno colon\r\n\r\n", NULL, NULL},
    {"0\r\n: empty\r\n\r\n", NULL, NULL},
    {"0\r\nA: b\nC: d\r\n\r\n", NULL, NULL},
    {"0\r\nA : b\r\n\r\n", NULL, NULL},
    {"0\r\n\rx", NULL, NULL},
};

static void read_chunks(size_t row, size_t piece) {
    struct chunk_reader r = {0};
    char body[64];
    size_t body_n = 0, n = strlen(CHUNKED[row].text), at = 0;
    enum chunk_seen is = CHUNK_MORE;
    while (at < n && is == CHUNK_MORE) {
        size_t take = piece < n - at ? piece : n - at;
        struct str in = str_n(CHUNKED[row].text + at, take), data;
        while ((is = chunk_take(&r, &in, &data)) == CHUNK_DATA) {
            memcpy(body + body_n, data.p, data.n);
            body_n += data.n;
        }
        at += take - (is == CHUNK_LAST ? in.n : 0);
    }
    const char *want = CHUNKED[row].body;
    cr_assert_eq(is, want ? CHUNK_LAST : CHUNK_BAD, "row %zu in pieces of %zu", row, piece);
    if (!want) return;
    cr_expect(str_eq(str_n(body, body_n), str_c(want)), "row %zu", row);
    cr_expect_str_eq(CHUNKED[row].text + at, CHUNKED[row].rest, "row %zu", row);
}

Test(http_head, chunked_bodies_are_read_byte_for_byte) {
    for (size_t i = 0; i < sizeof CHUNKED / sizeof CHUNKED[0]; i++)
        for (size_t piece = 1; piece <= strlen(CHUNKED[i].text); piece++) read_chunks(i, piece);
}

Test(http_head, what_a_chunk_carries_beside_its_data_is_bounded) {
    for (int trailer = 0; trailer < 2; trailer++) {
        struct chunk_reader r = {0};
        struct str data, in = trailer ? STR("0\r\nA:") : STR("1;");
        cr_assert_eq(chunk_take(&r, &in, &data), CHUNK_MORE);
        int max = trailer ? CHUNK_TRAILERS_MAX : CHUNK_EXTENSION_MAX, i = 0;
        for (; i <= max; i++) {
            in = STR("x");
            if (chunk_take(&r, &in, &data) == CHUNK_BAD) break;
        }
        cr_expect_leq(i, max);
    }
}
