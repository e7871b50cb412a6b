/*
 * seals.c: sealed clear values and data keys (OBS-71, CHAN-24).
 *
 * Sealed values are referred to like events.  A fork gets rows in sealed_holds, one for each run
 * that has sealed a part of its prefix, made of those of its source: their number is that of runs
 * with sealed values, and no chain is walked.  The end of a run deletes what no hold of another
 * unfinished fork needs, of itself and of ended runs that it held: a page in its own transaction,
 * the rest between other commits (sealed_rests).  A run whose values a hold needs stays buried
 * until the hold goes, also when no fork shows its events: forks of before migration 0018 own
 * copies of what their source sealed.  Rows of an ended run open for its holders only; a fork that
 * read values of a source that ends before its commit is refused (STALE) and made again.  A sealed
 * row is inserted WHERE EXISTS its data key; data keys are dropped only when nothing is sealed, in
 * the same transaction, and no other host is present.
 */
#include "store/seals.h"
#include "store/sqlite/sql.h"

static int key_row_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct seal_key_row *)row = (struct seal_key_row){.key_no = col_int(q, 0),
                                                        .kek = col_str(q, 1, a),
                                                        .wrapped = col_str(q, 2, a),
                                                        .created_ms = col_int(q, 3),
                                                        .retired_ms = col_int(q, 4)};
    return 0;
}

int store_seal_keys(struct store *s, struct arena *a, struct seal_key_list *out,
                    struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_SEAL_KEYS, err);
    return rc == 0 ? list_read(&q, a, key_row_read, out, err) : rc;
}

static int number_read(struct conn *c, enum stmt_id id, int64_t *out, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, id);
    int rc = query_step(&q, err);
    if (rc < 0) return rc;
    *out = rc == 1 ? col_int(&q, 0) : 0;
    query_end(&q);
    return 0;
}

static int key_put(struct conn *c, const struct seal_key_row *k, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_SEAL_KEY_PUT);
    bind_int(&q, k->key_no);
    bind_text(&q, k->kek);
    bind_bytes(&q, k->wrapped.p, k->wrapped.n);
    bind_int(&q, k->created_ms);
    bind_int_opt(&q, k->retired_ms, 0);
    return query_run(&q, err);
}

int store_seal_keys_put(struct store *s, const struct seal_key_list *keys,
                        const struct seal_keys_were *was, struct wopr_error *err) {
    int64_t now_no = 0, sealed = 0;
    struct query q;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    rc = number_read(s->writer, SQL_SEAL_KEY_LAST, &now_no, err);
    if (rc == 0 && was->dropped) rc = number_read(s->writer, SQL_SEALED_ANY, &sealed, err);
    if (rc == 0 && (now_no != was->last_no || sealed != 0))
        rc = wopr_error_set(err, WOPR_E_STALE, "another process has changed the data keys");
    if (rc == 0) {
        query_begin(&q, s->writer, SQL_SEAL_KEYS_DROP);
        rc = query_run(&q, err);
    }
    for (size_t i = 0; rc == 0 && i < keys->n; i++) rc = key_put(s->writer, &keys->v[i], err);
    return write_end(s, rc, err);
}

/* RETRY: what is sealed after this is sealed with another key (vault.h, V2). */
int seal_key_gone(struct conn *c, struct wopr_error *err) {
    atomic_store(&c->store->seal_key_gone, true);
    return wopr_error_set(err, WOPR_E_UNAVAILABLE,
                          "the data key of sensitive values was replaced by another process");
}

bool store_seal_key_gone(struct store *s) { return atomic_exchange(&s->seal_key_gone, false); }

int store_seals_any(struct store *s, bool *any, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_SEALED_ANY, err);
    if (rc != 0) return rc;
    rc = query_step(&q, err);
    bool found = rc == 1;
    query_end(&q);
    if (rc >= 0) *any = found;
    return rc < 0 ? rc : 0;
}

static int sealed_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct sealed_row *)row = (struct sealed_row){
        {.seq = col_int(q, 0), .key_no = col_int(q, 1), .box = col_str(q, 2, a)}, col_str(q, 3, a)};
    return 0;
}

int store_sealed(struct store *s, int64_t run_no, int64_t from, int64_t until, struct arena *a,
                 struct sealed_list *out, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_SEALED, err);
    if (rc != 0) return rc;
    bind_int(&q, run_no);
    bind_int(&q, from);
    bind_int(&q, until);
    return list_read(&q, a, sealed_read, out, err);
}

