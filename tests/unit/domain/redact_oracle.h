/* redact_oracle.h: the plain, quadratic definition of the redactor, for tests only. */
#ifndef WOPR_TESTS_REDACT_ORACLE_H
#define WOPR_TESTS_REDACT_ORACLE_H

#include "base/buf.h"

bool oracle_redact_text(struct str text, struct str known, struct buf *out);

#endif
