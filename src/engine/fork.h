/*
 * fork.h: forks and replays, as the rest of the engine sees them.  Layer: engine, not for others.
 * fork.c makes a run out of the first events of another one.  replay.c leads a replay along the
 * log of its source: logical time, recorded answers, divergence.  A branch is an ordinary run once
 * it exists.
 */
#ifndef WOPR_ENGINE_FORK_H
#define WOPR_ENGINE_FORK_H

#include "engine/internal.h"

#define FORK_RETRY_AFTER_S 1 /* ERR-9 */

struct fork_info { /* of a run that is a fork; texts of link stand behind it */
    struct run_fork link;
    int64_t gap_ms;        /* between the last inherited event and the fork, not running time */
    enum ev_kind cut_kind; /* the last inherited event: its kind, and its node or -1 */
    int cut_node;
    bool masked; /* inherited events hold values that only the source knew (OBS-71) */
    char source_run_id[RUN_ID_MAX + 1];
};

/* --- fork.c --- */
void fork_submit(struct engine *e, struct engine_cmd *cmd); /* ENGINE_FORK */
/* Turn of an exec in EXEC_FORKING; true: it is a live run now and the turn goes on. */
bool fork_turn(struct step *st, int flight_rc);
/* On the committer: takes away what a dead host, or a refused request, left half done. */
MUST_CHECK int fork_sweep(struct engine *e, struct store *s, bool *more, struct wopr_error *err);
void fork_free(struct run_exec *re);
/* Remembers what the store says; nothing for a run that is no fork.  0 or NO_MEMORY. */
MUST_CHECK int fork_set(struct run_exec *re, const struct run_fork *f);
/* To be called after each folded event: notes what holds at the cut. */
void fork_passed(struct run_exec *re, const struct event *e, struct arena *a);
int64_t fork_gap_ms(const struct run_exec *re, int64_t now_ms); /* to be taken from running time */
/* Nothing of its own was appended yet: such a fork is woken whatever its status. */
bool fork_is_fresh(const struct run_fork *f, int64_t next_seq);
void fork_begin(struct step *st); /* first thing of a step */

/* --- fork_wait.c --- */
/* Id of the row of an interrupt: an inherited one has one of its own in each fork. */
struct str fork_interrupt_id(const struct run_exec *re, const struct intr_state *i,
                             struct arena *a);
/* How much later than in the source an inherited interrupt ends. */
int64_t fork_shift_ms(const struct run_exec *re, int64_t requested_seq);
/* Rows and timers of what is asked at the cut. */
void fork_wait_open(struct run_exec *re, struct plan *p, const struct intr_state *i);
void fork_waits_open(struct run_exec *re, struct plan *p);
/* The cut parted events that one commit told: the rest, as the source has it. */
void fork_group(struct step *st, enum ev_kind cut, int node);
/* The source's next event answers a node that waits, or ends its waiting: told again. */
bool replay_answers_wait(struct step *st, const struct event *g, int node);
/* The source's next event shows the suspension of the node's child: told again (EVT-39). */
bool replay_shows_child(struct step *st, int node);
/* Any recorded answer to what is asked; for replays that came off their source's order. */
bool replay_finds_answer(struct step *st);

/* --- replay.c: all but open and close are for execs with re->replay --- */
MUST_CHECK int replay_open(struct run_exec *re); /* nothing for a run that is no replay */
void replay_close(struct run_exec *re);
/* An event of the replay's own log, while it is folded. */
MUST_CHECK int replay_follow(struct run_exec *re, const struct event *e, struct wopr_error *err);
bool replay_leads(struct step *st);        /* the source has a next event; false for other runs */
bool replay_holds_timers(struct step *st); /* it leads, and does not only wait */
int64_t replay_now_ms(struct step *st);    /* its time, else the wall clock (FORK-14) */
/* Around plan_event: the time, and what differs (FORK-18 to FORK-20). */
void replay_before(struct step *st, enum ev_kind kind, struct str payload);
void replay_after(struct step *st, int64_t seq, int node);
/* Do what the source says comes next; what would otherwise wait.  true: something was done. */
bool replay_guide(struct step *st);
bool replay_force(struct step *st);
/* The executor of a node that was just started is not entered before the source's next event is one
 * of that node: it waited for something. */
bool replay_defers(struct step *st, int node);
/* FORK-12, FORK-14: what the source, and what it was forked from, recorded of the outside; its
 * pins; whose ids they are.  Nothing for other runs. */
MUST_CHECK int replay_begin(struct step *st, struct wopr_error *err);
void replay_call(struct step *st, int node, struct node_call *call); /* fills its part of it */
/* The run whose id ids of this node are made of (FORK-14): of a replay the run that made them
 * first, else the run itself. */
struct str replay_ids(const struct step *st, int node);
/* The one door for what is not answered so.  true: nothing may leave the host (D57), the attempt
 * fails with f: as it did in the source, or for want of a record. */
bool replay_effect(struct step *st, int node, struct failure *f);
void replay_warn(struct step *st); /* FORK-21 */

#endif
