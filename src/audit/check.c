/*
 * check.c: computes chain, tree and signatures again; see check.h.
 */
#include "audit/check.h"

#include "domain/audit.h"
#include "domain/merkle.h"

enum { PAGE_ENTRIES = 500, CHECKPOINT_PAGE = 500, PAGE_ARENA_MAX = 64 * 1024 * 1024 };

struct check {
    struct store *s;
    const struct audit_question *q;
    struct arena *a; /* of the report */
    struct audit_report *r;
    struct audit_key_list keys;
    struct merkle tree; /* of all entries before `next`, if it is whole */
    bool whole;
    int64_t next;       /* sequence that is due */
    struct sha256 prev; /* hash of the entry before it */
    bool has_prev;
    struct audit_checkpoints page; /* of checkpoints, and what comes after it */
    struct arena *page_arena;
    size_t at;           /* the first of the page that was not looked at */
    int64_t from, until; /* where the next page begins, and the last one ends */
    bool ended;
};

bool audit_signature_holds(const uint8_t pub[32], struct str root, struct str signature) {
    struct buf raw;
    buf_init(&raw, 64);
    bool ok = base64_decode(signature, &raw, NULL) == 0 && raw.len == 64 &&
              ed25519_verify(pub, root, (const uint8_t *)raw.p);
    buf_fini(&raw);
    return ok;
}

static struct str hex_of(struct check *c, const struct sha256 *d) {
    char hex[65];
    sha256_hex(d, hex);
    return arena_str(c->a, str_c(hex));
}

static void anomaly_add(struct check *c, const struct audit_anomaly *what) {
    struct audit_report *r = c->r;
    if (what->at_seq < r->from)
        return; /* not asked for; the tree shows it at the next checkpoint */
    r->valid = false;
    if (r->anomalies_nr < AUDIT_ANOMALIES_MAX) r->anomalies[r->anomalies_nr++] = *what;
}

static void link_broken(struct check *c, int64_t seq, struct str actual, const char *what) {
    struct audit_anomaly one = {.at_seq = seq,
                                .expected = c->has_prev ? hex_of(c, &c->prev) : STR_NONE,
                                .actual = actual.p ? arena_str(c->a, actual) : STR_NONE,
                                .what = what};
    anomaly_add(c, &one);
}

/* --- checkpoints --- */

static bool signed_by(const struct check *c, struct str key_id, struct str root,
                      struct str signature) {
    for (size_t i = 0; i < c->keys.n; i++)
        if (str_eq(c->keys.v[i].key_id, key_id))
            return audit_signature_holds(c->keys.v[i].pub, root, signature);
    return false;
}

/* A reader who knows one key takes its signature, whichever of the two it is (AUD-7); else both
 * hold, if there are two. */
static bool signature_holds(const struct check *c, const struct audit_checkpoint *cp) {
    bool old = cp->old_key_id.n > 0;
    if (c->q->pub)
        return audit_signature_holds(c->q->pub, cp->root, cp->signature) ||
               (old && audit_signature_holds(c->q->pub, cp->root, cp->old_signature));
    return signed_by(c, cp->key_id, cp->root, cp->signature) &&
           (!old || signed_by(c, cp->old_key_id, cp->root, cp->old_signature));
}

static void checkpoint_wrong(struct check *c, const struct audit_checkpoint *cp, const char *what) {
    struct audit_anomaly one = {
        .at_seq = cp->at_seq, .expected = arena_str(c->a, cp->root), .what = what};
    if (c->whole && c->next == cp->at_seq + 1) {
        struct sha256 root = merkle_root(&c->tree);
        one.actual = hex_of(c, &root);
    }
    anomaly_add(c, &one);
}

