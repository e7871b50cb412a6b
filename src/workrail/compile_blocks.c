/*
 * compile_blocks.c: prompts in blocks: reading, what features add, snippets, the text (WR-196,
 * WR-197).
 */
#include "base/vec.h"
#include "workrail/compile_int.h"
#include "workrail/registry.h"

#include <stdlib.h>

enum { FIRST_CAP = 4 };
#define PROMPT_MAX ((size_t)256 * 1024)

/* --- reading --- */

static void part_push(struct build *b, struct parts *to, struct part one) {
    if (VEC_ROOM_IN(b->a, to->v, to->nr, to->cap, FIRST_CAP) != 0) b->no_memory = true;
    else to->v[to->nr++] = one;
}

static void part_read(struct build *b, struct str raw, struct str pointer, struct parts *to) {
    struct object o;
    struct part one = {.pointer = pointer};
    if (json_type_of(raw) == JSON_STRING) {
        one.text = json_string(raw, b->a);
        if (one.text.n > 0) part_push(b, to, one);
        return;
    }
    if (json_type_of(raw) != JSON_OBJECT) {
        build_wrong(b, pointer,
                    "a text or {\"kind\":\"ref\",\"refId\":\"wr.refs...\"} is due here");
        return;
    }
    if (!object_open(b, raw, pointer, &o)) return;
    struct str kind = object_text(&o, "kind", true);
    one.ref_id = object_text(&o, "refId", true);
    if (kind.p != NULL && !str_eqc(kind, "ref")) build_wrong(b, pointer, "kind is ref");
    object_close(&o);
    if (one.ref_id.p != NULL) part_push(b, to, one);
}

static void parts_read(struct object *o, const char *name, struct parts *to) {
    struct json_elements e = object_list(o, name, false);
    struct str at = build_at(o->b, o->pointer, name);
    for (size_t i = 0; i < e.n; i++) part_read(o->b, e.v[i], build_at_nr(o->b, at, i), to);
}

static int by_name(const void *x, const void *y) {
    return str_cmp(((const struct wr_function *)x)->name, ((const struct wr_function *)y)->name);
}

static void output_read(struct object *o, struct wr_functions *out) {
    struct object in;
    struct build *b = o->b;
    struct str raw = object_raw(o, "outputRequired"),
               at = build_at(b, o->pointer, "outputRequired");
    if (raw.p == NULL || !object_open(b, raw, at, &in)) return;
    out->v = ARENA_ARRAY(b->a, struct wr_function, in.m.n);
    for (size_t i = 0; out->v != NULL && i < in.m.n; i++) {
        if (json_type_of(in.m.v[i].raw) != JSON_STRING)
            build_wrong(b, at, "outputRequired has texts; snippets are not allowed here");
        out->v[out->nr++] = (struct wr_function){in.m.v[i].key, json_string(in.m.v[i].raw, b->a)};
    }
    if (out->nr > 1) qsort(out->v, out->nr, sizeof *out->v, by_name);
}

void build_blocks(struct build *b, struct str raw, struct str pointer, struct blocks *out) {
    struct object o;
    if (!object_open(b, raw, pointer, &o)) return;
    struct str goal = object_raw(&o, "goal");
    out->given = true;
    if (goal.p != NULL) part_read(b, goal, build_at(b, pointer, "goal"), &out->goal);
    parts_read(&o, "constraints", &out->constraints);
    parts_read(&o, "procedure", &out->procedure);
    parts_read(&o, "verify", &out->verify);
    output_read(&o, &out->output);
    object_close(&o);
    if (out->goal.nr + out->constraints.nr + out->procedure.nr + out->verify.nr + out->output.nr ==
        0)
        build_wrong(b, pointer, "the blocks are all empty; a step needs a prompt");
}

/* --- features --- */

void build_features(struct build *b) {
    struct wr_workflow *w = b->w;
    b->pass = "features";
    for (size_t i = 0; i < w->features.nr; i++) { /* by their ids (WR-188) */
        const struct wr_builtin_feature *f = wr_builtin_feature(w->features.v[i].id);
        for (size_t k = 0; f != NULL && k < w->steps.nr; k++) {
            struct wr_step *s = &w->steps.v[k];
            if (s->origin != WR_AUTHORED) continue;
            if (b->blocks[k].given)
                part_push(b, &b->blocks[k].constraints,
                          (struct part){.text = str_c(f->constraint)});
            else
                s->prompt = arena_printf(b->a, STR_FMT "\n\n%s", STR_ARG(s->prompt), f->constraint);
        }
    }
}

/* --- snippets --- */

static void ref_use(struct build *b, struct wr_step *s, size_t *cap, const struct part *p) {
    struct wr_digest d = wr_digest_of(p->text);
    for (size_t i = 0; i < s->refs.nr; i++)
        if (str_eq(s->refs.v[i].ref_id, p->ref_id)) return;
    if (VEC_ROOM_IN(b->a, s->refs.v, s->refs.nr, *cap, FIRST_CAP) != 0) {
        b->no_memory = true;
        return;
    }
    s->refs.v[s->refs.nr++] =
        (struct wr_ref_used){p->ref_id, arena_str(b->a, wr_digest_str(&d)), (int64_t)p->text.n};
}

