/*
 * interrupt.h: questions of nodes to people and systems, and their answers.  Layer: domain (pure).
 * A request is an InterruptPayload (20-runtime 3.2), kept as raw JSON; an answer is a resume value,
 * checked and brought into one form before it reaches the log.
 */
#ifndef WOPR_DOMAIN_INTERRUPT_H
#define WOPR_DOMAIN_INTERRUPT_H

#include "domain/bounds.h"
#include "domain/state.h"

enum intr_kind { /* stored by name */
                 INTR_APPROVAL,
                 INTR_CLARIFICATION,
                 INTR_EXTERNAL,
                 INTR_CUSTOM,
                 INTR_CONVERSATION_START,
                 INTR_CONVERSATION_EXCHANGE,
                 INTR_CONVERSATION_CLOSE,
                 INTR_LOW_CONFIDENCE,
                 INTR_KIND_NR
};
#define INTR_KEY_MAX      256u
#define INTR_ID_LEN       36u               /* "int_" and 32 hex digits */
#define INTR_VOTES_PREFIX "_approvalVotes:" /* INT-30 */
#define INTR_ASKS_PREFIX  "_askExchanges:"  /* INT-21 */

/* "approval"; the words of the wire.  The second is false for any other word. */
const char *intr_kind_name(enum intr_kind k);
const char *intr_action_name(unsigned no); /* of an approval: "accept"; NULL after the last */
bool intr_kind_of(struct str name, enum intr_kind *out);
/* The word for the closed enums of node.suspended and interrupt.resolved, NULL for the kinds they
 * lack (AGT-32). */
const char *intr_kind_word(enum intr_kind k);
/* Id of the interrupt that (run, key) names: derived, so that a plan built twice gets the same. */
void intr_id_of(struct str run_id, struct str key, char out[INTR_ID_LEN + 1]);

/* INT-4..8: kind, key, data by its kind, resumeSchema, timeoutMs of checked JSON text.  VALIDATION
 * with err->pointer. */
MUST_CHECK int intr_payload_check(struct str payload, struct arena *a, enum intr_kind *kind,
                                  struct wopr_error *err);

enum intr_verdict {
    INTR_ANSWERED, /* the interrupt is over */
    INTR_ASKED,    /* action ask: noted, still open (EVT-28) */
    INTR_VOTED     /* one of several approvals: record the vote, then intr_tally */
};
struct intr_answer { /* texts in the arena; empty = absent */
    enum intr_verdict verdict;
    struct str value; /* raw: for interrupt.resolved and the node */
    /* approval */
    struct str action, decided_by, decided_at, comment, feedback;
    struct str refine, edited; /* raw */
    struct str voter, vote;    /* raw vote of the votes reducer */
    struct str question;       /* raw: the exchange of an ask */
};
struct intr_question {
    struct str payload; /* raw, as requested */
    enum intr_kind kind;
    struct str principal;
    bool host;         /* it answers its own question (CONV-19) */
    bool may_delegate; /* the caller may speak for others: voter, decidedBy (INT-23, INT-30) */
    int64_t now_ms;
};
/* Check and normalise a resume value (INT-20..26, INT-33).  VALIDATION (pointer into resumeValue),
 * FORBIDDEN (approversList, INT-27), CORRELATION_MISMATCH (err->details), NO_MEMORY. */
MUST_CHECK int intr_answer_check(const struct intr_question *q, struct str resume_value,
                                 struct arena *a, struct intr_answer *out, struct wopr_error *err);
enum intr_tally { TALLY_OPEN, TALLY_ACCEPTED, TALLY_REJECTED };
/* INT-28, INT-29: the votes on an open interrupt so far, of distinct voters.  Only votes that the
 * resolution layer wrote count (see intr_noted), of those on approversList, by action. */
enum intr_tally intr_tally(const struct intr_state *i, int64_t *accepts, int64_t *rejects);

/* --- interrupts of a run, folded (INT-2) --- */
struct intr_state *run_state_intr(const struct run_state *s, struct str key); /* NULL when absent */
struct intr_state *run_state_intr_by_id(const struct run_state *s, struct str id);
/* The open one of a node with the lowest request sequence (INT-17), NULL when none. */
struct intr_state *run_state_intr_open(const struct run_state *s, int node);
size_t run_state_intrs_open(const struct run_state *s); /* how many are open */
/* INT-3: <runId>:<nodeId>:<n>; ordinal counts within the activation. */
struct str intr_key_of(const struct run_state *s, int node, unsigned ordinal, struct arena *a);
bool intr_auth_required(const struct wf_node *def); /* INT-39 */

#endif
