/*
 * The official JSON-Schema-Test-Suite, draft 2020-12, one Criterion test per file.
 * The required part must pass in full.  In optional/ the failures must be exactly the cases of
 * tests/json-schema-test-suite-skips.txt: a listed case that passes fails the test, so that the
 * list stays honest.
 */
#include "base/mem.h"
#include "codec/schema.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#define SUITE   WOPR_SOURCE_DIR "/tests/json-schema-test-suite/"
#define REMOTES "http://localhost:1234/"

enum { FILES_MAX = 160, REMOTES_MAX = 64, PATH_BYTES = 160, FULL_BYTES = 512, SKIP_FIELDS = 4 };

struct suite_file {
    char path[PATH_BYTES]; /* below draft2020-12/ */
};

struct remote {
    char path[FULL_BYTES];
    struct str text;
};

static struct remote remotes[REMOTES_MAX];
static size_t remote_nr;

static struct str slurp(const char *path) {
    FILE *f = fopen(path, "rb");
    cr_assert_not_null(f, "%s", path);
    cr_assert_eq(fseek(f, 0, SEEK_END), 0);
    long n = ftell(f);
    cr_assert_geq(n, 0);
    rewind(f);
    char *p = mem_alloc((size_t)n + 1);
    cr_assert_not_null(p);
    cr_assert_eq(fread(p, 1, (size_t)n, f), (size_t)n);
    p[n] = '\0';
    (void)fclose(f);
    return str_n(p, (size_t)n);
}

/* All *.json below root/dir, as paths relative to root. */
static void list_files(const char *root, const char *dir, bool deep, struct suite_file *out,
                       size_t max, size_t *n) {
    char path[FULL_BYTES];
    (void)snprintf(path, sizeof path, "%s%s", root, dir);
    DIR *d = opendir(path);
    if (d == NULL) return;
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        struct suite_file one;
        struct stat st;
        if (e->d_name[0] == '.') continue;
        int len = snprintf(one.path, sizeof one.path, "%s%s", dir, e->d_name);
        (void)snprintf(path, sizeof path, "%s%s", root, one.path);
        if (len >= (int)sizeof one.path - 1 || stat(path, &st) != 0) continue;
        if (S_ISDIR(st.st_mode)) {
            one.path[len] = '/';
            one.path[len + 1] = '\0';
            if (deep) list_files(root, one.path, deep, out, max, n);
        } else if (str_ends(str_c(one.path), STR(".json")) && *n < max) {
            out[(*n)++] = one;
        }
    }
    (void)closedir(d);
}

static void load_remotes(void) {
    static struct suite_file files[REMOTES_MAX];
    char path[FULL_BYTES];
    size_t n = 0;
    list_files(SUITE "remotes/", "", true, files, REMOTES_MAX, &n);
    cr_assert_gt(n, 20);
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(path, sizeof path, SUITE "remotes/%s", files[i].path);
        (void)snprintf(remotes[i].path, sizeof remotes[i].path, REMOTES "%s", files[i].path);
        remotes[i].text = slurp(path);
    }
    remote_nr = n;
}

static void free_remotes(void) {
    while (remote_nr > 0) mem_free((void *)(uintptr_t)remotes[--remote_nr].text.p);
}

/* ---- the skip list: file | group | case | reason ---- */

static bool is_listed(struct str skips, const char *file, struct str group, struct str name) {
    struct str line, rest = skips;
    for (bool more = true; more;) {
        struct str field[SKIP_FIELDS], tail;
        line = rest;
        more = str_cut(rest, '\n', &line, &rest);
        if (line.n == 0 || line.p[0] == '#') continue;
        tail = line;
        for (size_t i = 0; i + 1 < SKIP_FIELDS; i++) {
            cr_assert(str_cut(tail, '|', &field[i], &tail), "malformed line in the skip list");
            field[i] = str_trim(field[i]);
        }
        cr_assert_gt(str_trim(tail).n, 0, "a skip needs a reason");
        if (str_eqc(field[0], file) && str_eq(field[1], group) && str_eq(field[2], name))
            return true;
    }
    return false;
}

static size_t listed_for(struct str skips, const char *file) {
    struct str line, rest = skips, head, tail;
    size_t n = 0;
    for (bool more = true; more;) {
        line = rest;
        more = str_cut(rest, '\n', &line, &rest);
        if (line.n > 0 && line.p[0] != '#' && str_cut(line, '|', &head, &tail))
            n += str_eqc(str_trim(head), file);
    }
    return n;
}

/* ---- running ---- */

struct tally {
    size_t run, passed, skipped;
};

static const struct schema *compile_group(struct schema_set *set, struct str schema,
                                          struct wopr_error *err) {
    static const struct str uri = {"https://suite.invalid/schema",
                                   sizeof "https://suite.invalid/schema" - 1};
    const struct schema *s = NULL;
    for (size_t i = 0; i < remote_nr; i++) {
        int rc = schema_set_add(set, str_c(remotes[i].path), remotes[i].text, err);
        cr_assert_eq(rc, 0, "%s: %s at %s", remotes[i].path, err->message, err->pointer);
    }
    if (schema_set_add(set, uri, schema, err) != 0) return NULL;
    return schema_compile(set, uri, &s, err) == 0 ? s : NULL;
}

