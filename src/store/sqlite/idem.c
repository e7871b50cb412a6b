/*
 * idem.c: stored answers of layer-1 idempotency (IDEM-*, D51).
 */
#include "base/clock.h"
#include "store/append.h"
#include "store/sqlite/sql.h"

/* Rows of older programs have the digest itself.  Under another key than ours (the data keys were
 * lost and made again) a body cannot be told from another. */
static bool body_same(const struct idem_key *k, const struct sha256 *stored, int64_t key_no) {
    if (key_no == 0) return sha256_eq(stored, &k->digest);
    return key_no == k->key_no && sha256_eq(stored, &k->keyed);
}

int idem_look(struct conn *c, const struct idem_key *k, int64_t now_ms, struct arena *a,
              struct idem_response *out, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_IDEM_GET);
    bind_text(&q, k->tenant);
    bind_text(&q, k->operation_id);
    bind_hash(&q, &k->key);
    bind_int(&q, now_ms);
    int rc = query_step(&q, err);
    if (rc != 1) return rc;
    struct sha256 digest;
    if (!col_hash(&q, 0, &digest)) {
        rc = wopr_error_set(err, WOPR_E_CORRUPT, "a stored response has a damaged digest");
    } else if (!body_same(k, &digest, col_int(&q, 5))) {
        rc = wopr_error_set(err, WOPR_E_IDEM_CONFLICT,
                            "the idempotency key was used with another body; use a new key");
    } else {
        struct idem_response r = {.status = (int)col_int(&q, 1),
                                  .body = col_str(&q, 2, a),
                                  .retry_after_s = (int32_t)col_int(&q, 3),
                                  .transient_until_ms = col_int(&q, 4)};
        if (arena_failed(a))
            rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a stored response");
        else *out = r;
    }
    query_end(&q);
    return rc;
}

int idem_put(struct conn *c, const struct plan *p, int64_t now_ms, struct wopr_error *err) {
    const struct idem_response *r = &p->idem_response;
    struct query q;
    query_begin(&q, c, SQL_IDEM_PUT);
    bind_text(&q, p->idem.tenant);
    bind_text(&q, p->idem.operation_id);
    bind_hash(&q, &p->idem.key);
    bind_hash(&q, p->idem.key_no != 0 ? &p->idem.keyed : &p->idem.digest);
    bind_int(&q, r->status);
    bind_text(&q, r->body);
    bind_int(&q, r->retry_after_s);
    bind_int(&q, r->transient_until_ms);
    bind_opt(&q, p->run_id);
    bind_int(&q, now_ms);
    bind_int(&q, now_ms + (p->idem.keep_ms > 0 ? p->idem.keep_ms : STORE_IDEM_KEEP_MS));
    bind_int(&q, p->idem.key_no);
    return query_run(&q, err);
}

int store_idem_find(struct store *s, const struct idem_key *k, int64_t now_ms, struct arena *a,
                    struct idem_response *out, struct wopr_error *err) {
    struct conn *c;
    int rc = conn_reader(s, &c, err);
    if (rc != 0) return rc;
    rc = idem_look(c, k, now_ms, a, out, err);
    if (rc == 0)
        return wopr_error_set(err, WOPR_E_NOT_FOUND,
                              "no response is stored for this idempotency key");
    return rc == 1 ? 0 : rc;
}
