/* test_json_index.c: an index finds what a walk over the text finds, at every place of random
 * texts, and reads no more than its part of them. */
#include "codec/json_index.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t dice;

static unsigned roll(unsigned n) {
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(dice >> 33) % n;
}

static void space(struct buf *b) {
    if (roll(8) == 0) buf_addz(b, " \n");
}

/* Names are "n0".., some written with an escape; the text of every place goes to places. */
static void value_random(struct buf *b, struct buf *path, unsigned depth, struct buf *places) {
    size_t at = path->len;
    unsigned kind = depth == 0 ? 2 : roll(3), n = roll(30) == 0 ? 700 : roll(9);
    buf_adds(places, buf_str(path));
    buf_addc(places, '\n');
    if (kind == 2) {
        buf_addf(b, roll(4) ? "%u" : "\"s]}%0*u\"", roll(400), 7);
        return;
    }
    buf_addc(b, kind ? '{' : '[');
    for (unsigned i = 0; i < n; i++) {
        if (i > 0) buf_addc(b, ',');
        space(b);
        if (kind) buf_addf(b, roll(4) ? "\"n%u\"" : "\"\\u006e%u\"", i);
        if (kind) buf_addz(b, roll(4) ? ":" : " : ");
        buf_addf(path, kind ? "/n%u" : "/%u", i);
        value_random(b, path, n > 100 ? 0 : depth - 1, places);
        path->len = at;
        space(b);
    }
    buf_addc(b, kind ? '}' : ']');
}

static void same_at(const struct json_index *x, struct str text, struct str at, struct arena *a) {
    char dotted[256];
    struct str want = json_pointer_get(text, at, a), got = json_pointer_find(x, text, at, a, NULL);
    cr_assert(got.p == want.p && got.n == want.n, STR_FMT, STR_ARG(at));
    if (at.n == 0 || at.n > sizeof dotted) return;
    for (size_t i = 1; i < at.n; i++) dotted[i - 1] = at.p[i] == '/' ? '.' : at.p[i];
    got = json_path_find(x, text, str_n(dotted, at.n - 1), NULL);
    cr_assert(got.p == want.p && got.n == want.n, STR_FMT, STR_ARG(at));
}

enum { LOOKED_UP = 200 }; /* places of one text, about */

Test(json_index, an_index_finds_what_the_text_has) {
    const char *env = getenv("WOPR_TEST_SEED");
    uint64_t seed = env ? strtoull(env, NULL, 10) : 20261122u;
    size_t found = 0;
    for (unsigned i = 0; i < 60; i++, seed++) {
        struct buf b, path, places;
        struct arena *a = arena_new(16u << 20);
        dice = seed;
        buf_init(&b, 16u << 20);
        buf_init(&path, 4096);
        buf_init(&places, 16u << 20);
        value_random(&b, &path, 6, &places);
        cr_assert_eq(json_check(buf_str(&b), &JSON_LIMITS_STORED, NULL), 0);
        struct json_index *x = json_index_new(buf_str(&b));
        cr_assert(x != NULL);
        struct str rest = buf_str(&places), at;
        size_t lines = 0;
        for (size_t k = 0; k < places.len; k++) lines += places.p[k] == '\n';
        while (str_cut(rest, '\n', &at, &rest)) {
            char beyond[300];
            if (roll((unsigned)(lines / LOOKED_UP + 1)) > 0) continue; /* a walk reads all */
            same_at(x, buf_str(&b), at, a);
            snprintf(beyond, sizeof beyond, STR_FMT "/%s%u", STR_ARG(at), roll(2) ? "n" : "",
                     roll(800));
            same_at(x, buf_str(&b), str_c(beyond), a);
            found++;
        }
        json_index_free(x);
        arena_free(a);
        buf_fini(&b);
        buf_fini(&path);
        buf_fini(&places);
    }
    cr_assert_gt(found, 2000u);
}

Test(json_index, a_look_up_reads_its_part_of_the_text) {
    struct buf b;
    struct arena *a = arena_new(1u << 20);
    uint64_t read = 0;
    char at[400];
    size_t n = 0;
    buf_init(&b, 8u << 20);
    for (unsigned i = 0; i < 60; i++) buf_addz(&b, "{\"in\":");
    buf_addz(&b, "{\"a\":[0");
    for (unsigned i = 1; i < 200000; i++) buf_addf(&b, ",%u", i);
    buf_addz(&b, "],\"b\":{\"k0\":0");
    for (unsigned i = 1; i < 100000; i++) buf_addf(&b, ",\"k%u\":%u", i, i);
    buf_addz(&b, "}}");
    for (unsigned i = 0; i < 60; i++) buf_addc(&b, '}');
    struct str text = buf_str(&b);
    struct json_index *x = json_index_new(text);
    for (unsigned i = 0; i < 60; i++) n += (size_t)snprintf(at + n, sizeof at - n, "/in");
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t before = read;
        snprintf(at + n, sizeof at - n, "/a/%u", i * 190);
        cr_assert(json_pointer_find(x, text, str_c(at), a, &read).n > 0);
        snprintf(at + n, sizeof at - n, "/b/k%u", i * 99);
        cr_assert(json_pointer_find(x, text, str_c(at), a, &read).n > 0);
        snprintf(at + n, sizeof at - n, "/b/none%u", i);
        cr_assert(json_pointer_find(x, text, str_c(at), a, &read).n == 0);
        cr_assert_leq(read - before, 8192u);
    }
    read = 0; /* and without an index the text is read once, not once per step */
    snprintf(at + n, sizeof at - n, "/b/k99999");
    cr_assert(json_pointer_find(NULL, text, str_c(at), a, &read).n > 0);
    cr_assert_leq(read, text.n);
    json_index_free(x);
    arena_free(a);
    buf_fini(&b);
}

Test(json_index, what_is_no_json_has_none_or_does_no_harm) {
    static const char *const TEXTS[] = {
        "", "{", "}", "{\"a", "[1,]]", "{\"a\":", ",,,", "\"\\u", "[[[[[", "{{{}", "]"};
    struct arena *a = arena_new(1u << 16);
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        struct json_index *x = json_index_new(str_c(TEXTS[i]));
        (void)json_pointer_find(x, str_c(TEXTS[i]), STR("/a/0"), a, NULL);
        json_index_free(x);
    }
    arena_free(a);
}
