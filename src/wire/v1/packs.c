/*
 * packs.c: reading the registry (PACK-30 to PACK-36, PACK-42): what is installed, search, catalog
 * records, manifests, tarballs, signatures, keys.
 */
#include "codec/ident.h"
#include "packs/registry.h"
#include "packs/resolve.h"
#include "wire/v1/wire_int.h"

#include <stdio.h>

enum {
    PAGE_BYTES = 4 * 1024 * 1024,
    CATALOG_BYTES = 16 * 1024 * 1024, /* of PACK_VERSIONS_MAX, with their marks */
    INSTALLED_BYTES = 32 * 1024 * 1024,
    QUERY_BYTES_MAX = 256,
    ETAG_BYTES = PACK_SRI_BYTES + 3
};

/* --- shapes --- */

void v1_pack_time(struct jw *w, const char *key, int64_t ms) {
    char text[TIME_LEN + 1];
    time_format(ms, text);
    jw_kstrz(w, key, text);
}

static void url_put(struct http_call *c, struct jw *w, const char *key,
                    const struct pack_release *r, const char *suffix) {
    struct str base = http_base_url(c);
    struct str url = arena_printf(c->arena, STR_FMT "/v1/packs/" STR_FMT "/-/" STR_FMT "%s",
                                  STR_ARG(base), STR_ARG(r->name), STR_ARG(r->version), suffix);
    jw_kstr(w, key, url);
}

static void integrity_put(struct jw *w, const char *key, const struct sha256 *d) {
    struct buf sri;
    buf_init(&sri, PACK_SRI_BYTES);
    pack_sri(d, &sri);
    if (buf_failed(&sri)) w->b->failed = true;
    else jw_kstr(w, key, buf_str(&sri));
    buf_fini(&sri);
}

/* The members that the registry knows of a version (PACK-46, PACK-50, PACK-51). */
static void release_members(struct http_call *c, struct jw *w, const struct pack_release *r) {
    url_put(c, w, "tarballUrl", r, ".tgz");
    integrity_put(w, "tarballSha256", &r->digest);
    url_put(c, w, "manifestUrl", r, ".json");
    v1_pack_time(w, "publishedAt", r->published_ms);
    jw_kbool(w, "signed", r->signature.n > 0);
    jw_kstrz(w, "signingMethod", r->signature.n > 0 ? "manual" : "none");
    jw_kstr_opt(w, "keyId", r->kid);
    jw_kint(w, "sizeBytes", r->bytes);
    if (r->deprecation.n > 0) jw_kraw(w, "deprecation", r->deprecation);
    if (r->yank.n > 0) jw_kraw(w, "yanked", r->yank);
}

/* --- names in paths --- */

/* The name first, then the version, then the look (PACK-48). */
int v1_pack_name(struct http_call *c, struct str *name, struct wopr_error *err) {
    *name = http_param(c, "name");
    /* A scope that no registry has is a bad name to a reader (PACK-4). */
    if (pack_name_check(*name, NULL, err) == 0) return 0;
    if (err->code == WOPR_E_PACK_SCOPE)
        (void)wopr_error_at(err, WOPR_E_PACK_NAME, "name",
                            "the scope of a pack is core, vendor, community or private");
    return err->code;
}

enum pack_file { PACK_FILE_NONE, PACK_FILE_TGZ, PACK_FILE_JSON, PACK_FILE_SIG };

static enum pack_file file_split(struct str file, struct str *version) {
    static const struct {
        struct str suffix;
        enum pack_file kind;
    } KINDS[] = {
        {{".tgz", 4}, PACK_FILE_TGZ}, {{".json", 5}, PACK_FILE_JSON}, {{".sig", 4}, PACK_FILE_SIG}};
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (str_ends(file, KINDS[i].suffix)) {
            *version = str_n(file.p, file.n - KINDS[i].suffix.n);
            return KINDS[i].kind;
        }
    *version = file;
    return PACK_FILE_NONE;
}

int v1_pack_tarball_of(struct http_call *c, struct str *version, struct wopr_error *err) {
    if (file_split(http_param(c, "file"), version) == PACK_FILE_TGZ) return 0;
    return wopr_error_at(err, WOPR_E_PACK_VERSION, "file",
                         "a pack is published as VERSION.tgz, like 1.4.2.tgz");
}

