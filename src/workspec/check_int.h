/*
 * check_int.h: what the phases of the validator share.  Layer: workspec, private to check*.c and
 * validate.c.
 */
#ifndef WOPR_WORKSPEC_CHECK_INT_H
#define WOPR_WORKSPEC_CHECK_INT_H

#include "workspec/validate.h"

struct check_object { /* of a registered id: the last entry that has it */
    struct str type;
    const struct ws_value *value;
};
struct check_dep {
    const struct ws_value *value;
    bool any;
};
struct check_task {
    const struct ws_value *value;
    struct str id; /* trimmed; empty: no task */
    bool start_good, duration_good;
    bool timed; /* the one that its id means, and it has begin and end */
    struct ws_start start;
    struct ws_duration duration;
    double minutes;                 /* profile reference: of the duration */
    size_t timed_at;                /* the task of the same id whose times they are */
    double begin, end;              /* minutes, or in profile host ms */
    const struct ws_value *actions; /* its interactions, an array or NULL */
    struct check_dep *deps;         /* all before any */
    size_t deps_nr;
};
struct check {
    struct ws_report *r;
    struct arena *a;
    bool host;
    struct ws_options options;
    const struct ws_doc *doc;
    const struct ws_value *root, *sim, *config, *world, *process, *layout, *definitions;
    const struct ws_value *objects, *tasks; /* arrays */
    const char *at_objects, *at_tasks;      /* O and K of the contract */
    enum ws_unit unit;
    struct ws_timeline timeline;
    bool zone_good;

    struct ws_names object_ids; /* raw id -> registered */
    struct check_object *registered;
    size_t registered_nr;
    struct ws_names created; /* ids of creations -> first_created */
    const struct ws_value **first_created;
    size_t created_nr, created_cap;
    struct ws_names locations, task_ids, used;
    bool locations_given;
    struct ws_bases bases; /* of definitions, when there are any */
    struct check_task *task;
    size_t tasks_nr;
    size_t *order; /* tasks with timing by (begin, index) */
    size_t order_nr;
};

/* Pointers; "/simulation/process/tasks/3" and on. */
struct str at_object(struct check *c, size_t i, const char *rest);
struct str at_task(struct check *c, size_t i, const char *rest);
struct str at_action(struct check *c, size_t i, size_t j, const char *rest);
struct str at_change(struct check *c, size_t i, size_t j, struct str property, const char *rest);
struct str at_text(struct check *c, const char *pointer);
#define CHECK_FULL(c) ((c)->r->full || (c)->r->failed)

enum ws_base check_base(struct check *c, struct str type);
bool check_known(const struct check *c, struct str raw_id);
/* The registered object of an id, or NULL. */
const struct check_object *check_registered(const struct check *c, struct str id);
/* The form of an interaction: its action, trimmed; empty: a change of properties. */
struct str check_action(const struct ws_value *interaction);
void check_out_of_memory(struct check *c);

/* check_object.c: phases 6 (locations) to 8 */
void check_locations(struct check *c);
void check_objects(struct check *c);
void check_created(struct check *c);
/* R17 to R20 and R22 of an object; `where` names it (facts_more: of a created one). */
struct check_where {
    struct str base;            /* pointer of the object */
    const struct ws_fact *more; /* ends with a NULL name */
};
void check_identity(struct check *c, const struct ws_value *v, const struct check_where *w);
bool check_identity_complete(struct check *c, const struct ws_value *v, const struct check_where *w,
                             struct ws_fact index);
void check_location_ref(struct check *c, const struct ws_value *v, enum ws_code code,
                        struct str instance, const struct ws_fact *facts);
/* check_task.c: phases 9, 10 */
void check_tasks(struct check *c);
/* check_action.c: the interactions of a task */
void check_actions(struct check *c, size_t i);
bool check_is_operator(struct str name);
/* check_graph.c: phase 11 */
void check_cycles(struct check *c);
/* check_replay.c: phases 12 to 14 */
void check_order(struct check *c);
void check_life(struct check *c);
void check_overlap(struct check *c);
void check_dependency_times(struct check *c);
/* check_flow.c: phases 15 to 18 */
void check_recipes(struct check *c);
void check_stock(struct check *c);
void check_economics(struct check *c);
void check_unused(struct check *c);
/* check_host.c, check_field.c: the rules of profile host */
bool check_limits(struct check *c);
void check_legacy(struct check *c);
void check_host_rules(struct check *c);
void check_fields(struct check *c);

#endif
