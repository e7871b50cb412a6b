/*
 * query.h: the statements of stmts.def: bound, stepped, read (conn.c).  Layer: store, not for
 * others.  They are prepared at first use, once per connection.
 */
#ifndef WOPR_STORE_SQLITE_QUERY_H
#define WOPR_STORE_SQLITE_QUERY_H

#include "base/arena.h"
#include "base/error.h"
#include "codec/bytes.h"

#include <sqlite3.h>

enum { ST_READ = 1, ST_WRITE = 2, ST_HOT = 4 };
enum stmt_id {
#define STMT(id, flags, text) SQL_##id,
#include "store/sqlite/stmts.def"
#undef STMT
    SQL_NR
};
struct stmt_row {
    const char *name;
    unsigned flags;
    const char *text;
};
extern const struct stmt_row STMTS[SQL_NR];

struct conn; /* sql.h */
/* A statement being bound and stepped.  Each bind call fills the next parameter; query_step reports
 * their first failure. */
struct query {
    struct conn *c;
    sqlite3_stmt *st;
    int rc; /* SQLite code of the first failure */
    int at; /* last parameter bound */
};
/* Takes the prepared statement of the connection; every begin has its query_end. */
void query_begin(struct query *q, struct conn *c, enum stmt_id id);
void bind_text(struct query *q, struct str s); /* empty stays '' */
/* The next parameter, in order; texts and bytes are borrowed until query_end.  A failure shows in
 * the next step. */
void bind_null(struct query *q);
void bind_opt(struct query *q, struct str s); /* empty becomes NULL */
void bind_int(struct query *q, int64_t v);
void bind_int_opt(struct query *q, int64_t v, int64_t null_when);
void bind_hash(struct query *q, const struct sha256 *d);
void bind_bytes(struct query *q, const void *p, size_t n);
/* 1: a row is there.  0: done.  Negative: neutral code.  After 0 and failure the statement is
 * reset. */
MUST_CHECK int query_step(struct query *q, struct wopr_error *err);
void query_end(struct query *q);                                   /* reset; harmless twice */
MUST_CHECK int query_run(struct query *q, struct wopr_error *err); /* step to the end, 0 or code */
/* Columns of the current row.  Copies live in the arena (see arena_failed); NULL reads as empty. */
struct str col_str(struct query *q, int i, struct arena *a);
/* Until the next step.  It needs no memory; a text of SQLite may, and is NULL without it. */
struct str col_view(struct query *q, int i);
int64_t col_int(struct query *q, int i);
bool col_null(struct query *q, int i);
bool col_hash(struct query *q, int i, struct sha256 *out); /* false unless 32 bytes */

#endif