/* --- catalog records --- */

static void catalog_put(struct http_call *c, struct jw *w, struct str name, struct str description,
                        const struct pack_releases *all) {
    const struct pack_release *latest = pack_latest(all);
    jw_kstr(w, "name", name);
    if (description.n > 0) jw_kstr(w, "description", description);
    jw_key(w, "versions");
    jw_object(w);
    for (size_t i = 0; i < all->n; i++) {
        jw_key_str(w, all->v[i].version);
        jw_object(w);
        release_members(c, w, &all->v[i]);
        jw_end_object(w);
    }
    jw_end_object(w);
    jw_key(w, "dist-tags");
    jw_object(w);
    if (latest) jw_kstr(w, "latest", latest->version);
    jw_end_object(w);
    if (latest) jw_kstr(w, "latest", latest->version);
}

static void catalog_send(struct http_call *c) {
    struct wopr_error err = {0};
    struct pack_releases all;
    struct str name = http_param(c, "name"), description;
    int rc = store_pack_list(wire_of(c)->store, name, c->arena, &all, &err);
    if (rc == 0 && all.n == 0)
        rc = wopr_error_set(&err, WOPR_E_PACK_NOT_FOUND, "there is no pack of this name");
    if (rc == 0) rc = store_pack_description(wire_of(c)->store, name, c->arena, &description, &err);
    if (rc != 0) {
        http_fail(c, &err);
        return;
    }
    struct jobj o;
    jobj_begin(&o, CATALOG_BYTES);
    catalog_put(c, &o.w, name, description, &all);
    (void)wire_reply_object(c, 200, &o);
}

int v1_get_pack(struct http_call *c) {
    struct wopr_error err = {0};
    struct str name;
    return v1_pack_name(c, &name, &err) == 0 ? http_offload(c, catalog_send) : wire_fail(c, &err);
}

/* --- search --- */

static int query_words(struct http_call *c, struct str *v, size_t *n, struct wopr_error *err) {
    bool found = false;
    struct str q = http_query(c, "q", &found);
    if (q.n > QUERY_BYTES_MAX) return wire_param_error(err, "q", "q is longer than 256 bytes");
    *n = 0;
    if (pack_name_ok(q)) v[(*n)++] = q; /* a whole name is a word, too */
    else *n = registry_words(q, c->arena, v, 0, PACK_QUERY_WORDS);
    return 0;
}

static int search_answer(struct http_call *c, struct wopr_error *err) {
    struct str words[PACK_QUERY_WORDS], next = STR_NONE, description;
    struct pack_names found = {NULL, 0};
    bool given = false;
    size_t n = 0;
    int64_t limit = 0;
    struct str after = http_query(c, "cursor", &given);
    int rc = query_words(c, words, &n, err);
    if (rc == 0) rc = wire_int_param(c, "limit", 1, PACK_SEARCH_MAX, V1_LIST_DEFAULT, &limit, err);
    if (rc == 0)
        rc = store_pack_search(wire_of(c)->store, words, n, after, (unsigned)limit, c->arena,
                               &found, &next, err);
    if (rc != 0) return rc;
    struct jobj o;
    jobj_begin(&o, PAGE_BYTES);
    jw_key(&o.w, "results");
    jw_array(&o.w);
    for (size_t i = 0; rc == 0 && i < found.n; i++) {
        rc = store_pack_description(wire_of(c)->store, found.v[i], c->arena, &description, err);
        jw_object(&o.w);
        jw_kstr(&o.w, "name", found.v[i]);
        if (rc == 0 && description.n > 0) jw_kstr(&o.w, "description", description);
        jw_end_object(&o.w);
    }
    jw_end_array(&o.w);
    if (next.n > 0) jw_kstr(&o.w, "nextCursor", next);
    if (rc != 0) jobj_drop(&o);
    else (void)wire_reply_object(c, 200, &o);
    return rc;
}

static void search_send(struct http_call *c) {
    struct wopr_error err = {0};
    if (search_answer(c, &err) != 0) http_fail(c, &err);
}

