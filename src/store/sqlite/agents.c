/*
 * agents.c: agents of workspaces, and the sets that runs were created with.  A set is written with
 * the run that needs it first, and removed with the last one that holds it.
 */
#include "store/agents.h"
#include "store/sqlite/sql.h"

static int agent_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    struct agent_row *r = row;
    *r = (struct agent_row){.tenant = col_str(q, 0, a),
                            .test_mode = col_int(q, 1) != 0,
                            .agent_id = col_str(q, 2, a),
                            .revision = col_int(q, 3),
                            .definition = col_str(q, 5, a),
                            .created_by = col_str(q, 6, a),
                            .created_ms = col_int(q, 7),
                            .updated_ms = col_int(q, 8)};
    if (col_hash(q, 4, &r->digest)) return 0;
    return wopr_error_set(err, WOPR_E_CORRUPT, "the digest of an agent is damaged");
}

static void id_bind(struct query *q, const struct agent_row *r) {
    bind_text(q, r->tenant);
    bind_int(q, r->test_mode);
    bind_text(q, r->agent_id);
}

/* --- what a tenant takes --- */

struct agent_usage {
    int64_t revision, agents, bytes, set_bytes;
};

static int usage_read(struct conn *c, struct str tenant, bool test_mode, struct agent_usage *out,
                      struct wopr_error *err) {
    struct query q;
    *out = (struct agent_usage){0};
    query_begin(&q, c, SQL_AGENT_USAGE);
    bind_text(&q, tenant);
    bind_int(&q, test_mode);
    int rc = query_step(&q, err);
    if (rc == 1)
        *out = (struct agent_usage){col_int(&q, 0), col_int(&q, 1), col_int(&q, 2), col_int(&q, 3)};
    query_end(&q);
    return rc < 0 ? rc : 0;
}

static int usage_move(struct conn *c, struct str tenant, bool test_mode, struct agent_usage by,
                      struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_AGENT_USAGE_ADD);
    bind_text(&q, tenant);
    bind_int(&q, test_mode);
    bind_int(&q, by.revision);
    bind_int(&q, by.agents);
    bind_int(&q, by.bytes);
    bind_int(&q, by.set_bytes);
    return query_run(&q, err);
}

/* --- put and delete --- */

struct stored { /* of an agent: what a write must know */
    int64_t revision, bytes;
    struct sha256 digest;
};

static int stored_read(struct conn *c, const struct agent_row *r, struct stored *out,
                       struct wopr_error *err) {
    struct query q;
    *out = (struct stored){0};
    query_begin(&q, c, SQL_AGENT_STORED);
    id_bind(&q, r);
    int rc = query_step(&q, err);
    if (rc == 1) {
        *out = (struct stored){.revision = col_int(&q, 0), .bytes = col_int(&q, 1)};
        (void)col_hash(&q, 2, &out->digest);
    }
    query_end(&q);
    return rc < 0 ? rc : 0;
}

static int revision_expect(int64_t wanted, int64_t now, struct wopr_error *err) {
    if (wanted == AGENT_ANY || wanted == now) return 0;
    if (now == 0)
        return wopr_error_set(err, WOPR_E_CONFLICT,
                              "no agent of this id is stored, and the request is for its revision "
                              "%lld; 0 stores a new one",
                              (long long)wanted);
    return wopr_error_set(err, WOPR_E_CONFLICT,
                          "revision %lld of the agent is stored, and the request is for %s%lld: "
                          "read what is stored, and put what follows from it",
                          (long long)now, wanted == 0 ? "a new one, " : "revision ",
                          (long long)wanted);
}

static int64_t row_bytes(const struct agent_row *r) {
    return (int64_t)r->definition.n + AGENT_ROW_BYTES;
}

static int room_expect(const struct agent_usage *u, const struct stored *old,
                       const struct agent_row *r, struct wopr_error *err) {
    if (old->revision == 0 && u->agents >= AGENTS_MAX)
        return wopr_error_set(err, WOPR_E_QUOTA,
                              "the tenant has %d agents, and may have no more: delete some first",
                              AGENTS_MAX);
    if (u->bytes - old->bytes + row_bytes(r) > AGENTS_BYTES_MAX)
        return wopr_error_set(err, WOPR_E_QUOTA,
                              "the agents of the tenant take %lld bytes, and may take %lld: delete "
                              "some, or shorten them",
                              (long long)u->bytes, (long long)AGENTS_BYTES_MAX);
    return 0;
}

static int agent_write(struct conn *c, const struct agent_row *r, int64_t revision,
                       struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_AGENT_PUT);
    id_bind(&q, r);
    bind_int(&q, revision);
    bind_hash(&q, &r->digest);
    bind_text(&q, r->definition);
    bind_int(&q, row_bytes(r));
    bind_int(&q, r->updated_ms);
    bind_text(&q, r->created_by);
    return query_run(&q, err);
}

