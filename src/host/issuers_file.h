/*
 * issuers_file.h: the file of --issuers and the key sets that it names.  Layer: host.
 */
#ifndef WOPR_HOST_ISSUERS_FILE_H
#define WOPR_HOST_ISSUERS_FILE_H

#include "http/http.h"

/* path "": *out is NULL.  CONFIG with the setting, the file, the member and the remedy.  Key sets
 * with a relative name lie beside the file. */
MUST_CHECK int issuers_file_read(const char *path, struct http_issuers **out,
                                 struct wopr_error *err);

#endif
