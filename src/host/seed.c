/* seed.c: workflow definitions from files and from the binary into the store; see host.h. */
#include "base/clock.h"
#include "base/embed.h"
#include "codec/json.h"
#include "host/host.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SEED_FILE_MAX  (4u * 1024 * 1024)
#define SEED_FILES_MAX 10000
#define SEED_ARENA_MAX (64u * 1024 * 1024)

int file_read(const char *path, size_t max, struct buf *out, struct wopr_error *err) {
    char chunk[16384];
    size_t n;
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return wopr_error_set(err, WOPR_E_IO, "cannot read %s: %s", path, strerror(errno));
    buf_init(out, max);
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0) buf_add(out, chunk, n);
    bool bad = ferror(f) != 0;
    fclose(f);
    if (!bad && !buf_failed(out)) return 0;
    buf_fini(out);
    if (bad) return wopr_error_set(err, WOPR_E_IO, "cannot read %s to its end", path);
    return wopr_error_set(err, WOPR_E_TOO_BIG, "%s has more than %zu bytes", path, max);
}

int definition_schema_new(struct schema_set **set, const struct schema **out,
                          struct wopr_error *err) {
    static const char uri[] = "https://openwop.dev/spec/v1/workflow-definition.schema.json";
    struct schema_set *s = schema_set_new(true);
    int rc = s == NULL ? wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory") : 0;
    for (const struct embed_file *f = EMBED_FILES; rc == 0 && f->name != NULL; f++) {
        if (!str_starts(str_c(f->name), STR("api/schemas/"))) continue;
        char name[128];
        snprintf(name, sizeof name, "https://openwop.dev/spec/v1/%s",
                 f->name + strlen("api/schemas/"));
        rc = schema_set_add(s, str_c(name), embed_text(f), err);
    }
    if (rc == 0) rc = schema_compile(s, STR(uri), out, err);
    if (rc != 0) {
        schema_set_free(s);
        return rc;
    }
    *set = s;
    return 0;
}

int seed_text(struct store *s, struct str text, struct str tenant, const struct wf_env *env,
              struct arena *a, enum put_result *what, struct wopr_error *err) {
    struct workflow *w = NULL;
    struct workflow_row row;
    int rc = json_check(text, &JSON_LIMITS_STORED, err);
    if (rc == 0) rc = workflow_compile(text, env, &w, err);
    if (rc != 0) return rc;
    memset(&row, 0, sizeof row);
    row.workflow_id = arena_str(a, w->id);
    row.version = arena_str(a, w->version);
    row.tenant = tenant;
    row.hash = w->hash;
    row.text = text;
    row.both_modes = true;
    row.created_ms = row.updated_ms = clock_wall_ms();
    rc = arena_failed(a) ? wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory") : 0;
    if (rc == 0) rc = store_workflow_put(s, &row, what, err);
    workflow_unref(w);
    return rc;
}

static int seed_one(struct store *s, struct str text, const char *name, const struct wf_env *env,
                    struct seed_counts *n, struct wopr_error *err) {
    enum put_result what = PUT_SAME;
    struct arena *a = arena_new(SEED_ARENA_MAX);
    if (a == NULL) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    int rc = seed_text(s, text, STR(""), env, a, &what, err);
    arena_free(a);
    if (rc != 0 && err != NULL) {
        char why[sizeof err->message];
        snprintf(why, sizeof why, "%s", err->message);
        snprintf(err->message, sizeof err->message, "%.100s: %.380s%s%.20s", name, why,
                 err->pointer[0] != '\0' ? " at " : "", err->pointer);
    }
    if (rc == 0) {
        n->created += what == PUT_CREATED;
        n->updated += what == PUT_UPDATED;
        n->same += what == PUT_SAME;
    }
    return rc;
}

static int by_name(const void *x, const void *y) {
    return strcmp(*(char *const *)x, *(char *const *)y);
}

/* Names of the *.json files of a folder, sorted, so that every start loads them in the same order.
 */
static int list_folder(const char *folder, struct arena *a, char **names, size_t *n,
                       struct wopr_error *err) {
    const struct dirent *d;
    DIR *dir = opendir(folder);
    size_t found = 0;
    if (dir == NULL)
        return wopr_error_set(err, WOPR_E_CONFIG, "cannot read the seed folder %s: %s", folder,
                              strerror(errno));
    while ((d = readdir(dir)) != NULL && found < SEED_FILES_MAX) {
        struct str name = str_c(d->d_name);
        if (name.p[0] == '.' || !str_ends(name, STR(".json"))) continue;
        names[found] = arena_cstr(a, name);
        if (names[found] != NULL) found++;
    }
    closedir(dir);
    if (arena_failed(a)) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    if (found == SEED_FILES_MAX)
        return wopr_error_set(err, WOPR_E_TOO_BIG, "%s has %d files or more", folder,
                              SEED_FILES_MAX);
    qsort(names, found, sizeof *names, by_name);
    *n = found;
    return 0;
}

int seed_folder(struct store *s, const char *folder, const struct wf_env *env,
                struct seed_counts *n, struct wopr_error *err) {
    size_t found = 0;
    struct arena *a = arena_new(SEED_ARENA_MAX);
    char **names = a == NULL ? NULL : ARENA_ARRAY(a, char *, SEED_FILES_MAX);
    int rc = names == NULL ? wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory")
                           : list_folder(folder, a, names, &found, err);
    for (size_t i = 0; rc == 0 && i < found; i++) {
        char path[1024];
        struct buf text;
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        rc = file_read(path, SEED_FILE_MAX, &text, err);
        if (rc != 0) break;
        rc = seed_one(s, buf_str(&text), path, env, n, err);
        buf_fini(&text);
    }
    arena_free(a);
    return rc;
}

int seed_fixtures(struct store *s, const struct wf_env *env, struct seed_counts *n,
                  struct wopr_error *err) {
    int rc = 0;
    for (const struct embed_file *f = EMBED_FILES; rc == 0 && f->name != NULL; f++)
        if (str_starts(str_c(f->name), STR("conformance/fixtures")))
            rc = seed_one(s, embed_text(f), f->name, env, n, err);
    return rc;
}
