/*
 * packs_make.c: wopr packs keygen, build, sign, verify, publish.
 */
#include "base/fs.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cli/packs.h"
#include "egress/operator.h"
#include "packs/archive.h"

enum {
    SECRET_MODE = 0600,
    FILE_MODE = 0644,
    KEY_FILE_MAX = 4096,
    PUBLISH_TIMEOUT_MS = 120000,
    BUILD_DEPTH_MAX = PACK_FILE_DEPTH_MAX
};

static struct str with_suffix(struct cli *c, const char *path, const char *suffix) {
    return arena_printf(c->arena, "%s%s", path, suffix);
}

/* --- keys --- */

int packs_keygen(struct cli *c, struct store *s, const void *args) {
    const struct packs_args *in = args;
    struct ed25519_key k;
    struct wopr_error err = {0};
    struct buf secret, pub;
    (void)s;
    if (ed25519_generate(&k, &err) != 0) return cli_fail(&err);
    buf_init(&secret, KEY_FILE_MAX);
    buf_init(&pub, KEY_FILE_MAX);
    pack_secret_pem(&k, &secret);
    pack_key_pem(k.pub, &pub);
    struct str pub_path = with_suffix(c, c->argv[1], ".pub");
    int rc = pub_path.p && !buf_failed(&secret) && !buf_failed(&pub) ? 0 : 1;
    if (rc == 0) rc = packs_file_write(c->argv[1], buf_str(&secret), SECRET_MODE, in->force);
    if (rc == 0) rc = packs_file_write(pub_path.p, buf_str(&pub), FILE_MODE, in->force);
    if (rc == 0) printf("key %s: %s, %s\n", pack_key_id(k.pub).text, c->argv[1], pub_path.p);
    if (secret.p) mem_wipe(secret.p, secret.len);
    mem_wipe(&k, sizeof k);
    buf_fini(&secret);
    buf_fini(&pub);
    return rc;
}

static int secret_load(const char *path, struct ed25519_key *out) {
    struct buf text;
    struct wopr_error err = {0};
    if (path == NULL) return cli_usage("wopr: name the file of the key, with --key FILE\n");
    const char *exposed = fs_exposed(path);
    if (exposed)
        fprintf(stderr, "wopr: warning: %s: %s; a private key is for its owner alone\n", path,
                exposed);
    int rc = packs_file_read(path, KEY_FILE_MAX, &text);
    if (rc != 0) return rc;
    rc = pack_secret_read(buf_str(&text), out, &err);
    mem_wipe(text.p, text.len);
    buf_fini(&text);
    return rc == 0 ? 0 : cli_fail(&err);
}

/* --- build --- */

struct building {
    struct cli *c;
    struct archive_item *items;
    size_t n, cap;
    struct str folder; /* of the pack */
    struct str path;   /* below it, of the folder that is being read */
    unsigned depth;
    int rc;
};

static bool build_entry(void *ctx, const char *name);

/* A folder, or nothing that can be listed: *is_folder. */
static int build_folder(struct building *b, struct str path, bool *is_folder) {
    struct str outer = b->path;
    struct str full = arena_printf(b->c->arena, STR_FMT "%s" STR_FMT, STR_ARG(b->folder),
                                   path.n > 0 ? "/" : "", STR_ARG(path));
    if (!full.p) return 1;
    if (++b->depth > BUILD_DEPTH_MAX) {
        fprintf(stderr, "wopr: " STR_FMT ": folders are nested too deep\n", STR_ARG(full));
        return 1;
    }
    b->path = path;
    *is_folder = fs_each_name(full.p, build_entry, b) == 0;
    b->path = outer;
    b->depth--;
    return b->rc;
}

static int build_file(struct building *b, struct str path) {
    struct buf bytes;
    struct str full =
        arena_printf(b->c->arena, STR_FMT "/" STR_FMT, STR_ARG(b->folder), STR_ARG(path));
    if (!full.p || VEC_ROOM_IN(b->c->arena, b->items, b->n, b->cap, 16) != 0) return 1;
    int rc = packs_file_read(full.p, PACK_UNPACKED_BYTES_MAX, &bytes);
    if (rc != 0) return rc;
    struct str copy = arena_str(b->c->arena, buf_str(&bytes));
    buf_fini(&bytes);
    if (!copy.p) {
        fputs("wopr: the files of the pack are too large\n", stderr);
        return 1;
    }
    b->items[b->n++] = (struct archive_item){path, copy};
    return 0;
}

/* What an earlier build left in the folder. */
static bool is_built(struct str name) {
    return str_ends(name, STR(".tgz")) || str_ends(name, STR(".tgz.sig"));
}

/* Names with a dot in front are not read: .git and the like. */
static bool build_entry(void *ctx, const char *name) {
    struct building *b = ctx;
    bool is_folder = false;
    struct str path =
        arena_printf(b->c->arena, STR_FMT "%s%s", STR_ARG(b->path), b->path.n > 0 ? "/" : "", name);
    if (!path.p) b->rc = 1;
    else if (strcmp(name, "node_modules") == 0 || (b->path.n == 0 && is_built(path))) return true;
    else b->rc = build_folder(b, path, &is_folder);
    if (b->rc == 0 && !is_folder) b->rc = build_file(b, path);
    return b->rc == 0;
}

