/*
 * memory.c: sealing, bounds and look-up of memory entries; see memory.h.  Above the backends: it
 * uses the port only.
 */
#include "store/memory.h"

#include "base/find.h"
#include "base/mem.h"
#include "codec/jobj.h"

#include <string.h>

enum {
    PAGE_ROWS = 16, /* boxes in memory at once, beside what is shown */
    BODY_MAX = 8 * (MEMORY_CONTENT_MAX + MEMORY_TAGS_MAX * MEMORY_TAG_MAX), /* escaped */
    SCRATCH_MAX = 4 * BODY_MAX,
    PAGE_MAX = PAGE_ROWS * BODY_MAX
};

static bool text_ok(struct str s, size_t max) {
    return s.n > 0 && s.n <= max && !memchr(s.p, '\0', s.n) && utf8_valid(s);
}

bool memory_ref_ok(struct str ref) {
    if (!text_ok(ref, MEMORY_REF_MAX) || ref.p[0] == '/') return false;
    for (size_t from = 0, i = 0; i <= ref.n; i++) {
        if (i < ref.n && ref.p[i] != '/') continue;
        if (i - from == 2 && ref.p[from] == '.' && ref.p[from + 1] == '.') return false;
        from = i + 1;
    }
    return true;
}

/* What a row is sealed with; as JSON no two rows have the same text.  A delete leaves it as it is.
 */
static int place_of(const struct memory_row *r, struct arena *a, struct seal_place *out,
                    struct wopr_error *err) {
    struct jobj o;
    jobj_begin(&o, JSON_LIMITS_DEFAULT.bytes_max);
    jw_kstrz(&o.w, "what", "memory");
    jw_kstr(&o.w, "tenant", r->at.tenant);
    jw_kbool(&o.w, "test", r->at.test_mode);
    jw_kstr(&o.w, "ref", r->at.ref);
    jw_kstr(&o.w, "id", r->id);
    jw_kint(&o.w, "run", r->writer_run_no);
    jw_kint(&o.w, "expires", r->expires_ms);
    *out = (struct seal_place){jobj_end(&o, a), r->created_ms};
    return out->scope.p ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for an entry");
}

/* ---------------------------------------------------------------- put */
static int entry_check(const struct memory_place *at, const struct memory_entry *e,
                       const struct memory_bounds *bounds, int64_t now_ms, struct wopr_error *err) {
    const int64_t most = bounds->content > 0 && bounds->content < (int64_t)MEMORY_CONTENT_MAX
                             ? bounds->content
                             : (int64_t)MEMORY_CONTENT_MAX;
    const char *why = NULL;
    if (!memory_ref_ok(at->ref)) why = "the ref of a memory entry is not valid";
    else if (!text_ok(e->id, MEMORY_ID_MAX)) why = "the id of a memory entry is not valid";
    else if ((int64_t)e->content.n > most) why = "the content of a memory entry is too long";
    else if (!utf8_valid(e->content)) why = "the content of a memory entry is no UTF-8";
    else if (e->tags.n > MEMORY_TAGS_MAX) why = "a memory entry has too many tags";
    else if (e->expires_ms != 0 && e->expires_ms <= now_ms) why = "expiresAt has passed";
    for (size_t i = 0; !why && i < e->tags.n; i++)
        if (e->tags.v[i].n > 0 && !text_ok(e->tags.v[i], MEMORY_TAG_MAX))
            why = "a tag of a memory entry is too long or no UTF-8";
    return why ? wopr_error_set(err, WOPR_E_VALIDATION, "%s", why) : 0;
}

static struct str body_of(const struct memory_entry *e, struct arena *a) {
    struct jobj o;
    jobj_begin(&o, BODY_MAX);
    jw_kstr(&o.w, "content", e->content);
    jw_key(&o.w, "tags");
    jw_array(&o.w);
    for (size_t i = 0; i < e->tags.n; i++)
        if (e->tags.v[i].n > 0) jw_str(&o.w, e->tags.v[i]);
    jw_end_array(&o.w);
    return jobj_end(&o, a);
}

int memory_seal(struct vault *v, const struct memory_place *at, const struct memory_entry *e,
                const struct memory_bounds *bounds, int64_t now_ms, struct arena *a,
                struct memory_row *out, struct wopr_error *err) {
    ASSERT(at->tenant.n > 0);
    struct memory_row r = {*at, e->id, e->writer_run_no, e->created_ms, e->expires_ms, 0, {0}};
    struct seal_place place;
    int rc = entry_check(at, e, bounds, now_ms, err);
    if (rc != 0) return rc;
    struct str body = body_of(e, a);
    if (!body.p) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for an entry");
    rc = place_of(&r, a, &place, err);
    if (rc == 0) rc = vault_seal(v, &place, body, a, &r.sealed, err);
    mem_wipe((void *)(uintptr_t)body.p, body.n);
    if (rc == 0) *out = r;
    return rc;
}

