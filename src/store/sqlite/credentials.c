/*
 * credentials.c: rows of credentials.  Few, and read each time, so that a change by another process
 * applies to the next request.
 */
#include "store/credentials.h"

#include "base/clock.h"
#include "store/sqlite/sql.h"

static int row_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    struct credential *c = row;
    int64_t kind = col_int(q, 5);
    *c = (struct credential){
        .id = {.tenant = col_str(q, 0, a),
               .test_mode = col_int(q, 1) != 0,
               .issuer = col_str(q, 2, a),
               .subject = col_str(q, 3, a),
               .name = col_str(q, 4, a)},
        .kind = (enum credential_kind)kind,
        .provider = col_str(q, 6, a),
        .sealed = {.key_no = col_int(q, 7), .box = col_str(q, 8, a)},
        .created_ms = col_int(q, 9),
        .updated_ms = col_int(q, 10),
    };
    if (kind >= 0 && kind < CREDENTIAL_KIND_NR) return 0;
    return wopr_error_set(err, WOPR_E_CORRUPT, "a credential is of a kind that there is not");
}

static void id_bind(struct query *q, const struct credential_id *id) {
    bind_text(q, id->tenant);
    bind_int(q, id->test_mode);
    bind_text(q, id->issuer);
    bind_text(q, id->subject);
    bind_text(q, id->name);
}

/* AUD-3: whose, and under which name; never the value. */
static int change_tell(struct conn *c, const char *type, const struct credential_id *id,
                       struct str provider, struct wopr_error *err) {
    const struct plan_audit row = {
        .at_ms = clock_wall_ms(), .type = str_c(type), .tenant = id->tenant};
    const struct audit_detail said[] = {{"name", id->name},
                                        {"provider", provider},
                                        {"issuer", id->issuer},
                                        {"subject", id->subject}};
    return audit_tell(c, &row, said, 4, id->test_mode, err);
}

/* Nothing was written: for which of the reasons? */
static int put_refused(struct store *s, const struct credential *c, struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_CREDENTIAL_NR);
    bind_text(&q, c->id.tenant);
    bind_int(&q, c->id.test_mode);
    int rc = query_step(&q, err);
    int64_t nr = rc == 1 ? col_int(&q, 0) : 0;
    query_end(&q);
    if (rc < 0) return rc;
    if (nr < CREDENTIALS_MAX) return seal_key_gone(s->writer, err);
    return wopr_error_set(err, WOPR_E_QUOTA,
                          "the tenant has %d credentials, and may have no more; delete some first",
                          CREDENTIALS_MAX);
}

int store_credential_put(struct store *s, const struct credential *c, struct wopr_error *err) {
    struct query q;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_CREDENTIAL_PUT);
    id_bind(&q, &c->id);
    bind_int(&q, c->kind);
    bind_text(&q, c->provider);
    bind_int(&q, c->sealed.key_no);
    bind_bytes(&q, c->sealed.box.p, c->sealed.box.n);
    bind_int(&q, c->updated_ms);
    bind_int(&q, CREDENTIALS_MAX);
    rc = query_run(&q, err);
    if (rc == 0 && sqlite3_changes64(s->writer->db) == 0) rc = put_refused(s, c, err);
    if (rc == 0) rc = change_tell(s->writer, "secret.set", &c->id, c->provider, err);
    return write_end(s, rc, err);
}

int store_credential_find(struct store *s, const struct credential_id *id, struct arena *a,
                          struct credential *out, struct wopr_error *err) {
    struct credential c;
    struct query q;
    int rc = read_begin(&q, s, SQL_CREDENTIAL_FIND, err);
    if (rc != 0) return rc;
    id_bind(&q, id);
    rc = query_step(&q, err);
    bool found = rc == 1;
    if (found) rc = row_read(&q, a, &c, err);
    rc = read_end(&q, rc, a, err);
    if (rc == 0 && !found) return wopr_error_set(err, WOPR_E_NOT_FOUND, "no such credential");
    if (rc == 0) *out = c;
    return rc;
}

int store_credential_delete(struct store *s, const struct credential_id *id,
                            struct wopr_error *err) {
    struct query q;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_CREDENTIAL_DEL);
    id_bind(&q, id);
    rc = query_run(&q, err);
    if (rc == 0 && sqlite3_changes64(s->writer->db) == 0)
        rc = wopr_error_set(err, WOPR_E_NOT_FOUND, "no such credential");
    if (rc == 0) rc = change_tell(s->writer, "secret.deleted", id, STR_NONE, err);
    return write_end(s, rc, err);
}

int store_credentials(struct store *s, struct str tenant, const struct credential_id *after,
                      struct arena *a, struct credential_list *out, struct wopr_error *err) {
    static const struct credential_id FIRST = {.test_mode = false};
    struct query q;
    int rc = read_begin(&q, s, SQL_CREDENTIALS, err);
    if (rc != 0) return rc;
    id_bind(&q, after ? after : &FIRST);
    bind_text(&q, tenant);
    bind_int(&q, STORE_LIST_MAX);
    return list_read(&q, a, row_read, out, err);
}
