/*
 * packs.c: writes of the registry, and installs.  Each looks first, in its own transaction, so that
 * two that meet are one after the other.
 */
#include "store/packs.h"
#include "codec/json.h"
#include "store/sqlite/sql.h"

#include <stdio.h>

enum { KEYS_MAX = 100, LOOK_ARENA_MAX = 1 << 20 };

/* --- what all writes share --- */

static int owner_check(struct store *s, struct str namespace, const struct pack_actor *who,
                       bool *owned, struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_PACK_OWNER);
    bind_text(&q, namespace);
    int rc = query_step(&q, err);
    bool theirs = rc == 1 && !str_eq(col_view(&q, 0), who->tenant);
    query_end(&q);
    if (rc < 0) return rc;
    *owned = rc == 1 && !theirs;
    if (!theirs) return 0;
    return wopr_error_set(err, WOPR_E_FORBIDDEN, "the name belongs to another tenant");
}

static int owner_claim(struct store *s, struct str namespace, const struct pack_actor *who,
                       struct wopr_error *err) {
    bool owned;
    struct query q;
    int rc = owner_check(s, namespace, who, &owned, err);
    if (rc != 0 || owned) return rc;
    query_begin(&q, s->writer, SQL_PACK_OWNER_PUT);
    bind_text(&q, namespace);
    bind_text(&q, who->tenant);
    bind_int(&q, who->now_ms);
    return query_run(&q, err);
}

/* The caller may change what is under the namespace: nobody may, before the first publish. */
static int owner_require(struct store *s, struct str namespace, const struct pack_actor *who,
                         struct wopr_error *err) {
    bool owned;
    int rc = owner_check(s, namespace, who, &owned, err);
    if (rc != 0 || owned) return rc;
    return wopr_error_set(err, WOPR_E_PACK_NOT_FOUND, "there is no pack of this name");
}

/* One word for the history, "pack." and the word for the audit log (P5). */
static int change_note(struct store *s, const char *action, struct str name, struct str version,
                       struct str details, const struct pack_actor *who, struct wopr_error *err) {
    struct query q;
    struct buf audit;
    struct jw w;
    char type[64];
    query_begin(&q, s->writer, SQL_PACK_HISTORY_PUT);
    bind_text(&q, name);
    bind_text(&q, version);
    bind_text(&q, str_c(action));
    bind_text(&q, who->tenant);
    bind_text(&q, who->key_id);
    bind_int(&q, who->now_ms);
    bind_opt(&q, details);
    int rc = query_run(&q, err);
    if (rc != 0) return rc;
    int n = snprintf(type, sizeof type, "pack.%s", action);
    buf_init(&audit, 4096);
    jw_init(&w, &audit);
    jw_object(&w);
    jw_kstr(&w, "name", name);
    jw_kstr_opt(&w, "version", version);
    jw_end_object(&w);
    const struct plan_audit row = {.at_ms = who->now_ms,
                                   .type = str_n(type, (size_t)n),
                                   .tenant = who->tenant,
                                   .key_id = who->key_id,
                                   .details = buf_failed(&audit) ? STR_NONE : buf_str(&audit)};
    rc = audit_effect(s->writer, &row, err);
    buf_fini(&audit);
    return rc;
}

static int blob_put(struct store *s, const struct sha256 *digest, struct str body,
                    struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_PACK_BLOB_PUT);
    bind_hash(&q, digest);
    bind_bytes(&q, body.p, body.n);
    return query_run(&q, err);
}

static int blob_drop(struct store *s, const struct sha256 *digest, struct str name,
                     struct str version, struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_PACK_BLOB_DROP);
    bind_hash(&q, digest);
    bind_text(&q, name);
    bind_text(&q, version);
    return query_run(&q, err);
}

struct version_look {
    bool there, removed;
    struct sha256 digest;
    int64_t published_ms, takes; /* bytes of tarball and manifest */
    struct str deprecation, yank;
};

static int version_look(struct query *q, struct arena *a, struct version_look *out,
                        struct wopr_error *err) {
    int rc = query_step(q, err);
    *out = (struct version_look){.there = rc == 1};
    if (rc == 1) {
        (void)col_hash(q, 0, &out->digest);
        out->removed = !col_null(q, 1);
        out->published_ms = col_int(q, 2);
        out->deprecation = col_str(q, 3, a);
        out->yank = col_str(q, 4, a);
        out->takes = col_int(q, 5);
    }
    query_end(q);
    return rc < 0 ? rc : 0;
}

