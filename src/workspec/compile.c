/* compile.c: tasks to a plan; see plan.h. */
#include "base/mem.h"
#include "codec/json.h"
#include "workspec/plan.h"

#include <stdio.h>
#include <stdlib.h>

#define PLAN_TEXT_MAX ((size_t)256 * 1024 * 1024)
enum { ID_HEAD = 103, ID_DIGITS = 24, DEPS_FEW = 16 };

struct compiler {
    struct ws_plan *p;
    struct arena *a;
    struct wopr_error *err;
    const struct ws_value *config, *tasks;
    enum ws_unit unit;
    struct ws_timeline timeline;
    struct ws_start *starts; /* by task */
    struct ws_names ids, performers;
    struct ws_bases bases;
    const struct ws_anchor *known; /* or NULL */
    bool no_digest;
};

static int compile_refuse(struct compiler *c, size_t i, const char *member, const char *why) {
    char pointer[96];
    snprintf(pointer, sizeof pointer, "/simulation/process/tasks/%zu/%s", i, member);
    return wopr_error_at(c->err, WOPR_E_VALIDATION, pointer, "task %zu cannot be planned: %s", i,
                         why);
}

static int compile_memory(struct compiler *c) {
    return wopr_error_set(c->err, WOPR_E_NO_MEMORY, "no memory for the plan");
}

/* WS-97 */
static struct str node_id_of(struct arena *a, struct str id) {
    char hex[65];
    if (id.n <= WS_NODE_ID_MAX) return id;
    struct sha256 d = sha256_of(id);
    sha256_hex(&d, hex);
    return arena_printf(a, "%.*s-%.*s", ID_HEAD, id.p, ID_DIGITS, hex);
}

static uint8_t priority_of(const struct ws_value *v) {
    static const char *const NAMES[] = {"low", "medium", "high", "critical"};
    for (uint8_t i = 0; i < 4; i++)
        if (str_eqc(ws_raw(v), NAMES[i])) return i;
    return 1;
}

/* --- performers --- */

static bool performer_note(struct compiler *c, const struct ws_value *object) {
    struct str id = ws_raw(ws_get(object, "id"));
    enum ws_base b = WS_NO_BASE;
    if (!ws_bases_get(&c->bases, ws_str(ws_get(object, "type")), &b)) return false;
    return id.n == 0 || ws_names_has(&c->performers, id) || ws_names_put(&c->performers, 0, id, b);
}

static bool performers_collect(struct compiler *c) {
    const struct ws_value *objects = c->p->objects;
    for (size_t i = 0; objects != NULL && i < objects->nr; i++)
        if (!performer_note(c, objects->elements[i])) return false;
    for (size_t i = 0; i < c->tasks->nr; i++) {
        const struct ws_value *list = ws_array_of(ws_get(c->tasks->elements[i], "interactions"));
        for (size_t j = 0; list != NULL && j < list->nr; j++) {
            const struct ws_value *v = list->elements[j];
            if (str_eqc(ws_str(ws_get(v, "action")), "create") &&
                !performer_note(c, ws_object_of(ws_get(v, "object"))))
                return false;
        }
    }
    return true;
}

/* --- times --- */

/* The anchor of an earlier compilation, or none yet. */
static void anchor_known(struct compiler *c) {
    (void)ws_timeline_init(&c->timeline, ws_get(c->config, "timezone"), c->timeline.zones);
    if (c->known == NULL || !c->known->anchored) return;
    c->timeline.anchored = true;
    c->timeline.anchor_days = c->known->days;
    c->timeline.offset_min = c->known->offset_min;
}

static int starts_parse(struct compiler *c) {
    struct ws_anchor_search found = {0};
    struct ws_start first;
    c->starts = ARENA_ARRAY(c->a, struct ws_start, c->tasks->nr);
    if (c->starts == NULL) return compile_memory(c);
    anchor_known(c);
    const struct ws_value *start = ws_get(c->config, "start_time");
    bool given = ws_is(start, WS_STRING) && ws_start_parse(start, &first) == NULL;
    if (given && first.form == WS_DATETIME && c->known == NULL)
        ws_timeline_anchor(&c->timeline, &first);
    for (size_t i = 0; i < c->tasks->nr; i++) {
        const struct ws_value *v = ws_get(c->tasks->elements[i], "start");
        const char *why = ws_start_parse(v, &c->starts[i]);
        if (why != NULL) return compile_refuse(c, i, "start", why);
        if (c->starts[i].form == WS_DATETIME && c->known == NULL)
            ws_timeline_offer(&c->timeline, &found, &c->starts[i]);
    }
    ws_timeline_take(&c->timeline, &found);
    c->p->anchored = c->timeline.anchored;
    c->p->anchor_days = c->timeline.anchor_days;
    c->p->offset_min = c->timeline.offset_min;
    c->p->origin_ms = given ? ws_timeline_ms(&c->timeline, &first) : INT64_MAX;
    return 0;
}

