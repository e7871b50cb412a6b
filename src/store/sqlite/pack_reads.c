/*
 * pack_reads.c: what the registry has, and what is installed.
 */
#include "store/packs.h"
#include "store/sqlite/sql.h"

enum { KEYS_MAX = 100 };

int store_pack_owner(struct store *s, struct str namespace, struct arena *a, struct str *tenant,
                     struct wopr_error *err) {
    struct query q;
    struct str t = STR_NONE;
    int rc = read_begin(&q, s, SQL_PACK_OWNER, err);
    if (rc != 0) return rc;
    bind_text(&q, namespace);
    rc = query_step(&q, err);
    bool there = rc == 1;
    if (there) t = col_str(&q, 0, a);
    rc = read_end(&q, rc, a, err);
    if (rc == 0 && !there) return wopr_error_set(err, WOPR_E_NOT_FOUND, "the name has no owner");
    if (rc == 0) *tenant = t;
    return rc;
}

static int release_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    struct pack_release *r = row;
    *r = (struct pack_release){.name = col_str(q, 0, a),
                               .version = col_str(q, 1, a),
                               .bytes = col_int(q, 3),
                               .manifest = col_str(q, 4, a),
                               .warnings = col_str(q, 5, a),
                               .signature = col_str(q, 6, a),
                               .over_manifest = col_int(q, 7) != 0,
                               .kid = col_str(q, 8, a),
                               .published_ms = col_int(q, 9),
                               .published_by = col_str(q, 10, a),
                               .deprecation = col_str(q, 11, a),
                               .yank = col_str(q, 12, a)};
    if (col_hash(q, 2, &r->digest)) return 0;
    return wopr_error_set(err, WOPR_E_CORRUPT, "a version of a pack has no digest");
}

static int not_found(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_PACK_NOT_FOUND, "there is no such pack, or no such version");
}

int store_pack_get(struct store *s, struct str name, struct str version, struct arena *a,
                   struct pack_release *out, struct wopr_error *err) {
    struct pack_releases l;
    struct query q;
    int rc = read_begin(&q, s, SQL_PACK_GET, err);
    if (rc != 0) return rc;
    bind_text(&q, name);
    bind_text(&q, version);
    rc = list_read(&q, a, release_read, &l, err);
    if (rc != 0) return rc;
    if (l.n == 0) return not_found(err);
    *out = l.v[0];
    return 0;
}

int store_pack_seen(struct store *s, struct str name, struct str version, struct sha256 *digest,
                    bool *removed, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_PACK_SEEN, err);
    if (rc != 0) return rc;
    bind_text(&q, name);
    bind_text(&q, version);
    rc = query_step(&q, err);
    if (rc == 1) {
        (void)col_hash(&q, 0, digest);
        *removed = !col_null(&q, 1);
    }
    query_end(&q);
    if (rc < 0) return rc;
    return rc == 1 ? 0 : not_found(err);
}

int store_pack_list(struct store *s, struct str name, struct arena *a, struct pack_releases *out,
                    struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_PACK_LIST, err);
    if (rc != 0) return rc;
    bind_text(&q, name);
    bind_int(&q, STORE_LIST_MAX);
    return list_read(&q, a, release_read, out, err);
}

int store_pack_blob(struct store *s, const struct sha256 *digest, struct buf *out,
                    struct wopr_error *err) {
    struct query q;
    size_t before = out->len;
    int rc = read_begin(&q, s, SQL_PACK_BLOB, err);
    if (rc != 0) return rc;
    bind_hash(&q, digest);
    rc = query_step(&q, err);
    if (rc == 1) buf_adds(out, col_view(&q, 0));
    query_end(&q);
    if (rc < 0) return rc;
    if (rc == 0) return wopr_error_set(err, WOPR_E_NOT_FOUND, "these bytes are not here");
    if (!buf_failed(out)) {
        struct sha256 d = sha256_of(str_n(out->p + before, out->len - before));
        if (sha256_eq(&d, digest)) return 0;
        return wopr_error_set(err, WOPR_E_CORRUPT, "the bytes of a pack have another digest");
    }
    return wopr_error_set(err, buf_over(out) ? WOPR_E_TOO_BIG : WOPR_E_NO_MEMORY,
                          "no room for the bytes of a pack");
}

int store_pack_blob_next(struct store *s, const struct sha256 *after, struct sha256 *out,
                         struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_PACK_BLOB_NEXT, err);
    if (rc != 0) return rc;
    bind_hash(&q, after);
    rc = query_step(&q, err);
    bool there = rc == 1 && !col_null(&q, 0);
    if (there) (void)col_hash(&q, 0, out);
    query_end(&q);
    if (rc < 0) return rc;
    return there ? 0 : wopr_error_set(err, WOPR_E_NOT_FOUND, "there are no more bytes of packs");
}

int store_pack_description(struct store *s, struct str name, struct arena *a, struct str *out,
                           struct wopr_error *err) {
    struct query q;
    struct str t = STR("");
    int rc = read_begin(&q, s, SQL_PACK_DESCRIPTION, err);
    if (rc != 0) return rc;
    bind_text(&q, name);
    rc = query_step(&q, err);
    if (rc == 1) t = col_str(&q, 0, a);
    rc = read_end(&q, rc, a, err);
    if (rc == 0) *out = t;
    return rc;
}

