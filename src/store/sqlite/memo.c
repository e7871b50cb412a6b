/*
 * memo.c: rows that every request asks for (its API key, its workflow), remembered for as long as
 * the file has not changed.
 *
 * Every commit to a WAL database, by whatever process, rewrites the header of the wal-index that
 * all connections map (sqlite.org/walformat.html, 2.1): salts, last frame, checksum.  A row read
 * under one header stays valid as long as the header is the same, so an answer from here is exactly
 * the one the query would give, without its locks.  The header is read before the query: a commit
 * in between makes the next look-up miss, never a stale one hit.
 *
 * A batch of plans touches neither keys nor workflows, so such a row outlives it, if nobody else
 * has committed meanwhile.  The header shows that, too: before a batch, under the write lock, it
 * must be the one that the batch before left; after it, exactly one transaction later (iChange),
 * with as many frames as SQLite said.  Batches that follow each other so are of one era; a row that
 * was read under the header of a batch holds under that of each later one of its era.
 */
#include "base/mem.h"
#include "store/sqlite/sql.h"

enum {
    WAL_CHANGE = 2, /* words of the header: transactions so far */
    WAL_FRAMES = 4, /* the last valid frame */
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

static bool head_same(const struct wal_head *a, const struct wal_head *b) {
    return memcmp(a, b, sizeof *a) == 0;
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
    bool stale = !m->block || !head_same(&m->head, &c->memo_head);
    return stale && !memo_matches(m + 1, id, key) ? m : m + 1;
}

/* The era of the header that c has just read, 0 when it is not that of a batch of ours. */
static uint64_t era_now(struct conn *c) {
    struct store *s = c->store;
    pthread_mutex_lock(&s->own.lock);
    uint64_t era = s->own.known && head_same(&s->own.head, &c->memo_head) ? s->own.era : 0;
    pthread_mutex_unlock(&s->own.lock);
    return era;
}

/* The era is asked for when the header has changed, and until the row has one. */
static bool memo_holds(struct conn *c, struct memo *m) {
    bool same = head_same(&m->head, &c->memo_head);
    if (same && m->era != 0) return true;
    uint64_t era = era_now(c);
    if (!same && (era == 0 || m->era != era)) return false;
    m->head = c->memo_head;
    m->era = era;
    return true;
}

static void own_set(struct store *s, const struct wal_head *head) {
    pthread_mutex_lock(&s->own.lock);
    s->own.known = head != NULL;
    if (head) s->own.head = *head;
    else s->own.era++;
    pthread_mutex_unlock(&s->own.lock);
}

void memo_plans_begin(struct conn *c, struct wal_head *before) {
    struct store *s = c->store;
    s->own_pages = -1;
    bool known = wal_head_read(c, before) && s->own.known; /* only this thread changes it */
    if (!known || !head_same(before, &s->own.head)) own_set(s, NULL);
}

void memo_plans_end(struct conn *c, const struct wal_head *before, bool committed) {
    struct store *s = c->store;
    struct wal_head now;
    bool ours = committed && wal_head_read(c, &now);
    if (ours && s->own_pages < 0) ours = head_same(&now, before);
    else if (ours)
        ours = now.w[WAL_CHANGE] == before->w[WAL_CHANGE] + 1 &&
               now.w[WAL_FRAMES] == (uint32_t)s->own_pages;
    own_set(s, ours ? &now : NULL);
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
    struct memo *m = memo_bucket(c, id, key);
    if (!memo_matches(m, id, key)) m++;
    if (!memo_matches(m, id, key) || !memo_holds(c, m)) return false;
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
    *m = (struct memo){
        .block = block, .id = id, .head = c->memo_head, .era = era_now(c), .row = *row};
    m->key = text_take(&at, key);
    for (size_t i = 0; i < MEMO_TEXTS; i++) m->row.text[i] = text_take(&at, row->text[i]);
}

void memo_free(struct conn *c) {
    for (size_t i = 0; i < STORE_MEMOS; i++) mem_free(c->memos[i].block);
}
