/*
 * test_vectors.c: the vectors of the contract, each by its own id (sections 7.2 to 7.5).  Their
 * data is
 * tests/workspec/vectors.json, made of the page by vectors.py.
 */
#include "base/fs.h"
#include "workspec/fold.h"
#include "workspec/validate.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#define VECTORS WOPR_SOURCE_DIR "/tests/workspec/vectors.json"
enum { FILE_MAX = 8 << 20, VALIDATOR_NR = 109, PARSER_NR = 65, INTERPRETER_NR = 39 };

static struct arena *a;
static struct ws_system_zones *zones;
static const struct ws_value *vectors;
static struct buf file;

static void up(void) {
    struct ws_doc doc;
    struct wopr_error err = {0};
    a = arena_new(WS_ARENA_BYTES_MAX);
    zones = ws_system_zones_new();
    cr_assert_eq(fs_read(VECTORS, FILE_MAX, &file), FS_READ_OK);
    cr_assert_eq(ws_parse(buf_str(&file), WS_JSON, &WS_LIMITS_DEFAULT, a, &doc, &err), 0, "%s",
                 err.message);
    vectors = doc.root;
}

static void down(void) {
    ws_system_zones_free(zones);
    buf_fini(&file);
    arena_free(a);
}

/* The text of a value: documents reach the validator through the parser. */
static struct ws_doc doc_of(const struct ws_value *v) {
    struct ws_doc doc;
    struct wopr_error err = {0};
    struct buf b;
    buf_init(&b, FILE_MAX);
    ws_write(&b, v, 2);
    cr_assert_eq(ws_parse(buf_str(&b), WS_JSON, &WS_LIMITS_DEFAULT, a, &doc, &err), 0, "%s",
                 err.message);
    buf_fini(&b);
    return doc;
}

static const char *id_of(const struct ws_value *v) {
    return arena_cstr(a, ws_str(ws_get(v, "id")));
}

/* --- 7.2 --- */

static const char *const CODES[] = {
#define PROBLEM(code, metric, severity, detail, suggestion) [WS_##code] = #code,
#include "workspec/problems.def"
#undef PROBLEM
};

static bool code_means(const struct ws_value *want, const struct ws_problem *p) {
    struct str code = ws_str(ws_get(want, "code")), metric = ws_str(ws_get(want, "metric"));
    if (metric.n > 0) return str_eqc(metric, ws_metric(p->code));
    for (size_t i = 0; i < WS_CODES; i++)
        if (str_eqc(code, CODES[i]))
            return strcmp(ws_metric((enum ws_code)i), ws_metric(p->code)) == 0;
    return false;
}

static bool problem_means(const struct ws_value *want, const struct ws_problem *p) {
    struct str at = ws_str(ws_get(want, "instance")), how = ws_str(ws_get(want, "severity"));
    const struct ws_value *context = ws_get(want, "context");
    struct ws_doc has;
    struct wopr_error err;
    if (!code_means(want, p)) return false;
    if (at.n > 0 && !str_eq(at, p->instance)) return false;
    if (how.n > 0 && !str_eqc(how, ws_severity_name(p->severity))) return false;
    cr_assert_eq(ws_parse(p->context, WS_JSON, &WS_LIMITS_DEFAULT, a, &has, &err), 0);
    for (size_t i = 0; context != NULL && i < context->nr; i++)
        if (!ws_equal(context->members[i].value, ws_get_str(has.root, context->members[i].name)))
            return false;
    return true;
}

static const char *report_text(const struct ws_report *r) {
    struct buf b;
    buf_init(&b, FILE_MAX);
    for (size_t i = 0; i < r->nr; i++) {
        buf_addf(&b, "\n  %s %s %.*s %.*s ", CODES[r->v[i].code],
                 ws_severity_name(r->v[i].severity), STR_ARG(r->v[i].instance),
                 STR_ARG(r->v[i].context));
        ws_detail(&b, &r->v[i], true);
    }
    const char *text = arena_cstr(a, buf_str(&b));
    buf_fini(&b);
    return text;
}

