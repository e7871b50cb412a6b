/*
 * hooks.c: webhook subscriptions: added once, read, woken, removed whole (HOOK-1 to HOOK-6).
 */
#include "store/hooks.h"
#include "store/sqlite/sql.h"

/* ------------------------------------------------------------------------------ reading */
static int item_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct hook_item *)row =
        (struct hook_item){.row = {.hook_no = col_int(q, 0),
                                   .webhook_id = col_str(q, 1, a),
                                   .tenant = col_str(q, 2, a),
                                   .test_mode = col_int(q, 3) != 0,
                                   .created_major = (int32_t)col_int(q, 4),
                                   .url = col_str(q, 5, a),
                                   .kinds = col_int(q, 6),
                                   .events = col_str(q, 7, a),
                                   .tags = col_str(q, 8, a),
                                   .fingerprint = col_str(q, 9, a),
                                   .created_by = col_str(q, 10, a),
                                   .created_ms = col_int(q, 11),
                                   .stopped = col_int(q, 12) != 0,
                                   .secret = {.box = col_str(q, 26, a), .key_no = col_int(q, 27)}},
                           .state = {.next_move = col_int(q, 13),
                                     .next_seq = col_int(q, 14),
                                     .attempts = col_int(q, 15),
                                     .next_attempt_ms = col_int(q, 16),
                                     .failures = col_int(q, 17),
                                     .failures_total = col_int(q, 18),
                                     .open_until_ms = col_int(q, 19),
                                     .delivered = col_int(q, 20),
                                     .dead = col_int(q, 21),
                                     .dropped = col_int(q, 22),
                                     .last_status = col_int(q, 23),
                                     .last_error = col_str(q, 24, a),
                                     .last_ms = col_int(q, 25)}};
    return 0;
}

static int hook_none(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NOT_FOUND, "no such webhook");
}

static void hook_bind(struct query *q, struct str tenant, bool test_mode, struct str webhook_id) {
    bind_text(q, webhook_id);
    bind_text(q, tenant);
    bind_int(q, test_mode);
}

static int one_read(struct query *q, struct arena *a, struct hook_item *out,
                    struct wopr_error *err) {
    struct hook_item item;
    int rc = query_step(q, err);
    bool found = rc == 1;
    if (found) rc = item_read(q, a, &item, err);
    rc = read_end(q, rc, a, err);
    if (rc == 0 && !found) return hook_none(err);
    if (rc == 0) *out = item;
    return rc;
}

int store_hook_get(struct store *s, struct str tenant, bool test_mode, struct str webhook_id,
                   struct arena *a, struct hook_item *out, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_HOOK_GET, err);
    if (rc != 0) return rc;
    hook_bind(&q, tenant, test_mode, webhook_id);
    return one_read(&q, a, out, err);
}

int store_hooks(struct store *s, struct str tenant, bool test_mode, int64_t after, unsigned max,
                struct arena *a, struct hook_list *out, struct wopr_error *err) {
    struct query q;
    struct hook_list l = {.n = 0};
    int rc = read_begin(&q, s, tenant.n > 0 ? SQL_HOOKS_OF : SQL_HOOKS_ALL, err);
    if (rc != 0) return rc;
    if (tenant.n > 0) bind_text(&q, tenant);
    if (tenant.n > 0) bind_int(&q, test_mode);
    bind_int(&q, after);
    bind_int(&q, max < STORE_LIST_MAX ? max : STORE_LIST_MAX);
    rc = list_read(&q, a, item_read, &l, err);
    if (rc == 0) *out = l;
    return rc;
}

int store_hook_backlog(struct store *s, const struct hook_item *h, int64_t until, int64_t *moves,
                       int64_t *oldest_ms, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_HOOK_BACKLOG, err);
    if (rc != 0) return rc;
    bind_text(&q, h->row.tenant);
    bind_int(&q, h->row.test_mode);
    bind_int(&q, h->state.next_move);
    bind_int(&q, h->row.kinds);
    bind_int(&q, h->row.hook_no);
    bind_int(&q, until);
    rc = query_step(&q, err);
    int64_t n = rc == 1 ? col_int(&q, 0) : 0, oldest = rc == 1 ? col_int(&q, 1) : 0;
    query_end(&q);
    if (rc < 0) return rc;
    *moves = n;
    *oldest_ms = oldest;
    return 0;
}

