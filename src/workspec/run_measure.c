/*
 * run_measure.c: what a run of a document will take, found by playing one before there is any: the
 * run says its events as always, and takes them as the log would bring them, but nothing folds or
 * stores them.  So who stores a document, or starts a run of it, hears of a bound before the run
 * begins, and not when half of it is done (WS-145).
 */
#include "base/vec.h"
#include "codec/jobj.h"
#include "domain/interrupt.h"
#include "domain/plan.h"
#include "workspec/run_int.h"

#include <stdio.h>

enum {
    EVENTS_AROUND = 3,       /* run.started, artifact.created, run.completed */
    EVENTS_ENOUGH = 2500000, /* no need to know how many more: above the bounds of any host that */
    OBJECTS_FIRST = 64       /* did not raise them; a run beyond them meets its host's bound */
};
#define LOG_BYTES_ENOUGH  INT64_C(1400000000)
#define SCRATCH_BYTES_MAX ((size_t)64 * 1024 * 1024)

struct measure {
    struct ws_run *r;
    struct arena *scratch; /* of one event */
    struct run_needs needs;
    struct ws_names objects; /* id -> index of bytes */
    int64_t *bytes;          /* of the variables of an object */
    size_t nr, cap;
    int64_t state; /* bytes of all values now */
    bool over;     /* the run goes no further */
    struct wopr_error *err;
};

/* --- values --- */

static int64_t *object_bytes(struct measure *m, struct str id) {
    uint32_t at;
    if (ws_names_get(&m->objects, 0, id, &at)) return &m->bytes[at];
    if (VEC_ROOM_IN(m->r->a, m->bytes, m->nr, m->cap, OBJECTS_FIRST) != 0 ||
        !ws_names_put(&m->objects, 0, id, (uint32_t)m->nr))
        return NULL; /* the arena of the run tells */
    m->bytes[m->nr] = 0;
    return &m->bytes[m->nr++];
}

static int64_t value_bytes(struct measure *m, const struct ws_value *v) {
    return v == NULL ? 0 : (int64_t)ws_written(m->scratch, v).n;
}

static void variable_add(struct measure *m, struct str object, size_t name_bytes, int64_t change) {
    int64_t *of = object_bytes(m, object);
    if (name_bytes > 0) change += (int64_t)(sizeof(struct var_state) + name_bytes);
    m->state += change;
    if (of != NULL) *of += change;
}

static void first_value(void *ctx, struct str object, struct str property,
                        const struct ws_value *value) {
    struct measure *m = ctx;
    arena_reset(m->scratch);
    variable_add(m, object, object.n + 1 + property.n, value_bytes(m, value));
}

/* As the fold of variable.changed: what is gone takes the variables of its properties with it. */
static void change_take(struct measure *m, const struct ws_change *c) {
    bool exists = c->property.p == NULL;
    int64_t *of = object_bytes(m, c->object);
    if (exists && c->is == NULL && of != NULL) {
        m->state -= *of;
        *of = 0;
    }
    size_t name = c->was == NULL || exists ? c->object.n + 1 + c->cell.n : 0;
    variable_add(m, c->object, name, value_bytes(m, c->is) - (exists ? 0 : value_bytes(m, c->was)));
}

/* --- events --- */

static int measure_refuse(const struct measure *m, int node, const char *what) {
    char pointer[64];
    (void)snprintf(pointer, sizeof pointer, "/simulation/process/tasks/%d", node);
    return wopr_error_at(m->err, WOPR_E_VALIDATION, pointer,
                         "the document is good, but cannot run here: %s", what);
}

static int event_take(struct measure *m, const struct program_action *act) {
    const struct str none = STR_NONE;
    const struct event e = {.node_id = act->node < 0 ? none : m->r->plan.v[act->node].node_id,
                            .payload = act->payload};
    int64_t with = m->state + (int64_t)act->payload.n;
    if (act->payload.n > EVENT_PAYLOAD_MAX)
        return measure_refuse(m, act->node,
                              "what the task does to one property makes an event of more than "
                              "1 MiB; give the property less, or split its value");
    m->needs.events++;
    m->needs.log_bytes += event_bytes(&e);
    bool grows = act->kind == EV_VARIABLE_CHANGED || act->kind == EV_NODE_COMPLETED;
    if (grows && with > m->needs.state_bytes) m->needs.state_bytes = with;
    return 0;
}

static int deed_take(struct measure *m, struct ws_deed deed) {
    const char *wrong = deed_apply(m->r, &deed);
    return wrong == NULL ? 0 : wopr_error_set(m->err, WOPR_E_INTERNAL, "a measured run: %s", wrong);
}

