/* test_text.c: nothing that a terminal obeys leaves the commands. */
#include "cli/cli.h"

#include <criterion/criterion.h>

static void expect(const char *in, size_t n, bool lines, const char *want) {
    struct buf b;
    buf_init(&b, 4096);
    text_escape(&b, str_n(in, n), lines);
    cr_expect_str_eq(buf_str(&b).p, want);
    buf_fini(&b);
}
#define EXPECT(in, lines, want) expect(in, sizeof(in) - 1, lines, want)

Test(cli_text, controls_are_shown_not_obeyed) {
    EXPECT("\x1b]0;owned\x07", false, "\\u001b]0;owned\\u0007");
    EXPECT("\x1b[2J", true, "\\u001b[2J");
    EXPECT("fine\rrun.completed", false, "fine\\u000drun.completed");
    EXPECT("a\nb", false, "a\\u000ab");
    EXPECT("a\nb", true, "a\nb");
    EXPECT("nul\0in", false, "nul\\u0000in");
    EXPECT("del\x7f", false, "del\\u007f");
    EXPECT("c1\xc2\x9b"
           "2J",
           false, "c1\\u009b2J");
    EXPECT("\xe2\x80\xae"
           "txt",
           false, "\\u202etxt");
    EXPECT("\xe2\x81\xa6", false, "\\u2066");
    EXPECT("\xd8\x9c", false, "\\u061c");
}

Test(cli_text, text_of_any_language_stays) {
    EXPECT("gr\xc3\xbc\xc3\x9f \xe6\xbc\xa2 \xf0\x9f\x98\x80", false,
           "gr\xc3\xbc\xc3\x9f \xe6\xbc\xa2 \xf0\x9f\x98\x80");
    EXPECT("{\"a\":\"\\u001b\"}", true, "{\"a\":\"\\u001b\"}");
    EXPECT("", false, "");
}

Test(cli_text, bytes_that_are_no_text_are_replaced) {
    EXPECT("\x9b"
           "2J",
           false, "\\ufffd2J");
    EXPECT("\xc0\xaf", false, "\\ufffd\\ufffd");
    EXPECT("\xed\xa0\x80", false, "\\ufffd\\ufffd\\ufffd");
    EXPECT("\xf4\x90\x80\x80", false, "\\ufffd\\ufffd\\ufffd\\ufffd");
    EXPECT("cut\xe6\xbc", false, "cut\\ufffd\\ufffd");
    EXPECT("\xff\xfe", false, "\\ufffd\\ufffd");
}