/* Without a credential, and for words that many names have the look at a thousand of them. */
int v1_search_packs(struct http_call *c) { return http_offload(c, search_send); }

/* --- files of a version --- */

int v1_pack_version_reply(struct http_call *c, int status, const struct pack_release *r) {
    struct jobj o;
    jobj_begin(&o, PAGE_BYTES);
    jw_members(&o.w, r->manifest);
    release_members(c, &o.w, r);
    jw_kraw(&o.w, "warnings", r->warnings);
    return wire_reply_object(c, status, &o);
}

static void tarball_send(struct http_call *c) {
    struct wopr_error err = {0};
    const struct pack_release *r = c->user;
    struct buf body, sri;
    char *etag = arena_alloc(c->arena, ETAG_BYTES);
    c->user = NULL;
    buf_init(&body, PACK_TARBALL_BYTES_MAX);
    buf_init(&sri, PACK_SRI_BYTES);
    pack_sri(&r->digest, &sri);
    int rc = etag && !buf_failed(&sri)
                 ? http_room(c, (size_t)r->bytes, &err)
                 : wopr_error_set(&err, WOPR_E_NO_MEMORY, "no memory to read the pack");
    if (rc == 0) rc = store_pack_blob(wire_of(c)->store, &r->digest, &body, &err);
    if (rc == 0) {
        (void)snprintf(etag, ETAG_BYTES, "\"" STR_FMT "\"", STR_ARG(buf_str(&sri)));
        c->content_type = "application/tar+gzip";
        http_reply_header(c, "ETag", str_c(etag));
        (void)wire_reply_buf(c, 200, &body);
    } else {
        buf_fini(&body);
        http_fail(c, &err);
    }
    buf_fini(&sri);
}

static int file_get(struct http_call *c, enum pack_file kind, struct str name, struct str version) {
    struct wopr_error err = {0};
    struct pack_release *r = ARENA_NEW(c->arena, struct pack_release);
    int rc = r ? store_pack_get(wire_of(c)->store, name, version, c->arena, r, &err)
               : wopr_error_set(&err, WOPR_E_NO_MEMORY, "no memory to read the pack");
    if (rc != 0) return wire_fail(c, &err);
    if (kind == PACK_FILE_JSON) return v1_pack_version_reply(c, 200, r);
    c->user = r;
    return http_offload(c, tarball_send);
}

/* PACK-36, maliciousManifest: 404 for whatever is not there, in one spelling; a name that is none
 * and a version that is none are answered like a pack that is not there. */
static int signature_get(struct http_call *c, struct str name, struct str version) {
    struct wopr_error err = {0};
    struct pack_release r = {.signature = STR_NONE};
    int rc = store_pack_get(wire_of(c)->store, name, version, c->arena, &r, &err);
    if (rc == WOPR_E_PACK_NOT_FOUND || (rc == 0 && (r.signature.n == 0 || r.yank.n > 0)))
        rc = wopr_error_set(&err, WOPR_E_PACK_NO_SIGNATURE, "there is no signature to be had");
    if (rc != 0) return wire_fail(c, &err);
    c->content_type = "application/octet-stream";
    http_reply(c, 200, r.signature);
    return HTTP_DONE;
}

/* One plain word is no name of a pack, but harmless: to a reader of a file it is one that is not
 * there, which is how others find out that this is a registry (41-conformance:
 * maliciousManifest) */
static bool is_plain_word(struct str name) {
    for (size_t i = 0; i < name.n; i++)
        if (!(name.p[i] >= 'a' && name.p[i] <= 'z') && !(name.p[i] >= '0' && name.p[i] <= '9') &&
            name.p[i] != '-' && name.p[i] != '_')
            return false;
    return name.n > 0;
}

int v1_get_pack_file(struct http_call *c) {
    struct wopr_error err = {0};
    struct semver v;
    struct str name = http_param(c, "name"), version;
    enum pack_file kind = file_split(http_param(c, "file"), &version);
    if (kind == PACK_FILE_SIG) return signature_get(c, name, version);
    int rc = is_plain_word(name) ? 0 : v1_pack_name(c, &name, &err);
    if (rc == 0 && kind == PACK_FILE_NONE)
        rc = wopr_error_set(&err, WOPR_E_NOT_FOUND,
                            "a version has the files VERSION.json, VERSION.tgz and VERSION.sig");
    if (rc == 0 && !semver_parse(version, &v))
        rc = wopr_error_at(&err, WOPR_E_PACK_VERSION, "file",
                           "the version must be a semantic version like 1.4.2");
    return rc == 0 ? file_get(c, kind, name, version) : wire_fail(c, &err);
}

