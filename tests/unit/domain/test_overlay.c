/*
 * test_overlay.c: the options of a branch (FORK-23), and what they cost.
 */
#include "base/mem.h"
#include "domain/options.h"

#include <criterion/criterion.h>

enum { MANY = 100000, ARENA_MAX = 256 << 20 };

static const struct {
    const char *base, *over, *want;
} OBJECTS[] =
    {
        {"", "{}", "{}"},
        {"{}", "{\"a\":1}", "{\"a\":1}"},
        {"{\"a\":1,\"b\":2}", "{\"b\":3,\"c\":4}", "{\"a\":1,\"b\":3,\"c\":4}"},
        {"{\"a\":1}", "{\"\\u0061\":2}", "{\"a\":2}"}, /* the same name, spelled otherwise */
        {"{\"x\":{\"a\":1}}", "{\"x\":{\"b\":2}}", "{\"x\":{\"b\":2}}"}, /* not deep */
},
  TAGS[] = {
      {"", "[]", "[]"},
      {"[\"a\",\"a\"]", "[\"b\",\"a\",\"b\"]", "[\"a\",\"a\",\"b\"]"},
      {"[\"a\"]", "[\"\\u0061\",1,1]", "[\"a\",1,1]"},
};

Test(overlay, members_are_replaced_and_tags_joined /* FORK-23 */) {
    struct arena *a = arena_new(1 << 20);
    struct str out;
    for (size_t i = 0; i < sizeof OBJECTS / sizeof *OBJECTS; i++) {
        cr_assert_eq(overlay_object(str_c(OBJECTS[i].base), str_c(OBJECTS[i].over), a, &out, NULL),
                     0);
        cr_expect(str_eqc(out, OBJECTS[i].want), "%s: " STR_FMT, OBJECTS[i].want, STR_ARG(out));
    }
    for (size_t i = 0; i < sizeof TAGS / sizeof *TAGS; i++) {
        cr_assert_eq(overlay_tags(str_c(TAGS[i].base), str_c(TAGS[i].over), a, &out, NULL), 0);
        cr_expect(str_eqc(out, TAGS[i].want), "%s: " STR_FMT, TAGS[i].want, STR_ARG(out));
    }
    arena_free(a);
}

static void many(struct buf *b, char letter, bool object) {
    buf_init(b, 16 << 20);
    buf_addc(b, object ? '{' : '[');
    for (unsigned i = 0; i < MANY; i++)
        buf_addf(b, "%s\"%c%06u\"%s", i > 0 ? "," : "", letter, i, object ? ":1" : "");
    buf_addc(b, object ? '}' : ']');
}

Test(overlay, a_hundred_thousand_names_cost_no_square /* FORK-23, S2 */, .timeout = 300) {
    struct arena *a = arena_new(ARENA_MAX);
    for (int object = 0; object < 2; object++) {
        struct buf base, over;
        struct str out;
        many(&base, 'a', object);
        many(&over, 'b', object);
        int rc = object ? overlay_object(buf_str(&base), buf_str(&over), a, &out, NULL)
                        : overlay_tags(buf_str(&base), buf_str(&over), a, &out, NULL);
        cr_assert_eq(rc, 0);
        cr_expect_eq(out.n,
                     base.len + over.len - 1); /* one pair of brackets less, one comma more */
        buf_fini(&base);
        buf_fini(&over);
    }
    arena_free(a);
}
