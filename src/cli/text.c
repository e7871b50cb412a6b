/*
 * text.c: text from a database or a host, made safe for a terminal.
 *
 * A run, an error message or a reason may hold what controls a terminal: escape sequences, carriage
 * returns, C1 controls, marks that turn the direction of writing.  They are shown as \uXXXX, which
 * in JSON means the same as the bytes they stand for.
 */
#include "cli/cli.h"

enum { TEXT_MAX = 64 * 1024 * 1024, REPLACEMENT = 0xfffd };

static bool turns_direction(uint32_t c) {
    return c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

static bool is_control(uint32_t c) {
    return c < 0x20 || (c >= 0x7f && c <= 0x9f) || turns_direction(c);
}

/* One character at s.p; its bytes, and REPLACEMENT for a byte that begins none. */
static size_t code_point_take(struct str s, uint32_t *out) {
    static const uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)s.p;
    size_t n = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    uint32_t c = n == 1 ? p[0] : p[0] & (0xffu >> (n + 1));
    *out = REPLACEMENT;
    if (n > s.n || (n > 1 && p[0] < 0xc2) || p[0] > 0xf4) return 1;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) return 1;
        c = c << 6 | (p[i] & 0x3f);
    }
    if (c < LEAST[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) return 1;
    *out = c;
    return n;
}

void text_escape(struct buf *out, struct str s, bool lines) {
    while (s.n > 0) {
        uint32_t c;
        size_t n = code_point_take(s, &c);
        bool bad = c == REPLACEMENT && n == 1;
        if (bad || (is_control(c) && !(lines && c == '\n'))) buf_addf(out, "\\u%04x", (unsigned)c);
        else buf_add(out, s.p, n);
        s = str_n(s.p + n, s.n - n);
    }
}

struct str cli_text(struct cli *c, struct str s) {
    struct buf b;
    buf_init(&b, TEXT_MAX);
    text_escape(&b, s, false);
    struct str out = buf_failed(&b) ? STR("?") : arena_str(c->arena, buf_str(&b));
    buf_fini(&b);
    return out.p != NULL ? out : STR("?");
}
