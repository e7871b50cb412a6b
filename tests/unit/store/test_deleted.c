#define _GNU_SOURCE /* memmem */
/*
 * test_deleted.c: what was deleted is not left in free pages, whatever SQLite was built with.
 */
#include "store/keys.h"
#include "unit/store/kit.h"

#define CANARY "canary-0123456789-canary"

static struct kit w;
static void up(void) { kit_up(&w); }
static void down(void) { kit_down(&w); }
TestSuite(deleted, .init = up, .fini = down);

static bool file_holds(const char *text) {
    struct buf b;
    char chunk[4096];
    size_t n;
    FILE *f = fopen(w.path, "rb");
    cr_assert_not_null(f);
    buf_init(&b, 64u << 20);
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0) buf_add(&b, chunk, n);
    fclose(f);
    bool found = memmem(b.p, b.len, text, strlen(text)) != NULL;
    buf_fini(&b);
    return found;
}

static void put_and_close(bool forget) {
    struct api_key k = {.key_id = STR("cfg1"),
                        .tenant = KIT_TENANT,
                        .workspace = STR("w"),
                        .subject_issuer = STR("i"),
                        .subject_id = STR("s"),
                        .label = STR(CANARY),
                        .configured = true};
    if (forget) cr_assert_eq(store_key_forget(w.s, k.key_id, &w.err), 0);
    else cr_assert_eq(store_key_put(w.s, &k, &w.err), 0, "%s", w.err.message);
    kit_close(&w); /* moves the WAL into the file */
}

Test(deleted, is_overwritten) {
    put_and_close(false);
    cr_assert(file_holds(CANARY));
    kit_open(&w);
    put_and_close(true);
    cr_expect(!file_holds(CANARY));
}