/* ------------------------------------------------------------------------------ rows of a plan */
int sealed_put(const struct row_writer *w, const struct plan_sealed *row) {
    struct query q;
    int rc;
    /* A task that ended in the plan in which it began wants nothing any more. */
    if (row->seq <= SEALED_TASKS && !task_wants_box(w, row->seq, &rc)) return rc;
    query_begin(&q, w->c, SQL_SEALED_PUT);
    bind_int(&q, w->run_no);
    bind_int(&q, row->seq);
    bind_int(&q, row->key_no);
    bind_bytes(&q, row->box.p, row->box.n);
    rc = query_run(&q, w->err);
    if (rc != 0 || sqlite3_changes64(w->c->db) == 1) return rc;
    return seal_key_gone(w->c, w->err);
}

static int sealed_run(struct conn *c, enum stmt_id id, int64_t run_no, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, id);
    bind_int(&q, run_no);
    return query_run(&q, err);
}

/* --- the end of a run: pages, so that no transaction is as long as a run --- */

struct page { /* of one transaction */
    struct conn *c;
    int64_t values, images; /* that it may still remove */
    struct wopr_error *err;
};

static struct page page_begin(struct conn *c, struct wopr_error *err) {
    return (struct page){c, STORE_UNSEAL_VALUES, STORE_UNSEAL_IMAGES, err};
}

/* Delete of what run_no sealed that no fork but `ends` needs. */
static int page_delete(struct page *p, enum stmt_id id, int64_t run_no, int64_t ends,
                       int64_t *budget) {
    struct query q;
    if (*budget == 0) return 0;
    query_begin(&q, p->c, id);
    bind_int(&q, run_no);
    bind_int(&q, ends);
    bind_int(&q, *budget);
    int rc = query_run(&q, p->err);
    if (rc == 0) *budget -= sqlite3_changes64(p->c->db);
    return rc;
}

/* run_no has ended.  *whole: nothing is left to remove of it. */
static int page_unseal(struct page *p, int64_t run_no, int64_t ends, bool *whole) {
    int rc = page_delete(p, SQL_SEALED_END_VALUES, run_no, ends, &p->values);
    if (rc == 0) rc = page_delete(p, SQL_SEALED_END_CHILDREN, run_no, ends, &p->values);
    if (rc == 0) rc = page_delete(p, SQL_SEALED_END_IMAGES, run_no, ends, &p->images);
    *whole = p->values > 0 && p->images > 0;
    return rc;
}

static int run_unseal(struct page *p, int64_t run_no, int64_t ends) {
    bool whole;
    int rc = page_unseal(p, run_no, ends, &whole);
    if (rc != 0 || whole) return rc;
    rc = sealed_run(p->c, SQL_SEALED_REST_PUT, run_no, p->err);
    if (rc == 0) atomic_store(&p->c->store->seals_rest, true);
    return rc;
}

/* A fork has ended: runs that ended before it kept what it needed, also from retention. */
static int holds_end(struct page *p, int64_t run_no) {
    struct query q;
    int rc, failed = 0;
    query_begin(&q, p->c, SQL_SEALED_OWNERS);
    bind_int(&q, run_no);
    while (failed == 0 && (rc = query_step(&q, p->err)) == 1) {
        int64_t owner_no = col_int(&q, 0);
        failed = run_unseal(p, owner_no, run_no);
        if (failed == 0) failed = sealed_run(p->c, SQL_BURIAL_UNUSED, owner_no, p->err);
    }
    query_end(&q);
    if (failed == 0) failed = rc;
    return failed == 0 ? sealed_run(p->c, SQL_SEALED_UNHOLD, run_no, p->err) : failed;
}

/* The run has ended: nothing reads its clear values any more, but for what it leaves to a parent
 * that goes on, and what its forks have inherited; and what its own children left to it, it has
 * read. */
int sealed_end(const struct row_writer *w, const struct plan *p) {
    if (!p->unseals) return 0;
    struct page page = page_begin(w->c, w->err);
    int rc = sealed_run(w->c, SQL_SEALED_END, w->run_no, w->err);
    if (rc == 0) rc = run_unseal(&page, w->run_no, w->run_no);
    return rc == 0 ? holds_end(&page, w->run_no) : rc;
}

bool store_seals_rest(struct store *s) { return atomic_exchange(&s->seals_rest, false); }

static int rest_next(struct conn *c, int64_t after, int64_t *run_no, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_SEALED_REST_NEXT);
    bind_int(&q, after);
    int rc = query_step(&q, err);
    *run_no = rc == 1 ? col_int(&q, 0) : 0;
    query_end(&q);
    return rc < 0 ? rc : 0;
}