static int version_find(struct store *s, struct str name, struct str version, struct arena *a,
                        struct version_look *out, struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_PACK_SEEN);
    bind_text(&q, name);
    bind_text(&q, version);
    int rc = version_look(&q, a, out, err);
    if (rc == 0 && (!out->there || out->removed))
        rc = wopr_error_set(err, WOPR_E_PACK_NOT_FOUND, "the pack has no such version");
    if (rc == 0 && arena_failed(a))
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to look at a pack");
    return rc;
}

/* --- keys --- */

static int key_insert(struct store *s, const struct pack_key *k, struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_PACK_KEY_PUT);
    bind_text(&q, k->namespace);
    bind_text(&q, k->kid);
    bind_bytes(&q, k->pub, sizeof k->pub);
    bind_int(&q, k->from_ms);
    bind_opt(&q, k->rotated_from);
    bind_opt(&q, k->proof);
    int rc = query_run(&q, err);
    if (rc == 0 && sqlite3_changes64(s->writer->db) == 0)
        rc = wopr_error_set(err, WOPR_E_EXISTS, "the namespace had this key before");
    return rc;
}

/* All that a namespace has had, and those of them that were not revoked. */
static int keys_nr(struct store *s, struct str namespace, unsigned *nr, unsigned *good_nr,
                   struct wopr_error *err) {
    struct query q;
    int rc;
    *nr = *good_nr = 0;
    query_begin(&q, s->writer, SQL_PACK_KEYS);
    bind_text(&q, namespace);
    bind_int(&q, KEYS_MAX);
    while ((rc = query_step(&q, err)) == 1) {
        ++*nr;
        *good_nr += col_int(&q, 5) == 0;
    }
    query_end(&q);
    if (rc == 0 && *nr >= KEYS_MAX)
        rc = wopr_error_set(err, WOPR_E_CONFLICT, "the namespace has had %d keys, and gets no more",
                            KEYS_MAX);
    return rc;
}

static int key_first(struct store *s, const struct pack_key *k, int code, struct wopr_error *err) {
    unsigned nr, good_nr;
    int rc = keys_nr(s, k->namespace, &nr, &good_nr, err);
    if (rc == 0 && good_nr > 0)
        rc = wopr_error_set(err, code,
                            "the namespace has a key already; it is replaced by rotation, with a "
                            "proof by the old one");
    return rc == 0 ? key_insert(s, k, err) : rc;
}

int store_pack_key_add(struct store *s, const struct pack_key *first, struct str name,
                       const struct pack_actor *who, struct wopr_error *err) {
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    rc = owner_claim(s, first->namespace, who, err);
    if (rc == 0) rc = key_first(s, first, WOPR_E_EXISTS, err);
    if (rc == 0) rc = change_note(s, "key-added", name, STR(""), STR_NONE, who, err);
    return write_end(s, rc, err);
}

static int key_replace(struct store *s, const struct pack_key *next, int64_t now_ms,
                       struct wopr_error *err) {
    struct query q;
    unsigned nr, good_nr;
    int rc = keys_nr(s, next->namespace, &nr, &good_nr, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_PACK_KEY_END);
    bind_text(&q, next->namespace);
    bind_text(&q, next->rotated_from);
    bind_int(&q, next->from_ms > now_ms ? next->from_ms : now_ms); /* what it signed stays good */
    bind_text(&q, next->kid);
    rc = query_run(&q, err);
    if (rc == 0 && sqlite3_changes64(s->writer->db) == 0)
        rc = wopr_error_set(err, WOPR_E_NOT_FOUND,
                            "the namespace has no such key, or it was replaced or revoked");
    return rc == 0 ? key_insert(s, next, err) : rc;
}

int store_pack_key_rotate(struct store *s, const struct pack_key *next, struct str name,
                          const struct pack_actor *who, struct wopr_error *err) {
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    rc = owner_require(s, next->namespace, who, err);
    if (rc == 0) rc = key_replace(s, next, who->now_ms, err);
    if (rc == 0) rc = change_note(s, "key-rotated", name, STR(""), STR_NONE, who, err);
    return write_end(s, rc, err);
}

