/*
 * resolve.c: see resolve.h.
 */
#include "packs/resolve.h"

/* Equal precedence (other build metadata): the text decides, so that hosts agree. */
static bool is_higher(const struct semver *v, struct str text, const struct semver *best,
                      const struct pack_release *found) {
    int c = found ? semver_cmp(v, best) : 1;
    return c > 0 || (c == 0 && str_cmp(text, found->version) > 0);
}

static const struct pack_release *resolve_highest(const struct pack_releases *all,
                                                  const struct semver_range *range,
                                                  bool deprecated) {
    const struct pack_release *found = NULL;
    struct semver v, best;
    for (size_t i = 0; i < all->n; i++) {
        const struct pack_release *r = &all->v[i];
        if (r->yank.n > 0 || (!deprecated && r->deprecation.n > 0)) continue;
        if (!semver_parse(r->version, &v) || !semver_range_has(range, &v)) continue;
        if (!is_higher(&v, r->version, &best, found)) continue;
        found = r;
        best = v;
    }
    return found;
}

const struct pack_release *pack_latest(const struct pack_releases *all) {
    const struct semver_range any = {.n = 0, .sets = 1};
    const struct pack_release *r = resolve_highest(all, &any, false);
    return r ? r : resolve_highest(all, &any, true);
}

int pack_resolve(const struct pack_releases *all, struct str wanted,
                 const struct pack_release **out, struct wopr_error *err) {
    struct semver v;
    struct semver_range range;
    const struct pack_release *r = NULL;
    if (semver_parse(wanted, &v)) {
        for (size_t i = 0; i < all->n; i++)
            if (str_eq(all->v[i].version, wanted)) r = &all->v[i];
    } else if (semver_range_parse(wanted, &range)) {
        r = resolve_highest(all, &range, true);
    } else {
        return wopr_error_set(err, WOPR_E_VALIDATION,
                              "this is neither a version nor a range of versions like ^1.2.0");
    }
    if (r == NULL)
        return wopr_error_set(err, WOPR_E_PACK_NOT_FOUND,
                              "no version of the pack is one of those asked for");
    *out = r;
    return 0;
}
