/*
 * verify_int.h: what the files of a verification share.  Layer: host.
 */
#ifndef WOPR_HOST_VERIFY_INT_H
#define WOPR_HOST_VERIFY_INT_H

#include "domain/state.h"
#include "store/runs.h"
#include "store/vault.h"

struct payload_rules;

struct verify {
    struct store *store;
    struct vault *vault; /* NULL: nothing sealed is opened */
    void (*report)(void *ctx, const char *line);
    void *ctx;
    int64_t findings;
    struct arena *arena; /* of the current run */
    struct payload_rules *rules;
};
/* A line that counts as no finding, and one that does. */
void line_report(struct verify *v, struct str run_id, const char *what, const char *text);
void finding_report(struct verify *v, struct str run_id, const char *what, const char *text);

/* Open tasks are those that the nodes of s wait for. */
MUST_CHECK int verify_tasks(struct verify *v, const struct run_state *s, int64_t run_no,
                            struct wopr_error *err);
/* What is sealed opens. */
MUST_CHECK int verify_sealed(struct verify *v, const struct run_head *h, struct wopr_error *err);
const char *verify_image_broken(struct verify *v, struct str run_id,
                                const struct plan_checkpoint *c);
MUST_CHECK int verify_hooks(struct verify *v, struct wopr_error *err);
MUST_CHECK int verify_credentials(struct verify *v, struct wopr_error *err);
MUST_CHECK int verify_memory(struct verify *v, struct wopr_error *err);
/* The bytes of packs are there, and those of their digests (P1, P4). */
MUST_CHECK int verify_packs(struct verify *v, struct wopr_error *err);
/* Definitions of agents and sets of them are what they were judged as, and their digests theirs
 * (AGT-46). */
MUST_CHECK int verify_agents(struct verify *v, struct wopr_error *err);
/* The set of a run is the one that its first event names. */
MUST_CHECK int verify_run_agents(struct verify *v, const struct run_origin *o,
                                 struct wopr_error *err);

#endif
