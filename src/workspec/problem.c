/* problem.c: lists of problems and how they read; see problem.h. */
#include "workspec/problem.h"
#include "base/vec.h"
#include "codec/json.h"

enum { PROBLEMS_FIRST = 16, SHOWN_MAX = 80 };
enum { CONTEXT_VALUE_MAX = 16 * 1024 }; /* bytes of a value of a document in a context */
#define TYPE_URI "https://universalautomation.wiki/workspec/errors/"

struct row {
    const char *metric;
    enum ws_severity severity;
    const char *detail, *suggestion;
};
static const struct row ROWS[WS_CODES] = {
#define PROBLEM(code, metric, severity, detail, suggestion)                                        \
    [WS_##code] = {metric, WS_##severity, detail, suggestion},
#include "workspec/problems.def"
#undef PROBLEM
};

void ws_report_init(struct ws_report *r, struct arena *a) {
    *r = (struct ws_report){.a = a};
    buf_init(&r->scratch, WS_PROBLEM_BYTES_MAX);
}

void ws_report_fini(struct ws_report *r) { buf_fini(&r->scratch); }

/* A large value would come again with each problem that has to do with it (WS-144). */
static void value_write(struct buf *b, const struct ws_value *v) {
    struct buf text;
    buf_init(&text, CONTEXT_VALUE_MAX);
    ws_write(&text, v, 0);
    if (buf_over(&text)) buf_addf(b, "{\"omitted\":\"%s\"}", ws_typeof(v));
    else if (buf_failed(&text)) b->failed = true;
    else buf_adds(b, buf_str(&text));
    buf_fini(&text);
}

static void fact_write(struct jw *w, struct buf *b, const struct ws_fact *f) {
    if (f->kind == WS_FACT_VALUE && f->value == NULL) return;
    jw_key(w, f->name);
    switch (f->kind) {
    case WS_FACT_TEXT:
        if (f->text.p == NULL) jw_null(w);
        else jw_str(w, f->text);
        return;
    case WS_FACT_NUMBER:
        jw_double(w, f->number);
        return;
    case WS_FACT_JSON:
        jw_raw(w, f->text);
        return;
    case WS_FACT_VALUE: { /* the writer counts levels; a value may bring all that are allowed */
        size_t at = b->len;
        jw_raw(w, STR("0"));
        if (!buf_failed(b) && b->len > at) b->p[--b->len] = '\0';
        value_write(b, f->value);
        return;
    }
    }
}

static struct str context_make(struct ws_report *r, const struct ws_fact *facts) {
    struct jw w;
    buf_reset(&r->scratch);
    jw_init(&w, &r->scratch);
    jw_object(&w);
    for (const struct ws_fact *f = facts; f != NULL && f->name != NULL; f++)
        fact_write(&w, &r->scratch, f);
    jw_end_object(&w);
    return buf_failed(&r->scratch) ? STR_NONE : arena_str(r->a, buf_str(&r->scratch));
}

static void problem_add(struct ws_report *r, const struct ws_problem *p) {
    if (VEC_ROOM_IN(r->a, r->v, r->nr, r->cap, PROBLEMS_FIRST) != 0) {
        r->failed = true;
        return;
    }
    r->v[r->nr++] = *p;
    r->counts[p->severity]++;
}

/* The last one that the list takes. */
static void report_end(struct ws_report *r, const char *limit, size_t maximum) {
    struct ws_fact facts[] = {ws_fz("limit", limit),
                              ws_fn("maximum", (double)maximum),
                              ws_fn("observed", (double)maximum + 1),
                              {.name = NULL}};
    struct ws_problem p = {WS_H18, WS_ERROR, 0, 0, STR("/"), context_make(r, facts)};
    r->full = true;
    if (p.context.p == NULL) r->failed = true;
    else problem_add(r, &p);
}

void ws_raise_as(struct ws_report *r, enum ws_code code, enum ws_severity severity,
                 const struct ws_value *where, struct str instance, const struct ws_fact *facts) {
    if (r->full || r->failed) return;
    if (r->nr >= WS_PROBLEMS_MAX) {
        report_end(r, "problems", WS_PROBLEMS_MAX);
        return;
    }
    struct ws_problem p = {.code = code, .severity = (uint8_t)severity, .instance = instance};
    if (where != NULL) {
        p.line = where->line;
        p.column = where->column;
    }
    p.context = context_make(r, facts);
    if (p.context.p == NULL || instance.p == NULL) {
        r->failed = true;
        return;
    }
    r->bytes += p.context.n + instance.n + sizeof p;
    problem_add(r, &p);
    if (r->bytes > WS_PROBLEMS_BYTES_MAX) report_end(r, "bytes of problems", WS_PROBLEMS_BYTES_MAX);
}

void ws_raise(struct ws_report *r, enum ws_code code, const struct ws_value *where,
              struct str instance, const struct ws_fact *facts) {
    ws_raise_as(r, code, ROWS[code].severity, where, instance, facts);
}

void ws_raise_excess(struct ws_report *r, const struct ws_excess *e) {
    ws_raise(r, WS_H18, NULL, STR("/"),
             WS_FACTS(ws_fz("limit", e->limit), ws_fn("maximum", (double)e->maximum),
                      ws_fn("observed", (double)e->observed)));
}

/* The arena, which holds the list, has no room for one more: what was found is given up for the
 * one problem that counts.  The text is of this file, and nobody changes it. */
void ws_report_exhausted(struct ws_report *r) {
    static const char context[] =
        "{\"limit\":\"bytes of memory\",\"maximum\":805306368,\"observed\":805306369}";
    static struct ws_problem only = {.code = WS_H18,
                                     .severity = WS_ERROR,
                                     .instance = {"/", 1},
                                     .context = {context, sizeof context - 1}};
    _Static_assert(WS_ARENA_BYTES_MAX == 805306368, "the text above");
    r->v = &only;
    r->nr = r->cap = 1;
    memset(r->counts, 0, sizeof r->counts);
    r->counts[WS_ERROR] = 1;
    r->full = true;
    r->failed = false;
}

const char *ws_metric(enum ws_code code) { return ROWS[code].metric; }

const char *ws_severity_name(unsigned severity) {
    static const char *const NAMES[] = {"error", "warning", "info"};
    return NAMES[severity];
}

/* --- texts --- */

/* At most SHOWN_MAX bytes, no character cut in two. */
static void shown_put(struct buf *b, struct str s) {
    size_t n = s.n;
    if (n > SHOWN_MAX)
        for (n = SHOWN_MAX; n > 0 && ((unsigned char)s.p[n] & 0xC0) == 0x80;) n--;
    buf_add(b, s.p, n);
    if (n < s.n) buf_addz(b, "...");
}

static void member_put(struct buf *b, struct str context, struct str name) {
    char key[32];
    if (name.n >= sizeof key) return;
    memcpy(key, name.p, name.n);
    key[name.n] = '\0';
    struct str raw = json_get(context, key);
    if (raw.p == NULL) buf_addz(b, "nothing");
    else shown_put(b, raw);
}

/* {name} is a member of the context; other braces are text. */
static void template_put(struct buf *b, const char *text, struct str context) {
    for (const char *p = text; *p != '\0';) {
        size_t n = *p == '{' ? strspn(p + 1, "abcdefghijklmnopqrstuvwxyz_") : 0;
        if (n > 0 && p[n + 1] == '}') {
            member_put(b, context, str_n(p + 1, n));
            p += n + 2;
        } else {
            buf_addc(b, *p++);
        }
    }
}

void ws_detail(struct buf *b, const struct ws_problem *p, bool where) {
    template_put(b, ROWS[p->code].detail, p->context);
    if (where && p->line > 0) buf_addf(b, " (line %u, column %u)", p->line, p->column);
}

void ws_suggestion(struct buf *b, const struct ws_problem *p) {
    template_put(b, ROWS[p->code].suggestion, p->context);
}

/* The last part of the metric id, as words. */
static void title_put(struct buf *b, const char *metric) {
    const char *word = strrchr(metric, '.') + 1;
    buf_addc(b, (char)(*word >= 'a' && *word <= 'z' ? *word - 'a' + 'A' : *word));
    for (word++; *word != '\0'; word++) buf_addc(b, *word == '_' ? ' ' : *word);
}

static void text_member(struct jw *w, const char *name, const struct buf *text) {
    jw_kstr(w, name, buf_str(text));
    if (buf_failed(text)) w->b->failed = true;
}

static void problem_write(struct jw *w, const struct ws_problem *p) {
    const struct row *row = &ROWS[p->code];
    struct buf text;
    buf_init(&text, WS_PROBLEM_BYTES_MAX);
    jw_object(w);
    buf_addf(&text, "%s%s", TYPE_URI, row->metric);
    text_member(w, "type", &text);
    buf_reset(&text);
    title_put(&text, row->metric);
    text_member(w, "title", &text);
    jw_kstrz(w, "severity", ws_severity_name(p->severity));
    buf_reset(&text);
    ws_detail(&text, p, true);
    text_member(w, "detail", &text);
    jw_kstr(w, "instance", p->instance);
    jw_kstrz(w, "metric_id", row->metric);
    jw_kraw(w, "context", p->context);
    jw_key(w, "suggestions");
    jw_array(w);
    buf_reset(&text);
    ws_suggestion(&text, p);
    jw_str(w, buf_str(&text));
    if (buf_failed(&text)) w->b->failed = true;
    jw_end_array(w);
    jw_end_object(w);
    buf_fini(&text);
}

void ws_problems_write(struct buf *b, const struct ws_report *r) {
    struct jw w;
    jw_init(&w, b);
    jw_array(&w);
    for (size_t i = 0; i < r->nr; i++) problem_write(&w, &r->v[i]);
    jw_end_array(&w);
}
