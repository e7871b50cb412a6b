/* test_memory.c: long-term memory: who sees what is compared with a model while runs put, delete,
 * start and end; what may not be put; where a box opens; what the bounds count (MEM-2..14). */
#include "kit.h"

#include "base/fault.h"
#include "store/memory.h"
#include "support/growth.h"

static struct kit w;
static struct vault *v;
static const struct seal_secret KEK = {{1}}, NEXT = {{2}};
static const struct memory_bounds UNBOUND = {0};

static void vault_up(const struct seal_secret *kek) {
    bool replaced;
    vault_free(v);
    cr_assert_eq(vault_new(w.s, kek, 1, &v, &replaced, &w.err), 0, "%s", w.err.message);
}
static void up(void) {
    kit_up(&w);
    vault_up(&KEK);
}
static void down(void) {
    vault_free(v);
    kit_down(&w);
}
TestSuite(memory, .init = up, .fini = down);

#define AT(tenant_, ref_) (&(struct memory_place){str_c(tenant_), false, str_c(ref_)})
#define ALL(now)          (&MEMORY_ALL(now))

static int put_rc(const struct memory_place *at, struct memory_entry e, struct memory_bounds b) {
    bool fresh = false;
    if (e.created_ms == 0) e.created_ms = 1000;
    int rc = memory_put(w.s, v, at, &e, &b, 1000, &fresh, &w.err);
    return rc == 0 && !fresh ? 1 : rc;
}
static struct memory_entry entry(const char *id, const char *content) {
    return (struct memory_entry){.id = str_c(id), .content = str_c(content), .writer_run_no = 1};
}
static const char *content_at(const struct memory_place *at, const char *id) {
    struct memory_entry e;
    int rc = memory_get(w.s, v, at, ALL(1000), str_c(id), w.a, &e, &w.err);
    return rc == 0 ? arena_cstr(w.a, e.content) : wopr_err_name(rc);
}
static size_t count_at(const struct memory_place *at, const char *tag, unsigned limit) {
    struct memory_entries l;
    cr_assert_eq(memory_list(w.s, v, at, ALL(1000), &(struct memory_filter){.tag = str_c(tag)},
                             limit, w.a, &l, &w.err),
                 0, "%s", w.err.message);
    return l.n;
}

/* ---------------------------------------------------------------- a model of who sees what */
enum { RUNS = 24, ENTRIES = 900, STEPS = 3000, PAGE = 7 };
static const char *const TENANTS[] = {"t", "u", "tenant-a"}, *const REFS[] = {"a", "a/b", "z"},
                         *const TAGS[] = {"red", "source:session"};

static struct run {
    int64_t no, started;
    int tenant;
    bool test, ended;
    int64_t next;
} runs[RUNS];
static struct kept {
    int tenant, ref, tag; /* tag -1: none */
    bool test;
    char id[8], content[32];
    int64_t created, expires, deleted, writer;
} kept[ENTRIES];
static int kept_nr, runs_made;
static int64_t now = 1700000000000;
static uint64_t dice = 88172645463325252u;

static int roll(int n) {
    dice ^= dice << 13, dice ^= dice >> 7, dice ^= dice << 17;
    return (int)(dice % (uint64_t)n);
}
static struct memory_place place_of(int tenant, bool test, int ref) {
    return (struct memory_place){str_c(TENANTS[tenant]), test, str_c(REFS[ref])};
}
static struct kept *kept_find(int tenant, bool test, int ref, const char *id) {
    for (int i = 0; i < kept_nr; i++) {
        struct kept *k = &kept[i];
        if (k->tenant == tenant && k->test == test && k->ref == ref && strcmp(k->id, id) == 0)
            return k;
    }
    return NULL;
}

