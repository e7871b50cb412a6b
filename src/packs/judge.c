/*
 * judge.c: see judge.h.  A tarball is read twice: for pack.json, then for the files it names.
 */
#include "packs/judge.h"
#include "base/map.h"
#include "codec/jobj.h"
#include "packs/archive.h"

#define MANIFEST_FILE  STR("pack.json")
#define SIGNATURE_FILE STR("pack.json.sig")

enum { SIGNATURE_BYTES = 64, WARNINGS_BYTES = 16 * 1024 };

static int no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to judge the pack");
}

/* --- first reading: the manifest --- */

struct first {
    struct arena *a;
    struct str manifest;
    uint64_t unpacked;
    unsigned files;
    bool found, large;
};

static bool first_wants(void *ctx, const struct archive_file *f) {
    struct first *r = ctx;
    if (!str_eq(f->name, MANIFEST_FILE)) return false;
    r->found = true;
    r->large = f->size > PACK_MANIFEST_BYTES_MAX;
    return !r->large;
}

static int first_done(void *ctx, const struct archive_file *f, struct wopr_error *err) {
    struct first *r = ctx;
    r->files++;
    r->unpacked += f->size;
    if (!str_eq(f->name, MANIFEST_FILE) || r->large) return 0;
    r->manifest = arena_str(r->a, f->bytes);
    return r->manifest.p ? 0 : no_memory(err);
}

static int first_reading(struct first *r, struct str tarball, struct wopr_error *err) {
    const struct archive_user user = {first_wants, first_done, r};
    int rc = archive_read(tarball, PACK_UNPACKED_BYTES_MAX, &user, err);
    if (rc != 0) return rc;
    if (!r->found)
        return wopr_error_set(err, WOPR_E_PACK_NO_MANIFEST,
                              "the tarball has no pack.json at its root");
    if (r->large)
        return wopr_error_set(err, WOPR_E_PACK_MANIFEST_LARGE,
                              "pack.json has more than %u bytes, and may have no more",
                              PACK_MANIFEST_BYTES_MAX);
    return 0;
}

/* --- second reading: the files that the manifest names --- */

struct wanted {
    enum pack_ref_kind kind;
    bool found;
};
struct second {
    struct arena *a;
    struct map *refs; /* path -> struct wanted */
    const struct pack_manifest *m;
    struct pack_judged *out;
    struct buf warnings;
    struct jw w;
    unsigned warnings_nr;
    uint64_t entry_size;
    bool entry_wanted, entry_found, consumed;
    int ref_rc; /* the first failure of a referred file: after those of the entry */
    struct wopr_error ref_err;
};

static void judge_warn(struct second *r, const char *what, struct str path) {
    if (r->warnings_nr++ >= PACK_WARNINGS_MAX) return;
    struct str text = arena_printf(r->a, STR_FMT ": %s", STR_ARG(path), what);
    if (text.p) jw_str(&r->w, text);
}

static void ref_bad(struct second *r, int code, const char *what) {
    if (r->ref_rc == 0) r->ref_rc = wopr_error_set(&r->ref_err, code, "%s", what);
}

/* NULL, or what is wrong with the text as a schema. */
static const char *schema_fault(struct str text, struct wopr_error *err) {
    static const struct json_limits lim = {PACK_REF_BYTES_MAX, 64};
    const struct schema *s;
    if (json_check(text, &lim, err) != 0) return "it is no JSON";
    struct schema_set *set = schema_set_new(false);
    int rc = set ? schema_set_add(set, STR("pack:schema"), text, err) : WOPR_E_NO_MEMORY;
    if (rc == 0) rc = schema_compile(set, STR("pack:schema"), &s, err);
    schema_set_free(set);
    return rc == 0 ? NULL : "it cannot be read as a JSON Schema of 2020-12 by itself";
}