static int dead_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct hook_dead *)row = (struct hook_dead){.dead_no = col_int(q, 0),
                                                  .run_no = col_int(q, 1),
                                                  .seq = col_int(q, 2),
                                                  .until_seq = col_int(q, 3),
                                                  .attempts = col_int(q, 4),
                                                  .status = col_int(q, 5),
                                                  .dead_ms = col_int(q, 6),
                                                  .expires_ms = col_int(q, 7),
                                                  .run_id = col_str(q, 8, a),
                                                  .event_type = col_str(q, 9, a),
                                                  .reason = col_str(q, 10, a)};
    return 0;
}

int store_hook_dead(struct store *s, int64_t hook_no, int64_t below, unsigned max, struct arena *a,
                    struct hook_dead_list *out, struct wopr_error *err) {
    struct query q;
    struct hook_dead_list l = {.n = 0};
    int rc = read_begin(&q, s, SQL_HOOK_DEADS, err);
    if (rc != 0) return rc;
    bind_int(&q, hook_no);
    bind_int(&q, below);
    bind_int(&q, max < STORE_LIST_MAX ? max : STORE_LIST_MAX);
    rc = list_read(&q, a, dead_read, &l, err);
    if (rc == 0) *out = l;
    return rc;
}

/* ------------------------------------------------------------------------------ writing */
static int number_run(struct conn *c, enum stmt_id id, int64_t no, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, id);
    bind_int(&q, no);
    return query_run(&q, err);
}

static int hooks_changed(struct conn *c, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_HOOK_CHANGED);
    return query_run(&q, err);
}

static int writer_get(struct conn *c, struct str tenant, bool test_mode, struct str webhook_id,
                      struct arena *a, struct hook_item *out, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_HOOK_GET);
    hook_bind(&q, tenant, test_mode, webhook_id);
    return one_read(&q, a, out, err);
}

/* Did a request with this key make one? The row is it then. */
static int idem_known(struct conn *c, struct hook_row *row, const struct hook_idem *idem,
                      int64_t now_ms, struct arena *a, bool *known, struct wopr_error *err) {
    struct query q;
    struct sha256 digest;
    struct hook_item item;
    query_begin(&q, c, SQL_HOOK_BY_IDEM);
    bind_hash(&q, &idem->key);
    int rc = query_step(&q, err);
    if (rc != 1) return rc;
    struct str id = col_str(&q, 0, a);
    bool same = col_hash(&q, 1, &digest) && sha256_eq(&digest, &idem->digest);
    bool over = col_int(&q, 2) <= now_ms;
    query_end(&q);
    if (arena_failed(a)) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a webhook");
    if (over) {
        query_begin(&q, c, SQL_HOOK_IDEM_FORGET);
        bind_hash(&q, &idem->key);
        return query_run(&q, err);
    }
    if (!same)
        return wopr_error_set(err, WOPR_E_IDEM_CONFLICT,
                              "the idempotency key was used with another body");
    rc = writer_get(c, row->tenant, row->test_mode, id, a, &item, err);
    if (rc != 0) return rc;
    *row = item.row;
    *known = true;
    return 0;
}

static int room_check(struct conn *c, const struct hook_row *row, unsigned max,
                      struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_HOOK_NR);
    bind_text(&q, row->tenant);
    bind_int(&q, row->test_mode);
    int rc = query_step(&q, err);
    int64_t n = rc == 1 ? col_int(&q, 0) : 0;
    query_end(&q);
    if (rc < 0) return rc;
    if (n < (int64_t)max) return 0;
    return wopr_error_set(err, WOPR_E_QUOTA,
                          "the tenant has %u webhooks, as many as it may; unregister one that is no"
                          " longer needed",
                          max);
}

static int row_insert(struct conn *c, struct hook_row *row, const struct hook_idem *idem,
                      struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_HOOK_ADD);
    hook_bind(&q, row->tenant, row->test_mode, row->webhook_id);
    bind_int(&q, row->created_major);
    bind_text(&q, row->url);
    bind_int(&q, row->kinds);
    bind_text(&q, row->events);
    bind_opt(&q, row->tags);
    bind_bytes(&q, row->secret.box.p, row->secret.box.n);
    bind_int(&q, row->secret.key_no);
    bind_text(&q, row->fingerprint);
    bind_opt(&q, row->created_by);
    bind_int(&q, row->created_ms);
    if (idem->has) bind_hash(&q, &idem->key);
    else bind_null(&q);
    if (idem->has) bind_hash(&q, &idem->digest);
    else bind_null(&q);
    bind_int_opt(&q, idem->until_ms, 0);
    int rc = query_run(&q, err);
    if (rc != 0) return rc;
    if (sqlite3_changes64(c->db) == 0) return seal_key_gone(c, err);
    row->hook_no = sqlite3_last_insert_rowid(c->db);
    return number_run(c, SQL_HOOK_STATE_NEW, row->hook_no, err);
}

