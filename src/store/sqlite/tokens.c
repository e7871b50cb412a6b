/*
 * tokens.c: signing secrets of interrupt tokens (INT-36, D46).  Rows are few and read each time, so
 * that a rotation by another process applies to the next token.
 */
#include "store/keys.h"
#include "store/sqlite/sql.h"

static int secret_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    struct token_secret *t = row;
    struct sha256 raw; /* same length as a secret */
    *t = (struct token_secret){
        .kid = col_str(q, 0, a), .created_ms = col_int(q, 2), .retired_ms = col_int(q, 3)};
    if (!col_hash(q, 1, &raw))
        return wopr_error_set(
            err, WOPR_E_CORRUPT,
            "a token secret has the wrong length; rotate with wopr tokens rotate");
    memcpy(t->secret, raw.b, sizeof t->secret);
    return 0;
}

int store_token_secret_put(struct store *s, const struct token_secret *t, struct wopr_error *err) {
    struct sha256 raw;
    struct query q;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_TOKEN_RETIRE);
    bind_int(&q, t->created_ms);
    rc = query_run(&q, err);
    if (rc != 0) return write_end(s, rc, err);
    memcpy(raw.b, t->secret, sizeof raw.b);
    query_begin(&q, s->writer, SQL_TOKEN_PUT);
    bind_text(&q, t->kid);
    bind_hash(&q, &raw);
    bind_int(&q, t->created_ms);
    rc = query_run(&q, err);
    if (rc == WOPR_E_EXISTS) rc = wopr_error_set(err, rc, "this key id is stored already");
    return write_end(s, rc, err);
}

/* Why nothing was deleted. */
static int secret_refused(struct store *s, struct str kid, struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_TOKEN_FIND);
    bind_text(&q, kid);
    int rc = query_step(&q, err);
    query_end(&q);
    if (rc < 0) return rc;
    if (rc == 0) return wopr_error_set(err, WOPR_E_NOT_FOUND, "no token secret has this key id");
    return wopr_error_set(err, WOPR_E_CONFLICT,
                          "this secret signs; rotate first, then revoke the old one");
}

int store_token_secret_delete(struct store *s, struct str kid, struct wopr_error *err) {
    struct query q;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_TOKEN_DEL);
    bind_text(&q, kid);
    rc = query_run(&q, err);
    if (rc == 0 && sqlite3_changes64(s->writer->db) == 0) rc = secret_refused(s, kid, err);
    return write_end(s, rc, err);
}

static int secret_one(struct query *q, struct arena *a, struct token_secret *out,
                      struct wopr_error *err) {
    struct token_secret t;
    int rc = query_step(q, err);
    if (rc == 0) return wopr_error_set(err, WOPR_E_NOT_FOUND, "no such token secret");
    if (rc == 1) rc = secret_read(q, a, &t, err);
    rc = read_end(q, rc, a, err);
    if (rc == 0) *out = t;
    return rc;
}

int store_token_secret_current(struct store *s, struct arena *a, struct token_secret *out,
                               struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_TOKEN_CURRENT, err);
    return rc == 0 ? secret_one(&q, a, out, err) : rc;
}

int store_token_secret_find(struct store *s, struct str kid, struct arena *a,
                            struct token_secret *out, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_TOKEN_FIND, err);
    if (rc != 0) return rc;
    bind_text(&q, kid);
    return secret_one(&q, a, out, err);
}

int store_token_secret_list(struct store *s, struct arena *a, struct token_secret_list *out,
                            struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_TOKEN_LIST, err);
    if (rc != 0) return rc;
    bind_int(&q, STORE_LIST_MAX);
    return list_read(&q, a, secret_read, out, err);
}
