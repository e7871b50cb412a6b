/*
 * json_write.c: the streaming writer.  It is on the hot path: text that fits is copied without a
 * call.
 */
#include "codec/json_scan.h"

enum { JW_DEPTH_MAX = 64 }; /* one bit each in need_comma */

static inline void bytes_put(struct buf *b, const char *p, size_t n) {
    /* cap never exceeds max + 1, so room for n and the NUL is room within the maximum. */
    if (n < b->cap - b->len && !b->failed) {
        memcpy(b->p + b->len, p, n);
        b->len += n;
        b->p[b->len] = '\0';
    } else {
        buf_add(b, p, n);
    }
}

static inline void char_put(struct buf *b, char c) { bytes_put(b, &c, 1); }

/* --- strings --- */

static void put_escape(struct buf *b, unsigned char c) {
    static const char HEX[] = "0123456789abcdef";
    static const char SHORT[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
                                 ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\'};
    char esc[6] = {'\\', 'u', '0', '0', HEX[c >> 4], HEX[c & 15]};
    if (SHORT[c]) {
        esc[1] = SHORT[c];
        bytes_put(b, esc, 2);
    } else {
        bytes_put(b, esc, 6);
    }
}

/* The part of a string that begins with something other than plain bytes. */
static void quote_rest(struct buf *b, const char *p, size_t n) {
    while (n > 0) {
        size_t run = json_plain_run(p, n);
        if (run == 0 && (unsigned char)*p >= 0x80) {
            /* Copy runs of multi-byte sequences at once. */
            size_t one;
            while (run < n && (unsigned char)p[run] >= 0x80 &&
                   (one = utf8_sequence(p + run, n - run)) > 0)
                run += one;
            if (run == 0) {
                bytes_put(b, "\xEF\xBF\xBD", 3);
                p++, n--;
            }
        }
        bytes_put(b, p, run);
        p += run, n -= run;
        if (n > 0 && ((unsigned char)*p < 0x20 || *p == '"' || *p == '\\')) {
            put_escape(b, (unsigned char)*p);
            p++, n--;
        }
    }
}

static inline void string_put(struct buf *b, struct str s) {
    size_t run = s.n > 0 ? json_plain_run(s.p, s.n) : 0;
    char_put(b, '"');
    if (run > 0) bytes_put(b, s.p, run);
    if (run < s.n) quote_rest(b, s.p + run, s.n - run);
    char_put(b, '"');
}

void json_quote(struct buf *b, struct str s) { string_put(b, s); }

/* --- structure --- */

void jw_init(struct jw *w, struct buf *b) { *w = (struct jw){.b = b}; }

static inline uint64_t level_bit(const struct jw *w) {
    return w->depth > 0 ? UINT64_C(1) << (w->depth - 1) : 0;
}

/* Before a value: the comma when one is due, and one is due before the next. */
static inline void before_value(struct jw *w) {
    uint64_t bit = level_bit(w);
    if (w->need_comma & bit) char_put(w->b, ',');
    w->need_comma |= bit;
}

static void open_level(struct jw *w, char c) {
    before_value(w);
    char_put(w->b, c);
    if (w->depth == JW_DEPTH_MAX) {
        /* Callers may copy foreign nesting: too deep fails the text, not the process. */
        w->b->failed = true;
        return;
    }
    w->depth++;
    w->need_comma &= ~level_bit(w);
}

static void close_level(struct jw *w, char c) {
    if (w->b->failed && w->depth == JW_DEPTH_MAX) return; /* open_level refused it */
    ASSERT(w->depth > 0);
    w->depth--;
    char_put(w->b, c);
}

void jw_object(struct jw *w) { open_level(w, '{'); }
void jw_end_object(struct jw *w) { close_level(w, '}'); }
void jw_array(struct jw *w) { open_level(w, '['); }
void jw_end_array(struct jw *w) { close_level(w, ']'); }

/* No comma follows a name; the value sets the bit again. */
void jw_key(struct jw *w, const char *key) {
    before_value(w);
    w->need_comma &= ~level_bit(w);
    char_put(w->b, '"');
    bytes_put(w->b, key, strlen(key));
    bytes_put(w->b, "\":", 2);
}

void jw_key_str(struct jw *w, struct str key) {
    before_value(w);
    w->need_comma &= ~level_bit(w);
    string_put(w->b, key);
    char_put(w->b, ':');
}

/* --- values --- */

void jw_str(struct jw *w, struct str s) {
    before_value(w);
    string_put(w->b, s);
}

void jw_strz(struct jw *w, const char *z) { jw_str(w, str_c(z)); }

void jw_int(struct jw *w, int64_t v) {
    before_value(w);
    buf_add_i64(w->b, v);
}

void jw_double(struct jw *w, double v) {
    char text[32];
    before_value(w);
    size_t n = json_number_format(v, text);
    bytes_put(w->b, text, n);
}

void jw_bool(struct jw *w, bool v) {
    before_value(w);
    if (v) bytes_put(w->b, "true", 4);
    else bytes_put(w->b, "false", 5);
}

void jw_null(struct jw *w) {
    before_value(w);
    bytes_put(w->b, "null", 4);
}

void jw_raw(struct jw *w, struct str json) {
    before_value(w);
    if (json.n > 0) bytes_put(w->b, json.p, json.n);
    else bytes_put(w->b, "null", 4); /* keeps the text around it valid */
}

void jw_members(struct jw *w, struct str object) {
    struct str all = str_trim(object);
    all = all.n > 2 ? str_trim(str_n(all.p + 1, all.n - 2)) : STR_NONE;
    if (all.n > 0 && json_skip_space(all.p, str_end(all)) < str_end(all)) jw_raw(w, all);
}

void jw_kstr(struct jw *w, const char *key, struct str v) {
    jw_key(w, key);
    jw_str(w, v);
}

void jw_kstrz(struct jw *w, const char *key, const char *v) {
    jw_key(w, key);
    jw_strz(w, v);
}

void jw_kint(struct jw *w, const char *key, int64_t v) {
    jw_key(w, key);
    jw_int(w, v);
}

void jw_kbool(struct jw *w, const char *key, bool v) {
    jw_key(w, key);
    jw_bool(w, v);
}

void jw_kraw(struct jw *w, const char *key, struct str json) {
    jw_key(w, key);
    jw_raw(w, json);
}

void jw_kstr_opt(struct jw *w, const char *key, struct str v) {
    if (v.n > 0) jw_kstr(w, key, v);
}

void jw_kstrz_opt(struct jw *w, const char *key, const char *v) {
    if (v && *v) jw_kstrz(w, key, v);
}

void jw_kraw_opt(struct jw *w, const char *key, struct str json) {
    if (json.n > 0) jw_kraw(w, key, json);
}
