/*
 * ai_file.c: the models of the operator; see ai_file.h.  A credential is a file that nobody else
 * can read, or a variable of the environment; both are read once, at the start.
 */
#include "host/ai_file.h"

#include "base/fs.h"
#include "base/mem.h"
#include "domain/agent_manifest.h"
#include "egress/egress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AI_FILE_MAX (1024u * 1024)
#define AI_KEY_MAX  4096u

static int file_wrong(struct wopr_error *err, const char *path, const char *why) {
    return wopr_error_at(err, WOPR_E_CONFIG, "ai-providers", "%s: %s", path, why);
}

static int file_text(const char *path, size_t max, struct buf *b, struct wopr_error *err) {
    switch (fs_read(path, max, b)) {
    case FS_READ_OK:
        return 0;
    case FS_READ_TOO_BIG:
        return file_wrong(err, path, "the file is too large");
    default:
        return wopr_error_at(err, WOPR_E_CONFIG, "ai-providers", "%s: it cannot be read: %s", path,
                             strerror(errno));
    }
}

static int key_of_file(const char *path, struct arena *a, struct str *key, struct wopr_error *err) {
    struct buf b;
    const char *exposed = fs_exposed(path);
    if (exposed)
        return wopr_error_at(err, WOPR_E_CONFIG, "ai-providers",
                             "the credential in %s %s; chmod 600 it, and chown it to the user of "
                             "this host",
                             path, exposed);
    int rc = file_text(path, AI_KEY_MAX, &b, err);
    if (rc != 0) return rc;
    struct str s = buf_str(&b);
    while (s.n > 0 && (s.p[s.n - 1] == '\n' || s.p[s.n - 1] == '\r' || s.p[s.n - 1] == ' ')) s.n--;
    *key = arena_str(a, s);
    if (b.len > 0) mem_wipe(b.p, b.len);
    buf_fini(&b);
    return key->p ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a credential");
}

static int key_read(void *ctx, struct str file, struct str env, struct arena *a, struct str *key,
                    struct wopr_error *err) {
    (void)ctx;
    const char *name = arena_cstr(a, file.n > 0 ? file : env);
    if (!name) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a credential");
    if (file.n > 0) return key_of_file(name, a, key, err);
    const char *value = getenv(name);
    if (!value || !*value)
        return wopr_error_at(err, WOPR_E_CONFIG, "ai-providers",
                             "the environment variable %s, which keyEnv names, is not set", name);
    *key = arena_str(a, str_c(value));
    return key->p ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a credential");
}

static int providers_read(const char *path, ai_key_fn *key, struct ai_providers **out,
                          struct wopr_error *err) {
    struct wopr_error why = {0};
    struct buf b;
    *out = NULL;
    if (!path || !*path) return 0;
    int rc = file_text(path, AI_FILE_MAX, &b, err);
    if (rc != 0) return rc;
    rc = ai_providers_new(buf_str(&b), key, NULL, out, &why);
    buf_fini(&b);
    if (rc == WOPR_E_NO_MEMORY) return wopr_error_set(err, rc, "no memory for the AI providers");
    return rc == 0 ? 0 : file_wrong(err, path, why.message);
}

int ai_file_read(const char *path, struct ai_providers **out, struct wopr_error *err) {
    return providers_read(path, key_read, out, err);
}

const char *const *ai_file_classes(const struct ai_providers *p, struct arena *a) {
    const unsigned has = ai_providers_classes(p);
    const char **all = has != 0 ? ARENA_ARRAY(a, const char *, AGENT_CLASSES_NR + 1) : NULL;
    size_t n = 0;
    for (unsigned i = 0; all && i < AGENT_CLASSES_NR; i++)
        if ((has >> i & 1u) != 0) all[n++] = AGENT_CLASSES[i];
    return all;
}

int ai_file_classes_read(const char *path, struct arena *a, const char *const **out,
                         struct wopr_error *err) {
    struct ai_providers *p;
    int rc = providers_read(path, NULL, &p, err);
    *out = rc == 0 ? ai_file_classes(p, a) : NULL;
    ai_providers_free(p);
    if (rc == 0 && arena_failed(a)) rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    return rc;
}

int ai_file_check(const struct ai_providers *p, const struct egress_allow *allow,
                  struct wopr_error *err) {
    for (size_t i = 0; i < ai_providers_count(p); i++) {
        struct wopr_error why = {0};
        if (egress_url_check(ai_providers_url(p, i), allow, &why) != 0)
            return wopr_error_at(err, WOPR_E_CONFIG, "ai-providers",
                                 "providers[%zu].url: %s (--egress-allow lists private addresses, "
                                 "--egress-loopback admits this machine)",
                                 i, why.message);
    }
    return 0;
}
