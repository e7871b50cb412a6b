/* seed.c: workflow definitions from files and from the binary into the store; see host.h. */
#include "base/clock.h"
#include "base/embed.h"
#include "base/fs.h"
#include "codec/json.h"
#include "domain/agent_manifest.h"
#include "domain/published.h"
#include "host/host.h"
#include "host/seed_document.h"
#include "store/agents.h"
#include "workspec/language.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SEED_FILE_MAX  (4u * 1024 * 1024)
#define SEED_FILES_MAX 10000
#define SEED_ARENA_MAX (64u * 1024 * 1024)
#define DEFINITION_URI PUBLISHED_URI "workflow-definition.schema.json"

int file_read(const char *path, size_t max, struct buf *out, struct wopr_error *err) {
    switch (fs_read(path, max, out)) {
    case FS_READ_OK:
        return 0;
    case FS_READ_NO_FILE:
        return wopr_error_set(err, WOPR_E_IO, "cannot read %s: %s", path, strerror(errno));
    case FS_READ_FAILED:
        return wopr_error_set(err, WOPR_E_IO, "cannot read %s to its end", path);
    case FS_READ_TOO_BIG:
        break;
    }
    return wopr_error_set(err, WOPR_E_TOO_BIG, "%s has more than %zu bytes", path, max);
}

int definition_schema_new(struct schema_set **set, const struct schema **out,
                          struct wopr_error *err) {
    struct schema_set *s = published_set_new();
    int rc = s == NULL ? wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory") : 0;
    if (rc == 0) rc = schema_compile(s, STR(DEFINITION_URI), out, err);
    if (rc != 0) {
        schema_set_free(s);
        return rc;
    }
    *set = s;
    return 0;
}

int seed_text(struct store *s, struct str text, struct str tenant, const struct wf_env *env,
              const struct workflow_terms *terms, struct arena *a, enum put_result *what,
              struct wopr_error *err) {
    struct workflow *w = NULL;
    struct workflow_put put = {.what = PUT_SAME};
    struct workflow_row row;
    bool named = dialect_named(text, NULL, NULL, NULL); /* no file begins so: seed_files */
    int rc = named ? 0 : json_check(text, &JSON_LIMITS_STORED, err);
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
    if (rc == 0) rc = store_workflow_put_on(s, &row, terms, &put, err);
    if (rc == 0) *what = put.what;
    workflow_unref(w);
    return rc;
}

/* Which file it is about. */
static void seed_blame(const char *name, struct wopr_error *err) {
    char why[sizeof err->message];
    if (err == NULL) return;
    snprintf(why, sizeof why, "%s", err->message);
    snprintf(err->message, sizeof err->message, "%.100s: %.240s%s%.150s", name, why,
             err->pointer[0] != '\0' ? " at " : "", err->pointer);
}

static int seed_one(struct store *s, struct str text, const char *name, const struct wf_env *env,
                    struct seed_counts *n, struct wopr_error *err) {
    static const struct workflow_terms ANY = {0, WORKFLOW_ANY};
    enum put_result what = PUT_SAME;
    struct arena *a = arena_new(SEED_ARENA_MAX);
    if (a == NULL) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    int rc = seed_text(s, text, STR(""), env, &ANY, a, &what, err);
    arena_free(a);
    if (rc != 0) seed_blame(name, err);
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

struct seed_names {
    struct arena *a;
    char **v;
    size_t n;
};

static bool name_add(void *ctx, const char *name) {
    struct seed_names *names = ctx;
    if (!str_ends(str_c(name), STR(".json")) && !seed_is_document(str_c(name))) return true;
    names->v[names->n] = arena_cstr(names->a, str_c(name));
    if (names->v[names->n] != NULL) names->n++;
    return names->n < SEED_FILES_MAX;
}

/* The seeds of a folder, sorted, so that every start loads them in the same order. */
static int folder_list(const char *folder, struct seed_names *names, struct wopr_error *err) {
    if (fs_each_name(folder, name_add, names) != 0)
        return wopr_error_set(err, WOPR_E_CONFIG, "cannot read the seed folder %s: %s", folder,
                              strerror(errno));
    if (arena_failed(names->a)) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    if (names->n == SEED_FILES_MAX)
        return wopr_error_set(err, WOPR_E_TOO_BIG, "%s has %d files or more", folder,
                              SEED_FILES_MAX);
    qsort(names->v, names->n, sizeof *names->v, by_name);
    return 0;
}

/* A document is stored in its own language, which a file cannot name by itself: only this, after
 * the validator, makes the line that does. */
static int seed_document_file(struct store *s, struct str bytes, const char *path, const char *name,
                              const struct wf_env *env, struct seed_counts *n,
                              struct wopr_error *err) {
    struct wf_env with = *env;
    struct arena *a = arena_new(WS_ARENA_BYTES_MAX);
    struct str stored = STR_NONE;
    if (a == NULL) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    with.dialects = &WS_DIALECT;
    with.dialects_nr = 1;
    int rc = seed_document(str_c(name), bytes, a, &stored, err);
    if (rc != 0) seed_blame(path, err);
    else rc = seed_one(s, stored, path, &with, n, err);
    arena_free(a);
    return rc;
}

static int seed_file(struct store *s, const char *path, const char *name, const struct wf_env *env,
                     struct seed_counts *n, struct wopr_error *err) {
    struct buf text;
    int rc = file_read(path, SEED_FILE_MAX, &text, err);
    if (rc != 0) return rc;
    if (seed_is_document(str_c(name)))
        rc = seed_document_file(s, buf_str(&text), path, name, env, n, err);
    else if (dialect_named(buf_str(&text), NULL, NULL, NULL))
        rc = wopr_error_set(err, WOPR_E_SYNTAX, "%.200s is no JSON", path);
    else rc = seed_one(s, buf_str(&text), path, env, n, err);
    buf_fini(&text);
    return rc;
}

int seed_folder(struct store *s, const char *folder, const struct wf_env *env,
                struct seed_counts *n, struct wopr_error *err) {
    struct arena *a = arena_new(SEED_ARENA_MAX);
    struct seed_names names = {.a = a};
    if (a != NULL) names.v = ARENA_ARRAY(a, char *, SEED_FILES_MAX);
    int rc = names.v == NULL ? wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory")
                             : folder_list(folder, &names, err);
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, names.v[i]);
        rc = seed_file(s, path, names.v[i], env, n, err);
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

/* FIX-36: a workspace agent that can be exported (AGT-45). */
#define EXPORTABLE_AGENT                                                                           \
    "{\"manifest\":{\"agentId\":\"core.conformance.exportable-agent\",\"persona\":\"Exportable "   \
    "agent\",\"modelClass\":\"general\",\"systemPrompt\":\"Answer in one sentence.\"}}"

int seed_fixture_agents(struct store *s, struct str tenant, struct wopr_error *err) {
    struct agent_row r = {.tenant = tenant,
                          .agent_id = STR("core.conformance.exportable-agent"),
                          .definition = STR(EXPORTABLE_AGENT)};
    struct agent_put done;
    int rc = agent_digest(r.definition, &r.digest, err);
    r.created_ms = r.updated_ms = clock_wall_ms();
    for (int test = 0; rc == 0 && test < 2; test++) {
        r.test_mode = test != 0;
        rc = store_agent_put(s, &r, AGENT_ANY, &done, err);
    }
    return rc;
}