static void check_profile(const struct ws_value *v, const struct ws_value *document,
                          enum ws_profile profile) {
    struct ws_zones z = ws_system_zones(zones);
    struct ws_options o = {.profile = profile, .zones = &z};
    const struct ws_value *want = ws_get(v, profile == WS_HOST ? "host" : "reference");
    struct ws_doc doc = doc_of(document);
    struct ws_report r;
    struct wopr_error err = {0};
    ws_report_init(&r, a);
    cr_assert_eq(ws_validate(&doc, &o, &r, &err), 0, "%s: %s", id_of(v), err.message);
    bool same = r.nr == want->nr;
    for (size_t i = 0; same && i < r.nr; i++) same = problem_means(want->elements[i], &r.v[i]);
    cr_expect(same, "%s, profile %s, gives:%s", id_of(v), profile == WS_HOST ? "host" : "reference",
              report_text(&r));
    ws_report_fini(&r);
}

Test(workspec_vectors, v_1_to_v_109_in_both_profiles_ws_2, .init = up, .fini = down) {
    const struct ws_value *all = ws_get(vectors, "validator");
    cr_assert_eq(all->nr, VALIDATOR_NR);
    for (size_t i = 0; i < all->nr; i++) {
        const struct ws_value *documents = ws_get(all->elements[i], "documents");
        for (size_t k = 0; k < documents->nr; k++) {
            check_profile(all->elements[i], documents->elements[k], WS_REFERENCE);
            check_profile(all->elements[i], documents->elements[k], WS_HOST);
        }
    }
}

/* --- 7.3 --- */

static void iso_put(char *out, size_t n, int64_t utc_ms) {
    char date[WS_DATE_SIZE];
    int64_t days = utc_ms / WS_DAY_MS - (utc_ms % WS_DAY_MS < 0), ms = utc_ms - days * WS_DAY_MS;
    ws_date_format(days, date);
    snprintf(out, n, "%sT%02d:%02d:%02d.%03dZ", date, (int)(ms / 3600000), (int)(ms / 60000 % 60),
             (int)(ms / 1000 % 60), (int)(ms % 1000));
}

static int64_t utc_of(const struct ws_start *s) {
    return s->days * WS_DAY_MS + s->ms - s->offset_min * INT64_C(60000);
}

static void start_text(const struct ws_value *v, char *out, size_t n) {
    struct ws_start s;
    const char *why = ws_start_parse(v, &s);
    if (why != NULL) snprintf(out, n, "error %s", why);
    else if (s.form != WS_DATETIME)
        snprintf(out, n, "%lld ms", (long long)(s.days * WS_DAY_MS + s.ms));
    else {
        snprintf(out, n, "date-time ");
        iso_put(out + strlen(out), n - strlen(out), utc_of(&s));
    }
}

static void duration_text(const struct ws_value *v, char *out, size_t n) {
    struct ws_duration d;
    const char *why = ws_duration_parse(v, WS_MINUTES, &d);
    if (why != NULL) snprintf(out, n, "error %s", why);
    else if (d.months > 0 && d.ms > 0)
        snprintf(out, n, "%lld months + %lld ms", (long long)d.months, (long long)d.ms);
    else if (d.months > 0) snprintf(out, n, "%lld months", (long long)d.months);
    else snprintf(out, n, "%lld ms", (long long)d.ms);
}

/* "570 min", or "error" */
static bool minutes_are(struct str want, bool good, double minutes) {
    struct str number, unit;
    double n;
    if (!str_cut(want, ' ', &number, &unit)) return !good;
    return good && ws_number_of(number, &n) == WS_NUMERAL && n == minutes;
}

static void check_start(const struct ws_value *v) {
    char own[96];
    struct ws_start s;
    struct str reference = ws_str(ws_get(v, "reference"));
    start_text(ws_get(v, "value"), own, sizeof own);
    cr_expect(str_eqc(ws_str(ws_get(v, "host")), own), "%s gives %s", id_of(v), own);
    if (!str_ends(reference, STR(" min"))) return;
    cr_assert_null(ws_start_parse(ws_get(v, "value"), &s));
    cr_expect(minutes_are(reference, true, ws_start_minutes(&s)), "%s gives %.17g", id_of(v),
              ws_start_minutes(&s));
}

static void check_duration(const struct ws_value *v, const struct ws_value *value) {
    char own[96];
    double minutes = 0;
    bool good = ws_duration_minutes(value, WS_MINUTES, &minutes);
    duration_text(value, own, sizeof own);
    cr_expect(str_eqc(ws_str(ws_get(v, "host")), own), "%s gives %s", id_of(v), own);
    cr_expect(minutes_are(ws_str(ws_get(v, "reference")), good, minutes), "%s gives %.17g",
              id_of(v), minutes);
}

