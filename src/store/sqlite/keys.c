/*
 * keys.c: API keys (AUTH-3, D17).  Only keyed hashes are stored.
 */
#include "store/keys.h"

#include "codec/ident.h"
#include "store/sqlite/sql.h"

enum { ROTATION_DETAILS_MAX = 256 };

static int key_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    struct api_key *k = row;
    (void)err;
    *k = (struct api_key){.key_id = col_str(q, 0, a),
                          .tenant = col_str(q, 1, a),
                          .workspace = col_str(q, 2, a),
                          .subject_issuer = col_str(q, 3, a),
                          .subject_id = col_str(q, 4, a),
                          .label = col_str(q, 5, a),
                          .scopes = (uint32_t)col_int(q, 7),
                          .test_mode = col_int(q, 8) != 0,
                          .created_ms = col_int(q, 9),
                          .expires_ms = col_int(q, 10),
                          .revoked_ms = col_int(q, 11),
                          .configured = col_int(q, 12) != 0};
    (void)col_hash(q, 6, &k->hash); /* the column's CHECK keeps its length */
    return 0;
}

/* An insertion inside the transaction of the caller; details: of its audit entry. */
static int key_insert(struct conn *c, const struct api_key *k, struct str details,
                      struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_KEY_PUT);
    bind_text(&q, k->key_id);
    bind_text(&q, k->tenant);
    bind_text(&q, k->workspace);
    bind_text(&q, k->subject_issuer);
    bind_text(&q, k->subject_id);
    bind_text(&q, k->label);
    bind_hash(&q, &k->hash);
    bind_int(&q, k->scopes);
    bind_int(&q, k->test_mode);
    bind_int(&q, k->created_ms);
    bind_int(&q, k->expires_ms);
    bind_int(&q, k->revoked_ms);
    bind_int(&q, k->configured);
    int rc = query_run(&q, err);
    if (rc == WOPR_E_EXISTS) rc = wopr_error_set(err, rc, "this API key is stored already");
    return rc != 0 ? rc : audit_key_changed(c, "key.created", k->tenant, k->key_id, details, err);
}

int store_key_put(struct store *s, const struct api_key *k, struct wopr_error *err) {
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    return write_end(s, key_insert(s->writer, k, STR_NONE, err), err);
}

int store_key_configure(struct store *s, const struct api_key *k, struct wopr_error *err) {
    int rc = store_key_put(s, k, err);
    if (rc != WOPR_E_EXISTS) return rc;
    rc = write_begin(s, err);
    if (rc != 0) return rc;
    struct query q;
    query_begin(&q, s->writer, SQL_KEY_CONFIGURE);
    bind_text(&q, k->tenant);
    bind_text(&q, k->workspace);
    bind_int(&q, k->scopes);
    bind_text(&q, k->key_id);
    return write_end(s, query_run(&q, err), err);
}

int store_key_forget(struct store *s, struct str key_id, struct wopr_error *err) {
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    struct query q;
    query_begin(&q, s->writer, SQL_KEY_FORGET);
    bind_text(&q, key_id);
    return write_end(s, query_run(&q, err), err);
}

int store_key_revoke(struct store *s, struct str key_id, int64_t now_ms, struct wopr_error *err) {
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    struct query q;
    query_begin(&q, s->writer, SQL_KEY_REVOKE);
    bind_text(&q, key_id);
    bind_int(&q, now_ms);
    rc = query_run(&q, err);
    if (rc == 0 && sqlite3_changes64(s->writer->db) == 0)
        rc = wopr_error_set(err, WOPR_E_NOT_FOUND, "no API key has this id");
    if (rc == 0) rc = audit_key_changed(s->writer, "key.revoked", STR_NONE, key_id, STR_NONE, err);
    return write_end(s, rc, err);
}

/* The old key gets its end only while it works and has none yet, so of two rotations of one key
 * one succeeds. */
