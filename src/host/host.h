/*
 * host.h: one serving host: its parts, and the order in which they start and stop.  Layer: host.
 * store -> keys and seeds -> journal -> engine -> wire -> http; stopped in the reverse order, so
 * that no part answers or publishes after its dependencies are gone.  No global state: everything
 * hangs off struct host.
 */
#ifndef WOPR_HOST_HOST_H
#define WOPR_HOST_HOST_H

#include "engine/node.h"
#include "host/config.h"
#include "store/keys.h"
#include "store/workflows.h"

struct host;
/* Opens the database, loads seeds, builds all parts; nothing runs yet.  extra: further node types
 * (embedding), may be NULL. Errors: those of store_open and http; the message says what to do. */
MUST_CHECK int host_new(const struct config *cfg, const struct node_type *extra, size_t extra_nr,
                        struct host **out, struct wopr_error *err);
/* Recovers unfinished runs, then accepts requests. */
MUST_CHECK int host_start(struct host *h, struct wopr_error *err);
/* Drain and stop everything; safe after a failed start. */
void host_stop(struct host *h);
void host_free(struct host *h); /* takes NULL */
uint16_t host_port(const struct host *h);
int host_ops_port(const struct host *h); /* -1 when off */
struct store *host_store(struct host *h);
/* A key minted because the database had none and none is configured; NULL otherwise.  Shown once.
 */
const char *host_first_key(const struct host *h);

/* --- also used by the command line --- */
/* Store one definition after checking it.  tenant empty = every tenant. */
struct workflow_terms;
MUST_CHECK int seed_text(struct store *s, struct str text, struct str tenant,
                         const struct wf_env *env, const struct workflow_terms *terms,
                         struct arena *a, enum put_result *what, struct wopr_error *err);
struct seed_counts {
    unsigned created, updated, same;
};
/* Every *.json and every *.workspec.yaml of a folder (idempotent, FIX-1); the first bad file stops
 * with its name in the message. */
MUST_CHECK int seed_folder(struct store *s, const char *folder, const struct wf_env *env,
                           struct seed_counts *n, struct wopr_error *err);
MUST_CHECK int seed_fixtures(struct store *s, const struct wf_env *env, struct seed_counts *n,
                             struct wopr_error *err);
/* The workspace agent that a scenario of conformance wants exported, in both modes (FIX-36). */
MUST_CHECK int seed_fixture_agents(struct store *s, struct str tenant, struct wopr_error *err);
/* Compiled workflow-definition.schema.json for wf_env; freed with schema_set_free. */
MUST_CHECK int definition_schema_new(struct schema_set **set, const struct schema **out,
                                     struct wopr_error *err);
/* Tests of several hosts: the wall clock runs ahead by the milliseconds in the first 8 bytes of the
 * file (int64_t of this machine), which may change at any time.  Before threads start. */
MUST_CHECK int test_clock_use(const char *path, struct wopr_error *err);
/* Read a whole file, at most max bytes, into out. */
MUST_CHECK int file_read(const char *path, size_t max, struct buf *out, struct wopr_error *err);
/* A new random signing secret for interrupt tokens; earlier ones only verify from now on (INT-36,
 * D46). */
MUST_CHECK int token_secret_rotate(struct store *s, struct arena *a, struct token_secret *out,
                                   struct wopr_error *err);
struct vault;
/* store_verify plus: the stored projection of every run equals the fold of its log, and what is
 * sealed opens (vault: NULL, that is not looked at).  report gets a line for each finding, and for
 * each note, which is none. *findings counts them. */
MUST_CHECK int host_verify(struct store *s, struct vault *vault,
                           void (*report)(void *ctx, const char *line), void *ctx, int64_t *runs,
                           int64_t *findings, struct wopr_error *err);

#endif
