/*
 * test_echo.c: a secret that a peer repeats is masked however JSON spells it and however it is cut.
 */
#include "codec/echo.h"

#include <criterion/criterion.h>
#include <string.h>

#define TEXT_MAX 4096u

static void masks(const char *secret, const char *text, const char *want) {
    struct buf whole;
    buf_init(&whole, TEXT_MAX);
    size_t held = echo_mask(str_c(text), str_c(secret), true, &whole);
    cr_expect(held == 0 && str_eqc(buf_str(&whole), want), "%s: " STR_FMT, text,
              STR_ARG(buf_str(&whole)));
    buf_fini(&whole);
    for (size_t step = 1; step <= strlen(text); step++) { /* cut anywhere */
        struct buf out, kept;
        buf_init(&out, TEXT_MAX);
        buf_init(&kept, TEXT_MAX);
        for (size_t at = 0; at < strlen(text); at += step) {
            size_t n = strlen(text) - at < step ? strlen(text) - at : step;
            buf_add(&kept, text + at, n);
            held = echo_mask(buf_str(&kept), str_c(secret), at + n == strlen(text), &out);
            if (held > 0) memmove(kept.p, kept.p + kept.len - held, held);
            kept.len = held;
        }
        cr_expect(held == 0 && str_eqc(buf_str(&out), want), "%s by %zu: " STR_FMT, text, step,
                  STR_ARG(buf_str(&out)));
        buf_fini(&out);
        buf_fini(&kept);
    }
}

Test(echo, spellings) {
    masks("se/cret", "a se/cret, se/cretse/cre", "a [REDACTED], [REDACTED]se/cre");
    masks("se/cret", "{\"k\":\"\\u0073e\\/c\\u0072e\\u0074\"}", "{\"k\":\"[REDACTED]\"}");
    masks("se/cret", "{\\\"k\\\":\\\"\\\\u0073e\\\\\\/cret\\\"}", "{\\\"k\\\":\\\"[REDACTED]\\\"}");
    masks("klm", "\\u006B\\u006c\\u006Dm", "[REDACTED]m");
    masks("uu0075", "\\u0075\\u007500\\u00375 u", "[REDACTED] u");
    masks("a\\\\b\"c", "a\\\\\\\\b\\\"c", "[REDACTED]");
}

Test(echo, others_are_left_alone) {
    masks("secret", "", "");
    masks("", "all of it \\u0073", "all of it \\u0073");
    masks("secret", "secre \\u0073ecre\\u00 \\u1073ecret \\",
          "secre \\u0073ecre\\u00 \\u1073ecret \\");
    masks("aab", "aaab aa", "a[REDACTED] aa");
    masks("secret", "\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\secre",
          "\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\secre");
}
