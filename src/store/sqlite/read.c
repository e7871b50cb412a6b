/*
 * read.c: reads rows: begins on this thread's reader, then copies one row or a list of them into
 * the caller's arena.
 */
#include "store/sqlite/sql.h"

enum { LIST_FIRST_ROWS = 16 };

int read_begin(struct query *q, struct store *s, enum stmt_id id, struct wopr_error *err) {
    struct conn *c;
    int rc = conn_reader(s, &c, err);
    if (rc == 0) query_begin(q, c, id);
    return rc;
}

int read_end(struct query *q, int rc, struct arena *a, struct wopr_error *err) {
    query_end(q);
    if (rc < 0) return rc;
    return arena_failed(a)
               ? wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to read from the store")
               : 0;
}

void *list_row_bytes(struct arena *a, void *v, size_t *n, size_t *cap, size_t size) {
    void *p;
    memcpy(&p, v, sizeof p); /* v is the address of a typed array pointer */
    if (*n == *cap) {
        size_t want = *cap ? *cap * 2 : LIST_FIRST_ROWS;
        void *bigger = arena_array(a, want, size);
        if (!bigger) return NULL;
        if (*n > 0) memcpy(bigger, p, *n * size);
        p = bigger;
        memcpy(v, &p, sizeof p);
        *cap = want;
    }
    return (char *)p + size * (*n)++;
}

int list_read_bytes(struct query *q, struct arena *a, row_read_fn *read, size_t size, void *v,
                    size_t *n, struct wopr_error *err) {
    void *rows = NULL;
    size_t nr = 0, cap = 0;
    int rc;
    while ((rc = query_step(q, err)) == 1) {
        void *row = list_row_bytes(a, &rows, &nr, &cap, size);
        if (!row) break;
        rc = read(q, a, row, err);
        if (rc != 0) break;
    }
    rc = read_end(q, rc, a, err);
    if (rc != 0) return rc;
    memcpy(v, &rows, sizeof rows);
    *n = nr;
    return 0;
}

int row_read_number(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)a, (void)err;
    *(int64_t *)row = col_int(q, 0);
    return 0;
}
