/*
 * memo.c: rows that every request asks for (its API key, its workflow), remembered for as long as
 * the file has not changed.
 *
 * Every commit to a WAL database, by whatever process, rewrites the header of the wal-index that
 * all connections map (sqlite.org/walformat.html, 2.1): salts, last frame, checksum.  A row read
 * under one header stays valid as long as the header is the same, so an answer from here is exactly
 * the one the query would give, without its locks.  The header is read before the query: a commit
 * in between makes the next look-up miss, never a stale one hit.
 */
#include "base/mem.h"
#include "store/sqlite/sql.h"

enum {
    WAL_HEAD_WORDS = sizeof(struct wal_head) / sizeof(uint32_t),
    WAL_REGION_BYTES = 32768,
    MEMO_BYTES_MAX = 32 * 1024 /* key and texts of one row; larger ones are not remembered */
};

/* The mapped header of c, NULL when its VFS has none.  It stays mapped while c is open. */
static const volatile uint32_t *wal_index(struct conn *c) {
    sqlite3_file *f = NULL;
    void volatile *p = NULL;
    if (c->wal_index || c->wal_index_none || !c->store->writer) return c->wal_index;
    int rc = sqlite3_file_control(c->db, "main", SQLITE_FCNTL_FILE_POINTER, &f);
    if (rc == SQLITE_OK && f && f->pMethods && f->pMethods->iVersion >= 2 && f->pMethods->xShmMap)
        rc = f->pMethods->xShmMap(f, 0, WAL_REGION_BYTES, 0, &p);
    if (rc == SQLITE_OK && p) c->wal_index = p;
    else c->wal_index_none = true;
    return c->wal_index;
}

/* SQLite writes the second copy first; two equal copies are a whole header. */
static bool wal_head_read(struct conn *c, struct wal_head *out) {
    const volatile uint32_t *p = wal_index(c);
    struct wal_head again;
    if (!p) return false;
    for (size_t i = 0; i < WAL_HEAD_WORDS; i++) out->w[i] = p[i];
    atomic_thread_fence(memory_order_seq_cst);
    for (size_t i = 0; i < WAL_HEAD_WORDS; i++) again.w[i] = p[WAL_HEAD_WORDS + i];
    return memcmp(out, &again, sizeof again) == 0;
}

/* Two places per hash: rows that every request needs must not evict each other. */
static struct memo *memo_bucket(struct conn *c, enum stmt_id id, struct str key) {
    return &c->memos[str_hash(key, (uint64_t)id) % (STORE_MEMOS / 2) * 2];
}

static bool memo_matches(const struct memo *m, enum stmt_id id, struct str key) {
    return m->block && m->id == id && str_eq(m->key, key);
}

static struct memo *memo_slot(struct conn *c, enum stmt_id id, struct str key) {
    struct memo *m = memo_bucket(c, id, key);
    if (memo_matches(m, id, key)) return m;
    bool stale = !m->block || memcmp(&m->head, &c->memo_head, sizeof m->head) != 0;
    return stale && !memo_matches(m + 1, id, key) ? m : m + 1;
}

static struct str text_take(char **at, struct str s) {
    if (s.n > 0) memcpy(*at, s.p, s.n);
    struct str copy = str_n(*at, s.n);
    *at += s.n;
    return copy;
}

bool memo_get(struct conn *c, enum stmt_id id, struct str key, struct arena *a,
              struct memo_row *out) {
    /* SQLite maps the wal-index at its first read; before that there is none. */
    c->memo_ready = c->has_read && wal_head_read(c, &c->memo_head);
    c->has_read = true;
    if (!c->memo_ready) return false;
    const struct memo *m = memo_bucket(c, id, key);
    if (!memo_matches(m, id, key)) m++;
    if (!memo_matches(m, id, key) || memcmp(&m->head, &c->memo_head, sizeof m->head) != 0)
        return false;
    struct memo_row r = m->row;
    for (size_t i = 0; i < MEMO_TEXTS; i++)
        r.text[i] = m->row.text[i].n > 0 ? arena_str(a, m->row.text[i]) : STR_NONE;
    if (arena_failed(a)) return false; /* the caller's query fails too, and reports it */
    *out = r;
    return true;
}

void memo_put(struct conn *c, enum stmt_id id, struct str key, const struct memo_row *row) {
    if (!c->memo_ready) return;
    size_t n = key.n;
    for (size_t i = 0; i < MEMO_TEXTS; i++) n += row->text[i].n;
    if (n > MEMO_BYTES_MAX) return;
    struct memo *m = memo_slot(c, id, key);
    char *block = mem_alloc(n > 0 ? n : 1), *at = block;
    if (!block) return; /* then it is not remembered */
    mem_free(m->block);
    *m = (struct memo){.block = block, .id = id, .head = c->memo_head, .row = *row};
    m->key = text_take(&at, key);
    for (size_t i = 0; i < MEMO_TEXTS; i++) m->row.text[i] = text_take(&at, row->text[i]);
}

void memo_free(struct conn *c) {
    for (size_t i = 0; i < STORE_MEMOS; i++) mem_free(c->memos[i].block);
}