int store_pack_key_revoke(struct store *s, struct str namespace, struct str kid, struct str name,
                          const struct pack_actor *who, struct wopr_error *err) {
    struct query q;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    rc = owner_require(s, namespace, who, err);
    if (rc != 0) return write_end(s, rc, err);
    query_begin(&q, s->writer, SQL_PACK_KEY_REVOKE);
    bind_text(&q, namespace);
    bind_text(&q, kid);
    bind_int(&q, who->now_ms);
    rc = query_run(&q, err);
    if (rc == 0 && sqlite3_changes64(s->writer->db) == 0)
        rc = wopr_error_set(err, WOPR_E_NOT_FOUND,
                            "the namespace has no such key, or it is revoked");
    if (rc == 0) rc = change_note(s, "key-revoked", name, STR(""), STR_NONE, who, err);
    return write_end(s, rc, err);
}

/* --- publish --- */

static int version_write(struct store *s, const struct pack_release *r, struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_PACK_VERSION_PUT);
    bind_text(&q, r->name);
    bind_text(&q, r->version);
    bind_hash(&q, &r->digest);
    bind_int(&q, r->bytes);
    bind_int(&q, (int64_t)r->manifest.n);
    if (r->signature.n > 0) bind_bytes(&q, r->signature.p, r->signature.n);
    else bind_null(&q);
    bind_int(&q, r->over_manifest);
    bind_opt(&q, r->kid);
    bind_int(&q, r->published_ms);
    bind_text(&q, r->published_by);
    int rc = query_run(&q, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_PACK_TEXTS_PUT);
    bind_text(&q, r->name);
    bind_text(&q, r->version);
    bind_text(&q, r->manifest);
    bind_text(&q, r->warnings);
    return query_run(&q, err);
}

static int words_write(struct store *s, struct str name, const struct str *words, size_t n,
                       struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_PACK_WORDS_DROP);
    bind_text(&q, name);
    int rc = query_run(&q, err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        query_begin(&q, s->writer, SQL_PACK_WORD_PUT);
        bind_text(&q, words[i]);
        bind_text(&q, name);
        rc = query_run(&q, err);
    }
    return rc;
}

static int face_write(struct store *s, struct str name, const struct pack_face *f, int64_t now_ms,
                      bool newest, struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_PACK_PUT);
    bind_text(&q, name);
    bind_text(&q, f->description);
    bind_int(&q, now_ms);
    bind_int(&q, newest);
    int rc = query_run(&q, err);
    return rc == 0 && newest ? words_write(s, name, f->words, f->words_nr, err) : rc;
}

static int name_write(struct store *s, const struct pack_publish *p, struct wopr_error *err) {
    const struct pack_face f = {p->description, p->words, p->words_nr};
    return face_write(s, p->release.name, &f, p->release.published_ms, p->newest, err);
}

/* What a tenant has is more by so many bytes, or less. */
static int usage_move(struct store *s, struct str tenant, int64_t by, struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_PACK_BYTES_ADD);
    bind_text(&q, tenant);
    bind_int(&q, by);
    return query_run(&q, err);
}

static int64_t release_takes(const struct pack_release *r) {
    return r->bytes + (int64_t)r->manifest.n;
}

static int bytes_check(struct store *s, const struct pack_publish *p, const struct pack_actor *who,
                       struct wopr_error *err) {
    struct query q;
    if (p->bytes_max <= 0) return 0;
    query_begin(&q, s->writer, SQL_PACK_BYTES);
    bind_text(&q, who->tenant);
    int rc = query_step(&q, err);
    int64_t has = rc == 1 ? col_int(&q, 0) : 0;
    query_end(&q);
    if (rc < 0) return rc;
    if (has + release_takes(&p->release) <= p->bytes_max) return 0;
    return wopr_error_set(err, WOPR_E_QUOTA,
                          "the packs of this tenant take %lld bytes, and may take %lld "
                          "(tenant-pack-bytes-max); unpublish some, or raise the setting",
                          (long long)has, (long long)p->bytes_max);
}

/* How many versions a name has, and the bytes of their marks: a catalog record has them all. */
static int name_look(struct store *s, struct str name, int64_t *versions, int64_t *marks,
                     struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_PACK_ROOM);
    bind_text(&q, name);
    int rc = query_step(&q, err);
    *versions = rc == 1 ? col_int(&q, 0) : 0;
    *marks = rc == 1 ? col_int(&q, 1) : 0;
    query_end(&q);
    return rc < 0 ? rc : 0;
}