static void ref_judge(struct second *r, const struct wanted *w, const struct archive_file *f) {
    static const struct json_limits lim = {PACK_REF_BYTES_MAX, 64};
    struct wopr_error err = {0};
    const char *fault;
    switch (w->kind) {
    case PACK_REF_SCHEMA:
        if ((fault = schema_fault(f->bytes, &err)) != NULL) judge_warn(r, fault, f->name);
        return;
    case PACK_REF_HANDOFF:
        if (schema_fault(f->bytes, &err) != NULL)
            ref_bad(r, WOPR_E_PACK_MANIFEST,
                    "a schema of an agent's handoff is no JSON Schema of 2020-12");
        return;
    case PACK_REF_TEXT:
        if (f->bytes.n == 0 || !utf8_valid(f->bytes))
            ref_bad(r, WOPR_E_PACK_REF, "a prompt that the manifest names is empty or no UTF-8");
        return;
    case PACK_REF_JSON:
        if (json_check(f->bytes, &lim, &err) != 0) judge_warn(r, "it is no JSON", f->name);
        return;
    case PACK_REF_FILE:
        return;
    }
}

static bool is_signature(const struct second *r, struct str name) {
    return str_eq(name, r->m->sig_ref.n > 0 ? r->m->sig_ref : SIGNATURE_FILE);
}

static bool is_entry(const struct second *r, struct str name) {
    return r->m->language != PACK_LANG_REMOTE && str_eq(name, r->m->entry);
}

static bool second_wants(void *ctx, const struct archive_file *f) {
    struct second *r = ctx;
    struct wanted *w = map_get(r->refs, f->name);
    if (w && f->size > PACK_REF_BYTES_MAX)
        ref_bad(r, WOPR_E_PACK_REF, "a file that the manifest names has more than 262144 bytes");
    if (is_entry(r, f->name)) return r->entry_wanted && f->size <= PACK_ENTRY_BYTES_MAX;
    return f->size <= PACK_REF_BYTES_MAX && (w || is_signature(r, f->name));
}

static int second_done(void *ctx, const struct archive_file *f, struct wopr_error *err) {
    struct second *r = ctx;
    struct wanted *w = map_get(r->refs, f->name);
    struct pack_judged *out = r->out;
    if (w) w->found = true;
    if (is_entry(r, f->name)) {
        r->entry_found = true;
        r->entry_size = f->size;
        if (r->entry_wanted && f->bytes.n > 0) out->entry = arena_str(r->a, f->bytes);
    }
    if (f->bytes.p == NULL || f->size > PACK_REF_BYTES_MAX)
        return arena_failed(r->a) ? no_memory(err) : 0;
    if (is_signature(r, f->name) && f->bytes.n == SIGNATURE_BYTES)
        out->signature = arena_str(r->a, f->bytes);
    if (r->m->key_ref.n > 0 && str_eq(f->name, r->m->key_ref)) out->key = arena_str(r->a, f->bytes);
    if (w && r->ref_rc == 0) ref_judge(r, w, f);
    return arena_failed(r->a) ? no_memory(err) : 0;
}

static int refs_index(struct second *r, struct wopr_error *err) {
    for (size_t i = 0; i < r->m->refs_nr; i++) {
        const struct pack_ref *ref = &r->m->refs[i];
        struct wanted *w = map_get(r->refs, ref->path);
        if (w == NULL) {
            w = ARENA_NEW(r->a, struct wanted);
            if (w == NULL || map_put(r->refs, ref->path, w, NULL) != 0) return no_memory(err);
            w->kind = ref->kind;
        } else if (ref->kind == PACK_REF_HANDOFF) {
            w->kind = ref->kind; /* the strictest of those who name the file */
        }
    }
    return 0;
}

static int refs_found(struct second *r, struct wopr_error *err) {
    for (size_t i = 0; i < r->m->refs_nr; i++) {
        struct wanted *w = map_get(r->refs, r->m->refs[i].path);
        if (w && w->found) continue;
        if (r->consumed && r->m->refs[i].kind == PACK_REF_FILE) continue;
        return wopr_error_set(err, WOPR_E_PACK_REF,
                              "the tarball lacks a file that the manifest names: reference %zu of "
                              "%zu",
                              i + 1, r->m->refs_nr);
    }
    if (r->ref_rc != 0 && err) *err = r->ref_err;
    return r->ref_rc;
}

