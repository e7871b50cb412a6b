/*
 * vault.c: data keys in memory; see vault.h.
 */
#include "store/vault.h"

#include "base/clock.h"
#include "base/mem.h"
#include "codec/bytes.h"
#include "store/peers.h"

#include <pthread.h>

#define VAULT_ARENA_MAX (4u * 1024 * 1024)
#define WRAP_SCOPE      "wopr data key"

struct data_key {
    int64_t key_no, created_ms, retired_ms;
    struct seal_secret secret;
};
struct key_set { /* oldest first; the last one seals */
    struct data_key *v;
    size_t n, cap;
};
struct vault {
    struct store *store;
    struct seal_secret *keks;
    size_t keks_nr;
    pthread_mutex_t mu;  /* guards keys */
    struct key_set keys; /* read anew when a row needs one that is not there */
    bool outdated;       /* what seals is not in the database any more */
};

void vault_kek_id(const struct seal_secret *kek, char out[VAULT_KEK_ID_LEN + 1]) {
    struct sha256 d = hmac_sha256(str_n((const char *)kek->b, sizeof kek->b), STR("wopr kek id"));
    char hex[65];
    sha256_hex(&d, hex);
    memcpy(out, hex, VAULT_KEK_ID_LEN);
    out[VAULT_KEK_ID_LEN] = '\0';
}

static void keys_free(struct key_set *k) {
    for (size_t i = 0; i < k->n; i++) seal_forget(&k->v[i].secret);
    mem_free(k->v);
    *k = (struct key_set){.v = NULL};
}

static int keys_add(struct key_set *k, const struct data_key *key) {
    if (k->n == k->cap) { /* not VEC_ROOM: realloc would leave a copy of the keys behind */
        size_t cap = k->cap ? 2 * k->cap : 4;
        struct data_key *v = mem_array(cap, sizeof *v);
        if (!v) return WOPR_E_NO_MEMORY;
        if (k->n > 0) memcpy(v, k->v, k->n * sizeof *v);
        size_t n = k->n;
        keys_free(k);
        *k = (struct key_set){v, n, cap};
    }
    k->v[k->n++] = *key;
    return 0;
}

/* --- data keys as rows --- */

static int key_wrap(const struct seal_secret *kek, const struct data_key *k, struct arena *a,
                    struct seal_key_row *out, struct wopr_error *err) {
    const struct seal_place place = {STR(WRAP_SCOPE), k->key_no};
    char id[VAULT_KEK_ID_LEN + 1];
    struct buf b;
    buf_init(&b, sizeof k->secret.b + SEAL_EXTRA_BYTES);
    int rc = seal_close(kek, &place, str_n((const char *)k->secret.b, sizeof k->secret.b), &b, err);
    vault_kek_id(kek, id);
    *out = (struct seal_key_row){.key_no = k->key_no,
                                 .kek = arena_str(a, str_c(id)),
                                 .wrapped = arena_str(a, buf_str(&b)),
                                 .created_ms = k->created_ms,
                                 .retired_ms = k->retired_ms};
    buf_fini(&b);
    if (rc == 0 && arena_failed(a))
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a data key");
    return rc;
}

/* CORRUPT: no key of the installation opens it. */
static int key_unwrap(const struct vault *v, const struct seal_key_row *row, struct data_key *out,
                      struct wopr_error *err) {
    const struct seal_place place = {STR(WRAP_SCOPE), row->key_no};
    int rc = WOPR_E_CORRUPT;
    *out = (struct data_key){
        .key_no = row->key_no, .created_ms = row->created_ms, .retired_ms = row->retired_ms};
    for (size_t i = 0; rc == WOPR_E_CORRUPT && i < v->keks_nr; i++) {
        struct buf b;
        buf_init(&b, sizeof out->secret.b);
        rc = seal_open(&v->keks[i], &place, row->wrapped, &b, err);
        if (rc == 0 && b.len != sizeof out->secret.b) rc = WOPR_E_CORRUPT;
        if (rc == 0) memcpy(out->secret.b, b.p, sizeof out->secret.b);
        if (b.p) mem_wipe(b.p, b.len);
        buf_fini(&b);
    }
    return rc;
}