static int room_check(struct store *s, const struct pack_publish *p, const struct pack_actor *who,
                      struct wopr_error *err) {
    int64_t versions, marks;
    int rc = name_look(s, p->release.name, &versions, &marks, err);
    if (rc == 0 && versions >= PACK_VERSIONS_MAX)
        rc = wopr_error_set(err, WOPR_E_CONFLICT,
                            "the pack has %u versions, and may have no more; unpublish some, or go "
                            "on under another name",
                            PACK_VERSIONS_MAX);
    return rc == 0 ? bytes_check(s, p, who, err) : rc;
}

/* The key that verified the signature: not revoked since it did (PACK-26). */
static int signer_check(struct store *s, const struct pack_publish *p, struct wopr_error *err) {
    struct query q;
    int rc;
    if (p->release.kid.n == 0 || p->key) return 0;
    bool good = false;
    query_begin(&q, s->writer, SQL_PACK_KEYS);
    bind_text(&q, p->namespace);
    bind_int(&q, KEYS_MAX);
    while ((rc = query_step(&q, err)) == 1)
        good = good || (str_eq(col_view(&q, 1), p->release.kid) && col_int(&q, 5) == 0);
    query_end(&q);
    if (rc != 0 || good) return rc;
    return wopr_error_set(err, WOPR_E_PACK_SIGNATURE,
                          "the key that made the signature was revoked meanwhile");
}

static int publish_place(struct store *s, const struct pack_publish *p,
                         const struct pack_actor *who, struct arena *a, bool *fresh,
                         struct wopr_error *err) {
    const struct pack_release *r = &p->release;
    struct version_look old;
    struct query q;
    int rc = owner_claim(s, p->namespace, who, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_PACK_SEEN);
    bind_text(&q, r->name);
    bind_text(&q, r->version);
    rc = version_look(&q, a, &old, err);
    if (rc != 0) return rc;
    *fresh = !old.there;
    if (old.removed)
        return wopr_error_set(err, WOPR_E_CONFLICT,
                              "this version was unpublished; a version is never given again");
    if (old.there && !sha256_eq(&old.digest, &r->digest))
        return wopr_error_set(err, WOPR_E_CONFLICT,
                              "this version is published with other bytes; choose a new version");
    if (old.there) return 0;
    rc = room_check(s, p, who, err);
    if (rc == 0) rc = signer_check(s, p, err);
    if (rc == 0) rc = blob_put(s, &r->digest, p->tarball, err);
    if (rc == 0) rc = version_write(s, r, err);
    if (rc == 0) rc = usage_move(s, who->tenant, release_takes(r), err);
    if (rc == 0) rc = name_write(s, p, err);
    if (rc == 0 && p->key) rc = key_first(s, p->key, WOPR_E_CONFLICT, err);
    return rc == 0 ? change_note(s, "published", r->name, r->version, STR_NONE, who, err) : rc;
}

int store_pack_publish(struct store *s, const struct pack_publish *p, const struct pack_actor *who,
                       bool *fresh, struct wopr_error *err) {
    bool is_fresh = false;
    struct arena *a = arena_new(LOOK_ARENA_MAX);
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to publish a pack");
    int rc = write_begin(s, err);
    if (rc == 0) rc = write_end(s, publish_place(s, p, who, a, &is_fresh, err), err);
    arena_free(a);
    if (rc == 0) *fresh = is_fresh;
    return rc;
}

/* --- marks, unpublishing --- */

/* What a mark says, without when and by whom. */
static bool mark_same(struct str a, struct str b) {
    static const char *const SAYS[] = {"reason", "supersededBy", "advisoryUrl"};
    for (size_t i = 0; i < sizeof SAYS / sizeof *SAYS; i++)
        if (!str_eq(json_get(a, SAYS[i]), json_get(b, SAYS[i]))) return false;
    return true;
}

/* A short one always has room, so that a version can be yanked whatever was said of others. */
static int mark_room(struct store *s, struct str name, size_t old_n, struct str text,
                     struct wopr_error *err) {
    int64_t versions, marks;
    if (text.n <= PACK_MARK_SHORT) return 0;
    int rc = name_look(s, name, &versions, &marks, err);
    if (rc != 0 || marks - (int64_t)old_n + (int64_t)text.n <= (int64_t)PACK_MARKS_BYTES_MAX)
        return rc;
    return wopr_error_set(err, WOPR_E_CONFLICT,
                          "the reasons of this pack's yanks and deprecations take %lld bytes, and "
                          "may take %u; say it in fewer words",
                          (long long)marks, PACK_MARKS_BYTES_MAX);
}

