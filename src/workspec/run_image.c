/*
 * run_image.c: the image of a run: a few numbers, and its deeds (run_int.h).  Integers are of
 * variable length, the lowest seven bits first, signs in the lowest bit.
 */
#include "codec/json.h"
#include "domain/state_save.h"
#include "workspec/run_int.h"

enum { COMPARE_BYTES = 64 * 1024 * 1024 };
#define INSTANT_MAX (INT64_C(1) << 53) /* WS-54 */

/* --- writing --- */

static void image_put(struct buf *b, int64_t v) {
    uint64_t raw = ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0);
    for (; raw >= 0x80; raw >>= 7) buf_addc(b, (char)(raw | 0x80));
    buf_addc(b, (char)raw);
}

static bool deed_has_task(enum ws_deed_kind k) {
    return k != DEED_CHANGE && k != DEED_KEPT && k != DEED_COMPLETE;
}
static bool deed_has_vt(enum ws_deed_kind k) {
    return k == DEED_START || k == DEED_END || k == DEED_WITHDRAW;
}
static bool deed_has_text(enum ws_deed_kind k) { return k == DEED_DECIDE || k == DEED_ANSWER; }

/* Kind and flag are one byte.  A list that has become too long for an image stays cut: then the run
 * has none. */
void deed_note(struct ws_run *r, const struct ws_deed *f) {
    struct buf *b = &r->deeds;
    buf_addc(b, (char)(f->kind * 2 + f->flag));
    if (deed_has_task(f->kind)) image_put(b, f->task);
    if (deed_has_vt(f->kind)) image_put(b, f->vt);
    if (!deed_has_text(f->kind)) return;
    image_put(b, (int64_t)f->text.n);
    buf_adds(b, f->text);
}

/* What a run was opened with beyond its document and its inputs, on which its state depends. */
static void options_put(struct buf *b, const struct ws_run_options *o) {
    int64_t speed;
    memcpy(&speed, &o->speed, sizeof speed);
    image_put(b, o->clock);
    image_put(b, speed);
    image_put(b, o->approval);
}

bool run_save(const void *program, struct buf *out) {
    const struct ws_run *r = program;
    options_put(out, &r->options);
    image_put(out, r->started_ms);
    image_put(out, r->paused_ms);
    image_put(out, r->paused_since_ms);
    image_put(out, (int64_t)r->warned);
    image_put(out, r->ignored_told);
    image_put(out, r->artifact_told);
    buf_adds(out, buf_str(&r->deeds));
    return !buf_failed(&r->deeds);
}

bool run_remakes(const void *program, int node) {
    const struct ws_run_task *t = &((const struct ws_run *)program)->task[node];
    return t->phase == TASK_IS_DONE && t->plain;
}

struct str run_outputs(const void *program, int node, struct arena *a) {
    return say_results(program, (size_t)node, a);
}

/* --- reading --- */

struct image_in {
    const unsigned char *p, *end;
    bool bad;
};

static int64_t image_get(struct image_in *in, int64_t min, int64_t max) {
    uint64_t raw = 0;
    for (unsigned shift = 0; shift <= 63 && in->p < in->end; shift += 7) {
        unsigned byte = *in->p++;
        if (shift == 63 && byte > 1) break;
        raw |= (uint64_t)(byte & 0x7f) << shift;
        if (byte >= 0x80) continue;
        int64_t v = (int64_t)((raw >> 1) ^ (raw & 1 ? UINT64_MAX : 0));
        if (v >= min && v <= max) return v;
        break;
    }
    in->bad = true;
    return min;
}

static bool options_get(struct image_in *in, const struct ws_run_options *o) {
    struct buf mine;
    buf_init(&mine, 64);
    options_put(&mine, o);
    size_t n = mine.len;
    bool same =
        !buf_failed(&mine) && (size_t)(in->end - in->p) >= n && memcmp(in->p, mine.p, n) == 0;
    buf_fini(&mine);
    if (same) in->p += n;
    return same;
}

