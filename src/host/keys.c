/* keys.c: see keys.h. */
#include "host/keys.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "host/host.h"
#include "http/http.h"
#include "store/peers.h"

#include <stdio.h>

#define KEY_FILE_MAX (64u * 1024)
#define DEV_KEY_NAME "dev-api-key"

static int no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the API keys");
}

/* The keys of a file, one a line; blank lines do not count. */
static int file_keys(const char *path, struct arena *a, struct str *out, size_t max, size_t *n,
                     struct wopr_error *err) {
    struct buf b;
    int rc = file_read(path, KEY_FILE_MAX, &b, err);
    if (rc != 0) return rc;
    struct str rest = buf_str(&b), line;
    *n = 0;
    while (rc == 0 && rest.n > 0) {
        if (!str_cut(rest, '\n', &line, &rest)) line = rest, rest = STR_NONE;
        if (line.n > 0 && line.p[line.n - 1] == '\r') line.n--;
        line = str_trim(line);
        if (line.n == 0) continue;
        if (*n == max)
            rc = wopr_error_at(err, WOPR_E_CONFIG, "api-key-file", "%s has more than %zu keys",
                               path, max);
        else out[(*n)++] = arena_str(a, line);
    }
    buf_fini(&b);
    if (rc == 0 && arena_failed(a)) rc = no_memory(err);
    if (rc == 0 && *n == 0)
        rc = wopr_error_at(err, WOPR_E_CONFIG, "api-key-file",
                           "%s has no key; put one there with \"wopr keys generate\"", path);
    return rc;
}

/* Every key of the settings; out has HOST_KEYS_MAX + 1 places. */
static int texts_of(const struct config *c, struct arena *a, struct str *out, size_t *n,
                    struct wopr_error *err) {
    int rc = 0;
    *n = 0;
    if (c->host_api_key_file[0] != '\0')
        rc = file_keys(c->host_api_key_file, a, out, HOST_KEYS_MAX, n, err);
    if (rc == 0 && c->host_api_key[0] != '\0') out[(*n)++] = str_c(c->host_api_key);
    return rc;
}

static void warn_of(const char *message, struct str key_id, struct arena *a) {
    log_warn(message, "keyId", arena_printf(a, STR_FMT, STR_ARG(key_id)).p);
}

/* *use: whether the settings take effect for this key. */
static int key_judge(struct store *s, const struct api_key *k, struct arena *a, bool *use,
                     struct wopr_error *err) {
    struct api_key row;
    int rc = store_key_find_hash(s, &k->hash, a, &row, err);
    *use = rc == WOPR_E_NOT_FOUND || (rc == 0 && row.configured);
    if (rc == WOPR_E_NOT_FOUND) return 0;
    if (rc != 0) return rc;
    if (!row.configured)
        warn_of("a configured API key was made by \"wopr keys create\": its own tenant, scopes and "
                "expiry hold",
                row.key_id, a);
    else if (row.revoked_ms > 0 && row.revoked_ms <= clock_wall_ms())
        warn_of(
            "a configured API key is revoked: requests with it are refused; configure a new one",
            row.key_id, a);
    else if (row.revoked_ms > 0)
        warn_of(
            "a configured API key was rotated and will be refused soon: configure its successor "
            "(\"wopr keys list\" has the date)",
            row.key_id, a);
    return 0;
}

static int configured_load(struct host_keys *k, const struct config *c, struct store *s,
                           struct arena *a, struct wopr_error *err) {
    struct str texts[HOST_KEYS_MAX + 1];
    size_t n = 0;
    int rc = texts_of(c, a, texts, &n, err);
    if (rc == 0) k->v = ARENA_ARRAY(a, struct api_key, n + 1);
    if (rc == 0 && k->v == NULL) return no_memory(err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        bool use = false;
        struct api_key *row = &k->v[k->n];
        rc = key_from_text(s, texts[i], str_c(c->host_tenant), STR("default"), SCOPE_ALL, a, row,
                           err);
        if (rc == WOPR_E_CONFIG)
            (void)snprintf(err->pointer, sizeof err->pointer, "%s",
                           texts[i].p == c->host_api_key ? "api-key" : "api-key-file");
        if (rc == 0) rc = key_judge(s, row, a, &use, err);
        if (use) k->n++;
    }
    return rc;
}

