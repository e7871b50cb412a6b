/*
 * fault.h: failures with the names of the contract.  Layer: workrail.  Pure.
 *
 * A function that fails returns the neutral code of base/errors.def and says the rest in a struct
 * wr_fault: the contract's name, the parameter or JSON pointer it is about (e.pointer), what is
 * wrong and what to do (e.message), and members for the answer (e.details, a JSON object or "").
 * Messages and details never hold tokens, keys, paths or times (WR-116, WR-231).
 */
#ifndef WOPR_WORKRAIL_FAULT_H
#define WOPR_WORKRAIL_FAULT_H

#include "base/error.h"

enum wr_code {
    WR_FINE,
#define FAULT(id, neutral, retry, shown) WR_##id,
#include "workrail/faults.def"
#undef FAULT
    WR_CODES
};
enum wr_retry { WR_RETRY_NO, WR_RETRY_NOW, WR_RETRY_AFTER };
enum { WR_RETRY_AFTER_MS = 1000 };

struct wr_fault {
    enum wr_code code;
    struct wopr_error e;
};

/* Fill *f (may be NULL) and return the neutral code.  where: parameter or pointer, "" for none. */
int wr_fail(struct wr_fault *f, enum wr_code code, const char *where, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
int wr_no_memory(struct wr_fault *f);
/* A failure of a lower layer (rc: its neutral code, f->e: its record) under a name of ours;
 * NO_MEMORY keeps its own. */
int wr_fail_as(struct wr_fault *f, enum wr_code code, int rc);
/* Members for the answer, the text of a JSON object; left out when too long. */
void wr_fault_details(struct wr_fault *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

const char *wr_code_name(enum wr_code code); /* "TOKEN_BAD_SIGNATURE"; "OK" for WR_FINE */
int wr_code_neutral(enum wr_code code);      /* WOPR_E_* */
enum wr_retry wr_code_retry(enum wr_code code);
enum wr_code wr_code_shown(enum wr_code code); /* its name among tools (WR-232) */

#endif
