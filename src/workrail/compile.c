/*
 * compile.c: see compile.h: the document, and the passes in their order (WR-190).
 */
#include "workrail/compile.h"

#include "base/map.h"
#include "base/vec.h"
#include "workrail/compile_int.h"
#include "workrail/criteria.h"
#include "workrail/registry.h"

#include <stdio.h>
#include <stdlib.h>

enum { DEPTH_MAX = 64, FIRST_CAP = 4 };

/* --- ids of workflows --- */

static bool id_segment(struct str s) {
    if (s.n == 0 || s.p[0] < 'a' || s.p[0] > 'z') return false;
    return wr_word_good(s);
}

enum wr_id_form wr_workflow_id_form(struct str id) {
    struct str space, name;
    if (str_cut(id, '.', &space, &name))
        return id_segment(space) && id_segment(name) ? WR_FORM_NAMESPACED : WR_FORM_BAD;
    return wr_word_good(id) ? WR_FORM_LEGACY : WR_FORM_BAD;
}

struct str wr_workflow_id_suggest(struct str legacy, enum wr_source_kind kind, struct str source,
                                  bool (*taken)(void *ctx, struct str id), void *ctx,
                                  struct arena *a) {
    static const char *const SPACES[] = {"wr", "user", "project", "repo", "repo"};
    struct sha256 d = sha256_of(source);
    char hex[65];
    char *name = arena_alloc(a, legacy.n + 1);
    if (name == NULL) return STR_NONE;
    for (size_t i = 0; i < legacy.n; i++) {
        char c = legacy.p[i];
        name[i] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c == '-' ? '_' : c;
    }
    struct str id = arena_printf(a, "%s.%s", SPACES[kind], name);
    if (taken == NULL || id.p == NULL || !taken(ctx, id)) return id;
    sha256_hex(&d, hex);
    return arena_printf(a, STR_FMT "_%.4s", STR_ARG(id), hex);
}

static void id_check(struct build *b, struct str id) {
    if (id.p == NULL) return;
    enum wr_id_form form = wr_workflow_id_form(id);
    if (form == WR_FORM_BAD || id.n > 128)
        build_wrong(b, STR("/id"),
                    "an id is NAMESPACE.NAME, each of a-z, 0-9, _ and -, beginning "
                    "with a letter, with exactly one dot");
    else if (str_starts(id, STR("wr.")) && b->kind != WR_BUNDLED)
        build_wrong(b, STR("/id"), "wr.* is kept for workflows that are part of the program");
}

/* --- warnings --- */

static void warning_add(struct build *b, struct str json) {
    if (json.p == NULL || VEC_ROOM_IN(b->a, b->warnings, b->warnings_nr, b->warnings_cap, 4) != 0)
        b->no_memory = true;
    else b->warnings[b->warnings_nr++] = json;
}

static void warnings_find(struct build *b) {
    struct wr_workflow *w = b->w;
    if (wr_workflow_id_form(w->id) == WR_FORM_LEGACY)
        warning_add(b, STR("{\"code\":\"legacy_workflow_id\"}"));
    for (size_t i = 0; i < w->steps.nr; i++) {
        const struct wr_step *s = &w->steps.v[i];
        if (s->criteria.p != NULL && wr_criteria_one_contains(s->criteria, b->a))
            warning_add(b, arena_printf(b->a,
                                        "{\"code\":\"flag_only_validation\",\"stepId\":\"" STR_FMT
                                        "\"}",
                                        STR_ARG(s->id)));
    }
    b->warnings_nr = wr_sort_unique(b->warnings, b->warnings_nr);
    size_t n = 3;
    for (size_t i = 0; i < b->warnings_nr; i++) n += b->warnings[i].n + 1;
    char *p = arena_alloc(b->a, n), *q = p;
    if (p == NULL) return;
    *q++ = '[';
    for (size_t i = 0; i < b->warnings_nr; i++) {
        if (i > 0) *q++ = ',';
        memcpy(q, b->warnings[i].p, b->warnings[i].n);
        q += b->warnings[i].n;
    }
    *q++ = ']';
    w->warnings = str_n(p, (size_t)(q - p));
}

/* --- conditions, capabilities, features --- */

