/*
 * test_sse_reader.c: events out of the bytes of an event stream, however they are cut.
 */
#include "base/fault.h"
#include "codec/sse.h"
#include "codec/sse_reader.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#define EVENT_MAX 4096u

static void event_note(const struct sse_event *e, struct buf *out) {
    buf_addf(out, "[" STR_FMT "|", STR_ARG(e->event));
    buf_adds(out, e->data);
    buf_addf(out, "|" STR_FMT "]", STR_ARG(e->id));
}

/* All events of text, given in pieces of at most step bytes (0: random ones), as "[name|data|id]".
 */
static int read_pieces(struct str text, size_t step, size_t event_max, struct buf *out) {
    struct sse_reader r;
    struct sse_event e;
    int rc = 0;
    sse_reader_init(&r, event_max);
    while (rc >= 0 && text.n > 0) {
        size_t n = step > 0 ? step : 1 + (size_t)rand() % 7;
        if (n > text.n) n = text.n;
        struct str piece = str_n(text.p, n);
        while ((rc = sse_reader_next(&r, &piece, &e)) == 1) event_note(&e, out);
        text = str_n(text.p + n, text.n - n);
    }
    sse_reader_fini(&r);
    return rc;
}

static void reads_as(struct str text, const char *want) {
    for (size_t step = 1; step <= text.n; step++) {
        struct buf b;
        buf_init(&b, 1 << 16);
        cr_assert_eq(read_pieces(text, step, EVENT_MAX, &b), 0);
        cr_assert(str_eqc(buf_str(&b), want), "in pieces of %zu: " STR_FMT, step,
                  STR_ARG(buf_str(&b)));
        buf_fini(&b);
    }
}

Test(sse_reader, every_line_end_and_every_field_in_pieces_of_any_size) {
    reads_as(STR("data: a\n\n"), "[message|a|]");
    reads_as(STR("data:a\r\n\r\ndata:  b\r\rdata\n\n"), "[message|a|][message| b|][message||]");
    reads_as(STR("event: x\nid: 7\ndata: a\ndata: b\n\ndata: c\n\n"), "[x|a\nb|7][message|c|7]");
    reads_as(STR("\xef\xbb\xbf"
                 "data: a\n\n"),
             "[message|a|]");
    reads_as(STR("\xef\xbb"
                 "data: a\ndata: b\n\n"),
             "[message|b|]");
    reads_as(STR(": keep-alive\n\n:\n\nretry: 10\nother: x\ndatax: y\n\ndata: a:b: c\n\n"),
             "[message|a:b: c|]");
    reads_as(STR("event: lost\n\ndata: a\n\n"), "[message|a|]");
    reads_as(STR("id: 1\0002\nid: 3\nid\ndata: a\n\n"), "[message|a|]");
    reads_as(STR("data: cut off\n"), "");
    reads_as(STR("data: cut off"), "");
    reads_as(STR("\n\n\r\n\r"), "");
}

Test(sse_reader, the_time_to_reconnect_is_told) {
    struct sse_reader r;
    struct sse_event e;
    struct str text = STR("retry: 1500\nretry: -1\nretry: x\nretry: 99999999999999999999\n\n");
    sse_reader_init(&r, EVENT_MAX);
    cr_assert_eq(sse_reader_next(&r, &text, &e), 0);
    cr_assert_eq(r.retry_ms, 1500);
    sse_reader_fini(&r);
}

static int read_all(struct buf *text, size_t step, size_t event_max) {
    struct buf out;
    buf_init(&out, 1 << 20);
    cr_assert_not(buf_failed(text));
    int rc = read_pieces(buf_str(text), step, event_max, &out);
    buf_fini(&out);
    return rc;
}

/* One event may have as many bytes as the maximum, of any number of lines; comments cost nothing.
 */
