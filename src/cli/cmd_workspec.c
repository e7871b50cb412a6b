/* cmd_workspec.c: wopr workspec: WorkSpec documents, checked, planned and brought to version
 * 2.0 without a host, and run on one. */
#include "base/embed.h"
#include "base/fs.h"
#include "cli/verbs.h"
#include "codec/jobj.h"
#include "workspec/language.h"
#include "workspec/migrate.h"

#include <errno.h>

enum { UNREADABLE = 2, PLAN_COLUMNS = 78, OPTIONS_BYTES_MAX = 4096 };

static const char USAGE[] =
    "usage: wopr workspec validate FILE... [--profile host|reference] [--json]\n"
    "       wopr workspec plan FILE [--json | --svg]   who does what when\n"
    "       wopr workspec migrate FILE                 version 1.0 to 2.0, on standard output\n"
    "       wopr workspec run FILE [--id ID] [--clock virtual|real] [--speed N]\n"
    "                     [--people auto|approval] [--inputs FILE] [--follow | --wait]\n"
    "                     [--timeout S] [--url URL]    stored on a host and started there\n"
    "       wopr workspec schema                       a JSON Schema of documents, for editors\n"
    "Documents are JSON; a FILE that ends in .yaml or .yml is YAML.  \"-\" is standard input, "
    "JSON\n"
    "unless --yaml is given.  The exit status is 0 without errors, 1 with some, 2 when a FILE\n"
    "cannot be read or is no JSON or YAML.\n";

struct spec_args {
    enum ws_profile profile;
    bool json, yaml, svg;
    const char *id, *clock, *speed, *people; /* run */
    struct start_args start;
};
/* A document with what is needed to look at it. */
struct spec {
    struct arena *a;
    struct ws_system_zones *system;
    struct ws_zones zones;
    struct ws_doc doc;
    struct ws_report report;
};

static int spec_no_memory(void) {
    fputs("wopr: out of memory\n", stderr);
    return UNREADABLE;
}

static int spec_open(struct spec *s) {
    *s = (struct spec){.a = arena_new(WS_ARENA_BYTES_MAX), .system = ws_system_zones_new()};
    if (s->a == NULL || s->system == NULL) return spec_no_memory();
    s->zones = ws_system_zones(s->system);
    ws_report_init(&s->report, s->a);
    return 0;
}

static void spec_close(struct spec *s) {
    if (s->a != NULL) ws_report_fini(&s->report);
    ws_system_zones_free(s->system);
    arena_free(s->a);
}

static bool stdin_read(size_t max, struct buf *out) {
    char piece[65536];
    buf_init(out, max);
    for (size_t n; (n = fread(piece, 1, sizeof piece, stdin)) > 0 && !buf_failed(out);)
        buf_add(out, piece, n);
    if (!buf_failed(out) && !ferror(stdin)) return true;
    buf_fini(out);
    return false;
}

/* A document that is larger than any may be is read as far as shows that. */
static int text_read(struct cli *c, const char *path, struct buf *out) {
    const size_t max = 16 * WS_LIMITS_DEFAULT.bytes;
    const char *why = "it cannot be read, or is larger than 128 MiB";
    if (strcmp(path, "-") == 0) {
        if (stdin_read(max, out)) return 0;
    } else {
        enum fs_read how = fs_read(path, max, out);
        if (how == FS_READ_OK) return 0;
        if (how == FS_READ_NO_FILE || how == FS_READ_FAILED) why = strerror(errno);
    }
    fprintf(stderr, "wopr: " STR_FMT ": %s\n", STR_ARG(cli_text(c, str_c(path))), why);
    return UNREADABLE;
}

static int doc_read(struct cli *c, struct spec *s, const char *path, const struct spec_args *in) {
    struct wopr_error err = {0};
    struct buf text;
    enum ws_format format = in->yaml ? WS_YAML : ws_format_of(str_c(path));
    int rc = text_read(c, path, &text);
    if (rc != 0) return rc;
    rc = ws_parse(buf_str(&text), format, &WS_LIMITS_DEFAULT, s->a, &s->doc, &err);
    buf_fini(&text);
    if (rc == 0) return 0;
    fprintf(stderr, "wopr: " STR_FMT ": not %s: " STR_FMT "\n", STR_ARG(cli_text(c, str_c(path))),
            format == WS_YAML ? "YAML" : "JSON", STR_ARG(cli_text(c, str_c(err.message))));
    return UNREADABLE;
}

