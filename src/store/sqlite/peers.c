/*
 * peers.c: several hosts on one file: which are present, which are dead, what the others changed
 * (STORE-16, STORE-30 to STORE-36).
 *
 * All locks are in "<path>.lock" and die with their process. flock on the whole file: exclusive
 * while one host opens and migrates, then shared; a host that wants the file for itself keeps it
 * exclusive.  Open-file-description locks on single bytes: one that every host shares while it is
 * present, and one per holder number, held by that host alone.  Locks of the two kinds do not
 * exclude each other.
 *
 * While others are present, each transaction that changes runs adds one row of peer_moves with
 * their numbers, so followers learn exactly what changed; finding out that no other host is there
 * costs one system call per transaction.
 */
#define _GNU_SOURCE /* F_OFD_SETLK */
#include "store/peers.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "store/leases.h"
#include "store/sqlite/sql.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

enum {
    LOCK_PATH_MAX = 4096,
    LOCK_WAIT_MS = 10000, /* to wait for another host that opens or migrates */
    LOCK_LOOK_MS = 2,
    LOCK_BYTE_HOST = 4096,       /* far beyond the text of the file */
    LOCK_BYTE_HOLDERS = 1 << 20, /* plus the holder's number */
    MOVED_RUN_BYTES = 16,
    JOIN_TRIES = 3
};

static int lock_fail(struct wopr_error *err, const char *what, const struct store *s) {
    return wopr_error_set(err, errno == ENOSPC ? WOPR_E_DISK_FULL : WOPR_E_IO,
                          "cannot %s %s.lock: %s; check that its folder is there and writable",
                          what, s->path, strerror(errno));
}

/* ------------------------------------------------------------------------------ the whole file */
static int lock_refused(int fd, const struct store *s, struct wopr_error *err) {
    char text[32];
    ssize_t n = fs_read_at(fd, text, sizeof text, 0);
    struct str pid, rest;
    uint64_t no = 0;
    if (n > 0 && str_cut(str_n(text, (size_t)n), '\n', &pid, &rest)) (void)str_u64(pid, &no);
    return wopr_error_set(
        err, WOPR_E_LOCKED,
        "another host (process %llu) uses database %s; stop it, or give this host a"
        " database of its own",
        (unsigned long long)no, s->path);
}

static int lock_write_pid(int fd, const struct store *s, struct wopr_error *err) {
    char pid[32];
    int n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
    if (fs_truncate(fd, 0) == 0 && fs_write_at(fd, pid, (size_t)n, 0) == (ssize_t)n) return 0;
    return lock_fail(err, "write", s);
}

/* *got: the exclusive lock (alone), or the shared one. */
static int lock_take(struct store *s, int fd, bool *alone, struct wopr_error *err) {
    for (uint64_t end_ms = clock_mono_ms() + LOCK_WAIT_MS;;) {
        if (fs_lock(fd, LOCK_EX | LOCK_NB) == 0) {
            *alone = true;
            return 0;
        }
        if (errno != EWOULDBLOCK) return lock_fail(err, "lock", s);
        if (s->cfg.exclusive) return lock_refused(fd, s, err);
        if (fs_lock(fd, LOCK_SH | LOCK_NB) == 0) {
            *alone = false;
            return 0;
        }
        if (errno != EWOULDBLOCK) return lock_fail(err, "lock", s);
        if (clock_mono_ms() >= end_ms) return lock_refused(fd, s, err);
        clock_sleep_ms(LOCK_LOOK_MS);
    }
}

int host_lock(struct store *s, bool *alone, struct wopr_error *err) {
    char name[LOCK_PATH_MAX];
    int n = snprintf(name, sizeof name, "%s.lock", s->path);
    if (n <= 0 || (size_t)n >= sizeof name)
        return wopr_error_set(err, WOPR_E_CONFIG, "the database path is too long");
    int fd = fs_create(name, O_RDWR, 0600);
    if (fd < 0) return lock_fail(err, "open", s);
    int rc = lock_take(s, fd, alone, err);
    if (rc == 0 && *alone) rc = lock_write_pid(fd, s, err);
    if (rc != 0) {
        close(fd);
        return rc;
    }
    s->lock_fd = fd;
    return 0;
}

