/*
 * json_scan.h: pieces shared by the json*.c files.  Layer: codec, private to json*.c and schema*.c.
 * All of them stay inside their bounds on any bytes; their answers mean something on checked text
 * only.
 */
#ifndef WOPR_CODEC_JSON_SCAN_H
#define WOPR_CODEC_JSON_SCAN_H

#include "codec/json.h"

/* No limits may ask for more; also bounds the recursion of json_equal and json_canonical. */
enum { JSON_DEPTH_HARD_MAX = 256 };

/* Leading bytes that mean themselves inside a string: ASCII but no control, quote or backslash. */
size_t json_plain_run(const char *p, size_t n);
/* Length of the well-formed UTF-8 sequence at p (n bytes left), 0 when there is none. */
size_t utf8_sequence(const char *p, size_t n);
/* Skip space, tab, LF, CR. */
const char *json_skip_space(const char *p, const char *end);
/* End of the number at p by the grammar, NULL when there is none. */
const char *json_number_end(const char *p, const char *end);
/* End of the value that begins at p, NULL when there is none. */
const char *json_value_end(const char *p, const char *end);
/* The closing quote of a string whose first content byte is p; NULL when absent. */
const char *json_string_end(const char *p, const char *end, bool *escaped);
/* One unit of string content (an escape, a surrogate pair of escapes, or one byte) as UTF-8 bytes.
 * Returns their number and moves *p; 0 at the end or at a malformed escape. */
size_t json_unescape(const char **p, const char *end, char out[4]);
/* Whether string content (without quotes) means the bytes of plain. */
bool json_content_eq(struct str content, bool escaped, struct str plain);
/* String content unescaped into a; borrowed unless escaped.  p == NULL when memory is short. */
struct str json_content(struct str content, bool escaped, struct arena *a);

/* Walk an object or array without allocating. */
struct json_iter {
    const char *p, *end;
    bool object, first;
    bool bad;         /* ended at something that checked text never holds */
    bool key_escaped; /* key holds escapes */
    struct str key;   /* content between the quotes, objects only */
    struct str value; /* raw, without white space around it */
};
/* false when text does not start with open ('{' or '['). */
bool json_iter_start(struct json_iter *it, struct str text, char open);
bool json_iter_next(struct json_iter *it);
/* The same in two steps: to the beginning of the next value, at p and with its key, and over it. */
bool json_iter_enter(struct json_iter *it);
bool json_iter_leave(struct json_iter *it);

/* The beginning of the member or element token in the container at p; NULL when absent.  *read
 * grows by the bytes that were looked at. */
const char *json_step(const char *p, const char *end, struct str token, uint64_t *read);
/* token as an index of RFC 6901, without leading zeros. */
bool json_index_token(struct str token, uint64_t *index);

/* A number in normal form: 0.D * 10^point, D from first to last without the dot, no zeros around
 * it. */
struct json_num {
    bool minus, zero;
    bool integer;             /* spelt without dot and exponent */
    const char *first, *last; /* inclusive; meaningless when zero */
    size_t digits;
    int64_t point; /* saturated far outside of what any double holds */
};
/* false: raw is no number.  *out points into raw. */
bool json_num_parse(struct str raw, struct json_num *out);
/* Nearest double; infinite when too large. */
double json_num_double(const struct json_num *n);
/* Exact magnitude when it is an integer below 2^64. */
bool json_num_u64(const struct json_num *n, uint64_t *out);
bool json_num_equal(const struct json_num *x, const struct json_num *y);

#endif
