/*
 * prompt.c: see prompt.h.
 */
#include "workrail/prompt.h"

#include "workrail/criteria.h"

#include <stdlib.h>

#define PROMPT_MAX ((size_t)1024 * 1024)

int wr_prompt_requirements(const struct wr_workflow *w, const struct wr_step *s, struct arena *a,
                           struct buf *out) {
    struct wr_texts lines = {NULL, 0};
    if (s->contract_ref.p != NULL) {
        size_t at = wr_workflow_contract(w, s->contract_ref);
        if (at != WR_NO_AT) lines = w->contracts.v[at].requirements;
        buf_addz(out, "\n\n**OUTPUT REQUIREMENTS (System):**");
    } else if (s->criteria.p != NULL) {
        if (wr_criteria_lines(s->criteria, a, &lines) != 0) return WOPR_E_NO_MEMORY;
        if (lines.nr > 0) buf_addz(out, "\n\n**OUTPUT REQUIREMENTS:**");
    }
    for (size_t i = 0; i < lines.nr && i < WR_REQUIREMENTS_MAX; i++) {
        buf_addz(out, "\n- ");
        buf_adds(out, lines.v[i]);
    }
    return 0;
}

/* Up to the first blank line. */
static struct str first_paragraph(struct str s) {
    for (size_t i = 0; i + 1 < s.n; i++)
        if (s.p[i] == '\n' && s.p[i + 1] == '\n') return str_n(s.p, i);
    return s;
}

int wr_prompt_text(const struct wr_workflow *w, const struct wr_step *s, struct str recovery,
                   struct arena *a, struct str *out) {
    struct buf b;
    struct str role = s->agent_role.p != NULL ? s->agent_role : w->agent_role;
    buf_init(&b, PROMPT_MAX);
    if (role.n > 0) {
        buf_adds(&b, first_paragraph(role));
        buf_addz(&b, "\n\n");
    }
    buf_adds(&b, s->prompt);
    int rc = wr_prompt_requirements(w, s, a, &b);
    if (recovery.n > 0) {
        buf_addz(&b, "\n\n");
        buf_adds(&b, recovery);
    }
    buf_addz(&b, "\n\n" WR_FOOTER);
    if (rc == 0 && !buf_failed(&b)) *out = arena_str(a, buf_str(&b));
    else rc = WOPR_E_NO_MEMORY;
    buf_fini(&b);
    return rc == 0 && out->p != NULL ? 0 : WOPR_E_NO_MEMORY;
}

/* --- functions --- */

static int by_name(const void *x, const void *y) {
    return str_cmp(((const struct wr_function *)x)->name, ((const struct wr_function *)y)->name);
}

static bool prompt_wanted(const struct wr_step *s, struct str name) {
    if (s->function_refs.nr == 0) return true;
    for (size_t i = 0; i < s->function_refs.nr; i++)
        if (str_eq(s->function_refs.v[i], name)) return true;
    return false;
}

/* Those of one level that no closer level has, sorted by name. */
static void level_add(const struct wr_step *s, const struct wr_functions *level,
                      struct wr_functions *out) {
    size_t from = out->nr;
    for (size_t i = 0; i < level->nr; i++) {
        bool hidden = !prompt_wanted(s, level->v[i].name);
        for (size_t k = 0; !hidden && k < from; k++)
            hidden = str_eq(out->v[k].name, level->v[i].name);
        if (!hidden) out->v[out->nr++] = level->v[i];
    }
    if (out->nr - from > 1) qsort(out->v + from, out->nr - from, sizeof *out->v, by_name);
}

int wr_prompt_functions(const struct wr_workflow *w, const struct wr_step_at *at, struct arena *a,
                        struct wr_functions *out) {
    size_t step = wr_workflow_step(w, at->step_id), nr = w->functions.nr;
    *out = (struct wr_functions){NULL, 0};
    if (step == WR_NO_AT) return 0;
    const struct wr_step *s = &w->steps.v[step];
    nr += s->functions.nr;
    for (size_t i = 0; i < at->path.nr; i++) {
        size_t loop = wr_workflow_loop(w, at->path.v[i].loop_id);
        if (loop != WR_NO_AT) nr += w->loops.v[loop].functions.nr;
    }
    out->v = ARENA_ARRAY(a, struct wr_function, nr);
    if (out->v == NULL) return WOPR_E_NO_MEMORY;
    level_add(s, &s->functions, out);
    for (size_t i = at->path.nr; i-- > 0;) {
        size_t loop = wr_workflow_loop(w, at->path.v[i].loop_id);
        if (loop != WR_NO_AT) level_add(s, &w->loops.v[loop].functions, out);
    }
    level_add(s, &w->functions, out);
    return 0;
}

void wr_function_write(struct buf *b, const struct wr_function *f) {
    buf_addf(b, "function " STR_FMT "(...)\n  ", STR_ARG(f->name));
    buf_adds(b, f->definition);
}
