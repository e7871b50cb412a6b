/*
 * test_vault_memory.c: what a vault had in memory is overwritten when it is done with it: data
 * keys, keys of the installation, clear values that it opened (OBS-71).  The test looks through
 * its own heap.  What it looks for it holds in another form, so that it does not find itself.
 */
#include "kit.h"

#include "store/vault.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SECRET = 32, SKIP = 16, OTHER_FORM = 0x5a, MAP_MAX = 256 << 20, CHUNK = 1 << 16 };

static struct kit w;
static struct vault *v;
static void up(void) { kit_up(&w); }
static void down(void) {
    vault_free(v);
    kit_down(&w);
}
TestSuite(vault_memory, .init = up, .fini = down);

/* The second half: allocators write into the first bytes of what was freed. */
static bool chunk_holds(const unsigned char *p, size_t n, const unsigned char *form) {
    const unsigned char *at = p, *end = p + n;
    while ((at = memchr(at, form[SKIP] ^ OTHER_FORM, (size_t)(end - at))) != NULL) {
        size_t k = 0;
        if (end - at < SECRET - SKIP) return false;
        while (k < SECRET - SKIP && (at[k] ^ OTHER_FORM) == form[SKIP + k]) k++;
        if (k == SECRET - SKIP) return true;
        at++;
    }
    return false;
}

/* In memory that malloc gives: writable, of no file, and neither stack nor this buffer. */
static bool heap_holds(const unsigned char *form) {
    static unsigned char part[CHUNK];
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    int mem = open("/proc/self/mem", O_RDONLY);
    cr_assert(maps && mem >= 0);
    while (!found && fgets(line, sizeof line, maps)) {
        unsigned long from, to, inode, here = (unsigned long)(uintptr_t)part;
        char mode[8];
        if (sscanf(line, "%lx-%lx %7s %*s %*s %lu", &from, &to, mode, &inode) != 4) continue;
        if (mode[0] != 'r' || mode[1] != 'w' || inode != 0 || to - from > MAP_MAX) continue;
        if ((here >= from && here < to) || strstr(line, "[stack")) continue;
        for (unsigned long at = from; !found && at < to; at += CHUNK - SECRET) {
            size_t n = to - at < CHUNK ? to - at : CHUNK;
            ssize_t got = pread(mem, part, n, (off_t)at);
            if (got > 0) found = chunk_holds(part, (size_t)got, form);
        }
    }
    memset(part, 0, sizeof part);
    fclose(maps);
    close(mem);
    return found;
}

static void form_of(const void *secret, unsigned char form[SECRET]) {
    for (size_t i = 0; i < SECRET; i++) form[i] = ((const unsigned char *)secret)[i] ^ OTHER_FORM;
}

static void kek_make(struct seal_secret *kek) {
    for (size_t i = 0; i < sizeof kek->b; i++) kek->b[i] = (uint8_t)(i * 37u + 11u);
}

/* The data key, as the key of the installation opens it. */
static void data_key_form(const struct seal_secret *kek, unsigned char form[SECRET]) {
    struct seal_key_list rows;
    struct buf b;
    cr_assert_eq(store_seal_keys(w.s, w.a, &rows, &w.err), 0);
    cr_assert_eq(rows.n, 1u);
    const struct seal_place place = {STR("wopr data key"), rows.v[0].key_no};
    buf_init(&b, SECRET);
    cr_assert_eq(seal_open(kek, &place, rows.v[0].wrapped, &b, &w.err), 0, "%s", w.err.message);
    cr_assert_eq(b.len, (size_t)SECRET);
    form_of(b.p, form);
    memset(b.p, 0, b.len);
    buf_fini(&b);
}

Test(vault_memory, keys_are_overwritten_with_their_vault) {
    unsigned char key[SECRET], own[SECRET];
    struct seal_secret kek;
    bool replaced;
    kek_make(&kek);
    form_of(kek.b, own);
    cr_assert_eq(vault_new(w.s, &kek, 1, &v, &replaced, &w.err), 0, "%s", w.err.message);
    data_key_form(&kek, key);
    cr_assert(heap_holds(key) && heap_holds(own), "the test finds what is there");
    vault_free(v);
    v = NULL;
    cr_expect_not(heap_holds(key), "a data key is left");
    cr_expect_not(heap_holds(own), "a key of the installation is left");
}

Test(vault_memory, an_opened_value_is_where_it_was_asked_for_and_nowhere_else) {
    static const struct seal_place here = {{"run_1", 5}, 0};
    unsigned char form[SECRET];
    char text[4 * SECRET];
    struct plan_sealed row;
    struct seal_secret kek;
    struct str clear;
    bool replaced;
    kek_make(&kek);
    cr_assert_eq(vault_new(w.s, &kek, 1, &v, &replaced, &w.err), 0, "%s", w.err.message);
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)('A' + i * 7 % 26 + (i / 26) % 3);
    form_of(text + SECRET, form);
    cr_assert_eq(vault_seal(v, &here, str_n(text, sizeof text), w.a, &row, &w.err), 0);
    cr_assert_not(heap_holds(form));
    cr_assert_eq(vault_open(v, &here, &row, w.a, &clear, &w.err), 0, "%s", w.err.message);
    cr_assert(str_eq(clear, str_n(text, sizeof text)));
    cr_assert(heap_holds(form), "the test finds what is there");
    memset((char *)(uintptr_t)clear.p, 0, clear.n);
    cr_expect_not(heap_holds(form), "a copy is left");
}
