/*
 * vault.h: the keys that seal clear values (OBS-71, CHAN-24).  Layer: store.
 *
 * Values are sealed with a data key; data keys are rows of the database, each sealed with the key
 * of the installation, which is kept outside of it (a file, host/seal_file.c).  So the database
 * alone reveals nothing, and a change of the installation's key rewrites a few rows instead of all
 * values.
 *
 * Invariants
 *   V1  what is in the database opens with the key of the installation only
 *   V2  a data key is forgotten only when nothing is sealed with it, and nothing is stored that was
 *       sealed with one that is forgotten: the store refuses the row, and the next value is sealed
 *       with the key that took its place, or not at all (CONFIG)
 *   V3  a box opens in its run and at its place only (seal.h)
 * Threads: any.  Sealing reads nothing from the store; opening reads a data key that another host
 * has made since.
 */
#ifndef WOPR_STORE_VAULT_H
#define WOPR_STORE_VAULT_H

#include "codec/seal.h"
#include "store/seals.h"

#define VAULT_KEK_ID_LEN 16 /* hexadecimal characters */
/* The id of an installation's key, which reveals nothing about it. */
void vault_kek_id(const struct seal_secret *kek, char out[VAULT_KEK_ID_LEN + 1]);

struct vault;
/* keks: keys of the installation, the first seals; more than one in the middle of a rotation.
 * Makes the first data key of a database.  CONFIG: they do not open the data keys of this
 * database, and there are sealed values or other hosts (else the data keys are made anew and
 * *replaced is set). */
MUST_CHECK int vault_new(struct store *s, const struct seal_secret *keks, size_t n,
                         struct vault **out, bool *replaced, struct wopr_error *err);
/* One that only opens, and writes nothing: for checks.  NOT_FOUND: the database has no data keys;
 * CORRUPT: keks do not open them all. */
MUST_CHECK int vault_reader(struct store *s, const struct seal_secret *keks, size_t n,
                            struct vault **out, struct wopr_error *err);
void vault_free(struct vault *v); /* takes NULL; overwrites the keys */

/* The box of clear, in a's memory; *key_no: which data key it needs.  TOO_BIG, NO_MEMORY;
 * CONFIG: the data keys were replaced, and v's keys do not open the new ones. */
MUST_CHECK int vault_seal(struct vault *v, const struct seal_place *where, struct str clear,
                          struct arena *a, struct plan_sealed *out, struct wopr_error *err);
/* The clear value of row, in a's memory.  CORRUPT: it does not open. */
MUST_CHECK int vault_open(struct vault *v, const struct seal_place *where,
                          const struct plan_sealed *row, struct arena *a, struct str *clear,
                          struct wopr_error *err);

/* A secret of the installation that stays the same while the data keys do, also through rotations:
 * made of the oldest data key, whose number goes to *key_no. */
void vault_derive(struct vault *v, struct str label, struct sha256 *out, int64_t *key_no);

/* Secrets that change with the data keys: one of each key, that of the one that seals first, then
 * the older ones, the newest first; at most max.  Returns how many. */
size_t vault_derive_each(struct vault *v, struct str label, struct sha256 *out, size_t max);

/* Make a new data key for future values and seal all data keys with `next`; unused ones are
 * dropped. next may be the first of v's own.  STALE: another process rotates too. */
MUST_CHECK int vault_rotate(struct vault *v, const struct seal_secret *next,
                            struct wopr_error *err);

#endif
