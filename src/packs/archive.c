/*
 * archive.c: see archive.h.  A state machine over the inflated bytes: header block, then the data
 * of the entry and its padding, and so on, until two blocks of zeros and nothing else.
 */
#include "packs/archive.h"
#include "base/map.h"
#include "codec/fold.h"
#include "codec/gzip.h"
#include "packs/name.h"

enum {
    BLOCK = 512,
    META_BYTES_MAX = 64 * 1024, /* of a pax header, or of a long name */
    NAMES_ARENA_MAX = 64 * 1024 * 1024
};

enum entry_kind { KIND_FILE = 1, KIND_FOLDER, KIND_PAX, KIND_PAX_ALL, KIND_LONG_NAME, KIND_LINK };
enum taken_as { TAKEN_FILE = 1, TAKEN_FOLDER };

struct reader {
    const struct archive_user *user;
    struct arena *a;    /* folded names */
    struct map *names;  /* folded name -> enum taken_as */
    struct buf block;   /* of the header that is being collected */
    struct buf kept;    /* content of the file, or of a meta entry */
    struct buf longer;  /* name that a meta entry gave to the next one */
    struct buf name;    /* of the entry */
    uint64_t left, pad; /* bytes of data and padding still to come */
    uint64_t size;      /* of the entry */
    int64_t pax_size;   /* -1: none */
    unsigned entries, zeros;
    enum entry_kind kind;
    bool keep, ended;
    int tar_rc, name_rc; /* first failures of either kind */
    struct wopr_error tar_err, name_err;
};

static int tar_bad(struct reader *r, const char *what) {
    if (r->tar_rc == 0)
        r->tar_rc = wopr_error_set(&r->tar_err, WOPR_E_PACK_TAR, "%s (entry %u of the tarball)",
                                   what, r->entries);
    return r->tar_rc;
}

static void name_bad(struct reader *r, const char *what) {
    if (r->name_rc == 0)
        r->name_rc = wopr_error_set(&r->name_err, WOPR_E_PACK_PATH, "%s (entry %u of the tarball)",
                                    what, r->entries);
}

static int no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to read the tarball");
}

/* --- header fields --- */

/* Octal digits, then NUL or blanks; or base 256 (GNU), of which no negative and nothing above 63
 * bits. */
static bool field_number(const unsigned char *p, size_t n, uint64_t *out) {
    uint64_t v = 0;
    size_t i = 0;
    if (p[0] & 0x80) {
        if (p[0] != 0x80) return false;
        for (i = 1; i < n; i++) {
            if (v >> 55) return false;
            v = v << 8 | p[i];
        }
        *out = v;
        return true;
    }
    while (i < n && p[i] == ' ') i++;
    for (; i < n && p[i] >= '0' && p[i] <= '7'; i++) {
        if (v >> 60) return false;
        v = v << 3 | (uint64_t)(p[i] - '0');
    }
    for (; i < n; i++)
        if (p[i] != 0 && p[i] != ' ') return false;
    *out = v;
    return true;
}

static struct str field_text(const unsigned char *p, size_t n) {
    size_t len = 0;
    while (len < n && p[len] != 0) len++;
    return str_n((const char *)p, len);
}

static bool checksum_ok(const unsigned char *h) {
    uint64_t want, sum = 0;
    if (!field_number(h + 148, 8, &want)) return false;
    for (int i = 0; i < BLOCK; i++) sum += i >= 148 && i < 156 ? ' ' : h[i];
    return sum == want;
}

static bool all_zero(const unsigned char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (p[i] != 0) return false;
    return true;
}

/* --- names --- */