static int entry_times(struct compiler *c, size_t i) {
    struct ws_entry *e = &c->p->v[i];
    struct ws_duration d;
    const char *why = ws_duration_parse(ws_get(e->task, "duration"), c->unit, &d);
    e->form = c->starts[i].form;
    if (why == NULL && d.months > 0 && e->form != WS_DATETIME) why = "calendar_needs_datetime";
    if (why != NULL) return compile_refuse(c, i, "duration", why);
    e->calendar = d.months > 0;
    e->start_ms = ws_timeline_ms(&c->timeline, &c->starts[i]);
    e->duration_ms = ws_duration_ms(&c->starts[i], &d);
    e->end_ms = e->start_ms + e->duration_ms;
    if (e->start_ms < c->p->origin_ms) c->p->origin_ms = e->start_ms;
    if (e->end_ms > c->p->end_ms || i == 0) c->p->end_ms = e->end_ms;
    return 0;
}

/* --- dependencies --- */

/* Few are compared one by one: most tasks name one or two. */
static bool dep_seen(const struct ws_names *seen, const uint32_t *v, size_t nr, struct str id,
                     uint32_t at) {
    uint32_t before;
    if (nr > DEPS_FEW) return ws_names_get(seen, 0, id, &before);
    for (size_t i = 0; i < nr; i++)
        if (v[i] == at) return true;
    return false;
}

static bool deps_of(struct compiler *c, const struct ws_value *list, uint32_t **out, size_t *nr) {
    struct ws_names seen;
    uint32_t at;
    *nr = 0;
    if (!ws_is(list, WS_ARRAY) || list->nr == 0) return true;
    *out = ARENA_ARRAY(c->a, uint32_t, list->nr);
    if (*out == NULL) return false;
    ws_names_init(&seen, c->a);
    for (size_t k = 0; k < list->nr; k++) {
        struct str id = ws_str(list->elements[k]);
        if (!ws_names_get(&c->ids, 0, id, &at) || dep_seen(&seen, *out, *nr, id, at)) continue;
        if (list->nr > DEPS_FEW && !ws_names_put(&seen, 0, id, at)) return false;
        (*out)[(*nr)++] = at;
    }
    return true;
}

static int entry_make(struct compiler *c, size_t i) {
    struct ws_entry *e = &c->p->v[i];
    uint32_t base = WS_NO_BASE;
    const struct ws_value *deps = ws_get(e->task, "depends_on");
    e->node_id = node_id_of(c->a, e->id);
    e->performer = ws_raw(ws_get(e->task, "actor_id"));
    e->human = ws_names_get(&c->performers, 0, e->performer, &base) && base == WS_ACTOR;
    e->priority = priority_of(ws_get(e->task, "priority"));
    if (e->node_id.p == NULL ||
        !deps_of(c, ws_is(deps, WS_ARRAY) ? deps : ws_get(deps, "all"), &e->all, &e->all_nr) ||
        !deps_of(c, ws_get(deps, "any"), &e->any, &e->any_nr))
        return compile_memory(c);
    return entry_times(c, i);
}

static int entries_make(struct compiler *c) {
    struct ws_plan *p = c->p;
    p->nr = c->tasks->nr;
    p->v = ARENA_ARRAY(c->a, struct ws_entry, p->nr);
    if (p->v == NULL) return compile_memory(c);
    for (size_t i = 0; i < p->nr; i++) {
        p->v[i].task = c->tasks->elements[i];
        p->v[i].id = ws_str(ws_get(p->v[i].task, "id"));
        if (p->v[i].id.n == 0) return compile_refuse(c, i, "id", "it has no id");
        if (!ws_names_put(&c->ids, 0, p->v[i].id, (uint32_t)i)) return compile_memory(c);
    }
    for (size_t i = 0; i < p->nr; i++) {
        int rc = entry_make(c, i);
        if (rc != 0) return rc;
    }
    if (p->origin_ms == INT64_MAX) p->origin_ms = 0;
    return 0;
}