static int doc_check(struct spec *s, enum ws_profile profile) {
    struct wopr_error err = {0};
    struct ws_options o = {.profile = profile, .zones = &s->zones};
    if (ws_validate(&s->doc, &o, &s->report, &err) != 0) {
        (void)cli_fail(&err);
        return UNREADABLE;
    }
    return ws_report_ok(&s->report) ? 0 : 1;
}

/* --- output --- */

/* JSON text, indented by two; with a newline. */
static int json_print(struct spec *s, const struct buf *json) {
    const struct ws_limits any = {.bytes = SIZE_MAX, .depth = SIZE_MAX, .values = SIZE_MAX};
    struct wopr_error err = {0};
    struct ws_doc doc;
    struct buf b;
    if (buf_failed(json) || ws_parse(buf_str(json), WS_JSON, &any, s->a, &doc, &err) != 0 ||
        doc.root == NULL)
        return spec_no_memory();
    buf_init(&b, SIZE_MAX / 2);
    ws_write(&b, doc.root, 2);
    buf_addc(&b, '\n');
    int rc = buf_failed(&b) ? spec_no_memory() : 0;
    if (rc == 0) cli_print(&b);
    buf_fini(&b);
    return rc;
}

static int problems_json(struct spec *s) {
    struct buf b;
    buf_init(&b, SIZE_MAX / 2);
    ws_problems_write(&b, &s->report);
    int rc = json_print(s, &b);
    buf_fini(&b);
    return rc;
}

static void problem_line(struct buf *b, const char *path, const struct ws_problem *p) {
    struct buf detail;
    buf_init(&detail, CLI_OUT_BYTES_MAX);
    ws_detail(&detail, p, true);
    text_escape(b, str_c(path), false);
    buf_addc(b, ':');
    text_escape(b, p->instance, false);
    buf_addf(b, " - %s: ", ws_severity_name(p->severity));
    text_escape(b, buf_str(&detail), false);
    buf_addf(b, " (%s)\n    ", ws_metric(p->code));
    buf_reset(&detail);
    ws_suggestion(&detail, p);
    text_escape(b, buf_str(&detail), false);
    buf_addc(b, '\n');
    buf_fini(&detail);
}

static void problems_print(struct cli *c, const struct spec *s, const char *path, FILE *to) {
    const size_t *n = s->report.counts;
    struct buf b;
    buf_init(&b, CLI_OUT_BYTES_MAX);
    for (size_t i = 0; i < s->report.nr; i++) {
        buf_reset(&b);
        problem_line(&b, path, &s->report.v[i]);
        fwrite(buf_str(&b).p, 1, b.len, to);
    }
    buf_fini(&b);
    fprintf(to, STR_FMT ": %zu error%s, %zu warning%s, %zu info%s\n",
            STR_ARG(cli_text(c, str_c(path))), n[WS_ERROR], n[WS_ERROR] == 1 ? "" : "s",
            n[WS_WARNING], n[WS_WARNING] == 1 ? "" : "s", n[WS_INFO], n[WS_INFO] == 1 ? "" : "s");
}

/* --- verbs --- */

static int validate_one(struct cli *c, const char *path, const struct spec_args *in) {
    struct spec s;
    int rc = spec_open(&s);
    if (rc == 0) rc = doc_read(c, &s, path, in);
    if (rc == 0) rc = doc_check(&s, in->profile);
    if (rc < UNREADABLE) {
        if (!in->json) problems_print(c, &s, path, stdout);
        else if (problems_json(&s) != 0) rc = UNREADABLE;
    }
    spec_close(&s);
    return rc;
}

static int validate_files(struct cli *c, struct store *unused, const void *args) {
    int worst = 0;
    (void)unused;
    for (int i = 1; i < c->argc; i++) {
        int rc = validate_one(c, c->argv[i], args);
        if (rc > worst) worst = rc;
    }
    return worst;
}

