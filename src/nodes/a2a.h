/*
 * a2a.h: one task given to an A2A agent (30-nodes section 13).  Layer: nodes, not for others.
 */
#ifndef WOPR_NODES_A2A_H
#define WOPR_NODES_A2A_H

#include "egress/remotes.h"
#include "nodes/nodes.h"

#define A2A_WAIT_MS     30000    /* A2A-5 */
#define A2A_WAIT_MS_MAX 86400000 /* a day */

/* A2A-2 */
enum a2a_state {
    A2A_UNKNOWN,
    A2A_SUBMITTED,
    A2A_WORKING,
    A2A_INPUT_REQUIRED,
    A2A_AUTH_REQUIRED,
    A2A_COMPLETED,
    A2A_FAILED,
    A2A_CANCELED,
    A2A_REJECTED
};
struct a2a_task { /* as an answer tells it; texts in the arena of the call */
    enum a2a_state state;
    struct str id;
    struct str messages, artifacts; /* raw arrays, or STR_NONE */
    struct str text;                /* of its messages, or of its artifacts */
    struct str last;                /* of the last message */
};
struct a2a {
    const struct node_call *call;
    struct node_result *out;
    const struct remote *agent;
    struct str skill;
    int64_t wait_ms; /* for the end of the task, questions not counted */
    bool repeatable, signed_card;
    struct str base; /* where tasks are */
    bool own;        /* of the same origin as the card: it gets the credential */
    /* --- so far --- */
    struct str task_id;
    enum a2a_state state;
};

/* --- a2a_wire.c --- */
/* One exchange.  body STR_NONE: GET.  NULL: asked for, or the node fails. */
const struct node_answer *a2a_ask(struct a2a *t, unsigned ordinal, struct str url, struct str body,
                                  bool once);
/* NULL, or why the answer is no good (a word or sentence); *again: another try may be better. */
const char *a2a_answer_wrong(const struct node_answer *ans, bool *again);
/* Base and skills of a card.  NULL, or what is wrong with it. */
const char *a2a_card_read(struct a2a *t, struct str card);
/* false: it tells no task. */
bool a2a_task_read(struct str body, struct arena *a, struct a2a_task *out);
struct str a2a_task_url(struct a2a *t, const char *more);

#endif
