/*
 * run_inputs.c: what a caller brings into a run of a document, judged: the document is validated
 * and measured with it, and gives the first values of all variables (WS-96).
 */
#include "codec/fields.h"
#include "codec/jobj.h"
#include "workspec/run_int.h"

#define DETAILS_ROOM 1024 /* of a problem that goes into details */

/* The document with other objects. */
static const struct ws_value *root_with(const struct ws_program *p, const struct ws_value *objects,
                                        struct arena *a) {
    const struct ws_value *world = ws_get(p->plan.sim, "world"), *sim = NULL;
    world = ws_with(a, world, STR("objects"), objects);
    if (world != NULL) sim = ws_with(a, p->plan.sim, STR("world"), world);
    return sim != NULL ? ws_with(a, p->plan.root, STR("simulation"), sim) : NULL;
}

static bool any_zone(void *ctx, struct str name, int64_t utc_ms, int32_t *offset_s) {
    const struct ws_program *p = ctx;
    (void)name, (void)utc_ms;
    *offset_s = p->plan.offset_min * 60;
    return true;
}

static int inputs_refuse(const struct ws_report *r, struct wopr_error *err) {
    struct buf text;
    struct jobj o;
    size_t i = 0;
    while (i + 1 < r->nr && r->v[i].severity != WS_ERROR) i++;
    buf_init(&text, DETAILS_ROOM);
    ws_detail(&text, &r->v[i], false);
    int rc = wopr_error_at(err, WOPR_E_VALIDATION, "/inputs/world",
                           "with these values the document is not good: " STR_FMT,
                           STR_ARG(buf_str(&text)));
    buf_fini(&text);
    jobj_begin(&o, WOPR_DETAILS_SIZE);
    fields_begin(&o.w);
    fields_add(&o.w, STR("inputs.world"), ws_metric(r->v[i].code));
    fields_end(&o.w);
    jobj_details(&o, err);
    return rc;
}

static int inputs_validate(const struct ws_program *p, const struct ws_value *objects,
                           struct arena *a, struct wopr_error *err) {
    const struct ws_zones zones = {.offset = any_zone, .ctx = (void *)(uintptr_t)p};
    const struct ws_options o = {.zones = &zones};
    struct ws_doc doc = p->doc;
    struct ws_report r;
    doc.root = root_with(p, objects, a);
    if (doc.root == NULL) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a document");
    ws_report_init(&r, a);
    int rc = ws_validate(&doc, &o, &r, err);
    if (rc == 0 && !ws_report_ok(&r)) rc = inputs_refuse(&r, err);
    ws_report_fini(&r);
    return rc;
}

struct vars { /* of a world */
    struct arena *a, *scratch;
    struct var_init *v;
    size_t n, cap;
};

static void var_add(void *ctx, struct str object, struct str property,
                    const struct ws_value *value) {
    struct vars *x = ctx;
    if (x->n == x->cap) return;
    x->v[x->n++] =
        (struct var_init){.name = arena_str(x->a, ws_variable_name(x->scratch, object, property)),
                          .value = ws_written(x->a, value)};
}

static void var_count(void *ctx, struct str object, struct str property,
                      const struct ws_value *value) {
    struct vars *x = ctx;
    (void)object, (void)property, (void)value;
    x->cap++;
}

static int vars_make(const struct ws_program *p, const struct ws_value *objects,
                     struct arena *scratch, struct arena *a, struct var_inits *out,
                     struct wopr_error *err) {
    struct ws_plan plan = p->plan;
    struct vars x = {.a = a, .scratch = scratch};
    plan.objects = objects;
    const struct ws_world *world = ws_world_new(&plan, scratch);
    if (world != NULL) ws_world_each(world, var_count, &x);
    x.v = ARENA_ARRAY(a, struct var_init, x.cap);
    if (world != NULL && x.v != NULL) ws_world_each(world, var_add, &x);
    if (world == NULL || arena_failed(scratch) || arena_failed(a))
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a document");
    if (x.n > RUN_VARS_MAX)
        return wopr_error_at(err, WOPR_E_VALIDATION, "/inputs/world",
                             "a run has %zu properties at most", RUN_VARS_MAX);
    out->v = x.v;
    out->n = x.n;
    return 0;
}

int run_inputs_read(const struct workflow *wf, struct str inputs, bool accepted, struct arena *a,
                    struct var_inits *out, struct wopr_error *err) {
    const struct ws_program *p = wf->compiled;
    struct str world = json_get(inputs, "world");
    struct json_members m;
    const struct ws_value *objects;
    struct var_inits r = {0};
    struct run_needs needs = {0, 0, 0};
    int rc = json_members(inputs, a, &m, err);
    if (rc == 0 && (m.n != 1 || world.n == 0)) {
        rc = wopr_error_at(err, WOPR_E_VALIDATION, "/inputs",
                           "a document takes one input, world: object id to property to value");
        wopr_error_details(err, "{\"fields\":[{\"path\":\"inputs\",\"reason\":\"undeclared\"}]}");
    }
    if (rc != 0) return rc;
    struct arena *scratch = arena_new(WS_ARENA_BYTES_MAX);
    if (scratch == NULL) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a document");
    rc = run_objects(p, inputs, scratch, &objects, err);
    if (rc == 0 && !accepted) rc = inputs_validate(p, objects, scratch, err);
    if (rc == 0 && !accepted) rc = ws_measure(p, objects, &needs, err);
    if (rc == 0) rc = vars_make(p, objects, scratch, a, &r, err);
    arena_free(scratch);
    r.needs = needs;
    r.accepted = jobj_of(a, "world", world);
    if (rc == 0 && r.accepted.p == NULL)
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a document");
    if (rc == 0) *out = r;
    return rc;
}
