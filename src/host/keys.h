/*
 * keys.h: the API keys of the settings, and the first key of a new database (AUTH-16).  Layer:
 * host.
 */
#ifndef WOPR_HOST_KEYS_H
#define WOPR_HOST_KEYS_H

#include "host/config.h"
#include "store/keys.h"

#define HOST_KEYS_MAX 16 /* keys in one file */

struct host_keys {
    struct api_key *v; /* configured keys: valid while this host lives */
    size_t n;
    const char *first; /* text of a key made for a database without any; else NULL */
};
/* The keys of --api-key-file and OPENWOP_API_KEY; without any, a database that has none of its own
 * gets its first.  Errors: CONFIG naming the setting. */
MUST_CHECK int host_keys_load(struct host_keys *k, const struct config *c, struct store *s,
                              struct arena *a, struct wopr_error *err);
/* Bring the rows of configured keys in the database up to date, and delete those of keys that no
 * living host configures.  Call it after the host has joined the others. */
MUST_CHECK int host_keys_record(const struct host_keys *k, struct store *s, struct arena *a,
                                struct wopr_error *err);
/* The key that a command sends to a running host: OPENWOP_API_KEY, the first of --api-key-file, or
 * dev-api-key beside the database (./run makes it).  NULL when there is none. */
MUST_CHECK int client_key(const struct config *c, struct arena *a, const char **key,
                          struct wopr_error *err);

#endif
