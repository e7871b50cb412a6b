/*
 * workflows.c: definitions by id and by content hash (WF-1, AUTH-9).  Texts are shared by hash and
 * never change.
 */
#include "store/workflows.h"
#include "store/sqlite/sql.h"

enum { MODE_LIVE, MODE_TEST, MODE_BOTH };
enum {
    VERSION_BYTES = 256,   /* of a row of versions, besides its text */
    DEAD_MS = 3600 * 1000, /* before what was deleted is looked at */
    DEAD_AT_ONCE = 100,    /* rows of one write */
    DEAD_ARENA_MAX = 256 * 1024
};

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

/* --- versions --- */

static int64_t row_bytes(const struct workflow_row *w) {
    return (int64_t)w->text.n + VERSION_BYTES;
}

static int number_read(struct query *q, int64_t *out, struct wopr_error *err) {
    int rc = query_step(q, err);
    if (rc < 0) return rc;
    *out = rc == 1 ? col_int(q, 0) : 0;
    query_end(q);
    return 0;
}

static int usage_read(struct store *s, struct str tenant, int64_t *bytes, struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_WF_USAGE_GET);
    bind_text(&q, tenant);
    return number_read(&q, bytes, err);
}

static int usage_move(struct store *s, struct str tenant, int64_t bytes, struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_WF_USAGE_ADD);
    bind_text(&q, tenant);
    bind_int(&q, bytes);
    return query_run(&q, err);
}

static void version_bind(struct query *q, const struct workflow_row *w) {
    bind_text(q, w->tenant);
    bind_text(q, w->workflow_id);
    bind_int(q, mode_of(w));
}

static int revision_last(struct store *s, const struct workflow_row *w, int64_t *last,
                         struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_WF_VERSION_LAST);
    version_bind(&q, w);
    return number_read(&q, last, err);
}

static int version_add(struct store *s, const struct workflow_row *w, int64_t *revision,
                       struct wopr_error *err) {
    struct query q;
    int64_t last = 0;
    int rc = revision_last(s, w, &last, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_WF_VERSION_PUT);
    version_bind(&q, w);
    bind_int(&q, last + 1);
    bind_hash(&q, &w->hash);
    bind_text(&q, w->version);
    bind_int(&q, row_bytes(w));
    bind_int(&q, w->updated_ms);
    bind_text(&q, w->created_by);
    rc = query_run(&q, err);
    if (rc == 0) rc = usage_move(s, w->tenant, row_bytes(w), err);
    *revision = last + 1;
    return rc;
}

/* --- versions of deleted workflows --- */

struct dead {
    struct str workflow_id;
    int64_t mode, revision, bytes;
    struct sha256 hash;
    bool needed; /* by a run */
};
struct dead_list {
    struct dead *v;
    size_t n;
};

static int dead_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    struct dead *d = row;
    (void)err;
    *d = (struct dead){.workflow_id = col_str(q, 0, a),
                       .mode = col_int(q, 1),
                       .revision = col_int(q, 2),
                       .bytes = col_int(q, 4),
                       .needed = col_int(q, 5) > 0};
    (void)col_hash(q, 3, &d->hash);
    return 0;
}

static void dead_bind(struct query *q, struct str tenant, const struct dead *d) {
    bind_text(q, tenant);
    bind_text(q, d->workflow_id);
    bind_int(q, d->mode);
    bind_int(q, d->revision);
}

static int dead_drop(struct store *s, struct str tenant, const struct dead *d, int64_t now_ms,
                     struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, d->needed ? SQL_WF_VERSION_LATER : SQL_WF_VERSION_DROP);
    dead_bind(&q, tenant, d);
    if (d->needed) bind_int(&q, now_ms);
    int rc = query_run(&q, err);
    if (rc != 0 || d->needed) return rc;
    rc = usage_move(s, tenant, -d->bytes, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_WF_TEXT_DROP);
    bind_hash(&q, &d->hash);
    return query_run(&q, err);
}

/* A run that a host was about to create when the workflow was deleted has been created long since,
 * so what no run needs now, none will.  Shared texts stay: any tenant may have runs of them. */
