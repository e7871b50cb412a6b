/*
 * catalogue.c: the workflows that can be started here, compiled when they are added (WR-221,
 * WR-222).
 */
#include "base/near.h"
#include "codec/jobj.h"
#include "rail/rail_int.h"
#include "workrail/interpret.h"
#include "workrail/prompt.h"

enum { CATALOGUE_BYTES_MAX = 1 << 20, NEAR_MAX = 3, NEAR_ID_MAX = 128 };

static int workflow_cmp(const struct rail_workflow *w, struct str id) {
    return str_cmp(w->compiled.id, id);
}

/* The place of an id: the first that is not before it. */
static size_t place_of(const struct rail *r, struct str id) {
    size_t lo = 0, hi = r->workflows_nr;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (workflow_cmp(&r->workflows[mid], id) < 0) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

const struct rail_workflow *rail_workflow_find(const struct rail *r, struct str id) {
    size_t at = place_of(r, id);
    bool found = at < r->workflows_nr && workflow_cmp(&r->workflows[at], id) == 0;
    return found ? &r->workflows[at] : NULL;
}

size_t rail_workflows(const struct rail *r, const struct rail_workflow **out) {
    *out = r->workflows;
    return r->workflows_nr;
}

static int room_make(struct rail *r, struct wr_fault *f) {
    if (r->workflows_nr < r->workflows_cap) return 0;
    size_t cap = r->workflows_cap ? r->workflows_cap * 2 : 16;
    struct rail_workflow *v = ARENA_ARRAY(r->arena, struct rail_workflow, cap);
    if (!v) return wr_no_memory(f);
    if (r->workflows_nr > 0) memcpy(v, r->workflows, r->workflows_nr * sizeof *v);
    r->workflows = v;
    r->workflows_cap = cap;
    return 0;
}

int rail_workflow_add(struct rail *r, struct str source, enum wr_source_kind kind, struct str ref,
                      struct wr_fault *f) {
    struct wr_problems problems = {NULL, 0, 0};
    struct rail_workflow w = {
        .source = arena_str(r->arena, source), .ref = arena_str(r->arena, ref), .kind = kind};
    int rc = arena_failed(r->arena)
                 ? wr_no_memory(f)
                 : wr_compile(w.source, kind, r->arena, &w.compiled, &problems, f);
    if (rc == 0) rc = room_make(r, f);
    if (rc != 0) return rc;
    size_t at = place_of(r, w.compiled.id);
    if (at < r->workflows_nr && workflow_cmp(&r->workflows[at], w.compiled.id) == 0)
        return wr_fail(f, WR_COMPILE_ERROR, "/id", "another workflow here has the id '" STR_FMT "'",
                       STR_ARG(w.compiled.id));
    memmove(&r->workflows[at + 1], &r->workflows[at],
            (r->workflows_nr - at) * sizeof *r->workflows);
    r->workflows[at] = w;
    r->workflows_nr++;
    return 0;
}

/* --- list_workflows --- */
static const char *const SOURCE_KINDS[] = {"bundled", "user", "project", "remote", "plugin"};

static void row_write(struct jw *w, const struct rail_workflow *f, struct arena *a) {
    const struct wr_workflow *c = &f->compiled;
    bool legacy = wr_workflow_id_form(c->id) == WR_FORM_LEGACY;
    jw_object(w);
    jw_kstr(w, "workflowId", c->id);
    jw_kstr(w, "name", c->name.n > 0 ? c->name : c->id);
    jw_kstr(w, "description", c->description);
    jw_kstr(w, "version", c->version);
    jw_kstrz(w, "kind", "workflow");
    jw_kstr(w, "workflowHash", wr_digest_str(&c->hash));
    jw_kstrz(w, "idStatus", legacy ? "legacy" : "namespaced");
    if (legacy)
        jw_kstr_opt(w, "suggestedId",
                    wr_workflow_id_suggest(c->id, f->kind, f->source, NULL, NULL, a));
    jw_kstrz(w, "sourceKind", SOURCE_KINDS[f->kind]);
    jw_end_object(w);
}

static bool is_legacy(const struct rail_workflow *w) {
    return wr_workflow_id_form(w->compiled.id) == WR_FORM_LEGACY;
}

/* Legacy ids have no namespace, so they come first; within, ids are in order (WR-221). */
int rail_list(struct rail_op *o, struct str *json) {
    const struct rail *r = o->rail;
    struct jobj b;
    jobj_begin(&b, CATALOGUE_BYTES_MAX);
    jw_key(&b.w, "workflows");
    jw_array(&b.w);
    for (int legacy = 1; legacy >= 0; legacy--)
        for (size_t i = 0; i < r->workflows_nr; i++)
            if (is_legacy(&r->workflows[i]) == (legacy == 1))
                row_write(&b.w, &r->workflows[i], o->a);
    jw_end_array(&b.w);
    *json = jobj_end(&b, o->a);
    return json->p ? 0 : wr_no_memory(o->f);
}

/* --- inspect_workflow --- */

/* Steps without what only an agent that got there is shown. */
static void steps_write(struct jw *w, struct str steps, struct arena *a, int *rc) {
    static const char *const HIDDEN[] = {"prompt", "promptBlocks", "functionDefinitions"};
    struct json_elements l;
    struct json_members m;
    struct wopr_error err;
    *rc = json_elements(steps, a, &l, &err);
    jw_array(w);
    for (size_t i = 0; *rc == 0 && i < l.n; i++) {
        *rc = json_members(l.v[i], a, &m, &err);
        jw_object(w);
        for (size_t k = 0; *rc == 0 && k < m.n; k++) {
            bool hidden = false;
            for (size_t h = 0; h < sizeof HIDDEN / sizeof *HIDDEN; h++)
                hidden = hidden || str_eqc(m.v[k].key, HIDDEN[h]);
            if (hidden) continue;
            jw_key_str(w, m.v[k].key);
            jw_raw(w, m.v[k].raw);
        }
        jw_end_object(w);
    }
    jw_end_array(w);
}

static int compiled_write(struct jw *w, const struct wr_workflow *c, struct arena *a) {
    struct json_members m;
    struct wopr_error err;
    int rc = json_members(c->bytes, a, &m, &err);
    jw_key(w, "compiled");
    jw_object(w);
    for (size_t i = 0; rc == 0 && i < m.n; i++) {
        if (str_eqc(m.v[i].key, "functionDefinitions")) continue;
        jw_key_str(w, m.v[i].key);
        if (str_eqc(m.v[i].key, "steps")) steps_write(w, m.v[i].raw, a, &rc);
        else jw_raw(w, m.v[i].raw);
    }
    jw_end_object(w);
    return rc;
}

/* What an agent would be asked first, without a context: a preview shows it as it would read it.
 * *step NULL: nothing. */
static int first_step(struct rail_op *o, const struct wr_workflow *c, const struct wr_step **step,
                      struct str *prompt) {
    const struct wr_state init = {.kind = WR_S_INIT};
    struct wr_next next;
    *step = NULL;
    int rc = wr_interpret(c, &init, STR_NONE, NULL, o->a, &next, o->f);
    if (rc != 0 || next.state.pending == 0) return rc;
    size_t at = wr_workflow_step(c, next.state.step.step_id);
    if (at == WR_NO_AT) return 0;
    *step = &c->steps.v[at];
    return wr_prompt_text(c, *step, STR_NONE, o->a, prompt) == 0 ? 0 : wr_no_memory(o->f);
}

/* Ids in order around the place where it would be, and the one that was probably meant. */
static void near_tell(struct rail_op *o, struct str id, const char *hint) {
    const struct rail *r = o->rail;
    size_t at = place_of(r, id), from = at > 1 ? at - 1 : 0;
    struct jobj b;
    jobj_begin(&b, WOPR_DETAILS_SIZE);
    jw_key(&b.w, "near");
    jw_array(&b.w);
    for (size_t i = from; i < r->workflows_nr && i < from + NEAR_MAX; i++)
        if (r->workflows[i].compiled.id.n <= NEAR_ID_MAX) jw_str(&b.w, r->workflows[i].compiled.id);
    jw_end_array(&b.w);
    jw_kstr(&b.w, "suggestion",
            arena_printf(o->a, "Call list_workflows for all that can be started%s", hint));
    jobj_details(&b, &o->f->e);
}

int rail_workflow_unknown(struct rail_op *o, struct str id) {
    const struct rail *r = o->rail;
    char hint[NEAR_HINT];
    struct near near;
    near_init(&near, id);
    for (size_t i = 0; i < r->workflows_nr; i++) near_try(&near, r->workflows[i].compiled.id);
    (void)near_hint(&near, hint);
    int rc = wr_fail(o->f, WR_NOT_FOUND, "workflowId",
                     "workflowId names no workflow of this host%s; call list_workflows for those "
                     "there are",
                     hint);
    near_tell(o, id, hint);
    return rc;
}

int rail_inspect(struct rail_op *o, const struct wr_call *call, struct str *json) {
    const struct rail_workflow *f = rail_workflow_find(o->rail, call->workflow_id);
    bool metadata = str_eqc(call->mode, "metadata");
    struct jobj b;
    const struct wr_step *first = NULL;
    struct str prompt = STR_NONE;
    if (!f) return rail_workflow_unknown(o, call->workflow_id);
    int rc = metadata ? 0 : first_step(o, &f->compiled, &first, &prompt);
    if (rc != 0) return rc;
    jobj_begin(&b, CATALOGUE_BYTES_MAX);
    jw_kstr(&b.w, "workflowId", f->compiled.id);
    jw_kstr(&b.w, "workflowHash", wr_digest_str(&f->compiled.hash));
    jw_kstrz(&b.w, "mode", metadata ? "metadata" : "preview");
    rc = compiled_write(&b.w, &f->compiled, o->a);
    if (first) {
        jw_key(&b.w, "firstStep");
        jw_object(&b.w);
        jw_kstr(&b.w, "stepId", first->id);
        jw_kstr(&b.w, "title", first->title);
        jw_kstr(&b.w, "prompt", prompt);
        jw_end_object(&b.w);
    }
    *json = jobj_end(&b, o->a);
    return rc == 0 && json->p ? 0 : wr_no_memory(o->f);
}
