/*
 * config.h: settings from flags, environment and a JSON file, by one table (config.def).
 * Layer: host.
 */
#ifndef WOPR_HOST_CONFIG_H
#define WOPR_HOST_CONFIG_H

#include "base/arena.h"
#include "base/buf.h"

#define CONFIG_INT    int64_t
#define CONFIG_BOOL   bool
#define CONFIG_STR    const char *
#define CONFIG_OPTSTR const char *
#define CONFIG_LIST   const char *
#define CONFIG_CHOICE const char *

struct config { /* one member per row: http_port, store_path, ...; a text is never NULL */
#define OPT(section, member, TYPE, ...) CONFIG_##TYPE section##_##member;
#include "host/config.def"
    bool secret_in_arguments; /* a SECRET was a flag, which every user can read in ps */
};

/* Defaults, then the file (--config FILE or WOPR_CONFIG), then the environment, then flags
 * ("--name value", "--name=value", or "--name" of a BOOL).  Arguments that are no flags stay in
 * argv, in order; *argc is their number.  Texts live in a.  Errors: WOPR_E_CONFIG with the setting,
 * where its value came from, and what is accepted; NO_MEMORY.  *c is set on success only. */
MUST_CHECK int config_load(struct config *c, int *argc, char **argv, struct arena *a,
                           struct wopr_error *err);
/* Settings by name, without the dashes. */
struct near;
bool config_knows(struct str name); /* "config" too */
bool config_takes_value(struct str name);
void config_names(struct near *n); /* offers all that are in --help */
/* One line for each environment variable that looks like one of our settings but is none. */
void config_env_doubts(struct buf *out);
/* Ranges, and rules between settings.  WOPR_E_CONFIG names the first setting that breaks one. */
MUST_CHECK int config_check(const struct config *c, struct wopr_error *err);
void config_help(struct buf *out);                          /* one line per setting */
void config_print(const struct config *c, struct buf *out); /* JSON; secrets as "[REDACTED]" */
/* "a,b" -> NULL-terminated array in a; NULL for an empty list. */
const char *const *config_list(const char *text, struct arena *a);

/* The table, for tests. */
enum config_type {
    CONFIG_TYPE_INT,
    CONFIG_TYPE_BOOL,
    CONFIG_TYPE_STR,
    CONFIG_TYPE_OPTSTR,
    CONFIG_TYPE_LIST,
    CONFIG_TYPE_CHOICE
};
enum { CONFIG_SECRET = 1, CONFIG_HIDDEN = 2, CONFIG_OR_ZERO = 4 };
struct config_row { /* the columns of config.def */
    enum config_type type;
    const char *name, *env, *def;
    int64_t min, max;
    unsigned flags;
    const char *must, *help;
    size_t offset; /* in struct config */
};
extern const struct config_row CONFIG_ROWS[];
extern const size_t CONFIG_ROWS_NR;

#endif
