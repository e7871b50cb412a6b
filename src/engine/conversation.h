/*
 * conversation.h: conversations in runs (CONV-6 to CONV-19).  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_CONVERSATION_H
#define WOPR_ENGINE_CONVERSATION_H

#include "domain/conversation.h"
#include "engine/outcome.h"

/* A conversation.* event out of an effect.  0, or f is filled and WOPR_E_VALIDATION. */
MUST_CHECK int conversation_effect(struct step *st, int node, const struct node_effect *x,
                                   struct failure *f);
/* Interrupts of conversations are for nodes that hold one, and turns are all that is asked. */
bool conversation_may_ask(const struct step *st, int node, enum intr_kind kind);
/* q; its time is what is left of the conversation's, which counts from its beginning (CONV-17). */
struct node_prompt conversation_timed(const struct step *st, int node, const struct node_prompt *q);
/* r asks for the first turn: the question is put into the plan, and what opens the conversation
 * after it. */
void conversation_claim(struct step *st, int node, const struct node_result *r);
/* The node may have asked: one with mockAutoResume is answered in the same plan (CONV-19). */
void conversation_asked(struct step *st, int node);
/* The same for what a fork has inherited. */
void conversations_enter(struct step *st);
/* The run is being cancelled: its conversations close first (CONV-18). */
void conversations_cancel(struct step *st);
/* g, of a replay's source, is such an end. */
bool conversation_cancelled(const struct event *g);
/* Nobody had a turn in time: the conversation closes, and its node fails when it sees that. */
void conversation_timed_out(struct step *st, int node);

#endif
