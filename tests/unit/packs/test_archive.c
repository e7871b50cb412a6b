/*
 * test_archive.c: hostile and honest tarballs (PACK-20, PACK-22, PACK-23; CHK-23, CHK-26).
 */
#include "base/clock.h"
#include "base/fault.h"
#include "unit/packs/kit.h"

static struct buf tar, gz, seen;
static void up(void) {
    buf_init(&tar, 64 << 20);
    buf_init(&gz, 64 << 20);
    buf_init(&seen, 1 << 20);
}
static void down(void) {
    buf_fini(&tar);
    buf_fini(&gz);
    buf_fini(&seen);
}
TestSuite(archive, .init = up, .fini = down);

static bool wants_all(void *ctx, const struct archive_file *f) {
    (void)ctx, (void)f;
    return true;
}
static int note(void *ctx, const struct archive_file *f, struct wopr_error *err) {
    (void)ctx, (void)err;
    buf_addf(&seen, STR_FMT "=%zu;", STR_ARG(f->name), f->bytes.n);
    return 0;
}
static const struct archive_user USER = {wants_all, note, NULL};

static int read_gz(struct str s) {
    struct wopr_error err = {0};
    buf_reset(&seen);
    int rc = archive_read(s, PACK_UNPACKED_BYTES_MAX, &USER, &err);
    cr_expect_eq(rc, err.code, "%s", err.message);
    return rc;
}
static int read_tar(void) {
    tar_end(&tar);
    return read_gz(tar_gz(&tar, &gz));
}

Test(archive, files_and_folders_are_read_entry_by_entry /* PACK-20 */) {
    tar_block(&tar, "./", '5', 0);
    tar_block(&tar, "./dist/", '5', 0);
    tar_file(&tar, "./pack.json", STR("{}"));
    tar_file(&tar, "./dist/a.wasm", STR("abc"));
    tar_file(&tar, "empty", STR(""));
    cr_expect_eq(read_tar(), 0);
    cr_expect_str_eq(seen.p, "pack.json=2;dist/a.wasm=3;empty=0;");
}

static void pax(struct buf *b, char type, const char *record) {
    tar_block(b, "x", type, strlen(record));
    tar_data(b, str_c(record));
}

Test(archive, long_names_of_pax_and_gnu_are_taken /* PACK-20 */) {
    char name[140] = {0};
    memset(name, 'n', 120);
    pax(&tar, 'g', "17 comment=abcdef\n");
    tar_block(&tar, "x", 'L', 121);
    tar_data(&tar, str_n(name, 121));
    tar_file(&tar, "short", STR("1"));
    pax(&tar, 'x', "18 path=dir/other\n");
    tar_file(&tar, "short", STR("22"));
    tar_file(&tar, "short", STR("333"));
    /* the comment's length is 18: put it right */
    cr_expect_eq(read_tar(), WOPR_E_PACK_TAR);
    buf_reset(&tar);
    pax(&tar, 'g', "18 comment=abcdef\n");
    tar_block(&tar, "x", 'L', 121);
    tar_data(&tar, str_n(name, 121));
    tar_file(&tar, "short", STR("1"));
    pax(&tar, 'x', "18 path=dir/other\n");
    tar_file(&tar, "short", STR("22"));
    tar_file(&tar, "short", STR("333"));
    cr_expect_eq(read_tar(), 0);
    buf_addz(&seen, "");
    cr_expect(strstr(seen.p, "n=1;dir/other=2;short=3;") != NULL, "%s", seen.p);
}

static void one_block(const char *name, char type) { tar_block(&tar, name, type, 0); }

Test(archive, what_leaves_the_root_or_is_no_file_is_refused /* PACK-22, CHK-23 */) {
    static const struct {
        const char *name;
        char type;
    } BAD[] = {{"../x", '0'},
               {"/etc/passwd", '0'},
               {"a/../../b", '0'},
               {"a\\b", '0'},
               {"link", '2'},
               {"hard", '1'},
               {"dev", '3'},
               {"block", '4'},
               {"pipe", '6'},
               {"../d/", '5'},
               {"longlink", 'K'},
               {"C:x", '0'},
               {"a\x01"
                "b",
                '0'},
               {"\xFF\xFE", '0'},
               {"", '0'},
               {"./", '0'}};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        buf_reset(&tar);
        tar_file(&tar, "pack.json", STR("{}"));
        one_block(BAD[i].name, BAD[i].type);
        int rc = read_tar();
        if (i + 1 < sizeof BAD / sizeof *BAD) cr_expect_eq(rc, WOPR_E_PACK_PATH, "%zu: %d", i, rc);
        else cr_expect_eq(rc, 0, "a root named as a file is a folder by its '/'");
    }
}

