/*
 * audit.c: the audit log (AUD-1 to AUD-4).
 *
 * An entry takes the sequence and the hash of the last one inside its transaction, so hosts on one
 * file write one chain.  Triggers refuse to change or to remove what is written, to this program as
 * to others.
 */
#include "store/audit.h"

#include "base/clock.h"
#include "base/mem.h"
#include "codec/jobj.h"
#include "domain/audit.h"
#include "store/sqlite/sql.h"

enum { ENTRY_ARENA_MAX = 4 * AUDIT_ENTRY_MAX };

/* ------------------------------------------------------------------------------ entries */
static int last_read(struct conn *c, int64_t *seq, struct sha256 *hash, struct wopr_error *err) {
    struct arena *a = arena_new(ENTRY_ARENA_MAX);
    struct query q;
    *seq = -1;
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for an audit entry");
    query_begin(&q, c, SQL_AUDIT_LAST);
    int rc = query_step(&q, err);
    if (rc == 1) {
        *seq = col_int(&q, 0);
        *hash = sha256_of(col_str(&q, 1, a));
        if (arena_failed(a))
            rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for an audit entry");
    }
    query_end(&q);
    arena_free(a);
    return rc < 0 ? rc : 0;
}

static int entry_insert(struct conn *c, const struct plan_audit *row, struct wopr_error *err) {
    struct sha256 prev;
    int64_t last;
    struct buf text;
    int rc = last_read(c, &last, &prev, err);
    if (rc != 0) return rc;
    buf_init(&text, AUDIT_ENTRY_MAX);
    rc = audit_entry_render(row, last + 1, last < 0 ? NULL : &prev, &text, err);
    if (rc == 0) {
        struct query q;
        query_begin(&q, c, SQL_AUDIT_PUT);
        bind_int(&q, last + 1);
        bind_int(&q, row->at_ms);
        bind_opt(&q, row->tenant);
        bind_text(&q, row->type);
        if (last < 0) bind_null(&q);
        else bind_hash(&q, &prev);
        bind_text(&q, buf_str(&text));
        rc = query_run(&q, err);
    }
    buf_fini(&text);
    return rc;
}

int audit_put(const struct row_writer *w, const struct plan_audit *row) {
    return entry_insert(w->c, row, w->err);
}

int audit_effect(struct conn *c, const struct plan_audit *row, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_AUDIT_ON);
    int rc = query_step(&q, err);
    query_end(&q);
    if (rc != 1) return rc < 0 ? rc : 0;
    return entry_insert(c, row, err);
}

int audit_tell(struct conn *c, const struct plan_audit *row, const struct audit_detail *details,
               size_t n, bool test_mode, struct wopr_error *err) {
    struct plan_audit whole = *row;
    struct jobj o;
    jobj_begin(&o, AUDIT_ENTRY_MAX);
    for (size_t i = 0; i < n; i++) jw_kstr_opt(&o.w, details[i].key, details[i].text);
    jw_kbool(&o.w, "testMode", test_mode);
    char *text = jobj_take(&o, &whole.details.n);
    whole.details.p = text;
    int rc = text ? audit_effect(c, &whole, err)
                  : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for an audit entry");
    mem_free(text);
    return rc;
}

int audit_key_changed(struct conn *c, const char *type, struct str tenant, struct str key_id,
                      struct str details, struct wopr_error *err) {
    const struct plan_audit row = {.at_ms = clock_wall_ms(),
                                   .type = str_c(type),
                                   .tenant = tenant,
                                   .key_id = key_id,
                                   .details = details};
    return audit_effect(c, &row, err);
}

static int entry_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct audit_row *)row = (struct audit_row){col_int(q, 0), col_str(q, 1, a)};
    return 0;
}

int store_audit_last(struct store *s, struct arena *a, struct audit_row *out,
                     struct wopr_error *err) {
    struct audit_rows l;
    struct query q;
    int rc = read_begin(&q, s, SQL_AUDIT_LAST, err);
    if (rc == 0) rc = list_read(&q, a, entry_read, &l, err);
    if (rc == 0) *out = l.n > 0 ? l.v[0] : (struct audit_row){.seq = -1};
    return rc;
}