/* All entries up to that of the checkpoint were read. */
static void checkpoint_look(struct check *c, const struct audit_checkpoint *cp) {
    struct sha256 root = merkle_root(&c->tree);
    char hex[65];
    sha256_hex(&root, hex);
    if (!signature_holds(c, cp))
        checkpoint_wrong(c, cp, "the signature of the checkpoint is not that of a known key");
    else if (!c->whole || !str_eqc(cp->root, hex))
        checkpoint_wrong(c, cp, "the entries are not those that the checkpoint signed");
}

static struct str text_kept(struct check *c, struct str s) { return arena_str(c->a, s); }

static void checkpoint_told(struct check *c, const struct audit_checkpoint *cp) {
    struct audit_checkpoints *l = &c->r->checkpoints;
    c->r->checkpoints_seen++;
    if (l->n == AUDIT_CHECKPOINTS_MAX) return;
    l->v[l->n++] = (struct audit_checkpoint){.id = text_kept(c, cp->id),
                                             .at_seq = cp->at_seq,
                                             .root = text_kept(c, cp->root),
                                             .signature = text_kept(c, cp->signature),
                                             .key_id = text_kept(c, cp->key_id),
                                             .old_signature = text_kept(c, cp->old_signature),
                                             .old_key_id = text_kept(c, cp->old_key_id),
                                             .at_ms = cp->at_ms};
}

/* The next checkpoint in the range that lies at or before seq; NULL: none.  Valid until the next
 * call. */
static int checkpoint_next(struct check *c, int64_t seq, const struct audit_checkpoint **out,
                           struct wopr_error *err) {
    *out = NULL;
    if (c->at == c->page.n && !c->ended) {
        arena_reset(c->page_arena);
        int rc = store_audit_checkpoints(c->s, c->from, c->until, CHECKPOINT_PAGE, c->page_arena,
                                         &c->page, err);
        if (rc != 0) return rc;
        c->at = 0;
        c->ended = c->page.n < CHECKPOINT_PAGE;
        if (c->page.n > 0) c->from = c->page.v[c->page.n - 1].at_seq + 1;
    }
    if (c->at < c->page.n && c->page.v[c->at].at_seq <= seq) *out = &c->page.v[c->at++];
    return 0;
}

static int checkpoints_look(struct check *c, int64_t seq, bool there, struct wopr_error *err) {
    const struct audit_checkpoint *cp;
    int rc = checkpoint_next(c, seq, &cp, err);
    for (; rc == 0 && cp; rc = checkpoint_next(c, seq, &cp, err)) {
        checkpoint_told(c, cp);
        if (there) checkpoint_look(c, cp);
        else checkpoint_wrong(c, cp, "entries that the checkpoint signed are missing");
    }
    return rc;
}

/* --- entries --- */

static int entry_look(struct check *c, const struct audit_row *row, struct wopr_error *err) {
    int64_t seq = -1;
    struct str prev = STR_NONE;
    char hex[65];
    if (row->seq != c->next) {
        link_broken(c, c->next, STR_NONE, "entries are missing");
        c->whole = false;
    }
    if (!audit_entry_link(row->entry, &seq, &prev) || seq != row->seq) {
        link_broken(c, row->seq, STR_NONE, "the entry is damaged");
    } else {
        sha256_hex(&c->prev, hex);
        if (c->has_prev ? !str_eqc(prev, hex) : prev.p != NULL)
            link_broken(c, row->seq, prev, "the entry before is not the one that was linked");
    }
    merkle_add(&c->tree, row->entry);
    c->prev = sha256_of(row->entry);
    c->has_prev = true;
    c->next = row->seq + 1;
    return checkpoints_look(c, row->seq, true, err);
}