int memory_put(struct store *s, struct vault *v, const struct memory_place *at,
               const struct memory_entry *e, const struct memory_bounds *bounds, int64_t now_ms,
               bool *fresh, struct wopr_error *err) {
    struct arena *a = arena_new(SCRATCH_MAX);
    int rc = WOPR_E_UNAVAILABLE;
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for an entry");
    for (int i = 0; i < 2 && rc == WOPR_E_UNAVAILABLE; i++) { /* vault.h, V2 */
        struct memory_row r;
        arena_reset(a);
        rc = memory_seal(v, at, e, bounds, now_ms, a, &r, err);
        if (rc == 0) rc = store_memory_put(s, &r, bounds, fresh, err);
    }
    arena_free(a);
    return rc;
}

/* ---------------------------------------------------------------- look-up */
static int no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to read entries");
}

static bool tags_read(struct str raw, struct arena *a, struct memory_tags *out) {
    struct json_elements el;
    struct wopr_error why;
    if (json_elements(raw, a, &el, &why) != 0) return false;
    struct str *v = ARENA_ARRAY(a, struct str, el.n ? el.n : 1);
    for (size_t i = 0; v && i < el.n; i++) v[i] = json_string(el.v[i], a);
    *out = (struct memory_tags){v, v ? el.n : 0};
    return v != NULL;
}

static bool has_tag(const struct memory_entry *e, struct str tag) {
    for (size_t i = 0; i < e->tags.n; i++)
        if (str_eq(e->tags.v[i], tag)) return true;
    return tag.n == 0;
}

/* ASCII alone; other bytes stay as they are. */
static struct str memory_lowered(struct str s, struct arena *a) {
    char *p = arena_alloc(a, s.n + 1);
    for (size_t i = 0; p && i < s.n; i++)
        p[i] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] - 'A' + 'a') : s.p[i];
    return p ? str_n(p, s.n) : STR_NONE;
}

/* Linear, whatever both hold: a tenant chooses them. */
static bool text_holds(struct str text, struct str part, struct arena *a) {
    struct needle n;
    struct finder f;
    if (part.n == 0 || part.n > text.n) return part.n == 0;
    struct str in = memory_lowered(text, a), what = memory_lowered(part, a);
    if (!in.p || !what.p || needle_make(&n, what, a) != 0) return false;
    finder_begin(&f, &n, in);
    return finder_next(&f, 0) < in.n;
}

bool memory_matches(const struct memory_entry *e, const struct memory_filter *f, struct arena *a) {
    return has_tag(e, f->tag) && text_holds(e->content, f->text, a);
}

int memory_open(struct vault *v, const struct memory_row *r, struct arena *a,
                struct memory_entry *out, struct wopr_error *err) {
    struct seal_place place;
    struct str body;
    int rc = place_of(r, a, &place, err);
    if (rc == 0) rc = vault_open(v, &place, &r->sealed, a, &body, err);
    if (rc != 0) return rc;
    *out = (struct memory_entry){.id = r->id,
                                 .content = json_string(json_get(body, "content"), a),
                                 .created_ms = r->created_ms,
                                 .expires_ms = r->expires_ms,
                                 .writer_run_no = r->writer_run_no};
    bool whole = tags_read(json_get(body, "tags"), a, &out->tags);
    if (arena_failed(a)) return no_memory(err);
    if (whole) return 0;
    return wopr_error_set(err, WOPR_E_CORRUPT, "a memory entry is not what was sealed");
}

static int entry_copy(const struct memory_entry *e, struct arena *a, struct memory_entry *out,
                      struct wopr_error *err) {
    struct str *tags = ARENA_ARRAY(a, struct str, e->tags.n ? e->tags.n : 1);
    for (size_t i = 0; tags && i < e->tags.n; i++) tags[i] = arena_str(a, e->tags.v[i]);
    *out = *e;
    out->id = arena_str(a, e->id);
    out->content = arena_str(a, e->content);
    out->tags.v = tags;
    return arena_failed(a) ? no_memory(err) : 0;
}

