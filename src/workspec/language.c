/* language.c: see language.h. */
#include "workspec/language.h"

#include "base/mem.h"
#include "codec/ident.h"
#include "codec/jobj.h"
#include "workspec/interpret.h"
#include "workspec/run_int.h"

#include <stdio.h>

enum {
    COMPILED_BYTES_MAX = 256 * 1024 * 1024,
    PROJECTION_MAX = 8 * 1024 * 1024,
    SLUG_CHARS_MAX = 64,
    DIGEST_DIGITS = 8,
    WARNINGS_MAX = 100,       /* that a log tells */
    WARNING_BYTES_MAX = 32768 /* of one; what is larger goes without its context */
};

struct ws_line { /* the first line of what is stored */
    enum ws_format format;
    struct str workflow_id;
    struct ws_anchor anchor;
    bool zone;
    struct run_needs needs;
};

/* --- the line --- */

static struct str word_next(struct str *rest) {
    struct str word = *rest, tail = STR("");
    if (!str_cut(*rest, ' ', &word, &tail)) word = *rest;
    *rest = tail;
    return word;
}

static bool anchor_read(struct str word, struct ws_anchor *out) {
    struct str days, offset;
    int64_t min = 0;
    *out = (struct ws_anchor){.anchored = false};
    if (str_eqc(word, "-")) return true;
    out->anchored = str_cut(word, ':', &days, &offset) && str_i64(days, &out->days) &&
                    str_i64(offset, &min) && min >= -1440 && min <= 1440;
    out->offset_min = (int32_t)min;
    return out->anchored;
}

/* EVENTS:LOG:STATE; earlier versions had none. */
static bool needs_read(struct str word, struct run_needs *out) {
    struct str events, rest, log, state;
    *out = (struct run_needs){0, 0, 0};
    if (word.n == 0) return true;
    return str_cut(word, ':', &events, &rest) && str_cut(rest, ':', &log, &state) &&
           str_i64(events, &out->events) && str_i64(log, &out->log_bytes) &&
           str_i64(state, &out->state_bytes);
}

static bool line_read(struct str line, struct ws_line *out) {
    struct str format = word_next(&line);
    out->format = str_eqc(format, "yaml") ? WS_YAML : WS_JSON;
    out->workflow_id = word_next(&line);
    bool good = anchor_read(word_next(&line), &out->anchor);
    out->zone = str_eqc(word_next(&line), "zone");
    good = needs_read(line, &out->needs) && good;
    return good && out->workflow_id.n > 0 && (out->format == WS_YAML || str_eqc(format, "json"));
}

static struct str line_make(struct arena *a, const struct ws_line *l) {
    char anchor[64] = "-";
    if (l->anchor.anchored)
        snprintf(anchor, sizeof anchor, "%lld:%d", (long long)l->anchor.days,
                 (int)l->anchor.offset_min);
    return arena_printf(a, "#!" WS_LANGUAGE " %s " STR_FMT " %s %s %lld:%lld:%lld\n",
                        l->format == WS_YAML ? "yaml" : "json", STR_ARG(l->workflow_id), anchor,
                        l->zone ? "zone" : "no-zone", (long long)l->needs.events,
                        (long long)l->needs.log_bytes, (long long)l->needs.state_bytes);
}

bool ws_stored_open(struct str text, enum ws_format *format, struct str *bytes) {
    struct str name, line;
    struct ws_line l;
    if (!dialect_named(text, &name, &line, bytes) || !str_eqc(name, WS_LANGUAGE)) return false;
    bool good = line_read(line, &l);
    *format = l.format;
    return good;
}

/* --- compiling --- */

/* The zone of the document is one, or it is not, as it was when the document was stored. */
static bool zone_as_stored(void *ctx, struct str name, int64_t utc_ms, int32_t *offset_s) {
    const struct ws_line *l = ctx;
    (void)name, (void)utc_ms;
    *offset_s = l->anchor.offset_min * 60;
    return l->zone;
}

static void warning_keep(struct ws_program *p, const struct ws_report *r, size_t i) {
    struct ws_warning *out = &p->warnings[p->warnings_nr++];
    const struct ws_report one = {.v = &r->v[i], .nr = 1};
    struct buf text, problem;
    buf_init(&text, WS_PROBLEM_BYTES_MAX);
    buf_init(&problem, WS_PROBLEM_BYTES_MAX);
    ws_detail(&text, &r->v[i], false);
    ws_problems_write(&problem, &one);
    out->message = arena_str(p->a, buf_str(&text));
    if (!buf_failed(&problem) && problem.len <= WARNING_BYTES_MAX)
        out->problem = arena_str(p->a, str_n(problem.p + 1, problem.len - 2)); /* of an array */
    buf_fini(&text);
    buf_fini(&problem);
}

