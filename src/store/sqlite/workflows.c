/*
 * workflows.c: definitions by id and by content hash (WF-1, AUTH-9).  Texts are shared by hash and
 * never change.
 */
#include "store/workflows.h"
#include "store/sqlite/sql.h"

enum { MODE_LIVE, MODE_TEST, MODE_BOTH };

static int mode_of(const struct workflow_row *w) {
    return w->both_modes ? MODE_BOTH : w->test_mode ? MODE_TEST : MODE_LIVE;
}

/* PUT_CREATED, PUT_UPDATED or PUT_SAME for w against what is stored. */
static int workflow_compare(struct store *s, const struct workflow_row *w, enum put_result *what,
                            struct wopr_error *err) {
    struct query q;
    struct sha256 old;
    query_begin(&q, s->writer, SQL_WF_HASH);
    bind_text(&q, w->workflow_id);
    bind_text(&q, w->tenant);
    bind_int(&q, mode_of(w));
    int rc = query_step(&q, err);
    if (rc < 0) return rc;
    *what = PUT_CREATED;
    if (rc == 1)
        *what = col_hash(&q, 0, &old) && sha256_eq(&old, &w->hash) ? PUT_SAME : PUT_UPDATED;
    query_end(&q);
    return 0;
}

static int workflow_write(struct store *s, const struct workflow_row *w, struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_WF_TEXT_PUT);
    bind_hash(&q, &w->hash);
    bind_text(&q, w->text);
    int rc = query_run(&q, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_WF_PUT);
    bind_text(&q, w->workflow_id);
    bind_text(&q, w->tenant);
    bind_int(&q, mode_of(w));
    bind_hash(&q, &w->hash);
    bind_text(&q, w->version);
    bind_int(&q, w->created_ms);
    bind_int(&q, w->updated_ms);
    return query_run(&q, err);
}

int store_workflow_put(struct store *s, const struct workflow_row *w, enum put_result *what,
                       struct wopr_error *err) {
    enum put_result r = PUT_SAME;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    rc = workflow_compare(s, w, &r, err);
    if (rc == 0 && r != PUT_SAME) rc = workflow_write(s, w, err);
    rc = write_end(s, rc, err);
    if (rc == 0 && what) *what = r;
    return rc;
}

static int workflow_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    struct workflow_row *w = row;
    int64_t mode = col_int(q, 5);
    (void)err;
    *w = (struct workflow_row){.workflow_id = col_str(q, 0, a),
                               .tenant = col_str(q, 1, a),
                               .version = col_str(q, 3, a),
                               .text = col_str(q, 4, a),
                               .both_modes = mode == MODE_BOTH,
                               .test_mode = mode == MODE_TEST,
                               .created_ms = col_int(q, 6),
                               .updated_ms = col_int(q, 7)};
    (void)col_hash(q, 2, &w->hash); /* a foreign key into a column with a CHECK */
    return 0;
}

static void workflow_to_memo(const struct workflow_row *w, struct memo_row *r) {
    *r = (struct memo_row){.text = {w->workflow_id, w->tenant, w->version, w->text},
                           .number = {mode_of(w), w->created_ms, w->updated_ms},
                           .hash = w->hash};
}

static void workflow_from_memo(const struct memo_row *r, struct workflow_row *w) {
    *w = (struct workflow_row){.workflow_id = r->text[0],
                               .tenant = r->text[1],
                               .version = r->text[2],
                               .text = r->text[3],
                               .hash = r->hash,
                               .both_modes = r->number[0] == MODE_BOTH,
                               .test_mode = r->number[0] == MODE_TEST,
                               .created_ms = r->number[1],
                               .updated_ms = r->number[2]};
}

/* The memo's key of a look-up: mode, length of the tenant's name, tenant, id. */
static struct str workflow_key(struct arena *a, struct str tenant, bool test_mode,
                               struct str workflow_id) {
    size_t n = 1 + sizeof tenant.n + tenant.n + workflow_id.n;
    char *p = arena_alloc(a, n);
    if (!p) return STR_NONE;
    p[0] = test_mode ? MODE_TEST : MODE_LIVE;
    memcpy(p + 1, &tenant.n, sizeof tenant.n);
    if (tenant.n > 0) memcpy(p + 1 + sizeof tenant.n, tenant.p, tenant.n);
    if (workflow_id.n > 0) memcpy(p + n - workflow_id.n, workflow_id.p, workflow_id.n);
    return str_n(p, n);
}

int store_workflow_get(struct store *s, struct str tenant, bool test_mode, struct str workflow_id,
                       struct arena *a, struct workflow_row *out, struct wopr_error *err) {
    struct conn *c;
    struct memo_row r;
    int rc = conn_reader(s, &c, err);
    if (rc != 0) return rc;
    struct str key = workflow_key(a, tenant, test_mode, workflow_id);
    if (key.n > 0 && memo_get(c, SQL_WF_GET, key, a, &r)) {
        workflow_from_memo(&r, out);
        return 0;
    }
    struct query q;
    struct workflow_row w;
    query_begin(&q, c, SQL_WF_GET);
    bind_text(&q, workflow_id);
    bind_text(&q, tenant);
    bind_int(&q, test_mode ? MODE_TEST : MODE_LIVE);
    rc = query_step(&q, err);
    if (rc == 0) return wopr_error_set(err, WOPR_E_NOT_FOUND, "no workflow has this id");
    if (rc == 1) rc = workflow_read(&q, a, &w, err);
    rc = read_end(&q, rc, a, err);
    if (rc != 0) return rc;
    workflow_to_memo(&w, &r);
    memo_put(c, SQL_WF_GET, key, &r);
    *out = w;
    return 0;
}

int store_workflow_by_hash(struct store *s, const struct sha256 *hash, struct arena *a,
                           struct str *text, struct wopr_error *err) {
    struct query q;
    struct str t = STR_NONE;
    int rc = read_begin(&q, s, SQL_WF_TEXT, err);
    if (rc != 0) return rc;
    bind_hash(&q, hash);
    rc = query_step(&q, err);
    if (rc == 0) return wopr_error_set(err, WOPR_E_NOT_FOUND, "no workflow text has this hash");
    if (rc == 1) t = col_str(&q, 0, a);
    rc = read_end(&q, rc, a, err);
    if (rc == 0) *text = t;
    return rc;
}

int store_workflow_list(struct store *s, struct arena *a, struct workflow_row_list *out,
                        struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_WF_LIST, err);
    if (rc != 0) return rc;
    bind_int(&q, STORE_LIST_MAX);
    return list_read(&q, a, workflow_read, out, err);
}
