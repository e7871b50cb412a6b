/*
 * secret.c: copies of sensitive values; see secret.h.
 */
#include "engine/secret.h"

#include "base/many.h"
#include "codec/json.h"

#include <stdlib.h>

#define SECRETS_MAX             4096u /* values looked for; of a channel the latest */
#define SECRET_ENTRIES_MAX      256u  /* of one channel */
#define SECRET_DEPTH_MAX        8u
#define SECRET_CUT_BYTES_MAX    (256u * 1024) /* larger ones are looked for as a whole only */
#define SECRET_NEEDLE_BYTES_MAX (64u * 1024)  /* larger ones are recognised as they are only */
#define SCAN_WORK_MAX           (64u * 1024 * 1024) /* bytes compared in one look: some 30 ms */
#define SCRUB_BYTES_MAX         (16u * 1024 * 1024)
#define SCRUB_SPANS_MAX         512u /* in one string; with more it is replaced as a whole */
#define NESTED_MAX              3u   /* JSON text in a string of JSON text in a string ... */

/* In the scratch memory of the turn: collected at first need, extended by what the turn itself
 * masks. */
struct secret {
    struct str raw;  /* JSON of at least SECRET_CHARS_MIN characters */
    struct str text; /* of a string its characters, else raw */
    enum json_type type;
    double number;
};
struct span { /* of a string */
    size_t from, to;
};
struct secrets {
    const struct workflow *wf;
    struct secret *v; /* looked for as they are */
    size_t n, cap;
    struct many *parts; /* of at least SECRET_PART_CHARS_MIN characters: looked for anywhere */
    struct many *words; /* shorter ones, in texts: where they stand as words */
    struct span *spans; /* SCRUB_SPANS_MAX, of the string that is being scrubbed */
    bool full;          /* there are more than are looked for: whatever could hold one is masked */
    uint64_t work;      /* that may still be done in this look */
    struct arena *a;
};

static bool secret_room(struct secrets *l) {
    if (l->n < l->cap) return true;
    size_t cap = l->cap ? 2 * l->cap : 16;
    struct secret *v = ARENA_ARRAY(l->a, struct secret, cap);
    if (!v) return false; /* the arena has failed: so has the turn */
    if (l->n > 0) memcpy(v, l->v, l->n * sizeof *v);
    l->v = v;
    l->cap = cap;
    return true;
}

/* What the definition says is known to its readers, and occurs where no one has copied it. */
static bool is_said(const struct secrets *l, const struct secret *s) {
    return (s->type == JSON_STRING || s->type == JSON_NUMBER) && workflow_says(l->wf, s->text);
}

static void secret_keep(struct secrets *l, struct str raw) {
    struct secret s = {.raw = raw, .text = raw, .type = json_type_of(raw)};
    if (s.type == JSON_STRING) s.text = json_string(raw, l->a);
    if (s.type == JSON_NUMBER && !json_double(raw, &s.number)) return;
    if (!s.text.p || is_said(l, &s) || !secret_room(l)) return;
    l->v[l->n++] = s;
    int rc = 0;
    if (s.text.n >= SECRET_PART_CHARS_MIN && s.text.n <= SECRET_NEEDLE_BYTES_MAX)
        rc = many_add(l->parts, s.text);
    else if (s.text.n >= SECRET_CHARS_MIN && s.text.n < SECRET_PART_CHARS_MIN)
        rc = many_add(l->words, s.text);
    (void)rc; /* as above */
}

/* raw lives as long as the list.  A part of an object or array has to be longer than a value. */
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
    for (size_t i = 0; i < m.n; i++) secret_add(l, m.v[i].raw, depth + 1);
    for (size_t i = 0; i < e.n; i++) secret_add(l, e.v[i], depth + 1);
}

static void copy_add(struct secrets *l, struct str raw) {
    if (raw.n > 0) secret_add(l, arena_str(l->a, raw), 0);
}

/* Add the members of clear that are shown differently; of an object that is shown as one, those
 * of its members: what stands beside a masked value is none. */
static void members_differ(struct secrets *l, struct str clear, struct str shown, unsigned depth) {
    struct json_members m = {0}, s = {0};
    if (clear.n == 0 || json_members(clear, l->a, &m, NULL) != 0) return;
    if (shown.n > 0 && json_members(shown, l->a, &s, NULL) != 0) return;
    json_members_sort(&s);
    for (size_t i = 0; i < m.n; i++) {
        const struct json_member *x = json_member_sorted(&s, m.v[i].key);
        struct str raw = m.v[i].raw;
        if (x && str_eq(x->raw, raw)) continue;
        bool inside = x && depth < SECRET_DEPTH_MAX && json_type_of(x->raw) == JSON_OBJECT &&
                      json_type_of(raw) == JSON_OBJECT;
        if (inside) members_differ(l, raw, x->raw, depth + 1);
        else copy_add(l, raw);
    }
}