static int warnings_keep(struct ws_program *p, const struct ws_line *l, struct wopr_error *err) {
    const struct ws_zones zones = {.offset = zone_as_stored, .ctx = (void *)(uintptr_t)l};
    const struct ws_options o = {.zones = &zones, .no_dry_run = true};
    struct arena *a = arena_new(COMPILED_BYTES_MAX);
    struct ws_report r;
    if (a == NULL) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a document");
    ws_report_init(&r, a);
    int rc = ws_validate(&p->doc, &o, &r, err);
    size_t n = r.counts[WS_WARNING];
    p->warnings = ARENA_ARRAY(p->a, struct ws_warning, (n > WARNINGS_MAX ? WARNINGS_MAX : n) + 1);
    for (size_t i = 0; rc == 0 && p->warnings && i < r.nr && p->warnings_nr < WARNINGS_MAX; i++)
        if (r.v[i].severity == WS_WARNING) warning_keep(p, &r, i);
    if (p->warnings && n > WARNINGS_MAX)
        p->warnings[p->warnings_nr++] = (struct ws_warning){
            .message = arena_printf(p->a, "the document has %zu more warnings", n - WARNINGS_MAX)};
    ws_report_fini(&r);
    arena_free(a);
    if (rc == 0 && arena_failed(p->a))
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a document");
    return rc;
}

static int program_make(const struct ws_line *l, struct str text, struct ws_program **out,
                        struct wopr_error *err) {
    struct arena *a = arena_new(COMPILED_BYTES_MAX);
    struct ws_program *p = a != NULL ? ARENA_NEW(a, struct ws_program) : NULL;
    if (p == NULL) {
        arena_free(a);
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a document");
    }
    p->a = a;
    p->needs = l->needs;
    int rc = ws_parse(text, l->format, &WS_LIMITS_DEFAULT, a, &p->doc, err);
    if (rc == 0 && p->doc.root == NULL)
        rc = wopr_error_set(err, WOPR_E_VALIDATION, "the document is beyond its limits");
    if (rc == 0) rc = ws_compile_again(&p->doc, &l->anchor, a, &p->plan, err);
    if (rc == 0) rc = warnings_keep(p, l, err);
    if (rc == 0) *out = p;
    else ws_compiled_free(p);
    return rc;
}

static int document_compile(void *ctx, struct str line, struct str text, const struct wf_env *env,
                            struct workflow **out, struct wopr_error *err) {
    const struct wf_env plain = {.accepted = env->accepted, .text_max = PROJECTION_MAX};
    struct ws_program *p = NULL;
    struct workflow *wf = NULL;
    struct ws_line l;
    struct buf b;
    (void)ctx;
    if (!line_read(line, &l))
        return wopr_error_set(err, WOPR_E_VALIDATION, "the stored document has no good first line");
    int rc = program_make(&l, text, &p, err);
    if (rc != 0) return rc;
    buf_init(&b, PROJECTION_MAX);
    rc = ws_project(&p->plan, l.workflow_id, &b, err);
    if (rc == WOPR_E_NO_MEMORY && b.len >= PROJECTION_MAX / 2)
        rc = wopr_error_set(err, WOPR_E_TOO_BIG,
                            "the document is too large to run: its definition takes more than %d "
                            "bytes",
                            PROJECTION_MAX);
    if (rc == 0) rc = workflow_compile(buf_str(&b), &plain, &wf, err);
    buf_fini(&b);
    if (rc != 0) {
        ws_compiled_free(p);
        return rc;
    }
    wf->program = &WS_PROGRAM;
    wf->compiled = p;
    *out = wf;
    return 0;
}

const struct wf_dialect WS_DIALECT = {.name = WS_LANGUAGE, .compile = document_compile};

/* --- storing --- */

/* WS-94 */
static struct str id_made(const struct ws_doc *doc, struct arena *a) {
    struct str title = ws_str(ws_get(ws_get(ws_get(doc->root, "simulation"), "meta"), "title"));
    char slug[SLUG_CHARS_MAX + 1], hex[65];
    size_t n = 0;
    for (size_t i = 0; i < title.n && n < SLUG_CHARS_MAX; i++) {
        char c = title.p[i];
        if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
        bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (plain) slug[n++] = c;
        else if (n > 0 && slug[n - 1] != '-') slug[n++] = '-';
    }
    while (n > 0 && slug[n - 1] == '-') n--;
    slug[n] = '\0';
    sha256_hex(&doc->digest, hex);
    return arena_printf(a, "ws-%s%s%.*s", slug, n > 0 ? "-" : "", DIGEST_DIGITS, hex);
}

