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

#endif
