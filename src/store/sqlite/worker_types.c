/*
 * worker_types.c: types that workers serve (WRK-1 to WRK-5).
 */
#include "store/sqlite/sql.h"
#include "store/tasks.h"

static int type_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct worker_type *)row = (struct worker_type){.tenant = col_str(q, 0, a),
                                                      .type_id = col_str(q, 1, a),
                                                      .test_mode = col_int(q, 2) != 0,
                                                      .revision = col_int(q, 3),
                                                      .input_schema = col_str(q, 4, a),
                                                      .output_schema = col_str(q, 5, a),
                                                      .description = col_str(q, 6, a),
                                                      .created_ms = col_int(q, 7),
                                                      .updated_ms = col_int(q, 8)};
    return 0;
}

static void type_bind(struct query *q, struct str tenant, bool test_mode, struct str type_id) {
    bind_text(q, tenant);
    bind_int(q, test_mode);
    bind_text(q, type_id);
}

static int type_one(struct query *q, struct arena *a, struct worker_type *out, bool *found,
                    struct wopr_error *err) {
    struct worker_type t;
    int rc = query_step(q, err);
    *found = rc == 1;
    if (rc == 1) rc = type_read(q, a, &t, err);
    rc = read_end(q, rc, a, err);
    if (rc == 0 && *found) *out = t;
    return rc;
}

static int type_none(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NOT_FOUND, "no worker has registered this type");
}

int store_worker_type_get(struct store *s, struct str tenant, bool test_mode, struct str type_id,
                          struct arena *a, struct worker_type *out, struct wopr_error *err) {
    struct query q;
    bool found;
    int rc = read_begin(&q, s, SQL_WORKER_TYPE_GET, err);
    if (rc != 0) return rc;
    type_bind(&q, tenant, test_mode, type_id);
    rc = type_one(&q, a, out, &found, err);
    return rc == 0 && !found ? type_none(err) : rc;
}

int store_worker_types(struct store *s, struct str tenant, bool test_mode, struct str after,
                       unsigned max, struct arena *a, struct worker_type_list *out,
                       struct wopr_error *err) {
    struct query q;
    struct worker_type_list l = {.n = 0};
    int rc = read_begin(&q, s, SQL_WORKER_TYPES, err);
    if (rc != 0) return rc;
    type_bind(&q, tenant, test_mode, after);
    bind_int(&q, max < STORE_LIST_MAX ? max : STORE_LIST_MAX);
    rc = list_read(&q, a, type_read, &l, err);
    if (rc == 0) *out = l;
    return rc;
}

/* --- writes --- */

static int writer_get(struct store *s, const struct worker_type *t, struct arena *a,
                      struct worker_type *out, bool *found, struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_WORKER_TYPE_GET);
    type_bind(&q, t->tenant, t->test_mode, t->type_id);
    return type_one(&q, a, out, found, err);
}

static int64_t type_bytes(const struct worker_type *t) {
    return (int64_t)(t->input_schema.n + t->output_schema.n + t->description.n);
}

/* Beside the other types of the tenant. */
static int room_check(struct store *s, const struct worker_type *t, const struct types_room *max,
                      struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_WORKER_TYPES_NR);
    type_bind(&q, t->tenant, t->test_mode, t->type_id);
    int rc = query_step(&q, err);
    int64_t n = rc == 1 ? col_int(&q, 0) : 0, bytes = rc == 1 ? col_int(&q, 1) : 0;
    query_end(&q);
    if (rc < 0) return rc;
    if (n >= (int64_t)max->nr)
        return wopr_error_set(err, WOPR_E_QUOTA,
                              "the tenant has registered %u worker types, as many as it may; "
                              "remove one that is no longer served",
                              max->nr);
    if (bytes + type_bytes(t) <= max->bytes) return 0;
    return wopr_error_set(err, WOPR_E_QUOTA,
                          "schemas and descriptions of the tenant's other worker types have %lld "
                          "bytes, this one has %lld, and all may have %lld; make schemas smaller, "
                          "or remove a type that is no longer served",
                          (long long)bytes, (long long)type_bytes(t), (long long)max->bytes);
}

static int type_write(struct store *s, const struct worker_type *t, struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_WORKER_TYPE_PUT);
    type_bind(&q, t->tenant, t->test_mode, t->type_id);
    bind_opt(&q, t->input_schema);
    bind_opt(&q, t->output_schema);
    bind_opt(&q, t->description);
    bind_int(&q, t->updated_ms);
    bind_int(&q, type_bytes(t));
    return query_run(&q, err);
}

static bool type_same(const struct worker_type *a, const struct worker_type *b) {
    return str_eq(a->input_schema, b->input_schema) && str_eq(a->output_schema, b->output_schema) &&
           str_eq(a->description, b->description);
}

int store_worker_type_put(struct store *s, struct worker_type *t, const struct types_room *max,
                          struct arena *a, bool *changed, struct wopr_error *err) {
    struct worker_type now = {0};
    bool found = false, other = false;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    rc = writer_get(s, t, a, &now, &found, err);
    other = rc == 0 && (!found || !type_same(&now, t));
    if (other) rc = room_check(s, t, max, err);
    if (rc == 0 && other) rc = type_write(s, t, err);
    if (rc == 0 && other) rc = writer_get(s, t, a, &now, &found, err);
    rc = write_end(s, rc, err);
    if (rc != 0) return rc;
    *t = now;
    *changed = other;
    return 0;
}

int store_worker_type_remove(struct store *s, struct str tenant, bool test_mode, struct str type_id,
                             struct wopr_error *err) {
    struct query q;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_WORKER_TYPE_REMOVE);
    type_bind(&q, tenant, test_mode, type_id);
    rc = query_run(&q, err);
    if (rc == 0 && sqlite3_changes64(s->writer->db) == 0) rc = type_none(err);
    return write_end(s, rc, err);
}
