/*
 * program.h: definitions that are written in another language than that of workflows, and runs
 * whose next event is decided by a program instead of by edges and executors.  Layer: domain.
 *
 * A stored text whose first line begins with "#!" is in the language that the line names.  The
 * dialect of that name compiles it to a workflow, which every reader sees (nodes, edges,
 * variables), and to a program.  The line is part of the text and so of its hash: a run keeps the
 * text that it began with, in its language.  No JSON begins with '#', so a caller cannot put a
 * program where a workflow is expected.
 *
 * The state of a program is a fold of the log, as everything else of a run: it is made with the
 * state of the run, and takes each event after that has.  `next` says which event follows; the
 * engine emits it, and only the fold of that event is the fact.  Nothing else is kept, so a
 * restart, a fork and a reader come to the same state from the same log; an image only spares them
 * the way.
 *
 * Runs of workflows have no program: a NULL in their workflow and in their state.
 */
#ifndef WOPR_DOMAIN_PROGRAM_H
#define WOPR_DOMAIN_PROGRAM_H

#include "domain/options.h"
#include "domain/plan.h"

enum program_what {
    PROGRAM_WAIT, /* nothing now: see at_ms */
    PROGRAM_EMIT, /* append the event */
    PROGRAM_ASK,  /* node asks people, and is suspended (INT-1) */
    PROGRAM_FAIL, /* the run fails of node, which has failed */
    PROGRAM_END   /* the run completes with outputs */
};
struct program_action {
    enum program_what what;
    enum ev_kind kind; /* EMIT */
    int node;          /* EMIT (-1: the run's), ASK, FAIL */
    struct str payload;
    const struct plan_artifact *artifact; /* EMIT of artifact.created: its row */
    const char *ask_kind;                 /* ASK: as struct node_prompt */
    struct str ask_data, ask_schema;
    int64_t ask_timeout_ms;
    const char *reason; /* FAIL: of the nodes that are cancelled and skipped */
    struct str outputs; /* END: raw object */
    int64_t at_ms;      /* WAIT: ask again then; 0: an event has to come first */
    bool more;          /* what follows belongs to the same commit */
};
struct program_time {
    int64_t now_ms;          /* wall clock, without the time between a fork's cut and its making */
    const struct event *led; /* a replay: the next event of its source, which decides what no log
                              * can; NULL: the clock does */
};
struct program_refusal { /* of an option of the caller */
    struct str key;      /* of configurable */
    const char *reason;  /* a word for machines */
    const char *message;
};
struct program_ops {
    const char *name; /* member of payloads that are open for more */
    void (*compiled_free)(void *compiled);
    /* May a run have these options?  configurable: checked object, or empty. */
    bool (*options)(const struct workflow *wf, struct str configurable, struct arena *a,
                    struct program_refusal *why);
    /* Of a run that has begun: are these the options that it goes by? */
    bool (*options_same)(struct str was, struct str is, struct arena *a);
    /* The first values of all variables with these inputs (an object with members), and the inputs
     * as they are kept.  accepted: they were, when the run was made, and are not judged again.
     * VALIDATION with a pointer and details, NO_MEMORY. */
    int (*inputs)(const struct workflow *wf, struct str inputs, bool accepted, struct arena *a,
                  struct var_inits *out, struct wopr_error *err);
    /* With the state of a run, whose meta and options are there. */
    int (*open)(const struct run_state *s, void **out, struct wopr_error *err);
    void (*close)(void *program);
    size_t (*bytes)(const void *program);
    /* s has taken e, which is of node (or -1).  CORRUPT: it is none that the program could have
     * led to; NO_MEMORY. */
    int (*fold)(void *program, const struct run_state *s, const struct event *e, int node,
                struct wopr_error *err);
    /* For the image of a run's state (state_save.h), beside what the state holds: appends what load
     * makes of a program that was opened what the fold has made of this one.  false: it has no
     * image. */
    bool (*save)(const void *program, struct buf *out);
    /* s has all that is its own.  The bytes are not trusted.  CORRUPT, NO_MEMORY: close it. */
    int (*load)(void *program, const struct run_state *s, struct str image, struct wopr_error *err);
    /* Outputs of a completed node that the program, saved and loaded, says again as the log has
     * them: they are most of the bytes of a run, and no image keeps them. */
    bool (*remakes)(const void *program, int node);
    struct str (*outputs)(const void *program, int node, struct arena *a);
    /* The run may act.  NO_MEMORY. */
    int (*next)(void *program, const struct run_state *s, const struct program_time *t,
                struct arena *a, struct program_action *out);
    /* A question of node was not answered in time: what node did is to be taken back, and it fails
     * with this code. */
    void (*timed_out)(void *program, int node);
    /* The log says so already: it was cut between that and what follows from it. */
    bool (*late)(const void *program, int node);
    /* What a run without inputs takes, at least, when it goes as planned; 0: that is not known. */
    void (*needs)(const struct workflow *wf, struct run_needs *out);
    /* Raw object for run.started, under name. */
    struct str (*opening)(const void *program, struct arena *a);
};

/* --- languages --- */
struct wf_dialect {
    const char *name;
    /* text: without the first line; line: that, without "#!" and name.  As workflow_compile. */
    int (*compile)(void *ctx, struct str line, struct str text, const struct wf_env *env,
                   struct workflow **out, struct wopr_error *err);
    void *ctx;
};
/* Is the text in another language, and in which?  line, body: may be NULL. */
/* Its name, when the beginning of a text is all that there is; empty: that of workflows. */
struct str dialect_of(struct str beginning);
bool dialect_named(struct str text, struct str *name, struct str *line, struct str *body);

#endif
