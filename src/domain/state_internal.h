/*
 * state_internal.h: shared by the files of the fold (state*.c, plan.c).  Layer: domain (pure).
 */
#ifndef WOPR_DOMAIN_STATE_INTERNAL_H
#define WOPR_DOMAIN_STATE_INTERNAL_H

#include "domain/bounds.h"
#include "domain/state.h"

#define STATE_ARENA_MAX (64u * 1024 * 1024) /* meta and fixed arrays of one run */
#define EVENT_ERROR_MAX (1024u * 1024)      /* bytes of an error text taken from a payload */

struct fold { /* one event on its way into the state */
    struct run_state *run;
    const struct event *event;
    int64_t ts_ms;         /* event time, never before the last one's */
    int node;              /* index of the envelope's node, -1 = none */
    struct arena *scratch; /* made on demand, freed with the event */
    struct wopr_error *err;
};
/* WOPR_E_CORRUPT with the sequence and kind of the event in the message. */
int fold_corrupt(struct fold *f, const char *what);
int fold_no_memory(struct fold *f);
struct arena *fold_scratch(struct fold *f); /* NULL when memory is short */
/* Required string member of the payload, unescaped; borrowed from the event or from the scratch
 * arena. */
int fold_string(struct fold *f, const char *key, struct str *out);
/* A member as nodes of the run read it: the clear value where it was masked and is known. */
struct str fold_clear(const struct fold *f, const char *key);
bool fold_masked(const struct fold *f); /* members of the payload are masked */
int fold_channel_written(struct fold *f);
int fold_version_pinned(struct fold *f);
int fold_cap_breached(struct fold *f);
int fold_orchestrator_decided(struct fold *f);
int orch_node_started(struct fold *f, bool again); /* again: another attempt */
void orch_node_completed(struct fold *f);
int fold_conversation_opened(struct fold *f);
int fold_conversation_exchanged(struct fold *f);
int fold_conversation_closed(struct fold *f);
void state_pins_free(struct run_state *s);
const char *state_pins_broken(const struct run_state *s); /* V1 */
int fold_node_started(struct fold *f);
int fold_node_completed(struct fold *f);
int fold_node_failed(struct fold *f);
int fold_node_suspended(struct fold *f);
int fold_node_resumed(struct fold *f);
int fold_node_retried(struct fold *f);
int fold_node_stopped(struct fold *f); /* skipped, cancelled */
int fold_node_any(struct fold *f);     /* only checks that the node may have this event */
int fold_interrupt_requested(struct fold *f);
int fold_interrupt_resolved(struct fold *f);
int intr_suspended(struct fold *f); /* part of node.suspended: the id of what was asked */
/* A channel write that may be a vote or a question: counted when the resolution layer wrote it.
 * The log tells who wrote: an executor has effects while its node runs, and only callers write for
 * a suspended node. */
int intr_noted(struct fold *f, struct str channel, struct str value);
void intrs_node_settled(struct run_state *s, int node);
void intr_free(struct intr_state *i);
/* --- state_intr_index.c --- */
struct intr_index;
void intr_index_free(struct intr_index *x); /* takes NULL */
int intr_index_extend(struct run_state *s); /* add newer interrupts; NO_MEMORY */
/* i has its id now; NO_MEMORY. */
int intr_index_named(struct run_state *s, const struct intr_state *i);
void intr_phase_set(struct run_state *s, struct intr_state *i, enum intr_phase phase);
size_t intr_count_before(const struct run_state *s, int node); /* in earlier activations */
struct intr_state *intr_nth_of(const struct run_state *s, int node, size_t nth); /* or NULL */
/* Let a running node wait for its next attempt until at_ms. */
MUST_CHECK int node_wait_retry(struct run_state *s, int node, int64_t at_ms);
/* INT-12: what a going run shows, and the node it shows it for (-1 = none). */
enum run_status run_waits(const struct run_state *s, int *node);
/* The same from queues; NO_MEMORY. */
int state_waits_now(struct run_state *s, enum run_status *shown, int *node);
int state_waits_suspended(struct run_state *s, int node); /* from this event on; NO_MEMORY */
void state_waits_free(struct run_state *s);
/* The only function that sets run_state.status; keeps the clock of WF-23. */
void run_move(struct run_state *s, enum run_status to, int64_t ts_ms);

/* run_state_begin for an event whose payload has passed json_check. */
MUST_CHECK int state_apply_checked(struct run_state *s, const struct event *e,
                                   struct wopr_error *err);

/* The status of a node after kind, or -1. */
int node_edge(enum node_status from, enum ev_kind kind);
/* --- channels: state_channel.c, state_chan_check.c --- */
/* The value as written or folded, without the frame of undeclared channels (CHAN-28). */
struct str chan_entry_value(const struct chan_state *c, const struct chan_entry *e);
/* The entry with the identity of value: *at, c->n when there is none; *id: its hash, 0 = none.
 * *scratch is made on demand.  NO_MEMORY. */
int chan_find_same(const struct chan_state *c, enum reducer r, struct str value,
                   struct arena **scratch, uint64_t *id, size_t *at);
size_t chan_expired(const struct chan_state *c,
                    int64_t now_ms);         /* of the first entries (CHAN-16) */
size_t chan_max(const struct chan_state *c); /* entries of a list */
/* Bytes that chan_shown appends; reads no value. */
size_t chan_shown_bytes(const struct chan_state *c, struct str mode, int64_t now_ms);
/* The exact sum with x added; c may be NULL.  VALIDATION: x is no number. */
int chan_sum(const struct chan_state *c, struct str x, struct sum *out);
/* One step of a value reducer, appended to b; c NULL: from empty.  VALIDATION, NO_MEMORY. */
int chan_step(const struct chan_state *c, enum reducer r, struct str x, struct arena *a,
              struct sum *sum, struct buf *b, size_t *keys);
/* Does the channel's schema accept the write at now_ms (CHAN-4)? VALIDATION, TOO_BIG, NO_MEMORY. */
int chan_fits(const struct chan_state *c, enum reducer r, struct str value, int64_t now_ms,
              struct wopr_error *err);
void chan_free(struct chan_state *c);
struct chan_state *chan_add(struct run_state *s, struct str name, const struct wf_channel *decl);
void state_vars_free(struct run_state *s);
/* shown: for a sensitive one; may be empty. */
MUST_CHECK int state_var_set(struct run_state *s, struct str name, struct str value, bool sensitive,
                             struct str shown);
void state_text_clear(struct run_state *s, struct text *t); /* as run_state_text_set */

#endif
