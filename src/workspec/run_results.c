/*
 * run_results.c: what a task changed, as its outputs and its question show it (WS-104, WS-117), and
 * how much of that a run keeps (WS-137).
 *
 * The log has every change as an event of its own; the outputs, which are values of the run, repeat
 * them.  A short document may change much (an object with a thousand properties that task after
 * task takes away for a while), so all outputs of a run together have a bound, and so have all
 * questions that are open.  Whether a task's changes are within it is settled when its step is
 * entered, in the order of the log: so a fold, a replay and an image come to the same.
 */
#include "codec/jobj.h"
#include "workspec/run_int.h"

enum {
    TASK_BYTES_MAX = 512 * 1024, /* of the changes of one task */
    QUESTION_BYTES_MAX = 256 * 1024,
    RESULTS_BYTES_MAX = 4 * 1024 * 1024,  /* of the changes in all outputs of a run */
    QUESTIONS_BYTES_MAX = 1 * 1024 * 1024 /* of those that open questions show */
};

static bool of_existence(const struct ws_change *c) { return c->property.p == NULL; }

/* WS-143: a variable is a cell.  What changes below one is told as a change of it, so that no two
 * variables have a word in one value. */
struct str change_name(struct arena *a, const struct ws_change *c) {
    return ws_variable_name(a, c->object,
                            of_existence(c) ? STR_NONE : ws_cell_name(a, c->cell, c->top));
}

/* WS-103, WS-104: what is absent is left out; but that a thing is gone is said. */
struct str change_next(struct arena *a, const struct ws_change *c) {
    if (c->is != NULL) return ws_written(a, c->is);
    return of_existence(c) ? STR("null") : STR_NONE;
}

void result_value_put(struct jw *w, const char *key, const struct ws_value *v) {
    struct buf text;
    buf_init(&text, SIZE_MAX / 2);
    ws_write(&text, v, 0);
    if (buf_failed(&text)) w->b->failed = true;
    else jw_kraw(w, key, buf_str(&text));
    buf_fini(&text);
}

/* --- the text --- */

static void name_put(struct jw *w, struct buf *name, const struct ws_change *c) {
    buf_reset(name);
    buf_adds(name, c->object);
    if (!of_existence(c)) {
        buf_addc(name, '.');
        buf_addz(name, ws_cell_prefix(c->cell, c->top));
        buf_adds(name, c->cell);
    }
    if (buf_failed(name)) w->b->failed = true;
    else jw_kstr(w, "name", buf_str(name));
}

static void changes_put(struct jw *w, const struct ws_change *v, size_t nr) {
    struct buf name;
    buf_init(&name, SIZE_MAX / 2);
    for (size_t i = 0; i < nr && !buf_failed(w->b); i++) {
        jw_object(w);
        name_put(w, &name, &v[i]);
        if (v[i].was != NULL) result_value_put(w, "previous", v[i].was);
        if (v[i].is != NULL) result_value_put(w, "next", v[i].is);
        else if (of_existence(&v[i])) jw_kraw(w, "next", STR("null"));
        jw_kstrz(w, "cause", v[i].cause);
        jw_end_object(w);
    }
    buf_fini(&name);
}

/* The array of the changes of a start, and of what ended after it. */
static void changes_write(const struct ws_run_task *t, size_t max, struct buf *b) {
    struct jw w;
    buf_init(b, max);
    jw_init(&w, b);
    jw_array(&w);
    changes_put(&w, t->made, t->made_nr);
    changes_put(&w, t->ended_with, t->ended_with_nr);
    jw_end_array(&w);
}

struct str changes_text(const struct ws_run_task *t, struct arena *a) {
    struct buf b;
    changes_write(t, SIZE_MAX / 2, &b);
    struct str out = buf_failed(&b) ? STR_NONE : arena_str(a, buf_str(&b));
    buf_fini(&b);
    return out;
}

/* --- how much --- */

/* Whether the changes of a task are within the bound, and the bytes that they take of it.  A list
 * without changes takes none. */
static bool changes_fit(struct ws_run *r, const struct ws_run_task *t, size_t max, size_t *bytes) {
    struct buf b;
    *bytes = 0;
    if (t->made_nr + t->ended_with_nr == 0) return true;
    changes_write(t, max, &b);
    if (buf_failed(&b) && !buf_over(&b)) r->no_memory = true;
    bool fit = !buf_failed(&b);
    if (fit) *bytes = b.len;
    buf_fini(&b);
    return fit;
}

static size_t bytes_least(size_t a, size_t b) { return a < b ? a : b; }

void results_enter(struct ws_run *r, uint32_t task) {
    struct ws_run_task *t = &r->task[task];
    struct ws_change *v = NULL;
    size_t bytes, nr = r->outcome.nr;
    t->ended_with = (struct ws_change *)(uintptr_t)r->outcome.v;
    t->ended_with_nr = nr;
    t->omitted = !changes_fit(
        r, t, bytes_least(TASK_BYTES_MAX, RESULTS_BYTES_MAX - r->results_bytes), &bytes);
    r->results_bytes += bytes;
    if (!t->omitted) v = ARENA_ARRAY(r->a, struct ws_change, nr); /* the arena tells of memory */
    if (v != NULL && nr > 0) memcpy(v, r->outcome.v, nr * sizeof *v);
    t->ended_with = v;
    if (v == NULL && !t->omitted) t->ended_with_nr = 0;
}

void question_enter(struct ws_run *r, uint32_t task) {
    struct ws_run_task *t = &r->task[task];
    size_t left = QUESTIONS_BYTES_MAX - r->questions_bytes;
    (void)changes_fit(r, t, bytes_least(QUESTION_BYTES_MAX, left), &t->question_bytes);
    r->questions_bytes += t->question_bytes;
}

void question_leave(struct ws_run *r, uint32_t task) {
    r->questions_bytes -= r->task[task].question_bytes;
    r->task[task].question_bytes = 0;
}

/* --- what is shown --- */

bool question_shows(struct ws_run *r, size_t task) {
    size_t bytes, left = QUESTIONS_BYTES_MAX - r->questions_bytes;
    return changes_fit(r, &r->task[task], bytes_least(QUESTION_BYTES_MAX, left), &bytes);
}

struct str say_results(const struct ws_run *r, size_t task, struct arena *a) {
    const struct ws_entry *e = &r->plan.v[task];
    const struct ws_run_task *t = &r->task[task];
    struct str changes = t->omitted ? STR("") : changes_text(t, a);
    struct jobj o;
    if (changes.p == NULL) return STR_NONE;
    jobj_begin(&o, PLAN_BYTES_MAX);
    jw_kstr(&o.w, "taskId", e->id);
    jw_kstr(&o.w, "performer", e->performer);
    jw_kint(&o.w, "start", t->begun);
    jw_kint(&o.w, "end", t->ended);
    if (t->omitted) jw_kint(&o.w, "changesOmitted", (int64_t)(t->made_nr + t->ended_with_nr));
    else jw_kraw(&o.w, "changes", changes);
    jw_kraw_opt(&o.w, "answers", t->answers);
    return jobj_end(&o, a);
}
