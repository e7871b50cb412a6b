/*
 * packs.h: what the files of wopr packs share.  Layer: cli.
 */
#ifndef WOPR_CLI_PACKS_H
#define WOPR_CLI_PACKS_H

#include "cli/verbs.h"
#include "packs/trust.h"

struct packs_args {
    const char *url, *out, *key, *public_key, *from, *integrity, *reason, *inputs;
    bool shared, force, json;
};
/* --- packs_kit.c --- */
/* A file of at most max bytes into out, which the caller ends; 1 with a message. */
int packs_file_read(const char *path, size_t max, struct buf *out);
/* 1 with a message; without force only when there is no such file. */
int packs_file_write(const char *path, struct str bytes, unsigned mode, bool force);
/* The tarball as a pack, in c->arena; the message of a failure is printed.  Ours: we are about to
 * publish it; else it may have been published elsewhere. */
int packs_judge(struct cli *c, struct str tarball, bool ours, struct pack_judged *out);
/* "sha256-..." of it, in c->arena. */
struct str packs_sri(struct cli *c, const struct sha256 *digest);

/* --- packs_make.c: each a cli_verb --- */
int packs_keygen(struct cli *c, struct store *s, const void *args);
/* The tarball of a folder, appended to gz; the message of a failure is printed. */
int packs_folder(struct cli *c, const char *path, struct buf *gz);
int packs_build(struct cli *c, struct store *s, const void *args);
int packs_sign(struct cli *c, struct store *s, const void *args);
int packs_verify(struct cli *c, struct store *s, const void *args);
int packs_publish(struct cli *c, const void *args);
/* --- packs_run.c --- */
int packs_run(struct cli *c, struct store *s, const void *args);
/* --- packs_revoked.c --- */
struct packs_signed { /* signature empty: it is not */
    struct str name, tarball, manifest, signature;
};
/* PACK_KEY: a key that was revoked made it.  keychain: of the registry it came from, or empty. */
MUST_CHECK int packs_revoked_check(struct cli *c, struct store *s, const struct packs_signed *p,
                                   struct str keychain, struct wopr_error *err);
/* --- packs_load.c --- */
/* A line on standard error when no run could use the pack. */
void packs_load_warn(struct cli *c, const struct pack_judged *j);
/* PACK_LOAD and the like: a type that a pack of the tenant has cannot be loaded.  Whether there is
 * a server for a remote pack only a host can say. */
MUST_CHECK int packs_load_check(struct cli *c, struct store *s, const struct checker *k,
                                struct str tenant, const struct workflow *wf,
                                struct wopr_error *err);
/* --- init_pack.c --- */
/* wopr init pack [NAME]: folder NULL: the last word of the name. */
int init_pack(struct cli *c, const char *folder, bool force);
/* --- packs_install.c --- */
int packs_install(struct cli *c, struct store *s, const void *args);

#endif
