/*
 * issuers_file.c: the issuers of the operator; see issuers_file.h.  Nothing in these files is
 * secret.
 */
#include "host/issuers_file.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>

#define ISSUERS_FILE_MAX (1024u * 1024)
#define KEYS_FILE_MAX    (256u * 1024)

/* Before it is read: what is written meanwhile is a change. */
static int stamp_note(struct issuers_file *f, const char *path) {
    if (f->read_nr == ISSUERS_FILES_MAX) return 0;
    char *copy = mem_strndup(path, strlen(path));
    if (!copy) return WOPR_E_NO_MEMORY;
    f->read[f->read_nr].path = copy;
    (void)fs_stamp(path, &f->read[f->read_nr++].stamp);
    return 0;
}

static void stamps_forget(struct issuers_file *f) {
    while (f->read_nr > 0) mem_free(f->read[--f->read_nr].path);
}

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
    struct issuers_file *f = ctx;
    const char *path = f->path, *slash = strrchr(path, '/');
    size_t folder = file.p[0] == '/' || !slash ? 0 : (size_t)(slash - path) + 1;
    struct buf name, text;
    buf_init(&name, ISSUERS_FILE_MAX);
    buf_add(&name, path, folder);
    buf_adds(&name, file);
    bool noted = !buf_failed(&name) && stamp_note(f, buf_str(&name).p) == 0;
    int rc = !noted ? wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a name")
                    : file_text(buf_str(&name).p, KEYS_FILE_MAX, &text, err);
    buf_fini(&name);
    if (rc != 0) return rc;
    buf_adds(out, buf_str(&text));
    buf_fini(&text);
    return buf_failed(out) ? wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a file") : 0;
}

static int url_reach(void *ctx, struct str url, struct wopr_error *err) {
    const struct issuers_file *f = ctx;
    if (f->allow) return egress_url_check(url, f->allow, err);
    return wopr_error_set(err, WOPR_E_CONFIG, "nothing leaves this host (egress is false)");
}

static int text_take(struct issuers_file *f, struct str text, struct http_issuers **issuers,
                     struct wopr_error *err) {
    const struct http_issuer_files files = {keys_of_file, url_reach, f};
    return *issuers ? http_issuers_read(*issuers, text, &files, err)
                    : http_issuers_new(text, &files, issuers, err);
}

int issuers_file_read(struct issuers_file *f, struct http_issuers **issuers,
                      struct wopr_error *err) {
    struct wopr_error why = {0};
    struct buf b;
    stamps_forget(f);
    int rc = stamp_note(f, f->path);
    if (rc == 0) rc = file_text(f->path, ISSUERS_FILE_MAX, &b, &why);
    if (rc == 0) {
        rc = text_take(f, buf_str(&b), issuers, &why);
        buf_fini(&b);
    }
    if (rc == WOPR_E_NO_MEMORY) return wopr_error_set(err, rc, "no memory for the issuers");
    const char *sep = strstr(why.message, f->path) == why.message ? "" : f->path;
    return rc == 0 ? 0
                   : wopr_error_at(err, WOPR_E_CONFIG, "issuers", "%s%s%s", sep, *sep ? ": " : "",
                                   why.message);
}

bool issuers_file_changed(const struct issuers_file *f) {
    for (size_t i = 0; i < f->read_nr; i++) {
        struct fs_stamp now;
        (void)fs_stamp(f->read[i].path, &now);
        if (memcmp(&now, &f->read[i].stamp, sizeof now) != 0) return true;
    }
    return false;
}

void issuers_file_fini(struct issuers_file *f) { stamps_forget(f); }
