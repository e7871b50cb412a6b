/*
 * secret.c: copies of sensitive values; see secret.h.
 */
#include "engine/secret.h"

#include "base/find.h"
#include "codec/json.h"

#define SECRETS_MAX             4096u /* values searched for; of a channel the latest */
#define SECRET_ENTRIES_MAX      256u  /* of one channel */
#define SECRET_DEPTH_MAX        8u
#define SECRET_CUT_BYTES_MAX    (256u * 1024) /* larger values are searched for as a whole only */
#define SECRET_NEEDLE_BYTES_MAX (64u * 1024)  /* larger values are recognised verbatim only */
#define SCAN_BYTES_MAX          (64u * 1024 * 1024) /* values times bytes of one text: some 30 ms */
#define SCRUB_BYTES_MAX         (16u * 1024 * 1024)

/* In the scratch memory of the turn: collected at first need, extended by what the turn itself
 * masks. */
struct secret {
    struct str raw; /* JSON of at least SECRET_CHARS_MIN characters */
    struct needle needle;
};
struct secrets {
    struct secret *v;
    size_t n, cap;
    bool full; /* there are more than fit: mask whatever could hold one */
    struct arena *a;
};

static struct str text_within(struct str raw) { return str_n(raw.p + 1, raw.n - 2); }

static void secret_keep(struct secrets *l, struct str raw) {
    struct secret s = {.raw = raw};
    enum json_type type = json_type_of(raw);
    struct str part = type == JSON_STRING ? text_within(raw) : raw;
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 16;
        struct secret *v = ARENA_ARRAY(l->a, struct secret, cap);
        if (!v) return; /* the arena has failed, and so has the turn */
        if (l->n > 0) memcpy(v, l->v, l->n * sizeof *v);
        l->v = v;
        l->cap = cap;
    }
    bool within =
        type != JSON_NUMBER && part.n >= SECRET_PART_CHARS_MIN && part.n <= SECRET_NEEDLE_BYTES_MAX;
    if (within && needle_make(&s.needle, part, l->a) != 0) return;
    l->v[l->n++] = s;
}

/* raw lives as long as the list. */
static void secret_add(struct secrets *l, struct str raw, unsigned depth) {
    enum json_type type = json_type_of(raw);
    struct json_members m = {0};
    struct json_elements e = {0};
    if (raw.n == 0 || type == JSON_BOOL || type == JSON_NULL) return;
    if (l->n == SECRETS_MAX) {
        l->full = true;
        return;
    }
    size_t chars = type == JSON_STRING ? raw.n - 2 : raw.n;
    if (chars >= (depth == 0 ? SECRET_CHARS_MIN : SECRET_PART_CHARS_MIN)) secret_keep(l, raw);
    if (depth == SECRET_DEPTH_MAX || raw.n > SECRET_CUT_BYTES_MAX) return;
    if (type == JSON_OBJECT && json_members(raw, l->a, &m, NULL) != 0) return;
    if (type == JSON_ARRAY && json_elements(raw, l->a, &e, NULL) != 0) return;
    for (size_t i = 0; i < m.n; i++)
        if (json_type_of(m.v[i].raw) != JSON_NUMBER) secret_add(l, m.v[i].raw, depth + 1);
    for (size_t i = 0; i < e.n; i++)
        if (json_type_of(e.v[i]) != JSON_NUMBER) secret_add(l, e.v[i], depth + 1);
}

static void copy_add(struct secrets *l, struct str raw) {
    if (raw.n > 0) secret_add(l, arena_str(l->a, raw), 0);
}

/* Add the members of clear that are shown differently. */
static void members_add(struct secrets *l, struct str clear, struct str shown) {
    struct json_members m = {0}, s = {0};
    if (clear.n == 0 || json_members(clear, l->a, &m, NULL) != 0) return;
    if (shown.n > 0 && json_members(shown, l->a, &s, NULL) != 0) return;
    for (size_t i = 0; i < m.n; i++) {
        bool same = false;
        for (size_t k = 0; k < s.n && !same; k++)
            same = str_eq(s.v[k].key, m.v[i].key) && str_eq(s.v[k].raw, m.v[i].raw);
        if (!same) copy_add(l, m.v[i].raw);
    }
}

static void chan_add_all(struct secrets *l, const struct chan_state *c) {
    size_t from = c->n > SECRET_ENTRIES_MAX ? c->n - SECRET_ENTRIES_MAX : 0;
    for (; from < c->n; from++) {
        struct str raw = text_str(&c->v[from].value);
        copy_add(l, c->decl ? raw : json_get(raw, "value"));
    }
}

static void secrets_gather(struct secrets *l, const struct run_state *s) {
    for (size_t i = 0; i < s->vars_nr; i++) {
        const struct var_state *v = &s->vars[i];
        if (v->sensitive && !str_eq(var_shown(v), text_str(&v->value)))
            copy_add(l, text_str(&v->value));
    }
    members_add(l, s->meta.inputs_clear, STR_NONE);
    for (size_t i = 0; i < s->wf->nodes_nr; i++)
        if (s->nodes[i].clear.n > 0)
            members_add(l, text_str(&s->nodes[i].clear), text_str(&s->nodes[i].outputs));
    for (size_t i = 0; i < s->chans_nr; i++)
        if (s->chans[i].sensitive) chan_add_all(l, &s->chans[i]);
}

static struct secrets *secrets_of(struct step *st) {
    if (!st->state->masks || st->plan->failed != 0) return NULL;
    if (!st->secrets) {
        st->secrets = ARENA_NEW(st->scratch, struct secrets);
        if (st->secrets) {
            st->secrets->a = st->scratch;
            secrets_gather(st->secrets, st->state);
        }
    }
    if (arena_failed(st->scratch))
        plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory to look for sensitive values");
    return st->plan->failed == 0 ? st->secrets : NULL;
}

void secret_note(struct step *st, struct str clear, struct str shown) {
    if (st->secrets) members_add(st->secrets, clear, shown);
}

static bool value_holds(struct str json, const struct secret *s) {
    struct finder f;
    if (str_eq(json, s->raw)) return true;
    if (!s->needle.text.p || json.n < s->needle.text.n) return false; /* words are common */
    finder_begin(&f, &s->needle, json);
    return finder_next(&f, 0) < json.n;
}

bool secret_in(struct step *st, struct str json) {
    const struct secrets *l = secrets_of(st);
    if (!l || l->n == 0 || json.n < SECRET_CHARS_MIN) return false;
    if (l->full || l->n > SCAN_BYTES_MAX / json.n) return true; /* too large to search: hide it */
    for (size_t i = 0; i < l->n; i++)
        if (value_holds(json, &l->v[i])) return true;
    return false;
}

struct str secret_scrub(struct step *st, struct str json) {
    const struct secrets *l = secrets_of(st);
    for (size_t i = 0; l && i < l->n && json.p; i++) {
        struct buf b;
        if (json_type_of(l->v[i].raw) != JSON_STRING || !l->v[i].needle.text.p ||
            !value_holds(json, &l->v[i]))
            continue;
        struct str text = json_string(l->v[i].raw, st->scratch);
        buf_init(&b, SCRUB_BYTES_MAX);
        int rc = text.p ? redact_json(json, text, &b, NULL) : WOPR_E_NO_MEMORY;
        json = rc == 0 ? arena_str(st->plan->arena, buf_str(&b)) : STR_NONE;
        buf_fini(&b);
        if (!json.p) plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory to redact a payload");
    }
    return json;
}