/* Not atomic: another host may be let in first, alone, and may even migrate. */
int host_lock_share(struct store *s, struct wopr_error *err) {
    while (fs_lock(s->lock_fd, LOCK_SH) != 0)
        if (errno != EINTR) return lock_fail(err, "lock", s);
    return 0;
}

/* ------------------------------------------------------------------------------ single bytes */
static int byte_lock(const struct store *s, int64_t byte, short type) {
    struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)byte, .l_len = 1};
    return fcntl(s->lock_fd, F_OFD_SETLK, &l);
}

/* Does another process hold a lock there? A failure counts as yes: it must not declare a holder
 * dead. */
static bool byte_held(const struct store *s, int64_t byte) {
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)byte, .l_len = 1};
    return fcntl(s->lock_fd, F_OFD_GETLK, &l) != 0 || l.l_type != F_UNLCK;
}

bool store_has_peers(const struct store *s) {
    if (s->lock_fd < 0) return true;
    return !s->cfg.exclusive && byte_held(s, LOCK_BYTE_HOST);
}

enum holder_state store_holder_state(const struct store *s, int64_t holder_no) {
    if (s->lock_fd < 0) return HOLDER_UNKNOWN;
    if (s->joined && holder_no == s->own_no) return HOLDER_ALIVE;
    return byte_held(s, LOCK_BYTE_HOLDERS + holder_no) ? HOLDER_ALIVE : HOLDER_DEAD;
}

/* ------------------------------------------------------------------------------ joining */
static int number_read(struct conn *c, enum stmt_id id, int64_t *out, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, id);
    int rc = query_step(&q, err);
    if (rc == 1) *out = col_int(&q, 0);
    query_end(&q);
    return rc == 1 ? 0 : rc == 0 ? WOPR_E_INTERNAL : rc;
}

static int join_rows(struct store *s, struct str holder, int64_t ttl_ms, int64_t until_ms,
                     int64_t *no, int64_t *last_move, struct wopr_error *err) {
    struct query q;
    int rc = holder_number(s, holder, until_ms, no, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_HOLDER_TTL);
    bind_int(&q, ttl_ms);
    bind_int(&q, *no);
    rc = query_run(&q, err);
    if (rc == 0) rc = number_read(s->writer, SQL_MOVE_LAST, last_move, err);
    /* Lock the number before its row is visible: a number without lock would look dead. */
    if (rc == 0 && s->lock_fd >= 0 && byte_lock(s, LOCK_BYTE_HOLDERS + *no, F_WRLCK) != 0)
        rc = wopr_error_set(err, WOPR_E_BUSY, "the lock of a holder is taken; try again");
    return rc;
}

static int join_once(struct store *s, struct str holder, int64_t ttl_ms, int64_t until_ms,
                     int64_t *holder_no, int64_t *last_move, struct wopr_error *err) {
    int64_t no = 0, last = 0;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    rc = join_rows(s, holder, ttl_ms, until_ms, &no, &last, err);
    rc = write_end(s, rc, err);
    if (rc != 0) {
        if (s->lock_fd >= 0 && no > 0) (void)byte_lock(s, LOCK_BYTE_HOLDERS + no, F_UNLCK);
        return rc;
    }
    s->own_no = *holder_no = no;
    *last_move = last;
    return 0;
}

/* Take the presence lock first: a transaction of another host that does not see it has ended before
 * ours begins, so its changes are in the file when we start looking. */
int store_join(struct store *s, struct str holder, int64_t ttl_ms, int64_t until_ms,
               int64_t *holder_no, int64_t *last_move, struct wopr_error *err) {
    if (s->lock_fd >= 0 && byte_lock(s, LOCK_BYTE_HOST, F_RDLCK) != 0)
        return lock_fail(err, "lock", s);
    int rc = WOPR_E_BUSY;
    for (int i = 0; rc == WOPR_E_BUSY && i < JOIN_TRIES; i++)
        rc = join_once(s, holder, ttl_ms, until_ms, holder_no, last_move, err);
    if (rc == 0) s->joined = true;
    return rc;
}

/* ------------------------------------------------------------------------------ what others did */
static void put_le(unsigned char *p, int64_t v) {
    for (int i = 0; i < 8; i++) p[i] = (unsigned char)((uint64_t)v >> (8 * i));
}