static int agent_place(struct conn *c, const struct agent_row *r, int64_t if_revision,
                       struct agent_put *out, struct wopr_error *err) {
    struct stored old;
    struct agent_usage u;
    int rc = stored_read(c, r, &old, err);
    if (rc != 0) return rc;
    out->revision = old.revision;
    out->what = old.revision == 0                    ? AGENT_CREATED
                : sha256_eq(&old.digest, &r->digest) ? AGENT_SAME
                                                     : AGENT_UPDATED;
    if (out->what == AGENT_SAME) return 0;
    rc = revision_expect(if_revision, old.revision, err);
    if (rc == 0) rc = usage_read(c, r->tenant, r->test_mode, &u, err);
    if (rc == 0) rc = room_expect(&u, &old, r, err);
    if (rc == 0) rc = agent_write(c, r, u.revision + 1, err);
    if (rc == 0)
        rc = usage_move(c, r->tenant, r->test_mode,
                        (struct agent_usage){.revision = 1,
                                             .agents = old.revision == 0,
                                             .bytes = row_bytes(r) - old.bytes},
                        err);
    if (rc == 0) out->revision = u.revision + 1;
    return rc;
}

/* AUD-3: what an agent may do is in its definition; of that the digest alone. */
static int change_tell(struct conn *c, const char *type, const struct agent_row *r,
                       struct wopr_error *err) {
    const struct plan_audit row = {
        .at_ms = r->updated_ms, .type = str_c(type), .tenant = r->tenant, .key_id = r->created_by};
    char hex[65] = "";
    if (r->definition.n > 0) sha256_hex(&r->digest, hex);
    const struct audit_detail said[] = {{"agentId", r->agent_id}, {"sha256", str_c(hex)}};
    return audit_tell(c, &row, said, 2, r->test_mode, err);
}

int store_agent_put(struct store *s, const struct agent_row *r, int64_t if_revision,
                    struct agent_put *out, struct wopr_error *err) {
    struct agent_put done = {.what = AGENT_SAME};
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    rc = agent_place(s->writer, r, if_revision, &done, err);
    if (rc == 0 && done.what != AGENT_SAME) rc = change_tell(s->writer, "agent.stored", r, err);
    rc = write_end(s, rc, err);
    if (rc == 0 || rc == WOPR_E_CONFLICT) *out = done;
    return rc;
}

static int agent_remove(struct conn *c, const struct agent_row *r, int64_t if_revision,
                        struct agent_put *out, struct wopr_error *err) {
    struct stored old;
    struct query q;
    int rc = stored_read(c, r, &old, err);
    if (rc != 0) return rc;
    out->revision = old.revision;
    if (old.revision == 0)
        return wopr_error_set(err, WOPR_E_NOT_FOUND, "the tenant has no agent of this id");
    rc = revision_expect(if_revision, old.revision, err);
    if (rc != 0) return rc;
    query_begin(&q, c, SQL_AGENT_DROP);
    id_bind(&q, r);
    rc = query_run(&q, err);
    return rc == 0 ? usage_move(c, r->tenant, r->test_mode,
                                (struct agent_usage){.agents = -1, .bytes = -old.bytes}, err)
                   : rc;
}

int store_agent_delete(struct store *s, const struct agent_row *r, int64_t if_revision,
                       struct agent_put *out, struct wopr_error *err) {
    struct agent_put done = {.what = AGENT_SAME};
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    rc = agent_remove(s->writer, r, if_revision, &done, err);
    if (rc == 0) rc = change_tell(s->writer, "agent.deleted", r, err);
    rc = write_end(s, rc, err);
    if (rc == 0 || rc == WOPR_E_CONFLICT) *out = done;
    return rc;
}

/* --- reads --- */

int store_agent_get(struct store *s, struct str tenant, bool test_mode, struct str id,
                    struct arena *a, struct agent_row *out, struct wopr_error *err) {
    struct agent_rows l;
    int64_t bytes;
    int rc = store_agents_of(s, tenant, test_mode, &id, 1, a, &l, &bytes, err);
    if (rc != 0) return rc;
    if (l.n == 0)
        return wopr_error_set(err, WOPR_E_NOT_FOUND, "the tenant has no agent of this id");
    *out = l.v[0];
    return 0;
}

int store_agents(struct store *s, struct str tenant, bool test_mode, const struct agent_row *after,
                 unsigned max, struct arena *a, struct agent_rows *out, struct wopr_error *err) {
    const struct agent_row first = {.tenant = tenant, .test_mode = test_mode};
    struct query q;
    int rc = read_begin(&q, s, tenant.n > 0 ? SQL_AGENTS : SQL_AGENTS_ALL, err);
    if (rc != 0) return rc;
    id_bind(&q, after ? after : &first);
    bind_int(&q, max);
    return list_read(&q, a, agent_read, out, err);
}

