/*
 * What a power cut does to single pages when nothing protects them (a checkpoint without its WAL):
 * pages as they were before, pages half old and half new at any sector, pages that were never
 * written.  Whatever that changes, host_verify finds; a page may also come out the same in content
 * (free space, lists of free blocks), which is no damage.
 */
#include "faults/world.h"

#include "base/mem.h"
#include "support/sampled.h"

#include <sqlite3.h>
#include <stdio.h>

enum { PAGE = 4096, SECTOR = 512, SECTORS = PAGE / SECTOR, TABLES_MAX = 128, FILE_MAX = 8 << 20 };

struct image {
    char *p;
    size_t n;
};
static struct image before, after;

static struct image read_image(void) {
    struct image f = {mem_alloc(FILE_MAX), 0};
    FILE *in = fopen(W.path, "rb");
    cr_assert(f.p != NULL && in != NULL);
    f.n = fread(f.p, 1, FILE_MAX, in);
    fclose(in);
    cr_assert(f.n > 0 && f.n < FILE_MAX && f.n % PAGE == 0);
    return f;
}

/* Two versions of one database: what is in the second and not in the first is what a cut loses. */
static void prepare(void) {
    world_up();
    cr_assert_eq(world_open(), 0, "%s", W.err.message);
    cr_assert_eq(world_workflow(), 0, "%s", W.err.message);
    world_runs(1, STEPS);
    world_runs(2, 2);
    world_close();
    before = read_image();
    cr_assert_eq(world_open(), 0, "%s", W.err.message);
    for (size_t i = 0; i < 3; i++)
        while (i > 0 && W.runs[i].done < STEPS - (int)i) cr_assert_eq(world_apply(&W.runs[i]), 0);
    world_runs(3, STEPS);
    world_runs(2, 3);
    cr_assert_eq(world_findings(true), 0);
    world_close();
    after = read_image();
    world_save();
}
static void finish(void) {
    mem_free(before.p);
    mem_free(after.p);
    world_down();
}
TestSuite(damage_pages, .init = prepare, .fini = finish, .timeout = 600);

/* ------------------------------------------------------------------------------ contents */
struct contents { /* a digest per table, in the order of the schema */
    size_t n;
    bool readable;
    char name[TABLES_MAX][40];
    struct sha256 sum[TABLES_MAX];
};

static bool table_sum(sqlite3 *db, const char *name, struct sha256 *out) {
    char sql[128];
    struct buf b;
    sqlite3_stmt *st = NULL;
    int rc = SQLITE_ERROR;
    buf_init(&b, FILE_MAX);
    snprintf(sql, sizeof sql, "SELECT * FROM \"%s\"", name);
    if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK)
        while ((rc = sqlite3_step(st)) == SQLITE_ROW)
            for (int i = 0; i < sqlite3_column_count(st); i++) {
                buf_addf(&b, "|%d:", sqlite3_column_type(st, i));
                const void *p = sqlite3_column_blob(st, i);
                if (p) buf_add(&b, p, (size_t)sqlite3_column_bytes(st, i));
            }
    sqlite3_finalize(st);
    *out = sha256_of(buf_str(&b));
    bool ok = rc == SQLITE_DONE && !buf_failed(&b);
    buf_fini(&b);
    return ok;
}

static void contents_of(struct contents *c) {
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    c->n = 0;
    c->readable = sqlite3_open_v2(W.path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
                  sqlite3_prepare_v2(db,
                                     "SELECT name FROM sqlite_schema WHERE type = 'table'"
                                     " ORDER BY name",
                                     -1, &st, NULL) == SQLITE_OK;
    while (c->readable && sqlite3_step(st) == SQLITE_ROW && c->n < TABLES_MAX) {
        snprintf(c->name[c->n], sizeof c->name[0], "%s", (const char *)sqlite3_column_text(st, 0));
        c->readable = table_sum(db, c->name[c->n], &c->sum[c->n]);
        c->n++;
    }
    sqlite3_finalize(st);
    sqlite3_close(db);
}

/* Tables whose rows no other row tells (DESIGN.md, known limits). */
static bool has_no_witness(const char *table) {
    static const char *const names[] = {"idempotency", "holders", "timers", "artifacts"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], table) == 0) return true;
    return false;
}

/* The name of a table that reads otherwise than it should, NULL when none does. */
static const char *changed_table(const struct contents *want, const struct contents *is) {
    if (!is->readable || is->n != want->n) return "(unreadable)";
    for (size_t i = 0; i < want->n; i++)
        if (!sha256_eq(&want->sum[i], &is->sum[i]) && !has_no_witness(want->name[i]))
            return want->name[i];
    return NULL;
}