static int build_write(struct cli *c, const struct packs_args *in, struct str tarball) {
    struct pack_judged j;
    int rc = packs_judge(c, tarball, true, &j);
    if (rc != 0) return rc;
    struct str path = in->out ? str_c(in->out)
                              : arena_printf(c->arena, STR_FMT "-" STR_FMT ".tgz",
                                             STR_ARG(j.manifest.name), STR_ARG(j.manifest.version));
    if (!path.p) return 1;
    rc = packs_file_write(path.p, tarball, FILE_MODE, true);
    if (rc != 0) return rc;
    printf(STR_FMT "\n%u files, %zu bytes, " STR_FMT "\n", STR_ARG(path), j.files, tarball.n,
           STR_ARG(packs_sri(c, &j.digest)));
    if (j.warnings.n > 2) fprintf(stderr, "wopr: warnings: " STR_FMT "\n", STR_ARG(j.warnings));
    return 0;
}

int packs_folder(struct cli *c, const char *path, struct buf *gz) {
    struct building b = {.c = c, .folder = str_c(path), .path = STR("")};
    struct wopr_error err = {0};
    bool is_folder = false;
    while (b.folder.n > 1 && b.folder.p[b.folder.n - 1] == '/') b.folder.n--;
    int rc = build_folder(&b, STR(""), &is_folder);
    if (rc == 0 && !is_folder) return cli_usage("wopr: name the folder with pack.json in it\n");
    if (rc != 0) return rc;
    rc = archive_write(b.items, b.n, gz, &err);
    return rc == 0 ? 0 : cli_fail(&err);
}

int packs_build(struct cli *c, struct store *s, const void *args) {
    struct buf gz;
    (void)s;
    buf_init(&gz, PACK_TARBALL_BYTES_MAX);
    int rc = packs_folder(c, c->argv[1], &gz);
    if (rc == 0) rc = build_write(c, args, buf_str(&gz));
    buf_fini(&gz);
    return rc;
}

/* --- sign, verify --- */

static int signature_make(const struct packs_args *in, struct str tarball, uint8_t sig[64],
                          struct ed25519_key *k) {
    struct wopr_error err = {0};
    int rc = secret_load(in->key, k);
    if (rc == 0 && ed25519_sign(k, tarball, sig, &err) != 0) rc = cli_fail(&err);
    mem_wipe(k->secret, sizeof k->secret);
    return rc;
}

int packs_sign(struct cli *c, struct store *s, const void *args) {
    struct ed25519_key k = {{0}, {0}};
    struct buf tarball;
    uint8_t sig[64];
    struct pack_judged j;
    (void)s;
    int rc = packs_file_read(c->argv[1], PACK_TARBALL_BYTES_MAX, &tarball);
    if (rc != 0) return rc;
    rc = packs_judge(c, buf_str(&tarball), true, &j);
    if (rc == 0) rc = signature_make(args, buf_str(&tarball), sig, &k);
    struct str path = with_suffix(c, c->argv[1], ".sig");
    if (rc == 0 && path.p)
        rc = packs_file_write(path.p, str_n((const char *)sig, sizeof sig), FILE_MODE, true);
    if (rc == 0) printf("signed with %s: %s\n", pack_key_id(k.pub).text, path.p);
    buf_fini(&tarball);
    return rc;
}

/* FILE.sig in the arena; empty when there is none. */
static int signature_beside(struct cli *c, const char *path, struct str *sig) {
    struct buf b;
    struct str beside = with_suffix(c, path, ".sig");
    *sig = STR_NONE;
    if (!beside.p || !fs_exists(beside.p)) return 0;
    int rc = packs_file_read(beside.p, PACK_SIGNATURE_BYTES, &b);
    if (rc != 0) return rc;
    *sig = arena_str(c->arena, buf_str(&b));
    buf_fini(&b);
    return 0;
}

static int key_load(const char *path, uint8_t pub[32]) {
    struct buf text;
    struct wopr_error err = {0};
    int rc = packs_file_read(path, KEY_FILE_MAX, &text);
    if (rc != 0) return rc;
    rc = pack_key_read(buf_str(&text), pub, &err);
    buf_fini(&text);
    return rc == 0 ? 0 : cli_fail(&err);
}