static int mark_place(struct store *s, struct str name, struct str version, enum pack_mark mark,
                      struct str *text, const struct pack_actor *who, struct arena *a,
                      struct wopr_error *err) {
    static const char *const WORDS[2][2] = {{"undeprecated", "deprecated"}, {"unyanked", "yanked"}};
    struct version_look v;
    struct query q;
    int rc = version_find(s, name, version, a, &v, err);
    if (rc != 0) return rc;
    struct str old = mark == PACK_MARK_YANK ? v.yank : v.deprecation;
    bool set = text->n > 0;
    if (set && old.n > 0 && mark_same(old, *text)) {
        *text = old;
        return 0;
    }
    if (!set && old.n == 0) return 0;
    rc = mark_room(s, name, old.n, *text, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, mark == PACK_MARK_YANK ? SQL_PACK_YANK : SQL_PACK_DEPRECATE);
    bind_text(&q, name);
    bind_text(&q, version);
    bind_opt(&q, *text);
    rc = query_run(&q, err);
    return rc == 0 ? change_note(s, WORDS[mark][set], name, version, set ? *text : old, who, err)
                   : rc;
}

int store_pack_mark(struct store *s, struct str name, struct str version, struct str namespace,
                    enum pack_mark mark, struct str *text, const struct pack_actor *who,
                    struct arena *a, struct wopr_error *err) {
    struct str now = *text;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    rc = owner_require(s, namespace, who, err);
    if (rc == 0) rc = mark_place(s, name, version, mark, &now, who, a, err);
    rc = write_end(s, rc, err);
    if (rc == 0) *text = now;
    return rc;
}

static int one_name(struct store *s, enum stmt_id id, struct str name, struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, id);
    bind_text(&q, name);
    return query_run(&q, err);
}

static int texts_drop(struct store *s, struct str name, struct str version,
                      struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_PACK_TEXTS_DROP);
    bind_text(&q, name);
    bind_text(&q, version);
    return query_run(&q, err);
}

/* The name keeps nothing of what is gone: it has another face, or none. */
static int face_change(struct store *s, struct str name, const struct pack_face *left,
                       int64_t now_ms, struct wopr_error *err) {
    int rc = left ? face_write(s, name, left, now_ms, true, err) : 0;
    if (rc == 0) rc = one_name(s, SQL_PACK_DROP, name, err); /* another host was quicker */
    return rc == 0 ? one_name(s, SQL_PACK_WORDS_ORPHANED, name, err) : rc;
}

static int unpublish_place(struct store *s, struct str name, struct str version, int64_t since_ms,
                           const struct pack_face *left, const struct pack_actor *who,
                           struct arena *a, struct wopr_error *err) {
    struct version_look v;
    struct query q;
    int rc = version_find(s, name, version, a, &v, err);
    if (rc != 0) return rc;
    if (v.published_ms < since_ms)
        return wopr_error_set(err, WOPR_E_PACK_WINDOW,
                              "the version is older than the time in which it can be unpublished; "
                              "deprecate it, or yank it");
    query_begin(&q, s->writer, SQL_PACK_REMOVE);
    bind_text(&q, name);
    bind_text(&q, version);
    bind_int(&q, who->now_ms);
    rc = query_run(&q, err);
    if (rc == 0) rc = blob_drop(s, &v.digest, name, version, err);
    if (rc == 0) rc = texts_drop(s, name, version, err);
    if (rc == 0) rc = usage_move(s, who->tenant, -v.takes, err);
    if (rc == 0) rc = face_change(s, name, left, who->now_ms, err);
    return rc == 0 ? change_note(s, "unpublished", name, version, STR_NONE, who, err) : rc;
}

int store_pack_unpublish(struct store *s, struct str name, struct str version, struct str namespace,
                         int64_t since_ms, const struct pack_face *left,
                         const struct pack_actor *who, struct wopr_error *err) {
    struct arena *a = arena_new(LOOK_ARENA_MAX);
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to unpublish a pack");
    int rc = write_begin(s, err);
    if (rc == 0) {
        rc = owner_require(s, namespace, who, err);
        if (rc == 0) rc = unpublish_place(s, name, version, since_ms, left, who, a, err);
        rc = write_end(s, rc, err);
    }
    arena_free(a);
    return rc;
}

/* --- installs --- */