struct walk {
    struct store *s;
    struct vault *v;
    const struct memory_place *at;
    const struct memory_view *view;
    const struct memory_filter *filter;
    struct arena *page, *opened; /* scratch: of a page of rows; of one of its rows */
    memory_take *take;
    void *ctx;
};

/* > 0: enough. */
static int page_show(struct walk *l, const struct memory_rows *rows, struct wopr_error *err) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < rows->n; i++) {
        struct memory_entry e;
        arena_reset(l->opened);
        rc = memory_open(l->v, &rows->v[i], l->opened, &e, err);
        bool shown = rc == 0 && memory_matches(&e, l->filter, l->opened);
        if (rc == 0 && arena_failed(l->opened)) rc = no_memory(err);
        if (rc == 0 && shown) rc = l->take(l->ctx, &e, err);
    }
    return rc;
}

static int pages_walk(struct walk *l, struct wopr_error *err) {
    struct memory_rows rows = {.n = PAGE_ROWS};
    struct memory_row after, *from = NULL;
    char id[MEMORY_ID_MAX];
    int rc = 0;
    while (rc == 0 && rows.n == PAGE_ROWS) {
        arena_reset(l->page);
        rc = store_memory_list(l->s, l->at, l->view, from, PAGE_ROWS, l->page, &rows, err);
        if (rc == 0) rc = page_show(l, &rows, err);
        if (rc != 0 || rows.n == 0) break;
        after = rows.v[rows.n - 1];
        if (after.id.n > sizeof id)
            return wopr_error_set(err, WOPR_E_CORRUPT, "the id of a memory entry is too long");
        memcpy(id, after.id.p, after.id.n);
        after.id.p = id;
        from = &after;
    }
    return rc > 0 ? 0 : rc;
}

int memory_walk(struct store *s, struct vault *v, const struct memory_place *at,
                const struct memory_view *view, const struct memory_filter *filter,
                memory_take *take, void *ctx, struct wopr_error *err) {
    struct walk l = {
        .s = s, .v = v, .at = at, .view = view, .filter = filter, .take = take, .ctx = ctx};
    if (!memory_ref_ok(at->ref)) return 0;
    l.page = arena_new(PAGE_MAX);
    l.opened = arena_new(SCRATCH_MAX);
    int rc = l.page && l.opened ? pages_walk(&l, err) : no_memory(err);
    arena_free(l.page);
    arena_free(l.opened);
    return rc;
}

struct listing {
    struct arena *a;
    struct memory_entries out;
    unsigned limit;
    size_t bytes; /* of content and tags in out */
};

static size_t entry_bytes(const struct memory_entry *e) {
    size_t n = e->content.n;
    for (size_t i = 0; i < e->tags.n; i++) n += e->tags.v[i].n;
    return n;
}

/* The first is always shown. */
static int listing_take(void *ctx, const struct memory_entry *e, struct wopr_error *err) {
    struct listing *l = ctx;
    l->bytes += entry_bytes(e);
    if (l->out.n > 0 && l->bytes > MEMORY_LIST_BYTES) return 1;
    int rc = entry_copy(e, l->a, &l->out.v[l->out.n++], err);
    return rc == 0 ? l->out.n == l->limit : rc;
}

int memory_list(struct store *s, struct vault *v, const struct memory_place *at,
                const struct memory_view *view, const struct memory_filter *filter, unsigned limit,
                struct arena *a, struct memory_entries *out, struct wopr_error *err) {
    if (limit == 0 || limit > MEMORY_LIST_MAX) limit = MEMORY_LIST_MAX;
    struct listing l = {
        .a = a, .limit = limit, .out.v = ARENA_ARRAY(a, struct memory_entry, limit)};
    int rc = l.out.v ? memory_walk(s, v, at, view, filter, listing_take, &l, err) : no_memory(err);
    if (rc == 0) *out = l.out;
    return rc;
}

int memory_get(struct store *s, struct vault *v, const struct memory_place *at,
               const struct memory_view *view, struct str id, struct arena *a,
               struct memory_entry *out, struct wopr_error *err) {
    struct memory_row r;
    if (!memory_ref_ok(at->ref) || !text_ok(id, MEMORY_ID_MAX))
        return wopr_error_set(err, WOPR_E_NOT_FOUND, "no such memory entry");
    int rc = store_memory_find(s, at, view, id, a, &r, err);
    return rc == 0 ? memory_open(v, &r, a, out, err) : rc;
}

int memory_check(struct vault *v, const struct memory_row *r, struct arena *a,
                 struct wopr_error *err) {
    struct memory_entry e;
    return memory_open(v, r, a, &e, err);
}