Test(archive, two_names_that_are_one_to_a_file_system_are_refused /* PACK-22 */) {
    static const char *const PAIRS[][2] = {{"a", "a"},
                                           {"a", "./a"},
                                           {"a", "A"},
                                           {"d/x", "D/X"},
                                           {"d", "d/x"},
                                           {"d/x", "d"},
                                           {"d/x/y", "D/x"},
                                           {"\xC3\xA9", "e\xCC\x81"},
                                           {"stra\xC3\x9F"
                                            "e",
                                            "STRASSE"}};
    for (size_t i = 0; i < sizeof PAIRS / sizeof *PAIRS; i++) {
        buf_reset(&tar);
        tar_file(&tar, PAIRS[i][0], STR("1"));
        tar_file(&tar, PAIRS[i][1], STR("2"));
        cr_expect_eq(read_tar(), WOPR_E_PACK_PATH, "%zu", i);
    }
    buf_reset(&tar);
    one_block("d/", '5');
    one_block("./d/", '5');
    tar_file(&tar, "d/x", STR("1"));
    cr_expect_eq(read_tar(), 0, "a folder may be named again");
}

Test(archive, a_damaged_structure_is_refused /* PACK-23 */) {
    static const char *const PAX[] = {
        "99 path=a\n", "x",           "10 path=ab", "11 size=-1\n",
        "9 pathxx\n",  "10 size=x\n", "8 path=\n",  "21 GNU.sparse.major=1\n"};
    for (size_t i = 0; i < sizeof PAX / sizeof *PAX; i++) {
        buf_reset(&tar);
        pax(&tar, 'x', PAX[i]);
        tar_file(&tar, "f", STR("1"));
        cr_expect_eq(read_tar(), WOPR_E_PACK_TAR, "%s", PAX[i]);
    }
    buf_reset(&tar);
    pax(&tar, 'g', "10 path=a\n");
    cr_expect_eq(read_tar(), WOPR_E_PACK_TAR, "a path for all entries");
    buf_reset(&tar);
    pax(&tar, 'x', "10 path=ab\n");
    cr_expect_eq(read_tar(), WOPR_E_PACK_TAR, "a header without its entry");
    buf_reset(&tar);
    tar_file(&tar, "f", STR("1"));
    tar.p[0] = 'g'; /* the checksum is wrong now */
    cr_expect_eq(read_tar(), WOPR_E_PACK_TAR);
    buf_reset(&tar);
    one_block("f", 'S');
    cr_expect_eq(read_tar(), WOPR_E_PACK_TAR, "sparse");
    buf_reset(&tar);
    tar_file(&tar, "f", STR("1"));
    tar_end(&tar);
    tar_file(&tar, "g", STR("1"));
    cr_expect_eq(read_tar(), WOPR_E_PACK_TAR, "an entry after the end");
    buf_reset(&tar);
    cr_expect_eq(read_gz(tar_gz(&tar, &gz)), WOPR_E_PACK_TAR, "nothing at all");
    buf_reset(&tar);
    tar_block(&tar, "f", '0', 1000);
    buf_addz(&tar, "cut");
    cr_expect_eq(read_gz(tar_gz(&tar, &gz)), WOPR_E_PACK_TAR, "cut in the data");
}

Test(archive, a_gzip_stream_has_an_end_and_nothing_after_it /* PACK-23 */) {
    tar_file(&tar, "f", STR("1"));
    tar_end(&tar);
    struct str whole = tar_gz(&tar, &gz);
    cr_expect_eq(read_gz(whole), 0);
    for (size_t n = 0; n < whole.n; n++)
        cr_expect_eq(read_gz(str_n(whole.p, n)), WOPR_E_PACK_GUNZIP, "cut at %zu", n);
    buf_addc(&gz, '\0');
    cr_expect_eq(read_gz(buf_str(&gz)), WOPR_E_PACK_GUNZIP, "a byte more");
    cr_expect_eq(read_gz(STR("PK\3\4")), WOPR_E_PACK_GUNZIP);
    /* gzip comes before names, also when the names come first in the stream (AR3) */
    buf_reset(&tar);
    tar_file(&tar, "../x", STR("1"));
    tar_end(&tar);
    whole = tar_gz(&tar, &gz);
    cr_expect_eq(read_gz(str_n(whole.p, whole.n - 1)), WOPR_E_PACK_GUNZIP);
    cr_expect_eq(read_gz(whole), WOPR_E_PACK_PATH);
}

/* n zeros, compressed. */
static struct str bomb(size_t mib) {
    static char zero[1 << 20];
    buf_reset(&tar);
    for (size_t i = 0; i < mib; i++) buf_add(&tar, zero, sizeof zero);
    return tar_gz(&tar, &gz);
}

static bool wants_none(void *ctx, const struct archive_file *f) {
    (void)ctx, (void)f;
    return false;
}

