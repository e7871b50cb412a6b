/*
 * issuers_file.h: the file of --issuers and the key sets that it names.  Layer: host.
 */
#ifndef WOPR_HOST_ISSUERS_FILE_H
#define WOPR_HOST_ISSUERS_FILE_H

#include "base/fs.h"
#include "egress/egress.h"
#include "http/http.h"

enum { ISSUERS_FILES_MAX = 17 }; /* it, and a key set of each issuer */

struct issuers_file {
    const char *path;                 /* the caller's */
    const struct egress_allow *allow; /* the caller's; NULL: nothing leaves this host */
    struct {
        char *path;
        struct fs_stamp stamp; /* when it was read last */
    } read[ISSUERS_FILES_MAX];
    size_t read_nr;
};

/* Read them: a new set into *issuers when that is NULL, else in its place.  CONFIG with the
 * setting, the file, the member and the remedy: nothing has changed.  NO_MEMORY.  Key sets with a
 * relative name lie beside the file. */
MUST_CHECK int issuers_file_read(struct issuers_file *f, struct http_issuers **issuers,
                                 struct wopr_error *err);
bool issuers_file_changed(const struct issuers_file *f); /* one of them, since it was read */
void issuers_file_fini(struct issuers_file *f);

#endif
