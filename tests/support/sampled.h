/*
 * sampled.h: random tests and products play all their rounds in the release build; a build that
 * looks for something else in the same code, and takes ten times as long, plays every
 * WOPR_TEST_EVERY'th of them (./test asan says 4, tsan 8).  At least one round is played.
 */
#ifndef WOPR_TESTS_SAMPLED_H
#define WOPR_TESTS_SAMPLED_H

#include <stdbool.h>
#include <stdlib.h>

static inline unsigned sampled_every(void) {
    const char *text = getenv("WOPR_TEST_EVERY");
    unsigned long every = text ? strtoul(text, NULL, 10) : 1;
    return every < 1 ? 1 : every > 1000 ? 1000 : (unsigned)every;
}

static inline unsigned sampled(unsigned rounds) {
    return (rounds + sampled_every() - 1) / sampled_every();
}

/* Whether the ith case of a product is played. */
static inline bool sampled_in(unsigned i) { return i % sampled_every() == 0; }

#endif
