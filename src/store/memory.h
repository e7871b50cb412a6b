/*
 * memory.h: long-term memory of agents (MEM-2 to MEM-14).  Layer: store.  General rules: store.h.
 *
 * An entry belongs to a tenant, to live or to test mode, and to a ref: a name of the tenant's
 * choice.  Content and tags are sealed with a key of the entry's own, which the vault derives from
 * its data key; where the entry is, who wrote it and both its times are authenticated, so that a
 * row that was copied elsewhere, or made to last longer, does not open.
 *
 * Invariants
 *   M1  the tenant is part of every look-up: the same ref of two tenants is two refs (MEM-7)
 *   M2  a run sees what was there when it started and what it wrote itself, whatever others write
 *       or delete meanwhile (MEM-8)
 *   M3  nothing shows an entry from its expires_ms on, also before it is removed (MEM-12)
 *   M4  an entry is written once: the same put by the same run has no further effect, so a turn
 *       that is repeated after a crash may put again
 *   M5  messages of errors hold nothing of an entry (MEM-7)
 * The caller masks credentials in content and tags before it puts them (MEM-10).
 */
#ifndef WOPR_STORE_MEMORY_H
#define WOPR_STORE_MEMORY_H

#include "store/vault.h"

#define MEMORY_REF_MAX         256u   /* bytes; MEM-6 */
#define MEMORY_ID_MAX          256u   /* bytes */
#define MEMORY_CONTENT_MAX     65536u /* bytes; a host may allow less */
#define MEMORY_TAGS_MAX        64u
#define MEMORY_TAG_MAX         256u    /* bytes */
#define MEMORY_LIST_MAX        100u    /* entries of one answer; MEM-5 */
#define MEMORY_LIST_BYTES      262144u /* of content and tags in one answer; one entry is shown */
#define MEMORY_ROW_BYTES       256u    /* that an entry counts for beside its box, ref and id */
#define MEMORY_PURGE_AFTER_MS  60000 /* a run that started before a delete may be committed late */
#define MEMORY_TENANT_NAME_MAX 256u  /* bytes; a longer one ends the round */

struct memory_place {
    struct str tenant; /* of the authenticated principal, never of a request's body */
    bool test_mode;
    struct str ref;
};
struct memory_view {            /* whose eyes */
    int64_t run_no, started_ms; /* of the run; MEMORY_ALL: what no one deleted */
    int64_t now_ms;
};
#define MEMORY_ALL(now)                                                                            \
    ((struct memory_view){.run_no = 0, .started_ms = INT64_MAX, .now_ms = (now)})

struct memory_tags {
    const struct str *v;
    size_t n;
};
struct memory_entry {
    struct str id; /* unique within the ref, 1..MEMORY_ID_MAX bytes of UTF-8; MEM-14 */
    struct str content;
    struct memory_tags tags; /* none is empty */
    int64_t created_ms;
    int64_t expires_ms; /* 0: never */
    int64_t writer_run_no;
};
struct memory_entries {
    struct memory_entry *v;
    size_t n;
};
struct memory_bounds { /* bytes; 0: MEMORY_CONTENT_MAX, or no bound */
    int64_t content, ref, tenant;
};
/* Not empty, no longer than MEMORY_REF_MAX, UTF-8 without NUL, no leading '/', no '..' segment. */
bool memory_ref_ok(struct str ref); /* MEM-6 */

/* A write.  Empty tags are dropped (MEM-13). *fresh: it was not there before.
 * VALIDATION: ref, id, content or tags are too long or no UTF-8, or it has expired at now_ms;
 * QUOTA: ref or tenant would exceed its bound; EXISTS: another run wrote an entry of this id. */
MUST_CHECK int memory_put(struct store *s, struct vault *v, const struct memory_place *at,
                          const struct memory_entry *e, const struct memory_bounds *bounds,
                          int64_t now_ms, bool *fresh, struct wopr_error *err);
struct memory_filter {
    struct str tag;  /* empty: any */
    struct str text; /* a part of the content, case of ASCII aside; empty: any */
};
/* Newest first, by id downwards among equals; limit 0 or above MEMORY_LIST_MAX: that many, and no
 * more than MEMORY_LIST_BYTES.  tag:
 * only entries that have it; empty: all.  A ref that is unknown or none has no entries.
 * CORRUPT: one does not open. */
MUST_CHECK int memory_list(struct store *s, struct vault *v, const struct memory_place *at,
                           const struct memory_view *view, const struct memory_filter *filter,
                           unsigned limit, struct arena *a, struct memory_entries *out,
                           struct wopr_error *err);
/* All of them, in the same order, one after the other, each in memory of its own: text search is
 * this, since nothing that the database could look into is stored clear. */
typedef int memory_take(void *ctx, const struct memory_entry *e,
                        struct wopr_error *err); /* > 0: enough */
