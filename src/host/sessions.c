/*
 * sessions.c: see sessions.h.
 */
#include "host/sessions.h"

#include "base/arena.h"
#include "base/fs.h"
#include "base/log.h"
#include "host/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { SESSION_FILE_MAX = 1 << 20, SESSION_FILES_MAX = 1000, SESSION_ARENA_MAX = 1 << 20 };

struct file_names {
    struct arena *a;
    char **v;
    size_t n;
};

static bool name_add(void *ctx, const char *name) {
    struct file_names *l = ctx;
    if (!str_ends(str_c(name), STR(".json"))) return true;
    l->v[l->n] = arena_cstr(l->a, str_c(name));
    if (l->v[l->n] != NULL) l->n++;
    return l->n < SESSION_FILES_MAX;
}

static int by_name(const void *x, const void *y) {
    return strcmp(*(char *const *)x, *(char *const *)y);
}

static int file_add(struct rail *r, const char *folder, const char *name, struct wopr_error *err) {
    char path[1024];
    struct buf text;
    struct wr_fault f = {.code = WR_FINE};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int rc = file_read(path, SESSION_FILE_MAX, &text, err);
    if (rc != 0) return rc;
    rc = rail_workflow_add(r, buf_str(&text), WR_PROJECT, str_c(name), &f);
    buf_fini(&text);
    if (rc == 0 || rc == WOPR_E_NO_MEMORY) return rc;
    return wopr_error_at(err, WOPR_E_CONFIG, "session-workflows", "%.200s: %.300s%s%.120s", path,
                         f.e.message, f.e.pointer[0] != '\0' ? " at " : "", f.e.pointer);
}

static int folder_add(struct rail *r, const char *folder, struct wopr_error *err) {
    struct arena *a = arena_new(SESSION_ARENA_MAX);
    struct file_names l = {.a = a};
    if (a != NULL) l.v = ARENA_ARRAY(a, char *, SESSION_FILES_MAX);
    int rc = l.v == NULL ? wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory") : 0;
    if (rc == 0 && fs_each_name(folder, name_add, &l) != 0)
        rc = wopr_error_at(err, WOPR_E_CONFIG, "session-workflows", "cannot read the folder %s: %s",
                           folder, strerror(errno));
    if (rc == 0 && l.n > 0) qsort(l.v, l.n, sizeof *l.v, by_name);
    for (size_t i = 0; rc == 0 && i < l.n; i++) rc = file_add(r, folder, l.v[i], err);
    arena_free(a);
    return rc;
}

/* The answer is for clients, so the folder's place on this machine is left out of what is wrong. */
int host_sessions_reread(void *ctx, struct rail *into, struct wopr_error *err) {
    const struct config *cfg = ctx;
    struct wopr_error why = {0};
    int rc = folder_add(into, cfg->host_sessions, &why);
    size_t n = strlen(cfg->host_sessions);
    const char *text = why.message;
    if (rc == 0) return 0;
    if (strncmp(text, cfg->host_sessions, n) == 0 && text[n] == '/') text += n + 1;
    else text = "the folder of --session-workflows cannot be read";
    return wopr_error_set(err, rc, "%s", text);
}

int host_sessions_new(const struct config *cfg, const struct rail_config *rc, struct rail **out,
                      struct wopr_error *err) {
    struct rail *r = NULL;
    int code = rail_new(rc, &r, err);
    if (code == 0 && cfg->host_sessions[0] != '\0') code = folder_add(r, cfg->host_sessions, err);
    if (code != 0) {
        rail_free(r);
        return code;
    }
    *out = r;
    return 0;
}
