/*
 * error.c: the record that explains a failure, and the names of the codes.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *text;
    enum wopr_err_class class;
} ERR_TABLE[WOPR_ERR_NR] = {
    [WOPR_ERR_ORDER_OK] = {"OK", "success", ERR_FINAL},
#define ERR(id, text, class) [WOPR_ERR_ORDER_##id] = {#id, text, ERR_##class},
#include "base/errors.def"
#undef ERR
};

/* A message cut in the middle of a UTF-8 sequence would spoil the JSON it is sent in: drop the
 * rest. */
static void trim_partial_utf8(char *s, size_t len) {
    size_t tail = 0;
    while (tail < len && tail < 4 && ((unsigned char)s[len - 1 - tail] & 0xC0) == 0x80) tail++;
    if (tail >= len || tail >= 4) return;
    unsigned char lead = (unsigned char)s[len - 1 - tail];
    size_t need = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
    if (tail < need) s[len - 1 - tail] = '\0';
}

static void copy_cut(char *out, size_t cap, const char *in) {
    size_t n = in ? strlen(in) : 0;
    bool cut = n >= cap;
    if (cut) n = cap - 1;
    if (n > 0) memmove(out, in, n);
    out[n] = '\0';
    if (cut) trim_partial_utf8(out, n);
}

static int set_v(struct wopr_error *e, int code, const char *pointer, const char *fmt, va_list ap) {
    ASSERT(code <= 0 && code > -WOPR_ERR_NR);
    if (!e) return code;
    /* Arguments may point into *e (wrapping an inner message), so build aside first. */
    char message[sizeof e->message], where[sizeof e->pointer];
    int n = vsnprintf(message, sizeof message, fmt, ap);
    if (n < 0) message[0] = '\0';
    if (n >= (int)sizeof message) trim_partial_utf8(message, sizeof message - 1);
    copy_cut(where, sizeof where, pointer);
    e->code = code;
    memcpy(e->message, message, strlen(message) + 1);
    memcpy(e->pointer, where, strlen(where) + 1);
    e->details[0] = '\0';
    return code;
}

int wopr_error_set(struct wopr_error *e, int code, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    set_v(e, code, "", fmt, ap);
    va_end(ap);
    return code;
}

int wopr_error_at(struct wopr_error *e, int code, const char *pointer, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    set_v(e, code, pointer, fmt, ap);
    va_end(ap);
    return code;
}

void wopr_error_details(struct wopr_error *e, const char *fmt, ...) {
    if (!e) return;
    char details[sizeof e->details];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(details, sizeof details, fmt, ap);
    va_end(ap);
    if (n < 0 || n >= (int)sizeof details) {
        e->details[0] = '\0'; /* half a JSON object is worse than none */
        return;
    }
    memcpy(e->details, details, (size_t)n + 1);
}

void wopr_error_clear(struct wopr_error *e) {
    if (!e) return;
    e->code = WOPR_OK;
    e->pointer[0] = e->message[0] = e->details[0] = '\0';
}

static bool code_known(int code) { return code <= 0 && code > -WOPR_ERR_NR; }

const char *wopr_err_name(int code) { return code_known(code) ? ERR_TABLE[-code].name : "?"; }

const char *wopr_err_text(int code) { return code_known(code) ? ERR_TABLE[-code].text : "?"; }

enum wopr_err_class wopr_err_class(int code) {
    return code_known(code) ? ERR_TABLE[-code].class : ERR_FINAL;
}

bool wopr_err_passes(int code) {
    enum wopr_err_class c = wopr_err_class(code);
    return c == ERR_RETRY || c == ERR_REOPEN || c == ERR_REPLAN || c == ERR_LEAVE;
}

bool wopr_err_stays(int code) {
    enum wopr_err_class c = wopr_err_class(code);
    return code != 0 && (c == ERR_PARK || c == ERR_FINAL);
}

void wopr_assert_failed(const char *expr, const char *file, int line) {
    /* Straight to stderr: the logger itself may be what is broken. */
    fprintf(stderr, "wopr: assertion failed: %s (%s:%d)\n", expr, file, line);
    fflush(stderr);
    abort();
}
