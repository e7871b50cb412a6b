/*
 * compile_items.c: steps, loops and calls of templates (passes "source" and "templates").
 * Recursion ends at WR_LOOP_DEPTH_MAX.
 */
#include "base/map.h"
#include "base/vec.h"
#include "workrail/compile_int.h"
#include "workrail/condition.h"
#include "workrail/criteria.h"
#include "workrail/registry.h"

enum { FIRST_CAP = 16, FUNCTIONS_MAX = 200 }; /* of one place: they are compared in pairs */

/* A failure inside a member, told at its place in the source. */
static void wrong_inside(struct build *b, struct str pointer, const struct wr_fault *f) {
    if (f->e.code == WOPR_E_NO_MEMORY) b->no_memory = true;
    else
        build_wrong(b, arena_printf(b->a, STR_FMT "%s", STR_ARG(pointer), f->e.pointer), "%s",
                    f->e.message);
}

/* --- names --- */

static void id_claim(struct build *b, struct str id, struct str pointer) {
    void *old;
    if (id.p == NULL) return;
    if (map_put(b->ids, id, b, &old) != 0) b->no_memory = true;
    else if (old != NULL)
        build_wrong(b, pointer,
                    "the id " STR_FMT " is there twice; ids of steps and loops are one "
                    "namespace",
                    STR_ARG(id));
}

/* An id of an author: without dots, which only expansion makes (WR-194, Q-3). */
static struct str id_take(struct object *o, const char *name, bool due) {
    struct str id = object_text(o, name, due);
    if (id.p == NULL || wr_word_good(id)) return id;
    build_wrong(o->b, build_at(o->b, o->pointer, name),
                "%s is made of a-z, 0-9, _ and -, at most 128 of them", name);
    return STR_NONE;
}

/* --- functions --- */

static bool function_read(struct build *b, struct str raw, struct str pointer,
                          struct wr_function *out) {
    struct object o;
    if (!object_open(b, raw, pointer, &o)) return false;
    out->name = object_text(&o, "name", true);
    out->definition = object_text(&o, "definition", true);
    object_close(&o);
    return out->name.p != NULL && out->definition.p != NULL;
}

void build_functions(struct object *o, struct wr_functions *out) {
    struct json_elements e = object_list(o, "functionDefinitions", false);
    struct str at = build_at(o->b, o->pointer, "functionDefinitions");
    if (e.n > FUNCTIONS_MAX) build_wrong(o->b, at, "there are more than %d of them", FUNCTIONS_MAX);
    if (e.n == 0 || e.n > FUNCTIONS_MAX) return;
    out->v = ARENA_ARRAY(o->b->a, struct wr_function, e.n);
    for (size_t i = 0; out->v != NULL && i < e.n; i++)
        if (function_read(o->b, e.v[i], build_at_nr(o->b, at, i), &out->v[out->nr])) out->nr++;
    for (size_t i = 0; i < out->nr; i++)
        for (size_t k = 0; k < i; k++)
            if (str_eq(out->v[i].name, out->v[k].name))
                build_wrong(o->b, build_at_nr(o->b, at, i), "the function is defined twice");
}

static void function_refs(struct object *o, struct wr_texts *out) {
    struct json_elements e = object_list(o, "functionReferences", false);
    struct str at = build_at(o->b, o->pointer, "functionReferences");
    if (e.n > FUNCTIONS_MAX) build_wrong(o->b, at, "there are more than %d of them", FUNCTIONS_MAX);
    if (e.n == 0 || e.n > FUNCTIONS_MAX) return;
    out->v = ARENA_ARRAY(o->b->a, struct str, e.n);
    for (size_t i = 0; out->v != NULL && i < e.n; i++) {
        struct str name = json_string(e.v[i], o->b->a);
        if (name.n == 0) build_wrong(o->b, build_at_nr(o->b, at, i), "a name of a function is due");
        else out->v[out->nr++] = name;
    }
}

/* --- steps --- */

static struct wr_step *step_push(struct build *b, struct str pointer, struct str id,
                                 struct wr_items *out) {
    struct wr_workflow *w = b->w;
    if (w->steps.nr == WR_STEPS_MAX) {
        build_wrong(b, pointer, "there are more than %d steps", WR_STEPS_MAX);
        return NULL;
    }
    if (VEC_ROOM_IN(b->a, w->steps.v, w->steps.nr, b->steps_cap, FIRST_CAP) != 0 ||
        VEC_ROOM_IN(b->a, b->blocks, w->steps.nr, b->blocks_cap, FIRST_CAP) != 0 ||
        VEC_ROOM_IN(b->a, b->pointers, w->steps.nr, b->pointers_cap, FIRST_CAP) != 0) {
        b->no_memory = true;
        return NULL;
    }
    b->blocks[w->steps.nr] = (struct blocks){.given = false};
    b->pointers[w->steps.nr] = pointer;
    out->v[out->nr++] = (struct wr_item){.loop = 0, .id = id};
    struct wr_step *s = &w->steps.v[w->steps.nr++];
    *s = (struct wr_step){.id = id};
    return s;
}