int packs_verify(struct cli *c, struct store *s, const void *args) {
    const struct packs_args *in = args;
    struct buf tarball;
    struct pack_judged j;
    struct pack_key_id kid = {{0}};
    struct wopr_error err = {0};
    struct trust_key trusted;
    bool manifest_only = false;
    struct str sig = STR_NONE;
    (void)s;
    int rc = packs_file_read(c->argv[1], PACK_TARBALL_BYTES_MAX, &tarball);
    if (rc != 0) return rc;
    rc = packs_judge(c, buf_str(&tarball), false, &j);
    if (rc == 0) rc = signature_beside(c, c->argv[1], &sig);
    if (rc == 0 && in->public_key) rc = key_load(in->public_key, trusted.pub);
    const struct trust_policy p = {.mode = in->public_key ? TRUST_VERIFIED : TRUST_OPEN,
                                   .keys = &trusted,
                                   .keys_nr = in->public_key ? 1 : 0};
    const struct trust_claim claim = {buf_str(&tarball), str_c(in->integrity), sig};
    if (rc == 0 && trust_judge(&p, &j, &claim, &kid, &manifest_only, &err) != 0)
        rc = cli_fail(&err);
    if (rc == 0) {
        printf(STR_FMT " " STR_FMT ", " STR_FMT ", %s%s%s\n", STR_ARG(j.manifest.name),
               STR_ARG(j.manifest.version), STR_ARG(packs_sri(c, &j.digest)),
               kid.text[0] ? "signed with " : "signature not checked", kid.text,
               manifest_only ? " (pack.json alone)" : "");
        if (j.warnings.n > 2) fprintf(stderr, "wopr: warnings: " STR_FMT "\n", STR_ARG(j.warnings));
    }
    buf_fini(&tarball);
    return rc;
}

/* --- publish --- */

static const char *base64_line(struct cli *c, const char *name, const void *p, size_t n) {
    struct buf b;
    buf_init(&b, KEY_FILE_MAX);
    buf_addf(&b, "%s: ", name);
    base64_encode(&b, str_n(p, n));
    const char *line = buf_failed(&b) ? NULL : arena_cstr(c->arena, buf_str(&b));
    buf_fini(&b);
    return line;
}

static const char *key_line(struct cli *c, const uint8_t pub[32]) {
    struct buf b;
    buf_init(&b, KEY_FILE_MAX);
    buf_addz(&b, "X-Pack-Public-Key: ");
    pack_key_text(pub, &b);
    const char *line = buf_failed(&b) ? NULL : arena_cstr(c->arena, buf_str(&b));
    buf_fini(&b);
    return line;
}

/* The host says what was wrong in its envelope. */
static int answer_show(struct cli *c, const struct operator_answer *a,
                       const struct pack_judged *j) {
    if (a->status == 200 || a->status == 201) {
        printf("%s " STR_FMT " " STR_FMT "\n",
               a->status == 201 ? "published" : "unchanged:", STR_ARG(j->manifest.name),
               STR_ARG(j->manifest.version));
        return 0;
    }
    bool json = json_check(a->body, &JSON_LIMITS_STORED, NULL) == 0;
    fprintf(stderr, "wopr: " STR_FMT " (%d " STR_FMT ")\n",
            STR_ARG(json ? cli_member(c, a->body, "message") : STR("no host answers there")),
            a->status, STR_ARG(json ? cli_member(c, a->body, "error") : STR("-")));
    return 1;
}

static int publish_send(struct cli *c, const struct packs_args *in, struct str tarball,
                        const struct pack_judged *j) {
    const char *lines[5] = {"X-Pack-Signing-Method: none"};
    struct ed25519_key k = {{0}, {0}};
    struct cli_remote r;
    struct operator_answer a;
    struct wopr_error err = {0};
    uint8_t sig[64];
    int rc = cli_remote(c, in->url, &r);
    if (rc == 0 && in->key) rc = signature_make(in, tarball, sig, &k);
    if (rc != 0) return rc;
    if (in->key) {
        lines[0] = "X-Pack-Signing-Method: manual";
        lines[1] = base64_line(c, "X-Pack-Signature", sig, sizeof sig);
        lines[2] = lines[1] ? key_line(c, k.pub) : NULL;
    }
    struct str sri =
        arena_printf(c->arena, "X-Pack-Sha256: " STR_FMT, STR_ARG(packs_sri(c, &j->digest)));
    lines[in->key ? 3 : 1] = sri.p;
    const struct operator_request q = {
        .base = r.base,
        .key = r.key,
        .method = "PUT",
        .path = arena_printf(c->arena, "/v1/packs/" STR_FMT "/-/" STR_FMT ".tgz",
                             STR_ARG(j->manifest.name), STR_ARG(j->manifest.version)),
        .body = tarball,
        .content_type = "application/gzip",
        .headers = lines,
        .timeout_ms = PUBLISH_TIMEOUT_MS};
    if (operator_ask(&q, c->arena, &a, &err) != 0) return cli_fail(&err);
    return answer_show(c, &a, j);
}

int packs_publish(struct cli *c, const void *args) {
    struct buf tarball;
    struct pack_judged j;
    int rc = packs_file_read(c->argv[1], PACK_TARBALL_BYTES_MAX, &tarball);
    if (rc != 0) return rc;
    rc = packs_judge(c, buf_str(&tarball), true, &j);
    if (rc == 0) rc = publish_send(c, args, buf_str(&tarball), &j);
    buf_fini(&tarball);
    return rc;
}