static void check_calendar(const struct ws_value *v) {
    char own[96], end[40];
    struct ws_start s;
    struct ws_duration d;
    double minutes = 0;
    const struct ws_value *value = ws_get(v, "duration");
    bool good = ws_duration_minutes(value, WS_MINUTES, &minutes);
    cr_expect(minutes_are(ws_str(ws_get(v, "reference")), good, minutes), "%s: %.17g min", id_of(v),
              minutes);
    cr_assert_null(ws_start_parse(ws_get(v, "start"), &s));
    const char *why = ws_duration_parse(value, WS_MINUTES, &d);
    if (why == NULL && d.months > 0 && s.form != WS_DATETIME) why = "calendar_needs_datetime";
    if (why != NULL) {
        snprintf(own, sizeof own, "error %s", why);
    } else {
        iso_put(end, sizeof end, utc_of(&s) + ws_duration_ms(&s, &d));
        snprintf(own, sizeof own, "%.19sZ, %lld ms", end, (long long)ws_duration_ms(&s, &d));
    }
    cr_expect(str_eqc(ws_str(ws_get(v, "host")), own), "%s gives %s", id_of(v), own);
}

Test(workspec_vectors, p_1_to_p_65_starts_and_durations_ws_27_ws_28, .init = up, .fini = down) {
    const struct ws_value *all = ws_get(vectors, "parser");
    cr_assert_eq(all->nr, PARSER_NR);
    for (size_t i = 0; i < all->nr; i++) {
        const struct ws_value *v = all->elements[i];
        struct str kind = ws_str(ws_get(v, "kind"));
        if (str_eqc(kind, "start")) check_start(v);
        else if (str_eqc(kind, "duration")) check_duration(v, ws_get(v, "value"));
        else check_calendar(v);
    }
}

/* --- 7.5 --- */

static void value_put(struct buf *b, const struct ws_value *v) {
    struct buf text;
    if (v == NULL) {
        buf_addz(b, "absent");
        return;
    }
    buf_init(&text, FILE_MAX);
    ws_write(&text, v, 0);
    for (size_t i = 0; i < text.len; i++) { /* names of members without quotes, as on the page */
        char prev = i > 0 ? text.p[i - 1] : ' ';
        const char *end = text.p[i] == '"' ? memchr(text.p + i + 1, '"', text.len - i - 1) : NULL;
        if (end != NULL && (prev == '{' || prev == ',') && end[1] == ':') {
            buf_add(b, text.p + i + 1, (size_t)(end - text.p) - i - 1);
            i = (size_t)(end - text.p);
        } else {
            buf_addc(b, text.p[i]);
        }
    }
    buf_fini(&text);
}

static void change_put(struct buf *b, const struct ws_change *c) {
    int64_t day = c->vt / WS_DAY_MS, ms = c->vt % WS_DAY_MS;
    bool existence = c->cell.p == NULL;
    if (!existence && (strcmp(c->cause, "create") == 0 || strcmp(c->cause, "restore") == 0)) return;
    if (b->len > 0) buf_addz(b, "; ");
    if (day > 0) buf_addf(b, "d%d ", (int)day + 1);
    buf_addf(b, "%02d:%02d %.*s", (int)(ms / 3600000), (int)(ms / 60000 % 60), STR_ARG(c->object));
    if (existence) {
        bool expires = strcmp(c->cause, "expire") == 0;
        buf_addf(b, " %s",
                 expires                            ? "removed (temporary create ends)"
                 : strcmp(c->cause, "create") == 0  ? "created"
                 : strcmp(c->cause, "restore") == 0 ? "restored"
                                                    : "deleted");
        return;
    }
    buf_addf(b, ".%.*s ", STR_ARG(c->property));
    value_put(b, c->previous);
    buf_addz(b, "\xE2\x86\x92");
    value_put(b, c->next);
}

struct differ {
    struct buf *b;
    struct fold *before;
};

static void differ_cell(void *ctx, struct str object, struct str property,
                        const struct ws_value *value) {
    struct differ *d = ctx;
    struct str bare;
    bool top = fold_top(property, &bare);
    if (!fold_alive(d->before, object)) return;
    if (ws_equal(fold_cell(d->before, object, bare, top)->value, value)) return;
    buf_addf(d->b, "; %.*s.%.*s = ", STR_ARG(object), STR_ARG(property));
    value_put(d->b, value);
}

