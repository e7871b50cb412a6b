/*
 * state_save.h: the image of a run state, which saves a fold.  Layer: domain (pure).
 *
 * An image is an optimisation, never a fact: without one, or if it is refused, the log is folded.
 * Loading an image and folding the rest of the log gives the state that folding the whole log
 * gives, member by member; only what is dirty (rows still to be written) is not part of it.
 *
 * Form: magic, versions of codec and engine, length, checksum; then what the fold depends on
 * besides the log (a digest of workflow, inputs, limit of executions), and the members as integers
 * of variable length and texts in one fixed order.  No pointer, no size of a C type.
 */
#ifndef WOPR_DOMAIN_STATE_SAVE_H
#define WOPR_DOMAIN_STATE_SAVE_H

#include "domain/state.h"

#define STATE_CODEC      7                  /* of the form: rises with every change of it */
#define STATE_IMAGE_MAX  (8u * 1024 * 1024) /* bytes; a larger state has no image */
#define STATE_IMAGE_HEAD 24   /* magic, version (2 bytes), length and checksum (8): little-endian */
#define STATE_IMAGE_SEED 0x77 /* of str_hash over all that follows the head: the checksum */

/* Facts beside the state at the same sequence that only the log holds.  The fold does not read
 * them. */
struct state_aside {
    int64_t fork_gap_ms;   /* of a fork: see fork_gap_ms() */
    int64_t source_next;   /* of a replay: the sequence of its source that is compared next */
    int64_t source_beyond; /* events compared past the source's end */
    bool source_ended;     /* the source's terminal event was passed */
};

/* Appends the image of s, which is not busy, to out.  TOO_BIG: the buffer has failed, for its
 * maximum or for memory.  When s->masks or s->masked, the image has clear values that the log shows
 * masked: who stores it seals it. */
MUST_CHECK int run_state_save(const struct run_state *s, const struct state_aside *aside,
                              struct buf *out);
/* Make a state from an image, without dirty marks (run_state_clean).  The bytes are not trusted.
 * CORRUPT: damaged, of another version, or the image of a run with another workflow, inputs or
 * limit of executions; NO_MEMORY; otherwise as run_state_new. */
MUST_CHECK int run_state_load(struct str image, struct workflow *wf, const struct run_meta *meta,
                              const struct run_limits *limits, struct run_state **out,
                              struct state_aside *aside, struct wopr_error *err);
/* True for an image of another codec or engine version: useless here, but no damage. */
bool state_image_foreign(struct str image);
/* The opposite of run_state_clean: mark everything dirty that differs from a run with nothing but
 * its creation projected.  For a fork, whose rows are made from a loaded state. */
void run_state_soil(struct run_state *s);

#endif