/* was: the keys that are there.  When they are not among these, nothing may be sealed. */
static int keys_write(struct vault *v, const struct key_set *keys, const struct seal_secret *kek,
                      const struct seal_keys_were *was, struct wopr_error *err) {
    struct arena *a = arena_new(VAULT_ARENA_MAX);
    struct seal_key_list rows = {.n = keys->n};
    int rc = 0;
    if (a) rows.v = ARENA_ARRAY(a, struct seal_key_row, keys->n);
    if (!rows.v) rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for data keys");
    for (size_t i = 0; rc == 0 && i < keys->n; i++)
        rc = key_wrap(kek, &keys->v[i], a, &rows.v[i], err);
    if (rc == 0) rc = store_seal_keys_put(v->store, &rows, was, err);
    arena_free(a);
    return rc;
}

static int keys_read(struct vault *v, struct key_set *out, struct str *missing, struct arena *a,
                     struct wopr_error *err) {
    struct seal_key_list rows;
    struct data_key k;
    int rc = store_seal_keys(v->store, a, &rows, err);
    for (size_t i = 0; rc == 0 && i < rows.n; i++) {
        rc = key_unwrap(v, &rows.v[i], &k, err);
        if (rc == WOPR_E_CORRUPT) *missing = rows.v[i].kek;
        if (rc == 0 && keys_add(out, &k) != 0)
            rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for data keys");
        seal_forget(&k.secret);
    }
    return rc;
}

static int key_new(struct key_set *keys, int64_t last_no, struct wopr_error *err) {
    struct data_key k = {.key_no = last_no + 1, .created_ms = clock_wall_ms()};
    rng_bytes(k.secret.b, sizeof k.secret.b);
    for (size_t i = 0; i < keys->n; i++)
        if (keys->v[i].retired_ms == 0) keys->v[i].retired_ms = k.created_ms;
    int rc = keys_add(keys, &k);
    seal_forget(&k.secret);
    return rc == 0 ? 0 : wopr_error_set(err, rc, "no memory for a data key");
}

static int64_t last_of(const struct key_set *k) { return k->n > 0 ? k->v[k->n - 1].key_no : 0; }

/* The keys of the installation do not open what is there.  Nobody needs it when nothing is sealed
 * and no other host could be about to. */
static int keys_refuse(struct vault *v, struct str missing, bool *replaced,
                       struct wopr_error *err) {
    char id[VAULT_KEK_ID_LEN + 1] = "none";
    bool any = true;
    int rc = store_seals_any(v->store, &any, err);
    if (v->keks_nr > 0) vault_kek_id(&v->keks[0], id);
    if (rc != 0) return rc;
    if (!any && store_has_peers(v->store))
        return wopr_error_set(
            err, WOPR_E_CONFIG,
            "the key of sensitive values does not fit this database, which another host"
            " may use: it has the id %s, and %.*s is needed; give all hosts the"
            " same file as seal-key-file, or, when that is lost, stop all hosts"
            " and start one alone",
            id, STR_ARG(missing));
    if (any)
        return wopr_error_set(err, WOPR_E_CONFIG,
                              "the key of sensitive values does not fit this database: it has the"
                              " id %s, and %.*s is needed; give the right file as seal-key-file, or"
                              " restore it from the backup that was made with the database",
                              id, STR_ARG(missing));
    *replaced = true;
    return 0;
}

/* Reads the data keys.  A database without any gets its first one, and one whose keys no longer
 * open gets new ones if nothing needs the old (keys_refuse).  STALE: another host did that at the
 * same time, and its keys are to be read. */
static int keys_begin(struct vault *v, bool *replaced, struct wopr_error *err) {
    struct arena *a = arena_new(VAULT_ARENA_MAX);
    struct str missing = STR_NONE;
    struct seal_key_list rows = {.n = 0};
    int rc = a ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for data keys");
    if (rc == 0) rc = keys_read(v, &v->keys, &missing, a, err);
    if (rc == WOPR_E_CORRUPT) {
        keys_free(&v->keys);
        rc = keys_refuse(v, missing, replaced, err);
    }
    if (rc == 0 && v->keys.n == 0) rc = store_seal_keys(v->store, a, &rows, err);
    if (rc == 0 && v->keys.n == 0) {
        const struct seal_keys_were was = {rows.n > 0 ? rows.v[rows.n - 1].key_no : 0, true};
        rc = key_new(&v->keys, was.last_no, err);
        if (rc == 0) rc = keys_write(v, &v->keys, &v->keks[0], &was, err);
        if (rc == WOPR_E_STALE) keys_free(&v->keys);
    }
    arena_free(a);
    return rc;
}

