/*
 * fault.c: see fault.h.
 */
#include "workrail/fault.h"

#include <stdarg.h>
#include <stdio.h>

static const struct fault_row {
    const char *name;
    int neutral;
    enum wr_retry retry;
    enum wr_code shown;
} FAULTS[WR_CODES] = {
    [WR_FINE] = {"OK", WOPR_OK, WR_RETRY_NO, WR_FINE},
#define FAULT(id, neutral, retry, shown)                                                           \
    [WR_##id] = {#id, WOPR_E_##neutral, WR_RETRY_##retry, WR_##shown},
#include "workrail/faults.def"
#undef FAULT
};

static const struct fault_row *fault_row(enum wr_code code) {
    ASSERT((unsigned)code < WR_CODES);
    return &FAULTS[code];
}

const char *wr_code_name(enum wr_code code) { return fault_row(code)->name; }
int wr_code_neutral(enum wr_code code) { return fault_row(code)->neutral; }
enum wr_retry wr_code_retry(enum wr_code code) { return fault_row(code)->retry; }
enum wr_code wr_code_shown(enum wr_code code) { return fault_row(code)->shown; }

int wr_fail(struct wr_fault *f, enum wr_code code, const char *where, const char *fmt, ...) {
    int rc = wr_code_neutral(code);
    if (f == NULL) return rc;
    char message[sizeof f->e.message];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    f->code = code;
    return wopr_error_at(&f->e, rc, where, "%s", message);
}

int wr_no_memory(struct wr_fault *f) {
    return wr_fail(f, WR_OUT_OF_MEMORY, "", "out of memory; send the same request again");
}

int wr_fail_as(struct wr_fault *f, enum wr_code code, int rc) {
    if (rc == 0) return 0;
    if (rc == WOPR_E_NO_MEMORY) return wr_no_memory(f);
    if (f != NULL) {
        f->code = code;
        f->e.code = wr_code_neutral(code);
    }
    return wr_code_neutral(code);
}

void wr_fault_details(struct wr_fault *f, const char *fmt, ...) {
    if (f == NULL) return;
    char details[WOPR_DETAILS_SIZE];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(details, sizeof details, fmt, ap);
    va_end(ap);
    if (n > 0 && (size_t)n < sizeof details) wopr_error_details(&f->e, "%s", details);
}
