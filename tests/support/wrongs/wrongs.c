/*
 * wrongs.c: tests that do wrong, each of which the runner and AddressSanitizer must call failed
 * (ctest runner_wrongs, in that build alone); and one that does not.
 */
#include <criterion/criterion.h>
#include <limits.h>

static volatile int nine = 9, largest = INT_MAX;
static void *volatile lost;

Test(wrongs, writes_beyond_its_memory) {
    char *p = malloc(8);
    p[nine] = 1;
    free(p);
}

Test(wrongs, reads_what_was_freed) {
    char *p = malloc(8);
    free(p);
    cr_assert_neq(p[nine - 5], 77);
}

Test(wrongs, loses_memory) {
    lost = malloc(100);
    lost = NULL;
}

Test(wrongs, overflows_a_number) {
    int x = largest;
    x += nine;
    cr_assert_neq(x, 0);
}

Test(wrongs, ends_by_a_signal) { abort(); }

Test(wrongs, does_nothing_wrong) { cr_assert_eq(nine, 9); }
