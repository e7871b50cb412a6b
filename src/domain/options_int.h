/*
 * options_int.h: the reserved keys of configurable (OPT-6), shared by the option checks and by the
 * compiler's look at configurableSchema (OPT-5).  Layer: domain (pure), private to this folder.
 */
#ifndef WOPR_DOMAIN_OPTIONS_INT_H
#define WOPR_DOMAIN_OPTIONS_INT_H

#include "base/str.h"

/* A reserved key, top level ("ai.model" in its flat spelling too; "ai" for the nested one). */
bool option_key_reserved(struct str key);
/* "<vendor>.<name>": passes through unchecked (OPT-4).  ai.* belongs to the protocol (OPT-7). */
bool option_key_vendor(struct str key);

#endif