/* output.contractRef, or outputContract.contractRef (WR-201). */
static struct str contract_named(struct object *o, const char *member, struct str *hints) {
    struct object in;
    struct str raw = object_raw(o, member), ref;
    if (raw.p == NULL || !object_open(o->b, raw, build_at(o->b, o->pointer, member), &in))
        return STR_NONE;
    ref = object_text(&in, "contractRef", true);
    if (hints != NULL) *hints = object_raw(&in, "hints");
    object_close(&in);
    return ref;
}

static void contract_take(struct object *o, struct wr_step *s) {
    char hint[128];
    struct str one = contract_named(o, "output", &s->hints),
               two = contract_named(o, "outputContract", NULL);
    if (one.p != NULL && two.p != NULL && !str_eq(one, two))
        build_wrong(o->b, o->pointer, "output and outputContract name different contracts");
    s->contract_ref = one.p != NULL ? one : two;
    if (s->contract_ref.p != NULL && wr_builtin_contract(s->contract_ref) == NULL)
        build_wrong(o->b, o->pointer, "the contract is unknown%s",
                    wr_builtin_hint(s->contract_ref, hint, sizeof hint));
}

static struct str canonical_of(struct build *b, struct str raw) {
    struct str out = STR_NONE;
    if (raw.p != NULL && wr_canonical(raw, &JSON_LIMITS_STORED, b->a, &out, NULL) != 0)
        b->no_memory = true;
    return out;
}

static void criteria_take(struct object *o, struct wr_step *s) {
    struct wr_fault f;
    struct str raw = object_raw(o, "validationCriteria"),
               at = build_at(o->b, o->pointer, "validationCriteria");
    if (raw.p == NULL) return;
    if (wr_criteria_check(raw, o->b->a, &f) != 0) wrong_inside(o->b, at, &f);
    else s->criteria = raw; /* canonical when the whole is: build_criteria */
}

static void condition_take(struct object *o, struct wr_step *s) {
    struct wr_fault f;
    struct str raw = object_raw(o, "runCondition");
    if (raw.p == NULL) return;
    if (wr_condition_check(raw, o->b->a, &f) != 0)
        wrong_inside(o->b, build_at(o->b, o->pointer, "runCondition"), &f);
    s->run_condition = canonical_of(o->b, raw);
}

static void prompt_take(struct object *o, struct wr_step *s, struct blocks *blocks) {
    struct str raw = object_raw(o, "promptBlocks");
    s->prompt = object_text(o, "prompt", false);
    if ((raw.p != NULL) == (json_member_find(&o->m, "prompt") != NULL))
        build_wrong(o->b, o->pointer, "a step has either prompt or promptBlocks");
    else if (raw.p != NULL)
        build_blocks(o->b, raw, build_at(o->b, o->pointer, "promptBlocks"), blocks);
}

static void step_read(struct object *o, struct wr_items *out) {
    struct build *b = o->b;
    struct str id = id_take(o, "id", true);
    struct wr_step *s = step_push(b, o->pointer, id, out);
    if (s == NULL) return;
    id_claim(b, id, o->pointer);
    s->title = object_text(o, "title", true);
    s->agent_role = object_text(o, "agentRole", false);
    s->confirm = object_flag(o, "requireConfirmation");
    s->notes_optional = object_flag(o, "notesOptional");
    prompt_take(o, s, &b->blocks[b->w->steps.nr - 1]);
    contract_take(o, s);
    s->hints = canonical_of(b, s->hints);
    criteria_take(o, s);
    condition_take(o, s);
    function_refs(o, &s->function_refs);
    build_functions(o, &s->functions);
    object_close(o);
}

/* --- loops --- */

static struct str while_read(struct object *o) {
    struct object in;
    struct str raw = object_raw(o, "while"), id;
    if (raw.p == NULL) {
        build_wrong(o->b, o->pointer,
                    "while is missing: {\"kind\":\"condition_ref\",\"conditionId\":...}");
        return STR_NONE;
    }
    if (!object_open(o->b, raw, build_at(o->b, o->pointer, "while"), &in)) return STR_NONE;
    struct str kind = object_text(&in, "kind", true);
    if (kind.p != NULL && !str_eqc(kind, "condition_ref"))
        build_wrong(o->b, in.pointer, "kind is condition_ref; expressions are not known here");
    id = id_take(&in, "conditionId", true);
    object_close(&in);
    return id;
}