/* Those that are still the values of their variables are there already. */
static void inputs_add(struct secrets *l, const struct run_state *s) {
    struct json_members m = {0};
    if (s->meta.inputs_clear.n == 0 || json_members(s->meta.inputs_clear, l->a, &m, NULL) != 0)
        return;
    json_members_sort(&m);
    for (size_t i = 0; i < s->variables.n; i++) {
        const struct var_state *v = &s->variables.v[i];
        const struct json_member *x = json_member_sorted(&m, text_str(&v->name));
        if (x && str_eq(text_str(&v->value), x->raw)) m.v[x - m.v].raw = STR_NONE;
    }
    for (size_t i = 0; i < m.n; i++) copy_add(l, m.v[i].raw);
}

static void chan_add_all(struct secrets *l, const struct chan_state *c) {
    size_t from = c->n > SECRET_ENTRIES_MAX ? c->n - SECRET_ENTRIES_MAX : 0;
    for (; from < c->n; from++) {
        struct str raw = text_str(&c->v[from].value);
        copy_add(l, c->decl ? raw : json_get(raw, "value"));
    }
}

static void secrets_gather(struct secrets *l, const struct run_state *s) {
    for (size_t i = 0; i < s->variables.n; i++) {
        const struct var_state *v = &s->variables.v[i];
        if (v->sensitive && !str_eq(var_shown(v), text_str(&v->value)))
            copy_add(l, text_str(&v->value));
    }
    inputs_add(l, s);
    for (size_t i = 0; i < s->wf->nodes_nr; i++)
        if (s->nodes[i].clear.n > 0)
            members_differ(l, text_str(&s->nodes[i].clear), text_str(&s->nodes[i].outputs), 0);
    for (size_t i = 0; i < s->channels.n; i++)
        if (s->channels.v[i].sensitive) chan_add_all(l, &s->channels.v[i]);
}

static void secrets_begin(struct secrets *l, struct step *st) {
    *l = (struct secrets){.a = st->scratch, .wf = st->state->wf};
    l->parts = many_new(l->a, SECRET_PART_CHARS_MIN);
    l->words = many_new(l->a, SECRET_CHARS_MIN);
    l->spans = ARENA_ARRAY(l->a, struct span, SCRUB_SPANS_MAX);
    l->work = SCAN_WORK_MAX;
    if (l->parts && l->words && l->spans) secrets_gather(l, st->state);
}

static struct secrets *secrets_of(struct step *st) {
    if (!st->state->secrecy.masks || st->plan->failed != 0) return NULL;
    if (!st->secrets) {
        st->secrets = ARENA_NEW(st->scratch, struct secrets);
        if (st->secrets) secrets_begin(st->secrets, st);
    }
    if (arena_failed(st->scratch))
        plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory to look for sensitive values");
    return st->plan->failed == 0 ? st->secrets : NULL;
}

/* Of an object, as the outputs of a node, the members that are masked: as a fold finds them. */
void secret_note(struct step *st, struct str clear, struct str shown) {
    if (st->secrets) members_differ(st->secrets, clear, shown, 0);
}

void secret_look(struct step *st) {
    if (st->secrets) st->secrets->work = SCAN_WORK_MAX;
}

/* --- strings of JSON text --- */

/* A string literal, quotes included; *rest begins after it.  false: there is no more. */
static bool literal_next(struct str *rest, struct str *raw) {
    const char *end = str_end(*rest), *p = rest->n > 0 ? memchr(rest->p, '"', rest->n) : NULL, *q;
    if (!p) return false;
    for (q = p + 1; q < end && *q != '"'; q++)
        if (*q == '\\') q++;
    if (q >= end) return false;
    *raw = str_n(p, (size_t)(q + 1 - p));
    *rest = str_n(q + 1, (size_t)(end - q - 1));
    return true;
}

/* Its characters, borrowed where they stand as they are. */
static struct str literal_text(struct str raw, struct arena *a) {
    if (!memchr(raw.p, '\\', raw.n)) return str_n(raw.p + 1, raw.n - 2);
    return json_string(raw, a);
}

/* Text in which a value may be spelled as JSON: arguments of a tool, a body that was passed on.  It
 * is looked through twice, since a quote before it may make what is between strings of its strings;
 * from: where a look begins.  false: there is no more to look at. */
static bool nested_from(struct str text, unsigned look, struct str *from) {
    const char *quote;
    *from = text;
    if (text.n == 0 || !memchr(text.p, '\\', text.n)) return false;
    for (; look > 0; look--) {
        quote = from->n > 0 ? memchr(from->p, '"', from->n) : NULL;
        if (!quote) return false;
        *from = str_n(quote + 1, (size_t)(str_end(*from) - quote - 1));
    }
    return true;
}