static int emit_take(struct measure *m, const struct program_action *act) {
    struct ws_run *r = m->r;
    struct ws_deed deed = {.task = (uint32_t)(act->node < 0 ? 0 : act->node)};
    int rc = event_take(m, act);
    if (rc != 0) return rc;
    switch (act->kind) {
    case EV_NODE_STARTED:
        deed.kind = DEED_START;
        deed.vt = r->step.vt;
        return deed_take(m, deed);
    case EV_VARIABLE_CHANGED:
        change_take(m, &r->outcome.v[r->told]);
        deed.kind = DEED_CHANGE;
        return deed_take(m, deed);
    case EV_NODE_COMPLETED:
        m->state += (int64_t)act->payload.n;
        deed.kind = DEED_COMPLETE;
        deed.flag = true;
        return deed_take(m, deed);
    case EV_LOG_APPENDED:
        r->ignored_told = true;
        return 0;
    default: /* a task fails: the document has not passed the validator (H17) */
        m->over = true;
        return 0;
    }
}

/* A question that the task has of its own (WS-100) is asked of whoever starts the run; here it is
 * looked at, and accepted. */
static int ask_take(struct measure *m, const struct program_action *act) {
    struct ws_deed deed = {.kind = DEED_ASK, .task = (uint32_t)act->node};
    enum intr_kind kind;
    struct wopr_error why = {0};
    struct jobj o;
    jobj_begin(&o, EVENT_PAYLOAD_MAX);
    jw_kstrz(&o.w, "kind", act->ask_kind);
    jw_kstrz(&o.w, "key", "task");
    jw_kraw(&o.w, "data", act->ask_data);
    struct str payload = jobj_end(&o, m->scratch);
    if (payload.p == NULL && act->ask_data.p == NULL) return WOPR_E_NO_MEMORY;
    int rc =
        payload.p == NULL ? WOPR_E_TOO_BIG : intr_payload_check(payload, m->scratch, &kind, &why);
    if (rc == WOPR_E_NO_MEMORY) return rc;
    if (rc == WOPR_E_TOO_BIG) return measure_refuse(m, act->node, "its question is too long");
    if (rc != 0) return measure_refuse(m, act->node, why.message);
    rc = deed_take(m, deed);
    deed.kind = DEED_RESUME;
    return rc == 0 ? deed_take(m, deed) : rc;
}

static int measure_step(struct measure *m) {
    const struct program_time t = {.now_ms = 0};
    struct program_action act = {.node = -1};
    arena_reset(m->scratch);
    int rc = run_next(m->r, NULL, &t, m->scratch, &act);
    if (rc != 0) return rc;
    if (act.what == PROGRAM_EMIT) return emit_take(m, &act);
    if (act.what == PROGRAM_ASK) return ask_take(m, &act);
    m->over = true;
    return 0;
}

static bool measure_enough(const struct measure *m) {
    return m->over || m->needs.events > EVENTS_ENOUGH || m->needs.log_bytes > LOG_BYTES_ENOUGH;
}

int ws_measure(const struct ws_program *p, const struct ws_value *objects, struct run_needs *out,
               struct wopr_error *err) {
    struct ws_program quiet = *p; /* its warnings are few */
    quiet.warnings_nr = 0;
    struct measure m = {.r = run_new(&quiet), .scratch = arena_new(SCRATCH_BYTES_MAX), .err = err};
    int rc = m.r == NULL || m.scratch == NULL ? WOPR_E_NO_MEMORY : 0;
    if (rc == 0) {
        m.r->plan.objects = objects;
        m.r->options = (struct ws_run_options){.clock = WS_VIRTUAL, .speed = 1};
        ws_names_init(&m.objects, m.r->a);
        if (!run_make(m.r)) rc = WOPR_E_NO_MEMORY;
    }
    if (rc == 0) ws_world_each(m.r->world, first_value, &m);
    m.needs = (struct run_needs){.events = EVENTS_AROUND,
                                 .log_bytes = EVENTS_AROUND * EVENT_ROW_BYTES,
                                 .state_bytes = m.state};
    while (rc == 0 && m.r->done < m.r->plan.nr && !measure_enough(&m)) rc = measure_step(&m);
    if (rc == 0) *out = m.needs;
    run_close(m.r);
    arena_free(m.scratch);
    return rc == WOPR_E_NO_MEMORY ? wopr_error_set(err, rc, "no memory for a document") : rc;
}
