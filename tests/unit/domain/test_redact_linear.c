/*
 * test_redact_linear.c: the redactor does what its quadratic definition does (OBS-75), in linear
 * time.  The seed is printed with each failure; WOPR_TEST_SEED chooses another.
 */
#include "base/mem.h"
#include "domain/options.h"
#include "redact_oracle.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { ROUNDS = 60000, PARTS_MAX = 14, BIG_BYTES = 2 << 20 };

static uint64_t state;

static unsigned below(unsigned n) { /* splitmix64 */
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (unsigned)((z ^ z >> 31) % n);
}

/* What the shapes are made of, cut so that they begin, end and overlap everywhere. */
static const char *const PARTS[] = {
    "eyJ",
    "eyJa.",
    ".",
    "..",
    "-",
    "_",
    "e",
    "y",
    "J",
    "a",
    "b",
    "Z9",
    " ",
    "\t",
    "=",
    "==",
    "+",
    "/",
    "~",
    "bearer ",
    "Bearer ",
    "BEARER\t",
    "Bear",
    "sk-",
    "sk-ant-",
    "AIza",
    "cred_",
    "hk_",
    "hk_test_",
    "ghp_",
    "xoxb-",
    "x",
    "h",
    "s",
    "A",
    "c",
    "12345678",
    "0123456789abcdef",
    "abcdefghijklmno",
    "aaaa",
    "abab",
    "aab",
};

static void text_random(struct buf *b, unsigned parts_max) {
    for (unsigned n = below(parts_max + 1); n > 0; n--)
        buf_addz(b, PARTS[below(sizeof PARTS / sizeof *PARTS)]);
}

static void agree(struct str text, struct str known, uint64_t seed) {
    struct buf got, want;
    buf_init(&got, 1 << 20);
    buf_init(&want, 1 << 20);
    bool hit = redact_text(text, known, &got), hit_want = oracle_redact_text(text, known, &want);
    cr_assert(str_eq(buf_str(&got), buf_str(&want)) && hit == hit_want,
              "seed %llu: \"" STR_FMT "\", known \"" STR_FMT "\" gave \"" STR_FMT
              "\" instead of \"" STR_FMT "\"",
              (unsigned long long)seed, STR_ARG(text), STR_ARG(known), STR_ARG(buf_str(&got)),
              STR_ARG(buf_str(&want)));
    buf_fini(&got);
    buf_fini(&want);
}

Test(redact_linear, random_texts_come_out_as_the_definition_says /* OBS-75 */, .timeout = 300) {
    const char *env = getenv("WOPR_TEST_SEED");
    uint64_t seed = env ? strtoull(env, NULL, 10) : 20261122u;
    for (unsigned i = 0; i < ROUNDS; i++, seed++) {
        struct buf text, known;
        state = seed;
        buf_init(&text, 4096);
        buf_init(&known, 4096);
        text_random(&text, PARTS_MAX);
        switch (below(4)) {
        case 0: /* a piece of the text, which may overlap itself and the shapes */
            if (text.len > 0) {
                size_t at = below((unsigned)text.len);
                buf_add(&known, text.p + at, 1 + below((unsigned)(text.len - at)));
            }
            break;
        case 1:
            text_random(&known, 3);
            break;
        default:
            break;
        }
        agree(buf_str(&text), buf_str(&known), seed);
        buf_fini(&text);
        buf_fini(&known);
    }
}

static void fill(struct buf *b, const char *part, size_t bytes) {
    while (b->len < bytes) buf_addz(b, part);
}

/* Each of these cost minutes when the work for one start was done again for the next. */
Test(redact_linear, two_megabytes_of_starts_that_lead_nowhere_cost_no_square /* OBS-75, S2 */,
     .timeout = 300) {
    static const char *const UNITS[] = {
        "eyJ-", "eyJ_eyJ-", "-eyJ.",    "eyJ-. ", "Bearer ",   "Bearer  \t", "bearer a ",
        "sk-",  "sk-ant-",  "hk_test_", "-sk-a.", "xoxb-eyJ-", "=",          "cred_-eyJ-",
    };
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++) {
        struct buf json, out;
        buf_init(&json, BIG_BYTES + 64);
        buf_init(&out, 8u * BIG_BYTES);
        buf_addc(&json, '"');
        fill(&json, UNITS[i], BIG_BYTES);
        buf_addc(&json, '"');
        cr_expect_eq(redact_json(buf_str(&json), STR_NONE, &out, NULL), 0, "%s", UNITS[i]);
        buf_fini(&json);
        buf_fini(&out);
    }
}

/* "x Bearer x Bearer x ..." is hidden by the shape before it is seen as the known secret. */
Test(redact_linear, a_long_known_secret_costs_no_square /* OBS-75, S2 */, .timeout = 300) {
    static const struct {
        const char *unit, *end;
    } SECRETS[] = {{"a", "b"}, {"x Bearer ", "x"}, {"ab", "a"}, {"-eyJ", "!"}};
    for (size_t i = 0; i < sizeof SECRETS / sizeof *SECRETS; i++) {
        struct buf secret, json, out;
        buf_init(&secret, BIG_BYTES);
        buf_init(&json, BIG_BYTES + 64);
        buf_init(&out, 8u * BIG_BYTES);
        fill(&secret, SECRETS[i].unit, BIG_BYTES / 4);
        buf_addz(&secret, SECRETS[i].end);
        buf_addz(&json, "[\"short\",\"Bearer ");
        fill(&json, SECRETS[i].unit, BIG_BYTES);
        buf_addz(&json, "\"]");
        cr_expect_eq(redact_json(buf_str(&json), buf_str(&secret), &out, NULL), 0);
        buf_fini(&secret);
        buf_fini(&json);
        buf_fini(&out);
    }
}

Test(redact_linear, a_long_secret_in_many_short_strings_costs_no_square /* S2 */, .timeout = 300) {
    struct buf secret, json, out;
    buf_init(&secret, BIG_BYTES);
    buf_init(&json, BIG_BYTES + 64);
    buf_init(&out, 8u * BIG_BYTES);
    fill(&secret, "secret", BIG_BYTES / 4);
    buf_addc(&json, '[');
    fill(&json, "\"se\\u0063ret\",\"secretsecret\",", BIG_BYTES);
    buf_addz(&json, "0]");
    cr_assert_eq(redact_json(buf_str(&json), buf_str(&secret), &out, NULL), 0);
    cr_expect(str_eq(buf_str(&out), buf_str(&json)));
    buf_fini(&secret);
    buf_fini(&json);
    buf_fini(&out);
}