/* Remember name as file or folder, and what lies above it as folders. */
static int name_take(struct reader *r, struct str name, enum taken_as as) {
    static char marks[3]; /* addresses that stand for TAKEN_* */
    struct str folded = fold_name(name, r->a);
    if (folded.p == NULL && arena_failed(r->a)) return WOPR_E_NO_MEMORY;
    if (folded.p == NULL) {
        name_bad(r, "a name cannot be compared with others");
        return 0;
    }
    for (size_t n = 1; n <= folded.n; n++) {
        if (n < folded.n && folded.p[n] != '/') continue;
        struct str part = str_n(folded.p, n);
        enum taken_as is = n < folded.n ? TAKEN_FOLDER : as;
        void *before = map_get(r->names, part);
        if (before == &marks[TAKEN_FOLDER] && is == TAKEN_FOLDER) continue;
        if (before != NULL) {
            name_bad(r, before == &marks[TAKEN_FILE] && is == TAKEN_FILE
                            ? "a file name occurs twice, spelled the same or so that some file "
                              "systems take it for the same"
                            : "a name is both that of a file and that of a folder");
            return 0;
        }
        if (map_put(r->names, part, &marks[is], NULL) != 0) return WOPR_E_NO_MEMORY;
    }
    return 0;
}

static bool header_name(struct reader *r, const unsigned char *h) {
    struct str base = field_text(h, 100), prefix = STR_NONE;
    buf_reset(&r->name);
    if (r->longer.len > 0) {
        buf_adds(&r->name, buf_str(&r->longer));
        return !buf_failed(&r->name);
    }
    if (memcmp(h + 257, "ustar\0", 6) == 0) prefix = field_text(h + 345, 155);
    if (prefix.n > 0) {
        buf_adds(&r->name, prefix);
        buf_addc(&r->name, '/');
    }
    buf_adds(&r->name, base);
    return !buf_failed(&r->name);
}

/* Of a file or folder: the clean name into r->name. */
static int entry_name(struct reader *r, bool folder) {
    struct str clean;
    if (!pack_file_name(buf_str(&r->name), &clean)) {
        name_bad(r, "a name is not a clean relative path: no '..', no '/' in front, no '\\', ':' "
                    "or control characters, UTF-8, 512 bytes and 16 levels at most");
        return 0;
    }
    if (clean.n == 0) {
        if (!folder) name_bad(r, "a file has no name");
        return 0;
    }
    int rc = name_take(r, clean, folder ? TAKEN_FOLDER : TAKEN_FILE);
    if (rc != 0) return rc;
    memmove(r->name.p, clean.p, clean.n);
    r->name.len = clean.n;
    r->name.p[clean.n] = '\0';
    return 0;
}

/* --- entries --- */

static bool kind_of(struct reader *r, unsigned char type, struct str name) {
    switch (type) {
    case '0':
    case 0:
    case '7': /* a file, as any system but one takes it */
        r->kind = name.n > 0 && name.p[name.n - 1] == '/' ? KIND_FOLDER : KIND_FILE;
        return true;
    case '5':
        r->kind = KIND_FOLDER;
        return true;
    case 'x':
        r->kind = KIND_PAX;
        return true;
    case 'g':
        r->kind = KIND_PAX_ALL;
        return true;
    case 'L':
        r->kind = KIND_LONG_NAME;
        return true;
    case '1':
    case '2':
    case '3':
    case '4':
    case '6':
    case 'K':
        r->kind = KIND_LINK;
        name_bad(r, "an entry is a link, a device or a pipe; a pack has files and folders only");
        return true;
    default:
        return false;
    }
}

static bool is_meta(const struct reader *r) {
    return r->kind != KIND_FILE && r->kind != KIND_FOLDER;
}

static int meta_begin(struct reader *r) {
    if (r->kind == KIND_LONG_NAME && r->longer.len > 0)
        return tar_bad(r, "an entry has two long names");
    if (r->kind == KIND_LINK) return 0;
    if (r->size > META_BYTES_MAX) return tar_bad(r, "the header of an entry is too long");
    r->keep = true;
    return 0;
}

