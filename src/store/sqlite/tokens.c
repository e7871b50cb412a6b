/*
 * tokens.c: signing secrets of interrupt tokens (INT-36, D46).  Rows are few and read each time, so
 * a rotation by another process is seen by the next token.
 */
#include "store/keys.h"
#include "store/sqlite/sql.h"

/* false: the column does not hold a secret. */
static bool secret_read(struct query *q, struct arena *a, struct token_secret *out) {
    struct sha256 raw; /* as long as a secret */
    *out = (struct token_secret){
        .kid = col_str(q, 0, a), .created_ms = col_int(q, 2), .retired_ms = col_int(q, 3)};
    if (!col_hash(q, 1, &raw)) return false;
    memcpy(out->secret, raw.b, sizeof out->secret);
    return true;
}

static int secret_corrupt(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_CORRUPT,
                          "a token secret has the wrong length; rotate with wopr tokens rotate");
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
static int delete_refused(struct store *s, struct str kid, struct wopr_error *err) {
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
    if (rc == 0 && sqlite3_changes64(s->writer->db) == 0) rc = delete_refused(s, kid, err);
    return write_end(s, rc, err);
}

static int secret_one(struct query *q, struct arena *a, struct token_secret *out,
                      struct wopr_error *err) {
    struct token_secret t;
    int rc = query_step(q, err);
    if (rc == 0) return wopr_error_set(err, WOPR_E_NOT_FOUND, "no such token secret");
    if (rc < 0) return rc;
    bool ok = secret_read(q, a, &t);
    query_end(q);
    if (arena_failed(a)) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a secret");
    if (!ok) return secret_corrupt(err);
    *out = t;
    return 0;
}

int store_token_secret_current(struct store *s, struct arena *a, struct token_secret *out,
                               struct wopr_error *err) {
    struct conn *c;
    struct query q;
    int rc = conn_reader(s, &c, err);
    if (rc != 0) return rc;
    query_begin(&q, c, SQL_TOKEN_CURRENT);
    return secret_one(&q, a, out, err);
}

int store_token_secret_find(struct store *s, struct str kid, struct arena *a,
                            struct token_secret *out, struct wopr_error *err) {
    struct conn *c;
    struct query q;
    int rc = conn_reader(s, &c, err);
    if (rc != 0) return rc;
    query_begin(&q, c, SQL_TOKEN_FIND);
    bind_text(&q, kid);
    return secret_one(&q, a, out, err);
}

int store_token_secret_list(struct store *s, struct arena *a, struct token_secret_list *out,
                            struct wopr_error *err) {
    struct conn *c;
    struct query q;
    struct token_secret_list l = {NULL, 0};
    size_t cap = 0;
    bool ok = true;
    int rc = conn_reader(s, &c, err);
    if (rc != 0) return rc;
    query_begin(&q, c, SQL_TOKEN_LIST);
    while (ok && (rc = query_step(&q, err)) == 1 && l.n < STORE_LIST_MAX) {
        struct token_secret *t = list_row(a, &l.v, &l.n, &cap, sizeof *t);
        if (!t) break;
        ok = secret_read(&q, a, t);
    }
    query_end(&q);
    if (rc < 0) return rc;
    if (arena_failed(a)) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for secrets");
    if (!ok) return secret_corrupt(err);
    *out = l;
    return 0;
}