/* q stays open over all of them, and with it the read transaction. */
int store_agents_of(struct store *s, struct str tenant, bool test_mode, const struct str *ids,
                    size_t n, struct arena *a, struct agent_rows *out, int64_t *set_bytes,
                    struct wopr_error *err) {
    struct conn *c;
    struct agent_rows l = {ARENA_ARRAY(a, struct agent_row, n + 1), 0};
    struct query held, q;
    int rc = conn_reader(s, &c, err);
    if (rc != 0) return rc;
    query_begin(&held, c, SQL_AGENT_USAGE);
    bind_text(&held, tenant);
    bind_int(&held, test_mode);
    rc = query_step(&held, err);
    bool any = rc == 1;
    *set_bytes = any ? col_int(&held, 3) : 0;
    for (size_t i = 0; rc >= 0 && any && l.v && i < n; i++) {
        query_begin(&q, c, SQL_AGENT_FIND);
        bind_text(&q, tenant);
        bind_int(&q, test_mode);
        bind_text(&q, ids[i]);
        rc = query_step(&q, err);
        if (rc == 1) rc = agent_read(&q, a, &l.v[l.n++], err);
        query_end(&q);
    }
    query_end(&held);
    if (rc >= 0 && arena_failed(a))
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for agents");
    if (rc < 0) return rc;
    *out = l;
    return 0;
}

/* --- sets --- */

static int set_number(struct conn *c, const struct run_meta *m, int64_t *no,
                      struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_AGENT_SET_NO);
    bind_text(&q, m->tenant);
    bind_int(&q, m->test_mode);
    bind_text(&q, m->agents_digest);
    int rc = query_step(&q, err);
    *no = rc == 1 ? col_int(&q, 0) : 0;
    query_end(&q);
    return rc < 0 ? rc : 0;
}

int agent_set_hold(struct conn *c, const struct run_meta *m, int64_t *set_no,
                   struct wopr_error *err) {
    struct query q;
    *set_no = 0;
    if (m->agents.n == 0) return 0;
    int rc = set_number(c, m, set_no, err);
    if (rc != 0 || *set_no > 0) return rc;
    query_begin(&q, c, SQL_AGENT_SET_PUT);
    bind_text(&q, m->tenant);
    bind_int(&q, m->test_mode);
    bind_text(&q, m->agents_digest);
    bind_text(&q, m->agents);
    bind_int(&q, (int64_t)m->agents.n);
    rc = query_run(&q, err);
    if (rc == 0)
        rc = usage_move(c, m->tenant, m->test_mode,
                        (struct agent_usage){.set_bytes = (int64_t)m->agents.n}, err);
    return rc == 0 ? set_number(c, m, set_no, err) : rc;
}

int agent_set_release(struct conn *c, int64_t set_no, struct wopr_error *err) {
    struct query q;
    if (set_no == 0) return 0;
    query_begin(&q, c, SQL_AGENT_SET_UNPAY);
    bind_int(&q, set_no);
    int rc = query_run(&q, err);
    if (rc != 0) return rc;
    query_begin(&q, c, SQL_AGENT_SET_DROP);
    bind_int(&q, set_no);
    return query_run(&q, err);
}

static int set_read(struct store *s, enum stmt_id id, int64_t no, struct arena *a,
                    struct agent_set_row *out, struct wopr_error *err) {
    struct agent_set_row r = {.set_no = 0};
    struct query q;
    int rc = read_begin(&q, s, id, err);
    if (rc != 0) return rc;
    bind_int(&q, no);
    rc = query_step(&q, err);
    bool found = rc == 1;
    if (found)
        r = (struct agent_set_row){.set_no = col_int(&q, 0),
                                   .tenant = col_str(&q, 1, a),
                                   .test_mode = col_int(&q, 2) != 0,
                                   .digest = col_str(&q, 3, a),
                                   .definitions = col_str(&q, 4, a)};
    rc = read_end(&q, rc, a, err);
    if (rc == 0 && !found) return wopr_error_set(err, WOPR_E_NOT_FOUND, "no such set of agents");
    if (rc == 0) *out = r;
    return rc;
}

int store_agent_set(struct store *s, int64_t set_no, struct arena *a, struct agent_set_row *out,
                    struct wopr_error *err) {
    return set_read(s, SQL_AGENT_SET_GET, set_no, a, out, err);
}

int store_agent_set_after(struct store *s, int64_t after, struct arena *a,
                          struct agent_set_row *out, struct wopr_error *err) {
    return set_read(s, SQL_AGENT_SET_NEXT, after, a, out, err);
}
