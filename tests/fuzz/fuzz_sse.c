/*
 * fuzz_sse.c: frames of the event-stream format, read back by the rules of its standard (SSE-9).
 *  - a frame decodes to its id, its name and its data, line breaks counting as LF;
 *  - a comment decodes to nothing, whatever its text.
 */
#include "codec/sse.h"

enum { FUZZ_BYTES_MAX = 1 << 14 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct reader { /* the parser of an EventSource */
    struct buf data;
    struct str id, event;
    bool has_data;
    unsigned frames;
};

static void field(struct reader *r, struct str line) {
    struct str name, value;
    if (line.p[0] == ':') return;
    if (!str_cut(line, ':', &name, &value)) name = line, value = STR_NONE;
    if (value.n > 0 && value.p[0] == ' ') value = str_n(value.p + 1, value.n - 1);
    if (str_eqc(name, "id")) r->id = value;
    if (str_eqc(name, "event")) r->event = value;
    if (!str_eqc(name, "data")) return;
    if (r->has_data) buf_addc(&r->data, '\n');
    buf_adds(&r->data, value);
    r->has_data = true;
}

/* A line ends with CR LF, LF or CR. */
static void read_all(struct reader *r, struct str s) {
    for (size_t at = 0; at < s.n;) {
        size_t end = at;
        while (end < s.n && s.p[end] != '\n' && s.p[end] != '\r') end++;
        ASSERT(end < s.n); /* nothing of ours ends amid a line */
        if (end > at) field(r, str_n(s.p + at, end - at));
        else if (r->has_data) r->frames++;
        at = end + (s.p[end] == '\r' && end + 1 < s.n && s.p[end + 1] == '\n' ? 2 : 1);
    }
}

static void add_normal(struct buf *b, struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        bool pair = s.p[i] == '\r' && i + 1 < s.n && s.p[i + 1] == '\n';
        buf_addc(b, s.p[i] == '\r' ? '\n' : s.p[i]);
        if (pair) i++;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len < 8 || len > FUZZ_BYTES_MAX) return 0;
    uint64_t id, got = 0;
    memcpy(&id, data, sizeof id);
    struct str text = str_n((const char *)data + sizeof id, len - sizeof id);
    struct reader r = {.frames = 0};
    struct buf b, want;
    buf_init(&b, FUZZ_BYTES_MAX * 8);
    buf_init(&want, FUZZ_BYTES_MAX * 2);
    buf_init(&r.data, FUZZ_BYTES_MAX * 2);
    sse_frame(&b, id, STR("node.completed"), text);
    ASSERT(!buf_failed(&b));
    read_all(&r, buf_str(&b));
    add_normal(&want, text);
    ASSERT(r.frames == 1 && str_eqc(r.event, "node.completed"));
    ASSERT(str_u64(r.id, &got) && got == id);
    ASSERT(str_eq(buf_str(&r.data), buf_str(&want)));
    buf_fini(&r.data);
    buf_fini(&want);
    buf_fini(&b);
    return 0;
}
