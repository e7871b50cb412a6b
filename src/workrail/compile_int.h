/*
 * compile_int.h: a workflow while it is compiled.  Layer: workrail, private to compile*.c.
 *
 * Each pass collects all that is wrong in it; the next one begins only when nothing was.
 */
#ifndef WOPR_WORKRAIL_COMPILE_INT_H
#define WOPR_WORKRAIL_COMPILE_INT_H

#include "workrail/compile.h"

struct part { /* a piece of a prompt block: text, or a snippet that is looked up */
    struct str text, ref_id, pointer;
};
struct parts {
    struct part *v;
    size_t nr, cap;
};
struct blocks { /* of a step, while it is compiled */
    bool given;
    struct parts goal, constraints, procedure, verify;
    struct wr_functions output; /* key and text, sorted */
    struct str extra;           /* constraints that features add, as lines, to a prompt of text */
};
struct build {
    struct arena *a;
    struct wr_problems *problems;
    const char *pass;
    bool no_memory;
    enum wr_source_kind kind;
    struct wr_workflow *w;
    struct blocks *blocks; /* one for each step */
    struct str *pointers;  /* of each step in the source */
    size_t steps_cap, blocks_cap, pointers_cap, loops_cap, warnings_nr, warnings_cap;
    struct str *warnings; /* JSON objects */
    struct map *ids;      /* of steps and loops */
};

/* --- compile_source.c: reading --- */
/* A problem, or a warning that is not an error. */
void build_wrong(struct build *b, struct str pointer, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool build_good(const struct build *b); /* nothing was wrong so far, and memory sufficed */
struct str build_at(struct build *b, struct str pointer, const char *name);
struct str build_at_nr(struct build *b, struct str pointer, size_t i);
/* An object whose members are asked for one by one; what nobody asked for is unknown. */
struct object {
    struct build *b;
    struct json_members m;
    bool *used;
    struct str pointer;
};
bool object_open(struct build *b, struct str raw, struct str pointer, struct object *out);
struct str object_raw(struct object *o, const char *name); /* STR_NONE: absent */
/* A text that is not empty; STR_NONE: absent, or wrong and said so.  due: absent is wrong. */
struct str object_text(struct object *o, const char *name, bool due);
bool object_flag(struct object *o, const char *name);
/* A list; n 0 when absent.  due: absent or empty is wrong. */
struct json_elements object_list(struct object *o, const char *name, bool due);
int object_choice(struct object *o, const char *name, const char *const *names, size_t nr);
void object_close(struct object *o); /* unknown members are wrong */

/* --- compile_items.c: steps and loops --- */
void build_items(struct build *b, struct json_elements list, struct str pointer, unsigned depth,
                 struct wr_items *out);
void build_probe(struct build *b, enum wr_capability c, struct str step_id, struct str pointer,
                 struct wr_items *out);
void build_functions(struct object *o, struct wr_functions *out);

/* --- compile_sight.c: functions that steps name; after loops were sorted by their ids --- */
void build_sight(struct build *b);

/* --- compile_blocks.c: prompts --- */
void build_blocks(struct build *b, struct str raw, struct str pointer, struct blocks *out);
void build_features(struct build *b); /* pass "features" */
void build_refs(struct build *b);     /* pass "refs" */
void build_prompts(struct build *b);  /* pass "blocks", then "scan" */

#endif