static void run_case(const struct schema *s, struct str one, const char *file, struct str group,
                     struct str skips, struct arena *a, struct tally *t,
                     const char *compile_error) {
    struct schema_issue issue = {.reason = ""};
    struct str name = json_string(json_get(one, "description"), a);
    bool want = false;
    cr_assert(json_bool(json_get(one, "valid"), &want));
    int rc = s == NULL ? WOPR_E_INTERNAL : schema_validate_text(s, json_get(one, "data"), &issue);
    bool ok = rc == (want ? 0 : WOPR_E_VALIDATION);
    bool listed = is_listed(skips, file, group, name);
    t->run++;
    t->passed += ok && !listed;
    t->skipped += listed;
    cr_expect(!(ok && listed), "%s: " STR_FMT ": " STR_FMT ": passes, take it off the skip list",
              file, STR_ARG(group), STR_ARG(name));
    cr_expect(ok || listed, "%s | " STR_FMT " | " STR_FMT " | want %d, got %d %s %s at %s", file,
              STR_ARG(group), STR_ARG(name), want, rc, compile_error, issue.reason, issue.keyword);
}

static void run_group(struct str group, const char *file, struct str skips, struct arena *a,
                      struct tally *t) {
    struct wopr_error err;
    struct json_elements cases;
    wopr_error_clear(&err);
    bool formats = strncmp(file, "optional/format/", 16) == 0;
    struct schema_set *set = schema_set_new(formats);
    cr_assert_not_null(set);
    const struct schema *s = compile_group(set, json_get(group, "schema"), &err);
    struct str name = json_string(json_get(group, "description"), a);
    cr_assert_eq(json_elements(json_get(group, "tests"), a, &cases, &err), 0);
    for (size_t i = 0; i < cases.n; i++)
        run_case(s, cases.v[i], file, name, skips, a, t, s == NULL ? err.message : "");
    schema_set_free(set);
}

static void files_free(struct criterion_test_params *p) { cr_free(p->params); }

ParameterizedTestParameters(schema_suite, behaves_as_the_official_suite_says) {
    size_t n = 0;
    struct suite_file *files = cr_malloc(FILES_MAX * sizeof *files);
    list_files(SUITE "tests/draft2020-12/", "", true, files, FILES_MAX, &n);
    return cr_make_param_array(struct suite_file, files, n, files_free);
}

ParameterizedTest(struct suite_file *f, schema_suite, behaves_as_the_official_suite_says) {
    char path[FULL_BYTES];
    struct wopr_error err;
    struct json_elements groups;
    struct tally t = {.run = 0};
    (void)snprintf(path, sizeof path, SUITE "tests/draft2020-12/%s", f->path);
    struct str text = slurp(path);
    struct str skips = slurp(WOPR_SOURCE_DIR "/tests/json-schema-test-suite-skips.txt");
    struct arena *a = arena_new(64 << 20);
    load_remotes();
    cr_assert_not_null(a);
    cr_assert_eq(json_check(text, &JSON_LIMITS_STORED, &err), 0, "%s", f->path);
    cr_assert_eq(json_elements(text, a, &groups, &err), 0);
    cr_assert_gt(groups.n, 0);
    for (size_t i = 0; i < groups.n; i++) run_group(groups.v[i], f->path, skips, a, &t);
    cr_expect_eq(t.skipped, listed_for(skips, f->path), "%s: the skip list names unknown cases",
                 f->path);
    (void)printf("%s: %zu cases, %zu pass, %zu skipped\n", f->path, t.run, t.passed, t.skipped);
    free_remotes();
    arena_free(a);
    mem_free((void *)(uintptr_t)skips.p);
    mem_free((void *)(uintptr_t)text.p);
}

Test(schema_suite, the_suite_is_complete_and_only_optional_cases_are_skipped) {
    static struct suite_file files[FILES_MAX];
    size_t n = 0, required = 0;
    list_files(SUITE "tests/draft2020-12/", "", true, files, FILES_MAX, &n);
    for (size_t i = 0; i < n; i++) required += strncmp(files[i].path, "optional/", 9) != 0;
    cr_assert_geq(required, 45);
    cr_assert_geq(n, 75);
    struct str skips = slurp(WOPR_SOURCE_DIR "/tests/json-schema-test-suite-skips.txt");
    struct str line, rest = skips;
    for (bool more = true; more;) {
        line = rest;
        more = str_cut(rest, '\n', &line, &rest);
        cr_expect(line.n == 0 || line.p[0] == '#' || str_starts(line, STR("optional/")));
    }
    mem_free((void *)(uintptr_t)skips.p);
}