MUST_CHECK int memory_walk(struct store *s, struct vault *v, const struct memory_place *at,
                           const struct memory_view *view, const struct memory_filter *filter,
                           memory_take *take, void *ctx, struct wopr_error *err);
/* NOT_FOUND also for a ref or an id that cannot be; CORRUPT: it does not open. */
MUST_CHECK int memory_get(struct store *s, struct vault *v, const struct memory_place *at,
                          const struct memory_view *view, struct str id, struct arena *a,
                          struct memory_entry *out, struct wopr_error *err);

/* --- for writes that are part of a plan --- */
/* What is to be stored of e, sealed, in a's memory: a plan's entry beside its bounds.  VALIDATION
 * as above; now_ms 0: what has expired is sealed, too. */
struct memory_row;
MUST_CHECK int memory_seal(struct vault *v, const struct memory_place *at,
                           const struct memory_entry *e, const struct memory_bounds *bounds,
                           int64_t now_ms, struct arena *a, struct memory_row *out,
                           struct wopr_error *err);
/* The entry of a row, in a's memory.  CORRUPT: it does not open. */
MUST_CHECK int memory_open(struct vault *v, const struct memory_row *r, struct arena *a,
                           struct memory_entry *out, struct wopr_error *err);
/* Linear in both.  a: scratch; without memory it says no, and has failed. */
bool memory_matches(const struct memory_entry *e, const struct memory_filter *f, struct arena *a);
/* Does the ref, and its tenant, have room for the row?  A look; the write decides.  QUOTA. */
MUST_CHECK int store_memory_room(struct store *s, const struct memory_row *r,
                                 const struct memory_bounds *bounds, struct wopr_error *err);

/* Does it open with this vault?  For checks.  CORRUPT: no. */
MUST_CHECK int memory_check(struct vault *v, const struct memory_row *r, struct arena *a,
                            struct wopr_error *err);

/* --- rows --- */
struct memory_row {
    struct memory_place at;
    struct str id;
    int64_t writer_run_no, created_ms, expires_ms, deleted_ms; /* the last two: 0 = not */
    struct plan_sealed sealed;                                 /* box and key_no */
};
struct memory_rows {
    struct memory_row *v;
    size_t n;
};
/* A write.  Of r all but deleted_ms. QUOTA, EXISTS as above; UNAVAILABLE: the data key that sealed
 * it was replaced meanwhile; seal it again. */
MUST_CHECK int store_memory_put(struct store *s, const struct memory_row *r,
                                const struct memory_bounds *bounds, bool *fresh,
                                struct wopr_error *err);
/* The next entries of the ref after *after (NULL: from the newest), at most max. */
MUST_CHECK int store_memory_list(struct store *s, const struct memory_place *at,
                                 const struct memory_view *view, const struct memory_row *after,
                                 unsigned max, struct arena *a, struct memory_rows *out,
                                 struct wopr_error *err);
MUST_CHECK int store_memory_find(struct store *s, const struct memory_place *at,
                                 const struct memory_view *view, struct str id, struct arena *a,
                                 struct memory_row *out, struct wopr_error *err); /* NOT_FOUND */
/* A write.  Hide it from runs that start later than now_ms; an audited file tells it in the same
 * transaction (memory.deleted).  NOT_FOUND: not there, deleted before, or expired. */
MUST_CHECK int store_memory_delete(struct store *s, const struct memory_place *at, struct str id,
                                   int64_t now_ms, struct wopr_error *err);
struct memory_ref { /* what a ref takes; entries that have expired count until they are removed */
    struct str ref;
    int64_t entries, bytes;
};
struct memory_refs {
    struct memory_ref *v;
    size_t n;
};
/* Refs of the tenant that have entries, after the given one in bytewise order, at most max. */
MUST_CHECK int store_memory_refs(struct store *s, const struct memory_place *after, unsigned max,
                                 struct arena *a, struct memory_refs *out, struct wopr_error *err);
/* Entries of all tenants after *after (NULL: from the first) in the order of entry numbers, for
 * checks; *after is the number of the last one then. */
MUST_CHECK int store_memory_all(struct store *s, int64_t *after, unsigned max, struct arena *a,
                                struct memory_rows *out, struct wopr_error *err);

/* ---------------------------------------------------------------- retention */
struct memory_turn { /* which tenant is next; zeroed: the first */
    char tenant[MEMORY_TENANT_NAME_MAX];
    size_t tenant_n;
    bool test_mode;
};
/* A write.  Remove entries that have expired, and deleted ones that no unfinished run of the tenant
 * sees any more, at most max in one transaction. *more: call again at once. */
MUST_CHECK int store_purge_memory(struct store *s, int64_t now_ms, unsigned max,
                                  struct memory_turn *turn, int64_t *deleted, bool *more,
                                  struct wopr_error *err);

#endif
