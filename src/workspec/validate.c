/* validate.c: the phases of the validator in their order (2.3); see validate.h. */
#include "workspec/check_int.h"

#include "workspec/interpret.h"
#include <stdio.h>

/* --- phases --- */

/* Phase 1: c->sim, or R1. */
static bool check_root(struct check *c) {
    const struct ws_value *root = c->root, *sim = ws_object_of(ws_get(root, "simulation"));
    bool flat = ws_is(ws_get(root, "meta"), WS_OBJECT) ||
                ws_is(ws_get(root, "config"), WS_OBJECT) ||
                ws_is(ws_get(root, "tasks"), WS_ARRAY) || ws_is(ws_get(root, "objects"), WS_ARRAY);
    c->sim = sim != NULL ? sim : flat && !c->host ? root : NULL;
    if (c->sim != NULL) return true;
    ws_raise(c->r, WS_R1, root, at_text(c, "/simulation"),
             WS_FACTS(ws_fz("expected", "simulation")));
    return false;
}

static bool is_version(struct str s) {
    struct str major, minor;
    uint64_t unused;
    if (!str_cut(s, '.', &major, &minor) || major.n == 0 || minor.n == 0) return false;
    for (size_t i = 0; i < s.n; i++)
        if (i != major.n && !str_u64(str_n(s.p + i, 1), &unused)) return false;
    return true;
}

/* Phase 2. */
static bool check_version(struct check *c) {
    const struct ws_value *v = ws_get(c->sim, "schema_version");
    struct str s = ws_str(v), at = at_text(c, "/simulation/schema_version");
    const struct ws_value *where = v != NULL ? v : c->sim;
    if (s.n == 0) ws_raise(c->r, WS_R2, where, at, WS_FACTS(ws_fz("field", "schema_version")));
    else if (!is_version(s)) ws_raise(c->r, WS_R3, where, at, WS_FACTS(ws_ft("value", s)));
    else if (!str_eqc(s, "2.0"))
        ws_raise(c->r, WS_R4, where, at,
                 WS_FACTS(ws_ft("value", s), ws_fj("supported", STR("[\"2.0\"]"))));
    else return true;
    return false;
}

/* Phase 3. */
static void check_meta(struct check *c) {
    static const char *const NAMES[] = {"title", "description", "domain"};
    const struct ws_value *any = ws_get(c->sim, "meta"), *meta = ws_object_of(any);
    if (meta == NULL) {
        ws_raise(c->r, WS_R5, any != NULL ? any : c->sim, at_text(c, "/simulation/meta"),
                 WS_FACTS(ws_fz("field", "meta")));
        return;
    }
    char list[64] = "[";
    for (size_t i = 0; i < 3; i++) {
        size_t n = strlen(list);
        if (ws_blank(ws_get(meta, NAMES[i])))
            snprintf(list + n, sizeof list - n, "%s\"%s\"", n > 1 ? "," : "", NAMES[i]);
    }
    if (list[1] != '\0') {
        struct str missing = arena_printf(c->a, "%s]", list);
        ws_raise(c->r, WS_R6, meta, at_text(c, "/simulation/meta"),
                 WS_FACTS(ws_fj("missing", missing)));
    }
    const struct ws_value *old = ws_get(meta, "article_title");
    if (old != NULL)
        ws_raise(c->r, WS_R7, old, at_text(c, "/simulation/meta/article_title"),
                 WS_FACTS(ws_fz("field", "article_title")));
}

/* Phase 4. */
static void check_config(struct check *c) {
    static const char *const NAMES[] = {"start_time", "end_time", "currency", "locale"};
    const struct ws_value *any = ws_get(c->sim, "config");
    const struct ws_value *where = any != NULL ? any : c->sim;
    c->config = ws_object_of(any);
    if (c->config == NULL)
        ws_raise(c->r, WS_R8, where, at_text(c, "/simulation/config"),
                 WS_FACTS(ws_fz("field", "config")));
    const struct ws_value *unit = ws_get(c->config, "time_unit");
    c->unit = ws_unit_of(ws_str(unit));
    if (c->unit == WS_NO_UNIT)
        ws_raise(c->r, WS_R9, unit != NULL ? unit : where,
                 at_text(c, "/simulation/config/time_unit"), WS_FACTS(ws_fv("value", unit)));
    for (size_t i = 0; i < 4; i++) {
        const struct ws_value *v = ws_get(c->config, NAMES[i]);
        if (!ws_blank(v)) continue;
        ws_raise(c->r, WS_R10, v != NULL ? v : where,
                 arena_printf(c->a, "/simulation/config/%s", NAMES[i]),
                 WS_FACTS(ws_fz("field", NAMES[i])));
    }
}

