/*
 * audit.h: the audit log of a host: who asked for what, in a chain that shows changes, with signed
 * checkpoints (10-http-core 16).  Layer: audit.
 *
 * Invariants
 *   A1  An entry about an effect is in the transaction of the effect (plan_audit of its plan); an
 *       entry about a request is written at most AUDIT_DELAY_MS after its answer, unless the store
 *       fails.
 *   A2  An entry that was not written for want of room is counted by a later one (audit.gap).
 *   A3  A checkpoint covers only entries that are durable.
 *
 * Threads: audit_note from any thread, never blocks on the disk.  One thread of its own writes,
 * signs and exports.
 */
#ifndef WOPR_AUDIT_AUDIT_H
#define WOPR_AUDIT_AUDIT_H

#include "domain/plan.h"
#include "journal/journal.h"

enum {
    AUDIT_DELAY_MS = 250,
    AUDIT_WAITING_MAX = 8192, /* entries that wait to be written; beyond: a gap */
    AUDIT_PUBLIC_KEY_TEXT = 60,
    AUDIT_KEY_ID_SIZE = 21
};
struct audit;
enum { AUDIT_OLD_KEYS_MAX = 16 };
struct audit_config {
    uint8_t secret[32]; /* of the Ed25519 key that signs; used for nothing else */
    /* Of keys before it, the newest first: the last that signed does so for a while (AUD-7) */
    uint8_t old_secrets[AUDIT_OLD_KEYS_MAX][32];
    size_t old_nr;
    int64_t old_key_s; /* how long the one before signs, too, after the new one was first used */
    int64_t checkpoint_entries;  /* a checkpoint after so many entries ... */
    int64_t checkpoint_s;        /* ... or so long after the first one without; never without any
                                  * but those about checkpoints, so that none leads to the next */
    const char *checkpoint_file; /* each is appended to it, too (AUD-6); NULL = none.  Borrowed */
};
struct audit_stats {
    uint64_t written, dropped, checkpoints, failed; /* failed: writes of entries or checkpoints */
};
/* Stores the public key, from which moment the file is audited.  j is borrowed until audit_free.
 * NO_MEMORY, and what the store returns; CONFIG: the checkpoint file cannot be written. */
MUST_CHECK int audit_new(struct journal *j, const struct audit_config *cfg, struct audit **out,
                         struct wopr_error *err);
MUST_CHECK int audit_start(struct audit *a, struct wopr_error *err);
/* Writes what waits, while the journal still runs, and joins.  Takes NULL. */
void audit_stop(struct audit *a);
void audit_free(struct audit *a); /* takes NULL */

/* An entry about something that has no plan of its own.  row and its texts are copied. */
void audit_note(struct audit *a, const struct plan_audit *row);
void audit_stats(struct audit *a, struct audit_stats *out);
/* base64 of the DER SubjectPublicKeyInfo (AUD-7), as long as a lives. */
const char *audit_public_key(const struct audit *a);

#endif