/* ^[a-z][a-z0-9_-]*$ */
static bool id_good(struct str id) {
    if (id.n == 0 || id.n > WS_ID_CHARS_MAX || id.p[0] < 'a' || id.p[0] > 'z') return false;
    for (size_t i = 0; i < id.n; i++) {
        char c = id.p[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
        if (!good) return false;
    }
    return true;
}

/* How many variables a run may come to have: what is there, and what tasks can make. */
struct count {
    struct ws_names seen;
    struct arena *a;
};

static void name_count(struct count *n, struct str object, struct str property) {
    struct str name = ws_variable_name(n->a, object, property);
    if (name.p != NULL && !ws_names_has(&n->seen, name)) (void)ws_names_put(&n->seen, 0, name, 1);
}

static void property_count(void *ctx, struct str object, struct str property,
                           const struct ws_value *value) {
    (void)value;
    name_count(ctx, object, property);
}

static void action_count(struct count *n, const struct ws_value *v) {
    const struct ws_value *made = ws_object_of(ws_get(v, "object"));
    const struct ws_value *bag = ws_object_of(ws_get(made, "properties"));
    const struct ws_value *changes = ws_object_of(ws_get(v, "property_changes"));
    struct str id = made != NULL ? ws_str(ws_get(made, "id")) : ws_str(ws_get(v, "target_id"));
    name_count(n, id, STR_NONE);
    for (size_t k = 0; bag != NULL && k < bag->nr; k++) name_count(n, id, bag->members[k].name);
    if (ws_get(made, "location") != NULL) name_count(n, id, STR("location"));
    if (ws_get(made, "emoji") != NULL) name_count(n, id, STR("emoji"));
    for (size_t k = 0; changes != NULL && k < changes->nr; k++)
        name_count(n, id, changes->members[k].name);
}

static int variables_fit(const struct ws_plan *p, struct arena *a, struct wopr_error *err) {
    const struct ws_world *world = ws_world_new(p, a);
    struct count n = {.a = a};
    ws_names_init(&n.seen, a);
    if (world != NULL) ws_world_each(world, property_count, &n);
    for (size_t i = 0; i < p->nr; i++) {
        const struct ws_value *list = ws_array_of(ws_get(p->v[i].task, "interactions"));
        for (size_t k = 0; list != NULL && k < list->nr; k++) action_count(&n, list->elements[k]);
    }
    if (world == NULL || arena_failed(a))
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a document");
    if (n.seen.nr <= RUN_VARS_MAX) return 0;
    return wopr_error_set(err, WOPR_E_VALIDATION,
                          "the document is good, but has %zu properties, with those that its tasks "
                          "make, and a run has %zu at most: take out what no task changes",
                          n.seen.nr, RUN_VARS_MAX);
}

static int stored_fits(const struct ws_plan *p, struct str bytes, struct str workflow_id,
                       struct arena *a, struct wopr_error *err) {
    if (!id_good(workflow_id))
        return wopr_error_at(err, WOPR_E_VALIDATION, "/workflowId",
                             "a workflow id is 1 to %d of a-z 0-9 _ -, and begins with a letter",
                             WS_ID_CHARS_MAX);
    if (p->nr == 0)
        return wopr_error_at(err, WOPR_E_VALIDATION, "/simulation/process/tasks",
                             "the document is good, but has no tasks, so there is nothing to run");
    if (bytes.n > WS_STORED_MAX)
        return wopr_error_set(err, WOPR_E_VALIDATION,
                              "the document is good, but has %zu bytes, and what runs may have %zu "
                              "(it can be validated and planned)",
                              bytes.n, WS_STORED_MAX);
    return variables_fit(p, a, err);
}

int ws_stored_make(const struct ws_doc *doc, struct str bytes, enum ws_format format,
                   struct str workflow_id, const struct ws_zones *zones, struct arena *a,
                   struct ws_stored *out, struct wopr_error *err) {
    const struct ws_value *config = ws_get(ws_get(doc->root, "simulation"), "config");
    struct ws_line l = {.format = format};
    struct ws_timeline t;
    struct ws_plan p;
    int rc = ws_compile(doc, zones, a, &p, err);
    if (rc != 0) return rc;
    l.workflow_id = workflow_id.n > 0 ? workflow_id : id_made(doc, a);
    l.anchor = (struct ws_anchor){p.anchored, p.anchor_days, p.offset_min};
    l.zone = ws_timeline_init(&t, ws_get(config, "timezone"), zones);
    rc = stored_fits(&p, bytes, l.workflow_id, a, err);
    const struct ws_program program = {.doc = *doc, .plan = p};
    if (rc == 0) rc = ws_measure(&program, p.objects, &l.needs, err);
    if (rc != 0) return rc;
    struct str line = line_make(a, &l);
    struct str version = ws_str(ws_get(ws_get(ws_get(doc->root, "simulation"), "meta"), "version"));
    char *text = line.p != NULL ? arena_alloc(a, line.n + bytes.n + 1) : NULL;
    if (text == NULL) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a document");
    memcpy(text, line.p, line.n);
    memcpy(text + line.n, bytes.p, bytes.n);
    *out = (struct ws_stored){.text = str_n(text, line.n + bytes.n),
                              .workflow_id = l.workflow_id,
                              .version = version.n > 0 ? version : STR("1"),
                              .plan_sha = p.plan_sha,
                              .needs = l.needs};
    return 0;
}