static void run_end(struct run *r) {
    if (r->no == 0 || r->ended) return;
    cr_assert_eq(kit_apply(&w, kit_append(r->no, r->next, 1, true)), 0, "%s", w.err.message);
    r->ended = true;
}
static void run_start(struct run *r) {
    char id[24];
    run_end(r);
    snprintf(id, sizeof id, "run-%d", runs_made++);
    *r = (struct run){.tenant = roll(3), .test = roll(4) == 0, .started = now, .next = 2};
    struct plan *p = plan_ref(kit_create(id, 2));
    p->create->meta.tenant = str_c(TENANTS[r->tenant]);
    p->create->meta.test_mode = r->test;
    p->create->meta.created_ms = now;
    cr_assert_eq(kit_apply(&w, p), 0, "%s", w.err.message);
    r->no = p->run_no;
    plan_unref(p);
}

static void step_put(struct run *r) {
    struct kept k = {.tenant = r->tenant, .test = r->test, .ref = roll(3), .tag = roll(3) - 1};
    snprintf(k.id, sizeof k.id, "e%d", roll(40));
    snprintf(k.content, sizeof k.content, "%d of run %lld", roll(1000), (long long)r->no);
    k.created = now, k.writer = r->no, k.expires = roll(3) == 0 ? now + 1 + roll(200) : 0;
    const struct memory_place at = place_of(k.tenant, k.test, k.ref);
    struct str tags[2] = {STR(""), k.tag < 0 ? STR("") : str_c(TAGS[k.tag])};
    struct memory_entry e = {str_c(k.id), str_c(k.content), {tags, 2}, now, k.expires, r->no};
    const struct kept *was = kept_find(k.tenant, k.test, k.ref, k.id);
    bool fresh = false;
    int rc = memory_put(w.s, v, &at, &e, &UNBOUND, now, &fresh, &w.err);
    cr_assert_eq(rc, was && was->writer != r->no ? WOPR_E_EXISTS : 0, "%s", w.err.message);
    if (rc == 0) cr_assert_eq(fresh, was == NULL);
    cr_assert_lt(kept_nr, ENTRIES);
    if (!was) kept[kept_nr++] = k;
}

static void step_delete(void) {
    int tenant = roll(3), ref = roll(3);
    bool test = roll(4) == 0;
    char id[8];
    snprintf(id, sizeof id, "e%d", roll(40));
    const struct memory_place at = place_of(tenant, test, ref);
    struct kept *k = kept_find(tenant, test, ref, id);
    bool there = k && k->deleted == 0 && (k->expires == 0 || k->expires > now);
    int rc = store_memory_delete(w.s, &at, str_c(id), now, &w.err);
    cr_assert_eq(rc, there ? 0 : WOPR_E_NOT_FOUND);
    if (there) k->deleted = now;
}

/* Until nothing is left to do; then exactly what some run may see, or no one deleted, is there. */
static void step_purge(void) {
    static struct memory_turn turn;
    int64_t gone = 0, n = 0;
    bool more = true;
    int keep = 0;
    for (int i = 0; more && i < 1000; i++, gone += n)
        cr_assert_eq(store_purge_memory(w.s, now, PAGE, &turn, &n, &more, &w.err), 0);
    cr_assert(!more, "it comes to an end");
    for (int i = 0; i < kept_nr; i++) {
        const struct kept *k = &kept[i];
        bool dead = k->deleted != 0 && k->deleted <= now - MEMORY_PURGE_AFTER_MS;
        for (int r = 0; r < RUNS; r++)
            dead = dead && (runs[r].no == 0 || runs[r].ended || runs[r].tenant != k->tenant ||
                            runs[r].test != k->test || k->deleted < runs[r].started);
        if (!dead && (k->expires == 0 || k->expires > now)) kept[keep++] = *k;
    }
    cr_assert_eq(gone, kept_nr - keep);
    kept_nr = keep;
    cr_assert_eq(kit_number(&w, "SELECT count(*) FROM memory_entries"), kept_nr);
    cr_assert_eq(kit_verify(&w), 0, "the counts are those of the entries");
}

