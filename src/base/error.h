/*
 * error.h: neutral failure codes and the record that explains one.  Layer: base.
 * A function returns 0 or one of the negative codes below; the first place that sees a failure
 * fills struct wopr_error with what is wrong, where, and what to do.  Foreign codes (SQLite, curl,
 * errno) are made neutral in the file that made the call.  Only wire/ maps codes to HTTP.
 */
#ifndef WOPR_BASE_ERROR_H
#define WOPR_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

#define MUST_CHECK __attribute__((warn_unused_result))

enum wopr_err_order {
    WOPR_ERR_ORDER_OK = 0,
#define ERR(id, text, class) WOPR_ERR_ORDER_##id,
#include "base/errors.def"
#undef ERR
    WOPR_ERR_NR
};
enum wopr_err {
    WOPR_OK = 0,
#define ERR(id, text, class) WOPR_E_##id = -WOPR_ERR_ORDER_##id,
#include "base/errors.def"
#undef ERR
};

enum wopr_err_class { /* what a caller does about a failure; base/errors.def explains each */
                      ERR_RETRY,
                      ERR_REOPEN,
                      ERR_REPLAN,
                      ERR_LEAVE,
                      ERR_GONE,
                      ERR_PARK,
                      ERR_ASKED,
                      ERR_FINAL
};

/* code: 0 or WOPR_E_*.  pointer: JSON pointer or parameter name the message is about, may be "".
 * details: extra members for the answer as raw JSON object text ("" = none), written by the layer
 * that failed in neutral terms; both are NUL-terminated and never hold caller secrets (HTTP-14). */
#define WOPR_DETAILS_SIZE 1024
struct wopr_error {
    int code;
    char pointer[192];
    char message[512];
    char details[WOPR_DETAILS_SIZE];
};

/* Fill *e (may be NULL) and return code, so that `return wopr_error_set(err, WOPR_E_X,
 * ...)` works. */
int wopr_error_set(struct wopr_error *e, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* As above, and also the place the message is about. */
int wopr_error_at(struct wopr_error *e, int code, const char *pointer, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Attach details to an error already set: raw JSON object text; too long is dropped whole. */
void wopr_error_details(struct wopr_error *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void wopr_error_clear(struct wopr_error *e);
/* Static name ("NOT_FOUND") and operator text of a code; "?" for an unknown one. */
const char *wopr_err_name(int code);
const char *wopr_err_text(int code);
enum wopr_err_class wopr_err_class(int code); /* ERR_FINAL for 0 and for an unknown code */
/* The state of the host, not the request, caused the failure: the same request may succeed later
 * (RETRY, REOPEN, REPLAN, LEAVE). */
bool wopr_err_passes(int code);
/* The same write would fail with it for ever, whoever asks (PARK, FINAL). */
bool wopr_err_stays(int code);

/* ASSERT stays on in release builds and is for our own mistakes only, never for foreign bytes. */
_Noreturn void wopr_assert_failed(const char *expr, const char *file, int line);
#define ASSERT(x) ((x) ? (void)0 : wopr_assert_failed(#x, __FILE__, __LINE__))

#endif