/* --- is it there --- */

/* All values are about to be looked at.  false: so much was done that the text counts as a hit. */
static bool work_take(struct secrets *l) {
    if (l->work < l->n) l->work = 0;
    else l->work -= l->n;
    return l->work > 0;
}

static bool text_is(struct secrets *l, struct str text) {
    if (!work_take(l)) return true;
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].type == JSON_STRING && str_eq(l->v[i].text, text)) return true;
    return false;
}

static bool raw_is(struct secrets *l, struct str raw) {
    double d;
    if (!work_take(l)) return true;
    for (size_t i = 0; i < l->n; i++)
        if (str_eq(l->v[i].raw, raw)) return true;
    if (json_type_of(raw) != JSON_NUMBER || !json_double(raw, &d)) return false;
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].type == JSON_NUMBER && l->v[i].number >= d && l->v[i].number <= d) return true;
    return false;
}

/* A part of the text, or more of it than can be looked through. */
static bool parts_in(struct secrets *l, struct str text) {
    struct many_scan s;
    size_t start, n;
    many_begin(&s, l->parts, text, l->work);
    bool found = many_next(&s, &start, &n) || s.spent;
    l->work = s.spent ? 0 : s.work;
    return found;
}

/* Strings as they are meant, whatever their spelling; objects, arrays and numbers as written. */
static bool strings_hold(struct secrets *l, struct str json, unsigned depth, struct arena *a) {
    struct str rest = json, raw, inner;
    while (literal_next(&rest, &raw)) {
        bool spelled = memchr(raw.p, '\\', raw.n) != NULL;
        if (!spelled && (many_nr(l->words) == 0 || raw.n >= SECRET_PART_CHARS_MIN + 2)) continue;
        struct str text = literal_text(raw, a);
        if (text.n >= SECRET_CHARS_MIN && text.n < SECRET_PART_CHARS_MIN && text_is(l, text))
            return true;
        if (spelled && parts_in(l, text)) return true;
        for (unsigned look = 0; spelled && depth > 0 && look < 2; look++)
            if (nested_from(text, look, &inner) && strings_hold(l, inner, depth - 1, a))
                return true;
    }
    return false;
}

bool secret_in(struct step *st, struct str json) {
    struct secrets *l = secrets_of(st);
    if (!l || l->n == 0 || json.n < SECRET_CHARS_MIN) return false;
    if (l->full) return true; /* not looked for: hidden */
    bool found =
        raw_is(l, json) || parts_in(l, json) || strings_hold(l, json, NESTED_MAX, st->scratch);
    if (arena_failed(st->scratch))
        plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory to look for sensitive values");
    return found;
}

/* --- it is replaced --- */

struct spans {
    struct span *v;
    size_t n;
    uint64_t work; /* that may still be done for the payload */
    bool whole;    /* too many, or not looked through */
};

static bool is_word_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (unsigned char)c >= 0x80;
}

static bool stands_alone(struct str t, size_t from, size_t to) {
    return (from == 0 || !is_word_byte(t.p[from - 1])) && (to == t.n || !is_word_byte(t.p[to]));
}

static void spans_add(struct spans *x, const struct many *m, struct str text, bool alone) {
    struct many_scan s;
    size_t start, n;
    many_begin(&s, m, text, x->work);
    while (!x->whole && many_next(&s, &start, &n)) {
        if (alone && !stands_alone(text, start, start + n)) continue;
        if (x->n == SCRUB_SPANS_MAX) x->whole = true;
        else x->v[x->n++] = (struct span){start, start + n};
    }
    x->work = s.spent ? 0 : s.work;
    x->whole = x->whole || s.spent;
}

static int span_order(const void *p, const void *q) {
    const struct span *x = p, *y = q;
    return x->from != y->from ? (x->from < y->from ? -1 : 1) : (x->to > y->to) - (x->to < y->to);
}

static void spans_mask(const struct spans *x, struct str text, struct buf *out) {
    struct buf b;
    size_t at = 0;
    buf_init(&b, SCRUB_BYTES_MAX);
    for (size_t i = 0; i < x->n && !x->whole; i++) {
        if (x->v[i].from >= at) {
            buf_add(&b, text.p + at, x->v[i].from - at);
            buf_addz(&b, "[REDACTED]");
        }
        if (x->v[i].to > at) at = x->v[i].to; /* overlapping ones are one */
    }
    if (x->whole) buf_addz(&b, "[REDACTED]");
    else buf_add(&b, text.p + at, text.n - at);
    if (buf_failed(&b)) out->failed = true;
    else json_quote(out, buf_str(&b));
    buf_fini(&b);
}