static struct wr_condition condition_read(struct object *o) {
    static const char *const KINDS[] = {"always_true", "always_false", "loop_control"};
    struct wr_condition c = {.id = object_text(o, "conditionId", true)};
    c.kind = object_choice(o, "kind", KINDS, 3);
    if (c.id.p != NULL && !wr_word_good(c.id))
        build_wrong(o->b, o->pointer, "conditionId is made of a-z, 0-9, _ and -");
    if (json_member_find(&o->m, "kind") == NULL) build_wrong(o->b, o->pointer, "kind is missing");
    if (c.kind != WR_LOOP_CONTROL) return c;
    struct str ref = object_text(o, "contractRef", false),
               when = object_text(o, "continueWhen", false);
    c.contract_ref = STR(WR_LOOP_CONTROL_REF);
    if ((ref.p != NULL && !str_eq(ref, c.contract_ref)) ||
        (when.p != NULL && !str_eqc(when, "continue")))
        build_wrong(o->b, o->pointer,
                    "loop_control is continued by \"continue\" of " //
                    WR_LOOP_CONTROL_REF);
    return c;
}

static int by_condition(const void *x, const void *y) {
    return str_cmp(((const struct wr_condition *)x)->id, ((const struct wr_condition *)y)->id);
}

static void conditions_read(struct object *o) {
    struct build *b = o->b;
    struct wr_workflow *w = b->w;
    struct object in;
    struct json_elements e = object_list(o, "conditions", false);
    w->conditions.v = ARENA_ARRAY(b->a, struct wr_condition, e.n);
    for (size_t i = 0; w->conditions.v != NULL && i < e.n; i++) {
        if (!object_open(b, e.v[i], build_at_nr(b, STR("/conditions"), i), &in)) continue;
        struct wr_condition c = condition_read(&in);
        object_close(&in);
        if (c.id.p != NULL && c.kind >= 0) w->conditions.v[w->conditions.nr++] = c;
    }
    if (w->conditions.nr > 1)
        qsort(w->conditions.v, w->conditions.nr, sizeof(struct wr_condition), by_condition);
    for (size_t i = 1; i < w->conditions.nr; i++)
        if (str_eq(w->conditions.v[i - 1].id, w->conditions.v[i].id))
            build_wrong(b, STR("/conditions"), "the id " STR_FMT " is there twice",
                        STR_ARG(w->conditions.v[i].id));
}

static void capabilities_read(struct object *o) {
    static const char *const NAMES[] = {"delegation", "web_browsing"};
    static const char *const NEEDS[] = {"required", "preferred", "disabled"};
    struct object in;
    struct str raw = object_raw(o, "capabilities");
    for (size_t i = 0; i < WR_CAPABILITIES; i++) o->b->w->needs[i] = -1;
    if (raw.p == NULL || !object_open(o->b, raw, STR("/capabilities"), &in)) return;
    for (size_t i = 0; i < WR_CAPABILITIES; i++)
        o->b->w->needs[i] = object_choice(&in, NAMES[i], NEEDS, 3);
    object_close(&in);
}

static struct str feature_read(struct build *b, struct str raw, struct str pointer) {
    struct object in;
    struct str id = STR_NONE;
    char hint[128];
    if (json_type_of(raw) == JSON_STRING) {
        id = json_string(raw, b->a);
    } else if (object_open(b, raw, pointer, &in)) {
        id = object_text(&in, "featureId", true);
        object_close(&in); /* no feature takes a config */
    }
    if (id.p == NULL || wr_builtin_feature(id) != NULL) return id;
    build_wrong(b, pointer, "the feature %.64s is unknown%s", arena_cstr(b->a, id),
                wr_builtin_hint(id, hint, sizeof hint));
    return STR_NONE;
}

static void features_read(struct object *o) {
    struct build *b = o->b;
    struct wr_workflow *w = b->w;
    struct json_elements e = object_list(o, "features", false);
    struct str *ids = ARENA_ARRAY(b->a, struct str, e.n);
    size_t nr = 0;
    for (size_t i = 0; ids != NULL && i < e.n; i++) {
        struct str id = feature_read(b, e.v[i], build_at_nr(b, STR("/features"), i));
        if (id.p != NULL) ids[nr++] = id;
    }
    nr = ids != NULL ? wr_sort_unique(ids, nr) : 0;
    w->features.v = ARENA_ARRAY(b->a, struct wr_feature, nr);
    for (size_t i = 0; w->features.v != NULL && i < nr; i++)
        w->features.v[w->features.nr++] = (struct wr_feature){.id = ids[i]};
}

/* --- criteria with schemas: lists whose order means nothing are sorted (WR-189) --- */

static void sorted_list(struct build *b, struct json_elements e, struct jw *w) {
    struct str *v = ARENA_ARRAY(b->a, struct str, e.n);
    for (size_t i = 0; v != NULL && i < e.n; i++)
        if (wr_canonical(e.v[i], &JSON_LIMITS_STORED, b->a, &v[i], NULL) != 0) v = NULL;
    size_t nr = v != NULL ? wr_sort_unique(v, e.n) : 0;
    if (v == NULL) b->no_memory = true;
    jw_array(w);
    for (size_t i = 0; i < nr; i++) jw_raw(w, v[i]);
    jw_end_array(w);
}