static struct vault *vault_empty(struct store *s, const struct seal_secret *keks, size_t n,
                                 struct wopr_error *err) {
    struct vault *v = MEM_NEW(struct vault);
    ASSERT(n > 0);
    if (v) {
        pthread_mutex_init(&v->mu, NULL);
        v->store = s;
        v->keks = mem_array(n, sizeof *v->keks);
    }
    if (v && v->keks) {
        memcpy(v->keks, keks, n * sizeof *keks);
        v->keks_nr = n;
        return v;
    }
    vault_free(v);
    (void)wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the keys of the host");
    return NULL;
}

int vault_reader(struct store *s, const struct seal_secret *keks, size_t n, struct vault **out,
                 struct wopr_error *err) {
    struct vault *v = vault_empty(s, keks, n, err);
    struct arena *a = arena_new(VAULT_ARENA_MAX);
    struct str missing = STR_NONE;
    int rc = v && a ? keys_read(v, &v->keys, &missing, a, err)
                    : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for data keys");
    if (rc == WOPR_E_CORRUPT)
        rc = wopr_error_set(err, rc,
                            "a data key is damaged, or the key file is not the one that it needs"
                            " (id %.*s)",
                            STR_ARG(missing));
    if (rc == 0 && v->keys.n == 0)
        rc = wopr_error_set(err, WOPR_E_NOT_FOUND, "the database has no data keys");
    arena_free(a);
    if (rc == 0) *out = v;
    else vault_free(v);
    return rc;
}

int vault_new(struct store *s, const struct seal_secret *keks, size_t n, struct vault **out,
              bool *replaced, struct wopr_error *err) {
    struct vault *v = vault_empty(s, keks, n, err);
    *replaced = false;
    if (!v) return WOPR_E_NO_MEMORY;
    int rc = keys_begin(v, replaced, err);
    if (rc == WOPR_E_STALE) rc = keys_begin(v, replaced, err); /* another host was first */
    if (rc == 0) *out = v;
    else vault_free(v);
    return rc;
}

void vault_free(struct vault *v) {
    if (!v) return;
    keys_free(&v->keys);
    for (size_t i = 0; i < v->keks_nr; i++) seal_forget(&v->keks[i]);
    mem_free(v->keks);
    pthread_mutex_destroy(&v->mu);
    mem_free(v);
}

/* --- values --- */

/* Another process has made keys since. */
static int keys_again_locked(struct vault *v, struct wopr_error *err) {
    struct arena *a = arena_new(VAULT_ARENA_MAX);
    struct key_set keys = {.n = 0};
    struct str missing = STR_NONE;
    int rc = a ? keys_read(v, &keys, &missing, a, err) : WOPR_E_NO_MEMORY;
    if (rc == 0 && keys.n == 0)
        rc = wopr_error_set(err, WOPR_E_CONFIG,
                            "the data keys of this database are gone; restart this host");
    if (rc == 0) {
        keys_free(&v->keys);
        v->keys = keys;
        v->outdated = false;
    } else {
        keys_free(&keys);
    }
    if (rc == WOPR_E_CORRUPT)
        rc = wopr_error_set(err, WOPR_E_CONFIG,
                            "the key of sensitive values was changed; restart this host with the"
                            " new file (id %.*s)",
                            STR_ARG(missing));
    arena_free(a);
    return rc == WOPR_E_NO_MEMORY ? wopr_error_set(err, rc, "no memory for data keys") : rc;
}

/* The key that seals; another one than the last time when the store has refused that. */
static int key_now(struct vault *v, struct data_key *out, struct wopr_error *err) {
    int rc = 0;
    pthread_mutex_lock(&v->mu);
    v->outdated = store_seal_key_gone(v->store) || v->outdated;
    if (v->outdated) rc = keys_again_locked(v, err);
    if (rc == 0) *out = v->keys.v[v->keys.n - 1];
    pthread_mutex_unlock(&v->mu);
    return rc;
}

