/*
 * registry.c: see registry.h.
 */
#include "packs/registry.h"
#include "base/mem.h"
#include "codec/fold.h"
#include "codec/ident.h"
#include "packs/semver.h"

#include <pthread.h>

#define ROTATION_AHEAD_MS (INT64_C(366) * 86400 * 1000)

struct registry {
    pthread_mutex_t lock;
    struct manifest_rules *rules; /* NULL until the first is judged */
};

struct registry *registry_new(void) {
    struct registry *r = MEM_NEW(struct registry);
    if (r && pthread_mutex_init(&r->lock, NULL) != 0) {
        mem_free(r);
        return NULL;
    }
    return r;
}

void registry_free(struct registry *r) {
    if (!r) return;
    manifest_rules_free(r->rules);
    pthread_mutex_destroy(&r->lock);
    mem_free(r);
}

int registry_rules(struct registry *r, const struct manifest_rules **out, struct wopr_error *err) {
    pthread_mutex_lock(&r->lock);
    int rc = r->rules ? 0 : manifest_rules_new(&r->rules, err);
    *out = r->rules;
    pthread_mutex_unlock(&r->lock);
    return rc;
}

static int no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to publish the pack");
}

/* --- before the tarball is looked into --- */

int registry_id_check(struct str name, struct str version, struct wopr_error *err) {
    struct semver v;
    enum pack_scope scope;
    int rc = pack_name_check(name, &scope, err);
    if (rc != 0) return rc;
    if (semver_parse(version, &v)) return 0;
    return wopr_error_at(err, WOPR_E_PACK_VERSION, "version",
                         "the version must be a semantic version like 1.4.2");
}

static bool type_ok(struct str type) {
    static const char *const TYPES[] = {"application/gzip", "application/x-gzip",
                                        "application/tar+gzip", "application/octet-stream"};
    struct str main_type, rest;
    if (!str_cut(type, ';', &main_type, &rest)) main_type = type;
    main_type = str_trim(main_type);
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (str_eq_nocase(main_type, str_c(TYPES[i]))) return true;
    return false;
}

static int claim_check(struct store *s, const struct registry_upload *u,
                       const struct pack_actor *who, struct arena *a, struct wopr_error *err) {
    struct str owner;
    enum pack_scope scope = PACK_SCOPE_NR;
    int rc = pack_name_check(u->name, &scope, err);
    if (rc == 0 && scope == PACK_SCOPE_CORE)
        rc = wopr_error_at(err, WOPR_E_PACK_SCOPE, "name",
                           "packs of the scope core are those of the specification; publish under "
                           "vendor, community or private");
    if (rc != 0) return rc;
    rc = store_pack_owner(s, pack_namespace(u->name), a, &owner, err);
    if (rc == WOPR_E_NOT_FOUND) return 0;
    if (rc == 0 && !str_eq(owner, who->tenant))
        rc = wopr_error_set(err, WOPR_E_FORBIDDEN, "the name belongs to another tenant");
    return rc;
}

static int body_check(const struct registry_upload *u, const struct sha256 *digest,
                      struct wopr_error *err) {
    struct sha256 said;
    if (!type_ok(u->content_type))
        return wopr_error_at(err, WOPR_E_PACK_BODY, "Content-Type",
                             "the body must be a tarball, sent as application/gzip");
    if (u->tarball.n == 0)
        return wopr_error_set(err, WOPR_E_PACK_BODY, "the body must be a tarball; it is empty");
    if (u->sri.p == NULL) return 0;
    if (!pack_sri_read(u->sri, &said) || !sha256_eq(&said, digest))
        return wopr_error_at(err, WOPR_E_PACK_INTEGRITY, "X-Pack-Sha256",
                             "the body has another SHA-256 than X-Pack-Sha256 says; that is "
                             "sha256- and the base64 of the 32 bytes");
    return 0;
}

struct version_seen {
    bool there, removed;
    struct sha256 digest;
};

static int version_look(struct store *s, const struct registry_upload *u, struct version_seen *out,
                        struct wopr_error *err) {
    int rc = store_pack_seen(s, u->name, u->version, &out->digest, &out->removed, err);
    out->there = rc == 0;
    return rc == WOPR_E_PACK_NOT_FOUND ? 0 : rc;
}