static int64_t passes_read(struct object *o) {
    int64_t n = 0;
    struct str raw = object_raw(o, "maxIterations");
    if (raw.p == NULL || json_type_of(raw) != JSON_NUMBER || !json_int(raw, &n) || n < 1 ||
        n > INT32_MAX)
        build_wrong(o->b, o->pointer, "maxIterations is a number of passes, at least 1");
    return n;
}

/* Loops of other releases have another form altogether; one sentence says so. */
static bool loop_foreign(struct object *o) {
    if (json_member_find(&o->m, "loop") == NULL) return false;
    build_wrong(o->b, o->pointer,
                "loop is a feature of other releases: for, until, forEach and "
                "their variables are not known here; use loopId, while, "
                "maxIterations and body");
    return true;
}

static void loop_read(struct object *o, unsigned depth, struct wr_items *out) {
    struct build *b = o->b;
    if (loop_foreign(o)) return;
    struct wr_loop loop = {.id = id_take(o, "loopId", true)};
    if (depth == WR_LOOP_DEPTH_MAX) {
        build_wrong(b, o->pointer, "loops are nested more than %d deep", WR_LOOP_DEPTH_MAX);
        return;
    }
    id_claim(b, loop.id, o->pointer);
    loop.title = object_text(o, "title", false);
    loop.condition_id = while_read(o);
    loop.max_iterations = passes_read(o);
    build_functions(o, &loop.functions);
    build_items(b, object_list(o, "body", true), build_at(b, o->pointer, "body"), depth + 1,
                &loop.body);
    object_close(o);
    if (VEC_ROOM_IN(b->a, b->w->loops.v, b->w->loops.nr, b->loops_cap, FIRST_CAP) != 0) {
        b->no_memory = true;
        return;
    }
    b->w->loops.v[b->w->loops.nr++] = loop;
    out->v[out->nr++] = (struct wr_item){.loop = 1, .id = loop.id};
}

/* --- templates --- */

void build_probe(struct build *b, enum wr_capability c, struct str step_id, struct str pointer,
                 struct wr_items *out) {
    static const char *const TITLES[] = {"Probe: delegation", "Probe: web browsing"};
    static const char *const PROMPTS[] = {
        "Find out whether you can hand a part of the work to a helper agent. Try it once with a "
        "trivial task; do not assume. Report what you saw.",
        "Find out whether you can read pages of the web. Fetch one public page; do not assume. "
        "Report what you saw."};
    struct wr_step *s = step_push(b, pointer, step_id, out);
    if (s == NULL) return;
    id_claim(b, step_id, pointer);
    s->title = str_c(TITLES[c]);
    s->prompt = str_c(PROMPTS[c]);
    s->contract_ref = STR(WR_CAPABILITY_REF);
    s->origin = WR_TEMPLATE;
    s->origin_id = STR(WR_PROBE_TEMPLATE);
}

static void template_read(struct object *o, struct wr_items *out) {
    static const char *const CAPABILITIES[] = {"delegation", "web_browsing"};
    char hint[128];
    struct build *b = o->b;
    struct object params;
    struct str caller = id_take(o, "id", false), id = object_text(o, "templateId", true),
               raw = object_raw(o, "params");
    object_close(o);
    if (id.p == NULL) return;
    if (wr_builtin_template(id) == NULL) {
        build_wrong(b, o->pointer, "the template is unknown%s",
                    wr_builtin_hint(id, hint, sizeof hint));
        return;
    }
    if (raw.p == NULL) raw = STR("{}");
    if (!object_open(b, raw, build_at(b, o->pointer, "params"), &params)) return;
    int c = object_choice(&params, "capability", CAPABILITIES, 2);
    if (json_member_find(&params.m, "capability") == NULL)
        build_wrong(b, params.pointer, "capability is missing");
    object_close(&params);
    if (c < 0) return;
    struct str step_id =
        caller.p != NULL ? arena_printf(b->a, STR_FMT ".probe_%s", STR_ARG(caller), CAPABILITIES[c])
                         : arena_printf(b->a, "probe_%s", CAPABILITIES[c]);
    build_probe(b, (enum wr_capability)c, step_id, o->pointer, out);
}

/* --- lists --- */

void build_items(struct build *b, struct json_elements list, struct str pointer, unsigned depth,
                 struct wr_items *out) {
    struct object o;
    out->v = out->v != NULL ? out->v : ARENA_ARRAY(b->a, struct wr_item, list.n);
    for (size_t i = 0; out->v != NULL && i < list.n && !b->no_memory; i++) {
        if (!object_open(b, list.v[i], build_at_nr(b, pointer, i), &o)) continue;
        struct str type = object_text(&o, "type", false);
        if (type.p == NULL || str_eqc(type, "step")) step_read(&o, out);
        else if (str_eqc(type, "loop")) loop_read(&o, depth, out);
        else if (str_eqc(type, "template_call")) template_read(&o, out);
        else build_wrong(b, build_at(b, o.pointer, "type"), "type is step, loop or template_call");
    }
}