/* Phase 5. */
static const struct ws_value *check_section(struct check *c, const char *name, enum ws_code code) {
    const struct ws_value *any = ws_get(c->sim, name);
    if (!ws_is(any, WS_OBJECT))
        ws_raise(c->r, code, any != NULL ? any : c->sim, arena_printf(c->a, "/simulation/%s", name),
                 WS_FACTS(ws_fz("field", name)));
    return ws_object_of(any);
}

/* The array in use: the new one, or with profile reference the legacy one beside an empty one. */
static const struct ws_value *array_pick(struct check *c, const struct ws_value *now,
                                         const char *old, const char **at, const char *legacy) {
    const struct ws_value *was = c->host ? NULL : ws_array_of(ws_get(c->sim, old));
    now = ws_array_of(now);
    if ((now != NULL && now->nr > 0) || was == NULL) return now;
    *at = legacy;
    return was;
}

/* Phase 6; false: the list ends here. */
static bool check_arrays(struct check *c) {
    const struct ws_value *wo = ws_get(c->world, "objects"), *pt = ws_get(c->process, "tasks");
    c->at_objects = "/simulation/world/objects";
    c->at_tasks = "/simulation/process/tasks";
    if (!ws_is(wo, WS_ARRAY))
        ws_raise(c->r, WS_R13,
                 wo != NULL         ? wo
                 : c->world != NULL ? c->world
                                    : c->sim,
                 at_text(c, c->at_objects),
                 WS_FACTS(ws_fz("field", "world.objects"), ws_fz("value_type", ws_typeof(wo))));
    if (!ws_is(pt, WS_ARRAY))
        ws_raise(c->r, WS_R14,
                 pt != NULL           ? pt
                 : c->process != NULL ? c->process
                                      : c->sim,
                 at_text(c, c->at_tasks),
                 WS_FACTS(ws_fz("field", "process.tasks"), ws_fz("value_type", ws_typeof(pt))));
    if (c->host) check_legacy(c);
    c->objects = array_pick(c, wo, "objects", &c->at_objects, "/simulation/objects");
    c->tasks = array_pick(c, pt, "tasks", &c->at_tasks, "/simulation/tasks");
    if (c->objects == NULL || c->tasks == NULL || c->unit == WS_NO_UNIT) return false;
    const struct ws_value *layout = ws_object_of(ws_get(c->world, "layout"));
    c->layout = layout != NULL || c->host ? layout : ws_object_of(ws_get(c->sim, "layout"));
    c->definitions = ws_object_of(ws_get(c->sim, "type_definitions"));
    return true;
}

/* Phase 17 of profile host: what running it would meet (H17). */
static void check_dry_run(struct check *c) {
    if (!c->host || c->options.no_dry_run || !ws_report_ok(c->r) || CHECK_FULL(c)) return;
    ws_dry_run(c->doc, c->options.zones, c->r);
}

static void check_content(struct check *c) {
    check_locations(c);
    check_objects(c);
    check_created(c);
    check_tasks(c);
    check_cycles(c);
    check_order(c);
    check_life(c);
    check_overlap(c);
    check_dependency_times(c);
    check_recipes(c);
    if (!c->host) check_stock(c);
    check_economics(c);
    check_unused(c);
    if (c->host) check_host_rules(c);
    check_dry_run(c);
}

static void check_document(struct check *c) {
    if (!check_limits(c)) return;
    if (!check_root(c) || !check_version(c)) return;
    check_meta(c);
    check_config(c);
    c->world = check_section(c, "world", WS_R11);
    c->process = check_section(c, "process", WS_R12);
    if (check_arrays(c)) check_content(c);
}

int ws_validate(const struct ws_doc *doc, const struct ws_options *o, struct ws_report *r,
                struct wopr_error *err) {
    struct check c = {.r = r, .a = r->a, .options = *o, .doc = doc, .root = doc->root};
    c.host = o->profile == WS_HOST;
    if (c.options.limits == NULL) c.options.limits = &WS_LIMITS_DEFAULT;
    ws_names_init(&c.object_ids, c.a);
    ws_names_init(&c.created, c.a);
    ws_names_init(&c.locations, c.a);
    ws_names_init(&c.task_ids, c.a);
    ws_names_init(&c.used, c.a);
    ws_bases_init(&c.bases, NULL, c.a);
    if (doc->excess.limit != NULL) ws_raise_excess(r, &doc->excess);
    else check_document(&c);
    if (arena_over(r->a)) ws_report_exhausted(r);
    else if (r->failed || arena_failed(r->a))
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to check the document");
    return 0;
}
