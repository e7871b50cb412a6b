/*
 * audit.h: entries of the audit log (AUD-2, AUD-3).  Layer: domain (pure).
 */
#ifndef WOPR_DOMAIN_AUDIT_H
#define WOPR_DOMAIN_AUDIT_H

#include "codec/bytes.h"
#include "domain/plan.h"

/* The entry as canonical JSON (RFC 8785), which is what its hash and its leaf are made of.  prev:
 * the hash of the entry before, NULL for the first.  What row leaves empty is null.  NO_MEMORY. */
enum { AUDIT_ENTRY_MAX = 32 * 1024 };
MUST_CHECK int audit_entry_render(const struct plan_audit *row, int64_t seq,
                                  const struct sha256 *prev, struct buf *out,
                                  struct wopr_error *err);
/* Of a stored entry: its sequence, and the hash that it says the entry before has, as text; false
 * when it is no entry.  *prev is empty in the first. */
bool audit_entry_link(struct str entry, int64_t *seq, struct str *prev);

#endif