static int dead_reclaim(struct store *s, const struct workflow_row *w, struct wopr_error *err) {
    struct dead_list all = {NULL, 0};
    struct query q;
    if (w->tenant.n == 0) return 0;
    struct arena *a = arena_new(DEAD_ARENA_MAX);
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a workflow");
    query_begin(&q, s->writer, SQL_WF_DEAD);
    bind_text(&q, w->tenant);
    bind_int(&q, w->updated_ms - DEAD_MS);
    bind_int(&q, DEAD_AT_ONCE);
    int rc = list_read(&q, a, dead_read, &all, err);
    for (size_t i = 0; rc == 0 && i < all.n; i++)
        rc = dead_drop(s, w->tenant, &all.v[i], w->updated_ms, err);
    arena_free(a);
    return rc;
}

/* --- writes --- */

static int revision_expect(const struct workflow_terms *terms, const struct workflow_put *now,
                           struct wopr_error *err) {
    int64_t wanted = terms->if_revision;
    if (wanted == WORKFLOW_ANY || wanted == now->revision) return 0;
    if (now->revision == 0)
        return wopr_error_set(err, WOPR_E_CONFLICT,
                              "no workflow of this id is stored, and the put is for its revision "
                              "%lld; 0 stores a new one",
                              (long long)wanted);
    if (wanted == 0)
        return wopr_error_set(err, WOPR_E_CONFLICT,
                              "a workflow of this id is stored already, revision %lld, and the put "
                              "is for a new one",
                              (long long)now->revision);
    return wopr_error_set(err, WOPR_E_CONFLICT,
                          "revision %lld of the workflow is stored, and the put is for revision "
                          "%lld: read what is stored, and put what follows from it",
                          (long long)now->revision, (long long)wanted);
}

static int workflow_place(struct store *s, const struct workflow_row *w,
                          const struct workflow_terms *terms, struct workflow_put *out,
                          struct wopr_error *err) {
    int64_t bytes_max = terms->bytes_max;
    int rc = workflow_compare(s, w, &out->what, err);
    if (rc == 0 && out->what != PUT_CREATED) rc = revision_last(s, w, &out->revision, err);
    if (rc != 0 || out->what == PUT_SAME) return rc;
    rc = revision_expect(terms, out, err);
    if (rc == 0) rc = dead_reclaim(s, w, err);
    if (rc == 0) rc = usage_read(s, w->tenant, &out->bytes, err);
    if (rc == 0 && bytes_max > 0 && out->bytes + row_bytes(w) > bytes_max)
        return wopr_error_set(err, WOPR_E_QUOTA,
                              "the workflows of this tenant take %lld bytes with their versions, "
                              "and may take %lld (tenant-workflow-bytes-max); delete some, or "
                              "raise the setting",
                              (long long)out->bytes, (long long)bytes_max);
    if (rc == 0) rc = workflow_write(s, w, err);
    return rc == 0 ? version_add(s, w, &out->revision, err) : rc;
}

/* AUD-3.  What all tenants share is the operator's, from files. */
static int change_tell(struct store *s, const char *type, const struct workflow_row *w,
                       struct wopr_error *err) {
    const struct plan_audit row = {
        .at_ms = w->updated_ms, .type = str_c(type), .tenant = w->tenant, .key_id = w->created_by};
    char hex[65] = "";
    if (w->tenant.n == 0) return 0;
    if (w->text.n > 0) sha256_hex(&w->hash, hex);
    const struct audit_detail said[] = {{"workflowId", w->workflow_id}, {"sha256", str_c(hex)}};
    return audit_tell(s->writer, &row, said, 2, w->test_mode, err);
}

int store_workflow_put_on(struct store *s, const struct workflow_row *w,
                          const struct workflow_terms *terms, struct workflow_put *out,
                          struct wopr_error *err) {
    struct workflow_put r = {.what = PUT_SAME};
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    rc = workflow_place(s, w, terms, &r, err);
    if (rc == 0 && r.what != PUT_SAME) rc = change_tell(s, "workflow.stored", w, err);
    rc = write_end(s, rc, err);
    if (rc == 0 || rc == WOPR_E_QUOTA || rc == WOPR_E_CONFLICT) *out = r;
    return rc;
}