/* As the words of the protocol are: small letters and what joins them. */
static bool is_word_of_protocol(struct str text) {
    static const char CHARS[] = "abcdefghijklmnopqrstuvwxyz_-.";
    if (text.n > WF_WORD_MAX) return false;
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] == '\0' || !strchr(CHARS, text.p[i])) return false;
    return true;
}

/* Members that the protocol gives words to: one of these is no copy.  Their names alone say
 * nothing, because nodes and workers choose some of the values too.  With its quotes. */
static bool is_vocabulary(struct str name, struct str text) {
    static const char *const NAMES[] = {"\"kind\"",   "\"level\"",  "\"status\"", "\"type\"",
                                        "\"code\"",   "\"reason\"", "\"nodeId\"", "\"action\"",
                                        "\"typeId\"", "\"phase\""};
    if (!is_word_of_protocol(text)) return false;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_eqc(name, NAMES[i])) return true;
    return false;
}

static bool spans_cover(const struct spans *x, struct str text) {
    for (size_t i = 0; i < x->n; i++)
        if (x->v[i].from == 0 && x->v[i].to == text.n) return true;
    return false;
}

static bool is_name(struct str after) {
    while (after.n > 0 && strchr(" \t\r\n", after.p[0])) after = str_n(after.p + 1, after.n - 1);
    return after.n > 0 && after.p[0] == ':';
}

/* What is to be masked of a string; false: nothing. */
static bool literal_judge(struct secrets *l, struct str name, struct str text, struct spans *x) {
    bool said = text.n <= WF_WORD_MAX && workflow_says(l->wf, text);
    bool is_word = said || is_vocabulary(name, text);
    x->n = 0;
    x->whole = (l->full && !is_word) || (text.n > SECRET_NEEDLE_BYTES_MAX && text_is(l, text));
    if (x->whole) return true;
    x->work = l->work;
    spans_add(x, l->parts, text, false);
    spans_add(x, l->words, text, true);
    l->work = x->work;
    if ((x->n == 0 && !x->whole) || (x->whole && said)) return false;
    if (spans_cover(x, text) && is_vocabulary(name, text)) return false;
    if (x->n > 1) qsort(x->v, x->n, sizeof *x->v, span_order);
    return true;
}

static bool json_scrub(struct secrets *l, struct str json, unsigned depth, struct buf *out);

/* The text with what it spells as JSON scrubbed; *any: something was. */
static struct str nested_scrub(struct secrets *l, struct str text, unsigned depth, bool *any) {
    struct str inner;
    *any = false;
    for (unsigned look = 0; depth > 0 && look < 2 && nested_from(text, look, &inner); look++) {
        struct buf b;
        buf_init(&b, SCRUB_BYTES_MAX);
        buf_add(&b, text.p, (size_t)(inner.p - text.p));
        if (json_scrub(l, inner, depth - 1, &b)) {
            *any = true;
            text = buf_failed(&b) ? STR_NONE : arena_str(l->a, buf_str(&b));
        }
        buf_fini(&b);
    }
    return text;
}

static bool json_scrub(struct secrets *l, struct str json, unsigned depth, struct buf *out) {
    struct spans x = {.v = l->spans};
    struct str rest = json, raw, name = STR_NONE;
    const char *copied = json.p;
    bool any = false;
    while (literal_next(&rest, &raw)) {
        if (is_name(rest)) {
            name = raw;
            continue;
        }
        struct str text = literal_text(raw, l->a);
        bool nested;
        if (!text.p || text.n < SECRET_CHARS_MIN) continue;
        text = nested_scrub(l, text, depth, &nested);
        if (!text.p) out->failed = true;
        if (!text.p) return any;
        bool whole = literal_judge(l, name, text, &x);
        if (!whole && !nested) continue;
        if (!whole) x = (struct spans){.v = l->spans};
        buf_add(out, copied, (size_t)(raw.p - copied));
        spans_mask(&x, text, out);
        copied = str_end(raw);
        any = true;
    }
    buf_add(out, copied, (size_t)(str_end(json) - copied));
    return any;
}

struct str secret_scrub(struct step *st, struct str json) {
    struct secrets *l = secrets_of(st);
    struct buf b;
    if (!l || l->n == 0 || !json.p) return json;
    buf_init(&b, SCRUB_BYTES_MAX);
    bool any = json_scrub(l, json, NESTED_MAX, &b);
    if (buf_failed(&b) || arena_failed(l->a)) json = STR_NONE;
    else if (any) json = arena_str(st->plan->arena, buf_str(&b));
    buf_fini(&b);
    if (!json.p) plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory to redact a payload");
    return json;
}
