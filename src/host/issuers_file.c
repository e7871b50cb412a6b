/*
 * issuers_file.c: the issuers of the operator; see issuers_file.h.  Nothing in these files is
 * secret; both are read once, at the start.
 */
#include "host/issuers_file.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>

#define ISSUERS_FILE_MAX (1024u * 1024)
#define KEYS_FILE_MAX    (256u * 1024)

static int file_text(const char *path, size_t max, struct buf *b, struct wopr_error *err) {
    switch (fs_read(path, max, b)) {
    case FS_READ_OK:
        return 0;
    case FS_READ_TOO_BIG:
        return wopr_error_set(err, WOPR_E_CONFIG, "%s: the file is too large", path);
    default:
        return wopr_error_set(err, WOPR_E_CONFIG, "%s: it cannot be read: %s", path,
                              strerror(errno));
    }
}

static int keys_of_file(void *ctx, struct str file, struct buf *out, struct wopr_error *err) {
    const char *path = ctx, *slash = strrchr(path, '/');
    size_t folder = file.p[0] == '/' || !slash ? 0 : (size_t)(slash - path) + 1;
    struct buf name, text;
    buf_init(&name, ISSUERS_FILE_MAX);
    buf_add(&name, path, folder);
    buf_adds(&name, file);
    int rc = buf_failed(&name) ? wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a name")
                               : file_text(buf_str(&name).p, KEYS_FILE_MAX, &text, err);
    buf_fini(&name);
    if (rc != 0) return rc;
    buf_adds(out, buf_str(&text));
    buf_fini(&text);
    return buf_failed(out) ? wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a file") : 0;
}

int issuers_file_read(const char *path, struct http_issuers **out, struct wopr_error *err) {
    struct wopr_error why = {0};
    struct buf b;
    *out = NULL;
    if (!path || !*path) return 0;
    int rc = file_text(path, ISSUERS_FILE_MAX, &b, &why);
    if (rc != 0) return wopr_error_at(err, rc, "issuers", "%s", why.message);
    rc = http_issuers_new(buf_str(&b), keys_of_file, (void *)(uintptr_t)path, out, &why);
    buf_fini(&b);
    if (rc == WOPR_E_NO_MEMORY) return wopr_error_set(err, rc, "no memory for the issuers");
    return rc == 0 ? 0 : wopr_error_at(err, WOPR_E_CONFIG, "issuers", "%s: %s", path, why.message);
}