static int plan_print(struct spec *s, const struct spec_args *in) {
    struct wopr_error err = {0};
    struct ws_plan p;
    struct buf b;
    if (ws_compile(&s->doc, &s->zones, s->a, &p, &err) != 0) return cli_fail(&err);
    buf_init(&b, SIZE_MAX / 2);
    if (in->json) ws_plan_write(&b, &p, true);
    else if (in->svg) ws_draw_svg(&b, &p);
    else ws_draw_text(&b, &p, PLAN_COLUMNS);
    int rc = in->json ? json_print(s, &b) : buf_failed(&b) ? spec_no_memory() : 0;
    if (rc == 0 && !in->json) cli_print(&b);
    buf_fini(&b);
    return rc;
}

static int plan_file(struct cli *c, struct store *unused, const void *args) {
    struct spec s;
    (void)unused;
    int rc = spec_open(&s);
    if (rc == 0) rc = doc_read(c, &s, c->argv[1], args);
    if (rc == 0) rc = doc_check(&s, WS_HOST);
    if (rc == 1) problems_print(c, &s, c->argv[1], stderr);
    if (rc == 0) rc = plan_print(&s, args);
    spec_close(&s);
    return rc;
}

/* The document as it would be, and what is wrong with it: as a text of its own (WS-131). */
static int migrated_check(struct cli *c, struct spec *s, const struct ws_value *v) {
    struct wopr_error err = {0};
    struct buf b;
    buf_init(&b, SIZE_MAX / 2);
    ws_write(&b, v, 2);
    buf_addc(&b, '\n');
    int rc = buf_failed(&b) ? spec_no_memory() : 0;
    if (rc == 0 && ws_parse(buf_str(&b), WS_JSON, &WS_LIMITS_DEFAULT, s->a, &s->doc, &err) != 0)
        rc = cli_fail(&err);
    if (rc == 0) rc = doc_check(s, WS_HOST);
    if (rc < UNREADABLE) {
        cli_print(&b);
        problems_print(c, s, "migrated", stderr);
    }
    buf_fini(&b);
    return rc;
}

static int migrate_file(struct cli *c, struct store *unused, const void *args) {
    struct wopr_error err = {0};
    const struct ws_value *v;
    struct spec s;
    (void)unused;
    int rc = spec_open(&s);
    if (rc == 0) rc = doc_read(c, &s, c->argv[1], args);
    if (rc == 0 && s.doc.root == NULL) {
        rc = doc_check(&s, WS_HOST);
        problems_print(c, &s, c->argv[1], stderr);
    } else if (rc == 0) {
        rc = ws_migrate(&s.doc, s.a, &v, &err) != 0 ? cli_fail(&err) : migrated_check(c, &s, v);
    }
    spec_close(&s);
    return rc;
}

static int schema_print(struct cli *c, struct store *unused, const void *args) {
    const struct embed_file *f = embed_find("api/workspec/workspec-2.0.schema.json");
    (void)c, (void)unused, (void)args;
    ASSERT(f != NULL);
    fwrite(f->data, 1, f->size, stdout);
    return 0;
}

/* --- run --- */

/* The document as the host takes it: YAML goes as the JSON that it spells. */
static int run_make(struct cli *c, struct spec *s, const struct spec_args *in,
                    struct ws_stored *out, struct str *json) {
    struct wopr_error err = {0};
    struct ws_doc as_json;
    struct buf b;
    buf_init(&b, SIZE_MAX / 2);
    ws_write(&b, s->doc.root, 0);
    int rc = buf_failed(&b) ? WOPR_E_NO_MEMORY : 0;
    *json = rc == 0 ? arena_str(s->a, buf_str(&b)) : STR_NONE;
    buf_fini(&b);
    if (rc == 0) rc = ws_parse(*json, WS_JSON, &WS_LIMITS_DEFAULT, s->a, &as_json, &err);
    if (rc == 0)
        rc = ws_stored_make(&as_json, *json, WS_JSON, str_c(in->id), &s->zones, s->a, out, &err);
    if (rc == 0) return 0;
    (void)c;
    return cli_fail(&err);
}