static bool seen(const struct kept *k, const struct run *r) {
    if (k->expires != 0 && k->expires <= now) return false;
    if (!r) return k->deleted == 0;
    if (k->writer == r->no) return true;
    return k->created <= r->started && (k->deleted == 0 || k->deleted > r->started);
}
static bool newer(const struct kept *x, const struct kept *y) {
    return x->created != y->created ? x->created > y->created : strcmp(x->id, y->id) > 0;
}

/* r NULL: an operator's eyes. */
static void look(const struct run *r, int tenant, bool test, int ref, int tag) {
    const struct kept *want[ENTRIES];
    size_t n = 0, limit = (size_t)roll(12);
    const struct memory_place at = place_of(tenant, test, ref);
    const struct memory_view view =
        r ? (struct memory_view){r->no, r->started, now} : MEMORY_ALL(now);
    struct memory_entries l;
    for (int i = 0; i < kept_nr; i++) {
        const struct kept *k = &kept[i];
        struct memory_entry e;
        if (k->tenant != tenant || k->test != test || k->ref != ref) continue;
        int rc = memory_get(w.s, v, &at, &view, str_c(k->id), w.a, &e, &w.err);
        cr_assert_eq(rc, seen(k, r) ? 0 : WOPR_E_NOT_FOUND, "%s", k->id);
        if (rc == 0) cr_assert(str_eqc(e.content, k->content) && e.expires_ms == k->expires);
        if (rc == 0) cr_assert_eq(e.tags.n, k->tag < 0 ? 0 : 1, "empty tags are dropped (MEM-13)");
        if (rc != 0 || (tag >= 0 && k->tag != tag)) continue;
        size_t to = n++;
        for (; to > 0 && newer(k, want[to - 1]); to--) want[to] = want[to - 1];
        want[to] = k;
    }
    cr_assert_eq(memory_list(w.s, v, &at, &view,
                             &(struct memory_filter){.tag = str_c(tag < 0 ? "" : TAGS[tag])},
                             (unsigned)limit, w.a, &l, &w.err),
                 0, "%s", w.err.message);
    cr_assert_eq(l.n, limit > 0 && limit < n ? limit : n);
    for (size_t i = 0; i < l.n; i++) {
        cr_assert(str_eqc(l.v[i].id, want[i]->id) && str_eqc(l.v[i].content, want[i]->content));
        cr_assert(l.v[i].created_ms == want[i]->created && l.v[i].writer_run_no == want[i]->writer);
    }
}

Test(memory, each_run_sees_what_a_model_says /* MEM-5, MEM-7, MEM-8, MEM-12, MEM-13 */,
     .timeout = 300) {
    for (int i = 0; i < RUNS; i++) run_start(&runs[i]), now += roll(3);
    for (int i = 0; i < STEPS; i++) {
        struct run *r = &runs[roll(RUNS)];
        arena_reset(w.a);
        now += roll(100) == 0 ? 50000 : roll(3); /* many things happen in one millisecond */
        int what = roll(20);
        if (what < 9 && !r->ended) step_put(r);
        else if (what < 12) step_delete();
        else if (what == 12) run_end(r);
        else if (what == 13) run_start(r);
        else if (what == 14 && roll(5) == 0) step_purge();
        else if (what < 18 && !r->ended) look(r, r->tenant, r->test, roll(3), roll(3) - 1);
        else look(NULL, roll(3), roll(2) == 0, roll(3), roll(3) - 1);
    }
    now += 1000000;
    for (int i = 0; i < RUNS; i++) run_end(&runs[i]);
    step_purge();
}

/* What is looked for, and where, are a tenant's: the worst of both is size times size. */
static uint64_t search_cost_us(void *ctx, unsigned size) {
    struct arena *a = ctx;
    char *text = arena_alloc(a, size + 1), *part = arena_alloc(a, size / 2 + 1);
    cr_assert(text && part);
    memset(text, 'y', size);
    memset(part, 'Y', size / 2);
    part[size / 2 - 1] = 'z';
    const struct memory_entry e = {.content = str_n(text, size)};
    const struct memory_filter f = {.text = str_n(part, size / 2)};
    uint64_t from = cpu_time_us();
    cr_assert_not(memory_matches(&e, &f, a));
    uint64_t took = cpu_time_us() - from;
    arena_reset(a);
    return took;
}