int store_audit_entries(struct store *s, int64_t from, unsigned max, struct arena *a,
                        struct audit_rows *out, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_AUDIT_ENTRIES, err);
    if (rc != 0) return rc;
    bind_int(&q, from);
    bind_int(&q, max);
    return list_read(&q, a, entry_read, out, err);
}

/* ------------------------------------------------------------------------------ checkpoints */
static int checkpoint_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct audit_checkpoint *)row = (struct audit_checkpoint){.id = col_str(q, 0, a),
                                                                .at_seq = col_int(q, 1),
                                                                .root = col_str(q, 2, a),
                                                                .signature = col_str(q, 3, a),
                                                                .peaks = col_str(q, 4, a),
                                                                .key_id = col_str(q, 5, a),
                                                                .at_ms = col_int(q, 6),
                                                                .old_signature = col_str(q, 7, a),
                                                                .old_key_id = col_str(q, 8, a)};
    return 0;
}

int store_audit_checkpoint_put(struct store *s, const struct audit_checkpoint *c,
                               const struct plan_audit *told, struct wopr_error *err) {
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    struct query q;
    query_begin(&q, s->writer, SQL_AUDIT_CHECKPOINT_PUT);
    bind_text(&q, c->id);
    bind_int(&q, c->at_seq);
    bind_text(&q, c->root);
    bind_text(&q, c->signature);
    bind_bytes(&q, c->peaks.p, c->peaks.n);
    bind_text(&q, c->key_id);
    bind_int(&q, c->at_ms);
    bind_opt(&q, c->old_signature);
    bind_opt(&q, c->old_key_id);
    rc = query_run(&q, err);
    if (rc == 0 && sqlite3_changes64(s->writer->db) == 0)
        rc = wopr_error_set(err, WOPR_E_EXISTS, "there is a checkpoint for these entries");
    if (rc == 0) rc = entry_insert(s->writer, told, err);
    return write_end(s, rc, err);
}

int store_audit_fresh(struct store *s, int64_t seq, bool *any, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_AUDIT_FRESH, err);
    if (rc != 0) return rc;
    bind_int(&q, seq);
    rc = query_step(&q, err);
    query_end(&q);
    if (rc >= 0) *any = rc == 1;
    return rc < 0 ? rc : 0;
}

int store_audit_checkpoints(struct store *s, int64_t from, int64_t to, unsigned max,
                            struct arena *a, struct audit_checkpoints *out,
                            struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_AUDIT_CHECKPOINTS, err);
    if (rc != 0) return rc;
    bind_int(&q, from);
    bind_int(&q, to);
    bind_int(&q, max);
    return list_read(&q, a, checkpoint_read, out, err);
}

int store_audit_checkpoint_before(struct store *s, int64_t before, struct arena *a,
                                  struct audit_checkpoint *out, struct wopr_error *err) {
    struct audit_checkpoints l;
    struct query q;
    int rc = read_begin(&q, s, SQL_AUDIT_CHECKPOINT_BEFORE, err);
    if (rc != 0) return rc;
    bind_int(&q, before);
    rc = list_read(&q, a, checkpoint_read, &l, err);
    if (rc != 0) return rc;
    if (l.n == 0) return wopr_error_set(err, WOPR_E_NOT_FOUND, "no checkpoint is that old");
    *out = l.v[0];
    return 0;
}

/* ------------------------------------------------------------------------------ keys */
static int key_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    struct audit_key *k = row;
    struct sha256 pub; /* 32 bytes, too; the column's CHECK keeps its length */
    (void)err;
    *k = (struct audit_key){.key_id = col_str(q, 0, a), .created_ms = col_int(q, 2)};
    if (col_hash(q, 1, &pub)) memcpy(k->pub, pub.b, sizeof k->pub);
    return 0;
}

int store_audit_keys(struct store *s, struct arena *a, struct audit_key_list *out,
                     struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_AUDIT_KEYS, err);
    if (rc != 0) return rc;
    bind_int(&q, STORE_LIST_MAX);
    return list_read(&q, a, key_read, out, err);
}

int store_audit_key_put(struct store *s, const struct audit_key *k, struct wopr_error *err) {
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    struct query q;
    query_begin(&q, s->writer, SQL_AUDIT_KEY_PUT);
    bind_text(&q, k->key_id);
    bind_bytes(&q, k->pub, sizeof k->pub);
    bind_int(&q, k->created_ms);
    return write_end(s, query_run(&q, err), err);
}