int store_workflow_put(struct store *s, const struct workflow_row *w, enum put_result *what,
                       struct wopr_error *err) {
    static const struct workflow_terms ANY = {0, WORKFLOW_ANY};
    struct workflow_put r = {.what = PUT_SAME};
    int rc = store_workflow_put_on(s, w, &ANY, &r, err);
    if (rc == 0 && what) *what = r.what;
    return rc;
}

static int workflow_remove(struct store *s, const struct workflow_row *w, struct wopr_error *err) {
    enum put_result there = PUT_CREATED;
    struct query q;
    int rc = workflow_compare(s, w, &there, err);
    if (rc == 0 && there == PUT_CREATED)
        rc = wopr_error_set(err, WOPR_E_NOT_FOUND, "no workflow has this id");
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_WF_DELETE);
    bind_text(&q, w->workflow_id);
    bind_text(&q, w->tenant);
    bind_int(&q, mode_of(w));
    rc = query_run(&q, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_WF_VERSIONS_KILL);
    version_bind(&q, w);
    bind_int(&q, w->updated_ms);
    rc = query_run(&q, err);
    return rc == 0 ? dead_reclaim(s, w, err) : rc;
}

int store_workflow_delete(struct store *s, const struct workflow_row *w, struct wopr_error *err) {
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    rc = workflow_remove(s, w, err);
    if (rc == 0) rc = change_tell(s, "workflow.deleted", w, err);
    return write_end(s, rc, err);
}

/* --- reads --- */

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

int store_workflow_page(struct store *s, struct str tenant, bool test_mode, struct str after,
                        unsigned max, struct arena *a, struct workflow_row_list *out, bool *more,
                        struct wopr_error *err) {
    struct workflow_row_list all;
    struct query q;
    size_t n = 0;
    int rc = read_begin(&q, s, SQL_WF_PAGE, err);
    if (rc != 0) return rc;
    bind_text(&q, tenant);
    bind_int(&q, test_mode ? MODE_TEST : MODE_LIVE);
    bind_text(&q, after.p ? after : STR(""));
    bind_int(&q, 2 * ((int64_t)max + 1)); /* an id may come in two modes */
    rc = list_read(&q, a, workflow_read, &all, err);
    if (rc != 0) return rc;
    for (size_t i = 0; i < all.n; i++)
        if (n == 0 || !str_eq(all.v[n - 1].workflow_id, all.v[i].workflow_id))
            all.v[n++] = all.v[i];
    *more = n > max;
    out->v = all.v;
    out->n = n > max ? max : n;
    return 0;
}

static int version_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    struct workflow_version *v = row;
    (void)err;
    *v = (struct workflow_version){.revision = col_int(q, 0),
                                   .version = col_str(q, 2, a),
                                   .created_ms = col_int(q, 3),
                                   .created_by = col_str(q, 4, a)};
    (void)col_hash(q, 1, &v->hash);
    return 0;
}

int store_workflow_versions(struct store *s, const struct workflow_row *w, int64_t below,
                            unsigned max, struct arena *a, struct workflow_version_list *out,
                            struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_WF_VERSIONS, err);
    if (rc != 0) return rc;
    version_bind(&q, w);
    bind_int(&q, below);
    bind_int(&q, max);
    return list_read(&q, a, version_read, out, err);
}

int store_workflow_revision(struct store *s, const struct workflow_row *w, int64_t revision,
                            struct arena *a, struct str *text, struct wopr_error *err) {
    struct query q;
    struct str t = STR_NONE;
    int rc = read_begin(&q, s, SQL_WF_VERSION_TEXT, err);
    if (rc != 0) return rc;
    version_bind(&q, w);
    bind_int(&q, revision);
    rc = query_step(&q, err);
    if (rc == 0) return wopr_error_set(err, WOPR_E_NOT_FOUND, "the workflow has no such revision");
    if (rc == 1) t = col_str(&q, 0, a);
    rc = read_end(&q, rc, a, err);
    if (rc == 0) *text = t;
    return rc;
}