Test(memory, a_search_is_linear_in_what_it_looks_for_and_where /* MEM-5 */) {
    char told[256];
    struct arena *a = arena_new(64u << 20);
    struct memory_filter f = {.text = STR("LOVES tea, \xc3\xa9")};
    struct memory_entry e = entry("id", "Ada loves Tea, \xc3\xa9 and cakes");
    cr_expect(memory_matches(&e, &f, a), "the case of ASCII aside");
    e.content = STR("Ada loves Tea, \xc3\x89");
    cr_expect_not(memory_matches(&e, &f, a), "of ASCII alone");
    const struct growth g = {search_cost_us, a, 16384, 65536, GROWTH_FACTOR, 2000};
    cr_expect(growth_holds(&g, told, sizeof told), "%s", told);
    arena_free(a);
}

/* ---------------------------------------------------------------- what may be put */
Test(memory, a_ref_that_cannot_be_has_no_entries /* MEM-6 */) {
    const struct {
        struct str ref;
        bool ok;
    } REFS_OF[] = {{STR("a"), true},        {STR("a/b..c/..d"), true}, {STR("a/.../b"), true},
                   {STR("."), true},        {STR(""), false},          {STR("/a"), false},
                   {STR(".."), false},      {STR("../a"), false},      {STR("a/../b"), false},
                   {STR("a/.."), false},    {STR("a\0b"), false},      {STR("\xff"), false},
                   {STR("\xc0\xaf"), false}};
    char most[MEMORY_REF_MAX + 1];
    memset(most, 'r', sizeof most);
    cr_expect(memory_ref_ok(str_n(most, MEMORY_REF_MAX)));
    cr_expect(!memory_ref_ok(str_n(most, MEMORY_REF_MAX + 1)));
    for (size_t i = 0; i < sizeof REFS_OF / sizeof *REFS_OF; i++) {
        const struct memory_place at = {STR("t"), false, REFS_OF[i].ref};
        const bool ok = REFS_OF[i].ok;
        cr_expect_eq(memory_ref_ok(at.ref), ok, "%zu", i);
        cr_expect_eq(put_rc(&at, entry("e", "x"), UNBOUND), ok ? 0 : WOPR_E_VALIDATION, "%zu", i);
        cr_expect_eq(count_at(&at, "", 0), ok ? 1u : 0u);
        cr_expect_str_eq(content_at(&at, "e"), ok ? "x" : "NOT_FOUND");
    }
    cr_expect_str_eq(content_at(AT("t", "unknown"), "e"), "NOT_FOUND");
    cr_expect_eq(count_at(AT("t", "unknown"), "", 0), 0);
    cr_expect_eq(count_at(AT("other", "a"), "", 0), 0, "of another tenant (MEM-7)");
}

