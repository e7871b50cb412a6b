/*
 * seal_file.h: the key of the installation: a file beside the database, or where the settings say
 * (OBS-71, CHAN-24).  Layer: host.
 *
 * The file has a key a line, 64 hexadecimal digits; blank lines and lines that begin with # do not
 * count.  The first key seals; the others open what a rotation has not sealed again yet.  Only the
 * first start and a rotation write the file, always whole: under another name, then renamed.
 */
#ifndef WOPR_HOST_SEAL_FILE_H
#define WOPR_HOST_SEAL_FILE_H

#include "host/config.h"
#include "store/vault.h"

#define SEAL_KEKS_MAX 8u
#define SEAL_PATH_MAX 4096u

struct seal_file {
    char path[SEAL_PATH_MAX];
    struct seal_secret keks[SEAL_KEKS_MAX];
    size_t n;
    bool made; /* by this call */
};
/* Read it, or make it when the settings name none, none exists, and s holds nothing sealed.
 * CONFIG: missing, unreadable or malformed; the message names the remedy. */
MUST_CHECK int seal_file_open(const struct config *c, struct store *s, struct seal_file *out,
                              struct wopr_error *err);
/* Replace the file by these keys, atomically and durably. */
MUST_CHECK int seal_file_write(const char *path, const struct seal_secret *keks, size_t n,
                               struct wopr_error *err);
void seal_file_forget(struct seal_file *f);

/* The vault of a host; the rest is for its log. */
MUST_CHECK int seal_vault(const struct config *c, struct store *s, struct vault **out,
                          struct wopr_error *err);
/* The same for a check: opens only, makes and writes nothing.  NOT_FOUND: there is no key file, or
 * nothing that it would open; CORRUPT: it does not open the data keys. */
MUST_CHECK int seal_vault_reader(const struct config *c, struct store *s, struct vault **out,
                                 struct wopr_error *err);
/* Make a new data key and a new key of the installation, and seal all data keys with that.  The
 * file holds both keys while the database changes, so after a crash one of them opens it. *key_id:
 * of the new key. */
MUST_CHECK int seal_rotate(const struct config *c, struct store *s,
                           char key_id[VAULT_KEK_ID_LEN + 1], struct wopr_error *err);

#endif
