/*
 * packs_kit.c: files of packs, and a tarball judged; see packs.h.
 */
#include "base/fs.h"
#include "cli/packs.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int packs_file_read(const char *path, size_t max, struct buf *out) {
    switch (fs_read(path, max, out)) {
    case FS_READ_OK:
        return 0;
    case FS_READ_TOO_BIG:
        fprintf(stderr, "wopr: %s has more than %zu bytes\n", path, max);
        return 1;
    default:
        fprintf(stderr, "wopr: %s: %s\n", path, strerror(errno));
        return 1;
    }
}

int packs_file_write(const char *path, struct str bytes, unsigned mode, bool force) {
    int fd = fs_create(path, O_WRONLY | O_CREAT | (force ? O_TRUNC : O_EXCL), (mode_t)mode);
    if (fd < 0) {
        fprintf(stderr, "wopr: %s: %s%s\n", path, strerror(errno),
                errno == EEXIST ? "; --force overwrites it" : "");
        return 1;
    }
    bool ok = fs_write_at(fd, bytes.p, bytes.n, 0) == (ssize_t)bytes.n && fs_sync(fd) == 0;
    if (!ok) fprintf(stderr, "wopr: %s cannot be written: %s\n", path, strerror(errno));
    (void)close(fd);
    if (!ok) fs_remove(path);
    return ok ? 0 : 1;
}

int packs_judge(struct cli *c, struct str tarball, bool ours, struct pack_judged *out) {
    const struct pack_expect any = {.entry = true, .consumed = !ours};
    struct manifest_rules *rules = NULL;
    struct wopr_error err = {0};
    int rc = manifest_rules_new(&rules, &err);
    if (rc == 0) rc = pack_judge(rules, tarball, &any, c->arena, out, &err);
    manifest_rules_free(rules);
    return rc == 0 ? 0 : cli_fail(&err);
}

struct str packs_sri(struct cli *c, const struct sha256 *digest) {
    struct buf b;
    buf_init(&b, PACK_SRI_BYTES);
    pack_sri(digest, &b);
    struct str s = buf_failed(&b) ? STR("-") : arena_str(c->arena, buf_str(&b));
    buf_fini(&b);
    return s;
}
