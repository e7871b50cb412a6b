/*
 * seal_file.h: the key of the installation, a file beside the database or where it is told to be
 * (OBS-71, CHAN-24).  Layer: host.
 *
 * The file has a key a line, 64 hexadecimal digits; blank lines and lines that begin with # do not
 * count.  The first seals; others open what a rotation has not sealed anew yet.  It is never
 * written but by its first start and by a rotation, whole, under another name first.
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
    bool made; /* just now */
};
/* Reads it.  Makes it when the settings name none, there is none, and nothing is sealed in s.
 * CONFIG: missing, unreadable or not such a file; the message says what to do. */
MUST_CHECK int seal_file_open(const struct config *c, struct store *s, struct seal_file *out,
                              struct wopr_error *err);
/* These keys from now on: the file is replaced as a whole, and durable. */
MUST_CHECK int seal_file_write(const char *path, const struct seal_secret *keks, size_t n,
                               struct wopr_error *err);
void seal_file_forget(struct seal_file *f);

/* The vault of a host, and what its log has to say about it. */
MUST_CHECK int seal_vault(const struct config *c, struct store *s, struct vault **out,
                          struct wopr_error *err);
/* New data key, new key of the installation, all sealed anew; the file holds both keys while the
 * database is changed, so a crash leaves one that opens it.  *key_id: of the new key. */
MUST_CHECK int seal_rotate(const struct config *c, struct store *s,
                           char key_id[VAULT_KEK_ID_LEN + 1], struct wopr_error *err);

#endif
