/*
 * mount.c: which wire answers a path, and the names of its operations.
 */
#include "http/mount.h"
#include "http/router.h"

static bool prefix_has(struct str prefix, struct str path) {
    return str_starts(path, prefix) && (path.n == prefix.n || path.p[prefix.n] == '/');
}

const struct mount *mount_of(const struct mounts *m, struct str path) {
    const struct mount *best = &m->v[0];
    size_t best_n = m->nr > 1 && prefix_has(best->prefix, path) ? best->prefix.n : 0;
    for (size_t i = 1; i < m->nr; i++)
        if (m->v[i].prefix.n > best_n && prefix_has(m->v[i].prefix, path)) {
            best = &m->v[i];
            best_n = best->prefix.n;
        }
    return best;
}

static int mount_refuse(const struct http_mount *mt, const char *why, struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_CONFIG, "mount %s at %s: %s", mt->name, mt->prefix, why);
}

static int mount_check(const struct mounts *m, const struct http_mount *mt,
                       struct wopr_error *err) {
    struct str prefix = str_c(mt->prefix);
    if (prefix.n < 2 || prefix.p[0] != '/' || prefix.p[prefix.n - 1] == '/')
        return mount_refuse(mt, "a prefix begins with a slash and does not end with one", err);
    for (size_t i = 0; i < m->nr; i++) {
        if (strcmp(m->v[i].as.name, mt->name) == 0)
            return mount_refuse(mt, "another mount has this name", err);
        if (str_eq(m->v[i].prefix, prefix))
            return mount_refuse(mt, "another mount has this prefix", err);
    }
    return 0;
}

static int mounts_no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the mounts of the HTTP server");
}

/* The first mount's operations keep their bare ids. */
static int mount_name_ops(struct mounts *m, const struct mount *mt, struct arena *a,
                          struct wopr_error *err) {
    for (size_t i = 0; i < mt->as.ops_nr; i++) {
        const struct http_op *op = &mt->as.ops[i];
        if (mount_of(m, str_c(op->pattern)) != mt)
            return wopr_error_set(err, WOPR_E_CONFIG,
                                  "operation %s: pattern %s: outside of mount %s at %s", op->id,
                                  op->pattern, mt->as.name, mt->as.prefix);
        const char *name = op->id;
        if (mt != m->v) name = arena_printf(a, "%s.%s", mt->as.name, op->id).p;
        if (!name) return mounts_no_memory(err);
        m->op_names[m->ops_nr++] = name;
    }
    return 0;
}

int mounts_init(struct mounts *m, const struct http_mount *list, size_t n, struct arena *a,
                struct wopr_error *err) {
    size_t ops_nr = 0;
    for (size_t i = 0; i < n; i++) ops_nr += list[i].ops_nr;
    ASSERT(n > 0);
    *m = (struct mounts){.v = ARENA_ARRAY(a, struct mount, n),
                         .op_names = ARENA_ARRAY(a, const char *, ops_nr + 1)};
    if (!m->v || !m->op_names) return mounts_no_memory(err);
    for (; m->nr < n; m->nr++) {
        const struct http_mount *mt = &list[m->nr];
        int rc = mount_check(m, mt, err);
        if (rc != 0) return rc;
        m->v[m->nr] = (struct mount){.as = *mt,
                                     .prefix = str_c(mt->prefix),
                                     .version_header = str_c(mt->version_header),
                                     .replay_header = str_c(mt->replay_header)};
    }
    for (size_t i = 0; i < n; i++) {
        struct mount *mt = &m->v[i];
        int rc = router_new(mt->as.ops, mt->as.ops_nr, m->ops_nr, &mt->router, err);
        if (rc == 0) rc = mount_name_ops(m, mt, a, err);
        if (rc != 0) return rc;
    }
    return 0;
}

void mounts_fini(struct mounts *m) {
    for (size_t i = 0; i < m->nr; i++) router_free(m->v[i].router);
    m->nr = 0;
}

int mounts_register_views(struct mounts *m, struct journal *j, struct wopr_error *err) {
    for (size_t i = 0; i < m->nr; i++) {
        struct mount *mt = &m->v[i];
        int rc = journal_views_add(j, mt->as.views_nr, &mt->views_first, err);
        if (rc != 0) return rc;
    }
    return 0;
}