/* A database whose keys were all configured ones has none of its own. */
static int first_key(struct host_keys *k, struct str tenant, struct store *s, struct arena *a,
                     struct wopr_error *err) {
    struct api_key_list all;
    struct api_key row;
    struct str text;
    int rc = store_key_list(s, a, &all, err);
    for (size_t i = 0; rc == 0 && i < all.n; i++)
        if (!all.v[i].configured) return 0;
    if (rc == 0 && all.n > 0 && store_has_peers(s)) { /* use the keys of the other hosts */
        log_warn("no API key is configured here and none was created: every request is refused; "
                 "configure one, or use \"wopr keys create\"");
        return 0;
    }
    if (rc == 0)
        rc = key_mint(s, tenant, STR("default"), STR("first key"), SCOPE_ALL, false, 0, a, &text,
                      &row, err);
    if (rc == 0) rc = store_key_put(s, &row, err);
    if (rc == 0) k->first = text.p;
    return rc;
}

int host_keys_load(struct host_keys *k, const struct config *c, struct store *s, struct arena *a,
                   struct wopr_error *err) {
    *k = (struct host_keys){0};
    if (c->host_api_key[0] != '\0' || c->host_api_key_file[0] != '\0')
        return configured_load(k, c, s, a, err);
    return first_key(k, str_c(c->host_tenant), s, a, err);
}

static bool keys_hold(const struct host_keys *k, struct str key_id) {
    for (size_t i = 0; i < k->n; i++)
        if (str_eq(k->v[i].key_id, key_id)) return true;
    return false;
}

int host_keys_record(const struct host_keys *k, struct store *s, struct arena *a,
                     struct wopr_error *err) {
    struct api_key_list all;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < k->n; i++) rc = store_key_configure(s, &k->v[i], err);
    if (rc == 0) rc = store_key_list(s, a, &all, err);
    if (rc != 0 || store_has_peers(s)) return rc; /* another host may configure them */
    for (size_t i = 0; rc == 0 && i < all.n; i++) {
        const struct api_key *row = &all.v[i];
        if (!row->configured || row->revoked_ms > 0 || keys_hold(k, row->key_id)) continue;
        rc = store_key_forget(s, row->key_id, err);
        if (rc == 0)
            warn_of("an API key that was configured before is retired: requests with it are "
                    "refused",
                    row->key_id, a);
    }
    return rc;
}

/* dev-api-key in the folder of the database; NULL when there is no such file. */
static const char *dev_key_file(const struct config *c, struct arena *a) {
    const char *slash = strrchr(c->store_path, '/');
    int folder = slash != NULL ? (int)(slash - c->store_path) + 1 : 0;
    const char *path = arena_printf(a, "%.*s" DEV_KEY_NAME, folder, c->store_path).p;
    return path != NULL && fs_readable(path) ? path : NULL;
}

int client_key(const struct config *c, struct arena *a, const char **key, struct wopr_error *err) {
    struct str texts[HOST_KEYS_MAX];
    size_t n = 0;
    *key = c->host_api_key[0] != '\0' ? c->host_api_key : NULL;
    if (*key != NULL) return 0;
    const char *path = c->host_api_key_file[0] != '\0' ? c->host_api_key_file : dev_key_file(c, a);
    if (path == NULL) return 0;
    int rc = file_keys(path, a, texts, HOST_KEYS_MAX, &n, err);
    if (rc == 0) *key = texts[0].p;
    return rc;
}