static void sorted_write(struct build *b, struct str raw, bool schema, unsigned depth,
                         struct jw *w) {
    struct json_members m;
    struct json_elements e;
    enum json_type type = json_type_of(raw);
    if (depth > DEPTH_MAX || (type != JSON_OBJECT && type != JSON_ARRAY)) {
        jw_raw(w, raw);
    } else if (type == JSON_ARRAY) {
        jw_array(w);
        if (json_elements(raw, b->a, &e, NULL) != 0) b->no_memory = true, e.n = 0;
        for (size_t i = 0; i < e.n; i++) sorted_write(b, e.v[i], schema, depth + 1, w);
        jw_end_array(w);
    } else {
        jw_object(w);
        if (json_members(raw, b->a, &m, NULL) != 0) b->no_memory = true, m.n = 0;
        for (size_t i = 0; i < m.n; i++) {
            bool sets = schema && json_type_of(m.v[i].raw) == JSON_ARRAY &&
                        (str_eqc(m.v[i].key, "required") || str_eqc(m.v[i].key, "enum")) &&
                        json_elements(m.v[i].raw, b->a, &e, NULL) == 0;
            jw_key_str(w, m.v[i].key);
            if (sets) sorted_list(b, e, w);
            else sorted_write(b, m.v[i].raw, schema || str_eqc(m.v[i].key, "schema"), depth + 1, w);
        }
        jw_end_object(w);
    }
}

static void criteria_normalise(struct build *b) {
    struct wr_workflow *w = b->w;
    for (size_t i = 0; i < w->steps.nr; i++) {
        struct str *at = &w->steps.v[i].criteria;
        struct buf text;
        struct jw out;
        if (at->p == NULL) continue;
        buf_init(&text, WR_SOURCE_MAX * 8);
        jw_init(&out, &text);
        sorted_write(b, *at, false, 0, &out);
        if (buf_failed(&text) ||
            wr_canonical(buf_str(&text), &JSON_LIMITS_STORED, b->a, at, NULL) != 0)
            b->no_memory = true;
        buf_fini(&text);
    }
}

/* --- contracts --- */

static int by_contract(const void *x, const void *y) {
    return str_cmp(((const struct wr_contract *)x)->ref, ((const struct wr_contract *)y)->ref);
}

static void contract_use(struct build *b, struct str ref) {
    struct wr_workflow *w = b->w;
    const struct wr_builtin_contract *c = ref.p != NULL ? wr_builtin_contract(ref) : NULL;
    if (c == NULL || wr_workflow_contract(w, ref) != WR_NO_AT) return;
    struct wr_contract *to = &w->contracts.v[w->contracts.nr++]; /* room for all there are */
    *to = (struct wr_contract){.ref = ref,
                               .artifact_kind = str_c(c->artifact_kind),
                               .schema = str_c(c->schema),
                               .example = str_c(c->example)};
    to->requirements.v = ARENA_ARRAY(b->a, struct str, 4);
    for (size_t i = 0; to->requirements.v != NULL && c->requirements[i] != NULL; i++)
        to->requirements.v[to->requirements.nr++] = str_c(c->requirements[i]);
}

static void contracts_gather(struct build *b) {
    enum { CONTRACTS_MAX = 8 };
    struct wr_workflow *w = b->w;
    w->contracts.v = ARENA_ARRAY(b->a, struct wr_contract, CONTRACTS_MAX);
    if (w->contracts.v == NULL) return;
    for (size_t i = 0; i < w->steps.nr; i++) contract_use(b, w->steps.v[i].contract_ref);
    for (size_t i = 0; i < w->conditions.nr; i++) contract_use(b, w->conditions.v[i].contract_ref);
    qsort(w->contracts.v, w->contracts.nr, sizeof *w->contracts.v, by_contract);
}

/* --- the document --- */

static void order_read(struct object *o) {
    static const char *const PROBES[] = {"wr_probe_delegation", "wr_probe_web_browsing"};
    struct build *b = o->b;
    struct wr_workflow *w = b->w;
    struct json_elements e = object_list(o, "steps", true);
    w->order.v = ARENA_ARRAY(b->a, struct wr_item, e.n + WR_CAPABILITIES);
    if (w->order.v == NULL) return;
    for (size_t i = 0; i < WR_CAPABILITIES; i++)
        if (w->needs[i] == WR_REQUIRED)
            build_probe(b, (enum wr_capability)i, str_c(PROBES[i]), STR("/capabilities"),
                        &w->order);
    build_items(b, e, STR("/steps"), 0, &w->order);
}