static void parts_resolve(struct build *b, struct wr_step *s, size_t *cap, size_t *sum,
                          struct parts *parts) {
    char hint[128];
    for (size_t i = 0; i < parts->nr; i++) {
        struct part *p = &parts->v[i];
        if (p->ref_id.p == NULL) continue;
        const struct wr_builtin_ref *ref = wr_builtin_ref(p->ref_id);
        if (ref == NULL) {
            build_wrong(b, p->pointer, "the snippet is unknown%s",
                        wr_builtin_hint(p->ref_id, hint, sizeof hint));
            continue;
        }
        p->text = str_c(ref->text);
        *sum += p->text.n;
        if (p->text.n > WR_REF_SNIPPET_MAX || *sum > WR_REF_STEP_MAX)
            build_wrong(b, p->pointer, "the snippets of the step exceed %d bytes", WR_REF_STEP_MAX);
        ref_use(b, s, cap, p);
    }
}

void build_refs(struct build *b) {
    b->pass = "refs";
    for (size_t i = 0; i < b->w->steps.nr; i++) {
        struct blocks *k = &b->blocks[i];
        struct parts *all[] = {&k->goal, &k->constraints, &k->procedure, &k->verify};
        size_t cap = 0, sum = 0;
        for (size_t n = 0; n < 4; n++) parts_resolve(b, &b->w->steps.v[i], &cap, &sum, all[n]);
    }
}

/* --- text --- */

static void compile_blocks_heading(struct buf *out, const char *name) {
    if (out->len > 0) buf_addz(out, "\n\n");
    buf_addf(out, "## %s", name);
}

static void list_text(struct buf *out, const char *name, const struct parts *p, bool numbers) {
    if (p->nr == 0) return;
    compile_blocks_heading(out, name);
    for (size_t i = 0; i < p->nr; i++) {
        if (numbers) buf_addf(out, "\n%zu. ", i + 1);
        else buf_addz(out, "\n- ");
        buf_adds(out, p->v[i].text);
    }
}

static struct str blocks_text(struct build *b, const struct blocks *k) {
    struct buf out;
    buf_init(&out, PROMPT_MAX);
    if (k->goal.nr > 0) {
        compile_blocks_heading(&out, "Goal");
        buf_addc(&out, '\n');
        buf_adds(&out, k->goal.v[0].text);
    }
    list_text(&out, "Constraints", &k->constraints, false);
    list_text(&out, "Procedure", &k->procedure, true);
    if (k->output.nr > 0) compile_blocks_heading(&out, "Output Required");
    for (size_t i = 0; i < k->output.nr; i++)
        buf_addf(&out, "\n- **" STR_FMT "**: " STR_FMT, STR_ARG(k->output.v[i].name),
                 STR_ARG(k->output.v[i].definition));
    list_text(&out, "Verify", &k->verify, false);
    struct str text = buf_failed(&out) ? STR_NONE : arena_str(b->a, buf_str(&out));
    if (text.p == NULL && !buf_over(&out)) b->no_memory = true;
    buf_fini(&out);
    return text;
}

static void list_json(struct jw *w, const char *name, const struct parts *p) {
    if (p->nr == 0) return;
    jw_key(w, name);
    jw_array(w);
    for (size_t i = 0; i < p->nr; i++) jw_str(w, p->v[i].text);
    jw_end_array(w);
}

/* The blocks as they are embedded: snippets resolved, members in byte order. */
static struct str blocks_json(struct build *b, const struct blocks *k) {
    struct buf out;
    struct jw w;
    struct str text = STR_NONE;
    buf_init(&out, 2 * PROMPT_MAX);
    jw_init(&w, &out);
    jw_object(&w);
    list_json(&w, "constraints", &k->constraints);
    if (k->goal.nr > 0) jw_kstr(&w, "goal", k->goal.v[0].text);
    if (k->output.nr > 0) {
        jw_key(&w, "outputRequired");
        jw_object(&w);
        for (size_t i = 0; i < k->output.nr; i++) {
            jw_key_str(&w, k->output.v[i].name);
            jw_str(&w, k->output.v[i].definition);
        }
        jw_end_object(&w);
    }
    list_json(&w, "procedure", &k->procedure);
    list_json(&w, "verify", &k->verify);
    jw_end_object(&w);
    if (buf_failed(&out) ||
        wr_canonical(buf_str(&out), &JSON_LIMITS_STORED, b->a, &text, NULL) != 0)
        b->no_memory = true;
    buf_fini(&out);
    return text;
}

static bool has_unresolved(struct str s) {
    static const char OPEN[] = "{{wr.";
    for (size_t i = 0; i + sizeof OPEN - 1 <= s.n; i++)
        if (memcmp(s.p + i, OPEN, sizeof OPEN - 1) == 0) return true;
    return false;
}

void build_prompts(struct build *b) {
    struct wr_workflow *w = b->w;
    b->pass = "blocks";
    for (size_t i = 0; i < w->steps.nr; i++) {
        struct wr_step *s = &w->steps.v[i];
        if (b->blocks[i].given) {
            s->prompt = blocks_text(b, &b->blocks[i]);
            s->blocks = blocks_json(b, &b->blocks[i]);
        }
        if (s->prompt.p == NULL || s->prompt.n > PROMPT_MAX)
            build_wrong(b, b->pointers[i], "the prompt is longer than %zu bytes", PROMPT_MAX);
    }
    b->pass = "scan";
    for (size_t i = 0; i < w->steps.nr; i++)
        if (has_unresolved(w->steps.v[i].prompt) || has_unresolved(w->steps.v[i].title) ||
            has_unresolved(w->steps.v[i].agent_role))
            build_wrong(b, b->pointers[i],
                        "{{wr. is left unresolved; there is no interpolation "
                        "here, snippets are {\"kind\":\"ref\"} in blocks");
}