Test(memory, what_is_too_long_or_has_passed_is_refused /* MEM-13, CAP */) {
    const struct memory_bounds ten = {.content = 10};
    struct memory_entry e = entry("e", "0123456789");
    cr_expect_eq(put_rc(AT("t", "r"), entry("f", "0123456789a"), ten), WOPR_E_VALIDATION);
    cr_expect_eq(put_rc(AT("t", "r"), entry("f", "12345\xc3\xa4\xc3\xa4\xc3\xa4"), ten),
                 WOPR_E_VALIDATION, "bytes, not characters");
    cr_expect_null(strstr(w.err.message, "12345"), "errors hold nothing of an entry (MEM-7)");
    e.expires_ms = 1000;
    cr_expect_eq(put_rc(AT("t", "r"), e, ten), WOPR_E_VALIDATION, "it has just passed");
    e.expires_ms = 1001;
    cr_expect_eq(put_rc(AT("t", "r"), e, ten), 0);
    cr_expect_eq(put_rc(AT("t", "r"), e, ten), 1, "once");
    e.writer_run_no = 2;
    cr_expect_eq(put_rc(AT("t", "r"), e, ten), WOPR_E_EXISTS);
    cr_expect_eq(put_rc(AT("t", "r"), entry("f", "\xff"), ten), WOPR_E_VALIDATION);
    cr_expect_eq(put_rc(AT("t", "r"), entry("", "x"), ten), WOPR_E_VALIDATION);
    char *much = arena_alloc(w.a, MEMORY_CONTENT_MAX + 2);
    memset(much, '\x01', MEMORY_CONTENT_MAX + 1); /* six bytes each, as JSON */
    much[MEMORY_CONTENT_MAX + 1] = '\0';
    cr_expect_eq(put_rc(AT("t", "r"), entry("m", much), UNBOUND), WOPR_E_VALIDATION);
    cr_expect_eq(put_rc(AT("t", "r"), entry("m", much + 1), UNBOUND), 0, "%s", w.err.message);
    cr_expect_str_eq(content_at(AT("t", "r"), "m"), much + 1);
    cr_expect_eq(count_at(AT("t", "r"), "", 0), 2);
}

Test(memory, ref_and_tenant_hold_so_many_bytes_and_a_purge_makes_room) {
    struct memory_bounds b = {.ref = 3 * 1024, .tenant = 5 * 1024};
    char id[8];
    int in[3] = {0}, refused = 0;
    for (int i = 0; i < 60; i++) {
        snprintf(id, sizeof id, "e%d", i);
        struct memory_entry e = entry(id, "x");
        e.expires_ms = i % 3 == 0 ? 1001 : 0;
        int rc = put_rc(AT("t", REFS[i % 3]), e, b);
        cr_assert(rc == 0 || rc == WOPR_E_QUOTA, "%s", w.err.message);
        in[i % 3] += rc == 0;
        refused += rc != 0;
    }
    cr_expect(in[0] > 0 && refused > 0);
    int64_t bytes = kit_number(&w, "SELECT sum(bytes) FROM memory_entries");
    cr_expect(bytes <= 5 * 1024 && bytes > 5 * 1024 - 400, "%lld", (long long)bytes);
    cr_expect_eq(kit_number(&w, "SELECT count(*) FROM (SELECT ref FROM memory_entries GROUP BY ref"
                                " HAVING sum(bytes) > 3072)"),
                 0);
    cr_expect_eq(put_rc(AT("u", "a"), entry("e", "x"), b), 0, "another tenant has its own");
    struct memory_turn turn = {.tenant_n = 0};
    int64_t n;
    bool more;
    cr_assert_eq(store_purge_memory(w.s, 1001, 100, &turn, &n, &more, &w.err), 0);
    cr_expect_eq(n, in[0]);
    cr_expect_eq(put_rc(AT("t", "a"), entry("new", "x"), b), 0);
    b.tenant = 0, b.ref = 1;
    cr_expect_eq(put_rc(AT("t", "fresh"), entry("e", "x"), b), WOPR_E_QUOTA);
    cr_expect_eq(kit_verify(&w), 0);
}