static int entries_look(struct check *c, struct wopr_error *err) {
    struct arena *page = arena_new(PAGE_ARENA_MAX);
    struct audit_rows l;
    int rc = page ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to check the audit log");
    while (rc == 0 && c->next <= c->r->to) {
        arena_reset(page);
        rc = store_audit_entries(c->s, c->next, PAGE_ENTRIES, page, &l, err);
        for (size_t i = 0; rc == 0 && i < l.n && l.v[i].seq <= c->r->to; i++)
            rc = entry_look(c, &l.v[i], err);
        if (rc == 0 && (l.n == 0 || l.v[l.n - 1].seq > c->r->to)) break;
    }
    arena_free(page);
    if (rc == 0 && c->next <= c->r->to) link_broken(c, c->next, STR_NONE, "entries are missing");
    return rc;
}

/* --- where it begins --- */

static bool checkpoint_usable(struct check *c, const struct audit_checkpoint *cp) {
    char hex[65];
    if (!merkle_from_peaks(&c->tree, cp->at_seq + 1, cp->peaks)) return false;
    struct sha256 root = merkle_root(&c->tree);
    sha256_hex(&root, hex);
    return str_eqc(cp->root, hex) && signature_holds(c, cp);
}

/* At the entry after the last sound checkpoint before from, else at the first. */
static int start_find(struct check *c, struct wopr_error *err) {
    struct audit_checkpoint cp;
    struct audit_rows l = {0};
    int rc = store_audit_checkpoint_before(c->s, c->r->from, c->a, &cp, err);
    bool usable = rc == 0 && checkpoint_usable(c, &cp);
    if (rc == WOPR_E_NOT_FOUND) rc = 0;
    if (!usable) c->tree = (struct merkle){.leaves = 0};
    if (rc != 0 || !usable) return rc;
    rc = store_audit_entries(c->s, cp.at_seq, 1, c->a, &l, err);
    if (rc != 0) return rc;
    c->next = cp.at_seq + 1;
    if (l.n > 0 && l.v[0].seq == cp.at_seq) {
        c->prev = sha256_of(l.v[0].entry);
        c->has_prev = true;
    }
    return 0;
}

static int bounds_set(struct check *c, bool *empty, struct wopr_error *err) {
    const struct audit_question *q = c->q;
    struct audit_row last;
    int rc = store_audit_last(c->s, c->a, &last, err);
    if (rc != 0) return rc;
    int64_t end = last.seq < 0 ? 0 : last.seq;
    c->r->from = q->from < end ? q->from : end;
    c->r->to = q->to < 0 || q->to > end ? end : q->to;
    if (q->max > 0 && c->r->to - c->r->from >= q->max) c->r->to = c->r->from + q->max - 1;
    c->from = c->r->from;
    c->until = c->r->to == end ? INT64_MAX : c->r->to; /* one beyond the log tells of its loss */
    *empty = last.seq < 0;
    return 0;
}

static int range_look(struct check *c, struct wopr_error *err) {
    bool empty = true;
    int rc = bounds_set(c, &empty, err);
    if (rc == 0) rc = store_audit_keys(c->s, c->a, &c->keys, err);
    if (rc == 0 && !empty) rc = start_find(c, err);
    if (rc == 0 && !empty) rc = entries_look(c, err);
    return rc == 0 ? checkpoints_look(c, INT64_MAX, false, err) : rc;
}

int audit_check(struct store *s, const struct audit_question *q, struct arena *a,
                struct audit_report *out, struct wopr_error *err) {
    struct check c = {.s = s, .q = q, .a = a, .r = out, .whole = true};
    *out = (struct audit_report){.valid = true};
    out->anomalies = ARENA_ARRAY(a, struct audit_anomaly, AUDIT_ANOMALIES_MAX);
    out->checkpoints.v = ARENA_ARRAY(a, struct audit_checkpoint, AUDIT_CHECKPOINTS_MAX);
    c.page_arena = arena_new(PAGE_ARENA_MAX);
    int rc = out->checkpoints.v && c.page_arena ? range_look(&c, err) : WOPR_E_NO_MEMORY;
    arena_free(c.page_arena);
    if (rc == WOPR_E_NO_MEMORY || (rc == 0 && arena_failed(a)))
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to check the audit log");
    return rc;
}
