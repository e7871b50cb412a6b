/*
 * lint_text.c: the checker's current place, its reports, and its checks of names.
 */
#include "domain/lint_int.h"

#include <stdarg.h>
#include <stdio.h>

/* --- where --- */

/* A segment that does not fit is omitted whole: the pointer then names its container. */
size_t lint_enter(struct lint *l, struct str key) {
    size_t mark = l->at_n, need = 1;
    for (size_t i = 0; i < key.n; i++) need += key.p[i] == '~' || key.p[i] == '/' ? 2 : 1;
    if (l->at_n + need >= sizeof l->at) return mark;
    l->at[l->at_n++] = '/';
    for (size_t i = 0; i < key.n; i++) {
        bool escaped = key.p[i] == '~' || key.p[i] == '/';
        if (escaped) l->at[l->at_n++] = '~';
        l->at[l->at_n++] = !escaped ? key.p[i] : key.p[i] == '~' ? '0' : '1';
    }
    l->at[l->at_n] = '\0';
    return mark;
}

size_t lint_at(struct lint *l, const char *list, size_t i) {
    char number[24];
    int n = snprintf(number, sizeof number, "%zu", i);
    size_t mark = list != NULL ? lint_enter(l, str_c(list)) : l->at_n;
    (void)lint_enter(l, str_n(number, (size_t)n));
    return mark;
}

void lint_leave(struct lint *l, size_t mark) {
    l->at_n = mark;
    l->at[mark] = '\0';
}

/* --- what --- */

bool lint_full(const struct lint *l) { return l->told >= LINT_MAX || l->no_memory; }

void lint_tell(struct lint *l, bool error, const char *key, const struct lint_more *more,
               const char *fmt, ...) {
    struct lint_finding f = {.error = error};
    char hint[NEAR_HINT] = "";
    va_list ap;
    if (lint_full(l)) return;
    l->told++;
    size_t mark = key != NULL ? lint_enter(l, str_c(key)) : l->at_n;
    memcpy(f.pointer, l->at, l->at_n + 1);
    lint_leave(l, mark);
    if (more != NULL) {
        f.choices = more->choices;
        f.choices_nr = more->choices_nr;
        f.nearest = more->nearest;
        if (more->value.n <= LINT_VALUE_MAX) f.value = more->value;
    }
    va_start(ap, fmt);
    int n = vsnprintf(f.text, sizeof f.text - sizeof hint, fmt, ap);
    va_end(ap);
    if (n < 0) n = 0;
    if ((size_t)n >= sizeof f.text - sizeof hint) n = (int)(sizeof f.text - sizeof hint) - 1;
    if (f.nearest.n > 0)
        (void)snprintf(f.text + n, sizeof f.text - (size_t)n, "; did you mean %.*s?",
                       LINT_SHOWN(f.nearest));
    l->each(l->ctx, &f);
}

/* --- names --- */

void lint_try(struct lint *l, struct near *n, struct str name) {
    if (l->near_left == 0) return;
    l->near_left--;
    near_try(n, name);
}

void lint_near(struct lint *l, struct near *n, const struct map *known) {
    struct str name;
    void *value;
    for (size_t it = 0; l->near_left > 0 && map_next(known, &it, &name, &value);)
        lint_try(l, n, name);
}

void lint_put(struct lint *l, struct map *m, struct str key, const void *value) {
    if (key.p != NULL && map_put(m, key, (void *)(uintptr_t)value, NULL) != 0) l->no_memory = true;
}

struct str lint_text(struct lint *l, struct str object, const char *key) {
    struct str raw = json_get(object, key);
    if (raw.p == NULL || json_type_of(raw) != JSON_STRING) return STR_NONE;
    struct str s = json_string(raw, l->a);
    if (s.p == NULL) l->no_memory = true;
    return s;
}

void lint_word(struct lint *l, struct str object, const char *key, const struct str *choices,
               size_t n) {
    struct lint_more more = {.choices = choices, .choices_nr = n};
    struct near near;
    char list[160] = "";
    struct str s = lint_text(l, object, key);
    if (s.p == NULL) return;
    near_init(&near, s);
    for (size_t i = 0; i < n; i++) {
        size_t at = strlen(list);
        if (str_eq(s, choices[i])) return;
        lint_try(l, &near, choices[i]);
        (void)snprintf(list + at, sizeof list - at, "%s%.*s", i > 0 ? ", " : "",
                       LINT_SHOWN(choices[i]));
    }
    more.nearest = near_best(&near);
    more.value = json_get(object, key);
    lint_tell(l, true, key, &more, "\"%.*s\" must be one of: %s", LINT_SHOWN(s), list);
}

bool lint_name(struct lint *l, struct str object, const char *key, const struct map *known,
               const char *what) {
    struct near n;
    struct str s = lint_text(l, object, key);
    if (s.p == NULL || map_get(known, s) != NULL) return true;
    near_init(&n, s);
    lint_near(l, &n, known);
    struct lint_more more = {.value = json_get(object, key), .nearest = near_best(&n)};
    lint_tell(l, true, key, &more, "there is no %s \"%.*s\"", what, LINT_SHOWN(s));
    return false;
}