/* ---------------------------------------------------------------- at rest */
Test(memory, a_box_opens_in_its_row_only) {
    static const char *const MOVES[] = {
        "UPDATE memory_entries SET tenant = 'n'",
        "UPDATE memory_entries SET ref = 'n'",
        "UPDATE memory_entries SET test_mode = 1",
        "UPDATE memory_entries SET entry_id = 'n'",
        "UPDATE memory_entries SET writer_run_no = 9",
        "UPDATE memory_entries SET created_ms = 7",
        "UPDATE memory_entries SET expires_ms = 9000",
        "UPDATE memory_entries SET box = zeroblob(60)",
    };
    for (size_t i = 0; i < sizeof MOVES / sizeof *MOVES; i++) {
        struct memory_entry e = entry("e", "the content");
        struct memory_entries l;
        e.expires_ms = 5000;
        cr_assert_eq(kit_foreign(&w, "DELETE FROM memory_entries; DELETE FROM memory_usage"), 0);
        cr_assert_eq(put_rc(AT("t", "r"), e, UNBOUND), 0);
        cr_assert_str_eq(content_at(AT("t", "r"), "e"), "the content");
        cr_assert_eq(kit_foreign(&w, MOVES[i]), 0);
        struct memory_rows rows;
        int64_t after = 0;
        cr_assert_eq(store_memory_all(w.s, &after, 10, w.a, &rows, &w.err), 0);
        cr_assert_eq(rows.n, 1);
        cr_expect_eq(memory_check(v, &rows.v[0], w.a, &w.err), WOPR_E_CORRUPT, "%s", MOVES[i]);
        for (int m = 0; m < 4; m++) {
            const struct memory_place at = {m & 1 ? STR("n") : STR("t"), i == 2,
                                            m & 2 ? STR("n") : STR("r")};
            int rc = memory_list(w.s, v, &at, ALL(1000), &(struct memory_filter){.tag = STR("")}, 0,
                                 w.a, &l, &w.err);
            cr_expect(rc == WOPR_E_CORRUPT || (rc == 0 && l.n == 0), "%s", MOVES[i]);
        }
    }
}

static bool file_has(const char *all, size_t n, const char *text) {
    for (size_t i = 0, len = strlen(text); i + len <= n; i++)
        if (memcmp(all + i, text, len) == 0) return true;
    return false;
}

Test(memory, neither_content_nor_tags_are_in_the_file_and_a_rotation_keeps_them) {
    static const char SECRET[] = "a very telling content", TAG[] = "a-very-telling-tag";
    const struct str tags[] = {STR(TAG)};
    struct memory_entry e = entry("e", SECRET);
    bool any = false;
    e.tags = (struct memory_tags){tags, 1};
    cr_assert_eq(put_rc(AT("t", "r"), e, UNBOUND), 0);
    cr_assert_eq(store_seals_any(w.s, &any, &w.err), 0);
    cr_expect(any, "a lost key file would lose them, so no new one is made");
    cr_assert_eq(vault_rotate(v, &NEXT, &w.err), 0, "%s", w.err.message);
    vault_up(&NEXT);
    cr_expect_str_eq(content_at(AT("t", "r"), "e"), SECRET);
    cr_expect_eq(count_at(AT("t", "r"), TAG, 0), 1);
    cr_expect_eq(kit_verify(&w), 0);
    vault_free(v), v = NULL;
    kit_close(&w); /* what was in the log is in the file then */
    FILE *f = fopen(w.path, "rb");
    cr_assert_not_null(f);
    char *all = arena_alloc(w.a, 4u << 20);
    size_t n = fread(all, 1, 4u << 20, f);
    fclose(f);
    cr_assert(n > 4096 && n < 4u << 20);
    cr_expect(file_has(all, n, "memory_entries"));
    cr_expect(!file_has(all, n, SECRET));
    cr_expect(!file_has(all, n, TAG));
    kit_open(&w);
}

Test(memory, whichever_call_fails_it_was_put_whole_or_not_at_all) {
    for (unsigned n = 1;; n++) {
        bool armed = fault_arm(1u << FAULT_MALLOC, n);
        int rc = armed ? put_rc(AT("t", "r"), entry("e", "content"), UNBOUND) : 0;
        fault_disarm();
        if (!armed) break;
        cr_assert_str_eq(content_at(AT("t", "r"), "e"), rc == 0 ? "content" : "NOT_FOUND", "%u", n);
        cr_assert_eq(kit_number(&w, "SELECT coalesce(sum(entries), 0) FROM memory_usage"),
                     rc == 0 ? 2 : 0, "of the ref, and of the tenant");
        if (rc == 0) break;
        cr_assert_eq(rc, WOPR_E_NO_MEMORY, "%s", w.err.message);
    }
    cr_expect_eq(kit_verify(&w), 0);
}