static int entry_begin(struct reader *r, const unsigned char *h, struct wopr_error *err) {
    if (++r->entries > ARCHIVE_ENTRIES_MAX)
        return wopr_error_set(err, WOPR_E_PACK_TOO_LARGE,
                              "the tarball has more than %u entries, and may have no more",
                              ARCHIVE_ENTRIES_MAX);
    if (!checksum_ok(h)) return tar_bad(r, "the checksum of a header is wrong");
    if (!field_number(h + 124, 12, &r->size))
        return tar_bad(r, "the size of an entry is malformed");
    if (!header_name(r, h))
        return buf_over(&r->name) ? tar_bad(r, "a name is too long") : no_memory(err);
    if (!kind_of(r, h[156], buf_str(&r->name))) return tar_bad(r, "an entry is of unknown type");
    r->keep = false;
    buf_reset(&r->kept);
    if (!is_meta(r)) {
        if (r->pax_size >= 0) r->size = (uint64_t)r->pax_size;
        if (r->kind == KIND_FOLDER && r->size != 0) return tar_bad(r, "a folder has content");
        if (entry_name(r, r->kind == KIND_FOLDER) != 0) return no_memory(err);
        struct archive_file f = {.name = buf_str(&r->name), .size = r->size};
        r->keep = r->kind == KIND_FILE && r->name_rc == 0 && r->user->wants(r->user->ctx, &f);
    } else if (meta_begin(r) != 0) {
        return r->tar_rc;
    }
    r->left = r->size;
    r->pad = (BLOCK - r->size % BLOCK) % BLOCK;
    return 0;
}

/* "LENGTH key=value\n", again and again: path and size are heeded, a link is none of ours. */
static int pax_read(struct reader *r) {
    struct str s = buf_str(&r->kept);
    while (s.n > 0) {
        struct str number, rest, record, key, value;
        uint64_t len;
        if (!str_cut(s, ' ', &number, &rest) || !str_u64(number, &len) || len > s.n ||
            len < number.n + 3 || s.p[len - 1] != '\n')
            return tar_bad(r, "a pax header is malformed");
        record = str_n(rest.p, (size_t)len - number.n - 2);
        if (!str_cut(record, '=', &key, &value)) return tar_bad(r, "a pax header is malformed");
        bool heeded = str_eqc(key, "path") || str_eqc(key, "size");
        if (heeded && r->kind == KIND_PAX_ALL)
            return tar_bad(r, "a pax header gives all entries one path or size");
        if (str_eqc(key, "path")) {
            buf_reset(&r->longer);
            buf_adds(&r->longer, value);
            if (value.n == 0 || memchr(value.p, 0, value.n))
                return tar_bad(r, "a pax header names a path that cannot be");
        } else if (str_eqc(key, "size")) {
            if (!str_i64(value, &r->pax_size) || r->pax_size < 0)
                return tar_bad(r, "a pax header names a size that cannot be");
        } else if (str_starts(key, STR("GNU.sparse"))) {
            return tar_bad(r, "a sparse file is not taken");
        }
        s = str_n(s.p + len, s.n - (size_t)len);
    }
    return 0;
}

static int long_name_read(struct reader *r) {
    struct str s = buf_str(&r->kept);
    struct str name = field_text((const unsigned char *)s.p, s.n);
    if (name.n == 0 || !all_zero((const unsigned char *)s.p + name.n, s.n - name.n))
        return tar_bad(r, "a long name is malformed");
    buf_reset(&r->longer);
    buf_adds(&r->longer, name);
    return 0;
}

static int entry_end(struct reader *r, struct wopr_error *err) {
    if (r->kind == KIND_PAX || r->kind == KIND_PAX_ALL) return pax_read(r);
    if (r->kind == KIND_LONG_NAME) return long_name_read(r);
    if (r->kind == KIND_LINK) return 0;
    buf_reset(&r->longer);
    r->pax_size = -1;
    if (r->kind != KIND_FILE || r->name_rc != 0) return 0;
    struct archive_file f = {.name = buf_str(&r->name), .size = r->size};
    if (r->keep) f.bytes = buf_str(&r->kept);
    return r->user->done(r->user->ctx, &f, err);
}

/* --- bytes --- */