/* Is it there, for the same?  other: is it there with other bytes, for whoever would see both? */
static int install_seen(struct store *s, const struct pack_install *i, bool other, bool *there,
                        struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, other ? SQL_PACK_INSTALL_OTHER : SQL_PACK_INSTALL_SEEN);
    bind_text(&q, i->tenant);
    bind_text(&q, i->name);
    bind_text(&q, i->version);
    if (other) bind_hash(&q, &i->digest);
    int rc = query_step(&q, err);
    *there = rc == 1;
    query_end(&q);
    return rc < 0 ? rc : 0;
}

static int install_look(struct store *s, enum stmt_id id, struct str tenant, int64_t sum[2],
                        struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, id);
    if (id == SQL_PACK_INSTALL_ROOM) bind_text(&q, tenant);
    int rc = query_step(&q, err);
    for (int i = 0; rc == 1 && i < 2; i++) sum[i] += col_int(&q, i);
    query_end(&q);
    return rc < 0 ? rc : 0;
}

/* Each tenant that uses packs has what it sees of them in memory: its own and those of all. */
static int install_room(struct store *s, const struct pack_install *i, struct wopr_error *err) {
    int64_t sum[2] = {1, (int64_t)i->manifest.n}; /* packs, bytes of manifests */
    int rc = install_look(s, SQL_PACK_INSTALL_ROOM, STR(""), sum, err);
    if (rc == 0 && i->tenant.n > 0)
        rc = install_look(s, SQL_PACK_INSTALL_ROOM, i->tenant, sum, err);
    if (rc == 0 && i->tenant.n == 0) rc = install_look(s, SQL_PACK_INSTALL_MOST, STR(""), sum, err);
    if (rc != 0) return rc;
    if (sum[0] <= PACK_INSTALLS_MAX && sum[1] <= (int64_t)PACK_INSTALLS_BYTES_MAX) return 0;
    return wopr_error_set(
        err, WOPR_E_CONFLICT,
        "a tenant sees at most %u installed versions, whose manifests have %u MiB "
        "together; remove some that no workflow needs (wopr packs remove)",
        PACK_INSTALLS_MAX, PACK_INSTALLS_BYTES_MAX >> 20);
}

static int install_place(struct store *s, const struct pack_install *i, struct str tarball,
                         bool *fresh, struct wopr_error *err) {
    const struct pack_actor who = {i->tenant, i->installed_by, i->installed_ms};
    struct query q;
    bool there, other;
    int rc = install_seen(s, i, false, &there, err);
    if (rc == 0) rc = install_seen(s, i, true, &other, err);
    if (rc != 0) return rc;
    *fresh = !there;
    if (other)
        return wopr_error_set(err, WOPR_E_CONFLICT,
                              "this version is installed with other bytes, for the tenant or for "
                              "all; remove it first");
    if (there) return 0;
    rc = install_room(s, i, err);
    if (rc == 0) rc = blob_put(s, &i->digest, tarball, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_PACK_INSTALL_PUT);
    bind_text(&q, i->tenant);
    bind_text(&q, i->name);
    bind_text(&q, i->version);
    bind_hash(&q, &i->digest);
    bind_text(&q, i->manifest);
    bind_text(&q, i->origin);
    bind_opt(&q, i->kid);
    bind_int(&q, i->installed_ms);
    bind_text(&q, i->installed_by);
    rc = query_run(&q, err);
    return rc == 0 ? change_note(s, "installed", i->name, i->version, STR_NONE, &who, err) : rc;
}

int store_pack_install(struct store *s, const struct pack_install *i, struct str tarball,
                       bool *fresh, struct wopr_error *err) {
    bool is_fresh = false;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    rc = write_end(s, install_place(s, i, tarball, &is_fresh, err), err);
    if (rc == 0) *fresh = is_fresh;
    return rc;
}

int store_pack_uninstall(struct store *s, struct str tenant, struct str name, struct str version,
                         const struct pack_actor *who, struct wopr_error *err) {
    const struct pack_install i = {.tenant = tenant, .name = name, .version = version};
    struct query q;
    bool there;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    rc = install_seen(s, &i, false, &there, err);
    if (rc == 0 && !there)
        rc = wopr_error_set(err, WOPR_E_NOT_FOUND, "the pack is not installed in this version");
    if (rc != 0) return write_end(s, rc, err);
    query_begin(&q, s->writer, SQL_PACK_UNINSTALL);
    bind_text(&q, tenant);
    bind_text(&q, name);
    bind_text(&q, version);
    rc = query_run(&q, err); /* P4: its bytes stay, for runs that go by them */
    if (rc == 0) rc = change_note(s, "removed", name, version, STR_NONE, who, err);
    return write_end(s, rc, err);
}
