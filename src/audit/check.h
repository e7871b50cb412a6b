/*
 * check.h: is the audit log as it was written?  (AUD-8, AUD-9)  Layer: audit.
 * Everything is computed again from the entries; nothing that the file says of itself is believed
 * but a signature of a known key.
 */
#ifndef WOPR_AUDIT_CHECK_H
#define WOPR_AUDIT_CHECK_H

#include "store/audit.h"

enum {
    AUDIT_CHECK_ENTRIES_MAX = 100000, /* of one call over HTTP */
    AUDIT_ANOMALIES_MAX = 100,        /* told; more only make the chain invalid */
    AUDIT_CHECKPOINTS_MAX = 1000      /* told; all are looked at */
};
struct audit_anomaly {
    int64_t at_seq;
    struct str expected, actual; /* hash in hex, p NULL = none */
    const char *what;            /* a sentence */
};
struct audit_report {
    int64_t from, to; /* what was looked at: clamped to the log and the bounds above */
    bool valid;
    struct audit_anomaly *anomalies;
    size_t anomalies_nr;
    struct audit_checkpoints checkpoints;
    int64_t checkpoints_seen;
};
struct audit_question {
    int64_t from, to;   /* to < 0: the last entry */
    int64_t max;        /* entries at most, 0 = all */
    const uint8_t *pub; /* only this key's signatures count; NULL = those of the file's keys */
};
/* Reads from the last sound checkpoint before q->from on.  Blocks on the store.  NO_MEMORY, and
 * what the store returns; an unsound log is no failure. */
MUST_CHECK int audit_check(struct store *s, const struct audit_question *q, struct arena *a,
                           struct audit_report *out, struct wopr_error *err);
/* Is this pub's signature, in standard base64, over the ASCII bytes of root?  (AUD-5) */
bool audit_signature_holds(const uint8_t pub[32], struct str root, struct str signature);

#endif