static int key_retire(struct conn *c, const struct api_rotation *r, struct wopr_error *err) {
    struct query q;
    struct buf details;
    char at[TIME_LEN + 1];
    query_begin(&q, c, SQL_KEY_RETIRE);
    bind_text(&q, r->old_id);
    bind_int(&q, r->now_ms);
    bind_int(&q, r->old_ends_ms);
    int rc = query_run(&q, err);
    if (rc == 0 && sqlite3_changes64(c->db) == 0)
        rc = wopr_error_set(err, WOPR_E_CONFLICT,
                            "this API key is revoked, expired, or has been rotated already; rotate "
                            "its successor, or create a new key");
    if (rc != 0) return rc;
    time_format(r->old_ends_ms, at);
    buf_init(&details, ROTATION_DETAILS_MAX);
    buf_addf(&details, "{\"effectiveAt\":\"%s\",\"replacedBy\":\"" STR_FMT "\"}", at,
             STR_ARG(r->key.key_id));
    rc =
        buf_failed(&details)
            ? wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for an audit entry")
            : audit_key_changed(c, "key.revoked", r->key.tenant, r->old_id, buf_str(&details), err);
    buf_fini(&details);
    return rc;
}

int store_key_rotate(struct store *s, const struct api_rotation *r, struct wopr_error *err) {
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    rc = key_retire(s->writer, r, err);
    if (rc == 0) rc = key_insert(s->writer, &r->key, STR_NONE, err);
    return write_end(s, rc, err);
}

static void key_to_memo(const struct api_key *k, struct memo_row *r) {
    *r = (struct memo_row){
        .text = {k->key_id, k->tenant, k->workspace, k->subject_issuer, k->subject_id, k->label},
        .number = {k->scopes, k->test_mode, k->created_ms, k->expires_ms, k->revoked_ms,
                   k->configured},
        .hash = k->hash};
}

static void key_from_memo(const struct memo_row *r, struct api_key *k) {
    *k = (struct api_key){.key_id = r->text[0],
                          .tenant = r->text[1],
                          .workspace = r->text[2],
                          .subject_issuer = r->text[3],
                          .subject_id = r->text[4],
                          .label = r->text[5],
                          .hash = r->hash,
                          .scopes = (uint32_t)r->number[0],
                          .test_mode = r->number[1] != 0,
                          .created_ms = r->number[2],
                          .expires_ms = r->number[3],
                          .revoked_ms = r->number[4],
                          .configured = r->number[5] != 0};
}

/* The one row of a bound query. */
static int key_one(struct query *q, struct arena *a, struct api_key *out, struct wopr_error *err) {
    struct api_key k;
    int rc = query_step(q, err);
    if (rc == 0) return wopr_error_set(err, WOPR_E_NOT_FOUND, "no such API key");
    if (rc == 1) rc = key_read(q, a, &k, err);
    rc = read_end(q, rc, a, err);
    if (rc == 0) *out = k;
    return rc;
}

/* id: the query; key: its parameter, as bytes, for the memo. */
static int key_find(struct store *s, enum stmt_id id, struct str key, const struct sha256 *hash,
                    struct arena *a, struct api_key *out, struct wopr_error *err) {
    struct conn *c;
    struct memo_row r;
    int rc = conn_reader(s, &c, err);
    if (rc != 0) return rc;
    if (memo_get(c, id, key, a, &r)) {
        key_from_memo(&r, out);
        return 0;
    }
    struct query q;
    query_begin(&q, c, id);
    if (hash) bind_hash(&q, hash);
    else bind_text(&q, key);
    rc = key_one(&q, a, out, err);
    if (rc != 0) return rc;
    key_to_memo(out, &r);
    memo_put(c, id, key, &r);
    return 0;
}

int store_key_find(struct store *s, struct str key_id, struct arena *a, struct api_key *out,
                   struct wopr_error *err) {
    return key_find(s, SQL_KEY_BY_ID, key_id, NULL, a, out, err);
}

int store_key_find_hash(struct store *s, const struct sha256 *hash, struct arena *a,
                        struct api_key *out, struct wopr_error *err) {
    struct str key = str_n((const char *)hash->b, sizeof hash->b);
    return key_find(s, SQL_KEY_BY_HASH, key, hash, a, out, err);
}

int store_key_list(struct store *s, struct arena *a, struct api_key_list *out,
                   struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_KEY_LIST, err);
    if (rc != 0) return rc;
    bind_int(&q, STORE_LIST_MAX);
    return list_read(&q, a, key_read, out, err);
}