static bool found(void) {
    int rc = world_open();
    cr_assert(rc == 0 || rc == WOPR_E_CORRUPT, "%s: %s", wopr_err_name(rc), W.err.message);
    int64_t n = rc == 0 ? world_findings(false) : 1;
    bool seen = n > 0 || (n < 0 && W.err.code == WOPR_E_CORRUPT);
    world_close();
    return seen;
}

/* ------------------------------------------------------------------------------ rounds */
struct tally {
    unsigned rounds, found, harmless;
};

/* The database with this instead of its page. */
static void try_page(const struct contents *want, size_t page, const char bytes[PAGE],
                     const char *how, struct tally *t) {
    static struct contents is;
    if (memcmp(bytes, after.p + page * PAGE, PAGE) == 0) return;
    world_load();
    FILE *f = fopen(W.path, "r+b");
    cr_assert(f != NULL && fseek(f, (long)(page * PAGE), SEEK_SET) == 0);
    cr_assert_eq(fwrite(bytes, 1, PAGE, f), PAGE);
    fclose(f);
    t->rounds++;
    contents_of(&is);
    bool seen = found();
    const char *changed = changed_table(want, &is);
    t->found += seen;
    t->harmless += !seen;
    cr_expect(seen || changed == NULL, "page %zu %s: not found, but %s is another", page + 1, how,
              changed);
}

static const char *old_page(size_t page) {
    static const char zeros[PAGE];
    return (page + 1) * PAGE <= before.n ? before.p + page * PAGE : zeros;
}

Test(damage_pages, a_page_from_before_the_cut_is_found_wherever_it_is) {
    static struct contents want;
    struct tally t = {0};
    world_load();
    contents_of(&want);
    cr_assert(want.readable && want.n > 20);
    for (size_t page = 0; page < after.n / PAGE; page++)
        if (world_plays((unsigned)page))
            try_page(&want, page, old_page(page), "as it was before", &t);
    if (sampled_every() > 1) return; /* a part of the pages need not change */
    cr_expect_gt(t.rounds, 15, "%u", t.rounds);
    cr_expect_gt(t.found, t.rounds / 2, "%u of %u", t.found, t.rounds);
}

Test(damage_pages, a_page_torn_at_any_sector_is_found_wherever_it_is) {
    static struct contents want;
    struct tally t = {0};
    unsigned round = 0;
    world_load();
    contents_of(&want);
    for (size_t page = 0; page < after.n / PAGE; page++)
        for (int cut = 1; cut < SECTORS; cut++)
            for (int half = 0; half < 2; half++) { /* the first, or the last sectors are new */
                if ((round++ + page + world_today()) % world_pace() != 0)
                    continue; /* both halves have turns */
                char mixed[PAGE], how[40];
                size_t at = (size_t)cut * SECTOR;
                const char *fresh = after.p + page * PAGE, *old = old_page(page);
                memcpy(mixed, half == 0 ? fresh : old, at);
                memcpy(mixed + at, (half == 0 ? old : fresh) + at, PAGE - at);
                snprintf(how, sizeof how, "with %d %s sectors", cut, half == 0 ? "new" : "old");
                try_page(&want, page, mixed, how, &t);
            }
    cr_expect_gt(t.rounds * world_pace(), 100, "%u", t.rounds);
    cr_expect_gt(t.found, t.rounds / 2, "%u of %u", t.found, t.rounds);
}

/* All that was not synced, in any mixture: what fault_vfs leaves with POWER_KEEPS_SOME. */
Test(damage_pages, any_mixture_of_old_and_new_pages_is_found) {
    static struct contents want, is;
    unsigned seen = 0, rounds = 0;
    world_load();
    contents_of(&want);
    for (unsigned i = 0; i < sampled(100); i++) {
        world_load();
        FILE *f = fopen(W.path, "r+b");
        cr_assert_not_null(f);
        for (size_t page = 0; page < after.n / PAGE; page++) {
            if (world_chance(3) != 0) continue;
            cr_assert_eq(fseek(f, (long)(page * PAGE), SEEK_SET), 0);
            cr_assert_eq(fwrite(old_page(page), 1, PAGE, f), PAGE);
        }
        fclose(f);
        contents_of(&is);
        bool is_seen = found();
        const char *changed = changed_table(&want, &is);
        cr_expect(is_seen || changed == NULL, "round %u: not found, but %s is another", i, changed);
        seen += is_seen;
        rounds++;
    }
    if (sampled_every() > 1) return; /* few rounds say nothing of a share */
    cr_expect_gt(seen, rounds * 9 / 10, "%u of %u", seen, rounds);
}