int vault_seal(struct vault *v, const struct seal_place *where, struct str clear, struct arena *a,
               struct plan_sealed *out, struct wopr_error *err) {
    struct data_key k;
    struct buf b;
    int rc = key_now(v, &k, err);
    if (rc != 0) return rc;
    buf_init(&b, clear.n + SEAL_EXTRA_BYTES);
    rc = seal_close(&k.secret, where, clear, &b, err);
    seal_forget(&k.secret);
    struct str box = rc == 0 ? arena_str(a, buf_str(&b)) : STR_NONE;
    buf_fini(&b);
    if (rc == 0 && !box.p)
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a sealed value");
    if (rc == 0) *out = (struct plan_sealed){.seq = where->at, .key_no = k.key_no, .box = box};
    return rc;
}

static bool key_find_locked(const struct vault *v, int64_t key_no, struct data_key *out) {
    for (size_t i = 0; i < v->keys.n; i++)
        if (v->keys.v[i].key_no == key_no) {
            *out = v->keys.v[i];
            return true;
        }
    return false;
}

static int key_find(struct vault *v, int64_t key_no, struct data_key *out, struct wopr_error *err) {
    int rc = 0;
    pthread_mutex_lock(&v->mu);
    bool found = key_find_locked(v, key_no, out);
    if (!found) rc = keys_again_locked(v, err);
    if (!found && rc == 0) found = key_find_locked(v, key_no, out);
    pthread_mutex_unlock(&v->mu);
    if (rc == 0 && !found)
        rc = wopr_error_set(err, WOPR_E_CORRUPT,
                            "a sealed value needs data key %lld, which is gone", (long long)key_no);
    return rc;
}

int vault_open(struct vault *v, const struct seal_place *where, const struct plan_sealed *row,
               struct arena *a, struct str *clear, struct wopr_error *err) {
    struct data_key k;
    struct buf b;
    int rc = key_find(v, row->key_no, &k, err);
    if (rc != 0) return rc;
    buf_init(&b, row->box.n);
    rc = seal_open(&k.secret, where, row->box, &b, err);
    seal_forget(&k.secret);
    struct str out = rc == 0 ? arena_str(a, buf_str(&b)) : STR_NONE;
    if (b.p) mem_wipe(b.p, b.len);
    buf_fini(&b);
    if (rc == 0 && !out.p)
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a sealed value");
    if (rc == 0) *clear = out;
    return rc;
}

void vault_derive(struct vault *v, struct str label, struct sha256 *out, int64_t *key_no) {
    pthread_mutex_lock(&v->mu);
    const struct data_key *k = &v->keys.v[0];
    *out = hmac_sha256(str_n((const char *)k->secret.b, sizeof k->secret.b), label);
    *key_no = k->key_no;
    pthread_mutex_unlock(&v->mu);
}

size_t vault_derive_each(struct vault *v, struct str label, struct sha256 *out, size_t max) {
    size_t n = 0;
    pthread_mutex_lock(&v->mu);
    for (size_t i = v->keys.n; i > 0 && n < max; i--) {
        const struct data_key *k = &v->keys.v[i - 1];
        out[n++] = hmac_sha256(str_n((const char *)k->secret.b, sizeof k->secret.b), label);
    }
    pthread_mutex_unlock(&v->mu);
    return n;
}

/* --- rotation --- */

int vault_rotate(struct vault *v, const struct seal_secret *next, struct wopr_error *err) {
    struct key_set keys = {.n = 0};
    int rc = 0;
    pthread_mutex_lock(&v->mu); /* every old key stays: hosts that run seal with theirs */
    for (size_t i = 0; rc == 0 && i < v->keys.n; i++)
        if (keys_add(&keys, &v->keys.v[i]) != 0)
            rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for data keys");
    const struct seal_keys_were was = {last_of(&v->keys), false};
    if (rc == 0) rc = key_new(&keys, was.last_no, err);
    if (rc == 0) rc = keys_write(v, &keys, next, &was, err);
    if (rc == 0) {
        keys_free(&v->keys);
        v->keys = keys;
    } else {
        keys_free(&keys);
    }
    pthread_mutex_unlock(&v->mu);
    return rc;
}