/* --- search --- */

static int name_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct str *)row = col_str(q, 0, a);
    return 0;
}

static int name_has(struct store *s, struct str name, const struct str *words, size_t nr, bool *has,
                    struct wopr_error *err) {
    *has = true;
    for (size_t i = 0; *has && i < nr; i++) {
        struct query q;
        int rc = read_begin(&q, s, SQL_PACK_HAS_WORD, err);
        if (rc != 0) return rc;
        bind_text(&q, words[i]);
        bind_text(&q, name);
        rc = query_step(&q, err);
        *has = rc == 1;
        query_end(&q);
        if (rc < 0) return rc;
    }
    return 0;
}

/* Of the names with the first word, STORE_EXAMINED_MAX are asked for the others. */
int store_pack_search(struct store *s, const struct str *words, size_t words_nr, struct str after,
                      unsigned max, struct arena *a, struct pack_names *out, struct str *next,
                      struct wopr_error *err) {
    struct pack_names all = {NULL, 0};
    struct query q;
    unsigned examine = words_nr > 1 ? STORE_EXAMINED_MAX : max;
    int rc = read_begin(&q, s, words_nr > 0 ? SQL_PACK_NAMES_OF_WORD : SQL_PACK_NAMES, err);
    if (rc != 0) return rc;
    if (words_nr > 0) bind_text(&q, words[0]);
    bind_text(&q, after.p ? after : STR(""));
    bind_int(&q, (int64_t)examine + 1);
    rc = list_read(&q, a, name_read, &all, err);
    if (rc != 0) return rc;
    bool is_more = all.n > examine;
    struct str last = STR_NONE;
    size_t n = 0, i = 0, known = is_more ? examine : all.n;
    for (; i < known && n < max; i++) {
        bool has = true;
        last = all.v[i];
        if (words_nr > 1) rc = name_has(s, all.v[i], words + 1, words_nr - 1, &has, err);
        if (rc != 0) return rc;
        if (has) all.v[n++] = all.v[i];
    }
    *next = is_more || i < known ? last : STR_NONE;
    *out = (struct pack_names){all.v, n};
    return 0;
}

/* --- keys, history --- */

static int key_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    struct pack_key *k = row;
    struct sha256 pub; /* 32 bytes, too */
    *k = (struct pack_key){.namespace = col_str(q, 0, a),
                           .kid = col_str(q, 1, a),
                           .from_ms = col_int(q, 3),
                           .until_ms = col_int(q, 4),
                           .revoked_ms = col_int(q, 5),
                           .rotated_from = col_str(q, 6, a),
                           .rotated_to = col_str(q, 7, a),
                           .proof = col_str(q, 8, a)};
    if (!col_hash(q, 2, &pub))
        return wopr_error_set(err, WOPR_E_CORRUPT, "a key of a namespace has not 32 bytes");
    memcpy(k->pub, pub.b, sizeof k->pub);
    return 0;
}

int store_pack_keys(struct store *s, struct str namespace, struct arena *a, struct pack_keys *out,
                    struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_PACK_KEYS, err);
    if (rc != 0) return rc;
    bind_text(&q, namespace);
    bind_int(&q, KEYS_MAX);
    return list_read(&q, a, key_read, out, err);
}

static int event_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct pack_event *)row = (struct pack_event){.version = col_str(q, 0, a),
                                                    .action = col_str(q, 1, a),
                                                    .tenant = col_str(q, 2, a),
                                                    .key_id = col_str(q, 3, a),
                                                    .at_ms = col_int(q, 4),
                                                    .details = col_str(q, 5, a)};
    return 0;
}

int store_pack_history(struct store *s, struct str name, struct arena *a, struct pack_events *out,
                       struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_PACK_HISTORY, err);
    if (rc != 0) return rc;
    bind_text(&q, name);
    bind_int(&q, PACK_HISTORY_MAX);
    return list_read(&q, a, event_read, out, err);
}

/* --- installs --- */

static int install_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    struct pack_install *i = row;
    *i = (struct pack_install){.tenant = col_str(q, 0, a),
                               .name = col_str(q, 1, a),
                               .version = col_str(q, 2, a),
                               .manifest = col_str(q, 4, a),
                               .origin = col_str(q, 5, a),
                               .kid = col_str(q, 6, a),
                               .installed_ms = col_int(q, 7),
                               .installed_by = col_str(q, 8, a)};
    if (col_hash(q, 3, &i->digest)) return 0;
    return wopr_error_set(err, WOPR_E_CORRUPT, "an installed pack has no digest");
}

int store_pack_installs(struct store *s, struct str tenant, bool all, struct arena *a,
                        struct pack_installs *out, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_PACK_INSTALLS, err);
    if (rc != 0) return rc;
    bind_text(&q, tenant);
    bind_int(&q, all);
    bind_int(&q, STORE_LIST_MAX);
    return list_read(&q, a, install_read, out, err);
}

int store_pack_installs_of(struct store *s, struct str tenant, struct str name, struct arena *a,
                           struct pack_installs *out, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_PACK_INSTALLS_OF, err);
    if (rc != 0) return rc;
    bind_text(&q, tenant);
    bind_text(&q, name);
    bind_int(&q, STORE_LIST_MAX);
    return list_read(&q, a, install_read, out, err);
}
