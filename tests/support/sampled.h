/*
 * sampled.h: random tests play all their rounds in the release build; a build that looks for
 * something else in the same code, and takes ten times as long, plays every WOPR_TEST_EVERY'th of
 * them (./test tsan and coverage say 4).  At least one is played.
 */
#ifndef WOPR_TESTS_SAMPLED_H
#define WOPR_TESTS_SAMPLED_H

#include <stdlib.h>

static inline unsigned sampled(unsigned rounds) {
    const char *text = getenv("WOPR_TEST_EVERY");
    unsigned long every = text ? strtoul(text, NULL, 10) : 1;
    return every <= 1 ? rounds : (unsigned)((rounds + every - 1) / every);
}

#endif