/* Check 8.  *known: it is there with the same bytes. */
static int version_check(const struct version_seen *old, const struct sha256 *digest, bool *known,
                         struct wopr_error *err) {
    *known = false;
    if (!old->there) return 0;
    if (old->removed)
        return wopr_error_set(err, WOPR_E_CONFLICT,
                              "this version was unpublished; a version is never given again");
    if (!sha256_eq(&old->digest, digest))
        return wopr_error_set(err, WOPR_E_CONFLICT,
                              "this version is published with other bytes; choose a new version");
    *known = true;
    return 0;
}

/* --- signature --- */

static int signature_bad(struct wopr_error *err, const char *what) {
    return wopr_error_set(err, WOPR_E_PACK_SIGNATURE, "%s", what);
}

bool pack_key_holds(const struct pack_key *k, int64_t at_ms) {
    return k->from_ms <= at_ms && (k->until_ms == 0 || at_ms < k->until_ms) &&
           (k->revoked_ms == 0 || at_ms < k->revoked_ms);
}

/* A namespace whose keys were all revoked begins again, as one without any. */
static bool keys_any_good(const struct pack_keys *keys) {
    for (size_t i = 0; i < keys->n; i++)
        if (keys->v[i].revoked_ms == 0) return true;
    return false;
}

/* The key that a namespace without one gets by this publish. */
static int key_begin(const struct registry_upload *u, const struct pack_judged *j, int64_t now_ms,
                     struct arena *a, struct pack_key **out, struct wopr_error *err) {
    struct pack_key *k = ARENA_NEW(a, struct pack_key);
    struct str text = u->key.n > 0 ? u->key : j->key;
    if (!k) return no_memory(err);
    if (text.n == 0)
        return signature_bad(err,
                             "the namespace has no key yet: send the public key with the first "
                             "signed pack, as signing.publicKeyRef in the tarball or in "
                             "X-Pack-Public-Key");
    if (pack_key_read(text, k->pub, NULL) != 0)
        return signature_bad(err, "the public key that came with the pack is no Ed25519 key");
    struct pack_key_id id = pack_key_id(k->pub);
    k->namespace = pack_namespace(u->name);
    k->kid = arena_str(a, str_c(id.text));
    k->from_ms = now_ms;
    *out = k;
    return k->kid.p ? 0 : no_memory(err);
}

static int signature_read(const struct registry_upload *u, const struct pack_judged *j,
                          struct arena *a, struct pack_release *r, struct wopr_error *err) {
    struct buf b;
    if (u->signature.n == 0) {
        r->signature = j->signature;
        r->over_manifest = true;
        return r->signature.n == PACK_SIGNATURE_BYTES
                   ? 0
                   : signature_bad(err, "no signature came with the pack: send its base64 in "
                                        "X-Pack-Signature, or 64 bytes as pack.json.sig");
    }
    buf_init(&b, PACK_SIGNATURE_BYTES);
    bool ok = base64_decode(u->signature, &b, NULL) == 0 && b.len == PACK_SIGNATURE_BYTES;
    if (ok) r->signature = arena_str(a, buf_str(&b));
    buf_fini(&b);
    if (!ok) return signature_bad(err, "X-Pack-Signature must be the base64 of 64 bytes");
    return r->signature.p ? 0 : no_memory(err);
}

static bool signature_holds(const struct pack_release *r, struct str tarball, struct str manifest,
                            const uint8_t pub[32]) {
    return ed25519_verify(pub, r->over_manifest ? manifest : tarball,
                          (const uint8_t *)r->signature.p);
}

static int signature_check(struct store *s, const struct registry_upload *u,
                           const struct pack_judged *j, int64_t now_ms, struct arena *a,
                           struct pack_publish *out, struct wopr_error *err) {
    struct pack_release *r = &out->release;
    struct pack_keys keys = {NULL, 0};
    struct pack_key *fresh = NULL;
    if (u->method.n == 0 || str_eq_nocase(u->method, STR("none"))) return 0;
    if (str_eq_nocase(u->method, STR("sigstore")))
        return signature_bad(err, "bundles of sigstore are not verified here: sign with an Ed25519 "
                                  "key (manual), or publish unsigned (none)");
    if (!str_eq_nocase(u->method, STR("manual")))
        return signature_bad(err, "X-Pack-Signing-Method must be manual, sigstore or none");
    int rc = signature_read(u, j, a, r, err);
    if (rc == 0) rc = store_pack_keys(s, pack_namespace(u->name), a, &keys, err);
    if (rc == 0 && !keys_any_good(&keys)) {
        rc = key_begin(u, j, now_ms, a, &fresh, err);
        keys = (struct pack_keys){fresh, 1};
    }
    if (rc != 0) return rc;
    for (size_t i = 0; i < keys.n; i++) {
        if (!pack_key_holds(&keys.v[i], now_ms) ||
            !signature_holds(r, u->tarball, j->manifest.text, keys.v[i].pub))
            continue;
        r->kid = keys.v[i].kid;
        out->key = fresh;
        return 0;
    }
    return signature_bad(err, "the signature was made by no key that the namespace has now");
}

