/*
 * state_fold.c: helpers of the fold of all kinds: texts of payloads, variables, the refusal of
 * impossible logs.
 */
#include "base/vec.h"
#include "codec/json.h"
#include "domain/state_internal.h"

int fold_corrupt(struct fold *f, const char *what) {
    return wopr_error_set(f->err, WOPR_E_CORRUPT,
                          "event %lld (%s): %s; the run is parked, compare its log with a backup",
                          (long long)f->event->seq, event_name(f->event->kind), what);
}

int fold_no_memory(struct fold *f) {
    return wopr_error_set(f->err, WOPR_E_NO_MEMORY, "no memory to fold an event");
}

struct arena *fold_scratch(struct fold *f) {
    if (!f->scratch) f->scratch = arena_new(STATE_SCRATCH_MAX);
    return f->scratch;
}

int fold_string(struct fold *f, const char *key, struct str *out) {
    struct str raw = json_get(f->event->payload, key);
    if (raw.n < 2 || raw.p[0] != '"') return fold_corrupt(f, "a required string is missing");
    if (!memchr(raw.p, '\\', raw.n)) {
        *out = str_n(raw.p + 1, raw.n - 2);
        return 0;
    }
    struct arena *a = fold_scratch(f);
    struct str s = a ? json_string(raw, a) : STR_NONE;
    if (!s.p) return fold_no_memory(f);
    *out = s;
    return 0;
}

struct var_state *run_state_var(struct run_state *s, struct str name) {
    for (size_t i = 0; i < s->variables.n; i++)
        if (str_eq(text_str(&s->variables.v[i].name), name)) return &s->variables.v[i];
    return NULL;
}

struct str fold_clear(const struct fold *f, const char *key) {
    struct str clear = f->event->clear.n > 0 ? json_get(f->event->clear, key) : STR_NONE;
    return clear.n > 0 ? clear : json_get(f->event->payload, key);
}

bool fold_masked(const struct fold *f) { return (f->event->flags & EVENT_MASKED) != 0; }

int state_var_set(struct run_state *s, struct str name, struct str value, bool sensitive,
                  struct str shown) {
    struct var_state *v = run_state_var(s, name);
    if (!v) {
        if (s->variables.n >= RUN_VARS_MAX) return WOPR_E_TOO_BIG;
        if (VEC_ROOM(s->variables.v, s->variables.n, s->variables.cap, 8) != 0)
            return WOPR_E_NO_MEMORY;
        v = &s->variables.v[s->variables.n];
        *v = (struct var_state){.dirty = false};
        if (text_set(&v->name, name) != 0) return WOPR_E_NO_MEMORY;
        s->variables.n++;
        s->bytes += sizeof *v + name.n;
    }
    if (run_state_text_set(s, &v->value, value) != 0) return WOPR_E_NO_MEMORY;
    if (run_state_text_set(s, &v->shown, sensitive ? shown : STR_NONE) != 0)
        return WOPR_E_NO_MEMORY;
    v->sensitive = sensitive;
    v->dirty = true;
    return 0;
}
