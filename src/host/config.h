/*
 * config.h: settings from flags, environment and a JSON file, by one table (config.def).  Layer:
 * host.
 */
#ifndef WOPR_HOST_CONFIG_H
#define WOPR_HOST_CONFIG_H

#include "base/arena.h"
#include "base/buf.h"

typedef const char *config_str;
#define CONFIG_TYPE_STR  config_str
#define CONFIG_TYPE_INT  int64_t
#define CONFIG_TYPE_BOOL bool

struct config {
#define OPT(member, type, flag, env, def, help) CONFIG_TYPE_##type member;
#include "host/config.def"
#undef OPT
    bool key_in_arguments; /* --api-key was given: whoever may list processes can read it */
};

/* Defaults, then the file (--config FILE or WOPR_CONFIG), then the environment, then flags "--name
 * value", "--name=value",
 * "--name" (BOOL).  Arguments that are no flags are left in argv order from *rest on (argc
 * updated).  Strings live in a. Errors: WOPR_E_CONFIG naming the setting, where it came from, and
 * what is accepted. */
MUST_CHECK int config_load(struct config *c, int *argc, char **argv, struct arena *a,
                           struct wopr_error *err);
/* The settings by name ("port"), without dashes. */
struct near;
bool config_knows(struct str name); /* "config" too */
bool config_takes_value(struct str name);
void config_names(struct near *n); /* offers all that are in --help */
/* Variables of the environment that look like a setting of ours but are none: one line each. */
void config_env_doubts(struct buf *out);
/* Ranges and dependencies between settings. */
MUST_CHECK int config_check(const struct config *c, struct wopr_error *err);
void config_help(struct buf *out);                          /* one line per setting */
void config_print(const struct config *c, struct buf *out); /* JSON; secrets as "[REDACTED]" */
/* "a,b" -> NULL-terminated array in a; NULL for an empty list. */
const char *const *config_list(const char *text, struct arena *a);

#endif
