/*
 * memory.c: rows of memory entries.  A deleted one stays until no run of its tenant can see it any
 * more; what the entries of a ref and of a tenant take is counted in the transactions that write
 * and remove them.
 */
#include "store/memory.h"

#include "base/mem.h"
#include "codec/jobj.h"
#include "store/sqlite/sql.h"

static int row_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    struct memory_row *r = row;
    (void)err;
    *r = (struct memory_row){
        .at = {.tenant = col_str(q, 0, a),
               .test_mode = col_int(q, 1) != 0,
               .ref = col_str(q, 2, a)},
        .id = col_str(q, 3, a),
        .writer_run_no = col_int(q, 4),
        .created_ms = col_int(q, 5),
        .expires_ms = col_int(q, 6),
        .deleted_ms = col_int(q, 7),
        .sealed = {.key_no = col_int(q, 8), .box = col_str(q, 9, a)},
    };
    return 0;
}

static void place_bind(struct query *q, const struct memory_place *at) {
    bind_text(q, at->tenant);
    bind_int(q, at->test_mode);
    bind_text(q, at->ref);
}

static void view_bind(struct query *q, const struct memory_place *at,
                      const struct memory_view *view) {
    place_bind(q, at);
    bind_int(q, view->run_no);
    bind_int(q, view->started_ms);
    bind_int(q, view->now_ms);
}

/* ---------------------------------------------------------------- what they take */
static const struct memory_place *whole_of(const struct memory_place *at, struct memory_place *o) {
    *o = (struct memory_place){at->tenant, at->test_mode, STR("")};
    return o;
}

static int usage_full(int64_t now, const struct memory_place *at, int64_t bytes, int64_t most,
                      struct wopr_error *err) {
    if (most <= 0 || now <= most - bytes) return 0;
    return wopr_error_set(err, WOPR_E_QUOTA, "the %s's memory is full; delete entries first",
                          at->ref.n > 0 ? "ref" : "tenant");
}

static int usage_check(struct conn *c, const struct memory_place *at, int64_t bytes, int64_t most,
                       struct wopr_error *err) {
    struct query q;
    if (most <= 0) return 0;
    query_begin(&q, c, SQL_MEMORY_USAGE);
    place_bind(&q, at);
    int rc = query_step(&q, err);
    int64_t now = rc == 1 ? col_int(&q, 0) : 0;
    query_end(&q);
    return rc < 0 ? rc : usage_full(now, at, bytes, most, err);
}

static int64_t row_bytes(const struct memory_row *r) {
    return (int64_t)(r->sealed.box.n + r->at.ref.n + r->id.n) + (int64_t)MEMORY_ROW_BYTES;
}

static int room_look(struct store *s, const struct memory_place *at, int64_t bytes, int64_t most,
                     struct wopr_error *err) {
    struct query q;
    if (most <= 0) return 0;
    int rc = read_begin(&q, s, SQL_MEMORY_USAGE_LOOK, err);
    if (rc != 0) return rc;
    place_bind(&q, at);
    rc = query_step(&q, err);
    int64_t now = rc == 1 ? col_int(&q, 0) : 0;
    query_end(&q);
    return rc < 0 ? rc : usage_full(now, at, bytes, most, err);
}

int store_memory_room(struct store *s, const struct memory_row *r,
                      const struct memory_bounds *bounds, struct wopr_error *err) {
    struct memory_place whole;
    int rc = room_look(s, &r->at, row_bytes(r), bounds->ref, err);
    if (rc != 0) return rc;
    return room_look(s, whole_of(&r->at, &whole), row_bytes(r), bounds->tenant, err);
}

static int usage_count(struct conn *c, const struct memory_place *at, int64_t entries,
                       int64_t bytes, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_MEMORY_USAGE_ADD);
    place_bind(&q, at);
    bind_int(&q, entries);
    bind_int(&q, bytes);
    int rc = query_run(&q, err);
    if (rc != 0 || entries > 0) return rc;
    query_begin(&q, c, SQL_MEMORY_USAGE_DROP);
    place_bind(&q, at);
    return query_run(&q, err);
}