/* Takes away what no other task waits for, again and again: what is left waits in a circle.  The
 * validator refuses that (R60), but a plan that never ends is none, whoever wrote the text. */
static bool plan_acyclic(const struct ws_plan *p, uint32_t *awaited, uint32_t *list) {
    size_t listed = 0;
    for (size_t i = 0; i < p->nr; i++) {
        for (size_t k = 0; k < p->v[i].all_nr; k++) awaited[p->v[i].all[k]]++;
        for (size_t k = 0; k < p->v[i].any_nr; k++) awaited[p->v[i].any[k]]++;
    }
    for (size_t i = 0; i < p->nr; i++)
        if (awaited[i] == 0) list[listed++] = (uint32_t)i;
    for (size_t at = 0; at < listed; at++) {
        const struct ws_entry *e = &p->v[list[at]];
        for (size_t k = 0; k < e->all_nr; k++)
            if (--awaited[e->all[k]] == 0) list[listed++] = e->all[k];
        for (size_t k = 0; k < e->any_nr; k++)
            if (--awaited[e->any[k]] == 0) list[listed++] = e->any[k];
    }
    return listed == p->nr;
}

static int deps_check(struct compiler *c) {
    uint32_t *awaited = mem_array(c->p->nr, sizeof *awaited);
    uint32_t *list = mem_array(c->p->nr, sizeof *list);
    int rc = 0;
    if (awaited == NULL || list == NULL) rc = compile_memory(c);
    else if (!plan_acyclic(c->p, awaited, list))
        rc = wopr_error_at(
            c->err, WOPR_E_VALIDATION, "/simulation/process/tasks",
            "tasks wait for each other in a circle; remove one of their dependencies");
    mem_free(awaited);
    mem_free(list);
    return rc;
}

/* --- order --- */

struct due {
    int64_t ms;
    uint32_t index;
};

