/*
 * state_text.c: the texts that a state owns, and their bytes (R9).
 */
#include "base/mem.h"
#include "domain/state_internal.h"

int text_set(struct text *t, struct str s) {
    char *p = NULL;
    if (s.n > 0 && !(p = mem_strndup(s.p, s.n))) return WOPR_E_NO_MEMORY;
    mem_free(t->p);
    *t = (struct text){p, s.n};
    return 0;
}

void text_clear(struct text *t) {
    mem_free(t->p);
    *t = (struct text){0};
}

int run_state_text_set(struct run_state *s, struct text *t, struct str value) {
    size_t old = t->n;
    if (text_set(t, value) != 0) return WOPR_E_NO_MEMORY;
    s->bytes = s->bytes - old + value.n;
    return 0;
}

void state_text_clear(struct run_state *s, struct text *t) {
    s->bytes -= t->n;
    text_clear(t);
}