static struct str run_options(struct cli *c, const struct spec_args *in) {
    struct jobj o;
    jobj_begin(&o, OPTIONS_BYTES_MAX);
    if (in->clock != NULL) jw_kstrz(&o.w, "workspec.clock", in->clock);
    if (in->speed != NULL) jw_kraw(&o.w, "workspec.speed", str_c(in->speed));
    if (in->people != NULL) jw_kstrz(&o.w, "workspec.humanTasks", in->people);
    return jobj_end(&o, c->arena);
}

/* The run is started as any other, of the id under which the document is stored. */
static int run_stored(struct cli *c, const struct spec_args *in, struct str workflow_id) {
    struct start_args start = in->start;
    char *id = arena_cstr(c->arena, workflow_id);
    char *argv[] = {c->argv[0], id, NULL};
    struct cli as = *c;
    as.argv = argv;
    as.argc = 2;
    start.configurable = run_options(c, in);
    return id == NULL ? spec_no_memory() : start_run(&as, &start);
}

static int run_file(struct cli *c, const void *args) {
    const struct spec_args *in = args;
    struct ws_stored stored;
    struct str json, answer;
    struct spec s;
    int rc = spec_open(&s);
    if (rc == 0) rc = doc_read(c, &s, c->argv[1], in);
    if (rc == 0) rc = doc_check(&s, WS_HOST);
    if (rc == 1) problems_print(c, &s, c->argv[1], stderr);
    if (rc == 0) rc = run_make(c, &s, in, &stored, &json);
    if (rc == 0)
        rc = cli_ask_at(c, in->start.url, "PUT",
                        cli_path(c, "/v1/workspec/documents/", stored.workflow_id, ""), json,
                        &answer);
    if (rc == 0) rc = run_stored(c, in, stored.workflow_id);
    spec_close(&s);
    return rc;
}

/* false: refused, with a message. */
static bool run_take(struct cli *c, struct spec_args *in) {
    const char *timeout = cli_take_value(c, "--timeout");
    double speed;
    in->start.inputs_file = cli_take_value(c, "--inputs");
    in->start.follow = cli_take_flag(c, "--follow");
    in->start.wait = cli_take_flag(c, "--wait");
    in->start.json = in->json;
    in->id = cli_take_value(c, "--id");
    in->clock = cli_take_value(c, "--clock");
    in->speed = cli_take_value(c, "--speed");
    in->people = cli_take_value(c, "--people");
    if (timeout != NULL && (!str_u64(str_c(timeout), &in->start.timeout_s) ||
                            in->start.timeout_s == 0 || in->start.timeout_s > INT32_MAX)) {
        (void)cli_usage("wopr: --timeout must be a number of seconds, 1 or greater\n");
        return false;
    }
    if (in->speed == NULL || ws_number_of(str_c(in->speed), &speed) == WS_NUMERAL) return true;
    (void)cli_usage("wopr: --speed must be a number: virtual seconds in a real one\n");
    return false;
}

static const struct cli_verb VERBS[] = {
    {"run", 1, 1, .on_host = run_file},
    {"validate", 1, VERB_ANY_ARGS, NULL, validate_files, VERB_NO_FILE},
    {"plan", 1, 1, NULL, plan_file, VERB_NO_FILE},
    {"migrate", 1, 1, NULL, migrate_file, VERB_NO_FILE},
    {"schema", 0, 0, NULL, schema_print, VERB_NO_FILE},
};

int cmd_workspec(struct cli *c) {
    struct spec_args in = {.profile = WS_HOST};
    if (cli_help(c, USAGE)) return 0;
    in.start.url = cli_take_url(c);
    const char *profile = cli_take_value(c, "--profile");
    in.json = cli_take_flag(c, "--json");
    in.svg = cli_take_flag(c, "--svg");
    in.yaml = cli_take_flag(c, "--yaml");
    if (!run_take(c, &in)) return 2;
    int rc = cli_config(c);
    if (rc != 0) return rc;
    if (profile != NULL && strcmp(profile, "reference") == 0) in.profile = WS_REFERENCE;
    else if (profile != NULL && strcmp(profile, "host") != 0)
        return cli_usage("wopr: --profile must be host or reference\n");
    if (in.json && in.svg) return cli_usage(USAGE);
    return cli_verbs(c, VERBS, sizeof VERBS / sizeof *VERBS, in.start.url, &in);
}