static int by_due(const void *x, const void *y) {
    const struct due *a = x, *b = y;
    if (a->ms != b->ms) return a->ms < b->ms ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static uint32_t *order_make(struct compiler *c, bool ends) {
    const struct ws_plan *p = c->p;
    struct due *v = ARENA_ARRAY(c->a, struct due, p->nr);
    uint32_t *out = ARENA_ARRAY(c->a, uint32_t, p->nr);
    if (v == NULL || out == NULL) return NULL;
    for (size_t i = 0; i < p->nr; i++)
        v[i] = (struct due){ends ? p->v[i].end_ms : p->v[i].start_ms, (uint32_t)i};
    if (p->nr > 0) qsort(v, p->nr, sizeof *v, by_due);
    for (size_t i = 0; i < p->nr; i++) out[i] = v[i].index;
    return out;
}

bool ws_next_step(struct ws_steps *s, struct ws_step *out) {
    const struct ws_plan *p = s->plan;
    const struct ws_entry *start = s->starts < p->nr ? &p->v[p->starts[s->starts]] : NULL;
    const struct ws_entry *end = s->ends < p->nr ? &p->v[p->ends[s->ends]] : NULL;
    if (end == NULL) return false;
    if (start != NULL && start->start_ms < end->end_ms) {
        *out = (struct ws_step){false, p->starts[s->starts++], start->start_ms};
        return true;
    }
    *out = (struct ws_step){true, p->ends[s->ends++], end->end_ms};
    return true;
}

/* --- the plan as text --- */

static void indexes_write(struct jw *w, const char *name, const uint32_t *v, size_t nr) {
    jw_key(w, name);
    jw_array(w);
    for (size_t i = 0; i < nr; i++) jw_int(w, v[i]);
    jw_end_array(w);
}

static void value_member(struct jw *w, struct buf *b, const char *name, const struct ws_value *v) {
    struct buf text;
    (void)b;
    if (v == NULL) return;
    buf_init(&text, PLAN_TEXT_MAX);
    ws_write(&text, v, 0);
    if (!buf_failed(&text)) jw_kraw(w, name, buf_str(&text));
    else w->b->failed = true;
    buf_fini(&text);
}

static void entry_write(struct jw *w, const struct ws_plan *p, size_t i) {
    static const char *const FORMS[] = {"time", "daytime", "datetime"};
    const struct ws_entry *e = &p->v[i];
    jw_object(w);
    jw_kint(w, "index", (int64_t)i);
    jw_kstr(w, "id", e->id);
    jw_kstr(w, "nodeId", e->node_id);
    jw_kstr(w, "performer", e->performer);
    jw_kint(w, "startMs", e->start_ms);
    jw_kint(w, "durationMs", e->duration_ms);
    jw_kint(w, "endMs", e->end_ms);
    jw_kstrz(w, "startForm", FORMS[e->form]);
    jw_kbool(w, "calendar", e->calendar);
    indexes_write(w, "all", e->all, e->all_nr);
    indexes_write(w, "any", e->any, e->any_nr);
    jw_kint(w, "priority", e->priority);
    jw_kbool(w, "human", e->human);
    value_member(w, w->b, "location", ws_get(e->task, "location"));
    value_member(w, w->b, "tags", ws_get(e->task, "tags"));
    jw_end_object(w);
}

void ws_plan_write(struct buf *b, const struct ws_plan *p, bool digests) {
    char date[WS_DATE_SIZE], hex[65];
    struct jw w;
    jw_init(&w, b);
    jw_object(&w);
    if (p->anchored) {
        ws_date_format(p->anchor_days, date);
        jw_kstrz(&w, "anchorDate", date);
        jw_kint(&w, "offsetMin", p->offset_min);
    }
    jw_kint(&w, "originMs", p->origin_ms);
    jw_key(&w, "entries");
    jw_array(&w);
    for (size_t i = 0; i < p->nr; i++) entry_write(&w, p, i);
    jw_end_array(&w);
    if (digests) {
        sha256_hex(&p->document_sha, hex);
        jw_kstrz(&w, "documentSha256", hex);
        sha256_hex(&p->plan_sha, hex);
        jw_kstrz(&w, "planSha256", hex);
    }
    jw_end_object(&w);
}

static int plan_digest(struct compiler *c) {
    struct buf text, canonical;
    buf_init(&text, PLAN_TEXT_MAX);
    buf_init(&canonical, PLAN_TEXT_MAX);
    ws_plan_write(&text, c->p, false);
    int rc =
        buf_failed(&text) ? compile_memory(c) : json_canonical(buf_str(&text), &canonical, c->err);
    if (rc == 0) c->p->plan_sha = sha256_of(buf_str(&canonical));
    buf_fini(&text);
    buf_fini(&canonical);
    return rc;
}

static int plan_compile(struct compiler *c, const struct ws_doc *doc) {
    const struct ws_value *sim = ws_object_of(ws_get(doc->root, "simulation"));
    *c->p = (struct ws_plan){.root = doc->root, .sim = sim, .document_sha = doc->digest};
    c->tasks = ws_array_of(ws_get(ws_get(sim, "process"), "tasks"));
    c->config = ws_object_of(ws_get(sim, "config"));
    if (c->tasks == NULL)
        return wopr_error_at(c->err, WOPR_E_VALIDATION, "/simulation/process/tasks",
                             "the document has no array of tasks");
    c->p->objects = ws_array_of(ws_get(ws_get(sim, "world"), "objects"));
    c->p->definitions = ws_object_of(ws_get(sim, "type_definitions"));
    c->unit = ws_unit_of(ws_str(ws_get(c->config, "time_unit")));
    ws_names_init(&c->ids, c->a);
    ws_names_init(&c->performers, c->a);
    ws_bases_init(&c->bases, c->p->definitions, c->a);
    if (!performers_collect(c)) return compile_memory(c);
    int rc = starts_parse(c);
    if (rc == 0) rc = entries_make(c);
    if (rc == 0) rc = deps_check(c);
    if (rc != 0) return rc;
    c->p->starts = order_make(c, false);
    c->p->ends = order_make(c, true);
    if (c->p->starts == NULL || c->p->ends == NULL) return compile_memory(c);
    return c->no_digest ? 0 : plan_digest(c);
}

int ws_compile(const struct ws_doc *doc, const struct ws_zones *zones, struct arena *a,
               struct ws_plan *out, struct wopr_error *err) {
    struct compiler c = {.p = out, .a = a, .err = err};
    c.timeline.zones = zones;
    return plan_compile(&c, doc);
}

int ws_compile_to_play(const struct ws_doc *doc, const struct ws_zones *zones, struct arena *a,
                       struct ws_plan *out, struct wopr_error *err) {
    struct compiler c = {.p = out, .a = a, .err = err, .no_digest = true};
    c.timeline.zones = zones;
    return plan_compile(&c, doc);
}

int ws_compile_again(const struct ws_doc *doc, const struct ws_anchor *anchor, struct arena *a,
                     struct ws_plan *out, struct wopr_error *err) {
    struct compiler c = {.p = out, .a = a, .err = err, .known = anchor};
    return plan_compile(&c, doc);
}
