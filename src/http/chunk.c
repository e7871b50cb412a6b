/*
 * chunk.c: see chunk.h.
 */
#include "http/chunk.h"

enum state {
    AT_SIZE,
    AT_EXTENSION,
    AT_SIZE_LF,
    AT_DATA,
    AT_DATA_CR,
    AT_DATA_LF,
    AT_TRAILER, /* first byte of a line */
    IN_TRAILER,
    AT_TRAILER_LF,
    AT_LAST_LF,
    AFTER
};

static int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static bool text_char(char c) { return (unsigned char)c >= 0x20 ? c != 0x7f : c == '\t'; }

static bool name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool size_byte(struct chunk_reader *r, char c) {
    int v = hex_value(c);
    if (v >= 0) {
        r->left = r->left * 16 + (unsigned)v;
        return ++r->digits <= CHUNK_DIGITS_MAX;
    }
    r->bytes = 0;
    r->state = c == ';' ? AT_EXTENSION : AT_SIZE_LF;
    return r->digits > 0 && (c == ';' || c == '\r');
}

static bool extension_byte(struct chunk_reader *r, char c) {
    if (c == '\r') r->state = AT_SIZE_LF;
    return c == '\r' || (text_char(c) && ++r->bytes <= CHUNK_EXTENSION_MAX);
}

static bool size_end(struct chunk_reader *r, char c) {
    r->state = r->left > 0 ? AT_DATA : AT_TRAILER;
    r->bytes = r->digits = 0;
    return c == '\n';
}

static bool trailer_byte(struct chunk_reader *r, char c) {
    if (r->state == AT_TRAILER) {
        r->named = false;
        r->state = c == '\r' ? AT_LAST_LF : IN_TRAILER;
        if (c == '\r') return true;
        if (!name_char(c)) return false;
    }
    if (++r->bytes > CHUNK_TRAILERS_MAX) return false;
    if (r->named) {
        if (c == '\r') r->state = AT_TRAILER_LF;
        return c == '\r' || text_char(c);
    }
    r->named = c == ':';
    return r->named || name_char(c);
}

/* One byte that is not data; false: malformed. */
static bool frame_byte(struct chunk_reader *r, char c) {
    switch (r->state) {
    case AT_SIZE:
        return size_byte(r, c);
    case AT_EXTENSION:
        return extension_byte(r, c);
    case AT_SIZE_LF:
        return size_end(r, c);
    case AT_DATA_CR:
        r->state = AT_DATA_LF;
        return c == '\r';
    case AT_DATA_LF:
        r->state = AT_SIZE;
        return c == '\n';
    case AT_TRAILER_LF:
        r->state = AT_TRAILER;
        return c == '\n';
    case AT_LAST_LF:
        r->state = AFTER;
        return c == '\n';
    default:
        return trailer_byte(r, c);
    }
}

static void chunk_advance(struct str *in, size_t n) {
    in->p += n;
    in->n -= n;
}

enum chunk_seen chunk_take(struct chunk_reader *r, struct str *in, struct str *data) {
    while (r->state != AFTER) {
        if (in->n == 0) return CHUNK_MORE;
        if (r->state == AT_DATA) {
            size_t n = r->left < in->n ? (size_t)r->left : in->n;
            *data = str_n(in->p, n);
            chunk_advance(in, n);
            r->left -= n;
            if (r->left == 0) r->state = AT_DATA_CR;
            return CHUNK_DATA;
        }
        if (!frame_byte(r, in->p[0])) return CHUNK_BAD;
        chunk_advance(in, 1);
    }
    return CHUNK_LAST;
}
