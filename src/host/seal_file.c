/*
 * seal_file.c: the key of the installation; see seal_file.h.
 */
#include "host/seal_file.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#define SEAL_FILE_BYTES_MAX 4096u
#define SEAL_HINT           "make one with: (umask 077; openssl rand -hex 32 > FILE)"
static const char HEAD[] =
    "# Opens the sensitive values in the database beside which it was made.\n"
    "# Keep it secret, and a copy of it with each backup.\n";

void seal_file_forget(struct seal_file *f) {
    for (size_t i = 0; i < SEAL_KEKS_MAX; i++) seal_forget(&f->keks[i]);
    f->n = 0;
}

static int file_wrong(struct wopr_error *err, const char *path, const char *why) {
    return wopr_error_at(err, WOPR_E_CONFIG, "seal-key-file", "key file %s: %s", path, why);
}

static int file_exposed(struct wopr_error *err, const char *path, const char *how) {
    return wopr_error_at(err, WOPR_E_CONFIG, "seal-key-file",
                         "key file %s %s; whoever has it reads sensitive values: chmod 600 it, and"
                         " chown it to the user of this host",
                         path, how);
}

/* --- reading --- */

static int line_read(struct seal_file *f, struct str line, struct wopr_error *err) {
    struct buf b;
    if (line.n > 0 && line.p[line.n - 1] == '\r') line.n--;
    if (line.n == 0 || line.p[0] == '#') return 0;
    if (f->n == SEAL_KEKS_MAX) return file_wrong(err, f->path, "it holds too many keys");
    buf_init(&b, sizeof f->keks[0].b);
    int rc = line.n == 2 * sizeof f->keks[0].b ? hex_decode(line, &b, NULL) : WOPR_E_SYNTAX;
    if (rc == 0) memcpy(f->keks[f->n++].b, b.p, sizeof f->keks[0].b);
    buf_fini(&b);
    if (rc == 0 || rc == WOPR_E_NO_MEMORY) return rc;
    return file_wrong(err, f->path, "a line is no key of 64 hexadecimal digits; " SEAL_HINT);
}

static int keys_parse(struct seal_file *f, struct str text, struct wopr_error *err) {
    struct str line;
    int rc = 0;
    while (rc == 0 && text.n > 0) {
        if (!str_cut(text, '\n', &line, &text)) {
            line = text;
            text.n = 0;
        }
        rc = line_read(f, line, err);
    }
    if (rc == 0 && f->n == 0) rc = file_wrong(err, f->path, "it holds no key; " SEAL_HINT);
    return rc;
}

/* NOT_FOUND: there is no such file. */
static int file_load(struct seal_file *f, struct wopr_error *err) {
    struct buf b;
    f->n = 0;
    enum fs_read got = fs_read(f->path, SEAL_FILE_BYTES_MAX, &b);
    if (got == FS_READ_NO_FILE && errno == ENOENT) return WOPR_E_NOT_FOUND;
    if (got != FS_READ_OK)
        return file_wrong(err, f->path,
                          got == FS_READ_TOO_BIG ? "it is too large for a key file"
                                                 : "it cannot be read; look at its owner and mode");
    const char *exposed = fs_exposed(f->path);
    int rc = exposed ? file_exposed(err, f->path, exposed) : keys_parse(f, buf_str(&b), err);
    if (b.p) mem_wipe(b.p, b.len);
    buf_fini(&b);
    return rc;
}

/* --- writing --- */

static int text_store(const char *path, struct str text) {
    int fd = fs_create(path, O_WRONLY | O_TRUNC, 0600);
    if (fd < 0) return -1;
    ssize_t n = fs_write_at(fd, text.p, text.n, 0);
    int rc = n == (ssize_t)text.n ? fs_sync(fd) : -1;
    if (close(fd) != 0) rc = -1;
    return rc;
}

static int keys_store(const char *path, const struct seal_secret *keks, size_t n,
                      int (*place)(const char *from, const char *to), struct wopr_error *err) {
    char temp[SEAL_PATH_MAX + 32];
    struct buf b;
    buf_init(&b, SEAL_FILE_BYTES_MAX);
    buf_addz(&b, HEAD);
    for (size_t i = 0; i < n; i++) {
        hex_encode(&b, str_n((const char *)keks[i].b, sizeof keks[i].b));
        buf_addc(&b, '\n');
    }
    snprintf(temp, sizeof temp, "%s.%ld.new", path, (long)getpid());
    int rc = buf_failed(&b) ? -1 : text_store(temp, buf_str(&b));
    if (rc == 0) rc = place(temp, path);
    int why = errno;
    fs_remove(temp);
    if (b.p) mem_wipe(b.p, b.len);
    buf_fini(&b);
    if (rc == 0) return 0;
    if (why == EEXIST) return WOPR_E_EXISTS;
    return wopr_error_at(err, WOPR_E_IO, "seal-key-file",
                         "key file %s cannot be written: %s; its folder must be writable, or name"
                         " a file that is there",
                         path, strerror(why));
}

int seal_file_write(const char *path, const struct seal_secret *keks, size_t n,
                    struct wopr_error *err) {
    return keys_store(path, keks, n, fs_rename, err);
}