Test(archive, a_bomb_is_stopped_while_it_inflates /* PACK-23, CHK-26 */) {
    const struct archive_user user = {wants_none, note, NULL};
    struct wopr_error err = {0};
    cr_expect_eq(read_gz(bomb(60)), WOPR_E_PACK_TOO_LARGE, "by its ratio");
    cr_expect_eq(archive_read(bomb(3), 1 << 20, &user, &err), WOPR_E_PACK_TOO_LARGE, "by its size");
    buf_reset(&tar);
    for (unsigned i = 0; i <= ARCHIVE_ENTRIES_MAX; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "f%u", i);
        one_block(name, '0');
    }
    cr_expect_eq(read_tar(), WOPR_E_PACK_TOO_LARGE, "by its entries");
    buf_reset(&tar);
    tar_block(&tar, "f", '0', 0777777777777ull - 1);
    cr_expect_eq(read_tar(), WOPR_E_PACK_TAR, "a size that it has not");
}

Test(archive, the_same_files_give_the_same_bytes /* reproducible build */) {
    struct buf one, two;
    struct wopr_error err;
    char name[200];
    memset(name, 'n', sizeof name);
    struct archive_item x[] = {{STR("pack.json"), STR("{}")},
                               {STR("dist/a"), STR("abc")},
                               {str_n(name, sizeof name), STR("long")}};
    struct archive_item y[] = {x[2], x[0], x[1]};
    buf_init(&one, 1 << 20);
    buf_init(&two, 1 << 20);
    cr_assert_eq(archive_write(x, 3, &one, &err), 0);
    cr_assert_eq(archive_write(y, 3, &two, &err), 0);
    cr_expect(str_eq(buf_str(&one), buf_str(&two)));
    cr_expect_eq(read_gz(buf_str(&one)), 0);
    cr_expect(strncmp(seen.p, "dist/a=3;nnn", 12) == 0 && strstr(seen.p, "n=4;pack.json=2;"));
    x[0].name = STR("../x");
    cr_expect_eq(archive_write(x, 3, &two, &err), WOPR_E_PACK_PATH);
    buf_fini(&one);
    buf_fini(&two);
}

Test(archive, no_failed_allocation_is_taken_for_a_bad_pack) {
    struct wopr_error err;
    struct str s = pack_of(&tar, &gz, PACK_JSON);
    unsigned refused = 0;
    for (unsigned n = 1; fault_arm(1u << FAULT_MALLOC, n); n++) {
        buf_reset(&seen);
        int rc = archive_read(s, PACK_UNPACKED_BYTES_MAX, &USER, &err);
        fault_disarm();
        cr_expect(rc == 0 || rc == WOPR_E_NO_MEMORY, "%d: %s", rc, err.message);
        refused += rc != 0;
    }
    cr_expect_gt(refused, 5u);
}

/* Bytes changed, cut, doubled and moved: read or refused with a code of the table, never a crash;
 * with AddressSanitizer no leak either. */
Test(archive, ten_thousand_mutants_are_read_or_refused /* PACK-54 */, .timeout = 600) {
    struct buf raw, mutant;
    uint64_t seed = 20261124, good = 0;
    buf_init(&raw, 1 << 20);
    buf_init(&mutant, 1 << 20);
    (void)pack_of(&tar, &gz, PACK_JSON);
    pax(&tar, 'x', "18 path=dir/other\n");
    for (int i = 0; i < 10000; i++) {
        bool inner = i % 4 != 0; /* the tar, recompressed; else the gzip stream itself */
        struct str from = inner ? buf_str(&tar) : buf_str(&gz);
        buf_reset(&raw);
        buf_adds(&raw, from);
        for (int k = 0; k < 1 + i % 7; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            size_t at = (size_t)(seed >> 33) % raw.len;
            /* mostly where the headers are */
            if (inner && i % 3) at = at / 512 * 512 + (size_t)(seed >> 20) % 300;
            if (at < raw.len) raw.p[at] = (char)(seed >> 56);
        }
        if (i % 5 == 0) raw.len = (size_t)(seed >> 30) % raw.len;
        buf_reset(&mutant);
        if (inner) cr_assert_eq(gzip(buf_str(&raw), &mutant, NULL), 0);
        else buf_adds(&mutant, buf_str(&raw));
        int rc = read_gz(buf_str(&mutant));
        good += rc == 0;
        cr_assert(rc == 0 || rc == WOPR_E_PACK_GUNZIP || rc == WOPR_E_PACK_TOO_LARGE ||
                      rc == WOPR_E_PACK_TAR || rc == WOPR_E_PACK_PATH,
                  "mutant %d: %d", i, rc);
    }
    cr_expect_gt(good, 0);
    cr_expect_lt(good, 10000);
    buf_fini(&raw);
    buf_fini(&mutant);
}