static int usage_both(struct conn *c, const struct memory_place *at, int64_t entries, int64_t bytes,
                      struct wopr_error *err) {
    struct memory_place whole;
    int rc = usage_count(c, at, entries, bytes, err);
    return rc == 0 ? usage_count(c, whole_of(at, &whole), entries, bytes, err) : rc;
}

/* ---------------------------------------------------------------- writes */
/* 1: the same run has written it.  0: no one has.  EXISTS: another run has. */
static int writer_look(struct conn *c, const struct memory_row *r, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_MEMORY_WRITER);
    place_bind(&q, &r->at);
    bind_text(&q, r->id);
    int rc = query_step(&q, err);
    bool same = rc == 1 && col_int(&q, 0) == r->writer_run_no;
    query_end(&q);
    if (rc != 1 || same) return rc;
    return wopr_error_set(err, WOPR_E_EXISTS, "another run wrote a memory entry of this id");
}

static int row_insert(struct conn *c, const struct memory_row *r, int64_t bytes,
                      struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_MEMORY_PUT);
    place_bind(&q, &r->at);
    bind_text(&q, r->id);
    bind_int(&q, r->writer_run_no);
    bind_int(&q, r->created_ms);
    bind_int_opt(&q, r->expires_ms, 0);
    bind_int(&q, r->sealed.key_no);
    bind_bytes(&q, r->sealed.box.p, r->sealed.box.n);
    bind_int(&q, bytes);
    int rc = query_run(&q, err);
    return rc == 0 && sqlite3_changes64(c->db) == 0 ? seal_key_gone(c, err) : rc;
}

static int row_put(struct conn *c, const struct memory_row *r, const struct memory_bounds *bounds,
                   bool *fresh, struct wopr_error *err) {
    const int64_t bytes = row_bytes(r);
    struct memory_place whole;
    int rc = writer_look(c, r, err);
    *fresh = rc == 0;
    if (rc != 0) return rc < 0 ? rc : 0;
    rc = usage_check(c, &r->at, bytes, bounds->ref, err);
    if (rc == 0) rc = usage_check(c, whole_of(&r->at, &whole), bytes, bounds->tenant, err);
    if (rc == 0) rc = row_insert(c, r, bytes, err);
    return rc == 0 ? usage_both(c, &r->at, 1, bytes, err) : rc;
}

int store_memory_put(struct store *s, const struct memory_row *r,
                     const struct memory_bounds *bounds, bool *fresh, struct wopr_error *err) {
    bool added = false;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    rc = write_end(s, row_put(s->writer, r, bounds, &added, err), err);
    if (rc == 0) *fresh = added;
    return rc;
}

int entry_put(const struct row_writer *w, const struct plan_entry *e) {
    const struct memory_bounds bounds = {.ref = e->ref_bytes_max, .tenant = e->tenant_bytes_max};
    const struct memory_row r = {
        .at = {.tenant = e->tenant, .test_mode = e->test_mode, .ref = e->ref},
        .id = e->id,
        .writer_run_no = w->run_no,
        .created_ms = e->created_ms,
        .expires_ms = e->expires_ms,
        .sealed = {.key_no = e->key_no, .box = e->box},
    };
    bool fresh;
    int rc = row_put(w->c, &r, &bounds, &fresh, w->err);
    return rc == WOPR_E_QUOTA ? WOPR_E_TOO_BIG : rc; /* of a plan: its node fails */
}

/* AUD-3.  Of the entry its name alone: contents are in no audit log. */
static int deletion_tell(struct conn *c, const struct memory_place *at, struct str id,
                         int64_t now_ms, struct wopr_error *err) {
    const struct plan_audit row = {
        .at_ms = now_ms, .type = STR("memory.deleted"), .tenant = at->tenant};
    const struct audit_detail said[] = {{"ref", at->ref}, {"id", id}};
    return audit_tell(c, &row, said, 2, at->test_mode, err);
}