/* --- finding it --- */

static int path_of(const struct config *c, struct seal_file *f, struct wopr_error *err) {
    bool given = c->host_seal_key_file[0] != '\0';
    int n = given ? snprintf(f->path, sizeof f->path, "%s", c->host_seal_key_file)
                  : snprintf(f->path, sizeof f->path, "%s.key", c->store_path);
    if (n > 0 && (size_t)n < sizeof f->path) return 0;
    return wopr_error_at(err, WOPR_E_CONFIG, "seal-key-file",
                         "the path of the key file is too long");
}

static int file_make(struct seal_file *f, struct wopr_error *err) {
    rng_bytes(f->keks[0].b, sizeof f->keks[0].b);
    int rc = keys_store(f->path, f->keks, 1, fs_link, err); /* of several hosts only one makes it */
    if (rc == WOPR_E_EXISTS) return file_load(f, err);
    f->n = 1;
    f->made = rc == 0;
    return rc;
}

int seal_file_open(const struct config *c, struct store *s, struct seal_file *out,
                   struct wopr_error *err) {
    bool any = false;
    memset(out, 0, sizeof *out);
    int rc = path_of(c, out, err);
    if (rc == 0) rc = file_load(out, err);
    if (rc != WOPR_E_NOT_FOUND) return rc;
    if (c->host_seal_key_file[0] != '\0')
        return file_wrong(err, out->path, "there is no such file; " SEAL_HINT);
    rc = store_seals_any(s, &any, err);
    if (rc != 0) return rc;
    if (any)
        return file_wrong(
            err, out->path,
            "it is missing, and the database holds sensitive values of unfinished runs"
            " that only it opens; restore it from the backup, or name it as"
            " seal-key-file");
    return file_make(out, err);
}

/* --- uses --- */

int seal_vault(const struct config *c, struct store *s, struct vault **out,
               struct wopr_error *err) {
    struct seal_file f;
    bool replaced = false;
    int rc = seal_file_open(c, s, &f, err);
    if (rc == 0) rc = vault_new(s, f.keks, f.n, out, &replaced, err);
    if (rc != 0 && f.made) fs_remove(f.path); /* it fits nothing */
    if (rc == 0 && f.made)
        log_info("a key for sensitive values was made: keep a copy of it with each backup", "file",
                 f.path);
    if (rc == 0 && replaced)
        log_warn("the key of sensitive values is another one than before; nothing was sealed",
                 "file", f.path);
    seal_file_forget(&f);
    return rc;
}

int seal_vault_reader(const struct config *c, struct store *s, struct vault **out,
                      struct wopr_error *err) {
    struct seal_file f = {.n = 0};
    int rc = path_of(c, &f, err);
    if (rc == 0) rc = file_load(&f, err);
    if (rc == 0) rc = vault_reader(s, f.keks, f.n, out, err);
    seal_file_forget(&f);
    return rc;
}

static int rotate_alone(const struct config *c, struct store *s, char key_id[VAULT_KEK_ID_LEN + 1],
                        struct wopr_error *err) {
    struct seal_secret both[SEAL_KEKS_MAX + 1];
    struct seal_file f;
    struct vault *v = NULL;
    bool replaced;
    int rc = seal_file_open(c, s, &f, err);
    if (rc == 0) rc = vault_new(s, f.keks, f.n, &v, &replaced, err);
    if (rc == 0) {
        size_t n = f.n < SEAL_KEKS_MAX ? f.n : SEAL_KEKS_MAX - 1;
        rng_bytes(both[0].b, sizeof both[0].b);
        memcpy(both + 1, f.keks, n * sizeof f.keks[0]);
        rc = seal_file_write(f.path, both, n + 1, err);
    }
    if (rc == 0) rc = vault_rotate(v, &both[0], err);
    if (rc == 0) rc = seal_file_write(f.path, both, 1, err);
    if (rc == 0) vault_kek_id(&both[0], key_id);
    vault_free(v);
    for (size_t i = 0; i < sizeof both / sizeof both[0]; i++) seal_forget(&both[i]);
    seal_file_forget(&f);
    return rc;
}

/* Locks out a second rotation: each would write a file without the key of the other. */
int seal_rotate(const struct config *c, struct store *s, char key_id[VAULT_KEK_ID_LEN + 1],
                struct wopr_error *err) {
    struct seal_file f;
    char path[SEAL_PATH_MAX + 32];
    int rc = path_of(c, &f, err);
    if (rc != 0) return rc;
    (void)snprintf(path, sizeof path, "%s.lock", f.path);
    int fd = fs_create(path, O_RDWR, 0600);
    if (fd < 0 || fs_lock(fd, LOCK_EX | LOCK_NB) != 0) {
        rc = wopr_error_at(err, WOPR_E_IO, "seal-key-file",
                           "%s: %s; another rotation may be under way, try again after it", path,
                           strerror(errno));
        if (fd >= 0) close(fd);
        return rc;
    }
    rc = rotate_alone(c, s, key_id, err);
    close(fd);
    return rc;
}