static int header_block(struct reader *r, struct wopr_error *err) {
    const unsigned char *h = (const unsigned char *)r->block.p;
    if (all_zero(h, BLOCK)) {
        if (r->longer.len > 0 || r->pax_size >= 0)
            return tar_bad(r, "the header of an entry has no entry");
        r->ended = ++r->zeros == 2;
        return 0;
    }
    if (r->zeros > 0) return tar_bad(r, "an entry follows the end of the tarball");
    int rc = entry_begin(r, h, err);
    return rc == 0 && r->left == 0 ? entry_end(r, err) : rc;
}

static int archive_step(struct reader *r, struct str *in, struct wopr_error *err) {
    size_t n = in->n;
    int rc = 0;
    if (r->ended) {
        if (!all_zero((const unsigned char *)in->p, n))
            rc = tar_bad(r, "bytes follow the end of the tarball");
    } else if (r->left > 0) {
        if (n > r->left) n = (size_t)r->left;
        if (r->keep) buf_add(&r->kept, in->p, n);
        if (buf_failed(&r->kept)) return no_memory(err);
        r->left -= n;
        if (r->left == 0) rc = entry_end(r, err);
    } else if (r->pad > 0) {
        if (n > r->pad) n = (size_t)r->pad;
        r->pad -= n;
    } else {
        if (n > BLOCK - r->block.len) n = BLOCK - r->block.len;
        buf_add(&r->block, in->p, n);
        if (buf_failed(&r->block)) return no_memory(err);
        if (r->block.len == BLOCK) {
            rc = header_block(r, err);
            buf_reset(&r->block);
        }
    }
    *in = str_n(in->p + n, in->n - n);
    return rc;
}

/* A bad structure ends the reading of entries but not the inflating: gzip and size come first. */
static int piece_take(void *ctx, struct str piece, struct wopr_error *err) {
    struct reader *r = ctx;
    while (piece.n > 0 && r->tar_rc == 0) {
        int rc = archive_step(r, &piece, err);
        if (rc != 0 && rc != r->tar_rc) return rc;
    }
    return 0;
}

static int archive_verdict(struct reader *r, int rc, struct wopr_error *err) {
    if (rc == WOPR_E_SYNTAX) {
        if (err) err->code = WOPR_E_PACK_GUNZIP;
        return WOPR_E_PACK_GUNZIP;
    }
    if (rc == WOPR_E_TOO_BIG) {
        if (err) err->code = WOPR_E_PACK_TOO_LARGE;
        return WOPR_E_PACK_TOO_LARGE;
    }
    if (rc != 0) return rc;
    if (r->tar_rc == 0 && (r->zeros == 0 || r->left > 0 || r->pad > 0 || r->block.len > 0))
        (void)tar_bad(r, "the tarball is cut off");
    const struct wopr_error *why = r->tar_rc != 0 ? &r->tar_err : &r->name_err;
    if (err && (r->tar_rc != 0 || r->name_rc != 0)) *err = *why;
    return r->tar_rc != 0 ? r->tar_rc : r->name_rc;
}

int archive_read(struct str tarball, uint64_t unpacked_max, const struct archive_user *u,
                 struct wopr_error *err) {
    const struct gunzip_bounds bounds = {unpacked_max, ARCHIVE_RATIO_MAX, ARCHIVE_RATIO_FROM};
    struct reader r = {.user = u, .pax_size = -1};
    r.a = arena_new(NAMES_ARENA_MAX);
    r.names = map_new();
    buf_init(&r.block, BLOCK);
    buf_init(&r.kept, unpacked_max);
    buf_init(&r.longer, META_BYTES_MAX);
    buf_init(&r.name, META_BYTES_MAX);
    int rc = r.a && r.names ? gunzip(tarball, &bounds, piece_take, &r, err) : no_memory(err);
    rc = archive_verdict(&r, rc, err);
    buf_fini(&r.block);
    buf_fini(&r.kept);
    buf_fini(&r.longer);
    buf_fini(&r.name);
    map_free(r.names);
    arena_free(r.a);
    return rc;
}