static int64_t get_le(const unsigned char *p) {
    uint64_t v = 0;
    for (int i = 0; i < 8; i++) v |= (uint64_t)p[i] << (8 * i);
    return (int64_t)v;
}

int moves_put(struct store *s, const struct moved_run *runs, size_t n, struct wopr_error *err) {
    if (!s->joined || !store_has_peers(s)) return 0;
    unsigned char *bytes = mem_array(n > 0 ? n : 1, MOVED_RUN_BYTES);
    if (!bytes) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to tell other hosts");
    for (size_t i = 0; i < n; i++) {
        put_le(bytes + i * MOVED_RUN_BYTES, runs[i].run_no);
        put_le(bytes + i * MOVED_RUN_BYTES + 8, runs[i].next_seq);
    }
    struct query q;
    query_begin(&q, s->writer, SQL_MOVE_PUT);
    bind_int(&q, s->own_no);
    bind_bytes(&q, bytes, n * MOVED_RUN_BYTES);
    int rc = query_run(&q, err);
    mem_free(bytes);
    return rc;
}

static int move_row_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    const unsigned char *p = sqlite3_column_blob(q->st, 2);
    struct move_row *m = row;
    (void)err;
    m->move_no = col_int(q, 0);
    m->holder_no = col_int(q, 1);
    m->runs_nr = (size_t)sqlite3_column_bytes(q->st, 2) / MOVED_RUN_BYTES;
    m->runs = ARENA_ARRAY(a, struct moved_run, m->runs_nr > 0 ? m->runs_nr : 1);
    for (size_t i = 0; m->runs && i < m->runs_nr; i++) {
        m->runs[i].run_no = get_le(p + i * MOVED_RUN_BYTES);
        m->runs[i].next_seq = get_le(p + i * MOVED_RUN_BYTES + 8);
    }
    return 0;
}

int store_moves(struct store *s, int64_t after, unsigned max, struct arena *a,
                struct move_row_list *out, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_MOVES, err);
    if (rc != 0) return rc;
    bind_int(&q, after);
    bind_int(&q, max);
    return list_read(&q, a, move_row_read, out, err);
}

static int holder_row_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct holder_row *)row = (struct holder_row){.holder_no = col_int(q, 0),
                                                    .name = col_str(q, 1, a),
                                                    .beat = col_int(q, 2),
                                                    .ttl_ms = col_int(q, 3)};
    return 0;
}

int store_holders(struct store *s, struct arena *a, struct holder_row_list *out,
                  struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_HOLDERS, err);
    return rc == 0 ? list_read(&q, a, holder_row_read, out, err) : rc;
}

static int holder_view_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct holder_view *)row = (struct holder_view){.holder_no = col_int(q, 0),
                                                      .name = col_str(q, 1, a),
                                                      .ttl_ms = col_int(q, 2),
                                                      .until_ms = col_int(q, 3),
                                                      .runs = col_int(q, 4)};
    return 0;
}

int store_holders_view(struct store *s, int64_t max, struct arena *a, struct holder_view_list *out,
                       struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_HOLDERS_VIEW, err);
    if (rc != 0) return rc;
    bind_int(&q, max);
    rc = list_read(&q, a, holder_view_read, out, err);
    for (size_t i = 0; rc == 0 && i < out->n; i++)
        out->v[i].self = s->joined && out->v[i].holder_no == s->own_no;
    return rc;
}

int store_holder_retire(struct store *s, int64_t holder_no, struct wopr_error *err) {
    struct query q;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_HOLDER_BURY);
    bind_int(&q, holder_no);
    rc = query_run(&q, err);
    return write_end(s, rc, err);
}

static int lease_request_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct lease_request *)row = (struct lease_request){col_int(q, 0), col_str(q, 1, a)};
    return 0;
}

int store_lease_requests(struct store *s, struct str holder, unsigned max, struct arena *a,
                         struct lease_request_list *out, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_WANTS, err);
    if (rc != 0) return rc;
    bind_text(&q, holder);
    bind_int(&q, max);
    return list_read(&q, a, lease_request_read, out, err);
}

int store_data_version(struct store *s, int64_t *version, struct wopr_error *err) {
    struct conn *c;
    int rc = conn_reader(s, &c, err);
    return rc == 0 ? number_read(c, SQL_DATA_VERSION, version, err) : rc;
}