static struct ws_deed deed_get(struct image_in *in, const struct ws_run *r) {
    unsigned head = *in->p++;
    struct ws_deed f = {.kind = head / 2, .flag = head % 2 != 0, .text = STR_NONE};
    if (head / 2 >= DEED_NR) in->bad = true;
    if (deed_has_task(f.kind)) f.task = (uint32_t)image_get(in, 0, (int64_t)r->plan.nr - 1);
    if (deed_has_vt(f.kind)) f.vt = image_get(in, -INSTANT_MAX, INSTANT_MAX);
    if (in->bad || !deed_has_text(f.kind)) return f;
    size_t n = (size_t)image_get(in, 0, in->end - in->p);
    if ((size_t)(in->end - in->p) < n) in->bad = true;
    if (in->bad) return f;
    f.text = str_n((const char *)in->p, n);
    in->p += n;
    return f;
}

static const char *deeds_play(struct ws_run *r, struct image_in *in) {
    while (in->p < in->end) {
        struct ws_deed f = deed_get(in, r);
        if (in->bad) return "a deed is cut";
        step_settle(r);
        const char *wrong = deed_apply(r, &f);
        if (wrong != NULL) return wrong;
        deed_note(r, &f);
        if (arena_failed(r->a) || r->no_memory) return "no memory";
    }
    return NULL;
}

/* --- the world against the variables of the state --- */

struct agree {
    const struct run_state *s;
    struct arena *a;
    struct ws_names names; /* of variables -> index */
    bool all;
};

static void value_agrees(void *ctx, struct str object, struct str property,
                         const struct ws_value *value) {
    struct agree *g = ctx;
    uint32_t at;
    if (!g->all) return;
    struct str text = ws_written(g->a, value), known = STR_NONE;
    struct str name = ws_variable_name(g->a, object, property);
    if (ws_names_get(&g->names, 0, name, &at)) known = text_str(&g->s->variables.v[at].value);
    if (known.n == 0) g->all = run_hides_name(g->s, name);
    else g->all = str_eq(text, known) || json_equal(text, known, g->a) || run_hides(g->s, text);
}

/* What the image says that the tasks did and what it says that came of it are two witnesses: a
 * world that shows other values than the variables is refused, and the log is folded.  A name that
 * the log hides is not looked for. */
static bool world_agrees(const struct ws_run *r, const struct run_state *s) {
    struct agree g = {.s = s, .a = arena_new(COMPARE_BYTES), .all = true};
    if (g.a == NULL) return false;
    ws_names_init(&g.names, g.a);
    for (size_t i = 0; i < s->variables.n; i++)
        (void)ws_names_put(&g.names, 0, text_str(&s->variables.v[i].name), (uint32_t)i);
    ws_world_each(r->world, value_agrees, &g);
    bool all = g.all && !arena_failed(g.a);
    arena_free(g.a);
    return all;
}

int run_load(void *program, const struct run_state *s, struct str image, struct wopr_error *err) {
    struct ws_run *r = program;
    struct image_in in = {(const unsigned char *)image.p, (const unsigned char *)image.p + image.n,
                          false};
    const char *wrong = options_get(&in, &r->options) ? NULL : "it is of other options";
    r->started_ms = image_get(&in, 0, INT64_MAX / 4);
    r->paused_ms = image_get(&in, -INT64_MAX / 4, INT64_MAX / 4);
    r->paused_since_ms = image_get(&in, 0, INT64_MAX / 4);
    r->warned = (size_t)image_get(&in, 0, INT64_MAX / 4);
    r->ignored_told = image_get(&in, 0, 1) != 0;
    r->artifact_told = image_get(&in, 0, 1) != 0;
    if (wrong == NULL && in.bad) wrong = "a number is none";
    if (wrong == NULL) wrong = deeds_play(r, &in);
    if (run_short(r)) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a document");
    if (wrong == NULL && (r->at < 0 || step_told(r)) && !world_agrees(r, s))
        wrong = "the world has other values than the variables";
    return wrong == NULL ? 0 : wopr_error_set(err, WOPR_E_CORRUPT, "%s", wrong);
}