Test(sse_reader, an_event_is_bounded_by_its_bytes_and_a_comment_is_not_kept) {
    for (size_t step = 1; step < 3000; step += 997) {
        struct buf b;
        buf_init(&b, 1 << 20);
        buf_addz(&b, "data: ");
        for (size_t i = 0; i < 1000; i++) buf_addc(&b, 'x');
        buf_addz(&b, "\n\n");
        cr_assert_eq(read_all(&b, step, 1000), 0);
        cr_assert_eq(read_all(&b, step, 999), WOPR_E_TOO_BIG);
        buf_reset(&b);
        for (size_t i = 0; i < 500; i++) buf_addz(&b, "data:\n"); /* an LF each */
        buf_addz(&b, "\n");
        cr_assert_eq(read_all(&b, step, 499), 0);
        cr_assert_eq(read_all(&b, step, 498), WOPR_E_TOO_BIG);
        buf_reset(&b);
        buf_addc(&b, ':');
        for (size_t i = 0; i < 100000; i++) buf_addc(&b, 'x');
        buf_addz(&b, "\ndata: a\n\n");
        cr_assert_eq(read_all(&b, step, 64), 0);
        buf_reset(&b);
        buf_addz(&b, "unknown: ");
        for (size_t i = 0; i < 2000; i++) buf_addc(&b, 'x'); /* a line that never ends */
        cr_assert_eq(read_all(&b, step, 1000), WOPR_E_TOO_BIG);
        buf_reset(&b);
        buf_addz(&b, "event: ");
        for (size_t i = 0; i <= SSE_WORD_MAX; i++) buf_addc(&b, 'x');
        buf_addz(&b, "\n");
        cr_assert_eq(read_all(&b, step, 1 << 16), WOPR_E_TOO_BIG);
        buf_fini(&b);
    }
}

Test(sse_reader, a_failure_sticks) {
    struct sse_reader r;
    struct sse_event e;
    struct str text = STR("data: too long\n\ndata: a\n\n"), more = STR("data: a\n\n");
    sse_reader_init(&r, 4);
    cr_assert_eq(sse_reader_next(&r, &text, &e), WOPR_E_TOO_BIG);
    cr_assert_eq(sse_reader_next(&r, &text, &e), WOPR_E_TOO_BIG);
    cr_assert_eq(sse_reader_next(&r, &more, &e), WOPR_E_TOO_BIG);
    sse_reader_fini(&r);
}

Test(sse_reader, each_allocation_may_fail) {
    struct str text = STR("id: 7\nevent: x\ndata: abc\ndata: def\n\ndata: g\n\n");
    for (unsigned n = 1; fault_arm(1u << FAULT_MALLOC, n); n++) {
        char room[256]; /* what the test itself notes takes no memory */
        size_t events = 0;
        struct sse_reader r;
        struct sse_event e;
        struct str left = text;
        int rc;
        sse_reader_init(&r, EVENT_MAX);
        while ((rc = sse_reader_next(&r, &left, &e)) == 1) {
            snprintf(room, sizeof room, STR_FMT, STR_ARG(e.data));
            cr_assert_str_eq(room, events++ == 0 ? "abc\ndef" : "g");
        }
        cr_assert(fault_fired() ? rc == WOPR_E_NO_MEMORY : rc == 0 && events == 2);
        sse_reader_fini(&r);
    }
    fault_disarm();
}

static void random_event(struct buf *text, struct buf *want, uint64_t id) {
    static const char ALPHABET[] = "ab:\n {}\"\\0 data";
    struct buf data;
    buf_init(&data, EVENT_MAX);
    for (size_t n = (size_t)rand() % 60; n > 0; n--)
        buf_addc(&data, ALPHABET[(size_t)rand() % (sizeof ALPHABET - 1)]);
    if (rand() % 3 == 0) buf_addz(text, rand() % 2 ? ": a comment\r\n" : ":\n\n");
    sse_frame(text, id, STR("word"), buf_str(&data));
    buf_addf(want, "[word|" STR_FMT "|%llu]", STR_ARG(buf_str(&data)), (unsigned long long)id);
    buf_fini(&data);
}

Test(sse_reader, what_our_writer_frames_is_read_back_from_random_pieces) {
    const char *given = getenv("WOPR_SEED");
    unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : 20261123u;
    srand(seed);
    for (size_t round = 0; round < 2000; round++) {
        struct buf text, want, got;
        buf_init(&text, 1 << 20);
        buf_init(&want, 1 << 20);
        buf_init(&got, 1 << 20);
        for (uint64_t id = 1 + (uint64_t)rand() % 5; id > 0; id--) random_event(&text, &want, id);
        cr_assert_eq(read_pieces(buf_str(&text), 0, EVENT_MAX, &got), 0);
        cr_assert(str_eq(buf_str(&got), buf_str(&want)), "seed %u round %zu\n" STR_FMT "\n" STR_FMT,
                  seed, round, STR_ARG(buf_str(&got)), STR_ARG(buf_str(&want)));
        buf_fini(&text);
        buf_fini(&want);
        buf_fini(&got);
    }
}
