/*
 * sse_reader.c: events out of the bytes of an event stream (WHATWG HTML 9.2.6).
 */
#include "codec/sse_reader.h"

#define FIELD_NAME_ROOM 16 /* "event: " and its like, before a value of the maximum */

void sse_reader_init(struct sse_reader *r, size_t event_max) {
    *r = (struct sse_reader){.max = event_max, .retry_ms = -1};
    buf_init(&r->line, event_max + FIELD_NAME_ROOM);
    buf_init(&r->data, event_max + 1); /* the LF behind its last line */
    buf_init(&r->event, SSE_WORD_MAX);
    buf_init(&r->id, SSE_WORD_MAX);
}

void sse_reader_fini(struct sse_reader *r) {
    buf_fini(&r->line);
    buf_fini(&r->data);
    buf_fini(&r->event);
    buf_fini(&r->id);
}

static void word_set(struct buf *b, struct str value) {
    buf_reset(b);
    buf_adds(b, value);
}

static void field_take(struct sse_reader *r, struct str line) {
    struct str name, value;
    int64_t ms;
    if (!str_cut(line, ':', &name, &value)) name = line, value = STR_NONE;
    if (value.n > 0 && value.p[0] == ' ') value = str_n(value.p + 1, value.n - 1);
    if (str_eqc(name, "data")) {
        buf_adds(&r->data, value);
        buf_addc(&r->data, '\n');
        r->has_data = true;
    } else if (str_eqc(name, "event")) {
        word_set(&r->event, value);
    } else if (str_eqc(name, "id")) {
        if (value.n == 0 || !memchr(value.p, '\0', value.n)) word_set(&r->id, value);
    } else if (str_eqc(name, "retry") && value.n > 0 && value.p[0] != '-') {
        if (str_i64(value, &ms)) r->retry_ms = ms;
    }
}

/* true: a blank line ended an event. */
static bool line_take(struct sse_reader *r) {
    bool blank = r->line.len == 0 && !r->comment, whole = blank && r->has_data;
    if (!blank && !r->comment) field_take(r, buf_str(&r->line));
    if (blank && !whole) buf_reset(&r->event); /* an event without data is none */
    r->comment = false;
    buf_reset(&r->line);
    return whole;
}

/* Up to a line's end, which is not taken. */
static size_t piece_length(struct str s) {
    size_t n = 0;
    while (n < s.n && s.p[n] != '\n' && s.p[n] != '\r') n++;
    return n;
}

static void piece_take(struct sse_reader *r, struct str piece) {
    if (r->line.len == 0 && !r->comment && piece.n > 0) r->comment = piece.p[0] == ':';
    if (!r->comment) buf_adds(&r->line, piece); /* a comment is dropped, however long */
}

static bool reader_failed(struct sse_reader *r) {
    const struct buf *all[] = {&r->line, &r->data, &r->event, &r->id};
    for (size_t i = 0; r->rc == 0 && i < sizeof all / sizeof *all; i++)
        if (buf_failed(all[i])) r->rc = buf_over(all[i]) ? WOPR_E_TOO_BIG : WOPR_E_NO_MEMORY;
    return r->rc != 0;
}

static struct str sse_reader_advanced(struct str s, size_t n) { return str_n(s.p + n, s.n - n); }

/* The byte order mark that a stream may begin with; anything else that begins like it is text. */
static void bom_take(struct sse_reader *r, struct str *bytes) {
    static const char BOM[] = "\xef\xbb\xbf";
    while (r->bom < 3 && bytes->n > 0) {
        if (bytes->p[0] != BOM[r->bom]) {
            buf_add(&r->line, BOM, r->bom);
            r->bom = 3;
            return;
        }
        r->bom++;
        *bytes = sse_reader_advanced(*bytes, 1);
    }
}

static void event_forget(struct sse_reader *r) {
    if (!r->given) return;
    r->given = r->has_data = false;
    buf_reset(&r->data);
    buf_reset(&r->event);
}

int sse_reader_next(struct sse_reader *r, struct str *bytes, struct sse_event *out) {
    event_forget(r);
    bom_take(r, bytes);
    while (r->rc == 0 && bytes->n > 0) {
        bool lf_of_crlf = r->after_cr && bytes->p[0] == '\n';
        r->after_cr = false;
        if (lf_of_crlf) {
            *bytes = sse_reader_advanced(*bytes, 1);
            continue;
        }
        size_t n = piece_length(*bytes);
        piece_take(r, str_n(bytes->p, n));
        *bytes = sse_reader_advanced(*bytes, n);
        if (reader_failed(r) || bytes->n == 0) break;
        r->after_cr = bytes->p[0] == '\r';
        *bytes = sse_reader_advanced(*bytes, 1);
        bool whole = line_take(r);
        if (reader_failed(r) || !whole) continue;
        r->given = true;
        *out = (struct sse_event){.event = r->event.len > 0 ? buf_str(&r->event) : STR("message"),
                                  .data = str_n(r->data.p, r->data.len - 1),
                                  .id = buf_str(&r->id)};
        return 1;
    }
    return r->rc;
}