/* --- search --- */

static bool is_wordly(unsigned char c) {
    return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool word_is_new(const struct str *v, size_t n, struct str w) {
    for (size_t i = 0; i < n; i++)
        if (str_eq(v[i], w)) return false;
    return true;
}

size_t registry_words(struct str text, struct arena *a, struct str *v, size_t n, size_t max) {
    for (size_t at = 0; at < text.n && n < max;) {
        size_t len = 0;
        while (at < text.n && !is_wordly((unsigned char)text.p[at])) at++;
        while (at + len < text.n && is_wordly((unsigned char)text.p[at + len])) len++;
        struct str word = len > 0 && len <= PACK_WORD_BYTES_MAX
                              ? fold_name(str_n(text.p + at, len), a)
                              : STR_NONE;
        if (word.n > 0 && word_is_new(v, n, word)) v[n++] = word;
        at += len;
    }
    return n;
}

static int words_of(const struct pack_manifest *m, struct arena *a, struct pack_face *out,
                    struct wopr_error *err) {
    struct json_elements keys = {NULL, 0};
    struct str *v = ARENA_ARRAY(a, struct str, PACK_WORDS_MAX);
    if (!v || (m->keywords.n > 0 && json_elements(m->keywords, a, &keys, err) != 0))
        return no_memory(err);
    size_t n = 0;
    v[n++] = m->name;
    n = registry_words(m->name, a, v, n, PACK_WORDS_MAX);
    for (size_t i = 0; i < keys.n; i++)
        n = registry_words(json_string(keys.v[i], a), a, v, n, PACK_WORDS_MAX);
    n = registry_words(m->description, a, v, n, PACK_WORDS_MAX);
    *out = (struct pack_face){m->description, v, n};
    return arena_failed(a) ? no_memory(err) : 0;
}

int registry_left(struct store *s, struct str name, struct str version, struct arena *a, bool *any,
                  struct pack_face *out, struct wopr_error *err) {
    struct pack_manifest m = {.name = name};
    struct pack_releases all;
    struct pack_release r = {.manifest = STR_NONE};
    struct semver v, best;
    struct str newest = STR_NONE;
    int rc = store_pack_list(s, name, a, &all, err);
    for (size_t i = 0; rc == 0 && i < all.n; i++) {
        if (str_eq(all.v[i].version, version) || !semver_parse(all.v[i].version, &v)) continue;
        if (newest.n > 0 && semver_cmp(&v, &best) <= 0) continue;
        newest = all.v[i].version;
        best = v;
    }
    *any = newest.n > 0;
    if (rc != 0 || !*any) return rc;
    rc = store_pack_get(s, name, newest, a, &r, err);
    if (rc != 0) return rc;
    m.description = json_string(json_get(r.manifest, "description"), a);
    m.keywords = json_get(r.manifest, "keywords");
    if (m.description.p == NULL) m.description = STR("");
    return words_of(&m, a, out, err);
}

/* Is it the newest by then?  Its words are those of the name then. */
static int newest_check(struct store *s, const struct pack_manifest *m, struct arena *a,
                        struct pack_publish *out, struct wopr_error *err) {
    struct pack_releases all;
    struct semver own, other;
    int rc = store_pack_list(s, m->name, a, &all, err);
    if (rc != 0) return rc;
    out->newest = true;
    if (!semver_parse(m->version, &own)) return 0;
    for (size_t i = 0; i < all.n; i++)
        if (semver_parse(all.v[i].version, &other) && semver_cmp(&other, &own) > 0)
            out->newest = false;
    return 0;
}

/* --- all of it --- */

static int upload_judge(struct registry *reg, struct store *s, const struct registry_upload *u,
                        const struct pack_actor *who, const struct sha256 *digest, struct arena *a,
                        struct pack_publish *out, struct wopr_error *err) {
    const struct pack_expect expect = {.name = u->name, .version = u->version};
    const struct manifest_rules *rules;
    struct pack_judged j;
    int rc = registry_rules(reg, &rules, err);
    if (rc == 0) rc = pack_judge(rules, u->tarball, &expect, a, &j, err);
    if (rc != 0) return rc;
    *out = (struct pack_publish){.release = {.name = u->name,
                                             .version = u->version,
                                             .digest = *digest,
                                             .bytes = (int64_t)u->tarball.n,
                                             .manifest = j.manifest.text,
                                             .warnings = j.warnings,
                                             .published_ms = who->now_ms,
                                             .published_by = who->key_id},
                                 .tarball = u->tarball,
                                 .namespace = pack_namespace(u->name),
                                 .description = j.manifest.description};
    rc = signature_check(s, u, &j, who->now_ms, a, out, err);
    struct pack_face face = {.words_nr = 0};
    if (rc == 0) rc = words_of(&j.manifest, a, &face, err);
    out->words = face.words;
    out->words_nr = face.words_nr;
    return rc == 0 ? newest_check(s, &j.manifest, a, out, err) : rc;
}

int registry_admit(struct registry *r, struct store *s, const struct registry_upload *u,
                   const struct pack_actor *who, struct arena *a, struct pack_publish *out,
                   bool *known, struct wopr_error *err) {
    struct sha256 digest = sha256_of(u->tarball);
    struct version_seen old = {.there = false};
    int rc = registry_id_check(u->name, u->version, err);
    /* Before its owner: one that is there by then has an owner, who may be another tenant. */
    if (rc == 0) rc = version_look(s, u, &old, err);
    if (rc == 0) rc = claim_check(s, u, who, a, err);
    if (rc == 0) rc = body_check(u, &digest, err);
    if (rc == 0) rc = version_check(&old, &digest, known, err);
    if (rc != 0 || *known) return rc;
    return upload_judge(r, s, u, who, &digest, a, out, err);
}

/* --- rotation --- */

static const struct pack_key *key_now(const struct pack_keys *all, int64_t now_ms) {
    for (size_t i = all->n; i > 0; i--)
        if (pack_key_holds(&all->v[i - 1], now_ms) && all->v[i - 1].rotated_to.n == 0)
            return &all->v[i - 1];
    return NULL;
}

static bool proof_holds(const struct registry_rotation *r, const uint8_t pub[32]) {
    struct buf text, sig;
    buf_init(&text, 4096);
    buf_init(&sig, PACK_SIGNATURE_BYTES);
    bool ok = pack_rotation_text(r->kid, r->public_key, r->valid_from, &text) == 0 &&
              base64_decode(r->proof, &sig, NULL) == 0 && sig.len == PACK_SIGNATURE_BYTES &&
              ed25519_verify(pub, buf_str(&text), (const uint8_t *)sig.p);
    buf_fini(&text);
    buf_fini(&sig);
    return ok;
}

static int field_bad(struct wopr_error *err, const char *field, const char *what) {
    return wopr_error_at(err, WOPR_E_VALIDATION, field, "%s %s", field, what);
}

int registry_rotation_check(struct store *s, struct str namespace,
                            const struct registry_rotation *r, int64_t now_ms, struct arena *a,
                            struct pack_key *out, struct wopr_error *err) {
    struct pack_keys all;
    struct pack_key k = {.namespace = namespace, .kid = r->kid, .proof = r->proof};
    if (!id_author_valid(r->kid))
        return field_bad(err, "kid", "must be an id of 1 to 128 characters");
    if (pack_key_read(r->public_key, k.pub, NULL) != 0)
        return field_bad(err, "publicKey",
                         "must be an Ed25519 key: base64 of its "
                         "SubjectPublicKeyInfo, or PEM");
    if (!time_parse(r->valid_from, &k.from_ms))
        return field_bad(err, "validFrom", "must be a time like 2026-11-24T12:00:00Z");
    int rc = store_pack_keys(s, namespace, a, &all, err);
    if (rc != 0) return rc;
    const struct pack_key *old = key_now(&all, now_ms);
    if (!old)
        return wopr_error_set(err, WOPR_E_NOT_FOUND,
                              "the namespace has no key that could be replaced");
    if (k.from_ms < old->from_ms)
        return field_bad(err, "validFrom", "must not be before that of the key that is replaced");
    if (k.from_ms > now_ms + ROTATION_AHEAD_MS) /* until then it cannot be replaced in its turn */
        return field_bad(err, "validFrom", "must be within a year from now");
    if (!proof_holds(r, old->pub))
        return wopr_error_at(err, WOPR_E_PACK_ROTATION, "rotationProof",
                             "rotationProof must be the base64 of the signature of the present key "
                             "over kid, publicKey and validFrom, joined without anything between");
    k.rotated_from = old->kid;
    *out = k;
    return 0;
}
