/* run_world.c: the world that a run leaves, as an artifact (WS-109). */
#include "codec/jobj.h"
#include "workspec/run_int.h"

#define HOUR_MS 3600000.0

struct costs { /* WS-38, of what was executed */
    double labor, material, revenue;
};

static double rate_of(const struct ws_value *object, const char *name) {
    const struct ws_value *v = ws_get(ws_object_of(ws_get(object, "properties")), name);
    return ws_is(v, WS_NUMBER) ? v->number : 0;
}

static bool type_is(const struct ws_value *object, const char *type) {
    return str_eqc(ws_str(ws_get(object, "type")), type);
}

struct things { /* all objects that ever were, by id */
    struct ws_names ids;
    const struct ws_value **v;
    size_t nr;
};

static bool things_find(const struct ws_run *r, struct arena *a, struct things *out) {
    size_t n = ws_world_objects(r->world);
    struct ws_seen seen;
    *out = (struct things){.v = ARENA_ARRAY(a, const struct ws_value *, n)};
    ws_names_init(&out->ids, a);
    for (size_t i = 0; out->v != NULL && i < n; i++) {
        if (!ws_world_object(r->world, i, &seen)) continue;
        out->v[out->nr] = seen.source;
        if (!ws_names_put(&out->ids, 0, seen.id, (uint32_t)out->nr++)) return false;
    }
    return out->v != NULL;
}

static const struct ws_value *thing_of(const struct things *t, struct str id) {
    uint32_t at;
    return ws_names_get(&t->ids, 0, id, &at) ? t->v[at] : NULL;
}

static void costs_of(const struct ws_run *r, size_t i, const struct things *all,
                     struct costs *sum) {
    const struct ws_entry *e = &r->plan.v[i];
    const struct ws_value *list = ws_array_of(ws_get(e->task, "interactions"));
    const struct ws_value *who = thing_of(all, ws_trim(e->performer));
    double hours = (double)(r->task[i].ended - r->task[i].begun) / HOUR_MS;
    sum->labor += rate_of(who, "cost_per_hour") * (1 + rate_of(who, "overhead_rate")) * hours;
    sum->labor += rate_of(who, "depreciation_per_hour") * hours;
    for (size_t j = 0; list != NULL && j < list->nr; j++) {
        const struct ws_value *v = list->elements[j];
        const struct ws_value *delta =
            ws_get(ws_get(ws_get(v, "property_changes"), "quantity"), "delta");
        const struct ws_value *what = thing_of(all, ws_str(ws_get(v, "target_id")));
        if (ws_str(ws_get(v, "action")).n > 0 || !ws_is(delta, WS_NUMBER)) continue;
        if (delta->number < 0 && type_is(what, "resource"))
            sum->material += -delta->number * rate_of(what, "cost_per_unit");
        if (delta->number > 0 && type_is(what, "product"))
            sum->revenue += delta->number * rate_of(what, "revenue_per_unit");
    }
}

static void number_put(struct jw *w, const char *key, double v) {
    jw_key(w, key);
    jw_double(w, v);
}

static void economics_put(struct jw *w, const struct ws_run *r, const struct things *all) {
    struct costs sum = {0, 0, 0};
    for (size_t i = 0; i < r->plan.nr; i++) costs_of(r, i, all, &sum);
    jw_key(w, "economics");
    jw_object(w);
    number_put(w, "labor", sum.labor);
    number_put(w, "material", sum.material);
    number_put(w, "revenue", sum.revenue);
    number_put(w, "gross", sum.revenue - sum.labor - sum.material);
    jw_end_object(w);
}

static void objects_put(struct jw *w, const struct ws_run *r, struct arena *a) {
    struct ws_seen seen;
    jw_key(w, "world");
    jw_object(w);
    jw_key(w, "objects");
    jw_array(w);
    for (size_t i = 0; i < ws_world_objects(r->world); i++) {
        if (!ws_world_object(r->world, i, &seen) || !seen.alive) continue;
        const struct ws_value *v = ws_world_shape(r->world, i, a);
        struct str text = v != NULL ? ws_written(a, v) : STR_NONE;
        if (text.p != NULL) jw_raw(w, text);
        else w->b->failed = true;
    }
    jw_end_array(w);
    jw_end_object(w);
}

/* A task deletes at its start; what it made for the time that it takes goes at its end. */
static int64_t gone_at(const struct ws_run_task *t, struct str id) {
    for (size_t i = 0; i < t->made_nr; i++)
        if (t->made[i].property.p == NULL && t->made[i].next == NULL &&
            str_eq(t->made[i].object, id))
            return t->begun;
    return t->ended;
}

static void gone_put(struct jw *w, const struct ws_run *r) {
    struct ws_seen seen;
    jw_key(w, "gone");
    jw_array(w);
    for (size_t i = 0; i < ws_world_objects(r->world); i++) {
        if (!ws_world_object(r->world, i, &seen) || seen.alive || seen.deleted_by < 0) continue;
        jw_object(w);
        jw_kstr(w, "id", seen.id);
        jw_kstr(w, "task", r->plan.v[seen.deleted_by].id);
        jw_kint(w, "vt", gone_at(&r->task[seen.deleted_by], seen.id));
        jw_end_object(w);
    }
    jw_end_array(w);
}

static struct str body_text(const struct ws_run *r, const struct run_state *s, struct arena *a,
                            const struct things *all) {
    char hex[65];
    struct jobj o;
    sha256_hex(&r->plan.document_sha, hex);
    jobj_begin(&o, PLAN_BYTES_MAX);
    jw_kstrz(&o.w, "artifactId", "world-final");
    jw_kstrz(&o.w, "artifactType", "workspec.world");
    jw_kstrz(&o.w, "version", "2.0");
    jw_kstr(&o.w, "runId", s->meta.run_id);
    jw_kstrz(&o.w, "documentSha256", hex);
    objects_put(&o.w, r, a);
    gone_put(&o.w, r);
    jw_key(&o.w, "clock");
    jw_object(&o.w);
    jw_kint(&o.w, "originMs", r->plan.origin_ms);
    jw_kint(&o.w, "endMs", r->vt);
    jw_end_object(&o.w);
    economics_put(&o.w, r, all);
    return jobj_end(&o, a);
}

/* What looks like a credential is hidden here as it is in the log (OBS-75). */
static struct str body_shown(struct str body, const struct run_state *s, struct arena *a) {
    struct buf b;
    buf_init(&b, PLAN_BYTES_MAX);
    int rc =
        body.p == NULL ? WOPR_E_NO_MEMORY : redact_json(body, s->options.credential_ref, &b, NULL);
    struct str out = rc == 0 && !buf_failed(&b) ? arena_str(a, buf_str(&b)) : STR_NONE;
    buf_fini(&b);
    return out;
}

const struct plan_artifact *run_world_artifact(struct ws_run *r, const struct run_state *s,
                                               struct arena *a) {
    struct plan_artifact *out = ARENA_NEW(a, struct plan_artifact);
    struct things all;
    if (out == NULL || !things_find(r, a, &all)) return NULL;
    *out = (struct plan_artifact){
        .artifact_id = STR("world-final"),
        .artifact_type = STR("workspec.world"),
        .version = STR("2.0"),
        .summary = arena_printf(a, "the world after %zu tasks", r->plan.nr),
        .body = body_shown(body_text(r, s, a, &all), s, a),
    };
    return out->body.p != NULL && out->summary.p != NULL ? out : NULL;
}