int store_hook_add(struct store *s, struct hook_row *row, const struct hook_idem *idem,
                   const struct plan_audit *audit, unsigned max, int64_t now_ms, struct arena *a,
                   bool *repeated, struct wopr_error *err) {
    bool known = false;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    if (idem->has) rc = idem_known(s->writer, row, idem, now_ms, a, &known, err);
    if (rc == 0 && !known) rc = room_check(s->writer, row, max, err);
    if (rc == 0 && !known) rc = row_insert(s->writer, row, idem, err);
    if (rc == 0 && !known) rc = hooks_changed(s->writer, err);
    if (rc == 0 && !known && audit) rc = audit_effect(s->writer, audit, err);
    rc = write_end(s, rc, err);
    if (rc == 0) *repeated = known;
    return rc;
}

int store_hook_remove(struct store *s, struct str tenant, bool test_mode, struct str webhook_id,
                      const struct plan_audit *audit, struct wopr_error *err) {
    static const enum stmt_id PARTS[] = {SQL_HOOK_DEAD_DROP, SQL_HOOK_FAILURES_DROP,
                                         SQL_HOOK_STATE_DROP, SQL_HOOK_DROP};
    struct hook_item item;
    struct arena *a = arena_new(1024 * 1024);
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a webhook");
    int rc = write_begin(s, err);
    if (rc == 0) {
        rc = writer_get(s->writer, tenant, test_mode, webhook_id, a, &item, err);
        for (size_t i = 0; rc == 0 && i < sizeof PARTS / sizeof *PARTS; i++)
            rc = number_run(s->writer, PARTS[i], item.row.hook_no, err);
        if (rc == 0) rc = hooks_changed(s->writer, err);
        if (rc == 0 && audit) rc = audit_effect(s->writer, audit, err);
        rc = write_end(s, rc, err);
    }
    arena_free(a);
    return rc;
}

/* The oldest dead letter whose run is there becomes a move of its own.  1: there was one. */
static int dead_again(struct conn *c, const struct hook_row *row, int64_t now_ms,
                      struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_HOOK_DEAD_OLDEST);
    bind_int(&q, row->hook_no);
    int rc = query_step(&q, err);
    if (rc != 1) return rc;
    int64_t dead_no = col_int(&q, 0);
    query_end(&q);
    query_begin(&q, c, SQL_HOOK_AGAIN_PUT);
    bind_int(&q, row->hook_no);
    bind_text(&q, row->tenant);
    bind_int(&q, row->test_mode);
    bind_int(&q, row->kinds);
    bind_int(&q, now_ms);
    bind_int(&q, dead_no);
    rc = query_run(&q, err);
    if (rc == 0) rc = number_run(c, SQL_HOOK_DEAD_TAKE, dead_no, err);
    return rc == 0 ? 1 : rc;
}

/* Its state is written by the host that delivers only (H2): a move without events asks for it. */
static int wish_put(struct conn *c, const struct hook_row *row, int64_t now_ms,
                    struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_HOOK_WISH_PUT);
    bind_text(&q, row->tenant);
    bind_int(&q, row->test_mode);
    bind_int(&q, now_ms);
    bind_int(&q, row->hook_no);
    return query_run(&q, err);
}

int store_hook_retry(struct store *s, struct str tenant, bool test_mode, struct str webhook_id,
                     unsigned max, int64_t now_ms, int64_t *queued, struct wopr_error *err) {
    struct hook_item item = {.row = {.hook_no = 0}};
    int64_t n = 0;
    int more = 1;
    struct arena *a = arena_new(1024 * 1024);
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a webhook");
    int rc = write_begin(s, err);
    if (rc == 0) {
        rc = writer_get(s->writer, tenant, test_mode, webhook_id, a, &item, err);
        if (rc == 0 && item.row.stopped)
            rc = wopr_error_set(err, WOPR_E_CONFLICT,
                                "the webhook failed too often and was stopped; register its URL"
                                " again (HOOK-15)");
        if (rc == 0) rc = wish_put(s->writer, &item.row, now_ms, err);
        for (; rc == 0 && more == 1 && n < (int64_t)max; n += more == 1) {
            more = dead_again(s->writer, &item.row, now_ms, err);
            if (more < 0) rc = more;
        }
        rc = write_end(s, rc, err);
    }
    arena_free(a);
    if (rc == 0) *queued = n;
    return rc;
}