static void document_read(struct object *o) {
    static const char *const AUTONOMY[] = {"guided", "full_auto_stop_on_user_deps",
                                           "full_auto_never_stop"};
    static const char *const RISK[] = {"conservative", "balanced", "aggressive"};
    struct wr_workflow *w = o->b->w;
    w->id = object_text(o, "id", true);
    w->name = object_text(o, "name", false);
    w->description = object_text(o, "description", false);
    w->version = object_text(o, "version", false);
    w->agent_role = object_text(o, "agentRole", false);
    w->recommended_autonomy = object_choice(o, "recommendedAutonomy", AUTONOMY, 3);
    w->recommended_risk = object_choice(o, "recommendedRiskPolicy", RISK, 3);
    id_check(o->b, w->id);
    (void)object_raw(o, "$schema"); /* for editors */
    capabilities_read(o);
    features_read(o);
    conditions_read(o);
    build_functions(o, &w->functions);
    order_read(o);
    object_close(o);
}

static int by_loop(const void *x, const void *y) {
    return str_cmp(((const struct wr_loop *)x)->id, ((const struct wr_loop *)y)->id);
}

static void references_check(struct build *b) {
    struct wr_workflow *w = b->w;
    if (w->loops.nr > 1) qsort(w->loops.v, w->loops.nr, sizeof *w->loops.v, by_loop);
    for (size_t i = 0; i < w->loops.nr; i++) {
        size_t k = 0;
        while (k < w->conditions.nr && !str_eq(w->conditions.v[k].id, w->loops.v[i].condition_id))
            k++;
        if (k == w->conditions.nr && w->loops.v[i].condition_id.p != NULL)
            build_wrong(b, STR("/conditions"),
                        "the loop " STR_FMT " names a condition that is not "
                        "there: " STR_FMT,
                        STR_ARG(w->loops.v[i].id), STR_ARG(w->loops.v[i].condition_id));
    }
}

static void passes_run(struct build *b, struct str source) {
    struct object o;
    if (object_open(b, source, STR(""), &o)) document_read(&o);
    if (build_good(b)) references_check(b);
    if (build_good(b)) build_sight(b);
    if (build_good(b)) build_features(b);
    if (build_good(b)) build_refs(b);
    if (build_good(b)) build_prompts(b);
    if (build_good(b)) {
        criteria_normalise(b);
        contracts_gather(b);
        warnings_find(b);
    }
}

/* Warnings are told too, after what is wrong. */
static void warnings_tell(struct build *b) {
    b->pass = "warnings";
    for (size_t i = 0; i < b->warnings_nr; i++) {
        size_t at = b->problems->nr;
        build_wrong(b, STR(""), STR_FMT, STR_ARG(b->warnings[i]));
        if (b->problems->nr > at) b->problems->v[at].warning = true;
    }
}

int wr_compile(struct str source, enum wr_source_kind kind, struct arena *a,
               struct wr_workflow *out, struct wr_problems *problems, struct wr_fault *f) {
    const struct json_limits lim = {WR_SOURCE_MAX, DEPTH_MAX};
    struct wr_workflow w = {0};
    struct wr_fault own;
    struct build b = {
        .a = a, .problems = problems, .pass = "source", .kind = kind, .w = &w, .ids = map_new()};
    if (f == NULL) f = &own;
    *problems = (struct wr_problems){NULL, 0, 0};
    wopr_error_clear(&f->e);
    int rc = b.ids == NULL ? WOPR_E_NO_MEMORY : json_check(source, &lim, &f->e);
    if (rc == 0) passes_run(&b, source);
    else if (rc != WOPR_E_NO_MEMORY)
        build_wrong(&b, arena_str(a, str_c(f->e.pointer)), "%s", f->e.message);
    map_free(b.ids);
    if (rc == WOPR_E_NO_MEMORY || b.no_memory || arena_failed(a)) return wr_no_memory(f);
    if (problems->nr > 0)
        return wr_fail(f, WR_COMPILE_ERROR, arena_cstr(a, problems->v[0].pointer), STR_FMT,
                       STR_ARG(problems->v[0].message));
    rc = wr_workflow_seal(&w, a, f);
    if (rc != 0) return rc;
    warnings_tell(&b);
    *out = w;
    return b.no_memory ? wr_no_memory(f) : 0;
}
