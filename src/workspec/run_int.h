/*
 * run_int.h: the state of a run of a document, a fold of its log (WS-114).  Layer: workspec,
 * private to run*.c and language.c.
 *
 *     node.started -> STARTING -> RUNNING -> ENDING -> DONE
 *                        |           ^          ^
 *                      ASKED --> ANSWERED ------+
 *                        |
 *                   WITHDRAWING -> FAILED            any but DONE -> FAILED
 *
 * Of a step (the start or the completion of a task) the world is told once, by the first event of
 * the step; what it changed then waits to be told in turn (pending), event by event, and each event
 * is compared with what it ought to say.  So a log that is cut anywhere, also within a step, leads
 * to a state that goes on with the rest of the step.
 *
 * What an event means here is a deed of a few bytes (run_step.c).  The image of a run is the list
 * of its deeds, and loading one plays them: through the function by which the fold moves, so an
 * image cannot lead to a state that the log does not.  What it spares is reading, parsing and
 * comparing the events; a task is begun and ended once, so the list is as short as the document.
 */
#ifndef WOPR_WORKSPEC_RUN_INT_H
#define WOPR_WORKSPEC_RUN_INT_H

#include "domain/program.h"
#include "workspec/interpret.h"
#include "workspec/language.h"
#include "workspec/schedule.h"

extern const struct program_ops WS_PROGRAM;
void ws_compiled_free(void *compiled);

enum run_phase {
    TASK_IS_AHEAD,
    TASK_IS_STARTING,
    TASK_IS_RUNNING,
    TASK_IS_ASKED,
    TASK_IS_ANSWERED,
    TASK_IS_ENDING,
    TASK_IS_WITHDRAWING,
    TASK_IS_DONE,
    TASK_HAS_FAILED
};
struct ws_run_options { /* WS-99 to WS-101 */
    enum ws_clock clock;
    double speed; /* virtual milliseconds in a real one */
    bool approval;
};
struct ws_run_task {
    enum run_phase phase;
    bool late;              /* nobody answered in time */
    int64_t begun, ended;   /* virtual */
    struct str decided_by;  /* of an answer */
    struct str answers;     /* raw object, or empty */
    struct ws_change *made; /* what its start changed */
    size_t made_nr;
    struct ws_change *ended_with; /* and its end */
    size_t ended_with_nr;
    bool omitted;          /* its outputs leave both out, and then the second is not kept */
    size_t question_bytes; /* of the changes that its open question shows */
    bool plain;            /* the log has its outputs as they are said: nothing is hidden */
};
enum ws_deed_kind {
    DEED_START, /* a step of task begins at vt */
    DEED_END,
    DEED_WITHDRAW,
    DEED_CHANGE,   /* the next change of the step under way is told */
    DEED_KEPT,     /* that it could not take all back is told */
    DEED_COMPLETE, /* the step under way has ended its task; flag: its outputs are plain */
    DEED_FAIL,     /* task */
    DEED_ASK,      /* task: the question after its start */
    DEED_DECIDE,   /* task, by whom (text); flag: nobody did, in time */
    DEED_ANSWER,   /* task, its answers (text) */
    DEED_RESUME,   /* task; flag: it was rejected */
    DEED_NR
};
struct ws_deed {
    enum ws_deed_kind kind;
    uint32_t task;
    int64_t vt;
    bool flag;
    struct str text;
};
struct ws_run {
    const struct ws_program *program;
    struct ws_plan plan; /* of the program, with the objects of this run */
    struct ws_run_options options;
    struct arena *a;
    struct ws_world *world;
    struct ws_schedule *schedule;
    bool *asks;
    struct ws_run_task *task;
    size_t done;
    int64_t vt; /* of the last step */

    struct ws_step step; /* that the schedule gave and no event shows yet, when chosen */
    bool chosen;
    int64_t at;                            /* the task whose step is under way, -1: none */
    struct ws_outcome outcome;             /* of that step */
    size_t told;                           /* changes of it that the log has */
    bool shown;                            /* the log has an event of it */
    bool failure_told;                     /* a withdrawal that could not take all back */
    size_t results_bytes, questions_bytes; /* of changes in outputs, and in open questions */
    bool no_memory;                        /* where the arena cannot tell */

    int64_t started_ms, paused_ms, paused_since_ms; /* real */
    size_t warned;
    bool begun;        /* a task has started */
    bool ignored_told; /* WS-78 */
    bool artifact_told;
    int64_t failed, rejected; /* the first such task, -1: none */
    int64_t *resumed;         /* real clock: answered tasks whose completion is to come, in order */
    size_t resumed_at, resumed_nr;

    struct buf deeds; /* so far, as an image has them (run_image.c) */
};

/* --- run.c --- */
/* A run before its first event, in an arena of its own; its options and its plan's objects may be
 * changed until it is made.  NULL, false: no memory.  run_close takes it at any time. */
