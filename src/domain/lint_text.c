/*
 * lint_text.c: checks of members, words and names for all parts of lint; reports findings.
 */
#include "domain/lint_int.h"

#include <stdarg.h>
#include <stdio.h>

void lint_tell(struct lint *l, bool error, const char *pointer, const char *key, const char *fmt,
               ...) {
    struct lint_finding f = {.error = error};
    va_list ap;
    if (l->told++ >= LINT_MAX) return;
    if (key != NULL) (void)snprintf(f.pointer, sizeof f.pointer, "%.120s/%.60s", pointer, key);
    else (void)snprintf(f.pointer, sizeof f.pointer, "%s", pointer);
    va_start(ap, fmt);
    (void)vsnprintf(f.text, sizeof f.text, fmt, ap);
    va_end(ap);
    l->each(l->ctx, &f);
}

/* The next of the words at *rest. */
bool lint_next_word(const char **rest, struct str *word) {
    *rest += strspn(*rest, " ");
    *word = str_n(*rest, strcspn(*rest, " "));
    *rest += word->n;
    return word->n > 0;
}

bool lint_has_word(const char *words, struct str name) {
    struct str w;
    while (lint_next_word(&words, &w))
        if (str_eq(w, name)) return true;
    return false;
}

static void near_words(struct near *n, const char *words) {
    struct str w;
    while (lint_next_word(&words, &w)) near_try(n, w);
}

struct str lint_text(struct lint *l, struct str object, const char *key) {
    struct str raw = json_get(object, key);
    if (raw.p == NULL || json_type_of(raw) != JSON_STRING) return STR_NONE;
    struct str s = json_string(raw, l->a);
    if (s.p == NULL) l->no_memory = true;
    return s;
}

void lint_members(struct lint *l, struct str object, const char *pointer, const char *known,
                  bool closed) {
    struct json_members m;
    char hint[NEAR_HINT];
    if (object.p == NULL || json_type_of(object) != JSON_OBJECT) return;
    if (json_members(object, l->a, &m, NULL) != 0) {
        l->no_memory = true;
        return;
    }
    for (size_t i = 0; i < m.n && l->told < LINT_MAX; i++) {
        struct near n;
        if (lint_has_word(known, m.v[i].key)) continue;
        near_init(&n, m.v[i].key);
        near_words(&n, known);
        bool near = near_best(&n).n > 0;
        lint_tell(l, closed || near, pointer, NULL, "\"%.*s\" means nothing here%s",
                  (int)(m.v[i].key.n < 64 ? m.v[i].key.n : 64), m.v[i].key.p,
                  near ? near_hint(&n, hint) : "; it is ignored");
    }
}

void lint_word(struct lint *l, struct str object, const char *pointer, const char *key,
               const char *words) {
    char hint[NEAR_HINT];
    struct near n;
    struct str s = lint_text(l, object, key);
    if (s.p == NULL || lint_has_word(words, s)) return;
    near_init(&n, s);
    near_words(&n, words);
    lint_tell(l, true, pointer, key, "\"%.*s\" must be one of: %s%s", (int)(s.n < 64 ? s.n : 64),
              s.p, words, near_hint(&n, hint));
}

void lint_near(struct near *n, const struct map *known) {
    struct str name;
    void *value;
    for (size_t it = 0; map_next(known, &it, &name, &value);) near_try(n, name);
}

void lint_name(struct lint *l, struct str object, const char *pointer, const char *key,
               const struct map *known, const char *what) {
    char hint[NEAR_HINT];
    struct near n;
    struct str s = lint_text(l, object, key);
    if (s.p == NULL || map_get(known, s) != NULL) return;
    near_init(&n, s);
    lint_near(&n, known);
    lint_tell(l, true, pointer, key, "there is no %s \"%.*s\"%s", what, (int)(s.n < 64 ? s.n : 64),
              s.p, near_hint(&n, hint));
}
