/*
 * conversation.h: conversations of a run: their turns, and the answers that are turns (CONV-1 to
 * CONV-20).  Layer: domain (pure).
 *
 * A turn is {"messageId","from","content","ts","role","turnIndex"} and more (CONV-5).  Turn 0 opens
 * a conversation, each exchange adds one, the last one closes it (CONV-7).  An exchange is an
 * interrupt of its node; what answers it is brought into one form before it reaches the log:
 * {"operation":"exchange","turn":{..}} or {"operation":"close","turn":{..},"outcome"?:any}.
 */
#ifndef WOPR_DOMAIN_CONVERSATION_H
#define WOPR_DOMAIN_CONVERSATION_H

#include "domain/interrupt.h"

#define CONVERSATION_TEXT_MAX 256u /* code points: ids and names in a turn */

struct conversation { /* folded; belongs to the node that opened it, until that starts again */
    struct text id;
    int64_t opened_seq, opened_ms;
    int64_t seq;     /* of its last event */
    int32_t turns;   /* index of the next turn, from 1 */
    int32_t effects; /* of the node of its last event, with that event */
    bool closed;
};

/* May the node hold conversations?  Gates do, and dispatchers that ask the user (DISP-7). */
bool conversation_held_by(const struct wf_node *def);
/* The conversation that a node opened; NULL: none. */
const struct conversation *run_conversation_of(const struct run_state *s, int node);
/* The one of this id; with an empty id the only open one.  NULL: there is none, or there are
 * several. */
const struct conversation *run_conversation(const struct run_state *s, struct str id);
/* CONV-3: the declared channel that gets the turns of a node: the one that its config names, else
 * that of the name conversation, else the only one of messages.  NULL: none is declared. */
const struct wf_channel *conversation_channel(const struct workflow *wf, const struct wf_node *def);
void conversation_free(struct conversation *c); /* takes NULL */

struct conv_turn { /* texts; empty = absent */
    struct str conversation_id;
    int64_t index, ts_ms;
    const char *role; /* "user", "agent", "system" */
    struct str from, to, group_id, message_id;
    struct str agent;   /* raw object */
    struct str content; /* raw */
};
/* messageId is made of the others where it is empty (CONV-5).  STR_NONE: no memory, too large. */
struct str turn_text(const struct conv_turn *t, struct arena *a);

/* Bring the answer to a conversation.exchange into its form (CONV-10 to CONV-12); value: raw.
 * VALIDATION (pointer into resumeValue, also past CONVERSATION_ANSWER_MAX), NO_MEMORY.  q->host: it
 * is this host's own, which alone may speak as "system". */
MUST_CHECK int conversation_answer(const struct intr_question *q, struct str value, struct arena *a,
                                   struct str *out, struct wopr_error *err);
/* CONV-11: a turn that is sent again is known by the messageId that its sender gave it.  The
 * beginning of the form that an answer with value's operation and messageId has, so that a turn
 * among thousands is found without reading them; STR_NONE: it gives none, or no memory. */
struct str conversation_answer_begin(struct str value, struct arena *a);
bool conversation_answer_closes(struct str answer);

#endif