int store_seals_sweep(struct store *s, bool *more, struct wopr_error *err) {
    int64_t run_no = 0;
    bool whole = true;
    int runs_left = STORE_UNSEAL_VALUES;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    struct page page = page_begin(s->writer, err);
    do {
        rc = rest_next(s->writer, run_no, &run_no, err);
        if (rc == 0 && run_no > 0) rc = page_unseal(&page, run_no, 0, &whole);
        if (rc == 0 && run_no > 0 && whole)
            rc = sealed_run(s->writer, SQL_SEALED_REST_DROP, run_no, err);
    } while (rc == 0 && run_no > 0 && whole && --runs_left > 0);
    rc = write_end(s, rc, err);
    if (rc == 0) *more = run_no > 0;
    return rc;
}

int sealed_hold(struct conn *c, int64_t run_no, const struct run_fork *link,
                struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_SEALED_HOLD);
    bind_int(&q, run_no);
    bind_int(&q, link->source_run_no);
    bind_int(&q, link->from_seq);
    return query_run(&q, err);
}

/* ------------------------------------------------------------------------------ older programs */
int store_old_clear_next(struct store *s, int64_t after, int64_t *run_no, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_OLD_CLEAR_NEXT, err);
    if (rc != 0) return rc;
    bind_int(&q, after);
    rc = query_step(&q, err);
    int64_t found = rc == 1 ? col_int(&q, 0) : 0;
    query_end(&q);
    if (rc >= 0) *run_no = found;
    return rc < 0 ? rc : 0;
}

static int old_clear_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct old_clear *)row =
        (struct old_clear){col_str(q, 0, a), col_str(q, 1, a), col_int(q, 2)};
    return 0;
}

int store_old_clear(struct store *s, int64_t run_no, struct arena *a, struct old_clear_list *out,
                    struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_OLD_CLEAR, err);
    if (rc != 0) return rc;
    bind_int(&q, run_no);
    bind_int(&q, EV_VARIABLE_CHANGED);
    return list_read(&q, a, old_clear_read, out, err);
}

static int old_inputs_put(struct conn *c, const struct old_sealed *o, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_OLD_INPUTS_PUT);
    bind_text(&q, o->inputs);
    bind_int(&q, o->inputs_sealed);
    bind_int(&q, o->run_no);
    return query_run(&q, err);
}

static int old_mark(struct conn *c, int64_t run_no, int64_t seq, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_OLD_EVENT_MARK);
    bind_int(&q, run_no);
    bind_int(&q, seq);
    return query_run(&q, err);
}

static int old_shown(struct conn *c, int64_t run_no, const struct old_clear *v,
                     struct wopr_error *err) {
    struct query q;
    if (v->seq < 0) return 0;
    query_begin(&q, c, SQL_OLD_SHOWN);
    bind_int(&q, run_no);
    bind_int(&q, v->seq);
    bind_text(&q, v->name);
    return query_run(&q, err);
}

/* Another host that starts may have done it, and the run may have gone on or ended since. */
static int old_left(struct conn *c, int64_t run_no, bool *left, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_OLD_CLEAR_ANY);
    bind_int(&q, run_no);
    int rc = query_step(&q, err);
    *left = rc == 1;
    query_end(&q);
    return rc < 0 ? rc : 0;
}

int store_old_sealed(struct store *s, const struct old_sealed *o, struct wopr_error *err) {
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    struct conn *c = s->writer;
    const struct row_writer w = {.c = c, .run_no = o->run_no, .now_ms = 0, .err = err};
    bool left = false;
    rc = old_left(c, o->run_no, &left, err);
    if (rc != 0 || !left) return write_end(s, rc, err);
    if (o->inputs.p) rc = old_inputs_put(c, o, err);
    for (size_t i = 0; rc == 0 && i < o->rows_nr; i++) {
        rc = sealed_put(&w, &o->rows[i]);
        if (rc == 0 && o->rows[i].seq >= 0) rc = old_mark(c, o->run_no, o->rows[i].seq, err);
    }
    for (size_t i = 0; rc == 0 && i < o->was->n; i++)
        rc = old_shown(c, o->run_no, &o->was->v[i], err);
    if (rc == 0) rc = sealed_run(c, SQL_OLD_OMITTED_DROP, o->run_no, err);
    if (rc == 0) rc = sealed_run(c, SQL_OLD_CLEAR_DROP, o->run_no, err);
    return write_end(s, rc, err);
}