static int second_verdict(struct second *r, struct wopr_error *err) {
    if (r->m->language != PACK_LANG_REMOTE && !r->entry_found)
        return wopr_error_at(err, WOPR_E_PACK_NO_ENTRY, "/runtime/entry",
                             "the tarball has no file of the name that runtime.entry gives");
    if (r->entry_size > PACK_ENTRY_BYTES_MAX)
        return wopr_error_at(err, WOPR_E_PACK_ENTRY_LARGE, "/runtime/entry",
                             "the entry file has more than %u bytes, and may have no more",
                             PACK_ENTRY_BYTES_MAX);
    return refs_found(r, err);
}

static int second_reading(struct second *r, struct str tarball, struct wopr_error *err) {
    const struct archive_user user = {second_wants, second_done, r};
    int rc = r->refs ? refs_index(r, err) : no_memory(err);
    if (rc == 0) rc = archive_read(tarball, PACK_UNPACKED_BYTES_MAX, &user, err);
    return rc == 0 ? second_verdict(r, err) : rc;
}

/* --- all of it --- */

static int judge_mismatch(struct wopr_error *err, int code, const char *what) {
    return wopr_error_at(err, code, what, "the %s in pack.json is not that of the request",
                         what + 1);
}

static int identity_check(const struct pack_manifest *m, const struct pack_expect *e,
                          struct wopr_error *err) {
    if (e->name.n > 0 && !str_eq(e->name, m->name))
        return judge_mismatch(err, WOPR_E_PACK_NAME_OTHER, "/name");
    if (e->version.n > 0 && !str_eq(e->version, m->version))
        return judge_mismatch(err, WOPR_E_PACK_VERSION_OTHER, "/version");
    return 0;
}

int pack_judge(const struct manifest_rules *rules, struct str tarball,
               const struct pack_expect *expect, struct arena *a, struct pack_judged *out,
               struct wopr_error *err) {
    struct pack_judged j = {.digest = sha256_of(tarball)};
    struct first f = {.a = a};
    int rc = first_reading(&f, tarball, err);
    if (rc == 0) rc = manifest_read(rules, f.manifest, a, &j.manifest, err);
    if (rc == 0) rc = identity_check(&j.manifest, expect, err);
    if (rc != 0) return rc;
    struct second s = {.a = a,
                       .refs = map_new(),
                       .m = &j.manifest,
                       .out = &j,
                       .entry_wanted = expect->entry,
                       .consumed = expect->consumed};
    buf_init(&s.warnings, WARNINGS_BYTES);
    jw_init(&s.w, &s.warnings);
    jw_array(&s.w);
    rc = second_reading(&s, tarball, err);
    jw_end_array(&s.w);
    if (rc == 0) {
        j.files = f.files;
        j.unpacked = f.unpacked;
        j.warnings = buf_failed(&s.warnings) ? STR("[]") : arena_str(a, buf_str(&s.warnings));
    }
    buf_fini(&s.warnings);
    map_free(s.refs);
    if (rc == 0 && arena_failed(a)) rc = no_memory(err);
    if (rc == 0) *out = j;
    return rc;
}

/* --- one file --- */

struct single {
    struct str name;
    struct buf *out;
    bool found;
};

static bool single_wants(void *ctx, const struct archive_file *f) {
    const struct single *s = ctx;
    return str_eq(f->name, s->name);
}

static int single_done(void *ctx, const struct archive_file *f, struct wopr_error *err) {
    struct single *s = ctx;
    if (!str_eq(f->name, s->name)) return 0;
    s->found = true;
    buf_adds(s->out, f->bytes);
    if (!buf_failed(s->out)) return 0;
    return wopr_error_set(err, buf_over(s->out) ? WOPR_E_TOO_BIG : WOPR_E_NO_MEMORY,
                          "the file of the pack is too large, or memory is short");
}

int pack_file_read(struct str tarball, struct str name, struct buf *out, struct wopr_error *err) {
    struct single s = {name, out, false};
    const struct archive_user user = {single_wants, single_done, &s};
    int rc = archive_read(tarball, PACK_UNPACKED_BYTES_MAX, &user, err);
    if (rc == 0 && !s.found)
        return wopr_error_set(err, WOPR_E_NOT_FOUND, "the pack has no file of this name");
    return rc;
}