static void failure_put(struct buf *b, const struct ws_plan *p, const struct ws_failure *f) {
    buf_addf(b, "FAIL %.*s %s", STR_ARG(p->v[f->task].id),
             ws_failure_code(f->kind) + strlen("workspec_"));
    if (f->kind == WS_F_TRANSITION) {
        buf_addz(b, ": expected ");
        value_put(b, f->expected);
        buf_addz(b, " actual ");
        value_put(b, f->actual);
    } else if (f->kind == WS_F_TYPE) {
        buf_addf(b, ": %s", ws_kind_name(f->actual));
    } else if (f->kind == WS_F_STOCK) {
        buf_addz(b, ": ");
        value_put(b, f->actual);
        buf_addz(b, " -> ");
        value_put(b, f->after);
    } else if (f->kind == WS_F_REVERT) {
        buf_addf(b, ": %s", ws_failure_code(f->reason) + strlen("workspec_"));
    }
}

static void world_put(struct buf *b, const struct ws_world *w, struct fold *before) {
    struct differ d = {b, before};
    struct ws_seen seen;
    size_t from = b->len;
    ws_world_each(w, differ_cell, &d);
    for (size_t i = 0; i < ws_world_objects(w); i++) {
        if (!ws_world_object(w, i, &seen) || !seen.alive || fold_alive(before, seen.id)) continue;
        buf_addf(b, "; %.*s = ", STR_ARG(seen.id));
        value_put(b, ws_get(ws_world_shape(w, i, a), "properties"));
    }
    if (b->len == from) buf_addz(b, "; world unchanged");
}

static void check_interpreter(const struct ws_value *v) {
    struct ws_doc doc = doc_of(ws_get(v, "documents")->elements[0]);
    const struct ws_value *want = ws_get(v, "changes");
    struct wopr_error err = {0};
    struct ws_plan p;
    struct ws_step step;
    struct ws_outcome out = {{0}, NULL, 0};
    struct fold fold, before;
    struct buf changes, result, wanted;
    buf_init(&changes, FILE_MAX);
    buf_init(&result, FILE_MAX);
    buf_init(&wanted, FILE_MAX);
    cr_assert_eq(ws_compile(&doc, NULL, a, &p, &err), 0, "%s: %s", id_of(v), err.message);
    struct ws_world *w = ws_world_new(&p, a);
    struct ws_steps steps = {.plan = &p};
    fold_init(&fold, a, w);
    fold_init(&before, a, w);
    while (out.failure.kind == WS_F_NONE && ws_next_step(&steps, &step)) {
        (step.ends ? ws_end : ws_begin)(w, step.task, step.vt, &out);
        for (size_t i = 0; i < out.nr; i++) {
            change_put(&changes, &out.v[i]);
            fold_change(&fold, &out.v[i]);
        }
        cr_expect(fold_equals(&fold, w), "%s: the world is not the fold of its changes", id_of(v));
    }
    for (size_t i = 0; i < want->nr; i++)
        buf_addf(&wanted, "%s%.*s", i > 0 ? "; " : "", STR_ARG(ws_raw(want->elements[i])));
    if (out.failure.kind == WS_F_NONE) buf_addz(&result, "ok");
    else failure_put(&result, &p, &out.failure);
    world_put(&result, w, &before);
    cr_expect(str_eq(buf_str(&changes), buf_str(&wanted)), "%s changes %.*s", id_of(v),
              STR_ARG(buf_str(&changes)));
    cr_expect(str_eq(buf_str(&result), ws_raw(ws_get(v, "result"))), "%s gives %.*s", id_of(v),
              STR_ARG(buf_str(&result)));
    buf_fini(&changes);
    buf_fini(&result);
    buf_fini(&wanted);
}

Test(workspec_vectors, s_1_to_s_39_interpreter_ws_67_to_ws_91, .init = up, .fini = down) {
    const struct ws_value *all = ws_get(vectors, "interpreter");
    cr_assert_eq(all->nr, INTERPRETER_NR);
    for (size_t i = 0; i < all->nr; i++) check_interpreter(all->elements[i]);
}