struct ws_run *run_new(const struct ws_program *program);
bool run_make(struct ws_run *r);
void run_close(void *program);
int run_open(const struct run_state *s, void **out, struct wopr_error *err);
size_t run_bytes(const void *program);
void run_timed_out(void *program, int node);
bool run_late(const void *program, int node);
bool run_short(const struct ws_run *r); /* of memory */
int run_next(void *program, const struct run_state *s, const struct program_time *t,
             struct arena *a, struct program_action *out);

/* --- run_step.c --- */
/* A start that did everything, is told, and asks no one, is over. */
void step_settle(struct ws_run *r);
bool step_told(const struct ws_run *r); /* all of it */
void step_end(struct ws_run *r, uint32_t task, int64_t vt);
void step_withdraw(struct ws_run *r, uint32_t task, int64_t vt);
/* Real clock: the completion of an answered task, at the instant of the answer (WS-118). */
bool step_answer(struct ws_run *r, int64_t vt);
/* Moves the run by one deed.  NULL, or why that is none of this document. */
const char *deed_apply(struct ws_run *r, const struct ws_deed *f);
/* The deed by which the step under way began. */
struct ws_deed deed_of_step(const struct ws_run *r);

/* --- run_fold.c --- */
int run_fold(void *program, const struct run_state *s, const struct event *e, int node,
             struct wopr_error *err);

/* --- run_results.c --- */
/* What the members name and next of a change are in the log; next: STR_NONE when there is none. */
struct str change_name(struct arena *a, const struct ws_change *c); /* of the variable */
struct str change_next(struct arena *a, const struct ws_change *c);
void result_value_put(struct jw *w, const char *key, const struct ws_value *v);
/* Raw array of what the task changed so far; STR_NONE: no memory. */
struct str changes_text(const struct ws_run_task *t, struct arena *a);
/* The end of task is the step under way: whether its outputs show what it changed (WS-137). */
void results_enter(struct ws_run *r, uint32_t task);
/* The same of its question, from when it is asked until there is an answer. */
void question_enter(struct ws_run *r, uint32_t task);
void question_leave(struct ws_run *r, uint32_t task);
bool question_shows(struct ws_run *r, size_t task); /* will it, asked now? */
/* What a task that ends has for outputs: raw object; STR_NONE: no memory. */
struct str say_results(const struct ws_run *r, size_t task, struct arena *a);

/* --- run_image.c --- */
bool run_remakes(const void *program, int node);
struct str run_outputs(const void *program, int node, struct arena *a);
void deed_note(struct ws_run *r, const struct ws_deed *f);
bool run_save(const void *program, struct buf *out);
int run_load(void *program, const struct run_state *s, struct str image, struct wopr_error *err);

/* --- run_options.c --- */
void run_options_read(struct str configurable, struct ws_run_options *out, struct arena *a);
bool run_options_good(const struct workflow *wf, struct str configurable, struct arena *a,
                      struct program_refusal *why);
bool run_options_equal(struct str was, struct str is, struct arena *a);
/* WS-96: the objects of the plan with the values of inputs; those of the document without any.
 * VALIDATION: an id is unknown, or a value has no place. */
int run_objects(const struct ws_program *p, struct str inputs, struct arena *a,
                const struct ws_value **out, struct wopr_error *err);
/* WS-100, WS-116: whether the task asks people; kind: "approval" or "clarification". */
bool run_task_asks(const struct ws_entry *e, const struct ws_run_options *o, const char **kind);

/* --- run_inputs.c --- */
int run_inputs_read(const struct workflow *wf, struct str inputs, bool accepted, struct arena *a,
                    struct var_inits *out, struct wopr_error *err);

/* --- run_say.c: what is told.  Texts are of a; STR_NONE when memory is short. --- */
struct str say_opening(const void *program, struct arena *a);
void say_warning(struct ws_run *r, struct arena *a, struct program_action *out);
void say_ignored(struct ws_run *r, struct arena *a, struct program_action *out);
void say_kept(struct ws_run *r, struct arena *a, struct program_action *out);
void say_started(const struct ws_run *r, struct arena *a, struct program_action *out);
void say_change(const struct ws_run *r, struct arena *a, struct program_action *out);
void say_completed(const struct ws_run *r, struct arena *a, struct program_action *out);
void say_failed(const struct ws_run *r, struct arena *a, struct program_action *out);
void say_question(struct ws_run *r, struct arena *a, struct program_action *out);
void say_outputs(const struct ws_run *r, const struct run_state *s, struct arena *a,
                 struct program_action *out);
/* Does the log hide something of this JSON text, which looks like a credential (OBS-75)? */
bool run_hides(const struct run_state *s, struct str text);
bool run_hides_name(const struct run_state *s, struct str name); /* the same of a plain text */

/* --- run_world.c --- */
/* WS-109; NULL: memory is short. */
const struct plan_artifact *run_world_artifact(struct ws_run *r, const struct run_state *s,
                                               struct arena *a);

#endif
