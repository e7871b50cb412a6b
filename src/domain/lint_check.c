/* lint_check.c: runs the compiler and lint together, and renders findings for programs. */
#include "domain/lint_int.h"

#include <stdio.h>

struct gathered {
    lint_fn *each;
    void *ctx;
    struct lint_summary *sum;
    const char *refused; /* the place the compiler refused; NULL: accepted */
    bool explains;       /* a finding says why */
};

/* One of the two places contains the other. */
static bool same_place(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b), least = n < m ? n : m;
    if (least == 0 || strncmp(a, b, least) != 0) return n == m;
    return n == m || (n > m ? a[m] : b[n]) == '/';
}

static void finding_take(void *ctx, const struct lint_finding *f) {
    struct gathered *g = ctx;
    if (f->error) g->sum->errors++;
    else g->sum->warnings++;
    if (f->error && g->refused != NULL && same_place(f->pointer, g->refused)) g->explains = true;
    g->each(g->ctx, f);
}

int workflow_check(struct str text, const struct wf_env *env, const struct wf_types *types,
                   lint_fn *each, void *ctx, struct lint_summary *out, struct wopr_error *err) {
    struct wopr_error why = {0};
    struct lint_summary sum = {0};
    struct gathered g = {.each = each, .ctx = ctx, .sum = &sum};
    int refused = workflow_compile(text, env, &sum.wf, &why);
    if (refused != 0 && refused != WOPR_E_VALIDATION && refused != WOPR_E_SYNTAX) {
        *err = why;
        return refused;
    }
    g.refused = refused != 0 ? why.pointer : NULL;
    int rc = workflow_lint(text, types, finding_take, &g, err);
    if (rc == 0 && refused != 0 && !g.explains) {
        struct lint_finding f = {.error = true};
        (void)snprintf(f.pointer, sizeof f.pointer, "%s", why.pointer);
        (void)snprintf(f.text, sizeof f.text, "%.*s", (int)sizeof f.text - 1, why.message);
        finding_take(&g, &f);
    }
    if (rc == 0) *out = sum;
    else workflow_unref(sum.wf);
    return rc;
}

void lint_finding_render(const struct lint_finding *f, struct jw *w) {
    jw_object(w);
    jw_kstrz(w, "severity", f->error ? "error" : "warning");
    jw_kstrz(w, "path", f->pointer);
    jw_kstrz(w, "message", f->text);
    jw_kraw_opt(w, "value", f->value);
    if (f->choices_nr > 0) {
        jw_key(w, "choices");
        jw_array(w);
        for (size_t i = 0; i < f->choices_nr; i++) jw_str(w, f->choices[i]);
        jw_end_array(w);
    }
    jw_kstr_opt(w, "nearest", f->nearest);
    jw_end_object(w);
}