int store_memory_delete(struct store *s, const struct memory_place *at, struct str id,
                        int64_t now_ms, struct wopr_error *err) {
    struct query q;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_MEMORY_DELETE);
    bind_int(&q, now_ms);
    place_bind(&q, at);
    bind_text(&q, id);
    rc = query_run(&q, err);
    if (rc == 0 && sqlite3_changes64(s->writer->db) == 0)
        rc = wopr_error_set(err, WOPR_E_NOT_FOUND, "no such memory entry");
    if (rc == 0) rc = deletion_tell(s->writer, at, id, now_ms, err);
    return write_end(s, rc, err);
}

/* ---------------------------------------------------------------- reads */
int store_memory_list(struct store *s, const struct memory_place *at,
                      const struct memory_view *view, const struct memory_row *after, unsigned max,
                      struct arena *a, struct memory_rows *out, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, after ? SQL_MEMORY_LIST : SQL_MEMORY_NEWEST, err);
    if (rc != 0) return rc;
    view_bind(&q, at, view);
    if (after) {
        bind_int(&q, after->created_ms);
        bind_text(&q, after->id);
    }
    bind_int(&q, max);
    return list_read(&q, a, row_read, out, err);
}

int store_memory_find(struct store *s, const struct memory_place *at,
                      const struct memory_view *view, struct str id, struct arena *a,
                      struct memory_row *out, struct wopr_error *err) {
    struct memory_row r;
    struct query q;
    int rc = read_begin(&q, s, SQL_MEMORY_FIND, err);
    if (rc != 0) return rc;
    view_bind(&q, at, view);
    bind_text(&q, id);
    rc = query_step(&q, err);
    bool found = rc == 1;
    if (found) rc = row_read(&q, a, &r, err);
    rc = read_end(&q, rc, a, err);
    if (rc == 0 && !found) return wopr_error_set(err, WOPR_E_NOT_FOUND, "no such memory entry");
    if (rc == 0) *out = r;
    return rc;
}

static int ref_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct memory_ref *)row = (struct memory_ref){col_str(q, 0, a), col_int(q, 1), col_int(q, 2)};
    return 0;
}

int store_memory_refs(struct store *s, const struct memory_place *after, unsigned max,
                      struct arena *a, struct memory_refs *out, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_MEMORY_REFS, err);
    if (rc != 0) return rc;
    place_bind(&q, after);
    bind_int(&q, max);
    return list_read(&q, a, ref_read, out, err);
}

int store_memory_all(struct store *s, int64_t *after, unsigned max, struct arena *a,
                     struct memory_rows *out, struct wopr_error *err) {
    struct memory_rows l = {0};
    size_t cap = 0;
    int64_t last = *after;
    struct query q;
    int rc = read_begin(&q, s, SQL_MEMORY_ALL, err);
    if (rc != 0) return rc;
    bind_int(&q, last);
    bind_int(&q, max);
    while ((rc = query_step(&q, err)) == 1) {
        struct memory_row *r = list_row(a, &l, &cap);
        if (!r) break;
        rc = row_read(&q, a, r, err);
        if (rc != 0) break;
        last = col_int(&q, 10);
    }
    rc = read_end(&q, rc, a, err);
    if (rc != 0) return rc;
    *after = last;
    *out = l;
    return 0;
}

/* ---------------------------------------------------------------- retention */
struct doomed {
    int64_t entry_no, bytes;
    struct memory_place at;
};
struct doomed_list {
    struct doomed *v;
    size_t n;
};

static int doomed_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct doomed *)row =
        (struct doomed){.entry_no = col_int(q, 0),
                        .at = {col_str(q, 1, a), col_int(q, 2) != 0, col_str(q, 3, a)},
                        .bytes = col_int(q, 4)};
    return 0;
}

static int doomed_remove(struct conn *c, const struct doomed_list *l, struct wopr_error *err) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < l->n; i++) {
        struct query q;
        query_begin(&q, c, SQL_MEMORY_REMOVE);
        bind_int(&q, l->v[i].entry_no);
        rc = query_run(&q, err);
        if (rc == 0) rc = usage_both(c, &l->v[i].at, -1, -l->v[i].bytes, err);
    }
    return rc;
}

