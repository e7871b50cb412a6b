/*
 * ai_file.h: the file of --ai-providers.  Layer: host.
 */
#ifndef WOPR_HOST_AI_FILE_H
#define WOPR_HOST_AI_FILE_H

#include "nodes/nodes.h"

struct egress_allow;

/* path "": *out is NULL.  CONFIG with the setting, the file, the member and the remedy. */
MUST_CHECK int ai_file_read(const char *path, struct ai_providers **out, struct wopr_error *err);
/* Once it is known where requests may go: are the addresses of all providers among these? */
MUST_CHECK int ai_file_check(const struct ai_providers *p, const struct egress_allow *allow,
                             struct wopr_error *err);

/* AGT-13: the classes that the operator names providers for, NULL-terminated, in a; NULL without
 * any: none are advertised, and agents of any class are taken. */
const char *const *ai_file_classes(const struct ai_providers *p, struct arena *a);
/* The same of a file, without its credentials, which a command may not have.  CONFIG, NO_MEMORY. */
MUST_CHECK int ai_file_classes_read(const char *path, struct arena *a, const char *const **out,
                                    struct wopr_error *err);

#endif