/* --- keys --- */

static void key_put(struct jw *w, const struct pack_key *k) {
    struct buf text;
    buf_init(&text, PACK_KEY_TEXT_BYTES);
    pack_key_text(k->pub, &text);
    jw_object(w);
    jw_kstr(w, "kid", k->kid);
    jw_kstrz(w, "algorithm", "ed25519");
    jw_kstr(w, "publicKey", buf_str(&text));
    v1_pack_time(w, "validFrom", k->from_ms);
    if (k->until_ms > 0) v1_pack_time(w, "validUntil", k->until_ms);
    if (k->rotated_from.n > 0) jw_kstr(w, "rotatedFrom", k->rotated_from);
    if (k->rotated_to.n > 0) jw_kstr(w, "rotatedTo", k->rotated_to);
    if (k->proof.n > 0) jw_kstr(w, "rotationProof", k->proof);
    if (k->revoked_ms > 0) v1_pack_time(w, "revokedAt", k->revoked_ms);
    jw_end_object(w);
    buf_fini(&text);
}

int v1_pack_keychain_reply(struct http_call *c, struct str name) {
    struct wopr_error err = {0};
    struct pack_keys keys;
    struct str namespace = pack_namespace(name);
    int rc = store_pack_keys(wire_of(c)->store, namespace, c->arena, &keys, &err);
    if (rc == 0 && keys.n == 0)
        rc = wopr_error_set(&err, WOPR_E_PACK_NOT_FOUND, "the namespace of the pack has no keys");
    if (rc != 0) return wire_fail(c, &err);
    struct jobj o;
    jobj_begin(&o, PAGE_BYTES);
    jw_kstr(&o.w, "namespace", namespace);
    jw_key(&o.w, "keys");
    jw_array(&o.w);
    for (size_t i = 0; i < keys.n; i++) key_put(&o.w, &keys.v[i]);
    jw_end_array(&o.w);
    return wire_reply_object(c, 200, &o);
}

int v1_get_pack_keychain(struct http_call *c) {
    struct wopr_error err = {0};
    struct str name;
    int rc = v1_pack_name(c, &name, &err);
    return rc == 0 ? v1_pack_keychain_reply(c, name) : wire_fail(c, &err);
}

/* --- what is installed --- */

static void installed_put(struct jw *w, const struct pack_install *i) {
    struct str nodes = json_get(i->manifest, "nodes"), agents = json_get(i->manifest, "agents");
    struct str description = json_get(i->manifest, "description");
    jw_object(w);
    jw_kstr(w, "name", i->name);
    jw_kstr(w, "version", i->version);
    jw_kraw_opt(w, "description", description);
    integrity_put(w, "integrity", &i->digest);
    jw_kstr(w, "origin", i->origin);
    v1_pack_time(w, "installedAt", i->installed_ms);
    jw_kraw(w, "nodes", nodes.n > 0 ? nodes : STR("[]"));
    jw_kraw(w, "agents", agents.n > 0 ? agents : STR("[]"));
    jw_end_object(w);
}

static void installed_list(struct http_call *c) {
    struct wopr_error err = {0};
    struct pack_installs all;
    int rc = store_pack_installs(wire_of(c)->store, c->who.tenant, false, c->arena, &all, &err);
    if (rc != 0) {
        http_fail(c, &err);
        return;
    }
    struct jobj o;
    jobj_begin(&o, INSTALLED_BYTES);
    jw_key(&o.w, "packs");
    jw_array(&o.w);
    for (size_t i = 0; i < all.n; i++) installed_put(&o.w, &all.v[i]);
    jw_end_array(&o.w);
    (void)wire_reply_object(c, 200, &o);
}

int v1_list_packs(struct http_call *c) { return http_offload(c, installed_list); }