struct sweep { /* the tenant whose deleted entries are looked at; found before the transaction */
    struct memory_place of;
    bool found;
    int64_t before_ms; /* deleted until then, an entry is seen by none */
};

/* No run that starts later sees less: what holds before the transaction holds inside it. */
static int sweep_find(struct store *s, const struct memory_turn *turn, int64_t now_ms,
                      struct arena *a, struct sweep *out, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_MEMORY_TENANT_NEXT, err);
    if (rc != 0) return rc;
    bind_text(&q, str_n(turn->tenant, turn->tenant_n));
    bind_int(&q, turn->test_mode);
    rc = query_step(&q, err);
    *out = (struct sweep){.found = rc == 1, .before_ms = now_ms - MEMORY_PURGE_AFTER_MS};
    if (out->found)
        out->of = (struct memory_place){col_str(&q, 0, a), col_int(&q, 1) != 0, STR("")};
    rc = read_end(&q, rc, a, err);
    if (rc == 0 && out->found) rc = read_begin(&q, s, SQL_MEMORY_OLDEST_RUN, err);
    if (rc != 0 || !out->found) return rc;
    bind_text(&q, out->of.tenant);
    bind_int(&q, out->of.test_mode);
    rc = query_step(&q, err);
    if (rc == 1 && !col_null(&q, 0) && col_int(&q, 0) <= out->before_ms)
        out->before_ms = col_int(&q, 0) - 1; /* what it wrote and deleted at once it still sees */
    return read_end(&q, rc, a, err);
}

static int slice_remove(struct conn *c, const struct sweep *w, int64_t now_ms, unsigned max,
                        struct arena *a, size_t *expired, size_t *dead, struct wopr_error *err) {
    struct doomed_list l;
    struct query q;
    query_begin(&q, c, SQL_MEMORY_EXPIRED);
    bind_int(&q, now_ms);
    bind_int(&q, max);
    int rc = list_read(&q, a, doomed_read, &l, err);
    if (rc == 0) rc = doomed_remove(c, &l, err);
    if (rc != 0) return rc;
    *expired = l.n;
    if (!w->found || l.n == max) return 0;
    query_begin(&q, c, SQL_MEMORY_DEAD);
    bind_text(&q, w->of.tenant);
    bind_int(&q, w->of.test_mode);
    bind_int(&q, w->before_ms);
    bind_int(&q, (int64_t)(max - l.n));
    rc = list_read(&q, a, doomed_read, &l, err);
    if (rc == 0) rc = doomed_remove(c, &l, err);
    if (rc == 0) *dead = l.n;
    return rc;
}

/* The next slice is that of the next tenant, or after the last one that of the first. */
static void turn_pass(struct memory_turn *turn, const struct sweep *w, bool *more) {
    const struct str tenant = w->found ? w->of.tenant : STR_NONE;
    *more = tenant.n > 0 && tenant.n <= sizeof turn->tenant;
    turn->tenant_n = *more ? tenant.n : 0;
    turn->test_mode = *more && w->of.test_mode;
    memcpy(turn->tenant, tenant.n > 0 ? tenant.p : "", turn->tenant_n);
}

int store_purge_memory(struct store *s, int64_t now_ms, unsigned max, struct memory_turn *turn,
                       int64_t *deleted, bool *more, struct wopr_error *err) {
    struct sweep w;
    size_t expired = 0, dead = 0;
    struct arena *a = arena_new((size_t)max * 4096 + 65536);
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to remove memory entries");
    int rc = sweep_find(s, turn, now_ms, a, &w, err);
    if (rc == 0) rc = write_begin(s, err);
    if (rc == 0)
        rc = write_end(s, slice_remove(s->writer, &w, now_ms, max, a, &expired, &dead, err), err);
    if (rc == 0) {
        *deleted = (int64_t)(expired + dead);
        *more = expired + dead == max;
        if (!*more) turn_pass(turn, &w, more);
    }
    arena_free(a);
    return rc;
}
