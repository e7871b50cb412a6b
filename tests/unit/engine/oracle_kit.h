/* oracle_kit.h: random definitions of tests that know by themselves what must come of them. */
#ifndef WOPR_TESTS_ORACLE_KIT_H
#define WOPR_TESTS_ORACLE_KIT_H

#include "engine_world.h"
#include "fork_kit.h"

#include "base/buf.h"
#include "codec/json.h"
#include "support/sampled.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

/* Rounds of a test: WOPR_ORACLE_ROUNDS or what fits continuous integration. */
static inline unsigned oracle_rounds(unsigned ci) {
    const char *text = getenv("WOPR_ORACLE_ROUNDS");
    return text ? (unsigned)strtoul(text, NULL, 10) : sampled(ci);
}

/* The seed of a round: WOPR_ORACLE_SEED picks other rounds.  Never 0. */
static inline uint32_t oracle_seed(unsigned round) {
    const char *text = getenv("WOPR_ORACLE_SEED");
    return ((text ? (uint32_t)strtoul(text, NULL, 10) : 1) * 1000003u + round) * 2654435761u | 1u;
}

static inline uint32_t dice(uint32_t *seed, uint32_t sides) { /* xorshift */
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed % sides;
}

static inline unsigned oracle_count(struct str run, enum ev_kind kind, struct str node) {
    struct event_list l = world_events(run);
    unsigned nr = 0;
    for (size_t i = 0; i < l.n; i++) nr += l.v[i].kind == kind && str_eq(l.v[i].node_id, node);
    return nr;
}

#endif
